//! Exploration: which pages beyond the answer are related to it, and whether one is worth offering now.
//!
//! Input: the answer's page, the other hits, the pages of the index, what was mentioned and offered. Output: candidates,
//! the most worthwhile first, each with what relates it.
//! **Invariant:** the answer's own page, a near-duplicate of it, and a page in another language are never candidates.

use serde::{Deserialize, Serialize};

use super::context_relevance::{content_words, shared_words, tag_similarity};
use crate::order;
use crate::retrieval::analyzer::Analyzer;
use crate::retrieval::document::Document;
use crate::turn::Passage;

/// Tag similarity from which two pages are related, 0..=1: one shared level of two.
const RELATED_TAGS: f32 = 0.5;
/// Share of the answer's evidence that a passage of another page needs to be related by content, 0..=1.
const RELATED_EVIDENCE: f32 = 0.5;
/// Share of common words from which two titles, or two passages, say the same, 0..=1.
const DUPLICATE: f32 = 0.8;
/// Worth of a page that was shown before, relative to one that was not, 0..=1.
const MENTIONED_WORTH: f32 = 0.5;

/// What relates a page to the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by", content = "what")]
pub enum Relation {
    /// A tag, or the part of it that both have.
    Tag(String),
    /// A passage that matches the question as well, by its heading.
    Match(String),
    /// The section, together with a passage that matches a little.
    Section(String),
}

/// A related page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RelatedPage {
    /// Id of the document.
    pub document: String,
    /// Title.
    pub title: String,
    /// Link.
    pub url: String,
    /// How closely it is related, 0..=1.
    pub relatedness: f32,
    /// Shown in this session before.
    pub mentioned: bool,
    /// What relates it.
    pub relation: Relation,
}

impl RelatedPage {
    /// How worthwhile it is to offer, 0..=1.
    #[must_use]
    pub fn worth(&self) -> f32 {
        self.relatedness * if self.mentioned { MENTIONED_WORTH } else { 1.0 }
    }
}

/// The pages related to the answer made from `hits[0]` that were not offered yet, the most worthwhile first.
///
/// Unmentioned pages stand before mentioned ones.
#[must_use]
pub fn related_pages(
    hits: &[Passage],
    documents: &[Document],
    mentioned: &[String],
    offered: &[String],
    analyzer: &Analyzer,
) -> Vec<RelatedPage> {
    let Some(answer) = hits.first() else { return Vec::new() };
    let answer_words = content_words(&answer.text, analyzer);
    let answer_title = content_words(&answer.title, analyzer);
    let mut related: Vec<RelatedPage> = Vec::new();
    let mut add = |candidate: RelatedPage| {
        let same_title = similarity(&content_words(&candidate.title, analyzer), &answer_title) >= DUPLICATE;
        if same_title || candidate.document == answer.document || offered.contains(&candidate.document) {
            return;
        }
        match related.iter_mut().find(|known| known.document == candidate.document) {
            Some(known) if known.relatedness < candidate.relatedness => *known = candidate,
            Some(_) => {}
            None => related.push(candidate),
        }
    };
    for hit in hits.iter().skip(1) {
        let share = hit.scores.evidence / answer.scores.evidence.max(f32::EPSILON);
        let duplicate = similarity(&content_words(&hit.text, analyzer), &answer_words) >= DUPLICATE;
        if hit.language != answer.language || duplicate || hit.document == answer.document {
            continue;
        }
        let tags = tag_similarity(&hit.tags, &answer.tags);
        let same_section = hit.section.is_some() && hit.section == answer.section;
        let (relatedness, relation) = if share >= RELATED_EVIDENCE {
            let heading = hit.heading_path.last().unwrap_or(&hit.title).clone();
            (share.min(1.0), Relation::Match(heading))
        } else if tags >= RELATED_TAGS {
            (tags, Relation::Tag(shared_tag(&hit.tags, &answer.tags)))
        } else if same_section && share >= RELATED_EVIDENCE / 2.0 {
            (share, Relation::Section(hit.section.clone().unwrap_or_default()))
        } else {
            continue;
        };
        add(RelatedPage {
            document: hit.document.clone(),
            title: hit.title.clone(),
            url: hit.url.split('#').next().unwrap_or_default().to_owned(),
            relatedness,
            mentioned: mentioned.contains(&hit.document),
            relation,
        });
    }
    for document in documents {
        let tags = tag_similarity(&document.tags, &answer.tags);
        if tags >= RELATED_TAGS && document.language == answer.language {
            add(RelatedPage {
                document: document.id.clone(),
                title: document.title.clone(),
                url: document.url.clone(),
                // A little below a hit with the same tags: nothing in the page is known to match.
                relatedness: tags * 0.9,
                mentioned: mentioned.contains(&document.id),
                relation: Relation::Tag(shared_tag(&document.tags, &answer.tags)),
            });
        }
    }
    order::sort_by(&mut related, |a, b| {
        a.mentioned.cmp(&b.mentioned).then(b.worth().total_cmp(&a.worth())).then_with(|| a.document.cmp(&b.document))
    });
    related
}

/// How worthwhile an offer is now, 0..=1: the best candidate's worth, less after an answer that is itself doubtful.
#[must_use]
pub fn exploration(related: &[RelatedPage], best_evidence: f32) -> f32 {
    related.first().map_or(0.0, |page| page.worth() * best_evidence.sqrt()).clamp(0.0, 1.0)
}

/// The longest start that a tag of each has in common.
fn shared_tag(a: &[String], b: &[String]) -> String {
    let mut best = String::new();
    for one in a {
        for other in b {
            let shared: Vec<&str> = one
                .split('/')
                .zip(other.split('/'))
                .take_while(|(x, y)| x.eq_ignore_ascii_case(y))
                .map(|(x, _)| x)
                .collect();
            let shared = shared.join("/");
            if shared.len() > best.len() {
                best = shared;
            }
        }
    }
    best
}

/// Common words as a share of all, 0..=1 (Jaccard).
fn similarity(a: &[String], b: &[String]) -> f32 {
    let shared = shared_words(a, b);
    let all = a.len() + b.len() - shared;
    if all == 0 { 0.0 } else { shared as f32 / all as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::{Language, Scores};

    fn hit(document: &str, title: &str, text: &str, tags: &[&str], evidence: f32) -> Passage {
        Passage {
            id: format!("{document}#0"),
            document: document.into(),
            title: title.into(),
            heading_path: vec!["Usage".into()],
            url: format!("/{document}#usage"),
            text: text.into(),
            best: text.into(),
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            scores: Scores { evidence, ..Scores::default() },
            ..Passage::default()
        }
    }

    fn page(id: &str, title: &str, tags: &[&str]) -> Document {
        Document {
            id: id.into(),
            title: title.into(),
            url: format!("/{id}"),
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            ..Document::default()
        }
    }

    fn check(hits: &[Passage], pages: &[Document], mentioned: &[&str], offered: &[&str]) -> Vec<String> {
        let own = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        let related = related_pages(hits, pages, &own(mentioned), &own(offered), &Analyzer::default());
        related.into_iter().map(|page| page.document).collect()
    }

    #[test]
    fn shared_tags_relate_and_a_mentioned_page_comes_last() {
        let answer = [hit("pip", "pip is slow", "use a mirror", &["python/pip"], 0.8)];
        let pages = [
            page("venv", "Virtual environments", &["python/venv"]),
            page("build", "Building wheels", &["python/build"]),
            page("spacy", "Tokenising", &["nlp/spacy"]),
            page("pip", "pip is slow", &["python/pip"]),
        ];
        assert_eq!(check(&answer, &pages, &[], &[]), ["build", "venv"]);
        assert_eq!(check(&answer, &pages, &["build"], &[]), ["venv", "build"]);
        assert_eq!(check(&answer, &pages, &["build"], &["venv", "build"]), [""; 0]);
    }

    #[test]
    fn near_duplicates_and_other_languages_are_left_out() {
        let mut chinese = hit("zh", "别的", "中文页面", &[], 0.8);
        chinese.language = Language::Chinese;
        let hits = [
            hit("a", "Watchers", "watch a ref with a callback function", &[], 0.8),
            hit("b", "Watchers", "something quite different about effects", &[], 0.7),
            hit("c", "Old watchers", "watch a ref with a callback function", &[], 0.7),
            chinese,
            hit("d", "Computed", "cache a derived value of several refs", &[], 0.6),
            hit("e", "Routing", "navigate between views", &[], 0.1),
        ];
        assert_eq!(check(&hits, &[], &[], &[]), ["d"]);
    }

    #[test]
    fn there_is_nothing_to_explore_without_an_answer() {
        assert!(check(&[], &[page("a", "A", &["x"])], &[], &[]).is_empty());
        assert_eq!(exploration(&[], 0.9), 0.0);
    }
}
