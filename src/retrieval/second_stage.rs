//! The second look at the best candidates.
//!
//! Input: the query and the [`RERANK_DEPTH`] best candidates of the fusion. Output: a new score for each.
//! The default looks at what is cheap: headings, words that stand side by side, authority and date. A cross-encoder can take
//! its place through the same trait.
//!
//! **Invariant:** a reranker only scores; which candidates there are, and how many come back, is not its business.

use crate::error::Result;
use crate::retrieval::document::Document;
use crate::retrieval::weights::SecondStageWeights;

/// Candidates that get a second look.
pub const RERANK_DEPTH: usize = 50;

/// Of these, the best get their texts looked at, which costs more than everything else in the second stage.
pub const TEXT_DEPTH: usize = 20;

/// Days in which the recency of a page halves; documentation ages by releases, which are years apart.
const HALF_LIFE: f32 = 730.0;

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
    /// Share of the query's neighboring words that stand side by side in the text, 0..=1; where the text is not loaded, the
    /// mean of the candidates whose texts are, so that nothing depends on which texts came first.
    pub phrase: f32,
    /// How authoritative the page is, 0..=1.
    pub authority: f32,
    /// How recent the page is, from [`recencies`]: 1 for the newest of the index, 0.5 without a date.
    pub recency: f32,
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
                    + weights.heading * candidate.heading_coverage * candidate.heading_precision
                    + weights.phrase * candidate.phrase
                    + weights.authority * (candidate.authority - 0.5)
                    + weights.recency * (candidate.recency - 0.5)
            })
            .collect())
    }
}

/// How recent each page is, 0..=1: 1 for the newest date of the index, halved for each [`HALF_LIFE`] before it, and 0.5
/// where no date is known, which speaks neither for nor against a page.
#[must_use]
pub fn recencies(documents: &[Document]) -> Vec<f32> {
    let days: Vec<Option<f32>> = documents.iter().map(|document| days(document.date.as_deref()?)).collect();
    let newest = days.iter().flatten().copied().fold(f32::MIN, f32::max);
    days.into_iter().map(|day| day.map_or(0.5, |day| 0.5_f32.powf((newest - day) / HALF_LIFE))).collect()
}

/// Days of a date `YYYY-MM-DD` on a scale of its own, to a day or two: only distances of months matter. The parts are read as
/// integers: what reads floats from a text would be 14 kB of the small module.
fn days(date: &str) -> Option<f32> {
    let number = |part: &str| part.get(..part.len().min(4))?.parse::<u16>().ok().map(f32::from);
    let mut parts = date.splitn(3, '-').map(number);
    let year = parts.next()??;
    let month = parts.next().flatten().unwrap_or(1.0);
    let day = parts.next().flatten().unwrap_or(1.0);
    Some(year * 365.25 + (month - 1.0) * 30.44 + day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dated(date: Option<&str>) -> Document {
        Document { date: date.map(str::to_owned), ..Document::default() }
    }

    #[test]
    fn a_page_without_a_date_stands_in_the_middle() {
        let pages = [Some("2026-01-01"), Some("2024-01-01"), None, Some("2010-05-05"), Some("soon")].map(dated);
        let recent = recencies(&pages);
        assert_eq!((recent[0], recent[2], recent[4]), (1.0, 0.5, 0.5));
        assert!((recent[1] - 0.5).abs() < 0.01, "two years are the half-life: {recent:?}");
        assert!(recent[3] < 0.01);
        assert!(recencies(&[dated(None)]) == [0.5] && recencies(&[]).is_empty());
    }

    #[test]
    fn a_heading_counts_as_far_as_it_is_the_question() {
        let candidate = |coverage, precision| Candidate {
            chunk: 0,
            title: "",
            heading_path: &[],
            text: None,
            fused: 5.0,
            lexical: 0.0,
            dense: None,
            coverage: 0.0,
            heading_coverage: coverage,
            heading_precision: precision,
            phrase: 0.0,
            authority: 0.5,
            recency: 0.5,
        };
        let candidates = [candidate(0.0, 0.0), candidate(0.5, 1.0), candidate(1.0, 0.5), candidate(1.0, 1.0)];
        let scores = EvidenceReranker::default().rerank("", &candidates).unwrap();
        let heading = SecondStageWeights::default().heading;
        assert_eq!(scores, [5.0, 5.0 + heading / 2.0, 5.0 + heading / 2.0, 5.0 + heading]);
    }
}
