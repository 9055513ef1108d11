//! `docent index DOCS --out DIR`: reads documentation and writes the files that the page loads.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::error::{Error, Result};

/// Arguments of `docent index`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of Markdown, MDX, HTML, reStructuredText or plain text; a built site; a sitemap.xml; or corpus.json.
    pub docs: PathBuf,
    /// Folder that the index is written to.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Runs `docent index`.
///
/// # Errors
/// [`Error::Input`] naming the path and what is wrong with it.
pub fn run(args: &Args) -> Result<ExitCode> {
    Err(Error::Input { path: args.docs.display().to_string(), reason: "the index builder is not in this build".into() })
}
