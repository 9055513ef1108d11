//! One completion, from sending to the last byte, with its repetitions and time limits, as a state machine without IO.
//!
//! Input: an [`Event`] from the host (response, bytes, end, failure, time-out, stop); output: the [`Step`] that the host
//! takes next. The page's and the command line's clients drive the same machine, so that they decide alike.
//! **Invariant:** after [`Step::Done`] nothing is emitted and nothing is sent.

use super::completion::{Completion, Progress};
use super::failure::read_error_body;
use super::message::{ChatReply, ChatRequest};
use super::request::{Adaptation, HttpRequest, LlmConfig};
use super::retry::{Failed, ResponseHead, next_wait_ms};
use crate::error::{Error, Result};

/// Largest body of an error that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// What the host reports.
#[derive(Debug)]
pub enum Event<'a> {
    /// Begin.
    Start,
    /// The head of the response is there.
    Head(ResponseHead),
    /// The next piece of the body.
    Bytes(&'a [u8]),
    /// The body is at its end.
    End,
    /// The connection failed. `sent` is false only when the request certainly never left.
    Broken {
        /// Whether the request may have reached the endpoint.
        sent: bool,
        /// What the host says about it.
        message: &'a str,
    },
    /// The moment of [`Exchange::deadline_ms`] has come; the host makes sure that its timer was not early.
    Deadline,
    /// The wait is over.
    Waited,
    /// The caller wants no more.
    Stop,
}

/// What the host does next.
#[derive(Debug)]
pub enum Step {
    /// Send this, then report the head or the failure. A response that is still open is dropped first.
    Send(HttpRequest),
    /// Read on, then report bytes, end or failure.
    Read,
    /// Wait so many milliseconds, then report it.
    Wait(u64),
    /// Abort what is open and give this to the caller.
    Done(Result<ChatReply>),
}

/// One completion under way.
#[derive(Debug)]
pub struct Exchange<'a> {
    config: &'a LlmConfig,
    request: &'a ChatRequest,
    adaptation: Adaptation,
    attempt: u32,
    started_ms: u64,
    /// When the current wait for bytes began.
    waiting_since_ms: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Sending,
    /// A success; `any` says whether a byte of the body has come.
    Receiving {
        completion: Completion,
        status: u16,
        any: bool,
    },
    /// An error status.
    ReadingError {
        head: ResponseHead,
        body: Vec<u8>,
    },
    Waiting,
    Over,
}

impl<'a> Exchange<'a> {
    /// Prepares a completion. `adaptation` is what earlier calls learned about the endpoint.
    #[must_use]
    pub fn new(config: &'a LlmConfig, request: &'a ChatRequest, adaptation: Adaptation) -> Self {
        Self { config, request, adaptation, attempt: 0, started_ms: 0, waiting_since_ms: 0, state: State::Sending }
    }

    /// What this call learned about the endpoint, for the next one.
    #[must_use]
    pub fn adaptation(&self) -> Adaptation {
        self.adaptation
    }

    /// When to report [`Event::Deadline`], on the clock of the `now_ms` that is handed in.
    #[must_use]
    pub fn deadline_ms(&self) -> u64 {
        self.phase_deadline().0.min(self.total_deadline())
    }

    fn total_deadline(&self) -> u64 {
        self.started_ms.saturating_add(self.config.timeouts.total_ms)
    }

    fn phase_deadline(&self) -> (u64, &'static str, u64) {
        let timeouts = &self.config.timeouts;
        let (limit, phase) = match self.state {
            State::Receiving { any: true, .. } => (timeouts.idle_ms, "next byte"),
            State::Waiting => (timeouts.total_ms, "end of the reply"),
            _ => (timeouts.first_byte_ms, "first byte"),
        };
        (self.waiting_since_ms.saturating_add(limit), phase, limit)
    }

    /// Takes an event and says what to do next.
    ///
    /// `now_ms` is a clock in milliseconds since the Unix epoch, `random` is uniform in 0..1, `emit` gets the text.
    pub fn handle(&mut self, event: Event<'_>, now_ms: u64, random: f64, emit: &mut dyn FnMut(&str)) -> Step {
        let step = match event {
            Event::Start => {
                self.started_ms = now_ms;
                self.send(now_ms)
            }
            Event::Waited => self.send(now_ms),
            Event::Head(head) => {
                // The first byte counts from the sending: `waiting_since_ms` stays.
                if (200..300).contains(&head.status) {
                    match Completion::new(head.content_type.as_deref()) {
                        Ok(completion) => {
                            self.state = State::Receiving { completion, status: head.status, any: false };
                            Step::Read
                        }
                        Err(error) => Step::Done(Err(error)),
                    }
                } else {
                    self.state = State::ReadingError { head, body: Vec::new() };
                    Step::Read
                }
            }
            Event::Bytes(bytes) => self.bytes(bytes, now_ms, random, emit),
            Event::End => self.end(None, now_ms, random, emit),
            Event::Broken { sent, message } => match self.state {
                State::Sending => {
                    let failed = if sent { Failed::MayHaveRun } else { Failed::NotSent };
                    self.again_or(&failed, Error::Network { message: message.to_owned() }, now_ms, random)
                }
                _ => self.end(Some(message), now_ms, random, emit),
            },
            Event::Deadline => self.deadline(emit),
            Event::Stop => {
                if let State::Receiving { completion, .. } = std::mem::replace(&mut self.state, State::Over) {
                    // What is held back because it could have been a tag belongs to what had arrived.
                    let _ = completion.finish(Some("stopped"), emit);
                }
                Step::Done(Err(Error::Cancelled))
            }
        };
        match step {
            Step::Done(result) => {
                self.state = State::Over;
                Step::Done(result.map_err(|error| self.without_secrets(error)))
            }
            step => step,
        }
    }

    fn send(&mut self, now_ms: u64) -> Step {
        self.waiting_since_ms = now_ms;
        self.state = State::Sending;
        Step::Send(self.config.http_request(self.request, self.adaptation))
    }

    fn bytes(&mut self, bytes: &[u8], now_ms: u64, random: f64, emit: &mut dyn FnMut(&str)) -> Step {
        if bytes.is_empty() {
            return Step::Read;
        }
        self.waiting_since_ms = now_ms;
        let full = match &mut self.state {
            State::Receiving { completion, any, .. } => {
                *any = true;
                match completion.feed(bytes, emit) {
                    Ok(Progress::More) => false,
                    Ok(Progress::Complete) => true,
                    Err(error) => {
                        let error = if completion.has_text() { Error::Interrupted(error.to_string()) } else { error };
                        return Step::Done(Err(error));
                    }
                }
            }
            State::ReadingError { body, .. } => {
                body.extend_from_slice(&bytes[..bytes.len().min(MAX_ERROR_BYTES - body.len())]);
                body.len() == MAX_ERROR_BYTES
            }
            _ => false,
        };
        if full { self.end(None, now_ms, random, emit) } else { Step::Read }
    }

    /// The body is complete, closed or broken.
    fn end(&mut self, cause: Option<&str>, now_ms: u64, random: f64, emit: &mut dyn FnMut(&str)) -> Step {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Receiving { completion, status, .. } => {
                Step::Done(completion.finish(cause, emit).and_then(|outcome| outcome.into_result(status)))
            }
            State::ReadingError { head, body } => {
                let error = read_error_body(&body);
                if head.status == 400
                    && let Some(adaptation) = self.adaptation.learn(&error.message)
                {
                    self.adaptation = adaptation;
                    return self.send(now_ms);
                }
                let typed = error.clone().into_error(head.status, head.wait_ms(now_ms));
                self.again_or(&Failed::Refused(&head, &error), typed, now_ms, random)
            }
            _ => Step::Done(Err(Error::Network { message: cause.unwrap_or("no response").to_owned() })),
        }
    }

    fn again_or(&mut self, failed: &Failed<'_>, error: Error, now_ms: u64, random: f64) -> Step {
        let left_ms = self.total_deadline().saturating_sub(now_ms);
        match next_wait_ms(failed, self.attempt, self.config.max_retries, left_ms, now_ms, random) {
            Some(wait_ms) => {
                self.attempt += 1;
                self.waiting_since_ms = now_ms;
                self.state = State::Waiting;
                Step::Wait(wait_ms)
            }
            None => Step::Done(Err(error)),
        }
    }

    fn deadline(&mut self, emit: &mut dyn FnMut(&str)) -> Step {
        let (phase_at, phase, limit) = self.phase_deadline();
        let (phase, after_ms) = if self.total_deadline() < phase_at {
            ("end of the reply", self.config.timeouts.total_ms)
        } else {
            (phase, limit)
        };
        let timeout = Error::Timeout { phase, after_ms };
        match std::mem::replace(&mut self.state, State::Over) {
            State::Receiving { completion, status, .. } => {
                // A server that said why it ended, and then keeps the connection open, has said all.
                let finished = completion.has_finished();
                let outcome = completion.finish(Some("no more bytes came"), emit);
                Step::Done(if finished {
                    outcome.and_then(|outcome| outcome.into_result(status))
                } else {
                    Err(timeout)
                })
            }
            _ => Step::Done(Err(timeout)),
        }
    }

    fn without_secrets(&self, error: Error) -> Error {
        let clean = |text: String| self.config.without_secrets(&text);
        match error {
            Error::Network { message } => Error::Network { message: clean(message) },
            Error::ContentFilter { message } => Error::ContentFilter { message: clean(message) },
            Error::Endpoint { status, body } => Error::Endpoint { status, body: clean(body) },
            Error::Protocol(text) => Error::Protocol(clean(text)),
            Error::Interrupted(text) => Error::Interrupted(clean(text)),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::ChatMessage;

    const DELTA: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    const STOP: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n";
    const DONE: &[u8] = b"data: [DONE]\n\n";

    fn head(status: u16) -> Event<'static> {
        Event::Head(ResponseHead { status, ..ResponseHead::default() })
    }

    fn limited(retry_after: &str) -> Event<'static> {
        Event::Head(ResponseHead { status: 429, retry_after: Some(retry_after.to_owned()), ..ResponseHead::default() })
    }

    /// Runs events at their times and gives the emitted text and the steps, in short.
    fn check(events: Vec<(u64, Event<'_>)>, text: &str, steps: &[&str]) {
        let config = LlmConfig {
            endpoint: "http://127.0.0.1:1".to_owned(),
            api_key: Some("secret-key".to_owned()),
            ..LlmConfig::default()
        };
        let request =
            ChatRequest { messages: vec![ChatMessage::user("q")], max_tokens: 9, temperature: 0.0, stream: true };
        let mut exchange = Exchange::new(&config, &request, Adaptation::default());
        let mut out = String::new();
        let mut taken = Vec::new();
        for (now, event) in events {
            taken.push(match exchange.handle(event, now, 0.0, &mut |part| out.push_str(part)) {
                Step::Send(_) => "send".to_owned(),
                Step::Read => "read".to_owned(),
                Step::Wait(ms) => format!("wait {ms}"),
                Step::Done(Ok(reply)) => format!("reply {}", reply.text),
                Step::Done(Err(error)) => format!("{}: {error}", error.code()),
            });
        }
        assert_eq!(out, text);
        assert_eq!(taken.len(), steps.len(), "{taken:?}");
        for (found, expected) in taken.iter().zip(steps) {
            assert!(found.contains(expected), "{taken:?} should be {steps:?}");
        }
    }

    #[test]
    fn a_stream_to_its_end() {
        let events = vec![
            (0, Event::Start),
            (10, head(200)),
            (20, Event::Bytes(DELTA)),
            (30, Event::Bytes(STOP)),
            (40, Event::Bytes(DONE)),
        ];
        check(events, "Hello", &["send", "read", "read", "read", "reply Hello"]);
    }

    #[test]
    fn limits_are_waited_out_once_they_are_short() {
        let events = vec![
            (0, Event::Start),
            (10, limited("2")),
            (11, Event::End),
            (2011, Event::Waited),
            (2020, limited("60")),
            (2021, Event::End),
        ];
        check(
            events,
            "",
            &[
                "send",
                "read",
                "wait 2000",
                "send",
                "read",
                "rate_limit: the endpoint limits the rate of requests; try again in 60 s",
            ],
        );
    }

    #[test]
    fn only_a_request_that_never_left_is_sent_again() {
        let refused = |sent| Event::Broken { sent, message: "refused" };
        check(vec![(0, Event::Start), (1, refused(false)), (501, Event::Waited)], "", &["send", "wait 500", "send"]);
        check(vec![(0, Event::Start), (1, refused(true))], "", &["send", "network"]);
        check(
            vec![(0, Event::Start), (1, head(500)), (2, Event::Bytes(b"oops secret-key")), (3, Event::End)],
            "",
            &["send", "read", "read", "endpoint: the endpoint answered HTTP 500: oops …"],
        );
        check(
            vec![(0, Event::Start), (1, head(200)), (2, refused(true))],
            "",
            &["send", "read", "interrupted: the reply broke off: refused"],
        );
    }

    #[test]
    fn each_time_limit_has_its_name() {
        check(vec![(0, Event::Start), (30_000, Event::Deadline)], "", &["send", "timeout: no first byte"]);
        check(
            vec![(0, Event::Start), (9, head(200)), (30_000, Event::Deadline)],
            "",
            &["send", "read", "timeout: no first byte"],
        );
        let idle = vec![(0, Event::Start), (9, head(200)), (10, Event::Bytes(DELTA)), (20_010, Event::Deadline)];
        check(idle, "Hel", &["send", "read", "read", "timeout: no next byte"]);
        let mut slow = vec![(0, Event::Start), (9, head(200))];
        slow.extend((1..=12).map(|n| (n * 9_999, Event::Bytes(b": ping\n\n" as &[u8]))));
        slow.push((120_000, Event::Deadline));
        let mut steps = vec!["send"];
        steps.extend(["read"; 13]);
        steps.push("timeout: no end of the reply");
        check(slow, "", &steps);
        let finished = vec![(0, Event::Start), (9, head(200)), (10, Event::Bytes(STOP)), (20_010, Event::Deadline)];
        check(finished, "lo", &["send", "read", "read", "reply lo"]);
    }

    #[test]
    fn a_break_and_a_stop_keep_what_had_arrived() {
        let broken = vec![
            (0, Event::Start),
            (1, head(200)),
            (2, Event::Bytes(DELTA)),
            (3, Event::Broken { sent: true, message: "reset" }),
        ];
        check(broken, "Hel", &["send", "read", "read", "interrupted"]);
        let stopped = vec![(0, Event::Start), (1, head(200)), (2, Event::Bytes(DELTA)), (3, Event::Stop)];
        check(stopped, "Hel", &["send", "read", "read", "cancelled"]);
        check(vec![(0, Event::Start), (1, Event::Stop)], "", &["send", "cancelled"]);
    }

    #[test]
    fn an_unknown_field_is_left_out_and_asked_again() {
        let body = br#"{"error":{"message":"Unsupported parameter: use max_completion_tokens","code":"unsupported_parameter"}}"#;
        let events = vec![
            (0, Event::Start),
            (1, head(400)),
            (2, Event::Bytes(body)),
            (3, Event::End),
            (4, head(400)),
            (5, Event::Bytes(body)),
            (6, Event::End),
        ];
        check(events, "", &["send", "read", "read", "send", "read", "read", "endpoint"]);
    }
}
