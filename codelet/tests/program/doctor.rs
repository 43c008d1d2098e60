//! `codelet doctor`, the real program, and a provider on loopback.

use crate::common::agent::{Bench, KEY};
use crate::common::{ended, refused, stderr, stdout};
use codelet_testkit::server::{Behaviour, Server, Wire};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Output;

/// Runs it with the usual vendor at this address. The key is printed nowhere.
fn doctor(bench: &Bench, address: &str, args: &[&str]) -> Output {
    let args = [&["doctor"], args].concat();
    let mut command = bench.command(&args);
    command.env("ANTHROPIC_BASE_URL", address).env("ANTHROPIC_API_KEY", KEY);
    let output = command.output().unwrap();
    let all = [stdout(&output), stderr(&output)].concat();
    assert!(!all.contains(KEY), "{all}");
    output
}

/// State and text of a check.
fn check(output: &Output, name: &str) -> (String, String) {
    let points: Value = serde_json::from_str(stdout(output)).unwrap();
    let mut points = points.as_array().unwrap().iter();
    let point = points.find(|point| point["check"] == name).unwrap();
    let word = |field: &str| point[field].as_str().unwrap().to_owned();
    (word("state"), word("text"))
}

/// A provider that answers one request like this, whatever it is; its address.
fn answering(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let _ = connection.read(&mut [0; 4096]);
        let _ = connection.write_all(answer.as_bytes());
    });
    address
}

#[test]
fn a_place_where_a_session_works_has_no_problem() {
    let (bench, server) = (Bench::new(), Server::start(Wire::Anthropic, Behaviour::replies([])));
    bench.file("AGENTS.md", "Test with `cargo test`.");
    let output = doctor(&bench, &server.url(), &["--json"]);
    ended(&output, 0);
    assert_eq!(
        check(&output, "key"),
        ("ok".into(), "$ANTHROPIC_API_KEY (for anthropic)".into())
    );
    let (state, text) = check(&output, "provider");
    assert!(
        state == "ok" && text.starts_with(&format!("{} answered in ", server.url())),
        "{state} {text}"
    );
    assert_eq!(check(&output, "instructions").0, "ok");
    assert!(check(&output, "instructions").1.contains("tokens of AGENTS.md"));
    // Nobody was asked to answer a prompt.
    assert!(server.record().exchanges.is_empty());
}

#[test]
fn each_problem_says_what_to_do_and_is_in_the_status() {
    let bench = Bench::new();
    let refusal = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: 94\r\nconnection: close\r\n\r\n\
        {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"invalid x-api-key 1234567890\"}}";
    for (address, words) in [
        (answering(refusal), "rejected the API key"),
        ("http://127.0.0.1:1".to_owned(), "that the server is running"),
    ] {
        let output = doctor(&bench, &address, &["--json"]);
        ended(&output, 1);
        let (state, text) = check(&output, "provider");
        assert!(state == "problem" && text.contains(words), "{state} {text}");
    }
    let output = bench.command(&["doctor", "--json"]).output().unwrap();
    ended(&output, 1);
    let (state, text) = check(&output, "key");
    assert!(
        state == "problem" && text.contains("set $ANTHROPIC_API_KEY"),
        "{state} {text}"
    );
    assert_eq!(check(&output, "provider").0, "warning");
    bench.settings("permission = \"everything\"");
    let output = bench.command(&["doctor"]).output().unwrap();
    ended(&output, 1);
    assert!(
        stdout(&output).starts_with("problem  settings  "),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_provider_that_has_no_list_of_models_is_no_problem_and_offline_nobody_is_asked() {
    let bench = Bench::new();
    let missing = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let output = doctor(&bench, &answering(missing), &["--json"]);
    ended(&output, 0);
    let (state, text) = check(&output, "provider");
    assert!(
        state == "warning" && text.contains("the key was not checked"),
        "{state} {text}"
    );
    let output = doctor(&bench, "http://127.0.0.1:1", &["--offline"]);
    ended(&output, 0);
    assert!(!stdout(&output).contains("provider"), "{}", stdout(&output));
}

#[test]
fn a_folder_that_is_not_there_is_said() {
    let output = Bench::new().command(&["doctor", "-C", "/nowhere"]).output().unwrap();
    refused(&output, &["/nowhere"]);
}
