//! What the reader wants: an answer, small talk, or something that cannot be searched.
//!
//! Input: the message, the memory, and what the other parts of understanding found. Output: [`Verdict`]. A local check
//! settles most turns; what it does not settle may be asked of an endpoint (the prompt and the reader of the reply are in
//! `chat::prompt`) or decided by the search.
//! **Invariant:** a trigger word in front of a real question is no chitchat: "ok how do I install it?".

use super::follow_up::FollowUpIntent;
use super::lexicon::{en, zh};
use super::phrases::{holds, normalize, strip};
use super::selection::{Selection, is_position};
use super::signals::Signals;
use super::vocabulary::Vocabulary;
use crate::dialogue::ConversationMemory;
use crate::turn::{Intent, is_han};

/// Routes a message. The fields are thresholds of the local decision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntentRouter {
    /// Share of the message's terms that the index must know for a confident `retrieval`, 0..=1; below it a message that is
    /// no question may be small talk.
    pub min_in_vocabulary: f32,
    /// Evidence of the best passage below which an unsettled message that is no question counts as small talk, 0..=1.
    pub min_evidence: f32,
}

impl Default for IntentRouter {
    fn default() -> Self {
        Self { min_in_vocabulary: 0.34, min_evidence: 0.15 }
    }
}

/// What the router decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The intent.
    pub intent: Intent,
    /// How sure, 0..=1.
    pub confidence: f32,
    /// True when no endpoint needs to be asked.
    pub settled: bool,
    /// A stable word.
    pub reason: &'static str,
}

impl Verdict {
    fn settled(intent: Intent, confidence: f32, reason: &'static str) -> Self {
        Self { intent, confidence, settled: true, reason }
    }
}

/// Longest message that is looked at as chitchat, in characters. Thanks in three sentences still fit.
const MAX_CHITCHAT_CHARS: usize = 120;

impl IntentRouter {
    /// The local decision, before any search.
    #[must_use]
    pub fn route(
        &self,
        message: &str,
        memory: &ConversationMemory,
        signals: &Signals,
        follow_up: Option<FollowUpIntent>,
        selection: Option<Selection>,
        vocabulary: &dyn Vocabulary,
    ) -> Verdict {
        let text = normalize(message);
        if signals.exit {
            return Verdict::settled(Intent::Chitchat, 1.0, "exit");
        }
        if signals.wants_human {
            return Verdict::settled(Intent::Chitchat, 0.95, "wants_human");
        }
        if signals.wants_summary {
            return Verdict::settled(Intent::Retrieval, 0.95, "wants_summary");
        }
        if selection.is_some() {
            return Verdict::settled(Intent::Retrieval, 1.0, "selection");
        }
        if follow_up.is_some_and(|follow_up| !follow_up.asks_new) {
            return Verdict::settled(Intent::Retrieval, 0.95, "follow_up");
        }
        if is_chitchat(&text) {
            return Verdict::settled(Intent::Chitchat, 0.95, kind_of_chitchat(&text));
        }
        let known = !memory.state().topic.query.is_empty() || !memory.messages().is_empty();
        // The former and the latter may be two things of the conversation, and not of an offer.
        let of_two = known && holds(&text, &["former", "latter", "前者", "后者"]);
        if is_position(message) && !of_two {
            return Verdict::settled(Intent::Clarify, 0.9, "no_such_item");
        }
        if !text.chars().any(char::is_alphanumeric) {
            return Verdict::settled(Intent::Clarify, 0.9, "no_words");
        }
        if signals.affirmative || signals.negative || signals.indifferent {
            return Verdict::settled(Intent::Chitchat, 0.7, "acknowledgement");
        }
        if has_no_content(&text) {
            return if known {
                Verdict::settled(Intent::Retrieval, 0.7, "elliptic")
            } else {
                Verdict::settled(Intent::Clarify, 0.9, "nothing_to_search")
            };
        }
        let share = in_vocabulary(&text, vocabulary);
        if is_question(&text) {
            let confidence = 0.75 + 0.2 * share.unwrap_or(0.5);
            return Verdict::settled(Intent::Retrieval, confidence, "question");
        }
        match share {
            Some(share) if share < self.min_in_vocabulary => {
                Verdict { intent: Intent::Retrieval, confidence: 0.4, settled: false, reason: "unknown_words" }
            }
            // A bare name or a statement: keywords are typed into search boxes all the time.
            _ => Verdict { intent: Intent::Retrieval, confidence: 0.65, settled: share.is_some(), reason: "keywords" },
        }
    }

    /// The decision once the search has answered, for a verdict that was not settled and with no endpoint to ask.
    ///
    /// `best` is the best passage's evidence, 0..=1; `in_vocabulary` the share of the query's terms that the index knows.
    /// A statement about somebody ("my cat sleeps on the keyboard") of words that the docs do not know, with next to
    /// nothing found, is small talk; anything else stays what it was, bare names above all: those are typed into search
    /// boxes.
    #[must_use]
    pub fn settle(&self, verdict: Verdict, message: &str, best: f32, in_vocabulary: f32) -> Verdict {
        let about_docs = best >= self.min_evidence || in_vocabulary >= self.min_in_vocabulary;
        if verdict.settled || about_docs || !is_personal(&normalize(message)) {
            return Verdict { settled: true, ..verdict };
        }
        Verdict::settled(Intent::Chitchat, 0.6, "not_about_the_docs")
    }
}

/// Whether somebody is spoken of or to, as small talk does and search words do not.
fn is_personal(text: &str) -> bool {
    const PERSONS: [&str; 16] = [
        "i", "i'm", "i've", "my", "me", "we", "we're", "our", "you", "you're", "your", "he", "she", "his", "her", "us",
    ];
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    words.clone().count() >= 3 && words.clone().any(|word| PERSONS.contains(&word))
        || text.chars().filter(|c| is_han(*c)).count() >= 4 && text.contains(['我', '你', '您', '咱', '他', '她'])
}

/// Whether nothing but greetings, thanks and courtesies is said, or the agent itself is talked about.
fn is_chitchat(text: &str) -> bool {
    if text.chars().count() > MAX_CHITCHAT_CHARS {
        return false;
    }
    let lists: [&[&str]; 8] = [
        &en::SATISFIED,
        &zh::SATISFIED,
        &en::CHITCHAT,
        &en::SMALL_TALK,
        &en::COURTESY,
        &zh::CHITCHAT,
        &zh::SMALL_TALK,
        &zh::COURTESY,
    ];
    let greets = [&en::SATISFIED[..], &zh::SATISFIED, &en::CHITCHAT, &en::SMALL_TALK, &zh::CHITCHAT, &zh::SMALL_TALK]
        .iter()
        .any(|list| holds(text, list));
    let laughs =
        !text.is_empty() && text.chars().all(|c| "哈嘿呵嘻啊哦嗯~！!。.，, ".contains(c)) && text.chars().any(is_han);
    let waves = text.chars().any(|c| "👍🙏👋😊😀😄🎉❤👌🙂".contains(c)) && !text.chars().any(char::is_alphanumeric);
    laughs || waves || greets && strip(text, &lists).is_empty()
}

/// What kind of chitchat it is: what is answered to a goodbye is no answer to a greeting.
fn kind_of_chitchat(text: &str) -> &'static str {
    let kinds: [(&str, &[&str], &[&str]); 5] = [
        // A goodbye ends the message that it stands in, whatever is said before it; thanks come next.
        ("goodbye", &en::GOODBYES, &zh::GOODBYES),
        ("thanks", &en::THANKS, &zh::THANKS),
        ("small_talk", &en::SMALL_TALK, &zh::SMALL_TALK),
        ("greeting", &en::GREETINGS, &zh::GREETINGS),
        ("laughter", &en::LAUGHTER, &zh::LAUGHTER),
    ];
    let found = kinds.iter().find(|(_, english, chinese)| holds(text, english) || holds(text, chinese));
    match found {
        Some((kind, ..)) => kind,
        None if text.contains('👋') => "greeting",
        None if text.contains('🙏') => "thanks",
        None if text.chars().all(|c| "哈嘿呵嘻~！!。.，, 😊😀😄".contains(c)) => "laughter",
        None => "acknowledgement",
    }
}

/// Whether every word is one that cannot be searched for: "怎么弄？", "it doesn't work".
fn has_no_content(text: &str) -> bool {
    strip(text, &[&en::EMPTY, &zh::EMPTY, &zh::PRONOUNS]).is_empty()
}

/// Whether a message has the form of a question or a request.
#[must_use]
pub fn is_question(message: &str) -> bool {
    let text = &normalize(message);
    const STARTS: [&str; 42] = [
        "how", "what", "why", "when", "where", "which", "who", "whose", "is", "are", "was", "were", "do", "does",
        "did", "can", "could", "should", "would", "will", "has", "have", "am", "may", "might", "must", "show",
        "explain", "tell", "describe", "list", "compare", "give", "find", "help", "what's", "how's", "where's",
        "isn't", "doesn't", "can't", "any",
    ];
    const SIGNS: [&str; 26] = [
        "吗",
        "呢",
        "么",
        "怎",
        "什么",
        "如何",
        "为何",
        "哪",
        "谁",
        "几",
        "多少",
        "多久",
        "多大",
        "是否",
        "能否",
        "可否",
        "能不能",
        "可不可以",
        "有没有",
        "是不是",
        "会不会",
        "要不要",
        "咋",
        "请问",
        "求",
        "告诉",
    ];
    let first =
        text.split([' ', ',', '，']).find(|word| !matches!(*word, "ok" | "so" | "and" | "but" | "hi" | "hello" | ""));
    text.contains('?')
        || first.is_some_and(|word| STARTS.contains(&word))
        || text.chars().any(is_han) && SIGNS.iter().any(|sign| text.contains(sign))
}

/// The share of the content words that the index knows; `None` where there is no index or no content.
fn in_vocabulary(text: &str, vocabulary: &dyn Vocabulary) -> Option<f32> {
    let content = strip(text, &[&en::EMPTY, &en::FILLER, &zh::EMPTY, &zh::FILLER]);
    let words: Vec<&str> = content.split(' ').filter(|word| !word.is_empty()).collect();
    // An index that knows none of the commonest words is no index.
    let loaded = ["the", "of", "to", "的", "是", "在"].iter().any(|word| vocabulary.idf(word).is_some())
        || words.iter().any(|word| vocabulary.idf(word).is_some());
    if words.is_empty() || !loaded {
        return None;
    }
    let known = words.iter().filter(|word| vocabulary.idf(word).is_some()).count();
    Some(known as f32 / words.len() as f32)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{NoVocabulary, understand};
    use super::*;
    use crate::chat::message::Role;
    use crate::turn::EstimatedTokens;

    fn first(message: &str, intent: Intent, reason: &str) {
        let understanding = understand(message, &ConversationMemory::new("s"), &NoVocabulary);
        assert_eq!((understanding.intent, understanding.reason.as_str()), (intent, reason), "{message}");
    }

    #[test]
    fn a_first_message_is_routed() {
        for (message, kind) in [
            ("谢谢你的解答！再见", "goodbye"),
            ("你好", "greeting"),
            ("哈哈哈哈", "laughter"),
            ("嗯", "acknowledgement"),
            ("好的，谢谢", "thanks"),
            ("你是谁？", "small_talk"),
            ("辛苦了！", "thanks"),
            ("hi", "greeting"),
            ("Hello there!", "greeting"),
            ("Thanks a lot for your help, bye", "goodbye"),
            ("ok", "acknowledgement"),
            ("how are you?", "small_talk"),
            ("lol", "laughter"),
            ("👍", "acknowledgement"),
        ] {
            first(message, Intent::Chitchat, kind);
        }
        for message in
            ["ok how do I install it?", "你好，怎么配置 venv？", "Hello World 怎么写？", "hi, what is a ref?"]
        {
            first(message, Intent::Retrieval, "question");
        }
        for message in ["怎么弄？", "怎么办", "help", "it doesn't work", "出错了"] {
            first(message, Intent::Clarify, "nothing_to_search");
        }
        first("???", Intent::Clarify, "no_words");
        first("第一个", Intent::Clarify, "no_such_item");
        first("exit", Intent::Chitchat, "exit");
    }

    #[test]
    fn the_words_of_each_kind_are_chitchat() {
        for words in [&en::GREETINGS[..], &en::THANKS, &en::GOODBYES, &en::LAUGHTER] {
            assert!(words.iter().all(|word| en::CHITCHAT.contains(word)), "{words:?}");
        }
        for words in [&zh::GREETINGS[..], &zh::THANKS, &zh::GOODBYES, &zh::LAUGHTER] {
            assert!(words.iter().all(|word| zh::CHITCHAT.contains(word)), "{words:?}");
        }
    }

    #[test]
    fn an_empty_question_has_a_topic_in_a_conversation() {
        let mut memory = ConversationMemory::new("s");
        memory.add_message(Role::User, "venv 是什么？", 0, BTreeMap::new(), &EstimatedTokens);
        let understanding = understand("怎么弄？", &memory, &NoVocabulary);
        assert_eq!((understanding.intent, understanding.reason.as_str()), (Intent::Retrieval, "elliptic"));
    }

    #[test]
    fn the_search_settles_what_the_words_did_not() {
        let router = IntentRouter::default();
        let open = Verdict { intent: Intent::Retrieval, confidence: 0.4, settled: false, reason: "unknown_words" };
        for (message, best, in_vocabulary, expected) in [
            ("my cat sleeps on the keyboard", 0.05, 0.1, Intent::Chitchat),
            ("我家的猫睡在键盘上", 0.05, 0.1, Intent::Chitchat),
            ("my cat sleeps on the keyboard", 0.6, 0.1, Intent::Retrieval),
            ("my cat sleeps on the keyboard", 0.05, 0.5, Intent::Retrieval),
            ("kubernetes helm chart", 0.0, 0.0, Intent::Retrieval),
            ("分布式事务", 0.0, 0.0, Intent::Retrieval),
        ] {
            let settled = router.settle(open, message, best, in_vocabulary);
            assert_eq!((settled.intent, settled.settled), (expected, true), "{message}");
        }
        let sure = Verdict { settled: true, ..open };
        assert_eq!(router.settle(sure, "my cat sleeps on the keyboard", 0.0, 0.0).intent, Intent::Retrieval);
    }
}
