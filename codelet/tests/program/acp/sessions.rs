//! Sessions that an editor begins, opens again and changes.

use super::*;
use crate::common::mcp_table;
use base64::Engine as _;
use codelet_testkit::mcp::Manner;
use std::path::Path;

#[test]
fn a_recorded_session_is_shown_and_goes_on() {
    let bench = Bench::new();
    let square = include_bytes!("../../common/square.png");
    let square = base64::engine::general_purpose::STANDARD.encode(square);
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": square}});
    let recorded = json!([
        {"role": "user", "content": [{"type": "text", "text": "Remember the word kumquat."}, image]},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I will."},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.rs"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "fn a() {}"}]},
        {"role": "assistant", "content": "Noted."},
    ]);
    bench.file("old.json", &json!({"messages": recorded}).to_string());
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::replies([Reply::text("Kumquat."), Reply::text("Still.")]),
    );
    let mut editor = Editor::introduced(&bench, &server, &[]);
    let load = |name: &str| json!({"sessionId": name, "cwd": bench.work, "mcpServers": []});
    let file = bench.work.join("old.json").display().to_string();
    let loaded = editor.ask("session/load", load(&file));
    assert!(loaded["result"]["configOptions"].is_array(), "{loaded}");
    // All of it came before the answer.
    assert_eq!(editor.texts("user_message_chunk"), "Remember the word kumquat.");
    assert_eq!(editor.updates("user_message_chunk")[1]["content"]["type"], "image");
    assert_eq!(editor.texts("agent_message_chunk"), "I will.Noted.");
    assert_eq!(editor.updates("tool_call")[0]["kind"], "read");
    assert_eq!(editor.updates("tool_call_update")[0]["status"], "completed");
    assert_eq!(editor.said(&file, "Which word?"), "end_turn");
    assert!(server.record().exchanges[0].request.holds("kumquat"));
    // It lives here now, and is shown as it stands, with another session beside it.
    let other = editor.open(&bench);
    editor.heard.clear();
    editor.ask("session/load", load(&file));
    assert_eq!(
        editor.texts("user_message_chunk"),
        "Remember the word kumquat.Which word?"
    );
    assert_eq!(editor.texts("agent_message_chunk"), "I will.Noted.Kumquat.");
    assert_eq!(editor.said(&other, "And here?"), "end_turn");
    assert!(!server.record().exchanges[1].request.holds("kumquat"));
    for (name, wanted) in [("no-such-session", -32002), ("/dev/null", -32002)] {
        assert_eq!(code(&editor.ask("session/load", load(name))), wanted, "{name}");
    }
    editor.leave();
}

#[test]
fn sessions_of_this_machine_are_listed_and_opened_by_their_ids() {
    let bench = Bench::new();
    let line = |kind: &str, content: &str, folder: &Path| {
        let message = json!({"role": kind, "content": content});
        json!({"type": kind, "cwd": folder, "sessionId": "1111aaaa", "uuid": kind, "message": message}).to_string()
    };
    let text = |folder| {
        [
            line("user", "Paint the shed.", folder),
            line("assistant", "Which colour?", folder),
        ]
        .join("\n")
    };
    let folder = bench.home.join(".claude/projects/-w");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("1111aaaa.jsonl"), text(&bench.work)).unwrap();
    // However many newer ones there are elsewhere.
    for number in 0..201 {
        std::fs::write(
            folder.join(format!("2222bbbb-{number}.jsonl")),
            text(Path::new("/elsewhere")),
        )
        .unwrap();
    }
    let server = Server::start(Wire::Anthropic, Behaviour::replies([]));
    let mut editor = Editor::introduced(&bench, &server, &[]);
    let listed = editor.ask("session/list", json!({"cwd": bench.work}));
    let sessions = listed["result"]["sessions"].as_array().unwrap().clone();
    assert_eq!(sessions.len(), 1, "{listed}");
    assert_eq!(
        (&sessions[0]["sessionId"], &sessions[0]["title"]),
        (&json!("1111aaaa"), &json!("Paint the shed."))
    );
    let elsewhere = editor.ask("session/list", json!({"cwd": bench.home}));
    assert_eq!(elsewhere["result"]["sessions"], json!([]));
    editor.ask(
        "session/load",
        json!({"sessionId": "1111aaaa", "cwd": bench.work, "mcpServers": []}),
    );
    assert_eq!(editor.texts("user_message_chunk"), "Paint the shed.");
    editor.leave();
}

#[test]
fn a_session_in_an_editor_is_saved_where_the_settings_say_so_and_goes_on_in_its_file() {
    let bench = Bench::new();
    bench.settings("transcripts = \"~/saved\"\n");
    let replies = ["Red.", "Still red."].map(Reply::text);
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut editor = Editor::introduced(&bench, &server, &[]);
    let id = editor.open(&bench);
    assert_eq!(editor.said(&id, "Which colour?"), "end_turn");
    editor.leave();
    let mut editor = Editor::introduced(&bench, &server, &[]);
    let listed = editor.ask("session/list", json!({"cwd": bench.work}));
    let [saved] = &listed["result"]["sessions"].as_array().unwrap()[..] else {
        panic!("{listed}")
    };
    assert_eq!(saved["title"], "Which colour?");
    let name = saved["sessionId"].as_str().unwrap();
    editor.ask(
        "session/load",
        json!({"sessionId": name, "cwd": bench.work, "mcpServers": []}),
    );
    assert_eq!(editor.texts("agent_message_chunk"), "Red.");
    assert_eq!(editor.said(name, "Still?"), "end_turn");
    editor.leave();
    let files: Vec<_> = std::fs::read_dir(bench.home.join("saved")).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let text = std::fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap();
    assert!(text.contains("Which colour?") && text.contains("Still red."), "{text}");
}

#[test]
fn what_can_be_chosen_is_chosen_and_told() {
    let bench = Bench::new();
    let replies = [
        Reply::call("Bash", json!({"command": "touch made"})),
        Reply::text("Done."),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut editor = Editor::introduced(&bench, &server, &["--permission", "read"]);
    let told = editor.ask("session/new", json!({"cwd": bench.work, "mcpServers": []}));
    let id = told["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(told["result"]["modes"]["currentModeId"], "read");
    assert_eq!(told["result"]["configOptions"][0]["currentValue"], "read");
    assert_eq!(
        told["result"]["configOptions"][1]["currentValue"],
        "anthropic/test-model"
    );
    let mode = |mode: &str| json!({"sessionId": id, "modeId": mode});
    assert_eq!(code(&editor.ask("session/set_mode", mode("root"))), -32602);
    editor.ask("session/set_mode", mode("edit"));
    let update = editor.until(|message| is_update(message, "config_option_update"));
    assert_eq!(update["params"]["update"]["configOptions"][0]["currentValue"], "edit");
    let choose = |option: &str, value: &str| json!({"sessionId": id, "configId": option, "value": value});
    let chosen = editor.ask("session/set_config_option", choose("mode", "all"));
    assert_eq!(chosen["result"]["configOptions"][0]["currentValue"], "all");
    assert_eq!(editor.updates("current_mode_update")[0]["currentModeId"], "all");
    for (option, value) in [("mode", "root"), ("effort", "vast"), ("colour", "red")] {
        assert_eq!(
            code(&editor.ask("session/set_config_option", choose(option, value))),
            -32602,
            "{option}"
        );
    }
    // Nobody is asked any more.
    assert_eq!(editor.said(&id, "Make it."), "end_turn");
    assert!(bench.work.join("made").exists());
    editor.leave();
}

#[test]
fn a_server_of_the_editors_is_used_and_ended() {
    let bench = Bench::new();
    let table = mcp_table("files", Manner::Good, &bench.home.join("files"));
    let table: Value = serde_json::to_value(table.parse::<toml::Table>().unwrap()).unwrap();
    let table = &table["mcp"]["files"];
    let env: Vec<Value> = table["env"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    let servers = json!([{"name": "My files", "command": table["command"], "args": table["args"], "env": env}]);
    let replies = [
        Reply::call("My-files__echo", json!({"text": "well done"})),
        Reply::text("Done."),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut editor = Editor::introduced(&bench, &server, &["--allow", "mcp:My-files__*"]);
    let told = editor.ask("session/new", json!({"cwd": bench.work, "mcpServers": servers}));
    let id = told["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(editor.said(&id, "Go."), "end_turn");
    assert_eq!(server.record().exchanges[1].request.results()[0].1, "well done");
    let heard = std::fs::read_to_string(bench.home.join("files")).unwrap();
    let pids = heard.lines().filter_map(|line| line.strip_prefix("pid "));
    let pids: Vec<u32> = pids.map(|pid| pid.parse().unwrap()).collect();
    assert!(!pids.is_empty());
    editor.ask("session/close", json!({"sessionId": id}));
    let again = editor.say(&id, "Go on.");
    assert_eq!(code(&editor.answered(again)), -32002);
    editor.leave();
    pids.into_iter().for_each(crate::common::pty::wait_for_end_of);
}

#[test]
fn without_a_key_a_session_says_what_to_do() {
    let bench = Bench::new();
    let mut editor = Editor::of(bench.command(&["acp", "--model", "openai/gpt-5"]));
    editor.ask("initialize", json!({"protocolVersion": 1}));
    let told = editor.ask("session/new", json!({"cwd": bench.work, "mcpServers": []}));
    assert_eq!(code(&told), -32000);
    assert!(
        told["error"]["message"].as_str().unwrap().contains("OPENAI_API_KEY"),
        "{told}"
    );
    editor.leave();
}

#[test]
fn a_rejected_key_asks_for_another() {
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::status(401)]));
    let mut editor = Editor::introduced(&bench, &server, &[]);
    let id = editor.open(&bench);
    let asked = editor.say(&id, "Hello.");
    assert_eq!(code(&editor.answered(asked)), -32000);
    editor.leave();
}
