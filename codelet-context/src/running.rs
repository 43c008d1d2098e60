//! Commands that run on behind the answers to their calls, and the later answers that tell what came of them.
//!
//! That a command was started is no word on how it went, whatever status comes with it. Harnesses say that it runs on in the
//! first or last lines of an answer, each in its own words, with a name for it; whoever asks for it later names it.

use crate::answer::was_refused;
use crate::command::CommandLine;
use crate::message::{ActionKind, ToolCall, ToolResult};
use crate::verdict;
use serde_json::Value;

/// Commands that are remembered, and names of each.
const MOST: usize = 64;
const NAMES: usize = 8;
/// Lines of an answer, from its beginning and to its end, in which a harness says how the run stands.
const ABOVE: usize = 8;
const BELOW: usize = 3;
/// Longer lines say nothing of it.
const LONGEST: usize = 400;
/// Lines of an answer that holds nothing but such words.
const FEW: usize = 3;

/// Commands that were started and are not known to have ended, newest last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Vec<Started>);

#[derive(Clone, Debug)]
struct Started {
    line: CommandLine,
    /// What it is called in its answer, and was in its call.
    names: Vec<Box<str>>,
    /// The tests that it has shown last had failures among them.
    has_failed: bool,
}

/// What a later answer tells of a command.
#[derive(Clone, Debug)]
pub(crate) struct Later {
    /// The command line that was started.
    pub line: CommandLine,
    /// The answer as one to that command: its success is the command's, where it says so.
    pub result: ToolResult,
}

impl Running {
    /// Whether the command of a call runs on behind this answer. It is remembered then.
    pub fn starts(&mut self, call: &ToolCall, result: &ToolResult) -> bool {
        if !runs_on(call, result) {
            return false;
        }
        if let Some(line) = &call.action.command {
            if self.0.len() == MOST {
                self.0.remove(0);
            }
            let mut names = names(call, result);
            names.truncate(NAMES);
            self.0.push(Started {
                line: line.clone(),
                names,
                has_failed: verdict::closes_with_failures(result),
            });
        }
        true
    }

    /// What this answer tells of a command that was started before, where its call asks for one and it has ended.
    pub fn ended(&mut self, call: &ToolCall, result: &ToolResult) -> Option<Later> {
        if self.0.is_empty() || call.action.kind == ActionKind::Command || was_refused(result) {
            return None;
        }
        let is_it = |started: &Started| started.names.iter().any(|name| asks_for(call, name));
        let at = self.0.iter().rposition(is_it)?;
        let end = stand(result);
        let shows_tests = verdict::closes_as_tests_do(result);
        if shows_tests {
            self.0[at].has_failed = verdict::closes_with_failures(result);
        }
        if end == Some(Stand::Runs) {
            return None;
        }
        if ends(&call.tool) {
            self.0.remove(at);
            return None;
        }
        let result = ToolResult {
            success: match end {
                // What watches the tests goes well when it is left, whatever it has shown.
                Some(Stand::Ended(true)) if self.0[at].has_failed && !shows_tests => None,
                Some(Stand::Ended(success)) => Some(success),
                _ => None,
            },
            ..result.clone()
        };
        // Where nothing says that it has ended, how tests close may.
        let line = match end {
            Some(_) => self.0.remove(at).line,
            None if shows_tests => self.0[at].line.clone(),
            None => return None,
        };
        Some(Later { line, result })
    }
}

/// Whether a command runs on behind the answer to its call.
fn runs_on(call: &ToolCall, result: &ToolResult) -> bool {
    if result.success == Some(false) || call.action.kind != ActionKind::Command {
        return false;
    }
    if matches!(stand(result), Some(Stand::Ended(_) | Stand::Stopped)) {
        return false;
    }
    is_sent_away(call) || says_it_runs_on(result)
}

/// Whether the call itself asks not to wait for the command.
fn is_sent_away(call: &ToolCall) -> bool {
    call.parameters.as_map().iter().any(|(name, value)| {
        let name: String = name.chars().filter(|c| c.is_ascii_alphabetic()).collect();
        let is_asked = match value {
            Value::Bool(asked) => *asked,
            Value::String(asked) => asked == "true",
            _ => false,
        };
        let names = ["background", "runinbackground", "isbackground", "detach", "detached"];
        let is_mode = name.eq_ignore_ascii_case("mode") && value.as_str() == Some("async");
        is_mode || is_asked && names.iter().any(|one| name.eq_ignore_ascii_case(one))
    })
}

/// Whether an answer says so where a harness does.
fn says_it_runs_on(result: &ToolResult) -> bool {
    // A frame above an output, and how a sentence begins that is one of a harness.
    const FRAME: &[&str] = &["chunk id:", "wall time:", "duration:"];
    const BEGIN: &[&str] = &[
        "command",
        "the command",
        "process",
        "the process",
        "started",
        "running",
        "moved",
        "background",
        "task",
        "job",
        "shell",
        "terminal",
        "[",
        "<",
        "{",
    ];
    let Some(text) = result.texts().next().map(|text| text.body.as_str()) else {
        return false;
    };
    let begins = |line: &str, with: &[&str]| {
        let head: String = line.chars().take(16).collect::<String>().to_ascii_lowercase();
        with.iter().any(|with| head.starts_with(with))
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_short = lines().nth(FEW).is_none();
    let mut above = lines().take(ABOVE / 2);
    let first = above.next().unwrap_or_default();
    if says_it_runs(first) && (is_short || begins(first, BEGIN) && !verdict::closes_as_tests_do(result)) {
        return true;
    }
    let is_framed = begins(first, FRAME) && above.take_while(|line| !line.starts_with("Output")).any(says_it_runs);
    let is_last = |line: &str| says_it_runs(line) && (is_short || begins(line, BEGIN));
    is_framed
        || text
            .lines()
            .rev()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .take(2)
            .any(is_last)
}

/// Whether a line says that a command has not ended.
fn says_it_runs(line: &str) -> bool {
    const WHO: &[&str] = &[
        "command", "process", "task", "shell", "session", "job", "terminal", "pid",
    ];
    const RUNS: &[&str] = &[
        "still running",
        "in the background",
        "in background",
        "to the background",
        "to background",
        "backgrounded",
        "background process",
        "background command",
        "background task",
        "process running",
        "command running",
        "process is running",
        "command is running",
        "task is running",
        "running with session",
        "has no new output",
    ];
    if line.len() > LONGEST {
        return false;
    }
    let line = line.to_ascii_lowercase();
    RUNS.iter().any(|runs| line.contains(runs)) && WHO.iter().any(|who| line.contains(who))
}

/// How a command stands, as the frame around what it has printed says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stand {
    Runs,
    /// It has ended by itself, well or not.
    Ended(bool),
    /// It was ended, or nothing says how it did.
    Stopped,
}

fn stand(result: &ToolResult) -> Option<Stand> {
    let text = result.texts().next()?.body.as_str();
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    // Behind these the program speaks.
    let is_output = |line: &&str| !["Output:", "<output>", "<stdout>", "stdout:"].contains(line);
    let above = lines().take(ABOVE).take_while(is_output);
    let below = text
        .lines()
        .rev()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(BELOW);
    let lines: Vec<&str> = above
        .chain(below.filter(|line| is_framed(line)))
        .filter(|line| line.len() <= LONGEST)
        .collect();
    let status = lines.iter().find_map(|line| status(line));
    // What a signal has ended was ended by somebody.
    let by_status = status.map(|status| match status {
        0 => Stand::Ended(true),
        1..=128 => Stand::Ended(false),
        _ => Stand::Stopped,
    });
    let is_running = || lines.iter().any(|line| says_it_runs(line)).then_some(Stand::Runs);
    by_status
        .or_else(|| lines.iter().find_map(|line| word(line)))
        .or_else(is_running)
}

/// Whether a line stands in a frame of its own.
fn is_framed(line: &str) -> bool {
    line.starts_with(['<', '[', '{']) && line.ends_with(['>', ']', '}'])
}

/// The exit status that a line states.
fn status(line: &str) -> Option<i64> {
    const NAMES: &[&str] = &[
        "exit_code",
        "exitcode",
        "exit code",
        "exit status",
        "exited with code",
        "exited with status",
        "returncode",
        "return code",
        "exited with",
    ];
    let line = line.to_ascii_lowercase();
    let behind = NAMES
        .iter()
        .find_map(|name| line.split_once(name).map(|(_, behind)| behind))?;
    let behind = behind.trim_start_matches([' ', ':', '=', '>', '"', '\'', '(']);
    let end = behind
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *at == 0 && *c == '-'))
        .map_or(behind.len(), |(at, _)| at);
    behind[..end].parse().ok()
}

/// What a field says that is called a status.
fn word(line: &str) -> Option<Stand> {
    let line = line.to_ascii_lowercase();
    let (before, behind) = line.split_once("status")?;
    // `retrieval_status` is another one, and so is the word in a sentence.
    if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') || before.contains(' ') && !before.starts_with('{') {
        return None;
    }
    let value = behind.trim_start_matches(['>', ':', '=', '"', '\'', ' ']);
    if value.len() == behind.len() {
        return None;
    }
    let end = value
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(value.len());
    match &value[..end] {
        "running" | "pending" | "in_progress" | "started" => Some(Stand::Runs),
        "failed" => Some(Stand::Ended(false)),
        // That it has ended is no word on how.
        "completed" | "exited" | "finished" | "done" | "ended" | "killed" | "stopped" | "terminated" | "cancelled"
        | "canceled" => Some(Stand::Stopped),
        _ => None,
    }
}

/// Whether a tool ends what runs, by its name. That it has done so is no word on the command.
fn ends(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["kill", "stop", "terminate", "cancel", "abort"]
        .iter()
        .any(|word| tool.contains(word))
}

/// The names that a started command may be asked for by.
fn names(call: &ToolCall, result: &ToolResult) -> Vec<Box<str>> {
    let mut names: Vec<Box<str>> = Vec::new();
    for (name, value) in call.parameters.as_map() {
        if is_name_of_run(name) && name_in(value).is_some() {
            names.extend(name_in(value).map(Into::into));
        }
    }
    let text = result.texts().next().map_or("", |text| text.body.as_str());
    let lines = || {
        text.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && line.len() <= LONGEST)
    };
    let told = lines().take(ABOVE).chain(text.lines().rev().map(str::trim).take(BELOW));
    let told: Vec<&str> = match lines().nth(ABOVE) {
        None => lines().collect(),
        Some(_) => told.filter(|line| says_it_runs(line)).collect(),
    };
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut numbers: Vec<Box<str>> = Vec::new();
    for line in told {
        let mut before = "";
        for word in line.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()) {
            let is_name = match is_name_of_run(before) {
                true if is_id(before) => word.len() > 1 || has_digit(word),
                is_told => is_told && has_digit(word),
            };
            if is_name && !is_name_of_run(word) {
                names.push(word.into());
            } else if has_digit(word) && says_it_runs(line) {
                numbers.push(word.into());
            }
            before = word;
        }
    }
    if names.is_empty() { numbers } else { names }
}

fn has_digit(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a parameter, or a word in front of a name, is called as names of what runs are.
fn is_name_of_run(name: &str) -> bool {
    const WHAT: &[&str] = &[
        "session", "shell", "process", "job", "task", "terminal", "handle", "bash",
    ];
    is_id(name) || WHAT.iter().any(|what| name.eq_ignore_ascii_case(what))
}

fn is_id(name: &str) -> bool {
    let is_of_one = name.ends_with("_id") || name.ends_with("Id") || name.ends_with("ID");
    is_of_one || ["id", "pid"].contains(&name)
}

fn name_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() && text.len() < 80 => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Whether a call names what runs.
fn asks_for(call: &ToolCall, name: &str) -> bool {
    let values = call.parameters.as_map().iter();
    let mut named = values
        .filter(|(key, _)| is_name_of_run(key))
        .filter_map(|(_, value)| name_in(value));
    named.any(|value| value == name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::{Action, Message, Part, Role};
    use crate::outcome::{Facts, Verdict};
    use proptest::prelude::*;
    use serde_json::json;
    use std::sync::Arc;

    /// Calls with their answers: the tool, its parameters, the status that came with the answer, and the answer.
    fn facts(calls: &[(&str, Value, Option<bool>, &str)]) -> Facts {
        let mut messages = Vec::new();
        for (number, (tool, parameters, success, answer)) in calls.iter().enumerate() {
            let id = number.to_string();
            let line = parameters.get("command").and_then(Value::as_str);
            let action = line.map_or_else(Action::default, Action::command);
            let call = ToolCall::new(id.as_str(), *tool, parameters.as_object().unwrap().clone()).doing(action);
            messages.push(Arc::new(Message::new(Role::Assistant, vec![Part::ToolCall(call)])));
            messages.push(Arc::new(Message::results(vec![ToolResult::new(
                id.as_str(),
                *success,
                *answer,
            )])));
        }
        Facts::gather(&messages)
    }

    fn tests(calls: &[(&str, Value, Option<bool>, &str)]) -> Option<Verdict> {
        facts(calls).tests.map(|fact| fact.verdict)
    }

    const YES: Option<bool> = Some(true);

    #[test]
    fn that_a_check_was_started_is_no_word_on_how_it_went() {
        for answer in [
            "Command running in background with ID: b7f3a1. Output is being written to: /tmp/tasks/b7f3a1.output",
            "Command was manually backgrounded by user with ID: b7f3a1",
            "Chunk ID: 0b19a4\nWall time: 10.0 seconds\nProcess running with session ID 75259\nOriginal token count: 9\nOutput:\n40 passed, 0 failed",
            "a ... ok\n<command with shellId: 27 is still running after 30 seconds. Use read_bash to continue waiting.>",
            "Command is still running in the user's terminal.\nHere's the output so far:\n\ncollected 9 items",
            "Started background process 3",
            "{\"task_id\":\"t9\",\"status\":\"running\",\"message\":\"The command is running in the background\"}",
            "[The command has no new output after 10 seconds. You may wait longer.]",
        ] {
            let run = ("Bash", json!({"command": "cargo test"}), YES, answer);
            assert_eq!(tests(&[run]), Some(Verdict::Unknown), "{answer}");
        }
        for parameters in [
            json!({"command": "cargo test", "run_in_background": true}),
            json!({"command": "cargo test", "is_background": "true"}),
            json!({"command": "cargo test", "mode": "async"}),
        ] {
            assert_eq!(tests(&[("Bash", parameters, YES, "ok")]), Some(Verdict::Unknown));
        }
    }

    #[test]
    fn a_run_that_speaks_of_the_background_has_ended_all_the_same() {
        for answer in [
            "running 2 tests\ntest runs_in_the_background ... ok\ntest result: ok. 2 passed; 0 failed",
            "Started server process 41 in the background\na\nb\nc\nd\ntest result: ok. 2 passed; 0 failed; 0 ignored",
            "the worker process is still running\na\nb\nc\nd\n3 passed",
            "Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\nserver process running in background\nok",
        ] {
            let run = ("Bash", json!({"command": "cargo test"}), YES, answer);
            assert_eq!(tests(&[run]), Some(Verdict::Passed), "{answer}");
        }
        let parameters = json!({"command": "cargo test", "run_in_background": false});
        assert_eq!(tests(&[("Bash", parameters, YES, "ok")]), Some(Verdict::Passed));
        let failed = (
            "Bash",
            json!({"command": "cargo test", "background": true}),
            Some(false),
            "1 failed",
        );
        assert_eq!(tests(&[failed]), Some(Verdict::Failed));
    }

    #[test]
    fn a_later_answer_tells_what_came_of_it() {
        let started = |answer| ("Bash", json!({"command": "cargo test"}), YES, answer);
        let claude =
            started("Command running in background with ID: b7f3a1. Output is being written to: /tmp/b7f3a1.output");
        let codex = started("Chunk ID: c\nWall time: 9 seconds\nProcess running with session ID 75259\nOutput:\n");
        let copilot = started("<command with shellId: 27 is still running after 30 seconds.>");
        let table = [
            (
                &claude,
                (
                    "TaskOutput",
                    json!({"task_id": "b7f3a1"}),
                    "<retrieval_status>success</retrieval_status>\n<task_id>b7f3a1</task_id>\n<status>failed</status>\n<exit_code>101</exit_code>\n<output>\ntest result: FAILED. 2 passed; 2 failed\n</output>",
                ),
                Verdict::Failed,
            ),
            (
                &claude,
                (
                    "TaskOutput",
                    json!({"task_id": "b7f3a1"}),
                    "<status>completed</status>\n<exit_code>0</exit_code>\n<output>\nok\n</output>",
                ),
                Verdict::Passed,
            ),
            (
                &claude,
                (
                    "TaskOutput",
                    json!({"task_id": "b7f3a1"}),
                    "<retrieval_status>timeout</retrieval_status>\n<status>running</status>\n<output>\n3 passed\n</output>",
                ),
                Verdict::Unknown,
            ),
            (
                &claude,
                (
                    "TaskOutput",
                    json!({"task_id": "other"}),
                    "<status>failed</status>\n<exit_code>1</exit_code>",
                ),
                Verdict::Unknown,
            ),
            (
                &claude,
                (
                    "KillShell",
                    json!({"shell_id": "b7f3a1"}),
                    "Successfully killed shell: b7f3a1 (cargo test)",
                ),
                Verdict::Unknown,
            ),
            (
                &claude,
                (
                    "BashOutput",
                    json!({"bash_id": "b7f3a1"}),
                    "<status>killed</status>\n<exit_code>137</exit_code>",
                ),
                Verdict::Unknown,
            ),
            (
                &codex,
                (
                    "write_stdin",
                    json!({"session_id": 75259, "chars": ""}),
                    "Chunk ID: d\nWall time: 1 seconds\nProcess exited with code 101\nOutput:\n",
                ),
                Verdict::Failed,
            ),
            (
                &codex,
                (
                    "write_stdin",
                    json!({"session_id": 75259, "chars": ""}),
                    "Chunk ID: d\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\nexit code: 3",
                ),
                Verdict::Passed,
            ),
            (
                &codex,
                (
                    "write_stdin",
                    json!({"session_id": 75259, "chars": ""}),
                    "Chunk ID: d\nWall time: 1 seconds\nProcess running with session ID 75259\nOutput:\n1 failed",
                ),
                Verdict::Unknown,
            ),
            (
                &copilot,
                (
                    "read_bash",
                    json!({"shellId": "27", "delay": 2}),
                    "1 failed\n<command with shellId: 27 completed with exit code 1>",
                ),
                Verdict::Failed,
            ),
            (
                &copilot,
                (
                    "read_bash",
                    json!({"shellId": "30", "delay": 27}),
                    "<command with shellId: 30 completed with exit code 1>",
                ),
                Verdict::Unknown,
            ),
        ];
        for (start, (tool, parameters, answer), expected) in table {
            let later = (tool, parameters, YES, answer);
            assert_eq!(tests(&[start.clone(), later]), Some(expected), "{answer}");
        }
        let poll = (
            "TaskOutput",
            json!({"task_id": "b7f3a1"}),
            YES,
            "<status>failed</status>\n<exit_code>101</exit_code>\n<output>\ntest a ... FAILED\n</output>",
        );
        let facts = facts(&[claude.clone(), poll]);
        assert_eq!(facts.errors[0].command, "cargo test");
        assert!(facts.errors[0].lines.iter().any(|line| line.contains("FAILED")));
    }

    #[test]
    fn that_what_watches_the_tests_is_left_is_no_word_on_those_it_has_shown() {
        let frame = "Chunk ID: c\nWall time: 9 seconds\nProcess running with session ID 75259\nOutput:";
        let shown = |tests: &str| format!("{frame}\n{tests}\n\nWatch Usage");
        let (broken, well) = (
            shown("Tests: 1 failed, 3 passed, 4 total"),
            shown("Tests: 4 passed, 4 total"),
        );
        let write = || ("write_stdin", json!({"session_id": 75259, "chars": "q"}));
        let start = ("exec_command", json!({"command": "npx jest --watch"}));
        let end = "Process exited with code 0\nOutput:\n";
        for (first, second, expected) in [
            (&broken, &broken, Verdict::Unknown),
            (&well, &broken, Verdict::Unknown),
            (&broken, &well, Verdict::Passed),
            (&well, &well, Verdict::Passed),
        ] {
            let calls = [
                (start.0, start.1.clone(), None, first.as_str()),
                (write().0, write().1, None, second.as_str()),
                (write().0, write().1, None, end),
            ];
            assert_eq!(tests(&calls), Some(expected), "{first} {second}");
        }
    }

    #[test]
    fn what_was_started_is_over_nothing() {
        let failed = ("Bash", json!({"command": "./deploy"}), Some(false), "no such host");
        let started = (
            "Bash",
            json!({"command": "./deploy", "run_in_background": true}),
            YES,
            "Command running in background with ID: b1",
        );
        let ended = |status: u8| {
            (
                "TaskOutput",
                json!({"task_id": "b1"}),
                YES,
                if status == 0 {
                    "<exit_code>0</exit_code>"
                } else {
                    "<exit_code>1</exit_code>"
                },
            )
        };
        let open = |calls: &[_]| facts(calls).errors.len();
        assert_eq!(open(&[failed.clone(), started.clone()]), 1);
        assert_eq!(open(&[failed.clone(), started.clone(), ended(0)]), 0);
        assert_eq!(open(&[started.clone(), ended(1)]), 1);
        assert_eq!(open(&[started, ended(0)]), 0);
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd(
            first in r"(\PC|\n|Command running in background with ID: b1|session ID 5|status|<status>|running|exit code -?[0-9]){0,12}",
            second in r"(\PC|\n|<exit_code>|</exit_code>|[0-9]|exited with code |<status>|status: |failed|:){0,12}",
        ) {
            facts(&[
                ("Bash", json!({"command": "cargo test", "background": true}), YES, &first),
                ("Poll", json!({"id": "b1", "session_id": 5}), YES, &second),
            ]);
        }
    }
}
