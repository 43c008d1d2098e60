//! Idle requests that keep a cache alive: each is on the bill, whenever its provider reports usage.

use crate::common::{profile, says};
use codelet_agent::environment::Nowhere;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::{Billed, Delta, Model, ModelError, Profile, Request};
use codelet_agent::run::{Ending, Limits};
use codelet_agent::session::{Session, Settings};
use codelet_context::usage::Usage;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use std::sync::{Arc, Mutex};

/// The course of a model's answer to an idle request.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Usage comes first.
    Before,
    /// Usage comes at the end.
    Last,
    /// Usage never comes.
    Never,
    /// The answer does not end, and no usage comes.
    Endless,
    /// It breaks off after the first word.
    Cut,
    /// It fails at once.
    Failed,
}

/// Answers the first request with a word, and idle requests, which are the later ones, in one way.
struct Idle {
    profile: Profile,
    way: Way,
    asked: Arc<Mutex<Vec<Option<u64>>>>,
}

const SHORT: u64 = 16;

impl Model for Idle {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn idle_output(&self) -> Option<u64> {
        Some(SHORT)
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(request.max_output);
        let counted = Billed {
            usage: Usage::from_exclusive(1_000, 0, 8_000, 5),
            ..Billed::default()
        };
        let word = || Ok(Delta::Text("All ".to_owned()));
        let whole = |counted: Option<Billed>| {
            let mut reply = says("All is well.").unwrap();
            reply.billed = counted.unwrap_or_default();
            Ok(Delta::Done(reply))
        };
        let cut = || {
            Err(ModelError::Cut {
                said: "it was closed".to_owned(),
                had_begun: true,
            })
        };
        let way = if asked.len() == 1 { Way::Last } else { self.way };
        match way {
            Way::Before => stream::iter([Ok(Delta::Billed(counted)), word(), word(), whole(Some(counted))]).boxed(),
            Way::Last => stream::iter([word(), Ok(Delta::Alive), word(), whole(Some(counted))]).boxed(),
            Way::Never => stream::iter([word(), word(), whole(None)]).boxed(),
            Way::Endless => stream::repeat_with(word).boxed(),
            Way::Cut => stream::iter([word(), cut()]).boxed(),
            Way::Failed => stream::iter([cut()]).boxed(),
        }
    }
}

/// Returns a session whose prompt was answered, and the output limits of its requests.
async fn session(way: Way, limits: Limits) -> (Session, Arc<Mutex<Vec<Option<u64>>>>) {
    let asked = Arc::default();
    let model = Idle {
        profile: profile(200_000),
        way,
        asked: Arc::clone(&asked),
    };
    let parts = codelet_agent::session::Parts {
        model: Arc::new(model),
        tools: Vec::new(),
        gate: Arc::new(codelet_agent::permission::Rules::default()),
        world: Arc::new(Nowhere),
    };
    let settings = Settings {
        keep_alive: 2,
        limits,
        ..Settings::default()
    };
    let mut session = Session::new(parts, settings);
    session.prompt("Hello.".into(), &Interrupt::new(), &mut |_| {}).await;
    (session, asked)
}

#[tokio::test]
async fn an_idle_request_is_billed_whenever_its_counts_come() {
    for way in [Way::Before, Way::Last] {
        let (mut session, asked) = session(way, Limits::default()).await;
        assert!(session.keep_alive(&Interrupt::new(), &mut |_| {}).await, "{way:?}");
        let bill = session.bill();
        assert_eq!((bill.requests, bill.unpriced), (2, 0), "{way:?}");
        assert_eq!((bill.usage.fresh, bill.usage.cache_read), (2_000, 16_000), "{way:?}");
        // The next cache break would precede the third request on the bill.
        assert_eq!(session.conversation().requests(), bill.requests, "{way:?}");
        // Nobody reads the answer, so it is as short as possible.
        assert_eq!(asked.lock().unwrap()[1], Some(SHORT));
        assert_ne!(asked.lock().unwrap()[0], Some(SHORT));
    }
}

#[tokio::test]
async fn one_that_nobody_counts_is_billed_by_an_estimate() {
    for way in [Way::Never, Way::Endless, Way::Cut] {
        let (mut session, _) = session(way, Limits::default()).await;
        let before = *session.bill();
        assert!(session.keep_alive(&Interrupt::new(), &mut |_| {}).await, "{way:?}");
        let bill = session.bill();
        assert_eq!((bill.requests, bill.unpriced), (2, 1), "{way:?}");
        assert_eq!(bill.cost.total(), before.cost.total(), "{way:?}");
        // At least the 9,005 tokens counted before, at a dollar per million.
        assert!((0.009..0.02).contains(&bill.estimated), "{way:?}: {bill:?}");
    }
}

#[tokio::test]
async fn one_that_fails_before_a_word_costs_nothing() {
    let (mut session, _) = session(Way::Failed, Limits::default()).await;
    let before = *session.bill();
    assert!(!session.keep_alive(&Interrupt::new(), &mut |_| {}).await);
    assert_eq!(*session.bill(), before);
}

#[tokio::test]
async fn none_is_made_once_the_session_has_cost_what_it_may() {
    // The prompt costs 0.0018 dollars, and so does each idle request.
    let made = |most: f64| async move {
        let limits = Limits {
            max_cost: Some(most),
            ..Limits::default()
        };
        let (mut session, asked) = session(Way::Last, limits).await;
        while session.keep_alive_after().is_some() {
            session.keep_alive(&Interrupt::new(), &mut |_| {}).await;
        }
        asked.lock().unwrap().len() - 1
    };
    assert_eq!(made(0.0017).await, 0);
    assert_eq!(made(0.0030).await, 1);
    assert_eq!(made(0.0100).await, 2);
}

#[tokio::test]
async fn a_new_run_spends_from_what_the_session_has_left() {
    let limits = Limits {
        max_cost: Some(0.003),
        ..Limits::default()
    };
    let (mut session, _) = session(Way::Last, limits).await;
    assert!(session.keep_alive(&Interrupt::new(), &mut |_| {}).await);
    assert_eq!(session.keep_alive_after(), None);
    let requests = session.bill().requests;
    let ending = session.prompt("Go on.".into(), &Interrupt::new(), &mut |_| {}).await;
    assert!(matches!(ending, Ending::CostLimit(_)), "{ending:?}");
    assert_eq!(session.bill().requests, requests);
}
