//! What a pipeline of a shell is told: prompts that come in lines, one of which fails.

use crate::common::agent::Bench;
use crate::common::pty::{Piped, Session, signal};
use crate::common::{ended, piped, stderr};
use crate::{server, usage};
use codelet_testkit::server::{Fault, Gate, Refusal, Reply, Server, Stop, Wire, block_on};
use serde_json::json;
use std::io::Write as _;
use std::process::{Child, ChildStdin, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is written beforehand, the prompt that fails first.
const LINES: &str = "first\nsecond \\\nand more\n!touch made\n/compact\n/export left.json\nexit\n";

/// Starts a session behind a pipe.
fn start_open(bench: &Bench, server: &Server) -> Child {
    piped(&mut bench.asking(server, Wire::Anthropic, &["--plain"]))
}

/// The same with all of this, behind which the pipe ends.
fn start(bench: &Bench, server: &Server, lines: &str) -> Child {
    let mut child = start_open(bench, server);
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child
}

/// Nothing behind the first prompt was done but what only looks, and standard error says so.
fn only_the_first(bench: &Bench, output: &Output, status: i32, why: &str) {
    ended(output, status);
    let told = stderr(output);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 4, "{told}");
    assert!(
        lines[0].starts_with("not answered: first (") && lines[0].contains(why),
        "{told}"
    );
    let not_done = ["not done: second ...", "not done: !touch made", "not done: /compact"];
    assert_eq!(lines[1..], not_done);
    assert!(!bench.work.join("made").exists());
    assert!(bench.work.join("left.json").exists());
}

#[test]
fn what_is_written_behind_a_failed_prompt_is_not_done_and_standard_error_says_so() {
    let refused = Reply::new().failing(Fault::Refuse(Refusal::status(401)));
    let declined = Reply::text("I would rather not.").stopping(Stop::Refusal);
    for (reply, status, why) in [(refused, 3, "key"), (declined, 1, "declined")] {
        let (bench, server) = (Bench::new(), server([reply]));
        let output = start(&bench, &server, LINES).wait_with_output().unwrap();
        only_the_first(&bench, &output, status, why);
        assert_eq!(server.record().exchanges.len(), 1);
    }
    let (bench, gone) = (Bench::new(), server([]));
    bench.settings("patience = 1\n");
    let mut command = bench.asking(&gone, Wire::Anthropic, &["--plain"]);
    drop(gone);
    let mut child = piped(&mut command);
    child.stdin.take().unwrap().write_all(LINES.as_bytes()).unwrap();
    only_the_first(&bench, &child.wait_with_output().unwrap(), 3, "127.0.0.1");

    let (bench, gate) = (Bench::new(), Gate::after(2));
    let server = server([Reply::text("An answer.").gated(&gate)]);
    let child = start(&bench, &server, LINES);
    block_on(gate.reached());
    signal(child.id(), "-INT");
    only_the_first(&bench, &child.wait_with_output().unwrap(), 130, "interrupted");
    assert_eq!(server.record().exchanges.len(), 1);
}

#[test]
fn bytes_that_are_no_text_go_on_with_a_word_about_their_line() {
    let (bench, server) = (Bench::new(), server([Reply::text("One."), Reply::text("Two.")]));
    let mut child = start_open(&bench, &server);
    let lines = "Grüße\n".bytes().chain(*b"na\xefve\n");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&lines.collect::<Vec<u8>>())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    ended(&output, 0);
    let told = stderr(&output);
    assert!(told.starts_with("line 2 of the input is not valid UTF-8"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    let record = server.record();
    assert!(record.exchanges[0].request.user_texts().contains(&"Grüße"));
    assert!(record.exchanges[1].request.user_texts().contains(&"na\u{fffd}ve"));
}

#[test]
fn a_pipe_whose_last_command_could_not_be_done_tells_by_its_status() {
    for (lines, status) in [
        ("first\n/export no/such/folder.json\n", 2),
        ("first\n/export no/such/folder.json\nexit\n", 2),
        ("first\n/exprot s.json\n", 2),
        ("first\n/model nobody/x\n", 2),
        ("first\n/pin @no-such-file\n", 2),
        ("/export\n", 2),
        ("first\n!false\n", 1),
        ("first\n!exit 3\nexit\n", 1),
        ("first\n!no-such-program\n", 1),
        // What was done behind it is what counts.
        ("/export no/such/folder.json\nfirst\n", 0),
        ("first\n/export no/such/folder.json\n/export s.json\n", 0),
        ("first\n!false\n!true\n", 0),
        ("!false\nfirst\n", 0),
        // There was nothing to do.
        ("first\n/compact\n", 0),
    ] {
        let (bench, server) = (Bench::new(), server([Reply::text("Yes.")]));
        let output = start(&bench, &server, lines).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{lines}: {output:?}");
    }
    // A prompt that failed says more.
    let (bench, server) = (Bench::new(), server([Reply::status(401)]));
    let output = start(&bench, &server, "first\n/export no/such/folder.json\n");
    ended(&output.wait_with_output().unwrap(), 3);
}

#[test]
fn a_pipe_whose_prompts_are_all_answered_says_nothing_on_standard_error() {
    let bench = Bench::new();
    let server = server([
        Reply::text("One.").billed(usage(2_000)),
        Reply::text("Two.").billed(usage(2_000)),
    ]);
    let lines = "first\nsecond";
    let output = start(&bench, &server, lines).wait_with_output().unwrap();
    ended(&output, 0);
    assert_eq!(stderr(&output), "");
    assert!(String::from_utf8_lossy(&output.stdout).contains("Two."));
}

#[test]
fn an_interruption_of_anything_stops_what_is_written_behind_it() {
    let (bench, asked) = (Bench::new(), server([]));
    let child = start(&bench, &asked, "!touch began; sleep 600\nnever\n");
    let began = std::time::Instant::now();
    while !bench.work.join("began").exists() {
        assert!(began.elapsed().as_secs() < 20);
        codelet_testkit::wait_a_moment();
    }
    signal(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    ended(&output, 130);
    assert_eq!(stderr(&output), "not done: never\n");
    assert_eq!(asked.record().exchanges.len(), 0);

    // While it waits for its next line, too.
    let (bench, server) = (Bench::new(), server([Reply::text("Yes.")]));
    let mut piped = Piped::start(&bench, &server, &[]);
    piped.say("Hello?");
    piped.wait("Yes.");
    // It waits for the next line once this one is done.
    piped.say("/todo");
    piped.wait("to-do list is empty");
    piped.interrupt();
    assert_eq!(piped.end(), 130);
}

#[test]
fn an_input_that_ends_while_the_model_works_is_done_to_its_end() {
    let (bench, gate) = (Bench::new(), Gate::after(2));
    let server = server([Reply::text("A whole answer.").gated(&gate)]);
    let mut piped = Piped::start(&bench, &server, &[]);
    piped.say("Hello?");
    block_on(gate.reached());
    piped.close();
    gate.open();
    piped.wait("A whole answer.");
    assert_eq!(piped.end(), 0);
}

#[test]
fn a_standard_error_that_nobody_reads_changes_nothing() {
    let refused = Reply::new().failing(Fault::Refuse(Refusal::status(401)));
    let (bench, server) = (Bench::new(), server([refused]));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = bench.asking(&server, Wire::Anthropic, &["--plain"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(writer);
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(LINES.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    ended(&output, 3);
    assert!(String::from_utf8_lossy(&output.stdout).contains("error:"));
    assert!(bench.work.join("left.json").exists());
}

/// Somebody who writes a line again and again, as fast as it is taken.
struct Endless {
    /// The bytes that were taken.
    count: Arc<AtomicUsize>,
    writer: JoinHandle<()>,
}

impl Endless {
    /// Writes these words, and then the line for ever, or so often that no memory should hold it.
    fn write(mut stdin: ChildStdin, first: &str, line: &str) -> Self {
        const MUCH: usize = 64_000_000;
        let count = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&count);
        let (first, piece) = (first.to_owned(), line.repeat(1_000));
        let writer = std::thread::spawn(move || {
            let mut goes_on = stdin.write_all(first.as_bytes()).is_ok();
            while goes_on && written.load(Ordering::Relaxed) < MUCH {
                goes_on = stdin.write_all(piece.as_bytes()).is_ok();
                written.fetch_add(piece.len(), Ordering::Relaxed);
            }
        });
        Endless { count, writer }
    }

    /// Waits until nothing is taken any more; returns how much was.
    fn rests(&self) -> usize {
        /// So long nothing is taken from whoever has to wait.
        const QUIET: Duration = Duration::from_millis(300);
        let (mut last, mut since) = (self.count.load(Ordering::Relaxed), Instant::now());
        while since.elapsed() < QUIET {
            std::thread::sleep(Duration::from_millis(5));
            let now = self.count.load(Ordering::Relaxed);
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
        last
    }
}

#[test]
fn an_input_that_ends_while_questions_wait_answers_each_with_no() {
    let bench = Bench::new();
    let server = server([
        Reply::call("Bash", json!({"command": "touch made"})).calls("Bash", json!({"command": "touch made_too"})),
        Reply::text("It was not permitted."),
    ]);
    let mut session = Piped::start(&bench, &server, &["--plain"]);
    session.say("Make them.");
    session.wait("Allow it?");
    session.close();
    assert_eq!(session.end(), 0, "{}", session.text());
    let record = server.record();
    let results = record.exchanges[1].request.results();
    assert_eq!(results.len(), 2);
    assert!(
        results.iter().all(|(_, text)| text.contains("nobody can answer")),
        "{results:?}"
    );
    assert!(!bench.work.join("made").exists() && !bench.work.join("made_too").exists());
}

#[test]
fn what_was_written_before_a_question_does_not_answer_it_however_much_it_is() {
    let (bench, gate) = (Bench::new(), Gate::after(1));
    let server = server([
        Reply::call("Bash", json!({"command": "touch made"})).gated(&gate),
        Reply::text("It was not permitted."),
    ]);
    let mut child = start_open(&bench, &server);
    let endless = Endless::write(child.stdin.take().unwrap(), "Make it.\n", "yes\n");
    block_on(gate.reached());
    endless.rests();
    gate.open();
    server.wait_until(|record| record.exchanges.len() >= 2);
    let result = server.record().exchanges[1].request.results()[0].1.to_owned();
    signal(child.id(), "-TERM");
    ended(&child.wait_with_output().unwrap(), 143);
    endless.writer.join().unwrap();
    assert!(result.contains("cannot ask while"), "{result}");
    assert!(!bench.work.join("made").exists());
}

#[test]
fn an_input_without_end_is_read_no_further_than_there_is_room_and_can_be_interrupted() {
    let (bench, gates) = (Bench::new(), [Gate::after(2), Gate::after(2)]);
    let server = server(gates.iter().map(|gate| Reply::text("An answer.").gated(gate)));
    let mut child = start_open(&bench, &server);
    let endless = Endless::write(child.stdin.take().unwrap(), "", "and more\n");
    block_on(gates[0].reached());
    let ahead = endless.rests();
    assert!(ahead < 4_000_000, "{ahead} bytes were read ahead");
    let began = Instant::now();
    signal(child.id(), "-INT");
    // What was written is let go, and what comes behind it goes on.
    block_on(gates[1].reached());
    eprintln!(
        "interrupted and on to the next line in {:?}, {} bytes behind",
        began.elapsed(),
        endless.count.load(Ordering::Relaxed)
    );
    endless.rests();
    assert!(!endless.writer.is_finished(), "all of it was taken");
    signal(child.id(), "-TERM");
    let output = child.wait_with_output().unwrap();
    ended(&output, 143);
    endless.writer.join().unwrap();
    let told = stderr(&output);
    assert!(told.starts_with("not answered: and more (interrupted"), "{told}");
    assert!(told.lines().any(|line| line.ends_with(" more")), "{told}");
    assert!(told.len() < 10_000, "{told}");
}
