//! The file of questions: YAML, one entry a question.
//!
//! ```yaml
//! top: 3                                  # the expected page must be among the first 3 (default)
//! questions:
//!   - question: How do I watch a ref?
//!     page: guide/essentials/watchers     # id, address, or the end of one
//!     heading: Basic Example              # optional: the passage's heading
//!   - question: and deeply?
//!     after: [How do I watch a ref?]      # optional: what the reader asked before
//!     page: guide/essentials/watchers
//!     action: answer_directly             # optional
//!   - question: Does it run on a mainframe?
//!     not_in_docs: true
//! ```

use std::path::Path;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::turn::Action;

/// Where the expected page must stand when the file does not say, from 1.
const DEFAULT_TOP: usize = 3;
/// The largest `top`; beyond the hits that a turn records, a page cannot be found.
const MAX_TOP: usize = 10;

/// A file of questions.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionFile {
    /// The questions, in the order of the file.
    pub questions: Vec<Question>,
}

/// One question and what is expected of its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What the reader asks.
    pub question: String,
    /// What the reader asked before, oldest first.
    pub after: Vec<String>,
    /// What is expected.
    pub expected: Expected,
    /// The action that is expected, where the author says one.
    pub action: Option<Action>,
}

/// What a question's turn should find.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// A page among the first `top`.
    Page {
        /// Its id, its address, or the end of one.
        page: String,
        /// The heading of the passage, where it matters.
        heading: Option<String>,
        /// The last place that counts, from 1.
        top: usize,
    },
    /// Nothing: the documentation does not cover it.
    NotInDocs,
    /// Nothing in particular; only the action counts.
    ActionOnly,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    top: Option<usize>,
    questions: Vec<RawQuestion>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawQuestion {
    question: String,
    #[serde(default)]
    after: Vec<String>,
    page: Option<String>,
    heading: Option<String>,
    #[serde(default)]
    not_in_docs: bool,
    top: Option<usize>,
    action: Option<Action>,
}

impl QuestionFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`Error::Input`] with the file and the question that is wrong, and what is allowed.
    pub fn read(path: &Path) -> Result<Self> {
        let fail = |reason: String| Error::Input { path: path.display().to_string(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        Self::parse(&text).map_err(fail)
    }

    /// Reads the text of a file; the error is a sentence for its author.
    fn parse(text: &str) -> std::result::Result<Self, String> {
        let raw: RawFile = serde_norway::from_str(text).map_err(|error| error.to_string())?;
        if raw.questions.is_empty() {
            return Err("there are no questions in it".to_owned());
        }
        let top = raw.top.unwrap_or(DEFAULT_TOP);
        let questions = raw
            .questions
            .into_iter()
            .enumerate()
            .map(|(at, question)| question.check(top).map_err(|reason| format!("question {}: {reason}", at + 1)))
            .collect::<std::result::Result<_, _>>()?;
        Ok(Self { questions })
    }
}

impl RawQuestion {
    fn check(self, top: usize) -> std::result::Result<Question, String> {
        if self.question.trim().is_empty() {
            return Err("`question` is empty".to_owned());
        }
        let top = self.top.unwrap_or(top);
        if !(1..=MAX_TOP).contains(&top) {
            return Err(format!("`top` is {top}; 1 to {MAX_TOP} is allowed"));
        }
        let expected = match (self.page, self.not_in_docs) {
            (Some(_), true) => return Err("`page` and `not_in_docs` exclude each other".to_owned()),
            (Some(page), false) => Expected::Page { page, heading: self.heading, top },
            (None, _) if self.heading.is_some() => return Err("`heading` needs `page`".to_owned()),
            (None, true) => Expected::NotInDocs,
            (None, false) if self.action.is_some() => Expected::ActionOnly,
            (None, false) => return Err("one of `page`, `not_in_docs: true` and `action` is needed".to_owned()),
        };
        Ok(Question { question: self.question, after: self.after, expected, action: self.action })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        QuestionFile::parse(text).unwrap_err()
    }

    #[test]
    fn a_file_says_what_is_expected() {
        let file = QuestionFile::parse(
            "top: 2\nquestions:\n  - {question: How?, page: a/b}\n  - {question: 怎么？, after: [x], page: c, top: 5, heading: H}\n  \
             - {question: Cobol?, not_in_docs: true}\n  - {question: it, action: ask_clarification}\n",
        )
        .unwrap();
        let expected: Vec<_> = file.questions.iter().map(|q| q.expected.clone()).collect();
        assert_eq!(
            expected,
            [
                Expected::Page { page: "a/b".into(), heading: None, top: 2 },
                Expected::Page { page: "c".into(), heading: Some("H".into()), top: 5 },
                Expected::NotInDocs,
                Expected::ActionOnly,
            ]
        );
        assert_eq!(file.questions[1].after, ["x"]);
        assert_eq!(file.questions[3].action, Some(Action::AskClarification));
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_question_and_the_reason() {
        for (text, reason) in [
            ("questions: []", "no questions"),
            ("questions: [{question: a}]", "question 1: one of `page`"),
            (
                "questions: [{question: a, page: b}, {question: a, page: b, not_in_docs: true}]",
                "question 2: `page` and",
            ),
            ("questions: [{question: ' ', page: b}]", "`question` is empty"),
            ("questions: [{question: a, page: b, top: 0}]", "1 to 10 is allowed"),
            ("questions: [{question: a, heading: b}]", "`heading` needs `page`"),
            ("questions: [{question: a, pages: b}]", "unknown field `pages`"),
            ("questions: [{question: a, action: dance}]", "unknown variant `dance`"),
        ] {
            assert!(error_of(text).contains(reason), "{text}: {}", error_of(text));
        }
    }
}
