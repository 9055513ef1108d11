//! What understanding may ask of the index: how rare a term is, and whether a phrase is a title.
//!
//! **Invariant:** an index that is not there yet answers "unknown", which never changes a message's meaning.

/// The words of an index.
pub trait Vocabulary {
    /// The inverse document frequency of a term, 0 and up; `None` when the index does not hold it. `term` is given as the
    /// reader wrote it; the index normalizes it as it did its own text.
    fn idf(&self, term: &str) -> Option<f32>;

    /// Whether the phrase is the whole title (or the name in front of it) of a page, letter case ignored.
    fn is_title(&self, phrase: &str) -> bool;
}

/// The vocabulary of no index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoVocabulary;

impl Vocabulary for NoVocabulary {
    fn idf(&self, _term: &str) -> Option<f32> {
        None
    }

    fn is_title(&self, _phrase: &str) -> bool {
        false
    }
}
