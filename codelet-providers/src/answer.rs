//! Conversion of a complete reply into the engine's message, with everything that the vendor needs back.

use crate::frames::Whole;
use codelet_agent::model::{Billed, ModelError, Reply, Stop};
use codelet_context::message::{Message, Part, Role};
use codelet_transcript::{Maker, read};
use serde_json::Value;
use std::sync::Arc;

/// Parses a reply in the vendor's own format and records its maker. `history` is the request's messages: a call id that
/// already occurs in it is replaced, since some servers restart their ids in each reply.
pub(crate) fn reply(
    whole: Whole,
    maker: &Maker,
    history: &[Arc<Message>],
    billed: Billed,
) -> Result<Reply, ModelError> {
    let json = Value::Array(whole.list).to_string();
    let document = read(json.as_bytes(), Some(maker.form)).map_err(|error| ModelError::Garbled {
        said: format!("the reply has an unexpected format: {error}"),
    })?;
    let mut messages = document
        .messages
        .into_iter()
        .filter(|message| message.role == Role::Assistant);
    let mut message = messages
        .next()
        .unwrap_or_else(|| Message::new(Role::Assistant, Vec::new()));
    for more in messages {
        message.parts.extend(more.parts);
    }
    maker.sign(&mut message);
    let ids = unique_ids(&mut message, history);
    let broken = whole
        .broken
        .into_iter()
        .filter_map(|call| ids.get(call).cloned())
        .collect();
    Ok(Reply {
        message,
        stop: whole.stop.unwrap_or(Stop::Finished),
        broken,
        billed,
    })
}

/// Gives each call a unique id; returns the ids in the order of the calls.
fn unique_ids(message: &mut Message, history: &[Arc<Message>]) -> Vec<Arc<str>> {
    if message.calls().next().is_none() {
        return Vec::new();
    }
    let used = || history.iter().flat_map(|message| message.calls()).map(|call| &*call.id);
    let mut own: Vec<Arc<str>> = Vec::new();
    for part in &mut message.parts {
        let Part::ToolCall(call) = part else { continue };
        let is_free =
            |id: &str| !id.is_empty() && !used().any(|used| used == id) && !own.iter().any(|own| **own == *id);
        if !is_free(&call.id) {
            let stem = if call.id.is_empty() { "call" } else { &*call.id };
            let fresh = (used().count() + own.len() + 1..)
                .map(|number| format!("{stem}-{number}"))
                .find(|id| is_free(id));
            call.id = fresh.expect("numbers do not run out").into();
        }
        own.push(call.id.clone());
    }
    own
}
