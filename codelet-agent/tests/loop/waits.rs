//! Providers that are busy, silent, or break off.

use crate::common::{Mute, Stage, busy, cut, profile, says, stopped};
use crate::shape;
use codelet_agent::event::Event;
use codelet_agent::model::{ModelError, Stop};
use codelet_agent::retry::Patience;
use codelet_agent::run::{Ending, Limits};
use codelet_agent::scripted::Scripted;
use codelet_agent::session::Settings;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_busy_provider_is_asked_again_after_the_wait_that_it_names() {
    let mut stage = Stage::scripted([busy(Some(7)), busy(None), says("At last.")]);
    let began = tokio::time::Instant::now();
    assert_eq!(stage.prompt("Hello?").await, Ending::Answered("At last.".to_owned()));
    assert!(began.elapsed() >= Duration::from_secs(7) && began.elapsed() < Duration::from_secs(9));
    let told: Vec<u64> = stage
        .heard
        .iter()
        .filter_map(|event| match event {
            Event::Waiting {
                left,
                next_try: Some(2),
                ..
            } => Some(left.as_secs()),
            _ => None,
        })
        .collect();
    assert_eq!(told[..8], [7, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(stage.check_requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn patience_ends_after_two_minutes() {
    let mut stage = Stage::of(Scripted::by(profile(200_000), |_| busy(None)), Settings::default());
    let began = tokio::time::Instant::now();
    let Ending::Provider(ModelError::Busy { .. }) = stage.prompt("Hello?").await else {
        panic!("{:?}", stage.heard.last());
    };
    assert!(began.elapsed() <= Duration::from_secs(120));
    assert!(stage.count() >= 5);
}

#[tokio::test(start_paused = true)]
async fn an_interruption_ends_a_wait() {
    let mut stage = Stage::scripted([busy(Some(60))]);
    let interrupt = stage.interrupt.clone();
    let began = tokio::time::Instant::now();
    let mut hear = |event: Event| {
        if matches!(event, Event::Waiting { .. }) {
            interrupt.throw();
        }
    };
    assert_eq!(
        stage.session.prompt("Go.".into(), &stage.interrupt, &mut hear).await,
        Ending::Interrupted
    );
    assert!(began.elapsed() < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn a_cut_stream_leaves_nothing_behind() {
    let mut stage = Stage::scripted([cut(), cut(), says("Whole.")]);
    stage.prompt("Tell me.").await;
    shape(&stage, 2, "user: Tell me.");
    assert_eq!(stage.check_requests(), 0);
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_again_and_never_taken_for_one() {
    let mut stage = Stage::scripted([
        stopped("", Stop::Finished),
        stopped(" \n", Stop::Finished),
        says("Here."),
    ]);
    assert_eq!(stage.prompt("Well?").await, Ending::Answered("Here.".to_owned()));
    shape(&stage, 2, "user: Well?");
    let mut stage = Stage::scripted((0..9).map(|_| stopped("", Stop::Finished)));
    assert!(matches!(stage.prompt("Well?").await, Ending::NoAnswer(_)));
    assert_eq!(stage.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn silence_counts_into_the_wait_and_each_second_of_it_is_told() {
    // The time limits of a cloud provider, of an impatient user, and of a self-hosted server.
    for (limit, expected, requests) in [(60, 120, 3), (5, 120, 23), (900, 900, 2)] {
        let limit = Duration::from_secs(limit);
        let model = Mute {
            profile: profile(200_000),
            limit,
            asked: 0.into(),
        };
        let mut stage = Stage::scripted([]);
        stage.session.change_model(Box::new(model));
        let began = tokio::time::Instant::now();
        let ending = stage.prompt("Look.").await;
        let Ending::Provider(error) = ending else {
            panic!("{ending:?}");
        };
        assert!(error.to_string().ends_with("(gave up after 120 s)"), "{error}");
        let took = began.elapsed().as_secs();
        assert!((expected - 31..=expected).contains(&took), "{took}");
        let asked = stage.heard.iter().filter(|event| matches!(event, Event::Asking { .. }));
        assert!(asked.count() <= requests, "{:?}", stage.heard);
        // The first silence is reported after a sixth of its limit or ten seconds, whichever is first; later waits are
        // reported throughout.
        let told = stage
            .heard
            .iter()
            .filter(|event| matches!(event, Event::Waiting { .. }))
            .count() as u64;
        let shown = took - (limit.as_secs() / 6).min(10);
        assert!(told + 2 >= shown && told <= shown + 20, "{told} of {shown}");
        // The last event announces no further try.
        let last = stage.heard.iter().rev().find_map(|event| match event {
            Event::Waiting { next_try, .. } => Some(*next_try),
            _ => None,
        });
        assert_eq!(last, Some(None), "{limit:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_patience_that_the_user_has_named_bounds_the_first_silence() {
    for total in [4, 100] {
        let settings = Settings {
            limits: Limits {
                patience: Patience {
                    total: Duration::from_secs(total),
                    is_named: true,
                    ..Patience::default()
                },
                ..Limits::default()
            },
            ..Settings::default()
        };
        let mut stage = Stage::of(Scripted::new(profile(200_000), []), settings);
        stage.session.change_model(Box::new(Mute {
            profile: profile(200_000),
            limit: Duration::from_secs(900),
            asked: 1.into(),
        }));
        let began = tokio::time::Instant::now();
        let ending = stage.prompt("Look.").await;
        assert_eq!(began.elapsed().as_secs(), total);
        let told = format!("(gave up after {total} s)");
        assert!(ending.to_string().ends_with(&told), "{ending}");
        let lefts = stage.heard.iter().filter_map(|event| match event {
            Event::Waiting { left, next_try, .. } => Some((left.as_secs(), *next_try)),
            _ => None,
        });
        let lefts: Vec<_> = lefts.collect();
        let first = if total == 4 { 3 } else { 90 };
        let expected: Vec<_> = (1..=first).rev().map(|left| (left, None)).collect();
        assert_eq!(lefts, expected);
    }
}
