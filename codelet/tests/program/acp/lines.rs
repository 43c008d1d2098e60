//! What comes and goes on the pipes.

use super::*;

#[test]
fn no_update_of_many_is_lost() {
    let bench = Bench::new();
    let words: String = (0..3_000).map(|number| format!("{number} ")).collect();
    let reply = Reply::text(words.clone()).in_fragments_of(5);
    let server = Server::start(Wire::Anthropic, Behaviour::replies([reply]));
    let mut editor = Editor::introduced(&bench, &server, &[]);
    let id = editor.open(&bench);
    assert_eq!(editor.said(&id, "Count."), "end_turn");
    assert_eq!(editor.texts("agent_message_chunk"), words);
    let ids: Vec<&Value> = editor
        .updates("agent_message_chunk")
        .iter()
        .map(|update| &update["messageId"])
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]) && !ids[0].is_null());
    editor.leave();
}

#[test]
fn what_is_no_message_is_answered_and_harms_nothing() {
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Here.")]));
    let mut editor = Editor::start(&bench, &server, &[]);
    let early = editor.ask("session/new", json!({"cwd": bench.work, "mcpServers": []}));
    assert!(early.get("error").is_some(), "{early}");
    editor.ask("initialize", json!({"protocolVersion": 1}));
    let id = editor.open(&bench);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for line in [
        "{",
        "nonsense \u{1b}[2J",
        "[]",
        "42",
        "\"a\"",
        &deep,
        &"x".repeat(33 * 1024 * 1024),
    ] {
        editor.write(line);
        let told = editor.until(|message| message.get("method").is_none());
        let is_told = [-32700, -32600].contains(&code(&told)) && told["id"].is_null();
        assert!(is_told, "{}", told.to_string().chars().take(200).collect::<String>());
    }
    for (method, params, wanted) in [
        ("session/explode", json!({}), -32601),
        ("terminal/create", json!({"sessionId": id}), -32601),
        ("session/prompt", json!({"sessionId": id}), -32602),
        ("session/prompt", json!({"sessionId": id, "prompt": []}), -32602),
        ("session/prompt", prompt("nobody", "Hello"), -32002),
        (
            "session/set_mode",
            json!({"sessionId": "nobody", "modeId": "all"}),
            -32002,
        ),
        ("session/close", json!({"sessionId": "nobody"}), -32002),
        ("session/new", json!({"cwd": "relative", "mcpServers": []}), -32602),
        (
            "session/new",
            json!({"cwd": "/no/such/folder", "mcpServers": []}),
            -32602,
        ),
        ("session/new", json!({"mcpServers": 7}), -32602),
    ] {
        let told = editor.ask(method, params);
        assert_eq!(code(&told), wanted, "{method}: {told}");
    }
    editor.notify("session/explode", json!({}));
    editor.write(&json!({"jsonrpc": "2.0", "id": 9_999, "result": {}}).to_string());
    assert_eq!(editor.said(&id, "Are you there?"), "end_turn");
    editor.leave();
}

#[test]
fn who_closes_the_pipe_ends_everything() {
    let bench = Bench::new();
    let replies = [Reply::call("Bash", json!({"command": "echo $$ > pid; sleep 600"}))];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut editor = Editor::introduced(&bench, &server, &["--permission", "all"]);
    let id = editor.open(&bench);
    editor.say(&id, "Go.");
    editor.until(|message| is_update(message, "tool_call"));
    let began = Instant::now();
    let pid = loop {
        let written = std::fs::read_to_string(bench.work.join("pid")).unwrap_or_default();
        if written.ends_with('\n') {
            break written.trim().parse().unwrap();
        }
        assert!(began.elapsed() < PATIENCE);
        codelet_testkit::wait_a_moment();
    };
    editor.leave();
    crate::common::pty::wait_for_end_of(pid);
}
