//! Parses each vendor's stream, and writes its content back in the vendor's request format.

use crate::client::Answer;
use codelet_testkit::server::{Billed, Wire};
use serde_json::{Value, json};

/// The assembled content of a stream.
#[derive(Debug, Default, PartialEq)]
pub struct Heard {
    pub text: String,
    pub thinking: String,
    /// Signatures and encrypted thinking.
    pub seals: usize,
    /// Ids, tools and arguments as text.
    pub calls: Vec<(String, String, String)>,
    pub stop: String,
    pub usage: Billed,
    /// The assistant's part of the conversation, as it is sent back.
    pub back: Vec<Value>,
}

pub fn hear(wire: Wire, answer: &Answer) -> Heard {
    assert!(answer.complete);
    match wire {
        Wire::Anthropic => anthropic(answer),
        Wire::Chat => chat(answer),
        Wire::Responses => responses(answer),
        Wire::Gemini => gemini(answer),
    }
}

/// The entries to append after a reply: the reply, and an output for each of its calls.
pub fn step(wire: Wire, heard: &Heard, output: &str) -> Vec<Value> {
    let mut entries = heard.back.clone();
    let results = heard.calls.iter().map(|(id, tool, _)| match wire {
        Wire::Anthropic => json!({ "type": "tool_result", "tool_use_id": id, "content": output }),
        Wire::Chat => json!({ "role": "tool", "tool_call_id": id, "content": output }),
        Wire::Responses => json!({ "type": "function_call_output", "call_id": id, "output": output }),
        Wire::Gemini => json!({ "functionResponse": { "id": id, "name": tool, "response": { "output": output } } }),
    });
    let results: Vec<Value> = results.collect();
    match wire {
        Wire::Anthropic => entries.push(json!({ "role": "user", "content": results })),
        Wire::Gemini => entries.push(json!({ "role": "user", "parts": results })),
        Wire::Chat | Wire::Responses => entries.extend(results),
    }
    entries
}

/// The conversation of a request.
pub fn entries(wire: Wire, body: &mut Value) -> &mut Vec<Value> {
    let key = match wire {
        Wire::Anthropic | Wire::Chat => "messages",
        Wire::Responses => "input",
        Wire::Gemini => "contents",
    };
    body[key].as_array_mut().unwrap()
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn append(value: &mut Value, more: &Value) {
    *value = format!("{}{}", word(value), word(more)).into();
}

fn anthropic(answer: &Answer) -> Heard {
    let mut heard = Heard::default();
    let mut blocks: Vec<Value> = Vec::new();
    let mut arguments: Vec<String> = Vec::new();
    let mut ended = false;
    for event in answer.values() {
        assert!(!ended, "nothing comes behind message_stop");
        let index = number(&event, "/index") as usize;
        match event["type"].as_str().unwrap() {
            "message_start" => {
                let usage = &event["message"]["usage"];
                heard.usage = Billed {
                    fresh: number(usage, "/input_tokens"),
                    cache_read: number(usage, "/cache_read_input_tokens"),
                    write_5m: number(usage, "/cache_creation/ephemeral_5m_input_tokens"),
                    write_1h: number(usage, "/cache_creation/ephemeral_1h_input_tokens"),
                    ..Billed::default()
                };
                let writes = number(usage, "/cache_creation_input_tokens");
                assert_eq!(writes, heard.usage.cache_write());
            }
            "content_block_start" => {
                assert_eq!(index, blocks.len());
                blocks.push(event["content_block"].clone());
                arguments.push(String::new());
            }
            "content_block_delta" => {
                let (block, delta) = (&mut blocks[index], &event["delta"]);
                match delta["type"].as_str().unwrap() {
                    "text_delta" => append(&mut block["text"], &delta["text"]),
                    "thinking_delta" => append(&mut block["thinking"], &delta["thinking"]),
                    "signature_delta" => append(&mut block["signature"], &delta["signature"]),
                    "input_json_delta" => arguments[index].push_str(delta["partial_json"].as_str().unwrap()),
                    other => panic!("{other}"),
                }
            }
            "message_delta" => {
                heard.stop = word(&event["delta"]["stop_reason"]);
                heard.usage.output = number(&event, "/usage/output_tokens");
            }
            "message_stop" => ended = true,
            "content_block_stop" => assert_eq!(index + 1, blocks.len()),
            "ping" => {}
            other => panic!("{other}"),
        }
    }
    for (block, arguments) in blocks.iter_mut().zip(arguments) {
        match block["type"].as_str().unwrap() {
            "text" => heard.text.push_str(block["text"].as_str().unwrap()),
            "thinking" => {
                heard.thinking.push_str(block["thinking"].as_str().unwrap());
                heard.seals += usize::from(!word(&block["signature"]).is_empty());
            }
            "redacted_thinking" => heard.seals += 1,
            "tool_use" => {
                block["input"] = serde_json::from_str(&arguments).unwrap_or_else(|_| json!({}));
                heard.calls.push((word(&block["id"]), word(&block["name"]), arguments));
            }
            other => panic!("{other}"),
        }
    }
    heard.back = vec![json!({ "role": "assistant", "content": blocks })];
    heard
}

fn chat(answer: &Answer) -> Heard {
    let mut heard = Heard::default();
    assert_eq!(answer.events().last().unwrap().data, "[DONE]");
    for chunk in answer.values() {
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            assert_eq!(chunk["choices"], json!([]));
            let read = number(usage, "/prompt_tokens_details/cached_tokens");
            heard.usage = Billed {
                fresh: number(usage, "/prompt_tokens") - read,
                cache_read: read,
                output: number(usage, "/completion_tokens"),
                reasoning: number(usage, "/completion_tokens_details/reasoning_tokens"),
                ..Billed::default()
            };
            continue;
        }
        let choice = &chunk["choices"][0];
        heard.stop.push_str(&word(&choice["finish_reason"]));
        let delta = &choice["delta"];
        heard.text.push_str(&word(&delta["content"]));
        heard.thinking.push_str(&word(&delta["reasoning_content"]));
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = number(call, "/index") as usize;
            if index == heard.calls.len() {
                heard
                    .calls
                    .push((word(&call["id"]), word(&call["function"]["name"]), String::new()));
            }
            heard.calls[index].2.push_str(&word(&call["function"]["arguments"]));
        }
    }
    let calls = heard.calls.iter().map(|(id, tool, arguments)| {
        json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": arguments } })
    });
    let calls: Vec<Value> = calls.collect();
    let mut message = json!({ "role": "assistant", "content": heard.text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    heard.back = vec![message];
    heard
}

fn responses(answer: &Answer) -> Heard {
    let mut heard = Heard::default();
    let mut calls: Vec<(String, String, String)> = Vec::new();
    for (count, event) in answer.values().into_iter().enumerate() {
        assert_eq!(number(&event, "/sequence_number") as usize, count);
        match event["type"].as_str().unwrap() {
            "response.output_text.delta" => heard.text.push_str(&word(&event["delta"])),
            "response.reasoning_summary_text.delta" => heard.thinking.push_str(&word(&event["delta"])),
            "response.output_item.added" if event["item"]["type"] == "function_call" => {
                let item = &event["item"];
                calls.push((word(&item["call_id"]), word(&item["name"]), String::new()));
            }
            "response.function_call_arguments.delta" => {
                calls.last_mut().unwrap().2.push_str(&word(&event["delta"]));
            }
            "response.function_call_arguments.done" => {
                assert_eq!(calls.last().unwrap().2, word(&event["arguments"]));
            }
            "response.completed" | "response.incomplete" => {
                let response = &event["response"];
                let usage = &response["usage"];
                let read = number(usage, "/input_tokens_details/cached_tokens");
                heard.usage = Billed {
                    fresh: number(usage, "/input_tokens") - read,
                    cache_read: read,
                    output: number(usage, "/output_tokens"),
                    reasoning: number(usage, "/output_tokens_details/reasoning_tokens"),
                    ..Billed::default()
                };
                heard.stop = match response["incomplete_details"]["reason"].as_str() {
                    Some(reason) => reason.to_owned(),
                    None => word(&response["status"]),
                };
                heard.back = response["output"].as_array().unwrap().clone();
            }
            _ => {}
        }
    }
    heard.seals = heard
        .back
        .iter()
        .filter(|item| item["encrypted_content"].is_string())
        .count();
    heard.calls = calls;
    heard
}

fn gemini(answer: &Answer) -> Heard {
    let mut heard = Heard::default();
    let mut parts = Vec::new();
    for chunk in answer.values() {
        let candidate = &chunk["candidates"][0];
        heard.stop.push_str(&word(&candidate["finishReason"]));
        let usage = &chunk["usageMetadata"];
        let read = number(usage, "/cachedContentTokenCount");
        let reasoning = number(usage, "/thoughtsTokenCount");
        heard.usage = Billed {
            fresh: number(usage, "/promptTokenCount") - read,
            cache_read: read,
            output: number(usage, "/candidatesTokenCount") + reasoning,
            reasoning,
            ..Billed::default()
        };
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            heard.seals += usize::from(part["thoughtSignature"].is_string());
            match (part["text"].as_str(), &part["functionCall"]) {
                (Some(text), _) if part["thought"] == true => heard.thinking.push_str(text),
                (Some(""), _) => continue,
                (Some(text), _) => heard.text.push_str(text),
                (None, call) => {
                    heard
                        .calls
                        .push((word(&call["id"]), word(&call["name"]), call["args"].to_string()));
                }
            }
            parts.push(part.clone());
        }
    }
    heard.back = vec![json!({ "role": "model", "parts": parts })];
    heard
}
