//! What the strategies do to conversations, and what none of them may do to any.

use crate::common::*;
use codelet_context::message::{Action, ActionKind, Message, Origin, Part, Role, Text, ToolCall, ToolResult};
use codelet_context::strategy::{
    PIPELINE, StrategyCount, StrategyLimits, apply_all, apply_with, bytes, named, recent_window,
};
use codelet_context::tokens;
use codelet_context::view::View;
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

fn apply(name: &str, view: &mut View) -> StrategyCount {
    (named(name).unwrap().apply)(view, &StrategyLimits::default())
}

/// Lines of code, so that nothing is squeezed.
fn code(seed: usize, lines: usize) -> String {
    (0..lines)
        .map(|i| format!("    let value_{seed}_{i} = compute({i});\n"))
        .collect()
}

/// One prompt and so many steps that each read another file.
fn one_prompt(steps: usize, lines: usize) -> View {
    let mut messages = vec![Message::system("Be brief."), Message::user("make the tests pass")];
    for i in 0..steps {
        let id = format!("call_{i}");
        messages.push(says(vec![Part::text("next"), read(&id, &format!("src/{i}.rs"))]));
        messages.push(answers(vec![result(&id, code(i, lines))]));
    }
    View::new(messages)
}

fn total(view: &View) -> usize {
    view.messages.iter().map(|message| bytes(message)).sum()
}

fn tokens(view: &View) -> u64 {
    view.messages
        .iter()
        .map(|message| tokens::estimate_message(message))
        .sum()
}

#[test]
fn the_documentation_example_saves_and_stays_valid() {
    let content = "file contents: hello world\n".repeat(40);
    for (a, b) in [(read("a", "x"), read("b", "y")), (run("a", "cat x"), run("b", "cat y"))] {
        let mut view = View::new([
            Message::user("show me both"),
            says(vec![a]),
            answers(vec![result("a", content.clone())]),
            says(vec![b]),
            answers(vec![result("b", content.clone())]),
        ]);
        let stats = apply_all(&mut view);
        assert!(stats.dedup_hits >= 1 && stats.total_bytes_saved > 0, "{stats:?}");
        assert_eq!(stats.per_strategy.len(), 7);
        assert_valid(&view);
    }
}

#[test]
fn a_view_with_nothing_to_do_keeps_its_very_messages() {
    let mut view = one_prompt(10, 20);
    let before = view.clone();
    let stats = apply_all(&mut view);
    assert_eq!(stats.total_bytes_saved, 0);
    assert!(view.archive.is_empty());
    assert!(
        before
            .messages
            .iter()
            .zip(&view.messages)
            .all(|(a, b)| Arc::ptr_eq(a, b))
    );
}

#[test]
fn the_history_behind_a_view_is_never_altered() {
    let history = one_prompt(60, 300);
    let before = history
        .messages
        .iter()
        .map(|message| (**message).clone())
        .collect::<Vec<_>>();
    let mut view = history.clone();
    apply_with(
        &mut view,
        &StrategyLimits {
            budget: Some(3_000),
            ..StrategyLimits::default()
        },
    );
    assert_ne!(history, view);
    assert!(history.messages.iter().map(|message| &**message).eq(before.iter()));
}

#[test]
fn the_older_answer_to_the_same_call_points_to_the_newer() {
    let mut view = View::new([
        Message::user("look"),
        says(vec![read("a", "x.rs")]),
        answers(vec![result("a", code(1, 20))]),
        says(vec![read("b", "x.rs")]),
        answers(vec![result("b", code(2, 20))]),
    ]);
    let count = apply("tool_call_dedup", &mut view);
    assert_eq!(count.hits, 1);
    let shown = outputs(&view);
    let (handle, removed) = view.archive.iter().next().unwrap();
    assert_eq!(
        shown[0],
        format!(
            "[Read output, {} bytes, superseded by a newer answer to the same call · recall {handle}]",
            code(1, 20).len()
        )
    );
    assert_eq!(
        (shown[1], removed.body.as_str()),
        (code(2, 20).as_str(), code(1, 20).as_str())
    );
}

#[test]
fn an_answer_that_became_a_pointer_still_counts_among_those_around_it() {
    let line = |word: &str| format!("{}\n", word.repeat(40));
    let edit = ToolCall::new("e", "Edit", Default::default()).doing(Action::on(ActionKind::Change, ["x.rs"]));
    let mut view = View::new([
        Message::user("look"),
        says(vec![read("a", "x.rs")]),
        answers(vec![result(
            "a",
            line("gone ").repeat(3) + &line("stays ") + &line("other "),
        )]),
        // Half of the lines again, and then those once more after a change.
        says(vec![read("b", "x.rs")]),
        answers(vec![result("b", line("stays ") + &line("gone "))]),
        says(vec![Part::ToolCall(edit)]),
        answers(vec![result("e", "done")]),
        says(vec![read("c", "x.rs")]),
        answers(vec![result("c", line("stays ") + &line("gone "))]),
    ]);
    apply_all(&mut view);
    let once = view.clone();
    assert!(outputs(&view)[1].starts_with("[Read output, "));
    assert_eq!(apply_all(&mut view).total_bytes_saved, 0);
    assert!(view == once);
}

#[test]
fn parameters_are_the_same_in_any_order() {
    let call = |id: &str, json: &str| {
        let parameters = serde_json::from_str(json).unwrap();
        Part::ToolCall(ToolCall::new(id, "Grep", parameters).doing(Action::on(ActionKind::Search, [])))
    };
    let mut view = View::new([
        Message::user("look"),
        says(vec![
            call("a", r#"{"x": 1, "y": {"b": 2, "c": 3}}"#),
            call("b", r#"{"y": {"c": 3, "b": 2}, "x": 1}"#),
        ]),
        answers(vec![result("a", code(1, 9)), result("b", code(2, 9))]),
        says(vec![call("c", r#"{"x": 1, "y": {"b": 2, "c": 4}}"#)]),
        answers(vec![result("c", code(3, 9))]),
    ]);
    assert_eq!(apply("tool_call_dedup", &mut view).hits, 1);
    assert!(outputs(&view)[0].starts_with("[Grep output, "));
}

#[test]
fn a_failed_or_missing_newer_answer_supersedes_nothing() {
    let failed = Part::ToolResult(ToolResult::new("b", Some(false), code(2, 20)));
    let mut view = View::new([
        Message::user("look"),
        says(vec![read("a", "x.rs")]),
        answers(vec![result("a", code(1, 20))]),
        says(vec![read("b", "x.rs")]),
        answers(vec![failed]),
        says(vec![read("c", "x.rs")]),
    ]);
    assert_eq!(apply("tool_call_dedup", &mut view), StrategyCount::default());
}

#[test]
fn a_command_may_answer_anew_and_is_no_repeat() {
    let mut view = View::new([
        Message::user("look"),
        says(vec![run("a", "git status")]),
        answers(vec![result("a", code(1, 20))]),
        says(vec![run("b", "git status")]),
        answers(vec![result("b", code(2, 20))]),
    ]);
    assert_eq!(apply("tool_call_dedup", &mut view).hits, 0);
}

#[test]
fn equal_outputs_point_to_the_newest_and_short_ones_stay() {
    let (long, short) = (code(1, 10), "x".repeat(255));
    let block = |text: &str| Part::text(text);
    let both = |id: &str| {
        Part::ToolResult(ToolResult {
            output: vec![block(&long), block(&short)],
            bare: false,
            ..ToolResult::new(id, Some(true), "")
        })
    };
    let mut view = View::new([
        Message::user("look"),
        says(vec![run("a", "x"), run("b", "y")]),
        answers(vec![both("a"), both("b")]),
        says(vec![run("c", "z")]),
        answers(vec![both("c")]),
    ]);
    assert_eq!(apply("dedup", &mut view).hits, 2);
    let shown = outputs(&view);
    assert!(shown[0].starts_with("[Bash output, ") && shown[0].contains(", same as a newer one · recall "));
    assert_eq!(shown[0], shown[2]);
    assert_eq!(shown[4], long);
    assert!(shown[1] == short && shown[3] == short && shown[5] == short);
}

#[test]
fn a_marker_is_never_longer_than_what_it_stands_for() {
    let mut view = View::new([
        Message::user("look"),
        says(vec![read("a", "x"), read("b", "x")]),
        answers(vec![result("a", "short"), result("b", "short")]),
    ]);
    let stats = apply_all(&mut view);
    assert_eq!((stats.total_bytes_saved, outputs(&view)), (0, vec!["short", "short"]));
}

#[test]
fn a_literal_marker_in_a_file_switches_nothing_off() {
    let (mut plain, mut marked) = (one_prompt(40, 300), one_prompt(40, 300));
    for index in [3, 5, 7] {
        let message = marked.edit(index);
        if let Some(Part::ToolResult(result)) = message.parts.first_mut() {
            let text = format!(
                "[Read output, 12,345 bytes, same as a newer one · recall k3f9a2]\n{}",
                result.texts().next().unwrap().body
            );
            result.output = vec![Part::text(text)];
        }
    }
    let (a, b) = (apply_all(&mut plain), apply_all(&mut marked));
    assert_eq!((a.snippet_hits, b.snippet_hits), (20, 20));
}

#[test]
fn long_old_outputs_keep_whole_lines_at_both_ends() {
    let mut view = one_prompt(21, 300);
    let original = outputs(&view)[0].to_owned();
    let stats = apply_all(&mut view);
    assert_eq!(stats.snippet_hits, 1, "only one step is older than the last 20");
    let shown = outputs(&view)[0];
    let lines: Vec<_> = shown.lines().collect();
    let markers: Vec<_> = lines
        .iter()
        .filter(|line| !original.lines().any(|whole| whole == **line))
        .collect();
    let handle = view.archive.iter().next().unwrap().0;
    assert_eq!(markers.len(), 1);
    assert!(
        markers[0].starts_with("[Read output, ") && markers[0].ends_with(&format!(", cut here · recall {handle}]"))
    );
    assert!(shown.len() < 2_048 + 100 && original.starts_with(lines[0]) && original.ends_with("\n"));
    assert_eq!(view.archive.recall(handle.as_str(), None), Some(original.as_str()));
}

#[test]
fn an_output_of_one_short_of_the_limit_stays_whole() {
    for (length, hits) in [(4_095, 0), (4_096, 1)] {
        let mut view = one_prompt(21, 1);
        let Some(Part::ToolResult(result)) = view.edit(3).parts.first_mut() else {
            panic!()
        };
        result.output = vec![Part::text(
            "é".repeat(2_048)[..length & !1].to_owned() + &"x".repeat(length & 1),
        )];
        assert_eq!(apply("snippet", &mut view).hits, hits);
    }
}

#[test]
fn the_recent_window_is_three_turns_but_never_many_steps() {
    let turn = |n: usize| [Message::user(format!("prompt {n}")), Message::assistant("done")];
    let few = View::new((0..5).flat_map(turn));
    assert_eq!(recent_window(&few.messages, &StrategyLimits::default()), 4);
    let one = one_prompt(50, 1);
    assert_eq!(recent_window(&one.messages, &StrategyLimits::default()), 2 + 2 * 30);
    assert_eq!(
        recent_window(&one_prompt(20, 1).messages, &StrategyLimits::default()),
        0
    );
    assert_eq!(
        recent_window(
            &one.messages,
            &StrategyLimits {
                recent_steps: 0,
                ..StrategyLimits::default()
            }
        ),
        one.messages.len()
    );
    assert_eq!(
        recent_window(
            &one.messages,
            &StrategyLimits {
                recent_turns: 0,
                ..StrategyLimits::default()
            }
        ),
        one.messages.len()
    );
    assert_eq!(recent_window(&[], &StrategyLimits::default()), 0);
}

#[test]
fn alike_lines_of_a_command_are_counted_but_those_of_a_file_stay() {
    let log: String = (0..200).map(|i| format!("test case_{i} ... ok\n")).collect();
    let mut view = View::new([
        Message::user("run the tests"),
        says(vec![run("a", "cargo test"), read("b", "log")]),
        answers(vec![result("a", format!("{log}a\n")), result("b", log.clone())]),
    ]);
    let stats = apply_all(&mut view);
    assert_eq!(stats.per_strategy["lingua"].hits, 1);
    let (handle, _) = view.archive.iter().next().unwrap();
    let expected = format!(
        "test … ok (× 200 alike lines)\na\n\n[Bash output, 4,092 bytes, terminal codes and alike lines left out · recall {handle}]"
    );
    assert_eq!(outputs(&view), [expected.as_str(), log.as_str()]);
}

#[test]
fn a_squeezed_output_is_cut_and_pointed_at_as_the_whole_it_stands_for() {
    let log: String = (0..900)
        .map(|i| format!("test case_{i} ... ok\n    let value_{i} = {i};\n\x1b[32mgreen\x1b[0m\n"))
        .collect();
    let step = |id: &str| [says(vec![run(id, id)]), answers(vec![result(id, log.clone())])];
    let mut view = View::new([Message::user("go")].into_iter().chain(step("first")));
    assert_eq!(apply_all(&mut view).per_strategy["lingua"].hits, 1);
    let handle = view.archive.iter().next().unwrap().0.clone();

    let mut longer = view.clone();
    longer.messages.extend(step("second").map(Arc::new));
    assert_eq!(apply_all(&mut longer).per_strategy["dedup"].hits, 1);
    assert!(outputs(&longer)[0].ends_with(&format!("same as a newer one · recall {handle}]")));

    for i in 0..20 {
        view.messages.push(Arc::new(says(vec![run(&format!("n{i}"), "x")])));
        view.messages
            .push(Arc::new(answers(vec![result(&format!("n{i}"), "x")])));
    }
    assert_eq!(apply_all(&mut view).snippet_hits, 1);
    assert!(outputs(&view)[0].contains(&format!(", cut here · recall {handle}]")));
    assert_eq!(view.archive.recall(handle.as_str(), None), Some(log.as_str()));
}

#[test]
fn thinking_of_finished_turns_goes_and_that_of_the_turn_under_way_stays() {
    let step = |id: &str| {
        [
            says(vec![thinks("hm, long thoughts", Some("c2ln")), read(id, id)]),
            answers(vec![result(id, "x")]),
        ]
    };
    let mut view = View::new(
        [Message::user("one")]
            .into_iter()
            .chain(step("a"))
            .chain([says(vec![thinks("only this", None)]), Message::user("two")])
            .chain(step("b")),
    );
    assert_eq!(apply("thinking_prune", &mut view).hits, 1);
    assert_eq!(
        shape(&view),
        [
            "user: one",
            "assistant: call a",
            "user: result a x",
            "assistant: thinking only this",
            "user: two",
            "assistant: thinking hm, long thoughts | call b",
            "user: result b x"
        ]
    );
    assert_eq!(view.archive.iter().next().unwrap().1.body.as_str(), "hm, long thoughts");
}

#[test]
fn thinking_that_a_vendor_wants_back_stays() {
    let view = |redacted: Option<&str>| {
        let mut encrypted = thinks("", None);
        if let Part::Thinking(thinking) = &mut encrypted {
            thinking.redacted = redacted.map(Arc::from);
            thinking.body = "summary".into();
        }
        View::new([
            Message::user("one"),
            says(vec![thinks("signed", Some("c2ln")), encrypted, Part::text("done")]),
            Message::user("two"),
        ])
    };
    assert_eq!(apply("thinking_prune", &mut view(None)).hits, 2);
    assert_eq!(apply("thinking_prune", &mut view(Some("ZW5j"))).hits, 0);
}

#[test]
fn no_step_is_left_out_without_a_budget_or_within_it() {
    let mut view = one_prompt(200, 20);
    let fits = StrategyLimits {
        budget: Some(tokens(&view)),
        ..StrategyLimits::default()
    };
    assert_eq!(apply_with(&mut view, &fits).per_strategy["streaming_llm"].hits, 0);
    assert_eq!(apply_all(&mut view).per_strategy["streaming_llm"].hits, 0);
}

#[test]
fn old_steps_are_left_out_until_the_view_fits() {
    let mut view = one_prompt(200, 20);
    let originals: HashSet<String> = outputs(&view).into_iter().map(str::to_owned).collect();
    let limits = StrategyLimits {
        budget: Some(20_000),
        ..StrategyLimits::default()
    };
    let stats = apply_with(&mut view, &limits);
    assert!(stats.per_strategy["streaming_llm"].hits > 50);
    assert!(tokens(&view) <= 20_000 && tokens(&view) > 19_000, "{}", tokens(&view));
    assert_valid(&view);

    let Some(Part::Text(Text {
        body,
        cut: Some(handle),
        origin: Origin::Notice,
        ..
    })) = view.messages[2].parts.first()
    else {
        panic!("{:?}", view.messages[2]);
    };
    let left_out = stats.per_strategy["streaming_llm"].hits;
    assert!(
        body.as_str().starts_with(&format!("[{left_out} steps: Read, ")),
        "{body}"
    );
    // The list leads to everything that went.
    let list = view.archive.recall(handle.as_str(), None).unwrap();
    let mut found = 0;
    for line in list.lines() {
        let handle = line.rsplit(' ').next().unwrap();
        found += usize::from(originals.contains(view.archive.recall(handle, None).unwrap()));
    }
    assert_eq!(found as u64, left_out);
    assert!(list.contains("\nRead: {\"path\":\"src/0.rs\"} · 19 bytes · recall "));
}

#[test]
fn prompts_survive_any_budget() {
    let turn = |n: usize| {
        let id = format!("call_{n}");
        [
            Message::user(format!("prompt {n}")),
            says(vec![read(&id, &id)]),
            answers(vec![result(&id, code(n, 40))]),
            Message::assistant("done"),
        ]
    };
    let mut view = View::new((0..40).flat_map(turn).chain([Message::user("last")]));
    let before = prompts(&view);
    apply_with(
        &mut view,
        &StrategyLimits {
            budget: Some(1),
            ..StrategyLimits::default()
        },
    );
    assert_eq!(prompts(&view), before);
    // The newest two finished turns and the one under way are the recent window.
    assert_eq!(
        view.messages
            .iter()
            .filter(|message| message.role == Role::Assistant)
            .count(),
        4
    );
}

#[test]
fn twenty_parallel_results_at_the_end_stay() {
    let calls = (0..20).map(|i| read(&format!("c{i}"), &format!("{i}.rs"))).collect();
    let results = (0..20).map(|i| result(&format!("c{i}"), code(i, 300))).collect();
    let mut view = one_prompt(50, 20);
    view.messages.extend([says(calls), answers(results)].map(Arc::new));
    let before = view.messages.last().unwrap().clone();
    apply_with(
        &mut view,
        &StrategyLimits {
            budget: Some(1_000),
            ..StrategyLimits::default()
        },
    );
    assert!(Arc::ptr_eq(&before, view.messages.last().unwrap()));
    assert_valid(&view);
}

#[test]
fn a_hostile_tool_name_makes_no_long_marker() {
    let tool = "x]\n".repeat(3_000);
    let call = |id: &str| Part::ToolCall(ToolCall::new(id, &*tool, Default::default()));
    let mut view = View::new([
        Message::user("go"),
        says(vec![call("a"), call("b")]),
        answers(vec![result("a", code(1, 20)), result("b", code(1, 20))]),
    ]);
    let stats = apply_all(&mut view);
    assert!(stats.dedup_hits == 1 && outputs(&view)[0].len() < 200);
    assert_valid(&view);
}

/// Checks what holds for every strategy, and for all together, on any view.
fn holds(
    mut view: View,
    limits: &StrategyLimits,
    run: impl Fn(&mut View, &StrategyLimits) -> i64,
    may_grow: bool,
    in_place: bool,
) -> Result<(), TestCaseError> {
    let before = view.clone();
    let mut other = view.clone();
    let saved = run(&mut view, limits);

    run(&mut other, limits);
    prop_assert_eq!(&view, &other, "deterministic");
    prop_assert_eq!(total(&before) as i64 - total(&view) as i64, saved, "signed bytes");
    prop_assert!(may_grow || total(&view) <= total(&before), "never larger");
    if in_place {
        prop_assert_eq!(view.messages.len(), before.messages.len());
        for (a, b) in before.messages.iter().zip(&view.messages) {
            prop_assert!(bytes(b) <= bytes(a), "no message grows");
        }
    }
    prop_assert_eq!(prompts(&view), prompts(&before), "prompts stay");

    // Every marker's handle restores bytes that were there before, exactly.
    let mut originals: HashSet<String> = HashSet::new();
    for part in before.messages.iter().flat_map(|message| &message.parts) {
        collect(part, &mut originals);
    }
    for part in view.messages.iter().flat_map(|message| &message.parts) {
        let texts: Vec<&Text> = match part {
            Part::Text(text) => vec![text],
            Part::ToolResult(result) => result.texts().collect(),
            _ => vec![],
        };
        for text in texts {
            let Some(handle) = &text.cut else { continue };
            let whole = view.archive.recall(handle.as_str(), None);
            let named = text.body.as_str().contains(&format!("· recall {handle}]"));
            prop_assert!(whole.is_some() && named, "the marker names its handle");
            prop_assert!(
                text.origin == Origin::Notice || originals.contains(whole.unwrap()),
                "exact bytes"
            );
        }
    }
    // Nothing is lost: what is not shown is kept.
    let mut kept: HashSet<String> = view
        .archive
        .iter()
        .map(|(_, removed)| removed.body.to_string())
        .collect();
    for part in view.messages.iter().flat_map(|message| &message.parts) {
        collect(part, &mut kept);
    }
    for original in originals {
        prop_assert!(
            kept.contains(&original) || original.trim().is_empty(),
            "lost: {}",
            original
        );
    }

    let once = view.clone();
    let again = run(&mut view, limits);
    prop_assert_eq!(again, 0, "the second time saves nothing");
    prop_assert_eq!(&shape(&view), &shape(&once), "twice is once");
    prop_assert_eq!(&view, &once, "twice is once");
    Ok(())
}

fn collect(part: &Part, into: &mut HashSet<String>) {
    match part {
        Part::Text(text) => drop(into.insert(text.body.to_string())),
        Part::Thinking(thinking) => {
            into.insert(thinking.body.to_string());
            into.extend(thinking.redacted.as_ref().map(|data| data.to_string()));
        }
        Part::Image(image) => drop(into.insert(image.data.to_string())),
        Part::ToolCall(call) => drop(into.insert(call.parameters.json().to_string())),
        Part::ToolResult(result) => result.output.iter().for_each(|part| collect(part, into)),
        Part::Opaque(opaque) => drop(into.insert(opaque.value.to_string())),
    }
}

fn limits() -> impl Strategy<Value = StrategyLimits> {
    (prop::option::of(0..6_000u64), 0..4usize, 0..6usize).prop_map(|(budget, recent_turns, recent_steps)| {
        StrategyLimits {
            budget,
            recent_turns,
            recent_steps,
        }
    })
}

/// Whether a strategy adds or drops whole messages.
fn moves(name: &str) -> bool {
    matches!(name, "pairing" | "streaming_llm")
}

fn all(view: &mut View, limits: &StrategyLimits) -> i64 {
    apply_with(view, limits).total_bytes_saved
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_strategy_holds_on_a_session(view in session(), limits in limits()) {
        for strategy in PIPELINE {
            let run = |view: &mut View, limits: &StrategyLimits| (strategy.apply)(view, limits).bytes_saved;
            holds(view.clone(), &limits, run, strategy.name == "pairing", !moves(strategy.name))
                .map_err(|error| TestCaseError::fail(format!("{}: {error}", strategy.name)))?;
        }
    }

    #[test]
    fn any_strategy_holds_on_anything(view in anything(), limits in limits()) {
        for strategy in PIPELINE {
            let run = |view: &mut View, limits: &StrategyLimits| (strategy.apply)(view, limits).bytes_saved;
            holds(view.clone(), &limits, run, strategy.name == "pairing", !moves(strategy.name))
                .map_err(|error| TestCaseError::fail(format!("{}: {error}", strategy.name)))?;
        }
    }

    #[test]
    fn all_together_hold_on_a_session_and_end_valid(mut view in session(), limits in limits()) {
        holds(view.clone(), &limits, all, true, false)?;
        apply_with(&mut view, &limits);
        assert_valid(&view);
    }

    #[test]
    fn all_together_hold_on_anything_and_end_valid(mut view in anything(), limits in limits()) {
        holds(view.clone(), &limits, all, true, false)?;
        apply_with(&mut view, &limits);
        if !view.messages.is_empty() {
            assert_valid(&view);
        }
    }
}
