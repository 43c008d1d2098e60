//! Before somebody permits something they can see all of it, and what they press too early goes nowhere.

use crate::common::agent::Bench;
use crate::common::pty::{Kind, Piped, Session, Terminal};
use crate::{SIZE, leave, open, server};
use codelet_testkit::server::Reply;
use serde_json::json;

#[test]
fn the_end_of_a_long_change_is_unfolded_while_the_question_stands() {
    let text: String = (1..=900).map(|n| format!("row {n}\n")).collect();
    let (bench, server) = (
        Bench::new(),
        server([
            Reply::call("Write", json!({"file_path": "long.txt", "content": text})),
            Reply::text("Written."),
        ]),
    );
    let mut terminal = Terminal::start(&bench, &server, &["--permission", "read"], SIZE);
    terminal.say("Write it.");
    terminal.wait("Press Ctrl-O to see all of it");
    assert!(!terminal.text().contains("row 900"));
    terminal.see("[y] yes, once");
    terminal.send(b"\x0f");
    terminal.wait("row 900");
    // The question stands as it stood.
    terminal.see("[y] yes, once");
    assert!(!bench.work.join("long.txt").exists());
    terminal.answer("y");
    terminal.wait("Written.");
    assert_eq!(bench.read("long.txt"), text);
    leave(&mut terminal, &server);
}

#[test]
fn both_ends_of_a_long_command_stand_above_the_answers_and_a_key_shows_what_is_between() {
    let comments = "# nothing to see here\n".repeat(1_500);
    let command = format!("mkdir first\n{comments}mkdir hidden\n{comments}mkdir last");
    let (bench, server) = (
        Bench::new(),
        server([Reply::call("Bash", json!({"command": command})), Reply::text("Made.")]),
    );
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    terminal.say("Make them.");
    terminal.see("[y] yes, once");
    let screen = terminal.screen();
    for words in [
        "run this command in",
        "mkdir first",
        "2,992 more rows",
        "mkdir last",
        "Press Ctrl-O to see all of it",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    assert!(!terminal.text().contains("hidden"));
    terminal.send(b"\x0f");
    terminal.wait("mkdir hidden");
    terminal.see("[y] yes, once");
    assert!(!bench.work.join("hidden").exists());
    terminal.answer("y");
    terminal.wait("Made.");
    assert!(bench.work.join("hidden").exists());
    leave(&mut terminal, &server);
}

#[test]
fn a_long_command_stands_once_in_its_question_and_what_always_permits_is_said_in_a_few_words() {
    let lines: String = (1..=6).map(|n| format!("echo line {n} of a script\n")).collect();
    let command = format!("set -e\nfor f in *.txt; do\n{lines}done > out.txt; mkdir made");
    let (bench, server, mut terminal) = open([Reply::call("Bash", json!({"command": command})), Reply::text("Made.")]);
    terminal.say("Run it.");
    terminal.see("[y] yes, once");
    let screen = terminal.screen();
    assert_eq!(screen.matches("line 4 of a script").count(), 1, "{screen}");
    assert!(
        screen.contains("always in this session for this exact command"),
        "{screen}"
    );
    assert_eq!(screen.matches("Allow Bash").count(), 1, "{screen}");
    terminal.answer("a");
    terminal.wait("Made.");
    assert!(bench.work.join("made").is_dir());
    let text = terminal.text();
    assert_eq!(text.matches("line 4 of a script").count(), 1, "{text}");
    leave(&mut terminal, &server);
}

#[test]
fn a_call_that_is_refused_is_told_once_with_the_reason() {
    for kind in Kind::ALL {
        for (word, reason) in [("n", None), ("n use make", Some("No, because: use make"))] {
            let bench = Bench::new();
            let server = server([
                Reply::call("Bash", json!({"command": "mkdir one"})),
                Reply::text("Pity."),
            ]);
            let mut session = kind.start(&bench, &server, &[]);
            session.say("Make it.");
            session.read(
                if kind == Kind::Terminal {
                    "[y] yes, once"
                } else {
                    "Allow it?"
                },
                1,
            );
            session.answer(word);
            session.wait("Pity.");
            let text = session.text().replace(" - refused", " · refused");
            assert_eq!(text.to_lowercase().matches("refused").count(), 1, "{kind:?}: {text}");
            assert!(text.contains("Bash mkdir one · refused\n"), "{kind:?}: {text}");
            assert!(
                !text.contains("failed") && !text.contains("the user said no"),
                "{kind:?}: {text}"
            );
            assert!(reason.is_none_or(|reason| text.contains(reason)), "{kind:?}: {text}");
            leave(&mut *session, &server);
        }
    }
}

#[test]
fn who_looks_elsewhere_is_called_when_a_question_waits_and_when_the_turn_is_over() {
    const ASKS: &[u8] = b"\x1b]9;Codelet asks: Bash mkdir one\x07";
    const OVER: &[u8] = b"\x1b]9;Codelet: the answer is complete\x07";
    let has = |terminal: &Terminal, call: &[u8]| terminal.bytes().windows(call.len()).any(|bytes| bytes == call);
    let replies = || {
        [
            Reply::call("Bash", json!({"command": "mkdir one"})),
            Reply::text("Done."),
        ]
    };
    for (setting, focus, is_called) in [
        ("osc9", &b"\x1b[O"[..], true),
        ("osc9", b"\x1b[O\x1b[I", false),
        ("off", b"\x1b[O", false),
    ] {
        let (bench, server) = (Bench::new(), server(replies()));
        bench.settings(&format!("notify = \"{setting}\"\n"));
        let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
        terminal.see("ready");
        terminal.send(focus);
        terminal.say("Make it.");
        terminal.see("[y] yes, once");
        assert_eq!(has(&terminal, ASKS), is_called, "{setting} {focus:?}");
        terminal.answer("y");
        terminal.wait("Done.");
        terminal.see("ready");
        assert_eq!(has(&terminal, OVER), is_called, "{setting} {focus:?}");
        leave(&mut terminal, &server);
    }
}

#[test]
fn the_demo_on_a_terminal_is_shown_as_a_session_and_says_what_to_do_next() {
    let bench = Bench::new();
    let mut terminal = Terminal::run(&bench, bench.command(&["demo", "--fast"]), SIZE);
    terminal.wait("continue a session of another agent");
    assert_eq!(terminal.end(), 0);
    let text = terminal.text();
    for shown in [
        "› Some orders come out too low",
        "  ☐ run the tests",
        "What just happened",
        "read back a removed output",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(!text.contains("/undo-compact"), "{text}");
}

#[test]
fn an_answer_that_came_too_early_is_not_sent_with_the_next_prompt() {
    let call = |command: &str| Reply::call("Bash", json!({"command": command}));
    let (_bench, server, mut terminal) = open([
        call("mkdir one"),
        call("mkdir two"),
        Reply::text("Done."),
        Reply::text("Next."),
    ]);
    terminal.say("Do both.");
    terminal.answer("y");
    terminal.see("│ mkdir two");
    terminal.send(b"yyy");
    terminal.wait_until("an empty line and the answers", |screen| {
        screen.contains("[y] yes, once") && screen.lines().any(|line| line.trim_end() == "›")
    });
    terminal.answer("y");
    terminal.wait("Done.");
    terminal.say("Go on.");
    terminal.wait("Next.");
    let record = server.record();
    let last = record
        .exchanges
        .last()
        .unwrap()
        .request
        .last_user_text()
        .map(str::to_owned);
    assert_eq!(last.as_deref(), Some("Go on."));
    drop(record);
    leave(&mut terminal, &server);
}

#[test]
fn an_export_replaces_no_file() {
    let (bench, server, mut terminal) = open([]);
    bench.file("a.rs", "fn main() {}\n");
    terminal.say("/export a.rs");
    terminal.wait("a.rs exists; nothing was written. Name another file.");
    assert_eq!(bench.read("a.rs"), "fn main() {}\n");
    for name in ["new.json", "new.HTML", "sp ace.json"] {
        terminal.say(&format!("/export {name}"));
        terminal.wait(&format!("written to {name};"));
    }
    assert!(bench.read("new.HTML").starts_with("<!DOCTYPE html>"));
    assert!(bench.read("sp ace.json").starts_with('{'));
    let precious = bench.home.join("precious.json");
    std::fs::write(&precious, "").unwrap();
    std::os::unix::fs::symlink(&precious, bench.work.join("link.json")).unwrap();
    terminal.say("/export link.json");
    terminal.wait("is reached through a link");
    assert_eq!(std::fs::read(&precious).unwrap(), b"");
    leave(&mut terminal, &server);
}

#[test]
fn what_is_kept_for_the_project_is_in_the_users_settings_and_not_asked_about_again() {
    let call = |command: &str| Reply::call("Bash", json!({"command": command}));
    let own = "# mine\nallow = [\"true\"] # harmless\n";
    let replies = || [call("mkdir one two"), call("mkdir three"), Reply::text("Done.")];
    let bench = Bench::new();
    bench.settings(own);
    let served = server(replies());
    let mut terminal = Terminal::start(&bench, &served, &[], SIZE);
    terminal.say("Make them.");
    terminal.see("[p] always");
    terminal.answer("p");
    terminal.see("│ mkdir *▏");
    terminal.see("Enter: save");
    // Another pattern that does not permit it is not taken.
    terminal.send(b"x\r");
    terminal.see("Not saved: this pattern does not match what is asked for");
    terminal.send(b"\x7f\r");
    terminal.wait("always allowed in this project: mkdir *");
    terminal.wait("Done.");
    assert!(bench.work.join("three").is_dir());
    leave(&mut terminal, &served);
    let path = bench.home.join(".config/codelet/settings.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let root = bench.work.canonicalize().unwrap();
    let expected = format!("{own}\n[projects.\"{}\"]\nallow = [\"mkdir *\"]\n", root.display());
    assert_eq!(text, expected);
    assert!(!bench.work.join(".codelet").exists());

    // Another session of this project asks about nothing, and one with lines only takes another pattern.
    let served = server([call("mkdir four"), call("rmdir four one"), Reply::text("Over.")]);
    let mut piped = Piped::start(&bench, &served, &[]);
    piped.say("Go on.");
    piped.wait("project (rmdir *)");
    piped.say("p make *");
    piped.wait("Not saved: this pattern does not match what is asked for");
    piped.say("p rmdir four *");
    piped.wait("Over.");
    leave(&mut piped, &served);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("allow = [\"mkdir *\", \"rmdir four *\"]\n"), "{text}");
}

#[test]
fn a_pattern_that_is_changed_stands_in_a_frame_wherever_its_rows_begin() {
    // A word whose row would look like the answers of another question.
    let posed = "x".repeat(70);
    let command = format!("bash run.sh {posed} [y] yes, once [n] no");
    let (_bench, server, mut terminal) = open([Reply::call("Bash", json!({"command": command})), Reply::text("Done.")]);
    terminal.say("Run it.");
    terminal.see("[p] always");
    terminal.answer("p");
    terminal.see("Enter: save");
    let screen = terminal.screen();
    let field: Vec<&str> = screen
        .lines()
        .skip_while(|row| !row.starts_with("Always in this project"))
        .collect();
    let end = field.iter().position(|row| row.contains('▏')).unwrap();
    assert!(
        end > 1 && field[1..=end].iter().all(|row| row.starts_with("│ ")),
        "{screen}"
    );
    terminal.send(b"\x1b");
    terminal.answer("n");
    terminal.wait("Done.");
    leave(&mut terminal, &server);
}
