//! Session files of real agents, compared with the same conversations in neutral form. Runs where the corpus is at hand.

use codelet_context::message::{Message, Origin, Part, Role};
use codelet_transcript::{Document, Format, read};
use serde_json::Value;
use std::path::{Path, PathBuf};

const FORMATS: &[(&str, Format)] = &[
    ("claude-code", Format::ClaudeCode),
    ("codex", Format::Codex),
    ("opencode", Format::Opencode),
    ("pi", Format::Pi),
    ("copilot-cli", Format::Copilot),
    ("mini-swe-agent", Format::MiniSweAgent),
    ("swe-agent", Format::SweAgent),
];

fn corpus() -> Option<PathBuf> {
    let path = std::env::var_os("CODELET_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus"),
        PathBuf::from,
    );
    if path.join("raw").is_dir() {
        return Some(path);
    }
    println!("skipped: no corpus at {} (set CODELET_CORPUS)", path.display());
    None
}

fn raw_files(corpus: &Path) -> Vec<(Format, PathBuf)> {
    let mut files = Vec::new();
    for (folder, format) in FORMATS {
        for entry in std::fs::read_dir(corpus.join("raw").join(folder)).unwrap() {
            files.push((*format, entry.unwrap().path()));
        }
    }
    files.sort_by(|a, b| a.1.cmp(&b.1));
    files
}

fn open(format: Format, path: &Path) -> Document {
    read(&std::fs::read(path).unwrap(), Some(format)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The same conversation in neutral form, where there is one.
fn neutral(corpus: &Path, raw: &Path) -> Option<Value> {
    let name = raw.file_name()?.to_str()?.replace("__ses", "-ses");
    let stem = name.trim_end_matches(".jsonl").trim_end_matches(".traj.json");
    let names = [
        stem.replacen("__", "-", 1),
        String::from(stem),
        format!("packages__coding-agent__test__fixtures__{stem}"),
    ];
    for source in std::fs::read_dir(corpus.join("neutral")).ok()? {
        let source = source.ok()?.path();
        for name in &names {
            if let Ok(bytes) = std::fs::read(source.join(format!("{name}.json"))) {
                return serde_json::from_slice(&bytes).ok();
            }
        }
    }
    None
}

fn blocks<'a>(neutral: &'a Value, role: &'a str, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let messages = neutral["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(move |message| message["role"] == role);
    messages
        .flat_map(|message| message["content"].as_array().unwrap())
        .filter(move |block| block["type"] == kind)
}

fn parts(document: &Document, role: Role) -> impl Iterator<Item = &Part> {
    document
        .messages
        .iter()
        .filter(move |message| message.role == role)
        .flat_map(|message| &message.parts)
}

/// White space squeezed, and words that hold an address left out: addresses are replaced, but not alike in both forms.
fn squeeze(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| !word.contains('@'));
    words.collect::<Vec<_>>().join(" ")
}

/// Texts of one origin in the user's role, with white space squeezed.
fn said(document: &Document, wanted: Origin) -> Vec<String> {
    let own = |part: &Part| match part {
        Part::Text(text) if text.origin == wanted => Some(squeeze(text.body.as_str())),
        _ => None,
    };
    parts(document, Role::User).filter_map(own).collect()
}

#[test]
fn the_same_calls_with_the_same_parameters_in_the_same_order() {
    let Some(corpus) = corpus() else { return };
    for (format, path) in raw_files(&corpus) {
        let Some(neutral) = neutral(&corpus, &path) else {
            println!("{}: not in neutral form", path.display());
            continue;
        };
        let document = open(format, &path);
        let ours: Vec<_> = document.messages.iter().flat_map(Message::calls).collect();
        let theirs: Vec<_> = blocks(&neutral, "assistant", "tool_use").collect();
        for (call, expected) in ours.iter().zip(&theirs) {
            if !(format == Format::Codex && expected["name"] == "tool_search_call") {
                assert_eq!(
                    call.tool.as_ref(),
                    expected["name"].as_str().unwrap(),
                    "{}",
                    path.display()
                );
            }
            let parameters = squeeze(call.parameters.json().as_str());
            assert_eq!(
                parameters,
                squeeze(&expected["input"].to_string()),
                "{}: {}",
                path.display(),
                call.id
            );
        }
        assert_eq!(ours.len(), theirs.len(), "calls of {}", path.display());
    }
}

#[test]
fn the_same_results_for_the_same_calls() {
    let Some(corpus) = corpus() else { return };
    for (format, path) in raw_files(&corpus) {
        let Some(neutral) = neutral(&corpus, &path) else {
            continue;
        };
        let document = open(format, &path);
        let calls = document.messages.iter().flat_map(Message::calls);
        let calls: std::collections::HashMap<_, _> = calls.map(|call| (call.id.as_ref(), call.tool.as_ref())).collect();
        let mut outputs = std::collections::HashMap::new();
        for result in document.messages.iter().flat_map(Message::tool_results) {
            let output: Vec<_> = result.texts().map(|text| text.body.as_str()).collect();
            outputs.insert(
                result.call_id.to_string(),
                (squeeze(&output.join("\n")), result.success),
            );
        }
        let mut missing = 0_usize;
        for expected in blocks(&neutral, "user", "tool_result") {
            let id = expected["tool_use_id"].as_str().unwrap();
            let Some((output, success)) = outputs.get(id) else {
                missing += 1;
                continue;
            };
            if calls.get(id) == Some(&"tool_search") {
                continue; // a list of tools as JSON, its keys sorted there
            }
            let text = match &expected["content"] {
                Value::String(text) => text.clone(),
                Value::Array(blocks) => blocks
                    .iter()
                    .filter_map(|b| b["text"].as_str())
                    .collect::<Vec<_>>()
                    .join("\n"),
                other => panic!("{other}"),
            };
            assert_eq!(*output, squeeze(&text), "{}: {id}", path.display());
            if *success == Some(true) && format != Format::Codex {
                assert_eq!(expected["is_error"], false, "{}: {id}", path.display());
            }
        }
        // The neutral form makes up an answer for each call that has none.
        let made_up = neutral["notes"]["missing_results"].as_u64().unwrap_or_default();
        let searches = blocks(&neutral, "assistant", "tool_use")
            // Here the neutral form makes up an id.
            .filter(|call| call["name"] == "web_search")
            .count();
        assert!(
            missing <= made_up as usize + searches,
            "{missing} results of {} missing",
            path.display()
        );
    }
}

#[test]
fn the_users_words_and_the_agents_summaries_are_there() {
    let Some(corpus) = corpus() else { return };
    for (format, path) in raw_files(&corpus) {
        let Some(neutral) = neutral(&corpus, &path) else {
            continue;
        };
        let document = open(format, &path);
        let summaries = said(&document, Origin::Summary);
        let own = said(&document, Origin::Own);
        let text = |part: &Part| match part {
            Part::Text(text) => Some(squeeze(text.body.as_str())),
            _ => None,
        };
        let all = parts(&document, Role::User)
            .filter_map(text)
            .collect::<String>()
            .replace(' ', "");
        for message in neutral["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message["role"] == "user")
        {
            let texts = message["content"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|block| block["text"].as_str());
            for text in texts.map(squeeze) {
                let at = format!("{}: {text:.300}", path.display());
                match &message["meta"] {
                    // The neutral form lists what Codex kept; there was no summary to read.
                    meta if meta["compact_summary"] == true && format == Format::Codex => {}
                    meta if meta["compact_summary"] == true => assert!(summaries.contains(&text), "{at}"),
                    meta if meta["synthetic"] == true => assert!(!own.contains(&text), "taken for a prompt: {at}"),
                    // Commands that the user ran: the model is told in other words.
                    _ if format == Format::Pi && text.starts_with("$ ") => {}
                    // Longer ones hold replaced addresses in odd places.
                    _ => assert!(all.contains(&text.split(' ').take(60).collect::<String>()), "{at}"),
                }
            }
        }
    }
}

#[test]
fn nothing_is_unknown_and_every_reading_is_fast_and_repeatable() {
    let Some(corpus) = corpus() else { return };
    for (format, path) in raw_files(&corpus) {
        let bytes = std::fs::read(&path).unwrap();
        let start = std::time::Instant::now();
        let document = read(&bytes, Some(format)).unwrap();
        let took = start.elapsed();
        assert_eq!(document.messages, read(&bytes, Some(format)).unwrap().messages);
        assert_eq!(document.warnings, [], "{}", path.display());
        assert_ne!(document.messages, []);
        let calls: Vec<_> = document.messages.iter().flat_map(Message::calls).collect();
        let results: Vec<_> = document.messages.iter().flat_map(Message::tool_results).collect();
        let known = results.iter().filter(|result| result.success.is_some()).count();
        let prompts = document.messages.iter().filter(|message| message.is_prompt()).count();
        println!(
            "{}: {} bytes in {took:?}: {} messages, {prompts} prompts, {} calls, {} results, {known} with a status, {} failed",
            path.display(),
            bytes.len(),
            document.messages.len(),
            calls.len(),
            results.len(),
            results.iter().filter(|result| result.success == Some(false)).count(),
        );
    }
}
