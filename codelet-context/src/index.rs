//! The index of a history: its lines, and the things in them that may be needed again.
//!
//! Everything here is computed when a message is appended, in time proportional to its bytes. A compaction then only
//! weighs and chooses.

use crate::authored::{self, Authored};
use crate::body::Body;
use crate::codes;
use crate::encoded::is_encoded;
use crate::exchange::Calls;
use crate::files::Files;
use crate::hash::{self, ByHash};
use crate::items::{ItemKind, Items, Sighting};
use crate::lead;
use crate::message::{Action, ActionKind, Message, Origin, Part, ReminderKind, Role, Text, ToolCall};
use crate::names::{self, Name};
use crate::posing;
use crate::replaced;
use crate::todo;
use crate::tokens;
use crate::undoable::Undoable;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use self::arguments::Arguments;
pub use self::block::{Block, BlockKind, Came};
use self::found::Found;
pub use self::line::Line;
pub(crate) use self::line::pieces;
use self::line::{Gutter, diff_sign, is_hardly_words, mark_alike, normal_hash, piece_end, whole_hash};
use self::line::{LITTLE, LONGEST_LINE, MANY_ALIKE, POSES, REMOVED};
use self::noted::Noted;
use self::report::is_report;
use self::standing::{Standing, Taken};
pub use crate::items::NONE;

mod amended;
mod answered;
mod arguments;
mod asked;
mod block;
mod found;
mod line;
mod noted;
mod patched;
mod report;
mod standing;
mod undone;

/// Lines of this many characters are things of their own.
const LINE_BYTES: std::ops::RangeInclusive<usize> = 16..=LONGEST_LINE;
/// A command is a thing from this many characters on: `make` is worth knowing.
const COMMAND_BYTES: usize = 4;
/// Two lines must have this many bytes together to be remembered as neighbours.
const LINE_PAIR_BYTES: usize = 30;
/// Names further apart than this do not belong together, in bytes.
const PAIR_DISTANCE: u32 = 120;

/// The index; see the module.
#[derive(Clone, Default)]
pub struct Index {
    pub blocks: Vec<Block>,
    pub lines: Vec<Line>,
    /// The items of all lines, one after the other.
    pub line_items: Vec<u32>,
    pub items: Items,
    /// The calls that have no answer yet.
    open: Calls<Arc<str>, Open>,
    files: Files,
    authored: Authored,
    /// The blocks that write patches, by the names of their files.
    patches: ByHash<u32>,
    /// The last component of each file's path, as a name.
    names_of_paths: ByHash<u64>,
    /// Lines that name a file of a change of several, ascending: what stands beneath one in its block is of that file.
    pub heads: Vec<u32>,
    /// Lines of outputs that say that something went wrong, where few of an output do; see [`severe`].
    pub severe: Vec<u32>,
    /// Lines that searches have found.
    pub found: Found,
    /// What a choice of lines asks of all blocks.
    pub noted: Noted,
    /// The newest block whose call changed a file.
    changed: ByHash<u32>,
    /// By file: the blocks that show it or change it.
    about: ByHash<Vec<u32>>,
    standing: Standing,
    /// By file: the blocks whose calls have changed it, with what each took away.
    undoable: Undoable<(u32, Taken)>,
    /// Messages indexed so far.
    pub messages: u32,
    /// Estimated tokens so far.
    pub position: u32,
    scratch: Scratch,
    /// The agent has a tool that reads files, so it looks at them with commands only by the way.
    pub has_reader: bool,
}

/// A call that has no answer yet.
#[derive(Clone, Default)]
struct Open {
    block: u32,
    tool: Arc<str>,
    action: Action,
    /// It is a command that only looks at files.
    is_look: bool,
    /// What it takes away, it takes away wherever that stands in its file.
    is_everywhere: bool,
}

/// What is of use only while a message is taken in. It stays between messages for its room, so that no line allocates.
#[derive(Clone, Default)]
struct Scratch {
    /// The first block of the message.
    first_block: u32,
    /// The blocks that the message has things from, once for each thing; until the next message.
    used: Vec<u32>,
    /// The call runs a command.
    command: bool,
    /// The call applies a patch, whose lines say by their sign what goes.
    patch: bool,
    /// The block has codes for a terminal.
    coloured: bool,
    /// The parts of the call's text that it takes away from a file, in order and apart.
    removed: Vec<Range<usize>>,
    /// Those that say what it is for.
    reasons: Vec<Range<usize>>,
    /// What the lines of the block have.
    seen: Vec<Sighting>,
    /// The block's pairs of lines, with the lines that they end at, and their numbers as items.
    neighbours: Vec<Sighting>,
    ends: Vec<u32>,
    pair_ids: Vec<u32>,
    /// The names in the line.
    names: Vec<Name>,
}

/// Whether one of these parts, which are in order and apart, holds this place.
fn is_in(parts: &[Range<usize>], at: usize) -> bool {
    let next = parts.partition_point(|part| part.end <= at);
    parts.get(next).is_some_and(|part| part.start <= at)
}

impl Scratch {
    /// Whether the call takes away what begins here.
    fn is_removed(&self, start: usize) -> bool {
        is_in(&self.removed, start)
    }

    /// Leaves nothing of the block.
    fn end_block(&mut self) {
        (self.command, self.patch) = (false, false);
        self.removed.clear();
        self.reasons.clear();
        self.seen.clear();
        self.neighbours.clear();
        self.ends.clear();
        self.pair_ids.clear();
    }
}

impl Index {
    /// Takes in the next message.
    pub fn append(&mut self, message: &Message) {
        self.scratch.first_block = self.blocks.len() as u32;
        self.scratch.used.clear();
        for (number, part) in message.parts.iter().enumerate() {
            let estimate = u32::try_from(tokens::estimate_part(part)).unwrap_or(u32::MAX);
            self.position = self.position.saturating_add(estimate);
            self.part(message.role, number as u32, part, None);
        }
        self.messages += 1;
    }

    /// Takes in a part of a message, or of the answer to the call of the block that `answers` names.
    fn part(&mut self, role: Role, number: u32, part: &Part, answers: Option<(u32, BlockKind)>) {
        match part {
            // What the engine said of the way to go on is said anew where it is needed, and so is how things stand: what was
            // said of that before is no longer so.
            Part::Text(text) if role == Role::User && answers.is_none() && is_said_anew(text.origin) => {}
            Part::Text(text) => self.text(role, number, text, answers),
            Part::Thinking(thinking) => {
                self.block(BlockKind::Thinking, number, None, thinking.body.clone(), 0);
            }
            Part::ToolCall(call) => self.called(number, call),
            Part::ToolResult(result) => self.answered(role, number, result),
            Part::Image(_) | Part::Opaque(_) => {}
        }
    }

    fn text(&mut self, role: Role, number: u32, text: &Text, answers: Option<(u32, BlockKind)>) {
        let kind = match (role, text.origin, answers) {
            (_, _, Some((_, kind))) => kind,
            (Role::User, Origin::Own, None) => BlockKind::Prompt,
            (Role::Assistant, _, None) => BlockKind::Answer,
            _ => BlockKind::Injected,
        };
        // What it tells is merged into the next summary as facts.
        let earlier = match text.origin {
            Origin::Summary => crate::compact::quoted_in(text.body.as_str()).map(Body::from),
            _ => None,
        };
        let body = earlier.unwrap_or_else(|| text.body.clone());
        if role != Role::System {
            let call = answers.map(|(call, _)| call).filter(|&call| call != NONE);
            let path = call.map_or(0, |call| self.blocks[call as usize].path);
            self.block(kind, number, call, body, path);
        }
    }

    fn called(&mut self, number: u32, call: &ToolCall) {
        self.authored.note(call);
        let block = self.blocks.len() as u32;
        let patches = authored::patches(call).into_iter();
        self.patches.extend(patches.map(|file| (file, block)));
        let look = match &call.action.command {
            Some(line) if call.action.paths.is_empty() => line.look(),
            _ => None,
        };
        let open = Open {
            block,
            tool: call.tool.clone(),
            action: call.action.clone(),
            is_look: look.is_some(),
            is_everywhere: replaced::is_everywhere(call),
        };
        self.open.called(call.id.clone(), open);
        let subject = call.action.paths.first().map(|path| &**path).or(look);
        let subject = subject.filter(|path| !path.is_empty());
        let path = subject.map_or(0, |path| self.files.file(path));
        if let Some(subject) = subject {
            let name = subject.rsplit(['/', '\\']).next().unwrap_or_default();
            self.names_of_paths.insert(path, hash::bytes(name.as_bytes()));
        }
        let arguments = Arguments::of(call);
        let patch = call.action.kind == ActionKind::Change && replaced::is_patch(&arguments.text);
        self.scratch.removed = arguments.removed;
        self.scratch.reasons = arguments.reasons;
        self.scratch.patch = patch;
        self.scratch.command = call.action.kind == ActionKind::Command;
        self.block(BlockKind::Call, number, None, Body::new(arguments.text), path);
        if let Some(block) = self.blocks.last_mut() {
            block.subject = arguments.subject && !block.lines.is_empty();
            if call.action.kind == ActionKind::Change {
                let begins = |line: &u32| self.lines[*line as usize].start as usize;
                let sections = replaced::sections(block.text.as_str());
                let is_head = |line: &u32| sections.binary_search(&begins(line)).is_ok();
                self.heads.extend(block.lines.clone().filter(is_head));
            }
            block.change = call.action.kind == ActionKind::Change;
            block.whole = block.change && replaced::is_whole(call);
            block.alone = match &call.action.command {
                Some(line) => line.looks_at_one(),
                None => call.action.paths.len() <= 1,
            };
            block.list = call.action.kind == ActionKind::Todo && todo::is_whole(&call.parameters);
            if !block.subject {
                block.lead = lead::of(call, block, &self.lines[block.lines.start as usize..]);
            }
        }
        let made = &self.blocks[block as usize];
        let line = made.lines.clone().next();
        let line = line.map_or("", |line| self.text_of(made, line as usize));
        self.noted.call(block, made, line);
    }

    fn block(&mut self, kind: BlockKind, part: u32, call: Option<u32>, text: Body, path: u64) {
        let first = self.lines.len() as u32;
        self.noted.begin(call);
        if kind == BlockKind::Prompt {
            self.noted.prompt = Some(self.blocks.len() as u32);
        }
        self.blocks.push(Block {
            kind,
            message: self.messages,
            part,
            call,
            text: text.clone(),
            lines: first..first,
            position: self.position,
            path,
            subject: false,
            change: false,
            whole: false,
            alone: call
                .and_then(|call| self.blocks.get(call as usize))
                .is_some_and(|call| call.alone),
            undone: false,
            came: Came::Done,
            look: false,
            list: false,
            lead: NONE..NONE,
            answer: NONE..NONE,
        });
        if path != 0 {
            self.about.entry(path).or_default().push(self.blocks.len() as u32 - 1);
        }
        let text = text.as_str();
        let gutter = Gutter::of(text, matches!(kind, BlockKind::Search | BlockKind::Command));
        self.scratch.coloured = memchr::memchr(codes::ESCAPE as u8, text.as_bytes()).is_some();
        // What a harness says within an output is not quoted, nor is it known from there.
        let said = if kind.is_output() {
            posing::reminders(text)
        } else {
            Vec::new()
        };
        let mut said = said.into_iter().peekable();
        let mut previous = None;
        let mut start = 0;
        while start < text.len() {
            let rest = &text[start..];
            let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            let end = start + length;
            if let Some(said) = said.next_if(|said| said.start < end) {
                start = said.end + 1;
                continue;
            }
            while start < end {
                let piece = piece_end(text, start, end);
                previous = self.line(kind, text, start, piece, gutter, previous);
                start = piece;
            }
            start = end + 1;
        }
        let last = self.lines.len() as u32;
        if let Some(block) = self.blocks.last_mut() {
            block.lines = first..last;
        }
        if matches!(kind, BlockKind::Command | BlockKind::Search | BlockKind::Other) && last - first > MANY_ALIKE {
            mark_alike(text, &mut self.lines[first as usize..]);
        }
        self.count();
    }

    /// Takes in one line; returns its hash and length for the next, if it is more than white space.
    fn line(
        &mut self,
        kind: BlockKind,
        text: &str,
        start: usize,
        end: usize,
        gutter: Option<Gutter>,
        previous: Option<(u64, usize)>,
    ) -> Option<(u64, usize)> {
        let line = text[start..end].trim_end();
        // A line that is coloured is the same thing as one that is not.
        let shown = match self.scratch.coloured {
            true => codes::shown(line),
            false => Cow::Borrowed(line),
        };
        let bytes = shown.as_bytes();
        // Behind the number of a blank line stands nothing but the sign that was trimmed.
        let prefix = gutter.map_or(0, |gutter| gutter.before(&text.as_bytes()[start..end]));
        let prefix = prefix.min(bytes.len());
        // The same of a blank line that a patch adds or takes away.
        let is_patched = kind == BlockKind::Call && self.scratch.patch && matches!(bytes, b"+" | b"-");
        if is_patched || shown[prefix..].trim_start().is_empty() {
            return previous;
        }
        // A command is worth knowing whatever it is given.
        if !self.scratch.command && is_encoded(&bytes[prefix..]) {
            return previous;
        }
        if matches!(kind, BlockKind::Search | BlockKind::Command) {
            self.found.note(bytes);
        }
        let scratch = &mut self.scratch;
        let is_gone = kind == BlockKind::Call && scratch.is_removed(start);
        let removed = is_gone || kind == BlockKind::Call && scratch.patch && bytes.first() == Some(&b'-');
        let says_little = is_hardly_words(&bytes[prefix..]) || is_in(&scratch.reasons, start);
        let line_kind = if removed { BlockKind::Other } else { kind };
        let (norm, length) = normal_hash(&bytes[prefix + diff_sign(&bytes[prefix..])..]);
        let items = (self.line_items.len() + scratch.seen.len()) as u32;
        let see = |kind, place, hash| Sighting { hash, kind, place };
        scratch.names.clear();
        names::scan(&bytes[prefix..], &mut scratch.names);
        for &name in &scratch.names {
            scratch.seen.push(see(ItemKind::Name, kind, name.hash));
        }
        let mut before: Option<Name> = None;
        for &name in &scratch.names {
            if let Some(before) = before
                && before.hash != name.hash
                && name.at - before.at <= PAIR_DISTANCE
            {
                let (a, b) = (before.hash.min(name.hash), before.hash.max(name.hash));
                scratch.seen.push(see(ItemKind::Pair, line_kind, hash::pair(a, b)));
            }
            before = Some(name);
        }
        let is_command = scratch.command && previous.is_none() && length >= COMMAND_BYTES;
        if LINE_BYTES.contains(&length) || is_command && length <= LONGEST_LINE {
            scratch.seen.push(see(ItemKind::Line, line_kind, whole_hash(norm)));
        }
        if let Some((before, before_length)) = previous
            && before_length + length >= LINE_PAIR_BYTES
        {
            let both = hash::pair(hash::pair(before, norm), 4);
            scratch.neighbours.push(see(ItemKind::LinePair, line_kind, both));
            scratch.ends.push(self.lines.len() as u32);
        }
        self.lines.push(Line {
            start: start as u32,
            bytes: line.len() as u16,
            front: prefix as u8
                | if posing::poses(&bytes[prefix..]) { POSES } else { 0 }
                | if is_gone { REMOVED } else { 0 }
                | if says_little { LITTLE } else { 0 },
            names: scratch.names.len().min(usize::from(u8::MAX)) as u8,
            items,
            after: NONE,
        });
        Some((norm, length))
    }

    /// Counts what the lines of the newest block have.
    fn count(&mut self) {
        let block = (self.blocks.len() - 1) as u32;
        let scratch = &mut self.scratch;
        let first = scratch.first_block;
        let by_assistant = matches!(
            self.blocks[block as usize].kind,
            BlockKind::Call | BlockKind::Answer | BlockKind::Thinking
        );
        let used = by_assistant.then_some(&mut scratch.used);
        self.items
            .count(&scratch.seen, block, first, &mut self.line_items, used);
        self.items
            .count(&scratch.neighbours, block, first, &mut scratch.pair_ids, None);
        for (&line, &id) in scratch.ends.iter().zip(&scratch.pair_ids) {
            self.lines[line as usize].after = id;
        }
        scratch.end_block();
    }
}

fn is_said_anew(origin: Origin) -> bool {
    matches!(
        origin,
        Origin::Notice | Origin::Reminder(ReminderKind::GitStatus | ReminderKind::TokenStatus)
    )
}

#[cfg(test)]
mod tests;
