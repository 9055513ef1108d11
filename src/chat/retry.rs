//! Whether a failed request is sent again, and after how long.
//!
//! Input: what failed, how often, how much time is left, a random number; output: a wait in milliseconds, or none.
//! **Invariant:** a request that may have run is never repeated: it could cost twice and answer twice.

use std::time::UNIX_EPOCH;

use super::failure::EndpointError;

/// First wait, in milliseconds; doubles with each attempt. (The OpenAI clients use the same.)
const FIRST_WAIT_MS: f64 = 500.0;
/// Longest wait that we choose ourselves, in milliseconds.
const LONGEST_WAIT_MS: f64 = 8_000.0;
/// Up to this share of a wait is taken off at random, 0..=1, so that readers who failed together do not return together.
const JITTER: f64 = 0.25;
/// Longest wait that an endpoint may impose on a reader who looks at the page, in milliseconds. Beyond it the reader is
/// told how long it would take.
const LONGEST_IMPOSED_WAIT_MS: u64 = 10_000;

/// Types by which servers say that they have not begun: llama.cpp while it loads, Anthropic-style overload.
const NOT_BEGUN: &[&str] = &["unavailable_error", "overloaded_error", "server_overloaded", "engine_overloaded"];
/// A used-up quota does not come back within seconds.
const QUOTA: &[&str] = &["insufficient_quota", "billing_hard_limit_reached"];

/// The parts of a response's head that matter here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResponseHead {
    /// The HTTP status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Retry-After`: seconds or an HTTP date.
    pub retry_after: Option<String>,
    /// `retry-after-ms`, which OpenAI and Azure send: milliseconds.
    pub retry_after_ms: Option<String>,
    /// `Date`, the server's clock.
    pub date: Option<String>,
    /// `x-should-retry`, by which OpenAI says `false`.
    pub should_retry: Option<String>,
}

/// A decimal number without a sign. The standard library's parser would bring a table of 10 kB into the page.
fn number(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.trim().split_once(['e', 'E']).unwrap_or((text.trim(), "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().ok()?;
    let digit = |byte: u8| f64::from(byte - b'0');
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !all_digits || whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let fraction = fraction.bytes().rev().fold(0.0, |value, byte| (value + digit(byte)) / 10.0);
    let value = whole.bytes().fold(0.0, |value, byte| value * 10.0 + digit(byte)) + fraction;
    Some(value * 10f64.powi(exponent)).filter(|value| value.is_finite())
}

impl ResponseHead {
    /// Reads the head through a function that gives a header's value by its lower-case name.
    ///
    /// In a page, another origin shows these headers only where it names them in `Access-Control-Expose-Headers`.
    pub fn read(status: u16, header: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            status,
            content_type: header("content-type"),
            retry_after: header("retry-after"),
            retry_after_ms: header("retry-after-ms"),
            date: header("date"),
            should_retry: header("x-should-retry"),
        }
    }

    /// How long the endpoint asks to wait, in milliseconds. `now_ms` (since the Unix epoch) is used for a date when the
    /// server does not show its own clock.
    #[must_use]
    pub fn wait_ms(&self, now_ms: u64) -> Option<u64> {
        // Saturates; a day is as good as forever here.
        let whole = |ms: f64| ms.min(86_400_000.0).ceil() as u64;
        if let Some(ms) = self.retry_after_ms.as_deref().and_then(number) {
            return Some(whole(ms));
        }
        let text = self.retry_after.as_deref()?.trim();
        if let Some(seconds) = number(text) {
            return Some(whole(seconds * 1000.0));
        }
        let date_ms = |text: &str| {
            let date = httpdate::parse_http_date(text.trim()).ok()?;
            u64::try_from(date.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
        };
        let now = self.date.as_deref().and_then(date_ms).unwrap_or(now_ms);
        Some(date_ms(text)?.saturating_sub(now))
    }
}

/// What went wrong with an attempt.
#[derive(Debug, Clone, Copy)]
pub enum Failed<'a> {
    /// The request never left: no connection.
    NotSent,
    /// It left, and then the connection failed or was too slow.
    MayHaveRun,
    /// The endpoint answered with an error status.
    Refused(&'a ResponseHead, &'a EndpointError),
}

/// The wait before the next attempt, in milliseconds; `None` when there must not be one.
///
/// `attempt` counts from 0, `left_ms` is what remains of the whole call's time, `random` is uniform in 0..1.
#[must_use]
pub fn next_wait_ms(
    failed: &Failed<'_>,
    attempt: u32,
    max_retries: u32,
    left_ms: u64,
    now_ms: u64,
    random: f64,
) -> Option<u64> {
    if attempt >= max_retries {
        return None;
    }
    let imposed = match failed {
        Failed::NotSent => None,
        Failed::MayHaveRun => return None,
        Failed::Refused(head, error) => {
            let imposed = head.wait_ms(now_ms);
            let not_run = match head.status {
                // The server gave up waiting for the request itself; it was too early; too many; overloaded.
                408 | 425 | 529 => true,
                429 => !error.has_code(QUOTA),
                // A gateway also says 503 when the server behind it broke off, perhaps in the middle.
                503 => imposed.is_some() || error.has_code(NOT_BEGUN),
                _ => false,
            };
            if !not_run || head.should_retry.as_deref() == Some("false") {
                return None;
            }
            imposed
        }
    };
    let wait = match imposed {
        Some(ms) if ms > LONGEST_IMPOSED_WAIT_MS => return None,
        Some(ms) => ms,
        None => {
            let full = (FIRST_WAIT_MS * f64::from(2u32.saturating_pow(attempt))).min(LONGEST_WAIT_MS);
            (full * (1.0 - JITTER * random.clamp(0.0, 1.0))).round() as u64
        }
    };
    (wait < left_ms).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;

    fn head(status: u16, retry_after: Option<&str>) -> ResponseHead {
        ResponseHead { status, retry_after: retry_after.map(str::to_owned), ..ResponseHead::default() }
    }

    fn wait(head: &ResponseHead, codes: &[&str]) -> Option<u64> {
        let error =
            EndpointError { message: String::new(), codes: codes.iter().map(|&code| code.to_owned()).collect() };
        next_wait_ms(&Failed::Refused(head, &error), 0, 2, MINUTE, 0, 0.0)
    }

    #[test]
    fn only_what_certainly_did_not_run_is_repeated() {
        for status in [400, 401, 403, 404, 409, 422, 500, 502, 503, 504] {
            assert_eq!(wait(&head(status, None), &[]), None, "{status}");
        }
        for status in [408, 425, 429, 529] {
            assert_eq!(wait(&head(status, None), &[]), Some(500), "{status}");
        }
        assert_eq!(wait(&head(503, Some("1")), &[]), Some(1000));
        assert_eq!(wait(&head(503, None), &["503", "unavailable_error"]), Some(500));
        assert_eq!(wait(&head(500, Some("1")), &[]), None);
        assert_eq!(wait(&head(429, None), &["insufficient_quota"]), None);
        let told_not_to = ResponseHead { should_retry: Some("false".to_owned()), ..head(429, None) };
        assert_eq!(wait(&told_not_to, &[]), None);
        assert_eq!(next_wait_ms(&Failed::MayHaveRun, 0, 2, MINUTE, 0, 0.5), None);
        assert_eq!(next_wait_ms(&Failed::NotSent, 0, 2, MINUTE, 0, 0.0), Some(500));
    }

    #[test]
    fn waits_double_are_capped_and_jittered_and_end() {
        let own = |attempt, random| next_wait_ms(&Failed::NotSent, attempt, 10, MINUTE, 0, random);
        assert_eq!([own(0, 0.0), own(1, 0.0), own(2, 0.0), own(9, 0.0)], [500, 1000, 2000, 8000].map(Some));
        assert_eq!(own(0, 1.0), Some(375));
        assert_eq!(next_wait_ms(&Failed::NotSent, 2, 2, MINUTE, 0, 0.0), None);
        assert_eq!(next_wait_ms(&Failed::NotSent, 0, 2, 400, 0, 0.0), None);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        // 1994-11-06T08:49:37Z, the example of RFC 9110.
        const EXAMPLE_MS: u64 = 784_111_777_000;
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(head(429, Some(text)).wait_ms(EXAMPLE_MS - 3000), expected, "{text}");
        };
        check("2", Some(2000));
        check(" 0.25 ", Some(250));
        check("0", Some(0));
        check("-1", None);
        check("NaN", None);
        check("soon", None);
        check("1e300", Some(86_400_000));
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(3000));
        check("Sunday, 06-Nov-94 08:49:37 GMT", Some(3000));
        check("Sun Nov  6 08:49:37 1994", Some(3000));
        check("Sun, 06 Nov 1994 08:49:30 GMT", Some(0));
        let by_server_clock = ResponseHead {
            date: Some("Sun, 06 Nov 1994 08:49:36 GMT".to_owned()),
            ..head(429, Some("Sun, 06 Nov 1994 08:49:37 GMT"))
        };
        assert_eq!(by_server_clock.wait_ms(0), Some(1000));
        let in_ms = ResponseHead { retry_after_ms: Some("120".to_owned()), ..head(429, Some("9")) };
        assert_eq!(in_ms.wait_ms(0), Some(120));
    }

    #[test]
    fn an_imposed_wait_is_kept_or_not_waited_at_all() {
        assert_eq!(wait(&head(429, Some("7")), &[]), Some(7000));
        assert_eq!(wait(&head(429, Some("11")), &[]), None);
    }
}
