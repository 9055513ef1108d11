//! Docent is a guided documentation agent that lives in the reader's page.

pub mod agent;
pub mod chat;
pub mod dialogue;
pub mod error;
pub mod host;
pub mod index;
pub mod json;
pub mod lowercase;
pub mod order;
pub mod policy;
pub mod relevance;
pub mod retrieval;
pub mod turn;
pub mod understanding;

#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod cli;
#[cfg(target_arch = "wasm32")]
pub mod wasm;

pub use error::{Error, Result};
