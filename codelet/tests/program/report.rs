//! `codelet report`: where the page goes, what is refused, and what it is about.

use crate::common::agent::{Bench, KEY, usage};
use crate::common::*;
use codelet_replay::policy::Policy;
use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use std::io::Write as _;

#[test]
fn a_page_appears_whole_in_a_file_or_on_a_pipe() {
    let folder = folder("report_page");
    let recorded = file(&folder, "session.json", request_text(12));
    let page = folder.join("report.html");
    let output = run(&["report", &recorded, "-o", page.to_str().unwrap()]);
    ended(&output, 0);
    assert_eq!(stdout(&output), "");
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.starts_with("<!DOCTYPE html>") && written.ends_with("</html>\n"));
    assert!(written.contains("session.json") && written.contains("A simulation of the"));

    let piped = run(&["report", &recorded]);
    ended(&piped, 0);
    assert_eq!(stdout(&piped), written);
    let from_stdin = run_with(&["report", "-"], request_text(12).as_bytes());
    ended(&from_stdin, 0);
    assert!(stdout(&from_stdin).contains("standard input"));
}

#[test]
fn policies_window_and_prices_are_those_that_were_asked_for() {
    let folder = folder("report_settings");
    let recorded = file(&folder, "session.json", request_text(12));
    let output = run(&[
        "report", &recorded, "--window", "1M", "--prices", "1h", "--policy", "thrifty",
    ]);
    ended(&output, 0);
    let page = stdout(&output);
    assert!(page.contains("window 1,000,000") && page.contains("Cache lifetime 1 h 0 min"));
    assert_eq!(page.matches("class=\"course\"").count(), 2);
    assert!(page.contains(">thrifty</label>") && !page.contains(">faithful</label>"));
}

#[test]
fn where_the_prices_were_found_is_told() {
    let folder = folder("report_prices");
    let recorded = file(&folder, "session.json", request_text(3));
    for (card, words) in [
        (
            "openai/gpt-4o",
            "as of 2026-11 from memory, not from the provider&#39;s page, per million tokens",
        ),
        (
            "deepseek/deepseek-v4-pro",
            "as of 2026-10 by api-docs.deepseek.com, per million tokens",
        ),
        (
            "openai/gpt-6-sol",
            "as of 2026-10 from price tables of other programs, per million tokens",
        ),
        ("5m", "as of 2026-11, per million tokens"),
    ] {
        let output = run(&["report", &recorded, "--policy", "never", "--prices", card]);
        ended(&output, 0);
        assert!(stdout(&output).contains(words), "{card}");
    }
}

#[test]
fn several_files_are_counted_together_and_bad_ones_are_told_of() {
    let folder = folder("report_several");
    let first = file(&folder, "a.json", request_text(12));
    let second = file(&folder, "b.json", request_text(20));
    let bad = file(&folder, "bad.json", "{");
    let output = run(&["report", &first, &second, &bad, "--policy", "thrifty"]);
    ended(&output, 0);
    assert!(stdout(&output).contains("2 sessions in total"));
    assert!(stderr(&output).contains("bad.json"));
}

#[test]
fn what_cannot_be_done_is_refused() {
    let folder = folder("report_refused");
    let recorded = file(&folder, "session.json", request_text(2));
    refused(
        &run(&["report", &folder.join("none.json").display().to_string()]),
        &["no such file"],
    );
    refused(
        &run(&["report", &recorded, "-o", &recorded]),
        &["session.json", "choose another output file"],
    );
    refused(
        &run(&["report", &recorded, "-o", "/nowhere/report.html"]),
        &["/nowhere/report.html"],
    );
    refused(
        &run(&["report", &recorded, "--prices", "gold"]),
        &["neither a price card"],
    );
    refused(&run(&["report", &recorded, "--policy", "magic"]), &["magic"]);
    assert!(!std::fs::read_to_string(&recorded).unwrap().contains("<!DOCTYPE"));
}

#[test]
fn what_is_odd_in_a_recording_is_told() {
    let folder = folder("report_odd");
    let odd = request_text(3).replacen("Please", "Pl\\ud83dase", 1);
    let recorded = file(&folder, "session.json", odd);
    let output = run(&["report", &recorded]);
    ended(&output, 0);
    let told = stderr(&output);
    assert!(
        told.contains("session.json: escapes of half a character were replaced"),
        "{told}"
    );
}

/// What a session's own page holds, in a window in which it never fills: bills, and what other policies would have cost.
#[test]
fn the_page_of_a_session_under_way_names_its_prompt_and_compares_policies() {
    let bench = Bench::new();
    bench.file("a.txt", &"a line of the file\n".repeat(400));
    let replies = [
        Reply::new()
            .calls("Read", serde_json::json!({"file_path": "a.txt"}))
            .billed(usage(5_000)),
        Reply::text("It holds one line.").billed(usage(8_000)),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let model = [
        "--plain",
        "--model",
        "anthropic/claude-sonnet-5",
        "--base-url",
        &server.base(),
    ];
    let mut command = bench.command(&model);
    command.env("ANTHROPIC_API_KEY", KEY);
    let mut child = piped(&mut command);
    let said = "Read a.txt, <b>please</b>.\n/export report.html\nexit\n";
    child.stdin.take().unwrap().write_all(said.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    ended(&output, 0);
    let page = bench.read("report.html");
    assert!(
        page.contains("<h1><bdi>Read a.txt, &lt;b&gt;please&lt;/b&gt;.</bdi></h1>"),
        "{}",
        &page[page.find("<h1>").unwrap()..][..200]
    );
    assert!(page.contains("2 requests sent 13,000 prompt tokens"));
    assert!(page.contains("Dollars under each policy"));
    for policy in Policy::USUAL {
        let name = policy.name();
        assert!(page.contains(&format!("<th scope=\"row\">{name}</th>")), "{name}");
        assert!(
            page.contains(&format!("<strong>{name}</strong>, simulated: ")),
            "{name}"
        );
    }
    assert!(page.contains("<strong>as billed</strong>: faithful, "));
}
