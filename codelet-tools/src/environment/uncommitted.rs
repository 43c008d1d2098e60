//! The uncommitted changes of a working tree.

use super::{TIME, World, one_line};
use crate::git::Git;
use crate::repository::Repository;
use codelet_agent::environment::{Surroundings as _, Uncommitted};
use std::ffi::OsStr;
use std::io::PipeReader;

impl World {
    /// The uncommitted changes; `None` outside a repository, if it belongs to another folder, or if git gives no
    /// answer.
    pub(super) fn uncommitted(&self, path: Option<&str>, stop: Option<PipeReader>) -> Option<Uncommitted> {
        let directory = self.places().directory;
        let repository = Repository::of(&directory).filter(Repository::is_of_its_tree)?;
        let git = Git::new(&repository, &directory, &self.env, &self.reach.0, TIME, stop)?;
        let mut diff = [
            "-c", "core.quotepath=off", "diff", "HEAD", "--no-ext-diff", "--no-textconv", "--no-color",
            "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all", "--",
        ]
        .map(OsStr::new)
        .to_vec();
        let mut others = ["ls-files", "--others", "--exclude-standard", "-z", "--"]
            .map(OsStr::new)
            .to_vec();
        // The name is taken literally, not as a pattern.
        let path = path.map(|path| format!(":(literal){path}"));
        diff.extend(path.as_deref().map(OsStr::new));
        others.extend(path.as_deref().map(OsStr::new));
        // Without a commit there is nothing to compare with.
        let [diff, others] = git.ask_both(&diff, &others);
        let (others, knows_all) = others?;
        let (diff, is_whole) = diff.unwrap_or((String::new(), true));
        Some(Uncommitted {
            diff: self.without_secrets(&diff, is_whole),
            untracked: others
                .split_terminator('\0')
                .map(|name| one_line(&self.without_secrets(name, true)))
                .collect(),
            is_cut: !is_whole || !knows_all,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::tests::{git, world};
    use std::fs;

    #[test]
    fn changes_and_new_files_are_told_and_no_program_that_the_repository_names_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        git(path, &["init", "-q"]);
        fs::write(path.join("a.txt"), "one\n").unwrap();
        git(path, &["add", "."]);
        fs::write(path.join("new"), "").unwrap();
        let told = world(path).uncommitted(None, None).unwrap();
        // Nothing has been committed yet.
        assert_eq!((told.diff.as_str(), &told.untracked[..]), ("", &["new".to_owned()][..]));
        git(path, &["commit", "-q", "-m", "first"]);
        fs::write(path.join("a.txt"), "one\ntwo\n").unwrap();
        fs::write(path.join("é b.txt"), "").unwrap();
        fs::write(path.join(".gitattributes"), "*.txt diff=evil\n").unwrap();
        let ran = path.join("ran");
        git(
            path,
            &["config", "diff.evil.textconv", &format!("touch {};cat", ran.display())],
        );
        git(path, &["config", "diff.external", &format!("touch {}", ran.display())]);
        let told = world(path).uncommitted(None, None).unwrap();
        assert!(
            told.diff.contains("+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+two\n"),
            "{}",
            told.diff
        );
        assert_eq!(told.untracked, [".gitattributes", "new", "é b.txt"]);
        assert!(!told.is_cut && !ran.exists());
        let told = world(path).uncommitted(Some("é b.txt"), None).unwrap();
        assert_eq!(
            (told.diff.as_str(), &told.untracked[..]),
            ("", &["é b.txt".to_owned()][..])
        );
        let told = world(path).uncommitted(Some("*"), None).unwrap();
        assert_eq!((told.diff.as_str(), told.untracked.len()), ("", 0));
    }
}
