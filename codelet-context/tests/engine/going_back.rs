//! Going back to one of the places that a session keeps of its prompts.

use crate::common::session;
use codelet_context::conversation::{Conversation, Due, Point};
use codelet_context::message::Message;
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::tokens::Tokens;
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug)]
enum Op {
    Append(usize),
    Compact(Tokens),
    Undo,
    Prompt,
    Back(usize),
    BackAndForth(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1..12usize).prop_map(Op::Append),
        3 => (200..20_000u64).prop_map(Op::Compact),
        1 => Just(Op::Undo),
        5 => Just(Op::Prompt),
        2 => (0..20usize).prop_map(Op::Back),
        2 => (0..20usize).prop_map(Op::BackAndForth),
    ]
}

/// How a conversation stood at a prompt.
struct Stood {
    point: Point,
    view: Vec<Arc<Message>>,
    history: Vec<Arc<Message>>,
    tokens: Tokens,
}

impl Stood {
    fn check(&self, now: &Conversation) {
        assert_eq!(now.view().messages, self.view);
        assert_eq!(now.history().messages(), self.history);
        assert_eq!(now.state("", 0).current, self.tokens);
    }
}

fn lived(messages: &[Arc<Message>], ops: Vec<Op>) {
    let mut conversation = Conversation::new(CompactionConfig::new(20_000), 100);
    let mut left = messages.iter().cloned();
    let mut prompts: Vec<Stood> = Vec::new();
    for op in ops {
        match op {
            Op::Append(count) => left
                .by_ref()
                .take(count)
                .for_each(|message| conversation.append(message)),
            Op::Compact(tokens) => drop(conversation.compact_to(tokens, Reason::Asked)),
            Op::Undo => drop(conversation.undo_compact()),
            Op::Prompt => {
                let stood = Stood {
                    point: conversation.point(prompts.last().map(|stood| &stood.point)),
                    view: conversation.view().messages.clone(),
                    history: conversation.history().messages().to_vec(),
                    tokens: conversation.state("", 0).current,
                };
                prompts.push(stood);
                conversation.append(Message::user(format!("And number {}.", prompts.len())));
            }
            Op::Back(number) if number < prompts.len() => {
                let handles: Vec<String> = conversation.archive().iter().map(|kept| kept.0.to_string()).collect();
                assert!(conversation.go_back(&prompts[number].point));
                prompts[number].check(&conversation);
                for handle in handles {
                    assert!(conversation.recall(&handle, None).is_some(), "{handle}");
                }
                prompts.truncate(number);
            }
            Op::BackAndForth(number) if number < prompts.len() => {
                let (view, tokens) = (conversation.view().messages.clone(), conversation.state("", 0).current);
                let later = conversation.earlier();
                assert!(conversation.go_back(&prompts[number].point));
                conversation.append(Message::user("Something else."));
                let _ = conversation.compact(Due::whole(Reason::Asked));
                conversation.restore(later);
                assert_eq!(conversation.view().messages, view);
                assert_eq!(conversation.state("", 0).current, tokens);
            }
            Op::Back(_) | Op::BackAndForth(_) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_was_done_since_a_prompt_its_place_is_as_it_was(source in session(), ops in prop::collection::vec(op(), 1..30)) {
        lived(&source.messages, ops);
    }
}
