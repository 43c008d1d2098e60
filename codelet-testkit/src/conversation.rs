//! Strategies for property tests: conversations as agents should record them, as some do, and compaction targets.

use crate::plan::{self, Fault, Lead, Op, Seal, Use};
use crate::shape;
use crate::words::{Kind, Words};
use codelet_context::compact::Target;
use codelet_context::message::Message;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::ops::Deref;

/// A conversation whose `Debug` output is shape notation, so that a failing case is readable and can become a test.
#[derive(Clone, PartialEq)]
pub struct Conversation(pub Vec<Message>);

impl Deref for Conversation {
    type Target = Vec<Message>;

    fn deref(&self) -> &Vec<Message> {
        &self.0
    }
}

impl IntoIterator for Conversation {
    type Item = Message;
    type IntoIter = std::vec::IntoIter<Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{}", shape::exact(&self.0))
    }
}

/// Any conversation: mostly small and orderly, often faulty, sometimes long.
pub fn conversation() -> impl Strategy<Value = Conversation> {
    prop_oneof![5 => tidy(), 4 => broken(), 1 => long()]
}

/// A well-formed conversation: begins with a prompt (after system prompt and reminders), and each call is answered
/// once, directly after it.
pub fn tidy() -> impl Strategy<Value = Conversation> {
    (head(), vec(turn(0..5), 1..5))
        .prop_map(|(head, turns)| Conversation(plan::build(&[head, turns.concat()].concat())))
}

/// A typical long session: one or two prompts and many steps.
pub fn long() -> impl Strategy<Value = Conversation> {
    (head(), vec(turn(10..40), 1..3))
        .prop_map(|(head, turns)| Conversation(plan::build(&[head, turns.concat()].concat())))
}

/// Anything in any order, including faults.
pub fn broken() -> impl Strategy<Value = Conversation> {
    let any = prop_oneof![3 => ordinary(), 2 => step(&Kind::ALL), 3 => fault()];
    vec(any, 0..14).prop_map(|plan| Conversation(plan::build(&plan)))
}

/// A compaction target: often smaller than achievable, often larger than necessary.
pub fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        1 => Just(Target::Select),
        2 => (0u64..400).prop_map(Target::Budget),
        4 => (400u64..20_000).prop_map(Target::Budget),
        1 => (500u64..50_000).prop_map(Target::Window),
    ]
}

/// A text of any kind, including blank ones.
pub fn any_words() -> impl Strategy<Value = Words> {
    words(&Kind::ALL)
}

/// A text that is not blank.
pub fn telling_words() -> impl Strategy<Value = Words> {
    words(&Kind::ALL[..Kind::TELLING])
}

fn words(kinds: &'static [Kind]) -> impl Strategy<Value = Words> {
    // Few seeds, so that outputs repeat; most texts are short, some exceed every threshold.
    let size = prop_oneof![60 => 0usize..200, 25 => 200usize..2_000, 13 => 3_500usize..9_000, 2 => 20_000usize..60_000];
    (select(kinds), size, 0u8..5).prop_map(|(kind, size, seed)| Words { kind, size, seed })
}

/// A person's text: rarely more than a few lines.
fn spoken() -> impl Strategy<Value = Words> {
    let short = (select(&Kind::ALL[..Kind::TELLING]), 1usize..300, 0u8..=255);
    let short = short.prop_map(|(kind, size, seed)| Words { kind, size, seed });
    prop_oneof![9 => short, 1 => telling_words()]
}

fn head() -> impl Strategy<Value = Vec<Op>> {
    let system = option::of(spoken().prop_map(Op::System));
    let reminders = vec(
        (0u8..4, spoken()).prop_map(|(kind, words)| Op::Reminder(kind, words)),
        0..3,
    );
    (system, reminders).prop_map(|(system, reminders)| system.into_iter().chain(reminders).collect())
}

fn turn(steps: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Op>> {
    let middle = prop_oneof![12 => step(&Kind::ALL[..Kind::TELLING]), 1 => aside()];
    let end = option::of(prop_oneof![spoken().prop_map(Op::Say), thought()]);
    (prompt(), vec(middle, steps), end)
        .prop_map(|(prompt, middle, end)| std::iter::once(prompt).chain(middle).chain(end).collect())
}

fn prompt() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => spoken().prop_map(Op::Prompt),
        1 => (option::of(0u8..4), spoken(), any::<bool>())
            .prop_map(|(reminder, words, image)| Op::RichPrompt { reminder, words, image }),
    ]
}

/// An operation between steps that is not a step.
fn aside() -> impl Strategy<Value = Op> {
    prop_oneof![
        (0u8..4, spoken()).prop_map(|(kind, words)| Op::Reminder(kind, words)),
        spoken().prop_map(Op::Injected),
        spoken().prop_map(Op::Strange),
    ]
}

fn ordinary() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => prompt(),
        2 => any_words().prop_map(Op::Prompt),
        2 => any_words().prop_map(Op::Say),
        2 => thought(),
        1 => aside(),
        1 => any_words().prop_map(Op::System),
        1 => any_words().prop_map(Op::Summary),
        1 => any_words().prop_map(Op::Notice),
    ]
}

fn thought() -> impl Strategy<Value = Op> {
    (seal(), spoken()).prop_map(|(seal, words)| Op::Think(seal, words))
}

fn seal() -> impl Strategy<Value = Seal> {
    select(&[Seal::Open, Seal::Signed, Seal::Redacted][..])
}

fn step(outputs: &'static [Kind]) -> impl Strategy<Value = Op> {
    let lead = prop_oneof![
        3 => Just(Lead::Nothing),
        2 => spoken().prop_map(Lead::Says),
        1 => (seal(), spoken()).prop_map(|(seal, words)| Lead::Thinks(seal, words)),
    ];
    let uses = prop_oneof![6 => vec(one(outputs), 1..2), 2 => vec(one(outputs), 2..4), 1 => vec(one(outputs), 4..12)];
    (lead, uses).prop_map(|(lead, uses)| Op::Step(lead, uses))
}

fn one(outputs: &'static [Kind]) -> impl Strategy<Value = Use> {
    (0u8..10, 0u8..8, 0u8..4, 0u8..40, words(outputs)).prop_map(|(tool, target, status, form, output)| Use {
        tool,
        target,
        status,
        // Most results are plain strings.
        form: form.saturating_add(if form >= 5 { 200 } else { 0 }),
        output,
    })
}

fn fault() -> impl Strategy<Value = Op> {
    let fault = (select(&Fault::ALL[..]), one(&Kind::ALL)).prop_map(|(fault, one)| Op::Fault(fault, one));
    let unanswered = vec(one(&Kind::ALL), 1..4).prop_map(Op::Unanswered);
    prop_oneof![5 => fault, 1 => unanswered]
}
