//! What the server answers: replies told without a wire, and how they are chosen.

use super::fault::{Fault, Refusal};
use super::gate::Gate;
use serde_json::Value;
use std::time::Duration;

/// One thing that a reply says, in its order.
#[derive(Clone, PartialEq, Debug)]
pub enum Said {
    /// Words for the user.
    Text(String),
    /// Thinking in plain words. The server signs it as the vendor does.
    Thinking(String),
    /// Thinking that the vendor keeps encrypted. Chat has no such thing and leaves it out.
    Redacted,
    /// A block of the vendor's own tools, as it stands in the reply. Only Anthropic's wire has them here.
    Own(Value),
    /// A tool call.
    Call {
        /// Its id; the server makes one up in the vendor's form where there is none.
        id: Option<String>,
        /// The tool.
        tool: String,
        /// The parameters as the text that is streamed: JSON, or a part of it.
        arguments: String,
    },
}

/// Why a reply ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stop {
    /// It is complete: the vendor's word for calls where there are some, and for an end otherwise.
    #[default]
    Complete,
    /// The output limit is reached.
    Length,
    /// The window is full. Only Anthropic tells it from the output limit.
    WindowFull,
    /// The vendor pauses a long turn. Other wires than Anthropic's have no such word and end.
    Pause,
    /// The model declines.
    Refusal,
}

/// What a reply costs, in tokens. The first four never overlap; `reasoning` is a part of `output`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Billed {
    /// Prompt tokens that no cache had a part in.
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

    /// What was written to the cache, whatever its time to live.
    pub fn cache_write(self) -> u64 {
        self.write_5m + self.write_1h
    }

    /// The share of the prompt that came from the cache, 0 to 1.
    pub fn hit_share(self) -> f64 {
        self.cache_read as f64 / (self.prompt().max(1)) as f64
    }
}

/// One answer of the server: what is said, at what pace, and what goes wrong.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// What is said. Nothing at all is an empty answer, in a stream that is otherwise complete.
    pub parts: Vec<Said>,
    /// What is reported as usage; without it, the server's own count and cache.
    pub usage: Option<Billed>,
    /// Why it ends.
    pub stop: Stop,
    /// What goes wrong.
    pub fault: Option<Fault>,
    /// Where it waits for the test.
    pub gates: Vec<Gate>,
    /// The time before each frame, for tests of real time. Gates are the better tool.
    pub pace: Duration,
    /// The bytes of text or arguments in one frame; 0 stands for [`FRAGMENT`].
    pub fragment: usize,
    /// Frames are written in pieces of so many bytes, each after `pace`; 0 writes them whole.
    pub drip: usize,
}

/// The bytes of text or arguments in one frame unless a reply says otherwise.
pub const FRAGMENT: usize = 24;

impl Reply {
    /// A reply that says nothing yet.
    pub fn new() -> Self {
        Reply::default()
    }

    /// Only words: the usual last reply of a task.
    pub fn text(words: impl Into<String>) -> Self {
        Reply::new().says(words)
    }

    /// Only one call: the usual step of a task.
    pub fn call(tool: impl Into<String>, parameters: Value) -> Self {
        Reply::new().calls(tool, parameters)
    }

    /// An HTTP refusal in the vendor's form.
    pub fn status(status: u16) -> Self {
        Reply::new().failing(Fault::Refuse(Refusal::status(status)))
    }

    /// Says words.
    pub fn says(mut self, words: impl Into<String>) -> Self {
        self.parts.push(Said::Text(words.into()));
        self
    }

    /// Thinks in plain words.
    pub fn thinks(mut self, words: impl Into<String>) -> Self {
        self.parts.push(Said::Thinking(words.into()));
        self
    }

    /// Thinks what only the vendor can read.
    pub fn thinks_unseen(mut self) -> Self {
        self.parts.push(Said::Redacted);
        self
    }

    /// The vendor begins a search of its own under this id.
    pub fn searches(mut self, id: &str, query: &str) -> Self {
        let input = serde_json::json!({ "query": query });
        self.parts.push(Said::Own(
            serde_json::json!({ "type": "server_tool_use", "id": id, "name": "web_search", "input": input }),
        ));
        self
    }

    /// What came of the vendor's own search.
    pub fn finds(mut self, id: &str) -> Self {
        self.parts.push(Said::Own(
            serde_json::json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": [] }),
        ));
        self
    }

    /// Calls a tool.
    pub fn calls(self, tool: impl Into<String>, parameters: Value) -> Self {
        self.calls_raw(tool, parameters.to_string())
    }

    /// Calls a tool with arguments that may be anything, such as the first half of an object.
    pub fn calls_raw(mut self, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.parts.push(Said::Call {
            id: None,
            tool: tool.into(),
            arguments: arguments.into(),
        });
        self
    }

    /// Calls a tool under an id of the test's choice.
    pub fn calls_as(mut self, id: impl Into<String>, tool: impl Into<String>, parameters: Value) -> Self {
        self.parts.push(Said::Call {
            id: Some(id.into()),
            tool: tool.into(),
            arguments: parameters.to_string(),
        });
        self
    }

    /// Ends for a reason of the test's choice.
    pub fn stopping(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Reports this usage instead of the server's own count.
    pub fn billed(mut self, usage: Billed) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Goes wrong.
    pub fn failing(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Waits at a gate. A reply may have several.
    pub fn gated(mut self, gate: &Gate) -> Self {
        self.gates.push(gate.clone());
        self
    }

    /// Waits so long before each frame.
    pub fn paced(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Puts so many bytes of text or arguments into a frame.
    pub fn in_fragments_of(mut self, bytes: usize) -> Self {
        self.fragment = bytes;
        self
    }

    /// Writes so many bytes at a time.
    pub fn dripping(mut self, bytes: usize) -> Self {
        self.drip = bytes;
        self
    }
}

/// A text in fragments of at most `bytes`, or one character where that is longer. An empty text is one empty fragment.
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
