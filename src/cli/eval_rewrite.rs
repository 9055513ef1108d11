//! `docent eval --rewrite SET…`: what rewriting is worth to the search.
//!
//! Input: folders in the BEIR layout whose `queries.jsonl` carries a `history` (strings that alternate between the two
//! speakers, or objects with `speaker` and `text`), and files in the CANARD layout (Elgohary et al. 2019: `History`,
//! `Question`, `Rewrite`). Output: nDCG@10 of the last message alone, of all turns joined, and of the local rewrite; for
//! CANARD, ROUGE-L against the human rewrite beside copying the question.
//! **Invariant:** the history is replayed turn by turn through the product's own understanding and rewriter; nothing of the
//! answers (relevance, human rewrites) reaches them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use super::eval_beir::{BeirSet, Interval, Settings, grades, interval, lines};
use super::terminal;
use crate::chat::message::Role;
use crate::dialogue::{ConversationMemory, LastGeneration, WindowLimits};
use crate::error::{Error, Result};
use crate::turn::{EstimatedTokens, Mode};
use crate::understanding::{
    IndexVocabulary, NoVocabulary, QueryRewriter, StandaloneQuery, Understanding, Vocabulary, understand,
};

/// A message of a history: the speakers alternate, the reader first, or each is named.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Said {
    Alternating(String),
    Named { speaker: String, text: String },
}

#[derive(Debug, Deserialize)]
struct QueryLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    history: Vec<Said>,
}

#[derive(Debug, Deserialize)]
struct PassageLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    collection: Option<String>,
}

/// A question with its conversation and the form that people gave it to stand alone.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct RewriteCase {
    history: Vec<String>,
    question: String,
    rewrite: String,
}

impl RewriteCase {
    /// Reads a file in the CANARD layout.
    pub(super) fn read(file: &Path) -> Result<Vec<Self>> {
        let refuse = |reason: String| Error::Input { path: file.display().to_string(), reason };
        let text = std::fs::read_to_string(file).map_err(|error| refuse(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))
    }

    /// The first two lines of the history: the titles of the page and of its section, what a search would have found.
    pub(super) fn titles(&self) -> Vec<String> {
        self.history.iter().take(2).cloned().collect()
    }

    /// The conversation: question, answer, question …
    pub(super) fn said(&self) -> &[String] {
        self.history.get(2..).unwrap_or_default()
    }

    pub(super) fn question(&self) -> &str {
        &self.question
    }

    /// Whether people left the question as it was, but for letter case and punctuation.
    pub(super) fn stands_alone(&self) -> bool {
        letters(&self.question) == letters(&self.rewrite)
    }
}

/// nDCG@10 of the three wordings of one group of queries.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Wordings {
    queries: usize,
    /// Queries that the rewriter changed.
    changed: usize,
    last: Interval,
    all_turns: Interval,
    rewritten: Interval,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct RetrievalReport {
    set: String,
    /// By leg (`lexical`, `hybrid`), then by collection; `all` is the whole set.
    ndcg_at_10: BTreeMap<&'static str, BTreeMap<String, Wordings>>,
    /// Messages by the intent that the router gave them without a search.
    intents: BTreeMap<String, usize>,
    /// Messages by the reason of their rewrite.
    reasons: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct RougeReport {
    set: String,
    questions: usize,
    changed: usize,
    /// ROUGE-L (F1, lower-cased words as they stand between spaces), 0..=1.
    copied: Interval,
    rewritten: Interval,
    /// The same with words of letters and digits only, as `rouge-score` cuts them.
    copied_letters: f64,
    rewritten_letters: f64,
}

/// Runs the measurement on folders and files.
///
/// # Errors
/// [`Error::Input`] when a set cannot be read, [`Error::Model`] when the model cannot be used.
pub fn run(sets: &[PathBuf], settings: &Settings, json: bool) -> Result<ExitCode> {
    let mut reports = Vec::new();
    for set in sets {
        let value = if set.extension().is_some_and(|ending| ending == "json") {
            let report = rouge_report(set)?;
            if !json {
                print_rouge(&report)?;
            }
            serde_json::to_value(report)
        } else {
            let report = retrieval_report(set, settings)?;
            if !json {
                print_retrieval(&report)?;
            }
            serde_json::to_value(report)
        };
        reports
            .push(value.map_err(|error| Error::Input { path: set.display().to_string(), reason: error.to_string() })?);
    }
    if json {
        let text = serde_json::to_string_pretty(&reports);
        terminal::line(
            &text.map_err(|error| Error::Input { path: "the report".to_owned(), reason: error.to_string() })?,
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A conversation that is replayed as the agent runs it: each message is understood, rewritten and remembered.
pub(super) struct Replay<'a> {
    memory: ConversationMemory,
    vocabulary: &'a dyn Vocabulary,
    titles: Vec<String>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(vocabulary: &'a dyn Vocabulary, titles: Vec<String>) -> Self {
        let mut memory = ConversationMemory::with_limits("eval", WindowLimits::default());
        memory.state_mut().topic.titles.clone_from(&titles);
        Self { memory, vocabulary, titles }
    }

    /// What the agent would make of a message now; nothing is remembered.
    pub(super) fn understood(&self, message: &str) -> (Understanding, StandaloneQuery) {
        let understanding = understand(message, &self.memory, self.vocabulary);
        let query = QueryRewriter::default().rewrite(message, &understanding, &self.memory, self.vocabulary);
        (understanding, query)
    }

    /// The agent answers: follow-ups can work on it.
    pub(super) fn answered(&mut self, text: &str) {
        let query = self.memory.state().topic.query.clone();
        self.memory.state_mut().note_generation(LastGeneration {
            question: query.clone(),
            query,
            text: text.to_owned(),
            partial: false,
            follow_up: None,
            passages: Vec::new(),
        });
        self.said(text, Role::Assistant);
    }

    /// Somebody asks: the message is searched for, so that it becomes the topic.
    pub(super) fn asked(&mut self, message: &str, role: Role) {
        let understanding = understand(message, &self.memory, self.vocabulary);
        let query = QueryRewriter::default().rewrite(message, &understanding, &self.memory, self.vocabulary);
        let state = self.memory.state_mut();
        state.note_entities(&understanding.entities);
        state.note_search(&query.text, self.titles.iter().map(String::as_str), false);
        state.turn_count += 1;
        self.said(message, role);
    }

    fn said(&mut self, message: &str, role: Role) {
        self.memory.add_message(role, message, 0, BTreeMap::new(), &EstimatedTokens);
    }
}

/// The history as (role, text); whether the speakers are equals, each of whom asks and answers.
fn roles(history: &[Said]) -> (Vec<(Role, &str)>, bool) {
    let alternating = history.iter().any(|said| matches!(said, Said::Alternating(_)));
    let of = |at: usize, said: &'_ Said| match said {
        Said::Alternating(_) if at.is_multiple_of(2) => Role::User,
        Said::Named { speaker, .. } if speaker == "user" => Role::User,
        _ => Role::Assistant,
    };
    let said = history.iter().enumerate().map(|(at, said)| {
        let (Said::Alternating(text) | Said::Named { text, .. }) = said;
        (of(at, said), text.as_str())
    });
    (said.collect(), alternating)
}

/// The queries of a folder with their histories: id, text, what was said before, and whether the speakers are equals.
pub(super) type QueryWithHistory = (String, String, Vec<(Role, String)>, bool);

/// Reads the queries of a folder in the BEIR layout that have a history.
pub(super) fn queries_with_history(folder: &Path) -> Result<Vec<QueryWithHistory>> {
    let set = BeirSet::read(folder)?;
    let histories: Vec<QueryLine> = lines(&folder.join("queries.jsonl"))?;
    let histories: HashMap<&str, &[Said]> =
        histories.iter().map(|query| (query.id.as_str(), query.history.as_slice())).collect();
    Ok(set
        .queries()
        .iter()
        .map(|(id, text)| {
            let (said, equals) = roles(histories.get(id.as_str()).copied().unwrap_or_default());
            (id.clone(), text.clone(), said.into_iter().map(|(role, text)| (role, text.to_owned())).collect(), equals)
        })
        .collect())
}

fn retrieval_report(folder: &Path, settings: &Settings) -> Result<RetrievalReport> {
    let set = BeirSet::read(folder)?;
    let histories: Vec<QueryLine> = lines(&folder.join("queries.jsonl"))?;
    if histories.iter().all(|query| query.history.is_empty()) {
        let reason = "queries.jsonl has no `history`; --rewrite needs one".to_owned();
        return Err(Error::Input { path: folder.display().to_string(), reason });
    }
    let histories: HashMap<&str, &[Said]> =
        histories.iter().map(|query| (query.id.as_str(), query.history.as_slice())).collect();
    let index = set.lexical_index()?;
    let vocabulary = IndexVocabulary::of(Some(&index));
    let mut rewritten: HashMap<&str, StandaloneQuery> = HashMap::new();
    let mut joined: HashMap<&str, String> = HashMap::new();
    let (mut intents, mut reasons) = (BTreeMap::new(), BTreeMap::new());
    for (id, text) in set.queries() {
        let (history, equals) = roles(histories.get(id.as_str()).copied().unwrap_or_default());
        let mut replay = Replay::new(&vocabulary, Vec::new());
        let mut turns: Vec<&str> = Vec::new();
        for (role, said) in history {
            if role == Role::User || equals {
                turns.push(said);
                replay.asked(said, role);
            } else {
                replay.said(said, role);
            }
        }
        turns.push(text);
        joined.insert(id, turns.join("\n"));
        let (understanding, query) = replay.understood(text);
        *intents.entry(format!("{:?}", understanding.intent).to_lowercase()).or_default() += 1;
        *reasons.entry(query.reason.clone()).or_default() += 1;
        rewritten.insert(id, query);
    }
    let groups = collections(folder, &set)?;
    let last = set.clone();
    let all = set.worded(|id, text| joined.get(id).cloned().unwrap_or_else(|| text.to_owned()));
    let ours = set.worded(|id, text| rewritten.get(id).map_or_else(|| text.to_owned(), |query| query.text.clone()));
    let mut legs = BTreeMap::new();
    for (leg, mode) in [("lexical", Mode::Lexical), ("hybrid", Mode::Hybrid)] {
        if mode == Mode::Hybrid && settings.lexical_only {
            continue;
        }
        let scores = [last.ndcg(settings, mode)?, all.ndcg(settings, mode)?, ours.ndcg(settings, mode)?];
        let mut by_group = BTreeMap::new();
        for (group, members) in &groups {
            let pick = |scores: &[f64]| interval(&members.iter().map(|at| scores[*at]).collect::<Vec<f64>>());
            let changed = members.iter().filter(|at| rewritten[set.queries()[**at].0.as_str()].changed).count();
            let wordings = Wordings {
                queries: members.len(),
                changed,
                last: pick(&scores[0]),
                all_turns: pick(&scores[1]),
                rewritten: pick(&scores[2]),
            };
            by_group.insert(group.clone(), wordings);
        }
        legs.insert(leg, by_group);
    }
    Ok(RetrievalReport { set: set.name().to_owned(), ndcg_at_10: legs, intents, reasons })
}

/// The places of the queries by the collection that their relevant passages belong to, and all of them.
fn collections(folder: &Path, set: &BeirSet) -> Result<BTreeMap<String, Vec<usize>>> {
    let passages: Vec<PassageLine> = lines(&folder.join("corpus.jsonl"))?;
    let collection: HashMap<String, String> =
        passages.into_iter().filter_map(|passage| Some((passage.id, passage.collection?))).collect();
    let mut of_query: HashMap<String, String> = HashMap::new();
    for (query, passage, _) in grades(folder)? {
        if let Some(name) = collection.get(&passage) {
            of_query.entry(query).or_insert_with(|| name.clone());
        }
    }
    let mut groups = BTreeMap::from([("all".to_owned(), (0..set.queries().len()).collect::<Vec<_>>())]);
    for (at, (id, _)) in set.queries().iter().enumerate() {
        if let Some(name) = of_query.get(id) {
            groups.entry(name.clone()).or_default().push(at);
        }
    }
    Ok(groups)
}

fn rouge_report(file: &Path) -> Result<RougeReport> {
    let cases = RewriteCase::read(file)?;
    let (mut copied, mut rewritten) = (Vec::new(), Vec::new());
    let (mut copied_letters, mut rewritten_letters) = (0.0, 0.0);
    let mut changed = 0;
    for case in &cases {
        let mut replay = Replay::new(&NoVocabulary, case.titles());
        for (at, said) in case.said().iter().enumerate() {
            if at.is_multiple_of(2) {
                replay.asked(said, Role::User);
            } else {
                replay.said(said, Role::Assistant);
            }
        }
        let (_, query) = replay.understood(&case.question);
        changed += usize::from(query.changed);
        copied.push(rouge_l(&words(&case.question), &words(&case.rewrite)));
        rewritten.push(rouge_l(&words(&query.text), &words(&case.rewrite)));
        copied_letters += rouge_l(&letters(&case.question), &letters(&case.rewrite));
        rewritten_letters += rouge_l(&letters(&query.text), &letters(&case.rewrite));
    }
    let count = cases.len().max(1) as f64;
    Ok(RougeReport {
        set: file.display().to_string(),
        questions: cases.len(),
        changed,
        copied: interval(&copied),
        rewritten: interval(&rewritten),
        copied_letters: copied_letters / count,
        rewritten_letters: rewritten_letters / count,
    })
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase().split_whitespace().map(str::to_owned).collect()
}

fn letters(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// ROUGE-L (Lin 2004): F1 of the longest common subsequence of words, 0..=1.
fn rouge_l(candidate: &[String], reference: &[String]) -> f64 {
    let mut row = vec![0usize; reference.len() + 1];
    for word in candidate {
        let mut diagonal = 0;
        for (at, other) in reference.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if word == other { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    let common = row[reference.len()] as f64;
    if common == 0.0 {
        return 0.0;
    }
    let (precision, recall) = (common / candidate.len() as f64, common / reference.len() as f64);
    2.0 * precision * recall / (precision + recall)
}

fn print_retrieval(report: &RetrievalReport) -> Result<()> {
    terminal::line(&format!(
        "{:20} {:8} {:10} {:>7} {:>8} {:>7} {:>9} {:>9}   nDCG@10",
        "set", "leg", "collection", "queries", "changed", "last", "all turns", "rewritten"
    ))?;
    for (leg, groups) in &report.ndcg_at_10 {
        for (group, wordings) in groups {
            terminal::line(&format!(
                "{:20} {leg:8} {group:10} {:7} {:8} {:7.4} {:9.4} {:9.4}",
                report.set,
                wordings.queries,
                wordings.changed,
                wordings.last.mean,
                wordings.all_turns.mean,
                wordings.rewritten.mean
            ))?;
        }
    }
    let list = |counts: &BTreeMap<String, usize>| {
        counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    };
    terminal::line(&format!("{:20} intents: {}; rewrites: {}", "", list(&report.intents), list(&report.reasons)))
}

fn print_rouge(report: &RougeReport) -> Result<()> {
    terminal::line(&format!(
        "{}: {} questions, {} changed; ROUGE-L copied {:.2}, rewritten {:.2} (words), copied {:.2}, rewritten {:.2} (letters)",
        report.set,
        report.questions,
        report.changed,
        100.0 * report.copied.mean,
        100.0 * report.rewritten.mean,
        100.0 * report.copied_letters,
        100.0 * report.rewritten_letters
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rouge_l_is_the_f1_of_the_longest_common_subsequence() {
        for (candidate, reference, expected) in [
            ("what did he do", "what did he do", 1.0),
            ("when did they disband?", "when did the band disband?", 2.0 * 0.75 * 0.6 / 1.35),
            ("a b", "c d", 0.0),
            ("", "x", 0.0),
        ] {
            let found = rouge_l(&words(candidate), &words(reference));
            assert!((found - expected).abs() < 1e-9, "{candidate} | {reference}: {found}");
        }
    }

    #[test]
    fn histories_of_both_layouts_are_read() {
        let strings: Vec<Said> = serde_json::from_str(r#"["q", "a", "q2"]"#).unwrap();
        let (said, equals) = roles(&strings);
        assert!(equals);
        assert_eq!(said.iter().map(|(role, _)| *role).collect::<Vec<_>>(), [Role::User, Role::Assistant, Role::User]);
        let named: Vec<Said> =
            serde_json::from_str(r#"[{"speaker": "user", "text": "q"}, {"speaker": "agent", "text": "a"}]"#).unwrap();
        let (said, equals) = roles(&named);
        assert!(!equals);
        assert_eq!(said, [(Role::User, "q"), (Role::Assistant, "a")]);
    }

    #[test]
    fn a_replayed_conversation_is_rewritten() {
        let mut replay = Replay::new(&NoVocabulary, Vec::new());
        replay.asked("How do I create a Python venv?", Role::User);
        replay.said("Run python -m venv .venv.", Role::Assistant);
        let (understanding, query) = replay.understood("and on Windows?");
        assert_eq!(
            (understanding.intent, query.text.as_str()),
            (crate::turn::Intent::Retrieval, "How do I create a Python venv on Windows?")
        );
    }
}
