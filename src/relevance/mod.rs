//! The four relevances that the policy decides on.

pub mod choices;
pub mod context_relevance;
pub mod question_shape;
pub mod related_pages;
pub mod relevance_engine;
