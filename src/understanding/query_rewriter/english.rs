//! Stand-alone questions in English.

use super::super::entities;
use super::super::vocabulary::NoVocabulary;
use super::{Sources, StandaloneQuery};
use crate::dialogue::EntityKind;

/// A word of the message with the punctuation around it.
struct Token<'a> {
    before: &'a str,
    core: &'a str,
    after: &'a str,
    lower: String,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    text.split_whitespace()
        .map(|word| {
            let core = word.trim_matches(|c: char| !c.is_alphanumeric());
            let start = if core.is_empty() { 0 } else { word.find(core).unwrap_or(0) };
            let (before, after) = (&word[..start], &word[start + core.len()..]);
            Token { before, core, after, lower: core.to_lowercase().replace('’', "'") }
        })
        .collect()
}

/// Rewrites an English message.
pub(super) fn rewrite(message: &str, sources: &Sources<'_>) -> StandaloneQuery {
    let words = tokens(message);
    let mut carried = Vec::new();
    let mut reason = "stands_alone";
    let title = sources.titles.first().map(|t| t.split(" (").next().unwrap_or(t).trim_end());
    let mut used: Vec<String> = Vec::new();
    let own = entities::mentions(message, &NoVocabulary);
    let person = sources
        .asked
        .iter()
        .chain([&message])
        .any(|text| tokens(text).iter().any(|t| matches!(t.lower.as_str(), "he" | "she" | "his" | "her" | "him")));
    let mut out: Vec<String> = Vec::new();
    let mut done = false;
    let mut i = 0;
    while i < words.len() {
        let w = &words[i];
        let at = w.core.as_ptr() as usize - message.as_ptr() as usize;
        let free = |_i: usize| !own.iter().any(|m| m.start < at && m.kind == EntityKind::Name);
        let next = words.get(i + 1).map_or("", |t| t.lower.as_str());
        let last = i + 1 == words.len() || !w.after.is_empty();
        let referent = match w.lower.as_str() {
            "he" | "she" | "him" => title.filter(|_| free(i)).map(|t| (t.to_owned(), false)),
            "his" | "hers" => title.filter(|_| free(i)).map(|t| (t.to_owned(), true)),
            "her" => title.filter(|_| free(i)).map(|t| (t.to_owned(), !last && !is_function(next))),
            "they" | "them" if !person => title.filter(|_| free(i)).map(|t| (t.to_owned(), false)),
            "their" if !person => title.filter(|_| free(i)).map(|t| (t.to_owned(), true)),
            "it" if !pleonastic(&words, i) => thing(sources, title, person).map(|t| (t, false)),
            "its" => thing(sources, title, person).map(|t| (t, true)),
            _ => None,
        };
        match referent {
            Some((name, _)) if used.contains(&name) => out.push(format!("{}{}{}", w.before, w.core, w.after)),
            Some((name, possessive)) => {
                used.push(name.clone());
                let suffix = if possessive { if name.ends_with('s') { "'" } else { "'s" } } else { "" };
                out.push(format!("{}{name}{suffix}{}", w.before, w.after));
                carried.push(name);
                reason = "pronoun";
                done = true;
            }
            None => out.push(format!("{}{}{}", w.before, w.core, w.after)),
        }
        i += 1;
    }
    let text = if done { out.join(" ") } else { message.to_owned() };
    StandaloneQuery { changed: text != message, text, carried, terms: Vec::new(), reason: reason.to_owned() }
}

fn is_function(word: &str) -> bool {
    [
        "a", "an", "the", "to", "in", "on", "at", "for", "with", "from", "as", "and", "or", "by", "of", "about",
        "after", "before", "when", "during", "into",
    ]
    .contains(&word)
}

fn pleonastic(words: &[Token<'_>], at: usize) -> bool {
    let rest: Vec<&str> = words[at + 1..].iter().take(4).map(|t| t.lower.as_str()).collect();
    let adjective = [
        "possible",
        "necessary",
        "safe",
        "better",
        "ok",
        "okay",
        "worth",
        "true",
        "required",
        "hard",
        "easy",
        "important",
        "recommended",
    ];
    rest.iter().take(2).any(|w| adjective.contains(w)) || rest.first() == Some(&"take")
}

fn thing(sources: &Sources<'_>, title: Option<&str>, person: bool) -> Option<String> {
    for text in sources.answers.first().into_iter().chain(sources.asked.first()) {
        let found = entities::mentions(text, &NoVocabulary);
        if let Some(m) = found.iter().rev().find(|m| m.quoted) {
            return Some(m.text.clone());
        }
    }
    if !person {
        return title.map(str::to_owned);
    }
    None
}
