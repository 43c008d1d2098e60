//! The action for workflows: its script, with the real program and a provider on loopback.

use crate::common::agent::{Bench, KEY};
use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Output};

struct Ran {
    output: Output,
    outputs: HashMap<String, String>,
}

impl Ran {
    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(&self.outputs[name]).unwrap()
    }
}

/// Runs the script as a workflow would, with these inputs beside the usual ones.
fn run(bench: &Bench, server: &Server, inputs: &[(&str, &str)]) -> Ran {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let written = bench.home.join("output");
    let mut command = Command::new("bash");
    command
        .arg(root.join("action/run.sh"))
        .current_dir(&bench.work)
        .env_clear();
    command
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", &bench.home)
        .env("RUNNER_TEMP", bench.tmp())
        .env("TMPDIR", bench.tmp())
        .env("GITHUB_OUTPUT", &written)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("CODELET", env!("CARGO_BIN_EXE_codelet"))
        .env("CODELET_MODEL", "anthropic/claude-sonnet-5-5")
        .env("CODELET_PERMISSION", "read")
        .env("CODELET_MAX_COST", "1")
        .env("CODELET_MAX_STEPS", "10")
        .envs(inputs.iter().copied());
    let output = command.output().unwrap();
    let outputs = std::fs::read_to_string(written).unwrap_or_default();
    let pairs = outputs.lines().filter_map(|line| line.split_once('='));
    Ran {
        output,
        outputs: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    }
}

#[test]
fn the_answer_is_a_comment_and_no_input_is_run() {
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Two bugs.")]));
    let prompt = "Review it.\"; touch run; $(touch run) `touch run`";
    let ran = run(
        &bench,
        &server,
        &[
            ("CODELET_PROMPT", prompt),
            ("CODELET_INPUT", "+ a line\n$(touch run)\n"),
        ],
    );
    assert_eq!(ran.output.status.code(), Some(0), "{:?}", ran.output);
    assert_eq!(ran.outputs["status"], "0");
    assert_eq!(ran.file("answer-file"), "Two bugs.\n");
    assert_eq!(ran.file("comment-file"), "Two bugs.\n");
    assert!(!bench.work.join("run").exists());
    let record = server.record();
    let said = record.exchanges[0].request.user_texts().join("\n");
    assert!(
        said.contains(prompt) && said.contains("+ a line\n$(touch run)"),
        "{said}"
    );
}

#[test]
fn commands_are_permitted_line_by_line_and_have_no_way_to_the_workflow() {
    let bench = Bench::new();
    let see = "env | grep -c '^GITHUB_\\|^CODELET_PROMPT\\|^ANTHROPIC_API_KEY'";
    let replies = [
        Reply::call("Bash", json!({"command": see})),
        Reply::text(r#"{"bugs": 2}"#),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let schema = r#"{"type": "object", "required": ["bugs"]}"#;
    let inputs = [
        ("CODELET_PROMPT", "Count the bugs."),
        ("CODELET_PERMISSION", "edit"),
        ("CODELET_ALLOW", "grep *\n\nenv\n"),
        ("CODELET_SCHEMA", schema),
    ];
    let ran = run(&bench, &server, &inputs);
    assert_eq!(ran.output.status.code(), Some(0), "{:?}", ran.output);
    assert_eq!(ran.file("answer-file").trim(), r#"{"bugs":2}"#);
    let record = server.record();
    let (_, result) = &record.exchanges[1].request.results()[0];
    assert!(result.starts_with("0\n"), "{result}");
}

#[test]
fn without_an_answer_the_comment_says_so_and_the_step_fails() {
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([]));
    let ran = run(&bench, &server, &[("CODELET_PROMPT", "Review it.")]);
    assert_eq!(ran.output.status.code(), Some(3), "{:?}", ran.output);
    assert_eq!(ran.outputs["status"], "3");
    let comment = ran.file("comment-file");
    assert!(
        comment.starts_with("Codelet has no answer (exit status 3):\n\n    "),
        "{comment}"
    );
    assert_eq!(ran.file("answer-file"), "");
}
