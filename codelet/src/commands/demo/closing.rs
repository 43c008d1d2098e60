//! The demo's closing text: a summary, and what to do next.

use crate::front::{Done, Front};
use crate::paint::{Ink, Look, number};
use codelet_agent::event::{Event, Listen};
use codelet_agent::run::Ending;
use std::fmt::Write as _;
use std::io::{self, Write};

/// A front end that adds closing text about the demo.
pub(super) struct Closing<W> {
    front: Box<dyn Front>,
    told: W,
    look: Look,
    /// True if a key or a server is available.
    has_key: bool,
    calls: u64,
    /// Tokens before and after the last compaction, and whether removed content was read back.
    compacted: Option<(u64, u64)>,
    was_recalled: bool,
}

impl<W: Write + Send> Closing<W> {
    /// Creates the front end; `look` belongs to `told`, which receives the text.
    pub fn new(front: Box<dyn Front>, told: W, look: Look, has_key: bool) -> Self {
        Closing {
            front,
            told,
            look,
            has_key,
            calls: 0,
            compacted: None,
            was_recalled: false,
        }
    }

    fn words(&self) -> String {
        let head = |words: &str| self.look.ink(Ink::Cyan, words);
        let mut text = format!(
            "\n{}\n  A recorded model fixed a bug in a scratch folder, which is removed now.\n  \
             The loop, the tools and all {} calls were real.\n",
            head("What just happened"),
            self.calls
        );
        if let Some((before, after)) = self.compacted {
            let _ = writeln!(
                text,
                "  The context window filled up and was compacted without asking a model:\n  {} → {} tokens.{}",
                number(before),
                number(after),
                match self.was_recalled {
                    true => " Then the model read back a removed output by its handle.",
                    false => "",
                }
            );
        }
        let _ = writeln!(text, "\n{}", head("What to do next"));
        let key = [("export ANTHROPIC_API_KEY=…", "or another: codelet models lists them")];
        let next = [
            ("codelet", "start a session in the current folder"),
            ("codelet -p \"fix it\" --allow 'cargo *'", "do one task"),
            ("codelet --from FILE", "continue a session of another agent"),
        ];
        let key = key.iter().filter(|_| !self.has_key);
        for (command, what) in key.chain(&next) {
            let _ = writeln!(text, "  {command:<37}  {what}");
        }
        text
    }
}

impl<W: Write + Send> Listen for Closing<W> {
    fn on(&mut self, event: Event) {
        match &event {
            Event::ToolFinished { tool, success, .. } => {
                self.calls += 1;
                self.was_recalled |= *success && &**tool == "Recall";
            }
            Event::Compacted { notice, .. } if notice.changed => self.compacted = Some((notice.before, notice.after)),
            _ => {}
        }
        self.front.on(event);
    }
}

impl<W: Write + Send> Front for Closing<W> {
    fn finish(&mut self, done: &Done<'_>) -> io::Result<()> {
        self.front.finish(done)?;
        // If the demo did not finish, the text would be false.
        if matches!(done.ending, Ending::Answered(_)) {
            let words = self.words();
            // Errors are ignored: there is nowhere left to report them.
            let _ = self.told.write_all(words.as_bytes()).and_then(|()| self.told.flush());
        }
        Ok(())
    }
}
