//! The file changes made by a session's tools, and how to revert them; the loop knows the implementation only by a
//! trait.

use crate::environment::spelling::first;
use futures_util::future::BoxFuture;

/// A moment in a [`Journal`]; later ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Mark(pub usize);

/// A change of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It was created.
    Created,
    /// Its content changed.
    Altered,
    /// It was deleted.
    Deleted,
}

/// The net change of a file by tools between two moments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedFile {
    /// Its name, as shown to the model.
    pub name: String,
    /// The kind of change.
    pub change: Change,
    /// The numbers of added and removed lines; `None` if they were not compared.
    pub lines: Option<(u64, u64)>,
}

/// The maximum number of files that are named.
const FILES: usize = 4;

/// Returns the first files of a list, and the number of the others.
pub(crate) fn changed_files(files: &[ChangedFile]) -> String {
    first(&files.iter().map(changed_file).collect::<Vec<_>>(), FILES)
}

fn changed_file(file: &ChangedFile) -> String {
    let what = match file.change {
        Change::Created => " (new)",
        Change::Altered => "",
        Change::Deleted => " (deleted)",
    };
    let lines = file
        .lines
        .map_or_else(String::new, |(added, removed)| format!(" +{added} −{removed}"));
    format!("{}{what}{lines}", file.name)
}

/// The current condition of a file to be restored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// As the tools left it.
    AsLeft,
    /// Changed since by something else: a command, another program, the user.
    ChangedSince,
    /// It cannot be restored, for this reason.
    Lost(String),
}

/// The effect of restoring one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restore {
    /// Its name, as shown to the model.
    pub name: String,
    /// The kind of change.
    pub change: Change,
    /// Its current condition.
    pub standing: Standing,
    /// The change of its content, as for [`Need::Change`](crate::tool::Need::Change).
    pub diff: String,
}

/// The result of restoring one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// Its name, as shown to the model.
    pub name: String,
    /// The kind of change, made or intended.
    pub change: Change,
    /// An error says why it was not restored.
    pub done: Result<(), String>,
}

/// Keeps the contents of files from before the tools of a session changed them, as long as the session lives.
pub trait Journal: Send + Sync {
    /// Returns the current moment.
    fn mark(&self) -> Mark;

    /// Records that a command or a server's tool ran, which may have changed any file in unknown ways.
    fn note_command(&self, command: &str);

    /// Returns the commands recorded between two moments, oldest first.
    fn commands(&self, from: Mark, to: Mark) -> Vec<String>;

    /// Returns the files that differ between the two moments, by the changes of tools and by restores.
    fn changed(&self, from: Mark, to: Mark) -> Vec<ChangedFile>;

    /// Returns the effect of restoring all files to this moment, without changing anything.
    fn restores(&self, to: Mark) -> BoxFuture<'static, Vec<Restore>>;

    /// Restores files to this moment; those changed since by something else only if `overwrite` is set. The restore
    /// itself is recorded as well, so that it can be reverted in the same way.
    fn restore(&self, to: Mark, overwrite: bool) -> BoxFuture<'static, Vec<Restored>>;

    /// Forgets which files the model has read.
    fn forget_looks(&self);
}
