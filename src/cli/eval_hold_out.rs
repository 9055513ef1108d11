//! `docent eval --hold-out SET…`: whether the weights of the ranking hold on a set that they were not chosen on.
//!
//! Input: at least two sets. For each, the weights are chosen on the others: from the defaults on, one weight at a time is
//! set to the value of [`GRID`] with the best mean nDCG@10 over those sets. Output: nDCG@10 of the set that was held out,
//! with the weights chosen without it and with the defaults, beside its legs.
//! **Invariant:** a set has no part in the choice that it is judged by.

use std::path::PathBuf;

use serde::Serialize;

use crate::cli::eval_beir::{Interval, Prepared, Settings, interval};
use crate::error::{Error, Result};
use crate::retrieval::weights::Weights;
use crate::turn::Mode;

/// A weight that is chosen, and the values that it may take.
struct Choice {
    name: &'static str,
    values: &'static [f32],
    set: fn(&mut Weights, f32),
    get: fn(&Weights) -> f32,
}

/// What is chosen: few weights and few values, since a fine grid would only fit the chance of a few hundred queries.
const GRID: &[Choice] = &[
    Choice {
        name: "lexical",
        values: &[2.0, 2.8, 3.5, 4.2, 5.0],
        set: |weights, value| weights.fusion.lexical = value,
        get: |weights| weights.fusion.lexical,
    },
    Choice {
        name: "dense",
        values: &[0.3, 0.5, 0.7, 1.0],
        set: |weights, value| weights.fusion.dense = value,
        get: |weights| weights.fusion.dense,
    },
    Choice {
        name: "question_page",
        values: &[0.0, 0.6, 1.2, 1.8],
        set: |weights, value| weights.fusion.question_page = value,
        get: |weights| weights.fusion.question_page,
    },
    Choice {
        name: "verdict",
        values: &[0.0, 0.4, 0.8],
        set: |weights, value| weights.fusion.verdict = value,
        get: |weights| weights.fusion.verdict,
    },
    Choice {
        name: "phrase",
        values: &[0.0, 0.5, 1.0, 1.5],
        set: |weights, value| weights.second_stage.phrase = value,
        get: |weights| weights.second_stage.phrase,
    },
    Choice {
        name: "heading",
        values: &[0.0, 0.5, 1.0, 2.0],
        set: |weights, value| weights.second_stage.heading = value,
        get: |weights| weights.second_stage.heading,
    },
];

/// Queries of a set that have a part in a choice; a set of thousands needs no more to be known, and must not take hours.
const MOST_QUERIES: usize = 250;

/// The outcome for the set that was held out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HoldOutReport {
    /// Name of the set's folder.
    pub set: String,
    /// The weights that the other sets chose, by name.
    pub chosen: Vec<(&'static str, f32)>,
    /// nDCG@10 with those.
    #[serde(rename = "heldOut")]
    pub held_out: Interval,
    /// nDCG@10 with the defaults.
    pub defaults: Interval,
    /// nDCG@10 of the lexical leg.
    pub lexical: Interval,
    /// nDCG@10 of the dense leg.
    pub dense: Interval,
}

/// Holds out each set once.
///
/// # Errors
/// [`Error::Input`] for fewer than two sets or one that cannot be read, [`Error::Model`] when no model serves one.
pub fn evaluate(folders: &[PathBuf], settings: &Settings) -> Result<Vec<HoldOutReport>> {
    if folders.len() < 2 {
        let reason = "weights are chosen on the other sets, so at least two are needed";
        return Err(Error::Input { path: "--hold-out".to_owned(), reason: reason.to_owned() });
    }
    let mut sets = folders.iter().map(|folder| Prepared::read(folder, settings)).collect::<Result<Vec<_>>>()?;
    let (mut reports, mut measured) = (Vec::new(), Measured::new());
    for out in 0..sets.len() {
        let weights = choose(&mut sets, out, &mut measured)?;
        let set = &mut sets[out];
        let defaults = Weights::default();
        reports.push(HoldOutReport {
            set: set.name().to_owned(),
            chosen: GRID.iter().map(|choice| (choice.name, (choice.get)(&weights))).collect(),
            held_out: interval(&set.ndcg(weights, Mode::Hybrid, usize::MAX)?),
            defaults: interval(&set.ndcg(defaults, Mode::Hybrid, usize::MAX)?),
            lexical: interval(&set.ndcg(defaults, Mode::Lexical, usize::MAX)?),
            dense: interval(&set.ndcg(defaults, Mode::Dense, usize::MAX)?),
        });
    }
    Ok(reports)
}

/// Means of nDCG@10 that were measured before: the folds ask for many of them again.
type Measured = Vec<(usize, Weights, f64)>;

/// The weights that are best on the mean of the sets but one. A value that is no better than the one before it is not
/// taken, so that chance moves nothing.
fn choose(sets: &mut [Prepared], out: usize, measured: &mut Measured) -> Result<Weights> {
    let mut judge = |weights: Weights| -> Result<f64> {
        let mut sum = 0.0;
        for (at, set) in sets.iter_mut().enumerate().filter(|(at, _)| *at != out) {
            let known = measured.iter().find(|(of, with, _)| *of == at && *with == weights).map(|(.., mean)| *mean);
            sum += match known {
                Some(mean) => mean,
                None => {
                    let scores = set.ndcg(weights, Mode::Hybrid, MOST_QUERIES)?;
                    let mean = scores.iter().sum::<f64>() / scores.len().max(1) as f64;
                    measured.push((at, weights, mean));
                    mean
                }
            };
        }
        Ok(sum)
    };
    let mut best = Weights::default();
    let mut best_score = judge(best)?;
    for choice in GRID {
        for value in choice.values {
            let mut weights = best;
            (choice.set)(&mut weights, *value);
            let score = judge(weights)?;
            if score > best_score + 1e-9 {
                (best, best_score) = (weights, score);
            }
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_sets_what_it_names() {
        for choice in GRID {
            let mut weights = Weights::default();
            (choice.set)(&mut weights, 0.125);
            assert_eq!((choice.get)(&weights), 0.125, "{}", choice.name);
            assert!(choice.values.is_sorted(), "{}", choice.name);
        }
    }

    #[test]
    fn one_set_alone_is_refused() {
        let error = evaluate(&[PathBuf::from("a")], &Settings::default()).unwrap_err();
        assert!(error.to_string().contains("at least two"), "{error}");
    }
}
