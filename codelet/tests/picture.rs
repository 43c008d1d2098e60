//! The picture of the README: a session in the real program, in which a compaction happens. `CODELET_BLESS=1` writes it
//! to `docs/pictures/session.svg`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod common;

use codelet_testkit::server::{Behaviour, Reply, Server, Window, Wire};
use common::agent::Bench;
use common::pty::{Session as _, Terminal};
use common::svg::svg;
use serde_json::json;

const SIZE: (u16, u16) = (92, 26);
const WINDOW: u64 = 9_000;
const ANSWER: &str = "The invoice lost its **last line**: `read` says that the input has ended although it has read a line.\n\n\
| file | change |\n|---|---|\n| `invoice.sh` | the loop takes that line, too |\n";

#[test]
fn a_session_with_a_compaction_can_be_drawn() {
    let bench = Bench::new();
    let log: String = (1..=240)
        .map(|n| {
            format!(
                "2026-11-{:02} order {n}: {} pieces, all found\n",
                n % 28 + 1,
                n * 7 % 40
            )
        })
        .collect();
    for month in ["july", "august", "september", "october", "november"] {
        bench.file(
            &format!("orders/{month}.log"),
            &log.replace("order", &format!("{month} order")),
        );
    }
    bench.file(
        "invoice.sh",
        "total=0\nwhile read -r line; do\n  total=$((total + line))\ndone\necho $total\n",
    );
    let read = |file: &str| Reply::call("Read", json!({"file_path": file}));
    let replies = [
        Reply::new()
            .says("I look at the orders first.")
            .calls("Read", json!({"file_path": "orders/july.log"})),
        read("orders/august.log"),
        read("orders/september.log"),
        read("orders/october.log"),
        read("orders/november.log"),
        read("invoice.sh"),
        Reply::call(
            "Edit",
            json!({
                "file_path": "invoice.sh",
                "old_string": "while read -r line; do",
                "new_string": "while read -r line || [ -n \"$line\" ]; do",
            }),
        ),
        Reply::text(ANSWER),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies).window(Window::of(WINDOW)));
    let mut terminal = Terminal::start(&bench, &server, &["--window", &WINDOW.to_string()], SIZE);
    let mut screens = Vec::new();
    terminal.send(b"The invoice of November is too small. Why?");
    terminal.see("too small. Why?");
    screens.push(terminal.still());
    terminal.send(b"\r");
    terminal.see("takes that line, too");
    terminal.see("ready");
    screens.push(terminal.still());
    terminal.say("/context");
    terminal.see("A compaction now");
    screens.push(terminal.still());
    terminal.say("/cost");
    terminal.see("Breaks of the cache");
    screens.push(terminal.still());
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
    assert!(terminal.text().contains("Context compacted:"), "{}", terminal.text());
    let picture = svg(
        "A session with Codelet in which the conversation is compacted",
        &screens,
    );
    assert_eq!(picture.matches("<g ").count(), screens.len());
    assert!(picture.contains("too small. Why?") && picture.contains("A compaction now"));
    if std::env::var_os("CODELET_BLESS").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/pictures/session.svg");
        std::fs::write(file, picture).unwrap();
    }
}
