//! `docent index DOCS --out DIR`: reads documentation and writes the files that the page loads.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::agent::agent_config::AgentConfig;
use crate::cli::model_files::{FoundModel, ModelFolders, cache_folder, language_warning};
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::index::address::UrlSuffix;
use crate::index::builder::{self, BuildOptions, PassageModel, Stage, Summary};
use crate::index::embedding_cache::EmbeddingCache;
use crate::index::sources::anchors::AnchorStyle;
use crate::index::sources::{self, Corpus, ReadOptions};

/// The folder under the index that the model's files are copied to.
const MODEL_FOLDER: &str = "models";
/// A language on a smaller part of the pages does not decide which model is taken: a quoted page is not a translation.
const LANGUAGE_SHARE: f32 = 0.02;
/// Left-out pages that the summary for people lists before it counts the rest.
const LISTED_PAGES: usize = 12;

/// Arguments of `docent index`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of Markdown, MDX, HTML, reStructuredText or plain text; a built site; a sitemap.xml; or a corpus.json.
    pub docs: PathBuf,
    /// Folder that the index is written to.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Address that the paths of the pages are put behind, such as https://example.org/docs.
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// How the addresses of pages end [default: html].
    #[arg(long, value_enum, value_name = "STYLE")]
    pub url_suffix: Option<UrlSuffix>,
    /// The same as --url-suffix clean.
    #[arg(long, conflicts_with = "url_suffix")]
    pub clean_urls: bool,
    /// Whose rule makes the anchors of headings in Markdown [default: github].
    #[arg(long, value_enum, value_name = "GENERATOR")]
    pub anchors: Option<AnchorStyle>,
    /// Read only pages that fit this glob, such as "guide/**"; may be given several times.
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// Leave out pages that fit this glob or lie in this folder; may be given several times.
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// The site's file of synonyms, boosts, facets and contact [default: docent.toml in the folder].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Embedding model: an id of models/models.toml, or a folder [default: by the languages of the pages].
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Folder in which models are looked for first; also DOCENT_MODELS.
    #[arg(long, value_name = "DIR")]
    pub models_dir: Option<PathBuf>,
    /// Build an index that searches by words only.
    #[arg(long, conflicts_with = "model")]
    pub no_embeddings: bool,
    /// Do not copy the model's files beside the index.
    #[arg(long)]
    pub no_model: bool,
    /// Where the page finds the model's files, when they are not copied beside the index.
    #[arg(long, value_name = "URL")]
    pub model_url: Option<String>,
    /// Folder of the embedding cache [default: ~/.cache/docent]; also DOCENT_CACHE.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Compute every embedding again, and keep none.
    #[arg(long, conflicts_with = "cache")]
    pub no_cache: bool,
    /// Build time to write into the index: "now" or seconds since 1970. Without it, and without SOURCE_DATE_EPOCH, the
    /// index holds no time, so that the same pages give the same bytes.
    #[arg(long, value_name = "TIME")]
    pub build_time: Option<String>,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The summary with what only the command knows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    seconds: f64,
    embedding_seconds: f64,
    chunks_per_second: Option<f64>,
    model_bytes: u64,
    out: String,
}

/// Runs `docent index`.
///
/// # Errors
/// [`Error::Input`] naming the path and what is wrong with it, [`Error::Model`], [`Error::InvalidOption`].
pub fn run(args: &Args) -> Result<ExitCode> {
    let start = Instant::now();
    let built_at = build_time(args.build_time.as_deref(), std::env::var("SOURCE_DATE_EPOCH").ok().as_deref())?;
    let progress = Bars::new(!args.json);
    let mut corpus =
        sources::read(&args.docs, &read_options(args), &|done, total| progress.show("reading", done, total))?;
    let agent = corpus.config.agent_options();
    if let Some(options) = &agent {
        AgentConfig::from_json(options.clone())?;
    }
    let model = choose_model(args, &mut corpus)?;
    let loaded = model.as_ref().map(FoundModel::load).transpose()?;
    let mut cache = open_cache(args, model.as_ref())?;
    let model_url = match (&args.model_url, args.no_model, &model) {
        (Some(url), _, Some(_)) => Some(url.clone()),
        (None, false, Some(_)) => Some(MODEL_FOLDER.to_owned()),
        _ => None,
    };
    let options = BuildOptions {
        model: loaded.as_ref().map(|model| model as &dyn PassageModel),
        built: built_at.as_deref(),
        model_url: model_url.as_deref(),
        agent: agent.as_ref(),
    };
    let embedding_time = Mutex::new((None::<Instant>, Duration::ZERO));
    let built = builder::build(corpus, options, &mut cache, &|stage, done, total| {
        if stage == Stage::Embedding
            && let Ok(mut time) = embedding_time.lock()
        {
            let first = *time.0.get_or_insert_with(Instant::now);
            time.1 = first.elapsed();
        }
        progress.show(stage_name(stage), done, total);
    })?;
    builder::write_files(&built, &args.out)?;
    let copied = model.as_ref().filter(|_| args.model_url.is_none() && !args.no_model);
    if let Some(model) = copied {
        model.copy_to(&args.out.join(MODEL_FOLDER))?;
    }
    progress.finish();
    let embedding_seconds = embedding_time.lock().map_or(0.0, |time| time.1.as_secs_f64());
    let embedded = built.summary.embedded;
    let report = Report {
        summary: &built.summary,
        seconds: start.elapsed().as_secs_f64(),
        embedding_seconds,
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        chunks_per_second: (embedded > 0 && embedding_seconds > 0.0).then(|| embedded as f64 / embedding_seconds),
        model_bytes: copied.map_or(0, |model| model.info.total_bytes()),
        out: args.out.display().to_string(),
    };
    print_report(&report, args.json)?;
    Ok(ExitCode::SUCCESS)
}

fn read_options(args: &Args) -> ReadOptions {
    ReadOptions {
        base_url: args.base_url.clone(),
        url_suffix: if args.clean_urls { Some(UrlSuffix::Clean) } else { args.url_suffix },
        anchors: args.anchors,
        include: args.include.clone(),
        exclude: args.exclude.clone(),
        config: args.config.clone(),
    }
}

/// Tags of the languages of the pages and their shares, rare ones left out.
fn languages(corpus: &Corpus) -> Vec<(String, f32)> {
    let mut counts: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    corpus.pages.iter().for_each(|page| *counts.entry(page.language.as_str()).or_default() += 1);
    #[expect(clippy::cast_precision_loss, reason = "shares of pages")]
    let share = |count: usize| count as f32 / corpus.pages.len().max(1) as f32;
    counts
        .into_iter()
        .map(|(tag, count)| (tag.to_owned(), share(count)))
        .filter(|(_, share)| *share >= LANGUAGE_SHARE)
        .collect()
}

fn choose_model(args: &Args, corpus: &mut Corpus) -> Result<Option<FoundModel>> {
    if args.no_embeddings || corpus.pages.is_empty() {
        return Ok(None);
    }
    let folders = ModelFolders::new(args.models_dir.as_deref());
    let languages = languages(corpus);
    if let Some(name) = &args.model {
        let model = folders.named(name)?;
        corpus.warnings.extend(language_warning(&model.info, &languages));
        return Ok(Some(model));
    }
    let (model, warnings) = folders.for_languages(&languages)?;
    corpus.warnings.extend(warnings);
    Ok(model)
}

fn open_cache(args: &Args, model: Option<&FoundModel>) -> Result<EmbeddingCache> {
    let Some(model) = model else { return Ok(EmbeddingCache::none(0)) };
    let folder = if args.no_cache { None } else { args.cache.clone().or_else(cache_folder) };
    match folder {
        Some(folder) => EmbeddingCache::open(&folder, &model.hash(), model.info.dimension),
        None => Ok(EmbeddingCache::none(model.info.dimension)),
    }
}

/// The build time as it is written into the index.
fn build_time(given: Option<&str>, epoch: Option<&str>) -> Result<Option<String>> {
    let Some(text) = given.or(epoch) else { return Ok(None) };
    if text == "now" {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        return Ok(Some(builder::utc(now)));
    }
    let seconds: u64 = text.trim().parse().map_err(|_| Error::InvalidOption {
        name: if given.is_some() { "build-time" } else { "SOURCE_DATE_EPOCH" }.to_owned(),
        reason: format!("{text:?} is neither `now` nor a number of seconds since 1970"),
    })?;
    Ok(Some(builder::utc(seconds)))
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Chunking => "chunking",
        Stage::Embedding => "embedding",
        Stage::Writing => "graph and files",
    }
}

fn print_report(report: &Report<'_>, json: bool) -> Result<()> {
    if json {
        let text = serde_json::to_string_pretty(report)
            .map_err(|error| Error::Input { path: "the summary".to_owned(), reason: error.to_string() })?;
        return terminal::line(&text);
    }
    let summary = report.summary;
    let languages: Vec<String> = summary.languages.iter().map(|(tag, count)| format!("{tag} {count}")).collect();
    terminal::line(&format!("{} pages ({}), {} chunks", summary.pages, languages.join(", "), summary.chunks))?;
    match &summary.model {
        Some(model) => {
            let rate = report.chunks_per_second.map_or(String::new(), |rate| format!(", {rate:.1} chunks/s"));
            terminal::line(&format!(
                "{model}: {} chunks embedded in {:.1} s{rate}, {} from the cache",
                summary.embedded, report.embedding_seconds, summary.cached
            ))?;
        }
        None => terminal::line("no embeddings: the index searches by words only")?,
    }
    let model = if report.model_bytes > 0 {
        format!(", the model {}", terminal::bytes(report.model_bytes))
    } else {
        String::new()
    };
    terminal::line(&format!(
        "index {} ({} before the first answer){model}; {:.1} s",
        terminal::bytes(summary.bytes),
        terminal::bytes(summary.first_bytes),
        report.seconds
    ))?;
    for page in summary.skipped.iter().take(LISTED_PAGES) {
        terminal::line(&format!("left out: {} ({})", page.path, page.reason))?;
    }
    if summary.skipped.len() > LISTED_PAGES {
        terminal::line(&format!("left out: {} more, all of them with --json", summary.skipped.len() - LISTED_PAGES))?;
    }
    for warning in &summary.warnings {
        eprintln!("warning: {warning}");
    }
    terminal::line(&format!("written to {}", report.out))
}

/// One progress bar, relabeled from stage to stage. It is drawn to standard error, and only on a terminal.
struct Bars {
    bar: ProgressBar,
    stage: Mutex<&'static str>,
}

impl Bars {
    fn new(visible: bool) -> Self {
        let bar = if visible { ProgressBar::new(0) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{prefix:16} [{bar:32}] {pos}/{len} {eta}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, stage: Mutex::new("") }
    }

    fn show(&self, stage: &'static str, done: usize, total: usize) {
        if let Ok(mut shown) = self.stage.lock()
            && *shown != stage
        {
            *shown = stage;
            self.bar.reset();
            self.bar.set_prefix(stage);
        }
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_time_is_only_there_when_it_is_given() {
        assert_eq!(build_time(None, None).unwrap(), None);
        assert_eq!(build_time(None, Some("0")).unwrap().as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(build_time(Some("86400"), Some("0")).unwrap().as_deref(), Some("1970-01-02T00:00:00Z"));
        assert!(build_time(Some("now"), None).unwrap().unwrap().starts_with("20"));
        assert_eq!(build_time(Some("yesterday"), None).unwrap_err().code(), "invalid_option");
    }
}
