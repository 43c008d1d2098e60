//! Checks whether a provider would accept a request, from its JSON, whatever program wrote it.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use crate::format::Format;
use serde_json::Value;

/// A rule that a request breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The path into the request: `messages.3.content.0`.
    pub place: String,
    /// The problem, as a sentence.
    pub sentence: String,
}

/// Returns the field of a request that holds the conversation; empty if the format is not a provider's.
pub fn list_of(form: Format) -> &'static str {
    match form {
        Format::Anthropic | Format::Openai => "messages",
        Format::Responses => "input",
        Format::Gemini => "contents",
        _ => "",
    }
}

/// Returns all rules of this format's provider that the request, or a bare list, breaks, roughly in message order; none
/// for formats that are not a provider's. Does not check other fields, signatures, or anything that only the provider knows.
pub fn check(request: &Value, form: Format) -> Vec<Fault> {
    let check = match form {
        Format::Anthropic => anthropic::check,
        Format::Openai => chat::check,
        Format::Responses => responses::check,
        Format::Gemini => gemini::check,
        _ => return Vec::new(),
    };
    let list = list_of(form);
    let mut faults = Faults {
        list,
        found: Vec::new(),
    };
    let said = request.get(list).unwrap_or(request);
    match said.as_array() {
        Some(items) if items.is_empty() => faults.add("", "There is nothing to answer."),
        Some(items) => check(request, items, &mut faults),
        None if form == Format::Responses && said.is_string() => {}
        None => faults.add("", "This is not a list."),
    }
    faults.found
}

/// The faults found, and the name of the list that their places are in.
struct Faults {
    list: &'static str,
    found: Vec<Fault>,
}

impl Faults {
    /// Adds a fault at this place within the list, such as `3.content`.
    fn add(&mut self, place: impl AsRef<str>, sentence: impl Into<String>) {
        let place = place.as_ref();
        let dot = if place.is_empty() { "" } else { "." };
        self.found.push(Fault {
            place: format!("{}{dot}{place}", self.list),
            sentence: sentence.into(),
        });
    }

    /// Adds a fault for a type that the provider does not have.
    fn type_of(&mut self, place: impl AsRef<str>, kind: &str, known: &[&str]) {
        if !known.contains(&kind) {
            self.add(
                place,
                format!("The provider has no type {kind:?} here: {}.", known.join(", ")),
            );
        }
    }

    /// Adds a fault for each call without a result.
    fn unanswered<'a>(&mut self, at: usize, ids: impl IntoIterator<Item = &'a str>) {
        for id in ids {
            self.add(
                at.to_string(),
                format!("Call {id:?} is not answered directly before this."),
            );
        }
    }
}

/// The parts of a message with their numbers, if its content is a list.
fn parts(message: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let content = message.get("content").and_then(Value::as_array);
    content.into_iter().flatten().enumerate()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn is_blank(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests;
