//! The four relevances of a turn.
//!
//! Input: the hits, the context relevance, the state of the guidance. Output: [`Relevances`], each number in 0..=1, which
//! goes into the record of the turn and into the facts that the policy decides on.

use serde::{Deserialize, Serialize};

use super::choices::Choices;
use super::related_pages::{RelatedPage, exploration};
use crate::turn::{Action, Passage};

/// The four relevances.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Relevances {
    /// Query and documents: the most evidence of the first passages, 0..=1; 0 when nothing was found.
    pub retrieval: f32,
    /// Query and conversation, 0..=1; `None` without history.
    pub context: Option<f32>,
    /// Policy and goal: how much each open action moves the reader towards an answer, 0..=1 each.
    pub goals: Vec<(Action, f32)>,
    /// Exploration: whether a related page is worth offering now, 0..=1.
    pub exploration: f32,
}

/// What the goals depend on beside the hits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Progress {
    /// Failed turns in a row.
    pub confusion: u32,
    /// Failed turns in a row that lead to the hand-over, 1 and up.
    pub confusion_limit: u32,
    /// Answered turns on the topic.
    pub topic_turns: u32,
    /// Answered turns on a topic after which a summary is worth offering, 1 and up.
    pub summary_after: u32,
}

/// Hits that a question is judged by.
pub const JUDGED_BY: usize = 5;

/// The most evidence of the first [`JUDGED_BY`] hits, 0..=1; 0 without hits. Not always the first one's: the order looks at
/// more than evidence does, and this is the number that the thresholds were calibrated on.
#[must_use]
pub fn most_evidence(hits: &[Passage]) -> f32 {
    hits.iter().take(JUDGED_BY).map(|hit| hit.scores.evidence).fold(0.0, f32::max).clamp(0.0, 1.0)
}

/// Computes the relevances from what the turn has found.
#[derive(Debug, Clone, Copy, Default)]
pub struct RelevanceEngine;

impl RelevanceEngine {
    /// The four relevances.
    ///
    /// Goals: an answer moves the reader as far as its evidence is good; a question as far as its choices split what
    /// would otherwise be a guess; a suggestion as far as it is worthwhile after this answer; a hand-over and a summary
    /// as far as the counters have come.
    #[must_use]
    pub fn assess(
        &self,
        hits: &[Passage],
        context: Option<f32>,
        choices: &Choices,
        related: &[RelatedPage],
        progress: Progress,
    ) -> Relevances {
        let best = most_evidence(hits);
        let exploration = exploration(related, best);
        let ask = if choices.items.len() < 2 { 0.0 } else { (1.0 - best).max(choices.split * 0.9) };
        let share = |count: u32, full: u32| (count as f32 / full.max(1) as f32).clamp(0.0, 1.0);
        let goals = vec![
            (Action::AnswerDirectly, best),
            (Action::AskClarification, ask.clamp(0.0, 1.0)),
            (Action::SuggestRelated, (best * exploration).sqrt().clamp(0.0, 1.0)),
            (Action::ProvideSummary, share(progress.topic_turns, progress.summary_after)),
            (Action::EscalateToHuman, share(progress.confusion, progress.confusion_limit)),
        ];
        Relevances { retrieval: best, context, goals, exploration }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relevance::choices::Choice;

    #[test]
    fn every_relevance_stays_within_0_and_1() {
        let choice = |id: &str| Choice { id: id.into(), title: id.into(), url: None, passages: 1 };
        let choices = Choices { facet: None, items: vec![choice("a"), choice("b")], split: 1.0 };
        let progress = Progress { confusion: 9, confusion_limit: 3, topic_turns: 20, summary_after: 6 };
        let relevances = RelevanceEngine.assess(&[], Some(0.4), &choices, &[], progress);
        assert_eq!((relevances.retrieval, relevances.context, relevances.exploration), (0.0, Some(0.4), 0.0));
        assert!(relevances.goals.iter().all(|(_, goal)| (0.0..=1.0).contains(goal)), "{:?}", relevances.goals);
        let goal = |action| relevances.goals.iter().find(|(known, _)| *known == action).unwrap().1;
        assert!(goal(Action::AskClarification) > goal(Action::AnswerDirectly));
        assert_eq!(goal(Action::EscalateToHuman), 1.0);
    }

    #[test]
    fn a_question_without_choices_moves_nobody() {
        let relevances = RelevanceEngine.assess(&[], None, &Choices::default(), &[], Progress::default());
        let ask = relevances.goals.iter().find(|(action, _)| *action == Action::AskClarification).unwrap().1;
        assert_eq!(ask, 0.0);
    }
}
