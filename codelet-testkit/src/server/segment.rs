//! A request split into the pieces that a vendor's cache compares, byte for byte.

use super::wire::{Wire, hash};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A position in a request, in the vendors' order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Place {
    /// The tools.
    Tools,
    /// The system prompt.
    System,
    /// The message with this index.
    Message(usize),
}

/// The lifetime of a cache entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ttl {
    /// Five minutes.
    Minutes5,
    /// An hour.
    Hour,
}

/// A piece: a tool, a block of the system prompt, a block of a message, or a whole entry on wires without blocks.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Segment {
    pub place: Place,
    /// The original bytes without cache marks: moving a mark changes no prompt.
    pub bytes: Vec<u8>,
    /// Its cache mark.
    pub mark: Option<Ttl>,
    /// Bytes of text, the basis of the token count.
    pub weight: u64,
}

/// The weight of an image, in bytes of text: 1,600 tokens, which Anthropic's formula gives for the largest.
const PICTURE: u64 = 6_400;

type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// Splits a body into pieces in the vendor's order; none if it is no JSON object.
pub(super) fn segments(wire: Wire, body: &[u8]) -> Vec<Segment> {
    let mut cutter = Cutter { found: Vec::new() };
    if let Ok(fields) = serde_json::from_slice::<Fields>(body) {
        match wire {
            Wire::Anthropic => cutter.anthropic(&fields),
            Wire::Chat => cutter.entries(&fields, &["tools"], &[], "messages"),
            Wire::Responses => cutter.entries(&fields, &["tools"], &["instructions"], "input"),
            Wire::Gemini => cutter.entries(
                &fields,
                &["tools"],
                &["systemInstruction", "system_instruction"],
                "contents",
            ),
        }
    }
    cutter.found
}

struct Cutter {
    found: Vec<Segment>,
}

impl Cutter {
    fn anthropic(&mut self, fields: &Fields) {
        for (place, key) in [(Place::Tools, "tools"), (Place::System, "system")] {
            let Some(raw) = fields.get(key) else { continue };
            self.blocks(place, "", raw);
        }
        for (index, raw) in elements(fields, "messages").into_iter().enumerate() {
            let Ok(message) = serde_json::from_str::<Fields>(raw.get()) else {
                self.push(Place::Message(index), raw.get().as_bytes().to_vec(), None);
                continue;
            };
            let role = message.get("role").map_or("", |role| role.get());
            if let Some(content) = message.get("content") {
                self.blocks(Place::Message(index), role, content);
            }
        }
        // A mark on the request itself applies to its last block.
        if let Some(mark) = fields.get("cache_control").and_then(|raw| ttl(raw))
            && let Some(last) = self.found.last_mut()
        {
            last.mark = Some(mark);
        }
    }

    /// Splits a content: a list of blocks, or a string, which counts as one text block.
    fn blocks(&mut self, place: Place, role: &str, raw: &RawValue) {
        let Ok(blocks) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else {
            let block = format!("{role}{{\"type\":\"text\",\"text\":{}}}", raw.get());
            return self.push(place, block.into_bytes(), None);
        };
        for block in blocks {
            let (text, mark) = unmarked(block.get());
            self.push(place, format!("{role}{text}").into_bytes(), mark);
        }
    }

    fn entries(&mut self, fields: &Fields, tools: &[&str], system: &[&str], messages: &str) {
        for (place, keys) in [(Place::Tools, tools), (Place::System, system)] {
            for raw in keys.iter().filter_map(|key| fields.get(*key)) {
                self.push(place, raw.get().as_bytes().to_vec(), None);
            }
        }
        let elements = elements(fields, messages);
        if elements.is_empty()
            && let Some(raw) = fields.get(messages)
        {
            self.push(Place::Message(0), raw.get().as_bytes().to_vec(), None);
        }
        for (index, raw) in elements.into_iter().enumerate() {
            self.push(Place::Message(index), raw.get().as_bytes().to_vec(), None);
        }
    }

    fn push(&mut self, place: Place, bytes: Vec<u8>, mark: Option<Ttl>) {
        let weight = weight(&bytes);
        self.found.push(Segment {
            place,
            bytes,
            mark,
            weight,
        });
    }
}

fn elements<'a>(fields: &Fields<'a>, key: &str) -> Vec<&'a RawValue> {
    let raw = fields.get(key).copied();
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

/// A block's bytes without its mark, and the mark.
fn unmarked(block: &str) -> (String, Option<Ttl>) {
    const KEY: &str = "\"cache_control\"";
    let whole = || (block.to_owned(), None);
    if !block.contains(KEY) {
        return whole();
    }
    let Ok(fields) = serde_json::from_str::<Fields>(block) else {
        return whole();
    };
    let Some(raw) = fields.get("cache_control") else {
        return whole();
    };
    // The value is a slice of the block, so its offset follows from the pointers.
    let start = raw.get().as_ptr() as usize - block.as_ptr() as usize;
    let (before, after) = (&block[..start], &block[start + raw.get().len()..]);
    let before = before.trim_end().trim_end_matches(':').trim_end();
    let before = before.strip_suffix(KEY).unwrap_or(before).trim_end();
    let text = match before.strip_suffix(',') {
        Some(before) => format!("{}{after}", before.trim_end()),
        None => format!("{before}{}", after.trim_start().trim_start_matches(',').trim_start()),
    };
    (text, ttl(raw))
}

fn ttl(raw: &RawValue) -> Option<Ttl> {
    let mark: serde_json::Value = serde_json::from_str(raw.get()).ok()?;
    match (mark["type"].as_str()?, mark["ttl"].as_str()) {
        ("ephemeral", Some("1h")) => Some(Ttl::Hour),
        ("ephemeral", _) => Some(Ttl::Minutes5),
        _ => None,
    }
}

/// The bytes of all text in a piece of JSON: unescaped strings, keys, numbers and literals, without punctuation. An
/// image has a fixed weight, and the signature of thinking none: recorded usage counts the thinking itself.
fn weight(json: &[u8]) -> u64 {
    let mut weight = 0;
    let mut at = 0;
    let mut last: &[u8] = b"";
    let pictures = || {
        [&b"base64"[..], b"inlineData", b"inline_data"]
            .iter()
            .any(|word| contains(json, word))
    };
    let thinks = || contains(json, b"\"thinking\"");
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => {
                let start = at + 1;
                let (end, length) = string(json, start);
                let text = json.get(start..end).unwrap_or_default();
                let picture = text.starts_with(b"data:image/") || (last == b"data" && pictures());
                weight += match picture {
                    true => PICTURE,
                    false if last == b"signature" && thinks() => 0,
                    false => length,
                };
                last = text;
                at = end + 1;
            }
            b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            _ => {
                weight += 1;
                at += 1;
            }
        }
    }
    weight
}

/// The end of a string that begins here, and its unescaped length in bytes.
fn string(json: &[u8], start: usize) -> (usize, u64) {
    let (mut at, mut length) = (start, 0);
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => break,
            // An escaped character counts as one byte, a `\u` escape as three: close enough to its UTF-8 length.
            b'\\' if json.get(at + 1) == Some(&b'u') => {
                at += 6;
                length += 3;
            }
            b'\\' => {
                at += 2;
                length += 1;
            }
            _ => {
                at += 1;
                length += 1;
            }
        }
    }
    (at.min(json.len()), length)
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

/// The hashes of the prefixes: the n-th is that of the first n + 1 pieces.
pub(super) fn chain(segments: &[Segment]) -> Vec<u64> {
    let mut so_far = 0;
    let link = |segment: &Segment| {
        so_far = hash(&(so_far, rank(segment.place), &segment.bytes));
        so_far
    };
    segments.iter().map(link).collect()
}

/// The position without the message's index: how a client groups blocks into messages is compared by their roles.
fn rank(place: Place) -> u8 {
    match place {
        Place::Tools => 0,
        Place::System => 1,
        Place::Message(_) => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mark_is_cut_out_wherever_it_stands() {
        let plain = r#"{"type":"text","text":"a \"cache_control\" b"}"#;
        let mark = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;
        for marked in [
            format!(r#"{{"type":"text","text":"a \"cache_control\" b",{mark}}}"#),
            format!(r#"{{{mark},"type":"text","text":"a \"cache_control\" b"}}"#),
            format!(r#"{{"type":"text",{mark},"text":"a \"cache_control\" b"}}"#),
            r#"{"type":"text","text":"a \"cache_control\" b" , "cache_control" : {"type":"ephemeral","ttl":"1h"}}"#
                .to_owned(),
        ] {
            assert_eq!(unmarked(&marked), (plain.to_owned(), Some(Ttl::Hour)), "{marked}");
        }
        assert_eq!(unmarked(plain), (plain.to_owned(), None));
    }

    #[test]
    fn texts_weigh_what_they_read_as() {
        assert_eq!(weight(br#"{"a":"bc","d":[1,true]}"#), 1 + 2 + 1 + 1 + 4);
        assert_eq!(weight(br#""a\n\u00e9b""#), 1 + 1 + 3 + 1);
        assert_eq!(weight(br#"{"type":"base64","data":"AAAA"}"#), 4 + 6 + 4 + PICTURE);
        assert_eq!(weight(br#""broken \"#), 8);
    }

    #[test]
    fn a_string_and_its_one_block_are_the_same_prompt() {
        let string = segments(Wire::Anthropic, br#"{"messages":[{"role":"user","content":"hi"}]}"#);
        let block = segments(
            Wire::Anthropic,
            br#"{"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#,
        );
        assert_eq!(chain(&string), chain(&block));
        assert_eq!(block[0].mark, Some(Ttl::Minutes5));
    }

    proptest! {
        #[test]
        fn any_bytes_are_cut_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for wire in Wire::ALL {
                segments(wire, &bytes);
            }
            prop_assert!(weight(&bytes) <= 3 * bytes.len() as u64 + PICTURE);
        }

        #[test]
        fn a_block_without_its_mark_is_the_block(
            fields in prop::collection::vec(("[a-z]{1,5}", "\\PC{0,8}|cache_control|,:\\\\\""), 1..5),
            at in any::<prop::sample::Index>(),
            pretty in any::<bool>(),
        ) {
            let write = |fields: &[(String, String)], mark: Option<usize>| {
                let mut block = serde_json::Map::new();
                for (index, (key, value)) in fields.iter().enumerate() {
                    if mark == Some(index) {
                        block.insert("cache_control".to_owned(), serde_json::json!({ "type": "ephemeral" }));
                    }
                    block.insert(format!("{key}{index}"), value.clone().into());
                }
                if mark == Some(fields.len()) {
                    block.insert("cache_control".to_owned(), serde_json::json!({ "type": "ephemeral" }));
                }
                match pretty {
                    true => serde_json::to_string_pretty(&block).unwrap(),
                    false => serde_json::to_string(&block).unwrap(),
                }
            };
            let (text, mark) = unmarked(&write(&fields, Some(at.index(fields.len() + 1))));
            prop_assert_eq!(mark, Some(Ttl::Minutes5));
            let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            prop_assert_eq!(read(&text), read(&write(&fields, None)));
            if !pretty {
                prop_assert_eq!(text, write(&fields, None));
            }
        }
    }
}
