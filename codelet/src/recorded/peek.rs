//! A session's title, project, tokens and cost, read from the beginning and end of its file.

use super::Recorded;
use crate::input;
use crate::saved::{self, Note};
use codelet_context::message::{Origin, Part};
use codelet_context::tokens::Tokens;
use codelet_transcript::{Format, Recording};
use rustix::fs::OFlags;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes read from the beginning of a session in JSON lines; more if they do not contain the whole first prompt, …
const HEAD: u64 = 128 * 1024;
/// … from its end, …
const END: u64 = 64 * 1024;
/// … and of a session that is a single object, which cannot be parsed without its end, or whose first prompt is long.
const WHOLE: u64 = 4 * 1024 * 1024;

/// Details of a session.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Peek {
    /// The user's first prompt.
    pub title: Option<String>,
    /// The working directory.
    pub project: Option<String>,
    /// The tokens in the context after the newest recorded request and its reply.
    pub tokens: Option<Tokens>,
    /// The cost recorded by the agent itself, in US dollars, if the whole file was read.
    pub cost: Option<f64>,
}

/// Reads the details of a session; unreadable ones stay empty.
pub fn peek(session: &Recorded) -> Peek {
    match &session.noted {
        Some(noted) => noted.clone(),
        None if session.agent == saved::AGENT => seen_saved(&session.file).unwrap_or_default(),
        None => seen(&session.file).unwrap_or_default(),
    }
}

/// Reads a session saved by Codelet: a single object with metadata at its end.
fn seen_saved(path: &Path) -> io::Result<Peek> {
    let (mut file, _) = input::opened(path, OFlags::NOFOLLOW)?;
    let (_, recording) = beginning(&mut file, HEAD, |head| {
        codelet_transcript::record(head, Some(Format::Anthropic)).ok()
    })?;
    let note = Note::in_file(&mut file).unwrap_or_default();
    let project = note.project.to_string_lossy().into_owned();
    Ok(Peek {
        title: recording.as_ref().and_then(title),
        project: (!project.is_empty()).then_some(project),
        tokens: note.tokens,
        cost: note.cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0),
    })
}

/// Reads the beginning of a session: `first` bytes, and more until they contain the first prompt or are [`WHOLE`].
fn beginning(
    file: &mut File,
    first: u64,
    read: impl Fn(&[u8]) -> Option<Recording>,
) -> io::Result<(Vec<u8>, Option<Recording>)> {
    let mut head = Vec::new();
    let mut most = first;
    loop {
        file.by_ref().take(most - head.len() as u64).read_to_end(&mut head)?;
        let recording = read(&head);
        let is_enough = most >= WHOLE || recording.as_ref().and_then(title).is_some();
        if is_enough || (head.len() as u64) < most {
            return Ok((head, recording));
        }
        most = (most * 4).min(WHOLE);
    }
}

/// Returns the working directory that a recorded conversation names.
pub fn folder_in(bytes: &[u8]) -> Option<String> {
    let is_small = bytes.len() as u64 <= WHOLE;
    let mut head = if is_small { bytes } else { &bytes[..HEAD as usize] }.to_vec();
    if !is_small {
        cut_last_line(&mut head);
    }
    project(&head)
}

fn seen(path: &Path) -> io::Result<Peek> {
    // The file may have been replaced since it was found.
    let (mut file, found) = input::opened(path, OFlags::NOFOLLOW)?;
    let is_lines = path.extension().is_some_and(|ending| ending == "jsonl");
    let first = if is_lines { HEAD } else { WHOLE };
    let read = |bytes: &[u8]| codelet_transcript::record(bytes, None).ok();
    let (mut head, recording) = beginning(&mut file, first, |head| {
        let is_cut = is_lines && (head.len() as u64) < found.len();
        read(if is_cut { whole_lines(head) } else { head })
    })?;
    let is_whole = head.len() as u64 >= found.len();
    let mut end = Vec::new();
    if !is_whole && is_lines {
        cut_last_line(&mut head);
        file.seek(SeekFrom::Start(found.len().saturating_sub(END)))?;
        file.take(END).read_to_end(&mut end)?;
        let line = end
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(end.len(), |at| at + 1);
        end.drain(..line);
    }
    let newest = if is_whole { None } else { read(&end) };
    let tokens = |recording: &Recording| {
        let billed = recording.requests.iter().rev().find_map(|request| request.billed)?;
        Some(billed.usage.prompt() + billed.usage.output)
    };
    let of_newest = match is_whole {
        true => recording.as_ref().and_then(tokens),
        false => newest.as_ref().and_then(tokens),
    };
    Ok(Peek {
        title: recording.as_ref().and_then(title),
        project: project(&head),
        tokens: of_newest,
        cost: is_whole.then(|| cost(&head)).flatten(),
    })
}

/// Returns the text without an incomplete last line.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

/// Removes an incomplete last line.
fn cut_last_line(bytes: &mut Vec<u8>) {
    bytes.truncate(whole_lines(bytes).len());
}

/// Returns the user's first prompt.
fn title(recording: &Recording) -> Option<String> {
    let mut prompts = recording.document.messages.iter().filter(|message| message.is_prompt());
    let own = |part: &Part| match part {
        Part::Text(text) if text.origin == Origin::Own && !text.body.as_str().trim().is_empty() => {
            let text = text.body.as_str().trim();
            // Cline and similar agents wrap the task in a tag.
            let text = text.strip_prefix("<task>").map_or(text, str::trim_start);
            let text = codelet_agent::prompts::typed(text).unwrap_or(text);
            Some(text.chars().take(400).collect())
        }
        _ => None,
    };
    prompts.find_map(|message| message.parts.iter().find_map(own))
}

/// The number of entries at the beginning that may name the folder.
const ENTRIES: usize = 20;

fn project(head: &[u8]) -> Option<String> {
    let lines = head.split(|byte| *byte == b'\n').take(ENTRIES);
    let entries = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let named = entries.into_iter().find_map(|entry| folder(&entry, 3));
    named.or_else(|| {
        // An object that spans several lines.
        let whole: Value = serde_json::from_slice(head).ok()?;
        folder(&whole, 3)
    })
}

/// Returns the folder that an entry names, searching nested objects up to `depth` levels.
fn folder(entry: &Value, depth: usize) -> Option<String> {
    const NAMES: [&str; 4] = ["cwd", "workspaceDirectory", "directory", "workDir"];
    let fields = entry.as_object()?;
    if let Some(named) = NAMES.iter().find_map(|name| fields.get(*name)?.as_str()) {
        return Some(named.to_owned());
    }
    let trees = fields.get("trees").and_then(|trees| trees.get(0));
    if let Some(address) = trees.and_then(|tree| tree.get("uri")).and_then(Value::as_str) {
        return Some(address.trim_start_matches("file://").to_owned());
    }
    let within = fields
        .iter()
        .filter(|(name, _)| *name != "message" && *name != "messages");
    within
        .filter(|_| depth > 0)
        .find_map(|(_, value)| folder(value, depth - 1))
}

/// Returns the sum of the costs that the agent recorded.
fn cost(bytes: &[u8]) -> Option<f64> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut sum = None;
    for entry in lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
        // pi records it with each reply, and older versions of Claude Code did.
        let noted = ["/message/usage/cost/total", "/costUSD"]
            .iter()
            .find_map(|place| entry.pointer(place)?.as_f64());
        if let Some(noted) = noted.filter(|noted| noted.is_finite() && *noted >= 0.0) {
            sum = Some(sum.unwrap_or(0.0) + noted);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn look(name: &str, text: &str) -> Peek {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        seen(&path).unwrap()
    }

    fn entry(id: usize, kind: &str, message: &str) -> String {
        format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"{id}\",\"parentUuid\":{},\"sessionId\":\"s\",\"cwd\":\"/home/ada/w\",\"message\":{message}}}\n",
            if id == 0 {
                "null".to_owned()
            } else {
                format!("\"{}\"", id - 1)
            }
        )
    }

    fn reply(id: usize, tokens: usize, words: &str) -> String {
        let usage = format!("{{\"input_tokens\":2,\"cache_read_input_tokens\":{tokens},\"output_tokens\":8}}");
        entry(
            id,
            "assistant",
            &format!(
                "{{\"id\":\"m{id}\",\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"{words}\"}}],\"usage\":{usage}}}"
            ),
        )
    }

    #[test]
    fn the_head_says_what_it_is_about_and_the_end_what_fills_the_context() {
        let asked = entry(0, "user", "{\"role\":\"user\",\"content\":\"Mend the date test.\"}");
        let short = asked.clone() + &reply(1, 40, "It is mended.");
        let expected = Peek {
            title: Some("Mend the date test.".to_owned()),
            project: Some("/home/ada/w".to_owned()),
            tokens: Some(50),
            cost: None,
        };
        assert_eq!(look("a.jsonl", &short), expected);
        // Much longer than the part that is read.
        let words = "words ".repeat(200);
        let long: String = (1..1_000).map(|id| reply(id, 1_000 * id, &words)).collect();
        assert!(long.len() as u64 > 4 * (HEAD + END));
        let tokens = Some(999_010);
        assert_eq!(look("a.jsonl", &(asked + &long)), Peek { tokens, ..expected });
    }

    #[test]
    fn a_long_first_prompt_is_the_title_too() {
        let long = format!("Mend this log: {}", "a line of it ".repeat(60_000));
        assert!(long.len() as u64 > 4 * HEAD);
        let asked = entry(0, "user", &format!("{{\"role\":\"user\",\"content\":\"{long}\"}}"));
        let seen = look("a.jsonl", &(asked + &reply(1, 40, "Mended.")));
        assert_eq!(seen.title.unwrap(), long[..400]);
        assert_eq!(seen.tokens, Some(50));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("saved.json");
        let message = format!("{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{long}\"}}]}}");
        let note = serde_json::to_string(&Note::default()).unwrap();
        let text = format!("{{\"model\":\"m\",\"messages\":[{message}],\"codelet_session\":{note}}}\n");
        std::fs::write(&path, text).unwrap();
        assert_eq!(seen_saved(&path).unwrap().title.unwrap(), long[..400]);
    }

    #[test]
    fn what_an_agent_says_it_cost_is_added_up_and_what_is_no_session_says_nothing() {
        let reply = "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"assistant\",\"content\":[],\"usage\":{\"input\":1,\"output\":1,\"cost\":{\"total\":0.25}}}}\n";
        assert_eq!(look("p.jsonl", &reply.repeat(3)).cost, Some(0.75));
        assert_eq!(look("x.json", "[[[["), Peek::default());
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.jsonl")).unwrap();
        assert!(seen(&folder.path().join("zero.jsonl")).is_err());
    }
}
