//! The filter before and after: what a question must not hold, and what a reply must not hold.
//!
//! **Invariant:** the default blocks nothing but what the site lists.

use super::agent_config::ContentFilterConfig;
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

/// A filter of the site's own.
pub trait ContentFilter {
    /// Judges a question, before anything is done with it.
    fn before(&self, message: &str) -> Verdict;
    /// Judges a whole reply, before it is remembered and returned. The pieces of a stream have been shown by then: where a
    /// site blocks replies, it turns streaming off.
    fn after(&self, reply: &str) -> Verdict;
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
    fn before(&self, message: &str) -> Verdict {
        judge(message, &self.config.blocked_questions)
    }

    fn after(&self, reply: &str) -> Verdict {
        judge(reply, &self.config.blocked_replies)
    }
}

fn judge(text: &str, words: &[String]) -> Verdict {
    let folded = text.to_lowercase();
    match words.iter().position(|word| holds(&folded, &word.trim().to_lowercase())) {
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
    use super::*;

    #[test]
    fn only_listed_words_block_and_only_as_whole_words() {
        let filter = WordFilter::new(ContentFilterConfig {
            blocked_questions: vec!["crack".into(), "破解".into(), " ".into()],
            blocked_replies: vec!["internal only".into()],
        });
        let blocked = |text: &str| matches!(filter.before(text), Verdict::Block(_));
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
        assert!(matches!(filter.after("this is Internal Only."), Verdict::Block(_)));
        assert_eq!(filter.after("crack"), Verdict::Pass);
        assert_eq!(WordFilter::default().before("crack"), Verdict::Pass);
    }
}
