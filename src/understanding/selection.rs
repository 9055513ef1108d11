//! Whether a message chooses one of the offered items: by ordinal, by number, as the former or the latter, or by its title.
//!
//! Input: the message and the items in the order in which the reader saw them. Output: the index of the chosen one.
//! **Invariant:** a message that says more than the choice chooses nothing: "第一个参数是什么？" asks about a parameter.

use serde::{Deserialize, Serialize};

use super::lexicon::{en, zh};
use super::phrases::{holds, normalize, strip};
use crate::dialogue::OfferedItem;
use crate::turn::is_han;

/// The chosen item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// Index in [`crate::dialogue::DialogueState::offered`], from 0.
    pub index: usize,
}

/// The item that `message` chooses; `None` where it chooses none, several, or one that was not offered.
#[must_use]
pub fn select(message: &str, offered: &[OfferedItem]) -> Option<Selection> {
    let text = normalize(message);
    let titles: Vec<String> = offered.iter().map(|item| normalize(&item.offer.title)).collect();
    let index = match position(&text) {
        Some(Position::FromStart(n)) => (n < offered.len()).then_some(n),
        Some(Position::Last) => offered.len().checked_sub(1),
        None => by_title(&text, &titles),
    };
    index.map(|index| Selection { index })
}

/// Whether the message is a choice by position, whatever was offered: "第一个", "2", "the latter".
#[must_use]
pub fn is_position(message: &str) -> bool {
    position(&normalize(message)).is_some()
}

enum Position {
    FromStart(usize),
    Last,
}

fn position(text: &str) -> Option<Position> {
    // "the first" and "第一个": once the ordinal is taken away, only words of choosing may be left.
    let only = |taken: &[&str]| strip(text, &[taken, &en::CHOICE_FILLER, &zh::CHOICE_FILLER]).is_empty();
    for (word, place) in [
        ("前者", Position::FromStart(0)),
        ("the former", Position::FromStart(0)),
        ("former", Position::FromStart(0)),
        ("后者", Position::Last),
        ("the latter", Position::Last),
        ("latter", Position::Last),
        ("最后一个", Position::Last),
        ("最后那个", Position::Last),
        ("最后", Position::Last),
        ("last", Position::Last),
    ] {
        if holds(text, &[word]) && only(&[word]) {
            return Some(place);
        }
    }
    for (at, forms) in en::ORDINALS.iter().enumerate().rev() {
        let number = zh::NUMBERS[at];
        let figure = forms[3];
        let chinese = [
            format!("第{number}"),
            format!("第{figure}"),
            format!("选{number}"),
            format!("{number}号"),
            format!("选项{number}"),
            // Counted things take 两 for 二.
            if at == 1 { "选两".to_owned() } else { format!("第 {figure}") },
        ];
        let mut taken: Vec<&str> = chinese.iter().map(String::as_str).collect();
        // "one" is a filler of "the second one" as well: it chooses only where it stands alone or behind "number".
        let word_alone =
            |word: &str| text == word || ["number ", "option "].iter().any(|front| text == format!("{front}{word}"));
        let english = holds(text, &forms[..2]) || word_alone(forms[2]) || holds(text, &[figure]);
        if english {
            taken.extend(forms);
        }
        if (english || holds(text, &taken)) && only(&taken) {
            return Some(Position::FromStart(at));
        }
        if text == number {
            return Some(Position::FromStart(at));
        }
    }
    None
}

/// By the whole title, or by a part of it that no other title has.
fn by_title(text: &str, titles: &[String]) -> Option<usize> {
    let said = strip(text, &[]);
    if let Some(at) = titles.iter().position(|title| strip(title, &[]) == said && !said.is_empty()) {
        return Some(at);
    }
    let choice = strip(text, &[&en::CHOICE_FILLER, &zh::CHOICE_FILLER]);
    let clear = |part: &str| {
        let han = part.chars().filter(|c| is_han(*c)).count();
        han >= 2 || part.chars().filter(|c| c.is_ascii_alphabetic()).count() >= 3
    };
    let asks = text.ends_with('?') || text.ends_with('吗') || text.ends_with('呢');
    let unique = |matches: Vec<usize>| if matches.len() == 1 { matches.first().copied() } else { None };
    if !choice.is_empty() && clear(&choice) && !asks {
        // Every word of the choice stands in the title, in the same order.
        let holds_part = |title: &String| {
            let bare = strip(title, &[&zh::CHOICE_FILLER[..2]]);
            holds(&bare, &[choice.as_str()]) || holds(title, &[choice.as_str()])
        };
        let part = unique((0..titles.len()).filter(|at| holds_part(&titles[*at])).collect());
        if part.is_some() {
            return part;
        }
    }
    // A title inside a message that says nothing else: "the installation guide please".
    let named = |title: &String| {
        !title.is_empty() && clear(title) && {
            let rest = strip(text, &[&[title.as_str()], &en::CHOICE_FILLER, &zh::CHOICE_FILLER]);
            rest.is_empty() && holds(text, &[title.as_str()])
        }
    };
    unique((0..titles.len()).filter(|at| named(&titles[*at])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialogue::OfferKind;
    use crate::turn::Offer;

    fn offered(titles: &[&str]) -> Vec<OfferedItem> {
        let offer =
            |title: &&str| Offer { id: (*title).into(), title: (*title).into(), url: None, reason: String::new() };
        titles
            .iter()
            .map(|title| OfferedItem { offer: offer(title), kind: OfferKind::Option, question: String::new() })
            .collect()
    }

    fn check(titles: &[&str], cases: &[(&str, Option<usize>)]) {
        for (message, expected) in cases {
            assert_eq!(select(message, &offered(titles)).map(|s| s.index), *expected, "{message}");
        }
    }

    #[test]
    fn items_are_chosen_in_english() {
        check(
            &["Install with pip", "Install with Docker", "Upgrade from 1.x"],
            &[
                ("2", Some(1)),
                ("#3", Some(2)),
                ("2.", Some(1)),
                ("option 1", Some(0)),
                ("the second one", Some(1)),
                ("the first", Some(0)),
                ("First, please", Some(0)),
                ("I'd take the 3rd", Some(2)),
                ("number two", Some(1)),
                ("the former", Some(0)),
                ("the last one", Some(2)),
                ("Docker", Some(1)),
                ("install with docker", Some(1)),
                ("upgrade from 1.x please", Some(2)),
                ("install", None),
                ("4", None),
                ("How do I remove the first element?", None),
                ("What does Docker do?", None),
                ("one", Some(0)),
                ("two commits", None),
            ],
        );
    }

    #[test]
    fn items_are_chosen_in_chinese() {
        check(
            &["Python 虚拟环境", "pip 换源加速", "spaCy 分词"],
            &[
                ("第一个", Some(0)),
                ("第2个", Some(1)),
                ("我想看第三个", Some(2)),
                ("二", Some(1)),
                ("2", Some(1)),
                ("选一", Some(0)),
                ("第二个吧", Some(1)),
                ("前者", Some(0)),
                ("后者", Some(2)),
                ("最后一个", Some(2)),
                ("虚拟环境", Some(0)),
                ("换源加速那个", Some(1)),
                ("第一个参数是什么意思？", None),
                ("第五个", None),
                ("怎么分词", None),
                ("十", None),
            ],
        );
    }

    #[test]
    fn nothing_is_chosen_where_nothing_was_offered() {
        check(&[], &[("第一个", None), ("2", None), ("the latter", None), ("", None)]);
        assert!(is_position("第一个") && is_position("the latter") && !is_position("第一个参数"));
    }
}
