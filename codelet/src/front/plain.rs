//! Output for people: the answer on standard output, and one line per event on standard error until then.

use super::{Done, Front, refused};
use crate::paint::{Ink, Look, bytes, clean, clip, clip_path};
use codelet_agent::event::{Event, Listen, Progress, Stopped};
use codelet_agent::run::Ending;
use codelet_context::pipe;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The tool that keeps the todo list, whose output is shown as a list, and the number of its lines shown.
const TODO: &str = "Todo";
const LISTED: usize = 40;
/// Bytes of streamed answer text kept for display: more than the widest line.
const MOST_SAID: usize = 4_096;
/// The interval between updates of streamed text: terminals and eyes are slow.
const BETWEEN: Duration = Duration::from_millis(100);

/// Prints the answer to `out`, and a line per event to `told`.
pub struct Plain<W, T> {
    out: W,
    told: T,
    look: Look,
    /// True if steps are shown too, not only essential messages.
    follows: bool,
    /// True if the terminal shows a transient line that will be overwritten.
    is_passing: bool,
    /// The end of the text being streamed; the whole answer is printed once it is complete.
    said: String,
    /// The time of the last update.
    shown: Option<Instant>,
    /// Running tasks.
    tasks: Vec<(Arc<str>, Progress)>,
    /// The cause of the wait that was last reported to a log.
    awaited: String,
    /// True if the answer goes to a terminal, so control sequences must be removed.
    is_for_terminal: bool,
}

impl<W: Write + Send, T: Write + Send> Plain<W, T> {
    /// Creates a front end; `look` belongs to `told`, and `is_for_terminal` says that `out` is a terminal. Steps are
    /// shown if `told` is a terminal, warnings always.
    pub fn new(out: W, is_for_terminal: bool, told: T, look: Look) -> Self {
        let follows = look.terminal;
        Plain {
            out,
            told,
            look,
            follows,
            is_passing: false,
            said: String::new(),
            shown: None,
            tasks: Vec::new(),
            awaited: String::new(),
            is_for_terminal,
        }
    }

    fn print(&mut self, text: &str) -> std::io::Result<()> {
        let lines = text.trim_end().split('\n');
        let text: String = match self.is_for_terminal {
            true => lines
                .map(|line| clean(&line.replace('\t', "    ")))
                .collect::<Vec<_>>()
                .join("\n"),
            false => lines.collect::<Vec<_>>().join("\n"),
        };
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    /// Prints a line, ignoring errors: if it cannot be written, there is nowhere to report that.
    fn tell(&mut self, ink: Ink, label: &str, text: &str) {
        self.wipe();
        let label = self.look.ink(ink, label);
        let _ = writeln!(self.told, "{label} {text}");
    }

    fn wipe(&mut self) {
        if std::mem::take(&mut self.is_passing) {
            let _ = write!(self.told, "\r\x1b[2K");
        }
    }

    /// Shows that the model is writing: its latest words on one line, updated a few times per second.
    fn whisper(&mut self, text: &str) {
        if !self.follows || !self.look.terminal || self.look.dumb {
            return;
        }
        self.said.push_str(text);
        let width = self.look.width.saturating_sub(4);
        if self.said.len() > MOST_SAID {
            let from = self.said.ceil_char_boundary(self.said.len() - MOST_SAID / 2);
            self.said.drain(..from);
        }
        if self.shown.is_some_and(|shown| shown.elapsed() < BETWEEN) {
            return;
        }
        self.shown = Some(Instant::now());
        let words: Vec<&str> = self.said.split_whitespace().collect();
        let line = clean(&words.join(" "));
        self.pass(&clip_path(&line, width));
    }

    /// Writes a transient line, which the next one overwrites.
    fn pass(&mut self, line: &str) {
        let line = self.look.ink(Ink::Dim, line);
        let _ = write!(self.told, "\r\x1b[2K  {line}");
        let _ = self.told.flush();
        self.is_passing = true;
    }

    fn count_down(&mut self, cause: &str, left: Duration, next_try: Option<u32>) {
        let then = next_try.map_or("giving up".to_owned(), |next_try| format!("try {next_try}"));
        let line = match left.as_secs_f64().ceil() as u64 {
            0 => format!("{}; {then}", clean(cause)),
            seconds => format!("{}; {then} in {seconds} s", clean(cause)),
        };
        if !self.look.terminal || self.look.dumb {
            // Reported once per cause in a log.
            if self.awaited != cause {
                cause.clone_into(&mut self.awaited);
                self.tell(Ink::Yellow, "waiting:", &line);
            }
            return;
        }
        let line = clip(&line, self.look.width.saturating_sub(12));
        let label = self.look.ink(Ink::Yellow, "waiting:");
        let _ = write!(self.told, "\r\x1b[2K{label} {line}");
        let _ = self.told.flush();
        self.is_passing = true;
    }
}

impl<W: Write + Send, T: Write + Send> Listen for Plain<W, T> {
    fn on(&mut self, event: Event) {
        match event {
            Event::Asking { .. } => {
                self.awaited.clear();
                self.said.clear();
            }
            Event::Text(text) | Event::Thinking(text) => self.whisper(&text),
            Event::Void => {
                self.said.clear();
                self.wipe();
            }
            Event::Waiting {
                cause, left, next_try, ..
            } => self.count_down(&cause, left, next_try),
            Event::Compacted { mut notice, .. } => {
                // Commands cannot be typed here.
                notice.can_undo = false;
                let warnings = notice.warnings.iter().filter(|warning| !warning.repeats_the_notice());
                let warnings: Vec<String> = warnings.map(ToString::to_string).collect();
                let line = notice.pieces().join(" · ");
                self.tell(Ink::Cyan, "·", &line);
                for warning in warnings {
                    self.tell(Ink::Yellow, "warning:", &clean(&warning));
                }
            }
            Event::Refused { tool, description, why } => {
                self.tell(Ink::Yellow, "refused:", &clean(&refused(&tool, &description, &why)));
            }
            Event::Notice(text) => {
                // Further lines are indented below the first, so that none can pose as one of ours.
                let lines: Vec<String> = text.split('\n').map(clean).collect();
                self.tell(Ink::Yellow, "note:", &lines.join("\n      "));
            }
            Event::ToolFinished {
                tool,
                success,
                failed_in_pipe,
                bytes: printed,
                remarks,
                elapsed,
                stopped,
                printed: text,
                id,
                ..
            } if self.follows => {
                self.tasks.retain(|(task, _)| *task != id);
                let failed_in_pipe = pipe::told(&failed_in_pipe);
                let (ink, mark) = match success {
                    true if !failed_in_pipe.is_empty() => (Ink::Yellow, "!"),
                    true => (Ink::Green, "✓"),
                    false => (Ink::Red, "✗"),
                };
                let in_pipe = match success && !failed_in_pipe.is_empty() {
                    true => format!("{failed_in_pipe} · "),
                    false => String::new(),
                };
                let took = codelet_context::notice::took(elapsed);
                let tool = clean(&tool);
                let line = match stopped {
                    Some(Stopped::NotRun) => format!("{tool} · {}", Stopped::NotRun.name()),
                    Some(stopped) => format!("{tool} · {} · {took}", stopped.name()),
                    None => format!(
                        "{tool} · {in_pipe}{} · {took}",
                        bytes(printed.saturating_sub(remarks as u64))
                    ),
                };
                self.tell(ink, mark, &line);
                if success && &*tool == TODO {
                    for line in text.as_str().lines().take(LISTED) {
                        let line = clip(&clean(line), self.look.width.saturating_sub(4));
                        let _ = writeln!(self.told, "  {line}");
                    }
                }
            }
            Event::Task { id, progress } if self.follows && self.look.terminal && !self.look.dumb => {
                self.tasks.retain(|(task, _)| *task != id);
                self.tasks.push((id, progress));
                let (steps, doing) = self.tasks.iter().fold((0, ""), |(steps, _), (_, progress)| {
                    (steps + progress.steps, &*progress.doing)
                });
                let line = format!("tasks: {} · steps: {steps} · {doing}", self.tasks.len());
                self.pass(&clip(&clean(&line), self.look.width.saturating_sub(4)));
            }
            Event::ToolStarted { tool, description, .. } if self.follows => {
                let line = clip(
                    &clean(&format!("{tool} {description}")),
                    self.look.width.saturating_sub(4),
                );
                self.tell(Ink::Cyan, "→", &line);
            }
            _ => {}
        }
    }
}

impl<W: Write + Send, T: Write + Send> Front for Plain<W, T> {
    fn follow(&mut self) {
        self.follows = true;
    }

    fn finish(&mut self, done: &Done<'_>) -> std::io::Result<()> {
        self.wipe();
        match done.ending {
            Ending::Answered(text) => self.print(text),
            other => {
                // This text was paid for and may be most of the answer.
                let unfinished = done.session.unfinished();
                let printed = match unfinished.trim().is_empty() {
                    true => Ok(()),
                    // A consumer of JSON must not receive anything else.
                    false if done.session.checks_answers() => {
                        self.tell(Ink::Yellow, "answer:", &clean(unfinished));
                        Ok(())
                    }
                    false => self.print(unfinished),
                };
                self.tell(Ink::Red, "error:", &clean(&other.to_string()));
                printed
            }
        }
    }
}
