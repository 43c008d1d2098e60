//! How much of the outputs of a step the model is shown; the whole is kept behind handles.

use crate::model::picture;
use crate::tool::Output;
use codelet_context::body::Body;
use codelet_context::conversation::Conversation;
use codelet_context::message::{Origin, Part, Text, ToolCall, ToolResult};
use codelet_context::tokens::{self, Tokens};

/// The most of one output that the model is shown, in bytes; the whole is kept behind a handle.
pub(crate) const SHOWN: usize = 50 * 1024;
/// One output takes at most one part in so many of the window, and all of a step together one in [`STEP_SHARE`].
const OUTPUT_SHARE: usize = 8;
const STEP_SHARE: usize = 4;
/// No output is shown in less than this, in bytes.
const LEAST_SHOWN: usize = 1024;

/// The window that outputs are bounded by, in estimated tokens: a smaller one where the session's text was found to weigh more
/// than twice its estimate, as digits and some scripts do, or each step would fill the window by itself.
pub(crate) fn room(window: Tokens, density: f64) -> Tokens {
    (window as f64 / (density / 2.0).max(1.0)) as Tokens
}

/// The most bytes that one output of a step is shown in.
pub(crate) fn bound(window: Tokens, outputs: &[Option<Output>]) -> usize {
    let bytes = tokens::bytes_in(window);
    let one = SHOWN.min(bytes / OUTPUT_SHARE);
    // Many long outputs share what a step may take; short ones leave their part to the others.
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

/// The answer to a call, with its output in at most so many bytes and these notes behind it.
pub(crate) fn answer(
    conversation: &mut Conversation,
    call: &ToolCall,
    output: Output,
    bound: usize,
    notes: Vec<String>,
) -> ToolResult {
    let whole = if output.text.is_blank() && output.images.is_empty() {
        // Vendors refuse blank text, and a model reads silence as a fault.
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
