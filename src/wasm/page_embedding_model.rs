//! The embedding model as the agent sees it: a JavaScript object that arrives later.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Float32Array, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::convert::message_of;
use crate::error::{Error, Result};
use crate::host::EmbeddingModel;

#[wasm_bindgen]
extern "C" {
    /// `{ modelId, embedQuery(text) → Float32Array or a promise of one, countTokens(text) → number }`: the class
    /// `Embedder` of the other module, or anything alike.
    #[derive(Debug, Clone)]
    pub type JsEmbedder;

    #[wasm_bindgen(method, getter, js_name = modelId)]
    fn model_id(this: &JsEmbedder) -> Option<String>;

    #[wasm_bindgen(method, catch, js_name = embedQuery)]
    fn embed_query(this: &JsEmbedder, text: &str) -> std::result::Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch, js_name = countTokens)]
    fn count_tokens(this: &JsEmbedder, text: &str) -> std::result::Result<f64, JsValue>;
}

/// No model until one is attached. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageEmbeddingModel(Rc<RefCell<Option<JsEmbedder>>>);

impl PageEmbeddingModel {
    pub(crate) fn attach(&self, embedder: JsEmbedder) {
        *self.0.borrow_mut() = Some(embedder);
    }

    fn embedder(&self) -> Option<JsEmbedder> {
        self.0.borrow().clone()
    }
}

impl EmbeddingModel for PageEmbeddingModel {
    fn model_id(&self) -> Option<String> {
        self.embedder()?.model_id()
    }

    async fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let broken = |error: JsValue| Error::Model(message_of(&error));
        let embedder = self.embedder().ok_or_else(|| Error::Model("it is not loaded yet".to_owned()))?;
        let value = embedder.embed_query(text).map_err(broken)?;
        let value = JsFuture::from(Promise::resolve(&value)).await.map_err(broken)?;
        let embedding: Float32Array =
            value.dyn_into().map_err(|_| Error::Model("`embedQuery` gave no Float32Array".to_owned()))?;
        Ok(embedding.to_vec())
    }

    fn count_tokens(&self, text: &str) -> Option<usize> {
        self.embedder()?.count_tokens(text).ok().map(|count| count as usize)
    }
}
