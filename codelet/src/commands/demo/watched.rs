//! The demo on a terminal: the lines of a session, at reading speed.

use crate::front::{Done, Front};
use codelet_agent::event::{Event, Listen};
use codelet_agent::interrupt::Interrupt;
use codelet_terminal::finished::Finished;
use codelet_terminal::render::Renderer;
use codelet_terminal::render::look::Look;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// The pause before the model answers.
const ASKING: Duration = Duration::from_millis(400);
/// The pause per word shown, and the maximum pause for one event.
const WORD: Duration = Duration::from_millis(40);
const LONGEST: Duration = Duration::from_secs(3);
/// The pause after a compaction, which is the point of the demo.
const COMPACTED: Duration = Duration::from_millis(1_500);
/// The interval between checks for an interruption.
const SLICE: Duration = Duration::from_millis(20);

/// Shows a run like a session, and pauses for its reader.
pub(super) struct Watched<W> {
    out: W,
    renderer: Renderer,
    began: Instant,
    has_pauses: bool,
    interrupt: Interrupt,
}

impl<W: Write + Send> Watched<W> {
    /// Creates the front end for a run that begins with this prompt.
    pub fn new(out: W, look: Look, prompt: &str, has_pauses: bool, interrupt: &Interrupt) -> Self {
        let mut watched = Watched {
            out,
            renderer: Renderer::new(look),
            began: Instant::now(),
            has_pauses,
            interrupt: interrupt.clone(),
        };
        let lines = watched.renderer.prompt(prompt, Duration::ZERO);
        let time = watched.show(lines);
        watched.pause(time);
        watched
    }

    /// Shows lines, and returns the time needed to read them. Output errors are ignored.
    fn show<L>(&mut self, lines: Vec<L>) -> Duration
    where
        Finished: Extend<L>,
    {
        let mut finished = Finished::default();
        finished.extend(lines);
        let text = finished.next(usize::MAX);
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        let words = u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX);
        WORD.saturating_mul(words).min(LONGEST)
    }

    fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while self.has_pauses && !self.interrupt.is_thrown() {
            match end.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => std::thread::sleep(left.min(SLICE)),
                _ => return,
            }
        }
    }
}

impl<W: Write + Send> Listen for Watched<W> {
    /// Blocks the run while the user reads: nothing else waits for it here.
    fn on(&mut self, mut event: Event) {
        if let Event::Compacted { notice, .. } = &mut event {
            // Commands cannot be typed here.
            notice.can_undo = false;
        }
        let lines = self.renderer.on(&event, self.began.elapsed());
        let time = self.show(lines);
        self.pause(match event {
            Event::Asking { .. } => ASKING,
            Event::Compacted { .. } => COMPACTED + time,
            _ => time,
        });
    }
}

impl<W: Write + Send> Front for Watched<W> {
    fn finish(&mut self, _: &Done<'_>) -> io::Result<()> {
        let lines = self.renderer.close(self.began.elapsed());
        self.show(lines);
        self.out.flush()
    }
}
