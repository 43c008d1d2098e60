//! Text as terminals, models and people read it. Pure, and at the bottom of the workspace's dependencies.
//!
//! - [`codes`]: removes terminal codes from a complete text.
//! - [`printed`]: cleans a program's output as it streams in.
//! - [`unified`]: unified diffs, line by line.
//! - [`unseen`]: characters that are invisible, change the direction, or break lines.
//! - [`json`]: counts the values in a JSON text.
//! - [`named!`]: names of the values of an enum.
//! - [`near`]: suggests a name for one that does not exist.
//! - [`path`]: normalises paths.
//! - [`secret`]: recognises secrets by their names, and values that are made by machine.
//! - [`shell`]: quotes words for a shell.
//! - [`short`]: shortens numbers, names and lines for display.
//!
//! ```
//! use codelet_text::{codes, short};
//!
//! assert_eq!(codes::without("\u{1b}[32mok\u{1b}[0m"), "ok");
//! assert_eq!(short::clip("a long line", 5), "a lo…");
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod codes;
pub mod json;
mod named;
pub mod near;
pub mod path;
pub mod printed;
pub mod secret;
pub mod shell;
pub mod short;
pub mod unified;
pub mod unseen;
