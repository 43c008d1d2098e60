//! The status of a check that its line prints: `tsc; echo $?`, `make > log; rc=$?; tail log; echo "exit $rc"`.

use crate::command::Command;
use crate::shell::Next;
use crate::word_list::is_in;

/// What a line prints with the status of a check in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Printed {
    /// What stands before the status …
    before: Box<str>,
    /// … and behind it.
    after: Box<str>,
    /// Nothing is printed below it.
    is_last: bool,
}

/// How the variable is written that holds the status of what ran last.
const LAST: &str = "$? ${?} $LASTEXITCODE";
/// … and that of the first program of a pipe.
const FIRST: &str = "${PIPESTATUS[0]} ${pipestatus[1]}";

impl Printed {
    /// How the status of a command is printed, if it is and can be no other's. `ends` where the line ends with these commands.
    pub(super) fn of(commands: &[Command], at: usize, ends: bool) -> Option<Printed> {
        // Behind `a &&` a status may be that of `a`; that a folder is not there says that nothing is run in it.
        let before = commands[..at].iter().rev();
        let mut chained = before.take_while(|command| !matches!(command.simple.then, Next::Then | Next::Background));
        if !chained.all(|command| command.goes() && command.simple.then == Next::And) || commands[at].is_inverted {
            return None;
        }
        let pipe = commands[at..]
            .iter()
            .take_while(|command| command.simple.then == Next::Pipe);
        let last = at + pipe.count();
        let next = commands
            .get(last + 1)
            .filter(|_| commands[last].simple.then == Next::Then)?;
        let names = if last == at { LAST } else { FIRST };
        if let Some(printed) = Printed::by(next, names, ends && last + 2 == commands.len()) {
            return Some(printed);
        }
        // `rc=$?`
        let (name, value) = match &next.simple.words[..] {
            [word] => word.split_once('=')?,
            _ => return None,
        };
        if !is_in(value, names) {
            return None;
        }
        let names = format!("${name} ${{{name}}}");
        // Who sets it again prints another status.
        let others = commands[last + 2..].iter().enumerate();
        let mut others = others.take_while(|(_, command)| !sets(command, name));
        others.find_map(|(behind, command)| Printed::by(command, &names, ends && last + 3 + behind == commands.len()))
    }

    /// What a command prints with one of these variables in it.
    fn by(command: &Command, names: &str, is_last: bool) -> Option<Printed> {
        let is_told = is_in(&command.name(), "echo write-host write-output") && command.simple.then != Next::Pipe;
        let words: Vec<(&str, bool)> = command.arguments(1).collect();
        if !is_told || !words.iter().any(|(word, is_open)| *is_open && word.contains('$')) {
            return None;
        }
        let words: Vec<&str> = words.into_iter().map(|(word, _)| word).collect();
        let text = words.join(" ");
        let text = text.trim_start_matches("-e ").trim_start_matches("-n ");
        let (before, after) = names.split(' ').find_map(|name| text.split_once(name))?;
        // `$code` is no `$codec`.
        let is_more = names.contains("$LAST") || !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let before = before.rsplit(['\n', '\t']).next().unwrap_or_default();
        let before = before.rsplit("\\n").next().unwrap_or_default();
        let after = after.split(['\n', '\t']).next().unwrap_or_default();
        let is_plain = !before.contains(['$', '`', '\\']) && !after.contains(['$', '`', '\\']);
        (is_plain && is_more).then(|| Printed {
            before: before.trim_start().into(),
            after: after.trim_end().into(),
            is_last,
        })
    }

    /// The status that an output of these lines states. Without words around it only the last line can, if no other follows.
    pub(crate) fn status<'a>(&self, lines: impl Iterator<Item = &'a str>) -> Option<u32> {
        let read = |line: &str| {
            let status = line.trim().strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
            status
                .parse()
                .ok()
                .filter(|_| status.bytes().all(|b| b.is_ascii_digit()))
        };
        let lines = lines.filter(|line| !line.trim().is_empty());
        let is_named = self
            .before
            .chars()
            .chain(self.after.chars())
            .filter(|c| c.is_alphabetic())
            .count()
            > 1;
        if !is_named {
            return lines.last().filter(|_| self.is_last).and_then(read);
        }
        let mut found = lines.filter_map(read);
        let status = found.next()?;
        found.next().is_none().then_some(status)
    }
}

/// Whether a command gives a variable of the shell another value.
fn sets(command: &Command, variable: &str) -> bool {
    let is_it = |word: &String| {
        let name = word.split(['=', '[']).next().unwrap_or_default();
        name.trim_end_matches('+') == variable
    };
    let words = &command.simple.words;
    match words.first().map(String::as_str) {
        Some("export" | "local" | "declare" | "typeset" | "readonly") => {
            words[1..].iter().any(|word| word.contains('=') && is_it(word))
        }
        Some("read" | "unset" | "mapfile" | "readarray" | "for" | "printf" | "getopts") => words[1..].iter().any(is_it),
        Some("let") => words[1..].iter().any(|word| word.contains(variable)),
        Some(first) if first.starts_with("((") => words.iter().any(|word| word.contains(variable)),
        _ => words.iter().take_while(|word| word.contains('=')).any(is_it),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::testrun::checks;
    use proptest::prelude::*;

    fn status(line: &str, output: &str) -> Option<u32> {
        let check = checks(line).pop().unwrap();
        check.printed.and_then(|printed| printed.status(output.lines()))
    }

    #[test]
    fn a_status_that_a_line_prints_is_that_of_its_check() {
        for (line, output, expected) in [
            ("npx eslint src; echo $?", "0", 0),
            ("cd web && npx tsc --noEmit; echo $?", "a.ts(1,2): error TS1: x\n2\n", 2),
            ("npx tsc --noEmit\necho \"exit: $?\"", "exit: 0", 0),
            ("make > log 2>&1; rc=$?; tail -3 log; echo rc=$rc", "cc a.c\nrc=0", 0),
            ("npm run lint 2>&1 | tail -3; echo ${PIPESTATUS[0]}", "ok\n1", 1),
            ("npx tsc; echo \"TSC=$?\"; ls", "TSC=0\na.ts", 0),
            (
                "ruff check .; echo -e \"\\nEXIT $?\"",
                "All checks passed!\n\nEXIT 0",
                0,
            ),
            ("npx tsc --noEmit; echo $LASTEXITCODE", "0", 0),
            ("bash -c 'npx tsc --noEmit; echo $?'", "0", 0),
        ] {
            assert_eq!(status(line, output), Some(expected), "{line}");
        }
    }

    #[test]
    fn a_number_that_may_be_anything_is_no_status() {
        for (line, output) in [
            ("npx eslint src | wc -l", "0"),
            ("npx eslint src | tail -3; echo $?", "0"),
            ("npx eslint src; echo $?; wc -l a", "0\n0"),
            ("npx eslint src; echo '$?'", "0"),
            ("npx eslint src; ls; echo $?", "0"),
            ("npm run build && npx eslint src; echo $?", "1"),
            ("! npx eslint src; echo $?", "0"),
            ("npx eslint src; echo $?", "0 warnings"),
            ("npx eslint src; echo \"exit $?\"", "exit 0\nexit 1"),
            ("npx eslint src || echo $?", "0"),
            ("bash -c 'npx eslint src; echo $?'; wc -l < a", "0"),
        ] {
            assert_eq!(status(line, output), None, "{line}: {output}");
        }
    }

    #[test]
    fn a_variable_that_is_set_again_holds_the_status_of_another() {
        let status = |line: &str, at: usize| {
            let printed = checks(line).swap_remove(at).printed;
            printed.and_then(|printed| printed.status("rc=0".lines()))
        };
        for again in [
            "rc=$?",
            "read rc",
            "export rc=$?",
            "local rc=0",
            "rc+=1",
            "unset rc",
            "read -r a rc",
        ] {
            let line = format!("npx tsc --noEmit; rc=$?; npx eslint src; {again}; echo rc=$rc");
            assert_eq!(status(&line, 0), None, "{line}");
        }
        assert_eq!(
            status("npx tsc --noEmit; rc=$?; npx eslint src; rc=$?; echo rc=$rc", 1),
            Some(0)
        );
        for other in ["src=1", "read line", "echo rc", "rcs=$?", "test $rc = 0"] {
            let line = format!("npx tsc --noEmit; rc=$?; {other}; echo rc=$rc");
            assert_eq!(status(&line, 0), Some(0), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(
            line in r#"(npx tsc|make|cd a|;|&&| \| |echo|rc=\$\?| \$\?| "\$\{rc\}x"|\$rc|\\n|\n|'|bash -c){0,16}"#,
            output in r"([0-9]|exit|\n| |é){0,12}",
        ) {
            for check in checks(&line) {
                if let Some(printed) = &check.printed {
                    printed.status(output.lines());
                }
            }
        }
    }
}
