//! Decides how much of a step's outputs the model sees; the whole is kept under handles.

use crate::model::picture;
use crate::tool::Output;
use codelet_context::body::Body;
use codelet_context::conversation::Conversation;
use codelet_context::message::{Origin, Part, Text, ToolCall, ToolResult};
use codelet_context::tokens::{self, Tokens};

/// The maximum of one output shown to the model, in bytes; the whole is kept under a handle.
pub(crate) const SHOWN: usize = 50 * 1024;
/// The share of the context window for one output, as a divisor; [`STEP_SHARE`]: for all outputs of a step together.
const OUTPUT_SHARE: usize = 8;
const STEP_SHARE: usize = 4;
/// The minimum size in which an output is shown, in bytes.
const LEAST_SHOWN: usize = 1024;

/// Returns the window that outputs are sized for, in estimated tokens: smaller if the session's text was found to weigh
/// more than twice its estimate, as digits and some scripts do; otherwise each step would fill the window by itself.
pub(crate) fn room(window: Tokens, density: f64) -> Tokens {
    (window as f64 / (density / 2.0).max(1.0)) as Tokens
}

/// Returns the maximum size in which one output of a step is shown, in bytes.
pub(crate) fn bound(window: Tokens, outputs: &[Option<Output>]) -> usize {
    let bytes = tokens::bytes_in(window);
    let one = SHOWN.min(bytes / OUTPUT_SHARE);
    // Many long outputs share the limit of a step; short ones leave their share to the others.
    let mut sizes: Vec<usize> = outputs
        .iter()
        .flatten()
        .map(|output| output.text.len().min(one))
        .collect();
    sizes.sort_unstable();
    let mut left = bytes / STEP_SHARE;
    let mut bound = one;
    for (done, size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - done);
        if *size > share {
            bound = share;
            break;
        }
        left -= size;
    }
    bound.max(LEAST_SHOWN)
}

/// Returns the result of a call, with its output in at most `bound` bytes, followed by these notes.
pub(crate) fn answer(
    conversation: &mut Conversation,
    call: &ToolCall,
    output: Output,
    bound: usize,
    notes: Vec<String>,
) -> ToolResult {
    let whole = if output.text.is_blank() && output.images.is_empty() {
        // Providers reject blank text, and a model reads silence as a fault.
        Body::new("(no output)")
    } else {
        output.text
    };
    let text = if whole.len() > bound {
        conversation.bounded(whole, (bound * 2 / 3, bound / 3), &call.tool)
    } else {
        Text::new(whole, Origin::Own)
    };
    let mut shown = Vec::new();
    if !text.body.is_blank() {
        shown.push(Part::Text(text));
    }
    for image in output.images {
        shown.push(match picture::trouble_of(&image) {
            None => Part::Image(image),
            Some(why) => Part::text_from(Origin::Notice, format!("[a picture was left out: {why}]")),
        });
    }
    shown.extend(notes.into_iter().map(|note| Part::text_from(Origin::Notice, note)));
    let mut result = ToolResult::new(call.id.clone(), Some(output.success), "");
    result.bare = matches!(shown.as_slice(), [Part::Text(_)]);
    result.output = shown;
    result.refusal = output.refusal;
    result.pipe = output.pipe;
    result
}
