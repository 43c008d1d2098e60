//! Providers that report no usage, or too little, or abort an answer: the cost and the occupancy of the window are
//! known all the same, and both the model and the user are told.

use crate::common::{Stage, calls, costing, profile, says, stopped};
use codelet_agent::event::Event;
use codelet_agent::model::Stop;
use codelet_agent::run::{Ending, Limits};
use codelet_agent::scripted::Scripted;
use codelet_agent::session::Settings;
use codelet_context::message::{Message, Origin, Part};
use codelet_context::price::{PriceCard, Rates};
use std::sync::Arc;

fn notices(stage: &Stage) -> Vec<&str> {
    let notices = stage.heard.iter().filter_map(|event| match event {
        Event::Notice(text) => Some(text.as_str()),
        _ => None,
    });
    notices.collect()
}

/// Returns the loop's notices to the model in a request.
fn told(messages: &[Arc<Message>]) -> Vec<&str> {
    let texts = messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::Text(text) if text.origin == Origin::Notice => Some(text.body.as_str()),
            _ => None,
        });
    texts.collect()
}

#[tokio::test]
async fn the_limit_of_costs_holds_where_the_provider_counts_nothing() {
    let settings = Settings {
        limits: Limits {
            max_cost: Some(0.02),
            ..Limits::default()
        },
        ..Settings::default()
    };
    let mut number = 0;
    let looks = Scripted::by(profile(200_000), move |_| {
        number += 1;
        // Only one of them reports usage.
        let reply = calls("Look", &["print 16000"]);
        if number == 2 { costing(reply, 6_000, 20) } else { reply }
    });
    let mut stage = Stage::of(looks, settings);
    let ending = stage.prompt("Look at everything.").await;
    assert!(
        matches!(ending, Ending::CostLimit(spent) if (0.02..0.06).contains(&spent.dollars)),
        "{ending:?}"
    );
    let said = ending.to_string();
    assert!(said.contains("(about $0.0") && said.contains(", estimated)"), "{said}");
    let bill = stage.session.bill();
    assert_eq!(bill.unpriced, bill.requests - 1);
    assert!(
        bill.cost.total() > 0.0 && bill.cost.total() < bill.estimated,
        "{bill:?}"
    );
    let notices = notices(&stage);
    assert!(notices.len() == 1 && notices[0].contains("estimated"), "{notices:?}");
}

#[tokio::test]
async fn where_nothing_costs_anything_an_estimate_is_none_of_the_cost() {
    let mut free = profile(200_000);
    free.price = Some(PriceCard::flat("local", Rates::default()));
    let mut stage = Stage::of(Scripted::by(free, |_| says("Hello.")), Settings::default());
    stage.prompt("Hi.").await;
    let notices = notices(&stage);
    assert!(
        notices.len() == 1 && notices[0].contains("estimated") && !notices[0].contains("cost"),
        "{notices:?}"
    );
}

#[tokio::test]
async fn a_provider_that_counts_too_little_does_not_switch_the_guard_of_the_window_off() {
    for counted in [12, 100, 900] {
        let mut step = 0;
        let model = Scripted::by(profile(20_000), move |_| {
            step += 1;
            match step {
                1..=12 => costing(calls("Look", &["print 12000"]), counted, 10),
                _ => costing(says("Seen."), counted, 10),
            }
        });
        let mut stage = Stage::of(model, Settings::default());
        assert_eq!(
            stage.prompt("Look at everything.").await,
            Ending::Answered("Seen.".to_owned())
        );
        for request in stage.requests.lock().unwrap().iter() {
            let bytes: usize = request
                .messages
                .iter()
                .map(|message| format!("{:?}", message.parts).len())
                .sum();
            assert!(bytes < 100_000, "{counted}: {bytes}");
        }
        assert!(
            stage.heard.iter().any(|event| matches!(event, Event::Compacted { .. })),
            "{counted}"
        );
        let doubts = notices(&stage)
            .iter()
            .filter(|notice| notice.contains("reports"))
            .count();
        assert_eq!(doubts, 1, "{counted}: {:?}", notices(&stage));
    }
}

#[tokio::test]
async fn an_answer_that_is_broken_off_is_asked_for_again_with_the_reason() {
    let why = "Malformed function call: print(default_api.Look()) (MALFORMED_FUNCTION_CALL)";
    let broken = |words: &str| stopped(words, Stop::BrokenOff(why.to_owned()));
    let mut stage = Stage::scripted([
        broken(""),
        calls("Look", &["x"]),
        broken("I will look. "),
        says("Done."),
    ]);
    let ending = stage.prompt("Look.").await;
    assert_eq!(ending, Ending::Answered("I will look. Done.".to_owned()));
    let second = stage.asked(1);
    assert!(told(&second).iter().any(|told| told.contains(why)), "{second:#?}");
    assert_eq!(told(&stage.asked(3)).len(), 2);
    assert_eq!(stage.check_requests(), 0);
    // Text in front of the call is no answer.
    let nothing = || stopped("", Stop::Finished);
    let mut stage = Stage::scripted([broken("I will look. "), nothing(), says("Done.")]);
    let ending = stage.prompt("Look.").await;
    assert_eq!(ending, Ending::Answered("I will look. Done.".to_owned()));
    let mut stage = Stage::scripted([broken("I will look.")].into_iter().chain((0..9).map(|_| nothing())));
    assert!(matches!(stage.prompt("Look.").await, Ending::NoAnswer(_)));
    let mut stage = Stage::scripted((0..9).map(|_| broken("")));
    let Ending::NoAnswer(said) = stage.prompt("Look.").await else {
        panic!("it is no answer");
    };
    assert!(said.contains(why) && said.contains("3 times"), "{said}");
    assert_eq!(stage.count(), 3);
}

#[tokio::test]
async fn what_was_read_and_said_before_an_interruption_is_estimated() {
    let mut stage = Stage::scripted([says("Let me think about that."), says("Done.")]);
    let interrupt = stage.interrupt.clone();
    let mut hear = |event: Event| {
        if matches!(event, Event::Text(_)) {
            interrupt.throw();
        }
    };
    let ending = stage.session.prompt("Think.".into(), &stage.interrupt, &mut hear).await;
    assert_eq!(ending, Ending::Interrupted);
    let bill = *stage.session.bill();
    assert_eq!((bill.requests, bill.unpriced, bill.cost.total()), (1, 1, 0.0));
    // At least six output tokens, at ten dollars per million, plus the input.
    assert!((0.000_06..0.01).contains(&bill.estimated), "{bill:?}");
}
