//! Turns a decision into a reply: local sentences and quoted passages, with their links, offers and choices.
//!
//! Input: what was decided and found. Output: a [`LocalReply`], which is the whole reply without an endpoint, and the one
//! that stands in for it when the endpoint fails.
//! **Invariant:** what a reply says about the documentation is quoted from a passage, and every quote has its link.

use super::code_fence;
use super::reply_templates::Say;
use crate::dialogue::{OfferKind, OfferedItem};
use crate::lowercase::lowercase;
use crate::relevance::choices::Choices;
use crate::relevance::related_pages::{RelatedPage, Relation};
use crate::turn::{Contact, FollowUpKind, Language, Offer, Passage, Source};

/// Share of the best passage's evidence from which another is quoted with it, 0..=1.
const QUOTED_BESIDE: f32 = 0.75;
/// Passages quoted in an answer.
const MAX_QUOTES: usize = 2;
/// Characters of a quote where the best part of a passage is not known.
const QUOTE_CHARS: usize = 320;
/// Characters of a passage that is spelled out.
const DETAIL_CHARS: usize = 1600;

/// A reply made without an endpoint.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LocalReply {
    /// Markdown.
    pub text: String,
    /// The passages quoted, in the order of their numbers.
    pub quoted: Vec<Passage>,
    /// Related pages.
    pub suggestions: Vec<Offer>,
    /// Choices.
    pub options: Vec<Offer>,
}

/// Makes local replies.
#[derive(Debug, Clone, Copy)]
pub struct ActionExecutor<'a> {
    /// Language of the reply.
    pub language: Language,
    /// Chooses among wordings: the session's seed and the turn's number.
    pub choice: u64,
    /// Where the reader finds a human.
    pub contact: Option<&'a Contact>,
}

impl ActionExecutor<'_> {
    /// The sentence for `say`.
    #[must_use]
    pub fn say(&self, say: Say<'_>) -> String {
        say.text(self.language, self.choice)
    }

    /// An answer: the lead, then the best passages. `detailed` quotes more of them, at length.
    #[must_use]
    pub fn answer(&self, lead: Say<'_>, passages: &[Passage], detailed: bool) -> LocalReply {
        let best = passages.first().map_or(0.0, |passage| passage.scores.evidence);
        let most = if detailed { passages.len() } else { MAX_QUOTES };
        let share = if detailed { QUOTED_BESIDE / 2.0 } else { QUOTED_BESIDE };
        let quoted: Vec<Passage> = passages
            .iter()
            .enumerate()
            .filter(|(at, passage)| *at == 0 || passage.scores.evidence >= best * share)
            .take(most)
            .map(|(_, passage)| passage.clone())
            .collect();
        let mut text = self.say(lead);
        for (at, passage) in quoted.iter().enumerate() {
            let words = if detailed { clip(&passage.text, DETAIL_CHARS) } else { quote(passage) };
            self.push_quote(&mut text, &words, passage, at + 1);
        }
        LocalReply { text, quoted, ..LocalReply::default() }
    }

    fn push_quote(&self, text: &mut String, words: &str, passage: &Passage, n: usize) {
        if !words.is_empty() {
            text.push_str("\n\n");
            for line in words.lines() {
                text.push_str(if line.is_empty() { ">" } else { "> " });
                text.push_str(line);
                text.push('\n');
            }
        } else {
            text.push_str("\n\n");
        }
        text.push_str(&format!("\n— [{}]({}) [{n}]", escape(&place(passage)), passage.url));
    }

    /// Adds the offers of related pages to a reply.
    pub fn add_suggestions(&self, reply: &mut LocalReply, pages: &[RelatedPage], most: usize) {
        reply.suggestions = pages.iter().take(most).map(|page| self.suggestion(page)).collect();
        if !reply.suggestions.is_empty() {
            reply.text.push_str("\n\n");
            reply.text.push_str(&self.say(Say::Suggest));
            self.push_list(&mut reply.text, &reply.suggestions);
        }
    }

    /// The offer of a related page, with the reason.
    #[must_use]
    pub fn suggestion(&self, page: &RelatedPage) -> Offer {
        let reason = match &page.relation {
            Relation::Tag(tag) => self.say(Say::SharedTag(tag)),
            Relation::Match(heading) => self.say(Say::AlsoMatches(heading)),
            Relation::Section(section) => self.say(Say::SameSection(section)),
        };
        Offer { id: page.document.clone(), title: page.title.clone(), url: Some(page.url.clone()), reason }
    }

    /// A clarifying question with its choices.
    #[must_use]
    pub fn ask(&self, lead: Say<'_>, choices: &Choices) -> LocalReply {
        let options: Vec<Offer> = choices
            .items
            .iter()
            .map(|item| Offer {
                id: item.id.clone(),
                title: item.title.clone(),
                url: item.url.clone(),
                reason: match choices.facet {
                    Some(_) => self.say(Say::FacetShare(item.passages)),
                    None => self.say(Say::NearMiss),
                },
            })
            .collect();
        let mut text = self.say(lead);
        self.push_list(&mut text, &options);
        LocalReply { text, options, ..LocalReply::default() }
    }

    /// Says that the docs do not cover the question, with the nearest pages and the contact.
    #[must_use]
    pub fn not_in_docs(&self, nearest: &Choices) -> LocalReply {
        let mut text = self.say(Say::NotInDocs);
        let mut reply = LocalReply::default();
        if !nearest.items.is_empty() {
            reply.suggestions = self.ask(Say::Nearest, nearest).options;
            text.push_str("\n\n");
            text.push_str(&self.say(Say::Nearest));
            self.push_list(&mut text, &reply.suggestions);
        }
        if let Some(contact) = self.contact_text() {
            text.push_str("\n\n");
            text.push_str(&self.say(Say::Contact(&contact)));
        }
        reply.text = text;
        reply
    }

    /// Hands over: offers to pass the conversation on where there is a contact, else the nearest pages.
    #[must_use]
    pub fn hand_over(&self, nearest: &Choices) -> LocalReply {
        match self.contact_text() {
            Some(contact) => {
                let mut text = self.say(Say::Handover);
                text.push_str("\n\n");
                text.push_str(&self.say(Say::Contact(&contact)));
                let options = vec![
                    self.own_offer("action=handover", Say::YesHandover),
                    self.own_offer("action=no", Say::NoHandover),
                ];
                self.push_list(&mut text, &options);
                LocalReply { text, options, ..LocalReply::default() }
            }
            None => {
                let mut reply = self.ask(Say::HandoverWithoutContact, nearest);
                reply.suggestions = std::mem::take(&mut reply.options);
                reply
            }
        }
    }

    /// A choice that is no page but something the agent does.
    #[must_use]
    pub fn own_offer(&self, id: &str, title: Say<'_>) -> Offer {
        Offer { id: id.to_owned(), title: self.say(title), url: None, reason: String::new() }
    }

    /// A follow-up on the passages of the last answer, made without an endpoint.
    #[must_use]
    pub fn follow_up(&self, kind: FollowUpKind, passages: &[Passage], refers_to: Option<&str>) -> LocalReply {
        let quoted: Vec<Passage> = match kind {
            FollowUpKind::Detail | FollowUpKind::Summary => passages.to_vec(),
            FollowUpKind::Example => {
                let with_example = passages.iter().find(|passage| example(&passage.text).is_some());
                with_example.or(passages.first()).cloned().into_iter().collect()
            }
            FollowUpKind::Simplify | FollowUpKind::Pronoun => passages.iter().take(1).cloned().collect(),
        };
        let lead = match kind {
            FollowUpKind::Simplify => Say::Simplify,
            FollowUpKind::Detail => Say::Detail,
            FollowUpKind::Summary => Say::KeyPoints,
            FollowUpKind::Example if quoted.iter().any(|passage| example(&passage.text).is_some()) => Say::Example,
            FollowUpKind::Example => Say::NoExample,
            FollowUpKind::Pronoun => Say::RefersTo(refers_to.unwrap_or_default()),
        };
        let mut text = self.say(lead);
        for (at, passage) in quoted.iter().enumerate() {
            let words = match kind {
                FollowUpKind::Detail => clip(&passage.text, DETAIL_CHARS),
                FollowUpKind::Example => example(&passage.text).unwrap_or_else(|| quote(passage)),
                // The first sentence of a passage says what it is about in the fewest words.
                FollowUpKind::Simplify | FollowUpKind::Summary => first_sentence(&passage.text),
                FollowUpKind::Pronoun => quote(passage),
            };
            self.push_quote(&mut text, &words, passage, at + 1);
        }
        LocalReply { text, quoted, ..LocalReply::default() }
    }

    /// The contact as Markdown; `None` where the site named nobody.
    fn contact_text(&self) -> Option<String> {
        let contact = self.contact?;
        let label = contact.label.clone().unwrap_or_else(|| self.say(Say::ContactLabel));
        let link = super::handover::plain_link(contact);
        Some(link.map_or_else(|| label.clone(), |link| format!("[{}]({link})", escape(&label))))
    }

    fn push_list(&self, text: &mut String, offers: &[Offer]) {
        text.push('\n');
        for (at, offer) in offers.iter().enumerate() {
            text.push_str(&format!("\n{}. ", at + 1));
            match &offer.url {
                Some(url) => text.push_str(&format!("[{}]({url})", escape(&offer.title))),
                None => text.push_str(&escape(&offer.title)),
            }
            if !offer.reason.is_empty() {
                text.push_str(match self.language {
                    Language::English => " — ",
                    Language::Chinese => "：",
                });
                text.push_str(&offer.reason);
            }
        }
    }
}

/// The sources of a reply, numbered from 1: the passages whose numbers are in `cited`, or all where nothing is cited.
#[must_use]
pub fn sources(passages: &[Passage], cited: &[usize]) -> Vec<Source> {
    passages
        .iter()
        .enumerate()
        .filter(|(at, _)| cited.is_empty() || cited.contains(&(at + 1)))
        .map(|(at, passage)| Source {
            n: at + 1,
            document: passage.document.clone(),
            title: passage.title.clone(),
            heading_path: passage.heading_path.clone(),
            url: passage.url.clone(),
            quote: passage.best.clone(),
            highlights: passage.highlights.clone(),
            score: passage.scores.evidence,
        })
        .collect()
}

/// The offers of a turn in the order in which the reader sees them.
#[must_use]
pub fn offered_items(suggestions: &[Offer], options: &[Offer], question: &str) -> Vec<OfferedItem> {
    let item = |kind| move |offer: &Offer| OfferedItem { offer: offer.clone(), kind, question: question.to_owned() };
    let suggestions = suggestions.iter().map(item(OfferKind::Suggestion));
    suggestions.chain(options.iter().map(item(OfferKind::Option))).collect()
}

/// Title and headings: `Title › Heading`.
fn place(passage: &Passage) -> String {
    let mut place = passage.title.clone();
    for heading in &passage.heading_path {
        place.push_str(" › ");
        place.push_str(heading);
    }
    place
}

/// Text inside of a Markdown link's brackets.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

/// The part of a passage that answers best. It may begin or end within a code block, which a quote then holds whole.
fn quote(passage: &Passage) -> String {
    let best = passage.best.trim();
    if best.is_empty() {
        return clip(&passage.text, QUOTE_CHARS);
    }
    let before = passage.text.find(best).map_or("", |at| &passage.text[..at]);
    code_fence::whole(before, best)
}

/// The start of a text, ended at a line or sentence where there is one near, an open code block closed.
fn clip(text: &str, limit: usize) -> String {
    let text = text.trim();
    let Some((end, _)) = text.char_indices().nth(limit) else { return code_fence::whole("", text) };
    let head = &text[..end];
    let mark = head.rfind(['\n', '。', '！', '？']).or_else(|| head.rfind(". ")).filter(|at| *at > end / 2);
    let cut = match mark {
        Some(at) => head[..at + head[at..].chars().next().map_or(1, char::len_utf8)].trim_end(),
        None => head.trim_end(),
    };
    // A fence that was opened last and holds nothing would take the dots for the code's language.
    let cut = code_fence::without_empty_end(cut);
    code_fence::whole("", &format!("{cut} …"))
}

/// The first code block of a text with the line before it, or the first sentence that announces an example.
fn example(text: &str) -> Option<String> {
    if let Some(start) = text.find("```") {
        let length = text[start + 3..].find("```").map(|at| at + 6)?;
        let before = text[..start].trim_end().lines().last().unwrap_or_default();
        return Some(format!("{before}\n{}", &text[start..start + length]).trim().to_owned());
    }
    let marks = ["for example", "e.g.", "such as", "例如", "比如", "示例", "举例"];
    let folded = lowercase(text);
    let at = marks.iter().filter_map(|mark| folded.find(mark)).min()?;
    // Lower case can change a length in bytes (İ), so the place is looked up by characters.
    let chars = folded[..at].chars().count();
    let at = text.char_indices().nth(chars).map_or(0, |(at, _)| at);
    let start = text[..at]
        .rfind(['.', '\n', '。', '！', '？'])
        .map_or(0, |end| end + text[end..].chars().next().map_or(1, char::len_utf8));
    Some(clip(&text[start..], QUOTE_CHARS))
}

/// The first sentence of the running text.
fn first_sentence(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(['#', '`', '|', '<']));
    let line = line.unwrap_or(text.trim());
    let end = line.char_indices().find_map(|(at, c)| {
        let rest = &line[at + c.len_utf8()..];
        let ends = matches!(c, '。' | '！' | '？') || (matches!(c, '.' | '!' | '?') && rest.starts_with(' '));
        ends.then_some(at + c.len_utf8())
    });
    line[..end.unwrap_or(line.len())].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::Scores;

    fn passage(title: &str, text: &str, evidence: f32) -> Passage {
        Passage {
            id: format!("{title}#0"),
            document: title.into(),
            title: title.into(),
            heading_path: vec!["Use [it]".into()],
            url: format!("/{title}#use"),
            text: text.into(),
            scores: Scores { evidence, ..Scores::default() },
            ..Passage::default()
        }
    }

    const EXECUTOR: ActionExecutor<'static> = ActionExecutor { language: Language::English, choice: 0, contact: None };

    #[test]
    fn a_quote_carries_title_heading_and_deep_link() {
        let reply =
            EXECUTOR.answer(Say::Answer, &[passage("venv", "Run python -m venv.\n\nThen activate it.", 0.9)], false);
        assert_eq!(
            reply.text,
            "Here is what the docs say:\n\n> Run python -m venv.\n>\n> Then activate it.\n\n— [venv › Use \\[it\\]](/venv#use) [1]"
        );
        assert_eq!(sources(&reply.quoted, &[])[0].n, 1);
    }

    #[test]
    fn weak_passages_stay_out_and_detail_takes_more() {
        let passages = [passage("a", "one", 0.9), passage("b", "two", 0.4), passage("c", "three", 0.1)];
        let count = |detailed| EXECUTOR.answer(Say::Answer, &passages, detailed).quoted.len();
        assert_eq!((count(false), count(true)), (1, 2));
    }

    #[test]
    fn an_example_is_the_code_block_or_the_sentence_that_announces_it() {
        assert_eq!(
            example("First.\nDo this:\n```sh\npip install x\n```\nDone."),
            Some("Do this:\n```sh\npip install x\n```".into())
        );
        assert_eq!(example("It is fast. For example, use a mirror."), Some("For example, use a mirror.".into()));
        assert_eq!(example("换源即可。例如清华镜像。"), Some("例如清华镜像。".into()));
        assert_eq!(example("Nothing here."), None);
    }

    #[test]
    fn a_quote_from_within_a_code_block_holds_a_whole_one() {
        let mut found = passage("a", "Run:\n\n```sh\nnpm create vue\ncd app\n```\n\nThen open the page.", 0.9);
        for (best, expected) in [
            ("cd app\n```\n\nThen open the page.", "> ```sh\n> cd app\n> ```\n>\n> Then open the page.\n"),
            ("Run:\n\n```sh\nnpm create vue", "> Run:\n>\n> ```sh\n> npm create vue\n> ```\n"),
        ] {
            found.best = best.to_owned();
            let reply = EXECUTOR.answer(Say::Answer, std::slice::from_ref(&found), false).text;
            assert!(reply.contains(expected), "{reply}");
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_sentence_and_its_code_block_closed() {
        let long = format!("{}. {}", "a".repeat(40), "b".repeat(40));
        assert_eq!(clip(&long, 60), format!("{}. …", "a".repeat(40)));
        assert!(clip(&format!("```\n{}", "x".repeat(100)), 50).ends_with("\n```"));
        assert_eq!(first_sentence("# T\n\nFirst one. Second one."), "First one.");
        assert_eq!(first_sentence("第一句。第二句。"), "第一句。");
    }
}
