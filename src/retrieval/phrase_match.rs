//! Whether a passage holds the question's words side by side, as the question does.
//!
//! Input: the tokens of a question, then texts. Output: the share of the question's neighboring words that a text has as
//! neighbors too, with the words of a question's frame left out on both sides ("put the agent on a page" holds "agent page").
//! **Invariant:** the work on a text is linear in it, and [`MOST_PAIRS`] bounds what is looked for.

use crate::retrieval::analyzer::{Analyzer, Token};
use crate::retrieval::synonyms::carrying;

/// Neighboring words of a question that are looked for.
const MOST_PAIRS: usize = 32;

/// The neighboring words of a question.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PhraseMatch {
    pairs: Vec<(String, String)>,
}

impl PhraseMatch {
    /// The neighbors among the tokens of a question.
    pub(crate) fn new(tokens: Vec<Token>) -> Self {
        let words = words(tokens);
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (first, second) in words.iter().zip(words.iter().skip(1)) {
            if pairs.len() < MOST_PAIRS && !pairs.iter().any(|(a, b)| a == first && b == second) {
                pairs.push((first.clone(), second.clone()));
            }
        }
        Self { pairs }
    }

    /// Whether the question has no two words, so that nothing can stand side by side.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The share of the pairs that a passage's texts (its heading, its body) have side by side, 0..=1; 0 for a question of
    /// one word.
    pub(crate) fn share(&self, analyzer: &Analyzer, texts: &[&str]) -> f32 {
        let mut found: u32 = 0;
        for text in texts.iter().filter(|_| !self.pairs.is_empty()) {
            let words = words(analyzer.analyze(text));
            for (first, second) in words.iter().zip(words.iter().skip(1)) {
                for (bit, (a, b)) in self.pairs.iter().enumerate() {
                    found |= u32::from(a == first && b == second) << bit;
                }
            }
        }
        found.count_ones() as f32 / self.pairs.len().max(1) as f32
    }
}

fn words(tokens: Vec<Token>) -> Vec<String> {
    carrying(tokens).into_iter().filter(|token| !token.stopword).map(|token| token.term).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::analyzer::WordList;

    fn check(question: &str, text: &str, expected: f32) {
        let analyzer = Analyzer::new(WordList::new(["虚拟", "环境", "删除"]));
        let phrases = PhraseMatch::new(analyzer.analyze(question));
        assert_eq!(phrases.share(&analyzer, &[text]), expected, "{question} in {text}");
    }

    #[test]
    fn words_side_by_side_count_in_both_languages() {
        check("how do I put the agent on a page?", "Put the agent on a page", 1.0);
        check("put the agent on a page", "The agent may put a page away", 0.0);
        check("delete a virtual environment", "A virtual environment is a folder.", 0.5);
        check("怎么删除虚拟环境？", "虚拟环境可以删除", 0.5);
        check("install", "install", 0.0);
        let analyzer = Analyzer::default();
        let phrases = PhraseMatch::new(analyzer.analyze("warm index cache"));
        assert_eq!(phrases.share(&analyzer, &["Warm index", "The index cache."]), 1.0, "heading and body together");
        check("", "anything", 0.0);
    }

    #[test]
    fn a_long_question_is_bounded() {
        let question: String = (0..200).map(|n| format!("word{n} ")).collect();
        let phrases = PhraseMatch::new(Analyzer::default().analyze(&question));
        assert_eq!(phrases.pairs.len(), MOST_PAIRS);
        assert_eq!(phrases.share(&Analyzer::default(), &[&question]), 1.0);
    }
}
