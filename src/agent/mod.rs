//! One turn, in order; the only place that waits for the host.

pub mod agent_config;
