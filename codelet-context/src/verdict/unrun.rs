//! Checks that were to be run and could not be: nothing was checked, so nothing has failed.
//!
//! What starts a program says so itself when there is none: the shell, an interpreter, a manager of scripts. Only a short answer
//! counts that says nothing else of a run, and only of what the line itself names, because what is run says the same of what it
//! starts.

use crate::message::ToolResult;
use crate::said::failed_count;
use crate::testrun::Check;

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
    let of_check = |name: &str| {
        checks
            .iter()
            .find(|check| check.name.split(' ').any(|word| word == name))
    };
    // What a manager of scripts runs, it says before.
    let echoed = || lines().filter_map(|line| line.strip_prefix("> ").or_else(|| line.strip_prefix("$ ")));
    let found = lines().filter_map(missing).find(|missing| match missing {
        Missing::Task(name) => of_check(name).is_some(),
        Missing::Program(name) => names(line, name) || echoed().any(|echo| names(echo, name)),
    })?;
    if lines().any(|line| missing(line).is_none() && is_of_a_run(line)) {
        return None;
    }
    // Where it is none of the checks, the last was to be run in it.
    let (Missing::Task(name) | Missing::Program(name)) = found;
    Some(of_check(name).unwrap_or(last).clone())
}

/// What is not there.
enum Missing<'a> {
    /// What the program that was started was told to do.
    Task(&'a str),
    /// A program, or a folder to go to.
    Program(&'a str),
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
    signs
        .iter()
        .find_map(|sign| line.split_once(*sign))
        .map(|(_, behind)| behind)
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
