//! The interface between a session and its front end: the user's wishes in one direction, output in the other.

use crate::backlog::Backlog;
use crate::complete::Arguments;
use crate::decision::Decision;
use crate::render::look::Look;
use codelet_agent::asking::Question;
use codelet_agent::bill::Bill;
use codelet_agent::event::Event;
use codelet_agent::permission::Permission;
use codelet_agent::prompts::PromptSpec;
use codelet_context::tracker::TokenState;
use ratatui::text::Line;
use std::path::Path;

/// A wish of the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wish {
    /// Handle this input.
    Say(String),
    /// Switch to the next permission of plan, read and edit.
    Permit,
    /// Interrupt whatever runs.
    Interrupt,
    /// Leave, in this way.
    Leave(Left),
}

/// The way in which a session was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// Its user has left.
    Left,
    /// The terminal is gone or a signal arrived: the exit status.
    Gone(u8),
    /// The output could not be written, for a reason other than a closed reader.
    Unwritable(std::io::ErrorKind),
}

/// The current activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Activity {
    /// Idle: waiting for input.
    #[default]
    Nothing,
    /// Running a prompt.
    Run,
    /// Compacting the conversation.
    Compaction,
    /// Running a shell command of the user.
    Shell,
    /// Connecting to a model.
    Connection,
    /// Fetching a prompt from a server.
    Prompt,
    /// Keeping the provider's cache from expiring.
    KeepAlive,
    /// Asking git about the repository.
    Git,
    /// Proposing or making a commit.
    Commit,
    /// Connecting to MCP servers.
    Servers,
    /// Restoring files.
    Restoring,
    /// Waiting for the user to decide on a question of the session.
    Deciding,
}

/// The state of the session, for the status line.
#[derive(Clone, PartialEq, Debug)]
pub struct Standing {
    /// The model.
    pub model: String,
    /// The tokens that fill the context window at the next request, and the limit at which the session compacts.
    pub tokens: TokenState,
    /// No request has confirmed the tokens yet.
    pub is_estimate: bool,
    /// The cost so far.
    pub bill: Bill,
}

/// Shows a session and reads its user's input.
pub(crate) trait Front {
    /// Returns the next wish. Cancellation safe.
    async fn next(&mut self) -> Wish;

    /// The events that were passed on but not shown yet.
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }

    /// Handles an event of a run.
    fn on(&mut self, event: Event);

    /// Asks for a permission; the question carries the channel for its answer. Commands run in `directory`.
    fn ask(&mut self, question: Question, directory: &Path);

    /// Prints finished lines.
    fn print(&mut self, lines: Vec<Line<'static>>);

    /// Prints the user's input as the beginning of a turn.
    fn echo(&mut self, said: &str);

    /// Prints a text that somebody else wrote and that is sent in the user's name.
    fn quote(&mut self, said: &str);

    /// Sets the prompts from files and servers that can be used as commands.
    fn offer(&mut self, _: Vec<PromptSpec>) {}

    /// Sets the arguments of commands for completion.
    fn completes(&mut self, _: Arguments) {}

    /// Sets the current activity.
    fn doing(&mut self, doing: Activity);

    /// Announces that the current activity is the last one: no further input is accepted.
    fn leaving(&mut self);

    /// Sets the state for the status line.
    fn stands(&mut self, standing: Standing);

    /// Sets the current permission.
    fn permits(&mut self, permission: Permission);

    /// Returns the current look.
    fn look(&self) -> Look;

    /// Puts a text into the input, to be edited and sent. Returns false if there is no such input.
    fn fill(&mut self, _: &str) -> bool {
        false
    }

    /// Asks the user to decide; the decision carries the channel for its answer. Returns false if there are no keys to
    /// answer with.
    fn decide(&mut self, _: Decision) -> bool {
        false
    }

    /// Returns whether all input is handled strictly in order because it was written beforehand.
    fn keeps_order(&self) -> bool;

    /// Queues input that arrives while something runs; it is shown, and handled afterwards.
    fn queue(&mut self, said: String);

    /// Returns the first queued input.
    async fn unqueue(&mut self) -> Option<String>;

    /// Moves queued input back into the editor so that it is not sent unasked. Where that is impossible, it is listed,
    /// with `hide` applied.
    fn give_back(&mut self, hide: &dyn Fn(&str) -> String);

    /// Shows the last folded output, shortened to both ends if it is long; each further call shows the one before. With
    /// `is_all`, shows the one shown last in full.
    fn unfold(&mut self, is_all: bool);

    /// Copies a text to the reader's clipboard. Returns false if there is none.
    fn copy(&mut self, text: &str) -> bool;

    /// Shows all pending output. Nothing may follow.
    fn close(&mut self);
}
