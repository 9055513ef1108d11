//! Folds the older turns into a running summary.
//!
//! Input: the summary so far and the messages that are to be covered. Output: a bounded text that keeps names, versions,
//! numbers, decisions and open questions. With an endpoint that is one call: `chat::prompt` writes the request, its reply is
//! judged here. Without one, or when the call fails, sentences are chosen locally.
//! **Invariant:** no IO and no randomness: the same messages give the same summary.

use super::conversation_memory::{ConversationMemory, Message, start_of_turns};
use crate::chat::message::Role;
use crate::lowercase::lowercase;
use crate::order;
use crate::turn::{Language, TokenCounter, is_han};

/// When and how far a history is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistorySummarizer {
    /// A history under so many characters stays as it is.
    pub min_chars: usize,
    /// Turns that stay word for word; the older ones are folded. 1 and up.
    pub max_history_turns: usize,
    /// Bound of the summary, in tokens. 32 and up.
    pub max_tokens: usize,
}

impl Default for HistorySummarizer {
    fn default() -> Self {
        Self { min_chars: 500, max_history_turns: 6, max_tokens: 256 }
    }
}

/// Labels of a local summary's lines: a reader of the prompt sees who said what, and the next fold finds them again.
struct Labels {
    asked: &'static str,
    said: &'static str,
    terms: &'static str,
}

const ENGLISH_LABELS: Labels = Labels { asked: "User: ", said: "Assistant: ", terms: "Mentioned: " };
const CHINESE_LABELS: Labels = Labels { asked: "用户：", said: "助手：", terms: "提到：" };

/// Part of the budget that names, versions and numbers may take, 0..=1. A third keeps room for the sentences they are from.
const TERMS_SHARE: f32 = 0.34;
/// Longest sentence that is taken whole, in characters; longer ones are cut at a word.
const MAX_SENTENCE_CHARS: usize = 240;

/// Words that mark a decision; a sentence with one is kept before others.
const DECISIONS: [&str; 26] = [
    "decided",
    "decide to",
    "we will use",
    "we'll use",
    "i'll use",
    "i will use",
    "i'll go with",
    "let's",
    "chose",
    "choose to",
    "agreed",
    "must",
    "instead of",
    "prefer",
    "i use",
    "i'm on",
    "i am on",
    "决定",
    "采用",
    "选择",
    "就用",
    "改用",
    "必须",
    "我用",
    "我在用",
    "打算",
];

/// One candidate sentence.
struct Candidate {
    role: Role,
    text: String,
    /// The larger, the earlier it is taken.
    weight: f32,
}

impl HistorySummarizer {
    /// How many of the unfolded messages are due to be folded; 0 when the history is short enough.
    #[must_use]
    pub fn due(&self, memory: &ConversationMemory) -> usize {
        let messages = memory.unfolded();
        let chars: usize = messages.iter().map(|message| message.content.chars().count()).sum();
        // With a summary before it, the history as a whole is long already.
        if chars < self.min_chars && memory.summary().is_empty() {
            return 0;
        }
        start_of_turns(messages, self.max_history_turns.max(1))
    }

    /// The summary in an endpoint's reply; `None` when it is unusable and the local one is to be taken.
    #[must_use]
    pub fn read_reply(&self, reply: &str) -> Option<String> {
        let text = reply.trim().trim_matches('"').trim();
        let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
        // A few letters cannot sum up what was too long to keep.
        (letters >= 12).then(|| cut(text, 2000))
    }

    /// The local summary: the summary so far and the best sentences of `messages`, in order, then the names, versions and
    /// numbers of what was left out; bounded by [`Self::max_tokens`].
    #[must_use]
    pub fn extract(
        &self,
        summary: &str,
        messages: &[Message],
        language: Language,
        counter: &dyn TokenCounter,
    ) -> String {
        let labels = match language {
            Language::English => &ENGLISH_LABELS,
            Language::Chinese => &CHINESE_LABELS,
        };
        let mut terms: Vec<String> = Vec::new();
        let mut candidates = earlier(summary, &mut terms);
        for (at, message) in messages.iter().enumerate() {
            let unanswered = message.role == Role::User
                && !messages[at + 1..].iter().any(|later| later.role == Role::Assistant)
                && at + 1 == messages.len();
            candidates.extend(sentences(message, unanswered));
        }
        // Said again is not said twice: the later place wins.
        let mut at = 0;
        while at < candidates.len() {
            if candidates[at + 1..].iter().any(|later| later.text == candidates[at].text) {
                candidates.remove(at);
            } else {
                at += 1;
            }
        }
        let budget = self.max_tokens.max(32);
        let for_terms = (budget as f32 * TERMS_SHARE) as usize;
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        // Newer first among equals: what was said last is asked about next.
        order::sort_by(&mut order, |a, b| candidates[*b].weight.total_cmp(&candidates[*a].weight).then(b.cmp(a)));
        let mut taken = vec![false; candidates.len()];
        let mut used = 0;
        for at in order {
            let cost = counter.count(&candidates[at].text) + 2;
            if used + cost <= budget - for_terms {
                used += cost;
                taken[at] = true;
            }
        }
        let mut lines = String::new();
        for (candidate, taken) in candidates.iter().zip(taken) {
            if !taken {
                terms.extend(key_terms(&candidate.text));
                continue;
            }
            lines.push_str(if candidate.role == Role::User { labels.asked } else { labels.said });
            lines.push_str(&candidate.text);
            lines.push('\n');
        }
        let mut kept: Vec<&str> = Vec::new();
        let mut room = budget.saturating_sub(used + 3);
        // The newest terms first, so that the oldest are what a long conversation loses; then back in order.
        for term in terms.iter().rev() {
            let cost = counter.count(term) + 1;
            if cost <= room && !kept.contains(&term.as_str()) && !lines.contains(term.as_str()) {
                room -= cost;
                kept.push(term);
            }
        }
        if !kept.is_empty() {
            kept.reverse();
            lines.push_str(labels.terms);
            lines.push_str(&kept.join(", "));
        }
        lines.trim_end().to_owned()
    }
}

/// The sentences of an earlier local summary, and its terms; a summary written by an endpoint is taken sentence by sentence.
fn earlier(summary: &str, terms: &mut Vec<String>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for line in summary.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let label = |english: &str, chinese: &str| {
            line.strip_prefix(english.trim_end()).or_else(|| line.strip_prefix(chinese)).map(str::trim)
        };
        if let Some(list) = label(ENGLISH_LABELS.terms, CHINESE_LABELS.terms) {
            terms.extend(list.split(", ").map(str::to_owned));
        } else if let Some(text) = label(ENGLISH_LABELS.asked, CHINESE_LABELS.asked) {
            found.push(Candidate { role: Role::User, text: text.to_owned(), weight: weigh(text, Role::User) });
        } else {
            let text = label(ENGLISH_LABELS.said, CHINESE_LABELS.said).unwrap_or(line);
            for sentence in split_sentences(text) {
                let weight = weigh(&sentence, Role::Assistant);
                found.push(Candidate { role: Role::Assistant, text: sentence, weight });
            }
        }
    }
    found
}

fn sentences(message: &Message, unanswered: bool) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (at, text) in split_sentences(&message.content).into_iter().enumerate() {
        let mut weight = weigh(&text, message.role);
        // An answer's first sentence tends to hold the answer.
        if at == 0 {
            weight += 0.5;
        }
        if unanswered {
            weight += 4.0;
        }
        found.push(Candidate { role: message.role, text, weight });
    }
    found
}

/// How much a summary loses without this sentence: decisions first, then questions, then what names or counts something.
fn weigh(text: &str, role: Role) -> f32 {
    let lower = lowercase(text);
    let mut weight = 0.0;
    if DECISIONS.iter().any(|word| lower.contains(word)) {
        weight += 2.0;
    }
    if role == Role::User
        && (lower.ends_with('?') || lower.ends_with('？') || lower.ends_with('吗') || lower.ends_with('呢'))
    {
        weight += 1.0;
    }
    if role == Role::User {
        weight += 0.25;
    }
    weight + (key_terms(text).len() as f32 * 0.3).min(1.2)
}

/// Sentences of a text, each on one line, code fences and list marks left out.
fn split_sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        let line = line.trim().trim_start_matches(['#', '>', '*', '-', ' ']);
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        if fenced || line.is_empty() {
            continue;
        }
        let mut start = 0;
        let marks: Vec<(usize, char)> = line.char_indices().collect();
        for (i, (at, c)) in marks.iter().enumerate() {
            let next = marks.get(i + 1).map(|(_, c)| *c);
            let ends = matches!(c, '。' | '！' | '？' | '；')
                || (matches!(c, '.' | '!' | '?') && next.is_none_or(char::is_whitespace));
            if ends {
                let end = at + c.len_utf8();
                push_sentence(&mut found, &line[start..end]);
                start = end;
            }
        }
        push_sentence(&mut found, &line[start..]);
    }
    found
}

fn push_sentence(found: &mut Vec<String>, text: &str) {
    let text = text.trim();
    if text.chars().any(char::is_alphanumeric) {
        found.push(cut(text, MAX_SENTENCE_CHARS));
    }
}

/// At most `limit` characters, cut at a space where one is near.
fn cut(text: &str, limit: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(limit) else {
        return text.to_owned();
    };
    let head = &text[..end];
    let end = head.rfind(char::is_whitespace).filter(|at| *at > end / 2).unwrap_or(end);
    format!("{}…", text[..end].trim_end())
}

/// Names, versions, numbers and identifiers of a sentence: what a paraphrase must not lose.
fn key_terms(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut first = true;
    for word in text.split(|c: char| c.is_whitespace() || is_han(c) || "，。；：、！？（）“”‘’《》".contains(c))
    {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '@' | '/' | '$'));
        let word = word.trim_end_matches(['-', '/']);
        if word.chars().count() < 2 && !word.chars().any(|c| c.is_ascii_digit()) {
            first &= word.is_empty();
            continue;
        }
        let digits = word.chars().any(|c| c.is_ascii_digit());
        let inner = word.chars().skip(1).any(|c| c.is_uppercase() || matches!(c, '_' | '/' | '.'));
        let capital = !first && word.chars().next().is_some_and(char::is_uppercase);
        let code = word.starts_with(['-', '@', '$']) || inner;
        if (digits || capital || code) && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
        first = false;
    }
    for quoted in text.split(['「', '」', '《', '》', '“', '”', '`']).skip(1).step_by(2) {
        let quoted = quoted.trim();
        if (1..=40).contains(&quoted.chars().count()) && !found.iter().any(|known| known == quoted) {
            found.push(quoted.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::turn::EstimatedTokens;

    fn memory(turns: &[(&str, &str)]) -> ConversationMemory {
        let mut memory = ConversationMemory::new("s");
        for (user, assistant) in turns {
            memory.add_message(Role::User, *user, 0, BTreeMap::new(), &EstimatedTokens);
            memory.add_message(Role::Assistant, *assistant, 0, BTreeMap::new(), &EstimatedTokens);
        }
        memory
    }

    fn long_talk() -> ConversationMemory {
        memory(&[
            ("I'm on Windows 11 with Vue 3.4, how do I start?", "Use `npm create vue@latest` with Node 18.3 or newer."),
            (
                "We decided to use Pinia, is that right?",
                "Yes. Pinia is the official store and supports SSR. It weighs about 1.5 kB.",
            ),
            (
                "Does useFetch work without Nuxt?",
                "No, `useFetch` belongs to Nuxt. Use a composable of your own, see fetch.js.",
            ),
            (
                "Where do I put the store?",
                "In src/stores. Each store has its own file there, named after what it holds.",
            ),
            (
                "And the tests?",
                "Vitest runs them. It shares the configuration with Vite, so there is little to set up.",
            ),
            ("How do I mock the store?", "With createTestingPinia, from the package @pinia/testing, in each test."),
            ("Can it be persisted?", "A plugin subscribes to the store and writes to localStorage after each change."),
            ("Which plugin?", "The community keeps pinia-plugin-persistedstate, version 4, with options per store."),
        ])
    }

    #[test]
    fn a_short_history_is_left_alone() {
        let summarizer = HistorySummarizer::default();
        let mut short = memory(&[("hi", "hello"); 9]);
        assert_eq!(summarizer.due(&short), 0);
        assert!(!short.summarize(&summarizer, &EstimatedTokens));
    }

    #[test]
    fn the_older_turns_are_folded_and_stay_in_the_window() {
        let summarizer = HistorySummarizer::default();
        let mut long = long_talk();
        assert_eq!(summarizer.due(&long), 4);
        assert!(long.summarize(&summarizer, &EstimatedTokens));
        assert_eq!((long.messages().len(), long.unfolded().len()), (16, 12));
        assert_eq!(summarizer.due(&long), 0);
        let context = long.prompt_context();
        assert_eq!((context.len(), context[0].role), (13, Role::System));
        for kept in ["Windows 11", "3.4", "Pinia", "decided", "18.3"] {
            assert!(context[0].content.contains(kept), "{kept} is missing in: {}", context[0].content);
        }
    }

    #[test]
    fn the_summary_is_bounded_and_keeps_numbers_over_many_folds() {
        let summarizer = HistorySummarizer { max_tokens: 90, ..HistorySummarizer::default() };
        let mut summary = String::new();
        for round in 0..30 {
            let talk = long_talk();
            let language = Language::English;
            summary = summarizer.extract(&summary, talk.messages(), language, &EstimatedTokens);
            assert!(EstimatedTokens.count(&summary) <= 96, "round {round}: {summary}");
        }
        assert!(summary.contains("decided to use Pinia"), "{summary}");
        assert!(summary.contains("Mentioned: "), "{summary}");
    }

    #[test]
    fn an_open_question_outlives_the_rest() {
        let summarizer = HistorySummarizer { max_tokens: 40, ..HistorySummarizer::default() };
        let mut talk = long_talk();
        talk.add_message(Role::User, "那迁移到 Postgres 16 要多久？", 0, BTreeMap::new(), &EstimatedTokens);
        let summary = summarizer.extract("", talk.messages(), Language::Chinese, &EstimatedTokens);
        assert!(summary.contains("用户：那迁移到 Postgres 16 要多久？"), "{summary}");
    }

    #[test]
    fn an_unusable_reply_is_refused() {
        let summarizer = HistorySummarizer::default();
        for (reply, expected) in
            [("", None), (" \"ok\" ", None), ("\"The reader uses Vue 3.4.\"", Some("The reader uses Vue 3.4."))]
        {
            assert_eq!(summarizer.read_reply(reply).as_deref(), expected, "{reply}");
        }
    }

    #[test]
    fn key_terms_are_names_versions_numbers_and_code() {
        for (text, expected) in [
            ("We run Postgres 16 on Fedora", vec!["Postgres", "16", "Fedora"]),
            ("Use --no-cache with src/main.rs, please", vec!["--no-cache", "src/main.rs"]),
            ("把「向量索引」换成 HNSW", vec!["HNSW", "向量索引"]),
            ("The end of it.", vec![]),
        ] {
            assert_eq!(key_terms(text), expected, "{text}");
        }
    }
}
