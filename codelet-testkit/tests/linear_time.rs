//! Hostile inputs take time proportional to their size: one long line, nesting, very many tiny pieces.
#![allow(clippy::unwrap_used)]

use codelet_context::compact::{Target, compact};
use codelet_context::history::History;
use codelet_context::message::{
    Action, ActionKind, Extra, Message, Origin, Part, Role, Thinking, ToolCall, ToolResult,
};
use codelet_context::strategy::apply_all;
use codelet_context::view::View;
use codelet_testkit::Stopwatch;
use codelet_transcript::{Document, Format, read, shape, write};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A quadratic algorithm takes longer at these sizes, usually minutes; a linear one takes less than a second in a test
/// build on a slow machine.
const LONGEST: Duration = Duration::from_secs(4);
/// The same for reading a small file, which takes some milliseconds.
const LONGEST_FILE: Duration = Duration::from_millis(500);

/// Runs a conversation through the engine, and fails if that takes too long.
#[track_caller]
fn is_done_in_time(what: &str, messages: &[Message]) {
    let mut steps = Vec::new();
    let mut watch = Stopwatch::begin();
    let mut done = |step: &'static str| {
        let last = std::mem::replace(&mut watch, Stopwatch::begin());
        steps.push((step, last.elapsed()));
    };
    let history: History = messages.iter().cloned().collect();
    done("append");
    for (step, target) in [
        ("select", Target::Select),
        ("budget 20,000", Target::Budget(20_000)),
        ("budget 0", Target::Budget(0)),
    ] {
        compact(&history, target);
        done(step);
    }
    let mut view = View::new(messages.to_vec());
    apply_all(&mut view);
    done("strategies");
    let _ = shape::write(messages);
    done("shape");
    assert!(steps.iter().all(|(_, took)| *took < LONGEST), "{what}: {steps:?}");
}

fn call(id: &str, tool: &str, parameters: Value) -> ToolCall {
    let parameters = match parameters {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    ToolCall::new(id, tool, parameters)
}

fn calls(calls: Vec<ToolCall>) -> Message {
    Message::new(Role::Assistant, calls.into_iter().map(Part::ToolCall).collect())
}

fn answered(call: ToolCall, output: &str) -> [Message; 2] {
    let id = call.id.clone();
    [
        calls(vec![call]),
        Message::results(vec![ToolResult::new(id, Some(true), output)]),
    ]
}

/// Bytes of a long text.
const LONG: usize = 256 << 10;

#[test]
fn one_line_that_is_long() {
    for (what, line) in [
        ("letters", "x".repeat(LONG)),
        ("blanks", " ".repeat(LONG)),
        ("words", "word ".repeat(LONG / 5)),
        ("commas", ",".repeat(LONG)),
        ("slashes", "/".repeat(LONG)),
        ("a path", "a/".repeat(LONG / 2)),
        ("names", (0..LONG / 8).map(|n| format!("n_{n} ")).collect()),
        ("digits", "1".repeat(LONG)),
        ("returns", "\r".repeat(LONG)),
        ("progress", "\r 12% done".repeat(LONG / 10)),
        ("escapes", "\x1b[".repeat(LONG / 2)),
        ("titles", "\x1b]0;".repeat(LONG / 4)),
        ("brackets", "[".repeat(LONG)),
        ("quotes", "\"'`".repeat(LONG / 3)),
        ("dots", ".".repeat(LONG)),
        ("dashes", "-".repeat(LONG)),
        ("substitutions", "$(".repeat(LONG / 2)),
        ("pipes", "cat a | ".repeat(LONG / 8)),
        ("ands", "cargo test && ".repeat(LONG / 14)),
        ("here documents", "cat <<A ".repeat(LONG / 8)),
        ("braces", "{a,b}".repeat(LONG / 5)),
        ("wide letters", "ß→🦀".repeat(LONG / 9)),
        ("passed", "test passed 1 failed ".repeat(LONG / 21)),
    ] {
        let mut messages = vec![Message::user("look at this"), Message::user(line.as_str())];
        messages.extend(answered(
            call("a", "Bash", json!({ "command": line })).doing(Action::command(line.as_str())),
            &line,
        ));
        let read = Action::on(ActionKind::Read, [line.as_str()]);
        messages.extend(answered(
            call("b", "Read", json!({ "file_path": line })).doing(read),
            &line,
        ));
        messages.push(Message::new(Role::Assistant, vec![Part::text(line.as_str())]));
        messages.push(Message::user("and now?"));
        is_done_in_time(what, &messages);
    }
}

#[test]
fn one_line_that_answers_a_change() {
    let line = "word ".repeat(8 * LONG);
    let edit = Action::on(ActionKind::Change, ["a.rs"]);
    let edit = call("a", "Edit", json!({ "file_path": "a.rs", "new_string": "y" })).doing(edit);
    let mut messages = vec![Message::user("Mend it.")];
    messages.extend(answered(edit, &line));
    messages.push(Message::user("and now?"));
    is_done_in_time("an answer", &messages);
}

#[test]
fn very_many_short_lines() {
    for (what, line) in [
        ("line breaks", "\n"),
        ("letters", "a\n"),
        ("passes", "test a ... ok\n"),
        ("begun", "   Compiling a v1.0.0\n"),
        ("failures", "error[E0001]: no\n  --> a.rs:1:1\n"),
        ("returns", "\r\n"),
        ("numbered", "  12\t\n"),
        ("prompts", "$ cargo test\n"),
        ("here documents", "cat <<A\n"),
        ("boxes", "- [ ] open\n"),
        ("fences", "```\n"),
        ("headers", "[x]\n"),
        ("diffs", "-a\n+b\n"),
    ] {
        let text = line.repeat(LONG / line.len());
        let mut messages = vec![Message::user("look at this"), Message::user(text.as_str())];
        messages.extend(answered(
            call("a", "Bash", json!({ "command": text })).doing(Action::command(text.as_str())),
            &text,
        ));
        messages.extend(answered(
            call("b", "Bash", json!({ "command": "cargo test" })).doing(Action::command("cargo test")),
            &text,
        ));
        messages.push(Message::new(Role::Assistant, vec![Part::text(text.as_str())]));
        messages.push(Message::user("and now?"));
        is_done_in_time(what, &messages);
    }
}

#[test]
fn very_many_tiny_messages() {
    const MANY: usize = 30_000;
    let prompts: Vec<Message> = (0..MANY).map(|n| Message::user(format!("p{n}"))).collect();
    is_done_in_time("prompts", &prompts);
    let talk = |n: usize| match n % 2 {
        0 => Message::user("a"),
        _ => Message::new(Role::Assistant, vec![Part::text("b")]),
    };
    is_done_in_time("turns", &(0..MANY).map(talk).collect::<Vec<_>>());
    let reads = |n: usize| {
        let read = Action::on(ActionKind::Read, ["a.rs"]);
        answered(
            call(&format!("c{n}"), "Read", json!({ "file_path": "a.rs" })).doing(read),
            "x",
        )
    };
    let steps = |step: &dyn Fn(usize) -> [Message; 2]| {
        let mut messages = vec![Message::user("go")];
        messages.extend((0..MANY / 2).flat_map(step));
        messages
    };
    is_done_in_time("steps of one prompt", &steps(&reads));
    const FEWER: usize = 20_000;
    let steps = |step: &dyn Fn(usize) -> [Message; 2]| {
        let mut messages = vec![Message::user("go")];
        messages.extend((0..FEWER / 2).flat_map(step));
        messages
    };
    let tests = |n: usize| {
        let test = Action::command("cargo test");
        answered(
            call(&format!("c{n}"), "Bash", json!({ "command": "cargo test" })).doing(test),
            "test result: ok. 1 passed",
        )
    };
    is_done_in_time("test runs", &steps(&tests));
    let edits = |n: usize| {
        let file = format!("src/f{n}.rs");
        let edit = Action::on(ActionKind::Change, [file.as_str()]);
        answered(
            call(
                &format!("c{n}"),
                "Edit",
                json!({ "file_path": file, "old_string": "a" }),
            )
            .doing(edit),
            "done",
        )
    };
    is_done_in_time("edited files", &steps(&edits));
    let todos = |n: usize| {
        let todo = json!({ "todos": [{ "content": format!("t{n}"), "status": "pending" }] });
        answered(
            call(&format!("c{n}"), "TodoWrite", todo).doing(Action::on(ActionKind::Todo, [])),
            "ok",
        )
    };
    is_done_in_time("plans", &steps(&todos));
    let reused = |_: usize| answered(call("same", "Read", json!({})), "x");
    is_done_in_time("one id", &steps(&reused));
    let orphans: Vec<Message> = (0..FEWER)
        .map(|n| Message::results(vec![ToolResult::new(format!("o{}", n % 7), Some(true), "x")]))
        .collect();
    is_done_in_time("orphans", &orphans);
    let open: Vec<Message> = (0..FEWER)
        .map(|n| calls(vec![call("x", &format!("t{n}"), json!({}))]))
        .collect();
    is_done_in_time("calls without answers", &open);
    let empty: Vec<Message> = (0..FEWER)
        .map(|n| Message::new([Role::User, Role::Assistant, Role::System][n % 3], Vec::new()))
        .collect();
    is_done_in_time("empty messages", &empty);
    let systems: Vec<Message> = (0..FEWER)
        .map(|n| Message::new(Role::System, vec![Part::text(format!("s{n}"))]))
        .collect();
    is_done_in_time("system messages", &systems);
    let summaries: Vec<Message> = (0..FEWER)
        .map(|n| {
            Message::new(
                Role::User,
                vec![Part::text_from(Origin::Summary, format!("Files: f{n}.rs"))],
            )
        })
        .collect();
    is_done_in_time("summaries", &summaries);
    let thoughts: Vec<Message> = (0..FEWER)
        .map(|n| {
            let thinking = Thinking {
                body: format!("t{n}").into(),
                signature: Some("s".into()),
                redacted: None,
                is_wanted_back: false,
                extra: Extra::default(),
            };
            Message::new(Role::Assistant, vec![Part::Thinking(thinking)])
        })
        .collect();
    is_done_in_time("thoughts", &thoughts);
}

#[test]
fn very_many_parts_in_one_message() {
    const MANY: usize = 20_000;
    let names: Vec<String> = (0..MANY).map(|n| format!("c{n}")).collect();
    let asked = calls(
        names
            .iter()
            .map(|id| call(id, "Read", json!({ "file_path": id })))
            .collect(),
    );
    let results = |ids: &mut dyn Iterator<Item = &String>| {
        Message::results(ids.map(|id| ToolResult::new(id.as_str(), Some(true), "x")).collect())
    };
    let go = Message::user("go");
    is_done_in_time(
        "answers backwards",
        &[go.clone(), asked, results(&mut names.iter().rev())],
    );
    let twins = calls(names.iter().map(|_| call("twin", "Read", json!({}))).collect());
    let same = Message::results(names.iter().map(|_| ToolResult::new("twin", Some(true), "x")).collect());
    is_done_in_time("twins", &[go.clone(), twins, same]);
    let texts = names.iter().map(|name| Part::text(name.as_str())).collect();
    is_done_in_time("texts", &[go.clone(), Message::new(Role::Assistant, texts)]);
    let mut output = ToolResult::new("a", Some(true), "");
    output.output = names.iter().map(|name| Part::text(name.as_str())).collect();
    output.bare = false;
    is_done_in_time(
        "blocks of an answer",
        &[
            go,
            calls(vec![call("a", "Read", json!({}))]),
            Message::results(vec![output]),
        ],
    );
}

#[test]
fn parameters_of_every_shape() {
    let go = Message::user("go");
    let edits: Vec<Value> = (0..20_000)
        .map(|n| json!({ "old_string": format!("a{n}"), "new_string": "b" }))
        .collect();
    let edit = || Action::on(ActionKind::Change, ["a.rs"]);
    let many = call("a", "MultiEdit", json!({ "file_path": "a.rs", "edits": edits })).doing(edit());
    let fields: Map<String, Value> = (0..20_000).map(|n| (format!("f{n}"), json!(n))).collect();
    let wide = call("b", "Any", Value::Object(fields));
    let mut deep = json!("x");
    for _ in 0..120 {
        deep = json!([deep, { "a": "y" }]);
    }
    let deep = call("c", "Any", json!({ "deep": deep }));
    let paths: Vec<String> = (0..20_000).map(|n| format!("src/f{n}.rs")).collect();
    let paths = call("d", "Read", json!({ "paths": paths }))
        .doing(Action::on(ActionKind::Read, paths.iter().map(String::as_str)));
    let patch = format!(
        "*** Begin Patch\n*** Update File: a.rs\n{}",
        "-old line of it\n".repeat(20_000)
    );
    let patch = call("e", "apply_patch", json!({ "input": patch })).doing(edit());
    let todos: Vec<Value> = (0..20_000)
        .map(|n| json!({ "content": format!("t{n}"), "status": "pending" }))
        .collect();
    let todos = call("f", "TodoWrite", json!({ "todos": todos })).doing(Action::on(ActionKind::Todo, []));
    for (what, one) in [
        ("edits", many),
        ("fields", wide),
        ("nesting", deep),
        ("paths", paths),
        ("patch", patch),
        ("plan", todos),
    ] {
        let mut messages = vec![go.clone()];
        messages.extend(answered(one.clone(), "done"));
        messages.push(Message::user("and now?"));
        messages.extend(answered(ToolCall { id: "z".into(), ..one }, "done"));
        is_done_in_time(what, &messages);
    }
}

/// A failing check that later passes.
fn checked(line: &str, failed: &str) -> Vec<Message> {
    let run = |id: &str, success, output: &str| {
        let call = call(id, "Bash", json!({ "command": line })).doing(Action::command(line));
        let result = ToolResult::new(id, Some(success), output);
        [calls(vec![call]), Message::results(vec![result])]
    };
    let mut messages = vec![Message::user("look at this")];
    messages.extend(run("a", false, failed));
    messages.extend(run("b", true, "4 passed in 1s"));
    messages.push(Message::user("and now?"));
    messages
}

#[test]
fn checks_of_very_long_lines() {
    let many = |count: usize, word: fn(usize) -> String| -> String { (0..count).map(word).collect() };
    for (what, line) in [
        (
            "filters",
            format!("pytest{}", many(20_000, |n| format!(" --ignore=tests/t{n}.py"))),
        ),
        (
            "other filters",
            format!("pytest{}", many(20_000, |n| format!(" --ignore-{n}=a"))),
        ),
        (
            "files",
            format!("pytest{}", many(20_000, |n| format!(" tests/t{n}.py"))),
        ),
        (
            "folders",
            format!("go test{}", many(20_000, |n| format!(" ./a{n}/..."))),
        ),
        (
            "what is wider",
            format!("cargo test{}", many(20_000, |n| format!(" --features a{n}"))),
        ),
        ("values", format!("make test{}", many(20_000, |n| format!(" A{n}=b")))),
        ("places", format!("make test{}", " -C a".repeat(2_000))),
    ] {
        is_done_in_time(what, &checked(&line, "1 failed, 3 passed in 1s"));
    }
}

#[test]
fn failures_of_very_long_lines() {
    for piece in [
        "1:", ":1", "(1,", "a(1", "(1):", "é:1 ", ".a_:1", "a.rs:", "a.rs:1", "//:a.b:1", ".1:1", "on line 1",
        "error:", "E ", "FAILED ", "left: 1 ", "^", "#1 ",
    ] {
        let line = piece.repeat(LONG / 2 / piece.len());
        let output = format!("{line}\nmake: *** [all] Error 2");
        is_done_in_time(piece, &checked("make test", &output));
        let output = format!(
            "{}\nmake: *** [all] Error 2",
            format!("{}\n", &piece.repeat(2_000)).repeat(20)
        );
        is_done_in_time(piece, &checked("make test", &output));
    }
}

#[test]
fn files_of_one_line() {
    let forms = || Format::ALL.iter().copied().filter(|form| form.is_read());
    let is_in_time = |what: &str, from: Option<Format>, bytes: &[u8]| {
        let watch = Stopwatch::begin();
        if let Ok(document) = read(bytes, from) {
            for to in forms().filter(|form| form.is_written()) {
                let written = write(&document, to).unwrap();
                read(written.as_bytes(), Some(to)).unwrap();
            }
        }
        let took = watch.elapsed();
        assert!(took < LONGEST_FILE, "{what} as {from:?}: {took:?}");
    };
    let repeated = [
        "[", "{\"a\":", "{}", "{},", "\"", "\\u0000", "1", "[],", "null,", "\"\",", " ", "\0", "-", "\u{feff}",
        "\"a\":1,", "{\"type\":\"user\"}", "{\"messages\":[",
    ];
    for piece in repeated {
        for opening in ["", "[", "{\"messages\":[", "{\"contents\":[", "{\"input\":\""] {
            let file = opening.to_owned() + &piece.repeat(LONG / 16 / piece.len());
            for from in forms().map(Some).chain([None]) {
                is_in_time(&format!("{opening}{piece}…"), from, file.as_bytes());
            }
        }
    }
    let steps = (0..20_000).flat_map(|n| answered(call(&format!("c{n}"), "Bash", json!({ "command": "ls" })), "x"));
    let document = Document {
        format: Format::Corpus,
        messages: [Message::user("go")].into_iter().chain(steps).collect(),
        envelope: Map::new(),
        warnings: Vec::new(),
    };
    for form in forms().filter(|form| form.is_written()) {
        let watch = Stopwatch::begin();
        let written = write(&document, form).unwrap();
        assert!(!written.trim().contains('\n'));
        for from in [Some(form), None] {
            read(written.as_bytes(), from).unwrap();
        }
        let took = watch.elapsed();
        assert!(took < LONGEST, "many steps as {form:?}: {took:?}");
    }
}
