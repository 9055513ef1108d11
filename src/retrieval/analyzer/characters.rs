//! What Unicode says of characters, as far as the analysis of texts needs it, in a table a tenth as large as those of
//! the crates that know all of it: it is part of what a reader downloads before the first answer.
//!
//! Input: characters and texts. Output: letters without their marks and compatibility forms, the pieces of scripts that
//! this crate knows nothing about, and sentences by the rules of UAX #29 (<https://unicode.org/reports/tr29/>).
//! The table is `characters.bin`; the tests make it from the crates `unicode-normalization` and `unicode-segmentation`
//! and compare every character and many texts with them.
//!
//! **Invariant:** the same characters give the same terms natively and in the page, whatever the compiler's own tables
//! say.

use std::sync::LazyLock;

/// Runs of equal characters, then the characters that fold to others; see [`Characters::read`].
static TABLE: &[u8] = include_bytes!("characters.bin");

static CHARACTERS: LazyLock<Characters> = LazyLock::new(|| Characters::read(TABLE));

/// The voiced and the half-voiced mark of kana, the only marks that make another letter.
const KANA_MARKS: [char; 2] = ['\u{3099}', '\u{309a}'];

/// How a character behaves at the borders of words, as far as letters, digits and marks go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum WordBreak {
    /// Stands alone.
    Other,
    /// Joins with letters and digits before and after it.
    Joined,
    /// Joins with other katakana.
    Katakana,
    /// Belongs to the character before it.
    Extend,
    /// As `Extend`, and is a combining mark, which folding leaves out.
    Mark,
}

/// How a character behaves at the borders of sentences: the property `Sentence_Break`, `Format` being `Extend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum SentenceBreak {
    Other,
    Extend,
    CarriageReturn,
    LineFeed,
    Separator,
    Space,
    Lower,
    Upper,
    Letter,
    Numeric,
    FullStop,
    Continue,
    Terminator,
    Close,
}

const WORD_BREAKS: [WordBreak; 5] =
    [WordBreak::Other, WordBreak::Joined, WordBreak::Katakana, WordBreak::Extend, WordBreak::Mark];

const SENTENCE_BREAKS: [SentenceBreak; 14] = [
    SentenceBreak::Other,
    SentenceBreak::Extend,
    SentenceBreak::CarriageReturn,
    SentenceBreak::LineFeed,
    SentenceBreak::Separator,
    SentenceBreak::Space,
    SentenceBreak::Lower,
    SentenceBreak::Upper,
    SentenceBreak::Letter,
    SentenceBreak::Numeric,
    SentenceBreak::FullStop,
    SentenceBreak::Continue,
    SentenceBreak::Terminator,
    SentenceBreak::Close,
];

/// Set in a class whose run alternates between this class and the same with [`SentenceBreak::Lower`]: capitals and
/// small letters stand side by side in many scripts.
const ALTERNATING: u8 = 0x80;

/// The table, unpacked.
#[derive(Debug, PartialEq)]
struct Characters {
    /// The first character of a run and the class of its characters, ascending.
    runs: Vec<(u32, u8)>,
    /// A character that folds to others, and where these begin in `targets`; ascending. The last entry is a sentinel.
    folds: Vec<(u32, u32)>,
    /// What characters fold to.
    targets: Vec<char>,
}

impl Characters {
    /// Unpacks a table: the number of runs, their lengths, their classes; the number of foldings, the distance of each to the
    /// character before it, how many targets each has, and each target as the difference to the last. Like beside like
    /// compresses best. All numbers have seven bits a byte, the low ones first; differences have their sign in the lowest bit.
    fn read(table: &[u8]) -> Self {
        let mut bytes = table.iter().copied();
        let mut number = || {
            let mut value = 0u32;
            let mut shift = 0;
            for byte in bytes.by_ref() {
                value |= u32::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            value
        };
        let mut start = 0;
        let mut runs = Vec::new();
        for _ in 0..number() {
            runs.push((start, 0));
            start += number();
        }
        for (_, class) in &mut runs {
            *class = number() as u8;
        }
        let mut from = 0;
        let mut folds = Vec::new();
        for _ in 0..number() {
            from += number();
            folds.push((from, 0));
        }
        let mut end = 0;
        for (_, start) in &mut folds {
            *start = end;
            end += number();
        }
        folds.push((u32::MAX, end));
        let mut target = 0i32;
        let mut targets = Vec::with_capacity(end as usize);
        for _ in 0..end {
            let difference = number();
            target += (difference >> 1) as i32 ^ -((difference & 1) as i32);
            targets.extend(char::from_u32(target as u32));
        }
        Self { runs, folds, targets }
    }

    fn class(&self, c: char) -> u8 {
        let c = u32::from(c);
        let after = self.runs.partition_point(|(start, _)| *start <= c);
        let Some((start, class)) = after.checked_sub(1).map(|at| self.runs[at]) else { return 0 };
        if class & ALTERNATING == 0 {
            class
        } else if (c - start).is_multiple_of(2) {
            class & !ALTERNATING
        } else {
            class & 0x70 | SentenceBreak::Lower as u8
        }
    }

    fn word_break(&self, c: char) -> WordBreak {
        let class = self.class(c) >> 4 & 7;
        WORD_BREAKS.get(usize::from(class)).copied().unwrap_or(WordBreak::Other)
    }

    fn sentence_break(&self, c: char) -> SentenceBreak {
        SENTENCE_BREAKS.get(usize::from(self.class(c) & 15)).copied().unwrap_or(SentenceBreak::Other)
    }

    /// What a character folds to; `None` for itself.
    fn targets(&self, c: char) -> Option<&[char]> {
        let at = self.folds.binary_search_by_key(&u32::from(c), |(from, _)| *from).ok()?;
        let (start, end) = (self.folds[at].1, self.folds.get(at + 1)?.1);
        self.targets.get(start as usize..end as usize)
    }
}

/// Whether a character is a combining mark: of the general category M.
#[must_use]
pub(crate) fn is_combining_mark(c: char) -> bool {
    !c.is_ascii() && CHARACTERS.word_break(c) == WordBreak::Mark
}

/// The text in compatibility form without marks, but for those of kana: NFKC of what NFKD gives when its marks are left
/// out. Letters keep their case.
pub(super) fn without_marks(text: &str) -> String {
    let characters = &*CHARACTERS;
    let mut out = String::with_capacity(text.len());
    let mut last = None;
    let mut push = |c: char| match last.and_then(|last| compose(last, c)) {
        Some(composed) => {
            out.pop();
            out.push(composed);
            last = Some(composed);
        }
        None => {
            out.push(c);
            last = Some(c);
        }
    };
    for c in text.chars() {
        if c.is_ascii() {
            push(c);
        } else if let Some(targets) = characters.targets(c) {
            targets.iter().copied().for_each(&mut push);
        } else if KANA_MARKS.contains(&c) || characters.word_break(c) != WordBreak::Mark {
            push(c);
        }
    }
    out
}

/// The one character that two make: a kana and its mark, or the parts of a Hangul syllable.
fn compose(a: char, b: char) -> Option<char> {
    const SYLLABLES: u32 = 0xac00;
    const LEADING: u32 = 0x1100;
    const VOWELS: u32 = 0x1161;
    const TRAILING: u32 = 0x11a7;
    let (code, next) = (u32::from(a), u32::from(b));
    let composed = match next {
        0x3099 => match a {
            'う' => u32::from('ゔ'),
            'ウ' => u32::from('ヴ'),
            'ワ'..='ヲ' => code + 8,
            // Plain and voiced kana stand in pairs, in one part of a row with the even and in one with the odd code.
            'か'..='ぢ' | 'カ'..='ヂ' | 'ゝ' | 'ヽ' if !code.is_multiple_of(2) => code + 1,
            'つ'..='ど' | 'ツ'..='ド' if code.is_multiple_of(2) => code + 1,
            'は' | 'ひ' | 'ふ' | 'へ' | 'ほ' | 'ハ' | 'ヒ' | 'フ' | 'ヘ' | 'ホ' => code + 1,
            _ => return None,
        },
        0x309a => match a {
            'は' | 'ひ' | 'ふ' | 'へ' | 'ほ' | 'ハ' | 'ヒ' | 'フ' | 'ヘ' | 'ホ' => code + 2,
            _ => return None,
        },
        VOWELS..=0x1175 if (LEADING..=0x1112).contains(&code) => {
            SYLLABLES + ((code - LEADING) * 21 + (next - VOWELS)) * 28
        }
        0x11a8..=0x11c2 if (SYLLABLES..=0xd7a3).contains(&code) && (code - SYLLABLES).is_multiple_of(28) => {
            code + (next - TRAILING)
        }
        _ => return None,
    };
    char::from_u32(composed)
}

/// The words of a run of letters, digits and marks by the rules of UAX #29, each with its byte offset.
pub(super) fn words(run: &str) -> Vec<(usize, &str)> {
    let characters = &*CHARACTERS;
    let mut words = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, c) in run.char_indices() {
        let class = characters.word_break(c);
        let joins = match (before, class) {
            (None, _) | (_, WordBreak::Extend | WordBreak::Mark) => true,
            (Some(before), class) => before == class && matches!(class, WordBreak::Joined | WordBreak::Katakana),
        };
        if !joins {
            words.push((start, &run[start..at]));
            start = at;
        }
        if before.is_none() || !matches!(class, WordBreak::Extend | WordBreak::Mark) {
            before = Some(class);
        }
    }
    words.push((start, &run[start..]));
    words.retain(|(_, word)| word.contains(char::is_alphanumeric));
    words
}

/// What stands before the next character, as far as sentences go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing that matters.
    Other,
    /// A capital or a small letter.
    Cased,
    /// A carriage return.
    CarriageReturn,
    /// Another end of a paragraph.
    Paragraph,
    /// The end of a sentence, perhaps.
    Terminator {
        /// It is a full stop, which may as well belong to a number or an abbreviation.
        full_stop: bool,
        /// It stands behind a letter that has a case.
        after_cased: bool,
        /// What stands behind it: 0 nothing, 1 closing marks, 2 spaces.
        tail: u8,
    },
}

/// The sentences of a text by the rules of UAX #29, each with its byte offset; joined, they are the text.
pub(crate) fn sentences(text: &str) -> Vec<(usize, &str)> {
    use SentenceBreak as Break;
    let characters = &*CHARACTERS;
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut before = Before::Other;
    // The position up to which `next_is_lower` holds, so that looking ahead stays linear.
    let mut known_to = 0;
    let mut next_is_lower = false;
    for (at, c) in text.char_indices() {
        let class = characters.sentence_break(c);
        let paragraph = matches!(class, Break::Separator | Break::CarriageReturn | Break::LineFeed);
        let breaks = match before {
            // SB3, SB4
            Before::CarriageReturn => class != Break::LineFeed,
            Before::Paragraph => true,
            // SB5
            _ if class == Break::Extend => continue,
            Before::Terminator { full_stop, after_cased, tail } => {
                // SB8: what decides is the next letter or end of a sentence.
                if full_stop && at >= known_to {
                    let decides = |(_, c): &(usize, char)| {
                        matches!(
                            characters.sentence_break(*c),
                            Break::Letter
                                | Break::Upper
                                | Break::Lower
                                | Break::Separator
                                | Break::CarriageReturn
                                | Break::LineFeed
                                | Break::Terminator
                                | Break::FullStop
                        )
                    };
                    let next = text[at..].char_indices().find(decides);
                    known_to = next.map_or(text.len(), |(offset, c)| at + offset + c.len_utf8());
                    next_is_lower = next.is_some_and(|(_, c)| characters.sentence_break(c) == Break::Lower);
                }
                let continues = match class {
                    // SB6, SB7
                    Break::Numeric if full_stop && tail == 0 => true,
                    Break::Upper if full_stop && tail == 0 && after_cased => true,
                    _ if full_stop && next_is_lower => true,
                    // SB8a
                    Break::Continue | Break::Terminator | Break::FullStop => true,
                    // SB9, SB10
                    Break::Close => tail < 2,
                    Break::Space => true,
                    _ => paragraph,
                };
                // SB11
                !continues
            }
            Before::Other | Before::Cased => false,
        };
        if breaks {
            sentences.push((start, &text[start..at]));
            start = at;
            if class == Break::Extend {
                before = Before::Other;
                continue;
            }
        }
        before = match (class, before) {
            (Break::CarriageReturn, _) => Before::CarriageReturn,
            (Break::LineFeed | Break::Separator, _) => Before::Paragraph,
            (Break::Lower | Break::Upper, _) => Before::Cased,
            (Break::FullStop, before) => {
                Before::Terminator { full_stop: true, after_cased: before == Before::Cased, tail: 0 }
            }
            (Break::Terminator, _) => Before::Terminator { full_stop: false, after_cased: false, tail: 0 },
            (Break::Close, Before::Terminator { full_stop, after_cased, tail: 0 | 1 }) => {
                Before::Terminator { full_stop, after_cased, tail: 1 }
            }
            (Break::Space, Before::Terminator { full_stop, after_cased, .. }) => {
                Before::Terminator { full_stop, after_cased, tail: 2 }
            }
            _ => Before::Other,
        };
    }
    if start < text.len() {
        sentences.push((start, &text[start..]));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    /// All characters but those of planes without any and for private use.
    fn all() -> impl Iterator<Item = char> {
        (0..0x3_4000).chain(0xe_0000..0xe_0200).filter_map(char::from_u32)
    }

    /// What [`without_marks`] has to give.
    fn reference(text: &str) -> String {
        let is_mark = unicode_normalization::char::is_combining_mark;
        text.nfkd().filter(|c| !is_mark(*c) || KANA_MARKS.contains(c)).nfc().collect()
    }

    fn word_break(c: char) -> WordBreak {
        let joins = |before: &str| format!("{before}{c}").split_word_bounds().count() == 1;
        if unicode_normalization::char::is_combining_mark(c) {
            WordBreak::Mark
        } else if joins("、") {
            WordBreak::Extend
        } else if joins("ア") && joins("a") {
            // Connectors such as `_`, which no run of letters holds.
            WordBreak::Other
        } else if joins("ア") {
            WordBreak::Katakana
        } else if joins("a") && c.is_alphanumeric() {
            WordBreak::Joined
        } else {
            WordBreak::Other
        }
    }

    /// How often texts with `c` in them break; two characters of a class never differ.
    fn behavior(c: char) -> Vec<usize> {
        [
            "a{}", "A.{}", "a.{}", "0.{}", "!{}", "!{}B", ".{} b", ". {}", ". {}b", "{} B", "A{}B", "a{}.B", "\r{}",
            "!{}(", "! {}",
        ]
        .map(|template| template.replace("{}", c.encode_utf8(&mut [0; 4])).split_sentence_bounds().count())
        .to_vec()
    }

    fn sentence_break(c: char, known: &[(Vec<usize>, SentenceBreak)]) -> SentenceBreak {
        match c {
            '\r' => SentenceBreak::CarriageReturn,
            '\n' => SentenceBreak::LineFeed,
            _ => {
                let behavior = behavior(c);
                known.iter().find(|(known, _)| *known == behavior).expect("a class behaves like this").1
            }
        }
    }

    fn known_behavior() -> Vec<(Vec<usize>, SentenceBreak)> {
        use SentenceBreak as Break;
        let known = [
            ('%', Break::Other),
            ('\u{301}', Break::Extend),
            ('\u{85}', Break::Separator),
            (' ', Break::Space),
            ('a', Break::Lower),
            ('A', Break::Upper),
            ('中', Break::Letter),
            ('0', Break::Numeric),
            ('.', Break::FullStop),
            (',', Break::Continue),
            ('!', Break::Terminator),
            ('(', Break::Close),
        ]
        .map(|(c, class)| (behavior(c), class));
        for (i, (a, _)) in known.iter().enumerate() {
            assert!(known[i + 1..].iter().all(|(b, _)| a != b), "two classes cannot be told apart");
        }
        known.to_vec()
    }

    fn put(out: &mut Vec<u8>, mut value: u32) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    /// The table as the two crates know it.
    fn made() -> Vec<u8> {
        let known = known_behavior();
        let lower = SentenceBreak::Lower as u8;
        let mut runs: Vec<(u32, u8)> = Vec::new();
        for c in all() {
            let class = (word_break(c) as u8) << 4 | sentence_break(c, &known) as u8;
            let code = u32::from(c);
            let Some(&mut (start, ref mut last)) = runs.last_mut() else {
                runs.push((code, class));
                continue;
            };
            let even = (code - start).is_multiple_of(2);
            let expected = match *last & ALTERNATING != 0 {
                true if !even => *last & 0x70 | lower,
                _ => *last & !ALTERNATING,
            };
            if class != expected {
                // A run of one capital becomes one that alternates.
                if code - start == 1 && *last & 15 == SentenceBreak::Upper as u8 && class == *last & 0x70 | lower {
                    *last |= ALTERNATING;
                } else {
                    runs.push((code, class));
                }
            }
        }
        let mut out = Vec::new();
        put(&mut out, runs.len() as u32);
        for (i, (start, _)) in runs.iter().enumerate() {
            put(&mut out, runs.get(i + 1).map_or(1, |next| next.0 - start));
        }
        for (_, class) in &runs {
            put(&mut out, u32::from(*class));
        }
        let folds: Vec<(char, String)> = all()
            .filter(|c| !unicode_normalization::char::is_combining_mark(*c))
            .map(|c| (c, reference(c.encode_utf8(&mut [0; 4]))))
            .filter(|(c, folded)| !folded.chars().eq([*c]))
            .collect();
        put(&mut out, folds.len() as u32);
        let mut from = 0;
        for (c, _) in &folds {
            put(&mut out, u32::from(*c) - from);
            from = u32::from(*c);
        }
        for (_, folded) in &folds {
            put(&mut out, folded.chars().count() as u32);
        }
        let mut target = 0i32;
        for c in folds.iter().flat_map(|(_, folded)| folded.chars()) {
            let difference = u32::from(c) as i32 - target;
            put(&mut out, (difference << 1 ^ difference >> 31) as u32);
            target = u32::from(c) as i32;
        }
        out
    }

    /// With `DOCENT_WRITE_TABLES` set the table is written anew, after an update of the two crates.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test writes the table into this machine's sources")]
    fn the_table_is_what_the_crates_say() {
        let made = made();
        if std::env::var_os("DOCENT_WRITE_TABLES").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/retrieval/analyzer/characters.bin");
            std::fs::write(path, &made).unwrap();
        }
        assert!(made == TABLE, "run this test with DOCENT_WRITE_TABLES=1 and read the changes");
    }

    #[test]
    fn every_character_folds_as_the_crate_says() {
        for c in all() {
            let text = String::from(c);
            assert_eq!(without_marks(&text), reference(&text), "{c:?}");
            for mark in KANA_MARKS {
                if ('\u{3000}'..'\u{3400}').contains(&c) {
                    let text = String::from_iter([c, mark]);
                    assert_eq!(without_marks(&text), reference(&text), "{text:?}");
                }
            }
        }
    }

    /// Characters of all kinds, the interesting ones more often.
    fn character() -> impl Strategy<Value = char> {
        prop_oneof![
            3 => proptest::sample::select(". !?。！)(\"' \r\n,;:aA0bZ\u{301}\u{2028}\u{ad}“”[]1é中ア\u{3099}".chars().collect::<Vec<_>>()),
            1 => any::<char>(),
            1 => proptest::sample::select(all().collect::<Vec<_>>()),
            1 => proptest::char::range('\u{1100}', '\u{11ff}'),
            1 => proptest::char::range('\u{ac00}', '\u{d7af}'),
            1 => proptest::char::range('\u{3040}', '\u{30ff}'),
        ]
    }

    fn text() -> impl Strategy<Value = String> {
        proptest::collection::vec(character(), 0..24).prop_map(String::from_iter)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn texts_fold_as_the_crate_says(text in text()) {
            prop_assert_eq!(without_marks(&text), reference(&text));
        }

        #[test]
        fn sentences_are_those_of_the_crate(text in text()) {
            let expected: Vec<(usize, &str)> = text.split_sentence_bound_indices().collect();
            prop_assert_eq!(sentences(&text), expected);
        }

        #[test]
        fn words_of_letters_and_marks_are_those_of_the_crate(text in text()) {
            // Not the marks that are too new for one of the crates.
            let is_inner = |c: &char| match CHARACTERS.word_break(*c) {
                WordBreak::Mark => format!("、{c}").split_word_bounds().count() == 1,
                _ => c.is_alphanumeric(),
            };
            let run: String = text.chars().filter(is_inner).collect();
            if !run.is_empty() {
                let expected: Vec<(usize, &str)> = run.unicode_word_indices().collect();
                prop_assert_eq!(words(&run), expected);
            }
        }
    }

    #[test]
    fn looking_ahead_is_linear() {
        assert_eq!(sentences(&". ".repeat(200_000)).len(), 1);
        assert_eq!(sentences(&".)1".repeat(100_000)).len(), 100_001);
    }
}
