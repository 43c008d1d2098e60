//! The neutral form of the recorded corpus: Anthropic's blocks, with inline system messages and annotations for text
//! that an agent's harness injected.

use crate::anthropic;
use crate::document::Document;
use crate::error::ReadError;
use crate::format::Format;
use crate::skim::Step;
use crate::source::{Misfit, Source};
use codelet_context::message::{Extra, Message, Origin, Part};
use serde_json::{Map, Value};

/// Reads a conversation. Text that a harness wrote in the user role gets its origin: summary, or injected.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, ReadError> {
    let expected = "a JSON object with a list of messages";
    let mut source = Source::new(bytes, expected)?;
    let parsed = source.parse(expected)?;
    let warnings = std::mem::take(&mut source.warnings);
    let list = match parsed {
        Value::Object(mut document) => match document.remove("messages") {
            Some(Value::Array(list)) => list,
            other => {
                let misfit = Misfit::new([Step::Key("messages")], other.as_ref(), "a list of messages");
                return Err(source.refuse(misfit));
            }
        },
        other => return Err(source.refuse(Misfit::new([], Some(&other), expected))),
    };
    let mut messages = Vec::with_capacity(list.len());
    for (index, mut value) in list.into_iter().enumerate() {
        let origin = value
            .as_object_mut()
            .and_then(|fields| fields.remove("meta"))
            .map_or(Origin::Own, origin);
        let mut message = anthropic::message(value, index).map_err(|misfit| source.refuse(misfit))?;
        settle(&mut message, origin);
        messages.push(message);
    }
    Ok(Document {
        format: Format::Corpus,
        messages,
        envelope: Map::new(),
        warnings,
    })
}

fn origin(meta: Value) -> Origin {
    let says = |name| meta.get(name).and_then(Value::as_bool) == Some(true);
    if says("compact_summary") {
        Origin::Summary
    } else if says("synthetic") {
        Origin::Injected
    } else {
        Origin::Own
    }
}

/// Sets origins, and drops fields that only a writer of this format would need: there is no such writer.
fn settle(message: &mut Message, origin: Origin) {
    message.extra = Extra::default();
    for part in &mut message.parts {
        match part {
            Part::Text(text) => {
                text.origin = origin;
                text.extra = Extra::default();
            }
            Part::ToolResult(result) => {
                let is_synthetic = result.extra.get("synthetic").and_then(Value::as_bool) == Some(true);
                for part in &mut result.output {
                    if let Part::Text(text) = part {
                        text.origin = if is_synthetic { Origin::Injected } else { Origin::Own };
                    }
                }
                result.extra = Extra::default();
            }
            Part::ToolCall(call) => call.extra = Extra::default(),
            Part::Image(_) | Part::Thinking(_) | Part::Opaque(_) => {}
        }
    }
}
