//! The lines of an output that say what failed, without the frame that harnesses put around what a program has printed.

use crate::answer::{PRINTED, object};
use crate::message::ToolResult;
use std::borrow::Cow;
use std::collections::VecDeque;

/// Lines of an error, and bytes of a line, that are kept.
const LINES: usize = 12;
const WIDTH: usize = 240;
/// Bytes of an output that are looked at: from its beginning and to its end.
const LOOKED_AT: usize = 32 * 1024;

/// What a line that tells of a failure has in it.
const ANYWHERE: &[&str] = &[
    "FAILED",
    "FAIL ",
    "FAIL:",
    "panicked at",
    "Error:",
    "error:",
    "error[",
    "Exception",
    "not ok ",
    "fatal:",
    "ERROR",
    "AssertionError",
    "assertion",
    "Assertion",
    " error ",
    "ERR!",
    "undefined:",
    "cannot find",
    "not found",
    "Traceback",
];

/// The lines of an output that say what failed, each with the one after it; where none does, the last lines.
pub(crate) fn failing_lines(result: &ToolResult) -> Vec<String> {
    let mut lines = Vec::new();
    let mut last: VecDeque<&str> = VecDeque::with_capacity(LINES / 2);
    let texts = result.error.iter().chain(result.texts().map(|text| &text.body));
    let texts: Vec<_> = texts.map(|text| printed(text.as_str())).collect();
    for text in &texts {
        let (head, tail) = if text.len() <= 2 * LOOKED_AT {
            (&**text, "")
        } else {
            (
                &text[..text.floor_char_boundary(LOOKED_AT)],
                &text[text.ceil_char_boundary(text.len() - LOOKED_AT)..],
            )
        };
        let mut is_after = false;
        // Most outputs hold few of the signs; a line is asked only for those.
        let signs: Vec<&str> = ANYWHERE
            .iter()
            .copied()
            .filter(|sign| head.contains(sign) || tail.contains(sign))
            .collect();
        for line in head.lines().chain(tail.lines()).filter_map(within_frame) {
            if lines.len() == LINES {
                return lines;
            }
            let fails = says_failure(line, &signs);
            if fails || is_after {
                lines.push(shorten(line, WIDTH));
            }
            is_after = fails;
            if last.len() == LINES / 2 {
                last.pop_front();
            }
            last.push_back(line);
        }
        if last.is_empty() {
            // Nothing but the frame: that the program has ended, and how.
            let all = text.lines().filter(|line| !line.trim().is_empty());
            last.extend(all.take(LINES / 2));
        }
    }
    if lines.is_empty() {
        lines.extend(last.into_iter().map(|line| shorten(line, WIDTH)));
    }
    lines
}

/// What a program has printed, where the answer is an object that holds it.
fn printed(text: &str) -> Cow<'_, str> {
    let Some(map) = object(text) else {
        return text.into();
    };
    // What a harness says of it in a message of its own comes last.
    let names = ["error"].iter().chain(PRINTED).chain(&["message"]);
    let fields = names.filter_map(|name| map.get(*name)?.as_str());
    let printed: Vec<&str> = fields.filter(|text| !text.trim().is_empty()).collect();
    if printed.is_empty() {
        return text.into();
    }
    printed.join("\n").into()
}

/// A line of a program: without the label of its stream, and none where the harness speaks.
fn within_frame(line: &str) -> Option<&str> {
    const STREAMS: &[&str] = &[
        "Stdout:",
        "Stderr:",
        "Output:",
        "STDOUT:",
        "STDERR:",
        "OUTPUT:",
        "Command output:",
    ];
    const FRAME: &[&str] = &[
        "exit code",
        "signal:",
        "command:",
        "directory:",
        "background pids:",
        "process group pgid:",
        "wall time:",
        "command completed",
        "command executed",
        "command execution was",
        "command finished",
        "command exited",
        "the command completed",
        "the command exited",
        "process exited with",
        "process completed with",
        "current working directory:",
        "python interpreter:",
        "shell state (",
        "```",
    ];
    const TAGS: &[&str] = &["returncode", "exit_code", "output", "stdout", "stderr", "cwd"];
    let stream = STREAMS.iter().find_map(|label| line.strip_prefix(label));
    let line = stream.unwrap_or(line);
    let trimmed = line.trim();
    let bare = trimmed.trim_start_matches(['[', '(']);
    let is_frame = |words: &&str| {
        bare.get(..words.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(words))
    };
    let is_tag = |tag: &&str| {
        let behind = trimmed.trim_start_matches(['<', '/']).strip_prefix(*tag);
        let is_closed = |rest: &str| rest == ">" || rest.ends_with(&format!("</{tag}>"));
        trimmed.starts_with('<') && behind.is_some_and(|rest| rest.starts_with('>') && is_closed(rest))
    };
    let value = trimmed.rsplit_once(": ").map_or(trimmed, |(_, value)| value);
    let is_empty = trimmed.is_empty() || matches!(value, "(none)" | "(empty)");
    let is_own = !is_empty && !FRAME.iter().any(is_frame) && !TAGS.iter().any(is_tag);
    let shown = if stream.is_some() { trimmed } else { line };
    is_own.then_some(shown)
}

fn says_failure(line: &str, anywhere: &[&str]) -> bool {
    const FIRST: &[&str] = &[
        "✗",
        "✘",
        "×",
        "✖",
        "E  ",
        "E: ",
        "FAIL",
        "ERR_",
        "error",
        "failed",
        "Failed",
        "npm error",
    ];
    let trimmed = line.trim_start();
    FIRST.iter().any(|sign| trimmed.starts_with(sign)) || anywhere.iter().any(|sign| line.contains(sign))
}

/// The beginning of a text, with a sign where it goes on.
pub(crate) fn shorten(text: &str, bytes: usize) -> String {
    let text = text.trim_end();
    if text.len() <= bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(bytes)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(output: &str) -> Vec<String> {
        failing_lines(&ToolResult::new("1", Some(false), output))
    }

    #[test]
    fn an_error_keeps_the_lines_that_failed_and_no_flood() {
        let output =
            "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nthread 'b' panicked at src/b.rs:3:\nleft: 1\nnoise\n";
        assert_eq!(
            lines(output),
            ["test b ... FAILED", "thread 'b' panicked at src/b.rs:3:", "left: 1"]
        );
        assert_eq!(lines(&"error: x\n".repeat(100_000)).len(), LINES);
        assert_eq!(lines("one\ntwo"), ["one", "two"]);
    }

    #[test]
    fn the_frame_around_an_output_is_no_error() {
        let gemini = "Command: npm test\nDirectory: (root)\nStdout: 1 test\nTypeError: x is not a function\nat a.js:3\n\
                      Stderr: (empty)\nError: (none)\nExit Code: 1\nSignal: (none)\nBackground PIDs: (none)\n\
                      Process Group PGID: 48211";
        assert_eq!(lines(gemini), ["TypeError: x is not a function", "at a.js:3"]);
        let table: [(&str, &[&str]); 11] = [
            (
                "Exit code: 1\n\nCommand output:\n\n```\nE: Unable to locate package x\n```\n\nCommand completed in 1243 ms.",
                &["E: Unable to locate package x"],
            ),
            ("Command: ./x\nStdout: (empty)\nStderr: boom\nExit Code: 1", &["boom"]),
            ("Stderr: fatal: not a git repository", &["fatal: not a git repository"]),
            (
                "<returncode>1</returncode>\n<output>\n1 passed\nE   assert 1 == 2\n</output>",
                &["E   assert 1 == 2"],
            ),
            (
                "npm error code E403\n[The command completed with exit code 1.]\n[Current working directory: /w]",
                &["npm error code E403"],
            ),
            (
                "Command executed in terminal. Exit code: 1\nOutput:\nno rule",
                &["no rule"],
            ),
            (
                "npm ERR! code E403\nnpm ERR! 403",
                &["npm ERR! code E403", "npm ERR! 403"],
            ),
            (
                "{\"output\":\"ok 1\\nnot ok 2 - width\",\"exitCode\":1}",
                &["not ok 2 - width"],
            ),
            (
                "{\"returncode\": 1, \"stdout\": \"\", \"stderr\": \"sh: x: not found\"}",
                &["sh: x: not found"],
            ),
            ("Exit code 1", &["Exit code 1"]),
            ("outputs <b>Error: x</b>", &["outputs <b>Error: x</b>"]),
        ];
        for (output, expected) in table {
            assert_eq!(lines(output), expected, "{output}");
        }
    }

    proptest! {
        #[test]
        fn no_output_is_too_odd(pieces in proptest::collection::vec(r#"\PC|\n|Error: |Stdout: |Exit Code|\(none\)|</?output>|```|\{"output": ?"|"\}|é"#, 0..60)) {
            let output = pieces.concat();
            let lines = lines(&output);
            prop_assert!(lines.len() <= LINES);
            prop_assert!(lines.iter().all(|line| line.len() <= WIDTH + "…".len()));
            prop_assert_eq!(lines.is_empty(), output.trim().is_empty() || output.lines().all(|line| line.trim().is_empty()));
        }
    }
}
