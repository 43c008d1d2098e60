//! Compactions in the middle of sessions.

use crate::common::{Stage, calls, costing, profile, says};
use codelet_agent::event::Event;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::ModelError;
use codelet_agent::run::Ending;
use codelet_agent::scripted::Scripted;
use codelet_agent::session::Settings;
use codelet_context::conversation::Conversation;
use codelet_context::message::{Message, Origin, Part};
use codelet_context::policy::Reason;

#[tokio::test]
async fn a_long_task_compacts_in_the_middle_of_its_turn_and_goes_on() {
    let mut step = 0;
    let model = Scripted::by(profile(30_000), move |request| {
        step += 1;
        let tokens: u64 = request
            .messages
            .iter()
            .map(|m| codelet_context::tokens::estimate_message(m))
            .sum();
        // The limit is enforced: a request that does not fit is refused.
        if tokens > 30_000 {
            return Err(ModelError::TooLong {
                limit: Some(30_000),
                counted: None,
                said: format!("{tokens} tokens"),
            });
        }
        match step {
            120 => costing(says("Done."), tokens, 5),
            _ => costing(calls("Look", &[&format!("print {}", 9_000 + step)]), tokens, 30),
        }
    });
    let mut stage = Stage::of(model, Settings::default());
    assert_eq!(
        stage.prompt("Read everything.").await,
        Ending::Answered("Done.".to_owned())
    );
    assert_eq!(stage.count(), 120);
    let compactions: Vec<Reason> = stage
        .heard
        .iter()
        .filter_map(|event| match event {
            Event::Compacted { reason, notice } => {
                assert!(notice.changed);
                Some(*reason)
            }
            _ => None,
        })
        .collect();
    assert!(
        compactions.len() >= 5 && compactions.iter().all(|reason| *reason == Reason::Full),
        "{compactions:?}"
    );
    // Every request extends the previous one, except at edit points.
    assert_eq!(stage.check_requests(), compactions.len());
    // Removed parts can be read back.
    let conversation = stage.session.conversation();
    let (handle, removed) = conversation.archive().iter().next().unwrap();
    assert_eq!(conversation.recall(handle.as_str(), None), Some(removed.body.as_str()));
}

#[tokio::test]
async fn what_the_user_asks_a_compaction_to_keep_is_quoted_before_other_things() {
    // Each output occurs only once, and all of them together are three times the target size.
    let words = ["almond", "walnut", "cherry", "damson", "medlar", "quince"];
    let mut stage = Stage::scripted([says("Ready.")]);
    stage.prompt("Wait.").await;
    let mut told = stage.session.conversation().clone();
    for step in 0..90 {
        let word = words[step % words.len()];
        let lines = (0..60).map(|line| format!("let {word}_{step}_{line} = count_of({line}, {step});\n"));
        told.append(Message::assistant(lines.collect::<String>()));
        told.append(Message::user("Go on."));
    }
    let budget = told.state("", 0).current / 3;
    let lines = |conversation: &Conversation, text: &str| {
        let parts = conversation.view().messages.iter().flat_map(|message| &message.parts);
        let texts = parts.filter_map(|part| match part {
            Part::Text(text) => Some(text.body.as_str()),
            _ => None,
        });
        texts.map(|shown| shown.matches(text).count()).sum::<usize>()
    };
    let mut usual = told.clone();
    usual.compact_to(budget, Reason::Asked).unwrap();
    told.attend_to(Some("keep what the walnuts are"));
    told.compact_to(budget, Reason::Asked).unwrap();
    let (without, with) = (lines(&usual, "let walnut_"), lines(&told, "let walnut_"));
    assert!(
        with > without + without / 2,
        "{with} of 900 lines, {without} if it is not asked for"
    );
}

#[tokio::test]
async fn instructions_for_a_compaction_are_for_that_one_only() {
    let looks = (0..60).map(|step| {
        let lines = (0..60).map(|line| format!("let part_{step}_{line} = count_of({line}, {step});"));
        calls("Look", &[&lines.collect::<Vec<_>>().join("\n")])
    });
    let model = Scripted::new(profile(120_000), looks.chain([says("Done.")]));
    let mut stage = Stage::of(model, Settings::default());
    stage.prompt("Look at all of it.").await;
    let summary = |stage: &Stage| {
        let messages = &stage.session.conversation().view().messages;
        let parts = messages.iter().flat_map(|message| &message.parts);
        let summary = parts.filter_map(|part| match part {
            Part::Text(text) if text.origin == Origin::Summary => Some(text.body.as_str()),
            _ => None,
        });
        summary.collect::<Vec<_>>().join("\n")
    };
    let ask = async |stage: &mut Stage, words: Option<&str>| {
        let came = stage.session.compact(words, &Interrupt::new(), &mut |_| {}).await;
        came.unwrap();
        let summary = summary(stage);
        assert!(stage.session.conversation_mut().undo_compact());
        summary
    };
    let usual = ask(&mut stage, None).await;
    let asked = ask(&mut stage, Some("  keep what part_7 is ")).await;
    assert_eq!(asked.matches("Pinned: keep what part_7 is\n").count(), 1);
    assert_eq!(ask(&mut stage, None).await, usual);
}

#[tokio::test]
async fn what_broke_the_cache_stays_beside_the_bill_when_the_user_begins_anew() {
    let billed = |words: &str| costing(says(words), 20_000, 50);
    let mut stage = Stage::scripted([billed("One."), billed("Two.")]);
    stage.prompt("Go.").await;
    let mut other = profile(200_000);
    other.name = "another/model".to_owned();
    let model = Scripted::new(other, [billed("Three."), billed("Four.")]);
    stage.session.change_model(Box::new(model));
    stage.prompt("Go on.").await;
    stage.session.clear();
    stage.prompt("Anew.").await;
    let breaks = stage.session.conversation().breaks();
    let told: Vec<_> = breaks.iter().map(|it| (it.cause.name(), it.request)).collect();
    assert_eq!(told, [("model", 2), ("cleared", 3)]);
    assert_eq!(stage.session.bill().requests, 3);
}
