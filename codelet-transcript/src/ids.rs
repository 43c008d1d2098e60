//! How the ids of calls are spelled to a vendor. A conversation keeps those that its model's vendor gave, and what is
//! written untouched has them as they were; whoever goes on with another vendor, or hands out a conversation that was
//! altered, has the ones spelled that the vendor refuses.

use crate::format::Format;
use codelet_context::message::{Message, Part};
use std::sync::Arc;

/// The most characters of an id that OpenAI takes in a chat.
pub(crate) const LONGEST_IN_CHAT: usize = 40;
/// The same of a response.
const LONGEST_IN_RESPONSES: usize = 64;
/// Characters of an id that stay readable where it has to be spelled.
const STEM: usize = 24;

/// Spells the ids in a message that this form's vendor refuses: a call's and its answer's alike, and the same in every
/// request.
pub fn spell(message: &mut Message, to: Format) {
    for part in &mut message.parts {
        let id = match part {
            Part::ToolCall(call) => &mut call.id,
            Part::ToolResult(result) => &mut result.call_id,
            _ => continue,
        };
        if let Some(spelled) = spelled(id, to) {
            *id = Arc::from(spelled);
        }
    }
}

/// An id in the letters and the length that every vendor takes; `None` where it has them.
pub(crate) fn spelled_for_all(id: &str) -> Option<String> {
    let is_taken = id.chars().all(is_plain) && id.chars().nth(LONGEST_IN_CHAT).is_none();
    (!is_taken).then(|| anew(id))
}

/// The id in letters that the vendor takes; `None` where it takes it as it is.
fn spelled(id: &str, to: Format) -> Option<String> {
    let is_taken = match to {
        Format::Anthropic => id.chars().all(is_plain),
        Format::Openai => id.chars().nth(LONGEST_IN_CHAT).is_none(),
        Format::Responses => id.chars().nth(LONGEST_IN_RESPONSES).is_none(),
        _ => true,
    };
    (!is_taken).then(|| anew(id))
}

/// Letters that every vendor takes in an id.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Another id for this one. It follows from the old one alone, so that it is the same in each request, and ids that differ
/// in nothing but what is replaced or cut stay different.
fn anew(id: &str) -> String {
    let stem = id.chars().take(STEM).map(|c| if is_plain(c) { c } else { '_' });
    format!("{}_{:013x}", stem.collect::<String>(), hash(id) >> 12)
}

/// FNV-1a, which is the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_spelled_id_is_taken_by_everybody_and_one_that_is_taken_stays(id in "[a-z:./é|_]{0,90}") {
            const VENDORS: [Format; 4] = [Format::Anthropic, Format::Openai, Format::Responses, Format::Gemini];
            for to in VENDORS {
                if let Some(once) = spelled(&id, to) {
                    prop_assert!(VENDORS.iter().all(|&to| spelled(&once, to).is_none()), "{}", once);
                }
            }
        }
    }
}
