//! `--fallback`, with the real program: an overloaded provider, and another one that takes over.

use crate::common::agent::{Bench, KEY};
use crate::common::{ended, refused, stderr, stdout};
use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use serde_json::json;
use std::process::Output;

/// A provider that is overloaded but for its first answers.
fn overloaded(first: impl IntoIterator<Item = Reply>) -> Server {
    let mut first = first.into_iter().collect::<Vec<_>>().into_iter();
    let answer = move |_: &_| first.next().unwrap_or_else(|| Reply::status(529));
    Server::start(Wire::Anthropic, Behaviour::answering(answer))
}

/// Asks, where the other provider is at this server.
fn ask(bench: &Bench, first: &Server, other: &Server, args: &[&str]) -> Output {
    let mut command = bench.asking(first, Wire::Anthropic, &[&["-p", "Go."], args].concat());
    command.env("OPENAI_API_KEY", "sk-other-0123456789abcdefghijklmnop");
    let base = other.base();
    let output = command.env("OPENAI_BASE_URL", base).output().unwrap();
    assert!(!stderr(&output).contains(KEY) && !stderr(&output).contains("sk-other"));
    output
}

#[test]
fn another_vendors_model_takes_over_in_the_middle_of_a_prompt() {
    let bench = Bench::new();
    bench.settings("patience = 2\n");
    bench.file("a.txt", "some words\n");
    let first = overloaded([Reply::new()
        .thinks("Let me see.")
        .calls("Read", json!({"file_path": "a.txt"}))]);
    let replies = [Reply::call("LS", json!({})), Reply::text("Instead.")];
    let other = Server::start(Wire::Responses, Behaviour::replies(replies));
    let output = ask(&bench, &first, &other, &["--fallback", "openai/other-model"]);
    ended(&output, 0);
    assert_eq!(stdout(&output), "Instead.\n");
    let told = format!(
        "anthropic/test-model stays overloaded (Overloaded (529, overloaded_error)); asking openai/other-model at {} until this \
         prompt is done",
        other.base()
    );
    let said = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&told), "{told}\n{said}");
    // What was done goes with it, and nothing that the first one thought or that only its vendor is to have.
    let record = other.record();
    assert_eq!(record.faults(), "");
    assert_eq!(record.exchanges.len(), 2);
    let request = &record.exchanges[0].request;
    assert!(request.results()[0].1.contains("some words"));
    assert!(!request.holds("Let me see."));
    assert!(first.record().exchanges.len() > 2);
}

#[test]
fn without_overload_or_without_a_fallback_nobody_else_is_asked() {
    let other = Server::start(Wire::Responses, Behaviour::replies([]));
    let bench = Bench::new();
    bench.settings("patience = 2\n");
    let first = overloaded([Reply::text("Done.")]);
    let output = ask(&bench, &first, &other, &["--fallback", "openai/other-model"]);
    ended(&output, 0);
    assert_eq!(stdout(&output), "Done.\n");
    assert!(!stderr(&output).contains("overloaded"), "{}", stderr(&output));
    let output = ask(&bench, &overloaded([]), &other, &[]);
    ended(&output, 3);
    assert!(other.record().exchanges.is_empty());
}

#[test]
fn a_fallback_is_checked_at_the_start_and_never_a_projects_choice() {
    let bench = Bench::new();
    let (first, other) = (overloaded([]), Server::start(Wire::Responses, Behaviour::replies([])));
    let told = |args: &[&str]| ask(&bench, &first, &other, args);
    refused(&told(&["--fallback", "nobody/x"]), &["--fallback: "]);
    refused(
        &told(&["--fallback", "gemini/x"]),
        &["--fallback: no API key for gemini"],
    );
    refused(&told(&["--fallback", "anthropic/test-model"]), &["is also the model"]);
    assert!(first.record().exchanges.is_empty());
    // A settings file is for every machine.
    bench.settings("patience = 2\nfallback = \"gemini/x\"\n");
    let output = told(&[]);
    ended(&output, 3);
    let said = stderr(&output);
    assert!(
        said.contains("the fallback cannot be used: ") && said.contains("no API key for gemini"),
        "{said}"
    );
    // A repository's file would send the whole conversation elsewhere.
    bench.settings("patience = 2\n");
    bench.file(".codelet/settings.toml", "fallback = \"openai/other-model\"\n");
    let output = told(&[]);
    ended(&output, 3);
    assert!(stderr(&output).contains("ignored fallback"), "{}", stderr(&output));
    assert!(other.record().exchanges.is_empty());
}
