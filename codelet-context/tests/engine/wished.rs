//! Compactions that the model asks for: made where they pay, and else nothing is touched. And when the user wants any at all.

use crate::caching::{OVERHEAD, Provider, output, under};
use crate::common::{answers, result, run, says};
use codelet_context::conversation::{Conversation, Declined, Due, Report, Signals};
use codelet_context::economics::Economics;
use codelet_context::message::{Message, Part};
use codelet_context::policy::{CompactAt, CompactionConfig, Reason};
use codelet_context::price;
use codelet_context::tokens::{Tokens, estimate_message};
use proptest::prelude::*;
use std::sync::Arc;

const WISHED: Signals = Signals {
    is_wished: true,
    is_asked: false,
    is_cold: false,
};

/// A session with a provider, and what it has cost in dollars.
struct Played {
    conversation: Conversation,
    provider: Provider,
    sent: Vec<Arc<Message>>,
    dollars: f64,
    steps: usize,
    wishes: usize,
}

impl Played {
    fn new(economics: Economics, window: Tokens, at: CompactAt) -> Self {
        let mut config = CompactionConfig::new(window);
        config.compact_at = at;
        let provider = Provider::new(&economics.card);
        let mut conversation = Conversation::new(config, OVERHEAD).under(economics);
        conversation.append(Message::system(output(1_000_000, 8_000)));
        conversation.append(Message::user("Look at everything."));
        Played {
            conversation,
            provider,
            sent: Vec::new(),
            dollars: 0.0,
            steps: 0,
            wishes: 0,
        }
    }

    /// One step that says and prints so many bytes. Returns why the conversation was edited before it.
    fn step(&mut self, (words, bytes): (usize, usize), asks: bool) -> Option<Reason> {
        let before = self.conversation.view().messages.clone();
        let is_wished = asks && self.conversation.wished().is_ok();
        assert_eq!(self.conversation.view().messages, before, "to ask changes nothing");
        let signals = Signals {
            is_wished,
            ..Signals::default()
        };
        let due = self.conversation.decide(signals);
        if let Some(due) = due {
            let notice = self.conversation.compact(due).unwrap();
            self.wishes += usize::from(due.reason() == Reason::Wished && notice.changed);
            assert!(notice.after <= notice.before);
        } else {
            assert!(self.conversation.view().messages.starts_with(&self.sent));
        }
        assert!(self.conversation.occupancy() <= self.conversation.config().limit());
        let edges = self.conversation.sending(false);
        let mut usage = self.provider.bill(&self.conversation.view().messages, edges);
        self.sent.clone_from(&self.conversation.view().messages);
        let id = format!("call_{}", self.steps);
        let said = Part::text(output(2_000_000 + self.steps, words));
        let reply = says(vec![said, run(&id, &format!("./look {}", self.steps))]);
        usage.output = estimate_message(&reply);
        self.dollars += self.conversation.economics().card.cost(usage, 0);
        let report = Report {
            usage,
            reasoning: 0,
            is_whole: true,
        };
        self.conversation.replied(reply, report);
        self.conversation
            .append(answers(vec![result(&id, output(self.steps, bytes))]));
        self.steps += 1;
        due.map(Due::reason)
    }
}

#[test]
fn a_compaction_is_granted_once_the_session_has_made_as_many_steps_as_pay_for_it() {
    let mut session = Played::new(under("5m"), 400_000, CompactAt::Full);
    session.step((2_000, 6_000), false);
    let told = session.conversation.wished().unwrap_err();
    assert_eq!(told, Declined::TooSoon, "{told}");
    let mut granted = None;
    for step in 1..150 {
        if session.step((2_000, 6_000), true) == Some(Reason::Wished) {
            granted = Some(step);
            break;
        }
    }
    assert!(granted.is_some_and(|step| step > 20), "{granted:?}");
    // The next one is a while away, whatever the model asks.
    for _ in 0..7 {
        assert_eq!(session.conversation.wished(), Err(Declined::TooSoon));
        session.step((2_000, 6_000), true);
    }
    assert_eq!(session.wishes, 1);
    let last = session.conversation.edits().last().unwrap();
    assert_eq!((last.reason, last.reason.name()), (Reason::Wished, "wished"));
}

#[test]
fn what_costs_nothing_to_read_is_compacted_at_a_wish_where_the_window_fills_up_anyway() {
    let free = Economics::new(price::find("free").unwrap().clone());
    let mut session = Played::new(free, 100_000, CompactAt::Full);
    let mut before = 0;
    while session.step((2_000, 6_000), true) != Some(Reason::Wished) {
        before = session.conversation.occupancy();
        assert!(session.steps < 60);
    }
    assert!((72_000..80_000).contains(&before), "{before}");
}

#[test]
fn a_share_of_the_window_brings_a_compaction_forward_and_makes_it_as_much_smaller() {
    let mut session = Played::new(under("free"), 100_000, CompactAt::Share(0.5));
    assert_eq!(session.conversation.config().trigger(), 50_000);
    let mut peak = 0;
    loop {
        let before = session.conversation.occupancy();
        match session.step((2_000, 6_000), false) {
            Some(reason) => {
                assert_eq!(reason, Reason::Full);
                assert!(before > 50_000 && peak <= 50_000, "{before} after {peak}");
                break;
            }
            None => peak = before,
        }
    }
    let edit = session.conversation.edits().last().unwrap();
    assert!(edit.after <= 20_000, "{edit:?}");
}

#[test]
fn where_only_the_user_compacts_neither_price_nor_model_does_and_a_full_window_is_told() {
    let card = price::find("tier-5x").unwrap().clone();
    let mut session = Played::new(Economics::new(card), 150_000, CompactAt::Never);
    let due = loop {
        assert_eq!(session.conversation.wished(), Err(Declined::Off));
        match session
            .conversation
            .decide(WISHED)
            .filter(|due| due.reason() != Reason::Wished)
        {
            Some(due) if due.is_light() => {
                session.conversation.compact(due).unwrap();
            }
            Some(due) => break due,
            None => {
                let edges = session.conversation.sending(false);
                let usage = session.provider.bill(&session.conversation.view().messages, edges);
                let id = format!("call_{}", session.steps);
                let reply = says(vec![Part::text(output(session.steps, 6_000)), run(&id, "./look")]);
                let report = Report {
                    usage,
                    reasoning: 0,
                    is_whole: true,
                };
                session.conversation.replied(reply, report);
                session
                    .conversation
                    .append(answers(vec![result(&id, output(session.steps, 2_000))]));
                session.steps += 1;
            }
        }
    };
    assert_eq!(due.reason(), Reason::Full);
    assert!(session.conversation.occupancy() > 150_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever is asked for when, requests extend each other between edits, fit, and no session pays more than a little for it: also
    /// none that ends right after an edit.
    #[test]
    fn wishes_at_any_time_cost_no_session_much(
        steps in 10usize..90, asked in prop::collection::vec(any::<bool>(), 90), words in 500usize..4_000, bytes in 500usize..12_000,
        card in prop::sample::select(vec!["5m", "1h", "no-write-fee"]),
    ) {
        let mut with = Played::new(under(card), 200_000, CompactAt::Full);
        let mut without = Played::new(under(card), 200_000, CompactAt::Full);
        for &asks in &asked[..steps] {
            with.step((words, bytes), asks);
            without.step((words, bytes), false);
        }
        prop_assert!(with.dollars <= without.dollars * 1.08, "{} of {}", with.dollars, without.dollars);
        if with.wishes == 0 {
            prop_assert_eq!(&with.sent, &without.sent);
        }
    }
}
