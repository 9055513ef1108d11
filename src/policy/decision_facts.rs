//! What a policy may look at when it decides, and the same as numbers for a learned policy.
//!
//! **Invariant:** plain data, no passage and no text, so that a record of it tells nothing about the reader.

use serde::{Deserialize, Serialize};

/// Everything that a decision depends on, beside the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionFacts {
    /// The reader asked for a summary of the conversation.
    pub asked_summary: bool,
    /// The reader asked for a human.
    pub asked_human: bool,
    /// The reader left the choice to the agent ("either", "随便").
    pub any_choice: bool,
    /// Failed turns in a row before this one, frustration counted.
    pub confusion: u32,
    /// Passages above zero evidence.
    pub found: usize,
    /// Evidence of the best passage, 0..=1; 0 when nothing was found.
    pub best: f32,
    /// Evidence of the best passage of another page than the best one's, 0..=1.
    pub runner_up: f32,
    /// Context relevance, 0..=1; `None` without history.
    pub context: Option<f32>,
    /// Answered turns of the session so far.
    pub answered_turns: u32,
    /// Answered turns on the current topic so far.
    pub topic_turns: u32,
    /// Pages that could be offered with the answer.
    pub related: usize,
    /// How worthwhile an offer is now, 0..=1.
    pub exploration: f32,
    /// Share of the question's content words that the docs know, 0..=1.
    pub in_vocabulary: f32,
    /// Share of the question's content words, by weight, that the best passage holds, 0..=1.
    pub coverage: f32,
    /// Content words of the stand-alone query.
    pub content_words: usize,
    /// Words of the message as typed, Chinese characters each for themselves.
    pub message_words: usize,
    /// The message has not the form of a question or a request.
    pub fragment: bool,
    /// How rare the question's content words are in the docs, 0..=1.
    pub specificity: f32,
    /// How evenly the evidence spreads over pages, 0..=1: 0 all on one, 1 the same on eight.
    pub spread: f32,
    /// How ambiguous the question is over the docs, 0..=1.
    pub ambiguity: f32,
    /// The question refers to something by a description ("this page", "该功能") that nothing before it names.
    pub unresolved: bool,
    /// Names and identifiers in the question that the docs do not hold.
    pub unknown_names: usize,
    /// Choices that a clarifying question could offer.
    pub choices: usize,
    /// The last turn asked back about the same thing.
    pub asked_before: bool,
    /// The message continues an earlier question by one of the choices offered.
    pub chosen: bool,
}

impl DecisionFacts {
    /// Names of the numbers of [`Self::features`], in order.
    pub const FEATURES: [&str; 21] = [
        "found",
        "best",
        "margin",
        "context",
        "hasContext",
        "answeredTurns",
        "related",
        "exploration",
        "inVocabulary",
        "coverage",
        "contentWords",
        "ambiguity",
        "unresolved",
        "unknownNames",
        "choices",
        "askedBefore",
        "confusion",
        "messageWords",
        "fragment",
        "specificity",
        "spread",
    ];

    /// The facts as numbers of about 0..=1, for a learned policy.
    #[must_use]
    pub fn features(&self) -> [f32; 21] {
        let flag = |on: bool| if on { 1.0 } else { 0.0 };
        let count = |n: usize, full: f32| (n as f32 / full).min(1.0);
        [
            count(self.found, 5.0),
            self.best,
            (self.best - self.runner_up).max(0.0),
            self.context.unwrap_or(0.0),
            flag(self.context.is_some()),
            count(self.answered_turns as usize, 6.0),
            count(self.related, 3.0),
            self.exploration,
            self.in_vocabulary,
            self.coverage,
            count(self.content_words, 8.0),
            self.ambiguity,
            flag(self.unresolved),
            count(self.unknown_names, 2.0),
            count(self.choices, 3.0),
            flag(self.asked_before),
            count(self.confusion as usize, 3.0),
            count(self.message_words, 16.0),
            flag(self.fragment),
            self.specificity,
            self.spread,
        ]
    }
}
