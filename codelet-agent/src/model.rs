//! The model, as the loop sees it: one request, a stream of deltas, and exact usage.

pub mod bill;
pub mod effort;
pub mod fallback;
pub mod picture;
pub mod scripted;
pub(crate) mod text_tool_calls;

pub use text_tool_calls::unfenced;

use crate::model::effort::{CacheAfter, Effort};
use codelet_context::conversation::PartPosition;
use codelet_context::message::Message;
use codelet_context::price::PriceCard;
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use futures_util::stream::BoxStream;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// A model. Each call is one request: implementations do not retry, compact or repair anything on their own.
pub trait Model: Send + Sync {
    /// Returns what is known of the model.
    fn profile(&self) -> &Profile;

    /// Returns how long the model may be silent, given a prompt of this many tokens, before its request counts as
    /// failed; `None` if it always answers at once.
    fn silence(&self, prompt: Tokens) -> Option<Silence> {
        let _ = prompt;
        None
    }

    /// Returns the output limit, in tokens, for a request made only to learn its cost. `None` if a shorter limit would
    /// make it a different request to the provider's cache, or if the provider counts the prompt before the first
    /// token.
    fn idle_output(&self) -> Option<Tokens> {
        None
    }

    /// Returns whether the model may think before it answers, as configured. Thinking counts toward the output limit.
    fn thinks(&self) -> bool {
        false
    }

    /// Returns the thinking efforts that the model accepts; empty if it does not think.
    fn efforts(&self) -> Vec<Effort> {
        Vec::new()
    }

    /// Returns the requested effort; `None` for the provider's default.
    fn effort(&self) -> Option<Effort> {
        None
    }

    /// Returns the same model with another effort, or with the provider's default, keeping everything learned about it.
    /// `None` if it does not accept that effort.
    fn with_effort(&self, effort: Option<Effort>) -> Option<Box<dyn Model>> {
        let _ = effort;
        None
    }

    /// Returns what another effort does to the provider's prompt cache.
    fn cache_after(&self, effort: Option<Effort>) -> CacheAfter {
        let _ = effort;
        CacheAfter::Unknown
    }

    /// Sends one request. Dropping the stream closes the connection; usage [reported](Delta::Billed) before that still
    /// counts.
    ///
    /// The stream ends after [`Delta::Done`] or after the first error.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>>;
}

/// The time limits for a silent model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Silence {
    /// Until the first sign of life.
    pub first: Duration,
    /// Between two signs of life.
    pub between: Duration,
}

/// The known properties of a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// `provider/model`, as the user writes it.
    pub name: String,
    /// Its context window, in tokens.
    pub window: Tokens,
    /// Its maximum output, in tokens.
    pub max_output: Tokens,
    /// True if it accepts images.
    pub sees_images: bool,
    /// Its prices and cache rules; `None` if unknown.
    pub price: Option<PriceCard>,
    /// True if the model is in no catalogue: the figures are safe guesses.
    pub is_unknown: bool,
}

/// The context window of an unknown model, in tokens: the smallest among current hosted models.
pub const SAFE_WINDOW: Tokens = 128_000;
/// The output limit of an unknown model, in tokens.
pub const SAFE_OUTPUT: Tokens = 8_192;

impl Profile {
    /// Returns safe guesses for a model in no catalogue.
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

/// A tool definition, as sent to the model.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolSpec {
    /// The tool's name.
    pub name: Arc<str>,
    /// A few lines on what it does and when to use it.
    pub description: Arc<str>,
    /// The parameters as a JSON schema of type object; its keys are always sent in this order.
    pub parameters: Value,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The messages, starting with the system prompt.
    pub messages: Vec<Arc<Message>>,
    /// The tools that may be called, the same in each request of a session.
    pub tools: Arc<[ToolSpec]>,
    /// The output limit, in tokens; `None` leaves it to the profile.
    pub max_output: Option<Tokens>,
    /// The number of leading messages unchanged since the last request. A cache breakpoint at this edge finds them in
    /// the cache however much was appended since.
    pub edge: Option<usize>,
    /// The number of messages in front of the point where the next edit is expected. A cache breakpoint there lets that
    /// edit keep the prefix in front of it.
    pub next_edit: Option<usize>,
    /// Identifies the session, for providers that route requests of one session to one cache.
    pub session: Arc<str>,
}

/// One item of a streamed response.
#[derive(Clone, PartialEq, Debug)]
pub enum Delta {
    /// More text of the answer.
    Text(String),
    /// More thinking, if the provider shows it.
    Thinking(String),
    /// A tool call begins; its parameters follow.
    Call {
        /// The tool's name.
        tool: String,
    },
    /// The usage reported so far. The latest report replaces the earlier ones; nothing is summed.
    Billed(Billed),
    /// A sign of life without content: the model is working, and the silence timer restarts.
    Alive,
    /// The whole answer; nothing follows.
    Done(Reply),
}

/// The usage of a request, as reported by the provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Billed {
    /// The four counts.
    pub usage: Usage,
    /// The part of `usage.cache_write` written to a cache with a lifetime of one hour.
    pub write_1h: Tokens,
    /// The part of `usage.output` spent on thinking.
    pub reasoning: Tokens,
}

/// A whole answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Reply {
    /// The assistant's message, with everything that the provider needs back. A call whose parameters were truncated
    /// has none; see [`Stop::OutputLimit`] and `broken`.
    pub message: Message,
    /// The stop reason.
    pub stop: Stop,
    /// The ids of calls in the message whose parameters were not a complete JSON object; they are never run.
    pub broken: Vec<Arc<str>>,
    /// The usage of the request.
    pub billed: Billed,
}

/// The reason why a model stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It finished its answer, or is waiting for its tool calls.
    Finished,
    /// The answer hit the output limit; its end is missing.
    OutputLimit,
    /// The context window was full before the answer ended; its end is missing.
    WindowFull,
    /// The provider paused a long turn; the conversation has to be sent again with the answer so far.
    Paused,
    /// The model or the provider's filter declined to answer, with its explanation.
    Declined(String),
    /// The answer is a tool call as text, in the model's own template, which its server did not parse. No provider
    /// reports this; the loop detects it.
    WroteCall,
    /// The provider aborted the answer because of an error in it, with its explanation: for example a call that it
    /// could not parse, which is then missing from the message.
    BrokenOff(String),
}

/// The parts of a conversation that a provider may have rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Suspects {
    /// The error message does not tell.
    Unknown,
    /// One of the newest images, as earlier ones were accepted; the error message does not tell which.
    NewestPictures,
    /// Every image whose longer side exceeds this many pixels.
    PicturesAbove(u32),
    /// Any image.
    AllPictures,
    /// These parts of the request's messages.
    Parts(Vec<PartPosition>),
}

/// The reason for a failed request. `said` is the provider's error message, without any API key.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ModelError {
    /// The request does not fit into the context window.
    #[error("the request is too long for the model: {said}")]
    TooLong {
        /// The limit in the error message, in tokens.
        limit: Option<Tokens>,
        /// The provider's count of the prompt, in tokens, if reported.
        counted: Option<Tokens>,
        /// The provider's error message.
        said: String,
    },
    /// The request asks for more output than the model supports.
    #[error("the requested maximum output is too large for the model: {said}")]
    OutputLimit {
        /// The maximum output, in tokens, if reported.
        limit: Option<Tokens>,
        /// The provider's error message.
        said: String,
    },
    /// The provider is overloaded, limits the rate, or failed on its side.
    #[error("the provider is busy: {said}")]
    Busy {
        /// The requested wait before a retry, if the provider names one.
        retry_after: Option<Duration>,
        /// The provider's error message.
        said: String,
    },
    /// The connection failed, was cut, or went silent.
    #[error("the connection to the provider failed: {said}")]
    Cut {
        /// The cause.
        said: String,
        /// True if part of the answer had arrived, so the provider is reachable.
        had_begun: bool,
    },
    /// The API key is missing or wrong.
    #[error("the provider rejected the API key: {said}")]
    Credentials {
        /// The provider's error message.
        said: String,
    },
    /// The provider refused the request: an unknown model, an unknown field, a policy.
    #[error("the provider refused the request: {said}")]
    Refused {
        /// The provider's error message.
        said: String,
    },
    /// The provider rejected part of the conversation, and so every request that contains it.
    #[error("the provider refused the request: {said}")]
    Rejected {
        /// The provider's error message.
        said: String,
        /// The rejected part, as far as the error message tells.
        suspects: Suspects,
    },
    /// The provider rejected a field of the request and accepts another form of it: later requests use that form.
    #[error("the provider rejected a field of the request: {said}")]
    Rewritten {
        /// The provider's error message.
        said: String,
        /// The change made to later requests, a sentence fragment.
        how: String,
    },
    /// The response violates the protocol and could not be parsed.
    #[error("the provider's answer could not be read: {said}")]
    Garbled {
        /// The problem.
        said: String,
    },
}
