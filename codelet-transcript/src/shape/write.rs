//! Writes messages as shape lines.

use super::{call_words, text};
use codelet_context::message::{Image, Message, Origin, Part, ReminderKind, Role, Text, Thinking, ToolResult};
use codelet_text::short::grouped;

/// The default width of a line for people, in columns.
const WIDTH: usize = 120;

/// The minimum number of columns for a part of a message to be shown.
const LEAST: usize = 24;

/// Writes the conversation for people: one line per part, at most 120 columns wide.
pub fn write<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    write_at(messages, WIDTH)
}

/// Writes the conversation for people: one line per part, at most `width` columns wide (not counting its label).
pub fn write_at<'a>(messages: impl IntoIterator<Item = &'a Message>, width: usize) -> String {
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
            for line in lines(message.role, part, width) {
                shape.push_str(&line);
                shape.push('\n');
            }
        }
        before = Some(message);
    }
    shape
}

/// Writes a message on one line of at most `width` columns. Text that does not fit ends in its size, parts that do not
/// fit are counted.
pub fn line(message: &Message, width: usize) -> String {
    if message.parts.is_empty() {
        return format!("empty {}", role_name(message.role));
    }
    let mut line = String::new();
    let mut left = width;
    for (index, part) in message.parts.iter().enumerate() {
        let parts = message.parts.len() - index;
        let more = match index {
            0 => String::new(),
            _ => format!(" · {parts} more"),
        };
        if index > 0 && left < LEAST + more.len() {
            line.push_str(&more);
            break;
        }
        if index > 0 {
            line.push_str(" · ");
            left = left.saturating_sub(3);
        }
        // Later parts may need their share, and room for their count if they get none.
        let share = if parts == 1 { left } else { (left / parts).max(LEAST) };
        let piece = part_line(message.role, part, share);
        left = left.saturating_sub(text::columns(&piece));
        line.push_str(&piece);
    }
    line
}

/// Writes a part on one line of at most `width` columns (not counting its label), as spoken by `role`. The blocks of a
/// result are joined.
pub fn part_line(role: Role, part: &Part, width: usize) -> String {
    lines(role, part, width).join(" · ")
}

/// Writes words under a label, cut to `width` columns.
fn labelled(label: &str, words: &str, width: usize) -> String {
    let words = text::cut(words, width.saturating_sub(text::columns(label) + 2));
    match words.is_empty() {
        true => format!("{label}:"),
        false => format!("{label}: {words}"),
    }
}

/// Returns the lines of a part; a result with several blocks has several.
fn lines(role: Role, part: &Part, width: usize) -> Vec<String> {
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
    let one = |label: &str, words: &str| vec![labelled(&format!("{speaker}{label}"), words, width)];
    match part {
        Part::Text(text) => one(&text_label(role, text), text.body.as_str()),
        Part::Thinking(thinking) => {
            let (label, words) = thinking_words(thinking);
            one(label, words)
        }
        Part::Image(image) => one("image", &image_words(image)),
        Part::ToolCall(call) => one(&format!("call {}", id_word(short_id(&call.id))), &call_words(call)),
        Part::ToolResult(result) => result_lines(&speaker, result, width),
        Part::Opaque(opaque) => one(&format!("other {}", id_word(&opaque.kind)), &opaque.value.to_string()),
    }
}

fn result_lines(speaker: &str, result: &ToolResult, width: usize) -> Vec<String> {
    let label = format!("{speaker}result {}", id_word(short_id(&result.call_id)));
    let mut blocks = result.output.as_slice();
    let first = match blocks {
        [Part::Text(text), rest @ ..] => {
            blocks = rest;
            text.body.as_str()
        }
        _ => "",
    };
    let status = match result.success {
        // This text alone says that the call failed.
        _ if first == "[interrupted]" => "",
        Some(true) => "",
        Some(false) => " failed",
        None => " unknown",
    };
    let nothing = if blocks.len() == result.output.len() {
        " nothing"
    } else {
        ""
    };
    let mut lines = vec![labelled(&format!("{label}{status}{nothing}"), first, width)];
    lines.extend(blocks.iter().map(|block| match block {
        Part::Text(text) => labelled(&format!("{label} more"), text.body.as_str(), width),
        Part::Image(image) => labelled(&format!("{label} image"), &image_words(image), width),
        Part::Opaque(opaque) => labelled(&format!("{label} other"), &opaque.value.to_string(), width),
        // No tool output holds such a part; it is shown, and read back as text.
        Part::Thinking(thinking) => labelled(&format!("{label} more"), thinking.body.as_str(), width),
        Part::ToolCall(call) => labelled(&format!("{label} more"), &call_words(call), width),
        Part::ToolResult(_) => labelled(&format!("{label} more"), "", width),
    }));
    if let Some(error) = &result.error {
        lines.push(labelled(&format!("{label} error"), error.as_str(), width));
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
            let name = match kind {
                ReminderKind::Instructions => "claudeMd",
                ReminderKind::Environment => "environment",
                ReminderKind::Skills => "skills",
                ReminderKind::GitStatus => "gitStatus",
                ReminderKind::TokenStatus => "tokenStatus",
            };
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

fn image_words(image: &Image) -> String {
    match image.is_url {
        true => image.data.to_string(),
        false => format!("{}, {} bytes", image.media_type, grouped(image.data.len())),
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// Returns the end of a long id: the ids of one provider begin alike.
fn short_id(id: &str) -> &str {
    const MOST: usize = 8;
    const SHOWN: usize = 5;
    match id.char_indices().nth_back(SHOWN - 1) {
        Some((at, _)) if id.len() > MOST => &id[at..],
        _ => id,
    }
}

/// Writes an id as one word without a colon; the empty one is `""`.
fn id_word(id: &str) -> String {
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

/// Returns whether a part joins the message before it by default: calls join the assistant message, text joins
/// thinking, results join results. Only the last part decides: a message may have very many.
pub fn usually_joins(parts: &[Part], part: &Part) -> bool {
    match part {
        Part::ToolCall(_) => !parts.is_empty(),
        Part::Text(text) if text.origin == Origin::Own => matches!(parts.last(), Some(Part::Thinking(_))),
        Part::ToolResult(_) => matches!(parts.last(), Some(Part::ToolResult(_))),
        _ => false,
    }
}
