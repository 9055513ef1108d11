//! The files of an index on a web server, loaded when they are wanted.
//!
//! Input: the address of a manifest. Output: bytes whose length is what the manifest says; what they hold is checked by
//! [`crate::index`].

use std::rc::Rc;

use js_sys::Uint8Array;

use super::fetch::{Progress, fetch, post, resolve};
use super::options::{ModelPlace, VectorPlace};
use crate::error::{Error, IndexError, Result};
use crate::host::IndexFiles;
use crate::index::manifest::{FileEntry, Manifest};
use crate::retrieval::model_manifest::{ModelFileRole, ModelInfo};
use crate::retrieval::vector_engine::EngineConfig;

/// An index on a server. Clones share the manifest.
#[derive(Debug, Clone)]
pub(crate) struct PageIndexFiles {
    manifest: Rc<Manifest>,
    /// Absolute address of the manifest, after redirects.
    base: Rc<str>,
    model_place: Rc<ModelPlace>,
    engine: Rc<Option<EngineConfig>>,
}

impl PageIndexFiles {
    /// Loads the manifest.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub(crate) async fn open(
        address: &str,
        model_place: ModelPlace,
        vectors: VectorPlace,
        progress: &Progress,
    ) -> Result<Self> {
        let fetched =
            fetch(address, "manifest", None, progress).await.map_err(|reason| unreachable(address, reason))?;
        let manifest = Manifest::from_bytes(&fetched.bytes.to_vec())?;
        let engine = match vectors {
            VectorPlace::Engine(engine) => Some(engine),
            VectorPlace::Manifest => manifest.engine.clone(),
            VectorPlace::Files => None,
        };
        Ok(Self {
            manifest: Rc::new(manifest),
            base: fetched.address.into(),
            model_place: Rc::new(model_place),
            engine: Rc::new(engine),
        })
    }

    /// The vector engine that is asked instead of loading the vectors.
    pub(crate) fn engine(&self) -> Option<&EngineConfig> {
        self.engine.as_ref().as_ref()
    }

    /// What the manifest says.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Loads the core file.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub(crate) async fn core(&self, progress: &Progress) -> Result<Vec<u8>> {
        self.joined(&self.manifest.core, "core", progress).await
    }

    /// Loads the vectors file; `None` where the index has none.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub(crate) async fn vectors(&self, progress: &Progress) -> Result<Option<Vec<u8>>> {
        if self.manifest.vectors.is_empty() {
            return Ok(None);
        }
        self.joined(&self.manifest.vectors, "vectors", progress).await.map(Some)
    }

    /// The model that the index was built with, where it has vectors and the site wants a model.
    pub(crate) fn model(&self) -> Option<&ModelInfo> {
        let dense = self.engine.is_some() || !self.manifest.vectors.is_empty();
        let wanted = *self.model_place != ModelPlace::None && dense;
        self.manifest.model.as_ref().filter(|_| wanted)
    }

    /// Loads a file of the model.
    ///
    /// # Errors
    /// [`Error::Model`].
    pub(crate) async fn model_file(&self, role: ModelFileRole, name: &str, progress: &Progress) -> Result<Uint8Array> {
        let model = self.model().ok_or_else(|| Error::Model("the index names none".to_owned()))?;
        let file = model.file(role)?;
        let folder = match (&*self.model_place, &self.manifest.model_url) {
            (ModelPlace::Folder(folder), _) | (_, Some(folder)) => folder,
            _ => {
                return Err(Error::Model(
                    "neither the manifest nor the option `model` says where its files are".to_owned(),
                ));
            }
        };
        let folder = format!("{}/", folder.trim_end_matches('/'));
        let address =
            resolve(&folder, &self.base).and_then(|folder| resolve(&file.path, &folder)).map_err(Error::Model)?;
        let fetched = fetch(&address, name, Some(file.bytes), progress)
            .await
            .map_err(|reason| Error::Model(format!("{address} could not be loaded: {reason}")))?;
        file.check_length(u64::from(fetched.bytes.length()))?;
        Ok(fetched.bytes)
    }

    async fn joined(&self, entries: &[FileEntry], name: &str, progress: &Progress) -> Result<Vec<u8>> {
        // One buffer for all parts: a large file is not held twice. The manifest bounds the sum.
        let length: u64 = entries.iter().map(|entry| entry.bytes).sum();
        let mut joined = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        for entry in entries {
            let fetched = self.fetch(entry, name, progress).await?;
            let start = joined.len();
            joined.resize(start + fetched.length() as usize, 0);
            fetched.copy_to(&mut joined[start..]);
            entry.check_length(&joined[start..])?;
        }
        Ok(joined)
    }

    async fn fetch(&self, entry: &FileEntry, name: &str, progress: &Progress) -> Result<Uint8Array> {
        let address = resolve(&entry.path, &self.base).map_err(|reason| unreachable(&entry.path, reason))?;
        let fetched =
            fetch(&address, name, Some(entry.bytes), progress).await.map_err(|reason| unreachable(&address, reason))?;
        Ok(fetched.bytes)
    }

    async fn entry(&self, entry: &FileEntry, name: &str, progress: &Progress) -> Result<Vec<u8>> {
        let bytes = self.fetch(entry, name, progress).await?.to_vec();
        entry.check_length(&bytes)?;
        Ok(bytes)
    }
}

impl IndexFiles for PageIndexFiles {
    async fn text_shard(&self, shard: u32) -> Result<Vec<u8>> {
        let entry =
            self.manifest.texts.get(shard as usize).ok_or_else(|| {
                Error::Index(IndexError::Damaged(format!("the manifest names no text shard {shard}")))
            })?;
        self.entry(entry, "texts", &Progress::default()).await
    }

    async fn postings_shard(&self, shard: u32) -> Result<Vec<u8>> {
        let entry = self.manifest.postings.get(shard as usize).ok_or_else(|| {
            Error::Index(IndexError::Damaged(format!("the manifest names no shard {shard} of postings")))
        })?;
        self.entry(entry, "postings", &Progress::default()).await
    }

    async fn ask_engine(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: &str,
        timeout_ms: u64,
    ) -> Result<(u16, String)> {
        let address = resolve(url, &self.base).map_err(Error::VectorEngine)?;
        post(&address, headers, body, timeout_ms).await.map_err(Error::VectorEngine)
    }
}

fn unreachable(address: &str, reason: String) -> Error {
    IndexError::Unreachable { address: address.to_owned(), reason }.into()
}
