//! Repair of surrogate pairs that a server has split: JSON escapes a character outside the Basic Multilingual Plane as
//! two surrogates, and a server that streams such text may send each half in a separate frame, which is not valid JSON.
//!
//! A half is replaced by an unused private-use character, so that the frame can be parsed; once the pieces are joined,
//! two halves become the character again, and an unpaired one becomes U+FFFD.

use crate::frames::{Deltas, Whole};
use codelet_agent::model::Delta;
use codelet_text::json::replace_halves;
use serde_json::Value;
use std::borrow::Cow;

/// The first of the last 2,048 characters of the last private-use plane, which represent the halves from U+D800 on.
const FROM: u32 = 0x10_F800;

/// The state for one reply.
#[derive(Default)]
pub(crate) struct SurrogatePairs {
    /// True if any halves occurred.
    any: bool,
    /// The first half of a character, at the end of the text and of the thinking so far.
    text: Option<char>,
    thinking: Option<char>,
}

impl SurrogatePairs {
    /// Returns a frame without halves.
    pub(crate) fn mend<'a>(&mut self, frame: &'a str) -> Cow<'a, str> {
        let Some(mended) = without_halves(frame) else {
            return Cow::Borrowed(frame);
        };
        self.any = true;
        Cow::Owned(mended)
    }

    /// Joins halves in displayed deltas; a first half is held back until the second arrives.
    pub(crate) fn join(&mut self, deltas: &mut Deltas) {
        if !self.any {
            return;
        }
        for delta in deltas.iter_mut() {
            match delta {
                Delta::Text(text) => join_after(&mut self.text, text),
                Delta::Thinking(text) => join_after(&mut self.thinking, text),
                _ => {}
            }
        }
        deltas.retain(|delta| !matches!(delta, Delta::Text(text) | Delta::Thinking(text) if text.is_empty()));
    }

    /// Joins halves in a complete reply.
    pub(crate) fn join_whole(&self, whole: &mut Whole) {
        if self.any {
            whole.list.iter_mut().for_each(join_value);
        }
    }
}

fn join_after(held: &mut Option<char>, text: &mut String) {
    if text.is_empty() {
        return;
    }
    if let Some(half) = held.take() {
        text.insert(0, half);
    }
    if let Some(last) = text.chars().next_back().filter(|&last| is_first(last)) {
        text.pop();
        *held = Some(last);
    }
    *text = joined(text);
}

fn join_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = joined(text),
        Value::Array(values) => values.iter_mut().for_each(join_value),
        Value::Object(fields) => fields.values_mut().for_each(join_value),
        _ => {}
    }
}

/// Returns the half that a character represents.
fn half(character: char) -> Option<u16> {
    let offset = u32::from(character).checked_sub(FROM)?;
    u16::try_from(0xD800 + offset).ok()
}

fn is_first(character: char) -> bool {
    half(character).is_some_and(|half| half < 0xDC00)
}

fn joined(text: &str) -> String {
    let mut units = Vec::with_capacity(text.len());
    for character in text.chars() {
        match half(character) {
            Some(half) => units.push(half),
            None => units.extend_from_slice(character.encode_utf16(&mut [0; 2])),
        }
    }
    String::from_utf16_lossy(&units)
}

/// Replaces escapes of single halves in a JSON text by characters; `None` if there are none.
fn without_halves(frame: &str) -> Option<String> {
    let write = |half: u16, mended: &mut String| mended.extend(char::from_u32(FROM + u32::from(half) - 0xD800));
    replace_halves(frame, write).map(|(mended, _)| mended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{Frames, chat::Chat};
    use proptest::prelude::*;
    use serde_json::json;

    /// Returns the displayed text of a chat streamed in these pieces, and the text of the whole reply.
    fn said(pieces: &[&str]) -> (String, String) {
        let (mut halves, mut chat, mut shown) = (SurrogatePairs::default(), Chat::default(), String::new());
        let chunks = pieces
            .iter()
            .map(|piece| format!("{{\"choices\":[{{\"delta\":{{\"content\":\"{piece}\"}}}}]}}"));
        let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}).to_string();
        for frame in chunks.chain([end]) {
            let mut deltas = Vec::new();
            chat.take(&halves.mend(&frame), &mut deltas).unwrap();
            halves.join(&mut deltas);
            for delta in deltas {
                if let Delta::Text(text) = delta {
                    shown.push_str(&text);
                }
            }
        }
        let mut whole = chat.finish().unwrap();
        halves.join_whole(&mut whole);
        (shown, whole.list[0]["content"].as_str().unwrap_or_default().to_owned())
    }

    #[test]
    fn a_character_that_comes_in_two_pieces_is_whole() {
        for (pieces, expected) in [
            (vec!["smile \\ud83d", "\\ude00 end"], "smile 😀 end"),
            (vec!["\\uD83D", "\\uDE00", "\\uD83D", "\\uDE01"], "😀😁"),
            (vec!["a \\ud83d\\ude00 b", "\\ud83d", "", "\\ude00"], "a 😀 b😀"),
            (vec!["a \\\\ud83d b"], "a \\ud83d b"),
        ] {
            assert_eq!(said(&pieces), (expected.to_owned(), expected.to_owned()), "{pieces:?}");
        }
    }

    #[test]
    fn half_a_character_is_told_as_none() {
        assert_eq!(said(&["a\\ud83d b"]).1, "a\u{FFFD} b");
        assert_eq!(said(&["a\\ude00", " b \\ud83d"]).1, "a\u{FFFD} b \u{FFFD}");
        assert_eq!(said(&["a\\ude00", " b \\ud83d"]).0, "a\u{FFFD} b ");
    }

    proptest! {
        #[test]
        fn what_is_json_stays_as_it_is(text in "\\PC{0,60}") {
            let frame = json!({"text": text}).to_string();
            prop_assert_eq!(without_halves(&frame), None);
        }

        #[test]
        fn a_text_cut_between_any_two_units_is_that_text(text in "[a-c😀🦀é\\\\]{0,12}", cuts in proptest::collection::vec(0..24usize, 0..4)) {
            let units: Vec<String> = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(units.len())).chain([0, units.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<String> = cuts.windows(2).map(|cut| units[cut[0]..cut[1]].concat()).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(said(&pieces), (text.clone(), text));
        }

        #[test]
        fn no_frame_makes_it_panic(frame in "(\\\\u[dD][0-9a-f]{0,3}|\\\\|\"|\\PC){0,20}") {
            let _ = without_halves(&frame);
        }
    }
}
