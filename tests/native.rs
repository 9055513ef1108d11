//! The native integration tests: one binary, one module a topic.
#![cfg(feature = "cli")]
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests read their files, say what they skip, and stop at what is wrong"
)]

mod native {
    mod chat_cassettes;
    mod chat_client;
    mod chat_command;
    mod conversations;
    mod embedding;
    mod eval_command;
    mod grounding;
    mod guidance;
    mod guidance_sessions;
    mod guide;
    mod index_build;
    mod models;
    mod policy;
    mod real_llm;
    mod recovery;
    mod report;
    mod search;
    mod sites;
    mod support;
    mod token_budget;
    mod typescript;
    mod vector_engine;
}
