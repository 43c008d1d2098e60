//! Tests of the lines for people.
#![allow(clippy::unwrap_used)]

use super::*;
use codelet_context::message::{Message, Part, Role, ToolCall, ToolResult};
use proptest::prelude::*;

#[test]
fn a_line_for_people_ends_in_its_size_and_harms_no_terminal() {
    let long = Message::user("x".repeat(12_345));
    let shown = line(&long, 40);
    assert_eq!(shown.chars().count(), 40);
    assert!(shown.ends_with("… (12,345 bytes)"), "{shown}");
    let hostile = Message::user("\u{1b}[2J\u{7}\u{202e}evil\r\n");
    assert_eq!(line(&hostile, 80), "user: \\e[2J\\u{7}\\u{202e}evil\\r\\n");
    let unseen = Message::user("a\u{34f}b\u{3164} ❤\u{fe0f}");
    assert_eq!(line(&unseen, 80), "user: a\\u{34f}b\\u{3164} ❤\u{fe0f}");
}

#[test]
fn a_message_of_many_parts_is_one_line_that_counts_the_rest() {
    let results = (0..20)
        .map(|i| ToolResult::new(format!("{i}"), Some(true), "x".repeat(500)))
        .collect();
    let shown = line(&Message::results(results), 120);
    assert!(shown.starts_with("result 0: x"), "{shown}");
    assert!(shown.ends_with(" more"), "{shown}");
    assert!(text::columns(&shown) <= 120, "{}", shown.len());
}

#[test]
fn a_long_id_is_known_by_its_end() {
    let call = ToolCall::new(
        "toolu_01A9b8C7d6E5f4",
        "Bash",
        serde_json::Map::from_iter([("command".to_owned(), "ls".into())]),
    );
    let message = Message::new(Role::Assistant, vec![Part::ToolCall(call)]);
    assert_eq!(line(&message, 80), "call 6E5f4: ls");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_line_is_no_wider_than_asked(words in "\\PC{0,200}", width in 40usize..120) {
        let message = Message::user(words);
        prop_assert!(text::columns(&line(&message, width)) <= width);
    }
}
