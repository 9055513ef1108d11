//! An index in a folder of this machine, for the subcommands that search one.
//!
//! Input: the folder or its `manifest.json`. Output: a [`LocalIndex`] that reads text shards when a search needs them.

use std::path::{Path, PathBuf};

use crate::cli::engine_client::EngineClient;
use crate::cli::model_files::{FoundModel, ModelFolders};
use crate::cli::native_model::NativeModel;
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::index::manifest::{FileEntry, MANIFEST_FILE, Manifest, join};
use crate::index::reader::{self, Meta};
use crate::retrieval::embedding_model::Kind;
use crate::retrieval::search_index::{SearchIndex, SearchRequest, SearchResponse};
use crate::retrieval::vector_engine::EngineAnswer;

/// Rounds of "search, fetch the missing texts, search again": the second stage may bring up other hits each time.
const MAX_ROUNDS: usize = 8;

/// An opened index.
#[derive(Debug)]
pub struct LocalIndex {
    /// Its folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// What the core says about itself.
    pub meta: Meta,
    /// The index, with its vectors where it has any.
    pub index: SearchIndex,
}

impl LocalIndex {
    /// Opens the index in `path`: a folder, or the manifest in it.
    ///
    /// # Errors
    /// [`Error::Input`] when a file cannot be read, [`Error::Index`] when it is not what it should be.
    pub fn open(path: &Path) -> Result<Self> {
        let manifest_path = if path.is_dir() { path.join(MANIFEST_FILE) } else { path.to_owned() };
        let folder = manifest_path.parent().unwrap_or(Path::new("")).to_owned();
        let manifest = Manifest::from_bytes(&read(&manifest_path)?)?;
        let core = reader::open_core(&joined(&folder, &manifest.core)?)?;
        let mut index = core.index;
        for (shard, entry) in manifest.postings.iter().enumerate() {
            let bytes = joined(&folder, std::slice::from_ref(entry))?;
            index.set_postings(shard as u32, reader::read_postings(&bytes)?)?;
        }
        if !manifest.vectors.is_empty() {
            index.set_vectors(reader::read_vectors(&joined(&folder, &manifest.vectors)?)?)?;
        }
        Ok(Self { folder, manifest, meta: core.meta, index })
    }

    /// Loads the model that the index was built with: its copy beside the index, else the one in the usual folders.
    ///
    /// # Errors
    /// [`Error::Model`] when the index names none or its files are not here.
    pub fn load_model(&self, folders: &ModelFolders) -> Result<NativeModel> {
        let info = self.manifest.model.as_ref().ok_or_else(|| {
            Error::Model("the index was built without embeddings; build it again without --no-embeddings".to_owned())
        })?;
        let beside = self
            .manifest
            .model_url
            .as_ref()
            .map(|url| FoundModel { info: info.clone(), folder: self.folder.join(url) });
        let beside = beside.filter(|model| info.files.iter().all(|file| model.folder.join(&file.path).is_file()));
        match beside.or_else(|| folders.find(info)) {
            Some(model) => model.load(),
            None => Err(Error::Model(format!(
                "the files of {} are not here; name their folder with --models-dir, or search with --mode lexical",
                info.id
            ))),
        }
    }

    /// Reads the texts of a shard, unless they are there.
    ///
    /// # Errors
    /// As [`LocalIndex::open`].
    pub fn load_texts(&mut self, shard: u32) -> Result<()> {
        let entry = self.manifest.texts.get(shard as usize).ok_or_else(|| Error::Input {
            path: self.folder.display().to_string(),
            reason: format!("the manifest names no text shard {shard}"),
        })?;
        let bytes = joined(&self.folder, std::slice::from_ref(entry))?;
        self.index.set_texts(shard, reader::read_texts(&bytes)?)
    }

    /// Reads the texts of all shards.
    ///
    /// # Errors
    /// As [`LocalIndex::open`].
    pub fn load_all_texts(&mut self) -> Result<()> {
        (0..self.manifest.texts.len() as u32).try_for_each(|shard| self.load_texts(shard))
    }

    /// Searches, and reads the texts that the hits need.
    ///
    /// # Errors
    /// As [`SearchIndex::search`] and [`LocalIndex::open`].
    pub fn search(&mut self, request: &SearchRequest<'_>) -> Result<SearchResponse> {
        let mut response = self.index.search(request)?;
        for _ in 0..MAX_ROUNDS {
            if response.missing_texts.is_empty() {
                break;
            }
            for shard in response.missing_texts {
                self.load_texts(shard)?;
            }
            response = self.index.search(request)?;
        }
        Ok(response)
    }
}

/// Asks the vector engine of an index what a search needs of it; `None` where the index names none.
///
/// # Errors
/// [`Error::VectorEngine`] with what went wrong.
pub fn ask_engine(index: &SearchIndex, request: &SearchRequest<'_>) -> Result<Option<EngineAnswer>> {
    let Some(call) = index.engine_call(request)? else { return Ok(None) };
    let client = EngineClient::new(&call.url)?;
    let (status, body) = terminal::block_on(client.send(
        reqwest::Method::POST,
        &call.url,
        &call.headers,
        Some(call.body.clone()),
        call.timeout_ms,
    ))??;
    index.engine_answer(&call, status, &body).map(Some)
}

/// The embedding of a query by a native model.
///
/// # Errors
/// [`Error::Model`] when the model cannot run.
pub fn embed_query(model: &NativeModel, query: &str) -> Result<Vec<f32>> {
    model.encoder().embed(query, Kind::Query)
}

fn joined(folder: &Path, entries: &[FileEntry]) -> Result<Vec<u8>> {
    let parts = entries.iter().map(|entry| read(&folder.join(&entry.path))).collect::<Result<_>>()?;
    join(entries, parts)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path)
        .map_err(|error| Error::Input { path: path.display().to_string(), reason: format!("cannot be read: {error}") })
}
