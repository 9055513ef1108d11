//! A question on its way from search to reply: retrieve, relevance, decide, act, generate.

use serde_json::json;

use super::action_executor::LocalReply;
use super::draft::Draft;
use super::knowledge::{Findings, Surroundings};
use super::reply_templates::Say;
use super::run_turn::{TurnRun, round};
use super::session::OpenQuestion;
use super::turn_path::Question;
use crate::dialogue::dialogue_state::{OfferKind, OfferedItem};
use crate::host::{ChatClient, Clock, EmbeddingModel, IndexFiles};
use crate::lowercase::lowercase;
use crate::policy::decision_facts::DecisionFacts;
use crate::policy::policy_decision_maker::{Decision, PolicyDecisionMaker, Reason};
use crate::relevance::choices::{Choices, fits};
use crate::relevance::related_pages::RelatedPage;
use crate::relevance::relevance_engine::{JUDGED_BY, Progress, RelevanceEngine, Relevances, most_evidence};
use crate::turn::{Action, FollowUpKind, Intent, Passage, is_han};
use crate::understanding::IntentRouter;
use crate::understanding::intent_router::is_question;

/// Passages searched for each that is asked for: the rest shows what the hits split on, and what is related.
const SEARCH_DEPTH: usize = 4;

/// Ambiguity of a question that points at something nobody has named, 0..=1.
const UNRESOLVED_AMBIGUITY: f32 = 0.8;

/// Content words up to which a pronoun without a conversation is taken to refer to nothing.
const MOST_WORDS_OF_A_BARE_PRONOUN: usize = 3;

/// What the turn has found out before it decides.
struct Prepared {
    findings: Findings,
    relevances: Relevances,
    related: Vec<RelatedPage>,
    /// Choices for an ambiguous question.
    choices: Choices,
    /// The nearest pages, for a question that found too little.
    nearest: Choices,
    facts: DecisionFacts,
}

impl<C: ChatClient, E: EmbeddingModel, F: IndexFiles, K: Clock> TurnRun<'_, '_, C, E, F, K> {
    /// Searches, decides and answers.
    pub(super) async fn answer(&mut self, mut question: Question) -> Draft {
        if self.agent.index.borrow().is_none() {
            let text = self.say(Say::NoIndex);
            self.trace.warnings.push("there is no index yet".to_owned());
            return Draft {
                intent: Some(Intent::Clarify),
                action: Some(Action::AskClarification),
                reason: "no_index".to_owned(),
                reply: text,
                ..Draft::default()
            };
        }
        if question.general && question.query != question.message {
            // A whole question that the docs answer by itself needs nothing from the conversation.
            let alone = self.search(&question.message, JUDGED_BY).await;
            let best = most_evidence(&alone.passages);
            if best >= self.policy.relevance_threshold {
                question.query.clone_from(&question.message);
                question.carried = false;
            }
        }
        let mut prepared = self.prepare(&question).await;
        // Deciding and quoting take no time and wait for nothing: here is the last place where a stop can be heeded.
        if self.stop.is_stopped() {
            return self.stopped("relevance");
        }
        if let Some(verdict) = question.unsettled {
            let (best, known) = (prepared.relevances.retrieval, prepared.findings.in_vocabulary);
            let settled = IntentRouter::default().settle(verdict, &question.message, best, known);
            if settled.intent == Intent::Chitchat {
                let draft = self.chitchat(settled.reason, false).await;
                return Draft { query: Some(question.query), findings: Some(prepared.findings), ..draft };
            }
        }
        // A page that the answer quotes is no page beyond it.
        let quoted = self.executor().answer(Say::Answer, &prepared.findings.passages, false).quoted;
        prepared.related.retain(|page| quoted.iter().all(|passage| passage.document != page.document));
        prepared.facts.related = prepared.related.len();
        let since = self.clock();
        let maker = PolicyDecisionMaker::new(self.policy.clone());
        let decision = maker.decide(&prepared.facts);
        self.step(
            "decide",
            since,
            json!({
                "action": decision.action,
                "reason": decision.reason,
                "rule": decision.rule,
                "policy": if self.policy.learned.is_some() { "logistic" } else { "rules" },
                "variant": self.variant,
                "detailed": decision.detailed,
                "offerSummary": decision.offer_summary,
                "confusion": decision.confusion,
                "probabilities": decision.probabilities,
                "facts": prepared.facts,
            }),
        );
        self.act(question, prepared, decision).await
    }

    /// Retrieve and relevance.
    async fn prepare(&mut self, question: &Question) -> Prepared {
        let since = self.clock();
        let facet = question.chosen.as_ref().and_then(|item| item.offer.id.split_once('='));
        let page = question.chosen.as_ref().filter(|_| facet.is_none()).map(|item| item.offer.id.as_str());
        let mut findings = if question.unsearchable || question.asked_summary {
            Findings::default()
        } else {
            let depth = self.policy.top_k * SEARCH_DEPTH;
            self.search(&question.query, depth).await
        };
        if let Some((name, value)) = facet {
            let fitting: Vec<Passage> =
                findings.passages.iter().filter(|passage| fits(passage, name, value)).cloned().collect();
            // A value that no hit has any more (the model has become ready in between) must not empty the result.
            if !fitting.is_empty() {
                findings.passages = fitting;
            }
        }
        if let Some(document) = page {
            findings = self.only_page(findings, document, question).await;
        }
        let detail = self.retrieval_detail(question, &findings);
        self.step("retrieve", since, detail);

        let since = self.clock();
        let context = self.context(question, &findings).await;
        let prepared = self.weigh(question, findings, context);
        let relevances = &prepared.relevances;
        self.step(
            "relevance",
            since,
            json!({
                "retrieval": round(relevances.retrieval),
                "context": relevances.context.map(round),
                "goals": relevances.goals.iter().map(|(action, goal)| json!({ "action": action, "value": round(*goal) })).collect::<Vec<_>>(),
                "exploration": round(relevances.exploration),
                "choices": prepared.choices,
                "related": prepared.related.iter().take(5).collect::<Vec<_>>(),
            }),
        );
        prepared
    }

    fn retrieval_detail(&self, question: &Question, findings: &Findings) -> serde_json::Value {
        let hits: Vec<_> = findings
            .passages
            .iter()
            .take(self.policy.top_k)
            .map(|passage| {
                json!({
                    "id": passage.id, "title": passage.title, "headingPath": passage.heading_path,
                    "url": passage.url, "scores": passage.scores,
                })
            })
            .collect();
        json!({
            "query": question.query,
            "mode": findings.mode,
            "model": findings.model,
            "inVocabulary": round(findings.in_vocabulary),
            "found": findings.passages.len(),
            "hits": hits,
            "chosen": question.chosen.as_ref().map(|item| &item.offer.id),
        })
    }

    /// The passages of one page, best first.
    async fn only_page(&mut self, mut findings: Findings, document: &str, question: &Question) -> Findings {
        findings.passages.retain(|passage| passage.document == document);
        if findings.passages.is_empty() {
            let title = question.chosen.as_ref().map_or("", |item| item.offer.title.as_str());
            let query = format!("{title} {}", question.query);
            findings = self.search_page(&query, document).await;
        }
        findings
    }

    /// How much the question continues the conversation.
    async fn context(&mut self, question: &Question, findings: &Findings) -> Option<f32> {
        let messages: Vec<String> = {
            let session = self.agent.session.borrow();
            // The message itself has been added already: the ones before it count.
            session
                .memory
                .last_user_messages(1 + crate::relevance::context_relevance::MESSAGES)
                .skip(1)
                .map(str::to_owned)
                .collect()
        };
        self.context_relevance(&question.query, &messages, question.carried, findings).await
    }

    /// The four relevances, the choices, and the facts to decide on.
    fn weigh(&mut self, question: &Question, findings: Findings, context: Option<f32>) -> Prepared {
        let session = self.agent.session.borrow();
        let state = session.memory.state();
        let found: Vec<Passage> = findings.passages.clone();
        let index = self.agent.index.borrow();
        let Surroundings { related, choices, nearest, shape } = Surroundings::of(
            index.as_ref(),
            question,
            &found,
            &state.mentioned_documents,
            &state.offered_documents,
            self.language,
            self.policy.max_options,
        );
        drop(index);
        let progress = Progress {
            confusion: state.confusion,
            confusion_limit: self.policy.confusion_limit,
            topic_turns: state.topic.answered_turns,
            summary_after: self.policy.summary_after,
        };
        let relevances = RelevanceEngine.assess(&found, context, &choices, &related, progress);
        let best = found.first();
        let runner_up = best.and_then(|best| found.iter().find(|passage| passage.document != best.document));
        let asked_before = session.progress.open.is_some() && !question.any_choice && question.chosen.is_none() && {
            // The same thing: a message that names something else is a new question, and may be asked back about.
            context.is_some_and(|context| context >= self.policy.context_threshold)
        };
        // "How do I set it?" as a first message points at nothing either; in a long question the word may well refer to
        // something in the question itself.
        let pronoun = question.follow_up == Some(FollowUpKind::Pronoun)
            && !question.carried
            && shape.content_words <= MOST_WORDS_OF_A_BARE_PRONOUN;
        let unresolved = shape.unresolved || pronoun;
        let facts = DecisionFacts {
            asked_summary: question.asked_summary,
            asked_human: question.asked_human,
            any_choice: question.any_choice,
            confusion: state.confusion,
            found: found.len(),
            best: relevances.retrieval,
            runner_up: runner_up.map_or(0.0, |passage| passage.scores.evidence),
            context,
            answered_turns: session.progress.answered,
            topic_turns: state.topic.answered_turns,
            related: related.len(),
            exploration: relevances.exploration,
            in_vocabulary: findings.in_vocabulary,
            coverage: shape.coverage,
            content_words: if question.unsearchable { 0 } else { shape.content_words },
            message_words: message_words(&question.message),
            fragment: !is_question(&question.message),
            specificity: shape.specificity,
            spread: spread(&found),
            // That several pages match is no ambiguity by itself: most questions have more than one good passage.
            ambiguity: {
                let split = if choices.facet.is_some() { choices.split } else { 0.0 };
                if unresolved { split.max(UNRESOLVED_AMBIGUITY) } else { split }
            },
            unresolved,
            unknown_names: shape.unknown_names,
            choices: choices.items.len(),
            asked_before,
            chosen: question.chosen.is_some(),
        };
        Prepared { relevances, related, choices, nearest, facts, findings }
    }

    /// Carries out the decision.
    async fn act(&mut self, question: Question, prepared: Prepared, decision: Decision) -> Draft {
        if decision.action == Action::ProvideSummary {
            let draft = self.sum_up(decision.reason.as_str()).await;
            return Draft { facts: Some(prepared.facts), decision: Some(decision), ..draft };
        }
        let since = self.clock();
        let passages: Vec<Passage> = prepared.findings.passages.iter().take(self.policy.top_k).cloned().collect();
        let executor = self.executor();
        let mut reply = match (decision.action, decision.reason) {
            (Action::EscalateToHuman, _) => executor.hand_over(&self.not_offered(&prepared.nearest)),
            (_, Reason::NotInDocs) => executor.not_in_docs(&self.not_offered(&prepared.nearest)),
            (Action::AskClarification, reason) => {
                let facet = prepared.choices.facet.as_deref().map(|facet| executor.say(Say::Facet(facet)));
                let (lead, choices) = match (reason, &facet) {
                    (Reason::Ambiguous, Some(facet)) => (Say::Ambiguous(facet), &prepared.choices),
                    (Reason::Ambiguous, None) => (Say::WhichPage, &prepared.choices),
                    (Reason::NoResults, _) if question.unsearchable => (Say::Unsearchable, &prepared.nearest),
                    (Reason::NoResults, _) => (Say::NoResults, &prepared.nearest),
                    _ => (Say::LowRelevance, &prepared.nearest),
                };
                executor.ask(lead, choices)
            }
            _ => {
                let lead = match (&question.chosen, decision.reason) {
                    (Some(item), _) if item.offer.url.is_some() => Say::Chosen(&item.offer.title),
                    (_, Reason::BestGuess) => Say::BestGuess,
                    _ if decision.detailed => Say::DetailedAnswer,
                    _ => Say::Answer,
                };
                executor.answer(lead, &passages, decision.detailed)
            }
        };
        let answers = decision.reason != Reason::NotInDocs
            && matches!(decision.action, Action::AnswerDirectly | Action::SuggestRelated);
        let handover = (decision.action == Action::EscalateToHuman)
            .then(|| super::handover::offer(self.agent.config.contact.as_ref()));
        let mut extra = LocalReply::default();
        if answers {
            if decision.action == Action::SuggestRelated {
                executor.add_suggestions(&mut extra, &prepared.related, self.policy.max_suggestions);
            }
            if decision.offer_summary && !self.agent.session.borrow().progress.summary_offered {
                let offer = executor.own_offer("action=summary", Say::YesSummary);
                let number = extra.suggestions.len() + 1;
                extra.text.push_str(&format!("\n\n{}\n\n{number}. {}", executor.say(Say::OfferSummary), offer.title));
                extra.options.push(offer);
            }
        }
        self.step(
            "act",
            since,
            json!({
                "action": decision.action,
                "quoted": reply.quoted.iter().map(|passage| &passage.id).collect::<Vec<_>>(),
                "suggestions": extra.suggestions.iter().chain(&reply.suggestions).map(|offer| &offer.id).collect::<Vec<_>>(),
                "options": extra.options.iter().chain(&reply.options).map(|offer| &offer.id).collect::<Vec<_>>(),
                "detailed": decision.detailed,
            }),
        );
        let intent = match (question.intent, decision.action) {
            (Some(Intent::Clarify), Action::AskClarification) => Intent::Clarify,
            _ => Intent::Retrieval,
        };
        let mut draft = Draft {
            intent: Some(intent),
            follow_up: question.follow_up,
            action: Some(decision.action),
            reason: decision.reason.as_str().to_owned(),
            query: (!question.unsearchable && !question.asked_summary).then(|| question.query.clone()),
            selected: question.chosen.as_ref().map(|item| item.offer.id.clone()),
            answer: answers,
            handover,
            new_topic: self.is_new_topic(&prepared.facts),
            open: (decision.action == Action::AskClarification)
                .then(|| OpenQuestion { message: question.message.clone(), query: question.query.clone() }),
            passages: std::mem::take(&mut reply.quoted),
            ..Draft::default()
        };
        if answers {
            let detailed = decision.detailed;
            let prompt = self.writer().answer(&question.message, &question.query, &passages, detailed);
            let local = reply.text.clone();
            if let Some(generated) = self.generate(prompt, &passages, &local).await {
                draft.take(generated);
                reply.text = std::mem::take(&mut draft.reply);
            }
            // Follow-ups work on the answer, and not on what is offered below it.
            draft.generation.get_or_insert_with(|| reply.text.clone());
        }
        if draft.streamed
            && !extra.text.is_empty()
            && let Some(on_delta) = &mut self.on_delta
        {
            on_delta(&extra.text);
        }
        reply.text.push_str(&extra.text);
        draft.reply = reply.text;
        draft.suggestions = [reply.suggestions, extra.suggestions].concat();
        draft.options = [reply.options, extra.options].concat();
        draft.relevances = Some(prepared.relevances);
        draft.findings = Some(prepared.findings);
        draft.facts = Some(prepared.facts);
        draft.decision = Some(decision);
        draft
    }

    /// The choices without the pages that were offered before: as the choices of a question they may come again, as offers
    /// they may not.
    fn not_offered(&self, choices: &Choices) -> Choices {
        let session = self.agent.session.borrow();
        let offered = &session.memory.state().offered_documents;
        let items = choices.items.iter().filter(|item| !offered.contains(&item.id)).cloned().collect();
        Choices { items, ..choices.clone() }
    }

    fn is_new_topic(&self, facts: &DecisionFacts) -> bool {
        facts.context.is_none_or(|context| context < self.policy.context_threshold)
    }

    /// The reader chose an offered item: a page is opened, a choice continues the turn that it came from.
    pub(super) async fn selected(&mut self, item: OfferedItem) -> Draft {
        let open = self.agent.session.borrow().progress.open.clone();
        let continues = item.kind == OfferKind::Option;
        let (message, query) = match open {
            Some(open) if continues => (open.message, open.query),
            _ if item.question.is_empty() || !continues => (item.offer.title.clone(), item.offer.title.clone()),
            _ => (item.question.clone(), item.question.clone()),
        };
        // The choice is a part of the question from here on, for the search as for the reader of the log.
        let query = if continues && !lowercase(&query).contains(&lowercase(&item.offer.title)) {
            format!("{query} {}", item.offer.title)
        } else {
            query
        };
        let question = Question {
            intent: Some(Intent::Retrieval),
            message,
            query,
            carried: true,
            chosen: Some(item),
            ..Question::default()
        };
        self.answer(question).await
    }
}

/// Words of a message, Chinese characters each for themselves.
fn message_words(message: &str) -> usize {
    let han = message.chars().filter(|c| is_han(*c)).count();
    let others = message.split(|c: char| !c.is_alphanumeric() || is_han(c)).filter(|word| !word.is_empty()).count();
    han + others
}

/// Pages over which the evidence is looked at.
const SPREAD_PAGES: usize = 8;

/// How evenly the evidence spreads over the best pages, 0..=1: the entropy of their shares, over the most there can be.
fn spread(found: &[Passage]) -> f32 {
    let mut pages: Vec<(&str, f32)> = Vec::new();
    for passage in found {
        if pages.len() < SPREAD_PAGES && pages.iter().all(|(page, _)| *page != passage.document) {
            pages.push((&passage.document, passage.scores.evidence));
        }
    }
    let total: f32 = pages.iter().map(|(_, evidence)| evidence).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let shares = pages.iter().map(|(_, evidence)| evidence / total).filter(|share| *share > 0.0);
    let entropy: f32 = shares.map(|share| -share * share.ln()).sum();
    // One page alone has the entropy minus zero.
    (entropy / (SPREAD_PAGES as f32).ln()).clamp(0.0, 1.0) + 0.0
}
