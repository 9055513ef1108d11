//! Whether a message works on the previous answer, and how.
//!
//! Input: the message and the state. Output: the kind, in the order simplify, detail, example, summary, pronoun; the first
//! that matches wins. **Invariant:** a trigger counts only when nothing of a topic of its own is left once the triggers and
//! the courtesies around them are taken away: "详细一点" works on the answer, "详细配置选项有哪些？" asks.

use serde::{Deserialize, Serialize};

use super::entities;
use super::lexicon::{en, zh};
use super::phrases::{holds, normalize, strip};
use super::vocabulary::NoVocabulary;
use crate::dialogue::{DialogueState, EntityKind};
use crate::lowercase::lowercase;
use crate::order;
use crate::turn::FollowUpKind;

/// How a message works on the previous answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowUpIntent {
    /// The kind.
    pub kind: FollowUpKind,
    /// True for a pronoun turn that asks for something new about the topic: it is rewritten and searched.
    pub asks_new: bool,
    /// Whether there is a last generation to work on.
    pub has_previous: bool,
}

/// Longest message that can be a pure follow-up, in characters; longer ones bring a topic.
const MAX_CHARS: usize = 80;

/// The follow-up that `message` is, if it is one.
#[must_use]
pub fn detect(message: &str, state: &DialogueState) -> Option<FollowUpIntent> {
    let text = normalize(message);
    let has_previous = state.last_generation.is_some();
    if let Some(kind) = pure(&text) {
        return Some(FollowUpIntent { kind, asks_new: false, has_previous });
    }
    pronoun(message, &text).map(|asks_new| FollowUpIntent { kind: FollowUpKind::Pronoun, asks_new, has_previous })
}

/// One of the first four kinds.
fn pure(text: &str) -> Option<FollowUpKind> {
    if text.chars().count() > MAX_CHARS || !leftover(text).is_empty() {
        return None;
    }
    // "用例子说明" holds a word of the first kind, but asks for a case.
    if holds(text, &zh::EXAMPLE_FIRST) {
        return Some(FollowUpKind::Example);
    }
    let kinds: [(FollowUpKind, &[&str], &[&str]); 4] = [
        (FollowUpKind::Simplify, &en::SIMPLIFY, &zh::SIMPLIFY),
        (FollowUpKind::Detail, &en::DETAIL, &zh::DETAIL),
        (FollowUpKind::Example, &en::EXAMPLE, &zh::EXAMPLE),
        (FollowUpKind::Summary, &en::SUMMARY, &zh::SUMMARY),
    ];
    // "one more example" and "再举个例子" ask for a case: their "more" only counts it.
    let counted =
        ["more example", "more examples", "another example", "more sample", "more samples", "更多例子", "更多示例"];
    if holds(text, &counted) {
        return Some(FollowUpKind::Example);
    }
    kinds.iter().find(|(_, english, chinese)| holds(text, english) || holds(text, chinese)).map(|(kind, ..)| *kind)
}

/// What is left of the message without triggers and fillers.
fn leftover(text: &str) -> String {
    strip(
        text,
        &[
            &en::SIMPLIFY,
            &en::DETAIL,
            &en::EXAMPLE,
            &en::SUMMARY,
            &en::FILLER,
            &zh::SIMPLIFY,
            &zh::DETAIL,
            &zh::EXAMPLE,
            &zh::SUMMARY,
            &zh::FILLER,
        ],
    )
}

/// Whether the message refers back; `Some(true)` when it asks for something new.
fn pronoun(message: &str, text: &str) -> Option<bool> {
    // "什么意思？" asks about the answer without a pronoun.
    let asks_sense = holds(text, &["什么意思", "啥意思", "指什么", "指的是什么", "指啥"]);
    if asks_sense && strip(text, &[&zh::ASKS_MEANING, &zh::FILLER]).is_empty() {
        return Some(false);
    }
    let at = refers_back(message)?;
    let own = entities::mentions(message, &NoVocabulary);
    let names = |kind: EntityKind| matches!(kind, EntityKind::Name | EntityKind::Identifier | EntityKind::Language);
    // A name in front of the pronoun is what it stands for: the message carries its own topic.
    if own.iter().any(|mention| mention.end <= at && names(mention.kind)) {
        return None;
    }
    let meaning = holds(text, &en::ASKS_MEANING) || holds(text, &zh::ASKS_MEANING);
    let rest = strip(
        text,
        &[
            &en::ASKS_MEANING,
            &en::FILLER,
            &en::EMPTY,
            &zh::ASKS_MEANING,
            &zh::PRONOUNS,
            &zh::FILLER,
            &["意思", "词", "单词", "概念", "术语", "mean", "meaning", "refer", "refers", "word", "term"],
        ],
    );
    let asks_word = meaning || holds(text, &["mean", "refer to", "refers to"]);
    Some(!(asks_word && rest.is_empty()))
}

/// The byte offset of a pronoun that refers back to the conversation.
#[must_use]
pub fn refers_back(message: &str) -> Option<usize> {
    let chinese = chinese_pronoun(message);
    let english = english_pronouns(message).into_iter().next();
    match (chinese, english) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The byte offset of the first Chinese pronoun.
fn chinese_pronoun(message: &str) -> Option<usize> {
    chinese_pronouns(message).first().map(|(at, _)| *at)
}

/// The Chinese pronouns of a message with their byte offsets, in order: no "其他", no "应该".
#[must_use]
pub fn chinese_pronouns(message: &str) -> Vec<(usize, &'static str)> {
    let mut covered: Vec<(usize, usize)> = Vec::new();
    for word in zh::NO_PRONOUNS.iter().copied() {
        covered.extend(message.match_indices(word).map(|(at, _)| (at, at + word.len())));
    }
    let mut found: Vec<(usize, &'static str)> = Vec::new();
    // The longest first: "它们" before "它".
    for word in zh::PRONOUNS.iter().copied() {
        for (at, _) in message.match_indices(word) {
            if covered.iter().all(|(start, end)| at + word.len() <= *start || *end <= at) {
                covered.push((at, at + word.len()));
                found.push((at, word));
            }
        }
    }
    order::sort(&mut found);
    found
}

/// The byte offsets of the English pronouns that refer back: no "it" of "is it possible to", no "that" of a clause.
#[must_use]
pub fn english_pronouns(message: &str) -> Vec<usize> {
    let words = entities::words(message);
    let lower: Vec<String> = words.iter().map(|word| lowercase(word.text).replace('’', "'")).collect();
    let word = |at: usize| lower.get(at).map_or("", String::as_str);
    let mut found = Vec::new();
    for (i, here) in lower.iter().enumerate() {
        let next = word(i + 1);
        let before = if i == 0 { "" } else { word(i - 1) };
        // A sign between the words ends the phrase.
        let breaks = words.get(i + 1).is_none_or(|w| !w.follows);
        let refers = match here.as_str() {
            "it" | "it's" => words[i].text != "IT" && !is_pleonastic(&lower, i),
            "its" | "they" | "them" | "their" | "theirs" | "they're" | "he" | "she" | "him" | "his" | "her" => true,
            "former" | "latter" => before == "the",
            "that" | "this" => stands_alone(before, next, breaks) || here == "this" && next == "one",
            "that's" => i == 0 || !matches!(before, "thing" | "one" | "something"),
            "those" | "these" => true,
            _ => false,
        };
        let refers = refers || here == "that" && (next == "one" || determines(before, next, breaks));
        let refers = refers || here == "this" && determines(before, next, breaks);
        if refers {
            found.push(words[i].start);
        }
    }
    found
}

/// Whether "it" stands for nothing: "is it possible to", "how long does it take to".
fn is_pleonastic(lower: &[String], at: usize) -> bool {
    const ADJECTIVES: [&str; 20] = [
        "possible",
        "necessary",
        "safe",
        "better",
        "best",
        "ok",
        "okay",
        "worth",
        "required",
        "hard",
        "easy",
        "important",
        "recommended",
        "advisable",
        "normal",
        "mandatory",
        "difficult",
        "enough",
        "true",
        "allowed",
    ];
    let rest: Vec<&str> = lower[at + 1..].iter().take(4).map(String::as_str).collect();
    let adjective = rest.iter().take(2).position(|word| ADJECTIVES.contains(word));
    let clause = |from: usize| rest[from..].iter().take(2).any(|word| matches!(*word, "to" | "that" | "if" | "for"));
    adjective.is_some_and(|from| clause(from + 1)) || rest.first() == Some(&"take") && rest.contains(&"to")
}

/// "that" or "this" as a pronoun of its own: in front of a verb, behind a preposition, at the end.
fn stands_alone(before: &str, next: &str, breaks: bool) -> bool {
    const VERBS: [&str; 31] = [
        "is",
        "was",
        "does",
        "do",
        "did",
        "work",
        "works",
        "mean",
        "means",
        "happen",
        "happens",
        "apply",
        "applies",
        "affect",
        "affects",
        "include",
        "cost",
        "make",
        "support",
        "supported",
        "will",
        "would",
        "can",
        "could",
        "should",
        "also",
        "still",
        "require",
        "change",
        "help",
        "be",
    ];
    const FRONTS: [&str; 34] = [
        "is",
        "was",
        "does",
        "do",
        "did",
        "about",
        "with",
        "like",
        "for",
        "of",
        "in",
        "on",
        "to",
        "after",
        "before",
        "than",
        "from",
        "by",
        "use",
        "using",
        "doing",
        "do",
        "fix",
        "change",
        "disable",
        "enable",
        "why",
        "when",
        "how",
        "and",
        "avoid",
        "configure",
        "install",
        "try",
    ];
    if breaks {
        return FRONTS.contains(&before) || !before.is_empty() && next.is_empty();
    }
    VERBS.contains(&next)
        && (before.is_empty() || FRONTS.contains(&before) || matches!(before, "if" | "will" | "would" | "can"))
}

/// "that option", "this command": a determiner in front of a general noun.
fn determines(before: &str, next: &str, breaks: bool) -> bool {
    const NOUNS: [&str; 36] = [
        "option",
        "command",
        "setting",
        "flag",
        "function",
        "method",
        "feature",
        "file",
        "page",
        "step",
        "error",
        "value",
        "parameter",
        "argument",
        "property",
        "plugin",
        "package",
        "component",
        "approach",
        "way",
        "case",
        "config",
        "field",
        "api",
        "limit",
        "version",
        "warning",
        "message",
        "example",
        "code",
        "class",
        "hook",
        "model",
        "index",
        "variable",
        "tool",
    ];
    !breaks && NOUNS.contains(&next) && before != "of all"
}

#[cfg(test)]
mod tests {
    use FollowUpKind::{Detail, Example, Pronoun, Simplify, Summary};

    use super::*;

    fn check(message: &str, expected: Option<(FollowUpKind, bool)>) {
        let found = detect(message, &DialogueState::new("s")).map(|f| (f.kind, f.asks_new));
        assert_eq!(found, expected, "{message}");
    }

    #[test]
    fn follow_ups_in_chinese() {
        for trigger in ["通俗一点", "简单一点", "简略一点", "别太专业", "小白解释", "用比喻", "用例子", "别用术语"]
        {
            check(trigger, Some((Simplify, false)));
        }
        for trigger in ["详细", "更多信息", "再讲一遍", "补充", "继续", "扩展", "深入", "再说一遍", "重复一下"]
        {
            check(trigger, Some((Detail, false)));
        }
        for trigger in ["举个例子", "具体点", "案例", "实例", "用例子说明"] {
            check(trigger, Some((Example, false)));
        }
        for trigger in ["总结", "概括", "归纳"] {
            check(trigger, Some((Summary, false)));
        }
        for trigger in ["它", "它们", "那些", "这个", "那个", "这些", "这点", "那点"] {
            check(&format!("{trigger}怎么安装？"), Some((Pronoun, true)));
        }
        check("能不能说得再通俗一点？", Some((Simplify, false)));
        check("请你用一句话总结一下刚才的内容", Some((Summary, false)));
        check("它是什么意思？", Some((Pronoun, false)));
        check("它的主要组件有哪些？", Some((Pronoun, true)));
        for question in [
            "如何用案例研究做测试？",
            "详细配置选项有哪些？",
            "Vue 的 `<Teleport>` 怎么用？那个 to 属性是必填的吗？",
            "一个简单一点的项目模板怎么建？",
            "继续集成怎么配置？",
            "其他平台怎么安装？",
            "应该怎么写配置文件？",
            "总结模板放在哪个目录？",
        ] {
            check(question, None);
        }
    }

    #[test]
    fn follow_ups_in_english() {
        for (message, kind) in [
            ("simpler, please", Simplify),
            ("Explain that in plain words", Simplify),
            ("ELI5", Simplify),
            ("without jargon please", Simplify),
            ("can you give me an analogy?", Simplify),
            ("I don't understand", Simplify),
            ("more", Detail),
            ("Can you elaborate on that?", Detail),
            ("go on", Detail),
            ("tell me more about it", Detail),
            ("say that again", Detail),
            ("for example?", Example),
            ("Could you show me a sample?", Example),
            ("one more example", Example),
            ("TL;DR", Summary),
            ("Summarize your last answer in one sentence", Summary),
            ("what are the key points?", Summary),
        ] {
            check(message, Some((kind, false)));
        }
        for (message, asks_new) in [
            ("what does that mean?", false),
            ("What is it?", false),
            ("How do I install it?", true),
            ("what are its main components?", true),
            ("does that option work in SSR?", true),
            ("why is that?", true),
            ("which is faster, the former or the latter?", true),
        ] {
            check(message, Some((Pronoun, asks_new)));
        }
        for question in [
            "how do I edit the file for example.com?",
            "What does this.$refs hold?",
            "Is it possible to use TypeScript?",
            "How do I repeat a task every hour?",
            "What is the IT department's policy?",
            "Where is the sample project template?",
            "How does Vue track changes and when does it re-render?",
            "Is there a plugin that works with Vite?",
            "how to continue a stopped training run",
        ] {
            check(question, None);
        }
    }
}
