//! What a call says, as text that is cut into lines.

use crate::command::entered;
use crate::message::{Action, ActionKind, ToolCall};
use crate::replaced;
use serde_json::Value;
use std::ops::Range;

/// The parameters of a call as text.
pub(super) struct Arguments<'a> {
    action: &'a Action,
    pub text: String,
    /// The first line is the file that is read or changed.
    pub subject: bool,
    /// The parts of the text that the call takes away from a file.
    pub removed: Vec<Range<usize>>,
    /// The parts that say what the call is for, beside what it does.
    pub reasons: Vec<Range<usize>>,
}

/// Parameters in which models say, for whoever lets them work, what a call is for. Beside a file or a command they say little.
const REASONS: [&str; 8] = [
    "description",
    "explanation",
    "instruction",
    "justification",
    "purpose",
    "reason",
    "security_risk",
    "thought",
];

impl<'a> Arguments<'a> {
    /// The strings of a call's parameters, one after the other; the file that it is about comes first.
    pub fn of(call: &'a ToolCall) -> Self {
        let subject = match call.action.kind {
            ActionKind::Read | ActionKind::Change => call.action.paths.first().map(|path| &**path),
            _ => None,
        };
        let mut arguments = Arguments {
            action: &call.action,
            text: String::from(subject.unwrap_or_default()),
            subject: subject.is_some(),
            removed: Vec::new(),
            reasons: Vec::new(),
        };
        for (key, value) in call.parameters.as_map() {
            if value.as_str().is_none_or(|string| Some(string) != subject) {
                arguments.leaf(key, value, 0);
            }
        }
        arguments
    }

    fn leaf(&mut self, key: &str, value: &Value, depth: usize) {
        if let Some(line) = value.as_array().and_then(|words| self.line_of(words)) {
            return self.push(key, line);
        }
        match value {
            Value::String(string) if self.is_switch(string) => {}
            Value::String(string) => self.push(key, string),
            Value::Number(number) => self.push(key, &number.to_string()),
            Value::Array(items) if depth < 64 => items.iter().for_each(|item| self.leaf(key, item, depth + 1)),
            Value::Object(map) if depth < 64 => map.iter().for_each(|(key, item)| self.leaf(key, item, depth + 1)),
            _ => {}
        }
    }

    /// The command line that is given as these words: `["bash", "-lc", "make all"]`, `["make", "all"]`.
    fn line_of(&self, words: &[Value]) -> Option<&'a str> {
        let command = self.action.command.as_deref()?;
        let last = words.last()?.as_str()?;
        let is_bare = |c: &char| !matches!(c, ' ' | '\'');
        let is_given = |line: &str| {
            let given = words.iter().filter_map(Value::as_str).flat_map(str::chars);
            line == last || given.filter(is_bare).eq(line.chars().filter(is_bare))
        };
        // The folder may be another parameter.
        let own = entered(command).map(|(_, rest)| rest);
        own.into_iter().chain([command]).find(|line| is_given(line))
    }

    /// Whether it only turns something on or off beside a command. As a value of its own kind it is no text either.
    fn is_switch(&self, string: &str) -> bool {
        let command = self.action.command.as_deref();
        self.action.kind == ActionKind::Command && matches!(string, "true" | "false") && command != Some(string)
    }

    fn push(&mut self, key: &str, string: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let start = self.text.len();
        self.text.push_str(string);
        if (self.subject || self.action.command.is_some()) && REASONS.contains(&key) {
            self.reasons.push(start..self.text.len());
        }
        if self.action.kind != ActionKind::Change {
            return;
        }
        if self.action.replaced.iter().any(|name| name == key) {
            self.removed.push(start..self.text.len());
        } else {
            let parts = replaced::searched(string).into_iter();
            self.removed
                .extend(parts.map(|part| start + part.start..start + part.end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_switch_beside_a_command_is_no_line_of_the_call() {
        let text = |action: Action, parameters: Value| {
            let parameters = parameters.as_object().cloned().unwrap_or_default();
            Arguments::of(&ToolCall::new("a", "t", parameters).doing(action)).text
        };
        let run = |line: &str| Action::command(line);
        assert_eq!(text(run("ls"), json!({"command": "ls", "is_background": "true"})), "ls");
        assert_eq!(text(run("true"), json!({"command": "true"})), "true");
        let waits = Action {
            kind: ActionKind::Command,
            ..Action::default()
        };
        assert_eq!(text(waits, json!({"command": "", "is_input": "true"})), "");
        let change = Action::on(ActionKind::Change, ["a.json"]);
        assert_eq!(text(change, json!({"path": "a.json", "new": "true"})), "a.json\ntrue");
    }
}
