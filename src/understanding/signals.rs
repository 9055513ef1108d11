//! Requests and moods that lie beside the question.

use serde::{Deserialize, Serialize};

use crate::dialogue::DialogueState;

/// What a message asks of the guidance itself, and how the reader feels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Signals {
    /// The last answers did not help: the confusion counter goes up by one.
    pub frustration: bool,
    /// Wants the conversation (not the last answer) summed up.
    pub wants_summary: bool,
    /// Wants to talk to a person.
    pub wants_human: bool,
    /// Leaves the guidance.
    pub exit: bool,
    /// Leaves a choice to the agent: "either", "随便".
    pub indifferent: bool,
    /// Agrees to what was offered: "yes", "好，要".
    pub affirmative: bool,
    /// Declines what was offered: "no thanks", "不用".
    pub negative: bool,
    /// Says that the question is settled: "thanks, that works", "解决了".
    pub satisfied: bool,
}

/// The signals of a message.
#[must_use]
pub fn read(message: &str, _state: &DialogueState) -> Signals {
    let said = message.trim().to_lowercase();
    Signals {
        exit: said == "exit" || said == "退出",
        affirmative: said == "yes" || said == "是的",
        ..Signals::default()
    }
}
