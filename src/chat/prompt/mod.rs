//! Writes the requests of a turn: answers, follow-ups, small talk, and the small helper calls of `assist: "llm"`.
//!
//! Input: the reader's words, the conversation, the passages; output: a [`Prompt`], which is the request together with a
//! report of what each part took of the budget. The wording is in `templates`.
//! **Invariant:** reader's text and passages stand inside marked blocks that they cannot close, and a prompt with its
//! reply never exceeds [`PromptBudget::context_tokens`].

mod budget;
mod data_block;
mod templates;

use serde::{Deserialize, Serialize};

pub use budget::{PromptBudget, PromptPart, PromptReport};
use budget::{TOKENS_PER_MESSAGE, shorten};
use data_block::{DataBlock, as_data};
use templates::Templates;

use super::message::{ChatMessage, ChatRequest, Role};
use crate::turn::{FollowUpKind, Intent, Language, Passage, TokenCounter};

/// Tokens of a reply to small talk (spec: 256).
const CHITCHAT_REPLY_TOKENS: usize = 256;
/// Tokens of a rewritten query or of a summary (spec: 256).
const HELPER_REPLY_TOKENS: usize = 256;
/// Tokens of a routing reply (spec: 32).
const ROUTE_REPLY_TOKENS: usize = 32;
/// Sampling temperature of answers, 0..=2: low, because an answer is to stay with the passages.
const ANSWER_TEMPERATURE: f32 = 0.2;
/// Sampling temperature of small talk (spec: 0.7).
const CHITCHAT_TEMPERATURE: f32 = 0.7;
/// A passage is not given in fewer tokens than this: a stump misleads more than it helps.
const LEAST_PASSAGE_TOKENS: usize = 40;

/// Whether an answer may go beyond the passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grounding {
    /// Nothing from elsewhere.
    #[default]
    Strict,
    /// The model may add its own knowledge, marked as not from these docs.
    Open,
}

/// The answer that a follow-up works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastAnswer<'a> {
    /// What had been asked.
    pub question: &'a str,
    /// What had been answered.
    pub answer: &'a str,
    /// Whether it had broken off or was stopped.
    pub partial: bool,
}

/// A request with the account of its tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// What to send.
    pub request: ChatRequest,
    /// What it is made of.
    pub report: PromptReport,
    /// How many passages the model was given: the first so many of those handed in. Passage `i` has the number `i + 1`.
    pub passages_given: usize,
}

/// What all prompts of a turn have in common.
#[derive(Clone, Copy)]
pub struct PromptWriter<'a> {
    /// The language of the reply and of the instructions.
    pub language: Language,
    /// The rule for answers.
    pub grounding: Grounding,
    /// The limits.
    pub budget: PromptBudget,
    /// Counts the tokens.
    pub counter: &'a dyn TokenCounter,
    /// The running summary of what is no longer in `history`.
    pub summary: Option<&'a str>,
    /// The conversation before this turn, oldest first; the reader's current message is not in it.
    pub history: &'a [ChatMessage],
    /// A number of the session, so that the marks of data cannot be known beforehand.
    pub seed: u64,
    /// Whether answers are streamed.
    pub stream: bool,
}

/// One part of the prompt under construction.
struct Parts {
    report: PromptReport,
}

impl Parts {
    fn add(&mut self, part: &str, tokens: usize, cut: Option<String>) {
        self.report.prompt_tokens += tokens;
        self.report.parts.push(PromptPart { part: part.to_owned(), tokens, cut });
    }
}

impl PromptWriter<'_> {
    /// The prompt for an answer from passages.
    ///
    /// `standalone` is the rewritten query when it differs from `question`. `detailed` asks for spelled-out steps.
    #[must_use]
    pub fn answer(&self, question: &str, standalone: Option<&str>, passages: &[Passage], detailed: bool) -> Prompt {
        let words = Templates::of(self.language);
        let block = self.block(passages, &[question, standalone.unwrap_or("")]);
        let mut rules =
            vec![words.passages_first, self.grounding_rule(words), words.nothing_invented, words.cite, words.short];
        if detailed {
            rules.push(words.detailed);
        }
        rules.push(words.language);
        let system = self.system(words.role, words, &rules, &block, &["docs"]);
        let question = as_data(question);
        let meaning = standalone.filter(|query| *query != question).map(as_data);
        self.assemble(
            &block,
            system,
            passages,
            None,
            |limit| {
                let (question, cut) = shorten(&question, limit, self.counter);
                let mut text =
                    format!("{}\n{}\n{}\n{}", words.question, block.open("reader"), question, block.close("reader"));
                if let Some(meaning) = &meaning
                    && !cut
                    && self.counter.count(meaning) + self.counter.count(&text) <= limit
                {
                    text.push_str(&format!(
                        "\n{}\n{}\n{meaning}\n{}",
                        words.meaning,
                        block.open("reader"),
                        block.close("reader")
                    ));
                }
                (text, cut)
            },
            self.budget.reply_tokens,
            ANSWER_TEMPERATURE,
        )
    }

    /// The prompt for a follow-up of this kind on the last answer. `passages` are that answer's.
    #[must_use]
    pub fn follow_up(&self, kind: FollowUpKind, message: &str, last: &LastAnswer<'_>, passages: &[Passage]) -> Prompt {
        let words = Templates::of(self.language);
        let block = self.block(passages, &[message, last.question, last.answer]);
        let mut rules = vec![words.follow_up(kind)];
        if passages.is_empty() {
            rules.push(words.nothing_invented);
        } else {
            rules.extend([words.passages_first, self.grounding_rule(words), words.nothing_invented, words.cite]);
        }
        rules.push(words.language);
        let quoted: &[&str] = if passages.is_empty() { &["answer"] } else { &["docs", "answer"] };
        let system = self.system(words.role, words, &rules, &block, quoted);
        let message = as_data(message);
        self.assemble(
            &block,
            system,
            passages,
            Some(last),
            |limit| {
                let (message, cut) = shorten(&message, limit, self.counter);
                (format!("{}\n{}\n{message}\n{}", words.reader_says, block.open("reader"), block.close("reader")), cut)
            },
            self.budget.reply_tokens,
            ANSWER_TEMPERATURE,
        )
    }

    /// The prompt for small talk.
    #[must_use]
    pub fn chitchat(&self, message: &str) -> Prompt {
        let words = Templates::of(self.language);
        let block = self.block(&[], &[message]);
        let message = as_data(message);
        self.assemble(
            &block,
            words.chitchat.to_owned(),
            &[],
            None,
            |limit| shorten(&message, limit, self.counter),
            self.budget.reply_tokens.min(CHITCHAT_REPLY_TOKENS),
            CHITCHAT_TEMPERATURE,
        )
    }

    /// The prompt that sums up the conversation for the reader.
    #[must_use]
    pub fn recap(&self) -> Prompt {
        let words = Templates::of(self.language);
        self.helper(
            words.recap,
            self.summary,
            self.history,
            None,
            self.budget.reply_tokens,
            ANSWER_TEMPERATURE,
            self.stream,
        )
    }

    /// The prompt that rewrites the reader's message as a stand-alone query; read the reply with [`read_query`].
    #[must_use]
    pub fn rewrite(&self, message: &str) -> Prompt {
        let words = Templates::of(self.language);
        self.helper(words.rewrite, self.summary, self.history, Some(message), HELPER_REPLY_TOKENS, 0.0, false)
    }

    /// The prompt that decides the intent of the reader's message; read the reply with [`read_intent`].
    #[must_use]
    pub fn route(&self, message: &str) -> Prompt {
        let words = Templates::of(self.language);
        self.helper(words.route, self.summary, self.history, Some(message), ROUTE_REPLY_TOKENS, 0.0, false)
    }

    /// The prompt that folds `older` messages into the running summary.
    ///
    /// Where [`PromptReport::was_cut`] says that not all of them fit, the reply would not cover them: they are to be folded
    /// locally then.
    #[must_use]
    pub fn fold(&self, older: &[ChatMessage]) -> Prompt {
        let words = Templates::of(self.language);
        self.helper(words.fold, self.summary, older, None, HELPER_REPLY_TOKENS, 0.0, false)
    }

    fn grounding_rule(&self, words: &Templates) -> &'static str {
        match self.grounding {
            Grounding::Strict => words.strict,
            Grounding::Open => words.open,
        }
    }

    /// The mark for a prompt that quotes these texts beside the conversation.
    fn block(&self, passages: &[Passage], texts: &[&str]) -> DataBlock {
        let quoted: Vec<&str> = passages
            .iter()
            .flat_map(|passage| {
                [passage.title.as_str(), passage.text.as_str()]
                    .into_iter()
                    .chain(passage.heading_path.iter().map(String::as_str))
            })
            .chain(texts.iter().copied())
            .chain(self.summary)
            .chain(self.history.iter().map(|message| message.content.as_str()))
            .collect();
        // What is hidden or broken up later could join into the mark: the cleaned texts are what counts.
        let cleaned: Vec<String> = quoted.into_iter().map(as_data).collect();
        DataBlock::for_texts(cleaned.iter().map(String::as_str), self.seed)
    }

    fn system(&self, role: &str, words: &Templates, rules: &[&str], block: &DataBlock, quoted: &[&str]) -> String {
        let mut text = format!("{role}\n{}", words.rules_head);
        for (at, rule) in rules.iter().enumerate() {
            text.push_str(&format!("\n{}. {rule}", at + 1));
        }
        for (at, name) in quoted.iter().enumerate() {
            let data = words.data.replace("{open}", &block.open(name)).replace("{close}", &block.close(name));
            text.push_str(&format!("\n{}. {data}", rules.len() + at + 1));
        }
        text
    }

    /// Puts the parts together: fixed ones first, then passages, then as much of the conversation as fits.
    #[expect(clippy::too_many_arguments, reason = "one call per part of the prompt, all of them needed")]
    fn assemble(
        &self,
        block: &DataBlock,
        system: String,
        passages: &[Passage],
        last: Option<&LastAnswer<'_>>,
        last_part: impl Fn(usize) -> (String, bool),
        reply_tokens: usize,
        temperature: f32,
    ) -> Prompt {
        let words = Templates::of(self.language);
        let mut parts = Parts {
            report: PromptReport {
                reply_tokens,
                context_tokens: self.budget.context_tokens,
                ..PromptReport::default()
            },
        };
        let count = |text: &str| self.counter.count(text);
        let mut left = self.budget.context_tokens.saturating_sub(reply_tokens);

        let rules_tokens = count(&system) + TOKENS_PER_MESSAGE;
        left = left.saturating_sub(rules_tokens);
        // The reader's words come before everything that explains them; half of what is left is plenty for them.
        let (question, question_cut) = last_part(left / 2);
        let question_tokens = count(&question) + TOKENS_PER_MESSAGE;
        left = left.saturating_sub(question_tokens);

        let (answer, answer_tokens, answer_cut) = match last {
            None => (String::new(), 0, false),
            Some(last) => {
                let (text, cut) = self.last_answer(words, block, last, left / 2);
                let tokens = count(&text);
                (text, tokens, cut)
            }
        };
        left = left.saturating_sub(answer_tokens);

        let (docs, given, docs_cut) = self.passages(block, passages, left.min(self.budget.passages_tokens));
        let docs_tokens = count(&docs);
        left = left.saturating_sub(docs_tokens);

        let history_limit = left.min(self.budget.history_tokens);
        let (summary, summary_tokens, summary_cut) = self.summary_part(words, block, history_limit / 2);
        let (history, history_tokens, history_cut) = self.history(history_limit - summary_tokens.min(history_limit));

        parts.add("rules", rules_tokens, None);
        if summary_tokens > 0 || summary_cut {
            parts.add("summary", summary_tokens, summary_cut.then(|| "shortened".to_owned()));
        }
        if !self.history.is_empty() {
            parts.add("history", history_tokens, history_cut);
        }
        if !passages.is_empty() {
            parts.add("passages", docs_tokens, docs_cut);
        }
        if last.is_some() {
            parts.add("answer", answer_tokens, answer_cut.then(|| "shortened".to_owned()));
        }
        parts.add("question", question_tokens, question_cut.then(|| "shortened".to_owned()));

        let system = if summary.is_empty() { system } else { format!("{system}\n\n{summary}") };
        let mut messages = vec![ChatMessage::system(system)];
        messages.extend(history);
        let user: Vec<&str> =
            [docs.as_str(), answer.as_str(), question.as_str()].into_iter().filter(|text| !text.is_empty()).collect();
        messages.push(ChatMessage::user(user.join("\n\n")));
        Prompt {
            request: ChatRequest {
                messages,
                max_tokens: u32::try_from(reply_tokens).unwrap_or(u32::MAX),
                temperature,
                stream: self.stream,
            },
            report: parts.report,
            passages_given: given,
        }
    }

    fn last_answer(&self, words: &Templates, block: &DataBlock, last: &LastAnswer<'_>, limit: usize) -> (String, bool) {
        let head = if last.partial { words.previous_answer_partial } else { words.previous_answer };
        let (asked, asked_cut) = shorten(&as_data(last.question), limit / 4, self.counter);
        let frame = |asked: &str, answer: &str| {
            format!(
                "{}\n{open}\n{asked}\n{close}\n{head}\n{open}\n{answer}\n{close}",
                words.previous_question,
                open = block.open("answer"),
                close = block.close("answer"),
            )
        };
        let room = limit.saturating_sub(self.counter.count(&frame(&asked, "")));
        let (answer, answer_cut) = shorten(&as_data(last.answer), room, self.counter);
        (frame(&asked, &answer), asked_cut || answer_cut)
    }

    /// The block of passages, how many it holds, and what was cut.
    fn passages(&self, block: &DataBlock, passages: &[Passage], limit: usize) -> (String, usize, Option<String>) {
        if passages.is_empty() {
            return (String::new(), 0, None);
        }
        let count = |text: &str| self.counter.count(text);
        let frame = format!("{}\n{}", block.open("docs"), block.close("docs"));
        let mut used = count(&frame);
        let mut body = String::new();
        let mut given = 0;
        let mut shortened = 0;
        for (at, passage) in passages.iter().enumerate() {
            let mut head = as_data(&passage.title).replace('\n', " ");
            for heading in &passage.heading_path {
                head.push_str(" › ");
                head.push_str(&as_data(heading).replace('\n', " "));
            }
            let open = block.open_passage(at + 1);
            let close = block.close("passage");
            let whole = format!("\n{open}\n{head}\n{}\n{close}", as_data(&passage.text));
            let whole_tokens = count(&whole);
            if used + whole_tokens <= limit {
                used += whole_tokens;
                body.push_str(&whole);
                given += 1;
                continue;
            }
            let frame_tokens = count(&format!("\n{open}\n{head}\n\n{close}"));
            let room = limit.saturating_sub(used + frame_tokens);
            if room < LEAST_PASSAGE_TOKENS {
                break;
            }
            let (text, _) = self.around_best(passage, room);
            let part = format!("\n{open}\n{head}\n{text}\n{close}");
            let part_tokens = count(&part);
            if used + part_tokens > limit {
                break;
            }
            body.push_str(&part);
            given += 1;
            shortened += 1;
            // The rest of the budget is a stump by now.
            break;
        }
        if given == 0 {
            return (String::new(), 0, Some(format!("{} left out", passages.len())));
        }
        let left_out = passages.len() - given;
        let cut = match (shortened, left_out) {
            (0, 0) => None,
            (0, out) => Some(format!("{out} left out")),
            (short, 0) => Some(format!("{short} shortened")),
            (short, out) => Some(format!("{short} shortened, {out} left out")),
        };
        (format!("{}{body}\n{}", block.open("docs"), block.close("docs")), given, cut)
    }

    /// The start of a passage, or, where that leaves out the sentence that answers best, the passage from there on.
    fn around_best(&self, passage: &Passage, limit: usize) -> (String, bool) {
        let text = as_data(&passage.text);
        let best = as_data(&passage.best);
        let (start, cut) = shorten(&text, limit, self.counter);
        if best.is_empty() || start.contains(best.trim()) {
            return (start, cut);
        }
        match text.find(best.trim()) {
            Some(at) => {
                let (from_best, _) = shorten(&format!("… {}", &text[at..]), limit, self.counter);
                (from_best, true)
            }
            None => (start, cut),
        }
    }

    fn summary_part(&self, words: &Templates, block: &DataBlock, limit: usize) -> (String, usize, bool) {
        let Some(summary) = self.summary.map(str::trim).filter(|summary| !summary.is_empty()) else {
            return (String::new(), 0, false);
        };
        let frame =
            |text: &str| format!("{}\n{}\n{text}\n{}", words.summary, block.open("summary"), block.close("summary"));
        let room = limit.saturating_sub(self.counter.count(&frame("")) + 1);
        let (short, cut) = shorten(&as_data(summary), room, self.counter);
        if short.is_empty() {
            return (String::new(), 0, true);
        }
        let text = frame(&short);
        let tokens = self.counter.count(&text);
        (text, tokens, cut)
    }

    /// The newest messages that fit, as an alternation that begins with the reader: several chat templates refuse any
    /// other order.
    fn history(&self, limit: usize) -> (Vec<ChatMessage>, usize, Option<String>) {
        let mut kept: Vec<ChatMessage> = Vec::new();
        let mut used = 0;
        let mut shortened = 0;
        let mut whole = 0;
        for message in self.history.iter().rev() {
            let text = as_data(&without_citations(&message.content));
            let tokens = self.counter.count(&text) + TOKENS_PER_MESSAGE;
            if used + tokens <= limit {
                used += tokens;
                kept.push(ChatMessage { role: message.role, content: text });
                whole += 1;
                continue;
            }
            let room = limit.saturating_sub(used + TOKENS_PER_MESSAGE);
            if room >= LEAST_PASSAGE_TOKENS {
                let (text, _) = shorten(&text, room, self.counter);
                kept.push(ChatMessage { role: message.role, content: text });
                shortened = 1;
            }
            break;
        }
        kept.reverse();
        let mut alternating: Vec<ChatMessage> = Vec::new();
        for message in kept {
            // A system message in the middle of a conversation is a note about it; templates want it said by someone.
            let role = if message.role == Role::Assistant { Role::Assistant } else { Role::User };
            match alternating.last_mut() {
                None if role == Role::Assistant => {}
                Some(previous) if previous.role == role => {
                    previous.content.push('\n');
                    previous.content.push_str(&message.content);
                }
                _ => alternating.push(ChatMessage { role, content: message.content }),
            }
        }
        // The current question follows as the reader's.
        let mut unanswered = 0;
        if alternating.last().is_some_and(|message| message.role == Role::User) {
            alternating.pop();
            unanswered = 1;
        }
        let tokens = alternating.iter().map(|message| self.counter.count(&message.content) + TOKENS_PER_MESSAGE).sum();
        let left_out = self.history.len() - whole - shortened + unanswered;
        let cut = match (shortened, left_out) {
            (0, 0) => None,
            (0, out) => Some(format!("{out} messages left out")),
            (short, out) => Some(format!("{short} message shortened, {out} left out")),
        };
        (alternating, tokens, cut)
    }

    /// A prompt that looks at the conversation from outside: everything quoted in one message.
    #[expect(clippy::too_many_arguments, reason = "the helper calls differ in exactly these")]
    fn helper(
        &self,
        task: &str,
        summary: Option<&str>,
        history: &[ChatMessage],
        message: Option<&str>,
        reply_tokens: usize,
        temperature: f32,
        stream: bool,
    ) -> Prompt {
        let words = Templates::of(self.language);
        let texts: Vec<&str> = history.iter().map(|message| message.content.as_str()).chain(message).collect();
        let block = self.block(&[], &texts);
        let open = block.open("conversation");
        let close = block.close("conversation");
        let data = words.data.replace("{open}", &open).replace("{close}", &close);
        let system = format!("{task}\n{data}");
        let mut parts = Parts {
            report: PromptReport {
                reply_tokens,
                context_tokens: self.budget.context_tokens,
                ..PromptReport::default()
            },
        };
        let count = |text: &str| self.counter.count(text);
        let rules_tokens = count(&system) + 2 * TOKENS_PER_MESSAGE;
        let mut left = self.budget.context_tokens.saturating_sub(reply_tokens + rules_tokens);
        let line = |role: Role, text: &str| {
            let label = if role == Role::Assistant { words.assistant_label } else { words.user_label };
            format!("{label}{text}\n")
        };
        let frame_tokens = count(&format!("{}\n{open}\n{close}", words.conversation));
        left = left.saturating_sub(frame_tokens);

        let (last_line, message_cut) = match message {
            None => (String::new(), false),
            Some(message) => {
                let (text, cut) = shorten(&as_data(message), (left / 2).saturating_sub(8), self.counter);
                (line(Role::User, &text), cut)
            }
        };
        let message_tokens = count(&last_line);
        left = left.saturating_sub(message_tokens);

        let history_limit = left.min(self.budget.history_tokens);
        let summary_line = summary.map(str::trim).filter(|summary| !summary.is_empty()).map(|summary| {
            let (text, cut) = shorten(&as_data(summary), (history_limit / 2).saturating_sub(8), self.counter);
            (format!("{} {text}\n", words.summary_so_far), cut)
        });
        let (summary_line, summary_cut) = summary_line.unwrap_or_default();
        let summary_tokens = count(&summary_line);
        let mut lines: Vec<String> = Vec::new();
        let mut history_tokens = 0;
        for message in history.iter().rev() {
            let text = line(message.role, &as_data(&without_citations(&message.content)));
            let tokens = count(&text);
            if summary_tokens + history_tokens + tokens > history_limit {
                break;
            }
            history_tokens += tokens;
            lines.push(text);
        }
        lines.reverse();
        let left_out = history.len() - lines.len();

        parts.add("rules", rules_tokens + frame_tokens, None);
        if !summary_line.is_empty() {
            parts.add("summary", summary_tokens, summary_cut.then(|| "shortened".to_owned()));
        }
        if !history.is_empty() {
            parts.add("history", history_tokens, (left_out > 0).then(|| format!("{left_out} messages left out")));
        }
        if message.is_some() {
            parts.add("question", message_tokens, message_cut.then(|| "shortened".to_owned()));
        }
        let user = format!("{}\n{open}\n{summary_line}{}{last_line}{close}", words.conversation, lines.concat());
        Prompt {
            request: ChatRequest {
                messages: vec![ChatMessage::system(system), ChatMessage::user(user)],
                max_tokens: u32::try_from(reply_tokens).unwrap_or(u32::MAX),
                temperature,
                stream,
            },
            report: parts.report,
            passages_given: 0,
        }
    }
}

/// Earlier answers without their numbers: those passages are not the ones of this prompt.
fn without_citations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let after = &rest[at + 1..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if (1..=2).contains(&digits) && after[digits..].starts_with(']') {
            out.push_str(rest[..at].trim_end_matches(' '));
            rest = &after[digits + 1..];
        } else {
            out.push_str(&rest[..=at]);
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The query in the reply to [`PromptWriter::rewrite`]; `None` when there is nothing usable in it.
///
/// Small models add a label, quotes or an explanation; the first line without them is what was asked for. Whether the
/// query has to do with the question is the rewriter's to judge.
#[must_use]
pub fn read_query(reply: &str) -> Option<String> {
    let line = reply.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("```"))?;
    let mut query = line;
    for label in [
        "Standalone query:",
        "Search query:",
        "Rewritten query:",
        "Query:",
        "检索语句：",
        "改写后的语句：",
        "改写：",
        "查询：",
    ] {
        if let Some(prefix) = query.get(..label.len())
            && prefix.eq_ignore_ascii_case(label)
        {
            query = query[label.len()..].trim();
        }
    }
    let query = query.trim_matches(|c| matches!(c, '"' | '“' | '”' | '\'' | '`' | '「' | '」' | '*')).trim();
    (query.chars().count() >= 3).then(|| query.to_owned())
}

/// The intent in the reply to [`PromptWriter::route`]. Any other word than the three means `retrieval`.
#[must_use]
pub fn read_intent(reply: &str) -> Intent {
    let word: String =
        reply.trim().chars().skip_while(|c| !c.is_alphabetic()).take_while(|c| c.is_ascii_alphabetic()).collect();
    match word.to_ascii_lowercase().as_str() {
        "chitchat" => Intent::Chitchat,
        "clarify" => Intent::Clarify,
        _ => Intent::Retrieval,
    }
}

#[cfg(test)]
mod tests;
