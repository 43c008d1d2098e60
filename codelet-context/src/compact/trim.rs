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

/// Replaces each text and image of an output with a marker, followed by the lines of that text that `left` returns.
/// `None` if that would not make it smaller.
pub(crate) fn masked<'a>(
    result: &ToolResult,
    tool: &str,
    left: impl Fn(&Body) -> &'a str,
    archive: &mut Archive,
) -> Option<ToolResult> {
    let mut masked = result.clone();
    let mut is_smaller = false;
    for block in &mut masked.output {
        let shown = match block {
            Part::Text(text) => {
                quote_for(text, tool, left(&text.body), archive).or_else(|| marker_for(text, tool, archive))
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
