//! The second look at the best candidates.
//!
//! Input: the query and the [`RERANK_DEPTH`] best candidates of the fusion. Output: a new score for each.
//! The default looks at what is cheap: title and headings, how much of the question the chunk covers, its neighbors on
//! the page, authority and date. A cross-encoder can take its place through the same trait.
//!
//! **Invariant:** a reranker only scores; which candidates there are, and how many come back, is not its business.

use crate::error::Result;
use crate::retrieval::weights::SecondStageWeights;

/// Candidates that get a second look.
pub const RERANK_DEPTH: usize = 50;

/// What a reranker may look at.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<'a> {
    /// Number of the chunk.
    pub chunk: u32,
    /// Title of its page.
    pub title: &'a str,
    /// Headings down to it.
    pub heading_path: &'a [String],
    /// Its text, where it is loaded.
    pub text: Option<&'a str>,
    /// Its fused score.
    pub fused: f32,
    /// BM25F as a share of what the query could reach, 0..=1.
    pub lexical: f32,
    /// Cosine in standard deviations above the background; `None` without a dense leg.
    pub dense: Option<f32>,
    /// Share of the query's terms, by weight, that the chunk holds in any field, 0..=1.
    pub coverage: f32,
    /// Share of the query's terms, by weight, in the headings (the last heading and, where there is none, the title).
    pub heading_coverage: f32,
    /// Share of the heading's terms that the query holds, 0..=1.
    pub heading_precision: f32,
    /// The best fused score of the chunks right before and after it on its page, 0 where they are no candidates.
    pub neighbor: f32,
    /// How authoritative the page is, 0..=1.
    pub authority: f32,
}

/// Scores candidates again.
pub trait Reranker {
    /// One score a candidate, in the candidates' order; higher is better.
    ///
    /// # Errors
    /// Whatever the reranker meets; the search then keeps the fused order and says so in a warning.
    fn rerank(&self, query: &str, candidates: &[Candidate<'_>]) -> Result<Vec<f32>>;
}

/// The default: a weighted sum of cheap evidence.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EvidenceReranker {
    /// The weights.
    pub weights: SecondStageWeights,
}

impl Reranker for EvidenceReranker {
    fn rerank(&self, _query: &str, candidates: &[Candidate<'_>]) -> Result<Vec<f32>> {
        let weights = self.weights;
        Ok(candidates
            .iter()
            .map(|candidate| {
                candidate.fused
                    + weights.coverage * candidate.coverage
                    + weights.heading * candidate.heading_coverage * candidate.heading_precision
                    + weights.neighbor * candidate.neighbor
                    + weights.authority * (candidate.authority - 0.5)
            })
            .collect())
    }
}
