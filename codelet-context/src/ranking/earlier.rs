//! An earlier compaction in a conversation that is read again: which texts the engine wrote, and the units of their record.
//!
//! Texts say nothing of their origin, and anybody can write the first line of a summary. So what decides is where they
//! stand: the engine writes the summary before the first reply, each passage behind its prompt, the state directly before
//! the notice, and a warning before any other text that begins like one of these.

use super::labels;
use crate::message::{Message, Origin, Part, Role};
use crate::text::hash::QuickMap;
use std::mem;

/// The kind of an engine-written text on the user's side of a compacted view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// The summary, before the first reply, up to the second prompt that stands in it.
    Summary,
    /// What it says on a later prompt.
    Passage,
    /// The current state, after the kept steps.
    Stands,
    /// The notice at the end of the view.
    Notice,
    /// The warning before a text that only begins like one of these.
    Warning,
}

/// The maximum number of a turn: memory grows with it.
const MOST_TURNS: u32 = 1 << 20;

/// The kind of such a text, going by its first line alone.
pub fn frame(text: &str) -> Option<Frame> {
    let first = text.split('\n').next().unwrap_or_default();
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    match first {
        _ if first.strip_prefix(labels::NOTICE).is_some_and(is_end) => Some(Frame::Notice),
        _ if first == labels::SUMMARY.trim_end() => Some(Frame::Summary),
        _ if first == labels::STANDS.trim_end() => Some(Frame::Stands),
        _ if text == labels::NOT_OF_SUMMARY => Some(Frame::Warning),
        _ => numbered(first, labels::MORE).map(|_| Frame::Passage),
    }
}

/// The same for a part of a message that is known to be a summary.
pub(crate) fn summary(part: &Part) -> Option<(Frame, &str)> {
    match part {
        Part::Text(text) if text.origin == Origin::Summary => Some((frame(text.body.as_str())?, text.body.as_str())),
        _ => None,
    }
}

/// The warning before a text of a view that begins like one of the engine's.
pub(crate) fn warning(role: Role, part: &Part) -> Option<Part> {
    let is_alike = matches!(part, Part::Text(text) if role == Role::User && frame(text.body.as_str()).is_some());
    is_alike.then(|| Part::text_from(Origin::Notice, labels::NOT_OF_SUMMARY))
}

/// The places, by message and part, of the texts that the engine wrote in the first compacted view that begins a
/// conversation; none if it is not one. `acts` tells whether a reply holds an action in its text: what follows it may be
/// the output of a tool.
pub fn find(messages: &[Message], acts: impl Fn(&Message) -> bool) -> Vec<(usize, usize, Frame)> {
    let mut found = Vec::new();
    let (mut turn, mut stands) = (None, None);
    let (mut has_reply, mut may_be_output, mut is_first, mut is_warned) = (false, false, true, false);
    for (at, message) in messages.iter().enumerate() {
        if message.role == Role::Assistant {
            (has_reply, may_be_output, is_first, is_warned) = (true, acts(message), true, false);
            stands = None;
        }
        for (number, part) in message.parts.iter().enumerate().filter(|_| message.role == Role::User) {
            let (was_first, was_warned) = (mem::take(&mut is_first), mem::take(&mut is_warned));
            let (is_output, stood) = (mem::take(&mut may_be_output), stands.take());
            if let Part::ToolResult(_) = part {
                (has_reply, is_first) = (true, true);
            }
            let Part::Text(text) = part else { continue };
            if text.origin != Origin::Own || was_warned || is_output {
                continue;
            }
            let text = text.body.as_str();
            let frame = frame(text);
            let last = || text.lines().filter_map(heading).next_back();
            match frame {
                Some(Frame::Warning) => is_warned = true,
                Some(Frame::Summary) if turn.is_none() && !has_reply && is_summary(text) => turn = Some(last()),
                Some(Frame::Passage)
                    if !was_first && turn.is_some_and(|turn| turn < text.lines().next().and_then(heading)) =>
                {
                    turn = Some(last());
                }
                Some(Frame::Stands) => {
                    stands = Some((at, number, Frame::Stands));
                    continue;
                }
                Some(Frame::Notice) if turn.is_some() => {
                    found.extend(stood);
                    found.push((at, number, Frame::Notice));
                    return found;
                }
                _ => continue,
            }
            found.extend(frame.map(|frame| (at, number, frame)));
        }
    }
    Vec::new()
}

/// Returns whether a text goes on as a summary after its first line, which anybody may type.
fn is_summary(text: &str) -> bool {
    let opens = [labels::PINNED, labels::PINNED_TEXT, labels::NOTES.trim_end()];
    let first = text.lines().nth(1);
    first.is_none_or(|first| opens.iter().any(|open| first.starts_with(open))) || text.lines().any(is_legend)
}

/// Returns whether this is the line above a record.
fn is_legend(line: &str) -> bool {
    [labels::RECORD, labels::RECORD_WITH_HANDLES]
        .iter()
        .any(|legend| line == legend.trim_end())
}

/// The number behind a label.
fn numbered(line: &str, label: &str) -> Option<u32> {
    let rest = line.strip_prefix(label)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_whole = rest[digits..].is_empty() || rest[digits..].starts_with([':', ' ']);
    let number = rest[..digits].parse().ok().filter(|_| is_whole)?;
    (number <= MOST_TURNS).then_some(number)
}

/// The turn that a line names, and whether its prompt stands above.
pub(super) fn heading(line: &str) -> Option<(u32, bool)> {
    let below = numbered(line, labels::MORE).map(|number| (number, true));
    below.or_else(|| numbered(line, labels::TURN).map(|number| (number, false)))
}

/// What an earlier compaction says besides the units of its record.
#[derive(Clone, Default)]
pub(crate) struct Earlier {
    /// The last message with a text of it.
    pub message: Option<u32>,
    /// The pinned texts and notes above the record.
    pub preface: String,
    /// The folder that is abbreviated in its paths; empty if there is none.
    pub folder: String,
    /// By turn: the line above its record.
    pub headings: QuickMap<u32, String>,
    /// What it tells of the state, and what compactions before it told, each with the number of steps between the two.
    pub states: Vec<(u32, String)>,
}

impl Earlier {
    /// Takes a summary or a passage; returns the [`heading`] of each turn's record, and the units of it, each to be quoted as
    /// it stands or not at all: a text with its label, or a call with the outputs below it. A quoted line that begins
    /// like one of the engine's own has a blank before it, so each line says what it is.
    pub fn record(&mut self, text: &str) -> Vec<((u32, bool), Vec<String>)> {
        let mut turns: Vec<((u32, bool), Vec<String>)> = Vec::new();
        for line in text.lines().filter(|line| *line != labels::SUMMARY.trim_end()) {
            match (heading(line), turns.last_mut()) {
                (Some(turn), _) => {
                    self.headings.insert(turn.0, line.to_owned());
                    turns.push((turn, Vec::new()));
                }
                (None, Some((_, units))) => match units.last_mut() {
                    Some(unit) if goes_on(unit, line) => unit.extend(["\n", line]),
                    _ => units.push(line.to_owned()),
                },
                (None, None) if is_legend(line) => {}
                (None, None) => match line.strip_prefix(labels::FOLDER) {
                    Some(folder) => folder.clone_into(&mut self.folder),
                    None => self.preface.extend([line, "\n"]),
                },
            }
        }
        turns
    }
}

/// Returns whether a line of a record belongs to the unit before it.
fn goes_on(unit: &str, line: &str) -> bool {
    let is = |text: &str, labels: &[&str]| labels.iter().any(|label| text.starts_with(label));
    let said = [labels::USER, labels::ASSISTANT, labels::THINKING, labels::HARNESS];
    let begins = is(line, &said) || is(line, &[labels::CALL, labels::FAILED_CALL]);
    !(begins || is(unit, &said) && is(line, &[labels::OUTPUT, labels::FAILED_OUTPUT]))
}

/// The lines of a state, and those that it quotes of earlier ones. What was next at that time is over.
pub(crate) fn states(text: &str) -> Vec<(u32, String)> {
    let lines = text.lines().skip_while(|line| *line != labels::STATE.trim_end());
    let mut states = vec![(0, String::new())];
    for line in lines.skip(1).take_while(|line| *line != labels::NEXT.trim_end()) {
        let quoted = line.strip_prefix(labels::UNDER).filter(|_| states.len() > 1);
        match (numbered(line, labels::AT_COMPACTION), states.last_mut()) {
            (Some(steps), _) => states.push((steps, String::new())),
            (None, Some((_, state))) => state.extend([quoted.unwrap_or(line), "\n"]),
            (None, None) => {}
        }
    }
    states
}
