//! What a newer output supersedes, and what it does not: pages, notes.

use crate::common::{answers, result, says};
use codelet_context::history::History;
use codelet_context::inspect::{self, Superseding};
use codelet_context::message::{Action, ActionKind, Message, Part, ToolCall};
use codelet_context::strategy;
use codelet_context::strategy::StrategyLimits;
use codelet_context::view::View;
use serde_json::{Value, json};

/// So many different lines of a file or of an output; none is in another part.
fn output(part: usize, lines: usize) -> String {
    (0..lines)
        .map(|line| format!("let value_{}_{part} = {};\n", line * 7, line * part))
        .collect()
}

type Call = (Action, Value, String);

/// The history of these calls.
fn messages(calls: &[Call]) -> Vec<Message> {
    let mut messages = vec![Message::user("Look around.")];
    for (number, (action, parameters, output)) in calls.iter().enumerate() {
        let id = number.to_string();
        let call = ToolCall::new(id.as_str(), "tool", parameters.as_object().unwrap().clone());
        messages.push(says(vec![Part::ToolCall(call.doing(action.clone()))]));
        messages.push(answers(vec![result(&id, output.clone())]));
    }
    messages
}

/// How many answers become pointers to a newer answer to the same call.
fn pointed(calls: &[Call]) -> u64 {
    let mut view = View::new(messages(calls));
    let strategy = strategy::named("tool_call_dedup").unwrap();
    let count = (strategy.apply)(&mut view, &StrategyLimits::default());
    let again = (strategy.apply)(&mut view, &StrategyLimits::default());
    assert_eq!(again.hits, 0, "twice is once");
    count.hits
}

/// How many reads an inspection tells of that were read again.
fn read_again(calls: &[Call]) -> usize {
    let history: History = messages(calls).into_iter().collect();
    let found = inspect::inspect(history.messages(), &[], 5);
    let reads = found.superseded.iter();
    reads.filter(|read| read.how == Superseding::ReadAgain).count()
}

#[test]
fn the_text_of_a_file_stays_where_it_was_read_again_and_only_a_note_came() {
    const NOTES: [&str; 3] = [
        "File unchanged since last read. The content from the earlier result in this conversation is still current.",
        "Already shown above.\n",
        "[same as before]",
    ];
    for note in NOTES {
        let read = |output: String| {
            let action = Action::on(ActionKind::Read, ["/w/src/a.rs"]);
            (action, json!({"file_path": "/w/src/a.rs"}), output)
        };
        let noted = [read(output(1, 200)), read(note.into())];
        assert_eq!((pointed(&noted), read_again(&noted)), (0, 0));
        let repeated = [read(output(1, 200)), read(note.into()), read(output(1, 200))];
        assert_eq!((pointed(&repeated), read_again(&repeated)), (1, 1));
        // Nobody knows what has changed the file; the newer answer is one, all the same.
        let other = [read(output(1, 200)), read(note.into()), read(output(2, 180))];
        assert_eq!((pointed(&other), read_again(&other)), (1, 1));
        let edit = (
            Action::on(ActionKind::Change, ["/w/src/a.rs"]),
            json!({"file_path": "/w/src/a.rs"}),
            "Done.".to_owned(),
        );
        let shortened = [read(output(1, 200)), edit, read(output(2, 12))];
        assert_eq!(pointed(&shortened), 1);
    }
}

#[test]
fn pages_are_not_pointed_at_as_newer_answers_and_answers_to_the_same_question_are() {
    let scroll = |part| (Action::on(ActionKind::Read, []), json!({}), output(part, 40));
    // Somebody has scrolled down, up, and down again.
    assert_eq!(pointed(&[scroll(1), scroll(2), scroll(1), scroll(3)]), 0);
    let search = |part| {
        (
            Action::on(ActionKind::Search, []),
            json!({"pattern": "value"}),
            output(part, 40),
        )
    };
    assert_eq!(
        pointed(&[search(1), search(2)]),
        1,
        "the same question has a newer answer"
    );
}
