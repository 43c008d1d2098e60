//! The blocks of a history: each of its texts once, with the speaker.

use super::cut;
use super::kind::{self, CallKind};
use super::look::Looks;
use super::word::Lists;
use crate::message::harness;
use crate::message::{ActionKind, BlockText, Message, Origin, Part, Role, Text, ToolCall, ToolResult};
use crate::text::body::Body;
use crate::text::hash;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// The speaker of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Speaker {
    /// The user.
    User,
    /// The model, to the user.
    Model,
    /// The model, to itself.
    Thinking,
    /// A harness, on the user's behalf.
    Harness,
    /// A summary: a unit of the record of an earlier compaction, or the words of somebody else.
    Record,
    /// The model, to a tool.
    Call,
    /// A tool.
    Tool,
}

impl Speaker {
    /// Returns whether this is speech: to the user, to the model or to itself.
    pub fn says(self) -> bool {
        !matches!(self, Speaker::Call | Speaker::Tool)
    }
}

/// One text of a history.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub speaker: Speaker,
    /// The index of the message, and that of the part in it.
    pub message: u32,
    pub part: u32,
    /// The number of prompts before its end, which is the number of its turn, counted from 1.
    pub turn: u32,
    /// The kind of the call, for calls and tool results.
    pub kind: CallKind,
    /// The block of the call that a tool result answers.
    pub call: Option<u32>,
    /// True for an output if the tool reports failure, with the next for its call, which may have no output.
    pub failed: bool,
    pub call_failed: bool,
    /// True if it is about a file of prose.
    pub prose: bool,
    /// True for a unit of an earlier record, which is one segment and is quoted as it stands.
    pub is_unit: bool,
    /// The text.
    pub text: Body,
    /// Its segments.
    pub segments: Range<u32>,
}

/// A sentence or a line of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// The byte range in the text of the block.
    pub start: u32,
    pub end: u32,
    /// The end of its words in the list of all words; they begin at the end of those of the previous segment.
    pub words: u32,
    /// The bytes of its quoted form; 0 if it is never quoted.
    pub bytes: u16,
    /// Its appearance, and the lists that contain its words.
    pub looks: Looks,
    pub lists: Lists,
    /// True if it continues the line of the previous segment.
    pub joined: bool,
    /// The share of common words, and the density of code characters.
    pub prose: f32,
    pub codeness: f32,
    /// The score from features of its block alone, with the built-in weights.
    pub score: f32,
}

/// A text of a message, before it is cut into segments.
pub(crate) struct Told {
    pub speaker: Speaker,
    pub part: u32,
    pub text: Body,
}

/// The text of a part of a message, if a record may quote it.
pub(crate) fn told(message: &Message, number: usize) -> Option<Told> {
    let (speaker, text) = match (&message.parts[number], message.role) {
        (_, Role::System) => return None,
        (Part::Text(text), role) => (speaker(role, text)?, text.body.clone()),
        (Part::Thinking(thinking), _) => (Speaker::Thinking, thinking.body.clone()),
        (Part::ToolCall(call), _) => (Speaker::Call, Body::from(words_of(call))),
        (Part::ToolResult(result), _) => (Speaker::Tool, output(result)?),
        (Part::Opaque(opaque), _) => match opaque.words.as_ref()? {
            BlockText::Call { body, .. } => (Speaker::Call, body.clone()),
            BlockText::Output(body) => (Speaker::Tool, body.clone()),
        },
        _ => return None,
    };
    (!text.is_blank()).then_some(Told {
        speaker,
        part: number as u32,
        text,
    })
}

fn speaker(role: Role, text: &Text) -> Option<Speaker> {
    match (role, text.origin) {
        (Role::Assistant, _) => Some(Speaker::Model),
        (_, Origin::Own) => Some(Speaker::User),
        (_, Origin::Injected) => Some(Speaker::Harness),
        (_, Origin::Summary) => Some(Speaker::Record),
        // Reminders and notices stay in the view or are rewritten.
        (_, Origin::Reminder(_) | Origin::Notice) => None,
    }
}

/// The output of a tool as one text, without the engine's own words.
pub(crate) fn output(result: &ToolResult) -> Option<Body> {
    let mut texts = result
        .texts()
        .filter(|text| text.origin != Origin::Notice)
        .map(|text| without_reminders(&text.body))
        .chain(result.error.clone())
        .filter(|body| !body.is_blank());
    let first = texts.next()?;
    let rest: Vec<Body> = texts.collect();
    match rest.is_empty() {
        true => Some(first),
        false => {
            let all: Vec<&str> = std::iter::once(&first).chain(&rest).map(Body::as_str).collect();
            Some(Body::from(all.join("\n")))
        }
    }
}

/// Removes harness reminders from an output: without its tag, a reminder would look like a request.
fn without_reminders(body: &Body) -> Body {
    match harness::without_reminders(body.as_str()) {
        Cow::Borrowed(_) => body.clone(),
        Cow::Owned(text) => Body::from(text),
    }
}

/// Renders a call as text: a command line with its description, or the file and then all other parameters; of a change
/// only the new content.
fn words_of(call: &ToolCall) -> String {
    let action = &call.action;
    let object = call.parameters.as_map();
    if let (ActionKind::Command, Some(command)) = (action.kind, &action.command) {
        let mut line = kind::plain_command(command);
        if let Some(Value::String(said)) = object
            .get("description")
            .filter(|said| said.as_str().is_some_and(|s| !s.is_empty()))
        {
            let end = line.find('\n').unwrap_or(line.len());
            line.insert_str(end, &format!("  # {said}"));
        }
        return line;
    }
    let is_path = |word: &str| action.paths.iter().any(|path| **path == *word);
    let is_short = matches!(action.kind, ActionKind::Read | ActionKind::Search | ActionKind::Other);
    let mut words = action.paths.join(", ");
    let mut add = |word: &str| {
        if !is_path(word) && !word.trim().is_empty() {
            if !words.is_empty() {
                words.push(if is_short { ' ' } else { '\n' });
            }
            words.push_str(word);
        }
    };
    let is_told = |name: &str| action.kind != ActionKind::Change || !name.starts_with(REPLACED);
    for (name, value) in object.iter().filter(|(name, _)| is_told(name)) {
        match value {
            // A number alone says nothing.
            Value::Number(number) if is_short => add(&format!("{name}={number}")),
            _ => leaves(value, DEEPEST, &is_told, &mut add),
        }
    }
    if words.is_empty() { call.tool.to_string() } else { words }
}

/// The maximum depth at which the parameters of a call are read.
const DEEPEST: usize = 16;
/// The prefix of the names of parameters with the text that a change removes: `old_string`, `oldText`.
pub(crate) const REPLACED: &str = "old";

/// The hashes of the lines and sentences that a change replaces: what of them stands in the new content is not new.
pub(crate) fn replaced(kind: ActionKind, fields: &Map<String, Value>) -> HashSet<u64> {
    let mut lines = HashSet::new();
    if kind == ActionKind::Change {
        fields
            .iter()
            .for_each(|(name, value)| replaced_in(name, value, DEEPEST, &mut lines));
    }
    lines
}

/// The lines of the new content that are not among those replaced; `…` stands for others.
pub(crate) fn news(text: &str, replaced: &HashSet<u64>) -> String {
    let mut shown: Vec<&str> = Vec::new();
    for line in text.lines() {
        match replaced.contains(&hash::bytes(line.trim().as_bytes())) {
            false => shown.push(line),
            true if shown.last() != Some(&"…") => shown.push("…"),
            true => {}
        }
    }
    shown.join("\n")
}

fn replaced_in(name: &str, value: &Value, depth: usize, lines: &mut HashSet<u64>) {
    match value {
        _ if name.starts_with(REPLACED) => leaves(value, depth, &|_| true, &mut |text| {
            lines.extend(text.lines().map(|line| hash::bytes(line.trim().as_bytes())));
            let pieces = cut::pieces(text, true)
                .into_iter()
                .map(|piece| &text[piece.start..piece.end]);
            lines.extend(pieces.map(|piece| hash::bytes(piece.trim().as_bytes())));
        }),
        Value::Array(values) if depth > 0 => {
            values.iter().for_each(|value| replaced_in("", value, depth - 1, lines));
        }
        Value::Object(fields) if depth > 0 => {
            fields
                .iter()
                .for_each(|(name, value)| replaced_in(name, value, depth - 1, lines));
        }
        _ => {}
    }
}

/// Passes each string and number within a value to `add`, limited to the fields that `counts` accepts.
fn leaves(value: &Value, depth: usize, counts: &impl Fn(&str) -> bool, add: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => add(text),
        Value::Number(number) => add(&number.to_string()),
        Value::Array(values) if depth > 0 => values.iter().for_each(|value| leaves(value, depth - 1, counts, add)),
        Value::Object(fields) if depth > 0 => {
            let told = fields.iter().filter(|(name, _)| counts(name));
            told.for_each(|(_, value)| leaves(value, depth - 1, counts, add));
        }
        _ => {}
    }
}
