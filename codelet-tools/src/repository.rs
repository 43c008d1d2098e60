//! A git repository on disk, read without git: its folders, and what is its own in them.

use crate::files;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Longest file that points to another one, in bytes.
pub(crate) const POINTER: u64 = 8192;
/// The maximum number of entries examined in one of git's folders.
pub(crate) const ENTRIES: usize = 1024;

/// The file that leads from a git folder to the one with its settings and hooks, which git uses even if the first has
/// some too.
pub(crate) const COMMON: &str = "commondir";

/// The root of the repository that contains a folder.
pub(crate) fn root(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok())
        .map(Path::to_owned)
}

/// Returns whether a resolved path is git's own: a file or folder named `.git` or anything below it, or in a folder
/// that git would take for a repository by its contents, with or without this path.
pub(crate) fn is_gits(path: &Path) -> bool {
    // Some file systems ignore case.
    let is_named = |name: &OsStr| name.eq_ignore_ascii_case(".git");
    let is_repository = |folder: &Path| {
        // Otherwise a repository could be assembled file by file, starting with its settings.
        let own = path.strip_prefix(folder).ok().and_then(|below| below.iter().next());
        let is_own = |name: &str| own.is_some_and(|own| own.eq_ignore_ascii_case(name));
        let has = |name: &str| is_own(name) || folder.join(name).symlink_metadata().is_ok();
        let is_begun = (is_own("HEAD") || is_own("commondir")) && has("config");
        // The target of another folder's `commondir` needs no `HEAD`.
        is_begun || has("HEAD") && has("commondir") || has("objects") && has("refs")
    };
    path.iter().any(is_named) || path.ancestors().skip(1).any(is_repository)
}

/// A repository on disk.
pub(crate) struct Repository {
    /// The root of its working tree.
    pub root: PathBuf,
    /// The folder of this working tree: `HEAD`, the index.
    pub own: PathBuf,
    /// The folder shared by all working trees.
    pub common: PathBuf,
}

impl Repository {
    /// Finds the repository that a folder belongs to.
    pub(crate) fn of(directory: &Path) -> Option<Repository> {
        let root = root(directory)?;
        let dot = root.join(".git");
        let own = match dot.is_dir() {
            true => dot,
            false => root.join(text(&dot)?.strip_prefix("gitdir:")?.trim()),
        };
        let common = text(&own.join(COMMON)).map_or_else(
            || own.clone(),
            |common| {
                let led = own.join(common.trim());
                // Resolved, as it is shown to people.
                led.canonicalize().unwrap_or(led)
            },
        );
        Some(Repository { root, own, common })
    }

    /// Returns whether this working tree's own folder contains this name.
    pub(crate) fn has_of_its_own(&self, name: &str) -> bool {
        self.own.join(name).symlink_metadata().is_ok()
    }

    /// The file with this repository's uncommitted ignore patterns.
    pub(crate) fn excludes(&self) -> Option<PathBuf> {
        // The repository may be reached through a link; the file itself may not.
        Some(self.common.join("info").canonicalize().ok()?.join("exclude"))
    }

    /// The branch in `HEAD`, or the commit if there is none; `None` if `HEAD` does not say.
    pub(crate) fn branch(&self) -> Option<String> {
        let head = text(&self.own.join("HEAD"))?;
        let head = head.trim();
        match head.strip_prefix("ref:") {
            // With reftable, `HEAD` is in a table; the file only satisfies older versions of git.
            Some(name) if name.trim() == "refs/heads/.invalid" => None,
            Some(name) => Some(name.trim().trim_start_matches("refs/heads/").to_owned()),
            None => (head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit()))
                .then(|| format!("HEAD (no branch) at {}", &head[..12])),
        }
    }
}

/// Reads a small file of git.
pub(crate) fn text(path: &Path) -> Option<String> {
    let (file, _) = files::open(&path.canonicalize().ok()?).ok()?;
    let mut text = String::new();
    file.take(POINTER).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Lists a folder, up to [`ENTRIES`] entries.
pub(crate) fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.take(ENTRIES).filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_gits_own_is_known_by_its_name_and_by_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in [
            ".git/config",
            ".git",
            "sub/.GIT/hooks/pre-commit",
            ".git/worktrees/x/config.worktree",
        ] {
            assert!(is_gits(&base.join(name)), "{name}");
        }
        for name in [".gitignore", ".github/x.yml", "a.git/config", "HEAD", "config"] {
            assert!(!is_gits(&base.join(name)), "{name}");
        }
        std::fs::create_dir_all(base.join("bare/objects")).unwrap();
        std::fs::write(base.join("bare/HEAD"), "").unwrap();
        assert!(!is_gits(&base.join("bare/config")));
        std::fs::create_dir_all(base.join("bare/refs")).unwrap();
        assert!(is_gits(&base.join("bare/config")) && is_gits(&base.join("bare/hooks/update")));
        // The target of a `commondir`.
        for inner in ["common/objects", "common/refs"] {
            std::fs::create_dir_all(base.join(inner)).unwrap();
        }
        assert!(is_gits(&base.join("common/config")) && is_gits(&base.join("common/hooks/update")));
    }

    #[test]
    fn no_order_of_files_puts_a_repository_together() {
        fn orders(names: &[&'static str]) -> Vec<Vec<&'static str>> {
            if names.is_empty() {
                return vec![Vec::new()];
            }
            let with = |first: &'static str| {
                let others: Vec<_> = names.iter().copied().filter(|name| *name != first).collect();
                orders(&others)
                    .into_iter()
                    .map(move |order| [vec![first], order].concat())
            };
            names.iter().flat_map(|first| with(first)).collect()
        }
        for names in [
            ["HEAD", "config", "objects/a", "refs/a"].as_slice(),
            &["HEAD", "config", "commondir"],
        ] {
            for order in orders(names) {
                let folder = tempfile::tempdir().unwrap();
                let base = folder.path().canonicalize().unwrap();
                let is_refused = order.iter().any(|name| {
                    let path = base.join(name);
                    if is_gits(&path) {
                        return true;
                    }
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(path, "").unwrap();
                    false
                });
                assert!(is_refused, "{order:?}");
            }
        }
    }

    #[test]
    fn a_head_that_says_anything_else_is_no_branch() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        std::fs::create_dir(&git).unwrap();
        let branch = |head: &str| {
            std::fs::write(git.join("HEAD"), head).unwrap();
            Repository::of(folder.path()).unwrap().branch()
        };
        assert_eq!(branch("ref: refs/heads/a/b\n").as_deref(), Some("a/b"));
        assert_eq!(
            branch(&"0a".repeat(20)).as_deref(),
            Some("HEAD (no branch) at 0a0a0a0a0a0a")
        );
        for head in ["", "ä", "zzz", "0a0a", "ref: refs/heads/.invalid\n"] {
            assert_eq!(branch(head), None, "{head}");
        }
    }
}
