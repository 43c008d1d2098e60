//! Where the shell was left by the commands so far, if it keeps its folder from one to the next.
//!
//! Some agents' shells do, and some begin each line in the same place. So a folder that was gone to says in doubt which failure a
//! later success is not over, and never that it is over one.

use crate::command::left_in;
use crate::testrun::place_covers;

/// Where the shell may be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Left {
    /// The folder that was gone to last, if it is known which.
    folder: Option<String>,
    /// That was all that its line did: so whoever wrote it takes the shell to stay there.
    is_meant: bool,
}

impl Left {
    /// A line was carried out.
    pub fn went(&mut self, line: &str) {
        if let Some((folder, is_meant)) = left_in(line) {
            (self.folder, self.is_meant) = (folder, is_meant);
        }
    }

    /// Where a check is run that names no place, as far as somebody has said so.
    pub fn meant(&self) -> Option<&str> {
        self.folder.as_deref().filter(|_| self.is_meant)
    }

    /// Where one that passed may have been run, if it names no place.
    pub fn likely(&self) -> Option<&str> {
        self.folder.as_deref()
    }
}

/// Whether two places, where both are known, have nothing in common.
pub(super) fn is_apart(one: Option<&str>, other: Option<&str>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    !place_covers(one, other) && !place_covers(other, one)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Talk;

    const FAILED: &str = "Tests: 1 failed, 5 passed, 6 total";
    const PASSED: &str = "Tests: 6 passed, 6 total";

    fn open(talk: &Talk) -> Vec<String> {
        talk.facts().errors.into_iter().map(|error| error.command).collect()
    }

    #[test]
    fn a_pass_in_another_folder_is_over_no_failure_though_no_line_names_it() {
        let talk = Talk::new()
            .run("cd /r/web", true, "")
            .run("npm test", false, FAILED)
            .run("cd /r/core", true, "")
            .run("npm test", true, PASSED);
        assert_eq!(open(&talk), ["cd /r/web && npm test"]);
        assert_eq!(open(&talk.run("cd /r/web && npm test", true, PASSED)), [""; 0]);
    }

    #[test]
    fn a_shell_that_may_have_stayed_says_only_which_failure_is_not_over() {
        let both = Talk::new()
            .run("cd core && npm test", false, FAILED)
            .run("cd web && npm test", false, FAILED);
        assert_eq!(open(&both).len(), 2);
        assert_eq!(open(&both.run("npm test", true, PASSED)), ["cd core && npm test"]);
        // One that begins where no folder was told is over wherever the shell is taken to be.
        let root = Talk::new()
            .run("npm test", false, FAILED)
            .run("cd web && ls", true, "a.js")
            .run("npm test", true, PASSED);
        assert_eq!(open(&root), [""; 0]);
        // Two failures of the same words in two folders are two.
        let two = Talk::new()
            .run("cd /r/web", true, "")
            .run("npm test", false, FAILED)
            .run("cd /r/core", true, "")
            .run("npm test", false, FAILED);
        assert_eq!(open(&two), ["cd /r/web && npm test", "cd /r/core && npm test"]);
    }

    #[test]
    fn a_folder_that_nobody_knows_says_nothing() {
        let talk = Talk::new()
            .run("cd /r/web", true, "")
            .run("npm test", false, FAILED)
            .run("cd ..", true, "")
            .run("npm test", true, PASSED);
        assert_eq!(open(&talk), [""; 0]);
    }
}
