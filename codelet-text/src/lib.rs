//! Text as terminals, models and people read it. Pure, and below everything else in the workspace.
//!
//! - [`codes`]: what a terminal obeys, taken out of a text that is at hand.
//! - [`printed`]: what a program prints, as it comes, as it would stand on paper.
//! - [`unified`]: unified diffs, line by line.
//! - [`unseen`]: characters that hide, turn or break what stands around them.
//! - [`json`]: how many values a text of JSON holds.
//! - [`near`]: the name that may have been meant by one that does not exist.
//! - [`path`]: one notion of a path, however it is written.
//! - [`shell`]: words of a shell's line.
//! - [`short`]: numbers, names and lines for places that are narrow.
//!
//! ```
//! use codelet_text::{codes, short};
//!
//! assert_eq!(codes::without("\u{1b}[32mok\u{1b}[0m"), "ok");
//! assert_eq!(short::clip("a long line", 5), "a lo…");
//! ```

pub mod codes;
pub mod json;
pub mod near;
pub mod path;
pub mod printed;
pub mod shell;
pub mod short;
pub mod unified;
pub mod unseen;
