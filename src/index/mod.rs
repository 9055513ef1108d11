//! The index files: reading documentation, cutting it into chunks, building the files and opening them again.
//!
//! # Steps of a build (native)
//! 1. [`sources`] reads a folder into pages of blocks, with what [`site_config`] says of them.
//! 2. [`chunker`] cuts the pages into chunks that the embedding model can take.
//! 3. [`builder`] embeds them, with the help of the [`embedding_cache`], and builds the parts of the index.
//!
//! # Files
//! Core, vectors and text shards are in the container of [`format`](self::format); [`reader`] writes and opens them, with the
//! tables of [`tables`]; [`manifest`] names them.

pub mod format;
pub mod manifest;
pub mod reader;
pub mod tables;

#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod address;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
#[allow(clippy::disallowed_methods, reason = "the native builder writes files")]
pub mod builder;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod chunker;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
#[allow(clippy::disallowed_methods, reason = "the cache of the native builder is a folder of files")]
pub mod embedding_cache;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod site_config;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
#[allow(clippy::disallowed_methods, reason = "the native builder reads files")]
pub mod sources;
