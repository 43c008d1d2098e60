//! What a call does, in notions that hold for every agent.

use super::patch::patched;
use crate::message::command::CommandLine;
use std::sync::Arc;

/// How a patch begins in the form that `apply_patch` takes.
const PATCH: &str = "*** Begin Patch\n";

/// What a call does to the world, in notions that hold for every agent. Made by the reader of a transcript, or by the tool.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Action {
    /// The part that the tool plays.
    pub kind: ActionKind,
    /// For a change, what it does to its files.
    pub change: ChangeKind,
    /// Files read or changed, as the call names them; for a command, those that a patch in it names.
    pub paths: Vec<Arc<str>>,
    /// The command line, where there is one.
    pub command: Option<CommandLine>,
    /// For a change, the names of the parameters, at whatever depth, whose text it takes away from its files.
    pub replaced: Names,
}

/// Names of parameters. Most actions have none, which costs a word.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names(Option<Arc<Vec<Arc<str>>>>);

impl Names {
    /// The names, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|names| names.iter().map(|name| &**name))
    }
}

/// The parts that tools play.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum ActionKind {
    /// Reads a file and changes nothing.
    Read,
    /// Creates, overwrites or edits files.
    Change,
    /// Runs a program, which may do anything.
    Command,
    /// Looks for files or text and changes nothing.
    Search,
    /// Keeps the list of what is to be done.
    Todo,
    /// Writes down a note.
    Note,
    /// Asks the user something, or for approval of a plan; the answer is the user's.
    Ask,
    /// Anything else.
    #[default]
    Other,
}

/// What a change does to the files that it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum ChangeKind {
    /// Writes them, or a part of them.
    #[default]
    Writes,
    /// Takes them away.
    Removes,
    /// Gives the last of them to the others as a name, or as the folder that they are moved to.
    Moves,
    /// Takes back the newest change that was made of each.
    Undoes,
}

impl Action {
    /// An action of this kind on these files.
    pub fn on<'a>(kind: ActionKind, paths: impl IntoIterator<Item = &'a str>) -> Self {
        Action {
            kind,
            paths: paths.into_iter().map(Arc::from).collect(),
            ..Action::default()
        }
    }

    /// The same, and which parameters, by name, hold what it takes away from its files.
    pub fn replacing<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<Arc<str>> = names.into_iter().map(Arc::from).collect();
        self.replaced = Names((!names.is_empty()).then(|| Arc::new(names)));
        self
    }

    /// A change that does this to its files.
    pub fn changing(mut self, change: ChangeKind) -> Self {
        self.change = change;
        self
    }

    /// Running a command line, with the files that a patch in it names.
    pub fn command(line: &str) -> Self {
        let paths = if line.contains(PATCH) {
            patched(line)
        } else {
            Vec::new()
        };
        Action {
            kind: ActionKind::Command,
            paths: paths.into_iter().map(Arc::from).collect(),
            command: Some(CommandLine::new(line)),
            ..Action::default()
        }
    }

    /// Applying a patch, in the form that `apply_patch` takes or as a unified diff, to the files that it names.
    pub fn patch(patch: &str) -> Self {
        Action::on(ActionKind::Change, patched(patch))
    }

    /// The files that this action changes when it succeeds.
    pub fn changed(&self) -> &[Arc<str>] {
        match self.kind {
            ActionKind::Change | ActionKind::Command => &self.paths,
            _ => &[],
        }
    }

    /// Whether making the call again can only bring a newer look at the same thing.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self.kind, ActionKind::Read | ActionKind::Search)
    }
}
