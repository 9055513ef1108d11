//! The chat client and the prompts against a real language model, SmolLM2 served by llama.cpp on loopback.
//!
//! `tests/llm/setup.sh` fetches the model once into a cache outside of the checkout. Where it cannot be had, or
//! `DOCENT_NO_DOWNLOAD` is set, the test says so and is skipped.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use docent::chat::citation::CitationFilter;
use docent::chat::message::{ChatReply, ChatRequest, Ending};
use docent::chat::prompt::{Grounding, LastAnswer, PromptBudget, PromptWriter};
use docent::chat::request::{LlmConfig, Timeouts};
use docent::cli::chat_client::HttpChatClient;
use docent::error::{Error, Result};
use docent::host::{ChatClient, StopSignal};
use docent::turn::{FollowUpKind, Language, Passage, TokenCounter};

/// Generous: the machine may be busy with other tests, and the model runs on its CPU.
const TIMEOUTS: Timeouts = Timeouts { first_byte_ms: 240_000, idle_ms: 120_000, total_ms: 480_000 };

struct Characters;

impl TokenCounter for Characters {
    fn count(&self, text: &str) -> usize {
        text.chars().count().div_ceil(4)
    }
}

/// The Python interpreter and the model file, or why not.
fn model() -> std::result::Result<(String, String), String> {
    if std::env::var_os("DOCENT_NO_DOWNLOAD").is_some() {
        return Err("DOCENT_NO_DOWNLOAD is set".to_owned());
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/llm/setup.sh");
    let output = Command::new("sh").arg(script).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().lines().last().unwrap_or("").to_owned();
    match output.status.code() {
        Some(0) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut lines = text.lines().map(str::to_owned);
            Ok((lines.next().unwrap(), lines.next().unwrap()))
        }
        Some(3) => Err(said),
        other => panic!("tests/llm/setup.sh ended with {other:?}: {said}"),
    }
}

/// A running server; it ends with this value.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start(python: &str, model: &str, port: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/llm/serve.py");
        let mut process = Command::new(python)
            .arg(script)
            .args([model, port])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = lines.map_while(|line| line.ok()).find_map(|line| line.strip_prefix("listening ").map(str::to_owned));
        Self { process, url: url.expect("the server says where it listens") }
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn watchers() -> Passage {
    Passage {
        id: "watchers#0".to_owned(),
        document: "watchers".to_owned(),
        title: "Watchers".to_owned(),
        heading_path: vec!["Watch source types".to_owned()],
        url: "https://docs.example/watchers#source".to_owned(),
        text: "The first argument of watch can be a ref, a reactive object, or a getter function. To watch one property of a \
               reactive object, pass a getter function."
            .to_owned(),
        ..Passage::default()
    }
}

fn writer(reply_tokens: usize) -> PromptWriter<'static> {
    PromptWriter {
        language: Language::English,
        grounding: Grounding::Strict,
        budget: PromptBudget { context_tokens: 2048, reply_tokens, ..PromptBudget::default() },
        counter: &Characters,
        summary: None,
        history: &[],
        seed: 1,
        stream: true,
    }
}

/// Asks, and hands each piece with its number to `on_piece`; gives the result, the text and the number of pieces.
async fn ask(
    client: &HttpChatClient,
    request: &ChatRequest,
    stop: &StopSignal,
    mut on_piece: impl FnMut(usize),
) -> (Result<ChatReply>, String, usize) {
    let mut text = String::new();
    let mut pieces = 0;
    let result = client
        .complete(request, stop, &mut |piece| {
            text.push_str(piece);
            pieces += 1;
            on_piece(pieces);
        })
        .await;
    (result, text, pieces)
}

#[test]
fn a_real_model_streams_is_stopped_dies_and_comes_back() {
    let (python, model) = match model() {
        Ok(found) => found,
        Err(reason) => {
            println!("skipped: the real language model ({reason})");
            return;
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut server = Server::start(&python, &model, "0");
        let config =
            LlmConfig { endpoint: server.url.clone(), timeouts: TIMEOUTS, max_retries: 0, ..LlmConfig::default() };
        let client = HttpChatClient::new(config).unwrap();
        let passages = [watchers()];
        let question = "How do I watch one property of an object?";
        let going = StopSignal::default();

        // It streams, and its pieces are its reply.
        let prompt = writer(40).answer(question, None, &passages, false);
        let (reply, text, pieces) = ask(&client, &prompt.request, &going, |_| {}).await;
        let reply = reply.unwrap();
        assert!(pieces > 3 && !reply.text.is_empty(), "{pieces} pieces: {text:?}");
        assert_eq!(text.trim(), reply.text);
        let usage = reply.usage.expect("llama.cpp counts tokens");
        assert!(usage.prompt_tokens > 100 && (1..=40).contains(&usage.completion_tokens), "{usage:?}");
        let cut = reply.finish_reason.as_deref() == Some("length");
        assert_eq!(reply.ending, if cut { Ending::Truncated } else { Ending::Complete });
        let mut checked = String::new();
        let mut filter = CitationFilter::new(&passages, Language::English);
        filter.push(&reply.text, &mut |part| checked.push_str(part));
        let citations = filter.finish(&mut |part| checked.push_str(part));
        assert!(citations.used.iter().all(|n| *n == 1), "{citations:?}");
        println!("streamed in {pieces} pieces, {usage:?}: {checked}");

        // It is stopped in the middle: what had arrived stays.
        let long = writer(200).answer("Explain watchers in many words.", None, &passages, false);
        let stop = StopSignal::default();
        let (result, partial, pieces) = ask(&client, &long.request, &stop, |n| {
            if n == 5 {
                stop.stop()
            }
        })
        .await;
        assert_eq!(result, Err(Error::Cancelled));
        assert!(!partial.is_empty() && (5..40).contains(&pieces), "{pieces} pieces");

        // A follow-up works on the stopped answer.
        let last = LastAnswer { question: "Explain watchers in many words.", answer: &partial, partial: true };
        let follow_up = writer(32).follow_up(FollowUpKind::Detail, "continue", &last, &passages);
        let (reply, text, _) = ask(&client, &follow_up.request, &going, |_| {}).await;
        assert!(!reply.unwrap().text.is_empty(), "{text:?}");

        // The server is killed in the middle: an interruption with what had arrived.
        let (result, text, _) = ask(&client, &long.request, &going, |n| {
            if n == 3 {
                server.kill()
            }
        })
        .await;
        assert_eq!(result.unwrap_err().code(), "interrupted");
        assert!(!text.is_empty());

        // While it is away, asking fails at once.
        let (result, text, _) = ask(&client, &prompt.request, &going, |_| {}).await;
        assert_eq!((result.unwrap_err().code(), text.as_str()), ("network", ""));

        // It comes back at the same address, and the same client gets its answer.
        let port = server.url.rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
        let _server = Server::start(&python, &model, &port);
        let (reply, _, _) = ask(&client, &prompt.request, &going, |_| {}).await;
        assert!(!reply.unwrap().text.is_empty());
    });
}
