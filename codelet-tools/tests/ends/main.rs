//! Ending commands with all their descendants. A separate test program: an orphan that dropped its mark is reparented
//! to this process, and would be attributed to another test.
#![allow(clippy::unwrap_used)]

#[path = "../tools/trial.rs"]
mod trial;

use serde_json::json;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use trial::{LIMIT, free, interrupted, is_alive};

/// Held by each test: the orphans of one must not be attributed to another.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn an_interrupt_ends_everybody_at_once() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (command, count) in [
        ("sleep 1000 & echo $!; echo begun; wait", 1),
        // Grandchildren.
        (
            "bash -c 'bash -c \"echo \\$\\$; exec sleep 1000\" & wait' & sleep 0.2; echo begun; wait",
            1,
        ),
        // One that ignores SIGTERM.
        (
            "trap '' TERM; echo $$; (trap '' TERM; echo $BASHPID; while :; do sleep 1; done) & sleep 0.2; echo begun; wait",
            2,
        ),
        // In its own session, without a parent.
        (
            "setsid bash -c 'echo $$; exec sleep 1000' & sleep 0.2; echo begun; wait",
            1,
        ),
        (
            "(setsid bash -c 'echo $$; exec sleep 1000' &); sleep 0.2; echo begun; sleep 1000",
            1,
        ),
        // And without the mark.
        (
            "(env -i setsid /bin/bash -c 'echo $$; exec sleep 1000' &); sleep 0.2; echo begun; sleep 1000",
            1,
        ),
        ("cat /dev/zero & echo $!; echo begun; wait", 1),
    ] {
        let trial = free();
        let (text, took) = interrupted(&trial, command);
        let pids: Vec<&str> = text
            .lines()
            .filter(|line| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()))
            .collect();
        assert_eq!(pids.len(), count, "{command}: {}", &text[..text.len().min(300)]);
        for pid in pids {
            assert!(!is_alive(pid), "{command}: {pid} is left");
        }
        assert!(text.contains("[interrupted by the user"), "{text}");
        // The bound is a tenth of a second; a busy machine gets a little more.
        assert!(took < Duration::from_millis(250), "{command}: {took:?}");
    }
}

#[test]
fn who_goes_on_behind_a_command_is_told_beside_children_of_others_and_ends_with_the_session() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Like an MCP server.
    let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
    let trial = free();
    let mut left = Vec::new();
    for start in [
        "sleep 1000 > /dev/null 2>&1 & echo $! > pid",
        "setsid sh -c 'echo $$ > pid; exec sleep 1000' > /dev/null 2>&1 &",
        // Without the mark, the session or a parent.
        "(env -i setsid /bin/sh -c 'echo $$ > pid; exec /bin/sleep 1000' > /dev/null 2>&1 &)",
        "(env -i setsid /bin/sh -c '(setsid /bin/sh -c \"echo \\$\\$ > pid; exec /bin/sleep 1000\" &)' > /dev/null 2>&1 &)",
    ] {
        let command = format!("rm -f pid; {start}\nuntil [ -s pid ]; do sleep 0.01; done; cat pid");
        let text = trial.done("Bash", json!({"command": command}));
        let pid = text.lines().next().unwrap().to_owned();
        let told = format!("[1 job still running in the background: {pid} ");
        assert!(text.contains(&told), "{start}: {text}");
        left.push(pid);
        let text = trial.done("Bash", json!({"command": "true"}));
        assert!(!text.contains("still running"), "{start}: {text}");
    }
    assert!(left.iter().all(|pid| is_alive(pid)));
    drop(trial);
    let began = Instant::now();
    while left.iter().any(|pid| is_alive(pid)) {
        assert!(began.elapsed() < LIMIT, "{left:?}");
        codelet_testkit::wait_a_moment();
    }
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn an_orphan_that_has_ended_is_gone_while_the_command_runs() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let trial = free();
    let until_gone = "while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done; echo gone";
    for start in [
        "(sleep 1000 > /dev/null 2>&1 & echo $! > pid)",
        // In its own session, and in that of another orphan.
        "sleep 0.1; (setsid sleep 1000 > /dev/null 2>&1 & echo $! > pid)",
        "(setsid sh -c 'sleep 1000 & echo $! > pid' > /dev/null 2>&1 &); until [ -s pid ]; do sleep 0.01; done",
        "sleep 0.1; (env -i setsid /bin/sleep 1000 > /dev/null 2>&1 & echo $! > pid)",
    ] {
        let command = format!("rm -f pid; {start}; kill $(cat pid); {until_gone}");
        let text = trial.done("Bash", json!({"command": command, "timeout": 20_000}));
        assert_eq!(text.lines().next(), Some("gone"), "{start}: {text}");
        // And one that an earlier command left.
        trial.done("Bash", json!({"command": format!("rm -f pid; {start}")}));
        let command = format!("kill $(cat pid); {until_gone}");
        let text = trial.done("Bash", json!({"command": command, "timeout": 20_000}));
        assert_eq!(text.lines().next(), Some("gone"), "{start}: {text}");
    }
}

#[test]
fn a_job_that_ended_between_two_commands_is_gone_when_the_next_one_begins() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let trial = free();
    let text = trial.done("Bash", json!({"command": "sleep 1000 > /dev/null 2>&1 & echo $!"}));
    let pid = text.lines().next().unwrap();
    let killed = Command::new("kill").args(["-9", pid]).status().unwrap();
    assert!(killed.success());
    let began = Instant::now();
    while is_alive(pid) {
        assert!(began.elapsed() < LIMIT);
        codelet_testkit::wait_a_moment();
    }
    let text = trial.failed("Bash", json!({"command": format!("kill -0 {pid}")}));
    assert!(text.contains("No such process"), "{text}");
}

#[test]
fn whom_somebody_else_has_started_is_left_to_who_waits_for_it() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let trial = free();
    // One that leads its own session, like an MCP server, and an editor.
    for program in [&["setsid", "sh"][..], &["sh"]] {
        for is_known in [true, false] {
            let start = || {
                let mut command = Command::new(program[0]);
                command.args(&program[1..]).args(["-c", "exit 7"]);
                if is_known {
                    command.env(codelet_process::MARK, "another");
                }
                command.spawn().unwrap()
            };
            let before = start();
            let during = std::thread::scope(|scope| {
                let command = json!({"command": "for i in 1 2 3 4 5; do (setsid true &); sleep 0.1; done"});
                let ran = scope.spawn(|| trial.done("Bash", command));
                let during = start();
                ran.join().unwrap();
                during
            });
            for mut child in [before, during] {
                assert_eq!(child.wait().unwrap().code(), Some(7), "{program:?}");
            }
        }
    }
}
