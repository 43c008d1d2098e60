//! Messages of a session beside the conversation: truncation, compaction, interrupts and errors.

use super::super::clean::clean;
use super::super::figures::{clock, count, took};
use super::super::look::Role;
use super::super::markdown::Markdown;
use super::super::wrap::{Breaking, Wrap, clip, columns};
use super::{Phase, Renderer, Retried, Topic, countdown};
use codelet_agent::event::{Event, Stopped};
use codelet_agent::run::Ending;
use codelet_context::notice::Notice;
use ratatui::text::{Line, Span};
use std::time::Duration;

/// The duration of a wait, formatted like the countdown.
fn waited(time: Duration) -> String {
    match time < Duration::from_secs(1) {
        true => took(time),
        false => clock(Duration::from_secs(time.as_secs_f64().round() as u64)),
    }
}

/// Waits shorter than this leave no line: nobody has missed anything.
const TOLD: Duration = Duration::from_secs(1);
/// Rows for the reason of a wait while it lasts.
const WAIT_ROWS: usize = 3;

impl Renderer {
    pub(super) fn void(&mut self, now: Duration) -> Vec<Line<'static>> {
        let mut out = self.end_thinking(now);
        out.extend(self.flush());
        if std::mem::take(&mut self.has_said) {
            let words = self.look.pick("… cut off here; retrying", "... cut off here; retrying");
            out.push(self.one_line(words, Role::Warning));
            // The answer starts over.
            self.last = Some(Topic::Notices);
            self.retried = Some(Retried {
                shown: self.done.said,
                ..Retried::default()
            });
        }
        self.done.said = 0;
        out
    }

    /// Drops a retried answer that was cut off, too: of all tries, only the first one is printed before the last.
    pub(super) fn void_retried(&mut self, retried: &mut Retried) {
        retried.lines.clear();
        self.answer = Markdown::new(self.look);
        self.thought.clear();
        (self.thought_bytes, self.done.said, self.has_said) = (0, 0, false);
        self.last = Some(Topic::Notices);
    }

    /// The reason of a wait and the remaining time: at most [`WAIT_ROWS`] rows, with the time in the last one.
    pub(super) fn waiting(&self, cause: &str, left: Duration, next_try: Option<u32>) -> Vec<Line<'static>> {
        let mut room = WAIT_ROWS * self.look.width;
        loop {
            let words = countdown(&clip(cause, room), left, next_try);
            let wrap = Wrap::new(self.look.width, Breaking::Prose, Vec::new(), Vec::new());
            let mut rows = Vec::new();
            wrap.all(self.look.style(Role::Warning), &words, &mut rows);
            if rows.len() <= WAIT_ROWS || room == 0 {
                return rows;
            }
            room = room.min(columns(cause)).saturating_sub(self.look.width / 8 + 1);
        }
    }

    /// Leaves a line about a wait that ended with the provider's answer; the reason for an unsuccessful wait is shown
    /// by the ending.
    pub(super) fn after_a_wait(&mut self, event: &Event, now: Duration) -> Vec<Line<'static>> {
        match event {
            Event::Asking { .. } => {
                if let Phase::Waiting { cause, .. } = &self.doing {
                    let before = self.waited.take().map_or(Duration::ZERO, |(time, _)| time);
                    self.waited = Some((before + now.saturating_sub(self.since), cause.clone()));
                }
            }
            Event::Thinking(_) | Event::Text(_) | Event::Calling { .. } => {
                // Without rows below the lines, the wait itself was printed.
                let waited_long = |(time, _): &(Duration, String)| *time >= TOLD && !self.look.is_plain();
                if let Some((time, cause)) = self.waited.take().filter(waited_long) {
                    return self.labelled(Role::Dim, &format!("waited {}:", waited(time)), &clean(&cause, 1));
                }
            }
            Event::Over(_) => self.waited = None,
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn labelled(&mut self, role: Role, label: &str, text: &str) -> Vec<Line<'static>> {
        let mut out = self.flush();
        out.extend(self.topic(Topic::Notices));
        out.extend(self.rows_of(role, label, text));
        out
    }

    /// The rows of a notice alone, which may stand between two rows of an answer.
    pub(super) fn rows_of(&self, role: Role, label: &str, text: &str) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        let mut wrap = Wrap::new(self.look.prose(), Breaking::Prose, Vec::new(), vec![Span::raw("  ")]);
        wrap.push(self.look.style(role), label, &mut out);
        wrap.push(self.look.style(Role::Text), " ", &mut out);
        for (at, line) in text.trim().lines().enumerate() {
            if at > 0 {
                wrap.break_row(&mut out);
            }
            wrap.push(self.look.style(Role::Text), &clean(line, 4), &mut out);
        }
        wrap.finish(&mut out);
        out
    }

    /// One line with the undo command, and the warnings.
    pub(super) fn compacted(&mut self, notice: &Notice) -> Vec<Line<'static>> {
        let mut out = self.flush();
        out.extend(self.topic(Topic::Notices));
        let dot = Span::styled(" · ", self.look.style(Role::Dim));
        let mark = Span::styled(self.look.pick("◆ ", "* "), self.look.style(Role::Accent));
        let mut wrap = Wrap::new(self.look.width, Breaking::Prose, vec![mark], vec![Span::raw("  ")]);
        for (at, piece) in notice.pieces().iter().enumerate() {
            let role = match (at, piece.starts_with('/')) {
                (0, _) => Role::Strong,
                (_, true) => Role::Accent,
                _ => Role::Text,
            };
            if at > 0 {
                wrap.push(dot.style, &dot.content, &mut out);
            }
            wrap.push(self.look.style(role), &clean(piece, 1), &mut out);
        }
        wrap.finish(&mut out);
        for warning in notice.warnings.iter().filter(|warning| !warning.repeats_the_notice()) {
            out.extend(self.labelled(Role::Warning, "warning:", &warning.to_string()));
        }
        out
    }

    pub(super) fn over(&mut self, ending: &Ending, now: Duration) -> Vec<Line<'static>> {
        let mut out = self.end_thinking(now);
        out.extend(self.flush());
        let open = std::mem::take(&mut self.running);
        for running in &open {
            out.extend(self.topic(Topic::Tools));
            let time = now.saturating_sub(running.began);
            out.push(running.stopped(Stopped::Interrupted, Some(time), &self.look));
        }
        self.set_doing(Phase::Nothing, now);
        self.told_cause.clear();
        match ending {
            Ending::Answered(_) => {}
            Ending::Interrupted => {
                let words = self.interrupted(now);
                out.extend(self.labelled(Role::Warning, "interrupted", &words));
            }
            Ending::Declined(_)
            | Ending::StepLimit(_)
            | Ending::CostLimit(_)
            | Ending::Loop { .. }
            | Ending::Blocked(_)
            | Ending::Stale { .. } => {
                out.extend(self.labelled(
                    Role::Warning,
                    "stopped:",
                    &ending.to_string().replacen("stopped: ", "", 1),
                ));
            }
            _ => out.extend(self.labelled(Role::Error, "error:", &ending.to_string())),
        }
        out
    }

    /// The state after an interrupt, and what the user can do now.
    fn interrupted(&self, now: Duration) -> String {
        let mut kept = vec!["your prompt".to_owned()];
        if self.done.calls > 0 {
            kept.push(count(self.done.calls, "tool call"));
        }
        if self.done.said > 0 {
            kept.push("the answer so far".to_owned());
        }
        let dot = self.look.pick(" · ", " - ");
        let words = format!(
            "after {}{dot}kept: {}",
            took(now.saturating_sub(self.done.began)),
            kept.join(", ")
        );
        // A user who has left can no longer act.
        if self.is_leaving {
            return words;
        }
        format!("{words}{dot}type to go on; /retry sends the prompt again")
    }
}
