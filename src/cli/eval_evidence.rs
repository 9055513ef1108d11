//! How honest the evidence is: whether one threshold tells questions with an answer from questions without.
//!
//! Input: an index and questions of both kinds. Output: AUC, F1 at the default threshold and both kinds of error, for all
//! questions, by language and by length, with words alone and with the model.
//! **Invariant:** what is judged is the evidence of the best of the passages that the product's search gives.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::Result;
use crate::relevance::relevance_engine::{JUDGED_BY, most_evidence};
use crate::retrieval::analyzer::is_cjk;
use crate::retrieval::search_index::{SearchIndex, SearchRequest};
use crate::turn::{Language, Mode};

/// Evidence from which a question counts as answered: the policy's default threshold.
pub(super) const THRESHOLD: f32 = 0.3;

/// Words up to which a question is short; two Chinese characters count as a word.
const SHORT: usize = 6;

/// Questions of each kind that a group needs before its figures say anything.
const LEAST_OF_GROUP: usize = 10;

/// A question.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    /// Its words.
    pub(super) text: &'a str,
    /// Whether the documentation answers it.
    pub(super) answerable: bool,
    /// Its embedding, where there is a model.
    pub(super) embedding: Option<&'a [f32]>,
}

/// How well the evidence tells questions with an answer from questions without.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Separation {
    /// Probability that an answerable question has more evidence than one that is not.
    pub auc: f64,
    /// F1 of "answerable" at the default threshold, with both kinds weighing the same however many there are.
    pub f1: f64,
    /// Share of the answerable questions above the threshold.
    pub recall: f64,
    /// Share of the other questions above the threshold.
    pub false_alarms: f64,
    /// Number of answerable questions.
    pub answerable: usize,
    /// Number of the others.
    pub unanswerable: usize,
}

/// The separation of all questions and of groups of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceReport {
    /// Over all questions.
    #[serde(flatten)]
    pub all: Separation,
    /// By the question's language (`en`, `zh`) and length (`short`, `long`), where a group holds enough of both kinds.
    pub groups: BTreeMap<&'static str, Separation>,
}

/// Asks all questions, by words alone and, where they have embeddings, with both legs.
///
/// # Errors
/// See [`SearchIndex::search`].
pub(super) fn measure(index: &SearchIndex, asked: &[Asked<'_>]) -> Result<BTreeMap<&'static str, EvidenceReport>> {
    let mut reports = BTreeMap::new();
    if asked.iter().all(|question| question.answerable) {
        return Ok(reports);
    }
    for (leg, mode) in [("lexical", Mode::Lexical), ("hybrid", Mode::Hybrid)] {
        if mode == Mode::Hybrid && asked.iter().any(|question| question.embedding.is_none()) {
            continue;
        }
        let scores = asked.iter().map(|question| best(index, question, mode)).collect::<Result<Vec<f32>>>()?;
        let of = |belongs: &dyn Fn(&Asked<'_>) -> bool| {
            let part = asked.iter().zip(&scores).filter(|(question, _)| belongs(question));
            let (yes, no): (Vec<_>, Vec<_>) = part.partition(|(question, _)| question.answerable);
            let values =
                |part: Vec<(&Asked<'_>, &f32)>| part.into_iter().map(|(_, score)| *score).collect::<Vec<f32>>();
            (values(yes), values(no))
        };
        let (yes, no) = of(&|_| true);
        let mut groups = BTreeMap::new();
        let language = |question: &Asked<'_>| Language::detect(question.text);
        type Kind<'a> = (&'static str, &'a dyn Fn(&Asked<'_>) -> bool);
        let kinds: [Kind<'_>; 4] = [
            ("en", &|question| language(question) == Some(Language::English)),
            ("zh", &|question| language(question) == Some(Language::Chinese)),
            ("short", &|question| length(question.text) <= SHORT),
            ("long", &|question| length(question.text) > SHORT),
        ];
        for (name, belongs) in kinds {
            let (yes, no) = of(belongs);
            if yes.len() >= LEAST_OF_GROUP && no.len() >= LEAST_OF_GROUP {
                groups.insert(name, separation(&yes, &no));
            }
        }
        reports.insert(leg, EvidenceReport { all: separation(&yes, &no), groups });
    }
    Ok(reports)
}

fn best(index: &SearchIndex, question: &Asked<'_>, mode: Mode) -> Result<f32> {
    let request = SearchRequest {
        query: question.text,
        embedding: question.embedding,
        mode,
        top_k: JUDGED_BY,
        ..SearchRequest::default()
    };
    Ok(most_evidence(&index.search(&request)?.passages))
}

/// Words of a text, with two Chinese characters for a word.
fn length(text: &str) -> usize {
    let chinese = text.chars().filter(|c| is_cjk(*c)).count();
    let words = text.split(|c: char| !c.is_alphanumeric() || is_cjk(c)).filter(|word| !word.is_empty()).count();
    words + chinese.div_ceil(2)
}

/// How well a score separates two groups.
fn separation(answerable: &[f32], unanswerable: &[f32]) -> Separation {
    let mut wins = 0.0;
    for yes in answerable {
        for no in unanswerable {
            wins += if yes > no { 1.0 } else { f64::from(u8::from(yes == no)) / 2.0 };
        }
    }
    let above =
        |scores: &[f32]| scores.iter().filter(|score| **score >= THRESHOLD).count() as f64 / scores.len().max(1) as f64;
    let (recall, false_alarms) = (above(answerable), above(unanswerable));
    let pairs = answerable.len() as f64 * unanswerable.len() as f64;
    Separation {
        auc: wins / pairs.max(1.0),
        f1: 2.0 * recall / (recall + false_alarms + 1.0),
        recall,
        false_alarms,
        answerable: answerable.len(),
        unanswerable: unanswerable.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_separate_give_an_auc_of_one() {
        let report = separation(&[0.9, 0.4], &[0.1, 0.2]);
        assert_eq!((report.auc, report.f1, report.recall, report.false_alarms), (1.0, 1.0, 1.0, 0.0));
        assert_eq!(separation(&[0.5], &[0.5]).auc, 0.5);
    }

    #[test]
    fn both_kinds_weigh_the_same_however_many_there_are() {
        let few = separation(&[0.9, 0.1], &[0.9]);
        let many = separation(&[0.9, 0.1], &[0.9; 50]);
        assert_eq!((few.f1, few.false_alarms), (many.f1, many.false_alarms));
    }

    #[test]
    fn a_length_counts_words_of_both_languages() {
        for (text, words) in [("How do I install it?", 5), ("如何安装 pip？", 3), ("", 0), ("安装", 1)] {
            assert_eq!(length(text), words, "{text}");
        }
    }
}
