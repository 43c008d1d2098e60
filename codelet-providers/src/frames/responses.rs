//! OpenAI's response events: items that are added, grow and are done.

use super::{
    Deltas, Frames, Trouble, UsageReporter, Whole, append, declined, is_cut_before, parameters, parse, reason,
    reason_in, str,
};
use crate::usage::Inclusive;
use codelet_agent::model::{Billed, Delta, Stop};
use serde_json::{Map, Value, json};

#[derive(Default)]
pub(crate) struct Responses {
    items: Vec<Item>,
    usage: Inclusive,
    told: UsageReporter,
    stop: Option<Stop>,
}

struct Item {
    index: Option<u64>,
    fields: Map<String, Value>,
    is_done: bool,
}

impl Item {
    fn is(&self, kind: &str) -> bool {
        self.fields.get("type").and_then(Value::as_str) == Some(kind)
    }
}

impl Responses {
    fn added(&mut self, event: &Value, deltas: &mut Deltas) {
        let Some(Value::Object(fields)) = event.get("item") else {
            return;
        };
        let item = Item {
            index: index(event),
            fields: fields.clone(),
            is_done: false,
        };
        if item.is("function_call") || item.is("custom_tool_call") {
            let tool = fields.get("name").and_then(Value::as_str).unwrap_or_default();
            deltas.push(Delta::Call { tool: tool.to_owned() });
        }
        self.items.push(item);
    }

    fn done(&mut self, event: &Value, deltas: &mut Deltas) {
        let Some(Value::Object(fields)) = event.get("item") else {
            return;
        };
        let at = self.find(event).filter(|at| !self.items[*at].is_done);
        let at = at.unwrap_or_else(|| {
            self.added(event, deltas);
            self.items.len() - 1
        });
        self.items[at].fields = fields.clone();
        self.items[at].is_done = true;
    }

    /// Returns the index of the item that an event refers to: by its id, by its index, or the open one.
    fn find(&self, event: &Value) -> Option<usize> {
        let id = event.get("item_id").or_else(|| event.get("item")?.get("id"));
        let id = id.filter(|id| id.as_str().is_some_and(|id| !id.is_empty()));
        let place = index(event);
        let by_id = || {
            self.items
                .iter()
                .rposition(|item| id.is_some() && item.fields.get("id") == id)
        };
        let by_place = || {
            self.items
                .iter()
                .rposition(|item| place.is_some() && item.index == place)
        };
        let open = || {
            self.items
                .iter()
                .rposition(|item| !item.is_done)
                .filter(|_| id.is_none() && place.is_none())
        };
        by_id().or_else(by_place).or_else(open)
    }

    fn item(&mut self, event: &Value) -> Option<&mut Item> {
        let at = self.find(event)?;
        Some(&mut self.items[at]).filter(|item| !item.is_done)
    }

    /// Appends text to an unfinished item; kept in case it never finishes.
    fn words(&mut self, event: &Value, list: &str, kind: &str) {
        let more = str(event, "delta").unwrap_or_default();
        let place = event.get("content_index").or_else(|| event.get("summary_index"));
        let place = place.and_then(Value::as_u64).unwrap_or(0);
        let Some(item) = self.item(event) else { return };
        let parts = item.fields.entry(list).or_insert_with(|| json!([]));
        let Value::Array(parts) = parts else { return };
        // Indices increase one by one; for a server that skips some, one part is added.
        if place >= parts.len() as u64 {
            parts.push(match kind {
                "output_text" => json!({"type": kind, "text": "", "annotations": []}),
                kind => json!({"type": kind, "text": ""}),
            });
        }
        let at = (place as usize).min(parts.len() - 1);
        if let Some(Value::Object(part)) = parts.get_mut(at) {
            append(part, "text", more);
        }
    }

    /// Finishes with the final state of the response.
    fn end(&mut self, response: &Value, stop: Stop, deltas: &mut Deltas) {
        self.report(response, deltas);
        let output = response.get("output").and_then(Value::as_array);
        let output = output.filter(|output| output.len() > self.items.iter().filter(|item| item.is_done).count());
        for (index, item) in output.into_iter().flatten().enumerate() {
            let known = self.items.get(index).is_some_and(|item| item.is_done);
            if !known {
                let event = json!({"output_index": index, "item": item});
                self.done(&event, deltas);
            }
        }
        self.stop = Some(stop);
    }

    fn report(&mut self, response: &Value, deltas: &mut Deltas) {
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            self.usage.responses(usage);
            self.told.tell(self.usage.billed(), deltas);
        }
    }
}

/// Returns whether a finished response reports nothing but completion.
fn ended_well(response: &Value) -> bool {
    reason_in(response, "status").is_none_or(|status| status == "completed")
}

impl Frames for Responses {
    fn take(&mut self, frame: &str, deltas: &mut Deltas) -> Result<bool, Trouble> {
        if frame.trim() == "[DONE]" {
            return Ok(self.stop.is_some());
        }
        let event = parse(frame)?;
        let more = || str(&event, "delta").map(str::to_owned);
        let response = event.get("response").unwrap_or(&Value::Null);
        match str(&event, "type").unwrap_or_default() {
            "response.created" | "response.in_progress" => self.report(response, deltas),
            "response.output_item.added" => self.added(&event, deltas),
            "response.output_item.done" => self.done(&event, deltas),
            "response.output_text.delta" => {
                self.words(&event, "content", "output_text");
                deltas.extend(more().map(Delta::Text));
            }
            "response.refusal.delta" => deltas.extend(more().map(Delta::Text)),
            "response.reasoning_summary_text.delta" => {
                self.words(&event, "summary", "summary_text");
                deltas.extend(more().map(Delta::Thinking));
            }
            "response.reasoning_text.delta" => {
                self.words(&event, "content", "reasoning_text");
                deltas.extend(more().map(Delta::Thinking));
            }
            "response.function_call_arguments.delta" => {
                if let (Some(more), Some(item)) = (more(), self.item(&event)) {
                    append(&mut item.fields, "arguments", &more);
                }
            }
            // The response's own status counts, whatever the event is called.
            "response.completed" | "response.done" if ended_well(response) => {
                self.end(response, Stop::Finished, deltas);
                return Ok(true);
            }
            "response.completed" | "response.done" if str(response, "status") == Some("failed") => {
                self.report(response, deltas);
                return Err(Trouble::Reported(frame.to_owned()));
            }
            "response.completed" | "response.done" if str(response, "status") != Some("incomplete") => {
                let status = reason_in(response, "status").unwrap_or_default();
                let stop = reason::stop(&status, None)?;
                self.end(response, stop, deltas);
                return Ok(true);
            }
            "response.completed" | "response.done" | "response.incomplete" => {
                let details = response.get("incomplete_details");
                let reason = details
                    .and_then(|details| str(details, "reason"))
                    .unwrap_or("max_output_tokens");
                let stop = reason::stop(reason, None)?;
                self.end(response, stop, deltas);
                return Ok(true);
            }
            "response.failed" => {
                self.report(response, deltas);
                return Err(Trouble::Reported(frame.to_owned()));
            }
            "error" => return Err(Trouble::Reported(frame.to_owned())),
            "" if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(Trouble::Reported(frame.to_owned()));
            }
            _ => {}
        }
        Ok(false)
    }

    fn billed(&self) -> Billed {
        self.usage.billed()
    }

    fn finish(&mut self) -> Option<Whole> {
        let mut stop = self.stop.take()?;
        let mut items = std::mem::take(&mut self.items);
        items.sort_by_key(|item| item.index);
        let mut broken = Vec::new();
        let mut calls = 0;
        let mut list = Vec::new();
        let last = items.len().wrapping_sub(1);
        for (at, mut item) in items.into_iter().enumerate() {
            if item.is("function_call") {
                let arguments = item.fields.get("arguments").and_then(Value::as_str).unwrap_or_default();
                let is_cut = at == last && is_cut_before(arguments, &stop);
                let is_whole = !is_cut && parameters(arguments).is_some();
                if !is_whole {
                    broken.push(calls);
                }
                if !is_whole || !arguments.trim().starts_with('{') {
                    item.fields.insert("arguments".to_owned(), Value::from("{}"));
                }
                // A call that can be run has both an id and a name.
                if ["call_id", "name"]
                    .iter()
                    .all(|name| item.fields.get(*name).is_some_and(Value::is_string))
                {
                    calls += 1;
                } else {
                    broken.retain(|at| *at != calls);
                    continue;
                }
            } else if item.is("custom_tool_call") {
                calls += 1;
            } else if item.is("message") {
                if let (Some(words), Stop::Finished) = (refusal(&item.fields), &stop) {
                    stop = declined("refusal", Some(words));
                }
                if !item.is_done
                    && item
                        .fields
                        .get("content")
                        .and_then(Value::as_array)
                        .is_none_or(Vec::is_empty)
                {
                    continue;
                }
            } else if item.is("reasoning") && !item.is_done {
                // Incomplete thinking has no signature and would be rejected.
                continue;
            }
            list.push(Value::Object(item.fields));
        }
        Some(Whole {
            list,
            broken,
            stop: Some(stop),
        })
    }
}

fn index(event: &Value) -> Option<u64> {
    event.get("output_index").and_then(Value::as_u64)
}

/// Returns the model's refusal, if there is no other text.
fn refusal(message: &Map<String, Value>) -> Option<&str> {
    let parts = message.get("content")?.as_array()?;
    let is_refusal = |part: &&Value| part.get("type").is_some_and(|kind| kind == "refusal");
    parts.iter().all(|part| is_refusal(&part)).then_some(())?;
    str(parts.first()?, "refusal")
}
