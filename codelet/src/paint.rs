//! How things look: colour, width, bars, and numbers that people can read.

use std::ffi::OsStr;
use std::io::IsTerminal;
use terminal_size::{Width, terminal_size_of};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// A text that cannot harm a terminal: control characters and those that turn the direction of writing are replaced.
pub fn clean(text: &str) -> String {
    let harmful = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// The columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text cut to this many columns, with `…` at the end if something is missing.
pub fn clip(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let wide = c.width().unwrap_or(0);
        if wide > room {
            break;
        }
        room -= wide;
        end = at + c.len_utf8();
    }
    let kept = text[..end].trim_end();
    if columns == 0 {
        String::new()
    } else {
        format!("{kept}…")
    }
}

/// The text cut or filled up to exactly this many columns.
pub fn fit(text: &str, columns: usize) -> String {
    let mut text = clip(text, columns);
    let missing = columns.saturating_sub(text.width());
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

/// A path cut to this many columns from the left, because its end tells more.
pub fn clip_path(path: &str, columns: usize) -> String {
    if path.width() <= columns {
        return path.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let mut start = path.len();
    for (at, c) in path.char_indices().rev() {
        let wide = c.width().unwrap_or(0);
        if wide > room {
            break;
        }
        room -= wide;
        start = at;
    }
    if columns == 0 {
        String::new()
    } else {
        format!("…{}", &path[start..])
    }
}

/// Parts on one line, or where that is too narrow, on as few lines as will do. Each part comes with its columns, which
/// colour codes do not count among; lines after the first begin with `indent`.
pub fn flow(parts: impl IntoIterator<Item = (usize, String)>, separator: &str, columns: usize, indent: &str) -> String {
    let mut text = String::new();
    let mut used = 0;
    for (wide, part) in parts {
        if used > 0 && used + separator.width() + wide > columns {
            text.push('\n');
            text.push_str(indent);
            used = indent.width();
        } else if used > 0 {
            text.push_str(separator);
            used += separator.width();
        }
        text.push_str(&part);
        used += wide;
    }
    text
}

/// `182300` as `182,300`.
pub fn number(value: u64) -> String {
    codelet_context::cut::grouped(usize::try_from(value).unwrap_or(usize::MAX))
}

/// A number with its noun: `1 turn`, `1,200 turns`.
pub fn count(value: usize, noun: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", number(value as u64))
}

/// `4615810` as `4.6 MB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if value < 1000 {
        return format!("{value} B");
    }
    let mut scaled = value as f64 / 1000.0;
    let mut unit = 0;
    // 999.95 would be shown as 1000.0.
    while scaled >= 999.95 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", UNITS[unit])
}

/// `part` of `whole` in per cent, rounded; something is never shown as nothing.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    let exact = part as f64 * 100.0 / whole as f64;
    if part > 0 && exact < 0.5 {
        "<1 %".to_owned()
    } else {
        format!("{exact:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let told: Vec<_> = [0, 999, 1000, 182_300, u64::MAX].into_iter().map(number).collect();
        assert_eq!(told, ["0", "999", "1,000", "182,300", "18,446,744,073,709,551,615"]);
        assert_eq!(count(1, "turn"), "1 turn");
        assert_eq!(count(2000, "turn"), "2,000 turns");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(4_615_810), "4.6 MB");
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(percent(1, 1000), "<1 %");
        assert_eq!(percent(2, 3), "67 %");
        assert_eq!(percent(1, 0), "0 %");
    }

    #[test]
    fn cutting_respects_wide_characters() {
        assert_eq!(clip("hello", 5), "hello");
        assert_eq!(clip("hello!", 5), "hell…");
        assert_eq!(clip("日本語", 4), "日…");
        assert_eq!(fit("日本語", 4), "日… ");
        assert_eq!(fit("ab", 4), "ab  ");
        assert_eq!(clip("ab", 0), "");
        assert_eq!(clip_path("src/deep/日本.rs", 7), "…本.rs");
    }

    #[test]
    fn parts_flow_onto_as_few_lines_as_will_do() {
        let parts = || ["one", "two", "three"].map(|word| (word.len(), word.to_owned()));
        assert_eq!(flow(parts(), " · ", 80, "  "), "one · two · three");
        assert_eq!(flow(parts(), " · ", 10, "  "), "one · two\n  three");
        assert_eq!(flow(parts(), " · ", 1, ""), "one\ntwo\nthree");
    }

    #[test]
    fn escape_codes_do_not_reach_the_terminal() {
        assert_eq!(clean("a\x1b[31mb\u{202e}c\n"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}");
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
