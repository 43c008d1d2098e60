//! `Recall`: what was removed from the conversation, byte for byte.

use crate::arguments;
use crate::removed;
use crate::text::count_lines;
use crate::tool_context::spec;
use codelet_agent::model::ToolSpec;
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::Parameters;
use codelet_context::recall::{Archive, Removed};
use codelet_text::short::grouped;
use futures_util::future::{self, BoxFuture};
use serde_json::json;
use std::ops::Range;

/// Bytes that are given back where no range is asked for, and at most.
const USUAL: usize = 20_000;
const MOST: usize = 48 * 1024;
/// Handles that are named where one is unknown.
const NAMED: usize = 5;

const NOTHING: &str = "nothing was removed from this conversation yet";

/// The tool.
pub(crate) struct Recall {
    spec: ToolSpec,
}

impl Recall {
    pub(crate) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "handle": {"type": "string"},
                "range": {"type": "string", "description": "\"lines 200-400\" or \"bytes 20000-40000\""},
                "search": {"type": "string", "description": "regular expression, any case"},
            },
        });
        Recall {
            spec: spec("Recall", include_str!("recall.md"), parameters),
        }
    }
}

/// A part of a text; ends are exclusive.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    /// Counted from 0.
    Bytes(Range<usize>),
    /// Counted from 0.
    Lines(Range<usize>),
}

fn part(parameters: &Parameters) -> Result<Option<Part>, String> {
    let Some(range) = arguments::optional_text(parameters, "range")? else {
        return Ok(None);
    };
    let wrong = || "`range` has to be like `lines 200-400` or `bytes 20000-40000`".to_owned();
    let (unit, numbers) = match range.trim().split_once(|c: char| c.is_whitespace() || c == ':') {
        Some((unit, numbers)) => (unit, numbers.trim()),
        None => ("lines", range.trim()),
    };
    let number = |text: &str| {
        text.trim()
            .replace([',', '_'], "")
            .parse::<usize>()
            .map_err(|_| wrong())
    };
    let (from, to) = match numbers.split_once(['-', '–']) {
        Some((from, to)) if to.trim().is_empty() => (number(from)?, usize::MAX),
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(numbers)?, number(numbers)?),
    };
    if to < from {
        return Err(wrong());
    }
    match unit {
        "bytes" | "byte" => Ok(Some(Part::Bytes(from..to))),
        // Lines are counted from 1, and the last one belongs to the range.
        "lines" | "line" => Ok(Some(Part::Lines(from.saturating_sub(1)..to))),
        _ => Err(wrong()),
    }
}

/// The handle, also where it was copied with what stands around it; `None` where all is searched.
fn handle(parameters: &Parameters) -> Result<Option<&str>, String> {
    let text = match sought(parameters)? {
        Some(_) => arguments::optional_text(parameters, "handle")?.unwrap_or_default(),
        None => arguments::text(parameters, "handle")?,
    };
    let text = text.trim();
    let last = text.rsplit(char::is_whitespace).next().unwrap_or(text);
    let last = last.trim_matches(['[', ']', '`', '"', '\'']);
    Ok(Some(last).filter(|handle| !handle.is_empty() || sought(parameters) == Ok(None)))
}

/// What is searched for. A model that fills in every parameter may leave it empty.
fn sought(parameters: &Parameters) -> Result<Option<&str>, String> {
    let pattern = arguments::optional_text(parameters, "search")?;
    Ok(pattern.filter(|pattern| !pattern.trim().is_empty()))
}

impl Tool for Recall {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        handle(parameters)?;
        part(parameters)?;
        sought(parameters)?.map(removed::matcher).transpose()?;
        Ok(Vec::new())
    }

    fn describe(&self, parameters: &Parameters) -> String {
        let handle = handle(parameters).ok().flatten().unwrap_or_default();
        let (of, range) = match sought(parameters).ok().flatten() {
            Some(pattern) => (pattern, Some(handle)),
            None => (handle, parameters.str("range")),
        };
        match range.filter(|range| !range.is_empty()) {
            Some(range) => format!("{of}, {range}"),
            None => of.to_owned(),
        }
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        let output = answer(call.conversation.archive(), call.parameters).unwrap_or_else(Output::failure);
        Box::pin(future::ready(output))
    }
}

fn answer(archive: &Archive, parameters: &Parameters) -> Result<Output, String> {
    let (handle, part) = (handle(parameters)?, part(parameters)?);
    let matcher = sought(parameters)?.map(removed::matcher).transpose()?;
    let found = match handle {
        Some(handle) => Some((handle, archive.get(handle).ok_or_else(|| unknown(archive, handle))?)),
        None if archive.is_empty() => return Err(NOTHING.to_owned()),
        None => None,
    };
    match (found, matcher) {
        (found, Some(matcher)) => Ok(removed::search(archive, &matcher, found)),
        (Some((handle, removed)), None) => Ok(recall(handle, removed, part)),
        (None, None) => Err("`handle` or `search` is missing".to_owned()),
    }
}

fn recall(handle: &str, removed: &Removed, part: Option<Part>) -> Output {
    let text = removed.body.as_str();
    let asked = match part {
        // The very same text: where it is removed once more, it keeps its handle.
        None if text.len() <= USUAL => return Output::success(removed.body.clone()),
        None => 0..USUAL,
        Some(Part::Bytes(range)) => range.start..range.end.min(range.start.saturating_add(MOST)),
        Some(Part::Lines(lines)) => {
            let range = bytes_of(text, &lines);
            range.start..range.end.min(range.start.saturating_add(MOST))
        }
    };
    if asked.start >= text.len() {
        return Output::failure(format!(
            "{handle} has {} bytes in {} lines; the range begins after their end",
            grouped(text.len()),
            grouped(count_lines(text.as_bytes()))
        ));
    }
    let start = text.floor_char_boundary(asked.start);
    let mut end = text
        .floor_char_boundary(asked.end.min(text.len()))
        .max(text.ceil_char_boundary(start + 1));
    // Whole lines, unless one takes most of the room.
    if end < text.len()
        && let Some(at) = text[start..end].rfind('\n')
        && at + 1 > (end - start) / 2
    {
        end = start + at + 1;
    }
    let shown = &text[start..end];
    let first = text[..start].matches('\n').count() + 1;
    let last = first + count_lines(shown.as_bytes()).saturating_sub(1);
    let mut out = shown.to_owned();
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&format!(
        "[bytes {start}-{end} of {} (lines {first}-{last} of {})",
        text.len(),
        count_lines(text.as_bytes())
    ));
    if end < text.len() {
        let next = end.saturating_add(USUAL).min(text.len());
        out.push_str(&format!("; range \"bytes {end}-{next}\" goes on"));
    }
    out.push_str("]\n");
    Output::success(out)
}

fn bytes_of(text: &str, lines: &Range<usize>) -> Range<usize> {
    let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let start = starts.nth(lines.start).unwrap_or(text.len());
    let end = match lines.len() {
        0 => start,
        count => starts.nth(count - 1).unwrap_or(text.len()),
    };
    start..end
}

fn unknown(archive: &Archive, handle: &str) -> String {
    if archive.is_empty() {
        return NOTHING.to_owned();
    }
    // What is far longer than a handle is near to none.
    let asked = &handle[..handle.ceil_char_boundary(40)];
    let mut near: Vec<(usize, &str)> = archive
        .iter()
        .map(|(other, _)| (strsim::osa_distance(asked, other.as_str()), other.as_str()))
        .collect();
    near.sort_unstable();
    let named: Vec<&str> = near
        .iter()
        .filter(|(distance, _)| *distance <= 2)
        .take(NAMED)
        .map(|(_, handle)| *handle)
        .collect();
    let named = match named.is_empty() {
        true => String::new(),
        false => format!("; similar ones: {}", named.join(", ")),
    };
    format!(
        "there is nothing under {asked}{named}. Handles stand in the brackets left where something was removed; \
         `search` finds them by what was said"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use codelet_context::body::Body;
    use proptest::prelude::*;

    fn kept(text: &str) -> (Archive, String) {
        let mut archive = Archive::default();
        let handle = archive.keep(&Body::new(text), "Bash", "test");
        (archive, handle.as_str().to_owned())
    }

    fn asked(value: serde_json::Value) -> Parameters {
        Parameters::new(value.as_object().unwrap().clone())
    }

    fn given(archive: &Archive, handle: &str, part: Option<Part>) -> Output {
        recall(handle, archive.get(handle).unwrap(), part)
    }

    #[test]
    fn a_handle_or_words_to_search_for_are_asked_for_and_both_search_in_one_text() {
        let (archive, handle) = kept("one\ntwo\n");
        assert!(answer(&archive, &asked(json!({}))).is_err());
        assert!(answer(&archive, &asked(json!({"handle": "", "search": ""}))).is_err());
        let found = answer(&archive, &asked(json!({"handle": "", "search": "TWO"}))).unwrap();
        assert!(found.text.as_str().contains(&handle), "{}", found.text);
        let within = answer(&archive, &asked(json!({"handle": handle, "search": "two"}))).unwrap();
        assert!(within.text.as_str().contains("2: two"), "{}", within.text);
        assert!(answer(&archive, &asked(json!({"handle": "nosuch", "search": "two"}))).is_err());
        assert!(answer(&Archive::default(), &asked(json!({"search": "two"}))).is_err());
    }

    fn ranged(range: &str) -> Option<Part> {
        let value = json!({"handle": "x", "range": range});
        part(&Parameters::new(value.as_object().unwrap().clone())).unwrap()
    }

    #[test]
    fn a_short_text_comes_back_as_it_was() {
        let (archive, handle) = kept("exactly\nthis");
        let output = given(&archive, &handle, None);
        assert_eq!(output.text, archive.get(&handle).unwrap().body);
    }

    #[test]
    fn a_long_text_comes_back_in_parts_that_join() {
        let text: String = (1..=9000).map(|n| format!("line {n}\n")).collect();
        let (archive, handle) = kept(&text);
        let mut range = None;
        let mut joined = String::new();
        loop {
            let output = given(&archive, &handle, range);
            let shown = output.text.as_str();
            let (body, note) = shown.rsplit_once("[bytes ").unwrap();
            joined.push_str(body);
            let Some((_, next)) = note.split_once("range \"") else {
                break;
            };
            range = ranged(next.split('"').next().unwrap());
        }
        assert_eq!(joined, text);
        let output = given(&archive, &handle, ranged("lines 5-6"));
        assert_eq!(
            output.text.as_str(),
            "line 5\nline 6\n[bytes 28-42 of 88893 (lines 5-6 of 9000); range \"bytes 42-20042\" goes on]\n"
        );
        assert!(!given(&archive, &handle, ranged("9001-")).success);
    }

    #[test]
    fn an_unknown_handle_gets_the_similar_ones() {
        let (archive, handle) = kept("text");
        let wrong = format!("{}!", &handle[..5]);
        let told = |archive: &Archive, handle: &str| answer(archive, &asked(json!({"handle": handle}))).unwrap_err();
        assert!(told(&archive, &wrong).contains(&handle));
        assert!(!told(&archive, "entirely").contains("similar"));
        assert!(told(&Archive::default(), "x").contains("nothing was removed"));
    }

    #[test]
    fn a_handle_is_found_in_what_stands_around_it() {
        for text in [
            "k3f9a2",
            "[k3f9a2]",
            "recall k3f9a2",
            "`k3f9a2`",
            "[Bash output, 9 bytes · recall k3f9a2]",
        ] {
            let value = json!({"handle": text});
            assert_eq!(
                handle(&Parameters::new(value.as_object().unwrap().clone())),
                Ok(Some("k3f9a2"))
            );
        }
    }

    proptest! {
        #[test]
        fn any_range_of_any_text_is_answered(text in "[a-zä€\n]{1,60}", unit in "lines|bytes|", from in 0usize..80, length in 0usize..80) {
            let (archive, handle) = kept(&text);
            let part = ranged(&format!("{unit} {from}-{}", from + length));
            let output = given(&archive, &handle, part);
            if output.success {
                let (body, _) = output.text.as_str().rsplit_once("[bytes ").unwrap();
                prop_assert!(text.contains(body.trim_end_matches('\n')));
            }
        }
    }
}
