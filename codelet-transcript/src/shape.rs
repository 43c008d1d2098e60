//! Shape: a conversation with one line per message or part, for people.
//!
//! ```
//! use codelet_context::message::{Message, Part};
//! use codelet_transcript::shape;
//!
//! let messages = [Message::user("run the tests"), Message::assistant("One test fails.")];
//! assert_eq!(shape::write(&messages), "user: run the tests\nassistant: One test fails.\n");
//! assert_eq!(shape::line(&messages[1], 40), "assistant: One test fails.");
//! ```
//!
//! A line begins with the speaker or the kind: `call ID: cargo test`, `result ID failed: …`, `reminder claudeMd: …`. Long
//! texts are cut and end in their size; control characters and invisible ones are written as escapes (`\n`,
//! `\u{7f}`). Calls join the assistant message before them, text joins thinking, and results join results; any other line
//! is a separate message. The prefix `+ ` joins a line to the message before it anyway, and `/ ` separates it.

mod call;
mod text;
mod write;

pub use call::call_words;
pub use write::{line, part_line, usually_joins, write, write_at};

#[cfg(test)]
mod tests;
