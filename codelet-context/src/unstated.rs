//! What a command says that could not do what it was to do, for where nobody has recorded how it ended.
//!
//! Programs of all kinds say so in one form, whatever the language is: their own name, a colon, and why. Beside it are known
//! those of Git and of shells, and a short answer that begins with a word such as `error:`. Where that is said in passing, in
//! a long output or by a program that prints what others have said, it tells nothing.

use crate::command::{CommandLine, Script};
use crate::word_list::is_in;

/// More was worth something, whatever a line of it says: lines, and bytes.
const LINES: usize = 12;
const BYTES: usize = 2_000;
/// Lines of an answer that is nothing but an error.
const FEW: usize = 6;
/// How such an answer begins.
const BEGINNINGS: [&str; 7] = [
    "error: ",
    "Error: ",
    "ERROR: ",
    "fatal: ",
    "Error from server",
    "npm ERR! ",
    "npm error ",
];
/// Programs that print what others have said.
const PRINTING: &str = "cat curl echo head http less more printf psql tail wget";

/// What Go says that it does.
const GO_TELLS: &str = "added creating downgraded downloading extracting finding found removed to upgraded";

/// Whether what a command line has printed says that it failed.
pub fn has_failed(line: &CommandLine, output: &str) -> bool {
    let output = output.trim();
    if output.is_empty() || output.len() > BYTES {
        return false;
    }
    // Of checks and of looks something else tells how they ended.
    if line.runs_checks() || line.look().is_some() || line.said().is_question {
        return false;
    }
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.len() <= LINES && last_program(&Script::read(line)).is_some_and(|name| says_why(&name, &lines))
}

/// Whether what a command line has printed says beyond doubt that it failed, so that a flag that says otherwise is none: the
/// reason is one that no program has that did what it was to do. What shows a file may show anything, but hardly nothing but
/// that there is no such file.
pub fn denies_success(line: &CommandLine, output: &str) -> bool {
    const REASONS: [&str; 8] = [
        "cannot ",
        "can't ",
        "could not ",
        "fatal:",
        "No such file or directory",
        "not found",
        "ermission denied",
        "[rejected]",
    ];
    let has_reason = || REASONS.iter().any(|reason| output.contains(reason));
    has_failed(line, output) && has_reason() || shows_none(line, output.trim())
}

/// Whether a look at a file has shown that there is none: `cat: a.rs: No such file or directory`, and nothing else.
fn shows_none(line: &CommandLine, output: &str) -> bool {
    let Some((said, "No such file or directory")) = output.rsplit_once(": ") else {
        return false;
    };
    let (Some((name, about)), false) = (said.split_once(": "), output.contains('\n')) else {
        return false;
    };
    let about = about
        .trim_start_matches("cannot access ")
        .trim_matches(['\'', '"', '‘', '’']);
    let is_looking = line.look().is_some() || is_in(name, "cat head ls less more tail stat wc");
    is_looking
        && !about.is_empty()
        && line.as_str().contains(about)
        && last_program(&Script::read(line)).is_some_and(|program| program == name)
}

/// The program that a line's status is of.
fn last_program(script: &Script) -> Option<String> {
    let last = script.commands.last().filter(|command| command.is_proven)?;
    match &last.script {
        Some(inner) => last_program(inner),
        None => Some(last.name().into_owned()),
    }
}

fn says_why(name: &str, lines: &[&str]) -> bool {
    let own = |line: &str| {
        let why = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
        // Some say in the same form what they do.
        why.is_some_and(|why| match name {
            "make" | "gmake" => why.starts_with("***"),
            "tar" => !why.starts_with("Removing leading"),
            "go" => !is_in(why.split(' ').next().unwrap_or_default(), GO_TELLS),
            _ => why.get(..7).is_none_or(|word| !word.eq_ignore_ascii_case("warning")),
        })
    };
    let of_git = |line: &str| {
        let line = line.trim_start();
        ["fatal: ", "error: ", "! [rejected]", "! [remote rejected]"]
            .iter()
            .any(|beginning| line.starts_with(beginning))
    };
    if name.is_empty() {
        return false;
    }
    let first = lines.first().copied().unwrap_or_default();
    let is_unfound = is_unfound(first) && (lines.len() == 1 || names(first, name));
    let is_error =
        lines.len() <= FEW && !is_in(name, PRINTING) && BEGINNINGS.iter().any(|beginning| first.starts_with(beginning));
    is_unfound
        || is_error
        || lines.iter().any(|line| own(line))
        || name == "git" && lines.iter().any(|line| of_git(line))
}

/// Whether a shell says that there is no such program, or none that it may run. What it warns of at its start is no reason.
fn is_unfound(line: &str) -> bool {
    let shells = ["bash: ", "sh: ", "zsh: ", "dash: ", "/bin/sh: ", "/bin/bash: "];
    let said = shells.iter().find_map(|shell| line.strip_prefix(shell));
    let reasons = ["not found", "No such file", "ermission denied"];
    said.is_some_and(|said| !said.starts_with("warning") && reasons.iter().any(|why| said.contains(why)))
}

/// Whether a line has a name among its words.
fn names(line: &str, name: &str) -> bool {
    line.split([' ', ':', '`', '\'', '"']).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_program_that_says_why_it_could_not_has_failed() {
        for (line, output) in [
            ("rm build/x", "rm: cannot remove 'build/x': No such file or directory"),
            (
                "cd app && mv a b",
                "mv: der Aufruf von stat für 'a' ist nicht möglich: Datei oder Verzeichnis nicht gefunden",
            ),
            (
                "git push origin main",
                "To github.com:a/b.git\n ! [rejected]        main -> main (non-fast-forward)\nerror: failed to push some refs to 'b'\nhint: Updates were rejected",
            ),
            (
                "git add . && git commit -m x && git push",
                "[main 1a2b3c4] x\n 1 file changed\nfatal: Authentication failed",
            ),
            (
                "git checkout nowhere",
                "error: pathspec 'nowhere' did not match any file(s) known to git",
            ),
            (
                "kubectl apply -f a.yml",
                "Error from server (Forbidden): pods is forbidden",
            ),
            ("deplot --all", "bash: line 1: deplot: command not found"),
            ("bash -lc 'cp a b'", "cp: cannot stat 'a': No such file or directory"),
            ("npm install left-pad", "npm ERR! code E404\nnpm ERR! 404 Not Found"),
            ("make deploy", "cp x y\nmake: *** [Makefile:4: deploy] Error 1"),
            ("sudo systemctl restart web", "systemctl: unknown unit"),
        ] {
            assert!(has_failed(&CommandLine::new(line), output), "{line}");
        }
    }

    #[test]
    fn what_is_said_in_passing_or_by_others_is_no_failure() {
        let log = "error: one\n".repeat(20);
        for (line, output) in [
            ("git push", "To github.com:a/b.git\n   1a2b..3c4d  main -> main"),
            (
                "git log --oneline -2",
                "1a2b3c4 error: handle it\n5d6e7f8 fatal: no more",
            ),
            ("cat app.log", "error: one"),
            ("curl -s localhost:1/x", "Error: nothing here"),
            ("./run.sh", &log),
            ("rm a; echo done", "rm: cannot remove 'a': No such file\ndone"),
            ("rm a || true", "rm: cannot remove 'a': No such file"),
            ("make all", "make: Nothing to be done for 'all'."),
            ("make -C x", "make: Entering directory '/w/x'"),
            ("go mod tidy", "go: downloading example.com/a v1.2.0"),
            ("tar czf a.tgz /w", "tar: Removing leading `/' from member names"),
            ("gcc -c a.c", "gcc: warning: a.o: linker input file unused"),
            ("grep -rn x src", "grep: src/bin: binary file matches"),
            ("psql -c 'select 1'", "ERROR: x"),
            (
                "git push",
                "bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8): No such file or directory\na..b main",
            ),
            (
                "docker exec web ./deploy.sh",
                "bash: /root/.cargo/env: No such file or directory\nDeployed v2",
            ),
            ("ls", ""),
            ("", "fatal: x"),
        ] {
            assert!(!has_failed(&CommandLine::new(line), output), "{line}");
        }
    }

    #[test]
    fn a_flag_is_denied_by_what_no_program_says_that_did_its_work() {
        for (line, output) in [
            ("cat /w/none.txt", "cat: /w/none.txt: No such file or directory"),
            ("ls nope", "ls: cannot access 'nope': No such file or directory"),
            ("cd app && head -3 b.rs", "head: b.rs: No such file or directory"),
            ("rm a", "rm: cannot remove 'a': No such file or directory"),
            ("git push", "fatal: Authentication failed"),
            ("deplot", "bash: line 1: deplot: command not found"),
        ] {
            assert!(denies_success(&CommandLine::new(line), output), "{line}");
        }
        for (line, output) in [
            (
                "nginx -t",
                "nginx: configuration file /etc/nginx/nginx.conf test is successful",
            ),
            ("pg_ctl status", "pg_ctl: server is running (PID: 7)"),
            ("cat app.log", "cat: /w/none.txt: No such file or directory"),
            ("cat a b", "cat: b: No such file or directory\nfn main() {}"),
            ("cat a || true", "cat: a: No such file or directory"),
            ("cat a; echo", "cat: a: No such file or directory"),
            ("grep -rn x src", "grep: src: No such file or directory"),
        ] {
            assert!(!denies_success(&CommandLine::new(line), output), "{line}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_too_odd(line in r"(git|rm|bash -c '|'|&& |\|\| |; |\PC){0,9}", output in r"(rm: |fatal: |error: |\PC|\n){0,9}") {
            has_failed(&CommandLine::new(&line), &output);
        }
    }
}
