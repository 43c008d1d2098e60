//! The notice: the report of a compaction to the user, on one line, with warnings below it.

use crate::compact::{Compaction, TurnCount, Warning};
use crate::message::cut::{counted, grouped};
use crate::message::tokens::Tokens;
use codelet_text::short::{clip, on_one_line};
use std::fmt;
use std::time::Duration;

/// The maximum characters of an anchor's description in a notice.
const QUOTE: usize = 60;

/// The result of a compaction, for the user.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Notice {
    /// True if anything was done.
    pub changed: bool,
    /// Tokens before.
    pub before: Tokens,
    /// Tokens after, on the same basis.
    pub after: Tokens,
    /// The number of outputs that a light edit replaced with markers; `None` for a compaction.
    pub set_aside: Option<usize>,
    /// The turns.
    pub turns: TurnCount,
    /// The description of the anchor that the kept part begins with.
    pub anchor: Option<String>,
    /// The elapsed time, if the caller has measured it.
    pub elapsed: Option<Duration>,
    /// True if it can be undone.
    pub can_undo: bool,
    /// The warnings for the user.
    pub warnings: Vec<Warning>,
}

impl Notice {
    /// The notice of a single compaction, with its own figures.
    pub(crate) fn of(done: &Compaction) -> Self {
        Notice {
            changed: done.changed,
            before: done.before.tokens,
            after: done.after.tokens,
            turns: done.turns,
            anchor: done.anchor.as_ref().map(|anchor| anchor.description.clone()),
            warnings: done.warnings.clone(),
            ..Notice::default()
        }
    }

    /// The notice of a light edit.
    pub(crate) fn trimmed(outputs: usize, before: Tokens, after: Tokens, changed: bool) -> Self {
        Notice {
            changed,
            before,
            after,
            set_aside: Some(outputs),
            can_undo: changed,
            ..Notice::default()
        }
    }

    /// Sets the elapsed time by the caller's clock.
    pub fn took(mut self, elapsed: Duration) -> Self {
        self.elapsed = Some(elapsed);
        self
    }

    /// The pieces of the line, to be joined with ` · `.
    pub fn pieces(&self) -> Vec<String> {
        let mut pieces = Vec::new();
        let sizes = || {
            format!(
                "{} → {} tokens ({})",
                grouped(self.before),
                grouped(self.after),
                smaller(self.before, self.after)
            )
        };
        if let (true, Some(outputs)) = (self.changed, self.set_aside) {
            pieces.push(format!("Context trimmed: {}", sizes()));
            pieces.push(counted(outputs, "old output") + " trimmed");
        } else if self.changed {
            pieces.push(format!("Context compacted: {}", sizes()));
            let from = self
                .anchor
                .as_ref()
                .map_or(String::new(), |anchor| format!(" from \"{}\"", quoted(anchor)));
            pieces.push(format!("kept {}{from}", counted(self.turns.kept, "turn")));
            if self.turns.summarised > 0 {
                pieces.push(format!("{} summarised", grouped(self.turns.summarised)));
            }
        } else {
            pieces.push(format!(
                "Nothing to compact: {} tokens in {}",
                grouped(self.before),
                counted(self.turns.total, "turn")
            ));
        }
        pieces.extend(self.elapsed.map(took));
        if self.changed && self.can_undo {
            pieces.push("/undo-compact".to_owned());
        }
        pieces
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pieces().join(" · "))?;
        self.warnings
            .iter()
            .try_for_each(|warning| write!(f, "\nwarning: {warning}"))
    }
}

/// The saving in percent, rounded down so as not to overstate it.
pub fn smaller(before: Tokens, after: Tokens) -> String {
    let saved = before.saturating_sub(after);
    match u128::from(saved) * 100 / u128::from(before.max(1)) {
        0 if saved > 0 => "less than 1% smaller".to_owned(),
        0 => "no smaller".to_owned(),
        percent => format!("{percent}% smaller"),
    }
}

/// Formats a duration in milliseconds.
pub fn took(elapsed: Duration) -> String {
    match elapsed.as_millis() {
        0 => "under 1 ms".to_owned(),
        millis => format!("{} ms", grouped(millis)),
    }
}

/// Clips text to one line of bounded length without terminal control characters.
fn quoted(words: &str) -> String {
    let words: String = on_one_line(words).take(QUOTE + 1).collect();
    clip(&words, QUOTE).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice() -> Notice {
        Notice {
            changed: true,
            before: 182_300,
            after: 41_900,
            set_aside: None,
            turns: TurnCount {
                total: 15,
                kept: 4,
                summarised: 11,
            },
            anchor: Some("tests now pass".to_owned()),
            elapsed: None,
            can_undo: true,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn the_notice_is_one_line() {
        assert_eq!(
            notice().took(Duration::from_micros(3_400)).to_string(),
            "Context compacted: 182,300 → 41,900 tokens (77% smaller) · kept 4 turns from \"tests now pass\" · \
             11 summarised · 3 ms · /undo-compact"
        );
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let notice = Notice {
            anchor: None,
            can_undo: false,
            turns: TurnCount {
                total: 1,
                kept: 1,
                summarised: 0,
            },
            ..notice()
        };
        assert_eq!(
            notice.to_string(),
            "Context compacted: 182,300 → 41,900 tokens (77% smaller) · kept 1 turn"
        );
    }

    #[test]
    fn warnings_follow_on_lines_of_their_own() {
        let mut notice = notice();
        notice.after = 100_000;
        notice.warnings = vec![
            Warning::SmallSaving {
                before: 182_300,
                after: 100_000,
            },
            Warning::StillClose {
                after: 100_000,
                trigger: 110_000,
            },
        ];
        let text = notice.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines[1],
            "warning: only 182,300 → 100,000 tokens: less than 60% smaller"
        );
    }

    #[test]
    fn nothing_done_is_said_and_cannot_be_undone() {
        let notice = Notice {
            changed: false,
            ..notice()
        };
        assert_eq!(notice.to_string(), "Nothing to compact: 182,300 tokens in 15 turns");
    }

    #[test]
    fn an_anchor_cannot_write_to_the_terminal() {
        let mut notice = notice();
        notice.anchor = Some(format!("\x1b[31m{}\n", "x".repeat(500)));
        let text = notice.to_string();
        assert!(!text.contains(['\x1b', '\n']), "{text}");
        assert!(text.chars().count() < 200);
    }
}
