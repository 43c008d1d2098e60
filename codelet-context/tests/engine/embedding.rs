//! What programs run into that are built on the engine alone: requests that nobody announces,
//! conversations in which nothing was said, edits that were due elsewhere.

use crate::common::{answers, result, run, says};
use codelet_context::breaks::Cause;
use codelet_context::conversation::{Conversation, Refusal, Report, Signals};
use codelet_context::economics::{Economics, Preset};
use codelet_context::message::Message;
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::price::{self, PriceCard};
use codelet_context::usage::Usage;
use codelet_context::validate::{Violation, validate};
use proptest::prelude::*;
use std::sync::Arc;

/// How a program tells of its requests.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Tells {
    Both,
    Reports,
    Nothing,
}

/// Text unlike any other.
fn rows(seed: usize, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        let number = (seed + text.len()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        text.push_str(&format!("row_{number:x} = thing_{:x}\n", number.rotate_left(17)));
    }
    text
}

struct Played {
    conversation: Conversation,
    reasons: Vec<Reason>,
    dollars: f64,
}

/// What each request holds beside its messages, in tokens.
const OVERHEAD: u64 = 500;

/// So many steps against a provider that reads the prompt of the request before from its cache where this one extends it,
/// and otherwise what stands before all messages: there are marks behind the tools, and at the end.
fn play(card: &PriceCard, preset: Preset, tells: Tells, steps: usize) -> Played {
    let economics = Economics::new(card.clone()).preset(preset);
    let mut conversation = Conversation::new(CompactionConfig::new(1_000_000), OVERHEAD).under(economics);
    conversation.append(Message::user("Look at everything."));
    let (mut reasons, mut dollars) = (Vec::new(), 0.0);
    let mut sent: Vec<Arc<Message>> = Vec::new();
    let mut prompt = 0;
    for step in 0..steps {
        if let Some(due) = conversation.decide(Signals::default()) {
            reasons.push(due.reason());
            conversation.compact(due).unwrap();
        }
        if tells == Tells::Both {
            conversation.sending(false);
        }
        let now = conversation.occupancy();
        let read = if conversation.view().messages.starts_with(&sent) {
            prompt
        } else {
            OVERHEAD.min(prompt)
        };
        let usage = Usage::from_exclusive(0, now.saturating_sub(read), read, 30);
        dollars += card.cost(usage, 0);
        sent = conversation.view().messages.clone();
        let id = format!("call_{step}");
        let reply = says(vec![run(&id, &format!("./look {step}"))]);
        match tells {
            Tells::Nothing => conversation.append(reply),
            _ => conversation.replied(
                reply,
                Report {
                    usage,
                    reasoning: 0,
                    is_whole: true,
                },
            ),
        }
        prompt = now;
        conversation.append(answers(vec![result(&id, rows(step * 10_000_000, 4_800))]));
    }
    Played {
        conversation,
        reasons,
        dollars,
    }
}

#[test]
fn requests_that_nobody_announces_are_edited_for_their_price_and_it_pays() {
    for (card, steps) in [("5m", 300), ("1h", 500), ("read-0.05", 600)] {
        let card = price::find(card).unwrap();
        let never = play(card, Preset::Off, Tells::Reports, steps);
        let edited = play(card, Preset::Faithful, Tells::Reports, steps);
        let is_priced = |reason: &&Reason| **reason == Reason::Price;
        let edits = edited.reasons.iter().filter(is_priced).count();
        assert!((1..=15).contains(&edits), "{}: {:?}", card.name, edited.reasons);
        // Also by a provider that can read nothing before the place of an edit.
        assert!(
            edited.dollars < never.dollars * 0.95,
            "{}: {} of {}",
            card.name,
            edited.dollars,
            never.dollars
        );
        for entry in edited.conversation.breaks() {
            if let Some(actual) = entry.actual {
                assert!((actual - entry.predicted).abs() <= entry.predicted * 0.05, "{entry:?}");
            }
        }
    }
}

#[test]
fn where_nothing_is_reported_nothing_is_edited_for_its_price() {
    let card = price::usual();
    let played = play(&card, Preset::Thrifty, Tells::Nothing, 150);
    assert_eq!(played.reasons, []);
    // One that is announced from some time on has marks from then on, and one that is not, has none.
    assert!(!play(&card, Preset::Faithful, Tells::Both, 300).reasons.is_empty());
}

#[test]
fn where_nothing_was_said_there_is_nothing_to_compact() {
    for system in [None, Some("You are careful.")] {
        let mut conversation = Conversation::new(CompactionConfig::new(20_000), 400);
        system
            .into_iter()
            .for_each(|system| conversation.append(Message::system(system)));
        let before = conversation.view().clone();
        for reason in [Reason::Asked, Reason::Full, Reason::Cold, Reason::Price] {
            let notice = conversation.compact_to(1_000, reason).unwrap();
            assert!(
                !notice.changed && notice.before == notice.after && !notice.can_undo,
                "{notice:?}"
            );
            assert!(notice.to_string().starts_with("Nothing to compact:"), "{notice}");
        }
        assert_eq!(*conversation.view(), before);
        assert!(conversation.edits().is_empty());
        // It goes on like any other.
        conversation.append(Message::user("Hello."));
        assert_eq!(validate(conversation.view()), []);
    }
}

#[test]
fn reasons_causes_presets_and_refusals_print_as_their_names() {
    assert_eq!(format!("{} {}", Reason::Full, Cause::Unplanned), "full unplanned");
    assert_eq!(format!("[{:>9}]", Preset::Thrifty), "[  thrifty]");
    let violation = Violation {
        message: 0,
        sentence: "There is nothing to answer".to_owned(),
    };
    let said = Refusal::Invalid(violation).to_string();
    assert!(said.contains("a provider would reject"), "{said}");
}

/// A conversation with steps of such outputs, of which an edit may be due.
fn with(steps: &[u16], seed: usize) -> Conversation {
    let card = price::usual();
    let mut conversation = Conversation::new(CompactionConfig::new(200_000), 500).under(Economics::new(card));
    conversation.append(Message::user("Go."));
    for (step, bytes) in steps.iter().enumerate() {
        conversation.sending(false);
        let usage = Usage::from_exclusive(0, 0, conversation.state("", 0).current, 30);
        let id = format!("call_{step}");
        let report = Report {
            usage,
            reasoning: 0,
            is_whole: true,
        };
        conversation.replied(says(vec![run(&id, &format!("./look {step}"))]), report);
        conversation.append(answers(vec![result(
            &id,
            rows(seed + step * 1_000_000, usize::from(*bytes)),
        )]));
    }
    conversation
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn an_edit_that_was_due_elsewhere_leaves_a_valid_view(
        long in proptest::collection::vec(2_000u16..20_000, 30..60),
        short in proptest::collection::vec(0u16..9_000, 0..12),
        is_cold: bool,
    ) {
        let signals = Signals { is_cold, ..Signals::default() };
        if let Some(due) = with(&long, 7).decide(signals) {
            let mut other = with(&short, 900_000_007);
            let before = other.shown().tokens;
            if let Ok(notice) = other.compact(due) {
                prop_assert!(notice.after <= notice.before);
            }
            prop_assert!(other.shown().tokens <= before);
            prop_assert_eq!(validate(other.view()), []);
        }
    }
}
