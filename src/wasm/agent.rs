//! The JavaScript class `Agent`.
//!
//! **Invariant:** every method takes `&self` and only hands over; what is decided is decided in [`crate::agent`].

use std::rc::Rc;

use js_sys::{Float32Array, Function, Uint8Array};
use serde::Serialize;
use wasm_bindgen::prelude::*;
use web_sys::AbortSignal;

use super::chat_client::FetchChatClient;
use super::convert::{from_js, function, optional, property, to_js, to_js_error};
use super::fetch::Progress;
use super::options::LoadOptions;
use super::page_clock::PageClock;
use super::page_content_filter::PageContentFilter;
use super::page_embedding_model::{JsEmbedder, PageEmbeddingModel};
use super::page_index_files::PageIndexFiles;
use crate::agent::agent_config::AgentConfig;
use crate::agent::content_filter::WordFilter;
use crate::agent::conversational_agent::{ChatOptions, ConversationalAgent, Hosts};
use crate::error::{Error, IndexError, Result};
use crate::host::{IndexFiles, StopSignal, join_all};
use crate::index::reader;
use crate::retrieval::facets::{Filter, Preferences};
use crate::retrieval::model_manifest::ModelFileRole;
use crate::retrieval::search_index::{SearchRequest, SearchResponse};
use crate::turn::{Language, Mode, Passage};

/// What `search` gives.
#[derive(Serialize)]
struct Found<'a> {
    passages: &'a [Passage],
    mode: Mode,
    warnings: &'a [String],
}

/// What `info` gives.
#[derive(Serialize)]
struct Info<'a> {
    documents: u32,
    chunks: u32,
    languages: &'a [Language],
    model: Option<&'a str>,
}

/// Times that texts are fetched for one search; each may change which passages stand on top.
const MOST_FETCHES: usize = 3;

type PageAgent = ConversationalAgent<FetchChatClient, PageEmbeddingModel, PageIndexFiles, PageClock>;
type JsResult<T> = std::result::Result<T, JsValue>;

/// A guided documentation agent.
#[wasm_bindgen]
pub struct Agent {
    agent: PageAgent,
    files: PageIndexFiles,
    embedding: PageEmbeddingModel,
    /// The site's filter, for calls that name none.
    filter: Filter,
}

#[wasm_bindgen]
impl Agent {
    /// Loads an agent that answers lexically; the vectors and the model may follow.
    ///
    /// # Errors
    /// An `AgentError`: `invalid_option`, or one of the codes of an index.
    pub async fn load(options: JsValue, on_progress: Option<Function>) -> JsResult<Agent> {
        Self::open(&options, &Progress::new(on_progress)).await.map_err(|error| to_js_error(&error))
    }

    /// One turn: the message, and `{ onToken, signal, filter }`.
    ///
    /// # Errors
    /// An `AgentError`: `busy` while a turn runs, `invalid_option`. A failure of the endpoint is no error but a turn that
    /// says so.
    pub async fn chat(&self, message: String, options: JsValue) -> JsResult<JsValue> {
        let stop = StopSignal::default();
        let _listener = AbortListener::attach(&property(&options, "signal"), &stop);
        let on_token = function(&options, "onToken");
        let mut on_delta = |piece: &str| {
            if let Some(on_token) = &on_token {
                // What the page's callback throws is its own affair; the turn goes on.
                let _ = on_token.call1(&JsValue::NULL, &piece.into());
            }
        };
        let run = async {
            let filter = self.filter_of(&options)?;
            let options = ChatOptions { on_delta: Some(&mut on_delta), stop, filter, ..ChatOptions::default() };
            self.agent.chat(&message, options).await
        };
        run.await.map(|turn| to_js(&turn)).map_err(|error| to_js_error(&error))
    }

    /// Passages for a text that may be unfinished: `{ topK, mode, filter, embedding }`.
    ///
    /// # Errors
    /// An `AgentError`: `invalid_option`, or one of the codes of an index.
    pub async fn search(&self, text: String, options: JsValue) -> JsResult<JsValue> {
        let found = self.find(&text, &options).await.map_err(|error| to_js_error(&error))?;
        Ok(to_js(&Found { passages: &found.passages, mode: found.mode, warnings: &found.warnings }))
    }

    /// Forgets the conversation, not the log.
    ///
    /// # Errors
    /// An `AgentError` with the code `busy`.
    pub fn reset(&self) -> JsResult<()> {
        self.agent.reset().map_err(|error| to_js_error(&error))
    }

    /// The conversation as text.
    #[must_use]
    pub fn export(&self) -> String {
        self.agent.export()
    }

    /// Replaces the conversation by an exported one.
    ///
    /// # Errors
    /// An `AgentError` with the code `storage` or `busy`; the conversation is then as it was.
    pub fn restore(&self, saved: &str) -> JsResult<()> {
        self.agent.restore(saved).map_err(|error| to_js_error(&error))
    }

    /// Figures over the session.
    #[must_use]
    pub fn metrics(&self) -> JsValue {
        to_js(&self.agent.metrics())
    }

    /// The records as JSON lines.
    #[wasm_bindgen(js_name = exportLog)]
    #[must_use]
    pub fn export_log(&self) -> String {
        self.agent.export_log()
    }

    /// Notes what the reader did: `{ kind: "thumbs_up" }`, `{ kind: "source_followed", url }` and so on.
    ///
    /// # Errors
    /// An `AgentError` with the code `invalid_option`.
    #[wasm_bindgen(js_name = recordEvent)]
    pub fn record_event(&self, event: &JsValue) -> JsResult<()> {
        from_js(event, "event").and_then(|event| self.agent.record_event(event)).map_err(|error| to_js_error(&error))
    }

    /// What the index says of itself.
    #[must_use]
    pub fn info(&self) -> JsValue {
        let manifest = self.files.manifest();
        to_js(&Info {
            documents: manifest.documents,
            chunks: manifest.chunks,
            languages: &manifest.languages,
            model: manifest.model.as_ref().map(|model| model.id.as_str()),
        })
    }

    /// The model to load: what `Embedder.load` takes as its description; `null` where there is none to load.
    #[must_use]
    pub fn model(&self) -> JsValue {
        self.files.model().map_or(JsValue::NULL, to_js)
    }

    /// Loads a file of the model, `model` or `tokenizer`, into JavaScript's memory.
    ///
    /// # Errors
    /// An `AgentError` with the code `model`.
    #[wasm_bindgen(js_name = fetchModelFile)]
    pub async fn fetch_model_file(&self, name: String, on_progress: Option<Function>) -> JsResult<Uint8Array> {
        let role = if name == "tokenizer" { ModelFileRole::Tokenizer } else { ModelFileRole::Network };
        let files = self.files.clone();
        files.model_file(role, &name, &Progress::new(on_progress)).await.map_err(|error| to_js_error(&error))
    }

    /// Loads the vectors of the index.
    ///
    /// # Errors
    /// An `AgentError` with one of the codes of an index.
    #[wasm_bindgen(js_name = loadVectors)]
    pub async fn load_vectors(&self, on_progress: Option<Function>) -> JsResult<()> {
        self.add_vectors(&Progress::new(on_progress)).await.map_err(|error| to_js_error(&error))
    }

    /// Gives the agent an embedding model: `{ modelId, embedQuery, countTokens }`.
    #[wasm_bindgen(js_name = attachEmbedder)]
    pub fn attach_embedder(&self, embedder: JsEmbedder) {
        self.embedding.attach(embedder);
    }
}

impl Agent {
    async fn open(options: &JsValue, progress: &Progress) -> Result<Self> {
        let options = LoadOptions::from_js(options)?;
        let files =
            PageIndexFiles::open(&options.index, options.model.clone(), options.vectors.clone(), progress).await?;
        let config = AgentConfig::from_layers(files.manifest().agent.as_ref(), &options.agent)?;
        let core = files.core(progress).await?;
        let embedding = PageEmbeddingModel::default();
        let chat = options.llm.clone().map(FetchChatClient::new).transpose()?.map(|(client, warnings)| {
            warnings.iter().for_each(|warning| web_sys::console::warn_1(&format!("docent: {warning}").into()));
            client
        });
        let words = WordFilter::new(config.content_filter.clone());
        let hosts = Hosts { chat, embedding: embedding.clone(), files: files.clone(), clock: PageClock };
        let agent = ConversationalAgent::new(config, hosts)?;
        let mut core = reader::open_core(&core)?;
        core.index.set_engine(files.engine().cloned());
        agent.set_index(core.index);
        agent.set_content_filter(Rc::new(PageContentFilter::new(words, options.before, options.after)));
        if let Some(sink) = options.sink {
            agent.set_sink(Some(Box::new(move |record| {
                // What the page's sink throws is its own affair; the record stays in the log.
                let _ = sink.call1(&JsValue::NULL, &to_js(record));
            })));
        }
        Ok(Self { agent, files, embedding, filter: options.filter.unwrap_or(core.meta.default_filter) })
    }

    /// Loads the vectors, unless an engine has them.
    async fn add_vectors(&self, progress: &Progress) -> Result<()> {
        if self.files.engine().is_some() {
            return Ok(());
        }
        if let Some(bytes) = self.files.vectors(progress).await? {
            let vectors = reader::read_vectors(&bytes)?;
            self.agent.with_index(|index| index.set_vectors(vectors)).unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    /// The filter that a call names, or the site's.
    fn filter_of(&self, options: &JsValue) -> Result<Filter> {
        Ok(optional(options, "filter")?.unwrap_or_else(|| self.filter.clone()))
    }

    /// The option `embedding` of a search: a unit vector of the index's model, made elsewhere.
    fn given_embedding(&self, options: &JsValue) -> Result<Option<Vec<f32>>> {
        let value = property(options, "embedding");
        if value.is_undefined() || value.is_null() {
            return Ok(None);
        }
        let invalid = |reason: String| Error::InvalidOption { name: "embedding".to_owned(), reason };
        let numbers = js_sys::Array::is_array(&value) || value.is_instance_of::<Float32Array>();
        if !numbers {
            return Err(invalid("a Float32Array or an array of numbers is allowed".to_owned()));
        }
        let embedding = Float32Array::new(&value).to_vec();
        let Some(model) = &self.files.manifest().model else {
            return Err(invalid("the index was built without vectors".to_owned()));
        };
        if embedding.len() != model.dimension {
            return Err(invalid(format!("it has {} dimensions, the index has {}", embedding.len(), model.dimension)));
        }
        if embedding.iter().any(|value| !value.is_finite()) {
            return Err(invalid("it holds a number that is not finite".to_owned()));
        }
        Ok(Some(embedding))
    }

    async fn find(&self, text: &str, options: &JsValue) -> Result<SearchResponse> {
        let mode = optional(options, "mode")?.unwrap_or_else(|| self.agent.mode());
        let top_k = optional(options, "topK")?.unwrap_or(self.agent.config().policy.top_k);
        let filter = self.filter_of(options)?;
        let embedding = match (mode, self.given_embedding(options)?) {
            (Mode::Lexical, _) => None,
            (_, Some(given)) => Some(given),
            _ if self.agent.mode() == Mode::Hybrid => Some(self.agent.embed_query(text).await?),
            _ => None,
        };
        let request = SearchRequest {
            query: text,
            embedding: embedding.as_deref(),
            mode,
            top_k,
            filter,
            preferences: Preferences::default(),
            prefix: true,
            engine: None,
        };
        let nothing = || Error::Index(IndexError::Empty);
        let missing = self.agent.with_index(|index| index.missing_postings(&request)).ok_or_else(nothing)?;
        let fetched = join_all(missing.iter().map(|shard| self.files.postings_shard(*shard))).await;
        for (shard, bytes) in missing.into_iter().zip(fetched) {
            let bytes = reader::read_postings(&bytes?)?;
            self.agent.with_index(|index| index.set_postings(shard, bytes)).ok_or_else(nothing)??;
        }
        let mut warnings = Vec::new();
        let engine = self.agent.ask_engine(&request).await.unwrap_or_else(|error| {
            warnings.push(format!("{error}; lexical search goes on"));
            None
        });
        if request.embedding.is_some() && !self.agent.with_index(|index| index.has_dense_leg()).unwrap_or(false) {
            warnings.push("the vectors of the index are not loaded; lexical search goes on".to_owned());
        }
        // Where the engine did not answer, a search by words is what is left; a vector alone finds nothing.
        let embedding = request.embedding.filter(|_| self.files.engine().is_none() || engine.is_some());
        let request = SearchRequest { engine: engine.as_ref(), embedding, ..request };
        let mut fetches = 0;
        loop {
            let mut found = self.agent.with_index(|index| index.search(&request)).ok_or_else(nothing)??;
            if found.missing_texts.is_empty() || fetches == MOST_FETCHES {
                found.warnings.splice(0..0, warnings);
                return Ok(found);
            }
            fetches += 1;
            let fetched = join_all(found.missing_texts.iter().map(|shard| self.files.text_shard(*shard))).await;
            for (shard, bytes) in found.missing_texts.into_iter().zip(fetched) {
                let texts = reader::read_texts(&bytes?)?;
                self.agent.with_index(|index| index.set_texts(shard, texts)).ok_or_else(nothing)??;
            }
        }
    }
}

/// Stops a turn when the page's signal aborts. Dropping it takes the listener off the signal.
struct AbortListener {
    signal: AbortSignal,
    on_abort: Closure<dyn FnMut()>,
}

impl AbortListener {
    fn attach(signal: &JsValue, stop: &StopSignal) -> Option<Self> {
        let signal: AbortSignal = signal.clone().dyn_into().ok()?;
        if signal.aborted() {
            stop.stop();
        }
        let stop = stop.clone();
        let on_abort = Closure::new(move || stop.stop());
        signal.add_event_listener_with_callback("abort", on_abort.as_ref().unchecked_ref()).ok()?;
        Some(Self { signal, on_abort })
    }
}

impl Drop for AbortListener {
    fn drop(&mut self) {
        // The signal outlives the turn where the page uses it for more than one.
        let _ = self.signal.remove_event_listener_with_callback("abort", self.on_abort.as_ref().unchecked_ref());
    }
}
