//! What the tools of agents do, in the engine's notions.

use codelet_context::message::{Action, ActionKind, ChangeKind};
use codelet_transcript::actions::action;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn act(tool: &str, parameters: Value) -> Action {
    let Value::Object(parameters) = parameters else {
        return action(tool, &Map::new());
    };
    action(tool, &parameters)
}

fn check(tool: &str, parameters: Value, kind: ActionKind, paths: &[&str]) {
    let action = act(tool, parameters.clone());
    let found: Vec<&str> = action.paths.iter().map(|path| &**path).collect();
    assert_eq!((action.kind, found.as_slice()), (kind, paths), "{tool} {parameters}");
}

#[test]
fn what_is_typed_into_a_program_that_runs_is_no_command_line() {
    let line = |parameters| {
        let action = act("execute_bash", parameters);
        assert_eq!(action.kind, ActionKind::Command);
        action.command.map(|line| line.to_string())
    };
    for parameters in [
        json!({"command": ""}),
        json!({"command": "C-c"}),
        json!({"command": "C-c", "is_input": "true"}),
        json!({"command": "y", "is_input": true}),
        json!({"command": "y", "isInput": "True"}),
    ] {
        assert_eq!(line(parameters.clone()), None, "{parameters}");
    }
    for parameters in [
        json!({"command": "true"}),
        json!({"command": "true", "is_input": "false"}),
        json!({"command": "true", "is_input": false}),
        json!({"command": "true", "stdin": "C-c"}),
        json!({"command": "true", "stdin": true, "tty": true}),
    ] {
        assert_eq!(line(parameters.clone()).as_deref(), Some("true"), "{parameters}");
    }
    assert_eq!(act("box_run", json!({"command": "C-d"})).command, None);
}

#[test]
fn known_tools_play_their_parts() {
    use ActionKind::*;
    check("Read", json!({"file_path": "/a.rs", "limit": 3}), Read, &["/a.rs"]);
    check("read", json!({"filePath": "/a.rs"}), Read, &["/a.rs"]);
    check("view", json!({"path": "/a.rs", "view_range": [1, 2]}), Read, &["/a.rs"]);
    check("read_file", json!({"target_file": "/a.rs"}), Read, &["/a.rs"]);
    check("read_file", json!({"absolute_path": "/a.rs"}), Read, &["/a.rs"]);
    check("read_many_files", json!({"paths": ["a", "b"]}), Read, &["a", "b"]);
    check(
        "read_file",
        json!({"files": [{"path": "a"}, {"path": "b"}]}),
        Read,
        &["a", "b"],
    );
    check(
        "Edit",
        json!({"file_path": "a", "old_string": "x", "new_string": "y"}),
        Change,
        &["a"],
    );
    check(
        "edit",
        json!({"path": "a", "oldText": "x", "newText": "y"}),
        Change,
        &["a"],
    );
    check("create", json!({"path": "a", "file_text": "x"}), Change, &["a"]);
    check("write_to_file", json!({"path": "a", "content": "x"}), Change, &["a"]);
    check("replace", json!({"file_path": "a", "old_string": "x"}), Change, &["a"]);
    check(
        "str_replace_editor",
        json!({"command": "view", "path": "a"}),
        Read,
        &["a"],
    );
    check(
        "str_replace_editor",
        json!({"command": "create", "path": "a", "file_text": ""}),
        Change,
        &["a"],
    );
    check(
        "developer__text_editor",
        json!({"command": "str_replace", "path": "a"}),
        Change,
        &["a"],
    );
    check("developer__shell", json!({"command": "ls"}), Command, &[]);
    check("functions.exec_command", json!({"cmd": "ls"}), Command, &[]);
    check("execute_bash", json!({"command": "ls"}), Command, &[]);
    check("run_shell_command", json!({"command": "ls"}), Command, &[]);
    check("Grep", json!({"pattern": "x", "path": "src"}), Search, &[]);
    check("search_file_content", json!({"pattern": "x"}), Search, &[]);
    check("list_directory", json!({"path": "x"}), Search, &[]);
    check("TodoWrite", json!({"todos": []}), Todo, &[]);
    check("update_plan", json!({"plan": []}), Todo, &[]);
    check("task", json!({"command": "/review", "prompt": "x"}), Other, &[]);
    check("write_stdin", json!({"session_id": 1, "chars": ""}), Other, &[]);
}

#[test]
fn a_tool_may_take_files_away_move_them_or_undo_what_was_done_to_them() {
    use ChangeKind::*;
    let change = |tool: &str, parameters: Value, change: ChangeKind, paths: &[&str]| {
        check(tool, parameters.clone(), ActionKind::Change, paths);
        assert_eq!(act(tool, parameters.clone()).change, change, "{tool} {parameters}");
    };
    change(
        "delete_file",
        json!({"target_file": "a", "explanation": "unused"}),
        Removes,
        &["a"],
    );
    change("delete", json!({"path": "a"}), Removes, &["a"]);
    change("remove-files", json!({"file_paths": ["a", "b"]}), Removes, &["a", "b"]);
    change("undo_edit", json!({"path": "a"}), Undoes, &["a"]);
    change(
        "developer__text_editor",
        json!({"command": "undo_edit", "path": "a"}),
        Undoes,
        &["a"],
    );
    change(
        "move_file",
        json!({"source": "a", "destination": "b"}),
        Moves,
        &["a", "b"],
    );
    change(
        "rename_file",
        json!({"old_path": "d/a", "newPath": "b"}),
        Moves,
        &["d/a", "b"],
    );
    // A part of a file, and what only sounds like it.
    change(
        "delete",
        json!({"path": "a", "start_line": 1, "end_line": 2}),
        Writes,
        &["a"],
    );
    change("undo_edit", json!({"path": "a", "steps": 2}), Writes, &["a"]);
    change(
        "str_replace_editor",
        json!({"command": "insert", "path": "a"}),
        Writes,
        &["a"],
    );
    for (tool, parameters) in [
        (
            "mcp__github__delete_file",
            json!({"owner": "o", "repo": "r", "path": "a", "branch": "b"}),
        ),
        ("mcp__files__delete_file", json!({"path": "a"})),
        ("delete_file", json!({"path": "a", "dry_run": true})),
        ("move", json!({"from": "e2", "to": "e4"})),
        ("move_cursor", json!({"from": "a", "to": "b"})),
        ("rename_symbol", json!({"name": "a", "new_name": "b"})),
        ("move_file", json!({"source": "a"})),
        ("undo", json!({"steps": 2})),
        // What a server for something else keeps under such a path.
        ("mcp__qdrant__delete_file", json!({"file_path": "/w/src/a.py"})),
        ("qdrant_delete_file", json!({"file_path": "/w/src/a.py"})),
        ("mcp__repomap__remove_file", json!({"path": "/w/src/a.py"})),
        (
            "mcp__e2b__delete_file",
            json!({"sandbox_id": "b", "path": "/w/src/a.py"}),
        ),
        (
            "mcp__e2b__move_file",
            json!({"source": "/w/a.py", "destination": "/w/b.py"}),
        ),
        ("mcp__files_index__remove_file", json!({"path": "/w/src/a.py"})),
        ("mcp__pencil__undo", json!({"path": "/w/src/a.py"})),
        ("mcp__pencil__undo_edit", json!({"path": "/w/src/a.py"})),
        ("mcp__vault__delete", json!({"path": "secret/app/db.json"})),
        ("mcp__rest__delete", json!({"path": "/api/v1/orders/17"})),
        ("mcp__firebase__remove", json!({"path": "users/123"})),
        ("mcp__files__delete", json!({"path": "users/123"})),
        ("http.delete", json!({"path": "/w/src/a.py"})),
    ] {
        check(tool, parameters, ActionKind::Other, &[]);
    }
}

#[test]
fn unknown_names_are_judged_by_their_parameters() {
    use ActionKind::*;
    check("Tinker", json!({"path": "a", "oldText": "x"}), Change, &["a"]);
    check("tinker", json!({"file": "a", "contents": "x"}), Change, &["a"]);
    check("tinker", json!({"path": "a", "start_line": 1}), Read, &["a"]);
    check("tinker", json!({"path": "a"}), Read, &["a"]);
    check("tinker", json!({"path": "a", "query": "x"}), Search, &[]);
    check("tinker", json!({"cmd": "ls"}), Command, &[]);
    check(
        "tinker",
        json!({"patchText": "*** Begin Patch\n*** Update File: a\n"}),
        Change,
        &["a"],
    );
    check("mcp__files__read_file", json!({"path": "a"}), Read, &["a"]);
    check("mcp__tickets__create", json!({"title": "a"}), Other, &[]);
    check("mcp__tickets__list", json!({"team": "a"}), Other, &[]);
    check("", json!({}), Other, &[]);
}

#[test]
fn patches_name_the_files_that_they_change() {
    let patch = "*** Begin Patch\n*** Add File: new.rs\n+x\n*** Update File: src/old.rs\n*** Move to: src/moved.rs\n@@\n*** Delete File: gone.rs\n*** End Patch";
    let paths = ["new.rs", "src/old.rs", "src/moved.rs", "gone.rs"];
    check("apply_patch", json!({"input": patch}), ActionKind::Change, &paths);
    check("apply_patch", json!({"patchText": patch}), ActionKind::Change, &paths);
    check(
        "shell",
        json!({"command": ["apply_patch", patch]}),
        ActionKind::Change,
        &paths,
    );
    let line = format!("cd src && apply_patch <<'EOF'\n{patch}\nEOF\ncargo test");
    check(
        "shell",
        json!({"command": ["bash", "-lc", line]}),
        ActionKind::Command,
        &paths,
    );
}

#[test]
fn a_command_is_its_line() {
    let line = |parameters| act("shell", parameters).command.unwrap().to_string();
    assert_eq!(line(json!({"command": ["bash", "-lc", "ls | wc"]})), "ls | wc");
    assert_eq!(line(json!({"command": ["/bin/sh", "-c", "ls"]})), "ls");
    assert_eq!(line(json!({"command": ["rg", "a b", "src"]})), "rg 'a b' src");
    assert_eq!(line(json!({"cmd": "cargo test"})), "cargo test");
    assert_eq!(act("bash", json!({})).command, None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(5_000), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_command_line_is_too_odd(line in "([ -~é\n\t]|<<|>|EOF|sed -i|\\\\|'|\"){0,40}") {
        let action = act("bash", json!({"command": line}));
        prop_assert!(action.paths.iter().all(|path| !path.is_empty() && !path.starts_with("/dev/")));
    }
}

#[test]
fn only_an_agents_own_tool_asks_the_user() {
    let question = json!({"question": "May the release branch be force pushed?"});
    for tool in [
        "AskUserQuestion",
        "ask_followup_question",
        "ask_user",
        "question",
        "request_user_input",
    ] {
        check(tool, question.clone(), ActionKind::Ask, &[]);
    }
    for tool in [
        "mcp__wiki__ask_question",
        "wiki__ask_user",
        "server.question",
        "ask_question",
        "search_docs",
    ] {
        check(tool, question.clone(), ActionKind::Other, &[]);
    }
    check(
        "attempt_completion",
        json!({"result": "It is done."}),
        ActionKind::Ask,
        &[],
    );
    let handed = json!({"project_directory": "/w", "summary": "It is done."});
    check("mcp__feedback__interactive_feedback", handed, ActionKind::Ask, &[]);
    check(
        "mcp__x__attempt_completion",
        json!({"result": "x"}),
        ActionKind::Other,
        &[],
    );
    check("ExitPlanMode", json!({"plan": "1. do it"}), ActionKind::Ask, &[]);
    check(
        "mcp__x__ExitPlanMode",
        json!({"plan": "1. do it"}),
        ActionKind::Other,
        &[],
    );
}

#[test]
fn names_are_the_same_however_their_words_are_joined() {
    use ActionKind::*;
    check("readFile", json!({"path": "a"}), Read, &["a"]);
    check("fsWrite", json!({"path": "a", "text": "x"}), Change, &["a"]);
    check(
        "strReplace",
        json!({"path": "a", "oldStr": "x", "newStr": "y"}),
        Change,
        &["a"],
    );
    check("save-file", json!({"path": "a", "file_content": "x"}), Change, &["a"]);
    check(
        "str-replace-editor",
        json!({"command": "str_replace", "path": "a"}),
        Change,
        &["a"],
    );
    check("executeBash", json!({"command": "ls"}), Command, &[]);
    check("todo__write", json!({"content": "- [ ] x"}), Todo, &[]);
    check("todos", json!({"todos": []}), Todo, &[]);
    check("set_plan", json!({"steps": []}), Todo, &[]);
    check("read_file", json!({"filepath": "a"}), Read, &["a"]);
    check(
        "edit_file",
        json!({"target_filepath": "a", "code_edit": "x"}),
        Change,
        &["a"],
    );
    check(
        "unheard_of",
        json!({"TargetFile": "a", "CodeEdit": "x"}),
        Change,
        &["a"],
    );
    check("unheard_of", json!({"CommandLine": "ls"}), Command, &[]);
}

#[test]
fn files_are_named_one_by_one_or_within_lists() {
    use ActionKind::*;
    check(
        "fs_read",
        json!({"operations": [{"mode": "Line", "path": "a"}, {"path": "b"}]}),
        Read,
        &["a", "b"],
    );
    check(
        "read_file",
        json!({"args": {"file": [{"path": "a"}, {"path": "b"}]}}),
        Read,
        &["a", "b"],
    );
    check(
        "apply_diff",
        json!({"args": {"file": {"path": "a", "diff": []}}}),
        Change,
        &["a"],
    );
    check(
        "read_many_files",
        json!({"include": ["a", "src/**/*.rs"]}),
        Read,
        &["a"],
    );
    check(
        "edit_files",
        json!({"files": [{"path": "a", "search": "x", "replace": "y"}]}),
        Change,
        &["a"],
    );
    check(
        "grep_all",
        json!({"pattern": "x", "include": ["a"], "limit": 3}),
        Search,
        &[],
    );
}

#[test]
fn a_server_s_name_may_stand_before_that_of_a_tool() {
    use ActionKind::*;
    let symbol = json!({"name_path": "F/g", "relative_path": "a", "body": "x"});
    check("replace_symbol_body", symbol.clone(), Change, &["a"]);
    check("mcp__serena__insert_after_symbol", symbol.clone(), Change, &["a"]);
    check("serena_replace_symbol_body", symbol, Change, &["a"]);
    let regex = json!({"relative_path": "a", "regex": "x.*", "repl": "y"});
    check("replace_regex", regex.clone(), Change, &["a"]);
    check("serena_replace_regex", regex.clone(), Change, &["a"]);
    check("unheard_of", regex, Change, &["a"]);
    check(
        "desktop-commander_start_process",
        json!({"command": "ls"}),
        Command,
        &[],
    );
    check("jira_read_file", json!({"id": 7}), Other, &[]);
    check("team_update_plan", json!({"plan": "gold"}), Other, &[]);
}

#[test]
fn an_editor_is_known_by_what_it_is_told() {
    use ActionKind::*;
    check("editor", json!({"command": "view", "path": "a"}), Read, &["a"]);
    check("editor", json!({"command": "undo_edit", "path": "a"}), Change, &["a"]);
    check(
        "files",
        json!({"command": "insert", "path": "a", "insert_line": 1}),
        Change,
        &["a"],
    );
    check(
        "text_editor_code_execution",
        json!({"command": "view", "path": "a"}),
        Read,
        &["a"],
    );
    check("sandbox", json!({"command": "view", "cwd": "/"}), Command, &[]);
    check(
        "sandbox",
        json!({"command": "create-react-app x", "path": "/"}),
        Command,
        &[],
    );
}

#[test]
fn a_tool_that_no_row_knows_is_known_by_its_parameters_unless_a_word_of_its_name_says_otherwise() {
    use ActionKind::*;
    check("get_file_contents", json!({"file": "a"}), Read, &["a"]);
    check("loadFiles", json!({"paths": ["a", "b"]}), Read, &["a", "b"]);
    check("open-file", json!({"path": "a"}), Read, &["a"]);
    check(
        "modify_file",
        json!({"file": "a", "find": "x", "replace": "y"}),
        Change,
        &["a"],
    );
    check("write_file_content", json!({"path": "a", "data": "x"}), Change, &["a"]);
    check("create_new_file", json!({"filepath": "a"}), Change, &["a"]);
    check(
        "edit_file_fast_apply",
        json!({"file_path": "a", "code_edit": "x"}),
        Change,
        &["a"],
    );
    check("Delete", json!({"path": "a"}), Change, &["a"]);
    check("remove_files", json!({"paths": ["a"]}), Change, &["a"]);
    check("run_script", json!({"script": "make test"}), Command, &[]);
    check("get_file", json!({"id": 3}), Other, &[]);
    check("delete", json!({"id": 3}), Other, &[]);
    check("run_command", json!({"command": "ls"}), Command, &[]);
    check("get_file_history", json!({"path": "a"}), Other, &[]);
    check("upload_file", json!({"path": "a"}), Other, &[]);
    check(
        "get_file_contents",
        json!({"owner": "o", "repo": "r", "path": "a"}),
        Other,
        &[],
    );
    check("run_tests", json!({"path": "tests/"}), Other, &[]);
    check("execute_sql", json!({"query": "select 1"}), Other, &[]);
}

proptest! {
    #[test]
    fn no_name_is_too_odd(
        tool in "(read|File|_|-|__|\\.|delete|RUN|script|é|\\PC){0,12}",
        names in prop::collection::vec("(path|file|args|command|_|Path|include|\\PC){0,3}", 0..5),
        value in prop::sample::select(vec![json!("a"), json!("view"), json!(["a", 1]), json!({"file": ["a"]}), json!([{"path": "b"}]), json!(null)]),
    ) {
        let parameters: Map<String, Value> = names.into_iter().map(|name| (name, value.clone())).collect();
        action(&tool, &parameters);
    }
}

#[test]
fn a_command_runs_in_the_folder_that_its_call_names() {
    for (tool, parameters, line) in [
        (
            "exec_command",
            json!({"cmd": "npm test", "workdir": "/r/web"}),
            "cd /r/web && npm test",
        ),
        (
            "shell",
            json!({"command": ["bash", "-lc", "ls"], "workdir": "/r/a b"}),
            "cd '/r/a b' && ls",
        ),
        (
            "bash",
            json!({"command": "npm test", "workdir": "web"}),
            "cd web && npm test",
        ),
        (
            "run_shell_command",
            json!({"command": "ls", "dir_path": "a"}),
            "cd a && ls",
        ),
        ("execute_command", json!({"command": "ls", "cwd": "."}), "ls"),
        ("Bash", json!({"command": "ls", "cwd": ""}), "ls"),
    ] {
        let action = act(tool, parameters);
        let found = action.command.as_deref();
        assert_eq!((action.kind, found), (ActionKind::Command, Some(line)), "{tool}");
    }
}

/// Whatever looks at the rest of a name for each of its words does not end here in minutes.
#[test]
fn a_name_of_any_length_is_read_in_time_in_proportion_to_its_bytes() {
    for part in ["_", "a_", "__", "read_", "a.", "é"] {
        let name = part.repeat(1_000_000);
        check(&name, json!({ &name: "a" }), ActionKind::Other, &[]);
    }
}
