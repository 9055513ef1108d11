//! The boundary to JavaScript: the only module that names it.

pub mod convert;
#[cfg(feature = "embedder")]
pub mod embedder;
