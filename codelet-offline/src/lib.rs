//! Operations on a whole recorded conversation: compacts it, inspects it, checks it against a provider's rules, and
//! reads back removed content; and for a conversation that is passed in full before each request, computes what to
//! send. Bytes in, bytes and JSON out: it opens no files, reads no clock, starts no threads.
//!
//! ```
//! use codelet_context::compact::Target;
//! use codelet_offline::compact::{Compact, compact};
//! use codelet_offline::removed;
//! use codelet_transcript::read;
//!
//! let words = "Look at the parser. ".repeat(500);
//! let request = serde_json::json!({"messages": [
//!     {"role": "user", "content": "Mend the parser."},
//!     {"role": "assistant", "content": words},
//!     {"role": "user", "content": "And what is left to do?"},
//! ]});
//! let bytes = request.to_string().into_bytes();
//! let document = read(&bytes, None)?;
//! let mut done = compact(bytes, document, &Compact { target: Target::Budget(600), ..Compact::default() });
//! let smaller = done.write()?;
//! assert!(smaller.bytes().len() < words.len() / 2);
//! let mut left = Vec::new();
//! removed::write(done.archive(), &mut left)?;
//! assert!(String::from_utf8(left)?.contains("Look at the parser. Look at the parser."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod check;
pub mod compact;
pub mod fit;
pub mod fold;
pub mod inspect;
pub mod options;
pub mod removed;
mod report;

use codelet_context::tokens::{Tokens, estimate_bytes};
use codelet_transcript::Document;

/// Estimates the size of the tool definitions, which a request holds besides its messages, in tokens.
pub fn tool_definitions(document: &Document) -> Tokens {
    let tools = document.envelope.get("tools");
    tools.map_or(0, |tools| estimate_bytes(tools.to_string().len()))
}
