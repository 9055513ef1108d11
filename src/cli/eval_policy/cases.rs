//! Reads policy cases: the project's own JSON lines, and those of the mtRAG benchmark (IBM, `policy.jsonl`).

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::chat::message::{ChatMessage, Role};
use crate::error::{Error, Result};

/// What should happen, or what did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// An answer from the documentation.
    Answer,
    /// A question back.
    AskClarification,
    /// The documentation does not say.
    NotInDocs,
}

impl Expected {
    /// All outcomes, in the order of the figures.
    pub const ALL: [Self; 3] = [Self::Answer, Self::AskClarification, Self::NotInDocs];

    /// The stable name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::AskClarification => "ask_clarification",
            Self::NotInDocs => "not_in_docs",
        }
    }
}

/// A conversation, a question, and what should happen.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyCase {
    /// Its id.
    pub id: String,
    /// What was said before, oldest first.
    pub history: Vec<ChatMessage>,
    /// The question.
    pub question: String,
    /// What should happen.
    pub expected: Expected,
    /// The page that an answer should show.
    pub page: Option<String>,
    /// The section of the documentation that it is asked of; `None` asks all of it.
    pub section: Option<String>,
}

/// A line of the project's own files.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OwnLine {
    id: String,
    /// Messages in turn: the reader's, the agent's, the reader's …
    #[serde(default)]
    history: Vec<String>,
    question: String,
    expected: Expected,
    #[serde(default)]
    page: Option<String>,
    #[serde(default)]
    section: Option<String>,
}

/// A line of mtRAG's file.
#[derive(Deserialize)]
struct BenchmarkLine {
    id: String,
    collection: String,
    answerability: String,
    history: Vec<BenchmarkMessage>,
    question: String,
}

#[derive(Deserialize)]
struct BenchmarkMessage {
    speaker: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Benchmark(BenchmarkLine),
    Own(OwnLine),
}

/// Reads a file of cases.
///
/// # Errors
/// [`Error::Input`] naming the line that is no case.
pub fn read_cases(path: &Path) -> Result<Vec<PolicyCase>> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::Input { path: name.clone(), reason: error.to_string() })?;
    parse_cases(&name, &text)
}

/// Reads the text of such a file; `name` stands in errors.
///
/// # Errors
/// [`Error::Input`] naming the line that is no case.
pub(super) fn parse_cases(name: &str, text: &str) -> Result<Vec<PolicyCase>> {
    let mut cases = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = at + 1;
        let fault = |reason: String| Error::Input { path: format!("{name}:{at}"), reason };
        let line: Line = serde_json::from_str(line).map_err(|_| {
            fault("a case has `id`, `question`, `expected` and may have `history`, `page`, `section`".to_owned())
        })?;
        cases.push(case(line).map_err(fault)?);
    }
    if cases.is_empty() {
        return Err(Error::Input { path: name.to_owned(), reason: "it holds no cases".to_owned() });
    }
    Ok(cases)
}

fn case(line: Line) -> std::result::Result<PolicyCase, String> {
    match line {
        Line::Own(line) => {
            let role = |at: usize| if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
            let message = |(at, content)| ChatMessage { role: role(at), content };
            Ok(PolicyCase {
                id: line.id,
                history: line.history.into_iter().enumerate().map(message).collect(),
                question: line.question,
                expected: line.expected,
                page: line.page,
                section: line.section,
            })
        }
        Line::Benchmark(line) => {
            let expected = match line.answerability.as_str() {
                "ANSWERABLE" | "PARTIAL" => Expected::Answer,
                "UNDERSPECIFIED" => Expected::AskClarification,
                "UNANSWERABLE" => Expected::NotInDocs,
                other => return Err(format!("`{other}` is no answerability")),
            };
            let message = |message: BenchmarkMessage| ChatMessage {
                role: if message.speaker == "user" { Role::User } else { Role::Assistant },
                content: message.text,
            };
            Ok(PolicyCase {
                id: line.id,
                history: line.history.into_iter().map(message).collect(),
                question: line.question,
                expected,
                page: None,
                section: Some(line.collection),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_lines_are_read_and_another_is_named() {
        let own = r#"{"id":"a","history":["q","a"],"question":"and on Windows?","expected":"answer","page":"venv"}"#;
        let benchmark = r#"{"id":"b","collection":"govt","answerability":"UNDERSPECIFIED","multi_turn":[],"history":[{"speaker":"agent","text":"x"}],"question":"which park?","reference":"","context_ids":[]}"#;
        let cases = parse_cases("f", &format!("{own}\n\n{benchmark}")).unwrap();
        assert_eq!(cases[0].history[1].role, Role::Assistant);
        assert_eq!((cases[1].expected, cases[1].section.as_deref()), (Expected::AskClarification, Some("govt")));
        let fault = |text: &str| parse_cases("f", text).unwrap_err().to_string();
        assert!(fault(&format!("{own}\n{{}}")).starts_with("f:2"));
        assert!(fault("").contains("no cases"));
        assert!(fault(&benchmark.replace("UNDERSPECIFIED", "MAYBE")).contains("MAYBE"));
    }
}
