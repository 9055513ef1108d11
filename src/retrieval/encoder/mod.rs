//! The sentence-embedding model: tokenizer, transformer, mean pooling, L2 normalization.
//!
//! Input: an ONNX file, a `tokenizer.json` and a [`ModelDescription`]; then texts.
//! Output: embeddings of unit length, the mean over a text's tokens as in Sentence-BERT
//! (<https://arxiv.org/abs/1908.10084>).
//! **Invariant:** no IO; bytes come in, numbers go out. [`Encoder`] is `Send + Sync` and needs no lock.

mod tokenizer;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use tract_onnx::prelude::*;

use crate::error::{Error, Result};
use crate::retrieval::embedding_model::{Kind, ModelDescription};
use crate::turn::TokenCounter;
use tokenizer::Tokenizer;

/// A loaded sentence-embedding model.
pub struct Encoder {
    description: ModelDescription,
    tokenizer: Tokenizer,
    plan: Arc<TypedRunnableModel>,
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").field("description", &self.description).finish_non_exhaustive()
    }
}

fn model_error(error: TractError) -> Error {
    Error::Model(format!("{error:#}"))
}

impl Encoder {
    /// Loads a model from the bytes of its ONNX file and of its `tokenizer.json`.
    ///
    /// # Errors
    /// [`Error::Model`] when a file is damaged, is of another kind, or does not fit the description.
    pub fn load(description: ModelDescription, model: &[u8], tokenizer: &[u8]) -> Result<Self> {
        description.check()?;
        let tokenizer = Tokenizer::from_json(tokenizer)?;
        let plan = Self::plan(model).map_err(model_error)?;
        let encoder = Self { description, tokenizer, plan };
        let dimension = encoder.embed("", Kind::Query)?.len();
        if dimension != encoder.description.dimension {
            return Err(Error::Model(format!(
                "it gives {dimension} numbers a text, its description says {}",
                encoder.description.dimension
            )));
        }
        Ok(encoder)
    }

    fn plan(mut model: &[u8]) -> TractResult<Arc<TypedRunnableModel>> {
        let mut model = tract_onnx::onnx()
            .with_ignore_value_info(true)
            .with_ignore_output_shapes(true)
            .model_for_read(&mut model)?;
        let length = model.symbols.sym("S");
        for input in 0..3 {
            let fact = InferenceFact::dt_shape(i64::datum_type(), tvec!(1.to_dim(), length.to_dim()));
            model.set_input_fact(input, fact)?;
        }
        model.into_optimized()?.into_runnable()
    }

    /// What is known of this model.
    #[must_use]
    pub fn description(&self) -> &ModelDescription {
        &self.description
    }

    /// The embedding of one text: `dimension` numbers, unit length.
    ///
    /// The model's prefix is added here; a text longer than the model's limit is cut at its end.
    ///
    /// # Errors
    /// [`Error::Model`] when the model cannot run.
    pub fn embed(&self, text: &str, kind: Kind) -> Result<Vec<f32>> {
        let ids =
            self.tokenizer.ids(&format!("{}{text}", self.description.prefix(kind)), self.description.max_tokens)?;
        self.run(&ids).map_err(model_error)
    }

    /// The embeddings of several texts, in their order.
    ///
    /// # Errors
    /// As [`Encoder::embed`].
    pub fn embed_batch(&self, texts: &[&str], kind: Kind) -> Result<Vec<Vec<f32>>> {
        texts.iter().map(|text| self.embed(text, kind)).collect()
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
        texts
            .par_iter()
            .map(|text| {
                let embedding = self.embed(text, kind);
                done(1);
                embedding
            })
            .collect()
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
        let prefix = self.tokenizer.ids(self.description.prefix(Kind::Passage), usize::MAX)?.len();
        Ok(self.description.max_tokens.saturating_sub(prefix))
    }

    fn run(&self, ids: &[u32]) -> TractResult<Vec<f32>> {
        let length = ids.len();
        let ids = Tensor::from_shape(&[1, length], &ids.iter().map(|&id| i64::from(id)).collect::<Vec<_>>())?;
        let mask = Tensor::from_shape(&[1, length], &vec![1i64; length])?;
        let types = Tensor::from_shape(&[1, length], &vec![0i64; length])?;
        let outputs = self.plan.run(tvec!(ids.into(), mask.into(), types.into()))?;
        let hidden = outputs[0].to_plain_array_view::<f32>()?;
        let width = hidden.shape().last().copied().unwrap_or(0);
        let mut sum = vec![0f32; width];
        for (i, value) in hidden.iter().enumerate() {
            sum[i % width] += value;
        }
        normalize(&mut sum);
        Ok(sum)
    }
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
