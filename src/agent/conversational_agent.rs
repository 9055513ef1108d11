//! The agent: one conversation, one turn at a time.
//!
//! Input: the reader's messages and the host's parts ([`Hosts`]). Output: a [`Turn`] each, and one [`TurnRecord`].
//! **Invariant:** all methods take `&self`; no state is borrowed while the host is awaited, so that reading the agent
//! during a running turn always works.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::agent_config::AgentConfig;
use super::content_filter::{ContentFilter, WordFilter};
use super::metrics::Metrics;
use super::session::Session;
use super::turn_record::{ReaderEvent, TurnRecord};
use crate::chat::message::{ChatMessage, Role};
use crate::dialogue::conversation_memory::Message;
use crate::dialogue::dialogue_state::LastGeneration;
use crate::error::{Error, Result};
use crate::host::{ChatClient, Clock, EmbeddingModel, IndexFiles, StopSignal};
use crate::retrieval::facets::{Filter, Preferences};
use crate::retrieval::query_embeddings::QueryEmbeddings;
use crate::retrieval::search_index::{SearchIndex, SearchRequest};
use crate::retrieval::vector_engine::EngineAnswer;
use crate::turn::{Mode, Turn};
use crate::understanding::NoVocabulary;

/// What the host provides.
#[derive(Debug)]
pub struct Hosts<C, E, F, K> {
    /// The endpoint; `None` answers from the passages alone.
    pub chat: Option<C>,
    /// The embedding model, which may become ready later.
    pub embedding: E,
    /// The index files that are fetched on demand.
    pub files: F,
    /// The time.
    pub clock: K,
}

/// What one call of [`ConversationalAgent::chat`] may set.
#[derive(Default)]
pub struct ChatOptions<'a> {
    /// Called with each piece of the reply as it arrives; a local reply comes as one piece.
    pub on_delta: Option<&'a mut dyn FnMut(&str)>,
    /// Stops the turn.
    pub stop: StopSignal,
    /// Which pages may answer this turn.
    pub filter: Filter,
    /// Which pages would rather answer it, beside what the reader said about themselves.
    pub preferences: Preferences,
}

/// What a site does with the record of a turn.
pub type Sink = Box<dyn Fn(&TurnRecord)>;

/// The agent of one conversation.
pub struct ConversationalAgent<C, E, F, K> {
    pub(super) config: AgentConfig,
    pub(super) hosts: Hosts<C, E, F, K>,
    pub(super) session: RefCell<Session>,
    pub(super) index: RefCell<Option<SearchIndex>>,
    pub(super) embeddings: RefCell<QueryEmbeddings>,
    pub(super) filter: RefCell<Rc<dyn ContentFilter>>,
    pub(super) sink: RefCell<Option<Sink>>,
    /// Until when the vector engine is not asked again, on the monotonic clock, because it could not be reached.
    engine_rests_until: Cell<f64>,
    busy: Cell<bool>,
}

/// Time that a vector engine is left alone after it could not be reached, in milliseconds: a reader should not wait for it
/// with every message.
const ENGINE_REST_MS: f64 = 30_000.0;

/// Marks the agent as busy until it is dropped, also when the turn's future is dropped in the middle.
struct Busy<'a>(&'a Cell<bool>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl<C: ChatClient, E: EmbeddingModel, F: IndexFiles, K: Clock> ConversationalAgent<C, E, F, K> {
    /// An agent with these options.
    ///
    /// # Errors
    /// [`Error::InvalidOption`].
    pub fn new(config: AgentConfig, hosts: Hosts<C, E, F, K>) -> Result<Self> {
        config.check()?;
        let session = Session::new(&config, hosts.clock.now_ms());
        let filter: Rc<dyn ContentFilter> = Rc::new(WordFilter::new(config.content_filter.clone()));
        Ok(Self {
            config,
            hosts,
            session: RefCell::new(session),
            index: RefCell::new(None),
            embeddings: RefCell::default(),
            filter: RefCell::new(filter),
            sink: RefCell::new(None),
            engine_rests_until: Cell::new(f64::NEG_INFINITY),
            busy: Cell::new(false),
        })
    }

    /// The options.
    #[must_use]
    pub fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// The session's id.
    #[must_use]
    pub fn session_id(&self) -> String {
        self.session.borrow().memory.state().session_id.clone()
    }

    /// The messages in the window.
    #[must_use]
    pub fn history(&self) -> Vec<Message> {
        self.session.borrow().memory.messages().to_vec()
    }

    /// Whether a turn is running.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.busy.get()
    }

    /// Sets the index, or replaces it. A running turn goes on with what it has found.
    pub fn set_index(&self, index: SearchIndex) {
        *self.index.borrow_mut() = Some(index);
    }

    /// Gives the index to `change`, to add vectors or texts that arrived; `None` where there is no index yet.
    pub fn with_index<R>(&self, change: impl FnOnce(&mut SearchIndex) -> R) -> Option<R> {
        self.index.borrow_mut().as_mut().map(change)
    }

    /// Asks the vector engine what a search needs of it; `None` where the index names none, or the search asks nothing of
    /// it. The answer belongs in [`SearchRequest::engine`].
    ///
    /// # Errors
    /// [`Error::VectorEngine`] with what went wrong; the search then goes on with words.
    pub async fn ask_engine(&self, request: &SearchRequest<'_>) -> Result<Option<EngineAnswer>> {
        let call = self.index.borrow().as_ref().map_or(Ok(None), |index| index.engine_call(request))?;
        let Some(call) = call else { return Ok(None) };
        if self.hosts.clock.monotonic_ms() < self.engine_rests_until.get() {
            return Err(Error::VectorEngine("it could not be reached a moment ago".to_owned()));
        }
        let asked = self.hosts.files.ask_engine(&call.url, &call.headers, &call.body, call.timeout_ms).await;
        let (status, body) = asked.inspect_err(|_| {
            self.engine_rests_until.set(self.hosts.clock.monotonic_ms() + ENGINE_REST_MS);
        })?;
        self.index.borrow().as_ref().map(|index| index.engine_answer(&call, status, &body)).transpose()
    }

    /// Which legs of the search are ready: hybrid from when the vectors and the model they were made with are there.
    #[must_use]
    pub fn mode(&self) -> Mode {
        let model = self.hosts.embedding.model_id();
        let hybrid =
            self.index.borrow().as_ref().is_some_and(|index| super::knowledge::is_hybrid(index, model.as_deref()));
        if hybrid { Mode::Hybrid } else { Mode::Lexical }
    }

    /// The embedding of a query, computed once for texts that come again.
    ///
    /// # Errors
    /// [`Error::Model`](crate::error::Error::Model) when there is no model yet, or it fails.
    pub async fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let model = self.hosts.embedding.model_id().unwrap_or_default();
        let known = self.embeddings.borrow_mut().get(&model, text);
        if let Some(known) = known {
            return Ok(known);
        }
        let embedding = self.hosts.embedding.embed_query(text).await?;
        self.embeddings.borrow_mut().insert(&model, text, embedding.clone());
        Ok(embedding)
    }

    /// Replaces the content filter.
    pub fn set_content_filter(&self, filter: Rc<dyn ContentFilter>) {
        *self.filter.borrow_mut() = filter;
    }

    /// Sets what is called with the record of every turn, and again when the reader's next step completes it: of a turn
    /// that comes twice the last record counts.
    pub fn set_sink(&self, sink: Option<Sink>) {
        *self.sink.borrow_mut() = sink;
    }

    /// One turn: understands the message, searches, decides, answers, remembers.
    ///
    /// A failure of the endpoint, of a file or of the model resolves to a turn that says so ([`Turn::error`]) with the
    /// local answer; the conversation goes on.
    ///
    /// # Errors
    /// [`Error::Busy`] while another turn runs, [`Error::InvalidOption`] for an empty message or a malformed option.
    pub async fn chat(&self, message: &str, options: ChatOptions<'_>) -> Result<Turn> {
        if self.busy.replace(true) {
            return Err(Error::Busy);
        }
        let _busy = Busy(&self.busy);
        self.run_turn(message, options).await
    }

    /// Forgets the conversation, not the log; the session goes on under a new id.
    ///
    /// # Errors
    /// [`Error::Busy`] while a turn runs.
    pub fn reset(&self) -> Result<()> {
        if self.busy.get() {
            return Err(Error::Busy);
        }
        let now = self.hosts.clock.now_ms();
        self.session.borrow_mut().reset(&self.config, now);
        Ok(())
    }

    /// Takes over a conversation that was led elsewhere, as if it had been led here: the messages stand in the window and
    /// the last answer can be worked on, but no passages are known for it. What was before is forgotten.
    ///
    /// # Errors
    /// [`Error::Busy`] while a turn runs.
    pub fn load_history(&self, messages: &[ChatMessage]) -> Result<()> {
        self.reset()?;
        let mut session = self.session.borrow_mut();
        let counter = super::run_turn::Counter(&self.hosts.embedding);
        for message in messages {
            let now = self.hosts.clock.now_ms();
            session.memory.add_message(message.role, message.content.clone(), now, BTreeMap::new(), &counter);
        }
        let said =
            |role| messages.iter().rev().find(|message| message.role == role).map(|message| message.content.clone());
        let answers = messages.iter().filter(|message| message.role == Role::Assistant).count();
        let question = said(Role::User).unwrap_or_default();
        session.progress.answered = u32::try_from(answers).unwrap_or(u32::MAX);
        let state = session.memory.state_mut();
        state.turn_count = u32::try_from(answers).unwrap_or(u32::MAX);
        // What readers and agent have named stands in the order in which they did.
        for message in messages {
            let (entities, facts) = crate::understanding::entities::read(&message.content, &NoVocabulary);
            state.note_entities(&entities);
            if message.role == Role::User {
                state.note_reader(&facts);
            }
        }
        state.topic.query.clone_from(&question);
        if let Some(text) = said(Role::Assistant) {
            state.note_generation(LastGeneration {
                question: question.clone(),
                query: question,
                text,
                partial: false,
                follow_up: None,
                passages: Vec::new(),
            });
        }
        Ok(())
    }

    /// The conversation with its state and its log as JSON, for [`Self::restore`].
    #[must_use]
    pub fn export(&self) -> String {
        self.session.borrow().export()
    }

    /// Replaces the conversation by an exported one.
    ///
    /// # Errors
    /// [`Error::Storage`] with the reason, [`Error::Busy`] while a turn runs; the conversation is then as it was.
    pub fn restore(&self, json: &str) -> Result<()> {
        if self.busy.get() {
            return Err(Error::Busy);
        }
        let restored = Session::restore(&self.config, json)?;
        *self.session.borrow_mut() = restored;
        Ok(())
    }

    /// What the log says about the guidance so far.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics::of(&self.session.borrow().log, self.config.price_per_1k_tokens)
    }

    /// The records as JSON lines, oldest first.
    #[must_use]
    pub fn export_log(&self) -> String {
        self.session.borrow().log.iter().map(|record| record.to_line() + "\n").collect()
    }

    /// The record of the last turn.
    #[must_use]
    pub fn last_record(&self) -> Option<TurnRecord> {
        self.session.borrow().log.last().cloned()
    }

    /// Notes what the reader did with the last reply.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] when there is no turn yet.
    pub fn record_event(&self, event: ReaderEvent) -> Result<()> {
        let record = self.session.borrow_mut().note_event(event)?;
        self.emit(&record);
        Ok(())
    }

    /// Hands a record to the site's sink, if there is one.
    pub(super) fn emit(&self, record: &TurnRecord) {
        if let Some(sink) = &*self.sink.borrow() {
            sink(record);
        }
    }
}
