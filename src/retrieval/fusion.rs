//! One order from two legs.
//!
//! Input: for each candidate its BM25F and its cosine, each put into proportion to what this query could reach.
//! Output: the fused score. Candidates of either leg get both scores, so that no leg votes by absence.
//! **Invariant:** the fused score depends on the query and the candidate alone, not on which other candidates there are,
//! except through [`QueryScale`], which is measured on the whole index.

use crate::retrieval::dense_leg::Background;
use crate::retrieval::weights::FusionWeights;

/// What the scores of one query are measured against.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct QueryScale {
    /// The best BM25F of any chunk for this query.
    pub best_lexical: f32,
    /// The BM25F that a chunk with every term in abundance would reach.
    pub most_lexical: f32,
    /// The best cosine of any candidate.
    pub best_dense: f32,
    /// The mean cosine of the ten best chunks; 0 without a dense leg.
    pub ten_best: f32,
    /// How similar the query is to chunks in general; `None` without a dense leg.
    pub background: Option<Background>,
    /// Share of the best ten of one leg that are among the best ten of the other, 0..=1; 0 without a dense leg. Two legs that
    /// know nothing of each other agree on chunks that are about the question, and on nothing where there are none.
    pub agreement: f32,
}

impl QueryScale {
    /// BM25F as a share of what the query could reach, 0..=1.
    #[must_use]
    pub fn lexical(&self, score: f32) -> f32 {
        if self.most_lexical > 0.0 { (score / self.most_lexical).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// BM25F for the fusion, 0..=1: the geometric mean of its share of what the query could reach and of its share of what the
    /// query did reach. By the first alone, a question of which the docs hold few words leaves all to the cosines, also where
    /// those few are what names its subject; by the second alone, a chance match of one word would count in full.
    #[must_use]
    pub fn lexical_support(&self, score: f32) -> f32 {
        let of_best = if self.best_lexical > 0.0 { (score / self.best_lexical).clamp(0.0, 1.0) } else { 0.0 };
        (self.lexical(score) * of_best).sqrt()
    }

    /// A cosine in standard deviations above the background; 0 without a dense leg.
    #[must_use]
    pub fn dense(&self, cosine: f32) -> f32 {
        self.background.map_or(0.0, |background| (cosine - background.mean) / background.deviation.max(0.01))
    }

    /// How far a cosine stands above the mean of the ten best, in standard deviations; 0 without a dense leg.
    #[must_use]
    pub fn lead(&self, cosine: f32) -> f32 {
        self.dense(cosine) - self.dense(self.ten_best)
    }
}

/// What speaks for a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Support {
    /// Its BM25F.
    pub lexical: f32,
    /// Its cosine; `None` without a dense leg.
    pub cosine: Option<f32>,
    /// It stands on a page of questions and answers, and the query is a question.
    pub question_page: bool,
    /// It begins with a yes or a no, and the query wants one.
    pub verdict: bool,
    /// It is written in another language than the query: the words that both hold are names at best, and the rest says nothing,
    /// so that the best of such matches is no measure and the model alone knows.
    pub other_language: bool,
}

/// The fused score of a candidate, 0 and up: a convex combination in the sense of Bruch, Gai and Ingber, "An Analysis of Fusion
/// Functions for Hybrid Retrieval" (2023), in which the dense leg has the more to say the more its best stands out.
#[must_use]
pub fn fuse(scale: &QueryScale, support: &Support, weights: &FusionWeights) -> f32 {
    let (lexical, confidence) = if support.other_language {
        (weights.across_lexical * scale.lexical(support.lexical), 1.0)
    } else {
        let lead = weights.dense_lead * scale.lead(scale.best_dense);
        (weights.lexical * scale.lexical_support(support.lexical), (weights.dense + lead).clamp(0.0, 1.0))
    };
    let dense = support.cosine.map_or(0.0, |cosine| confidence * scale.dense(cosine));
    let page = if support.question_page { weights.question_page } else { 0.0 };
    let verdict = if support.verdict { weights.verdict } else { 0.0 };
    (lexical + dense + page + verdict).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(best_lexical: f32, best_dense: f32, ten_best: f32) -> QueryScale {
        let background = Some(Background { mean: 0.1, deviation: 0.1 });
        QueryScale { best_lexical, most_lexical: 10.0, best_dense, ten_best, background, agreement: 0.0 }
    }

    #[test]
    fn both_legs_raise_the_score() {
        let scale = scale(8.0, 0.7, 0.5);
        let weights = FusionWeights::default();
        let support = Support { lexical: 2.0, cosine: Some(0.3), ..Support::default() };
        let base = fuse(&scale, &support, &weights);
        for better in [
            Support { lexical: 4.0, ..support },
            Support { cosine: Some(0.5), ..support },
            Support { question_page: true, ..support },
            Support { verdict: true, ..support },
        ] {
            assert!(fuse(&scale, &better, &weights) > base, "{better:?}");
        }
        assert!(fuse(&scale, &Support { cosine: None, ..support }, &weights) >= 0.0);
    }

    #[test]
    fn across_languages_the_few_words_that_match_do_not_outweigh_the_cosine() {
        let scale = scale(1.0, 0.3, 0.3);
        let fused = |lexical, cosine, other_language| {
            let support = Support { lexical, cosine: Some(cosine), other_language, ..Support::default() };
            fuse(&scale, &support, &FusionWeights::default())
        };
        assert!(fused(1.0, 0.2, false) > fused(0.0, 0.3, false));
        assert!(fused(1.0, 0.2, true) < fused(0.0, 0.3, true));
    }

    #[test]
    fn an_empty_query_has_no_scale_and_no_score() {
        assert_eq!(fuse(&QueryScale::default(), &Support::default(), &FusionWeights::default()), 0.0);
    }
}
