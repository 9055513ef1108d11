//! `docent eval --graph SET…`: what the graph finds of what exact search finds, and from which size on it is faster.
//!
//! Input: sets in the BEIR layout, of which parts of growing size are indexed. Output: for each size the recall@10 of the
//! graph against exact search over the set's own queries, and the time of a query by either.
//! **Invariant:** both search the same vectors and give as many results; times are the best of several rounds, so that other
//! work on the machine changes little.

use std::collections::HashSet;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::cli::eval_beir::{BeirSet, Settings, embed};
use crate::error::{Error, Result};
use crate::retrieval::index_builder::build_vectors;
use crate::retrieval::vector_index::VectorIndex;

/// Passages in the smallest part; each further one holds twice as many.
const SMALLEST: usize = 250;

/// Results that recall is counted over.
const DEPTH: usize = 10;

/// Results that a search of the product asks the dense leg for, and so what is timed.
const TIMED_DEPTH: usize = 100;

/// Times that all queries are asked; the fastest round counts.
const ROUNDS: usize = 3;

/// One size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GraphRow {
    /// Passages in the index.
    pub passages: usize,
    /// Share of the ten nearest passages that the graph finds, 0..=1.
    #[serde(rename = "recall@10")]
    pub recall_at_10: f64,
    /// Microseconds of a query by the graph.
    pub graph_micros: f64,
    /// Microseconds of a query by comparing with every passage.
    pub exact_micros: f64,
}

/// The outcome of a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphReport {
    /// Name of the set's folder.
    pub set: String,
    /// Queries asked at each size.
    pub queries: usize,
    /// The embedding model.
    pub model: String,
    /// By size, smallest first; the last is the whole set.
    pub sizes: Vec<GraphRow>,
    /// The smallest measured size from which on the graph is faster; `None` where exact search is at every size.
    pub faster_from: Option<usize>,
}

/// Measures a set.
///
/// # Errors
/// [`Error::Input`] when the set cannot be read, [`Error::Model`] when no model serves it.
pub fn evaluate(folder: &Path, settings: &Settings) -> Result<GraphReport> {
    let set = BeirSet::read(folder)?;
    let set = match settings.sample {
        Some(limit) => set.sample(limit.max(1)),
        None => set,
    };
    let (embedded, warnings) = embed(&set, &[], settings)?;
    let Some(embedded) = embedded else {
        return Err(Error::Model(format!("{}: {}", set.name(), warnings.join("; "))));
    };
    let sizes = sizes(&embedded.model.id, &embedded.passages, &embedded.queries)?;
    Ok(GraphReport {
        set: set.name().to_owned(),
        queries: embedded.queries.len(),
        model: embedded.model.id,
        faster_from: faster_from(&sizes),
        sizes,
    })
}

fn sizes(model: &str, passages: &[Vec<f32>], queries: &[Vec<f32>]) -> Result<Vec<GraphRow>> {
    let mut rows = Vec::new();
    let mut size = SMALLEST;
    loop {
        let count = size.min(passages.len());
        rows.push(row(&build_vectors(model, &passages[..count])?, queries));
        if count == passages.len() {
            return Ok(rows);
        }
        size *= 2;
    }
}

fn row(vectors: &VectorIndex, queries: &[Vec<f32>]) -> GraphRow {
    let exact = |query: &[f32], depth: usize| vectors.nearest_among(query, 0..vectors.len() as u32, depth);
    let graph = |query: &[f32], depth: usize| vectors.nearest(query, depth);
    GraphRow {
        passages: vectors.len(),
        recall_at_10: recall(vectors, queries),
        graph_micros: micros(queries, |query| graph(query, TIMED_DEPTH)),
        exact_micros: micros(queries, |query| exact(query, TIMED_DEPTH)),
    }
}

/// The share of the ten nearest passages that the graph finds, exact search being the truth.
pub(super) fn recall(vectors: &VectorIndex, queries: &[Vec<f32>]) -> f64 {
    let (mut found, mut wanted) = (0, 0);
    for query in queries {
        let exact = vectors.nearest_among(query, 0..vectors.len() as u32, DEPTH);
        let exact: HashSet<u32> = exact.into_iter().map(|hit| hit.0).collect();
        found += vectors.nearest(query, DEPTH).into_iter().filter(|hit| exact.contains(&hit.0)).count();
        wanted += exact.len();
    }
    found as f64 / wanted.max(1) as f64
}

fn micros(queries: &[Vec<f32>], search: impl Fn(&[f32]) -> Vec<(u32, f32)>) -> f64 {
    let round = || {
        let start = Instant::now();
        for query in queries {
            black_box(search(query));
        }
        start.elapsed().as_secs_f64() * 1e6 / queries.len().max(1) as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn faster_from(rows: &[GraphRow]) -> Option<usize> {
    let faster = rows.iter().rev().take_while(|row| row.graph_micros < row.exact_micros);
    faster.last().map(|row| row.passages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_parts_are_measured_up_to_the_whole() {
        let vector = |at: usize| {
            let mut vector: Vec<f32> = (0..16).map(|d| (((at + 1) * (d + 3) * 7_919 % 101) as f32) - 50.0).collect();
            let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            vector.iter_mut().for_each(|value| *value /= norm);
            vector
        };
        let passages: Vec<Vec<f32>> = (0..600).map(vector).collect();
        let rows = sizes("test", &passages, &passages[..5]).unwrap();
        assert_eq!(rows.iter().map(|row| row.passages).collect::<Vec<_>>(), [250, 500, 600]);
        for row in rows {
            assert!(row.recall_at_10 > 0.9 && row.graph_micros > 0.0 && row.exact_micros > 0.0, "{row:?}");
        }
    }

    #[test]
    fn the_graph_counts_as_faster_only_where_it_stays_so() {
        let row =
            |passages, graph_micros, exact_micros| GraphRow { passages, recall_at_10: 1.0, graph_micros, exact_micros };
        let rows = [row(1, 1.0, 2.0), row(2, 2.0, 1.0), row(4, 1.0, 2.0), row(8, 1.0, 4.0)];
        assert_eq!(faster_from(&rows), Some(4));
        assert_eq!(faster_from(&rows[..2]), None);
    }
}
