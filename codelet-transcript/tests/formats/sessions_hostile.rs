//! Session files that are broken, hostile or endless: every reader answers, in time that grows with the file and no faster.

use super::detect::sessions;
use codelet_context::message::Role;
use codelet_testkit::{Stopwatch, shape};
use codelet_transcript::{Format, read};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The forms of one entry a line, which are read while they are written.
const LISTS: &[Format] = &[Format::ClaudeCode, Format::Codex, Format::Pi, Format::Copilot];

/// The forms of JSON: Aider's is no text of entries.
fn formats() -> Vec<Format> {
    let is_json = |format: &Format| format.is_read() && *format != Format::Aider;
    Format::ALL.iter().copied().filter(is_json).collect()
}

/// Those with a session of everything.
const FORMATS: &[Format] = &[
    Format::ClaudeCode,
    Format::Codex,
    Format::Opencode,
    Format::Pi,
    Format::Copilot,
    Format::MiniSweAgent,
    Format::SweAgent,
];

/// The small session in this format from which the table of formats is made, and whether it has one entry a line.
fn small_session(format: Format) -> (String, bool) {
    let (_, bytes) = sessions().find(|(form, _)| *form == format).unwrap();
    let file = String::from_utf8(bytes).unwrap();
    let is_lines = serde_json::from_str::<Value>(&file).is_err();
    (file, is_lines)
}

/// A session of each form with something of everything, as far as there is one. A form that is one document has one entry.
fn entries(format: Format) -> Vec<Value> {
    match format {
        Format::ClaudeCode => vec![
            json!({"type": "user", "uuid": "a", "parentUuid": null, "isSidechain": false, "message": {"content": "go"}}),
            json!({"type": "attachment", "uuid": "b", "parentUuid": "a", "attachment": {"type": "queued_command", "prompt": "and on", "commandMode": "prompt"}}),
            json!({"type": "assistant", "uuid": "c", "parentUuid": "b", "message": {"id": "m", "model": "x", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "redacted_thinking", "data": "d"},
                {"type": "text", "text": "t"}, {"type": "tool_use", "id": "1", "name": "Edit", "input": {"file_path": "a.rs"}}]}}),
            json!({"type": "user", "uuid": "d", "parentUuid": "c", "toolUseResult": {"interrupted": false, "success": true}, "message": {"content": [
                {"type": "tool_result", "tool_use_id": "1", "is_error": false, "content": [{"type": "text", "text": "ok"}]},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iV"}}]}}),
            json!({"type": "queue-operation", "operation": "enqueue", "content": "more"}),
            json!({"type": "queue-operation", "operation": "remove"}),
            json!({"type": "system", "subtype": "compact_boundary", "uuid": "e", "parentUuid": null, "logicalParentUuid": "d"}),
            json!({"type": "user", "uuid": "f", "parentUuid": "e", "isCompactSummary": true, "message": {"content": "so far"}}),
            json!({"type": "user", "uuid": "g", "parentUuid": "f", "message": {"content": "<command-name>/x</command-name><command-args>y</command-args>"}}),
        ],
        Format::Codex => vec![
            json!({"type": "session_meta", "payload": {"base_instructions": {"text": "Be Codex."}}}),
            json!({"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}, {"type": "input_image", "image_url": "data:image/png;base64,iV"}]}}),
            json!({"type": "event_msg", "payload": {"type": "user_message", "message": "go"}}),
            json!({"type": "response_item", "payload": {"type": "reasoning", "summary": [{"text": "hm"}], "encrypted_content": "x"}}),
            json!({"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{\"a\":1}", "call_id": "1"}}),
            json!({"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "input": "p", "call_id": "2"}}),
            json!({"type": "event_msg", "payload": {"type": "exec_command_end", "call_id": "1", "exit_code": 1}}),
            json!({"type": "response_item", "payload": {"type": "function_call_output", "call_id": "1", "output": "{\"output\":\"x\",\"metadata\":{\"exit_code\":0}}"}}),
            json!({"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": "2", "output": {"content": "x", "success": true}}}),
            json!({"type": "compacted", "payload": {"message": "", "replacement_history": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "new"}]}]}}),
            json!({"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}),
            json!({"type": "response_item", "payload": {"type": "local_shell_call", "call_id": "3", "action": {"command": ["ls"]}}}),
        ],
        Format::Opencode => vec![
            json!({"info": {"id": "s", "revert": {"messageID": "z", "partID": "y"}}, "messages": [
            {"info": {"id": "a", "role": "user"}, "parts": [{"type": "text", "text": "go"}, {"type": "file", "mime": "image/png", "url": "data:image/png;base64,iV"}]},
            {"info": {"id": "b", "role": "assistant", "summary": false}, "parts": [{"type": "step-start"},
                {"type": "reasoning", "text": "hm", "metadata": {"openai": {"reasoningEncryptedContent": "x"}}},
                {"type": "tool", "callID": "1", "tool": "bash", "state": {"status": "completed", "input": {"command": "ls"}, "output": "x", "metadata": {"exit": 0}}},
                {"type": "tool", "callID": "2", "tool": "edit", "state": {"status": "error", "input": {}, "error": "no"}},
                {"type": "text", "text": "t", "synthetic": true, "ignored": false}]}]}),
        ],
        Format::Pi => vec![
            json!({"type": "session", "version": 3, "id": "s"}),
            json!({"type": "message", "id": "a", "parentId": null, "message": {"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "image", "mimeType": "image/png", "data": "iV"}]}}),
            json!({"type": "message", "id": "b", "parentId": "a", "message": {"role": "assistant", "api": "anthropic-messages", "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, {"type": "toolCall", "id": "1", "name": "bash", "arguments": {"command": "ls"}}]}}),
            json!({"type": "message", "id": "c", "parentId": "b", "message": {"role": "toolResult", "toolCallId": "1", "isError": false, "content": [{"type": "text", "text": "x"}]}}),
            json!({"type": "message", "id": "d", "parentId": "c", "message": {"role": "bashExecution", "command": "make", "output": "x", "exitCode": 2, "truncated": true, "fullOutputPath": "/x"}}),
            json!({"type": "compaction", "id": "e", "parentId": "d", "summary": "so far"}),
            json!({"type": "message", "message": {"role": "user", "content": "on"}}),
        ],
        Format::Copilot => vec![
            json!({"type": "system.message", "id": "a", "data": {"content": "S"}}),
            json!({"type": "user.message", "id": "b", "data": {"content": "go", "transformedContent": "now go", "source": "user", "attachments": [{"mimeType": "image/png", "data": "iV"}]}}),
            json!({"type": "assistant.message", "id": "c", "data": {"content": "t", "reasoningText": "hm", "toolRequests": [{"toolCallId": "1", "name": "bash", "arguments": {"command": "ls"}}]}}),
            json!({"type": "tool.execution_complete", "id": "d", "data": {"toolCallId": "1", "success": true, "result": {"content": "x\n<exited with exit code 1>"}, "error": {"message": "no"}}}),
            json!({"type": "session.compaction_complete", "id": "e", "data": {"summaryContent": "so far"}}),
            json!({"type": "session.snapshot_rewind", "id": "f", "data": {"upToEventId": "b"}}),
        ],
        Format::MiniSweAgent => vec![json!({"messages": [
            {"role": "system", "content": "S"}, {"role": "user", "content": "go"},
            {"role": "assistant", "content": "T\n```bash\nls\n```\nx"}, {"role": "user", "content": "<returncode>1</returncode>"},
            {"role": "assistant", "content": "hm", "tool_calls": [{"id": "1", "function": {"name": "bash", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "x", "extra": {"returncode": 0}},
            {"object": "response", "output": [{"type": "function_call", "call_id": "2", "name": "bash", "arguments": "{}"}]},
            {"type": "function_call_output", "call_id": "2", "output": "x"}, {"role": "exit", "content": "x"}]})],
        Format::SweAgent => vec![json!({"history": [
            {"role": "system", "content": "S"}, {"role": "user", "content": [{"type": "text", "text": "go"}], "is_demo": true},
            {"role": "assistant", "content": "T\n```\nls\n```", "thought": "T", "action": "ls"}, {"role": "user", "content": "x"},
            {"role": "assistant", "content": "T", "action": "ls", "tool_calls": [{"id": "1", "function": {"name": "open", "arguments": "{}"}}]},
            {"role": "tool", "content": "x", "tool_call_ids": ["1"]}]})],
        _ => match small_session(format) {
            (file, true) => file.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
            (file, false) => vec![serde_json::from_str(&file).unwrap()],
        },
    }
}

fn text(entries: &[Value]) -> Vec<u8> {
    entries
        .iter()
        .flat_map(|entry| entry.to_string().into_bytes().into_iter().chain([b'\n']))
        .collect()
}

/// What holds of every reading, whatever was read.
fn read_well(bytes: &[u8], format: Format) -> Result<(), TestCaseError> {
    let Ok(document) = read(bytes, Some(format)) else {
        return Ok(());
    };
    prop_assert_eq!(document.format, format);
    for (index, message) in document.messages.iter().enumerate() {
        prop_assert!(!message.parts.is_empty(), "message {index} is empty");
        prop_assert!(
            message.role != Role::System || index == 0,
            "message {index} is a system prompt"
        );
        prop_assert!(message.tool_results().next().is_none() || message.role == Role::User);
        prop_assert!(message.calls().next().is_none() || message.role == Role::Assistant);
    }
    prop_assert_eq!(document.messages, read(bytes, Some(format)).unwrap().messages);
    Ok(())
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // The words that decide something somewhere, and any others.
        prop::sample::select(vec![
            "", "a", "b", "1", "user", "assistant", "system", "tool", "text", "tool_use", "tool_result", "tool_call",
            "message", "attachment", "compacted", "remove", "completed", "<returncode>", "```bash\n", "<image name=",
            "{}", "{\"output\":", "Exit code: 0\n", "<exited with exit code 0>", "data:image/png;base64,",
        ])
        .prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(
                (
                    prop::sample::select(vec!["type", "role", "content", "text", "id"]),
                    inner
                ),
                0..4
            )
            .prop_map(|fields| Value::Object(
                fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect::<Map<_, _>>()
            )),
        ]
    })
}

/// Puts a value in the place of any other within a tree.
fn replace(tree: &mut Value, place: usize, with: Value) {
    fn count(tree: &Value) -> usize {
        1 + match tree {
            Value::Array(items) => items.iter().map(count).sum(),
            Value::Object(fields) => fields.values().map(count).sum::<usize>(),
            _ => 0,
        }
    }
    fn go(tree: &mut Value, place: &mut usize, with: &mut Option<Value>) {
        if *place == 0 {
            if let Some(with) = with.take() {
                *tree = with;
            }
            return;
        }
        *place -= 1;
        match tree {
            Value::Array(items) => items.iter_mut().for_each(|item| {
                if with.is_some() {
                    go(item, place, with)
                }
            }),
            Value::Object(fields) => fields.values_mut().for_each(|field| {
                if with.is_some() {
                    go(field, place, with)
                }
            }),
            _ => {}
        }
    }
    let mut place = place % count(tree);
    go(tree, &mut place, &mut Some(with));
}

/// A thousand, or as many as `PROPTEST_CASES` asks for.
fn cases() -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(1_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for format in FORMATS {
            read_well(&bytes, *format)?;
        }
    }

    #[test]
    fn any_value_in_any_place_is_answered(
        format in prop::sample::select(FORMATS),
        edits in prop::collection::vec((any::<Index>(), any::<usize>(), any_json()), 1..6),
        order in prop::collection::vec(any::<Index>(), 0..4),
    ) {
        let mut entries = entries(format);
        for (entry, place, value) in edits {
            let entry = entry.index(entries.len());
            replace(&mut entries[entry], place, value);
        }
        for again in order {
            let moved = entries[again.index(entries.len())].clone();
            entries.insert(again.index(entries.len()), moved);
        }
        read_well(&text(&entries), format)?;
    }

    #[test]
    fn any_damage_to_the_bytes_is_answered(
        format in prop::sample::select(FORMATS),
        damage in prop::collection::vec((any::<Index>(), any::<Index>(), prop::option::of(any::<u8>())), 1..4),
    ) {
        let mut bytes = text(&entries(format));
        for (from, to, put) in damage {
            if bytes.is_empty() { break }
            let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
            match put {
                Some(byte) => bytes[from] = byte,
                None => drop(bytes.drain(from.min(to)..from.max(to).min(from.min(to) + 40))),
            }
        }
        read_well(&bytes, format)?;
    }

    #[test]
    fn a_session_that_is_still_being_written_is_read_up_to_there(format in prop::sample::select(LISTS), cut in any::<Index>()) {
        let entries = entries(format);
        let whole = text(&entries);
        let document = read(&whole[..1 + cut.index(whole.len() - 1)], Some(format));
        prop_assert!(document.is_ok(), "{:?}", document.err());
    }
}

#[test]
fn the_samples_hold_what_they_should() {
    for format in formats() {
        let document = read(&text(&entries(format)), Some(format)).unwrap();
        assert_eq!(document.warnings, [], "{format}");
        assert!(
            document.messages.len() > 1 || format == Format::Copilot,
            "{format}: {:?}",
            document.messages
        );
    }
}

/// A way in which a file is odd and says the same.
type Oddity = (&'static str, fn(&str, bool) -> String);

#[test]
fn a_file_that_was_copied_cut_or_printed_oddly_says_the_same() {
    const ODDITIES: &[Oddity] = &[
        ("a byte order mark", |file, _| format!("\u{feff}{file}")),
        ("lines that end in CRLF", |file, _| file.replace('\n', "\r\n")),
        ("no last line end", |file, _| file.trim_end().to_owned()),
        ("blank lines", |file, _| format!("\n  \n{file}\n\n")),
        ("zeros after a crash", |file, _| format!("{file}{}", "\0".repeat(4096))),
        ("blank lines between", |file, is_lines| match is_lines {
            true => file.replace('\n', "\n\n"),
            false => file.to_owned(),
        }),
        ("half of one more line", |file, is_lines| match is_lines {
            true => format!("{}\n{}", file.trim_end(), &file[..file.find('\n').unwrap() / 2]),
            false => file.to_owned(),
        }),
        ("fields in another order", |file, is_lines| {
            fn turned(value: &mut Value) {
                match value {
                    Value::Array(items) => items.iter_mut().for_each(turned),
                    Value::Object(fields) => {
                        *fields = std::mem::take(fields).into_iter().rev().collect();
                        fields.values_mut().for_each(turned);
                    }
                    _ => {}
                }
            }
            let turned = |entry: &str| {
                let mut entry = serde_json::from_str(entry).unwrap();
                turned(&mut entry);
                entry.to_string()
            };
            match is_lines {
                true => file.lines().map(|line| turned(line) + "\n").collect(),
                false => turned(file),
            }
        }),
        ("characters as escapes", |file, _| file.replace(" te", " t\\u0065")),
    ];
    let mut wrong = Vec::new();
    for format in formats() {
        let (file, is_lines) = small_session(format);
        let plain = read(file.as_bytes(), None).unwrap();
        for (oddity, odd) in ODDITIES {
            let odd = odd(&file, is_lines);
            match read(odd.as_bytes(), None) {
                Ok(document) if document.format != format => {
                    wrong.push(format!("{format}, {oddity}: {}", document.format))
                }
                Ok(document) if shape::exact(&document.messages) != shape::exact(&plain.messages) => {
                    wrong.push(format!("{format}, {oddity}: {}", shape::exact(&document.messages)));
                }
                Ok(_) => {}
                Err(error) => wrong.push(format!("{format}, {oddity}: {error}")),
            }
        }
    }
    assert_eq!(wrong, [""; 0], "{}", wrong.join("\n"));
}

/// Far more than linear work takes on a busy machine, and far less than quadratic work takes on an idle one.
const LIMIT: Duration = Duration::from_secs(8);

fn in_time(what: &str, format: Format, file: &str) {
    let watch = Stopwatch::begin();
    let document = read(file.as_bytes(), Some(format)).unwrap();
    let took = watch.elapsed();
    assert!(took < LIMIT, "{what}: {took:?}");
    assert!(!document.messages.is_empty(), "{what}");
}

const MANY: usize = 60_000;

fn lines(line: impl Fn(usize) -> String) -> String {
    (0..MANY).map(|n| line(n) + "\n").collect()
}

#[test]
fn trees_of_any_shape_take_linear_time() {
    let entry = |id: usize, parent: usize| {
        let content = format!(r#"[{{"type":"tool_result","tool_use_id":"c{id}","content":"x"}}]"#);
        format!(r#"{{"type":"user","uuid":"u{id}","parentUuid":"u{parent}","message":{{"content":{content}}}}}"#)
    };
    in_time("a chain", Format::ClaudeCode, &lines(|n| entry(n, n.saturating_sub(1))));
    in_time("a chain backwards", Format::ClaudeCode, &lines(|n| entry(n, n + 1)));
    in_time("a star", Format::ClaudeCode, &lines(|n| entry(n, 0)));
    in_time("cycles", Format::ClaudeCode, &lines(|n| entry(n, n ^ 1)));
    in_time("orphans", Format::ClaudeCode, &lines(|n| entry(n, n + MANY)));
    let entry = |id: usize, parent: usize| {
        format!(r#"{{"type":"message","id":"u{id}","parentId":"u{parent}","message":{{"role":"user","content":"x"}}}}"#)
    };
    in_time("cycles of pi", Format::Pi, &lines(|n| entry(n, n ^ 1)));
}

#[test]
fn one_reply_of_endless_parts_takes_linear_time() {
    let call = |n: usize| format!(r#"{{"type":"tool_use","id":"c{n}","name":"Bash","input":{{}}}}"#);
    let reply = |n: usize| {
        let parent = n.saturating_sub(1);
        let message = format!(r#"{{"id":"m","content":[{}]}}"#, call(n));
        format!(r#"{{"type":"assistant","uuid":"u{n}","parentUuid":"u{parent}","message":{message}}}"#)
    };
    in_time("one reply", Format::ClaudeCode, &lines(reply));
    let item = |n: usize| {
        let kind = if n.is_multiple_of(2) {
            "function_call"
        } else {
            "function_call_output"
        };
        format!(
            r#"{{"type":"response_item","payload":{{"type":"{kind}","call_id":"c{n}","name":"shell","output":"x"}}}}"#
        )
    };
    in_time("calls that nobody answers", Format::Codex, &lines(item));
}

#[test]
fn rewinds_and_compactions_without_end_take_linear_time() {
    let said = r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}}"#;
    let asked = said.replace("assistant", "developer");
    let back = r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#;
    let compacted = r#"{"type":"compacted","payload":{"message":"so far"}}"#;
    in_time(
        "nothing to roll back to",
        Format::Codex,
        &(lines(|_| asked.clone()) + &lines(|_| String::from(back))),
    );
    in_time(
        "compactions",
        Format::Codex,
        &lines(|n| String::from(if n.is_multiple_of(2) { said } else { compacted })),
    );
    let fences = json!({"messages": [{"role": "assistant", "content": "```bash".repeat(MANY) + "\n"}]}).to_string();
    in_time("fences in one line", Format::MiniSweAgent, &fences);
    let fences = json!({"messages": [{"role": "assistant", "content": "```bash\n".repeat(MANY)}]}).to_string();
    in_time("fences that never close", Format::MiniSweAgent, &fences);
}
