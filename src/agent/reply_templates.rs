//! The sentences that the agent says by itself, in English and Chinese.
//!
//! Several for what is said often, chosen by a number that the session's seed and the turn's number give, so that a
//! session replays the same.
//! **Invariant:** no sentence claims anything about the documentation; what the docs say comes from passages.

use crate::turn::{FailureKind, Language};

/// What the agent wants to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Say<'a> {
    /// Introduces quoted passages.
    Answer,
    /// Introduces quoted passages spelled out at length.
    DetailedAnswer,
    /// Introduces a guess after the reader left the choice.
    BestGuess,
    /// Introduces a page that the reader chose.
    Chosen(&'a str),
    /// Introduces suggestions.
    Suggest,
    /// Asks back: nothing was found.
    NoResults,
    /// Asks back: only weak evidence.
    LowRelevance,
    /// Asks back: several readings, told apart by a facet.
    Ambiguous(&'a str),
    /// Asks back: several pages fit.
    WhichPage,
    /// Asks back: the question names nothing that can be searched.
    Unsearchable,
    /// Says that the docs do not cover the question.
    NotInDocs,
    /// Introduces the nearest pages after [`Say::NotInDocs`].
    Nearest,
    /// Names the contact.
    Contact(&'a str),
    /// Hands over, and asks whether the conversation may go along.
    Handover,
    /// Hands over where the site named no contact.
    HandoverWithoutContact,
    /// The reader agreed: the conversation goes along.
    HandoverAgreed,
    /// The reader declined.
    HandoverDeclined,
    /// Introduces a summary.
    Summary,
    /// There is nothing to sum up yet.
    NothingToSummarize,
    /// Offers a summary.
    OfferSummary,
    /// A greeting.
    Greeting,
    /// An answer to thanks.
    Thanks,
    /// An answer to a goodbye.
    Bye,
    /// An answer to laughter and the like.
    SmallTalk,
    /// An answer to "ok" and the like.
    Acknowledged,
    /// Leaves the guidance.
    Exit,
    /// A follow-up without anything before it.
    NoPrevious,
    /// Introduces plainer words.
    Simplify,
    /// Introduces more detail.
    Detail,
    /// Introduces an example.
    Example,
    /// The passages hold no example.
    NoExample,
    /// Introduces the key points.
    KeyPoints,
    /// Says what a word refers to.
    RefersTo(&'a str),
    /// The chosen number was not offered.
    NoSuchOffer(usize),
    /// The message is too long; the limit.
    TooLong(usize),
    /// The site's filter refused the question.
    Refused,
    /// The endpoint failed.
    Failed(FailureKind, Option<u64>),
    /// Introduces the local answer after a failure.
    LocalAnswer,
    /// Marks a reply that broke off.
    BrokeOff,
    /// The reader stopped the turn before there was anything to answer with.
    Stopped,
    /// There is no index yet.
    NoIndex,
    /// Why a page is offered: a shared tag.
    SharedTag(&'a str),
    /// Why a page is offered: a passage of it matches as well.
    AlsoMatches(&'a str),
    /// Why a page is offered: the same section.
    SameSection(&'a str),
    /// Why a page is a choice: it is near.
    NearMiss,
    /// Why a facet is a choice: how many of the best passages have it.
    FacetShare(usize),
    /// Names a facet.
    Facet(&'a str),
    /// The choice that accepts a summary.
    YesSummary,
    /// The choice that agrees to the hand-over.
    YesHandover,
    /// The choice that declines it.
    NoHandover,
    /// The name of a contact that has none.
    ContactLabel,
}

impl Say<'_> {
    /// The sentence in `language`; `choice` picks among several.
    #[must_use]
    pub fn text(self, language: Language, choice: u64) -> String {
        let (english, chinese) = self.sentences();
        let sentences: Vec<String> = match language {
            Language::English => english,
            Language::Chinese => chinese,
        };
        let at = (choice % sentences.len().max(1) as u64) as usize;
        sentences.into_iter().nth(at).unwrap_or_default()
    }

    fn sentences(self) -> (Vec<String>, Vec<String>) {
        fn fixed(english: &[&str], chinese: &[&str]) -> (Vec<String>, Vec<String>) {
            let own = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
            (own(english), own(chinese))
        }
        match self {
            Self::Answer => fixed(
                &["Here is what the docs say:", "The docs answer this:", "From the documentation:"],
                &["文档里是这样说的：", "文档中有说明：", "根据文档："],
            ),
            Self::DetailedAnswer => fixed(
                &["Let me go through it step by step, with more of the docs:", "In more detail, as the docs have it:"],
                &["我把相关内容列得更详细一些：", "下面按步骤详细说明："],
            ),
            Self::BestGuess => fixed(
                &["My best guess is this:", "Then I take the most likely one:"],
                &["那我先按最可能的来回答：", "最可能的是这一条："],
            ),
            Self::Chosen(title) => (
                vec![format!("About “{title}”:"), format!("“{title}” says:")],
                vec![format!("关于“{title}”："), format!("“{title}”中写道：")],
            ),
            Self::Suggest => fixed(
                &["Related pages that may help:", "You may also want to look at:"],
                &["相关的页面：", "你可能还想看："],
            ),
            Self::NoResults => fixed(
                &[
                    "I found nothing for this. Did you mean one of these, or can you say it in other words?",
                    "Nothing matches yet. Is it about one of these?",
                ],
                &[
                    "没有找到相关内容。你想问的是下面的哪一个？也可以换个说法。",
                    "暂时没有匹配的内容，是和下面的某一项有关吗？",
                ],
            ),
            Self::LowRelevance => fixed(
                &[
                    "I am not sure what you are looking for. Is it one of these?",
                    "I only found loosely related pages. Which of these is closest?",
                ],
                &["我不太确定你要找的是什么，是下面的哪一个？", "只找到一些不太相关的内容，哪一个最接近？"],
            ),
            Self::Ambiguous(facet) => (
                vec![
                    format!("The docs treat this per {facet}. Which one is yours?"),
                    format!("Which {facet} do you mean?"),
                ],
                vec![format!("文档按{facet}分别说明，你用的是哪一个？"), format!("请问你指的是哪个{facet}？")],
            ),
            Self::WhichPage => fixed(
                &["Several pages fit. Which one do you mean?", "This can mean several things. Which of these is it?"],
                &["有几个页面都符合，你指的是哪一个？", "这个问题可能有几种意思，你指的是哪一个？"],
            ),
            Self::Unsearchable => fixed(
                &[
                    "What is it about? Name the feature, the command or the error, or choose one of these:",
                    "Which part of the docs is it about? A feature, a command or an error message helps, or one of these:",
                ],
                &[
                    "想问的是哪方面？请说出功能、命令或报错信息，或者选择下面的一项：",
                    "是关于哪一部分的问题？说出功能、命令或报错信息，或者从下面选一项：",
                ],
            ),
            Self::NotInDocs => fixed(
                &["These docs don't say.", "The documentation does not cover this."],
                &["这些文档没有提到这一点。", "文档中没有这方面的内容。"],
            ),
            Self::Nearest => fixed(&["The nearest pages are:"], &["最接近的页面是："]),
            Self::Contact(contact) => {
                (vec![format!("A person can help you here: {contact}.")], vec![format!("可以联系人工：{contact}。")])
            }
            Self::Handover => fixed(
                &[
                    "I have not been able to help so far; a person can. Shall this conversation go along?",
                    "A person will do better here than I have. Shall I pass this conversation on?",
                ],
                &[
                    "抱歉没能帮到你，建议联系人工。需要把这段对话一起带过去吗？",
                    "这个问题交给人工会更好。要把这段对话一起转过去吗？",
                ],
            ),
            Self::HandoverWithoutContact => fixed(
                &[
                    "I have not been able to help so far. The site names no contact; these pages may still be worth a look:",
                    "A person would do better here, but the site names none. These pages come closest:",
                ],
                &[
                    "抱歉没能帮到你。本站没有提供联系方式，下面的页面也许有用：",
                    "这个问题更适合问人工，但本站没有提供联系方式。最接近的页面是：",
                ],
            ),
            Self::HandoverAgreed => fixed(
                &["Thank you. The conversation goes along with your request."],
                &["好的，这段对话会随请求一起转交。"],
            ),
            Self::HandoverDeclined => fixed(
                &["All right, nothing is passed on. Ask me anything else."],
                &["好的，不会转交对话。还可以继续提问。"],
            ),
            Self::Summary => fixed(
                &["Here is what we have covered:", "Our conversation in short:"],
                &["到目前为止我们谈到：", "这次对话的要点："],
            ),
            Self::NothingToSummarize => fixed(
                &["There is nothing to sum up yet. Ask me something first."],
                &["目前还没有可以总结的内容，先问我一个问题吧。"],
            ),
            Self::OfferSummary => fixed(
                &["We have been at this for a while: I can sum it up if you like."],
                &["这个话题聊了不少，需要的话我可以总结一下。"],
            ),
            Self::Greeting => fixed(
                &[
                    "Hello! What would you like to know about the docs?",
                    "Hi! Ask me anything about this documentation.",
                ],
                &["你好！想了解文档里的什么内容？", "你好！关于这份文档可以随时问我。"],
            ),
            Self::Thanks => fixed(
                &["You are welcome!", "Glad to help. Ask again whenever you like."],
                &["不客气！", "很高兴能帮到你，有问题随时问。"],
            ),
            Self::Bye => fixed(&["Goodbye!", "See you!"], &["再见！", "回头见！"]),
            Self::SmallTalk => fixed(
                &[
                    "I know my way around these docs best. What are you looking for?",
                    "I am here for the docs. What can I find for you?",
                ],
                &["我最熟悉的是这份文档，想找什么内容？", "我可以帮你查文档，想了解什么？"],
            ),
            Self::Acknowledged => fixed(
                &["Good. Anything else?", "All right. What next?"],
                &["好的，还有别的问题吗？", "好，接下来想了解什么？"],
            ),
            Self::Exit => fixed(
                &[
                    "I step aside. The docs are all yours, and I am here when you ask again.",
                    "All right, you are on your own with the docs. Ask whenever you want me back.",
                ],
                &["好的，我先退下。文档可以随意浏览，需要时再叫我。", "好，你自己看文档吧，需要我的时候再提问。"],
            ),
            Self::NoPrevious => fixed(
                &["There is no earlier answer to work from yet. Ask me something about the docs first."],
                &["当前没有可用的上文信息，请先问我一个关于文档的问题。"],
            ),
            Self::Simplify => fixed(&["In short:", "Put simply:"], &["简单来说：", "通俗一点说："]),
            Self::Detail => fixed(&["In more detail:", "The docs go on:"], &["更详细的内容：", "文档还写道："]),
            Self::Example => fixed(
                &["An example from the docs:", "The docs show it like this:"],
                &["文档中的例子：", "文档里有这样的示例："],
            ),
            Self::NoExample => {
                fixed(&["The pages hold no example of it; this comes closest:"], &["相关页面里没有例子，最接近的是："])
            }
            Self::KeyPoints => fixed(&["The key points:", "In a few points:"], &["要点如下：", "概括起来："]),
            Self::RefersTo(name) => (
                vec![
                    format!("That refers to “{name}”, from the last answer:"),
                    format!("This is “{name}” of the last answer:"),
                ],
                vec![format!("指的是上一条回答中的“{name}”："), format!("就是上一条回答里的“{name}”：")],
            ),
            Self::NoSuchOffer(count) => (
                vec![format!("There are {count} choices. Which one is it?")],
                vec![format!("一共有 {count} 个选项，请问是哪一个？")],
            ),
            Self::TooLong(limit) => (
                vec![format!("That is too long for me: please ask in at most {limit} characters.")],
                vec![format!("内容太长了，请控制在 {limit} 个字符以内。")],
            ),
            Self::Refused => fixed(
                &["I cannot answer this here. Please ask something else."],
                &["这个问题在这里无法回答，请换一个问题。"],
            ),
            Self::Failed(kind, wait) => failure(kind, wait),
            Self::LocalAnswer => fixed(&["Until then, this is what the docs say:"], &["先看看文档里的内容："]),
            Self::BrokeOff => fixed(&["(The reply broke off here.)"], &["（回答在这里中断了。）"]),
            Self::Stopped => fixed(&["Stopped."], &["已停止。"]),
            Self::NoIndex => fixed(
                &["The documentation is not loaded yet. Please ask again in a moment."],
                &["文档还没有加载完成，请稍后再问。"],
            ),
            Self::SharedTag(tag) => (vec![format!("also about {tag}")], vec![format!("同属 {tag}")]),
            Self::AlsoMatches(heading) => (vec![format!("see “{heading}” there")], vec![format!("其中有“{heading}”")]),
            Self::SameSection(section) => {
                (vec![format!("also in the section {section}")], vec![format!("同在“{section}”部分")])
            }
            Self::NearMiss => fixed(&["one of the nearest pages"], &["最接近的页面之一"]),
            Self::FacetShare(count) => {
                (vec![format!("{count} of the best passages")], vec![format!("最相关的段落中有 {count} 段")])
            }
            Self::Facet(name) => facet(name),
            Self::YesSummary => fixed(&["Sum it up"], &["总结一下"]),
            Self::YesHandover => fixed(&["Yes, pass it on"], &["好，一起带过去"]),
            Self::NoHandover => fixed(&["No, thanks"], &["不用了"]),
            Self::ContactLabel => fixed(&["contact us"], &["联系我们"]),
        }
    }
}

fn facet(name: &str) -> (Vec<String>, Vec<String>) {
    let (english, chinese) = match name {
        "version" => ("version", "版本"),
        "platform" => ("platform", "平台"),
        "section" => ("section", "部分"),
        "product" => ("product", "产品"),
        "language" => ("language", "语言"),
        other => (other, other),
    };
    (vec![english.to_owned()], vec![chinese.to_owned()])
}

fn failure(kind: FailureKind, wait: Option<u64>) -> (Vec<String>, Vec<String>) {
    let (english, chinese) = match kind {
        FailureKind::Timeout => {
            ("Sorry, the answering service took too long.".to_owned(), "抱歉，回答服务响应超时。".to_owned())
        }
        FailureKind::RateLimit => match wait {
            Some(ms) => {
                let seconds = ms.div_ceil(1000).max(1);
                (
                    format!("Sorry, the answering service is busy; please try again in {seconds} s."),
                    format!("抱歉，回答服务繁忙，请在 {seconds} 秒后再试。"),
                )
            }
            None => (
                "Sorry, the answering service is busy; please try again in a moment.".to_owned(),
                "抱歉，回答服务繁忙，请稍后再试。".to_owned(),
            ),
        },
        FailureKind::Network => (
            "Sorry, the answering service cannot be reached right now.".to_owned(),
            "抱歉，暂时无法连接回答服务。".to_owned(),
        ),
        FailureKind::Auth => (
            "Sorry, the answering service is not set up correctly on this site.".to_owned(),
            "抱歉，本站的回答服务配置有误。".to_owned(),
        ),
        FailureKind::ContentFilter => (
            "Sorry, the answer was withheld by a content filter.".to_owned(),
            "抱歉，回答被内容过滤拦截了。".to_owned(),
        ),
        FailureKind::Interrupted => {
            ("Sorry, the answer broke off before it was complete.".to_owned(), "抱歉，回答中途中断了。".to_owned())
        }
        FailureKind::Default => {
            ("Sorry, something went wrong while answering.".to_owned(), "抱歉，回答时出了点问题。".to_owned())
        }
    };
    (vec![english], vec![chinese])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_often_has_several_wordings_in_both_languages_chosen_by_number() {
        for say in [
            Say::Answer,
            Say::BestGuess,
            Say::Suggest,
            Say::NoResults,
            Say::LowRelevance,
            Say::WhichPage,
            Say::NotInDocs,
            Say::Greeting,
            Say::Thanks,
            Say::Chosen("x"),
            Say::Unsearchable,
            Say::Handover,
            Say::HandoverWithoutContact,
            Say::Summary,
            Say::Bye,
            Say::Acknowledged,
            Say::Exit,
            Say::Simplify,
            Say::Detail,
            Say::Example,
            Say::KeyPoints,
            Say::RefersTo("x"),
        ] {
            for language in [Language::English, Language::Chinese] {
                assert_ne!(say.text(language, 0), say.text(language, 1), "{say:?}");
                assert_eq!(say.text(language, 1), say.text(language, 1));
            }
        }
    }

    #[test]
    fn a_wait_is_told_in_whole_seconds() {
        let say = Say::Failed(FailureKind::RateLimit, Some(1200));
        assert!(say.text(Language::English, 0).contains("2 s"));
        assert!(say.text(Language::Chinese, 0).contains("2 秒"));
    }

    #[test]
    fn every_chinese_sentence_is_chinese() {
        for say in [Say::Exit, Say::NoPrevious, Say::Handover, Say::Failed(FailureKind::Auth, None), Say::TooLong(9)] {
            assert!(say.text(Language::Chinese, 0).chars().any(crate::turn::is_han), "{say:?}");
            assert!(!say.text(Language::English, 0).chars().any(crate::turn::is_han), "{say:?}");
        }
    }
}
