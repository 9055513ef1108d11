//! `docent embed TEXTS --out VECTORS`: the embeddings of texts, for measurements and for other programs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use rayon::prelude::*;

use crate::cli::model_files::ModelFolders;
use crate::error::{Error, Result};
use crate::retrieval::embedding_model::Kind;

/// Arguments of `docent embed`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file with one text a line, in UTF-8.
    pub texts: PathBuf,
    /// Where the vectors go: float32, little endian, one after the other, in the order of the lines.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// The model: a name of the catalog, or a folder.
    #[arg(long, default_value = "all-MiniLM-L6-v2", value_name = "MODEL")]
    pub model: String,
    /// The texts are questions and not passages; some models tell them apart.
    #[arg(long)]
    pub queries: bool,
    /// Folder in which models are looked for first; also DOCENT_MODELS.
    #[arg(long, value_name = "DIR")]
    pub models_dir: Option<PathBuf>,
}

/// Runs `docent embed`.
///
/// # Errors
/// [`Error::Input`] when a file cannot be read or written, [`Error::Model`] when the model cannot run.
pub fn run(args: &Args) -> Result<ExitCode> {
    let text = std::fs::read_to_string(&args.texts).map_err(|error| failed(&args.texts, "read", &error))?;
    let texts: Vec<&str> = text.lines().collect();
    let model = ModelFolders::new(args.models_dir.as_deref()).named(&args.model)?.load()?;
    let start = Instant::now();
    let vectors = if args.queries {
        texts.par_iter().map(|text| model.encoder().embed(text, Kind::Query)).collect::<Result<Vec<_>>>()?
    } else {
        model.embed_passages(&texts, |_| ())?
    };
    let seconds = start.elapsed().as_secs_f64();
    let bytes: Vec<u8> = vectors.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    std::fs::File::create(&args.out)
        .and_then(|mut file| file.write_all(&bytes))
        .map_err(|error| failed(&args.out, "written", &error))?;
    #[expect(clippy::cast_precision_loss, reason = "a rate is shown")]
    let rate = texts.len() as f64 / seconds.max(1e-9);
    eprintln!("embedded {} texts in {seconds:.3} s: {rate:.1} texts/s", texts.len());
    Ok(ExitCode::SUCCESS)
}

fn failed(path: &Path, what: &str, error: &std::io::Error) -> Error {
    Error::Input { path: path.display().to_string(), reason: format!("cannot be {what}: {error}") }
}
