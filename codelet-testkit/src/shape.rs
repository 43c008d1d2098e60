//! Shape notation in full, for tests and fixtures: a conversation with one line per message or part, written so that it
//! is read back.
//!
//! ```
//! use codelet_testkit::shape;
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
//! # Ok::<(), shape::ShapeError>(())
//! ```
//!
//! # Lines
//! | line | meaning |
//! |---|---|
//! | `system: …` `user: …` `assistant: …` | a speaker's own text |
//! | `thinking: …` | thinking; `thinking signed:` and `thinking redacted:` if it has a signature or is encrypted |
//! | `call ID: cargo test` | a shell command (tool `Bash`) |
//! | `call ID: Read src/a.rs` | a file tool: `Read PATH` or `PATH:10-20`, `Write PATH: text`, `Edit PATH: old => new` |
//! | `call ID: Grep fn in src` | a search: `Grep PATTERN in PATH`, `Glob PATTERN`, `LS PATH` |
//! | `call ID: Recall HANDLE` | another: `Recall HANDLE`, `Bash COMMAND`, `TodoWrite [x] done; [>] doing; [ ] open` |
//! | `call ID: Any {"json": "object"}` | any tool with any parameters |
//! | `result ID: …` | a result with success; `result ID failed:` with failure, `result ID unknown:` without a status |
//! | `result ID: [interrupted]` | the call never finished; this text means failure without saying so |
//! | `result ID more: …` `result ID error: …` | another text of the result before it; the tool's error message |
//! | `reminder claudeMd: …` (`environment`, `skills`, `gitStatus`, `tokenStatus`) | a reminder |
//! | `injected: …` `summary: …` `notice: …` | text in a user message that is not the user's |
//! | `image: image/png` `image: https://…` | an image |
//! | `other KIND: {…}` | a block of unknown kind |
//! | `empty user` | a message without parts |
//!
//! Blank lines, lines that begin with `#`, and indentation are ignored. In texts, `\n \r \t \e \\ \u{7f}` are escapes
//! (`\e` is the escape character), `\s` is a space at an end, and ` × 40` at the end repeats the text forty times.
//! Calls join the assistant message before them, text joins thinking, and results join results; any other line is a
//! separate message. The prefix `+ ` joins a line to the message before it anyway, and `/ ` separates it. A line with
//! another speaker than its kind implies names the speaker first: `assistant image: …`.
//!
//! [`exact`] and [`parse`] preserve everything except unread fields, signatures, image bytes, handles next to a text,
//! and a call's action if it does not follow from the line. For people there is
//! [`codelet_transcript::shape`].

mod call;
mod exact;
mod parse;
mod text;

pub use exact::exact;
pub use parse::{ShapeError, parse};

use codelet_context::message::ReminderKind;

/// The result of a call that never finished.
const INTERRUPTED: &str = "[interrupted]";

/// The names of reminders in a line.
const REMINDERS: [(&str, ReminderKind); 5] = [
    ("claudeMd", ReminderKind::Instructions),
    ("environment", ReminderKind::Environment),
    ("skills", ReminderKind::Skills),
    ("gitStatus", ReminderKind::GitStatus),
    ("tokenStatus", ReminderKind::TokenStatus),
];

#[cfg(test)]
mod tests;
