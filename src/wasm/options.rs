//! What `Agent.load` is given: addresses and functions for the boundary, the rest for the agent.

use js_sys::Function;
use serde_json::{Map, Value};
use wasm_bindgen::JsValue;

use super::convert::{from_js, function, optional, property};
use crate::chat::request::LlmConfig;
use crate::error::{Error, Result};
use crate::retrieval::facets::Filter;
use crate::retrieval::vector_engine::EngineConfig;

/// Where the model's files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModelPlace {
    /// Where the index manifest says.
    Manifest,
    /// In the folder with this address.
    Folder(String),
    /// Nowhere: the search stays lexical.
    None,
}

/// Where the vectors are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VectorPlace {
    /// Where the index manifest says: in an engine where it names one, else in its files.
    Manifest,
    /// In the files of the index.
    Files,
    /// In an engine.
    Engine(EngineConfig),
}

/// The options of `Agent.load`, taken apart.
#[derive(Debug)]
pub(crate) struct LoadOptions {
    /// Address of the index manifest.
    pub index: String,
    /// Where the model is.
    pub model: ModelPlace,
    /// Where the vectors are.
    pub vectors: VectorPlace,
    /// The endpoint.
    pub llm: Option<LlmConfig>,
    /// Which pages may answer, for calls that say nothing of it.
    pub filter: Option<Filter>,
    /// What the agent itself is told; the manifest's own settings come below it.
    pub agent: Value,
    /// The site's filter of questions.
    pub before: Option<Function>,
    /// The site's filter of replies.
    pub after: Option<Function>,
    /// Where the site wants the records.
    pub sink: Option<Function>,
}

impl LoadOptions {
    /// Takes the options apart.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] naming the option.
    pub(crate) fn from_js(options: &JsValue) -> Result<Self> {
        let mut agent: Map<String, Value> = from_js(options, "options")?;
        let hooks = property(options, "contentFilter");
        let Some(Value::String(index)) = agent.remove("index") else {
            return Err(invalid("index", "the address of the index manifest is needed"));
        };
        let model = match agent.remove("model") {
            None => ModelPlace::Manifest,
            Some(Value::Null | Value::Bool(false)) => ModelPlace::None,
            Some(Value::String(folder)) => ModelPlace::Folder(folder),
            Some(_) => return Err(invalid("model", "the address of the model's folder, or null for none, is allowed")),
        };
        let vectors = match agent.remove("vectors") {
            None => VectorPlace::Manifest,
            Some(Value::Null) => VectorPlace::Files,
            Some(value) => {
                let engine = EngineConfig::from_json(value)?;
                engine.check_in_page()?;
                VectorPlace::Engine(engine)
            }
        };
        let filter = optional(options, "filter")?;
        agent.remove("filter");
        let llm = match agent.remove("llm") {
            None | Some(Value::Null) => None,
            Some(value) => Some(LlmConfig::from_json(value)?),
        };
        Ok(Self {
            index,
            model,
            vectors,
            llm,
            filter,
            agent: Value::Object(agent),
            before: function(&hooks, "before"),
            after: function(&hooks, "after"),
            sink: function(options, "sink"),
        })
    }
}

fn invalid(name: &str, reason: &str) -> Error {
    Error::InvalidOption { name: name.to_owned(), reason: reason.to_owned() }
}
