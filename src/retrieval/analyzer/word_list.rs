//! The Chinese words of a corpus, by which the page cuts Chinese text.
//!
//! A dictionary does not fit into a small module, so the native builder cuts the corpus with a full one and writes the
//! words that it found into the index. Input: those words. Output: maximal matches in a text.
//! **Invariant:** the list holds words of 2..=[`LONGEST_WORD`] characters, sorted, each once.

use crate::error::Result;
use crate::order;
use crate::retrieval::codec::{ByteReader, put_bytes, put_varint};

/// Characters in the longest word that is kept; longer names are found through their parts.
pub const LONGEST_WORD: usize = 8;

/// The words of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WordList {
    words: Vec<Box<str>>,
}

impl WordList {
    /// A list of `words`, in any order; words that are too short, too long or not Chinese are left out.
    #[must_use]
    pub fn new<I: IntoIterator<Item = S>, S: AsRef<str>>(words: I) -> Self {
        let mut words: Vec<Box<str>> = words
            .into_iter()
            .filter(|word| {
                let word = word.as_ref();
                let length = word.chars().count();
                (2..=LONGEST_WORD).contains(&length) && word.chars().all(super::is_cjk)
            })
            .map(|word| word.as_ref().into())
            .collect();
        order::sort(&mut words);
        words.dedup();
        Self { words }
    }

    /// Cuts texts with jieba and keeps the words that occur at least `least` times.
    ///
    /// Words that are made of two shorter ones of the list are kept: the longest match decides in the page too.
    #[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
    #[must_use]
    pub fn from_texts<'a, I: IntoIterator<Item = &'a str>>(texts: I, least: usize) -> Self {
        let jieba = jieba_rs::Jieba::new();
        let mut counts: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
        for text in texts {
            for (_, run) in super::cjk_runs(text) {
                for token in jieba.cut(run, true) {
                    if token.word.len() > 3 {
                        *counts.entry(token.word.to_owned()).or_default() += 1;
                    }
                }
            }
        }
        Self::new(counts.into_iter().filter(|(_, count)| *count >= least).map(|(word, _)| word))
    }

    /// Number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is no word.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether `word` is in the list.
    #[must_use]
    pub fn contains(&self, word: &str) -> bool {
        self.words.binary_search_by(|candidate| (**candidate).cmp(word)).is_ok()
    }

    /// Bytes of the longest word at the start of `run`, or `None` when no word starts there.
    ///
    /// `run` is Chinese; at most [`LONGEST_WORD`] look-ups.
    pub(crate) fn longest_at(&self, run: &str) -> Option<usize> {
        let ends: Vec<usize> =
            run.char_indices().skip(1).map(|(at, _)| at).chain([run.len()]).take(LONGEST_WORD).collect();
        ends.into_iter().skip(1).rev().find(|end| self.contains(&run[..*end]))
    }

    /// The list as bytes: a count, then each word as the bytes shared with the one before it and the rest.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.words.len() as u64);
        let mut before: &[u8] = &[];
        for word in &self.words {
            let word = word.as_bytes();
            let shared = before.iter().zip(word).take_while(|(a, b)| a == b).count();
            put_varint(&mut out, shared as u64);
            put_bytes(&mut out, &word[shared..]);
            before = word;
        }
        out
    }

    /// Reads what [`WordList::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when a length does not fit or the words are not sorted.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = ByteReader::new(bytes, "the word list");
        let count = reader.count(2)?;
        let mut words: Vec<Box<str>> = Vec::with_capacity(count);
        let mut buffer = Vec::new();
        for _ in 0..count {
            let shared = reader.at_most(buffer.len())?;
            buffer.truncate(shared);
            buffer.extend_from_slice(reader.bytes()?);
            let word = std::str::from_utf8(&buffer).map_err(|_| reader.damaged())?;
            if words.last().is_some_and(|last| **last >= *word) {
                return Err(reader.damaged());
            }
            words.push(word.into());
        }
        reader.finish()?;
        Ok(Self { words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_round_trips_and_finds_the_longest_word() {
        let list = WordList::new(["虚拟", "虚拟环境", "环境", "x", "安装包", "数据库"]);
        assert_eq!(list.len(), 5);
        assert_eq!(list.longest_at("虚拟环境怎么用"), Some("虚拟环境".len()));
        assert_eq!(list.longest_at("虚拟机"), Some("虚拟".len()));
        assert_eq!(list.longest_at("怎么用"), None);
        assert_eq!(list.longest_at("环"), None);
        assert_eq!(WordList::from_bytes(&list.to_bytes()), Ok(list));
    }

    #[test]
    fn a_cut_or_flipped_list_is_refused_or_read_but_never_panics() {
        let bytes = WordList::new(["虚拟环境", "环境", "安装包"]).to_bytes();
        for end in 0..bytes.len() {
            assert!(WordList::from_bytes(&bytes[..end]).is_err());
        }
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            let _ = WordList::from_bytes(&flipped);
        }
    }
}
