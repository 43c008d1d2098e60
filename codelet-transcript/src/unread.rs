//! Checks that a file was understood: a reader skips what it does not know, so a reader that knows nothing in a file
//! would return an empty conversation, or one that no provider accepts. Both are errors.

use crate::share::Share;
use crate::skim::Skim;
use crate::{Document, Format, ReadError, Warning};
use codelet_context::message::{Message, Nature, Opaque, Part};
use codelet_context::tokens::estimate_message;
use serde_json::Value;

/// Checks what was read from a file.
///
/// # Errors
/// If nothing was found although the file has entries, if most entries that should have content could not be read, or
/// if the messages have the format of a program or provider that is not supported.
pub(crate) fn check(bytes: &[u8], format: Format, document: &Document) -> Result<(), ReadError> {
    for block in document.messages.iter().flat_map(opaque) {
        if let Some(of) = foreign(block) {
            return Err(ReadError::Foreign { of });
        }
        if is_langchains(block) {
            let found = Format::Langchain;
            return Err(ReadError::OtherForm { asked: format, found });
        }
    }
    check_any(bytes, format, document)?;
    let messages = document.messages.len();
    let unread = entries_not_read(document);
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
    share(document).check(format)
}

/// Checks that anything at all was read.
///
/// # Errors
/// If nothing was found although the file has entries.
pub(crate) fn check_any(bytes: &[u8], format: Format, document: &Document) -> Result<(), ReadError> {
    let unread = || entries_not_read(document) + unknown_entries(document) + listed(bytes, format);
    match document.messages.is_empty() && unread() > 0 {
        true => Err(ReadError::NothingRead(format)),
        false => Ok(()),
    }
}

/// Returns how much of the content was understood: of entries by their readers' reports, of messages by unread blocks.
fn share(document: &Document) -> Share {
    let told = document.warnings.iter().find_map(|warning| match warning {
        Warning::Missed { missed, all } => Some(Share {
            all: *all,
            missed: *missed,
        }),
        _ => None,
    });
    let mut share = told.unwrap_or_default();
    let blocks = document.messages.iter().flat_map(opaque);
    let strange = blocks.filter(|block| lacks_its_kind(block));
    share.missed += strange.map(|block| block.json().len()).sum::<usize>();
    // If entries were counted, their bytes include these.
    if told.is_none() && share.missed > 0 {
        let tokens: u64 = document.messages.iter().map(estimate_message).sum();
        share.all = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(BYTES);
    }
    share
}

/// Bytes per estimated token.
const BYTES: usize = 4;

/// Returns whether a block has a supported name but lacks the fields of that kind: a similar format of another program.
fn lacks_its_kind(block: &Opaque) -> bool {
    block.nature == Nature::Unknown
        && block.value.get("type").is_some_and(Value::is_string)
        && matches!(
            &*block.kind,
            "text" | "tool_use" | "tool_result" | "function_call" | "custom_tool_call"
        )
}

/// One block of a new kind does not make another format.
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

/// Counts the messages in a file that is one object, if it lists any.
fn listed(bytes: &[u8], format: Format) -> usize {
    let names = format.form().lists;
    let file = Skim::new(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let lists = names.iter().filter_map(|name| file.get(name));
    lists.map(|list| list.items().count()).sum()
}

/// Returns the unread blocks of a message, including those in tool results.
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

/// Returns the format of a block, if it is recognized but not supported.
fn foreign(block: &Opaque) -> Option<&'static str> {
    let has = |name| block.value.get(name).is_some();
    match &*block.kind {
        "tool-call" | "tool-result" if has("toolCallId") && has("toolName") => Some("the AI SDK's ModelMessage"),
        "" if has("toolUse") || has("toolResult") => Some("Bedrock's Converse interface"),
        _ => None,
    }
}

/// Returns whether a block is a message of LangChain, which has a format of its own.
fn is_langchains(block: &Opaque) -> bool {
    let has = |name| block.value.get(name).is_some();
    matches!(&*block.kind, "human" | "ai" | "tool" | "constructor") && (has("content") || has("kwargs"))
}

/// Returns whether a message consists only of blocks whose kind the format does not have.
fn is_strange(message: &Message, format: Format) -> bool {
    let strange = |part: &Part| match part {
        Part::Opaque(block) => block.nature == Nature::Unknown && !is_of_form(block, format),
        // A result without a call id in which nothing could be read.
        Part::ToolResult(result) => {
            let is_unread = |part: &Part| matches!(part, Part::Opaque(block) if !is_of_form(block, format));
            result.call_id.is_empty() && !result.output.is_empty() && result.output.iter().all(is_unread)
        }
        _ => false,
    };
    !message.parts.is_empty() && message.parts.iter().all(strange)
}

/// Returns whether a block's name fits the format's naming, including future kinds.
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
