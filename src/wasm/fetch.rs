//! Files over HTTP, with their progress told to the page.
//!
//! Input: an address. Output: bytes in JavaScript's memory, so that a model never lies in the module's.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use gloo_net::http::Request;
use gloo_timers::future::TimeoutFuture;
use js_sys::{Function, Object, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, ReadableStreamDefaultReader};

/// The page's `onProgress`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Option<Function>);

impl Progress {
    pub(crate) fn new(callback: Option<Function>) -> Self {
        Self(callback)
    }

    /// Calls the page with `{ file, loaded, total }`, in bytes; `total` is `null` when it is not known.
    fn tell(&self, file: &str, loaded: u64, total: Option<u64>) {
        let Some(callback) = &self.0 else { return };
        let event = Object::new();
        let total = total.map_or(JsValue::NULL, |total| JsValue::from_f64(total as f64));
        for (key, value) in
            [("file", JsValue::from_str(file)), ("loaded", JsValue::from_f64(loaded as f64)), ("total", total)]
        {
            // A fresh object takes any property.
            let _ = Reflect::set(&event, &key.into(), &value);
        }
        // What the page's callback throws is its own affair; the loading goes on.
        let _ = callback.call1(&JsValue::NULL, &event);
    }
}

/// A loaded file.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// Its bytes.
    pub bytes: Uint8Array,
    /// Its absolute address, after redirects.
    pub address: String,
}

/// Loads a file. `file` is its name in the progress events, `expected` its length where the manifest states it.
///
/// The reason of a failure is a sentence's end such as `HTTP 404`.
pub(crate) async fn fetch(
    address: &str,
    file: &str,
    expected: Option<u64>,
    progress: &Progress,
) -> std::result::Result<Fetched, String> {
    let response = Request::get(address).send().await.map_err(|error| error.to_string())?;
    if !response.ok() {
        return Err(format!("HTTP {}", response.status()));
    }
    let address = response.url();
    progress.tell(file, 0, expected);
    let Some(stream) = response.body() else {
        let bytes = response.binary().await.map_err(|error| error.to_string())?;
        return Ok(Fetched { bytes: Uint8Array::from(bytes.as_slice()), address });
    };
    let reader = ReadableStreamDefaultReader::new(&stream).map_err(broken)?;
    // Written in place where the length is known, so that a large file is held once.
    let mut whole = Uint8Array::new_with_length(expected.map_or(0, |bytes| u32::try_from(bytes).unwrap_or(0)));
    let mut loaded: u32 = 0;
    loop {
        let part = JsFuture::from(reader.read()).await.map_err(broken)?;
        if Reflect::get(&part, &"done".into()).is_ok_and(|done| done.is_truthy()) {
            break;
        }
        let piece: Uint8Array = Reflect::get(&part, &"value".into()).map_err(broken)?.unchecked_into();
        let end = loaded.checked_add(piece.length()).ok_or_else(|| "the file is larger than 4 GiB".to_owned())?;
        if end > whole.length() {
            // Longer than expected, or of unknown length: room for twice as much, so that growing stays linear.
            let grown = Uint8Array::new_with_length(end.max(whole.length().saturating_mul(2)));
            grown.set(&whole.subarray(0, loaded), 0);
            whole = grown;
        }
        whole.set(&piece, loaded);
        loaded = end;
        progress.tell(file, u64::from(loaded), expected);
    }
    let bytes = if loaded == whole.length() { whole } else { whole.slice(0, loaded) };
    Ok(Fetched { bytes, address })
}

/// Sends `body` as a `POST` and reads the whole answer: its status and its text.
///
/// The reason of a failure is a sentence: no answer within `timeout_ms` milliseconds, or what the browser says.
pub(crate) async fn post(
    address: &str,
    headers: &[(String, String)],
    body: &str,
    timeout_ms: u64,
) -> std::result::Result<(u16, String), String> {
    let controller = AbortController::new().map_err(broken)?;
    let mut request = Request::post(address).abort_signal(Some(&controller.signal()));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let work = async {
        // The browser says no more than "failed to fetch" where the other host does not allow this page.
        let unreachable = |error| format!("no connection, or it does not allow this page (CORS): {error}");
        let response = request.body(body).map_err(|error| error.to_string())?.send().await.map_err(unreachable)?;
        let text = response.text().await.map_err(|error| format!("the connection broke: {error}"))?;
        Ok((response.status(), text))
    };
    let mut work = pin!(work);
    let mut timer = pin!(TimeoutFuture::new(u32::try_from(timeout_ms).unwrap_or(u32::MAX >> 1)));
    poll_fn(|context| {
        if let Poll::Ready(answer) = work.as_mut().poll(context) {
            return Poll::Ready(answer);
        }
        timer.as_mut().poll(context).map(|()| {
            controller.abort();
            Err(format!("no answer within {timeout_ms} ms"))
        })
    })
    .await
}

fn broken(error: JsValue) -> String {
    let message = error.dyn_ref::<js_sys::Error>().map_or_else(String::new, |error| String::from(error.message()));
    format!("the connection broke: {message}")
}

/// An address that a file at `base` names.
pub(crate) fn resolve(path: &str, base: &str) -> std::result::Result<String, String> {
    web_sys::Url::new_with_base(path, base)
        .map(|url| url.href())
        .map_err(|_| format!("{path} is no address relative to {base}"))
}
