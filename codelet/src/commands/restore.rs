//! `codelet restore`: prints the original bytes of text that a compaction removed.

use crate::args::Restore;
use crate::escaped;
use crate::exit::Failure;
use crate::input::Input;
use crate::output::Output;
use crate::paint::{clean, clip, count};
use codelet_offline::removed::{self, Broken, Entry};
use std::io::IsTerminal as _;

/// The number of handles suggested for an unknown one.
const SUGGESTIONS: usize = 5;

/// Finds the handle and prints the removed text.
///
/// # Errors
/// If the file was not written by `--removed`, or does not contain the handle.
pub fn run(args: &Restore) -> Result<(), Failure> {
    let input = Input::read(Some(&args.file))?;
    let (entries, broken) = removed::entries(&input.bytes);
    let Some(content) = removed::find(&entries, &args.handle) else {
        // An unreadable line matters only now: it may contain the handle.
        return Err(match broken {
            Some(broken) => at_line(&input.name, &broken),
            None => unknown(&input.name, &entries, &args.handle),
        });
    };
    let piece = args.range.clone().map_or(content, |range| removed::cut(content, range));
    print(piece)
}

/// Prints a removed text: its exact bytes, or on a terminal with control sequences escaped.
///
/// # Errors
/// If standard output cannot be written.
pub(super) fn print(removed: &str) -> Result<(), Failure> {
    Output::Stdout.write(|out| match std::io::stdout().is_terminal() {
        true => out.write_all(escaped::text(removed).as_bytes()),
        false => out.write_all(removed.as_bytes()),
    })
}

fn at_line(name: &str, Broken { line, problem }: &Broken) -> Failure {
    Failure::at(
        name,
        format!(
            r#"line {line}: {problem}, expected {{"handle": "…", "content": "…"}} as `codelet compact --removed` writes it"#
        ),
    )
}

fn unknown(name: &str, entries: &[Entry], asked: &str) -> Failure {
    let asked = clean(&clip(asked.trim(), 60));
    if entries.is_empty() {
        return Failure::at(name, format!("has no handle {asked}: nothing was removed"));
    }
    let near = removed::near(entries, &asked);
    let named: Vec<String> = near.into_iter().take(SUGGESTIONS).map(clean).collect();
    let hint = if named.is_empty() {
        let example = entries.first().map_or(String::new(), |entry| clean(&entry.handle));
        format!("; it has {}, such as {example}", count(entries.len(), "handle"))
    } else {
        format!("; did you mean {}?", named.join(", "))
    };
    Failure::at(name, format!("has no handle {asked}{hint}"))
}
