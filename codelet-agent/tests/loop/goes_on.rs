//! Continuations: after partial answers, paused turns, refusals by the model, retries and undo.

use crate::common::{Stage, calls, costing, profile, says, stopped};
use crate::shape;
use codelet_agent::event::Event;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::{ModelError, Stop};
use codelet_agent::permission::{Asked, Gate, Permission, Verdict};
use codelet_agent::run::Ending;
use codelet_agent::scripted::Scripted;
use codelet_agent::session::Settings;
use codelet_context::conversation::Due;
use codelet_context::message::{Message, Part, Role};
use codelet_context::pin::Pin;
use codelet_context::policy::Reason;
use codelet_context::refusal;
use codelet_context::tokens::estimate_message;
use codelet_text::short::grouped;
use futures_util::future::BoxFuture;
use std::sync::Arc;

#[tokio::test]
async fn retry_sends_the_last_prompt_again_from_where_things_stood_and_can_be_taken_back() {
    let mut stage = Stage::scripted([
        costing(says("Hello."), 100, 10),
        costing(calls("Do", &["wait"]), 200, 20),
        costing(says("Done."), 300, 30),
    ]);
    stage.prompt("Hello?").await;
    let before = stage.session.conversation().view().messages.clone();
    let interrupt = stage.interrupt.clone();
    let mut hear = |event: Event| {
        if matches!(event, Event::ToolStarted { .. }) {
            interrupt.throw();
        }
    };
    stage.session.prompt("Work.".into(), &stage.interrupt, &mut hear).await;
    assert!(stage.session.conversation().view().messages.len() > before.len() + 1);
    assert_eq!(stage.retry().await, Some(Ending::Answered("Done.".to_owned())));
    let after = &stage.session.conversation().view().messages;
    assert_eq!(after[..before.len()], before[..]);
    shape(
        &stage,
        2,
        "user: Hello?
         assistant: Hello.
         user: Work.",
    );
    // The discarded part stays on the bill.
    assert_eq!(stage.session.bill().usage.prompt(), 600);
    assert_eq!(stage.session.conversation().tokens().billed.prompt(), 600);
    assert_eq!(
        stage.session.last_turn().map(|turn| (turn.steps, turn.calls)),
        Some((1, 0))
    );
    // Undo restores the interrupted work; a second undo removes it again.
    let retried = after.clone();
    assert!(stage.session.undo().await.is_some());
    let work = stage.session.conversation().view().messages.clone();
    assert!(work.iter().any(|message| message.tool_results().next().is_some()));
    assert!(stage.session.undo().await.is_some());
    assert_eq!(stage.session.conversation().view().messages, retried);
}

#[tokio::test]
async fn what_was_cleared_comes_back_with_its_pins() {
    let mut stage = Stage::scripted([says("Hello."), says("Bye."), says("Well.")]);
    stage.prompt("Hello?").await;
    stage.session.conversation_mut().pin(Pin::Message(1));
    let before = stage.session.conversation().view().messages.clone();
    stage.session.clear();
    assert!(stage.session.last_turn().is_none());
    assert_eq!(stage.retry().await, None);
    stage.prompt("Another thing.").await;
    assert!(stage.session.undo().await.is_some());
    assert_eq!(stage.session.conversation().view().messages, before);
    assert_eq!(stage.session.conversation().pins(), [Pin::Message(1)]);
    stage.prompt("How are you?").await;
    assert_eq!(stage.check_requests(), 2);
}

/// A gate that refuses in the user's words.
struct No;

impl Gate for No {
    fn permission(&self) -> Permission {
        Permission::default()
    }

    fn judge<'a>(&'a self, _: Asked<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(async { Verdict::No(refusal::by_user(Some("never on Fridays"))) })
    }
}

#[tokio::test]
async fn what_the_user_has_refused_holds_when_the_prompt_is_sent_again() {
    let model = Scripted::new(
        profile(200_000),
        [calls("Do", &["deploy"]), says("I did not."), says("Fine.")],
    );
    let mut stage = Stage::behind(model, Settings::default(), Arc::new(No));
    stage.prompt("Ship it.").await;
    assert_eq!(stage.retry().await, Some(Ending::Answered("Fine.".to_owned())));
    let told = |message: &Arc<Message>| {
        let texts = message.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.body.as_str().to_owned()),
            _ => None,
        });
        texts.collect::<String>()
    };
    let asked: Vec<String> = stage.asked(2).iter().map(told).collect();
    assert!(
        asked[0].contains("the user said no, and said: never on Fridays"),
        "{asked:?}"
    );
    assert_eq!(asked.last().map(String::as_str), Some("Ship it."));
}

#[tokio::test]
async fn what_the_user_adds_after_an_interruption_stays_where_the_prompt_is_sent_again() {
    let mut stage = Stage::scripted([calls("Do", &["wait"]), calls("Do", &["wait"]), says("Done.")]);
    let interrupt = stage.interrupt.clone();
    let mut hear = |event: Event| {
        if matches!(event, Event::ToolStarted { .. }) {
            interrupt.throw();
        }
    };
    stage.session.prompt("Work.".into(), &stage.interrupt, &mut hear).await;
    stage.session.tell_pinned("Never touch main.rs.");
    let interrupt = Interrupt::new();
    let mut hear = |event: Event| {
        if matches!(event, Event::ToolStarted { .. }) {
            interrupt.throw();
        }
    };
    stage.session.retry(&interrupt, &mut hear).await;
    stage.interrupt = Interrupt::new();
    assert_eq!(stage.retry().await, Some(Ending::Answered("Done.".to_owned())));
    for request in [1, 2] {
        let asked = stage.asked(request);
        let says = |words: &str| {
            let part = |part: &Part| matches!(part, Part::Text(text) if text.body.as_str().contains(words));
            let told: Vec<usize> = (0..asked.len())
                .filter(|&at| asked[at].parts.iter().any(part))
                .collect();
            assert_eq!(told.len(), 1, "{words} in request {request}");
            told[0]
        };
        assert!(says("Never touch main.rs.") <= says("Work."), "request {request}");
    }
}

#[tokio::test]
async fn any_other_text_carries_on_from_where_things_stand() {
    let mut stage = Stage::scripted([calls("Do", &["wait"]), says("Fine.")]);
    let interrupt = stage.interrupt.clone();
    let mut hear = |event: Event| {
        if matches!(event, Event::ToolStarted { .. }) {
            interrupt.throw();
        }
    };
    stage.session.prompt("Work.".into(), &stage.interrupt, &mut hear).await;
    stage.interrupt = Default::default();
    assert_eq!(
        stage.prompt("Do this instead.").await,
        Ending::Answered("Fine.".to_owned())
    );
    let asked = stage.asked(1);
    assert_eq!(asked.len(), 4);
    assert_eq!(stage.check_requests(), 0);
}

#[tokio::test]
async fn an_answer_that_ran_into_the_limit_is_continued_and_given_whole() {
    let mut stage = Stage::scripted([stopped("One, two,", Stop::OutputLimit), says(" three.")]);
    assert_eq!(
        stage.prompt("Count.").await,
        Ending::Answered("One, two, three.".to_owned())
    );
    assert_eq!(stage.asked(1).len(), 3);
    assert_eq!(stage.check_requests(), 0);
    let mut stage = Stage::scripted((0..9).map(|_| stopped("more and", Stop::OutputLimit)));
    assert!(matches!(stage.prompt("Count.").await, Ending::NoAnswer(_)));
    assert_eq!(stage.count(), 4);
}

#[tokio::test]
async fn calls_that_are_cut_at_the_output_limit_are_told_with_it_and_not_repeated_for_long() {
    let cut = || {
        let mut reply = calls("Do", &["fine"]).unwrap();
        reply.broken = vec!["call_0".into()];
        reply.stop = Stop::OutputLimit;
        Ok(reply)
    };
    let mut stage = Stage::scripted([cut(), calls("Do", &["fine"]), cut(), says("Done.")]);
    assert_eq!(stage.prompt("Write.").await, Ending::Answered("Done.".to_owned()));
    let limit = grouped(stage.session.most_output());
    let told = stage.asked(1).pop().unwrap();
    let told = told.tool_results().next().unwrap().texts().next().unwrap().body.clone();
    assert!(
        told.as_str()
            .contains(&format!("the output limit of {limit} tokens within this call")),
        "{told:?}"
    );
    let is_told =
        |event: &&Event| matches!(event, Event::Notice(told) if told.contains(&limit) && told.contains("max_output"));
    assert_eq!(stage.heard.iter().filter(is_told).count(), 2);
    stage.check_requests();
    let mut stage = Stage::scripted((0..9).map(|_| cut()));
    let ending = stage.prompt("Write.").await;
    assert_eq!(stage.count(), 2);
    let expected = format!("its call of Do was cut off at the output limit of {limit} tokens, 2 times in a row");
    assert_eq!(ending, Ending::NoAnswer(expected));
    stage.check_requests();
}

#[tokio::test]
async fn an_answer_that_ran_into_a_full_window_goes_on_in_one_that_has_room() {
    // The window is smaller than anyone has declared.
    let looks = (0..12).map(|step| costing(calls("Look", &[&format!("print {}", 8_000 + step)]), 0, 0));
    let cut = [stopped("One, two,", Stop::WindowFull)];
    let model = Scripted::new(profile(200_000), looks.chain(cut).chain([says(" three.")]));
    let mut stage = Stage::of(model, Settings::default());
    assert_eq!(
        stage.prompt("Count.").await,
        Ending::Answered("One, two, three.".to_owned())
    );
    let reasons: Vec<Reason> = stage.heard.iter().filter_map(compacted).collect();
    assert_eq!(reasons, [Reason::Refused]);
    let weight = |request: usize| stage.asked(request).iter().map(|it| estimate_message(it)).sum::<u64>();
    assert!(weight(13) < weight(12) / 2, "{} {}", weight(12), weight(13));
    // The window is the size of the full request, and no less.
    let window = stage.session.conversation().config().window();
    assert!(
        (weight(12)..weight(12) * 2).contains(&window),
        "{} {window}",
        weight(12)
    );
    // The notice that the answer was cut follows the summary.
    let last = stage.asked(13);
    assert!(last.iter().any(|message| message.parts == [Part::text("One, two,")]));
    let told = &last.last().unwrap().parts;
    assert!(matches!(&told[..], [Part::Text(text)] if text.body.as_str().contains("window was full")));
}

#[tokio::test]
async fn that_an_answer_was_cut_is_told_again_where_compacting_once_more_took_the_words_away() {
    let looks = || (0..12).map(|step| costing(calls("Look", &[&format!("print {}", 8_000 + step)]), 0, 0));
    let refused = || ModelError::TooLong {
        limit: Some(6_000),
        counted: None,
        said: "too long".to_owned(),
    };
    let broken = || stopped("One, two,", Stop::BrokenOff("no such tool".to_owned()));
    for (cut, why) in [
        (stopped("One, two,", Stop::WindowFull), "window was full"),
        (stopped("One, two,", Stop::OutputLimit), "cut at the output limit"),
        (broken(), "was broken off"),
    ] {
        let model = Scripted::new(profile(200_000), looks().chain([cut, Err(refused()), says(" three.")]));
        let mut stage = Stage::of(model, Settings::default());
        assert_eq!(
            stage.prompt("Count.").await,
            Ending::Answered("One, two, three.".to_owned())
        );
        // Once in each of the two requests, and not twice in any.
        for request in [13, 14] {
            let asked = stage.asked(request);
            let told = asked.iter().flat_map(|message| &message.parts);
            let told = told.filter(|part| matches!(part, Part::Text(text) if text.body.as_str().contains(why)));
            assert_eq!(told.count(), 1, "{why}, request {request}");
            let last = &asked.last().unwrap().parts;
            assert!(
                matches!(&last[..], [Part::Text(text)] if text.body.as_str().contains(why)),
                "{why}"
            );
        }
        assert_eq!(stage.count(), 15);
    }
}

fn compacted(event: &Event) -> Option<Reason> {
    match event {
        Event::Compacted { reason, .. } => Some(*reason),
        _ => None,
    }
}

#[tokio::test]
async fn a_paused_turn_is_sent_again_with_what_came_so_far() {
    let mut stage = Stage::scripted([stopped("Searching. ", Stop::Paused), says("Found.")]);
    assert_eq!(
        stage.prompt("Search.").await,
        Ending::Answered("Searching. Found.".to_owned())
    );
    assert_eq!(stage.asked(1).last().unwrap().role, Role::Assistant);
}

#[tokio::test]
async fn a_turn_that_pauses_for_ever_is_ended() {
    // With or without text in each pause: each is billed.
    for words in ["Searching on. ", " "] {
        let model = Scripted::by(profile(200_000), move |_| stopped(words, Stop::Paused));
        let mut stage = Stage::of(model, Settings::default());
        assert!(matches!(stage.prompt("Search.").await, Ending::NoAnswer(_)));
        assert_eq!(stage.count(), 11);
    }
    // Pauses with work in between are not consecutive.
    let replies = (0..60).map(|step| match step {
        59 => says("Done."),
        step if step % 3 == 0 => calls("Look", &[&format!("print {step}")]),
        _ => stopped("Searching on. ", Stop::Paused),
    });
    let mut stage = Stage::scripted(replies);
    assert!(matches!(stage.prompt("Search.").await, Ending::Answered(_)));
    assert_eq!(stage.count(), 60);
}

#[tokio::test]
async fn a_model_that_declines_ends_the_run_in_its_words() {
    let mut stage = Stage::scripted([stopped("", Stop::Declined("not this".to_owned()))]);
    assert_eq!(stage.prompt("Do evil.").await, Ending::Declined("not this".to_owned()));
}

#[tokio::test]
async fn a_model_that_declines_in_the_middle_of_a_call_leaves_no_open_call() {
    let mut declined = calls("Look", &["a"]).unwrap();
    declined.message.parts.insert(0, Part::text("I begin, but"));
    declined.stop = Stop::Declined("not this".to_owned());
    let mut silent = calls("Look", &["b"]).unwrap();
    silent.stop = Stop::Declined("not this".to_owned());
    let mut stage = Stage::scripted([Ok(declined), Ok(silent), says("Gladly.")]);
    let over = Ending::Declined("not this".to_owned());
    assert_eq!(stage.prompt("Do evil.").await, over);
    assert_eq!(stage.prompt("Do it all the same.").await, over);
    assert_eq!(stage.prompt("Do good.").await, Ending::Answered("Gladly.".to_owned()));
    // Declined prompts are not sent again.
    let asked = format!("{:?}", stage.asked(2));
    assert!(!asked.contains("evil") && !asked.contains("all the same"), "{asked}");
    assert!(asked.contains("Do good."));
    assert!(format!("{:?}", stage.session.said()).contains("I begin, but"));
    stage.check_requests();
    stage
        .session
        .conversation_mut()
        .compact(Due::whole(Reason::Asked))
        .unwrap();
}
