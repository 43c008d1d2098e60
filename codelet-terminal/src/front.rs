//! What a session needs of whoever shows it: somebody to hear, and somebody to tell.

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

/// What somebody wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wish {
    /// They have said this.
    Say(String),
    /// The next permission of plan, read and edit is to hold.
    Permit,
    /// Whatever runs is to stop.
    Interrupt,
    /// They leave.
    Leave,
    /// They are gone, or the system wants the process to end: the status to end with.
    Gone(u8),
    /// What is shown cannot be written any more, and not because nobody reads it.
    Unwritable(std::io::ErrorKind),
}

/// What is going on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Doing {
    /// Nothing: the session waits for somebody to say something.
    #[default]
    Nothing,
    /// A prompt is carried to its end.
    Run,
    /// The conversation is compacted.
    Compaction,
    /// A command of the user's runs.
    Shell,
    /// A model is looked for.
    Connection,
    /// A server is asked for a prompt.
    Prompt,
    /// The provider's cache is kept from expiring.
    KeepAlive,
    /// Git is asked about the repository.
    Git,
    /// A commit is proposed or made.
    Commit,
    /// Servers of tools are waited for.
    Servers,
    /// Files are put back.
    Restoring,
    /// The user decides on something that the session asks.
    Deciding,
}

/// How the session stands, for the status line.
#[derive(Clone, PartialEq, Debug)]
pub struct Standing {
    /// The model.
    pub model: String,
    /// What fills the window at the next request, of the limit that makes the session compact.
    pub tokens: TokenState,
    /// No request has confirmed that yet.
    pub is_estimate: bool,
    /// What was spent.
    pub bill: Bill,
}

/// Shows a session and hears its user.
pub(crate) trait Front {
    /// The next thing that somebody wants. Can be given up and asked again without losing anything.
    async fn next(&mut self) -> Wish;

    /// What was told and is not shown yet.
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }

    /// Something has happened in a run.
    fn on(&mut self, event: Event);

    /// Asks for a permission; the answer goes to whoever asked. Commands run in this directory.
    fn ask(&mut self, question: Question, directory: &Path);

    /// Shows lines, for good.
    fn print(&mut self, lines: Vec<Line<'static>>);

    /// Shows what was said, for good, as the beginning of a turn.
    fn echo(&mut self, said: &str);

    /// Shows what somebody else has written and what is sent in the user's name, for good.
    fn quote(&mut self, said: &str);

    /// These prompts of files and servers can be named.
    fn offer(&mut self, _: Vec<PromptSpec>) {}

    /// What may stand behind commands, where they can be completed.
    fn completes(&mut self, _: Arguments) {}

    /// Something begins, or nothing goes on any more.
    fn doing(&mut self, doing: Doing);

    /// What goes on is the last of the session: nothing can be said behind it.
    fn leaving(&mut self);

    /// How the session stands.
    fn stands(&mut self, standing: Standing);

    /// How far the tools may go now.
    fn permits(&mut self, permission: Permission);

    /// How things look there.
    fn look(&self) -> Look;

    /// Puts a text where the user writes, to be changed and sent; says no where there is no such place.
    fn fill(&mut self, _: &str) -> bool {
        false
    }

    /// Asks what is to be done, for the answer to go to whoever asks; says no where no keys answer.
    fn decide(&mut self, _: Decision) -> bool {
        false
    }

    /// Whether everything is done in the order in which it comes, whatever it is: what comes was written beforehand.
    fn keeps_order(&self) -> bool;

    /// What was said while something ran: it is kept, shown, and taken up afterwards.
    fn queue(&mut self, said: String);

    /// The first of what was said meanwhile.
    async fn unqueue(&mut self) -> Option<String>;

    /// What was said meanwhile is not to be sent unasked: it goes back to where it was written. Where that cannot be, it is
    /// named, as `hide` has it.
    fn give_back(&mut self, hide: &dyn Fn(&str) -> String);

    /// Shows what was folded last, of a long one both ends; asked again, what lies before it; or all of what was shown so last.
    fn unfold(&mut self, is_all: bool);

    /// Puts a text into the clipboard of whoever reads; says no where there is none.
    fn copy(&mut self, text: &str) -> bool;

    /// Shows whatever was not shown yet. Nothing comes after it.
    fn close(&mut self);
}
