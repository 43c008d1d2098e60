//! Whether a file was understood: a reader passes over what it does not know, so one that knows nothing of a file would
//! make an empty conversation of it, or a mixture that no vendor takes. Both are errors.

use crate::skim::Skim;
use crate::{Document, Format, ReadError, Warning};
use codelet_context::message::{Message, Nature, Opaque, Part};
use serde_json::Value;

/// Checks what was read of a file.
///
/// # Errors
/// When nothing was found although the file has entries, when most entries that should say something could not be read,
/// or when the messages are in the words of a program or vendor that is not read.
pub(crate) fn check(bytes: &[u8], format: Format, document: &Document) -> Result<(), ReadError> {
    if let Some(of) = document.messages.iter().find_map(foreign) {
        return Err(ReadError::Foreign { of });
    }
    let messages = document.messages.len();
    let unread = entries_not_read(document);
    if messages == 0 && unread + unknown_entries(document) + listed(bytes, format) > 0 {
        return Err(ReadError::NothingRead(format));
    }
    let strange = document
        .messages
        .iter()
        .filter(|message| is_strange(message, format))
        .count();
    if unread > messages || (strange >= MANY && strange * 2 > messages) {
        return Err(ReadError::MostUnread {
            format,
            unread: unread.max(strange),
        });
    }
    Ok(())
}

/// One block of a new kind is not yet another form.
const MANY: usize = 3;

fn entries_not_read(document: &Document) -> usize {
    let count = |warning: &Warning| match warning {
        Warning::UnreadEntry { count, .. } => *count,
        _ => 0,
    };
    document.warnings.iter().map(count).sum()
}

fn unknown_entries(document: &Document) -> usize {
    let is_unknown = |warning: &&Warning| matches!(warning, Warning::UnknownEntry { .. });
    document.warnings.iter().filter(is_unknown).count()
}

/// Messages in a file that is one object, as far as it lists any.
fn listed(bytes: &[u8], format: Format) -> usize {
    let names = format.form().lists;
    let file = Skim::new(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let lists = names.iter().filter_map(|name| file.get(name));
    lists.map(|list| list.items().count()).sum()
}

/// The blocks of a message that nobody here has read, those in answers of tools included.
fn opaque(message: &Message) -> impl Iterator<Item = &Opaque> {
    fn inside(part: &Part) -> &[Part] {
        match part {
            Part::ToolResult(result) => &result.output,
            part => std::slice::from_ref(part),
        }
    }
    message.parts.iter().flat_map(inside).filter_map(|part| match part {
        Part::Opaque(opaque) => Some(opaque),
        _ => None,
    })
}

/// Whose words a message is in, where that shows and they are not read.
fn foreign(message: &Message) -> Option<&'static str> {
    opaque(message).find_map(|block| {
        let has = |name| block.value.get(name).is_some();
        match &*block.kind {
            "tool-call" | "tool-result" if has("toolCallId") && has("toolName") => Some("the AI SDK"),
            "" if has("toolUse") || has("toolResult") => Some("Bedrock's Converse interface"),
            "human" | "ai" | "tool" | "constructor" if has("content") || has("kwargs") => Some("LangChain"),
            _ => None,
        }
    })
}

/// Whether a message holds nothing but blocks of no kind that the form has.
fn is_strange(message: &Message, format: Format) -> bool {
    let strange = |part: &Part| match part {
        Part::Opaque(block) => block.nature == Nature::Unknown && !is_of_form(block, format),
        // An answer to no call, in which nothing could be read.
        Part::ToolResult(result) => {
            let is_unread = |part: &Part| matches!(part, Part::Opaque(block) if !is_of_form(block, format));
            result.call_id.is_empty() && !result.output.is_empty() && result.output.iter().all(is_unread)
        }
        _ => false,
    };
    !message.parts.is_empty() && message.parts.iter().all(strange)
}

/// Whether a block is named as the form names its blocks, those of times to come included.
fn is_of_form(block: &Opaque, format: Format) -> bool {
    let kind = &*block.kind;
    match format {
        Format::Anthropic | Format::Openai | Format::Responses => {
            let is_spelled = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            !kind.is_empty() && kind.chars().all(is_spelled) && block.value.get("type").is_some_and(Value::is_string)
        }
        _ => true,
    }
}
