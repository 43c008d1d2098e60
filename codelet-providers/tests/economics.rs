//! A live session against a provider that keeps a prefix cache by the vendors' rules: every break of the prefix is planned,
//! and costs what was predicted.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use codelet_agent::environment::Nowhere;
use codelet_agent::event::Event;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::ToolSpec;
use codelet_agent::permission::{Permission, Rules};
use codelet_agent::run::Ending;
use codelet_agent::session::{Parts, Session, Settings};
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::breaks::{Break, Cause};
use codelet_context::message::{Action, Parameters};
use codelet_context::policy::Reason;
use codelet_providers::{Choice, Secret, connect};
use codelet_testkit::server::{Behaviour, Clock, Reply, Server, Wire};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// A tool whose every output is unlike any other.
struct Look(ToolSpec);

impl Look {
    fn tool() -> Arc<dyn Tool> {
        Arc::new(Look(ToolSpec {
            name: "Look".into(),
            description: "Looks at something.".into(),
            parameters: json!({"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}),
        }))
    }
}

impl Tool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn action(&self, parameters: &Parameters) -> Action {
        Action::command(parameters.str("at").unwrap_or_default())
    }
    fn is_read_only(&self) -> bool {
        true
    }
    fn needs(&self, _: &Parameters) -> Result<Vec<Need>, String> {
        Ok(Vec::new())
    }
    fn describe(&self, parameters: &Parameters) -> String {
        parameters.str("at").unwrap_or_default().to_owned()
    }
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let at = call.parameters.str("at").unwrap_or_default();
            let seed: u64 = at
                .split(' ')
                .next_back()
                .and_then(|number| number.parse().ok())
                .unwrap_or(0);
            Output::success(text(seed, 2_800))
        })
    }
}

/// Text unlike any other, of so many bytes.
fn text(seed: u64, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 40);
    let mut number = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    while text.len() < bytes {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        text.push_str(&format!(
            "line {} of {:x}: {}\n",
            number >> 54,
            number >> 34,
            number % 9_973
        ));
    }
    text
}

/// A server that lets the agent make 300 requests for two prompts.
fn server(wire: Wire, clock: &Clock) -> Server {
    let mut step = 0;
    let behaviour = Behaviour::answering(move |_| {
        step += 1;
        match step {
            150 | 300 => Reply::text("Done."),
            _ => Reply::call("Look", json!({ "at": format!("place {step}") })),
        }
    });
    Server::start(wire, behaviour.clock(clock))
}

/// The two prompts; between them the cache expires.
async fn session(server: &Server, clock: &Clock, model: &str) -> Session {
    let choice = Choice {
        model: model.to_owned(),
        base_url: Some(server.base()),
        key: Some(Secret::new("sk-test-0123456789abcdef")),
        ..Choice::default()
    };
    let parts = Parts {
        model: connect(&choice).await.unwrap().into(),
        tools: vec![Look::tool()],
        gate: Arc::new(Rules {
            permission: Permission::All,
            ..Rules::default()
        }),
        world: Arc::new(Nowhere),
    };
    let mut session = Session::new(parts, Settings::default());
    // Sessions begin with about 40,000 tokens.
    let first = format!("Look at everything.\n{}", text(1_000_000, 150_000));
    for prompt in [first.as_str(), "Look again."] {
        let ending = session
            .prompt(prompt.into(), &Interrupt::new(), &mut |_: Event| {})
            .await;
        assert_eq!(ending, Ending::Answered("Done.".to_owned()));
        // The user is away for longer than any of these caches lives, by both clocks.
        clock.advance(Duration::from_secs(700));
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(700)).await;
        tokio::time::resume();
    }
    session
}

#[test]
fn over_300_steps_every_break_is_planned_and_costs_what_was_predicted() {
    for (wire, model) in [
        (Wire::Anthropic, "anthropic/claude-opus-5-5"),
        (Wire::Anthropic, "anthropic/claude-sonnet-4-6"),
        (Wire::Responses, "openai/gpt-5.2"),
    ] {
        let clock = Clock::new();
        let server = server(wire, &clock);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        let session = runtime.block_on(session(&server, &clock, model));
        let record = server.record();
        assert_eq!(record.faults(), "");
        assert_eq!(record.exchanges.len(), 300);
        let breaks = session.conversation().breaks();
        assert!(
            breaks.iter().all(|it| it.cause != Cause::Unplanned),
            "{model}: {breaks:#?}"
        );
        let edits = breaks.iter().filter(|it| it.is_edit()).count();
        assert!(edits >= 3, "{model}: {breaks:#?}");
        let cold = breaks.iter().filter(|it| it.request == 151);
        let causes: Vec<Cause> = cold.map(|it| it.cause).collect();
        assert!(
            matches!(causes.as_slice(), [Cause::Edit(Reason::Cold) | Cause::Expired]),
            "{model}: {causes:?}"
        );
        // The first request writes everything, and so does the one after the cache has expired.
        let warm = record
            .exchanges
            .iter()
            .enumerate()
            .filter(|(at, _)| ![0, 150].contains(at));
        let (read, prompt) = warm.fold((0, 0), |(read, prompt), (_, exchange)| {
            (read + exchange.usage.cache_read, prompt + exchange.usage.prompt())
        });
        let share = read as f64 / prompt as f64;
        let off = |it: &Break| (it.predicted / it.actual.unwrap() - 1.0).abs();
        let predicted: f64 = breaks.iter().map(|it| it.predicted).sum();
        let actual: f64 = breaks.iter().filter_map(|it| it.actual).sum();
        let furthest = breaks.iter().map(off).fold(0.0, f64::max);
        eprintln!(
            "{model}: {} edits, 0 unplanned breaks, {:.2} % of warm prompts read, ${:.3} predicted and ${:.3} billed for breaks, \
             the furthest off by {:.1} %",
            edits,
            share * 100.0,
            predicted,
            actual,
            furthest * 100.0
        );
        assert!(share >= 0.97, "{model}: {share}");
        assert!((predicted / actual - 1.0).abs() <= 0.05, "{model}: {breaks:#?}");
        // OpenAI's cache ends at a multiple of 128 tokens, before an edit and behind it; what lies between is billed as new.
        let card = session.model().profile().price.clone().unwrap();
        let blocks = match wire {
            Wire::Responses => 2.0 * 128.0 * (card.rates.input - card.rates.cache_read) / 1e6,
            _ => 0.0,
        };
        let is_far = |it: &&Break| off(it) > 0.05 && (it.predicted - it.actual.unwrap()).abs() > blocks;
        let far: Vec<_> = breaks.iter().filter(is_far).collect();
        assert!(far.is_empty(), "{model}: {far:#?} of {breaks:#?}");
        // Whatever breaks the prefix on the wire is an edit of the conversation.
        assert_eq!(session.conversation().edits().len(), edits);
    }
}
