//! The scripted model: has a client read one file after the other with the client's own tools, and finally repeats a
//! word from the first prompt.

use super::client::file;
use codelet_testkit::server::{Behaviour, Billed, Reply, Request, Window, Wire};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Precedes the word that only the first prompt contains.
const BEFORE: &str = "The word to remember is ";
/// The server's tokens per four bytes, as observed in recorded sessions of Claude Code.
const TOKENS: f64 = 1.4;

/// The progress of the task.
#[derive(Default)]
pub struct Progress {
    /// The number of files requested.
    pub asked: usize,
    /// Numbers of files whose text was missing in the following request.
    pub lost: Vec<usize>,
    /// For each request that is a step of the task: its number.
    pub steps: Vec<usize>,
    /// The final answer was given.
    pub is_finished: bool,
}

/// The task, and the word that its final answer depends on.
pub fn prompt(word: &str, steps: usize) -> String {
    format!(
        "{BEFORE}{word}. Read the {steps} files part-000.txt to {} one after the other, all of each, and say the word when you have read the last.",
        file(steps - 1)
    )
}

/// The final answer.
pub fn answer(word: &str) -> String {
    format!("The word is {word}")
}

/// The line that identifies a file's text.
pub fn first_line(number: usize) -> String {
    format!("--- beginning of part {number} ---")
}

/// The server's behaviour. Without a window it refuses nothing, and reports so little usage that no client compacts by
/// itself.
pub fn behaviour(window: Option<u64>, steps: usize, work: &Path, progress: &Arc<Mutex<Progress>>) -> Behaviour {
    let (work, progress) = (work.to_owned(), progress.clone());
    let answer = move |request: &Request| {
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = reply(request, steps, &work, &mut progress);
        match window {
            Some(_) => reply,
            None => reply.billed(Billed {
                fresh: 1_000,
                output: 50,
                ..Billed::default()
            }),
        }
    };
    let behaviour = Behaviour::answering(answer).tokens_per_four_bytes(TOKENS).unchecked();
    match window {
        Some(tokens) => behaviour.window(Window::of(tokens)),
        None => behaviour,
    }
}

fn reply(request: &Request, steps: usize, work: &Path, progress: &mut Progress) -> Reply {
    let has_tools = !request.view().tools.is_empty();
    let call = call(request, progress.asked, work);
    // A side request, such as for a title or a loop check, is no step of the task.
    if let Some(schema) = schema(request.json()) {
        return Reply::text(plain(schema).to_string());
    }
    if has_tools && call.is_none() || !has_tools && !asks_by_hand(request, progress) {
        return Reply::text("Reading files");
    }
    progress.steps.push(request.number);
    if let Some(before) = progress.asked.checked_sub(1)
        && !request.holds(&first_line(before))
    {
        progress.lost.push(before);
    }
    if progress.asked == steps {
        progress.is_finished = true;
        return Reply::text(answer(&remembered(request)));
    }
    progress.asked += 1;
    match call {
        Some((tool, parameters)) => Reply::new()
            .says(format!("File {} of {steps}.", progress.asked))
            .calls(tool, parameters),
        None => Reply::text(format!("File {} of {steps}, please.", progress.asked)),
    }
}

/// The JSON schema that a request asks for, if any.
fn schema(body: &Value) -> Option<&Value> {
    let places = [
        "/generationConfig/responseJsonSchema",
        "/generationConfig/responseSchema",
        "/response_format/json_schema/schema",
        "/text/format/schema",
        "/output_config/format/schema",
    ];
    places.into_iter().find_map(|place| body.pointer(place))
}

/// The simplest value of a schema: "nothing", zero, false.
fn plain(schema: &Value) -> Value {
    let kind = schema["type"].as_str().unwrap_or("object").to_ascii_lowercase();
    match kind.as_str() {
        "string" => schema["enum"].get(0).cloned().unwrap_or_else(|| "nothing".into()),
        "number" | "integer" => 0.into(),
        "boolean" => false.into(),
        "array" => json!([]),
        _ => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields.map(|(name, schema)| (name.clone(), plain(schema))).collect()
        }
    }
}

/// Returns whether a client without tools shows the files by itself.
fn asks_by_hand(request: &Request, progress: &Progress) -> bool {
    progress.asked == 0 || request.holds(&first_line(progress.asked - 1))
}

/// The word, if the request still contains it.
fn remembered(request: &Request) -> String {
    let body = String::from_utf8_lossy(&request.body);
    let word = body.find(BEFORE).map(|at| &body[at + BEFORE.len()..]);
    let word = word.and_then(|rest| rest.split_once('.'));
    word.map_or_else(|| "forgotten".to_owned(), |(word, _)| word.to_owned())
}

/// The next call: of two suitable tools, the one that reads files is used every other time.
fn call(request: &Request, number: usize, work: &Path) -> Option<(String, Value)> {
    let tools = tools(request.wire, request.json());
    let path = work.join(file(number)).display().to_string();
    let reading = tools.iter().find_map(|tool| tool.reading(&path));
    let running = tools.iter().find_map(|tool| tool.running(&format!("cat {path}")));
    match number.is_multiple_of(2) {
        true => reading.or(running),
        false => running.or(reading),
    }
}

/// A tool as declared by a client.
struct Tool<'a> {
    name: &'a str,
    schema: &'a Value,
}

fn tools(wire: Wire, body: &Value) -> Vec<Tool<'_>> {
    let list = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let one = |tool, schema: &'static str| -> Option<Tool<'_>> {
        let tool: &Value = tool;
        Some(Tool {
            name: tool["name"].as_str()?,
            schema: &tool[schema],
        })
    };
    match wire {
        Wire::Anthropic => list.iter().filter_map(|tool| one(tool, "input_schema")).collect(),
        Wire::Responses => list.iter().filter_map(|tool| one(tool, "parameters")).collect(),
        Wire::Chat => list
            .iter()
            .filter_map(|tool| one(&tool["function"], "parameters"))
            .collect(),
        Wire::Gemini => {
            let declared = list
                .iter()
                .filter_map(|tool| tool["functionDeclarations"].as_array())
                .flatten();
            let schema = |tool: &Value| match tool["parameters"].is_null() {
                true => "parametersJsonSchema",
                false => "parameters",
            };
            declared.filter_map(|tool| one(tool, schema(tool))).collect()
        }
    }
}

impl Tool<'_> {
    fn has(&self, key: &str) -> bool {
        self.schema["properties"][key].is_object()
    }

    /// A call that reads a file, if this tool can.
    fn reading(&self, path: &str) -> Option<(String, Value)> {
        let is_reading = matches!(self.name, "Read" | "read" | "read_file");
        let keys = ["file_path", "filePath", "path", "absolute_path"];
        let key = keys.into_iter().find(|key| is_reading && self.has(key))?;
        Some((self.name.to_owned(), json!({ key: path })))
    }

    /// A call that runs a command, if this tool can.
    fn running(&self, command: &str) -> Option<(String, Value)> {
        let names = [
            "Bash", "bash", "exec_command", "shell", "shell_command", "run_shell_command",
        ];
        if !names.contains(&self.name) {
            return None;
        }
        let mut parameters = match ["cmd", "command"].into_iter().find(|key| self.has(key))? {
            key if self.schema["properties"][key]["type"] == "array" => json!({ key: ["bash", "-c", command] }),
            key => json!({ key: command }),
        };
        if self.has("description") {
            parameters["description"] = "Prints the file".into();
        }
        Some((self.name.to_owned(), parameters))
    }
}
