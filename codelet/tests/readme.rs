//! What the README and the first pages of the documentation show of the program is what it prints. `CODELET_BLESS=1` writes it anew.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod common;

use common::agent::Bench;
use common::codelet;
use common::pty::{Session as _, Terminal};
use pulldown_cmark::{Event, Options, Parser, Tag};
use std::path::{Path, PathBuf};

/// As somebody types it who has a clone and Rust, and has installed nothing.
const COMMAND: &str =
    "cargo run --release --quiet -p codelet -- compact fixtures/long-session.json --budget 8000 --explain -o /dev/null";
const SIZE: (u16, u16) = (93, 50);
/// Of each of the two lists this many lines are shown at its head and at its end.
const HEAD: usize = 11;
const TAIL: usize = 9;

#[test]
fn the_page_on_recorded_conversations_shows_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let file = root.join("docs/offline.md");
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

#[test]
fn the_reference_is_what_help_prints() {
    let mut page = "# Commands and options\n\nWhat `codelet COMMAND --help` prints; `codelet man COMMAND` shows the same as a manual page.\n".to_owned();
    let mut waiting = vec![Vec::new()];
    while let Some(command) = waiting.pop() {
        let help = help(&command);
        let below = commands(&help).into_iter().rev().filter(|name| *name != "help");
        waiting.extend(below.map(|name| [command.as_slice(), &[name.to_owned()]].concat()));
        let name = [&["codelet".to_owned()], command.as_slice()].concat().join(" ");
        let marks = if command.len() > 1 { "###" } else { "##" };
        let text: Vec<&str> = help.lines().map(str::trim_end).collect();
        page += &format!("\n{marks} {name}\n\n```text\n{}\n```\n", text.join("\n"));
    }
    let file = codelet_testkit::workspace().join("docs/reference.md");
    if std::env::var_os("CODELET_BLESS").is_some() {
        std::fs::write(&file, page).unwrap();
        return;
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), page);
}

fn help(command: &[String]) -> String {
    let mut args: Vec<&str> = command.iter().map(String::as_str).collect();
    args.push("--help");
    let output = codelet(&args).env_remove("COLUMNS").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The commands that a help lists: in a list of their own, two blanks in.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_page_is_in_the_table_of_contents_and_every_link_leads_somewhere() {
    let root = codelet_testkit::workspace();
    let docs = root.join("docs");
    let mut pages = pages_in(&docs);
    pages.extend(pages_in(&docs.join("decisions")));
    let contents = links(&docs.join("SUMMARY.md"));
    for page in &pages {
        let name = page.strip_prefix(&docs).unwrap().to_str().unwrap();
        assert!(
            name == "SUMMARY.md" || contents.iter().any(|link| link == name),
            "{name} is not in docs/SUMMARY.md"
        );
    }
    pages.extend(
        [
            "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "fuzz/README.md", "codelet-python/README.md",
        ]
        .map(|page| root.join(page)),
    );
    let mut broken = Vec::new();
    for page in pages {
        for link in links(&page) {
            let (path, part) = link.split_once('#').unwrap_or((&link, ""));
            let to = if path.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(path)
            };
            // The site is made of this folder alone.
            let is_reached = !page.starts_with(&docs) || to.canonicalize().is_ok_and(|to| to.starts_with(&docs));
            let is_there =
                is_reached && to.exists() && (part.is_empty() || headings(&to).iter().any(|heading| heading == part));
            if !is_there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The pages of a folder, in order.
fn pages_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect();
    pages.sort();
    pages
}

/// Where the links and pictures of a page lead, but for those out into the net.
fn links(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let events = Parser::new_ext(&text, Options::ENABLE_TABLES);
    let targets = events.filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    });
    targets.filter(|target| !target.contains("://")).collect()
}

/// The headings of a page, as links name them: words in small letters with hyphens, nothing else.
fn headings(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix('#'));
    let names = lines.map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        words
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
            .collect()
    });
    names.collect()
}
