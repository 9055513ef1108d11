//! The OpenAI-compatible chat protocol, without any IO.
//!
//! Input: a [`message::ChatRequest`] and a [`request::LlmConfig`]. [`prompt`] writes the requests.
//! **Invariant:** nothing here opens a connection, reads a clock or draws a random number; they come in as arguments.

pub mod message;
pub mod prompt;
pub mod request;
pub mod sse;
