//! Generation: the only step that may leave the page, and what becomes of its result.
//!
//! Input: a prompt and the local reply that stands in for it. Output: [`Generated`], also when the endpoint failed.
//! **Invariant:** a failure never escapes as an error: it becomes a sentence, the cause, and the local reply.

use serde_json::json;

use super::agent_config::Assist;
use super::code_fence;
use super::reply_templates::Say;
use super::run_turn::{Counter, TurnRun, round};
use crate::chat::citation::CitationFilter;
use crate::chat::message::{ChatMessage, ChatRequest, Ending};
use crate::chat::prompt::{Grounding, LastAnswer, Prompt, PromptBudget, PromptWriter};
use crate::error::Error;
use crate::host::{ChatClient, Clock, EmbeddingModel, IndexFiles};
use crate::relevance::grounding;
use crate::retrieval::analyzer::Analyzer;
use crate::retrieval::search_index::SearchIndex;
use crate::turn::{Failure, FollowUpKind, Language, Passage, TokenCounter, Usage};

/// What came of a generation.
#[derive(Debug, Default)]
pub(super) struct Generated {
    /// The reply.
    pub(super) text: String,
    /// What follow-ups work on where that is not the whole text: what had arrived, or the local reply alone.
    pub(super) generation: Option<String>,
    /// The passages that became links, in the order of their numbers; `None` leaves those of the local reply.
    pub(super) passages: Option<Vec<Passage>>,
    /// Numbers of the passages that the reply cites.
    pub(super) cited: Vec<usize>,
    /// What arrived is not all.
    pub(super) partial: bool,
    /// Sentences without support, as byte ranges of the text.
    pub(super) unsupported: Vec<(usize, usize)>,
    /// Share of the sentences that the passages support.
    pub(super) supported: Option<f32>,
    /// Why it failed.
    pub(super) error: Option<Failure>,
    /// The pieces were handed out while they arrived.
    pub(super) streamed: bool,
}

impl<C: ChatClient, E: EmbeddingModel, F: IndexFiles, K: Clock> TurnRun<'_, '_, C, E, F, K> {
    /// Whether steps besides generation may use the endpoint.
    pub(super) fn assisted(&self) -> bool {
        self.agent.config.assist == Assist::Llm && self.agent.hosts.chat.is_some()
    }

    /// Writes the prompts of this turn.
    pub(super) fn writer(&self) -> Writer<'_, E> {
        Writer {
            counter: Counter(&self.agent.hosts.embedding),
            history: &self.history,
            summary: (!self.summary.is_empty()).then_some(self.summary.as_str()),
            language: self.language,
            grounding: self.agent.config.grounding,
            budget: self.agent.config.budget,
            seed: self.agent.config.seed ^ self.choice,
            stream: self.agent.config.stream,
        }
    }

    /// One small call that helps a local step; `None` where it failed, so that the local step stands.
    pub(super) async fn ask_endpoint(&mut self, purpose: &str, request: &ChatRequest) -> Option<String> {
        let chat = self.agent.hosts.chat.as_ref()?;
        if self.stop.is_stopped() {
            return None;
        }
        match chat.complete(request, &self.stop, &mut |_| {}).await {
            Ok(reply) => {
                self.add_usage(reply.usage, request, &reply.text);
                Some(reply.text)
            }
            Err(error) => {
                self.trace.warnings.push(format!("{purpose}: {error}; the local step stands"));
                None
            }
        }
    }

    /// Generates a reply; `None` where there is no endpoint. `local` stands in for it when it fails.
    pub(super) async fn generate(&mut self, prompt: Prompt, passages: &[Passage], local: &str) -> Option<Generated> {
        let agent = self.agent;
        let chat = agent.hosts.chat.as_ref()?;
        let since = self.clock();
        let given = &passages[..prompt.passages_given.min(passages.len())];
        let mut text = String::new();
        let mut first_ms = None;
        let mut arrived = false;
        // Checked while it streams: a link that is not the passages' is never shown, not even for a moment.
        let mut citations = CitationFilter::new(given, self.language);
        let mut on_delta = self.on_delta.take();
        let mut give = |part: &str| {
            text.push_str(part);
            if let Some(on_delta) = &mut on_delta {
                on_delta(part);
            }
        };
        let result = if self.stop.is_stopped() {
            Err(Error::Cancelled)
        } else {
            let clock = &agent.hosts.clock;
            chat.complete(&prompt.request, &self.stop, &mut |piece| {
                first_ms.get_or_insert_with(|| clock.monotonic_ms() - since);
                arrived = true;
                citations.push(piece, &mut give);
            })
            .await
        };
        if let Ok(reply) = &result
            && !arrived
        {
            citations.push(&reply.text, &mut give);
        }
        let citations = citations.finish(&mut give);
        self.on_delta = on_delta;
        let streamed = !text.is_empty();
        let mut generated = Generated { streamed, cited: citations.used.clone(), ..Generated::default() };
        let mut finish_reason = None;
        let mut grounding = None;
        match result {
            Ok(reply) => {
                self.add_usage(reply.usage, &prompt.request, &reply.text);
                finish_reason.clone_from(&reply.finish_reason);
                text.trim_end().clone_into(&mut generated.text);
                if generated.text.is_empty() {
                    let error = Error::Protocol("the reply holds no text".to_owned());
                    self.fall_back(&mut generated, &error, local);
                } else {
                    // A reply that met its limit of tokens stops in the middle: it is not shown as finished.
                    generated.partial = reply.ending == Ending::Truncated;
                    let end = end_of_code(&generated.text);
                    if let Some(on_delta) = self.on_delta.as_mut().filter(|_| !end.is_empty()) {
                        on_delta(&end);
                    }
                    generated.text.push_str(&end);
                    if reply.ending == Ending::Unclear {
                        self.trace.warnings.push("the endpoint did not say whether its reply is whole".to_owned());
                    }
                    grounding = self.check_support(&mut generated, given);
                }
            }
            Err(error) => {
                self.add_usage(None, &prompt.request, &text);
                text.trim().clone_into(&mut generated.text);
                self.fall_back(&mut generated, &error, local);
            }
        }
        self.step(
            "generate",
            since,
            json!({
                "prompt": prompt.report,
                "passagesGiven": given.len(),
                "firstDeltaMs": first_ms,
                "finishReason": finish_reason,
                "chars": generated.text.chars().count(),
                "partial": generated.partial,
                "supported": generated.supported.map(round),
                "unsupported": generated.unsupported,
                "citations": citations.used,
                "citationsRemoved": citations.removed,
                "linksRemoved": citations.links_removed,
                "sentences": grounding.map(|found| found.sentences),
                "error": generated.error.as_ref().map(|failure| failure.code.clone()),
            }),
        );
        Some(generated)
    }

    /// After a failure: what had arrived, a polite sentence, and the local reply. A stop by the reader needs no apology.
    fn fall_back(&mut self, generated: &mut Generated, error: &Error, local: &str) {
        let failure = Failure::from(error);
        let arrived = !generated.text.is_empty();
        let mut tail = String::new();
        generated.generation = Some(if arrived { generated.text.clone() } else { local.to_owned() });
        if arrived {
            generated.partial = true;
            tail.push_str(&end_of_code(&generated.text));
            tail.push_str("\n\n");
            tail.push_str(&self.say(Say::BrokeOff));
        }
        let stopped = *error == Error::Cancelled;
        if !(stopped && arrived) {
            if !tail.is_empty() {
                tail.push_str("\n\n");
            }
            if !stopped {
                tail.push_str(&self.say(Say::Failed(failure.kind, failure.retry_after_ms)));
                tail.push(' ');
                tail.push_str(&self.say(Say::LocalAnswer));
                tail.push_str("\n\n");
            }
            tail.push_str(local);
        }
        if generated.streamed
            && let Some(on_delta) = &mut self.on_delta
        {
            on_delta(&tail);
        }
        generated.text.push_str(&tail);
        generated.error = Some(failure);
    }

    /// Scores the sentences of a whole reply against the passages it was made from.
    fn check_support(&mut self, generated: &mut Generated, given: &[Passage]) -> Option<grounding::Grounding> {
        generated.passages = Some(given.to_vec());
        if given.is_empty() {
            return None;
        }
        let index = self.agent.index.borrow();
        let fallback = Analyzer::default();
        let analyzer = index.as_ref().map_or(&fallback, SearchIndex::analyzer);
        let found = grounding::support(&generated.text, &self.message, given, analyzer);
        generated.unsupported = found.sentences.iter().filter(|s| !s.supported).map(|s| (s.start, s.end)).collect();
        let stated = found.sentences.len();
        generated.supported = (stated > 0).then(|| 1.0 - found.unsupported as f32 / stated as f32);
        Some(found)
    }

    fn add_usage(&mut self, usage: Option<Usage>, request: &ChatRequest, reply: &str) {
        let usage = usage.unwrap_or_else(|| {
            let counter = Counter(&self.agent.hosts.embedding);
            let prompt: usize = request.messages.iter().map(|message| counter.count(&message.content)).sum();
            Usage {
                prompt_tokens: u32::try_from(prompt).unwrap_or(u32::MAX),
                completion_tokens: u32::try_from(counter.count(reply)).unwrap_or(u32::MAX),
                calls: 1,
                estimated: true,
            }
        });
        let sum = self.usage.get_or_insert_with(Usage::default);
        sum.prompt_tokens = sum.prompt_tokens.saturating_add(usage.prompt_tokens);
        sum.completion_tokens = sum.completion_tokens.saturating_add(usage.completion_tokens);
        sum.calls = sum.calls.saturating_add(usage.calls.max(1));
        sum.estimated |= usage.estimated;
    }
}

/// What a reply needs so that what follows it is not taken for code; nothing where it ended outside of a code block.
fn end_of_code(text: &str) -> String {
    code_fence::closing(text).map_or_else(String::new, |mark| format!("\n{mark}"))
}

/// The parts of a prompt writer, with the counter that it borrows.
pub(super) struct Writer<'a, E> {
    counter: Counter<'a, E>,
    history: &'a [ChatMessage],
    summary: Option<&'a str>,
    language: Language,
    grounding: Grounding,
    budget: PromptBudget,
    seed: u64,
    stream: bool,
}

impl<E: EmbeddingModel> Writer<'_, E> {
    fn writer(&self) -> PromptWriter<'_> {
        PromptWriter {
            language: self.language,
            grounding: self.grounding,
            budget: self.budget,
            counter: &self.counter,
            summary: self.summary,
            history: self.history,
            seed: self.seed,
            stream: self.stream,
        }
    }

    pub(super) fn answer(&self, question: &str, query: &str, passages: &[Passage], detailed: bool) -> Prompt {
        self.writer().answer(question, Some(query), passages, detailed)
    }

    pub(super) fn follow_up(
        &self,
        kind: FollowUpKind,
        message: &str,
        last: &LastAnswer<'_>,
        passages: &[Passage],
    ) -> Prompt {
        self.writer().follow_up(kind, message, last, passages)
    }

    pub(super) fn chitchat(&self, message: &str) -> Prompt {
        self.writer().chitchat(message)
    }

    pub(super) fn recap(&self) -> Prompt {
        self.writer().recap()
    }

    /// Folds `older` messages into `summary`, which is the memory's own and may be newer than the one of the turn's start.
    pub(super) fn fold(&self, summary: &str, older: &[ChatMessage]) -> Prompt {
        PromptWriter { summary: (!summary.is_empty()).then_some(summary), ..self.writer() }.fold(older)
    }

    pub(super) fn rewrite(&self, message: &str) -> Prompt {
        self.writer().rewrite(message)
    }

    pub(super) fn route(&self, message: &str) -> Prompt {
        self.writer().route(message)
    }
}
