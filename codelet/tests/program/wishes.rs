//! When a session compacts, with the real program: the model asks for it, and the user says when, or that he does it.

use crate::common::agent::Bench;
use crate::common::{ended, stderr, stdout};
use codelet_testkit::server::{Behaviour, Record, Reply, Server, Wire};
use serde_json::json;
use std::process::Output;

const FREE: &str =
    "[models.\"anthropic/test-model\"]\nwindow = 40000\ninput = 0\noutput = 0\ncache_read = 0\ncache_write = 0\n";

/// Lines that no other file has.
fn part(number: usize) -> String {
    (0..160)
        .map(|line| format!("let part_{number}_{line} = count_of({line}, {number});\n"))
        .collect()
}

/// Has a model read parts, and ask for a compaction before these; it answers behind the last one.
fn working(args: &[&str], settings: &str, wishes: &'static [usize]) -> (Output, Record) {
    const PARTS: usize = 20;
    let bench = Bench::new();
    bench.settings(settings);
    (0..PARTS).for_each(|number| bench.file(&format!("part_{number}.rs"), &part(number)));
    let replies = (0..PARTS).flat_map(|number| {
        let wish = wishes
            .contains(&number)
            .then(|| Reply::call("Compact", json!({"reason": format!("part {number} comes next")})));
        let read = Reply::call("Read", json!({"file_path": format!("part_{number}.rs")}));
        wish.into_iter().chain([read])
    });
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::replies(replies.chain([Reply::text("All is read.")])),
    );
    let output = bench.ask(&server, Wire::Anthropic, &[&["-p", "Read all parts."], args].concat());
    let record = server.record();
    assert_eq!(record.faults(), "");
    (output, record)
}

fn tools(record: &Record) -> Vec<String> {
    let tools = &record.exchanges[0].request.json()["tools"];
    let names = tools.as_array().into_iter().flatten();
    names
        .map(|tool| tool["name"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_wish_is_declined_while_there_is_room_and_granted_where_the_window_will_be_full_anyway() {
    let (output, record) = working(&[], FREE, &[2, 17]);
    ended(&output, 0);
    assert_eq!(stdout(&output), "All is read.\n");
    assert!(tools(&record).contains(&"Compact".to_owned()));
    assert!(stderr(&output).contains("Context compacted: "), "{}", stderr(&output));
    let answered = |words: &str| {
        let requests = record.exchanges.iter().map(|exchange| &exchange.request);
        let holds = |results: Vec<(&str, &str)>| results.iter().any(|(_, text)| text.contains(words));
        requests.map(|request| request.results()).position(holds)
    };
    let declined = answered("Not compacted, as ").unwrap();
    let granted = answered("is replaced by a summary before your next step").unwrap();
    assert!(declined < granted);
    // The first request that tells of the grant has the summary in it already, and keeps the call.
    let (before, after) = (
        &record.exchanges[granted - 1].request,
        &record.exchanges[granted].request,
    );
    assert!(after.json().to_string().len() * 2 < before.json().to_string().len());
    assert_eq!(after.calls().last().map(|(_, name, _)| *name), Some("Compact"));
}

#[test]
fn where_only_the_user_compacts_a_full_window_ends_the_run_and_the_model_has_no_say() {
    let off = format!("compact_at = \"off\"\n{FREE}");
    let (output, record) = working(&[], &off, &[]);
    ended(&output, 4);
    let told = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("automatic compaction is off (compact_at): run /compact and continue"),
        "{told}"
    );
    assert!(!told.contains("Context compacted"), "{told}");
    assert!(!tools(&record).contains(&"Compact".to_owned()));
}

#[test]
fn a_share_of_the_window_is_set_by_file_or_option_and_never_by_a_project() {
    let largest = |record: &Record| {
        let sizes = record
            .exchanges
            .iter()
            .map(|exchange| exchange.request.json()["messages"].to_string().len());
        sizes.max().unwrap_or(0)
    };
    let (output, whole) = working(&[], FREE, &[]);
    ended(&output, 0);
    let (output, half) = working(&["--compact-at", "0.5"], FREE, &[]);
    ended(&output, 0);
    assert!(
        largest(&half) * 4 < largest(&whole) * 3,
        "{} of {}",
        largest(&half),
        largest(&whole)
    );
    let bench = Bench::new();
    bench.file(".codelet/settings.toml", "compact_at = 0.1\n");
    bench.settings("compact_at = 0.7\n");
    let output = bench.command(&["settings"]).output().unwrap();
    let shown = stdout(&output);
    let line = shown.lines().find(|line| line.contains("compact_at")).unwrap();
    assert!(line.contains("0.7"), "{shown}");
    for wrong in ["1", "0", "full", "NaN"] {
        let output = bench.command(&["-p", "x", "--compact-at", wrong]).output().unwrap();
        ended(&output, 2);
        assert!(
            stderr(&output).contains(&format!("'{wrong}' for '--compact-at <SHARE>': expected a share")),
            "{}",
            stderr(&output)
        );
    }
}
