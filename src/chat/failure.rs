//! From what an endpoint says went wrong to a typed error.
//!
//! Input: an HTTP status with its body, or an error object inside of a stream; output: [`Error`].
//! **Invariant:** the kind comes from the status and from the fields `code` and `type`, never from searching the message.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::json;

/// Longest message taken over from an endpoint, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// Codes and types by which endpoints say that a filter refused the prompt or the reply. Compared in lower case.
const FILTER_CODES: &[&str] = &[
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
    "datainspectionfailed",
];
/// The same for "too many requests" and for a used-up quota.
const RATE_CODES: &[&str] =
    &["rate_limit_exceeded", "rate_limit_error", "rate_limit_reached", "too_many_requests", "429"];
/// The same for credentials.
const AUTH_CODES: &[&str] = &["invalid_api_key", "authentication_error", "permission_error", "401", "403"];

/// An error object as endpoints write it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndpointError {
    /// The message, at most 500 characters.
    pub message: String,
    /// The fields `code`, `type` and `innererror.code`, in lower case, in this order.
    pub codes: Vec<String>,
}

impl EndpointError {
    /// Reads `{"error": …}` in its forms, and the same without the outer object.
    ///
    /// `None` when the value is no error: `{"error": null}` is none.
    #[must_use]
    pub fn from_body(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        match object.get("error") {
            Some(Value::Null) | None => {}
            Some(error) => return Some(Self::from_value(error)),
        }
        // FastAPI servers say `detail`, several gateways `message` beside a code.
        if let Some(detail) = object.get("detail") {
            return Some(Self::from_value(detail));
        }
        let speaks_of_error = object.contains_key("message")
            && (object.contains_key("code") || object.get("object") == Some(&Value::from("error")));
        (speaks_of_error && !object.contains_key("choices")).then(|| Self::from_value(value))
    }

    /// Reads the error itself: an object, a text, anything.
    #[must_use]
    pub fn from_value(error: &Value) -> Self {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(json::to_text(number)),
            _ => None,
        };
        let message = match error {
            Value::Object(fields) => ["message", "msg", "detail"]
                .iter()
                .find_map(|field| fields.get(*field).and_then(text))
                .unwrap_or_default(),
            other => text(other).unwrap_or_else(|| json::to_text(other)),
        };
        let inner = error.get("innererror").and_then(|inner| inner.get("code"));
        let codes = [error.get("code"), error.get("type"), inner].into_iter().flatten();
        let codes = codes.filter_map(text).map(|code| code.to_ascii_lowercase()).collect();
        Self { message: start_of(&message), codes }
    }

    /// Whether one of the codes is in `known`.
    #[must_use]
    pub fn has_code(&self, known: &[&str]) -> bool {
        self.codes.iter().any(|code| known.contains(&code.as_str()))
    }

    /// The typed error. `status` is the response's.
    #[must_use]
    pub fn into_error(self, status: u16, retry_after_ms: Option<u64>) -> Error {
        if self.has_code(FILTER_CODES) {
            return Error::ContentFilter { message: self.message };
        }
        // Gateways put the status of the server behind them into `code`.
        let inner_status =
            self.codes.iter().find_map(|code| code.parse().ok().filter(|code| (400..600).contains(code)));
        let status = if status < 400 { inner_status.unwrap_or(status) } else { status };
        if status == 429 || self.has_code(RATE_CODES) {
            return Error::RateLimit { retry_after_ms };
        }
        if matches!(status, 401 | 403) || self.has_code(AUTH_CODES) {
            return Error::Auth { status };
        }
        Error::Endpoint { status, body: self.message }
    }
}

/// Reads the body of a response with an error status.
#[must_use]
pub fn read_error_body(body: &[u8]) -> EndpointError {
    let text = String::from_utf8_lossy(body);
    if let Some(error) = serde_json::from_str(&text).ok().as_ref().and_then(EndpointError::from_body) {
        return error;
    }
    let trimmed = text.trim_start();
    let message = if trimmed.starts_with('<') {
        // A proxy's page: its markup tells a reader nothing.
        html_title(trimmed).map_or_else(|| "an HTML page".to_owned(), |title| format!("an HTML page, \"{title}\""))
    } else {
        start_of(trimmed)
    };
    EndpointError { message, codes: Vec::new() }
}

/// Refuses a body that is an HTML page.
pub(super) fn html_instead_of_a_reply(body: &str) -> Result<()> {
    let title = html_title(body).map_or_else(String::new, |title| format!(" (\"{title}\")"));
    Err(Error::Protocol(format!("an HTML page came back{title}; is the endpoint's base URL right?")))
}

fn html_title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title>")? + "<title>".len();
    let length = lower[start..].find("</title>")?;
    let title = page[start..start + length].split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then(|| title.chars().take(80).collect())
}

fn start_of(text: &str) -> String {
    text.trim().chars().take(MAX_MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, body: &str, code: &str, message: &str) {
        let error = read_error_body(body.as_bytes()).into_error(status, Some(2000));
        assert_eq!(error.code(), code, "{status} {body}");
        assert!(error.to_string().contains(message), "{error} should say {message}");
    }

    #[test]
    fn statuses_and_codes_become_kinds() {
        check(401, r#"{"error":{"message":"bad key","code":"invalid_api_key"}}"#, "auth", "401");
        check(403, "<html><title>Forbidden</title>", "auth", "403");
        check(429, "", "rate_limit", "2 s");
        check(
            400,
            r#"{"error":{"message":"m","code":"content_filter","innererror":{"code":"x"}}}"#,
            "content_filter",
            "m",
        );
        check(
            400,
            r#"{"error":{"message":"m","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
            "content_filter",
            "m",
        );
        check(500, r#"{"error":"model is loading"}"#, "endpoint", "HTTP 500: model is loading");
        check(502, "<html><head><title>Bad  gateway</title>", "endpoint", "an HTML page, \"Bad gateway\"");
        check(422, r#"{"detail":"field required"}"#, "endpoint", "field required");
        check(404, "Not Found", "endpoint", "HTTP 404: Not Found");
        // An error inside of a stream: the response itself was a success.
        check(200, r#"{"error":{"message":"slow down","code":429}}"#, "rate_limit", "");
        check(200, r#"{"error":{"message":"upstream timeout","code":504}}"#, "endpoint", "HTTP 504: upstream timeout");
    }

    #[test]
    fn what_is_no_error_is_none() {
        for body in [r#"{"error":null,"choices":[]}"#, r#"{"choices":[],"message":"x","code":1}"#, "{}", "[]", "1"] {
            assert_eq!(EndpointError::from_body(&serde_json::from_str(body).unwrap()), None, "{body}");
        }
    }

    #[test]
    fn a_long_body_is_cut() {
        let error = read_error_body("长".repeat(5000).as_bytes());
        assert_eq!(error.message.chars().count(), MAX_MESSAGE_CHARS);
    }
}
