//! A learned policy: multinomial logistic regression whose weights are data.
//!
//! Input: the features of [`DecisionFacts`]. Output: the likeliest outcome among those that the rules allow.

use serde::{Deserialize, Serialize};

use super::decision_facts::DecisionFacts;
use super::policy_config::PolicyConfig;
use super::policy_decision_maker::{DialoguePolicy, Outcome};
use crate::error::{Error, Result};

/// The labels that weights can be given for.
const LABELS: [&str; 4] = ["answer_directly", "suggest_related", "ask_clarification", "not_in_docs"];

/// Weights of one outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutcomeWeights {
    /// `answer_directly`, `suggest_related`, `ask_clarification` or `not_in_docs`.
    pub outcome: String,
    /// Added to the weighted sum.
    pub bias: f32,
    /// One weight a feature, in the order of [`LogisticWeights::features`].
    pub weights: Vec<f32>,
}

/// The weights of a learned policy, as `docent eval --calibrate` writes them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogisticWeights {
    /// Names of the features that the weights are for; each one of [`DecisionFacts::FEATURES`].
    pub features: Vec<String>,
    /// The weights; an outcome without any is never chosen over one that has some.
    pub outcomes: Vec<OutcomeWeights>,
}

impl LogisticWeights {
    /// Checks names, lengths and numbers; `prefix` is put before the names in errors.
    ///
    /// # Errors
    /// [`Error::InvalidOption`].
    pub fn check(&self, prefix: &str) -> Result<()> {
        let refuse =
            |name: String, reason: String| Err(Error::InvalidOption { name: format!("{prefix}{name}"), reason });
        for (at, feature) in self.features.iter().enumerate() {
            if !DecisionFacts::FEATURES.contains(&feature.as_str()) {
                return refuse(format!("features[{at}]"), format!("there is no feature `{feature}`"));
            }
        }
        if self.outcomes.is_empty() {
            return refuse("outcomes".to_owned(), "at least one outcome is needed".to_owned());
        }
        for (at, outcome) in self.outcomes.iter().enumerate() {
            if !LABELS.contains(&outcome.outcome.as_str()) {
                return refuse(format!("outcomes[{at}].outcome"), format!("one of {} is needed", LABELS.join(", ")));
            }
            if outcome.weights.len() != self.features.len() {
                return refuse(
                    format!("outcomes[{at}].weights"),
                    format!("{} weights for {} features", outcome.weights.len(), self.features.len()),
                );
            }
            if !outcome.bias.is_finite() || outcome.weights.iter().any(|weight| !weight.is_finite()) {
                return refuse(format!("outcomes[{at}].weights"), "every weight must be a finite number".to_owned());
            }
        }
        Ok(())
    }
}

/// A policy that takes the likeliest outcome.
#[derive(Debug, Clone, Copy)]
pub struct LogisticPolicy<'a> {
    weights: &'a LogisticWeights,
}

impl<'a> LogisticPolicy<'a> {
    /// A policy for weights that passed [`LogisticWeights::check`].
    #[must_use]
    pub fn new(weights: &'a LogisticWeights) -> Self {
        Self { weights }
    }

    /// The weighted sum of an outcome; `None` where no weights are given for it.
    fn logit(&self, label: &str, facts: &DecisionFacts) -> Option<f32> {
        let outcome = self.weights.outcomes.iter().find(|outcome| outcome.outcome == label)?;
        let numbers = facts.features();
        let value = |name: &String| {
            DecisionFacts::FEATURES.iter().position(|known| known == name).map_or(0.0, |position| numbers[position])
        };
        let sum: f32 =
            self.weights.features.iter().zip(&outcome.weights).map(|(name, weight)| value(name) * weight).sum();
        Some(outcome.bias + sum)
    }
}

impl DialoguePolicy for LogisticPolicy<'_> {
    fn name(&self) -> &str {
        "logistic"
    }

    fn choose(&self, facts: &DecisionFacts, _: &PolicyConfig, rails: &[Outcome]) -> (Outcome, Vec<(String, f32)>) {
        let scored: Vec<(Outcome, f32)> = rails
            .iter()
            .filter_map(|outcome| self.logit(outcome.label(), facts).map(|logit| (*outcome, logit)))
            .collect();
        let Some(top) = scored.iter().map(|(_, logit)| *logit).reduce(f32::max) else {
            return (rails[0], Vec::new());
        };
        // Softmax with the largest logit taken off, so that no exponential overflows.
        let total: f32 = scored.iter().map(|(_, logit)| (logit - top).exp()).sum();
        let probabilities =
            scored.iter().map(|(outcome, logit)| (outcome.label().to_owned(), (logit - top).exp() / total)).collect();
        // The first of equal ones wins, so that a tie is the table's choice.
        let chosen = scored.iter().find(|(_, logit)| *logit == top).map_or(rails[0], |(outcome, _)| *outcome);
        (chosen, probabilities)
    }
}
