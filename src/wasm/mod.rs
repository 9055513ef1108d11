//! The boundary to JavaScript: the only module that names it.

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(feature = "agent")]
pub mod chat_client;
pub mod convert;
#[cfg(feature = "embedder")]
pub mod embedder;
#[cfg(feature = "agent")]
mod fetch;
#[cfg(feature = "agent")]
mod options;
#[cfg(feature = "agent")]
mod page_clock;
#[cfg(feature = "agent")]
mod page_content_filter;
#[cfg(feature = "agent")]
mod page_embedding_model;
#[cfg(feature = "agent")]
mod page_index_files;
