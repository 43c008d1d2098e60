//! Images in tool results, for providers that accept images only in user messages.

use crate::format::Format;
use codelet_context::message::{Message, Part};

/// The text in a result whose images follow it.
const BELOW: &str = "[an image, shown below]";

/// Returns whether a provider accepts images in tool results. Chat Completions accepts only text there; so do older
/// models of Gemini.
pub fn stand_in_answers(format: Format) -> bool {
    !matches!(format, Format::Openai | Format::Gemini)
}

/// Moves images in a message's results to the end of the message, leaving a text in place of each.
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
