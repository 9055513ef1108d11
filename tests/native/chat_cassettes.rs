//! The chat protocol over recorded bodies: each is read whole, cut at every byte, and byte by byte, and must come out the same.

use std::path::{Path, PathBuf};

use base64::Engine;
use docent::chat::completion::{Completion, Progress, Verdict};
use docent::chat::sse::{SseEvent, SseParser};
use serde_json::Value;

/// Bodies up to this size, in bytes, are cut at every byte; larger ones at 256 places drawn with a fixed seed.
const EVERY_CUT_LIMIT: usize = 4096;

/// What a body came to, for comparing.
#[derive(Debug, Clone, PartialEq)]
struct Read {
    text: String,
    deltas: String,
    reasoning: String,
    refusal: String,
    finish: Option<String>,
    usage: Option<(u32, u32)>,
    verdict: &'static str,
}

fn read(content_type: &str, pieces: &[&[u8]]) -> Read {
    let mut deltas = String::new();
    let outcome = Completion::new(Some(content_type)).and_then(|mut completion| {
        for piece in pieces {
            if completion.feed(piece, &mut |part| deltas.push_str(part))? == Progress::Complete {
                break;
            }
        }
        completion.finish(None, &mut |part| deltas.push_str(part))
    });
    let deltas = deltas.trim_end().to_owned();
    match outcome {
        Err(_) => Read {
            text: String::new(),
            deltas,
            reasoning: String::new(),
            refusal: String::new(),
            finish: None,
            usage: None,
            verdict: "error",
        },
        Ok(outcome) => Read {
            text: outcome.text,
            deltas,
            reasoning: outcome.reasoning,
            refusal: outcome.refusal,
            finish: outcome.finish_reason,
            usage: outcome.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens)),
            verdict: match outcome.verdict {
                Verdict::Done => "done",
                Verdict::Unclear => "unclear",
                Verdict::Truncated => "truncated",
                Verdict::TruncatedEmpty => "truncated_empty",
                Verdict::Refused => "refused",
                Verdict::Filtered => "filtered",
                Verdict::Unsupported => "unsupported",
                Verdict::Interrupted(_) => "interrupted",
                Verdict::Failed(_) => "failed",
                Verdict::Empty => "empty",
            },
        },
    }
}

/// Where to cut a body of this length.
fn cuts(length: usize) -> Vec<usize> {
    if length <= EVERY_CUT_LIMIT {
        return (0..=length).collect();
    }
    // splitmix64 with a fixed seed.
    let mut state: u64 = 20_260_601;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    (0..256).map(|_| usize::try_from(next() % (length as u64 + 1)).unwrap()).collect()
}

/// Reads a body in every way and gives the one result.
fn read_in_every_way(name: &str, content_type: &str, body: &[u8]) -> Read {
    let whole = read(content_type, &[body]);
    for cut in cuts(body.len()) {
        assert_eq!(read(content_type, &[&body[..cut], &body[cut..]]), whole, "{name}, cut at {cut}");
    }
    let single: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(read(content_type, &single), whole, "{name}, byte by byte");
    whole
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or("")
}

#[test]
fn every_cassette_reads_as_expected_wherever_it_is_cut() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cassettes");
    let expected: Value = serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "expected.json")
        .collect();
    files.sort();
    let mut named: Vec<&String> = expected.as_object().unwrap().keys().collect();
    named.sort();
    assert_eq!(files.iter().collect::<Vec<_>>(), named, "each cassette has its expectation and the other way round");
    for name in &files {
        let case = &expected[name];
        let found = read_in_every_way(name, text(case, "contentType"), &std::fs::read(folder.join(name)).unwrap());
        assert_eq!(found.text, text(case, "text"), "{name}");
        if found.verdict != "error" {
            assert_eq!(found.deltas, found.text, "{name}: what was streamed is the text");
        }
        assert_eq!(found.verdict, text(case, "verdict"), "{name}");
        assert_eq!(found.finish.as_deref(), case["finish"].as_str(), "{name}");
        assert_eq!(found.reasoning, text(case, "reasoning"), "{name}");
        assert_eq!(found.refusal, text(case, "refusal"), "{name}");
        let usage = case["usage"].as_array().map(|pair| (count(&pair[0]), count(&pair[1])));
        assert_eq!(found.usage, usage, "{name}");
    }
}

fn count(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

/// The lines of a file of cases from the shared test data, or `None` with a line that says so.
fn shared_cases(file: &str) -> Option<Vec<Value>> {
    let Some(folder) = std::env::var_os("DOCENT_TESTDATA").filter(|folder| !folder.is_empty()) else {
        println!("skipped: {file} (DOCENT_TESTDATA is not set)");
        return None;
    };
    let path = PathBuf::from(folder).join("cases/sse").join(file);
    let lines = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!cases.is_empty());
    Some(cases)
}

fn bytes_of(case: &Value, field: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text(case, field)).unwrap()
}

#[test]
fn shared_event_streams_parse_as_expected_wherever_they_are_cut() {
    let Some(cases) = shared_cases("sse.jsonl") else { return };
    for case in cases {
        let name = text(&case, "id");
        let body = bytes_of(&case, "bytes_b64");
        for (field, lenient) in [("expected", false), ("lenient", true)] {
            let Some(expected) = case[field].as_array() else { continue };
            let expected: Vec<(&str, &str, Option<&str>)> = expected
                .iter()
                .map(|event| (text(event, "data"), text(event, "event"), event["id"].as_str()))
                .collect();
            let mut ways: Vec<Vec<&[u8]>> =
                cuts(body.len()).into_iter().map(|cut| vec![&body[..cut], &body[cut..]]).collect();
            ways.push(body.chunks(1).collect());
            for pieces in ways {
                let mut events: Vec<SseEvent> = Vec::new();
                let mut parser = SseParser::new();
                for piece in &pieces {
                    parser.feed(piece, &mut |event| events.push(event)).unwrap();
                }
                events.extend(parser.finish(lenient).unwrap());
                let found: Vec<(&str, &str, Option<&str>)> = events
                    .iter()
                    .map(|event| (event.data.as_str(), event.event.as_str(), event.id.as_deref()))
                    .collect();
                assert_eq!(
                    found,
                    expected,
                    "{name} ({field}), first piece {} bytes",
                    pieces.first().map_or(0, |p| p.len())
                );
            }
        }
    }
}

#[test]
fn shared_completions_read_as_expected_wherever_they_are_cut() {
    let Some(cases) = shared_cases("openai-stream.jsonl") else { return };
    for case in cases {
        let name = text(&case, "id");
        let found = read_in_every_way(name, text(&case, "content_type"), &bytes_of(&case, "body_b64"));
        let expected = &case["expected"];
        if let Some(text) = expected["text"].as_str() {
            assert_eq!(found.text, text, "{name}");
        }
        for (field, found) in [("reasoning", &found.reasoning), ("refusal", &found.refusal)] {
            if let Some(text) = expected[field].as_str() {
                assert_eq!(found, text, "{name}");
            }
        }
        if let Some(finish) = expected["finish"].as_str() {
            assert_eq!(found.finish.as_deref(), Some(finish), "{name}");
        }
        let allowed: &[&str] = match text(expected, "state") {
            "done" => &["done"],
            "truncated" => &["truncated"],
            "truncated-empty" => &["truncated_empty"],
            "refused" => &["refused"],
            "filtered" => &["filtered"],
            "unsupported" => &["unsupported"],
            "interrupted" => &["interrupted"],
            // Both are allowed; ours is marked as possibly incomplete.
            "done-or-interrupted" => &["unclear"],
            "error" => &["failed", "error"],
            "empty-error" => &["empty"],
            "done-or-error" => &["done", "failed", "error", "empty"],
            other => panic!("{name}: unknown state {other}"),
        };
        assert!(allowed.contains(&found.verdict), "{name}: {} is not in {allowed:?}", found.verdict);
    }
}
