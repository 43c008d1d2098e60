//! The place that commits write to if the workspace's repository is outside it: the workspace is then a linked working
//! tree, or a submodule. The `.git` file that leads there was written by whoever created the folder and may name any
//! place, so it is trusted only if the repository refers back to the tree.

use crate::git_settings;
use crate::repository::{entries, text};
use std::path::{Path, PathBuf};

/// Paths outside the workspace that commands may write to in order to commit.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(crate) struct Committed {
    pub writable: Vec<PathBuf>,
    /// True if other files are in the repository's folder, so that only the paths that hold and name commits are
    /// writable: new commits can be made, but references cannot be removed.
    pub is_part: bool,
}

impl Committed {
    /// Determines this for a working tree as it is now; empty if its repository is inside it, or does not refer back to
    /// it.
    pub(crate) fn of(tree: &Path, home: Option<&Path>) -> Committed {
        let found = || {
            let tree = tree.canonicalize().ok()?;
            let dot = tree.join(".git");
            if !dot.symlink_metadata().ok()?.is_file() {
                return None;
            }
            let own = tree.join(text(&dot)?.strip_prefix("gitdir:")?.trim());
            let own = own.canonicalize().ok()?;
            of_linked(&tree, &dot, &own, home).or_else(|| of_submodule(&tree, &own, home))
        };
        found().unwrap_or_default()
    }

    /// Explains why a git command in this line would be left unfinished: when it picks, merges or rebases, git removes
    /// a reference at the end, goes on if it cannot, and later believes that the operation is still in progress.
    pub(crate) fn objection(&self, line: &str) -> Option<String> {
        let verb = self.is_part.then(|| unfinished(line))??;
        Some(format!(
            "nothing was run: `git {verb}` would stay half done. This working tree's repository lies in a folder with other things in it, where commands in the sandbox can commit but take no reference away; it needs `/permission all`"
        ))
    }
}

/// A working tree that `git worktree` created.
fn of_linked(tree: &Path, dot: &Path, own: &Path, home: Option<&Path>) -> Option<Committed> {
    const KEPT: [&str; 5] = ["objects", "refs", "logs", "reftable", "packed-refs"];
    let trees = own.parent().filter(|trees| trees.ends_with("worktrees"))?;
    let common = trees.parent()?;
    let back = own.join(text(&own.join("gitdir"))?.trim()).canonicalize().ok()?;
    let is_known = back == dot && own.join(text(&own.join("commondir"))?.trim()).canonicalize().ok()? == common;
    if !is_known || common.starts_with(tree) {
        return None;
    }
    if is_gits_alone(common, tree, home) {
        return Some(Committed {
            writable: vec![common.to_owned()],
            is_part: false,
        });
    }
    let kept = KEPT.iter().map(|name| common.join(name));
    // A link would permit its target.
    let kept = kept.filter(|path| path.symlink_metadata().is_ok_and(|kept| !kept.is_symlink()));
    Some(Committed {
        writable: kept.chain([own.to_owned()]).collect(),
        is_part: true,
    })
}

/// A submodule: its repository is among another one's modules, and its settings name the tree.
fn of_submodule(tree: &Path, own: &Path, home: Option<&Path>) -> Option<Committed> {
    let mut above = own.ancestors().skip(1);
    let is_module = above.any(|folder| folder.ends_with("modules") && folder.parent().is_some_and(is_repository));
    if !is_module || own.starts_with(tree) || !is_gits_alone(own, tree, home) {
        return None;
    }
    let is_known = tree_of(own)? == tree;
    is_known.then(|| Committed {
        writable: vec![own.to_owned()],
        is_part: false,
    })
}

/// The working tree that a repository's settings name, if it exists.
pub(crate) fn tree_of(own: &Path) -> Option<PathBuf> {
    // If working trees have their own settings, those name it.
    let mut settings = ["config.worktree", "config"].iter().map(|name| own.join(name));
    let named = |settings: PathBuf| git_settings::plain(&text(&settings)?, |name| name == "core.worktree")?.pop();
    let (_, back) = settings.find_map(named)?;
    own.join(back).canonicalize().ok()
}

/// Returns whether git would take a folder for a repository, or for the part of one that belongs to a working tree.
fn is_repository(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// Returns whether a folder is a repository without other files in it: neither this working tree nor another one that
/// it knows (a bare repository is sometimes the parent of its trees), nor the home.
fn is_gits_alone(folder: &Path, tree: &Path, home: Option<&Path>) -> bool {
    let tree_of = |own: PathBuf| {
        own.join(text(&own.join("gitdir")).unwrap_or_default().trim())
            .canonicalize()
    };
    let trees = folder.join("worktrees");
    let mut known = entries(&trees).filter_map(|own| {
        let dot = tree_of(own.clone()).ok()?;
        // Without a `gitdir` file, the result is the folder itself.
        (dot != own).then_some(dot)
    });
    is_repository(folder)
        && !tree.starts_with(folder)
        && !home.is_some_and(|home| home.starts_with(folder))
        && !known.any(|dot| dot.starts_with(folder))
}

/// Finds the first git command in a line that removes references at its end. In doubt, as in a quoted text, it counts
/// as one.
fn unfinished(line: &str) -> Option<&str> {
    let commands = line.split([';', '&', '|', '\n', '(', ')', '{', '}', '`']);
    commands.into_iter().find_map(|command| {
        let words = command.split_whitespace();
        verb(words.map(|word| word.trim_matches(['\'', '"'])))
    })
}

/// The git subcommand of these words, if it is one of these.
fn verb<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const UNFINISHED: [&str; 6] = ["rebase", "cherry-pick", "revert", "merge", "pull", "am"];
    const WITH_VALUE: [&str; 5] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace"];
    words.find(|word| *word == "git" || word.ends_with("/git"))?;
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word) {
            words.next();
        } else if !word.starts_with('-') {
            return UNFINISHED.contains(&word).then_some(word);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::fs;

    /// Creates files with these texts below a folder; a name that ends in `/` is a folder.
    fn lay(base: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = base.join(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
                continue;
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.replace("BASE", &base.display().to_string())).unwrap();
        }
    }

    fn repository(base: &Path, name: &str) {
        for inner in ["objects", "refs"] {
            fs::create_dir_all(base.join(name).join(inner)).unwrap();
        }
        fs::write(base.join(name).join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        (folder, base)
    }

    #[test]
    fn of_a_repository_that_knows_the_tree_all_may_be_written_to() {
        for common in ["main/.git", "proj/.bare", "proj/it.git", "sup/.git/modules/libs/sub"] {
            let (_folder, base) = scratch();
            repository(&base, common);
            lay(
                &base,
                &[
                    ("tree/.git", &format!("gitdir: BASE/{common}/worktrees/tree\n")),
                    (&format!("{common}/worktrees/tree/gitdir"), "BASE/tree/.git\n"),
                    (&format!("{common}/worktrees/tree/commondir"), "../..\n"),
                    // A tree that is gone, and one that is incomplete.
                    (&format!("{common}/worktrees/old/gitdir"), "/nowhere/.git\n"),
                    (&format!("{common}/worktrees/odd/"), ""),
                ],
            );
            let found = Committed::of(&base.join("tree"), None);
            assert_eq!(found.writable, [base.join(common)], "{common}");
            assert!(!found.is_part && found.objection("git rebase main").is_none());
            // A home inside it stays protected.
            let home = base.join(common).join("ada");
            assert!(Committed::of(&base.join("tree"), Some(&home)).is_part);
            // A repository that names another tree, or shares another repository's data, does not refer back to this
            // one.
            for (name, text) in [("gitdir", "/elsewhere/.git\n"), ("commondir", "..\n")] {
                let file = base.join(common).join("worktrees/tree").join(name);
                let old = fs::read(&file).unwrap();
                fs::write(&file, text).unwrap();
                assert_eq!(Committed::of(&base.join("tree"), None), Committed::default(), "{name}");
                fs::write(&file, old).unwrap();
            }
        }
    }

    #[test]
    fn a_repository_with_other_trees_in_it_is_written_to_in_part_and_nothing_stays_half_done() {
        let (_folder, base) = scratch();
        repository(&base, "proj");
        lay(
            &base,
            &[
                ("proj/tree/.git", "gitdir: ../worktrees/tree\n"),
                ("proj/worktrees/tree/gitdir", "BASE/proj/tree/.git\n"),
                ("proj/worktrees/tree/commondir", "../..\n"),
                ("proj/logs/", ""),
                ("away/.git", "gitdir: BASE/proj/worktrees/away\n"),
                ("proj/worktrees/away/gitdir", "BASE/away/.git\n"),
                ("proj/worktrees/away/commondir", "../..\n"),
            ],
        );
        for (tree, own) in [("proj/tree", "tree"), ("away", "away")] {
            let found = Committed::of(&base.join(tree), None);
            let kept = ["objects", "refs", "logs"].map(|name| base.join("proj").join(name));
            let own = base.join("proj/worktrees").join(own);
            assert_eq!(found.writable, [kept.as_slice(), &[own]].concat());
            for line in [
                "git rebase -i main",
                "cd x && git -C . --no-pager cherry-pick abc",
                "git fetch; git -c a=b merge origin/main",
                "bash -c 'make && git revert HEAD'",
                "git pull || true",
            ] {
                assert!(found.objection(line).is_some(), "{line}");
            }
            for line in [
                "git commit -qm 'merge it'",
                "git log --merges",
                "cat git.merge | grep 'merge git'",
                "git merge-base a b",
            ] {
                assert_eq!(found.objection(line), None, "{line}");
            }
        }
    }

    #[test]
    fn a_submodules_repository_is_written_to_where_its_settings_name_the_tree() {
        for (module, tree) in [
            ("sup/.git/modules/sub", "sup/sub"),
            ("sup/.git/modules/libs/far/two", "sup/libs/far/two"),
            ("sup/.git/modules/one/modules/two", "sup/one/two"),
            ("sup/.git/worktrees/w/modules/sub", "w/sub"),
        ] {
            let (_folder, base) = scratch();
            repository(&base, "sup/.git");
            repository(&base, "sup/.git/modules/one");
            lay(
                &base,
                &[
                    ("sup/.git/worktrees/w/HEAD", ""),
                    ("sup/.git/worktrees/w/commondir", "../..\n"),
                ],
            );
            repository(&base, module);
            let settings = format!("[core]\n\tbare = false\n\tworktree = {}\n", base.join(tree).display());
            let config = format!("{module}/config");
            lay(
                &base,
                &[
                    (&format!("{tree}/.git"), &format!("gitdir: BASE/{module}\n")),
                    (&config, &settings),
                ],
            );
            let tree = base.join(tree);
            assert_eq!(Committed::of(&tree, None).writable, [base.join(module)], "{module}");
            for settings in [
                "",
                "[core]\n\tbare = false\n",
                "[core]\n\tworktree = /\n",
                "[core \"x\"]\n\tworktree = BASE/sup/sub\n",
            ] {
                lay(&base, &[(&config, settings)]);
                assert_eq!(Committed::of(&tree, None), Committed::default(), "{settings}");
            }
        }
    }

    #[test]
    fn no_file_opens_a_folder_that_is_no_submodules() {
        let (_folder, base) = scratch();
        repository(&base, "other/.git");
        repository(&base, "modules/loose");
        let named = format!("[core]\n\tworktree = {}\n", base.join("tree").display());
        for other in ["other/.git", "modules/loose", "home/modules/x"] {
            lay(
                &base,
                &[
                    ("tree/.git", &format!("gitdir: BASE/{other}\n")),
                    (&format!("{other}/config"), &named),
                ],
            );
            assert_eq!(Committed::of(&base.join("tree"), None), Committed::default(), "{other}");
        }
    }
}
