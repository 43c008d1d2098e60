//! Whatever was read can be written for every vendor, as a request that the vendor accepts.

use codelet_context::message::{Extra, Image, Message, Origin, Part, Role, Thinking, ToolCall, ToolResult};
use codelet_transcript::{Document, Format, ReadError, Warning, detect, ids, read, write, write_all};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::path::PathBuf;

const VENDORS: [Format; 4] = [Format::Anthropic, Format::Openai, Format::Responses, Format::Gemini];

/// What one message of a request does, as far as the rules go.
#[derive(Debug)]
enum Entry {
    System,
    User,
    Assistant(Vec<String>),
    Results(Vec<String>),
}

/// The rules that all vendors share, and each one's own where messages may not follow each other.
fn check_rules(format: Format, request: &Value) {
    let entries = match format {
        Format::Anthropic => anthropic(request),
        Format::Openai => openai(request),
        Format::Responses => responses(request),
        _ => gemini(request),
    };
    let mut open: Vec<String> = Vec::new();
    let mut ids = HashSet::new();
    for entry in &entries {
        match entry {
            Entry::Results(answered) => {
                for id in answered {
                    let at = open.iter().position(|other| other == id);
                    open.remove(at.unwrap_or_else(|| panic!("{format}: {id} answers no open call")));
                }
            }
            other => {
                assert!(open.is_empty(), "{format}: {open:?} are not answered before {other:?}");
                if let Entry::Assistant(calls) = other {
                    for id in calls {
                        assert!(
                            format == Format::Gemini || ids.insert(id.clone()),
                            "{format}: {id} is used twice"
                        );
                    }
                    open = calls.clone();
                }
            }
        }
    }
    assert!(open.is_empty(), "{format}: {open:?} are never answered");
}

fn texts(value: &Value) {
    match value {
        Value::Object(fields) if fields.get("type").is_none_or(|kind| kind == "text") => {
            if let Some(text) = fields.get("text").and_then(Value::as_str) {
                assert!(!text.trim().is_empty(), "a blank text");
            }
        }
        _ => {}
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn id(value: &Value) -> String {
    let id = string(value);
    assert!(!id.is_empty() && id.len() <= 40, "{id}");
    assert!(
        id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'),
        "{id}"
    );
    id
}

fn anthropic(request: &Value) -> Vec<Entry> {
    let mut last = "assistant".to_owned();
    let mut entries = Vec::new();
    for message in request["messages"].as_array().unwrap() {
        let role = string(&message["role"]);
        assert_ne!(role, last, "roles take turns, the user first");
        let blocks = match &message["content"] {
            Value::String(text) => {
                assert!(!text.trim().is_empty());
                Vec::new()
            }
            content => content.as_array().unwrap().clone(),
        };
        blocks.iter().for_each(texts);
        let kind = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
        if role == "user" {
            let results: Vec<String> = kind("tool_result").map(|block| id(&block["tool_use_id"])).collect();
            let firsts = blocks.iter().take_while(|block| block["type"] == "tool_result").count();
            assert_eq!(firsts, results.len(), "results come first");
            entries.push(Entry::Results(results));
            entries.push(Entry::User);
        } else {
            assert!(kind("thinking").all(|block| !string(&block["signature"]).is_empty()));
            assert!(kind("tool_use").all(|block| block["input"].is_object()));
            entries.push(Entry::Assistant(
                kind("tool_use").map(|block| id(&block["id"])).collect(),
            ));
        }
        last = role;
    }
    entries
}

fn openai(request: &Value) -> Vec<Entry> {
    let mut entries = Vec::new();
    for message in request["messages"].as_array().unwrap() {
        if let Some(parts) = message["content"].as_array() {
            assert!(!parts.is_empty());
            parts.iter().for_each(texts);
        }
        entries.push(match message["role"].as_str().unwrap() {
            "system" => Entry::System,
            "user" => Entry::User,
            "tool" => {
                let parts = message["content"].as_array().into_iter().flatten();
                assert!(parts.into_iter().all(|part| part["type"] == "text"), "{message}");
                Entry::Results(vec![id(&message["tool_call_id"])])
            }
            "assistant" => {
                let calls = message.get("tool_calls").and_then(Value::as_array);
                assert!(calls.is_some() || !message["content"].is_null());
                let calls = calls.into_iter().flatten().map(|call| {
                    assert_eq!(call["type"], "function");
                    let arguments = string(&call["function"]["arguments"]);
                    assert!(
                        serde_json::from_str::<Map<String, Value>>(&arguments).is_ok(),
                        "{arguments}"
                    );
                    id(&call["id"])
                });
                Entry::Assistant(calls.collect())
            }
            other => panic!("{other}"),
        });
    }
    entries
}

fn responses(request: &Value) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for item in request["input"].as_array().unwrap() {
        match item.get("type").map(|kind| kind.as_str().unwrap()) {
            Some("function_call") => match entries.last_mut() {
                Some(Entry::Assistant(calls)) => calls.push(id(&item["call_id"])),
                _ => entries.push(Entry::Assistant(vec![id(&item["call_id"])])),
            },
            Some("function_call_output") => entries.push(Entry::Results(vec![id(&item["call_id"])])),
            Some("reasoning") => assert!(!string(&item["encrypted_content"]).is_empty() && item["summary"].is_array()),
            // There are servers that take a reply only with its type.
            Some("message") => match (item["role"].as_str().unwrap(), entries.last_mut()) {
                ("assistant", Some(Entry::Assistant(_))) => {}
                ("assistant", _) => entries.push(Entry::Assistant(Vec::new())),
                (other, _) => panic!("{other}"),
            },
            None => match item["role"].as_str().unwrap() {
                "user" => entries.push(Entry::User),
                "system" => entries.push(Entry::System),
                other => panic!("{other}"),
            },
            other => panic!("{other:?}"),
        }
    }
    entries
}

fn gemini(request: &Value) -> Vec<Entry> {
    let mut last = "model".to_owned();
    let mut entries = Vec::new();
    for content in request["contents"].as_array().unwrap() {
        let role = string(&content["role"]);
        assert_ne!(role, last, "roles take turns, the user first");
        let parts = content["parts"].as_array().unwrap();
        assert!(!parts.is_empty());
        parts.iter().for_each(texts);
        let names = |field: &str| -> Vec<String> {
            parts
                .iter()
                .filter_map(|part| part.get(field))
                .map(|inner| string(&inner["name"]))
                .collect()
        };
        if role == "user" {
            assert!(parts.iter().all(|part| part.get("functionCall").is_none()));
            entries.push(Entry::Results(names("functionResponse")));
            entries.push(Entry::User);
        } else {
            assert!(parts.iter().all(|part| part.get("functionResponse").is_none()));
            entries.push(Entry::Assistant(names("functionCall")));
        }
        last = role;
    }
    entries
}

fn check_document(document: &Document) {
    for to in VENDORS {
        if to == document.format {
            continue;
        }
        let text = write(document, to).unwrap();
        let request: Value = serde_json::from_str(&text).unwrap();
        check_rules(to, &request);
        if !document.messages.is_empty() {
            // What was written is read as what it is, and says the same again.
            let again = match read(text.as_bytes(), Some(to)) {
                // Nobody but an assistant thinks: a file of such messages is one of another form.
                Err(ReadError::TooLittle { .. }) if document.messages.iter().any(thinks_alone) => {
                    continue;
                }
                again => again.unwrap(),
            };
            assert_eq!(write(&again, to).unwrap(), text);
        }
    }
}

/// Whether a message of the user's side holds nothing but thinking.
fn thinks_alone(message: &Message) -> bool {
    let is_thinking = |part: &Part| matches!(part, Part::Thinking(_));
    message.role != Role::Assistant && message.parts.iter().all(is_thinking)
}

fn document(format: Format, messages: Vec<Message>) -> Document {
    Document {
        format,
        messages,
        envelope: Map::new(),
        warnings: Vec::new(),
    }
}

#[test]
fn a_call_and_its_answer_survive_every_conversion() {
    let chat = json!({
        "model": "m", "max_completion_tokens": 9, "seed": 1,
        "tools": [{"type": "function", "function": {"name": "ls", "description": "d", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call|1", "type": "function", "function": {"name": "ls", "arguments": "{\"p\": 1}"}},
                {"id": "call|2", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "call|2", "content": "two"},
            {"role": "tool", "tool_call_id": "call|1", "content": "one"},
            {"role": "user", "content": "next"}]
    });
    let document = read(chat.to_string().as_bytes(), None).unwrap();
    let to = |format| serde_json::from_str::<Value>(&write(&document, format).unwrap()).unwrap();
    assert_eq!(
        to(Format::Anthropic),
        json!({
            "model": "m", "max_tokens": 9,
            "tools": [{"name": "ls", "description": "d", "input_schema": {"type": "object"}}],
            "system": "s",
            "messages": [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "call_1", "name": "ls", "input": {"p": 1}},
                    {"type": "tool_use", "id": "call_2", "name": "ls", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "call_2", "content": "two"},
                    {"type": "text", "text": "next"}]}]
        })
    );
    assert_eq!(
        to(Format::Gemini),
        json!({
            "tools": [{"functionDeclarations": [{"name": "ls", "description": "d", "parametersJsonSchema": {"type": "object"}}]}],
            "generationConfig": {"maxOutputTokens": 9},
            "systemInstruction": {"parts": [{"text": "s"}]},
            "contents": [
                {"role": "user", "parts": [{"text": "go"}]},
                {"role": "model", "parts": [
                    {"functionCall": {"name": "ls", "args": {"p": 1}}}, {"functionCall": {"name": "ls", "args": {}}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "ls", "response": {"output": "one"}}},
                    {"functionResponse": {"name": "ls", "response": {"output": "two"}}},
                    {"text": "next"}]}]
        })
    );
    assert_eq!(
        to(Format::Responses),
        json!({
            "model": "m", "max_output_tokens": 9,
            "tools": [{"type": "function", "name": "ls", "description": "d", "parameters": {"type": "object"}}],
            "instructions": "s",
            "input": [
                {"role": "user", "content": "go"},
                {"type": "function_call", "call_id": "call_1", "name": "ls", "arguments": "{\"p\":1}"},
                {"type": "function_call", "call_id": "call_2", "name": "ls", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_1", "output": "one"},
                {"type": "function_call_output", "call_id": "call_2", "output": "two"},
                {"role": "user", "content": "next"}]
        })
    );
    check_document(&document);
}

#[test]
fn each_reply_stands_behind_the_answers_that_it_knew() {
    let call = |id: &str| Part::ToolCall(ToolCall::new(id, "read", Default::default()));
    let answer = |id: &str| Message::results(vec![ToolResult::new(id, Some(true), "text")]);
    let reply = |id: &str| Message::new(Role::Assistant, vec![Part::text("I see."), call(id)]);
    let messages = vec![
        Message::user("look"),
        reply("a"),
        answer("a"),
        reply("b"),
        answer("b"),
        Message::assistant("done"),
    ];
    let document = document(Format::Corpus, messages);
    for vendor in VENDORS {
        let request: Value = serde_json::from_str(&write(&document, vendor).unwrap()).unwrap();
        let entries = match vendor {
            Format::Anthropic => anthropic(&request),
            Format::Openai => openai(&request),
            Format::Responses => responses(&request),
            _ => gemini(&request),
        };
        let calls = entries.iter().filter_map(|entry| match entry {
            Entry::Assistant(calls) if !calls.is_empty() => Some(calls.len()),
            _ => None,
        });
        assert_eq!(calls.collect::<Vec<_>>(), [1, 1], "{vendor}: {request}");
    }
}

#[test]
fn thinking_goes_only_to_the_vendor_that_made_it() {
    let thinking = |marks: Value| {
        let Value::Object(marks) = marks else { panic!() };
        let thinking = Thinking {
            body: "hm".into(),
            signature: Some("c2ln".into()),
            redacted: None,
            is_wanted_back: false,
            extra: Extra::new(marks),
        };
        Message::new(Role::Assistant, vec![Part::Thinking(thinking), Part::text("done")])
    };
    let kept = |format, marks, to| {
        let document = document(format, vec![Message::user("go"), thinking(marks)]);
        write(&document, to).unwrap().contains("c2ln")
    };
    assert!(kept(Format::ClaudeCode, json!({}), Format::Anthropic));
    assert!(kept(
        Format::Opencode,
        json!({"codelet.vendor": "anthropic"}),
        Format::Anthropic
    ));
    assert!(!kept(
        Format::Opencode,
        json!({"codelet.vendor": "openai"}),
        Format::Anthropic
    ));
    assert!(!kept(Format::Opencode, json!({}), Format::Anthropic));
    for to in [Format::Openai, Format::Responses, Format::Gemini] {
        assert!(!kept(Format::ClaudeCode, json!({}), to));
    }
}

#[test]
fn an_answer_belongs_to_the_latest_call_with_its_id() {
    let call = || {
        Message::new(
            Role::Assistant,
            vec![Part::ToolCall(ToolCall::new("a", "ls", Map::new()))],
        )
    };
    let result = |text: &str| Message::results(vec![ToolResult::new("a", None, text)]);
    let early = result("before any call");
    let messages = vec![
        early,
        call(),
        Message::user("never mind"),
        call(),
        result("second"),
        result("again"),
    ];
    let document = document(Format::Pi, messages);
    let text = write(&document, Format::Openai).unwrap();
    let said: Vec<String> = serde_json::from_str::<Value>(&text).unwrap()["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap_or("-").to_owned())
        .collect();
    assert_eq!(said, ["-", "[no result was recorded]", "never mind", "-", "second"]);
    check_document(&document);
}

fn picture(is_url: bool) -> Part {
    Part::Image(Image {
        media_type: "image/png".into(),
        data: "iVBO".into(),
        is_url,
        extra: Extra::default(),
    })
}

#[test]
fn a_picture_in_an_answer_is_shown_below_it_where_the_vendor_takes_none_there() {
    let shot = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}});
    let request = json!({"max_tokens": 9, "messages": [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "shot", "input": {}},
            {"type": "tool_use", "id": "b", "name": "shot", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "here:"}, shot]},
            {"type": "tool_result", "tool_use_id": "b", "content": [shot]},
            {"type": "text", "text": "and now?"}]}]});
    let document = read(request.to_string().as_bytes(), None).unwrap();
    let to = |format| serde_json::from_str::<Value>(&write(&document, format).unwrap()).unwrap();
    let chat = &to(Format::Openai)["messages"];
    let below = "[an image, shown below]";
    assert_eq!(
        chat[2]["content"],
        json!([{"type": "text", "text": "here:"}, {"type": "text", "text": below}])
    );
    assert_eq!(chat[3]["content"], below);
    let url = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}});
    assert_eq!(chat[4], json!({"role": "user", "content": [url, url]}));
    assert_eq!(chat[5], json!({"role": "user", "content": "and now?"}));
    let gemini = &to(Format::Gemini)["contents"][2]["parts"];
    assert_eq!(gemini[1]["functionResponse"]["response"]["output"], below);
    assert_eq!(gemini[2]["inlineData"]["data"], "iVBO");
    let responses = &to(Format::Responses)["input"][3]["output"];
    assert_eq!(responses[1]["image_url"], "data:image/png;base64,iVBO");
    check_document(&document);
}

fn part() -> impl Strategy<Value = Part> {
    let text = prop_oneof![Just(""), Just(" \n"), Just("words"), Just("more words")];
    let id = prop::sample::select(vec![
        "a",
        "b",
        "c",
        "",
        "a|b",
        "1",
        "toolu_0123456789012345678901234567890123456789xx",
    ]);
    let output = prop::collection::vec(text.clone().prop_map(Part::text), 0..3);
    prop_oneof![
        4 => text.prop_map(Part::text),
        1 => Just(Part::text_from(Origin::Summary, "summary")),
        4 => (id.clone(), "[a-z_.]{0,9}").prop_map(|(id, tool)| Part::ToolCall(ToolCall::new(id, tool.as_str(), Map::new()))),
        4 => (id.clone(), any::<bool>()).prop_map(|(id, is_url)| Part::ToolResult(ToolResult {
            output: vec![Part::text("shot:"), picture(is_url)], bare: false, ..ToolResult::new(id, None, "")
        })),
        4 => (id, output, any::<Option<bool>>(), any::<bool>()).prop_map(|(id, output, success, bare)| {
            Part::ToolResult(ToolResult { output, bare, ..ToolResult::new(id, success, "") })
        }),
        1 => any::<(bool, bool)>().prop_map(|(signed, redacted)| Part::Thinking(Thinking {
            body: "hm".into(),
            signature: signed.then(|| "c2ln".into()),
            redacted: redacted.then(|| "ZGF0YQ==".into()),
            is_wanted_back: false,
            extra: Extra::default(),
        })),
        1 => any::<bool>().prop_map(picture),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![1 => Just(Role::System), 4 => Just(Role::User), 4 => Just(Role::Assistant)];
    (role, prop::collection::vec(part(), 0..4), any::<bool>()).prop_map(|(role, parts, bare)| Message {
        bare,
        ..Message::new(role, parts)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(5_000), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_conversation_becomes_a_valid_request(
        messages in prop::collection::vec(message(), 0..12),
        format in prop::sample::select(vec![Format::Corpus, Format::Codex, Format::Gemini, Format::Pi, Format::Anthropic]),
    ) {
        check_document(&document(format, messages));
    }
}

fn corpus() -> Option<PathBuf> {
    let path = std::env::var_os("CODELET_CORPUS").map(PathBuf::from);
    let path = path.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus")));
    let found = path.is_dir().then_some(path);
    if found.is_none() {
        eprintln!("the recorded corpus is missing: set CODELET_CORPUS to check against it");
    }
    found
}

fn files(folder: PathBuf) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn every_recorded_conversation_becomes_a_valid_request() {
    let Some(corpus) = corpus() else { return };
    let recorded = files(corpus.join("neutral"))
        .into_iter()
        .chain(files(corpus.join("giant")));
    for path in recorded.filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(detect(&bytes), Some(Format::Corpus), "{}", path.display());
        let document = read(&bytes, None).unwrap();
        let source: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(document.messages.len(), source["messages"].as_array().unwrap().len());
        check_document(&document);
    }
}

#[test]
fn every_recorded_session_is_known_by_its_structure() {
    let Some(corpus) = corpus() else { return };
    for path in files(corpus.join("raw")) {
        let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let format = Format::from_name(folder.trim_end_matches("-cli")).unwrap();
        assert_eq!(
            detect(&std::fs::read(&path).unwrap()),
            Some(format),
            "{}",
            path.display()
        );
    }
}

#[test]
fn a_refusal_and_a_spoken_answer_are_answers() {
    let audio = json!({"id": "audio_1", "expires_at": 1, "data": "UklG", "transcript": "Spoken words."});
    let request = json!({"model": "m", "messages": [
        {"role": "user", "content": "do it"},
        {"role": "assistant", "content": null, "refusal": "I refuse"},
        {"role": "user", "content": "say it"},
        {"role": "assistant", "content": null, "audio": {"id": "audio_0"}},
        {"role": "user", "content": "again"},
        {"role": "assistant", "refusal": null, "content": null, "audio": audio},
        {"role": "user", "content": "thanks"}]});
    let document = read(request.to_string().as_bytes(), None).unwrap();
    let mut view = codelet_context::view::View::new(document.messages.clone());
    assert_eq!(codelet_context::strategy::pair(&mut view).hits, 0);
    assert_eq!(write(&document, Format::Openai).unwrap(), request.to_string());
    for to in [Format::Anthropic, Format::Responses, Format::Gemini] {
        let written = write_all(&document, to).unwrap();
        let marker = format!("[audio, left out: {to} has no place for it]");
        for words in ["I refuse", "Spoken words.", &marker] {
            assert!(written.text.contains(words), "{words}: {}", written.text);
        }
        let kinds = vec![("audio".to_owned(), 1)];
        assert_eq!(written.warnings, [Warning::LeftOut { to, kinds }]);
    }
    check_document(&document);
}

#[test]
fn the_words_of_a_refusal_that_a_compaction_removes_can_be_read_back() {
    let mut messages = vec![json!({"role": "user", "content": "do it"})];
    messages.push(json!({"role": "assistant", "content": null, "refusal": "I refuse for reason 77"}));
    for turn in 0..12 {
        messages.push(json!({"role": "user", "content": format!("prompt {turn}")}));
        messages.push(json!({"role": "assistant", "content": format!("answer {turn} ").repeat(90)}));
    }
    messages.push(json!({"role": "user", "content": "go on"}));
    let document = read(
        json!({ "messages": messages }).to_string().as_bytes(),
        Some(Format::Openai),
    )
    .unwrap();
    let history: codelet_context::history::History = document.messages.into_iter().collect();
    let done = codelet_context::compact::compact(&history, codelet_context::compact::Target::Budget(900));
    assert!(done.changed);
    let shown = codelet_transcript::shape::write(done.view.messages.iter().map(|message| &**message));
    let mut removed = done.view.archive.iter().map(|(_, removed)| removed.body.as_str());
    assert!(shown.contains("reason 77") || removed.any(|text| text.contains("reason 77")));
}

fn chat_of_another_maker(id: &str) -> Value {
    json!({"model": "m", "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}},
            {"id": "functions/ls:0", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": id, "content": "one"},
        {"role": "tool", "tool_call_id": "functions/ls:0", "content": "two"}]})
}

#[test]
fn ids_stay_as_their_vendor_gave_them_and_are_spelled_for_one_that_refuses_them() {
    let request = chat_of_another_maker("functions.ls:0").to_string();
    let read_as_chat = read(request.as_bytes(), None).unwrap();
    let mut view = codelet_context::view::View::new(read_as_chat.messages.clone());
    assert_eq!(codelet_context::strategy::pair(&mut view).hits, 0);
    assert_eq!(write(&read_as_chat, Format::Openai).unwrap(), request);
    // As a session does that goes on with another model.
    for (format, longest) in [(Format::Anthropic, 40), (Format::Openai, 40), (Format::Responses, 64)] {
        for first in ["functions.ls:0".to_owned(), format!("functions.{}:0", "ls".repeat(40))] {
            let chat = chat_of_another_maker(&first).to_string();
            let mut document = Document {
                format,
                envelope: Map::new(),
                ..read(chat.as_bytes(), None).unwrap()
            };
            document
                .messages
                .iter_mut()
                .for_each(|message| ids::spell(message, format));
            let written: Value = serde_json::from_str(&write(&document, format).unwrap()).unwrap();
            let mut ids = Vec::new();
            collect_ids(&written, &mut ids);
            assert!(
                ids.len() == 4 && ids[0] == ids[2] && ids[1] == ids[3] && ids[0] != ids[1],
                "{ids:?}"
            );
            for id in ids {
                assert!(id.len() <= longest, "{format}: {id}");
                assert!(
                    format != Format::Anthropic || id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)),
                    "{id}"
                );
            }
        }
    }
}

/// The ids of calls, then those of answers.
fn collect_ids(value: &Value, ids: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(id) if matches!(name.as_str(), "id" | "tool_use_id" | "tool_call_id" | "call_id") => {
                        ids.push(id.clone());
                    }
                    value => collect_ids(value, ids),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, ids)),
        _ => {}
    }
}

#[test]
fn tools_of_one_name_on_two_servers_stay_two() {
    let call = |id: &str, server: &str| {
        format!(
            r#"{{"type":"function_call","call_id":"{id}","namespace":"mcp__{server}__","name":"search","arguments":"{{\"query\":\"tea\"}}"}},{{"type":"function_call_output","call_id":"{id}","output":"{server}"}}"#
        )
    };
    let text = format!(
        r#"{{"input":[{{"role":"user","content":"Find tea."}},{},{}]}}"#,
        call("a", "wiki"),
        call("b", "shop")
    );
    let document = read(text.as_bytes(), Some(Format::Responses)).unwrap();
    let calls = document.messages.iter().flat_map(|message| message.calls());
    let tools: Vec<&str> = calls.map(|call| &*call.tool).collect();
    assert_eq!(tools, ["mcp__wiki__search", "mcp__shop__search"]);
    assert_eq!(write(&document, Format::Responses).unwrap(), text);
    let other = write(&document, Format::Anthropic).unwrap();
    assert!(tools.iter().all(|tool| other.contains(tool)), "{other}");
}
