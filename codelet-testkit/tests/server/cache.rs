//! The cache follows the vendors' rules.

use crate::client::{ask, hello};
use crate::echo::{entries, hear};
use codelet_testkit::server::{Behaviour, Billed, Clock, Fault, Reply, Server, Wire};
use serde_json::{Value, json};
use std::time::Duration;

/// A request in short notation: `t` a tool, `s` a block of the system prompt, `u` and `a` messages; a number is the
/// block's size in tokens, an upper-case letter means different content, `*` marks it for five minutes, `!` for an
/// hour.
fn request(line: &str) -> Value {
    let mut body = json!({ "model": "m", "max_tokens": 10, "stream": true, "tools": [], "system": [], "messages": [] });
    for (index, word) in line.split(' ').enumerate() {
        let (kind, rest) = word.split_at(1);
        let mark = match &rest[rest.len() - 1..] {
            "*" => Some(json!({ "type": "ephemeral" })),
            "!" => Some(json!({ "type": "ephemeral", "ttl": "1h" })),
            _ => None,
        };
        let size: usize = rest.trim_end_matches(['*', '!']).parse().unwrap();
        // Everything else in the block counts as well: keys, types, a tool's name, the role.
        let around = match kind.to_ascii_lowercase().as_str() {
            "t" => "nametNdescriptioninput_schematypeobject",
            "s" => "typetexttext",
            "u" => "typetexttextuser",
            _ => "typetexttextassistant",
        };
        let text = kind.repeat(size * 4 - around.len());
        let (list, mut block) = match kind.to_ascii_lowercase().as_str() {
            "t" => (
                "tools",
                json!({ "name": format!("t{index}"), "description": text, "input_schema": { "type": "object" } }),
            ),
            "s" => ("system", json!({ "type": "text", "text": text })),
            _ => ("messages", json!({ "type": "text", "text": text })),
        };
        if let Some(mark) = mark {
            block["cache_control"] = mark;
        }
        if list == "messages" {
            let role = if kind.eq_ignore_ascii_case("u") {
                "user"
            } else {
                "assistant"
            };
            let messages = body["messages"].as_array_mut().unwrap();
            match messages.last_mut().filter(|last| last["role"] == role) {
                Some(last) => last["content"].as_array_mut().unwrap().push(block),
                None => messages.push(json!({ "role": role, "content": [block] })),
            }
        } else {
            body[list].as_array_mut().unwrap().push(block);
        }
    }
    body
}

/// The bill of each request of a sequence, in tokens: fresh, read, five minutes, an hour. A number of seconds in the
/// sequence advances the clock.
fn bills(sequence: &[&str]) -> Vec<[u64; 4]> {
    let clock = Clock::new();
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::answering(|_| Reply::text("ok")).clock(&clock),
    );
    let mut bills = Vec::new();
    for line in sequence {
        if let Ok(seconds) = line.parse() {
            clock.advance(Duration::from_secs(seconds));
            continue;
        }
        let answer = ask(&server, Wire::Anthropic, &request(line)).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        let usage = hear(Wire::Anthropic, &answer).usage;
        bills.push([usage.fresh, usage.cache_read, usage.write_5m, usage.write_1h]);
    }
    bills
}

#[test]
fn entries_are_written_and_read_at_marks() {
    // Nothing is cached without a mark, and everything after the last mark is fresh.
    assert_eq!(
        bills(&["s2000 u1000", "s2000 u1000"]),
        [[3000, 0, 0, 0], [3000, 0, 0, 0]]
    );
    assert_eq!(
        bills(&["s2000* u1000", "s2000* u1000"]),
        [[1000, 0, 2000, 0], [1000, 2000, 0, 0]]
    );
    // A growing conversation reads what it wrote, and writes what is new.
    assert_eq!(
        bills(&[
            "s2000* u1000*",
            "s2000* u1000 a1000 u1000*",
            "s2000* u1000 a1000 u1000 a500 u500*"
        ]),
        [[0, 0, 3000, 0], [0, 3000, 2000, 0], [0, 5000, 1000, 0]]
    );
    // An entry exists at a mark, not at each block before it.
    assert_eq!(
        bills(&["s2000 u3000*", "s2000* U3000"]),
        [[0, 0, 5000, 0], [3000, 0, 2000, 0]]
    );
}

#[test]
fn a_change_breaks_everything_behind_it_and_nothing_before() {
    let first = "t2000* s2000* u2000*";
    assert_eq!(bills(&[first, "t2000* s2000* U2000*"])[1], [0, 4000, 2000, 0]);
    assert_eq!(bills(&[first, "t2000* S2000* u2000*"])[1], [0, 2000, 4000, 0]);
    assert_eq!(bills(&[first, "T2000* s2000* u2000*"])[1], [0, 0, 6000, 0]);
}

#[test]
fn a_short_prefix_is_not_cached() {
    assert_eq!(bills(&["s900* u1000", "s900* u1000"])[1], [1900, 0, 0, 0]);
    assert_eq!(bills(&["s900* u1000*", "s900* u1000*"])[1], [0, 1900, 0, 0]);
}

#[test]
fn a_mark_looks_back_over_twenty_blocks() {
    let grown = |blocks: usize| format!("s2000 u100*{}", " u100".repeat(blocks - 1) + " u100*");
    let first = "s2000 u100*";
    // The marked block is the first of the twenty, so the entry may be up to nineteen blocks before it.
    let reads = |line: &str| bills(&[first, line.replacen('*', "", 1).as_str()])[1][1];
    assert_eq!(reads(&grown(19)), 2_100);
    assert_eq!(reads(&grown(20)), 0);
    // A second mark within reach finds it.
    let kept = format!("s2000 u100*{}", " u100".repeat(29) + " u100*");
    assert_eq!(bills(&[first, &kept])[1], [0, 2100, 3000, 0]);
}

#[test]
fn an_entry_lives_as_long_as_its_mark_says_since_it_was_last_used() {
    let (minutes, hour) = ("s2000* u10", "s2000! u10");
    assert_eq!(bills(&[minutes, "300", minutes])[1], [10, 2000, 0, 0]);
    assert_eq!(bills(&[minutes, "301", minutes])[1], [10, 0, 2000, 0]);
    assert_eq!(bills(&[minutes, "200", minutes, "200", minutes])[2], [10, 2000, 0, 0]);
    assert_eq!(bills(&[hour, "3600", hour])[1], [10, 2000, 0, 0]);
    assert_eq!(bills(&[hour, "3601", hour])[1], [10, 0, 0, 2000]);
}

#[test]
fn two_times_to_live_are_billed_apart() {
    assert_eq!(bills(&["t2000! s2000! u2000*"])[0], [0, 0, 2000, 4000]);
    assert_eq!(
        bills(&["t2000! s2000! u2000*", "301", "t2000! s2000! u2000*"])[1],
        [0, 4000, 2000, 0]
    );
}

#[test]
fn settings_of_thinking_and_tool_choice_break_the_messages_only() {
    let server = Server::start(Wire::Anthropic, Behaviour::answering(|_| Reply::text("ok")));
    let mut body = request("s2000* u2000*");
    let bill = |body: &Value| hear(Wire::Anthropic, &ask(&server, Wire::Anthropic, body).unwrap()).usage;
    bill(&body);
    body["tool_choice"] = json!({ "type": "none" });
    let usage = bill(&body);
    assert_eq!(usage.cache_read, 2_000);
    body["model"] = "another".into();
    assert_eq!(bill(&body).cache_read, 0);
}

#[test]
fn an_image_breaks_the_messages_and_a_text_that_names_one_does_not() {
    let named = json!({"type": "text", "text": "accept: image/png"});
    let pixels = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    let image = json!({"type": "image", "source": pixels});
    let server = Server::start(Wire::Anthropic, Behaviour::answering(|_| Reply::text("ok")));
    for (block, read) in [(None, 0), (Some(named), 4_000), (Some(image), 2_000)] {
        let mut body = request("s2000* u2000*");
        body["messages"][0]["content"].as_array_mut().unwrap().extend(block);
        let answer = ask(&server, Wire::Anthropic, &body).unwrap();
        assert_eq!(hear(Wire::Anthropic, &answer).usage.cache_read, read, "{body}");
    }
}

#[test]
fn the_signature_of_thinking_is_not_billed_as_text() {
    let server = Server::start(Wire::Anthropic, Behaviour::answering(|_| Reply::text("ok")).unchecked());
    let prompt = |signature: &str, kind: &str| {
        let mut body = request("s2000* u1000 a10 u10");
        let block = json!({"type": kind, kind: "So it is.", "signature": signature});
        let reply = body["messages"][1]["content"].as_array_mut().unwrap();
        reply.insert(0, block);
        let usage = hear(Wire::Anthropic, &ask(&server, Wire::Anthropic, &body).unwrap()).usage;
        usage.fresh + usage.cache_read + usage.write_5m
    };
    let (short, long) = ("EqQB".to_owned(), "EqQB".repeat(1_000));
    assert_eq!(prompt(&short, "thinking"), prompt(&long, "thinking"));
    // A field of this name elsewhere is text.
    assert_eq!(prompt(&short, "text") + 999, prompt(&long, "text"));
}

#[test]
fn a_refused_request_leaves_nothing_in_the_cache() {
    let replies = [
        Reply::status(529),
        Reply::text("ok").failing(Fault::Cut(1)),
        Reply::text("ok"),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let body = request("s2000* u10");
    for _ in 0..3 {
        ask(&server, Wire::Anthropic, &body).unwrap();
    }
    let record = server.record();
    let reads: Vec<u64> = record
        .exchanges
        .iter()
        .map(|exchange| exchange.usage.cache_read)
        .collect();
    assert_eq!(reads[..2], [0, 0]);
    assert!(reads[2] >= 2_000, "a stream that began has written: {reads:?}");
    assert_eq!(record.exchanges[0].usage, Billed::default());
}

#[test]
fn other_vendors_read_the_longest_prefix_in_grains() {
    for wire in [Wire::Chat, Wire::Responses, Wire::Gemini] {
        let clock = Clock::new();
        let server = Server::start(wire, Behaviour::answering(|_| Reply::text("ok")).clock(&clock));
        let says = |texts: &[&str]| {
            let mut body = hello(wire);
            let text = texts.concat();
            let entry = match wire {
                Wire::Gemini => json!({ "role": "user", "parts": [{ "text": text }] }),
                _ => json!({ "role": "user", "content": text }),
            };
            *entries(wire, &mut body) = vec![entry];
            let answer = ask(&server, wire, &body).unwrap();
            hear(wire, &answer).usage
        };
        let (long, other) = ("abcdefgh".repeat(2_500), "12345678".repeat(2_500));
        let first = says(&[&long]);
        assert_eq!(first.cache_read, 0);
        assert!((5_000..5_050).contains(&first.prompt()), "{first:?}");
        let grown = says(&[&long, &other]);
        assert!(
            (4_800..=5_000).contains(&grown.cache_read) && grown.cache_read % 128 == 0,
            "{grown:?}"
        );
        assert_eq!(grown.prompt(), grown.fresh + grown.cache_read);
        assert_eq!(says(&[&other]).cache_read, 0);
        // An earlier request is still cached even if others came in between.
        assert!(says(&[&long]).cache_read >= 4_800);
        assert_eq!(says(&["short"]).cache_read, 0);
        assert_eq!(says(&["short"]).cache_read, 0);
        clock.advance(Duration::from_secs(601));
        assert_eq!(says(&[&long]).cache_read, 0);
    }
}
