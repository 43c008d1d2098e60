//! Conversations that no vendor would take, and what becomes of them.

use crate::common::*;
use codelet_context::message::{Message, Part, Role, ToolResult};
use codelet_context::strategy::pair;
use codelet_context::validate::validate;
use codelet_context::view::View;
use codelet_testkit::Stopwatch;
use proptest::prelude::*;
use std::time::Duration;

/// Pairs, and compares the shape.
fn check(messages: impl IntoIterator<Item = Message>, expected: &[&str]) -> View {
    let mut view = View::new(messages);
    let count = pair(&mut view);
    assert_eq!(shape(&view), expected);
    assert_valid(&view);
    assert!(count.hits > 0);
    let once = view.clone();
    assert_eq!(pair(&mut view).hits, 0);
    assert_eq!(view, once);
    view
}

#[test]
fn an_interrupted_call_gets_an_answer() {
    let view = check(
        [Message::user("go"), says(vec![run("a", "x")]), Message::user("stop")],
        &[
            "user: go", "assistant: call a", "user: result a [interrupted]", "user: stop",
        ],
    );
    assert_eq!(view.messages[2].tool_results().next().unwrap().success, Some(false));
}

#[test]
fn an_unfinished_last_call_gets_an_answer() {
    check(
        [Message::user("go"), says(vec![run("a", "x"), run("b", "y")])],
        &[
            "user: go",
            "assistant: call a | call b",
            "user: result a [interrupted] | result b [interrupted]",
        ],
    );
}

#[test]
fn a_missing_answer_among_several_is_filled_in() {
    check(
        [
            Message::user("go"),
            says(vec![run("a", "x"), run("b", "y"), run("c", "z")]),
            answers(vec![result("c", "3"), result("a", "1")]),
            Message::user("on"),
        ],
        &[
            "user: go",
            "assistant: call a | call b | call c",
            "user: result a 1 | result b [interrupted] | result c 3",
            "user: on",
        ],
    );
}

#[test]
fn an_orphan_goes_into_the_archive() {
    let view = check(
        [Message::user("go"), answers(vec![result("a", "who asked?")])],
        &["user: go"],
    );
    assert_eq!(view.archive.iter().next().unwrap().1.body.as_str(), "who asked?");
}

#[test]
fn a_result_before_its_call_moves_behind_it() {
    check(
        [
            Message::user("go"),
            answers(vec![result("a", "early")]),
            says(vec![run("a", "x")]),
            Message::user("on"),
        ],
        &["user: go", "assistant: call a", "user: result a early", "user: on"],
    );
}

#[test]
fn a_misplaced_result_moves_to_its_call() {
    check(
        [
            Message::user("go"),
            says(vec![run("a", "x")]),
            Message::user("wait"),
            Message::assistant("waiting"),
            answers(vec![result("a", "late"), Part::text("here")]),
        ],
        &[
            "user: go", "assistant: call a", "user: result a late", "user: wait", "assistant: waiting", "user: here",
        ],
    );
}

#[test]
fn results_come_before_other_words() {
    check(
        [
            Message::user("go"),
            says(vec![run("a", "x")]),
            answers(vec![Part::text("note"), result("a", "1")]),
        ],
        &["user: go", "assistant: call a", "user: result a 1 | note"],
    );
}

#[test]
fn of_two_answers_the_first_that_says_something_counts() {
    let view = check(
        [
            Message::user("go"),
            says(vec![run("a", "x")]),
            answers(vec![result("a", "one"), result("a", "two")]),
        ],
        &["user: go", "assistant: call a", "user: result a one"],
    );
    assert_eq!(view.archive.iter().next().unwrap().1.body.as_str(), "two");
    check(
        [
            Message::user("go"),
            says(vec![run("a", "x")]),
            answers(vec![result("a", ""), result("a", "two")]),
        ],
        &["user: go", "assistant: call a", "user: result a two"],
    );
}

#[test]
fn an_id_used_again_gets_a_name_of_its_own() {
    check(
        [
            Message::user("go"),
            says(vec![run("a", "x")]),
            answers(vec![result("a", "1")]),
            says(vec![run("a", "y"), run("a_2", "z"), run("a", "w")]),
            answers(vec![result("a", "2"), result("a_2", "3"), result("a", "4")]),
        ],
        &[
            "user: go",
            "assistant: call a",
            "user: result a 1",
            "assistant: call a_3 | call a_2 | call a_4",
            "user: result a_3 2 | result a_2 3 | result a_4 4",
        ],
    );
}

#[test]
fn a_name_that_is_made_is_not_that_of_a_call_which_the_vendor_keeps() {
    let mut apart = ToolResult::new("a_2", None, "kept");
    apart.is_apart = true;
    check(
        [
            Message::user("go"),
            says(vec![run("a", "x")]),
            answers(vec![result("a", "1")]),
            says(vec![run("a", "y")]),
            answers(vec![Part::ToolResult(apart), result("a", "2")]),
        ],
        &[
            "user: go",
            "assistant: call a",
            "user: result a 1",
            "assistant: call a_3",
            "user: result a_2 kept | result a_3 2",
        ],
    );
}

#[test]
fn an_unanswered_call_leaves_the_answer_to_its_namesake() {
    check(
        [
            Message::user("go"),
            says(vec![run("a", "x")]),
            Message::user("again"),
            says(vec![run("a", "y")]),
            answers(vec![result("a", "1")]),
        ],
        &[
            "user: go", "assistant: call a", "user: result a [interrupted]", "user: again", "assistant: call a_2",
            "user: result a_2 1",
        ],
    );
}

#[test]
fn ids_and_names_of_tools_stay_as_they_came_and_those_that_are_none_get_one() {
    let mut call = run("call:1/ü", "x");
    if let Part::ToolCall(call) = &mut call {
        call.tool = "functions.shell".into();
    }
    let mut nameless = run("", "y");
    if let Part::ToolCall(call) = &mut nameless {
        call.tool = "".into();
    }
    let view = check(
        [
            Message::user("go"),
            says(vec![call, nameless, run(&"i".repeat(129), "z")]),
            answers(vec![
                result("call:1/ü", "1"),
                result("", "2"),
                result(&"i".repeat(129), "3"),
            ]),
        ],
        &[
            "user: go",
            "assistant: call call:1/ü | call call_2 | call iiiiiiiiiiiiiiiiiiii_2",
            "user: result call:1/ü 1 | result call_2 2 | result iiiiiiiiiiiiiiiiiiii_2 3",
        ],
    );
    let tools: Vec<&str> = view.messages[1].calls().map(|call| &*call.tool).collect();
    assert_eq!(tools[..2], ["functions.shell", "tool"]);
}

#[test]
fn one_reply_written_down_in_pieces_is_one_message() {
    check(
        [
            Message::user("go"),
            says(vec![thinks("hm", Some("s")), run("a", "x")]),
            says(vec![run("b", "y")]),
            answers(vec![result("a", "1")]),
            answers(vec![result("b", "2")]),
        ],
        &[
            "user: go",
            "assistant: thinking hm | call a | call b",
            "user: result a 1",
            "user: result b 2",
        ],
    );
}

#[test]
fn results_in_messages_of_their_own_are_in_order_already() {
    let messages = [
        Message::user("go"),
        says(vec![run("a", "x"), run("b", "y")]),
        answers(vec![result("a", "1")]),
        answers(vec![result("b", "2")]),
    ];
    let mut view = View::new(messages);
    assert_eq!(pair(&mut view).hits, 0);
    assert_valid(&view);
}

#[test]
fn blank_text_and_empty_messages_go() {
    check(
        [
            Message::user("go"),
            says(vec![Part::text(" \n"), run("a", "x")]),
            answers(vec![result("a", "1"), Part::text("")]),
            Message::assistant("\t"),
            Message::new(Role::User, vec![]),
            Message::user("on"),
        ],
        &["user: go", "assistant: call a", "user: result a 1", "user: on"],
    );
}

#[test]
fn a_failure_that_says_nothing_says_so() {
    let failed = Part::ToolResult(ToolResult::new("a", Some(false), " "));
    check(
        [Message::user("go"), says(vec![run("a", "x")]), answers(vec![failed])],
        &["user: go", "assistant: call a", "user: result a [no output]"],
    );
}

#[test]
fn an_empty_output_is_an_answer() {
    let mut view = View::new([
        Message::user("go"),
        says(vec![run("a", "true")]),
        answers(vec![result("a", "")]),
    ]);
    assert_eq!(pair(&mut view).hits, 0);
    assert_valid(&view);
}

#[test]
fn an_assistant_who_speaks_first_or_last_is_framed() {
    check(
        [Message::system("be brief"), Message::assistant("hello")],
        &[
            "system: be brief",
            "user: [The conversation begins here.]",
            "assistant: hello",
            "user: [No prompt.]",
        ],
    );
}

#[test]
fn parts_in_the_wrong_mouth_are_sorted_out() {
    check(
        [
            Message::user("go"),
            says(vec![run("a", "x"), result("a", "1")]),
            answers(vec![run("b", "y"), thinks("me too", None), Part::text("on")]),
        ],
        &["user: go", "assistant: call a", "user: result a 1", "user: on"],
    );
}

#[test]
fn sixteen_thousand_of_anything_take_milliseconds() {
    let n = 16_000;
    let orphans = || (0..n).map(|i| answers(vec![result(&format!("gone_{i}"), "left")]));
    let hostile: [(&str, Vec<Message>); 7] = [
        ("orphans", [Message::user("go")].into_iter().chain(orphans()).collect()),
        (
            "orphans in one message",
            vec![
                Message::user("go"),
                answers((0..n).map(|i| result(&format!("g{i}"), "x")).collect()),
            ],
        ),
        (
            "open calls",
            [Message::user("go")]
                .into_iter()
                .chain((0..n).map(|i| says(vec![run(&format!("c{i}"), "x")])))
                .collect(),
        ),
        (
            "one id in one message",
            vec![
                Message::user("go"),
                says((0..n).map(|_| run("a", "x")).collect()),
                answers((0..n).map(|_| result("a", "x")).collect()),
            ],
        ),
        (
            "results in reverse",
            vec![
                Message::user("go"),
                says((0..n).map(|i| run(&format!("c{i}"), "x")).collect()),
                answers((0..n).rev().map(|i| result(&format!("c{i}"), "x")).collect()),
            ],
        ),
        (
            "one id in many messages",
            [Message::user("go")]
                .into_iter()
                .chain((0..n).flat_map(|_| [says(vec![run("a", "x")]), Message::user("no")]))
                .collect(),
        ),
        (
            "results before calls",
            [Message::user("go")]
                .into_iter()
                .chain((0..n).map(|_| answers(vec![result("a", "x")])))
                .chain((0..n).flat_map(|_| [says(vec![run("a", "x")]), Message::user("no")]))
                .collect(),
        ),
    ];
    for (name, messages) in hostile {
        let mut view = View::new(messages);
        let watch = Stopwatch::begin();
        pair(&mut view);
        let paired = watch.elapsed();
        assert_valid(&view);
        // Generous, since tests run unoptimised; a quadratic walk takes far longer.
        assert!(paired < Duration::from_millis(700), "{name}: {paired:?}");
    }
}

#[test]
fn each_rule_is_noticed() {
    let found = |messages: Vec<Message>| validate(&View::new(messages)).len();
    let asked = |parts| vec![Message::user("go"), says(parts)];
    let with = |mut messages: Vec<Message>, parts| {
        messages.push(answers(parts));
        messages
    };
    assert_eq!(found(vec![]), 1);
    assert_eq!(found(vec![Message::user("go"), Message::assistant("done")]), 1);
    assert_eq!(found(vec![Message::assistant("hi"), Message::user("go")]), 1);
    assert_eq!(found(vec![Message::user(" ")]), 1);
    assert_eq!(found(vec![Message::user("go"), answers(vec![])]), 1);
    assert_eq!(found(with(asked(vec![run("a", "x")]), vec![Part::text("no")])), 1);
    assert_eq!(
        found(with(
            asked(vec![run("a", "x")]),
            vec![result("a", "1"), result("a", "2")]
        )),
        1
    );
    assert_eq!(
        found(with(
            asked(vec![run("a", "x"), run("b", "y")]),
            vec![result("b", "2"), Part::text("x")]
        )),
        1
    );
    assert_eq!(
        found(with(
            asked(vec![run("a", "x"), run("a", "y")]),
            vec![result("a", "1"), result("a", "2")]
        )),
        1
    );
    // How an id is spelled is the writer's to decide.
    assert_eq!(
        found(with(asked(vec![run("a:b c", "x")]), vec![result("a:b c", "1")])),
        0
    );
    assert_eq!(
        found(with(
            asked(vec![run(&"a".repeat(129), "x")]),
            vec![result(&"a".repeat(129), "1")]
        )),
        1
    );
    assert_eq!(
        found(with(
            asked(vec![run("a", "x")]),
            vec![Part::ToolResult(ToolResult::new("a", Some(false), ""))]
        )),
        1
    );
    assert_eq!(found(vec![Message::user("go"), answers(vec![thinks("me", None)])]), 1);
    assert_eq!(found(vec![Message::user("go"), answers(vec![run("a", "x")])]), 1);
    let mut named = run("a", "x");
    // How a name is spelled is the writer's to decide as well.
    let long = "a".repeat(129);
    for (name, expected) in [("a.b", 0), ("9a", 0), ("", 1), (&*long, 1)] {
        if let Part::ToolCall(call) = &mut named {
            call.tool = name.into();
        }
        assert_eq!(
            found(with(asked(vec![named.clone()]), vec![result("a", "1")])),
            expected,
            "{name}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anything_becomes_valid_for_every_vendor(mut view in anything()) {
        let words = prompts(&view);
        pair(&mut view);
        if !view.messages.is_empty() {
            assert_valid(&view);
        }
        prop_assert_eq!(prompts(&view), words);
        let once = view.clone();
        prop_assert_eq!(pair(&mut view).hits, 0);
        prop_assert_eq!(view, once);
    }

    #[test]
    fn what_is_valid_and_plain_is_left_alone(mut view in session()) {
        pair(&mut view);
        let before = view.clone();
        prop_assert_eq!(pair(&mut view).hits, 0);
        prop_assert!(before.messages.iter().zip(&view.messages).all(|(a, b)| std::sync::Arc::ptr_eq(a, b)));
    }
}
