//! Lines that are slow, terminals that know little or never answer, and answers that come late.

use crate::common::agent::Bench;
use crate::common::pty::{Pace, Session, Terminal};
use crate::{SIZE, leave, open, server};
use codelet_testkit::server::{Gate, Reply, Wire, block_on};
use serde_json::json;
use std::time::{Duration, Instant};

/// What a terminal says to whoever asked it something before: its colours, where its cursor is, what it is.
const LATE: &[u8] =
    b"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1b]10;rgb:ff/ff/ff\x07\x1b[24;80R\x1b[?62;1;4c\x1bP>|tmux 3.4\x1b\\";

#[test]
fn late_answers_of_the_terminal_are_never_in_what_is_typed() {
    let (_bench, server, mut terminal) = open([Reply::text("Yes.")]);
    terminal.send(b"Hel");
    terminal.see("› Hel");
    // In pieces that come apart, between the keys.
    for piece in LATE.chunks(7) {
        terminal.send(piece);
    }
    terminal.send(b"lo");
    terminal.see("› Hello");
    let (first, rest) = LATE.split_at(5);
    terminal.send(first);
    // What has begun is waited for, over however slow a line.
    std::thread::sleep(Duration::from_millis(200));
    terminal.send(rest);
    terminal.send(b"?\r");
    terminal.see("Yes.");
    assert_eq!(
        server.record().exchanges[0].request.user_texts().last(),
        Some(&"Hello?")
    );
    leave(&mut terminal, &server);
}

#[test]
fn over_a_slow_line_no_key_is_lost_and_no_line_torn() {
    const LINES: usize = 60;
    let bench = Bench::new();
    let answer: String = (0..LINES)
        .map(|line| format!("- item {line} of the answer\n"))
        .collect();
    let server = server([Reply::text(answer).in_fragments_of(9), Reply::text("The second one.")]);
    let pace = Pace {
        bytes: 700,
        pause: Duration::from_millis(60),
    };
    let command = bench.asking(&server, Wire::Anthropic, &[]);
    let mut terminal = Terminal::run_at(&bench, command, SIZE, pace);
    terminal.see("ready");
    terminal.say("List them.");
    terminal.wait("item 3 of");
    for key in "And another?".bytes() {
        terminal.send(&[key]);
    }
    terminal.send(b"\r");
    terminal.wait("The second one.");
    terminal.see("ready");
    assert_eq!(
        server.record().exchanges[1].request.user_texts().last(),
        Some(&"And another?")
    );
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
    terminal.ends_in("\x1b[0m");
    let text = terminal.text();
    let items: Vec<&str> = text.lines().filter(|line| line.contains("item")).collect();
    let expected: Vec<String> = (0..LINES).map(|line| format!("• item {line} of the answer")).collect();
    assert_eq!(
        items.iter().map(|line| line.trim()).collect::<Vec<_>>(),
        expected,
        "{text}"
    );
    assert!(!text.contains('['), "{text}");
}

#[test]
fn esc_is_soon_also_over_a_slow_line() {
    let (bench, gate) = (Bench::new(), Gate::after(40));
    let server = server([Reply::text("word ".repeat(200)).in_fragments_of(20).gated(&gate)]);
    let pace = Pace {
        bytes: 2_000,
        pause: Duration::from_millis(50),
    };
    let command = bench.asking(&server, Wire::Anthropic, &[]);
    let mut terminal = Terminal::run_at(&bench, command, SIZE, pace);
    terminal.see("ready");
    terminal.say("Go on.");
    block_on(gate.reached());
    terminal.see("word");
    let began = Instant::now();
    terminal.send(b"\x1b");
    terminal.wait("interrupted");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    leave(&mut terminal, &server);
}

/// The escape sequences in what was printed: what stands before their numbers, the numbers, and the letter at the end.
fn sequences(bytes: &[u8]) -> Vec<(String, String, char)> {
    let text = String::from_utf8_lossy(bytes);
    let pieces = text.split('\x1b').skip(1);
    let sequence = |piece: &str| {
        let body = piece.strip_prefix('[').unwrap_or_else(|| panic!("ESC {piece:?}"));
        let end = body.find(|c: char| ('\x40'..='\x7e').contains(&c)).unwrap();
        let mark: String = body[..end].chars().take_while(|c| "<=>?".contains(*c)).collect();
        let numbers = body[mark.len()..end].to_owned();
        (mark, numbers, body[end..].chars().next().unwrap())
    };
    pieces.map(sequence).collect()
}

#[test]
fn a_terminal_is_sent_nothing_that_it_would_print_and_asked_nothing() {
    for (name, tells_modifiers, has_colours) in [
        ("xterm-256color", true, true),
        ("tmux-256color", true, true),
        ("screen", false, true),
        ("screen-256color", false, true),
        ("linux", false, true),
        ("vt100", false, false),
    ] {
        let bench = Bench::new();
        bench.file("a.rs", "fn main() {}\n");
        let server = server([
            Reply::call(
                "Edit",
                json!({"file_path": "a.rs", "old_string": "main", "new_string": "other"}),
            ),
            Reply::text("# Done\n\n`other` it is: **see**\n\n```rust\nlet a = \"b\"; // c\n```\n"),
        ]);
        let mut command = bench.asking(&server, Wire::Anthropic, &[]);
        command.env("TERM", name);
        let began = Instant::now();
        let mut terminal = Terminal::run(&bench, command, SIZE);
        // It has begun, though nobody ever answers it.
        terminal.see("ready");
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{name}: {:?}",
            began.elapsed()
        );
        terminal.say("Change it.");
        terminal.see("Done");
        terminal.say("/context");
        terminal.wait("Largest");
        terminal.say("exit");
        assert_eq!(terminal.end(), 0, "{name}");
        terminal.ends_in("\x1b[0m");
        assert!(terminal.is_as_found(), "{name}");
        let sent = sequences(&terminal.bytes());
        for (mark, numbers, end) in &sent {
            let is_known = match (mark.as_str(), end) {
                ("", 'A' | 'C' | 'J' | 'K') => true,
                // Sixteen colours at most, and none beyond a byte: what every terminal has.
                ("", 'm') => numbers.split(';').all(|number| {
                    let number: u8 = number.parse().unwrap_or(0);
                    number <= 9 || (has_colours && matches!(number, 30..=37 | 40..=47 | 90..=97 | 100..=107))
                }),
                ("?", 'h' | 'l') => ["25", "2004", "2026"].contains(&numbers.as_str()),
                (">" | "<", 'u') => tells_modifiers,
                _ => false,
            };
            assert!(is_known, "{name}: CSI {mark}{numbers}{end}");
        }
        assert_eq!(sent.iter().any(|(mark, ..)| mark == ">"), tells_modifiers, "{name}");
    }
}
