//! One turn, in order; the only place that waits for the host.

pub mod agent_config;
pub mod content_filter;
pub mod conversational_agent;
pub mod metrics;
pub mod reply_templates;
mod run_turn;
mod session;
pub mod turn_record;

pub use agent_config::AgentConfig;
pub use conversational_agent::{ChatOptions, ConversationalAgent, Hosts};
pub use metrics::Metrics;
pub use turn_record::{ReaderEvent, TurnRecord};
