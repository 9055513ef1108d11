//! What the rest of the crate knows of an embedding model: its name, its limits and how its texts are prepared.
//!
//! The model itself is [`crate::retrieval::encoder`] (feature `embedder`), behind a host that may get it later.
//! **Invariant:** compiled into every build, so nothing here depends on the model's runtime.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The tokens of the longest text that a model sees when its description says nothing else.
pub const DEFAULT_MAX_TOKENS: usize = 256;

/// The most tokens that a description may ask for: the position tables of BERT-like models end there.
pub const MAX_TOKENS_LIMIT: usize = 512;

/// On which side of the search a text stands. Some models want a different prefix for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What the reader asks.
    Query,
    /// What the documentation says.
    Passage,
}

/// The facts about one embedding model that an index and a host need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelDescription {
    /// The name by which an index asks for it, such as `all-MiniLM-L6-v2-int8`.
    pub id: String,
    /// The length of an embedding.
    pub dimension: usize,
    /// Longer texts are cut here; special tokens count.
    #[serde(default = "default_max_tokens")]
    pub max_tokens: usize,
    /// Put before a query, `"query: "` for the e5 family.
    #[serde(default)]
    pub query_prefix: String,
    /// Put before a passage, `"passage: "` for the e5 family.
    #[serde(default)]
    pub passage_prefix: String,
}

fn default_max_tokens() -> usize {
    DEFAULT_MAX_TOKENS
}

impl ModelDescription {
    /// Reads a description from JSON with the fields in camel case.
    ///
    /// # Errors
    /// [`Error::Model`] when the JSON is malformed or a number is out of range.
    pub fn from_json(json: &str) -> Result<Self> {
        let description: Self =
            serde_json::from_str(json).map_err(|error| Error::Model(format!("its description: {error}")))?;
        description.check()?;
        Ok(description)
    }

    /// Refuses numbers that no model can have.
    ///
    /// # Errors
    /// [`Error::Model`] that names the field.
    pub fn check(&self) -> Result<()> {
        if self.id.is_empty() {
            return Err(Error::Model("its description has an empty `id`".into()));
        }
        if self.dimension == 0 || self.dimension > 4096 {
            return Err(Error::Model(format!("`dimension` is {}, 1 to 4096 is possible", self.dimension)));
        }
        if self.max_tokens < 3 || self.max_tokens > MAX_TOKENS_LIMIT {
            return Err(Error::Model(format!(
                "`maxTokens` is {}, 3 to {MAX_TOKENS_LIMIT} is possible",
                self.max_tokens
            )));
        }
        Ok(())
    }

    /// The prefix for a text of this kind.
    #[must_use]
    pub fn prefix(&self, kind: Kind) -> &str {
        match kind {
            Kind::Query => &self.query_prefix,
            Kind::Passage => &self.passage_prefix,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_has_defaults() {
        let description = ModelDescription::from_json(r#"{"id": "m", "dimension": 384}"#).unwrap();
        assert_eq!(description.max_tokens, 256);
        assert_eq!(description.prefix(Kind::Query), "");
    }

    #[test]
    fn prefixes_differ_by_kind() {
        let json = r#"{"id": "e5", "dimension": 384, "queryPrefix": "query: ", "passagePrefix": "passage: "}"#;
        let description = ModelDescription::from_json(json).unwrap();
        assert_eq!(description.prefix(Kind::Query), "query: ");
        assert_eq!(description.prefix(Kind::Passage), "passage: ");
    }

    #[test]
    fn impossible_numbers_are_refused() {
        for json in [
            r#"{"id": "", "dimension": 384}"#,
            r#"{"id": "m", "dimension": 0}"#,
            r#"{"id": "m", "dimension": 384, "maxTokens": 100000}"#,
            r#"{"id": "m"}"#,
            "<!doctype html>",
        ] {
            let error = ModelDescription::from_json(json).unwrap_err();
            assert_eq!(error.code(), "model", "{json}");
        }
    }
}
