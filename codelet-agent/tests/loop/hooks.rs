//! The answers of hooks to events, and their effects.

use crate::common::{Stage, calls, costing, profile, says};
use codelet_agent::event::Event;
use codelet_agent::hooks::{Hooks, Objection, Occasion, Said};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::run::Ending;
use codelet_agent::scripted::Scripted;
use codelet_agent::session::Settings;
use codelet_context::message::Message;
use futures_util::future::{self, BoxFuture};
use std::sync::{Arc, Mutex};

/// Hooks that give the test's answers, and record the names of the events.
#[derive(Default)]
struct Says {
    denies: Vec<&'static str>,
    context: Vec<&'static str>,
    /// The event at which it waits for an interruption before it answers.
    hangs: &'static str,
    told: Mutex<Vec<String>>,
}

impl Hooks for Says {
    fn tell<'a>(&'a self, occasion: Occasion<'a>, interrupt: &'a Interrupt) -> BoxFuture<'a, Said> {
        let name = occasion.name();
        let told = match occasion {
            Occasion::SessionStart { source } => format!("{name} {source}"),
            Occasion::PreCompact { reason, .. } | Occasion::PostCompact { reason, .. } => format!("{name} {reason}"),
            _ => name.to_owned(),
        };
        self.told.lock().unwrap().push(told);
        let said = Said {
            objection: self
                .denies
                .contains(&name)
                .then(|| Objection::Deny("not now".to_owned())),
            context: self
                .context
                .iter()
                .filter(|of| **of == name)
                .map(|_| "remember the tests".to_owned())
                .collect(),
            notices: Vec::new(),
        };
        match self.hangs == name {
            true => Box::pin(async move {
                interrupt.thrown().await;
                Said::default()
            }),
            false => Box::pin(future::ready(said)),
        }
    }

    fn notify(&self, _: Occasion<'_>) {}
}

fn told(hooks: &Says) -> Vec<String> {
    hooks.told.lock().unwrap().clone()
}

#[tokio::test]
async fn a_compaction_that_must_be_is_made_whatever_a_hook_says_and_others_are_not() {
    let hooks = Arc::new(Says {
        denies: vec!["PreCompact"],
        context: vec!["PostCompact"],
        ..Says::default()
    });
    let mut step = 0;
    let model = Scripted::by(profile(30_000), move |request| {
        step += 1;
        let tokens = request
            .messages
            .iter()
            .map(|m| codelet_context::tokens::estimate_message(m))
            .sum();
        match step {
            40 => costing(says("Done."), tokens, 5),
            _ => costing(calls("Look", &[&format!("print {}", 9_000 + step)]), tokens, 30),
        }
    });
    let mut stage = Stage::of(model, Settings::default());
    stage.session.hooked_by(hooks.clone());
    assert_eq!(
        stage.prompt("Read everything.").await,
        Ending::Answered("Done.".to_owned())
    );
    let made = stage
        .heard
        .iter()
        .filter(|event| matches!(event, Event::Compacted { .. }))
        .count();
    let said = told(&hooks);
    let times = |what: &str| said.iter().filter(|told| *told == what).count();
    assert!(made >= 2, "{said:?}");
    assert_eq!(
        [
            times("PreCompact full"),
            times("PostCompact full"),
            times("SessionStart compact")
        ],
        [made; 3]
    );
    assert_eq!(times("SessionStart startup"), 1);
    // Text of hooks is appended to what was sent: requests still extend each other.
    assert_eq!(stage.check_requests(), made);
    let last = stage.asked(39);
    let words = "A PostCompact hook says this";
    assert!(last.iter().any(|message| format!("{message:?}").contains(words)));

    let before = stage.session.conversation().view().clone();
    let mut notices = Vec::new();
    let mut listen = |event| {
        if let Event::Notice(notice) = event {
            notices.push(notice);
        }
    };
    assert!(
        stage
            .session
            .compact(None, &Interrupt::new(), &mut listen)
            .await
            .is_ok()
    );
    assert_eq!(stage.session.conversation().view().messages, before.messages);
    assert_eq!(
        notices,
        ["a PreCompact hook blocked the compaction; the conversation is unchanged: not now"]
    );
}

#[tokio::test]
async fn a_call_whose_hook_was_interrupted_is_not_made_and_has_its_answer() {
    let hooks = Arc::new(Says {
        hangs: "PreToolUse",
        ..Says::default()
    });
    let model = Scripted::new(profile(200_000), [calls("Do", &["made"]), says("Well.")]);
    let mut stage = Stage::of(model, Settings::default());
    stage.session.hooked_by(hooks.clone());
    let interrupt = Interrupt::new();
    let throw = interrupt.clone();
    let mut finished = Vec::new();
    let mut listen = |event| match event {
        Event::ToolStarted { .. } => throw.throw(),
        Event::ToolFinished { stopped, .. } => finished.push(stopped),
        _ => {}
    };
    let ending = stage.session.prompt("Do it.".into(), &interrupt, &mut listen).await;
    assert_eq!(ending, Ending::Interrupted);
    assert_eq!(finished, [Some(codelet_agent::event::Stopped::NotRun)]);
    assert!(!told(&hooks).contains(&"PostToolUse".to_owned()));
    let said = stage.session.conversation().history().messages();
    let result = said.iter().flat_map(|message| message.tool_results()).next().unwrap();
    assert!(format!("{result:?}").contains("not run: interrupted"), "{result:?}");
}

#[tokio::test]
async fn a_prompt_that_was_refused_is_nowhere_and_the_next_one_is_answered() {
    let refusing = Arc::new(Says {
        denies: vec!["UserPromptSubmit"],
        ..Says::default()
    });
    let model = Scripted::new(profile(200_000), [says("Hello."), says("Well.")]);
    let mut stage = Stage::of(model, Settings::default());
    assert_eq!(stage.prompt("Hello?").await, Ending::Answered("Hello.".to_owned()));
    let before = stage.session.conversation().view().clone();
    stage.session.hooked_by(refusing);
    assert_eq!(
        stage.prompt("My number is 4.").await,
        Ending::Blocked("not now".to_owned())
    );
    assert!(matches!(stage.heard.last(), Some(Event::Over(Ending::Blocked(_)))));
    assert_eq!(stage.session.conversation().view().messages, before.messages);
    // There is nothing to retry: the previous turn was a different one.
    assert!(stage.session.last_turn().is_none());
    stage.session.hooked_by(Arc::new(Says::default()));
    assert_eq!(stage.prompt("And now?").await, Ending::Answered("Well.".to_owned()));
}

#[tokio::test]
async fn a_conversation_is_told_once_with_how_it_came_about() {
    let hooks = Arc::new(Says::default());
    let model = Scripted::by(profile(200_000), |_| says("Well."));
    let mut stage = Stage::of(model, Settings::default());
    stage.session.hooked_by(hooks.clone());
    stage.prompt("One.").await;
    stage.prompt("Two.").await;
    stage.session.clear();
    stage.prompt("Three.").await;
    stage.session.take_over(
        vec![Message::user("Four."), Message::assistant("Yes?")],
        "from elsewhere",
    );
    stage.prompt("Five.").await;
    let begun: Vec<String> = told(&hooks)
        .into_iter()
        .filter(|told| told.starts_with("SessionStart"))
        .collect();
    assert_eq!(
        begun,
        ["startup", "clear", "resume"].map(|source| format!("SessionStart {source}"))
    );
}
