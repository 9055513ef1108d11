//! What a message names, and what the reader says about themselves.
//!
//! Input: a message. Output: entities in the order of the text, and facts about the reader. Names come from their form
//! (capitals, code, quotes, version numbers), from the lists of [`super::lexicon`], and from the titles of the index.
//! **Invariant:** a word that is named nowhere and looks like any other word is no entity.

use super::lexicon::{self, en, zh};
use super::vocabulary::Vocabulary;
use crate::dialogue::{Entity, EntityKind, FactKind, ReaderFact};
use crate::lowercase::lowercase;
use crate::order;
use crate::turn::is_han;

/// A name in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Byte offset of its first character.
    pub start: usize,
    /// Byte offset behind its last character.
    pub end: usize,
    /// As it is written, or the name it stands for.
    pub text: String,
    /// What it is.
    pub kind: EntityKind,
    /// Whether it stood in quotes or in a code span.
    pub quoted: bool,
}

/// Longest Chinese title that is looked for in a message, in characters. Titles of pages and places are shorter.
const MAX_TITLE_CHARS: usize = 16;
/// Longest quoted name, in characters; longer quotations are sentences.
const MAX_QUOTE_CHARS: usize = 60;

/// The entities and the reader's facts of a message. The entities' `turn` is 0: the state sets it when it notes them.
#[must_use]
pub fn read(message: &str, vocabulary: &dyn Vocabulary) -> (Vec<Entity>, Vec<ReaderFact>) {
    let mentions = mentions(message, vocabulary);
    let facts = reader_facts(message, &mentions);
    let mut entities: Vec<Entity> = Vec::new();
    for mention in mentions {
        if !entities.iter().any(|known| known.text.eq_ignore_ascii_case(&mention.text)) {
            entities.push(Entity { text: mention.text, kind: mention.kind, turn: 0 });
        }
    }
    (entities, facts)
}

/// The names of a text, in order, not overlapping.
#[must_use]
pub fn mentions(text: &str, vocabulary: &dyn Vocabulary) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    quoted(text, &mut found);
    chinese(text, vocabulary, &mut found);
    listed(text, &mut found);
    latin(text, vocabulary, &mut found);
    order::sort_by_key(&mut found, |mention| (mention.start, std::cmp::Reverse(mention.end)));
    let mut end = 0;
    found.retain(|mention| {
        let free = mention.start >= end;
        if free {
            end = mention.end;
        }
        free
    });
    found
}

fn add(found: &mut Vec<Mention>, mention: Mention) {
    if found.iter().all(|other| mention.end <= other.start || other.end <= mention.start) {
        found.push(mention);
    }
}

/// Code spans and quoted names.
fn quoted(text: &str, found: &mut Vec<Mention>) {
    for (open, close) in [('`', '`'), ('"', '"'), ('“', '”'), ('「', '」'), ('《', '》')] {
        let mut from = 0;
        while let Some(start) = text[from..].find(open).map(|at| from + at) {
            let inner = start + open.len_utf8();
            let Some(length) = text[inner..].find(close) else { break };
            let (name, end) = (text[inner..inner + length].trim(), inner + length + close.len_utf8());
            let name = name.trim_end_matches([',', '.', '，', '。']);
            if !name.is_empty() && name.chars().count() <= MAX_QUOTE_CHARS {
                let kind = if open == '`' { EntityKind::Identifier } else { EntityKind::Name };
                add(found, Mention { start, end, text: name.to_owned(), kind, quoted: true });
            }
            from = end;
        }
    }
}

/// Titles of the index inside Chinese text, the longest first, and Chinese names of platforms.
fn chinese(text: &str, vocabulary: &dyn Vocabulary, found: &mut Vec<Mention>) {
    let marks: Vec<(usize, char)> = text.char_indices().collect();
    let end_of = |i: usize| marks.get(i).map_or(text.len(), |(at, _)| *at);
    let mut i = 0;
    while i < marks.len() {
        if !is_han(marks[i].1) {
            // A title such as "798艺术中心" starts with a digit or a letter, but not in the middle of a word.
            let inside = i > 0 && !is_han(marks[i - 1].1) && marks[i - 1].1.is_alphanumeric();
            if !marks[i].1.is_alphanumeric() || inside {
                i += 1;
                continue;
            }
        }
        let longest = (2..=MAX_TITLE_CHARS.min(marks.len() - i)).rev().find(|n| {
            let phrase = &text[marks[i].0..end_of(i + n)];
            phrase.chars().any(is_han) && vocabulary.is_title(phrase) && !zh::TITLE_STOP.contains(&phrase)
        });
        match longest {
            Some(n) => {
                let (start, end) = (marks[i].0, end_of(i + n));
                let name = text[start..end].to_owned();
                add(found, Mention { start, end, text: name, kind: EntityKind::Name, quoted: false });
                i += n;
            }
            None => i += 1,
        }
    }
    for (name, stands_for, kind) in lexicon::CHINESE_NAMES {
        for (start, _) in text.match_indices(name) {
            let end = start + name.len();
            add(found, Mention { start, end, text: stands_for.to_owned(), kind, quoted: false });
        }
    }
}

/// Names of the lists, as whole words.
fn listed(text: &str, found: &mut Vec<Mention>) {
    let lower = lowercase(text);
    // Lower-casing may change lengths (İ): then offsets would be wrong, and the forms below have to do.
    if lower.len() != text.len() {
        return;
    }
    let lists = [
        (&lexicon::PLATFORMS[..], EntityKind::Platform),
        (&lexicon::LANGUAGES[..], EntityKind::Language),
        (&lexicon::PRODUCTS[..], EntityKind::Name),
    ];
    let mut hits: Vec<Mention> = Vec::new();
    for (names, kind) in lists {
        for name in names {
            let exact = lexicon::AMBIGUOUS_LANGUAGES.contains(name);
            let (hay, needle) = if exact { (text, (*name).to_owned()) } else { (lower.as_str(), lowercase(name)) };
            for (start, _) in hay.match_indices(&needle) {
                let end = start + needle.len();
                if is_whole_word(text, start, end) {
                    hits.push(Mention { start, end, text: text[start..end].to_owned(), kind, quoted: false });
                }
            }
        }
    }
    // The longest first: "Windows 11" before "Windows".
    order::sort_by_key(&mut hits, |mention| (mention.start, std::cmp::Reverse(mention.end)));
    for hit in hits {
        add(found, hit);
    }
}

/// Whether the range stands alone: no letter, digit, or code character of the same word beside it.
fn is_whole_word(text: &str, start: usize, end: usize) -> bool {
    let joins = |c: char| (c.is_alphanumeric() && !is_han(c)) || matches!(c, '_' | '-' | '/' | '@' | '$' | '+' | '#');
    let before = text[..start].chars().next_back();
    let mut after = text[end..].chars();
    let next = after.next();
    // A dot joins only when a letter follows: "Node.js", but not "on Windows."
    let dotted = next == Some('.') && after.next().is_some_and(|c| c.is_alphanumeric() && !is_han(c));
    !before.is_some_and(|c| joins(c) || c == '.') && !next.is_some_and(joins) && !dotted
}

/// Names by their form: identifiers, versions, capitalized words.
fn latin(text: &str, vocabulary: &dyn Vocabulary, found: &mut Vec<Mention>) {
    let words = words(text);
    let mut i = 0;
    while i < words.len() {
        let word = &words[i];
        if is_version(word.text) {
            let kind = EntityKind::Version;
            add(found, Mention { start: word.start, end: word.end, text: word.text.to_owned(), kind, quoted: false });
            i += 1;
            continue;
        }
        if is_identifier(word.text) {
            let kind = EntityKind::Identifier;
            add(found, Mention { start: word.start, end: word.end, text: word.text.to_owned(), kind, quoted: false });
            i += 1;
            continue;
        }
        if !is_capitalized(word.text) {
            if word.text.len() > 2 && vocabulary.is_title(word.text) && !en::is_common(&lowercase(word.text)) {
                let kind = EntityKind::Name;
                add(
                    found,
                    Mention { start: word.start, end: word.end, text: word.text.to_owned(), kind, quoted: false },
                );
            }
            i += 1;
            continue;
        }
        // A run of capitalized words, with small words between them: "Mothers of Invention".
        let mut last = i;
        let mut next = i + 1;
        while next < words.len() && words[next].follows {
            if is_capitalized(words[next].text)
                || (is_number(words[next].text) && !is_version(words[next].text) && next == last + 1)
            {
                last = next;
            } else if !en::NAME_JOINTS.contains(&words[next].text) || next > last + 2 {
                break;
            }
            next += 1;
        }
        let lower = lowercase(word.text);
        // The first word of a sentence has its capital from the grammar.
        let start = if word.starts_sentence && en::is_common(&lower) { i + 1 } else { i };
        let start = (start..=last).find(|at| is_capitalized(words[*at].text)).unwrap_or(last + 1);
        if start <= last {
            let (from, to) = (words[start].start, words[last].end);
            let name = text[from..to].trim_end_matches("'s").trim_end_matches("’s");
            let end = from + name.len();
            let single_common = start == last && en::is_common(&lowercase(words[start].text));
            if !single_common && name.chars().count() > 1 {
                add(found, Mention { start: from, end, text: name.to_owned(), kind: EntityKind::Name, quoted: false });
            }
        }
        i = last + 1;
    }
}

/// A word of Latin text with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// Byte offset of its first character.
    pub start: usize,
    /// Byte offset behind its last character.
    pub end: usize,
    /// The word without the punctuation around it.
    pub text: &'a str,
    /// Whether it is the first of a sentence.
    pub starts_sentence: bool,
    /// Whether only a space stands between it and the word before.
    pub follows: bool,
}

/// The words of a text: runs between spaces, Han characters and marks, with code characters kept inside.
#[must_use]
pub fn words(text: &str) -> Vec<Word<'_>> {
    let mut found: Vec<Word<'_>> = Vec::new();
    let mut start = None;
    let breaks =
        |c: char| c.is_whitespace() || is_han(c) || "，。；：、！？（）()[]{}<>\"“”‘「」《》,;!?…`|*".contains(c);
    let marks = text.char_indices().map(|(at, c)| (at, Some(c))).chain([(text.len(), None)]);
    let mut push = |from: usize, to: usize| {
        let run = &text[from..to];
        let inner = run.trim_start_matches(['\'', '.', ':', '’', '=']);
        let from = from + run.len() - inner.len();
        let inner = inner.trim_end_matches(['\'', '.', ':', '’', '-', '/', '=']);
        if !inner.chars().any(char::is_alphanumeric) {
            return;
        }
        let before = found.last().map_or(0, |word| word.end);
        let gap = &text[before..from];
        let starts_sentence = found.is_empty() || gap.contains(['.', '!', '?', '。', '！', '？', ':', '：', '\n']);
        let follows = !found.is_empty() && gap == " ";
        found.push(Word { start: from, end: from + inner.len(), text: inner, starts_sentence, follows });
    };
    for (at, c) in marks {
        match (start, c.is_none_or(breaks)) {
            (None, false) => start = Some(at),
            (Some(from), true) => {
                push(from, at);
                start = None;
            }
            _ => {}
        }
    }
    found
}

fn is_capitalized(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase) && !matches!(word, "I" | "I'm" | "I'd" | "I've" | "I'll" | "A")
}

fn is_number(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit() || c == '.') && word.starts_with(|c: char| c.is_ascii_digit())
}

/// `3.4`, `v2`, `2.0.1-beta`: digits with a dot, or a `v` in front. A bare number is not a version.
#[must_use]
pub fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let core = digits.split(['-', '+']).next().unwrap_or(digits);
    let prefixed = digits.len() < word.len();
    let parts: Vec<&str> = core.split('.').collect();
    let numeric = |part: &&str| !part.is_empty() && part.len() < 5 && part.chars().all(|c| c.is_ascii_digit());
    let mut tail = parts.iter().skip(1).copied();
    let wild = tail.all(|part| numeric(&part) || part == "x");
    numeric(&parts[0]) && wild && (prefixed || parts.len() > 1)
}

/// Something written as code: inner capitals, underscores, paths, flags, scopes. A plain hyphen does not make code.
#[must_use]
pub fn is_identifier(word: &str) -> bool {
    if !word.chars().any(char::is_alphabetic) || is_version(word) {
        return false;
    }
    let mut chars = word.chars();
    let first = chars.next().unwrap_or(' ');
    let inner_capital = first.is_lowercase() && chars.clone().any(char::is_uppercase);
    let joined = word.contains(['_', '$', '@']) || word.contains("::") || word.contains("()") || word.starts_with("--");
    let path = word.contains('/') && !en::SLASHED.contains(&lowercase(word).as_str());
    let dotted = word.split('.').count() > 1
        && word.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '-'))
        && !matches!(lowercase(word).as_str(), "e.g" | "i.e" | "a.m" | "p.m" | "u.s" | "u.s.a");
    let directive = word.starts_with("v-") && word.len() > 3;
    inner_capital || joined || path || dotted || directive
}

/// What the reader says about themselves: a first-person frame, then a platform, a product with a version, a language.
fn reader_facts(message: &str, mentions: &[Mention]) -> Vec<ReaderFact> {
    let lower = lowercase(message);
    if lower.len() != message.len() {
        return Vec::new();
    }
    let mut facts: Vec<ReaderFact> = Vec::new();
    for (at, mention) in mentions.iter().enumerate() {
        let before = lower[..mention.start].trim_end_matches([' ', '“', '"', '`', '「']);
        let framed = en::READER_FRAMES.iter().any(|frame| before.ends_with(frame))
            || zh::READER_FRAMES.iter().any(|frame| before.ends_with(frame))
            || at > 0 && !facts.is_empty() && is_list_gap(&lower[mentions[at - 1].end..mention.start]);
        // "… on Windows" at the end of any question says where the reader works as well.
        let on_platform = mention.kind == EntityKind::Platform
            && (before.ends_with(" on") || before == "on" || before.ends_with(" under") || before.ends_with('在'));
        if !framed && !on_platform {
            continue;
        }
        let (kind, value) = match mention.kind {
            EntityKind::Platform => (FactKind::Platform, mention.text.clone()),
            EntityKind::Language => (FactKind::Language, mention.text.clone()),
            EntityKind::Name | EntityKind::Identifier if framed => (FactKind::Tool, mention.text.clone()),
            _ => continue,
        };
        let mut fact = ReaderFact { kind, subject: None, value };
        if let Some(version) = version_behind(message, mention, mentions.get(at + 1)) {
            let product = name_without_version(&mention.text, &version);
            fact = ReaderFact { kind: FactKind::Version, subject: Some(product), value: version };
        }
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }
    facts
}

fn is_list_gap(gap: &str) -> bool {
    let gap = gap.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
    matches!(gap.trim(), "and" | "," | "with" | ", and" | "和" | "、" | "，" | "+" | "&" | "，用" | "跟" | "搭配")
}

/// The version that belongs to a product: "Vue 2", "Node v20", "Milvus 2.4".
fn version_behind(message: &str, mention: &Mention, next: Option<&Mention>) -> Option<String> {
    if let Some((_, last)) = mention.text.rsplit_once(' ')
        && is_number(last)
        && mention.kind != EntityKind::Platform
    {
        return Some(last.to_owned());
    }
    if let Some(next) = next
        && next.kind == EntityKind::Version
        && matches!(message[mention.end..next.start].trim(), "" | "version" | "版本" | "的")
    {
        return Some(next.text.trim_start_matches(['v', 'V']).to_owned());
    }
    let behind = message[mention.end..].trim_start();
    let digits: String = behind.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let digits = digits.trim_end_matches('.');
    let after = behind[digits.len()..].chars().next();
    let ends = !after.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '%' | '个' | '年' | '天' | '次'));
    (!digits.is_empty() && ends && mention.kind != EntityKind::Platform).then(|| digits.to_owned())
}

fn name_without_version(name: &str, version: &str) -> String {
    name.strip_suffix(version).unwrap_or(name).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::vocabulary::NoVocabulary;
    use super::*;

    struct Titles;

    impl Vocabulary for Titles {
        fn idf(&self, _term: &str) -> Option<f32> {
            None
        }
        fn max_idf(&self) -> f32 {
            0.0
        }
        fn is_title(&self, phrase: &str) -> bool {
            ["故宫", "百雅轩798艺术中心", "teleport"].contains(&lowercase(phrase).as_str())
        }
    }

    #[test]
    fn names_come_from_their_form_the_lists_and_the_titles() {
        use EntityKind::{Identifier, Language, Name, Platform, Version};
        for (text, expected) in [
            ("How do I create a Python venv?", vec![("Python", Language), ("venv", Name)]),
            ("Haystack 是什么框架？", vec![("Haystack", Name)]),
            (
                "Does useFetch work in v3.4.1 on Windows 11?",
                vec![("useFetch", Identifier), ("v3.4.1", Version), ("Windows 11", Platform)],
            ),
            (
                "what does --no-cache do in `cargo build`?",
                vec![("--no-cache", Identifier), ("cargo build", Identifier)],
            ),
            ("Who led the Mothers of Invention in 1969?", vec![("Mothers of Invention", Name)]),
            ("对百雅轩798艺术中心有了解吗？", vec![("百雅轩798艺术中心", Name)]),
            ("故宫门票多少", vec![("故宫", Name)]),
            ("how do teleport targets work", vec![("teleport", Name)]),
            ("Can I go there in March?", vec![("March", Name)]),
            ("edit the file and/or folder", vec![]),
            ("go to c", vec![]),
            ("安卓上怎么装？", vec![("Android", Platform)]),
            ("Where is std::fs::read and this.$refs?", vec![("std::fs::read", Identifier), ("this.$refs", Identifier)]),
        ] {
            let found = mentions(text, &Titles);
            let found: Vec<_> = found.iter().map(|m| (m.text.as_str(), m.kind)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_readers_say_about_themselves_becomes_a_fact() {
        use FactKind::{Language, Platform, Tool, Version};
        for (text, expected) in [
            ("I'm on Windows, how do I install it?", vec![(Platform, None, "Windows")]),
            ("我用 Vue 2，怎么写插槽？", vec![(Version, Some("Vue"), "2")]),
            ("I use Vue 3.4 and TypeScript", vec![(Version, Some("Vue"), "3.4"), (Language, None, "TypeScript")]),
            ("We're running Postgres v16", vec![(Version, Some("Postgres"), "16")]),
            ("我在用 pnpm", vec![(Tool, None, "pnpm")]),
            ("在 Windows 上怎么装？", vec![(Platform, None, "Windows")]),
            ("how do I install it on Linux?", vec![(Platform, None, "Linux")]),
            ("我的电脑是 macOS", vec![(Platform, None, "macOS")]),
            ("What is new in Vue 3?", vec![]),
            ("Does it support Windows?", vec![]),
        ] {
            let (_, facts) = read(text, &NoVocabulary);
            let facts: Vec<_> = facts.iter().map(|f| (f.kind, f.subject.as_deref(), f.value.as_str())).collect();
            assert_eq!(facts, expected, "{text}");
        }
    }

    #[test]
    fn versions_and_identifiers_are_told_from_words() {
        for (word, version, identifier) in [
            ("3.4", true, false),
            ("v2", true, false),
            ("2.0.1-beta", true, false),
            ("2024", false, false),
            ("v-model", false, true),
            ("vite.config.ts", false, true),
            ("and/or", false, false),
            ("well-known", false, false),
            ("snake_case", false, true),
            ("e.g", false, false),
        ] {
            assert_eq!((is_version(word), is_identifier(word)), (version, identifier), "{word}");
        }
    }
}
