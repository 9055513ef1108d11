//! The OpenAI-compatible chat protocol, without any IO.

pub mod message;
