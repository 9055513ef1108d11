//! The report on a file of questions: for the terminal, as JSON, as JUnit XML, as one HTML page.

use std::fmt::Write as _;
use std::path::Path;

use minijinja::value::Serde;
use minijinja::{Environment, context};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::verdict::Verdict;
use crate::error::{Error, Result};

const PAGE: &str = include_str!("report.html");

/// The report as text: the questions that fall short in full, then a line that counts.
#[must_use]
pub fn text(verdicts: &[Verdict]) -> String {
    let mut out = String::new();
    for verdict in verdicts {
        let mark = if verdict.passed() { "ok    " } else { "SHORT " };
        let after =
            if verdict.after.is_empty() { String::new() } else { format!("  (after: {})", verdict.after.join(" / ")) };
        let _ = writeln!(out, "{mark} {}{after}", verdict.question);
        if verdict.passed() {
            continue;
        }
        let _ = writeln!(out, "         expected: {}", verdict.expected);
        for fault in &verdict.faults {
            let _ = writeln!(out, "         but {fault}");
        }
        if let Some(query) = &verdict.query {
            let _ = writeln!(out, "         searched: {query}");
        }
        for (at, (title, url)) in verdict.found.iter().enumerate() {
            let _ = writeln!(out, "         {}. {title} <{url}>", at + 1);
        }
    }
    let short = verdicts.iter().filter(|verdict| !verdict.passed()).count();
    let _ = write!(out, "{} of {} questions answered as expected", verdicts.len() - short, verdicts.len());
    out
}

/// The report as JSON: `{"total", "passed", "questions": […]}`.
///
/// # Errors
/// Never in practice: the verdicts are plain data.
pub fn json(verdicts: &[Verdict]) -> Result<String> {
    let passed = verdicts.iter().filter(|verdict| verdict.passed()).count();
    let value = serde_json::json!({ "total": verdicts.len(), "passed": passed, "questions": verdicts });
    serde_json::to_string_pretty(&value).map_err(|error| Error::Storage(error.to_string()))
}

/// Writes the report as JUnit XML, which CI systems show.
///
/// # Errors
/// [`Error::Input`] when the file cannot be written.
pub fn write_junit(verdicts: &[Verdict], path: &Path) -> Result<()> {
    let mut suite = TestSuite::new("questions");
    for verdict in verdicts {
        let status = if verdict.passed() {
            TestCaseStatus::success()
        } else {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(verdict.faults.join("; "));
            status.set_description(format!("expected: {}\n{:#?}", verdict.expected, verdict.found));
            status
        };
        let mut case = TestCase::new(verdict.question.clone(), status);
        case.set_classname("docent.questions");
        suite.add_test_case(case);
    }
    let mut report = Report::new("docent eval");
    report.add_test_suite(suite);
    let xml = report.to_string().map_err(|error| fail(path, &error))?;
    std::fs::write(path, xml).map_err(|error| fail(path, &error))
}

/// Writes the report as one HTML page without outside parts.
///
/// # Errors
/// [`Error::Input`] when the file cannot be written.
pub fn write_html(verdicts: &[Verdict], title: &str, path: &Path) -> Result<()> {
    let mut environment = Environment::new();
    environment.add_template("report.html", PAGE).map_err(|error| fail(path, &error))?;
    let rows: Vec<_> =
        verdicts.iter().map(|verdict| context! { passed => verdict.passed(), verdict => Serde(verdict) }).collect();
    let passed = verdicts.iter().filter(|verdict| verdict.passed()).count();
    let html = environment
        .get_template("report.html")
        .and_then(|template| template.render(context! { title, rows, passed, total => verdicts.len() }))
        .map_err(|error| fail(path, &error))?;
    std::fs::write(path, html).map_err(|error| fail(path, &error))
}

fn fail(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Input { path: path.display().to_string(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts() -> Vec<Verdict> {
        let passed = Verdict {
            question: "How do I <b>watch</b> a ref?".into(),
            after: vec![],
            expected: "`watchers` among the first 3".into(),
            faults: vec![],
            rank: Some(1),
            action: "answer_directly".into(),
            reason: "new_topic".into(),
            query: Some("How do I watch a ref?".into()),
            evidence: Some(0.9),
            found: vec![("Watchers".into(), "/watchers".into())],
        };
        let short = Verdict {
            question: "怎么部署？".into(),
            faults: vec!["`deploy` was not found".into()],
            rank: None,
            ..passed.clone()
        };
        vec![passed, short]
    }

    #[test]
    fn the_text_explains_what_fell_short_and_counts() {
        let text = text(&verdicts());
        assert!(text.contains("ok     How do I <b>watch</b> a ref?\nSHORT  怎么部署？\n"), "{text}");
        assert!(text.contains("but `deploy` was not found"), "{text}");
        assert!(text.ends_with("1 of 2 questions answered as expected"), "{text}");
    }

    #[test]
    fn the_json_has_the_counts_and_every_question() {
        let value: serde_json::Value = serde_json::from_str(&json(&verdicts()).unwrap()).unwrap();
        assert_eq!((value["total"].as_u64(), value["passed"].as_u64()), (Some(2), Some(1)));
        assert_eq!(value["questions"][1]["faults"][0], "`deploy` was not found");
    }

    #[test]
    fn the_files_hold_every_question_and_escape_it() {
        let folder = std::env::temp_dir().join(format!("docent-report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (junit, html) = (folder.join("junit.xml"), folder.join("report.html"));
        write_junit(&verdicts(), &junit).unwrap();
        write_html(&verdicts(), "questions.yml", &html).unwrap();
        let junit = std::fs::read_to_string(junit).unwrap();
        assert!(
            junit.contains(r#"tests="2""#) && junit.contains(r#"failures="1""#) && junit.contains("怎么部署？"),
            "{junit}"
        );
        let html = std::fs::read_to_string(html).unwrap();
        assert!(html.contains("&lt;b&gt;watch") && !html.contains("<b>watch") && html.contains("怎么部署？"), "{html}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
