//! Calls and their results.

use crate::kit::{Bench, call, call_until, call_with, connected, find, names, parameters, run, web};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::tool::{MOST, Need};
use codelet_mcp::Server;
use codelet_testkit::MachineClock;
use codelet_testkit::mcp::{Http, Manner};
use serde_json::json;
use std::time::Duration;

/// Runs a test with the same server over pipes and over HTTP.
fn on_both_ways(test: impl AsyncFn(&Bench, Server)) {
    let bench = Bench::new();
    run(test(&bench, bench.server("s", Manner::Good)));
    for streams in [false, true] {
        let http = Http::start(Manner::Good, streams);
        run(test(&bench, web("s", &http)));
    }
}

#[test]
fn the_servers_own_flag_says_whether_a_call_failed() {
    on_both_ways(async |_, server| {
        let connected = connected(vec![server]).await;
        let failed = call(&connected, "s__fail", "").await;
        assert!(!failed.success);
        assert_eq!(failed.text.as_str(), "it was a success, or not");
        let refused = call(&connected, "s__refuse", "").await;
        assert!(!refused.success);
        let told = "The server s answers with an error: the text is missing (-32602)";
        assert_eq!(refused.text.as_str(), told);
        assert!(call(&connected, "s__echo", "error").await.success);
    });
}

#[test]
fn numbers_with_fractions_and_pictures_come_through() {
    on_both_ways(async |_, server| {
        let connected = connected(vec![server]).await;
        let half = call(&connected, "s__half", "").await;
        assert!(half.success, "{}", half.text.as_str());
        assert_eq!(half.text.as_str(), "half");
        assert_eq!(half.images.len(), 1);
    });
}

#[test]
fn a_shout_is_bounded() {
    on_both_ways(async |_, server| {
        let connected = connected(vec![server]).await;
        let output = call(&connected, "s__shout", "").await;
        assert!(output.text.len() <= MOST && output.lost > 0, "{}", output.text.len());
        assert_eq!(
            call(&connected, "s__echo", "still here").await.text.as_str(),
            "still here"
        );
    });
}

#[test]
fn an_answer_that_is_nested_too_deeply_or_of_too_many_values_is_told_at_once_and_the_server_stays() {
    let bench = Bench::new();
    run(async {
        let mut server = bench.server("s", Manner::Good);
        server.timeout = Duration::from_mins(10);
        let connected = connected(vec![server]).await;
        for how in ["deep", "many"] {
            let output = call(&connected, "s__half", how).await;
            assert!(!output.success);
            let said = output.text.as_str();
            assert!(said.contains("nested too deeply, has too many values"), "{said}");
        }
        assert!(call(&connected, "s__echo", "").await.success);
    });
}

#[test]
fn a_call_that_takes_too_long_is_given_up_and_the_server_told() {
    on_both_ways(async |_, mut server| {
        server.timeout = Duration::from_millis(100);
        let connected = connected(vec![server]).await;
        let output = call(&connected, "s__wait", "").await;
        assert!(!output.success);
        assert!(
            output.text.as_str().contains("did not answer within 0.1 s"),
            "{}",
            output.text.as_str()
        );
        // The next call is answered; on a busy machine, not every one within so short a time.
        let mut is_answered = false;
        for _ in 0..50 {
            is_answered = is_answered || call(&connected, "s__echo", "").await.success;
        }
        assert!(is_answered);
    });
    let bench = Bench::new();
    run(async {
        let mut server = bench.server("s", Manner::Good);
        server.timeout = Duration::from_millis(100);
        let connected = connected(vec![server]).await;
        call(&connected, "s__wait", "").await;
        bench.heard("s", "notifications/cancelled").await;
    });
}

#[test]
fn an_interrupted_call_ends_at_once_and_the_server_is_told() {
    let bench = Bench::new();
    run(async {
        let connected = connected(vec![bench.server("s", Manner::Good)]).await;
        let interrupt = Interrupt::new();
        let calling = call_until(&connected, "s__wait", "", interrupt.clone());
        let throwing = async {
            bench.heard("s", "tools/call wait").await;
            let clock = MachineClock::start();
            interrupt.throw();
            clock
        };
        let (output, clock) = futures_util::future::join(calling, throwing).await;
        assert!(clock.elapsed() < Duration::from_millis(100), "{:?}", clock.elapsed());
        drop(clock);
        assert_eq!(output.text.as_str(), "interrupted by the user");
        bench.heard("s", "notifications/cancelled").await;
        assert!(call(&connected, "s__echo", "").await.success);
    });
    run(async {
        let http = Http::start(Manner::Good, true);
        let connected = connected(vec![web("s", &http)]).await;
        let interrupt = Interrupt::new();
        let thrower = interrupt.clone();
        let (sender, receiver) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            http.wait_for(|seen| seen.message["params"]["name"] == "wait");
            let clock = MachineClock::start();
            let thrown = clock.elapsed();
            thrower.throw();
            let _ = sender.send((clock, thrown));
            http.wait_for(|seen| seen.message["method"] == "notifications/cancelled");
        });
        call_until(&connected, "s__wait", "", interrupt).await;
        let (clock, thrown) = receiver.recv().unwrap();
        let took = clock.elapsed() - thrown;
        assert!(took < Duration::from_millis(100), "{took:?}");
        drop(clock);
        // The pending message is sent while the session goes on.
        tokio::task::spawn_blocking(|| waiting.join().unwrap()).await.unwrap();
    });
}

#[test]
fn a_person_is_shown_parameters_beside_the_name_and_no_secret() {
    let bench = Bench::new();
    run(async {
        let connected = connected(vec![bench.server("s", Manner::Good)]).await;
        let tool = find(&connected, "s__echo");
        let asked = parameters(json!({"text": "a\nb sk-secret-0123456789"}));
        assert_eq!(tool.describe(&asked), "{\"text\":\"a\\nb [secret]\"}");
        let needs = tool.needs(&asked).unwrap();
        let [
            Need::Call {
                server,
                tool: name,
                parameters,
                ..
            },
        ] = &needs[..]
        else {
            panic!("{needs:?}");
        };
        assert_eq!(
            (&**server, &**name, &**parameters),
            ("s", "s__echo", "{\"text\":\"a\\nb [secret]\"}")
        );
        assert!(!tool.is_read_only());
        let said = call(&connected, "s__echo", "sk-secret-0123456789").await;
        assert_eq!(said.text.as_str(), "[secret]");
    });
}

#[test]
fn a_program_has_the_environment_that_it_is_given_and_no_other() {
    let bench = Bench::new();
    run(async {
        let connected = connected(vec![bench.server("s", Manner::Good)]).await;
        let said = call(&connected, "s__environment", "").await;
        let mut names: Vec<&str> = said
            .text
            .as_str()
            .lines()
            .filter_map(|line| Some(line.split_once('=')?.0))
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["CODELET_CALL", "MCP_LOG", "MCP_MANNER", "PATH"]);
    });
}

#[test]
fn resources_are_listed_and_read_with_a_tool() {
    let bench = Bench::new();
    let http = Http::start(Manner::Library, true);
    for server in [bench.server("s", Manner::Library), web("s", &http)] {
        run(async {
            let mut without = server.clone();
            let connected = connected(vec![server]).await;
            let ask = async |asked: serde_json::Value| {
                let output = call_with(&connected, "s__read_resource", asked).await;
                assert!(output.success);
                output.text.as_str().to_owned()
            };
            assert_eq!(ask(json!({})).await, "note:///one  one");
            assert_eq!(
                ask(json!({"uri": "note:///one"})).await,
                "[note:///one]\nthe first note"
            );
            // It can be left out like any other tool.
            without.tools = Some(vec!["echo".to_owned()]);
            assert_eq!(names(&crate::kit::connected(vec![without]).await), ["s__echo"]);
        });
    }
}
