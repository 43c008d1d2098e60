//! Formatting of output outside a session: colours, width, bars. Number formatting, clipping and sanitizing come from
//! codelet-terminal.

use codelet_terminal::render::answers::paragraph;
use codelet_terminal::render::wrap::line_text;
use codelet_terminal::render::{clean, look};
use std::ffi::OsStr;
use std::io::IsTerminal;
use terminal_size::{Width, terminal_size_of};

pub use codelet_terminal::render::figures::{bytes, count, dollars, number, percent};
pub use codelet_terminal::render::wrap::{clip, clip_left as clip_path, columns as width, fit};

/// The default width of an output whose width is unknown, in columns.
const DEFAULT_WIDTH: usize = 80;
/// The maximum width used: longer lines are hard to read.
const MAX_WIDTH: usize = 160;
/// The minimum width used: below it, the terminal wraps the lines.
const MIN_WIDTH: usize = 32;

/// The formatting capabilities of one output stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// True if the output is a terminal, so a person is likely to be reading: long lists are folded, and output can be
    /// erased again.
    pub terminal: bool,
    /// True if colours may be used.
    pub colour: bool,
    /// The width in columns.
    pub width: usize,
    /// True for a terminal of the simplest kind, without colours and fine bars.
    pub dumb: bool,
}

/// The relevant environment variables.
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
    /// Returns the capabilities of standard output.
    pub fn stdout() -> Self {
        let out = std::io::stdout();
        Look::of(out.is_terminal(), terminal_size_of(&out), Wishes::from_environment())
    }

    /// Returns the capabilities of standard error.
    pub fn stderr() -> Self {
        let err = std::io::stderr();
        Look::of(err.is_terminal(), terminal_size_of(&err), Wishes::from_environment())
    }

    /// Returns an output without colour or folding.
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
        // A terminal that does not know its size reports 0.
        let told = size.map(|(Width(columns), _)| usize::from(columns)).filter(|&w| w > 0);
        let width = told.or(wishes.columns).unwrap_or(DEFAULT_WIDTH);
        Look {
            terminal,
            colour: !wishes.no_color && (wishes.force_color || (terminal && !wishes.dumb)),
            width: width.clamp(MIN_WIDTH, MAX_WIDTH),
            dumb: wishes.dumb,
        }
    }

    /// Breaks the text's lines between words, as no terminal does by itself; for any other output they stay whole.
    pub fn between_words(&self, text: &str) -> String {
        if !self.terminal {
            return text.to_owned();
        }
        let look = look::Look::new(self.width, look::Styles::Monochrome, look::Background::Dark);
        let lines = paragraph(text, look::Role::Text, &look);
        lines.iter().map(|line| line_text(line) + "\n").collect()
    }

    /// Returns the text in this ink if colours are used.
    pub fn ink(&self, ink: Ink, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", ink.code())
        } else {
            text.to_owned()
        }
    }

    /// Returns a bar for `value` out of `whole`, with at most `columns` columns and a resolution of an eighth of a
    /// column. Zero has no bar, and any other value has a visible one.
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

/// The inks in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ink {
    /// Emphasis.
    Bold,
    /// De-emphasis.
    Dim,
    /// Failures.
    Red,
    /// Kept content.
    Green,
    /// Warnings, and shortened content.
    Yellow,
    /// The user's text.
    Cyan,
    /// Bars, and summarized content.
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

/// Returns the text on one line and safe for a terminal: control characters are shown instead of sent.
pub fn clean(text: &str) -> String {
    clean::clean(text, 1).into_owned()
}

/// Joins parts on one line or, if they do not fit, on as few lines as possible. Each part comes with its width, which
/// excludes colour codes; lines after the first begin with `indent`.
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

/// Lines up the cells of rows in columns, two spaces apart. `figures` are the columns that are aligned on the right; a
/// cell wider than `most` pushes the rest of its row.
pub fn lined_up<const N: usize>(rows: &[[String; N]], figures: &[usize], most: usize) -> Vec<String> {
    let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0).min(most);
    let widths: [usize; N] = std::array::from_fn(widest);
    let line = |row: &[String; N]| {
        let cells = row.iter().enumerate().map(|(at, cell)| {
            let space = " ".repeat(widths[at].saturating_sub(width(cell)));
            match figures.contains(&at) {
                true => space + cell,
                // The last one needs no padding.
                false if at + 1 == N => cell.clone(),
                false => format!("{cell}{space}"),
            }
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect()
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
    fn cells_stand_below_each_other_whatever_their_width() {
        let rows = [["a", "1,000", "x"], ["日本", "9", "a long one"]].map(|row| row.map(str::to_owned));
        assert_eq!(lined_up(&rows, &[1], 80), ["a     1,000  x", "日本      9  a long one"]);
        assert_eq!(lined_up(&rows, &[1], 3), ["a    1,000  x", "日本    9  a long one"]);
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
