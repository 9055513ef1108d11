//! The native integration tests: one binary, one module a topic.
#![cfg(feature = "cli")]
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "tests read their files and say what they skip")]

mod native {
    mod chat_cassettes;
    mod chat_client;
    mod chat_command;
    mod conversations;
    mod embedding;
    mod grounding;
    mod guidance;
    mod index_build;
    mod models;
    mod policy;
    mod real_llm;
    mod recovery;
    mod report;
    mod search;
    mod sites;
    mod support;
    mod typescript;
}
