//! The synonyms that a site gives: groups of words or phrases that mean the same in its documentation.
//!
//! Input: a query's tokens. Output: the other members of each group that the query mentions.
//! **Invariant:** a group works in every direction, and only within the query: documents are indexed as they are.

use crate::error::Result;
use crate::retrieval::analyzer::{Analyzer, Token, TokenKind};
use crate::retrieval::codec::{ByteReader, put_bytes, put_varint};

/// Groups of phrases, as the site wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Synonyms {
    groups: Vec<Vec<String>>,
}

/// One phrase of a query with what it may be replaced by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// The terms of the query's phrase.
    pub(crate) found: Vec<String>,
    /// The terms of each other phrase of the group.
    pub(crate) others: Vec<Vec<Token>>,
}

impl Synonyms {
    /// Synonyms from groups of phrases; groups of fewer than two phrases mean nothing and are left out.
    #[must_use]
    pub fn new(groups: Vec<Vec<String>>) -> Self {
        Self { groups: groups.into_iter().filter(|group| group.len() > 1).collect() }
    }

    /// The groups.
    #[must_use]
    pub fn groups(&self) -> &[Vec<String>] {
        &self.groups
    }

    /// What may stand for phrases of a query whose carrying terms are `terms`, in order.
    pub(crate) fn replacements(&self, analyzer: &Analyzer, terms: &[String]) -> Vec<Replacement> {
        let mut replacements = Vec::new();
        for group in &self.groups {
            let phrases: Vec<Vec<Token>> = group.iter().map(|phrase| carrying(analyzer.analyze(phrase))).collect();
            for (at, phrase) in phrases.iter().enumerate() {
                let found: Vec<String> = phrase.iter().map(|token| token.term.clone()).collect();
                if !found.is_empty() && terms.windows(found.len()).any(|window| window == found) {
                    let others = phrases.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, p)| p.clone()).collect();
                    replacements.push(Replacement { found, others });
                    break;
                }
            }
        }
        replacements
    }

    /// The groups as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.groups.len() as u64);
        for group in &self.groups {
            put_varint(&mut out, group.len() as u64);
            group.iter().for_each(|phrase| put_bytes(&mut out, phrase.as_bytes()));
        }
        out
    }

    /// Reads what [`Synonyms::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when a length does not fit.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = ByteReader::new(bytes, "the synonyms");
        let count = reader.count(2)?;
        let mut groups = Vec::with_capacity(count);
        for _ in 0..count {
            let phrases = reader.count(1)?;
            groups.push((0..phrases).map(|_| Ok(reader.text()?.to_owned())).collect::<Result<Vec<String>>>()?);
        }
        reader.finish()?;
        Ok(Self { groups })
    }
}

/// The tokens by which a phrase is recognized: words, not their pairs and not the whole forms of identifiers.
pub(crate) fn carrying(tokens: Vec<Token>) -> Vec<Token> {
    tokens.into_iter().filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::ChineseWord)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::analyzer::WordList;

    #[test]
    fn a_phrase_finds_the_rest_of_its_group_in_both_languages() {
        let analyzer = Analyzer::new(WordList::new(["虚拟环境"]));
        let synonyms =
            Synonyms::new(vec![vec!["venv".into(), "virtual environment".into(), "虚拟环境".into()], vec!["x".into()]]);
        assert_eq!(synonyms.groups().len(), 1);
        let terms = |text: &str| carrying(analyzer.analyze(text)).into_iter().map(|t| t.term).collect::<Vec<_>>();
        for query in ["create a venv", "virtual environments on Windows", "怎么删除虚拟环境"] {
            let found = synonyms.replacements(&analyzer, &terms(query));
            assert_eq!(found.len(), 1, "{query}");
            assert_eq!(found[0].others.len(), 2, "{query}");
        }
        assert!(synonyms.replacements(&analyzer, &terms("virtual machine")).is_empty());
    }

    #[test]
    fn the_bytes_round_trip() {
        let synonyms = Synonyms::new(vec![vec!["a".into(), "b c".into()], vec!["你".into(), "d".into()]]);
        let bytes = synonyms.to_bytes();
        assert_eq!(Synonyms::from_bytes(&bytes), Ok(synonyms));
        assert!((0..bytes.len()).all(|end| Synonyms::from_bytes(&bytes[..end]).is_err()));
    }
}
