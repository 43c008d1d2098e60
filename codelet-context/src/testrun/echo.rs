//! What a runner of scripts shows to have run: `> vitest run` of npm, `[test] $ go test ./...` of mise, the bare lines of make.

use super::{Check, Line};
use crate::command::Script;
use crate::failing::printed;
use crate::message::ToolResult;
use crate::word_list::is_in;
use std::borrow::Cow;

/// Programs that run what a project has written down for them and show it: behind a sign, or as it stands there.
const SIGNING: &str = "npm pnpm yarn bun deno mise task tox nox poe hatch pdm composer turbo lerna nx";
const BARE: &str = "make gmake mingw32-make nmake just rake";
/// Lines of an output that are looked at, bytes of one, and checks that are taken from them.
const LINES: usize = 4_000;
const WIDTH: usize = 600;
const MOST: usize = 32;

/// Whether a check is one of a runner that shows what it runs.
fn is_runner(check: &Check) -> bool {
    let program = check.program();
    is_in(program, SIGNING) || is_in(program, BARE) || is_script(program)
}

/// A shell's script shows what it runs where it is told to.
fn is_script(program: &str) -> bool {
    program.ends_with(".sh") || program.ends_with(".bash")
}

/// The checks that the output of a runner shows it to have run, each in the folder that it ran in, of those whose success
/// follows from that of the runner.
pub(crate) fn echoed(check: &Check, result: &ToolResult) -> Vec<Check> {
    let mut found: Vec<Check> = Vec::new();
    if !is_runner(check) {
        return found;
    }
    for text in result.texts() {
        let text = printed(text.body.as_str());
        // Make goes on where it is told that a command may fail, and elsewhere it runs in folders of its own.
        if text.contains("(ignored)") || text.contains("Entering directory") {
            return Vec::new();
        }
        for line in text.lines().take(LINES).filter(|line| line.len() <= WIDTH) {
            let line = bare(line);
            let Some((folder, command)) = command(&line, check) else {
                continue;
            };
            for mut echoed in Line::read(command).checks.into_iter().filter(|check| check.decides) {
                let own = echoed.scope.place.take();
                echoed.scope.place.clone_from(&check.scope.place);
                echoed.scope.settings.within(&check.scope.settings);
                for folder in folder.into_iter().chain(own.as_deref()) {
                    echoed.scope.go_to(folder);
                }
                if !found.contains(&echoed) && found.len() < MOST {
                    found.push(echoed);
                }
            }
        }
    }
    found
}

/// The check that a runner of scripts shows to be all that it ran, where it ran nothing else.
pub(crate) fn stands_for(check: &Check, result: &ToolResult) -> Option<Check> {
    if !is_in(check.program(), SIGNING) {
        return None;
    }
    let runs_more = |text: &str| {
        let lines = text.lines().take(LINES).filter(|line| line.len() <= WIDTH).map(bare);
        lines.into_iter().any(|line| {
            command(&line, check).is_some_and(|(_, command)| {
                let commands = Script::read(command).commands;
                commands.len() > 1 && !Line::of(&commands).checks.is_empty()
            })
        })
    };
    match &echoed(check, result)[..] {
        [only] if only.kind == check.kind && !result.texts().any(|text| runs_more(&printed(text.body.as_str()))) => {
            Some(only.clone())
        }
        _ => None,
    }
}

/// Whether an output shows that a runner has begun with this check.
pub(crate) fn shows_begin(check: &Check, result: &ToolResult) -> bool {
    let Some((program, script)) = check
        .name
        .split_once(' ')
        .filter(|(program, _)| is_in(program, SIGNING))
    else {
        return false;
    };
    let begins = |line: &str| {
        let line = bare(line);
        let line = line.trim();
        match program {
            "mise" | "task" => line
                .strip_prefix("task: ")
                .unwrap_or(line)
                .strip_prefix('[')
                .and_then(|rest| rest.strip_prefix(script))
                .is_some_and(|rest| rest.starts_with(']')),
            // `> shop@1.0.0 lint`, `> shop@1.0.0 lint /w/shop`, `yarn run lint`
            _ => {
                let mut words = line.split_whitespace();
                let is_headed = match words.next() {
                    Some(">") => words.next().is_some_and(|package| package.contains('@')),
                    Some("yarn") => words.next() == Some("run"),
                    _ => false,
                };
                is_headed && words.next() == Some(script)
            }
        }
    };
    result
        .texts()
        .any(|text| printed(text.body.as_str()).lines().take(LINES).any(begins))
}

/// The command that a line shows, with the folder that it runs in where that is told.
fn command<'a>(line: &'a str, check: &Check) -> Option<(Option<&'a str>, &'a str)> {
    let line = line.trim();
    let program = check.program();
    if is_script(program) {
        return Some((
            None,
            line.trim_start_matches('+')
                .strip_prefix(' ')
                .filter(|_| line.starts_with('+'))?,
        ));
    }
    for sign in ["$ ", "> ", "=> "] {
        let Some((front, command)) = line.split_once(sign) else {
            continue;
        };
        let front = front.trim_end();
        // `[test] $ a`, `commands[0]> a`, `nox > a`, `Poe => a`
        let is_front = front.is_empty() || front.ends_with(']') || front.eq_ignore_ascii_case(program);
        if is_front {
            return Some((None, command));
        }
        // `packages/a test$ a`
        let mut words = front.split_whitespace();
        if sign == "$ "
            && let (Some(folder), Some(_), None) = (words.next(), words.next(), words.next())
        {
            return Some((Some(folder), command));
        }
    }
    if let Some(rest) = line.strip_prefix("task: [") {
        return Some((None, rest.split_once("] ")?.1));
    }
    is_in(program, BARE).then_some((None, line))
}

/// A line without the codes that colour it.
fn bare(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return line.into();
    }
    let mut pieces = line.split("\u{1b}[");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| ('@'..='~').contains(&c));
        text.push_str(end.map_or("", |end| &piece[end + 1..]));
    }
    text.into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::testrun::checks;
    use proptest::prelude::*;

    fn shown(line: &str, output: &str) -> Vec<(String, Option<String>, Vec<String>)> {
        let check = checks(line).pop().unwrap();
        echoed(&check, &ToolResult::new("1", Some(true), output))
            .into_iter()
            .map(|check| (check.name, check.scope.place, check.scope.words))
            .collect()
    }

    #[test]
    fn a_runner_shows_which_checks_it_runs() {
        for (line, output, name) in [
            (
                "npm test",
                "\n> shop@1.0.0 test\n> vitest run\n\n Test Files  1 passed",
                "vitest",
            ),
            ("yarn test", "yarn run v1.22\n$ jest --ci\nPASS a.test.ts", "jest"),
            ("bun run test", "$ vitest run", "vitest"),
            ("mise run test", "[test] $ go test ./...\nok  \ta/b\t0.1s", "go test"),
            (
                "mise run test",
                "\u{1b}[34m[test]\u{1b}[0m \u{1b}[1m$ go test ./...\u{1b}[0m",
                "go test",
            ),
            ("task test", "task: [test] go test ./...", "go test"),
            ("make test", "go test ./...\nok  \ta/b\t0.1s", "go test"),
            ("just test", "cargo test --workspace\n    Finished", "cargo test"),
            ("tox", "py311: commands[0]> pytest tests\n", "pytest"),
            ("poe test", "Poe => pytest -q", "pytest"),
            ("nox", "nox > pytest", "pytest"),
            ("./scripts/test.sh", "+ pytest -q\n...", "pytest"),
        ] {
            let names: Vec<String> = shown(line, output).into_iter().map(|(name, ..)| name).collect();
            assert_eq!(names, [name], "{line}: {output}");
        }
    }

    #[test]
    fn what_is_shown_runs_where_its_runner_does() {
        let place = |line: &str, output: &str| shown(line, output).pop().unwrap().1;
        assert_eq!(place("cd web && npm test", "> vitest run").as_deref(), Some("web"));
        assert_eq!(
            place("make -C api test", "cd v2 && go test ./...").as_deref(),
            Some("api/v2")
        );
        assert_eq!(
            place("pnpm -r test", "packages/a test$ vitest run").as_deref(),
            Some("packages/a")
        );
        assert_eq!(place("npm test", "> vitest run"), None);
    }

    #[test]
    fn what_others_print_is_no_command_of_a_runner() {
        for (line, output) in [
            ("npm test", "vitest run\nTo run one: npx vitest run a.test.ts"),
            ("npm test", "> eslint . || true"),
            ("npm test", "> jest; echo done"),
            ("cargo test", "> vitest run\n$ go test ./..."),
            ("make test", "pytest -q\nmake: [Makefile:3: test] Error 1 (ignored)"),
            ("make test", "make[1]: Entering directory '/w/sub'\ngo test ./..."),
            ("make test", "ok  \tacme/api\t0.2s\nAll tests passed"),
            ("mise run test", "$ rm -rf build\n[test] $ echo go test"),
            ("./run_tests.sh", "pytest -q"),
        ] {
            assert_eq!(shown(line, output), [], "{line}: {output}");
        }
    }

    #[test]
    fn a_runner_shows_what_it_begins_with() {
        let begins = |line: &str, output: &str| {
            let check = checks(line).pop().unwrap();
            shows_begin(&check, &ToolResult::new("1", Some(false), output))
        };
        assert!(begins("mise run lint", "[lint] $ golangci-lint run\n1 issues:"));
        assert!(begins("npm run lint", "> shop@1.0.0 lint\n> eslint ."));
        assert!(begins("pnpm lint", "> shop@1.0.0 lint /w/shop\n> eslint ."));
        assert!(begins("task lint", "task: [lint] ruff check"));
        assert!(!begins("npm run lint", "> shop@1.0.0 build\n> tsc"));
        assert!(!begins("mise run lint", "[build] $ go build ./..."));
        assert!(!begins("golangci-lint run", "[lint] $ golangci-lint run"));
    }

    proptest! {
        #[test]
        fn no_output_is_too_odd(output in r#"(\PC|> |\$ |\[a\] |=> |\+ |vitest|go test|\x1b\[1m|\n| |/|&&){0,60}"#) {
            for line in ["npm test", "make test", "mise run test", "./test.sh"] {
                shown(line, &output);
                shows_begin(&checks(line)[0], &ToolResult::new("1", None, output.as_str()));
            }
        }
    }
}
