//! Finding the passages that answer a query: analysis, BM25F, vectors, fusion, second stage.

pub mod document;
pub mod embedding_model;
#[cfg(feature = "embedder")]
pub mod encoder;
pub mod model_manifest;
