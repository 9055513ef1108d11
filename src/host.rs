//! What the core asks of its host: an endpoint, an embedding model, a clock.
//!
//! The page answers these in `wasm/`, the command line in `cli/`, the tests with scripted fakes.
//! **Invariant:** nothing in the core reads a clock, a file or the network by itself.

use std::cell::Cell;
use std::rc::Rc;

use crate::chat::message::{ChatReply, ChatRequest};
use crate::error::Result;

/// An OpenAI-compatible endpoint.
#[allow(async_fn_in_trait, reason = "one thread: a page, a worker or a local task; no `Send` is wanted")]
pub trait ChatClient {
    /// Runs one completion. `on_delta` is called with each piece of the answer as it arrives (never with reasoning).
    ///
    /// # Errors
    /// A typed error; when some of the answer had arrived, the deltas already handed out are what there is.
    async fn complete(
        &self,
        request: &ChatRequest,
        stop: &StopSignal,
        on_delta: &mut dyn FnMut(&str),
    ) -> Result<ChatReply>;
}

/// A sentence-embedding model that may become ready later.
#[allow(async_fn_in_trait, reason = "one thread: a page, a worker or a local task; no `Send` is wanted")]
pub trait EmbeddingModel {
    /// The model's id as in `models/models.toml`; `None` until it is ready.
    fn model_id(&self) -> Option<String>;
    /// The L2-normalised embedding of a query (the model's query prefix is added here, not by the caller).
    ///
    /// # Errors
    /// [`crate::Error::Model`].
    async fn embed_query(&self, text: &str) -> Result<Vec<f32>>;
    /// The number of tokens of `text`; `None` until the tokenizer is ready.
    fn count_tokens(&self, text: &str) -> Option<usize>;
}

/// The parts of the index that are fetched only when an answer needs them.
#[allow(async_fn_in_trait, reason = "one thread: a page, a worker or a local task; no `Send` is wanted")]
pub trait IndexFiles {
    /// The bytes of the text shard `shard`, as the manifest names it.
    ///
    /// # Errors
    /// [`crate::Error::Network`] or [`crate::Error::Index`].
    async fn text_shard(&self, shard: u32) -> Result<Vec<u8>>;
}

/// The time.
pub trait Clock {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
    /// Monotonic milliseconds from an arbitrary start, for measuring.
    fn monotonic_ms(&self) -> f64;
}

/// Tells a running turn to stop. Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Rc<Cell<bool>>);

impl StopSignal {
    /// Asks for the stop.
    pub fn stop(&self) {
        self.0.set(true);
    }

    /// Whether the stop was asked for.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.get()
    }
}
