//! The words that understanding goes by, one file a language.

pub mod en;
pub mod zh;
