//! Files in a conversation survive the way to another vendor, or whoever asked is told.

use codelet_context::message::{Nature, Part};
use codelet_transcript::{Document, Format, Warning, read, write, write_all};
use serde_json::{Value, json};

fn document(request: &Value) -> Document {
    read(request.to_string().as_bytes(), None).unwrap()
}

fn anthropic(block: Value) -> Value {
    json!({"max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": [{"type": "text", "text": "look"}, block]}]})
}

fn chat(part: Value) -> Value {
    json!({"seed": 1, "messages": [{"role": "user", "content": [{"type": "text", "text": "look"}, part]}]})
}

fn responses(part: Value) -> Value {
    json!({"input": [{"role": "user", "content": [{"type": "input_text", "text": "look"}, part]}]})
}

fn gemini(part: Value) -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": "look"}, part]}]})
}

/// The file's block as it stands in a request, and what was told.
fn to(request: &Value, format: Format) -> (Value, Vec<Warning>) {
    let written = write_all(&document(request), format).unwrap();
    let mut out: Value = serde_json::from_str(&written.text).unwrap();
    let messages = ["messages", "input", "contents"]
        .into_iter()
        .find(|name| out.get(name).is_some())
        .unwrap();
    let mut message = out[messages].as_array_mut().unwrap().pop().unwrap();
    let name = if format == Format::Gemini { "parts" } else { "content" };
    (message[name].as_array_mut().unwrap().pop().unwrap(), written.warnings)
}

fn check(request: &Value, format: Format, expected: &Value) {
    assert_eq!(to(request, format), (expected.clone(), vec![]), "{request} as {format}");
}

#[test]
fn a_pdf_is_a_pdf_at_every_vendor() {
    let forms = [
        (
            Format::Anthropic,
            anthropic(
                json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}, "title": "a.pdf"}),
            ),
        ),
        (
            Format::Openai,
            chat(
                json!({"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}}),
            ),
        ),
        (
            Format::Responses,
            responses(
                json!({"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}),
            ),
        ),
    ];
    let last = |request: &Value| {
        let messages = request.get("messages").or(request.get("input")).unwrap();
        messages[0]["content"][1].clone()
    };
    for (from, request) in &forms {
        assert_eq!(document(request).format, *from);
        for (format, expected) in &forms {
            if from != format {
                check(request, *format, &last(expected));
            }
        }
        check(
            request,
            Format::Gemini,
            &json!({"inlineData": {"mimeType": "application/pdf", "data": "JVBERg=="}}),
        );
    }
    let unnamed = gemini(json!({"inline_data": {"mime_type": "application/pdf", "data": "JVBERg=="}}));
    check(
        &unnamed,
        Format::Anthropic,
        &json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}}),
    );
    check(
        &unnamed,
        Format::Responses,
        &json!({"type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}),
    );
}

#[test]
fn sound_addresses_and_words_go_where_there_is_a_place_for_them() {
    let sound = chat(json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}));
    check(
        &sound,
        Format::Gemini,
        &json!({"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}),
    );
    let sound = gemini(json!({"inlineData": {"mimeType": "audio/mpeg", "data": "AAAA"}}));
    check(
        &sound,
        Format::Openai,
        &json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}),
    );
    let linked = responses(json!({"type": "input_file", "file_url": "https://a.example/b.pdf"}));
    check(
        &linked,
        Format::Anthropic,
        &json!({"type": "document", "source": {"type": "url", "url": "https://a.example/b.pdf"}}),
    );
    check(
        &linked,
        Format::Gemini,
        &json!({"fileData": {"mimeType": "application/pdf", "fileUri": "https://a.example/b.pdf"}}),
    );
    let kept = responses(json!({"type": "input_file", "file_id": "file_1"}));
    check(
        &kept,
        Format::Openai,
        &json!({"type": "file", "file": {"file_id": "file_1"}}),
    );
    let found = anthropic(
        json!({"type": "search_result", "source": "https://x.example", "title": "t", "content": [{"type": "text", "text": "found"}]}),
    );
    check(
        &found,
        Format::Responses,
        &json!({"type": "input_text", "text": "found"}),
    );
    let all = write(&document(&found), Format::Responses).unwrap();
    assert!(all.contains("t, https://x.example:"), "{all}");
    let words = anthropic(
        json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "clause 7"}, "title": "Contract"}),
    );
    check(
        &words,
        Format::Openai,
        &json!({"type": "text", "text": "Contract:\n\nclause 7"}),
    );
    let table = gemini(json!({"inlineData": {"mimeType": "text/csv", "data": "YSxiCg=="}}));
    check(&table, Format::Anthropic, &json!({"type": "text", "text": "a,b\n"}));
}

#[test]
fn what_has_no_place_leaves_a_marker_and_is_told() {
    let sound = gemini(json!({"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}));
    let kept = anthropic(json!({"type": "image", "source": {"type": "file", "file_id": "file_1"}}));
    let uploaded = anthropic(json!({"type": "container_upload", "file_id": "file_2"}));
    let stored = gemini(json!({"fileData": {"mimeType": "application/pdf", "fileUri": "gs://bucket/a.pdf"}}));
    let picture = gemini(
        json!({"fileData": {"mimeType": "image/png", "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc"}}),
    );
    for (request, kind, format, about) in [
        (
            &sound,
            "inlineData",
            Format::Anthropic,
            "[inlineData, 3 bytes, left out",
        ),
        (
            &sound,
            "inlineData",
            Format::Responses,
            "[inlineData, 3 bytes, left out",
        ),
        (&kept, "image", Format::Openai, "[image at file_1, left out"),
        (
            &uploaded,
            "container_upload",
            Format::Gemini,
            "[container_upload at file_2, left out",
        ),
        (
            &stored,
            "fileData",
            Format::Openai,
            "[fileData at gs://bucket/a.pdf, left out",
        ),
        (
            &picture,
            "image",
            Format::Anthropic,
            "[image at https://generativelanguage.",
        ),
    ] {
        let (block, warnings) = to(request, format);
        assert!(block["text"].as_str().unwrap().starts_with(about), "{block}");
        let kinds = vec![(kind.to_owned(), 1)];
        assert_eq!(warnings, [Warning::LeftOut { to: format, kinds }]);
        assert!(
            !write(&document(request), document(request).format)
                .unwrap()
                .contains("left out")
        );
    }
    let warning = Warning::LeftOut {
        to: Format::Gemini,
        kinds: vec![("file".into(), 2), ("image".into(), 1)],
    };
    assert_eq!(
        warning.to_string(),
        "left out, not supported by gemini: 2 × file, 1 × image"
    );
}

#[test]
fn a_file_in_an_answer_of_a_tool_survives_too() {
    let pdf =
        json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}});
    let request = json!({"max_tokens": 9, "messages": [
        {"role": "user", "content": "read it"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "page 1"}, pdf]}]},
    ]});
    let out: Value = serde_json::from_str(&write(&document(&request), Format::Responses).unwrap()).unwrap();
    assert_eq!(
        out["input"][2]["output"][1]["file_data"],
        "data:application/pdf;base64,JVBERg=="
    );
    let out: Value = serde_json::from_str(&write(&document(&request), Format::Gemini).unwrap()).unwrap();
    assert_eq!(
        out["contents"][2]["parts"][0]["functionResponse"]["parts"][0]["inlineData"]["data"],
        "JVBERg=="
    );
    let written = write_all(&document(&request), Format::Openai).unwrap();
    assert!(
        written
            .text
            .contains("[document, 6 bytes, left out: openai has no place for it]"),
        "{}",
        written.text
    );
    assert_eq!(written.warnings.len(), 1);
}

#[test]
fn what_built_in_tools_answered_goes_to_other_vendors() {
    let request = json!({"input": [
        {"role": "user", "content": "look"},
        {"type": "computer_call", "call_id": "a", "action": {"type": "screenshot"}},
        {"type": "computer_call_output", "call_id": "a", "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}},
        {"type": "shell_call", "call_id": "b", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "b", "output": [{"stdout": "a.rs", "stderr": "oh", "outcome": {"type": "exit", "exit_code": 0}}]},
    ]});
    let written = write_all(&document(&request), Format::Anthropic).unwrap();
    assert_eq!(written.warnings, []);
    let out: Value = serde_json::from_str(&written.text).unwrap();
    let answer = |index: usize| out["messages"][index]["content"][0]["content"].clone();
    assert_eq!(answer(2)[0]["source"]["data"], "AAAA");
    assert_eq!(answer(4), "a.rs\noh");
}

#[test]
fn files_of_sessions_are_read() {
    let opencode = json!({"info": {"id": "s"}, "messages": [{"info": {"role": "user"}, "parts": [
        {"type": "file", "mime": "application/pdf", "filename": "a.pdf", "url": "data:application/pdf;base64,JVBERg=="}]}]});
    let copilot = "{\"type\":\"user.message\",\"timestamp\":\"t\",\"data\":{\"content\":\"look\",\"attachments\":[{\"mimeType\":\"application/pdf\",\"data\":\"JVBERg==\"}]}}\n";
    let codex = "{\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_file\",\"filename\":\"a.pdf\",\"file_data\":\"data:application/pdf;base64,JVBERg==\"}]}}\n";
    for session in [opencode.to_string(), copilot.to_owned(), codex.to_owned()] {
        let document = read(session.as_bytes(), None).unwrap();
        assert!(document.messages[0].is_prompt(), "{session}");
        let written = write_all(&document, Format::Anthropic).unwrap();
        let pdf = r#"{"type":"base64","media_type":"application/pdf","data":"JVBERg=="}"#;
        assert!(
            written.text.contains(pdf) && written.warnings.is_empty(),
            "{}",
            written.text
        );
    }
}

#[test]
fn a_reply_that_the_vendor_goes_on_with_is_known_by_its_open_call() {
    let search = json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": []});
    let request = |blocks: Value| json!({"max_tokens": 1, "messages": [{"role": "user", "content": "search"}, {"role": "assistant", "content": blocks}]});
    let paused = |request: &Value| document(request).messages.last().unwrap().is_paused();
    assert!(paused(&request(json!([search]))));
    assert!(!paused(&request(json!([search, found]))));
    let mut answered = request(json!([search]));
    answered["messages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "user", "content": "stop"}));
    assert!(!paused(&answered));
    let again = write(&document(&request(json!([search]))), Format::Anthropic).unwrap();
    assert_eq!(again, request(json!([search])).to_string());
}

#[test]
fn an_answer_to_a_call_that_the_vendor_keeps_is_no_orphan() {
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "done"});
    for (around, by) in [
        (
            json!({"previous_response_id": "r", "input": [output]}),
            "previous_response_id",
        ),
        (json!({"conversation": {"id": "c"}, "input": [output]}), "conversation"),
        (
            json!({"input": [{"role": "user", "content": "x"}, {"type": "item_reference", "id": "i"}, output]}),
            "item_reference",
        ),
        (
            json!({"input": [{"role": "user", "content": "x"}, {"id": "i"}, output]}),
            "item_reference",
        ),
    ] {
        let document = document(&around);
        assert_eq!(document.warnings, [Warning::KeptByVendor { by }]);
        assert!(!document.warnings[0].is_altered());
        let parts = document.messages.iter().flat_map(|message| &message.parts);
        let apart = parts.filter(|part| matches!(part, Part::ToolResult(result) if result.is_apart));
        assert_eq!(apart.count(), 1);
        assert_eq!(write(&document, Format::Responses).unwrap(), around.to_string());
        let elsewhere = write(&document, Format::Anthropic).unwrap();
        assert!(
            elsewhere.contains("called before this conversation") && elsewhere.contains("done"),
            "{elsewhere}"
        );
    }
    let orphan = document(&json!({"input": [{"role": "user", "content": "x"}, output]}));
    assert!(orphan.warnings.is_empty() && !orphan.messages[1].tool_results().next().unwrap().is_apart);
    let seen = json!({"previous_response_id": "r", "input": [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}, output]});
    assert!(!document(&seen).messages[1].tool_results().next().unwrap().is_apart);
}

#[test]
fn what_the_vendor_keeps_and_its_own_compactions_are_references() {
    let request = json!({"input": [{"type": "compaction", "encrypted_content": "x"}, {"type": "item_reference", "id": "i"}, {"role": "user", "content": "x"}]});
    for part in &document(&request).messages[0].parts {
        assert!(
            matches!(part, Part::Opaque(opaque) if opaque.nature == Nature::Reference),
            "{part:?}"
        );
    }
}

/// A request whose last calls were never answered, answered as the engine does.
fn answered(items: Value) -> Vec<Value> {
    let history = document(&json!({"input": items.clone()}))
        .messages
        .into_iter()
        .collect();
    let done = codelet_context::compact::compact(&history, codelet_context::compact::Target::Select);
    let mut document = document(&json!({"input": items}));
    document.messages = done.view.messages.iter().map(|message| (**message).clone()).collect();
    let out: Value = serde_json::from_str(&write(&document, Format::Responses).unwrap()).unwrap();
    out["input"].as_array().unwrap().clone()
}

#[test]
fn a_call_of_another_kind_than_a_function_is_answered_in_its_own_kind() {
    let go = json!({"role": "user", "content": "go"});
    for (call, answer) in [
        (
            json!({"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "x"}),
            json!({"type": "custom_tool_call_output", "call_id": "a", "output": "[interrupted]"}),
        ),
        (
            json!({"type": "local_shell_call", "call_id": "a", "action": {"type": "exec", "command": ["ls"]}}),
            json!({"type": "local_shell_call_output", "call_id": "a", "output": "[interrupted]"}),
        ),
        (
            json!({"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}}),
            json!({"type": "shell_call_output", "call_id": "a", "output": [{"stdout": "", "stderr": "[interrupted]", "outcome": {"type": "timeout"}}]}),
        ),
        (
            json!({"type": "apply_patch_call", "call_id": "a", "operation": {"type": "delete_file", "path": "x"}}),
            json!({"type": "apply_patch_call_output", "call_id": "a", "status": "failed", "output": "[interrupted]"}),
        ),
        (
            json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": "a", "output": "[interrupted]"}),
        ),
    ] {
        let items = answered(json!([go, call, {"role": "user", "content": "and now?"}]));
        assert_eq!(items[1], call);
        assert_eq!(items[2], answer);
    }
}

#[test]
fn a_look_at_the_screen_that_nobody_took_is_left_out_with_the_thought_that_led_to_it() {
    let go = json!({"role": "user", "content": "go"});
    let thought = json!({"type": "reasoning", "id": "r", "summary": []});
    let look = json!({"type": "computer_call", "call_id": "a", "action": {"type": "screenshot"}});
    let now = json!({"role": "user", "content": "and now?"});
    assert_eq!(answered(json!([go, thought, look, now])), [go.clone(), now.clone()]);
    let shot = json!({"type": "computer_call_output", "call_id": "a", "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}});
    let whole = json!([go, thought, look, shot, now]);
    assert_eq!(answered(whole.clone()), *whole.as_array().unwrap());
}

#[test]
fn one_object_may_stand_for_a_list_of_one() {
    for request in [
        json!({"contents": {"parts": {"text": "x"}}}),
        json!({"contents": [{"role": "user", "parts": {"text": "x"}}], "systemInstruction": {"parts": {"text": "s"}}}),
        json!({"system_instruction": {"parts": {"text": "s"}}, "contents": {"parts": [{"text": "x"}]}}),
    ] {
        let mut document = document(&request);
        assert_eq!(document.format, Format::Gemini);
        assert_eq!(write(&document, Format::Gemini).unwrap(), request.to_string());
        assert!(
            write(&document, Format::Anthropic)
                .unwrap()
                .contains(r#""content":"x""#)
        );
        document.messages.last_mut().unwrap().parts.push(Part::text("y"));
        let more = document.messages.last().unwrap().clone();
        document
            .messages
            .extend([codelet_context::message::Message::assistant("z"), more]);
        let out: Value = serde_json::from_str(&write(&document, Format::Gemini).unwrap()).unwrap();
        assert_eq!(out["contents"][0]["parts"], json!([{"text": "x"}, {"text": "y"}]));
        assert_eq!(out["contents"].as_array().unwrap().len(), 3);
    }
    let tools = json!({"contents": [{"parts": [{"text": "x"}]}], "tools": {"functionDeclarations": {"name": "f"}}});
    assert!(
        write(&document(&tools), Format::Anthropic)
            .unwrap()
            .contains(r#""name":"f""#)
    );
}

#[test]
fn a_text_cut_inside_a_character_is_read_in_every_form_with_a_warning() {
    let half = r"cut \ud83d";
    let user = format!(r#"{{"role":"user","content":"{half}"}}"#);
    for (format, text) in [
        (Format::Anthropic, format!(r#"{{"messages":[{user}]}}"#)),
        (Format::Openai, format!(r#"[{user}]"#)),
        (Format::Responses, format!(r#"{{"input":[{user}]}}"#)),
        (
            Format::Gemini,
            format!(r#"{{"contents":[{{"parts":[{{"text":"{half}"}}]}}]}}"#),
        ),
        (Format::Corpus, format!(r#"{{"messages":[{user}]}}"#)),
        (Format::MiniSweAgent, format!(r#"{{"messages":[{user}]}}"#)),
        (Format::SweAgent, format!(r#"{{"history":[{user}]}}"#)),
        (
            Format::Opencode,
            format!(
                r#"{{"info":{{}},"messages":[{{"info":{{"role":"user"}},"parts":[{{"type":"text","text":"{half}"}}]}}]}}"#
            ),
        ),
        (
            Format::ClaudeCode,
            format!(r#"{{"type":"user","uuid":"u","parentUuid":null,"message":{user}}}"#),
        ),
        (
            Format::Codex,
            format!(
                r#"{{"type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{half}"}}]}}}}"#
            ),
        ),
        (Format::Pi, format!(r#"{{"type":"message","id":"a","message":{user}}}"#)),
        (
            Format::Copilot,
            format!(r#"{{"type":"user.message","timestamp":"t","data":{{"content":"{half}"}}}}"#),
        ),
    ] {
        let document = read(text.as_bytes(), Some(format)).unwrap();
        let offset = text.find(r"\ud83d").unwrap();
        assert_eq!(document.warnings, [Warning::HalfCharacter { offset }], "{format}");
        assert_eq!(document.messages[0].parts, [Part::text("cut \u{fffd}")], "{format}");
    }
    // Arguments are JSON within JSON.
    let call = r#"[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"path\":\"\\ud83d\"}"}}]}]"#;
    let document = read(call.as_bytes(), Some(Format::Openai)).unwrap();
    assert_eq!(
        document.messages[0].calls().next().unwrap().parameters.str("path"),
        Some("\u{fffd}")
    );
    assert_eq!(write(&document, Format::Openai).unwrap(), call);
}
