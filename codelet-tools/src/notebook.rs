//! Notebooks as text: their cells with their outputs.

use crate::text;
use codelet_text::printed::Cleaner;
use codelet_text::short::counted;
use serde_json::Value;

/// Bytes of an output that are shown, of its beginning and its end.
const HEAD: usize = 6 * 1024;
const TAIL: usize = 2 * 1024;
/// Text formats, the most readable first: an output in several formats is shown in the first of these.
const KINDS: [&str; 6] = [
    "text/plain", "text/markdown", "text/latex", "application/json", "image/svg+xml", "text/html",
];

/// A notebook in readable form.
pub(crate) struct Notebook {
    pub text: String,
    /// A short description.
    pub what: String,
}

impl Notebook {
    /// Parses a file's bytes; `None` if they are not a notebook.
    pub(crate) fn of(bytes: &[u8]) -> Option<Notebook> {
        let notebook: Value = serde_json::from_slice(text::unmarked(bytes)).ok()?;
        let cells: Vec<&Value> = match notebook["cells"].as_array() {
            Some(cells) => cells.iter().collect(),
            // Before format 4, cells were in worksheets.
            None => notebook["worksheets"]
                .as_array()?
                .iter()
                .flat_map(|sheet| sheet["cells"].as_array())
                .flatten()
                .collect(),
        };
        let metadata = &notebook["metadata"];
        let language = [&metadata["language_info"]["name"], &metadata["kernelspec"]["language"]];
        let language = language.into_iter().find_map(Value::as_str);
        let language = language.map_or_else(String::new, |language| format!(" in {language}"));
        Some(Notebook {
            what: format!("a notebook{language} with {}", counted(cells.len(), "cell")),
            text: cells.iter().enumerate().map(|(at, cell)| shown(at + 1, cell)).collect(),
        })
    }
}

fn shown(number: usize, cell: &Value) -> String {
    let kind = cell["cell_type"].as_str().unwrap_or("of no kind");
    let run = [&cell["execution_count"], &cell["prompt_number"]];
    let run = run.into_iter().find_map(Value::as_u64);
    let run = run.map_or_else(String::new, |run| format!(", run {run}"));
    let source = joined(&cell["source"]).or_else(|| joined(&cell["input"]));
    let mut out = format!("[cell {number}: {kind}{run}]\n");
    push(&mut out, &source.unwrap_or_default());
    for output in cell["outputs"].as_array().into_iter().flatten() {
        out.push_str("[output]\n");
        push(&mut out, &printed(output));
    }
    out
}

/// Appends a text with a line end.
fn push(out: &mut String, text: &str) {
    out.push_str(text);
    if !text.is_empty() && !text.ends_with('\n') {
        out.push('\n');
    }
}

/// The text of an output without terminal codes, and the kinds of images that accompany it.
fn printed(output: &Value) -> String {
    let mut out = String::new();
    let traceback = output["traceback"].as_array();
    if let Some(lines) = traceback.filter(|lines| !lines.is_empty()) {
        let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
        push(&mut out, &bounded(&lines.join("\n")));
    } else if let Some(name) = output["ename"].as_str() {
        let said = output["evalue"].as_str().unwrap_or_default();
        push(&mut out, &bounded(&format!("{name}: {said}")));
    } else if let Some(text) = joined(&output["text"]) {
        push(&mut out, &bounded(&text));
    }
    let data = &output["data"];
    if let Some((_, text)) = KINDS.iter().find_map(|kind| Some((kind, joined(&data[kind])?))) {
        push(&mut out, &bounded(&text));
    }
    for (kind, picture) in data.as_object().into_iter().flatten() {
        if kind.starts_with("image/") && !KINDS.contains(&kind.as_str()) {
            let size = joined(picture).unwrap_or_default().len() / 4 * 3;
            out.push_str(&format!("[a picture: {kind}, about {}]\n", counted(size, "byte")));
        }
    }
    out
}

/// A text stored as one string or line by line; other data as JSON.
fn joined(text: &Value) -> Option<String> {
    match text {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) if lines.iter().all(Value::is_string) => {
            Some(lines.iter().filter_map(Value::as_str).collect())
        }
        data => Some(data.to_string()),
    }
}

fn bounded(text: &str) -> String {
    let mut cleaner = Cleaner::default();
    let text = cleaner.push(text.as_bytes()) + &cleaner.finish();
    if text.len() <= HEAD + TAIL {
        return text;
    }
    let (head, tail) = (
        text.floor_char_boundary(HEAD),
        text.ceil_char_boundary(text.len() - TAIL),
    );
    let left_out = counted(tail - head, "byte");
    format!(
        "{}\n[{left_out} of this output are left out]\n{}",
        &text[..head],
        &text[tail..]
    )
}
