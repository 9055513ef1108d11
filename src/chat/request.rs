//! From a request and the site's options to the HTTP request that asks for it.
//!
//! Input: [`LlmConfig`] (what the site sets) and a [`ChatRequest`]; output: [`HttpRequest`].
//! **Invariant:** a key shows in the header that carries it and nowhere else: not in `Debug`, not in an error.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::message::ChatRequest;
use crate::error::{Error, Result};
use crate::json;

/// Azure's first stable version of the chat API that streams token counts; used when the site names none.
const AZURE_API_VERSION: &str = "2024-10-21";

/// How long to wait for the endpoint, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Timeouts {
    /// From sending to the first byte of the reply, 1..=600 000. Servers that read a long prompt on a CPU are slow here.
    pub first_byte_ms: u64,
    /// Between two pieces of the reply, 1..=600 000. A keep-alive comment counts as a piece.
    pub idle_ms: u64,
    /// The whole call with its repetitions, 1..=3 600 000.
    pub total_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { first_byte_ms: 30_000, idle_ms: 20_000, total_ms: 120_000 }
    }
}

/// Where the request is sent from. A page cannot keep a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A web page or its worker: relative addresses are fine, a key is visible to every reader.
    Page,
    /// The command line or a server: addresses are absolute, a key stays on the machine.
    Native,
}

/// The endpoint and how to talk to it: the site's `llm` option.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LlmConfig {
    /// The base URL, in any form: `https://host`, `https://host/v1`, the full `…/chat/completions`, an Azure resource or
    /// deployment, or (in a page) a path on the same site such as `/docent/llm`. A query string is kept.
    pub endpoint: String,
    /// The model's name; an Azure deployment's name where the URL names none. May be left out where the server has one.
    pub model: Option<String>,
    /// Headers sent with every request.
    pub headers: BTreeMap<String, String>,
    /// Fields merged over the request's body; `null` takes a field out.
    pub body: Map<String, Value>,
    /// A key for the endpoint. In a page it needs [`LlmConfig::allow_key_in_page`].
    #[serde(skip_serializing)]
    pub api_key: Option<String>,
    /// Accepts that every reader of the page can read the key. A proxy that adds the key is the better way.
    pub allow_key_in_page: bool,
    /// Azure's `api-version`; setting it makes the URL an Azure one.
    pub api_version: Option<String>,
    /// The name of the field that limits the reply: `max_tokens` (default) or `max_completion_tokens`.
    pub max_tokens_field: Option<String>,
    /// Whether replies are streamed.
    pub stream: bool,
    /// The limits of time.
    pub timeouts: Timeouts,
    /// How often a request that was certainly not run may be repeated, 0..=10.
    pub max_retries: u32,
}

impl Default for LlmConfig {
    fn default() -> Self {
        Self {
            endpoint: String::new(),
            model: None,
            headers: BTreeMap::new(),
            body: Map::new(),
            api_key: None,
            allow_key_in_page: false,
            api_version: None,
            max_tokens_field: None,
            stream: true,
            timeouts: Timeouts::default(),
            max_retries: 2,
        }
    }
}

impl fmt::Debug for LlmConfig {
    /// Header values and the key are left out: they are secrets, and this ends in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmConfig")
            .field("endpoint", &self.endpoint_without_query())
            .field("model", &self.model)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("body", &self.body.keys().collect::<Vec<_>>())
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .field("stream", &self.stream)
            .field("timeouts", &self.timeouts)
            .field("max_retries", &self.max_retries)
            .finish_non_exhaustive()
    }
}

/// What an endpoint turned out not to accept; the request is then written without it.
///
/// The servers that speak this protocol differ in a few optional fields, and say so with HTTP 400 before they run
/// anything, so that asking again is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Adaptation {
    /// The reply's limit goes by `max_completion_tokens`.
    pub completion_tokens_field: bool,
    /// No `temperature`.
    pub no_temperature: bool,
    /// No `stream_options`.
    pub no_stream_options: bool,
}

impl Adaptation {
    /// What to change after HTTP 400 with this message; `None` when nothing in it can be changed.
    #[must_use]
    pub fn learn(self, message: &str) -> Option<Self> {
        let message = message.to_ascii_lowercase();
        let mut next = self;
        if message.contains("max_completion_tokens") {
            next.completion_tokens_field = true;
        } else if message.contains("stream_options") {
            next.no_stream_options = true;
        } else if message.contains("temperature") {
            next.no_temperature = true;
        }
        (next != self).then_some(next)
    }
}

/// An HTTP request, ready to send: always a POST with a JSON body.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The address.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The JSON text.
    pub body: String,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The parts of an address that matter here.
struct Address<'a> {
    /// `https://host:port`; empty for a path on the same site.
    origin: &'a str,
    host: &'a str,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Address<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.trim();
        let text = text.split_once('#').map_or(text, |(before, _)| before);
        let (before_query, query) = match text.split_once('?') {
            Some((before, query)) => (before, Some(query)),
            None => (text, None),
        };
        let (origin, path) = match before_query.find("://") {
            Some(scheme_end) => {
                let host_start = scheme_end + 3;
                let path_start = before_query[host_start..].find('/').map_or(before_query.len(), |at| host_start + at);
                before_query.split_at(path_start)
            }
            None => ("", before_query),
        };
        let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
        let host = match authority.strip_prefix('[') {
            Some(v6) => v6.split(']').next().unwrap_or(""),
            None => authority.split(':').next().unwrap_or(""),
        };
        Self { origin, host, path: path.trim_end_matches('/'), query }
    }

    fn is_loopback(&self) -> bool {
        matches!(self.host, "localhost" | "127.0.0.1" | "::1") || self.host.ends_with(".localhost")
    }

    fn is_azure(&self) -> bool {
        let host = self.host.to_ascii_lowercase();
        host.ends_with(".openai.azure.com") || host.ends_with(".cognitiveservices.azure.com")
    }
}

/// Header names that carry a key; compared in lower case.
const KEY_HEADERS: &[&str] = &["authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key"];

impl LlmConfig {
    /// Reads the option from JSON.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] that names the field; the value is never repeated, it may be a key.
    pub fn from_json(value: Value) -> Result<Self> {
        json::from_value(&value).map_err(|fault| {
            let name = if fault.path().is_empty() { "llm".to_owned() } else { format!("llm.{}", fault.path()) };
            // serde quotes the value in "invalid type" messages.
            let reason = fault.reason().to_owned();
            let reason = match (reason.find(" string \""), reason.find(", expected")) {
                (Some(start), Some(end)) if start < end => format!("{} string{}", &reason[..start], &reason[end..]),
                _ => reason,
            };
            invalid(&name, &reason)
        })
    }

    /// Checks every option and returns warnings for the developer's console.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] with what is allowed.
    pub fn check(&self, place: Place) -> Result<Vec<String>> {
        let address = Address::of(&self.endpoint);
        if self.endpoint.trim().is_empty() {
            return Err(invalid("llm.endpoint", "is empty; give the base URL of an OpenAI-compatible endpoint"));
        }
        if self.endpoint.chars().any(|c| c.is_whitespace() || c.is_control()) && self.endpoint.trim() != self.endpoint {
            return Err(invalid("llm.endpoint", "has spaces around it"));
        }
        if self.endpoint.trim().chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(invalid("llm.endpoint", "has a space or a control character in it"));
        }
        let scheme = address.origin.split("://").next().unwrap_or("").to_ascii_lowercase();
        match (scheme.as_str(), place) {
            ("http" | "https", _) if address.host.is_empty() => {
                return Err(invalid("llm.endpoint", "names no host"));
            }
            ("http" | "https", _) => {}
            ("", Place::Page) if address.path.starts_with("//") => {
                return Err(invalid("llm.endpoint", "starts with `//`; write the scheme, `https://`"));
            }
            ("", Place::Page) => {}
            ("", Place::Native) => {
                return Err(invalid("llm.endpoint", "must start with `http://` or `https://`"));
            }
            _ => return Err(invalid("llm.endpoint", "only `http://` and `https://` are spoken")),
        }
        if address.origin.contains('@') {
            return Err(invalid("llm.endpoint", "carries a password; use `headers` on the server's side instead"));
        }
        for (name, value) in &self.headers {
            if !header_name_is_valid(name) {
                return Err(invalid("llm.headers", "a header's name has a character that HTTP does not allow"));
            }
            if value.chars().any(|c| matches!(c, '\r' | '\n' | '\0')) {
                return Err(invalid(&format!("llm.headers.{name}"), "has a line break in it"));
            }
        }
        if let Some(field) = &self.max_tokens_field
            && !matches!(field.as_str(), "max_tokens" | "max_completion_tokens")
        {
            return Err(invalid("llm.maxTokensField", "is `max_tokens` or `max_completion_tokens`"));
        }
        for field in ["messages", "stream"] {
            if self.body.contains_key(field) {
                return Err(invalid(&format!("llm.body.{field}"), "is written by the agent and cannot be replaced"));
            }
        }
        let within = |name: &str, value: u64, high: u64| {
            if (1..=high).contains(&value) {
                Ok(())
            } else {
                Err(invalid(name, &format!("is 1 to {high} milliseconds")))
            }
        };
        within("llm.timeouts.firstByteMs", self.timeouts.first_byte_ms, 600_000)?;
        within("llm.timeouts.idleMs", self.timeouts.idle_ms, 600_000)?;
        within("llm.timeouts.totalMs", self.timeouts.total_ms, 3_600_000)?;
        if self.max_retries > 10 {
            return Err(invalid("llm.maxRetries", "is 0 to 10"));
        }

        let mut warnings = Vec::new();
        let key_header = self.headers.keys().any(|name| KEY_HEADERS.contains(&name.to_ascii_lowercase().as_str()));
        if key_header || self.api_key.is_some() {
            if place == Place::Page {
                if !self.allow_key_in_page {
                    let name = if self.api_key.is_some() { "llm.apiKey" } else { "llm.headers" };
                    return Err(invalid(
                        name,
                        "puts a key into the page, where every reader can take it; send requests through a proxy that adds \
                         the key (`docent serve --llm URL`), or set `allowKeyInPage: true` if that is what you want",
                    ));
                }
                warnings.push(
                    "llm.allowKeyInPage: every reader of this page can read and use the endpoint's key".to_owned(),
                );
            }
            if scheme == "http" && !address.is_loopback() {
                warnings.push("llm.endpoint: the key is sent over plain HTTP; use HTTPS".to_owned());
            }
        }
        Ok(warnings)
    }

    /// The address that a completion is asked of.
    ///
    /// | base URL | becomes |
    /// |---|---|
    /// | ends in `/chat/completions` | as it is |
    /// | a host alone | `/v1/chat/completions` |
    /// | an Azure resource (by host or `apiVersion`) without a deployment | `/openai/deployments/MODEL/chat/completions?api-version=…` |
    /// | any other path | the path and `/chat/completions` |
    #[must_use]
    pub fn url(&self) -> String {
        let address = Address::of(&self.endpoint);
        let path = address.path;
        let azure_v1 = path.ends_with("/openai/v1");
        let azure = (self.api_version.is_some() || address.is_azure()) && !azure_v1;
        let full_path = if path.ends_with("/chat/completions") {
            path.to_owned()
        } else if azure && !path.contains("/deployments/") {
            let base = path.strip_suffix("/openai").unwrap_or(path);
            let deployment = percent_encode(self.model.as_deref().unwrap_or(""));
            format!("{base}/openai/deployments/{deployment}/chat/completions")
        } else if path.is_empty() && !address.origin.is_empty() {
            "/v1/chat/completions".to_owned()
        } else {
            format!("{path}/chat/completions")
        };
        let mut query = address.query.unwrap_or("").to_owned();
        if azure && !query.split('&').any(|pair| pair.starts_with("api-version=")) {
            let version = self.api_version.as_deref().unwrap_or(AZURE_API_VERSION);
            if !query.is_empty() {
                query.push('&');
            }
            query.push_str("api-version=");
            query.push_str(&percent_encode(version));
        }
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{full_path}{mark}{query}", address.origin)
    }

    /// Writes the HTTP request for a completion.
    #[must_use]
    pub fn http_request(&self, request: &ChatRequest, adaptation: Adaptation) -> HttpRequest {
        let stream = self.stream && request.stream;
        let mut body = Map::new();
        if let Some(model) = &self.model {
            body.insert("model".to_owned(), json!(model));
        }
        body.insert("messages".to_owned(), json!(request.messages));
        let tokens_field = if adaptation.completion_tokens_field {
            "max_completion_tokens"
        } else {
            self.max_tokens_field.as_deref().unwrap_or("max_tokens")
        };
        body.insert(tokens_field.to_owned(), json!(request.max_tokens));
        if !adaptation.no_temperature {
            // Two decimals: an f32 such as 0.7 would otherwise be written 0.699999988079071.
            body.insert("temperature".to_owned(), json!((f64::from(request.temperature) * 100.0).round() / 100.0));
        }
        body.insert("stream".to_owned(), json!(stream));
        if stream && !adaptation.no_stream_options {
            body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
        for (field, value) in &self.body {
            if value.is_null() {
                body.remove(field);
            } else {
                body.insert(field.clone(), value.clone());
            }
        }

        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            (
                "accept".to_owned(),
                if stream { "text/event-stream, application/json" } else { "application/json" }.to_owned(),
            ),
        ];
        if let Some(key) = &self.api_key {
            let address = Address::of(&self.endpoint);
            if address.is_azure() || self.api_version.is_some() {
                headers.push(("api-key".to_owned(), key.clone()));
            } else {
                headers.push(("authorization".to_owned(), format!("Bearer {key}")));
            }
        }
        for (name, value) in &self.headers {
            let name = name.to_ascii_lowercase();
            headers.retain(|(other, _)| *other != name);
            headers.push((name, value.clone()));
        }
        HttpRequest { url: self.url(), headers, body: json::to_text(&body) }
    }

    /// Whether the endpoint is on this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        Address::of(&self.endpoint).is_loopback()
    }

    /// Takes the secrets of this configuration out of a text that the endpoint wrote.
    #[must_use]
    pub fn without_secrets(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let header_values = self.headers.values().flat_map(|value| {
            // `Bearer KEY` may come back as the key alone.
            [Some(value.as_str()), value.rsplit(' ').next()].into_iter().flatten()
        });
        for secret in self.api_key.as_deref().into_iter().chain(header_values) {
            // Short values ("1", "en") are no secrets, and would tear the text apart.
            if secret.len() >= 8 {
                text = text.replace(secret, "…");
            }
        }
        text
    }

    fn endpoint_without_query(&self) -> String {
        let address = Address::of(&self.endpoint);
        let origin = match address.origin.rsplit_once('@') {
            Some((_, host)) => host,
            None => address.origin,
        };
        format!("{origin}{}", address.path)
    }
}

fn invalid(name: &str, reason: &str) -> Error {
    Error::InvalidOption { name: name.to_owned(), reason: reason.to_owned() }
}

/// RFC 9110, section 5.6.2: a token.
fn header_name_is_valid(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// RFC 3986: everything but the unreserved characters is written as `%XX`.
fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::ChatMessage;

    fn config(endpoint: &str) -> LlmConfig {
        LlmConfig { endpoint: endpoint.to_owned(), model: Some("m".to_owned()), ..LlmConfig::default() }
    }

    fn ask() -> ChatRequest {
        ChatRequest { messages: vec![ChatMessage::user("q")], max_tokens: 512, temperature: 0.7, stream: true }
    }

    #[test]
    fn any_form_of_base_url_leads_to_the_completions() {
        let check = |endpoint: &str, expected: &str| assert_eq!(config(endpoint).url(), expected);
        check("https://api.example.com", "https://api.example.com/v1/chat/completions");
        check("https://api.example.com/", "https://api.example.com/v1/chat/completions");
        check("https://api.example.com/v1", "https://api.example.com/v1/chat/completions");
        check("https://api.example.com/v1//", "https://api.example.com/v1/chat/completions");
        check("https://api.example.com/v1/chat/completions", "https://api.example.com/v1/chat/completions");
        check("https://api.example.com/v1/chat/completions/", "https://api.example.com/v1/chat/completions");
        check("https://open.example.cn/api/paas/v4", "https://open.example.cn/api/paas/v4/chat/completions");
        check("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/chat/completions");
        check("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions");
        check("/docent/llm", "/docent/llm/chat/completions");
        check("llm", "llm/chat/completions");
        check("https://gw.example.com/v1?team=docs", "https://gw.example.com/v1/chat/completions?team=docs");
        check(
            "https://r.openai.azure.com",
            "https://r.openai.azure.com/openai/deployments/m/chat/completions?api-version=2024-10-21",
        );
        check(
            "https://r.openai.azure.com/openai/deployments/gpt?api-version=2025-01-01",
            "https://r.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2025-01-01",
        );
        check("https://r.openai.azure.com/openai/v1", "https://r.openai.azure.com/openai/v1/chat/completions");
        let gateway = LlmConfig { api_version: Some("2025 a".to_owned()), ..config("https://gw.example.com/az") };
        assert_eq!(
            gateway.url(),
            "https://gw.example.com/az/openai/deployments/m/chat/completions?api-version=2025%20a"
        );
    }

    #[test]
    fn a_key_in_the_page_needs_the_flag_and_warns() {
        let keyed = LlmConfig { api_key: Some("sk-secret-1".to_owned()), ..config("https://api.example.com") };
        let error = keyed.check(Place::Page).unwrap_err();
        assert_eq!(error.code(), "invalid_option");
        assert!(!error.to_string().contains("sk-secret-1"));
        assert_eq!(keyed.check(Place::Native).unwrap(), Vec::<String>::new());
        let allowed = LlmConfig { allow_key_in_page: true, ..keyed.clone() };
        assert_eq!(allowed.check(Place::Page).unwrap().len(), 1);
        let header = LlmConfig {
            headers: BTreeMap::from([("Authorization".to_owned(), "Bearer sk-secret-1".to_owned())]),
            ..config("https://api.example.com")
        };
        assert!(header.check(Place::Page).is_err());
        for shown in [format!("{keyed:?}"), format!("{header:?}"), serde_json::to_string(&keyed).unwrap()] {
            assert!(!shown.contains("sk-secret-1"), "{shown}");
        }
        assert!(!format!("{:?}", keyed.http_request(&ask(), Adaptation::default())).contains("sk-secret-1"));
        assert_eq!(header.without_secrets("Incorrect API key: sk-secret-1."), "Incorrect API key: ….");
    }

    #[test]
    fn bad_options_are_named() {
        let check = |config: LlmConfig, place: Place, name: &str| match config.check(place) {
            Err(Error::InvalidOption { name: found, .. }) => assert_eq!(found, name),
            other => panic!("{name}: {other:?}"),
        };
        check(config(""), Place::Page, "llm.endpoint");
        check(config("ftp://x"), Place::Page, "llm.endpoint");
        check(config("javascript:alert(1)//"), Place::Native, "llm.endpoint");
        check(config("/llm"), Place::Native, "llm.endpoint");
        check(config("https://"), Place::Page, "llm.endpoint");
        check(config("https://user:pass@host/v1"), Place::Page, "llm.endpoint");
        check(config("https://a b"), Place::Page, "llm.endpoint");
        let with = |name: &str, value: &str| LlmConfig {
            headers: BTreeMap::from([(name.to_owned(), value.to_owned())]),
            ..config("https://x")
        };
        check(with("a b", "1"), Place::Page, "llm.headers");
        check(with("x-team", "a\r\nhost: evil"), Place::Page, "llm.headers.x-team");
        let timeouts = Timeouts { idle_ms: 0, ..Timeouts::default() };
        check(LlmConfig { timeouts, ..config("https://x") }, Place::Page, "llm.timeouts.idleMs");
        check(LlmConfig { max_retries: 11, ..config("https://x") }, Place::Page, "llm.maxRetries");
        let body = Map::from_iter([("messages".to_owned(), json!([]))]);
        check(LlmConfig { body, ..config("https://x") }, Place::Page, "llm.body.messages");
        let unknown = LlmConfig::from_json(json!({"endpoint": "https://x", "apikey": "k"})).unwrap_err();
        assert!(unknown.to_string().contains("apikey"), "{unknown}");
        let wrong = LlmConfig::from_json(json!({"endpoint": "https://x", "headers": "sk-secret-1"})).unwrap_err();
        assert!(!wrong.to_string().contains("sk-secret-1"), "{wrong}");
    }

    #[test]
    fn the_body_holds_what_was_asked_and_extra_fields_win() {
        let config = LlmConfig {
            body: Map::from_iter([
                ("top_p".to_owned(), json!(0.5)),
                ("temperature".to_owned(), Value::Null),
                ("chat_template_kwargs".to_owned(), json!({"enable_thinking": false})),
            ]),
            ..config("https://x")
        };
        let http = config.http_request(&ask(), Adaptation::default());
        let body: Value = serde_json::from_str(&http.body).unwrap();
        assert_eq!(
            body,
            json!({
                "model": "m", "messages": [{"role": "user", "content": "q"}], "max_tokens": 512, "stream": true,
                "stream_options": {"include_usage": true}, "top_p": 0.5,
                "chat_template_kwargs": {"enable_thinking": false},
            })
        );
        let plain = LlmConfig { stream: false, ..self::config("https://x") };
        let body: Value = serde_json::from_str(&plain.http_request(&ask(), Adaptation::default()).body).unwrap();
        assert_eq!(body["stream"], json!(false));
        assert_eq!(body["temperature"], json!(0.7));
        assert!(body.get("stream_options").is_none());
    }

    #[test]
    fn a_header_of_the_site_replaces_ours_and_azure_has_its_own() {
        let site = LlmConfig {
            api_key: Some("secret-key".to_owned()),
            headers: BTreeMap::from([("Authorization".to_owned(), "Token t".to_owned())]),
            ..config("https://x")
        };
        let headers = site.http_request(&ask(), Adaptation::default()).headers;
        let authorization: Vec<_> = headers.iter().filter(|(name, _)| name == "authorization").collect();
        assert_eq!(authorization, [&("authorization".to_owned(), "Token t".to_owned())]);
        let azure = LlmConfig { api_key: Some("k".to_owned()), ..config("https://r.openai.azure.com") };
        assert!(
            azure.http_request(&ask(), Adaptation::default()).headers.contains(&("api-key".to_owned(), "k".to_owned()))
        );
    }

    #[test]
    fn an_endpoint_that_refuses_a_field_is_asked_without_it() {
        let first = Adaptation::default();
        let o1 = first
            .learn("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.")
            .unwrap();
        let body: Value = serde_json::from_str(&config("https://x").http_request(&ask(), o1).body).unwrap();
        assert_eq!(body["max_completion_tokens"], json!(512));
        assert!(body.get("max_tokens").is_none());
        let both = o1.learn("Unsupported value: 'temperature' does not support 0.7").unwrap();
        assert!(both.completion_tokens_field && both.no_temperature);
        assert_eq!(both.learn("'temperature' is not supported"), None);
        assert_eq!(first.learn("context length exceeded"), None);
        assert!(first.learn("unknown field stream_options").unwrap().no_stream_options);
    }
}
