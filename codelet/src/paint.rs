//! How things look outside a session: colour, width, bars. Figures, cuts and what makes texts harmless are the terminal's.

use codelet_terminal::render::{clean, figures};
use std::ffi::OsStr;
use std::io::IsTerminal;
use terminal_size::{Width, terminal_size_of};

pub use codelet_terminal::render::figures::{bytes, number, percent};
pub use codelet_terminal::render::wrap::{clip, clip_left as clip_path, columns as width, fit};

/// What is assumed of an output whose width nobody knows, in columns.
const DEFAULT_WIDTH: usize = 80;
/// Wider lines than this are hard to read.
const MAX_WIDTH: usize = 160;
/// Narrower than this nothing fits; lines are then broken by the terminal.
const MIN_WIDTH: usize = 32;

/// The look of one output stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Whether a person is likely to be looking: long lists are folded then, and what is written can be erased again.
    pub terminal: bool,
    /// Whether colours may be used.
    pub colour: bool,
    /// Columns.
    pub width: usize,
    /// Whether the terminal is of the simplest kind, which knows neither colours nor fine bars.
    pub dumb: bool,
}

/// The environment variables that have a say, as values.
#[derive(Clone, Copy, Default, Debug)]
struct Wishes {
    no_color: bool,
    force_color: bool,
    dumb: bool,
    columns: Option<usize>,
}

impl Wishes {
    fn from_environment() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Wishes {
            no_color: set("NO_COLOR").is_some(),
            force_color: set("CLICOLOR_FORCE").is_some_and(|value| value != OsStr::new("0")),
            dumb: set("TERM").is_some_and(|value| value == OsStr::new("dumb")),
            columns: set("COLUMNS").and_then(|value| value.to_str()?.parse().ok()),
        }
    }
}

impl Look {
    /// The look of standard output.
    pub fn stdout() -> Self {
        let out = std::io::stdout();
        Look::of(out.is_terminal(), terminal_size_of(&out), Wishes::from_environment())
    }

    /// The look of standard error.
    pub fn stderr() -> Self {
        let err = std::io::stderr();
        Look::of(err.is_terminal(), terminal_size_of(&err), Wishes::from_environment())
    }

    /// No colour, nothing folded.
    #[cfg(test)]
    pub fn plain(width: usize) -> Self {
        Look {
            terminal: false,
            colour: false,
            width,
            dumb: false,
        }
    }

    fn of(terminal: bool, size: Option<(Width, terminal_size::Height)>, wishes: Wishes) -> Self {
        // A terminal that cannot tell its size says 0.
        let told = size.map(|(Width(columns), _)| usize::from(columns)).filter(|&w| w > 0);
        let width = told.or(wishes.columns).unwrap_or(DEFAULT_WIDTH);
        Look {
            terminal,
            colour: !wishes.no_color && (wishes.force_color || (terminal && !wishes.dumb)),
            width: width.clamp(MIN_WIDTH, MAX_WIDTH),
            dumb: wishes.dumb,
        }
    }

    /// The text in this ink, where there is colour.
    pub fn ink(&self, ink: Ink, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", ink.code())
        } else {
            text.to_owned()
        }
    }

    /// A bar of at most this many columns: `value` of `whole`, to an eighth of a column. Nothing has no bar, and something
    /// always has one.
    pub fn bar(&self, value: u64, whole: u64, columns: usize) -> String {
        const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        if value == 0 || whole == 0 || columns == 0 {
            return String::new();
        }
        let eighths = (u128::from(value.min(whole)) * columns as u128 * 8).div_ceil(u128::from(whole)) as usize;
        if self.dumb {
            return "#".repeat(eighths.div_ceil(8));
        }
        "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
    }
}

/// The few inks in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ink {
    /// Stands out.
    Bold,
    /// Steps back.
    Dim,
    /// Failures.
    Red,
    /// What stays.
    Green,
    /// Warnings, and what was shortened.
    Yellow,
    /// What the user says.
    Cyan,
    /// Bars, and what became part of a summary.
    Blue,
    /// Anchors.
    Magenta,
}

impl Ink {
    fn code(self) -> &'static str {
        match self {
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Red => "31",
            Ink::Green => "32",
            Ink::Yellow => "33",
            Ink::Cyan => "36",
            Ink::Blue => "34",
            Ink::Magenta => "35",
        }
    }
}

/// A text that cannot harm a terminal: what it would obey is shown instead, on one line.
pub fn clean(text: &str) -> String {
    clean::clean(text, 1).into_owned()
}

/// Parts on one line, or where that is too narrow, on as few lines as will do. Each part comes with its columns, which
/// colour codes do not count among; lines after the first begin with `indent`.
pub fn flow(parts: impl IntoIterator<Item = (usize, String)>, separator: &str, columns: usize, indent: &str) -> String {
    let mut text = String::new();
    let mut used = 0;
    for (wide, part) in parts {
        if used > 0 && used + width(separator) + wide > columns {
            text.push('\n');
            text.push_str(indent);
            used = width(indent);
        } else if used > 0 {
            text.push_str(separator);
            used += width(separator);
        }
        text.push_str(&part);
        used += wide;
    }
    text
}

/// A number with its noun: `1 turn`, `1,200 turns`.
pub fn count(value: usize, noun: &str) -> String {
    figures::count(value as u64, noun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_flow_onto_as_few_lines_as_will_do() {
        let parts = || ["one", "two", "three"].map(|word| (word.len(), word.to_owned()));
        assert_eq!(flow(parts(), " · ", 80, "  "), "one · two · three");
        assert_eq!(flow(parts(), " · ", 10, "  "), "one · two\n  three");
        assert_eq!(flow(parts(), " · ", 1, ""), "one\ntwo\nthree");
    }

    #[test]
    fn escape_codes_do_not_reach_the_terminal() {
        assert_eq!(clean("a\x1b[31mb\u{202e}c\td\n"), "a␛[31mb‹U+202E›c d␊");
    }

    #[test]
    fn bars_show_something_for_something_and_never_overflow() {
        let look = Look::plain(80);
        assert_eq!(look.bar(0, 100, 10), "");
        assert_eq!(look.bar(1, 1_000_000, 10), "▏");
        assert_eq!(look.bar(50, 100, 4), "██");
        assert_eq!(look.bar(u64::MAX, 3, 4), "████");
        let dumb = Look { dumb: true, ..look };
        assert_eq!(dumb.bar(50, 100, 4), "##");
    }

    #[test]
    fn colour_follows_the_wishes_of_the_user() {
        let look = |terminal, wishes| Look::of(terminal, None, wishes);
        let none = Wishes::default();
        assert!(look(true, none).colour);
        assert!(!look(false, none).colour);
        assert!(!look(true, Wishes { no_color: true, ..none }).colour);
        assert!(!look(true, Wishes { dumb: true, ..none }).colour);
        assert!(
            look(
                false,
                Wishes {
                    force_color: true,
                    ..none
                }
            )
            .colour
        );
        assert!(
            !look(
                true,
                Wishes {
                    no_color: true,
                    force_color: true,
                    ..none
                }
            )
            .colour
        );
        assert_eq!(
            look(
                false,
                Wishes {
                    columns: Some(120),
                    ..none
                }
            )
            .width,
            120
        );
        assert_eq!(
            look(
                false,
                Wishes {
                    columns: Some(3),
                    ..none
                }
            )
            .width,
            MIN_WIDTH
        );
    }
}
