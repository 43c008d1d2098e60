//! The vendors' rules for a request, and their error messages.
//!
//! Where a vendor has relaxed a rule that its gateways still enforce (alternating roles, a user message at the end),
//! the strict form is checked.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use super::request::Request;
use super::script::Reply;
use super::segment::Segment;
use super::wire::{Envelope, Wire};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Parts of the server's earlier replies that a client must return unchanged.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    /// By call id: every thinking block of its reply.
    thinking: HashMap<String, Arc<[Value]>>,
    /// By signature: the hash of the tools and system prompt under which it was produced.
    heads: HashMap<String, u64>,
    /// By item id: the reasoning item that must precede it.
    needs: HashMap<String, String>,
    /// By call, as its name and arguments: its signature.
    seals: HashMap<String, String>,
}

impl Sent {
    /// Records a reply.
    pub fn note(&mut self, wire: Wire, reply: &Reply, envelope: &Envelope, head: u64) {
        match wire {
            Wire::Anthropic => anthropic::note(self, reply, envelope, head),
            Wire::Chat => {}
            Wire::Responses => responses::note(self, reply, envelope),
            Wire::Gemini => gemini::note(self, reply, envelope),
        }
    }

    /// Adds the records of another one.
    pub fn add(&mut self, other: Sent) {
        self.thinking.extend(other.thinking);
        self.heads.extend(other.heads);
        self.needs.extend(other.needs);
        self.seals.extend(other.seals);
    }
}

/// Returns every rule that a request breaks, as the vendor's error message. `bound` is the hash of tools and system
/// prompt if thinking is bound to them.
pub(super) fn check(request: &Request, segments: &[Segment], sent: &Sent, bound: Option<u64>) -> Vec<String> {
    let json = request.json();
    if !json.is_object() {
        return vec!["The request body is not valid JSON.".to_owned()];
    }
    let mut broken = Broken::default();
    match request.wire {
        Wire::Anthropic => anthropic::check(json, segments, sent, bound, &mut broken),
        Wire::Chat => chat::check(json, &mut broken),
        Wire::Responses => responses::check(json, sent, &mut broken),
        Wire::Gemini => gemini::check(json, &request.view().model, sent, &mut broken),
    }
    broken.rules
}

/// The broken rules found so far.
#[derive(Default)]
struct Broken {
    rules: Vec<String>,
}

impl Broken {
    fn add(&mut self, rule: impl Into<String>) {
        self.rules.push(rule.into());
    }

    /// Adds a rule unless it holds.
    fn unless(&mut self, holds: bool, rule: impl FnOnce() -> String) {
        if !holds {
            self.add(rule());
        }
    }
}

/// Returns whether a name consists of 1 to `longest` letters, digits, `_` and `-`.
fn is_name(name: &str, longest: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name.len() <= longest && name.bytes().all(plain)
}

/// Returns the first name that occurs twice.
fn twice<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// A string under a key, or an empty one.
fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// OpenAI's rules for a call's name, its arguments and its tool's definition.
mod openai {
    use super::{Broken, is_name, word};
    use serde_json::Value;

    pub(super) fn call(at: &str, function: &Value, broken: &mut Broken) {
        let name = word(function, "name");
        broken.unless(is_name(name, 64), || {
            format!("Invalid '{at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.")
        });
        match function["arguments"].as_str() {
            None => broken.add(format!(
                "Invalid type for '{at}.arguments': expected a string, but got {} instead.",
                kind(&function["arguments"])
            )),
            // OpenAI accepts any text here; servers that parse it for a template do not.
            Some(text) => {
                let object = serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
                broken.unless(object, || format!("Invalid '{at}.arguments': expected a JSON object."));
            }
        }
    }

    pub(super) fn tool(at: &str, function: &Value, broken: &mut Broken) {
        let name = word(function, "name");
        broken.unless(is_name(name, 64), || {
            format!("Invalid '{at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.")
        });
        let parameters = &function["parameters"];
        broken.unless(parameters.is_null() || parameters["type"] == "object", || {
            format!("Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"'.")
        });
    }

    pub(super) fn kind(value: &Value) -> &'static str {
        match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}
