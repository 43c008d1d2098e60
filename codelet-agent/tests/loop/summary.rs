//! Summaries by the model: the requests, the accepted answers, and the handling of failures.

use crate::common::{Mute, Stage, busy, calls, costing, cut, profile, says, stopped};
use codelet_agent::event::{Event, Witness};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::{Billed, ModelError, Profile, Reply, Request, Stop};
use codelet_agent::run::{Ending, Limits};
use codelet_agent::scripted::Scripted;
use codelet_agent::session::{Settings, SummaryBy};
use codelet_context::conversation::Conversation;
use codelet_context::economics::Preset;
use codelet_context::message::{Message, Part, Thinking};
use codelet_context::price::PriceCard;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn is_for_a_summary(request: &Request) -> bool {
    let parts = request.messages.iter().next_back().map_or(&[][..], |last| &last.parts);
    let is_told =
        |part: &Part| matches!(part, Part::Text(text) if text.body.as_str().contains("is about to be shortened"));
    parts.iter().any(is_told)
}

/// Returns a stage that answers requests for a summary with `summary`, and otherwise works until the window is full.
fn with_summary(summary: impl FnMut() -> Result<Reply, ModelError> + Send + 'static) -> Stage {
    with_summaries(20, profile(30_000), |reply| reply, summary)
}

/// Returns the same with this many steps, each of whose replies `like` transforms.
fn with_summaries(
    steps: usize,
    profile: Profile,
    like: fn(Reply) -> Reply,
    mut summary: impl FnMut() -> Result<Reply, ModelError> + Send + 'static,
) -> Stage {
    let mut step = 0;
    let model = Scripted::by(profile, move |request| {
        if is_for_a_summary(request) {
            return summary();
        }
        step += 1;
        match step {
            _ if step == steps => says("Done."),
            _ => calls("Look", &[&format!("print {}", 9_000 + step)]).map(like),
        }
    });
    let settings = Settings {
        summary: SummaryBy::Model,
        // Old outputs are not removed to save money: each compaction has a summary.
        policy: Preset::Off,
        ..Settings::default()
    };
    Stage::of(model, settings)
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_the_model_wrote_is_used() {
    let mut stage = with_summary(|| says("We are counting sheep."));
    assert_eq!(stage.prompt("Read.").await, Ending::Answered("Done.".to_owned()));
    let shown = |message: &Message| {
        message
            .parts
            .iter()
            .any(|part| matches!(part, Part::Text(t) if t.body.as_str().contains("counting sheep")))
    };
    assert!(
        stage
            .session
            .conversation()
            .view()
            .messages
            .iter()
            .any(|message| shown(message))
    );
    // The request for it extends the previous one, so that it is read from the cache.
    let requests = stage.requests.lock().unwrap();
    let at = requests.iter().position(is_for_a_summary).unwrap();
    assert_eq!(requests[at].max_output, Some(1_024));
    assert!(requests[at].messages.starts_with(&requests[at - 1].messages));
    assert_eq!(requests[at].tools, requests[at - 1].tools);
}

/// Records its calls: `>` for a request of the conversation, `+` for one beside it, `$` for a bill.
struct Noting(Arc<Mutex<String>>);

impl Witness for Noting {
    fn sending(&mut self, _: &Conversation) {
        self.0.lock().unwrap().push('>');
    }

    fn sending_beside(&mut self, _: &Conversation) {
        self.0.lock().unwrap().push('+');
    }

    fn billed(&mut self, _: &Billed, _: Option<&PriceCard>) {
        self.0.lock().unwrap().push('$');
    }

    fn cleared(&mut self) {}
}

#[tokio::test(start_paused = true)]
async fn a_request_for_a_summary_is_seen_by_who_keeps_figures_of_what_is_billed() {
    let mut stage = with_summary(|| says("We are counting sheep."));
    let seen: Arc<Mutex<String>> = Arc::default();
    stage.session.watched_by(Box::new(Noting(seen.clone())));
    stage.prompt("Read.").await;
    let seen = seen.lock().unwrap();
    let summaries = asked_for_summaries(&stage).0;
    assert!(summaries > 0 && seen.contains(">$+$>$"), "{seen}");
    assert_eq!(seen.matches("+$").count(), summaries);
    assert_eq!(seen.matches('$').count() as u64, stage.session.bill().requests);
}

#[tokio::test(start_paused = true)]
async fn however_the_summary_fails_the_session_goes_on_and_says_so() {
    let ways: [fn() -> Result<Reply, ModelError>; 6] = [
        || busy(None),
        || {
            Err(ModelError::TooLong {
                limit: None,
                counted: None,
                said: "no".to_owned(),
            })
        },
        || stopped("", Stop::Finished),
        || stopped("half a", Stop::OutputLimit),
        // Text next to a call is no summary.
        || {
            let mut reply = calls("Look", &["print 1"])?;
            reply.message.parts.insert(0, Part::text("Let me look at that."));
            Ok(reply)
        },
        cut,
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let mut stage = with_summary(way);
        assert_eq!(
            stage.prompt("Read.").await,
            Ending::Answered("Done.".to_owned()),
            "{number}"
        );
        let told = stage.heard.iter().any(|event| match event {
            Event::Compacted { notice, .. } => notice.changed && notice.to_string().contains("summary"),
            _ => false,
        });
        assert!(
            told,
            "{number}: {:?}",
            stage
                .heard
                .iter()
                .filter(|e| matches!(e, Event::Compacted { .. }))
                .collect::<Vec<_>>()
        );
        stage.check_requests();
    }
}

/// Returns the number of requests for a summary so far, and of notices that no more are made.
fn asked_for_summaries(stage: &Stage) -> (usize, usize) {
    let requests = stage.requests.lock().unwrap();
    let asked = requests.iter().filter(|request| is_for_a_summary(request)).count();
    let told = stage
        .heard
        .iter()
        .filter(|event| matches!(event, Event::Notice(said) if said.contains("from now on a template is used")));
    (asked, told.count())
}

fn compactions(stage: &Stage) -> usize {
    let is_one = |event: &&Event| matches!(event, Event::Compacted { .. });
    stage.heard.iter().filter(is_one).count()
}

#[tokio::test(start_paused = true)]
async fn a_model_that_gave_no_summary_twice_in_a_row_is_asked_for_none_until_the_user_asks() {
    let mut stage = with_summaries(80, profile(30_000), |reply| reply, || stopped("", Stop::Finished));
    stage.prompt("Read.").await;
    assert!(compactions(&stage) >= 3, "{}", compactions(&stage));
    assert_eq!(asked_for_summaries(&stage), (6, 1));
    // A summary that was not requested is no failure of the model.
    let warned = stage.heard.iter().filter(|event| match event {
        Event::Compacted { notice, .. } => notice.to_string().contains("without a model"),
        _ => false,
    });
    assert_eq!(warned.count(), 2);
    let mut hear = |_| {};
    let interrupt = Interrupt::new();
    stage.session.compact(None, &interrupt, &mut hear).await.unwrap();
    assert_eq!(asked_for_summaries(&stage), (9, 1));
}

#[tokio::test(start_paused = true)]
async fn a_model_whose_summaries_fail_now_and_then_is_asked_each_time() {
    let mut tries = 0;
    let summary = move || {
        tries += 1;
        match tries % 4 {
            0 => says("We are counting sheep."),
            _ => cut(),
        }
    };
    let mut stage = with_summaries(80, profile(30_000), |reply| reply, summary);
    stage.prompt("Read.").await;
    // Three tries for the first, one for the second, and so on.
    let compactions = compactions(&stage);
    assert!(compactions >= 3, "{compactions}");
    assert_eq!(
        asked_for_summaries(&stage),
        (compactions / 2 * 4 + compactions % 2 * 3, 0)
    );
}

/// Returns the output limits of the requests for a summary.
fn limits_of_summaries(stage: &Stage) -> Vec<u64> {
    let requests = stage.requests.lock().unwrap();
    let asked = requests.iter().filter(|request| is_for_a_summary(request));
    asked.filter_map(|request| request.max_output).collect()
}

#[tokio::test(start_paused = true)]
async fn a_model_that_thinks_has_room_for_it_beside_the_words_of_a_summary() {
    fn with_thoughts(mut reply: Reply) -> Reply {
        let thinking = Thinking {
            body: "hm".into(),
            signature: None,
            redacted: None,
            is_wanted_back: false,
            extra: Default::default(),
        };
        reply.message.parts.insert(0, Part::Thinking(thinking));
        reply
    }
    fn with_counted_thoughts(mut reply: Reply) -> Reply {
        reply.billed.reasoning = 40;
        reply
    }
    for like in [with_thoughts, with_counted_thoughts] {
        let mut stage = with_summaries(120, profile(200_000), like, || says("We are counting sheep."));
        stage.prompt("Read.").await;
        let limits = limits_of_summaries(&stage);
        assert!(!limits.is_empty());
        // It is no higher than for any other answer, and leaves room in the window for estimation errors.
        assert!(
            limits.iter().all(|limit| (2_048..=20_000).contains(limit)),
            "{limits:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_something_else_than_words_has_filled_is_larger_in_the_next_try() {
    // A gateway may hide all thinking of the model behind it.
    let mut tries = 0;
    let summary = move || {
        tries += 1;
        match tries {
            1 => stopped("1. Main", Stop::OutputLimit),
            _ => says("We are counting sheep."),
        }
    };
    let mut stage = with_summaries(180, profile(200_000), |reply| reply, summary);
    stage.prompt("Read.").await;
    let limits = limits_of_summaries(&stage);
    assert!(limits.len() >= 3, "{limits:?}");
    assert_eq!(limits[0], 1_024);
    assert!(limits[1..].iter().all(|limit| *limit > 2_048), "{limits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_its_words_have_filled_has_no_larger_limit_in_the_next_try() {
    let long = || stopped(&"counting sheep ".repeat(300), Stop::OutputLimit);
    let mut stage = with_summaries(40, profile(60_000), |reply| reply, long);
    stage.prompt("Read.").await;
    let limits = limits_of_summaries(&stage);
    assert!(
        limits.len() >= 3 && limits.iter().all(|limit| *limit == 1_024),
        "{limits:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_waited_for_no_longer_than_an_answer() {
    for (limit, expected) in [(60, 121..=123), (900, 900..=900)] {
        let steps = (0..6).map(|_| calls("Do", &["print 40000"]));
        let model = Scripted::new(profile(200_000), steps.chain([says("Printed.")]));
        let settings = Settings {
            summary: SummaryBy::Model,
            ..Settings::default()
        };
        let mut stage = Stage::of(model, settings);
        stage.prompt("Print.").await;
        stage.session.change_model(Box::new(Mute {
            profile: profile(200_000),
            limit: Duration::from_secs(limit),
            asked: 1.into(),
        }));
        let mut tries = Vec::new();
        let mut hear = |event: Event| {
            if let Event::Waiting { next_try, .. } = event {
                tries.push(next_try);
            }
        };
        let began = tokio::time::Instant::now();
        let interrupt = Interrupt::new();
        stage.session.compact(None, &interrupt, &mut hear).await.unwrap();
        let took = began.elapsed().as_secs();
        assert!(expected.contains(&took), "{took} s");
        assert_eq!(tries.last(), Some(&None), "{tries:?}");
        assert_eq!(tries.contains(&Some(2)), limit == 60, "{tries:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_further_summary_is_asked_for_once_the_limit_of_costs_is_passed() {
    let mut step = 0;
    let model = Scripted::by(profile(30_000), move |request| {
        if is_for_a_summary(request) {
            return costing(stopped("", Stop::Finished), 1_000_000, 10);
        }
        step += 1;
        calls("Look", &[&format!("print {}", 9_000 + step)])
    });
    let settings = Settings {
        summary: SummaryBy::Model,
        policy: Preset::Off,
        limits: Limits {
            max_cost: Some(1.5),
            ..Limits::default()
        },
        ..Settings::default()
    };
    let mut stage = Stage::of(model, settings);
    let ending = stage.prompt("Read.").await;
    assert!(matches!(ending, Ending::CostLimit(_)), "{ending:?}");
    // A dollar each, besides the tenth of a dollar for all the reading.
    assert_eq!(asked_for_summaries(&stage).0, 2);
}
