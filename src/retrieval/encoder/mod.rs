//! The sentence-embedding model: tokenizer, transformer, mean pooling, L2 normalization.
//!
//! Input: an ONNX file, a `tokenizer.json` and a [`ModelInfo`]; then texts.
//! Output: embeddings of unit length, the mean over a text's tokens as in Sentence-BERT
//! (<https://arxiv.org/abs/1908.10084>).
//!
//! tract parses the ONNX graph and runs it; in between, its expressions are replaced by a few operators of our own that
//! keep the weights int8 and multiply in integers (`graph_rewrite`, `ops`, `kernel`).
//! **Invariant:** no IO; bytes come in, numbers go out. [`Encoder`] is `Send + Sync` and needs no lock. A text's
//! embedding has the same bits natively and in the page, alone and in a batch.

#[cfg(any(target_arch = "x86_64", target_feature = "relaxed-simd"))]
mod byte_pairs;
mod graph_rewrite;
mod kernel;
mod network;
mod ops;
mod tokenizer;
mod weights;

use std::ops::Range;

use bytes::Buf;

use crate::error::{Error, Result};
use crate::retrieval::embedding_model::Kind;
use crate::retrieval::model_manifest::ModelInfo;
use crate::turn::TokenCounter;
use network::Network;
use tokenizer::Tokenizer;

/// The tokens that one run of the network takes at most, padding included, unless a single text is longer.
const BATCH_TOKENS: usize = 512;

/// A loaded sentence-embedding model.
#[derive(Debug)]
pub struct Encoder {
    info: ModelInfo,
    tokenizer: Tokenizer,
    network: Network,
}

impl Encoder {
    /// Loads a model from the bytes of its ONNX file and of its `tokenizer.json`.
    ///
    /// # Errors
    /// [`Error::Model`] when a file is damaged, is of another kind, or does not fit the description.
    pub fn load(info: ModelInfo, model: &[u8], tokenizer: &[u8]) -> Result<Self> {
        Self::load_from(info, model, tokenizer)
    }

    /// As [`Encoder::load`], from a source that hands out the ONNX file piece by piece, so that the file need not lie in
    /// this program's memory beside the weights that are made from it.
    ///
    /// # Errors
    /// As [`Encoder::load`].
    pub fn load_from(info: ModelInfo, model: impl Buf, tokenizer: &[u8]) -> Result<Self> {
        info.check()?;
        let network = Network::load(model)?;
        let tokenizer = Tokenizer::from_json(tokenizer)?;
        if info.max_tokens > network.max_positions() {
            return Err(Error::Model(format!(
                "its network reads {} tokens, its description says {}",
                network.max_positions(),
                info.max_tokens
            )));
        }
        let encoder = Self { info, tokenizer, network };
        let dimension = encoder.embed("", Kind::Query)?.len();
        if dimension != encoder.info.dimension {
            return Err(Error::Model(format!(
                "it gives {dimension} numbers a text, its description says {}",
                encoder.info.dimension
            )));
        }
        Ok(encoder)
    }

    /// What is known of this model.
    #[must_use]
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// The embedding of one text: `dimension` numbers, unit length.
    ///
    /// The model's prefix is added here; a text longer than the model's limit is cut at its end.
    ///
    /// # Errors
    /// [`Error::Model`] when the model cannot run.
    pub fn embed(&self, text: &str, kind: Kind) -> Result<Vec<f32>> {
        let ids = self.ids(text, kind)?;
        let mut embeddings = self.run(&[&ids])?;
        embeddings.pop().ok_or_else(|| Error::Model("its network gave no result".into()))
    }

    /// The embeddings of several texts, in their order.
    ///
    /// # Errors
    /// As [`Encoder::embed`].
    pub fn embed_batch(&self, texts: &[&str], kind: Kind) -> Result<Vec<Vec<f32>>> {
        let ids = texts.iter().map(|text| self.ids(text, kind)).collect::<Result<Vec<_>>>()?;
        let mut embeddings = vec![Vec::new(); texts.len()];
        for batch in batches(&ids) {
            let inputs: Vec<&[u32]> = batch.iter().map(|&text| ids[text].as_slice()).collect();
            for (text, embedding) in batch.into_iter().zip(self.run(&inputs)?) {
                embeddings[text] = embedding;
            }
        }
        Ok(embeddings)
    }

    /// The embeddings of several texts, in their order, computed on all cores.
    ///
    /// `done` hears how many texts were finished since it was last called; it may be called from any thread.
    ///
    /// # Errors
    /// As [`Encoder::embed`].
    #[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
    pub fn embed_parallel(&self, texts: &[&str], kind: Kind, done: impl Fn(usize) + Sync) -> Result<Vec<Vec<f32>>> {
        use rayon::prelude::*;
        let ids = texts.par_iter().map(|text| self.ids(text, kind)).collect::<Result<Vec<_>>>()?;
        let batches = batches(&ids);
        let results = batches
            .par_iter()
            .map(|batch| {
                let inputs: Vec<&[u32]> = batch.iter().map(|&text| ids[text].as_slice()).collect();
                let embeddings = self.run(&inputs);
                done(batch.len());
                embeddings
            })
            .collect::<Result<Vec<_>>>()?;
        let mut embeddings = vec![Vec::new(); texts.len()];
        for (text, embedding) in batches.into_iter().flatten().zip(results.into_iter().flatten()) {
            embeddings[text] = embedding;
        }
        Ok(embeddings)
    }

    /// The number of tokens of `text`, special tokens and prefix not counted, nothing cut.
    ///
    /// # Errors
    /// [`Error::Model`] when the tokenizer fails.
    pub fn count_tokens(&self, text: &str) -> Result<usize> {
        self.tokenizer.count(text)
    }

    /// The byte range of each token of `text`, special tokens and prefix left out, nothing cut.
    ///
    /// # Errors
    /// [`Error::Model`] when the tokenizer fails.
    pub fn token_offsets(&self, text: &str) -> Result<Vec<Range<usize>>> {
        self.tokenizer.offsets(text)
    }

    /// How many tokens of a passage the model sees: its limit without the special tokens and the prefix.
    ///
    /// # Errors
    /// [`Error::Model`] when the tokenizer fails.
    pub fn passage_limit(&self) -> Result<usize> {
        let prefix = self.tokenizer.ids(Kind::Passage.prefix(&self.info), usize::MAX)?.len();
        Ok(self.info.max_tokens.saturating_sub(prefix))
    }

    fn ids(&self, text: &str, kind: Kind) -> Result<Vec<u32>> {
        let prefix = kind.prefix(&self.info);
        self.tokenizer.ids(&format!("{prefix}{text}"), self.info.max_tokens)
    }

    /// The mean of the vectors of each text's tokens, scaled to unit length.
    fn run(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let tokens = texts.iter().map(|ids| ids.len()).max().unwrap_or(0);
        if tokens == 0 {
            return Err(Error::Model("its tokenizer gives no token for an empty text".into()));
        }
        let hidden = self.network.run(texts, tokens)?;
        let width = hidden.len() / (texts.len() * tokens);
        Ok(texts
            .iter()
            .zip(hidden.chunks_exact((tokens * width).max(1)))
            .map(|(ids, rows)| {
                let mut sum = vec![0f32; width];
                for row in rows.chunks_exact(width).take(ids.len()) {
                    kernel::add(&mut sum, row);
                }
                normalize(&mut sum);
                sum
            })
            .collect())
    }
}

/// Groups texts of similar length, so that little of a run is padding. Gives indexes, the longest texts first.
fn batches(texts: &[Vec<u32>]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&text| std::cmp::Reverse(texts[text].len()));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for text in order {
        match batches.last_mut() {
            Some(batch) if batch.len() < room => batch.push(text),
            _ => {
                room = BATCH_TOKENS / texts[text].len().max(1);
                batches.push(vec![text]);
            }
        }
    }
    batches
}

impl TokenCounter for Encoder {
    /// A text that the tokenizer refuses counts as one token per four bytes.
    fn count(&self, text: &str) -> usize {
        self.count_tokens(text).unwrap_or(text.len().div_ceil(4))
    }
}

/// Scales a vector to unit length; zeros stay zeros.
fn normalize(vector: &mut [f32]) {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        for x in vector {
            *x /= norm;
        }
    }
}
