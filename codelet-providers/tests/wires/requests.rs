//! What goes out: addresses, settings, marks, and a prefix that stays as it was.

use crate::kit::{ask, beginning, block_on, choice, model, request};
use codelet_agent::effort::{CacheAfter, Effort};
use codelet_agent::model::Request;
use codelet_context::message::{Message, Origin, Part, ReminderKind, Role, ToolResult};
use codelet_providers::{Choice, Thinking, connect};
use codelet_testkit::server::{Behaviour, Growth, Reply, Server, Wire};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use std::sync::Arc;

/// So many steps of a task, each with a call and its answer.
async fn work(server: &Server, wire: Wire, steps: usize) -> Request {
    let model = model(server, wire).await;
    let mut history = request(beginning());
    for step in 0..steps {
        history.edge = (step > 10).then(|| history.messages.len() - 6);
        let reply = ask(&*model, history.clone()).await.end.unwrap();
        let results: Vec<ToolResult> = reply
            .message
            .calls()
            .map(|call| ToolResult::new(call.id.clone(), Some(step % 3 > 0), "line\n".repeat(2_000)))
            .collect();
        history.messages.push(Arc::new(reply.message));
        history.messages.push(Arc::new(Message::results(results)));
    }
    history
}

fn step(number: usize) -> Reply {
    let reply = Reply::new()
        .thinks(format!("step {number}"))
        .says("Next.")
        .calls("Read", json!({"path": format!("{number}.rs")}));
    match number % 4 {
        0 => reply.calls("Bash", json!({"path": "ls"})),
        _ => reply,
    }
}

#[test]
fn fifty_requests_each_extend_the_one_before_and_break_no_rule() {
    for wire in Wire::ALL {
        let server = Server::start(
            wire,
            Behaviour::answering(|request| step(request.number)).binding_thinking(),
        );
        block_on(work(&server, wire, 50));
        let record = server.record();
        assert_eq!(record.faults(), "", "{wire:?}");
        for exchange in &record.exchanges[1..] {
            assert_eq!(exchange.growth, Growth::Extends, "{wire:?} {}", exchange.request.number);
        }
        // What one request sent, the next reads from the cache.
        let late = &record.exchanges[40..];
        for exchange in late {
            assert!(exchange.usage.hit_share() > 0.9, "{wire:?}: {:?}", exchange.usage);
        }
    }
}

/// The blocks that bear a mark: `system`, `tools`, or message and block.
fn marks(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let is_marked = |block: &Value| block.get("cache_control").is_some();
    for name in ["tools", "system"] {
        let blocks = body[name].as_array().into_iter().flatten();
        found.extend(blocks.filter(|block| is_marked(block)).map(|_| name.to_owned()));
    }
    for (at, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            if is_marked(block) {
                assert!(!block["type"].as_str().unwrap().contains("thinking"));
                found.push(format!("{at}.{index}"));
            }
        }
    }
    found
}

fn sent(choice: impl Fn(&Server) -> Choice, request: Request, wire: Wire) -> Value {
    let server = Server::start(wire, Behaviour::replies([Reply::text("ok")]));
    block_on(async {
        ask(&*connect(&choice(&server)).await.unwrap(), request)
            .await
            .end
            .unwrap()
    });
    let record = server.record();
    assert_eq!(record.faults(), "");
    record.exchanges[0].request.json().clone()
}

#[test]
fn marks_stand_after_the_system_prompt_the_reminders_the_edge_and_the_end() {
    let history = || {
        let mut messages = beginning();
        for number in 0..4 {
            let call = codelet_context::message::ToolCall::new(format!("t{number}"), "Read", Default::default());
            messages.push(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
            messages.push(Message::results(vec![ToolResult::new(
                format!("t{number}"),
                Some(true),
                "x",
            )]));
        }
        messages
    };
    let of = |edge, next_edit, messages: Vec<Message>| {
        let request = Request {
            edge,
            next_edit,
            ..request(messages)
        };
        marks(&sent(
            |server| choice(server, Wire::Anthropic),
            request,
            Wire::Anthropic,
        ))
    };
    // Reminders and prompt are one message on the wire, of which the second block is the last reminder.
    assert_eq!(of(Some(7), None, history()), ["system", "0.1", "4.0", "8.0"]);
    assert_eq!(of(None, None, history()), ["system", "0.1", "6.0", "8.0"]);
    assert_eq!(of(Some(0), None, beginning()), ["system", "0.1", "0.2"]);
    assert_eq!(of(None, None, vec![Message::user("hello")]), ["tools", "0.0"]);
    // Where the next edit is expected, the system prompt gives its mark away: it is read with the reminders.
    assert_eq!(of(Some(9), Some(7), history()), ["0.1", "4.0", "6.0", "8.0"]);
}

/// A session's first request: reminders of all four kinds in one message, and a prompt.
fn first_of_a_session(state: &str) -> Request {
    let reminder = |kind, text: &str| Part::text_from(Origin::Reminder(kind), text);
    let all = vec![
        reminder(ReminderKind::Instructions, &"A rule of this project.\n".repeat(1_000)),
        reminder(ReminderKind::Environment, "directory: /work"),
        reminder(ReminderKind::GitStatus, state),
        reminder(ReminderKind::TokenStatus, state),
    ];
    request(vec![
        Message::system("You are a careful engineer."),
        Message::new(Role::User, all),
        Message::user(format!("Look at what {state} says.")),
    ])
}

#[test]
fn the_mark_of_the_reminders_stands_before_those_that_change() {
    let body = sent(
        |server| choice(server, Wire::Anthropic),
        first_of_a_session("one"),
        Wire::Anthropic,
    );
    assert_eq!(marks(&body), ["system", "0.1", "0.4"]);
    let mut changing = first_of_a_session("one");
    Arc::make_mut(&mut changing.messages[1]).parts.drain(..2);
    let body = sent(|server| choice(server, Wire::Anthropic), changing, Wire::Anthropic);
    assert_eq!(marks(&body), ["system", "0.2"]);
}

#[test]
fn a_second_session_in_the_same_project_reads_the_stable_reminders_from_the_cache() {
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::replies([Reply::text("ok"), Reply::text("ok")]),
    );
    block_on(async {
        for state in ["a", "something longer"] {
            let model = model(&server, Wire::Anthropic).await;
            ask(&*model, first_of_a_session(state)).await.end.unwrap();
        }
    });
    let record = server.record();
    assert_eq!(record.faults(), "");
    let usage = record.exchanges[1].usage;
    assert!(usage.hit_share() > 0.9, "{usage:?}");
}

#[test]
fn a_conversation_without_a_mark_vendor_bears_none() {
    for wire in [Wire::Chat, Wire::Responses, Wire::Gemini] {
        let body = sent(|server| choice(server, wire), request(beginning()), wire);
        assert!(!body.to_string().contains("cache_control"), "{wire:?}");
        assert_eq!(body.get("prompt_cache_key").is_some(), wire != Wire::Gemini, "{wire:?}");
    }
}

#[test]
fn addresses_with_and_without_a_path_lead_to_the_same_place() {
    for wire in Wire::ALL {
        let version = if wire == Wire::Gemini { "v1beta" } else { "v1" };
        for path in [
            "".to_owned(),
            "/".to_owned(),
            format!("/{version}"),
            format!("/{version}/"),
        ] {
            sent(
                |server| Choice {
                    base_url: Some(format!("{}{path}", server.url())),
                    ..choice(server, wire)
                },
                request(beginning()),
                wire,
            );
        }
    }
}

#[test]
fn thinking_is_asked_for_in_each_models_own_way() {
    let body = |wire, model: &str, thinking: Thinking| {
        let model = model.to_owned();
        let choice = move |server: &Server| Choice {
            model: model.clone(),
            thinking: thinking.clone(),
            ..choice(server, wire)
        };
        sent(choice, request(beginning()), wire)
    };
    let effort = || Thinking::Effort("high".to_owned());
    let adaptive = body(Wire::Anthropic, "anthropic/claude-opus-5-5", effort());
    assert_eq!(
        (&adaptive["thinking"]["type"], &adaptive["output_config"]["effort"]),
        (&json!("adaptive"), &json!("high"))
    );
    let budget = body(Wire::Anthropic, "anthropic/claude-haiku-4-5", Thinking::Budget(4_000));
    assert_eq!(budget["thinking"], json!({"type": "enabled", "budget_tokens": 4_000}));
    assert_eq!(
        body(Wire::Anthropic, "anthropic/claude-haiku-4-5", Thinking::Usual).get("thinking"),
        None
    );
    let responses = body(Wire::Responses, "openai/gpt-5.4", effort());
    assert_eq!(
        (&responses["reasoning"]["effort"], &responses["store"]),
        (&json!("high"), &json!(false))
    );
    let level = body(Wire::Gemini, "gemini/gemini-3.6-flash", effort());
    assert_eq!(level["generationConfig"]["thinkingConfig"]["thinkingLevel"], "high");
}

#[test]
fn an_effort_changes_nothing_of_a_request_but_how_much_is_thought() {
    for (wire, model, path, asked) in [
        (
            Wire::Anthropic,
            "anthropic/claude-sonnet-5-5",
            "/output_config/effort",
            json!("low"),
        ),
        (
            Wire::Anthropic,
            "anthropic/claude-sonnet-4-5",
            "/thinking/budget_tokens",
            json!(2_048),
        ),
        (Wire::Responses, "openai/gpt-5.4", "/reasoning/effort", json!("low")),
        (Wire::Chat, "openai-chat/gpt-5.4", "/reasoning_effort", json!("low")),
        (Wire::Chat, "openrouter/z-ai/glm-5", "/reasoning/effort", json!("low")),
        (
            Wire::Chat,
            "deepseek/deepseek-v4-pro",
            "/reasoning_effort",
            json!("low"),
        ),
        (Wire::Chat, "my-server-model", "/reasoning_effort", json!("low")),
        (
            Wire::Gemini,
            "gemini/gemini-3.8-flash",
            "/generationConfig/thinkingConfig/thinkingLevel",
            json!("low"),
        ),
        (
            Wire::Gemini,
            "gemini/gemini-2.5-pro",
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(1_024),
        ),
    ] {
        let server = Server::start(wire, Behaviour::replies([Reply::text("one"), Reply::text("two")]));
        let choice = Choice {
            model: model.to_owned(),
            ..choice(&server, wire)
        };
        block_on(async {
            let usual = connect(&choice).await.unwrap();
            let low = usual.with_effort(Some(Effort::Low)).unwrap();
            assert_eq!((usual.effort(), low.effort()), (None, Some(Effort::Low)));
            for model in [usual, low] {
                model.stream(request(beginning())).collect::<Vec<_>>().await;
            }
        });
        let record = server.record();
        let [usual, low] = [0, 1].map(|at| record.exchanges[at].request.json());
        assert_eq!(low.pointer(path), Some(&asked), "{model}");
        assert_ne!(usual.pointer(path), Some(&asked), "{model}");
        // What the provider's cache is made of comes as before.
        let fields = usual.as_object().unwrap();
        for (name, value) in fields
            .iter()
            .filter(|(name, _)| !name.contains("hinking") && *name != "generationConfig")
        {
            assert_eq!(low[name.as_str()], *value, "{model}: {name}");
        }
    }
}

#[test]
fn an_effort_that_a_model_does_not_take_is_not_asked_for() {
    let server = Server::start(Wire::Chat, Behaviour::replies([]));
    let model = |model: &str| {
        let choice = Choice {
            model: model.to_owned(),
            ..choice(&server, Wire::Chat)
        };
        block_on(async { connect(&choice).await.unwrap() })
    };
    assert!(model("openai-chat/gpt-4.1").with_effort(Some(Effort::Low)).is_none());
    assert!(model("openai-chat/gpt-5.1").with_effort(Some(Effort::Max)).is_none());
    assert!(model("my-server-model").with_effort(Some(Effort::None)).is_none());
    // The default can always be gone back to.
    assert!(model("openai-chat/gpt-4.1").with_effort(None).is_some());
    let anthropic = model("anthropic/claude-opus-4-8");
    assert_eq!(anthropic.cache_after(Some(Effort::Max)), CacheAfter::Kept);
    assert_eq!(anthropic.cache_after(Some(Effort::None)), CacheAfter::Lost);
    assert_eq!(
        model("openai-chat/gpt-5.4").cache_after(Some(Effort::Low)),
        CacheAfter::Lost
    );
    assert_eq!(
        model("deepseek/deepseek-v4-pro").cache_after(Some(Effort::Max)),
        CacheAfter::Unknown
    );
}

#[test]
fn a_window_is_asked_of_the_server_where_nobody_knows_it() {
    let connected = |model: &str, behaviour: Behaviour| {
        let server = Server::start(Wire::Chat, behaviour);
        let choice = Choice {
            model: model.to_owned(),
            ..choice(&server, Wire::Chat)
        };
        let profile = block_on(async { connect(&choice).await.unwrap().profile().clone() });
        (profile, server.record().others.len())
    };
    let (profile, asked) = connected("llamacpp/some.gguf", Behaviour::replies([]).listing_window(16_384));
    assert_eq!((profile.window, profile.is_unknown, asked), (16_384, false, 1));
    assert!(profile.max_output <= 4_096);
    let loading = Behaviour::replies([]).listing_window(16_384).loading(2);
    let (profile, asked) = connected("llamacpp/some.gguf", loading);
    assert_eq!((profile.window, profile.is_unknown, asked), (16_384, false, 3));
    // A slip in a listed name is not the name of the server's only model.
    let (profile, _) = connected("openai-chat/gpt-5.44", Behaviour::replies([]).listing_window(16_384));
    assert!(profile.is_unknown && profile.window != 16_384, "{profile:?}");
    let (profile, _) = connected("some.gguf", Behaviour::replies([]));
    assert!(profile.is_unknown && profile.window >= 100_000);
    let (profile, asked) = connected("openai-chat/gpt-5.4", Behaviour::replies([]));
    assert_eq!((profile.window, profile.is_unknown, asked), (1_050_000, false, 0));
}
