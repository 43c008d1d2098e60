//! The request rules of Gemini.

use super::{Broken, Sent, is_name, word};
use crate::server::script::{Reply, Said};
use crate::server::view::list;
use crate::server::wire::{Envelope, UNSEEN, either, gemini_seal, is_sealed};
use serde_json::{Value, json};

/// The placeholder that the vendor accepts for a missing signature.
const UNSEALED: &str = "skip_thought_signature_validator";

pub(super) fn note(sent: &mut Sent, reply: &Reply, envelope: &Envelope) {
    let Some(seal) = gemini_seal(reply, envelope) else {
        return;
    };
    // Only the first call of a reply carries the signature.
    let first = reply.parts.iter().find_map(|said| match said {
        Said::Call { tool, arguments, .. } => Some((tool, serde_json::from_str::<Value>(arguments).ok()?)),
        _ => None,
    });
    if let Some((tool, arguments)) = first {
        sent.seals.insert(key(tool, &arguments), seal);
    }
}

fn key(tool: &str, arguments: &Value) -> String {
    format!("{tool} {arguments}")
}

pub(super) fn check(body: &Value, model: &str, sent: &Sent, broken: &mut Broken) {
    let contents = list(&body["contents"]);
    if contents.is_empty() {
        return broken.add("* GenerateContentRequest.contents: contents is not specified");
    }
    tools(body, broken);
    let turn = turn_under_way(contents);
    for (index, content) in contents.iter().enumerate() {
        let role = word(content, "role");
        broken.unless(matches!(role, "user" | "model"), || {
            "Please use a valid role: user, model.".to_owned()
        });
        let parts = list(&content["parts"]);
        broken.unless(!parts.is_empty(), || {
            format!("* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.")
        });
        for (at, part) in parts.iter().enumerate() {
            one(index, at, part, broken);
        }
        answers(index, contents, broken);
        if model.starts_with("gemini-3") && index >= turn {
            sealed(index, parts, sent, broken);
        }
    }
    for pair in contents.windows(2) {
        broken.unless(pair[0]["role"] != pair[1]["role"], || {
            "Please ensure that multiturn requests alternate between user and model.".to_owned()
        });
    }
    broken.unless(contents[0]["role"] != "model", || {
        "Please ensure that multiturn requests start with a user role.".to_owned()
    });
    broken.unless(contents[contents.len() - 1]["role"] != "model", || {
        "Please ensure that multiturn requests end with a user role or a function response.".to_owned()
    });
}

fn tools(body: &Value, broken: &mut Broken) {
    for tool in list(&body["tools"]) {
        for declared in list(either(tool, "functionDeclarations", "function_declarations")) {
            let name = word(declared, "name");
            broken.unless(is_function(name), || {
                format!("Invalid function name '{name}'. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.")
            });
            let parameters = &declared["parameters"];
            let kind = word(parameters, "type");
            broken.unless(parameters.is_null() || kind.eq_ignore_ascii_case("object"), || {
                format!("* GenerateContentRequest.tools[0].function_declarations[{name}].parameters: schema should be of type OBJECT")
            });
        }
    }
}

fn is_function(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && is_name(&name.replace(['.', ':'], "_"), 64)
}

fn one(index: usize, at: usize, part: &Value, broken: &mut Broken) {
    let seal = either(part, "thoughtSignature", "thought_signature");
    if let Some(seal) = seal.as_str() {
        broken.unless(seal == UNSEALED || is_sealed(seal, UNSEEN), || {
            "Corrupted thought signature.".to_owned()
        });
    }
    let call = either(part, "functionCall", "function_call");
    if call.is_object() {
        let args = &call["args"];
        broken.unless(args.is_object() || args.is_null(), || {
            format!("Invalid value at 'contents[{index}].parts[{at}].function_call.args' (type.googleapis.com/google.protobuf.Struct)")
        });
        broken.unless(is_function(word(call, "name")), || {
            format!("* GenerateContentRequest.contents[{index}].parts[{at}].function_call.name: Name cannot be empty.")
        });
    }
    let response = either(part, "functionResponse", "function_response");
    if response.is_object() {
        broken.unless(response["response"].is_object(), || {
            format!("Invalid value at 'contents[{index}].parts[{at}].function_response.response' (type.googleapis.com/google.protobuf.Struct)")
        });
    }
    if let Some(text) = part["text"].as_str() {
        broken.unless(!text.trim().is_empty() || seal.is_string(), || {
            format!("* GenerateContentRequest.contents[{index}].parts[{at}].data: required oneof field 'data' must have one initialized field")
        });
    }
}

/// The function responses of a content match the calls of the previous one in name and number.
fn answers(index: usize, contents: &[Value], broken: &mut Broken) {
    let calls = named(&contents[index], "functionCall", "function_call");
    let next = contents
        .get(index + 1)
        .map(|next| named(next, "functionResponse", "function_response"));
    broken.unless(calls.is_empty() || next.as_ref().is_some_and(|next| next.len() == calls.len()), || {
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.".to_owned()
    });
    if let Some(next) = next.filter(|_| !calls.is_empty()) {
        let (mut asked, mut answered) = (calls, next);
        asked.sort_unstable();
        answered.sort_unstable();
        broken.unless(asked == answered, || {
            "Please ensure that function response parts have the names of the function call parts of the function call turn.".to_owned()
        });
    }
    let here = named(&contents[index], "functionResponse", "function_response");
    let asked = index
        .checked_sub(1)
        .map(|before| named(&contents[before], "functionCall", "function_call"));
    broken.unless(here.is_empty() || asked.is_some_and(|asked| !asked.is_empty()), || {
        "Please ensure that function response turn comes immediately after a function call turn.".to_owned()
    });
}

fn named<'a>(content: &'a Value, camel: &str, snake: &str) -> Vec<&'a str> {
    let parts = list(&content["parts"]).iter().map(|part| either(part, camel, snake));
    parts
        .filter(|found| found.is_object())
        .map(|found| word(found, "name"))
        .collect()
}

/// The start of the current turn: the newest content with text of the user.
fn turn_under_way(contents: &[Value]) -> usize {
    let speaks = |content: &Value| {
        content["role"] == "user" && list(&content["parts"]).iter().any(|part| part["text"].is_string())
    };
    contents.iter().rposition(speaks).unwrap_or(0)
}

/// A call sent with a signature must be returned with it throughout the current turn.
fn sealed(index: usize, parts: &[Value], sent: &Sent, broken: &mut Broken) {
    for part in parts {
        let call = either(part, "functionCall", "function_call");
        if !call.is_object() {
            continue;
        }
        let name = word(call, "name");
        let arguments = call.get("args").cloned().unwrap_or_else(|| json!({}));
        let seal = either(part, "thoughtSignature", "thought_signature");
        broken.unless(!sent.seals.contains_key(&key(name, &arguments)) || seal.is_string(), || {
            format!("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}`, position {index}.")
        });
        // Only the first call of a content carries one.
        return;
    }
}
