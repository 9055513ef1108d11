//! From pages, chunks and vectors to the parts of an index.
//!
//! Input: what the native builder read and embedded. Output: [`IndexParts`] and a [`VectorIndex`].
//! **Invariant:** the same input gives the same parts.

use crate::error::Result;
use crate::retrieval::analyzer::{Analyzer, WordList};
use crate::retrieval::document::{Chunk, Document};
use crate::retrieval::facets::Filter;
use crate::retrieval::lexical_index::LexicalIndex;
use crate::retrieval::search_index::{IndexParts, ModelInfo};
use crate::retrieval::synonyms::Synonyms;
use crate::retrieval::text_store::TextStore;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
use crate::retrieval::vector_index::VectorIndex;

/// What an index is built from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Corpus {
    /// The pages.
    pub documents: Vec<Document>,
    /// The chunks with their texts, page by page.
    pub chunks: Vec<Chunk>,
    /// The Chinese words of the corpus, see [`WordList::from_texts`].
    pub words: WordList,
    /// The site's synonyms.
    pub synonyms: Synonyms,
    /// What a search is limited to where the request says nothing.
    pub default_filter: Filter,
    /// The model that will make the vectors.
    pub model: Option<ModelInfo>,
}

/// What the embedding model is given for a chunk: the title and the headings say what the text is about, which the text
/// itself often does not.
#[must_use]
pub fn embedding_text(document: &Document, chunk: &Chunk) -> String {
    let names = [document.title.as_str()].into_iter().chain(chunk.heading_path.iter().map(String::as_str));
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    format!("{}\n{}", names.join(" > "), chunk.text).trim().to_owned()
}

/// Builds everything but the vectors; the texts stand in one shard.
///
/// # Errors
/// [`crate::error::IndexError::Damaged`] when a chunk names a page that is not there, or stands out of order.
pub fn build(corpus: Corpus) -> Result<IndexParts> {
    let analyzer = Analyzer::new(corpus.words);
    let lexical = LexicalIndex::build(&analyzer, &corpus.documents, &corpus.chunks)?;
    let mut chunks = corpus.chunks;
    let texts = chunks.iter_mut().map(|chunk| std::mem::take(&mut chunk.text)).collect();
    Ok(IndexParts {
        documents: corpus.documents,
        chunks,
        lexical,
        analyzer,
        synonyms: corpus.synonyms,
        texts: TextStore::whole(texts),
        model: corpus.model,
        default_filter: corpus.default_filter,
    })
}

/// Builds the dense leg from one unit vector a chunk, reproducibly: in a thread pool of one thread.
///
/// # Errors
/// [`crate::error::Error::Model`] when the vectors differ in length or the pool cannot be made.
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub fn build_vectors(model: &str, vectors: &[Vec<f32>]) -> Result<VectorIndex> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .map_err(|error| crate::error::Error::Model(format!("no thread to build the graph: {error}")))?;
    pool.install(|| VectorIndex::build(model, vectors))
}
