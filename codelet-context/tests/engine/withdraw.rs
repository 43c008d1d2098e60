//! What a provider refuses leaves the view, and nothing of it comes back by itself.

use crate::common::{answers, assert_valid, read, result, says};
use codelet_context::breaks::Cause;
use codelet_context::conversation::{Conversation, Due, PartPosition, Report};
use codelet_context::message::{Image, Message, Part, Role, ToolResult};
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::usage::Usage;

const PIXELS: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAB4AAAAeCAAAAAAeW/F+AAAAFUlEQVR42mNowAsYRqVHpUelB1IaAJWBwhDsUig/AAAAAElFTkSuQmCC";

fn picture(data: &str) -> Part {
    Part::Image(Image {
        media_type: "image/png".into(),
        data: data.into(),
        is_url: false,
        extra: Default::default(),
    })
}

fn shows(id: &str, data: &str) -> Message {
    let mut answer = ToolResult::new(id, Some(true), "a.png:");
    answer.output.push(picture(data));
    answer.bare = false;
    answers(vec![Part::ToolResult(answer)])
}

fn said(conversation: &Conversation) -> String {
    format!("{:?}", conversation.view().messages)
}

/// A turn that has looked at a picture.
fn looked() -> Conversation {
    let mut conversation = Conversation::new(CompactionConfig::new(20_000), 0);
    conversation.append(Message::system("Be brief."));
    conversation.append(Message::user("Look at a.png."));
    conversation.append(says(vec![read("one", "a.png")]));
    conversation.append(shows("one", PIXELS));
    conversation
}

const IN_THE_ANSWER: PartPosition = PartPosition {
    message: 3,
    part: 0,
    within: Some(1),
};

/// Long steps, and the compaction that they lead to.
fn compact_after_work(conversation: &mut Conversation) {
    for number in 0..8 {
        let id = format!("work_{number}");
        conversation.append(says(vec![read(&id, &format!("src/part_{number}.rs"))]));
        let text = format!("let part_{number} = load();\n").repeat(200);
        conversation.append(answers(vec![result(&id, text)]));
    }
    let notice = conversation.compact(Due::whole(Reason::Full)).unwrap();
    assert!(notice.changed, "{notice}");
    assert_valid(conversation.view());
}

#[test]
fn a_refused_picture_leaves_under_a_handle_and_the_history_keeps_it() {
    let mut conversation = looked();
    let left = conversation.withdraw(&[IN_THE_ANSWER]);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].label, "Read image");
    assert!(!said(&conversation).contains(PIXELS));
    assert!(said(&conversation).contains(left[0].handle.as_str()));
    assert_eq!(conversation.recall(left[0].handle.as_str(), None), Some(PIXELS));
    assert!(format!("{:?}", conversation.history().messages()).contains(PIXELS));
    assert_eq!(conversation.edits().last().unwrap().reason, Reason::Rejected);
    let why = conversation.why(left[0].handle.as_str()).unwrap();
    assert_eq!(why.edit.unwrap().1.reason, Reason::Rejected);
    assert_valid(conversation.view());
}

#[test]
fn what_was_refused_is_in_no_later_view() {
    let mut conversation = looked();
    conversation.append(says(vec![read("two", "b.png")]));
    conversation.append(answers(vec![result("two", "nothing")]));
    conversation.withdraw(&[IN_THE_ANSWER]);
    compact_after_work(&mut conversation);
    assert!(!said(&conversation).contains(PIXELS));
    assert!(conversation.undo_compact());
    assert!(!said(&conversation).contains(PIXELS), "an undo does not bring it back");
    let earlier = conversation.earlier();
    conversation.append(Message::user("Go on."));
    conversation.restore(earlier);
    compact_after_work(&mut conversation);
    assert!(!said(&conversation).contains(PIXELS));
}

#[test]
fn a_compaction_that_is_taken_back_does_not_show_what_was_refused_since() {
    let mut conversation = Conversation::new(CompactionConfig::new(20_000), 0);
    conversation.append(Message::user("Look at a.png."));
    for number in 0..60 {
        let id = format!("work_{number}");
        conversation.append(says(vec![read(&id, &format!("src/part_{number}.rs"))]));
        conversation.append(answers(vec![result(&id, "let part = load();\n".repeat(200))]));
    }
    conversation.append(says(vec![read("one", "a.png")]));
    conversation.append(shows("one", PIXELS));
    let whole = conversation.view().messages.len();
    conversation.compact(Due::whole(Reason::Full)).unwrap();
    let messages = &conversation.view().messages;
    assert!(messages.len() < whole);
    let shows_it = |message: &std::sync::Arc<Message>| format!("{message:?}").contains(PIXELS);
    let message = messages.iter().position(shows_it).unwrap();
    conversation.withdraw(&[PartPosition {
        message,
        ..IN_THE_ANSWER
    }]);
    assert!(conversation.undo_compact());
    assert_eq!(conversation.view().messages.len(), whole);
    assert!(!said(&conversation).contains(PIXELS));
}

#[test]
fn a_state_from_before_the_refusal_is_restored_without_what_was_refused() {
    let mut conversation = looked();
    let earlier = conversation.earlier();
    conversation.append(Message::user("What is on it?"));
    let left = conversation.withdraw(&[IN_THE_ANSWER]);
    conversation.restore(earlier);
    assert_eq!(conversation.view().messages.len(), 4);
    assert!(!said(&conversation).contains(PIXELS));
    assert_eq!(conversation.recall(left[0].handle.as_str(), None), Some(PIXELS));
    assert_valid(conversation.view());
    compact_after_work(&mut conversation);
    assert!(!said(&conversation).contains(PIXELS));
    conversation.append(says(vec![read("two", "a.png")]));
    conversation.append(shows("two", PIXELS));
    assert!(!said(&conversation).contains(PIXELS));
}

#[test]
fn the_same_picture_is_not_sent_again_until_another_model_is_asked() {
    let mut conversation = looked();
    conversation.withdraw(&[IN_THE_ANSWER]);
    conversation.append(says(vec![read("two", "a.png")]));
    conversation.append(shows("two", PIXELS));
    assert!(!said(&conversation).contains(PIXELS));
    compact_after_work(&mut conversation);
    assert!(!said(&conversation).contains(PIXELS));
    conversation.configure(CompactionConfig::new(20_000));
    conversation.append(says(vec![read("three", "a.png")]));
    conversation.append(shows("three", PIXELS));
    assert!(said(&conversation).contains(PIXELS));
}

#[test]
fn a_refused_turn_leaves_with_all_its_steps_and_what_was_said_before_stands() {
    let mut conversation = looked();
    conversation.append(Message::assistant("A grey square."));
    let before = conversation.view().messages.clone();
    let earlier = conversation.earlier();
    conversation.append(Message::user("Now the forbidden thing."));
    conversation.append(says(vec![read("two", "secret.txt")]));
    conversation.append(answers(vec![result("two", "how to do it")]));
    let usage = Usage::from_exclusive(900, 0, 0, 10);
    conversation.sending(false);
    conversation.replied(
        Message::assistant("I"),
        Report {
            usage,
            is_whole: true,
            ..Report::default()
        },
    );
    let left = conversation.withdraw_since(&earlier).unwrap();
    let messages = &conversation.view().messages;
    assert_eq!(messages[..before.len()], before[..]);
    assert_eq!(messages.len(), before.len() + 1);
    assert!(messages.iter().all(|message| !message.parts.is_empty()));
    let back = conversation.recall(left.handle.as_str(), None).unwrap();
    assert!(
        back.contains("user: Now the forbidden thing.") && back.contains("how to do it"),
        "{back}"
    );
    let breaks = conversation.breaks();
    assert_eq!(breaks.last().unwrap().cause, Cause::Edit(Reason::Rejected));
    assert_eq!(conversation.history().messages().len(), before.len() + 4);
    conversation.append(Message::user("Something else."));
    compact_after_work(&mut conversation);
    let now = said(&conversation);
    assert!(!now.contains("forbidden") && !now.contains("how to do it"), "{now}");
    assert!(now.contains("Something else."));
    assert_eq!(conversation.fates().len(), conversation.history().messages().len());
}

#[test]
fn a_compaction_within_a_refused_turn_is_taken_back_with_it() {
    let mut conversation = looked();
    conversation.append(Message::assistant("A grey square."));
    let before = conversation.view().messages.clone();
    let earlier = conversation.earlier();
    conversation.append(Message::user("Now the forbidden thing."));
    compact_after_work(&mut conversation);
    conversation.withdraw_since(&earlier).unwrap();
    assert_eq!(conversation.view().messages[..before.len()], before[..]);
    assert!(!conversation.undo_compact(), "no compaction is left to take back");
    assert!(conversation.withdraw_since(&conversation.earlier()).is_none());
}

#[test]
fn nothing_leaves_from_a_place_at_which_nothing_can_go() {
    let mut conversation = looked();
    for (message, part, within) in [(0, 0, None), (2, 0, None), (3, 0, None), (3, 0, Some(7)), (99, 0, None)] {
        let place = PartPosition { message, part, within };
        assert!(conversation.withdraw(&[place]).is_empty(), "{place:?}");
    }
    assert!(conversation.edits().is_empty());
}

#[test]
fn a_prompt_whose_picture_was_refused_is_still_a_prompt() {
    let mut conversation = Conversation::new(CompactionConfig::new(20_000), 0);
    conversation.append(Message::new(
        Role::User,
        vec![Part::text("What is this?"), picture(PIXELS)],
    ));
    let place = PartPosition {
        message: 0,
        part: 1,
        within: None,
    };
    assert_eq!(conversation.withdraw(&[place, place]).len(), 1);
    assert!(conversation.view().messages[0].is_prompt());
    assert!(!said(&conversation).contains(PIXELS));
}
