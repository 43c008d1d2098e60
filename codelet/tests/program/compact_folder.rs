//! `codelet compact DIR --out DIR`: every conversation below a folder, and nothing else.

use crate::common::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

const FAILED: &str = "codelet-failed.jsonl";
const HELD: &str = "codelet-compact.json";

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
                found.insert(
                    name,
                    fs::read_link(entry.path())
                        .unwrap()
                        .into_os_string()
                        .into_encoded_bytes(),
                );
            } else {
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

    /// What the command makes of one file, or of standard input.
    fn alone(&self, name: &str) -> Vec<u8> {
        let file = self.from.join(name);
        let output = run(&["compact", "--budget", "2k", file.to_str().unwrap()]);
        ended(&output, 0);
        output.stdout
    }

    fn failed(&self) -> Vec<(String, Option<u64>, String)> {
        let text = fs::read_to_string(self.to.join(FAILED)).unwrap();
        let entry = |line: &str| {
            let entry: Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| entry[name].as_str().unwrap().to_owned();
            (text("file"), entry["index"].as_u64(), text("reason"))
        };
        text.lines().map(entry).collect()
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
    // More rows than are held at once.
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
            && stderr(&output).contains(" in 64 conversations of 5 files\n"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("1 file of another kind\nSkipped 2 links, which were not followed\n"));
    let found = tree(&place.to);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    let files = [
        "deep/er/small.json", "deep/set.jsonl", "deep/two.JSON", "list.json", "one.json",
    ];
    assert_eq!(names, [&[HELD], &files[..]].concat());
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
fn bad_ones_are_told_listed_and_hold_nobody_up() {
    let place = Place::new("folder_bad");
    file(&place.from, "one.json", request_text(20));
    file(&place.from, "broken.json", "{\"messages\": [");
    file(&place.from, "empty.jsonl", "");
    file(
        &place.from.join("deep"),
        "set.jsonl",
        rows(1..4).replacen("\n", "\n{\"messages\":\n", 2),
    );
    file(&place.from, "only.jsonl", rows(1..3).replace("\"role\"", "\"rule\""));
    file(&place.from, HELD, request_text(1));
    rustix::fs::mkfifoat(rustix::fs::CWD, place.from.join("pipe.json"), rustix::fs::Mode::RWXU).unwrap();
    for round in 0..3 {
        let output = place.run(&[]);
        ended(&output, 1);
        let failed = place.failed();
        let names: Vec<_> = failed.iter().map(|(file, at, _)| (file.as_str(), *at)).collect();
        let expected = [
            ("broken.json", None),
            (HELD, None),
            ("deep/set.jsonl", Some(1)),
            ("deep/set.jsonl", Some(3)),
            ("empty.jsonl", None),
        ];
        assert_eq!(&names[..5], expected, "{round}: {failed:?}");
        assert!(names[5..].iter().all(|(name, _)| *name == "only.jsonl"), "{names:?}");
        for (file, index, reason) in &failed {
            let index = index.map_or(String::new(), |at| format!("#{at}"));
            assert!(
                stderr(&output).contains(&format!("warning: {file}{index}: {reason}\n")),
                "{}",
                stderr(&output)
            );
            assert!(!reason.contains("folder_bad"), "{reason}");
        }
        let last = stderr(&output).lines().last().unwrap();
        assert!(
            last.starts_with(&format!(
                "error: {} conversations could not be compacted; ",
                failed.len()
            )),
            "{last}"
        );
        assert!(place.to.join("one.json").exists() && !place.to.join("only.jsonl").exists());
        assert_eq!(
            fs::read_to_string(place.to.join("deep/set.jsonl"))
                .unwrap()
                .lines()
                .count(),
            3
        );
    }
    // Once all of it is mended, nothing is listed.
    for name in ["broken.json", "empty.jsonl", "only.jsonl", "deep/set.jsonl"] {
        file(&place.from, name, request_text(2));
    }
    fs::remove_file(place.from.join(HELD)).unwrap();
    fs::remove_file(place.to.join("deep/set.jsonl")).unwrap();
    ended(&place.run(&[]), 0);
    assert!(!place.to.join(FAILED).exists());
}

#[test]
fn a_run_that_was_killed_leaves_nothing_half_and_is_gone_on_with() {
    let place = Place::new("folder_killed");
    for number in 0..40 {
        file(&place.from, &format!("{number}.json"), request_text(10 + number));
    }
    file(&place.from, "set.jsonl", rows(1..40));
    let (from, to) = (place.from.to_str().unwrap(), place.to.to_str().unwrap());
    let mut child = piped(&mut codelet(&["compact", from, "--out", to, "--budget", "2k", "-j1"]));
    let is_under_way = || tree(&place.to).len() > 3;
    while !(place.to.exists() && is_under_way()) {
        assert!(child.try_wait().unwrap().is_none_or(|status| status.success()));
        codelet_testkit::wait_a_moment();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let half = tree(&place.to);
    for (name, bytes) in half.iter().filter(|(name, _)| *name != HELD) {
        assert!(*bytes == place.alone(name), "{name}");
    }
    // What is there is not done again.
    let (done, _) = half.iter().find(|(name, _)| *name != HELD).unwrap();
    fs::write(place.to.join(done), "mine").unwrap();
    // As the process of a system without nameless files leaves it.
    fs::write(place.to.join(".codelet-0123456789abcdef"), "half").unwrap();
    let output = place.run(&[]);
    ended(&output, 0);
    let whole = tree(&place.to);
    assert_eq!(whole.len(), 42, "{:?}", whole.keys());
    for (name, bytes) in whole.iter().filter(|(name, _)| *name != HELD) {
        assert!(
            *bytes
                == if name == done {
                    b"mine".to_vec()
                } else {
                    place.alone(name)
                },
            "{name}"
        );
    }
    let again = place.run(&[]);
    ended(&again, 0);
    assert!(
        stderr(&again).starts_with("Nothing to compact: no new conversation\n41 files compacted by an earlier run\n")
    );
    assert_eq!(tree(&place.to), whole);
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
fn no_link_in_the_output_folder_is_followed() {
    let place = Place::new("folder_links");
    for name in ["one.json", "deep/two.json", "deep/er/three.json", "four.json"] {
        file(&place.from, name, request_text(12));
    }
    ended(&place.run(&[]), 0);
    let outside = place.from.with_file_name("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("four.json"), "mine").unwrap();
    fs::remove_dir_all(place.to.join("deep")).unwrap();
    symlink(&outside, place.to.join("deep")).unwrap();
    for (name, target) in [("one.json", "new.json"), ("four.json", "four.json")] {
        fs::remove_file(place.to.join(name)).unwrap();
        symlink(outside.join(target), place.to.join(name)).unwrap();
    }
    let output = place.run(&[]);
    ended(&output, 1);
    let failed = place.failed();
    let names: Vec<&str> = failed.iter().map(|(file, ..)| file.as_str()).collect();
    assert_eq!(names, ["deep/er/three.json", "deep/two.json", "four.json", "one.json"]);
    assert!(
        failed
            .iter()
            .all(|(_, _, reason)| reason.starts_with("cannot be written: ")),
        "{failed:?}"
    );
    assert_eq!(
        tree(&outside),
        BTreeMap::from([("four.json".to_owned(), b"mine".to_vec())])
    );
    // Nor one under the name of the list.
    fs::remove_file(place.to.join(FAILED)).unwrap();
    symlink(outside.join("list"), place.to.join(FAILED)).unwrap();
    ended(&place.run(&[]), 1);
    assert!(!outside.join("list").exists() && place.failed().len() == 4);
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
    // What is there is somebody's.
    fs::create_dir(&place.to).unwrap();
    file(&place.to, "one.json", "mine");
    refused(&place.run(&[]), &["`codelet compact` did not write"]);
    fs::remove_file(place.to.join("one.json")).unwrap();
    ended(&place.run(&[]), 0);
    refused(&place.run(&["--to", "openai"]), &["other options", "\"budget\":2000"]);
    let held = fs::File::open(place.to.join(HELD)).unwrap();
    held.lock().unwrap();
    refused(&place.run(&[]), &["in use by another"]);
}
