//! A commit: what it would hold, and what was made of it.

use std::path::PathBuf;

/// What a commit would hold and how git would make it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Committable {
    /// The branch that is checked out; none where `HEAD` is detached.
    pub branch: Option<String>,
    /// The commit that it stands on; none where there is none yet.
    pub head: Option<String>,
    /// Who git would name as its author.
    pub author: String,
    /// What goes in was staged; else nothing was.
    pub is_staged: bool,
    /// What goes in.
    pub files: Vec<Changed>,
    /// More goes in than `files` name.
    pub is_cut: bool,
    /// Files with changes that stay out.
    pub left_out: Vec<String>,
    /// Files that git does not know and that stay out.
    pub untracked: Vec<String>,
    /// Hooks that git would start, as paths from the root.
    pub hooks: Vec<String>,
    /// What those hooks hold, so that a commit is shown again once one of them is another.
    pub hook_contents: Vec<Vec<u8>>,
    /// Further programs that the repository's settings name and git may start, as `setting = program`.
    pub programs: Vec<String>,
    /// Git would sign it.
    pub is_signed: bool,
    /// The changes, bounded.
    pub diff: String,
    /// The subjects of the last commits, newest first.
    pub subjects: Vec<String>,
}

/// A file that goes into a commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    /// What becomes of it.
    pub change: Change,
    /// Its name from the repository's root, on one line.
    pub name: String,
    /// The same, exactly.
    pub path: PathBuf,
    /// Lines that are added and removed; none where it is no text.
    pub lines: Option<(u64, u64)>,
    /// Its mode in git's words, where it does not stay or become a plain file: `old mode 100644, new mode 100755`,
    /// `new file mode 120000 -> TARGET` for a link.
    pub mode: Option<String>,
    /// A tool of the session has written it; a command, or somebody else, may have changed it too.
    pub is_written_here: bool,
}

/// What becomes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It is new.
    Added,
    /// Its content or mode changes.
    Modified,
    /// It becomes something else, such as a link in place of a file.
    Retyped,
    /// It goes away.
    Deleted,
}

impl Change {
    /// The letter that git has for it.
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
    /// Its name, abbreviated.
    pub id: String,
    /// The first line of its message, which hooks may have written.
    pub subject: String,
    /// The files in it, which hooks may have chosen.
    pub files: Vec<String>,
    /// What hooks printed.
    pub output: String,
    /// What was changed meanwhile that somebody obeys; it starts with "changed".
    pub changed: Option<String>,
}
