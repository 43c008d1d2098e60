//! Models over HTTP: Anthropic, OpenAI, Gemini, OpenRouter, DeepSeek, Ollama, the same models in the clouds of Azure,
//! AWS and Google, and every server that is compatible with one of them.
//!
//! [`connect`] creates a [`Model`](codelet_agent::model::Model) from a [`Choice`]. Requests contain the engine's
//! conversation in the vendor's format, with the vendor's own messages unchanged to the byte; replies are reassembled
//! from the frames into the vendor's own message, so that nothing is lost and everything can be sent back. Usage is
//! read from the frames as they arrive, even for a truncated reply.
//!
//! One request is one request: nothing is retried, repaired or compacted here. The crate connects only to the provider
//! and to the server that issues Google's tokens, and reads neither the environment nor files, except for the
//! certificates that a [`Choice`] trusts. The HTTP client and the stream framing come from a library, none of whose
//! types leave this crate.
//!
//! Start reading with `provider` (one exchange), `body` (requests), `frames` (replies), `error_kind` (errors).
//!
//! ```
//! use codelet_providers::{Choice, ConnectError, connect};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! let choice = Choice { model: "anthropic/claude-opus-5-5".into(), ..Choice::default() };
//! let error = runtime.block_on(connect(&choice)).err();
//! let variable = "ANTHROPIC_API_KEY";
//! assert_eq!(error, Some(ConnectError::NoKey { vendor: "anthropic", variable }));
//! ```

pub mod address;
mod answer;
mod auth;
mod body;
mod cache_control;
pub mod catalogue;
mod choice;
mod efforts;
mod error_kind;
mod frames;
mod headers;
pub mod host;
mod line;
mod network;
pub mod overheard;
mod provider;
mod scrubber;
mod secret;
mod sent_steps;
mod settings;
mod stream_end;
mod suspects;
mod usage;
pub mod vendor;
mod wait;
mod ways;
mod window;
mod wire;

pub use cache_control::Lifetime;
pub use catalogue::{Known, known};
pub use choice::{Choice, ConnectError, connect, connect_telling, reach};
pub use host::{Host, Site};
pub use network::TimeLimits;
pub use secret::Secret;
pub use settings::Thinking;
pub use vendor::{Vendor, vendors};
pub use window::Loading;
pub use wire::Wire;
