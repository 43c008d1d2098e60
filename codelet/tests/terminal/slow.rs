//! Lines that are slow, terminals that know little or never answer, and answers that come late.

use crate::common::agent::Bench;
use crate::common::pty::{Pace, Session, Terminal};
use crate::{SIZE, leave, open, server};
use codelet_testkit::MachineClock;
use codelet_testkit::server::{Gate, Reply, Wire, block_on};
use serde_json::json;
use std::io::Write as _;
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
    assert_eq!(server.record().exchanges[0].request.last_user_text(), Some("Hello?"));
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
        delay: Duration::ZERO,
    };
    let command = bench.asking(&server, Wire::Anthropic, &["--no-transcript"]);
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
        server.record().exchanges[1].request.last_user_text(),
        Some("And another?")
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
        delay: Duration::ZERO,
    };
    let command = bench.asking(&server, Wire::Anthropic, &[]);
    let mut terminal = Terminal::run_at(&bench, command, SIZE, pace);
    terminal.see("ready");
    terminal.say("Go on.");
    block_on(gate.reached());
    terminal.see("word");
    let clock = MachineClock::start();
    terminal.send(b"\x1b");
    terminal.wait("interrupted");
    assert!(clock.elapsed() < Duration::from_secs(2), "{:?}", clock.elapsed());
    leave(&mut terminal, &server);
}

#[test]
fn an_arrow_key_that_a_slow_line_tears_interrupts_nothing_and_is_not_typed() {
    const GAP: Duration = Duration::from_millis(30);
    let gate = Gate::after(4);
    let words = Reply::text("word ".repeat(200)).in_fragments_of(20).gated(&gate);
    let (_bench, server, mut terminal) = open([words]);
    terminal.say("Go on.");
    block_on(gate.reached());
    terminal.see("word");
    terminal.send(b"abc");
    terminal.see("› abc");
    let mut torn = |tail: &[u8]| {
        let began = Instant::now();
        terminal.send(b"\x1b");
        // The line brings the rest so much later.
        std::thread::sleep(GAP);
        terminal.send(tail);
        began.elapsed() < GAP * 5 / 4
    };
    // On a machine that is too busy to keep this pace nothing can be told.
    if torn(b"[D") {
        terminal.send(b"x");
        terminal.see("› abxc");
        assert!(!terminal.text().contains("interrupted"), "{}", terminal.text());
    } else {
        // Behind the test's own capture, so that it is seen.
        let _ = writeln!(std::io::stderr(), "not told: the machine is too busy");
    }
    // A lone Esc interrupts, and what comes too late for it is still no text.
    terminal.send(b"\x1b[F\x15");
    terminal.interrupt();
    terminal.wait("interrupted");
    terminal.send(b"[D");
    std::thread::sleep(GAP);
    terminal.send(b"right");
    terminal.wait_until("what was typed", |screen| {
        screen.lines().any(|line| line.trim_end() == "› right")
    });
    terminal.send(b"\x15");
    leave(&mut terminal, &server);
}

/// A line over which everything takes a fifth of a second, there and back.
const FAR: Pace = Pace {
    bytes: 1_400,
    pause: Duration::ZERO,
    delay: Duration::from_millis(200),
};

#[test]
fn from_far_away_everything_can_be_typed_asked_and_interrupted() {
    let (bench, gate) = (Bench::new(), Gate::after(8));
    let half = "The first part.\n\nHalf of a second one.";
    let server = server([
        Reply::call("Bash", json!({"command": "touch made"})),
        Reply::text("It is made."),
        Reply::text(half).in_fragments_of(6).gated(&gate),
        Reply::text("A whole answer."),
    ]);
    let command = bench.asking(&server, Wire::Anthropic, &["--no-transcript"]);
    let mut terminal = Terminal::run_at(&bench, command, SIZE, FAR);
    terminal.see("ready");
    // Nobody waits for the echo: keys, arrows and a paste are on their way together.
    for key in "Mke it".bytes() {
        terminal.send(&[key]);
    }
    terminal.send(b"\x1b[H\x1b[C");
    terminal.send(b"a");
    terminal.send(b"\x1b[F\x1b[200~ now,\rplease\x1b[201~\r");
    terminal.see("[y] yes, once");
    terminal.send(b"y");
    terminal.wait("It is made.");
    assert!(bench.work.join("made").exists());
    terminal.see("ready");
    terminal.say("Go on.");
    block_on(gate.reached());
    terminal.see("Half of a sec");
    // Keys that begin as Esc does, in one piece, interrupt nothing.
    terminal.send(b"\x1b[A\x1b[B\x1bOC");
    terminal.send(b"typed ahead");
    terminal.see("typed ahead");
    assert!(!terminal.text().contains("interrupted"), "{}", terminal.text());
    terminal.send(b"\x15");
    let (began, clock) = (Instant::now(), MachineClock::start());
    terminal.interrupt();
    terminal.wait("kept: your prompt, the answer so far");
    assert!(began.elapsed() >= 2 * FAR.delay, "{:?}", began.elapsed());
    assert!(clock.elapsed() < Duration::from_secs(3), "{:?}", clock.elapsed());
    drop(clock);
    terminal.say("continue");
    terminal.wait("A whole answer.");
    terminal.see("ready");
    leave(&mut terminal, &server);
    terminal.ends_in("\x1b[0m");
    let record = server.record();
    let said = record.exchanges[0].request.last_user_text().map(str::to_owned);
    assert_eq!(said.as_deref(), Some("Make it now,\nplease"));
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
        let mut command = bench.asking(&server, Wire::Anthropic, &["--no-transcript"]);
        command.env("TERM", name);
        let mut terminal = Terminal::run(&bench, command, SIZE);
        // It has begun, though nobody ever answers it.
        terminal.see("ready");
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
                ("?", 'h' | 'l') => ["25", "1004", "2004", "2026"].contains(&numbers.as_str()),
                (">" | "<", 'u') => tells_modifiers,
                _ => false,
            };
            assert!(is_known, "{name}: CSI {mark}{numbers}{end}");
        }
        assert_eq!(sent.iter().any(|(mark, ..)| mark == ">"), tells_modifiers, "{name}");
    }
}
