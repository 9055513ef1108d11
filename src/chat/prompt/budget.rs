//! How the tokens of one call are shared out, and what was cut to fit.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::turn::TokenCounter;

/// Tokens that a chat template adds around each message (role names and separators), counted with every message.
/// Between 3 and 5 for the templates in use.
pub(super) const TOKENS_PER_MESSAGE: usize = 4;

/// The limits of one call, in tokens of the loaded embedding model's tokenizer. The endpoint's model counts a little
/// differently (within about a third for English and Chinese), so leave room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PromptBudget {
    /// Prompt and reply together, 1024..=1 000 000. At most the endpoint's context window; the rules alone take about 300.
    pub context_tokens: usize,
    /// Most for the conversation with its summary, 0 and up.
    pub history_tokens: usize,
    /// Most for the passages, 0 and up.
    pub passages_tokens: usize,
    /// Most for an answer, 16 and up. Small talk, rewriting and summaries take less.
    pub reply_tokens: usize,
}

impl Default for PromptBudget {
    fn default() -> Self {
        Self { context_tokens: 4096, history_tokens: 1000, passages_tokens: 2000, reply_tokens: 512 }
    }
}

impl PromptBudget {
    /// Checks the limits against each other.
    ///
    /// # Errors
    /// [`Error::InvalidOption`].
    pub fn check(&self) -> Result<()> {
        let invalid =
            |name: &str, reason: &str| Err(Error::InvalidOption { name: name.to_owned(), reason: reason.to_owned() });
        if !(1024..=1_000_000).contains(&self.context_tokens) {
            return invalid("budget.contextTokens", "is 1024 to 1000000 tokens");
        }
        if self.reply_tokens < 16 || self.reply_tokens > self.context_tokens / 2 {
            return invalid("budget.replyTokens", "is 16 tokens to half of contextTokens");
        }
        Ok(())
    }
}

/// The share of one part of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptPart {
    /// `rules`, `history`, `summary`, `passages`, `answer` or `question`.
    pub part: String,
    /// Its tokens.
    pub tokens: usize,
    /// What was left out or shortened, in a few words; `None` when it is whole.
    pub cut: Option<String>,
}

/// What a prompt is made of. It goes into the turn's trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptReport {
    /// Tokens of the whole prompt, message overhead included.
    pub prompt_tokens: usize,
    /// Tokens kept for the reply.
    pub reply_tokens: usize,
    /// The limit of both together.
    pub context_tokens: usize,
    /// The parts, in their order in the prompt.
    pub parts: Vec<PromptPart>,
}

impl PromptReport {
    /// Whether anything was cut.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.parts.iter().any(|part| part.cut.is_some())
    }
}

/// The longest start of `text` within `limit` tokens, ended at a line, sentence or word where there is one near.
///
/// The flag says whether anything was cut; what was cut is marked with `…`, which is counted too.
pub(super) fn shorten(text: &str, limit: usize, counter: &dyn TokenCounter) -> (String, bool) {
    if counter.count(text) <= limit {
        return (text.to_owned(), false);
    }
    let limit = limit.saturating_sub(1);
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    // A tokenizer's count grows with the text but for a token or so at the cut, so a binary search gets within that,
    // and the loop below makes it exact.
    let mut low = 0;
    let mut high = ends.len();
    while low < high {
        let middle = (low + high).div_ceil(2);
        let end = ends.get(middle).copied().unwrap_or(text.len());
        if counter.count(&text[..end]) <= limit {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let mut end = ends.get(low).copied().unwrap_or(text.len());
    let head = &text[..end];
    // Give up at most a quarter of what fits for a clean end.
    let natural = head
        .char_indices()
        .rev()
        .take_while(|(at, _)| *at >= end - end / 4)
        .find(|(_, c)| matches!(c, '\n' | '。' | '！' | '？' | '；'))
        .map(|(at, c)| at + c.len_utf8())
        .or_else(|| head.rfind([' ', '\t']).filter(|at| *at >= end - end / 4));
    if let Some(at) = natural {
        end = at;
    }
    loop {
        let kept = text[..end].trim_end();
        if kept.is_empty() {
            return (String::new(), true);
        }
        let shortened = format!("{kept}…");
        if counter.count(&shortened) <= limit + 1 {
            return (shortened, true);
        }
        end = kept.char_indices().next_back().map_or(0, |(at, _)| at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words;
    impl TokenCounter for Words {
        fn count(&self, text: &str) -> usize {
            text.split_whitespace().map(|word| word.chars().count().div_ceil(4)).sum()
        }
    }

    #[test]
    fn a_text_is_cut_to_its_limit_at_a_clean_place() {
        let check = |text: &str, limit: usize, expected: &str| {
            let (short, cut) = shorten(text, limit, &Words);
            assert_eq!(short, expected);
            assert_eq!(cut, short != text);
            assert!(Words.count(&short) <= limit);
        };
        check("one two three", 9, "one two three");
        check("one two six ten cat dog", 5, "one two six ten…");
        check("你好世界。今天很好吃吗？再见", 3, "你好世界。今天很…");
        check("unbreakableword", 2, "unbr…");
        check("word", 0, "");
    }

    #[test]
    fn limits_are_checked() {
        assert!(PromptBudget::default().check().is_ok());
        assert!(PromptBudget { context_tokens: 100, ..PromptBudget::default() }.check().is_err());
        assert!(PromptBudget { reply_tokens: 4000, ..PromptBudget::default() }.check().is_err());
    }
}
