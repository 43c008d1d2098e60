//! Detects whether two recordings are of the same conversation, in any formats, from a few hashes of their texts.

use crate::session::Session;
use codelet_context::message::{Message, Part};
use std::collections::BTreeSet;

/// The number of hashes kept, the smallest ones: a random sample of the texts.
const KEPT: usize = 32;
/// Texts with fewer letters and digits occur in many conversations.
const LEAST: usize = 24;
/// The number of letters and digits at the start of a text that are hashed.
const READ: usize = 400;

/// FNV-1a.
const START: u64 = 0xcbf2_9ce4_8422_2325;

/// Hashes letters and digits in lowercase: programs differ in the punctuation and line breaks that they write.
pub(crate) fn hash(text: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    letters(text).fold(START, fold)
}

/// Returns the bytes of letters and digits; all non-ASCII bytes count as letters.
fn letters(text: &str) -> impl Iterator<Item = u8> {
    let letters = text
        .bytes()
        .filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    letters.map(|byte| byte.to_ascii_lowercase())
}

/// A sample of a conversation's texts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sketch(BTreeSet<u64>);

impl Sketch {
    /// Samples the texts and tool outputs of a session.
    pub(crate) fn of(session: &Session) -> Self {
        let mut kept = BTreeSet::new();
        for text in session.messages.iter().flat_map(|message| texts(message)) {
            let beginning: String = letters(text).take(READ).map(char::from).collect();
            if beginning.len() < LEAST {
                continue;
            }
            kept.insert(hash(&beginning));
            if kept.len() > KEPT {
                kept.pop_last();
            }
        }
        Sketch(kept)
    }

    /// Returns whether more than half of the combined sample is shared. False if both samples are empty.
    pub(crate) fn is_same(&self, other: &Sketch) -> bool {
        let both: BTreeSet<u64> = self.0.union(&other.0).copied().take(KEPT).collect();
        let shared = both
            .iter()
            .filter(|hash| self.0.contains(hash) && other.0.contains(hash));
        !both.is_empty() && shared.count() * 2 > both.len()
    }
}

fn texts(message: &Message) -> impl Iterator<Item = &str> {
    let results = message.tool_results().flat_map(|result| result.texts());
    let own = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    });
    own.chain(results).map(|text| text.body.as_str())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Returns the sketch of a conversation in a provider's format, whose outputs contain these numbers.
    fn sketch(numbers: impl IntoIterator<Item = u64>, is_spaced: bool) -> Sketch {
        let mut messages =
            vec![serde_json::json!({"role": "user", "content": "Find out why the parser loses its comments."})];
        for number in numbers {
            let space = if is_spaced { "\r\n" } else { " " };
            let words = format!(
                "Place {number:x} holds{space}{:x} of them.",
                number.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            );
            messages.push(serde_json::json!({"role": "assistant", "content": words}));
            messages.push(serde_json::json!({"role": "user", "content": "Go on."}));
        }
        let text = serde_json::json!({ "messages": messages }).to_string();
        let recording = codelet_transcript::record(text.as_bytes(), None).unwrap();
        Sketch::of(&Session::new("x", recording))
    }

    #[test]
    fn a_conversation_is_the_same_with_other_blanks_and_a_few_messages_more() {
        assert!(sketch(0..90, false).is_same(&sketch(0..90, true)));
        assert!(sketch(0..90, false).is_same(&sketch(0..93, true)));
        assert!(sketch(0..2, false).is_same(&sketch(0..2, false)));
    }

    #[test]
    fn what_begins_alike_is_another_conversation() {
        assert!(!sketch(0..30, false).is_same(&sketch(0..90, false)));
        assert!(!sketch(0..30, false).is_same(&sketch(30..60, false)));
        assert!(!sketch([], false).is_same(&sketch(0..9, false)));
        assert!(!Sketch::default().is_same(&Sketch::default()));
    }
}
