//! Turning text into the terms that are indexed and searched.
//!
//! Input: a text in English, Chinese or both, with code in it. Output: [`Token`]s with their byte ranges.
//! Runs of Latin letters, digits and the marks of code become words and identifiers: an identifier is kept whole and its
//! parts are given too (`useFetch` → `usefetch`, `use`, `fetch`). Words are folded (NFKC, case, diacritics) and stemmed
//! by Snowball's English stemmer. Runs of Chinese characters become the words of the index's [`WordList`] by longest
//! match, and pairs of neighboring characters, so that a word that the list does not hold is found as well.
//!
//! **Invariant:** the same function serves documents and queries, and its time is linear in the text.

pub(crate) mod characters;
use crate::lowercase::lowercase;

mod stopwords;
mod word_list;

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

use characters::is_combining_mark;
pub use stopwords::is_stopword;
pub use word_list::{LONGEST_WORD, WordList};

/// Characters above which an identifier is only indexed by its parts: longer ones are URLs and hashes.
const LONGEST_IDENTIFIER: usize = 64;

/// Bytes above which a term is cut off, so that one absurd word cannot fill the dictionary.
const LONGEST_TERM: usize = 96;

/// What a token is, which decides how much it weighs in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A word, or a part of an identifier; stemmed.
    Word,
    /// An identifier as it stands; folded, not stemmed.
    Identifier,
    /// A Chinese word of the word list, or a character that stands alone.
    ChineseWord,
    /// Two neighboring characters inside of a longer Chinese word.
    ChinesePart,
    /// Two neighboring characters that no word of the list holds together.
    ChinesePair,
}

/// A term and where it stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The term as the index holds it.
    pub term: String,
    /// What it is.
    pub kind: TokenKind,
    /// Whether it is a [stopword](is_stopword), judged before stemming.
    pub stopword: bool,
    /// Byte range in the text.
    pub start: usize,
    /// End of the byte range.
    pub end: usize,
}

/// The analysis of one index: the rules, and the index's word list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Analyzer {
    words: WordList,
}

impl Analyzer {
    /// An analyzer that cuts Chinese by `words`.
    #[must_use]
    pub fn new(words: WordList) -> Self {
        Self { words }
    }

    /// The word list.
    #[must_use]
    pub fn words(&self) -> &WordList {
        &self.words
    }

    /// The tokens of `text`, in the order of their start; an identifier stands before its parts.
    #[must_use]
    pub fn analyze(&self, text: &str) -> Vec<Token> {
        let mut tokens = Vec::with_capacity(text.len() / 5);
        let stemmer = Stemmer::create(Algorithm::English);
        let mut at = 0;
        while let Some(first) = text[at..].chars().next() {
            let class = class(first);
            let length =
                text[at..].char_indices().find(|(_, c)| self::class(*c) != class).map_or(text.len() - at, |(i, _)| i);
            let run = &text[at..at + length];
            match class {
                Class::Chinese => self.chinese(run, at, &mut tokens),
                Class::Code => code(run, at, &stemmer, &mut tokens),
                Class::Other => {}
            }
            at += length;
        }
        tokens
    }

    fn chinese(&self, run: &str, offset: usize, tokens: &mut Vec<Token>) {
        let mut push = |start: usize, end: usize, kind| {
            let raw = &run[start..end];
            let term = fold(raw).into_owned();
            let stopword = is_stopword(&term);
            tokens.push(Token { term, kind, stopword, start: offset + start, end: offset + end });
        };
        let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
        let count = starts.len() - 1;
        if count == 1 {
            push(0, run.len(), TokenKind::ChineseWord);
            return;
        }
        // `word_end` is the end of the word that covers the current character.
        let mut word_end = 0;
        for i in 0..count - 1 {
            let start = starts[i];
            let mut whole = None;
            if start >= word_end {
                if let Some(length) = self.words.longest_at(&run[start..]) {
                    word_end = start + length;
                    whole = Some(word_end);
                    push(start, word_end, TokenKind::ChineseWord);
                } else {
                    word_end = starts[i + 1];
                }
            }
            let pair_end = starts[i + 2];
            if whole != Some(pair_end) {
                let kind = if pair_end <= word_end { TokenKind::ChinesePart } else { TokenKind::ChinesePair };
                push(start, pair_end, kind);
            }
        }
    }
}

/// NFKC, lower case, no diacritics: what is compared, never what is shown.
#[must_use]
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return if text.bytes().any(|b| b.is_ascii_uppercase()) {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
    }
    if text.chars().all(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(lowercase(&characters::without_marks(text)))
}

/// Whether the character is written without spaces between words: Han, kana, Hangul.
#[must_use]
pub fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3005}' | '\u{3007}' | '\u{3040}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// The runs of Chinese characters of `text`, each with its byte offset.
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub(crate) fn cjk_runs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(is_cjk)?;
        let end = text[start..].find(|c| !is_cjk(c)).map_or(text.len(), |length| start + length);
        at = end;
        Some((start, &text[start..end]))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Chinese,
    Code,
    Other,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Code,
        '_' | '-' | '.' | ':' | '/' | '@' | '$' | '+' | '#' | '\'' | '\u{2019}' => Class::Code,
        _ if c.is_ascii() => Class::Other,
        _ if is_cjk(c) => Class::Chinese,
        _ if c.is_alphanumeric() || is_combining_mark(c) => Class::Code,
        _ => Class::Other,
    }
}

/// A letter or digit, or a mark that belongs to one.
fn is_inner(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

fn code(run: &str, offset: usize, stemmer: &Stemmer, tokens: &mut Vec<Token>) {
    // What may open an identifier: a scope, a variable, an option. Everything else is punctuation of the sentence.
    let opened = run.trim_start_matches(|c| !is_inner(c) && !matches!(c, '@' | '$' | '-' | '_'));
    let whole = opened.trim_end_matches(|c| !is_inner(c) && !matches!(c, '+' | '#'));
    let start = run.len() - opened.len();
    if !whole.contains(is_inner) {
        return;
    }
    let parts = parts(whole);
    let is_identifier = parts.len() > 1 || parts.first().is_some_and(|(from, to)| to - from != whole.len());
    let plain = whole.strip_suffix("'s").or_else(|| whole.strip_suffix("\u{2019}s")).unwrap_or(whole);
    let apostrophe = plain.contains(['\'', '\u{2019}']);
    if is_identifier && !apostrophe && plain.len() == whole.len() && whole.chars().count() <= LONGEST_IDENTIFIER {
        tokens.push(Token {
            term: fold(whole).into_owned(),
            kind: TokenKind::Identifier,
            stopword: false,
            start: offset + start,
            end: offset + start + whole.len(),
        });
    }
    for (from, to) in parts {
        let part = &whole[from..to];
        if part.is_ascii() {
            word(part, offset + start + from, stemmer, tokens);
        } else {
            // Scripts that this file knows nothing about are cut by the rules of Unicode.
            for (at, inner) in characters::words(part) {
                word(inner, offset + start + from + at, stemmer, tokens);
            }
        }
    }
}

fn word(raw: &str, start: usize, stemmer: &Stemmer, tokens: &mut Vec<Token>) {
    let folded = fold(raw);
    let stopword = is_stopword(&folded);
    let mut term = stem(&folded, stemmer).into_owned();
    if term.len() > LONGEST_TERM {
        let end = (0..=LONGEST_TERM).rev().find(|end| term.is_char_boundary(*end)).unwrap_or(0);
        term.truncate(end);
    }
    if !term.is_empty() {
        tokens.push(Token { term, kind: TokenKind::Word, stopword, start, end: start + raw.len() });
    }
}

/// The stem of a folded word; words with digits or other scripts, and words of up to two letters, stay as they are.
fn stem<'a>(folded: &'a str, stemmer: &Stemmer) -> Cow<'a, str> {
    if folded.len() > 2 && folded.bytes().all(|b| b.is_ascii_lowercase()) {
        stemmer.stem(folded)
    } else {
        Cow::Borrowed(folded)
    }
}

/// The parts of an identifier: between its marks, and where its case changes (`HTTPServer` → `HTTP`, `Server`).
fn parts(whole: &str) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    let mut start = None;
    let mut before: [Option<char>; 2] = [None, None];
    for (at, c) in whole.char_indices() {
        if !is_inner(c) {
            if let Some(from) = start.take() {
                parts.push((from, at));
            }
            before = [None, None];
            continue;
        }
        let from = *start.get_or_insert(at);
        let hump = before[1].is_some_and(|b| b.is_lowercase() || b.is_ascii_digit()) && c.is_uppercase();
        let last_capital = c.is_lowercase() && before.iter().all(|b| b.is_some_and(char::is_uppercase));
        if hump {
            parts.push((from, at));
            start = Some(at);
        } else if last_capital {
            let capital = at - before[1].map_or(0, char::len_utf8);
            // `URLs` is a plural, not `UR` and `Ls`.
            let plural = c == 's' && !whole[at + 1..].starts_with(char::is_lowercase);
            if capital > from && !plural {
                parts.push((from, capital));
                start = Some(capital);
            }
        }
        before = [before[1], Some(c)];
    }
    if let Some(from) = start {
        parts.push((from, whole.len()));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let words = WordList::new(["虚拟环境", "环境", "安装", "安装包", "数据库", "配置"]);
        let terms: Vec<String> = Analyzer::new(words).analyze(text).into_iter().map(|t| t.term).collect();
        assert_eq!(terms, expected, "{text}");
    }

    #[test]
    fn identifiers_are_kept_whole_and_split() {
        check("useFetch", &["usefetch", "use", "fetch"]);
        check("snake_case", &["snake_case", "snake", "case"]);
        check("--flag", &["--flag", "flag"]);
        check("v-model.", &["v-model", "v", "model"]);
        check("std::fs::read", &["std::fs::read", "std", "fs", "read"]);
        check("@vue/compiler", &["@vue/compiler", "vue", "compil"]);
        check("HTTPServer", &["httpserver", "http", "server"]);
        check("URLs", &["url"]);
        check("C++, C#", &["c++", "c", "c#", "c"]);
        check("v2.4.1", &["v2.4.1", "v2", "4", "1"]);
    }

    #[test]
    fn words_are_folded_and_stemmed() {
        check("Installing Café naïve", &["instal", "cafe", "naiv"]);
        check("cafe\u{301}", &["cafe"]);
        check("ＰＩＰ　ｉｎｓｔａｌｌ", &["pip", "instal"]);
        check("Milvus's don't", &["milvus", "s", "don", "t"]);
    }

    #[test]
    fn chinese_is_cut_by_word_and_by_pair() {
        check("虚拟环境", &["虚拟环境", "虚拟", "拟环", "环境"]);
        check("如何用pip安装faiss-gpu？", &["如何", "何用", "pip", "安装", "faiss-gpu", "faiss", "gpu"]);
        check("安装包太慢", &["安装包", "安装", "装包", "包太", "太慢"]);
        check("库", &["库"]);
    }

    #[test]
    fn ranges_point_into_the_text() {
        let text = "用 useFetch 配置数据库";
        for token in Analyzer::default().analyze(text) {
            assert!(fold(&text[token.start..token.end]).len() >= token.term.len(), "{token:?}");
        }
    }

    #[test]
    fn a_long_text_without_any_space_is_linear() {
        let tokens = Analyzer::default().analyze(&"a-".repeat(100_000));
        assert!(tokens.iter().all(|token| token.term.len() <= LONGEST_TERM));
        assert!(Analyzer::default().analyze(&"測".repeat(100_000)).len() < 200_001);
    }
}
