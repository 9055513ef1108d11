//! One turn, in order; the only place that waits for the host.

pub mod action_executor;
pub mod agent_config;
mod answer;
mod code_fence;
pub mod content_filter;
pub mod conversational_agent;
mod draft;
mod generation;
mod handover;
mod knowledge;
pub mod metrics;
mod remember;
pub mod reply_templates;
mod run_turn;
mod session;
mod turn_path;
pub mod turn_record;
mod unsearched_replies;

pub use agent_config::AgentConfig;
pub use conversational_agent::{ChatOptions, ConversationalAgent, Hosts};
pub use metrics::Metrics;
pub use turn_record::{ReaderEvent, TurnRecord};
