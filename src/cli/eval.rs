//! `docent eval SET…`: how well the search, as the page runs it, answers questions whose answers are known.
//!
//! Input: folders in the BEIR layout. Output: a table, or JSON, with confidence intervals.
//! **Invariant:** what is measured is the core with the product's defaults; nothing here ranks.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;

use crate::cli::eval_beir::{self, BeirSet, SetReport, Settings};
use crate::cli::eval_graph::{self, GraphReport};
use crate::cli::model_files::ModelFolders;
use crate::cli::{eval_cross_lingual, eval_hold_out, eval_policy, eval_rewrite, eval_route, questions, terminal};
use crate::error::{Error, Result};

/// Names the folder of the shared data, whose `eval` folder `--all` runs.
const DATA_VARIABLE: &str = "DOCENT_TESTDATA";

/// Questions of each other set that `--all` takes as questions without an answer.
const STRANGERS: usize = 150;

/// Arguments of `docent eval`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders with corpus.jsonl, queries.jsonl and qrels*.tsv; or one file of questions (.yml) that is asked of --index;
    /// or one file of policy cases (.jsonl), asked of --index or of the corpus.jsonl beside it.
    #[arg(required_unless_present = "all")]
    pub sets: Vec<PathBuf>,
    /// Runs every set of the folder `eval` under $DOCENT_TESTDATA.
    #[arg(long)]
    pub all: bool,
    /// Prints JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Takes a part of at most N passages, the same at every run.
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Takes this model instead of the one that serves the set's language.
    #[arg(long, value_name = "ID")]
    pub model: Option<String>,
    /// Folder of the models, beside the usual ones; also DOCENT_MODELS.
    #[arg(long, value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// Only the lexical leg; needs no model.
    #[arg(long)]
    pub lexical: bool,
    /// Also measures the evidence: the questions of this set are taken to have no answer in the others. May be repeated.
    #[arg(long, value_name = "SET")]
    pub evidence: Vec<PathBuf>,
    /// Measures whether a question in one language finds the page in the other: two folders with the same pages.
    #[arg(long, conflicts_with_all = ["all", "evidence", "rewrite"])]
    pub cross_lingual: bool,
    /// Measures what the graph of the dense leg finds of what exact search finds, and from which size on it is faster.
    #[arg(long, conflicts_with_all = ["cross_lingual", "lexical", "rewrite"])]
    pub graph: bool,
    /// Chooses the weights of the ranking on all sets but one, and measures that one; each set is held out once.
    #[arg(long, conflicts_with_all = ["cross_lingual", "graph", "lexical", "rewrite"])]
    pub hold_out: bool,
    /// What only the measurement of the policy takes.
    #[command(flatten)]
    pub policy: eval_policy::Settings,
    /// Folder of the cached embeddings; ~/.cache/docent or $DOCENT_CACHE by default.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Measures rewriting: folders whose queries have a history, or a .json file of rewrites in the CANARD layout.
    #[arg(long)]
    pub rewrite: bool,
    /// Measures routing: files of labeled messages (.jsonl), CANARD's rewrites (.json), or folders whose queries have a
    /// history.
    #[arg(long, conflicts_with = "rewrite")]
    pub route: bool,
    /// What goes with files of questions.
    #[command(flatten)]
    pub questions: questions::Args,
}

/// Runs `docent eval`.
///
/// # Errors
/// [`Error::Input`] when a set cannot be read, [`Error::Model`] when the model cannot be used.
pub fn run(args: &Args) -> Result<ExitCode> {
    if args.route {
        return eval_route::run(&args.sets, args.json);
    }
    if let [file] = args.sets.as_slice()
        && eval_policy::is_question_file(file)
        && !args.policy.calibrate
    {
        return questions::run(file, &args.questions, &ModelFolders::new(args.models.as_deref()), args.json);
    }
    if let [cases] = args.sets.as_slice()
        && cases.is_file()
        && !args.rewrite
    {
        let default = crate::retrieval::model_manifest::ModelCatalog::built_in()?.models[0].info.id.clone();
        let model = if args.lexical { None } else { Some(args.model.as_deref().unwrap_or(&default)) };
        let index = args.questions.index.as_deref();
        return eval_policy::run(cases, &args.policy, index, model, args.models.as_deref(), args.json);
    }
    let folders = if args.all { all_sets()? } else { args.sets.clone() };
    let settings = Settings {
        sample: args.sample,
        model: args.model.clone(),
        models: args.models.clone(),
        lexical_only: args.lexical,
        cache: args.cache.clone(),
    };
    if args.rewrite {
        return eval_rewrite::run(&folders, &settings, args.json);
    }
    if args.cross_lingual {
        return cross_lingual(&folders, &settings, args.json);
    }
    if args.graph {
        return graph(&folders, &settings, args.json);
    }
    if args.hold_out {
        return hold_out(&folders, &settings, args.json);
    }
    let mut reports = Vec::new();
    for folder in &folders {
        let unanswerable = unanswerable(args, folder, &folders)?;
        let report = eval_beir::evaluate(folder, &settings, &unanswerable)?;
        if !args.json {
            print(&report, reports.is_empty())?;
        }
        reports.push(report);
    }
    if args.json {
        match reports.as_slice() {
            [report] => terminal::line(&json(report)?)?,
            reports => terminal::line(&json(&reports)?)?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The questions that have no answer in `folder`: those of the sets that are named, or with `--all` a part of those of every
/// other set, since the sets are about different things.
fn unanswerable(args: &Args, folder: &Path, folders: &[PathBuf]) -> Result<Vec<String>> {
    let mut questions = Vec::new();
    for named in &args.evidence {
        questions.extend(BeirSet::read(named)?.questions());
    }
    if args.all {
        for other in folders.iter().filter(|other| *other != folder) {
            questions.extend(BeirSet::read(other)?.some_questions(STRANGERS));
        }
    }
    Ok(questions)
}

fn cross_lingual(folders: &[PathBuf], settings: &Settings, as_json: bool) -> Result<ExitCode> {
    let [first, second] = folders else {
        let reason = "wants two folders: the same pages in two languages";
        return Err(Error::Input { path: "--cross-lingual".to_owned(), reason: reason.to_owned() });
    };
    let report = eval_cross_lingual::evaluate([first, second], settings)?;
    if as_json {
        terminal::line(&json(&report)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    terminal::line(&format!(
        "{:34} {:8} {:22} {:>7} {:>7}",
        "headings of > pages of", "leg", "Hit@1 [95 %]", "Hit@5", "MRR"
    ))?;
    for direction in &report.directions {
        let name = format!("{} > {}", direction.questions, direction.pages);
        for (leg, metrics) in &direction.metrics {
            let hit = metrics.hit_at_1;
            terminal::line(&format!(
                "{name:34} {leg:8} {:.3} [{:.3}, {:.3}]   {:7.3} {:7.3}",
                hit.mean, hit.ci[0], hit.ci[1], metrics.hit_at_5.mean, metrics.mrr.mean
            ))?;
        }
        if let Some(share) = direction.above_threshold {
            terminal::line(&format!("{:34} best passage above the threshold of the evidence: {share:.3}", ""))?;
        }
    }
    terminal::line(&format!(
        "{} headings of {} pages, model {}",
        report.questions,
        report.pages,
        report.model.as_deref().unwrap_or("none")
    ))?;
    report.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    Ok(ExitCode::SUCCESS)
}

fn graph(folders: &[PathBuf], settings: &Settings, as_json: bool) -> Result<ExitCode> {
    let reports =
        folders.iter().map(|folder| eval_graph::evaluate(folder, settings)).collect::<Result<Vec<GraphReport>>>()?;
    if as_json {
        terminal::line(&json(&reports)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    terminal::line(&format!("{:22} {:>8} {:>9} {:>10} {:>10}", "set", "passages", "recall@10", "graph", "exact"))?;
    for report in &reports {
        for row in &report.sizes {
            terminal::line(&format!(
                "{:22} {:8} {:9.4} {:7.0} µs {:7.0} µs",
                report.set, row.passages, row.recall_at_10, row.graph_micros, row.exact_micros
            ))?;
        }
        let from = report.faster_from.map_or_else(
            || "exact search is faster at every size".to_owned(),
            |passages| format!("the graph is faster from {passages} passages on"),
        );
        terminal::line(&format!("{:22} {from} ({} queries, model {})", "", report.queries, report.model))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn hold_out(folders: &[PathBuf], settings: &Settings, as_json: bool) -> Result<ExitCode> {
    let reports = eval_hold_out::evaluate(folders, settings)?;
    if as_json {
        terminal::line(&json(&reports)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    terminal::line(&format!(
        "{:22} {:>8} {:>8} {:22} {:>8}  chosen on the other sets",
        "held out", "lexical", "dense", "nDCG@10 [95 %]", "defaults"
    ))?;
    for report in &reports {
        let chosen: Vec<String> = report.chosen.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let ndcg = report.held_out;
        terminal::line(&format!(
            "{:22} {:8.3} {:8.3} {:.3} [{:.3}, {:.3}]   {:8.3}  {}",
            report.set,
            report.lexical.mean,
            report.dense.mean,
            ndcg.mean,
            ndcg.ci[0],
            ndcg.ci[1],
            report.defaults.mean,
            chosen.join(", ")
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map_err(|error| Error::Input { path: "the report".to_owned(), reason: error.to_string() })
}

/// The folders under the shared data's `eval` that hold a retrieval set.
fn all_sets() -> Result<Vec<PathBuf>> {
    let refuse = |reason: String| Error::Input { path: format!("${DATA_VARIABLE}"), reason };
    let Some(data) = std::env::var_os(DATA_VARIABLE) else {
        return Err(refuse("is not set; it names the folder with the evaluation sets".to_owned()));
    };
    let eval = Path::new(&data).join("eval");
    let entries = std::fs::read_dir(&eval).map_err(|error| refuse(format!("{}: {error}", eval.display())))?;
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| BeirSet::is_one(path)).collect();
    folders.sort();
    Ok(folders)
}

fn print(report: &SetReport, first: bool) -> Result<()> {
    let width = 22;
    if first {
        terminal::line(&format!(
            "{:width$} {:8} {:22} {:>7} {:>7} {:>7}",
            "set", "leg", "nDCG@10 [95 %]", "Hit@1", "Hit@5", "MRR"
        ))?;
    }
    let name: String = report.set.graphemes(true).take(width).collect();
    for (leg, metrics) in &report.metrics {
        let ndcg = metrics.ndcg_at_10;
        terminal::line(&format!(
            "{name:width$} {leg:8} {:.3} [{:.3}, {:.3}]   {:7.3} {:7.3} {:7.3}",
            ndcg.mean, ndcg.ci[0], ndcg.ci[1], metrics.hit_at_1.mean, metrics.hit_at_5.mean, metrics.mrr.mean
        ))?;
    }
    terminal::line(&format!(
        "{:width$} {} passages, {} queries, model {}{}",
        "",
        report.passages,
        report.queries,
        report.model.as_deref().unwrap_or("none"),
        report.recall_at_10.map_or_else(String::new, |recall| format!(", graph recall@10 {recall:.4}"))
    ))?;
    for warning in &report.warnings {
        eprintln!("{}: {warning}", report.set);
    }
    for (leg, evidence) in &report.evidence {
        for (group, measured) in
            [("all", &evidence.all)].into_iter().chain(evidence.groups.iter().map(|(n, g)| (*n, g)))
        {
            terminal::line(&format!(
                "{:width$} evidence {leg:8} {group:8} AUC {:.3}, F1 {:.3}, above the threshold {:.3} of {} answerable and {:.3} of {} others",
                "",
                measured.auc,
                measured.f1,
                measured.recall,
                measured.answerable,
                measured.false_alarms,
                measured.unanswerable,
            ))?;
        }
    }
    Ok(())
}
