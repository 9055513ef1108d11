//! The OpenAI-compatible chat protocol, without any IO.
//!
//! Input: a [`message::ChatRequest`] and a [`request::LlmConfig`]. [`exchange`] turns them into what the host has to do
//! (send, read, wait), and what the host reports back into the answer. [`prompt`] writes the requests.
//! **Invariant:** nothing here opens a connection, reads a clock or draws a random number; they come in as arguments.

pub mod citation;
pub mod completion;
pub mod exchange;
pub mod failure;
pub mod message;
pub mod prompt;
mod reasoning;
pub mod request;
pub mod retry;
pub mod sse;
