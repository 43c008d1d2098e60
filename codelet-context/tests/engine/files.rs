//! Blocks that the engine does not read: files of the user, what the vendor keeps, what the vendor goes on with.

use crate::common::{answers, conversation_of, result, says};
use codelet_context::compact::{Compaction, Target, compact};
use codelet_context::conversation::{Conversation, Due};
use codelet_context::history::History;
use codelet_context::message::{Message, Nature, Opaque, Part, Role, ToolCall, ToolResult};
use codelet_context::policy::Reason;
use codelet_context::tokens::estimate_part;
use codelet_context::validate::validate;
use codelet_context::view::View;
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

fn file(name: &str, bytes: usize, tokens: u64) -> Part {
    let value = json!({"type": "document", "title": name, "data": "J".repeat(bytes)});
    Part::Opaque(Opaque::new("document", value).that_is(Nature::File {
        name: Some(name.into()),
        tokens,
    }))
}

fn block(nature: Nature) -> Part {
    Part::Opaque(Opaque::new("block", json!({"type": "block", "id": "b1"})).that_is(nature))
}

fn step(number: usize, bytes: usize) -> [Message; 2] {
    let id = format!("c{number}");
    let output: String = (0..bytes / 20)
        .map(|line| format!("{number} line {line} of it\n"))
        .collect();
    [
        says(vec![Part::ToolCall(ToolCall::new(
            id.as_str(),
            "Read",
            Default::default(),
        ))]),
        answers(vec![result(&id, output)]),
    ]
}

fn session(prompt: Vec<Part>, steps: usize) -> Vec<Message> {
    let mut messages = vec![Message::new(Role::User, prompt)];
    (0..steps).for_each(|number| messages.extend(step(number, 4_000)));
    messages
}

fn compacted(messages: Vec<Message>, target: Target) -> Compaction {
    let history: History = messages.into_iter().collect();
    let done = compact(&history, target);
    assert_eq!(validate(&done.view), []);
    done
}

fn shown(done: &Compaction) -> Vec<&Part> {
    done.view.messages.iter().flat_map(|message| &message.parts).collect()
}

#[test]
fn a_file_weighs_what_its_kind_does_and_not_its_bytes() {
    assert_eq!(estimate_part(&file("a.pdf", 4_000_000, 90_000)), 90_005);
    let unknown = Part::Opaque(Opaque::new("novelty", json!({"type": "novelty"})));
    assert_eq!(estimate_part(&unknown), 5 + 5);
}

#[test]
fn a_prompt_that_is_only_a_file_stays() {
    let contract = file("contract.pdf", 400, 3_000);
    let done = compacted(session(vec![contract.clone()], 60), Target::Budget(20_000));
    assert!(done.changed && done.after.tokens <= 20_000);
    assert_eq!(done.view.messages[0].parts, [contract]);
}

#[test]
fn a_file_without_room_gives_way_to_a_marker_that_restores_it() {
    let contract = file("contract.pdf", 400_000, 9_000);
    let prompt = vec![Part::text("mind the contract"), contract.clone()];
    let done = compacted(session(prompt, 60), Target::Budget(4_000));
    let Part::Text(marker) = &done.view.messages[0].parts[1] else {
        panic!("the file is still there: {:?}", done.after);
    };
    let words = marker.body.as_str();
    assert!(words.starts_with("[document contract.pdf, 400,"), "{words}");
    let handle = marker.cut.as_ref().unwrap();
    let Part::Opaque(contract) = contract else {
        unreachable!()
    };
    let restored = done.view.archive.recall(handle.as_str(), None);
    assert_eq!(restored, Some(contract.json().as_str()));
    assert!(words.contains(handle.as_str()));
}

#[test]
fn a_file_in_an_old_result_gives_way_and_one_in_a_new_result_may_stay() {
    let mut messages = session(vec![Part::text("read them")], 1);
    let read = |id: &str| {
        let mut result = ToolResult::new(id, Some(true), "");
        result.output = vec![file("a.pdf", 4_000, 6_000)];
        answers(vec![Part::ToolResult(result)])
    };
    messages.push(says(vec![Part::ToolCall(ToolCall::new(
        "r",
        "Read",
        Default::default(),
    ))]));
    messages.push(read("r"));
    let done = compacted(messages, Target::Budget(3_000));
    assert!(done.after.tokens <= 3_000, "{:?}", done.after);
    let texts: String = format!("{:?}", shown(&done));
    assert!(texts.contains("[document a.pdf, 4,"), "{texts}");
}

#[test]
fn what_the_vendor_keeps_comes_back_as_it_is() {
    let mut kept = ToolResult::new("elsewhere", Some(true), "the answer\n".repeat(20));
    kept.is_apart = true;
    let mut messages = vec![
        answers(vec![Part::ToolResult(kept.clone())]),
        says(vec![block(Nature::Reference)]),
    ];
    messages.extend(session(vec![Part::text("go on")], 60));
    for target in [Target::Select, Target::Budget(4_000), Target::Budget(300)] {
        let done = compacted(messages.clone(), target);
        let parts = shown(&done);
        assert!(parts.contains(&&block(Nature::Reference)), "{target:?}");
        let stays = |part: &&Part| matches!(part, Part::ToolResult(result) if result.call_id == kept.call_id);
        assert!(parts.into_iter().any(|part| stays(&part)), "{target:?}");
    }
    let done = compacted(messages[..1].to_vec(), Target::Select);
    assert!(!done.changed, "an answer to a call elsewhere is no orphan");
}

#[test]
fn nothing_follows_a_reply_that_the_vendor_goes_on_with() {
    let mut messages = session(vec![Part::text("search for it")], 60);
    let paused = says(vec![Part::text("Searching."), block(Nature::Pending)]);
    messages.push(paused.clone());
    let done = compacted(messages.clone(), Target::Budget(6_000));
    assert!(done.changed);
    assert_eq!(**done.view.messages.last().unwrap(), paused);
    // An orphan in it is mended, and the end stays.
    messages.insert(1, answers(vec![result("nobody", "x")]));
    let done = compacted(messages, Target::Budget(1_000_000));
    assert!(done.changed);
    assert_eq!(**done.view.messages.last().unwrap(), paused);
}

#[test]
fn a_reply_that_the_vendor_goes_on_with_no_more_is_closed_by_a_marker() {
    let paused = says(vec![Part::text("Searching."), block(Nature::Pending)]);
    let mut said = conversation_of(
        session(vec![Part::text("search for it")], 3)
            .into_iter()
            .chain([paused.clone()]),
        100_000,
    );
    let is_valid = |said: &Conversation| validate(said.view()).is_empty();
    assert!(is_valid(&said), "it is sent as it came");
    said.append(Message::user("never mind"));
    assert!(is_valid(&said));
    let at = said.view().messages.len() - 2;
    let [Part::Text(words), Part::Text(marker)] = &said.view().messages[at].parts[..] else {
        panic!("{:?}", said.view().messages[at]);
    };
    assert_eq!(words.body.as_str(), "Searching.");
    let handle = marker.cut.as_ref().unwrap();
    let Part::Opaque(opaque) = &paused.parts[1] else {
        unreachable!()
    };
    assert_eq!(said.recall(handle.as_str(), None), Some(opaque.json().as_str()));
    // What was said is kept as it was, and what is built anew from it is in order.
    assert_eq!(*said.history().messages()[at], paused);
    said.compact(Due::whole(Reason::Asked)).unwrap();
    assert!(is_valid(&said));
    // Left as it is, it would be refused by the vendor whose own tools there are.
    let mut left = View::new(session(vec![Part::text("search")], 1));
    left.messages
        .extend([Arc::new(paused.clone()), Arc::new(Message::user("never mind"))]);
    assert_eq!(validate(&left).len(), 1);
    // Its continuation begins with what came of it.
    let goes_on = says(vec![block(Nature::Unknown), Part::text("Found.")]);
    left.messages.insert(left.messages.len() - 1, Arc::new(goes_on));
    assert!(validate(&left).is_empty());
}

proptest! {
    #[test]
    fn no_file_of_the_user_disappears(
        prompts in prop::collection::vec((0usize..30_000, 0u64..20_000, 0usize..6), 1..5),
        budget in 200u64..20_000,
    ) {
        let mut messages = Vec::new();
        for (number, &(bytes, tokens, steps)) in prompts.iter().enumerate() {
            let parts = vec![file(&format!("f{number}.pdf"), bytes, tokens)];
            messages.extend(session(parts, steps).into_iter().map(|mut message| {
                for part in &mut message.parts {
                    match part {
                        Part::ToolCall(call) => call.id = format!("{number}{}", call.id).into(),
                        Part::ToolResult(result) => result.call_id = format!("{number}{}", result.call_id).into(),
                        _ => {}
                    }
                }
                message
            }));
        }
        let files: Vec<Part> = messages.iter().flat_map(|message| &message.parts).filter(|part| matches!(part, Part::Opaque(_))).cloned().collect();
        let done = compacted(messages, Target::Budget(budget));
        let parts = shown(&done);
        for file in files {
            let Part::Opaque(opaque) = &file else { unreachable!() };
            let marked = |part: &&&Part| match part {
                Part::Text(text) => text.cut.as_ref().and_then(|handle| done.view.archive.recall(handle.as_str(), None)) == Some(opaque.json().as_str()),
                _ => false,
            };
            prop_assert!(parts.contains(&&file) || parts.iter().any(|part| marked(&part)));
        }
    }
}
