//! The dense leg of one search, wherever the vectors are.
//!
//! Two things answer as one: the [`VectorIndex`](crate::retrieval::vector_index::VectorIndex) in the page, and the
//! [`EngineAnswer`](crate::retrieval::vector_engine::EngineAnswer) of an engine that was asked before the search began.
//! **Invariant:** a leg is asked synchronously; what has to be waited for was waited for before.

use crate::order;

/// Chunks from which an index is its own background.
const LEAST_BACKGROUND: usize = 64;

/// Chunks of an index whose similarity to a query says what "unrelated" looks like for it.
pub(crate) const BACKGROUND_SAMPLE: usize = 256;

/// Where the chunks nearest to a query come from, and how near the others are.
pub trait DenseLeg {
    /// Id of the model that made the vectors.
    fn model(&self) -> &str;

    /// Length of a vector.
    fn dimension(&self) -> usize;

    /// The `limit` chunks nearest to a unit vector, with their cosines, nearest first. With `accepts`, only chunks that
    /// it lets pass.
    fn candidates(&self, query: &[f32], limit: usize, accepts: Option<&dyn Fn(u32) -> bool>) -> Vec<(u32, f32)>;

    /// The cosine of one chunk to a unit vector; `None` where the leg does not know it.
    fn cosine(&self, query: &[f32], chunk: u32) -> Option<f32>;

    /// The cosine of two chunks; `None` where the leg does not know it.
    fn similarity(&self, a: u32, b: u32) -> Option<f32>;

    /// How similar the query is to chunks in general, from a fixed sample.
    fn background(&self, query: &[f32]) -> Background;
}

/// How similar a query is to chunks in general: the yardstick for how similar it is to the best.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Background {
    /// Mean cosine to a fixed sample of the chunks.
    pub mean: f32,
    /// Standard deviation of it.
    pub deviation: f32,
}

impl Background {
    /// From the cosines of a query to a sample of an index that `model` made.
    #[must_use]
    pub fn of_sample(model: &str, cosines: &[f32]) -> Self {
        let count = cosines.len().max(1) as f32;
        let mean = cosines.iter().sum::<f32>() / count;
        let variance = cosines.iter().map(|cosine| (cosine - mean).powi(2)).sum::<f32>() / count;
        // A handful of chunks is no background: the answer itself would make up most of it. What is usual for the model
        // stands in for the chunks that are not there.
        let (usual, spread) = if model.contains("e5") { (0.80, 0.03) } else { (0.08, 0.10) };
        let absent = LEAST_BACKGROUND.saturating_sub(cosines.len()) as f32 / 4.0;
        let blend = |own: f32, usual: f32| (count * own + absent * usual) / (count + absent);
        Self { mean: blend(mean, usual), deviation: blend(variance, spread * spread).sqrt() }
    }
}

/// The chunks of an index of `count` chunks that stand for all of them: every so many-th, 256 to 511 of them.
pub(crate) fn background_sample(count: usize) -> impl Iterator<Item = u32> {
    (0..count as u32).step_by((count / BACKGROUND_SAMPLE).max(1))
}

/// Nearest first, ties by chunk number, at most `limit`.
pub(crate) fn sort_hits(hits: &mut Vec<(u32, f32)>, limit: usize) {
    order::sort_by(hits, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    hits.truncate(limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_a_bounded_size_and_covers_the_index() {
        for count in [0, 1, 255, 256, 511, 512, 10_000, 100_000] {
            let sample: Vec<u32> = background_sample(count).collect();
            assert!(sample.len() <= 511 && sample.len() >= count.min(256), "{count}: {}", sample.len());
            assert!(sample.iter().all(|chunk| (*chunk as usize) < count));
        }
    }

    #[test]
    fn few_cosines_are_filled_up_with_what_is_usual_for_the_model() {
        let own = Background::of_sample("all-MiniLM-L6-v2", &[0.5; 256]);
        assert!((own.mean - 0.5).abs() < 1e-6 && own.deviation < 1e-3, "{own:?}");
        let none = Background::of_sample("multilingual-e5-small", &[]);
        assert!(none.mean > 0.7, "{none:?}");
    }
}
