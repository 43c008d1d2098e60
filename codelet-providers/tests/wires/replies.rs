//! What a reply becomes, and that it goes back as it came.

use crate::kit::{KEY, ask, beginning, block_on, model, request};
use codelet_agent::model::{Request, Stop};
use codelet_context::message::{Message, ToolResult};
use codelet_testkit::server::{self, Behaviour, Dialect, Part, Reply, Server, Speaker, Wire};
use serde_json::json;
use std::sync::Arc;

fn full() -> Reply {
    Reply::new()
        .thinks("First look at the file, then run the test.")
        .says("I will look at both.")
        .calls("Read", json!({"path": "src/größe.rs"}))
        .calls("Bash", json!({"path": "cargo test", "n": 1.50}))
}

#[test]
fn words_thinking_and_parallel_calls_arrive_whole_on_every_wire() {
    for wire in Wire::ALL {
        let server = Server::start(wire, Behaviour::replies([full()]));
        let outcome = block_on(async { ask(&*model(&server, wire).await, request(beginning())).await });
        assert_eq!(outcome.text, "I will look at both.", "{wire:?}");
        assert_eq!(outcome.calls, ["Read", "Bash"], "{wire:?}");
        let reply = outcome.end.unwrap();
        assert_eq!(reply.stop, Stop::Finished);
        assert!(reply.broken.is_empty());
        let calls: Vec<_> = reply.message.calls().collect();
        assert_eq!(calls[0].parameters.str("path"), Some("src/größe.rs"), "{wire:?}");
        assert_eq!(calls[1].tool.as_ref(), "Bash");
        assert_ne!(calls[0].id, calls[1].id, "{wire:?}");
        assert_eq!(server.record().faults(), "", "{wire:?}");
    }
}

#[test]
fn a_reply_goes_back_as_it_came_on_every_wire_and_from_every_server() {
    for dialect in [Dialect::Vendor, Dialect::LlamaServer] {
        for wire in Wire::ALL {
            let redacted = Reply::new()
                .thinks("Hm.")
                .thinks_unseen()
                .says("Now.")
                .calls("Read", json!({"path": "a"}));
            let behaviour = Behaviour::replies([full(), redacted, Reply::text("Done.")])
                .dialect(dialect)
                .binding_thinking();
            let server = Server::start(wire, behaviour);
            block_on(async {
                let model = model(&server, wire).await;
                let mut history = request(beginning());
                for _ in 0..3 {
                    let reply = ask(&*model, history.clone()).await.end.unwrap();
                    let results: Vec<ToolResult> = reply
                        .message
                        .calls()
                        .map(|call| ToolResult::new(call.id.clone(), Some(true), "fine"))
                        .collect();
                    history.messages.push(Arc::new(reply.message));
                    if !results.is_empty() {
                        history.messages.push(Arc::new(Message::results(results)));
                    }
                }
            });
            let record = server.record();
            assert_eq!(record.faults(), "", "{wire:?} {dialect:?}");
            let last = &record.exchanges[2].request;
            let spoken: Vec<&server::Message> = last
                .messages()
                .iter()
                .filter(|message| message.speaker == Speaker::Assistant)
                .collect();
            let parts: Vec<&Part> = spoken.iter().flat_map(|message| &message.parts).collect();
            let calls = parts.iter().filter(|part| matches!(part, Part::Call { .. })).count();
            assert_eq!(calls, 3, "{wire:?}");
            assert!(
                parts.contains(&&Part::Text("I will look at both.".to_owned())),
                "{wire:?}"
            );
        }
    }
}

#[test]
fn a_call_cut_in_its_parameters_is_kept_empty_and_named_as_broken() {
    // Also where the limit came before the first of them: that none were meant is not known.
    let cut = ["{\"path\": \"ls", ""];
    let wires = [Wire::Anthropic, Wire::Chat, Wire::Responses].into_iter();
    for (wire, arguments) in wires.flat_map(|wire| cut.map(|arguments| (wire, arguments))) {
        let cut = Reply::new()
            .says("x")
            .calls_raw("Bash", arguments)
            .stopping(server::Stop::Length);
        let server = Server::start(wire, Behaviour::replies([cut]));
        let outcome = block_on(async { ask(&*model(&server, wire).await, request(beginning())).await });
        let reply = outcome.end.unwrap();
        assert_eq!(reply.stop, Stop::OutputLimit, "{wire:?}");
        let call = reply.message.calls().next().unwrap();
        assert!(call.parameters.as_map().is_empty(), "{wire:?}");
        assert_eq!(reply.broken, std::slice::from_ref(&call.id), "{wire:?} {arguments:?}");
    }
    // A call that its model has ended is whole without any.
    for wire in [Wire::Anthropic, Wire::Chat, Wire::Responses] {
        let server = Server::start(wire, Behaviour::replies([Reply::new().calls_raw("Bash", "")]));
        let outcome = block_on(async { ask(&*model(&server, wire).await, request(beginning())).await });
        let reply = outcome.end.unwrap();
        assert_eq!((reply.message.calls().count(), reply.broken.len()), (1, 0), "{wire:?}");
    }
}

#[test]
fn the_reason_to_stop_is_told() {
    for wire in Wire::ALL {
        let stops = [server::Stop::Complete, server::Stop::Length, server::Stop::Refusal];
        let replies = stops.map(|stop| Reply::text("Half of it").stopping(stop));
        let server = Server::start(wire, Behaviour::replies(replies));
        block_on(async {
            let model = model(&server, wire).await;
            let mut seen = Vec::new();
            for _ in stops {
                seen.push(ask(&*model, request(beginning())).await.end.unwrap().stop);
            }
            assert_eq!(seen[..2], [Stop::Finished, Stop::OutputLimit], "{wire:?}");
            assert!(matches!(seen[2], Stop::Declined(_)), "{wire:?}: {seen:?}");
        });
    }
    for (told, stop) in [
        (server::Stop::Pause, Stop::Paused),
        (server::Stop::WindowFull, Stop::WindowFull),
    ] {
        let server = Server::start(
            Wire::Anthropic,
            Behaviour::replies([Reply::text("so far").stopping(told)]),
        );
        let outcome = block_on(async { ask(&*model(&server, Wire::Anthropic).await, request(beginning())).await });
        assert_eq!(outcome.end.unwrap().stop, stop);
    }
}

#[test]
fn an_answer_as_long_as_it_may_be_is_cut_even_if_the_server_calls_it_complete() {
    let counts = server::Billed {
        output: 60,
        ..server::Billed::default()
    };
    let server = Server::start(
        Wire::Responses,
        Behaviour::replies([Reply::text("Half").billed(counts)]),
    );
    let request = Request {
        max_output: Some(60),
        ..request(beginning())
    };
    let outcome = block_on(async { ask(&*model(&server, Wire::Responses).await, request).await });
    assert_eq!(outcome.end.unwrap().stop, Stop::OutputLimit);
}

#[test]
fn an_empty_answer_is_an_answer() {
    for wire in Wire::ALL {
        let server = Server::start(wire, Behaviour::replies([Reply::new()]));
        let outcome = block_on(async { ask(&*model(&server, wire).await, request(beginning())).await });
        assert!(outcome.end.unwrap().message.parts.is_empty(), "{wire:?}");
    }
}

#[test]
fn ids_that_a_server_counts_anew_in_each_reply_are_made_unique() {
    let reply = || Reply::new().calls_as("call-1", "Read", json!({"path": "a"}));
    let server = Server::start(Wire::Chat, Behaviour::replies([reply(), reply()]));
    block_on(async {
        let model = model(&server, Wire::Chat).await;
        let mut history = request(beginning());
        let mut ids = Vec::new();
        for _ in 0..2 {
            let reply = ask(&*model, history.clone()).await.end.unwrap();
            let id = reply.message.calls().next().unwrap().id.clone();
            history.messages.push(Arc::new(reply.message));
            history.messages.push(Arc::new(Message::results(vec![ToolResult::new(
                id.clone(),
                Some(true),
                "ok",
            )])));
            ids.push(id);
        }
        assert_eq!(&*ids[0], "call-1");
        assert_ne!(ids[0], ids[1]);
    });
}

#[test]
fn frames_in_pieces_of_one_byte_are_the_same_reply() {
    for wire in Wire::ALL {
        let whole = Server::start(wire, Behaviour::replies([full(), full().dripping(1)]));
        block_on(async {
            let model = model(&whole, wire).await;
            let first = ask(&*model, request(beginning())).await;
            let second = ask(&*model, request(beginning())).await;
            assert_eq!(
                (first.text, first.thinking, first.calls),
                (second.text, second.thinking, second.calls),
                "{wire:?}"
            );
            assert!(second.end.is_ok(), "{wire:?}");
        });
    }
}

#[test]
fn thinking_that_a_server_leaves_in_the_text_is_no_part_of_the_answer() {
    let says = |text: &str| Reply::new().says(text).dripping(3);
    let server = Server::start(
        Wire::Chat,
        Behaviour::replies([
            says("<think>\nlet me count\n</think>\n\n{\"count\": 3}"),
            says("A <think> tag"),
            says("<think>so I am done"),
            says("<think>hm</think>").calls("Read", json!({"path": "a"})),
        ]),
    );
    block_on(async {
        let model = model(&server, Wire::Chat).await;
        for (thinking, text) in [
            ("\nlet me count\n", "{\"count\": 3}"),
            ("", "A <think> tag"),
            ("so I am done", ""),
            ("hm", ""),
        ] {
            let outcome = ask(&*model, request(beginning())).await;
            assert_eq!((outcome.thinking.as_str(), outcome.text.as_str()), (thinking, text));
            let message = outcome.end.unwrap().message;
            let texts = message.parts.iter().filter_map(|part| match part {
                codelet_context::message::Part::Text(text) => Some(text.body.as_str()),
                _ => None,
            });
            assert_eq!(texts.collect::<String>(), text);
            assert_eq!(format!("{message:?}").contains("Thinking"), !thinking.is_empty());
        }
    });
}

#[test]
fn thinking_whose_opening_tag_is_in_the_prompt_is_no_part_of_the_stored_answer() {
    let server = Server::start(
        Wire::Chat,
        Behaviour::replies([Reply::new().says("I should greet.</think>\n\nHello there.").dripping(3)]),
    );
    block_on(async {
        let model = model(&server, Wire::Chat).await;
        let message = ask(&*model, request(beginning())).await.end.unwrap().message;
        let texts = message.parts.iter().filter_map(|part| match part {
            codelet_context::message::Part::Text(text) => Some(text.body.as_str()),
            _ => None,
        });
        assert_eq!(texts.collect::<String>(), "Hello there.");
        let is_thinking =
            |part: &codelet_context::message::Part| matches!(part, codelet_context::message::Part::Thinking(_));
        assert!(message.parts.iter().any(is_thinking), "{message:?}");
    });
}

#[test]
fn a_key_in_an_answer_is_neither_shown_nor_kept_on_any_wire() {
    for wire in Wire::ALL {
        let answer = Reply::new()
            .thinks(format!("The key is {KEY}."))
            .says(format!("It is {KEY}, I think."))
            .calls("Read", json!({"path": format!("{KEY}.rs"), KEY: [{"a": KEY}]}))
            .calls(KEY, json!({}));
        let server = Server::start(
            wire,
            Behaviour::replies([answer, Reply::text("Done.")]).binding_thinking(),
        );
        let outcome = block_on(async {
            let model = model(&server, wire).await;
            let mut history = request(beginning());
            let outcome = ask(&*model, history.clone()).await;
            let reply = outcome.end.clone().unwrap();
            let results = reply
                .message
                .calls()
                .map(|call| ToolResult::new(call.id.clone(), Some(true), "fine"));
            let results = Message::results(results.collect());
            history.messages.extend([reply.message, results].map(Arc::new));
            ask(&*model, history).await.end.unwrap();
            outcome
        });
        assert_eq!(outcome.text, "It is [key], I think.", "{wire:?}");
        assert_eq!(outcome.calls, ["Read", "key"], "{wire:?}");
        let message = outcome.end.unwrap().message;
        let parameters = &message.calls().next().unwrap().parameters;
        let expected = json!({"path": "[key].rs", "[key]": [{"a": "[key]"}]});
        assert_eq!(json!(parameters.as_map()), expected, "{wire:?}");
        assert!(
            !outcome.thinking.contains(KEY) && !format!("{message:?}").contains(KEY),
            "{wire:?}"
        );
        let record = server.record();
        // Thinking that the vendor has signed is as it came, or it would be a fault.
        assert_eq!(record.faults(), "", "{wire:?}");
        let sent = record.exchanges[1].request.json().to_string();
        let is_signed = matches!(wire, Wire::Anthropic | Wire::Responses);
        assert_eq!(sent.matches(KEY).count(), usize::from(is_signed), "{wire:?}: {sent}");
    }
}
