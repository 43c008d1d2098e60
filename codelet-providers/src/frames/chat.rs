//! Chat Completions chunks: one growing message, its calls by index, and the usage in a separate chunk.

use super::tagged::{Tagged, split_closed};
use super::{
    Deltas, Frames, Trouble, UsageReporter, Whole, append, declined, is_cut_before, note, parameters, parse, reason,
    reason_in, str,
};
use crate::usage::Inclusive;
use codelet_agent::model::{Billed, Delta, Stop};
use serde_json::{Map, Value, json};

/// The names of fields in which servers send plain thinking.
const THINKING: [&str; 2] = ["reasoning_content", "reasoning"];

#[derive(Default)]
pub(crate) struct Chat {
    content: Option<String>,
    /// The thinking at the beginning of the content, if the server leaves it there.
    tagged: Tagged,
    /// The field name of the thinking, and its text.
    thinking: Option<(&'static str, String)>,
    /// Thinking in pieces that some gateways require back.
    details: Vec<Value>,
    refusal: String,
    calls: Vec<Call>,
    usage: Inclusive,
    told: UsageReporter,
    stop: Option<Stop>,
    is_done: bool,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Fields other than the usual ones, such as a signature.
    extra: Map<String, Value>,
    is_told: bool,
}

impl Chat {
    fn choice(&mut self, choice: &Value, frame: &str, deltas: &mut Deltas) -> Result<(), Trouble> {
        // A server that does not stream a part sends it as a message.
        let delta = choice.get("delta").or_else(|| choice.get("message"));
        if let Some(delta) = delta {
            self.delta(delta, deltas);
        }
        let reason = reason_in(choice, "finish_reason");
        if reason.is_some() {
            let rest = self.tagged.rest();
            if !rest.is_empty() {
                self.text(rest, deltas);
            }
        }
        match reason.as_deref() {
            None => {}
            Some("error") if choice.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(Trouble::Reported(frame.to_owned()));
            }
            Some(reason) => {
                let words = Some(self.refusal.as_str()).filter(|words| !words.is_empty());
                note(&mut self.stop, reason::stop(reason, words)?);
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, deltas: &mut Deltas) {
        for name in THINKING {
            if let Some(more) = str(delta, name) {
                // Some servers send the same under both names.
                let (own, thinking) = self.thinking.get_or_insert_with(|| (name, String::new()));
                if *own == name {
                    thinking.push_str(more);
                    deltas.push(Delta::Thinking(more.to_owned()));
                }
            }
        }
        for detail in delta
            .get("reasoning_details")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.detail(detail);
        }
        match delta.get("content") {
            Some(Value::String(more)) => self.say(more, deltas),
            Some(Value::Array(parts)) => {
                for more in parts.iter().filter_map(|part| str(part, "text")) {
                    self.say(more, deltas);
                }
            }
            _ => {}
        }
        if let Some(more) = str(delta, "refusal") {
            self.refusal.push_str(more);
            deltas.push(Delta::Text(more.to_owned()));
        }
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(call, deltas);
        }
    }

    fn say(&mut self, more: &str, deltas: &mut Deltas) {
        let (thinking, text) = self.tagged.take(more);
        if !thinking.is_empty() {
            deltas.push(Delta::Thinking(thinking));
        }
        self.text(text, deltas);
    }

    fn text(&mut self, more: String, deltas: &mut Deltas) {
        self.content.get_or_insert_default().push_str(&more);
        if !more.is_empty() {
            deltas.push(Delta::Text(more));
        }
    }

    /// Merges pieces of the same kind at the same index.
    fn detail(&mut self, detail: &Value) {
        let Value::Object(piece) = detail else { return };
        let key = |value: &Value| (value.get("index").cloned(), value.get("type").cloned());
        let open = self
            .details
            .last_mut()
            .filter(|last| key(last) == key(detail) && last.get("index").is_some());
        let Some(Value::Object(open)) = open else {
            return self.details.push(detail.clone());
        };
        for (name, value) in piece {
            match value {
                Value::String(more) if matches!(name.as_str(), "text" | "summary" | "data") => append(open, name, more),
                Value::Null => {}
                value => drop(open.insert(name.clone(), value.clone())),
            }
        }
    }

    fn call(&mut self, piece: &Value, deltas: &mut Deltas) {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = str(piece, "id").unwrap_or_default();
        let function = piece.get("function").unwrap_or(&Value::Null);
        let name = str(function, "name").unwrap_or_default();
        let known = self.calls.iter().rposition(|call| match (index, call.index) {
            (Some(index), Some(own)) => index == own,
            _ => !id.is_empty() && id == call.id,
        });
        // Without an index, an id or a name begins a call, and other chunks continue the last one. A server that
        // numbers every call 0 gives each its own id.
        let known = known.or_else(|| {
            (index.is_none() && id.is_empty() && name.is_empty()).then(|| self.calls.len().checked_sub(1))?
        });
        let known = known.filter(|at| {
            let call = &self.calls[*at];
            id.is_empty() || call.id.is_empty() || id == call.id
        });
        let at = known.unwrap_or_else(|| {
            self.calls.push(Call {
                index,
                ..Call::default()
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        // The name arrives whole; some servers repeat it.
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        match function.get("arguments") {
            Some(Value::String(more)) => {
                call.arguments.push_str(more);
            }
            Some(whole @ Value::Object(_)) => call.arguments = whole.to_string(),
            _ => {}
        }
        for (name, value) in piece.as_object().into_iter().flatten() {
            if !matches!(name.as_str(), "index" | "id" | "type" | "function") && !value.is_null() {
                call.extra.insert(name.clone(), value.clone());
            }
        }
        if !call.is_told && !call.name.is_empty() {
            call.is_told = true;
            deltas.push(Delta::Call {
                tool: call.name.clone(),
            });
        }
    }

    fn message(&mut self, stop: &Stop) -> (Map<String, Value>, Vec<usize>) {
        let mut broken = Vec::new();
        let mut calls = Vec::new();
        // A call without a name cannot be run, and every server rejects it.
        let mut named = std::mem::take(&mut self.calls);
        named.retain(|call| !call.name.is_empty());
        let last = named.len().wrapping_sub(1);
        for (at, call) in named.into_iter().enumerate() {
            let is_cut = at == last && is_cut_before(&call.arguments, stop);
            let arguments = match parameters(&call.arguments).filter(|_| !is_cut) {
                Some(_) if call.arguments.trim().starts_with('{') => call.arguments,
                Some(_) => "{}".to_owned(),
                None => {
                    broken.push(calls.len());
                    "{}".to_owned()
                }
            };
            let mut fields = Map::new();
            fields.insert("id".to_owned(), Value::from(call.id));
            fields.insert("type".to_owned(), Value::from("function"));
            fields.insert(
                "function".to_owned(),
                json!({"name": call.name, "arguments": arguments}),
            );
            fields.extend(call.extra);
            calls.push(Value::Object(fields));
        }
        let rest = self.tagged.rest();
        if !rest.is_empty() {
            self.content.get_or_insert_default().push_str(&rest);
        }
        let mut thinking = std::mem::take(&mut self.tagged).end();
        if self.thinking.is_none() && thinking.is_empty() {
            let text = self.content.as_deref().unwrap_or_default();
            if let Some((before, answer)) = split_closed(text, !calls.is_empty()) {
                thinking = before.to_owned();
                self.content = Some(answer.to_owned());
            }
        }
        if !thinking.trim().is_empty() {
            let own = self.thinking.get_or_insert_with(|| (THINKING[0], String::new()));
            own.1.push_str(&thinking);
        }
        let mut message = Map::new();
        message.insert("role".to_owned(), Value::from("assistant"));
        let content = self.content.take().filter(|text| !text.is_empty() || calls.is_empty());
        message.insert("content".to_owned(), content.map_or(Value::Null, Value::from));
        if let Some((name, thinking)) = self.thinking.take() {
            message.insert(name.to_owned(), Value::from(thinking));
        }
        if !self.details.is_empty() {
            message.insert(
                "reasoning_details".to_owned(),
                Value::Array(std::mem::take(&mut self.details)),
            );
        }
        if !self.refusal.is_empty() {
            message.insert("refusal".to_owned(), Value::from(self.refusal.as_str()));
        }
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        (message, broken)
    }
}

impl Frames for Chat {
    fn take(&mut self, frame: &str, deltas: &mut Deltas) -> Result<bool, Trouble> {
        if frame.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(true);
        }
        let chunk = parse(frame)?;
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Trouble::Reported(frame.to_owned()));
        }
        let choice = chunk.get("choices").and_then(|choices| choices.get(0));
        if let Some(choice) = choice {
            self.choice(choice, frame, deltas)?;
        }
        let usage = [Some(&chunk), choice, chunk.get("x_groq")]
            .into_iter()
            .find_map(|place| place?.get("usage").filter(|usage| usage.is_object()));
        if let Some(usage) = usage {
            self.usage.chat(usage);
            self.told.tell(self.usage.billed(), deltas);
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
        let stop = match self.stop.take() {
            Some(stop) => stop,
            None if self.is_done => Stop::Finished,
            None => return None,
        };
        let stop = match stop {
            Stop::Finished if !self.refusal.is_empty() => declined("refusal", Some(&self.refusal)),
            stop => stop,
        };
        let (message, broken) = self.message(&stop);
        Some(Whole {
            list: vec![Value::Object(message)],
            broken,
            stop: Some(stop),
        })
    }
}
