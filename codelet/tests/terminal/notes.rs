//! Notes as a session lives with them: written by the model, told after a compaction, listed, added and dropped by the user.

use crate::common::agent::Bench;
use crate::common::pty::{Session, Terminal};
use crate::turns::{long, long_files};
use crate::{leave, server};
use codelet_context::tokens::estimate_bytes;
use codelet_testkit::server::Reply;
use serde_json::json;

const TURNS: usize = 6;

#[test]
fn notes_of_the_model_and_the_user_outlive_a_compaction_and_a_dropped_one_does_not() {
    let bench = Bench::new();
    long_files(&bench, TURNS);
    let noted = Reply::new()
        .says("I write that down.")
        .calls(
            "Note",
            json!({"kind": "decision", "subject": "values", "text": "value_37 stays as it is"}),
        )
        .calls(
            "Note",
            json!({"kind": "dead end", "text": "sorting the parts: no faster"}),
        )
        .calls("Note", json!({"kind": "finding", "text": "long ".repeat(200)}));
    let replies = [noted, Reply::text("Noted.")].into_iter().chain(long(TURNS));
    let server = server(replies.chain([Reply::text("All is known.")]));
    let mut terminal = Terminal::start(&bench, &server, &["--window", "30k"], (96, 52));
    terminal.say("/notes");
    terminal.see("No notes yet.");
    terminal.say("What is to be kept?");
    terminal.see("Noted.");
    terminal.say("/notes add  the umlauts are tested by hand");
    terminal.see("Noted; sent with your next prompt");
    terminal.say("/notes drop 7");
    terminal.see("No note 7");
    for turn in 0..TURNS {
        terminal.say(&format!("Read part {turn}."));
        terminal.wait(&format!("Part {turn} is read."));
        terminal.see("ready");
    }
    terminal.say("/notes");
    terminal.see("yours: the umlauts are tested by hand");
    terminal.resembles("notes-listed");
    terminal.say("/notes drop 2");
    terminal.see("Dropped: dead end: sorting the parts: no faster.");
    terminal.say("/compact");
    terminal.wait("Context compacted:");
    terminal.rest();
    terminal.say("Go on.");
    terminal.see("All is known.");
    let record = server.record();
    let first = record.exchanges[0].request.json();
    let weight = estimate_bytes(first["system"].to_string().len()) + estimate_bytes(first["tools"].to_string().len());
    assert!(weight <= 2_600, "prompt and tools have {weight} tokens");
    let results = record.exchanges[1].request.results();
    let results: Vec<&str> = results.iter().map(|(_, text)| *text).collect();
    assert_eq!(results[..2], ["noted", "noted"]);
    assert!(
        results[2].contains("nothing was noted: the text has about 250 tokens"),
        "{results:?}"
    );
    let last = record.exchanges.last().unwrap().request.json()["messages"].to_string();
    assert!(
        last.contains("# Notes\\ndecision (values): value_37 stays as it is\\n"),
        "{last}"
    );
    assert!(last.contains("Pinned: the umlauts are tested by hand"));
    assert!(last.contains("The user has dropped this note of yours"));
    assert_eq!(
        last.matches("sorting the parts").count(),
        1,
        "told only as dropped: {last}"
    );
    drop(record);
    leave(&mut terminal, &server);
}
