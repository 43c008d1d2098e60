//! Snapshots of a workspace's files that other programs obey, so that the user is told which of them a command changed.

use crate::committed;
use crate::files::{self, Stamp};
use crate::gitlinks;
use crate::repository::{COMMON, ENTRIES, Repository, entries, text};
use crate::seen::Look;
use codelet_agent::orders;
use codelet_agent::tool::Owner;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The maximum number of folders searched for submodules.
const FOLDERS: usize = 1024;

/// A snapshot of obeyed files: each file, and its target if it is a link.
#[derive(Default)]
pub(crate) struct Obeyed(BTreeMap<PathBuf, Stood>);

/// The state of a file.
#[derive(PartialEq, Eq)]
struct Stood {
    stamp: Stamp,
    target: Option<Stamp>,
    /// What the first [`READ`] bytes are: writing through a memory mapping need not change any time stamp.
    text: Option<Look>,
}

impl Obeyed {
    /// Takes a snapshot of a workspace: the files of its repository that git obeys, and those that instruct other
    /// programs.
    pub(crate) fn of(root: &Path) -> Obeyed {
        let mut obeyed = Obeyed::default();
        obeyed.note_orders(root);
        if let Some(repository) = Repository::of(root) {
            obeyed.note_git(&repository);
        }
        obeyed
    }

    /// Takes a snapshot of several folders.
    pub(crate) fn of_all<'a>(roots: impl Iterator<Item = &'a PathBuf>) -> Obeyed {
        Obeyed(roots.flat_map(|root| Obeyed::of(root).0).collect())
    }

    /// Files that were added, changed or removed since.
    pub(crate) fn changed(&self, since: &Obeyed) -> Vec<PathBuf> {
        let is_new = |(path, stood): &(&PathBuf, &_)| since.0.get(*path) != Some(*stood);
        let is_gone = |(path, _): &(&PathBuf, &_)| !self.0.contains_key(*path);
        let new = self.0.iter().filter(is_new);
        new.chain(since.0.iter().filter(is_gone))
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// Records the files of a repository that make git start programs: settings and hooks, including those of
    /// submodules and other working trees.
    fn note_git(&mut self, repository: &Repository) {
        self.note_repository(&repository.own);
        self.note_repository(&repository.common);
        self.note(repository.own.join(COMMON));
        let mut waiting = vec![repository.own.join("modules"), repository.common.join("modules")];
        waiting.extend(self.note_trees(&repository.common));
        let mut count = 0;
        // A submodule's name, and so its folder, may have several components.
        while let Some(folder) = waiting.pop() {
            let inner = if folder.join("HEAD").symlink_metadata().is_ok() {
                self.note_repository(&folder);
                self.note_submodule(&folder);
                let trees = self.note_trees(&folder);
                [vec![folder.join("modules")], trees].concat()
            } else {
                self.within(&folder, |path| path.is_dir())
            };
            count += inner.len();
            if count > FOLDERS {
                // Recording the folder reports at least that there are now too many.
                self.note(folder);
                break;
            }
            waiting.extend(inner);
        }
        let pointer = repository.root.join(".git");
        if !pointer.is_dir() {
            self.note(pointer);
        }
        self.note_inner(repository);
    }

    /// Records the same for submodules whose repository is inside their tree, and for their submodules: git enters each
    /// of them on any status of the whole repository.
    fn note_inner(&mut self, repository: &Repository) {
        let mut waiting = vec![(repository.root.clone(), repository.own.clone())];
        let mut count = 0;
        while let Some((root, own)) = waiting.pop() {
            for tree in gitlinks::of(&own.join("index")).map(|path| root.join(path)) {
                let inner = tree.join(".git");
                if !inner.is_dir() {
                    continue;
                }
                count += 1;
                if count > FOLDERS {
                    // Recording the tree reports at least that there are now too many.
                    return self.note(root);
                }
                self.note_repository(&inner);
                self.note(inner.join(COMMON));
                waiting.push((tree, inner));
            }
        }
    }

    /// Records the files in a repository's folder that git obeys.
    fn note_repository(&mut self, folder: &Path) {
        self.note(folder.join("config"));
        self.note(folder.join("config.worktree"));
        // A rebase or cherry-pick in progress does not matter; one that will run a program does.
        for (steps, starts) in WAITING {
            let steps = folder.join(steps);
            if beginning(&steps).is_some_and(|text| text.split(|byte| *byte == b'\n').any(starts)) {
                self.note(steps);
            }
        }
        // Sample hooks are not run.
        let hooks = self.within(&folder.join("hooks"), |path| {
            path.extension() != Some(OsStr::new("sample"))
        });
        for hook in hooks {
            self.note(hook);
        }
    }

    /// Records the files that lead from a submodule's tree to its repository, and from there to its settings. Git
    /// follows them on any status of the whole repository.
    fn note_submodule(&mut self, folder: &Path) {
        self.note(folder.join(COMMON));
        let dot = committed::tree_of(folder).map(|tree| tree.join(".git"));
        // A `.git` folder in the tree is a repository by itself.
        if let Some(dot) = dot.filter(|dot| !dot.is_dir()) {
            self.note(dot);
        }
    }

    /// Records the files of a repository's further working trees; returns the folders where their submodules may be.
    fn note_trees(&mut self, common: &Path) -> Vec<PathBuf> {
        let trees = self.within(&common.join("worktrees"), |path| path.is_dir());
        for tree in &trees {
            self.note_repository(tree);
            let leads = text(&tree.join("commondir")).and_then(|leads| tree.join(leads.trim()).canonicalize().ok());
            // A new tree always has a new file; only one that leads to another repository uses other settings.
            if leads != common.canonicalize().ok() {
                self.note(tree.join("commondir"));
            }
        }
        trees.into_iter().map(|tree| tree.join("modules")).collect()
    }

    /// Records the state of a path, if it exists.
    fn note(&mut self, path: PathBuf) {
        if let Ok(metadata) = path.symlink_metadata() {
            // A folder changes with each file added to it.
            let target = path.metadata().ok().filter(|target| !target.is_dir());
            let stood = Stood {
                stamp: Stamp::of(&metadata),
                target: target.as_ref().map(Stamp::of),
                text: beginning(&path).map(|bytes| Look::at(&bytes)),
            };
            self.0.insert(path, stood);
        }
    }

    /// Lists a folder. If it has too many entries, records the folder itself: files could be hidden in it.
    fn within(&mut self, folder: &Path, is_meant: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let mut count = 0;
        let all = entries(folder).inspect(|_| count += 1);
        let meant = all.filter(|path| is_meant(path)).collect();
        if count == ENTRIES {
            self.note(folder.to_owned());
        }
        meant
    }

    /// Records the files that instruct other programs: by name, at the top of a workspace or in a dot folder there, and
    /// those below them, [`DEEPEST`] levels deep.
    fn note_orders(&mut self, root: &Path) {
        let is_named = |below: &Path| {
            let owner = orders::obeys(&below.to_string_lossy());
            matches!(owner, Some(Owner::Obeyed(_) | Owner::Codelet))
        };
        let is_order = |path: &Path| is_named(path.strip_prefix(root).unwrap_or(path));
        let all = std::fs::read_dir(root).into_iter().flatten().flatten().take(TOP);
        // Of a folder full of files, hardly any name is of interest.
        let top: Vec<PathBuf> = all
            .map(|entry| entry.file_name())
            .filter(|name| name.as_bytes().starts_with(b".") || is_named(Path::new(name)))
            .filter(|name| name != ".git")
            .map(|name| root.join(name))
            .collect();
        let is_dotted = |path: &&PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
        let folders = top
            .iter()
            .filter(is_dotted)
            .filter(|path| path.is_dir() && !is_order(path));
        let within: Vec<PathBuf> = folders.flat_map(|folder| entries(folder)).collect();
        let mut waiting: Vec<(PathBuf, usize)> = top
            .into_iter()
            .chain(within)
            .filter(|path| is_order(path))
            .map(|path| (path, 0))
            .collect();
        let mut count = 0;
        while let Some((path, depth)) = waiting.pop() {
            count += 1;
            if path.is_dir() && depth < DEEPEST && count < ENTRIES {
                let inner = self.within(&path, |_| true);
                waiting.extend(inner.into_iter().map(|inner| (inner, depth + 1)));
            } else if !path.ends_with(WRITTEN_BY_ITSELF) {
                self.note(path);
            }
        }
    }
}

/// Entries examined at the top of a workspace.
const TOP: usize = 20_000;
/// Editors write this file whenever another file is viewed.
const WRITTEN_BY_ITSELF: &str = ".idea/workspace.xml";
/// Depth to which folders with instructions are searched.
const DEEPEST: usize = 4;

/// Bytes of a file that are compared.
const READ: u64 = 1 << 20;

/// The first bytes of a regular file.
fn beginning(path: &Path) -> Option<Vec<u8>> {
    let (file, _) = files::open(&path.canonicalize().ok()?).ok()?;
    let mut bytes = Vec::new();
    file.take(READ).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Tests whether a line makes git start a program.
type Starts = fn(&[u8]) -> bool;

/// Files with git's pending steps, and a test for lines there that make it start a program.
const WAITING: [(&str, Starts); 4] = [
    ("rebase-merge/git-rebase-todo", runs),
    ("sequencer/todo", runs),
    ("rebase-merge/strategy", |name| !is_gits_strategy(name)),
    ("sequencer/opts", |line| {
        let mut parts = line.splitn(2, |byte| *byte == b'=');
        let name = parts.next().unwrap_or_default().trim_ascii();
        name.eq_ignore_ascii_case(b"strategy") && !is_gits_strategy(parts.next().unwrap_or_default())
    }),
];

/// Returns whether git implements this merge strategy itself; for any other name it starts a program.
fn is_gits_strategy(name: &[u8]) -> bool {
    matches!(
        name.trim_ascii(),
        b"" | b"ort" | b"recursive" | b"octopus" | b"ours" | b"resolve" | b"subtree"
    )
}

/// Returns whether a rebase step starts a program.
fn runs(step: &[u8]) -> bool {
    let word = step.split(u8::is_ascii_whitespace).find(|word| !word.is_empty());
    matches!(word, Some(b"exec" | b"x"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_change_behind_a_link_and_in_a_submodule_of_any_name_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let git = base.join(".git");
        for inner in ["hooks", "modules/one/hooks", "modules/libs/far/two/modules/three"] {
            std::fs::create_dir_all(git.join(inner)).unwrap();
        }
        let repositories = [
            "",
            "modules/one",
            "modules/libs/far/two",
            "modules/libs/far/two/modules/three",
        ];
        for inner in repositories {
            std::fs::write(git.join(inner).join("HEAD"), "ref: refs/heads/main\n").unwrap();
            std::fs::write(git.join(inner).join("config"), "[core]\n").unwrap();
        }
        std::fs::write(base.join("tool"), "true\n").unwrap();
        std::os::unix::fs::symlink("../../tool", git.join("hooks/pre-commit")).unwrap();
        let obeyed = || Obeyed::of(&base);
        let mut last = obeyed();
        let mut changed = || {
            let now = obeyed();
            let changed = now.changed(&last);
            last = now;
            changed
        };
        assert_eq!(changed(), [] as [PathBuf; 0]);
        std::fs::write(base.join("tool"), "evil\n").unwrap();
        assert_eq!(changed(), [git.join("hooks/pre-commit")]);
        for inner in repositories {
            std::fs::write(git.join(inner).join("config"), "[core]\n\tfsmonitor = evil\n").unwrap();
            assert_eq!(changed(), [git.join(inner).join("config")]);
        }
        std::fs::write(git.join("modules/one/hooks/update"), "evil\n").unwrap();
        assert_eq!(changed(), [git.join("modules/one/hooks/update")]);
        // A rebase in progress is not reported; one that would run a program is.
        std::fs::create_dir(git.join("rebase-merge")).unwrap();
        let steps = git.join("rebase-merge/git-rebase-todo");
        std::fs::write(&steps, "pick 1234567 One\n").unwrap();
        assert_eq!(changed(), [] as [PathBuf; 0]);
        std::fs::write(&steps, "pick 1234567 One\n  exec ./evil\n").unwrap();
        assert_eq!(changed(), [steps]);
        for (file, harmless, evil) in [
            ("rebase-merge/strategy", "ort\n", "x/evil\n"),
            (
                "sequencer/opts",
                "[options]\n\tstrategy = ours\n",
                "[options]\n\tStrategy=x/evil\n",
            ),
        ] {
            let file = git.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, harmless).unwrap();
            assert_eq!(changed(), [] as [PathBuf; 0]);
            std::fs::write(&file, evil).unwrap();
            assert_eq!(changed(), [file]);
        }
        // Hidden files are reported, too.
        std::fs::write(git.join("modules/libs/HEAD"), "").unwrap();
        assert!(changed().contains(&git.join("modules/libs/far/two/config")));
        for number in 0..ENTRIES {
            std::fs::write(git.join(format!("hooks/{number}.sample")), "").unwrap();
        }
        assert!(changed().contains(&git.join("hooks")));
    }

    /// `git status` of the whole repository enters each submodule, and so runs the programs that the settings there
    /// name.
    #[test]
    fn what_leads_to_a_submodules_repository_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let module = base.join(".git/modules/libs/sub");
        std::fs::create_dir_all(&module).unwrap();
        std::fs::create_dir_all(base.join("libs/sub")).unwrap();
        for repository in [&base.join(".git"), &module] {
            std::fs::write(repository.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        std::fs::write(module.join("config"), "[core]\n\tworktree = ../../../../libs/sub\n").unwrap();
        let pointer = base.join("libs/sub/.git");
        std::fs::write(&pointer, "gitdir: ../../.git/modules/libs/sub\n").unwrap();
        let mut last = Obeyed::of(&base);
        let mut changed = || {
            let now = Obeyed::of(&base);
            let changed = now.changed(&last);
            last = now;
            changed
        };
        assert_eq!(changed(), [] as [PathBuf; 0]);
        std::fs::write(&pointer, "gitdir: ../../evil/.git\n").unwrap();
        assert_eq!(changed(), std::slice::from_ref(&pointer));
        std::fs::remove_file(&pointer).unwrap();
        std::fs::create_dir(&pointer).unwrap();
        assert_eq!(changed(), [pointer]);
        std::fs::write(module.join("commondir"), "../../../../evil/.git\n").unwrap();
        assert_eq!(changed(), [module.join("commondir")]);
        std::fs::write(base.join(".git/commondir"), "../evil/.git\n").unwrap();
        assert!(changed().contains(&base.join(".git/commondir")));
    }

    #[test]
    fn what_changes_without_its_times_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let orders = base.join("AGENTS.md");
        std::fs::write(&orders, "Be kind.").unwrap();
        let before = Obeyed::of(&base);
        std::fs::write(&orders, "Be evil.").unwrap();
        let mut now = Obeyed::of(&base);
        // As after writing through a mapping of pages that were already dirty.
        let times = now.0.get_mut(&orders).unwrap();
        times.stamp = before.0[&orders].stamp;
        times.target = before.0[&orders].target;
        assert_eq!(now.changed(&before), [orders]);
    }

    #[test]
    fn orders_are_seen_to_change_whatever_changed_them() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for inner in [".github/workflows", ".claude/commands", "src", "shared"] {
            std::fs::create_dir_all(base.join(inner)).unwrap();
        }
        std::fs::write(base.join("notes"), "Be kind.").unwrap();
        std::os::unix::fs::symlink("notes", base.join("AGENTS.md")).unwrap();
        std::os::unix::fs::symlink("shared", base.join(".vscode")).unwrap();
        for (changed, told) in [
            ("notes", Some("AGENTS.md")),
            (".github/workflows/ci.yml", Some(".github/workflows/ci.yml")),
            (".claude/commands/go.md", Some(".claude/commands/go.md")),
            (".envrc", Some(".envrc")),
            ("shared/tasks.json", Some(".vscode/tasks.json")),
            (".github/CODEOWNERS", None),
            ("src/main.rs", None),
        ] {
            let before = Obeyed::of(&base);
            std::fs::write(base.join(changed), "changed").unwrap();
            let told: Vec<PathBuf> = told.map(|told| base.join(told)).into_iter().collect();
            assert_eq!(Obeyed::of(&base).changed(&before), told, "{changed}");
        }
        let before = Obeyed::of(&base);
        std::fs::remove_file(base.join(".envrc")).unwrap();
        assert_eq!(Obeyed::of(&base).changed(&before), [base.join(".envrc")]);
    }
}
