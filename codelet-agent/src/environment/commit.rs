//! A commit: its planned contents, and its result.

use std::path::PathBuf;

/// The planned contents of a commit and how git would make it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Committable {
    /// The current branch; `None` if `HEAD` is detached.
    pub branch: Option<String>,
    /// The parent commit; `None` if there is none yet.
    pub head: Option<String>,
    /// The author that git would record.
    pub author: String,
    /// True if the contents were staged; false if nothing was.
    pub is_staged: bool,
    /// The files to commit.
    pub files: Vec<Changed>,
    /// True if there are more than `files` lists.
    pub is_cut: bool,
    /// Changed files that are left out.
    pub left_out: Vec<String>,
    /// Untracked files that are left out.
    pub untracked: Vec<String>,
    /// The hooks that git would run, as paths from the root.
    pub hooks: Vec<String>,
    /// The contents of those hooks, so that the commit is shown again if one of them changes.
    pub hook_contents: Vec<Vec<u8>>,
    /// Other programs from the repository's settings that git may run, as `setting = program`.
    pub programs: Vec<String>,
    /// True if git would sign it.
    pub is_signed: bool,
    /// The changes, bounded.
    pub diff: String,
    /// The subjects of the last commits, newest first.
    pub subjects: Vec<String>,
}

/// A file to commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    /// The kind of change.
    pub change: Change,
    /// Its name from the repository's root, on one line.
    pub name: String,
    /// The same name, exactly.
    pub path: PathBuf,
    /// The numbers of added and removed lines; `None` if it is not text.
    pub lines: Option<(u64, u64)>,
    /// Its mode in git's terms, unless it stays or becomes a plain file: `old mode 100644, new mode 100755`, `new file
    /// mode 120000 -> TARGET` for a link.
    pub mode: Option<String>,
    /// True if a tool of the session wrote it; a command, or someone else, may have changed it too.
    pub is_written_here: bool,
}

/// The kind of change of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It is new.
    Added,
    /// Its content or mode changes.
    Modified,
    /// Its type changes, such as a file to a link.
    Retyped,
    /// It is deleted.
    Deleted,
}

impl Change {
    /// Returns git's letter for it.
    pub fn letter(self) -> char {
        match self {
            Change::Added => 'A',
            Change::Modified => 'M',
            Change::Retyped => 'T',
            Change::Deleted => 'D',
        }
    }
}

/// A commit that was made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Made {
    /// Its abbreviated id.
    pub id: String,
    /// The first line of its message, which hooks may have written.
    pub subject: String,
    /// The files in it, which hooks may have chosen.
    pub files: Vec<String>,
    /// The output of hooks.
    pub output: String,
    /// Changes made meanwhile to files that other programs obey; it starts with "changed".
    pub changed: Option<String>,
}
