//! One JSON object at the end of a run, for programs that want what came of it.

use super::{Done, Front};
use codelet_agent::event::{Event, Listen, Stopped};
use codelet_agent::model::Billed;
use codelet_agent::run::Ending;
use codelet_context::notice::Notice;
use codelet_context::policy::Reason;
use codelet_text::unseen::hides;
use serde_json::{Map, Value, json};
use std::io::Write;

/// Gathers what happens and prints one object at the end.
pub struct Json<W> {
    out: W,
    compactions: Vec<Value>,
    /// By tool, in the order of the first call: calls and failures.
    tools: Vec<(String, u64, u64)>,
    notices: Vec<String>,
}

impl<W: Write + Send> Json<W> {
    /// Prints to `out`.
    pub fn new(out: W) -> Self {
        Json {
            out,
            compactions: Vec::new(),
            tools: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// What is printed at the end.
    pub(super) fn result(&self, done: &Done<'_>) -> Value {
        let bill = done.session.bill();
        let billed = Billed {
            usage: bill.usage,
            write_1h: bill.write_1h,
            reasoning: bill.reasoning,
        };
        let tools: Map<String, Value> = self
            .tools
            .iter()
            .map(|(name, calls, failed)| (name.clone(), json!({"calls": calls, "failed": failed})))
            .collect();
        let answer = match done.ending {
            Ending::Answered(text) => Some(text),
            _ => None,
        };
        let unfinished = Some(done.session.unfinished()).filter(|text| !text.trim().is_empty());
        let error = answer.is_none().then(|| done.ending.to_string());
        // A sum in which parts are missing would be a wrong figure.
        let cost = (bill.unpriced == 0).then_some(bill.dollars);
        json!({
            "answer": answer,
            "unfinished": unfinished,
            "error": error,
            "steps": done.session.steps(),
            "usage": billed_json(&billed),
            "cost": cost,
            "compactions": self.compactions,
            "tools": tools,
            "notices": self.notices,
            "elapsed_ms": done.elapsed.as_millis() as u64,
            "exit": done.exit,
        })
    }
}

impl<W: Write + Send> Listen for Json<W> {
    fn on(&mut self, event: Event) {
        match event {
            // What an interruption has kept from being begun was no call of the tool.
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
            Event::Notice(text) => self.notices.push(text),
            _ => {}
        }
    }
}

impl<W: Write + Send> Front for Json<W> {
    fn finish(&mut self, done: &Done<'_>) -> std::io::Result<()> {
        let result = self.result(done);
        writeln!(self.out, "{}", line(&result))?;
        self.out.flush()
    }
}

/// JSON in one line, in which what terminals obey and what nobody sees is escaped: JSON itself escapes only what is below
/// U+0020, and some terminals take U+009B for the beginning of an order.
pub(super) fn line(value: &Value) -> String {
    let line = value.to_string();
    let is_plain = |c: char| !c.is_control() && !hides(c);
    if line.chars().all(is_plain) {
        return line;
    }
    let mut escaped = String::with_capacity(line.len() + 16);
    for c in line.chars() {
        if is_plain(c) {
            escaped.push(c);
            continue;
        }
        // Such characters stand in strings only.
        for unit in c.encode_utf16(&mut [0; 2]) {
            escaped.push_str(&format!("\\u{unit:04x}"));
        }
    }
    escaped
}

/// The counts of a request or a session.
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

/// A compaction.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_line_holds_nothing_that_a_terminal_obeys_or_nobody_sees_and_says_the_same() {
        let hidden = "\u{7f}\u{80}\u{9b}2J\u{9f}\u{202e}\u{2066}\u{2028}\u{200b}\u{e0041}\u{1b}[m\n";
        let value = json!({hidden: hidden, "seen": "é日👩\u{200d}❤\u{fe0f}\u{a0}"});
        let line = line(&value);
        assert!(!line.chars().any(|c| c.is_control() || hides(c)), "{line:?}");
        assert!(
            line.contains("é日👩\u{200d}❤\u{fe0f}\u{a0}") && line.contains("\\udb40\\udc41"),
            "{line}"
        );
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }
}
