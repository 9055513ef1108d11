//! The index files: reading documentation, cutting it into chunks, building the files and opening them again.
//!
//! # Steps of a build (native)
//! 1. [`sources`] reads a folder into pages of blocks, with what [`site_config`] says of them.
//! 2. [`chunker`] cuts the pages into chunks that the embedding model can take.
//! 3. The files are written in the container of [`format`](self::format), named by [`manifest`].

pub mod format;
pub mod manifest;

#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod address;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod chunker;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod site_config;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
#[allow(clippy::disallowed_methods, reason = "the native builder reads files")]
pub mod sources;
