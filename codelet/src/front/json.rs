//! A single JSON object at the end of a run, for programs that need only the result.

use super::{Done, Front, refused};
use crate::escaped;
use codelet_agent::event::{Event, Listen, Stopped};
use codelet_agent::model::Billed;
use codelet_agent::run::Ending;
use codelet_agent::session::Tasks;
use codelet_context::notice::Notice;
use codelet_context::policy::Reason;
use serde_json::{Map, Value, json};
use std::io::Write;

/// Collects events and prints one object at the end.
pub struct Json<W> {
    out: W,
    compactions: Vec<Value>,
    /// Calls and failures per tool, in the order of the first call.
    tools: Vec<(String, u64, u64)>,
    notices: Vec<String>,
}

impl<W: Write + Send> Json<W> {
    /// Creates a front end that prints to `out`.
    pub fn new(out: W) -> Self {
        Json {
            out,
            compactions: Vec::new(),
            tools: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Returns the object for the end of a turn. Events collected so far are reported once.
    pub(super) fn result(&mut self, done: &Done<'_>) -> Value {
        let bill = done.session.bill();
        let billed = Billed {
            usage: bill.usage,
            write_1h: bill.write_1h,
            reasoning: bill.reasoning,
        };
        let tools: Map<String, Value> = std::mem::take(&mut self.tools)
            .into_iter()
            .map(|(name, calls, failed)| (name, json!({"calls": calls, "failed": failed})))
            .collect();
        let answer = match done.ending {
            Ending::Answered(text) => Some(text),
            _ => None,
        };
        let value: Option<Value> = answer
            .filter(|_| done.session.checks_answers())
            .and_then(|answer| serde_json::from_str(answer).ok());
        let unfinished = Some(done.session.unfinished()).filter(|text| !text.trim().is_empty());
        let error = answer.is_none().then(|| done.ending.to_string());
        // A sum with missing parts would be a wrong figure.
        let cost = (bill.unpriced == 0).then(|| dollars(bill.cost.total()));
        json!({
            "answer": answer,
            "value": value,
            "unfinished": unfinished,
            "error": error,
            "steps": done.session.steps(),
            "usage": billed_json(&billed),
            "cost": cost,
            "compactions": std::mem::take(&mut self.compactions),
            "tools": tools,
            "tasks": tasks_json(done.session.tasks()),
            "notices": std::mem::take(&mut self.notices),
            "elapsed_ms": done.elapsed.as_millis() as u64,
            "exit": done.exit,
        })
    }
}

impl<W: Write + Send> Listen for Json<W> {
    fn on(&mut self, event: Event) {
        match event {
            // A call that an interruption prevented does not count as a call.
            Event::ToolFinished {
                stopped: Some(Stopped::NotRun),
                ..
            } => {}
            Event::ToolFinished { tool, success, .. } => {
                let failed = u64::from(!success);
                match self.tools.iter_mut().find(|(name, ..)| **name == *tool) {
                    Some((_, calls, failures)) => (*calls, *failures) = (*calls + 1, *failures + failed),
                    None => self.tools.push((tool.to_string(), 1, failed)),
                }
            }
            Event::Compacted { reason, notice } => self.compactions.push(notice_json(reason, &notice)),
            Event::Refused { tool, description, why } => {
                self.notices
                    .push(format!("refused: {}", refused(&tool, &description, &why)));
            }
            Event::Notice(text) => self.notices.push(text),
            _ => {}
        }
    }
}

impl<W: Write + Send> Front for Json<W> {
    fn finish(&mut self, done: &Done<'_>) -> std::io::Result<()> {
        let result = self.result(done);
        writeln!(self.out, "{}", escaped::json(&result.to_string()))?;
        self.out.flush()
    }
}

/// Returns the token counts of a request or a session.
pub(super) fn billed_json(billed: &Billed) -> Value {
    let usage = billed.usage;
    json!({
        "fresh": usage.fresh,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "cache_write_1h": billed.write_1h,
        "output": usage.output,
        "reasoning": billed.reasoning,
    })
}

/// Rounds an amount to a millionth of a dollar: more digits would be noise of the addition.
pub(super) fn dollars(amount: f64) -> f64 {
    (amount * 1e6).round() / 1e6
}

/// Returns the share of the figures that belongs to tasks; null if there were none.
fn tasks_json(tasks: &Tasks) -> Option<Value> {
    let bill = tasks.bill();
    let billed = Billed {
        usage: bill.usage,
        write_1h: bill.write_1h,
        reasoning: bill.reasoning,
    };
    (tasks.count() > 0).then(|| {
        json!({
            "count": tasks.count(),
            "requests": bill.requests,
            "usage": billed_json(&billed),
            "cost": (bill.unpriced == 0).then(|| dollars(bill.cost.total())),
        })
    })
}

/// Returns the object for a compaction.
pub(super) fn notice_json(reason: Reason, notice: &Notice) -> Value {
    let warnings: Vec<String> = notice.warnings.iter().map(ToString::to_string).collect();
    json!({
        "reason": reason.name(),
        "changed": notice.changed,
        "before": notice.before,
        "after": notice.after,
        "ms": notice.elapsed.map(|elapsed| elapsed.as_secs_f64() * 1_000.0),
        "warnings": warnings,
    })
}
