//! Commands that run on behind the answers to their calls, and the later answers that tell what came of them.
//!
//! That a command was started is no word on how it went, whatever status comes with it. Harnesses say that it runs on in the
//! first or last lines of an answer, each in its own words, with a name for it; whoever asks for it later names it. Others let
//! their tool for commands be called once more, without a command: that is about what it has started last.

use crate::answer::was_refused;
use crate::command::{Command, CommandLine, Script, is_key};
use crate::failing::printed;
use crate::message::{ActionKind, ToolCall, ToolResult};
use crate::path::{is_absolute, plain};
use crate::verdict;
use crate::word_list::is_in;
use serde_json::Value;
pub(crate) use session::Session;
use stand::{Stand, says_it_runs, says_it_runs_on, stand};

mod session;
mod stand;

/// Commands that are remembered, and names of each.
const MOST: usize = 64;
const NAMES: usize = 8;
/// Lines of an answer, from its beginning and to its end, in which a harness says how the run stands.
const ABOVE: usize = 8;
const BELOW: usize = 3;
/// Longer lines say nothing of it.
const LONGEST: usize = 400;

/// Commands that were started and are not known to have ended, newest last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Vec<Started>);

#[derive(Clone, Debug)]
struct Started {
    /// Where it was started.
    session: Session,
    line: CommandLine,
    /// What it is called in its answer, and was in its call.
    names: Vec<Box<str>>,
    /// The tests that it has shown last had failures among them.
    has_failed: bool,
    /// The file that it writes what it prints to, as its answer says.
    output: Option<Box<str>>,
    /// What that file holds was told, and is not told again where files were changed since.
    is_told: bool,
}

/// What a later answer tells of a command.
#[derive(Clone, Debug)]
pub(crate) struct Later {
    /// The command line that was started.
    pub line: CommandLine,
    /// Where it was started.
    pub session: Session,
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
                session: Session::of(call),
                line: line.clone(),
                names,
                has_failed: verdict::closes_with_failures(result),
                output: output(result),
                is_told: false,
            });
        }
        true
    }

    /// What this answer tells of a command that was started before, where its call asks for one and it has ended.
    pub fn ended(&mut self, call: &ToolCall, result: &ToolResult) -> Option<Later> {
        if self.0.is_empty() {
            return None;
        }
        if !call.action.changed().is_empty() {
            self.0.retain(|started| !started.is_told);
        }
        if was_refused(result) {
            return None;
        }
        if let Some(later) = self.shown(call, result) {
            return Some(later);
        }
        let at = self.meant(call)?;
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
        let is_broken_off = sends_key(call);
        let is_whole = shows_tests && (self.0[at].has_failed || !says_broken_off(result));
        if is_broken_off && end != Some(Stand::Ended(true)) && !is_whole {
            self.0.remove(at);
            return None;
        }
        let result = ToolResult {
            success: match end {
                // Who has broken it off knows that it did not end by itself.
                Some(Stand::Ended(false)) if is_broken_off => None,
                // What watches the tests goes well when it is left, whatever it has shown.
                Some(Stand::Ended(true)) if self.0[at].has_failed && !shows_tests => None,
                Some(Stand::Ended(success)) => Some(success),
                _ => None,
            },
            ..result.clone()
        };
        // Where nothing says that it has ended, how tests close may.
        let Started { line, session, .. } = match end {
            Some(_) => self.0.remove(at),
            None if shows_tests => self.0[at].clone(),
            None => return None,
        };
        Some(Later { line, session, result })
    }

    /// Which of those that were started a call is about.
    fn meant(&self, call: &ToolCall) -> Option<usize> {
        if call.action.kind == ActionKind::Command {
            let is_named = call
                .parameters
                .as_map()
                .iter()
                .any(|(name, value)| is_name_of_run(name) && name_in(value).is_some());
            if call.action.command.is_some() {
                return None;
            }
            if !is_named {
                return self.0.iter().rposition(|started| started.session.tool == call.tool);
            }
        }
        let is_it = |started: &Started| started.names.iter().any(|name| asks_for(call, name));
        self.0.iter().rposition(is_it)
    }
}

impl Running {
    /// What a look at the file that a command writes to shows of it, where that closes as runs of tests do.
    fn shown(&mut self, call: &ToolCall, result: &ToolResult) -> Option<Later> {
        let looks_at = |output: &str| match call.action.kind {
            ActionKind::Read => call.action.paths.iter().any(|path| plain(path) == plain(output)),
            ActionKind::Command => call.action.command.as_ref().is_some_and(|line| {
                line.said().checks.is_empty() && shows(line, output) && call.action.changed().is_empty()
            }),
            _ => false,
        };
        let is_it = |started: &Started| started.output.as_ref().is_some_and(|output| looks_at(output));
        if result.success == Some(false) {
            return None;
        }
        let at = self.0.iter().rposition(is_it)?;
        let texts: Vec<String> = result
            .texts()
            .map(|text| unnumbered(&printed(text.body.as_str())))
            .collect();
        let shown = ToolResult::new(&*result.call_id, None, texts.join("\n"));
        if !verdict::closes_as_tests_do(&shown) {
            return None;
        }
        self.0[at].is_told = true;
        Some(Later {
            line: self.0[at].line.clone(),
            session: self.0[at].session.clone(),
            result: shown,
        })
    }
}

/// Whether a command line shows the end of a file as it stands there, perhaps after waiting for it.
fn shows(line: &str, file: &str) -> bool {
    const SHOWING: &str = "cat tail less more bat sleep echo";
    let script = Script::read(line);
    let shown = |command: &Command| {
        is_in(&command.name(), "cat tail less more bat")
            && command.words().iter().any(|word| plain(word) == plain(file))
    };
    script.commands.iter().any(shown) && script.commands.iter().all(|command| is_in(&command.name(), SHOWING))
}

/// The file that an answer says to hold what a command prints.
fn output(result: &ToolResult) -> Option<Box<str>> {
    const SAYING: &[&str] = &["output", "log", "written to", "redirected to"];
    let text = result.texts().next()?.body.as_str();
    let lines = text.lines().take(ABOVE).filter(|line| line.len() <= LONGEST);
    let mut told = lines.filter(|line| {
        let line = line.to_ascii_lowercase();
        SAYING.iter().any(|say| line.contains(say))
    });
    told.find_map(|line| {
        let mut words = line.split(|c: char| c.is_whitespace() || "\"'`<>()".contains(c));
        let file = words.find(|word| is_absolute(word) && word.len() > 3)?;
        Some(file.trim_end_matches(['.', ',', ';', ':']).into())
    })
}

/// A text without the numbers that a reading tool puts before its lines.
fn unnumbered(text: &str) -> String {
    let bare = |line: &str| -> Option<String> {
        let rest = line.trim_start();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0)?;
        let behind = rest[digits..].strip_prefix(['\t', '→', '|', ':'])?;
        Some(behind.to_owned())
    };
    let lines: Option<Vec<String>> = text.lines().filter(|line| !line.is_empty()).map(bare).collect();
    lines.map_or_else(|| text.to_owned(), |lines| lines.join("\n"))
}

/// Whether a command runs on behind the answer to its call.
fn runs_on(call: &ToolCall, result: &ToolResult) -> bool {
    if result.success == Some(false) || call.action.kind != ActionKind::Command {
        return false;
    }
    // How it stands is asked last: hardly any answer says that its command runs on, and each would be read for it.
    (is_sent_away(call) || says_it_runs_on(result)) && !matches!(stand(result), Some(Stand::Ended(_) | Stand::Stopped))
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

/// Whether a call sends a key that ends what runs, or its input, or puts it aside.
fn sends_key(call: &ToolCall) -> bool {
    let mut values = call.parameters.as_map().values().filter_map(Value::as_str);
    values.any(is_key)
}

/// Whether a run says that it was broken off: what has passed till then is not all.
fn says_broken_off(result: &ToolResult) -> bool {
    result
        .texts()
        .any(|text| text.body.as_str().contains("KeyboardInterrupt"))
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
mod tests;
