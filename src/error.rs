//! One error type for the whole crate, its variants chosen by what the caller can do about them.
//!
//! **Invariant:** no message ever carries a key, a header value or a reader's question.

use thiserror::Error as ThisError;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
///
/// [`Error::code`] is stable and is what programs should test; the message is for people.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, ThisError)]
pub enum Error {
    /// The endpoint could not be reached.
    #[error("the endpoint could not be reached: {message}")]
    Network {
        /// What the host said.
        message: String,
    },
    /// The endpoint was too slow.
    #[error("no {phase} from the endpoint within {after_ms} ms")]
    Timeout {
        /// What was waited for: `first byte`, `next byte` or `end of the reply`.
        phase: &'static str,
        /// The limit that was passed, in milliseconds.
        after_ms: u64,
    },
    /// The endpoint asks for fewer requests.
    #[error("the endpoint limits the rate of requests{}", wait_note(*.retry_after_ms))]
    RateLimit {
        /// How long it asks to wait, in milliseconds, when it says so.
        retry_after_ms: Option<u64>,
    },
    /// The endpoint refuses the credentials.
    #[error("the endpoint refuses the credentials (HTTP {status})")]
    Auth {
        /// The HTTP status.
        status: u16,
    },
    /// The endpoint, or the site's own filter, refuses the content.
    #[error("the content was refused by a filter: {message}")]
    ContentFilter {
        /// What the filter said.
        message: String,
    },
    /// The endpoint answered with another error status.
    #[error("the endpoint answered HTTP {status}: {body}")]
    Endpoint {
        /// The HTTP status.
        status: u16,
        /// The start of the body, at most 500 characters.
        body: String,
    },
    /// The endpoint answered something that is not a chat completion.
    #[error("the endpoint's answer is not a chat completion: {0}")]
    Protocol(String),
    /// The reply stopped in the middle.
    #[error("the reply broke off: {0}")]
    Interrupted(String),
    /// The caller stopped the turn.
    #[error("stopped by the caller")]
    Cancelled,
    /// A turn is running already.
    #[error("a turn is running; wait for it or abort it")]
    Busy,
    /// The embedding model cannot be used.
    #[error("the embedding model cannot be used: {0}")]
    Model(String),
    /// The vector engine cannot be used; the text says what to do.
    #[error("the vector engine cannot be used: {0}")]
    VectorEngine(String),
    /// The index cannot be used; the text says what to do.
    #[error("the index cannot be used: {0}")]
    Index(#[from] IndexError),
    /// Saved data cannot be used.
    #[error("the saved data cannot be used: {0}")]
    Storage(String),
    /// An option is out of range or malformed.
    #[error("option `{name}`: {reason}")]
    InvalidOption {
        /// The option as the caller wrote it.
        name: String,
        /// What is wrong with it and what is allowed.
        reason: String,
    },
    /// A file or folder given to the command line cannot be used.
    #[error("{path}: {reason}")]
    Input {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Why an index cannot be opened.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum IndexError {
    /// A file could not be loaded at all.
    #[error("{address} could not be loaded: {reason}")]
    Unreachable {
        /// Its address.
        address: String,
        /// What the host said, such as `HTTP 404`.
        reason: String,
    },
    /// No bytes at all.
    #[error("the file is empty; build it again with `docent index`")]
    Empty,
    /// The bytes are something else, named in the text.
    #[error("{found} was served instead of an index; {advice}")]
    NotAnIndex {
        /// What the bytes look like.
        found: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// Another version of the format.
    #[error(
        "the index has format version {found}, this build reads {supported}; build it again with the matching `docent index`"
    )]
    Version {
        /// The version in the file.
        found: u32,
        /// The version this build reads.
        supported: u32,
    },
    /// Shorter than its header says.
    #[error("the index is cut short: {expected} bytes expected, {found} found; upload or download it again")]
    Truncated {
        /// Bytes expected.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// The bytes do not match their hash, or contradict themselves.
    #[error("the index is damaged ({0}); upload it again, or build it again with `docent index`")]
    Damaged(String),
    /// The index was built for another model than the one that is loaded.
    #[error(
        "the index was built for the model {index}, the loaded model is {model}; dense search is off, lexical search goes on"
    )]
    ModelMismatch {
        /// The model named in the index.
        index: String,
        /// The model that is loaded.
        model: String,
    },
}

impl Error {
    /// A stable name for the kind of error, for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Network { .. } => "network",
            Self::Timeout { .. } => "timeout",
            Self::RateLimit { .. } => "rate_limit",
            Self::Auth { .. } => "auth",
            Self::ContentFilter { .. } => "content_filter",
            Self::Endpoint { .. } => "endpoint",
            Self::Protocol(_) => "protocol",
            Self::Interrupted(_) => "interrupted",
            Self::Cancelled => "cancelled",
            Self::Busy => "busy",
            Self::Model(_) => "model",
            Self::VectorEngine(_) => "vector_engine",
            Self::Index(error) => error.code(),
            Self::Storage(_) => "storage",
            Self::InvalidOption { .. } => "invalid_option",
            Self::Input { .. } => "input",
        }
    }
}

impl IndexError {
    /// A stable name for the kind of error, for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "index_unreachable",
            Self::Empty => "index_empty",
            Self::NotAnIndex { .. } => "index_not_an_index",
            Self::Version { .. } => "index_version",
            Self::Truncated { .. } => "index_truncated",
            Self::Damaged(_) => "index_damaged",
            Self::ModelMismatch { .. } => "index_model_mismatch",
        }
    }
}

fn wait_note(retry_after_ms: Option<u64>) -> String {
    retry_after_ms.map_or_else(String::new, |ms| format!("; try again in {} s", ms.div_ceil(1000)))
}
