//! Messages, requests and replies of a chat completion.

use serde::{Deserialize, Serialize};

use crate::turn::Usage;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// The reader.
    User,
    /// The agent.
    Assistant,
}

/// One message of a completion request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Who speaks.
    pub role: Role,
    /// The text.
    pub content: String,
}

/// What is asked of the endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The messages, oldest first.
    pub messages: Vec<ChatMessage>,
    /// Limit of the reply, in tokens.
    pub max_tokens: u32,
    /// Sampling temperature, 0..=2.
    pub temperature: f32,
    /// Whether the reply is streamed.
    pub stream: bool,
}

impl ChatMessage {
    /// Instructions.
    pub fn system(content: impl Into<String>) -> Self {
        Self { role: Role::System, content: content.into() }
    }

    /// What the reader says.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// What the agent said.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

/// Whether a reply is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The model finished.
    #[default]
    Complete,
    /// The reply reached its limit of tokens and stops in the middle; it must not be shown as finished.
    Truncated,
    /// The endpoint closed the stream in order but never said why: some gateways swallow an error this way.
    Unclear,
}

/// What the endpoint answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatReply {
    /// The answer, without reasoning.
    pub text: String,
    /// Why it ended: `stop`, `length`, `content_filter`, …
    pub finish_reason: Option<String>,
    /// Whether it is whole.
    pub ending: Ending,
    /// Tokens, when the endpoint counts them.
    pub usage: Option<Usage>,
}
