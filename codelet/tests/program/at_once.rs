//! Esc and Ctrl-C, with a clock: within a tenth of a second, whatever runs, in a terminal and in lines.

use crate::common::agent::Bench;
use crate::common::clock::{EVER, ROUNDS, alone, interrupt};
use crate::common::pty::{Kind, wait_for_end_of};
use codelet_testkit::mcp::Manner;
use codelet_testkit::server::{Behaviour, Fault, Gate, Refusal, Reply, RetryAfter, Server, Wire, block_on};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

fn provider(replies: impl IntoIterator<Item = Reply>) -> Server {
    Server::start(Wire::Anthropic, Behaviour::replies(replies))
}

/// What an interrupted prompt is told to have left.
const KEPT: &str = "kept: your prompt";

/// A phase that is reached when the server has sent so much of its reply, and of which a terminal shows a sign.
fn interrupt_reply(what: &str, sign: &str, frames: usize, reply: impl Fn() -> Reply) {
    let _alone = alone();
    for kind in Kind::ALL {
        let gates: Vec<Gate> = (0..ROUNDS).map(|_| Gate::after(frames)).collect();
        let bench = Bench::new();
        let server = provider(gates.iter().map(|gate| reply().gated(gate)));
        let mut session = kind.start(&bench, &server, &[]);
        interrupt(what, KEPT, &mut *session, |session, round| {
            session.say("Go on.");
            block_on(gates[round].reached());
            if kind == Kind::Terminal {
                // It is on the screen that something is going on.
                session.read(sign, 1);
            }
        });
        assert_eq!(server.record().faults(), "");
    }
}

/// Waits until a file has so many lines.
fn wait_for_lines(file: &Path, count: usize) {
    let began = Instant::now();
    while lines(file).len() < count {
        assert!(began.elapsed() < EVER * 4, "the command has not begun");
        codelet_testkit::wait_a_moment();
    }
}

fn lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_request_that_is_not_answered_yet_ends_at_once() {
    interrupt_reply("a request", "waiting", 0, || Reply::text("Never."));
}

#[test]
fn an_answer_ends_at_once() {
    interrupt_reply("an answer", "Half an answ", 5, || {
        Reply::text("Half an answer that goes on.").in_fragments_of(6)
    });
}

#[test]
fn thinking_ends_at_once() {
    interrupt_reply("thinking", "thinking", 4, || {
        Reply::new().thinks("Long thoughts that go on.").in_fragments_of(6)
    });
}

#[test]
fn the_writing_of_a_call_ends_at_once() {
    interrupt_reply("a call that is being written", "writing", 3, || {
        Reply::call("Write", json!({"file_path": "a.txt", "content": "long ".repeat(50)})).in_fragments_of(12)
    });
}

#[test]
fn a_tool_ends_at_once_with_all_that_it_has_started() {
    let _alone = alone();
    for kind in Kind::ALL {
        let bench = Bench::new();
        let command = "(trap '' INT TERM; echo $BASHPID >> pids; sleep 600) & setsid sleep 600 & echo $$ >> pids; wait";
        let server = provider((0..ROUNDS).map(|_| Reply::call("Bash", json!({"command": command}))));
        let mut session = kind.start(&bench, &server, &["--permission", "all"]);
        let pids = bench.work.join("pids");
        interrupt("a tool", KEPT, &mut *session, |session, round| {
            session.say("Run it.");
            wait_for_lines(&pids, 2 * (round + 1));
        });
        for pid in lines(&pids) {
            wait_for_end_of(pid.parse().unwrap());
        }
    }
}

#[test]
fn a_command_of_the_users_ends_at_once() {
    let _alone = alone();
    for kind in Kind::ALL {
        let bench = Bench::new();
        let server = provider([]);
        let mut session = kind.start(&bench, &server, &[]);
        let marks = bench.work.join("marks");
        interrupt(
            "a command",
            "[interrupted by the user]",
            &mut *session,
            |session, round| {
                session.say("!echo x >> marks; sleep 600");
                wait_for_lines(&marks, round + 1);
            },
        );
    }
}

#[test]
fn a_wait_for_the_provider_ends_at_once() {
    let _alone = alone();
    for kind in Kind::ALL {
        let bench = Bench::new();
        bench.settings("patience = 100");
        let server = provider((0..ROUNDS).map(|_| {
            let mut refusal = Refusal::status(429);
            refusal.retry = Some(RetryAfter::Seconds(60));
            Reply::new().failing(Fault::Refuse(refusal))
        }));
        let mut session = kind.start(&bench, &server, &[]);
        interrupt("a wait", KEPT, &mut *session, |session, round| {
            session.say("Hello?");
            session.read("try 2 in", round + 1);
        });
    }
}

#[test]
fn a_question_ends_at_once() {
    let _alone = alone();
    for kind in Kind::ALL {
        let bench = Bench::new();
        let server = provider((0..ROUNDS).map(|_| Reply::call("Bash", json!({"command": "touch never"}))));
        let mut session = kind.start(&bench, &server, &[]);
        interrupt("a question", KEPT, &mut *session, |session, round| {
            session.say("Try.");
            let asked = if kind == Kind::Terminal {
                "[y] yes, once"
            } else {
                "Allow it?"
            };
            session.read(asked, round + 1);
        });
        assert!(!bench.work.join("never").exists());
    }
}

#[test]
fn a_compaction_that_the_model_writes_ends_at_once() {
    let _alone = alone();
    for kind in Kind::ALL {
        let bench = Bench::new();
        let text: String = (0..600)
            .map(|line| format!("line {line}: value_{} = {};\n", line * 37, line * 5))
            .collect();
        bench.file("long.txt", &text);
        let gates: Vec<Gate> = (0..ROUNDS).map(|_| Gate::after(3)).collect();
        let turns = (0..4).flat_map(|_| {
            [
                Reply::call("Read", json!({"file_path": "long.txt"})),
                Reply::text("It is read."),
            ]
        });
        let summaries = gates
            .iter()
            .map(|gate| Reply::text("A summary that never ends.").gated(gate));
        let server = provider(turns.chain(summaries).collect::<Vec<_>>());
        let mut session = kind.start(&bench, &server, &["--summary", "model"]);
        for turn in 0..4 {
            session.say("Read it.");
            session.wait_for("It is read.", turn + 1);
            session.rest();
        }
        let told = "compaction interrupted";
        interrupt("a compaction", told, &mut *session, |session, round| {
            session.say("/compact");
            block_on(gates[round].reached());
            if kind == Kind::Terminal {
                session.read("compacting", 1);
            }
        });
        assert_eq!(server.record().faults(), "");
    }
}

#[test]
fn a_wait_for_another_model_ends_at_once() {
    let _alone = alone();
    for kind in Kind::ALL {
        let bench = Bench::new();
        // The one that is asked first is known, and nothing is looked up for it.
        bench.settings("idle_timeout = 5\n[models.\"anthropic/test-model\"]\nwindow = 64000\n");
        let behaviour = Behaviour::replies([]).models(["test-model"]).listing_window(64_000);
        let server = Server::start(Wire::Anthropic, behaviour.loading(usize::MAX));
        let mut session = kind.start(&bench, &server, &[]);
        interrupt(
            "/model",
            "interrupted; the model is unchanged",
            &mut *session,
            |session, round| {
                session.say("/model anthropic/other");
                session.wait_for("is not ready yet", round + 1);
            },
        );
        assert_eq!(server.record().exchanges.len(), 0);
    }
}

#[test]
fn a_call_of_a_servers_tool_ends_at_once() {
    let _alone = alone();
    for kind in Kind::ALL {
        let bench = Bench::new();
        let heard = bench.home.join("heard");
        bench.settings(&crate::common::mcp_table("s", Manner::Good, &heard));
        let server = provider((0..ROUNDS).map(|_| Reply::call("s__wait", json!({}))));
        let mut session = kind.start(&bench, &server, &["--permission", "all"]);
        let calls = || lines(&heard).iter().filter(|line| *line == "tools/call wait").count();
        interrupt("a server's tool", KEPT, &mut *session, |session, round| {
            session.say("Wait for it.");
            let began = Instant::now();
            while calls() < round + 1 {
                assert!(began.elapsed() < EVER * 4, "the call has not begun");
                codelet_testkit::wait_a_moment();
            }
        });
        // It was told each time that nobody waits any more, and was not ended for it.
        assert_eq!(lines(&heard).iter().filter(|line| line.starts_with("pid ")).count(), 1);
        assert_eq!(server.record().faults(), "");
    }
}
