//! `docent query INDEX "text"`: searches an index and prints the hits.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::error::{Error, Result};

/// Arguments of `docent query`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder that `docent index` wrote, or its manifest.json.
    pub index: PathBuf,
    /// The question.
    pub text: String,
}

/// Runs `docent query`.
///
/// # Errors
/// [`Error::Index`] when the index cannot be opened.
pub fn run(args: &Args) -> Result<ExitCode> {
    Err(Error::Input { path: args.index.display().to_string(), reason: "the index reader is not in this build".into() })
}
