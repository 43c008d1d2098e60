//! OpenAI Responses.

use super::chat::{CREATED, INTERNAL, OVERLOADED, TOO_LONG};
use super::{Dialect, Envelope, Frame, UNSEEN, Wire};
use crate::server::fault::Trouble;
use crate::server::script::{Reply, Said, Stop, fragments};
use crate::server::view::{Message, Part, Speaker, View, arguments, list, string, texts};
use serde_json::{Value, json};

pub(super) fn view(body: &Value) -> View {
    let mut system: Vec<String> = body["instructions"].as_str().map(str::to_owned).into_iter().collect();
    let items = list(&body["input"]);
    let of_system = |item: &&Value| matches!(item["role"].as_str(), Some("system" | "developer"));
    system.extend(items.iter().filter(of_system).map(|item| texts(&item["content"])));
    let messages = match &body["input"] {
        Value::String(text) => vec![Message {
            speaker: Speaker::User,
            parts: vec![Part::Text(text.clone())],
        }],
        _ => items.iter().map(message).collect(),
    };
    View {
        model: string(body, "model"),
        streams: body["stream"] == true,
        max_output: body["max_output_tokens"].as_u64(),
        system,
        tools: list(&body["tools"]).iter().map(|tool| string(tool, "name")).collect(),
        messages,
    }
}

fn message(item: &Value) -> Message {
    let (speaker, parts) = match item["type"].as_str() {
        Some("function_call") => {
            let call = Part::Call {
                id: string(item, "call_id"),
                tool: string(item, "name"),
                parameters: arguments(&item["arguments"]),
                signature: None,
            };
            (Speaker::Assistant, vec![call])
        }
        Some("function_call_output") => {
            let result = Part::Result {
                call: string(item, "call_id"),
                output: texts(&item["output"]),
                failed: false,
            };
            (Speaker::User, vec![result])
        }
        Some("reasoning") => {
            let thinking = match item["encrypted_content"].as_str() {
                Some(sealed) => Part::Redacted(sealed.to_owned()),
                None => Part::Thinking {
                    text: texts(&item["summary"]),
                    signature: None,
                },
            };
            (Speaker::Assistant, vec![thinking])
        }
        Some("message") | None if item["role"].is_string() => {
            let speaker = match item["role"].as_str() {
                Some("assistant") => Speaker::Assistant,
                Some("system" | "developer") => Speaker::System,
                _ => Speaker::User,
            };
            let parts = match &item["content"] {
                Value::String(text) => vec![Part::Text(text.clone())],
                content => list(content).iter().map(part).collect(),
            };
            (speaker, parts)
        }
        _ => (Speaker::User, vec![Part::Other(item.clone())]),
    };
    Message { speaker, parts }
}

fn part(block: &Value) -> Part {
    match block["text"].as_str().or(block["refusal"].as_str()) {
        Some(text) => Part::Text(text.to_owned()),
        None => Part::Other(block.clone()),
    }
}

pub(super) fn frames(reply: &Reply, envelope: &Envelope) -> Vec<Frame> {
    let mut stream = Stream {
        plain: envelope.dialect == Dialect::LlamaServer,
        frames: Vec::new(),
    };
    let begun = response(envelope, "in_progress", Vec::new());
    stream.event("response.created", json!({ "response": begun }));
    stream.event("response.in_progress", json!({ "response": begun }));
    for (output, (index, said)) in items(reply, envelope).into_iter().enumerate() {
        stream.item(output, index, said, reply, envelope);
    }
    let (event, last) = ending(reply, envelope);
    stream.event(event, json!({ "response": last }));
    stream.frames
}

pub(super) fn whole(reply: &Reply, envelope: &Envelope) -> Value {
    ending(reply, envelope).1
}

fn ending(reply: &Reply, envelope: &Envelope) -> (&'static str, Value) {
    let output = items(reply, envelope);
    let output = output
        .into_iter()
        .map(|(index, said)| item(said, index, reply, envelope))
        .collect();
    let cut = matches!(reply.stop, Stop::Length | Stop::WindowFull);
    let (event, status) = match cut {
        true => ("response.incomplete", "incomplete"),
        false => ("response.completed", "completed"),
    };
    let mut last = response(envelope, status, output);
    if cut {
        last["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    }
    last["usage"] = usage(envelope);
    (event, last)
}

/// The parts of the reply that are items, with their indices.
fn items<'a>(reply: &'a Reply, envelope: &Envelope) -> Vec<(usize, &'a Said)> {
    let shown = |said: &Said| match said {
        Said::Redacted => envelope.wants_sealed,
        Said::Own(_) => false,
        _ => true,
    };
    reply.parts.iter().enumerate().filter(|(_, said)| shown(said)).collect()
}

/// A complete item, which is also the form in which the client must return it.
pub(in crate::server) fn item(said: &Said, index: usize, reply: &Reply, envelope: &Envelope) -> Value {
    match said {
        Said::Text(text) => json!({
            "id": item_id(said, index, envelope), "type": "message", "status": "completed",
            "content": [content(text, reply)], "role": "assistant",
        }),
        Said::Thinking(_) | Said::Redacted => {
            let summary = match said {
                Said::Thinking(text) => json!([{ "type": "summary_text", "text": text }]),
                _ => json!([]),
            };
            let mut item = json!({ "id": item_id(said, index, envelope), "type": "reasoning", "summary": summary });
            if envelope.wants_sealed {
                item["encrypted_content"] = envelope.sign(index, UNSEEN).into();
            }
            item
        }
        Said::Call { tool, arguments, .. } => json!({
            "id": item_id(said, index, envelope), "type": "function_call", "status": "completed",
            "arguments": arguments, "call_id": envelope.call_id(Wire::Responses, index, said), "name": tool,
        }),
        // Not an item.
        Said::Own(_) => Value::Null,
    }
}

fn content(text: &str, reply: &Reply) -> Value {
    match reply.stop {
        Stop::Refusal => json!({ "type": "refusal", "refusal": text }),
        _ => json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": text }),
    }
}

fn item_id(said: &Said, index: usize, envelope: &Envelope) -> String {
    let prefix = match said {
        Said::Text(_) => "msg_",
        Said::Thinking(_) | Said::Redacted => "rs_",
        Said::Call { .. } | Said::Own(_) => "fc_",
    };
    envelope.id(prefix, index)
}

struct Stream {
    /// Omits sequence numbers and some events, like llama.cpp's server.
    plain: bool,
    frames: Vec<Frame>,
}

impl Stream {
    fn event(&mut self, name: &'static str, fields: Value) {
        let mut data = json!({ "type": name });
        if !self.plain {
            data["sequence_number"] = self.frames.len().into();
        }
        for (key, value) in fields.as_object().into_iter().flatten() {
            if !(self.plain && key == "output_index") {
                data[key] = value.clone();
            }
        }
        self.frames.push(Frame::named(name, &data));
    }

    fn item(&mut self, output: usize, index: usize, said: &Said, reply: &Reply, envelope: &Envelope) {
        let id = item_id(said, index, envelope);
        let done = item(said, index, reply, envelope);
        let mut opened = done.clone();
        match said {
            Said::Text(_) => {
                opened["status"] = "in_progress".into();
                opened["content"] = json!([]);
            }
            Said::Thinking(_) | Said::Redacted => opened["summary"] = json!([]),
            Said::Own(_) => {}
            Said::Call { .. } => {
                opened["status"] = "in_progress".into();
                opened["arguments"] = "".into();
            }
        }
        self.event(
            "response.output_item.added",
            json!({ "output_index": output, "item": opened }),
        );
        match said {
            Said::Text(text) => self.text(output, &id, text, reply),
            Said::Thinking(text) => self.summary(output, &id, text, reply.fragment),
            Said::Redacted | Said::Own(_) => {}
            Said::Call { arguments, .. } => {
                let at = json!({ "item_id": id, "output_index": output });
                for piece in fragments(arguments, reply.fragment) {
                    self.event(
                        "response.function_call_arguments.delta",
                        with(&at, json!({ "delta": piece })),
                    );
                }
                if !self.plain {
                    self.event(
                        "response.function_call_arguments.done",
                        with(&at, json!({ "arguments": arguments })),
                    );
                }
            }
        }
        self.event(
            "response.output_item.done",
            json!({ "output_index": output, "item": done }),
        );
    }

    fn text(&mut self, output: usize, id: &str, text: &str, reply: &Reply) {
        let at = json!({ "item_id": id, "output_index": output, "content_index": 0 });
        self.event(
            "response.content_part.added",
            with(&at, json!({ "part": content("", reply) })),
        );
        if reply.stop == Stop::Refusal {
            for piece in fragments(text, reply.fragment) {
                self.event("response.refusal.delta", with(&at, json!({ "delta": piece })));
            }
            self.event("response.refusal.done", with(&at, json!({ "refusal": text })));
        } else {
            for piece in fragments(text, reply.fragment) {
                self.event(
                    "response.output_text.delta",
                    with(&at, json!({ "delta": piece, "logprobs": [] })),
                );
            }
            self.event(
                "response.output_text.done",
                with(&at, json!({ "text": text, "logprobs": [] })),
            );
        }
        self.event(
            "response.content_part.done",
            with(&at, json!({ "part": content(text, reply) })),
        );
    }

    fn summary(&mut self, output: usize, id: &str, text: &str, bytes: usize) {
        let at = json!({ "item_id": id, "output_index": output, "summary_index": 0 });
        let part = |text: &str| json!({ "part": { "type": "summary_text", "text": text } });
        self.event("response.reasoning_summary_part.added", with(&at, part("")));
        for piece in fragments(text, bytes) {
            self.event(
                "response.reasoning_summary_text.delta",
                with(&at, json!({ "delta": piece })),
            );
        }
        self.event(
            "response.reasoning_summary_text.done",
            with(&at, json!({ "text": text })),
        );
        self.event("response.reasoning_summary_part.done", with(&at, part(text)));
    }
}

fn with(at: &Value, more: Value) -> Value {
    let mut all = at.clone();
    for (key, value) in more.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    all
}

fn response(envelope: &Envelope, status: &str, output: Vec<Value>) -> Value {
    json!({
        "id": envelope.id("resp_", 0), "object": "response", "created_at": CREATED, "status": status,
        "background": false, "error": null, "incomplete_details": null, "instructions": null,
        "max_output_tokens": null, "model": envelope.model, "output": output, "parallel_tool_calls": true,
        "previous_response_id": null, "reasoning": { "effort": "medium", "summary": null }, "service_tier": "auto",
        "store": false, "temperature": 1.0, "text": { "format": { "type": "text" } }, "tool_choice": "auto",
        "tools": [], "top_p": 1.0, "truncation": "disabled", "usage": null, "user": null, "metadata": {},
    })
}

fn usage(envelope: &Envelope) -> Value {
    let usage = envelope.usage;
    let mut input = json!({ "cached_tokens": usage.cache_read });
    if usage.cache_write() > 0 {
        input["cache_write_tokens"] = usage.cache_write().into();
    }
    json!({
        "input_tokens": usage.prompt(), "input_tokens_details": input,
        "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": usage.prompt() + usage.output,
    })
}

pub(super) fn trouble(trouble: Trouble, bare: bool, envelope: &Envelope, before: usize) -> Frame {
    let (code, message) = match trouble {
        Trouble::Overloaded => ("server_is_overloaded", OVERLOADED),
        Trouble::Internal => ("server_error", INTERNAL),
        Trouble::RateLimited => ("rate_limit_exceeded", "Rate limit reached. Please try again in 20s."),
        Trouble::TooLong => ("context_length_exceeded", TOO_LONG),
    };
    if bare {
        let error = json!({
            "type": "error", "sequence_number": before, "code": code, "message": message, "param": null,
        });
        return Frame::named("error", &error);
    }
    let mut failed = response(envelope, "failed", Vec::new());
    failed["error"] = json!({ "code": code, "message": message });
    let failed = json!({ "type": "response.failed", "sequence_number": before, "response": failed });
    Frame::named("response.failed", &failed)
}
