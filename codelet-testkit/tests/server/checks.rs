//! A request that the vendor would reject is refused with the vendor's message, and one that it would accept is
//! accepted.

use crate::client::{Answer, ask, hello};
use crate::echo::{entries, hear, step};
use codelet_testkit::server::{Behaviour, Dialect, Growth, Place, Reply, Server, Window, Wire};
use proptest::prelude::*;
use serde_json::{Value, json};

fn step_reply() -> Reply {
    Reply::new()
        .thinks("Two files.")
        .thinks_unseen()
        .says("I read both.")
        .calls("Read", json!({ "path": "a.rs" }))
        .calls("Read", json!({ "path": "b.rs" }))
}

/// A request with tools for a thinking model.
fn task(wire: Wire) -> Value {
    let mut body = hello(wire);
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    body["tools"] = match wire {
        Wire::Anthropic => json!([{ "name": "Read", "description": "Reads.", "input_schema": schema }]),
        Wire::Chat => json!([{ "type": "function", "function": { "name": "Read", "parameters": schema } }]),
        Wire::Responses => json!([{ "type": "function", "name": "Read", "parameters": schema }]),
        Wire::Gemini => json!([{ "functionDeclarations": [{ "name": "Read", "parameters": schema }] }]),
    };
    if wire == Wire::Anthropic {
        body["max_tokens"] = 8_000.into();
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": 4_000 });
    }
    body
}

/// A server after one request, and a client's correct next request.
fn under_way(wire: Wire) -> (Server, Value) {
    started(
        wire,
        Behaviour::answering(|request| {
            if request.answered == 0 {
                step_reply()
            } else {
                Reply::text("ok")
            }
        }),
    )
}

fn started(wire: Wire, behaviour: Behaviour) -> (Server, Value) {
    let server = Server::start(wire, behaviour);
    let mut body = task(wire);
    let answer = ask(&server, wire, &body).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let more = step(wire, &hear(wire, &answer), "fn main() {}");
    entries(wire, &mut body).extend(more);
    (server, body)
}

fn message(answer: &Answer) -> String {
    answer.json()["error"]["message"].as_str().unwrap().to_owned()
}

/// Checks that a changed version of the correct request is refused with this message.
fn refused(wire: Wire, change: impl FnOnce(&mut Value), words: &str) {
    let (server, mut body) = under_way(wire);
    let good = body.clone();
    change(&mut body);
    assert_ne!(body, good, "the change changes something");
    let answer = ask(&server, wire, &body).unwrap();
    assert_eq!(answer.status, 400, "{words}");
    assert!(message(&answer).contains(words), "{words}\n{}", message(&answer));
    assert!(server.record().faults().contains(words));
    // The refusal consumed nothing: the correct request is accepted.
    assert_eq!(ask(&server, wire, &good).unwrap().status, 200);
}

fn at<'a>(body: &'a mut Value, path: &str) -> &'a mut Value {
    body.pointer_mut(path).unwrap_or_else(|| panic!("there is no {path}"))
}

fn remove(body: &mut Value, path: &str, index: usize) {
    at(body, path).as_array_mut().unwrap().remove(index);
}

#[test]
fn a_good_conversation_is_taken_and_extends_the_one_before() {
    for wire in Wire::ALL {
        let (server, body) = under_way(wire);
        let answer = ask(&server, wire, &body).unwrap();
        assert_eq!(answer.status, 200, "{wire:?}: {}", answer.text());
        let record = server.record();
        assert_eq!(record.faults(), "");
        assert_eq!(record.exchanges[0].growth, Growth::First);
        assert_eq!(record.exchanges[1].growth, Growth::Extends);
        assert_eq!(record.exchanges[1].extends, Some(0));
        let request = &record.exchanges[1].request;
        assert_eq!(request.user_texts(), ["hello"]);
        let results: Vec<&str> = request.results().into_iter().map(|(_, output)| output).collect();
        assert_eq!(results, ["fn main() {}", "fn main() {}"]);
        let calls: Vec<&Value> = request
            .calls()
            .into_iter()
            .map(|(_, _, parameters)| parameters)
            .collect();
        assert_eq!(calls, [&json!({ "path": "a.rs" }), &json!({ "path": "b.rs" })]);
        assert_eq!(request.view().tools, ["Read"]);
    }
}

#[test]
fn anthropic_refuses_what_it_refuses() {
    type Change = fn(&mut Value);
    let table: &[(&str, Change)] = &[
        ("max_tokens: Field required", |body| body["max_tokens"] = Value::Null),
        ("first message must use the \"user\" role", |body| {
            remove(body, "/messages", 0)
        }),
        ("found multiple \"user\" roles in a row", |body| {
            entries(Wire::Anthropic, body).push(json!({ "role": "user", "content": "more" }));
        }),
        ("The conversation must end with a user message", |body| {
            entries(Wire::Anthropic, body).push(json!({ "role": "assistant", "content": "So" }));
        }),
        ("Unexpected role \"system\"", |body| {
            entries(Wire::Anthropic, body).insert(1, json!({ "role": "system", "content": "s" }))
        }),
        ("messages must have non-empty content", |body| {
            *at(body, "/messages/0/content") = "".into()
        }),
        ("text content blocks must be non-empty", |body| {
            *at(body, "/messages/0/content") = json!([{ "type": "text", "text": "" }]);
        }),
        ("must contain non-whitespace text", |body| {
            *at(body, "/messages/0/content") = json!([{ "type": "text", "text": " \n" }]);
        }),
        (
            "ids were found without `tool_result` blocks immediately after",
            |body| remove(body, "/messages/2/content", 1),
        ),
        (
            "ids were found without `tool_result` blocks immediately after",
            |body| {
                let content = at(body, "/messages/2/content").as_array_mut().unwrap();
                content.insert(0, json!({ "type": "text", "text": "first this" }));
            },
        ),
        ("unexpected `tool_use_id` found in `tool_result` blocks", |body| {
            remove(body, "/messages/1/content", 4)
        }),
        ("each tool_use must have a single result", |body| {
            let twin = at(body, "/messages/2/content/0").clone();
            at(body, "/messages/2/content").as_array_mut().unwrap().push(twin);
        }),
        ("`tool_use` ids must be unique", |body| {
            let (calls, results) = (at(body, "/messages/1").clone(), at(body, "/messages/2").clone());
            entries(Wire::Anthropic, body).extend([calls, results]);
        }),
        ("tool_use.input: Input should be a valid dictionary", |body| {
            *at(body, "/messages/1/content/3/input") = "{}".into()
        }),
        ("content cannot be empty if `is_error` is true", |body| {
            let result = at(body, "/messages/2/content/0");
            result["is_error"] = true.into();
            result["content"] = "".into();
        }),
        ("Invalid `signature` in `thinking` block", |body| {
            *at(body, "/messages/1/content/0/thinking") = "Two file.".into()
        }),
        ("Invalid `signature` in `thinking` block", |body| {
            *at(body, "/messages/1/content/0/signature") = "EqQB".into()
        }),
        ("Invalid `data` in `redacted_thinking` block", |body| {
            *at(body, "/messages/1/content/1/data") = "EqQB".into()
        }),
        ("Expected `thinking` or `redacted_thinking`, but found `text`", |body| {
            remove(body, "/messages/1/content", 0);
            remove(body, "/messages/1/content", 0);
        }),
        ("cannot be modified", |body| remove(body, "/messages/1/content", 1)),
        ("cannot be modified", |body| {
            at(body, "/messages/1/content").as_array_mut().unwrap().swap(0, 1)
        }),
        (
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
            |body| {
                let mark = json!({ "type": "ephemeral" });
                body["system"] = json!(
                    [1, 2, 3, 4, 5].map(|n| json!({ "type": "text", "text": n.to_string(), "cache_control": mark }))
                );
            },
        ),
        ("a ttl='1h' cache_control block must not come after", |body| {
            body["system"] = json!([{ "type": "text", "text": "s", "cache_control": { "type": "ephemeral" } }]);
            at(body, "/messages/2/content/1")["cache_control"] = json!({ "type": "ephemeral", "ttl": "1h" });
        }),
        ("cache_control cannot be set for thinking blocks", |body| {
            at(body, "/messages/1/content/0")["cache_control"] = json!({ "type": "ephemeral" });
        }),
        ("`max_tokens` must be greater than", |body| {
            body["max_tokens"] = 4_000.into()
        }),
        ("Tool names must be unique", |body| {
            let twin = body["tools"][0].clone();
            body["tools"].as_array_mut().unwrap().push(twin);
        }),
        ("input_schema.type: Input should be 'object'", |body| {
            *at(body, "/tools/0/input_schema") = json!({})
        }),
    ];
    for (words, change) in table {
        refused(Wire::Anthropic, change, words);
    }
}

#[test]
fn chat_refuses_what_it_refuses() {
    type Change = fn(&mut Value);
    let table: &[(&str, Change)] = &[
        (
            "must be followed by tool messages responding to each 'tool_call_id'",
            |body| remove(body, "/messages", 3),
        ),
        (
            "must be followed by tool messages responding to each 'tool_call_id'",
            |body| {
                entries(Wire::Chat, body).insert(2, json!({ "role": "user", "content": "wait" }));
            },
        ),
        ("messages with role 'tool' must be a response", |body| {
            remove(body, "/messages/1/tool_calls", 1)
        }),
        ("messages with role 'tool' must be a response", |body| {
            let twin = at(body, "/messages/3").clone();
            entries(Wire::Chat, body).push(twin);
        }),
        ("Duplicate value for 'tool_call_id'", |body| {
            let again: Vec<Value> = entries(Wire::Chat, body)[1..].to_vec();
            entries(Wire::Chat, body).extend(again);
        }),
        ("arguments': expected a string, but got an object instead", |body| {
            *at(body, "/messages/1/tool_calls/0/function/arguments") = json!({});
        }),
        ("expected a JSON object", |body| {
            *at(body, "/messages/1/tool_calls/0/function/arguments") = "{\"pa".into()
        }),
        ("string too long. Expected a string with maximum length 40", |body| {
            *at(body, "/messages/1/tool_calls/0/id") = "x".repeat(41).into();
        }),
        ("Invalid 'messages[0].content'", |body| {
            *at(body, "/messages/0/content") = "".into()
        }),
        ("the last message must be the user's", |body| {
            entries(Wire::Chat, body).push(json!({ "role": "assistant", "content": "So" }));
        }),
        ("only allowed when 'stream' is enabled", |body| {
            body["stream"] = false.into()
        }),
        ("schema must be a JSON Schema of 'type: \"object\"'", |body| {
            *at(body, "/tools/0/function/parameters") = json!({ "type": "array" })
        }),
        ("empty array", |body| *at(body, "/messages") = json!([])),
        ("Invalid value: 'model'", |body| {
            *at(body, "/messages/0/role") = "model".into()
        }),
    ];
    for (words, change) in table {
        refused(Wire::Chat, change, words);
    }
}

#[test]
fn responses_refuses_what_it_refuses() {
    type Change = fn(&mut Value);
    // The items: the prompt, two of reasoning, the message, two calls, two outputs.
    let table: &[(&str, Change)] = &[
        ("No tool output found for function call", |body| {
            remove(body, "/input", 7)
        }),
        ("No tool call found for function call output", |body| {
            remove(body, "/input", 5)
        }),
        ("Duplicate function output", |body| {
            let twin = at(body, "/input/7").clone();
            entries(Wire::Responses, body).push(twin);
        }),
        ("was provided without its required 'reasoning' item", |body| {
            remove(body, "/input", 2)
        }),
        ("without its required following item", |body| {
            entries(Wire::Responses, body).truncate(3);
            entries(Wire::Responses, body).push(json!({ "role": "user", "content": "go on" }));
        }),
        ("Encrypted content could not be decrypted", |body| {
            *at(body, "/input/1/encrypted_content") = "EqQBzzz".into();
        }),
        ("not persisted when `store` is set to false", |body| {
            at(body, "/input/1")
                .as_object_mut()
                .unwrap()
                .remove("encrypted_content");
        }),
        ("Expected an ID that begins with 'fc'", |body| {
            *at(body, "/input/4/id") = "call_7".into()
        }),
        ("expected a JSON object", |body| {
            *at(body, "/input/4/arguments") = "[1]".into()
        }),
        ("Supported values are: 'output_text' and 'refusal'", |body| {
            *at(body, "/input/3/content/0/type") = "input_text".into()
        }),
        ("Invalid 'input[0].content': empty", |body| {
            *at(body, "/input/0/content") = " ".into()
        }),
        ("the last item must be the user's", |body| {
            entries(Wire::Responses, body)
                .push(json!({ "role": "assistant", "content": [{ "type": "output_text", "text": "So" }] }));
        }),
        ("Missing required parameter: 'input'", |body| {
            *at(body, "/input") = json!([])
        }),
    ];
    for (words, change) in table {
        refused(Wire::Responses, change, words);
    }
}

#[test]
fn gemini_refuses_what_it_refuses() {
    type Change = fn(&mut Value);
    // The parts of the reply: thinking, text in fragments, two calls at the end.
    let first_call = |body: &mut Value| {
        let parts = at(body, "/contents/1/parts").as_array_mut().unwrap();
        parts.iter().position(|part| part["functionCall"].is_object()).unwrap()
    };
    let call = first_call(&mut under_way(Wire::Gemini).1);
    assert_eq!(call, 2, "the table below names this place");
    let table: &[(&str, Change)] = &[
        (
            "number of function response parts is equal to the number of function call parts",
            |body| remove(body, "/contents/2/parts", 0),
        ),
        ("function response parts have the names", |body| {
            *at(body, "/contents/2/parts/0/functionResponse/name") = "Write".into()
        }),
        ("comes immediately after a function call turn", |body| {
            let answers = at(body, "/contents/2").clone();
            entries(Wire::Gemini, body).push(json!({ "role": "model", "parts": [{ "text": "So" }] }));
            entries(Wire::Gemini, body).push(answers);
        }),
        ("missing a thought_signature", |body| {
            at(body, "/contents/1/parts/2")
                .as_object_mut()
                .unwrap()
                .remove("thoughtSignature");
        }),
        ("Corrupted thought signature", |body| {
            *at(body, "/contents/1/parts/2/thoughtSignature") = "EqQB".into()
        }),
        (
            "function_call.args' (type.googleapis.com/google.protobuf.Struct)",
            |body| {
                *at(body, "/contents/1/parts/2/functionCall/args") = "{}".into();
            },
        ),
        ("Please use a valid role", |body| {
            *at(body, "/contents/0/role") = "system".into()
        }),
        ("contents.parts must not be empty", |body| {
            *at(body, "/contents/0/parts") = json!([])
        }),
        ("required oneof field 'data'", |body| {
            *at(body, "/contents/0/parts/0/text") = "".into()
        }),
        ("alternate between user and model", |body| {
            entries(Wire::Gemini, body).push(json!({ "role": "user", "parts": [{ "text": "more" }] }));
        }),
        ("end with a user role or a function response", |body| {
            entries(Wire::Gemini, body).push(json!({ "role": "model", "parts": [{ "text": "So" }] }));
        }),
        ("Invalid function name '1st'", |body| {
            *at(body, "/tools/0/functionDeclarations/0/name") = "1st".into()
        }),
        ("contents is not specified", |body| *at(body, "/contents") = json!([])),
    ];
    for (words, change) in table {
        refused(Wire::Gemini, change, words);
    }
}

#[test]
fn thinking_of_an_earlier_turn_may_go() {
    for wire in [Wire::Anthropic, Wire::Gemini] {
        let (server, mut body) = under_way(wire);
        let said = |role: &str, text: &str| match wire {
            Wire::Gemini => {
                json!({ "role": if role == "assistant" { "model" } else { role }, "parts": [{ "text": text }] })
            }
            _ => json!({ "role": role, "content": text }),
        };
        entries(wire, &mut body).extend([said("assistant", "Done."), said("user", "And now?")]);
        let key = if wire == Wire::Gemini { "parts" } else { "content" };
        let blocks = entries(wire, &mut body)[1][key].as_array_mut().unwrap();
        blocks.retain(|block| !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking")));
        for block in blocks {
            block.as_object_mut().unwrap().remove("thoughtSignature");
        }
        assert_eq!(
            ask(&server, wire, &body).unwrap().status,
            200,
            "{}",
            server.record().faults()
        );
    }
}

#[test]
fn thinking_is_bound_to_tools_and_system_prompt_where_the_model_binds_it() {
    let answer = |_: &_| step_reply();
    let (server, good) = started(Wire::Anthropic, Behaviour::answering(answer).binding_thinking());
    let mut changed = good.clone();
    changed["system"] = "Another one.".into();
    let refusal = ask(&server, Wire::Anthropic, &changed).unwrap();
    assert!(message(&refusal).contains("different system prompt or tools"));
    assert_eq!(ask(&server, Wire::Anthropic, &good).unwrap().status, 200);
    let (server, mut changed) = started(Wire::Anthropic, Behaviour::answering(answer));
    changed["system"] = "Another one.".into();
    assert_eq!(ask(&server, Wire::Anthropic, &changed).unwrap().status, 200);
}

#[test]
fn a_search_of_the_vendors_own_is_gone_on_with_or_finished() {
    let begun = json!({ "type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {} });
    let found = json!({ "type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [] });
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "Read", "input": {} });
    let answer = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": "x" });
    let words = json!({ "type": "text", "text": "Never mind." });
    let said = |blocks: &[&Value]| json!({ "role": "assistant", "content": blocks });
    let replied = |blocks: &[&Value]| json!({ "role": "user", "content": blocks });
    for (messages, is_taken) in [
        (vec![said(&[&begun])], true),
        (vec![said(&[&begun, &found]), replied(&[&words])], true),
        (vec![said(&[&begun, &call]), replied(&[&answer])], true),
        (
            vec![
                said(&[&begun, &call]),
                replied(&[&answer]),
                said(&[&found]),
                replied(&[&words]),
            ],
            true,
        ),
        (vec![said(&[&begun]), replied(&[&words])], false),
        (vec![said(&[&begun, &call]), replied(&[&answer, &words])], false),
    ] {
        let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("ok")]));
        let mut body = task(Wire::Anthropic);
        body.as_object_mut().unwrap().remove("thinking");
        entries(Wire::Anthropic, &mut body).extend(messages);
        let came = ask(&server, Wire::Anthropic, &body).unwrap();
        assert_eq!(came.status == 200, is_taken, "{}", came.text());
        if !is_taken {
            let expected = "found without a corresponding `web_search_tool_result`";
            assert!(message(&came).contains(expected), "{}", message(&came));
        }
    }
}

#[test]
fn a_server_that_does_not_check_records_what_it_lets_pass() {
    let behaviour = Behaviour::answering(|_| Reply::text("ok")).unchecked();
    let server = Server::start(Wire::Anthropic, behaviour);
    let mut body = task(Wire::Anthropic);
    entries(Wire::Anthropic, &mut body).push(json!({ "role": "assistant", "content": "So" }));
    assert_eq!(ask(&server, Wire::Anthropic, &body).unwrap().status, 200);
    assert!(server.record().faults().contains("prefill"));
}

#[test]
fn a_request_that_changes_what_was_sent_tells_where() {
    let server = Server::start(Wire::Anthropic, Behaviour::answering(|_| Reply::text("ok")).unchecked());
    let body = |system: &str, texts: &[&str]| {
        let mut body = task(Wire::Anthropic);
        body["system"] = system.into();
        let said = texts.iter().map(|text| json!({ "role": "user", "content": text }));
        body["messages"] = said.collect();
        body
    };
    for request in [
        body("s", &["a", "b"]),
        body("s", &["a", "b", "c"]),
        body("s", &["a", "x", "c", "d"]),
        body("s2", &["a", "x", "c", "d"]),
        body("s", &["a", "b", "c"]),
        body("s", &["a"]),
    ] {
        assert_eq!(ask(&server, Wire::Anthropic, &request).unwrap().status, 200);
    }
    let record = server.record();
    let growth: Vec<Growth> = record.exchanges.iter().map(|exchange| exchange.growth).collect();
    assert_eq!(
        growth,
        [
            Growth::First,
            Growth::Extends,
            Growth::Breaks(Place::Message(1)),
            Growth::Breaks(Place::System),
            Growth::Breaks(Place::System),
            Growth::Breaks(Place::Message(0)),
        ]
    );
    assert_eq!(record.exchanges[4].extends, Some(1));
}

#[test]
fn what_does_not_fit_is_refused_before_the_script_is_asked() {
    for wire in Wire::ALL {
        for dialect in [Dialect::Vendor, Dialect::LlamaServer] {
            let behaviour = Behaviour::replies([Reply::text("ok")]).dialect(dialect);
            let server = Server::start(wire, behaviour.window(Window::of(100)).tokens_per_four_bytes(2.0));
            let mut body = hello(wire);
            let good = body.clone();
            let long = "x".repeat(400);
            let entry = match wire {
                Wire::Gemini => json!({ "role": "user", "parts": [{ "text": long }] }),
                _ => json!({ "role": "user", "content": long }),
            };
            *entries(wire, &mut body) = vec![entry];
            let answer = ask(&server, wire, &body).unwrap();
            assert_eq!(answer.status, 400);
            let told = server.record().exchanges[0].tokens;
            assert!((200..220).contains(&told), "{told}");
            assert!(message(&answer).contains(&told.to_string()), "{}", message(&answer));
            assert_eq!(ask(&server, wire, &good).unwrap().status, 200);
        }
    }
}

/// An arbitrary value that does not belong where it is inserted.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!({})),
        Just(json!([])),
        Just(json!(-1.5e300)),
        Just(json!([[{ "type": 7, "text": [] }]])),
        "\\PC{0,6}".prop_map(Value::from),
    ]
}

/// Every position in a value, as a JSON pointer.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                places(field, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn an_odd_request_gets_an_answer_and_harms_nothing(changes in prop::collection::vec((any::<prop::sample::Index>(), odd()), 1..4)) {
        for wire in Wire::ALL {
            let (server, good) = under_way(wire);
            let mut body = good.clone();
            for (place, value) in &changes {
                let mut found = Vec::new();
                places(&body, "", &mut found);
                *at(&mut body, &found[place.index(found.len())]) = value.clone();
            }
            let answer = ask(&server, wire, &body).unwrap();
            prop_assert!(matches!(answer.status, 200 | 400));
            prop_assert_eq!(ask(&server, wire, &good).unwrap().status, 200);
        }
    }
}
