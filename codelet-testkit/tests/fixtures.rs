//! Runs every fixture through everything: all readers and writers, compactions from gentle to impossible, the
//! strategies.
#![allow(clippy::unwrap_used)]

use codelet_context::message::Message;
use codelet_testkit::{invariants, shape, workspace};
use codelet_transcript::{Format, detect, read};
use std::path::PathBuf;

/// All fixtures, by name.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    files("fixtures")
}

/// The files of a directory of the workspace, by name.
fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(workspace().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && path.extension().is_none_or(|kind| kind != "md"))
        .collect();
    paths.sort();
    let named = |path: PathBuf| {
        (
            path.file_name().unwrap().to_string_lossy().into_owned(),
            std::fs::read(path).unwrap(),
        )
    };
    paths.into_iter().map(named).collect()
}

/// The conversation of a fixture; empty if no reader accepts it.
fn conversation(name: &str, bytes: &[u8]) -> Vec<Message> {
    if name.ends_with(".shape") {
        let text = std::str::from_utf8(bytes).unwrap();
        let messages = shape::parse(text).unwrap();
        assert_eq!(shape::exact(&messages), text, "{name} is written as it stands");
        return messages;
    }
    read(bytes, None).map_or(Vec::new(), |document| document.messages)
}

#[test]
fn every_fixture_is_read_or_refused_in_every_form_and_written_as_it_was_read() {
    let forms = Format::ALL.iter().filter(|form| form.is_read()).copied().map(Some);
    let forms: Vec<Option<Format>> = forms.chain([None]).collect();
    for (name, bytes) in fixtures() {
        for &form in &forms {
            if let Err(sentence) = invariants::is_read_or_refused(&bytes, form) {
                panic!("{name} as {form:?}: {sentence}");
            }
        }
    }
}

#[test]
fn every_fixture_keeps_the_promises_of_compaction_and_strategies() {
    let mut conversations = 0;
    for (name, bytes) in fixtures() {
        let messages = conversation(&name, &bytes);
        conversations += usize::from(!messages.is_empty());
        if let Err(sentence) = invariants::goes_through_everything(&messages) {
            panic!("{name}: {sentence}");
        }
    }
    assert!(conversations >= 15, "{conversations}");
}

/// The small session in this format from which the table of formats is generated.
fn small_session(form: Format) -> Option<(String, Vec<u8>)> {
    let folder = workspace().join("codelet-transcript/tests/forms");
    let mut paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let path = paths.find(|path| path.file_stem().is_some_and(|name| name == form.name()))?;
    Some((form.name().to_owned(), std::fs::read(path).unwrap()))
}

#[test]
fn every_form_has_seeds_and_each_is_a_conversation_of_its_form() {
    for form in Format::ALL.iter().filter(|form| form.is_read()) {
        let folder = format!("fuzz/seeds/{}", form.name());
        let own = if workspace().join(&folder).is_dir() {
            files(&folder)
        } else {
            Vec::new()
        };
        let seeds: Vec<_> = own.into_iter().chain(small_session(*form)).collect();
        assert!(!seeds.is_empty(), "{}", form.name());
        for (name, bytes) in seeds {
            let told = |what: &str| format!("{name} as {}: {what}", form.name());
            assert_eq!(detect(&bytes), Some(*form), "{}", told("detected"));
            let document = read(&bytes, Some(*form)).unwrap_or_else(|error| panic!("{}", told(&error.to_string())));
            assert!(!document.messages.is_empty(), "{}", told("is empty"));
            invariants::is_read_or_refused(&bytes, Some(*form)).unwrap_or_else(|words| panic!("{}", told(&words)));
            invariants::goes_through_everything(&document.messages).unwrap_or_else(|words| panic!("{}", told(&words)));
        }
    }
    for (name, bytes) in files("fuzz/seeds/shape") {
        let messages = shape::parse(std::str::from_utf8(&bytes).unwrap()).unwrap();
        assert_eq!(shape::parse(&shape::exact(&messages)).unwrap(), messages, "{name}");
        invariants::goes_through_everything(&messages).unwrap_or_else(|words| panic!("{name}: {words}"));
    }
}

#[test]
fn every_fixture_has_its_row() {
    let rows = ["README.md", "by-hand.md"].map(|list| {
        let path = workspace().join("fixtures").join(list);
        std::fs::read_to_string(path).unwrap_or_default()
    });
    for (name, _) in fixtures() {
        let cell = format!("| `{name}` |");
        assert!(rows.iter().any(|list| list.contains(&cell)), "{name} has no row");
    }
}
