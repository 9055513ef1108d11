//! Stand-alone questions in English.
//!
//! Three things keep a question from standing alone, tried in this order: it is a fragment ("and on Windows?", "why?"), it
//! holds a pronoun ("how do I delete it?"), or all its words are general ("what are the default settings?"). A fragment is
//! joined to the previous question, a pronoun is replaced by what it stands for, a general question gets the topic behind it.

use super::super::entities::{self, Mention, Word};
use super::super::follow_up::english_pronouns;
use super::super::lexicon::en;
use super::super::phrases::normalize;
use super::super::vocabulary::NoVocabulary;
use super::{Rewrite, Sources};
use crate::dialogue::EntityKind;
use crate::lowercase::lowercase;

/// Longest message that can be a fragment, in words.
const MAX_FRAGMENT_WORDS: usize = 8;
/// Longest answer that is taken as a name rather than as an explanation, in words.
const MAX_NAMING_ANSWER_WORDS: usize = 40;
/// User messages in which two things set side by side are looked for, newest first. Positive.
const PAIR_TURNS: usize = 4;
/// Longest phrase that stands in for a pronoun, in words; longer ones make the query unreadable.
const MAX_PHRASE_WORDS: usize = 7;

/// A message split into words, with their lower-case forms.
struct Parsed<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
    lower: Vec<String>,
}

impl<'a> Parsed<'a> {
    fn of(text: &'a str) -> Self {
        let words = entities::words(text);
        let lower = words.iter().map(|word| lowercase(word.text).replace('’', "'")).collect();
        Self { text, words, lower }
    }

    fn word(&self, at: usize) -> &str {
        self.lower.get(at).map_or("", String::as_str)
    }

    /// Text from word `from` to word `to` (exclusive), without the punctuation at the ends.
    fn span(&self, from: usize, to: usize) -> &'a str {
        match (self.words.get(from), self.words.get(to.wrapping_sub(1))) {
            (Some(first), Some(last)) if from < to => &self.text[first.start..last.end],
            _ => "",
        }
    }
}

/// Rewrites an English message; `None` where it stands alone.
pub(super) fn rewrite(message: &str, sources: &Sources<'_>) -> Option<Rewrite> {
    let parsed = Parsed::of(message);
    if parsed.words.is_empty() {
        return None;
    }
    fragment(&parsed, sources).or_else(|| pronouns(&parsed, sources)).or_else(|| general(&parsed, sources))
}

// Fragments.

/// "and on Windows?", "what about deleting it?", "why?", "compared to LangChain?"
fn fragment(parsed: &Parsed<'_>, sources: &Sources<'_>) -> Option<Rewrite> {
    let previous = sources.previous.trim().trim_end_matches(['?', '.', '!', ' ']);
    if previous.is_empty() || parsed.words.len() > MAX_FRAGMENT_WORDS {
        return None;
    }
    let n = parsed.words.len();
    if parsed.lower.iter().all(|word| en::EMPTY.contains(&word.as_str()) || word == "not" || word == "come") {
        let wh = matches!(parsed.word(0), "why" | "how" | "when" | "where" | "who" | "which" | "what");
        let bare = n <= 2 || n == 3 && parsed.word(0) == "and";
        if bare && (wh || parsed.word(0) == "and") {
            let said = lowercase(parsed.span(0, n));
            return Some(Rewrite::new(format!("{previous}, {said}?"), vec![previous.to_owned()], "elliptic"));
        }
    }
    let (skip, marked) = lead(parsed);
    if skip >= n {
        return None;
    }
    let rest = parsed.span(skip, n);
    let first = parsed.word(skip);
    if is_comparison(first, parsed.word(skip + 1)) {
        let subject = phrase_of(sources.previous).or_else(|| topic(sources))?;
        return Some(Rewrite::new(format!("{subject} {rest}?"), vec![subject], "comparison"));
    }
    if en::PREPOSITIONS.contains(&first) && n - skip <= 5 && !has_verb(parsed, skip) {
        return Some(join(previous, rest));
    }
    if !marked {
        return None;
    }
    if first.ends_with("ing") && first.len() > 4 && !is_common_ing(first) {
        // "what about deleting it?": the verb is new, its object is old.
        let object = phrase_of(sources.previous).or_else(|| topic(sources))?;
        let resolved = match english_pronouns(rest).first() {
            Some(_) => replace_pronouns(&Parsed::of(rest), &|_| Some(object.clone()))?.0,
            None if n - skip <= 2 && entities::mentions(rest, &NoVocabulary).is_empty() => format!("{rest} {object}"),
            None => return None,
        };
        let verb = format!("{} {resolved}", parsed.span(0, skip)).trim_start().to_owned();
        return Some(Rewrite::new(format!("{verb}?"), vec![object], "elliptic"));
    }
    if n - skip <= 4 && !has_verb(parsed, skip) && english_pronouns(rest).is_empty() {
        return Some(substitute(previous, rest));
    }
    None
}

/// How many words introduce a fragment, and whether one of them marks it as such.
fn lead(parsed: &Parsed<'_>) -> (usize, bool) {
    let mut at = 0;
    let mut marked = false;
    loop {
        let pair = (parsed.word(at), parsed.word(at + 1));
        match pair {
            ("what" | "how", "about") | ("what", "if") | ("same", "for") => {
                at += if pair == ("same", "for") { 1 } else { 2 };
                marked = true;
                if pair == ("what", "if") {
                    return (at, false);
                }
            }
            ("and" | "or" | "but" | "then" | "also" | "plus", _) => {
                at += 1;
                marked = true;
            }
            ("ok" | "okay" | "so" | "well" | "hmm" | "alright" | "yes" | "no" | "right" | "now", _) => at += 1,
            _ => return (at, marked),
        }
    }
}

fn is_comparison(first: &str, second: &str) -> bool {
    matches!(first, "vs" | "versus" | "vs.")
        || matches!((first, second), ("compared", "to" | "with") | ("in", "comparison"))
}

/// Whether a finite verb or a question frame stands behind `from`: then it is a sentence of its own.
fn has_verb(parsed: &Parsed<'_>, from: usize) -> bool {
    parsed.lower[from..].iter().any(|word| en::AUXILIARIES.contains(&word.as_str()))
}

fn is_common_ing(word: &str) -> bool {
    matches!(
        word,
        "thing" | "things" | "string" | "strings" | "during" | "anything" | "something" | "everything" | "nothing"
    )
}

/// The previous question with a prepositional phrase behind it; one of the same kind gives way: "on Linux" to "on Windows".
fn join(previous: &str, phrase: &str) -> Rewrite {
    let kept = match phrase.split_once(' ') {
        Some((preposition, object)) => {
            let new = entities::mentions(object, &NoVocabulary);
            let old = entities::mentions(previous, &NoVocabulary);
            let clash = old.iter().find(|old| {
                let before = previous[..old.start].trim_end();
                new.iter().any(|new| new.kind == old.kind && new.kind != EntityKind::Name)
                    && before.ends_with(&format!(" {preposition}"))
            });
            clash.map_or_else(
                || previous.to_owned(),
                |old| {
                    let before = previous[..old.start].trim_end();
                    let before = before.strip_suffix(preposition).unwrap_or(before);
                    format!("{}{}", before.trim_end(), &previous[old.end..])
                },
            )
        }
        None => previous.to_owned(),
    };
    Rewrite::new(format!("{kept} {phrase}?"), vec![kept], "elliptic")
}

/// The previous question with the new name in the place of the old one of the same kind, or with it behind.
fn substitute(previous: &str, rest: &str) -> Rewrite {
    let old = entities::mentions(previous, &NoVocabulary);
    let new = entities::mentions(rest, &NoVocabulary);
    let bare = rest.trim_start_matches("the ").trim_start_matches("a ");
    if let [new] = &new[..]
        && new.text.len() >= bare.len()
    {
        let same: Vec<&Mention> = old.iter().filter(|old| old.kind == new.kind).collect();
        if let [same] = same[..]
            && !same.text.eq_ignore_ascii_case(&new.text)
        {
            let text = format!("{}{}{}?", &previous[..same.start], new.text, &previous[same.end..]);
            return Rewrite::new(text, vec![previous.to_owned()], "elliptic");
        }
    }
    Rewrite::new(format!("{previous}, {rest}?"), vec![previous.to_owned()], "elliptic")
}

// Pronouns.

/// Replaces the pronouns that refer back.
fn pronouns(parsed: &Parsed<'_>, sources: &Sources<'_>) -> Option<Rewrite> {
    let own = entities::mentions(parsed.text, &NoVocabulary);
    let named = |kind: EntityKind| matches!(kind, EntityKind::Name | EntityKind::Identifier);
    let person = about_person(parsed, sources);
    let resolve = |at: usize| -> Option<String> {
        let start = parsed.words[at].start;
        // A name in front of the pronoun is what it stands for.
        if own.iter().any(|mention| mention.end <= start && named(mention.kind)) {
            return None;
        }
        let personal = matches!(parsed.word(at), "he" | "she" | "him" | "his" | "her" | "hers" | "former" | "latter");
        if is_bound(parsed, at, personal) {
            return None;
        }
        match parsed.word(at) {
            "he" | "she" | "him" | "his" | "her" | "hers" => person_of(sources),
            "they" | "them" | "their" | "theirs" | "they're" if person => None,
            "they" | "them" | "their" | "theirs" | "they're" => group(sources),
            "former" | "latter" => pair(sources).map(|(a, b)| if parsed.word(at) == "former" { a } else { b }),
            _ => thing(sources, person),
        }
    };
    let (text, carried) = replace_pronouns(parsed, &resolve)?;
    let text = completed(&text, sources);
    Some(Rewrite::new(text, carried, "pronoun"))
}

/// Whether a noun phrase of the message itself stands in front of the pronoun: "is the compost expensive, can I sell it?"
fn is_bound(parsed: &Parsed<'_>, at: usize, personal: bool) -> bool {
    const DETERMINERS: [&str; 9] = ["the", "a", "an", "my", "our", "your", "each", "every", "another"];
    !personal
        && parsed.word(at.wrapping_sub(1)) != "of"
        && (1..at).any(|i| {
            let word = parsed.word(i);
            let content = !en::is_common(word)
                && !is_general(word)
                && !en::STOPS.contains(&word)
                && !en::AUXILIARIES.contains(&word);
            content
                && (DETERMINERS.contains(&parsed.word(i - 1)) || i >= 2 && DETERMINERS.contains(&parsed.word(i - 2)))
        })
}

/// The text with each referent put in once, and what was put in; `None` where nothing could be resolved.
fn replace_pronouns(parsed: &Parsed<'_>, resolve: &dyn Fn(usize) -> Option<String>) -> Option<(String, Vec<String>)> {
    let starts = english_pronouns(parsed.text);
    let mut text = String::new();
    let mut from = 0;
    let mut carried: Vec<String> = Vec::new();
    for (at, word) in parsed.words.iter().enumerate() {
        if !starts.contains(&word.start) || word.start < from {
            continue;
        }
        let Some(name) = resolve(at) else { continue };
        // The second time the pronoun is clear from the first.
        if carried.contains(&name) {
            continue;
        }
        let lower = parsed.word(at);
        let next = parsed.word(at + 1);
        let follows = parsed.words.get(at + 1).is_some_and(|next| next.follows);
        let (mut start, mut end) = (word.start, word.end);
        let put = match lower {
            "his" | "their" | "its" => possessive(&name),
            "hers" | "theirs" => possessive(&name),
            "her" if follows && !en::FUNCTION_WORDS.contains(&next) => possessive(&name),
            "it's" | "that's" | "they're" => format!("{name} {}", if lower == "they're" { "are" } else { "is" }),
            "former" | "latter" => {
                start = parsed.words[at - 1].start;
                name.clone()
            }
            "this" | "that" if next == "one" => {
                end = parsed.words[at + 1].end;
                name.clone()
            }
            "this" | "that" | "these" | "those" if follows && is_noun_of(parsed, at) => {
                // "that option" → "the `ssr` option": the noun stays and gets its name.
                if lowercase(&name).contains(next) { name.clone() } else { format!("the {} ", without_article(&name)) }
            }
            _ => name.clone(),
        };
        if put.ends_with(' ') {
            end = parsed.words[at + 1].start;
        } else if matches!(lower, "this" | "that" | "these" | "those") && follows && is_noun_of(parsed, at) {
            end = parsed.words[at + 1].end;
        }
        text.push_str(&parsed.text[from..start]);
        text.push_str(&put);
        from = end;
        carried.push(name);
    }
    if carried.is_empty() {
        return None;
    }
    text.push_str(&parsed.text[from..]);
    Some((text, carried))
}

fn is_noun_of(parsed: &Parsed<'_>, at: usize) -> bool {
    let next = parsed.word(at + 1);
    !next.is_empty()
        && !en::AUXILIARIES.contains(&next)
        && !en::FUNCTION_WORDS.contains(&next)
        && !en::VERBS.contains(&next)
}

fn possessive(name: &str) -> String {
    if name.ends_with('s') { format!("{name}'") } else { format!("{name}'s") }
}

fn without_article(phrase: &str) -> &str {
    ["the ", "a ", "an "].iter().find_map(|article| phrase.strip_prefix(article)).unwrap_or(phrase)
}

/// Whether the conversation is about a person: somebody was "he" or "she" in it.
fn about_person(parsed: &Parsed<'_>, sources: &Sources<'_>) -> bool {
    let speaks = |lower: &[String]| lower.iter().any(|w| matches!(w.as_str(), "he" | "she" | "his" | "her" | "him"));
    speaks(&parsed.lower) || sources.asked.iter().any(|text| speaks(&Parsed::of(text).lower))
}

/// The title's name: what stands in front of a bracket or a dash.
fn title(sources: &Sources<'_>) -> Option<String> {
    let title = sources.titles.first()?;
    let name = title.split(" (").next().unwrap_or(title).trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The entity that was named last, else the title of the last search.
fn topic(sources: &Sources<'_>) -> Option<String> {
    let named = |kind: EntityKind| matches!(kind, EntityKind::Name | EntityKind::Identifier | EntityKind::Phrase);
    let entity = sources.entities.iter().rev().find(|entity| named(entity.kind)).map(|entity| entity.text.clone());
    let asked = || {
        sources.asked.iter().find_map(|text| {
            let found = entities::mentions(text, &NoVocabulary);
            found.into_iter().find(|mention| named(mention.kind)).map(|mention| mention.text)
        })
    };
    entity.or_else(asked).or_else(|| title(sources))
}

/// "he", "she": the person whom the last page is about, else a name with two parts that was said last.
fn person_of(sources: &Sources<'_>) -> Option<String> {
    let full_name = |text: &str| {
        let parts: Vec<&str> = text.split(' ').collect();
        (2..=4).contains(&parts.len()) && parts.iter().all(|part| part.chars().next().is_some_and(char::is_uppercase))
    };
    title(sources).or_else(|| {
        let said = sources.asked.iter().chain(sources.answers.iter());
        said.flat_map(|text| entities::mentions(text, &NoVocabulary).into_iter().rev())
            .find(|mention| mention.kind == EntityKind::Name && full_name(&mention.text))
            .map(|mention| mention.text)
    })
}

/// "they": what the previous question asked about, where it is several things; else the topic.
fn group(sources: &Sources<'_>) -> Option<String> {
    let plural = |phrase: &String| {
        let last = phrase.rsplit(' ').next().unwrap_or("");
        phrase.contains(" and ") || last.ends_with('s') && !last.ends_with("ss") && last.len() > 3
    };
    match phrase_of(sources.previous) {
        Some(phrase) if plural(&phrase) || sources.titles.is_empty() => Some(phrase),
        phrase => title(sources).or(phrase).or_else(|| topic(sources)),
    }
}

/// "it", "this", "that": the name that a short answer gave, else what the previous question was about.
fn thing(sources: &Sources<'_>, person: bool) -> Option<String> {
    let naming = sources.answers.first().filter(|answer| answer.split_whitespace().count() <= MAX_NAMING_ANSWER_WORDS);
    for text in naming.into_iter().chain(sources.asked.first()) {
        let found = entities::mentions(text, &NoVocabulary);
        if let Some(mention) = found.iter().rev().find(|mention| mention.quoted && mention.kind == EntityKind::Name) {
            return Some(mention.text.clone());
        }
    }
    let phrase = phrase_of(sources.previous);
    if person {
        return phrase.filter(|_| sources.titles.is_empty());
    }
    phrase.or_else(|| topic(sources))
}

/// The two things that the previous question or answer set side by side.
fn pair(sources: &Sources<'_>) -> Option<(String, String)> {
    for text in sources.asked.iter().take(PAIR_TURNS).chain(sources.answers.iter().take(1)) {
        let found: Vec<Mention> = entities::mentions(text, &NoVocabulary)
            .into_iter()
            .filter(|mention| matches!(mention.kind, EntityKind::Name | EntityKind::Identifier | EntityKind::Language))
            .collect();
        for two in found.windows(2) {
            let gap = text[two[0].end..two[1].start].trim();
            if matches!(gap, "or" | "and" | "vs" | "vs." | "versus" | "," | "with" | "to") {
                return Some((two[0].text.clone(), two[1].text.clone()));
            }
        }
    }
    None
}

/// A comparison that names one side only gets the other: "how does it compare?" has it already, "which is faster?" not.
fn completed(text: &str, sources: &Sources<'_>) -> String {
    let lower = lowercase(text);
    let compares = ["the difference", "which is better", "which is faster"].iter().any(|phrase| lower.contains(phrase));
    match pair(sources) {
        Some((a, b)) if compares && !lower.contains(&lowercase(&a)) && !lower.contains(&lowercase(&b)) => {
            format!("{} between {a} and {b}?", text.trim_end_matches(['?', ' ']))
        }
        _ => text.to_owned(),
    }
}

// General questions.

/// A question whose words are all general gets the topic behind it.
fn general(parsed: &Parsed<'_>, sources: &Sources<'_>) -> Option<Rewrite> {
    let refers = !english_pronouns(parsed.text).is_empty();
    if refers || !entities::mentions(parsed.text, &NoVocabulary).is_empty() || parsed.words.len() > 12 {
        return None;
    }
    let content: Vec<&String> = parsed.lower.iter().filter(|word| !en::is_common(word) && word.len() > 1).collect();
    let general = content.iter().all(|word| is_general(word) || en::COMPARING.contains(&word.as_str()));
    if !general {
        return None;
    }
    let subject = phrase_of(sources.previous).or_else(|| topic(sources))?;
    let bare = parsed.text.trim().trim_end_matches(['?', '.', '!', ' ']);
    if let Some((a, b)) =
        pair(sources).filter(|_| parsed.lower.iter().any(|word| en::COMPARING.contains(&word.as_str())))
    {
        return Some(Rewrite::new(format!("{bare}, {a} or {b}?"), vec![a, b], "comparison"));
    }
    let joint = if content.is_empty() { "about" } else { "for" };
    Some(Rewrite::new(format!("{bare} {joint} {subject}?"), vec![subject], "general"))
}

/// Whether a word is general in documentation, in the singular or the plural.
fn is_general(word: &str) -> bool {
    en::GENERAL.contains(&word) || word.strip_suffix('s').is_some_and(|stem| en::GENERAL.contains(&stem))
}

/// What a question is about: its object behind "how do I <verb>", its subject in front of the verb.
pub(super) fn phrase_of(question: &str) -> Option<String> {
    // The last sentence asks; what stands before it tells.
    let sentence = question.trim().trim_end_matches(['?', '.', '!', ' ']);
    let sentence = sentence.rsplit(['?', '!', '\n']).next().unwrap_or(sentence);
    let sentence = sentence.rsplit(". ").next().unwrap_or(sentence).trim();
    // "I'm on Postgres 16, how do I …": the clause behind the comma asks.
    let asks = |tail: &str| {
        let first = Parsed::of(tail).word(0).to_owned();
        let frames = en::FRAME.contains(&first.as_str()) || en::AUXILIARIES.contains(&first.as_str());
        frames && tail.split(' ').count() >= 3
    };
    let sentence = sentence.rsplit_once(", ").map(|(_, tail)| tail).filter(|tail| asks(tail)).unwrap_or(sentence);
    let parsed = Parsed::of(sentence);
    let mut at = 0;
    let mut wants_verb = false;
    let mut object = false;
    while at < parsed.words.len() {
        let word = parsed.word(at);
        if word == "to" && at > 0 || matches!(word, "i" | "you" | "we" | "one" | "me" | "us") {
            wants_verb = true;
            object |= word != "me" && word != "us";
        } else if !(en::FRAME.contains(&word) || en::AUXILIARIES.contains(&word)) {
            break;
        }
        at += 1;
    }
    if wants_verb
        && object
        && at < parsed.words.len()
        && entities::mentions(parsed.words[at].text, &NoVocabulary).is_empty()
    {
        at += 1;
        // Verbs of two words: "set up", "get rid of".
        while matches!(parsed.word(at), "up" | "out" | "off" | "down" | "rid" | "of" | "about" | "my" | "your" | "all")
        {
            at += 1;
        }
    }
    let start = at;
    let mut end = at;
    while end < parsed.words.len() {
        let word = parsed.word(end);
        let broken = end > start && !parsed.words[end].follows && !glued(&parsed, end);
        if broken
            || end > start
                && (en::STOPS.contains(&word) || en::VERBS.contains(&word) || en::AUXILIARIES.contains(&word))
        {
            break;
        }
        end += 1;
    }
    let mut phrase = without_article(parsed.span(start, end.min(start + MAX_PHRASE_WORDS))).trim().to_owned();
    // "a collection in Milvus": the name behind the preposition belongs to it.
    if matches!(parsed.word(end), "in" | "of" | "for") && !phrase.is_empty() {
        let behind = &sentence[parsed.words[end].end..];
        let mention = entities::mentions(behind, &NoVocabulary).into_iter().next();
        if let Some(mention) =
            mention.filter(|mention| mention.start <= " the ".len() && mention.kind != EntityKind::Platform)
        {
            phrase = format!("{phrase} {} {}", parsed.word(end), mention.text);
        }
    }
    let empty = Parsed::of(&phrase).lower.iter().all(|word| en::is_common(word) || en::EMPTY.contains(&word.as_str()));
    if !empty && is_nominal(&phrase) {
        return Some(phrase);
    }
    let named = |mention: &Mention| !matches!(mention.kind, EntityKind::Version | EntityKind::Platform);
    entities::mentions(sentence, &NoVocabulary).into_iter().find(named).map(|mention| mention.text)
}

/// Whether a phrase can stand for a thing: no pronoun in it, and no participle at its end without a name.
fn is_nominal(phrase: &str) -> bool {
    let parsed = Parsed::of(phrase);
    let spoken = [
        "me", "i", "i'm", "you", "we", "us", "it", "this", "that", "they", "he", "she", "any", "other", "anything",
        "else",
    ];
    let last = parsed.lower.last().map_or("", String::as_str);
    if en::STOPS.contains(&parsed.word(0)) {
        return false;
    }
    let named = !entities::mentions(phrase, &NoVocabulary).is_empty();
    !parsed.lower.iter().any(|word| spoken.contains(&word.as_str()))
        && (named || !(last.ends_with("ed") && parsed.lower.len() > 1))
}

/// Whether only a quotation mark or a bracket stands between two words.
fn glued(parsed: &Parsed<'_>, at: usize) -> bool {
    let gap = &parsed.text[parsed.words[at - 1].end..parsed.words[at].start];
    gap.chars().all(|c| matches!(c, '`' | '"' | '\'' | ' ' | '<' | '>'))
        && gap.chars().filter(|c| *c == ' ').count() <= 1
}

/// Whether a reply of an endpoint shares a content word with the question; where the question has none, any reply that is
/// `english` may be its rewrite.
pub(super) fn is_related(reply: &str, question: &str, english: bool) -> bool {
    let reply = normalize(reply);
    let text = normalize(question);
    let lower = Parsed::of(&text).lower;
    let mut wanted = lower.iter().filter(|word| word.len() > 2 && !en::is_common(word)).peekable();
    if wanted.peek().is_none() {
        return english;
    }
    // Five letters stand for the stem: "deleting" and "delete" are one word.
    wanted.any(|word| reply.contains(&word.chars().take(5).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_about_its_object_or_its_subject() {
        for (question, expected) in [
            ("How do I create a Python venv?", Some("Python venv")),
            ("What is Haystack?", Some("Haystack")),
            ("What does v-model expand to?", Some("v-model")),
            ("how to install milvus with docker compose", Some("milvus")),
            ("How do I delete a collection in Milvus?", Some("collection in Milvus")),
            ("Can I set up a reverse proxy?", Some("reverse proxy")),
            ("Does Pinia support SSR?", Some("Pinia")),
            ("I'm new here. How do I watch a ref?", Some("ref")),
            ("How does it work?", None),
            ("why?", None),
        ] {
            assert_eq!(phrase_of(question).as_deref(), expected, "{question}");
        }
    }
}
