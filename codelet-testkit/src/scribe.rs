//! Records an agent's session on a project: each tool call really reads or changes it.

use crate::project::Project;
use codelet_context::body::Body;
use codelet_context::message::{
    Action, ActionKind, Extra, Message, Origin, Part, ReminderKind, Role, Thinking, ToolCall, ToolResult,
};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// A session being recorded.
#[derive(Debug, Default)]
pub struct Scribe {
    /// The messages so far.
    pub messages: Vec<Message>,
    /// The current project.
    pub project: Project,
    calls: usize,
    lead: Vec<Part>,
    together: Option<Vec<(ToolCall, ToolResult)>>,
}

impl Scribe {
    /// A new session on a project.
    pub fn new(project: Project) -> Self {
        Scribe {
            project,
            ..Scribe::default()
        }
    }

    /// Adds the system prompt.
    pub fn system(&mut self, text: &str) {
        self.messages.push(Message::system(text));
    }

    /// Adds a user prompt, with an optional reminder before it.
    pub fn prompt(&mut self, reminder: Option<(ReminderKind, &str)>, text: &str) {
        let reminder = reminder.map(|(kind, text)| Part::text_from(Origin::Reminder(kind), text));
        let parts = reminder.into_iter().chain([Part::text(text)]).collect();
        self.messages.push(Message::new(Role::User, parts));
    }

    /// Ends the assistant's turn.
    pub fn answer(&mut self, text: &str) {
        let mut parts = std::mem::take(&mut self.lead);
        parts.push(Part::text(text));
        self.messages.push(Message::new(Role::Assistant, parts));
    }

    /// Adds text before the assistant's next call.
    pub fn say(&mut self, text: &str) {
        self.lead.push(Part::text(text));
    }

    /// Adds thinking before the assistant's next call.
    pub fn think(&mut self, text: &str) {
        self.lead.push(Part::Thinking(Thinking {
            body: Body::from(text),
            signature: Some(Arc::from(
                format!("ErUBCkYIBhgCIkD{:08x}testkit==", self.calls).as_str(),
            )),
            redacted: None,
            is_wanted_back: false,
            extra: Extra::default(),
        }));
    }

    /// Puts several calls into one message.
    pub fn together(&mut self, calls: impl FnOnce(&mut Scribe)) {
        self.together = Some(Vec::new());
        calls(self);
        let pairs = self.together.take().unwrap_or_default();
        self.push(pairs);
    }

    /// Reads a whole file.
    pub fn read(&mut self, path: &str) {
        let output = self.project.numbered(path, 1, usize::MAX - 1);
        self.step(
            "Read",
            json!({ "file_path": path }),
            Action::on(ActionKind::Read, [path]),
            true,
            output,
        );
    }

    /// Reads some lines of a file.
    pub fn read_lines(&mut self, path: &str, from: usize, to: usize) {
        let output = self.project.numbered(path, from, to);
        let parameters = json!({ "file_path": path, "offset": from, "limit": to + 1 - from });
        self.step("Read", parameters, Action::on(ActionKind::Read, [path]), true, output);
    }

    /// Searches for a word.
    pub fn grep(&mut self, word: &str) {
        let output = self.project.grep(word);
        let parameters = json!({ "pattern": word, "path": "src", "output_mode": "content" });
        self.step(
            "Grep",
            parameters,
            Action::on(ActionKind::Search, ["src"]),
            true,
            output,
        );
    }

    /// Edits a file; fails like the tool if the text is not there.
    pub fn edit(&mut self, path: &str, old: &str, new: &str) {
        let done = self.project.edit(path, old, new);
        let output = match done {
            true => format!("The file {path} has been updated."),
            false => format!("String to replace not found in {path}."),
        };
        let parameters = json!({ "file_path": path, "old_string": old, "new_string": new });
        let action = Action::on(ActionKind::Change, [path]);
        self.step("Edit", parameters, action, done, output);
    }

    /// Writes a file.
    pub fn write(&mut self, path: &str, text: &str) {
        self.project.put(path, text.to_owned());
        let output = format!("File created successfully at: {path}");
        let parameters = json!({ "file_path": path, "content": text });
        self.step(
            "Write",
            parameters,
            Action::on(ActionKind::Change, [path]),
            true,
            output,
        );
    }

    /// Runs a command.
    pub fn run(&mut self, command: &str, success: bool, output: impl Into<String>) {
        let action = Action::command(command);
        self.step("Bash", json!({ "command": command }), action, success, output.into());
    }

    /// Runs the tests whose names contain `filter`; those in `failing` fail with their message.
    pub fn test(&mut self, command: &str, filter: &str, failing: &[(&str, &str)]) {
        let output = run_tests(&self.project, filter, failing);
        self.run(command, failing.is_empty(), output);
    }

    /// Sets the to-do list: `x` done, `>` in progress, anything else open.
    pub fn todo(&mut self, items: &[(char, &str)]) {
        let status = |mark| match mark {
            'x' => "completed",
            '>' => "in_progress",
            _ => "pending",
        };
        let items = items
            .iter()
            .map(|(mark, text)| json!({ "content": text, "status": status(*mark) }));
        let parameters = json!({ "todos": items.collect::<Vec<_>>() });
        let output = "Todos have been modified successfully.".to_owned();
        self.step("TodoWrite", parameters, Action::on(ActionKind::Todo, []), true, output);
    }

    fn step(&mut self, tool: &str, parameters: Value, action: Action, success: bool, output: String) {
        let map = match parameters {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        self.calls += 1;
        let id = format!("toolu_{:04}", self.calls);
        let call = ToolCall::new(id.as_str(), tool, map).doing(action);
        let output = if output.is_empty() {
            "(no output)".to_owned()
        } else {
            output
        };
        let result = ToolResult::new(id.as_str(), Some(success), output);
        match &mut self.together {
            Some(pairs) => pairs.push((call, result)),
            None => self.push(vec![(call, result)]),
        }
    }

    fn push(&mut self, pairs: Vec<(ToolCall, ToolResult)>) {
        let (calls, results): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let mut parts = std::mem::take(&mut self.lead);
        parts.extend(calls.into_iter().map(Part::ToolCall));
        self.messages.push(Message::new(Role::Assistant, parts));
        self.messages.push(Message::results(results));
    }
}

/// The output of `cargo test`.
fn run_tests(project: &Project, filter: &str, failing: &[(&str, &str)]) -> String {
    let tests: Vec<String> = project
        .tests()
        .into_iter()
        .filter(|name| name.contains(filter))
        .collect();
    let mut text = String::from(
        "   Compiling larder v0.3.0 (/home/ada/larder)\n    Finished `test` profile [unoptimized + debuginfo] target(s) in 1.92s\n     Running unittests src/lib.rs (target/debug/deps/larder-5d1c2f0e9a7b3846)\n\n",
    );
    // Writing to a string cannot fail.
    let _ = writeln!(text, "running {} tests", tests.len());
    for test in &tests {
        let fails = failing.iter().any(|(name, _)| test.ends_with(name));
        let _ = writeln!(text, "test {test} ... {}", if fails { "FAILED" } else { "ok" });
    }
    if !failing.is_empty() {
        text.push_str("\nfailures:\n");
        for (name, why) in failing {
            let _ = writeln!(text, "\n---- {name} stdout ----\n{why}");
        }
        text.push_str("note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\nfailures:\n");
        for (name, _) in failing {
            let _ = writeln!(text, "    {name}");
        }
    }
    let failed = failing.len();
    let _ = writeln!(
        text,
        "\ntest result: {}. {} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.04s",
        if failed == 0 { "ok" } else { "FAILED" },
        tests.len().saturating_sub(failed),
    );
    text
}
