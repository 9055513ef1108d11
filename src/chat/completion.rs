//! Assembles the body of a chat completion into an answer: a stream of events, or one JSON object.
//!
//! Input: the bytes of the body, cut anywhere; output: deltas while they come, then an [`Outcome`].
//! What the servers in the field send differs in many small ways; each rule here has its case under `tests/cassettes/`.
//! **Invariant:** thoughts never become text, and the outcome does not depend on where the body was cut.

use serde_json::Value;

use super::failure::{EndpointError, html_instead_of_a_reply};
use super::message::{ChatReply, Ending};
use super::reasoning::ReasoningFilter;
use super::sse::{SseEvent, SseParser};
use crate::error::{Error, Result};
use crate::turn::Usage;

/// Largest JSON answer, in bytes. An answer of 4 000 tokens with its wrapping is below 100 kB.
const MAX_JSON_BYTES: usize = 4 << 20;
/// Largest stream, in bytes, keep-alives and thoughts included.
const MAX_STREAM_BYTES: usize = 16 << 20;

/// How a completion ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The model finished.
    Done,
    /// Closed in order, but with no reason given.
    Unclear,
    /// At the limit of tokens, in the middle of the text.
    Truncated,
    /// At the limit of tokens before any text: all went into thoughts.
    TruncatedEmpty,
    /// The model declined to answer.
    Refused,
    /// A filter stopped the reply.
    Filtered,
    /// The model wants a tool; none were offered.
    Unsupported,
    /// Broke off; the text says how.
    Interrupted(String),
    /// The endpoint reported an error.
    Failed(EndpointError),
    /// Came to its end without an answer.
    Empty,
}

/// What a body amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The answer.
    pub text: String,
    /// The thoughts. They are shown to nobody and remembered nowhere.
    pub reasoning: String,
    /// The model's refusal.
    pub refusal: String,
    /// The last reason that the endpoint gave.
    pub finish_reason: Option<String>,
    /// Tokens, when it counted them.
    pub usage: Option<Usage>,
    /// How it ended.
    pub verdict: Verdict,
}

impl Outcome {
    /// The reply, or the typed error. `status` is the response's.
    ///
    /// # Errors
    /// Everything but [`Verdict::Done`], [`Verdict::Unclear`] and [`Verdict::Truncated`] is an error.
    pub fn into_result(self, status: u16) -> Result<ChatReply> {
        let ending = match self.verdict {
            Verdict::Done => Ending::Complete,
            Verdict::Unclear => Ending::Unclear,
            Verdict::Truncated => Ending::Truncated,
            Verdict::TruncatedEmpty => {
                return Err(Error::Protocol(
                    "the limit of tokens was used up before the answer began; raise `budget.replyTokens`, or turn the \
                     model's reasoning off"
                        .to_owned(),
                ));
            }
            Verdict::Refused => return Err(Error::ContentFilter { message: self.refusal }),
            Verdict::Filtered => {
                return Err(Error::ContentFilter { message: "the endpoint's filter stopped the reply".to_owned() });
            }
            Verdict::Unsupported => {
                return Err(Error::Protocol("the model asked for a tool, and none were offered".to_owned()));
            }
            Verdict::Interrupted(cause) => return Err(Error::Interrupted(cause)),
            Verdict::Failed(error) if self.text.is_empty() => return Err(error.into_error(status, None)),
            Verdict::Failed(error) => return Err(Error::Interrupted(error.message)),
            Verdict::Empty => return Err(Error::Protocol("the reply is empty".to_owned())),
        };
        Ok(ChatReply { text: self.text, finish_reason: self.finish_reason, ending, usage: self.usage })
    }
}

/// Whether more of the body is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Go on reading.
    More,
    /// The stream said that it is complete; what follows does not count.
    Complete,
}

/// A body being read.
#[derive(Debug)]
pub struct Completion {
    format: Format,
    bytes_seen: usize,
    answer: Answer,
}

#[derive(Debug)]
enum Format {
    /// Only white space so far; kept, because a stream may begin with it.
    Unknown(Vec<u8>),
    Events(Box<SseParser>),
    Json(Vec<u8>),
}

impl Default for Completion {
    fn default() -> Self {
        Self { format: Format::Unknown(Vec::new()), bytes_seen: 0, answer: Answer::default() }
    }
}

impl Completion {
    /// At the start of a body. What it is shows in its first bytes; the declared type only rules out what cannot be read.
    ///
    /// # Errors
    /// [`Error::Protocol`] for types that are certainly no completion.
    pub fn new(content_type: Option<&str>) -> Result<Self> {
        let declared = content_type.unwrap_or("").split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        if matches!(declared.as_str(), "application/x-ndjson" | "application/ndjson" | "application/jsonl") {
            return Err(line_json());
        }
        Ok(Self::default())
    }

    /// Takes the next piece and emits the text that it adds.
    ///
    /// # Errors
    /// [`Error::Protocol`] when the body cannot be a completion; nothing more can be fed then.
    pub fn feed(&mut self, bytes: &[u8], emit: &mut dyn FnMut(&str)) -> Result<Progress> {
        self.bytes_seen += bytes.len();
        if self.bytes_seen > MAX_STREAM_BYTES {
            return Err(Error::Protocol(format!("the reply is larger than {MAX_STREAM_BYTES} bytes")));
        }
        if let Format::Unknown(start) = &mut self.format {
            start.extend_from_slice(bytes);
            let first = start.iter().position(|byte| !byte.is_ascii_whitespace());
            let Some(first) = first else { return Ok(Progress::More) };
            let start = std::mem::take(start);
            match start[first] {
                b'{' | b'[' => self.format = Format::Json(start),
                b'<' => self.format = Format::Json(start),
                _ => {
                    self.format = Format::Events(Box::default());
                    return self.feed_events(&start, emit);
                }
            }
            return Ok(Progress::More);
        }
        match &mut self.format {
            Format::Events(_) => self.feed_events(bytes, emit),
            Format::Json(start) if start.len() + bytes.len() > MAX_JSON_BYTES => {
                Err(Error::Protocol(format!("the JSON answer is larger than {MAX_JSON_BYTES} bytes")))
            }
            Format::Json(start) | Format::Unknown(start) => {
                start.extend_from_slice(bytes);
                Ok(Progress::More)
            }
        }
    }

    fn feed_events(&mut self, bytes: &[u8], emit: &mut dyn FnMut(&str)) -> Result<Progress> {
        let Format::Events(parser) = &mut self.format else { return Ok(Progress::More) };
        let answer = &mut self.answer;
        parser.feed(bytes, &mut |event| answer.event(&event, emit))?;
        Ok(if answer.complete || answer.failure.is_some() { Progress::Complete } else { Progress::More })
    }

    /// Whether any text has come.
    #[must_use]
    pub fn has_text(&self) -> bool {
        !self.answer.text.is_empty()
    }

    /// Whether the endpoint has given a reason for the end, so that nothing is missing even if the stream now breaks.
    #[must_use]
    pub fn has_finished(&self) -> bool {
        self.answer.finish_reason.is_some()
    }

    /// Ends the body. `cause` says how it broke off, `None` that it was closed in order.
    ///
    /// # Errors
    /// [`Error::Protocol`] when the body was no completion at all.
    pub fn finish(mut self, cause: Option<&str>, emit: &mut dyn FnMut(&str)) -> Result<Outcome> {
        match std::mem::replace(&mut self.format, Format::Unknown(Vec::new())) {
            Format::Unknown(_) => {}
            Format::Json(body) => self.answer.json_body(&body, cause, emit)?,
            Format::Events(parser) => {
                let stray_error = parser.stray_error().map(str::to_owned);
                if !self.answer.complete
                    && let Some(event) = parser.finish(true)?
                {
                    // The last event may be cut: then it says nothing, and it is no error that it does not parse.
                    let whole = event.data == "[DONE]" || parse_json(&event.data).is_ok();
                    if whole {
                        self.answer.event(&event, emit);
                    }
                }
                if self.answer.finish_reason.is_none()
                    && !self.answer.complete
                    && let Some(text) = stray_error
                {
                    let value = parse_json(&text).map_or(Value::String(text), |parsed| parsed.value);
                    self.answer.failure = Some(EndpointError::from_value(&value));
                }
            }
        }
        self.answer.filter.finish(&mut |part| {
            self.answer.text.push_str(part);
            emit(part);
        });
        let verdict = self.answer.verdict(cause);
        let Answer { mut text, filter, mut reasoning, refusal, finish_reason, usage, .. } = self.answer;
        text.truncate(text.trim_end().len());
        reasoning.push_str(&filter.reasoning);
        Ok(Outcome { text, reasoning, refusal, finish_reason, usage, verdict })
    }
}

/// What has been understood of the body so far.
#[derive(Debug, Default)]
struct Answer {
    filter: ReasoningFilter,
    text: String,
    reasoning: String,
    refusal: String,
    finish_reason: Option<String>,
    usage: Option<Usage>,
    wants_tool: bool,
    complete: bool,
    failure: Option<EndpointError>,
    /// The first half of a character that a server has split between two deltas.
    pending_half: Option<u16>,
}

impl Answer {
    fn event(&mut self, event: &SseEvent, emit: &mut dyn FnMut(&str)) {
        if self.complete || self.failure.is_some() || event.event == "ping" {
            return;
        }
        // An exact match only: text that merely begins so comes from someone else.
        if event.data == "[DONE]" {
            self.complete = true;
            return;
        }
        let parsed = match parse_json(&event.data) {
            Ok(parsed) => parsed,
            Err(_) if event.event == "error" => {
                self.failure = Some(EndpointError::from_value(&Value::from(event.data.as_str())));
                return;
            }
            Err(reason) => {
                self.failure = Some(EndpointError {
                    message: format!("an event of the stream is not JSON ({reason})"),
                    codes: Vec::new(),
                });
                return;
            }
        };
        if event.event == "error" {
            let error =
                EndpointError::from_body(&parsed.value).unwrap_or_else(|| EndpointError::from_value(&parsed.value));
            self.failure = Some(error);
            return;
        }
        if let Some(error) = EndpointError::from_body(&parsed.value) {
            self.failure = Some(error);
            return;
        }
        self.chunk(&parsed, "delta", emit);
    }

    /// One chunk of a stream (`delta`) or a whole answer (`message`).
    fn chunk(&mut self, parsed: &Parsed, field: &str, emit: &mut dyn FnMut(&str)) {
        if let Some(usage) = parsed.value.get("usage").and_then(read_usage) {
            self.usage = Some(usage);
        }
        let Some(choices) = parsed.value.get("choices").and_then(Value::as_array) else { return };
        // One answer was asked for. Others may come all the same; the first without an index is ours.
        let ours = choices.iter().find(|choice| choice.get("index").is_none_or(|index| index.as_u64() == Some(0)));
        let Some(choice) = ours else { return };
        if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
            self.failure = Some(EndpointError::from_value(error));
            return;
        }
        if let Some(delta) = choice.get(field).filter(|delta| delta.is_object()) {
            for name in ["reasoning_content", "reasoning", "thinking"] {
                if let Some(Value::String(thought)) = delta.get(name) {
                    self.reasoning.push_str(thought);
                    break;
                }
            }
            if let Some(Value::String(refusal)) = delta.get("refusal") {
                self.refusal.push_str(refusal);
            }
            let filled =
                |name: &str| delta.get(name).is_some_and(|value| !value.is_null() && *value != Value::Array(vec![]));
            self.wants_tool |= filled("tool_calls") || filled("function_call");
            match delta.get("content") {
                Some(Value::String(content)) => self.content(content, parsed.repaired, emit),
                Some(Value::Array(content_parts)) => {
                    for part in content_parts {
                        let is_text = part.get("type").is_none_or(|kind| kind == "text" || kind == "output_text");
                        if let (true, Some(text)) = (is_text, part.get("text").and_then(Value::as_str)) {
                            self.content(text, parsed.repaired, emit);
                        }
                    }
                }
                // `null` comes with the role, with thoughts and with tools; anything else is no text.
                _ => {}
            }
        }
        // A later `null` does not take a reason back: filters report after the end.
        if let Some(Value::String(reason)) = choice.get("finish_reason")
            && !reason.is_empty()
        {
            self.finish_reason = Some(reason.clone());
        }
    }

    fn content(&mut self, content: &str, repaired: bool, emit: &mut dyn FnMut(&str)) {
        if content.is_empty() {
            return;
        }
        let joined;
        let content = if repaired || self.pending_half.is_some() {
            joined = self.join_halves(content, repaired);
            joined.as_str()
        } else {
            content
        };
        let text = &mut self.text;
        self.filter.push(content, &mut |part| {
            if !part.is_empty() {
                text.push_str(part);
                emit(part);
            }
        });
    }

    /// Puts the halves of a character together again, also across deltas.
    fn join_halves(&mut self, content: &str, repaired: bool) -> String {
        let mut out = String::with_capacity(content.len());
        for c in content.chars() {
            let half = if repaired { half_of_stand_in(c) } else { None };
            match (self.pending_half.take(), half) {
                (Some(high), Some(low)) if (0xDC00..=0xDFFF).contains(&low) => {
                    out.extend(char::decode_utf16([high, low]).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
                }
                (pending, half) => {
                    if pending.is_some() {
                        out.push(char::REPLACEMENT_CHARACTER);
                    }
                    match half {
                        Some(high) if (0xD800..=0xDBFF).contains(&high) => self.pending_half = Some(high),
                        Some(_) => out.push(char::REPLACEMENT_CHARACTER),
                        None => out.push(c),
                    }
                }
            }
        }
        out
    }

    fn json_body(&mut self, body: &[u8], cause: Option<&str>, emit: &mut dyn FnMut(&str)) -> Result<()> {
        let text = String::from_utf8_lossy(body);
        if text.trim_start().starts_with('<') {
            return html_instead_of_a_reply(&text);
        }
        let parsed = match parse_json(&text) {
            Ok(parsed) => parsed,
            Err(reason) => {
                let first_line = text.trim_start().lines().next().and_then(|line| parse_json(line).ok());
                if first_line.is_some_and(|line| line.value.get("done").is_some()) {
                    return Err(line_json());
                }
                if let Some(cause) = cause {
                    return Err(Error::Interrupted(cause.to_owned()));
                }
                return Err(Error::Protocol(format!("it is not JSON ({reason})")));
            }
        };
        if let Some(error) = EndpointError::from_body(&parsed.value) {
            self.failure = Some(error);
            return Ok(());
        }
        if parsed.value.get("choices").is_none() {
            return Err(if parsed.value.get("done").is_some() {
                line_json()
            } else {
                Error::Protocol("it has no `choices`; is the endpoint's base URL right?".to_owned())
            });
        }
        self.complete = true;
        // Some servers answer a request that was not streamed with one `delta`.
        let first = parsed.value.get("choices").and_then(|choices| choices.get(0));
        let field = if first.is_some_and(|choice| choice.get("message").is_some()) { "message" } else { "delta" };
        self.chunk(&parsed, field, emit);
        Ok(())
    }

    fn verdict(&mut self, cause: Option<&str>) -> Verdict {
        if let Some(failure) = self.failure.take() {
            return Verdict::Failed(failure);
        }
        let empty = self.text.trim().is_empty();
        match self.finish_reason.as_deref() {
            Some("length" | "max_tokens" | "model_length") => {
                if empty {
                    Verdict::TruncatedEmpty
                } else {
                    Verdict::Truncated
                }
            }
            Some("content_filter" | "safety" | "sensitive") => Verdict::Filtered,
            Some("tool_calls" | "function_call") if empty => Verdict::Unsupported,
            Some("error") => Verdict::Failed(EndpointError {
                message: "the endpoint reported an error without saying which".to_owned(),
                codes: Vec::new(),
            }),
            _ if empty && !self.refusal.is_empty() => Verdict::Refused,
            _ if empty && self.wants_tool => Verdict::Unsupported,
            Some(_) if empty => Verdict::Empty,
            Some(_) => Verdict::Done,
            None if empty && cause.is_none() => Verdict::Empty,
            None if self.complete => Verdict::Unclear,
            None => Verdict::Interrupted(cause.unwrap_or("the connection was closed before the end").to_owned()),
        }
    }
}

fn line_json() -> Error {
    Error::Protocol(
        "it is a sequence of JSON lines, as Ollama's own API sends; point the endpoint at its OpenAI-compatible `/v1`"
            .to_owned(),
    )
}

fn read_usage(value: &Value) -> Option<Usage> {
    let count = |name: &str| value.get(name).and_then(Value::as_u64).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let prompt = count("prompt_tokens");
    let completion = count("completion_tokens");
    if prompt.is_none() && completion.is_none() {
        return None;
    }
    Some(Usage {
        prompt_tokens: prompt.unwrap_or(0),
        completion_tokens: completion.unwrap_or(0),
        calls: 1,
        estimated: false,
    })
}

/// A parsed JSON text.
struct Parsed {
    value: Value,
    /// Whether halves of characters had to be replaced by stand-ins.
    repaired: bool,
}

/// Parses JSON; where it holds halves of UTF-16 pairs, which `serde_json` refuses and servers that cut text by UTF-16
/// units send, they are replaced by stand-ins from a private plane first.
fn parse_json(text: &str) -> std::result::Result<Parsed, String> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(Parsed { value, repaired: false }),
        Err(error) => match with_stand_ins(text).and_then(|text| serde_json::from_str(&text).ok()) {
            Some(value) => Ok(Parsed { value, repaired: true }),
            None => Err(error.to_string()),
        },
    }
}

/// The first code point of the supplementary private use area B: 2 048 stand-ins, one per half.
const FIRST_STAND_IN: u32 = 0x10_0000;

fn half_of_stand_in(c: char) -> Option<u16> {
    let offset = u32::from(c).checked_sub(FIRST_STAND_IN)?;
    u16::try_from(offset).ok().filter(|offset| *offset < 0x800).map(|offset| 0xD800 + offset)
}

/// Replaces each lone `\uD800`..`\uDFFF` by its stand-in; `None` when there is none.
fn with_stand_ins(text: &str) -> Option<String> {
    let escape = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok()).flatten()
    };
    let mut out = String::with_capacity(text.len());
    let mut found = false;
    let mut at = 0;
    while let Some(offset) = text[at..].find('\\') {
        out.push_str(&text[at..at + offset]);
        at += offset;
        match escape(at) {
            Some(high)
                if (0xD800..=0xDBFF).contains(&high)
                    && escape(at + 6).is_some_and(|low| (0xDC00..=0xDFFF).contains(&low)) =>
            {
                out.push_str(&text[at..at + 12]);
                at += 12;
            }
            Some(half) if (0xD800..=0xDFFF).contains(&half) => {
                out.push(char::from_u32(FIRST_STAND_IN + u32::from(half) - 0xD800)?);
                found = true;
                at += 6;
            }
            _ => {
                // The backslash and what it escapes, so that `\\u` is not read as an escape.
                let length = 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8);
                out.push_str(&text[at..at + length]);
                at += length;
            }
        }
    }
    out.push_str(&text[at..]);
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(content_type: &str, body: &[u8]) -> (Result<Outcome>, String) {
        let mut deltas = String::new();
        let mut emit = |part: &str| deltas.push_str(part);
        let outcome = Completion::new(Some(content_type)).and_then(|mut completion| {
            for byte in body.chunks(7) {
                if completion.feed(byte, &mut emit)? == Progress::Complete {
                    break;
                }
            }
            completion.finish(None, &mut emit)
        });
        (outcome, deltas)
    }

    fn stream(chunks: &[&str]) -> Vec<u8> {
        chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<String>().into_bytes()
    }

    #[test]
    fn halves_of_a_character_join_across_deltas() {
        let check = |deltas: [&str; 3], expected: &str| {
            let chunks: Vec<String> =
                deltas.iter().map(|text| format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#)).collect();
            let mut all: Vec<&str> = chunks.iter().map(String::as_str).collect();
            all.push(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#);
            let (outcome, _) = run("text/event-stream", &stream(&all));
            assert_eq!(outcome.unwrap().text, expected);
        };
        check(["\\ud83c", "\\udf0d", "!"], "🌍!");
        check(["\\ud83c", "x", "\\udf0d!"], "\u{FFFD}x\u{FFFD}!");
        check(["a\\\\ud83c", "b", "c"], "a\\ud83cbc");
        check(["\\ud83c\\udf0d", "\\ud83c\\ud83c", "\\udf0d"], "🌍\u{FFFD}🌍");
    }

    #[test]
    fn a_reply_counts_its_tokens_and_shows_its_reason() {
        let body = stream(&[
            r#"{"choices":[{"delta":{"role":"assistant","content":null}}],"usage":null}"#,
            r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}"#,
            "[DONE]",
            r#"{"error":"too late"}"#,
        ]);
        let (outcome, deltas) = run("text/event-stream", &body);
        let reply = outcome.unwrap().into_result(200).unwrap();
        assert_eq!(deltas, "Hi");
        assert_eq!(reply.text, "Hi");
        assert_eq!(reply.finish_reason.as_deref(), Some("length"));
        assert_eq!(reply.ending, Ending::Truncated);
        assert_eq!(reply.usage, Some(Usage { prompt_tokens: 3, completion_tokens: 1, calls: 1, estimated: false }));
    }

    #[test]
    fn what_is_no_completion_says_what_it_is() {
        let check = |content_type: &str, body: &str, expected: &str| {
            let error = run(content_type, body.as_bytes()).0.and_then(|outcome| outcome.into_result(200)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        check("text/html", "<!DOCTYPE html><title>Log in</title>", "HTML page came back (\"Log in\")");
        check("text/event-stream", "\n <html>", "HTML page");
        check("application/x-ndjson", "", "`/v1`");
        check("application/json", "{\"model\":\"m\",\"done\":false}\n{\"done\":true}\n", "`/v1`");
        check("application/json", r#"{"object":"list"}"#, "no `choices`");
        check("application/json", r#"{"choices": [{"#, "not JSON");
        check("text/plain", "hello", "empty");
        check("", "", "empty");
    }

    #[test]
    fn a_json_answer_is_as_good_as_a_stream() {
        let check = |body: &str, expected: &str| {
            let (outcome, deltas) = run("application/json", body.as_bytes());
            let outcome = outcome.unwrap();
            assert_eq!((outcome.text.as_str(), deltas.as_str()), (expected, expected));
            assert_eq!(outcome.verdict, Verdict::Done);
        };
        check(r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#, "Hi");
        check(
            r#" {"choices":[{"index":0,"message":{"content":[{"type":"text","text":"H"},{"type":"image"},{"type":"text","text":"i"}]},"finish_reason":"stop"}]}"#,
            "Hi",
        );
        check(
            r#"{"choices":[{"message":{"content":"<think>no</think>Hi","reasoning_content":"x"},"finish_reason":"stop"}]}"#,
            "Hi",
        );
    }

    #[test]
    fn a_break_after_the_reason_loses_nothing() {
        let mut completion = Completion::new(None).unwrap();
        completion
            .feed(&stream(&[r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#]), &mut |_| {})
            .unwrap();
        assert!(completion.has_finished());
        assert_eq!(completion.finish(Some("reset by peer"), &mut |_| {}).unwrap().verdict, Verdict::Done);
    }
}
