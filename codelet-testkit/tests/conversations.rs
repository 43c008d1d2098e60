//! Guarantees of the generated conversations, and that shape notation can express all of them.

use codelet_context::message::{Message, Role};
use codelet_testkit::{broken, conversation, conversation_from_bytes, shape, tidy};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;

fn ids<'a, T>(items: impl Iterator<Item = T>, id: impl Fn(T) -> &'a str) -> Vec<&'a str> {
    items.map(id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_tidy_conversation_answers_each_call_once_directly_after(messages in tidy()) {
        let mut seen = BTreeSet::new();
        for (index, message) in messages.iter().enumerate() {
            let calls = ids(message.calls(), |call| &call.id);
            prop_assert!(calls.iter().all(|id| seen.insert(*id)));
            let answers = match messages.get(index + 1) {
                Some(next) => ids(next.tool_results(), |result| &result.call_id),
                None => Vec::new(),
            };
            prop_assert_eq!(calls, answers);
        }
        let first = messages.iter().find(|m| m.role != Role::System);
        prop_assert!(first.is_some_and(|m| m.role == Role::User));
        prop_assert!(messages.iter().any(Message::is_prompt));
    }

    #[test]
    fn shape_notation_carries_any_conversation(messages in conversation()) {
        let written = shape::exact(&*messages);
        let read = shape::parse(&written).expect("what is written can be read");
        prop_assert_eq!(shape::exact(&read), written);
        prop_assert_eq!(read.len(), messages.len());
        for (a, b) in read.iter().zip(&*messages) {
            prop_assert_eq!(a.role, b.role);
            prop_assert_eq!(a.parts.len(), b.parts.len());
            prop_assert_eq!(a.is_prompt(), b.is_prompt());
            prop_assert!(a.calls().zip(b.calls()).all(|(a, b)| a.id == b.id && a.tool == b.tool && a.parameters == b.parameters));
        }
    }

    #[test]
    fn a_line_for_people_is_one_line(messages in conversation(), width in 20usize..200) {
        for message in messages.iter() {
            prop_assert!(!codelet_transcript::shape::line(message, width).chars().any(char::is_control));
        }
        prop_assert!(!codelet_transcript::shape::write_at(&*messages, width).chars().any(|c| c.is_control() && c != '\n'));
    }

    #[test]
    fn bytes_make_the_same_conversation_each_time(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(conversation_from_bytes(&bytes), conversation_from_bytes(&bytes));
    }
}

#[test]
fn the_mixture_holds_small_and_large_and_every_fault() {
    let mut runner = TestRunner::deterministic();
    let mut sizes = Vec::new();
    let (mut orphans, mut unanswered, mut empty, mut no_prompt) = (0, 0, 0, 0);
    for _ in 0..2_000 {
        let messages = broken().new_tree(&mut runner).expect("nothing is rejected").current();
        let calls: BTreeSet<_> = messages.iter().flat_map(|m| m.calls()).map(|c| c.id.clone()).collect();
        let answers: BTreeSet<_> = messages
            .iter()
            .flat_map(|m| m.tool_results())
            .map(|r| r.call_id.clone())
            .collect();
        orphans += usize::from(!answers.is_subset(&calls));
        unanswered += usize::from(!calls.is_subset(&answers));
        empty += usize::from(messages.iter().any(|m| m.parts.is_empty()));
        no_prompt += usize::from(!messages.iter().any(Message::is_prompt));
        let any = conversation()
            .new_tree(&mut runner)
            .expect("nothing is rejected")
            .current();
        sizes.push(any.iter().map(codelet_context::tokens::estimate_message).sum::<u64>());
    }
    assert!(orphans > 100 && unanswered > 100 && empty > 100 && no_prompt > 50);
    sizes.sort_unstable();
    // Small in the middle, large at the end.
    assert!(sizes[1_000] < 8_000, "{}", sizes[1_000]);
    assert!(sizes[1_950] > 20_000, "{}", sizes[1_950]);
}
