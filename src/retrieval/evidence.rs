//! How likely it is that a passage answers the question: one number that means the same everywhere.
//!
//! Input: what the search knows about the best passages. Output: 0..=1 through a logistic function.
//! Cosines of different models live in different ranges, and BM25 grows with the question, so nothing enters raw:
//! cosines come as deviations from the query's own background, BM25 as a share of what the query could reach.
//! **Invariant:** evidence does not change the order of the passages.

use crate::retrieval::weights::EvidenceWeights;

/// What speaks for a passage.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Signals {
    /// Cosine in standard deviations above the background; `None` without a dense leg.
    pub dense: Option<f32>,
    /// BM25F as a share of what the query could reach, 0..=1.
    pub lexical: f32,
    /// Share of the query's terms, by weight, that the passage holds, 0..=1.
    pub coverage: f32,
    /// Share of the question's neighboring words that stand side by side in the passage, 0..=1.
    pub phrase: f32,
    /// Share of the query's words that the index holds at all, 0..=1.
    pub in_vocabulary: f32,
    /// Share of the best ten of either leg that both have, 0..=1.
    pub agreement: f32,
    /// How far the cosine stands above the mean of the ten best, in standard deviations; 0 without a dense leg.
    pub lead: f32,
    /// The question is written in another language than the passage, so that missing words say nothing.
    pub other_language: bool,
}

/// The evidence, 0..=1.
#[must_use]
pub fn evidence(signals: &Signals, weights: &EvidenceWeights) -> f32 {
    let sum = match signals.dense {
        Some(dense) => {
            let words = weights.bias
                + weights.dense * dense
                + weights.lexical * signals.lexical
                + weights.coverage * signals.coverage
                + weights.phrase * signals.phrase
                + weights.in_vocabulary * signals.in_vocabulary
                + weights.agreement * signals.agreement;
            if signals.other_language {
                // Names and code are the same in all languages and count as ever; where there are none, the model alone knows.
                words.max(weights.across_bias + weights.across_lead * signals.lead)
            } else {
                words
            }
        }
        None => {
            weights.lexical_only_bias
                + weights.lexical_only_lexical * signals.lexical
                + weights.lexical_only_coverage * signals.coverage
                + weights.lexical_only_phrase * signals.phrase
                + weights.lexical_only_in_vocabulary * signals.in_vocabulary
        }
    };
    1.0 / (1.0 + (-sum).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_each_signal_is_more_evidence() {
        let weights = EvidenceWeights::default();
        let little =
            Signals { dense: Some(1.0), lexical: 0.1, coverage: 0.2, in_vocabulary: 0.5, ..Signals::default() };
        let much = Signals { dense: Some(4.0), lexical: 0.6, coverage: 0.9, in_vocabulary: 1.0, ..little };
        assert!(evidence(&much, &weights) > evidence(&little, &weights));
        assert!(evidence(&Signals { agreement: 0.5, ..much }, &weights) > evidence(&much, &weights));
        assert!(evidence(&Signals { phrase: 0.5, ..much }, &weights) > evidence(&much, &weights));
        let without = |signals: Signals| Signals { dense: None, ..signals };
        assert!(evidence(&without(much), &weights) > evidence(&without(little), &weights));
        assert!((0.0..=1.0).contains(&evidence(&much, &weights)));
    }

    #[test]
    fn missing_words_of_another_language_are_not_held_against_a_passage() {
        let weights = EvidenceWeights::default();
        let near = Signals { dense: Some(4.0), lead: 1.5, ..Signals::default() };
        let across = Signals { other_language: true, ..near };
        assert!(evidence(&near, &weights) < 0.1 && evidence(&across, &weights) > 0.5);
        assert!(evidence(&Signals { lead: 0.0, ..across }, &weights) < 0.2);
        let words = Signals { lexical: 0.8, coverage: 1.0, phrase: 1.0, in_vocabulary: 1.0, agreement: 0.5, ..near };
        assert_eq!(
            evidence(&words, &weights),
            evidence(&Signals { other_language: true, lead: 0.0, ..words }, &weights)
        );
    }
}
