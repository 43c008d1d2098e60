#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;

/// Returns the places and sentences of all faults.
fn faults(form: Format, list: &str, items: Value) -> Vec<String> {
    let found = check(&json!({ list: items }), form);
    found
        .into_iter()
        .map(|fault| format!("{}: {}", fault.place, fault.sentence))
        .collect()
}

fn anthropic(items: Value) -> Vec<String> {
    faults(Format::Anthropic, "messages", items)
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn reply(blocks: Value) -> Value {
    json!({"role": "assistant", "content": blocks})
}

fn results(ids: &[&str]) -> Value {
    let of = |id: &&str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    json!({"role": "user", "content": ids.iter().map(of).collect::<Vec<_>>()})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "look", "input": {}})
}

fn by_program(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "look", "input": {},
        "caller": {"type": "code_execution_20260120", "tool_id": "s1"}})
}

#[test]
fn a_valid_request_of_each_vendor_has_no_faults() {
    let program =
        json!([{"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {}}, by_program("a")]);
    let ended = json!([{"type": "code_execution_tool_result", "tool_use_id": "s1", "content": {}}, {"type": "text", "text": "7"}]);
    let effort = json!({"role": "system", "content": [], "output_config": {"effort": "low"}});
    let system = json!({"role": "system", "content": "Be brief."});
    let request = json!([
        user("sum"),
        reply(program.clone()),
        results(&["a"]),
        reply(ended),
        effort,
        user("go on"),
        system,
        reply(program_again())
    ]);
    assert_eq!(
        anthropic(request)[..],
        ["messages.7: Call \"b\" is not answered directly before this."]
    );
    let waits = json!([user("sum"), reply(program), results(&["a"])]);
    assert_eq!(anthropic(waits), [""; 0]);
    let chat = json!([user("look"), {"role": "assistant", "tool_calls": [{"id": "c"}]}, {"role": "tool", "tool_call_id": "c", "content": ""}]);
    assert_eq!(faults(Format::Openai, "messages", chat), [""; 0]);
    let contents = json!([{"role": "user", "parts": [{"text": "look"}]}, {"role": "model", "parts": [{"functionCall": {}}]},
        {"role": "user", "parts": [{"functionResponse": {}}]}]);
    assert_eq!(faults(Format::Gemini, "contents", contents), [""; 0]);
    let items = json!([{"type": "additional_tools", "role": "developer", "tools": []}, user("look"),
        {"type": "program", "call_id": "p"}, {"type": "function_call", "call_id": "c", "caller": {"caller_id": "p"}},
        {"type": "function_call_output", "call_id": "c", "output": "x", "caller": {"caller_id": "p"}},
        {"type": "program_output", "call_id": "p"}, {"type": "reasoning"}, {"type": "shell_call", "call_id": "d"},
        {"type": "shell_call_output", "call_id": "d"}, {"type": "compaction", "encrypted_content": "x"}]);
    assert_eq!(faults(Format::Responses, "input", items), [""; 0]);
    assert_eq!(check(&json!({"input": "hi"}), Format::Responses), []);
}

fn program_again() -> Value {
    json!([call("b")])
}

#[test]
fn calls_and_results_that_are_no_pair_are_named_with_their_places() {
    let found = anthropic(json!([
        user("look"),
        reply(json!([call("a"), call("b")])),
        results(&["b", "c"]),
        user("go on")
    ]));
    assert_eq!(
        found[..],
        [
            "messages.2.content.1: The result answers no call directly before it: \"c\".",
            "messages.3: Call \"a\" is not answered directly before this.",
        ]
    );
    let items = json!([{"type": "function_call_output", "call_id": "x"}, {"type": "program_output", "call_id": "p"},
        {"type": "shell_call", "call_id": "s"}, {"type": "function_call_output", "call_id": "s"}, {"type": "function_call", "call_id": "o"},
        {"type": "reasoning"}]);
    assert_eq!(
        faults(Format::Responses, "input", items)[..],
        [
            "input.0: The output has no call before it: \"x\".",
            "input.1: The output has no program before it: \"p\".",
            "input.3: A function_call_output cannot be the output of a shell_call: \"s\".",
            "input.5: The item that should follow this reasoning is missing.",
            "input.4: Call \"o\" has no output.",
        ]
    );
}

#[test]
fn what_a_waiting_program_gets_beside_its_results_is_a_fault_and_so_is_a_result_without_its_call() {
    let program =
        json!([{"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {}}, by_program("a")]);
    let mut answer = results(&["a"]);
    answer["content"]
        .as_array_mut()
        .unwrap()
        .push(json!({"type": "text", "text": "hurry"}));
    let found = anthropic(json!([user("sum"), reply(program), answer]));
    assert_eq!(
        found[..],
        [
            "messages.2: A program waits for these results, so the message may hold nothing else.",
            "messages.2: The vendor's own call \"s1\" has no result before this message.",
        ]
    );
    let orphan = json!([{"type": "web_search_tool_result", "tool_use_id": "s9", "content": []}]);
    let found = anthropic(json!([user("find"), reply(orphan), user("go on")]));
    assert_eq!(
        found[..],
        ["messages.1.content.0: The web_search_tool_result has no call in this reply: \"s9\"."]
    );
}

#[test]
fn a_system_message_stands_behind_the_user_and_before_a_reply() {
    let system = json!({"role": "system", "content": "Be brief."});
    let found = anthropic(json!([
        user("one"),
        system,
        user("two"),
        reply(json!("1")),
        system,
        user("three")
    ]));
    assert_eq!(
        found[..],
        [
            "messages.2: A system message cannot come directly before a user message.",
            "messages.4: A system message must follow a user message.",
            "messages.5: A system message cannot come directly before a user message.",
        ]
    );
}

#[test]
fn empty_messages_blank_texts_and_too_many_marks_are_faults() {
    let mark = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
    let found = anthropic(
        json!([{"role": "user", "content": vec![mark; 5]}, reply(json!([{"type": "text", "text": " "}])), user("")]),
    );
    assert_eq!(
        found[..],
        [
            "messages: 5 blocks have cache_control; 4 may.",
            "messages.1.content.0: A text is empty or only white space.",
            "messages.2.content: The message is empty.",
        ]
    );
    assert_eq!(anthropic(json!([]))[..], ["messages: There is nothing to answer."]);
    let found = faults(
        Format::Gemini,
        "contents",
        json!([{"role": "model", "parts": [{"functionCall": {}}]}, {"role": "user", "parts": [{"text": ""}]}]),
    );
    assert_eq!(
        found[..],
        [
            "contents.0: The conversation must start with a user message.",
            "contents.1.parts.0: A part is empty.",
            "contents.1: This message answers 0 calls, but 1 precede it.",
        ]
    );
}

#[test]
fn cache_marks_of_an_hour_precede_those_of_minutes_in_the_order_of_a_prompt() {
    let marked = |ttl: &str| json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": ttl}});
    let usual = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
    for (system, said, is_right) in [
        (marked("1h"), usual.clone(), true),
        (marked("1h"), marked("1h"), true),
        (usual.clone(), marked("5m"), true),
        (usual, marked("1h"), false),
        (marked("5m"), marked("1h"), false),
    ] {
        // A prompt begins with the system prompt, wherever it stands in the request.
        let request = json!({"messages": [{"role": "user", "content": [said]}], "system": [system]});
        let found = check(&request, Format::Anthropic);
        assert_eq!(found.is_empty(), is_right, "{request}: {found:?}");
    }
}

#[test]
fn a_type_of_image_that_anthropic_does_not_take_is_a_fault_also_in_a_result() {
    let image = |kind: &str| json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": "AA"}});
    let result =
        json!({"type": "tool_result", "tool_use_id": "a", "content": [image("image/webp"), image("image/tiff")]});
    let found = anthropic(json!([
        {"role": "user", "content": [image("image/png"), image("image/bmp")]},
        reply(json!([call("a")])),
        {"role": "user", "content": [result]},
    ]));
    let places: Vec<&str> = found.iter().filter_map(|told| Some(told.split_once(": ")?.0)).collect();
    assert_eq!(
        places,
        [
            "messages.0.content.1.source.media_type",
            "messages.2.content.0.content.1.source.media_type"
        ]
    );
    assert!(
        found[0].contains("\"image/bmp\"") && found[0].contains("image/jpeg"),
        "{found:?}"
    );
}

#[test]
fn types_that_a_vendor_does_not_have_are_faults() {
    let thinks = reply(json!([{"type": "thinking", "thinking": "x", "signature": "y"}, call("a")]));
    let turn = json!([user("hi"), thinks, results(&["a"])]);
    let places = |form, list, items: &Value| -> Vec<String> {
        let found = faults(form, list, items.clone()).into_iter();
        found
            .filter(|told| told.contains("The provider has no "))
            .map(|told| told.split_once(": ").unwrap().0.to_owned())
            .collect()
    };
    assert_eq!(anthropic(turn.clone()), [""; 0]);
    assert_eq!(
        places(Format::Openai, "messages", &turn),
        ["messages.1.content.0", "messages.1.content.1", "messages.2.content.0"]
    );
    assert_eq!(
        places(Format::Responses, "input", &turn),
        ["input.1.content.0", "input.1.content.1", "input.2.content.0"]
    );
    assert_eq!(places(Format::Responses, "input", &json!([call("a")])), ["input.0"]);
    let named = faults(Format::Responses, "input", json!([call("a")]));
    assert!(named[0].contains(" function_call, function_call_output, "), "{named:?}");
    let picture =
        json!([user("hi"), {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]);
    assert_eq!(
        places(Format::Anthropic, "messages", &picture),
        ["messages.1.content.0"]
    );
    assert_eq!(places(Format::Openai, "messages", &picture), [""; 0]);
    let contents = json!([{"role": "user", "parts": [{"text": "hi"}, {"type": "text"}, {"inline_data": {}}]}]);
    assert_eq!(places(Format::Gemini, "contents", &contents), ["contents.0.parts.1"]);
}
