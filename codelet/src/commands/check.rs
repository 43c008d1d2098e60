//! `codelet check`: checks a request against a vendor's rules.

use crate::args::Check;
use crate::exit::{Exit, Failure};
use crate::input::Input;
use crate::output::Output;
use crate::paint::clean;
use codelet_offline::check::check;
use codelet_transcript::vendor::Fault;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Lists the broken rules. The exit status says whether there are any.
///
/// # Errors
/// If the file cannot be read, or is not a request to that vendor.
pub fn run(args: &Check) -> Result<Exit, Failure> {
    let input = Input::read(args.file.as_deref())?;
    let faults = check(&input.bytes, args.vendor).map_err(|problem| Failure::at(&input.name, problem))?;
    Output::Stdout.write(|out| match args.json {
        true => json_list(&faults, out),
        false => lines(&faults, out),
    })?;
    Ok(if faults.is_empty() { Exit::Done } else { Exit::Failed })
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
