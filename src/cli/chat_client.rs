//! The chat client of the command line: reqwest drives the state machine of `chat::exchange`.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Once;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::redirect::Policy;
use reqwest::{Client, Response};

use crate::chat::exchange::{Event, Exchange, Step};
use crate::chat::message::{ChatReply, ChatRequest};
use crate::chat::request::{Adaptation, HttpRequest, LlmConfig, Place};
use crate::chat::retry::ResponseHead;
use crate::error::{Error, Result};
use crate::host::{ChatClient, StopSignal};

/// An OpenAI-compatible endpoint, reached over HTTP.
#[derive(Debug)]
pub struct HttpChatClient {
    config: LlmConfig,
    http: Client,
    adaptation: Cell<Adaptation>,
}

impl HttpChatClient {
    /// Checks the configuration and prepares the connections; nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::InvalidOption`], or [`Error::Network`] when the system offers no TLS.
    pub fn new(config: LlmConfig) -> Result<Self> {
        config.check(Place::Native)?;
        install_tls_provider();
        // A redirected POST would lose its body, and a header with a key must not go to another host.
        let mut builder = Client::builder().redirect(Policy::none());
        if config.is_loopback() {
            // A proxy that the environment names cannot reach this machine's loopback.
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| Error::Network { message: describe(&error) })?;
        Ok(Self { config, http, adaptation: Cell::default() })
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &LlmConfig {
        &self.config
    }

    async fn send(&self, request: HttpRequest) -> reqwest::Result<Response> {
        let mut builder = self.http.post(&request.url);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        builder.body(request.body).send().await
    }
}

impl ChatClient for HttpChatClient {
    async fn complete(
        &self,
        request: &ChatRequest,
        stop: &StopSignal,
        on_delta: &mut dyn FnMut(&str),
    ) -> Result<ChatReply> {
        let mut exchange = Exchange::new(&self.config, request, self.adaptation.get());
        let mut response: Option<Response> = None;
        let mut step = exchange.handle(Event::Start, now_ms(), random(), on_delta);
        loop {
            let event_step = match step {
                Step::Done(result) => {
                    self.adaptation.set(exchange.adaptation());
                    return result;
                }
                Step::Send(http_request) => {
                    response = None;
                    tokio::select! {
                        biased;
                        () = stop.stopped() => exchange.handle(Event::Stop, now_ms(), random(), on_delta),
                        () = sleep_until(exchange.deadline_ms()) => {
                            exchange.handle(Event::Deadline, now_ms(), random(), on_delta)
                        }
                        sent = self.send(http_request) => match sent {
                            Ok(answer) => {
                                let head = ResponseHead::read(answer.status().as_u16(), |name| {
                                    answer.headers().get(name)?.to_str().ok().map(str::to_owned)
                                });
                                response = Some(answer);
                                exchange.handle(Event::Head(head), now_ms(), random(), on_delta)
                            }
                            Err(error) => {
                                let sent = !(error.is_connect() || error.is_builder());
                                let message = describe(&error);
                                exchange.handle(Event::Broken { sent, message: &message }, now_ms(), random(), on_delta)
                            }
                        },
                    }
                }
                Step::Read => {
                    let Some(open) = response.as_mut() else {
                        // The machine asks to read only after a head; ending is the safe reading of anything else.
                        step = exchange.handle(Event::End, now_ms(), random(), on_delta);
                        continue;
                    };
                    tokio::select! {
                        biased;
                        () = stop.stopped() => exchange.handle(Event::Stop, now_ms(), random(), on_delta),
                        piece = open.chunk() => match piece {
                            Ok(Some(bytes)) => exchange.handle(Event::Bytes(&bytes), now_ms(), random(), on_delta),
                            Ok(None) => exchange.handle(Event::End, now_ms(), random(), on_delta),
                            Err(error) => {
                                let message = describe(&error);
                                exchange.handle(Event::Broken { sent: true, message: &message }, now_ms(), random(), on_delta)
                            }
                        },
                        () = sleep_until(exchange.deadline_ms()) => {
                            exchange.handle(Event::Deadline, now_ms(), random(), on_delta)
                        }
                    }
                }
                Step::Wait(wait_ms) => {
                    response = None;
                    tokio::select! {
                        biased;
                        () = stop.stopped() => exchange.handle(Event::Stop, now_ms(), random(), on_delta),
                        () = tokio::time::sleep(Duration::from_millis(wait_ms)) => {
                            exchange.handle(Event::Waited, now_ms(), random(), on_delta)
                        }
                    }
                }
            };
            step = event_step;
        }
    }
}

/// rustls wants its cryptography named once per process.
pub fn install_tls_provider() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails only when another part of the process was first; then there is a provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// Milliseconds since the Unix epoch.
fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Uniform in 0..1; the standard library draws the keys of its hashers at random.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1u64 << 53) as f64
}

async fn sleep_until(deadline_ms: u64) {
    while now_ms() < deadline_ms {
        tokio::time::sleep(Duration::from_millis(deadline_ms - now_ms().min(deadline_ms))).await;
    }
}

/// The error with its causes, without the address: a query string may hold a key.
pub(super) fn describe(error: &reqwest::Error) -> String {
    let kind = if error.is_connect() {
        "no connection"
    } else if error.is_body() || error.is_decode() {
        "the body broke off"
    } else if error.is_builder() {
        "the request cannot be written"
    } else {
        "the request failed"
    };
    let mut text = kind.to_owned();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
