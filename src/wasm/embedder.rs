//! The JavaScript class `Embedder`: the sentence-embedding model inside a page or a worker.
//!
//! **Invariant:** the file of the network is read from JavaScript's memory piece by piece and never lies in this module's
//! memory as a whole, which can grow but not shrink.

use bytes::Buf;
use js_sys::{Float32Array, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::retrieval::embedding_model::Kind;
use crate::retrieval::encoder::Encoder;
use crate::retrieval::model_manifest::ModelInfo;
use crate::wasm::convert::to_js_error;

/// A loaded embedding model.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Embedder {
    encoder: Encoder,
}

#[wasm_bindgen]
impl Embedder {
    /// Loads a model.
    ///
    /// `model` and `tokenizer` are the bytes of the network (ONNX) and of `tokenizer.json`; `info` is the model's
    /// description as JSON, the `model` part of an index manifest.
    ///
    /// # Errors
    /// An `AgentError` with code `model`.
    pub fn load(model: &Uint8Array, tokenizer: &Uint8Array, info: &str) -> Result<Embedder, JsValue> {
        let info = ModelInfo::from_json(info).map_err(|error| to_js_error(&error))?;
        let encoder = Encoder::load_from(info, Pieces::new(model.clone()), &tokenizer.to_vec())
            .map_err(|error| to_js_error(&error))?;
        Ok(Self { encoder })
    }

    /// The model's id.
    #[wasm_bindgen(getter, js_name = modelId)]
    #[must_use]
    pub fn model_id(&self) -> String {
        self.encoder.info().id.clone()
    }

    /// The length of an embedding.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.encoder.info().dimension
    }

    /// The embedding of a query, of unit length.
    ///
    /// # Errors
    /// An `AgentError` with code `model`.
    #[wasm_bindgen(js_name = embedQuery)]
    pub fn embed_query(&self, text: &str) -> Result<Float32Array, JsValue> {
        self.embed(text, Kind::Query)
    }

    /// The embedding of a passage, of unit length.
    ///
    /// # Errors
    /// An `AgentError` with code `model`.
    #[wasm_bindgen(js_name = embedPassage)]
    pub fn embed_passage(&self, text: &str) -> Result<Float32Array, JsValue> {
        self.embed(text, Kind::Passage)
    }

    /// The number of tokens of a text, special tokens not counted.
    ///
    /// # Errors
    /// An `AgentError` with code `model`.
    #[wasm_bindgen(js_name = countTokens)]
    pub fn count_tokens(&self, text: &str) -> Result<usize, JsValue> {
        self.encoder.count_tokens(text).map_err(|error| to_js_error(&error))
    }

    fn embed(&self, text: &str, kind: Kind) -> Result<Float32Array, JsValue> {
        let embedding = self.encoder.embed(text, kind).map_err(|error| to_js_error(&error))?;
        Ok(Float32Array::from(embedding.as_slice()))
    }
}

/// Bytes of one piece.
const PIECE: u32 = 64 * 1024;

/// A JavaScript array of bytes, copied into this module's memory one piece at a time.
struct Pieces {
    array: Uint8Array,
    /// Bytes of the array that were copied, the current piece included.
    copied: u32,
    piece: Vec<u8>,
    /// Bytes of the piece that were read.
    read: usize,
}

impl Pieces {
    fn new(array: Uint8Array) -> Self {
        let mut pieces = Self { array, copied: 0, piece: Vec::new(), read: 0 };
        pieces.fetch();
        pieces
    }

    fn fetch(&mut self) {
        let end = self.copied.saturating_add(PIECE).min(self.array.length());
        self.piece.resize((end - self.copied) as usize, 0);
        self.array.subarray(self.copied, end).copy_to(&mut self.piece);
        self.copied = end;
        self.read = 0;
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        (self.array.length() - self.copied) as usize + self.piece.len() - self.read
    }

    fn chunk(&self) -> &[u8] {
        self.piece.get(self.read..).unwrap_or(&[])
    }

    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.remaining(), "only what is there can be read");
        while count > 0 {
            let step = count.min(self.piece.len() - self.read);
            self.read += step;
            count -= step;
            if self.read == self.piece.len() && self.remaining() > 0 {
                self.fetch();
            }
        }
    }
}
