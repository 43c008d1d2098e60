//! A long task: the server keeps up, counts, caches and ends it at the context window.

use crate::client::{ask, hello};
use crate::echo::{entries, hear, step};
use codelet_testkit::server::{Behaviour, Growth, Reply, Server, Window, Wire};
use serde_json::{Value, json};

/// Runs steps until the server refuses or the task is done; returns the number of steps.
fn work(server: &Server, wire: Wire, output: &str) -> usize {
    let mut body = hello(wire);
    for steps in 0.. {
        if wire == Wire::Anthropic {
            move_mark(&mut body);
        }
        let answer = ask(server, wire, &body).unwrap();
        if answer.status != 200 {
            return steps;
        }
        let heard = hear(wire, &answer);
        if heard.calls.is_empty() {
            return steps;
        }
        entries(wire, &mut body).extend(step(wire, &heard, output));
    }
    unreachable!("the task ends")
}

/// Moves the cache mark to the last block.
fn move_mark(body: &mut Value) {
    for message in entries(Wire::Anthropic, body) {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    let last = entries(Wire::Anthropic, body).last_mut().unwrap();
    if let Some(block) = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

fn behaviour(steps: usize) -> Behaviour {
    Behaviour::answering(move |request| match request.answered {
        done if done < steps => Reply::new()
            .thinks("On.")
            .calls("Read", json!({ "path": format!("{done}.rs") })),
        _ => Reply::text("Done."),
    })
}

#[test]
fn a_task_ends_at_the_window_and_not_before() {
    let output = "0123456789abcdef".repeat(1_250);
    for wire in Wire::ALL {
        let server = Server::start(wire, behaviour(300).window(Window::of(100_000)));
        let steps = work(&server, wire, &output);
        // Twenty results of 5,000 tokens and their surroundings.
        assert_eq!(steps, 20);
        let record = server.record();
        assert_eq!(record.faults(), "");
        let last = record.exchanges.last().unwrap();
        assert!(last.tokens > 100_000 && last.status == Some(400));
        assert!(
            record.exchanges[..steps]
                .iter()
                .all(|exchange| exchange.tokens <= 100_000)
        );
        assert!(
            record.exchanges[1..]
                .iter()
                .all(|exchange| exchange.growth == Growth::Extends)
        );
    }
}

#[test]
fn a_conversation_that_only_grows_is_read_from_the_cache() {
    let output = "0123456789abcdef".repeat(1_250);
    for wire in Wire::ALL {
        let server = Server::start(wire, behaviour(40));
        assert_eq!(work(&server, wire, &output), 40);
        let record = server.record();
        assert_eq!(record.faults(), "");
        for exchange in &record.exchanges[2..] {
            let (usage, before) = (exchange.usage, &record.exchanges[exchange.request.number - 1]);
            assert_eq!(usage.prompt(), exchange.tokens);
            // All of the previous request, to within a grain.
            assert!(
                usage.cache_read + 256 > before.tokens && usage.cache_read <= before.tokens,
                "{wire:?} {usage:?}"
            );
        }
        assert!(record.billed().hit_share() > 0.9);
    }
}
