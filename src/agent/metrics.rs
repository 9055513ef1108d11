//! What the records of a session, or of many, say about the guidance.
//!
//! Input: [`TurnRecord`]s, the turns of a session in order. Output: [`Metrics`].
//!
//! A task is a question with everything that belongs to it, up to the next new topic. It counts as completed when the
//! reader says so, follows a source of its last answer, or moves on or leaves without asking again; as failed on thumbs
//! down, hand-over, or three rephrasings in a row. A task that is still open counts as neither.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::turn_record::{NextMove, ReaderEvent, TurnRecord};
use crate::lowercase::lowercase;
use crate::order;
use crate::turn::Action;

/// Rephrasings in a row that fail a task.
const REPHRASINGS_THAT_FAIL: u32 = 3;

/// A question that got no good answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenQuestion {
    /// The stand-alone question, or the message where nothing was searched.
    pub question: String,
    /// Why: the turn's reason, `thumbs_down` or `frustrated`.
    pub reason: String,
    /// How often it was asked in these very words.
    pub count: usize,
}

/// The numbers. A rate without anything to divide by is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// Sessions.
    pub sessions: usize,
    /// Turns.
    pub turns: usize,
    /// Tasks that ended, either way.
    pub tasks: usize,
    /// Completed ones among them.
    pub completed: usize,
    /// Failed ones among them.
    pub failed: usize,
    /// `completed / tasks`, 0..=1.
    pub task_completion_rate: Option<f64>,
    /// Mean turns of the completed tasks.
    pub mean_turns_to_completion: Option<f64>,
    /// Clarifying questions among the turns that the policy decided, 0..=1.
    pub clarification_rate: Option<f64>,
    /// Clarifying questions whose choices were taken up, 0..=1.
    pub clarification_take_up: Option<f64>,
    /// Turns with suggestions whose suggestion was taken up, 0..=1.
    pub suggestion_take_up: Option<f64>,
    /// Thumbs up.
    pub thumbs_up: usize,
    /// Thumbs down.
    pub thumbs_down: usize,
    /// `up / (up + down)`, 0..=1.
    pub satisfaction: Option<f64>,
    /// Turns that were answered without the endpoint, 0..=1.
    pub local_share: Option<f64>,
    /// Hand-overs.
    pub handovers: usize,
    /// Turns that failed.
    pub errors: usize,
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Tokens of the replies.
    pub completion_tokens: u64,
    /// Calls of the endpoint.
    pub calls: u64,
    /// Cost in the unit of the prices given; `None` without prices.
    pub cost: Option<f64>,
    /// Questions without a good answer, the most frequent first.
    pub unanswered: Vec<OpenQuestion>,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEnd {
    /// The reader got what they came for, after so many turns.
    Completed {
        /// Turns of the task.
        turns: u32,
    },
    /// The reader did not.
    Failed,
    /// Not known (yet).
    Open,
}

/// The tasks of one session, whose turns come in order.
#[must_use]
pub fn tasks(records: &[&TurnRecord]) -> Vec<TaskEnd> {
    let mut ends = Vec::new();
    let mut task: Vec<&TurnRecord> = Vec::new();
    for record in records {
        if record.new_task && !task.is_empty() {
            ends.push(end_of(&task, true));
            task.clear();
        }
        // Small talk belongs to a task only when one is running.
        if record.new_task || !task.is_empty() {
            task.push(record);
        }
    }
    if !task.is_empty() {
        let left = records
            .last()
            .is_some_and(|record| record.action == Action::End || record.events.contains(&ReaderEvent::Left));
        ends.push(end_of(&task, left));
    }
    ends
}

/// How the turns of one task ended; `moved_on` when the reader went to another topic or left.
fn end_of(task: &[&TurnRecord], moved_on: bool) -> TaskEnd {
    let mut rephrasings = 0;
    let mut turns = 0;
    let mut end = TaskEnd::Open;
    for record in task {
        if !matches!(record.action, Action::Chitchat | Action::End) {
            turns += 1;
        }
        rephrasings = match record.next {
            Some(NextMove::Rephrased) => rephrasings + 1,
            _ => 0,
        };
        if record.events.contains(&ReaderEvent::ThumbsDown)
            || record.action == Action::EscalateToHuman
            || rephrasings >= REPHRASINGS_THAT_FAIL
        {
            return TaskEnd::Failed;
        }
        let pleased = record.next == Some(NextMove::Satisfied)
            || record.events.iter().any(|event| {
                matches!(
                    event,
                    ReaderEvent::ThumbsUp | ReaderEvent::SourceFollowed { .. } | ReaderEvent::SuggestionFollowed { .. }
                )
            });
        if pleased && record.answered() {
            end = TaskEnd::Completed { turns };
        }
    }
    if end == TaskEnd::Open && moved_on {
        // Moving on without an answer is giving up.
        let last = task.iter().rev().find(|record| !matches!(record.action, Action::Chitchat | Action::End));
        end = match last {
            Some(record) if record.answered() => TaskEnd::Completed { turns },
            _ => TaskEnd::Failed,
        };
    }
    end
}

/// The records by session, in the order of their turns; of a turn that was written twice the last one counts.
#[must_use]
pub fn by_session(records: &[TurnRecord]) -> Vec<Vec<&TurnRecord>> {
    let mut sorted: Vec<&TurnRecord> = records.iter().collect();
    order::sort_by(&mut sorted, |a, b| a.session.cmp(&b.session).then(a.turn.cmp(&b.turn)).then(a.at.cmp(&b.at)));
    let mut sessions: Vec<Vec<&TurnRecord>> = Vec::new();
    for record in sorted {
        match sessions.last_mut() {
            Some(turns) if turns[0].session == record.session => match turns.last_mut() {
                Some(last) if (last.turn, last.at) == (record.turn, record.at) => *last = record,
                _ => turns.push(record),
            },
            _ => sessions.push(vec![record]),
        }
    }
    sessions
}

impl Metrics {
    /// The numbers of any records; `prices` are those of 1000 prompt tokens and of 1000 reply tokens.
    #[must_use]
    pub fn of(records: &[TurnRecord], prices: Option<(f64, f64)>) -> Self {
        let sessions = by_session(records);
        let mut metrics = Self { sessions: sessions.len(), ..Self::default() };
        let (mut to_completion, mut decided, mut asked, mut local) = (0_u64, 0, 0, 0);
        let (mut asked_taken, mut offered, mut offered_taken) = (0, 0, 0);
        let mut open: HashMap<String, OpenQuestion> = HashMap::new();
        for turns in &sessions {
            for end in tasks(turns) {
                match end {
                    TaskEnd::Completed { turns } => {
                        metrics.completed += 1;
                        to_completion += u64::from(turns);
                    }
                    TaskEnd::Failed => metrics.failed += 1,
                    TaskEnd::Open => {}
                }
            }
            for (at, record) in turns.iter().enumerate() {
                metrics.turns += 1;
                decided += usize::from(record.rule.is_some());
                local += usize::from(record.local);
                metrics.errors += usize::from(record.error.is_some());
                metrics.handovers += usize::from(record.action == Action::EscalateToHuman);
                for event in &record.events {
                    metrics.thumbs_up += usize::from(*event == ReaderEvent::ThumbsUp);
                    metrics.thumbs_down += usize::from(*event == ReaderEvent::ThumbsDown);
                }
                let chosen = turns.get(at + 1).and_then(|next| next.selected.as_ref());
                if record.action == Action::AskClarification {
                    asked += 1;
                    asked_taken += usize::from(chosen.is_some_and(|id| record.options.contains(id)));
                }
                if !record.suggestions.is_empty() {
                    offered += 1;
                    let followed = record.events.iter().any(|e| matches!(e, ReaderEvent::SuggestionFollowed { .. }));
                    offered_taken += usize::from(followed || chosen.is_some_and(|id| record.suggestions.contains(id)));
                }
                if let Some(usage) = &record.usage {
                    metrics.prompt_tokens += u64::from(usage.prompt_tokens);
                    metrics.completion_tokens += u64::from(usage.completion_tokens);
                    metrics.calls += u64::from(usage.calls);
                }
                if record.unanswered() {
                    let question = record.rewritten_query.as_ref().unwrap_or(&record.query);
                    let reason = if record.events.contains(&ReaderEvent::ThumbsDown) {
                        "thumbs_down"
                    } else if record.next == Some(NextMove::Frustrated) && record.answered() {
                        "frustrated"
                    } else {
                        &record.reason
                    };
                    open.entry(lowercase(question.trim()))
                        .or_insert_with(|| OpenQuestion {
                            question: question.clone(),
                            reason: reason.to_owned(),
                            count: 0,
                        })
                        .count += 1;
                }
            }
        }
        metrics.tasks = metrics.completed + metrics.failed;
        metrics.task_completion_rate = ratio(metrics.completed, metrics.tasks);
        metrics.mean_turns_to_completion =
            (metrics.completed > 0).then(|| to_completion as f64 / metrics.completed as f64);
        metrics.clarification_rate = ratio(asked, decided);
        metrics.clarification_take_up = ratio(asked_taken, asked);
        metrics.suggestion_take_up = ratio(offered_taken, offered);
        metrics.satisfaction = ratio(metrics.thumbs_up, metrics.thumbs_up + metrics.thumbs_down);
        metrics.local_share = ratio(local, metrics.turns);
        metrics.cost = prices.map(|(prompt, reply)| {
            (metrics.prompt_tokens as f64 * prompt + metrics.completion_tokens as f64 * reply) / 1000.0
        });
        metrics.unanswered = open.into_values().collect();
        order::sort_by(&mut metrics.unanswered, |a, b| b.count.cmp(&a.count).then_with(|| a.question.cmp(&b.question)));
        metrics
    }
}

fn ratio(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::{Intent, Language, Mode};

    fn turn(session: &str, number: u32, action: Action, reason: &str) -> TurnRecord {
        TurnRecord {
            v: 1,
            session: session.into(),
            turn: number,
            at: u64::from(number),
            query: format!("question {number}"),
            rewritten_query: None,
            language: Language::English,
            intent: Intent::Retrieval,
            follow_up: None,
            hits: Vec::new(),
            relevance: Default::default(),
            action,
            reason: reason.into(),
            rule: Some("4_new_topic".into()),
            policy: Some("rules".into()),
            variant: None,
            facts: None,
            sources: vec!["a".into()],
            suggestions: Vec::new(),
            options: Vec::new(),
            selected: None,
            reply_chars: 10,
            local: true,
            mode: Mode::Lexical,
            usage: None,
            supported: None,
            error: None,
            steps: Vec::new(),
            new_task: reason == "new_topic",
            next: None,
            events: Vec::new(),
        }
    }

    fn ends(records: &[TurnRecord]) -> Vec<TaskEnd> {
        tasks(&records.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_task_ends_as_the_reader_shows() {
        let answer = || turn("s", 1, Action::AnswerDirectly, "new_topic");
        let more = |number| turn("s", number, Action::AnswerDirectly, "same_topic");
        assert_eq!(ends(&[answer()]), [TaskEnd::Open]);
        let with = |event| TurnRecord { events: vec![event], ..answer() };
        let completed = |turns| TaskEnd::Completed { turns };
        assert_eq!(ends(&[with(ReaderEvent::ThumbsUp)]), [completed(1)]);
        assert_eq!(ends(&[with(ReaderEvent::SourceFollowed { url: "/a".into() })]), [completed(1)]);
        assert_eq!(ends(&[with(ReaderEvent::ThumbsDown)]), [TaskEnd::Failed]);
        assert_eq!(ends(&[with(ReaderEvent::Left)]), [completed(1)]);
        assert_eq!(ends(&[TurnRecord { next: Some(NextMove::Satisfied), ..answer() }]), [completed(1)]);
        assert_eq!(ends(&[answer(), turn("s", 2, Action::AnswerDirectly, "new_topic")]), [completed(1), TaskEnd::Open]);
        assert_eq!(ends(&[answer(), turn("s", 2, Action::EscalateToHuman, "high_confusion")]), [TaskEnd::Failed]);
        let rephrased = |mut record: TurnRecord| {
            record.next = Some(NextMove::Rephrased);
            record
        };
        let three = [rephrased(answer()), rephrased(more(2)), rephrased(more(3)), more(4)];
        assert_eq!(ends(&three), [TaskEnd::Failed]);
        let two = [rephrased(answer()), rephrased(more(2)), TurnRecord { next: Some(NextMove::Satisfied), ..more(3) }];
        assert_eq!(ends(&two), [completed(3)]);
    }

    #[test]
    fn moving_on_from_a_question_without_an_answer_is_no_success() {
        let asked = TurnRecord { new_task: true, ..turn("s", 1, Action::AskClarification, "no_results") };
        assert_eq!(ends(&[asked, turn("s", 2, Action::AnswerDirectly, "new_topic")]), [TaskEnd::Failed, TaskEnd::Open]);
    }

    #[test]
    fn rates_count_what_was_taken_up_and_the_last_record_of_a_turn() {
        let asked = TurnRecord {
            options: vec!["b".into()],
            new_task: true,
            ..turn("s", 1, Action::AskClarification, "no_results")
        };
        let chosen = TurnRecord { selected: Some("b".into()), ..turn("s", 2, Action::AnswerDirectly, "selected") };
        let suggested =
            TurnRecord { suggestions: vec!["c".into()], ..turn("s", 3, Action::SuggestRelated, "same_topic") };
        let mut again = suggested.clone();
        again.events.push(ReaderEvent::ThumbsUp);
        let metrics = Metrics::of(&[asked, chosen, suggested, again], Some((1.0, 2.0)));
        assert_eq!((metrics.sessions, metrics.turns), (1, 3));
        assert_eq!(metrics.clarification_rate, Some(1.0 / 3.0));
        assert_eq!((metrics.clarification_take_up, metrics.suggestion_take_up), (Some(1.0), Some(0.0)));
        assert_eq!((metrics.satisfaction, metrics.local_share, metrics.cost), (Some(1.0), Some(1.0), Some(0.0)));
        assert_eq!((metrics.completed, metrics.task_completion_rate), (1, Some(1.0)));
        assert_eq!(metrics.unanswered.len(), 1);
    }

    #[test]
    fn nothing_gives_no_rates() {
        assert_eq!(Metrics::of(&[], None), Metrics::default());
    }
}
