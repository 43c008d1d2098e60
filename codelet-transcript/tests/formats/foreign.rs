//! Files that no reader knows are errors: never an empty conversation, never a mixture of two vendors' words.

use codelet_transcript::{Format, ReadError, Warning, detect, read, record_anyway};

#[track_caller]
fn refused(file: &str) -> ReadError {
    read(file.as_bytes(), None)
        .map(|document| document.messages)
        .expect_err("a file that nobody here can read")
}

#[test]
fn messages_in_words_that_are_not_read_are_refused() {
    let ai_sdk = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},
        {"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"r","args":{"x":1}}]},
        {"role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"r","result":"out"}]}]}"#;
    let converse = r#"{"modelId":"m","messages":[{"role":"user","content":[{"text":"hello"}]},
        {"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"n","input":{}}}]},
        {"role":"user","content":[{"toolResult":{"toolUseId":"t","content":[{"text":"out"}]}}]}]}"#;
    for file in [ai_sdk, converse] {
        let error = refused(file);
        assert!(matches!(error, ReadError::TooLittle { .. }), "{error:?}");
    }
    let chain = r#"[{"type":"human","content":"hi"},{"type":"ai","content":"","tool_calls":[{"name":"r","args":{},"id":"c"}]},
        {"type":"tool","content":"out","tool_call_id":"c"}]"#;
    assert_eq!(detect(chain.as_bytes()), Some(Format::Langchain));
    let wrapped = format!(r#"{{"input":{chain}}}"#);
    let error = ReadError::OtherForm {
        asked: Format::Responses,
        found: Format::Langchain,
    };
    assert_eq!(refused(&wrapped), error);
    let document = read(wrapped.as_bytes(), Some(Format::Langchain)).unwrap();
    assert_eq!(document.messages, read(chain.as_bytes(), None).unwrap().messages);
}

#[test]
fn a_conversation_of_blocks_of_no_known_kind_is_refused() {
    let list = |block: &str| {
        let messages: Vec<String> = (0..5)
            .flat_map(|n| {
                [
                    format!(r#"{{"role":"user","content":[{{"kind":"Speech","words":"do {n}"}}]}}"#),
                    format!(r#"{{"role":"assistant","content":[{block}]}}"#),
                ]
            })
            .collect();
        format!(r#"{{"messages":[{}]}}"#, messages.join(","))
    };
    let foreign = list(r#"{"kind":"Action","verb":"run"}"#);
    let error = refused(&foreign);
    assert!(matches!(error, ReadError::TooLittle { .. }), "{error:?}");
    // A kind of block that a vendor has come up with since is passed on.
    let new =
        list(r#"{"type":"brand_new_use","id":"a"}"#).replace(r#"{"kind":"Speech","words""#, r#"{"type":"text","text""#);
    assert_eq!(read(new.as_bytes(), None).unwrap().messages.len(), 10);
}

#[test]
fn entries_of_other_programs_are_no_session_of_a_known_one() {
    let lines = |line: &str| format!("{line}\n").repeat(50);
    for line in [
        r#"{"type":"message","payload":{"x":0}}"#,
        r#"{"type":"message","message":"hello"}"#,
        r#"{"type":"log","data":{},"timestamp":"t"}"#,
        r#"{"type":"chat.line","data":{},"timestamp":"t"}"#,
        r#"{"type":"chat-line","uuid":"u","sessionId":"s","text":"hello"}"#,
    ] {
        assert_eq!(detect(lines(line).as_bytes()), None, "{line}");
        assert_eq!(refused(&lines(line)), ReadError::UnknownFormat, "{line}");
    }
}

#[test]
fn a_session_in_which_nothing_can_be_read_is_refused() {
    let line = r#"{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","words":"hello"}}"#;
    let error = ReadError::NothingRead(Format::ClaudeCode);
    assert_eq!(refused(&format!("{line}\n").repeat(3)), error);
    for (file, format) in [
        (
            r#"{"info":{},"messages":[{"role":"user","content":"hello"}]}"#,
            Format::Opencode,
        ),
        (
            "{\"type\":\"session_meta\",\"payload\":{}}\n{\"type\":\"novelty\",\"payload\":{}}\n",
            Format::Codex,
        ),
    ] {
        assert_eq!(refused(file), ReadError::NothingRead(format), "{file}");
    }
}

#[test]
fn what_could_not_be_read_among_much_that_could_is_told_with_its_number() {
    let said = |id: u32| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":null,\"message\":{{\"role\":\"user\",\"content\":\"{id}\"}}}}\n"
        )
        .replace("null", &if id == 1 { "null".to_owned() } else { format!("\"{}\"", id - 1) })
    };
    let odd = "{\"type\":\"user\",\"uuid\":\"x\",\"message\":{\"role\":\"user\",\"words\":\"hello\"}}\n";
    let little = [odd, odd, &said(1), &said(2), &said(3)].concat();
    let error = refused(&little);
    assert!(matches!(error, ReadError::TooLittle { missed: 136, .. }), "{error:?}");
    let anyway = record_anyway(little.as_bytes(), None).unwrap().document;
    assert_eq!(anyway.messages.len(), 3);
    let few: String = [odd.to_owned(), odd.to_owned()]
        .into_iter()
        .chain((1..20).map(said))
        .collect();
    let document = read(few.as_bytes(), None).unwrap();
    assert_eq!(document.messages.len(), 19);
    let kind = String::from("user");
    let unread = Warning::UnreadEntry {
        line: 1,
        kind,
        count: 2,
    };
    assert_eq!(document.warnings[0], unread);
    assert!(matches!(document.warnings[1], Warning::Missed { missed: 136, .. }));
}

#[test]
fn sessions_of_qwen_code_are_told_from_those_that_they_look_like() {
    let note = r#"{"uuid":"s","parentUuid":null,"sessionId":"s","type":"system","subtype":"ui_telemetry"}"#;
    let prompt = r#"{"uuid":"a","parentUuid":"s","sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"go"}]}}"#;
    let file = format!("{note}\n{prompt}\n");
    assert_eq!(detect(file.as_bytes()), Some(Format::QwenCode));
    let document = read(file.as_bytes(), None).unwrap();
    assert!(document.messages[0].is_prompt());
    let other = r#"{"uuid":"a","parentUuid":"s","type":"user","message":{"role":"user","content":"go"}}"#;
    assert_eq!(detect(format!("{note}\n{other}").as_bytes()), Some(Format::ClaudeCode));
    assert_eq!(detect(note.as_bytes()), Some(Format::ClaudeCode));
}
