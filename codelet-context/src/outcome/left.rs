//! Where the shell was left by the commands so far, if it keeps its folder from one to the next.
//!
//! Some agents' shells do, and some begin each line in the same place. So a folder that was gone to says in doubt which failure a
//! later success is not over, and never that it is over one. Some harnesses say below each answer where the shell is: that is
//! known.

use crate::command::{CommandLine, Move};
use crate::message::{ToolCall, ToolResult};
use crate::path::{Path, is_absolute};
use crate::testrun::{Check, place_covers};
use footer::Footers;
use std::borrow::Cow;

mod footer;

/// Folders that are remembered to be gone back to.
const MOST_KEPT: usize = 64;
/// The longest folder that is followed, in bytes.
const LONGEST: usize = 1024;

/// A folder, or none where nobody has said which.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Place {
    /// As far as it was told from where the conversation began; empty there.
    name: String,
    /// Which one that is, only the shell knows.
    is_open: bool,
}

impl Place {
    /// The folder of this name as seen from this one.
    fn enter(&self, name: &str, is_open: bool) -> Place {
        let is_seen_from_here = !is_absolute(name);
        let is_open = is_open || self.is_open && is_seen_from_here;
        if self.name.len() + name.len() > LONGEST {
            return Place {
                name: String::from("?"),
                is_open: true,
            };
        }
        let path = match self.is_open && is_seen_from_here {
            // What `..` leads to from there, nobody knows.
            true => format!("{}/{name}", self.name),
            false => Path::within(&self.name, name).spelled(),
        };
        let name = if path == "." { String::new() } else { path };
        Place { name, is_open }
    }
}

/// A shell that keeps its folder, as far as anybody can tell.
#[derive(Clone, Debug, Default)]
struct Shell {
    at: Place,
    /// Where it was before.
    before: Place,
    /// Where it is to go back to.
    kept: Vec<Place>,
    /// A line that does nothing else has gone there, so whoever wrote it takes the shell to stay there; or a harness says so.
    is_meant: bool,
    /// It was elsewhere before.
    has_moved: bool,
}

impl Shell {
    /// A line was carried out in it.
    fn went(&mut self, line: &CommandLine) {
        let moves = line.moves();
        let Some(first) = moves.list.first() else { return };
        let is_seen_from_here = matches!(first, Move::To { name, .. } if name.starts_with(".."));
        let is_meant = moves.is_all || self.is_meant && is_seen_from_here;
        for one in &moves.list {
            self.go(one);
            // Within a line nothing begins anew.
            self.is_meant = true;
        }
        self.is_meant = is_meant;
        self.has_moved = true;
    }

    fn go(&mut self, one: &Move) {
        let at = match one {
            Move::To { name, is_open, is_kept } => {
                if *is_kept && self.kept.len() < MOST_KEPT {
                    self.kept.push(self.at.clone());
                }
                // Of a shell that may begin each line in the same place, only a name that leads out of where it was says so. What
                // the shell has to work out is often a whole path.
                let is_seen_from_here = !is_open && (name.starts_with("..") || self.is_meant || self.at.is_open);
                match is_seen_from_here {
                    true => self.at.enter(name, *is_open),
                    false => Place::default().enter(name, *is_open),
                }
            }
            Move::Back => self.before.clone(),
            Move::Pop => self.kept.pop().unwrap_or_else(|| self.at.enter("popd", true)),
        };
        self.before = std::mem::replace(&mut self.at, at);
    }

    /// A harness says where it is.
    fn is_in(&mut self, folder: String) {
        self.has_moved |= !self.at.name.is_empty() && self.at.name != folder;
        self.at = Place {
            name: folder,
            is_open: false,
        };
        self.is_meant = true;
    }

    fn spot(&self) -> Spot {
        Spot {
            name: Some(self.at.name.clone()).filter(|name| !name.is_empty()),
            is_open: self.at.is_open,
            is_sure: self.is_meant && !self.at.is_open,
            is_untold: false,
        }
    }
}

/// Where the shell may be.
#[derive(Clone, Debug, Default)]
pub(super) struct Left {
    shell: Shell,
    footers: Footers,
    /// Where the harness says that it is behind the line that is taken now.
    stated: Option<String>,
}

impl Left {
    /// A command was answered. What came of it is taken behind that.
    pub fn hear(&mut self, call: &ToolCall, result: &ToolResult) {
        self.settle();
        self.stated = self.footers.folder(&call.tool, result).map(str::to_owned);
    }

    /// A line was carried out.
    pub fn went(&mut self, line: &CommandLine) {
        self.shell.went(line);
        self.settle();
    }

    fn settle(&mut self) {
        if let Some(folder) = self.stated.take() {
            self.shell.is_in(folder);
        }
    }

    /// Where a check of the line is run that is taken now.
    pub fn spot(&self, check: &Check, line: &CommandLine) -> Spot {
        let (shell, moves) = (&self.shell, line.moves());
        if let Some(place) = &check.scope.place {
            let from = if shell.is_meant { &shell.at } else { &Place::default() };
            let Place { name, is_open } = from.enter(place, false);
            return Spot {
                name: Some(name).filter(|name| !name.is_empty()),
                is_open,
                is_sure: !is_open,
                is_untold: false,
            };
        }
        if moves.is_first {
            // It has gone back, or where only the shell knows.
            let mut behind = shell.clone();
            behind.went(line);
            if let Some(folder) = self.stated.as_ref().filter(|_| moves.list.len() == 1) {
                behind.is_in(folder.clone());
            }
            return behind.spot();
        }
        let spot = match &self.stated {
            Some(folder) if moves.list.is_empty() => {
                let mut now = shell.clone();
                now.is_in(folder.clone());
                now.spot()
            }
            _ => shell.spot(),
        };
        Spot {
            is_untold: spot.is_sure && shell.has_moved,
            ..spot
        }
    }
}

/// Where a check is run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Spot {
    /// What it is called, if anybody has said it.
    name: Option<String>,
    /// Which one that is, only the shell knows.
    is_open: bool,
    /// Its line says so, or the shell is known to be there.
    is_sure: bool,
    /// It is known, and its line does not say so.
    is_untold: bool,
}

impl Spot {
    /// The same where it is known, and none where it may be another one.
    pub fn sure(self) -> Spot {
        match self.is_sure || self.is_open {
            true => self,
            false => Spot::default(),
        }
    }

    /// A check that is run there, as it is told from those of other folders.
    pub fn placed<'a>(&self, check: &'a Check) -> Cow<'a, Check> {
        if !self.is_sure || self.name == check.scope.place {
            return Cow::Borrowed(check);
        }
        let mut check = check.clone();
        check.scope.place.clone_from(&self.name);
        Cow::Owned(check)
    }

    /// A line as it would be written if it told the folder that it is run in.
    pub fn told<'a>(&self, line: &'a str) -> Cow<'a, str> {
        match self.name.as_ref().filter(|_| self.is_untold) {
            Some(folder) => Cow::Owned(format!("cd {folder} && {line}")),
            None => Cow::Borrowed(line),
        }
    }

    /// Whether what succeeds here is not over what has failed there: the two have nothing in common, or only the shell knows.
    pub fn is_apart(&self, failed: &Spot) -> bool {
        let (Some(here), Some(there)) = (&self.name, &failed.name) else {
            return false;
        };
        match (self.is_open, failed.is_open) {
            (true, false) => true,
            (false, true) => false,
            _ => !is_around(here, there) && !is_around(there, here),
        }
    }
}

/// Whether one folder may be around another, or the same. Nobody knows what `..` was in.
fn is_around(one: &str, other: &str) -> bool {
    let bare = |name: &str| name.trim_start_matches("../").to_owned();
    place_covers(&bare(one), &bare(other))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Talk;
    use crate::message::Action;
    use serde_json::json;

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

    /// What is open after a failure in `/r/web` and a success where these lines lead to.
    fn left(lines: &[&str]) -> Vec<String> {
        let failed = Talk::new().run("cd /r/web", true, "").run("npm test", false, FAILED);
        let gone = lines.iter().fold(failed, |talk, line| talk.run(line, true, ""));
        open(&gone.run("npm test", true, PASSED))
    }

    #[test]
    fn a_shell_is_followed_wherever_it_is_moved() {
        for lines in [
            &["cd ../core"][..],
            &["cd .. && ls", "cd ../core"],
            &["cd ..", "cd core"],
            &["pushd ../core"],
            &["pushd ../core", "cd ../lib"],
            &["cd /r/core", "cd /r/web", "cd -"],
            &["cd src"],
            &["cd"],
            &["cd; ls"],
        ] {
            assert_eq!(left(lines), ["cd /r/web && npm test"], "{lines:?}");
        }
        for lines in [
            &["cd .."][..],
            &["cd ../core", "cd ../web"],
            &["cd ../core", "cd -"],
            &["pushd ../core", "popd"],
            &["cd src && ls", "cd .."],
            &["(cd ../core && ls)", "bash -c 'cd ../core'"],
        ] {
            assert_eq!(left(lines), [""; 0], "{lines:?}");
        }
    }

    #[test]
    fn where_only_the_shell_knows_nothing_that_failed_elsewhere_is_over() {
        for line in ["cd $DIR", "popd", "cd $(mktemp -d) && ls", "test -d a && cd a; ls"] {
            assert_eq!(left(&[line]), ["cd /r/web && npm test"], "{line}");
        }
        // Who goes to the same by the same word is there again.
        let open_at = |failed: &str, passed: &str| {
            let talk = Talk::new().run(failed, false, FAILED).run(passed, true, PASSED);
            open(&talk).len()
        };
        assert_eq!(open_at("cd $WEB && npm test", "cd $WEB && npm test"), 0);
        assert_eq!(open_at("cd $WEB && npm test", "npm test"), 0);
        assert_eq!(open_at("cd $WEB && npm test", "cd $CORE && npm test"), 1);
        assert_eq!(open_at("cd $WEB && npm test", "cd /r/web && npm test"), 0);
        assert_eq!(open_at("npm test", "cd $WEB && npm test"), 0);
    }

    #[test]
    fn a_folder_that_is_named_from_where_the_shell_is_known_to_be_is_that_one() {
        let failed = || {
            Talk::new()
                .run("cd /r/web", true, "")
                .run("cd ../core && npm test", false, FAILED)
        };
        assert_eq!(open(&failed().run("cd /r/core && npm test", true, PASSED)), [""; 0]);
        assert_eq!(open(&failed().run("npm test", true, PASSED)), [""; 0]);
        assert_eq!(open(&failed().run("cd ../web && npm test", true, PASSED)).len(), 1);
        // A shell that may begin each line anew is taken at its word.
        let anew = Talk::new()
            .run("cd ../core && npm test", false, FAILED)
            .run("cd /r/docs/api && ls", true, "")
            .run("cd ../core && npm test", true, PASSED);
        assert_eq!(open(&anew), [""; 0]);
    }

    #[test]
    fn a_run_of_which_nothing_is_known_in_another_folder_is_no_run_of_the_same() {
        let talk = Talk::new()
            .run("cd /r/web", true, "")
            .run("npm test", false, FAILED)
            .run("cd ../core", true, "")
            .call(Action::command("npm test"), json!({}), None, "");
        assert_eq!(talk.facts().errors.iter().filter(|error| error.is_rerun).count(), 0);
    }

    #[test]
    fn a_folder_that_a_harness_states_below_its_answers_is_where_the_command_ran() {
        let says = |text: &str, folder: &str| format!("{text}\n[Current working directory: {folder}]\n[Exit code 0]");
        let talk = || {
            Talk::new()
                .run("npm test", false, &says(FAILED, "/r/web"))
                .run("cd $NEXT", true, &says("", "/r/core"))
        };
        let both = talk().run("npm test", true, &says(PASSED, "/r/core"));
        let facts = both.facts();
        assert_eq!(open(&both), ["npm test"]);
        assert_eq!(facts.tests.unwrap().command, "cd /r/core && npm test");
        let back = talk().run("cd $OLD && npm test", true, &says(PASSED, "/r/web"));
        assert_eq!(open(&back), [""; 0]);
        let back = talk()
            .run("cd $OLD", true, &says("", "/r/web"))
            .run("npm test", true, &says(PASSED, "/r/web"));
        assert_eq!(open(&back), [""; 0]);
    }
}
