//! What the tools of agents do, in the engine's notions.

use codelet_context::message::{Action, ActionKind};
use codelet_transcript::actions::action;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn act(tool: &str, parameters: Value) -> Action {
    let Value::Object(parameters) = parameters else {
        return action(tool, &Map::new());
    };
    action(tool, &parameters)
}

/// A kind, the files, and what happens to those that are changed.
fn told(action: &Action) -> String {
    let kind = match action.kind {
        ActionKind::Change => format!("{:?}", action.change),
        kind => format!("{kind:?}"),
    };
    let paths = action.paths.iter().map(|path| &**path);
    std::iter::once(&*kind).chain(paths).collect::<Vec<_>>().join(" ")
}

/// Lines of `tool {parameters} | what it does to which files`.
fn check(table: &str) {
    for line in table.trim().lines() {
        let (call, expected) = line.rsplit_once(" | ").unwrap();
        let (tool, parameters) = call.split_once('{').unwrap();
        let action = act(tool.trim(), serde_json::from_str(&format!("{{{parameters}")).unwrap());
        assert_eq!(told(&action), expected.trim(), "{line}");
    }
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
    check(
        r#"
        Read {"file_path": "/a.rs", "limit": 3} | Read /a.rs
        read {"filePath": "/a.rs"} | Read /a.rs
        view {"path": "/a.rs", "view_range": [1, 2]} | Read /a.rs
        read_file {"target_file": "/a.rs"} | Read /a.rs
        read_file {"absolute_path": "/a.rs"} | Read /a.rs
        read_many_files {"paths": ["a", "b"]} | Read a b
        read_file {"files": [{"path": "a"}, {"path": "b"}]} | Read a b
        Edit {"file_path": "a", "old_string": "x", "new_string": "y"} | Writes a
        edit {"path": "a", "oldText": "x", "newText": "y"} | Writes a
        create {"path": "a", "file_text": "x"} | Writes a
        write_to_file {"path": "a", "content": "x"} | Writes a
        replace {"file_path": "a", "old_string": "x"} | Writes a
        str_replace_editor {"command": "view", "path": "a"} | Read a
        str_replace_editor {"command": "create", "path": "a", "file_text": ""} | Writes a
        developer__text_editor {"command": "str_replace", "path": "a"} | Writes a
        developer__shell {"command": "ls"} | Command
        functions.exec_command {"cmd": "ls"} | Command
        execute_bash {"command": "ls"} | Command
        run_shell_command {"command": "ls"} | Command
        Grep {"pattern": "x", "path": "src"} | Search
        search_file_content {"pattern": "x"} | Search
        list_directory {"path": "x"} | Search
        TodoWrite {"todos": []} | Todo
        update_plan {"plan": []} | Todo
        task {"command": "/review", "prompt": "x"} | Other
        write_stdin {"session_id": 1, "chars": ""} | Other
        "#,
    );
}

#[test]
fn a_tool_may_take_files_away_move_them_or_undo_what_was_done_to_them() {
    check(
        r#"
        delete_file {"target_file": "a", "explanation": "unused"} | Removes a
        delete {"path": "a"} | Removes a
        remove-files {"file_paths": ["a", "b"]} | Removes a b
        undo_edit {"path": "a"} | Undoes a
        developer__text_editor {"command": "undo_edit", "path": "a"} | Undoes a
        move_file {"source": "a", "destination": "b"} | Moves a b
        rename_file {"old_path": "d/a", "newPath": "b"} | Moves d/a b
        "#,
    );
    // A part of a file, and what only sounds like it.
    check(
        r#"
        delete {"path": "a", "start_line": 1, "end_line": 2} | Writes a
        undo_edit {"path": "a", "steps": 2} | Writes a
        str_replace_editor {"command": "insert", "path": "a"} | Writes a
        mcp__github__delete_file {"owner": "o", "repo": "r", "path": "a", "branch": "b"} | Other
        mcp__files__delete_file {"path": "a"} | Other
        delete_file {"path": "a", "dry_run": true} | Other
        move {"from": "e2", "to": "e4"} | Other
        move_cursor {"from": "a", "to": "b"} | Other
        rename_symbol {"name": "a", "new_name": "b"} | Other
        move_file {"source": "a"} | Other
        undo {"steps": 2} | Other
        "#,
    );
    // What a server for something else keeps under such a path.
    check(
        r#"
        mcp__qdrant__delete_file {"file_path": "/w/src/a.py"} | Other
        qdrant_delete_file {"file_path": "/w/src/a.py"} | Other
        mcp__repomap__remove_file {"path": "/w/src/a.py"} | Other
        mcp__e2b__delete_file {"sandbox_id": "b", "path": "/w/src/a.py"} | Other
        mcp__e2b__move_file {"source": "/w/a.py", "destination": "/w/b.py"} | Other
        mcp__files_index__remove_file {"path": "/w/src/a.py"} | Other
        mcp__pencil__undo {"path": "/w/src/a.py"} | Other
        mcp__pencil__undo_edit {"path": "/w/src/a.py"} | Other
        mcp__vault__delete {"path": "secret/app/db.json"} | Other
        mcp__rest__delete {"path": "/api/v1/orders/17"} | Other
        mcp__firebase__remove {"path": "users/123"} | Other
        mcp__files__delete {"path": "users/123"} | Other
        http.delete {"path": "/w/src/a.py"} | Other
        "#,
    );
}

#[test]
fn unknown_names_are_judged_by_their_parameters() {
    check(
        r#"
        Tinker {"path": "a", "oldText": "x"} | Writes a
        tinker {"file": "a", "contents": "x"} | Writes a
        tinker {"path": "a", "start_line": 1} | Read a
        tinker {"path": "a"} | Read a
        tinker {"path": "a", "query": "x"} | Search
        tinker {"cmd": "ls"} | Command
        tinker {"patchText": "*** Begin Patch\n*** Update File: a\n"} | Writes a
        mcp__files__read_file {"path": "a"} | Read a
        mcp__tickets__create {"title": "a"} | Other
        mcp__tickets__list {"team": "a"} | Other
         {} | Other
        "#,
    );
}

#[test]
fn patches_name_the_files_that_they_change() {
    let patch = "*** Begin Patch\n*** Add File: new.rs\n+x\n*** Update File: src/old.rs\n*** Move to: src/moved.rs\n@@\n*** Delete File: gone.rs\n*** End Patch";
    let paths = "new.rs src/old.rs src/moved.rs gone.rs";
    for parameters in [json!({"input": patch}), json!({"patchText": patch})] {
        assert_eq!(told(&act("apply_patch", parameters)), format!("Writes {paths}"));
    }
    assert_eq!(
        told(&act("shell", json!({"command": ["apply_patch", patch]}))),
        format!("Writes {paths}")
    );
    let line = format!("cd src && apply_patch <<'EOF'\n{patch}\nEOF\ncargo test");
    let told = told(&act("shell", json!({"command": ["bash", "-lc", line]})));
    assert_eq!(told, format!("Command {paths}"));
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
    let question = r#"{"question": "May the release branch be force pushed?"}"#;
    for (tools, kind) in [
        (
            "AskUserQuestion ask_followup_question ask_user question request_user_input",
            "Ask",
        ),
        (
            "mcp__wiki__ask_question wiki__ask_user server.question ask_question search_docs",
            "Other",
        ),
    ] {
        for tool in tools.split(' ') {
            check(&format!("{tool} {question} | {kind}"));
        }
    }
    check(
        r#"
        attempt_completion {"result": "It is done."} | Ask
        mcp__feedback__interactive_feedback {"project_directory": "/w", "summary": "It is done."} | Ask
        mcp__x__attempt_completion {"result": "x"} | Other
        ExitPlanMode {"plan": "1. do it"} | Ask
        mcp__x__ExitPlanMode {"plan": "1. do it"} | Other
        "#,
    );
}

#[test]
fn names_are_the_same_however_their_words_are_joined() {
    check(
        r#"
        readFile {"path": "a"} | Read a
        fsWrite {"path": "a", "text": "x"} | Writes a
        strReplace {"path": "a", "oldStr": "x", "newStr": "y"} | Writes a
        save-file {"path": "a", "file_content": "x"} | Writes a
        str-replace-editor {"command": "str_replace", "path": "a"} | Writes a
        executeBash {"command": "ls"} | Command
        todo__write {"content": "- [ ] x"} | Todo
        todos {"todos": []} | Todo
        set_plan {"steps": []} | Todo
        read_file {"filepath": "a"} | Read a
        edit_file {"target_filepath": "a", "code_edit": "x"} | Writes a
        unheard_of {"TargetFile": "a", "CodeEdit": "x"} | Writes a
        unheard_of {"CommandLine": "ls"} | Command
        "#,
    );
}

#[test]
fn files_are_named_one_by_one_or_within_lists() {
    check(
        r#"
        fs_read {"operations": [{"mode": "Line", "path": "a"}, {"path": "b"}]} | Read a b
        read_file {"args": {"file": [{"path": "a"}, {"path": "b"}]}} | Read a b
        apply_diff {"args": {"file": {"path": "a", "diff": []}}} | Writes a
        read_many_files {"include": ["a", "src/**/*.rs"]} | Read a
        edit_files {"files": [{"path": "a", "search": "x", "replace": "y"}]} | Writes a
        grep_all {"pattern": "x", "include": ["a"], "limit": 3} | Search
        "#,
    );
}

#[test]
fn a_server_s_name_may_stand_before_that_of_a_tool() {
    check(
        r#"
        replace_symbol_body {"name_path": "F/g", "relative_path": "a", "body": "x"} | Writes a
        mcp__serena__insert_after_symbol {"name_path": "F/g", "relative_path": "a", "body": "x"} | Writes a
        serena_replace_symbol_body {"name_path": "F/g", "relative_path": "a", "body": "x"} | Writes a
        replace_regex {"relative_path": "a", "regex": "x.*", "repl": "y"} | Writes a
        serena_replace_regex {"relative_path": "a", "regex": "x.*", "repl": "y"} | Writes a
        unheard_of {"relative_path": "a", "regex": "x.*", "repl": "y"} | Writes a
        desktop-commander_start_process {"command": "ls"} | Command
        jira_read_file {"id": 7} | Other
        team_update_plan {"plan": "gold"} | Other
        "#,
    );
}

#[test]
fn an_editor_is_known_by_what_it_is_told() {
    check(
        r#"
        editor {"command": "view", "path": "a"} | Read a
        editor {"command": "undo_edit", "path": "a"} | Undoes a
        files {"command": "insert", "path": "a", "insert_line": 1} | Writes a
        text_editor_code_execution {"command": "view", "path": "a"} | Read a
        sandbox {"command": "view", "cwd": "/"} | Command
        sandbox {"command": "create-react-app x", "path": "/"} | Command
        "#,
    );
}

#[test]
fn a_tool_that_no_row_knows_is_known_by_its_parameters_unless_a_word_of_its_name_says_otherwise() {
    check(
        r#"
        get_file_contents {"file": "a"} | Read a
        loadFiles {"paths": ["a", "b"]} | Read a b
        open-file {"path": "a"} | Read a
        modify_file {"file": "a", "find": "x", "replace": "y"} | Writes a
        write_file_content {"path": "a", "data": "x"} | Writes a
        create_new_file {"filepath": "a"} | Writes a
        edit_file_fast_apply {"file_path": "a", "code_edit": "x"} | Writes a
        Delete {"path": "a"} | Removes a
        remove_files {"paths": ["a"]} | Removes a
        run_script {"script": "make test"} | Command
        get_file {"id": 3} | Other
        delete {"id": 3} | Other
        run_command {"command": "ls"} | Command
        get_file_history {"path": "a"} | Other
        upload_file {"path": "a"} | Other
        get_file_contents {"owner": "o", "repo": "r", "path": "a"} | Other
        run_tests {"path": "tests/"} | Other
        execute_sql {"query": "select 1"} | Other
        "#,
    );
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
        assert_eq!(told(&act(&name, json!({ &name: "a" }))), "Other");
    }
}
