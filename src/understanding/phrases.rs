//! Finding and removing phrases: whole words in Latin script, plain substrings in Chinese.
//!
//! The follow-up kinds, the signals and the router all ask the same question: is anything left of the message when the
//! phrases of a kind and the courtesies around them are taken away? What is left is a topic of its own.

use crate::lowercase::lowercase;
use crate::order;
use crate::turn::is_han;

/// Lower case, full-width forms narrowed, curly apostrophes straightened, runs of spaces to one.
#[must_use]
pub(super) fn normalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = match c {
            '\u{FF01}'..='\u{FF5E}' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
            '\u{3000}' => ' ',
            '’' | '‘' => '\'',
            c => c,
        };
        if c.is_whitespace() {
            if !out.ends_with(' ') && !out.is_empty() {
                out.push(' ');
            }
        } else {
            out.push(c);
        }
    }
    lowercase(out.trim_end())
}

/// Byte offsets of `phrase` in the normalized `text`; Latin phrases only as whole words.
fn find(text: &str, phrase: &str, from: usize) -> Option<usize> {
    let joins = |c: char| (c.is_alphanumeric() && !is_han(c)) || c == '_' || c == '-' || c == '\'';
    let first_joins = phrase.chars().next().is_some_and(joins);
    let last_joins = phrase.chars().next_back().is_some_and(joins);
    let mut from = from;
    while let Some(at) = text[from..].find(phrase).map(|at| from + at) {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        let whole = !(first_joins && before.is_some_and(joins) || last_joins && after.is_some_and(joins));
        if whole {
            return Some(at);
        }
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
    }
    None
}

/// Whether the normalized text holds one of the phrases.
#[must_use]
pub(super) fn holds(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| find(text, phrase, 0).is_some())
}

/// The normalized text without the phrases of the lists, the longest taken first; letters and digits only, words parted by
/// one space.
#[must_use]
pub(super) fn strip(text: &str, lists: &[&[&str]]) -> String {
    let mut phrases: Vec<&str> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    order::sort_by(&mut phrases, |a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    phrases.dedup();
    let mut text = text.to_owned();
    for phrase in phrases {
        let mut from = 0;
        while let Some(at) = find(&text, phrase, from) {
            // A mark that is no letter keeps the neighbors apart and later phrases from matching across the gap.
            text.replace_range(at..at + phrase.len(), " · ");
            from = at + " · ".len();
        }
    }
    let kept: String =
        text.chars().map(|c| if c.is_alphanumeric() || "_$@+#<>".contains(c) { c } else { ' ' }).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_phrases_are_whole_words_and_chinese_ones_substrings() {
        for (text, phrase, expected) in [
            ("edit the file", "it", false),
            ("use it.", "it", true),
            ("什么是它的组件", "它", true),
            ("用hello组件", "hello", true),
            ("it's", "it", false),
            ("well-known", "known", false),
        ] {
            assert_eq!(holds(text, &[phrase]), expected, "{text}");
        }
    }

    #[test]
    fn what_is_left_is_the_topic() {
        assert_eq!(strip(&normalize("Thanks a lot!  Bye"), &[&["thanks", "bye", "a lot"]]), "");
        assert_eq!(strip("hello world 怎么写?", &[&["hello", "你好"]]), "world 怎么写");
        assert_eq!(strip("详细配置选项有哪些", &[&["详细"]]), "配置选项有哪些");
    }
}
