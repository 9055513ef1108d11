//! `docent eval --route FILE…`: how often a message is taken for what it is.
//!
//! Input: files of labeled messages (`.jsonl`, a line with `history`, `message` and `route`), files of rewrites in the
//! CANARD layout (`.json`: a question that people left as it was stands alone, another needs the conversation), mtRAG's
//! `policy.jsonl` and folders in the BEIR layout with a `history` (every message there was searched for). Output: accuracy
//! and the matrix of confusions.
//! **Invariant:** the messages go through the product's own understanding and rewriter, without a search and without an
//! endpoint; the label reaches neither.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use super::eval_beir::{Interval, interval};
use super::eval_policy::read_cases;
use super::eval_rewrite::{Replay, RewriteCase, queries_with_history};
use super::terminal;
use crate::chat::message::Role;
use crate::error::{Error, Result};
use crate::turn::{FollowUpKind, Intent};
use crate::understanding::{NoVocabulary, StandaloneQuery, Understanding};

/// What a message is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Small talk.
    Chitchat,
    /// A question that stands alone.
    Retrieval,
    /// A question that is completed from the conversation.
    Carried,
    /// Plainer words for the last answer.
    Simplify,
    /// More of the last answer.
    Detail,
    /// A case of the last answer.
    Example,
    /// The last answer in short.
    Summary,
    /// What a word of the last answer refers to.
    Pronoun,
    /// Cannot be searched, even with the conversation.
    Clarify,
    /// Only as a label: [`Self::Retrieval`] or [`Self::Carried`], whichever.
    Searched,
}

impl Route {
    /// All, in the order of the matrix.
    pub const ALL: [Self; 10] = [
        Self::Chitchat,
        Self::Retrieval,
        Self::Carried,
        Self::Simplify,
        Self::Detail,
        Self::Example,
        Self::Summary,
        Self::Pronoun,
        Self::Clarify,
        Self::Searched,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Chitchat => "chitchat",
            Self::Retrieval => "retrieval",
            Self::Carried => "carried",
            Self::Simplify => "simplify",
            Self::Detail => "detail",
            Self::Example => "example",
            Self::Summary => "summary",
            Self::Pronoun => "pronoun",
            Self::Clarify => "clarify",
            Self::Searched => "searched",
        }
    }

    /// Whether a message with this label was rightly taken for `found`.
    fn accepts(self, found: Self) -> bool {
        self == found || (self == Self::Searched && matches!(found, Self::Retrieval | Self::Carried))
    }

    /// What the agent makes of a message.
    fn of(understanding: &Understanding, query: &StandaloneQuery) -> Self {
        match understanding.intent {
            Intent::Chitchat => return Self::Chitchat,
            Intent::Clarify => return Self::Clarify,
            Intent::Retrieval | Intent::Error => {}
        }
        match understanding.follow_up.filter(|follow_up| !follow_up.asks_new) {
            Some(follow_up) => match follow_up.kind {
                FollowUpKind::Simplify => Self::Simplify,
                FollowUpKind::Detail => Self::Detail,
                FollowUpKind::Example => Self::Example,
                FollowUpKind::Summary => Self::Summary,
                FollowUpKind::Pronoun => Self::Pronoun,
            },
            None if query.changed => Self::Carried,
            None => Self::Retrieval,
        }
    }
}

/// A labeled message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteCase {
    id: String,
    /// Messages in turn: the reader's, the agent's, the reader's …
    #[serde(default)]
    history: Vec<String>,
    message: String,
    route: Route,
}

/// A message that was taken for another thing.
#[derive(Debug, Clone, Serialize)]
struct Miss {
    id: String,
    message: String,
    expected: Route,
    found: Route,
    reason: String,
}

/// Precision, recall and F1 of one label, each 0..=1.
#[derive(Debug, Clone, Copy, Serialize)]
struct LabelScore {
    route: Route,
    cases: usize,
    precision: f64,
    recall: f64,
    f1: f64,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct RouteReport {
    set: String,
    messages: usize,
    /// Share of the messages that were taken for what they are, 0..=1.
    accuracy: Interval,
    /// The same for a router that always says the commonest label.
    commonest: f64,
    /// Mean F1 of the labels that occur.
    macro_f1: f64,
    labels: Vec<LabelScore>,
    /// Label → what its messages were taken for.
    confusion: BTreeMap<&'static str, BTreeMap<&'static str, usize>>,
    misses: Vec<Miss>,
}

/// Runs the measurement on files and folders.
///
/// # Errors
/// [`Error::Input`] when one cannot be read.
pub fn run(sets: &[PathBuf], json: bool) -> Result<ExitCode> {
    let mut reports = Vec::new();
    for set in sets {
        let report = report(set)?;
        if !json {
            print(&report)?;
        }
        reports.push(report);
    }
    if json {
        let text = serde_json::to_string_pretty(&reports)
            .map_err(|error| Error::Input { path: "the report".to_owned(), reason: error.to_string() })?;
        terminal::line(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report(set: &Path) -> Result<RouteReport> {
    let name = set.file_name().map_or_else(|| set.display().to_string(), |name| name.to_string_lossy().into_owned());
    let mut judged = Vec::new();
    match set.extension().and_then(|ending| ending.to_str()) {
        Some("json") => {
            for (at, case) in RewriteCase::read(set)?.into_iter().enumerate() {
                let (mut replay, history) = (Replay::new(&NoVocabulary, case.titles()), case.said());
                for (at, said) in history.iter().enumerate() {
                    if at.is_multiple_of(2) { replay.asked(said, Role::User) } else { replay.answered(said) }
                }
                let expected = if case.stands_alone() { Route::Retrieval } else { Route::Carried };
                judged.push(judge(&replay, (at + 1).to_string(), case.question(), expected));
            }
        }
        Some("jsonl") => {
            for case in read(set)? {
                let mut replay = Replay::new(&NoVocabulary, Vec::new());
                for (at, said) in case.history.iter().enumerate() {
                    if at.is_multiple_of(2) { replay.asked(said, Role::User) } else { replay.answered(said) }
                }
                judged.push(judge(&replay, case.id, &case.message, case.route));
            }
        }
        _ => {
            for (id, text, history, equals) in queries_with_history(set)? {
                let mut replay = Replay::new(&NoVocabulary, Vec::new());
                for (role, said) in &history {
                    match role {
                        Role::User => replay.asked(said, Role::User),
                        _ if equals => replay.asked(said, Role::Assistant),
                        _ => replay.answered(said),
                    }
                }
                judged.push(judge(&replay, id, &text, Route::Searched));
            }
        }
    }
    Ok(score(name, judged))
}

/// The lines of a file: our own, or mtRAG's, whose messages were all searched for.
fn read(path: &Path) -> Result<Vec<RouteCase>> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::Input { path: path.display().to_string(), reason: error.to_string() })?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Vec<RouteCase>> {
    let lines = || text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    if lines().next().is_some_and(|(_, line)| !line.contains("\"route\"")) {
        let cases = read_cases(path)?;
        return Ok(cases
            .into_iter()
            .map(|case| RouteCase {
                id: case.id,
                history: case.history.into_iter().map(|message| message.content).collect(),
                message: case.question,
                route: Route::Searched,
            })
            .collect());
    }
    lines()
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| Error::Input {
                path: format!("{}:{}", path.display(), at + 1),
                reason: format!("a labeled message has `id`, `message`, `route` and may have `history`: {error}"),
            })
        })
        .collect()
}

fn judge(replay: &Replay<'_>, id: String, message: &str, expected: Route) -> Miss {
    let (understanding, query) = replay.understood(message);
    let found = Route::of(&understanding, &query);
    let reason = if found == Route::Carried { query.reason } else { understanding.reason };
    Miss { id, message: message.to_owned(), expected, found, reason }
}

fn score(set: String, judged: Vec<Miss>) -> RouteReport {
    let right: Vec<f64> = judged.iter().map(|case| if case.expected.accepts(case.found) { 1.0 } else { 0.0 }).collect();
    let mut confusion: BTreeMap<&'static str, BTreeMap<&'static str, usize>> = BTreeMap::new();
    for case in &judged {
        *confusion.entry(case.expected.as_str()).or_default().entry(case.found.as_str()).or_default() += 1;
    }
    let share = |part: usize, whole: usize| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let labels: Vec<LabelScore> = Route::ALL
        .iter()
        .filter_map(|&route| {
            let cases = judged.iter().filter(|case| case.expected == route).count();
            if cases == 0 {
                return None;
            }
            let hits = judged.iter().filter(|case| case.expected == route && route.accepts(case.found)).count();
            let predicted = judged.iter().filter(|case| route.accepts(case.found)).count();
            let (precision, recall) = (share(hits, predicted), share(hits, cases));
            let f1 = if hits == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) };
            Some(LabelScore { route, cases, precision, recall, f1 })
        })
        .collect();
    RouteReport {
        set,
        messages: judged.len(),
        accuracy: interval(&right),
        commonest: share(labels.iter().map(|label| label.cases).max().unwrap_or(0), judged.len()),
        macro_f1: labels.iter().map(|label| label.f1).sum::<f64>() / labels.len().max(1) as f64,
        labels,
        confusion,
        misses: judged.into_iter().filter(|case| !case.expected.accepts(case.found)).collect(),
    }
}

fn print(report: &RouteReport) -> Result<()> {
    terminal::line(&format!(
        "{}: {} messages, accuracy {:.3} [{:.3}, {:.3}] (always the commonest label {:.3}), macro-F1 {:.3}",
        report.set,
        report.messages,
        report.accuracy.mean,
        report.accuracy.ci[0],
        report.accuracy.ci[1],
        report.commonest,
        report.macro_f1
    ))?;
    for label in &report.labels {
        let taken: Vec<String> =
            report.confusion[label.route.as_str()].iter().map(|(name, count)| format!("{name} {count}")).collect();
        terminal::line(&format!(
            "  {:<10} {:>5} messages  P {:.3}  R {:.3}  F1 {:.3}   taken for {}",
            label.route.as_str(),
            label.cases,
            label.precision,
            label.recall,
            label.f1,
            taken.join(", ")
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(expected: Route, found: Route) -> Miss {
        Miss { id: String::new(), message: String::new(), expected, found, reason: String::new() }
    }

    #[test]
    fn the_figures_are_those_of_the_matrix() {
        use Route::{Carried, Chitchat, Retrieval, Searched};
        let judged = vec![
            case(Chitchat, Chitchat),
            case(Chitchat, Retrieval),
            case(Carried, Carried),
            case(Searched, Carried),
            case(Searched, Chitchat),
        ];
        let report = score("s".to_owned(), judged);
        assert!((report.accuracy.mean - 0.6).abs() < 1e-9);
        assert_eq!(report.commonest, 0.4);
        assert_eq!(report.confusion["searched"]["carried"], 1);
        assert_eq!(report.misses.len(), 2);
        let f1 = |route| report.labels.iter().find(|label| label.route == route).unwrap().f1;
        // Two messages were taken for small talk, one of them rightly; one of two pieces of small talk was found.
        assert_eq!(f1(Chitchat), 0.5);
        assert_eq!(f1(Searched), 0.4);
    }

    #[test]
    fn a_message_is_judged_as_the_agent_takes_it() {
        let history = ["How do I back up the database?", "Run dbtool backup."];
        let mut replay = Replay::new(&NoVocabulary, Vec::new());
        replay.asked(history[0], Role::User);
        replay.answered(history[1]);
        for (message, expected) in [
            ("thanks!", Route::Chitchat),
            ("for example", Route::Example),
            ("and on Windows?", Route::Carried),
            ("How do I rotate the encryption keys of Vault?", Route::Retrieval),
        ] {
            let case = judge(&replay, String::new(), message, expected);
            assert_eq!(case.found, expected, "{message}: {}", case.reason);
        }
    }

    #[test]
    fn a_line_that_is_no_labeled_message_is_named() {
        let text = "{\"id\":\"a\",\"message\":\"hi\",\"route\":\"chitchat\"}\n{\"id\":\"b\",\"route\":\"x\"}\n";
        let error = parse(Path::new("route.jsonl"), text).unwrap_err().to_string();
        assert!(error.contains("route.jsonl:2") && error.contains("labeled message"), "{error}");
    }
}
