//! A query that stands alone: pronouns and elisions resolved, comparisons completed, from the conversation.
//!
//! Input: the message, what was understood, the memory before it, the words of the index. Output: [`StandaloneQuery`].
//! Local and deterministic. With `assist: "llm"` the endpoint's rewrite (asked for with the prompt of `chat::prompt`) is
//! read by [`QueryRewriter::read_reply`], which falls back to the local one.
//! **Invariant:** a question that stands alone comes out byte for byte as it went in, and small talk is never rewritten.

mod chinese;
mod english;

use serde::{Deserialize, Serialize};

use super::Understanding;
use super::vocabulary::Vocabulary;
use crate::chat::message::Role;
use crate::dialogue::{ConversationMemory, Entity};
use crate::turn::{Intent, Language, is_han};

/// The query to search with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StandaloneQuery {
    /// The question as it would be asked without the conversation; exactly the message where it stands alone.
    pub text: String,
    /// Whether `text` differs from the message.
    pub changed: bool,
    /// What was taken from the conversation, most important first.
    pub carried: Vec<String>,
    /// Why, a stable word: `stands_alone`, `not_a_question`, `follow_up`, `selection`, `elliptic`, `comparison`, `pronoun`,
    /// `general`, `endpoint`.
    pub reason: String,
}

/// Rewrites a message into a query that stands alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryRewriter {
    /// Longest query that an endpoint may give back, in characters; a longer one is an answer and no query. 3 and up.
    pub max_chars: usize,
}

impl Default for QueryRewriter {
    fn default() -> Self {
        Self { max_chars: 400 }
    }
}

impl QueryRewriter {
    /// The local rewrite. `memory` is the conversation before the message.
    #[must_use]
    pub fn rewrite(
        &self,
        message: &str,
        understanding: &Understanding,
        memory: &ConversationMemory,
        vocabulary: &dyn Vocabulary,
    ) -> StandaloneQuery {
        let query = |text: String, carried: Vec<String>, reason: &str| StandaloneQuery {
            changed: text != message,
            text,
            carried,
            reason: reason.to_owned(),
        };
        let state = memory.state();
        if let Some(item) = understanding.selection.and_then(|selection| state.offered.get(selection.index)) {
            let title = item.offer.title.clone();
            let open = item.question.trim();
            let text = if open.is_empty() { title.clone() } else { format!("{open} {title}") };
            return query(text, vec![title], "selection");
        }
        if understanding.intent == Intent::Chitchat {
            return query(message.to_owned(), Vec::new(), "not_a_question");
        }
        if understanding.works_on_last_answer() {
            // A pronoun may stand for something while nothing was generated yet: then it is resolved like any other.
            let topic = state.topic.query.clone();
            if !topic.is_empty() {
                return query(topic.clone(), vec![topic], "follow_up");
            }
        }
        let sources = Sources::of(memory, vocabulary);
        let rewrite = if message.chars().any(is_han) || understanding.language == Language::Chinese {
            chinese::rewrite(message, &sources)
        } else {
            english::rewrite(message, &sources)
        };
        match rewrite {
            Some(rewrite) => query(rewrite.text, rewrite.carried, rewrite.reason),
            None => query(message.to_owned(), Vec::new(), "stands_alone"),
        }
    }

    /// The query in an endpoint's reply; the local rewrite where the reply is empty, under 3 characters, too long, or
    /// unrelated to the question and to what the local rewrite carried into it.
    #[must_use]
    pub fn read_reply(&self, reply: &str, local: StandaloneQuery) -> StandaloneQuery {
        let Some(text) = crate::chat::prompt::read_query(reply) else { return local };
        let length = text.chars().count();
        if !(3..=self.max_chars).contains(&length) || !is_related(&text, &local) {
            return local;
        }
        StandaloneQuery { changed: true, text, reason: "endpoint".to_owned(), carried: local.carried }
    }
}

/// Whether a reply shares something with the question: a word in Latin script, two characters in Chinese. A reply in another
/// script than the question is no rewrite of it.
fn is_related(reply: &str, local: &StandaloneQuery) -> bool {
    let pairs = |text: &str| {
        let chars: Vec<char> = text.chars().collect();
        let pairs = chars.windows(2).filter(|pair| pair.iter().all(|c| is_han(*c)));
        pairs.map(|pair| pair.iter().collect::<String>()).collect::<Vec<_>>()
    };
    let wanted = pairs(&local.text);
    wanted.iter().any(|pair| reply.contains(pair.as_str()))
        || english::is_related(reply, &local.text, wanted.is_empty())
}

/// What a rewrite found.
struct Rewrite {
    text: String,
    carried: Vec<String>,
    reason: &'static str,
}

impl Rewrite {
    fn new(text: String, carried: Vec<String>, reason: &'static str) -> Self {
        Self { text, carried, reason }
    }
}

/// What the conversation offers to a rewrite.
struct Sources<'a> {
    /// User messages, newest first.
    asked: Vec<&'a str>,
    /// Answers, newest first.
    answers: Vec<&'a str>,
    /// Both, newest first; true for an answer.
    messages: Vec<(&'a str, bool)>,
    /// The last stand-alone query; the last user message where nothing was searched.
    previous: &'a str,
    /// Titles of the last search, best first.
    titles: &'a [String],
    /// Entities of the topic, the most recent last.
    entities: &'a [Entity],
    /// The words of the index.
    vocabulary: &'a dyn Vocabulary,
}

impl<'a> Sources<'a> {
    fn of(memory: &'a ConversationMemory, vocabulary: &'a dyn Vocabulary) -> Self {
        let state = memory.state();
        let said = memory.messages().iter().rev().filter(|m| m.role != Role::System);
        let messages: Vec<(&str, bool)> = said.map(|m| (m.content.as_str(), m.role == Role::Assistant)).collect();
        let of = |answers: bool| messages.iter().filter(|m| m.1 == answers).map(|m| m.0).collect::<Vec<_>>();
        let (asked, answers) = (of(false), of(true));
        let previous =
            if state.topic.query.is_empty() { asked.first().copied().unwrap_or("") } else { &state.topic.query };
        let (titles, entities) = (&state.topic.titles[..], &state.topic.entities[..]);
        Self { asked, answers, messages, previous, titles, entities, vocabulary }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NoVocabulary, understand};
    use super::*;
    use crate::turn::EstimatedTokens;

    fn check(asked: &[&str], message: &str, expected: &str) {
        let mut memory = ConversationMemory::new("s");
        for text in asked {
            let understanding = understand(text, &memory, &NoVocabulary);
            let query = QueryRewriter::default().rewrite(text, &understanding, &memory, &NoVocabulary);
            memory.add_message(Role::User, *text, 0, Default::default(), &EstimatedTokens);
            memory.state_mut().note_entities(&understanding.entities);
            memory.state_mut().note_search(&query.text, [], false);
        }
        let understanding = understand(message, &memory, &NoVocabulary);
        let query = QueryRewriter::default().rewrite(message, &understanding, &memory, &NoVocabulary);
        assert_eq!(query.text, expected, "{asked:?} | {message}");
        assert_eq!(query.changed, expected != message);
    }

    #[test]
    fn the_table_of_the_specification() {
        check(&["Haystack 是什么框架？"], "它的主要组件有哪些？", "Haystack 的主要组件有哪些？");
        check(&["Haystack 是什么框架？"], "和 LangChain 比有什么优势？", "Haystack 和 LangChain 比有什么优势？");
        check(&["How do I create a Python venv?"], "and on Windows?", "How do I create a Python venv on Windows?");
        check(&["How do I create a Python venv?"], "what about deleting it?", "what about deleting Python venv?");
    }

    #[test]
    fn the_first_follow_up_works() {
        check(&["How do I create a Python venv?"], "more", "How do I create a Python venv?");
        check(&["怎么在 macOS 上安装 Milvus？"], "那 Windows 呢？", "怎么在 Windows 上安装 Milvus？");
        check(&[], "more", "more");
    }

    #[test]
    fn what_stands_alone_and_what_greets_is_left_alone() {
        for message in ["How do I configure a reverse proxy?", "  How do I use  Vite? ", "Thanks!", "hi"] {
            check(&["How do I create a Python venv?"], message, message);
        }
        for message in ["如何配置反向代理？", "谢谢", "Vue 的 `<Teleport>` 怎么用？那个 to 属性是必填的吗？"]
        {
            check(&["Haystack 是什么框架？"], message, message);
        }
    }

    #[test]
    fn an_endpoints_rewrite_is_taken_only_when_it_is_one() {
        let local = StandaloneQuery {
            text: "Haystack 的主要组件有哪些？".into(),
            changed: true,
            carried: vec!["Haystack".into()],
            reason: "pronoun".into(),
        };
        let read = |reply: &str| QueryRewriter::default().read_reply(reply, local.clone()).text;
        assert_eq!(read("Haystack 框架的主要组件"), "Haystack 框架的主要组件");
        for reply in ["", "  ", "ok", "The weather is nice today in Paris", &"很长".repeat(300)] {
            assert_eq!(read(reply), local.text, "{reply}");
        }
    }
}
