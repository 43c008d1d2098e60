//! Answers of tools that are wholly one JSON object: `{"ok": true, "content": "…"}`.
//!
//! As text that is one line, in which nothing can be found, quoted or cut. Its texts become texts of the answer, as those
//! of an object that a Gemini function answers with; what stands around them is kept as it came and put around them again,
//! to the byte. An object of which that cannot be promised stays the text that it is.

use crate::extra::{kept, marked};
use crate::gemini::answer;
use crate::node::Node;
use codelet_context::message::{Origin, Part, ToolResult};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// On an answer: what stands before, between and behind its texts in the object, and how their letters are escaped.
const FRAME: &str = "codelet.frame";

/// What stands around the texts at most, in bytes. It stays with an answer whose texts are cut, so it has to be small.
const LONGEST_FRAME: usize = 600;

/// How the makers of JSON escape what need not be escaped.
#[derive(Clone, Copy, Debug)]
struct Style {
    /// Everything beyond ASCII (Python, PHP).
    beyond_ascii: bool,
    /// What means something in HTML (Go).
    html: bool,
    /// Slashes (PHP).
    slashes: bool,
}

const STYLES: [Style; 4] = [
    style(false, false, false),
    style(true, false, false),
    style(false, true, false),
    style(true, false, true),
];

const fn style(beyond_ascii: bool, html: bool, slashes: bool) -> Style {
    Style {
        beyond_ascii,
        html,
        slashes,
    }
}

/// The object that an answer is, if it is one.
pub(crate) fn of(result: &ToolResult) -> Option<Map<String, Value>> {
    let raw = only_text(result).filter(|_| looks_like_one(result))?;
    serde_json::from_str(raw).ok()
}

/// Whether an answer may be an object.
pub(crate) fn looks_like_one(result: &ToolResult) -> bool {
    only_text(result)
        .map(str::trim)
        .is_some_and(|raw| raw.starts_with('{') && raw.ends_with('}'))
}

/// The text that an answer is nothing but.
fn only_text(result: &ToolResult) -> Option<&str> {
    match result.output.as_slice() {
        [Part::Text(text)] if result.error.is_none() && text.origin == Origin::Own && kept(&text.extra).is_none() => {
            Some(text.body.as_str())
        }
        _ => None,
    }
}

/// Makes texts of the texts of an object that an answer is. Only one with a text of several lines is worth it, or one that
/// tells of a program.
pub(crate) fn take_apart(result: &mut ToolResult, object: &Map<String, Value>, is_program: bool) {
    let Some(raw) = only_text(result) else { return };
    let Some((frame, names)) = frame(raw, object) else {
        return;
    };
    let texts = || names.iter().filter_map(|name| object.get(name)?.as_str());
    if !is_program && !texts().any(|text| text.trim().contains('\n')) {
        return;
    }
    let mut output: Vec<Part> = names
        .iter()
        .zip(texts())
        .map(|(name, text)| Part::Text(answer::of_field(text.to_owned(), name)))
        .collect();
    let mut others = object.clone();
    others.retain(|name, _| !names.contains(name));
    output.extend(answer::others_text(&answer::others(&others)).map(Part::Text));
    result.output = output;
    result.extra = marked(std::mem::take(&mut result.extra), FRAME, frame);
}

/// What stands around the texts of an object, and the names of the fields that they are, in order.
fn frame(raw: &str, object: &Map<String, Value>) -> Option<(Value, Vec<String>)> {
    let strings = strings(raw)?;
    let mut seen = HashSet::new();
    let mut taken: Vec<(String, &str, (usize, usize))> = Vec::new();
    for (name, place) in strings.texts {
        let text = object.get(&name)?.as_str()?;
        if answer::is_text(&name, text) {
            taken.push((name, text, place));
        }
    }
    // Of two fields of one name only one is read.
    if taken.is_empty() || strings.fields != object.len() || !taken.iter().all(|(name, ..)| seen.insert(name.clone())) {
        return None;
    }
    let is_so = |style: &Style| {
        let as_came = |(_, text, (from, to)): &(String, &str, (usize, usize))| quoted(text, *style) == raw[*from..*to];
        taken.iter().all(as_came)
    };
    let style = STYLES.iter().position(is_so)?;
    let mut pieces: Vec<&str> = Vec::new();
    let mut at = 0;
    for (_, _, (from, to)) in &taken {
        pieces.push(&raw[at..*from]);
        at = *to;
    }
    pieces.push(&raw[at..]);
    let names: Vec<String> = taken.into_iter().map(|(name, ..)| name).collect();
    let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
    (bytes <= LONGEST_FRAME).then(|| (json!({"style": style, "pieces": pieces, "names": names}), names))
}

/// The strings among the values of an object.
struct Strings {
    /// Name of the field, and where the literal stands.
    texts: Vec<(String, (usize, usize))>,
    fields: usize,
}

/// Finds the strings of an object that is known to be valid.
fn strings(raw: &str) -> Option<Strings> {
    let bytes = raw.as_bytes();
    let mut found = Strings {
        texts: Vec::new(),
        fields: 0,
    };
    let mut depth = 0_usize;
    let mut name: Option<String> = None;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = end_of_string(bytes, at)?;
                match name.take() {
                    _ if depth != 1 => {}
                    Some(name) => found.texts.push((name, (at, end))),
                    None => {
                        name = serde_json::from_str(&raw[at..end]).ok();
                        found.fields += 1;
                    }
                }
                at = end;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            // Whatever the value was, a name comes next.
            b',' if depth == 1 => name = None,
            _ => {}
        }
        at += 1;
    }
    Some(found)
}

/// Behind the string that begins here.
fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A text as a JSON string.
fn quoted(text: &str, style: Style) -> String {
    use std::fmt::Write;
    let plain = Value::from(text).to_string();
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        let is_escaped =
            style.beyond_ascii && c > '~' || style.html && matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
        if is_escaped {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                write!(out, "\\u{unit:04x}").expect("a string takes every text");
            }
        } else {
            out.extend((c == '/' && style.slashes).then_some('\\'));
            out.push(c);
        }
    }
    out
}

/// The whole object of an answer that was taken apart, with what became of its texts; `None` where it was not, or its
/// texts are not what they were (a marker stands for all of them).
pub(crate) fn whole(result: &ToolResult) -> Option<String> {
    let frame = result.extra.get(FRAME)?;
    let style = *STYLES.get(usize::try_from(frame.get("style")?.as_u64()?).ok()?)?;
    let list = |name: &str| {
        frame
            .get(name)?
            .as_array()
            .map(|items| items.iter().filter_map(Value::as_str))
    };
    let (mut pieces, names) = (list("pieces")?, list("names")?);
    let says_more = result.error.as_ref().is_some_and(|error| !error.is_blank());
    if says_more
        || result
            .output
            .iter()
            .any(|part| !matches!(part, Part::Text(text) if answer::field(text).is_some()))
    {
        return None;
    }
    // What is no text of its own stands in the frame.
    let mut texts = result.texts().filter(|text| !answer::is_others(text));
    let mut out = String::from(pieces.next()?);
    for name in names {
        let text = texts.next().filter(|text| answer::field(text) == Some(name))?;
        out.push_str(&quoted(text.body.as_str(), style));
        out.push_str(pieces.next()?);
    }
    texts.next().is_none().then_some(out)
}

/// Whether an answer was taken apart.
pub(crate) fn is_apart(result: &ToolResult) -> bool {
    result.extra.get(FRAME).is_some()
}

/// The answer as a form writes it that has a plain string for it, or a list of blocks of this type.
pub(crate) fn node<'a>(result: &ToolResult, block: &'static str) -> Option<Node<'a>> {
    let whole: Node = whole(result)?.into();
    Some(match result.bare {
        true => whole,
        false => Node::List(vec![Node::Object(vec![("type", Node::str(block)), ("text", whole)])]),
    })
}
