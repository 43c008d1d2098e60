//! The model, as the loop sees it: one request, a stream of what comes, and exact usage.

pub mod bill;
pub mod effort;
pub mod fallback;
pub mod picture;
pub mod scripted;
pub(crate) mod text_tool_calls;

use crate::model::effort::{CacheAfter, Effort};
use codelet_context::conversation::Place;
use codelet_context::message::Message;
use codelet_context::price::PriceCard;
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use futures_util::stream::BoxStream;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// A model that can be asked. Each call is one request: nothing is retried, compacted or repaired behind it.
pub trait Model: Send + Sync {
    /// What is known of the model.
    fn profile(&self) -> &Profile;

    /// How long it may say nothing, given a prompt of so many tokens, before its request counts as failed; none where it always
    /// answers at once.
    fn silence(&self, prompt: Tokens) -> Option<Silence> {
        let _ = prompt;
        None
    }

    /// The longest answer to ask for where nobody reads it, only what the request costs, in tokens. None where a shorter one
    /// would make it another request to the provider's cache, or where the prompt is counted before the first word.
    fn idle_output(&self) -> Option<Tokens> {
        None
    }

    /// Whether it may think before it answers, the way it is asked. What it thinks shares the limit of its answer.
    fn thinks(&self) -> bool {
        false
    }

    /// The thinking efforts that it takes; none where it does not think.
    fn efforts(&self) -> Vec<Effort> {
        Vec::new()
    }

    /// The effort that it is asked for; none where the provider's default holds.
    fn effort(&self) -> Option<Effort> {
        None
    }

    /// The same model with another effort, or with the provider's default; all that was learned of it stays. None where it
    /// does not take that effort.
    fn with_effort(&self, effort: Option<Effort>) -> Option<Box<dyn Model>> {
        let _ = effort;
        None
    }

    /// What becomes of the provider's prompt cache with another effort.
    fn cache_after(&self, effort: Option<Effort>) -> CacheAfter {
        let _ = effort;
        CacheAfter::Unknown
    }

    /// Sends one request. Dropping the stream closes the connection; what was [reported](Delta::Billed) until then counts.
    ///
    /// The stream ends after [`Delta::Done`] or after the first error.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>>;
}

/// How long a model may say nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Silence {
    /// Until the first sign of life.
    pub first: Duration,
    /// From one sign of life to the next.
    pub between: Duration,
}

/// What is known of a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// `vendor/model`, as the user names it.
    pub name: String,
    /// Its limit, in tokens.
    pub window: Tokens,
    /// The longest answer that it gives, in tokens.
    pub max_output: Tokens,
    /// Whether it takes pictures.
    pub sees_images: bool,
    /// What it costs, and the rules of its cache; none where nobody knows.
    pub price: Option<PriceCard>,
    /// No catalogue lists it: the figures are safe guesses.
    pub is_unknown: bool,
}

/// The window of a model that nobody knows, in tokens: the smallest that current hosted models have.
pub const SAFE_WINDOW: Tokens = 128_000;
/// The output limit of a model that nobody knows, in tokens.
pub const SAFE_OUTPUT: Tokens = 8_192;

impl Profile {
    /// Safe guesses for a model that no catalogue lists.
    pub fn unknown(name: &str) -> Self {
        Profile {
            name: name.to_owned(),
            window: SAFE_WINDOW,
            max_output: SAFE_OUTPUT,
            sees_images: false,
            price: None,
            is_unknown: true,
        }
    }
}

/// A tool, as the model is told of it.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolSpec {
    /// Its name.
    pub name: Arc<str>,
    /// What it does and when to use it, in a few lines.
    pub description: Arc<str>,
    /// The parameters as a JSON schema, an object; its keys are always sent in this order.
    pub parameters: Value,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is sent, the system prompt first.
    pub messages: Vec<Arc<Message>>,
    /// The tools that may be called, the same in each request of a session.
    pub tools: Arc<[ToolSpec]>,
    /// The most that the answer may be, in tokens; none leaves it to the profile.
    pub max_output: Option<Tokens>,
    /// How many of the messages the last request held, where they still stand as they were. A cache mark at this edge
    /// finds them in the cache however much was appended since.
    pub edge: Option<usize>,
    /// How many of the messages stand before the place at which the next edit is expected. A cache mark there lets that edit
    /// keep what is before it.
    pub next_edit: Option<usize>,
    /// Names the session, for vendors that route requests of one session to one cache.
    pub session: Arc<str>,
}

/// What comes from a model while it answers.
#[derive(Clone, PartialEq, Debug)]
pub enum Delta {
    /// More of the answer's words.
    Text(String),
    /// More of the thinking, where the vendor shows it.
    Thinking(String),
    /// A tool call begins; its parameters are on their way.
    Call {
        /// The tool's name.
        tool: String,
    },
    /// The counts that the vendor has reported so far. The last one stands; nothing is summed.
    Billed(Billed),
    /// A sign of life that says nothing of the answer: the model is at work, and silence counts anew from here.
    Alive,
    /// The whole answer; nothing comes after it.
    Done(Reply),
}

/// What a request cost, as reported by the vendor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Billed {
    /// The four counts.
    pub usage: Usage,
    /// The part of `usage.cache_write` that went to a cache that lives an hour.
    pub write_1h: Tokens,
    /// The part of `usage.output` that was thinking.
    pub reasoning: Tokens,
}

/// A whole answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Reply {
    /// The assistant's message, with everything that the vendor needs back. A call whose parameters were cut has none of
    /// them; see [`Stop::OutputLimit`] and `broken`.
    pub message: Message,
    /// Why the model stopped.
    pub stop: Stop,
    /// Ids of calls in the message whose parameters were no whole JSON object; they are never run.
    pub broken: Vec<Arc<str>>,
    /// What the request cost.
    pub billed: Billed,
}

/// Why a model stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It has said what it had to say, or waits for its tools.
    Finished,
    /// The answer ran into its limit; the end is missing.
    OutputLimit,
    /// The window was full before the answer ended; the end is missing.
    WindowFull,
    /// The vendor paused a long turn; the same conversation is to be sent again with the answer so far.
    Paused,
    /// The model or the vendor's filter declined to answer, in its words.
    Declined(String),
    /// The answer is a tool call as text, in the model's own template: its server has not read it as a call. No vendor says
    /// so; the loop finds it.
    WroteCall,
    /// The vendor broke the answer off for a fault in it, in its words: a call that it could not read, for example, which is
    /// then not in the message.
    BrokenOff(String),
}

/// What of a conversation a vendor does not take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Suspects {
    /// Its words do not tell.
    Unknown,
    /// A picture, and its words do not tell which: one of the newest, as those before them were taken.
    NewestPictures,
    /// Every picture with a longer side than so many pixels.
    PicturesAbove(u32),
    /// Any picture.
    AllPictures,
    /// These parts of the request's messages.
    Parts(Vec<Place>),
}

/// Why there is no answer. Each carries what the vendor said, without any key.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ModelError {
    /// The request does not fit into the window.
    #[error("the request is too long for the model: {said}")]
    TooLong {
        /// The limit that the vendor names, in tokens.
        limit: Option<Tokens>,
        /// What it has counted the prompt as, if it says so, in tokens.
        counted: Option<Tokens>,
        /// Its words.
        said: String,
    },
    /// The request asks for a longer answer than the model gives.
    #[error("the requested maximum output is too large for the model: {said}")]
    OutputLimit {
        /// The longest that it gives, in tokens, where the vendor names it.
        limit: Option<Tokens>,
        /// Its words.
        said: String,
    },
    /// The vendor is overloaded, limits the rate, or failed on its side.
    #[error("the provider is busy: {said}")]
    Busy {
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
        /// Its words.
        said: String,
    },
    /// The connection failed, was cut, or went silent.
    #[error("the connection to the provider failed: {said}")]
    Cut {
        /// What happened.
        said: String,
        /// A part of the answer had come before, so the provider is there.
        had_begun: bool,
    },
    /// The key is missing, wrong, or may not do this.
    #[error("the provider rejected the API key: {said}")]
    Credentials {
        /// The vendor's words.
        said: String,
    },
    /// The vendor does not take the request: an unknown model, a field that it does not know, a policy.
    #[error("the provider refused the request: {said}")]
    Refused {
        /// The vendor's words.
        said: String,
    },
    /// The vendor does not take something that was said, and with it none of the requests that hold it.
    #[error("the provider refused the request: {said}")]
    Rejected {
        /// The vendor's words.
        said: String,
        /// What of it, as far as they tell.
        suspects: Suspects,
    },
    /// The vendor does not take a field of the request, and knows another way to say the same: requests are written so from
    /// here on.
    #[error("the provider rejected a field of the request: {said}")]
    Rewritten {
        /// The vendor's words.
        said: String,
        /// What is done about it, a fragment.
        how: String,
    },
    /// The answer makes no sense: not what the wire says.
    #[error("the provider's answer could not be read: {said}")]
    Garbled {
        /// What was wrong.
        said: String,
    },
}
