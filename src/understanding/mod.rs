//! What a message means in its conversation: intent, follow-up kind, selection, entities, mood, and the stand-alone query.
//!
//! Input: the message and the memory as it was before it. Output: [`Understanding`], and from it [`StandaloneQuery`].
//! **Invariant:** pure and synchronous. Where an endpoint may help, that is two functions: build the request, read the reply.

pub mod entities;
pub mod follow_up;
pub mod intent_router;
pub mod language;
pub mod lexicon;
mod phrases;
pub mod query_rewriter;
pub mod selection;
pub mod signals;
pub mod vocabulary;

use serde::{Deserialize, Serialize};

use crate::dialogue::{ConversationMemory, Entity, ReaderFact};
use crate::turn::{FollowUpKind, Intent, Language};

pub use follow_up::FollowUpIntent;
pub use intent_router::IntentRouter;
pub use query_rewriter::{QueryRewriter, StandaloneQuery};
pub use selection::Selection;
pub use signals::Signals;
pub use vocabulary::{IndexVocabulary, NoVocabulary, Vocabulary};

/// What a message means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Understanding {
    /// The language to answer in.
    pub language: Language,
    /// What the reader wants. Never [`Intent::Error`].
    pub intent: Intent,
    /// How sure that is, 0..=1.
    pub confidence: f32,
    /// True when the local check is sure and no endpoint needs to be asked.
    pub settled: bool,
    /// How the message works on the previous answer, if it does.
    pub follow_up: Option<FollowUpIntent>,
    /// The offered item that the message chooses, if it does.
    pub selection: Option<Selection>,
    /// What the message names, in order.
    pub entities: Vec<Entity>,
    /// What the reader says about themselves.
    pub reader_facts: Vec<ReaderFact>,
    /// Requests and moods that lie beside the question.
    pub signals: Signals,
    /// Why the intent is what it is, a stable word such as `greeting`.
    pub reason: String,
}

impl Understanding {
    /// Whether the turn works on the last generation alone, so that nothing is to be searched: a follow-up of one of the
    /// first four kinds, or a pronoun turn that only asks what a word refers to.
    #[must_use]
    pub fn works_on_last_answer(&self) -> bool {
        self.follow_up.is_some_and(|follow_up| !follow_up.asks_new)
    }

    /// Whether it is a pure follow-up with no answer to work on: say so, invite a question, and call nothing.
    #[must_use]
    pub fn lacks_previous_answer(&self) -> bool {
        self.follow_up.is_some_and(|follow_up| !follow_up.asks_new && !follow_up.has_previous)
    }
}

/// Understands a message. `memory` is the conversation before it: the message itself is not in it yet.
#[must_use]
pub fn understand(message: &str, memory: &ConversationMemory, vocabulary: &dyn Vocabulary) -> Understanding {
    let language = language::reply_language(message, memory);
    let state = memory.state();
    let signals = signals::read(message, state);
    let mut selection = selection::select(message, &state.offered);
    // "yes" and "either" take the first item: it is the best guess.
    if selection.is_none() && (signals.affirmative || signals.indifferent) && !state.offered.is_empty() {
        selection = Some(Selection { index: 0 });
    }
    let (entities, reader_facts) = entities::read(message, vocabulary);
    let mut follow_up = if selection.is_some() || signals.wants_summary || signals.exit {
        None
    } else {
        follow_up::detect(message, state)
    };
    // "that's not what I asked" complains, and asks nothing about "that".
    if signals.frustration {
        follow_up = follow_up.filter(|follow_up| !follow_up.asks_new);
    }
    // "yes" behind an answer that offered nothing asks it to go on.
    if signals.affirmative && selection.is_none() && follow_up.is_none() && state.last_generation.is_some() {
        follow_up = Some(FollowUpIntent { kind: FollowUpKind::Detail, asks_new: false, has_previous: true });
    }
    let verdict = IntentRouter::default().route(message, memory, &signals, follow_up, selection, vocabulary);
    let follow_up = follow_up.filter(|_| verdict.intent != Intent::Chitchat);
    Understanding {
        language,
        intent: verdict.intent,
        confidence: verdict.confidence,
        settled: verdict.settled,
        follow_up,
        selection,
        entities,
        reader_facts,
        signals,
        reason: verdict.reason.to_owned(),
    }
}
