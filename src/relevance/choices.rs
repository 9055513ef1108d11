//! What a clarifying question can offer, taken from the index itself.
//!
//! Input: the hits of the question. Output: the facet on which the best of them split (product, version, platform or
//! section), or the titles of the nearest pages, with how ambiguous the question is.
//! **Invariant:** at least two choices, all different, none of them named in the question already.

use serde::{Deserialize, Serialize};

use super::context_relevance::content_words;
use crate::retrieval::analyzer::{Analyzer, fold};
use crate::turn::Passage;

/// Share of the best passage's evidence from which another counts among the best, 0..=1.
const AMONG_BEST: f32 = 0.85;
/// Platforms that a passage may be about, with the words that name them in headings and titles. Lower case.
const PLATFORMS: [(&str, &[&str]); 8] = [
    ("Windows", &["windows", "powershell"]),
    ("macOS", &["macos", "mac", "osx"]),
    ("Linux", &["linux", "ubuntu", "debian", "centos"]),
    ("Android", &["android"]),
    ("iOS", &["ios", "iphone"]),
    ("Docker", &["docker", "docker-compose"]),
    ("Kubernetes", &["kubernetes", "helm", "k8s"]),
    ("Browser", &["browser", "浏览器"]),
];

/// One choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    /// Id of the document, or `facet=value`.
    pub id: String,
    /// What the reader sees: the page's title or the facet's value.
    pub title: String,
    /// Link, where the choice is a page.
    pub url: Option<String>,
    /// How many of the best passages stand behind it.
    pub passages: usize,
}

/// The choices for a question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Choices {
    /// `product`, `version`, `platform` or `section`; `None` where the choices are pages.
    pub facet: Option<String>,
    /// The choices, the most likely first.
    pub items: Vec<Choice>,
    /// How evenly the best hits split over the choices, 0..=1: 0 all behind one, 1 the same number behind each.
    pub split: f32,
}

/// Reads a facet's value off a passage.
type FacetOf = fn(&Passage) -> Option<String>;

/// The facet on which the best hits split, if there is one that the question does not settle.
///
/// Facets are tried in the order product, version, platform, section. A section says little about what a reader means: who
/// asks how to do something to something wants the guide and the reference alike. So it counts only for a single content
/// word.
#[must_use]
pub fn facet_choices(question: &str, hits: &[Passage], most: usize, analyzer: &Analyzer) -> Option<Choices> {
    let best = hits.first()?.scores.evidence;
    let top: Vec<&Passage> = hits.iter().filter(|hit| hit.scores.evidence >= best * AMONG_BEST).collect();
    let asked = fold(question).into_owned();
    let bare = content_words(question, analyzer).len() <= 1;
    let facets: [(&str, FacetOf); 4] =
        [("product", product), ("version", |hit| hit.version.clone()), ("platform", platform), ("section", section)];
    for (name, value_of) in facets {
        if name == "section" && !bare {
            continue;
        }
        let mut values: Vec<(String, usize)> = Vec::new();
        // A passage without the facet fits every value, so that it cannot make the question ambiguous.
        for value in top.iter().filter_map(|hit| value_of(hit)) {
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, count)) => *count += 1,
                None => values.push((value, 1)),
            }
        }
        let with_value: usize = values.iter().map(|(_, count)| count).sum();
        if values.len() < 2 || with_value * 2 <= top.len() || values.iter().any(|(value, _)| names(&asked, value)) {
            continue;
        }
        values.truncate(most);
        let largest = values.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let kinds = values.len() as f32;
        let split = (1.0 - largest as f32 / with_value as f32) * kinds / (kinds - 1.0);
        let items = values
            .into_iter()
            .map(|(value, passages)| Choice { id: format!("{name}={value}"), title: value, url: None, passages })
            .collect();
        return Some(Choices { facet: Some(name.to_owned()), items, split: split.clamp(0.0, 1.0) });
    }
    None
}

/// The nearest pages as choices: one a page, in the order of the hits, those left out that were shown before.
#[must_use]
pub fn page_choices(hits: &[Passage], shown: &[String], most: usize) -> Choices {
    let mut items: Vec<Choice> = Vec::new();
    for hit in hits {
        if shown.contains(&hit.document) {
            continue;
        }
        match items.iter_mut().find(|item| item.id == hit.document || item.title == hit.title) {
            Some(item) => item.passages += 1,
            None => items.push(Choice {
                id: hit.document.clone(),
                title: hit.title.clone(),
                url: Some(hit.url.split('#').next().unwrap_or_default().to_owned()),
                passages: 1,
            }),
        }
    }
    let best = hits.first().map_or(0.0, |hit| hit.scores.evidence);
    let second = hits.iter().find(|hit| hit.document != hits[0].document).map_or(0.0, |hit| hit.scores.evidence);
    items.truncate(most);
    Choices { facet: None, items, split: if best > 0.0 { (second / best).clamp(0.0, 1.0) } else { 0.0 } }
}

/// Whether a passage stands behind a facet's value, or says nothing about that facet.
#[must_use]
pub fn fits(hit: &Passage, facet: &str, value: &str) -> bool {
    let own = match facet {
        "product" => product(hit),
        "version" => hit.version.clone(),
        "platform" => platform(hit),
        "section" => section(hit),
        _ => None,
    };
    own.is_none_or(|own| own == value)
}

/// The product: a tag `product/…` or `product:…`.
fn product(hit: &Passage) -> Option<String> {
    hit.tags.iter().find_map(|tag| {
        tag.strip_prefix("product/").or_else(|| tag.strip_prefix("product:")).map(|value| value.trim().to_owned())
    })
}

/// The platform: a tag `platform/…`, or the only platform that headings and title name.
fn platform(hit: &Passage) -> Option<String> {
    if let Some(tag) = hit.tags.iter().find_map(|tag| tag.strip_prefix("platform/")) {
        return Some(tag.trim().to_owned());
    }
    let named = fold(&format!("{} {}", hit.title, hit.heading_path.join(" "))).into_owned();
    let mut found = PLATFORMS.iter().filter(|(_, words)| words.iter().any(|word| names(&named, word)));
    match (found.next(), found.next()) {
        (Some((platform, _)), None) => Some((*platform).to_owned()),
        _ => None,
    }
}

fn section(hit: &Passage) -> Option<String> {
    hit.section.clone().filter(|section| !section.is_empty())
}

/// Whether a folded text holds a value as a word of its own.
fn names(folded: &str, value: &str) -> bool {
    let value = fold(value).into_owned();
    if value.is_empty() {
        return false;
    }
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    folded
        .match_indices(&value)
        .any(|(at, _)| !inside(folded[..at].chars().next_back()) && !inside(folded[at + value.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::Scores;

    fn hit(document: &str, version: Option<&str>, headings: &[&str], evidence: f32) -> Passage {
        Passage {
            id: format!("{document}#0"),
            document: document.into(),
            title: format!("Install {document}"),
            heading_path: headings.iter().map(|&heading| heading.to_owned()).collect(),
            url: format!("/{document}#x"),
            version: version.map(str::to_owned),
            scores: Scores { evidence, ..Scores::default() },
            ..Passage::default()
        }
    }

    fn facets(question: &str, hits: &[Passage]) -> Option<(String, Vec<String>)> {
        let choices = facet_choices(question, hits, 3, &Analyzer::default())?;
        Some((choices.facet.unwrap(), choices.items.into_iter().map(|item| item.title).collect()))
    }

    #[test]
    fn the_best_hits_split_by_version_unless_the_question_names_one() {
        let hits = [hit("a", Some("2"), &[], 0.8), hit("b", Some("3"), &[], 0.79), hit("c", Some("1"), &[], 0.2)];
        assert_eq!(
            facets("how do I install it with a proxy", &hits),
            Some(("version".to_owned(), vec!["2".to_owned(), "3".to_owned()]))
        );
        assert_eq!(facets("how do I install version 3", &hits), None);
        assert_eq!(facets("怎么安装 3 版本", &hits), None);
    }

    #[test]
    fn one_value_or_mostly_none_is_no_split() {
        assert_eq!(facets("install", &[hit("a", Some("2"), &[], 0.8), hit("b", Some("2"), &[], 0.8)]), None);
        let mostly_none = [
            hit("a", Some("2"), &[], 0.8),
            hit("b", Some("3"), &[], 0.8),
            hit("c", None, &[], 0.8),
            hit("d", None, &[], 0.8),
        ];
        assert_eq!(facets("install", &mostly_none), None);
    }

    #[test]
    fn platforms_are_read_from_headings() {
        let hits = [hit("a", None, &["On Windows"], 0.8), hit("b", None, &["macOS and its shell"], 0.8)];
        assert_eq!(
            facets("how do I set the path variable", &hits),
            Some(("platform".to_owned(), vec!["Windows".to_owned(), "macOS".to_owned()]))
        );
        assert_eq!(facets("how do I set the path variable on windows", &hits), None);
    }

    #[test]
    fn near_misses_are_pages_once_each_and_not_those_shown() {
        let hits =
            [hit("a", None, &[], 0.2), hit("a", None, &[], 0.2), hit("b", None, &[], 0.1), hit("c", None, &[], 0.1)];
        let ids =
            |shown: &[String]| page_choices(&hits, shown, 3).items.into_iter().map(|item| item.id).collect::<Vec<_>>();
        assert_eq!(ids(&[]), ["a", "b", "c"]);
        assert_eq!(ids(&["a".to_owned()]), ["b", "c"]);
    }
}
