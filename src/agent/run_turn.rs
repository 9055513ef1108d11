//! One turn, in order: guard, understand, rewrite, retrieve, relevance, decide, act, generate, remember.
//!
//! Input: a message and the agent's state. Output: a [`Turn`] and its record. The first steps stand here; `turn_path` says
//! which way the message goes, `answer` and `unsearched_replies` lead it there, `remember` ends the turn.
//! **Invariant:** the state is borrowed in blocks that hold no `await`; a turn that is dropped in the middle leaves at most
//! the reader's message behind.

use serde_json::{Value, json};

use super::action_executor::ActionExecutor;
use super::content_filter::Verdict;
use super::conversational_agent::{ChatOptions, ConversationalAgent};
use super::draft::Draft;
use super::reply_templates::Say;
use super::turn_path::{Path, Question};
use crate::chat::message::ChatMessage;
use crate::error::{Error, Result};
use crate::host::{ChatClient, Clock, EmbeddingModel, IndexFiles, StopSignal};
use crate::policy::policy_config::PolicyConfig;
use crate::retrieval::facets::{Filter, Preferences};
use crate::turn::{
    Action, EstimatedTokens, Failure, Intent, Language, Mode, TokenCounter, Trace, TraceStep, Turn, Usage,
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
    pub(super) began: u64,
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
        if self.stop.is_stopped() {
            let draft = self.stopped("rewrite");
            return self.finish(draft, Some(&understanding)).await;
        }
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
            Path::Chitchat => self.chitchat(&understanding.reason, understanding.signals.satisfied).await,
            Path::Unsearchable => {
                self.answer(Question { unsearchable: true, ..self.question(&understanding, &query) }).await
            }
            Path::Question => self.answer(self.question(&understanding, &query)).await,
        };
        self.finish(draft, Some(&understanding)).await
    }

    /// The turn of a reader who stopped it before there was anything to answer with: a sentence, and the cause.
    pub(super) fn stopped(&mut self, after: &str) -> Draft {
        self.trace.warnings.push(format!("the turn was stopped after the step `{after}`"));
        Draft {
            partial: true,
            error: Some(Failure::from(&Error::Cancelled)),
            ..Draft::said(Intent::Error, Action::AnswerDirectly, "stopped", self.say(Say::Stopped))
        }
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
            match self.stop.unless_stopped(filter.before(&message)).await {
                // Nothing is remembered of a message that the filter has not passed.
                None => ("stopped", Some(self.stopped("guard"))),
                Some(verdict) => match verdict {
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
                },
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
                understanding.settled = true;
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

/// Three decimals: enough to explain a decision, and short in a log.
pub(super) fn round(value: f32) -> f64 {
    (f64::from(value) * 1000.0).round() / 1000.0
}

/// The mode while nothing was searched.
pub(super) const IDLE_MODE: Mode = Mode::Lexical;
