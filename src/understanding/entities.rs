//! What a message names, and what the reader says about themselves.

use super::vocabulary::Vocabulary;
use crate::dialogue::{Entity, EntityKind, ReaderFact};

/// The entities and the reader's facts of a message.
#[must_use]
pub fn read(message: &str, _vocabulary: &dyn Vocabulary) -> (Vec<Entity>, Vec<ReaderFact>) {
    let names = message.split_whitespace().skip(1).filter(|word| word.chars().next().is_some_and(char::is_uppercase));
    let entity = |word: &str| Entity {
        text: word.trim_end_matches(['?', '.', '!', ',']).to_owned(),
        kind: EntityKind::Name,
        turn: 0,
    };
    (names.map(entity).collect(), Vec::new())
}
