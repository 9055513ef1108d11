//! The proxy: a completion that the page asks of this server is asked of the endpoint, with the key added here.
//!
//! **Invariant:** the key is in no answer, no message and no log.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use serde_json::{Value, json};

use super::{Site, host_is_ours};
use crate::chat::request::LlmConfig;
use crate::error::{Error, Result};

/// The endpoint behind the proxy.
pub(super) struct Upstream {
    client: reqwest::Client,
    url: reqwest::Url,
    model: Option<String>,
    key: Option<String>,
}

impl Upstream {
    /// An endpoint by any form of its base URL, see [`LlmConfig::url`].
    pub(super) fn new(endpoint: &str, model: Option<&str>, key: Option<String>) -> Result<Self> {
        let config =
            LlmConfig { endpoint: endpoint.to_owned(), model: model.map(str::to_owned), ..LlmConfig::default() };
        let invalid = |reason: String| Error::InvalidOption { name: "--llm".to_owned(), reason };
        let url = reqwest::Url::parse(&config.url()).map_err(|error| invalid(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid("an http or https address is needed".to_owned()));
        }
        // Installing a second time fails, and is the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().build().map_err(|error| invalid(error.to_string()))?;
        Ok(Self { client, url, model: model.map(str::to_owned), key: key.filter(|key| !key.is_empty()) })
    }

    /// The address for people: without a query or credentials, which may hold secrets.
    pub(super) fn shown(&self) -> String {
        let port = self.url.port().map_or_else(String::new, |port| format!(":{port}"));
        format!("{}://{}{port}{}", self.url.scheme(), self.url.host_str().unwrap_or(""), self.url.path())
    }

    /// The model that is asked for.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    async fn send(&self, body: &Value) -> reqwest::Result<reqwest::Response> {
        let mut request = self.client.post(self.url.clone()).json(body);
        if let Some(key) = &self.key {
            // Azure reads its own header, and every other server the standard one.
            request = request.bearer_auth(key).header("api-key", key);
        }
        request.send().await
    }
}

/// Passes a completion on and streams what comes back.
pub(super) async fn complete(State(site): State<Arc<Site>>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(upstream) = &site.upstream else {
        return failure(StatusCode::NOT_FOUND, "this server has no endpoint; start it with --llm URL");
    };
    if !host_is_ours(&headers, site.loopback) || !is_same_origin(&headers) {
        return failure(StatusCode::FORBIDDEN, "only pages of this server may use its endpoint");
    }
    // A foreign page can send a form or a text without asking, JSON it cannot.
    if !is_json(&headers) {
        return failure(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the request must be application/json");
    }
    let Ok(Value::Object(mut fields)) = serde_json::from_slice::<Value>(&body) else {
        return failure(StatusCode::BAD_REQUEST, "the request is not a JSON object");
    };
    if let Some(model) = &upstream.model {
        fields.insert("model".to_owned(), json!(model));
    }
    match upstream.send(&Value::Object(fields)).await {
        Ok(answer) => pass_on(answer),
        // The error's own text names the address with its query, which may hold a secret.
        Err(error) => failure(StatusCode::BAD_GATEWAY, &format!("the endpoint could not be reached: {}", kind(&error))),
    }
}

fn pass_on(answer: reqwest::Response) -> Response {
    let mut response = Response::builder().status(answer.status().as_u16());
    for name in [header::CONTENT_TYPE, header::RETRY_AFTER] {
        if let Some(value) = answer.headers().get(name.as_str()) {
            response = response.header(name, value.as_bytes());
        }
    }
    response
        .header(header::CACHE_CONTROL, "no-store")
        .body(Body::from_stream(answer.bytes_stream()))
        .unwrap_or_else(|error| failure(StatusCode::BAD_GATEWAY, &error.to_string()))
}

/// The shape in which OpenAI-compatible servers report errors.
fn failure(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": { "message": message, "type": "docent_proxy" } }))).into_response()
}

fn kind(error: &reqwest::Error) -> &'static str {
    if error.is_connect() {
        "no connection"
    } else if error.is_timeout() {
        "timeout"
    } else {
        "the connection broke"
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "application/json"))
}

/// Whether the page that asks, where a browser names it, is one of this server.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match (text(header::ORIGIN), text(header::HOST)) {
        (None, _) => true,
        (Some(origin), Some(host)) => {
            origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) == Some(host)
        }
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_pages_of_this_server_may_ask() {
        let host = (header::HOST, "localhost:8737");
        assert!(is_same_origin(&headers(std::slice::from_ref(&host))));
        assert!(is_same_origin(&headers(&[host.clone(), (header::ORIGIN, "http://localhost:8737")])));
        for origin in
            ["http://attacker.example", "http://localhost:9999", "null", "http://localhost:8737.attacker.example"]
        {
            assert!(!is_same_origin(&headers(&[host.clone(), (header::ORIGIN, origin)])), "{origin}");
        }
        assert!(is_json(&headers(&[(header::CONTENT_TYPE, "application/json; charset=utf-8")])));
        assert!(!is_json(&headers(&[(header::CONTENT_TYPE, "text/plain")])));
        assert!(!is_json(&HeaderMap::new()));
    }

    #[test]
    fn the_address_is_shown_without_its_secrets() {
        let upstream = Upstream::new("https://user:secret@llm.example:8443/v1?key=secret", Some("m"), None).unwrap();
        assert_eq!(upstream.shown(), "https://llm.example:8443/v1/chat/completions");
        assert_eq!(Upstream::new("ftp://llm.example", None, None).err().unwrap().code(), "invalid_option");
        assert_eq!(Upstream::new("not an address", None, None).err().unwrap().code(), "invalid_option");
    }
}
