//! When what was sent is edited to save money: the mathematics hold, and an edit changes what it says and nothing else.

use crate::caching::{OVERHEAD, Provider, output, stale, under};
use crate::common::{answers, assert_valid, result, run, says, session};
use codelet_context::breaks::{Break, Cause};
use codelet_context::conversation::{Conversation, Report, Signals};
use codelet_context::economics::{Economics, Preset, break_cost, break_even};
use codelet_context::message::{Message, Part};
use codelet_context::pin::Pin;
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::strategy;
use codelet_context::tokens::{Tokens, estimate_message};
use codelet_context::usage::Usage;
use codelet_testkit::Stopwatch;
use proptest::prelude::*;
use std::sync::Arc;

struct Played {
    conversation: Conversation,
    dollars: f64,
    usage: Usage,
}

/// Plays steps that each print so many bytes. `idle` are steps before which the cache expires.
fn play(economics: Economics, window: Tokens, steps: usize, bytes: usize, idle: &[usize]) -> Played {
    play_saying(economics, window, steps, (0, bytes), idle)
}

/// The same, where each reply says so many bytes, which stay.
fn play_saying(
    economics: Economics,
    window: Tokens,
    steps: usize,
    (words, bytes): (usize, usize),
    idle: &[usize],
) -> Played {
    let card = economics.card.clone();
    let mut provider = Provider::new(&card);
    let mut conversation = Conversation::new(CompactionConfig::new(window), OVERHEAD).under(economics);
    conversation.append(Message::system(output(1_000_000, 8_000)));
    conversation.append(Message::user("Look at everything."));
    let (mut dollars, mut bill) = (0.0, Usage::default());
    for number in 0..steps {
        let is_cold = idle.contains(&number);
        if is_cold {
            provider.expire();
        }
        let signals = Signals {
            is_cold,
            ..Signals::default()
        };
        if let Some(due) = conversation.decide(signals) {
            conversation.compact(due).unwrap();
        }
        let edges = conversation.sending(is_cold);
        let mut usage = provider.bill(&conversation.view().messages, edges);
        let id = format!("call_{number}");
        let mut parts = vec![run(&id, &format!("./look {number}"))];
        if words > 0 {
            parts.insert(0, Part::text(output(2_000_000 + number, words)));
        }
        let reply = says(parts);
        usage.output = estimate_message(&reply);
        dollars += card.cost(usage, 0);
        bill = bill.plus(usage);
        let report = Report {
            usage,
            reasoning: 0,
            is_whole: true,
        };
        conversation.replied(reply, report);
        conversation.append(answers(vec![result(&id, output(number, bytes))]));
    }
    Played {
        conversation,
        dollars,
        usage: bill,
    }
}

/// How many tokens are best removed at once, where `growth` tokens become removable at each step and `tail` tokens stand
/// behind them. Smaller batches break the prefix too often, larger ones pay rent too long.
fn batch_size(read: f64, write: f64, tail: f64, growth: f64) -> f64 {
    (2.0 * growth * break_cost(read, write, tail) / read).sqrt()
}

#[test]
fn break_even_and_batch_size_are_as_written() {
    // 30,000 tokens behind, 10,000 removed, five minutes: 1.15 × 30,000 / (0.1 × 10,000).
    assert!((break_even(0.1, 1.25, 30_000.0, 10_000.0) - 34.5).abs() < 1e-9);
    assert!((break_cost(0.1, 1.25, 30_000.0) - 34_500.0).abs() < 1e-9);
    let batch = batch_size(0.1, 1.25, 22_000.0, 1_200.0);
    assert!((24_000.0..26_000.0).contains(&batch), "{batch}");
    // At the best batch size, rent and breaks cost the same in each round.
    let (tail, growth) = (22_000.0, 1_200.0);
    let steps = batch / growth;
    assert!((0.1 * growth * steps * steps / 2.0 - break_cost(0.1, 1.25, tail)).abs() < 1.0);
    // A smaller and a larger batch cost more per step.
    let per_step = |batch: f64| break_cost(0.1, 1.25, tail) * growth / batch + 0.1 * batch / 2.0;
    assert!(per_step(batch) < per_step(batch * 0.8) && per_step(batch) < per_step(batch * 1.25));
}

/// Under steady growth the policy comes to the batch of the formula without knowing the growth, for edits that are due at
/// one and a half times their cost: within a fifth, because it acts between steps, and moves its mark first. Where the
/// best batch is smaller than the floor between two edits allows,
/// the floor decides.
#[test]
fn under_steady_growth_the_policy_reaches_the_batch_size_of_the_formula() {
    for (card, words, bytes) in [
        ("5m", 4_000, 4_000),
        ("1h", 2_000, 4_000),
        ("no-write-fee", 6_000, 4_000),
        ("5m", 3_000, 8_000),
        ("read-0.05", 1_500, 3_000),
    ] {
        let economics = under(card);
        let (read, write) = (economics.card.rates.cache_read, economics.card.write());
        let left = economics.preset.left().unwrap();
        let played = play_saying(economics, 5_000_000, 600, (words, bytes), &[]);
        let edits: Vec<_> = played.conversation.breaks().iter().skip(2).collect();
        assert!(edits.len() >= 4, "{card}: {} edits", edits.len());
        let mean = |of: &dyn Fn(&Break) -> f64| edits.iter().map(|it| of(it)).sum::<f64>() / edits.len() as f64;
        let (removed, tail) = (mean(&|it| it.removed as f64), mean(&|it| it.rewritten as f64));
        // What becomes removable with each step: an output, less its marker and what is left of it.
        let growth = (bytes / 4 - 28) as f64 * (1.0 - left);
        let due = batch_size(read, write, tail, growth) * 1.5f64.sqrt();
        eprintln!(
            "{card}, {bytes} bytes a step: batches of {removed:.0} tokens, by the formula {due:.0} (tail {tail:.0})"
        );
        assert!(
            (0.8..1.2).contains(&(removed / due)),
            "{card}: {removed} is not near {due}"
        );
    }
}

#[test]
fn every_break_is_planned_and_costs_what_was_predicted() {
    for card in ["5m", "1h", "no-write-fee", "read-0.05"] {
        let played = play(under(card), 400_000, 400, 4_000, &[150, 300]);
        let breaks = played.conversation.breaks();
        assert!(
            breaks.iter().all(|it| it.cause != Cause::Unplanned),
            "{card}: {breaks:#?}"
        );
        assert!(
            breaks.iter().filter(|it| it.is_edit()).count() >= 4,
            "{card}: {breaks:#?}"
        );
        let cold = breaks.iter().filter(|it| it.cause == Cause::Edit(Reason::Cold)).count();
        assert_eq!(cold, 2, "{card}: an expired cache is made use of");
        for it in breaks {
            let actual = it.actual.unwrap();
            assert!((it.predicted / actual - 1.0).abs() <= 0.05, "{card}: {it:?}");
        }
    }
}

#[test]
fn edits_pay_on_every_card_and_never_cost_more_than_they_save_together() {
    for card in ["5m", "1h", "no-write-fee", "read-0.05", "tier-5x"] {
        let never = play(under(card).preset(Preset::Off), 2_000_000, 300, 4_000, &[]);
        for preset in [Preset::Faithful, Preset::Balanced, Preset::Thrifty] {
            let played = play(under(card).preset(preset), 2_000_000, 300, 4_000, &[]);
            let share = played.dollars / never.dollars;
            eprintln!("{card}, {}: {share:.3} of never editing", preset.name());
            assert!(share < 0.75, "{card}, {}: {share}", preset.name());
        }
        assert!(never.conversation.breaks().is_empty());
    }
}

#[test]
fn a_tier_is_not_passed_while_that_can_be_helped() {
    let played = play(under("tier-5x"), 1_000_000, 300, 4_000, &[]);
    let edits = played.conversation.edits();
    assert!(edits.iter().all(|edit| edit.before < 106_000), "{edits:#?}");
    assert!(played.conversation.state("", 0).current <= 101_000);
}

#[test]
fn a_session_that_is_mostly_read_reads_nearly_everything_from_the_cache() {
    let played = play(under("5m"), 200_000, 300, 2_400, &[]);
    let share = played.usage.cache_read as f64 / played.usage.prompt() as f64;
    eprintln!("{share:.4} of all prompts read from the cache");
    assert!(share >= 0.96, "{share}");
}

#[test]
fn two_edits_are_steps_and_tokens_apart() {
    let played = play(under("5m").preset(Preset::Thrifty), 1_000_000, 400, 9_000, &[]);
    let requests: Vec<u64> = played.conversation.breaks().iter().map(|it| it.request).collect();
    assert!(requests.len() > 5);
    assert!(requests.windows(2).all(|two| two[1] - two[0] >= 8), "{requests:?}");
}

const COLD: Signals = Signals {
    is_asked: false,
    is_wished: false,
    is_cold: true,
};

#[test]
fn an_expired_cache_is_made_use_of_and_a_warm_one_left_alone() {
    let mut conversation = stale(80);
    assert_eq!(conversation.decide(Signals::default()), None);
    let due = conversation.decide(COLD).unwrap();
    assert_eq!((due.reason(), due.is_light()), (Reason::Cold, true));
    let before = conversation.view().messages.clone();
    let notice = conversation.compact(conversation.decide(COLD).unwrap()).unwrap();
    assert!(notice.to_string().starts_with("Context trimmed: "), "{notice}");
    assert!(notice.after < notice.before);
    assert_eq!(
        conversation.view().messages.len(),
        before.len(),
        "everything stands where it stood"
    );
    // What was printed lately is still there: three outputs of a thousand tokens each.
    let sheltered = before.len() - 2 * 3;
    assert!(
        before[sheltered..]
            .iter()
            .zip(&conversation.view().messages[sheltered..])
            .all(|(a, b)| Arc::ptr_eq(a, b))
    );
    assert_eq!(conversation.decide(COLD), None, "there is nothing left to remove");
}

#[test]
fn an_output_under_an_id_that_is_used_again_is_never_taken_for_the_other() {
    let mut conversation = Conversation::new(CompactionConfig::new(400_000), 0);
    conversation.append(Message::user("Look at everything."));
    // Some servers begin anew with each reply.
    for number in 0..80 {
        conversation.append(says(vec![run("call_0", &format!("./look {number}"))]));
        conversation.append(answers(vec![result("call_0", output(number, 4_000))]));
    }
    if let Some(due) = conversation.decide(COLD) {
        conversation.compact(due).unwrap();
    }
    conversation.compact_to(60_000, Reason::Asked).unwrap();
    let whole = conversation.history().messages().to_vec();
    for message in &conversation.view().messages {
        for (place, text) in message.tool_results().flat_map(|result| result.texts()).enumerate() {
            let Some(handle) = &text.cut else { continue };
            let behind = conversation.recall(handle.as_str(), None).unwrap();
            // What is left of it is a piece of what its handle gives back.
            for line in text
                .body
                .as_str()
                .lines()
                .filter(|line| !line.contains(handle.as_str()) && !line.starts_with('…'))
            {
                assert!(behind.contains(line), "{place}: {line}");
            }
            assert!(whole.iter().any(|message| {
                message
                    .tool_results()
                    .any(|result| result.texts().any(|text| text.body.as_str() == behind))
            }));
        }
    }
}

#[test]
fn what_was_set_aside_can_be_read_back_and_put_back() {
    let mut conversation = stale(80);
    let before = conversation.view().messages.clone();
    conversation.compact(conversation.decide(COLD).unwrap()).unwrap();
    let trimmed = conversation.view().messages.clone();
    let (mut found, mut quoted) = (0, 0);
    for (old, new) in before.iter().zip(&trimmed) {
        for (old, new) in old.tool_results().zip(new.tool_results()) {
            let Some(handle) = new.texts().find_map(|text| text.cut.clone()) else {
                continue;
            };
            found += 1;
            assert_eq!(
                conversation.recall(handle.as_str(), None),
                Some(old.texts().next().unwrap().body.as_str())
            );
            let why = conversation.why(handle.as_str()).unwrap();
            assert_eq!(
                why.edit.map(|(number, edit)| (number, edit.reason)),
                Some((1, Reason::Cold))
            );
            let shown = new.texts().next().unwrap().body.as_str();
            let (marker, lines) = shown.split_once('\n').unwrap_or((shown, ""));
            let why = if lines.is_empty() {
                "set aside"
            } else {
                "set aside but for these lines"
            };
            assert!(
                marker.starts_with(&format!("[Bash output, 4,000 bytes, {why} · recall ")),
                "{shown}"
            );
            let old = old.texts().next().unwrap().body.as_str();
            for line in lines.lines().filter(|line| *line != "…") {
                assert!(old.contains(line), "{line:?}");
                quoted += line.len();
            }
        }
    }
    assert!(found >= 30, "{found}");
    let share = quoted as f64 / (found * 4_000) as f64;
    assert!((0.05..0.1).contains(&share), "{share} of it is left");
    assert!(conversation.undo_compact());
    assert_eq!(conversation.view().messages, before);
    assert_eq!(
        conversation.decide(COLD),
        None,
        "what the user wanted back is not taken away again"
    );
}

#[test]
fn what_was_set_aside_stays_so_after_a_compaction() {
    let mut conversation = stale(80);
    conversation.compact(conversation.decide(COLD).unwrap()).unwrap();
    let masked = |conversation: &Conversation| {
        let messages = &conversation.view().messages;
        let results = messages.iter().flat_map(|message| message.tool_results());
        let cut = results.filter(|result| result.texts().all(|text| text.cut.is_some()));
        cut.map(|result| result.call_id.to_string()).collect::<Vec<_>>()
    };
    let first = masked(&conversation);
    conversation.compact_to(60_000, Reason::Asked).unwrap();
    let shown: Vec<String> = {
        let messages = &conversation.view().messages;
        let results = messages.iter().flat_map(|message| message.tool_results());
        results.map(|result| result.call_id.to_string()).collect()
    };
    let second = masked(&conversation);
    assert!(
        first
            .iter()
            .filter(|id| shown.contains(id))
            .all(|id| second.contains(id))
    );
}

#[test]
fn a_pin_keeps_an_output_whole() {
    let mut conversation = stale(80);
    assert!(conversation.pin(Pin::Message(3)));
    let pinned = conversation.view().messages[3].clone();
    conversation.compact(conversation.decide(COLD).unwrap()).unwrap();
    assert_eq!(conversation.view().messages[3], pinned);
    assert_ne!(conversation.view().messages[5], conversation.history().messages()[5]);
}

#[test]
fn a_light_edit_that_comes_late_does_what_can_still_be_done() {
    let due = stale(80).decide(COLD).unwrap();
    for steps in [0, 2, 40, 120] {
        let mut conversation = stale(steps);
        let before = conversation.view().messages.clone();
        let notice = conversation.compact(due).unwrap();
        assert!(notice.after <= notice.before, "{notice}");
        assert_eq!(before.len(), conversation.view().messages.len());
        assert_valid(conversation.view());
    }
}

#[test]
fn off_edits_nothing_before_the_window_is_full() {
    let mut conversation = stale(80);
    conversation.set_economics(Economics::default().preset(Preset::Off));
    assert_eq!(conversation.decide(COLD), None);
}

/// The time of a step does not grow with the conversation, nor does that of setting aside a megabyte; and setting eight
/// megabytes aside at once takes no second. Processor time is meant.
#[test]
fn a_long_session_takes_linear_time() {
    let time = |steps: usize| {
        let watch = Stopwatch::begin();
        let mut conversation = stale(steps);
        conversation.prepare_edit();
        let grown = watch.elapsed();
        let watch = Stopwatch::begin();
        conversation.compact(conversation.decide(COLD).unwrap()).unwrap();
        [grown, watch.elapsed()]
    };
    // The fastest of three: whatever else the machine does only adds to it.
    let fastest = |steps: usize| {
        let times = [time(steps), time(steps), time(steps)];
        [0, 1].map(|part| times.iter().map(|time| time[part]).min().unwrap_or_default())
    };
    let (short, long) = (fastest(500), fastest(2_000));
    for (short, long) in short.into_iter().zip(long) {
        assert!(long < short * 12, "{short:?} for 500 steps, {long:?} for 2,000");
    }
    let (edit, most) = (long[1], if cfg!(debug_assertions) { 750 } else { 75 });
    assert!(edit.as_millis() < most, "{edit:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_light_edit_changes_outputs_and_nothing_else(view in session(), cold in prop::collection::vec(any::<bool>(), 1..9)) {
        let mut view = view;
        strategy::pair(&mut view);
        let mut conversation = Conversation::new(CompactionConfig::new(6_000), 0).under(Economics::default().preset(Preset::Thrifty));
        let mut cold = cold.into_iter().cycle();
        for message in &view.messages {
            conversation.append(Message::clone(message));
            if message.role == codelet_context::message::Role::Assistant {
                continue;
            }
            let is_cold = cold.next().unwrap_or(false);
            let Some(due) = conversation.decide(Signals { is_cold, ..Signals::default() }) else { continue };
            let is_light = due.is_light();
            let before = conversation.view().messages.clone();
            let Ok(notice) = conversation.compact(due) else {
                prop_assert_eq!(&conversation.view().messages, &before);
                continue;
            };
            let after = conversation.view().messages.clone();
            assert_valid(conversation.view());
            if !is_light {
                continue;
            }
            prop_assert!(notice.after <= notice.before);
            prop_assert_eq!(before.len(), after.len());
            for (old, new) in before.iter().zip(&after) {
                prop_assert_eq!(old.role, new.role);
                let kept = |message: &Message| -> Vec<Part> {
                    message.parts.iter().filter(|part| !matches!(part, Part::ToolResult(_) | Part::Thinking(_))).cloned().collect()
                };
                prop_assert_eq!(kept(old), kept(new));
                for (old, new) in old.tool_results().zip(new.tool_results()) {
                    prop_assert_eq!((&old.call_id, old.success), (&new.call_id, new.success));
                    for (old, new) in old.texts().zip(new.texts()) {
                        if let Some(handle) = &new.cut && old.cut.is_none() {
                            prop_assert_eq!(conversation.recall(handle.as_str(), None), Some(old.body.as_str()));
                        }
                    }
                }
            }
            prop_assert!(conversation.undo_compact());
            prop_assert_eq!(&conversation.view().messages, &before);
            prop_assert_eq!(conversation.shown().tokens, before.iter().map(|message| estimate_message(message)).sum::<Tokens>());
        }
    }
}
