//! What understanding may ask of the index: how rare a term is, and whether a phrase is a title.
//!
//! **Invariant:** an index that is not there yet answers "unknown", which never changes a message's meaning.

use std::collections::HashSet;

use crate::retrieval::analyzer::fold;
use crate::retrieval::search_index::SearchIndex;

/// The words of an index.
pub trait Vocabulary {
    /// The inverse document frequency of a term, 0 and up; `None` when the index does not hold it. `term` is given as the
    /// reader wrote it; the index normalizes it as it did its own text.
    fn idf(&self, term: &str) -> Option<f32>;

    /// The inverse document frequency of a term that stands on one page only, the largest there is; 0 where there is no index.
    fn max_idf(&self) -> f32;

    /// Whether the phrase is the whole title (or the name in front of it) of a page, letter case ignored.
    fn is_title(&self, phrase: &str) -> bool;
}

/// The words and titles of an index.
#[derive(Debug)]
pub struct IndexVocabulary<'a> {
    index: Option<&'a SearchIndex>,
    /// Titles, and the names in front of their separators, folded.
    titles: HashSet<String>,
}

/// Longest phrase that is compared with titles, in characters: a title that is a sentence names nothing.
const MAX_TITLE_CHARS: usize = 60;

impl<'a> IndexVocabulary<'a> {
    /// Reads the titles of an index; without one, nothing is known. Costs time in proportion to the pages.
    #[must_use]
    pub fn of(index: Option<&'a SearchIndex>) -> Self {
        let mut titles = HashSet::new();
        for document in index.map_or(&[][..], |index| index.documents()) {
            let title = fold(document.title.trim()).into_owned();
            // "Teleport | Vue.js", "Teleport - 指南": the name stands in front. A hyphen without spaces is part of a name.
            for separator in [" | ", " - ", " – ", " — ", ": ", "：", " · ", " > "] {
                if let Some((name, _)) = title.split_once(separator) {
                    titles.insert(name.trim().to_owned());
                }
            }
            titles.insert(title);
        }
        titles.retain(|title| (2..=MAX_TITLE_CHARS).contains(&title.chars().count()));
        Self { index, titles }
    }
}

impl Vocabulary for IndexVocabulary<'_> {
    fn idf(&self, term: &str) -> Option<f32> {
        let index = self.index?;
        let lexical = index.lexical();
        let weight = |term: &str| lexical.terms().find(term).map(|number| lexical.idf(lexical.chunks_with(number)));
        // Of a term that the index cuts into several, the rarest known part tells how rare it is.
        index.analyzer().analyze(term).iter().filter_map(|token| weight(&token.term)).reduce(f32::max)
    }

    fn max_idf(&self) -> f32 {
        self.index.map_or(0.0, |index| index.lexical().idf(1))
    }

    fn is_title(&self, phrase: &str) -> bool {
        self.titles.contains(fold(phrase.trim()).as_ref())
    }
}

/// The vocabulary of no index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoVocabulary;

impl Vocabulary for NoVocabulary {
    fn idf(&self, _term: &str) -> Option<f32> {
        None
    }

    fn max_idf(&self) -> f32 {
        0.0
    }

    fn is_title(&self, _phrase: &str) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::analyzer::WordList;
    use crate::retrieval::document::{Chunk, Document};
    use crate::retrieval::facets::Filter;
    use crate::retrieval::index_builder::{Corpus, build};
    use crate::retrieval::synonyms::Synonyms;

    #[test]
    fn titles_and_words_come_from_the_index() {
        let page = |id: &str, title: &str| Document { id: id.into(), title: title.into(), ..Document::default() };
        let chunk = |document: u32, text: &str| Chunk { document, text: text.into(), ..Chunk::default() };
        let corpus = Corpus {
            documents: vec![page("a", "Teleport | Vue.js"), page("b", "v-model"), page("c", "虚拟环境 - 教程")],
            chunks: vec![
                chunk(0, "Move a component elsewhere"),
                chunk(1, "Bind a form to a component"),
                chunk(2, "创建虚拟环境"),
            ],
            words: WordList::default(),
            synonyms: Synonyms::default(),
            default_filter: Filter::default(),
            model: None,
        };
        let index = SearchIndex::new(build(corpus).unwrap()).unwrap();
        let vocabulary = IndexVocabulary::of(Some(&index));
        for (phrase, expected) in
            [("teleport", true), ("V-Model", true), ("虚拟环境", true), ("v", false), ("教程", false), ("", false)]
        {
            assert_eq!(vocabulary.is_title(phrase), expected, "{phrase}");
        }
        let (common, rare) = (vocabulary.idf("component"), vocabulary.idf("form"));
        assert!(common < rare && rare <= Some(vocabulary.max_idf()), "{common:?} {rare:?}");
        assert_eq!(vocabulary.idf("kubernetes"), None);
        assert!(!IndexVocabulary::of(None).is_title("teleport"));
    }
}
