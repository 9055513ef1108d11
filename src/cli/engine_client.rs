//! HTTP to a vector engine: one request, one answer, as text.
//!
//! Input: method, address, headers, body, a limit of time. Output: the status and the body, or in one sentence why there is
//! none. What the body says is read by [`crate::retrieval::vector_engine`].

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Method};

use super::chat_client::{describe, install_tls_provider};
use crate::error::{Error, Result};

/// The environment variable with the key of the engine, where no option names another.
pub const KEY_VARIABLE: &str = "DOCENT_VECTORS_KEY";
/// The longest answer that is read, in bytes: answers are some kilobytes, an endless one must not fill the memory.
const MAX_BODY_BYTES: usize = 64 << 20;

/// A client with its connections.
#[derive(Debug, Clone)]
pub struct EngineClient {
    http: Client,
}

impl EngineClient {
    /// A client for the engine at `url`; nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::VectorEngine`] when the system offers no TLS.
    pub fn new(url: &str) -> Result<Self> {
        install_tls_provider();
        // A key in a header must not follow a redirect to another host.
        let mut builder = Client::builder().redirect(Policy::none());
        if is_loopback(url) {
            // A proxy that the environment names cannot reach this machine's loopback.
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| Error::VectorEngine(describe(&error)))?;
        Ok(Self { http })
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    /// [`Error::VectorEngine`] when there is no answer within `timeout_ms` milliseconds, or it breaks off.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(String, String)],
        body: Option<String>,
        timeout_ms: u64,
    ) -> Result<(u16, String)> {
        let mut request = self.http.request(method, url).timeout(Duration::from_millis(timeout_ms));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let failed = |error: reqwest::Error| {
            Error::VectorEngine(if error.is_timeout() {
                format!("no answer within {timeout_ms} ms")
            } else {
                describe(&error)
            })
        };
        let mut response = request.send().await.map_err(failed)?;
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            if bytes.len() + piece.len() > MAX_BODY_BYTES {
                return Err(Error::VectorEngine("its answer does not end".to_owned()));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok((response.status().as_u16(), String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// Whether an address names this machine.
fn is_loopback(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or(url).split('/').next().unwrap_or("");
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    matches!(host, "localhost" | "127.0.0.1" | "::1") || host.ends_with(".localhost")
}

/// The key in the environment variable `name`; an empty one is none.
#[must_use]
pub fn key_from(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    #[test]
    fn loopback_addresses_are_known() {
        for (url, expected) in [
            ("http://127.0.0.1:6333", true),
            ("http://localhost/x", true),
            ("http://[::1]:6333/", true),
            ("https://localhost.example.org", false),
            ("https://vectors.example.org:6333", false),
        ] {
            assert_eq!(super::is_loopback(url), expected, "{url}");
        }
    }
}
