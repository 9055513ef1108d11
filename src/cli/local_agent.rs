//! The agent over an index in a folder, for the subcommands that talk to one.
//!
//! It is the agent of the page, with the same defaults: only its hosts are this machine's.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::engine_client::{EngineClient, KEY_VARIABLE, key_from};
use super::local_index::LocalIndex;
use super::model_files::ModelFolders;
use super::native_model::NativeModel;
use crate::agent::{AgentConfig, ConversationalAgent, Hosts};
use crate::chat::message::{ChatReply, ChatRequest};
use crate::error::{Error, Result};
use crate::host::{ChatClient, Clock, EmbeddingModel, IndexFiles, StopSignal};
use crate::index::manifest::{FileEntry, join};
use crate::retrieval::vector_engine::EngineConfig;

/// The agent over a local index, with the endpoint `C`.
pub type LocalAgent<C> = ConversationalAgent<C, MaybeModel<NativeModel>, LocalFiles, SystemClock>;

/// Opens the index at `path` and makes an agent over it. `options` go before the options in the index's manifest. The
/// model is loaded where the index has vectors and `models` is given; when it cannot be had, the agent searches by words
/// and `warn` hears why. The option `vectors` names a vector engine, as in a page; its key may come from the environment.
///
/// # Errors
/// [`Error::Index`] or [`Error::Input`] when the index cannot be read, [`Error::InvalidOption`].
pub fn open<C: ChatClient>(
    path: &Path,
    models: Option<&ModelFolders>,
    options: &Value,
    chat: Option<C>,
    warn: &mut dyn FnMut(String),
) -> Result<LocalAgent<C>> {
    let mut local = LocalIndex::open(path)?;
    let mut options = options.clone();
    let vectors = options.as_object_mut().and_then(|options| options.remove("vectors"));
    if let Some(vectors) = vectors.filter(|vectors| !vectors.is_null()) {
        let mut engine = EngineConfig::from_json(vectors)?;
        engine.api_key = engine.api_key.or_else(|| key_from(KEY_VARIABLE));
        local.index.set_engine(Some(engine));
    }
    let model = match models.filter(|_| local.index.has_dense_leg()).map(|folders| local.load_model(folders)) {
        Some(Ok(model)) => Some(model),
        Some(Err(error)) => {
            warn(format!("searching by words only: {error}"));
            None
        }
        None => None,
    };
    let config = AgentConfig::from_layers(local.manifest.agent.as_ref(), &options)?;
    let files = LocalFiles { folder: local.folder, texts: local.manifest.texts };
    let hosts = Hosts { chat, embedding: MaybeModel(model), files, clock: SystemClock::default() };
    let agent = ConversationalAgent::new(config, hosts)?;
    agent.set_index(local.index);
    Ok(agent)
}

/// No endpoint: the type of one that is never made.
#[derive(Debug, Clone, Copy)]
pub enum NoChat {}

impl ChatClient for NoChat {
    async fn complete(&self, _: &ChatRequest, _: &StopSignal, _: &mut dyn FnMut(&str)) -> Result<ChatReply> {
        match *self {}
    }
}

/// The text shards in the folder of an index. An index that is in memory as a whole has none.
#[derive(Debug, Clone, Default)]
pub struct LocalFiles {
    folder: PathBuf,
    texts: Vec<FileEntry>,
}

impl IndexFiles for LocalFiles {
    async fn text_shard(&self, shard: u32) -> Result<Vec<u8>> {
        let path = self.folder.display();
        let entry = self.texts.get(shard as usize).ok_or_else(|| Error::Input {
            path: path.to_string(),
            reason: format!("the manifest names no text shard {shard}"),
        })?;
        let path = self.folder.join(&entry.path);
        let bytes = std::fs::read(&path)
            .map_err(|error| Error::Input { path: path.display().to_string(), reason: error.to_string() })?;
        join(std::slice::from_ref(entry), vec![bytes])
    }

    async fn ask_engine(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: &str,
        timeout_ms: u64,
    ) -> Result<(u16, String)> {
        let client = EngineClient::new(url)?;
        client.send(reqwest::Method::POST, url, headers, Some(body.to_owned()), timeout_ms).await
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }

    fn monotonic_ms(&self) -> f64 {
        self.0.elapsed().as_secs_f64() * 1000.0
    }
}

/// A model, or none: then the search is lexical.
#[derive(Debug)]
pub struct MaybeModel<E>(pub Option<E>);

impl<E: EmbeddingModel> EmbeddingModel for MaybeModel<E> {
    fn model_id(&self) -> Option<String> {
        self.0.as_ref()?.model_id()
    }

    async fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        match &self.0 {
            Some(model) => model.embed_query(text).await,
            None => Err(Error::Model("there is none".to_owned())),
        }
    }

    fn count_tokens(&self, text: &str) -> Option<usize> {
        self.0.as_ref()?.count_tokens(text)
    }
}
