//! A call as it stands in the words of a reply.

use super::{ACTION, SHELL, fence_name, offset, runner};
use serde_json::{Map, Value};

/// The parameter of what is not taken apart.
const INPUT: &str = "input";
const ACTION_INPUT: &str = "Action Input:";
/// Elements in elements that are looked into.
const DEEPEST: usize = 3;
/// Elements around calls that are none.
const FRAMES: [&str; 3] = ["function_calls", "tool_calls", "tools"];

/// A call as it stands in words.
pub(super) struct Called {
    pub tool: String,
    pub parameters: Map<String, Value>,
    /// The parameters that tell what it does, where these are others.
    pub does: Option<Map<String, Value>>,
    /// What stands before, between and behind the parameters.
    pub around: Vec<String>,
}

impl Called {
    pub fn of(raw: &str) -> Called {
        let called = Self::in_a_fence(raw)
            .or_else(|| Self::by_a_label(raw))
            .or_else(|| Self::in_tags(raw));
        // What would not be the same again is not taken apart.
        match called {
            Some(called) if words(&called.parameters, &called.around).as_deref() == Some(raw) => called,
            called => Called {
                does: called
                    .as_ref()
                    .map(|called| called.does.as_ref().unwrap_or(&called.parameters).clone()),
                tool: called.map_or_else(|| String::from("action"), |called| called.tool),
                parameters: one(INPUT, raw),
                around: vec![String::new(); 2],
            },
        }
    }

    fn in_a_fence(raw: &str) -> Option<Called> {
        let (open, inside) = raw.strip_prefix("```").and_then(|_| raw.split_once('\n'))?;
        let end = inside.find("\n```")?;
        let tool = runner(fence_name(open))?;
        Some(Called {
            tool: tool.to_owned(),
            // A program is no command line.
            parameters: one(if tool == SHELL { "command" } else { "code" }, &inside[..end]),
            does: None,
            around: around(raw, &inside[..end]),
        })
    }

    fn by_a_label(raw: &str) -> Option<Called> {
        let (tool, rest) = raw.strip_prefix(ACTION)?.split_once('\n')?;
        let input = rest.split_once(ACTION_INPUT)?.1.trim();
        Some(Called {
            tool: tool.trim().to_owned(),
            parameters: one(INPUT, input),
            does: object(input),
            around: around(raw, input),
        })
    }

    fn in_tags(raw: &str) -> Option<Called> {
        let (mut name, mut inside, _) = outer(raw)?;
        if FRAMES.contains(&name) {
            (name, inside, _) = outer(inside.trim())?;
        }
        // `<tool_call>{"name": …, "arguments": {…}}</tool_call>`
        if let Some(mut map) = object(inside) {
            let tool = map.get("name").and_then(Value::as_str).unwrap_or(name).to_owned();
            let arguments = map.get_mut("arguments").map(Value::take);
            let arguments = match arguments {
                Some(Value::String(text)) => object(&text).map(Value::Object),
                arguments => arguments,
            };
            let inside = inside.trim();
            return Some(Called {
                tool,
                parameters: one(INPUT, inside),
                does: Some(match arguments {
                    Some(Value::Object(arguments)) => arguments,
                    _ => map,
                }),
                around: around(raw, inside),
            });
        }
        let (mut parameters, mut around) = (Map::new(), Vec::new());
        let (mut rest, mut said) = (inside, 0);
        while let Some((name, value, behind)) = rest.find('<').and_then(|at| element(&rest[at..])) {
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            let start = offset(raw, value);
            around.push(raw[said..start].to_owned());
            said = start + value.len();
            // What comes twice stands in a value of the first.
            parameters.entry(name).or_insert_with(|| Value::from(value));
            rest = behind;
        }
        around.push(raw[said..].to_owned());
        Some(Called {
            tool: name.to_owned(),
            does: inner(&parameters),
            parameters,
            around,
        })
    }
}

/// The parameters that stand in a parameter, one in another: `<args><file><path>a.rs</path></file></args>`.
fn inner(parameters: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut found = Map::new();
    let mut values: Vec<&str> = parameters.values().filter_map(Value::as_str).collect();
    // Beside other parameters it is the text of a file.
    if !values.iter().all(|value| value.trim_start().starts_with('<')) {
        return None;
    }
    for _ in 0..DEEPEST {
        let mut next = Vec::new();
        for mut rest in std::mem::take(&mut values) {
            while let Some((name, value, behind)) = element(rest.trim_start()) {
                match value.trim_start().starts_with('<') {
                    true => next.push(value),
                    false => {
                        found.entry(name).or_insert_with(|| Value::from(value.trim()));
                    }
                }
                rest = behind;
            }
        }
        values = next;
    }
    (!found.is_empty()).then_some(found)
}

fn one(name: &str, value: &str) -> Map<String, Value> {
    Map::from_iter([(String::from(name), Value::from(value))])
}

fn object(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

/// What stands before and behind a part of a text.
fn around(text: &str, part: &str) -> Vec<String> {
    let start = offset(text, part);
    [&text[..start], &text[start + part.len()..]]
        .map(str::to_owned)
        .to_vec()
}

/// What a reply says to make a call of these parameters, if they are what stood between these words.
pub(super) fn words(parameters: &Map<String, Value>, around: &[String]) -> Option<String> {
    let (first, behind) = around.split_first()?;
    if behind.len() != parameters.len() {
        return None;
    }
    let mut words = first.clone();
    for (value, behind) in parameters.values().zip(behind) {
        words.push_str(value.as_str()?);
        words.push_str(behind);
    }
    Some(words)
}

/// The element that a text begins with, up to the first tag that closes it: its name, what stands in it, and what stands behind it.
fn element(text: &str) -> Option<(&str, &str, &str)> {
    closed(text, |inside, close| inside.find(close))
}

/// The same up to the last one.
fn outer(text: &str) -> Option<(&str, &str, &str)> {
    closed(text, |inside, close| inside.rfind(close))
}

fn closed(text: &str, end: impl Fn(&str, &str) -> Option<usize>) -> Option<(&str, &str, &str)> {
    let (name, close, inside) = opened(text)?;
    let at = end(inside, &close)?;
    Some((name, &inside[..at], &inside[at + close.len()..]))
}

/// The tag that a text begins with: the name that it gives (`read_file`, and `run` of `<function=run>` or `<invoke name="run">`), the
/// tag that closes it, and what stands behind it.
fn opened(text: &str) -> Option<(&str, String, &str)> {
    let (open, inside) = text.strip_prefix('<')?.split_once('>')?;
    let end = open.find([' ', '=']).unwrap_or(open.len());
    let (tag, attributes) = open.split_at(end);
    if tag.is_empty() || !tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
        return None;
    }
    let named = attributes.strip_prefix('=').or_else(|| {
        let (_, named) = attributes.split_once(" name=")?;
        named.strip_prefix(['"', '\''])?.split(['"', '\'']).next()
    });
    Some((named.map_or(tag, str::trim), format!("</{tag}>"), inside))
}
