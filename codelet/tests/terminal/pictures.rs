//! Pictures in a session that is interrupted and completed by keys.

use crate::common::agent::Bench;
use crate::common::pty::{Kind, Session, Terminal};
use crate::{SIZE, leave};
use codelet_testkit::server::{Gate, Reply, Server, block_on};
use serde_json::Value;

const GIF: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// How many pictures a request holds.
fn pictures(server: &Server, at: usize) -> usize {
    let request: Value = server.record().exchanges[at].request.json().clone();
    let messages = request["messages"].as_array().unwrap();
    let blocks = messages
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten();
    blocks
        .filter(|block| block["type"] == "image" && block["source"]["media_type"] == "image/gif")
        .count()
}

fn see(bench: &Bench) {
    bench.settings("patience = 100\n[models.\"anthropic/test-model\"]\nsees_images = true\nwindow = 100000\n");
}

#[test]
fn retry_sends_the_picture_of_an_interrupted_prompt_again() {
    for kind in Kind::ALL {
        let (bench, gate) = (Bench::new(), Gate::after(4));
        see(&bench);
        std::fs::write(bench.work.join("shot.gif"), GIF).unwrap();
        let half = Reply::text("Half an answer that goes on.")
            .in_fragments_of(6)
            .gated(&gate);
        let server = crate::server([half, Reply::text("A whole answer."), Reply::text("You are welcome.")]);
        let mut session = kind.start(&bench, &server, &[]);
        session.say("What is on @shot.gif here?");
        session.wait("Attached shot.gif (");
        block_on(gate.reached());
        session.interrupt();
        session.wait("kept: ");
        // What was sent stays what it was.
        std::fs::remove_file(bench.work.join("shot.gif")).unwrap();
        session.say("/retry");
        session.wait("A whole answer.");
        session.say("Thank you.");
        session.wait("You are welcome.");
        leave(&mut *session, &server);
        assert_eq!([0, 1, 2].map(|at| pictures(&server, at)), [1, 1, 1]);
        let sent = |at: usize| server.record().exchanges[at].request.json()["messages"].clone();
        assert_eq!(sent(0), sent(1));
    }
}

#[test]
fn a_name_with_a_blank_is_completed_so_that_the_picture_is_found() {
    let bench = Bench::new();
    see(&bench);
    std::fs::write(bench.work.join("my shot.gif"), GIF).unwrap();
    let server = crate::server([Reply::text("A pixel.")]);
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    terminal.send(b"What is on @shot");
    terminal.see("@\"my shot.gif\"");
    terminal.send(b"\t");
    terminal.see("What is on @\"my shot.gif\"");
    terminal.send(b"\r");
    terminal.wait("A pixel.");
    leave(&mut terminal, &server);
    assert_eq!(pictures(&server, 0), 1);
}

#[test]
fn a_picture_that_is_dropped_or_named_with_an_escaped_blank_is_attached() {
    let bench = Bench::new();
    see(&bench);
    let file = bench.work.join("my shot.gif");
    std::fs::write(&file, GIF).unwrap();
    let path = file.to_str().unwrap();
    let prompts = [
        format!("'{path}'"),
        path.replace(' ', "\\ "),
        format!("file://{}", path.replace(' ', "%20")),
        "What is @my\\ shot.gif here?".to_owned(),
    ];
    let server = crate::server(prompts.iter().map(|_| Reply::text("A pixel.")));
    let mut session = Kind::Piped.start(&bench, &server, &[]);
    for prompt in &prompts {
        session.say(prompt);
        session.wait("A pixel.");
    }
    leave(&mut *session, &server);
    // Those that were sent before stay.
    assert_eq!([0, 1, 2, 3].map(|at| pictures(&server, at)), [1, 2, 3, 4]);
}
