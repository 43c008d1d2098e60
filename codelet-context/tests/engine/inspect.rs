//! Properties of an inspection, on arbitrary conversations: reused ids, orphans and early results included.

use codelet_context::history::History;
use codelet_context::inspect::{by_kind, inspect};
use codelet_context::message::{Action, ActionKind, Message, Part, Role, ToolCall, ToolResult};
use codelet_context::tokens::estimate_message;
use proptest::prelude::*;

fn action() -> impl Strategy<Value = Action> {
    let path = prop::sample::select(vec!["a.rs", "./a.rs", "b.rs"]);
    (0..4, path).prop_map(|(kind, path)| match kind {
        0 => Action::on(ActionKind::Read, [path]),
        1 => Action::on(ActionKind::Change, [path]),
        2 => Action::command("cargo test"),
        _ => Action::default(),
    })
}

fn message() -> impl Strategy<Value = Message> {
    let id = || prop::sample::select(vec!["x", "y", "z"]);
    let text = prop_oneof![".{0,40}", Just("the same line again\n".repeat(20)), Just(String::new())];
    let call = (id(), action()).prop_map(|(id, action)| {
        let call = ToolCall::new(id, "Tool", serde_json::Map::new()).doing(action);
        Message::new(Role::Assistant, vec![Part::ToolCall(call)])
    });
    let success = prop::option::of(any::<bool>());
    let result = (id(), success, text.clone())
        .prop_map(|(id, success, text)| Message::results(vec![ToolResult::new(id, success, text)]));
    prop_oneof![
        3 => call,
        3 => result,
        1 => text.clone().prop_map(Message::user),
        1 => text.clone().prop_map(Message::assistant),
        1 => text.prop_map(Message::system),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_token_is_counted_once_and_every_place_exists(messages in prop::collection::vec(message(), 0..40)) {
        let history: History = messages.into_iter().collect();
        let messages = history.messages();
        let found = inspect(messages, &[], 7);
        let whole: u64 = messages.iter().map(|message| estimate_message(message)).sum();
        prop_assert_eq!(found.tokens, whole);
        prop_assert_eq!(found.kinds.values().map(|share| share.tokens).sum::<u64>(), whole);
        prop_assert_eq!(&found.kinds, &by_kind(messages));
        let calls: usize = messages.iter().map(|message| message.calls().count()).sum();
        let results: usize = messages.iter().map(|message| message.tool_results().count()).sum();
        prop_assert_eq!(found.tools.iter().map(|tool| tool.calls.parts).sum::<usize>(), calls);
        prop_assert_eq!(found.tools.iter().map(|tool| tool.results.parts).sum::<usize>(), results);
        prop_assert!(found.turns.iter().map(|turn| turn.tokens).sum::<u64>() <= whole);
        prop_assert!(found.largest.len() <= 7);
        prop_assert!(found.largest.iter().all(|item| item.part < messages[item.message].parts.len()));
        prop_assert!(found.superseded.iter().all(|read| read.item.message < read.by));
        prop_assert!(found.repeats.iter().all(|repeat| repeat.messages.is_sorted() && repeat.messages.len() > 1));
        prop_assert!(found.repeated() + found.out_of_date() <= 2 * whole);
        prop_assert_eq!(inspect(messages, &[], 7), found);
    }
}
