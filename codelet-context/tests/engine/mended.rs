//! A conversation that is no valid one: what is known of its messages by their numbers holds for them once it is mended.

use crate::common::{answers, conversation_of, result, run, says};
use codelet_context::compact::{FateKind, Options, Target, compact_with};
use codelet_context::conversation::Conversation;
use codelet_context::history::History;
use codelet_context::message::{Message, Part};
use codelet_context::pin::Pin;
use codelet_context::policy::{CompactionConfig, Reason};

/// A file of so many lines, none of which is in another.
fn output(file: usize) -> String {
    let lines = (0..80).map(|line| format!("let value_{}_{file} = {};\n", line * 7, line * file));
    lines.collect()
}

/// Steps behind what stands first.
fn messages(first: Vec<Message>, steps: usize) -> Vec<Message> {
    let mut messages = first;
    messages.push(Message::user("Look at all of it."));
    for step in 0..steps {
        let id = format!("c{step}");
        messages.push(says(vec![run(&id, &format!("cat {step}.rs"))]));
        messages.push(answers(vec![result(&id, output(step + 1))]));
    }
    messages.push(Message::assistant("Done."));
    messages.push(Message::user("And now?"));
    messages
}

/// What stands first in conversations that are to be mended: a greeting, two of them, replies in a row, answers to nothing.
fn beginnings() -> Vec<Vec<Message>> {
    let hello = || Message::assistant("Hello, what shall I do?");
    let orphan = || answers(vec![result("nobody", "lost".to_owned())]);
    vec![
        vec![],
        vec![hello()],
        vec![hello(), hello()],
        vec![orphan(), orphan()],
        vec![Message::user("hi"), says(vec![run("c3", "true")]), hello(), orphan()],
    ]
}

#[test]
fn a_pinned_message_stays_whatever_was_mended_before_it() {
    for first in beginnings() {
        let start = first.len() + 1;
        let messages = messages(first.clone(), 40);
        for step in [2, 5, 11] {
            let at = start + step * 2 + 1;
            let mut conversation = conversation_of(messages.clone(), 100_000);
            assert!(conversation.pin(Pin::Message(at)));
            let fates = conversation.fates();
            conversation.compact_to(12_000, Reason::Asked).unwrap();
            let shown = conversation
                .view()
                .messages
                .iter()
                .flat_map(|message| message.tool_results());
            let shown: Vec<&str> = shown
                .flat_map(|result| result.texts())
                .map(|text| text.body.as_str())
                .collect();
            assert!(shown.contains(&output(step + 1).as_str()), "{step}: {first:?}");
            assert!(!shown.contains(&output(step + 2).as_str()), "{step}: {first:?}");
            assert_eq!(fates.len(), messages.len());
        }
    }
}

#[test]
fn the_fates_of_a_mended_conversation_are_those_of_its_own_messages() {
    for first in beginnings() {
        let start = first.len() + 1;
        let messages = messages(first.clone(), 40);
        let history: History = messages.iter().cloned().collect();
        let at = start + 11;
        let pins = [at];
        let done = compact_with(
            &history,
            &Options {
                pins: &pins,
                ..Options::new(Target::Budget(12_000))
            },
        );
        assert_eq!(done.fates.len(), messages.len());
        assert_eq!(done.fates[at].kind, FateKind::Kept, "{first:?}: {:?}", done.fates[at]);
        assert_ne!(done.fates[at + 2].kind, FateKind::Kept);
        assert_eq!(done.fates[start - 1].kind, FateKind::Kept, "the prompt");
    }
}

#[test]
fn a_session_that_is_mended_again_and_again_is_compacted_as_one_that_is_mended_once() {
    for first in beginnings() {
        let messages = messages(first, 60);
        let mut grown = Conversation::new(CompactionConfig::new(100_000), 0);
        for (at, message) in messages.iter().enumerate() {
            grown.append(message.clone());
            let is_open = message.calls().next().is_some();
            if at % 25 == 24 && !is_open {
                let _ = grown.compact_to(10_000, Reason::Asked);
            }
        }
        grown.compact_to(8_000, Reason::Asked).unwrap();
        let mut once = conversation_of(messages, 100_000);
        once.compact_to(8_000, Reason::Asked).unwrap();
        let told = |conversation: &Conversation| -> Vec<Vec<Part>> {
            conversation
                .view()
                .messages
                .iter()
                .map(|message| message.parts.clone())
                .collect()
        };
        assert_eq!(told(&grown).len(), told(&once).len());
    }
}
