//! Lines that are typed into a terminal which knows nothing: whose turn it is, what is typed ahead, and leaving.

use crate::common::agent::Bench;
use crate::common::pty::{Session, Typed};
use crate::{leave, server};
use codelet_testkit::server::{End, Gate, Reply, Server, block_on};

fn open(replies: impl IntoIterator<Item = Reply>) -> (Bench, Server, Typed) {
    let (bench, server) = (Bench::new(), server(replies));
    let typed = Typed::start(&bench, &server, &[]);
    (bench, server, typed)
}

#[test]
fn lines_are_asked_for_and_nothing_is_drawn() {
    let (_bench, server, mut typed) = open([Reply::text("# Yes\n\n- **one**\n"), Reply::text("Bye.")]);
    // The line is the terminal's: it shows what is typed, and takes it back.
    assert!(typed.terminal.is_as_found());
    typed.say("Hello?");
    typed.wait("one");
    typed.rest();
    typed.terminal.send(b"Good\x7f\x7f\x7f\x7fBye");
    typed.say(".");
    typed.wait("Bye.");
    typed.rest();
    let text = typed.text();
    assert!(text.contains("\n> Hello?\n"), "{text}");
    // Nobody is told again what they have just typed.
    assert_eq!(text.matches("Hello?").count(), 1, "{text}");
    leave(&mut typed, &server);
    assert!(typed.terminal.is_as_found());
    let bytes = typed.terminal.bytes();
    assert!(!bytes.contains(&0x1b), "{}", String::from_utf8_lossy(&bytes));
    assert_eq!(server.record().exchanges[1].request.last_user_text(), Some("Bye."));
}

#[test]
fn what_is_typed_ahead_is_told_to_be_queued_and_done_in_its_order() {
    let gate = Gate::after(3);
    let (_bench, server, mut typed) = open([
        Reply::text("The first answer.").gated(&gate),
        Reply::text("The second answer."),
        Reply::text("The third answer."),
    ]);
    typed.say("The first question.");
    block_on(gate.reached());
    typed.say("The second question.");
    typed.wait("queued: The second question.");
    typed.say("The third question.");
    typed.wait("queued: The third question.");
    // What only looks waits for nobody.
    typed.say("/todo");
    typed.wait("to-do list is empty");
    assert_eq!(server.record().exchanges.len(), 1);
    gate.open();
    typed.wait("The third answer.");
    leave(&mut typed, &server);
    let record = server.record();
    let last = |at: usize| record.exchanges[at].request.last_user_text().map(str::to_owned);
    assert_eq!(last(1).as_deref(), Some("The second question."));
    assert_eq!(last(2).as_deref(), Some("The third question."));
}

#[test]
fn what_is_typed_ahead_of_an_interruption_is_kept_and_not_sent() {
    let gate = Gate::after(3);
    let (_bench, server, mut typed) = open([Reply::text("An answer.").gated(&gate), Reply::text("Another.")]);
    typed.say("A question.");
    block_on(gate.reached());
    typed.say("Meant for the answer.");
    typed.wait("queued: Meant for the answer.");
    typed.interrupt();
    typed.wait("kept: your prompt");
    typed.wait("kept: Meant for the answer.");
    typed.rest();
    typed.say("Something else.");
    typed.wait("Another.");
    leave(&mut typed, &server);
    let record = server.record();
    assert_eq!(record.exchanges.len(), 2);
    assert!(!record.exchanges[1].request.holds("Meant for the answer."));
}

#[test]
fn ctrl_c_twice_and_ctrl_d_leave() {
    let (_bench, _server, mut typed) = open([]);
    typed.terminal.send(b"\x03");
    typed.wait("Press Ctrl-C again to quit.");
    typed.terminal.send(b"\x03");
    assert_eq!(typed.end(), 0);
    assert!(typed.terminal.is_as_found());

    let (_bench, server, mut typed) = open([Reply::text("Yes.")]);
    typed.say("Hello?");
    typed.wait("Yes.");
    typed.rest();
    typed.close();
    assert_eq!(typed.end(), 0);
    assert_eq!(server.record().faults(), "");

    // Twice while something runs: the first ends that, the second all.
    let gate = Gate::after(3);
    let (_bench, server, mut typed) = open([Reply::text("An answer.").gated(&gate)]);
    typed.say("A question.");
    block_on(gate.reached());
    typed.interrupt();
    typed.wait("kept: ");
    typed.rest();
    typed.interrupt();
    typed.wait("Press Ctrl-C again to quit.");
    typed.interrupt();
    assert_eq!(typed.end(), 0);
    server.wait_until(|record| matches!(record.exchanges[0].end, End::ClientLeft(_)));
}

#[test]
fn a_line_that_is_begun_goes_on_until_it_ends_and_ctrl_c_drops_it() {
    let (_bench, server, mut typed) = open([Reply::text("Two lines.")]);
    typed.terminal.send(b"never sent \\\n");
    typed.terminal.send(b"\x03");
    typed.wait("Press Ctrl-C again to quit.");
    typed.rest();
    typed.say("one\ntwo");
    typed.wait("Two lines.");
    leave(&mut typed, &server);
    assert_eq!(server.record().exchanges[0].request.last_user_text(), Some("one\ntwo"));
}
