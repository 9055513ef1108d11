//! Pages and their chunks, as the index holds them.

use serde::{Deserialize, Serialize};

use crate::turn::Language;

/// A page of the documentation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Document {
    /// Stable id: the path without its ending, or the id given in `corpus.json`.
    pub id: String,
    /// Title.
    pub title: String,
    /// Link, with the site's base URL, without an anchor.
    pub url: String,
    /// Tags, from front matter or path patterns.
    pub tags: Vec<String>,
    /// Language of the text.
    pub language: Language,
    /// Version facet.
    pub version: Option<String>,
    /// Section facet: the first folder of the path, or what the front matter says.
    pub section: Option<String>,
    /// Date, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// How authoritative the page is, 0..=1; 0.5 where nothing is said.
    pub authority: f32,
    /// Factor on the fused score, 0.1..=10; 1 where nothing is said.
    pub boost: f32,
}

/// A part of a page: the unit of search.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Chunk {
    /// Index of its page in the document table.
    pub document: u32,
    /// Number of the chunk in its page, from 0.
    pub ordinal: u32,
    /// Headings from below the page's title down to the chunk.
    pub heading_path: Vec<String>,
    /// Anchor of the nearest heading, without `#`.
    pub anchor: Option<String>,
    /// Text, Markdown kept readable, at most the model's limit of tokens.
    pub text: String,
}
