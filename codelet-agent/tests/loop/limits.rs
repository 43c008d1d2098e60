//! The limits of a run: repeated failures, steps, dollars, and the window.

use crate::common::{Stage, calls, costing, profile, says};
use codelet_agent::answer::AnswerCheck;
use codelet_agent::bill::Spent;
use codelet_agent::event::Event;
use codelet_agent::model::ModelError;
use codelet_agent::run::{Ending, Limits};
use codelet_agent::scripted::Scripted;
use codelet_agent::session::Settings;
use codelet_context::message::Part;
use codelet_context::policy::Reason;
use codelet_context::tokens::estimate_message;
use std::sync::Arc;

#[tokio::test]
async fn a_provider_that_refuses_every_size_is_not_asked_for_ever() {
    for named in [true, false] {
        let model = Scripted::by(profile(200_000), move |request| {
            let tokens: u64 = request.messages.iter().map(|message| estimate_message(message)).sum();
            Err(ModelError::TooLong {
                limit: named.then_some(tokens.saturating_sub(1)),
                counted: None,
                said: "too long".to_owned(),
            })
        });
        let mut stage = Stage::of(model, Settings::default());
        let ending = stage.prompt(&"Read all of this. ".repeat(8_000)).await;
        assert!(matches!(ending, Ending::TooLong(_)), "{ending:?}");
        assert!(stage.count() <= 61, "{named}: {}", stage.count());
    }
}

#[tokio::test]
async fn the_same_failing_call_in_one_reply_is_one_try() {
    let many = ["fail again"; 7];
    let mut stage = Stage::scripted([calls("Do", &many), calls("Do", &many), says("I see.")]);
    let ending = stage.prompt("Edit it.").await;
    assert_eq!(ending, Ending::Answered("I see.".to_owned()));
    // It is stopped only after the model was told, however many failures are in each reply.
    let mut stage = Stage::of(
        Scripted::by(profile(200_000), |_| calls("Do", &["fail", "fail again", "fail"])),
        Settings::default(),
    );
    let ending = stage.prompt("Edit it.").await;
    assert!(matches!(ending, Ending::Loop { count: 6, .. }), "{ending:?}");
    assert_eq!(stage.count(), 6);
}

#[tokio::test]
async fn the_same_failing_call_is_told_of_and_then_stopped() {
    let mut stage = Stage::of(
        Scripted::by(profile(200_000), |_| calls("Do", &["fail again"])),
        Settings::default(),
    );
    let ending = stage.prompt("Edit it.").await;
    assert_eq!(
        ending,
        Ending::Loop {
            tool: "Do".into(),
            count: 6
        }
    );
    assert_eq!(stage.count(), 6);
    let told = stage.asked(3).pop().unwrap();
    let words: Vec<_> = told
        .tool_results()
        .next()
        .unwrap()
        .texts()
        .map(|t| t.body.as_str().to_owned())
        .collect();
    assert!(
        words[1].starts_with("This very call has now failed 3 times"),
        "{words:?}"
    );
    // The sixth result is also in the conversation.
    let last = stage.session.conversation().view().messages.last().unwrap().clone();
    assert_eq!(last.tool_results().count(), 1);
}

#[tokio::test]
async fn steps_and_dollars_are_bounded() {
    let forever = || Scripted::by(profile(200_000), |_| costing(calls("Do", &["x"]), 1_000_000, 0));
    let mut settings = Settings::default();
    settings.limits.max_steps = Some(3);
    let mut stage = Stage::of(forever(), settings.clone());
    assert_eq!(stage.prompt("Go.").await, Ending::StepLimit(3));
    assert_eq!(Ending::StepLimit(1).to_string(), "stopped: step limit reached (1 step)");
    assert_eq!(stage.count(), 3);
    settings.limits = Limits {
        max_cost: Some(1.5),
        ..Limits::default()
    };
    let mut stage = Stage::of(forever(), settings);
    let spent = Spent {
        dollars: 2.0,
        is_estimated: false,
    };
    let ending = stage.prompt("Go.").await;
    assert_eq!(ending, Ending::CostLimit(spent));
    assert!(
        ending.to_string().contains("stopped: cost limit reached ($2.0000)"),
        "{ending}"
    );
    // The limit is the session's: nothing more is asked.
    let asked = stage.count();
    assert_eq!(stage.prompt("Go on.").await, Ending::CostLimit(spent));
    assert_eq!(stage.count(), asked);
}

#[tokio::test]
async fn a_provider_whose_limit_is_smaller_than_believed_teaches_it() {
    for names_it in [true, false] {
        let mut step = 0;
        let model = Scripted::by(profile(1_000_000), move |request| {
            step += 1;
            let tokens: u64 = request
                .messages
                .iter()
                .map(|m| codelet_context::tokens::estimate_message(m))
                .sum();
            if tokens > 20_000 {
                let limit = names_it.then_some(20_000);
                return Err(ModelError::TooLong {
                    limit,
                    counted: None,
                    said: "too long".to_owned(),
                });
            }
            match step {
                60.. => says("Done."),
                _ => calls("Look", &[&format!("print {}", 8_000 + step)]),
            }
        });
        let mut stage = Stage::of(model, Settings::default());
        assert_eq!(
            stage.prompt("Read.").await,
            Ending::Answered("Done.".to_owned()),
            "{names_it}"
        );
        let refused = stage.heard.iter().filter(|event| {
            matches!(
                event,
                Event::Compacted {
                    reason: Reason::Refused,
                    ..
                }
            )
        });
        assert!((1..=6).contains(&refused.count()), "{names_it}");
        stage.check_requests();
    }
}

#[tokio::test]
async fn a_prompt_that_can_never_fit_ends_with_a_clear_error_and_no_loop() {
    let model = Scripted::by(profile(200_000), |_| {
        Err(ModelError::TooLong {
            limit: Some(100),
            counted: None,
            said: "This key may send 100 tokens a day.".to_owned(),
        })
    });
    let mut stage = Stage::of(model, Settings::default());
    let ending = stage.prompt("Hello?").await;
    let Ending::TooLong(why) = ending else {
        panic!("{ending:?}");
    };
    // Only the provider knows the meaning of its message.
    assert!(
        why.ends_with("; the provider said: This key may send 100 tokens a day."),
        "{why}"
    );
    assert!(stage.count() <= 5, "{}", stage.count());
}

#[tokio::test]
async fn in_a_window_of_four_thousand_tokens_the_system_prompt_and_the_prompt_stay_whole() {
    let mut step = 0;
    let model = Scripted::by(profile(4_096), move |_| {
        step += 1;
        match step {
            12 => says("Done."),
            _ => calls("Look", &[&format!("print {}", 1_600 + step * 16)]),
        }
    });
    let mut stage = Stage::of(model, Settings::default());
    let prompt = "Find out why the parser is slow, and say which function it is.";
    assert_eq!(stage.prompt(prompt).await, Ending::Answered("Done.".to_owned()));
    let compactions = stage
        .heard
        .iter()
        .filter(|event| matches!(event, Event::Compacted { .. }));
    assert!(compactions.count() >= 1);
    let requests = stage.requests.lock().unwrap();
    for request in requests.iter() {
        let texts: Vec<&str> = request
            .messages
            .iter()
            .flat_map(|message| &message.parts)
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.body.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(texts[0], codelet_agent::session::SYSTEM_PROMPT);
        assert!(texts.contains(&prompt));
    }
}

#[tokio::test]
async fn a_call_that_succeeds_and_changes_nothing_is_told_of_and_then_stopped() {
    let again = || {
        let model = Scripted::by(profile(200_000), |_| calls("Do", &["write it"]));
        Stage::of(model, Settings::default())
    };
    let mut stage = again();
    let ending = stage.prompt("Write it.").await;
    assert!(matches!(ending, Ending::Stale { count: 5, .. }), "{ending:?}");
    assert_eq!(stage.count(), 6);
    let told = format!("{:?}", stage.asked(4));
    assert!(told.contains("The last 3 calls were all made before"), "{told}");
    assert!(ending.to_string().contains("with the same results"), "{ending}");
}

#[tokio::test]
async fn calls_that_go_back_and_forth_between_two_states_are_stopped() {
    let mut turn = 0;
    let model = Scripted::by(profile(200_000), move |_| {
        turn += 1;
        calls("Do", &[["one", "two"][turn % 2]])
    });
    let mut stage = Stage::of(model, Settings::default());
    let ending = stage.prompt("Plan it.").await;
    assert!(matches!(ending, Ending::Stale { .. }), "{ending:?}");
    assert_eq!(stage.count(), 7);
}

#[tokio::test]
async fn a_tool_call_written_as_text_is_told_of_and_is_no_answer() {
    const CALL: &str = "<tool_call>\n{\"name\": \"Look\", \"arguments\": {\"what\": \"around\"}}\n</tool_call>";
    let model = Scripted::by(profile(200_000), |_| says(CALL));
    let mut stage = Stage::of(model, Settings::default());
    let ending = stage.prompt("Look around.").await;
    assert!(
        matches!(&ending, Ending::NoAnswer(why) if why.contains("tool call as text")),
        "{ending:?}"
    );
    assert_eq!(stage.count(), 3);
    let is_told = |event: &Event| matches!(event, Event::Notice(text) if text.contains("tool call as text"));
    assert!(stage.heard.iter().any(is_told));
    let is_run = |event: &Event| matches!(event, Event::ToolStarted { .. });
    assert!(!stage.heard.iter().any(is_run), "nothing is run");
}

#[tokio::test]
async fn a_model_that_goes_on_properly_after_a_call_as_text_gives_only_its_answer() {
    const CALL: &str = "```json\n{\"name\": \"Look\", \"arguments\": {\"what\": \"around\"}}\n```";
    let mut stage = Stage::scripted([says(CALL), calls("Look", &["around"]), says("I have looked.")]);
    let ending = stage.prompt("Look around.").await;
    assert_eq!(ending, Ending::Answered("I have looked.".to_owned()));
    let told = format!("{:?}", stage.asked(1));
    assert!(told.contains("holds a tool call as text"), "{told}");
    stage.check_requests();
}

/// Accepts answers that are a number, and hands on its successor.
struct Number;

impl AnswerCheck for Number {
    fn check(&self, answer: &str) -> Result<String, String> {
        let number: u32 = answer.parse().map_err(|_| format!("{answer:?} is no number"))?;
        Ok((number + 1).to_string())
    }
}

#[tokio::test]
async fn an_answer_that_passes_no_check_is_told_why_and_the_checked_one_is_handed_on() {
    let mut stage = Stage::scripted([says("One."), calls("Look", &["here"]), says("1")]);
    stage.session.check_answers(Arc::new(Number));
    assert_eq!(stage.prompt("Count.").await, Ending::Answered("2".to_owned()));
    let last = stage.session.conversation().history().messages();
    let told = |part: &Part| matches!(part, Part::Text(text) if text.body.as_str().contains("\"One.\" is no number"));
    assert!(last.iter().any(|message| message.parts.iter().any(told)));
}

#[tokio::test]
async fn answers_that_pass_no_check_are_bounded_in_number_and_by_the_limit_of_steps() {
    for (max_steps, steps) in [(None, 3), (Some(2), 2)] {
        let limits = Limits {
            max_steps,
            ..Limits::default()
        };
        let settings = Settings {
            limits,
            ..Settings::default()
        };
        let mut stage = Stage::of(Scripted::by(profile(200_000), |_| says("Many.")), settings);
        stage.session.check_answers(Arc::new(Number));
        let ending = stage.prompt("Count.").await;
        match max_steps {
            Some(most) => assert_eq!(ending, Ending::StepLimit(most)),
            None => assert!(matches!(ending, Ending::Unfit { count: 3, .. }), "{ending:?}"),
        }
        assert_eq!(stage.count(), steps);
    }
}

/// A check that never ends; it calls the function first.
struct Endless(Box<dyn Fn() + Send + Sync>);

impl AnswerCheck for Endless {
    fn check(&self, _: &str) -> Result<String, String> {
        (self.0)();
        loop {
            std::thread::park();
        }
    }
}

#[tokio::test]
async fn an_interruption_ends_the_wait_for_a_check_and_the_answer_is_kept() {
    let mut stage = Stage::scripted([says("1")]);
    let interrupt = stage.interrupt.clone();
    stage
        .session
        .check_answers(Arc::new(Endless(Box::new(move || interrupt.throw()))));
    assert_eq!(stage.prompt("Count.").await, Ending::Interrupted);
    let last = stage
        .session
        .conversation()
        .history()
        .messages()
        .last()
        .cloned()
        .unwrap();
    assert!(
        matches!(&last.parts[..], [Part::Text(text)] if text.body.as_str() == "1"),
        "{last:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_check_that_does_not_end_ends_the_run_and_nothing_is_asked_again() {
    let mut stage = Stage::scripted([says("1")]);
    stage.session.check_answers(Arc::new(Endless(Box::new(|| ()))));
    let ending = stage.prompt("Count.").await;
    assert!(
        matches!(&ending, Ending::Unchecked(why) if why.contains("no verdict after 5 s")),
        "{ending:?}"
    );
    assert_eq!(stage.count(), 1);
}
