//! The picture of the README: a session in the real program, in which a compaction happens. What can be read in
//! `docs/pictures/session.svg` is what a session shows now; `CODELET_BLESS=1` draws it anew.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod common;

use codelet_testkit::server::{Behaviour, Reply, Server, Window, Wire};
use common::agent::Bench;
use common::pty::{Session as _, Terminal, without_figures};
use common::svg::{svg, words};
use serde_json::json;
use std::collections::BTreeSet;

const SIZE: (u16, u16) = (92, 44);
const WINDOW: u64 = 9_000;
const ANSWER: &str = "The invoice lost its **last line**: `read` says that the input has ended although it has read a line.\n\n\
| file | change |\n|---|---|\n| `invoice.sh` | the loop takes that line, too |\n";

#[test]
fn the_picture_shows_what_a_session_with_a_compaction_shows() {
    let mut bench = Bench::new();
    bench.work = bench.home.join("invoices");
    std::fs::create_dir(&bench.work).unwrap();
    // What it costs can be told where the price is known.
    let card =
        "anthropic/test-model input=3 output=15 read=0.3 write=3.75 lives=5m marks=4 as-of=2026-11 source=test\n";
    std::fs::write(bench.home.join(".config/codelet/cards.txt"), card).unwrap();
    bench.settings("prices = \"cards.txt\"\n");
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
    // The answer is shown before the session is at rest, and what it says may hold the word.
    terminal.wait_until("the session at rest", |screen| {
        screen.contains("ready") && !screen.contains("waiting")
    });
    screens.push(terminal.still());
    terminal.say("/context");
    terminal.see("A compaction now");
    screens.push(terminal.still());
    terminal.say("/cost");
    terminal.see("Cache misses");
    screens.push(terminal.still());
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
    assert!(terminal.text().contains("Context compacted:"), "{}", terminal.text());
    let picture = svg(
        "A session with Codelet in which the conversation is compacted",
        &screens,
    );
    assert_eq!(picture.matches("<g ").count(), screens.len());
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/pictures/session.svg");
    if std::env::var_os("CODELET_BLESS").is_some() {
        std::fs::write(file, &picture).unwrap();
    }
    let kept = std::fs::read_to_string(file).unwrap();
    assert_eq!(
        settled(&kept),
        settled(&picture),
        "CODELET_BLESS=1 cargo test -p codelet --test picture draws it anew"
    );
    // The cells of the window, the notice and the price are in it.
    let read = words(&kept);
    for words in ["■ ■ ■", "Context compacted:", "A compaction now", "Cache misses", "$0."] {
        assert!(read.contains(words), "{words}: {read}");
    }
}

/// The lines that can be read, without what is different each time: figures, how much of a bar is filled, and
/// where a line is broken or out of sight because of them.
fn settled(picture: &str) -> BTreeSet<String> {
    let is_cell = |c: char| "■·▒░▏▎▍▌▋▊▉█".contains(c);
    let settled = |line: &str| {
        let line = line.replace(['$', '<'], "").replace("&lt;", "");
        let words = line.split_whitespace().filter(|word| !word.chars().all(is_cell));
        let line = words.collect::<Vec<_>>().join(" ");
        line.trim_end_matches("/undo-compact").trim_end().to_owned()
    };
    let lines: Vec<String> = words(picture).lines().map(settled).collect();
    let lines = without_figures(&lines.join("\n"));
    lines
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}
