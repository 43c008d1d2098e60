//! Finds the exit status that a harness writes around the output of a command, and the success that a result object
//! reports.
//!
//! Requests have no field for a status, so each harness writes it above or below the output, always in the same words.
//! Only exact matches of those count; a sentence that a program prints never does.

use serde_json::{Map, Value};

/// The outcome of a command in the text around an output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame {
    /// It exited with this status.
    Ended(i64),
    /// It is still running.
    Runs,
}

/// Lines that harnesses write above an output: the text before and after the status.
const ABOVE: &[(&str, &str)] = &[
    // Codex, old and new; Claude Code; Roo; pi; mini-swe-agent; Droid; AutoGen.
    ("Process exited with code ", ""),
    ("Exit code: ", ""),
    ("Exit code ", ""),
    ("Command exited with code ", ""),
    ("<returncode>", "</returncode>"),
    ("<exit_code>", "</exit_code>"),
    ("Error: Command failed (exit code: ", ")"),
    ("exitcode: ", " (execution succeeded)"),
    ("exitcode: ", " (execution failed)"),
];
/// Lines that harnesses write below an output: the text before and after the status.
const BELOW: &[(&str, &str)] = &[
    // pi, Claude Code, Gemini CLI, Codelet; OpenHands, old and new; mini-swe-agent.
    ("Command exited with code ", ""),
    ("Exit code: ", ""),
    ("Exit Code: ", ""),
    ("Exit code ", ""),
    ("[exit status ", "]"),
    ("[exit code: ", "]"),
    ("[Command finished with exit code ", "]"),
    ("[The command completed with exit code ", ".]"),
    ("<returncode>", "</returncode>"),
    ("<exit_code>", "</exit_code>"),
];
/// The beginning of Copilot CLI's line that ends with a status, `<shellId: 4 completed with exit code 1>`, and the text
/// before the status.
const SHELLS: [&str; 2] = ["<shellId: ", "<command with shellId: "];
const COMPLETED: &str = " completed with exit code ";
/// The beginnings of other lines that harnesses write above an output.
const ALSO_ABOVE: &[&str] = &[
    "Chunk ID: ", "Wall time: ", "Duration: ", "Command: ", "Directory: ", "Command executed in terminal",
];
/// The beginnings of other lines that harnesses write below an output.
const ALSO_BELOW: &[&str] = &[
    "Signal: ", "Background PIDs: ", "Process Group PGID: ", "Duration: ", "Wall time: ",
    "[Current working directory: ", "[Python interpreter: ",
];
/// The beginnings of lines that say that a command is still running.
const RUNS: &[&str] = &[
    "Process running with session ID ",
    "Command running in background with ID: ",
];
/// The maximum number of lines examined from each end.
const MOST_LINES: usize = 8;

/// Names of fields that hold an exit status.
const STATUSES: &[&str] = &[
    "exitCode", "exit_code", "exitcode", "returncode", "return_code", "exit_status",
];
/// Names of fields that hold a program's output.
const PRINTED: &[&str] = &["output", "stdout", "stderr", "result", "content"];

/// Returns the outcome that the harness states in the result of this command line. If two disagree, the failure counts.
pub(crate) fn frame(text: &str, command: &str) -> Option<Frame> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    // A command that asks for the status of a program prints it, alone on a line.
    let below = find(lines.rev(), BELOW, ALSO_BELOW, !command.contains("$?"));
    match (above(text), below) {
        (Some(Frame::Ended(0)) | None, Some(below)) => Some(below),
        (above, _) => above,
    }
}

/// Returns the outcome that the harness states above an output, where no program can print anything.
pub(crate) fn above(text: &str) -> Option<Frame> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    find(lines, ABOVE, ALSO_ABOVE, true)
}

fn find<'a>(
    lines: impl Iterator<Item = &'a str>,
    frames: &[(&str, &str)],
    also: &[&str],
    may_be_bare: bool,
) -> Option<Frame> {
    let begins = |line: &str, heads: &[&str]| heads.iter().any(|head| line.starts_with(head));
    for line in lines.take(MOST_LINES) {
        if begins(line, RUNS) {
            return Some(Frame::Runs);
        }
        let mut frames = frames.iter().filter(|(_, tail)| may_be_bare || !tail.is_empty());
        let within = |(head, tail): &(&str, &str)| line.strip_prefix(head)?.strip_suffix(tail)?.parse().ok();
        let of_shell = || {
            let line = line.strip_suffix('>').filter(|line| begins(line, &SHELLS))?;
            line.rsplit_once(COMPLETED)?.1.parse().ok()
        };
        if let Some(status) = frames.find_map(within).or_else(of_shell) {
            return Some(Frame::Ended(status));
        }
        if !begins(line, also) {
            return None;
        }
    }
    None
}

/// Returns the exit status next to the output, in an object that is the whole result, or in the only object within it.
pub(crate) fn of_object(object: &Map<String, Value>) -> Option<i64> {
    let field = |fields: &Map<String, Value>| STATUSES.iter().find_map(|name| fields.get(*name)?.as_i64());
    let metadata = || field(object.get("metadata")?.as_object()?);
    let has_printed = PRINTED
        .iter()
        .any(|name| object.get(*name).is_some_and(Value::is_string));
    match object.values().next() {
        _ if has_printed => field(object).or_else(metadata),
        Some(Value::Object(inner)) if object.len() == 1 => of_object(inner),
        _ => None,
    }
}

/// Returns the success that a result object reports, in fields for that purpose.
pub(crate) fn tells(object: &Map<String, Value>) -> Option<bool> {
    let flag = |names: &[&str]| names.iter().find_map(|name| object.get(*name)?.as_bool());
    let has_error = match object.get("error") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(_) => true,
    };
    let good = flag(&["ok", "success"]);
    if has_error || good == Some(false) || flag(&["isError", "is_error"]) == Some(true) {
        return Some(false);
    }
    let word = || match object.get("status")?.as_str()? {
        "error" | "failed" | "denied" => Some(false),
        "ok" | "success" => Some(true),
        _ => None,
    };
    of_object(object).map(|status| status == 0).or_else(word).or(good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_is_read_from_the_frame_of_a_harness_and_from_nothing_else() {
        for (text, expected) in [
            ("Exit code 1\nFAILED", Some(Frame::Ended(1))),
            (
                "Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 101\nOutput:\nx",
                Some(Frame::Ended(101)),
            ),
            (
                "Chunk ID: a\nWall time: 1 seconds\nProcess running with session ID 5\nOutput:\nExit code: 0",
                Some(Frame::Runs),
            ),
            (
                "<returncode>0</returncode>\n<output>\nFAILED\n</output>",
                Some(Frame::Ended(0)),
            ),
            ("x\n\nCommand exited with code 2", Some(Frame::Ended(2))),
            ("x\n<shellId: 4 completed with exit code 1>", Some(Frame::Ended(1))),
            (
                "x\n<command with shellId: 4 completed with exit code 0>",
                Some(Frame::Ended(0)),
            ),
            ("Output: x\nExit Code: 1\nProcess Group PGID: 7", Some(Frame::Ended(1))),
            (
                "x\n[Current working directory: /w]\n[Command finished with exit code -1]",
                Some(Frame::Ended(-1)),
            ),
            (
                "Error: Command failed (exit code: 1)\nsome words",
                Some(Frame::Ended(1)),
            ),
            ("exitcode: 1 (execution failed)\nCode output: x", Some(Frame::Ended(1))),
            // If they disagree, it failed.
            ("Exit code: 0\nok\n[exit code: 3]", Some(Frame::Ended(3))),
            ("Exit code: 4\nok\n[exit code: 0]", Some(Frame::Ended(4))),
            // Lines that programs print.
            ("error: script \"test\" exited with code 1", None),
            ("@agentv/web build: Exited with code 0", None),
            ("exit status 1", None),
            ("a\nExit code: 1\nb", None),
            ("Exit code: one", None),
            ("tests passed, exit code: 0", None),
            ("", None),
        ] {
            assert_eq!(frame(text, "make"), expected, "{text}");
        }
        let asks = "make; echo \"Exit code: $?\"";
        assert_eq!(frame("x\nExit code: 1", asks), None);
        let both = "x\nExit code: 1\n<shellId: 4 completed with exit code 0>";
        assert_eq!(frame(both, asks), Some(Frame::Ended(0)));
    }

    #[test]
    fn an_object_tells_by_its_fields() {
        let table = [
            (json!({"output": "error"}), None),
            (json!({"ok": true}), Some(true)),
            (json!({"success": false, "output": "x"}), Some(false)),
            (json!({"success": true, "isError": true}), Some(false)),
            (json!({"error": "no such file"}), Some(false)),
            (json!({"ok": true, "error": null}), Some(true)),
            (json!({"error": {"code": 3}}), Some(false)),
            (json!({"success": true, "errors": ["unused import"]}), Some(true)),
            (json!({"stdout": "x", "exit_code": 1}), Some(false)),
            (json!({"output": "x", "metadata": {"exit_code": 0}}), Some(true)),
            (json!({"result": {"exitCode": 7, "stdout": "ok"}}), Some(false)),
            (json!({"status": "done", "exit_code": 1}), None),
            (json!({"status": "failed"}), Some(false)),
            (json!({"status": "success"}), Some(true)),
        ];
        for (value, expected) in table {
            let Value::Object(object) = &value else { continue };
            assert_eq!(tells(object), expected, "{value}");
        }
    }
}
