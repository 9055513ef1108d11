//! The values that the stages of a turn hand on to each other.
//!
//! Every type here is plain data and serializes to the camelCase JSON that the page, the command line and the logs see.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::lowercase::lowercase;

/// The languages that the agent speaks and understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Language {
    /// English.
    #[default]
    #[serde(rename = "en")]
    English,
    /// Chinese, simplified or traditional.
    #[serde(rename = "zh")]
    Chinese,
}

impl Language {
    /// The BCP 47 tag.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// The language that a text is written in, from its script and its function words; `None` where it has no letters.
    ///
    /// A sentence that mixes both belongs to the language of its grammar: "Vue 的 Teleport 怎么用" is Chinese although most
    /// of its letters are Latin, "what does 组件 mean" is English.
    #[must_use]
    pub fn detect(text: &str) -> Option<Self> {
        const ENGLISH: [&str; 24] = [
            "a", "an", "the", "is", "are", "was", "do", "does", "did", "what", "how", "why", "when", "where", "which",
            "who", "can", "should", "of", "to", "in", "for", "and", "mean",
        ];
        const CHINESE: &str = "的了吗呢吧么是不在有和与怎什哪谁这那它如何请我你用把给被让个想要能会";
        let han = text.chars().filter(|c| is_han(*c)).count();
        let words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric() || is_han(c))
            .filter(|word| word.chars().any(char::is_alphabetic))
            .map(lowercase)
            .collect();
        if han == 0 {
            return (!words.is_empty()).then_some(Self::English);
        }
        let english = words.iter().filter(|word| ENGLISH.contains(&word.as_str())).count();
        let chinese = text.chars().filter(|c| CHINESE.contains(*c)).count();
        // Two Han characters carry about as much as one English word.
        let is_english = if english > 0 && chinese == 0 {
            words.len() * 2 >= han
        } else {
            english > chinese && words.len() * 2 > han * 3
        };
        Some(if is_english { Self::English } else { Self::Chinese })
    }
}

/// Whether a character is a Han ideograph.
#[must_use]
pub fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3134F}')
}

/// Counts tokens as the loaded embedding model's tokenizer does.
pub trait TokenCounter {
    /// The number of tokens of `text`, special tokens not counted.
    fn count(&self, text: &str) -> usize;
}

/// The count until a tokenizer is there: an estimate from the script and the length of words.
///
/// A Han character and a punctuation mark count one; a run of other letters and digits counts one for each five characters
/// begun. WordPiece with a 30,000-word vocabulary splits seldom below that, so that the estimate errs on the high side and
/// a budget that it keeps is kept by the tokenizer as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EstimatedTokens;

impl TokenCounter for EstimatedTokens {
    fn count(&self, text: &str) -> usize {
        let (mut tokens, mut run) = (0, 0usize);
        for c in text.chars() {
            if c.is_alphanumeric() && !is_han(c) {
                run += 1;
                continue;
            }
            tokens += run.div_ceil(5);
            run = 0;
            if !c.is_whitespace() {
                tokens += 1;
            }
        }
        tokens + run.div_ceil(5)
    }
}

/// What the reader wants of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// An answer from the documentation.
    Retrieval,
    /// A greeting, thanks, small talk.
    Chitchat,
    /// Cannot be searched, even with the conversation.
    Clarify,
    /// The turn failed; see [`Turn::error`].
    Error,
}

/// How a message works on the previous answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUpKind {
    /// Plainer words.
    Simplify,
    /// Go deeper, or say it again.
    Detail,
    /// A concrete case.
    Example,
    /// Condense.
    Summary,
    /// Refers back to something.
    Pronoun,
}

/// What the agent did in a turn. The first five are decided by the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Answers the question.
    AnswerDirectly,
    /// Asks back, with choices.
    AskClarification,
    /// Answers and offers related pages.
    SuggestRelated,
    /// Sums up the conversation.
    ProvideSummary,
    /// Hands over to a human.
    EscalateToHuman,
    /// Small talk.
    Chitchat,
    /// Works on the previous answer.
    FollowUp,
    /// Opens an item that was offered.
    Select,
    /// Leaves the guidance.
    End,
}

/// Which legs of the search answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// BM25 only: the model is not there (yet), or does not fit the index.
    Lexical,
    /// Vectors only; never chosen by the agent itself.
    Dense,
    /// Both, fused.
    Hybrid,
}

/// The scores of one hit, kept apart so that a log can show them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scores {
    /// BM25F, 0 and up; `None` when the lexical leg did not find it.
    pub lexical: Option<f32>,
    /// Cosine, -1..=1; `None` when there was no dense leg or it did not find it.
    pub dense: Option<f32>,
    /// What the hits are ordered by, 0 and up.
    pub fused: f32,
    /// Calibrated probability-like evidence that the passage answers the question, 0..=1.
    pub evidence: f32,
}

/// A passage of the documentation, as the search returns it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// Stable id of the chunk: the document's id, `#`, the chunk's number in it.
    pub id: String,
    /// Id of the document (page) it belongs to.
    pub document: String,
    /// Title of the page.
    pub title: String,
    /// Headings from the page's title down to the chunk, the title left out.
    pub heading_path: Vec<String>,
    /// Deep link, with the anchor of the nearest heading.
    pub url: String,
    /// The text of the chunk.
    pub text: String,
    /// The sentence or lines of it that answer best.
    pub best: String,
    /// Byte ranges of `best` that match the question's terms, in order, not overlapping.
    pub highlights: Vec<(usize, usize)>,
    /// Tags of the page.
    pub tags: Vec<String>,
    /// Version facet of the page.
    pub version: Option<String>,
    /// Section facet of the page.
    pub section: Option<String>,
    /// Language of the page.
    pub language: Language,
    /// Its scores.
    pub scores: Scores,
}

/// A link of a reply. Only passages that the reply was made from become sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// The number that the reply cites it by, from 1.
    pub n: usize,
    /// Id of the document.
    pub document: String,
    /// Title of the page.
    pub title: String,
    /// Headings down to the passage.
    pub heading_path: Vec<String>,
    /// Deep link.
    pub url: String,
    /// The quoted sentence.
    pub quote: String,
    /// Byte ranges of `quote` to highlight.
    pub highlights: Vec<(usize, usize)>,
    /// Evidence, 0..=1.
    pub score: f32,
}

/// Something the reader can choose: a suggestion or a clarifying option.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// Id of the document, or `facet=value` for a facet.
    pub id: String,
    /// What the reader sees.
    pub title: String,
    /// Link, where the offer is a page.
    pub url: Option<String>,
    /// Why it is offered, in a few words.
    pub reason: String,
}

/// Where the reader finds a human; set by the site.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Contact {
    /// What the link says; "Contact us" in the reader's language where nothing is said.
    pub label: Option<String>,
    /// A page, such as a form or a chat.
    pub url: Option<String>,
    /// A mail address.
    pub email: Option<String>,
    /// Name of an event that the page listens to; the conversation is its detail.
    pub event: Option<String>,
}

/// A hand-over to a human.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handover {
    /// Where to; `None` where the site named nobody.
    pub contact: Option<Contact>,
    /// The link to follow: the contact's page, or a `mailto:` that carries the transcript.
    pub link: Option<String>,
    /// The conversation, once the reader agreed to pass it on; until then `None`.
    pub transcript: Option<String>,
}

/// Tokens used by the endpoint in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the prompts.
    pub prompt_tokens: u32,
    /// Tokens of the replies.
    pub completion_tokens: u32,
    /// Calls of the endpoint.
    pub calls: u32,
    /// True when the endpoint did not count and the numbers are ours.
    pub estimated: bool,
}

/// The kinds of failure that a reader is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The endpoint was too slow.
    Timeout,
    /// The endpoint asks for fewer requests.
    RateLimit,
    /// The endpoint could not be reached.
    Network,
    /// The endpoint refuses the credentials.
    Auth,
    /// A filter refused the content.
    ContentFilter,
    /// The reply broke off or was stopped.
    Interrupted,
    /// Anything else.
    Default,
}

/// Why a turn fell back to the local answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The kind, from the typed error.
    pub kind: FailureKind,
    /// The error's stable code.
    pub code: String,
    /// The cause, readable, without secrets.
    pub cause: String,
    /// How long to wait before another try, when known.
    pub retry_after_ms: Option<u64>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let kind = match error {
            Error::Timeout { .. } => FailureKind::Timeout,
            Error::RateLimit { .. } => FailureKind::RateLimit,
            Error::Network { .. } => FailureKind::Network,
            Error::Auth { .. } => FailureKind::Auth,
            Error::ContentFilter { .. } => FailureKind::ContentFilter,
            Error::Interrupted(_) | Error::Cancelled => FailureKind::Interrupted,
            _ => FailureKind::Default,
        };
        let retry_after_ms = match error {
            Error::RateLimit { retry_after_ms } => *retry_after_ms,
            _ => None,
        };
        Self { kind, code: error.code().to_owned(), cause: error.to_string(), retry_after_ms }
    }
}

/// What a turn gives back to the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// The reply, Markdown with citations `[n]`; `n` is [`Source::n`].
    pub reply: String,
    /// What the reader wanted.
    pub intent: Intent,
    /// How the message worked on the previous answer, if it did.
    pub follow_up: Option<FollowUpKind>,
    /// What the agent did.
    pub action: Action,
    /// Why, a stable word such as `new_topic`.
    pub reason: String,
    /// The stand-alone query that was searched; `None` when nothing was searched.
    pub rewritten_query: Option<String>,
    /// The links of the reply.
    pub sources: Vec<Source>,
    /// Related pages offered with the answer.
    pub suggestions: Vec<Offer>,
    /// Choices of a clarifying question.
    pub options: Vec<Offer>,
    /// Language of the reply.
    #[serde(default)]
    pub language: Language,
    /// True when the reply broke off or was stopped: it holds what had arrived.
    #[serde(default)]
    pub partial: bool,
    /// Byte ranges of the sentences of `reply` that no passage supports, in order.
    #[serde(default)]
    pub unsupported: Vec<(usize, usize)>,
    /// The hand-over, in the turns that offer or make one.
    #[serde(default)]
    pub handover: Option<Handover>,
    /// Messages in the window after the turn.
    pub history_length: usize,
    /// Which legs of the search answered.
    pub mode: Mode,
    /// Tokens used; `None` when no endpoint was called.
    pub usage: Option<Usage>,
    /// What was understood, searched, scored, decided and why.
    pub trace: Trace,
    /// Why the turn fell back to the local answer.
    pub error: Option<Failure>,
}

/// The explanation of a turn: its steps in the order in which they ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// The steps.
    pub steps: Vec<TraceStep>,
    /// Odd things that were worked around, in readable sentences.
    pub warnings: Vec<String>,
}

/// One step of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceStep {
    /// `guard`, `understand`, `rewrite`, `retrieve`, `relevance`, `decide`, `act`, `generate` or `remember`.
    pub step: String,
    /// How long it took, in milliseconds.
    pub ms: f64,
    /// Its findings; the fields of each step are listed in the user guide.
    pub detail: serde_json::Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixed_sentence_belongs_to_the_language_of_its_grammar() {
        for (text, expected) in [
            ("How do I install it?", Some(Language::English)),
            ("怎么安装", Some(Language::Chinese)),
            ("Vue 的 <Teleport> 怎么用？", Some(Language::Chinese)),
            ("what does 组件 mean in the docs?", Some(Language::English)),
            ("pip install faiss-gpu 报错", Some(Language::Chinese)),
            ("venv", Some(Language::English)),
            ("?! 42", None),
            ("", None),
        ] {
            assert_eq!(Language::detect(text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_are_estimated_by_script() {
        for (text, expected) in [("", 0), ("hello", 1), ("internationalization", 4), ("安装包", 3), ("pip 安装", 3)]
        {
            assert_eq!(EstimatedTokens.count(text), expected, "{text}");
        }
    }
}
