//! How commands are ended, whatever they have started. A program of its own: an orphan that has thrown away its mark comes to
//! the process that waits for it, and would be taken for one of another test.
#![allow(clippy::unwrap_used)]

#[path = "../tools/trial.rs"]
mod trial;

use std::time::Duration;
use trial::{free, interrupted, is_alive};

#[test]
fn an_interrupt_ends_everybody_at_once() {
    for (command, count) in [
        ("sleep 1000 & echo $!; echo begun; wait", 1),
        // Grandchildren.
        (
            "bash -c 'bash -c \"echo \\$\\$; exec sleep 1000\" & wait' & sleep 0.2; echo begun; wait",
            1,
        ),
        // One that does not listen.
        (
            "trap '' TERM; echo $$; (trap '' TERM; echo $BASHPID; while :; do sleep 1; done) & sleep 0.2; echo begun; wait",
            2,
        ),
        // In a session of its own, without a parent.
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
