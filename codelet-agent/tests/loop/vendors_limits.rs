//! Limits that a session runs into, of output and of windows, and what the model and the user are told about them.

use crate::common::{Project, Stage, calls, profile, says};
use codelet_agent::event::Event;
use codelet_agent::model::ModelError;
use codelet_agent::run::Ending;
use codelet_agent::scripted::Scripted;
use codelet_agent::session::Settings;
use codelet_context::message::{Message, Origin, Part, ReminderKind};
use codelet_context::tokens::estimate_message;
use std::sync::Arc;

fn notices(stage: &Stage) -> Vec<&str> {
    let notices = stage.heard.iter().filter_map(|event| match event {
        Event::Notice(text) => Some(text.as_str()),
        _ => None,
    });
    notices.collect()
}

/// Returns the output limits of the requests.
fn asked(stage: &Stage) -> Vec<u64> {
    let requests = stage.requests.lock().unwrap();
    requests.iter().filter_map(|request| request.max_output).collect()
}

/// Returns a model with this maximum output in tokens; `named` says whether its refusals mention it.
fn brief(most: u64, named: bool) -> Scripted {
    Scripted::by(profile(200_000), move |request| {
        if request.max_output.unwrap() > most {
            return Err(ModelError::OutputLimit {
                limit: named.then_some(most),
                said: "max_tokens is too large".to_owned(),
            });
        }
        says("Done.")
    })
}

#[tokio::test]
async fn a_model_with_short_answers_is_asked_again_for_a_short_one_and_for_no_longer_one_after_that() {
    let mut stage = Stage::of(brief(4_096, true), Settings::default());
    let before = stage.session.conversation().config().limit();
    assert_eq!(stage.prompt("Hello.").await, Ending::Answered("Done.".to_owned()));
    assert_eq!(stage.prompt("And now?").await, Ending::Answered("Done.".to_owned()));
    assert_eq!(asked(&stage), [20_000, 4_096, 4_096]);
    let told = notices(&stage);
    assert!(
        !told.iter().any(|notice| notice.contains("4096")),
        "nobody can act upon it: {told:?}"
    );
    // No more of the window is reserved than an answer takes.
    assert_eq!(stage.session.conversation().config().limit(), before + 20_000 - 4_096);
    assert_eq!(stage.session.steps(), 2);
}

#[tokio::test]
async fn where_no_limit_of_answers_is_named_the_error_tells_what_to_write_into_the_settings() {
    let mut stage = Stage::of(brief(4_096, false), Settings::default());
    let ending = stage.prompt("Hello.").await;
    assert!(matches!(ending, Ending::Provider(_)), "{ending:?}");
    let told = ending.to_string();
    assert!(
        told.contains("max_tokens is too large") && told.contains("max_output under [models.\"scripted/one\"]"),
        "{told}"
    );
    assert_eq!(stage.count(), 1);
}

#[tokio::test]
async fn a_provider_that_refuses_every_length_of_an_answer_is_not_asked_for_ever() {
    for step in [0, 1, 1_000] {
        let model = Scripted::by(profile(200_000), move |request| {
            Err(ModelError::OutputLimit {
                limit: request.max_output.map(|most| most - step),
                said: "max_tokens is too large".to_owned(),
            })
        });
        let mut stage = Stage::of(model, Settings::default());
        let ending = stage.prompt("Hello.").await;
        assert!(matches!(ending, Ending::Provider(_)), "{ending:?}");
        assert!(stage.count() <= 3, "{}", stage.count());
    }
}

/// Returns the figure in the newest reminder of how full the window is.
fn told_of(messages: &[Arc<Message>]) -> u64 {
    let parts = messages.iter().rev().flat_map(|message| &message.parts);
    let told = parts.into_iter().find_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Reminder(ReminderKind::TokenStatus) => Some(text.body.as_str()),
        _ => None,
    });
    let line = told
        .unwrap()
        .lines()
        .find(|line| line.contains(" tokens of the window"));
    line.unwrap().split(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_model_is_told_how_full_the_window_is_with_the_prompt_and_the_instructions() {
    let project = Project::default();
    let rules = "Never touch the public interface of it. ".repeat(800);
    project.files.lock().unwrap().insert("/repo/AGENTS.md".into(), rules);
    let model = Scripted::new(profile(200_000), [says("Read."), says("Again.")]);
    let mut stage = Stage::within(Arc::new(project), model, Settings::default());
    for (number, prompt) in ["all of this is to be read ".repeat(2_000), "And now?".to_owned()]
        .iter()
        .enumerate()
    {
        stage.prompt(prompt).await;
        let overhead = stage.session.overhead();
        let requests = stage.requests.lock().unwrap();
        let messages = &requests[number].messages;
        let sent: u64 = messages.iter().map(|message| estimate_message(message)).sum::<u64>() + overhead;
        let told = told_of(messages);
        assert!(told.abs_diff(sent) <= 60, "{told} of {sent}");
    }
}

#[tokio::test]
async fn a_prompt_that_is_longer_than_the_window_is_not_sent_and_the_next_one_is() {
    let model = Scripted::new(profile(20_000), [says("Read.")]);
    let mut stage = Stage::of(model, Settings::default());
    let ending = stage.prompt(&"all of this is to be read ".repeat(20_000)).await;
    assert!(matches!(ending, Ending::TooLong(_)), "{ending:?}");
    assert!(stage.requests.lock().unwrap().is_empty());
    let ending = stage.prompt("Then only look at a.rs.").await;
    assert!(matches!(ending, Ending::Answered(_)), "{ending:?}");
    let limit = stage.session.conversation().config().limit();
    let requests = stage.requests.lock().unwrap();
    assert!(told_of(&requests[0].messages) <= limit);
}

#[tokio::test]
async fn why_a_session_cannot_go_on_is_told_once() {
    let model = Scripted::by(profile(40_000), |_| {
        Err(ModelError::TooLong {
            limit: None,
            counted: None,
            said: "too long".to_owned(),
        })
    });
    let mut stage = Stage::of(model, Settings::default());
    let ending = stage.prompt("Hello.").await;
    let Ending::TooLong(why) = &ending else {
        panic!("{ending:?}");
    };
    assert!(!notices(&stage).contains(&why.as_str()), "{why}");
    assert!(why.contains("the largest part that stays is "), "{why}");
    let over = stage.heard.iter().filter(|event| matches!(event, Event::Over(_)));
    assert_eq!(over.count(), 1);
    // A compaction that was only to save money fails with a notice, and the run goes on.
    let mut stage = Stage::scripted([calls("Look", &["print 64"]), says("Done.")]);
    assert!(matches!(stage.prompt("Look.").await, Ending::Answered(_)));
}
