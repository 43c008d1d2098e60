//! Keys while much goes on: what is typed is seen at once, however large the answer is that streams.

use crate::common::pty::{Session, Terminal};
use crate::{leave, open};
use codelet_testkit::MachineClock;
use codelet_testkit::server::Reply;
use std::time::Duration;

/// How long each of so many keys takes to be seen behind those before it, longest last. The line is empty afterwards.
fn echoes(terminal: &mut Terminal, keys: usize) -> Vec<Duration> {
    let clock = MachineClock::start();
    let mut took: Vec<Duration> = Vec::new();
    let mut typed = String::new();
    for key in (b'a'..=b'z').cycle().take(keys) {
        typed.push(char::from(key));
        let before = clock.elapsed();
        terminal.send(&[key]);
        terminal.see(&format!("› {typed}"));
        took.push(clock.elapsed() - before);
        if typed.len() == 20 {
            terminal.send(b"\x15");
            terminal.wait_until("an empty line", |screen| {
                screen.lines().any(|line| line.trim_end() == "›")
            });
            typed.clear();
        }
    }
    terminal.send(b"\x15");
    took.sort_unstable();
    took
}

/// What keys take while eight megabytes stream at full speed and until all is done with them: the longest, and half of them
/// at most.
fn while_much_streams() -> (Duration, Duration) {
    let block = "# Title\n\nThe engine keeps the conversation small, and **every** removal can be read back.\n\n\
                 ```rust\nlet a = 1; // c\n```\n\n";
    let answer = format!("{}The very end.", block.repeat(8_000_000 / block.len()));
    let (_bench, server, mut terminal) = open([Reply::text(answer).in_fragments_of(4_000)]);
    let idle = echoes(&mut terminal, 40);
    terminal.say("Write much.");
    terminal.wait_until("the answer", |screen| screen.contains("Title"));
    let mut busy = Vec::new();
    while !terminal.screen().contains("ready") {
        busy.extend(echoes(&mut terminal, 20));
    }
    busy.sort_unstable();
    let (usual, half, longest) = (idle[idle.len() / 2], busy[busy.len() / 2], busy[busy.len() - 1]);
    eprintln!(
        "a key takes {usual:?} while nothing goes on; of {} meanwhile half take {half:?} at most, the longest {longest:?}",
        busy.len()
    );
    leave(&mut terminal, &server);
    (longest, half)
}

#[test]
fn keys_are_seen_soon_while_a_large_answer_streams_and_when_it_ends() {
    // What is done with such an answer at its end takes half a second and more: a key that waited for it would have waited
    // far longer than all others. A machine that is busy with something else makes all of them slower.
    let is_soon = |(longest, half): (Duration, Duration)| longest < half * 6 + Duration::from_millis(150);
    assert!(
        (0..3).any(|_| is_soon(while_much_streams())),
        "no key may wait for what is done with an answer"
    );
}

#[test]
fn esc_stops_an_answer_that_comes_faster_than_it_is_shown() {
    const ANSWER: usize = 12_000_000;
    let line = "A line of an answer that comes as fast as the line carries it, and is of no use to anybody.\n\n";
    let reply = Reply::text(line.repeat(ANSWER / line.len())).in_fragments_of(4_000);
    let (_bench, server, mut terminal) = open([reply]);
    terminal.say("Write much.");
    terminal.see_more_than(100_000);
    terminal.send(b"\x1b");
    terminal.see("interrupted");
    let shown = terminal.bytes().len();
    assert!(shown < ANSWER / 2, "{shown} bytes were shown before it stopped");
    leave(&mut terminal, &server);
}
