//! `codelet check`: whether a vendor would take a request, and where it breaks a rule.

use crate::args::Check;
use crate::exit::{Exit, Failure};
use crate::input::Input;
use crate::output::Output;
use crate::paint::clean;
use codelet_transcript::Format;
use codelet_transcript::vendor::{self, Fault};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Lists what is wrong. The status says whether anything is.
///
/// # Errors
/// When the file cannot be read, or is no request of that vendor.
pub fn run(args: &Check) -> Result<Exit, Failure> {
    let input = Input::read(args.file.as_deref())?;
    let form = form(args.vendor, &input)?;
    let request: Value = serde_json::from_slice(&input.bytes).map_err(|error| {
        Failure::at(
            &input.name,
            format!("is not JSON ({error}); expected a request of {form}"),
        )
    })?;
    let list = vendor::list_of(form);
    if !request.is_array() && request.get(list).is_none() {
        let problem = format!("is not a request of {form}: expected an object with `{list}`, or that list");
        return Err(Failure::at(&input.name, problem));
    }
    let faults = vendor::check(&request, form);
    Output::Stdout.write(|out| match args.json {
        true => json_list(&faults, out),
        false => lines(&faults, out),
    })?;
    Ok(if faults.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Whose rules count.
fn form(asked: Option<Format>, input: &Input) -> Result<Format, Failure> {
    let found = || codelet_transcript::detect(&input.bytes);
    match asked.or_else(found) {
        Some(form) if !vendor::list_of(form).is_empty() => Ok(form),
        Some(form) => {
            let problem = format!("is a recording ({form}), not a request; `codelet compact --to V` converts it");
            Err(Failure::at(&input.name, problem))
        }
        None => Err(Failure::at(
            &input.name,
            "is not a known kind of request; name its vendor with --vendor",
        )),
    }
}

fn lines(faults: &[Fault], out: &mut dyn Write) -> io::Result<()> {
    faults
        .iter()
        .try_for_each(|fault| writeln!(out, "{}: {}", clean(&fault.place), clean(&fault.sentence)))
}

fn json_list(faults: &[Fault], out: &mut dyn Write) -> io::Result<()> {
    let one = |fault: &Fault| json!({"place": fault.place, "sentence": fault.sentence});
    let list: Vec<Value> = faults.iter().map(one).collect();
    writeln!(out, "{:#}", Value::from(list))
}
