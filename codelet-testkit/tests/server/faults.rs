//! Every fault occurs exactly where it was requested.

use crate::client::{ask, hello, path, receive, send};
use codelet_testkit::server::{
    Behaviour, End, Fault, Gate, Refusal, Reply, RetryAfter, Server, Trouble, Wire, block_on,
};
use serde_json::json;
use std::time::{Duration, SystemTime};

fn rich() -> Reply {
    Reply::new()
        .thinks("Which file is it? I had better look at both of them.")
        .thinks_unseen()
        .says("I will read both files, the one after the other: é, ö and 漢字 among them.")
        .calls("Read", json!({ "path": "src/a.rs", "limit": 400 }))
        .calls("Read", json!({ "path": "src/b.rs", "limit": 400 }))
}

#[test]
fn a_stream_is_cut_at_every_boundary_and_nowhere_else() {
    for wire in Wire::ALL {
        let frames = wire.frames(&rich());
        let cuts = (0..=frames.len()).map(|after| rich().failing(Fault::Cut(after)));
        let server = Server::start(wire, Behaviour::replies(cuts));
        for after in 0..=frames.len() {
            let answer = ask(&server, wire, &hello(wire)).unwrap();
            assert_eq!(answer.status, 200);
            assert!(!answer.complete, "{wire:?} {after}");
            let events = answer.events();
            assert_eq!(events.len(), after, "{wire:?}");
            let names: Vec<_> = events.iter().map(|event| event.name.as_deref()).collect();
            let wanted: Vec<_> = frames[..after].iter().map(|frame| frame.event).collect();
            assert_eq!(names, wanted);
            server.wait_until(|record| matches!(record.exchanges[after].end, End::Cut(_)));
            assert_eq!(server.record().exchanges[after].frames, after);
        }
    }
}

#[test]
fn a_frame_is_cut_in_its_middle() {
    for wire in Wire::ALL {
        let reply = rich().failing(Fault::CutInside(2));
        let server = Server::start(wire, Behaviour::replies([reply]));
        let answer = ask(&server, wire, &hello(wire)).unwrap();
        assert!(!answer.complete);
        assert_eq!(answer.events().len(), 2);
        let rest = answer.text().trim_end().rsplit("\n\n").next().unwrap();
        assert!(rest.len() > 10 && !rest.ends_with('}'), "{rest}");
    }
}

#[test]
fn a_stream_that_ends_too_early_ends_in_good_order() {
    for wire in Wire::ALL {
        for after in [0, 3] {
            let server = Server::start(wire, Behaviour::replies([rich().failing(Fault::End(after))]));
            let answer = ask(&server, wire, &hello(wire)).unwrap();
            assert!(answer.complete);
            assert_eq!(answer.events().len(), after);
        }
    }
}

#[test]
fn one_frame_is_malformed_and_the_others_are_not() {
    for wire in Wire::ALL {
        let server = Server::start(wire, Behaviour::replies([rich().failing(Fault::Malformed(3))]));
        let answer = ask(&server, wire, &hello(wire)).unwrap();
        let broken: Vec<usize> = answer
            .events()
            .iter()
            .enumerate()
            .filter_map(|(index, event)| {
                let good = event.data == "[DONE]" || serde_json::from_str::<serde_json::Value>(&event.data).is_ok();
                (!good).then_some(index)
            })
            .collect();
        assert_eq!(broken, [3], "{wire:?}");
    }
}

#[test]
fn trouble_inside_a_stream_is_said_in_the_vendors_words() {
    let said = |wire, fault| {
        let server = Server::start(wire, Behaviour::replies([rich().failing(fault)]));
        let answer = ask(&server, wire, &hello(wire)).unwrap();
        let last = answer.events().pop().unwrap();
        assert_eq!(answer.events().len(), 4);
        (
            last.name,
            serde_json::from_str::<serde_json::Value>(&last.data).unwrap(),
        )
    };
    let (name, data) = said(Wire::Anthropic, Fault::Error(3, Trouble::Overloaded));
    assert_eq!(
        (name.as_deref(), data["error"]["type"].as_str()),
        (Some("error"), Some("overloaded_error"))
    );
    let (_, data) = said(Wire::Anthropic, Fault::Error(3, Trouble::Internal));
    assert_eq!(data["error"]["type"], "api_error");
    let (name, data) = said(Wire::Chat, Fault::Error(3, Trouble::Internal));
    assert_eq!((name, data["error"]["type"].as_str()), (None, Some("server_error")));
    let (name, data) = said(Wire::Responses, Fault::Error(3, Trouble::RateLimited));
    assert_eq!(name.as_deref(), Some("response.failed"));
    assert_eq!(data["response"]["error"]["code"], "rate_limit_exceeded");
    assert_eq!(data["sequence_number"], 3);
    let (name, data) = said(Wire::Responses, Fault::BareError(3, Trouble::Internal));
    assert_eq!(
        (name.as_deref(), data["code"].as_str()),
        (Some("error"), Some("server_error"))
    );
    let (name, data) = said(Wire::Gemini, Fault::Error(3, Trouble::Overloaded));
    assert_eq!((name, data["error"]["status"].as_str()), (None, Some("UNAVAILABLE")));
}

#[test]
fn a_refusal_has_the_vendors_form() {
    let path = |wire| match wire {
        Wire::Anthropic => "/error/type",
        Wire::Chat | Wire::Responses => "/error/code",
        Wire::Gemini => "/error/status",
    };
    for (wire, status, word) in [
        (Wire::Anthropic, 401, "authentication_error"),
        (Wire::Anthropic, 403, "permission_error"),
        (Wire::Anthropic, 404, "not_found_error"),
        (Wire::Anthropic, 429, "rate_limit_error"),
        (Wire::Anthropic, 500, "api_error"),
        (Wire::Anthropic, 529, "overloaded_error"),
        (Wire::Chat, 401, "invalid_api_key"),
        (Wire::Chat, 404, "model_not_found"),
        (Wire::Responses, 429, "rate_limit_exceeded"),
        (Wire::Gemini, 400, "INVALID_ARGUMENT"),
        (Wire::Gemini, 429, "RESOURCE_EXHAUSTED"),
        (Wire::Gemini, 503, "UNAVAILABLE"),
    ] {
        let server = Server::start(wire, Behaviour::replies([Reply::status(status)]));
        let answer = ask(&server, wire, &hello(wire)).unwrap();
        assert_eq!(answer.status, status);
        assert_eq!(answer.json().pointer(path(wire)).unwrap(), word);
        server.wait_until(|record| matches!(record.exchanges[0].end, End::Refused(_)));
    }
}

#[test]
fn a_time_to_come_back_is_said_in_three_ways() {
    let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    for (retry, name, value) in [
        (RetryAfter::Seconds(30), "retry-after", "30"),
        (RetryAfter::Millis(1_500), "retry-after-ms", "1500"),
        (RetryAfter::Date(date), "retry-after", "Thu, 01 Jan 2026 00:00:00 GMT"),
    ] {
        for wire in Wire::ALL {
            let reply = Reply::new().failing(Fault::Refuse(Refusal::rate_limited(retry)));
            let server = Server::start(wire, Behaviour::replies([reply]));
            let answer = ask(&server, wire, &hello(wire)).unwrap();
            assert_eq!((answer.status, answer.header(name)), (429, Some(value)));
        }
    }
}

#[test]
fn a_closed_connection_answers_nothing() {
    let server = Server::start(Wire::Chat, Behaviour::replies([Reply::new().failing(Fault::HangUp)]));
    assert!(ask(&server, Wire::Chat, &hello(Wire::Chat)).is_none());
}

#[test]
fn silence_lasts_until_the_client_leaves() {
    for (fault, frames) in [(Fault::Silence, 0), (Fault::Stall(0), 0), (Fault::Stall(4), 4)] {
        let silent = rich().failing(fault.clone());
        let server = Server::start(Wire::Anthropic, Behaviour::replies([silent]));
        let stream = send(&server, path(Wire::Anthropic), &hello(Wire::Anthropic).to_string());
        server.wait_until(|record| record.exchanges.iter().any(|exchange| exchange.frames == frames));
        assert_eq!(server.record().exchanges[0].end, End::Open, "{fault:?}");
        drop(stream);
        server.wait_until(|record| matches!(record.exchanges[0].end, End::ClientLeft(_)));
    }
}

#[test]
fn a_gate_holds_the_stream_until_it_is_opened() {
    for wire in Wire::ALL {
        let (first, second) = (Gate::after(2), Gate::after(4));
        let reply = rich().gated(&first).gated(&second);
        let whole = wire.frames(&rich()).len();
        let server = Server::start(wire, Behaviour::replies([reply]));
        let stream = send(&server, path(wire), &hello(wire).to_string());
        block_on(first.reached());
        assert_eq!(server.record().exchanges[0].frames, 2);
        assert!(!second.is_reached());
        first.open();
        block_on(second.reached());
        assert_eq!(server.record().exchanges[0].frames, 4);
        second.open();
        let answer = receive(stream).unwrap();
        assert!(answer.complete);
        assert_eq!(answer.events().len(), whole);
        server.wait_until(|record| matches!(record.exchanges[0].end, End::Finished(_)));
    }
}

#[test]
fn a_client_that_leaves_at_a_gate_is_noticed_at_once() {
    let gates = [Gate::before_head(), Gate::after(0), Gate::after(3)];
    let replies = gates.iter().map(|gate| rich().gated(gate));
    let server = Server::start(Wire::Responses, Behaviour::replies(replies));
    for (number, gate) in gates.iter().enumerate() {
        let stream = send(&server, path(Wire::Responses), &hello(Wire::Responses).to_string());
        block_on(gate.reached());
        drop(stream);
        server.wait_until(|record| matches!(record.exchanges[number].end, End::ClientLeft(_)));
    }
}

#[test]
fn a_slow_drip_delivers_the_same_bytes() {
    for wire in Wire::ALL {
        let replies = [rich(), rich().dripping(1)];
        let server = Server::start(wire, Behaviour::replies(replies));
        let whole = ask(&server, wire, &hello(wire)).unwrap();
        let dripped = ask(&server, wire, &hello(wire)).unwrap();
        // Ids differ between replies; everything else is the same.
        assert_eq!(whole.body.len(), dripped.body.len());
        assert_eq!(whole.events().len(), dripped.events().len());
    }
}

#[test]
fn a_request_beyond_the_script_is_refused_and_recorded() {
    let server = Server::start(Wire::Gemini, Behaviour::replies([]));
    assert_eq!(ask(&server, Wire::Gemini, &hello(Wire::Gemini)).unwrap().status, 400);
    assert_eq!(server.record().faults(), "the script has no reply for request 0\n");
    let panics = Behaviour::answering(|_| panic!("not so"));
    let server = Server::start(Wire::Gemini, panics);
    assert_eq!(ask(&server, Wire::Gemini, &hello(Wire::Gemini)).unwrap().status, 400);
    assert_eq!(server.record().faults(), "the script panicked at request 0: not so\n");
}

#[test]
fn what_is_no_request_is_refused_and_harms_nothing() {
    let server = Server::start(Wire::Chat, Behaviour::replies([Reply::text("still here")]));
    for body in ["", "{", "[]", "null", "\"\u{1}\"", r#"{"messages":7}"#] {
        let answer = receive(send(&server, path(Wire::Chat), body)).unwrap();
        assert_eq!(answer.status, 400, "{body}");
    }
    assert!(receive(send(&server, "no path at all", "")).is_none());
    assert_eq!(ask(&server, Wire::Chat, &hello(Wire::Chat)).unwrap().status, 200);
}
