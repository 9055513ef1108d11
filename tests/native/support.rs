//! The hosts that the agent's tests script: an endpoint, a clock, a model that is not there, and small corpora.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use docent::agent::{AgentConfig, ChatOptions, ConversationalAgent, Hosts};
use docent::chat::message::{ChatReply, ChatRequest};
use docent::error::{Error, Result};
use docent::host::{ChatClient, Clock, EmbeddingModel, IndexFiles, StopSignal};
use docent::retrieval::analyzer::WordList;
use docent::retrieval::document::{Chunk, Document};
use docent::retrieval::index_builder::{Corpus, build, build_vectors};
use docent::retrieval::search_index::{ModelInfo, SearchIndex};
use docent::retrieval::text_store::TextStore;
use docent::turn::{Language, Turn};
use serde_json::{Value, json};

/// Runs a future that waits for nothing but scripted hosts.
pub(super) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    for _ in 0..10_000 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
    panic!("the future waits for something that no test provides");
}

/// What the endpoint does with one request.
pub(super) enum Script {
    /// Sends these pieces, then ends.
    Say(Vec<&'static str>),
    /// Sends these pieces, then fails.
    Fail(Vec<&'static str>, Error),
    /// Sends the pieces and stops the turn after the first, as a reader's click does.
    StopAfterFirst(Vec<&'static str>),
}

/// An endpoint that follows a script; without one left it fails.
#[derive(Clone, Default)]
pub(super) struct ScriptedChat {
    pub(super) script: Rc<RefCell<VecDeque<Script>>>,
    pub(super) requests: Rc<RefCell<Vec<ChatRequest>>>,
}

impl ScriptedChat {
    pub(super) fn new(script: impl IntoIterator<Item = Script>) -> Self {
        Self { script: Rc::new(RefCell::new(script.into_iter().collect())), requests: Rc::default() }
    }
}

impl ChatClient for ScriptedChat {
    async fn complete(
        &self,
        request: &ChatRequest,
        stop: &StopSignal,
        on_delta: &mut dyn FnMut(&str),
    ) -> Result<ChatReply> {
        self.requests.borrow_mut().push(request.clone());
        let step = self.script.borrow_mut().pop_front();
        let (pieces, error, stops) = match step {
            Some(Script::Say(pieces)) => (pieces, None, false),
            Some(Script::Fail(pieces, error)) => (pieces, Some(error), false),
            Some(Script::StopAfterFirst(pieces)) => (pieces, None, true),
            None => return Err(Error::Network { message: "nothing is scripted".into() }),
        };
        let mut text = String::new();
        for piece in pieces {
            if stop.is_stopped() {
                return Err(Error::Cancelled);
            }
            on_delta(piece);
            text.push_str(piece);
            if stops {
                stop.stop();
            }
        }
        match error {
            Some(error) => Err(error),
            None => Ok(ChatReply { text, finish_reason: Some("stop".into()), ..ChatReply::default() }),
        }
    }
}

/// A model that never becomes ready.
#[derive(Clone, Copy, Default)]
pub(super) struct NoModel;

impl EmbeddingModel for NoModel {
    fn model_id(&self) -> Option<String> {
        None
    }

    async fn embed_query(&self, _: &str) -> Result<Vec<f32>> {
        Err(Error::Model("not ready".into()))
    }

    fn count_tokens(&self, _: &str) -> Option<usize> {
        None
    }
}

/// Index files that are all there already.
#[derive(Clone, Copy, Default)]
pub(super) struct NoFiles;

impl IndexFiles for NoFiles {
    async fn text_shard(&self, shard: u32) -> Result<Vec<u8>> {
        Err(Error::Network { message: format!("no shard {shard}") })
    }
}

/// A clock that goes on by one millisecond with every look.
#[derive(Clone, Default)]
pub(super) struct StepClock(Rc<Cell<u64>>);

impl Clock for StepClock {
    fn now_ms(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        1_700_000_000_000 + self.0.get()
    }

    fn monotonic_ms(&self) -> f64 {
        self.0.set(self.0.get() + 1);
        self.0.get() as f64
    }
}

/// An agent over scripted hosts.
pub(super) type TestAgent = ConversationalAgent<ScriptedChat, NoModel, NoFiles, StepClock>;

/// An agent without an endpoint.
pub(super) fn local_agent(options: Value, index: SearchIndex) -> TestAgent {
    agent(options, None, index)
}

/// An agent with these options.
pub(super) fn agent(options: Value, chat: Option<ScriptedChat>, index: SearchIndex) -> TestAgent {
    let config = AgentConfig::from_json(options).unwrap();
    let hosts = Hosts { chat, embedding: NoModel, files: NoFiles, clock: StepClock::default() };
    let agent = ConversationalAgent::new(config, hosts).unwrap();
    agent.set_index(index);
    agent
}

/// One turn with default options.
pub(super) fn ask(agent: &TestAgent, message: &str) -> Turn {
    run(agent.chat(message, ChatOptions::default())).unwrap()
}

/// A page of a test corpus: id, title, tags, text. Every paragraph is a chunk; one that begins with `# ` names the heading
/// of those after it.
pub(super) struct Page(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static [&'static str],
    pub(super) &'static str,
);

/// An index of these pages.
pub(super) fn index(pages: &[Page]) -> SearchIndex {
    SearchIndex::new(build(corpus(pages)).unwrap()).unwrap()
}

/// The same with vectors that a model of this name could have made: one axis a chunk.
pub(super) fn index_with_vectors(pages: &[Page], model: &str) -> SearchIndex {
    let dimension = 16;
    let corpus =
        Corpus { model: Some(ModelInfo { id: model.to_owned(), dimension, languages: Vec::new() }), ..corpus(pages) };
    let vectors: Vec<Vec<f32>> = (0..corpus.chunks.len())
        .map(|chunk| (0..dimension).map(|axis| if axis == chunk % dimension { 1.0 } else { 0.0 }).collect())
        .collect();
    let mut index = SearchIndex::new(build(corpus).unwrap()).unwrap();
    index.set_vectors(build_vectors(model, &vectors).unwrap()).unwrap();
    index
}

/// The same without the texts, which are to be fetched.
pub(super) fn index_without_texts(pages: &[Page]) -> SearchIndex {
    let mut parts = build(corpus(pages)).unwrap();
    parts.texts = TextStore::new(vec![0, parts.chunks.len() as u32]).unwrap();
    SearchIndex::new(parts).unwrap()
}

fn corpus(pages: &[Page]) -> Corpus {
    let (mut documents, mut chunks) = (Vec::new(), Vec::new());
    for (number, Page(id, title, tags, text)) in pages.iter().enumerate() {
        documents.push(Document {
            id: (*id).to_owned(),
            title: (*title).to_owned(),
            url: format!("/{id}"),
            tags: tags.iter().filter(|tag| !tag.starts_with("version/")).map(|&tag| tag.to_owned()).collect(),
            version: tags.iter().find_map(|tag| tag.strip_prefix("version/")).map(str::to_owned),
            language: Language::detect(text).unwrap_or_default(),
            authority: 0.5,
            boost: 1.0,
            ..Document::default()
        });
        let mut headings: Vec<String> = Vec::new();
        for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
            if let Some(heading) = paragraph.strip_prefix("# ") {
                headings = vec![heading.to_owned()];
                continue;
            }
            let ordinal = chunks.iter().filter(|chunk: &&Chunk| chunk.document as usize == number).count();
            chunks.push(Chunk {
                document: number as u32,
                ordinal: ordinal as u32,
                heading_path: headings.clone(),
                anchor: headings.last().map(|heading| heading.to_lowercase().replace(' ', "-")),
                text: paragraph.to_owned(),
            });
        }
    }
    // Corpora of a few sentences repeat no words, so that counting finds none: the words are given.
    let words =
        WordList::new(["虚拟环境", "激活", "安装包", "安装", "镜像", "分词", "文本", "分析", "下载地址", "速度"]);
    Corpus { documents, chunks, words, ..Corpus::default() }
}

/// The turn as JSON without its timings.
pub(super) fn without_times(turn: &Turn) -> Value {
    let mut value = serde_json::to_value(turn).unwrap();
    for step in value["trace"]["steps"].as_array_mut().unwrap() {
        step["ms"] = json!(0);
        if step["detail"].get("firstDeltaMs").is_some() {
            step["detail"]["firstDeltaMs"] = json!(0);
        }
    }
    value
}
