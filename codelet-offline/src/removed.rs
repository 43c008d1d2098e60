//! The removed content of a conversation, as JSON Lines that are stored next to it, and read back by handle.

use codelet_context::body::Body;
use codelet_context::recall::Archive;
use codelet_text::near::distance;
use serde_json::Value;
use std::io::{self, Write};
use std::ops::Range;
use thiserror::Error;

/// A removed text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The handle in its place.
    pub handle: String,
    /// The text, byte for byte.
    pub content: String,
}

/// Writes removed content, one line per text; [`entries`] reads it.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(archive: &Archive, out: &mut dyn Write) -> io::Result<()> {
    for (handle, removed) in archive.iter() {
        out.write_all(b"{\"handle\":")?;
        serde_json::to_writer(&mut *out, handle.as_str())?;
        out.write_all(b",\"content\":")?;
        serde_json::to_writer(&mut *out, removed.body.as_str())?;
        out.write_all(b"}\n")?;
    }
    Ok(())
}

/// Returns an archive of the texts in lines that [`write()`] wrote.
///
/// # Errors
/// If there is any other line.
pub fn archive(lines: &[u8]) -> Result<Archive, Broken> {
    let (entries, broken) = entries(lines);
    if let Some(broken) = broken {
        return Err(broken);
    }
    let mut archive = Archive::default();
    for Entry { content, .. } in entries {
        archive.keep(&Body::from(content), "text", "an earlier compaction");
    }
    Ok(archive)
}

/// Returns removed content, in the order of handles.
pub fn of(archive: &Archive) -> Vec<Entry> {
    let entries = archive.iter().map(|(handle, removed)| Entry {
        handle: handle.as_str().to_owned(),
        content: removed.body.as_str().to_owned(),
    });
    entries.collect()
}

/// A line that was not written by [`write()`].
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}: {problem}")]
pub struct Broken {
    /// Counted from 1.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

/// Returns the texts that can be read, and the first line that cannot.
pub fn entries(lines: &[u8]) -> (Vec<Entry>, Option<Broken>) {
    let mut entries = Vec::new();
    let mut broken = None;
    for (index, line) in lines.split(|&byte| byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match entry(line) {
            Ok(entry) => entries.push(entry),
            Err(problem) => {
                broken.get_or_insert(Broken {
                    line: index + 1,
                    problem,
                });
            }
        }
    }
    (entries, broken)
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

/// Returns the requested text: by its exact handle, or by the first word in the request that is a handle, so that a
/// whole marker can be pasted.
pub fn find<'a>(entries: &'a [Entry], asked: &str) -> Option<&'a str> {
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

/// Returns the text of a handle, or of a marker that names one, from lines that [`write()`] wrote; `None` if there is
/// no such handle.
///
/// # Errors
/// If it is not found, and a line cannot be read, which may be the one requested.
pub fn restore(lines: &[u8], asked: &str) -> Result<Option<String>, Broken> {
    let (entries, broken) = entries(lines);
    match (find(&entries, asked), broken) {
        (Some(text), _) => Ok(Some(text.to_owned())),
        (None, Some(broken)) => Err(broken),
        (None, None) => Ok(None),
    }
}

/// Returns the handles most similar to one that does not exist, nearest first.
pub fn near<'a>(entries: &'a [Entry], asked: &str) -> Vec<&'a str> {
    let mut near: Vec<(usize, &str)> = entries
        .iter()
        .filter_map(|entry| {
            let distance = words(asked).map(|word| distance(word, &entry.handle)).min()?;
            (distance * 2 <= entry.handle.len()).then_some((distance, entry.handle.as_str()))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().map(|(_, handle)| handle).collect()
}

/// Returns the text in a byte range, widened to whole characters.
pub fn cut(text: &str, range: Range<usize>) -> &str {
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
        assert_eq!(near(&entries, "k3f9a"), ["k3f9a2"]);
    }

    #[test]
    fn a_range_is_widened_to_whole_characters() {
        assert_eq!(cut("aéb", 2..2), "é");
        assert_eq!(cut("aéb", 1..1), "");
        assert_eq!(cut("aéb", 0..usize::MAX), "aéb");
        assert_eq!(cut("aéb", 9..12), "");
    }
}
