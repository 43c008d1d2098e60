//! Tests that the notation is read and written.
#![allow(clippy::unwrap_used)]

use super::*;
use codelet_context::message::{ActionKind, Message, Origin, Part, Role, ToolResult};
use proptest::prelude::*;

fn one_call(words: &str) -> codelet_context::message::ToolCall {
    let messages = parse(&format!("call a: {words}")).unwrap();
    messages[0].calls().next().unwrap().clone()
}

#[test]
fn a_plain_call_is_a_shell_command() {
    let call = one_call("cargo test --all");
    assert_eq!(&*call.tool, "Bash");
    assert_eq!(call.action.kind, ActionKind::Command);
    assert_eq!(call.action.command.as_deref(), Some("cargo test --all"));
}

#[test]
fn known_tools_take_their_arguments() {
    let read = one_call("Read src/a.rs:10-20");
    assert_eq!(
        read.parameters.json().as_str(),
        r#"{"file_path":"src/a.rs","offset":10,"limit":11}"#
    );
    assert_eq!(read.action.paths, [std::sync::Arc::from("src/a.rs")]);
    let edit = one_call("Edit src/a.rs: old => new");
    assert_eq!(edit.action.kind, ActionKind::Change);
    assert_eq!(edit.parameters.str("new_string"), Some("new"));
    let todo = one_call("TodoWrite [x] read; [>] write; [ ] test");
    assert_eq!(todo.action.kind, ActionKind::Todo);
    assert_eq!(todo.parameters.as_map()["todos"][1]["status"], "in_progress");
}

#[test]
fn any_tool_takes_any_parameters() {
    let call = one_call(r#"fetch_page {"url": "https://a.example", "deep": {"n": [1, 2.50]}}"#);
    assert_eq!(&*call.tool, "fetch_page");
    assert_eq!(
        call.parameters.json().as_str(),
        r#"{"url":"https://a.example","deep":{"n":[1,2.50]}}"#
    );
    assert_eq!(&*one_call(r#"Bash {"command": "ls", "timeout": 5}"#).tool, "Bash");
    assert_eq!(
        one_call(r#"echo {broken"#).action.command.as_deref(),
        Some("echo {broken")
    );
}

#[test]
fn a_step_is_one_message_of_calls_and_one_of_results() {
    let messages = parse(
        "user: go
         assistant: I look.
         call a: Read a
         call b: Read b
         result a: 1
         result b failed: no such file
         assistant: done",
    )
    .unwrap();
    let parts: Vec<_> = messages.iter().map(|m| (m.role, m.parts.len())).collect();
    assert_eq!(
        parts,
        [
            (Role::User, 1),
            (Role::Assistant, 3),
            (Role::User, 2),
            (Role::Assistant, 1)
        ]
    );
    let statuses: Vec<_> = messages[2].tool_results().map(|r| r.success).collect();
    assert_eq!(statuses, [Some(true), Some(false)]);
}

#[test]
fn a_plus_joins_and_a_slash_parts() {
    let messages = parse("user: a\n+ user: b\n+ image: image/png\ncall x: ls\n/ call y: ls").unwrap();
    assert_eq!(messages.iter().map(|m| m.parts.len()).collect::<Vec<_>>(), [3, 1, 1]);
    assert_eq!(parse("+ user: b").unwrap_err(), ShapeError::NothingBefore { line: 1 });
}

#[test]
fn an_answer_may_have_several_blocks_and_an_error() {
    let text = "call a: ls\nresult a failed: out\nresult a more: err\nresult a image: image/png\nresult a error: exit status 2\n";
    let messages = parse(text).unwrap();
    let result = messages[1].tool_results().next().unwrap();
    assert_eq!(result.output.len(), 3);
    assert_eq!(result.error.as_ref().unwrap().as_str(), "exit status 2");
    assert_eq!(exact(&messages), text);
}

#[test]
fn an_interrupted_answer_is_a_failure_that_does_not_say_so() {
    let messages = parse("result a: [interrupted]").unwrap();
    assert_eq!(messages[0].tool_results().next().unwrap().success, Some(false));
    assert_eq!(exact(&messages), "result a: [interrupted]\n");
}

#[test]
fn a_text_may_say_itself_often() {
    let messages = parse("result a: ok\\n × 40").unwrap();
    let result = messages[0].tool_results().next().unwrap();
    assert_eq!(result.texts().next().unwrap().body.as_str(), "ok\n".repeat(40));
    let genuine = [Message::user("3 × 40"), Message::user("a × 1"), Message::user(" × 7")];
    assert_eq!(parse(&exact(&genuine)).unwrap(), genuine);
    assert_eq!(
        parse("user: a × 99999999999").unwrap_err(),
        ShapeError::TooLong { line: 1 }
    );
    assert_eq!(
        parse("user: aa × 18446744073709551615").unwrap_err(),
        ShapeError::TooLong { line: 1 }
    );
}

#[test]
fn a_reminder_is_of_its_kind_and_a_typed_tag_is_a_prompt() {
    let messages = parse("reminder gitStatus: clean\nuser: <system-reminder>x</system-reminder>").unwrap();
    assert!(!messages[0].is_prompt());
    assert!(messages[1].is_prompt());
    assert!(matches!(&messages[0].parts[0], Part::Text(t) if matches!(t.origin, Origin::Reminder(_))));
}

#[test]
fn errors_name_the_line() {
    assert_eq!(
        parse("user: a\n\nusr: b").unwrap_err().to_string(),
        "line 3 starts with `usr`, which is not a known label"
    );
    assert_eq!(parse("hello").unwrap_err(), ShapeError::NoColon { line: 1 });
    assert_eq!(
        parse("result a more: x").unwrap_err(),
        ShapeError::NothingBefore { line: 1 }
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_survives_a_line(words in "\\PC*|[ \\\\×:0-9\n\r\t\u{1b}\u{202e}unse{}\"+/]{0,40}") {
        let messages = [Message::user(words.as_str()), Message::results(vec![ToolResult::new(words.as_str(), None, words.as_str())])];
        prop_assert_eq!(parse(&exact(&messages)).unwrap(), messages);
    }

    #[test]
    fn any_call_keeps_its_tool_and_parameters(tool in "[A-Za-z]{0,8}|Read|Edit|Bash|Grep|TodoWrite|\\PC{0,6}", key in "command|file_path|pattern|path|content|\\PC{0,4}", value in "\\PC{0,20}|Read [a-z]{1,4}|x \\{\"a\":1\\}| [a-z:=> -]{0,10}") {
        let mut map = serde_json::Map::new();
        map.insert(key, value.into());
        let call = codelet_context::message::ToolCall::new("a", tool, map);
        let messages = [Message::new(Role::Assistant, vec![Part::ToolCall(call.clone())])];
        let back = parse(&exact(&messages)).unwrap();
        let read = back[0].calls().next().unwrap();
        prop_assert_eq!(&read.tool, &call.tool);
        prop_assert_eq!(&read.parameters, &call.parameters);
    }

    #[test]
    fn no_text_breaks_the_reader(shape in "(([+/] )?(user|call a|result a( failed| more| nothing)?|thinking|other x|image|empty user|usr)?:? ?\\PC{0,12}\n){0,8}") {
        if let Ok(messages) = parse(&shape) {
            let written = exact(&messages);
            prop_assert_eq!(exact(&parse(&written).unwrap()), written);
            let _ = codelet_transcript::shape::write(&messages);
        }
    }
}
