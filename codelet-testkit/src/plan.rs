//! A conversation as a list of small operations, which are built into messages. Property tests shrink the list, fuzzers
//! decode it from bytes.

use crate::words::Words;
use codelet_context::body::Body;
use codelet_context::message::{
    Action, ActionKind, Extra, Image, Message, Nature, Opaque, Origin, Part, ReminderKind, Role, Text, Thinking,
    ToolCall, ToolResult,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// One operation.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// A system prompt.
    System(Words),
    /// A user's prompt.
    Prompt(Words),
    /// A prompt with other parts in the same message.
    RichPrompt {
        /// A reminder before it, by index.
        reminder: Option<u8>,
        /// The prompt.
        words: Words,
        /// An image after it.
        image: bool,
    },
    /// A reminder in its own message, by index.
    Reminder(u8, Words),
    /// A text injected by a harness.
    Injected(Words),
    /// A summary of an earlier compaction.
    Summary(Words),
    /// A notice of an earlier compaction.
    Notice(Words),
    /// Assistant text.
    Say(Words),
    /// Assistant thinking followed by text.
    Think(Seal, Words),
    /// Tool calls of the assistant with their results.
    Step(Lead, Vec<Use>),
    /// A block of unknown type.
    Strange(Words),
    /// Tool calls whose results are missing, because the recording ends or continues without them.
    Unanswered(Vec<Use>),
    /// Something that no agent should record but some do.
    Fault(Fault, Use),
}

/// The way in which a thinking block is bound to its vendor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seal {
    /// Not at all.
    Open,
    /// Signed.
    Signed,
    /// Encrypted.
    Redacted,
}

/// The content before the assistant's calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lead {
    /// Nothing.
    Nothing,
    /// Text.
    Says(Words),
    /// Thinking.
    Thinks(Seal, Words),
}

/// A call and its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    /// The tool, modulo the number of tools.
    pub tool: u8,
    /// The file or command, modulo their number.
    pub target: u8,
    /// The reported status: success, failure, none.
    pub status: u8,
    /// The form of the result: a string (mostly), several blocks, an image, no block, an error beside the output.
    pub form: u8,
    /// The output.
    pub output: Words,
}

/// Faults of recordings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A result without a call.
    Orphan,
    /// A call answered twice.
    AnsweredTwice,
    /// A new call under an id used before.
    ReusedId,
    /// Two calls with the same id in one message.
    TwinCalls,
    /// A result precedes its call.
    AnswerFirst,
    /// A text separates a call from its result.
    AnswerLate,
    /// A user message without parts.
    EmptyUser,
    /// An assistant message without parts.
    EmptyAssistant,
    /// A user message of only white space.
    BlankUser,
    /// An assistant message of only white space.
    BlankAssistant,
    /// A call in a user message and a result in an assistant message.
    WrongSpeaker,
    /// A call with an empty id and an empty name.
    Nameless,
    /// A call whose id and name are too long for some vendors, and contain characters that some reject.
    OddNames,
    /// A prompt in the same message as results, before them.
    PromptBeforeAnswers,
}

impl Fault {
    /// All faults.
    pub const ALL: [Fault; 14] = [
        Fault::Orphan,
        Fault::AnsweredTwice,
        Fault::ReusedId,
        Fault::TwinCalls,
        Fault::AnswerFirst,
        Fault::AnswerLate,
        Fault::EmptyUser,
        Fault::EmptyAssistant,
        Fault::BlankUser,
        Fault::BlankAssistant,
        Fault::WrongSpeaker,
        Fault::Nameless,
        Fault::OddNames,
        Fault::PromptBeforeAnswers,
    ];
}

/// Builds the messages of a plan.
pub fn build(plan: &[Op]) -> Vec<Message> {
    let mut builder = Builder::default();
    for op in plan {
        builder.add(op);
    }
    builder.messages
}

/// Search patterns, most of them without a letter.
const PATTERNS: [&str; 8] = ["*", "", ".", "**/*", "é", "日本", "[0-9]", "*.rs"];

const REMINDERS: [ReminderKind; 4] = [
    ReminderKind::Instructions,
    ReminderKind::Environment,
    ReminderKind::GitStatus,
    ReminderKind::TokenStatus,
];
/// Few files, so that they are read repeatedly, also after an edit.
const FILES: [&str; 6] = [
    "src/lib.rs",
    "src/shelf.rs",
    "/home/ada/larder/src/shelf.rs",
    "tests/größe.py",
    "docs/a b.md",
    "Cargo.toml",
];
const COMMANDS: [&str; 8] = [
    "cargo test", "git status --short", "python3 -m pytest -q tests", "cargo build 2>&1 | tail -20",
    "ls -la src && cat src/lib.rs", "npm test -- --watch=false", "sed -i 's/a/b/' src/shelf.rs",
    "go test ./...\necho done",
];

#[derive(Default)]
struct Builder {
    messages: Vec<Message>,
    calls: usize,
}

impl Builder {
    fn add(&mut self, op: &Op) {
        match op {
            Op::System(words) => self.push(Role::System, vec![Part::text(words.text())]),
            Op::Prompt(words) => {
                self.push(Role::User, vec![Part::text(words.text())]);
                self.last().bare = words.seed.is_multiple_of(2);
            }
            Op::RichPrompt { reminder, words, image } => {
                let mut parts = Vec::new();
                parts.extend(reminder.map(|kind| said(reminder_origin(kind), *words)));
                parts.push(Part::text(words.text()));
                parts.extend(image.then(|| sent_along(*words)));
                self.push(Role::User, parts);
            }
            Op::Reminder(kind, words) => self.push(Role::User, vec![said(reminder_origin(*kind), *words)]),
            Op::Injected(words) => self.push(Role::User, vec![said(Origin::Injected, *words)]),
            Op::Summary(words) => self.push(Role::User, vec![said(Origin::Summary, *words)]),
            Op::Notice(words) => self.push(Role::User, vec![said(Origin::Notice, *words)]),
            Op::Say(words) => self.push(Role::Assistant, vec![Part::text(words.text())]),
            Op::Think(seal, words) => {
                self.push(Role::Assistant, vec![thinking(*seal, *words), Part::text(words.text())]);
            }
            Op::Step(lead, uses) => self.step(*lead, uses),
            Op::Strange(words) => self.push(Role::Assistant, vec![strange(*words), Part::text("See above.")]),
            Op::Unanswered(uses) => {
                let calls = uses.iter().map(|one| Part::ToolCall(self.call(one))).collect();
                self.push(Role::Assistant, calls);
            }
            Op::Fault(fault, one) => self.fault(*fault, one),
        }
    }

    fn step(&mut self, lead: Lead, uses: &[Use]) {
        let mut parts = match lead {
            Lead::Nothing => Vec::new(),
            Lead::Says(words) => vec![Part::text(words.text())],
            Lead::Thinks(seal, words) => vec![thinking(seal, words)],
        };
        let calls: Vec<ToolCall> = uses.iter().map(|one| self.call(one)).collect();
        let results = calls
            .iter()
            .zip(uses)
            .map(|(call, one)| Part::ToolResult(answer(&call.id, one)));
        let results: Vec<Part> = results.collect();
        parts.extend(calls.into_iter().map(Part::ToolCall));
        if !parts.is_empty() {
            self.push(Role::Assistant, parts);
        }
        if !results.is_empty() {
            self.push(Role::User, results);
        }
    }

    fn fault(&mut self, fault: Fault, one: &Use) {
        let mut call = self.call(one);
        let result = |call: &ToolCall| Part::ToolResult(answer(&call.id, one));
        let asks = |call: &ToolCall| Part::ToolCall(call.clone());
        match fault {
            Fault::Orphan => self.push(Role::User, vec![result(&call)]),
            Fault::AnsweredTwice => {
                self.push(Role::Assistant, vec![asks(&call)]);
                self.push(Role::User, vec![result(&call), result(&call)]);
                self.push(Role::User, vec![result(&call)]);
            }
            Fault::ReusedId => {
                call.id = Arc::from("call_0");
                self.push(Role::Assistant, vec![asks(&call)]);
                self.push(Role::User, vec![result(&call)]);
            }
            Fault::TwinCalls => {
                self.push(Role::Assistant, vec![asks(&call), asks(&call)]);
                self.push(Role::User, vec![result(&call)]);
            }
            Fault::AnswerFirst => {
                self.push(Role::User, vec![result(&call)]);
                self.push(Role::Assistant, vec![asks(&call)]);
            }
            Fault::AnswerLate => {
                self.push(Role::Assistant, vec![asks(&call)]);
                self.push(Role::User, vec![Part::text(one.output.text())]);
                self.push(Role::Assistant, vec![Part::text("Waiting.")]);
                self.push(Role::User, vec![result(&call)]);
            }
            Fault::EmptyUser => self.push(Role::User, Vec::new()),
            Fault::EmptyAssistant => self.push(Role::Assistant, Vec::new()),
            Fault::BlankUser => self.push(Role::User, vec![Part::text(" \n")]),
            Fault::BlankAssistant => self.push(Role::Assistant, vec![Part::text(""), thinking(Seal::Open, one.output)]),
            Fault::WrongSpeaker => {
                self.push(Role::User, vec![asks(&call)]);
                self.push(Role::Assistant, vec![result(&call)]);
            }
            Fault::Nameless => {
                let call = ToolCall::new("", "", Map::new());
                self.push(Role::Assistant, vec![asks(&call)]);
                self.push(Role::User, vec![result(&call)]);
            }
            Fault::OddNames => {
                call.id = Arc::from(format!("функция:{} {}", self.calls, "x".repeat(90)));
                call.tool = Arc::from("9.mcp server/read file — ".repeat(1 + one.output.size % 8));
                self.push(Role::Assistant, vec![asks(&call)]);
                self.push(Role::User, vec![result(&call)]);
            }
            Fault::PromptBeforeAnswers => {
                self.push(Role::Assistant, vec![asks(&call)]);
                self.push(Role::User, vec![Part::text(one.output.text()), result(&call)]);
            }
        }
    }

    fn push(&mut self, role: Role, parts: Vec<Part>) {
        self.messages.push(Message::new(role, parts));
    }

    fn last(&mut self) -> &mut Message {
        self.messages.last_mut().expect("called after a push")
    }

    /// A call with a unique id.
    fn call(&mut self, one: &Use) -> ToolCall {
        let id = match self.calls % 3 {
            0 => format!("call_{}", self.calls),
            1 => format!("toolu_01{:022}", self.calls),
            _ => format!("fc_{:x}", self.calls),
        };
        self.calls += 1;
        let file = FILES[usize::from(one.target) % FILES.len()];
        let line = COMMANDS[usize::from(one.target) % COMMANDS.len()];
        let change = ActionKind::Change;
        let (tool, parameters, action) = match one.tool % 11 {
            0 => (
                "Read",
                json!({ "file_path": file }),
                Action::on(ActionKind::Read, [file]),
            ),
            1 | 2 => ("Bash", json!({ "command": line }), Action::command(line)),
            3 => {
                let edit = json!({ "file_path": file, "old_string": "a", "new_string": one.output.seed.to_string() });
                ("Edit", edit, Action::on(change, [file]))
            }
            4 => {
                let write = json!({ "content": one.output.text(), "file_path": file });
                ("Write", write, Action::on(change, [file]))
            }
            5 => {
                let search = json!({ "pattern": "fn \\w+", "path": file, "-n": true });
                ("Grep", search, Action::on(ActionKind::Search, [file]))
            }
            6 => {
                let read = json!({ "offset": 10, "limit": 20, "file_path": file });
                ("Read", read, Action::on(ActionKind::Read, [file]))
            }
            7 => ("TodoWrite", todo(one), Action::on(ActionKind::Todo, [])),
            8 => (
                "mcp__web__fetch",
                json!({ "url": "https://a.example/x", "deep": [{ "n": 1.50 }] }),
                Action::default(),
            ),
            9 => {
                let pattern = PATTERNS[usize::from(one.target) % PATTERNS.len()];
                (
                    "Glob",
                    json!({ "pattern": pattern }),
                    Action::on(ActionKind::Search, []),
                )
            }
            _ => (
                "Bash",
                json!({ "command": "cargo test" }),
                Action::command("cargo test"),
            ),
        };
        let parameters = match parameters {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        ToolCall::new(id, tool, parameters).doing(action)
    }
}

fn todo(one: &Use) -> Value {
    let status = ["pending", "in_progress", "completed"][usize::from(one.target) % 3];
    json!({ "todos": [
        { "content": "read the shelf", "status": "completed", "activeForm": "Reading" },
        { "content": "mend the test", "status": status, "activeForm": "Mending" },
    ]})
}

fn answer(id: &Arc<str>, one: &Use) -> ToolResult {
    let success = match one.status % 4 {
        0 | 1 => Some(true),
        2 => Some(false),
        _ => None,
    };
    let mut result = ToolResult::new(Arc::clone(id), success, one.output.text());
    match one.form % 12 {
        0 => {
            result.output.push(Part::text("And then some."));
            result.bare = false;
        }
        1 => {
            result.output.push(sent_along(one.output));
            result.bare = false;
        }
        2 => {
            result.output.clear();
            result.bare = false;
        }
        3 => result.error = Some(Body::from("exit status 2")),
        4 => {
            result.output = vec![strange(one.output)];
            result.bare = false;
        }
        _ => {}
    }
    result
}

fn said(origin: Origin, words: Words) -> Part {
    Part::Text(Text::new(words.text(), origin))
}

fn reminder_origin(kind: u8) -> Origin {
    Origin::Reminder(REMINDERS[usize::from(kind) % REMINDERS.len()])
}

fn thinking(seal: Seal, words: Words) -> Part {
    let text = words.text();
    let (body, signature, redacted) = match seal {
        Seal::Open => (text, None, None),
        Seal::Signed => (text, Some(Arc::from("EqQBCkYIBxgCKkDh3w==")), None),
        Seal::Redacted => (String::new(), None, Some(Arc::from("EmwKAhgBEgy3va3pzix="))),
    };
    Part::Thinking(Thinking {
        body: Body::from(body),
        signature,
        redacted,
        is_wanted_back: matches!(seal, Seal::Open) && words.seed.is_multiple_of(2),
        extra: Extra::default(),
    })
}

/// An image or a document.
fn sent_along(words: Words) -> Part {
    if words.seed % 4 != 1 {
        return picture(words);
    }
    let data = "JVBERi0xLjcK".repeat(1 + words.size / 50);
    let source = json!({ "type": "base64", "media_type": "application/pdf", "data": data });
    let value = json!({ "type": "document", "source": source, "title": "shelf.pdf" });
    Part::Opaque(Opaque::new("document", value).that_is(Nature::File {
        name: Some(Arc::from("shelf.pdf")),
        tokens: 3_000,
    }))
}

fn picture(words: Words) -> Part {
    let is_url = words.seed.is_multiple_of(3);
    let data = match is_url {
        true => "https://a.example/shelf.png".to_owned(),
        false => "iVBORw0KGgoAAAANSUhEUg".repeat(1 + words.size / 100),
    };
    Part::Image(Image {
        media_type: Arc::from("image/png"),
        data: Body::from(data),
        is_url,
        extra: Extra::default(),
    })
}

fn strange(words: Words) -> Part {
    let value = json!({ "type": "server_tool_use", "id": "srv_1", "input": { "query": words.text() } });
    Part::Opaque(Opaque::new("server_tool_use", value))
}
