//! Everything that goes wrong, and what it is sorted into.

use crate::kit::{KEY, ask, beginning, block_on, choice, hasty, model, name, request};
use codelet_agent::model::{Delta, ModelError, Suspects};
use codelet_providers::{Choice, Secret, connect};
use codelet_testkit::server::{Behaviour, End, Fault, Gate, Refusal, Reply, RetryAfter, Server, Trouble, Window, Wire};
use futures_util::StreamExt;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

fn error(wire: Wire, reply: Reply) -> ModelError {
    let server = Server::start(wire, Behaviour::replies([reply]));
    let outcome = block_on(async { ask(&*model(&server, wire).await, request(beginning())).await });
    outcome.end.unwrap_err()
}

#[test]
fn statuses_are_sorted_by_what_can_be_done() {
    for wire in Wire::ALL {
        for status in [429, 500, 502, 503, 504, 529] {
            let error = error(wire, Reply::status(status));
            assert!(matches!(error, ModelError::Busy { .. }), "{wire:?} {status}: {error:?}");
        }
        let error_of = |status| error(wire, Reply::status(status));
        let key = error_of(401);
        assert!(matches!(key, ModelError::Credentials { .. }), "{wire:?}: {key:?}");
        let forbidden = error_of(403);
        assert!(
            matches!(forbidden, ModelError::Refused { .. }),
            "{wire:?}: {forbidden:?}"
        );
        let unknown = error_of(404);
        assert!(matches!(unknown, ModelError::Refused { .. }), "{wire:?}: {unknown:?}");
        let bad = error_of(400);
        let is_refused = matches!(bad, ModelError::Refused { .. } | ModelError::Rejected { .. });
        assert!(is_refused, "{wire:?}: {bad:?}");
        assert!(
            matches!(error(wire, Reply::status(413)), ModelError::TooLong { .. }),
            "{wire:?}"
        );
    }
}

#[test]
fn a_busy_vendor_says_when_to_come_back() {
    for wire in Wire::ALL {
        for (retry, expected) in [(RetryAfter::Seconds(7), 7_000), (RetryAfter::Millis(250), 250)] {
            let reply = Reply::new().failing(Fault::Refuse(Refusal::rate_limited(retry)));
            match error(wire, reply) {
                ModelError::Busy { retry_after, .. } => assert_eq!(retry_after, Some(Duration::from_millis(expected))),
                other => panic!("{wire:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn too_long_is_told_with_the_limit_where_the_vendor_names_it() {
    for wire in Wire::ALL {
        for (window, expected) in [(Window::of(70), Some(70)), (Window::of(70).untold(), None)] {
            let server = Server::start(wire, Behaviour::replies([]).window(window));
            let mut messages = beginning();
            messages.push(codelet_context::message::Message::user("word ".repeat(500)));
            let outcome = block_on(async { ask(&*model(&server, wire).await, request(messages)).await });
            match outcome.end {
                Err(ModelError::TooLong { limit, .. }) => assert_eq!(limit, expected, "{wire:?}"),
                other => panic!("{wire:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn an_error_within_the_stream_is_sorted_like_one_before_it() {
    for wire in Wire::ALL {
        for bare in [false, true] {
            for trouble in [Trouble::Overloaded, Trouble::Internal, Trouble::RateLimited] {
                let fault = if bare {
                    Fault::BareError(1, trouble)
                } else {
                    Fault::Error(1, trouble)
                };
                let error = error(wire, Reply::text("Half of it").failing(fault));
                assert!(
                    matches!(error, ModelError::Busy { .. }),
                    "{wire:?} {trouble:?}: {error:?}"
                );
            }
            let fault = if bare {
                Fault::BareError(0, Trouble::TooLong)
            } else {
                Fault::Error(0, Trouble::TooLong)
            };
            let error = error(wire, Reply::text("x").failing(fault));
            assert!(matches!(error, ModelError::TooLong { .. }), "{wire:?}: {error:?}");
        }
    }
}

#[test]
fn a_stream_cut_at_any_frame_is_cut_unless_the_answer_was_whole() {
    for wire in Wire::ALL {
        let reply = || {
            Reply::new()
                .thinks("hm")
                .says("Hello there.")
                .calls("Read", json!({"path": "a"}))
        };
        let frames = wire.frames(&reply());
        let mut wholes = 0;
        for at in 0..frames.len() {
            for fault in [Fault::Cut(at), Fault::CutInside(at), Fault::End(at)] {
                let is_clean = matches!(fault, Fault::End(_));
                let server = Server::start(wire, Behaviour::replies([reply().failing(fault)]));
                let outcome = block_on(async { ask(&*model(&server, wire).await, request(beginning())).await });
                match outcome.end {
                    Err(ModelError::Cut { had_begun, .. }) => {
                        let came =
                            !outcome.text.is_empty() || !outcome.thinking.is_empty() || !outcome.calls.is_empty();
                        assert_eq!(had_begun, came, "{wire:?} {at}");
                        assert_eq!(wholes, 0, "{wire:?} {at}: cut after it was whole");
                    }
                    Ok(reply) => {
                        wholes += usize::from(is_clean);
                        assert_eq!(reply.message.calls().count(), 1, "{wire:?} {at}");
                        assert!(reply.broken.is_empty(), "{wire:?} {at}");
                    }
                    other => panic!("{wire:?} {at}: {other:?}"),
                }
            }
        }
        assert!(wholes <= 2, "{wire:?}: {wholes} frames are needless");
    }
}

#[test]
fn malformed_json_is_told_with_its_beginning() {
    for wire in Wire::ALL {
        let error = error(wire, Reply::text("Hello there.").failing(Fault::Malformed(1)));
        assert!(
            matches!(&error, ModelError::Garbled { said } if said.contains('{')),
            "{wire:?}: {error:?}"
        );
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    for wire in Wire::ALL {
        for fault in [Fault::Silence, Fault::Stall(0), Fault::Stall(1)] {
            let server = Server::start(wire, Behaviour::replies([Reply::text("Hello there.").failing(fault)]));
            let outcome = block_on(async { ask(&*hasty(&server, wire).await, request(beginning())).await });
            match outcome.end {
                Err(ModelError::Cut { said, .. }) => assert!(said.contains("no data from"), "{said}"),
                other => panic!("{wire:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_dropped_stream_closes_the_connection() {
    for wire in Wire::ALL {
        let gate = Gate::after(2);
        let server = Server::start(
            wire,
            Behaviour::replies([Reply::text("Hello there, all of you.").gated(&gate)]),
        );
        block_on(async {
            let model = model(&server, wire).await;
            let mut stream = model.stream(request(beginning()));
            tokio::select! {
                () = gate.reached() => {}
                () = async { while stream.next().await.is_some() {} } => panic!("it ended"),
            }
            drop(stream);
            server
                .until(|record| matches!(record.exchanges[0].end, End::ClientLeft(_)))
                .await;
        });
    }
}

#[test]
fn nothing_is_sent_before_somebody_waits_and_nothing_twice() {
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::replies([Reply::status(500), Reply::text("no")]),
    );
    block_on(async {
        let model = model(&server, Wire::Anthropic).await;
        drop(model.stream(request(beginning())));
        assert!(ask(&*model, request(beginning())).await.end.is_err());
    });
    assert_eq!(server.record().exchanges.len(), 1);
}

#[test]
fn a_host_that_is_not_there_is_told_with_what_to_check() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    for (url, words) in [
        (format!("http://127.0.0.1:{port}"), format!("127.0.0.1:{port}")),
        (
            "http://no-such-host.invalid".to_owned(),
            "no-such-host.invalid".to_owned(),
        ),
    ] {
        let choice = Choice {
            model: "anthropic/claude-opus-5-5".to_owned(),
            base_url: Some(url),
            ..Choice::default()
        };
        let outcome = block_on(async { ask(&*connect(&choice).await.unwrap(), request(beginning())).await });
        match outcome.end {
            Err(ModelError::Cut { said, had_begun: false }) => {
                assert!(said.contains(&words) && said.contains("check"), "{said}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_misspelt_model_that_is_not_found_gets_a_suggestion() {
    let refusal = Refusal::status(404).body(r#"{"error": {"message": "no such model"}}"#);
    let replies = [Reply::new().failing(Fault::Refuse(refusal))];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let choice = Choice {
        model: "anthropic/claude-sonet-5-5".to_owned(),
        ..choice(&server, Wire::Anthropic)
    };
    let outcome = block_on(async { ask(&*connect(&choice).await.unwrap(), request(beginning())).await });
    let said = outcome.end.unwrap_err().to_string();
    assert!(said.contains("did you mean anthropic/claude-sonnet-5-5?"), "{said}");
}

#[test]
fn the_key_is_sent_and_never_shown() {
    for wire in Wire::ALL {
        let body = json!({"error": {"message": format!("your key {KEY} is bad"), "type": "x"}}).to_string();
        let refusal = Refusal::status(400).body(body);
        let server = Server::start(wire, Behaviour::replies([Reply::new().failing(Fault::Refuse(refusal))]));
        let choice = choice(&server, wire);
        assert!(!format!("{choice:?}").contains("0123456789"));
        let outcome = block_on(async { ask(&*connect(&choice).await.unwrap(), request(beginning())).await });
        assert!(
            !format!("{:?}", outcome.end).contains("0123456789"),
            "{:?}",
            outcome.end
        );
        let record = server.record();
        let sent = &record.exchanges[0].request;
        assert!(sent.headers.iter().any(|(_, value)| value.ends_with(KEY)), "{wire:?}");
        assert!(!sent.path.contains(KEY) && !String::from_utf8_lossy(&sent.body).contains(KEY));
    }
}

#[test]
fn a_document_in_place_of_a_stream_is_an_error() {
    for (body, is_busy) in [
        (r#"{"error":{"code":503,"message":"Loading model"}}"#, true),
        (
            r#"{"error":"model requires more system memory than is available"}"#,
            false,
        ),
        (r#"{"choices":[]}"#, false),
    ] {
        let refusal = Refusal::status(200).body(body);
        let error = error(Wire::Chat, Reply::new().failing(Fault::Refuse(refusal)));
        assert_eq!(matches!(error, ModelError::Busy { .. }), is_busy, "{error:?}");
    }
}

#[test]
fn what_cannot_be_asked_is_told_before_anything_is_sent() {
    let error = |choice: Choice| block_on(async { connect(&choice).await.err().unwrap().to_string() });
    let of = |model: &str| Choice {
        model: model.to_owned(),
        ..Choice::default()
    };
    assert!(error(of("gpt-5.4")).contains("did you mean openai/gpt-5.4?"));
    assert!(error(of("opus")).contains("did you mean anthropic/claude-opus-"));
    assert!(error(of("nobody/gpt")).contains("anthropic, openai"));
    assert!(error(of("openai/")).contains("unknown provider in"));
    assert!(error(of(name(Wire::Gemini))).contains("GEMINI_API_KEY"));
    let url = |url: &str| Choice {
        base_url: Some(url.to_owned()),
        ..of("x/y")
    };
    assert!(error(url("localhost:8080")).contains("http://"));
    let key = Some(Secret::new("a\nb"));
    assert!(
        error(Choice {
            key,
            ..of("openai/gpt-5.4")
        })
        .contains("characters")
    );
}

#[test]
fn deltas_come_before_the_error_that_ends_them() {
    let server = Server::start(
        Wire::Chat,
        Behaviour::replies([Reply::text("Hello").failing(Fault::Cut(2))]),
    );
    block_on(async {
        let model = model(&server, Wire::Chat).await;
        let items: Vec<_> = model.stream(request(beginning())).collect().await;
        assert!(items.iter().any(|item| matches!(item, Ok(Delta::Text(_)))));
        assert!(items.last().unwrap().is_err());
    });
}

/// A server that is none: it sends these bytes to each who connects, and the last again and again.
fn pretender(head: &'static str, again: &'static str) -> Choice {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 65_536]);
            let mut sent = stream.write_all(head.as_bytes());
            while !again.is_empty() && sent.is_ok() {
                sent = stream.write_all(again.as_bytes());
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    });
    Choice {
        model: name(Wire::Anthropic).to_owned(),
        base_url: Some(url),
        key: Some(Secret::new(KEY)),
        ..Choice::default()
    }
}

/// What comes of asking it.
fn asked_of(head: &'static str) -> ModelError {
    let choice = pretender(head, "");
    block_on(async { ask(&*connect(&choice).await.unwrap(), request(beginning())).await })
        .end
        .unwrap_err()
}

#[test]
fn the_time_for_the_first_byte_begins_when_the_connection_stands() {
    for (wire, first_byte) in Wire::ALL.into_iter().zip([80, 80, 300, 300]) {
        let server = Server::start(wire, Behaviour::replies([Reply::new().failing(Fault::Silence)]));
        let limits = codelet_providers::TimeLimits {
            connect: Duration::from_secs(20),
            first_byte: Duration::from_millis(first_byte),
            idle: Duration::from_secs(20),
        };
        let choice = Choice {
            limits: Some(limits),
            ..choice(&server, wire)
        };
        let began = Instant::now();
        let outcome = block_on(async { ask(&*connect(&choice).await.unwrap(), request(beginning())).await });
        let took = began.elapsed();
        assert!(took >= limits.first_byte && took < limits.connect, "{wire:?}: {took:?}");
        let said = outcome.end.unwrap_err().to_string();
        let seconds = limits.first_byte.as_secs_f32();
        assert!(
            said.contains("no data from") && said.ends_with(&format!("for {seconds} s")),
            "{said}"
        );
        // The body is sent in one piece, of a length that is told before.
        let record = server.record();
        let asked = &record.exchanges[0].request;
        let length = asked.body.len().to_string();
        assert_eq!(asked.header("content-length"), Some(length.as_str()), "{wire:?}");
        assert_eq!(asked.header("transfer-encoding"), None, "{wire:?}");
    }
}

#[test]
fn a_page_for_people_is_told_as_one() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>";
    match asked_of(page) {
        ModelError::Refused { said } => assert!(said.contains("check the API base URL"), "{said}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_answer_that_is_compressed_is_told_as_one() {
    let packed =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nxx";
    match asked_of(packed) {
        ModelError::Garbled { said } => assert!(said.contains("compressed"), "{said}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_that_only_gives_signs_of_life_is_given_up() {
    let short = Duration::from_millis(400);
    let limits = codelet_providers::TimeLimits {
        connect: short,
        first_byte: short,
        idle: short,
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    for ping in ["event: ping\ndata: {\"type\":\"ping\"}\n\n", ": alive\n\n"] {
        let choice = Choice {
            limits: Some(limits),
            ..pretender(head, ping)
        };
        let (error, took) = block_on(async {
            // Time passes with each sign of life, and not by itself while something is to be done.
            tokio::time::pause();
            let model = connect(&choice).await.unwrap();
            let mut stream = model.stream(request(beginning()));
            let began = tokio::time::Instant::now();
            let end = async {
                loop {
                    match stream.next().await.unwrap() {
                        Ok(_) => tokio::time::advance(short / 4).await,
                        Err(error) => return error,
                    }
                }
            };
            let idle = async {
                loop {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                error = end => (error, began.elapsed()),
                () = idle => unreachable!(),
            }
        });
        assert!(matches!(error, ModelError::Cut { .. }), "{error:?}");
        assert!(error.to_string().ends_with("for 4 s"), "{error}");
        assert!(took >= short * 10, "{took:?}");
    }
}

#[test]
fn what_cannot_be_reached_is_told_without_the_names_of_our_parts() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let gone = Choice {
        model: name(Wire::Anthropic).to_owned(),
        base_url: Some(format!("http://127.0.0.1:{port}")),
        key: Some(Secret::new(KEY)),
        ..Choice::default()
    };
    let unknown = Choice {
        base_url: Some("http://no-such-host.invalid".to_owned()),
        ..gone.clone()
    };
    let said = |choice: &Choice| {
        block_on(async { ask(&*connect(choice).await.unwrap(), request(beginning())).await })
            .end
            .unwrap_err()
            .to_string()
    };
    let advice = "check host and port, the network, and that the server is running";
    for (choice, place, why) in [
        (&gone, format!("127.0.0.1:{port}"), "connection refused"),
        (
            &unknown,
            "no-such-host.invalid:80".to_owned(),
            "failed to lookup address information",
        ),
    ] {
        let said = said(choice);
        assert!(said.contains(&format!("could not connect to {place} ({why}")), "{said}");
        assert!(said.ends_with(advice), "{said}");
    }
    let closed = asked_of("").to_string();
    assert!(
        closed.ends_with("failed (connection closed before message completed)"),
        "{closed}"
    );
}

#[test]
fn an_answer_is_whole_although_the_server_neither_ends_the_stream_nor_closes_it() {
    for wire in [Wire::Anthropic, Wire::Chat, Wire::Gemini] {
        let reply = || Reply::text("Hello there.").calls("Read", json!({"path": "a"}));
        let frames = wire.frames(&reply()).len();
        // Gemini has no frame that ends the stream; on the other wires that is the last one.
        let sent = if wire == Wire::Gemini { frames } else { frames - 1 };
        let server = Server::start(wire, Behaviour::replies([reply().failing(Fault::Stall(sent))]));
        // No wait is longer than the longest silence that is borne.
        let limits = codelet_providers::TimeLimits {
            connect: Duration::from_secs(20),
            first_byte: Duration::from_secs(20),
            idle: Duration::from_millis(500),
        };
        let choice = Choice {
            limits: Some(limits),
            ..choice(&server, wire)
        };
        let began = std::time::Instant::now();
        let outcome = block_on(async { ask(&*connect(&choice).await.unwrap(), request(beginning())).await });
        let reply = outcome.end.unwrap_or_else(|error| panic!("{wire:?}: {error:?}"));
        assert_eq!(reply.message.calls().count(), 1, "{wire:?}");
        assert!(reply.billed.usage.prompt() > 0, "{wire:?}");
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{wire:?}: {:?}",
            began.elapsed()
        );
    }
}

fn refused_for(said: &str) -> Reply {
    let body = json!({"error": {"type": "invalid_request_error", "message": said}});
    Reply::new().failing(Fault::Refuse(Refusal::status(400).body(body.to_string())))
}

#[test]
fn a_limit_that_a_gateway_wants_under_another_name_is_sent_so_from_then_on() {
    let said =
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    let server = Server::start(
        Wire::Chat,
        Behaviour::replies([refused_for(said), Reply::text("One."), Reply::text("Two.")]),
    );
    let choice = Choice {
        model: "gate/azure/gpt-5.1".to_owned(),
        window: Some(400_000),
        ..choice(&server, Wire::Chat)
    };
    block_on(async {
        let model = connect(&choice).await.unwrap();
        let first = ask(&*model, request(beginning())).await;
        assert!(
            matches!(&first.end, Err(ModelError::Rewritten { how, .. }) if how.contains("max_completion_tokens")),
            "{:?}",
            first.end
        );
        for _ in 0..2 {
            ask(&*model, request(beginning())).await.end.unwrap();
        }
    });
    let bodies: Vec<serde_json::Value> = server
        .record()
        .exchanges
        .iter()
        .map(|exchange| serde_json::from_slice(&exchange.request.body).unwrap())
        .collect();
    assert!(bodies[0].get("max_tokens").is_some());
    for body in &bodies[1..] {
        assert_eq!(body.get("max_tokens"), None);
        assert_eq!(body["max_completion_tokens"], bodies[0]["max_tokens"]);
    }
}

#[test]
fn what_a_vendor_names_of_the_conversation_is_found_in_it() {
    for (wire, path) in [
        (Wire::Anthropic, "messages.0.content.2.text"),
        (Wire::Chat, "messages[2].content"),
        (Wire::Responses, "input[1].content"),
        (Wire::Gemini, "contents[1].parts[0]"),
    ] {
        let found = error(wire, refused_for(&format!("{path}: this was flagged")));
        let ModelError::Rejected { suspects, .. } = found else {
            panic!("{wire:?}: {found:?}");
        };
        let is_of_the_prompt = |place: &codelet_context::conversation::PartPosition| place.message == 2;
        let is_named = matches!(&suspects, Suspects::Parts(places) if places.iter().all(is_of_the_prompt));
        assert!(is_named || suspects == Suspects::Unknown, "{wire:?}: {suspects:?}");
    }
}

#[test]
fn a_server_on_this_machine_has_longer_for_a_longer_prompt() {
    let server = Server::start(Wire::Chat, Behaviour::replies([]));
    let (short, long, endless) = block_on(async {
        let model = connect(&choice(&server, Wire::Chat)).await.unwrap();
        let first = |prompt| model.silence(prompt).unwrap().first.as_secs();
        (first(0), first(20_000), first(10_000_000))
    });
    assert_eq!((short, long, endless), (120, 780, 900));
    let named = Choice {
        limits: Some(codelet_providers::TimeLimits::CLOUD),
        ..choice(&server, Wire::Chat)
    };
    let model = block_on(connect(&named)).unwrap();
    assert_eq!(model.silence(20_000).unwrap().first, Duration::from_secs(60));
}
