//! Tests of the Claude Code reader.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::Warning;
use crate::sketch::{check, check_odd, sketch};

/// Returns an entry: its number, its parent's, and the rest of its fields.
fn entry(id: u32, parent: u32, rest: &str) -> String {
    let parent = if parent == 0 {
        String::from("null")
    } else {
        format!("\"u{parent}\"")
    };
    format!("{{\"uuid\":\"u{id}\",\"parentUuid\":{parent},\"isSidechain\":false,{rest}}}\n")
}

fn prompt(id: u32, parent: u32, text: &str) -> String {
    entry(
        id,
        parent,
        &format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#),
    )
}

fn said(id: u32, parent: u32, message: &str, block: &str) -> String {
    let rest = format!(r#""type":"assistant","message":{{"id":"{message}","role":"assistant","content":[{block}]}}"#);
    entry(id, parent, &rest)
}

fn text(id: u32, parent: u32, message: &str, text: &str) -> String {
    said(id, parent, message, &format!(r#"{{"type":"text","text":"{text}"}}"#))
}

fn call(id: u32, parent: u32, message: &str, call: &str) -> String {
    let block = format!(r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{{"command":"ls"}}}}"#);
    said(id, parent, message, &block)
}

fn answer(id: u32, parent: u32, call: &str, rest: &str) -> String {
    let block = format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"out"}}"#);
    let rest = format!(r#""type":"user","message":{{"role":"user","content":[{block}]}}{rest}"#);
    entry(id, parent, &rest)
}

#[test]
fn one_reply_over_several_lines_is_one_message() {
    let file = [
        prompt(1, 0, "go"),
        said(2, 1, "m1", r#"{"type":"thinking","thinking":"hm","signature":"sig"}"#),
        said(3, 2, "m1", r#"{"type":"redacted_thinking","data":"xyz"}"#),
        text(4, 3, "m1", "looking"),
        call(5, 4, "m1", "c1"),
        answer(6, 5, "c1", ""),
        text(7, 6, "m2", "done"),
    ];
    check(
        record,
        &file.concat(),
        r#"user: go
        thinking of anthropic signed sig: hm
        thinking of anthropic sealed xyz:
        assistant: looking
        call c1: Bash {"command":"ls"}
        result c1 unknown: out
        assistant: done"#,
    );
}

#[test]
fn answers_of_parallel_calls_stand_together_though_they_branch_off() {
    let file = [
        prompt(1, 0, "go"),
        call(2, 1, "m1", "c1"),
        answer(3, 2, "c1", ""),
        call(4, 2, "m1", "c2"),
        answer(5, 4, "c2", ""),
        text(6, 3, "m2", "done"),
    ];
    check(
        record,
        &file.concat(),
        r#"user: go
        call c1: Bash {"command":"ls"}
        call c2: Bash {"command":"ls"}
        result c1 unknown: out
        result c2 unknown: out
        assistant: done"#,
    );
}

#[test]
fn what_a_rewind_left_behind_is_left_out() {
    let file = [
        prompt(1, 0, "go"),
        text(2, 1, "m1", "going"),
        prompt(3, 2, "left"),
        text(4, 3, "m2", "went left"),
        prompt(5, 2, "right"),
        text(6, 5, "m3", "went right"),
    ];
    check(
        record,
        &file.concat(),
        "user: go\nassistant: going\nuser: right\nassistant: went right",
    );
    let anew = [prompt(1, 0, "go"), text(2, 1, "m1", "going"), prompt(3, 0, "again")];
    check_odd(record, &anew.concat(), "user: again", &[Warning::BegunAnew { left: 2 }]);
}

#[test]
fn a_lost_parent_cuts_nothing_off() {
    let file = [
        prompt(1, 0, "go"),
        text(2, 1, "m1", "going"),
        prompt(4, 3, "on"),
        text(5, 4, "m2", "gone on"),
    ];
    let guessed = [Warning::ParentGuessed { count: 1 }];
    let all = "user: go\nassistant: going\nuser: on\nassistant: gone on";
    check_odd(record, &file.concat(), all, &guessed);
    let unnamed = file.concat().replace(r#""parentUuid":"u3","#, "");
    assert!(!unnamed.contains("u3"), "{unnamed}");
    check_odd(record, &unnamed, all, &guessed);
}

#[test]
fn the_history_goes_on_through_a_compaction() {
    let boundary = entry(
        3,
        0,
        r#""type":"system","subtype":"compact_boundary","logicalParentUuid":"u2""#,
    );
    let summary = entry(
        4,
        3,
        r#""type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"content":"so far"}"#,
    );
    let file = [
        prompt(1, 0, "go"),
        text(2, 1, "m1", "going"),
        boundary,
        summary,
        text(5, 4, "m2", "gone"),
    ];
    check(
        record,
        &file.concat(),
        "user: go\nassistant: going\nuser (summary): so far\nassistant: gone",
    );
}

#[test]
fn status_comes_from_the_error_flag_and_from_what_the_tool_returned() {
    let status = |flag: Option<bool>, returned: &str| super::status(flag, serde_json::from_str(returned).ok().as_ref());
    assert_eq!(status(None, ""), None);
    assert_eq!(status(Some(false), ""), Some(false));
    assert_eq!(
        status(Some(true), r#"{"stdout":"error","stderr":"Error","interrupted":false}"#),
        Some(true)
    );
    assert_eq!(status(Some(true), r#"{"stdout":"","interrupted":true}"#), Some(false));
    assert_eq!(status(None, r#"{"filePath":"a.rs"}"#), Some(true));
    assert_eq!(status(None, r#"{"success":false}"#), Some(false));
    assert_eq!(status(None, r#""Error: no such file""#), Some(false));
}

#[test]
fn what_the_harness_says_is_no_prompt() {
    let meta = entry(2, 1, r#""type":"user","isMeta":true,"message":{"content":"a skill"}"#);
    let aside = entry(
        3,
        2,
        r#""type":"user","isSidechain":true,"message":{"content":"a task"}"#,
    )
    .replacen("false", "true", 1);
    let event = entry(
        3,
        2,
        r#""type":"user","origin":{"kind":"task-notification"},"message":{"content":"finished"}"#,
    );
    let file = [
        prompt(1, 0, "go <system-reminder>and stay</system-reminder>"),
        meta,
        aside,
        event,
        prompt(4, 3, "<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>"),
        prompt(5, 4, "[Request interrupted by user]"),
        prompt(6, 5, "<bash-stdout> is what I see"),
    ];
    check(
        record,
        &file.concat(),
        "user: go <system-reminder>and stay</system-reminder>
        -
        user (injected): a skill
        -
        user (injected): finished
        -
        user (injected): <bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>
        -
        user (injected): [Request interrupted by user]
        -
        user: <bash-stdout> is what I see",
    );
}

#[test]
fn the_arguments_of_a_command_are_the_users_own_words() {
    let file = [
        prompt(1, 0, "<command-name>/clear</command-name><command-args></command-args>"),
        prompt(
            2,
            1,
            "<command-name>/fix</command-name><command-args>the tests</command-args>",
        ),
    ];
    check(
        record,
        &file.concat(),
        "user (injected): <command-name>/clear</command-name><command-args></command-args>
        -
        user (injected): <command-name>/fix</command-name><command-args>
        user: the tests
        user (injected): </command-args>",
    );
}

#[test]
fn a_prompt_typed_during_work_is_kept_where_it_was_handed_over() {
    let queue = |rest: &str| format!("{{\"type\":\"queue-operation\",{rest}}}\n");
    let handed = [
        prompt(1, 0, "go"),
        call(2, 1, "m1", "c1"),
        queue(r#""operation":"enqueue","content":"and hurry""#),
        answer(3, 2, "c1", ""),
        queue(r#""operation":"remove""#),
        text(4, 3, "m2", "hurrying"),
        queue(r#""operation":"enqueue","content":"never mind""#),
        queue(r#""operation":"popAll","content":"never mind""#),
    ];
    let expected = r#"user: go
        call c1: Bash {"command":"ls"}
        result c1 unknown: out
        -
        user: and hurry
        assistant: hurrying"#;
    check(record, &handed.concat(), expected);
    // Later versions record what was passed on.
    let shown =
        r#""type":"attachment","attachment":{"type":"queued_command","prompt":"and hurry","commandMode":"prompt"}"#;
    let mut recorded = handed.to_vec();
    recorded.insert(5, entry(9, 3, shown));
    recorded[6] = text(4, 9, "m2", "hurrying");
    check(record, &recorded.concat(), expected);
}

#[test]
fn attachments_are_put_in_by_the_harness() {
    let nested = entry(
        2,
        1,
        r#""type":"attachment","attachment":{"type":"nested_memory","content":{"content":"be kind"}}"#,
    );
    let file = entry(
        3,
        2,
        r#""type":"attachment","attachment":{"type":"file","content":{"file":{"content":"let x;"}}}"#,
    );
    let other = entry(
        4,
        3,
        r#""type":"attachment","attachment":{"type":"task_status","taskId":"7"}"#,
    );
    check(
        record,
        &[prompt(1, 0, "go"), nested, file, other].concat(),
        "user: go\n-\nuser (injected): be kind\n-\nuser (injected): let x;",
    );
}

#[test]
fn errors_of_the_vendor_and_repeated_entries_are_left_out() {
    let failed = entry(
        2,
        1,
        r#""type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"500"}]}"#,
    );
    let file = [prompt(1, 0, "go"), failed, prompt(1, 0, "go"), text(3, 2, "m1", "gone")];
    check(record, &file.concat(), "user: go\nassistant: gone");
}

#[test]
fn pictures_and_unknown_blocks_are_kept() {
    let picture = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}}"#;
    let content = format!(r#"{picture},{{"type":"document","title":"t"}}"#);
    let file = entry(1, 0, &format!(r#""type":"user","message":{{"content":[{content}]}}"#));
    check(
        record,
        &file,
        "user image: image/png iVBO\nuser document: {\"type\":\"document\",\"title\":\"t\"}",
    );
}

#[test]
fn an_unknown_kind_of_entry_is_mentioned_and_still_links_the_others() {
    let file = [
        prompt(1, 0, "go"),
        entry(2, 1, r#""type":"novelty""#),
        text(3, 2, "m1", "gone"),
    ]
    .concat();
    let document = record(file.as_bytes()).unwrap().document;
    assert_eq!(sketch(&document), "user: go\nassistant: gone\n");
    assert_eq!(
        document.warnings,
        [Warning::UnknownEntry {
            line: 2,
            kind: String::from("novelty")
        }]
    );
}

#[test]
fn the_programs_own_notes_are_no_part_of_the_conversation_whatever_they_hold() {
    let request = r#"{"type":"api-request-blob","sessionId":"s","hash":"h","message":{"role":"user","content":"a copy of it all"}}"#;
    let latch = r#"{"type":"latch-of-next-year","sessionId":"s","text":"on"}"#;
    let file = [
        prompt(1, 0, "go"),
        format!("{request}\n{latch}\n"),
        text(2, 1, "m1", "gone"),
    ]
    .concat();
    let document = record(file.as_bytes()).unwrap().document;
    assert_eq!(sketch(&document), "user: go\nassistant: gone\n");
    assert_eq!(document.warnings, []);
}

/// Returns a block of a reply with its usage: the seconds of its time, the prompt's three counts, and the tokens cached
/// for an hour.
fn billed(id: u32, parent: u32, message: &str, seconds: u32, counts: [u64; 4], block: &str) -> String {
    let [fresh, read, write, hour] = counts;
    let usage = format!(
        r#""usage":{{"input_tokens":{fresh},"cache_read_input_tokens":{read},"cache_creation_input_tokens":{write},"#
    ) + &format!(r#""cache_creation":{{"ephemeral_1h_input_tokens":{hour}}},"output_tokens":9}}"#);
    let rest =
        format!(r#""type":"assistant","timestamp":"1970-01-01T00:00:{seconds:02}.5Z","message":{{"id":"{message}","#)
            + &format!(r#""model":"claude-x","role":"assistant","content":[{block}],{usage}}}"#);
    entry(id, parent, &rest)
}

fn at(id: u32, parent: u32, seconds: u32, content: &str) -> String {
    let time = format!(r#""timestamp":"1970-01-01T00:00:{seconds:02}Z""#);
    let rest = format!(r#""type":"user",{time},"message":{{"role":"user","content":{content}}}"#);
    entry(id, parent, &rest)
}

#[test]
fn a_reply_in_many_entries_is_one_request_with_the_last_bill() {
    let run = |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"ls"}}}}"#);
    let out = |id: &str| format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"out"}}]"#);
    let file = [
        at(1, 0, 1, "\"go\""),
        billed(2, 1, "m1", 3, [10, 0, 90, 90], &run("a")),
        at(3, 2, 4, &out("a")),
        billed(4, 2, "m1", 5, [10, 0, 95, 90], &run("b")),
        at(5, 4, 6, &out("b")),
        billed(6, 5, "m2", 9, [2, 100, 7, 0], r#"{"type":"text","text":"gone"}"#),
    ]
    .concat();
    let recording = record(file.as_bytes()).unwrap();
    let seen: Vec<_> = recording
        .requests
        .iter()
        .map(|request| {
            let billed = request.billed.unwrap();
            (request.reply, request.began, billed.usage.prompt(), billed.hour)
        })
        .collect();
    assert_eq!(seen, [(1, Some(1_000), 105, 90), (3, Some(6_000), 109, 0)]);
    assert_eq!(recording.requests[0].model.as_deref(), Some("claude-x"));
}

#[test]
fn what_the_harness_says_in_the_models_place_is_no_request() {
    let rest = r#""type":"assistant","message":{"id":"m","model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"No response requested."}],"usage":{"input_tokens":5}}"#;
    let file = [prompt(1, 0, "go"), entry(2, 1, rest), text(3, 2, "m2", "gone")].concat();
    let recording = record(file.as_bytes()).unwrap();
    assert_eq!(recording.requests.len(), 1);
    assert_eq!((recording.requests[0].reply, recording.requests[0].billed), (2, None));
}

#[test]
fn words_before_an_answer_are_never_put_into_the_models_mouth() {
    let call = r#""type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{"command":"ls"}}]}"#;
    let answer = r#""type":"user","message":{"role":"user","content":[{"type":"text","text":"wait"},{"type":"tool_result","tool_use_id":"a","content":"out"},{"type":"text","text":"go on"}]}"#;
    let file = [prompt(1, 0, "go"), entry(2, 1, call), entry(3, 2, answer)].concat();
    let messages = record(file.as_bytes()).unwrap().document.messages;
    let shown: Vec<_> = messages[1..]
        .iter()
        .map(|message| (message.role, message.parts.len()))
        .collect();
    assert_eq!(shown, [(Role::Assistant, 1), (Role::User, 3)]);
    assert!(matches!(messages[2].parts[0], Part::ToolResult(_)));
    // There is no earlier message to add it to.
    let first = [entry(1, 0, answer)].concat();
    assert_eq!(record(first.as_bytes()).unwrap().document.messages[0].parts.len(), 3);
}

#[test]
fn the_file_of_a_subagent_is_a_conversation_of_its_own() {
    let file = [
        prompt(1, 0, "find it"),
        text(2, 1, "m1", "found"),
        prompt(3, 2, "and on"),
    ]
    .concat();
    let aside = file.replace("\"isSidechain\":false", "\"isSidechain\":true");
    check(record, &aside, "user: find it\nassistant: found\nuser: and on");
}
