//! `codelet compact` on recorded conversations: what is promised of every one of them, checked from outside.
//!
//! A test run takes each raw file and every fourth neutral one, and changes the target from file to file for the forms
//! other than the first. `CODELET_CORPUS_FULL=1` takes all files, forms and targets.

use crate::common::*;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const FORMS: [&str; 4] = ["anthropic", "openai", "responses", "gemini"];
const TARGETS: [&[&str]; 4] = [
    &["--budget", "2000"],
    &["--budget", "20000"],
    &["--window", "100000"],
    &[],
];
/// One neutral file in so many is taken in a test run.
const EVERY: usize = 4;
/// Handles of a compaction that are restored by the program in a test run, and in a full one.
const RESTORED: (usize, usize) = (2, 25);
const WORKERS: usize = 2;

fn is_full() -> bool {
    std::env::var_os("CODELET_CORPUS_FULL").is_some_and(|value| value == "1")
}

fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("CODELET_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus"),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    println!(
        "skipped: no recorded conversations at {} (set CODELET_CORPUS)",
        folder.display()
    );
    None
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files_below(&path));
        } else if path.extension().is_some_and(|end| end != "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_recorded_conversation_is_compacted_as_promised() {
    let Some(corpus) = corpus() else { return };
    let raw = files_below(&corpus.join("raw"));
    let mut neutral = files_below(&corpus.join("neutral"));
    neutral.retain(|path| path.extension().is_some_and(|end| end == "json"));
    let every = if is_full() { 1 } else { EVERY };
    let files: Vec<(bool, PathBuf)> = raw
        .into_iter()
        .map(|path| (false, path))
        .chain(neutral.into_iter().step_by(every).map(|path| (true, path)))
        .collect();
    let scratch = folder("corpus");
    let next = AtomicUsize::new(0);
    let problems: Vec<String> = std::thread::scope(|scope| {
        let work = |worker: usize| {
            let (next, files, scratch) = (&next, &files, scratch.join(worker.to_string()));
            fs::create_dir_all(&scratch).unwrap();
            move || {
                let mut problems = Vec::new();
                while let Some((number, (neutral, path))) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    files.get(number).map(|file| (number, file))
                } {
                    check_file(number, path, *neutral, &scratch, &mut problems);
                }
                problems
            }
        };
        let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(work(worker))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
    println!("{} conversations", files.len());
}

fn check_file(number: usize, path: &Path, neutral: bool, scratch: &Path, problems: &mut Vec<String>) {
    // What the recorder wrote, as far as it is known without the program.
    let source = neutral.then(|| Source::of(&serde_json::from_slice(&fs::read(path).unwrap()).unwrap()));
    for (at, target) in TARGETS.iter().enumerate() {
        for form in FORMS {
            if form != "anthropic" && !is_full() && !(number + at).is_multiple_of(TARGETS.len()) {
                continue;
            }
            let name = format!(
                "{} --to {form} {}",
                path.file_name().unwrap().to_string_lossy(),
                target.join(" ")
            );
            let began = Instant::now();
            if let Err(problem) = check(path, form, target, source.as_ref(), scratch) {
                problems.push(format!("{name}: {problem}"));
            }
            if is_full() {
                println!("{:>6} ms  {name}", began.elapsed().as_millis());
            }
        }
    }
}

/// What a neutral file says: the user's own prompts, and every text and every object in it.
struct Source {
    prompts: Vec<String>,
    order: Vec<String>,
    texts: HashSet<String>,
}

impl Source {
    fn of(file: &Value) -> Self {
        let mut source = Source {
            prompts: Vec::new(),
            order: order(&file["messages"]),
            texts: HashSet::new(),
        };
        source.gather(file);
        for message in file["messages"].as_array().unwrap() {
            let synthetic = message["meta"].as_object().is_some_and(|meta| !meta.is_empty());
            if message["role"] != "user" || synthetic {
                continue;
            }
            match &message["content"] {
                Value::String(text) => source.prompts.push(text.clone()),
                Value::Array(blocks) => {
                    let texts = blocks.iter().filter(|block| block["type"] == "text");
                    source
                        .prompts
                        .extend(texts.map(|block| block["text"].as_str().unwrap().to_owned()));
                }
                _ => {}
            }
        }
        // What one harness says to a reply in which it finds no action, or several, is no user's, though no field says so.
        const COMPLAINT: &str = "Please always provide EXACTLY ONE action";
        // Nor is the note of another that the user has stopped it.
        const STOPPED: [&str; 2] = [
            "[Request interrupted by user]",
            "[Request interrupted by user for tool use]",
        ];
        source.prompts.retain(|text| {
            let text = text.trim();
            // Nor is its note of a command of its own without further words, or of what that printed.
            let is_note = text.starts_with("<local-command-")
                || text.starts_with("<command-name>") && text.ends_with("<command-args></command-args>");
            !text.is_empty() && !text.starts_with(COMPLAINT) && !STOPPED.contains(&text) && !is_note
        });
        source
    }

    fn gather(&mut self, value: &Value) {
        match value {
            Value::String(text) => drop(self.texts.insert(text.clone())),
            Value::Array(items) => items.iter().for_each(|item| self.gather(item)),
            Value::Object(fields) => {
                self.texts.insert(value.to_string());
                fields.values().for_each(|field| self.gather(field));
            }
            _ => {}
        }
    }
}

type Checked = Result<(), String>;

fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(problem()) }
}

struct Run {
    result: Value,
    report: Value,
    removed: Vec<(String, String)>,
    told: String,
}

fn compacted(path: &Path, form: &str, target: &[&str], scratch: &Path) -> Result<Run, String> {
    let (report, removed) = (scratch.join("report.json"), scratch.join("removed.jsonl"));
    // It would be added to.
    let _ = fs::remove_file(&removed);
    let mut args = vec!["compact", path.to_str().unwrap(), "--to", form];
    args.extend(target);
    args.extend(["--report", report.to_str().unwrap()]);
    args.extend(["--removed", removed.to_str().unwrap()]);
    let output = run(&args);
    let told = stderr(&output).to_owned();
    ensure(output.status.code() == Some(0), || {
        format!("status {:?}: {told}", output.status.code())
    })?;
    let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| format!("{error}: {text:.200}"));
    let lines = fs::read_to_string(&removed).unwrap();
    let entries = lines.lines().map(|line| {
        let entry = json(line)?;
        let text = |name: &str| entry[name].as_str().map(str::to_owned).ok_or(format!("no {name}"));
        Ok((text("handle")?, text("content")?))
    });
    Ok(Run {
        result: json(stdout(&output))?,
        report: json(&fs::read_to_string(&report).unwrap())?,
        removed: entries.collect::<Result<_, String>>()?,
        told,
    })
}

fn check(path: &Path, form: &str, target: &[&str], source: Option<&Source>, scratch: &Path) -> Checked {
    let run = compacted(path, form, target, scratch)?;
    has_every_key(&run.report)?;
    let messages = match form {
        "responses" => &run.result["input"],
        "gemini" => &run.result["contents"],
        _ => &run.result["messages"],
    };
    ensure(messages.as_array().is_some_and(|list| !list.is_empty()), || {
        "nothing is left".to_owned()
    })?;
    let tokens = |which: &str| run.report["tokens"][which].as_u64().unwrap();
    // An answer for a call that was interrupted takes room that was not taken before.
    let mended = run.report["strategies"]["pairing"]["hits"].as_u64().unwrap_or(0) > 0;
    ensure(mended || tokens("after") <= tokens("before"), || {
        format!("larger: {}", run.told)
    })?;
    ensure(!run.told.contains("no smaller"), || run.told.clone())?;
    if form != "anthropic" {
        return Ok(());
    }
    if let ["--budget", budget] = target {
        within(&run, budget.parse().unwrap(), path, scratch)?;
    }
    markers_can_be_followed(&run)?;
    restores(&run, scratch)?;
    match source {
        Some(source) => is_faithful(&run, source).and_then(|()| keeps_the_order(&run, source)),
        None => Ok(()),
    }
}

fn has_every_key(report: &Value) -> Checked {
    let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "format messages tokens bytes ratio turns anchor strategies removed warnings elapsed_ms";
    ensure(keys.join(" ") == expected, || format!("the report has {keys:?}"))?;
    let anchor = &report["anchor"];
    let fields = ["kind", "turn", "confidence", "description"];
    ensure(
        anchor.is_null() || fields.iter().all(|field| !anchor[field].is_null()),
        || format!("{anchor}"),
    )?;
    let turns = |name: &str| report["turns"][name].as_u64().unwrap();
    ensure(turns("kept") + turns("summarised") == turns("total"), || {
        format!("{}", report["turns"])
    })
}

/// The budget is kept, or the smallest possible one is told, and that one is kept.
fn within(run: &Run, budget: u64, path: &Path, scratch: &Path) -> Checked {
    let weight = weigh(&run.result);
    if weight <= budget {
        return ensure(!run.told.contains("smallest"), || {
            format!("{weight} tokens fit, but: {}", run.told)
        });
    }
    let least = run.told.split_once("smallest possible budget is ").map(|(_, rest)| {
        let digits = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',');
        digits.filter(char::is_ascii_digit).collect::<String>()
    });
    let Some(least) = least else {
        return Err(format!("{weight} tokens, and no warning: {}", run.told));
    };
    let again = compacted(path, "anthropic", &["--budget", &least], scratch)?;
    let weight = weigh(&again.result);
    ensure(
        weight <= least.parse().unwrap() && !again.told.contains("smallest"),
        || format!("told to be possible: {least}, came to {weight}: {}", again.told),
    )
}

/// The weight of a request: for each part a quarter of the bytes of its text, names and parameters, and 5.
fn weigh(request: &Value) -> u64 {
    let system = match &request["system"] {
        Value::Null => 0,
        content => weigh_content(content),
    };
    let messages = request["messages"].as_array().unwrap();
    system
        + messages
            .iter()
            .map(|message| weigh_content(&message["content"]))
            .sum::<u64>()
}

fn weigh_content(content: &Value) -> u64 {
    let part = |bytes: usize| bytes.div_ceil(4) as u64 + 5;
    match content {
        Value::String(text) => part(text.len()),
        Value::Array(blocks) => blocks.iter().map(|block| part(bytes(block))).sum(),
        other => panic!("no content: {other}"),
    }
}

fn bytes(block: &Value) -> usize {
    let length = |name: &str| block[name].as_str().map_or(0, str::len);
    match block["type"].as_str() {
        Some("tool_use") => length("name") + block["input"].to_string().len(),
        Some("tool_result") => match &block["content"] {
            Value::Array(blocks) => blocks.iter().map(bytes).sum(),
            _ => length("content"),
        },
        _ => length("text") + length("thinking"),
    }
}

/// The texts of a request that are the conversation's or the engine's.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        _ => {}
    }
}

/// A marker never points at something that is gone.
fn markers_can_be_followed(run: &Run) -> Checked {
    let known: HashSet<&str> = run.removed.iter().map(|(handle, _)| handle.as_str()).collect();
    let mut shown = Vec::new();
    texts(&run.result["messages"], &mut shown);
    for line in shown.iter().flat_map(|text| text.lines()) {
        let marker = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        let Some((_, handle)) = marker.and_then(|marker| marker.rsplit_once(" · recall ")) else {
            continue;
        };
        ensure(known.contains(handle), || format!("points nowhere: {line}"))?;
    }
    Ok(())
}

/// The program gives back what stands in the file, byte for byte.
fn restores(run: &Run, scratch: &Path) -> Checked {
    let most = if is_full() { RESTORED.1 } else { RESTORED.0 };
    let every = run.removed.len().div_ceil(most).max(1);
    let file = scratch.join("removed.jsonl");
    // A second compaction may have been written over the first.
    let lines: Vec<String> = run
        .removed
        .iter()
        .map(|(handle, content)| serde_json::json!({"handle": handle, "content": content}).to_string())
        .collect();
    fs::write(&file, lines.join("\n")).unwrap();
    for (handle, content) in run.removed.iter().step_by(every) {
        let output = crate::common::run(&["restore", file.to_str().unwrap(), handle]);
        ensure(
            output.status.code() == Some(0) && output.stdout == content.as_bytes(),
            || format!("{handle} is not restored: {}", String::from_utf8_lossy(&output.stderr)),
        )?;
    }
    Ok(())
}

/// Calls and results in the order in which they stand.
fn order(messages: &Value) -> Vec<String> {
    let blocks = messages.as_array().unwrap().iter();
    let blocks = blocks.flat_map(|message| message["content"].as_array().into_iter().flatten());
    let ids = blocks.filter_map(|block| match block["type"].as_str()? {
        "tool_use" => Some(format!("call {}", block["id"])),
        "tool_result" => Some(format!("result {}", block["tool_use_id"])),
        _ => None,
    });
    ids.collect()
}

/// What stands in both stands in the same order; parallel results may be sorted like their calls.
fn keeps_the_order(run: &Run, source: &Source) -> Checked {
    let mut step = 0;
    let steps: HashMap<&str, usize> = source
        .order
        .iter()
        .enumerate()
        .map(|(at, id)| {
            // Steps are told apart by a call that follows a result.
            step += usize::from(id.starts_with("call") && at > 0 && source.order[at - 1].starts_with("result"));
            (id.as_str(), step)
        })
        .collect();
    let shown = order(&run.result["messages"]);
    let mut last = (0, "");
    for id in &shown {
        let Some(&step) = steps.get(id.as_str()) else { continue };
        let kind = &id[..4];
        let is_later = step > last.0 || step == last.0 && !(kind == "call" && last.1 == "resu");
        ensure(is_later, || format!("{id} stands too late"))?;
        last = (step, kind);
    }
    Ok(())
}

/// How the text begins that is kept of prompts that were folded.
const FOLD: &str = "## Prompt 1\n";

/// Whether this is such a text, and every prompt in it is what the recorder wrote, part by part.
fn is_a_fold(content: &str, source: &Source) -> bool {
    let (mut rest, mut number) = (content, 1);
    while let Some(part) = rest.strip_prefix(&format!("## Prompt {number}\n")) {
        rest = part;
        number += 1;
        let next = format!("## Prompt {number}\n");
        while !rest.is_empty() && !rest.starts_with(&next) {
            let is_next = |text: &&String| {
                rest.strip_prefix(text.as_str())
                    .is_some_and(|rest| rest.starts_with('\n'))
            };
            let Some(text) = source.texts.iter().filter(is_next).max_by_key(|text| text.len()) else {
                return false;
            };
            rest = &rest[text.len() + 1..];
        }
    }
    number > 1 && rest.is_empty()
}

/// What was removed is what the recorder wrote, and each prompt is there, or its handle.
fn is_faithful(run: &Run, source: &Source) -> Checked {
    let mut handles: HashMap<&str, &str> = HashMap::new();
    for (handle, content) in &run.removed {
        let is_said = source.texts.contains(content) || is_a_fold(content, source);
        ensure(is_said, || {
            format!("{handle} is nothing that the file says: {content:.200}")
        })?;
        handles.insert(content, handle);
    }
    let folds: Vec<_> = run
        .removed
        .iter()
        .filter(|(_, content)| content.starts_with(FOLD))
        .collect();
    let mut shown = Vec::new();
    for message in run.result["messages"].as_array().unwrap() {
        if message["role"] == "user" {
            texts(&message["content"], &mut shown);
        }
    }
    for prompt in &source.prompts {
        let folded = folds.iter().filter(|(_, content)| content.contains(prompt.as_str()));
        let own = handles.get(prompt.as_str()).copied();
        let marks: Vec<String> = own
            .into_iter()
            .chain(folded.map(|(handle, _)| handle.as_str()))
            .map(|handle| format!("recall {handle}]"))
            .collect();
        let is_there = |text: &String| text.contains(prompt.as_str()) || marks.iter().any(|mark| text.contains(mark));
        ensure(shown.iter().any(is_there), || {
            format!("a prompt is gone: {prompt:.200}")
        })?;
    }
    Ok(())
}
