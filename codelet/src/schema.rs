//! `--schema`: the final answer is JSON that fits a JSON Schema.

mod numbers;

use crate::escaped;
use crate::exit::Failure;
use crate::paint::{clean, clip};
use boon::{CompileError, Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use codelet_agent::answer::AnswerCheck;
use codelet_text::short::words;
use serde_json::Value;
use std::error::Error;
use std::path::Path;

/// The name under which the schema knows itself where it gives itself none.
const NAME: &str = "schema:///";
/// Errors that are listed, and characters of each: an answer may be wrong in every line.
const LISTED: usize = 8;
const LONGEST: usize = 300;

/// A JSON Schema that was read and is valid.
pub struct Schema {
    value: Value,
    compiled: Schemas,
    root: SchemaIndex,
}

impl Schema {
    /// Takes the schema itself, or the name of a file that holds it.
    ///
    /// # Errors
    /// When it cannot be read, or is no JSON Schema.
    pub fn read(given: &str) -> Result<Self, Failure> {
        if given.trim_start().starts_with('{') {
            return Schema::parse(given).map_err(|why| Failure::at("--schema", why));
        }
        let path = Path::new(given);
        let text = std::fs::read_to_string(path).map_err(|error| Failure::io(path, &error))?;
        Schema::parse(&text).map_err(|why| Failure::at(given, why))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        if !value.is_object() {
            return Err("not a JSON Schema: expected an object".to_owned());
        }
        numbers::comparable(&value).map_err(|why| clean(&clip(&words(&why), LONGEST)))?;
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        compiler.use_loader(Box::new(Nowhere));
        let mut compiled = Schemas::new();
        let added = compiler.add_resource(NAME, value.clone());
        added.map_err(|error| invalid(&error))?;
        let root = compiler.compile(NAME, &mut compiled);
        let root = root.map_err(|error| invalid(&error))?;
        Ok(Schema { value, compiled, root })
    }

    /// The prompt, with what its answer has to be. It stands there and not in the system prompt, which stays the same for every
    /// run and is cached with the tools.
    pub fn asked_with(&self, prompt: &str) -> String {
        format!(
            "{prompt}\n\nWhen the work is done, answer with one JSON value that fits the JSON Schema below, and with nothing else: no text \
             around it, no code fence.\n\n{}",
            self.value
        )
    }
}

impl AnswerCheck for Schema {
    /// The JSON is handed on in one line, with what a terminal would obey and what nobody sees as escapes.
    fn check(&self, answer: &str) -> Result<String, String> {
        let value: Value = serde_json::from_str(unfenced(answer))
            .map_err(|error| format!("it is not a single JSON value: {error}"))?;
        let undecidable = numbers::undecidable(&value, &self.value);
        if !undecidable.is_empty() {
            return Err(joined(undecidable));
        }
        match self.compiled.validate(&value, self.root) {
            Err(error) if is_fault(&error) => Err(listed(&error)),
            _ => Ok(escaped::json(&value.to_string())),
        }
    }
}

/// Opens nothing: a schema that names others could be made to read files.
struct Nowhere;

impl UrlLoader for Nowhere {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("only references within the schema are followed".into())
    }
}

/// An answer that is one code fence, without the fence: many models cannot leave it out.
fn unfenced(answer: &str) -> &str {
    let answer = answer.trim();
    let inner = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some(("" | "json", inner)) => inner,
        _ => answer,
    }
}

/// Why a schema is none.
fn invalid(error: &CompileError) -> String {
    let why = match error {
        CompileError::ValidationError { src, .. } => listed(src),
        CompileError::LoadUrlError { url, src } => format!("it refers to {}, and {src}", url.replace(NAME, "")),
        other => clip(&words(&other.to_string().replace(NAME, "")), LONGEST),
    };
    // Somebody else may have written it.
    format!("not a valid JSON Schema: {}", clean(&why))
}

/// What is wrong with a value: each fault with its place.
fn listed(error: &ValidationError<'_, '_>) -> String {
    let mut faults = Vec::new();
    gather(error, &mut faults);
    joined(faults)
}

fn joined(mut faults: Vec<String>) -> String {
    let more = faults.len().saturating_sub(LISTED);
    faults.truncate(LISTED);
    if more > 0 {
        faults.push(format!("and {more} more"));
    }
    faults.join("; ")
}

/// Whether a value does not fit: the validator divides doubles, and takes 19.99 for no multiple of 0.01. Where alternatives or a `not` stand
/// above that, what they would have said otherwise is not known, and its word holds.
fn is_fault(error: &ValidationError<'_, '_>) -> bool {
    match &error.kind {
        ErrorKind::MultipleOf { got, want } => !numbers::is_multiple(got, want),
        ErrorKind::Group | ErrorKind::AllOf | ErrorKind::Schema { .. } | ErrorKind::Reference { .. } => {
            error.causes.is_empty() || error.causes.iter().any(is_fault)
        }
        _ => true,
    }
}

fn gather(error: &ValidationError<'_, '_>, faults: &mut Vec<String>) {
    if !is_fault(error) {
        return;
    }
    for cause in &error.causes {
        gather(cause, faults);
    }
    if !error.causes.is_empty() {
        return;
    }
    let place = error.instance_location.to_string();
    let place = if place.is_empty() {
        "the value".to_owned()
    } else {
        place
    };
    let fault = clip(&words(&format!("{place}: {}", error.kind)), LONGEST);
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}
