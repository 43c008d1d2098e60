//! What the tests share: a model that asks a server on loopback, and what comes of one request.

use codelet_agent::model::{Billed, Delta, Model, ModelError, Reply, Request, ToolSpec};
use codelet_context::message::{Message, Origin, Part, ReminderKind, Role};
use codelet_providers::{Choice, Secret, TimeLimits, connect};
use codelet_testkit::server::{Server, Wire};
use futures_util::StreamExt;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// A key that must be seen nowhere.
pub const KEY: &str = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz";

/// Runs a future on a runtime of its own.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

/// The vendor and model that talk on a wire, with prices and a window that are known.
pub fn name(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "anthropic/claude-opus-5-5",
        Wire::Chat => "openai-chat/gpt-5.4",
        Wire::Responses => "openai/gpt-5.4",
        Wire::Gemini => "gemini/gemini-3.6-flash",
    }
}

pub fn choice(server: &Server, wire: Wire) -> Choice {
    Choice {
        model: name(wire).to_owned(),
        base_url: Some(server.base()),
        key: Some(Secret::new(KEY)),
        ..Choice::default()
    }
}

pub async fn model(server: &Server, wire: Wire) -> Box<dyn Model> {
    connect(&choice(server, wire)).await.unwrap()
}

/// A model with little patience once it is connected.
pub async fn hasty(server: &Server, wire: Wire) -> Box<dyn Model> {
    let short = Duration::from_millis(80);
    let limits = Some(TimeLimits {
        connect: Duration::from_secs(20),
        first_byte: short,
        idle: short,
    });
    connect(&Choice {
        limits,
        ..choice(server, wire)
    })
    .await
    .unwrap()
}

pub fn tools() -> Arc<[ToolSpec]> {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "Does what its name says.".into(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
    };
    Arc::from([tool("Read"), tool("Bash")])
}

pub fn request(messages: Vec<Message>) -> Request {
    Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: tools(),
        max_output: None,
        edge: None,
        next_edit: None,
        session: "session-1".into(),
    }
}

/// System prompt, reminders and a prompt, as a session begins.
pub fn beginning() -> Vec<Message> {
    let reminder = |kind, text: &str| Part::text_from(Origin::Reminder(kind), text);
    vec![
        Message::system("You are a careful engineer."),
        Message::new(
            Role::User,
            vec![
                reminder(ReminderKind::Instructions, "Write tests."),
                reminder(ReminderKind::Environment, "Directory /work."),
            ],
        ),
        Message::user("Make the failing test pass."),
    ]
}

/// Everything that came of one request.
#[derive(Debug)]
pub struct Outcome {
    pub text: String,
    pub thinking: String,
    pub calls: Vec<String>,
    pub billed: Vec<Billed>,
    pub end: Result<Reply, ModelError>,
}

pub async fn ask(model: &dyn Model, request: Request) -> Outcome {
    let mut stream = model.stream(request);
    let mut outcome = Outcome {
        text: String::new(),
        thinking: String::new(),
        calls: Vec::new(),
        billed: Vec::new(),
        end: Err(ModelError::Garbled {
            said: "nothing came".to_owned(),
        }),
    };
    let mut is_over = false;
    while let Some(item) = stream.next().await {
        assert!(!is_over, "something came after the end: {item:?}");
        match item {
            Ok(Delta::Text(text)) => outcome.text.push_str(&text),
            Ok(Delta::Thinking(text)) => outcome.thinking.push_str(&text),
            Ok(Delta::Call { tool }) => outcome.calls.push(tool),
            Ok(Delta::Billed(billed)) => outcome.billed.push(billed),
            Ok(Delta::Alive) => {}
            Ok(Delta::Done(reply)) => {
                outcome.end = Ok(reply);
                is_over = true;
            }
            Err(error) => {
                outcome.end = Err(error);
                is_over = true;
            }
        }
    }
    assert!(is_over, "the stream ended without a reply and without an error");
    outcome
}
