//! Servers that exit by themselves, and servers that are ended.

use crate::kit::{Bench, HARD, call, connected, is_gone, run, web};
use codelet_testkit::MachineClock;
use codelet_testkit::mcp::{Http, Manner};
use std::time::{Duration, Instant};

#[test]
fn a_server_that_dies_in_a_call_is_started_again_once() {
    let bench = Bench::new();
    run(async {
        let connected = connected(vec![bench.server("s", Manner::Good)]).await;
        let died = call(&connected, "s__die", "").await;
        let text = died.text.as_str();
        assert!(!died.success);
        for part in [
            "The server s gave no answer", "status 3", "fatal: out of luck", "The next call restarts it",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(call(&connected, "s__echo", "back").await.text.as_str(), "back");
        assert_eq!(bench.numbers("s", "pid").len(), 2);
        let died = call(&connected, "s__die", "").await;
        assert!(
            !died.text.as_str().contains("next call restarts it"),
            "{}",
            died.text.as_str()
        );
        for _ in 0..3 {
            let gone = call(&connected, "s__echo", "").await;
            assert!(!gone.success);
            assert!(
                gone.text.as_str().contains("it was already restarted once"),
                "{}",
                gone.text.as_str()
            );
        }
        assert_eq!(bench.numbers("s", "pid").len(), 2);
    });
}

#[test]
fn a_server_that_cannot_be_started_again_is_gone() {
    let bench = Bench::new();
    run(async {
        let connected = connected(vec![bench.server("s", Manner::Once)]).await;
        call(&connected, "s__die", "").await;
        for _ in 0..2 {
            let gone = call(&connected, "s__echo", "").await;
            assert!(
                gone.text.as_str().contains("restarting it failed"),
                "{}",
                gone.text.as_str()
            );
        }
        assert_eq!(bench.numbers("s", "pid").len(), 2);
    });
}

#[test]
fn a_server_on_the_web_that_falls_over_in_a_call_is_asked_again_by_the_next() {
    for streams in [false, true] {
        let http = Http::start(Manner::Good, streams);
        run(async {
            let connected = connected(vec![web("s", &http)]).await;
            let died = call(&connected, "s__die", "").await;
            assert!(!died.success);
            assert!(died.text.as_str().contains("gave no answer"), "{}", died.text.as_str());
            assert_eq!(call(&connected, "s__echo", "back").await.text.as_str(), "back");
        });
    }
}

#[test]
fn programs_end_in_order_when_the_session_does() {
    let bench = Bench::new();
    run(async {
        let connected = connected(vec![bench.server("s", Manner::Good)]).await;
        let clock = MachineClock::start();
        connected.offers.end(Duration::from_secs(10)).await;
        assert!(
            clock.elapsed() < Duration::from_secs(1),
            "it had to be ended: {:?}",
            clock.elapsed()
        );
        assert!(is_gone(bench.numbers("s", "pid")[0]));
    });
}

#[test]
fn whatever_a_server_has_started_ends_with_it() {
    let bench = Bench::new();
    let pids = run(async {
        let connected = connected(vec![bench.server("s", Manner::Good)]).await;
        assert_eq!(call(&connected, "s__start", "").await.text.as_str(), "started");
        let mut pids = bench.numbers("s", "pid");
        pids.extend(bench.numbers("s", "child"));
        // `setsid` executes the program in its own session, without a fork unless it leads a group already.
        let is_away = || {
            bench
                .numbers("s", "child")
                .iter()
                .all(|&pid| command(pid).contains("sleep"))
        };
        bench.wait(is_away, "the program to go its own way").await;
        assert_eq!(pids.len(), 2);
        assert!(pids.iter().all(|&pid| !is_gone(pid)));
        drop(connected);
        pids
    });
    for pid in pids {
        let began = Instant::now();
        while !is_gone(pid) {
            assert!(began.elapsed() < HARD, "{pid} is left: {}", command(pid));
            codelet_testkit::wait_a_moment();
        }
    }
}

fn command(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}
