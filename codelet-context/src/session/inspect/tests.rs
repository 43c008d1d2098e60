#![allow(clippy::unwrap_used)]

use super::*;
use crate::evidence::anchor::AnchorKind;
use crate::history::History;
use crate::message::{Action, Image, ToolResult};
use serde_json::json;

fn call(id: &str, tool: &str, action: Action) -> Message {
    // Calls with equal parameters would be the same query.
    let parameters = serde_json::Map::from_iter([("offset".to_owned(), json!(id))]);
    let call = ToolCall::new(id, tool, parameters).doing(action);
    Message::new(Role::Assistant, vec![Part::ToolCall(call)])
}

fn answer(id: &str, success: Option<bool>, output: &str) -> Message {
    Message::results(vec![ToolResult::new(id, success, output)])
}

fn lines(range: Range<usize>) -> String {
    range.map(|n| format!("{n}\tlet value_{} = {n};\n", n * 7)).collect()
}

fn look(messages: Vec<Message>) -> Inspection {
    inspect(messages.into_iter().collect::<History>().messages(), &[], 5)
}

fn read(id: &str, path: &str) -> Message {
    call(id, "Read", Action::on(ActionKind::Read, [path]))
}

#[test]
fn the_kinds_sum_up_to_the_whole() {
    let mut result = ToolResult::new("a", Some(true), "x".repeat(400));
    result.output.push(Part::Image(Image {
        media_type: "image/png".into(),
        data: "aGk=".into(),
        is_url: false,
        extra: Default::default(),
    }));
    let history: History = [
        Message::system("be brief"),
        Message::user("draw it"),
        call("a", "Draw", Action::default()),
        Message::results(vec![result]),
        Message::assistant("done"),
    ]
    .into_iter()
    .collect();
    let found = inspect(history.messages(), &[], 3);
    let whole: Tokens = history.messages().iter().map(|m| tokens::estimate_message(m)).sum();
    assert_eq!(found.tokens, whole);
    assert_eq!(found.kinds.values().map(|share| share.tokens).sum::<Tokens>(), whole);
    assert_eq!(found.kinds[&Kind::Results].tokens, 105);
    assert_eq!(found.kinds[&Kind::Images].parts, 1);
    assert_eq!(found.tools[0].tool.as_ref(), "Draw");
    assert_eq!(found.largest[0].kind, Kind::Results);
    assert_eq!(found.largest.len(), 3);
}

#[test]
fn a_read_is_superseded_by_a_change_and_by_a_read_that_shows_it_again() {
    let found = look(vec![
        Message::user("go"),
        read("a", "src/a.rs"),
        answer("a", Some(true), &lines(0..50)),
        read("b", "./src/a.rs"),
        answer("b", Some(true), &lines(0..60)),
        read("c", "src/b.rs"),
        answer("c", Some(true), &lines(0..50)),
        call("d", "Edit", Action::on(ActionKind::Change, ["src/b.rs"])),
        answer("d", Some(true), "edited"),
    ]);
    let told: Vec<_> = found.superseded.iter().map(|s| (s.item.message, s.by, s.how)).collect();
    assert_eq!(told, [(2, 4, Superseding::ReadAgain), (6, 8, Superseding::Changed)]);
}

#[test]
fn another_part_of_the_file_supersedes_nothing_and_neither_does_a_failed_edit() {
    let found = look(vec![
        Message::user("go"),
        read("a", "a.rs"),
        answer("a", Some(true), &lines(0..50)),
        read("b", "a.rs"),
        answer("b", Some(true), &lines(50..100)),
        call("c", "Edit", Action::on(ActionKind::Change, ["a.rs"])),
        answer("c", Some(false), "no match"),
    ]);
    assert_eq!(found.superseded, []);
    assert_eq!(found.turns[0].failed, 1);
}

#[test]
fn moved_lines_are_the_same_lines() {
    let moved: String = (0..50)
        .map(|n| format!("  {}→let value_{} = {n};\n", n + 9, n * 7))
        .collect();
    let found = look(vec![
        Message::user("go"),
        read("a", "a.rs"),
        answer("a", None, &lines(0..50)),
        read("b", "a.rs"),
        answer("b", None, &moved),
    ]);
    // The text after the number is the same: only the position of the line in the file changed.
    assert_eq!(found.superseded.len(), 1);
}

#[test]
fn equal_outputs_are_repeats_and_short_ones_are_not() {
    let long = "warning: unused\n".repeat(40);
    let run = |id| call(id, "Bash", Action::command("make"));
    let found = look(vec![
        Message::user("go"),
        run("a"),
        answer("a", Some(true), &long),
        run("b"),
        answer("b", Some(true), &long),
        run("c"),
        answer("c", Some(true), "ok"),
        run("d"),
        answer("d", Some(true), "ok"),
    ]);
    assert_eq!(found.repeats.len(), 1);
    assert_eq!(found.repeats[0].messages, [2, 4]);
    assert_eq!(found.repeats[0].newest.label, "make");
    assert_eq!(found.repeats[0].wasted, 165);
}

#[test]
fn a_reused_id_is_answered_by_its_newest_call_and_an_early_result_by_a_later_one() {
    let found = look(vec![
        Message::user("go"),
        answer("late", Some(true), "early bird"),
        call("x", "Bash", Action::command("one")),
        answer("x", Some(true), "1"),
        call("x", "Grep", Action::default()),
        answer("x", Some(false), "2"),
        call("late", "Slow", Action::default()),
        answer("never", Some(true), "orphan"),
    ]);
    let told: Vec<_> = found
        .tools
        .iter()
        .map(|t| (t.tool.as_ref(), t.calls.parts, t.results.parts, t.failed))
        .collect();
    assert!(told.contains(&("Bash", 1, 1, 0)), "{told:?}");
    assert!(told.contains(&("Grep", 1, 1, 1)), "{told:?}");
    assert!(told.contains(&("Slow", 1, 1, 0)), "{told:?}");
    assert!(told.contains(&("", 0, 1, 0)), "{told:?}");
}

#[test]
fn turns_carry_their_prompt_their_steps_and_their_anchors() {
    let messages: History = [
        Message::system("rules"),
        Message::user("\n  first thing\nmore"),
        read("a", "a"),
        answer("a", Some(true), "a"),
        Message::assistant("ok"),
        Message::user("second thing"),
        Message::assistant("done"),
    ]
    .into_iter()
    .collect();
    let anchor = Anchor {
        kind: AnchorKind::UserCheckpoint,
        turn: 1,
        range: 5..7,
        description: "pinned".to_owned(),
    };
    let found = inspect(messages.messages(), std::slice::from_ref(&anchor), 9);
    let told: Vec<_> = found
        .turns
        .iter()
        .map(|t| (t.prompt.as_str(), t.steps, t.range.clone()))
        .collect();
    assert_eq!(told, [("first thing", 2, 1..5), ("second thing", 1, 5..7)]);
    assert_eq!(found.turns[1].anchors, [anchor]);
    let place = found.largest.iter().find(|item| item.message == 4).unwrap().place;
    assert_eq!(place, Some(TurnPosition { turn: 0, step: Some(1) }));
    assert!(
        found
            .largest
            .iter()
            .any(|item| item.message == 0 && item.place.is_none())
    );
}

#[test]
fn a_call_is_told_by_what_it_does() {
    let of = |value: serde_json::Value, action| {
        let map = value.as_object().unwrap().clone();
        call_label(&ToolCall::new("a", "T", map).doing(action))
    };
    assert_eq!(of(json!({"x": 1}), Action::command("make\ntest")), "make");
    assert_eq!(of(json!({"x": 1}), Action::on(ActionKind::Read, ["a", "b"])), "a, b");
    assert_eq!(
        of(json!({"n": 1, "q": "fn \u{1b}[31mmain"}), Action::default()),
        "fn  [31mmain"
    );
    assert_eq!(of(json!({"n": 1}), Action::default()), r#"{"n":1}"#);
}
