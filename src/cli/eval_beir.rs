//! A retrieval set in the BEIR layout, searched by the core and scored.
//!
//! Input: `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`), `qrels*.tsv` (query, passage, grade).
//! Output: nDCG@10, Hit@1, Hit@5 and MRR with bootstrap intervals for each leg, the graph's recall, and how well the
//! evidence tells answerable questions from others.
//! A passage is a chunk. An id `page#n` makes passages that follow each other chunks of one page, as the index has them,
//! and a title `Page > Section > …` is a page's title with the headings down to the chunk.
//!
//! **Invariant:** every random choice has a fixed seed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::eval_evidence::{self, Asked, EvidenceReport};
use crate::cli::eval_graph::recall;
use crate::cli::eval_vectors::EvalModel;
use crate::cli::random::Random;
use crate::error::{Error, Result};
use crate::index::sources::page::language_of;
use crate::retrieval::analyzer::{WordList, is_cjk};
use crate::retrieval::document::{Chunk, Document};
use crate::retrieval::index_builder::{self, Corpus, embedding_text};
use crate::retrieval::search_index::{ModelInfo, SearchIndex, SearchRequest};
use crate::retrieval::weights::Weights;
use crate::turn::{Language, Mode};

/// Results that a ranking is judged by.
const DEPTH: usize = 10;

/// Resamplings of the queries for an interval.
const RESAMPLES: usize = 1_000;

/// Share of a corpus's letters from which a language counts as one of its languages.
const LEAST_SHARE: f64 = 0.05;

/// How a set is run.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// At most so many passages.
    pub sample: Option<usize>,
    /// The model's id; by the language of the set where there is none.
    pub model: Option<String>,
    /// Folder of the models, beside the usual ones.
    pub models: Option<PathBuf>,
    /// No model at all.
    pub lexical_only: bool,
    /// Folder of the cached embeddings.
    pub cache: Option<PathBuf>,
}

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The mean over the queries.
    pub mean: f64,
    /// From the 2.5th to the 97.5th percentile of the resampled means.
    pub ci: [f64; 2],
}

/// How good the rankings of one leg are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Metrics {
    /// Normalized discounted cumulative gain of the first ten, graded by the qrels.
    #[serde(rename = "ndcg@10")]
    pub ndcg_at_10: Interval,
    /// Share of queries with a relevant passage first.
    #[serde(rename = "hit@1")]
    pub hit_at_1: Interval,
    /// Share of queries with a relevant passage among the first five.
    #[serde(rename = "hit@5")]
    pub hit_at_5: Interval,
    /// Mean reciprocal rank of the first relevant passage among the first ten.
    pub mrr: Interval,
}

/// The outcome of a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetReport {
    /// Name of the set's folder.
    pub set: String,
    /// Passages searched.
    pub passages: usize,
    /// Queries asked.
    pub queries: usize,
    /// The embedding model.
    pub model: Option<String>,
    /// By leg: `lexical`, `dense`, `hybrid`.
    pub metrics: BTreeMap<&'static str, Metrics>,
    /// Share of the ten nearest passages that the graph finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall_at_10: Option<f64>,
    /// How honest the evidence is, by leg: `lexical`, `hybrid`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub evidence: BTreeMap<&'static str, EvidenceReport>,
    /// What a person should know, such as that no model serves the set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A set.
#[derive(Debug, Clone, PartialEq)]
pub struct BeirSet {
    name: String,
    documents: Vec<Document>,
    chunks: Vec<Chunk>,
    /// Id and text.
    queries: Vec<(String, String)>,
    /// Grades above 0 of chunks, by query.
    relevant: HashMap<String, HashMap<u32, f64>>,
    /// Questions that the set itself says have no answer in it.
    unanswerable: Vec<String>,
}

#[derive(Deserialize)]
struct PassageLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct QueryLine {
    #[serde(rename = "_id")]
    id: String,
    text: String,
}

/// A case of a dialogue set, of which the unanswerable ones are questions without an answer.
#[derive(Deserialize)]
struct CaseLine {
    #[serde(default)]
    answerability: String,
    #[serde(default)]
    question: String,
}

impl BeirSet {
    /// Whether a folder holds a set.
    #[must_use]
    pub fn is_one(folder: &Path) -> bool {
        ["corpus.jsonl", "queries.jsonl"].iter().all(|file| folder.join(file).is_file())
    }

    /// Reads a folder.
    ///
    /// # Errors
    /// [`Error::Input`] that names the file and the line.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut passages: Vec<PassageLine> = lines(&folder.join("corpus.jsonl"))?;
        let mut seen = HashSet::new();
        passages.retain(|passage| seen.insert(passage.id.clone()));
        let queries: Vec<QueryLine> = lines(&folder.join("queries.jsonl"))?;
        let grades = grades(folder)?;
        let cases = folder.join("policy.jsonl");
        let cases: Vec<CaseLine> = if cases.is_file() { lines(&cases)? } else { Vec::new() };
        let mut set = Self {
            name: folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            documents: Vec::new(),
            chunks: Vec::new(),
            queries: queries.into_iter().map(|query| (query.id, query.text)).collect(),
            relevant: HashMap::new(),
            unanswerable: cases
                .into_iter()
                .filter(|case| case.answerability == "UNANSWERABLE" && !case.question.is_empty())
                .map(|case| case.question)
                .collect(),
        };
        let mut numbers = HashMap::new();
        for passage in passages {
            numbers.insert(passage.id.clone(), set.chunks.len() as u32);
            set.add(passage);
        }
        for (query, passage, grade) in grades {
            if let Some(chunk) = numbers.get(&passage) {
                set.relevant.entry(query).or_default().insert(*chunk, grade);
            }
        }
        set.queries.retain(|(id, _)| set.relevant.contains_key(id));
        if set.queries.is_empty() {
            let reason = "no query has a relevant passage; are the ids of qrels*.tsv those of the other files?";
            return Err(Error::Input { path: folder.display().to_string(), reason: reason.to_owned() });
        }
        Ok(set)
    }

    fn add(&mut self, passage: PassageLine) {
        let page = passage.id.rsplit_once('#').map_or(passage.id.as_str(), |(page, _)| page);
        let mut names = passage.title.split(" > ").map(|name| name.trim().to_owned());
        let title = names.next().unwrap_or_default();
        let same = self.documents.last().is_some_and(|last| last.id == page);
        if !same {
            let chinese = language_of(&passage.text) == "zh";
            self.documents.push(Document {
                id: page.to_owned(),
                title,
                language: if chinese { Language::Chinese } else { Language::English },
                authority: 0.5,
                boost: 1.0,
                ..Document::default()
            });
        }
        let ordinal = if same { self.chunks.last().map_or(0, |chunk| chunk.ordinal + 1) } else { 0 };
        self.chunks.push(Chunk {
            document: self.documents.len() as u32 - 1,
            ordinal,
            heading_path: names.filter(|name| !name.is_empty()).collect(),
            anchor: None,
            text: passage.text.trim().to_owned(),
        });
    }

    /// Name of the set's folder.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Id and text of each query.
    pub(super) fn queries(&self) -> &[(String, String)] {
        &self.queries
    }

    /// The set with other wordings of its queries, by id and text.
    pub(super) fn worded(&self, wording: impl Fn(&str, &str) -> String) -> Self {
        let queries = self.queries.iter().map(|(id, text)| (id.clone(), wording(id, text))).collect();
        Self { queries, ..self.clone() }
    }

    /// The index of the set, without vectors.
    ///
    /// # Errors
    /// See [`index_builder::build`].
    pub(super) fn lexical_index(&self) -> Result<SearchIndex> {
        build(self, None)
    }

    /// nDCG@10 of each query, in the order of [`Self::queries`], of the lexical leg or of both.
    ///
    /// # Errors
    /// [`Error::Model`] when both are wanted and the model cannot be used.
    pub(super) fn ndcg(&self, settings: &Settings, mode: Mode) -> Result<Vec<f64>> {
        let embedded = if mode == Mode::Lexical { None } else { embed(self, &[], settings)?.0 };
        if mode != Mode::Lexical && embedded.is_none() {
            return Err(Error::Model(format!("no model serves {}; measure with --lexical", self.name)));
        }
        let mut index = build(self, embedded.as_ref())?;
        if let Some(embedded) = &embedded {
            index.set_vectors(index_builder::build_vectors(&embedded.model.id, &embedded.passages)?)?;
        }
        let rows = rows(self, &index, &chunk_numbers(self), embedded.as_ref(), mode, 1)?;
        Ok(rows.iter().map(|row| row[0]).collect())
    }

    /// The texts of the queries.
    #[must_use]
    pub fn questions(&self) -> Vec<String> {
        self.queries.iter().map(|(_, text)| text.clone()).collect()
    }

    /// At most `limit` of the texts of the queries, the same ones at every run.
    #[must_use]
    pub fn some_questions(&self, limit: usize) -> Vec<String> {
        let mut questions = self.questions();
        Random(0xa5ed).shuffle(&mut questions);
        questions.truncate(limit);
        questions
    }

    /// The languages of the corpus with their shares of its letters. A few Chinese names do not make a corpus Chinese.
    #[must_use]
    pub fn languages(&self) -> Vec<(String, f32)> {
        let letters = self.chunks.iter().flat_map(|chunk| chunk.text.chars()).filter(|c| c.is_alphabetic());
        let (mut chinese, mut all) = (0.0, 0.0);
        for letter in letters {
            all += 1.0;
            chinese += f64::from(u8::from(is_cjk(letter)));
        }
        let share = if all > 0.0 { chinese / all } else { 0.0 };
        let languages = [("zh", share), ("en", 1.0 - share)];
        let spoken = languages.into_iter().filter(|(_, share)| *share > LEAST_SHARE);
        spoken.map(|(tag, share)| (tag.to_owned(), share as f32)).collect()
    }

    /// A part of at most `limit` passages: queries with what is relevant to them up to half of it, then others.
    #[must_use]
    pub fn sample(mut self, limit: usize) -> Self {
        if self.chunks.len() <= limit {
            return self;
        }
        let mut random = Random(0x5eed);
        let mut kept: HashSet<u32> = HashSet::new();
        let mut order: Vec<usize> = (0..self.queries.len()).collect();
        random.shuffle(&mut order);
        let mut queries = Vec::new();
        for at in order {
            let id = &self.queries[at].0;
            let with: HashSet<u32> = kept.iter().chain(self.relevant[id].keys()).copied().collect();
            if with.len() <= limit / 2 || queries.is_empty() && with.len() <= limit {
                kept = with;
                queries.push(self.queries[at].clone());
            }
        }
        let mut others: Vec<u32> = (0..self.chunks.len() as u32).filter(|chunk| !kept.contains(chunk)).collect();
        random.shuffle(&mut others);
        others.truncate(limit - kept.len());
        kept.extend(others);
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        let mut chunks = Vec::new();
        for (number, chunk) in self.chunks.drain(..).enumerate() {
            if kept.contains(&(number as u32)) {
                numbers.insert(number as u32, chunks.len() as u32);
                chunks.push(chunk);
            }
        }
        self.chunks = chunks;
        self.queries = queries;
        self.relevant = self
            .queries
            .iter()
            .map(|(id, _)| {
                let grades = &self.relevant[id];
                (id.clone(), grades.iter().filter_map(|(c, grade)| Some((*numbers.get(c)?, *grade))).collect())
            })
            .collect();
        self
    }
}

/// Reads, searches and scores a set. `unanswerable` are questions that have no answer in it.
///
/// # Errors
/// [`Error::Input`] when the set cannot be read, [`Error::Model`] when the model cannot be used.
pub fn evaluate(folder: &Path, settings: &Settings, unanswerable: &[String]) -> Result<SetReport> {
    let set = BeirSet::read(folder)?;
    let set = match settings.sample {
        Some(limit) => set.sample(limit.max(1)),
        None => set,
    };
    let mut strangers = set.unanswerable.clone();
    strangers
        .extend(unanswerable.iter().filter(|question| !set.queries.iter().any(|(_, own)| own == *question)).cloned());
    let (embedded, warnings) =
        if settings.lexical_only { (None, Vec::new()) } else { embed(&set, &strangers, settings)? };
    let mut index = build(&set, embedded.as_ref())?;
    if let Some(embedded) = &embedded {
        index.set_vectors(index_builder::build_vectors(&embedded.model.id, &embedded.passages)?)?;
    }
    let numbers = chunk_numbers(&set);
    let mut metrics = BTreeMap::new();
    let legs: &[(&'static str, Mode)] = &[("lexical", Mode::Lexical), ("dense", Mode::Dense), ("hybrid", Mode::Hybrid)];
    for (leg, mode) in legs.iter().filter(|(_, mode)| embedded.is_some() || *mode == Mode::Lexical) {
        metrics.insert(*leg, measure(&set, &index, &numbers, embedded.as_ref(), *mode)?);
    }
    Ok(SetReport {
        set: set.name.clone(),
        passages: set.chunks.len(),
        queries: set.queries.len(),
        model: embedded.as_ref().map(|embedded| embedded.model.id.clone()),
        metrics,
        recall_at_10: embedded
            .as_ref()
            .zip(index.vectors())
            .map(|(embedded, vectors)| recall(vectors, &embedded.queries)),
        evidence: eval_evidence::measure(&index, &questions(&set, &embedded, &strangers))?,
        warnings,
    })
}

/// The vectors of a set.
pub(super) struct Embedded {
    pub(super) model: ModelInfo,
    pub(super) passages: Vec<Vec<f32>>,
    pub(super) queries: Vec<Vec<f32>>,
    strangers: Vec<Vec<f32>>,
}

/// A set with its index and the vectors of its queries, to be searched with one set of weights after the other.
pub(super) struct Prepared {
    set: BeirSet,
    index: SearchIndex,
    numbers: HashMap<String, u32>,
    embedded: Embedded,
}

impl Prepared {
    /// Reads, embeds and indexes a set.
    ///
    /// # Errors
    /// [`Error::Input`] when the set cannot be read, [`Error::Model`] when no model serves it.
    pub(super) fn read(folder: &Path, settings: &Settings) -> Result<Self> {
        let set = BeirSet::read(folder)?;
        let set = match settings.sample {
            Some(limit) => set.sample(limit.max(1)),
            None => set,
        };
        let (embedded, warnings) = embed(&set, &[], settings)?;
        let embedded = embedded.ok_or_else(|| Error::Model(format!("{}: {}", set.name, warnings.join("; "))))?;
        let mut index = build(&set, Some(&embedded))?;
        index.set_vectors(index_builder::build_vectors(&embedded.model.id, &embedded.passages)?)?;
        let numbers = chunk_numbers(&set);
        Ok(Self { set, index, numbers, embedded })
    }

    /// Name of the set's folder.
    pub(super) fn name(&self) -> &str {
        &self.set.name
    }

    /// nDCG@10 with these weights of each query, or of every n-th where there are more than `most`.
    ///
    /// # Errors
    /// See [`SearchIndex::search`].
    pub(super) fn ndcg(&mut self, weights: Weights, mode: Mode, most: usize) -> Result<Vec<f64>> {
        self.index.set_weights(weights);
        let step = self.set.queries.len().div_ceil(most).max(1);
        let rows = rows(&self.set, &self.index, &self.numbers, Some(&self.embedded), mode, step)?;
        Ok(rows.iter().map(|row| row[0]).collect())
    }
}

/// The questions of a set and those without an answer in it, with their vectors.
fn questions<'a>(set: &'a BeirSet, embedded: &'a Option<Embedded>, strangers: &'a [String]) -> Vec<Asked<'a>> {
    let asked = |text: &'a str, answerable, at: usize| {
        let vectors =
            embedded.as_ref().map(|embedded| if answerable { &embedded.queries } else { &embedded.strangers });
        Asked { text, answerable, embedding: vectors.map(|vectors| vectors[at].as_slice()) }
    };
    let own = set.queries.iter().enumerate().map(|(at, (_, text))| asked(text, true, at));
    own.chain(strangers.iter().enumerate().map(|(at, text)| asked(text, false, at))).collect()
}

/// The vectors of a set by the model that serves it, or `None` and the reason when there is no such model here.
pub(super) fn embed(
    set: &BeirSet,
    strangers: &[String],
    settings: &Settings,
) -> Result<(Option<Embedded>, Vec<String>)> {
    let (model, warnings) = EvalModel::choose(settings, &set.languages())?;
    let Some(mut model) = model else { return Ok((None, warnings)) };
    let passages: Vec<String> =
        set.chunks.iter().map(|chunk| embedding_text(&set.documents[chunk.document as usize], chunk)).collect();
    let passages = model.passages(&set.name, &passages)?;
    let queries = model.queries(&set.questions())?;
    let strangers = model.queries(strangers)?;
    Ok((Some(Embedded { model: model.info(), passages, queries, strangers }), warnings))
}

fn build(set: &BeirSet, embedded: Option<&Embedded>) -> Result<SearchIndex> {
    let texts = set.chunks.iter().map(|chunk| chunk.text.as_str());
    let titles = set.documents.iter().map(|document| document.title.as_str());
    let headings = set.chunks.iter().flat_map(|chunk| chunk.heading_path.iter().map(String::as_str));
    let parts = index_builder::build(Corpus {
        documents: set.documents.clone(),
        chunks: set.chunks.clone(),
        words: WordList::from_texts(texts.chain(titles).chain(headings), 2),
        model: embedded.map(|embedded| embedded.model.clone()),
        ..Corpus::default()
    })?;
    SearchIndex::new(parts)
}

/// The chunk behind each passage id.
fn chunk_numbers(set: &BeirSet) -> HashMap<String, u32> {
    let id = |chunk: &Chunk| format!("{}#{}", set.documents[chunk.document as usize].id, chunk.ordinal);
    set.chunks.iter().enumerate().map(|(number, chunk)| (id(chunk), number as u32)).collect()
}

fn measure(
    set: &BeirSet,
    index: &SearchIndex,
    numbers: &HashMap<String, u32>,
    embedded: Option<&Embedded>,
    mode: Mode,
) -> Result<Metrics> {
    let rows = rows(set, index, numbers, embedded, mode, 1)?;
    let interval = |metric: usize| interval(&rows.iter().map(|row| row[metric]).collect::<Vec<f64>>());
    Ok(Metrics { ndcg_at_10: interval(0), hit_at_1: interval(1), hit_at_5: interval(2), mrr: interval(3) })
}

/// The measures of [`judge`] for every `step`-th query.
fn rows(
    set: &BeirSet,
    index: &SearchIndex,
    numbers: &HashMap<String, u32>,
    embedded: Option<&Embedded>,
    mode: Mode,
    step: usize,
) -> Result<Vec<[f64; 4]>> {
    let mut rows = Vec::with_capacity(set.queries.len());
    for (at, (id, text)) in set.queries.iter().enumerate().step_by(step) {
        let embedding = embedded.and_then(|embedded| embedded.queries.get(at)).map(Vec::as_slice);
        let request = SearchRequest { query: text, embedding, mode, top_k: DEPTH, ..SearchRequest::default() };
        let response = index.search(&request)?;
        let grades = &set.relevant[id];
        let gains: Vec<f64> = response
            .passages
            .iter()
            .map(|passage| numbers.get(&passage.id).and_then(|chunk| grades.get(chunk)).copied().unwrap_or(0.0))
            .collect();
        rows.push(judge(&gains, grades));
    }
    Ok(rows)
}

/// nDCG@10, Hit@1, Hit@5 and reciprocal rank of one ranking, from the grades in its order and all grades of the query.
fn judge(gains: &[f64], grades: &HashMap<u32, f64>) -> [f64; 4] {
    let discounted = |gains: &[f64]| -> f64 {
        gains.iter().take(DEPTH).enumerate().map(|(rank, gain)| gain / ((rank + 2) as f64).log2()).sum()
    };
    let mut ideal: Vec<f64> = grades.values().copied().collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let best = discounted(&ideal);
    let first = gains.iter().take(DEPTH).position(|gain| *gain > 0.0);
    [
        if best > 0.0 { discounted(gains) / best } else { 0.0 },
        f64::from(u8::from(first == Some(0))),
        f64::from(u8::from(first.is_some_and(|rank| rank < 5))),
        first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64),
    ]
}

/// The mean and its 95 % interval by the percentile bootstrap (Efron, 1979).
pub(super) fn interval(values: &[f64]) -> Interval {
    let count = values.len().max(1);
    let mean = values.iter().sum::<f64>() / count as f64;
    let mut random = Random(0xb007);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| (0..values.len()).map(|_| values[random.below(values.len())]).sum::<f64>() / count as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    let percentile = |share: f64| means[((RESAMPLES - 1) as f64 * share).round() as usize];
    Interval { mean, ci: [percentile(0.025), percentile(0.975)] }
}

pub(super) fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>> {
    let refuse = |reason: String| Error::Input { path: path.display().to_string(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
    let filled = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    filled
        .map(|(at, line)| serde_json::from_str(line).map_err(|error| refuse(format!("line {}: {error}", at + 1))))
        .collect()
}

/// Query, passage and grade of every line of the set's qrels with a grade above 0.
pub(super) fn grades(folder: &Path) -> Result<Vec<(String, String, f64)>> {
    let refuse = |path: &Path, reason: String| Error::Input { path: path.display().to_string(), reason };
    let mut files = Vec::new();
    for place in [folder.to_path_buf(), folder.join("qrels")] {
        let entries = std::fs::read_dir(&place).into_iter().flatten().flatten().map(|entry| entry.path());
        files.extend(entries.filter(|path| {
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            name.ends_with(".tsv") && (name.starts_with("qrels") || place.ends_with("qrels"))
        }));
    }
    files.sort();
    // A set that is split keeps its test part; one that is not has one file.
    let test = files.iter().find(|path| path.to_string_lossy().contains("test")).or(files.first());
    let path = test.ok_or_else(|| refuse(folder, "has no qrels*.tsv".to_owned()))?;
    let text = std::fs::read_to_string(path).map_err(|error| refuse(path, error.to_string()))?;
    let mut grades = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
        match fields.as_slice() {
            [query, passage, grade] | [query, _, passage, grade] => match grade.parse::<f64>() {
                Ok(grade) if grade > 0.0 => grades.push(((*query).to_owned(), (*passage).to_owned(), grade)),
                Ok(_) => {}
                Err(_) if at == 0 => {}
                Err(_) => return Err(refuse(path, format!("line {}: {grade:?} is not a grade", at + 1))),
            },
            [""] => {}
            _ => return Err(refuse(path, format!("line {}: three columns are expected", at + 1))),
        }
    }
    Ok(grades)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranking_is_judged_by_its_grades() {
        let grades: HashMap<u32, f64> = [(1, 1.0), (2, 1.0)].into();
        let [ndcg, hit1, hit5, rr] = judge(&[0.0, 1.0, 0.0], &grades);
        let ideal = 1.0 + 1.0 / 3.0_f64.log2();
        assert!((ndcg - (1.0 / 3.0_f64.log2()) / ideal).abs() < 1e-9);
        assert_eq!((hit1, hit5, rr), (0.0, 1.0, 0.5));
        assert_eq!(judge(&[1.0, 1.0], &grades)[0], 1.0);
        assert_eq!(judge(&[], &grades), [0.0; 4]);
    }

    #[test]
    fn an_interval_holds_the_mean_and_repeats() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        let first = interval(&values);
        assert_eq!(first, interval(&values));
        assert!((first.mean - 0.5).abs() < 1e-9);
        assert!(first.ci[0] < 0.5 && first.ci[1] > 0.5 && first.ci[1] - first.ci[0] < 0.25);
    }

    #[test]
    fn a_set_is_read_sampled_and_searched() {
        let folder = std::env::temp_dir().join(format!("docent-beir-test-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("qrels")).unwrap();
        let topics = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta", "kappa"];
        let mut corpus = String::new();
        let mut queries = String::new();
        let mut qrels = "query-id\tcorpus-id\tscore\n".to_owned();
        for (at, topic) in topics.iter().enumerate() {
            corpus += &format!(
                "{{\"_id\":\"p{}#{}\",\"title\":\"Page > Part\",\"text\":\"All about {topic}.\"}}\n",
                at / 2,
                at % 2
            );
            queries += &format!("{{\"_id\":\"q{at}\",\"text\":\"what is {topic}?\"}}\n");
            qrels += &format!("q{at}\tp{}#{}\t1\n", at / 2, at % 2);
        }
        std::fs::write(folder.join("corpus.jsonl"), corpus).unwrap();
        std::fs::write(folder.join("queries.jsonl"), queries).unwrap();
        std::fs::write(folder.join("qrels").join("test.tsv"), qrels).unwrap();
        let set = BeirSet::read(&folder).unwrap();
        assert_eq!((set.documents.len(), set.chunks.len(), set.queries.len()), (4, 8, 8));
        assert_eq!(set.chunks[1].heading_path, ["Part"]);
        let part = set.clone().sample(6);
        assert_eq!((part.chunks.len(), part.queries.len()), (6, 3));
        assert_eq!(part, set.sample(6));
        let settings = Settings { lexical_only: true, ..Settings::default() };
        let report = evaluate(&folder, &settings, &["completely different".to_owned()]).unwrap();
        assert_eq!(report.metrics["lexical"].ndcg_at_10.mean, 1.0);
        assert!(report.evidence["lexical"].all.auc > 0.99);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(BeirSet::read(&folder).is_err());
    }
}
