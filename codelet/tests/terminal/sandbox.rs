//! A command that the sandbox stops is offered to the user with what it lacked, and nothing is given without a key.
#![cfg(target_os = "linux")]

use crate::common::agent::Bench;
use crate::common::pty::{Kind, Piped, Session as _, Terminal};
use crate::common::{ended, piped, stderr, stdout};
use crate::{SIZE, leave, server};
use codelet_testkit::server::{Reply, Server, Wire};
use codelet_tools::sandbox::{Sandbox, Sandboxing};
use serde_json::json;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::Command;

/// Whether there is a sandbox here; a machine without one says so, and there is nothing to test.
fn is_there() -> bool {
    match Sandbox::probe() {
        Sandboxing::None(why) => {
            eprintln!("skipped: {why}");
            false
        }
        _ => true,
    }
}

fn bash(command: &str) -> Reply {
    Reply::call("Bash", json!({"command": command}))
}

/// The outputs that the model was sent with its last request.
fn results(server: &Server) -> Vec<String> {
    let record = server.record();
    let last = record.exchanges.last().unwrap();
    last.request
        .results()
        .iter()
        .map(|(_, text)| (*text).to_owned())
        .collect()
}

/// A script that needs the network and then makes the file that it is told; somebody listens as long as this lives.
fn script(bench: &Bench) -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    bench.file(
        "net.sh",
        &format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo made > \"$1\"\n"),
    );
    listener
}

#[test]
fn a_command_that_has_no_network_is_run_again_with_it_if_the_user_says_so() {
    if !is_there() {
        return;
    }
    for (answer, is_made) in [("y", true), ("n", false)] {
        let bench = Bench::new();
        bench.settings("allow = [\"bash net.sh *\"]\n");
        let _listens = script(&bench);
        let server = server([bash("bash net.sh made"), Reply::text("Over.")]);
        let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
        terminal.say("Make it.");
        terminal.wait("The sandbox may have stopped this command. Run it again with network access?");
        terminal.see("[y] yes, once");
        let file = bench.work.join("made");
        assert!(!file.exists());
        terminal.answer(answer);
        terminal.wait("Over.");
        assert_eq!(file.exists(), is_made, "{answer}");
        let told = &results(&server)[0];
        let expected = match is_made {
            true => "[the first try failed in the sandbox; the user permitted this second one, with network access]",
            false => "]\n[not run again with network access",
        };
        assert!(told.contains(expected), "{told}");
        assert_eq!(told.contains("/dev/tcp/"), !is_made, "{told}");
        assert_eq!(told.contains(": the user said no]"), !is_made, "{told}");
        leave(&mut terminal, &server);
    }
}

#[test]
fn again_is_from_where_it_was_begun_and_the_shell_stays_where_it_ended() {
    if !is_there() {
        return;
    }
    let bench = Bench::new();
    bench.settings("allow = [\"touch *\", \"mkdir *\"]\n");
    let server = server([
        // A command decides what it prints.
        bash("mkdir -p sub && cd sub && touch made '/nowhere/x: Could not resolve host'"),
        bash("pwd"),
        Reply::text("Over."),
    ]);
    let mut piped = Piped::start(&bench, &server, &[]);
    piped.say("Make it.");
    piped.wait("Run it again with network access?");
    piped.say("y");
    piped.wait("Over.");
    assert!(bench.work.join("sub/made").exists() && !bench.work.join("sub/sub").exists());
    let told = results(&server);
    assert!(told[0].contains("[now in sub;"), "{told:?}");
    assert!(told[1].trim_end().ends_with("/sub"), "{told:?}");
    leave(&mut piped, &server);
}

#[test]
fn what_is_permitted_for_the_session_holds_for_such_commands_from_the_start() {
    if !is_there() {
        return;
    }
    let bench = Bench::new();
    bench.settings("allow = [\"touch *\", \"mkdir *\"]\n");
    let server = server([
        bash("touch '/nowhere/one: Could not resolve host'"),
        bash("touch '/nowhere/two: Could not resolve host'"),
        bash("mkdir '/nowhere/three: Could not resolve host'"),
        Reply::text("Over."),
    ]);
    let mut piped = Piped::start(&bench, &server, &[]);
    piped.say("Make them.");
    piped.wait("Run it again with network access?");
    piped.say("a");
    piped.wait("allowed in this session: touch * with network access");
    // Another command is another question.
    piped.wait_for("Run it again with network access?", 2);
    piped.say("n");
    piped.wait("Over.");
    let told = results(&server);
    assert!(
        told[0].contains("first try") && !told[1].contains("first try"),
        "{told:?}"
    );
    leave(&mut piped, &server);
}

#[test]
fn a_question_names_the_folder_in_which_the_command_will_run() {
    if !is_there() {
        return;
    }
    let bench = Bench::new();
    let server = server([bash("mkdir sub && cd sub"), bash("touch x"), Reply::text("Over.")]);
    let mut session = Kind::Piped.start(&bench, &server, &[]);
    session.say("Make it.");
    for folder in ["", "/sub"] {
        session.wait(&format!("to run this command in {}{folder}?", bench.work.display()));
        session.answer("y");
    }
    session.wait("Over.");
    assert!(bench.work.join("sub/x").exists());
    leave(&mut *session, &server);
}

#[test]
fn the_network_is_given_for_one_command_and_not_offered_where_the_settings_refuse_it() {
    if !is_there() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let command = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    for (setting, is_offered) in [("", true), ("network = \"off\"\n", false)] {
        for kind in Kind::ALL {
            let bench = Bench::new();
            bench.settings(setting);
            let server = server([bash(&command), bash(&command), Reply::text("Over.")]);
            let mut session = kind.start(&bench, &server, &[]);
            session.say("Connect.");
            session.wait("to run this command in");
            session.answer("y");
            if is_offered {
                session.wait("Run it again with network access?");
                session.answer("y");
            }
            // In lines, what is waited for comes behind the last answer.
            let second = if kind == Kind::Terminal { 2 } else { 1 };
            session.wait_for("to run this command in", second);
            session.answer("y");
            // Once is once.
            if is_offered {
                session.wait_for("Run it again with network access?", second);
                session.answer("n");
            }
            session.wait("Over.");
            let told = results(&server);
            assert_eq!(told[0].starts_with("connected\n"), is_offered, "{told:?}");
            assert!(!told[1].contains("connected\n"), "{told:?}");
            assert_eq!(session.text().contains("network access"), is_offered);
            leave(&mut *session, &server);
        }
    }
}

#[test]
fn a_command_that_poses_as_stopped_is_asked_about_three_times_a_turn_at_most() {
    if !is_there() {
        return;
    }
    let bench = Bench::new();
    bench.settings("allow = [\"bash pose.sh *\"]\n");
    bench.file(
        "pose.sh",
        "echo \"$1\" >> tries; echo 'curl: (6) Could not resolve host: example.com' >&2; exit 6\n",
    );
    let call = |number: u32| bash(&format!("bash pose.sh {number}"));
    let replies = [
        call(1),
        call(2),
        call(3),
        call(4),
        call(5),
        Reply::text("Over."),
        call(6),
        Reply::text("Again."),
    ];
    let server = server(replies);
    let mut piped = Piped::start(&bench, &server, &[]);
    piped.say("Go.");
    for times in 1..=3 {
        piped.wait_for("Run it again with network access?", times);
        piped.say("n");
    }
    piped.wait("Over.");
    piped.say("Go on.");
    piped.wait_for("Run it again with network access?", 4);
    piped.say("n not needed");
    piped.wait("Again.");
    assert_eq!(bench.read("tries"), "1\n2\n3\n4\n5\n6\n");
    let told = results(&server);
    assert!(
        told[5].contains("[not run again with network access: the user said no, and: not needed]"),
        "{told:?}"
    );
    assert!(!told[4].contains("not run again"), "{told:?}");
    leave(&mut piped, &server);
}

/// With the home below the folder for temporary files, which is open to commands, and nothing in the home's cache yet.
#[test]
fn commands_never_reach_codelets_own_folders_in_a_home_below_the_temporary_folder() {
    let bench = Bench::new();
    if !is_there() || !bench.home.starts_with("/tmp") {
        return;
    }
    let made = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&bench.work)
        .status();
    assert!(made.unwrap().success());
    let plant = "cd ~/.cache; for way in codelet codelet-commands . ..; do \
        touch $way/planted && echo planted in $way; done; mv codelet moved && echo moved; \
        ls -d codelet";
    for session in ["first", "second"] {
        let server = server([bash(plant), bash(plant), Reply::text("Over.")]);
        let mut command = bench.asking(&server, Wire::Anthropic, &["--plain", "--allow", "*"]);
        let mut child = piped(command.env_remove("TMPDIR"));
        let mut said = child.stdin.take().unwrap();
        said.write_all(b"/diff\nGo.\n/diff\nexit\n").unwrap();
        drop(said);
        let output = child.wait_with_output().unwrap();
        ended(&output, 0);
        let told = results(&server);
        for result in &told {
            assert!(result.contains("\ncodelet\n"), "{session}: {result}");
            assert!(
                !result.contains("planted in codelet") && !result.contains("moved\n"),
                "{session}: {result}"
            );
        }
        let text = stdout(&output);
        assert_eq!(text.matches("Nothing has changed").count(), 2, "{session}: {text}");
    }
}

#[test]
fn where_nobody_can_be_asked_the_user_is_told_and_nothing_is_run_again() {
    if !is_there() {
        return;
    }
    let bench = Bench::new();
    let _listens = script(&bench);
    let server = server([bash("bash net.sh made"), Reply::text("Over.")]);
    let output = bench.ask(
        &server,
        Wire::Anthropic,
        &["-p", "Make it.", "--allow", "bash net.sh *"],
    );
    ended(&output, 0);
    let told = stderr(&output);
    assert!(
        told.contains("note: the sandbox may have stopped `bash net.sh made`: commands have no network"),
        "{told}"
    );
    assert!(!bench.work.join("made").exists());
    assert!(!results(&server)[0].contains("run again"));
}
