//! `codelet inspect`: the view for people and the one for programs.

use crate::common::*;
use serde_json::Value;

fn inspected(turns: usize) -> Value {
    let output = run_with(&["inspect", "--json"], request_text(turns).as_bytes());
    ended(&output, 0);
    serde_json::from_str(stdout(&output)).unwrap()
}

#[test]
fn the_figures_add_up() {
    let found = inspected(12);
    let whole = found["tokens"].as_u64().unwrap();
    let kinds = found["kinds"].as_object().unwrap();
    assert_eq!(
        kinds.values().map(|kind| kind["tokens"].as_u64().unwrap()).sum::<u64>(),
        whole
    );
    assert_eq!(kinds["prompts"]["parts"], 13);
    assert_eq!(kinds["calls"]["parts"], 36);
    assert_eq!(found["messages"], 98);
    assert!(found["tool_definitions"].as_u64().unwrap() > 0);

    let tools = found["tools"].as_array().unwrap();
    assert_eq!(tools[0]["tool"], "Read");
    let weights: Vec<_> = tools.iter().map(|tool| tool["tokens"].as_u64().unwrap()).collect();
    assert!(weights.is_sorted_by(|a, b| a >= b));
    let bash = tools.iter().find(|tool| tool["tool"] == "Bash").unwrap();
    assert_eq!((bash["calls"].as_u64(), bash["failed"].as_u64()), (Some(12), Some(3)));
    let calls_and_results = kinds["calls"]["tokens"].as_u64().unwrap() + kinds["results"]["tokens"].as_u64().unwrap();
    assert_eq!(weights.iter().sum::<u64>(), calls_and_results);

    let turns = found["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 13);
    assert_eq!(turns[0]["prompt"], "Please mend part 0.");
    let system = kinds["system"]["tokens"].as_u64().unwrap();
    assert_eq!(
        turns.iter().map(|turn| turn["tokens"].as_u64().unwrap()).sum::<u64>() + system,
        whole
    );
    assert_eq!(found["largest"][0]["tool"], "Read");
}

#[test]
fn the_view_fits_the_columns_that_there_are() {
    let text = request_text(60);
    for columns in [40, 80, 120] {
        let mut command = codelet(&["inspect"]);
        command.env("COLUMNS", columns.to_string());
        let folder = folder(&format!("inspect_{columns}"));
        let output = command.arg(file(&folder, "request.json", &text)).output().unwrap();
        ended(&output, 0);
        for line in stdout(&output).lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        for heading in ["By kind", "By tool", "Largest items", "Turns"] {
            assert!(stdout(&output).contains(heading), "{heading}");
        }
    }
}

#[test]
fn an_empty_conversation_can_be_looked_at() {
    let output = run_with(&["inspect", "--from", "anthropic"], br#"{"messages":[]}"#);
    ended(&output, 0);
    assert!(stdout(&output).contains("0 messages"));
}

#[test]
fn all_conversations_of_a_data_set_are_looked_at_and_compacted_or_the_one_that_is_asked_for() {
    let folder = folder("data_set");
    let chat = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"one"}]}"#;
    let talk = r#"{"conversations":[{"from":"human","value":"two"},{"from":"gpt","value":"2"}]}"#;
    let set = file(&folder, "set.jsonl", format!("{chat}\n{talk}\n"));
    let output = run(&["inspect", "--json", &set]);
    ended(&output, 0);
    let found: Value = serde_json::from_str(stdout(&output)).unwrap();
    let formats: Vec<_> = found.as_array().unwrap().iter().map(|one| &one["format"]).collect();
    assert_eq!(formats, ["openai", "sharegpt"]);
    let output = run(&["compact", &set]);
    ended(&output, 0);
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, chat));
    // A list gives lines, too, however it stood there.
    let list = file(
        &folder,
        "list.json",
        format!("[\n{},\n{talk}\n]\n", chat.replace(":[", ":\n[")),
    );
    let output = run(&["compact", &list]);
    assert_eq!(stdout(&output).lines().collect::<Vec<_>>(), lines);
    let output = run(&["inspect", &set, "--index", "1"]);
    ended(&output, 0);
    assert!(stdout(&output).contains("sharegpt · 2 messages"), "{}", stdout(&output));
    ended(&run(&["inspect", &set, "--index", "2"]), 2);
    // What cannot be read costs nothing else, and is not passed over in silence.
    let broken = file(&folder, "broken.jsonl", format!("{chat}\n{{\"messages\":[\n{talk}\n"));
    let output = run(&["compact", &broken]);
    ended(&output, 2);
    assert_eq!(stdout(&output).lines().count(), 2);
    assert!(
        stderr(&output).contains("1 of 3 conversations could not be read"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn sessions_of_agents_are_listed_and_named_by_their_numbers() {
    let home = folder("sessions_home");
    let put = |path: &str, text: &str, age: u64| {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    };
    let claude = |prompt: &str| {
        let message = serde_json::json!({"role": "user", "content": prompt});
        format!(
            "{{\"type\":\"user\",\"uuid\":\"1\",\"parentUuid\":null,\"sessionId\":\"s\",\"cwd\":\"/home/mira/tea\",\"message\":{message}}}\n"
        )
    };
    put(
        "claude/projects/-home-mira-tea/aaaa1111.jsonl",
        &claude("Mend the \u{1b}[31mkettle.\nAnd more."),
        7_200,
    );
    put(
        ".codex/sessions/2026/11/20/rollout-bbbb2222.jsonl",
        "{\"type\":\"session_meta\",\"payload\":{\"id\":\"b\",\"cwd\":\"/w\"}}\n",
        300,
    );
    put(".config/Cursor/User/globalStorage/state.vscdb", "SQLite", 10);
    let run = |args: &[&str]| {
        let mut command = codelet(args);
        command
            .env_clear()
            .env("HOME", &home)
            .env("CLAUDE_CONFIG_DIR", home.join("claude"));
        command.output().unwrap()
    };
    let output = run(&["sessions"]);
    ended(&output, 0);
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert!(lines[1].starts_with("@1  codex        5 min"), "{lines:#?}");
    assert!(lines[2].starts_with("@2  claude-code  2 h"), "{lines:#?}");
    // A title is somebody's text: one line, and nothing that a terminal would obey.
    assert!(lines[2].ends_with("tea      Mend the ␛[31mkettle."), "{lines:#?}");
    assert!(
        stderr(&output).contains("state.vscdb is not read: its newer transcripts are read"),
        "{}",
        stderr(&output)
    );
    let output = run(&["sessions", "--agent", "claude-code", "--json"]);
    let found: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(
        (&found[0]["number"], &found[0]["project"]),
        (&2.into(), &"/home/mira/tea".into())
    );
    for name in ["@2", "@aaaa1111"] {
        let output = run(&["inspect", name]);
        ended(&output, 0);
        assert!(
            stdout(&output).contains("claude-code · 1 message"),
            "{}",
            stdout(&output)
        );
    }
    let output = run(&["inspect", "@9"]);
    ended(&output, 2);
    assert!(
        stderr(&output).contains("there is no session @9, only 2 sessions"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn what_a_session_of_codex_goes_on_from_is_read_where_it_lies_beside_it() {
    let home = folder("goes_on_from");
    let say = |text: &str| {
        let content = serde_json::json!([{"type": "input_text", "text": text}]);
        format!(
            "{{\"type\":\"response_item\",\"payload\":{{\"type\":\"message\",\"role\":\"user\",\"content\":{content}}}}}\n"
        )
    };
    let put = |name: &str, text: String| std::fs::write(home.join(name), text).unwrap();
    let goes_on = |id: &str| {
        format!(
            "{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"x\",\"history_base\":{{\"thread_id\":\"{id}\"}}}}}}\n"
        )
    };
    put(
        "rollout-1-aaaa.jsonl",
        "{\"type\":\"session_meta\",\"payload\":{\"id\":\"aaaa\"}}\n".to_owned() + &say("Warm the pot."),
    );
    put("rollout-2-bbbb.jsonl", goes_on("aaaa") + &say("Pour the tea."));
    put("rollout-3-cccc.jsonl", goes_on("bbbb") + &say("Drink it."));
    put("rollout-4-dddd.jsonl", goes_on("dddd") + &say("Of itself."));
    put("rollout-5-eeee.jsonl", goes_on("gone") + &say("Alone."));
    std::fs::create_dir_all(home.join("out")).unwrap();
    std::os::unix::fs::symlink("../rollout-1-aaaa.jsonl", home.join("out/rollout-1-aaaa.jsonl")).unwrap();
    std::fs::copy(home.join("rollout-2-bbbb.jsonl"), home.join("out/rollout-2-bbbb.jsonl")).unwrap();
    for (name, messages, is_told) in [
        ("rollout-3-cccc.jsonl", 3, false),
        ("rollout-4-dddd.jsonl", 1, true),
        ("rollout-5-eeee.jsonl", 1, true),
        // A link leads out of the folder.
        ("out/rollout-2-bbbb.jsonl", 1, true),
    ] {
        let output = codelet(&["inspect", home.join(name).to_str().unwrap(), "--json"])
            .output()
            .unwrap();
        ended(&output, 0);
        let found: Value = serde_json::from_str(stdout(&output)).unwrap();
        assert_eq!(found["messages"], messages, "{name}");
        let told = stderr(&output).contains("an earlier part of this conversation is elsewhere");
        assert_eq!(told, is_told, "{name}: {}", stderr(&output));
    }
}

/// Reads the recorded conversations where there are any; nothing is asserted about what they say.
#[test]
fn recorded_conversations_can_be_looked_at() {
    let corpus = std::env::var("CODELET_CORPUS").unwrap_or_else(|_| "../../shared/corpus".to_owned());
    let Ok(families) = std::fs::read_dir(format!("{corpus}/neutral")) else {
        println!("there is no corpus at {corpus}");
        return;
    };
    for family in families.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let first = std::fs::read_dir(&family)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .min()
            .unwrap();
        let output = run(&["inspect", "--from", "corpus", first.to_str().unwrap()]);
        ended(&output, 0);
        assert!(
            stdout(&output).lines().all(|line| line.chars().count() <= 80),
            "{}",
            stdout(&output)
        );
    }
}
