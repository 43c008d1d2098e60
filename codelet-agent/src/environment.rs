//! What the loop asks of the world around it to tell the model: files of instructions, the machine, the repository.

pub mod commit;
pub mod definitions;
pub mod file_reference;
pub mod instructions;
pub mod journal;
pub mod spelling;

use crate::environment::commit::{Committable, Made};
use crate::interrupt::Interrupt;
use futures_util::future::BoxFuture;
use std::path::{Path, PathBuf};

/// Answers questions about the world; the loop itself opens nothing.
pub trait Surroundings: Send + Sync {
    /// The true name of what lies there, through all links; `None` where there is nothing.
    fn resolve(&self, path: &Path) -> Option<PathBuf>;

    /// Whether a folder lies there.
    fn is_folder(&self, _path: &Path) -> bool {
        false
    }

    /// Whether a resolved path lies in a repository's own folder, as far as only what is there can tell; that a name says so
    /// everybody knows.
    fn is_gits(&self, _path: &Path) -> bool {
        false
    }

    /// Whether the project's ignore files leave this resolved folder out.
    fn is_ignored(&self, _folder: &Path) -> bool {
        false
    }

    /// The file's text, at most `limit` bytes of it, and the size of the whole; `None` where there is no such file or it
    /// is no text.
    fn text(&self, path: &Path, limit: usize) -> Option<(String, u64)>;

    /// The names of what lies in a resolved folder, in their order, at most so many; `None` where there is no folder that can be read.
    /// Names that are no text are left out.
    fn list(&self, _folder: &Path, _most: usize) -> Option<Listing> {
        None
    }

    /// A text of the user's without keys and other secrets that are known here, with a mark in their places.
    fn hide(&self, text: &str) -> String {
        text.to_owned()
    }

    /// Where the session works: the directory, the repository's root (the directory itself where there is none), and the
    /// user's own folder of instructions.
    fn places(&self) -> Places;

    /// Platform, architecture, shell and date, one `name: value` a line.
    fn environment(&self) -> String;

    /// Branch and changed files, bounded; `None` outside a repository. Repositories can be large and disks slow, so it is
    /// waited for. It ends soon after `interrupt` is thrown, with whatever was started for it; so it does when it is dropped.
    fn git_status(&self, interrupt: Interrupt) -> BoxFuture<'static, Option<String>>;

    /// What is not committed, all of it or what this path names; `None` outside a repository, and where git gives no answer. Waited for
    /// and ended like [`git_status`](Self::git_status).
    fn git_diff(&self, _path: Option<&str>, _interrupt: Interrupt) -> BoxFuture<'static, Option<Uncommitted>> {
        Box::pin(std::future::ready(None))
    }

    /// What a commit would hold: what is staged, or where nothing is, what has changed of the files that git knows, and of the others these,
    /// which are canonical paths. No program that the repository names is started. Waited for and ended like [`git_status`](Self::git_status).
    ///
    /// # Errors
    /// Says in a sentence why nothing can be committed.
    fn git_committable(
        &self,
        _made: Vec<PathBuf>,
        _interrupt: Interrupt,
    ) -> BoxFuture<'static, Result<Committable, String>> {
        Box::pin(std::future::ready(Err("There is no git here.".to_owned())))
    }

    /// Commits that, if it still stands as it was told, with this message. Git obeys the repository's settings and starts its hooks, as far
    /// as commands may go.
    ///
    /// # Errors
    /// Says why nothing was committed: a sentence, and behind it what git has printed.
    fn git_commit(
        &self,
        _commit: Committable,
        _made: Vec<PathBuf>,
        _message: String,
        _interrupt: Interrupt,
    ) -> BoxFuture<'static, Result<Made, String>> {
        Box::pin(std::future::ready(Err("There is no git here.".to_owned())))
    }
}

/// What a working tree holds that its last commit does not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Uncommitted {
    /// A unified diff, of one file after the other.
    pub diff: String,
    /// Files that git does not know and does not ignore.
    pub untracked: Vec<String>,
    /// There is more of either than could be told.
    pub is_cut: bool,
}

/// What lies in a folder.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    /// The names, in the order of their bytes.
    pub names: Vec<String>,
    /// Whether these are all.
    pub is_whole: bool,
}

/// Where the session works.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Places {
    /// The working directory.
    pub directory: PathBuf,
    /// The root of the repository that it belongs to.
    pub root: PathBuf,
    /// Folders with the user's own instructions, for example `~/.config/codelet` and `~/.claude`.
    pub own: Vec<PathBuf>,
    /// The user's home, for `@~/…` imports.
    pub home: Option<PathBuf>,
}

/// A world in which there is nothing to be found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Nowhere;

impl Surroundings for Nowhere {
    fn resolve(&self, _: &Path) -> Option<PathBuf> {
        None
    }

    fn text(&self, _: &Path, _: usize) -> Option<(String, u64)> {
        None
    }

    fn places(&self) -> Places {
        Places::default()
    }

    fn environment(&self) -> String {
        "nothing is known of it".to_owned()
    }

    fn git_status(&self, _: Interrupt) -> BoxFuture<'static, Option<String>> {
        Box::pin(async { None })
    }
}
