//! What a turn has come to before it is remembered: the reply with everything that belongs to it.

use super::action_executor::LocalReply;
use super::generation::Generated;
use super::knowledge::Findings;
use super::session::OpenQuestion;
use crate::policy::decision_facts::DecisionFacts;
use crate::policy::policy_decision_maker::Decision;
use crate::relevance::relevance_engine::Relevances;
use crate::turn::{Action, Failure, FollowUpKind, Handover, Intent, Offer, Passage};

/// The reply of a turn with everything that is to be remembered of it.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) reply: String,
    pub(super) intent: Option<Intent>,
    pub(super) follow_up: Option<FollowUpKind>,
    pub(super) action: Option<Action>,
    pub(super) reason: String,
    pub(super) query: Option<String>,
    pub(super) passages: Vec<Passage>,
    /// Numbers of the passages that the reply cites; empty where it quotes them all.
    pub(super) cited: Vec<usize>,
    pub(super) suggestions: Vec<Offer>,
    pub(super) options: Vec<Offer>,
    pub(super) handover: Option<Handover>,
    pub(super) partial: bool,
    pub(super) unsupported: Vec<(usize, usize)>,
    pub(super) supported: Option<f32>,
    pub(super) error: Option<Failure>,
    pub(super) findings: Option<Findings>,
    pub(super) relevances: Option<Relevances>,
    pub(super) facts: Option<DecisionFacts>,
    pub(super) decision: Option<Decision>,
    pub(super) selected: Option<String>,
    /// The reply is one that follow-ups can work on.
    pub(super) answer: bool,
    /// The answer itself where the reply holds more: what had arrived of a reply that broke off, the text above the offers.
    pub(super) generation: Option<String>,
    /// The endpoint wrote it (or a part of it).
    pub(super) generated: bool,
    /// The pieces were handed out while they arrived.
    pub(super) streamed: bool,
    /// The question that stays open.
    pub(super) open: Option<OpenQuestion>,
    pub(super) new_topic: bool,
}

impl Draft {
    pub(super) fn local(intent: Intent, action: Action, reason: &str, reply: LocalReply) -> Self {
        Self {
            reply: reply.text,
            intent: Some(intent),
            action: Some(action),
            reason: reason.to_owned(),
            passages: reply.quoted,
            suggestions: reply.suggestions,
            options: reply.options,
            ..Self::default()
        }
    }

    pub(super) fn said(intent: Intent, action: Action, reason: &str, text: String) -> Self {
        Self::local(intent, action, reason, LocalReply { text, ..LocalReply::default() })
    }

    /// Takes over what was generated: text, sources, marks.
    pub(super) fn take(&mut self, generated: Generated) {
        self.generated = true;
        self.streamed = generated.streamed;
        self.partial = generated.partial;
        self.unsupported = generated.unsupported;
        self.supported = generated.supported;
        self.error = generated.error;
        if self.error.is_some() {
            self.intent = Some(Intent::Error);
        }
        if let Some(passages) = generated.passages {
            self.passages = passages;
            self.cited = generated.cited;
        }
        self.generation = generated.generation;
        self.reply = generated.text;
    }
}
