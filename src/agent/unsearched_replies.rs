//! The turns that search nothing: small talk, follow-ups on the last answer, summaries, hand-over, repeated offers.

use serde_json::json;

use super::draft::Draft;
use super::reply_templates::Say;
use super::run_turn::{Counter, TurnRun};
use crate::dialogue::dialogue_state::OfferKind;
use crate::dialogue::history_summarizer::HistorySummarizer;
use crate::host::{ChatClient, Clock, EmbeddingModel, IndexFiles};
use crate::turn::{Action, FollowUpKind, Intent};

impl<C: ChatClient, E: EmbeddingModel, F: IndexFiles, K: Clock> TurnRun<'_, '_, C, E, F, K> {
    /// The number chosen was not offered: the offer again.
    pub(super) fn repeat_offer(&mut self, count: usize) -> Draft {
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
    pub(super) fn hand_over(&mut self, agreed: bool) -> Draft {
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

    /// Small talk; `reason` says what kind of it, `satisfied` that the reader's question is settled.
    pub(super) async fn chitchat(&mut self, reason: &str, satisfied: bool) -> Draft {
        let say = match reason {
            "goodbye" => Say::Bye,
            "thanks" => Say::Thanks,
            _ if satisfied => Say::Thanks,
            "greeting" => Say::Greeting,
            "acknowledgement" => Say::Acknowledged,
            _ => Say::SmallTalk,
        };
        let mut draft = Draft::said(Intent::Chitchat, Action::Chitchat, reason, self.say(say));
        let since = self.clock();
        self.step("act", since, json!({ "action": "chitchat", "local": draft.reply }));
        let prompt = self.writer().chitchat(&self.message);
        if let Some(generated) = self.generate(prompt, &[], &draft.reply).await {
            draft.take(generated);
        }
        draft
    }

    /// A follow-up on the last generation; it keeps that turn's passages as its sources.
    pub(super) async fn follow_up(&mut self, kind: FollowUpKind) -> Draft {
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
