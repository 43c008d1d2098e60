//! Token estimates, for use before a provider has counted.

use crate::message::{Extra, IMAGE_TOKENS, Message, Nature, Opaque, Part, ToolCall, ToolResult};

/// A number of tokens.
pub type Tokens = u64;

/// The framing overhead of each part.
pub(crate) const PART_TOKENS: Tokens = 5;

/// The estimated bytes of text per token, before a provider has counted: typical for English prose. Code and the
/// tokenizers of some providers have fewer (`docs/replay.md` lists billed values);
/// [`occupancy`](crate::budget::occupancy) learns the ratio in each session.
const BYTES_PER_TOKEN: usize = 4;

/// The estimate for text of this many bytes: a quarter, rounded up (0→0, 1→1, 4→1, 5→2).
pub fn estimate_bytes(bytes: usize) -> Tokens {
    bytes.div_ceil(BYTES_PER_TOKEN) as Tokens
}

/// The bytes of text for this many tokens, the inverse of [`estimate_bytes`].
pub const fn bytes_in(tokens: Tokens) -> usize {
    (tokens as usize).saturating_mul(BYTES_PER_TOKEN)
}

/// Unread fields (ids, cache markers) count as zero up to this many bytes; longer ones are content under an unknown
/// name and go with each request.
const FEW_BYTES: usize = 1_024;

/// The estimate for a message: the sum of its parts.
pub fn estimate_message(message: &Message) -> Tokens {
    unread(&message.extra) + message.parts.iter().map(estimate_part).sum::<Tokens>()
}

/// The estimate for unread fields.
pub(crate) fn unread(extra: &Extra) -> Tokens {
    match extra.bytes() {
        bytes if bytes > FEW_BYTES => estimate_bytes(bytes),
        _ => 0,
    }
}

/// The estimate for a part: its text, names and parameters plus framing. Each block of a tool result counts as a part.
pub fn estimate_part(part: &Part) -> Tokens {
    match part {
        Part::Text(text) => unread(&text.extra) + estimate_bytes(text.body.len()) + PART_TOKENS,
        Part::Thinking(thinking) => {
            let redacted = thinking.redacted.as_ref().map_or(0, |data| data.len());
            unread(&thinking.extra) + estimate_bytes(thinking.body.len() + redacted) + PART_TOKENS
        }
        Part::Image(image) => unread(&image.extra) + IMAGE_TOKENS + PART_TOKENS,
        Part::ToolCall(call) => unread(&call.extra) + estimate_call(call),
        Part::ToolResult(result) => estimate_result(result),
        Part::Opaque(opaque) => estimate_opaque(opaque) + PART_TOKENS,
    }
}

pub(crate) fn estimate_opaque(opaque: &Opaque) -> Tokens {
    match opaque.nature {
        Nature::File { tokens, .. } => tokens,
        _ => estimate_bytes(opaque.json().len()),
    }
}

fn estimate_call(call: &ToolCall) -> Tokens {
    estimate_bytes(call.tool.len() + call.parameters.json().len()) + PART_TOKENS
}

/// The estimate for a tool result.
pub(crate) fn estimate_result(result: &ToolResult) -> Tokens {
    let error = result.error.as_ref().map_or(0, |error| estimate_bytes(error.len()));
    let output: Tokens = result.output.iter().map(estimate_part).sum();
    let head = result
        .head
        .as_ref()
        .map_or(0, |head| estimate_bytes(head.body.len()) + PART_TOKENS);
    unread(&result.extra) + error + head + output.max(PART_TOKENS)
}
