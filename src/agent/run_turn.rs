//! One turn, in order: guard, understand, rewrite, retrieve, relevance, decide, act, generate, remember.
//!
//! Input: a message and the agent's state. Output: a [`Turn`] and its record.
//! **Invariant:** the state is borrowed in blocks that hold no `await`; a turn that is dropped in the middle leaves at most
//! the reader's message behind.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::action_executor::{ActionExecutor, LocalReply, offered_items, sources};
use super::content_filter::Verdict;
use super::conversational_agent::{ChatOptions, ConversationalAgent};
use super::generation::Generated;
use super::knowledge::Findings;
use super::reply_templates::Say;
use super::session::OpenQuestion;
use super::turn_record::{HitRecord, NextMove, RECORD_VERSION, RelevanceRecord, StepTime, TurnRecord};
use crate::chat::message::{ChatMessage, Role};
use crate::dialogue::dialogue_state::{LastGeneration, OfferKind, OfferedItem};
use crate::dialogue::history_summarizer::HistorySummarizer;
use crate::error::{Error, Result};
use crate::host::{ChatClient, Clock, EmbeddingModel, IndexFiles, StopSignal};
use crate::policy::decision_facts::DecisionFacts;
use crate::policy::policy_config::PolicyConfig;
use crate::policy::policy_decision_maker::Decision;
use crate::relevance::relevance_engine::Relevances;
use crate::retrieval::facets::{Filter, Preferences};
use crate::turn::{
    Action, EstimatedTokens, Failure, FollowUpKind, Handover, Intent, Language, Mode, Offer, Passage, TokenCounter,
    Trace, TraceStep, Turn, Usage,
};
use crate::understanding::{QueryRewriter, StandaloneQuery, Understanding, understand};

/// What one turn has come to so far.
pub(super) struct TurnRun<'a, 'o, C, E, F, K> {
    pub(super) agent: &'a ConversationalAgent<C, E, F, K>,
    /// The message as typed, control characters taken out.
    pub(super) message: String,
    pub(super) filter: Filter,
    pub(super) preferences: Preferences,
    pub(super) on_delta: Option<&'o mut dyn FnMut(&str)>,
    pub(super) stop: StopSignal,
    pub(super) policy: PolicyConfig,
    pub(super) variant: Option<String>,
    /// Number of the turn in the session, from 1.
    pub(super) number: u32,
    /// Chooses among wordings.
    pub(super) choice: u64,
    pub(super) language: Language,
    pub(super) trace: Trace,
    pub(super) usage: Option<Usage>,
    /// The conversation before the message, for prompts.
    pub(super) history: Vec<ChatMessage>,
    pub(super) summary: String,
    began: u64,
}

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
    /// The endpoint wrote it (or a part of it).
    pub(super) generated: bool,
    /// The pieces were handed out while they arrived.
    pub(super) streamed: bool,
    /// The question that stays open.
    pub(super) open: Option<OpenQuestion>,
    pub(super) new_topic: bool,
}

impl Draft {
    fn local(intent: Intent, action: Action, reason: &str, reply: LocalReply) -> Self {
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

    fn said(intent: Intent, action: Action, reason: &str, text: String) -> Self {
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
        self.reply = generated.text;
    }
}

/// What a message is to be treated as.
enum Path {
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

/// Counts with the loaded tokenizer, or estimates until there is one.
pub(super) struct Counter<'a, E>(pub(super) &'a E);

impl<E: EmbeddingModel> TokenCounter for Counter<'_, E> {
    fn count(&self, text: &str) -> usize {
        self.0.count_tokens(text).unwrap_or_else(|| EstimatedTokens.count(text))
    }
}

impl<C: ChatClient, E: EmbeddingModel, F: IndexFiles, K: Clock> ConversationalAgent<C, E, F, K> {
    /// Runs one turn; the caller holds the agent busy.
    pub(super) async fn run_turn(&self, message: &str, options: ChatOptions<'_>) -> Result<Turn> {
        let text = printable(message);
        if text.is_empty() {
            return Err(Error::InvalidOption {
                name: "message".to_owned(),
                reason: "a question with at least one printable character is needed".to_owned(),
            });
        }
        let (number, session, language) = {
            let session = self.session.borrow();
            let state = session.memory.state();
            let language = session.memory.messages().last().map(|_| session.memory.language());
            (state.turn_count + 1, state.session_id.clone(), language)
        };
        let variant = self.config.variant_of(&session);
        let run = TurnRun {
            agent: self,
            message: text,
            filter: options.filter,
            preferences: options.preferences,
            on_delta: options.on_delta,
            stop: options.stop,
            policy: variant.map_or(&self.config.policy, |variant| &variant.policy).clone(),
            variant: variant.map(|variant| variant.name.clone()),
            number,
            choice: xxhash_rust::xxh3::xxh3_64_with_seed(&number.to_le_bytes(), self.config.seed),
            language: language.or(self.config.language).unwrap_or_default(),
            trace: Trace::default(),
            usage: None,
            history: Vec::new(),
            summary: String::new(),
            began: self.hosts.clock.now_ms(),
        };
        Ok(run.run().await)
    }
}

impl<C: ChatClient, E: EmbeddingModel, F: IndexFiles, K: Clock> TurnRun<'_, '_, C, E, F, K> {
    async fn run(mut self) -> Turn {
        if let Some(draft) = self.guard().await {
            return self.finish(draft, None).await;
        }
        let understanding = self.understand().await;
        let path = self.path(&understanding);
        let query = self.rewrite(&understanding, &path).await;
        self.remember_message(&understanding);
        let draft = match path {
            Path::End => Draft::said(Intent::Chitchat, Action::End, "exit", self.say(Say::Exit)),
            Path::NoPrevious => Draft {
                follow_up: understanding.follow_up.map(|follow_up| follow_up.kind),
                ..Draft::said(Intent::Retrieval, Action::FollowUp, "no_previous_answer", self.say(Say::NoPrevious))
            },
            Path::NoSuchOffer(count) => self.repeat_offer(count),
            Path::Handover { agreed } => self.hand_over(agreed),
            Path::Summary { asked: false } => self.sum_up("accepted").await,
            Path::Summary { asked: true } => {
                self.answer(Question { asked_summary: true, ..self.question(&understanding, &query) }).await
            }
            Path::Selected(item) => self.selected(item).await,
            Path::AnyChoice(open) => {
                let question = Question {
                    intent: Some(Intent::Retrieval),
                    message: open.message,
                    query: open.query,
                    any_choice: true,
                    carried: true,
                    ..Question::default()
                };
                self.answer(question).await
            }
            Path::FollowUp(kind) => self.follow_up(kind).await,
            Path::Chitchat => self.chitchat(&understanding).await,
            Path::Unsearchable => {
                self.answer(Question { unsearchable: true, ..self.question(&understanding, &query) }).await
            }
            Path::Question => self.answer(self.question(&understanding, &query)).await,
        };
        self.finish(draft, Some(&understanding)).await
    }

    /// The time on the host's clock, for measuring.
    pub(super) fn clock(&self) -> f64 {
        self.agent.hosts.clock.monotonic_ms()
    }

    /// Adds a step to the trace.
    pub(super) fn step(&mut self, step: &str, since: f64, detail: Value) {
        let ms = (self.clock() - since).max(0.0);
        self.trace.steps.push(TraceStep { step: step.to_owned(), ms, detail });
    }

    pub(super) fn executor(&self) -> ActionExecutor<'_> {
        ActionExecutor { language: self.language, choice: self.choice, contact: self.agent.config.contact.as_ref() }
    }

    pub(super) fn say(&self, say: Say<'_>) -> String {
        self.executor().say(say)
    }

    /// Length and the site's filter. A refusal is a reply; nothing of the message is remembered.
    async fn guard(&mut self) -> Option<Draft> {
        let since = self.clock();
        let chars = self.message.chars().count();
        if let Some(language) = Language::detect(&self.message) {
            self.language = language;
        }
        let limit = self.agent.config.max_message_chars;
        let filter = std::rc::Rc::clone(&self.agent.filter.borrow());
        let (verdict, draft) = if chars > limit {
            let text = self.say(Say::TooLong(limit));
            ("too_long", Some(Draft::said(Intent::Clarify, Action::AskClarification, "too_long", text)))
        } else {
            let message = self.message.clone();
            match filter.before(&message).await {
                Verdict::Pass => ("pass", None),
                Verdict::Replace(text) => {
                    self.message = printable(&text);
                    ("replaced", None)
                }
                Verdict::Block(why) => {
                    let error = Failure::from(&Error::ContentFilter { message: why });
                    let text = self.say(Say::Refused);
                    let draft = Draft::said(Intent::Error, Action::AnswerDirectly, "content_filter", text);
                    ("blocked", Some(Draft { error: Some(error), ..draft }))
                }
            }
        };
        self.step("guard", since, json!({ "chars": chars, "limit": limit, "verdict": verdict }));
        draft
    }

    /// What the message means; with `assist: "llm"` the endpoint is asked where the local check is not sure.
    async fn understand(&mut self) -> Understanding {
        let since = self.clock();
        let mut understanding = {
            let session = self.agent.session.borrow();
            let index = self.agent.index.borrow();
            let vocabulary = crate::understanding::IndexVocabulary::of(index.as_ref());
            self.history = session
                .memory
                .unfolded()
                .iter()
                .map(|message| ChatMessage { role: message.role, content: message.content.clone() })
                .collect();
            session.memory.summary().clone_into(&mut self.summary);
            understand(&self.message, &session.memory, &vocabulary)
        };
        let no_words = Language::detect(&self.message).is_none();
        let first = self.history.is_empty();
        // A message without letters says nothing about the reader's language; the site may.
        self.language = match self.agent.config.language {
            Some(language) if no_words && first => language,
            _ => understanding.language,
        };
        let mut assisted = false;
        if self.assisted() && !understanding.settled && understanding.selection.is_none() {
            let prompt = self.writer().route(&self.message);
            if let Some(reply) = self.ask_endpoint("route", &prompt.request).await {
                understanding.intent = crate::chat::prompt::read_intent(&reply);
                "endpoint".clone_into(&mut understanding.reason);
                assisted = true;
            }
        }
        let signals = understanding.signals;
        self.step(
            "understand",
            since,
            json!({
                "language": understanding.language,
                "intent": understanding.intent,
                "confidence": round(understanding.confidence),
                "reason": understanding.reason,
                "assisted": assisted,
                "followUp": understanding.follow_up,
                "selection": understanding.selection,
                "entities": understanding.entities.iter().map(|entity| &entity.text).collect::<Vec<_>>(),
                "reader": understanding.reader_facts,
                "signals": signals,
            }),
        );
        understanding
    }

    /// Which way the message goes.
    fn path(&self, understanding: &Understanding) -> Path {
        let session = self.agent.session.borrow();
        let (state, progress) = (session.memory.state(), &session.progress);
        let signals = &understanding.signals;
        if signals.exit || is_exit_word(&self.message, &self.agent.config.exit_words) {
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
        let said = self.message.trim().to_lowercase();
        let named = state.offered.iter().find(|item| {
            item.offer.title.to_lowercase() == said
                || item.offer.id.split_once('=').is_some_and(|(_, value)| value.to_lowercase() == said)
        });
        let selected = named.cloned().or(selected);
        if progress.handover_offered && selected.is_none() {
            if signals.affirmative {
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

    fn question(&self, understanding: &Understanding, query: &StandaloneQuery) -> Question {
        Question {
            intent: Some(understanding.intent),
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

    /// The stand-alone query, for the messages that are searched.
    async fn rewrite(&mut self, understanding: &Understanding, path: &Path) -> StandaloneQuery {
        let since = self.clock();
        let mut query = {
            let session = self.agent.session.borrow();
            let index = self.agent.index.borrow();
            let vocabulary = crate::understanding::IndexVocabulary::of(index.as_ref());
            QueryRewriter::default().rewrite(&self.message, understanding, &session.memory, &vocabulary)
        };
        if !matches!(path, Path::Question) {
            return query;
        }
        // The first question stands alone by itself: there is nothing to complete it from.
        if self.assisted() && !self.history.is_empty() {
            let prompt = self.writer().rewrite(&self.message);
            if let Some(reply) = self.ask_endpoint("rewrite", &prompt.request).await {
                query = QueryRewriter::default().read_reply(&reply, query);
            }
        }
        self.step(
            "rewrite",
            since,
            json!({ "query": query.text, "changed": query.changed, "carried": query.carried, "reason": query.reason }),
        );
        query
    }

    /// Writes the message and what it tells into the memory.
    fn remember_message(&mut self, understanding: &Understanding) {
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

    /// The number chosen was not offered: the offer again.
    fn repeat_offer(&mut self, count: usize) -> Draft {
        let items = self.agent.session.borrow().memory.state().offered.clone();
        let mut text = self.say(Say::NoSuchOffer(count));
        for (at, item) in items.iter().enumerate() {
            text.push_str(&format!("\n{}. {}", at + 1, item.offer.title));
        }
        let of = |kind| items.iter().filter(|item| item.kind == kind).map(|item| item.offer.clone()).collect();
        let open = self.agent.session.borrow().progress.open.clone();
        Draft {
            suggestions: of(OfferKind::Suggestion),
            options: of(OfferKind::Option),
            open,
            ..Draft::said(Intent::Clarify, Action::Select, "not_offered", text)
        }
    }

    /// The reader's answer to the offered hand-over.
    fn hand_over(&mut self, agreed: bool) -> Draft {
        let contact = self.agent.config.contact.as_ref();
        if !agreed {
            let text = self.say(Say::HandoverDeclined);
            return Draft {
                selected: Some("action=no".to_owned()),
                ..Draft::said(Intent::Chitchat, Action::Select, "handover_declined", text)
            };
        }
        let handover = {
            let session = self.agent.session.borrow();
            super::handover::agreed(contact, session.memory.summary(), session.memory.messages(), self.language)
        };
        let mut text = self.say(Say::HandoverAgreed);
        if let Some(link) = &handover.link {
            text.push_str(&format!(
                "\n\n[{}]({link})",
                contact.and_then(|c| c.label.clone()).unwrap_or_else(|| self.say(Say::ContactLabel))
            ));
        }
        Draft {
            handover: Some(handover),
            selected: Some("action=handover".to_owned()),
            ..Draft::said(Intent::Retrieval, Action::EscalateToHuman, "handover_agreed", text)
        }
    }

    /// Small talk.
    async fn chitchat(&mut self, understanding: &Understanding) -> Draft {
        let signals = &understanding.signals;
        let say = match understanding.reason.as_str() {
            _ if signals.satisfied => Say::Thanks,
            "greeting" => Say::Greeting,
            "thanks" => Say::Thanks,
            "goodbye" | "bye" => Say::Bye,
            "acknowledgement" | "acknowledgment" => Say::Acknowledged,
            _ => Say::SmallTalk,
        };
        let mut draft = Draft::said(Intent::Chitchat, Action::Chitchat, &understanding.reason.clone(), self.say(say));
        let since = self.clock();
        self.step("act", since, json!({ "action": "chitchat", "local": draft.reply }));
        let prompt = self.writer().chitchat(&self.message);
        if let Some(generated) = self.generate(prompt, &[], &draft.reply).await {
            draft.take(generated);
        }
        draft
    }

    /// A follow-up on the last generation; it keeps that turn's passages as its sources.
    async fn follow_up(&mut self, kind: FollowUpKind) -> Draft {
        let last = self.agent.session.borrow().memory.state().last_generation.clone();
        let Some(last) = last else {
            let text = self.say(Say::NoPrevious);
            return Draft::said(Intent::Retrieval, Action::FollowUp, "no_previous_answer", text);
        };
        let since = self.clock();
        let refers_to = last.passages.first().map_or(last.query.as_str(), |passage| passage.title.as_str());
        let reply = self.executor().follow_up(kind, &last.passages, Some(refers_to));
        let mut draft = Draft::local(Intent::Retrieval, Action::FollowUp, kind_name(kind), reply);
        draft.follow_up = Some(kind);
        draft.answer = true;
        draft.passages.clone_from(&last.passages);
        self.step("act", since, json!({ "action": "follow_up", "kind": kind, "passages": last.passages.len() }));
        let answer =
            crate::chat::prompt::LastAnswer { question: &last.question, answer: &last.text, partial: last.partial };
        let prompt = self.writer().follow_up(kind, &self.message, &answer, &last.passages);
        if let Some(generated) = self.generate(prompt, &last.passages, &draft.reply).await {
            draft.take(generated);
        }
        draft
    }

    /// The conversation in short.
    pub(super) async fn sum_up(&mut self, reason: &str) -> Draft {
        let since = self.clock();
        let covered = {
            let session = self.agent.session.borrow();
            let memory = &session.memory;
            // The request itself is no part of what was covered.
            let messages = memory.unfolded();
            let before = messages.len().saturating_sub(1);
            if before == 0 && memory.summary().is_empty() {
                None
            } else {
                let counter = Counter(&self.agent.hosts.embedding);
                let summarizer = HistorySummarizer::default();
                Some(summarizer.extract(memory.summary(), &messages[..before], self.language, &counter))
            }
        };
        let Some(covered) = covered else {
            let text = self.say(Say::NothingToSummarize);
            return Draft::said(Intent::Retrieval, Action::ProvideSummary, reason, text);
        };
        let mut text = self.say(Say::Summary);
        text.push_str("\n\n");
        for line in covered.lines().filter(|line| !line.trim().is_empty()) {
            text.push_str(&format!("- {}\n", line.trim()));
        }
        let mut draft = Draft::said(Intent::Retrieval, Action::ProvideSummary, reason, text.trim_end().to_owned());
        self.step("act", since, json!({ "action": "provide_summary", "messages": self.history.len() }));
        let prompt = self.writer().recap();
        if let Some(generated) = self.generate(prompt, &[], &draft.reply).await {
            draft.take(generated);
        }
        draft
    }

    /// Filters the reply, remembers it, and writes the record.
    async fn finish(mut self, mut draft: Draft, understanding: Option<&Understanding>) -> Turn {
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
        if let Some(query) = &draft.query {
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
                text: draft.reply.clone(),
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
        let (due, request) = {
            let session = self.agent.session.borrow();
            let due = summarizer.due(&session.memory);
            let request = if due > 0 && self.assisted() { summarizer.request(&session.memory) } else { None };
            (due, request)
        };
        if due == 0 {
            return;
        }
        if let Some(request) = request
            && let Some(reply) = self.ask_endpoint("summary", &request).await
            && let Some(summary) = summarizer.read_reply(&reply)
        {
            self.agent.session.borrow_mut().memory.fold(due, summary);
            return;
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
    let words = |text| crate::relevance::context_relevance::content_words(text, &analyzer);
    let (a, b) = (words(a), words(b));
    let shared = a.intersection(&b).count();
    let all = a.len() + b.len() - shared;
    // Two thirds: one word of three exchanged is still the same question.
    all > 0 && shared * 3 >= all * 2
}

/// The message without control characters (line breaks and tabs stay) and without space around it.
fn printable(message: &str) -> String {
    let invisible = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            // Marks that reverse or hide text: they let a message read otherwise than it is understood.
            || matches!(c, '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
    };
    message.chars().filter(|c| !invisible(*c)).collect::<String>().trim().to_owned()
}

fn is_exit_word(message: &str, words: &[String]) -> bool {
    let said = message.trim_matches(|c: char| c.is_whitespace() || c.is_ascii_punctuation() || "。！？，".contains(c));
    let said = said.to_lowercase();
    words.iter().any(|word| !word.trim().is_empty() && word.trim().to_lowercase() == said)
}

/// The number that a message consists of.
fn bare_number(message: &str) -> Option<usize> {
    let said = message.trim().trim_matches(|c: char| c == '.' || c == '#' || c == '。' || c == '、');
    said.parse().ok().filter(|number| (1..=99).contains(number))
}

fn kind_name(kind: FollowUpKind) -> &'static str {
    match kind {
        FollowUpKind::Simplify => "simplify",
        FollowUpKind::Detail => "detail",
        FollowUpKind::Example => "example",
        FollowUpKind::Summary => "summary",
        FollowUpKind::Pronoun => "pronoun",
    }
}

/// Three decimals: enough to explain a decision, and short in a log.
pub(super) fn round(value: f32) -> f64 {
    (f64::from(value) * 1000.0).round() / 1000.0
}

/// The mode while nothing was searched.
pub(super) const IDLE_MODE: Mode = Mode::Lexical;
