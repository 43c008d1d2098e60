//! `--schema`: the final answer is JSON that matches a JSON Schema.

use crate::escaped;
use crate::exit::Failure;
use crate::paint::{clean, clip};
use boon::{CompileError, Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use codelet_agent::answer::AnswerCheck;
use codelet_agent::model::unfenced;
use codelet_text::short::words;
use serde_json::{Number, Value};
use std::error::Error;
use std::path::Path;

/// The base URL of a schema without an `$id`.
const NAME: &str = "schema:///";
/// The maximum number of errors listed, and of characters of each: an answer may be wrong in every line.
const LISTED: usize = 8;
const LONGEST: usize = 300;

/// A parsed and valid JSON Schema.
pub struct Schema {
    value: Value,
    compiled: Schemas,
    root: SchemaIndex,
}

impl Schema {
    /// Parses a schema given as JSON, or as the name of a file that contains it.
    ///
    /// # Errors
    /// If it cannot be read, or is not a JSON Schema.
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
        within_doubles(&value).map_err(|faults| clean(&clip(&words(&faults), LONGEST)))?;
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

    /// Returns the prompt with the schema for its answer. The schema is not part of the system prompt, which stays the
    /// same for every run and is cached with the tools.
    pub fn asked_with(&self, prompt: &str) -> String {
        format!(
            "{prompt}\n\nWhen the work is done, answer with one JSON value that fits the JSON Schema below, and with nothing else: no text \
             around it, no code fence.\n\n{}",
            self.value
        )
    }
}

impl AnswerCheck for Schema {
    /// Returns the JSON on one line, with terminal control characters and invisible characters escaped.
    fn check(&self, answer: &str) -> Result<String, String> {
        let value: Value = serde_json::from_str(unfenced(answer).unwrap_or(answer))
            .map_err(|error| format!("it is not a single JSON value: {error}"))?;
        within_doubles(&value)?;
        match self.compiled.validate(&value, self.root) {
            Err(error) if is_fault(&error) => Err(listed(&error)),
            _ => Ok(escaped::json(&value.to_string())),
        }
    }
}

/// A loader that refuses every URL: a schema with references could otherwise make it read files.
struct Nowhere;

impl UrlLoader for Nowhere {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("only references within the schema are followed".into())
    }
}

/// Explains why a schema is invalid.
fn invalid(error: &CompileError) -> String {
    let why = match error {
        CompileError::ValidationError { src, .. } => listed(src),
        CompileError::LoadUrlError { url, src } => format!("it refers to {}, and {src}", url.replace(NAME, "")),
        other => clip(&words(&other.to_string().replace(NAME, "")), LONGEST),
    };
    // The schema may come from someone else.
    format!("not a valid JSON Schema: {}", clean(&why))
}

/// Lists the errors of a value, each with its place.
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

/// Returns whether the error is real: the validator divides doubles, so it rejects 19.99 as a multiple of 0.01. Below
/// alternatives or a `not`, the effect of such a correction is unknown, so the validator's verdict stands.
fn is_fault(error: &ValidationError<'_, '_>) -> bool {
    match &error.kind {
        ErrorKind::MultipleOf { got, want } => !is_nearly_multiple(got, want),
        ErrorKind::Group | ErrorKind::AllOf | ErrorKind::Schema { .. } | ErrorKind::Reference { .. } => {
            error.causes.is_empty() || error.causes.iter().any(is_fault)
        }
        _ => true,
    }
}

/// Returns whether a number is a multiple of a unit, but for the error of dividing doubles.
fn is_nearly_multiple(number: &Number, unit: &Number) -> bool {
    const ERROR: f64 = 1e-9;
    let quotient = number.as_f64().zip(unit.as_f64()).map(|(number, unit)| number / unit);
    quotient.is_some_and(|quotient| (quotient - quotient.round()).abs() <= ERROR)
}

/// Refuses a value with numbers beyond the range of a double.
fn within_doubles(value: &Value) -> Result<(), String> {
    let mut faults = Vec::new();
    beyond_doubles(value, &mut String::new(), &mut faults);
    match faults.is_empty() {
        true => Ok(()),
        false => Err(joined(faults)),
    }
}

/// Lists the numbers beyond the range of a double, which the validator would let pass every bound, each with its JSON
/// Pointer.
fn beyond_doubles(value: &Value, place: &mut String, faults: &mut Vec<String>) {
    let length = place.len();
    let mut within = |name: &str, value: &Value| {
        place.push('/');
        place.push_str(&name.replace('~', "~0").replace('/', "~1"));
        beyond_doubles(value, place, faults);
        place.truncate(length);
    };
    match value {
        Value::Number(number) if number.as_f64().is_none() => {
            let place = if place.is_empty() { "the value" } else { place };
            faults.push(format!(
                "{place}: the number is beyond what can be checked (at most about 1.8e308)"
            ));
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(at, item)| within(&at.to_string(), item)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| within(name, field)),
        _ => {}
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
