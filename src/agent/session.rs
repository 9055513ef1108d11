//! What an agent keeps between turns: the memory, the open question, the log.
//!
//! **Invariant:** a save that is refused changes nothing, and a save restores exactly.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::agent_config::AgentConfig;
use super::turn_record::{ReaderEvent, TurnRecord};
use crate::dialogue::ConversationMemory;
use crate::dialogue::conversation_memory::{SavedMemory, WindowLimits};
use crate::error::{Error, Result};
use crate::json;

/// Name and version of the save.
const FORMAT: &str = "docent-session";
/// Raised whenever the shape of the save changes.
const VERSION: u32 = 1;
/// Records that are kept; the oldest go first. A record is about 2 kB.
const MAX_RECORDS: usize = 500;

/// The question that a clarifying turn left open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OpenQuestion {
    /// As typed.
    pub(super) message: String,
    /// As it was searched.
    pub(super) query: String,
}

/// What the agent remembers beside the state of the dialogue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Progress {
    /// The question that the last turn asked back about.
    pub(super) open: Option<OpenQuestion>,
    /// Answered turns of the session.
    pub(super) answered: u32,
    /// Pages of the last answer, the first is the best.
    pub(super) answer_documents: Vec<String>,
    /// Their tags.
    pub(super) answer_tags: Vec<String>,
    /// Whether the last turn offered to pass the conversation on.
    pub(super) handover_offered: bool,
    /// Whether the last turn offered a summary.
    pub(super) summary_offered: bool,
}

/// The state of one conversation.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) memory: ConversationMemory,
    pub(super) progress: Progress,
    pub(super) log: Vec<TurnRecord>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Save<'a> {
    format: &'static str,
    version: u32,
    memory: SavedMemory<'a>,
    progress: &'a Progress,
    log: &'a [TurnRecord],
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SavedSession {
    #[serde(rename = "format")]
    _format: IgnoredAny,
    #[serde(rename = "version")]
    _version: IgnoredAny,
    memory: serde_json::Value,
    progress: Progress,
    log: Vec<TurnRecord>,
}

impl Session {
    /// A new conversation. Without a session id in the options it gets one from the seed and the time.
    pub(super) fn new(config: &AgentConfig, now_ms: u64) -> Self {
        let id = config.session_id.clone().unwrap_or_else(|| {
            format!("{:016x}", xxhash_rust::xxh3::xxh3_64_with_seed(&now_ms.to_le_bytes(), config.seed))
        });
        Self { memory: memory(config, id), progress: Progress::default(), log: Vec::new() }
    }

    /// Forgets the conversation, keeps the log.
    pub(super) fn reset(&mut self, config: &AgentConfig, now_ms: u64) {
        let fresh = Self::new(&AgentConfig { session_id: None, ..config.clone() }, now_ms);
        self.memory = fresh.memory;
        self.progress = fresh.progress;
    }

    /// Everything as JSON.
    pub(super) fn export(&self) -> String {
        json::to_text(&Save {
            format: FORMAT,
            version: VERSION,
            memory: self.memory.saved(),
            progress: &self.progress,
            log: &self.log,
        })
    }

    /// A conversation from what [`Self::export`] gave.
    pub(super) fn restore(config: &AgentConfig, text: &str) -> Result<Self> {
        let unreadable = |fault: json::Fault| Error::Storage(fault.to_string());
        let value = json::parse(text).map_err(unreadable)?;
        // What it is is read first: another version may have other fields.
        if let Some(format) = value.get("format").and_then(serde_json::Value::as_str).filter(|format| *format != FORMAT)
        {
            return Err(Error::Storage(format!("`{format}` is not the save of a conversation")));
        }
        let version = value.get("version").and_then(serde_json::Value::as_u64);
        if let Some(version) = version.filter(|version| *version != u64::from(VERSION)) {
            return Err(Error::Storage(format!("version {version} of the save; this build reads {VERSION}")));
        }
        let saved: SavedSession = json::from_value(&value).map_err(unreadable)?;
        let mut memory = memory(config, String::new());
        memory.restore_value(&saved.memory)?;
        Ok(Self { memory, progress: saved.progress, log: saved.log })
    }

    /// Adds the record of a turn.
    pub(super) fn note_record(&mut self, record: TurnRecord) {
        self.log.push(record);
        let surplus = self.log.len().saturating_sub(MAX_RECORDS);
        self.log.drain(..surplus);
    }

    /// Notes what the reader did with the last reply, and gives its record back.
    pub(super) fn note_event(&mut self, event: ReaderEvent) -> Result<TurnRecord> {
        let record = self.log.last_mut().ok_or_else(|| Error::InvalidOption {
            name: "event".to_owned(),
            reason: "there is no turn yet that it could belong to".to_owned(),
        })?;
        record.events.push(event);
        Ok(record.clone())
    }
}

fn memory(config: &AgentConfig, session: String) -> ConversationMemory {
    let limits = WindowLimits { max_turns: config.memory.max_turns, max_tokens: config.memory.max_tokens };
    ConversationMemory::with_limits(session, limits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::Role;
    use crate::turn::EstimatedTokens;

    fn session() -> Session {
        let config = AgentConfig { session_id: Some("s-1".into()), ..AgentConfig::default() };
        let mut session = Session::new(&config, 5);
        session.memory.add_message(Role::User, "怎么安装？ \"a\"", 6, Default::default(), &EstimatedTokens);
        session.progress.open = Some(OpenQuestion { message: "m".into(), query: "q".into() });
        session.progress.answered = 3;
        session
    }

    #[test]
    fn a_save_restores_exactly() {
        let save = session().export();
        let restored = Session::restore(&AgentConfig::default(), &save).unwrap();
        assert_eq!(restored.export(), save);
        assert_eq!(restored.memory.state().session_id, "s-1");
        assert_eq!(restored.progress, session().progress);
    }

    #[test]
    fn another_shape_is_refused_with_the_reason() {
        let save = session().export();
        let check = |json: &str, reason: &str| match Session::restore(&AgentConfig::default(), json) {
            Err(Error::Storage(text)) => assert!(text.contains(reason), "{text}"),
            other => panic!("{other:?}"),
        };
        check("", "EOF");
        check("[]", "invalid");
        check(&save[..save.len() / 2], "EOF");
        check(&save.replace("\"version\":1,\"memory\"", "\"version\":9,\"memory\""), "version 9");
        check(&save.replace("\"version\":1,\"memory\"", "\"version\":9,\"new\":0,\"memory\""), "version 9");
        check(&save.replacen("\"version\":1,", "", 1), "missing field `version`");
        check(&save.replacen("docent-session", "another", 1), "another");
        check(&save.replace("docent-conversation", "something"), "`format`");
    }

    #[test]
    fn a_session_without_an_id_gets_one_from_seed_and_time() {
        let id = |seed, now| {
            let config = AgentConfig { seed, ..AgentConfig::default() };
            Session::new(&config, now).memory.state().session_id.clone()
        };
        assert_eq!(id(1, 2), id(1, 2));
        assert_ne!(id(1, 2), id(1, 3));
        assert_ne!(id(1, 2), id(2, 2));
    }
}
