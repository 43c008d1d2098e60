//! What was read, written and read again says the same: every form that is written, of every form that is read.
#![allow(clippy::unwrap_used)]

use codelet_context::message::{Message, Part, Role};
use codelet_transcript::{Document, Format, read, write};
use std::path::Path;

/// One small session of the same work in each form that is read.
fn sessions() -> impl Iterator<Item = (Format, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/forms");
    Format::ALL.iter().filter(|form| form.is_read()).map(move |form| {
        let file = |ending: &str| std::fs::read(folder.join(format!("{form}.{ending}")));
        let bytes = file("json").or_else(|_| file("jsonl")).or_else(|_| file("md"));
        (*form, bytes.unwrap_or_else(|error| panic!("{form}: {error}")))
    })
}

/// The larger recordings and requests of the repository.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_recording = |path: &std::path::PathBuf| {
        path.extension()
            .is_some_and(|ending| ending == "json" || ending == "jsonl")
    };
    let mut files: Vec<_> = files.filter(is_recording).collect();
    files.sort();
    let named = |path: std::path::PathBuf| (path.display().to_string(), std::fs::read(&path).unwrap());
    files.into_iter().map(named).collect()
}

/// What is said: the words of the user and of the model, the calls, and what came of them. Where one message ends and the next of
/// the same speaker begins is not the same in all forms, and neither are ids.
#[derive(PartialEq, Debug, Default)]
struct Said {
    system: Vec<String>,
    asked: Vec<String>,
    replied: Vec<String>,
    calls: Vec<(String, String)>,
    /// An object in which an output stands may be taken apart, so its words count, in any order.
    results: Vec<Vec<String>>,
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_whitespace().map(str::to_owned)
}

fn said(messages: &[Message]) -> Said {
    let mut said = Said::default();
    for message in messages {
        for part in &message.parts {
            match part {
                Part::Text(text) => match message.role {
                    Role::System => said.system.extend(words(text.body.as_str())),
                    Role::User => said.asked.extend(words(text.body.as_str())),
                    Role::Assistant => said.replied.extend(words(text.body.as_str())),
                },
                Part::ToolCall(call) => {
                    let parameters: serde_json::Value = serde_json::from_str(call.parameters.json().as_str()).unwrap();
                    said.calls.push((call.tool.to_string(), parameters.to_string()));
                }
                Part::ToolResult(result) => {
                    let texts = result.texts().map(|text| text.body.as_str());
                    let is_word = |char: char| char.is_alphanumeric() || char == '_';
                    let words = texts.flat_map(|text| text.split(move |char| !is_word(char)));
                    // The name under which the object held the output.
                    let words = words.filter(|word| !word.is_empty() && *word != "output");
                    let mut words: Vec<String> = words.map(str::to_owned).collect();
                    words.sort_unstable();
                    // A vendor wants an answer to every call, also to one whose tool still ran.
                    let is_note = words == ["no", "recorded", "result", "was"];
                    said.results.extend((!is_note).then_some(words));
                }
                _ => {}
            }
        }
    }
    said
}

fn again(document: &Document, form: Format, name: &str) -> Document {
    let text = write(document, form).unwrap_or_else(|error| panic!("{name} as {form}: {error}"));
    read(text.as_bytes(), Some(form)).unwrap_or_else(|error| panic!("{name} as {form}: {error}\n{text}"))
}

fn written() -> impl Iterator<Item = Format> {
    let is_both = |form: &Format| form.is_written() && form.is_read();
    Format::ALL.iter().copied().filter(is_both)
}

#[test]
fn every_written_form_says_what_the_session_said() {
    for (from, bytes) in sessions() {
        let document = read(&bytes, None).unwrap();
        for form in written() {
            let once = again(&document, form, from.name());
            let mut told = said(&once.messages);
            if from == Format::CodexExec {
                // What was asked is not printed, and a vendor wants a beginning.
                told.asked.clear();
            }
            assert_eq!(told, said(&document.messages), "{from} as {form}");
        }
    }
}

#[test]
fn what_was_written_once_comes_back_as_it_is_from_then_on() {
    let mut pairs = 0;
    let small = sessions().map(|(form, bytes)| (form.name().to_owned(), bytes));
    for (name, bytes) in small.chain(fixtures()) {
        let Ok(document) = read(&bytes, None) else { continue };
        for form in written() {
            let once = again(&document, form, &name);
            let twice = again(&once, form, &name);
            assert_eq!(twice.messages, once.messages, "{name} as {form}");
            pairs += 1;
        }
    }
    assert!(pairs > 200, "{pairs}");
}
