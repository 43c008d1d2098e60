//! The cache model compared with examples worked out by hand, and with invariants of every conversation.

use codelet_context::message::{Message, Part};
use codelet_replay::cache::{Bill, Cache, LOOK_BACK, Rules};
use codelet_replay::prompt::Prompt;
use proptest::prelude::*;
use std::sync::Arc;

const MINUTE: u64 = 60_000;

fn rules() -> Rules {
    Rules {
        marks: Some(4),
        minimum: 1_000,
        lives: 5 * MINUTE,
        bills_writes: true,
    }
}

/// A conversation of one-part messages, each of 1,000 tokens, after a head of 2,000.
struct Talk {
    cache: Cache,
    prompt: Prompt,
    messages: Vec<Arc<Message>>,
    edits: usize,
}

impl Talk {
    fn new(rules: Rules) -> Self {
        Talk {
            cache: Cache::new(rules),
            prompt: Prompt::new(2_000),
            messages: Vec::new(),
            edits: 0,
        }
    }

    /// Appends `more` messages and sends, marked after the head, at the end of the last request and at the end.
    fn send(&mut self, more: usize, now: u64) -> (u64, u64, u64) {
        let sent = self.prompt.messages().len();
        for _ in 0..more {
            let words = format!("message {}", self.messages.len());
            self.messages.push(Arc::new(Message::user(words)));
        }
        let change = self.prompt.update(&self.messages, usize::MAX, |_: &Part| 1_000);
        let same = self.prompt.places_before(change.kept.min(sent));
        let marks = [1, self.prompt.places(), same];
        counts(self.cache.send(&self.prompt, &marks, same, now))
    }

    fn edit(&mut self, at: usize) {
        self.edits += 1;
        self.messages[at] = Arc::new(Message::user(format!("edited {}", self.edits)));
        let change = self.prompt.update(&self.messages, at, |_: &Part| 1_000);
        assert_eq!(change.kept, at);
    }
}

fn counts(bill: Bill) -> (u64, u64, u64) {
    (bill.usage.fresh, bill.usage.cache_read, bill.usage.cache_write)
}

#[test]
fn each_request_reads_the_one_before_it_and_writes_what_is_new() {
    let mut talk = Talk::new(rules());
    assert_eq!(talk.send(3, 0), (0, 0, 5_000));
    assert_eq!(talk.send(2, MINUTE), (0, 5_000, 2_000));
    assert_eq!(talk.send(0, 2 * MINUTE), (0, 7_000, 0));
}

#[test]
fn an_entry_lives_from_the_start_of_the_request_that_used_it_last() {
    let mut talk = Talk::new(rules());
    talk.send(3, 0);
    assert_eq!(talk.send(1, 5 * MINUTE), (0, 5_000, 1_000));
    assert_eq!(talk.send(1, 10 * MINUTE), (0, 6_000, 1_000));
    assert_eq!(talk.send(1, 15 * MINUTE + 1), (0, 0, 8_000));
}

#[test]
fn an_edit_leaves_what_is_before_the_marks_that_stand_before_it() {
    let mut talk = Talk::new(rules());
    talk.send(40, 0);
    talk.edit(20);
    // The end of the last request is gone, and no entry ends at message 20: only the head is found.
    let same = talk.prompt.places_before(20);
    let bill = talk
        .cache
        .send(&talk.prompt, &[1, talk.prompt.places(), same], same, MINUTE);
    assert_eq!(counts(bill), (0, 2_000, 40_000));
    // That request was marked there, so the next edit at the same place keeps everything before it.
    talk.messages[20] = Arc::new(Message::user("edited again"));
    talk.prompt.update(&talk.messages, 20, |_: &Part| 1_000);
    let bill = talk
        .cache
        .send(&talk.prompt, &[1, talk.prompt.places(), same], same, MINUTE);
    assert_eq!(counts(bill), (0, 22_000, 20_000));
}

#[test]
fn a_mark_finds_an_entry_twenty_places_back_and_no_further() {
    for (grown, read) in [(LOOK_BACK - 1, 4_000), (LOOK_BACK, 0)] {
        let mut cache = Cache::new(rules());
        let mut prompt = Prompt::new(500);
        let messages: Vec<_> = (0..40).map(|n| Arc::new(Message::user(format!("{n}")))).collect();
        prompt.update(&messages[..7], 0, |_: &Part| 500);
        cache.send(&prompt, &[prompt.places()], 0, 0);
        prompt.update(&messages[..7 + grown], 7, |_: &Part| 500);
        let bill = cache.send(&prompt, &[prompt.places()], 0, 0);
        assert_eq!(bill.usage.cache_read, read, "grown by {grown}");
    }
}

#[test]
fn only_four_marks_count_and_none_before_the_shortest_prefix() {
    let mut cache = Cache::new(rules());
    let mut prompt = Prompt::new(900);
    let messages: Vec<_> = (0..9).map(|n| Arc::new(Message::user(format!("{n}")))).collect();
    prompt.update(&messages, 0, |_: &Part| 100);
    // The head is too short to be cached; everything after the fourth mark is uncached.
    let bill = cache.send(&prompt, &[1, 2, 3, 4, 10], 0, 0);
    assert_eq!(counts(bill), (600, 0, 1_200));
}

#[test]
fn without_marks_the_longest_prefix_is_read_and_nothing_is_billed_for_writing() {
    let mut talk = Talk::new(Rules {
        marks: None,
        bills_writes: false,
        ..rules()
    });
    assert_eq!(talk.send(30, 0), (32_000, 0, 0));
    assert_eq!(talk.send(1, MINUTE), (1_000, 32_000, 0));
    talk.edit(10);
    let same = talk.prompt.places_before(10);
    let bill = talk.cache.send(&talk.prompt, &[], same, 2 * MINUTE);
    assert_eq!(counts(bill), (21_000, 12_000, 0));
    assert_eq!(talk.send(0, 60 * MINUTE), (33_000, 0, 0));
}

proptest! {
    #[test]
    fn a_growing_prompt_writes_only_its_growth(
        steps in prop::collection::vec((0usize..30, 0u64..4), 1..30),
        marked in any::<bool>(),
    ) {
        let marks = marked.then_some(4);
        let mut talk = Talk::new(Rules { marks, ..rules() });
        let (mut now, mut held) = (0, 0);
        for (number, (more, minutes)) in steps.into_iter().enumerate() {
            now += minutes * MINUTE;
            let (fresh, read, write) = talk.send(more, now);
            prop_assert_eq!(fresh, 0);
            prop_assert_eq!(read + write, talk.prompt.tokens());
            if number > 0 {
                prop_assert_eq!(read, held);
            }
            held = talk.prompt.tokens();
        }
    }

    #[test]
    fn the_counts_make_up_the_prompt_whatever_is_edited(
        steps in prop::collection::vec((1usize..12, 0usize..200, 0u64..8), 1..40),
        marks in prop::option::of(0usize..5),
        bills_writes in any::<bool>(),
    ) {
        let mut talk = Talk::new(Rules { marks, bills_writes, ..rules() });
        let mut now = 0;
        for (more, edited, minutes) in steps {
            now += minutes * MINUTE;
            if edited < talk.messages.len() {
                talk.edit(edited);
            }
            let (fresh, read, write) = talk.send(more, now);
            prop_assert_eq!(fresh + read + write, talk.prompt.tokens());
            prop_assert!(bills_writes || write == 0);
        }
    }

    #[test]
    fn a_prompt_brought_up_to_date_is_one_made_anew(
        edits in prop::collection::vec((0usize..12, any::<bool>()), 0..20),
    ) {
        let weigh = |part: &Part| match part {
            Part::Text(text) => text.body.len() as u64,
            _ => 0,
        };
        let mut messages: Vec<Arc<Message>> = Vec::new();
        let mut prompt = Prompt::new(7);
        for (number, (at, cut)) in edits.into_iter().enumerate() {
            let at = at.min(messages.len());
            if cut {
                messages.truncate(at);
            }
            messages.insert(at.min(messages.len()), Arc::new(Message::user(format!("{number}{}", "x".repeat(number)))));
            prompt.update(&messages, 0, weigh);
            let mut anew = Prompt::new(7);
            anew.update(&messages, 0, weigh);
            prop_assert_eq!(prompt.occupancy(), anew.occupancy());
            prop_assert_eq!(prompt.tokens(), prompt.occupancy().total());
            prop_assert_eq!(prompt.places(), anew.places());
            for place in 0..prompt.places() {
                prop_assert_eq!(prompt.chain(place), anew.chain(place));
            }
        }
    }
}
