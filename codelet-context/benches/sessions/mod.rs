//! Synthetic sessions of any length, the same in every run, which read, search, edit and run like real ones.

use codelet_context::history::History;
use codelet_context::message::{Action, ActionKind, Message, Part, Role, ToolCall, ToolResult};
use std::path::PathBuf;

/// A small deterministic number generator.
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

const WORDS: [&str; 16] = [
    "parse", "token", "index", "config", "render", "stream", "handle", "cache", "request", "line", "user", "session",
    "worker", "error", "state", "buffer",
];

fn name(numbers: &mut Numbers) -> String {
    let mut word = || WORDS[numbers.below(16) as usize];
    let (a, b) = (word(), word());
    format!("{a}_{b}_{}", numbers.below(400))
}

fn code(numbers: &mut Numbers) -> String {
    let (a, b, c) = (name(numbers), name(numbers), name(numbers));
    match numbers.below(5) {
        0 => format!("    let {a} = {b}({c}, {});\n", numbers.below(5_000)),
        1 => format!("    if {a}.is_empty() {{\n        return Err({b}::new(\"{c} failed\"));\n    }}\n"),
        2 => format!("// The {a} is kept until the next {b} asks for it.\n"),
        3 => format!("fn {a}(input: &str) -> Result<{b}, Error> {{\n"),
        _ => "    }\n\n".to_owned(),
    }
}

/// The messages of a step: a call and its result of about `bytes` bytes together, after a prompt every 40 steps.
pub fn step(numbers: &mut Numbers, number: u64, bytes: usize) -> Vec<Message> {
    let mut messages = Vec::new();
    if number.is_multiple_of(40) {
        let subject = name(numbers);
        messages.push(Message::user(
            format!("Please make the tests of {subject} pass and say what you changed.").as_str(),
        ));
    }
    let file = format!(
        "src/{}/part_{}.rs",
        WORDS[numbers.below(16) as usize],
        numbers.below(120)
    );
    let text = |numbers: &mut Numbers, bytes: usize| {
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(&code(numbers));
        }
        text
    };
    let (tool, action, parameters, output) = match numbers.below(4) {
        0 => {
            let action = Action::on(ActionKind::Read, [file.as_str()]);
            ("Read", action, vec![("file_path", file.clone())], text(numbers, bytes))
        }
        1 => {
            let pattern = name(numbers);
            let action = Action::on(ActionKind::Search, [file.as_str()]);
            ("Grep", action, vec![("pattern", pattern)], text(numbers, bytes / 2))
        }
        2 => {
            let (old, new) = (text(numbers, bytes / 4), text(numbers, bytes / 2));
            let action = Action::on(ActionKind::Change, [file.as_str()]);
            let parameters = vec![("file_path", file.clone()), ("old_string", old), ("new_string", new)];
            ("Edit", action, parameters, format!("The file {file} has been updated."))
        }
        _ => {
            let command = format!("cargo test --lib {}", name(numbers));
            let action = Action::command(&command);
            ("Bash", action, vec![("command", command)], text(numbers, bytes / 2))
        }
    };
    let parameters = parameters
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect();
    let id = format!("toolu_{number:06}");
    messages.push(Message::new(
        Role::Assistant,
        vec![
            Part::text(format!("Next I look at {}.", name(numbers)).as_str()),
            Part::ToolCall(ToolCall::new(&*id, tool, parameters).doing(action)),
        ],
    ));
    messages.push(Message::results(vec![ToolResult::new(&*id, Some(true), output)]));
    messages
}

/// A session of at least this many tokens.
#[allow(dead_code)]
pub fn of_tokens(tokens: u64) -> History {
    let mut numbers = Numbers(7);
    let mut history = History::new();
    let mut sum = 0;
    let mut number = 0;
    while sum < tokens {
        let bytes = 400 + (numbers.below(70) * numbers.below(120)) as usize;
        for message in step(&mut numbers, number, bytes) {
            history.append(message);
            sum += history.estimates().last().copied().unwrap_or_default();
        }
        number += 1;
    }
    history
}

/// A session of this many small messages.
#[allow(dead_code)]
pub fn of_messages(messages: usize) -> History {
    let mut numbers = Numbers(11);
    let mut history = History::new();
    let mut number = 0;
    while history.messages().len() < messages {
        step(&mut numbers, number, 2_000)
            .into_iter()
            .for_each(|message| history.append(message));
        number += 1;
    }
    history
}

/// A prompt and steps that each read 20,000 bytes of this workspace's sources, all different: the workload of
/// `cargo xtask bench-agent`.
#[allow(dead_code)]
pub fn of_files(steps: usize) -> Vec<Message> {
    const BYTES: usize = 20_000;
    let mut messages = vec![Message::user("Read all files.")];
    let source = sources();
    let mut names = String::from("_");
    while messages.len() <= steps * 2 {
        let mut text = String::new();
        for line in source.split_inclusive('\n') {
            text.push_str(&line.replace('_', &names));
            if text.len() >= BYTES && messages.len() <= steps * 2 {
                messages.extend(reading(messages.len() / 2, &std::mem::take(&mut text)));
            }
        }
        names.push_str("of_");
    }
    messages
}

fn reading(number: usize, text: &str) -> [Message; 2] {
    let (id, file) = (format!("toolu_{number:06}"), format!("file_{number}.rs"));
    let lines: String = (1..)
        .zip(text.lines())
        .map(|(number, line)| format!("{number:>6}\t{line}\n"))
        .collect();
    let parameters = [("file_path".to_owned(), file.as_str().into())].into_iter().collect();
    let call = ToolCall::new(&*id, "Read", parameters).doing(Action::on(ActionKind::Read, [file.as_str()]));
    [
        Message::new(Role::Assistant, vec![Part::ToolCall(call)]),
        Message::results(vec![ToolResult::new(&*id, Some(true), lines)]),
    ]
}

/// The sources of this workspace, concatenated in the order of their names.
fn sources() -> String {
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() && name != "target" && name != ".git" {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files.iter().flat_map(std::fs::read_to_string).collect()
}
