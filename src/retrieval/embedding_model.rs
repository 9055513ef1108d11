//! The two sides on which a text may stand when it is embedded.
//!
//! The model itself is [`crate::retrieval::encoder`] (feature `embedder`), what is known about it
//! [`ModelInfo`]. **Invariant:** compiled into every build, so nothing here depends on the model's runtime.

use crate::retrieval::model_manifest::ModelInfo;

/// On which side of the search a text stands. Some models want a different prefix for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What the reader asks.
    Query,
    /// What the documentation says.
    Passage,
}

impl Kind {
    /// What the model wants to read before a text of this kind.
    #[must_use]
    pub fn prefix(self, model: &ModelInfo) -> &str {
        match self {
            Self::Query => &model.query_prefix,
            Self::Passage => &model.passage_prefix,
        }
    }
}
