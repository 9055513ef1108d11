//! The four relevances that the policy decides on, and the support of a reply.

pub mod choices;
pub mod context_relevance;
pub mod grounding;
pub mod question_shape;
pub mod related_pages;
pub mod relevance_engine;
