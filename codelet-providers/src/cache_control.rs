//! Cache marks: the positions up to which a provider caches the prompt. Marks are added while a request is written; the
//! engine's messages never contain any.
//!
//! At most four are accepted: at the end, at the end of the previous request, before the position of the next expected
//! edit, after the stable reminders at the head, and, if one is left, after the system prompt (which also covers the
//! tools).

use codelet_context::message::{Extra, Message, Origin, Part, Role, ToolResult};
pub use codelet_context::price::Lifetime;
use serde_json::{Map, Value, json};

/// The maximum number of marks in one request.
const MOST: usize = 4;

/// Returns the vendor's mark for a lifetime.
pub(crate) fn of(lifetime: Lifetime) -> Value {
    match lifetime {
        Lifetime::FiveMinutes => json!({"type": "ephemeral"}),
        Lifetime::Hour => json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

/// Returns the parts of messages that are about to be written, by message and part, that are to carry marks. `edge` is the
/// end of the previous request and `next` the position before which the next edit is expected, both as indices into
/// `messages`.
pub(crate) fn places(
    messages: &[&Message],
    edge: Option<usize>,
    next: Option<usize>,
    carries: fn(&Part) -> bool,
) -> Vec<(usize, usize)> {
    let has_system = messages.first().is_some_and(|first| first.role == Role::System);
    let before = |end: usize| last_before(messages, end, carries);
    let edge = match edge {
        Some(edge) => before(edge.min(messages.len())),
        // Without an edge, the end of the previous request: more may have been appended since than the vendor looks
        // back.
        None => messages
            .iter()
            .rposition(|message| message.role == Role::Assistant)
            .and_then(before),
    };
    let system = has_system.then(|| before(1)).flatten();
    let next = next.and_then(|next| before(next.min(messages.len())));
    let mut places = Vec::with_capacity(MOST + 1);
    // If there are too many, the last ones are dropped: reading the head from the cache covers the system prompt.
    for place in [before(messages.len()), edge, next, head(messages, carries), system]
        .into_iter()
        .flatten()
    {
        if !places.contains(&place) && places.len() < MOST {
            places.push(place);
        }
    }
    places
}

/// Returns the last part before a message that can carry a mark.
fn last_before(messages: &[&Message], end: usize, carries: fn(&Part) -> bool) -> Option<(usize, usize)> {
    messages[..end].iter().enumerate().rev().find_map(|(at, message)| {
        // If several messages are written as one, tool results come first, so a text is the last part.
        let of = |wanted: fn(&Part) -> bool| message.parts.iter().rposition(|part| wanted(part) && carries(part));
        of(|part| !matches!(part, Part::ToolResult(_)))
            .or_else(|| of(|_| true))
            .map(|part| (at, part))
    })
}

/// Returns the last of the stable reminders that precede everything else. Other kinds differ from prompt to prompt and
/// move at the next edit, so a prefix cached after one of them would never be read again.
fn head(messages: &[&Message], carries: fn(&Part) -> bool) -> Option<(usize, usize)> {
    let is_stable = |part: &Part| matches!(part, Part::Text(text) if matches!(text.origin, Origin::Reminder(kind) if kind.is_at_head()));
    let mut last = None;
    for (at, message) in messages
        .iter()
        .enumerate()
        .skip_while(|(_, message)| message.role == Role::System)
    {
        if message.role != Role::User {
            return last;
        }
        for (index, part) in message.parts.iter().enumerate() {
            if !is_stable(part) {
                return last;
            }
            if carries(part) {
                last = Some((at, index));
            }
        }
    }
    last
}

/// Returns whether a block of the Anthropic wire can carry a mark.
pub(crate) fn is_block(part: &Part) -> bool {
    match part {
        Part::Text(text) => !text.body.is_blank(),
        Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) => true,
        Part::Thinking(_) | Part::Opaque(_) => false,
    }
}

/// Returns whether a part of a chat message can carry a mark: only text can.
pub(crate) fn is_words(part: &Part) -> bool {
    match part {
        Part::Text(text) => !text.body.is_blank(),
        Part::ToolResult(result) => inner(result).is_some(),
        _ => false,
    }
}

fn inner(result: &ToolResult) -> Option<usize> {
    let is_text = |part: &Part| matches!(part, Part::Text(text) if !text.body.is_blank());
    result.output.iter().rposition(is_text).filter(|_| !result.bare)
}

/// Adds a mark to a part.
pub(crate) fn mark(part: &mut Part, mark: &Value) {
    match part {
        Part::Text(text) => with(&mut text.extra, &["type", "text"], mark),
        Part::Image(image) => with(&mut image.extra, &["type", "source"], mark),
        Part::ToolCall(call) => with(&mut call.extra, &["type", "id", "name", "input"], mark),
        // A plain tool result of the Anthropic wire carries the mark itself; one with parts, on its last text.
        Part::ToolResult(result) => match inner(result) {
            Some(at) => self::mark(&mut result.output[at], mark),
            None => with(&mut result.extra, &["type", "tool_use_id", "content", "is_error"], mark),
        },
        Part::Thinking(_) | Part::Opaque(_) => {}
    }
}

/// Adds the mark as the last field; empty entries for the other fields keep them before it.
fn with(extra: &mut Extra, usual: &[&str], mark: &Value) {
    let mut fields: Map<String, Value> = extra
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if fields.keys().all(|name| name.starts_with("codelet.")) {
        fields.extend(usual.iter().map(|name| ((*name).to_owned(), Value::Null)));
    }
    fields.insert("cache_control".to_owned(), mark.clone());
    *extra = Extra::new(fields);
}
