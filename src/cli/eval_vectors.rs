//! The embeddings that an evaluation needs, each computed once: they are cached by text and model.
//!
//! Input: a model and texts. Output: one vector a text.

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::eval_beir::Settings;
use crate::cli::model_files::{FoundModel, ModelFolders, cache_folder};
use crate::cli::native_model::NativeModel;
use crate::error::Result;
use crate::index::builder;
use crate::index::embedding_cache::EmbeddingCache;
use crate::retrieval::embedding_model::Kind;
use crate::retrieval::search_index::ModelInfo;

/// A loaded model with its cache.
pub(super) struct EvalModel {
    found: FoundModel,
    model: NativeModel,
    cache: EmbeddingCache,
}

impl EvalModel {
    /// The model that the settings name, or the one that serves these languages; `None` and the reason where none does.
    ///
    /// # Errors
    /// [`crate::error::Error::Model`] when the model that is named is not here, or cannot be loaded.
    pub(super) fn choose(settings: &Settings, languages: &[(String, f32)]) -> Result<(Option<Self>, Vec<String>)> {
        let folders = ModelFolders::new(settings.models.as_deref());
        let (found, warnings) = match &settings.model {
            Some(name) => (Some(folders.named(name)?), Vec::new()),
            None => folders.for_languages(languages)?,
        };
        let Some(found) = found else { return Ok((None, warnings)) };
        let model = found.load()?;
        let cache = match settings.cache.clone().or_else(cache_folder) {
            Some(folder) => EmbeddingCache::open(&folder, &found.hash(), found.info.dimension)?,
            None => EmbeddingCache::none(found.info.dimension),
        };
        Ok((Some(Self { found, model, cache }), warnings))
    }

    /// What an index says of it.
    pub(super) fn info(&self) -> ModelInfo {
        ModelInfo::from(&self.found.info)
    }

    /// The model itself.
    pub(super) fn native(&self) -> &NativeModel {
        &self.model
    }

    /// The vectors of passages; a bar that starts with `name` shows how far it is.
    ///
    /// # Errors
    /// [`crate::error::Error::Model`] when the model cannot run, [`crate::error::Error::Input`] when the cache cannot be
    /// written.
    pub(super) fn passages(&mut self, name: &str, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        bar.set_message(format!("{name}: embedding"));
        let (vectors, _) = builder::embed(texts, &self.model, &mut self.cache, &|_, done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        })?;
        bar.finish_and_clear();
        Ok(vectors)
    }

    /// The vectors of queries.
    ///
    /// # Errors
    /// As [`EvalModel::passages`].
    pub(super) fn queries(&mut self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        for text in texts {
            // A question and a passage of the same words have different vectors, so their names in the cache differ.
            let name = format!("query\n{text}");
            if self.cache.get(&name).is_none() {
                self.cache.insert(&name, &self.model.encoder().embed(text, Kind::Query)?);
            }
            vectors.push(self.cache.get(&name).map(<[f32]>::to_vec).unwrap_or_default());
        }
        self.cache.save()?;
        Ok(vectors)
    }
}
