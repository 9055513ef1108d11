//! What a question looks like beside the docs: how much it names, how much of that the docs hold, and whether it points at
//! something that nobody has named.

use serde::{Deserialize, Serialize};

use super::context_relevance::content_words;
use crate::retrieval::analyzer::{Analyzer, TokenKind, fold};
use crate::turn::{Passage, is_han};

/// The shape of a question.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionShape {
    /// Content words.
    pub content_words: usize,
    /// Share of the content words, by weight, that the best passage with its title and headings holds, 0..=1.
    pub coverage: f32,
    /// It points at something by a description ("this plugin", "该功能") that nothing before it names.
    pub unresolved: bool,
    /// Names and identifiers in it that the docs do not hold.
    pub unknown_names: usize,
    /// How rare its content words are in the docs, 0..=1: 0 all of them everywhere, 1 none in more than one passage.
    pub specificity: f32,
}

/// English words that point at what follows them.
const POINTERS: [&str; 4] = ["this", "that", "these", "those"];
/// What follows a pointer in a phrase that needs no antecedent: "this way", "that case", "these docs".
const SELF_CONTAINED: [&str; 22] = [
    "way",
    "case",
    "page",
    "doc",
    "docs",
    "documentation",
    "site",
    "error",
    "message",
    "problem",
    "issue",
    "time",
    "year",
    "is",
    "are",
    "was",
    "means",
    "mean",
    "be",
    "does",
    "has",
    "would",
];
/// Chinese pointers that stand in front of a noun.
const CHINESE_POINTERS: [&str; 9] = ["这个", "那个", "这些", "那些", "该", "此", "这种", "那种", "这款"];

impl QuestionShape {
    /// The shape of `query`; `idf` gives the weight of a term of the index, `None` where the docs do not hold it.
    ///
    /// `highest_idf` is the weight of a term that a single passage holds. `carried` says that the query was completed from the
    /// conversation: then whatever it points at has been named.
    #[must_use]
    pub fn of(
        query: &str,
        best: Option<&Passage>,
        carried: bool,
        idf: &dyn Fn(&str) -> Option<f32>,
        highest_idf: f32,
        analyzer: &Analyzer,
    ) -> Self {
        let words = content_words(query, analyzer);
        let held = best.map(|passage| {
            let text = format!("{}\n{}\n{}", passage.title, passage.heading_path.join("\n"), passage.text);
            content_words(&text, analyzer)
        });
        // A word that the docs do not hold weighs as much as the rarest: it is what the question is about.
        let rarest = words.iter().filter_map(|word| idf(word)).fold(1.0, f32::max);
        let (mut all, mut covered, mut rare) = (0.0, 0.0, 0.0);
        for word in &words {
            let weight = idf(word).unwrap_or(rarest);
            all += weight;
            rare += idf(word).map_or(1.0, |idf| (idf / highest_idf.max(f32::EPSILON)).clamp(0.0, 1.0));
            if held.as_ref().is_some_and(|held| held.binary_search(word).is_ok()) {
                covered += weight;
            }
        }
        Self {
            content_words: words.len(),
            coverage: if all > 0.0 { covered / all } else { 0.0 },
            unresolved: !carried && points_at_nothing(query),
            unknown_names: unknown_names(query, idf, analyzer),
            specificity: if words.is_empty() { 0.0 } else { rare / words.len() as f32 },
        }
    }
}

/// Whether the question points by a description at something that it does not name itself.
#[must_use]
pub fn points_at_nothing(query: &str) -> bool {
    let folded = fold(query).into_owned();
    let words: Vec<&str> =
        folded.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    let english = words.windows(2).any(|pair| {
        POINTERS.contains(&pair[0])
            && !SELF_CONTAINED.contains(&pair[1])
            && pair[1].chars().all(|c| c.is_ascii_alphabetic())
            && pair[1].len() > 2
    });
    english
        || CHINESE_POINTERS.iter().any(|pointer| {
            folded.match_indices(pointer).any(|(at, _)| {
                // 应该 and 因此 are words of their own.
                let before = folded[..at].chars().next_back();
                let after = folded[at + pointer.len()..].chars().next();
                !matches!(before, Some('应' | '因' | '如' | '在' | '由' | '从' | '本' | '彼'))
                    && after.is_some_and(|c| is_han(c) && !"是的怎么在有会能可要用去选如何时外前后处".contains(c))
            })
        })
}

/// Names and identifiers that the docs do not hold: words with a capital inside a sentence, code, and Latin words between
/// Chinese ones.
fn unknown_names(query: &str, idf: &dyn Fn(&str) -> Option<f32>, analyzer: &Analyzer) -> usize {
    let chinese = query.chars().any(is_han);
    let mut unknown: Vec<String> = Vec::new();
    for token in analyzer.analyze(query) {
        let raw = &query[token.start..token.end];
        let first = token.start == 0 || query[..token.start].trim_end().ends_with(['.', '!', '?', '。', '！', '？']);
        let capital = raw.chars().next().is_some_and(char::is_uppercase) && !first;
        let named = match token.kind {
            TokenKind::Identifier => true,
            TokenKind::Word => capital || (chinese && raw.is_ascii() && raw.len() > 1),
            _ => false,
        };
        if named && !token.stopword && idf(&token.term).is_none() && !unknown.contains(&token.term) {
            unknown.push(token.term);
        }
    }
    unknown.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_without_a_name_points_at_nothing() {
        for (query, expected) in [
            ("What all facilities does this library provide for the public?", true),
            ("In which country is this language officially spoken?", true),
            ("How do I configure those plugins", true),
            ("怎么配置这个插件", true),
            ("该功能怎么关闭", true),
            ("what does that mean", false),
            ("How do I install Milvus?", false),
            ("怎么安装插件", false),
            ("应该怎么安装", false),
            ("v-if 和 v-show 该用哪个？", false),
            ("在此之前要做什么", false),
            ("I get this error when installing", false),
        ] {
            assert_eq!(points_at_nothing(query), expected, "{query}");
        }
    }

    #[test]
    fn names_that_the_docs_do_not_hold_are_counted() {
        let idf = |term: &str| ["install", "vue", "plugin"].contains(&term).then_some(2.0);
        let count = |query: &str| QuestionShape::of(query, None, false, &idf, 5.0, &Analyzer::default()).unknown_names;
        assert_eq!(count("how do I install Vue with Kubernetes"), 1);
        assert_eq!(count("How to install a plugin"), 0);
        assert_eq!(count("怎么安装 kubernetes"), 1);
        assert_eq!(count("怎么安装 vue"), 0);
    }

    #[test]
    fn coverage_weighs_rare_words_more() {
        let idf = |term: &str| match term {
            "rare" => Some(5.0),
            "common" => Some(1.0),
            _ => None,
        };
        let passage = |text: &str| Passage { text: text.into(), ..Passage::default() };
        let cover = |text: &str| {
            QuestionShape::of("rare common", Some(&passage(text)), false, &idf, 5.0, &Analyzer::default()).coverage
        };
        let specificity =
            |query: &str| QuestionShape::of(query, None, false, &idf, 5.0, &Analyzer::default()).specificity;
        assert_eq!(
            [specificity("rare"), specificity("common"), specificity("unheard"), specificity("the")],
            [1.0, 0.2, 1.0, 0.0]
        );
        assert!((specificity("rare common") - 0.6).abs() < 1e-6);
        assert!(cover("a rare thing") > cover("a common thing"));
        assert_eq!((cover("rare and common"), cover("none")), (1.0, 0.0));
    }
}
