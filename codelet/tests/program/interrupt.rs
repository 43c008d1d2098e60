//! Interruption of the real program: within a tenth of a second whatever runs, and nothing left behind.

use crate::common::agent::{Bench, NEXT_WORDS, WIRES, name};
use crate::common::pty::{signal, wait_for_end_of};
use crate::common::{stderr, stdout};
use codelet_testkit::MachineClock;
use codelet_testkit::server::{
    Behaviour, Billed, End, Fault, Frame, Gate, Part, Refusal, Reply, RetryAfter, Server, Speaker, Wire, block_on,
};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// What an interruption may take.
const SOON: Duration = Duration::from_millis(100);
/// What a single one may take on a machine that does other work beside.
const LATE: Duration = Duration::from_millis(400);
/// How often one is tried where only the middle one of several says how long it takes.
const TRIES: usize = 5;
/// How often one is tried that may overtake the frames that are on their way.
const OVERTAKEN: usize = 30;

/// Interrupts and waits; returns what came of it and how long it took, or would have on a machine that does nothing else.
fn interrupt(child: Child) -> (Output, Duration) {
    let clock = MachineClock::start();
    signal(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    let took = clock.elapsed();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    (output, took)
}

/// The middle of several interruptions is soon, and none is late.
fn report(what: &str, mut took: Vec<Duration>) {
    took.sort();
    let middle = took[took.len() / 2];
    eprintln!(
        "interrupted {what}: {} ms, at most {} ms",
        middle.as_millis(),
        took[took.len() - 1].as_millis()
    );
    assert!(middle < SOON, "{what}: {took:?}");
    assert!(took[took.len() - 1] < LATE, "{what}: {took:?}");
}

/// A reply of every kind of event, with counts that are known.
fn whole(wire: Wire) -> Reply {
    let is_anthropic = wire == Wire::Anthropic;
    Reply::new()
        .thinks("Well.")
        .says("I look.")
        .calls("LS", json!({"path": "."}))
        .calls("Glob", json!({"pattern": "*"}))
        .billed(Billed {
            fresh: 2_095,
            cache_read: 80_000,
            write_5m: if is_anthropic { 2_051 } else { 0 },
            write_1h: 0,
            output: 77,
            reasoning: if is_anthropic { 0 } else { 30 },
        })
}

/// The words that so many frames of the reply hold.
fn words(wire: Wire, frames: &[Frame]) -> String {
    let text = |frame: &Frame| -> Option<String> {
        let frame: Value = serde_json::from_str(&frame.data).ok()?;
        let at = match wire {
            Wire::Anthropic if frame["delta"]["type"] == "text_delta" => &frame["delta"]["text"],
            Wire::Chat => &frame["choices"][0]["delta"]["content"],
            Wire::Responses if frame["type"] == "response.output_text.delta" => &frame["delta"],
            Wire::Gemini if frame["candidates"][0]["content"]["parts"][0]["thought"] != true => {
                &frame["candidates"][0]["content"]["parts"][0]["text"]
            }
            _ => return None,
        };
        at.as_str().map(str::to_owned)
    };
    frames.iter().filter_map(text).collect()
}

#[test]
fn a_stream_is_left_at_once_after_any_frame_and_what_was_reported_is_counted() {
    std::thread::scope(|scope| {
        for (wire, ..) in WIRES {
            scope.spawn(move || leave_everywhere(wire));
        }
    });
}

fn leave_everywhere(wire: Wire) {
    let frames = wire.frames(&whole(wire));
    let mut all = Vec::new();
    for at in 0..frames.len() {
        // Those that the program had read when it heard of the interruption, which may overtake them.
        let is_exact = (0..OVERTAKEN).any(|_| {
            let (seen, took) = leave(wire, &frames, at);
            all.push(took);
            seen
        });
        assert!(
            is_exact,
            "{} after frame {at}: what was reported is not counted",
            name(wire)
        );
    }
    report(&format!("{} streams", name(wire)), all);
}

/// Interrupts behind so many frames, and says whether all that they report is counted, and how long it took.
fn leave(wire: Wire, frames: &[Frame], at: usize) -> (bool, Duration) {
    let label = format!("{} after frame {at}", name(wire));
    let bench = Bench::new();
    let gate = Gate::after(at);
    let server = Server::start(wire, Behaviour::replies([whole(wire).gated(&gate)]));
    let child = bench.start(&server, wire, &["-p", "Look.", "--output", "json"]);
    block_on(gate.reached());
    let (output, took) = interrupt(child);
    server.wait_until(|record| matches!(record.exchanges[0].end, End::ClientLeft(_)));
    assert_eq!(server.record().exchanges.len(), 1, "{label}");
    let result: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(
        (&result["answer"], &result["exit"]),
        (&Value::Null, &json!(130)),
        "{label}"
    );
    assert_eq!(
        (&result["error"], &result["steps"]),
        (&json!("interrupted"), &json!(0)),
        "{label}"
    );
    assert_eq!(result["tools"], json!({}), "{label}");
    let reported = |frames: &[Frame]| {
        let told = wire.reported(frames).unwrap_or_default();
        json!({
            "fresh": told.fresh, "cache_read": told.cache_read, "cache_write": told.cache_write(),
            "cache_write_1h": told.write_1h, "output": told.output, "reasoning": told.reasoning,
        })
    };
    let is_possible = (0..=at).any(|read| reported(&frames[..read]) == result["usage"]);
    assert!(is_possible, "{label}: {result}");
    (result["usage"] == reported(&frames[..at]), took)
}

#[test]
fn after_an_interruption_at_any_frame_the_next_request_holds_the_words_that_were_seen() {
    std::thread::scope(|scope| {
        for (wire, ..) in WIRES {
            scope.spawn(move || {
                let frames = wire.frames(&whole(wire));
                for at in 0..frames.len() {
                    let is_exact = (0..OVERTAKEN).any(|_| goes_on(wire, &frames, at));
                    assert!(is_exact, "{} after frame {at}: the words are lost", name(wire));
                }
            });
        }
    });
}

/// Interrupts a session behind so many frames and goes on, and says whether all words of the frames stand in the next request.
fn goes_on(wire: Wire, frames: &[Frame], at: usize) -> bool {
    let label = format!("{} after frame {at}", name(wire));
    let bench = Bench::new();
    let gate = Gate::after(at);
    let server = Server::start(
        wire,
        Behaviour::replies([whole(wire).gated(&gate), Reply::text("All is well.")]),
    );
    let output = bench.interrupted(&server, wire, &gate, "Look.");
    let record = server.record();
    assert_eq!(record.exchanges.len(), 2, "{label}");
    let messages = record.exchanges[1].request.messages();
    let of_model: Vec<&str> = messages
        .iter()
        .filter(|message| message.speaker == Speaker::Assistant)
        .flat_map(|message| &message.parts)
        .map(|part| match part {
            Part::Text(text) => text.trim(),
            other => panic!("{label}: {other:?}"),
        })
        .collect();
    let expected = |frames: &[Frame]| match words(wire, frames) {
        seen if seen.is_empty() => String::new(),
        seen => format!("{seen}\n[interrupted by the user]"),
    };
    let of_model = of_model.join("\n");
    let is_possible = (0..=at).any(|read| expected(&frames[..read]) == of_model);
    assert!(is_possible, "{label}: {of_model:?}");
    let texts = record.exchanges[1].request.user_texts();
    assert!(
        texts.contains(&"Look.") && texts.contains(&NEXT_WORDS),
        "{label}: {texts:?}"
    );
    let shown = format!("{}{}", stdout(&output), stderr(&output));
    assert!(shown.contains("interrupted"), "{label}: {shown}");
    assert!(of_model.is_empty() || shown.contains("I look."), "{label}: {shown}");
    of_model == expected(&frames[..at])
}

#[test]
fn a_wait_is_left_at_once() {
    let mut took = Vec::new();
    for _ in 0..TRIES {
        let bench = Bench::new();
        bench.settings("patience = 100");
        let mut refusal = Refusal::status(429);
        refusal.retry = Some(RetryAfter::Seconds(60));
        let server = Server::start(
            Wire::Anthropic,
            Behaviour::replies([Reply::new().failing(Fault::Refuse(refusal))]),
        );
        let child = bench.start(&server, Wire::Anthropic, &["-p", "Hello?"]);
        server.wait_until(|record| {
            record
                .exchanges
                .first()
                .is_some_and(|e| matches!(e.end, End::Refused(_)))
        });
        took.push(interrupt(child).1);
    }
    report("wait", took);
}

/// Whether a process with this argument runs.
#[cfg(target_os = "linux")]
fn runs(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
}

#[test]
#[cfg(target_os = "linux")]
fn git_is_not_waited_for() {
    let mut took = Vec::new();
    for number in 0..TRIES {
        let bench = Bench::new();
        bench.file(".git/HEAD", "ref: refs/heads/main\n");
        for folder in [".git/objects", ".git/refs"] {
            std::fs::create_dir_all(bench.work.join(folder)).unwrap();
        }
        // A git that takes its time, as in a repository that is too large. It can write nothing, so it is known by its name.
        let bin = bench.home.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let name = format!("600.{}{number}", std::process::id());
        std::fs::write(bin.join("git"), format!("#!/bin/sh\nexec sleep {name}\n")).unwrap();
        std::fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Hello.")]));
        let mut command = bench.asking(&server, Wire::Anthropic, &["-p", "Hello?"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let began = Instant::now();
        while !runs(&name) {
            assert!(began.elapsed() < Duration::from_secs(20), "git is not asked");
            codelet_testkit::wait_a_moment();
        }
        took.push(interrupt(child).1);
        assert!(!runs(&name), "git is left");
        assert_eq!(server.record().exchanges.len(), 0);
    }
    report("git", took);
}

/// A run whose model calls these tools, once each command among them has written its process's number to `pids`.
struct Started {
    bench: Bench,
    _server: Server,
    child: Child,
}

fn start(reply: Reply, marks: usize, further: &[&str]) -> Started {
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([reply]));
    let args = [&["-p", "Run.", "--permission", "all"], further].concat();
    let child = bench.start(&server, Wire::Anthropic, &args);
    let started = Started {
        bench,
        _server: server,
        child,
    };
    let began = Instant::now();
    while started.bench.pids().len() < marks {
        assert!(began.elapsed() < Duration::from_secs(20), "the command has not begun");
        codelet_testkit::wait_a_moment();
    }
    started
}

impl Bench {
    /// The processes that the commands have written down.
    fn pids(&self) -> Vec<u32> {
        let text = std::fs::read_to_string(self.work.join("pids")).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().filter_map(|line| line.trim().parse().ok()).collect()
    }

    /// None of them is left.
    fn none_is_left(&self) {
        self.pids().into_iter().for_each(wait_for_end_of);
    }
}

/// Interrupts a command of the model's once it runs; nothing that it started is left.
fn interrupt_command(command: &str, marks: usize) {
    let mut took = Vec::new();
    for _ in 0..TRIES {
        let started = start(Reply::call("Bash", json!({"command": command})), marks, &[]);
        took.push(interrupt(started.child).1);
        started.bench.none_is_left();
    }
    report(command, took);
}

#[test]
fn a_tool_is_ended_with_everything_that_it_started() {
    interrupt_command("echo $$ >> pids; sleep 600", 1);
    interrupt_command(
        "(echo $BASHPID >> pids; sleep 600) & (echo $BASHPID >> pids; sleep 600) & echo $$ >> pids; wait",
        3,
    );
    interrupt_command("trap '' INT TERM; echo $$ >> pids; while :; do sleep 0.1; done", 1);
    interrupt_command(
        "setsid sh -c 'echo $$ >> pids; exec sleep 600' & echo $$ >> pids; wait",
        2,
    );
}

/// A command that heeds no signal but the last.
const DEAF: &str = "trap '' INT TERM; echo $$ >> pids; while :; do sleep 0.1; done";

#[test]
fn of_several_calls_at_once_each_is_ended_and_those_behind_are_not_begun() {
    let mut took = Vec::new();
    for _ in 0..TRIES {
        let reply = Reply::new()
            .calls("LS", json!({"path": "."}))
            .calls("Glob", json!({"pattern": "**"}))
            .calls("Bash", json!({"command": DEAF}))
            .calls("Bash", json!({"command": "touch begun"}));
        let started = start(reply, 1, &["--output", "json"]);
        let (output, time) = interrupt(started.child);
        took.push(time);
        started.bench.none_is_left();
        assert!(!started.bench.work.join("begun").exists());
        let result: Value = serde_json::from_str(stdout(&output)).unwrap();
        assert_eq!(result["tools"]["LS"], json!({"calls": 1, "failed": 0}), "{result}");
        assert_eq!(result["steps"], 1, "{result}");
    }
    report("several calls", took);
}

/// Whether a pipe takes more at once.
fn takes_more(pipe: &std::io::PipeWriter) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = [PollFd::new(pipe, PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec::default())).unwrap() > 0
}

#[test]
fn a_reader_who_stands_still_is_not_waited_for() {
    let loud = "echo $$ >> pids; while :; do echo a line that says nothing; done";
    let long = "a line that says nothing\n".repeat(20_000);
    let replies = [
        Reply::text(&long),
        Reply::call("Bash", json!({"command": loud})),
        // It fits into the pipe once, and not again behind it in the result.
        Reply::text("a line that says nothing\n".repeat(1_800)),
    ];
    for reply in replies {
        let mut took = Vec::new();
        for _ in 0..TRIES {
            let bench = Bench::new();
            let server = Server::start(Wire::Anthropic, Behaviour::replies([reply.clone()]));
            let args = ["-p", "Run.", "--permission", "all", "--output", "stream-json"];
            let mut command = bench.asking(&server, Wire::Anthropic, &args);
            let (mut reader, writer) = std::io::pipe().unwrap();
            command.stdout(writer.try_clone().unwrap()).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            drop(command);
            let began = Instant::now();
            while takes_more(&writer) {
                assert!(began.elapsed() < Duration::from_secs(20), "too little is printed");
                codelet_testkit::wait_a_moment();
            }
            took.push(interrupt(child).1);
            bench.none_is_left();
            drop(writer);
            let mut read = String::new();
            reader.read_to_string(&mut read).unwrap();
            let (whole, _) = read.rsplit_once('\n').unwrap();
            assert!(whole.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
        }
        report("a reader who stands still", took);
    }
}

#[test]
fn a_reader_who_reads_gets_every_line_of_an_interrupted_run() {
    let long = "a line that says nothing\n".repeat(20_000);
    let reply = Reply::new().says(&long).calls("Bash", json!({"command": DEAF}));
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([reply]));
    let args = ["-p", "Run.", "--permission", "all", "--output", "stream-json"];
    let mut child = bench.start(&server, Wire::Anthropic, &args);
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    // The call stands behind the whole answer.
    loop {
        let begins = said.len();
        assert_ne!(reader.read_line(&mut said).unwrap(), 0, "{}", said.len());
        if said[begins..].contains("\"tool_started\"") {
            break;
        }
    }
    let began = Instant::now();
    while bench.pids().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20), "the command has not begun");
        codelet_testkit::wait_a_moment();
    }
    signal(child.id(), "-INT");
    reader.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts = lines.iter().filter(|line| line["type"] == "text");
    let text: String = texts.filter_map(|line| line["text"].as_str()).collect();
    assert_eq!(text, long);
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["exit"]), (&json!("result"), &json!(130)));
    bench.none_is_left();
}

/// Makes the pipe before anything is started in the bench's folder.
fn bench_with_pipe() -> (Bench, std::path::PathBuf) {
    let bench = Bench::new();
    let pipe = bench.home.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    (bench, pipe)
}

#[test]
fn a_second_interruption_ends_a_process_that_the_first_could_not_end() {
    // With one interruption alone the transcript is waited for until somebody reads it; with two, nobody has to.
    for is_second in [false, true] {
        let (bench, pipe) = bench_with_pipe();
        let server = Server::start(
            Wire::Anthropic,
            Behaviour::replies([Reply::call("Bash", json!({"command": DEAF}))]),
        );
        let path = pipe.to_str().unwrap();
        let args = ["-p", "Run.", "--permission", "all", "--transcript", path];
        let mut child = bench.start(&server, Wire::Anthropic, &args);
        let began = Instant::now();
        while bench.pids().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(20), "the command has not begun");
            codelet_testkit::wait_a_moment();
        }
        signal(child.id(), "-INT");
        // The command is gone, so the run is over and its transcript is due.
        wait_for_end_of(bench.pids()[0]);
        if is_second {
            let clock = MachineClock::start();
            signal(child.id(), "-INT");
            assert_eq!(child.wait().unwrap().code(), Some(130));
            assert!(clock.elapsed() < LATE + SOON, "{:?}", clock.elapsed());
        } else {
            let text = std::fs::read_to_string(&pipe).unwrap();
            assert!(text.contains("Run."), "{text}");
            assert_eq!(child.wait().unwrap().code(), Some(130));
        }
        bench.none_is_left();
    }
}

#[test]
fn two_interruptions_at_once_leave_no_command_behind() {
    for _ in 0..TRIES {
        let mut started = start(Reply::call("Bash", json!({"command": DEAF})), 1, &[]);
        let clock = MachineClock::start();
        signal(started.child.id(), "-INT");
        signal(started.child.id(), "-INT");
        assert_eq!(started.child.wait().unwrap().code(), Some(130));
        assert!(clock.elapsed() < LATE + SOON, "{:?}", clock.elapsed());
        started.bench.none_is_left();
    }
}

#[test]
fn an_answer_whose_check_takes_years_is_interrupted() {
    const DEPTH: usize = 40;
    // Each definition asks twice for the next one.
    let definition = |at: usize| {
        let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
        (at.to_string(), json!({"allOf": [next, next]}))
    };
    let mut definitions: serde_json::Map<String, Value> = (0..DEPTH).map(definition).collect();
    definitions.insert(DEPTH.to_string(), json!({}));
    let schema = json!({"$ref": "#/$defs/0", "$defs": definitions}).to_string();
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("1")]));
    let child = bench.start(&server, Wire::Anthropic, &["-p", "Count.", "--schema", &schema]);
    let began = Instant::now();
    let wait = |is_so: &dyn Fn() -> bool| {
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(20), "nothing is computed");
            codelet_testkit::wait_a_moment();
        }
    };
    wait(&|| server.record().exchanges.len() == 1);
    // The check ends after five seconds, of which a busy machine may give it few.
    let before = hundredths(child.id());
    wait(&|| hundredths(child.id()) > before + 30);
    let (output, took) = interrupt(child);
    assert_eq!(stdout(&output), "");
    assert!(took < LATE, "{took:?}");
}

/// How long a process has computed, in hundredths of a second.
fn hundredths(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let behind_the_name = stat.rsplit_once(") ").unwrap().1;
    behind_the_name.split(' ').nth(11).unwrap().parse().unwrap()
}
