//! Cuts a text in the middle at line boundaries, and formats the markers for removed text.

use crate::message::harness;
use crate::message::recall::{Archive, Handle};
use crate::text::body::Body;
use codelet_text::short;

pub(crate) use codelet_text::short::{counted, grouped};

/// The reason in the marker of a text of which parts are left.
pub(crate) const CUT: &str = "cut here";
/// The maximum bytes of a handle, barring collisions of the full 64-bit hash.
const LONGEST_HANDLE: usize = 16;

/// Formats the marker for removed content: its kind, its size, the reason and the handle that restores it, as in
/// `[Read output, 12,345 bytes, same as a newer one · recall k3f9a2]`. Nothing is ever recognised by this text.
pub(crate) fn marker(what: &str, bytes: usize, why: &str, handle: &Handle) -> String {
    let (what, bytes) = (plain_name(what), grouped(bytes));
    format!("[{what}, {bytes} bytes, {why} · recall {handle}]")
}

/// The maximum bytes of [`marker`] with these arguments, for any handle.
pub(crate) fn marker_bound(what: &str, bytes: usize, why: &str) -> usize {
    let grouped = (bytes.max(1).ilog10() as usize + 1) * 4 / 3 + 1;
    let name = what.len().min(short::NAME * 4).max("tool".len());
    name + grouped + why.len() + LONGEST_HANDLE + "[,  bytes,  · recall ]".len() + 1
}

/// The name of a tool on one line and of limited length, so that a marker stays well-formed.
pub fn plain_name(name: &str) -> String {
    let plain = short::plain_name(name);
    match plain.trim().is_empty() {
        true => "tool".to_owned(),
        false => plain,
    }
}

/// The first `head` and the last `tail` bytes at most, shrunk to whole lines, or to whole characters if a line takes
/// more than half of the room. `None` if nothing would be left out between them.
pub(crate) fn ends(text: &str, head: usize, tail: usize) -> Option<(&str, &str)> {
    if text.len() <= head.saturating_add(tail) {
        return None;
    }
    let head_end = text.floor_char_boundary(head);
    let head_end = match text[..head_end].rfind('\n') {
        Some(at) if at + 1 >= head / 2 => at + 1,
        _ => head_end,
    };
    let tail_start = text.ceil_char_boundary(text.len() - tail);
    let tail_start = match text.as_bytes()[tail_start - 1..].iter().position(|&b| b == b'\n') {
        Some(at) if at <= tail / 2 => tail_start + at,
        _ => tail_start,
    };
    Some((&text[..head_end], &text[tail_start..]))
}

/// The last word in the name of a tool's output, as in `Read output`.
const OUTPUT: &str = "output";

/// Shrinks the two ends of a text so that neither contains part of a harness reminder: without its tag, the rest would
/// look like a request.
fn beside_reminders<'t>(text: &'t str, head: &'t str, tail: &'t str) -> (&'t str, &'t str) {
    let (mut ends, mut starts) = (head.len(), text.len() - tail.len());
    for range in harness::reminders(text) {
        let tears = |at: usize| range.start < at && at < range.end;
        if tears(ends) {
            ends = range.start;
        }
        if tears(starts) {
            starts = range.end;
        }
    }
    (&text[..ends], text[starts..].trim_start_matches('\n'))
}

/// Cuts a body in the middle: its two ends (see [`ends`]) with a marker on a separate line between them. The whole goes
/// into the archive. Returns `None`, and archives nothing, if that would not make it smaller.
///
/// `what` names the text in the marker, such as `Read output`; `reason` names the caller.
pub(crate) fn in_the_middle(
    body: &Body,
    (head, tail): (usize, usize),
    what: &str,
    reason: &'static str,
    archive: &mut Archive,
) -> Option<(Body, Handle)> {
    let (head, tail) = ends(body.as_str(), head, tail)?;
    let (head, tail) = match what.ends_with(OUTPUT) {
        true => beside_reminders(body.as_str(), head, tail),
        false => (head, tail),
    };
    let gone = body.len() - head.len() - tail.len();
    // Two line breaks may be needed around the marker.
    if marker_bound(what, body.len(), CUT) + 2 >= gone {
        return None;
    }
    let handle = archive.keep(body, tool_of(what), reason);
    let marker = marker(what, body.len(), CUT, &handle);
    let gap = if head.is_empty() || head.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let shown = [head, gap, &marker, "\n", tail].concat();
    Some((Body::new(shown), handle))
}

/// Replaces a whole body with a marker. Returns `None`, and archives nothing, if the marker would not be shorter than
/// the `shown` bytes that it replaces.
pub(crate) fn pointer(
    body: &Body,
    shown: usize,
    what: &str,
    why: &str,
    reason: &'static str,
    archive: &mut Archive,
) -> Option<(Body, Handle)> {
    if marker_bound(what, body.len(), why) >= shown {
        return None;
    }
    let handle = archive.keep(body, tool_of(what), reason);
    Some((Body::new(marker(what, body.len(), why, &handle)), handle))
}

/// The tool in a name such as `Read output` or `Read image`; any other name is returned unchanged.
fn tool_of(what: &str) -> &str {
    what.strip_suffix(" output")
        .or_else(|| what.strip_suffix(" image"))
        .unwrap_or(what)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn no_end_of_an_output_is_torn_off_a_reminder() {
        let lines = "a line of code\n".repeat(40);
        let reminder = format!("<system-reminder>\n{}</system-reminder>\n", "Refuse it.\n".repeat(30));
        for output in [
            format!("{lines}{reminder}"),
            format!("{reminder}{lines}"),
            format!("{lines}{reminder}last\n"),
        ] {
            let mut archive = Archive::default();
            let body = Body::from(output);
            let cut = |what: &str, archive: &mut Archive| in_the_middle(&body, (200, 200), what, "test", archive);
            let (shown, handle) = cut("Read output", &mut archive).unwrap();
            assert!(!shown.as_str().contains("Refuse"), "{}", shown.as_str());
            assert_eq!(archive.recall(handle.as_str(), None), Some(body.as_str()));
            // In a text that is no tool output, a reminder is treated like any other text.
            let (shown, _) = cut("text", &mut archive).unwrap();
            assert!(shown.as_str().contains("Refuse"), "{}", shown.as_str());
        }
    }

    #[test]
    fn a_cut_falls_between_lines() {
        let text: String = (0..1_000).map(|i| format!("line {i}\n")).collect();
        let (head, tail) = ends(&text, 1_024, 1_024).unwrap();
        assert!(head.ends_with('\n') && head.len() <= 1_024 && head.len() > 1_000);
        assert!(tail.starts_with("line ") && tail.len() <= 1_024 && tail.len() > 1_000);
        assert!(text.starts_with(head) && text.ends_with(tail));
    }

    #[test]
    fn a_line_too_long_is_cut_between_characters() {
        let text = "ß→".repeat(5_000);
        let (head, tail) = ends(&text, 1_023, 1_023).unwrap();
        assert!(head.len() > 1_000 && tail.len() > 1_000);
        assert!(text.starts_with(head) && text.ends_with(tail));
    }

    #[test]
    fn a_short_text_is_not_cut() {
        let mut archive = Archive::default();
        let body = Body::from("short");
        assert_eq!(in_the_middle(&body, (1, 1), "Read output", "test", &mut archive), None);
        assert_eq!(pointer(&body, 5, "Read output", "gone", "test", &mut archive), None);
        assert!(archive.is_empty());
    }

    #[test]
    fn a_cut_can_be_undone() {
        let mut archive = Archive::default();
        let body = Body::new("word ".repeat(2_000));
        let (shown, handle) = in_the_middle(&body, (100, 100), "Read output", "test", &mut archive).unwrap();
        assert!(
            shown.len() < 300
                && shown
                    .as_str()
                    .contains(&format!("[Read output, 10,000 bytes, cut here · recall {handle}]"))
        );
        assert_eq!(archive.recall(handle.as_str(), None), Some(body.as_str()));
        assert_eq!(&*archive.get(handle.as_str()).unwrap().tool, "Read");
    }

    #[test]
    fn no_marker_exceeds_its_bound() {
        for bytes in [0, 9, 10, 999, 1_000, 999_999, usize::MAX] {
            for what in ["", "Read output", "ßßß", "→→", &"ü".repeat(99), "\u{1}\u{2}"] {
                let shown = marker(what, bytes, "because", &Handle::new("0123456789abcdef"));
                assert!(shown.len() <= marker_bound(what, bytes, "because"), "{shown}");
            }
        }
    }

    #[test]
    fn a_hostile_name_stays_on_one_short_line() {
        let shown = marker(&"x]\n".repeat(500), 1, "gone", &Handle::new("h"));
        assert!(shown.len() < 150 && !shown.contains('\n'));
    }
}
