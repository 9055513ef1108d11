//! The parameters of the policy: what each means, its default and its range.
//!
//! Input: JSON of the site (or nothing, for the defaults). Output: checked numbers.
//! **Invariant:** a `PolicyConfig` that passed [`PolicyConfig::check`] needs no further range check anywhere.

use serde::{Deserialize, Serialize};

use super::logistic_policy::LogisticWeights;
use crate::error::{Error, Result};
use crate::json;

/// The parameters of the policy table; every one can be set by the site.
///
/// The defaults of the first five are the specified ones. The thresholds are on the calibrated evidence scale, so that
/// they mean the same for short and long, English and Chinese questions; `docent eval --calibrate` proposes values from
/// a site's own questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// Evidence from which a passage counts as found, 0..=1. Higher asks back more often.
    pub relevance_threshold: f32,
    /// Context relevance from which a question continues the topic, 0..=1. Higher sees more new topics.
    pub context_threshold: f32,
    /// Passages that are searched and quoted at most, 1..=20.
    pub top_k: usize,
    /// Failed turns in a row before the hand-over to a human, 1..=10.
    pub confusion_limit: u32,
    /// Related pages offered with an answer, 0..=5; 0 turns suggestions off.
    pub max_suggestions: usize,
    /// Choices of a clarifying question, 2..=6.
    pub max_options: usize,
    /// Answered turns on one topic after which a summary is offered as a choice, 2..=50.
    pub summary_after: u32,
    /// Evidence below which a specific question counts as not covered by the docs, 0..=1; never above
    /// [`Self::relevance_threshold`] in effect. A question that names something unknown to the docs needs no less than
    /// that one.
    pub not_in_docs_threshold: f32,
    /// How sure the agent must be that a question is ambiguous before it asks although something was found, 0..=1.
    /// Higher asks less; 1 asks only about an even split.
    pub ambiguity_threshold: f32,
    /// A learned policy that replaces the order of the table within what its rules allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<LogisticWeights>,
}

impl Default for PolicyConfig {
    fn default() -> Self {
        Self {
            relevance_threshold: 0.3,
            context_threshold: 0.5,
            top_k: 5,
            confusion_limit: 3,
            max_suggestions: 2,
            max_options: 3,
            summary_after: 6,
            not_in_docs_threshold: 0.25,
            ambiguity_threshold: 0.55,
            learned: None,
        }
    }
}

impl PolicyConfig {
    /// Checks every range; `prefix` is put before the names in errors (`policy.` or `variants[1].policy.`).
    ///
    /// # Errors
    /// [`Error::InvalidOption`] naming the first parameter that is out of range and what is allowed.
    pub fn check(&self, prefix: &str) -> Result<()> {
        share(prefix, "relevanceThreshold", self.relevance_threshold)?;
        share(prefix, "contextThreshold", self.context_threshold)?;
        share(prefix, "notInDocsThreshold", self.not_in_docs_threshold)?;
        share(prefix, "ambiguityThreshold", self.ambiguity_threshold)?;
        whole(prefix, "topK", self.top_k, 1, 20)?;
        whole(prefix, "confusionLimit", self.confusion_limit as usize, 1, 10)?;
        whole(prefix, "maxSuggestions", self.max_suggestions, 0, 5)?;
        whole(prefix, "maxOptions", self.max_options, 2, 6)?;
        whole(prefix, "summaryAfter", self.summary_after as usize, 2, 50)?;
        if let Some(weights) = &self.learned {
            weights.check(&format!("{prefix}learned."))?;
        }
        Ok(())
    }
}

/// Refuses a number outside of 0..=1, not-a-number included.
pub(crate) fn share(prefix: &str, name: &str, value: f32) -> Result<()> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::InvalidOption {
        name: format!("{prefix}{name}"),
        reason: format!("{} is not within 0..=1", json::number(value)),
    })
}

/// Refuses a whole number outside of `low..=high`.
pub(crate) fn whole(prefix: &str, name: &str, value: usize, low: usize, high: usize) -> Result<()> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Error::InvalidOption {
        name: format!("{prefix}{name}"),
        reason: format!("{value} is not within {low}..={high}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_specified_ones_and_in_range() {
        let config = PolicyConfig::default();
        assert_eq!(
            (config.relevance_threshold, config.context_threshold, config.top_k, config.confusion_limit),
            (0.3, 0.5, 5, 3)
        );
        assert_eq!(config.max_suggestions, 2);
        config.check("").unwrap();
    }

    #[test]
    fn a_value_out_of_range_is_named_with_what_is_allowed() {
        let check = |config: PolicyConfig, expected: &str| {
            assert_eq!(config.check("policy.").unwrap_err().to_string(), expected);
        };
        check(
            PolicyConfig { relevance_threshold: 1.5, ..PolicyConfig::default() },
            "option `policy.relevanceThreshold`: 1.5 is not within 0..=1",
        );
        check(
            PolicyConfig { context_threshold: f32::NAN, ..PolicyConfig::default() },
            "option `policy.contextThreshold`: NaN is not within 0..=1",
        );
        check(PolicyConfig { top_k: 0, ..PolicyConfig::default() }, "option `policy.topK`: 0 is not within 1..=20");
        check(
            PolicyConfig { confusion_limit: 0, ..PolicyConfig::default() },
            "option `policy.confusionLimit`: 0 is not within 1..=10",
        );
        check(
            PolicyConfig { max_suggestions: 9, ..PolicyConfig::default() },
            "option `policy.maxSuggestions`: 9 is not within 0..=5",
        );
    }

    #[test]
    fn an_unknown_parameter_is_refused() {
        let error = serde_json::from_str::<PolicyConfig>(r#"{"relevanceTreshold": 0.4}"#).unwrap_err();
        assert!(error.to_string().contains("relevanceTreshold"), "{error}");
    }
}
