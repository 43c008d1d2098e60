//! The worked examples of what the engine promises about tokens, decisions and anchors, as claims.

use codelet_context::anchor::{Anchor, AnchorKind};
use codelet_context::compact::{Target, compact};
use codelet_context::history::History;
use codelet_context::message::{Action, ActionKind, Message, Origin, Part, ReminderKind, Role, ToolCall, ToolResult};
use codelet_context::policy::{CompactionConfig, Guard, Pressure, Progress, Reason};
use codelet_context::tokens::estimate_bytes;
use codelet_context::tracker::{TokenState, TokenTracker};
use codelet_context::turn;
use codelet_context::usage::{DISCOUNT, Usage};
use serde_json::Map;
use std::sync::Arc;

#[test]
fn the_prompt_counts_everything_and_the_effective_tokens_discount_what_was_cached() {
    let table = [
        (Usage::from_exclusive(2_095, 2_051, 0, 0), 4_146, 4_146),
        (Usage::from_exclusive(2_095, 2_051, 80_000, 0), 84_146, 12_146),
        (Usage::from_inclusive(100_000, 80_000, 0), 100_000, 28_000),
        (Usage::from_inclusive(50_000, 0, 0), 50_000, 50_000),
    ];
    for (usage, prompt, effective) in table {
        assert_eq!(
            (usage.prompt(), usage.effective_tokens(DISCOUNT)),
            (prompt, effective),
            "{usage:?}"
        );
    }
}

#[test]
fn ninety_five_of_a_hundred_thousand_are_too_many_unless_most_is_cached() {
    let config = CompactionConfig::new(100_000);
    assert!(config.should_compact(Usage::from_inclusive(95_000, 0, 0).effective_tokens(DISCOUNT)));
    let cached = Usage::from_inclusive(95_000, 80_000, 0).effective_tokens(DISCOUNT);
    assert_eq!(cached, 23_000);
    assert!(!config.should_compact(cached));
    assert!(!config.should_compact(90_000), "strictly above the threshold");
    assert!(config.should_compact(90_001));
}

#[test]
fn a_cached_prompt_is_cheap_and_still_full() {
    let config = CompactionConfig::new(200_000).reserving(16_000);
    let usage = Usage::from_inclusive(190_000, 180_000, 0);
    assert_eq!(usage.effective_tokens(DISCOUNT), 28_000);
    assert!(!config.should_compact(usage.effective_tokens(DISCOUNT)));
    let now = Pressure {
        occupancy: usage.total(),
        effective: usage.effective_tokens(DISCOUNT),
        ..Pressure::default()
    };
    assert_eq!(config.decide(&now), Some(Reason::Full));
}

#[test]
fn an_estimate_is_a_quarter_of_the_bytes_rounded_up() {
    for (bytes, tokens) in [(0, 0), (1, 1), (4, 1), (5, 2)] {
        assert_eq!(estimate_bytes(bytes), tokens);
    }
}

#[test]
fn the_percentage_shown_is_of_the_limit_that_the_decision_uses() {
    let mut config = CompactionConfig::new(200_000).reserving(8_000);
    let at_the_limit = Pressure {
        occupancy: config.limit(),
        ..Pressure::default()
    };
    assert_eq!(config.decide(&at_the_limit), None);
    let state = TokenState::new(at_the_limit.occupancy, config.limit(), "a model", 7);
    assert_eq!(
        (state.percent_used, state.remaining, state.capacity),
        (100.0, 0, 192_000)
    );
    config.refused(Some(100_000), 192_000);
    assert_eq!(
        config.decide(&at_the_limit),
        Some(Reason::Full),
        "the limit that the provider named counts from now on"
    );
}

#[test]
fn figures_after_a_compaction_are_an_estimate_with_a_stale_cache() {
    let mut tracker = TokenTracker::default();
    tracker.report(Usage::from_exclusive(2_300, 0, 180_000, 700), 0);
    tracker.rebuilt(41_900);
    assert_eq!((tracker.input, tracker.is_estimate), (41_900, true));
    assert_eq!((tracker.cache_read, tracker.is_estimate), (180_000, true));
    assert_eq!(tracker.billed.prompt(), 182_300);
}

#[test]
fn the_third_compaction_without_progress_is_the_last() {
    let config = CompactionConfig::new(200_000).reserving(20_000);
    let mut guard = Guard::default();
    assert_eq!(guard.after_compaction(190_000, 189_000, &config), Progress::None);
    assert_eq!(guard.after_compaction(190_000, 189_000, &config), Progress::None);
    assert!(matches!(
        guard.after_compaction(190_000, 189_000, &config),
        Progress::Stop
    ));
}

/// A call and its answer.
fn step(id: &str, action: Action, success: bool, output: &str) -> [Message; 2] {
    let call = ToolCall::new(id, "tool", Map::new()).doing(action);
    [
        Message::new(Role::Assistant, vec![Part::ToolCall(call)]),
        Message::results(vec![ToolResult::new(id, Some(success), output)]),
    ]
}

fn anchors(messages: &[Message], pins: &[usize]) -> Vec<Anchor> {
    let history: History = messages.iter().cloned().collect();
    history.anchors(&turn::turns(history.messages()), pins)
}

#[test]
fn a_build_error_fixed_in_two_files_is_an_anchor_that_names_them() {
    let messages: Vec<Message> = [Message::user("build it")]
        .into_iter()
        .chain(step("1", Action::command("cargo build"), false, "error[E0308]"))
        .chain([Message::user("mend it")])
        .chain(step("2", Action::on(ActionKind::Change, ["src/a.rs"]), true, "ok"))
        .chain(step("3", Action::on(ActionKind::Change, ["src/b.rs"]), true, "ok"))
        .chain(step(
            "4",
            Action::command("cargo test"),
            true,
            "test result: ok. 3 passed",
        ))
        .collect();
    let found = anchors(&messages, &[]);
    let [anchor] = found.as_slice() else {
        panic!("one anchor, not {found:?}")
    };
    assert_eq!(anchor.description, "Build error fixed in a.rs, b.rs and tests now pass");
    assert_eq!((anchor.kind, anchor.turn), (AnchorKind::ErrorResolution, 1));
    assert_eq!((anchor.kind.confidence(), anchor.kind.weight()), (0.95, 0.9));
    // Without the failure before, it is the completion of a task.
    let found = anchors(&messages[3..], &[0]);
    assert_eq!(
        (found[0].kind, found[0].kind.confidence(), found[0].kind.weight()),
        (AnchorKind::TaskCompletion, 0.92, 0.8)
    );
    assert_eq!(
        (found[1].kind, found[1].kind.confidence(), found[1].kind.weight()),
        (AnchorKind::UserCheckpoint, 1.0, 0.7)
    );
}

#[test]
fn password_bypass_and_0_passed_are_no_successes() {
    for output in ["test: password", "test: bypass", "test: 0 passed"] {
        let run = |success| {
            let [call, mut result] = step("2", Action::command("pytest"), true, output);
            if let Part::ToolResult(result) = &mut result.parts[0] {
                result.success = success;
            }
            let [edit, edited] = step("1", Action::on(ActionKind::Change, ["a.py"]), true, "ok");
            anchors(&[Message::user("go"), edit, edited, call, result], &[]).len()
        };
        assert_eq!(run(None), 0, "{output}");
        assert_eq!(run(Some(true)), 1, "a recorded status decides: {output}");
    }
}

#[test]
fn a_tool_result_is_never_a_prompt_and_a_reminder_is_never_a_prompt() {
    let messages: Vec<Arc<Message>> = [
        Message::user("go"),
        Message::assistant("well"),
        Message::new(
            Role::User,
            vec![Part::text_from(
                Origin::Reminder(ReminderKind::GitStatus),
                "<system-reminder>x</system-reminder>",
            )],
        ),
        Message::assistant("on"),
        Message::results(vec![ToolResult::new("1", None, "<system-reminder>x</system-reminder>")]),
        Message::assistant("done"),
    ]
    .map(Arc::new)
    .to_vec();
    assert_eq!(turn::turns(&messages).len(), 1);
}

/// Ten turns, of which one changes a file and sees its tests pass.
fn ten_turns(finished: usize) -> History {
    let mut messages = Vec::new();
    for turn in 0..10 {
        messages.push(Message::user(format!("Look at part {turn}.")));
        if turn == finished {
            let edit = Action::on(ActionKind::Change, ["src/a.rs"]);
            messages.extend(step(&format!("e{turn}"), edit, true, ""));
            let test = Action::command("cargo test");
            messages.extend(step(&format!("t{turn}"), test, true, "test result: ok. 3 passed"));
        } else {
            let read = Action::on(ActionKind::Read, ["src/b.rs"]);
            let seen: String = (0..400)
                .map(|line| format!("{line} of part {turn} is well\n"))
                .collect();
            messages.extend(step(&format!("r{turn}"), read, true, &seen));
        }
        messages.push(Message::assistant(format!("Part {turn} is done.")));
    }
    messages.into_iter().collect()
}

#[test]
fn of_ten_turns_those_from_the_anchor_on_are_kept_and_the_last_three_always() {
    for (finished, anchored, kept, summarised) in [(4, Some(4), 6, 4), (8, None, 3, 7)] {
        let done = compact(&ten_turns(finished), Target::Select);
        assert_eq!(done.anchor.map(|anchor| anchor.turn), anchored);
        assert_eq!(
            (done.turns.total, done.turns.kept, done.turns.summarised),
            (10, kept, summarised)
        );
        assert_eq!(done.turns.compression_estimate(), summarised as f64 / 10.0);
        let replies = done
            .view
            .messages
            .iter()
            .filter(|message| message.role == Role::Assistant);
        let shown = format!("{:?}", replies.collect::<Vec<_>>());
        for turn in 0..10 {
            let is_kept = shown.contains(&format!("Part {turn} is done."));
            assert_eq!(is_kept, turn >= summarised, "turn {turn}");
        }
    }
}
