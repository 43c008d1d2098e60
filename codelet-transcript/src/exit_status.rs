//! The exit status that a harness states in the text of a command's result.
//!
//! Requests have no field for it, so agents write it before or behind what the command printed, each in its own words. A
//! program prints what it likes, too. So what counts is what stands in the frame that the harness puts around the output:
//! in its first or last lines. A line that stands for itself (`Exit code 1`) counts only as the very first or last one.

use serde_json::{Map, Value};

/// Lines that are looked at from each end at most, blank ones not counted.
const MOST_LINES: usize = 8;
/// Longer lines state nothing.
const LONGEST_LINE: usize = 400;

/// Names of fields and tags that hold an exit status.
const NAMES: [&str; 8] = [
    "exitCode",
    "exit_code",
    "exitcode",
    "returncode",
    "return_code",
    "returnCode",
    "exit_status",
    "exitStatus",
];
/// Names of fields that hold what a program has printed.
const PRINTED: [&str; 7] = ["output", "stdout", "stderr", "result", "content", "text", "error"];
/// How lines begin that harnesses put above an output and that may have a status among them.
const ABOVE: [&str; 11] = [
    "Chunk ID:",
    "Wall time:",
    "Duration:",
    "Process running ",
    "Original token count:",
    "Command executed",
    "Command execution",
    "Command:",
    "Directory:",
    "Working directory:",
    "Cwd:",
];
/// How the fields begin of a result that is a block of fields, one a line.
const BLOCK: [&str; 5] = ["Command:", "Directory:", "Output:", "Stdout:", "Stderr:"];
/// How its fields begin that stand behind the status.
const BELOW: [&str; 8] = [
    "Signal:",
    "Error:",
    "Background PIDs:",
    "Process Group PGID:",
    "Duration:",
    "Wall time:",
    "Directory:",
    "Working directory:",
];
/// How a line begins behind which an output follows.
const OUTPUT: [&str; 4] = ["Output:", "Command output:", "Stdout:", "Wall time:"];

/// A status that was found.
#[derive(Clone, Copy)]
struct Stated {
    status: i64,
    /// Other words of the harness stand around it, which no program prints.
    is_framed: bool,
}

/// The exit status that the harness states in the result of a command; `None` where it states none. A command that prints
/// a status itself (`; echo "exit code: $?"`) leaves nothing to a line that stands for itself.
pub(crate) fn exit_status(text: &str, command: &str) -> Option<i64> {
    let text = text.trim();
    if text.starts_with('{') && text.ends_with('}') {
        return serde_json::from_str(text).ok().as_ref().and_then(of_object);
    }
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first: Vec<&str> = lines().take(MOST_LINES).collect();
    let last: Vec<&str> = text
        .rsplit('\n')
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(MOST_LINES)
        .collect();
    let is_told = |stated: &Stated| stated.is_framed || !prints_one(command);
    let above = above(&first).filter(is_told);
    let below = below(&last, first.first()?).filter(is_told);
    match (above, below) {
        (Some(above), Some(below)) if above.is_framed == below.is_framed => {
            // One of them is the program's. A harness that has only failures to tell says nothing of a success.
            Some(if above.status == 0 { below.status } else { above.status })
        }
        (Some(one), Some(other)) => Some(if one.is_framed { one.status } else { other.status }),
        (one, other) => one.or(other).map(|stated| stated.status),
    }
}

/// The exit status beside what was printed, in an object that is a whole result.
pub(crate) fn of_object(object: &Map<String, Value>) -> Option<i64> {
    let has = |names: &[&str]| {
        names
            .iter()
            .any(|name| object.get(*name).is_some_and(|value| value.is_string()))
    };
    if !has(&PRINTED) {
        return None;
    }
    // What an interface of the web calls so is no exit status.
    let status = || object.get("status")?.as_i64().filter(|_| has(&["stdout", "stderr"]));
    of_fields(object)
        .or_else(|| of_fields(object.get("metadata")?.as_object()?))
        .or_else(status)
}

/// The exit status among the fields of an object.
pub(crate) fn of_fields(object: &Map<String, Value>) -> Option<i64> {
    NAMES.iter().find_map(|name| object.get(*name)?.as_i64())
}

/// Whether a command line asks for the status of what it runs, to print it.
fn prints_one(command: &str) -> bool {
    let command = command.to_ascii_lowercase();
    [
        "$?",
        "$lastexitcode",
        "%errorlevel%",
        "pipestatus",
        "exit code",
        "exit status",
    ]
    .iter()
    .any(|word| command.contains(word))
}

fn above(lines: &[&str]) -> Option<Stated> {
    let framed = |status| Stated {
        status,
        is_framed: true,
    };
    let after_tags = lines.iter().find(|line| !is_opening(line));
    if let Some(status) = after_tags.and_then(|line| tagged(line)) {
        return Some(framed(status));
    }
    for (index, line) in lines.iter().enumerate() {
        if let Some(status) = statement(line) {
            let is_followed = lines.get(index + 1).is_some_and(|next| begins(next, &OUTPUT));
            return Some(Stated {
                status,
                is_framed: index > 0 || is_followed,
            });
        }
        if !begins(line, &ABOVE) {
            break;
        }
        let sentence = line.rsplit_once(". ").and_then(|(_, sentence)| statement(sentence));
        if let Some(status) = sentence {
            return Some(framed(status));
        }
    }
    None
}

/// Looks from the last line upwards.
fn below(lines: &[&str], first: &str) -> Option<Stated> {
    let framed = |status| Stated {
        status,
        is_framed: true,
    };
    let is_block = begins(first, &BLOCK);
    let mut is_framed = false;
    let mut is_inside = false;
    for line in lines {
        if let Some(status) = tagged(line) {
            return Some(framed(status));
        }
        let inner = [('[', ']'), ('<', '>')]
            .into_iter()
            .find_map(|(open, close)| line.strip_prefix(open)?.strip_suffix(close));
        match inner {
            Some(inner) if statement(inner).is_some() => return statement(inner).map(framed),
            // `[Current working directory: /work]`, `<cwd>/work</cwd>`
            Some(inner) if line.starts_with('[') && inner.contains(": ") || is_element(line) => {}
            Some(_) if line.starts_with("</") => is_inside = true,
            None if is_block && begins(line, &BELOW) => is_framed = true,
            None if !is_inside => return statement(line).map(|status| Stated { status, is_framed }),
            _ => return None,
        }
    }
    None
}

fn begins(line: &str, names: &[&str]) -> bool {
    names.iter().any(|name| line.starts_with(name))
}

/// Whether a line is nothing but a tag that opens.
fn is_opening(line: &str) -> bool {
    let name = line.strip_prefix('<').and_then(|line| line.strip_suffix('>'));
    name.is_some_and(is_name)
}

/// Whether a line is one whole element.
fn is_element(line: &str) -> bool {
    let name = line.strip_prefix('<').and_then(|line| line.split_once('>'));
    name.is_some_and(|(name, rest)| {
        let close = rest.rsplit_once("</").and_then(|(_, close)| close.strip_suffix('>'));
        is_name(name) && close == Some(name)
    })
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

/// `<returncode>1</returncode>`, closed or not.
fn tagged(line: &str) -> Option<i64> {
    let (name, rest) = line.strip_prefix('<')?.split_once('>')?;
    let known = |name: &str| {
        NAMES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&name.replace('-', "_")))
    };
    let status = match rest.split_once('<') {
        Some((status, close)) => {
            Some(status).filter(|_| close.strip_prefix('/').and_then(|c| c.strip_suffix('>')) == Some(name))
        }
        None => Some(rest),
    };
    status.filter(|_| known(name))?.trim().parse().ok()
}

/// A line that is nothing but the statement: `Exit code: 1`, `The command completed with exit code 1.`,
/// `Command "make" failed with exit code 2`.
fn statement(line: &str) -> Option<i64> {
    if line.len() > LONGEST_LINE {
        return None;
    }
    let line = match line.strip_prefix('(') {
        Some(inner) => inner.strip_suffix(')')?,
        None => line,
    };
    let line = line.trim_end_matches(['.', ':', ',', ';']);
    let (words, status) = line.rsplit_once([' ', ':', '='])?;
    let status = status.parse().ok()?;
    let words = words.trim_end_matches([' ', ':', '=']).to_ascii_lowercase();
    let named = [
        "exit code",
        "exit status",
        "exit_code",
        "exitcode",
        "return code",
        "returncode",
    ];
    let (words, is_named) = match named.iter().find_map(|name| words.strip_suffix(name)) {
        Some(words) => (words, true),
        None => (
            words.strip_suffix("code").or_else(|| words.strip_suffix("status"))?,
            false,
        ),
    };
    if words.is_empty() {
        return is_named.then_some(status);
    }
    let words = words.strip_suffix(' ')?.strip_suffix("with")?.strip_suffix(' ')?;
    let verbs = ["exited", "completed", "finished", "failed", "terminated", "ended"];
    let who = verbs.iter().find_map(|verb| words.strip_suffix(verb))?;
    let who = who.strip_prefix("the ").unwrap_or(who);
    let is_command = ["command", "process", "shell"]
        .iter()
        .any(|name| who.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    (who.is_empty() || is_command).then_some(status)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, status: Option<i64>) {
        assert_eq!(exit_status(text, "make"), status, "{text}");
    }

    #[test]
    fn a_status_is_read_in_the_words_of_each_harness() {
        check("FAIL\npkg\nExit code 1\n\n<cwd>/x</cwd>", Some(1));
        check("Exit code 2\nmake: *** [all] Error 2", Some(2));
        check(
            "Exit code: 0\n\nCommand output:\n\n```\nok\n```\n\nCommand completed in 12 ms.",
            Some(0),
        );
        check("1 failed\n[The command completed with exit code 1.]", Some(1));
        check(
            "x\n[The command completed with exit code 3.]\n[Current working directory: /w]\n[Python interpreter: /p]\n\
             [Command finished with exit code 3]",
            Some(3),
        );
        check(
            "x\n[The command completed with exit code 4.]\n[Current working directory: /w]",
            Some(4),
        );
        check("Command executed in terminal. Exit code: 1\nOutput:\n1 failed", Some(1));
        check(
            "Command executed in terminal within working directory '/w'. Command execution was not successful, inspect \
             the cause.\nExit code: 101\nOutput:\nx",
            Some(101),
        );
        check("1 failed\nCommand exited with code 1", Some(1));
        check("1 failed\n\nCommand failed with exit code 1.", Some(1));
        check(
            "Command \"cargo test\" failed with exit code 101.\n\n```\nx\n```",
            Some(101),
        );
        check("<returncode>1</returncode>\n<output>\nx\n</output>", Some(1));
        check("<output>\nx\n</output>\n<exit_code>7</exit_code>", Some(7));
        check("<result>\n<exit_code>0\n<output>x</output>\n</result>", Some(0));
        check(
            "Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 2\nOutput:\nx",
            Some(2),
        );
        check("x\n<command with shellId: 4 completed with exit code -1>", Some(-1));
        check("x\n(exit code: 137)", Some(137));
        let block = |code: &str| {
            format!(
                "Command: pytest\nDirectory: (root)\nStdout: 1 failed\nStderr: (empty)\nError: (none)\nExit Code: {code}\n\
                 Signal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 48211"
            )
        };
        check(&block("1"), Some(1));
        check(&block("0"), Some(0));
        check(&block("(none)"), None);
        check("Output: x\nExit Code: 1\nProcess Group PGID: 7", Some(1));
    }

    #[test]
    fn an_object_states_it_beside_what_was_printed() {
        check(r#"{"output":"--- FAIL","exitCode":1}"#, Some(1));
        check(r#"{"returncode": 0, "stdout": "", "stderr": ""}"#, Some(0));
        check(r#"{"output":"x","metadata":{"exit_code":2}}"#, Some(2));
        check(r#"{"status":1,"stdout":"x"}"#, Some(1));
        check(r#"{"status":404,"text":"x"}"#, None);
        check(r#"{"exitCode":1}"#, None);
        check(r#"{"output":"x","exitCode":"1"}"#, None);
    }

    #[test]
    fn a_line_of_the_program_does_not_pose() {
        check("one\nExit code: 1\ntwo", None);
        check("one\n[The command completed with exit code 1.]\ntwo", None);
        check(
            "Command: x\nStdout: a\nExit Code: 1\nb\nExit Code: 0\nSignal: (none)",
            Some(0),
        );
        check("a\nExit Code: 1\nSignal: (none)", None);
        check("web-1 exited with code 0", None);
        check("error Command failed with exit code 1.\ninfo Visit", None);
        check(" ELIFECYCLE  Command failed with exit code 1.", None);
        check("<output>\nExit code: 1\n</output>", None);
        check("Exit code: many", None);
        check("the exit code 0", None);
        check("Exit code: 0\nWall time: 1 s\nOutput:\nx\nExit code 1", Some(0));
        check("Exit code: 0\nx\nExit code 1", Some(1));
        check("x\nExit code 1\n[Command finished with exit code 0]", Some(0));
        check("", None);
    }

    #[test]
    fn a_status_that_the_command_prints_itself_is_not_the_harness_s() {
        assert_eq!(exit_status("x\nexit code: 1", "make; echo \"exit code: $?\""), None);
        let framed = "exit code: 1\n[The command completed with exit code 0.]";
        assert_eq!(exit_status(framed, "make; echo \"exit code: $?\""), Some(0));
    }

    proptest! {
        #[test]
        fn what_stands_in_the_middle_never_decides(
            middle in "[ -~\n]{0,80}", code in -9_i64..300,
            form in prop::sample::select(vec!["Exit code: 1", "[The command completed with exit code 1.]", "<exit_code>1</exit_code>",
                "Command exited with code 1", "Exit Code: 1\nSignal: (none)"]),
        ) {
            let lines = "plain line\n".repeat(MOST_LINES);
            let text = format!("{lines}{middle}\n{form}\n{middle}\n{lines}");
            prop_assert_eq!(exit_status(&text, "make"), None);
            let framed = format!("{text}[The command completed with exit code {code}.]");
            prop_assert_eq!(exit_status(&framed, "make"), Some(code));
        }

        #[test]
        fn no_text_breaks_it(text in "([<\\[{]|exit code|: |[0-9]{1,2}|with |exited |\n|[>\\]}/]|é|\\PC){0,30}") {
            exit_status(&text, "");
        }
    }
}
