//! Conversation and query: how much a question continues what was asked before.
//!
//! Input: the query, the last user messages, and whatever else ties the two together. Output: a number in 0..=1, or none
//! without history.

use crate::order;
use crate::retrieval::analyzer::{Analyzer, Token, TokenKind};

/// User messages that a query is compared with, the newest first.
pub const MESSAGES: usize = 2;
/// Context relevance of a message that could only be understood from the conversation, 0..=1: whatever its words are, it
/// is about the same thing.
const CARRIED: f32 = 0.75;

/// Where the cosines of unrelated and of closely related questions lie for a model.
///
/// Models place their cosines differently (an e5 model keeps unrelated questions near 0.8), so that a share of this range
/// stands for the similarity rather than the cosine itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CosineRange {
    /// Cosine of questions that have nothing to do with each other, -1..1.
    pub unrelated: f32,
    /// Cosine of two questions about the same thing, above [`Self::unrelated`].
    pub same: f32,
}

impl CosineRange {
    /// The range of a model, by its id.
    #[must_use]
    pub fn of_model(model_id: &str) -> Self {
        if model_id.contains("e5") {
            Self { unrelated: 0.80, same: 0.92 }
        } else {
            Self { unrelated: 0.10, same: 0.70 }
        }
    }

    fn share(self, cosine: f32) -> f32 {
        ((cosine - self.unrelated) / (self.same - self.unrelated)).clamp(0.0, 1.0)
    }
}

/// The embedding of the query, those of the messages, and the range of the model that made them.
pub type Embeddings<'a> = (&'a [f32], &'a [Vec<f32>], CosineRange);

/// What ties a query to the conversation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ties<'a> {
    /// The embeddings; `None` where there is no model.
    pub embeddings: Option<Embeddings<'a>>,
    /// Tags of the best page for the query.
    pub tags: &'a [String],
    /// Tags of the pages of the last answer.
    pub answer_tags: &'a [String],
    /// The query was completed from the conversation.
    pub carried: bool,
}

/// How much `query` continues the conversation, 0..=1; `None` without messages.
///
/// The largest of three: similarity of the words (of the meaning, where there is a model) to the nearer of the last
/// messages; the tags that the best page shares with the last answer's; and [`CARRIED`] for a query that was completed
/// from the conversation.
#[must_use]
pub fn context_relevance(query: &str, messages: &[&str], ties: &Ties<'_>, analyzer: &Analyzer) -> Option<f32> {
    if messages.is_empty() {
        return None;
    }
    let words = content_words(query, analyzer);
    let overlap = messages
        .iter()
        .take(MESSAGES)
        .map(|message| overlap(&words, &content_words(message, analyzer)))
        .fold(0.0, f32::max);
    let meaning = ties.embeddings.map_or(0.0, |(query, messages, range)| {
        messages.iter().take(MESSAGES).map(|message| range.share(dot(query, message))).fold(0.0, f32::max)
    });
    let tags = tag_similarity(ties.tags, ties.answer_tags);
    let carried = if ties.carried { CARRIED } else { 0.0 };
    Some(overlap.max(meaning).max(tags).max(carried))
}

/// The content words of a text, folded and stemmed: no stopwords, no parts of longer words. Each once, in ascending order:
/// a set of the standard library is another tree for the page to download.
#[must_use]
pub fn content_words(text: &str, analyzer: &Analyzer) -> Vec<String> {
    let content = |token: &Token| !token.stopword && token.kind != TokenKind::ChinesePart;
    let mut words: Vec<String> = analyzer.analyze(text).into_iter().filter(content).map(|token| token.term).collect();
    order::sort_by(&mut words, Ord::cmp);
    words.dedup();
    words
}

/// How many words two lists of [`content_words`] share.
#[must_use]
pub fn shared_words(a: &[String], b: &[String]) -> usize {
    a.iter().filter(|word| b.binary_search(word).is_ok()).count()
}

/// Shared words as a share of the smaller list, 0..=1; a single shared word of two counts for half.
fn overlap(a: &[String], b: &[String]) -> f32 {
    let smaller = a.len().min(b.len());
    if smaller == 0 {
        return 0.0;
    }
    let shared = shared_words(a, b) as f32;
    shared / smaller.max(2) as f32
}

/// How many levels two pages' tags share, 0..=1: `python/venv` and `python/pip` share one of two.
#[must_use]
pub fn tag_similarity(a: &[String], b: &[String]) -> f32 {
    let mut best = 0.0_f32;
    for one in a {
        for other in b {
            let (one, other): (Vec<&str>, Vec<&str>) = (one.split('/').collect(), other.split('/').collect());
            let shared = one.iter().zip(&other).take_while(|(x, y)| x.eq_ignore_ascii_case(y)).count();
            best = best.max(shared as f32 / one.len().max(other.len()) as f32);
        }
    }
    best
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, messages: &[&str], ties: &Ties<'_>) -> Option<f32> {
        context_relevance(query, messages, ties, &Analyzer::default())
    }

    #[test]
    fn without_history_there_is_none() {
        assert_eq!(check("install milvus", &[], &Ties::default()), None);
    }

    #[test]
    fn shared_words_continue_a_topic_in_both_languages() {
        let words = |query, message| check(query, &[message], &Ties::default()).unwrap();
        assert!(words("delete a python venv", "How do I create a Python venv?") >= 0.5);
        assert!(words("怎么删除虚拟环境", "python虚拟环境怎么用") >= 0.5);
        assert_eq!(words("weather in Rome", "How do I create a Python venv?"), 0.0);
    }

    #[test]
    fn tags_tie_pages_that_share_no_word() {
        let tags = |tag: &str| vec![tag.to_owned()];
        let (pip, venv, spacy) = (tags("python/pip"), tags("python/venv"), tags("nlp/spacy"));
        assert_eq!(tag_similarity(&pip, &venv), 0.5);
        assert_eq!(tag_similarity(&spacy, &venv), 0.0);
        assert_eq!(tag_similarity(&pip, &[]), 0.0);
        let ties = Ties { tags: &pip, answer_tags: &venv, ..Ties::default() };
        assert!(check("安装包太慢了怎么办", &["python虚拟环境怎么用"], &ties).unwrap() >= 0.5);
    }

    #[test]
    fn a_message_completed_from_the_conversation_belongs_to_it() {
        let ties = Ties { carried: true, ..Ties::default() };
        assert!(check("and on Windows?", &["How do I create a venv?"], &ties).unwrap() >= 0.5);
    }

    #[test]
    fn the_same_share_means_the_same_for_both_kinds_of_model() {
        let near = [1.0, 0.0];
        for (range, cosine, expected) in [
            (CosineRange::of_model("multilingual-e5-small"), 0.80, 0.0),
            (CosineRange::of_model("multilingual-e5-small"), 0.92, 1.0),
            (CosineRange::of_model("all-MiniLM-L6-v2"), 0.40, 0.5),
        ] {
            let other = vec![cosine, (1.0_f32 - cosine * cosine).sqrt()];
            let messages = [other];
            let ties = Ties { embeddings: Some((&near, &messages, range)), ..Ties::default() };
            let found = check("x", &["y"], &ties).unwrap();
            assert!((found - expected).abs() < 1e-3, "{found} for a cosine of {cosine}");
        }
    }
}
