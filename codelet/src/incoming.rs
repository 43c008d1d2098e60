//! `--input stream-json`: prompts on standard input, one JSON object per line, for programs that hold a conversation.
//! `docs/scripts.md` describes the lines.

use crate::exit::{Failure, words};
use crate::paint::{bytes, clean, clip};
use codelet_agent::session::Prompt;
use codelet_tools::pictures;
use serde_json::Value;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};

/// The maximum length of a line, in bytes: all images that a prompt may have, and more text than any context window
/// holds.
const LONGEST: u64 = 32 * 1024 * 1024;
/// The polling interval for non-blocking input.
const PAUSE: Duration = Duration::from_millis(20);
/// The maximum characters of a line that an error quotes.
const SHOWN: usize = 60;

/// The lines of standard input, read by a separate thread so that an interruption need not wait for the next line.
pub struct Incoming {
    lines: Receiver<io::Result<Vec<u8>>>,
    /// The number of the last line, from 1.
    number: usize,
}

impl Incoming {
    /// Starts reading.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start() -> io::Result<Self> {
        let (taken, lines) = channel(1);
        let read = move || {
            let mut input = BufReader::new(io::stdin().lock());
            loop {
                let mut line = Vec::new();
                let read = read_line(&mut input, &mut line);
                let is_last = read.is_err() || line.is_empty();
                if line.is_empty() && read.is_ok() || taken.blocking_send(read.map(|()| line)).is_err() || is_last {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("input".to_owned()).spawn(read)?;
        Ok(Incoming { lines, number: 0 })
    }

    /// Returns the next prompt; `None` at the end of the input.
    ///
    /// # Errors
    /// If a line is not a prompt or cannot be read; the message names the line.
    pub async fn next(&mut self) -> Result<Option<Prompt>, Failure> {
        while let Some(line) = self.lines.recv().await {
            self.number += 1;
            let number = self.number;
            let wrong = |why: String| Failure::at("standard input", format!("line {number}: {why}"));
            let line = line.map_err(|error| wrong(words(&error)))?;
            if line.len() as u64 > LONGEST {
                return Err(wrong(format!("longer than {}", bytes(LONGEST))));
            }
            if !line.trim_ascii().is_empty() {
                return prompt(&line).map(Some).map_err(wrong);
            }
        }
        Ok(None)
    }
}

/// Reads one line, up to the point where it is known to be too long.
fn read_line(input: &mut BufReader<io::StdinLock<'_>>, line: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let room = LONGEST + 1 - line.len() as u64;
        match input.take(room).read_until(b'\n', line) {
            Ok(_) => return Ok(()),
            // Another process that shares the input has made it non-blocking.
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
}

/// Parses a prompt: `{"type": "user", "message": {"role": "user", "content": …}}`. Other fields are ignored.
fn prompt(line: &[u8]) -> Result<Prompt, String> {
    let line: Value = serde_json::from_slice(line).map_err(|error| {
        format!(
            "not JSON: {}",
            error.to_string().replace(" at line 1 column", " at column")
        )
    })?;
    expect(&line, "type", "user")?;
    let message = &line["message"];
    if message.get("role").is_some() {
        expect(message, "role", "user")?;
    }
    let (text, images) = match &message["content"] {
        Value::String(text) => (text.clone(), Vec::new()),
        Value::Array(blocks) => content(blocks)?,
        _ => {
            let shape = r#"{"type": "user", "message": {"role": "user", "content": "…"}}"#;
            return Err(format!("no content; expected {shape}"));
        }
    };
    if text.trim().is_empty() {
        return Err("the prompt has no text".to_owned());
    }
    let images = pictures::from_base64(images)?;
    Ok(Prompt {
        text,
        images,
        ..Prompt::default()
    })
}

/// Returns the text of content blocks, and the data of their images.
fn content(blocks: &[Value]) -> Result<(String, Vec<&str>), String> {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for block in blocks {
        match (block["type"].as_str(), block["text"].as_str()) {
            (Some("text"), Some(text)) => texts.push(text),
            (Some("image"), _) => images.push(
                block["source"]["data"]
                    .as_str()
                    .ok_or(r#"an image needs "source": {"type": "base64", "media_type": "…", "data": "…"}"#)?,
            ),
            _ => {
                return Err(format!(
                    "unsupported content block {}; expected text or image",
                    shown(block)
                ));
            }
        }
    }
    Ok((texts.join("\n\n"), images))
}

fn expect(object: &Value, field: &str, value: &str) -> Result<(), String> {
    match &object[field] {
        Value::String(found) if found == value => Ok(()),
        Value::Null => Err(format!(r#"expected an object with "{field}": "{value}""#)),
        found => Err(format!(
            r#"cannot take "{field}": {}; expected "{value}""#,
            shown(found)
        )),
    }
}

fn shown(value: &Value) -> String {
    clean(&clip(&value.to_string(), SHOWN))
}
