//! The last step of a turn: the reply is filtered, handed out, remembered, and written into the record.

use std::collections::BTreeMap;

use serde_json::json;

use super::action_executor::{offered_items, sources};
use super::content_filter::Verdict;
use super::draft::Draft;
use super::reply_templates::Say;
use super::run_turn::{Counter, TurnRun};
use super::turn_record::{HitRecord, NextMove, RECORD_VERSION, RelevanceRecord, StepTime, TurnRecord};
use crate::chat::message::{ChatMessage, Role};
use crate::dialogue::dialogue_state::LastGeneration;
use crate::dialogue::history_summarizer::HistorySummarizer;
use crate::error::Error;
use crate::host::{ChatClient, Clock, EmbeddingModel, IndexFiles};
use crate::relevance::context_relevance::{content_words, shared_words};
use crate::turn::{Action, Failure, Intent, Offer, Passage, Turn};
use crate::understanding::Understanding;

impl<C: ChatClient, E: EmbeddingModel, F: IndexFiles, K: Clock> TurnRun<'_, '_, C, E, F, K> {
    /// Writes the message and what it tells into the memory.
    pub(super) fn remember_message(&mut self, understanding: &Understanding) {
        let mut session = self.agent.session.borrow_mut();
        let counter = Counter(&self.agent.hosts.embedding);
        session.memory.add_message(Role::User, self.message.clone(), self.began, BTreeMap::new(), &counter);
        let state = session.memory.state_mut();
        state.intent = Some(understanding.intent);
        state.intent_confidence = understanding.confidence;
        state.note_entities(&understanding.entities);
        state.note_reader(&understanding.reader_facts);
        if understanding.signals.frustration {
            state.confusion += 1;
        }
    }

    /// Filters the reply, remembers it, and writes the record.
    pub(super) async fn finish(mut self, mut draft: Draft, understanding: Option<&Understanding>) -> Turn {
        let filter = std::rc::Rc::clone(&self.agent.filter.borrow());
        let reply = draft.reply.clone();
        match filter.after(&reply).await {
            Verdict::Pass => {}
            Verdict::Replace(text) => {
                draft.reply = text;
                draft.unsupported.clear();
            }
            Verdict::Block(why) => {
                let failure = Failure::from(&Error::ContentFilter { message: why });
                draft.reply = self.say(Say::Failed(failure.kind, None));
                draft.error = Some(failure);
                draft.intent = Some(Intent::Error);
                draft.unsupported.clear();
                draft.passages.clear();
                draft.answer = false;
            }
        }
        if !draft.streamed
            && let Some(on_delta) = &mut self.on_delta
        {
            on_delta(&draft.reply);
        }
        let since = self.clock();
        let refused = understanding.is_none();
        if !refused {
            self.remember_reply(&draft);
            self.fold_history().await;
        }
        let (history_length, folded) = {
            let session = self.agent.session.borrow();
            (session.memory.messages().len(), !session.memory.summary().is_empty())
        };
        let confusion = self.agent.session.borrow().memory.state().confusion;
        self.step(
            "remember",
            since,
            json!({ "historyLength": history_length, "summary": folded, "confusion": confusion, "remembered": !refused }),
        );
        let turn = Turn {
            reply: draft.reply.clone(),
            intent: draft.intent.unwrap_or(Intent::Retrieval),
            follow_up: draft.follow_up,
            action: draft.action.unwrap_or(Action::AnswerDirectly),
            reason: draft.reason.clone(),
            rewritten_query: draft.query.clone(),
            sources: sources(&draft.passages, &draft.cited),
            suggestions: draft.suggestions.clone(),
            options: draft.options.clone(),
            language: self.language,
            partial: draft.partial,
            unsupported: draft.unsupported.clone(),
            handover: draft.handover.clone(),
            history_length,
            mode: draft.findings.as_ref().map_or_else(|| self.agent.mode(), |findings| findings.mode),
            usage: self.usage,
            trace: std::mem::take(&mut self.trace),
            error: draft.error.clone(),
        };
        self.record(&turn, &draft, understanding);
        turn
    }

    /// Writes the reply and the state it leaves into the memory.
    fn remember_reply(&self, draft: &Draft) {
        let mut session = self.agent.session.borrow_mut();
        let session = &mut *session;
        let counter = Counter(&self.agent.hosts.embedding);
        let mut meta = BTreeMap::new();
        meta.insert("action".to_owned(), json!(draft.action));
        if draft.partial {
            meta.insert("partial".to_owned(), json!(true));
        }
        let now = self.agent.hosts.clock.now_ms();
        session.memory.add_message(Role::Assistant, draft.reply.clone(), now, meta, &counter);
        let state = session.memory.state_mut();
        state.turn_count += 1;
        state.last_action = draft.action;
        if let Some(decision) = &draft.decision {
            state.confusion = decision.confusion;
        } else if draft.answer {
            state.confusion = 0;
        }
        // What turned out to be small talk is no topic.
        if let Some(query) = draft.query.as_ref().filter(|_| draft.action != Some(Action::Chitchat)) {
            let titles: Vec<&str> = match &draft.findings {
                Some(findings) => findings.passages.iter().map(|passage| passage.title.as_str()).collect(),
                None => Vec::new(),
            };
            state.note_search(query, titles, draft.new_topic);
        }
        let answered = draft.answer && draft.follow_up.is_none();
        if answered {
            state.topic.answered_turns += 1;
            session.progress.answered += 1;
            session.progress.answer_documents = draft.passages.iter().map(|passage| passage.document.clone()).collect();
            session.progress.answer_tags =
                draft.passages.first().map(|passage| passage.tags.clone()).unwrap_or_default();
        }
        state.mention(draft.passages.iter().map(|passage| passage.document.as_str()));
        let open = draft.open.as_ref().map(|open| open.query.as_str()).or(draft.query.as_deref()).unwrap_or_default();
        // Small talk in between leaves the offer standing: "thanks, the second one" must still find it.
        if draft.action != Some(Action::Chitchat) {
            state.offer(offered_items(&draft.suggestions, &draft.options, open));
            session.progress.open.clone_from(&draft.open);
            session.progress.handover_offered = draft.options.iter().any(|offer| offer.id == "action=handover");
            session.progress.summary_offered = draft.options.iter().any(|offer| offer.id == "action=summary");
        }
        if draft.action == Some(Action::End) {
            state.confusion = 0;
        }
        if draft.answer {
            let query = draft.query.clone().unwrap_or_else(|| state.topic.query.clone());
            state.note_generation(LastGeneration {
                question: self.message.clone(),
                query,
                text: draft.generation.as_ref().unwrap_or(&draft.reply).clone(),
                partial: draft.partial,
                follow_up: draft.follow_up,
                passages: draft.passages.clone(),
            });
        }
    }

    /// Folds older turns into the summary, with the endpoint where the site lets it help.
    async fn fold_history(&mut self) {
        let summarizer = HistorySummarizer {
            max_history_turns: self.agent.config.memory.max_history_turns,
            ..HistorySummarizer::default()
        };
        let (due, older, summary) = {
            let session = self.agent.session.borrow();
            let memory = &session.memory;
            let due = summarizer.due(memory);
            let older: Vec<ChatMessage> = memory.unfolded()[..due]
                .iter()
                .map(|message| ChatMessage { role: message.role, content: message.content.clone() })
                .collect();
            (due, older, memory.summary().to_owned())
        };
        if due == 0 {
            return;
        }
        if self.assisted() {
            let prompt = self.writer().fold(&summary, &older);
            // What does not fit into the prompt would be dropped unread.
            if !prompt.report.was_cut()
                && let Some(reply) = self.ask_endpoint("summary", &prompt.request).await
                && let Some(summary) = summarizer.read_reply(&reply)
            {
                self.agent.session.borrow_mut().memory.fold(due, summary);
                return;
            }
        }
        let counter = Counter(&self.agent.hosts.embedding);
        self.agent.session.borrow_mut().memory.summarize(&summarizer, &counter);
    }

    /// Writes the record of the turn, and into the one before it what this message meant for it.
    fn record(&self, turn: &Turn, draft: &Draft, understanding: Option<&Understanding>) {
        let hits = draft.findings.as_ref().map(|findings| {
            let hit = |passage: &Passage| HitRecord {
                id: passage.id.clone(),
                document: passage.document.clone(),
                title: passage.title.clone(),
                url: passage.url.clone(),
                scores: passage.scores,
            };
            findings.passages.iter().map(hit).collect()
        });
        let relevance = draft.relevances.as_ref().map(|relevances| RelevanceRecord {
            retrieval: Some(relevances.retrieval),
            context: relevances.context,
            goals: relevances.goals.clone(),
            exploration: Some(relevances.exploration),
        });
        let ids = |offers: &[Offer]| offers.iter().map(|offer| offer.id.clone()).collect();
        let mut session = self.agent.session.borrow_mut();
        let id = session.memory.state().session_id.clone();
        let record = TurnRecord {
            v: RECORD_VERSION,
            session: id.clone(),
            turn: self.number,
            at: self.began,
            query: if understanding.is_some() { self.message.clone() } else { String::new() },
            rewritten_query: turn.rewritten_query.clone(),
            language: turn.language,
            intent: turn.intent,
            follow_up: turn.follow_up,
            hits: hits.unwrap_or_default(),
            relevance: relevance.unwrap_or_default(),
            action: turn.action,
            reason: turn.reason.clone(),
            rule: draft.decision.as_ref().map(|decision| decision.rule.clone()),
            policy: draft
                .decision
                .as_ref()
                .map(|_| if self.policy.learned.is_some() { "logistic" } else { "rules" }.to_owned()),
            variant: self.variant.clone(),
            facts: draft.facts,
            sources: turn.sources.iter().map(|source| source.document.clone()).collect(),
            suggestions: ids(&turn.suggestions),
            options: ids(&turn.options),
            selected: draft.selected.clone(),
            reply_chars: turn.reply.chars().count(),
            local: !draft.generated,
            mode: turn.mode,
            usage: turn.usage,
            supported: draft.supported,
            error: turn.error.as_ref().map(|failure| failure.kind),
            steps: turn.trace.steps.iter().map(|step| StepTime { step: step.step.clone(), ms: step.ms }).collect(),
            new_task: draft.new_topic && draft.decision.is_some(),
            next: None,
            events: Vec::new(),
        };
        let before = session.log.last_mut().filter(|before| before.session == id && before.next.is_none());
        let completed = before.zip(understanding).map(|(before, understanding)| {
            before.next = Some(next_move(before, &record, draft, understanding));
            before.clone()
        });
        session.note_record(record.clone());
        drop(session);
        if let Some(before) = completed {
            self.agent.emit(&before);
        }
        self.agent.emit(&record);
    }
}

/// What a message meant for the turn before it.
fn next_move(before: &TurnRecord, now: &TurnRecord, draft: &Draft, understanding: &Understanding) -> NextMove {
    let signals = &understanding.signals;
    if signals.satisfied || (now.action == Action::Chitchat && understanding.reason == "thanks") {
        return NextMove::Satisfied;
    }
    if signals.frustration {
        return NextMove::Frustrated;
    }
    match now.action {
        Action::End => NextMove::Left,
        Action::Chitchat => NextMove::SmallTalk,
        _ if now.selected.is_some() => NextMove::Selected,
        Action::FollowUp => NextMove::Continued,
        _ if draft.new_topic => NextMove::NewTopic,
        // The same again: the last turn did not answer, or the words are mostly the same.
        _ if !before.answered() && before.rule.is_some() => NextMove::Rephrased,
        _ if similar(&before.query, &now.query) => NextMove::Rephrased,
        _ => NextMove::Continued,
    }
}

/// Whether two messages have most of their words in common.
fn similar(a: &str, b: &str) -> bool {
    let analyzer = crate::retrieval::analyzer::Analyzer::default();
    let (a, b) = (content_words(a, &analyzer), content_words(b, &analyzer));
    let shared = shared_words(&a, &b);
    let all = a.len() + b.len() - shared;
    // Two thirds: one word of three exchanged is still the same question.
    all > 0 && shared * 3 >= all * 2
}
