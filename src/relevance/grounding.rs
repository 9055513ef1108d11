//! How much of a reply the given passages support, sentence by sentence.
//!
//! Input: the reply, the passages that the model was given, the question, and the index's analyzer. Output: one
//! [`SentenceSupport`] for each sentence that states something. The score is the share of the sentence's content terms
//! that stand in the passage that covers it best, mixed with the share of its neighboring pairs of terms (the idea of
//! ROUGE-1 and ROUGE-2 precision; Lin, 2004). A number or an identifier that none of the passages holds makes a sentence
//! unsupported however well the rest fits: that is where inventions hurt.
//! **Invariant:** the reply's text is never changed here; who shows it marks the ranges.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::lowercase::lowercase;
use crate::retrieval::analyzer::characters::sentences;
use crate::retrieval::analyzer::{Analyzer, Token, TokenKind};
use crate::turn::Passage;

/// Least score of a supported sentence, 0..=1. Measured on 1242 sentences of reference answers that people wrote from given
/// passages (`tests/native/grounding.rs`): 89 % of them reach it with their own passages, 1.4 % with foreign ones.
pub const SUPPORTED: f32 = 0.45;
/// Share of the pairs in the score, 0..=1; the rest is the single terms'.
const PAIR_SHARE: f32 = 0.2;
/// A sentence with fewer content terms than this states too little to be judged ("Yes." "Here is how:").
const LEAST_TERMS: usize = 3;

/// Beginnings and parts by which a reply says that the documentation does not say something, or that what follows is not
/// from it. Such a sentence is not marked again. Compared in lower case.
const ADMISSIONS: &[&str] = &[
    "not from these docs",
    "do not say",
    "don't say",
    "does not say",
    "doesn't say",
    "do not mention",
    "does not mention",
    "don't mention",
    "doesn't mention",
    "not mentioned",
    "do not contain",
    "does not contain",
    "don't contain",
    "do not cover",
    "don't cover",
    "does not cover",
    "no information",
    "not specified",
    "文档之外",
    "没有写到",
    "没有提到",
    "未提到",
    "未提及",
    "没有提及",
    "没有说明",
    "没有相关",
    "没有涉及",
    "未涉及",
];

/// One sentence of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentenceSupport {
    /// Byte range in the reply.
    pub start: usize,
    /// End of the byte range.
    pub end: usize,
    /// How well the passages cover it, 0..=1.
    pub score: f32,
    /// Number of the passage that covers it best, from 1.
    pub passage: Option<usize>,
    /// Whether the score reaches [`SUPPORTED`] and nothing in it is invented.
    pub supported: bool,
    /// Numbers and identifiers that no passage holds.
    pub unknown: Vec<String>,
}

/// The support of a reply.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grounding {
    /// The sentences that state something, in order.
    pub sentences: Vec<SentenceSupport>,
    /// How many of them are not supported.
    pub unsupported: usize,
    /// Mean score, 0..=1; `None` when nothing was stated.
    pub mean: Option<f32>,
}

/// The terms of a passage.
struct Terms {
    single: HashSet<String>,
    pairs: HashSet<(String, String)>,
}

impl Terms {
    fn of(tokens: &[Token]) -> Self {
        let content = content(tokens);
        let pairs = content.windows(2).map(|pair| (pair[0].term.clone(), pair[1].term.clone())).collect();
        Self { single: tokens.iter().map(|token| token.term.clone()).collect(), pairs }
    }
}

/// The tokens that carry meaning, each place once: identifiers without their parts, Chinese words without their pairs.
fn content(tokens: &[Token]) -> Vec<&Token> {
    let mut kept: Vec<&Token> = Vec::new();
    for token in tokens {
        if token.stopword || token.kind == TokenKind::ChinesePart {
            continue;
        }
        if kept.last().is_some_and(|last| token.kind == TokenKind::Word && token.end <= last.end) {
            continue;
        }
        kept.push(token);
    }
    kept
}

/// How hard a term is to hit by chance.
fn weight(token: &Token) -> f32 {
    match token.kind {
        TokenKind::Identifier => 1.5,
        TokenKind::Word | TokenKind::ChineseWord => 1.0,
        // Pairs overlap: two of them are about one word.
        TokenKind::ChinesePair | TokenKind::ChinesePart => 0.5,
    }
}

/// Whether a term is one that must not be invented: a number of some length, a version, an identifier of code.
fn is_hard(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let all_digits = letters == 0 && digits >= 2;
    let version = digits > 0 && text.contains('.') && letters <= 1;
    let lower_then_upper =
        text.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let code = letters > 1 && (text.contains('_') || text.starts_with("--") || lower_then_upper);
    all_digits || version || code
}

/// Scores the sentences of `reply`.
///
/// Terms of the question count neither for nor against a sentence: to repeat them is no invention, and no evidence.
#[must_use]
pub fn support(reply: &str, question: &str, passages: &[Passage], analyzer: &Analyzer) -> Grounding {
    let passages: Vec<Terms> = passages
        .iter()
        .map(|passage| {
            let whole = format!("{}\n{}\n{}", passage.title, passage.heading_path.join("\n"), passage.text);
            Terms::of(&analyzer.analyze(&whole))
        })
        .collect();
    let asked: HashSet<String> = analyzer.analyze(question).into_iter().map(|token| token.term).collect();
    let mut sentences = Vec::new();
    for (start, end) in statements(reply) {
        let (text, cited) = without_citations(&reply[start..end]);
        let lower = lowercase(&text);
        if ADMISSIONS.iter().any(|admission| lower.contains(admission)) {
            continue;
        }
        let tokens = analyzer.analyze(&text);
        let content = content(&tokens);
        let own: Vec<&&Token> = content.iter().filter(|token| !asked.contains(&token.term)).collect();
        if content.len() < LEAST_TERMS || own.is_empty() {
            continue;
        }
        let unknown: Vec<String> = own
            .iter()
            .filter(|token| is_hard(&text[token.start..token.end]))
            .filter(|token| !passages.iter().any(|terms| terms.single.contains(&token.term)))
            .map(|token| text[token.start..token.end].to_owned())
            .collect();
        let total: f32 = own.iter().map(|token| weight(token)).sum();
        let pairs: Vec<(String, String)> = content
            .windows(2)
            .filter(|pair| !(asked.contains(&pair[0].term) && asked.contains(&pair[1].term)))
            .map(|pair| (pair[0].term.clone(), pair[1].term.clone()))
            .collect();
        let score = |chosen: &[&Terms]| {
            let has = |term: &str| chosen.iter().any(|terms| terms.single.contains(term));
            let hit: f32 = own.iter().filter(|token| has(&token.term)).map(|token| weight(token)).sum();
            let single = hit / total;
            if pairs.is_empty() {
                return single;
            }
            let pair_hits = pairs.iter().filter(|pair| chosen.iter().any(|terms| terms.pairs.contains(*pair))).count();
            (1.0 - PAIR_SHARE) * single + PAIR_SHARE * pair_hits as f32 / pairs.len() as f32
        };
        let mut best: (f32, Option<usize>) = (0.0, None);
        for (at, terms) in passages.iter().enumerate() {
            let of_passage = score(&[terms]);
            if of_passage > best.0 {
                best = (of_passage, Some(at + 1));
            }
        }
        let cited: Vec<&Terms> = cited.iter().filter_map(|n| passages.get(n.wrapping_sub(1))).collect();
        if cited.len() > 1 {
            // A sentence that cites several passages may take a part from each.
            best.0 = best.0.max(score(&cited));
        }
        let supported = best.0 >= SUPPORTED && unknown.is_empty();
        sentences.push(SentenceSupport { start, end, score: best.0, passage: best.1, supported, unknown });
    }
    let unsupported = sentences.iter().filter(|sentence| !sentence.supported).count();
    let mean = (!sentences.is_empty())
        .then(|| sentences.iter().map(|sentence| sentence.score).sum::<f32>() / sentences.len() as f32);
    Grounding { sentences, unsupported, mean }
}

/// The byte ranges of sentences, list items and table rows outside of code blocks, trimmed; headings are left out.
fn statements(reply: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    let mut line_start = 0;
    for line in reply.split_inclusive('\n') {
        let start = line_start;
        line_start += line.len();
        let trimmed = line.trim();
        if let Some(mark) = fence {
            if trimmed.starts_with(mark) {
                fence = None;
            }
            continue;
        }
        let unmarked =
            trimmed.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '*' | '+' | '>' | ' '));
        fence = ["```", "~~~"].into_iter().find(|mark| unmarked.starts_with(mark));
        if fence.is_some() || trimmed.starts_with('#') || trimmed.ends_with([':', '：']) {
            continue;
        }
        // UAX #29 does not break before a citation that stands behind the full stop: it belongs to the sentence before.
        let mut pieces: Vec<(usize, usize)> = Vec::new();
        for (at, sentence) in sentences(line) {
            let piece = (start + at, start + at + sentence.len());
            match pieces.last_mut() {
                Some(last) if without_citations(sentence).0.trim().is_empty() => last.1 = piece.1,
                _ => pieces.push(piece),
            }
        }
        for (from, to) in pieces {
            let text = &reply[from..to];
            let from = from + (text.len() - text.trim_start().len());
            let to = to - (text.len() - text.trim_end().len());
            if from < to {
                found.push((from, to));
            }
        }
    }
    found
}

/// The text without `[n]`, and the numbers.
fn without_citations(text: &str) -> (String, Vec<usize>) {
    let mut out = String::with_capacity(text.len());
    let mut numbers = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let after = &rest[at + 1..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if (1..=3).contains(&digits) && after[digits..].starts_with(']') {
            numbers.extend(after[..digits].parse::<usize>());
            out.push_str(&rest[..at]);
            rest = &after[digits + 1..];
        } else {
            out.push_str(&rest[..=at]);
            rest = after;
        }
    }
    out.push_str(rest);
    (out, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(title: &str, text: &str) -> Passage {
        Passage {
            id: "p#0".to_owned(),
            document: "p".to_owned(),
            title: title.to_owned(),
            text: text.to_owned(),
            ..Passage::default()
        }
    }

    fn docs() -> Vec<Passage> {
        vec![
            passage(
                "Watchers",
                "Pass a getter function to `watch()` to observe one property. Use `{ deep: true }` to traverse nested objects; it is expensive on large data structures. Since 3.5 `deep` may be a number.",
            ),
            passage(
                "虚拟环境",
                "使用 `python -m venv .venv` 创建虚拟环境，然后用 `source .venv/bin/activate` 激活它。在 Windows 上运行 `.venv\\Scripts\\activate`。",
            ),
        ]
    }

    /// Checks for each stated sentence whether it is supported.
    fn check(reply: &str, expected: &[bool]) -> Grounding {
        let found = support(reply, "How do I watch a nested object? 怎么创建？", &docs(), &Analyzer::default());
        let marks: Vec<bool> = found.sentences.iter().map(|sentence| sentence.supported).collect();
        assert_eq!(marks, expected, "{:#?}", found.sentences);
        found
    }

    #[test]
    fn sentences_from_the_passages_are_supported_and_inventions_are_not() {
        let found = check(
            "Pass a getter function to `watch()` [1]. Large data structures make deep traversal expensive. [1]",
            &[true, true],
        );
        assert_eq!(found.sentences[0].passage, Some(1));
        check("Install the reactive-lens plugin from the marketplace and restart your editor twice.", &[false]);
        check("先用 `python -m venv .venv` 创建虚拟环境[2]，再激活它。", &[true]);
        check("在控制面板里打开企业许可证设置，然后联系销售人员。", &[false]);
    }

    #[test]
    fn an_invented_number_or_option_is_unsupported_however_well_the_rest_fits() {
        let found = check("Since 4.1 `deep` may be a number in `watch()`.", &[false]);
        assert_eq!(found.sentences[0].unknown, ["4.1"]);
        let found = check("Pass a getter function to `watch()` with `flushTiming` to observe one property.", &[false]);
        assert_eq!(found.sentences[0].unknown, ["flushTiming"]);
        check("Since 3.5 `deep` may be a number.", &[true]);
    }

    #[test]
    fn what_states_nothing_is_not_judged() {
        check("Yes. Here is how:\n\n## Steps\n", &[]);
        check("```js\nplugin.install(everything, twice, 99)\n```", &[]);
        check("These docs do not say anything about licence servers in Antarctica.", &[]);
        check("文档没有提到企业许可证和销售人员。", &[]);
    }
}
