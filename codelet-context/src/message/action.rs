//! The effect of a call, in terms that fit every agent.

use super::patch::patched;
use std::sync::Arc;

/// The first line of a patch in the format of `apply_patch`.
const PATCH: &str = "*** Begin Patch\n";

/// The effect of a call, in terms that fit every agent. Set by the transcript reader or by the tool.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Action {
    /// The kind of tool.
    pub kind: ActionKind,
    /// For a change, its effect on the files.
    pub change: ChangeKind,
    /// Files read or changed, as named in the call; for a command, the files named in its embedded patch.
    pub paths: Vec<Arc<str>>,
    /// The command line, if there is one.
    pub command: Option<Arc<str>>,
}

/// The kinds of tool.
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
    /// Maintains the to-do list.
    Todo,
    /// Records a note.
    Note,
    /// Asks the user a question or for approval of a plan; the answer is the user's.
    Ask,
    /// Anything else.
    #[default]
    Other,
}

/// The effect of a change on the files that it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum ChangeKind {
    /// Writes all or part of them.
    #[default]
    Writes,
    /// Deletes them.
    Removes,
    /// Moves the others to the last one, a new name or a folder.
    Moves,
    /// Undoes the latest change to each.
    Undoes,
}

impl Action {
    /// Creates an action of this kind on these files.
    pub fn on<'a>(kind: ActionKind, paths: impl IntoIterator<Item = &'a str>) -> Self {
        Action {
            kind,
            paths: paths.into_iter().map(Arc::from).collect(),
            ..Action::default()
        }
    }

    /// Returns the change with this effect on its files.
    pub fn changing(mut self, change: ChangeKind) -> Self {
        self.change = change;
        self
    }

    /// Creates the action of a command line, with the files named by an embedded patch.
    pub fn command(line: &str) -> Self {
        let paths = if line.contains(PATCH) {
            patched(line)
        } else {
            Vec::new()
        };
        Action {
            kind: ActionKind::Command,
            paths: paths.into_iter().map(Arc::from).collect(),
            command: Some(line.into()),
            ..Action::default()
        }
    }

    /// Creates the action of a patch, in the format of `apply_patch` or as a unified diff, on the files that it names.
    pub fn patch(patch: &str) -> Self {
        Action::on(ActionKind::Change, patched(patch))
    }

    /// The files that this action changes if it succeeds.
    pub fn changed(&self) -> &[Arc<str>] {
        match self.kind {
            ActionKind::Change | ActionKind::Command => &self.paths,
            _ => &[],
        }
    }
}
