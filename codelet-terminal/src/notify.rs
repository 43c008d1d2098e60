//! Notifies the user when a question waits or a turn is over while they look elsewhere.

use crate::render::clean::clean;
use codelet_agent::run::Ending;
use codelet_text::short::{clip, words};
use std::time::{Duration, Instant};

/// Time without a key after which the user may have turned to something else. It counts only for terminals that have
/// never reported focus.
const AWAY: Duration = Duration::from_secs(10);
/// Maximum characters of a notification.
const LONGEST: usize = 120;

/// A notification method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Notify {
    /// Not at all.
    Off,
    /// With the bell, which many terminals show as a marked tab or an urgent window.
    #[default]
    Bell,
    /// With a desktop notification with text (OSC 9).
    Osc9 {
        /// Wraps the sequence for tmux to pass on.
        in_tmux: bool,
    },
}

impl Notify {
    /// The method for a terminal with these `TERM` and `TERM_PROGRAM`: text where it is known to be supported. Inside
    /// tmux the bell, which tmux shows itself; it passes text on only if its user has allowed that.
    pub fn suited(term: &str, program: &str, in_tmux: bool) -> Self {
        const SHOW_WORDS: [&str; 5] = ["iTerm.app", "WezTerm", "ghostty", "WarpTerminal", "kitty"];
        let is_named = SHOW_WORDS.contains(&program) || term.contains("kitty") || term.contains("ghostty");
        match is_named && !in_tmux {
            true => Notify::Osc9 { in_tmux },
            false => Notify::Bell,
        }
    }

    /// The terminal output for this text.
    fn bytes(self, text: &str) -> String {
        // Control characters could end this sequence or begin another.
        let text = words(&clean(text.lines().next().unwrap_or_default(), 1));
        let text = clip(&text, LONGEST);
        match self {
            Notify::Off => String::new(),
            Notify::Bell => "\x07".to_owned(),
            Notify::Osc9 { in_tmux: false } => format!("\x1b]9;{text}\x07"),
            Notify::Osc9 { in_tmux: true } => format!("\x1bPtmux;\x1b\x1b]9;{text}\x07\x1b\\"),
        }
    }
}

/// Tracks whether the user looks at the terminal, and the notification that is due if not.
#[derive(Clone, Debug)]
pub(crate) struct Attention {
    how: Notify,
    /// True while the terminal has the focus; none until it has reported it.
    has_focus: Option<bool>,
    /// The time of the last key.
    key: Instant,
    /// The pending question, in words.
    asked: Option<String>,
}

impl Attention {
    pub(crate) fn new(how: Notify, now: Instant) -> Self {
        Attention {
            how,
            has_focus: None,
            key: now,
            asked: None,
        }
    }

    /// The terminal gained or lost the focus.
    pub(crate) fn focus(&mut self, has_focus: bool) {
        self.has_focus = Some(has_focus);
    }

    /// Forgets the focus: another program had the terminal and received its reports.
    pub(crate) fn forget(&mut self) {
        self.has_focus = None;
    }

    /// A key was pressed.
    pub(crate) fn key(&mut self, now: Instant) {
        self.key = now;
        self.asked = None;
    }

    /// A question waits for an answer.
    pub(crate) fn ask(&mut self, text: String) {
        self.asked = Some(text);
    }

    /// The question was answered, by whatever means.
    pub(crate) fn answered(&mut self) {
        self.asked = None;
    }

    /// The time from which the user counts as away from the pending question.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        self.asked.as_ref()?;
        match self.has_focus {
            // A user with focus on the terminal sees the question.
            Some(true) => None,
            Some(false) => Some(now),
            None => Some(self.key + AWAY),
        }
    }

    /// The terminal output for the pending question if it is due; only once.
    pub(crate) fn call(&mut self, now: Instant) -> Option<String> {
        self.due(now).filter(|due| *due <= now)?;
        let text = self.asked.take()?;
        self.told(&text)
    }

    /// The terminal output for the end of a turn.
    pub(crate) fn over(&mut self, ending: &Ending, now: Instant) -> Option<String> {
        self.asked = None;
        let text = match ending {
            // A user who interrupts is present.
            Ending::Interrupted => return None,
            Ending::Answered(_) => "Codelet: the answer is complete".to_owned(),
            other => format!("Codelet: {other}"),
        };
        let is_away = match self.has_focus {
            Some(has_focus) => !has_focus,
            None => now >= self.key + AWAY,
        };
        is_away.then(|| self.told(&text)).flatten()
    }

    fn told(&self, text: &str) -> Option<String> {
        Some(self.how.bytes(text)).filter(|bytes| !bytes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn attention(how: Notify) -> (Attention, Instant) {
        let now = Instant::now();
        (Attention::new(how, now), now)
    }

    fn answered() -> Ending {
        Ending::Answered("Done.".into())
    }

    #[test]
    fn who_looks_elsewhere_is_called_at_once_and_only_once() {
        let (mut attention, now) = attention(Notify::Bell);
        attention.focus(false);
        attention.ask("Codelet asks: Bash make".to_owned());
        assert_eq!(attention.call(now).as_deref(), Some("\x07"));
        assert_eq!(attention.call(now), None);
        assert_eq!(attention.over(&answered(), now).as_deref(), Some("\x07"));
    }

    #[test]
    fn who_looks_at_the_terminal_is_never_called() {
        let (mut attention, now) = attention(Notify::Bell);
        attention.focus(true);
        attention.ask("Codelet asks: Bash make".to_owned());
        assert_eq!(attention.due(now), None);
        assert_eq!(attention.call(now + 99 * SECOND), None);
        assert_eq!(attention.over(&answered(), now + 99 * SECOND), None);
    }

    #[test]
    fn a_question_that_stands_while_somebody_goes_elsewhere_calls_them() {
        let (mut attention, now) = attention(Notify::Bell);
        attention.focus(true);
        attention.ask("Codelet asks: Bash make".to_owned());
        attention.focus(false);
        assert!(attention.call(now).is_some());
    }

    #[test]
    fn a_terminal_that_tells_no_focus_calls_who_has_pressed_no_key_for_a_while() {
        let (mut attention, now) = attention(Notify::Bell);
        assert_eq!(attention.over(&answered(), now + 9 * SECOND), None);
        assert!(attention.over(&answered(), now + 10 * SECOND).is_some());
        attention.key(now + 20 * SECOND);
        attention.ask("Codelet asks: Bash make".to_owned());
        assert_eq!(attention.call(now + 29 * SECOND), None);
        assert_eq!(attention.due(now), Some(now + 30 * SECOND));
        assert!(attention.call(now + 30 * SECOND).is_some());
        attention.ask("Codelet asks: Bash make".to_owned());
        attention.key(now + 40 * SECOND);
        assert_eq!(attention.due(now), None, "somebody has come");
    }

    #[test]
    fn whoever_interrupts_is_not_called_and_a_failure_is_named() {
        let (mut attention, now) = attention(Notify::Osc9 { in_tmux: false });
        attention.focus(false);
        assert_eq!(attention.over(&Ending::Interrupted, now), None);
        let told = attention.over(&Ending::StepLimit(3), now).unwrap();
        assert!(
            told.starts_with("\x1b]9;Codelet: stopped") && told.ends_with('\x07'),
            "{told:?}"
        );
    }

    #[test]
    fn words_of_a_model_cannot_leave_the_notice_and_tmux_passes_it_on() {
        let text = "Codelet asks: Bash echo \x1b]52;c;eA==\x07\u{9c}\nrm";
        let shown = "Codelet asks: Bash echo ␛]52;c;eA==␇�";
        assert_eq!(
            Notify::Osc9 { in_tmux: false }.bytes(text),
            format!("\x1b]9;{shown}\x07")
        );
        assert_eq!(
            Notify::Osc9 { in_tmux: true }.bytes(text),
            format!("\x1bPtmux;\x1b\x1b]9;{shown}\x07\x1b\\")
        );
        assert!(Notify::Osc9 { in_tmux: false }.bytes(&"x".repeat(5_000)).len() < 200);
        assert_eq!(Notify::Off.bytes(text), "");
    }

    #[test]
    fn words_are_sent_only_to_terminals_that_show_them() {
        let words = Notify::Osc9 { in_tmux: false };
        for (term, program, in_tmux, suited) in [
            ("xterm-256color", "iTerm.app", false, words),
            ("xterm-kitty", "", false, words),
            ("xterm-256color", "Apple_Terminal", false, Notify::Bell),
            ("tmux-256color", "tmux", true, Notify::Bell),
            ("xterm-kitty", "", true, Notify::Bell),
        ] {
            assert_eq!(Notify::suited(term, program, in_tmux), suited, "{term} {program}");
        }
    }
}
