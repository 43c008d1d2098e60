//! `codelet restore`: the original bytes of something that a compaction removed.

use crate::args::Restore;
use crate::escaped;
use crate::exit::Failure;
use crate::input::Input;
use crate::output::Output;
use crate::paint::{clean, clip, count};
use serde_json::Value;
use std::io::IsTerminal as _;
use std::ops::Range;

/// How many handles are named when the one asked for is unknown.
const SUGGESTIONS: usize = 5;

/// Finds the handle and prints what was removed.
///
/// # Errors
/// When the file is not what `--removed` writes, or does not have the handle.
pub fn run(args: &Restore) -> Result<(), Failure> {
    let input = Input::read(Some(&args.file))?;
    let (entries, broken) = entries(&input);
    let Some(content) = find(&entries, &args.handle) else {
        // A line that cannot be read matters only now: it may be the one that is looked for.
        return Err(broken.unwrap_or_else(|| unknown(&input.name, &entries, &args.handle)));
    };
    let piece = args.range.clone().map_or(content, |range| cut(content, range));
    print(piece)
}

/// Prints a text that was removed: its exact bytes, or on a terminal with what that would obey as escapes.
///
/// # Errors
/// When standard output takes no more.
pub(super) fn print(removed: &str) -> Result<(), Failure> {
    Output::Stdout.write(|out| match std::io::stdout().is_terminal() {
        true => out.write_all(escaped::text(removed).as_bytes()),
        false => out.write_all(removed.as_bytes()),
    })
}

struct Entry {
    handle: String,
    content: String,
}

/// The entries that can be read, and what is wrong with the first that cannot.
fn entries(input: &Input) -> (Vec<Entry>, Option<Failure>) {
    let mut entries = Vec::new();
    let mut broken = None;
    for (index, line) in input.bytes.split(|&byte| byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match entry(line) {
            Ok(entry) => entries.push(entry),
            Err(problem) => {
                broken.get_or_insert_with(|| at_line(&input.name, index + 1, &problem));
            }
        }
    }
    (entries, broken)
}

fn at_line(name: &str, line: usize, problem: &str) -> Failure {
    Failure::at(
        name,
        format!(
            r#"line {line}: {problem}, expected {{"handle": "…", "content": "…"}} as `codelet compact --removed` writes it"#
        ),
    )
}

fn entry(line: &[u8]) -> Result<Entry, String> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        if error.is_eof() {
            "the line is incomplete".to_owned()
        } else {
            format!("column {} is not JSON", error.column())
        }
    })?;
    let Value::Object(mut fields) = value else {
        return Err("this is not an object".to_owned());
    };
    let mut text = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("`{name}` is not a string")),
        None => Err(format!("`{name}` is missing")),
    };
    let handle = text("handle")?;
    let content = text("content")?;
    Ok(Entry { handle, content })
}

/// The entry that is meant: by the name as it stands, or by the first word in it that is a handle, so that a marker can be
/// pasted whole.
fn find<'a>(entries: &'a [Entry], asked: &str) -> Option<&'a str> {
    let by_name = |name: &str| {
        entries
            .iter()
            .find(|entry| entry.handle == name)
            .map(|entry| entry.content.as_str())
    };
    by_name(asked.trim())
        .or_else(|| words(asked).find_map(|word| by_name(word).or_else(|| by_name(&word.to_lowercase()))))
}

fn words(asked: &str) -> impl Iterator<Item = &str> {
    asked
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

fn unknown(name: &str, entries: &[Entry], asked: &str) -> Failure {
    let asked = clean(&clip(asked.trim(), 60));
    if entries.is_empty() {
        return Failure::at(name, format!("has no handle {asked}: nothing was removed"));
    }
    let mut near: Vec<(usize, &str)> = entries
        .iter()
        .filter_map(|entry| {
            let distance = words(&asked)
                .map(|word| strsim::osa_distance(word, &entry.handle))
                .min()?;
            (distance * 2 <= entry.handle.len()).then_some((distance, entry.handle.as_str()))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    let named: Vec<String> = near.iter().take(SUGGESTIONS).map(|(_, handle)| clean(handle)).collect();
    let hint = if named.is_empty() {
        let example = entries.first().map_or(String::new(), |entry| clean(&entry.handle));
        format!("; it has {}, such as {example}", count(entries.len(), "handle"))
    } else {
        format!("; did you mean {}?", named.join(", "))
    };
    Failure::at(name, format!("has no handle {asked}{hint}"))
}

fn cut(text: &str, range: Range<usize>) -> &str {
    let start = text.floor_char_boundary(range.start.min(text.len()));
    let end = text.ceil_char_boundary(range.end.clamp(start, text.len()));
    &text[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_can_be_pasted_whole() {
        let entries = [Entry {
            handle: "k3f9a2".to_owned(),
            content: "text".to_owned(),
        }];
        for asked in [
            "k3f9a2",
            " [Read k3f9a2] ",
            "#k3f9a2",
            "recall K3F9A2",
            "[… 4,096 bytes, Recall k3f9a2 …]",
        ] {
            assert_eq!(find(&entries, asked), Some("text"), "{asked}");
        }
        assert_eq!(find(&entries, "k3f9a"), None);
    }

    #[test]
    fn a_range_is_widened_to_whole_characters() {
        assert_eq!(cut("aéb", 2..2), "é");
        assert_eq!(cut("aéb", 1..1), "");
        assert_eq!(cut("aéb", 0..usize::MAX), "aéb");
        assert_eq!(cut("aéb", 9..12), "");
    }
}
