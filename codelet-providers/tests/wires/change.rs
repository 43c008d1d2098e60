//! A session that goes on with another model: each model is sent what it can check, and nothing that another one signed.

use crate::kit::{block_on, choice, name};
use codelet_agent::environment::Nowhere;
use codelet_agent::event::Event;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::{Model, ToolSpec};
use codelet_agent::permission::{Permission, Rules};
use codelet_agent::run::Ending;
use codelet_agent::session::{Parts, Session, Settings};
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::Parameters;
use codelet_providers::{Choice, connect};
use codelet_testkit::server::{Behaviour, Growth, Reply, Server, Wire};
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::Arc;

/// A tool that answers with its own name.
struct Look(ToolSpec);

impl Tool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn is_read_only(&self) -> bool {
        true
    }
    fn needs(&self, _: &Parameters) -> Result<Vec<Need>, String> {
        Ok(Vec::new())
    }
    fn describe(&self, _: &Parameters) -> String {
        String::new()
    }
    fn call<'a>(&'a self, _: Call<'a>) -> Pin<Box<dyn Future<Output = Output> + Send + 'a>> {
        Box::pin(async { Output::success("looked") })
    }
}

fn session(model: Box<dyn Model>) -> Session {
    let look = Look(ToolSpec {
        name: "Look".into(),
        description: "Looks.".into(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    });
    let parts = Parts {
        model: model.into(),
        tools: vec![Arc::new(look)],
        gate: Arc::new(Rules {
            permission: Permission::Edit,
            allow: Vec::new(),
            deny: Vec::new(),
        }),
        world: Arc::new(Nowhere),
    };
    Session::new(parts, Settings::default())
}

async fn prompt(session: &mut Session, words: &str) -> Ending {
    let mut listener = |_: Event| ();
    session.prompt(words.into(), &Interrupt::new(), &mut listener).await
}

/// Thinks, says and calls, as whoever it is; then ends.
fn works(wire: Wire, whose: &'static str) -> Behaviour {
    Behaviour::answering(move |request| {
        let number = request.number;
        let reply = Reply::new().thinks(format!("thought of {whose} {number}"));
        let begun = reply.clone().says(format!("words of {whose} {number}"));
        match (number % 2, wire) {
            // An id as some servers of this form make them, which other vendors do not take.
            (0, Wire::Chat) => begun.calls_as(format!("functions.Look:{number}"), "Look", json!({"path": whose})),
            (0, _) => begun.calls("Look", json!({ "path": whose })),
            _ => reply.says(format!("end of {whose} {number}")),
        }
    })
    .binding_thinking()
}

/// Every text of a request that holds any of these words.
fn holds(body: &Value, words: &str) -> bool {
    body.to_string().contains(words)
}

/// A session that works with the first model, then with the second, then with the first again.
fn there_and_back(first: (Wire, &str), second: (Wire, &str)) {
    let [one, two] = [(first.0, "the first"), (second.0, "the second")].map(|(wire, whose)| {
        let behaviour = works(wire, whose);
        Server::start(wire, behaviour)
    });
    block_on(async {
        let model = async |server: &Server, (wire, name): (Wire, &str)| {
            let choice = Choice {
                model: name.to_owned(),
                ..choice(server, wire)
            };
            connect(&choice).await.unwrap()
        };
        let mut session = session(model(&one, first).await);
        let told = prompt(&mut session, "Begin.").await;
        assert!(matches!(told, Ending::Answered(_)), "{first:?}: {told}");
        session.change_model(model(&two, second).await);
        let told = prompt(&mut session, "Go on.").await;
        assert!(matches!(told, Ending::Answered(_)), "{first:?} then {second:?}: {told}");
        session.change_model(model(&one, first).await);
        let told = prompt(&mut session, "End.").await;
        assert!(matches!(told, Ending::Answered(_)), "{second:?} then {first:?}: {told}");
    });
    let (one, two) = (one.record(), two.record());
    let pair = format!("{first:?} then {second:?}");
    assert_eq!(one.faults(), "", "{pair}");
    assert_eq!(two.faults(), "", "{pair}");
    let sent = two.exchanges[0].request.json();
    assert!(
        holds(sent, "words of the first") && holds(sent, "end of the first"),
        "{pair}: {sent}"
    );
    assert!(holds(sent, "looked") && holds(sent, "\"Look\""), "{pair}: {sent}");
    assert!(!holds(sent, "thought of the first"), "{pair}: {sent}");
    for field in [
        "reasoning_content", "reasoning\"", "signature", "thoughtSignature", "encrypted_content\":\"",
    ] {
        assert!(!holds(sent, field), "{pair}: {field} in {sent}");
    }
    assert_eq!(two.exchanges[1].growth, Growth::Extends, "{pair}");
    let back = one.exchanges[2].request.json();
    assert!(holds(back, "words of the second"), "{pair}: {back}");
    assert!(!holds(back, "thought of the second"), "{pair}: {back}");
    // What the first has thought itself it gets back as before.
    let earlier = one.exchanges[1].request.json();
    assert_eq!(
        holds(earlier, "thought of the first 0"),
        holds(back, "thought of the first 0"),
        "{pair}: {back}"
    );
}

#[test]
fn every_vendor_goes_on_with_what_any_other_has_begun() {
    for first in Wire::ALL {
        for second in Wire::ALL.into_iter().filter(|second| *second != first) {
            there_and_back((first, name(first)), (second, name(second)));
        }
    }
}

#[test]
fn another_model_of_the_same_vendor_is_not_sent_the_first_ones_thinking() {
    for (wire, other) in [
        (Wire::Anthropic, "anthropic/claude-haiku-4-5"),
        (Wire::Responses, "openai/gpt-5.4-mini"),
        (Wire::Gemini, "gemini/gemini-3.1-pro"),
        (Wire::Chat, "ollama/qwen3"),
    ] {
        there_and_back((wire, name(wire)), (wire, other));
    }
}
