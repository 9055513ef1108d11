//! `docent eval --cross-lingual DOCS TRANSLATED`: whether a question in one language finds the page in the other.
//!
//! Input: two folders with the same pages in two languages. Headings that share their page's path and their anchor are
//! translations of each other, so each is a question whose right page is known in the other language. Output: Hit@1, Hit@5
//! and MRR of the right page, in both directions, and within each language for comparison.
//! **Invariant:** the pages are read, cut and indexed as `docent index` does it, and searched with the product's defaults.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde::Serialize;

use crate::cli::eval_beir::{Interval, Settings, interval};
use crate::cli::eval_evidence::THRESHOLD;
use crate::cli::eval_vectors::EvalModel;
use crate::cli::random::Random;
use crate::error::{Error, Result};
use crate::index::builder;
use crate::index::sources::page::Block;
use crate::index::sources::{self, Corpus, ReadOptions, SourcePage};
use crate::retrieval::analyzer::WordList;
use crate::retrieval::index_builder;
use crate::retrieval::search_index::{SearchIndex, SearchRequest};
use crate::retrieval::synonyms::Synonyms;
use crate::turn::{Language, Mode};

/// Passages that are looked at for the places of pages; one page fills at most half of them.
const DEPTH: usize = 40;

/// Pages that a place is counted among.
const PAGES: usize = 10;

/// How well one leg finds the right page.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PageMetrics {
    /// Share of the questions with the right page first.
    #[serde(rename = "hit@1")]
    pub hit_at_1: Interval,
    /// Share with the right page among the first five.
    #[serde(rename = "hit@5")]
    pub hit_at_5: Interval,
    /// Mean reciprocal rank of the right page among the first ten.
    pub mrr: Interval,
}

/// Questions from one folder, asked of another, or of the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Direction {
    /// The folder whose headings are asked.
    pub questions: String,
    /// The folder whose pages are searched.
    pub pages: String,
    /// By leg: `lexical`, `dense`, `hybrid`.
    pub metrics: BTreeMap<&'static str, PageMetrics>,
    /// Share of the questions whose best passage reaches the default threshold of the evidence, in the hybrid search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub above_threshold: Option<f64>,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrossLingualReport {
    /// Headings that both folders have in their own language: the questions of each direction.
    pub questions: usize,
    /// Pages that both folders have.
    pub pages: usize,
    /// The embedding model.
    pub model: Option<String>,
    /// Both directions, then each language by itself.
    pub directions: Vec<Direction>,
    /// What a person should know, such as that no model serves both languages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A heading in both languages, and the id of its page.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pair {
    page: String,
    texts: [String; 2],
}

/// One language's folder, ready to be searched.
struct Side {
    name: String,
    index: SearchIndex,
    questions: Vec<Vec<f32>>,
}

/// Measures both directions between two folders.
///
/// # Errors
/// [`Error::Input`] when a folder cannot be read or the two have no heading in common, [`Error::Model`] when the model
/// cannot be used.
pub fn evaluate(folders: [&Path; 2], settings: &Settings) -> Result<CrossLingualReport> {
    let mut corpora = [read(folders[0])?, read(folders[1])?];
    let mut pairs = pairs(&corpora);
    if let Some(limit) = settings.sample {
        sample(&mut corpora, &mut pairs, limit.max(1));
    }
    if pairs.is_empty() {
        let reason = format!(
            "shares no heading with {} that both have in their own language; are they the same pages, with the same anchors?",
            folders[1].display()
        );
        return Err(Error::Input { path: folders[0].display().to_string(), reason });
    }
    let languages: Vec<(String, f32)> = ["en", "zh"].iter().map(|language| ((*language).to_owned(), 0.5)).collect();
    let (mut model, warnings) =
        if settings.lexical_only { (None, Vec::new()) } else { EvalModel::choose(settings, &languages)? };
    let pages = shared_pages(&corpora).len();
    let [first, second] = corpora;
    let sides =
        [side(folders[0], first, &pairs, 0, model.as_mut())?, side(folders[1], second, &pairs, 1, model.as_mut())?];
    let mut directions = Vec::new();
    for (from, to) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        directions.push(direction(&sides, from, to, &pairs)?);
    }
    let model = model.map(|model| model.info().id);
    Ok(CrossLingualReport { questions: pairs.len(), pages, model, directions, warnings })
}

fn read(folder: &Path) -> Result<Corpus> {
    sources::read(folder, &ReadOptions::default(), &|_, _| ())
}

/// The ids of the pages that both have.
fn shared_pages(corpora: &[Corpus; 2]) -> HashSet<String> {
    let ids =
        |corpus: &Corpus| -> HashSet<String> { corpus.pages.iter().map(|page| page.document.id.clone()).collect() };
    ids(&corpora[0]).intersection(&ids(&corpora[1])).cloned().collect()
}

/// The headings of a page by their anchors, the title under the empty one.
fn headings(page: &SourcePage) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = [(String::new(), page.document.title.clone())].into();
    for block in &page.blocks {
        if let Block::Heading { text, anchor: Some(anchor), .. } = block {
            found.entry(anchor.clone()).or_insert_with(|| text.clone());
        }
    }
    found
}

/// The headings that both folders have, each in its own language. One that several pages share ("Example") has no page
/// that is the right one, and is left out.
fn pairs(corpora: &[Corpus; 2]) -> Vec<Pair> {
    let second: HashMap<&str, &SourcePage> =
        corpora[1].pages.iter().map(|page| (page.document.id.as_str(), page)).collect();
    let mut pairs = Vec::new();
    for page in &corpora[0].pages {
        let Some(other) = second.get(page.document.id.as_str()) else { continue };
        let translated = headings(other);
        for (anchor, text) in headings(page) {
            let Some(translation) = translated.get(&anchor) else { continue };
            let languages = [Language::detect(&text), Language::detect(translation)];
            if languages[0].is_some() && languages[1].is_some() && languages[0] != languages[1] {
                pairs.push(Pair { page: page.document.id.clone(), texts: [text, translation.clone()] });
            }
        }
    }
    for side in 0..2 {
        let mut pages: HashMap<String, HashSet<String>> = HashMap::new();
        for pair in &pairs {
            pages.entry(pair.texts[side].to_lowercase()).or_default().insert(pair.page.clone());
        }
        pairs.retain(|pair| pages[&pair.texts[side].to_lowercase()].len() == 1);
    }
    pairs
}

/// Keeps at most `limit` pages of each folder, the same ones at every run, and their headings.
fn sample(corpora: &mut [Corpus; 2], pairs: &mut Vec<Pair>, limit: usize) {
    let mut pages: Vec<String> = pairs.iter().map(|pair| pair.page.clone()).collect();
    pages.dedup();
    Random(0x5eed).shuffle(&mut pages);
    pages.truncate(limit);
    let kept: HashSet<String> = pages.into_iter().collect();
    for corpus in corpora {
        corpus.pages.retain(|page| kept.contains(&page.document.id));
    }
    pairs.retain(|pair| kept.contains(&pair.page));
}

fn side(folder: &Path, corpus: Corpus, pairs: &[Pair], at: usize, model: Option<&mut EvalModel>) -> Result<Side> {
    let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let native = model.as_ref().map(|model| model.native().clone());
    let passage_model = native.as_ref().map(|native| native as &dyn builder::PassageModel);
    let chunked = builder::chunk(&corpus, passage_model, &|_, _, _| ())?;
    let texts: Vec<String> = pairs.iter().map(|pair| pair.texts[at].clone()).collect();
    let vectors = match model {
        Some(model) => Some((model.info(), model.passages(&name, &chunked.embedded_texts)?, model.queries(&texts)?)),
        None => None,
    };
    let names = corpus.pages.iter().map(|page| page.document.title.as_str());
    let headings = chunked.chunks.iter().flat_map(|chunk| chunk.heading_path.iter().map(String::as_str));
    let bodies = chunked.chunks.iter().map(|chunk| chunk.text.as_str());
    let words = WordList::from_texts(names.chain(headings).chain(bodies), builder::LEAST_WORD_COUNT);
    let mut index = SearchIndex::new(index_builder::build(index_builder::Corpus {
        documents: corpus.pages.into_iter().map(|page| page.document).collect(),
        chunks: chunked.chunks,
        words,
        synonyms: Synonyms::new(corpus.config.synonyms),
        model: vectors.as_ref().map(|(info, ..)| info.clone()),
        ..index_builder::Corpus::default()
    })?)?;
    let Some((info, passages, questions)) = vectors else { return Ok(Side { name, index, questions: Vec::new() }) };
    index.set_vectors(index_builder::build_vectors(&info.id, &passages)?)?;
    Ok(Side { name, index, questions })
}

fn direction(sides: &[Side; 2], from: usize, to: usize, pairs: &[Pair]) -> Result<Direction> {
    let (asked, searched) = (&sides[from], &sides[to]);
    let legs: &[(&'static str, Mode)] = &[("lexical", Mode::Lexical), ("dense", Mode::Dense), ("hybrid", Mode::Hybrid)];
    let mut metrics = BTreeMap::new();
    let mut above_threshold = None;
    for (leg, mode) in legs.iter().filter(|(_, mode)| !asked.questions.is_empty() || *mode == Mode::Lexical) {
        let mut ranks = Vec::with_capacity(pairs.len());
        let mut answered = 0;
        for (at, pair) in pairs.iter().enumerate() {
            let request = SearchRequest {
                query: &pair.texts[from],
                embedding: asked.questions.get(at).map(Vec::as_slice),
                mode: *mode,
                top_k: DEPTH,
                ..SearchRequest::default()
            };
            let found = searched.index.search(&request)?.passages;
            let best = found.iter().take(5).map(|passage| passage.scores.evidence).fold(0.0, f32::max);
            answered += usize::from(best >= THRESHOLD);
            let mut pages: Vec<&str> = Vec::new();
            for passage in &found {
                if !pages.contains(&passage.document.as_str()) {
                    pages.push(&passage.document);
                }
            }
            ranks.push(pages.iter().take(PAGES).position(|page| *page == pair.page));
        }
        let share = |counts: &dyn Fn(usize) -> f64| -> Interval {
            interval(&ranks.iter().map(|rank| rank.map_or(0.0, counts)).collect::<Vec<f64>>())
        };
        metrics.insert(
            *leg,
            PageMetrics {
                hit_at_1: share(&|rank| f64::from(u8::from(rank == 0))),
                hit_at_5: share(&|rank| f64::from(u8::from(rank < 5))),
                mrr: share(&|rank| 1.0 / (rank + 1) as f64),
            },
        );
        if *mode == Mode::Hybrid {
            above_threshold = Some(answered as f64 / pairs.len().max(1) as f64);
        }
    }
    Ok(Direction { questions: asked.name.clone(), pages: searched.name.clone(), metrics, above_threshold })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str, pages: &[(&str, &str)]) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("docent-cross-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (path, text) in pages {
            std::fs::write(folder.join(path), text).unwrap();
        }
        folder
    }

    fn both() -> [std::path::PathBuf; 2] {
        let english = folder(
            "en",
            &[
                (
                    "a.md",
                    "# Install {#install}\n\nText.\n\n## Example {#example}\n\nText.\n\n## Proxy {#proxy}\n\nText.",
                ),
                (
                    "b.md",
                    "# Remove {#remove}\n\nText.\n\n## Example {#example}\n\nText.\n\n## v-model {#v-model}\n\nText.",
                ),
                ("c.md", "# Only here\n\nText."),
            ],
        );
        let chinese = folder(
            "zh",
            &[
                ("a.md", "# 安装 {#install}\n\n正文。\n\n## 示例 {#example}\n\n正文。\n\n## 代理 {#proxy}\n\n正文。"),
                (
                    "b.md",
                    "# 卸载 {#remove}\n\n正文。\n\n## 示例 {#example}\n\n正文。\n\n## v-model {#v-model}\n\n正文。",
                ),
            ],
        );
        [english, chinese]
    }

    #[test]
    fn headings_pair_by_page_and_anchor_where_the_page_is_the_only_one() {
        let folders = both();
        let corpora = [read(&folders[0]).unwrap(), read(&folders[1]).unwrap()];
        let found = pairs(&corpora);
        let texts: Vec<[&str; 2]> = found.iter().map(|pair| [pair.texts[0].as_str(), pair.texts[1].as_str()]).collect();
        assert_eq!(texts, [["Install", "安装"], ["Proxy", "代理"], ["Remove", "卸载"]]);
        assert_eq!(found[2].page, "b");
        folders.iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
    }

    #[test]
    fn words_alone_find_a_page_in_their_own_language_only() {
        let folders = both();
        let settings = Settings { lexical_only: true, ..Settings::default() };
        let report = evaluate([&folders[0], &folders[1]], &settings).unwrap();
        assert_eq!((report.questions, report.pages), (3, 2));
        let hits: Vec<f64> =
            report.directions.iter().map(|direction| direction.metrics["lexical"].hit_at_1.mean).collect();
        assert_eq!(hits, [0.0, 0.0, 1.0, 1.0]);
        let part = evaluate([&folders[0], &folders[1]], &Settings { sample: Some(1), ..settings.clone() }).unwrap();
        assert_eq!(part.pages, 1);
        assert!(evaluate([&folders[0], &folders[0]], &settings).is_err(), "one language has no other");
        folders.iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
    }
}
