//! A question as the lexical index sees it: weighted terms, each with the spellings that may stand for it.
//!
//! Input: the reader's words. Output: [`LexicalQuery`]. **Invariant:** at most [`MOST_TERMS`] terms come out, and the
//! work is bounded: text beyond [`LONGEST_QUERY`] bytes is not read, and no more than [`MOST_CORRECTIONS`] terms are
//! compared with the dictionary.

use std::collections::HashMap;

use crate::order;
use crate::retrieval::analyzer::{Analyzer, Token, TokenKind, fold};
use crate::retrieval::lexical_index::LexicalIndex;
use crate::retrieval::phrase_match::PhraseMatch;
use crate::retrieval::synonyms::Synonyms;
use crate::retrieval::weights::TermWeights;
use crate::turn::Language;

/// Terms of a query; a chunk's matches are kept as bits of a `u64`.
pub const MOST_TERMS: usize = 64;

/// Bytes of a query that are read; 2,000 Chinese characters fit.
pub const LONGEST_QUERY: usize = 8_000;

/// Unknown terms of a query that are looked up with slips.
const MOST_CORRECTIONS: usize = 4;

/// Spellings that may stand for one mistyped term.
const MOST_SPELLINGS: usize = 3;

/// Completions of the last word in search-as-you-type.
const MOST_COMPLETIONS: usize = 12;

/// How a query is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryOptions {
    /// The last word may be unfinished.
    pub prefix: bool,
    /// Words that the index does not hold may be mistyped.
    pub typos: bool,
    /// What each kind of term weighs.
    pub weights: TermWeights,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self { prefix: false, typos: true, weights: TermWeights::default() }
    }
}

/// A term of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// The term as the analyzer gives it.
    pub text: String,
    /// What kind it is.
    pub kind: TokenKind,
    /// Its weight in the query, 0 and up.
    pub weight: f32,
    /// Its inverse document frequency; that of an unseen term when the index does not hold it.
    pub idf: f32,
    /// Numbers of the index's terms that stand for it, each with its share, 0..=1.
    pub alternatives: Vec<(u32, f32)>,
    /// Whether the index holds the term itself.
    pub known: bool,
}

/// An analyzed query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LexicalQuery {
    /// The terms.
    pub terms: Vec<QueryTerm>,
    /// Share of the query's words that the index holds, 0..=1; 0 for a query without any word.
    pub in_vocabulary: f32,
    /// The language that it is written in; `None` where it has no letters.
    pub(crate) language: Option<Language>,
    /// The words that stand side by side.
    pub(crate) phrases: PhraseMatch,
}

impl LexicalQuery {
    /// Reads `text` against an index.
    #[must_use]
    pub fn new(
        analyzer: &Analyzer,
        index: &LexicalIndex,
        synonyms: &Synonyms,
        text: &str,
        options: &QueryOptions,
    ) -> Self {
        let text = shorten(text, LONGEST_QUERY);
        let tokens = analyzer.analyze(text);
        let only_stopwords = tokens.iter().all(|token| token.stopword);
        let carried: Vec<String> = tokens
            .iter()
            .filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::ChineseWord))
            .map(|token| token.term.clone())
            .collect();
        let mut query = Self { language: Language::detect(text), ..Self::default() };
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let last_start = tokens.last().map_or(0, |token| token.start);
        let unfinished = options.prefix && tokens.last().is_some_and(|token| token.end == text.len());
        let mut corrections = 0;
        query.phrases = PhraseMatch::new(tokens.clone());
        for (at, token) in tokens.iter().enumerate() {
            if token.stopword && !only_stopwords {
                continue;
            }
            let mut token = token.clone();
            let seam = seam(&tokens, at);
            if seam == Seam::BetweenWords {
                token.kind = TokenKind::ChinesePart;
            }
            let weight = options.weights.of(token.kind);
            if let Some(number) = numbers.get(&token.term) {
                let term = &mut query.terms[*number];
                term.weight = term.weight.max(weight);
                continue;
            }
            let unfinished = unfinished && token.start == last_start && token.kind != TokenKind::Identifier;
            let mut term = Self::term(index, &token, weight);
            if unfinished {
                complete(index, &mut term, &fold(&text[token.start..token.end]));
            }
            if term.alternatives.is_empty()
                && options.typos
                && token.kind == TokenKind::Word
                && corrections < MOST_CORRECTIONS
            {
                corrections += 1;
                correct(index, &mut term);
            }
            // A pair that no text holds says that a word is unknown, unless it only joins the end of one word to the start
            // of the next: "键吗" of "支持外键吗" is missing from every corpus.
            let missing = term.alternatives.is_empty() && !only_stopwords;
            if missing && (seam != Seam::None || token.kind == TokenKind::ChinesePart) {
                continue;
            }
            numbers.insert(token.term, query.terms.len());
            query.terms.push(term);
        }
        query.in_vocabulary = query.share_known();
        for replacement in synonyms.replacements(analyzer, &carried) {
            for other in replacement.others {
                query.add_synonym(index, &replacement.found, &other, &numbers, options.weights.synonym);
            }
        }
        if query.terms.len() > MOST_TERMS {
            order::sort_by(&mut query.terms, |a, b| (b.weight * b.idf).total_cmp(&(a.weight * a.idf)));
            query.terms.truncate(MOST_TERMS);
        }
        query
    }

    fn term(index: &LexicalIndex, token: &Token, weight: f32) -> QueryTerm {
        let number = index.terms().find(&token.term);
        QueryTerm {
            text: token.term.clone(),
            kind: token.kind,
            weight,
            idf: index.idf(number.map_or(0, |number| index.chunks_with(number))),
            alternatives: number.map(|number| (number as u32, 1.0)).into_iter().collect(),
            known: number.is_some(),
        }
    }

    /// The share of words that are known, where a Chinese word that the list does not hold is judged by its pairs.
    fn share_known(&self) -> f32 {
        let words =
            self.terms.iter().filter(|term| !matches!(term.kind, TokenKind::Identifier | TokenKind::ChinesePart));
        let (mut known, mut all) = (0.0, 0.0);
        for term in words {
            all += 1.0;
            known += f32::from(u8::from(term.known));
        }
        if all > 0.0 { known / all } else { 0.0 }
    }

    fn add_synonym(
        &mut self,
        index: &LexicalIndex,
        found: &[String],
        other: &[Token],
        numbers: &HashMap<String, usize>,
        share: f32,
    ) {
        if let ([found], [other]) = (found, other) {
            let number = index.terms().find(&other.term);
            if let (Some(at), Some(number)) = (numbers.get(found), number) {
                let term = &mut self.terms[*at];
                if term.alternatives.is_empty() {
                    term.idf = index.idf(index.chunks_with(number));
                }
                term.alternatives.push((number as u32, share));
            }
            return;
        }
        // A phrase of several words: its words join the query, and weigh together what one word would.
        for token in other.iter().filter(|token| !token.stopword && !numbers.contains_key(&token.term)) {
            let term = Self::term(index, token, share / other.len() as f32);
            if term.known {
                self.terms.push(term);
            }
        }
    }
}

/// Characters that are nearly always words of the sentence's frame, so that a pair with one of them that no text holds is
/// no unknown word: "键吗", "份了".
const PARTICLES: &[char] =
    &['的', '了', '吗', '呢', '吧', '和', '与', '及', '或', '是', '在', '把', '被', '我', '你', '它'];

/// Whether a pair of Chinese characters joins two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seam {
    /// It is no pair, or may be a word of its own.
    None,
    /// One of its characters belongs to the frame of the question.
    AtFrame,
    /// Both of its characters belong to words of the list.
    BetweenWords,
}

/// What the pair at `at` joins, judged by the words that its characters belong to.
fn seam(tokens: &[Token], at: usize) -> Seam {
    /// Tokens before a pair that may reach into it: a word and the pairs inside of it.
    const REACH: usize = 2 * crate::retrieval::analyzer::LONGEST_WORD;
    let pair = &tokens[at];
    if pair.kind != TokenKind::ChinesePair {
        return Seam::None;
    }
    let near = &tokens[at.saturating_sub(REACH)..tokens.len().min(at + 3)];
    let owner = |position: usize| {
        near.iter().find(|token| {
            (token.kind == TokenKind::ChineseWord || token.stopword)
                && **token != *pair
                && (token.start..token.end).contains(&position)
        })
    };
    // The last byte of a pair lies in its second character.
    let owners = [owner(pair.start), owner(pair.end - 1)];
    if owners.iter().flatten().any(|token| token.stopword) || pair.term.contains(PARTICLES) {
        Seam::AtFrame
    } else if owners.iter().all(Option::is_some) {
        Seam::BetweenWords
    } else {
        Seam::None
    }
}

/// The longest start of `text` of at most `limit` bytes.
fn shorten(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

/// Adds the terms that start like the unfinished word; the most frequent ones are the likeliest.
fn complete(index: &LexicalIndex, term: &mut QueryTerm, typed: &str) {
    if typed.chars().count() < 2 && !typed.chars().any(crate::retrieval::analyzer::is_cjk) {
        return;
    }
    let mut completions: Vec<usize> = index.terms().with_prefix(typed).take(5_000).collect();
    order::sort_by_key(&mut completions, |number| (std::cmp::Reverse(index.chunks_with(*number)), *number));
    completions.truncate(MOST_COMPLETIONS);
    let exact = term.alternatives.first().map(|(number, _)| *number);
    let share = if exact.is_some() { 0.5 } else { 0.9 };
    for number in completions {
        if exact != Some(number as u32) {
            term.alternatives.push((number as u32, share));
        }
    }
    if exact.is_none() {
        take_commonest_idf(index, term);
    }
}

/// Adds the terms that the word was probably meant to be.
fn correct(index: &LexicalIndex, term: &mut QueryTerm) {
    let near = index.terms().near(&term.text);
    let Some(least) = near.first().map(|(_, slips)| *slips) else { return };
    let mut spellings: Vec<usize> =
        near.into_iter().filter(|(_, slips)| *slips == least).map(|(number, _)| number).collect();
    order::sort_by_key(&mut spellings, |number| (std::cmp::Reverse(index.chunks_with(*number)), *number));
    spellings.truncate(MOST_SPELLINGS);
    let share = if least == 1 { 0.8 } else { 0.5 };
    term.alternatives = spellings.into_iter().map(|number| (number as u32, share)).collect();
    take_commonest_idf(index, term);
}

/// A term that is only known by its alternatives is as telling as the commonest of them.
fn take_commonest_idf(index: &LexicalIndex, term: &mut QueryTerm) {
    let commonest = term.alternatives.iter().map(|(number, _)| index.chunks_with(*number as usize)).max();
    if let Some(chunks) = commonest {
        term.idf = index.idf(chunks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::analyzer::WordList;
    use crate::retrieval::document::{Chunk, Document};

    fn query(text: &str) -> LexicalQuery {
        let analyzer = Analyzer::new(WordList::new(["支持", "外键", "数据库", "备份", "数据"]));
        let chunk = Chunk { text: "数据库支持外键。备份数据。".into(), ..Chunk::default() };
        let index = LexicalIndex::build(&analyzer, &[Document::default()], &[chunk]).unwrap();
        LexicalQuery::new(&analyzer, &index, &Synonyms::default(), text, &QueryOptions::default())
    }

    #[test]
    fn pairs_that_only_join_two_words_are_no_unknown_words() {
        for text in ["支持外键吗", "如何备份数据库", "数据库备份", "怎么备份数据？"] {
            let query = query(text);
            assert_eq!(query.in_vocabulary, 1.0, "{text}: {:?}", query.terms);
            assert!(query.terms.iter().all(|term| term.known), "{text}: {:?}", query.terms);
        }
    }

    #[test]
    fn words_that_no_text_holds_stay_unknown() {
        for text in ["故宫门票多少钱", "备份故宫"] {
            let query = query(text);
            assert!(query.in_vocabulary < 0.6, "{text}: {:?}", query.terms);
            assert!(query.terms.iter().any(|term| term.text == "故宫" && !term.known), "{text}: {:?}", query.terms);
        }
    }

    #[test]
    fn a_query_of_two_thousand_characters_is_bounded() {
        let long = query(&"备份数据库然后导出".repeat(250));
        assert!(long.terms.len() <= MOST_TERMS);
        let words: String = (0..400).map(|n| format!("word{n} ")).collect();
        assert_eq!(query(&words).terms.len(), MOST_TERMS);
    }
}
