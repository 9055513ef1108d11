//! The sentence of a chunk that answers best, with the words to highlight.
//!
//! Input: a chunk's text and the query's terms. Output: a part of the text and byte ranges in it.
//! **Invariant:** what comes out is a piece of the text as it stands, never put together anew.

use std::collections::HashMap;
use std::collections::HashSet;

use crate::order;
use crate::retrieval::analyzer::Analyzer;
use crate::retrieval::analyzer::characters::sentences;
use crate::retrieval::lexical_query::LexicalQuery;

/// Characters above which a best passage is not extended by the sentence after it.
const LONGEST_BEST: usize = 280;

/// The best part of `text` and the ranges of it that match the query's terms, in order, not overlapping.
#[must_use]
pub fn best_passage(analyzer: &Analyzer, query: &LexicalQuery, text: &str) -> (String, Vec<(usize, usize)>) {
    let weights: HashMap<&str, f32> =
        query.terms.iter().map(|term| (term.text.as_str(), term.weight * term.idf)).collect();
    let pieces = pieces(text);
    let mut best = 0;
    let mut best_score = f32::MIN;
    for (at, &(start, end)) in pieces.iter().enumerate() {
        let mut seen = HashSet::new();
        let tokens = analyzer.analyze(&text[start..end]);
        let mut score: f32 = 0.0;
        for token in &tokens {
            if let Some(weight) = weights.get(token.term.as_str())
                && seen.insert(token.term.clone())
            {
                score += weight;
            }
        }
        // A long piece holds more terms by chance; a very short one says little.
        let length = tokens.iter().filter(|token| !token.stopword).count() as f32;
        score *= 1.0 / (1.0 + 0.01 * length);
        if length < 3.0 {
            score *= 0.5;
        }
        if score > best_score {
            (best, best_score) = (at, score);
        }
    }
    let Some(&(start, mut end)) = pieces.get(best) else { return (String::new(), Vec::new()) };
    for &(_, next_end) in &pieces[best + 1..] {
        if text[start..next_end].chars().count() > LONGEST_BEST {
            break;
        }
        end = next_end;
    }
    let best = text[start..end].trim();
    (best.to_owned(), highlights(analyzer, query, best))
}

/// The byte ranges of `text` that match the query's terms, in order; ranges that touch or overlap are joined.
#[must_use]
pub fn highlights(analyzer: &Analyzer, query: &LexicalQuery, text: &str) -> Vec<(usize, usize)> {
    let terms: HashSet<&str> = query.terms.iter().map(|term| term.text.as_str()).collect();
    let mut ranges: Vec<(usize, usize)> = analyzer
        .analyze(text)
        .into_iter()
        .filter(|token| terms.contains(token.term.as_str()))
        .map(|token| (token.start, token.end))
        .collect();
    order::sort(&mut ranges);
    ranges.dedup_by(|next, kept| {
        let joins = next.0 <= kept.1;
        if joins {
            kept.1 = kept.1.max(next.1);
        }
        joins
    });
    ranges
}

/// Sentences and lines: the pieces of which a best passage is made. Blank ones are left out.
fn pieces(text: &str) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    for (line_start, line) in lines(text) {
        for (at, sentence) in sentences(line) {
            if !sentence.trim().is_empty() {
                pieces.push((line_start + at, line_start + at + sentence.len()));
            }
        }
    }
    pieces
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let at = start;
        start += line.len();
        (at, line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::document::{Chunk, Document};
    use crate::retrieval::lexical_index::LexicalIndex;
    use crate::retrieval::lexical_query::QueryOptions;
    use crate::retrieval::synonyms::Synonyms;

    fn check(text: &str, query: &str, start: &str, highlighted: &[&str]) {
        let analyzer = Analyzer::default();
        let chunk = Chunk { text: text.to_owned(), ..Chunk::default() };
        let index = LexicalIndex::build(&analyzer, &[Document::default()], &[chunk]).unwrap();
        let query = LexicalQuery::new(&analyzer, &index, &Synonyms::default(), query, &QueryOptions::default());
        let (best, ranges) = best_passage(&analyzer, &query, text);
        assert!(best.starts_with(start), "{best}");
        assert!(text.contains(&best));
        let marked: Vec<&str> = ranges.into_iter().map(|(from, to)| &best[from..to]).collect();
        assert_eq!(marked, highlighted);
    }

    #[test]
    fn the_sentence_with_the_question_s_words_is_best() {
        let filler = "This sentence speaks of other things, at some length, so that it is not taken along. ".repeat(4);
        check(
            &format!("{filler}Delete the folder to remove a virtual environment. {filler}"),
            "how do I delete a virtual environment",
            "Delete the folder",
            &["Delete", "virtual", "environment"],
        );
        let filler = "这一句讲的是别的事情，而且讲得很长，所以不会一起被选中，后面还有更多与问题无关的内容。".repeat(7);
        check(&format!("{filler}删除文件夹即可移除。{filler}"), "如何删除文件夹", "删除文件夹", &["删除文件夹"]);
    }

    #[test]
    fn an_empty_text_has_an_empty_best_passage() {
        check("", "anything", "", &[]);
    }
}
