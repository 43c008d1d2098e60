//! What a newer output supersedes, and what it does not: pages, files that end alike.

use crate::common::{answers, result, run, says};
use codelet_context::conversation::{Conversation, Signals};
use codelet_context::history::History;
use codelet_context::inspect::{self, Superseding};
use codelet_context::message::{Action, ActionKind, Message, Part, ToolCall};
use codelet_context::policy::CompactionConfig;
use codelet_context::strategy;
use codelet_context::strategy::Limits;
use codelet_context::view::View;
use serde_json::{Value, json};

/// So many different lines of a file or of an output; none is in another part.
fn output(part: usize, lines: usize) -> String {
    (0..lines)
        .map(|line| format!("let value_{}_{part} = {};\n", line * 7, line * part))
        .collect()
}

type Call = (Action, Value, String);

/// The markers that stand in place of outputs after an edit with a cold cache, by the numbers of the calls.
fn marked(calls: &[Call]) -> Vec<(String, String)> {
    let mut conversation = Conversation::new(CompactionConfig::new(400_000), 0);
    conversation.append(Message::user("Look around."));
    for (number, (action, parameters, output)) in calls.iter().enumerate() {
        let id = number.to_string();
        let call = ToolCall::new(id.as_str(), "tool", parameters.as_object().unwrap().clone());
        conversation.append(says(vec![Part::ToolCall(call.doing(action.clone()))]));
        conversation.append(answers(vec![result(&id, output.clone())]));
    }
    // Time passes: what is superseded is so for two steps before it goes.
    for number in 1_000..1_004 {
        let id = number.to_string();
        conversation.append(says(vec![run(&id, "true")]));
        conversation.append(answers(vec![result(&id, "x")]));
    }
    let cold = Signals {
        is_cold: true,
        ..Signals::default()
    };
    if let Some(due) = conversation.decide(cold) {
        conversation.compact(due).unwrap();
    }
    let results = conversation
        .view()
        .messages
        .iter()
        .flat_map(|message| message.tool_results());
    let cut = results.flat_map(|result| result.texts().map(move |text| (result, text)));
    cut.filter(|(_, text)| text.cut.is_some())
        .map(|(result, text)| (result.call_id.to_string(), text.body.to_string()))
        .collect()
}

fn superseded(calls: &[Call]) -> Vec<String> {
    let marked = marked(calls).into_iter();
    let superseded = marked.filter(|(_, marker)| marker.contains("superseded by a newer one"));
    superseded.map(|(id, _)| id).collect()
}

#[test]
fn files_that_only_end_alike_do_not_supersede_each_other() {
    let read = |path: &str, seed| {
        let action = Action::on(ActionKind::Read, [path]);
        (action, json!({ "file_path": path }), output(seed, 200))
    };
    let none: [&str; 0] = [];
    assert_eq!(
        superseded(&[read("crates/alpha/src/lib.rs", 1), read("crates/beta/src/lib.rs", 2)]),
        none
    );
    assert_eq!(
        superseded(&[read("/one/src/lib.rs", 1), read("/two/src/lib.rs", 1)]),
        ["0"],
        "equal bytes are"
    );
    assert_eq!(superseded(&[read("/w/src/lib.rs", 1), read("src/lib.rs", 2)]), none);
    let again = [
        read("/w/src/lib.rs", 1),
        (
            Action::on(ActionKind::Read, ["src/lib.rs"]),
            json!({"path": "src/lib.rs", "limit": 900}),
            output(1, 220),
        ),
    ];
    assert_eq!(superseded(&again), ["0"]);
}

#[test]
fn pages_do_not_supersede_each_other_however_they_are_asked_for() {
    let none: [&str; 0] = [];
    let page = |action: Action, parameters: Value, seed| (action, parameters, output(seed, 200));
    // A pager says nothing of what it shows; the same words ask for the next page.
    for parameters in [json!({}), json!({"line_number": 100}), json!({"direction": "down"})] {
        let pages: Vec<_> = (0..5)
            .map(|n| page(Action::on(ActionKind::Read, []), parameters.clone(), n))
            .collect();
        assert_eq!(superseded(&pages), none, "{parameters}");
    }
    let logs: Vec<_> = (0..5)
        .map(|n| {
            page(
                Action::command("journalctl -n 50"),
                json!({"command": "journalctl -n 50"}),
                n,
            )
        })
        .collect();
    assert_eq!(superseded(&logs), none);
    // A page near the end, and then the file from its start, of which a reader shows the first part only.
    let big = |parameters, seed| page(Action::on(ActionKind::Read, ["big.txt"]), parameters, seed);
    assert_eq!(
        superseded(&[
            big(json!({"path": "big.txt", "offset": 4_001}), 1),
            big(json!({"path": "big.txt"}), 2)
        ]),
        none
    );
    // All of it, by an agent that always says from where.
    let all = output(1, 200) + &output(2, 200);
    let whole = (
        Action::on(ActionKind::Read, ["big.txt"]),
        json!({"path": "big.txt", "offset": 0}),
        all,
    );
    assert_eq!(
        superseded(&[big(json!({"path": "big.txt", "offset": 300}), 2), whole]),
        ["0"]
    );
}

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
    let count = (strategy.apply)(&mut view, &Limits::default());
    let again = (strategy.apply)(&mut view, &Limits::default());
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
    let none: [&str; 0] = [];
    for note in NOTES {
        let read = |output: String| {
            let action = Action::on(ActionKind::Read, ["/w/src/a.rs"]);
            (action, json!({"file_path": "/w/src/a.rs"}), output)
        };
        let noted = [read(output(1, 200)), read(note.into())];
        assert_eq!(
            (superseded(&noted), pointed(&noted), read_again(&noted)),
            (none.map(str::to_owned).to_vec(), 0, 0)
        );
        let repeated = [read(output(1, 200)), read(note.into()), read(output(1, 200))];
        assert_eq!(
            (superseded(&repeated), pointed(&repeated), read_again(&repeated)),
            (vec!["0".to_owned()], 1, 1)
        );
        // Nobody knows what has changed the file; the newer answer is one, all the same.
        let other = [read(output(1, 200)), read(note.into()), read(output(2, 180))];
        assert_eq!(
            (superseded(&other), pointed(&other), read_again(&other)),
            (vec!["0".to_owned()], 1, 1)
        );
        let edit = (
            Action::on(ActionKind::Change, ["/w/src/a.rs"]),
            json!({"file_path": "/w/src/a.rs"}),
            "Done.".to_owned(),
        );
        let shortened = [read(output(1, 200)), edit, read(output(2, 12))];
        assert_eq!((superseded(&shortened), pointed(&shortened)), (vec!["0".to_owned()], 1));
    }
}

#[test]
fn pages_are_not_pointed_at_as_newer_answers_and_what_shows_the_same_is() {
    let scroll = |part| (Action::on(ActionKind::Read, []), json!({}), output(part, 40));
    assert_eq!(pointed(&[scroll(1), scroll(2), scroll(3)]), 0);
    // Somebody has scrolled down, up, and down again.
    assert_eq!(pointed(&[scroll(1), scroll(2), scroll(1), scroll(3)]), 1);
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
