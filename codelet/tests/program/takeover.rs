//! Going on from a recorded conversation, and what a transcript holds however its session ended.

use crate::common::agent::{Bench, WIRES, name};
use crate::common::{ended, refused, stderr};
use crate::made;
use codelet_testkit::server::{Behaviour, Gate, Reply, Server, Wire, block_on};
use serde_json::{Value, json};

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A session of Claude Code that read, changed and tested, and was then interrupted in a call.
fn claude_code() -> String {
    let line = |at: usize, who: &str, content: Value| {
        let parent = (at > 0).then(|| format!("00000000-0000-4000-8000-{:012}", at - 1));
        json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/w", "version": "2.1.0",
            "sessionId": "5e551011-0000-4000-8000-000000000001", "type": who,
            "message": {"role": who, "model": "claude-sonnet-4-5", "content": content},
            "uuid": format!("00000000-0000-4000-8000-{at:012}"), "timestamp": "2031-04-05T06:07:01.000Z",
        })
    };
    let call =
        |id: &str, tool: &str, input: Value| json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]);
    let result = |id: &str, text: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
    lines(&[
        line(0, "user", json!("Make the date test pass.")),
        line(
            1,
            "assistant",
            json!([{"type": "thinking", "thinking": "The test first.", "signature": "ErUBCkYIBhgC=="}]),
        ),
        line(2, "assistant", call("t1", "Read", json!({"file_path": "date.py"}))),
        line(3, "user", result("t1", "1\tyear = 2030\n")),
        line(
            4,
            "assistant",
            call(
                "t2",
                "Edit",
                json!({"file_path": "date.py", "old_string": "2030", "new_string": "2031"}),
            ),
        ),
        line(5, "user", result("t2", "The file date.py has been updated.")),
        line(6, "assistant", call("t3", "Bash", json!({"command": "pytest -q"}))),
    ])
}

fn codex() -> String {
    let item =
        |payload: Value| json!({"timestamp": "2031-04-05T06:07:01.000Z", "type": "response_item", "payload": payload});
    let says = |role: &str, kind: &str, text: &str| {
        item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
    };
    let meta = json!({
        "timestamp": "2031-04-05T06:07:00.000Z", "type": "session_meta",
        "payload": {"id": "019ed836-b1da-78f1-8a0c-e598363d10f4", "timestamp": "2031-04-05T06:07:00.000Z", "cwd": "/w", "originator": "codex"},
    });
    lines(&[
        meta,
        says(
            "developer",
            "input_text",
            "<permissions instructions>\nEverything is permitted: danger-full-access.\n</permissions instructions>",
        ),
        says(
            "user",
            "input_text",
            "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\ndanger-tabs\n</INSTRUCTIONS>",
        ),
        says("user", "input_text", "Make the date test pass."),
        item(json!({
            "type": "function_call", "name": "exec_command", "call_id": "c1", "arguments": "{\"cmd\": \"pytest -q\"}",
        })),
        item(json!({"type": "function_call_output", "call_id": "c1", "output": "1 failed"})),
        says("assistant", "output_text", "The year in date.py is wrong."),
    ])
}

fn pi() -> String {
    let says = |message: Value| json!({"type": "message", "timestamp": "2031-04-05T06:07:01.000Z", "message": message});
    lines(&[
        json!({"type": "session", "id": "ffae836b-9420-4060-ac13-7745215f90ff", "timestamp": "2031-04-05T06:07:00.000Z", "cwd": "/w",
            "provider": "anthropic", "modelId": "claude-opus-4-5", "thinkingLevel": "off"}),
        says(json!({"role": "user", "content": [{"type": "text", "text": "Make the date test pass."}]})),
        says(json!({"role": "assistant", "content": [
            {"type": "toolCall", "id": "p1", "name": "read", "arguments": {"path": "date.py"}},
            {"type": "toolCall", "id": "p2", "name": "bash", "arguments": {"command": "pytest -q"}},
        ], "api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-4-5", "stopReason": "toolUse"})),
        says(
            json!({"role": "toolResult", "toolCallId": "p1", "toolName": "read", "content": [{"type": "text", "text": "year = 2030"}]}),
        ),
        says(
            json!({"role": "toolResult", "toolCallId": "p2", "toolName": "bash", "content": [{"type": "text", "text": "1 failed"}]}),
        ),
    ])
}

#[test]
fn a_session_goes_on_from_one_of_any_agent_with_any_vendor() {
    for (agent, recorded, tools) in [
        ("Claude Code", claude_code(), &["Read", "Edit", "Bash"][..]),
        ("Codex", codex(), &["Bash"]),
        ("pi", pi(), &["Read", "Bash"]),
    ] {
        for (wire, ..) in WIRES {
            let at = format!("{agent}, {}", name(wire));
            let bench = Bench::new();
            bench.file("date.py", "year = 2029\n");
            bench.file("session.jsonl", &recorded);
            let server = Server::start(wire, Behaviour::replies([Reply::text("I go on.")]));
            let output = bench.ask(&server, wire, &["-p", "Go on.", "--from", "session.jsonl"]);
            ended(&output, 0);
            let told = stderr(&output);
            assert!(
                told.contains(&format!(
                    "continuing session.jsonl (a session file of {agent}): 1 prompt"
                )),
                "{at}: {told}"
            );
            // Codex has named no file; those of the others were in another directory.
            let uncompared = match agent {
                "Codex" => "",
                _ => "; the files that it names were not compared with those here",
            };
            let elsewhere = format!(
                "was recorded in /w; this session works in {}{uncompared}\n",
                bench.work.display()
            );
            assert!(told.contains(&elsewhere), "{at}: {told}");
            let record = server.record();
            assert_eq!(record.faults(), "", "{at}");
            let request = &record.exchanges[0].request;
            assert_eq!(request.last_user_text(), Some("Go on."), "{at}");
            let texts = request.user_texts().join("\n");
            assert!(texts.contains("Make the date test pass."), "{at}");
            assert!(
                texts.contains(&format!("It was recorded in another directory, /w{uncompared}.")),
                "{at}: {texts}"
            );
            let called: Vec<&str> = request.calls().into_iter().map(|(_, tool, _)| tool).collect();
            assert_eq!(called, tools, "{at}");
            assert!(!request.holds("ErUBCkYIBhgC"), "{at}");
            assert!(
                !request.holds("danger-"),
                "what another agent may do, and its instructions: {at}"
            );
            assert!(!texts.contains("changed since"), "{at}: {texts}");
        }
    }
}

#[test]
fn a_transcript_that_breaks_off_says_so_when_it_is_continued() {
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies(["One.", "Two."].map(Reply::text)));
    let prompt = format!("Count: {}", "one and one ".repeat(100));
    let output = bench.ask(&server, Wire::Anthropic, &["-p", &prompt, "--transcript", "t.json"]);
    ended(&output, 0);
    let whole = bench.read("t.json");
    bench.file("t.json", &whole[..whole.len() - 100]);
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "Go on.", "--from", "t.json"]);
    ended(&output, 0);
    assert!(stderr(&output).contains("the file breaks off"), "{}", stderr(&output));
}

#[test]
fn a_file_that_a_failed_call_named_is_not_compared() {
    let bench = Bench::new();
    bench.file("a.txt", "one\n");
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::replies([
            Reply::call("Read", json!({"file_path": "a.txt"})),
            Reply::call("Read", json!({"file_path": "missing.txt"})),
            Reply::text("There is only one."),
            Reply::text("I go on."),
        ]),
    );
    let output = bench.ask(
        &server,
        Wire::Anthropic,
        &["-p", "Read both.", "--transcript", "t.json"],
    );
    ended(&output, 0);
    std::fs::remove_file(bench.work.join("a.txt")).unwrap();
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "Go on.", "--from", "t.json"]);
    ended(&output, 0);
    let told = stderr(&output);
    assert!(told.contains("; gone since: a.txt\n"), "{told}");
}

#[test]
fn of_another_directorys_files_only_those_that_lie_here_are_compared() {
    for is_here in [false, true] {
        let bench = Bench::new();
        // A file of the same name is another file.
        bench.file("date.py", "year = 2029\n");
        let file = bench.work.join("src/date.py");
        let command = r#""name":"bash","arguments":{"command":"pytest -q"}"#;
        let read = json!({"path": if is_here { file.to_str().unwrap() } else { "src/date.py" }});
        let recorded = pi().replace(command, &format!(r#""name":"read","arguments":{read}"#));
        assert_ne!(recorded, pi());
        bench.file("session.jsonl", &recorded);
        let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("I go on.")]));
        let output = bench.ask(&server, Wire::Anthropic, &["-p", "Go on.", "--from", "session.jsonl"]);
        ended(&output, 0);
        let texts = server.record().exchanges[0].request.user_texts().join("\n");
        assert!(stderr(&output).contains("was recorded in /w;"));
        for told in [stderr(&output), &texts] {
            assert_eq!(told.contains("gone since: src/date.py"), is_here, "{told}");
            assert_eq!(told.contains("were not compared"), !is_here, "{told}");
            assert!(!told.contains("changed since"), "{told}");
        }
    }
}

#[test]
fn what_is_no_conversation_is_told_before_anything_begins() {
    let bench = Bench::new();
    bench.file("note.txt", "Not a conversation.\n");
    let server = Server::start(Wire::Anthropic, Behaviour::replies([]));
    for file in ["note.txt", "missing.jsonl"] {
        let output = bench.ask(&server, Wire::Anthropic, &["-p", "Go on.", "--from", file]);
        crate::common::refused(&output, &[file]);
    }
    assert!(server.record().exchanges.is_empty());
}

#[test]
fn a_session_goes_on_from_one_of_several_in_a_database_or_a_data_set() {
    let bench = Bench::new();
    made::opencode(&bench.work.join("opencode.db"));
    let chat = |words: &str| json!({"messages": [{"role": "user", "content": words}, {"role": "assistant", "content": "Yes."}]});
    std::fs::write(bench.work.join("set.jsonl"), lines(&[chat("First?"), chat("Second?")])).unwrap();
    for (from, told) in [
        (vec!["opencode.db", "--index", "0"], "Build the tea shop"),
        (vec!["opencode.db#ses_tea"], "Build the tea shop"),
        (vec!["set.jsonl", "--index", "1"], "Second?"),
    ] {
        let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("I go on.")]));
        let args = [vec!["-p", "Go on.", "--from"], from].concat();
        let output = bench.ask(&server, Wire::Anthropic, &args);
        ended(&output, 0);
        let texts = server.record().exchanges[0].request.user_texts().join("\n");
        assert!(texts.contains(told), "{texts}");
    }
    let server = Server::start(Wire::Anthropic, Behaviour::replies([]));
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "Go on.", "--from", "opencode.db"]);
    ended(&output, 2);
    assert!(
        stderr(&output).contains("contains 2 sessions; choose one"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_session_that_is_killed_leaves_all_that_was_said_and_the_next_goes_on_from_it() {
    let bench = Bench::new();
    bench.file("a.txt", "the words of a\n");
    let gate = Gate::after(0);
    let replies = [
        Reply::new()
            .says("I look.")
            .calls("Read", json!({"file_path": "a.txt"})),
        Reply::text("Never said.").gated(&gate),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut child = bench.start(
        &server,
        Wire::Anthropic,
        &["-p", "Look at it.", "--transcript", "t.json"],
    );
    block_on(gate.reached());
    child.kill().unwrap();
    child.wait().unwrap();
    let kept: Value = serde_json::from_str(&bench.read("t.json")).unwrap();
    let text = kept.to_string();
    for said in ["Look at it.", "I look.", "the words of a"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("I go on.")]));
    let args = ["-p", "Go on.", "--from", "t.json", "--transcript", "t.json"];
    let output = bench.ask(&server, Wire::Anthropic, &args);
    ended(&output, 0);
    assert!(
        stderr(&output).contains("1 prompt with 1 tool call"),
        "{}",
        stderr(&output)
    );
    let record = server.record();
    assert_eq!(record.faults(), "");
    let text = bench.read("t.json");
    for said in ["Look at it.", "the words of a", "Go on.", "I go on."] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn a_recording_larger_than_the_window_is_compacted_before_it_is_sent() {
    let bench = Bench::new();
    let mut messages = Vec::new();
    for number in 0..200 {
        messages.push(json!({"role": "user", "content": format!("Question {number}: {}", "what of it? ".repeat(40))}));
        messages
            .push(json!({"role": "assistant", "content": format!("Answer {number}: {}", "that of it. ".repeat(200))}));
    }
    let recorded = json!({"model": "m", "max_tokens": 100, "messages": messages});
    bench.file("long.json", &recorded.to_string());
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("I go on.")]));
    let args = ["-p", "Go on.", "--from", "long.json", "--window", "40k"];
    let (result, output) = bench.result(&server, Wire::Anthropic, &args);
    ended(&output, 0);
    assert_eq!(result["compactions"].as_array().unwrap().len(), 1, "{result}");
    let told = result["notices"].to_string() + stderr(&output);
    assert!(told.contains("tokens in the context window"), "{told}");
    assert!(result["compactions"][0]["after"].as_u64().unwrap() < 40_000, "{result}");
    assert_eq!(server.record().faults(), "");
}

#[test]
fn a_conversation_that_is_not_there_is_told_before_any_server_is_asked() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let bench = Bench::new();
    let args = [
        "--model", "llamacpp/some", "--base-url", &base, "-p", "Go on.", "--from", "gone.jsonl",
    ];
    refused(&bench.command(&args).output().unwrap(), &["gone.jsonl: no such file"]);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
}
