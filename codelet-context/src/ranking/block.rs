//! The blocks of a history: each text of it once, with who speaks.

use super::kind::{self, CallKind};
use crate::message::harness;
use crate::message::{ActionKind, Message, Origin, Part, Role, Text, ToolCall, ToolResult, Words};
use crate::text::body::Body;
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;

/// Whose words a block holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Speaker {
    /// The user.
    User,
    /// The model, to the user.
    Model,
    /// The model, to itself.
    Thinking,
    /// A harness, in the user's name.
    Harness,
    /// The record of an earlier compaction.
    Record,
    /// The model, to a tool.
    Call,
    /// A tool.
    Tool,
}

impl Speaker {
    /// Whether somebody says it: to the user, to the model or to itself.
    pub fn says(self) -> bool {
        !matches!(self, Speaker::Call | Speaker::Tool)
    }
}

/// One text of a history.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub speaker: Speaker,
    /// The message and the part of it.
    pub message: u32,
    pub part: u32,
    /// How many prompts stand before its end: the number of its turn, from 1 on.
    pub turn: u32,
    /// What the call is for, of a call and of what a tool has said.
    pub kind: CallKind,
    /// The call that a tool answers.
    pub call: Option<u32>,
    /// The tool's own word that it failed.
    pub failed: bool,
    /// It is about a file of prose.
    pub prose: bool,
    /// The text.
    pub text: Body,
    /// Its segments.
    pub segments: Range<u32>,
}

/// A text of a message, before its segments are known.
pub(crate) struct Told {
    pub speaker: Speaker,
    pub part: u32,
    pub text: Body,
}

/// What a part of a message tells, if it is anything that a record may quote.
pub(crate) fn told(message: &Message, number: usize) -> Option<Told> {
    let (speaker, text) = match (&message.parts[number], message.role) {
        (_, Role::System) => return None,
        (Part::Text(text), role) => (speaker(role, text)?, text.body.clone()),
        (Part::Thinking(thinking), _) => (Speaker::Thinking, thinking.body.clone()),
        (Part::ToolCall(call), _) => (Speaker::Call, Body::from(words_of(call))),
        (Part::ToolResult(result), _) => (Speaker::Tool, output(result)?),
        (Part::Opaque(opaque), _) => match opaque.words.as_ref()? {
            Words::Call { body, .. } => (Speaker::Call, body.clone()),
            Words::Output(body) => (Speaker::Tool, body.clone()),
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
        // What stands stands, and what is said anew is.
        (_, Origin::Reminder(_) | Origin::Notice) => None,
    }
}

/// What a tool has said, in one text.
fn output(result: &ToolResult) -> Option<Body> {
    let mut texts = result
        .texts()
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

/// An output without what a harness has put into it: without its tag it would look like what somebody asks for.
fn without_reminders(body: &Body) -> Body {
    match harness::without_reminders(body.as_str()) {
        Cow::Borrowed(_) => body.clone(),
        Cow::Owned(text) => Body::from(text),
    }
}

/// A call as words: a command line with what the model calls it, or the file that it is about and then everything else; of a
/// change what stands there afterwards.
fn words_of(call: &ToolCall) -> String {
    let action = &call.action;
    let object = call.parameters.as_map();
    if let (ActionKind::Command, Some(command)) = (action.kind, &action.command) {
        let mut line = kind::without_folder(command.as_str()).to_owned();
        if let Some(Value::String(said)) = object
            .get("description")
            .filter(|said| said.as_str().is_some_and(|s| !s.is_empty()))
        {
            let end = line.find('\n').unwrap_or(line.len());
            line.insert_str(end, &format!("  # {said}"));
        }
        return line;
    }
    let path = action.paths.first().map_or("", |path| &**path);
    let is_short = matches!(action.kind, ActionKind::Read | ActionKind::Search | ActionKind::Other);
    let mut words = String::from(path);
    let mut add = |word: &str| {
        if word != path && !word.trim().is_empty() {
            if !words.is_empty() {
                words.push(if is_short { ' ' } else { '\n' });
            }
            words.push_str(word);
        }
    };
    let is_told = |name: &str| action.kind != ActionKind::Change || !name.starts_with(REPLACED);
    for (_, value) in object.iter().filter(|(name, _)| is_told(name)) {
        leaves(value, DEEPEST, &is_told, &mut add);
    }
    if words.is_empty() { call.tool.to_string() } else { words }
}

/// How deep the parameters of a call are read.
const DEEPEST: usize = 16;
/// How the names of parameters begin that hold what a change took away: `old_string`, `oldText`.
const REPLACED: &str = "old";

/// Gives each string and number within a value to `add`, of the fields that count.
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
