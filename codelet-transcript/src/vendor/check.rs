//! Whether a vendor would take a request, by its own JSON: for requests of anybody, not only those that were written here.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use crate::format::Format;
use serde_json::Value;

/// A rule that a request breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Where, as a path into the request: `messages.3.content.0`.
    pub place: String,
    /// What is wrong there, as a sentence.
    pub sentence: String,
}

/// The field of a request that holds the conversation; empty where the form is no vendor's.
pub fn list_of(form: Format) -> &'static str {
    match form {
        Format::Anthropic | Format::Openai => "messages",
        Format::Responses => "input",
        Format::Gemini => "contents",
        _ => "",
    }
}

/// Every rule of the vendor of this form that the request, or a bare list, breaks, about in the order of its messages; none of
/// forms that are no vendor's. Signatures are not checked, and neither is what only the vendor knows.
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
        None => faults.add("", "This is no list."),
    }
    faults.found
}

/// What was found, and the name of the list that places are in.
struct Faults {
    list: &'static str,
    found: Vec<Fault>,
}

impl Faults {
    /// Something is wrong at this place within the list, such as `3.content`.
    fn add(&mut self, place: impl AsRef<str>, sentence: impl Into<String>) {
        let place = place.as_ref();
        let dot = if place.is_empty() { "" } else { "." };
        self.found.push(Fault {
            place: format!("{}{dot}{place}", self.list),
            sentence: sentence.into(),
        });
    }

    /// The calls that nothing answers.
    fn unanswered<'a>(&mut self, at: usize, ids: impl IntoIterator<Item = &'a str>) {
        for id in ids {
            self.add(
                at.to_string(),
                format!("Call {id:?} is not answered directly before this."),
            );
        }
    }
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
