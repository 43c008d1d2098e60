//! `codelet acp`, the real program, as an editor drives it: every message that it sends fits the protocol's published schema.

mod conformance;
mod lines;
mod questions;
mod sessions;
mod turns;

use crate::common::agent::{Bench, KEY};
use crate::common::{ended, piped};
use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long a message is waited for, so that a test that hangs says where.
const PATIENCE: Duration = Duration::from_secs(30);

/// An editor with the program at the other end.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
    /// The methods of requests that are not answered yet.
    asked: BTreeMap<u64, &'static str>,
    /// Everything that came.
    heard: Vec<Value>,
}

impl Editor {
    fn start(bench: &Bench, server: &Server, args: &[&str]) -> Editor {
        let mut all = vec!["acp", "--model", "anthropic/test-model", "--base-url"];
        let base = server.base();
        all.push(&base);
        all.extend(args);
        let mut command = bench.command(&all);
        command.env("ANTHROPIC_API_KEY", KEY);
        Editor::of(command)
    }

    fn of(mut command: Command) -> Editor {
        let mut child = piped(&mut command);
        let (told, lines) = channel();
        let output = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if told.send(line.unwrap()).is_err() {
                    break;
                }
            }
        });
        Editor {
            input: child.stdin.take(),
            child,
            lines,
            next: 0,
            asked: BTreeMap::new(),
            heard: Vec::new(),
        }
    }

    /// Started, and introduced as an editor that shows all that the protocol has.
    fn introduced(bench: &Bench, server: &Server, args: &[&str]) -> Editor {
        let mut editor = Editor::start(bench, server, args);
        let session = json!({"compaction": {}, "notices": {}});
        let told = editor.ask(
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": {"session": session}}),
        );
        assert_eq!(told["result"]["protocolVersion"], 1, "{told}");
        editor
    }

    fn write(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn send(&mut self, method: &'static str, params: Value) -> u64 {
        self.next += 1;
        self.asked.insert(self.next, method);
        let message = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.write(&message.to_string());
        self.next
    }

    fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(&message.to_string());
    }

    fn answer(&mut self, request: &Value, result: Value) {
        let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.write(&message.to_string());
    }

    /// The next message, which is one.
    fn hear(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a message");
        assert!(!line.contains(KEY));
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"));
        self.check(&message);
        self.heard.push(message.clone());
        message
    }

    fn check(&mut self, message: &Value) {
        let is_answer = message.get("method").is_none();
        let id = message["id"].as_u64().filter(|_| is_answer);
        let method = id.and_then(|id| self.asked.remove(&id));
        conformance::check(message, method).unwrap_or_else(|why| panic!("{why}"));
    }

    /// Waits for the first message of this kind.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.hear();
            if is_it(&message) {
                return message;
            }
        }
    }

    fn answered(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    fn ask(&mut self, method: &'static str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answered(id)
    }

    /// A new session, of which the commands are known; its id.
    fn open(&mut self, bench: &Bench) -> String {
        let told = self.ask("session/new", json!({"cwd": bench.work, "mcpServers": []}));
        let id = told["result"]["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("{told}"))
            .to_owned();
        self.until(|message| is_update(message, "available_commands_update"));
        id
    }

    fn say(&mut self, session: &str, text: &str) -> u64 {
        self.send("session/prompt", prompt(session, text))
    }

    /// Says something, and waits for its end; the reason.
    fn said(&mut self, session: &str, text: &str) -> String {
        let id = self.say(session, text);
        reason(&self.answered(id))
    }

    /// All updates of a kind.
    fn updates(&self, kind: &str) -> Vec<&Value> {
        let updates = self.heard.iter().filter(|message| is_update(message, kind));
        updates.map(|message| &message["params"]["update"]).collect()
    }

    /// The texts of all updates of a kind, one after the other.
    fn texts(&self, kind: &str) -> String {
        let updates = self.updates(kind).into_iter();
        updates
            .filter_map(|update| update["content"]["text"].as_str())
            .collect()
    }

    /// Closes the pipe and waits until the program has ended well, with nothing on standard error.
    fn leave(mut self) {
        drop(self.input.take());
        let began = Instant::now();
        let output = self.child.wait_with_output().unwrap();
        assert!(began.elapsed() < PATIENCE);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        ended(&output, 0);
    }
}

fn is_update(message: &Value, kind: &str) -> bool {
    message["params"]["update"]["sessionUpdate"] == kind
}

fn is_question(message: &Value) -> bool {
    message["method"] == "session/request_permission"
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

fn reason(answer: &Value) -> String {
    answer["result"]["stopReason"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}"))
}

fn selected(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}
