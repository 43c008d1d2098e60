//! Runs of rig's agents against providers that enforce a window.
#![allow(clippy::unwrap_used)]

use codelet_rig::{CompactionHook, Settings};
use codelet_testkit::server::{Behaviour, Growth, Record, Reply, Request, Server, Window, Wire};
use futures_util::StreamExt as _;
use rig_agent::prelude::*;
use rig_core::memory::{ConversationMemory, InMemoryConversationMemory};
use rig_core::operation::Completion;
use rig_core::providers::anthropic::wire::AnthropicConfig;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::tool::PortableTool;
use serde_json::{Value, json};
use std::convert::Infallible;

const WINDOW: u64 = 32_000;

struct Look;

impl PortableTool for Look {
    const NAME: &'static str = "look";
    type Args = Value;
    type Output = String;
    type Error = Infallible;

    fn description(&self) -> String {
        "Looks at a part.".to_owned()
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {"part": {"type": "integer"}}})
    }

    async fn call(&self, asked: Value) -> Result<String, Infallible> {
        Ok((0..100)
            .map(|line| format!("part {} has in line {line} a word\n", asked["part"]))
            .collect())
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn model(server: &Server, wire: Wire) -> DynModel<Completion> {
    // A second one of the same process finds it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().tls_certs_only([]).build().unwrap();
    let client = rig_reqwest::ReqwestClient::from(client);
    let base_url = server.base();
    match wire {
        Wire::Anthropic => {
            let mut config = AnthropicConfig::new("key");
            config.base_url = base_url;
            config.connect(client).completion("claude-opus-5-5").into()
        }
        _ => {
            let mut config = OpenAIConfig::new("key");
            config.base_url = base_url;
            let client = config.connect(client);
            match wire {
                Wire::Responses => client.responses("gpt-5.2").into(),
                _ => client.chat("model").into(),
            }
        }
    }
}

fn agent(
    server: &Server,
    wire: Wire,
    hook: Option<CompactionHook>,
) -> AgentBuilder<rig_agent::agent::WithBuilderTools> {
    let builder = AgentBuilder::new(model(server, wire))
        .preamble("Look.")
        .max_tokens(1_000)
        .default_max_turns(300);
    match hook {
        Some(hook) => builder.tool(Look).tool(hook.recall()).add_hook(hook),
        None => builder.tool(Look),
    }
}

/// A hundred looks for each prompt, thought about before.
fn looking(request: &Request) -> Reply {
    match request.answered % 101 {
        100 => Reply::text("Seen."),
        step => Reply::new()
            .thinks(format!("On to {step}."))
            .calls("look", json!({ "part": step })),
    }
}

fn none_refused(record: &Record, requests: usize) {
    assert_eq!(record.faults(), "");
    assert_eq!(record.exchanges.len(), requests);
    assert_eq!(record.accepted().count(), requests, "requests were refused");
}

#[test]
fn a_hundred_steps_stay_within_a_window_on_every_wire_and_by_whatever_tokenizer() {
    for (wire, density) in [(Wire::Chat, 2.2), (Wire::Responses, 1.0), (Wire::Anthropic, 1.5)] {
        let behaviour = Behaviour::answering(looking)
            .window(Window::of(WINDOW))
            .binding_thinking();
        let server = Server::start(wire, behaviour.tokens_per_four_bytes(density));
        let hook = CompactionHook::new(Settings::window(WINDOW));
        let agent = agent(&server, wire, Some(hook)).build();
        let answer = run(async { agent.prompt("Look at all parts.").await }).unwrap();
        assert_eq!(answer.output(), "Seen.", "{wire:?}");
        let record = server.record();
        none_refused(&record, 101);
        let breaks = record
            .exchanges
            .iter()
            .filter(|it| matches!(it.growth, Growth::Breaks(_)))
            .count();
        assert!((2..25).contains(&breaks), "{wire:?}: {breaks}");
    }
}

#[test]
fn a_run_that_is_streamed_stays_within_the_window_too() {
    let server = Server::start(Wire::Chat, Behaviour::answering(looking).window(Window::of(WINDOW)));
    let hook = CompactionHook::new(Settings::window(WINDOW));
    let agent = agent(&server, Wire::Chat, Some(hook)).build();
    run(async {
        let mut events = agent.prompt("Look at all parts.").stream();
        while let Some(event) = events.next().await {
            event.unwrap();
        }
    });
    none_refused(&server.record(), 101);
}

#[test]
fn without_the_hook_the_same_run_is_refused() {
    let server = Server::start(Wire::Chat, Behaviour::answering(looking).window(Window::of(WINDOW)));
    let agent = agent(&server, Wire::Chat, None).build();
    assert!(run(async { agent.prompt("Look at all parts.").await }).is_err());
}

#[test]
fn a_second_run_of_a_conversation_goes_on_where_the_first_ended_and_the_memory_has_all_of_it() {
    let server = Server::start(Wire::Chat, Behaviour::answering(looking).window(Window::of(WINDOW)));
    let hook = CompactionHook::new(Settings::window(WINDOW));
    let memory = InMemoryConversationMemory::new();
    let agent = agent(&server, Wire::Chat, Some(hook)).memory(memory.clone()).build();
    run(async {
        agent.prompt("Look at all parts.").conversation("one").await.unwrap();
        agent.prompt("And again.").conversation("one").await.unwrap();
    });
    let record = server.record();
    none_refused(&record, 202);
    // The first request of the second run extends the last one of the first.
    assert_eq!(record.exchanges[101].growth, Growth::Extends);
    assert_eq!(run(memory.load(&"one".into())).unwrap().len(), 2 * 202);
}

#[test]
fn what_left_one_run_is_read_back_by_it_and_by_no_other() {
    // Each run looks at parts of its own; at its end it asks for what was in them first, and for the other's under any number.
    let answer = |request: &Request| {
        let first = request.user_texts().iter().any(|text| text.contains("first"));
        let base = if first { 0 } else { 1_000 };
        match request.answered % 62 {
            step if step < 60 => Reply::call("look", json!({ "part": base + step })),
            60 => Reply::new()
                .calls("Recall", json!({ "search": format!("part {base} has in line 99") }))
                .calls(
                    "Recall",
                    json!({ "search": format!("part {} has in line 99", 1_000 - base), "run": 0 }),
                ),
            _ => Reply::text("Seen."),
        }
    };
    let server = Server::start(Wire::Chat, Behaviour::answering(answer).window(Window::of(WINDOW)));
    let hook = CompactionHook::new(Settings::window(WINDOW));
    let agent = agent(&server, Wire::Chat, Some(hook)).build();
    run(async {
        agent.prompt("The first parts.").await.unwrap();
        agent.prompt("The other parts.").await.unwrap();
    });
    let record = server.record();
    none_refused(&record, 124);
    for last in [61, 123] {
        let results = record.exchanges[last].request.results();
        let [(_, own), (_, other)] = results[results.len() - 2..] else {
            panic!()
        };
        assert!(own.contains("has in line 99"), "{own}");
        assert!(other.contains("nothing that was removed"), "{other}");
    }
}
