//! Gemini's chunks: parts of one content. No event ends the reply; a finish reason does.

use super::{
    Deltas, Frames, Trouble, UsageReporter, Whole, append, broken_off, declined, note, parse, reason, reason_in, str,
};
use crate::usage::Inclusive;
use codelet_agent::model::{Billed, Delta, Stop};
use serde_json::{Map, Value, json};

#[derive(Default)]
pub(crate) struct Gemini {
    parts: Vec<Value>,
    calls: usize,
    broken: Vec<usize>,
    usage: Inclusive,
    told: UsageReporter,
    stop: Option<Stop>,
}

impl Gemini {
    fn candidate(&mut self, candidate: &Value, deltas: &mut Deltas) -> Result<(), Trouble> {
        let parts = candidate.get("content").and_then(|content| content.get("parts"));
        for part in parts.and_then(Value::as_array).into_iter().flatten() {
            self.part(part, deltas);
        }
        if let Some(reason) = reason_in(candidate, "finishReason") {
            note(&mut self.stop, stop(&reason, str(candidate, "finishMessage"))?);
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, deltas: &mut Deltas) {
        let Value::Object(fields) = part else { return };
        let is_thought = fields.get("thought") == Some(&Value::Bool(true));
        if let Some(text) = str(part, "text") {
            let kind = if is_thought { Delta::Thinking } else { Delta::Text };
            deltas.push(kind(text.to_owned()));
        }
        if let Some(call) = fields.get("functionCall") {
            if let Some(tool) = str(call, "name") {
                deltas.push(Delta::Call { tool: tool.to_owned() });
            }
            if call
                .get("args")
                .is_some_and(|args| !args.is_object() && !args.is_null())
            {
                self.broken.push(self.calls);
            }
            self.calls += 1;
        }
        // Pieces of one text are merged; a signature belongs to its own part and is never moved.
        match self.parts.last_mut() {
            Some(Value::Object(last))
                if is_plain(last) && is_plain(fields) && last.get("thought") == fields.get("thought") =>
            {
                append(last, "text", str(part, "text").unwrap_or_default());
            }
            _ => self.parts.push(part.clone()),
        }
    }
}

/// Returns whether a part contains only text.
fn is_plain(part: &Map<String, Value>) -> bool {
    part.get("text").is_some_and(Value::is_string)
        && part.keys().all(|name| matches!(name.as_str(), "text" | "thought"))
}

impl Frames for Gemini {
    fn take(&mut self, frame: &str, deltas: &mut Deltas) -> Result<bool, Trouble> {
        if frame.trim() == "[DONE]" {
            return Ok(self.stop.is_some());
        }
        let chunk = parse(frame)?;
        let inner = chunk.get(0).unwrap_or(&chunk);
        if inner.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Trouble::Reported(frame.to_owned()));
        }
        let usage = inner.get("usageMetadata").filter(|usage| usage.is_object());
        if let Some(usage) = usage {
            self.usage.gemini(usage);
            self.told.tell(self.usage.billed(), deltas);
        }
        if let Some(feedback) = inner.get("promptFeedback")
            && let Some(reason) = str(feedback, "blockReason")
        {
            self.stop = Some(declined(reason, str(feedback, "blockReasonMessage")));
        }
        if let Some(candidate) = inner.get("candidates").and_then(|candidates| candidates.get(0)) {
            self.candidate(candidate, deltas)?;
        }
        Ok(false)
    }

    fn billed(&self) -> Billed {
        self.usage.billed()
    }

    fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    fn finish(&mut self) -> Option<Whole> {
        let stop = self.stop.take()?;
        let mut parts = std::mem::take(&mut self.parts);
        parts.retain(|part| {
            part.as_object()
                .is_none_or(|part| !is_plain(part) || part["text"] != "")
        });
        for part in &mut parts {
            if let Some(args) = part.get_mut("functionCall").and_then(|call| call.get_mut("args"))
                && !args.is_object()
            {
                *args = json!({});
            }
        }
        Some(Whole {
            list: vec![json!({"role": "model", "parts": parts})],
            broken: std::mem::take(&mut self.broken),
            stop: Some(stop),
        })
    }
}

/// Converts a finish reason.
fn stop(reason: &str, words: Option<&str>) -> Result<Stop, Trouble> {
    Ok(match reason {
        "LANGUAGE" => declined(reason, words),
        reason if reason.starts_with("IMAGE_") => declined(reason, words),
        "MISSING_THOUGHT_SIGNATURE" | "NO_IMAGE" | "OTHER" => broken_off(reason, words),
        reason => return reason::stop(reason, words),
    })
}
