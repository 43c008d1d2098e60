//! What `codelet -p` inherits from whoever starts it: an input that says nothing, outputs that take nothing, signals that
//! are ignored, and a folder that is not there.

use crate::common::agent::Bench;
use crate::common::pty::signal;
use crate::common::{ended, stderr, stdout};
use codelet_testkit::server::{Behaviour, Reply, Server, Stop, Wire};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const WIRE: Wire = Wire::Anthropic;

fn bash(command: &str) -> Reply {
    Reply::call("Bash", json!({"command": command}))
}

/// The same command, started by a shell that does this first.
fn behind(first: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{first}; exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args()).env_clear();
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell.current_dir(command.get_current_dir().unwrap());
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell.process_group(0);
    shell
}

#[test]
fn a_prompt_does_not_wait_for_an_input_that_nobody_closes() {
    let bench = Bench::new();
    for form in ["text", "json"] {
        let server = Server::start(WIRE, Behaviour::replies([Reply::text("Hello.")]));
        let mut command = bench.asking(&server, WIRE, &["-p", "Hello?", "--output", form]);
        let (inherited, held) = UnixStream::pair().unwrap();
        command
            .stdin(OwnedFd::from(inherited))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let began = Instant::now();
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        drop(held);
        ended(&output, 0);
        assert!(began.elapsed() >= Duration::from_secs(3));
        let (out, told) = (stdout(&output), stderr(&output));
        assert_eq!(told.matches("continuing without it").count(), 1, "{told}");
        match form {
            "text" => assert_eq!(out, "Hello.\n"),
            _ => assert!(out.contains("continuing without it"), "{out}"),
        }
    }
}

#[test]
fn what_a_pipeline_says_late_belongs_to_the_prompt() {
    let bench = Bench::new();
    let server = Server::start(WIRE, Behaviour::replies([Reply::text("The last.")]));
    let mut command = bench.asking(&server, WIRE, &["-p", "Which test fails?"]);
    let (reader, mut writer) = std::io::pipe().unwrap();
    // As a program leaves it behind that shares it.
    rustix::io::ioctl_fionbio(&reader, true).unwrap();
    command.stdin(reader).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    drop(command);
    for said in ["one failed\n", "two failed\n"] {
        // Longer than what is only inherited is waited for.
        std::thread::sleep(Duration::from_millis(3_300));
        writer.write_all(said.as_bytes()).unwrap();
    }
    drop(writer);
    let output = child.wait_with_output().unwrap();
    ended(&output, 0);
    assert_eq!(
        stderr(&output).matches("waiting: for").count(),
        1,
        "{}",
        stderr(&output)
    );
    let record = server.record();
    let texts = record.exchanges[0].request.user_texts();
    let expected = "Which test fails?\n\none failed\ntwo failed\n";
    assert!(texts.contains(&expected), "{texts:?}");
}

#[test]
fn an_input_that_has_begun_or_is_all_there_is_is_waited_for() {
    for (args, first, second, waited_for, expected) in [
        (
            &["-p", "What is this?"][..],
            "one\n",
            "two\n",
            "the end of standard input",
            "What is this?\n\none\ntwo\n",
        ),
        (&["-p"], "", "one\n", "a prompt on standard input", "one\n"),
        (
            &["-p", "What is this?"],
            "",
            "one\n",
            "standard input, at most 60 s (add < /dev/null",
            "What is this?\n\none\n",
        ),
    ] {
        let bench = Bench::new();
        let server = Server::start(WIRE, Behaviour::replies([Reply::text("A list.")]));
        let mut command = bench.asking(&server, WIRE, args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(first.as_bytes()).unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        assert!(line.contains("waiting: for") && line.contains(waited_for), "{line}");
        input.write_all(second.as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        ended(&output, 0);
        let record = server.record();
        let texts = record.exchanges[0].request.user_texts();
        assert!(texts.contains(&expected), "{texts:?}");
    }
}

/// Runs ten steps into an output, and says what came of it and how many requests were made.
fn steps_into(output: impl Into<Stdio>, form: &str) -> (Output, usize) {
    let bench = Bench::new();
    let steps = (0..10).map(|step| bash(&format!("sleep 0.1; echo {step}")));
    let server = Server::start(WIRE, Behaviour::replies(steps.chain([Reply::text("Done.")])));
    let args = ["-p", "Go.", "--permission", "all", "--output", form];
    let mut command = bench.asking(&server, WIRE, &args);
    let child = command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let made = server.record().exchanges.len();
    (output, made)
}

/// A pipe of which the other end is closed.
fn unread() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

#[test]
fn a_run_that_nobody_follows_any_more_is_interrupted_quietly() {
    let (output, made) = steps_into(unread(), "stream-json");
    ended(&output, 0);
    assert!(made < 3, "{made} requests");
    assert_eq!(stderr(&output), "");
    if let Ok(full) = OpenOptions::new().write(true).open("/dev/full") {
        let (output, made) = steps_into(full, "stream-json");
        ended(&output, 2);
        assert!(made < 3, "{made} requests");
        assert!(stderr(&output).contains("no space left"), "{}", stderr(&output));
    }
}

#[test]
fn a_reader_that_has_seen_enough_of_an_answer_is_no_error_and_a_full_disk_is_one() {
    for form in ["text", "json"] {
        let (output, made) = steps_into(unread(), form);
        ended(&output, 0);
        assert_eq!(made, 11);
        assert!(!stderr(&output).contains("error"), "{}", stderr(&output));
        if let Ok(full) = OpenOptions::new().write(true).open("/dev/full") {
            let (output, _) = steps_into(full, form);
            ended(&output, 2);
            assert!(stderr(&output).contains("no space left"), "{}", stderr(&output));
        }
    }
}

#[test]
fn a_run_that_fails_keeps_its_status_though_nobody_reads() {
    let bench = Bench::new();
    for form in ["text", "json"] {
        let server = Server::start(WIRE, Behaviour::replies([Reply::text("No.").stopping(Stop::Refusal)]));
        let mut command = bench.asking(&server, WIRE, &["-p", "Go.", "--output", form]);
        let output = command.stdin(Stdio::null()).stdout(unread()).output().unwrap();
        ended(&output, 1);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_that_is_ignored_when_the_process_starts_stays_ignored() {
    for (trap, kind, status) in [
        ("trap '' HUP", "-HUP", 0),
        ("trap '' INT", "-INT", 0),
        ("trap '' QUIT", "-QUIT", 0),
        ("trap '' INT", "-TERM", 143),
        ("true", "-HUP", 129),
        ("true", "-QUIT", 131),
    ] {
        let bench = Bench::new();
        let replies = [bash("touch begun; sleep 1; echo done"), Reply::text("Done.")];
        let server = Server::start(WIRE, Behaviour::replies(replies));
        let args = ["-p", "Go.", "--permission", "all"];
        let child = behind(trap, &bench.asking(&server, WIRE, &args)).spawn().unwrap();
        server.wait_until(|record| !record.exchanges.is_empty());
        while !bench.work.join("begun").exists() {
            codelet_testkit::wait_a_moment();
        }
        signal(child.id(), kind);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{trap} {kind}: {}", stderr(&output));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_session_in_lines_survives_the_hangup_that_nohup_keeps_from_it() {
    let bench = Bench::new();
    let replies = [bash("touch begun; sleep 1; echo done"), Reply::text("All is done.")];
    let server = Server::start(WIRE, Behaviour::replies(replies));
    let mut command = behind(
        "trap '' HUP",
        &bench.asking(&server, WIRE, &["--plain", "--permission", "all"]),
    );
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut said = child.stdin.take().unwrap();
    writeln!(said, "Go.").unwrap();
    drop(said);
    while !bench.work.join("begun").exists() {
        codelet_testkit::wait_a_moment();
    }
    signal(child.id(), "-HUP");
    let output = child.wait_with_output().unwrap();
    ended(&output, 0);
    assert!(stdout(&output).contains("All is done."), "{}", stdout(&output));
}

#[test]
#[cfg(target_os = "linux")]
fn commands_end_as_they_do_where_children_are_ignored() {
    let bench = Bench::new();
    let replies = [bash("echo fine"), bash("exit 3"), Reply::text("Done.")];
    let server = Server::start(WIRE, Behaviour::replies(replies));
    let args = ["-p", "Go.", "--permission", "all", "--output", "json"];
    let asking = bench.asking(&server, WIRE, &args);
    // A shell does not pass it on that it ignores them.
    let script =
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])";
    let mut command = Command::new("python3");
    command
        .args(["-c", script])
        .arg(asking.get_program())
        .args(asking.get_args())
        .env_clear();
    for (name, value) in asking.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let Ok(output) = command.current_dir(&bench.work).output() else {
        // Without Python nothing here can start it so.
        return;
    };
    ended(&output, 0);
    let record = server.record();
    let results = record.exchanges[2].request.results();
    let texts: Vec<&str> = results.iter().map(|(_, text)| *text).collect();
    // On a busy machine it is told how long they took.
    let [fine, failed] = texts[..] else { panic!("{texts:?}") };
    assert!(fine.starts_with("fine\n") && failed.starts_with("[exit 3"), "{texts:?}");
}

#[test]
fn a_folder_for_temporary_files_that_is_none_is_told_and_another_is_used() {
    for named in ["/nonexistent/tmp", "tmp", "/etc/passwd", "/"] {
        let bench = Bench::new();
        let replies = [bash("mktemp -d >/dev/null && echo fine"), Reply::text("Done.")];
        let server = Server::start(WIRE, Behaviour::replies(replies));
        let mut command = bench.asking(&server, WIRE, &["-p", "Go.", "--permission", "all"]);
        let output = command.env("TMPDIR", named).output().unwrap();
        ended(&output, 0);
        assert!(
            stderr(&output).contains(&format!("ignored TMPDIR={named}")),
            "{}",
            stderr(&output)
        );
        let record = server.record();
        let told = record.exchanges[1].request.results()[0].1;
        assert!(told.starts_with("fine\n"), "{told}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_inherited_besides_input_and_outputs_is_handed_on_to_nobody() {
    let bench = Bench::new();
    bench.file("log", "");
    bench.file("secret", "a secret\n");
    let tries = "echo evil >&7; cat <&8; true";
    for permission in ["edit", "all"] {
        let server = Server::start(WIRE, Behaviour::replies([bash(tries), Reply::text("Done.")]));
        let args = ["--plain", "--permission", permission, "--allow", "*"];
        let mut command = behind("exec 7>>log 8<secret", &bench.asking(&server, WIRE, &args));
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut said = child.stdin.take().unwrap();
        write!(said, "Go.\n!{tries}\n").unwrap();
        drop(said);
        let output = child.wait_with_output().unwrap();
        ended(&output, 0);
        let told = server.record().exchanges[1].request.results()[0].1.to_owned();
        for told in [told, stdout(&output).to_owned()] {
            assert!(
                told.contains("Bad file descriptor") && !told.contains("a secret"),
                "{told}"
            );
        }
        assert_eq!(bench.read("log"), "", "{permission}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_whole_session_makes_and_opens_nothing_where_its_commands_write() {
    use rustix::fs::inotify;
    let bench = Bench::new();
    std::fs::create_dir(bench.work.join("sub")).unwrap();
    let made = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&bench.work)
        .status();
    assert!(made.unwrap().success());
    let long = format!("echo ran; : '{}'", "x".repeat(150_000));
    let replies = [
        bash("cd sub"),
        Reply::text("One."),
        bash(&long),
        bash("pwd -P"),
        Reply::text("Two."),
    ];
    let server = Server::start(WIRE, Behaviour::replies(replies));
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, bench.tmp(), inotify::WatchFlags::ALL_EVENTS).unwrap();
    let mut child = crate::common::piped(&mut bench.asking(&server, WIRE, &["--plain", "--allow", "*"]));
    let mut said = child.stdin.take().unwrap();
    said.write_all(b"Go.\n!pwd -P\n!cd /; pwd -P\nOn.\n/permission all\n!pwd -P\nexit\n")
        .unwrap();
    drop(said);
    let output = child.wait_with_output().unwrap();
    ended(&output, 0);
    let (out, work) = (stdout(&output), bench.work.display().to_string());
    // The folder of the user's own commands is moved by them alone.
    let stood: Vec<&str> = out
        .lines()
        .map(str::trim)
        .filter(|line| *line == work || *line == "/")
        .collect();
    assert_eq!(stood, [&work, "/", "/"], "{out}");
    let record = server.record();
    let told = |exchange: usize| {
        record.exchanges[exchange]
            .request
            .results()
            .last()
            .unwrap()
            .1
            .to_owned()
    };
    assert!(told(3).starts_with("ran\n"), "{}", told(3));
    assert_eq!(told(4), format!("{work}/sub\n"));
    assert!(record.exchanges[0].request.holds("No commits yet"));
    // What is made there now is the first thing that happens there.
    std::fs::write(bench.tmp().join("first"), "").unwrap();
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut buffer);
    assert_eq!(events.next().unwrap().file_name().unwrap().to_bytes(), b"first");
    // Nor is anything of it left where it was.
    let private = bench.home.join(".cache/codelet");
    assert_eq!(std::fs::read_dir(private).unwrap().count(), 0);
}
