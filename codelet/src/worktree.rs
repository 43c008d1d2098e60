//! `--worktree NAME`: runs the session in a separate git working tree, and reports its location at the end.

use crate::args::Chat;
use crate::exit::Failure;
use crate::model;
use crate::paint::count;
use crate::place::Place;
use crate::startup;
use crate::world;
use codelet_agent::spelling::spell;
use codelet_text::shell::word;
use codelet_tools::worktree::{Holds, Worktree};
use std::io::Write as _;
use std::path::Path;

/// The working tree of a session.
pub struct Entered {
    tree: Worktree,
    options: codelet_tools::Options,
}

/// Returns the location of the session: the working tree named on the command line, created if missing, or the starting
/// folder.
///
/// # Errors
/// If the folder does not exist or the working tree cannot be created.
pub fn enter(chat: &Chat) -> Result<(Place, Option<Entered>), Failure> {
    let place = Place::find(chat.directory.as_deref())?;
    let Some(name) = &chat.worktree else {
        return Ok((place, None));
    };
    let settings = startup::settings(chat, &place)?;
    if model::without_key(&settings).is_some() {
        // Nothing is created for a session that cannot start; the session reports the error.
        return Ok((place, None));
    }
    let mut options = world::options(&settings, &place, false);
    let tree = Worktree::enter(&options, name).map_err(|why| Failure::Told(format!("--worktree: {why}")))?;
    let place = Place::find(Some(&tree.directory))?;
    options.workspace.clone_from(&place.root);
    options.directory.clone_from(&place.directory);
    Ok((place, Some(Entered { tree, options })))
}

impl Entered {
    /// Returns notices for the start of the session.
    pub fn notices(&self) -> Vec<String> {
        self.tree.notices.clone()
    }

    /// Prints on standard error the location and content of the tree, and how to continue the session if it was saved,
    /// else to work in the tree again, and to merge and remove it.
    pub fn tell(&self, is_saved: bool) {
        // Errors are ignored: there is nowhere left to report them.
        let _ = std::io::stderr().write_all(self.told(is_saved).as_bytes());
    }

    fn told(&self, is_saved: bool) -> String {
        let shown = |path: &Path| spell(path.as_os_str());
        let (path, branch) = (shown(&self.tree.path), &self.tree.branch);
        let holds = self.tree.holds(&self.options);
        let held = holds.map_or("its changes are unknown".to_owned(), held);
        let mut told = format!("Working tree: {path}, branch {branch}: {held}\n");
        // The other lines are shell commands.
        let from = shown(&self.tree.from);
        let (path, from, branch) = (word(&path), word(&from), word(branch));
        let go_on = if is_saved { " --continue" } else { "" };
        told.push_str(&format!(
            "  to continue: codelet -C {from} --worktree {branch}{go_on}\n"
        ));
        if holds.is_none_or(|holds| holds.commits > 0) {
            told.push_str(&format!("  to merge:    git -C {from} merge {branch}\n"));
        }
        told.push_str(&format!(
            "  to remove:   git -C {from} worktree remove {path} && git -C {from} branch -d {branch}\n"
        ));
        told
    }
}

/// Describes the content of a tree.
fn held(holds: Holds) -> String {
    let commits = (holds.commits > 0).then(|| count(holds.commits, "new commit"));
    let files = (holds.files > 0).then(|| format!("{} not committed", count(holds.files, "file")));
    let all: Vec<String> = commits.into_iter().chain(files).collect();
    match all.is_empty() {
        true => "no changes".to_owned(),
        false => all.join(", "),
    }
}
