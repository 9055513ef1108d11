//! Whether a message chooses one of the offered items.

use serde::{Deserialize, Serialize};

use crate::dialogue::OfferedItem;

/// The chosen item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// Index in [`crate::dialogue::DialogueState::offered`], from 0.
    pub index: usize,
}

/// The item that `message` chooses; `None` where it chooses none.
#[must_use]
pub fn select(message: &str, offered: &[OfferedItem]) -> Option<Selection> {
    let said = message.trim().to_lowercase();
    let number = said.parse::<usize>().ok().filter(|n| (1..=offered.len()).contains(n));
    let by_title = || offered.iter().position(|item| item.offer.title.to_lowercase() == said);
    number.map(|n| n - 1).or_else(by_title).map(|index| Selection { index })
}
