//! How a command stands, by what a harness says around what it has printed.

use super::{ABOVE, BELOW, LONGEST};
use crate::message::ToolResult;
use crate::verdict;

/// Lines of an answer that holds nothing but such words.
const FEW: usize = 3;

/// Whether an answer says so where a harness does.
pub(super) fn says_it_runs_on(result: &ToolResult) -> bool {
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
pub(super) fn says_it_runs(line: &str) -> bool {
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
        "you may wait longer",
    ];
    if line.len() > LONGEST {
        return false;
    }
    let line = line.to_ascii_lowercase();
    // One of these stands in each of the words, and in few lines.
    if !["running", "background", "no new", "wait longer"]
        .iter()
        .any(|one| line.contains(one))
    {
        return false;
    }
    RUNS.iter().any(|runs| line.contains(runs)) && WHO.iter().any(|who| line.contains(who))
}

/// How a command stands, as the frame around what it has printed says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stand {
    Runs,
    /// It has ended by itself, well or not.
    Ended(bool),
    /// It was ended, or nothing says how it did.
    Stopped,
}

/// What an answer says of it.
pub(super) fn stand(result: &ToolResult) -> Option<Stand> {
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
