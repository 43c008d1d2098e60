//! Shape: a conversation with one line a message or part, for tests, fixtures and people.
//!
//! ```
//! use codelet_transcript::shape;
//!
//! let messages = shape::parse(
//!     r"system: You are a coding agent.
//!       reminder claudeMd: Answer in English.
//!       user: run the tests
//!       thinking: The manifest is at the root.
//!       call a: cargo test
//!       call b: Read src/lib.rs
//!       result a failed: test adds ... FAILED\n1 failed
//!       result b: pub fn add() {}
//!       assistant: One test fails.",
//! )?;
//! assert_eq!(messages.len(), 6); // both calls and the thinking are one message, both results another
//! assert_eq!(shape::parse(&shape::exact(&messages))?, messages);
//! assert_eq!(shape::line(&messages[2], 40), "user: run the tests");
//! # Ok::<(), shape::ShapeError>(())
//! ```
//!
//! # Lines
//! | line | is |
//! |---|---|
//! | `system: …` `user: …` `assistant: …` | a speaker's own words |
//! | `thinking: …` | thinking; `thinking signed:` and `thinking redacted:` where a vendor binds it |
//! | `call ID: cargo test` | a shell command (tool `Bash`) |
//! | `call ID: Read src/a.rs` | a known tool: `Read PATH` or `PATH:10-20`, `Write PATH: text`, `Edit PATH: old => new`, `Grep PATTERN in PATH`, `Glob PATTERN`, `LS PATH`, `Bash COMMAND`, `Recall HANDLE`, `TodoWrite [x] done; [>] doing; [ ] open` |
//! | `call ID: Any {"json": "object"}` | any tool with any parameters |
//! | `result ID: …` | an answer that reports success; `result ID failed:` one that reports failure, `result ID unknown:` one without a status |
//! | `result ID: [interrupted]` | the call never finished; this text stands for a failure without saying so |
//! | `result ID more: …` `result ID error: …` | a further text of the answer before; what its tool says went wrong |
//! | `reminder claudeMd: …` (`environment`, `skills`, `gitStatus`, `tokenStatus`) | a reminder |
//! | `injected: …` `summary: …` `notice: …` | other words in a user message that are not the user's |
//! | `image: image/png` `image: https://…` | a picture |
//! | `other KIND: {…}` | a block that nobody here knows |
//! | `empty user` | a message without parts |
//!
//! Blank lines and lines that begin with `#` are passed over, and so is indentation. In texts `\n \r \t \e \\ \u{7f}` are
//! what they are elsewhere (`\e` is the escape character), `\s` is a blank at an end, and ` × 40` at the end says the text
//! forty times. Calls join the assistant's message before them, words join thinking, and results join results; any other
//! line is a message of its own. `+ ` before a line joins it to the message before it all the same, and `/ ` parts it. A
//! line with another speaker than its kind suggests says so first: `assistant image: …`.
//!
//! [`exact`] and [`parse`] carry everything but unread fields, signatures, the bytes of pictures, handles beside a text,
//! and notions of a call that its words do not suggest. [`line()`] and [`write()`] are for people: long texts end in their size.

mod call;
mod parse;
mod text;
mod write;

pub use parse::{ShapeError, parse};
pub use write::{exact, line, part_line, write, write_at};

use codelet_context::message::ReminderKind;

/// What stands in the answer of a call that never finished.
const INTERRUPTED: &str = "[interrupted]";

/// The reminders by their name in a line.
const REMINDERS: [(&str, ReminderKind); 5] = [
    ("claudeMd", ReminderKind::Instructions),
    ("environment", ReminderKind::Environment),
    ("skills", ReminderKind::Skills),
    ("gitStatus", ReminderKind::GitStatus),
    ("tokenStatus", ReminderKind::TokenStatus),
];

#[cfg(test)]
mod tests;
