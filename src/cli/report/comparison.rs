//! Compares policy variants: the rates of each, and whether the difference of their completion rates may be chance.

use std::collections::BTreeMap;

use serde::Serialize;
use statrs::distribution::{Discrete, Hypergeometric};

use crate::agent::metrics::Metrics;
use crate::agent::turn_record::TurnRecord;

/// Level below which a difference counts as significant, after the correction for several comparisons.
const LEVEL: f64 = 0.05;

/// One arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Variant {
    /// Its name; the first by name is what the others are compared with.
    pub(super) name: String,
    pub(super) metrics: Metrics,
    /// Difference of the completion rate to the first arm, -1..=1.
    pub(super) difference: Option<f64>,
    /// Two-sided p of Fisher's exact test on completed and failed tasks, corrected after Holm, 0..=1.
    pub(super) p: Option<f64>,
    /// Whether `p` is below 0.05.
    pub(super) significant: bool,
}

/// The arms; empty where the log knows none.
pub(super) fn of(records: &[TurnRecord], prices: Option<(f64, f64)>) -> Vec<Variant> {
    let mut arms: BTreeMap<&str, Vec<TurnRecord>> = BTreeMap::new();
    for record in records {
        if let Some(variant) = &record.variant {
            arms.entry(variant).or_default().push(record.clone());
        }
    }
    let mut variants: Vec<Variant> = arms
        .into_iter()
        .map(|(name, records)| Variant {
            name: name.to_owned(),
            metrics: Metrics::of(&records, prices),
            difference: None,
            p: None,
            significant: false,
        })
        .collect();
    let Some(first) = variants.first().map(|first| first.metrics.clone()) else { return variants };
    let mut raw: Vec<(usize, f64)> = Vec::new();
    for (at, variant) in variants.iter_mut().enumerate().skip(1) {
        let own = &variant.metrics;
        variant.difference = own.task_completion_rate.zip(first.task_completion_rate).map(|(own, first)| own - first);
        if variant.difference.is_some() {
            raw.push((at, fisher(first.completed, first.failed, own.completed, own.failed)));
        }
    }
    // Holm (1979): the smallest p is multiplied by the number of comparisons, the next by one less, never falling.
    raw.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut least = 0.0_f64;
    let count = raw.len();
    for (rank, (at, p)) in raw.into_iter().enumerate() {
        least = least.max((p * (count - rank) as f64).min(1.0));
        variants[at].p = Some(least);
        variants[at].significant = least < LEVEL;
    }
    variants
}

/// Two-sided p of Fisher's exact test on a table of two arms and two outcomes: the sum over all tables with the same
/// margins that are no more likely than this one.
pub(super) fn fisher(a: usize, b: usize, c: usize, d: usize) -> f64 {
    let (population, successes, draws) = ((a + b + c + d) as u64, (a + c) as u64, (a + b) as u64);
    let Ok(tables) = Hypergeometric::new(population, successes, draws) else { return 1.0 };
    let own = tables.pmf(a as u64);
    let low = (draws + successes).saturating_sub(population);
    let high = draws.min(successes);
    // A little above its own probability, so that rounding does not leave the equally likely tables out.
    (low..=high).map(|k| tables.pmf(k)).filter(|p| *p <= own * (1.0 + 1e-7)).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fishers_test_gives_the_textbook_values() {
        // Fisher's tea: 3 of 4 cups right each way. Two-sided p = 0.4857.
        assert!((fisher(3, 1, 1, 3) - 0.485_714).abs() < 1e-5);
        // R: fisher.test(matrix(c(1, 9, 11, 3), 2))$p.value = 0.002759456.
        assert!((fisher(1, 11, 9, 3) - 0.002_759_456).abs() < 1e-8);
        assert!((fisher(5, 5, 5, 5) - 1.0).abs() < 1e-9);
        assert!((fisher(0, 0, 3, 2) - 1.0).abs() < 1e-9);
    }
}
