//! `docent query INDEX "text"`: searches an index and prints the hits.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use crate::cli::engine_client::{KEY_VARIABLE, key_from};
use crate::cli::local_index::{LocalIndex, ask_engine, embed_query};
use crate::cli::model_files::ModelFolders;
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::retrieval::facets::Filter;
use crate::retrieval::search_index::{SearchRequest, SearchResponse};
use crate::retrieval::vector_engine::EngineConfig;
use crate::turn::{Mode, Passage};

/// Arguments of `docent query`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder that `docent index` wrote, or its manifest.json.
    pub index: PathBuf,
    /// The question.
    pub text: String,
    /// Print the hits as JSON.
    #[arg(long)]
    pub json: bool,
    /// Which legs answer [default: hybrid where the index has vectors and the model is here, else lexical].
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
    /// Number of hits, 1 to 100.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub top_k: usize,
    /// Limit to pages with this facet, such as version=3, language=zh, section=guide, tags=python; may be repeated.
    #[arg(long, value_name = "FACET=VALUE")]
    pub filter: Vec<String>,
    /// Take the vectors from Qdrant at this address; its key comes from DOCENT_VECTORS_KEY alone.
    #[arg(long, value_name = "URL", requires = "collection")]
    pub engine: Option<String>,
    /// The collection that `docent push` filled.
    #[arg(long, value_name = "NAME", requires = "engine")]
    pub collection: Option<String>,
    /// Folder in which models are looked for first; also DOCENT_MODELS.
    #[arg(long, value_name = "DIR")]
    pub models_dir: Option<PathBuf>,
}

/// The legs that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ModeArg {
    /// Words only.
    Lexical,
    /// Vectors only.
    Dense,
    /// Both, fused.
    Hybrid,
}

/// Runs `docent query`.
///
/// # Errors
/// [`Error::Index`] when the index cannot be opened, [`Error::Model`] when a mode needs a model that is not here.
pub fn run(args: &Args) -> Result<ExitCode> {
    let filter = parse_filter(&args.filter)?;
    let mut index = LocalIndex::open(&args.index)?;
    if let (Some(url), Some(collection)) = (&args.engine, &args.collection) {
        let options =
            json!({ "engine": "qdrant", "url": url, "collection": collection, "apiKey": key_from(KEY_VARIABLE) });
        index.index.set_engine(Some(EngineConfig::from_json(options)?));
    }
    let mut warnings = Vec::new();
    let model = match args.mode {
        Some(ModeArg::Lexical) => None,
        Some(ModeArg::Dense | ModeArg::Hybrid) => {
            Some(index.load_model(&ModelFolders::new(args.models_dir.as_deref()))?)
        }
        None if !index.index.has_dense_leg() => None,
        None => match index.load_model(&ModelFolders::new(args.models_dir.as_deref())) {
            Ok(model) => Some(model),
            Err(error) => {
                warnings.push(format!("searching by words only: {error}"));
                None
            }
        },
    };
    let embedding = model.map(|model| embed_query(&model, &args.text)).transpose()?;
    let mode = match args.mode {
        Some(ModeArg::Lexical) => Mode::Lexical,
        Some(ModeArg::Dense) => Mode::Dense,
        Some(ModeArg::Hybrid) | None => Mode::Hybrid,
    };
    let request = SearchRequest {
        query: &args.text,
        embedding: embedding.as_deref(),
        mode,
        top_k: args.top_k,
        filter,
        ..SearchRequest::default()
    };
    let engine = ask_engine(&index.index, &request).or_else(|error| match args.mode {
        Some(ModeArg::Dense | ModeArg::Hybrid) => Err(error),
        _ => {
            warnings.push(format!("{error}; searching by words only"));
            Ok(None)
        }
    })?;
    let embedding = request.embedding.filter(|_| index.index.engine().is_none() || engine.is_some());
    let request = SearchRequest { engine: engine.as_ref(), embedding, ..request };
    let mut response = index.search(&request)?;
    response.warnings.splice(0..0, warnings);
    if args.json {
        let report = json!({
            "query": args.text,
            "mode": response.mode,
            "inVocabulary": response.in_vocabulary,
            "warnings": response.warnings,
            "hits": response.passages,
        });
        terminal::line(&format!("{report:#}"))?;
    } else {
        print(&response)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(response: &SearchResponse) -> Result<()> {
    for warning in &response.warnings {
        eprintln!("warning: {warning}");
    }
    if response.passages.is_empty() {
        return terminal::line("nothing found");
    }
    for (n, passage) in response.passages.iter().enumerate() {
        terminal::line(&describe(n + 1, passage))?;
    }
    Ok(())
}

fn describe(n: usize, passage: &Passage) -> String {
    let place: Vec<&str> =
        std::iter::once(passage.title.as_str()).chain(passage.heading_path.iter().map(String::as_str)).collect();
    let scores = &passage.scores;
    let score = |value: Option<f32>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
    format!(
        "{n}. {}\n   {}\n   evidence {:.3} · fused {:.3} · lexical {} · dense {}\n   {}\n",
        place.join(" › "),
        passage.url,
        scores.evidence,
        scores.fused,
        score(scores.lexical),
        score(scores.dense),
        passage.best.replace('\n', "\n   ")
    )
}

fn parse_filter(pairs: &[String]) -> Result<Filter> {
    let refuse = |reason: String| Error::InvalidOption { name: "filter".to_owned(), reason };
    let mut fields: Map<String, Value> = Map::new();
    for pair in pairs {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| refuse(format!("{pair:?} is not of the form facet=value")))?;
        let values = fields.entry(name.trim()).or_insert_with(|| json!([]));
        if let Some(values) = values.as_array_mut() {
            values.push(json!(value.trim()));
        }
    }
    serde_json::from_value(Value::Object(fields)).map_err(|error| refuse(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_and_mistakes_told() {
        let filter = parse_filter(&["version=3".into(), "language=zh".into(), "version=2".into()]).unwrap();
        assert_eq!(filter.version, ["3", "2"]);
        assert_eq!(filter.language.len(), 1);
        assert!(parse_filter(&[]).unwrap().is_open());
        for pair in ["version", "colour=red", "language=xx"] {
            assert_eq!(parse_filter(&[pair.into()]).unwrap_err().code(), "invalid_option", "{pair}");
        }
    }
}
