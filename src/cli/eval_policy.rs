//! Measures the policy: answer, ask back, or say that the docs don't say.
//!
//! Input: cases (a conversation, a question, what should happen) and an agent over the documentation they are about.
//! Output: precision, recall and F1 of each outcome, macro-F1 beside a policy that always answers, and over-asking.
//! With `--calibrate`, thresholds (and weights of a learned policy) fitted on the cases, judged by cross-validation.

mod calibration;
mod cases;

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde::Serialize;

pub use cases::{Expected, PolicyCase, read_cases};

use super::local_agent::{LocalFiles, MaybeModel, NoChat, SystemClock};
use super::local_index::LocalIndex;
use super::model_files::{FoundModel, ModelFolders, cache_folder};
use super::native_model::NativeModel;
use super::questions::question_file::{self, QuestionFile};
use super::terminal;
use crate::agent::{AgentConfig, ChatOptions, ConversationalAgent, Hosts};
use crate::chat::message::{ChatMessage, Role};
use crate::error::{Error, Result};
use crate::host::EmbeddingModel;
use crate::index::builder;
use crate::index::embedding_cache::EmbeddingCache;
use crate::policy::decision_facts::DecisionFacts;
use crate::retrieval::analyzer::WordList;
use crate::retrieval::document::{Chunk, Document};
use crate::retrieval::facets::Filter;
use crate::retrieval::index_builder::{Corpus, build, build_vectors, embedding_text};
use crate::retrieval::search_index::{ModelInfo, SearchIndex};
use crate::turn::{Action, Language, Turn};

/// What came of one case.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    /// The case's id.
    pub id: String,
    /// What should happen.
    pub expected: Expected,
    /// What happened.
    pub predicted: Expected,
    /// The turn's action.
    pub action: Action,
    /// The turn's reason.
    pub reason: String,
    /// The question as it was searched.
    pub query: Option<String>,
    /// What the decision was made on; `None` where the turn did not reach the policy.
    pub facts: Option<DecisionFacts>,
    /// Whether the expected page is among the first sources; `None` where the case names none or it was not answered.
    pub right_page: Option<bool>,
}

/// Precision, recall and F1 of one outcome, each 0..=1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeScore {
    /// The outcome.
    pub outcome: Expected,
    /// Cases that expect it.
    pub cases: usize,
    /// Right ones among those predicted.
    pub precision: f64,
    /// Right ones among those expected.
    pub recall: f64,
    /// Harmonic mean of the two.
    pub f1: f64,
}

/// The figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyScore {
    /// Cases.
    pub cases: usize,
    /// By outcome.
    pub outcomes: Vec<OutcomeScore>,
    /// Mean of the outcomes' F1.
    pub macro_f1: f64,
    /// The same for a policy that always answers.
    pub always_answer_macro_f1: f64,
    /// Share of the cases to be answered that were asked back about, 0..=1.
    pub over_asking: f64,
    /// Share of the cases to be answered that were said not to be in the docs, 0..=1.
    pub over_refusing: f64,
    /// Rows: what should happen; columns: what happened; both in the order of `outcomes`.
    pub confusion: Vec<Vec<usize>>,
    /// Share of the answers that show the expected page, where cases name one.
    pub right_page: Option<f64>,
}

impl PolicyScore {
    /// The figures of pairs of what should happen and what did.
    #[must_use]
    pub fn of(pairs: &[(Expected, Expected)]) -> Self {
        let all = Expected::ALL;
        let count = |expected, predicted| pairs.iter().filter(|pair| **pair == (expected, predicted)).count();
        let confusion: Vec<Vec<usize>> =
            all.iter().map(|expected| all.iter().map(|predicted| count(*expected, *predicted)).collect()).collect();
        let score = |at: usize| {
            let right = confusion[at][at] as f64;
            let expected: usize = confusion[at].iter().sum();
            let predicted: usize = confusion.iter().map(|row| row[at]).sum();
            let share = |whole: usize| if whole == 0 { 0.0 } else { right / whole as f64 };
            let (precision, recall) = (share(predicted), share(expected));
            let f1 = if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 };
            OutcomeScore { outcome: all[at], cases: expected, precision, recall, f1 }
        };
        // An outcome that no case expects says nothing about the policy.
        let outcomes: Vec<OutcomeScore> = (0..all.len()).map(score).collect();
        let present: Vec<&OutcomeScore> = outcomes.iter().filter(|outcome| outcome.cases > 0).collect();
        let kinds = present.len().max(1) as f64;
        let answers = outcomes[0].cases as f64;
        let always = if answers > 0.0 { 2.0 * answers / (answers + pairs.len() as f64) } else { 0.0 };
        let of_answers = |at: usize| if answers > 0.0 { confusion[0][at] as f64 / answers } else { 0.0 };
        Self {
            cases: pairs.len(),
            macro_f1: present.iter().map(|outcome| outcome.f1).sum::<f64>() / kinds,
            always_answer_macro_f1: always / kinds,
            over_asking: of_answers(1),
            over_refusing: of_answers(2),
            outcomes,
            confusion,
            right_page: None,
        }
    }
}

/// What a turn amounts to.
#[must_use]
pub fn outcome_of(turn: &Turn) -> Expected {
    match turn.action {
        _ if turn.reason == "not_in_docs" => Expected::NotInDocs,
        Action::AskClarification => Expected::AskClarification,
        _ => Expected::Answer,
    }
}

/// Runs every case through an agent over `index`; `done` hears after each.
///
/// # Errors
/// [`Error::InvalidOption`] for a case without a question.
pub async fn judge<E: EmbeddingModel>(
    index: SearchIndex,
    model: Option<E>,
    config: AgentConfig,
    cases: &[PolicyCase],
    done: &mut dyn FnMut(usize),
) -> Result<Vec<Judged>> {
    let hosts = Hosts {
        chat: None::<NoChat>,
        embedding: MaybeModel(model),
        files: LocalFiles::default(),
        clock: SystemClock::default(),
    };
    let agent = ConversationalAgent::new(config, hosts)?;
    agent.set_index(index);
    let mut judged = Vec::with_capacity(cases.len());
    for case in cases {
        agent.load_history(&case.history)?;
        let filter = Filter { section: case.section.iter().cloned().collect(), ..Filter::default() };
        let turn = agent.chat(&case.question, ChatOptions { filter, ..ChatOptions::default() }).await?;
        let facts = turn
            .trace
            .steps
            .iter()
            .find(|step| step.step == "decide")
            .and_then(|step| serde_json::from_value(step.detail["facts"].clone()).ok());
        let predicted = outcome_of(&turn);
        let shown = |page: &String| turn.sources.iter().any(|source| source.document == *page);
        judged.push(Judged {
            id: case.id.clone(),
            expected: case.expected,
            predicted,
            action: turn.action,
            reason: turn.reason.clone(),
            query: turn.rewritten_query.clone(),
            facts,
            right_page: case.page.as_ref().filter(|_| predicted == Expected::Answer).map(shown),
        });
        done(judged.len());
    }
    Ok(judged)
}

/// The figures of judged cases.
#[must_use]
pub fn score(judged: &[Judged]) -> PolicyScore {
    let pairs: Vec<(Expected, Expected)> = judged.iter().map(|case| (case.expected, case.predicted)).collect();
    let pages: Vec<bool> = judged.iter().filter_map(|case| case.right_page).collect();
    let right = pages.iter().filter(|right| **right).count();
    PolicyScore {
        right_page: (!pages.is_empty()).then(|| right as f64 / pages.len() as f64),
        ..PolicyScore::of(&pairs)
    }
}

/// What the measurement of a file of cases needs to know; part of `docent eval`.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct Settings {
    /// For questions and cases: proposes thresholds and weights of the policy fitted on them, cross-validated.
    #[arg(long)]
    pub calibrate: bool,
    /// For cases: parameters of the policy as JSON, such as '{"relevanceThreshold":0.4}'.
    #[arg(long, value_name = "JSON")]
    pub policy: Option<String>,
}

/// Prints the figures.
///
/// # Errors
/// [`Error::Input`] when standard output is closed.
pub fn print(score: &PolicyScore, title: &str) -> Result<()> {
    terminal::line(&format!(
        "{title}: {} cases, macro-F1 {:.3} (always answering {:.3}), over-asking {:.1} %, over-refusing {:.1} %",
        score.cases,
        score.macro_f1,
        score.always_answer_macro_f1,
        score.over_asking * 100.0,
        score.over_refusing * 100.0
    ))?;
    let predicted: BTreeMap<usize, &str> = Expected::ALL.iter().map(|outcome| outcome.as_str()).enumerate().collect();
    for (outcome, row) in score.outcomes.iter().zip(&score.confusion) {
        let row: Vec<String> =
            row.iter().enumerate().map(|(at, count)| format!("{} {count}", predicted[&at])).collect();
        terminal::line(&format!(
            "  {:<18} {:>4} cases  P {:.3}  R {:.3}  F1 {:.3}   as {}",
            outcome.outcome.as_str(),
            outcome.cases,
            outcome.precision,
            outcome.recall,
            outcome.f1,
            row.join(", ")
        ))?;
    }
    if let Some(right) = score.right_page {
        terminal::line(&format!("  answers that show the expected page: {:.1} %", right * 100.0))?;
    }
    Ok(())
}

/// Judges the cases, prints the figures, and calibrates where that is asked for.
///
/// # Errors
/// Those of [`judge`], and [`Error::Input`] when standard output is closed.
pub fn measure<E: EmbeddingModel>(
    index: SearchIndex,
    model: Option<E>,
    config: AgentConfig,
    cases: &[PolicyCase],
    calibrate: bool,
    json: bool,
) -> Result<ExitCode> {
    let policy = config.policy.clone();
    let bar = indicatif::ProgressBar::new(cases.len() as u64);
    let judged = terminal::block_on(judge(index, model, config, cases, &mut |done| bar.set_position(done as u64)))??;
    bar.finish_and_clear();
    let figures = score(&judged);
    let calibration = calibrate.then(|| calibration::calibrate(&judged, &policy));
    if json {
        let all = serde_json::json!({ "score": figures, "calibration": calibration, "cases": judged });
        terminal::line(&serde_json::to_string_pretty(&all).unwrap_or_default())?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&figures, "policy")?;
    if let Some(calibration) = calibration {
        print(&calibration.fitted, "calibrated thresholds, on the same cases")?;
        print(&calibration.cross_validated, "calibrated thresholds, cross-validated")?;
        print(&calibration.learned_cross_validated, "learned policy, cross-validated")?;
        let proposal = serde_json::json!({
            "policy": {
                "relevanceThreshold": calibration.policy.relevance_threshold,
                "notInDocsThreshold": calibration.policy.not_in_docs_threshold,
                "ambiguityThreshold": calibration.policy.ambiguity_threshold,
            },
            "learned": calibration.learned,
        });
        terminal::line(&serde_json::to_string(&proposal).unwrap_or_default())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A passage of a corpus file.
#[derive(Debug, serde::Deserialize)]
struct CorpusLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
    #[serde(default)]
    collection: Option<String>,
}

/// Measures a file of cases: over an index, or over the corpus.jsonl that lies beside it.
///
/// `model` names the model for a corpus, `None` searches it by words only; `models` is the folder looked into first.
///
/// # Errors
/// [`Error::Input`] for files that cannot be read, [`Error::Model`] when the model cannot run.
pub fn run(
    cases: &std::path::Path,
    settings: &Settings,
    index: Option<&std::path::Path>,
    model: Option<&str>,
    models: Option<&std::path::Path>,
    json: bool,
) -> Result<ExitCode> {
    let corpus = cases.with_file_name("corpus.jsonl");
    let cases = if is_question_file(cases) { cases_of_questions(cases)? } else { read_cases(cases)? };
    let policy = settings.policy.as_deref().unwrap_or("{}");
    let policy: serde_json::Value = serde_json::from_str(policy)
        .map_err(|error| Error::InvalidOption { name: "--policy".to_owned(), reason: error.to_string() })?;
    let config = AgentConfig::from_json(serde_json::json!({ "policy": policy }))?;
    let folders = ModelFolders::new(models);
    let (index, model) = match index {
        Some(index) => {
            let mut local = LocalIndex::open(index)?;
            local.load_all_texts()?;
            let model = match local.index.vectors() {
                Some(_) => Some(local.load_model(&folders)?),
                None => None,
            };
            (local.index, model)
        }
        None => index_of_corpus(&corpus, model, &folders)?,
    };
    measure(index, model, config, &cases, settings.calibrate, json)
}

/// Whether a file is one of a site's own questions.
#[must_use]
pub fn is_question_file(path: &std::path::Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yml" || ending == "yaml")
}

/// A site's own questions as cases: a page means an answer.
fn cases_of_questions(path: &std::path::Path) -> Result<Vec<PolicyCase>> {
    let questions = QuestionFile::read(path)?.questions;
    let cases = questions.into_iter().enumerate().filter_map(|(at, question)| {
        let expected = match (&question.expected, question.action) {
            (_, Some(Action::AskClarification)) => Expected::AskClarification,
            (question_file::Expected::NotInDocs, _) => Expected::NotInDocs,
            (question_file::Expected::Page { .. }, _) | (_, Some(Action::AnswerDirectly | Action::SuggestRelated)) => {
                Expected::Answer
            }
            // Hand-overs, summaries and small talk do not depend on the thresholds.
            _ => return None,
        };
        let message = |content| ChatMessage { role: Role::User, content };
        Some(PolicyCase {
            id: format!("question {}", at + 1),
            history: question.after.into_iter().map(message).collect(),
            question: question.question,
            expected,
            page: None,
            section: None,
        })
    });
    Ok(cases.collect())
}

/// Builds the index of a corpus file in memory.
fn index_of_corpus(
    path: &std::path::Path,
    model: Option<&str>,
    folders: &ModelFolders,
) -> Result<(SearchIndex, Option<NativeModel>)> {
    let (documents, chunks) = read_corpus(path)?;
    let found = model.map(|id| folders.named(id)).transpose()?;
    let model = found.as_ref().map(FoundModel::load).transpose()?;
    let info = found.as_ref().map(|found| ModelInfo::from(&found.info));
    let vectors = match (&found, &model) {
        (Some(found), Some(model)) => {
            let texts: Vec<String> =
                chunks.iter().map(|chunk| embedding_text(&documents[chunk.document as usize], chunk)).collect();
            let mut cache = match cache_folder() {
                Some(folder) => EmbeddingCache::open(&folder, &found.hash(), found.info.dimension)?,
                None => EmbeddingCache::none(found.info.dimension),
            };
            let bar = indicatif::ProgressBar::new(texts.len() as u64);
            let (vectors, _) = builder::embed(&texts, model, &mut cache, &|_, done, total| {
                bar.set_length(total as u64);
                bar.set_position(done as u64);
            })?;
            bar.finish_and_clear();
            Some(build_vectors(&found.info.id, &vectors)?)
        }
        _ => None,
    };
    let words = WordList::from_texts(chunks.iter().map(|chunk| chunk.text.as_str()), 3);
    let mut index = SearchIndex::new(build(Corpus { documents, chunks, words, model: info, ..Corpus::default() })?)?;
    if let Some(vectors) = vectors {
        index.set_vectors(vectors)?;
    }
    Ok((index, model))
}

/// Passages as pages of one chunk each, in the order of their ids' pages.
fn read_corpus(path: &std::path::Path) -> Result<(Vec<Document>, Vec<Chunk>)> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::Input { path: name.clone(), reason: error.to_string() })?;
    let (mut documents, mut chunks) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: CorpusLine = serde_json::from_str(line)
            .map_err(|error| Error::Input { path: format!("{name}:{}", at + 1), reason: error.to_string() })?;
        documents.push(Document {
            url: format!("/{}", line.id),
            title: if line.title.trim().is_empty() { first_words(&line.text) } else { line.title },
            id: line.id,
            section: line.collection,
            language: Language::detect(&line.text).unwrap_or_default(),
            authority: 0.5,
            boost: 1.0,
            ..Document::default()
        });
        chunks.push(Chunk { document: documents.len() as u32 - 1, text: line.text, ..Chunk::default() });
    }
    Ok((documents, chunks))
}

/// A title for a passage that has none.
fn first_words(text: &str) -> String {
    text.split_whitespace().take(8).collect::<Vec<_>>().join(" ")
}
