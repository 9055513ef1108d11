//! One turn, in order.

use super::conversational_agent::{ChatOptions, ConversationalAgent};
use crate::error::{Error, Result};
use crate::host::{ChatClient, Clock, EmbeddingModel, IndexFiles};
use crate::turn::Turn;

impl<C: ChatClient, E: EmbeddingModel, F: IndexFiles, K: Clock> ConversationalAgent<C, E, F, K> {
    pub(super) async fn run_turn(&self, message: &str, _options: ChatOptions<'_>) -> Result<Turn> {
        Err(Error::InvalidOption { name: "message".to_owned(), reason: format!("{} characters", message.len()) })
    }
}
