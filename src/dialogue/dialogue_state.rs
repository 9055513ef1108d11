//! The state of the dialogue: what it is about, what was offered, how it goes.
//!
//! Input: the findings of each turn, written by the agent. Output: the facts that understanding, relevance and policy read.
//! **Invariant:** no messages here; the history of (role, content) is [`super::ConversationMemory`], which owns this state,
//! saves it and clears it together with the messages.

use serde::{Deserialize, Serialize};

use crate::turn::{Action, FollowUpKind, Intent, Offer, Passage};

/// How many entities a topic keeps; older ones are the first to go. Positive, at most a few dozen.
const MAX_ENTITIES: usize = 16;
/// How many facts about the reader a session keeps. Positive.
const MAX_FACTS: usize = 12;
/// How many titles of the last search are kept for rewriting and selection. Positive.
const MAX_TITLES: usize = 5;

/// What kind of thing an entity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// A product, library, organization, place or person: anything with a name.
    Name,
    /// Something written as code: `useFetch`, `--flag`, `std::fs::read`.
    Identifier,
    /// A version: `3.4`, `v2`, `Vue 2`.
    Version,
    /// An operating system, browser, device or host.
    Platform,
    /// A programming language.
    Language,
    /// The noun phrase that a question is about, where it has no name.
    Phrase,
}

/// Something that the conversation is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entity {
    /// As the speaker wrote it.
    pub text: String,
    /// What it is.
    pub kind: EntityKind,
    /// The turn in which it was last named, as [`DialogueState::turn_count`] counted then.
    pub turn: u32,
}

/// What a reader says about themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactKind {
    /// The system they work on.
    Platform,
    /// The version they use; `subject` names the product when they said it.
    Version,
    /// The programming language they write.
    Language,
    /// Another tool or product they use.
    Tool,
}

/// A fact about the reader, used as a soft filter for the rest of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReaderFact {
    /// What kind of fact.
    pub kind: FactKind,
    /// What it is about: `Vue` in "我用 Vue 2". `None` where only the value was said.
    pub subject: Option<String>,
    /// The value: `Windows`, `2`, `TypeScript`.
    pub value: String,
}

/// What the conversation is about now.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Topic {
    /// The last stand-alone query that was searched; empty before the first.
    pub query: String,
    /// What was named, the most recent last.
    pub entities: Vec<Entity>,
    /// Titles of the pages that the last search returned, best first.
    pub titles: Vec<String>,
    /// Answered turns on this topic in a row.
    pub answered_turns: u32,
}

/// Whether an offered item goes beyond the answer or chooses between readings of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferKind {
    /// A related page.
    Suggestion,
    /// A choice of a clarifying question.
    Option,
}

/// An item that the reader may choose by number, by "the former", or by its title.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OfferedItem {
    /// What the reader saw.
    pub offer: Offer,
    /// What kind of offer.
    pub kind: OfferKind,
    /// The stand-alone question that was open when it was offered: a chosen option continues it. Empty where there was none.
    pub question: String,
}

/// The last reply that was generated, with what it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LastGeneration {
    /// The reader's message as it was typed.
    pub question: String,
    /// The stand-alone query that was searched.
    pub query: String,
    /// The reply, trimmed; what had arrived when `partial`.
    pub text: String,
    /// True when the stream broke or was stopped.
    pub partial: bool,
    /// The kind, when the reply was itself a follow-up.
    pub follow_up: Option<FollowUpKind>,
    /// The passages that the reply was made from.
    pub passages: Vec<Passage>,
}

/// The state of the dialogue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DialogueState {
    /// Id of the session: chosen by the host, the seed of message ids and template choices.
    pub session_id: String,
    /// Intent of the last message.
    pub intent: Option<Intent>,
    /// Confidence of that intent, 0..=1.
    pub intent_confidence: f32,
    /// Documents that a reply showed, in order of their first mention.
    pub mentioned_documents: Vec<String>,
    /// The items of the latest offer, in the order in which the reader saw them.
    pub offered: Vec<OfferedItem>,
    /// Every document that was ever offered in this session.
    pub offered_documents: Vec<String>,
    /// Turns in a row that did not help, 0 and up.
    pub confusion: u32,
    /// Replies of the agent, 0 and up.
    pub turn_count: u32,
    /// What the conversation is about.
    pub topic: Topic,
    /// What the reader said about themselves.
    pub reader: Vec<ReaderFact>,
    /// What the agent did last.
    pub last_action: Option<Action>,
    /// The last reply that was generated.
    pub last_generation: Option<LastGeneration>,
}

impl DialogueState {
    /// An empty state of a session.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), ..Self::default() }
    }

    /// Forgets everything but the session's id.
    pub fn clear(&mut self) {
        *self = Self::new(std::mem::take(&mut self.session_id));
    }

    /// Notes documents that a reply showed; each is kept once.
    pub fn mention<'a>(&mut self, documents: impl IntoIterator<Item = &'a str>) {
        for document in documents {
            if !self.mentioned_documents.iter().any(|known| known == document) {
                self.mentioned_documents.push(document.to_owned());
            }
        }
    }

    /// Replaces the latest offer and remembers the offered documents. An empty list withdraws the offer.
    pub fn offer(&mut self, items: Vec<OfferedItem>) {
        for item in &items {
            if !self.offered_documents.contains(&item.offer.id) {
                self.offered_documents.push(item.offer.id.clone());
            }
        }
        self.offered = items;
    }

    /// Notes what a message named. Something named again moves to the end; the oldest go when there are too many.
    pub fn note_entities(&mut self, entities: &[Entity]) {
        for entity in entities {
            self.topic.entities.retain(|known| !known.text.eq_ignore_ascii_case(&entity.text));
            self.topic.entities.push(Entity { turn: self.turn_count, ..entity.clone() });
        }
        let surplus = self.topic.entities.len().saturating_sub(MAX_ENTITIES);
        self.topic.entities.drain(..surplus);
    }

    /// Notes facts about the reader. A new value for the same kind and subject replaces the old one.
    pub fn note_reader(&mut self, facts: &[ReaderFact]) {
        for fact in facts {
            self.reader.retain(|known| {
                let same_subject = match (&known.subject, &fact.subject) {
                    (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
                    (None, None) => fact.kind != FactKind::Tool || known.value.eq_ignore_ascii_case(&fact.value),
                    _ => false,
                };
                known.kind != fact.kind || !same_subject
            });
            self.reader.push(fact.clone());
        }
        let surplus = self.reader.len().saturating_sub(MAX_FACTS);
        self.reader.drain(..surplus);
    }

    /// Notes a search: its stand-alone query and the titles it found, best first. A new topic drops the older entities
    /// and starts the count of answered turns again.
    pub fn note_search<'a>(&mut self, query: &str, titles: impl IntoIterator<Item = &'a str>, new_topic: bool) {
        if new_topic {
            let turn = self.turn_count;
            self.topic.entities.retain(|entity| entity.turn == turn);
            self.topic.answered_turns = 0;
        }
        self.topic.query = query.to_owned();
        let mut kept: Vec<String> = Vec::new();
        for title in titles {
            if kept.len() < MAX_TITLES && !title.is_empty() && !kept.iter().any(|known| known == title) {
                kept.push(title.to_owned());
            }
        }
        self.topic.titles = kept;
    }

    /// Stores the last generation, its text trimmed. A generation of which nothing arrived keeps the one before it, so that
    /// a follow-up still has something to work on.
    pub fn note_generation(&mut self, mut generation: LastGeneration) {
        generation.text = generation.text.trim().to_owned();
        if !generation.text.is_empty() {
            self.last_generation = Some(generation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Entity {
        Entity { text: text.to_owned(), kind: EntityKind::Name, turn: 0 }
    }

    fn fact(kind: FactKind, subject: Option<&str>, value: &str) -> ReaderFact {
        ReaderFact { kind, subject: subject.map(str::to_owned), value: value.to_owned() }
    }

    #[test]
    fn an_entity_named_again_becomes_the_most_recent() {
        let mut state = DialogueState::new("s");
        state.note_entities(&[named("Vue"), named("Pinia")]);
        state.turn_count = 1;
        state.note_entities(&[named("vue")]);
        let texts: Vec<_> = state.topic.entities.iter().map(|e| (e.text.as_str(), e.turn)).collect();
        assert_eq!(texts, [("Pinia", 0), ("vue", 1)]);
    }

    #[test]
    fn entities_are_bounded_and_the_oldest_go() {
        let mut state = DialogueState::new("s");
        for i in 0..40 {
            state.note_entities(&[named(&format!("E{i}"))]);
        }
        assert_eq!(state.topic.entities.len(), MAX_ENTITIES);
        assert_eq!(state.topic.entities.last().unwrap().text, "E39");
    }

    #[test]
    fn a_new_platform_replaces_the_old_one_but_tools_add_up() {
        let mut state = DialogueState::new("s");
        state.note_reader(&[fact(FactKind::Platform, None, "Windows"), fact(FactKind::Tool, None, "pnpm")]);
        state.note_reader(&[fact(FactKind::Platform, None, "macOS"), fact(FactKind::Tool, None, "Vite")]);
        let values: Vec<_> = state.reader.iter().map(|f| f.value.as_str()).collect();
        assert_eq!(values, ["pnpm", "macOS", "Vite"]);
    }

    #[test]
    fn versions_of_two_products_are_two_facts() {
        let mut state = DialogueState::new("s");
        state.note_reader(&[fact(FactKind::Version, Some("Vue"), "2"), fact(FactKind::Version, Some("Node"), "20")]);
        state.note_reader(&[fact(FactKind::Version, Some("vue"), "3")]);
        let values: Vec<_> = state.reader.iter().map(|f| f.value.as_str()).collect();
        assert_eq!(values, ["20", "3"]);
    }

    #[test]
    fn an_empty_generation_keeps_the_one_before() {
        let mut state = DialogueState::new("s");
        let generation = |text: &str| LastGeneration {
            question: "q".into(),
            query: "q".into(),
            text: text.into(),
            partial: true,
            follow_up: None,
            passages: Vec::new(),
        };
        state.note_generation(generation("  an answer \n"));
        state.note_generation(generation(" \n"));
        assert_eq!(state.last_generation.as_ref().unwrap().text, "an answer");
    }

    #[test]
    fn a_new_topic_drops_older_entities_and_the_count() {
        let mut state = DialogueState::new("s");
        state.note_entities(&[named("Vue")]);
        state.topic.answered_turns = 4;
        state.turn_count = 1;
        state.note_entities(&[named("Milvus")]);
        state.note_search("install Milvus", ["Install", "Install", ""], true);
        assert_eq!(state.topic.entities.len(), 1);
        assert_eq!((state.topic.answered_turns, state.topic.titles.len()), (0, 1));
    }
}
