//! Groups questions without a good answer by what they are about.
//!
//! Questions are joined when they share enough of their telling words, each weighted by how rare it is among these
//! questions, and groups grow by average linkage, so that one bridge between two subjects does not join them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::agent::turn_record::TurnRecord;
use crate::relevance::context_relevance::content_words;
use crate::retrieval::analyzer::{Analyzer, WordList};

/// Similarity from which groups are joined, 0..=1.
const JOIN: f32 = 0.33;
/// Questions that are compared with each other; further ones join the group that is nearest.
const MOST_COMPARED: usize = 400;
/// Words in the name of a group.
const NAME_WORDS: usize = 3;

/// A question that got no good answer, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Asked {
    pub(super) question: String,
    pub(super) count: usize,
    /// Why it counts, the most frequent reason first.
    pub(super) reasons: Vec<String>,
    /// The nearest page, where there was one.
    pub(super) nearest: Option<String>,
}

/// Questions about the same thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Cluster {
    /// The words that most of them share.
    pub(super) about: String,
    /// How often they were asked.
    pub(super) count: usize,
    pub(super) questions: Vec<Asked>,
}

/// The groups, the most frequent first.
pub(super) fn of(records: &[TurnRecord]) -> Vec<Cluster> {
    let mut asked: BTreeMap<String, Asked> = BTreeMap::new();
    for record in records.iter().filter(|record| record.unanswered()) {
        let question = record.rewritten_query.as_ref().unwrap_or(&record.query).trim();
        if question.is_empty() {
            continue;
        }
        let entry = asked.entry(question.to_lowercase()).or_insert_with(|| Asked {
            question: question.to_owned(),
            count: 0,
            reasons: Vec::new(),
            nearest: record.hits.first().map(|hit| hit.title.clone()),
        });
        entry.count += 1;
        if !entry.reasons.contains(&record.reason) {
            entry.reasons.push(record.reason.clone());
        }
    }
    let mut asked: Vec<Asked> = asked.into_values().collect();
    asked.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.question.cmp(&b.question)));
    // Chinese words come from the questions themselves: there is no index here.
    let words = WordList::from_texts(asked.iter().map(|asked| asked.question.as_str()), 2);
    let analyzer = Analyzer::new(words);
    let terms: Vec<BTreeSet<String>> = asked.iter().map(|asked| word_set(&asked.question, &analyzer)).collect();
    let rarity = rarity(&terms);
    let mut clusters: Vec<Cluster> = group(&terms, &rarity)
        .into_iter()
        .map(|members| {
            let questions: Vec<Asked> = members.iter().map(|at| asked[*at].clone()).collect();
            Cluster {
                about: name(&members, &terms, &rarity, &asked),
                count: questions.iter().map(|asked| asked.count).sum(),
                questions,
            }
        })
        .collect();
    clusters.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.about.cmp(&b.about)));
    clusters
}

fn word_set(question: &str, analyzer: &Analyzer) -> BTreeSet<String> {
    content_words(question, analyzer).into_iter().collect()
}

fn rarity(terms: &[BTreeSet<String>]) -> BTreeMap<String, f32> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for term in terms.iter().flatten() {
        *counts.entry(term.clone()).or_default() += 1;
    }
    counts.into_iter().map(|(term, count)| (term, (1.0 + terms.len() as f32 / count as f32).ln())).collect()
}

/// Common weight as a share of the weight of both (Dice), 0..=1.
fn similarity(a: &BTreeSet<String>, b: &BTreeSet<String>, rarity: &BTreeMap<String, f32>) -> f32 {
    let weight = |term: &String| rarity.get(term).copied().unwrap_or(1.0);
    let shared: f32 = a.intersection(b).map(weight).sum();
    let both: f32 = a.iter().chain(b).map(weight).sum();
    if both > 0.0 { 2.0 * shared / both } else { 0.0 }
}

fn group(terms: &[BTreeSet<String>], rarity: &BTreeMap<String, f32>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let linkage = |a: &[usize], b: &[usize]| {
        let sum: f32 = a
            .iter()
            .flat_map(|x| b.iter().map(move |y| (x, y)))
            .map(|(x, y)| similarity(&terms[*x], &terms[*y], rarity))
            .sum();
        sum / (a.len() * b.len()) as f32
    };
    for at in 0..terms.len().min(MOST_COMPARED) {
        groups.push(vec![at]);
    }
    loop {
        let mut best: Option<(f32, usize, usize)> = None;
        for a in 0..groups.len() {
            for b in a + 1..groups.len() {
                let value = linkage(&groups[a], &groups[b]);
                if value >= JOIN && best.is_none_or(|(known, ..)| value > known) {
                    best = Some((value, a, b));
                }
            }
        }
        let Some((_, a, b)) = best else { break };
        let joined = groups.remove(b);
        groups[a].extend(joined);
    }
    for at in MOST_COMPARED..terms.len() {
        let near = groups
            .iter()
            .enumerate()
            .map(|(group, members)| (linkage(&[at], members), group))
            .filter(|(value, _)| *value >= JOIN)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        match near {
            Some((_, group)) => groups[group].push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

/// The words that most members share, as they were written.
fn name(members: &[usize], terms: &[BTreeSet<String>], rarity: &BTreeMap<String, f32>, asked: &[Asked]) -> String {
    if members.len() == 1 {
        return asked[members[0]].question.clone();
    }
    let mut counts: BTreeMap<&String, f32> = BTreeMap::new();
    for at in members {
        for term in &terms[*at] {
            *counts.entry(term).or_default() += 1.0;
        }
    }
    let mut ranked: Vec<(&String, f32)> = counts.into_iter().filter(|(_, count)| *count >= 2.0).collect();
    ranked.sort_by(|a, b| {
        let score = |(term, count): &(&String, f32)| count * rarity.get(*term).copied().unwrap_or(1.0);
        score(b).total_cmp(&score(a)).then_with(|| a.0.cmp(b.0))
    });
    ranked.into_iter().take(NAME_WORDS).map(|(term, _)| term.as_str()).collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(questions: &[&str]) -> Vec<Vec<usize>> {
        let analyzer = Analyzer::new(WordList::from_texts(questions.iter().copied(), 2));
        let terms: Vec<_> = questions.iter().map(|question| word_set(question, &analyzer)).collect();
        let mut groups = group(&terms, &rarity(&terms));
        groups.iter_mut().for_each(|group| group.sort_unstable());
        groups.sort();
        groups
    }

    #[test]
    fn questions_about_the_same_thing_stand_together() {
        let found = groups(&[
            "how do I deploy to kubernetes",
            "deploy on a kubernetes cluster",
            "dark mode for the theme",
            "kubernetes deploy fails",
            "theme with a dark mode",
        ]);
        assert_eq!(found, [vec![0, 1, 3], vec![2, 4]]);
    }

    #[test]
    fn chinese_questions_are_grouped_too() {
        assert_eq!(groups(&["怎么部署到集群", "部署集群失败", "深色模式怎么开"]), [vec![0, 1], vec![2]]);
    }
}
