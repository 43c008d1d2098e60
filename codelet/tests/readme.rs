//! What the README shows of the program is what the program prints. `CODELET_BLESS=1` writes it anew.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod common;

use common::agent::Bench;
use common::codelet;
use common::pty::{Session as _, Terminal};
use std::path::Path;

/// As somebody types it who has a clone and Rust, and has installed nothing.
const COMMAND: &str =
    "cargo run --release --quiet -p codelet -- compact fixtures/long-session.json --budget 8000 --explain -o /dev/null";
const SIZE: (u16, u16) = (93, 50);
/// Of each of the two lists this many lines are shown at its head and at its end.
const HEAD: usize = 11;
const TAIL: usize = 9;

#[test]
fn the_readme_shows_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let file = root.join("README.md");
    let readme = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = readme.split_once(&format!("\n{COMMAND}\n```\n\n```text\n")).unwrap();
    let (shown, after) = rest.split_once("\n```\n").unwrap();
    let (_, args) = COMMAND.split_once(" -- ").unwrap();
    let args: Vec<&str> = args.split(' ').collect();
    let mut command = codelet(&args);
    command.current_dir(root);
    let mut terminal = Terminal::run(&Bench::new(), command, SIZE);
    // The notice comes last.
    terminal.ends_in(" ms\r\n");
    assert_eq!(terminal.end(), 0);
    let printed = shortened(terminal.text().trim_end());
    if std::env::var_os("CODELET_BLESS").is_some() {
        let text = format!("{before}\n{COMMAND}\n```\n\n```text\n{printed}\n```\n{after}");
        std::fs::write(&file, text).unwrap();
        return;
    }
    assert_eq!(untimed(shown), untimed(&printed));
}

#[test]
fn the_readme_shows_how_the_demo_ends() {
    let readme = std::fs::read_to_string(codelet_testkit::workspace().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("The demo ends like this:\n\n```text\n").unwrap();
    let (shown, _) = rest.split_once("\n```\n").unwrap();
    let output = Bench::new().command(&["demo"]).output().unwrap();
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let (steps, answer) = shown.split_once("\n`invoice.sh").unwrap();
    assert!(timeless(&printed[1]).contains(&timeless(steps)), "{printed:#?}");
    assert!(
        printed[1].contains("What to do next\n  export ANTHROPIC_API_KEY"),
        "{printed:#?}"
    );
    assert!(timeless(&printed[0]).contains(&timeless(answer)), "{printed:#?}");
}

/// The words: how long anything took, how long the names of folders are and where lines are broken is not a matter of the text.
fn timeless(text: &str) -> String {
    let is_time = |it: &str| it.ends_with(" ms") || it.ends_with(" s");
    let untimed = text.lines().map(|line| match line.rsplit_once(" · ") {
        Some((rest, time)) if is_time(time) => rest,
        _ => line,
    });
    let words: Vec<&str> = untimed.flat_map(str::split_whitespace).collect();
    words.join(" ").replace(|c: char| c.is_ascii_digit(), "")
}

/// Long lists without their middle.
fn shortened(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for part in text.split("\n\n") {
        if !lines.is_empty() {
            lines.push("");
        }
        let all: Vec<&str> = part.lines().collect();
        if all.len() <= HEAD + TAIL {
            lines.extend(all);
        } else {
            lines.extend(&all[..HEAD]);
            lines.push("  …");
            lines.extend(&all[all.len() - TAIL..]);
        }
    }
    lines.join("\n")
}

/// How long it took is not a matter of the text.
fn untimed(text: &str) -> String {
    let (rest, last) = text.rsplit_once(" · ").unwrap();
    assert!(last.ends_with(" ms"), "{last}");
    rest.to_owned()
}
