//! The language to answer in.
//!
//! Input: the message and the conversation. Output: one language.

use crate::dialogue::ConversationMemory;
use crate::lowercase::lowercase;
use crate::turn::Language;

/// The message's language; that of the conversation where the message has none of its own: a number, a product name.
#[must_use]
pub fn reply_language(message: &str, memory: &ConversationMemory) -> Language {
    let detected = Language::detect(message);
    match detected {
        Some(Language::English) if is_bare_name(message) && !memory.messages().is_empty() => memory.language(),
        Some(language) => language,
        None => memory.language(),
    }
}

/// A single Latin word says nothing about the language: "venv" is typed in a Chinese conversation too. Words that belong to
/// English conversation do say it.
fn is_bare_name(message: &str) -> bool {
    const CONVERSATION: [&str; 14] =
        ["yes", "no", "more", "thanks", "hi", "hello", "ok", "okay", "bye", "exit", "why", "how", "continue", "either"];
    let word = message.trim().trim_end_matches(['?', '.', '!', '？', '。', '！']);
    !word.contains(char::is_whitespace) && !CONVERSATION.contains(&lowercase(word).as_str())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::chat::message::Role;
    use crate::turn::EstimatedTokens;

    #[test]
    fn a_bare_name_keeps_the_language_of_the_conversation() {
        let mut memory = ConversationMemory::new("s");
        assert_eq!(reply_language("venv", &memory), Language::English);
        memory.add_message(Role::User, "虚拟环境怎么用？", 0, BTreeMap::new(), &EstimatedTokens);
        for (message, expected) in [
            ("venv", Language::Chinese),
            ("2", Language::Chinese),
            ("more", Language::English),
            ("how do I delete it?", Language::English),
            ("怎么删除？", Language::Chinese),
        ] {
            assert_eq!(reply_language(message, &memory), expected, "{message}");
        }
    }
}
