//! Windows that are hardly one: a corner of a screen, a phone turned on its side.

use crate::common::agent::Bench;
use crate::common::pty::{Session, Terminal};
use crate::{leave, server, usage};
use codelet_testkit::server::Reply;
use serde_json::json;

#[test]
fn in_a_window_of_a_few_rows_everything_can_be_seen_and_answered() {
    for size in [(20, 5), (24, 6), (40, 5), (40, 8)] {
        let bench = Bench::new();
        let old: String = (0..80)
            .map(|line| format!("line {line} of a file that is long\n"))
            .collect();
        bench.file("src/a_folder/of_files/long_name.rs", &old);
        let path = "src/a_folder/of_files/long_name.rs";
        let new = old.replace("file", "text");
        let server = server([
            Reply::call(
                "Bash",
                json!({"command": "touch one_file_with_a_long_name and another one"}),
            ),
            Reply::call("Read", json!({"file_path": path})),
            Reply::call("Write", json!({"file_path": path, "content": new})),
            Reply::text("It is done.").billed(usage(2_000)),
        ]);
        let mut terminal = Terminal::start(&bench, &server, &["--permission", "read"], size);
        terminal.say("Change it.");
        for _ in 0..2 {
            terminal.wait_until("the question", |screen| {
                ["Allow", "[y]", "[n]", "[r]"]
                    .iter()
                    .all(|words| screen.contains(words))
            });
            terminal.send(b"y");
            terminal.wait_until("that it was answered", |screen| !screen.contains("[n]"));
        }
        terminal.wait("It is done.");
        // What it would change was shown, all of it above what is asked.
        assert!(terminal.text().contains("79"), "{}", terminal.text());
        assert_eq!(bench.read(path), new);
        for said in ["/context", "/help", "/cost", "/why nothing"] {
            terminal.say(said);
            terminal.see("ready");
        }
        terminal.send(b"look @long");
        terminal.wait_until("a suggestion", |screen| {
            screen
                .lines()
                .any(|line| line.starts_with("> @") || line.starts_with("> src"))
        });
        terminal.send(b"\t");
        // In so narrow a window a name goes on in the next row.
        let joined = |screen: &str| screen.split_whitespace().collect::<String>();
        terminal.wait_until("the name", |screen| {
            joined(screen).contains(".rs") && !screen.contains("> ")
        });
        terminal.send(b"\x15");
        leave(&mut terminal, &server);
        assert!(terminal.is_as_found());
    }
}
