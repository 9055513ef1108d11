//! Which way a message goes, once it is understood: what was offered before it comes first.
//!
//! Input: the [`Understanding`] and the state. Output: one [`Path`]. **Invariant:** nothing is searched and nothing is
//! remembered here.

use super::run_turn::TurnRun;
use super::session::OpenQuestion;
use crate::dialogue::dialogue_state::OfferedItem;
use crate::host::{ChatClient, Clock, EmbeddingModel, IndexFiles};
use crate::lowercase::lowercase;
use crate::turn::{FollowUpKind, Intent};
use crate::understanding::intent_router::Verdict;
use crate::understanding::{StandaloneQuery, Understanding};

/// What a message is to be treated as.
pub(super) enum Path {
    End,
    NoPrevious,
    Handover { agreed: bool },
    Summary { asked: bool },
    Selected(OfferedItem),
    NoSuchOffer(usize),
    AnyChoice(OpenQuestion),
    FollowUp(FollowUpKind),
    Chitchat,
    Unsearchable,
    Question,
}

/// A question on its way through search and policy.
#[derive(Debug, Default)]
pub(super) struct Question {
    pub(super) intent: Option<Intent>,
    /// What the router thought where its words alone did not tell; the search does.
    pub(super) unsettled: Option<Verdict>,
    pub(super) message: String,
    pub(super) query: String,
    /// The query was completed from the conversation.
    pub(super) carried: bool,
    /// The query was completed although the message is a whole question, only because its words are general.
    pub(super) general: bool,
    /// The choice that continues an earlier question.
    pub(super) chosen: Option<OfferedItem>,
    pub(super) any_choice: bool,
    pub(super) unsearchable: bool,
    pub(super) asked_summary: bool,
    pub(super) asked_human: bool,
    pub(super) follow_up: Option<FollowUpKind>,
}

impl<C: ChatClient, E: EmbeddingModel, F: IndexFiles, K: Clock> TurnRun<'_, '_, C, E, F, K> {
    /// Which way the message goes.
    pub(super) fn path(&self, understanding: &Understanding) -> Path {
        let session = self.agent.session.borrow();
        let (state, progress) = (session.memory.state(), &session.progress);
        let signals = &understanding.signals;
        if signals.exit || is_one_of(&self.message, &self.agent.config.exit_words) {
            return Path::End;
        }
        let selected = understanding.selection.and_then(|selection| state.offered.get(selection.index).cloned());
        // "Yes" to the only thing on offer chooses it.
        let only = || (state.offered.len() == 1 && signals.affirmative).then(|| state.offered[0].clone());
        let summary_offer = || progress.summary_offered && signals.affirmative && understanding.follow_up.is_none();
        // "Either" leaves an open question's choice to the agent; it is no choice of the first.
        if let Some(open) = &progress.open
            && signals.indifferent
        {
            return Path::AnyChoice(open.clone());
        }
        // A value as it stands in the offer ("3" for version 3) goes before its number in the list.
        let said = lowercase(self.message.trim());
        let named = state.offered.iter().find(|item| {
            lowercase(&item.offer.title) == said
                || item.offer.id.split_once('=').is_some_and(|(_, value)| lowercase(value) == said)
        });
        let selected = named.cloned().or(selected);
        if progress.handover_offered && selected.is_none() {
            if signals.affirmative || consents(&self.message) {
                return Path::Handover { agreed: true };
            }
            if signals.negative {
                return Path::Handover { agreed: false };
            }
        }
        if let Some(item) = selected.or_else(only) {
            return match item.offer.id.as_str() {
                "action=handover" => Path::Handover { agreed: true },
                "action=no" => Path::Handover { agreed: false },
                "action=summary" => Path::Summary { asked: false },
                _ => Path::Selected(item),
            };
        }
        if let Some(number) = bare_number(&self.message)
            && !state.offered.is_empty()
            && number > state.offered.len()
        {
            return Path::NoSuchOffer(state.offered.len());
        }
        if signals.wants_summary {
            return Path::Summary { asked: true };
        }
        if summary_offer() {
            return Path::Summary { asked: false };
        }
        if understanding.lacks_previous_answer() {
            return Path::NoPrevious;
        }
        if understanding.works_on_last_answer()
            && let Some(follow_up) = understanding.follow_up
        {
            return Path::FollowUp(follow_up.kind);
        }
        match understanding.intent {
            _ if signals.wants_human => Path::Question,
            Intent::Chitchat => Path::Chitchat,
            Intent::Clarify => Path::Unsearchable,
            _ => Path::Question,
        }
    }

    pub(super) fn question(&self, understanding: &Understanding, query: &StandaloneQuery) -> Question {
        Question {
            intent: Some(understanding.intent),
            unsettled: (!understanding.settled).then_some(Verdict {
                intent: understanding.intent,
                confidence: understanding.confidence,
                settled: false,
                reason: "unknown_words",
            }),
            message: self.message.clone(),
            query: query.text.clone(),
            // Without a conversation nothing can have been carried over, whatever the message points at.
            carried: !self.history.is_empty() && (!query.carried.is_empty() || understanding.follow_up.is_some()),
            general: query.reason == "general",
            asked_human: understanding.signals.wants_human,
            follow_up: understanding.follow_up.map(|follow_up| follow_up.kind),
            ..Question::default()
        }
    }
}

/// Whether a message consists of one of these words or phrases and of nothing else.
fn is_one_of(message: &str, words: &[String]) -> bool {
    let said = message.trim_matches(|c: char| c.is_whitespace() || c.is_ascii_punctuation() || "。！？，".contains(c));
    let said = lowercase(said);
    words.iter().any(|word| !word.trim().is_empty() && lowercase(word.trim()) == said)
}

/// Whether a message that acknowledges says yes to a question: "ok" does, "got it" does not.
fn consents(message: &str) -> bool {
    const YES: [&str; 13] =
        ["ok", "okay", "k", "fine", "alright", "all right", "good", "好", "好的", "行", "行吧", "好吧", "好嘞"];
    is_one_of(message, &YES.map(str::to_owned))
}

/// The number that a message consists of.
fn bare_number(message: &str) -> Option<usize> {
    let said = message.trim().trim_matches(|c: char| c == '.' || c == '#' || c == '。' || c == '、');
    said.parse().ok().filter(|number| (1..=99).contains(number))
}
