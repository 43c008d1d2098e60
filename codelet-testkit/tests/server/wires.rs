//! Each wire carries the same reply in its vendor's frames.

use crate::client::{ask, get, hello, receive, send};
use crate::echo::{Heard, hear};
use codelet_testkit::server::{Behaviour, Billed, Dialect, Reply, Server, Stop, Wire};
use proptest::prelude::*;
use serde_json::{Value, json};

const COST: Billed = Billed {
    fresh: 700,
    cache_read: 11_000,
    write_5m: 0,
    write_1h: 0,
    output: 250,
    reasoning: 100,
};

fn reply() -> Reply {
    Reply::new()
        .thinks("Both files, I think: é, ö and 漢字 among them.")
        .thinks_unseen()
        .says("I will read both files, the one after the other.")
        .calls("Read", json!({ "path": "src/a.rs", "limit": 400 }))
        .calls("Grep", json!({}))
}

fn heard(wire: Wire, reply: Reply) -> Heard {
    let server = Server::start(wire, Behaviour::replies([reply]));
    hear(wire, &ask(&server, wire, &hello(wire)).unwrap())
}

#[test]
fn a_reply_comes_across_whole_on_every_wire() {
    for wire in Wire::ALL {
        let heard = heard(wire, reply().billed(COST));
        assert_eq!(
            heard.text, "I will read both files, the one after the other.",
            "{wire:?}"
        );
        assert_eq!(heard.thinking, "Both files, I think: é, ö and 漢字 among them.");
        let calls: Vec<_> = heard
            .calls
            .iter()
            .map(|(_, tool, arguments)| {
                let arguments = if arguments.is_empty() { "{}" } else { arguments };
                (tool.as_str(), serde_json::from_str::<Value>(arguments).unwrap())
            })
            .collect();
        assert_eq!(
            calls,
            [
                ("Read", json!({ "path": "src/a.rs", "limit": 400 })),
                ("Grep", json!({}))
            ]
        );
        assert_ne!(heard.calls[0].0, heard.calls[1].0);
        let (stop, seals) = match wire {
            Wire::Anthropic => ("tool_use", 2),
            Wire::Chat => ("tool_calls", 0),
            Wire::Responses => ("completed", 2),
            Wire::Gemini => ("STOP", 1),
        };
        assert_eq!((heard.stop.as_str(), heard.seals), (stop, seals));
    }
}

#[test]
fn usage_is_reported_in_the_fields_of_each_vendor() {
    for wire in Wire::ALL {
        // Anthropic does not distinguish thinking from other output.
        let reasoning = if wire == Wire::Anthropic { 0 } else { 100 };
        assert_eq!(heard(wire, reply().billed(COST)).usage, Billed { reasoning, ..COST });
    }
    let writes = Billed {
        write_5m: 30,
        write_1h: 4_000,
        ..COST
    };
    let usage = heard(Wire::Anthropic, reply().billed(writes)).usage;
    assert_eq!(usage, Billed { reasoning: 0, ..writes });
}

#[test]
fn each_vendor_has_its_own_word_for_each_end() {
    for (stop, words) in [
        (Stop::Complete, ["end_turn", "stop", "completed", "STOP"]),
        (
            Stop::Length,
            ["max_tokens", "length", "max_output_tokens", "MAX_TOKENS"],
        ),
        (
            Stop::WindowFull,
            [
                "model_context_window_exceeded",
                "length",
                "max_output_tokens",
                "MAX_TOKENS",
            ],
        ),
        (Stop::Pause, ["pause_turn", "stop", "completed", "STOP"]),
        (Stop::Refusal, ["refusal", "stop", "completed", "SAFETY"]),
    ] {
        for (wire, word) in Wire::ALL.into_iter().zip(words) {
            assert_eq!(heard(wire, Reply::text("So far").stopping(stop)).stop, word, "{wire:?}");
        }
    }
}

#[test]
fn a_call_may_be_cut_in_its_json() {
    let cut = Reply::new()
        .calls_raw("Write", r#"{"path":"a.rs","content":"fn ma"#)
        .stopping(Stop::Length);
    for wire in Wire::ALL {
        let heard = heard(wire, cut.clone());
        match wire {
            // The vendor sends calls whole or not at all.
            Wire::Gemini => assert_eq!(heard.calls, []),
            _ => assert_eq!(heard.calls[0].2, r#"{"path":"a.rs","content":"fn ma"#),
        }
    }
    let malformed = Reply::new().calls_raw("Write", "{");
    assert_eq!(heard(Wire::Gemini, malformed).stop, "MALFORMED_FUNCTION_CALL");
}

#[test]
fn an_empty_answer_is_a_complete_stream_that_says_nothing() {
    for wire in Wire::ALL {
        let heard = heard(wire, Reply::new());
        assert_eq!((heard.text.as_str(), heard.calls.len()), ("", 0));
        assert!(!heard.stop.is_empty());
    }
}

#[test]
fn usage_of_a_chat_stream_comes_only_when_asked_for() {
    let server = Server::start(Wire::Chat, Behaviour::replies([Reply::text("hi")]));
    let mut body = hello(Wire::Chat);
    body.as_object_mut().unwrap().remove("stream_options");
    let answer = ask(&server, Wire::Chat, &body).unwrap();
    assert!(answer.values().iter().all(|chunk| chunk.get("usage").is_none()));
    assert_eq!(answer.events().last().unwrap().data, "[DONE]");
}

#[test]
fn sealed_reasoning_comes_only_when_asked_for() {
    let server = Server::start(Wire::Responses, Behaviour::replies([reply()]));
    let mut body = hello(Wire::Responses);
    body.as_object_mut().unwrap().remove("include");
    let heard = hear(Wire::Responses, &ask(&server, Wire::Responses, &body).unwrap());
    assert_eq!(heard.seals, 0);
    assert_eq!(heard.thinking, "Both files, I think: é, ö and 漢字 among them.");
}

#[test]
fn a_gateway_reports_the_whole_prompt_first_and_the_cached_part_last() {
    let behaviour = Behaviour::replies([reply().billed(COST)]).dialect(Dialect::Gateway);
    let server = Server::start(Wire::Anthropic, behaviour);
    let events = ask(&server, Wire::Anthropic, &hello(Wire::Anthropic)).unwrap().values();
    assert_eq!(
        events[0]["message"]["usage"],
        json!({ "input_tokens": 11_700, "output_tokens": 0 })
    );
    let delta = events.iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!(
        delta["usage"],
        json!({ "output_tokens": 250, "cache_read_input_tokens": 11_000 })
    );
}

#[test]
fn a_local_server_leaves_out_what_it_leaves_out() {
    let ask = |wire| {
        let behaviour = Behaviour::replies([reply()]).dialect(Dialect::LlamaServer);
        ask(&Server::start(wire, behaviour), wire, &hello(wire))
            .unwrap()
            .values()
    };
    let events = ask(Wire::Anthropic);
    let call = events
        .iter()
        .find(|event| event["content_block"]["type"] == "tool_use")
        .unwrap();
    assert_eq!(call["content_block"].get("input"), None);
    assert!(!call["content_block"]["id"].as_str().unwrap().starts_with("toolu_"));
    for event in ask(Wire::Responses) {
        assert_eq!((event.get("sequence_number"), event.get("output_index")), (None, None));
        assert_ne!(event["type"], "response.function_call_arguments.done");
    }
}

#[test]
fn a_request_without_a_stream_gets_the_same_in_one_piece() {
    for wire in Wire::ALL {
        let server = Server::start(wire, Behaviour::replies([reply().billed(COST)]));
        let mut body = hello(wire);
        let mut path = crate::client::path(wire).to_owned();
        match wire {
            Wire::Gemini => path = path.replace("streamGenerateContent?alt=sse", "generateContent"),
            _ => {
                body["stream"] = false.into();
                body.as_object_mut().unwrap().remove("stream_options");
            }
        }
        let answer = receive(send(&server, &path, &body.to_string())).unwrap();
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let whole = answer.json();
        let (said, tokens) = match wire {
            Wire::Anthropic => ("/content/2/text", "/usage/output_tokens"),
            Wire::Chat => ("/choices/0/message/content", "/usage/completion_tokens"),
            Wire::Responses => ("/output/2/content/0/text", "/usage/output_tokens"),
            Wire::Gemini => (
                "/candidates/0/content/parts/1/text",
                "/usageMetadata/thoughtsTokenCount",
            ),
        };
        assert_eq!(
            whole.pointer(said).unwrap(),
            "I will read both files, the one after the other."
        );
        assert!(whole.pointer(tokens).unwrap().as_u64() >= Some(100));
    }
}

#[test]
fn the_list_of_models_tells_the_window_when_asked_to() {
    let behaviour = Behaviour::replies([]).models(["smol"]).listing_window(16_384);
    let server = Server::start(Wire::Chat, behaviour);
    let list = get(&server, "/v1/models").json();
    assert_eq!(list["data"][0]["id"], "smol");
    assert_eq!(list["data"][0]["meta"]["n_ctx"], 16_384);
    assert_eq!(get(&server, "/v1/message").status, 404);
    assert_eq!(server.record().others.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_text_survives_any_fragmentation(
        text in "\\PC{1,80}|[\\n\\r\\t\"\\\\a ]{1,20}",
        thinking in "\\PC{1,40}",
        fragment in 1_usize..30,
        drip in 0_usize..8,
    ) {
        for wire in Wire::ALL {
            let parameters = json!({ "text": text });
            let reply = Reply::new().thinks(&*thinking).says(&*text).calls("Write", parameters.clone());
            let heard = heard(wire, reply.in_fragments_of(fragment).dripping(drip));
            prop_assert_eq!(&heard.text, &text);
            prop_assert_eq!(&heard.thinking, &thinking);
            let arguments: Value = serde_json::from_str(&heard.calls[0].2).unwrap();
            prop_assert_eq!(arguments, parameters);
        }
    }
}
