//! `docent report LOG…`: turns exported logs into one HTML file for the authors of the documentation.
//!
//! Input: JSON lines, one [`TurnRecord`] each, as `exportLog()` and sinks give them. Output: questions without a good
//! answer (clustered), most used pages, take-up of questions and offers, and policy variants compared.

mod clusters;
mod comparison;
mod plots;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use super::terminal;
use crate::agent::metrics::{Metrics, by_session};
use crate::agent::turn_record::{NextMove, RECORD_VERSION, ReaderEvent, TurnRecord};
use crate::error::{Error, Result};
use crate::turn::Action;

/// Rows of a table; what follows is counted in one line.
const MOST_ROWS: usize = 50;

/// Arguments of `docent report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Logs: JSON lines as `exportLog()` gives them. `-` reads standard input.
    #[arg(required = true)]
    pub logs: Vec<PathBuf>,
    /// The HTML file to write.
    #[arg(long, default_value = "docent-report.html")]
    pub out: PathBuf,
    /// Prints the numbers as JSON instead of writing HTML.
    #[arg(long)]
    pub json: bool,
    /// Price of 1000 prompt tokens.
    #[arg(long, requires = "price_reply")]
    pub price_prompt: Option<f64>,
    /// Price of 1000 reply tokens.
    #[arg(long, requires = "price_prompt")]
    pub price_reply: Option<f64>,
}

/// A page and how it was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct UsedPage {
    document: String,
    title: String,
    /// Replies that quoted it.
    quoted: usize,
    /// Times a reader followed it from a reply.
    followed: usize,
    /// Times it was offered.
    offered: usize,
}

/// How many turns an action took, and for which reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ActionCount {
    action: String,
    turns: usize,
    reasons: Vec<(String, usize)>,
}

/// Everything the report says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    from: Option<String>,
    to: Option<String>,
    metrics: Metrics,
    clusters: Vec<clusters::Cluster>,
    pages: Vec<UsedPage>,
    pages_more: usize,
    actions: Vec<ActionCount>,
    variants: Vec<comparison::Variant>,
}

/// Runs `docent report`.
///
/// # Errors
/// [`Error::Input`] when a log cannot be read, holds another thing than records, or the report cannot be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut records = Vec::new();
    for path in &args.logs {
        let text = read(path)?;
        records.extend(parse(&path.display().to_string(), &text)?);
    }
    let prices = args.price_prompt.zip(args.price_reply);
    let report = report(&records, prices);
    if args.json {
        let json = serde_json::to_string_pretty(&report).unwrap_or_default();
        terminal::line(&json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let html = render(&report, &records)?;
    std::fs::write(&args.out, html).map_err(|error| input(&args.out, &error.to_string()))?;
    terminal::line(&format!(
        "{}: {} turns of {} sessions, {} questions without a good answer in {} groups",
        args.out.display(),
        report.metrics.turns,
        report.metrics.sessions,
        report.metrics.unanswered.iter().map(|question| question.count).sum::<usize>(),
        report.clusters.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<String> {
    if path == Path::new("-") {
        return std::io::read_to_string(std::io::stdin()).map_err(|error| input(path, &error.to_string()));
    }
    std::fs::read_to_string(path).map_err(|error| input(path, &error.to_string()))
}

fn input(path: &Path, reason: &str) -> Error {
    Error::Input { path: path.display().to_string(), reason: reason.to_owned() }
}

/// The records of a log. Empty lines are skipped; of a turn that stands twice the last record counts.
fn parse(name: &str, text: &str) -> Result<Vec<TurnRecord>> {
    let mut records = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = at + 1;
        let fault = |reason: String| Error::Input { path: format!("{name}:{at}"), reason };
        let record: TurnRecord = serde_json::from_str(line).map_err(|error| {
            fault(format!("no record of a turn ({error}); the file holds what `exportLog()` gives"))
        })?;
        if record.v != RECORD_VERSION {
            return Err(fault(format!("version {} of the record; this build reads {RECORD_VERSION}", record.v)));
        }
        records.push(record);
    }
    Ok(records)
}

fn report(records: &[TurnRecord], prices: Option<(f64, f64)>) -> Report {
    let sessions = by_session(records);
    // Once each, in order: a turn that was written twice must not count twice.
    let once: Vec<TurnRecord> = sessions.iter().flatten().map(|record| (*record).clone()).collect();
    let metrics = Metrics::of(&once, prices);
    let (pages, pages_more) = used_pages(&once);
    let times = once.iter().map(|record| record.at);
    Report {
        from: times.clone().min().map(day),
        to: times.max().map(day),
        clusters: clusters::of(&once),
        pages,
        pages_more,
        actions: actions(&once),
        variants: comparison::of(&once, prices),
        metrics,
    }
}

fn used_pages(records: &[TurnRecord]) -> (Vec<UsedPage>, usize) {
    let mut pages: BTreeMap<String, UsedPage> = BTreeMap::new();
    let mut titles: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for hit in records.iter().flat_map(|record| &record.hits) {
        titles.insert(&hit.document, (&hit.title, &hit.url));
    }
    let mut page = |id: &str, count: fn(&mut UsedPage)| {
        let title = titles.get(id).map_or(id, |(title, _)| title).to_owned();
        let empty = UsedPage { document: id.to_owned(), title, quoted: 0, followed: 0, offered: 0 };
        count(pages.entry(id.to_owned()).or_insert(empty));
    };
    for record in records {
        let mut quoted: Vec<&String> = record.sources.iter().collect();
        quoted.sort();
        quoted.dedup();
        quoted.into_iter().for_each(|id| page(id, |page| page.quoted += 1));
        for id in record.suggestions.iter().chain(&record.options).filter(|id| !id.contains('=')) {
            page(id, |page| page.offered += 1);
        }
        for event in &record.events {
            match event {
                ReaderEvent::SourceFollowed { url } => {
                    let own = record
                        .hits
                        .iter()
                        .find(|hit| hit.url == *url || hit.url.split('#').next() == url.split('#').next());
                    if let Some(hit) = own {
                        page(&hit.document, |page| page.followed += 1);
                    }
                }
                ReaderEvent::SuggestionFollowed { id } => page(id, |page| page.followed += 1),
                _ => {}
            }
        }
    }
    let mut pages: Vec<UsedPage> = pages.into_values().collect();
    pages.sort_by(|a, b| {
        (b.quoted + b.followed).cmp(&(a.quoted + a.followed)).then_with(|| a.document.cmp(&b.document))
    });
    let more = pages.len().saturating_sub(MOST_ROWS);
    pages.truncate(MOST_ROWS);
    (pages, more)
}

fn actions(records: &[TurnRecord]) -> Vec<ActionCount> {
    let mut counts: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for record in records {
        *counts.entry(action_name(record.action)).or_default().entry(record.reason.clone()).or_default() += 1;
    }
    let mut actions: Vec<ActionCount> = counts
        .into_iter()
        .map(|(action, reasons)| {
            let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
            reasons.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            ActionCount { action, turns: reasons.iter().map(|(_, count)| count).sum(), reasons }
        })
        .collect();
    actions.sort_by(|a, b| b.turns.cmp(&a.turns).then_with(|| a.action.cmp(&b.action)));
    actions
}

fn action_name(action: Action) -> String {
    serde_json::to_value(action).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The day of a time in milliseconds since the epoch, `YYYY-MM-DD` in UTC.
///
/// Days to a civil date after Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn day(at_ms: u64) -> String {
    let days = (at_ms / 86_400_000) as i64 + 719_468;
    let era = days / 146_097;
    let of_era = days - era * 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}")
}

fn render(report: &Report, records: &[TurnRecord]) -> Result<String> {
    let fault = |error: String| Error::Input { path: "report.html".to_owned(), reason: error };
    let mut per_day: BTreeMap<String, usize> = BTreeMap::new();
    let mut evidence = [0_usize; 10];
    let mut next: BTreeMap<&str, usize> = BTreeMap::new();
    for record in records {
        *per_day.entry(day(record.at)).or_default() += 1;
        if let Some(best) = record.relevance.retrieval {
            evidence[((best * 10.0) as usize).min(9)] += 1;
        }
        if let Some(moved) = record.next {
            *next.entry(next_name(moved)).or_default() += 1;
        }
    }
    let actions: Vec<(String, usize)> = report.actions.iter().map(|row| (row.action.clone(), row.turns)).collect();
    let evidence: Vec<(String, usize)> =
        evidence.iter().enumerate().map(|(at, count)| (format!("{:.1}", at as f32 / 10.0), *count)).collect();
    let next: Vec<(String, usize)> = next.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    let per_day: Vec<(String, usize)> = per_day.into_iter().collect();
    let plots = [
        plots::bars("Turns a day", &per_day),
        plots::bars("What the agent did", &actions),
        plots::bars("Evidence of the best passage", &evidence),
        plots::bars("What readers did next", &next),
    ]
    .into_iter()
    .collect::<Result<Vec<Option<String>>>>()?;
    let mut templates = minijinja::Environment::new();
    // The name's ending turns escaping on: questions are readers' text.
    templates.add_template("report.html", include_str!("report.html")).map_err(|error| fault(error.to_string()))?;
    templates.add_filter("percent", |share: Option<f64>| match share {
        Some(share) => format!("{:.0} %", share * 100.0),
        None => "–".to_owned(),
    });
    templates.add_filter("number", |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.2}")));
    let template = templates.get_template("report.html").map_err(|error| fault(error.to_string()))?;
    let plots: Vec<String> = plots.into_iter().flatten().collect();
    template
        .render(minijinja::context! { report => minijinja::value::Serde(report), plots => plots })
        .map_err(|error| fault(error.to_string()))
}

fn next_name(next: NextMove) -> &'static str {
    match next {
        NextMove::Satisfied => "satisfied",
        NextMove::Rephrased => "rephrased",
        NextMove::Continued => "continued",
        NextMove::NewTopic => "new topic",
        NextMove::Selected => "selected",
        NextMove::Frustrated => "frustrated",
        NextMove::Left => "left",
        NextMove::SmallTalk => "small talk",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"v":1,"session":"s","turn":1,"at":1700000000000,"query":"How do I <b>watch</b> a ref?","rewrittenQuery":"watch a ref","language":"en","intent":"retrieval","followUp":null,"hits":[{"id":"w#0","document":"w","title":"Watchers & co","url":"/w#x","scores":{"lexical":1.0,"dense":null,"fused":1.0,"evidence":0.42}}],"relevance":{"retrieval":0.42,"context":null,"goals":[],"exploration":0.0},"action":"ask_clarification","reason":"no_results","rule":"2_no_results","policy":"rules","variant":"a","facts":null,"sources":["w"],"suggestions":[],"options":["w"],"selected":null,"replyChars":3,"local":true,"mode":"lexical","usage":null,"supported":null,"error":null,"steps":[],"newTask":true,"next":"satisfied","events":[{"kind":"source_followed","url":"/w#x"}]}"#;

    #[test]
    fn a_log_becomes_a_page_that_escapes_what_readers_wrote() {
        let records = parse("log", &format!("{LINE}\n\n{LINE}\n")).unwrap();
        let report = report(&records, None);
        assert_eq!((report.metrics.turns, report.pages[0].quoted, report.pages[0].followed), (1, 1, 1));
        assert_eq!(report.from.as_deref(), Some("2023-11-14"));
        let html = render(&report, &records).unwrap();
        assert!(html.contains("Watchers &amp; co") && html.contains("<svg"), "{html}");
        assert!(!html.contains("<b>watch"), "{html}");
    }

    #[test]
    fn another_thing_than_a_record_is_named_with_its_line() {
        let check = |text: &str, expected: &str| {
            let error = parse("log.jsonl", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(&format!("{LINE}\nnot json"), "log.jsonl:2");
        check(&LINE.replacen("\"v\":1", "\"v\":7", 1), "version 7");
    }

    #[test]
    fn days_are_civil_dates() {
        for (ms, expected) in [
            (0, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (1_709_251_199_999, "2024-02-29"),
            (1_709_251_200_000, "2024-03-01"),
            (4_102_444_800_000, "2100-01-01"),
        ] {
            assert_eq!(day(ms), expected);
        }
    }
}
