//! The native command line: one file a subcommand.
//!
//! A subcommand is a module with `Args` (clap) and `run(&Args) -> Result<ExitCode>`; it is named once in [`Command`] and
//! once in [`dispatch`]. Results go to standard output, everything else (progress, warnings, errors) to standard error.
//! Exit codes: 0 done, 1 an error or a check that fell short, 2 wrong usage.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the command line reads files and clocks and prints; it is never part of a wasm build"
)]

pub mod chat;
pub mod chat_client;
pub mod embed;
pub mod engine_client;
pub mod eval;
pub mod eval_beir;
pub mod eval_cross_lingual;
pub mod eval_evidence;
pub mod eval_graph;
pub mod eval_hold_out;
pub mod eval_policy;
pub mod eval_rewrite;
pub mod eval_route;
mod eval_vectors;
pub mod index;
pub mod local_agent;
pub mod local_index;
pub mod model_files;
pub mod native_model;
pub mod push;
pub mod query;
pub mod questions;
mod random;
pub mod report;
pub mod scale;
pub mod serve;
pub mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::Result;

/// A guided documentation agent that lives in the reader's page: the tools that build, try and check it.
#[derive(Debug, Parser)]
#[command(name = "docent", version, about, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Builds an index from a folder of documentation.
    Index(index::Args),
    /// Embeds texts into a file of vectors.
    Embed(embed::Args),
    /// Measures search on sets of questions whose answers are known.
    Eval(eval::Args),
    /// Searches an index and prints the hits.
    Query(query::Args),
    /// Talks with the agent in the terminal.
    Chat(chat::Args),
    /// Fills a collection of a vector engine from an index, for pages whose vectors are too many to load.
    Push(push::Args),
    /// Makes a larger index from a real one, to measure how things grow.
    #[command(hide = true)]
    Scale(scale::Args),
    /// Serves a folder of static files and Markdown, with a proxy to an endpoint.
    Serve(serve::Args),
    /// Turns exported logs into a report for the authors of the documentation.
    Report(report::Args),
}

/// Parses the arguments, runs the subcommand and prints its error, if any, in one readable sentence.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(cli.command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("docent: {error}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode> {
    match command {
        Command::Index(args) => index::run(&args),
        Command::Embed(args) => embed::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Chat(args) => chat::run(&args),
        Command::Push(args) => push::run(&args),
        Command::Scale(args) => scale::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Report(args) => report::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_arguments_of_every_subcommand_are_consistent() {
        Cli::command().debug_assert();
    }
}
