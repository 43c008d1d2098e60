//! Everything that the loop reads from its environment for the model: instruction files, the machine, the repository.

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

/// Access to the environment; the loop itself opens nothing.
pub trait Surroundings: Send + Sync {
    /// Returns the canonical path, with all symbolic links resolved; `None` if nothing exists there.
    fn resolve(&self, path: &Path) -> Option<PathBuf>;

    /// Returns whether the path is a folder.
    fn is_folder(&self, _path: &Path) -> bool {
        false
    }

    /// Returns whether a resolved path belongs to a repository's own git folder, as far as only the file system can
    /// tell; callers check the name themselves.
    fn is_gits(&self, _path: &Path) -> bool {
        false
    }

    /// Returns whether the project's ignore files exclude this resolved folder.
    fn is_ignored(&self, _folder: &Path) -> bool {
        false
    }

    /// Returns the file's text, at most `limit` bytes of it, and the size of the whole; `None` if there is no such file
    /// or it is not text.
    fn text(&self, path: &Path, limit: usize) -> Option<(String, u64)>;

    /// Returns the names in a resolved folder, sorted, at most this many; `None` if it is not a readable folder. Names
    /// that are not valid text are left out.
    fn list(&self, _folder: &Path, _most: usize) -> Option<Listing> {
        None
    }

    /// Replaces API keys and other known secrets in the user's text with a mark.
    fn hide(&self, text: &str) -> String {
        text.to_owned()
    }

    /// Returns where the session works: the directory, the repository's root (the directory itself if there is none),
    /// and the user's own instruction folders.
    fn places(&self) -> Places;

    /// Returns platform, architecture, shell and date, one `name: value` per line.
    fn environment(&self) -> String;

    /// Returns the branch and the changed files, bounded; `None` outside a repository. Asynchronous, as repositories
    /// can be large and disks slow. It ends soon after `interrupt` is thrown, or at once when dropped, and ends
    /// whatever it started.
    fn git_status(&self, interrupt: Interrupt) -> BoxFuture<'static, Option<String>>;

    /// Returns the uncommitted changes, all of them or those of this path. Interrupted like
    /// [`git_status`](Self::git_status).
    ///
    /// # Errors
    /// Says in a sentence why they are unknown.
    fn git_diff(&self, _path: Option<&str>, _interrupt: Interrupt) -> BoxFuture<'static, Result<Uncommitted, String>> {
        Box::pin(std::future::ready(Err("There is no git here.".to_owned())))
    }

    /// Returns what a commit would contain: the staged changes, or if there are none, the changes of tracked files and,
    /// of the untracked ones, these, given as canonical paths. Starts no program that the repository names. Interrupted
    /// like [`git_status`](Self::git_status).
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

    /// Makes this commit with this message, if it would still be the one shown. Git applies the repository's settings
    /// and runs its hooks, within the limits for commands.
    ///
    /// # Errors
    /// Says why nothing was committed: a sentence, followed by git's output.
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

/// The changes in a working tree since its last commit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Uncommitted {
    /// A unified diff of all files in turn.
    pub diff: String,
    /// Files that are neither tracked nor ignored.
    pub untracked: Vec<String>,
    /// True if either was truncated.
    pub is_cut: bool,
}

/// The contents of a folder.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    /// The names, in byte order.
    pub names: Vec<String>,
    /// True if the list is complete.
    pub is_whole: bool,
}

/// The locations that a session works with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Places {
    /// The working directory.
    pub directory: PathBuf,
    /// The root of its repository.
    pub root: PathBuf,
    /// Folders with the user's own instructions, for example `~/.config/codelet` and `~/.claude`.
    pub own: Vec<PathBuf>,
    /// The user's home, for `@~/…` imports.
    pub home: Option<PathBuf>,
}

/// An empty environment.
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
