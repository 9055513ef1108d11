//! Fits the policy to judged cases: thresholds by search over a grid, weights of a learned policy by gradient descent,
//! both judged on cases that they were not fitted on.
//!
//! **Invariant:** no randomness: cases are dealt to the folds in turn, outcome by outcome.

use serde::Serialize;

use super::{Expected, Judged, PolicyScore};
use crate::policy::decision_facts::DecisionFacts;
use crate::policy::logistic_policy::{LogisticWeights, OutcomeWeights};
use crate::policy::policy_config::PolicyConfig;
use crate::policy::policy_decision_maker::{PolicyDecisionMaker, Reason};
use crate::turn::Action;

/// Folds of the cross-validation.
const FOLDS: usize = 5;
/// Most of the cases to be answered that a calibrated policy may ask back about, 0..=1.
pub(super) const MOST_OVER_ASKING: f64 = 0.10;
/// How much the bias of asking back is lowered at once, in units of the logit, and how often at most.
const BIAS_STEP: f32 = 0.05;
const MOST_BIAS_STEPS: usize = 100;
/// Steps of the gradient descent; the loss has settled long before.
const STEPS: usize = 1500;
/// Length of a step.
const RATE: f32 = 0.5;
/// Pull of the weights towards zero, which keeps few cases from making large weights.
const DECAY: f32 = 0.002;

/// What a calibration proposes.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Calibration {
    /// The thresholds as they were.
    pub before: PolicyScore,
    /// The best thresholds found on all cases.
    pub policy: PolicyConfig,
    /// Their score on the cases that they were fitted on.
    pub fitted: PolicyScore,
    /// The score of thresholds fitted without the cases that they are judged on.
    pub cross_validated: PolicyScore,
    /// The weights of a learned policy, fitted on all cases.
    pub learned: LogisticWeights,
    /// The score of learned policies on cases that they were not fitted on.
    pub learned_cross_validated: PolicyScore,
}

/// Fits thresholds and weights.
pub(super) fn calibrate(judged: &[Judged], config: &PolicyConfig) -> Calibration {
    let all: Vec<&Judged> = judged.iter().collect();
    let policy = thresholds(&all, config);
    let learned = learned_policy(&all, config);
    let (mut held_out, mut held_out_learned) = (Vec::new(), Vec::new());
    for fold in 0..FOLDS {
        let of_fold = folds(&all);
        let (test, train): (Vec<_>, Vec<_>) = all.iter().zip(&of_fold).partition(|(_, own)| **own == fold);
        let train: Vec<&Judged> = train.into_iter().map(|(case, _)| *case).collect();
        let test: Vec<&Judged> = test.into_iter().map(|(case, _)| *case).collect();
        held_out.extend(predict(&test, &thresholds(&train, config)));
        let with_weights = PolicyConfig { learned: Some(learned_policy(&train, config)), ..config.clone() };
        held_out_learned.extend(predict(&test, &with_weights));
    }
    Calibration {
        before: PolicyScore::of(&predict(&all, config)),
        fitted: PolicyScore::of(&predict(&all, &policy)),
        policy,
        cross_validated: PolicyScore::of(&held_out),
        learned,
        learned_cross_validated: PolicyScore::of(&held_out_learned),
    }
}

/// The fold of each case: dealt in turn within its outcome, so that every fold has its share of each.
fn folds(cases: &[&Judged]) -> Vec<usize> {
    let mut dealt = [0_usize; 3];
    cases
        .iter()
        .map(|case| {
            let at = Expected::ALL.iter().position(|outcome| *outcome == case.expected).unwrap_or(0);
            dealt[at] += 1;
            (dealt[at] - 1) % FOLDS
        })
        .collect()
}

/// What a policy with these parameters makes of the cases; those that never reach the policy stay as they were.
fn predict(cases: &[&Judged], config: &PolicyConfig) -> Vec<(Expected, Expected)> {
    let maker = PolicyDecisionMaker::new(config.clone());
    cases
        .iter()
        .map(|case| {
            let predicted = case.facts.as_ref().map_or(case.predicted, |facts| {
                let decision = maker.decide(facts);
                match (decision.reason, decision.action) {
                    (Reason::NotInDocs, _) => Expected::NotInDocs,
                    (_, Action::AskClarification) => Expected::AskClarification,
                    _ => Expected::Answer,
                }
            });
            (case.expected, predicted)
        })
        .collect()
}

/// The thresholds with the best macro-F1 among those that do not ask back too often; the first of equal ones.
fn thresholds(cases: &[&Judged], config: &PolicyConfig) -> PolicyConfig {
    let steps = |from: f32, to: f32, step: f32| {
        let count = ((to - from) / step).round() as usize;
        (0..=count).map(move |at| ((from + step * at as f32) * 100.0).round() / 100.0)
    };
    let mut best = (f64::MIN, config.clone());
    for relevance_threshold in steps(0.05, 0.7, 0.05) {
        for not_in_docs_threshold in steps(0.0, relevance_threshold, 0.05) {
            for ambiguity_threshold in [0.5, 0.6, 0.7, 0.79, 0.9, 1.0] {
                let tried =
                    PolicyConfig { relevance_threshold, not_in_docs_threshold, ambiguity_threshold, ..config.clone() };
                let score = PolicyScore::of(&predict(cases, &tried));
                if score.over_asking <= MOST_OVER_ASKING && score.macro_f1 > best.0 + 1e-9 {
                    best = (score.macro_f1, tried);
                }
            }
        }
    }
    best.1
}

/// The weights of a learned policy that asks back no oftener than it should: the bias of asking back is lowered until, on
/// the cases that it was fitted on, it stays below the limit by one standard error, since on others it does a little worse.
fn learned_policy(cases: &[&Judged], config: &PolicyConfig) -> LogisticWeights {
    let mut fitted = weights(cases);
    let answers = cases.iter().filter(|case| case.expected == Expected::Answer).count().max(1);
    let error = (MOST_OVER_ASKING * (1.0 - MOST_OVER_ASKING) / answers as f64).sqrt();
    let limit = (MOST_OVER_ASKING - error).max(0.0);
    for _ in 0..MOST_BIAS_STEPS {
        let with_weights = PolicyConfig { learned: Some(fitted.clone()), ..config.clone() };
        if PolicyScore::of(&predict(cases, &with_weights)).over_asking <= limit {
            break;
        }
        for outcome in fitted.outcomes.iter_mut().filter(|outcome| outcome.outcome == "ask_clarification") {
            outcome.bias = ((outcome.bias - BIAS_STEP) * 1000.0).round() / 1000.0;
        }
    }
    fitted
}

/// Weights of a multinomial logistic regression. A case weighs less the more cases its outcome has, by the square root:
/// weighing outcomes equally asks back far too often where most questions have an answer.
fn weights(cases: &[&Judged]) -> LogisticWeights {
    let rows: Vec<([f32; DecisionFacts::FEATURES.len()], usize)> = cases
        .iter()
        .filter_map(|case| {
            let outcome = Expected::ALL.iter().position(|outcome| *outcome == case.expected)?;
            Some((case.facts.as_ref()?.features(), outcome))
        })
        .collect();
    const FEATURES: usize = DecisionFacts::FEATURES.len();
    let mut sizes = [0.0_f32; 3];
    rows.iter().for_each(|(_, outcome)| sizes[*outcome] += 1.0);
    let all = rows.len() as f32;
    let mut weights = [[0.0_f32; FEATURES + 1]; 3];
    for _ in 0..STEPS {
        let mut gradient = [[0.0_f32; FEATURES + 1]; 3];
        for (features, outcome) in &rows {
            let logits: Vec<f32> = weights.iter().map(|weights| logit(weights, features)).collect();
            let top = logits.iter().copied().fold(f32::MIN, f32::max);
            let total: f32 = logits.iter().map(|logit| (logit - top).exp()).sum();
            for (at, row) in gradient.iter_mut().enumerate() {
                let share = (logits[at] - top).exp() / total;
                let miss = (share - if at == *outcome { 1.0 } else { 0.0 }) / (sizes[*outcome] * all).sqrt();
                row[0] += miss;
                row[1..].iter_mut().zip(features).for_each(|(own, feature)| *own += miss * feature);
            }
        }
        for (weights, gradient) in weights.iter_mut().zip(&gradient) {
            for (at, (weight, slope)) in weights.iter_mut().zip(gradient).enumerate() {
                let decay = if at == 0 { 0.0 } else { DECAY * *weight };
                *weight -= RATE * (slope + decay);
            }
        }
    }
    let round = |weight: &f32| (weight * 1000.0).round() / 1000.0;
    LogisticWeights {
        features: DecisionFacts::FEATURES.iter().map(|&name| name.to_owned()).collect(),
        outcomes: ["answer_directly", "ask_clarification", "not_in_docs"]
            .iter()
            .zip(&weights)
            .map(|(&outcome, weights)| OutcomeWeights {
                outcome: outcome.to_owned(),
                bias: round(&weights[0]),
                weights: weights[1..].iter().map(round).collect(),
            })
            .collect(),
    }
}

fn logit(weights: &[f32], features: &[f32]) -> f32 {
    weights[0] + weights[1..].iter().zip(features).map(|(weight, feature)| weight * feature).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(at: usize, expected: Expected, facts: DecisionFacts) -> Judged {
        Judged {
            id: at.to_string(),
            expected,
            predicted: Expected::Answer,
            action: Action::AnswerDirectly,
            reason: String::new(),
            query: None,
            facts: Some(facts),
            right_page: None,
        }
    }

    /// Cases whose answer begins at an evidence of 0.5, far from the default threshold of 0.3.
    fn separable() -> Vec<Judged> {
        (0..60)
            .map(|at| {
                let best = (at % 20) as f32 / 20.0;
                let expected = if best >= 0.5 { Expected::Answer } else { Expected::AskClarification };
                case(at, expected, DecisionFacts { found: 3, best, content_words: 2, ..DecisionFacts::default() })
            })
            .collect()
    }

    #[test]
    fn thresholds_find_the_border_that_the_cases_have() {
        let calibration = calibrate(&separable(), &PolicyConfig::default());
        assert!(calibration.before.macro_f1 < 0.85, "{:?}", calibration.before);
        assert!((calibration.policy.relevance_threshold - 0.5).abs() < 0.051, "{:?}", calibration.policy);
        assert!(calibration.cross_validated.macro_f1 > 0.9, "{:?}", calibration.cross_validated);
        assert!(calibration.learned_cross_validated.macro_f1 > 0.9, "{:?}", calibration.learned_cross_validated);
        calibration.policy.check("").unwrap();
        calibration.learned.check("").unwrap();
    }

    #[test]
    fn figures_are_those_of_the_table_of_outcomes() {
        use Expected::{Answer, AskClarification, NotInDocs};
        let pairs =
            [(Answer, Answer), (Answer, AskClarification), (AskClarification, AskClarification), (NotInDocs, Answer)];
        let score = PolicyScore::of(&pairs);
        let f1: Vec<f64> = score.outcomes.iter().map(|outcome| outcome.f1).collect();
        assert_eq!(f1, [0.5, 2.0 / 3.0, 0.0]);
        assert!((score.macro_f1 - (0.5 + 2.0 / 3.0) / 3.0).abs() < 1e-9);
        // Two of four are answers: always answering has an F1 of 2/3 for them and 0 for the others.
        assert!((score.always_answer_macro_f1 - 2.0 / 9.0).abs() < 1e-9);
        assert_eq!((score.over_asking, score.over_refusing), (0.5, 0.0));
    }
}
