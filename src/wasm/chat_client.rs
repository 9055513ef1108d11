//! The chat client of the page: fetch drives the state machine of `chat::exchange`.
//!
//! It runs in a window and in a worker alike.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use gloo_net::http::{Request, Response};
use gloo_timers::future::TimeoutFuture;
use js_sys::{Date, Math, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, ReadableStreamDefaultReader};

use crate::chat::exchange::{Event, Exchange, Step};
use crate::chat::message::{ChatReply, ChatRequest};
use crate::chat::request::{Adaptation, HttpRequest, LlmConfig, Place};
use crate::chat::retry::ResponseHead;
use crate::error::{Error, Result};
use crate::host::{ChatClient, StopSignal};

/// An OpenAI-compatible endpoint, reached by fetch.
#[derive(Debug)]
pub struct FetchChatClient {
    config: LlmConfig,
    adaptation: Cell<Adaptation>,
}

impl FetchChatClient {
    /// Checks the configuration; the second value holds warnings for the developer's console.
    ///
    /// # Errors
    /// [`Error::InvalidOption`].
    pub fn new(config: LlmConfig) -> Result<(Self, Vec<String>)> {
        let warnings = config.check(Place::Page)?;
        Ok((Self { config, adaptation: Cell::default() }, warnings))
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &LlmConfig {
        &self.config
    }
}

/// An open fetch. Dropping it aborts the transfer.
struct OpenFetch {
    controller: AbortController,
    reader: Option<ReadableStreamDefaultReader>,
}

impl Drop for OpenFetch {
    fn drop(&mut self) {
        // Without a reason: the promise then rejects with an `Error`; gloo-net panics on anything else.
        self.controller.abort();
    }
}

impl OpenFetch {
    fn new() -> Result<Self, String> {
        Ok(Self { controller: AbortController::new().map_err(|error| describe(&error))?, reader: None })
    }

    async fn send(&mut self, request: HttpRequest) -> Result<ResponseHead, String> {
        let mut builder = Request::post(&request.url).abort_signal(Some(&self.controller.signal()));
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        let response: Response = builder
            .body(request.body)
            .map_err(|error| error.to_string())?
            .send()
            .await
            .map_err(|error| error.to_string())?;
        let head = ResponseHead::read(response.status(), |name| response.headers().get(name));
        self.reader = match response.body() {
            None => None,
            Some(body) => Some(body.get_reader().dyn_into().map_err(|other| describe(&other))?),
        };
        Ok(head)
    }

    /// The next piece of the body; `None` at its end.
    async fn read(&self) -> Result<Option<Vec<u8>>, String> {
        let Some(reader) = &self.reader else { return Ok(None) };
        let result = JsFuture::from(reader.read()).await.map_err(|error| describe(&error))?;
        let field = |name: &str| Reflect::get(&result, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED);
        if field("done").is_truthy() {
            return Ok(None);
        }
        let bytes: Uint8Array = field("value").dyn_into().map_err(|other| describe(&other))?;
        Ok(Some(bytes.to_vec()))
    }
}

impl ChatClient for FetchChatClient {
    async fn complete(
        &self,
        request: &ChatRequest,
        stop: &StopSignal,
        on_delta: &mut dyn FnMut(&str),
    ) -> Result<ChatReply> {
        let mut exchange = Exchange::new(&self.config, request, self.adaptation.get());
        // What is open; put in another's place or dropped at the end, it is aborted.
        let mut open = OpenFetch::new().map_err(|message| Error::Network { message })?;
        let mut step = exchange.handle(Event::Start, now_ms(), Math::random(), on_delta);
        loop {
            let deadline_ms = exchange.deadline_ms();
            step = match step {
                Step::Done(result) => {
                    self.adaptation.set(exchange.adaptation());
                    return result;
                }
                Step::Send(http_request) => {
                    open = OpenFetch::new().map_err(|message| Error::Network { message })?;
                    let raced = race(open.send(http_request), deadline_ms, stop).await;
                    let event = match &raced {
                        Raced::Stopped => Event::Stop,
                        Raced::Deadline => Event::Deadline,
                        Raced::Got(Ok(head)) => Event::Head(head.clone()),
                        // fetch does not say whether the request has left: it may have run.
                        Raced::Got(Err(message)) => Event::Broken { sent: true, message },
                    };
                    exchange.handle(event, now_ms(), Math::random(), on_delta)
                }
                Step::Read => {
                    let raced = race(open.read(), deadline_ms, stop).await;
                    let event = match &raced {
                        Raced::Stopped => Event::Stop,
                        Raced::Deadline => Event::Deadline,
                        Raced::Got(Ok(Some(bytes))) => Event::Bytes(bytes),
                        Raced::Got(Ok(None)) => Event::End,
                        Raced::Got(Err(message)) => Event::Broken { sent: true, message },
                    };
                    exchange.handle(event, now_ms(), Math::random(), on_delta)
                }
                Step::Wait(wait_ms) => {
                    let event = match race(std::future::pending::<()>(), now_ms().saturating_add(wait_ms), stop).await {
                        Raced::Stopped => Event::Stop,
                        Raced::Deadline | Raced::Got(()) => Event::Waited,
                    };
                    exchange.handle(event, now_ms(), Math::random(), on_delta)
                }
            };
        }
    }
}

enum Raced<T> {
    Got(T),
    Deadline,
    Stopped,
}

/// Whichever comes first: the stop, the work, the deadline.
async fn race<T>(work: impl Future<Output = T>, deadline_ms: u64, stop: &StopSignal) -> Raced<T> {
    let mut work = pin!(work);
    let mut stopped = pin!(stop.stopped());
    let mut timer = pin!(sleep_until(deadline_ms));
    poll_fn(|context| {
        if stopped.as_mut().poll(context).is_ready() {
            return Poll::Ready(Raced::Stopped);
        }
        if let Poll::Ready(value) = work.as_mut().poll(context) {
            return Poll::Ready(Raced::Got(value));
        }
        timer.as_mut().poll(context).map(|()| Raced::Deadline)
    })
    .await
}

/// Longest single timer, in milliseconds; browsers take a signed 32-bit number.
const LONGEST_TIMER_MS: u64 = 1 << 30;

async fn sleep_until(deadline_ms: u64) {
    loop {
        let left_ms = deadline_ms.saturating_sub(now_ms());
        if left_ms == 0 {
            return;
        }
        // Never more than 2^30: the conversion cannot fail.
        TimeoutFuture::new(u32::try_from(left_ms.min(LONGEST_TIMER_MS)).unwrap_or(u32::MAX)).await;
    }
}

/// Milliseconds since the Unix epoch.
fn now_ms() -> u64 {
    Date::now() as u64
}

/// What a rejection says, whatever it is.
fn describe(thrown: &JsValue) -> String {
    let message = Reflect::get(thrown, &JsValue::from_str("message")).ok().and_then(|message| message.as_string());
    message.or_else(|| thrown.as_string()).unwrap_or_else(|| "an error without a message".to_owned())
}
