//! The server's replies, independent of the wire, and how they are chosen.

use super::fault::{Fault, Refusal};
use super::gate::Gate;
use serde_json::Value;
use std::time::Duration;

/// One part of a reply, in order.
#[derive(Clone, PartialEq, Debug)]
pub enum Said {
    /// Text for the user.
    Text(String),
    /// Thinking in plain text. The server signs it like the vendor.
    Thinking(String),
    /// Encrypted thinking. Chat has no such thing and leaves it out.
    Redacted,
    /// A block of the vendor's own tools, verbatim. Only supported on Anthropic's wire.
    Own(Value),
    /// A tool call.
    Call {
        /// Its id; if none, the server makes one up in the vendor's form.
        id: Option<String>,
        /// The tool.
        tool: String,
        /// The parameters as streamed text: JSON, or a part of it.
        arguments: String,
    },
}

/// The reason for the end of a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stop {
    /// Complete: the vendor's value for calls if there are any, otherwise for a normal end.
    #[default]
    Complete,
    /// The output limit is reached.
    Length,
    /// The context window is full. Only Anthropic distinguishes it from the output limit.
    WindowFull,
    /// The vendor pauses a long turn. Other wires than Anthropic's have no such value and end normally.
    Pause,
    /// The model declines.
    Refusal,
}

/// The usage of a reply, in tokens. The first four never overlap, and `reasoning` is a part of `output`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Billed {
    /// Prompt tokens neither read from nor written to the cache.
    pub fresh: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache for five minutes.
    pub write_5m: u64,
    /// Prompt tokens written to the cache for an hour.
    pub write_1h: u64,
    /// Tokens of the reply, thinking included.
    pub output: u64,
    /// Tokens of thinking.
    pub reasoning: u64,
}

impl Billed {
    /// The whole prompt.
    pub fn prompt(self) -> u64 {
        self.fresh + self.cache_read + self.write_5m + self.write_1h
    }

    /// The tokens written to the cache, with any lifetime.
    pub fn cache_write(self) -> u64 {
        self.write_5m + self.write_1h
    }

    /// The share of the prompt that was read from the cache, 0 to 1.
    pub fn hit_share(self) -> f64 {
        self.cache_read as f64 / (self.prompt().max(1)) as f64
    }
}

/// A reply of the server: its content, pace and faults.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// The content. An empty list is an empty answer in an otherwise complete stream.
    pub parts: Vec<Said>,
    /// The reported usage; by default, the server's own count and cache.
    pub usage: Option<Billed>,
    /// The reason for its end.
    pub stop: Stop,
    /// The fault.
    pub fault: Option<Fault>,
    /// The gates at which it waits.
    pub gates: Vec<Gate>,
    /// The time before each frame, for tests of real time. Prefer gates.
    pub pace: Duration,
    /// Bytes of text or arguments per frame; 0 means [`FRAGMENT`].
    pub fragment: usize,
    /// Frames are written in pieces of this many bytes, each after `pace`; 0 writes them whole.
    pub drip: usize,
}

/// The default bytes of text or arguments per frame.
pub const FRAGMENT: usize = 24;

impl Reply {
    /// An empty reply.
    pub fn new() -> Self {
        Reply::default()
    }

    /// A reply of only text: the usual last reply of a task.
    pub fn text(words: impl Into<String>) -> Self {
        Reply::new().says(words)
    }

    /// A reply of only one call: the usual step of a task.
    pub fn call(tool: impl Into<String>, parameters: Value) -> Self {
        Reply::new().calls(tool, parameters)
    }

    /// An HTTP refusal in the vendor's form.
    pub fn status(status: u16) -> Self {
        Reply::new().failing(Fault::Refuse(Refusal::status(status)))
    }

    /// Adds text.
    pub fn says(mut self, words: impl Into<String>) -> Self {
        self.parts.push(Said::Text(words.into()));
        self
    }

    /// Adds thinking in plain text.
    pub fn thinks(mut self, words: impl Into<String>) -> Self {
        self.parts.push(Said::Thinking(words.into()));
        self
    }

    /// Adds encrypted thinking.
    pub fn thinks_unseen(mut self) -> Self {
        self.parts.push(Said::Redacted);
        self
    }

    /// Adds a search by the vendor's own tool with this id.
    pub fn searches(mut self, id: &str, query: &str) -> Self {
        let input = serde_json::json!({ "query": query });
        self.parts.push(Said::Own(
            serde_json::json!({ "type": "server_tool_use", "id": id, "name": "web_search", "input": input }),
        ));
        self
    }

    /// Adds the result of such a search.
    pub fn finds(mut self, id: &str) -> Self {
        self.parts.push(Said::Own(
            serde_json::json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": [] }),
        ));
        self
    }

    /// Adds a tool call.
    pub fn calls(self, tool: impl Into<String>, parameters: Value) -> Self {
        self.calls_raw(tool, parameters.to_string())
    }

    /// Adds a tool call with arbitrary arguments, such as the first half of an object.
    pub fn calls_raw(mut self, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.parts.push(Said::Call {
            id: None,
            tool: tool.into(),
            arguments: arguments.into(),
        });
        self
    }

    /// Adds a tool call with this id.
    pub fn calls_as(mut self, id: impl Into<String>, tool: impl Into<String>, parameters: Value) -> Self {
        self.parts.push(Said::Call {
            id: Some(id.into()),
            tool: tool.into(),
            arguments: parameters.to_string(),
        });
        self
    }

    /// Sets the reason for the end.
    pub fn stopping(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Sets the reported usage.
    pub fn billed(mut self, usage: Billed) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Sets the fault.
    pub fn failing(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Adds a gate.
    pub fn gated(mut self, gate: &Gate) -> Self {
        self.gates.push(gate.clone());
        self
    }

    /// Sets the time before each frame.
    pub fn paced(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Sets the bytes of text or arguments per frame.
    pub fn in_fragments_of(mut self, bytes: usize) -> Self {
        self.fragment = bytes;
        self
    }

    /// Sets the bytes per write.
    pub fn dripping(mut self, bytes: usize) -> Self {
        self.drip = bytes;
        self
    }
}

/// Splits a text into fragments of at most `bytes`, or one character if that is longer. An empty text is one empty
/// fragment.
pub(super) fn fragments(text: &str, bytes: usize) -> Vec<&str> {
    let bytes = if bytes == 0 { FRAGMENT } else { bytes };
    let mut rest = text;
    let mut pieces = Vec::new();
    while rest.len() > bytes {
        let mut end = bytes;
        while end > 0 && !rest.is_char_boundary(end) {
            end -= 1;
        }
        if end == 0 {
            end = rest.chars().next().map_or(rest.len(), char::len_utf8);
        }
        let (piece, tail) = rest.split_at(end);
        pieces.push(piece);
        rest = tail;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(rest);
    }
    pieces
}
