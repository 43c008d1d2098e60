//! Plan mode: a session that only looks until its user has decided on a plan.

use crate::common::agent::Bench;
use crate::common::pty::{Session as _, Terminal};
use crate::{SIZE, everywhere, leave, server, usage};
use codelet_testkit::server::{Reply, Request};
use serde_json::{Value, json};

const SHIFT_TAB: &[u8] = b"\x1b[Z";

fn edit() -> Reply {
    Reply::call(
        "Edit",
        json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"}),
    )
    .billed(usage(2_000))
}

fn says(request: &Request, words: &str) -> bool {
    request.json().to_string().contains(words)
}

/// The texts of the last user message.
fn last(request: &Request) -> String {
    let json = request.json();
    let messages = json["messages"].as_array().unwrap();
    let last = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
    last["content"].to_string()
}

#[test]
fn nothing_is_changed_before_the_plan_is_accepted_and_then_it_is_carried_out() {
    let replies = || {
        vec![
            edit(),
            Reply::call("Bash", json!({"command": "cat a.txt"})).billed(usage(2_000)),
            Reply::text("1. Make two a digit in a.txt.").billed(usage(2_100)),
            edit(),
            Reply::text("Carried out.").billed(usage(2_200)),
        ]
    };
    everywhere(replies, &["--plan"], |bench, server, session| {
        bench.file("a.txt", "one\ntwo\n");
        session.say("Make two a digit.");
        session.wait("/plan accept carries out this plan");
        assert_eq!(bench.read("a.txt"), "one\ntwo\n");
        {
            let record = server.record();
            assert!(says(&record.exchanges[0].request, "Mode: plan."));
            // Who asks for a change is told why there is none, and nobody was asked; a look is one.
            assert!(record.exchanges[1].request.results()[0].1.contains("plan mode"));
            assert!(record.exchanges[2].request.results()[1].1.contains("two"));
        }
        session.say("/plan accept");
        session.wait("Carried out.");
        leave(session, server);
        assert_eq!(bench.read("a.txt"), "one\n2\n");
        let record = server.record();
        let carried = &record.exchanges[3].request;
        assert!(
            last(carried).contains("I accept this plan. Carry it out."),
            "{}",
            last(carried)
        );
    });
}

#[test]
fn a_plan_is_changed_where_one_writes_and_the_changed_one_is_carried_out() {
    let bench = Bench::new();
    let server = server([
        Reply::text("1. Make two a digit.").billed(usage(2_000)),
        Reply::text("Carried out.").billed(usage(2_100)),
    ]);
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    terminal.see("ready");
    terminal.send(SHIFT_TAB);
    terminal.see("plan mode ·");
    terminal.say("What would you do?");
    terminal.see("/plan accept carries out this plan");
    terminal.say("/plan edit");
    terminal.see("› /plan accept\n  1. Make two a digit.");
    terminal.see("Enter sends it");
    terminal.send(b" And three.");
    terminal.see("And three.");
    terminal.send(b"\r");
    terminal.see("Carried out.");
    terminal.say("/pin");
    terminal.see("Pinned");
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
    let record = server.record();
    assert!(last(&record.exchanges[1].request).contains("Carry out this plan:\\n\\n1. Make two a digit. And three."));
    assert!(!terminal.screen().contains("plan mode ·"));
}

#[test]
fn a_plan_is_accepted_with_a_remark() {
    let replies = || {
        vec![
            Reply::text("1. Make two a digit.\n2. Commit.").billed(usage(2_000)),
            Reply::text("Carried out.").billed(usage(2_100)),
        ]
    };
    everywhere(replies, &["--plan"], |_, server, session| {
        session.say("Make two a digit.");
        session.wait("/plan accept carries out this plan");
        session.say("/plan accept but skip step 2");
        session.wait("Carried out.");
        leave(session, server);
        let record = server.record();
        let sent = last(&record.exchanges[1].request);
        assert!(
            sent.contains("I accept this plan. Carry it out.\\n\\nbut skip step 2"),
            "{sent}"
        );
        assert!(says(&record.exchanges[1].request, "1. Make two a digit."));
    });
}

#[test]
fn the_permission_of_before_and_what_was_granted_hold_again_behind_plan_mode() {
    let bench = Bench::new();
    let touch = |file: &str| Reply::call("Bash", json!({"command": format!("touch {file}")})).billed(usage(2_000));
    let server = server([
        touch("one"),
        Reply::text("First.").billed(usage(2_000)),
        touch("two"),
        Reply::text("Second.").billed(usage(2_000)),
        touch("three"),
        Reply::text("Third.").billed(usage(2_000)),
    ]);
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    terminal.see("ready");
    terminal.say("Touch it.");
    terminal.see("│ touch one");
    terminal.see("always");
    terminal.answer("a");
    terminal.see("First.");
    terminal.say("/plan");
    terminal.see("plan mode ·");
    terminal.say("Touch another.");
    terminal.see("Second.");
    assert!(!bench.work.join("two").exists());
    terminal.say("/plan off");
    terminal.see("Permission edit:");
    terminal.say("And now?");
    terminal.see("Third.");
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
    assert!(bench.work.join("three").exists());
    // It was said when it held, and that it does not hold any more.
    let environment = |at: usize| -> Vec<bool> {
        let record = server.record();
        let json: Value = record.exchanges[at].request.json().clone();
        let texts = json["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["content"].to_string());
        texts
            .filter(|text| text.contains("environment"))
            .map(|text| text.contains("Mode: plan."))
            .collect()
    };
    assert_eq!(environment(0), [false]);
    assert_eq!(environment(2).last(), Some(&true));
    assert_eq!(environment(4).last(), Some(&false));
}
