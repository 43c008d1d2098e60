//! One JSON event per line, for programs that follow a run. `docs/stream-json.md` lists the lines.

use super::json::{billed_json, dollars, notice_json};
use super::{Done, Front, Json, StoodStill, refused};
use crate::escaped;
use crate::exit::words;
use codelet_agent::event::{Event, Listen, Progress, Stopped};
use codelet_agent::interrupt::Interrupt;
use codelet_context::pipe::FailedInPipe;
use serde_json::{Value, json};
use std::io::{ErrorKind, Write};

/// Prints each event as it happens, and at the end the same object as `--output json`.
pub struct Stream<W> {
    out: W,
    /// Collects the figures for the end.
    end: Json<std::io::Sink>,
    /// The first output error: nobody is reading any more.
    trouble: Option<std::io::Error>,
    /// Ends a run that nobody follows any more, since it costs money and changes files.
    interrupt: Interrupt,
}

impl<W: Write + Send> Stream<W> {
    /// Creates a front end that prints to `out` and interrupts the run as soon as that fails.
    pub fn new(out: W, interrupt: Interrupt) -> Self {
        Stream {
            out,
            end: Json::new(std::io::sink()),
            trouble: None,
            interrupt,
        }
    }

    fn print(&mut self, line: &Value) {
        if self.trouble.is_none() {
            // A follower needs each line immediately.
            let written = self.out.write_all((escaped::json(&line.to_string()) + "\n").as_bytes());
            self.trouble = written.and_then(|()| self.out.flush()).err();
        }
    }
}

impl<W: Write + Send> Listen for Stream<W> {
    fn on(&mut self, event: Event) {
        if let Some(line) = event_json(&event) {
            self.print(&line);
        }
        if self.trouble.is_some() {
            self.interrupt.throw();
        }
        self.end.on(event);
    }
}

impl<W: Write + Send> Front for Stream<W> {
    fn finish(&mut self, done: &Done<'_>) -> std::io::Result<()> {
        if let Some(error) = self.trouble.take() {
            if StoodStill::is(&error) || error.kind() == ErrorKind::BrokenPipe {
                return Err(error);
            }
            let why = words(&error);
            return Err(std::io::Error::other(format!(
                "{why}; the run was interrupted before its end"
            )));
        }
        let mut line = json!({"type": "result"});
        if let (Some(line), Value::Object(result)) = (line.as_object_mut(), self.end.result(done)) {
            line.extend(result);
        }
        self.print(&line);
        self.trouble.take().map_or(Ok(()), Err)
    }
}

/// Returns an event as one JSON object; `None` if its line would say nothing that others do not.
fn event_json(event: &Event) -> Option<Value> {
    Some(match event {
        Event::Asking { step, occupancy, limit } => {
            json!({"type": "asking", "step": step, "occupancy": occupancy, "limit": limit})
        }
        Event::Text(text) => json!({"type": "text", "text": text}),
        Event::Thinking(text) => json!({"type": "thinking", "text": text}),
        Event::Calling { tool } => json!({"type": "calling", "tool": tool}),
        Event::Void => json!({"type": "void"}),
        Event::Billed { billed, cost } => {
            json!({"type": "billed", "usage": billed_json(billed), "cost": cost.map(dollars)})
        }
        Event::Waiting {
            cause, left, next_try, ..
        } => {
            json!({"type": "waiting", "cause": cause, "left_ms": left.as_millis() as u64, "next_try": next_try})
        }
        Event::ToolStarted {
            id, tool, description, ..
        } => {
            json!({"type": "tool_started", "id": &**id, "tool": &**tool, "description": description})
        }
        Event::ToolPrinted { id, text } => json!({"type": "tool_printed", "id": &**id, "text": text}),
        Event::Task { id, progress } => {
            let Progress { steps, doing, bill, .. } = progress;
            json!({
                "type": "task", "id": &**id, "steps": steps, "doing": doing,
                "tokens": bill.usage.total(), "cost": (bill.unpriced == 0).then(|| dollars(bill.cost.total())),
            })
        }
        Event::ToolFinished {
            id,
            tool,
            success,
            failed_in_pipe,
            bytes,
            elapsed,
            printed,
            diff,
            stopped,
            ..
        } => json!({
            "type": "tool_finished", "id": &**id, "tool": &**tool, "success": success, "bytes": bytes,
            "ms": elapsed.as_millis() as u64, "output": printed.as_str(), "diff": &**diff,
            "stopped": stopped.map(Stopped::name),
            "failed_in_pipe": failed_in_pipe
                .iter()
                .map(|FailedInPipe { program, status }| json!({"program": program.as_deref(), "status": status}))
                .collect::<Value>(),
        }),
        Event::Compacted { reason, notice } => {
            let mut line = json!({"type": "compacted"});
            if let (Some(line), Value::Object(notice)) = (line.as_object_mut(), notice_json(*reason, notice)) {
                line.extend(notice);
            }
            line
        }
        Event::TakenBack(turn) => json!({"type": "taken_back", "handle": turn.handle.as_str()}),
        Event::Refused { tool, description, why } => {
            json!({"type": "notice", "text": format!("refused: {}", refused(tool, description, why))})
        }
        Event::Notice(text) => json!({"type": "notice", "text": text}),
        Event::Over(ending) => json!({"type": "over", "ending": ending.to_string()}),
        Event::ToolPermitted { .. } => return None,
    })
}
