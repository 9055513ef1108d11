//! `docent chat` as a program: what it prints, how it ends, what it keeps.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A folder of this test, emptied when it starts.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The index of three small pages.
fn index(folder: &Path) -> PathBuf {
    let docs = folder.join("docs");
    std::fs::create_dir_all(&docs).unwrap();
    let pages = [
        (
            "venv.md",
            "# Virtual environments\n\nCreate a virtual environment with `python -m venv .venv` in your project's folder.\n\n## Activate\n\nOn Windows run `.venv\\Scripts\\activate`; elsewhere `source .venv/bin/activate`.\n",
        ),
        (
            "mirror.md",
            "# Slow downloads\n\nWhen pip downloads packages slowly, configure a mirror with `pip config set global.index-url`.\n",
        ),
        ("zh.md", "# 虚拟环境\n\n用 `python -m venv .venv` 创建虚拟环境，然后激活它。\n"),
    ];
    for (name, text) in pages {
        std::fs::write(docs.join(name), text).unwrap();
    }
    let out = folder.join("index");
    let status = Command::new(env!("CARGO_BIN_EXE_docent"))
        .arg("index")
        .arg(&docs)
        .arg("--out")
        .arg(&out)
        .arg("--no-embeddings")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    out
}

fn chat(index: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_docent"))
        .arg("chat")
        .arg(index)
        .args(arguments)
        .env_remove("DOCENT_LLM_ENDPOINT")
        .env_remove("DOCENT_LLM_MODEL")
        .env("DOCENT_LLM_KEY", "secret-key-1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    match child.stdin.take().unwrap().write_all(input) {
        // It had refused its arguments and was gone before it read a word.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        written => written.unwrap(),
    }
    child.wait_with_output().unwrap()
}

/// The turns that `--json` printed; every line must be one.
fn turns(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// An endpoint that answers every request with these pieces, and gives the bodies it has seen.
fn endpoint(pieces: &'static [&'static str], requests: usize) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut bodies = Vec::new();
        for _ in 0..requests {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            loop {
                let read = stream.read(&mut buffer).unwrap();
                request.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&request);
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length: usize = head
                    .lines()
                    .find_map(|line| {
                        line.to_ascii_lowercase().strip_prefix("content-length:").map(|n| n.trim().parse().unwrap())
                    })
                    .unwrap();
                if body.len() >= length {
                    break;
                }
            }
            let mut answer =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
            for piece in pieces {
                let delta = serde_json::json!({"choices": [{"delta": {"content": piece}}]});
                answer.push_str(&format!("data: {delta}\n\n"));
            }
            answer.push_str("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
            stream.write_all(answer.as_bytes()).unwrap();
            bodies.push(String::from_utf8_lossy(&request).into_owned());
        }
        bodies
    });
    (url, server)
}

#[test]
fn json_gives_one_turn_a_line_and_nothing_else() {
    let folder = folder("chat-json");
    let index = index(&folder);
    let input = "How do I create a virtual environment?\n\nand on Windows?\r\n怎么创建虚拟环境？\nthanks!".as_bytes();
    let output = chat(&index, &["--json", "--seed", "7"], input);
    let found = turns(&output);
    assert_eq!(found.len(), 4);
    for field in [
        "reply",
        "intent",
        "followUp",
        "action",
        "reason",
        "rewrittenQuery",
        "sources",
        "suggestions",
        "options",
        "historyLength",
        "mode",
        "usage",
        "trace",
        "error",
    ] {
        assert!(found[0].get(field).is_some(), "{field}");
    }
    assert_eq!(found[0]["sources"][0]["title"], "Virtual environments");
    assert_eq!(found[0]["mode"], "lexical");
    assert!(found[1]["rewrittenQuery"].as_str().unwrap().contains("Windows"));
    assert!(found[2]["reply"].as_str().unwrap().contains("虚拟环境"));
    assert_eq!(found[3]["intent"], "chitchat");
    // The same seed replays the same replies.
    let again = turns(&chat(&index, &["--json", "--seed", "7"], input));
    for (first, second) in found.iter().zip(&again) {
        assert_eq!(first["reply"], second["reply"]);
    }
    // Bytes that are no text, a line of control characters, no input at all.
    assert_eq!(turns(&chat(&index, &["--json"], b"\xff\xfe venv?\n\x01\x02\n")).len(), 2);
    assert_eq!(turns(&chat(&index, &["--json"], b"")).len(), 0);
}

#[test]
fn a_session_is_kept_and_taken_up_again() {
    let folder = folder("chat-session");
    let index = index(&folder);
    let session = folder.join("session.json");
    let log = folder.join("log.jsonl");
    let arguments = ["--json", "--session", session.to_str().unwrap(), "--log", log.to_str().unwrap()];
    let first = turns(&chat(&index, &arguments, b"How do I create a virtual environment?\n"));
    assert_eq!(first[0]["historyLength"], 2);
    let second = turns(&chat(&index, &arguments, b"and on Windows?\n"));
    assert_eq!(second[0]["historyLength"], 4);
    assert!(second[0]["rewrittenQuery"].as_str().unwrap().contains("virtual"), "{}", second[0]["rewrittenQuery"]);
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 2);
    // A damaged session is refused and left as it is.
    std::fs::write(&session, "{ not json").unwrap();
    let refused = chat(&index, &arguments, b"hi\n");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("saved data cannot be used"));
    assert_eq!(std::fs::read_to_string(&session).unwrap(), "{ not json");
}

#[test]
fn an_endpoint_writes_the_reply_from_the_passages() {
    let folder = folder("chat-endpoint");
    let index = index(&folder);
    let (url, server) = endpoint(
        &["Run `python -m venv .venv` ", "in your project's folder [1]", "[9]. See [this](https://evil.example)."],
        1,
    );
    let output =
        chat(&index, &["--llm", &url, "--llm-model", "m", "--trace"], b"How do I create a virtual environment?\n");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert!(text.contains("Run `python -m venv .venv` in your project's folder [1]. See this."), "{text}");
    assert!(text.contains("[1] Virtual environments"), "{text}");
    let trace = String::from_utf8_lossy(&output.stderr);
    assert!(
        trace.contains("generate") && trace.contains("\"linksRemoved\":1") && !trace.contains("secret-key-1"),
        "{trace}"
    );
    let request = server.join().unwrap().remove(0);
    assert!(request.contains("Bearer secret-key-1"));
    assert!(request.contains("\"model\":\"m\"") && request.contains("python -m venv"), "{request}");
}

#[test]
fn an_endpoint_that_is_away_leaves_the_local_answer() {
    let folder = folder("chat-away");
    let index = index(&folder);
    // Nobody listens at port 1; a port that was free a moment ago may be the next test's server.
    let url = "http://127.0.0.1:1/v1";
    let options = "{\"maxRetries\":0}";
    let found = turns(&chat(
        &index,
        &["--json", "--llm", url, "--llm-options", options],
        b"How do I create a virtual environment?\nHow do I configure a mirror?\n",
    ));
    assert_eq!(found.len(), 2);
    for (turn, words) in found.iter().zip(["python -m venv", "index-url"]) {
        assert_eq!(turn["error"]["kind"], "network");
        assert!(turn["reply"].as_str().unwrap().contains(words), "{}", turn["reply"]);
    }
}

#[test]
fn what_cannot_be_used_is_said_in_one_sentence() {
    let folder = folder("chat-errors");
    let index = index(&folder);
    let check = |index: &Path, arguments: &[&str], expected: &str| {
        let output = chat(index, arguments, b"hi\n");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(expected) && said.lines().count() == 1 && output.stdout.is_empty(), "{said}");
    };
    check(&folder.join("nowhere"), &[], "nowhere");
    check(&index, &["--llm", "ftp://x"], "llm.endpoint");
    check(&index, &["--grounding", "loose"], "grounding");
    check(&index, &["--options", "[1"], "no JSON object");
    check(&index, &["--llm", "http://127.0.0.1:1", "--llm-options", "{\"apikey\":\"k\"}"], "apikey");
}

/// An endpoint that sends one piece and then holds the line until the client has gone; the requests after the first are
/// answered whole.
#[cfg(unix)]
fn holding_endpoint() -> (String, std::sync::mpsc::Receiver<&'static str>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for number in 0.. {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let mut buffer = [0; 65536];
            // The request comes in one or a few pieces; its end does not matter to what is answered.
            let _ = stream.read(&mut buffer).unwrap();
            let delta =
                |text: &str| format!("data: {}\n\n", serde_json::json!({"choices": [{"delta": {"content": text}}]}));
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            if number == 0 {
                stream.write_all(format!("{head}{}", delta("The first piece")).as_bytes()).unwrap();
                while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
                tell.send("the client has gone").unwrap();
            } else {
                let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
                stream.write_all(format!("{head}{}{end}", delta("A whole reply [1].")).as_bytes()).unwrap();
            }
        }
    });
    (url, told)
}

#[cfg(unix)]
fn interrupt(child: &std::process::Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

/// Reads on until `text` has come.
#[cfg(unix)]
fn read_until(out: &mut impl Read, seen: &mut String, text: &str) {
    let mut buffer = [0; 4096];
    while !seen.contains(text) {
        let read = out.read(&mut buffer).unwrap();
        assert!(read > 0, "the output ended before {text:?}: {seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_stops_the_reply_and_the_conversation_goes_on() {
    let folder = folder("chat-interrupt");
    let index = index(&folder);
    let (url, told) = holding_endpoint();
    let mut child = Command::new(env!("CARGO_BIN_EXE_docent"))
        .arg("chat")
        .arg(&index)
        .args(["--llm", &url, "--llm-model", "m", "--trace"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut seen = String::new();
    input.write_all(b"How do I create a virtual environment?\n").unwrap();
    read_until(&mut out, &mut seen, "The first piece");
    interrupt(&child);
    read_until(&mut out, &mut seen, "(The reply broke off here.)");
    assert_eq!(told.recv_timeout(std::time::Duration::from_secs(20)), Ok("the client has gone"));
    // The stopped reply is no reason to leave: the next question is answered.
    input.write_all(b"How do I configure a mirror?\n").unwrap();
    read_until(&mut out, &mut seen, "A whole reply [1].");
    drop(input);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let mut trace = String::new();
    child.stderr.take().unwrap().read_to_string(&mut trace).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(trace.contains("(cancelled)"), "{trace}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_between_two_questions_leaves() {
    let folder = folder("chat-leave");
    let index = index(&folder);
    let mut child = Command::new(env!("CARGO_BIN_EXE_docent"))
        .arg("chat")
        .arg(&index)
        .env_remove("DOCENT_LLM_ENDPOINT")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut out = child.stdout.take().unwrap();
    input.write_all(b"How do I create a virtual environment?\n").unwrap();
    read_until(&mut out, &mut String::new(), "python -m venv");
    interrupt(&child);
    // The input is still open: it is the interrupt that ends the program.
    assert!(child.wait().unwrap().success());
    drop(input);
}
