//! Reports what fills a conversation.

use crate::{report, tool_definitions};
use codelet_context::history::History;
use codelet_context::inspect::{self, Inspection};
use codelet_context::tokens::Tokens;
use codelet_context::turn;
use codelet_transcript::{Document, Format, Warning};
use serde_json::Value;

/// The contents of a conversation.
#[derive(Debug)]
pub struct Inspected {
    /// The format it was read in.
    pub format: Format,
    /// Its contents by kind, and the largest items.
    pub found: Inspection,
    /// The size of its tool definitions, which a request holds besides its messages, in tokens.
    pub tool_definitions: Tokens,
    /// Anomalies in the file.
    pub odd: Vec<Warning>,
}

/// Inspects a conversation. Names its `largest` largest items.
pub fn inspect(mut document: Document, largest: usize) -> Inspected {
    let history: History = std::mem::take(&mut document.messages).into_iter().collect();
    let anchors = history.anchors(&turn::turns(history.messages()), &[]);
    Inspected {
        format: document.format,
        found: inspect::inspect(history.messages(), &anchors, largest),
        tool_definitions: tool_definitions(&document),
        odd: document.warnings,
    }
}

impl Inspected {
    /// Returns all results, with the warnings, as JSON for programs.
    pub fn report(&self, warnings: &[String]) -> Value {
        report::inspection(self.format, &self.found, self.tool_definitions, warnings)
    }
}
