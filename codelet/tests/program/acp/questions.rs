//! Questions that an editor is asked.

use super::*;

#[test]
fn a_kind_of_command_that_is_always_allowed_is_asked_about_once() {
    let bench = Bench::new();
    let replies = [
        Reply::call("Bash", json!({"command": "touch a"})),
        Reply::call("Bash", json!({"command": "touch b"})),
        Reply::text("Done."),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut editor = Editor::introduced(&bench, &server, &[]);
    let id = editor.open(&bench);
    let asked = editor.say(&id, "Make two files.");
    let question = editor.until(is_question);
    assert_eq!(
        question["params"]["options"][1]["name"],
        "Always allow in this session: touch *"
    );
    editor.answer(&question, selected("allow_always"));
    assert_eq!(reason(&editor.answered(asked)), "end_turn");
    assert!(bench.work.join("a").exists() && bench.work.join("b").exists());
    assert_eq!(editor.heard.iter().filter(|message| is_question(message)).count(), 1);
    editor.leave();
}

#[test]
fn a_question_that_nobody_answers_well_permits_nothing() {
    let bench = Bench::new();
    let call = || Reply::call("Bash", json!({"command": "touch made"}));
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::replies([call(), call(), call(), Reply::text("No.")]),
    );
    let mut editor = Editor::introduced(&bench, &server, &[]);
    let id = editor.open(&bench);
    let asked = editor.say(&id, "Make it.");
    let first = editor.until(is_question);
    editor.answer(&first, selected("of_my_own"));
    let second = editor.until(is_question);
    editor.answer(&second, json!({"outcome": "yes"}));
    let third = editor.until(is_question);
    let refusal = json!({"jsonrpc": "2.0", "id": third["id"], "error": {"code": -32603, "message": "no"}});
    editor.write(&refusal.to_string());
    editor.answered(asked);
    assert!(!bench.work.join("made").exists());
    editor.leave();
}

#[test]
fn a_turn_is_cancelled_while_its_question_waits() {
    let bench = Bench::new();
    let replies = [
        Reply::call("Bash", json!({"command": "touch made"})),
        Reply::text("Here."),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut editor = Editor::introduced(&bench, &server, &[]);
    let id = editor.open(&bench);
    let asked = editor.say(&id, "Make it.");
    let question = editor.until(is_question);
    editor.notify("session/cancel", json!({"sessionId": id}));
    assert_eq!(reason(&editor.answered(asked)), "cancelled");
    // Its answer comes too late.
    editor.answer(&question, selected("allow_once"));
    assert_eq!(editor.said(&id, "Are you there?"), "end_turn");
    assert!(!bench.work.join("made").exists());
    editor.leave();
}

#[test]
#[cfg(target_os = "linux")]
fn a_question_says_who_asks_and_why_and_that_what_is_permitted_changes_nothing() {
    let bench = Bench::new();
    let wary =
        r#"{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "it is \u202e precious"}}"#;
    std::fs::write(bench.home.join("wary.json"), wary).unwrap();
    let hook = format!(
        "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\nhooks = [{{ type = \"command\", command = \"cat {}\", sandbox = false }}]\n",
        bench.home.join("wary.json").display()
    );
    bench.settings(&hook);
    let command = "echo x >> AGENTS.md; touch made";
    let replies = [
        Reply::call("Task", json!({"description": "tidy up", "prompt": "Tidy up."})),
        Reply::call("Bash", json!({"command": command})),
        Reply::text("I could not."),
        Reply::text("It could not."),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut editor = Editor::introduced(&bench, &server, &["--permission", "read"]);
    let id = editor.open(&bench);
    let asked = editor.say(&id, "Go.");
    let question = editor.until(is_question);
    let content = question["params"]["toolCall"]["content"].as_array().unwrap();
    let texts: Vec<&str> = content
        .iter()
        .map(|block| block["content"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        texts,
        [
            "For the task \"tidy up\":",
            &format!("Allow Bash to run this command in {}?", bench.work.display()),
            "Under the permission read it runs in a sandbox without network, and cannot change the workspace.",
            "It changes AGENTS.md. This gives instructions to agents.",
            &format!("```sh\n{command}\n```"),
            "a PreToolUse hook wants you to be asked: it is \\<U+202E> precious",
        ]
    );
    editor.answer(&question, selected("allow_once"));
    assert_eq!(reason(&editor.answered(asked)), "end_turn");
    // It is as the question says.
    assert!(!bench.work.join("made").exists() && !bench.work.join("AGENTS.md").exists());
    editor.leave();
}
