//! Writes messages so that they are read back.

use super::{INTERRUPTED, REMINDERS, call, text};
use codelet_context::message::{Image, Message, Origin, Part, Role, Text, Thinking, ToolResult};
use codelet_transcript::shape::usually_joins;

/// Writes the conversation so that [`parse`](super::parse()) reads it back: nothing is cut.
pub fn exact<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let mut shape = String::new();
    let mut before: Option<&Message> = None;
    for message in messages {
        if message.parts.is_empty() {
            shape.push_str(&format!("empty {}\n", role_name(message.role)));
        }
        for (index, part) in message.parts.iter().enumerate() {
            let joins_before = before.is_some_and(|b| b.role == message.role && usually_joins(&b.parts, part));
            shape.push_str(match index {
                0 if joins_before => "/ ",
                0 => "",
                _ if usually_joins(&message.parts[..index], part) => "",
                _ => "+ ",
            });
            for line in lines(message.role, part) {
                shape.push_str(&line);
                shape.push('\n');
            }
        }
        before = Some(message);
    }
    shape
}

/// Writes words under a label, on one line.
fn labelled(label: &str, words: &str) -> String {
    let words = text::escape(words);
    match words.is_empty() {
        true => format!("{label}:"),
        false => format!("{label}: {words}"),
    }
}

/// Returns the lines of a part; a result with several blocks has several.
fn lines(role: Role, part: &Part) -> Vec<String> {
    let usual = match part {
        Part::Text(text) if text.origin == Origin::Own => role,
        Part::Thinking(_) | Part::ToolCall(_) => Role::Assistant,
        Part::Text(_) | Part::Image(_) | Part::ToolResult(_) | Part::Opaque(_) => Role::User,
    };
    let speaker = if role == usual {
        String::new()
    } else {
        format!("{} ", role_name(role))
    };
    let one = |label: &str, words: &str| vec![labelled(&format!("{speaker}{label}"), words)];
    match part {
        Part::Text(text) => one(&text_label(role, text), text.body.as_str()),
        Part::Thinking(thinking) => {
            let (label, words) = thinking_words(thinking);
            one(label, words)
        }
        Part::Image(image) => one("image", image_words(image)),
        Part::ToolCall(call) => one(&format!("call {}", escape_id(&call.id)), &call::exact(call)),
        Part::ToolResult(result) => result_lines(&speaker, result),
        Part::Opaque(opaque) => one(&format!("other {}", escape_id(&opaque.kind)), &opaque.value.to_string()),
    }
}

fn result_lines(speaker: &str, result: &ToolResult) -> Vec<String> {
    let label = format!("{speaker}result {}", escape_id(&result.call_id));
    let mut blocks = result.output.as_slice();
    let first = match blocks {
        [Part::Text(text), rest @ ..] => {
            blocks = rest;
            text.body.as_str()
        }
        _ => "",
    };
    let status = match result.success {
        _ if first == INTERRUPTED => "",
        Some(true) => "",
        Some(false) => " failed",
        None => " unknown",
    };
    let nothing = if blocks.len() == result.output.len() {
        " nothing"
    } else {
        ""
    };
    let mut lines = vec![labelled(&format!("{label}{status}{nothing}"), first)];
    lines.extend(blocks.iter().map(|block| match block {
        Part::Text(text) => labelled(&format!("{label} more"), text.body.as_str()),
        Part::Image(image) => labelled(&format!("{label} image"), image_words(image)),
        Part::Opaque(opaque) => labelled(&format!("{label} other"), &opaque.value.to_string()),
        // No tool output holds such a part; it is shown, and read back as text.
        Part::Thinking(thinking) => labelled(&format!("{label} more"), thinking.body.as_str()),
        Part::ToolCall(call) => labelled(&format!("{label} more"), &call::exact(call)),
        Part::ToolResult(_) => labelled(&format!("{label} more"), ""),
    }));
    if let Some(error) = &result.error {
        lines.push(labelled(&format!("{label} error"), error.as_str()));
    }
    lines
}

fn text_label(role: Role, text: &Text) -> String {
    match text.origin {
        Origin::Own => role_name(role).to_owned(),
        Origin::Injected => "injected".to_owned(),
        Origin::Summary => "summary".to_owned(),
        Origin::Notice => "notice".to_owned(),
        Origin::Reminder(kind) => {
            let name = REMINDERS
                .iter()
                .find(|(_, known)| *known == kind)
                .map_or("", |(name, _)| name);
            format!("reminder {name}")
        }
    }
}

fn thinking_words(thinking: &Thinking) -> (&'static str, &str) {
    match (&thinking.redacted, &thinking.signature) {
        (Some(data), _) => ("thinking redacted", data),
        (None, Some(_)) => ("thinking signed", thinking.body.as_str()),
        (None, None) => ("thinking", thinking.body.as_str()),
    }
}

fn image_words(image: &Image) -> &str {
    match image.is_url {
        true => image.data.as_str(),
        false => &image.media_type,
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// Writes an id as one word without a colon; the empty one is `""`.
fn escape_id(id: &str) -> String {
    if id.is_empty() {
        return "\"\"".to_owned();
    }
    let mut word = String::new();
    for c in id.chars() {
        match c {
            '\\' => word.push_str("\\\\"),
            ':' | '"' | '×' => word.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c if c.is_whitespace() || c.is_control() => word.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => word.push(c),
        }
    }
    word
}
