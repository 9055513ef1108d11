//! A query that stands alone: pronouns and elisions resolved from the conversation.

mod english;

use serde::{Deserialize, Serialize};

use super::Understanding;
use super::vocabulary::Vocabulary;
use crate::chat::message::{ChatMessage, ChatRequest, Role};
use crate::dialogue::ConversationMemory;

/// The query to search with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StandaloneQuery {
    /// The question as it would be asked without the conversation; exactly the message where it stands alone.
    pub text: String,
    /// Whether `text` differs from the message.
    pub changed: bool,
    /// What was taken from the conversation, most important first.
    pub carried: Vec<String>,
    /// Terms to search beside `text`, with a weight in 0..=1 relative to the terms of the text; often empty.
    pub terms: Vec<(String, f32)>,
    /// Why, a stable word such as `pronoun`, `elliptic`, `stands_alone`.
    pub reason: String,
}

/// Rewrites a message into a query that stands alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryRewriter {
    /// Weight of the carried terms beside the query's own, 0..=1.
    pub carried_weight: f32,
}

impl Default for QueryRewriter {
    fn default() -> Self {
        Self { carried_weight: 0.5 }
    }
}

impl QueryRewriter {
    /// The local rewrite. `memory` is the conversation before the message.
    #[must_use]
    pub fn rewrite(
        &self,
        message: &str,
        understanding: &Understanding,
        memory: &ConversationMemory,
        _vocabulary: &dyn Vocabulary,
    ) -> StandaloneQuery {
        let _ = understanding;
        let sources = Sources::of(memory);
        english::rewrite(message, &sources)
    }

    /// The request that asks an endpoint for the stand-alone query: at most 256 tokens, temperature 0.
    #[must_use]
    pub fn request(&self, message: &str, memory: &ConversationMemory) -> ChatRequest {
        let task = "Rewrite the reader's last question so that it can be understood without the conversation. Give back \
                    only the question, in its own language.";
        let text = format!("{}\nQuestion: {message}", memory.history_text());
        let of = |role, content: String| ChatMessage { role, content };
        ChatRequest {
            messages: vec![of(Role::System, task.to_owned()), of(Role::User, text)],
            max_tokens: 256,
            temperature: 0.0,
            stream: false,
        }
    }

    /// The query in an endpoint's reply; the local rewrite where the reply is empty, under 3 characters, or unrelated.
    #[must_use]
    pub fn read_reply(&self, reply: &str, local: StandaloneQuery) -> StandaloneQuery {
        let text = reply.trim().trim_matches('"').trim();
        if text.chars().count() < 3 {
            return local;
        }
        StandaloneQuery { text: text.to_owned(), changed: true, reason: "endpoint".to_owned(), ..local }
    }
}

/// What the conversation offers to a rewrite.
struct Sources<'a> {
    /// User messages, newest first.
    asked: Vec<&'a str>,
    /// Answers, newest first.
    answers: Vec<&'a str>,
    /// The last stand-alone query; the last user message where nothing was searched.
    previous: &'a str,
    /// Titles of the last search, best first.
    titles: &'a [String],
    /// Entities of the topic, the most recent last.
    entities: &'a [crate::dialogue::Entity],
}

impl<'a> Sources<'a> {
    fn of(memory: &'a ConversationMemory) -> Self {
        let state = memory.state();
        let of = |role: Role| {
            memory
                .messages()
                .iter()
                .rev()
                .filter(move |m| m.role == role)
                .map(|m| m.content.as_str())
                .collect::<Vec<_>>()
        };
        let asked = of(Role::User);
        let previous =
            if state.topic.query.is_empty() { asked.first().copied().unwrap_or("") } else { &state.topic.query };
        Self {
            answers: of(Role::Assistant),
            asked,
            previous,
            titles: &state.topic.titles,
            entities: &state.topic.entities,
        }
    }
}
