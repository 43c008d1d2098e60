//! The digest: the chosen lines of the old part, in their order, for a model to read.
//!
//! First the files, a path a line. Then, unit by unit, a header in brackets with the tool, the file and the handle, and
//! the lines beneath it, `…` where lines are left out. Commands without output stand together under `[ran]`. Lines are
//! shown as they were, but for line numbers in front; one that begins like a header gets a space before it, and one that
//! names a reminder's tag is left out, so that nothing quoted can pose as more than a quotation.

use crate::cut;
use crate::index::{Block, BlockKind, Index, NONE};
use crate::message::{Message, Part};
use crate::pack::{LIST_BYTES, Unit};
use crate::recall::Handle;
use std::ops::Range;
use std::sync::Arc;

/// The units of a history: a call with its results, or a text.
pub(crate) struct Units {
    /// For each block: its unit.
    pub of_block: Vec<u32>,
    /// What the choice needs to know of each.
    pub units: Vec<Unit>,
    headers: Vec<String>,
}

const LIST_HEADER: &str = "[ran]\n";
const GAP: &str = "…\n";
/// No quoted line may contain the name of a reminder's tag.
const TAG: &str = "system-reminder";
/// Longest name of a file in a header, in bytes.
const LONGEST_NAME: usize = 80;

/// Groups the blocks of a history into units; `handle` gives the name under which a unit can be read back.
pub(crate) fn units(
    index: &Index,
    messages: &[Arc<Message>],
    mut handle: impl FnMut(usize) -> Option<Handle>,
) -> Units {
    debug_assert_eq!(
        LIST_HEADER.len(),
        LIST_BYTES as usize,
        "the list's header is paid for as it is"
    );
    let mut units = Units {
        of_block: Vec::with_capacity(index.blocks.len()),
        units: Vec::new(),
        headers: Vec::new(),
    };
    for (number, block) in index.blocks.iter().enumerate() {
        if let Some(call) = block.call {
            units.of_block.push(units.of_block[call as usize]);
            continue;
        }
        let header = header(block, messages, handle(number));
        units.of_block.push(units.units.len() as u32);
        units.units.push(Unit {
            header: header.len() as u32,
            first: match block.kind {
                BlockKind::Call if !block.subject && !block.lines.is_empty() => block.lines.start,
                _ => NONE,
            },
        });
        units.headers.push(header);
    }
    units
}

fn header(block: &Block, messages: &[Arc<Message>], handle: Option<Handle>) -> String {
    let part = &messages[block.message as usize].parts[block.part as usize];
    let name = match (block.kind, part) {
        (BlockKind::Call, Part::ToolCall(call)) => {
            let tool = cut::plain_name(&call.tool);
            match call.action.paths.first().filter(|_| block.subject) {
                Some(path) => format!("{tool} {}", short(path)),
                None => tool,
            }
        }
        (BlockKind::Prompt, _) => String::from("user"),
        (BlockKind::Answer, _) => String::from("assistant"),
        (BlockKind::Thinking, _) => String::from("thinking"),
        (BlockKind::Injected, _) => String::from("note"),
        _ => String::from("output"),
    };
    match handle {
        Some(handle) => format!("[{name} {handle}]\n"),
        None => format!("[{name}]\n"),
    }
}

/// A path's last two components, on one line: the whole stands in the list of files.
fn short(path: &str) -> String {
    let start = path.rmatch_indices(['/', '\\']).nth(1).map_or(0, |(at, _)| at + 1);
    let name = &path[start..];
    let name = &name[name.ceil_char_boundary(name.len().saturating_sub(LONGEST_NAME))..];
    name.chars()
        .map(|c| {
            if c.is_control() || matches!(c, '[' | ']') {
                '_'
            } else {
                c
            }
        })
        .collect()
}

/// The taken lines as text; at most as long as the choice of the lines has counted.
pub(crate) fn render(index: &Index, units: &Units, taken: &[bool]) -> String {
    let mut text = String::new();
    let mut shown: Vec<(u32, u32)> = Vec::new();
    for (number, block) in index.blocks.iter().enumerate() {
        if block.subject && taken[block.lines.start as usize] {
            push_line(&mut text, index.text_of(block, block.lines.start as usize));
        }
        if body(block).any(|line| taken[line as usize]) {
            shown.push((units.of_block[number], number as u32));
        }
    }
    // The results of a unit follow its call, wherever they stood.
    shown.sort_unstable();
    let mut unit = NONE;
    let mut listing = false;
    for (at, &(owner, number)) in shown.iter().enumerate() {
        let block = &index.blocks[number as usize];
        if owner != unit {
            unit = owner;
            let has_output = shown.get(at + 1).is_some_and(|next| next.0 == owner);
            let listed = block.kind == BlockKind::Call && units.units[owner as usize].first != NONE && !has_output;
            if !listed {
                text.push_str(&units.headers[owner as usize]);
            } else if !listing {
                text.push_str(LIST_HEADER);
            }
            listing = listed;
        }
        let mut gap = false;
        for line in body(block) {
            let quoted = if taken[line as usize] {
                index.text_of(block, line as usize)
            } else {
                TAG
            };
            if quoted.contains(TAG) {
                gap = true;
                continue;
            }
            if gap {
                text.push_str(GAP);
                gap = false;
            }
            push_line(&mut text, quoted);
        }
    }
    text
}

/// The lines of a block but for the path that stands in the list of files.
fn body(block: &Block) -> Range<u32> {
    block.lines.start + u32::from(block.subject)..block.lines.end
}

fn push_line(text: &mut String, line: &str) {
    if line.starts_with('[') {
        text.push(' ');
    }
    text.push_str(line);
    text.push('\n');
}
