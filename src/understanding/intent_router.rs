//! What the reader wants: an answer, small talk, or something that cannot be searched.

use super::follow_up::FollowUpIntent;
use super::selection::Selection;
use super::signals::Signals;
use super::vocabulary::Vocabulary;
use crate::chat::message::{ChatMessage, ChatRequest, Role};
use crate::dialogue::ConversationMemory;
use crate::turn::Intent;

/// Routes a message. The fields are thresholds of the local decision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntentRouter {
    /// Share of the message's terms that the index must know for a confident `retrieval`, 0..=1.
    pub min_in_vocabulary: f32,
}

impl Default for IntentRouter {
    fn default() -> Self {
        Self { min_in_vocabulary: 0.34 }
    }
}

/// What the router decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The intent.
    pub intent: Intent,
    /// How sure, 0..=1.
    pub confidence: f32,
    /// True when no endpoint needs to be asked.
    pub settled: bool,
    /// A stable word.
    pub reason: &'static str,
}

impl IntentRouter {
    /// The local decision, before any search.
    #[must_use]
    pub fn route(
        &self,
        message: &str,
        _memory: &ConversationMemory,
        _signals: &Signals,
        _follow_up: Option<FollowUpIntent>,
        _selection: Option<Selection>,
        _vocabulary: &dyn Vocabulary,
    ) -> Verdict {
        let said = message.trim().to_lowercase();
        if ["hi", "hello", "thanks", "bye", "ok", "你好", "谢谢", "再见", "好的"].contains(&said.as_str()) {
            return Verdict { intent: Intent::Chitchat, confidence: 1.0, settled: true, reason: "greeting" };
        }
        Verdict { intent: Intent::Retrieval, confidence: 0.7, settled: true, reason: "question" }
    }

    /// The request that asks an endpoint for the intent: at most 32 tokens, temperature 0.
    #[must_use]
    pub fn request(&self, message: &str, memory: &ConversationMemory) -> ChatRequest {
        let task = "Classify the reader's last message to a documentation agent. Answer with one word: retrieval (wants to \
                    know something), chitchat (greeting, thanks, small talk), clarify (cannot be searched even with the \
                    conversation).";
        let text = format!("{}\nMessage: {message}", memory.history_text());
        let of = |role, content: String| ChatMessage { role, content };
        ChatRequest {
            messages: vec![of(Role::System, task.to_owned()), of(Role::User, text)],
            max_tokens: 32,
            temperature: 0.0,
            stream: false,
        }
    }

    /// The intent in an endpoint's reply; anything but the three words means `retrieval`.
    #[must_use]
    pub fn read_reply(&self, reply: &str) -> Intent {
        match reply.trim().trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().as_str() {
            "chitchat" => Intent::Chitchat,
            "clarify" => Intent::Clarify,
            _ => Intent::Retrieval,
        }
    }
}
