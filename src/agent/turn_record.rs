//! One record a turn: what was asked, found, decided and answered, and what the reader did next.
//!
//! Records stay with the agent; they leave the page only by [`TurnRecord::to_line`] or a sink that the site sets.
//! **Invariant:** a record holds what the turn was about, but neither keys nor headers.

use serde::{Deserialize, Serialize};

use crate::policy::decision_facts::DecisionFacts;
use crate::turn::{Action, FailureKind, FollowUpKind, Intent, Language, Mode, Scores, Usage};

/// Version of the record's fields, written into every line.
pub const RECORD_VERSION: u32 = 1;

/// A hit as the record keeps it: enough to see which page and why, without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HitRecord {
    /// Id of the passage.
    pub id: String,
    /// Id of the page.
    pub document: String,
    /// Title of the page.
    pub title: String,
    /// Deep link.
    pub url: String,
    /// Every score.
    pub scores: Scores,
}

/// Something the reader did after a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ReaderEvent {
    /// Said by a button that the answer helped.
    ThumbsUp,
    /// Said by a button that it did not.
    ThumbsDown,
    /// Followed a source of the answer.
    SourceFollowed {
        /// Its link.
        url: String,
    },
    /// Followed an offered page.
    SuggestionFollowed {
        /// Id of its document.
        id: String,
    },
    /// Followed the contact.
    ContactFollowed,
    /// Copied the answer or a part of it.
    Copied,
    /// Left the page or closed the window.
    Left,
}

/// What the reader's next message meant for the turn before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextMove {
    /// Said that it helped.
    Satisfied,
    /// Asked the same again in other words.
    Rephrased,
    /// Asked on about the same thing.
    Continued,
    /// Moved to another topic.
    NewTopic,
    /// Chose one of the offered items.
    Selected,
    /// Said that it did not help.
    Frustrated,
    /// Left the guidance.
    Left,
    /// Small talk, which tells nothing about the answer.
    SmallTalk,
}

/// Milliseconds of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepTime {
    /// The step, as in the trace.
    pub step: String,
    /// How long it took.
    pub ms: f64,
}

/// The four relevances of a turn, each 0..=1; `None` where a turn did not get so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RelevanceRecord {
    /// Query and documents: evidence of the best passage.
    pub retrieval: Option<f32>,
    /// Query and conversation.
    pub context: Option<f32>,
    /// How much each open action moves the reader towards an answer.
    pub goals: Vec<(Action, f32)>,
    /// Whether an unmentioned, related page is worth offering now.
    pub exploration: Option<f32>,
}

/// The record of one turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    /// [`RECORD_VERSION`].
    pub v: u32,
    /// Session.
    pub session: String,
    /// Number of the turn in the session, from 1.
    pub turn: u32,
    /// When it began, milliseconds since the Unix epoch.
    pub at: u64,
    /// The message as typed.
    pub query: String,
    /// What was searched, where something was.
    pub rewritten_query: Option<String>,
    /// Language of the reply.
    pub language: Language,
    /// What the reader wanted.
    pub intent: Intent,
    /// The kind of follow-up.
    pub follow_up: Option<FollowUpKind>,
    /// The hits with every score.
    pub hits: Vec<HitRecord>,
    /// The four relevances.
    pub relevance: RelevanceRecord,
    /// What was done.
    pub action: Action,
    /// Why.
    pub reason: String,
    /// The row of the table, where the policy decided.
    pub rule: Option<String>,
    /// Name of the policy, where it decided.
    pub policy: Option<String>,
    /// Arm of the comparison, where there is one.
    pub variant: Option<String>,
    /// What the decision was made on: the features of a learned policy.
    pub facts: Option<DecisionFacts>,
    /// Ids of the pages that the reply shows.
    pub sources: Vec<String>,
    /// Ids of the pages offered with the answer.
    pub suggestions: Vec<String>,
    /// Ids of the choices asked with.
    pub options: Vec<String>,
    /// Id of the offered item that the message chose.
    pub selected: Option<String>,
    /// Characters of the reply.
    pub reply_chars: usize,
    /// Whether the reply was made without the endpoint.
    pub local: bool,
    /// Which legs of the search answered.
    pub mode: Mode,
    /// Tokens of the endpoint.
    pub usage: Option<Usage>,
    /// Share of the reply's sentences that the passages support, where it was generated.
    pub supported: Option<f32>,
    /// The failure, where there was one.
    pub error: Option<FailureKind>,
    /// Timings.
    pub steps: Vec<StepTime>,
    /// Whether the message began a new task (a question on another topic than before).
    pub new_task: bool,
    /// What the next message meant for this turn.
    pub next: Option<NextMove>,
    /// What the reader did with the reply.
    pub events: Vec<ReaderEvent>,
}

impl TurnRecord {
    /// The record as one line of JSON, without the line's end.
    #[must_use]
    pub fn to_line(&self) -> String {
        crate::json::to_text(self)
    }

    /// Whether the turn gave an answer from the documentation.
    #[must_use]
    pub fn answered(&self) -> bool {
        match self.action {
            Action::AnswerDirectly | Action::SuggestRelated => {
                !matches!(self.reason.as_str(), "not_in_docs" | "stopped" | "content_filter")
            }
            Action::FollowUp => !self.sources.is_empty(),
            _ => false,
        }
    }

    /// Whether the turn is one that left the reader's question without a good answer.
    #[must_use]
    pub fn unanswered(&self) -> bool {
        self.reason == "not_in_docs"
            || matches!(self.reason.as_str(), "no_results" | "low_relevance_new_topic" | "low_relevance_same_topic")
            || (self.action == Action::EscalateToHuman && self.reason == "high_confusion")
            || self.events.contains(&ReaderEvent::ThumbsDown)
            || self.next == Some(NextMove::Frustrated)
    }
}
