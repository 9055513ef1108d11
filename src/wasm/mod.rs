//! The boundary to JavaScript: the only module that names it.

pub mod chat_client;
pub mod convert;
#[cfg(feature = "embedder")]
pub mod embedder;
