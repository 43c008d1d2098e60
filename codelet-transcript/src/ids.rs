//! Rewrites call ids and tool names for a provider. A conversation keeps the ids and names of its model's provider, and
//! untouched content is written with them; when the conversation moves to another provider, or was altered, those that
//! the provider refuses are rewritten.

use crate::format::Format;
use codelet_context::message::{Message, Part};
use std::sync::Arc;

/// The maximum length of an id in Chat Completions, in characters.
pub(crate) const LONGEST_IN_CHAT: usize = 40;
/// The maximum length of an id in Responses, in characters.
const LONGEST_IN_RESPONSES: usize = 64;
/// The number of characters of a rewritten id that stay readable.
const STEM: usize = 24;
/// The maximum length of a tool name that every provider accepts, in characters.
const LONGEST_NAME: usize = 64;
/// The maximum length of a tool name for Anthropic.
const LONGEST_NAME_AT_ANTHROPIC: usize = 128;
/// The number of digits after the rest of a name or an id.
const DIGITS: usize = 13;

/// Rewrites the ids and names in a message that this format's provider refuses: a call's id the same way as its
/// result's, and the same way in every request.
pub fn spell(message: &mut Message, to: Format) {
    for part in &mut message.parts {
        let id = match part {
            Part::ToolCall(call) => {
                if !is_name(&call.tool, to) {
                    call.tool = name_for_all(&call.tool);
                }
                &mut call.id
            }
            Part::ToolResult(result) => &mut result.call_id,
            _ => continue,
        };
        if let Some(spelled) = spelled(id, to) {
            *id = Arc::from(spelled);
        }
    }
}

/// Returns an id with the characters and the length that every provider accepts; `None` if it already conforms.
pub(crate) fn spelled_for_all(id: &str) -> Option<String> {
    let is_taken = !id.is_empty() && id.len() <= LONGEST_IN_CHAT && id.chars().all(is_plain);
    (!is_taken).then(|| anew(id))
}

/// Returns a conforming id without the suffix that makes it unique, for callers that ensure uniqueness themselves.
pub(crate) fn plain_id(id: &str) -> Arc<str> {
    let plain: String = plain_letters(id).take(LONGEST_IN_CHAT).collect();
    if plain.is_empty() { "_".into() } else { plain.into() }
}

/// Returns the id in characters that the provider accepts; `None` if the provider accepts it unchanged.
fn spelled(id: &str, to: Format) -> Option<String> {
    let is_taken = match to {
        Format::Anthropic => id.chars().all(is_plain),
        Format::Openai => id.chars().nth(LONGEST_IN_CHAT).is_none(),
        Format::Responses => id.chars().nth(LONGEST_IN_RESPONSES).is_none(),
        _ => true,
    };
    (!is_taken).then(|| anew(id))
}

/// Returns whether every provider accepts this character in an id.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Replaces other characters in a text.
fn plain_letters(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().map(|c| if is_plain(c) { c } else { '_' })
}

/// Returns whether this format's provider accepts this tool name.
fn is_name(name: &str, to: Format) -> bool {
    match to {
        Format::Anthropic | Format::Openai | Format::Responses if name.is_empty() => false,
        Format::Anthropic => name.chars().all(is_plain) && name.len() <= LONGEST_NAME_AT_ANTHROPIC,
        Format::Openai | Format::Responses => name.chars().all(is_plain) && name.len() <= LONGEST_NAME,
        Format::Gemini => {
            let is_taken = |c: char| is_plain(c) || matches!(c, '.' | ':');
            begins_well(name) && name.chars().all(is_taken) && name.len() <= LONGEST_NAME
        }
        _ => true,
    }
}

fn begins_well(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Returns a tool name with the characters and the length that every provider accepts. A long name keeps its beginning,
/// with a suffix that distinguishes it from others that begin alike.
pub(crate) fn name_for_all(name: &Arc<str>) -> Arc<str> {
    let is_short = name.len() <= LONGEST_NAME;
    if begins_well(name) && is_short && name.chars().all(is_plain) {
        return name.clone();
    }
    let first = if begins_well(name) { None } else { Some('_') };
    let spelled: String = first.into_iter().chain(plain_letters(name)).collect();
    if spelled.len() <= LONGEST_NAME {
        return spelled.into();
    }
    let stem = &spelled[..LONGEST_NAME - DIGITS - 1];
    told_apart(stem, name).into()
}

/// Returns a new id for this one. It depends on the old id alone, so it is the same in each request, and ids that
/// differ only in replaced or cut characters stay different.
fn anew(id: &str) -> String {
    let stem: String = plain_letters(id).take(STEM).collect();
    told_apart(&stem, id)
}

/// Returns a stem followed by [`DIGITS`] digits of the hash of the whole.
fn told_apart(stem: &str, whole: &str) -> String {
    format!("{stem}_{:0DIGITS$x}", hash(whole) >> (64 - 4 * DIGITS))
}

/// FNV-1a, which is the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use codelet_context::message::{Role, ToolCall};
    use proptest::prelude::*;

    const VENDORS: [Format; 4] = [Format::Anthropic, Format::Openai, Format::Responses, Format::Gemini];

    #[test]
    fn no_vendor_takes_a_call_without_a_name_and_each_gets_one_that_it_takes() {
        for to in VENDORS {
            let mut message = Message::new(
                Role::Assistant,
                vec![Part::ToolCall(ToolCall::new("call_1", "", Default::default()))],
            );
            assert!(!is_name("", to));
            spell(&mut message, to);
            let name = message.calls().next().unwrap().tool.clone();
            assert!(is_name(&name, to), "{to}: {name:?}");
        }
    }

    #[test]
    fn long_names_of_tools_that_begin_alike_stay_different() {
        let name = |end: &str| name_for_all(&format!("mcp__{}{end}", "long_".repeat(20)).into());
        assert_ne!(name("one"), name("two"));
        assert_eq!(name("one").len(), LONGEST_NAME);
    }

    #[test]
    fn a_vendor_gets_the_names_that_it_takes_as_they_are() {
        assert!(is_name("default_api:read.file", Format::Gemini) && !is_name("default_api:read.file", Format::Openai));
        assert!(is_name(&"x".repeat(100), Format::Anthropic) && !is_name(&"x".repeat(100), Format::Responses));
        assert!(is_name("2nd", Format::Openai) && !is_name("2nd", Format::Gemini));
    }

    proptest! {
        #[test]
        fn a_spelled_name_is_taken_by_everybody(name in ".{0,90}") {
            let once = name_for_all(&name.into());
            prop_assert!(VENDORS.iter().all(|&to| is_name(&once, to)), "{}", once);
            prop_assert_eq!(name_for_all(&once), once);
        }

        #[test]
        fn a_spelled_id_is_taken_by_everybody_and_one_that_is_taken_stays(id in "[a-z:./é|_]{0,90}") {
            for to in VENDORS {
                if let Some(once) = spelled(&id, to) {
                    prop_assert!(VENDORS.iter().all(|&to| spelled(&once, to).is_none()), "{}", once);
                }
            }
        }
    }
}
