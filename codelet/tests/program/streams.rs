//! Pipes that close, disks that are full, terminals.

use crate::common::*;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = folder("closed_pipe");
    let input = file(&folder, "request.json", request_text(400));
    for args in [
        &["compact", "--budget", "1M", &input][..],
        &["compact", "--explain", "-o", "/dev/null", &input],
        &["inspect", "--json", &input],
        &["inspect", &input],
        &["formats"],
        &["--help"],
    ] {
        let mut child = codelet(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        ended(&output, 0);
        assert!(!stderr(&output).contains("error"), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn an_early_reader_gets_the_beginning() {
    let folder = folder("early_reader");
    let input = file(&folder, "request.json", request_text(400));
    let mut child = codelet(&["compact", "--budget", "1M", &input])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut beginning = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut beginning).unwrap();
    assert_eq!(beginning[0], b'{');
    ended(&child.wait_with_output().unwrap(), 0);
}

#[test]
fn closed_standard_streams_do_no_harm() {
    let folder = folder("closed_streams");
    let input = file(&folder, "request.json", request_text(3));
    let program = env!("CARGO_BIN_EXE_codelet");
    for redirection in [">&-", "2>&-", ">&- 2>&-", "<&-"] {
        let status = Command::new("sh")
            .args([
                "-c",
                &format!("'{program}' compact '{input}' --explain {redirection} >/dev/null"),
            ])
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(0), "{redirection}");
    }
    let nothing = Command::new("sh")
        .args(["-c", &format!("'{program}' compact <&-")])
        .output()
        .unwrap();
    assert_eq!(nothing.status.code(), Some(2));
}

#[test]
fn a_result_that_nobody_can_get_is_a_failure() {
    let folder = folder("lost_result");
    let input = file(&folder, "request.json", request_text(3));
    let result = folder.join("result.json").to_str().unwrap().to_owned();
    let program = env!("CARGO_BIN_EXE_codelet");
    for (args, status) in [
        (format!("compact '{input}'"), 2),
        (format!("inspect '{input}'"), 2),
        ("--help".to_owned(), 2),
        // What goes elsewhere is not lost.
        (format!("compact '{input}' -o '{result}'"), 0),
    ] {
        let line = format!("'{program}' {args} >&-");
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{args}: {}", stderr(&output));
        let is_said = stderr(&output).contains("standard output: it is closed");
        assert_eq!(is_said, status == 2, "{args}: {}", stderr(&output));
    }
}

#[test]
fn a_full_disk_is_told_and_is_no_crash() {
    if !Path::new("/dev/full").exists() {
        println!("there is no /dev/full here");
        return;
    }
    let folder = folder("full_disk");
    let input = file(&folder, "request.json", request_text(20));
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for args in [
        &["compact", &input][..],
        &["inspect", &input],
        &["inspect", "--json", &input],
        &["formats"],
        &["--help"],
        &["--version"],
    ] {
        let output = codelet(args).stdout(full()).output().unwrap();
        refused(&output, &["standard output", "no space left"]);
    }
    refused(
        &run(&["compact", &input, "-o", "/dev/full"]),
        &["/dev/full: no space left"],
    );
    refused(
        &run(&["compact", &input, "--report", "/dev/full"]),
        &["/dev/full: no space left"],
    );
    let mut session = codelet(&["--plain", "--model", "ollama/x", "--base-url", "http://127.0.0.1:9"])
        .stdin(Stdio::piped())
        .stdout(full())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    session.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    refused(
        &session.wait_with_output().unwrap(),
        &["standard output", "no space left"],
    );
    let unheard = codelet(&["compact", &input])
        .stdout(Stdio::null())
        .stderr(full())
        .status()
        .unwrap();
    assert_eq!(unheard.code(), Some(0));
}

#[test]
fn a_named_pipe_takes_the_result() {
    let folder = folder("named_pipe");
    let input = file(&folder, "request.json", request_text(3));
    let pipe = folder.join("pipe").to_str().unwrap().to_owned();
    if !Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .is_ok_and(|status| status.success())
    {
        println!("there is no mkfifo here");
        return;
    }
    let mut child = codelet(&["compact", &input, "-o", &pipe])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut result = String::new();
    File::open(&pipe).unwrap().read_to_string(&mut result).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(result.starts_with('{'));
    assert!(std::fs::metadata(&pipe).is_ok_and(|found| !found.is_file()));
}

#[test]
fn standard_output_by_its_other_names_keeps_what_is_there() {
    let folder = folder("dev_stdout");
    let input = file(&folder, "request.json", request_text(2));
    let log = file(&folder, "log", "kept\n");
    let append = OpenOptions::new().append(true).open(&log).unwrap();
    let status = codelet(&["compact", &input, "-o", "/dev/stdout"])
        .stdout(append)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(std::fs::read_to_string(&log).unwrap().starts_with("kept\n{"));
}

/// Runs a command line in a pseudo-terminal and returns what it would show, or `None` where there is no `script`.
fn in_a_terminal(line: &str, variables: &[(&str, &str)]) -> Option<(i32, String)> {
    let mut command = Command::new("script");
    command.args(["-qec", line, "/dev/null"]).stdin(Stdio::null());
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").envs(variables.iter().copied());
    let Ok(output) = command.output() else {
        println!("there is no `script` here");
        return None;
    };
    Some((
        output.status.code()?,
        String::from_utf8_lossy(&output.stdout).into_owned(),
    ))
}

#[test]
fn a_terminal_gets_colour_unless_the_user_does_not_want_it() {
    let folder = folder("terminal_colour");
    let input = file(&folder, "request.json", request_text(3));
    let line = format!("'{}' inspect '{input}'", env!("CARGO_BIN_EXE_codelet"));
    let Some((status, shown)) = in_a_terminal(&line, &[]) else {
        return;
    };
    assert_eq!(status, 0);
    assert!(shown.contains("\x1b["), "{shown}");
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let (_, shown) = in_a_terminal(&line, &[variable]).unwrap();
        assert!(!shown.contains('\x1b'), "{variable:?}: {shown}");
    }
    let forced = codelet(&["inspect", &input])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    assert!(stdout(&forced).contains("\x1b["));
}

#[test]
fn a_terminal_as_input_is_told_about_and_not_waited_for() {
    let program = env!("CARGO_BIN_EXE_codelet");
    for command in ["compact", "inspect"] {
        let Some((status, shown)) = in_a_terminal(&format!("'{program}' {command} < /dev/tty"), &[]) else {
            return;
        };
        assert_eq!(status, 2, "{shown}");
        assert!(shown.contains("no input: name a FILE"), "{shown}");
    }
}

#[test]
fn a_terminal_shows_the_picture_instead_of_the_result() {
    let folder = folder("terminal_picture");
    let input = file(&folder, "request.json", request_text(3));
    let program = env!("CARGO_BIN_EXE_codelet");
    let Some((status, shown)) = in_a_terminal(&format!("'{program}' compact '{input}' --explain"), &[]) else {
        return;
    };
    assert_eq!(status, 0);
    assert!(shown.contains("Before"), "{shown}");
    assert!(!shown.contains("max_tokens"), "{shown}");
    assert!(shown.contains("-o FILE saves it"), "{shown}");
}

#[test]
fn what_takes_long_is_told_on_a_terminal_and_erased_again() {
    let folder = folder("terminal_progress");
    let input = file(&folder, "request.json", request_text(3));
    let program = env!("CARGO_BIN_EXE_codelet");
    let line = format!("(sleep 1.2; cat '{input}') | '{program}' compact > /dev/null");
    let Some((status, shown)) = in_a_terminal(&line, &[]) else {
        return;
    };
    assert_eq!(status, 0);
    let (progress, notice) = shown.rsplit_once("\r\x1b[2K").unwrap();
    assert!(progress.contains("reading … 0."), "{shown:?}");
    assert!(notice.contains("tokens"), "{shown:?}");
    let (_, quick) = in_a_terminal(&format!("'{program}' compact '{input}' > /dev/null"), &[]).unwrap();
    assert!(!quick.contains("\x1b[2K"), "{quick:?}");
}

#[test]
fn an_endless_input_is_refused_at_once() {
    refused(&run(&["inspect", "/dev/zero"]), &["/dev/zero", "byte 0 is zero"]);
    let mut child = codelet(&["inspect"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A pipe that ends at once is an empty file.
    child.stdin.take().unwrap().flush().unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(2));
}
