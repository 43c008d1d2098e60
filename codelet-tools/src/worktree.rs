//! A linked working tree for a session that must not change the one in which it was started.
//!
//! It is beside the repository, in `NAME-OF-THE-REPOSITORY.worktrees/NAME`. Git creates it without starting any program
//! that the repository names (hooks, the file system monitor, the repository's own filters), in a sandbox that can
//! write only to the repository and that folder.

use crate::Options;
use crate::git::Git;
use crate::process::End;
use crate::real_git::RealGit;
use crate::repository::Repository;
use crate::sandbox::Sandbox;
use crate::tool_context::ToolContext;
use codelet_agent::permission::Permission;
use codelet_text::short::on_one_line;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for all git commands of one query.
const TIME: Duration = Duration::from_secs(10);
/// Switches off submodules and hooks while a tree is created: those in the hooks folder and, since git 2.54, in the
/// settings.
const QUIET: [&str; 10] = [
    "-c",
    "submodule.recurse=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "hook.post-checkout.enabled=false",
    "-c",
    "hook.post-index-change.enabled=false",
    "-c",
    "hook.reference-transaction.enabled=false",
];
/// Settings that name a program which filters file contents.
const FILTERS: &str = r"^filter\..*\.(clean|smudge|process|required)$";

/// A working tree for a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Worktree {
    /// Its folder.
    pub path: PathBuf,
    /// The branch that is checked out there.
    pub branch: String,
    /// The session's directory in it: the counterpart of the folder from which the tree was requested, if the tree has
    /// it, or else its root.
    pub directory: PathBuf,
    /// The tree from which it was requested.
    pub from: PathBuf,
    /// True if it existed already.
    pub is_reused: bool,
    /// The current commit of the tree from which it was requested.
    base: String,
    /// Notices for the user, a sentence each.
    pub notices: Vec<String>,
}

/// The contents of a working tree beyond those of the one it came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Holds {
    /// Commits.
    pub commits: usize,
    /// Changed or new files that are not committed.
    pub files: usize,
}

impl Worktree {
    /// Returns the tree for a branch of this name and creates it if there is none; `options` are those of a session in
    /// the folder from which it is requested.
    ///
    /// # Errors
    /// Says in a sentence why there can be none.
    pub fn enter(options: &Options, name: &str) -> Result<Worktree, String> {
        let context = ToolContext::new(options.clone());
        let directory = context.paths.directory().to_owned();
        let repository = Repository::of(&directory).ok_or("this is not a git repository")?;
        if !repository.is_of_its_tree() {
            return Err("the repository of this folder does not list it as a working tree".to_owned());
        }
        let root = repository.root.clone();
        let maker = Maker(RealGit {
            context: &context,
            root: &root,
            fetches: false,
            stop: None,
        });
        maker.check_name(name)?;
        let base = maker.asked(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
        let base = base.ok_or("this repository has no commits yet; commit something first")?;
        let trees = maker.trees()?;
        let path = place(&trees, name).ok_or("the repository's folder has no name")?;
        // The tree's folder and those of the components of its name.
        let is_link = |folder: &Path| folder.symlink_metadata().is_ok_and(|found| found.is_symlink());
        let parts = path.ancestors().take(name.split('/').count() + 1);
        if let Some(link) = parts.into_iter().find(|folder| is_link(folder)) {
            return Err(format!("{} is a link", link.display()));
        }
        let wanted = format!("refs/heads/{name}");
        let at = trees.iter().find(|tree| tree.branch.as_deref() == Some(&*wanted));
        let is_there = at.is_some_and(|tree| tree.path == path && !tree.is_gone);
        match at {
            _ if is_there => {}
            Some(tree) if tree.path != path => {
                let tree = tree.path.display();
                return Err(format!(
                    "branch {name} is checked out at {tree}; work there by `codelet -C {tree}`"
                ));
            }
            _ => maker.make(&repository, &path, name, at.is_some())?,
        }
        let path = path.canonicalize().map_err(|error| crate::files::reason(&error))?;
        let below = directory.strip_prefix(&root).unwrap_or(Path::new(""));
        // The branch may contain a link there, which leads anywhere.
        let below = path.join(below).canonicalize();
        let mut tree = Worktree {
            directory: below
                .ok()
                .filter(|below| below.starts_with(&path) && below.is_dir())
                .unwrap_or(path.clone()),
            path,
            branch: name.to_owned(),
            from: root.clone(),
            is_reused: is_there,
            base,
            notices: Vec::new(),
        };
        tree.notices = tree.told(options, &context);
        Ok(tree)
    }

    /// The current contents; `None` if git gives no answer.
    pub fn holds(&self, options: &Options) -> Option<Holds> {
        holds(&self.path, Some(&self.base), options)
    }

    fn told(&self, options: &Options, context: &ToolContext) -> Vec<String> {
        let verb = if self.is_reused { "continues in" } else { "works in" };
        let (branch, path) = (&self.branch, self.path.display());
        let mut told = vec![format!("this session {verb} {path}, on branch {branch}")];
        let dirty = holds(&self.from, None, options).map_or(0, |holds| holds.files);
        if dirty > 0 && !self.is_reused {
            let files = if dirty == 1 {
                "1 file"
            } else {
                &format!("{dirty} files")
            };
            let from = self.from.display();
            told.push(format!(
                "uncommitted changes of {files} in {from} stay there and are not in the new working tree"
            ));
        }
        if self.path.join(".gitmodules").is_file() && !self.is_reused {
            told.push(
                "submodules are not checked out in a new working tree; `! git submodule update --init` does that"
                    .to_owned(),
            );
        }
        let writable = crate::committed::Committed::of(&self.path, context.options.home.as_deref());
        if writable.is_part {
            told.push(
                "the repository's git folder contains other folders, so commands can commit here, but not merge or rebase"
                    .to_owned(),
            );
        }
        told
    }
}

/// The uncommitted files of a tree, and the number of commits since that one.
fn holds(tree: &Path, base: Option<&str>, options: &Options) -> Option<Holds> {
    let context = ToolContext::new(options.clone());
    let repository = Repository::of(tree).filter(Repository::is_of_its_tree)?;
    let environment = crate::environment(options);
    let git = Git::new(&repository, tree, &environment, &context, TIME, None)?;
    let status = [
        "status", "--porcelain=v1", "--ignore-submodules=all", "--no-renames", "-z",
    ]
    .map(OsStr::new);
    let (status, _) = git.ask(&status)?;
    let commits = base.and_then(|base| {
        let since = format!("{base}..HEAD");
        let count = ["rev-list", "--count", &since].map(OsStr::new);
        git.ask(&count)?.0.trim().parse().ok()
    });
    Some(Holds {
        commits: commits.unwrap_or(0),
        files: status.split_terminator('\0').count(),
    })
}

/// A working tree that git knows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Known {
    path: PathBuf,
    branch: Option<String>,
    /// True if its folder is gone.
    is_gone: bool,
}

/// The folder for a tree of this name: beside the repository's first tree, which is its main one or the bare
/// repository.
fn place(trees: &[Known], name: &str) -> Option<PathBuf> {
    let main = &trees.first()?.path;
    let mut folder = main.file_name()?.to_owned();
    folder.push(".worktrees");
    Some(main.parent()?.join(folder).join(name))
}

/// Parses the output of `git worktree list --porcelain -z`.
fn known(answer: &str) -> Vec<Known> {
    let mut trees = Vec::new();
    for line in answer.split('\0') {
        if let Some(path) = line.strip_prefix("worktree ") {
            trees.push(Known {
                path: path.into(),
                ..Known::default()
            });
        } else if let Some(tree) = trees.last_mut() {
            if let Some(branch) = line.strip_prefix("branch ") {
                tree.branch = Some(branch.to_owned());
            }
            tree.is_gone |= line.starts_with("prunable");
        }
    }
    trees
}

struct Maker<'a>(RealGit<'a>);

impl Maker<'_> {
    /// Runs a query that starts no program; `None` if git reports failure.
    fn asked(&self, arguments: &[&str]) -> Result<Option<String>, String> {
        let ran = self.0.ask(arguments)?;
        if ran.end == End::TimedOut {
            return Err("git gives no answer here".to_owned());
        }
        Ok((ran.end == End::Exited(0)).then(|| ran.output.trim_end_matches('\n').to_owned()))
    }

    fn check_name(&self, name: &str) -> Result<(), String> {
        let full = format!("refs/heads/{name}");
        let is_odd =
            name.starts_with('-') || matches!(name, "HEAD" | "@") || name.chars().any(codelet_text::unseen::hides);
        if is_odd || name.contains('\0') || self.asked(&["check-ref-format", &full])?.is_none() {
            let shown: String = on_one_line(name).take(100).collect();
            return Err(format!(
                "{shown:?} is not a valid branch name; names have no spaces, no .. and none of ~ ^ : ? * [ \\, such as fix-parser or ada/fix-parser"
            ));
        }
        Ok(())
    }

    fn trees(&self) -> Result<Vec<Known>, String> {
        let listed = self.asked(&["worktree", "list", "--porcelain", "-z"])?;
        Ok(known(
            &listed.ok_or("git does not list the working trees of this repository")?,
        ))
    }

    /// Creates the tree, with a new branch if there is none of that name.
    fn make(&self, repository: &Repository, path: &Path, name: &str, is_registered: bool) -> Result<(), String> {
        let full = format!("refs/heads/{name}");
        let is_branch = self.asked(&["show-ref", "--verify", "--quiet", &full])?.is_some();
        let trees = path.ancestors().nth(name.split('/').count());
        let trees = trees.ok_or("there is no place for a working tree")?;
        if path.symlink_metadata().is_ok() {
            return Err(format!(
                "{} exists and is not a working tree of this repository",
                path.display()
            ));
        }
        std::fs::create_dir_all(trees).map_err(|error| {
            format!(
                "{} cannot be created: {}",
                trees.display(),
                crate::files::reason(&error)
            )
        })?;
        let shown = path
            .to_str()
            .ok_or("the folder for working trees has a name that is not valid UTF-8")?;
        let common = repository.common.canonicalize();
        let common = common.map_err(|error| crate::files::reason(&error))?;
        let sandbox = || {
            (self.0.context.permission() != Permission::All).then(|| Sandbox::new([trees.to_owned(), common.clone()]))
        };
        let run = |git: &RealGit<'_>, arguments: &[&str]| {
            let made = git.run(&[&QUIET, arguments].concat(), None, None, sandbox())?;
            made.succeeded("git could not create the working tree").map(|_| ())
        };
        let mut add = vec!["worktree", "add", "--quiet", "--no-checkout"];
        // Git still knows a tree whose folder is gone.
        add.extend(is_registered.then_some("--force"));
        match is_branch {
            true => add.extend([shown, name]),
            // Without a remote branch of that name, and without an upstream.
            false => add.extend(["--no-track", "-b", name, shown, "HEAD"]),
        }
        run(&self.0, &add)?;
        // Settings may apply to the new tree only, so they are checked there before any file is written.
        let within = Maker(RealGit { root: path, ..self.0 });
        let filled = within.filters().and_then(|filters| {
            let off = filters.iter().flat_map(|filter| {
                let value = if filter.ends_with(".required") { "false" } else { "" };
                ["-c".to_owned(), format!("{filter}={value}")]
            });
            let off: Vec<String> = off.collect();
            let mut fill: Vec<&str> = off.iter().map(String::as_str).collect();
            fill.extend(["reset", "--hard", "--quiet"]);
            run(&within.0, &fill)
        });
        if filled.is_err() {
            let _ = run(&self.0, &["worktree", "remove", "--force", shown]);
            if !is_branch {
                let _ = run(&self.0, &["branch", "--quiet", "-D", name]);
            }
        }
        filled
    }

    /// The filters in the repository's own settings. Those in the user's settings are the user's choice.
    fn filters(&self) -> Result<Vec<String>, String> {
        let listed = self.asked(&["config", "--show-scope", "-z", "--get-regexp", FILTERS])?;
        let listed = listed.unwrap_or_default();
        let mut entries = listed.split('\0');
        let mut names = Vec::new();
        while let (Some(scope), Some(entry)) = (entries.next(), entries.next()) {
            let name = entry.split('\n').next().unwrap_or_default();
            if matches!(scope, "local" | "worktree") {
                if name.contains('=') {
                    // It could not be switched off on a command line.
                    return Err(format!(
                        "the repository's settings name a filter with an odd name: {name:?}"
                    ));
                }
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests;
