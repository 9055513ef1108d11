//! What the agent remembers: the window of messages, the running summary of what left it, and the state of the dialogue.
//!
//! Input: messages and the findings of each turn. Output: context for prompts, text for retrieval, one JSON save.
//! **Invariant:** deciding what a message means lives in `understanding`; nothing here reads a clock or draws a random
//! number, so the same calls give the same bytes.

pub mod conversation_memory;
pub mod dialogue_state;
pub mod history_summarizer;

pub use conversation_memory::{ConversationMemory, Message, WindowLimits};
pub use dialogue_state::{
    DialogueState, Entity, EntityKind, FactKind, LastGeneration, OfferKind, OfferedItem, ReaderFact, Topic,
};
pub use history_summarizer::HistorySummarizer;
