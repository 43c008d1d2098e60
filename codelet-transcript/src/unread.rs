//! Checks that a file was understood: a reader skips what it does not know, so a reader that knows nothing in a file
//! would return an empty conversation, or one that no provider accepts. Both are errors.

use crate::share::Share;
use crate::skim::Skim;
use crate::{Document, Format, ReadError, Warning};
use codelet_context::message::{Message, Nature, Opaque, Part};
use serde_json::Value;

/// Checks what was read from a file.
///
/// # Errors
/// If nothing was found although the file has entries, if too little of the content was understood, or if the messages
/// have a format of their own.
pub(crate) fn check(bytes: &[u8], format: Format, document: &Document) -> Result<(), ReadError> {
    if document.messages.iter().flat_map(opaque).any(is_langchains) {
        let found = Format::Langchain;
        return Err(ReadError::OtherForm { asked: format, found });
    }
    check_any(bytes, format, document)?;
    share(bytes, format, document).check(format)
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
fn share(bytes: &[u8], format: Format, document: &Document) -> Share {
    let told = document.warnings.iter().find_map(|warning| match warning {
        Warning::Missed { missed, all } => Some(Share {
            all: *all,
            missed: *missed,
        }),
        _ => None,
    });
    // If entries were counted, their bytes include those of the blocks.
    let mut share = told.unwrap_or(Share {
        all: bytes.len(),
        missed: 0,
    });
    let blocks = document.messages.iter().flat_map(opaque);
    let strange = blocks.filter(|block| lacks_its_kind(block) || !is_of_form(block, format));
    share.missed += strange.map(|block| block.json().len()).sum::<usize>();
    share
}

/// Returns whether a block has a supported name but lacks the fields of that kind: a similar format of another program.
fn lacks_its_kind(block: &Opaque) -> bool {
    block.nature == Nature::Unknown
        && block.value.get("type").is_some_and(Value::is_string)
        && matches!(
            &*block.kind,
            "text" | "tool_use" | "tool_result" | "function_call" | "custom_tool_call"
        )
}

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

/// Returns whether a block is a message of LangChain, which has a format of its own.
fn is_langchains(block: &Opaque) -> bool {
    let has = |name| block.value.get(name).is_some();
    matches!(&*block.kind, "human" | "ai" | "tool" | "constructor") && (has("content") || has("kwargs"))
}

/// Returns whether a block's name fits the format's naming, including future kinds.
fn is_of_form(block: &Opaque, format: Format) -> bool {
    let kind = &*block.kind;
    match format {
        _ if block.nature != Nature::Unknown => true,
        Format::Anthropic | Format::Openai | Format::Responses => {
            let is_spelled = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            !kind.is_empty() && kind.chars().all(is_spelled)
        }
        _ => true,
    }
}
