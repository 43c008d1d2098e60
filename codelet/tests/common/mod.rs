//! Runs the real program, and makes the files that it is run on.

#![allow(dead_code, clippy::unwrap_used, clippy::print_stderr)]

pub mod agent;
pub mod clock;
pub mod pages;
pub mod pty;
pub mod svg;

use codelet_terminal::signals::is_ignored;
use codelet_testkit::mcp::{Manner, program};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Once;
use tokio::signal::unix::{SignalKind, signal};

/// The program, with an environment that has no say in how things look.
pub fn codelet(args: &[&str]) -> Command {
    heed_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_codelet"));
    command.args(args).stdin(Stdio::null());
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM"] {
        command.env_remove(name);
    }
    command
}

/// Lets the program hear the signals that tests send it, also where whoever started the tests wants them ignored, as the
/// background jobs of a script do: what a process listens for is as by default in those that it starts.
fn heed_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let _inside = runtime.enter();
        for kind in [
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::quit(),
            SignalKind::terminate(),
        ] {
            if is_ignored(kind) {
                drop(signal(kind).unwrap());
            }
        }
    });
}

/// Runs it and waits.
pub fn run(args: &[&str]) -> Output {
    codelet(args).output().unwrap()
}

/// Starts it with a pipe on each side.
pub fn piped(command: &mut Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs it with this on its standard input.
pub fn run_with(args: &[&str], input: &[u8]) -> Output {
    let mut child = piped(&mut codelet(args));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The program may stop reading early, and must be read while it still reads.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Asserts a status and that nothing panicked.
pub fn ended(output: &Output, status: i32) {
    assert_eq!(
        output.status.code(),
        Some(status),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!stderr(output).contains("panicked"), "{}", stderr(output));
}

/// Asserts a failure: status 2, these words on standard error, nothing on standard output.
pub fn refused(output: &Output, words: &[&str]) {
    ended(output, 2);
    for word in words {
        assert!(
            stderr(output).contains(word),
            "{word:?} is missing in: {}",
            stderr(output)
        );
    }
    assert_eq!(output.stdout, b"");
}

/// A table of the settings for a server of tools that is a program; what it hears goes to this file. The test's executable
/// needs a test that is this server.
pub fn mcp_table(name: &str, manner: Manner, heard: &std::path::Path) -> String {
    let (command, arguments, environment) = program(manner, heard);
    let environment: Vec<String> = environment
        .iter()
        .map(|(name, value)| format!("{name} = {value:?}"))
        .collect();
    let environment = environment.join(", ");
    format!("[mcp.{name}]\ncommand = {command:?}\nargs = {arguments:?}\nenv = {{ {environment} }}\n")
}

/// An empty folder of this test's own.
pub fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A file in the folder, by its path as an argument.
pub fn file(folder: &std::path::Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A request in which this many turns each read a file, change it and run the tests.
pub fn request(turns: usize) -> Value {
    let mut messages = Vec::new();
    for turn in 0..turns {
        let path = format!("src/part_{}.rs", turn % 3);
        let listing: String = (0..60)
            .map(|line| format!("{line}\tlet value_{} = {line} * {turn};\n", line * 31 + turn))
            .collect();
        let steps = [
            ("Read", json!({"file_path": path}), listing, false),
            (
                "Edit",
                json!({"file_path": path, "old_string": "a", "new_string": "b"}),
                "edited".to_owned(),
                false,
            ),
            (
                "Bash",
                json!({"command": "cargo test"}),
                format!("test part_{turn} ... ok\n"),
                turn % 4 == 3,
            ),
        ];
        messages.push(json!({"role": "user", "content": format!("Please mend part {turn}.")}));
        for (number, (tool, input, output, failed)) in steps.into_iter().enumerate() {
            let id = format!("call_{turn}_{number}");
            messages.push(json!({"role": "assistant", "content": [
                {"type": "text", "text": format!("Step {number}.")},
                {"type": "tool_use", "id": id, "name": tool, "input": input},
            ]}));
            messages.push(json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed},
            ]}));
        }
        messages.push(json!({"role": "assistant", "content": format!("Part {turn} is mended.")}));
    }
    messages.push(json!({"role": "user", "content": "Now write it down."}));
    json!({
        "model": "some-model",
        "max_tokens": 1024,
        "system": "You mend things.",
        "tools": [{"name": "Read", "description": "Reads a file.", "input_schema": {"type": "object"}}],
        "messages": messages,
    })
}

/// The same as a file.
pub fn request_text(turns: usize) -> String {
    request(turns).to_string()
}
