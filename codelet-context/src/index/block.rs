//! A text of the history: where it comes from, and what came of the call that it belongs to.

use crate::answer;
use crate::body::Body;
use crate::message::{Action, ActionKind, ToolResult};
use std::ops::Range;

/// Where a block of text comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockKind {
    /// The user's own words.
    Prompt,
    /// Reminders, and what a harness or the engine put in.
    Injected,
    /// The assistant's own words.
    Answer,
    /// The assistant's thinking.
    Thinking,
    /// The parameters of a call.
    Call,
    /// What a tool that reads files printed.
    Read,
    /// What a command printed.
    Command,
    /// What a search printed.
    Search,
    /// What somebody reports who was asked in words: another agent, a model that has read a page.
    Report,
    /// The output of any other tool.
    Other,
}

impl BlockKind {
    /// Whether a tool printed it.
    pub fn is_output(self) -> bool {
        use BlockKind::{Command, Other, Read, Report, Search};
        matches!(self, Read | Command | Search | Report | Other)
    }
}

/// A text of the history, cut into lines.
#[derive(Clone, Debug)]
pub struct Block {
    pub kind: BlockKind,
    /// The message, counted from 0.
    pub message: u32,
    /// The part of the message.
    pub part: u32,
    /// The block that this one answers (for a result: its call).
    pub call: Option<u32>,
    /// The text that the lines are ranges of; for a call, its parameters' strings, one after the other.
    pub text: Body,
    /// Its lines in the index.
    pub lines: Range<u32>,
    /// Estimated tokens of the history up to here.
    pub position: u32,
    /// For a call and for its output: the file that it reads or changes, or 0.
    pub path: u64,
    /// The first line is the file that the call reads or changes.
    pub subject: bool,
    /// A call that changes files.
    pub change: bool,
    /// A change that writes all of a file.
    pub whole: bool,
    /// A call that is about one file and no other, or its output.
    pub alone: bool,
    /// A change that was carried out and then undone: a later look at the file shows what it took away, and not what it
    /// brought in.
    pub undone: bool,
    /// For a call that changes files or runs a command: what came of it.
    pub came: Came,
    /// A command printed it that only looks at files.
    pub look: bool,
    /// A call that writes all of the list of what is to be done.
    pub list: bool,
    /// For a call without a file, the lines that stand before any output of it, see [`crate::lead`]. For a change that was
    /// not made, the line of its answer that says why begins here, and none ends.
    pub lead: Range<u32>,
    /// For a call that runs a command, the lines of its answer that are quoted with it; see [`crate::lead`].
    pub answer: Range<u32>,
}

/// What came of a call that does something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Came {
    /// It was carried out, or nothing says that it was not.
    #[default]
    Done,
    /// It failed: what a change says stands nowhere else.
    Failed,
    /// The user has not let it be made.
    Refused,
    /// It was interrupted, or its answer is lost: nobody knows how far it came.
    Stopped,
}

impl Came {
    /// Each of them, in their order.
    pub const ALL: [Came; 4] = [Came::Done, Came::Failed, Came::Refused, Came::Stopped];

    /// Of a call by its answer.
    pub(super) fn of(action: &Action, result: &ToolResult) -> Came {
        if answer::was_refused(result) {
            return match answer::was_stopped(result) {
                true => Came::Stopped,
                false => Came::Refused,
            };
        }
        let has_failed = match action.kind {
            ActionKind::Change => !answer::is_done(action.kind, result),
            // That `grep` finds nothing is its answer.
            ActionKind::Command => {
                let is_question = action.command.as_ref().is_some_and(|line| line.said().is_question);
                result.success == Some(false) && !is_question
            }
            _ => false,
        };
        if has_failed { Came::Failed } else { Came::Done }
    }
}

impl Block {
    /// The first block of the unit that this one, of this number, belongs to: its call, or itself.
    pub fn unit(&self, number: usize) -> usize {
        self.call.map_or(number, |call| call as usize)
    }
}
