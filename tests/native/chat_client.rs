//! The command line's chat client against a real server on loopback that fails in every way that endpoints fail.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::post;
use docent::chat::message::{ChatMessage, ChatReply, ChatRequest, Ending};
use docent::chat::request::{LlmConfig, Timeouts};
use docent::cli::chat_client::HttpChatClient;
use docent::error::{Error, Result};
use docent::host::{ChatClient, StopSignal};
use futures_util::stream::{self, StreamExt};

/// What the server has seen.
#[derive(Default)]
struct Seen {
    requests: AtomicUsize,
    /// Streams that the client let go before their end.
    dropped: AtomicUsize,
}

/// Counts when it is dropped before `finished`.
struct Watch {
    seen: Arc<Seen>,
    finished: AtomicBool,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.finished.load(Ordering::SeqCst) {
            self.seen.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn delta(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n")
}

const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// A streamed body: each piece after its pause in milliseconds; `None` breaks the connection.
fn pieces(seen: &Arc<Seen>, pieces: Vec<(u64, Option<String>)>) -> Response<Body> {
    let watch = Watch { seen: Arc::clone(seen), finished: AtomicBool::new(false) };
    let body = stream::unfold((pieces.into_iter(), watch), |(mut rest, watch)| async move {
        let Some((pause_ms, piece)) = rest.next() else {
            watch.finished.store(true, Ordering::SeqCst);
            return None;
        };
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        let item = piece.map(Bytes::from).ok_or_else(|| std::io::Error::other("cut"));
        Some((item, (rest, watch)))
    });
    Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(body)).unwrap()
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Response<Body> {
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Body::from(body.to_owned())).unwrap()
}

async fn serve(
    State(seen): State<Arc<Seen>>,
    Path(case): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> std::result::Result<Response<Body>, Infallible> {
    let nth = seen.requests.fetch_add(1, Ordering::SeqCst);
    let whole = || pieces(&seen, vec![(0, Some(delta("Hel"))), (5, Some(delta("lo"))), (5, Some(STOP.to_owned()))]);
    let json = [("content-type", "application/json")];
    Ok(match case.as_str() {
        "plain" => {
            assert_eq!(headers["authorization"], "Bearer secret-key");
            assert_eq!(headers["x-team"], "docs");
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["stream"], true);
            assert_eq!(body["top_k"], 3);
            whole()
        }
        "slow-head" => {
            tokio::time::sleep(Duration::from_secs(30)).await;
            whole()
        }
        "slow-first" => pieces(&seen, vec![(30_000, Some(delta("late")))]),
        "stall" => pieces(&seen, vec![(0, Some(delta("Hel"))), (30_000, Some(delta("lo")))]),
        "drip" => pieces(&seen, (0..1000).map(|_| (40, Some(delta("x")))).collect()),
        "open-end" => pieces(
            &seen,
            vec![
                (0, Some(delta("Hi"))),
                (0, Some("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_owned())),
                (30_000, None),
            ],
        ),
        "cut" => pieces(&seen, vec![(0, Some(delta("Hel"))), (20, None)]),
        "limited-once" if nth == 0 => {
            answer(429, &[("retry-after", "0.05")], "{\"error\":{\"message\":\"slow down\"}}")
        }
        "limited" => answer(429, &[("retry-after", "90")], "{\"error\":{\"message\":\"slow down\"}}"),
        "loading-once" if nth == 0 => answer(
            503,
            &json,
            "{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}",
        ),
        "limited-once" | "loading-once" => whole(),
        "fails" => answer(500, &json, "{\"error\":{\"message\":\"out of memory\"}}"),
        "refuses" => answer(401, &json, "{\"error\":{\"message\":\"Incorrect API key provided: secret-key\"}}"),
        "filters" => {
            answer(400, &json, "{\"error\":{\"message\":\"The prompt was filtered\",\"code\":\"content_filter\"}}")
        }
        "moved" => answer(302, &[("location", "/plain/chat/completions")], ""),
        "json" => {
            answer(200, &json, "{\"choices\":[{\"message\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}")
        }
        "html" => answer(200, &[("content-type", "text/html")], "<!doctype html><title>Log in</title>"),
        "wrong-type" => {
            let mut response = whole();
            response.headers_mut().insert("content-type", "application/octet-stream".parse().unwrap());
            response
        }
        "lines" => answer(200, &[("content-type", "application/x-ndjson")], "{\"done\":true}\n"),
        "picky" => {
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            if body.get("max_completion_tokens").is_some() {
                whole()
            } else {
                answer(
                    400,
                    &json,
                    "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.\"}}",
                )
            }
        }
        other => answer(404, &[], other),
    })
}

async fn start() -> (SocketAddr, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let router = Router::new().route("/{case}/chat/completions", post(serve)).with_state(Arc::clone(&seen));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, seen)
}

fn config(endpoint: String) -> LlmConfig {
    LlmConfig {
        endpoint,
        model: Some("m".to_owned()),
        api_key: Some("secret-key".to_owned()),
        headers: [("x-team".to_owned(), "docs".to_owned())].into(),
        body: [("top_k".to_owned(), 3.into())].into_iter().collect(),
        timeouts: Timeouts { first_byte_ms: 400, idle_ms: 300, total_ms: 1500 },
        ..LlmConfig::default()
    }
}

fn question() -> ChatRequest {
    ChatRequest { messages: vec![ChatMessage::user("Hi?")], max_tokens: 64, temperature: 0.0, stream: true }
}

/// A call's result, the text that was streamed, and how long it took in milliseconds.
async fn ask(client: &HttpChatClient, stop: &StopSignal) -> (Result<ChatReply>, String, u128) {
    let mut text = String::new();
    let started = Instant::now();
    let result = client.complete(&question(), stop, &mut |part| text.push_str(part)).await;
    (result, text, started.elapsed().as_millis())
}

/// Runs a future on one thread, as the command line and the page do.
fn run(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
}

/// Asks the server's `case` once, and checks text, code and number of requests.
fn check(case: &str, text: &str, code: &str, requests: usize) {
    run(async {
        let (address, seen) = start().await;
        let client = HttpChatClient::new(config(format!("http://{address}/{case}"))).unwrap();
        let (result, streamed, _) = ask(&client, &StopSignal::default()).await;
        assert_eq!(streamed, text, "{case}");
        match &result {
            Ok(reply) => {
                assert_eq!(code, "ok", "{case}: {reply:?}");
                assert_eq!(reply.text, text, "{case}");
                assert_eq!(reply.ending, Ending::Complete, "{case}");
            }
            Err(error) => {
                assert_eq!(error.code(), code, "{case}: {error}");
                assert!(!error.to_string().contains("secret-key"), "{case}: {error}");
            }
        }
        assert_eq!(seen.requests.load(Ordering::SeqCst), requests, "{case}: {result:?}");
    });
}

#[test]
fn answers_arrive_streamed_or_whole_whatever_they_are_declared_as() {
    check("plain", "Hello", "ok", 1);
    check("json", "Hello", "ok", 1);
    check("wrong-type", "Hello", "ok", 1);
    check("open-end", "Hi", "ok", 1);
}

#[test]
fn each_time_limit_ends_the_call_and_keeps_what_had_arrived() {
    check("slow-head", "", "timeout", 1);
    check("slow-first", "", "timeout", 1);
    check("stall", "Hel", "timeout", 1);
    run(async {
        let (address, _) = start().await;
        let client = HttpChatClient::new(config(format!("http://{address}/drip"))).unwrap();
        let (result, text, took_ms) = ask(&client, &StopSignal::default()).await;
        assert_eq!(result, Err(Error::Timeout { phase: "end of the reply", after_ms: 1500 }));
        assert!(text.len() > 10 && (1490..3000).contains(&took_ms), "{} pieces in {took_ms} ms", text.len());
    });
}

#[test]
fn only_refused_requests_are_repeated() {
    check("limited-once", "Hello", "ok", 2);
    check("loading-once", "Hello", "ok", 2);
    check("picky", "Hello", "ok", 2);
    check("limited", "", "rate_limit", 1);
    check("fails", "", "endpoint", 1);
    check("cut", "Hel", "interrupted", 1);
}

#[test]
fn refusals_have_their_kinds() {
    check("refuses", "", "auth", 1);
    check("filters", "", "content_filter", 1);
    check("html", "", "protocol", 1);
    check("lines", "", "protocol", 1);
    check("moved", "", "endpoint", 1);
    check("missing", "", "endpoint", 1);
}

#[test]
fn a_wait_is_told_when_it_is_too_long_to_wait() {
    run(async {
        let (address, _) = start().await;
        let client = HttpChatClient::new(config(format!("http://{address}/limited"))).unwrap();
        let (result, _, _) = ask(&client, &StopSignal::default()).await;
        assert_eq!(result, Err(Error::RateLimit { retry_after_ms: Some(90_000) }));
    });
}

#[test]
fn nobody_listening_is_a_network_error_after_repetitions() {
    run(async {
        // Nobody listens at port 1; a port that was free a moment ago may be the next test's server.
        let client =
            HttpChatClient::new(LlmConfig { max_retries: 1, ..config("http://127.0.0.1:1/v1".to_owned()) }).unwrap();
        let (result, _, took_ms) = ask(&client, &StopSignal::default()).await;
        assert_eq!(result.unwrap_err().code(), "network");
        assert!((375..1400).contains(&took_ms), "one wait of 375 to 500 ms, not {took_ms} ms");
    });
}

#[test]
fn a_stop_ends_the_call_at_once_and_lets_the_server_go() {
    run(async {
        let (address, seen) = start().await;
        let client = HttpChatClient::new(config(format!("http://{address}/drip"))).unwrap();
        let stop = StopSignal::default();
        let stopper = stop.clone();
        let timer = async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            stopper.stop();
        };
        let ((result, text, took_ms), ()) = tokio::join!(ask(&client, &stop), timer);
        assert_eq!(result, Err(Error::Cancelled));
        assert!(!text.is_empty() && took_ms < 350, "{} pieces, {took_ms} ms", text.len());
        // The server notices when it writes the next piece.
        for _ in 0..50 {
            if seen.dropped.load(Ordering::SeqCst) == 1 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(seen.dropped.load(Ordering::SeqCst), 1, "the connection is closed");
        // The same client goes on working.
        let client = HttpChatClient::new(config(format!("http://{address}/plain"))).unwrap();
        assert_eq!(ask(&client, &StopSignal::default()).await.1, "Hello");
        // A stop before the start sends nothing that is waited for.
        let (result, text, took_ms) = ask(&client, &stop).await;
        assert_eq!((result, text.as_str()), (Err(Error::Cancelled), ""));
        assert!(took_ms < 100);
    });
}

#[test]
fn the_stream_helper_gives_every_piece() {
    // Guards the server of this file: a test of a client means nothing when its server sends nothing.
    run(async {
        let seen = Arc::new(Seen::default());
        let body = pieces(&seen, vec![(0, Some("a".to_owned())), (0, Some("b".to_owned()))]).into_body();
        let parts: Vec<_> = body.into_data_stream().collect().await;
        assert_eq!(parts.into_iter().map(|part| part.unwrap()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(seen.dropped.load(Ordering::SeqCst), 0);
    });
}
