//! Finding the passages that answer a query: analysis, BM25F, vectors, fusion, second stage.

pub mod analyzer;
pub mod answer_form;
pub mod best_passage;
pub(crate) mod codec;
pub mod dense_leg;
pub mod document;
pub mod embedding_model;
#[cfg(feature = "embedder")]
pub mod encoder;
pub mod evidence;
pub mod facets;
pub mod fusion;
mod graph_codec;
pub mod index_builder;
pub mod lexical_index;
pub mod lexical_query;
pub mod model_manifest;
mod phrase_match;
pub(crate) mod postings;
pub mod postings_cache;
mod quantized_vector;
pub mod query_embeddings;
pub mod search_index;
pub mod second_stage;
pub mod synonyms;
pub mod term_dictionary;
pub mod text_store;
pub mod vector_engine;
pub mod vector_index;
pub mod weights;

pub use facets::{Filter, Preferences};
pub use search_index::{IndexParts, ModelInfo, SearchIndex, SearchRequest, SearchResponse};
