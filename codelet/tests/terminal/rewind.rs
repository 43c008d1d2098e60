//! Going back to an earlier prompt: what it changes is shown before, what is typed ahead decides nothing, and it can be undone.

use crate::common::agent::{Bench, usage};
use crate::common::pty::{Kind, Session, Terminal};
use crate::{SIZE, leave, server};
use codelet_testkit::server::{Reply, Server};
use serde_json::json;

/// What is said once Enter sends what was put into the line.
const SENDS: &str = "Enter sends it";

fn write(file: &str, content: &str) -> Reply {
    Reply::call("Write", json!({"file_path": file, "content": content})).billed(usage(2_000))
}

fn edit(old: &str, new: &str) -> Reply {
    Reply::call(
        "Edit",
        json!({"file_path": "a.txt", "old_string": old, "new_string": new}),
    )
    .billed(usage(2_000))
}

fn says(text: &str) -> Reply {
    Reply::text(text).billed(usage(2_000))
}

/// Two prompts: the first changes a file, the second it and another one.
fn two_prompts() -> Vec<Reply> {
    vec![
        edit("two", "2"),
        says("First done."),
        edit("one", "1"),
        write("new/b.txt", "made\n"),
        says("Second done."),
        says("Third done."),
    ]
}

fn work(session: &mut dyn Session) {
    session.say("Make two a digit.");
    session.wait("First done.");
    session.rest();
    session.say("Make one a digit, too.");
    session.wait("Second done.");
    session.rest();
}

fn texts(server: &Server, at: usize) -> String {
    server.record().exchanges[at].request.json()["messages"].to_string()
}

/// Deletes what is written.
const CTRL_U: &[u8] = b"\x15";

/// Two prompts were carried out on a terminal.
fn worked(replies: Vec<Reply>, args: &[&str]) -> (Bench, Server, Terminal) {
    let (bench, server) = (Bench::new(), server(replies));
    bench.file("a.txt", "one\ntwo\n");
    let mut terminal = Terminal::start(&bench, &server, args, SIZE);
    terminal.see("ready");
    work(&mut terminal);
    (bench, server, terminal)
}

#[test]
fn in_lines_prompts_are_listed_and_what_goes_back_is_written() {
    for kind in [Kind::Typed, Kind::Piped] {
        let (bench, server) = (Bench::new(), server(two_prompts()));
        bench.file("a.txt", "one\ntwo\n");
        let mut session = kind.start(&bench, &server, &[]);
        let session = &mut *session;
        work(session);
        session.say("/rewind");
        session.wait("2  Make one a digit, too.");
        session.wait("a.txt +1 -1, new/b.txt (new) +1 -0");
        session.say("/rewind 2");
        session.wait("Removed from the conversation: 1 prompt, 3 answers and 2 tool calls.");
        session.wait("It will be deleted: it did not exist then.");
        session.wait("write /rewind 2 both, /rewind 2 conversation or /rewind 2 files.");
        assert_eq!(bench.read("new/b.txt"), "made\n");
        session.say("/rewind 2 both");
        session.wait("Taken back: the conversation and 2 files. /undo undoes it.");
        assert_eq!(bench.read("a.txt"), "one\n2\n");
        assert!(!bench.work.join("new").exists());
        session.say("/undo");
        session.wait("Undone: restored the conversation and 2 files. /undo again redoes it.");
        assert_eq!(bench.read("a.txt"), "1\n2\n");
        assert_eq!(bench.read("new/b.txt"), "made\n");
        session.say("/undo");
        session.wait_for("Undone: restored the conversation and 2 files.", 2);
        assert!(!bench.work.join("new").exists());
        session.say("/rewind 2 both");
        session.wait("There is no prompt 2 to go back to");
        session.say("Go on.");
        session.wait("Third done.");
        leave(session, &server);
        let third = texts(&server, 5);
        assert!(
            third.contains("First done.") && !third.contains("Second done."),
            "{third}"
        );
        // Conversation and files are of one moment, so nothing has to be told.
        assert!(!third.contains("taken the conversation back"), "{third}");
    }
}

#[test]
fn undo_and_retry_name_the_rewind_that_takes_files_back() {
    let (bench, server, mut terminal) = worked(two_prompts(), &[]);
    terminal.say("/undo");
    terminal.see("Nothing to undo: no /clear, /retry or /rewind");
    terminal.see("/rewind 2 files takes back a.txt +1 −1, new/b.txt (new) +1 −0.");
    terminal.say("/retry");
    terminal.see("they are: /rewind 2 files takes back a.txt +1 −1, new/b.txt (new) +1 −0.");
    terminal.see("Third done.");
    terminal.say("/rewind 2 files");
    terminal.see("Taken back: 2 files");
    assert_eq!(bench.read("a.txt"), "one\n2\n");
    assert!(!bench.work.join("new").exists());
    leave(&mut terminal, &server);
}

#[test]
fn keys_decide_and_the_prompt_stands_where_it_was_typed() {
    let (bench, server, mut terminal) = worked(two_prompts(), &[]);
    terminal.say("/rewind 2");
    terminal.see("[b] both: conversation and files");
    assert!(terminal.text().contains("new/b.txt"), "{}", terminal.text());
    terminal.send(b"b");
    terminal.see("Taken back: the conversation and 2 files.");
    terminal.see("› Make one a digit, too.");
    terminal.see(SENDS);
    assert_eq!(bench.read("a.txt"), "one\n2\n");
    assert!(!bench.work.join("new").exists());
    terminal.send(b" And say why.\r");
    terminal.wait("Third done.");
    leave(&mut terminal, &server);
    let third = texts(&server, 5);
    assert!(
        third.contains("Make one a digit, too. And say why.") && !third.contains("Second done."),
        "{third}"
    );
}

#[test]
fn what_is_typed_ahead_or_pasted_decides_nothing_and_esc_leaves_all_as_it_is() {
    let (bench, server, mut terminal) = worked(two_prompts(), &[]);
    // These were on their way when the question appeared.
    terminal.send(b"/rewind 2\rbbbb");
    terminal.see("Go back to before prompt 2?");
    terminal.see("delete (Ctrl-U) your text first");
    terminal.send(CTRL_U);
    terminal.see("[b] both");
    assert_eq!(bench.read("a.txt"), "1\n2\n");
    terminal.send(b"\x1b[200~b\x1b[201~");
    terminal.see("› b");
    terminal.see("delete (Ctrl-U) your text first");
    terminal.send(CTRL_U);
    terminal.see("[b] both");
    terminal.send(b"because of this");
    terminal.see("› because of this");
    terminal.send(CTRL_U);
    terminal.see("[b] both");
    terminal.send(b"\x1b");
    terminal.see("Nothing was changed.");
    assert_eq!(bench.read("a.txt"), "1\n2\n");
    terminal.say("Go on.");
    terminal.wait("Third done.");
    leave(&mut terminal, &server);
    assert!(texts(&server, 5).contains("Second done."));
}

#[test]
fn files_alone_go_back_and_the_model_is_told_which() {
    let (bench, server, mut terminal) = worked(two_prompts(), &[]);
    terminal.say("/rewind 1");
    terminal.see("[f] files");
    terminal.send(b"f");
    terminal.see("Taken back: 2 files; the conversation stays, and the model is told.");
    assert_eq!(bench.read("a.txt"), "one\ntwo\n");
    terminal.say("Go on.");
    terminal.wait("Third done.");
    terminal.say("/undo");
    terminal.see("Undone: restored 2 files");
    assert_eq!(bench.read("a.txt"), "1\n2\n");
    leave(&mut terminal, &server);
    let third = texts(&server, 5);
    assert!(third.contains("Second done."));
    let told = "The user has put files back to how they were before the prompt \\\"Make two a digit.\\\":\
                \\n- a.txt\\n- new/b.txt (deleted: there was none)";
    assert!(third.contains(told), "{third}");
}

#[test]
fn the_conversation_alone_goes_back_and_the_model_is_told_that_files_are_newer() {
    let (bench, server, mut terminal) = worked(two_prompts(), &[]);
    terminal.say("/rewind 2");
    terminal.see("[c] conversation");
    terminal.send(b"c");
    terminal.see("Taken back: the conversation; files are not changed.");
    assert_eq!(bench.read("a.txt"), "1\n2\n");
    terminal.see("› Make one a digit, too.");
    terminal.see(SENDS);
    terminal.send(CTRL_U);
    terminal.say("Go on.");
    terminal.wait("Third done.");
    leave(&mut terminal, &server);
    let third = texts(&server, 5);
    assert!(!third.contains("Second done."));
    assert!(
        third.contains("some files are not as it knows them.") && third.contains("- a.txt\\n- new/b.txt (new)"),
        "{third}"
    );
}

#[test]
fn what_a_command_has_changed_is_told_and_overwritten_only_if_the_user_says_so() {
    let replies = || {
        vec![
            edit("two", "2"),
            Reply::call("Bash", json!({"command": "echo theirs > a.txt"})).billed(usage(2_000)),
            says("First done."),
            says("Second done."),
            says("Third done."),
        ]
    };
    for (letter, told, left) in [
        ("k", "Not restored: a.txt (changed since)", "theirs\n"),
        ("o", "Taken back: the conversation and 1 file.", "one\ntwo\n"),
    ] {
        let (bench, server, mut terminal) = worked(replies(), &["--permission", "all"]);
        terminal.say("/rewind 1");
        terminal.see("[b] both");
        let shown = terminal.text();
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            shown.contains("It was changed since, by a command or by someone else"),
            "{shown}"
        );
        assert!(
            shown.contains("Not covered: changes by commands and MCP calls. Since then: `echo theirs > a.txt`."),
            "{shown}"
        );
        terminal.send(b"b");
        terminal.see("Overwrite 1 file changed since?");
        terminal.see("[o] overwrite them");
        terminal.send(letter.as_bytes());
        terminal.see(told);
        assert_eq!(bench.read("a.txt"), left);
        terminal.see(SENDS);
        terminal.send(CTRL_U);
        terminal.say("Go on.");
        terminal.wait("Third done.");
        leave(&mut terminal, &server);
        let asked = texts(&server, 4);
        assert!(asked.contains("That work included commands or MCP calls"), "{asked}");
        assert_eq!(asked.contains("- a.txt"), letter == "k", "{asked}");
    }
}

#[test]
fn what_a_compaction_has_taken_out_stands_in_the_window_again() {
    let long = "A line of the long file, with words in it.\n".repeat(300);
    let replies = vec![
        Reply::call("Read", json!({"file_path": "long.txt"})).billed(usage(2_000)),
        says("First done."),
        says("Second done."),
        says("Third done."),
        says("Fourth done."),
    ];
    let (bench, server) = (Bench::new(), server(replies));
    bench.file("long.txt", &long);
    let mut terminal = Terminal::start(&bench, &server, &[], SIZE);
    terminal.see("ready");
    for (said, answer) in [
        ("Read it.", "First done."),
        ("And then?", "Second done."),
        ("What now?", "Third done."),
    ] {
        terminal.say(said);
        terminal.wait(answer);
        terminal.see("ready");
        if said == "And then?" {
            terminal.say("/compact");
            terminal.wait("Context compacted");
        }
    }
    terminal.say("/rewind 2 both");
    terminal.see("› And then?");
    terminal.see(SENDS);
    terminal.send(b"\r");
    terminal.wait("Fourth done.");
    leave(&mut terminal, &server);
    // What was sent with the prompt then is sent again, byte for byte.
    assert_eq!(texts(&server, 4), texts(&server, 2));
}

#[test]
fn what_commands_may_have_changed_is_not_said_to_be_nothing() {
    let (bench, server) = (
        Bench::new(),
        server([
            Reply::call("Bash", json!({"command": "sed -i s/one/1/ a.txt; echo hi > new.txt"})).billed(usage(2_000)),
            says("Run."),
            says("Only said."),
        ]),
    );
    bench.file("a.txt", "one\n");
    let mut terminal = Terminal::start(&bench, &server, &["--permission", "all"], SIZE);
    terminal.say("Replace it.");
    terminal.wait("Run.");
    terminal.rest();
    terminal.say("Say something.");
    terminal.wait("Only said.");
    terminal.rest();
    terminal.say("/rewind");
    terminal.wait("just now · 1 command or MCP call · no file changed by Edit or Write");
    terminal.wait("just now · no file changed\n");
    leave(&mut terminal, &server);
}

#[test]
fn a_conversation_that_is_gone_on_from_can_be_gone_back_in_and_what_is_known_of_files_is_said() {
    let (bench, first) = (Bench::new(), server(two_prompts()));
    bench.file("a.txt", "one\ntwo\n");
    let mut terminal = Terminal::start(&bench, &first, &["--transcript", "s.json"], SIZE);
    work(&mut terminal);
    leave(&mut terminal, &first);
    bench.file("new/b.txt", "made by hand\n");

    let second = server([write("c.txt", "more\n"), says("More done."), says("Again done.")]);
    let mut terminal = Terminal::start(&bench, &second, &["--from", "s.json"], SIZE);
    terminal.say("/rewind");
    terminal.wait("2  Make one a digit, too.");
    terminal.wait("before this session");
    terminal.say("Write more.");
    terminal.wait("More done.");
    terminal.rest();
    terminal.say("/rewind 2");
    terminal.wait("Removed from the conversation: 2 prompts, 5 answers and 3 tool calls.");
    terminal.wait("Changes made to files before this session stay");
    terminal.see("[b] both: conversation and files");
    terminal.send(b"b");
    terminal.see("› Make one a digit, too.");
    terminal.see(SENDS);
    // What this session has changed is put back, and no more.
    assert!(!bench.work.join("c.txt").exists());
    assert_eq!(
        (bench.read("a.txt").as_str(), bench.read("new/b.txt").as_str()),
        ("1\n2\n", "made by hand\n")
    );
    terminal.send(b"\r");
    terminal.wait("Again done.");
    terminal.rest();
    leave(&mut terminal, &second);
    let sent = texts(&second, 2);
    assert!(
        sent.contains("First done.") && !sent.contains("Second done.") && !sent.contains("More done."),
        "{sent}"
    );
    assert_eq!(
        sent.matches("This session goes on from a conversation that was recorded before")
            .count(),
        1,
        "{sent}"
    );
}
