//! The start of servers, until their tools are known.

use crate::kit::{Bench, call, connected, find, names, options, run, web};
use codelet_agent::interrupt::Interrupt;
use codelet_mcp::{Connected, Reach, connect};
use codelet_testkit::MachineClock;
use codelet_testkit::mcp::{Http, Manner};
use std::time::Duration;

const NAMES: [&str; 10] = [
    "s__die",
    "s__echo",
    "s__environment",
    "s__fail",
    "s__half",
    "s__odd_name_with__everything_",
    "s__refuse",
    "s__shout",
    "s__start",
    "s__wait",
];

fn are_all_there(connected: &Connected) {
    assert_eq!(connected.notices, [""; 0]);
    let mut names = names(connected);
    // The hash in the altered name does not matter here.
    let length = names[5].len() - 6;
    names[5].truncate(length);
    assert_eq!(names, NAMES);
}

#[test]
fn the_tools_of_a_program_are_found_and_called() {
    run(async {
        let bench = Bench::new();
        let connected = connected(vec![bench.server("s", Manner::Good)]).await;
        are_all_there(&connected);
        let echo = find(&connected, "s__echo");
        assert_eq!(&*echo.spec().description, "Says it again.[31m");
        assert_eq!(call(&connected, "s__echo", "hello").await.text.as_str(), "hello");
    });
}

#[test]
fn the_tools_of_a_server_on_the_web_are_found_and_called() {
    for streams in [false, true] {
        run(async {
            let http = Http::start(Manner::Good, streams);
            let connected = connected(vec![web("s", &http)]).await;
            are_all_there(&connected);
            assert_eq!(call(&connected, "s__echo", "hello").await.text.as_str(), "hello");
            let seen = http.wait_for(|seen| seen.message["method"] == "tools/call");
            let header = |name: &str| {
                seen.headers
                    .iter()
                    .find(|(other, _)| other == name)
                    .map(|(_, value)| &**value)
            };
            assert_eq!(header("authorization"), Some("Bearer hush-123456"));
            assert_eq!(header("mcp-session-id"), Some("s-1"));
            assert_eq!(header("mcp-protocol-version"), Some("2025-06-18"));
        });
    }
}

#[test]
fn a_server_that_knows_only_the_newest_protocol_is_understood() {
    run(async {
        let bench = Bench::new();
        let http = Http::start(Manner::Newest, false);
        let both = vec![bench.server("a", Manner::Newest), web("b", &http)];
        let connected = connected(both).await;
        assert_eq!(connected.notices, [""; 0]);
        for name in ["a__echo", "b__echo"] {
            assert_eq!(call(&connected, name, "new").await.text.as_str(), "new");
        }
    });
}

#[test]
fn a_broken_server_is_a_notice_and_the_others_work() {
    run(async {
        let bench = Bench::new();
        let mut silent = bench.server("silent", Manner::Silent);
        silent.start = Duration::from_millis(300);
        let mut missing = bench.server("missing", Manner::Good);
        if let Reach::Program { command, .. } = &mut missing.reach {
            "/no/such/program".clone_into(command);
        }
        let foreign_web = Http::start(Manner::Foreign, true);
        let unheard = web("unheard", &Http::start(Manner::Good, false));
        let mut unheard = unheard;
        if let Reach::Http { url, .. } = &mut unheard.reach {
            // A port without a listener: it was free a moment ago.
            let port = std::net::TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            *url = format!("http://127.0.0.1:{port}/?key=hush-654321");
        }
        let servers = vec![
            bench.server("dead", Manner::Dead),
            bench.server("endless", Manner::Endless),
            bench.server("foreign", Manner::Foreign),
            web("foreign-web", &foreign_web),
            bench.server("good", Manner::Good),
            missing,
            silent,
            unheard,
        ];
        let connected = connected(servers).await;
        let told = |name: &str| {
            let begin = format!("MCP server {name}: ");
            let found = connected.notices.iter().find_map(|notice| notice.strip_prefix(&begin));
            found
                .unwrap_or_else(|| panic!("{name}: {:?}", connected.notices))
                .to_owned()
        };
        for (name, parts) in [
            ("dead", &["it ended with status 3", "fatal: out of luck"][..]),
            ("endless", &["it sent a message that is too long"]),
            ("foreign", &["it speaks the version 1999-12-31"]),
            ("foreign-web", &["it speaks the version 1999-12-31"]),
            ("missing", &["could not start /no/such/program: no such program"]),
            ("silent", &["no answer to its handshake within 0.3 s"]),
            ("unheard", &["onnection refused"]),
        ] {
            for part in parts {
                assert!(told(name).contains(part), "{name}: {}", told(name));
            }
        }
        assert_eq!(connected.notices.len(), 7, "{:?}", connected.notices);
        assert!(
            !connected.notices.join(" ").contains("hush-"),
            "{:?}",
            connected.notices
        );
        assert_eq!(call(&connected, "good__echo", "here").await.text.as_str(), "here");
    });
}

#[test]
fn noise_between_messages_does_not_matter() {
    run(async {
        let bench = Bench::new();
        let connected = connected(vec![bench.server("s", Manner::Noisy)]).await;
        are_all_there(&connected);
        for round in 0..20 {
            let text = round.to_string();
            assert_eq!(call(&connected, "s__echo", &text).await.text.as_str(), text);
        }
    });
}

#[test]
fn a_list_that_is_too_long_is_cut_with_a_notice() {
    run(async {
        let bench = Bench::new();
        let http = Http::start(Manner::Huge, false);
        let connected = connected(vec![bench.server("a", Manner::Huge), web("b", &http)]).await;
        let names = names(&connected);
        assert_eq!(names.iter().filter(|name| name.starts_with("a__")).count(), 64);
        assert_eq!(names.len(), 112);
        let told = connected.notices.join("\n");
        assert!(
            told.contains("a: huge left out: the descriptions of their parameters are longer"),
            "{told}"
        );
        assert!(
            told.contains("b: 9946 of its tools are left out, only 64 fit"),
            "{told}"
        );
        assert!(
            told.contains("b: 16 of its tools are left out: the limit is 112"),
            "{told}"
        );
    });
}

#[test]
fn names_that_come_twice_and_tools_that_are_none_are_told() {
    run(async {
        let bench = Bench::new();
        let http = Http::start(Manner::Twice, true);
        let connected = connected(vec![bench.server("a", Manner::Twice), web("b", &http)]).await;
        assert_eq!(
            names(&connected).iter().filter(|name| name.ends_with("__echo")).count(),
            2
        );
        for name in ["a", "b"] {
            for what in ["2 of its tools cannot be read", "it lists echo more than once"] {
                let whole = format!("MCP server {name}: {what}");
                assert!(
                    connected.notices.iter().any(|notice| notice.starts_with(&whole)),
                    "{:?}",
                    connected.notices
                );
            }
        }
    });
}

#[test]
fn a_list_that_leads_in_a_circle_is_left_at_once_and_told_of_once() {
    run(async {
        let bench = Bench::new();
        let connected = connected(vec![bench.server("s", Manner::Pages)]).await;
        assert_eq!(names(&connected).len(), 10);
        assert_eq!(bench.log("s").iter().filter(|line| *line == "tools/list").count(), 2);
        let told = "MCP server s: its list of tools does not end; only the first part is used";
        assert_eq!(connected.notices, [told]);
    });
}

#[test]
fn only_wanted_tools_are_taken() {
    run(async {
        let bench = Bench::new();
        let mut server = bench.server("s", Manner::Good);
        server.tools = Some(vec!["ech*".to_owned(), "fail".to_owned()]);
        assert_eq!(names(&connected(vec![server]).await), ["s__echo", "s__fail"]);
    });
}

#[test]
fn an_interruption_ends_the_waiting_for_servers() {
    run(async {
        let bench = Bench::new();
        let interrupt = Interrupt::new();
        let server = bench.server("s", Manner::Silent);
        let connecting = connect(vec![server], options(), &interrupt);
        let throwing = async {
            bench.heard("s", "initialize").await;
            let clock = MachineClock::start();
            interrupt.throw();
            clock
        };
        let (connected, clock) = futures_util::future::join(connecting, throwing).await;
        assert!(clock.elapsed() < Duration::from_millis(100), "{:?}", clock.elapsed());
        drop(clock);
        assert_eq!(names(&connected), [""; 0]);
        assert_eq!(
            connected.notices,
            ["MCP server s: skipped before it was ready; its tools are left out"]
        );
        let pid = bench.numbers("s", "pid")[0];
        bench.wait(|| crate::kit::is_gone(pid), "its end").await;
    });
}
