//! The embedding model on the command line: read from a folder, run on all cores.
//!
//! Input: the folder of a model's description, and the description. Output: an [`EmbeddingModel`] for the agent, and
//! [`NativeModel::embed_passages`] for the index builder.

use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::host::EmbeddingModel;
use crate::retrieval::embedding_model::Kind;
use crate::retrieval::encoder::Encoder;
use crate::retrieval::model_manifest::{ModelFileRole, ModelInfo};

/// A model loaded from a folder. Clones share it, and threads may use it at the same time.
#[derive(Debug, Clone)]
pub struct NativeModel {
    encoder: Arc<Encoder>,
}

impl NativeModel {
    /// Loads a model whose files lie in `folder` under the paths of its description.
    ///
    /// # Errors
    /// [`Error::Input`] when a file cannot be read, [`Error::Model`] when it is not what the description says.
    pub fn load(folder: &Path, info: ModelInfo) -> Result<Self> {
        let model = read(&folder.join(&info.file(ModelFileRole::Network)?.path))?;
        let tokenizer = read(&folder.join(&info.file(ModelFileRole::Tokenizer)?.path))?;
        Ok(Self { encoder: Arc::new(Encoder::load(info, &model, &tokenizer)?) })
    }

    /// The encoder itself: token counts and offsets, single embeddings.
    #[must_use]
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The embeddings of passages, in their order, computed on all cores.
    ///
    /// `done` hears how many passages were finished since it was last called; it may be called from any thread.
    ///
    /// # Errors
    /// [`Error::Model`] when the model cannot run.
    pub fn embed_passages(&self, passages: &[&str], done: impl Fn(usize) + Sync) -> Result<Vec<Vec<f32>>> {
        self.encoder.embed_parallel(passages, Kind::Passage, done)
    }
}

impl EmbeddingModel for NativeModel {
    fn model_id(&self) -> Option<String> {
        Some(self.encoder.info().id.clone())
    }

    async fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.encoder.embed(text, Kind::Query)
    }

    fn count_tokens(&self, text: &str) -> Option<usize> {
        self.encoder.count_tokens(text).ok()
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path)
        .map_err(|error| Error::Input { path: path.display().to_string(), reason: format!("cannot be read: {error}") })
}
