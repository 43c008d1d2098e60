//! The request rules of OpenAI Responses.

use super::openai::{call, tool};
use super::{Broken, Sent, twice, word};
use crate::server::script::{Reply, Said};
use crate::server::view::{list, texts};
use crate::server::wire::{Envelope, UNSEEN, is_sealed, responses_item};
use serde_json::Value;

pub(super) fn note(sent: &mut Sent, reply: &Reply, envelope: &Envelope) {
    let mut thinking: Option<String> = None;
    for (index, said) in reply.parts.iter().enumerate() {
        if matches!(said, Said::Redacted) && !envelope.wants_sealed {
            continue;
        }
        let id = word(&responses_item(said, index, reply, envelope), "id").to_owned();
        // The item directly after a reasoning item belongs to it.
        if let Some(before) = thinking.take() {
            sent.needs.insert(id.clone(), before);
        }
        if matches!(said, Said::Thinking(_) | Said::Redacted) {
            thinking = Some(id);
        }
    }
}

pub(super) fn check(body: &Value, sent: &Sent, broken: &mut Broken) {
    broken.unless(!word(body, "model").is_empty(), || {
        "Missing required parameter: 'model'.".to_owned()
    });
    for (index, definition) in list(&body["tools"]).iter().enumerate() {
        if definition["type"] == "function" {
            tool(&format!("tools[{index}]"), definition, broken);
        }
    }
    if let Value::String(text) = &body["input"] {
        return broken.unless(!text.trim().is_empty(), || {
            "Missing required parameter: 'input'.".to_owned()
        });
    }
    let items = list(&body["input"]);
    let Some(last) = items.last() else {
        return broken.add("Missing required parameter: 'input'.");
    };
    broken.unless(last["role"] != "assistant" && last["type"] != "reasoning", || {
        "Cannot continue from an assistant message: the last item must be the user's or a tool's output.".to_owned()
    });
    for (index, item) in items.iter().enumerate() {
        match item["type"].as_str() {
            Some("function_call") => made(index, item, items, sent, broken),
            Some("function_call_output") => {
                let id = word(item, "call_id");
                let asked = items[..index].iter().any(|call| is_call(call, id));
                broken.unless(asked, || {
                    format!("No tool call found for function call output with call_id {id}.")
                });
            }
            Some("reasoning") => reasoning(index, item, items, body["store"] == false, broken),
            Some("message") | None => message(index, item, items, sent, broken),
            Some(_) => {}
        }
    }
    for (kind, rule) in [("function_call", "call"), ("function_call_output", "output")] {
        let ids = items
            .iter()
            .filter(|item| item["type"] == kind)
            .map(|item| word(item, "call_id"));
        if let Some(id) = twice(ids) {
            broken.add(format!("Duplicate function {rule} with call_id {id}."));
        }
    }
}

fn is_call(item: &Value, id: &str) -> bool {
    item["type"] == "function_call" && item["call_id"] == id
}

fn made(index: usize, item: &Value, items: &[Value], sent: &Sent, broken: &mut Broken) {
    let id = word(item, "call_id");
    let answered = items[index..]
        .iter()
        .any(|other| other["type"] == "function_call_output" && other["call_id"] == id);
    broken.unless(answered, || format!("No tool output found for function call {id}."));
    broken.unless((1..=64).contains(&id.chars().count()), || {
        format!("Invalid 'input[{index}].call_id': expected a string with a length from 1 to 64.")
    });
    call(&format!("input[{index}]"), item, broken);
    prefixed(index, item, "fc", broken);
    after_reasoning(item, items, sent, "function_call", broken);
}

fn message(index: usize, item: &Value, items: &[Value], sent: &Sent, broken: &mut Broken) {
    let role = word(item, "role");
    broken.unless(matches!(role, "system" | "developer" | "user" | "assistant"), || {
        format!("Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.")
    });
    let blocks = list(&item["content"]);
    for (at, block) in blocks.iter().enumerate() {
        let kind = word(block, "type");
        let fits = match role {
            "assistant" => matches!(kind, "output_text" | "refusal"),
            _ => matches!(kind, "input_text" | "input_image" | "input_file"),
        };
        broken.unless(fits, || {
            let wanted = match role {
                "assistant" => "'output_text' and 'refusal'",
                _ => "'input_text', 'input_image', and 'input_file'",
            };
            format!("Invalid value: '{kind}' at 'input[{index}].content[{at}]'. Supported values are: {wanted}.")
        });
    }
    let silent = texts(&item["content"]).trim().is_empty() && blocks.iter().all(|block| block["text"].is_string());
    broken.unless(!silent, || format!("Invalid 'input[{index}].content': empty."));
    if role == "assistant" {
        prefixed(index, item, "msg", broken);
        after_reasoning(item, items, sent, "message", broken);
    }
}

/// Reasoning must be returned encrypted if nothing is stored, and together with the item that it led to.
fn reasoning(index: usize, item: &Value, items: &[Value], unstored: bool, broken: &mut Broken) {
    let id = word(item, "id");
    match item["encrypted_content"].as_str() {
        Some(sealed) => broken.unless(is_sealed(sealed, UNSEEN), || {
            format!("The encrypted content for item {id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.")
        }),
        None => broken.unless(!unstored, || {
            format!("Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.")
        }),
    }
    broken.unless(item["summary"].is_array(), || {
        format!("Missing required parameter: 'input[{index}].summary'.")
    });
    prefixed(index, item, "rs", broken);
    let followed = items.get(index + 1).is_some_and(|next| {
        next["role"] == "assistant" || matches!(next["type"].as_str(), Some("function_call" | "reasoning"))
    });
    broken.unless(followed, || {
        format!("Item '{id}' of type 'reasoning' was provided without its required following item.")
    });
}

fn after_reasoning(item: &Value, items: &[Value], sent: &Sent, kind: &str, broken: &mut Broken) {
    let id = word(item, "id");
    if let Some(needed) = sent.needs.get(id) {
        let present = items
            .iter()
            .any(|other| other["type"] == "reasoning" && other["id"] == needed.as_str());
        broken.unless(present, || {
            format!("Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{needed}'.")
        });
    }
}

/// An id must be one of the vendor's, or absent.
fn prefixed(index: usize, item: &Value, prefix: &str, broken: &mut Broken) {
    if let Some(id) = item["id"].as_str() {
        broken.unless(id.starts_with(prefix), || {
            format!("Invalid 'input[{index}].id': '{id}'. Expected an ID that begins with '{prefix}'.")
        });
    }
}
