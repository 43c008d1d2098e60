//! Definitions of tools reach another vendor as that takes them, or a warning counts them; what vendors' own tools leave in a
//! conversation breaks no rule in any request of a long session.

use codelet_context::conversation::Conversation;
use codelet_context::message::{Message, Part, Role, ToolCall, ToolResult};
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_transcript::{Document, Format, Warning, read, vendor, write, write_all};
use serde_json::{Map, Value, json};

/// The fields around the messages for another vendor, and what was left out.
fn converted(request: &Value, to: Format) -> (Value, Vec<(String, usize)>) {
    let document = read(request.to_string().as_bytes(), None).unwrap();
    let written = write_all(&document, to).unwrap();
    let kinds = match written.warnings.as_slice() {
        [] => Vec::new(),
        [Warning::LeftOut { kinds, .. }] => kinds.clone(),
        other => panic!("{other:?}"),
    };
    (serde_json::from_str(&written.text).unwrap(), kinds)
}

#[test]
fn schemas_of_gemini_become_json_schema() {
    let parameters = json!({
        "type": "OBJECT",
        "properties": {
            "path": {"type": "STRING", "nullable": true, "minLength": "1"},
            "type": {"type": "STRING", "enum": ["A", "B"], "nullable": true},
            "default": {"type": "BOOLEAN"},
            "n": {"type": "INTEGER", "format": "int32", "minimum": 1.5, "default": {"type": "NONE"}},
            "list": {"type": "ARRAY", "maxItems": "3", "items": {"anyOf": [{"type": "NUMBER"}], "nullable": true}}
        },
        "required": ["path"]});
    let request = json!({
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "read_file", "description": "d", "parameters": parameters}], "googleSearch": {}},
                  {"codeExecution": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read_file"]}}});
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": ["string", "null"], "minLength": 1},
            "type": {"type": ["string", "null"], "enum": ["A", "B", null]},
            "default": {"type": "boolean"},
            "n": {"type": "integer", "format": "int32", "minimum": 1.5, "default": {"type": "NONE"}},
            "list": {"type": "array", "maxItems": 3, "items": {"anyOf": [{"type": "number"}, {"type": "null"}]}}
        },
        "required": ["path"]});
    let kinds = vec![
        ("tool codeExecution".to_owned(), 1),
        ("tool googleSearch".to_owned(), 1),
    ];
    let (anthropic, left_out) = converted(&request, Format::Anthropic);
    assert_eq!(
        anthropic["tools"],
        json!([{"name": "read_file", "description": "d", "input_schema": schema}])
    );
    assert_eq!(anthropic["tool_choice"], json!({"type": "tool", "name": "read_file"}));
    assert_eq!(left_out, kinds);
    let (chat, left_out) = converted(&request, Format::Openai);
    assert_eq!(chat["tools"][0]["function"]["parameters"], schema);
    assert_eq!(
        chat["tool_choice"],
        json!({"type": "function", "function": {"name": "read_file"}})
    );
    assert_eq!(left_out, kinds);
    let (responses, _) = converted(&request, Format::Responses);
    assert_eq!(responses["tools"][0]["parameters"], schema);
    assert_eq!(
        responses["tool_choice"],
        json!({"type": "function", "name": "read_file"})
    );
    // And back: what Gemini takes is JSON Schema too.
    let (gemini, left_out) = converted(&anthropic, Format::Gemini);
    assert_eq!(
        gemini["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"],
        schema
    );
    assert_eq!(gemini["toolConfig"], request["toolConfig"]);
    assert_eq!(left_out, []);
}

#[test]
fn a_schema_of_others_stays_as_it_is() {
    let schema = json!({"type": "object", "properties": {"nullable": {"type": "boolean"}, "minimum": {"type": "string", "const": "X"}}});
    let request = json!({"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "f", "input_schema": schema}]});
    assert_eq!(
        converted(&request, Format::Openai).0["tools"][0]["function"]["parameters"],
        schema
    );
}

#[test]
fn functions_of_older_chats_are_tools() {
    let parameters = json!({"type": "object", "properties": {}});
    let request = json!({"model": "m",
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}, {"role": "user", "content": "hi"}],
        "functions": [{"name": "f", "description": "d", "parameters": parameters}], "function_call": "auto"});
    let document = read(request.to_string().as_bytes(), Some(Format::Openai)).unwrap();
    for (to, path) in [
        (Format::Anthropic, "/tools/0/name"),
        (Format::Responses, "/tools/0/name"),
        (Format::Gemini, "/tools/0/functionDeclarations/0/name"),
    ] {
        let written = write_all(&document, to).unwrap();
        let written_request: Value = serde_json::from_str(&written.text).unwrap();
        assert_eq!(written_request.pointer(path).unwrap(), "f", "{to}");
        assert_eq!(written.warnings, []);
    }
}

#[test]
fn tools_that_a_vendor_has_built_are_counted() {
    let request = json!({"model": "c", "max_tokens": 9, "tool_choice": {"type": "any"},
        "tools": [{"type": "bash_20250124", "name": "bash"}, {"type": "text_editor_20250728", "name": "edit"}],
        "messages": [{"role": "user", "content": "hi"}]});
    for to in [Format::Openai, Format::Responses, Format::Gemini] {
        let (written, left_out) = converted(&request, to);
        let kinds = ["tool bash_20250124", "tool text_editor_20250728", "tool_choice"];
        assert_eq!(left_out, kinds.map(|kind| (kind.to_owned(), 1)), "{to}");
        assert!(
            written.get("tools").is_none() && written.get("tool_choice").is_none(),
            "{written}"
        );
    }
}

#[test]
fn a_tool_that_takes_free_text_takes_it_as_a_parameter_elsewhere() {
    let request = json!({"model": "m", "input": "hi", "tool_choice": "required", "tools": [
        {"type": "custom", "name": "patch", "description": "d", "format": {"type": "grammar"}}, {"type": "web_search"}]});
    let (anthropic, left_out) = converted(&request, Format::Anthropic);
    assert_eq!(
        anthropic["tools"][0]["input_schema"]["properties"]["input"]["type"],
        "string"
    );
    assert_eq!(anthropic["tool_choice"], json!({"type": "any"}));
    assert_eq!(left_out, [("tool web_search".to_owned(), 1)]);
}

/// What a vendor's own tools leave in a conversation, in its words; `n` keeps ids apart.
fn special(form: Format, n: usize) -> Value {
    let prompt = |text: &str| json!({"role": "user", "content": text});
    match form {
        Format::Anthropic => {
            let reply = |blocks: Value| json!({"role": "assistant", "content": blocks});
            let server = |id: &str, name: &str| json!({"type": "server_tool_use", "id": format!("srv_{id}{n}"), "name": name, "input": {"query": "tea"}});
            let result = |id: &str, kind: &str, content: Value| json!({"type": kind, "tool_use_id": format!("srv_{id}{n}"), "content": content});
            let loads = json!({"type": "tool_search_tool_search_result", "tool_references": [{"type": "tool_reference", "tool_name": "stock"}]});
            let call =
                |id: &str| json!({"type": "tool_use", "id": format!("toolu_{id}{n}"), "name": "stock", "input": {}});
            let answer = |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("toolu_{id}{n}"), "content": "7 tins"}]});
            let mut asked = call("p");
            asked["caller"] = json!({"type": "code_execution_20260120", "tool_id": format!("srv_c{n}")});
            json!([
                prompt("Look for tea."),
                {"role": "system", "content": "Be brief."},
                reply(json!([{"type": "compaction", "content": format!("Earlier: {n} kinds of tea were listed.")}, {"type": "text", "text": "Go on."}])),
                prompt("Search."),
                {"role": "system", "content": [], "output_config": {"effort": "low"}},
                reply(json!([
                    {"type": "thinking", "thinking": "I search.", "signature": "sig"},
                    server("w", "web_search"), result("w", "web_search_tool_result", json!([{"type": "web_search_result", "url": "https://tea.example", "title": "Tea", "encrypted_content": "x"}])),
                    {"type": "mcp_tool_use", "id": format!("srv_m{n}"), "name": "find", "server_name": "shop", "input": {}},
                    result("m", "mcp_tool_result", json!([{"type": "text", "text": "3 kinds in the shop"}])),
                    server("t", "tool_search_tool_regex"), result("t", "tool_search_tool_result", loads), call("l")])),
                answer("l"),
                reply(json!([{"type": "text", "text": "Found."}])),
                prompt("Add them up."),
                reply(json!([server("c", "code_execution"), asked])),
                answer("p"),
                reply(json!([result("c", "code_execution_tool_result", json!({"type": "code_execution_result", "stdout": "total 7", "stderr": "", "return_code": 0})), {"type": "text", "text": "Seven."}])),
                prompt("Thanks.")])
        }
        Format::Responses => {
            let id = |id: &str| format!("{id}_{n}");
            json!([
                {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "stock"}]},
                prompt("Look for tea."),
                {"type": "compaction", "encrypted_content": "sealed"},
                {"type": "reasoning", "id": id("rs"), "summary": [], "encrypted_content": "x"},
                {"type": "web_search_call", "id": id("ws"), "status": "completed", "action": {"type": "search", "query": "tea"}},
                {"type": "mcp_call", "id": id("mcp"), "server_label": "shop", "name": "find", "arguments": "{}", "output": "3 kinds in the shop"},
                {"type": "tool_search_call", "id": id("ts"), "execution": "server", "arguments": {}},
                {"type": "tool_search_output", "id": id("to"), "execution": "server", "tools": [{"type": "function", "name": "stock"}]},
                {"type": "shell_call", "call_id": id("sh"), "action": {"commands": ["cargo test"]}},
                {"type": "shell_call_output", "call_id": id("sh"), "output": [{"stdout": "1 failed", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}]},
                {"type": "custom_tool_call", "call_id": id("cu"), "name": "exec", "input": "text(await tools.exec_command({cmd: 'ls'}))"},
                {"type": "custom_tool_call_output", "call_id": id("cu"), "output": "Script completed"},
                prompt("Add them up."),
                {"type": "program", "id": id("pr"), "call_id": id("prog"), "code": "await tools.stock()"},
                {"type": "function_call", "call_id": id("fc"), "name": "stock", "arguments": "{}", "caller": {"type": "program", "caller_id": id("prog")}},
                {"type": "function_call_output", "call_id": id("fc"), "output": "7", "caller": {"type": "program", "caller_id": id("prog")}},
                {"type": "program_output", "id": id("po"), "call_id": id("prog"), "result": "total 7", "status": "completed"},
                {"role": "assistant", "content": [{"type": "output_text", "text": "Seven."}]},
                prompt("Thanks.")])
        }
        Format::Openai => json!([
            prompt("Look for tea."),
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": format!("call_a{n}"), "type": "function", "function": {"name": "stock", "arguments": "{}"}},
                {"id": format!("call_b{n}"), "type": "custom", "custom": {"name": "exec", "input": "ls"}}]},
            {"role": "tool", "tool_call_id": format!("call_a{n}"), "content": "7 tins"},
            {"role": "tool", "tool_call_id": format!("call_b{n}"), "content": "tea.rs"},
            {"role": "assistant", "content": "Seven."},
            prompt("Thanks.")]),
        _ => json!([
            {"role": "user", "parts": [{"text": "Look for tea."}]},
            {"role": "model", "parts": [
                {"executableCode": {"language": "PYTHON", "code": "print(7)"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "7"}},
                {"functionCall": {"name": "stock", "args": {}}, "thoughtSignature": "x"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "stock", "response": {"output": "7 tins"}}}]},
            {"role": "model", "parts": [{"text": "Seven."}]},
            {"role": "user", "parts": [{"text": "Thanks."}]}]),
    }
}

#[test]
fn no_request_of_a_long_session_with_blocks_of_vendors_tools_and_three_compactions_breaks_a_rule() {
    for form in [Format::Anthropic, Format::Openai, Format::Responses, Format::Gemini] {
        let opening = json!({ vendor::list_of(form): special(form, 0) });
        let document = read(opening.to_string().as_bytes(), Some(form)).unwrap();
        let mut session = Conversation::new(CompactionConfig::new(100_000), 0);
        document
            .messages
            .into_iter()
            .for_each(|message| session.append(message));
        let mut compacted = 0;
        for step in 1..=300 {
            if step % 45 == 44 {
                let more = json!({ vendor::list_of(form): special(form, step) });
                let more = read(more.to_string().as_bytes(), Some(form)).unwrap();
                more.messages.into_iter().for_each(|message| session.append(message));
            }
            let id = format!("step_{step}");
            let call = ToolCall::new(
                id.as_str(),
                "Read",
                Map::from_iter([("path".to_owned(), json!(format!("{step}.rs")))]),
            );
            session.append(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
            let output = format!("fn number_{step}() {{}}\n").repeat(10);
            session.append(Message::results(vec![ToolResult::new(id, Some(true), output)]));
            if step % 90 == 0 {
                session
                    .compact_to([900, 2_500, 6_000][compacted], Reason::Asked)
                    .unwrap();
                compacted += 1;
            }
            let mut view = session.view().clone();
            vendor::settle(form, &document.envelope, session.history().messages(), &mut view);
            let messages = view.messages.iter().map(|message| Message::clone(message)).collect();
            let envelope = document.envelope.clone();
            let request = Document {
                format: form,
                messages,
                envelope,
                warnings: Vec::new(),
            };
            let request = write(&request, form).unwrap();
            let faults = vendor::check(&serde_json::from_str(&request).unwrap(), form);
            assert_eq!(faults, [], "{form}, step {step}: {request}");
        }
        assert_eq!(compacted, 3);
    }
}
