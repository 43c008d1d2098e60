//! The lines of a call that stand before any output of it: what was run, or what was asked for.

use crate::index::{Block, Line, NONE};
use crate::message::{ActionKind, ToolCall};
use std::ops::Range;

/// The lines of a command, or else what a call says first and nothing that could be listed among commands. `lines` are those
/// of the call's block, which names no file in its header. From [`NONE`] on if there are none.
pub(crate) fn of(call: &ToolCall, block: &Block, lines: &[Line]) -> Range<u32> {
    if block.lines.is_empty() {
        return NONE..NONE;
    }
    let Some(bytes) = command_in(block.text.as_str(), call) else {
        return block.lines.start..block.lines.start;
    };
    let before = |byte: usize| lines.partition_point(|line| (line.start as usize) < byte);
    let (start, end) = (before(bytes.start), before(bytes.end));
    // Of what looks like a line number and nothing else, there is no line.
    if start >= lines.len() {
        return block.lines.start..block.lines.start;
    }
    // A remark above a command is not what was run.
    let is_remark = |line: &&Line| block.text.as_str()[line.start as usize..].trim_start().starts_with('#');
    let remarks = lines[start..end].iter().take_while(is_remark).count();
    let start = if start + remarks < end { start + remarks } else { start };
    block.lines.start + start as u32..block.lines.start + end as u32
}

/// Where a call's command line stands among its parameters, as lines of its own.
fn command_in(text: &str, call: &ToolCall) -> Option<Range<usize>> {
    let command = call.action.command.as_deref().filter(|line| !line.trim().is_empty())?;
    if call.action.kind != ActionKind::Command {
        return None;
    }
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|&byte| byte == b'\n');
    let mut places = text.match_indices(command).map(|(at, _)| at..at + command.len());
    places.find(|place| {
        let before = place.start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        is_edge(before) && is_edge(text.as_bytes().get(place.end))
    })
}
