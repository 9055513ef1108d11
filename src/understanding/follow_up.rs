//! Whether a message works on the previous answer, and how.

use serde::{Deserialize, Serialize};

use crate::dialogue::DialogueState;
use crate::turn::FollowUpKind;

/// How a message works on the previous answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowUpIntent {
    /// The kind.
    pub kind: FollowUpKind,
    /// True for a pronoun turn that asks for something new about the topic: it is rewritten and searched.
    pub asks_new: bool,
    /// Whether there is a last generation to work on.
    pub has_previous: bool,
}

/// The follow-up that `message` is, if it is one.
#[must_use]
pub fn detect(message: &str, state: &DialogueState) -> Option<FollowUpIntent> {
    let said = message.trim().trim_end_matches(['?', '.', '!', '？', '。', '！']).to_lowercase();
    let kind = match said.as_str() {
        "simpler" | "简单一点" => FollowUpKind::Simplify,
        "more" | "详细一点" => FollowUpKind::Detail,
        "for example" | "举个例子" => FollowUpKind::Example,
        "summarize" | "总结一下" => FollowUpKind::Summary,
        _ => return None,
    };
    Some(FollowUpIntent { kind, asks_new: false, has_previous: state.last_generation.is_some() })
}
