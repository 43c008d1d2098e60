//! The uncommitted changes of a working tree.

use super::commit::{ELSEWHERE, NO_GIT, NO_REPOSITORY, SILENT};
use super::{World, one_line};
use crate::git::Git;
use crate::repository::Repository;
use codelet_agent::environment::{Surroundings as _, Uncommitted};
use std::ffi::OsStr;
use std::io::PipeReader;

impl World {
    /// The uncommitted changes, or a sentence that says why they are unknown.
    pub(super) fn uncommitted(&self, path: Option<&str>, stop: Option<PipeReader>) -> Result<Uncommitted, String> {
        let directory = self.places().directory;
        let repository = Repository::of(&directory).ok_or(NO_REPOSITORY)?;
        if !repository.is_of_its_tree() {
            return Err(ELSEWHERE.to_owned());
        }
        let git = Git::new(&repository, &directory, &self.env, &self.reach.0, self.git_time, stop).ok_or(NO_GIT)?;
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
        let named = path.map(|path| format!(":(literal){path}"));
        diff.extend(named.as_deref().map(OsStr::new));
        others.extend(named.as_deref().map(OsStr::new));
        // Without a commit there is nothing to compare with.
        let [diff, others] = git.ask_both(&diff, &others);
        let (others, knows_all) = others.ok_or(SILENT)?;
        let (diff, is_whole) = diff.unwrap_or((String::new(), true));
        if let Some(path) = path.filter(|_| diff.is_empty() && others.is_empty())
            && directory.join(path).symlink_metadata().is_err()
        {
            return Err(format!("No such file: {}.", one_line(path)));
        }
        Ok(Uncommitted {
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
        assert_eq!(
            world(path).uncommitted(Some("*"), None).unwrap_err(),
            "No such file: *."
        );
        git(path, &["add", "."]);
        git(path, &["commit", "-q", "-m", "second"]);
        let told = world(path).uncommitted(Some("a.txt"), None).unwrap();
        assert_eq!((told.diff.as_str(), told.untracked.len()), ("", 0));
        let plain = tempfile::tempdir().unwrap();
        let told = world(plain.path()).uncommitted(None, None).unwrap_err();
        assert_eq!(told, "This is not a git repository.");
    }
}
