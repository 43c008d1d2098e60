//! Marks for the provider's cache. A client moves them from item to item as a conversation grows: an item with one says the same as
//! without. Where a client leaves one over, the gateway puts it where an edit will need it.

use codelet_transcript::Listed;
use memchr::memmem;
use serde_json::Value;
use std::borrow::Cow;

const MARK: &str = "cache_control";
const KEY: &[u8] = b"\"cache_control\"";
/// A request may bear so many.
const MOST: usize = 4;

/// The marks that a request leaves to the gateway.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Marks {
    /// The number of marks that may still be put.
    pub free: usize,
    /// They ask for an hour.
    pub is_hour: bool,
}

impl Marks {
    /// By the marks of the conversation's items, and those that stand beside it. None where the client does not mark its conversation.
    pub fn of(listed: &Listed<'_>, items: &[Value]) -> Option<Self> {
        let beside: usize = listed.fields.iter().map(|(_, value)| keys(value)).sum();
        // A mark on the request itself is one at its end.
        let whole = listed.json(MARK).filter(Value::is_object);
        let last = items.last().or(whole.as_ref())?;
        let is_hour = last.get("ttl").and_then(Value::as_str) == Some("1h");
        let free = MOST.saturating_sub(beside + items.len() + usize::from(whole.is_some()));
        Some(Marks { free, is_hour })
    }

    /// The mark that is put, as JSON. Of two lifetimes in a request the longer has to come first: what lives as long as the client's last
    /// mark may stand anywhere before it.
    pub fn json(&self) -> &'static str {
        match self.is_hour {
            true => r#"{"type":"ephemeral","ttl":"1h"}"#,
            false => r#"{"type":"ephemeral"}"#,
        }
    }
}

/// Counts the fields of this name; quotes within a string are escaped.
fn keys(json: &[u8]) -> usize {
    let is_key = |at: &usize| json[at + KEY.len()..].trim_ascii_start().first() == Some(&b':');
    memmem::find_iter(json, KEY).filter(is_key).count()
}

/// Returns whether an item has a mark.
pub(super) fn is_in(item: &[u8]) -> bool {
    keys(item) > 0
}

/// The item without its marks, which go to `marks`.
pub(super) fn without<'a>(item: &'a [u8], marks: &mut Vec<Value>) -> Cow<'a, [u8]> {
    if memmem::find(item, MARK.as_bytes()).is_none() {
        return Cow::Borrowed(item);
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(item) else {
        return Cow::Borrowed(item);
    };
    let before = marks.len();
    take(&mut value, marks);
    if marks.len() == before {
        return Cow::Borrowed(item);
    }
    // As the client writes it where it puts none: that is how the item comes in the next request.
    let cut = cut(item);
    match serde_json::from_slice::<Value>(&cut) {
        Ok(rest) if value == rest => Cow::Owned(cut),
        _ => serde_json::to_vec(&value).map_or(Cow::Borrowed(item), Cow::Owned),
    }
}

/// The item without what looks like a mark, and all else byte for byte.
fn cut(item: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (Vec::with_capacity(item.len()), 0);
    for key in memmem::find_iter(item, KEY) {
        let value = item[key + KEY.len()..].trim_ascii_start().strip_prefix(b":");
        let value = value
            .map(<[u8]>::trim_ascii_start)
            .filter(|value| value.starts_with(b"{"));
        let Some(end) = value.and_then(|value| Some(item.len() - value.len() + memchr::memchr(b'}', value)? + 1))
        else {
            continue;
        };
        if key < at {
            continue;
        }
        let before = item[at..key].trim_ascii_end();
        match before.strip_suffix(b",") {
            Some(before) => {
                out.extend_from_slice(before);
                at = end;
            }
            None => {
                out.extend_from_slice(&item[at..key]);
                let behind = item[end..].trim_ascii_start();
                let behind = behind.strip_prefix(b",").map_or(&item[end..], <[u8]>::trim_ascii_start);
                at = item.len() - behind.len();
            }
        }
    }
    out.extend_from_slice(&item[at..]);
    out
}

/// Takes the marks of an item and its blocks away; what a call was given is left alone.
fn take(value: &mut Value, marks: &mut Vec<Value>) {
    let Value::Object(fields) = value else { return };
    if let Some(Value::Array(blocks)) = fields.get_mut("content") {
        blocks.iter_mut().for_each(|block| take(block, marks));
    }
    marks.extend(fields.shift_remove(MARK));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_without_its_marks_is_as_the_client_writes_it_where_it_puts_none() {
        let mark = r#""cache_control": {"type": "ephemeral", "ttl": "1h"}"#;
        for (marked, plain) in [
            (
                format!(r#"{{"content": [{{"text": "\u00e9 \/", {mark}}}]}}"#),
                r#"{"content": [{"text": "\u00e9 \/"}]}"#,
            ),
            (format!(r#"{{{mark}, "role": "user"}}"#), r#"{"role": "user"}"#),
            (
                format!(r#"{{"content":[{{{mark}}},{{ {mark} ,"a":1,"b":2.50}}]}}"#),
                r#"{"content":[{},{ "a":1,"b":2.50}]}"#,
            ),
            // What a call was given stays, and then all is written anew.
            (
                format!(r#"{{"content": [{{"input": {{{mark}}}, {mark}}}]}}"#),
                r#"{"content":[{"input":{"cache_control":{"type":"ephemeral","ttl":"1h"}}}]}"#,
            ),
        ] {
            let mut marks = Vec::new();
            let left = without(marked.as_bytes(), &mut marks);
            assert_eq!(String::from_utf8_lossy(&left), plain);
            assert!(marks.iter().all(|mark| mark["ttl"] == "1h") && !marks.is_empty());
        }
        let said = br#"{"text": "\"cache_control\": {}"}"#;
        assert_eq!(&*without(said, &mut Vec::new()), said);
    }
}
