//! The conversation as the agent remembers it: a window of messages, the summary of what left it, the state of the dialogue.
//!
//! Input: messages, as they are said. Output: context for a completion, text for retrieval, one JSON save.
//! **Invariant:** nothing leaves the window before the summary covers it, and a save that is refused changes nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::dialogue_state::DialogueState;
use super::history_summarizer::HistorySummarizer;
use crate::chat::message::{ChatMessage, Role};
use crate::error::{Error, Result};
use crate::json;
use crate::turn::{Language, TokenCounter};

/// Name that every save carries, so that another tool's JSON is recognized as such.
const FORMAT: &str = "docent-conversation";
/// Version of the save, raised whenever its shape changes.
const VERSION: u32 = 1;
/// Largest save that is read, in bytes: far above any window, far below what hurts a page.
const MAX_SAVE_BYTES: usize = 8 << 20;
/// Length of a message id, in characters.
const ID_LENGTH: usize = 8;
/// Letters of a message id: 32 of them, without those that look alike.
const ID_LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Eight characters, unique in the conversation.
    pub id: String,
    /// Who speaks.
    pub role: Role,
    /// The text.
    pub content: String,
    /// Milliseconds since the Unix epoch.
    pub timestamp: u64,
    /// Whatever the site or the agent wants to remember with it.
    #[serde(default)]
    pub meta: BTreeMap<String, serde_json::Value>,
}

/// How much of the conversation is kept word for word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowLimits {
    /// Turns: so many user messages and so many assistant messages. 1 and up.
    pub max_turns: usize,
    /// Tokens of the window and the summary together, counted by the loaded tokenizer. 1 and up; the newest two messages
    /// stay whatever they cost.
    pub max_tokens: usize,
}

impl Default for WindowLimits {
    fn default() -> Self {
        Self { max_turns: 10, max_tokens: 2000 }
    }
}

/// The memory of one conversation.
///
/// ```
/// use docent::chat::message::Role;
/// use docent::dialogue::ConversationMemory;
/// use docent::turn::EstimatedTokens;
///
/// let mut memory = ConversationMemory::new("session-1");
/// memory.add_message(Role::User, "How do I create a venv?", 1_700_000_000_000, Default::default(), &EstimatedTokens);
/// let save = memory.export();
/// let mut other = ConversationMemory::new("session-2");
/// other.restore(&save)?;
/// assert_eq!(other.export(), save);
/// # Ok::<(), docent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationMemory {
    limits: WindowLimits,
    saved: Saved,
}

/// A memory as its save writes it.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct SavedMemory<'a>(&'a Saved);

/// What a save holds. The limits are the site's configuration and stay out of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    format: String,
    version: u32,
    /// Ids handed out so far: the position in the generator's sequence.
    issued: u64,
    /// The running summary of everything that came before the unfolded part of the window; empty at first.
    summary: String,
    /// How many messages at the front of the window the summary covers already.
    folded: usize,
    messages: Vec<Message>,
    state: DialogueState,
}

impl ConversationMemory {
    /// An empty memory with the default limits. The session's id seeds the message ids.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self::with_limits(session_id, WindowLimits::default())
    }

    /// An empty memory with other limits.
    #[must_use]
    pub fn with_limits(session_id: impl Into<String>, limits: WindowLimits) -> Self {
        let saved = Saved {
            format: FORMAT.to_owned(),
            version: VERSION,
            issued: 0,
            summary: String::new(),
            folded: 0,
            messages: Vec::new(),
            state: DialogueState::new(session_id),
        };
        Self { limits, saved }
    }

    /// The limits of the window.
    #[must_use]
    pub fn limits(&self) -> WindowLimits {
        self.limits
    }

    /// The state of the dialogue.
    #[must_use]
    pub fn state(&self) -> &DialogueState {
        &self.saved.state
    }

    /// The state of the dialogue, to be changed.
    pub fn state_mut(&mut self) -> &mut DialogueState {
        &mut self.saved.state
    }

    /// The messages in the window, oldest first.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.saved.messages
    }

    /// The running summary of what came before; empty where nothing had to be folded yet.
    #[must_use]
    pub fn summary(&self) -> &str {
        &self.saved.summary
    }

    /// The messages of the window that the summary does not cover yet.
    #[must_use]
    pub fn unfolded(&self) -> &[Message] {
        &self.saved.messages[self.saved.folded..]
    }

    /// Adds a message and keeps the window within its limits; returns the message's id.
    ///
    /// `counter` is the loaded tokenizer, or [`crate::turn::EstimatedTokens`] until there is one. Messages that must leave
    /// the window and are not yet in the summary are folded into it locally first.
    pub fn add_message(
        &mut self,
        role: Role,
        content: impl Into<String>,
        timestamp: u64,
        meta: BTreeMap<String, serde_json::Value>,
        counter: &dyn TokenCounter,
    ) -> String {
        let id = self.next_id();
        self.saved.messages.push(Message { id: id.clone(), role, content: content.into(), timestamp, meta });
        self.keep_within_limits(counter);
        id
    }

    /// Forgets the messages, the summary, the state of the dialogue and the last generation. The session's id and the
    /// sequence of message ids go on.
    pub fn clear(&mut self) {
        self.saved.messages.clear();
        self.saved.summary.clear();
        self.saved.folded = 0;
        self.saved.state.clear();
    }

    /// The last `last_n` turns as messages for a completion, oldest first; 0 means everything in the window.
    ///
    /// A turn starts at a user message. The summary is not in it: see [`Self::prompt_context`].
    #[must_use]
    pub fn context(&self, last_n: usize) -> Vec<ChatMessage> {
        let messages = &self.saved.messages;
        let start = if last_n == 0 { 0 } else { start_of_turns(messages, last_n) };
        messages[start..].iter().map(as_chat).collect()
    }

    /// What a prompt is given of the conversation: the summary as a system message where there is one, then the messages
    /// that it does not cover.
    #[must_use]
    pub fn prompt_context(&self) -> Vec<ChatMessage> {
        let mut context = Vec::new();
        if !self.saved.summary.is_empty() {
            let label = match self.language() {
                Language::English => "Summary of the conversation so far:",
                Language::Chinese => "此前对话的摘要：",
            };
            context.push(ChatMessage { role: Role::System, content: format!("{label}\n{}", self.saved.summary) });
        }
        context.extend(self.unfolded().iter().map(as_chat));
        context
    }

    /// The window as text, one line a message, labeled in the conversation's language, for retrieval and prompts.
    #[must_use]
    pub fn history_text(&self) -> String {
        history_text(&self.saved.messages, self.language())
    }

    /// The language of the conversation: that of the newest user message that has one, else English.
    #[must_use]
    pub fn language(&self) -> Language {
        let mut said = self.saved.messages.iter().rev().filter(|message| message.role == Role::User);
        said.find_map(|message| Language::detect(&message.content)).unwrap_or_default()
    }

    /// The last `n` user messages, newest first.
    pub fn last_user_messages(&self, n: usize) -> impl Iterator<Item = &str> {
        let said = self.saved.messages.iter().rev().filter(|message| message.role == Role::User);
        said.take(n).map(|message| message.content.as_str())
    }

    /// Folds the turns that are due into the summary, locally. Returns whether something was folded.
    pub fn summarize(&mut self, summarizer: &HistorySummarizer, counter: &dyn TokenCounter) -> bool {
        let due = summarizer.due(self);
        if due == 0 {
            return false;
        }
        let (summary, language) = (self.saved.summary.clone(), self.language());
        let summary = summarizer.extract(&summary, &self.unfolded()[..due], language, counter);
        self.fold(due, summary);
        self.keep_within_limits(counter);
        true
    }

    /// Takes a summary that covers the first `count` unfolded messages as well as the summary before it.
    ///
    /// `count` is what [`HistorySummarizer::due`] said when the summary was asked for; more than there are means all.
    pub fn fold(&mut self, count: usize, summary: String) {
        self.saved.folded = (self.saved.folded + count).min(self.saved.messages.len());
        self.saved.summary = summary;
    }

    /// Everything as JSON, to be given to [`Self::restore`].
    #[must_use]
    pub fn export(&self) -> String {
        json::to_text(&self.saved)
    }

    /// What [`Self::export`] writes, to be made a part of something larger.
    #[must_use]
    pub fn saved(&self) -> SavedMemory<'_> {
        SavedMemory(&self.saved)
    }

    /// Replaces the memory by what [`Self::export`] gave. The limits stay as they are and apply from the next message on.
    ///
    /// # Errors
    /// [`Error::Storage`] with the reason; the memory is then as it was.
    pub fn restore(&mut self, text: &str) -> Result<()> {
        if text.len() > MAX_SAVE_BYTES {
            return Err(Error::Storage(format!("it has {} bytes, at most {MAX_SAVE_BYTES} are read", text.len())));
        }
        let value = json::parse(text)
            .map_err(|fault| Error::Storage(format!("it is not JSON ({fault}); give it what `export` returned")))?;
        self.restore_value(&value)
    }

    /// As [`Self::restore`], from a part of something larger.
    ///
    /// # Errors
    /// As [`Self::restore`].
    pub fn restore_value(&mut self, value: &serde_json::Value) -> Result<()> {
        self.saved = read_save(value).map_err(Error::Storage)?;
        Ok(())
    }

    fn next_id(&mut self) -> String {
        let seed = xxhash_rust::xxh3::xxh3_64(self.saved.state.session_id.as_bytes());
        loop {
            let id = message_id(seed, self.saved.issued);
            self.saved.issued += 1;
            if self.saved.messages.iter().all(|message| message.id != id) {
                return id;
            }
        }
    }

    fn keep_within_limits(&mut self, counter: &dyn TokenCounter) {
        let max_turns = self.limits.max_turns.max(1);
        let messages = &self.saved.messages;
        let mut drop = start_of_window(messages, max_turns);
        let costs: Vec<usize> = messages.iter().map(|message| counter.count(&message.content)).collect();
        let mut tokens: usize = costs[drop..].iter().sum::<usize>() + counter.count(&self.saved.summary);
        let newest = messages.len().saturating_sub(2);
        drop = drop.min(newest);
        while tokens > self.limits.max_tokens && drop < newest {
            tokens -= costs[drop];
            drop += 1;
        }
        if drop == 0 {
            return;
        }
        if drop > self.saved.folded {
            let language = self.language();
            let leaving = &self.saved.messages[self.saved.folded..drop];
            let summarizer = HistorySummarizer::default();
            self.saved.summary = summarizer.extract(&self.saved.summary, leaving, language, counter);
            self.saved.folded = drop;
        }
        self.saved.messages.drain(..drop);
        self.saved.folded -= drop;
        // The summary may have grown: once more, until it fits or only the newest two are left.
        if self.saved.messages.len() > 2 {
            self.keep_within_limits(counter);
        }
    }
}

/// Messages as text, one line each, labeled in `language`.
#[must_use]
pub fn history_text(messages: &[Message], language: Language) -> String {
    let mut text = String::new();
    for message in messages {
        text.push_str(match (language, message.role) {
            (Language::English, Role::User) => "User: ",
            (Language::English, Role::Assistant) => "Assistant: ",
            (Language::English, Role::System) => "System: ",
            (Language::Chinese, Role::User) => "用户：",
            (Language::Chinese, Role::Assistant) => "助手：",
            (Language::Chinese, Role::System) => "系统：",
        });
        // One line a message: a line break inside would read as another speaker's line.
        let mut words = message.content.split_whitespace();
        if let Some(first) = words.next() {
            text.push_str(first);
            words.for_each(|word| {
                text.push(' ');
                text.push_str(word);
            });
        }
        text.push('\n');
    }
    text
}

fn as_chat(message: &Message) -> ChatMessage {
    ChatMessage { role: message.role, content: message.content.clone() }
}

/// Where the last `turns` turns start; a turn starts at a user message.
pub(super) fn start_of_turns(messages: &[Message], turns: usize) -> usize {
    let starts = messages.iter().enumerate().rev().filter(|(_, message)| message.role == Role::User);
    starts.map(|(at, _)| at).take(turns).last().filter(|_| turns > 0).map_or(0, |at| {
        let before = messages[..at].iter().filter(|message| message.role == Role::User).count();
        // Fewer turns than asked for: whatever stands before the first user message belongs to the first turn.
        if before == 0 { 0 } else { at }
    })
}

/// Where the window of `turns` user and `turns` assistant messages starts.
fn start_of_window(messages: &[Message], turns: usize) -> usize {
    let (mut users, mut assistants) = (0, 0);
    for (at, message) in messages.iter().enumerate().rev() {
        match message.role {
            Role::User => users += 1,
            Role::Assistant => assistants += 1,
            Role::System => {}
        }
        if users > turns || assistants > turns {
            return at + 1;
        }
    }
    0
}

/// SplitMix64 (Steele, Lea and Flood 2014) at position `n` of the sequence that starts at `seed`, in eight letters.
fn message_id(seed: u64, n: u64) -> String {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (0..ID_LENGTH).map(|i| char::from(ID_LETTERS[(z >> (5 * i) & 31) as usize])).collect()
}

fn read_save(value: &serde_json::Value) -> std::result::Result<Saved, String> {
    let format = value.get("format").and_then(serde_json::Value::as_str);
    if format != Some(FORMAT) {
        return Err(format!("it is not a saved conversation: `format` should be \"{FORMAT}\""));
    }
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        Some(version) => return Err(format!("it has version {version}, this build reads version {VERSION}")),
        None => return Err("its `version` is missing".to_owned()),
    }
    let saved: Saved = json::from_value(value).map_err(|fault| fault.to_string())?;
    if saved.folded > saved.messages.len() {
        return Err(format!("`folded` is {}, but there are {} messages", saved.folded, saved.messages.len()));
    }
    for (at, message) in saved.messages.iter().enumerate() {
        if message.id.len() != ID_LENGTH || !message.id.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(format!("message {at}: the id should have {ID_LENGTH} letters or digits"));
        }
        if saved.messages[..at].iter().any(|other| other.id == message.id) {
            return Err(format!("message {at}: the id \"{}\" occurs twice", message.id));
        }
    }
    if !(0.0..=1.0).contains(&saved.state.intent_confidence) {
        return Err("`intentConfidence` should be between 0 and 1".to_owned());
    }
    Ok(saved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::EstimatedTokens;

    fn say(memory: &mut ConversationMemory, role: Role, content: &str) -> String {
        memory.add_message(role, content, 1_700_000_000_000, BTreeMap::new(), &EstimatedTokens)
    }

    fn talk(memory: &mut ConversationMemory, turns: usize) {
        for i in 0..turns {
            say(memory, Role::User, &format!("question {i}"));
            say(memory, Role::Assistant, &format!("answer {i}"));
        }
    }

    #[test]
    fn the_window_keeps_ten_turns_and_folds_what_leaves() {
        let mut memory = ConversationMemory::new("s");
        talk(&mut memory, 12);
        assert_eq!(memory.messages().len(), 20);
        assert_eq!(memory.messages()[0].content, "question 2");
        assert!(
            memory.summary().contains("question 0") && memory.summary().contains("answer 1"),
            "{}",
            memory.summary()
        );
    }

    #[test]
    fn the_token_budget_counts_the_summary_and_spares_the_newest_two() {
        let mut memory = ConversationMemory::with_limits("s", WindowLimits { max_turns: 10, max_tokens: 120 });
        for i in 0..8 {
            say(&mut memory, Role::User, &format!("How is part {i} of Vue 3.{i} configured in a large project?"));
            say(
                &mut memory,
                Role::Assistant,
                &format!("Part {i} is configured in the file vite.config.ts, section {i}."),
            );
            let window: usize = memory.messages().iter().map(|m| EstimatedTokens.count(&m.content)).sum();
            let total = window + EstimatedTokens.count(memory.summary());
            assert!(
                total <= 120 || memory.messages().len() == 2,
                "{total} tokens, {} messages",
                memory.messages().len()
            );
        }
        let mut tiny = ConversationMemory::with_limits("s", WindowLimits { max_turns: 10, max_tokens: 1 });
        talk(&mut tiny, 3);
        assert_eq!(tiny.messages().len(), 2);
        assert_eq!(tiny.messages()[0].content, "question 2");
    }

    #[test]
    fn context_counts_turns() {
        let mut memory = ConversationMemory::new("s");
        talk(&mut memory, 4);
        say(&mut memory, Role::User, "open question");
        let contents = |n| memory.context(n).iter().map(|m| m.content.clone()).collect::<Vec<_>>();
        assert_eq!(contents(1), ["open question"]);
        assert_eq!(contents(2), ["question 3", "answer 3", "open question"]);
        assert_eq!(contents(0).len(), 9);
        assert_eq!(contents(99).len(), 9);
    }

    #[test]
    fn the_history_is_labeled_in_the_readers_language_one_line_a_message() {
        let mut memory = ConversationMemory::new("s");
        say(&mut memory, Role::User, "How do I\ncreate a venv?");
        say(&mut memory, Role::Assistant, "Run `python -m venv .venv`.");
        assert_eq!(memory.history_text(), "User: How do I create a venv?\nAssistant: Run `python -m venv .venv`.\n");
        say(&mut memory, Role::User, "在 Windows 上呢？");
        assert!(memory.history_text().ends_with("用户：在 Windows 上呢？\n"));
    }

    #[test]
    fn ids_have_eight_characters_are_unique_and_replay() {
        let ids = |session: &str| {
            let mut memory = ConversationMemory::new(session);
            (0..50).map(|i| say(&mut memory, Role::User, &format!("m{i}"))).collect::<Vec<_>>()
        };
        let mut first = ids("a");
        assert_eq!(first, ids("a"));
        assert_ne!(first, ids("b"));
        assert!(first.iter().all(|id| id.chars().count() == 8));
        first.sort();
        first.dedup();
        assert_eq!(first.len(), 50);
    }

    #[test]
    fn a_save_round_trips_exactly_and_the_ids_go_on() {
        let mut memory = ConversationMemory::new("s");
        talk(&mut memory, 13);
        let meta =
            BTreeMap::from([("score".to_owned(), serde_json::json!(0.1)), ("故宫".to_owned(), serde_json::json!([1]))]);
        memory.add_message(Role::User, "emoji 🦀 \u{0} \"quotes\"", 7, meta, &EstimatedTokens);
        memory.state_mut().intent_confidence = 0.1;
        let save = memory.export();
        let mut other = ConversationMemory::new("other");
        other.restore(&save).unwrap();
        assert_eq!(other, memory);
        assert_eq!(other.export(), save);
        assert_eq!(say(&mut other, Role::User, "next"), say(&mut memory, Role::User, "next"));
    }

    #[test]
    fn a_malformed_save_is_refused_with_the_reason_and_changes_nothing() {
        let mut memory = ConversationMemory::new("s");
        talk(&mut memory, 2);
        let save = memory.export();
        let first = memory.messages()[0].id.clone();
        let second = memory.messages()[1].id.clone();
        let cases = [
            (String::new(), "not JSON"),
            ("{\"messages\": []}".to_owned(), "not a saved conversation"),
            (save[..save.len() / 2].to_owned(), "not JSON"),
            (save.replace("\"version\":1", "\"version\":2"), "version 2"),
            (save.replace("\"version\":1,", ""), "`version` is missing"),
            (save.replace("\"role\":\"user\"", "\"role\":\"robot\""), "robot"),
            (save.replace("\"folded\":0", "\"folded\":9"), "`folded` is 9"),
            (save.replace(&first, "short"), "8 letters"),
            (save.replace(&second, &first), "occurs twice"),
            (save.replace("\"confusion\":0", "\"confusion\":-1"), "invalid value"),
            (save.replace("\"summary\":\"\"", "\"summary\":\"\",\"extra\":1"), "unknown field"),
            (save.replace("\"intentConfidence\":0.0", "\"intentConfidence\":7.5"), "between 0 and 1"),
        ];
        for (json, reason) in cases {
            let before = memory.clone();
            match memory.restore(&json) {
                Err(Error::Storage(text)) => assert!(text.contains(reason), "{text} should say {reason}"),
                other => panic!("{reason}: {other:?}"),
            }
            assert_eq!(memory, before, "{reason}");
        }
    }

    #[test]
    fn clear_resets_the_state_and_keeps_the_session() {
        let mut memory = ConversationMemory::new("s");
        talk(&mut memory, 12);
        memory.state_mut().confusion = 2;
        memory.clear();
        assert!(memory.messages().is_empty() && memory.summary().is_empty());
        assert_eq!(memory.state(), &DialogueState::new("s"));
    }
}
