//! The digest: the chosen lines of the old part, in their order, for a model to read.
//!
//! First the files, a path a line: those that were only read, and under `[edited]`, `[new]` and `[deleted]` the others. Then,
//! unit by unit, a header in brackets with the tool, the file and the handle, and the lines beneath it, `…` where lines are
//! left out. Commands of which nothing else is shown stand together under `[ran]`, and under `[failed]`, `[refused]` and
//! `[stopped]` those that have not done what they say; what little came of one stands beneath it behind an arrow. Lines are shown as they were, but for line
//! numbers in front; one that begins like a line of the summary gets a space before it, and one that names a reminder's tag
//! is left out, so that nothing quoted can pose as more than a quotation.

use crate::cut;
use crate::hash::QuickMap;
use crate::index::{Block, BlockKind, Came, Index, NONE};
use crate::message::{Message, Part};
use crate::outcome::FileState;
use crate::pack::{self, Unit};
use crate::posing;
use crate::recall::Handle;
use crate::scope::Scope;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The units of a history: a call with its results, or a text.
pub(crate) struct Units {
    /// Which they are.
    pub scope: Scope,
    /// What the choice needs to know of each.
    pub units: Vec<Unit>,
    headers: Vec<String>,
    /// Changed files that no call is about: commands have changed them. With how they were left.
    pub unlisted: Vec<(FileState, String)>,
    /// By the line that a path stands in: how the file was left, if it was not only read.
    pub states: QuickMap<u32, FileState>,
}

/// The mark where lines are left out, with its line break.
pub(crate) const GAP: &str = "…\n";
/// No line is put together again beyond this, in bytes: each piece asks the whole once more, and nobody copies so long a line.
const JOINED: usize = 16 * 1024;
/// Longest name of a file in a header, in bytes.
const LONGEST_NAME: usize = 80;

/// The units of this scope. One of which something may be quoted gets a header, and `handle` gives the name under which each unit
/// in turn can be read back. `state` tells how a file was left.
pub(crate) fn units(
    index: &Index,
    messages: &[Arc<Message>],
    scope: Scope,
    mut handle: impl FnMut() -> Option<Handle>,
    state: impl Fn(u64) -> Option<FileState>,
) -> Units {
    let mut units: Vec<Unit> = Vec::new();
    let mut headers = Vec::new();
    let mut states = QuickMap::default();
    for &number in &scope.blocks {
        let block = &index.blocks[number as usize];
        if block.subject {
            let line = block.lines.start;
            let state = state(block.path);
            if let Some(state) = state.filter(|&state| state != FileState::Read) {
                states.insert(line, state);
            }
        }
        if block.call.is_some() {
            continue;
        }
        let handle = handle();
        let header = match scope.may_be_quoted[units.len()] {
            true => header(index, number, messages, handle),
            false => String::new(),
        };
        let Range { start: first, end } = block.lead.clone();
        units.push(Unit {
            header: header.len() as u32,
            first,
            end,
            answer: block.answer.start,
            answer_end: block.answer.end,
            came: block.came,
        });
        headers.push(header);
    }
    Units {
        scope,
        units,
        headers,
        unlisted: Vec::new(),
        states,
    }
}

fn header(index: &Index, number: u32, messages: &[Arc<Message>], handle: Option<Handle>) -> String {
    let block = &index.blocks[number as usize];
    let is_stale = index.is_stale(number as usize);
    // Where a change is of several files, each line stands beneath one that names its own.
    let is_about_one = block.subject && index.heads_of(block).is_empty();
    let part = &messages[block.message as usize].parts[block.part as usize];
    let name = match (block.kind, part) {
        (BlockKind::Call, Part::ToolCall(call)) => {
            let tool = cut::plain_name(&call.tool);
            match call.action.paths.first().filter(|_| is_about_one) {
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
    // What was not done is told from what was, and what a file was from what it is.
    let came = match block.came {
        Came::Done if block.undone => " (undone since)",
        Came::Done if is_stale && !block.change => " (changed since)",
        Came::Done => "",
        Came::Failed => " (failed)",
        Came::Refused => " (refused)",
        Came::Stopped => " (stopped)",
    };
    match handle {
        Some(handle) => format!("[{name}{came} {handle}]\n"),
        None => format!("[{name}{came}]\n"),
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

/// Lines that are taken, by where they are shown.
#[derive(Default)]
struct Shown<'a> {
    /// By unit and block: those of its lines that stand in its body.
    blocks: Vec<(u32, u32, &'a [u32])>,
    /// Files of which no more is shown than what became of them.
    files: Vec<(FileState, Cow<'a, str>)>,
}

/// The taken lines, which ascend, as text; at most as long as the choice of the lines has counted.
pub(crate) fn render(index: &Index, units: &Units, taken: &[u32]) -> String {
    // With room for a header or a mark beside each.
    let bytes = taken
        .iter()
        .map(|&line| usize::from(index.lines[line as usize].bytes) + 8);
    let mut text = String::with_capacity(bytes.sum());
    let Shown { blocks, files } = sorted(index, units, taken);
    list_files(&mut text, files);
    let mut unit = NONE;
    // What came of the commands that are being listed.
    let mut listing = None;
    for (at, &(owner, number, taken)) in blocks.iter().enumerate() {
        if owner != unit {
            unit = owner;
            let its = &units.units[owner as usize];
            let here = blocks[at..].iter().take_while(|next| next.0 == owner);
            let mut lines = here.flat_map(|(_, _, taken)| taken.iter());
            let is_listed = its.is_command(taken[0]) && lines.all(|&line| its.is_listed(line));
            let came = is_listed.then_some(its.came);
            match came {
                None => text.push_str(&units.headers[owner as usize]),
                Some(came) if listing != Some(came) => text.push_str(pack::list_header(came)),
                Some(_) => {}
            }
            listing = came;
        }
        let its = &units.units[owner as usize];
        let is_said = |line: &u32| listing.is_none() || its.is_listed(*line);
        let lines = body(&index.blocks[number as usize]).filter(is_said);
        let is_answer = |line: u32| listing.is_some() && its.is_answer(line);
        let goes_on = quote(&mut text, index, number, lines, taken, is_answer);
        // What is left out of one command's end is not to look as if the next one went on with it.
        if goes_on && listing.is_some() {
            text.push_str(GAP);
        }
    }
    text
}

/// The taken lines by where they are shown; the results of a unit follow its call, wherever they stood.
fn sorted<'a>(index: &'a Index, units: &'a Units, taken: &'a [u32]) -> Shown<'a> {
    let mut shown = Shown::default();
    let mut rest = taken;
    let mut at = 0;
    while let [line, ..] = *rest {
        let blocks = &units.scope.blocks[at..];
        at += blocks.partition_point(|&block| index.blocks[block as usize].lines.end <= line);
        let Some(&number) = units.scope.blocks.get(at) else {
            break;
        };
        let block = &index.blocks[number as usize];
        let (here, behind) = rest.split_at(rest.partition_point(|&line| line < block.lines.end));
        rest = behind;
        let in_body = &here[usize::from(block.subject && line == block.lines.start)..];
        if in_body.len() < here.len()
            && let Some(path) = posing::quotable(index.text_of(block, line as usize))
        {
            let state = units.states.get(&line).copied().unwrap_or(FileState::Read);
            shown.files.push((state, path));
        }
        if !in_body.is_empty() {
            shown.blocks.push((units.scope.unit_of[at], number, in_body));
        }
    }
    let unlisted = units.unlisted.iter();
    let unlisted = unlisted.map(|(state, path)| (*state, Cow::Borrowed(path.as_str())));
    shown.files.extend(unlisted);
    shown.files.sort_by_key(|&(state, _)| state);
    shown.blocks.sort_unstable_by_key(|&(owner, number, _)| (owner, number));
    shown
}

/// Lists files under what became of them.
fn list_files(text: &mut String, files: Vec<(FileState, Cow<'_, str>)>) {
    let mut listed = FileState::Read;
    for (state, path) in files {
        if state != listed {
            text.push_str(pack::files_header(state));
            listed = state;
        }
        push_line(text, &path);
    }
}

/// Quotes what is taken of these lines of a block, with a mark where lines are left out between others; each that is an
/// answer, behind an arrow. Says whether some are left out behind the last.
fn quote(
    text: &mut String,
    index: &Index,
    number: u32,
    lines: impl Iterator<Item = u32>,
    taken: &[u32],
    is_answer: impl Fn(u32) -> bool,
) -> bool {
    let block = &index.blocks[number as usize];
    let (mut gap, mut last) = (false, None);
    let mut taken = taken.iter().peekable();
    for line in lines {
        let is_taken = taken.next_if(|&&taken| taken == line).is_some();
        let quoted = is_taken.then(|| index.text_of(block, line as usize));
        let Some(quoted) = quoted.and_then(posing::quotable) else {
            gap = true;
            continue;
        };
        if is_answer(line) {
            text.push_str(pack::ANSWER);
            text.push_str(&quoted);
            text.push('\n');
            continue;
        }
        if gap {
            text.push_str(GAP);
            gap = false;
        } else if last == line.checked_sub(1) {
            join(text, index.between(block, line), &quoted);
            last = Some(line);
            continue;
        }
        push_line(text, &quoted);
        last = Some(line);
    }
    gap
}

/// The lines of a block but for the path that stands in the list of files.
fn body(block: &Block) -> Range<u32> {
    block.lines.start + u32::from(block.subject)..block.lines.end
}

/// A quoted line behind the one before it; if both are pieces of one long line, what stands `between` them there. So what
/// is copied from here is what stood there.
fn join(text: &mut String, between: Option<&str>, line: &str) {
    if let Some(between) = between.filter(|_| text.ends_with('\n'))
        && let start = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1)
        && text.len() - start <= JOINED
    {
        let joined = format!("{}{between}{line}", &text[start..text.len() - 1]);
        // Two pieces may be harmless and the whole may not.
        if posing::quotable(&joined).is_some_and(|quotable| *quotable == *joined) {
            text.truncate(start);
            text.push_str(&joined);
            text.push('\n');
            return;
        }
    }
    push_line(text, line);
}

/// A quoted line, told from the engine's own.
pub(crate) fn push_line(text: &mut String, line: &str) {
    if posing::poses(line.as_bytes()) {
        text.push(' ');
    }
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
pub(crate) mod tests;
