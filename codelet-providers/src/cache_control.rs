//! Where a prompt cache is told to keep what it has read. Marks are put on while a request is written; the engine's
//! messages never carry any.
//!
//! At most four are taken: at the end, at the end of what was sent before, at the place before which the next edit is
//! expected, after the stable reminders at the head, and, where one is left, after the system prompt (which holds the tools
//! too).

use codelet_context::message::{Extra, Message, Origin, Part, Role, ToolResult};
pub use codelet_context::price::Lifetime;
use serde_json::{Map, Value, json};

/// How many marks a vendor takes in one request.
const MOST: usize = 4;

/// The mark that a vendor takes for a lifetime.
pub(crate) fn of(lifetime: Lifetime) -> Value {
    match lifetime {
        Lifetime::FiveMinutes => json!({"type": "ephemeral"}),
        Lifetime::Hour => json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

/// Puts marks on messages that are about to be written. `edge` is the end of what was sent before and `next` the place
/// before which the next edit is expected; both count messages as they stand here. Returns whether one
/// is left for the last tool, since there is no system prompt to mark.
pub(crate) fn place(
    messages: &mut [Message],
    edge: Option<usize>,
    next: Option<usize>,
    lifetime: Lifetime,
    carries: fn(&Part) -> bool,
) -> bool {
    let has_system = messages.first().is_some_and(|first| first.role == Role::System);
    let before = |end: usize| last_before(messages, end, carries);
    let edge = match edge {
        Some(edge) => before(edge.min(messages.len())),
        // Without an edge, the end of the request before this one: what was appended since may be more than the vendor
        // looks back over.
        None => messages
            .iter()
            .rposition(|message| message.role == Role::Assistant)
            .and_then(before),
    };
    let system = has_system.then(|| before(1)).flatten();
    let next = next.and_then(|next| before(next.min(messages.len())));
    let mut places = Vec::with_capacity(MOST + 1);
    // What comes last is left out where there are too many: whoever reads the head reads the system prompt with it.
    for place in [before(messages.len()), edge, next, head(messages, carries), system]
        .into_iter()
        .flatten()
    {
        if !places.contains(&place) && places.len() < MOST {
            places.push(place);
        }
    }
    for (message, part) in places {
        mark(&mut messages[message].parts[part], &of(lifetime));
    }
    !has_system
}

/// The last part before a message that can carry a mark.
fn last_before(messages: &[Message], end: usize, carries: fn(&Part) -> bool) -> Option<(usize, usize)> {
    messages[..end].iter().enumerate().rev().find_map(|(at, message)| {
        // Where several messages are written as one, answers come first: a text is then the last of them.
        let of = |wanted: fn(&Part) -> bool| message.parts.iter().rposition(|part| wanted(part) && carries(part));
        of(|part| !matches!(part, Part::ToolResult(_)))
            .or_else(|| of(|_| true))
            .map(|part| (at, part))
    })
}

/// The last of the stable reminders that stand before everything else. Those of other kinds differ from prompt to prompt and
/// go elsewhere at the next edit: what is kept behind one of them is never read again.
fn head(messages: &[Message], carries: fn(&Part) -> bool) -> Option<(usize, usize)> {
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

/// Whether a block of the Anthropic wire can carry a mark.
pub(crate) fn is_block(part: &Part) -> bool {
    match part {
        Part::Text(text) => !text.body.is_blank(),
        Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) => true,
        Part::Thinking(_) | Part::Opaque(_) => false,
    }
}

/// Whether a part of a chat message can: only words can.
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

fn mark(part: &mut Part, mark: &Value) {
    match part {
        Part::Text(text) => with(&mut text.extra, &["type", "text"], mark),
        Part::Image(image) => with(&mut image.extra, &["type", "source"], mark),
        Part::ToolCall(call) => with(&mut call.extra, &["type", "id", "name", "input"], mark),
        // A plain answer of the Anthropic wire carries the mark itself; one in parts on its last words.
        Part::ToolResult(result) => match inner(result) {
            Some(at) => self::mark(&mut result.output[at], mark),
            None => with(&mut result.extra, &["type", "tool_use_id", "content", "is_error"], mark),
        },
        Part::Thinking(_) | Part::Opaque(_) => {}
    }
}

/// The mark as the last field; the empty places of the others keep them before it.
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
