//! Pictures in the answers of tools, for vendors that take them from the user alone.

use crate::format::Format;
use codelet_context::message::{Message, Part};

/// What stands in an answer whose pictures follow it.
const BELOW: &str = "[an image, shown below]";

/// Whether a vendor takes pictures within answers. A chat refuses everything but words there; of Gemini's models the
/// older ones do.
pub fn stand_in_answers(format: Format) -> bool {
    !matches!(format, Format::Openai | Format::Gemini)
}

/// Puts the pictures of a message's answers behind them, as if the user showed them; words in their place say so.
pub fn show_below(message: &mut Message) {
    let mut below = Vec::new();
    for part in &mut message.parts {
        let Part::ToolResult(result) = part else { continue };
        for block in &mut result.output {
            if matches!(block, Part::Image(_)) {
                below.push(std::mem::replace(block, Part::text(BELOW)));
            }
        }
        result.bare |= !below.is_empty() && matches!(result.output.as_slice(), [Part::Text(_)]);
    }
    message.parts.extend(below);
}
