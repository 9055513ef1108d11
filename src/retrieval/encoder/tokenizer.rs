//! Text to token ids, with the `tokenizers` crate that the models were trained with.
//!
//! Input: a text and the model's limit. Output: ids with the special tokens, or counts and offsets without them.
//! **Invariant:** the truncation and padding that a `tokenizer.json` asks for are ignored; the limit is the model's.

use std::ops::Range;

use tokenizers::{Encoding, TruncationDirection};

use crate::error::{Error, Result};

/// A model's tokenizer.
#[derive(Debug)]
pub(super) struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// How many special tokens stand around one text.
    special: usize,
}

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    pub(super) fn from_json(json: &[u8]) -> Result<Self> {
        let mut inner = tokenizers::Tokenizer::from_bytes(json)
            .map_err(|error| Error::Model(format!("its tokenizer.json cannot be read: {error}")))?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|error| Error::Model(error.to_string()))?;
        let mut tokenizer = Self { inner, special: 0 };
        tokenizer.special = tokenizer.ids("", usize::MAX)?.len();
        Ok(tokenizer)
    }

    /// The ids of `text` with the special tokens, at most `limit` of them; the text's end is what is cut.
    pub(super) fn ids(&self, text: &str, limit: usize) -> Result<Vec<u32>> {
        let mut encoding = self.plain(text)?;
        encoding.truncate(limit.saturating_sub(self.special), 0, TruncationDirection::Right);
        let encoding = self
            .inner
            .post_process(encoding, None, true)
            .map_err(|error| Error::Model(format!("its tokenizer failed: {error}")))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The byte range of each token of `text`, without special tokens. Ranges ascend and may touch.
    pub(super) fn offsets(&self, text: &str) -> Result<Vec<Range<usize>>> {
        Ok(self.plain(text)?.get_offsets().iter().map(|&(start, end)| start..end).collect())
    }

    /// The number of tokens of `text`, without special tokens.
    pub(super) fn count(&self, text: &str) -> Result<usize> {
        let encoding = self
            .inner
            .encode_fast(text, false)
            .map_err(|error| Error::Model(format!("its tokenizer failed: {error}")))?;
        Ok(encoding.len())
    }

    fn plain(&self, text: &str) -> Result<Encoding> {
        self.inner.encode(text, false).map_err(|error| Error::Model(format!("its tokenizer failed: {error}")))
    }
}
