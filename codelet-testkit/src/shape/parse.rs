//! Parses shape lines into messages.

use super::{INTERRUPTED, REMINDERS, call, text};
use codelet_context::body::Body;
use codelet_context::message::{Extra, Image, Message, Origin, Part, Role, Text, Thinking, ToolResult};
use codelet_transcript::shape::usually_joins;
use std::sync::Arc;

/// An error in a shape.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A line without a colon.
    #[error("line {line} has no colon: expected `user: …`, `call a: …` or the like")]
    NoColon {
        /// Counted from 1.
        line: usize,
    },
    /// A line of unknown kind.
    #[error("line {line} starts with `{label}`, which is not a known label")]
    UnknownKind {
        /// Counted from 1.
        line: usize,
        /// The text before the colon.
        label: String,
    },
    /// A line that continues an earlier one, without such a line.
    #[error("line {line} goes on with something that is not there")]
    NothingBefore {
        /// Counted from 1.
        line: usize,
    },
    /// A repetition of more than 64 MiB.
    #[error("line {line} repeats its text to more than 64 MiB")]
    TooLong {
        /// Counted from 1.
        line: usize,
    },
}

/// An image of one transparent pixel, for `image: image/png`.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Parses a conversation in shape notation.
///
/// # Errors
/// A line of unknown kind, with its number.
pub fn parse(shape: &str) -> Result<Vec<Message>, ShapeError> {
    let mut messages = Vec::new();
    for (index, line) in shape.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            add_line(&mut messages, index + 1, line)?;
        }
    }
    Ok(messages)
}

/// The relation of a line to the message before it.
enum Joint {
    AsUsual,
    Join,
    Part,
}

fn add_line(messages: &mut Vec<Message>, number: usize, line: &str) -> Result<(), ShapeError> {
    let (joint, line) = match line.split_at_checked(2) {
        Some(("+ ", rest)) => (Joint::Join, rest),
        Some(("/ ", rest)) => (Joint::Part, rest),
        _ => (Joint::AsUsual, line),
    };
    let before = messages.last_mut();
    if let Some(role) = line.strip_prefix("empty ").and_then(role) {
        messages.push(Message::new(role, Vec::new()));
        return Ok(());
    }
    let (label, words) = line.split_once(':').ok_or(ShapeError::NoColon { line: number })?;
    let unknown = || ShapeError::UnknownKind {
        line: number,
        label: label.to_owned(),
    };
    let words = text::unescape(words).ok_or(ShapeError::TooLong { line: number })?;
    let mut label_words: Vec<&str> = label.split_whitespace().collect();
    let spoken = label_words.first().copied().and_then(role);
    if spoken.is_some() && label_words.len() > 1 {
        label_words.remove(0);
    }

    if let ["result", id, more @ ("more" | "error" | "image" | "other")] = label_words[..] {
        let nothing = ShapeError::NothingBefore { line: number };
        return match before.and_then(|message| last_result(message, &unescape_id(id))) {
            Some(result) => extend(result, more, words).ok_or_else(unknown),
            None => Err(nothing),
        };
    }
    let (kind_role, part) = part(&label_words, words).ok_or_else(unknown)?;
    let role = spoken.unwrap_or(kind_role);
    match before {
        Some(message) if joins(&joint, message, role, &part) => message.parts.push(part),
        None if matches!(joint, Joint::Join) => return Err(ShapeError::NothingBefore { line: number }),
        _ => messages.push(Message::new(role, vec![part])),
    }
    Ok(())
}

fn joins(joint: &Joint, message: &Message, role: Role, part: &Part) -> bool {
    match joint {
        Joint::Join => true,
        Joint::Part => false,
        Joint::AsUsual => message.role == role && usually_joins(&message.parts, part),
    }
}

fn role(word: &str) -> Option<Role> {
    match word {
        "system" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    }
}

/// Returns the part in a line, and its usual role.
fn part(label: &[&str], words: String) -> Option<(Role, Part)> {
    let from = |origin| Part::text_from(origin, words.as_str());
    Some(match *label {
        [speaker] if role(speaker).is_some() => (role(speaker)?, from(Origin::Own)),
        ["text"] => (Role::User, from(Origin::Own)),
        ["injected"] => (Role::User, from(Origin::Injected)),
        ["summary"] => (Role::User, from(Origin::Summary)),
        ["notice"] => (Role::User, from(Origin::Notice)),
        ["reminder", name] => {
            let (_, kind) = REMINDERS.iter().find(|(known, _)| *known == name)?;
            (Role::User, from(Origin::Reminder(*kind)))
        }
        ["thinking"] => (Role::Assistant, thinking(&words, None, None)),
        ["thinking", "signed"] => (Role::Assistant, thinking(&words, Some("signature"), None)),
        ["thinking", "redacted"] => (Role::Assistant, thinking("", None, Some(&words))),
        ["call", id] => (Role::Assistant, Part::ToolCall(call::parse(&unescape_id(id), &words))),
        ["result", id] => (Role::User, result(id, Some(words != INTERRUPTED), &words)),
        ["result", id, "failed"] => (Role::User, result(id, Some(false), &words)),
        ["result", id, "unknown"] => (Role::User, result(id, None, &words)),
        ["result", id, "nothing"] => (Role::User, nothing(id, Some(true))),
        ["result", id, "failed", "nothing"] => (Role::User, nothing(id, Some(false))),
        ["result", id, "unknown", "nothing"] => (Role::User, nothing(id, None)),
        ["image"] => (Role::User, image(&words)),
        ["other", kind] => (Role::User, opaque(&unescape_id(kind), &words)?),
        _ => return None,
    })
}

fn thinking(words: &str, signature: Option<&str>, redacted: Option<&str>) -> Part {
    Part::Thinking(Thinking {
        body: Body::from(words),
        signature: signature.map(Arc::from),
        redacted: redacted.map(Arc::from),
        is_wanted_back: false,
        extra: Extra::default(),
    })
}

fn result(id: &str, success: Option<bool>, words: &str) -> Part {
    Part::ToolResult(ToolResult::new(unescape_id(id), success, words))
}

fn nothing(id: &str, success: Option<bool>) -> Part {
    let mut result = ToolResult::new(unescape_id(id), success, "");
    result.output.clear();
    result.bare = false;
    Part::ToolResult(result)
}

fn opaque(kind: &str, words: &str) -> Option<Part> {
    let value = serde_json::from_str(words).ok()?;
    Some(codelet_transcript::opaque_part(kind, value))
}

fn image(words: &str) -> Part {
    let is_url = words.contains("://");
    let (media_type, _size) = words.split_once(',').unwrap_or((words, ""));
    Part::Image(Image {
        media_type: Arc::from(if is_url { "" } else { media_type }),
        data: Body::from(if is_url { words } else { DOT }),
        is_url,
        extra: Extra::default(),
    })
}

fn last_result<'a>(message: &'a mut Message, id: &str) -> Option<&'a mut ToolResult> {
    match message.parts.last_mut()? {
        Part::ToolResult(result) if &*result.call_id == id => Some(result),
        _ => None,
    }
}

/// Adds a further line to a result; `None` if it cannot be parsed.
fn extend(result: &mut ToolResult, how: &str, words: String) -> Option<()> {
    match how {
        "error" => {
            result.error = Some(Body::from(words));
            return Some(());
        }
        "image" => result.output.push(image(&words)),
        "other" => result.output.push(opaque("", &words)?),
        _ => result.output.push(Part::Text(Text::new(words, Origin::Own))),
    }
    // A result with several blocks was a list in its source.
    result.bare = false;
    Some(())
}

/// Parses an id; `""` is the empty one.
fn unescape_id(word: &str) -> String {
    match word {
        "\"\"" => String::new(),
        _ => text::unescape(word).unwrap_or_default(),
    }
}
