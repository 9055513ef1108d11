//! Whether a turn did what its question expects.

use serde::Serialize;

use super::question_file::{Expected, Question};
use crate::agent::turn_record::TurnRecord;
use crate::turn::Turn;

/// The verdict on one question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// What the reader asked.
    pub question: String,
    /// What the reader asked before.
    pub after: Vec<String>,
    /// What was expected, in words.
    pub expected: String,
    /// Why it falls short; empty when it passed.
    pub faults: Vec<String>,
    /// Place of the expected page among the pages found, from 1.
    pub rank: Option<usize>,
    /// What the agent did.
    pub action: String,
    /// Why.
    pub reason: String,
    /// The query that was searched.
    pub query: Option<String>,
    /// Evidence of the best passage, 0..=1.
    pub evidence: Option<f32>,
    /// The first pages found, best first: title and address.
    pub found: Vec<(String, String)>,
}

impl Verdict {
    /// Whether the question passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Judges the turn of `question`, of which `record` is the record.
#[must_use]
pub fn judge(question: &Question, turn: &Turn, record: &TurnRecord) -> Verdict {
    let pages = pages(record);
    let mut faults = Vec::new();
    let mut rank = None;
    let expected = match &question.expected {
        Expected::Page { page, heading, top } => {
            rank = pages.iter().position(|(document, _, url)| names(page, document, url)).map(|at| at + 1);
            match rank {
                None => faults.push(format!("`{page}` was not found")),
                Some(rank) if rank > *top => {
                    faults.push(format!("`{page}` came in place {rank}; {top} is the last that counts"))
                }
                Some(_) if turn.reason == "not_in_docs" => {
                    faults.push("the agent said that the documentation does not cover it".to_owned());
                }
                Some(_) => {}
            }
            if let (Some(wanted), Some(_)) = (heading, rank)
                && !turn.sources.iter().any(|source| {
                    names(page, &source.document, &source.url) && has_heading(&source.heading_path, wanted)
                })
            {
                faults.push(format!("no passage under the heading `{wanted}` was quoted"));
            }
            let under = heading.as_ref().map_or_else(String::new, |heading| format!(", under `{heading}`"));
            format!("`{page}` among the first {top}{under}")
        }
        Expected::NotInDocs => {
            if turn.reason != "not_in_docs" && turn.reason != "no_results" {
                faults
                    .push(format!("the agent did not say that the documentation does not cover it ({})", turn.reason));
            }
            "not in the docs".to_owned()
        }
        Expected::ActionOnly => String::new(),
    };
    let mut wanted = vec![expected];
    wanted.retain(|text| !text.is_empty());
    if let Some(action) = question.action {
        wanted.push(format!("action {}", name_of(action)));
        if turn.action != action {
            faults.push(format!("the action is {}, not {}", name_of(turn.action), name_of(action)));
        }
    }
    Verdict {
        question: question.question.clone(),
        after: question.after.clone(),
        expected: wanted.join("; "),
        faults,
        rank,
        action: name_of(turn.action),
        reason: turn.reason.clone(),
        query: turn.rewritten_query.clone(),
        evidence: record.hits.first().map(|hit| hit.scores.evidence),
        found: pages.into_iter().take(5).map(|(_, title, url)| (title, url)).collect(),
    }
}

/// The pages found, best first, each once: id, title, address.
fn pages(record: &TurnRecord) -> Vec<(String, String, String)> {
    let mut pages: Vec<(String, String, String)> = Vec::new();
    for hit in &record.hits {
        if !pages.iter().any(|(document, _, _)| *document == hit.document) {
            pages.push((hit.document.clone(), hit.title.clone(), hit.url.clone()));
        }
    }
    pages
}

/// Whether an author who writes `wanted` means this page: its id, its address, or the end of one at a path's border.
fn names(wanted: &str, document: &str, url: &str) -> bool {
    let bare = |text: &str| {
        let text = text.split(['#', '?']).next().unwrap_or_default().trim_matches('/');
        let text = [".html", ".mdx", ".md", ".rst", ".txt"]
            .iter()
            .find_map(|ending| text.strip_suffix(ending))
            .unwrap_or(text);
        text.strip_suffix("/index").unwrap_or(text).to_lowercase()
    };
    let wanted = bare(wanted);
    [document, url].into_iter().map(bare).any(|name| name == wanted || name.ends_with(&format!("/{wanted}")))
}

fn has_heading(path: &[String], wanted: &str) -> bool {
    path.iter().any(|heading| heading.to_lowercase().contains(&wanted.to_lowercase()))
}

fn name_of(action: crate::turn::Action) -> String {
    serde_json::to_value(action).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn an_author_may_name_a_page_by_its_id_its_address_or_the_end_of_one() {
        for (wanted, matches) in [
            ("guide/essentials/watchers", true),
            ("watchers", true),
            ("/guide/essentials/watchers.html", true),
            ("https://vuejs.org/guide/essentials/watchers.html#deep", true),
            ("Essentials/Watchers.md", true),
            ("chers", false),
            ("guide/essentials", false),
        ] {
            let url = "https://vuejs.org/guide/essentials/watchers.html#basic-example";
            assert_eq!(names(wanted, "guide/essentials/watchers", url), matches, "{wanted}");
        }
    }
}
