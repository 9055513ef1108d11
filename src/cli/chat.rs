//! `docent chat INDEX`: the page's agent in the terminal.
//!
//! Input: one message a line on standard input. Output: the reply as it is made, with its links; with `--json` one turn a
//! line and nothing else. Ctrl-C stops the running reply, the end of the input leaves.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::chat_client::HttpChatClient;
use super::local_agent::{self, LocalAgent};
use super::model_files::ModelFolders;
use super::terminal;
use crate::agent::ChatOptions;
use crate::chat::request::LlmConfig;
use crate::error::{Error, Result};
use crate::host::StopSignal;
use crate::turn::{Action, Failure, Source, Turn};

/// Longest line of input, in bytes; the agent's own limit on a message is lower, and says so in a sentence.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Arguments of `docent chat`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder that `docent index` wrote, or its manifest.json.
    pub index: PathBuf,
    /// OpenAI-compatible endpoint that writes the replies; its key comes from DOCENT_LLM_KEY alone. Without one the agent
    /// answers from the documentation by itself.
    #[arg(long, value_name = "URL", env = "DOCENT_LLM_ENDPOINT")]
    pub llm: Option<String>,
    /// Model to ask the endpoint for.
    #[arg(long, value_name = "MODEL", env = "DOCENT_LLM_MODEL")]
    pub llm_model: Option<String>,
    /// More options of the endpoint, as JSON: headers, body, timeouts, apiVersion …
    #[arg(long, value_name = "JSON", requires = "llm")]
    pub llm_options: Option<String>,
    /// Search by words only, without the embedding model.
    #[arg(long)]
    pub no_model: bool,
    /// Folder in which models are looked for first; also DOCENT_MODELS.
    #[arg(long, value_name = "DIR")]
    pub models_dir: Option<PathBuf>,
    /// Which steps beside the reply may use the endpoint.
    #[arg(long, value_name = "local|llm")]
    pub assist: Option<String>,
    /// Whether a reply may hold more than the documentation says.
    #[arg(long, value_name = "strict|open")]
    pub grounding: Option<String>,
    /// Seed of every random choice, so that a session replays.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// More options of the agent, as JSON; they go before those of the index.
    #[arg(long, value_name = "JSON")]
    pub options: Option<String>,
    /// File that the session is taken up from, if it exists, and kept in.
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    /// File that the records of the session are written to, as JSON lines, for `docent report`.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Show the steps of each turn, on standard error.
    #[arg(long)]
    pub trace: bool,
    /// Print each turn as one line of JSON and nothing else.
    #[arg(long)]
    pub json: bool,
}

type Agent = LocalAgent<HttpChatClient>;

/// Runs `docent chat`.
///
/// # Errors
/// [`Error::Index`] and [`Error::Input`] for what cannot be opened, [`Error::InvalidOption`] for an option,
/// [`Error::Storage`] for a session that cannot be taken up.
pub fn run(args: &Args) -> Result<ExitCode> {
    let agent = open(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Input { path: "tokio".to_owned(), reason: error.to_string() })?;
    let result = runtime.block_on(converse(args, &agent));
    // A read of standard input cannot be called off; waiting for it would wait for one more line.
    runtime.shutdown_background();
    result.map(|()| ExitCode::SUCCESS)
}

fn open(args: &Args) -> Result<Agent> {
    let folders = (!args.no_model).then(|| ModelFolders::new(args.models_dir.as_deref()));
    let options = Value::Object(agent_options(args)?);
    let agent = local_agent::open(&args.index, folders.as_ref(), &options, chat_client(args)?, &mut |warning| {
        eprintln!("warning: {warning}");
    })?;
    if let Some(path) = &args.session {
        match std::fs::read_to_string(path) {
            Ok(json) => agent.restore(&json)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unusable(path, "read", &error)),
        }
    }
    Ok(agent)
}

/// The endpoint, if there is one. An empty address, as an unset variable of a script gives, is none.
fn chat_client(args: &Args) -> Result<Option<HttpChatClient>> {
    let Some(endpoint) = args.llm.as_deref().filter(|endpoint| !endpoint.is_empty()) else { return Ok(None) };
    let mut options = json_object("llm-options", args.llm_options.as_deref())?;
    options.insert("endpoint".to_owned(), endpoint.into());
    if let Some(model) = args.llm_model.as_deref().filter(|model| !model.is_empty()) {
        options.insert("model".to_owned(), model.into());
    }
    let mut config = LlmConfig::from_json(Value::Object(options))?;
    if let Ok(key) = std::env::var("DOCENT_LLM_KEY")
        && !key.is_empty()
    {
        config.api_key = Some(key);
    }
    HttpChatClient::new(config).map(Some)
}

/// The agent's options that go before those of the index: `--options`, and the single flags over them.
fn agent_options(args: &Args) -> Result<Map<String, Value>> {
    let mut options = json_object("options", args.options.as_deref())?;
    for (name, value) in [("assist", &args.assist), ("grounding", &args.grounding)] {
        if let Some(value) = value {
            options.insert(name.to_owned(), value.as_str().into());
        }
    }
    if let Some(seed) = args.seed {
        options.insert("seed".to_owned(), seed.into());
    }
    Ok(options)
}

fn json_object(name: &str, text: Option<&str>) -> Result<Map<String, Value>> {
    let Some(text) = text else { return Ok(Map::new()) };
    // The text itself is not repeated: it may hold a key.
    serde_json::from_str(text)
        .map_err(|error| Error::InvalidOption { name: name.to_owned(), reason: format!("is no JSON object: {error}") })
}

async fn converse(args: &Args, agent: &Agent) -> Result<()> {
    let mut input = BufReader::new(tokio::io::stdin());
    let talks = std::io::stdin().is_terminal() && !args.json;
    if talks {
        eprintln!("Ask about the documentation. Ctrl-C stops a reply, Ctrl-D leaves.");
    }
    loop {
        if talks {
            show("\n> ")?;
        }
        let line = tokio::select! {
            line = next_line(&mut input) => line?,
            interrupted = tokio::signal::ctrl_c() => {
                if talks && interrupted.is_ok() {
                    eprintln!("\nCtrl-D leaves.");
                    continue;
                }
                return Ok(());
            }
        };
        let Some(line) = line else {
            if talks {
                show("\n")?;
            }
            return Ok(());
        };
        let message = line.trim();
        if message.is_empty() {
            continue;
        }
        let turn = one_turn(args, agent, message).await;
        // Kept after each turn: whatever happens next, nothing is lost.
        if let Some(path) = &args.session {
            write_whole(path, &agent.export())?;
        }
        if let Some(path) = &args.log {
            write_whole(path, &agent.export_log())?;
        }
        match turn {
            Ok(turn) => {
                if args.json {
                    terminal::line(&serde_json::to_string(&turn).unwrap_or_default())?;
                } else {
                    show(&after_reply(&turn))?;
                }
                if args.trace {
                    print_trace(&turn);
                }
                if talks && turn.action == Action::End {
                    return Ok(());
                }
            }
            Err(error) if args.json => terminal::line(&json!({ "error": Failure::from(&error) }).to_string())?,
            Err(error) => eprintln!("docent: {error}"),
        }
    }
}

/// One turn; Ctrl-C stops it.
async fn one_turn(args: &Args, agent: &Agent, message: &str) -> Result<Turn> {
    let stop = StopSignal::default();
    let mut failed = None;
    let mut on_delta = |piece: &str| {
        if let Err(error) = show(piece) {
            failed.get_or_insert(error);
        }
    };
    let options = ChatOptions {
        on_delta: if args.json { None } else { Some(&mut on_delta) },
        stop: stop.clone(),
        ..ChatOptions::default()
    };
    let turn = {
        let mut turn = pin!(agent.chat(message, options));
        loop {
            tokio::select! {
                turn = &mut turn => break turn,
                Ok(()) = tokio::signal::ctrl_c(), if !stop.is_stopped() => stop.stop(),
            }
        }
    };
    match failed {
        Some(error) => Err(error),
        None => turn,
    }
}

/// The next line, without its end; `None` at the end of the input. Bytes that are no UTF-8 are replaced.
async fn next_line(input: &mut BufReader<tokio::io::Stdin>) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    let unreadable = |error: std::io::Error| unusable(Path::new("standard input"), "read", &error);
    loop {
        let part = input.fill_buf().await.map_err(unreadable)?;
        if part.is_empty() {
            return Ok((!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned()));
        }
        let (length, ended) = match part.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (part.len(), false),
        };
        bytes.extend_from_slice(&part[..length.min(MAX_LINE_BYTES - bytes.len())]);
        input.consume(length);
        if ended {
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
}

/// What follows the reply: its links where it was generated, what is not supported, and that it failed.
fn after_reply(turn: &Turn) -> String {
    let mut text = "\n".to_owned();
    // A local reply carries its links itself.
    if turn.usage.is_some() && !turn.sources.is_empty() {
        text.push('\n');
        for source in &turn.sources {
            text.push_str(&describe(source));
        }
    }
    for (start, end) in &turn.unsupported {
        if let Some(sentence) = turn.reply.get(*start..*end) {
            text.push_str(&format!("(not found in these docs: “{sentence}”)\n"));
        }
    }
    text
}

fn describe(source: &Source) -> String {
    let place: Vec<&str> =
        std::iter::once(source.title.as_str()).chain(source.heading_path.iter().map(String::as_str)).collect();
    format!("[{}] {}  {}\n", source.n, place.join(" › "), source.url)
}

fn print_trace(turn: &Turn) {
    eprintln!(
        "-- {} ({}), intent {}, mode {}{}",
        word(&turn.action),
        turn.reason,
        word(&turn.intent),
        word(&turn.mode),
        turn.rewritten_query.as_ref().map_or_else(String::new, |query| format!(", searched “{query}”"))
    );
    for step in &turn.trace.steps {
        eprintln!("   {:<10} {:>8.1} ms  {}", step.step, step.ms, step.detail);
    }
    for warning in &turn.trace.warnings {
        eprintln!("   warning: {warning}");
    }
    if let Some(error) = &turn.error {
        eprintln!("   error: {} ({})", error.cause, error.code);
    }
}

/// The name of a value as it stands in the JSON of a turn.
fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Writes to standard output at once. A reader that has closed the pipe is not an error.
fn show(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(unusable(Path::new("standard output"), "written", &error))
        }
        _ => Ok(()),
    }
}

/// Replaces a file as a whole, so that a crash in the middle leaves the old one.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(|error| unusable(path, "written", &error))
}

fn unusable(path: &Path, verb: &str, error: &std::io::Error) -> Error {
    Error::Input { path: path.display().to_string(), reason: format!("cannot be {verb}: {error}") }
}
