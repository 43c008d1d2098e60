//! What is told of broken prefixes: each is on record once, for what it changed and what it cost, and no sum is above the bill.

use crate::caching::{OVERHEAD, Provider, output, stale, under};
use crate::common::{answers, result, run, says};
use codelet_context::breaks::{Break, Cause};
use codelet_context::conversation::{Conversation, Report, Signals};
use codelet_context::economics::{Economics, Preset};
use codelet_context::message::Message;
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;

#[test]
fn a_break_that_nobody_planned_is_on_record() {
    let mut conversation = stale(30);
    let report = |read: Tokens| Report {
        usage: Usage::from_exclusive(0, 32_000 - read, read, 50),
        reasoning: 0,
        is_whole: true,
    };
    for (number, read) in [0, 31_000, 31_500, 0].into_iter().enumerate() {
        conversation.sending(false);
        let id = format!("again_{number}");
        conversation.replied(says(vec![run(&id, "ls")]), report(read));
        conversation.append(answers(vec![result(&id, "a b c")]));
    }
    let causes: Vec<Cause> = conversation.breaks().iter().map(|it| it.cause).collect();
    assert_eq!(causes, [Cause::Unplanned]);
    assert!(conversation.breaks()[0].actual.unwrap() > 0.0);
    conversation.sending(true);
    conversation.replied(says(vec![run("cold", "ls")]), report(0));
    assert_eq!(conversation.breaks()[1].cause, Cause::Expired);
}

#[test]
fn requests_that_extend_one_another_and_read_nothing_are_on_record() {
    // Whether the provider reports writes to a cache, and the causes of the breaks.
    for (writes, expected) in [(true, vec![Cause::Unplanned; 2]), (false, Vec::new())] {
        let mut conversation = stale(30);
        for number in 0..3 {
            conversation.sending(false);
            let id = format!("again_{number}");
            let (fresh, written) = if writes { (5, 32_000) } else { (32_005, 0) };
            let report = Report {
                usage: Usage::from_exclusive(fresh, written, 0, 50),
                reasoning: 0,
                is_whole: true,
            };
            conversation.replied(says(vec![run(&id, "ls")]), report);
            conversation.append(answers(vec![result(&id, "a b c")]));
        }
        let causes: Vec<Cause> = conversation.breaks().iter().map(|it| it.cause).collect();
        assert_eq!(causes, expected, "writes: {writes}");
    }
}

#[test]
fn of_two_edits_before_a_request_the_one_that_was_not_undone_gives_the_reason() {
    for earlier in [Reason::Full, Reason::Wished] {
        let mut conversation = stale(30);
        conversation.compact_to(9_000, earlier).unwrap();
        let removed = conversation.breaks()[0].removed;
        conversation.compact_to(6_000, Reason::Asked).unwrap();
        assert_eq!(conversation.breaks()[0].cause, Cause::Edit(Reason::Asked));
        assert!(conversation.undo_compact());
        let [it] = conversation.breaks() else {
            panic!("{:?}", conversation.breaks());
        };
        assert_eq!((it.cause, it.removed), (Cause::Edit(earlier), removed));
    }
}

#[test]
fn breaks_stay_on_record_when_the_user_begins_anew_or_asks_another_model() {
    let report = |fresh: Tokens, read: Tokens| Report {
        usage: Usage::from_exclusive(fresh, 0, read, 50),
        reasoning: 0,
        is_whole: true,
    };
    let causes =
        |conversation: &Conversation| -> Vec<Cause> { conversation.breaks().iter().map(|it| it.cause).collect() };
    let mut first = stale(30);
    first.sending(false);
    first.replied(says(vec![run("again", "ls")]), report(1_000, 31_000));
    first.append(answers(vec![result("again", "a b c")]));
    // Two changes of the model before an answer are one.
    first.goes_elsewhere();
    first.goes_elsewhere();
    assert_eq!(causes(&first), [Cause::Model]);
    assert!(first.breaks()[0].predicted > 0.0 && first.breaks()[0].actual.is_none());
    first.sending(false);
    first.replied(says(vec![run("other", "ls")]), report(32_100, 0));
    first.append(answers(vec![result("other", "a b c")]));
    // What the other model had to be sent whole is that break, and no other that nobody planned.
    assert_eq!(causes(&first), [Cause::Model]);
    assert!(first.breaks()[0].actual.unwrap() > 0.0);

    let anew = || Conversation::new(*first.config(), 0).under(Economics::default());
    let mut second = anew();
    second.begin_behind(&first);
    assert_eq!(causes(&second), [Cause::Model, Cause::Cleared]);
    let cleared = second.breaks()[1];
    assert!(
        cleared.request > first.breaks()[0].request && cleared.removed > 10_000,
        "{cleared:?}"
    );
    second.append(Message::user("Something else."));
    second.sending(false);
    second.replied(says(vec![run("anew", "ls")]), report(9_000, 0));
    // The first request of a conversation reads nothing of its own.
    assert_eq!(causes(&second), [Cause::Model, Cause::Cleared]);
    // Of a conversation in which nothing was asked, nothing is lost.
    let (mut third, mut fourth) = (anew(), anew());
    third.begin_behind(&second);
    fourth.begin_behind(&third);
    assert_eq!(causes(&fourth), causes(&third));
    assert_eq!(causes(&fourth), [Cause::Model, Cause::Cleared, Cause::Cleared]);
}

#[test]
fn other_tools_are_a_break_of_their_own_and_weigh_what_they_weigh() {
    let report = |fresh: Tokens, read: Tokens| Report {
        usage: Usage::from_exclusive(fresh, 0, read, 50),
        reasoning: 0,
        is_whole: true,
    };
    let mut conversation = stale(30);
    conversation.sending(false);
    conversation.replied(says(vec![run("again", "ls")]), report(1_000, 31_000));
    let (before, earlier) = (conversation.state("", 0).current, conversation.earlier());
    conversation.has_other_tools(4_000);
    let more = conversation.state("", 0).current;
    assert!((before + 2_000..before + 8_000).contains(&more), "{before} {more}");
    // Another change before an answer is the same one.
    conversation.has_other_tools(1_000);
    assert!(conversation.state("", 0).current < more);
    let causes: Vec<Cause> = conversation.breaks().iter().map(|it| it.cause).collect();
    assert_eq!(causes, [Cause::Tools]);
    // Whoever goes back to an earlier prompt has the tools of now.
    conversation.restore(earlier);
    assert!(conversation.state("", 0).current > before);
    conversation.append(answers(vec![result("again", "a b c")]));
    conversation.sending(false);
    conversation.replied(says(vec![run("other", "ls")]), report(33_100, 0));
    let breaks = conversation.breaks();
    assert_eq!(breaks.len(), 1, "{breaks:?}");
    assert!(breaks[0].actual.unwrap() > 0.0);
}

#[test]
fn a_conversation_that_is_left_takes_the_edits_with_it_that_no_request_has_followed() {
    let causes =
        |conversation: &Conversation| -> Vec<Cause> { conversation.breaks().iter().map(|it| it.cause).collect() };
    let ask = |conversation: &mut Conversation, id: &str| {
        conversation.sending(false);
        let usage = Usage::from_exclusive(0, 9_000, 0, 50);
        let report = Report {
            usage,
            reasoning: 0,
            is_whole: true,
        };
        conversation.replied(says(vec![run(id, "ls")]), report);
        conversation.append(answers(vec![result(id, "a b c")]));
    };
    let mut undone = stale(30);
    undone.compact_to(6_000, Reason::Asked).unwrap();
    ask(&mut undone, "sent");
    let mut compacted = undone.clone();
    let before = causes(&undone);
    assert!(undone.undo_compact());
    assert_eq!(causes(&undone)[before.len()..], [Cause::Undone]);
    compacted.compact_to(3_000, Reason::Asked).unwrap();
    assert_eq!(causes(&compacted)[before.len()..], [Cause::Edit(Reason::Asked)]);
    for earlier in [undone, compacted] {
        let mut anew = Conversation::new(*earlier.config(), 0).under(Economics::default());
        anew.begin_behind(&earlier);
        assert_eq!(causes(&anew)[..before.len()], before);
        assert_eq!(causes(&anew)[before.len()..], [Cause::Cleared]);
        // What the last request held, and no later one will.
        assert_eq!(anew.breaks().last().unwrap().removed, 9_000);
        ask(&mut anew, "anew");
        assert_eq!(causes(&anew).len(), before.len() + 1);
    }
}

#[test]
fn an_edit_that_was_taken_back_before_it_was_sent_is_no_break() {
    let mut conversation = stale(30);
    let causes =
        |conversation: &Conversation| -> Vec<Cause> { conversation.breaks().iter().map(|it| it.cause).collect() };
    let before = causes(&conversation);
    conversation.compact_to(6_000, Reason::Asked).unwrap();
    conversation.compact_to(3_000, Reason::Asked).unwrap();
    // Both are before one request.
    assert_eq!(causes(&conversation)[before.len()..], [Cause::Edit(Reason::Asked)]);
    while conversation.undo_compact() {}
    assert_eq!(causes(&conversation), before);
    conversation.compact_to(6_000, Reason::Asked).unwrap();
    conversation.sending(false);
    let usage = Usage::from_exclusive(0, 9_000, 0, 50);
    let report = Report {
        usage,
        reasoning: 0,
        is_whole: true,
    };
    conversation.replied(says(vec![run("sent", "ls")]), report);
    conversation.append(answers(vec![result("sent", "a b c")]));
    assert!(conversation.undo_compact());
    let after = causes(&conversation);
    assert_eq!(after[before.len()..], [Cause::Edit(Reason::Asked), Cause::Undone]);
}

/// A request of the conversation as it stands, which is billed with what a provider could read of it, and an answer.
fn ask(conversation: &mut Conversation, provider: &mut Provider, id: &str) -> Usage {
    let edges = conversation.sending(false);
    let usage = provider.bill(&conversation.view().messages, edges);
    let report = Report {
        usage,
        reasoning: 0,
        is_whole: true,
    };
    conversation.replied(says(vec![run(id, "ls")]), report);
    conversation.append(answers(vec![result(id, "a b c")]));
    usage
}

/// A conversation of so many steps of which every request was sent to the provider, and nothing is edited for its price.
fn sent(steps: usize) -> (Conversation, Provider) {
    sent_under(under("5m").preset(Preset::Off), steps)
}

/// The same under other economics.
fn sent_under(economics: Economics, steps: usize) -> (Conversation, Provider) {
    let mut provider = Provider::new(&economics.card);
    let mut conversation = Conversation::new(CompactionConfig::new(200_000), OVERHEAD).under(economics);
    conversation.append(Message::system(output(1_000_000, 8_000)));
    conversation.append(Message::user("Look at everything."));
    for number in 0..steps {
        let id = format!("call_{number}");
        let edges = conversation.sending(false);
        let usage = provider.bill(&conversation.view().messages, edges);
        let report = Report {
            usage,
            reasoning: 0,
            is_whole: true,
        };
        conversation.replied(says(vec![run(&id, &format!("./look {number}"))]), report);
        conversation.append(answers(vec![result(&id, output(number, 4_000))]));
    }
    (conversation, provider)
}

#[test]
fn going_back_leaves_no_edit_on_record_that_no_request_has_followed() {
    let (mut conversation, mut provider) = sent(20);
    let before = conversation.breaks().len();
    let earlier = conversation.earlier();
    conversation.compact_to(12_000, Reason::Full).unwrap();
    assert_eq!(conversation.breaks().len(), before + 1);
    // Interrupted before the provider had said anything.
    conversation.restore(earlier);
    assert_eq!(conversation.breaks().len(), before);
    conversation.compact_to(12_000, Reason::Full).unwrap();
    ask(&mut conversation, &mut provider, "again");
    let breaks = &conversation.breaks()[before..];
    assert_eq!(breaks.len(), 1, "{breaks:?}");
    let (predicted, actual) = (breaks[0].predicted, breaks[0].actual.unwrap());
    assert!((predicted - actual).abs() < 0.05 * actual, "{breaks:?}");
}

#[test]
fn what_was_compacted_and_billed_and_is_compacted_again_after_going_back_breaks_once() {
    let (mut conversation, mut provider) = sent(20);
    let before = conversation.breaks().len();
    let earlier = conversation.earlier();
    conversation.compact_to(4_000, Reason::Full).unwrap();
    let first = conversation.view().messages.clone();
    ask(&mut conversation, &mut provider, "interrupted");
    conversation.restore(earlier);
    conversation.compact_to(4_000, Reason::Full).unwrap();
    assert_eq!(conversation.view().messages, first);
    assert_eq!(conversation.breaks().len(), before + 1, "{:?}", conversation.breaks());
    ask(&mut conversation, &mut provider, "again");
    ask(&mut conversation, &mut provider, "on");
    assert_eq!(conversation.breaks().len(), before + 1, "{:?}", conversation.breaks());
}

#[test]
fn what_is_taken_back_and_compacted_before_one_request_is_one_break() {
    let (mut conversation, mut provider) = sent(20);
    let before = conversation.breaks().len();
    conversation.compact_to(14_000, Reason::Asked).unwrap();
    ask(&mut conversation, &mut provider, "sent");
    let shown = conversation.occupancy();
    assert!(conversation.undo_compact());
    conversation.append(Message::user("And now?"));
    conversation.compact_to(9_000, Reason::Full).unwrap();
    let breaks = &conversation.breaks()[before..];
    let causes: Vec<Cause> = breaks.iter().map(|it| it.cause).collect();
    assert_eq!(causes, [Cause::Edit(Reason::Asked), Cause::Edit(Reason::Full)]);
    // What went is told against what was sent, and not against what stood there for a moment.
    let gone = shown - conversation.occupancy();
    assert!(breaks[1].removed.abs_diff(gone) < gone / 4, "{breaks:?}, {gone}");
    ask(&mut conversation, &mut provider, "on");
    let it = conversation.breaks()[before + 1];
    let actual = it.actual.unwrap();
    assert!((it.predicted - actual).abs() < 0.05 * actual, "{it:?}");
}

/// What the ledger puts down to the requests since, which is never more than was billed for them.
fn accounted(breaks: &[Break], billed: f64) -> f64 {
    let of = |it: &Break| it.actual.unwrap_or(it.predicted);
    let sum = breaks.iter().map(of).sum::<f64>();
    assert!(sum <= billed, "${sum} of ${billed}: {breaks:#?}");
    let mut requests: Vec<u64> = breaks.iter().map(|it| it.request).collect();
    requests.dedup();
    assert!(requests.is_sorted(), "{breaks:#?}");
    sum
}

fn dollars(usage: Usage) -> f64 {
    under("5m").card.cost(usage, 0)
}

#[test]
fn what_comes_back_is_told_as_much_as_what_went_and_is_not_saved_any_more() {
    let (mut conversation, mut provider) = sent(20);
    let before = conversation.breaks().len();
    let notice = conversation.compact_to(9_000, Reason::Asked).unwrap();
    let mut billed = dollars(ask(&mut conversation, &mut provider, "sent"));
    let shown = conversation.occupancy();
    assert!(conversation.undo_compact());
    let back = conversation.occupancy() - shown;
    billed += dollars(ask(&mut conversation, &mut provider, "back"));
    let [edit, undone] = &conversation.breaks()[before..] else {
        panic!("{:?}", conversation.breaks());
    };
    // The figures are those that the user was told.
    assert_eq!((edit.removed, edit.restored), (notice.before - notice.after, 0));
    assert_eq!(
        (undone.cause, undone.removed, undone.restored),
        (Cause::Undone, 0, back)
    );
    assert!(
        (edit.saving + undone.saving).abs() < edit.saving * 0.05,
        "{edit:?} {undone:?}"
    );
    accounted(&[*edit, *undone], billed);
}

#[test]
fn an_expired_cache_costs_what_it_costs_and_no_edit_does() {
    // The clock says so when the edit is decided, or when the request goes out.
    for reason in [Reason::Cold, Reason::Full] {
        let (mut conversation, mut provider) = sent_under(under("5m"), 60);
        let before = conversation.breaks().len();
        provider.expire();
        match reason {
            Reason::Cold => {
                let due = conversation.decide(Signals {
                    is_cold: true,
                    ..Signals::default()
                });
                conversation.compact(due.unwrap()).unwrap();
            }
            _ => drop(conversation.compact_to(20_000, reason).unwrap()),
        }
        let edges = conversation.sending(true);
        let usage = provider.bill(&conversation.view().messages, edges);
        let report = Report {
            usage,
            reasoning: 0,
            is_whole: true,
        };
        conversation.replied(says(vec![run("cold", "ls")]), report);
        let [it] = conversation.breaks()[before..] else {
            panic!("{:?}", conversation.breaks());
        };
        assert_eq!((it.cause, it.is_cold), (Cause::Edit(reason), true));
        let actual = it.actual.unwrap();
        assert!(actual > 0.0 && (it.predicted / actual - 1.0).abs() < 0.05, "{it:?}");
        assert_eq!(it.of_edit(), (0.0, Some(0.0)));
        accounted(&[it], dollars(usage));
    }
}

#[test]
fn what_another_model_is_sent_is_no_cost_of_an_edit_whichever_came_first() {
    let edit = |conversation: &mut Conversation| drop(conversation.compact_to(9_000, Reason::Asked).unwrap());
    for edits_first in [true, false] {
        let (mut conversation, mut provider) = sent(20);
        let before = conversation.breaks().len();
        if edits_first {
            edit(&mut conversation);
        }
        conversation.goes_elsewhere();
        if !edits_first {
            edit(&mut conversation);
        }
        provider.expire();
        let usage = ask(&mut conversation, &mut provider, "other");
        let breaks = &conversation.breaks()[before..];
        let of = |cause: Cause| *breaks.iter().find(|it| it.cause == cause).unwrap();
        let (model, edit) = (of(Cause::Model), of(Cause::Edit(Reason::Asked)));
        assert_eq!(breaks.len(), 2, "{breaks:?}");
        assert_eq!((edit.predicted, edit.actual), (0.0, Some(0.0)));
        assert!(edit.removed > 0);
        let actual = model.actual.unwrap();
        assert!((model.predicted / actual - 1.0).abs() < 0.05, "{breaks:?}");
        accounted(breaks, dollars(usage));
        // And on from there nothing is missed.
        ask(&mut conversation, &mut provider, "on");
        assert_eq!(conversation.breaks().len(), before + 2);
    }
}

#[test]
fn what_was_never_sent_can_be_edited_for_nothing() {
    let mut conversation = stale(30);
    let mut provider = Provider::new(&under("5m").card);
    conversation.compact_to(6_000, Reason::Full).unwrap();
    ask(&mut conversation, &mut provider, "first");
    let [it] = conversation.breaks() else {
        panic!("{:?}", conversation.breaks());
    };
    assert_eq!((it.rewritten, it.predicted, it.actual), (0, 0.0, Some(0.0)));
    assert!(it.removed > 0);
}

#[test]
fn an_idle_request_counts_among_the_requests_and_breaks_nothing() {
    let (mut conversation, mut provider) = sent(20);
    let before = conversation.breaks().len();
    let requests = conversation.requests();
    let idle = Usage::from_exclusive(0, 0, 20_000, 1);
    conversation.kept_alive(idle);
    assert_eq!(
        (conversation.requests(), conversation.breaks().len()),
        (requests + 1, before)
    );
    // What was edited meanwhile is sent with the request behind it.
    conversation.compact_to(9_000, Reason::Asked).unwrap();
    conversation.kept_alive(idle);
    ask(&mut conversation, &mut provider, "on");
    let it = conversation.breaks()[before];
    assert_eq!(it.request, conversation.requests());
    assert_eq!(it.request, requests + 3);
    assert!(it.actual.unwrap() > 0.0);
}
