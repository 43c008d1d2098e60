//! Anthropic's events: blocks that start, grow and stop.

use super::{
    Deltas, Frames, Trouble, UsageReporter, Whole, append, is_cut_before, note, parameters, parse, reason, reason_in,
    str,
};
use crate::usage;
use codelet_agent::model::{Billed, Delta, Stop};
use serde_json::{Map, Value, json};

#[derive(Default)]
pub(crate) struct Anthropic {
    blocks: Vec<Block>,
    usage: usage::AnthropicUsage,
    told: UsageReporter,
    stop: Option<Stop>,
}

struct Block {
    index: u64,
    fields: Map<String, Value>,
    /// The parameters of a call received so far.
    input: String,
}

impl Anthropic {
    fn start(&mut self, event: &Value, deltas: &mut Deltas) {
        let Some(Value::Object(fields)) = event.get("content_block") else {
            return;
        };
        match (str_of(fields, "type"), str_of(fields, "name")) {
            (Some("tool_use"), Some(tool)) => {
                deltas.push(Delta::Call { tool: tool.to_owned() });
            }
            (Some("text"), _) => say(Delta::Text, str_of(fields, "text"), deltas),
            (Some("thinking"), _) => say(Delta::Thinking, str_of(fields, "thinking"), deltas),
            _ => {}
        }
        self.blocks.push(Block {
            index: index(event),
            fields: fields.clone(),
            input: String::new(),
        });
    }

    fn grow(&mut self, event: &Value, deltas: &mut Deltas) {
        let Some(delta) = event.get("delta") else { return };
        let index = index(event);
        let kind = str(delta, "type").unwrap_or_default();
        if !self.blocks.iter().any(|block| block.index == index) {
            // Some servers omit the start of a block.
            let fields = match kind {
                "text_delta" => json!({"type": "text", "text": ""}),
                "thinking_delta" => json!({"type": "thinking", "thinking": ""}),
                _ => return,
            };
            self.start(&json!({"index": index, "content_block": fields}), deltas);
        }
        let Some(block) = self.blocks.iter_mut().rfind(|block| block.index == index) else {
            return;
        };
        match kind {
            "text_delta" => {
                let more = str(delta, "text");
                append(&mut block.fields, "text", more.unwrap_or_default());
                say(Delta::Text, more, deltas);
            }
            "thinking_delta" => {
                let more = str(delta, "thinking");
                append(&mut block.fields, "thinking", more.unwrap_or_default());
                say(Delta::Thinking, more, deltas);
            }
            "signature_delta" => append(
                &mut block.fields,
                "signature",
                str(delta, "signature").unwrap_or_default(),
            ),
            "input_json_delta" => block.input.push_str(str(delta, "partial_json").unwrap_or_default()),
            "citations_delta" => {
                if let Some(citation) = delta.get("citation") {
                    match block.fields.get_mut("citations") {
                        Some(Value::Array(citations)) => citations.push(citation.clone()),
                        _ => drop(block.fields.insert("citations".to_owned(), json!([citation]))),
                    }
                }
            }
            _ => {}
        }
    }

    fn usage(&mut self, usage: Option<&Value>, deltas: &mut Deltas) {
        if let Some(usage) = usage.filter(|usage| usage.is_object()) {
            self.usage.update(usage);
            self.told.tell(self.usage.billed(), deltas);
        }
    }
}

impl Frames for Anthropic {
    fn take(&mut self, frame: &str, deltas: &mut Deltas) -> Result<bool, Trouble> {
        let event = parse(frame)?;
        match str(&event, "type").unwrap_or_default() {
            "message_start" => self.usage(event.get("message").and_then(|message| message.get("usage")), deltas),
            "content_block_start" => self.start(&event, deltas),
            "content_block_delta" => self.grow(&event, deltas),
            "message_delta" => {
                self.usage(event.get("usage"), deltas);
                if let Some(delta) = event.get("delta")
                    && let Some(reason) = reason_in(delta, "stop_reason")
                {
                    note(&mut self.stop, stop(&reason, delta)?);
                }
            }
            "message_stop" => {
                self.stop.get_or_insert(Stop::Finished);
                return Ok(true);
            }
            "error" => return Err(Trouble::Reported(frame.to_owned())),
            // Some gateways report an error without an event type.
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

    fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    fn finish(&mut self) -> Option<Whole> {
        let stop = self.stop.take()?;
        let mut broken = Vec::new();
        let mut calls = 0;
        let mut content = Vec::new();
        let mut blocks = std::mem::take(&mut self.blocks);
        if matches!(stop, Stop::OutputLimit | Stop::WindowFull) {
            // Incomplete thinking has no signature and would be rejected.
            let is_half = |block: &mut Block| {
                let field = |name| str_of(&block.fields, name).unwrap_or_default();
                field("type") == "thinking" && field("signature").is_empty()
            };
            while blocks.pop_if(is_half).is_some() {}
        }
        let last = blocks.len().wrapping_sub(1);
        for (at, mut block) in blocks.into_iter().enumerate() {
            let kind = str_of(&block.fields, "type").unwrap_or_default().to_owned();
            if kind == "text" && str_of(&block.fields, "text").unwrap_or_default().trim().is_empty() {
                // The vendor rejects an empty text.
                continue;
            }
            if kind.ends_with("tool_use") {
                let own = block.fields.get("input").and_then(Value::as_object);
                let is_cut = at == last && own.is_none_or(Map::is_empty) && is_cut_before(&block.input, &stop);
                let input = match parameters(&block.input).filter(|_| !is_cut) {
                    Some(_) if block.input.is_empty() && own.is_some() => None,
                    Some(input) => Some(input),
                    None => {
                        broken.extend((kind == "tool_use").then_some(calls));
                        Some(Map::new())
                    }
                };
                if let Some(input) = input {
                    block.fields.insert("input".to_owned(), Value::Object(input));
                }
                calls += usize::from(kind == "tool_use");
            }
            content.push(Value::Object(block.fields));
        }
        Some(Whole {
            list: vec![json!({"role": "assistant", "content": content})],
            broken,
            stop: Some(stop),
        })
    }
}

fn index(event: &Value) -> u64 {
    event.get("index").and_then(Value::as_u64).unwrap_or(0)
}

fn str_of<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

fn say(kind: fn(String) -> Delta, text: Option<&str>, deltas: &mut Deltas) {
    deltas.extend(text.filter(|text| !text.is_empty()).map(|text| kind(text.to_owned())));
}

fn stop(reason: &str, delta: &Value) -> Result<Stop, Trouble> {
    if reason == "pause_turn" {
        return Ok(Stop::Paused);
    }
    let details = delta.get("stop_details");
    reason::stop(reason, details.and_then(|details| str(details, "explanation")))
}
