//! Where the shells were left by the commands so far, if they keep their folders from one to the next.
//!
//! Each tool has its own, and each session or machine that its calls name. Some agents' shells do, and some begin each line in
//! the same place. So a folder that was gone to says in doubt which failure a later success is not over, and never that it is
//! over one. Some harnesses say below each answer where the shell is: that is known.

use crate::command::CommandLine;
use crate::message::{ActionKind, ToolCall, ToolResult};
use crate::running::Session;
use crate::testrun::{Check, place_covers};
use footer::{Footers, Stated};
use serde_json::Value;
use shell::{Place, Shell};
use std::borrow::Cow;

mod footer;
mod shell;

/// Shells of which it is remembered where they are.
const MOST_SHELLS: usize = 64;

/// Where the shells may be.
#[derive(Clone, Debug, Default)]
pub(super) struct Left {
    /// Those that have gone anywhere, by when that was first, newest last.
    shells: Vec<(Session, Shell)>,
    /// The one that the line is carried out in that is taken now.
    now: Session,
    footers: Footers,
    /// Where the harness says that it is behind that line.
    stated: Option<Stated>,
}

impl Left {
    /// A call was answered. What came of it is taken behind that.
    pub fn hear(&mut self, call: &ToolCall, result: &ToolResult) {
        let is_command = call.action.kind == ActionKind::Command;
        let is_restart = restarts(call) && result.success != Some(false);
        if !is_command && !is_restart {
            return;
        }
        self.settle();
        self.now = Session::of(call);
        if is_restart {
            self.shells.retain(|(session, _)| *session != self.now);
        }
        if is_command {
            self.stated = self.footers.folder(&call.tool, result);
        }
    }

    /// What came of an earlier line is taken next, which was begun in this one.
    pub fn turn_to(&mut self, session: &Session) {
        if self.now != *session {
            self.settle();
            self.now = session.clone();
        }
    }

    /// A line was carried out.
    pub fn went(&mut self, line: &CommandLine) {
        if !line.moves().list.is_empty() {
            self.shell().went(line);
        }
        self.settle();
    }

    fn settle(&mut self) {
        if let Some(stated) = self.stated.take() {
            self.shell().is_in(stated.folder);
        }
    }

    /// The shell of the line that is taken now.
    fn shell(&mut self) -> &mut Shell {
        let known = self.shells.iter().position(|(session, _)| *session == self.now);
        let at = known.unwrap_or_else(|| {
            if self.shells.len() == MOST_SHELLS {
                self.shells.remove(0);
            }
            self.shells.push((self.now.clone(), Shell::default()));
            self.shells.len() - 1
        });
        &mut self.shells[at].1
    }

    /// Where a check of the line is run that is taken now.
    pub fn spot(&self, check: &Check, line: &CommandLine) -> Spot {
        let (fresh, moves) = (Shell::default(), line.moves());
        let known = self.shells.iter().find(|(session, _)| *session == self.now);
        let shell = known.map_or(&fresh, |(_, shell)| shell);
        // Where it was put back to, it was not while the line ran.
        let stated = self.stated.as_ref().filter(|stated| !stated.is_reset);
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
            if let Some(stated) = stated.filter(|_| moves.list.len() == 1) {
                behind.is_in(stated.folder.clone());
            }
            return behind.spot();
        }
        let spot = match stated {
            Some(stated) if moves.list.is_empty() => {
                let mut now = shell.clone();
                now.is_in(stated.folder.clone());
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

/// Whether a call begins its shell anew: `{"restart": true}`.
fn restarts(call: &ToolCall) -> bool {
    let is_on = |value: &Value| match value {
        Value::Bool(is_on) => *is_on,
        Value::String(word) => word.eq_ignore_ascii_case("true"),
        _ => false,
    };
    let parameters = call.parameters.as_map();
    ["restart", "reset"]
        .iter()
        .any(|name| parameters.get(*name).is_some_and(is_on))
}

/// Whether one folder may be around another, or the same. Nobody knows what `..` was in.
fn is_around(one: &str, other: &str) -> bool {
    let bare = |name: &str| name.trim_start_matches("../").to_owned();
    place_covers(one, other) || place_covers(&bare(one), &bare(other))
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
            let known = (0..2).fold(Talk::new(), |talk, _| talk.run("ls", true, &says("a", "/r/web")));
            known
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

    #[test]
    fn a_folder_that_a_program_prints_is_not_where_the_shell_is() {
        for (info, failed, passed) in [
            ("node v20\ncwd: /srv/build", "npm test", "cd /w/app && npm test"),
            (
                "CC=gcc\nWorking directory: /srv/build",
                "cd web && npm test",
                "cd /w/web && npm test",
            ),
        ] {
            let talk = Talk::new()
                .run("make info", true, info)
                .run(failed, false, FAILED)
                .run(passed, true, PASSED);
            assert_eq!(open(&talk), [""; 0], "{info}");
        }
    }

    /// What is open, and how the last tests are told, after these lines: each with its tool, its parameters and its answer.
    fn told(lines: &[(&str, serde_json::Value, &str)]) -> (Vec<String>, String) {
        let talk = lines.iter().fold(Talk::new(), |talk, (tool, parameters, answer)| {
            let action = parameters["command"].as_str().map(Action::command);
            let success = !answer.contains("failed");
            talk.by(
                tool,
                action.unwrap_or_default(),
                parameters.clone(),
                Some(success),
                answer,
            )
        });
        (open(&talk), talk.facts().tests.unwrap().command)
    }

    #[test]
    fn what_is_done_in_another_shell_moves_none() {
        let run = |line: &str| json!({"command": line});
        let none: Vec<String> = Vec::new();
        let (is_open, tests) = told(&[
            ("bash", run("cd /w/app"), ""),
            ("bash", run("npm test"), FAILED),
            ("mcp__ssh__exec", run("cd /srv/prod"), ""),
            ("bash", run("npm test"), PASSED),
        ]);
        assert_eq!((is_open, tests), (none.clone(), "cd /w/app && npm test".to_owned()));
        let (is_open, tests) = told(&[
            ("mcp__ssh__exec", run("cd /srv/prod"), ""),
            ("bash", run("npm test"), FAILED),
        ]);
        assert_eq!((&*is_open[0], &*tests), ("npm test", "npm test"));
        for name in ["id", "session_id", "terminal", "host"] {
            let run = |shell: &str, line: &str| json!({name: shell, "command": line});
            let (is_open, tests) = told(&[
                ("sh", run("s1", "cd /w/web"), ""),
                ("sh", run("s1", "npm test"), FAILED),
                ("sh", run("s2", "cd /w/core"), ""),
                ("sh", run("s1", "npm test"), PASSED),
            ]);
            assert_eq!((is_open, &*tests), (none.clone(), "cd /w/web && npm test"), "{name}");
            let (is_open, _) = told(&[
                ("sh", run("s1", "cd /w/web"), ""),
                ("sh", run("s2", "cd /w/core"), ""),
                ("sh", run("s1", "npm test"), FAILED),
                ("sh", run("s2", "npm test"), PASSED),
            ]);
            assert_eq!(is_open, ["cd /w/web && npm test"], "{name}");
        }
    }

    #[test]
    fn what_comes_of_a_command_later_came_where_it_was_begun() {
        let run = |line: &str| json!({"command": line});
        let (is_open, tests) = told(&[
            ("bash", run("cd /w/app"), ""),
            ("bash", run("npm test"), "Command running in background with ID: b1"),
            ("mcp__ssh__exec", run("cd /srv/prod"), ""),
            (
                "BashOutput",
                json!({"bash_id": "b1"}),
                "<status>failed</status>\n<exit_code>1</exit_code>",
            ),
        ]);
        assert_eq!(
            (&*is_open[0], &*tests),
            ("cd /w/app && npm test", "cd /w/app && npm test")
        );
    }

    #[test]
    fn a_shell_that_is_put_back_or_begun_anew_is_not_where_it_went() {
        let run = |line: &str| json!({"command": line});
        let none: Vec<String> = Vec::new();
        let back = "Shell cwd was reset to /w/app";
        let (is_open, tests) = told(&[
            ("Bash", run("npm test"), FAILED),
            ("Bash", run("cd /w/other"), back),
            ("Bash", run("npm test"), PASSED),
        ]);
        assert_eq!((is_open, &*tests), (none.clone(), "cd /w/app && npm test"));
        // The line that it was put back behind ran where it had gone.
        let failed = format!("{FAILED}\n{back}");
        let (is_open, _) = told(&[
            ("Bash", run("cd /w/lib && npm test"), &failed),
            ("Bash", run("npm test"), PASSED),
        ]);
        assert_eq!(is_open, ["cd /w/lib && npm test"]);
        for restart in [json!({"restart": true}), json!({"command": "", "reset": "true"})] {
            let (is_open, tests) = told(&[
                ("bash", run("cd /w/web"), ""),
                ("bash", run("npm test"), FAILED),
                ("bash", restart.clone(), "Tool has been restarted."),
                ("bash", run("npm test"), PASSED),
            ]);
            assert_eq!((is_open, &*tests), (none.clone(), "npm test"), "{restart}");
        }
    }

    #[test]
    fn a_folder_beside_another_is_any_of_its_name() {
        let after = |failed: &str, passed: &str| {
            let talk = Talk::new().run("cd /w/app/web && ls", true, "a");
            open(&talk.run(failed, false, FAILED).run(passed, true, PASSED)).len()
        };
        for (failed, passed, is_open) in [
            ("cd ../core && npm test", "cd /w/app/core && npm test", 0),
            ("cd ../core && npm test", "cd core && npm test", 0),
            ("cd ../core && npm test", "cd packages/core && npm test", 0),
            ("cd /w/app/core && npm test", "cd ../core && npm test", 0),
            ("cd ../core && npm test", "cd /w/app/web && npm test", 1),
            ("cd ../core && npm test", "cd /w/app/score && npm test", 1),
            ("cd ../.. && npm test", "cd .. && npm test", 1),
        ] {
            assert_eq!(after(failed, passed), is_open, "{failed}; {passed}");
        }
    }
}
