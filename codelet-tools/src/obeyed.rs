//! Files of a workspace that somebody obeys, as they stood: so that the user is told which of them a command has changed.

use crate::files::Stamp;
use crate::git::{ENTRIES, Repository, entries, text};
use codelet_agent::orders;
use codelet_agent::tool::Owner;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Files that are obeyed, as they stood: what is there, and what it leads to where it is a link.
#[derive(Default)]
pub(crate) struct Obeyed(BTreeMap<PathBuf, (Stamp, Option<Stamp>)>);

impl Obeyed {
    /// What is obeyed in a workspace: what git obeys of its repository, and what gives orders.
    pub(crate) fn of(root: &Path) -> Obeyed {
        let mut obeyed = Obeyed::default();
        obeyed.note_orders(root);
        if let Some(repository) = Repository::of(root) {
            repository.note_obeyed(&mut obeyed);
        }
        obeyed
    }

    /// Those that were put there, changed or taken away since.
    pub(crate) fn changed(&self, since: &Obeyed) -> Vec<PathBuf> {
        let is_new = |(path, stamps): &(&PathBuf, &_)| since.0.get(*path) != Some(*stamps);
        let is_gone = |(path, _): &(&PathBuf, &_)| !self.0.contains_key(*path);
        let new = self.0.iter().filter(is_new);
        new.chain(since.0.iter().filter(is_gone))
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// Notes what git obeys in a repository's folder.
    pub(crate) fn note_repository(&mut self, folder: &Path) {
        self.note(folder.join("config"));
        self.note(folder.join("config.worktree"));
        // A template's samples are not run.
        let hooks = self.within(&folder.join("hooks"), |path| {
            path.extension() != Some(OsStr::new("sample"))
        });
        for hook in hooks {
            self.note(hook);
        }
    }

    /// Notes what the further working trees of a repository have of their own; where submodules of theirs may be.
    pub(crate) fn note_trees(&mut self, common: &Path) -> Vec<PathBuf> {
        let trees = self.within(&common.join("worktrees"), |path| path.is_dir());
        for tree in &trees {
            self.note_repository(tree);
            let leads = text(&tree.join("commondir")).and_then(|leads| tree.join(leads.trim()).canonicalize().ok());
            // With a new tree comes a new file; one that leads elsewhere leads to other settings.
            if leads != common.canonicalize().ok() {
                self.note(tree.join("commondir"));
            }
        }
        trees.into_iter().map(|tree| tree.join("modules")).collect()
    }

    /// Notes what stands at a path, if anything does.
    pub(crate) fn note(&mut self, path: PathBuf) {
        if let Ok(metadata) = path.symlink_metadata() {
            // A folder changes with each file that is put into it.
            let target = path.metadata().ok().filter(|target| !target.is_dir());
            let target = target.map(|target| Stamp::of(&target));
            self.0.insert(path, (Stamp::of(&metadata), target));
        }
    }

    /// What is in a folder. If that is more than is looked at, the folder itself is noted: somebody may hide things in it.
    pub(crate) fn within(&mut self, folder: &Path, is_meant: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let mut count = 0;
        let all = entries(folder).inspect(|_| count += 1);
        let meant = all.filter(|path| is_meant(path)).collect();
        if count == ENTRIES {
            self.note(folder.to_owned());
        }
        meant
    }

    /// Notes what gives orders in a workspace: by its name at the top or in a folder there whose name begins with a dot, and all
    /// that is below.
    fn note_orders(&mut self, root: &Path) {
        let is_order = |path: &Path| {
            let below = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
            matches!(orders::obeys(&below), Some(Owner::Obeyed(_) | Owner::Codelet))
        };
        let all = std::fs::read_dir(root).into_iter().flatten().flatten().take(TOP);
        let top: Vec<PathBuf> = all
            .map(|entry| entry.path())
            .filter(|path| path.file_name() != Some(OsStr::new(".git")))
            .collect();
        let is_dotted = |path: &&PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
        let folders = top
            .iter()
            .filter(is_dotted)
            .filter(|path| is_folder(path) && !is_order(path));
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
            if is_folder(&path) && depth < DEEPEST && count < ENTRIES {
                let inner = self.within(&path, |_| true);
                waiting.extend(inner.into_iter().map(|inner| (inner, depth + 1)));
            } else if !path.ends_with(WRITTEN_BY_ITSELF) {
                self.note(path);
            }
        }
    }
}

/// So many entries of a workspace's top are looked at.
const TOP: usize = 20_000;
/// What an editor writes whenever somebody looks at another file.
const WRITTEN_BY_ITSELF: &str = ".idea/workspace.xml";
/// How deep folders with orders are looked into.
const DEEPEST: usize = 4;

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
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
        // What is hidden is told, too.
        std::fs::write(git.join("modules/libs/HEAD"), "").unwrap();
        assert!(changed().contains(&git.join("modules/libs/far/two/config")));
        for number in 0..ENTRIES {
            std::fs::write(git.join(format!("hooks/{number}.sample")), "").unwrap();
        }
        assert!(changed().contains(&git.join("hooks")));
    }

    #[test]
    fn orders_are_seen_to_change_whatever_changed_them() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for inner in [".github/workflows", ".claude/commands", "src"] {
            std::fs::create_dir_all(base.join(inner)).unwrap();
        }
        std::fs::write(base.join("notes"), "Be kind.").unwrap();
        std::os::unix::fs::symlink("notes", base.join("AGENTS.md")).unwrap();
        for (changed, told) in [
            ("notes", Some("AGENTS.md")),
            (".github/workflows/ci.yml", Some(".github/workflows/ci.yml")),
            (".claude/commands/go.md", Some(".claude/commands/go.md")),
            (".envrc", Some(".envrc")),
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
