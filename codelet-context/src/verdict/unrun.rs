//! Checks that were to be run and could not be: nothing was checked, so nothing has failed.
//!
//! What starts a program says so itself when there is none: the shell, an interpreter, a manager of scripts. A program that is
//! told an option that it does not know says that, and does nothing. Only a short answer counts that says nothing else of a run,
//! and only of what the line itself names, because what is run says the same of what it starts.

use crate::message::ToolResult;
use crate::said::failed_count;
use crate::testrun::Check;
use crate::word_list::is_in;
use memchr::memmem;

/// Lines of an answer that only says so.
const FEW: usize = 12;

/// The check of a line that could not be run, by its answer.
pub(crate) fn unrun(line: &str, checks: &[Check], result: &ToolResult) -> Option<Check> {
    let last = checks.last()?;
    if result.success == Some(true) && last.decides {
        return None;
    }
    let texts = || result.texts().map(|text| &text.body).chain(&result.error);
    let lines = || texts().flat_map(|text| text.as_str().lines()).map(str::trim);
    let lines = || lines().filter(|line| !line.is_empty());
    if lines().nth(FEW).is_some() {
        return None;
    }
    let of_check = |name: &str| checks.iter().find(|check| is_in(name, &check.name));
    // What a manager of scripts runs, it says before.
    let echoed = || lines().filter_map(|line| line.strip_prefix("> ").or_else(|| line.strip_prefix("$ ")));
    let found = lines().filter_map(missing).find(|missing| match missing {
        Missing::Task(name) => of_check(name).is_some(),
        Missing::Program(name) => names(line, name) || echoed().any(|echo| names(echo, name)),
        Missing::Option(name) => place_of_option(line, name).is_some(),
    })?;
    if lines().any(|line| missing(line).is_none() && is_of_a_run(line)) {
        return None;
    }
    // Where it is none of the checks, the last was to be run in it.
    let check = match found {
        Missing::Task(name) | Missing::Program(name) => of_check(name).unwrap_or(last),
        Missing::Option(name) => given(line, name, checks)?,
    };
    Some(check.clone())
}

/// The check that is given this option: the one whose name stands nearest before it. Nothing where it is another command's.
fn given<'a>(line: &str, option: &str, checks: &'a [Check]) -> Option<&'a Check> {
    let before = &line[..place_of_option(line, option)?];
    // With what a manager of scripts is told to hand on, the command goes on.
    let start = before.rfind(['|', ';', '&', '\n']).map_or(0, |at| at + 1);
    let own = &before[start..];
    let place = |check: &Check| {
        let words = check.name.split(' ');
        words.map(|word| own.rfind(word)).max().flatten()
    };
    let found = checks.iter().filter_map(|check| Some((place(check)?, check)));
    found.max_by_key(|(at, _)| *at).map(|(_, check)| check)
}

/// Where a line gives this option, which may be named without what it begins with.
fn place_of_option(line: &str, option: &str) -> Option<usize> {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '=' | '\'' | '"' | ';' | '|' | '&' | ')');
    let mut places = line.match_indices(option).filter(|(at, _)| {
        let before = line[..*at].trim_end_matches('-');
        let is_begun = before.ends_with(char::is_whitespace) && (before.len() < *at || option.starts_with('-'));
        is_begun && line[at + option.len()..].chars().next().is_none_or(is_end)
    });
    places.next().map(|(at, _)| at)
}

/// What is not there.
enum Missing<'a> {
    /// What the program that was started was told to do.
    Task(&'a str),
    /// A program, or a folder to go to.
    Program(&'a str),
    /// An option of a program that was started.
    Option(&'a str),
}

/// What a line says is not there.
fn missing(line: &str) -> Option<Missing<'_>> {
    const TASKS: &[&str] = &[
        "unrecognized subcommand ",
        "no such command: ",
        "no such subcommand: ",
        "issing script: ",
        "Script not found ",
        "No rule to make target ",
    ];
    const BEHIND: &[&str] = &["command not found: ", "The term "];
    const BEFORE: &[&str] = &[
        ": command not found",
        ": not found",
        " is not recognized as an internal or external command",
    ];
    // A program says the same of a file that it does not find, and that is an answer of it.
    const OF_SHELLS: &[&str] = &[": No such file or directory", ": Permission denied"];
    const SHELLS: &[&str] = &[
        "bash",
        "-bash",
        "/bin/bash",
        "sh",
        "/bin/sh",
        "zsh",
        "(eval)",
        "fish",
        "cd",
        "env",
    ];
    const OPTIONS: &[&str] = &[
        "nknown option: ",
        "nknown option ",
        "nknown argument: ",
        "nknown flag: ",
        "nknown compiler option ",
        "nrecognized option: ",
        "nrecognized option ",
        "nrecognized arguments: ",
        "unexpected argument ",
        "Found argument ",
        "o such option: ",
        "flag provided but not defined: ",
        "Invalid option ",
        "invalid option: ",
    ];
    if let Some(behind) = behind(line, OPTIONS) {
        return first_word(behind).map(Missing::Option);
    }
    // Make says so of what it needs, too.
    if line.contains("needed by") {
        return None;
    }
    if let Some(behind) = behind(line, TASKS) {
        return first_word(behind).map(Missing::Task);
    }
    let module = line.split_once(": No module named ");
    if let Some((_, name)) = module.filter(|(program, _)| program.contains("python") && !program.contains(' ')) {
        return first_word(name).map(Missing::Program);
    }
    if let Some(behind) = behind(line, BEHIND) {
        return first_word(behind).map(Missing::Program);
    }
    let before = |sign: &&str| {
        let (before, rest) = line.split_once(*sign)?;
        rest.trim_end_matches([',', '.']).is_empty().then_some(before)
    };
    let of_shell = || {
        let before = OF_SHELLS.iter().find_map(before)?;
        let shell = before.split(':').next()?;
        SHELLS.contains(&shell).then_some(before)
    };
    let before = BEFORE.iter().find_map(before).or_else(of_shell)?;
    let name = before.rsplit(": ").next()?.trim_matches(['\'', '"', '`']);
    (!name.is_empty() && !name.contains(' ')).then_some(Missing::Program(name))
}

fn behind<'a>(line: &'a str, signs: &[&str]) -> Option<&'a str> {
    let end_of = |sign: &&str| Some(memmem::find(line.as_bytes(), sign.as_bytes())? + sign.len());
    signs.iter().find_map(end_of).map(|end| &line[end..])
}

fn first_word(text: &str) -> Option<&str> {
    let is_quote = |c: char| "'\"`‘’“”".contains(c);
    let text = text.trim_start_matches(is_quote);
    let end = text.find(|c: char| c.is_whitespace() || is_quote(c) || ",;".contains(c));
    let word = text[..end.unwrap_or(text.len())].trim_end_matches('.');
    (!word.is_empty()).then_some(word)
}

/// Whether a command line names a program or a folder.
fn names(line: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || ".-_:/\\~".contains(c);
    let mut words = line.split(|c: char| !is_part(c));
    words.any(|word| word == name || word.rsplit(['/', '\\']).next() == Some(name))
}

/// Whether a line is one that only a run prints.
fn is_of_a_run(line: &str) -> bool {
    const SIGNS: &[&str] = &[
        "passed",
        "PASS",
        "ok ",
        "--- ",
        "test result",
        "Ran ",
        "Traceback",
        "collected ",
    ];
    let counts = || failed_count(line).is_some_and(|count| count > 0) && !line.contains("rror");
    SIGNS.iter().any(|sign| line.contains(sign)) || counts()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testrun::checks;
    use proptest::prelude::*;

    fn name(line: &str, success: Option<bool>, output: &str) -> Option<String> {
        let check = unrun(line, &checks(line), &ToolResult::new("1", success, output));
        check.map(|check| check.name)
    }

    #[test]
    fn what_starts_a_check_says_when_there_is_none() {
        for (line, output, check) in [
            ("pytest -q", "bash: pytest: command not found", "pytest"),
            ("pytest -q", "zsh: command not found: pytest", "pytest"),
            (
                "pytest -q",
                "/bin/bash: line 1: pytest: command not found\n\nExit code 127",
                "pytest",
            ),
            (
                "cd web && npm test",
                "bash: cd: web: No such file or directory",
                "npm test",
            ),
            (
                "cd a/web && npm test",
                "(eval):cd:1: no such file or directory: a/web\nbash: cd: a/web: No such file or directory",
                "npm test",
            ),
            (
                "python -m pytest -q",
                "/usr/bin/python: No module named pytest",
                "pytest",
            ),
            (
                "rtk bun run test 2>&1",
                "error: unrecognized subcommand 'bun'\n\nUsage: rtk [OPTIONS] <COMMAND>",
                "bun test",
            ),
            (
                "cargo nextest run",
                "error: no such command: `nextest`\n\nhelp: view all installed commands",
                "cargo nextest",
            ),
            ("npm test", "npm ERR! Missing script: \"test\"", "npm test"),
            (
                "npm test",
                "> a@1.0.0 test\n> vitest run\n\nsh: 1: vitest: not found",
                "npm test",
            ),
            ("./gradlew test", "bash: ./gradlew: Permission denied", "gradlew test"),
            (
                "make test",
                "make: *** No rule to make target 'test'.  Stop.",
                "make test",
            ),
            (
                "pytest",
                "'pytest' is not recognized as an internal or external command,\noperable program or batch file.",
                "pytest",
            ),
            ("npm run build && pytest", "bash: pytest: command not found", "pytest"),
        ] {
            assert_eq!(
                name(line, Some(false), output).as_deref(),
                Some(check),
                "{line}: {output}"
            );
        }
        let piped = "bash: pytest: command not found";
        assert_eq!(
            name("pytest -q 2>&1 | tail -5", Some(true), piped).as_deref(),
            Some("pytest")
        );
        assert_eq!(name("pytest -q", None, piped).as_deref(), Some("pytest"));
    }

    #[test]
    fn a_check_that_is_told_an_option_that_it_does_not_know_checks_nothing() {
        let apply = "Fixed 4 files.\n> lint\nerror: unknown option '--apply'\nUsage: ultracite lint [options]";
        for (line, output, check) in [
            ("npm run format && npm run lint -- --apply || true", apply, "npm lint"),
            ("npm run lint -- --apply; npm test", apply, "npm lint"),
            (
                "pytest -q --foo=3",
                "ERROR: usage: pytest [options] [file_or_dir]\npytest: error: unrecognized arguments: --foo=3\n  inifile: None",
                "pytest",
            ),
            (
                "cargo test --foo",
                "error: unexpected argument '--foo' found\n\nUsage: cargo test [OPTIONS] [TESTNAME]",
                "cargo test",
            ),
            (
                "npx jest --foo",
                "● Unrecognized CLI Parameter:\n\n  Unrecognized option \"foo\".",
                "jest",
            ),
            (
                "go test -foo ./...",
                "flag provided but not defined: -foo\nusage: go test",
                "go test",
            ),
            ("npx tsc --foo", "error TS5023: Unknown compiler option '--foo'.", "tsc"),
            (
                "ruff check --foo . | tail -3",
                "error: unexpected argument '--foo' found",
                "ruff check",
            ),
        ] {
            let success = line.contains(['|', ';']).then_some(line.contains('|'));
            let success = success.or(Some(false));
            assert_eq!(name(line, success, output).as_deref(), Some(check), "{line}: {output}");
        }
        for (line, output) in [
            // What a script or its settings give it has to be mended.
            ("npm run lint", "error: unknown option '--apply'"),
            ("npm run lint -- a--apply", "error: unknown option '--apply'"),
            (
                "npm test && git log --apply",
                "fatal: unrecognized argument: --apply\nerror: unknown option '--apply'",
            ),
            ("pytest --foo", "1 failed, 3 passed\nunknown option: --foo"),
        ] {
            assert_eq!(name(line, Some(false), output), None, "{line}: {output}");
        }
    }

    #[test]
    fn what_a_run_says_of_what_it_starts_is_a_failure_of_it() {
        for (line, output) in [
            (
                "pytest -q",
                "E   ModuleNotFoundError: No module named 'app'\n1 error in 0.1s",
            ),
            ("python -m pytest", "ModuleNotFoundError: No module named 'app'"),
            ("pytest -q", "sh: 1: ffmpeg: not found\n1 failed, 3 passed"),
            ("pytest -q", "bash: ffmpeg: command not found"),
            ("make", "make: cc: Command not found\nmake: *** [all] Error 127"),
            (
                "make",
                "make: *** No rule to make target 'a.h', needed by 'a.o'.  Stop.",
            ),
            ("pytest tests/a.py", "ERROR: file or directory not found: tests/a.py"),
            ("go build ./...", "a.go:3:2: open x.txt: no such file or directory"),
            ("cargo run -- frob", "error: unrecognized subcommand 'frob'"),
            ("cargo test", "error: could not compile `a`"),
            ("npm test", "1 failed\nbash: npm: command not found"),
        ] {
            assert_eq!(name(line, Some(false), output), None, "{line}: {output}");
        }
        let passed = "bash: pytest: command not found";
        assert_eq!(name("pytest -q", Some(true), passed), None, "its own status");
        let long = format!("{passed}\n{}", "line\n".repeat(20));
        assert_eq!(name("pytest -q", Some(false), &long), None);
        assert_eq!(name("ls", Some(false), passed), None);
    }

    proptest! {
        #[test]
        fn no_output_is_too_odd(output in r#"(\PC|\n|bash: |pytest|: command not found|No module named |'|: |issing script: ){0,20}"#) {
            name("cd a && pytest -q", Some(false), &output);
        }
    }
}
