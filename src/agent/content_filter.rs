//! The filter before and after: what a question must not hold, and what a reply must not hold.
//!
//! **Invariant:** the default blocks nothing but what the site lists.

use std::future::{Future, ready};
use std::pin::Pin;

use super::agent_config::ContentFilterConfig;
use crate::lowercase::lowercase;
use crate::turn::is_han;

/// What a filter says of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As it is.
    Pass,
    /// With this text in its place.
    Replace(String),
    /// Not at all; the text says why, for the log and the trace.
    Block(String),
}

/// A verdict that may take a while: a page's filter runs on the other side of its worker.
pub type Judgment<'a> = Pin<Box<dyn Future<Output = Verdict> + 'a>>;

/// A filter of the site's own.
pub trait ContentFilter {
    /// Judges a question, before anything is done with it.
    fn before<'a>(&'a self, message: &'a str) -> Judgment<'a>;
    /// Judges a whole reply, before it is remembered and returned. The pieces of a stream have been shown by then: where a
    /// site blocks replies, it turns streaming off.
    fn after<'a>(&'a self, reply: &'a str) -> Judgment<'a>;
}

/// The default: words that the site lists.
#[derive(Debug, Clone, Default)]
pub struct WordFilter {
    config: ContentFilterConfig,
}

impl WordFilter {
    /// A filter for the words listed.
    #[must_use]
    pub fn new(config: ContentFilterConfig) -> Self {
        Self { config }
    }
}

impl ContentFilter for WordFilter {
    fn before<'a>(&'a self, message: &'a str) -> Judgment<'a> {
        Box::pin(ready(judge(message, &self.config.blocked_questions)))
    }

    fn after<'a>(&'a self, reply: &'a str) -> Judgment<'a> {
        Box::pin(ready(judge(reply, &self.config.blocked_replies)))
    }
}

fn judge(text: &str, words: &[String]) -> Verdict {
    let folded = lowercase(text);
    match words.iter().position(|word| holds(&folded, &lowercase(word.trim()))) {
        // The word itself stays out of the message: a log must not carry what the site blocks.
        Some(at) => Verdict::Block(format!("entry {} of the site's list", at + 1)),
        None => Verdict::Pass,
    }
}

/// Whether `text` holds `word`: as a whole word, or anywhere where the word begins or ends with a Chinese character.
fn holds(text: &str, word: &str) -> bool {
    if word.is_empty() {
        return false;
    }
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_han(c));
    text.match_indices(word).any(|(at, _)| {
        let starts = word.chars().next().is_some_and(is_han) || !inside(text[..at].chars().next_back());
        let ends = word.chars().next_back().is_some_and(is_han) || !inside(text[at + word.len()..].chars().next());
        starts && ends
    })
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// The verdict of a filter that does not wait for anything.
    fn now(mut judgment: Judgment<'_>) -> Verdict {
        match judgment.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(verdict) => verdict,
            Poll::Pending => panic!("the word filter waits"),
        }
    }

    #[test]
    fn only_listed_words_block_and_only_as_whole_words() {
        let filter = WordFilter::new(ContentFilterConfig {
            blocked_questions: vec!["crack".into(), "破解".into(), " ".into()],
            blocked_replies: vec!["internal only".into()],
        });
        let blocked = |text: &str| matches!(now(filter.before(text)), Verdict::Block(_));
        for (text, expected) in [
            ("How do I crack the license?", true),
            ("CRACK it", true),
            ("the cracker barrel", false),
            ("怎么破解授权", true),
            ("怎么授权", false),
            ("", false),
        ] {
            assert_eq!(blocked(text), expected, "{text}");
        }
        assert!(matches!(now(filter.after("this is Internal Only.")), Verdict::Block(_)));
        assert_eq!(now(filter.after("crack")), Verdict::Pass);
        assert_eq!(now(WordFilter::default().before("crack")), Verdict::Pass);
    }
}
