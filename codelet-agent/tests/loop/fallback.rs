//! Another model takes over while the provider stays overloaded, until the prompt is done.

use crate::common::{Stage, busy, calls, cut, profile, says};
use codelet_agent::event::Event;
use codelet_agent::fallback::Fallback;
use codelet_agent::model::{Model, ModelError, Profile, Reply, Request};
use codelet_agent::run::Ending;
use codelet_agent::scripted::Scripted;
use codelet_agent::session::Settings;
use std::sync::{Arc, Mutex};

type Asked = Arc<Mutex<Vec<Request>>>;
type Told = Arc<Mutex<Vec<String>>>;

fn other(window: u64) -> Profile {
    Profile {
        name: "scripted/other".to_owned(),
        ..profile(window)
    }
}

/// Sets this model as a stage's fallback; returns its requests, and the models reported to the tools.
fn with_fallback(stage: &mut Stage, model: Scripted) -> (Asked, Told) {
    let (asked, told) = (model.requests(), Told::default());
    let changes = Arc::clone(&told);
    let changed = move |model: &dyn Model| changes.lock().unwrap().push(model.profile().name.clone());
    let fallback = Fallback::new(Box::new(model), "scripted/other at home".to_owned(), Box::new(changed));
    stage.session.falls_back_to(fallback);
    (asked, told)
}

/// Returns the notices to the user about the fallback.
fn notices(stage: &Stage) -> Vec<&str> {
    let told = stage.heard.iter().filter_map(|event| match event {
        Event::Notice(notice) => Some(notice.as_str()),
        _ => None,
    });
    told.filter(|notice| notice.contains("stays overloaded")).collect()
}

/// Returns a model that answers from `next`.
fn said_by(next: &Next) -> Scripted {
    let next = Arc::clone(next);
    Scripted::by(profile(200_000), move |_| match &mut *next.lock().unwrap() {
        Some(answers) => answers.remove(0),
        None => busy(None),
    })
}

/// The next answers of a model; `None` means that it is busy.
type Next = Arc<Mutex<Option<Vec<Result<Reply, ModelError>>>>>;

#[tokio::test(start_paused = true)]
async fn an_overloaded_model_is_waited_for_once_and_asked_again_with_each_prompt() {
    let next: Next = Arc::new(Mutex::new(Some(vec![says("Hello.")])));
    let mut stage = Stage::of(said_by(&next), Settings::default());
    let instead = [calls("Look", &["a"]), says("Instead."), says("Once more.")];
    let (asked, told) = with_fallback(&mut stage, Scripted::new(other(200_000), instead));
    assert_eq!(stage.prompt("Hello?").await, Ending::Answered("Hello.".to_owned()));
    *next.lock().unwrap() = None;
    let began = tokio::time::Instant::now();
    assert_eq!(stage.prompt("Work.").await, Ending::Answered("Instead.".to_owned()));
    let waited = began.elapsed().as_secs();
    assert!((60..=120).contains(&waited), "{waited}");
    // The fallback takes all steps of the prompt, and receives the conversation.
    assert_eq!(asked.lock().unwrap().len(), 2);
    assert!(format!("{:?}", asked.lock().unwrap()[0].messages).contains("Hello."));
    let expected =
        "scripted/one stays overloaded (overloaded); asking scripted/other at home until this prompt is done";
    assert_eq!(notices(&stage), [expected]);
    assert_eq!(*told.lock().unwrap(), ["scripted/other", "scripted/one"]);
    assert_eq!(stage.session.model().profile().name, "scripted/one");
    // The next prompt tries the first model once, without waiting.
    let (before, began) = (stage.count(), tokio::time::Instant::now());
    assert_eq!(stage.prompt("And?").await, Ending::Answered("Once more.".to_owned()));
    assert_eq!((stage.count() - before, began.elapsed().as_secs()), (1, 0));
    // Once it has answered, the session waits for it as before.
    *next.lock().unwrap() = Some(vec![says("Back."), busy(Some(3)), says("After a wait.")]);
    assert_eq!(stage.prompt("Now?").await, Ending::Answered("Back.".to_owned()));
    assert_eq!(
        stage.prompt("Well?").await,
        Ending::Answered("After a wait.".to_owned())
    );
    assert_eq!((asked.lock().unwrap().len(), notices(&stage).len()), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn nothing_else_than_overload_leads_to_it_and_it_has_no_fallback_of_its_own() {
    for error in [
        ModelError::Credentials { said: "no".to_owned() },
        ModelError::Refused { said: "no".to_owned() },
    ] {
        let mut stage = Stage::scripted([Err(error)]);
        let (asked, _) = with_fallback(&mut stage, Scripted::new(other(200_000), [says("Instead.")]));
        assert!(matches!(stage.prompt("Work.").await, Ending::Provider(_)));
        assert!(asked.lock().unwrap().is_empty());
    }
    let mut stage = Stage::scripted([cut(), says("Whole.")]);
    let (asked, _) = with_fallback(&mut stage, Scripted::new(other(200_000), [says("Instead.")]));
    assert_eq!(stage.prompt("Work.").await, Ending::Answered("Whole.".to_owned()));
    assert!(asked.lock().unwrap().is_empty());
    let mut stage = Stage::scripted([]);
    stage
        .session
        .change_model(Box::new(Scripted::by(profile(200_000), |_| busy(None))));
    let (asked, _) = with_fallback(&mut stage, Scripted::by(other(200_000), |_| busy(None)));
    assert!(matches!(
        stage.prompt("Work.").await,
        Ending::Provider(ModelError::Busy { .. })
    ));
    assert!(asked.lock().unwrap().len() > 2);
    assert_eq!(notices(&stage).len(), 1);
    assert_eq!(stage.session.model().profile().name, "scripted/one");
}

#[tokio::test(start_paused = true)]
async fn a_smaller_window_is_kept_by_a_compaction_before_it_is_asked() {
    let long: Vec<_> = (0..20)
        .map(|at| calls("Look", &[&format!("{at} {}", "words ".repeat(600))]))
        .collect();
    let mut answers = long.into_iter().chain([says("Read.")]).collect::<Vec<_>>().into_iter();
    let mut stage = Stage::scripted([]);
    stage
        .session
        .change_model(Box::new(Scripted::by(profile(200_000), move |_| {
            answers.next().unwrap_or_else(|| busy(None))
        })));
    let (asked, _) = with_fallback(&mut stage, Scripted::new(other(16_000), [says("Instead.")]));
    assert_eq!(stage.prompt("Read all.").await, Ending::Answered("Read.".to_owned()));
    let before = stage.session.conversation().state("", 0).current;
    assert!(before > 16_000, "{before}");
    assert_eq!(stage.prompt("Sum up.").await, Ending::Answered("Instead.".to_owned()));
    assert!(stage.heard.iter().any(|event| matches!(event, Event::Compacted { .. })));
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert_eq!(stage.session.conversation().config().window(), 200_000);
}
