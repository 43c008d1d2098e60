//! `codelet compact DIR --out DIR`: every conversation below a folder, and nothing else.

use crate::common::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Everything below a folder: what files hold, and where links lead.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn look(folder: &Path, at: &str, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{at}{}", entry.file_name().to_str().unwrap());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                look(&entry.path(), &format!("{name}/"), found);
            } else if kind.is_symlink() {
                let target = fs::read_link(entry.path()).unwrap();
                found.insert(name, target.into_os_string().into_encoded_bytes());
            } else if kind.is_file() {
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    look(folder, "", &mut found);
    found
}

struct Place {
    from: PathBuf,
    to: PathBuf,
}

impl Place {
    fn new(test: &str) -> Place {
        let base = folder(test);
        let (from, to) = (base.join("from"), base.join("to"));
        fs::create_dir_all(from.join("deep/er")).unwrap();
        Place { from, to }
    }

    fn run(&self, more: &[&str]) -> Output {
        let (from, to) = (self.from.to_str().unwrap(), self.to.to_str().unwrap());
        run(&[&["compact", from, "--out", to, "--budget", "2k"], more].concat())
    }

    /// What the command makes of one file.
    fn alone(&self, name: &str) -> Vec<u8> {
        let file = self.from.join(name);
        let output = run(&["compact", "--budget", "2k", file.to_str().unwrap()]);
        ended(&output, 0);
        output.stdout
    }
}

fn rows(turns: impl Iterator<Item = usize>) -> String {
    turns.map(|turns| request(turns).to_string() + "\n").collect()
}

#[test]
fn every_conversation_goes_to_its_name_with_the_bytes_that_it_would_have_alone() {
    let place = Place::new("folder_all");
    file(&place.from, "one.json", request_text(20));
    file(&place.from.join("deep"), "two.JSON", request_text(25));
    file(&place.from.join("deep/er"), "small.json", request_text(1));
    file(&place.from.join("deep"), "set.jsonl", rows(1..60));
    file(
        &place.from,
        "list.json",
        format!("[{},\n{}]", request_text(12), request_text(9)),
    );
    file(&place.from, "notes.txt", "no conversation");
    symlink(place.from.join("one.json"), place.from.join("link.json")).unwrap();
    symlink(&place.from, place.from.join("deep/loop")).unwrap();
    let before = tree(&place.from);
    let output = place.run(&["--jobs", "2"]);
    ended(&output, 0);
    assert_eq!(output.stdout, b"");
    assert!(
        stderr(&output).starts_with("Context compacted: ")
            && stderr(&output).ends_with(
                " in 64 conversations of 5 files\nSkipped 1 file: of another file type\nSkipped 2 links: not followed\n"
            ),
        "{}",
        stderr(&output)
    );
    let found = tree(&place.to);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    let files = [
        "deep/er/small.json", "deep/set.jsonl", "deep/two.JSON", "list.json", "one.json",
    ];
    assert_eq!(names, files);
    for name in files {
        assert!(found[name] == place.alone(name), "{name}");
    }
    assert_eq!(tree(&place.from), before);
}

#[test]
fn the_form_is_that_which_is_asked_for() {
    let place = Place::new("folder_forms");
    file(&place.from, "one.json", request_text(3));
    file(&place.from, "set.jsonl", rows(1..4));
    ended(&place.run(&["--to", "openai", "--from", "anthropic"]), 0);
    for line in ["one.json", "set.jsonl"]
        .map(|name| fs::read_to_string(place.to.join(name)).unwrap())
        .concat()
        .lines()
    {
        let request: Value = serde_json::from_str(line).unwrap();
        assert_eq!(request["messages"][0]["role"], "system");
    }
}

#[test]
fn bad_ones_are_told_and_hold_nobody_up_and_what_is_there_is_not_done_again() {
    let place = Place::new("folder_bad");
    file(&place.from, "one.json", request_text(20));
    file(&place.from, "broken.json", "{\"messages\": [");
    file(
        &place.from.join("deep"),
        "set.jsonl",
        rows(1..4).replacen("\n", "\n{\"messages\":\n", 2),
    );
    file(&place.from, "only.jsonl", rows(1..3).replace("\"role\"", "\"rule\""));
    rustix::fs::mkfifoat(rustix::fs::CWD, place.from.join("pipe.json"), rustix::fs::Mode::RWXU).unwrap();
    let output = place.run(&[]);
    ended(&output, 1);
    for bad in [
        "broken.json: ", "deep/set.jsonl#1: ", "deep/set.jsonl#3: ", "only.jsonl",
    ] {
        let is_told = |line: &str| line.starts_with("error: ") && line.contains(bad);
        assert!(stderr(&output).lines().any(is_told), "{bad}: {}", stderr(&output));
    }
    let made = tree(&place.to);
    assert_eq!(made.keys().collect::<Vec<_>>(), ["deep/set.jsonl", "one.json"]);
    assert_eq!(String::from_utf8_lossy(&made["deep/set.jsonl"]).lines().count(), 3);
    // What is there stays as it is, and what was missing is added.
    fs::write(place.to.join("one.json"), "mine").unwrap();
    for name in ["broken.json", "only.jsonl"] {
        file(&place.from, name, request_text(2));
    }
    let output = place.run(&[]);
    ended(&output, 0);
    assert!(
        stderr(&output).contains("Skipped 2 files: already in the output folder\n"),
        "{}",
        stderr(&output)
    );
    let again = tree(&place.to);
    assert_eq!(again.len(), 4);
    assert_eq!(again["one.json"], b"mine");
    assert!(again["broken.json"] == place.alone("broken.json"));
    assert!(stderr(&place.run(&[])).starts_with("Nothing to compact: no new conversation\n"));
}

#[test]
fn conversations_that_are_small_already_are_told_as_such() {
    let place = Place::new("folder_small");
    file(
        &place.from,
        "one.json",
        r#"{"messages": [{"role": "user", "content": "hello"}]}"#,
    );
    let output = place.run(&[]);
    ended(&output, 0);
    let told = stderr(&output);
    assert!(
        told.starts_with("Nothing to compact: ") && told.ends_with(" in 1 conversation of 1 file\n"),
        "{told}"
    );
}

#[test]
fn folders_that_would_get_in_each_others_way_are_refused() {
    let place = Place::new("folder_refused");
    file(&place.from, "one.json", request_text(3));
    let before = tree(&place.from);
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let from = path(&place.from);
    let link = place.from.with_file_name("link");
    symlink(&place.from, &link).unwrap();
    for out in [
        from.clone(),
        path(&place.from.join("out")),
        path(&link.join("new/out")),
        path(place.from.parent().unwrap()),
    ] {
        refused(
            &run(&["compact", &from, "--out", &out]),
            &["must be neither inside nor above", "name another folder"],
        );
    }
    let one = path(&place.from.join("one.json"));
    refused(
        &run(&["compact", &one, "--out", &path(&place.to)]),
        &["is a file, but --out needs a folder"],
    );
    refused(&run(&["compact", "--out", &path(&place.to)]), &["--out needs a folder"]);
    refused(&run(&["compact", &from]), &["is a folder; --out DIR"]);
    refused(&run(&["compact", &from, "--jobs", "2"]), &["--out"]);
    refused(
        &run(&["compact", &from, "--out", "x", "--explain"]),
        &["--explain", "cannot be used with"],
    );
    assert_eq!(tree(&place.from), before);
    assert!(!place.to.exists());
}
