//! Exact counts, whatever becomes of the reply.

use crate::kit::{ask, beginning, block_on, choice, model, request};
use codelet_context::usage::Usage;
use codelet_providers::{Choice, Lifetime, connect};
use codelet_testkit::server::{Behaviour, Billed, Dialect, Fault, Reply, Server, Wire};

fn counts(wire: Wire) -> Billed {
    let is_anthropic = wire == Wire::Anthropic;
    Billed {
        fresh: 120,
        cache_read: 80_000,
        write_5m: if is_anthropic { 300 } else { 0 },
        write_1h: if is_anthropic { 500 } else { 0 },
        output: 77,
        reasoning: if is_anthropic { 0 } else { 30 },
    }
}

fn usage(billed: Billed) -> Usage {
    Usage {
        fresh: billed.fresh,
        cache_read: billed.cache_read,
        cache_write: billed.cache_write(),
        output: billed.output,
    }
}

#[test]
fn every_count_of_every_wire_is_exact() {
    for wire in Wire::ALL {
        let expected = counts(wire);
        let server = Server::start(
            wire,
            Behaviour::replies([Reply::new().thinks("hm").says("ok").billed(expected)]),
        );
        let outcome = block_on(async { ask(&*model(&server, wire).await, request(beginning())).await });
        let billed = outcome.end.unwrap().billed;
        assert_eq!(billed.usage, usage(expected), "{wire:?}");
        assert_eq!(
            (billed.write_1h, billed.reasoning),
            (expected.write_1h, expected.reasoning),
            "{wire:?}"
        );
        assert_eq!(outcome.billed.last(), Some(&billed), "{wire:?}");
    }
}

#[test]
fn a_gateway_that_tells_the_cached_part_last_and_a_local_server_are_counted_right() {
    for dialect in [Dialect::Gateway, Dialect::LlamaServer] {
        let expected = Billed {
            fresh: 120,
            cache_read: 800,
            output: 77,
            ..Billed::default()
        };
        let behaviour = Behaviour::replies([Reply::text("ok").billed(expected)]).dialect(dialect);
        let server = Server::start(Wire::Anthropic, behaviour);
        let outcome = block_on(async { ask(&*model(&server, Wire::Anthropic).await, request(beginning())).await });
        assert_eq!(outcome.end.unwrap().billed.usage, usage(expected), "{dialect:?}");
    }
}

#[test]
fn what_was_reported_before_a_cut_is_told_at_every_frame() {
    for wire in Wire::ALL {
        let expected = counts(wire);
        let reply = || Reply::new().says("Hello there.").billed(expected);
        let frames = wire.frames(&reply());
        for at in 0..=frames.len() {
            let told = wire.reported(&frames[..at]);
            let server = Server::start(wire, Behaviour::replies([reply().failing(Fault::Cut(at))]));
            let outcome = block_on(async { ask(&*model(&server, wire).await, request(beginning())).await });
            let last = outcome.billed.last();
            let last = last.map(|last| (last.usage, last.write_1h, last.reasoning));
            let told = told.map(|told| (usage(told), told.write_1h, told.reasoning));
            assert_eq!(last, told, "{wire:?} {at} of {}", frames.len());
        }
    }
}

#[test]
fn an_hour_in_the_cache_is_asked_for_and_counted_apart() {
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("ok")]));
    let choice = Choice {
        lifetime: Lifetime::Hour,
        ..choice(&server, Wire::Anthropic)
    };
    let long = codelet_context::message::Message::user("word ".repeat(20_000));
    let outcome = block_on(async {
        let model = connect(&choice).await.unwrap();
        let mut messages = beginning();
        messages.push(long);
        ask(&*model, request(messages)).await
    });
    let billed = outcome.end.unwrap().billed;
    assert!(
        billed.write_1h > 20_000 && billed.write_1h == billed.usage.cache_write,
        "{billed:?}"
    );
}
