//! Parts that a provider or a model refuses: they leave the conversation, and the session goes on.

use crate::common::{Stage, calls, profile, says, stopped};
use codelet_agent::event::Event;
use codelet_agent::model::{ModelError, Request, Stop, Suspects};
use codelet_agent::run::Ending;
use codelet_agent::scripted::Scripted;
use codelet_agent::session::{Prompt, Settings};
use codelet_context::conversation::PartPosition;
use codelet_context::message::Image;

/// A grey square of 30 by 30 pixels.
const PIXELS: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAB4AAAAeCAAAAAAeW/F+AAAAFUlEQVR42mNowAsYRqVHpUelB1IaAJWBwhDsUig/AAAAAElFTkSuQmCC";

fn prompt(text: &str, pictures: &[&str]) -> Prompt {
    let images = pictures.iter().map(|data| Image {
        media_type: "image/png".into(),
        data: (*data).into(),
        is_url: false,
        extra: Default::default(),
    });
    Prompt {
        text: text.to_owned(),
        images: images.collect(),
        ..Prompt::default()
    }
}

fn said(request: &Request) -> String {
    format!("{:?}", request.messages)
}

fn rejected(suspects: Suspects) -> ModelError {
    ModelError::Rejected {
        said: "Could not process image".to_owned(),
        suspects,
    }
}

/// Returns a stage whose provider rejects requests with one of these words or images, reported by `tells`.
fn picky(refused: &'static [&'static str], tells: impl Fn(&Request) -> Suspects + Send + 'static) -> Stage {
    let model = Scripted::by(profile(200_000), move |request| {
        match refused.iter().any(|it| said(request).contains(it)) {
            true => Err(rejected(tells(request))),
            false => says("fine"),
        }
    });
    Stage::of(model, Settings::default())
}

async fn prompted(stage: &mut Stage, prompt: Prompt) -> Ending {
    let heard = &mut stage.heard;
    let listener = &mut |event: Event| heard.push(event);
    stage.session.prompt(prompt, &stage.interrupt, listener).await
}

fn fine() -> Ending {
    Ending::Answered("fine".to_owned())
}

fn notices(stage: &Stage) -> Vec<&str> {
    let texts = stage.heard.iter().filter_map(|event| match event {
        Event::Notice(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn a_picture_that_is_refused_leaves_and_the_request_is_made_once_more() {
    for tells in [
        |_: &Request| Suspects::NewestPictures,
        |request: &Request| {
            let message = request.messages.len() - 1;
            Suspects::Parts(vec![PartPosition {
                message,
                part: 1,
                within: None,
            }])
        },
    ] {
        let mut stage = picky(&[PIXELS], tells);
        assert_eq!(prompted(&mut stage, prompt("look", &[PIXELS])).await, fine());
        assert_eq!(stage.count(), 2);
        assert_eq!(stage.prompt("hello").await, fine());
        assert_eq!(stage.count(), 3);
        let told = notices(&stage);
        let handle = told[0].split("kept as ").nth(1).unwrap().split(')').next().unwrap();
        assert_eq!(
            stage.session.conversation().recall(handle, None),
            Some(PIXELS),
            "{told:?}"
        );
        assert_eq!(stage.check_requests(), 1, "one recorded break");
    }
}

#[tokio::test]
async fn where_it_is_not_told_which_picture_is_refused_the_newest_leave_first_and_then_all() {
    let mut stage = picky(&["QUFB"], |_| Suspects::NewestPictures);
    prompted(&mut stage, prompt("one", &["QkJC"])).await;
    assert_eq!(prompted(&mut stage, prompt("two", &["QUFB"])).await, fine());
    assert_eq!(stage.count(), 3);
    let last = stage.requests.lock().unwrap().last().map(said).unwrap();
    assert!(last.contains("QkJC"), "what was taken before stays");

    let suspects = |request: &Request| match said(request).contains("QkJC") {
        true => Suspects::NewestPictures,
        false => Suspects::Unknown,
    };
    let mut stage = picky(&["QkJC", "QUFB"], suspects);
    assert_eq!(prompted(&mut stage, prompt("both", &["QkJC", "QUFB"])).await, fine());
    assert_eq!(stage.count(), 2);
}

#[tokio::test]
async fn pictures_above_the_size_that_is_named_leave_and_the_others_stay() {
    let mut stage = picky(&[PIXELS], |_| Suspects::PicturesAbove(20));
    assert_eq!(prompted(&mut stage, prompt("look", &[PIXELS])).await, fine());
    assert_eq!(stage.count(), 2);
    let mut stage = picky(&["never"], |_| Suspects::PicturesAbove(2_000));
    assert_eq!(prompted(&mut stage, prompt("look", &[PIXELS])).await, fine());
    assert_eq!(stage.count(), 1);
}

#[tokio::test]
async fn what_nobody_can_find_is_taken_back_with_its_turn_and_the_next_prompt_is_answered() {
    let mut stage = picky(&["BADWORD"], |_| Suspects::Unknown);
    assert_eq!(stage.prompt("first").await, fine());
    let ending = stage.prompt("the BADWORD thing").await;
    assert!(
        matches!(ending, Ending::Provider(ModelError::Rejected { .. })),
        "{ending:?}"
    );
    let left = stage.heard.iter().find_map(|event| match event {
        Event::TakenBack(turn) => Some(turn.handle.clone()),
        _ => None,
    });
    let left = left.expect("the user is told");
    assert!(matches!(stage.heard.last(), Some(Event::Over(_))));
    let back = stage.session.conversation().recall(left.as_str(), None);
    assert!(back.is_some_and(|back| back.contains("the BADWORD thing")), "{back:?}");
    assert_eq!(stage.prompt("hello").await, fine());
    assert_eq!(stage.count(), 3, "nothing was sent twice");
    stage.check_requests();
}

#[tokio::test]
async fn a_turn_that_the_model_declines_leaves_with_all_its_steps() {
    let model = Scripted::by(profile(200_000), |request| {
        let sent = said(request);
        match (sent.contains("BADWORD"), sent.contains("looked at it")) {
            (true, false) => calls("Look", &["looked at it"]),
            (true, true) => stopped("I", Stop::Declined("refusal".to_owned())),
            _ => says("fine"),
        }
    });
    let mut stage = Stage::of(model, Settings::default());
    assert_eq!(stage.prompt("first").await, fine());
    assert_eq!(
        stage.prompt("the BADWORD thing").await,
        Ending::Declined("refusal".to_owned())
    );
    assert_eq!(stage.prompt("hello").await, fine());
    assert_eq!(stage.count(), 4);
    let last = stage.requests.lock().unwrap().last().map(said).unwrap();
    assert!(!last.contains("BADWORD") && !last.contains("looked at it"), "{last}");
    // The refused prompt can still be exported.
    assert!(format!("{:?}", stage.session.said()).contains("BADWORD"));
    stage.check_requests();
}

#[tokio::test]
async fn a_first_prompt_that_is_declined_leaves_a_session_that_works() {
    let model = Scripted::by(profile(200_000), |request| match said(request).contains("BADWORD") {
        true => stopped("", Stop::Declined("SAFETY".to_owned())),
        false => says("fine"),
    });
    let mut stage = Stage::of(model, Settings::default());
    assert!(matches!(stage.prompt("BADWORD").await, Ending::Declined(_)));
    for _ in 0..3 {
        assert_eq!(stage.prompt("hello").await, fine());
    }
    stage.check_requests();
}

#[tokio::test]
async fn a_provider_that_refuses_whatever_leaves_is_not_asked_for_ever() {
    let mut stage = picky(&["look"], |_| Suspects::NewestPictures);
    let ending = prompted(&mut stage, prompt("look", &["QUFB", "QkJC"])).await;
    assert!(ending.is_refusal(), "{ending:?}");
    assert_eq!(stage.count(), 2);
}

#[tokio::test]
async fn a_request_that_is_to_be_written_otherwise_is_made_again_and_the_user_is_told() {
    let mut refusals = 2;
    let model = Scripted::by(profile(200_000), move |_| {
        refusals -= 1;
        match refusals {
            0.. => Err(ModelError::Rewritten {
                said: "use the other name".to_owned(),
                how: "max_tokens is sent as max_completion_tokens from here on".to_owned(),
            }),
            _ => says("fine"),
        }
    });
    let mut stage = Stage::of(model, Settings::default());
    assert_eq!(stage.prompt("hello").await, fine());
    assert_eq!(stage.count(), 3);
    assert!(
        notices(&stage)[0].starts_with("max_tokens is sent as"),
        "{:?}",
        notices(&stage)
    );

    let always = Scripted::by(profile(200_000), |_| {
        Err(ModelError::Rewritten {
            said: String::new(),
            how: String::new(),
        })
    });
    let mut stage = Stage::of(always, Settings::default());
    assert!(matches!(stage.prompt("hello").await, Ending::Provider(_)));
    assert!(stage.count() < 10, "{}", stage.count());
}
