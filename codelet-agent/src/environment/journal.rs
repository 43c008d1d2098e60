//! What the tools of a session have changed in files, and how that is put back: the loop knows whoever keeps it by a trait.

use futures_util::future::BoxFuture;

/// A moment in a [`Journal`]; later ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Mark(pub usize);

/// What becomes, or became, of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// There is one where none was.
    Created,
    /// It holds something else.
    Altered,
    /// There is none any more.
    Deleted,
}

/// A file that the tools have changed between two moments, all in all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedFile {
    /// Its name, as the model is told it.
    pub name: String,
    /// What became of it.
    pub change: Change,
    /// Lines that were added and removed; none where they were not compared.
    pub lines: Option<(u64, u64)>,
}

/// How a file that is to be put back stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// As the tools have left it.
    AsLeft,
    /// Somebody else has changed it since: a command, another program, the user.
    ChangedSince,
    /// It cannot be put back, and why.
    Lost(String),
}

/// What putting one file back comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restore {
    /// Its name, as the model is told it.
    pub name: String,
    /// What would become of it.
    pub change: Change,
    /// How it stands.
    pub standing: Standing,
    /// What would change in it, as for [`Need::Change`](crate::tool::Need::Change).
    pub diff: String,
}

/// What has come of putting one file back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// Its name, as the model is told it.
    pub name: String,
    /// What became of it, or was to.
    pub change: Change,
    /// Why it stands as it stood, if it was not put back.
    pub done: Result<(), String>,
}

/// Keeps what files were before the tools of a session changed them, for as long as the session lives.
pub trait Journal: Send + Sync {
    /// This moment.
    fn mark(&self) -> Mark;

    /// A command or a tool of a server was run, which may change anything; nothing is known of what it changed.
    fn note_command(&self, command: &str);

    /// Commands that were noted between two moments, oldest first.
    fn commands(&self, from: Mark, to: Mark) -> Vec<String>;

    /// The files that are others at the second moment than at the first, by what the tools have changed and what was put back.
    fn changed(&self, from: Mark, to: Mark) -> Vec<ChangedFile>;

    /// What putting all files back to how they were at this moment comes to. Nothing is changed.
    fn restores(&self, to: Mark) -> BoxFuture<'static, Vec<Restore>>;

    /// Puts files back to how they were at this moment; those that somebody else has changed since only if they are to be overwritten.
    /// What that changes is kept as well, so that it can be taken back in the same way.
    fn restore(&self, to: Mark, overwrite: bool) -> BoxFuture<'static, Vec<Restored>>;

    /// The model knows nothing any more of the files that it has looked at.
    fn forget_looks(&self);
}
