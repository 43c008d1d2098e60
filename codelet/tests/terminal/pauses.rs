//! Replies that the vendor paused in the middle of a search of its own, and that nobody goes on with.

use crate::common::agent::Bench;
use crate::common::pty::{Session, Terminal};
use crate::{SIZE, everywhere, leave};
use codelet_testkit::server::{Gate, Reply, Server, Stop, block_on};
use serde_json::json;

/// A reply that ends in the middle of a search; the first of `number` begins it, the others go on with it.
fn paused(number: usize) -> Reply {
    let (before, id) = (
        format!("srvtoolu_{}", number.wrapping_sub(1)),
        format!("srvtoolu_{number}"),
    );
    let begun = match number {
        0 => Reply::new().says("I search."),
        _ => Reply::new().finds(&before),
    };
    begun.searches(&id, "news").stopping(Stop::Pause)
}

fn text(server: &Server, at: usize) -> String {
    server.record().exchanges[at].request.json()["messages"].to_string()
}

#[test]
fn after_a_search_that_was_given_up_the_next_prompt_is_taken() {
    let replies = || {
        let pauses = (0..11).map(paused);
        pauses
            .chain([Reply::text("All right."), Reply::text("Still here.")])
            .collect()
    };
    everywhere(replies, &[], |_: &Bench, server, session| {
        session.say("Search for news.");
        session.wait("paused 11 times");
        session.say("Never mind.");
        session.wait("All right.");
        // What is built anew from all that was said is in order too.
        session.say("/compact");
        session.wait("compact");
        session.say("Are you there?");
        session.wait("Still here.");
        leave(session, server);
        let given_up = text(server, 10);
        assert!(
            given_up.contains("srvtoolu_9") && !given_up.contains("not finished"),
            "{given_up}"
        );
        for at in [11, 12] {
            let after = text(server, at);
            assert!(
                !after.contains("\"srvtoolu_10\"") && after.contains("Never mind."),
                "{after}"
            );
        }
        assert!(text(server, 11).contains("server_tool_use, ") && text(server, 11).contains("not finished"));
    });
}

#[test]
fn after_a_continuation_that_was_interrupted_the_next_prompt_is_taken() {
    for frames in [0, 10] {
        let gate = Gate::after(frames);
        let held = gate.clone();
        let replies = move || {
            let going_on = Reply::new().finds("srvtoolu_0").says("It is found, and it is");
            vec![
                paused(0),
                going_on.in_fragments_of(4).gated(&held),
                Reply::text("As you like."),
            ]
        };
        let bench = Bench::new();
        let server = crate::server(replies());
        let mut session = Terminal::start(&bench, &server, &[], SIZE);
        session.say("Search for news.");
        block_on(gate.reached());
        if frames > 0 {
            session.see("It is found");
        }
        session.interrupt();
        session.wait("kept: ");
        session.say("Leave it.");
        session.wait("As you like.");
        leave(&mut session, &server);
        let after = text(&server, 2);
        assert!(after.contains("not finished") && after.contains("Leave it."), "{after}");
        assert_eq!(after.contains("It is found"), frames > 0, "{after}");
    }
}

#[test]
fn a_search_beside_a_call_is_gone_on_with_or_closed() {
    let replies = || {
        let both_kinds = |id: &str, command: &str| {
            Reply::new()
                .searches(id, "news")
                .calls("Bash", json!({ "command": command }))
        };
        vec![
            both_kinds("srvtoolu_a", "true"),
            Reply::new().finds("srvtoolu_a").says("Found."),
            both_kinds("srvtoolu_b", "echo began; sleep 600"),
            Reply::text("As you like."),
        ]
    };
    everywhere(replies, &["--permission", "all"], |_: &Bench, server, session| {
        session.say("Search and run.");
        session.wait("Found.");
        session.say("Once more.");
        session.wait("began");
        session.interrupt();
        session.wait("kept: ");
        session.say("Leave it.");
        session.wait("As you like.");
        leave(session, server);
        let going_on = text(server, 1);
        assert!(
            going_on.contains("srvtoolu_a") && !going_on.contains("not finished"),
            "{going_on}"
        );
        let after = text(server, 3);
        assert!(after.contains("srvtoolu_a") && !after.contains("srvtoolu_b"), "{after}");
        assert!(after.contains("not finished"), "{after}");
    });
}
