//! The light edit: markers replace selected outputs, some with the lines that are most likely to be referred to again;
//! calls, prompts and replies stay unchanged.

use crate::message::cut;
use crate::message::recall::{Archive, Handle};
use crate::message::{Message, Origin, Part, Text, ToolResult};
use crate::text::body::Body;
use std::sync::Arc;

/// The reason under which a light edit archives what it removes.
pub(crate) const REASON: &str = "economics";

/// The reasons given in markers.
const UNUSED: &str = "set aside";
const QUOTED: &str = "set aside but for these lines";

/// Replaces each text and image of an output with a marker, that of its longest text followed by the lines that are
/// left. `None` if that would not make it smaller.
pub(crate) fn masked(result: &ToolResult, tool: &str, mut left: &str, archive: &mut Archive) -> Option<ToolResult> {
    let longest = result.texts().map(|text| text.body.len()).max();
    let mut masked = result.clone();
    let mut is_smaller = false;
    for block in &mut masked.output {
        let shown = match block {
            Part::Text(text) => {
                let is_longest = Some(text.body.len()) == longest;
                let lines = if is_longest { std::mem::take(&mut left) } else { "" };
                quote_for(text, tool, lines, archive).or_else(|| marker_for(text, tool, archive))
            }
            Part::Image(image) if !image.is_url => {
                let what = format!("{} image", cut::plain_name(tool));
                let handle = archive.keep(&image.data, tool, REASON);
                Some(Text::marker(Origin::Own, &what, image.data.len(), UNUSED, handle))
            }
            Part::Opaque(opaque) if opaque.is_file() => {
                crate::compact::draft::opaque_marker(opaque, UNUSED, REASON, archive)
            }
            _ => None,
        };
        if let Some(text) = shown {
            *block = Part::Text(text);
            is_smaller = true;
        }
    }
    is_smaller.then_some(masked)
}

/// Returns whether the markers of a masked result replace the content of this result, whole or cut.
pub(crate) fn is_mask_of(mask: &ToolResult, result: &ToolResult, archive: &Archive) -> bool {
    let stands_for = |handle: &Handle, block: &Part| match block {
        Part::Text(text) if text.cut.as_ref() == Some(handle) => true,
        Part::Text(text) => archive
            .get(handle.as_str())
            .is_some_and(|whole| whole.body == text.body),
        Part::Image(image) => archive
            .get(handle.as_str())
            .is_some_and(|whole| whole.body == image.data),
        Part::Opaque(opaque) => archive
            .get(handle.as_str())
            .is_some_and(|whole| whole.body == *opaque.json()),
        _ => false,
    };
    let handles = mask.texts().filter_map(|text| text.cut.as_ref());
    let mut handles = handles.map(|handle| result.output.iter().any(|block| stands_for(handle, block)));
    handles.all(|is_there| is_there)
}

/// A marker followed by lines of the text, if there are any, the text is whole, and the result is shorter.
fn quote_for(text: &Text, tool: &str, lines: &str, archive: &mut Archive) -> Option<Text> {
    let lines = lines.trim_end();
    let what = format!("{} output", cut::plain_name(tool));
    let is_shorter = cut::marker_bound(&what, text.body.len(), QUOTED) + 1 + lines.len() < text.body.len();
    if lines.is_empty() || text.origin != Origin::Own || text.cut.is_some() || !is_shorter {
        return None;
    }
    let handle = archive.keep(&text.body, tool, REASON);
    let marker = cut::marker(&what, text.body.len(), QUOTED, &handle);
    let body = Body::new([&marker, "\n", lines].concat());
    Some(text.cut_to((body, handle)))
}

fn marker_for(text: &Text, tool: &str, archive: &mut Archive) -> Option<Text> {
    // A notice of the agent loop is not output, and it is short.
    if text.origin != Origin::Own {
        return None;
    }
    let what = format!("{} output", cut::plain_name(tool));
    let whole = text.cut.as_ref().and_then(|handle| archive.get(handle.as_str()));
    let body: Body = whole.map_or_else(|| text.body.clone(), |removed| removed.body.clone());
    let pointer = cut::pointer(&body, text.body.len(), &what, UNUSED, REASON, archive)?;
    Some(text.cut_to(pointer))
}

/// Returns a message with one of its parts replaced.
pub(crate) fn replaced(message: &Arc<Message>, part: usize, with: ToolResult) -> Arc<Message> {
    let mut message = (**message).clone();
    if let Some(place) = message.parts.get_mut(part) {
        *place = Part::ToolResult(with);
    }
    Arc::new(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_left_of_the_longest_text_whatever_else_the_output_has() {
        let rows: String = (0..60).map(|row| format!("press {row} waits for its lock\n")).collect();
        let reminded = format!("{rows}<system-reminder>Be kind.</system-reminder>\n");
        let mut result = ToolResult::new("a", Some(false), reminded);
        result.output.push(Part::text("The walnut press is slow.\n".repeat(9)));
        result.error = Some("stopped".into());
        let mut archive = Archive::default();
        let masked = masked(&result, "Bash", "press 7 waits for its lock\n", &mut archive).unwrap();
        let texts: Vec<&str> = masked.texts().map(|text| text.body.as_str()).collect();
        assert!(texts[0].ends_with("\npress 7 waits for its lock"), "{texts:?}");
        assert!(texts[1].starts_with('[') && !texts[1].contains("press 7"), "{texts:?}");
        assert_eq!(archive.len(), 2);
    }
}
