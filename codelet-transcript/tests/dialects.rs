//! Dialects that no row of a table knows: what their calls do shows in the values of their parameters and answers.
#![allow(clippy::unwrap_used)]

use codelet_context::message::{Action, ActionKind, Message};
use codelet_transcript::{Format, read, write};
use proptest::prelude::*;
use serde_json::{Value, json};

const CODE: &str = "import os\n\n\ndef settle(rows):\n    total = quantize(total + amount)\n    return total.quantize(CENT)\n\n\nclass Ledger:\n    def post(self):\n        return os.getcwd()\n";

/// One call: tool, parameters, answer.
type Step<'a> = (&'a str, Value, &'a str);

fn document(steps: &[Step]) -> Vec<Message> {
    let mut messages = vec![json!({"role": "user", "content": "Mend it."})];
    for (number, (tool, parameters, answer)) in steps.iter().enumerate() {
        let id = format!("c{number}");
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": tool, "arguments": parameters.to_string()}}]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": answer}));
    }
    let request = json!({ "messages": messages }).to_string();
    let document = read(request.as_bytes(), Some(Format::Openai)).unwrap();
    assert_eq!(write(&document, Format::Openai).unwrap(), request);
    document.messages
}

/// What one call does, and how it went.
fn told(action: &Action, success: Option<bool>) -> String {
    let subject = match &action.command {
        Some(line) => line.to_string(),
        None => action.paths.join(" "),
    };
    let replaced: Vec<&str> = action.replaced.iter().collect();
    let status = match success {
        Some(true) => " =ok",
        Some(false) => " =failed",
        None => "",
    };
    let replaced = if replaced.is_empty() {
        String::new()
    } else {
        format!(" -{}", replaced.join(" -"))
    };
    let subject = if subject.is_empty() {
        subject
    } else {
        format!(" {subject}")
    };
    format!("{:?}{subject}{replaced}{status}", action.kind)
}

fn check(dialect: &str, steps: &[(Step, &str)]) {
    let calls: Vec<Step> = steps.iter().map(|(step, _)| step.clone()).collect();
    let messages = document(&calls);
    let results: Vec<_> = messages.iter().flat_map(Message::tool_results).collect();
    let found: Vec<String> = messages
        .iter()
        .flat_map(Message::calls)
        .zip(results)
        .map(|(call, result)| told(&call.action, result.success))
        .collect();
    let expected: Vec<&str> = steps.iter().map(|(_, expected)| *expected).collect();
    assert_eq!(found, expected, "{dialect}");
}

/// Calls of one tool of which nothing may be known.
fn check_other(tool: &str, calls: &[(Value, &str)]) {
    let steps: Vec<Step> = calls
        .iter()
        .map(|(parameters, answer)| (tool, parameters.clone(), *answer))
        .collect();
    for call in document(&steps).iter().flat_map(Message::calls) {
        let kind = call.action.kind;
        let is_harmless = matches!(kind, ActionKind::Other | ActionKind::Search);
        assert!(is_harmless, "{tool} {:?}: {:?}", call.parameters.as_map(), call.action);
    }
}

#[test]
fn a_dialect_of_its_own_words_with_answers_in_objects() {
    let ran = |exit: i64, out: &str| json!({"exit": exit, "stdout": out, "stderr": "", "seconds": 0.4}).to_string();
    let (passed, failed) = (ran(0, "8 passed"), ran(1, "2 failed\nFAILED a"));
    let file = json!({"target": "svc/a.py", "lines": CODE.lines().collect::<Vec<_>>()}).to_string();
    let hits = json!({"hits": ["svc/a.py:3: x", "svc/b.py:4: y", "svc/c.py:14: z"]}).to_string();
    let ok = r#"{"ok":true,"written":33}"#;
    check(
        "camel",
        &[
            (
                ("peek", json!({"target": "svc/a.py", "first": 1, "count": 9}), &file),
                "Read svc/a.py",
            ),
            (
                (
                    "runShell",
                    json!({"cmdline": "python -m pytest -q", "workdir": "/srv"}),
                    &failed,
                ),
                "Command cd /srv && python -m pytest -q =failed",
            ),
            (
                (
                    "swapText",
                    json!({"target": "svc/a.py", "before": "def settle(rows):", "after": "def settle(rows, *, c):"}),
                    ok,
                ),
                "Change svc/a.py -before =ok",
            ),
            (
                ("putFile", json!({"target": "svc/x.py", "body": "A = 1\nB = 2\n"}), ok),
                "Change svc/x.py =ok",
            ),
            (
                (
                    "runShell",
                    json!({"cmdline": "rm /tmp/probe.py", "workdir": "/srv"}),
                    &passed,
                ),
                "Command cd /srv && rm /tmp/probe.py =ok",
            ),
            (("lookFor", json!({"needle": "Rate", "under": "svc"}), &hits), "Search"),
            (
                (
                    "planBoard",
                    json!({"cards": [{"label": "Reproduce it", "phase": "doing"}, {"label": "Mend it", "phase": "later"}]}),
                    ok,
                ),
                "Todo =ok",
            ),
            (
                ("askHuman", json!({"query": "Round twice?"}), r#"{"reply":"No"}"#),
                "Ask",
            ),
        ],
    );
}

#[test]
fn one_tool_of_many_verbs_is_as_many_tools() {
    let tool = "workbench";
    let all = |verb: &str, payload: Value| json!({"verb": verb, "payload": payload});
    check(
        "workbench",
        &[
            (
                (tool, all("show", json!({"path": "svc/a.py", "range": [1, 9]})), CODE),
                "Read svc/a.py",
            ),
            (
                (
                    tool,
                    all("execute", json!({"command": "pytest -q"})),
                    "[FAILED exit=1]\n1 failed",
                ),
                "Command pytest -q =failed",
            ),
            (
                (
                    tool,
                    all(
                        "replace",
                        json!({"path": "svc/a.py", "old": "def settle(rows):", "new": "x"}),
                    ),
                    "[OK] 1",
                ),
                "Change svc/a.py -old",
            ),
            (
                (
                    tool,
                    all("create", json!({"path": "svc/n.py", "content": "A = 1\n"})),
                    "[OK] created",
                ),
                "Change svc/n.py",
            ),
            (
                (
                    tool,
                    all("execute", json!({"command": "git status"})),
                    "[OK exit=0]\nclean",
                ),
                "Command git status =ok",
            ),
            (
                (
                    tool,
                    all("search", json!({"pattern": "Rate", "path": "svc"})),
                    "[OK]\nsvc/a.py:1: Rate",
                ),
                "Search",
            ),
            (
                (
                    tool,
                    all("execute", json!({"command": "pytest -q"})),
                    "[OK exit=0]\n8 passed",
                ),
                "Command pytest -q =ok",
            ),
            (
                (
                    tool,
                    all("plan", json!({"items": [{"title": "Mend", "state": "doing"}]})),
                    "[OK] saved",
                ),
                "Todo",
            ),
            (
                (
                    tool,
                    all("ask", json!({"question": "Which?"})),
                    "[OK] the user answers: this",
                ),
                "Ask",
            ),
        ],
    );
}

#[test]
fn the_verb_may_have_any_name_where_the_parameters_go_by_it() {
    let tool = "ide";
    check(
        "ide",
        &[
            (
                (tool, json!({"does": "cat", "where": "src/a.py"}), CODE),
                "Read src/a.py",
            ),
            (
                (tool, json!({"does": "sh", "line": "cargo test -p core"}), "ok"),
                "Command cargo test -p core",
            ),
            (
                (tool, json!({"does": "cat", "where": "src/b.py"}), CODE),
                "Read src/b.py",
            ),
            (
                (tool, json!({"does": "sh", "line": "git diff --stat"}), "1 file"),
                "Command git diff --stat",
            ),
        ],
    );
}

#[test]
fn parameters_are_freed_of_what_wraps_them() {
    for wrap in [
        "args",
        "input",
        "params",
        "arguments",
        "kwargs",
        "options",
        "data",
        "request",
    ] {
        check(
            wrap,
            &[
                (
                    ("sys.exec", json!({wrap: {"command": "make test"}}), "ok"),
                    "Command make test",
                ),
                (
                    ("file.get", json!({wrap: {"path": "a.py", "start_line": 1}}), CODE),
                    "Read a.py",
                ),
                (
                    (
                        "file.swap",
                        json!({wrap: {"path": "a.py", "old_text": "x", "new_text": "y"}}),
                        "done",
                    ),
                    "Change a.py -old_text",
                ),
            ],
        );
    }
    // As a text, as some frameworks for agents do; and beside the word that says which tool is meant.
    let inner = json!({"command": "npm run build"}).to_string();
    check(
        "text",
        &[(("invoke", json!({"tool_input": inner}), "ok"), "Command npm run build")],
    );
    check(
        "react",
        &[(
            (
                "act",
                json!({"action": "write_file", "action_input": {"file_path": "a.py", "text": "x"}}),
                "ok",
            ),
            "Change a.py",
        )],
    );
}

#[test]
fn a_command_may_be_a_list_or_a_program_and_its_arguments() {
    check(
        "lists",
        &[
            (
                ("spawn", json!({"argv": ["git", "log", "--oneline"]}), "a"),
                "Command git log --oneline",
            ),
            (
                ("spawn", json!({"argv": ["bash", "-lc", "cargo test 2>&1 | tail"]}), "a"),
                "Command cargo test 2>&1 | tail",
            ),
            (
                ("proc", json!({"program": "cargo", "argv": ["test", "-p", "a b"]}), "a"),
                "Command cargo test -p 'a b'",
            ),
            (
                ("proc", json!({"program": "git", "argv": ["status"]}), "a"),
                "Command git status",
            ),
        ],
    );
}

#[test]
fn a_status_is_known_however_it_is_said() {
    for (good, bad) in [
        ("ok\n--- exit status 0 ---", "no\n--- exit status 2 ---"),
        (
            "ok\nexited with status 0 after 0.41s",
            "no\nexited with status 1 after 12.0s",
        ),
        ("> exit 0 (3 ms)\nok", "> exit 1 (9 ms)\nno"),
        (r#"{"rc":0,"output":"ok"}"#, r#"{"rc":1,"output":"no"}"#),
        (
            r#"{"result":{"code":0,"stdout":"ok"}}"#,
            r#"{"result":{"code":7,"stdout":"no"}}"#,
        ),
    ] {
        let run = |answer: &'static str| ("zsh_line", json!({"line": "pytest -q"}), answer);
        let (ok, failed) = ("Command pytest -q =ok", "Command pytest -q =failed");
        check(
            good,
            &[(run(good), ok), (run(bad), failed), (run(good), ok), (run(good), ok)],
        );
    }
}

#[test]
fn an_edit_is_known_by_two_versions_of_a_text_or_by_what_stood_in_the_file() {
    check(
        "versions",
        &[
            (("look", json!({"where": "src/a.py"}), CODE), "Read src/a.py"),
            (
                (
                    "alter",
                    json!({"where": "src/a.py", "one": "    return total.quantize(CENT)", "two": "    return total.quantize(ONE)"}),
                    "ok",
                ),
                "Change src/a.py -one",
            ),
            // In the other order, and nothing of it in common.
            (
                (
                    "fix",
                    json!({"where": "src/a.py", "b": "pass", "a": "class Ledger:"}),
                    "ok",
                ),
                "Change src/a.py -a",
            ),
            (
                (
                    "morph",
                    json!({"where": "src/a.py", "changes": [{"before": "x = 1", "after": "x = 2"}]}),
                    "ok",
                ),
                "Change src/a.py -before",
            ),
        ],
    );
}

#[test]
fn a_patch_is_one_under_any_name() {
    let patch = "--- a/src/x.rs\n+++ b/src/x.rs\n@@ -1 +1 @@\n-a\n+b\n";
    check(
        "patch",
        &[(("amend", json!({"unified": patch}), "ok"), "Change src/x.rs")],
    );
}

#[test]
fn a_list_of_what_is_to_be_done_is_one_under_any_name() {
    let list = |state: &str| json!({"entries": [{"name": "Reproduce it", "column": "done"}, {"name": "Mend it", "column": state}]});
    check("names", &[(("checklist", list("doing"), "ok"), "Todo")]);
    // It comes again with other states.
    check(
        "again",
        &[
            (("jot", list("todo"), "ok"), "Todo"),
            (("jot", list("doing"), "ok"), "Todo"),
        ],
    );
    let deep = json!({"data": {"list": [{"text": "Mend it", "done": false}, {"text": "Test it", "done": true}]}});
    check("deep", &[(("my_plan", deep, "ok"), "Todo")]);
}

#[test]
fn agents_that_some_know_are_read_too() {
    check(
        "Cline",
        &[
            (
                (
                    "execute_command",
                    json!({"command": "ls", "requires_approval": false}),
                    "a",
                ),
                "Command ls",
            ),
            (
                (
                    "replace_in_file",
                    json!({"path": "a.rs", "diff": "------- SEARCH\nx\n=======\ny\n+++++++ REPLACE"}),
                    "ok",
                ),
                "Change a.rs",
            ),
        ],
    );
    check(
        "Goose",
        &[
            (
                ("developer__shell", json!({"command": "ls -la"}), "a"),
                "Command ls -la",
            ),
            (
                (
                    "developer__text_editor",
                    json!({"command": "write", "path": "/w/a.rs", "file_text": "x"}),
                    "ok",
                ),
                "Change /w/a.rs",
            ),
        ],
    );
    check(
        "OpenHands",
        &[
            (
                ("execute_bash", json!({"command": "ls", "security_risk": "LOW"}), "a"),
                "Command ls",
            ),
            (
                (
                    "str_replace_editor",
                    json!({"command": "view", "path": "/w/a.py"}),
                    CODE,
                ),
                "Read /w/a.py",
            ),
        ],
    );
    check(
        "Zed",
        &[
            (
                ("terminal", json!({"command": "cargo check", "cd": "zed"}), "a"),
                "Command cargo check",
            ),
            (
                (
                    "edit_file",
                    json!({"path": "a.rs", "mode": "edit", "display_description": "x"}),
                    "ok",
                ),
                "Change a.rs",
            ),
        ],
    );
    check(
        "Windsurf",
        &[
            (
                (
                    "run_command",
                    json!({"CommandLine": "npm test", "Cwd": "/w", "Blocking": true}),
                    "a",
                ),
                "Command cd /w && npm test",
            ),
            (
                (
                    "view_line_range",
                    json!({"AbsolutePath": "/w/a.ts", "StartLine": 1, "EndLine": 9}),
                    CODE,
                ),
                "Read /w/a.ts",
            ),
        ],
    );
    check(
        "Junie",
        &[
            (
                ("bash", json!({"command": "./gradlew test"}), "a"),
                "Command ./gradlew test",
            ),
            (
                (
                    "search_replace",
                    json!({"file_path": "A.kt", "search": "x", "replace": "y"}),
                    "ok",
                ),
                "Change A.kt -search",
            ),
        ],
    );
    check(
        "Kimi",
        &[
            (("Shell", json!({"command": "ls"}), "a"), "Command ls"),
            (
                (
                    "StrReplaceFile",
                    json!({"path": "/w/a.py", "edit": {"old": "x = 1", "new": "x = 2"}}),
                    "ok",
                ),
                "Change /w/a.py -old",
            ),
            (
                (
                    "WriteFile",
                    json!({"path": "/w/a.py", "content": "x", "mode": "overwrite"}),
                    "ok",
                ),
                "Change /w/a.py",
            ),
            (
                (
                    "SetTodoList",
                    json!({"todos": [{"title": "Mend it", "status": "In Progress"}]}),
                    "ok",
                ),
                "Todo",
            ),
        ],
    );
    check(
        "Droid",
        &[
            (
                ("Execute", json!({"command": "git status", "riskLevel": "low"}), "a"),
                "Command git status",
            ),
            (
                ("Create", json!({"file_path": "/w/a.py", "content": "x"}), "ok"),
                "Change /w/a.py",
            ),
        ],
    );
    check(
        "Augment",
        &[
            (
                ("launch-process", json!({"command": "ls", "wait": true}), "a"),
                "Command ls",
            ),
            (("view", json!({"path": "a.py", "type": "file"}), CODE), "Read a.py"),
        ],
    );
    check(
        "Trae",
        &[
            (
                (
                    "json_edit_tool",
                    json!({"operation": "set", "file_path": "/w/a.json", "json_path": "$.a", "value": {"b": 1}}),
                    "ok",
                ),
                "Other",
            ),
            (
                (
                    "sequentialthinking",
                    json!({"thought": "make it work with git rebase -i"}),
                    "ok",
                ),
                "Other",
            ),
        ],
    );
    check(
        "Servers",
        &[
            (
                ("shell__run", json!({"cmd_line": "ls -la src"}), "a"),
                "Command ls -la src",
            ),
            (
                ("git__git_diff", json!({"repo_path": "/w", "target": "main"}), "a"),
                "Other",
            ),
            (
                (
                    "filesystem__edit_file",
                    json!({"path": "/w/a.py", "edits": [{"oldText": "x", "newText": "y"}], "dryRun": false}),
                    "ok",
                ),
                "Change /w/a.py -oldText",
            ),
        ],
    );
    check(
        "Warp",
        &[(
            ("run_shell", json!({"commandLine": "ls -l", "isReadOnly": true}), "a"),
            "Command ls -l",
        )],
    );
}

#[test]
fn tools_that_speak_search_or_act_elsewhere_stay_what_they_are() {
    check_other(
        "send_message",
        &[
            (json!({"text": "git push --force is forbidden"}), "sent"),
            (json!({"text": "make test && go home"}), "sent"),
        ],
    );
    check_other(
        "query",
        &[
            (json!({"sql": "select * from a.py"}), "1 row"),
            (json!({"sql": "delete from users;\nselect 1"}), "ok"),
        ],
    );
    check_other(
        "http",
        &[
            (
                json!({"method": "POST", "url": "https://x.org/a.py", "body": "{\n\"a\": 1\n}"}),
                "201",
            ),
            (json!({"method": "DELETE", "path": "/api/a.json"}), "204"),
        ],
    );
    check_other(
        "search_docs",
        &[
            (json!({"query": "cargo test --no-run"}), "a\nb\nc"),
            (json!({"query": "git rebase -i"}), "a"),
        ],
    );
    check_other(
        "browser",
        &[
            (json!({"action": "open", "url": "https://x.org"}), "ok"),
            (json!({"action": "type", "text": "ls -la"}), "ok"),
            (json!({"action": "click", "selector": "#a"}), "ok"),
        ],
    );
    check_other(
        "translate",
        &[(
            json!({"text": "find the file", "from": "en", "to": "de"}),
            "finde die Datei",
        )],
    );
    check_other(
        "review_comment",
        &[(
            json!({"path": "src/a.rs", "line": 3, "body": "This is wrong, as said:\nplease mend it."}),
            "posted",
        )],
    );
    check_other(
        "explain_code",
        &[(
            json!({"file": "src/a.rs", "question": "What does this do and\nwhy is it so?"}),
            "It adds.\nThen it subtracts.\nAnd so on, for ever and ever, until it ends.",
        )],
    );
    check_other(
        "lint_module",
        &[(
            json!({"path": "src/a.rs"}),
            "a.rs: bad\nb: worse, much worse than it was ever before\nc: worst of all of them\nd",
        )],
    );
    check_other(
        "tracker",
        &[(json!({"issues": [{"title": "It breaks", "state": "open"}]}), "created")],
    );
    check_other(
        "create_event",
        &[(json!({"title": "make it so", "when": "2026-01-01"}), "ok")],
    );
    check_other(
        "transfer",
        &[(json!({"source": "a/x.csv", "destination": "b/x.csv"}), "copied")],
    );
    check_other(
        "geocode",
        &[(json!({"place": "bash street 3", "options": {"lang": "en"}}), "1,2")],
    );
    check_other(
        "kv",
        &[
            (json!({"op": "set", "key": "a", "value": "cat /etc/passwd"}), "ok"),
            (json!({"op": "get", "key": "a"}), "cat /etc/passwd"),
        ],
    );
    check_other(
        "compare_texts",
        &[(
            json!({"file": "a.py", "left": "def f(x):\n    1", "right": "def f(y):\n    1"}),
            "1 difference",
        )],
    );
    check_other("think", &[(json!({"thought": "cd src && make test, then look"}), "ok")]);
    check_other(
        "render",
        &[(json!({"template": "Dear user,\nthe end", "to": "me"}), "ok")],
    );
    check_other("ask_expert", &[(json!({"question": "git or hg?"}), "git")]);
    check_other(
        "spawn_agent",
        &[(json!({"prompt": "python -m pytest fails.\nPlease mend it."}), "done")],
    );
    check_other("upload", &[(json!({"path": "a.py"}), "https://x")]);
    check_other("labels", &[(json!({"names": ["git", "status"]}), "ok")]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_dialect_breaks_the_reader(
        tools in prop::collection::vec("(act|run|edit|a__b|\\PC){1,3}", 1..6),
        name in "(verb|path|cmd|é|\\PC){0,3}",
        values in prop::collection::vec(prop::sample::select(vec![
            json!("git status -s"), json!("src/a.rs"), json!(["git", "log"]), json!({"a": {"b": {"c": {"d": 1}}}}), json!("{\"a\":1}"),
            json!([{"x": "a b", "y": "done"}]), json!("a\nb\n"), json!(null), json!(3), json!("exec")]), 1..4),
        answer in "(exit|=| |[0-9]|\n|\\[|\\{|\"|\\PC){0,20}",
    ) {
        let steps: Vec<Step> = tools.iter().map(|tool| {
            let parameters = values.iter().enumerate().map(|(at, value)| (format!("{name}{at}"), value.clone())).collect();
            (tool.as_str(), Value::Object(parameters), answer.as_str())
        }).collect();
        document(&steps);
    }
}
