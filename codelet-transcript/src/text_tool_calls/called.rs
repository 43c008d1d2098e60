//! What a call does that stands in the words of a reply.

use super::{ACTION, SHELL, runner};
use crate::objects;
use serde_json::{Map, Value};

const ACTION_INPUT: &str = "Action Input:";
/// Elements in elements that are looked into.
const DEEPEST: usize = 3;
/// Elements around calls that are none.
const FRAMES: [&str; 3] = ["function_calls", "tool_calls", "tools"];

/// The tool that is called, and with which parameters.
pub(super) fn called(raw: &str) -> (String, Map<String, Value>) {
    let found = in_a_fence(raw).or_else(|| by_a_label(raw)).or_else(|| in_tags(raw));
    found.unwrap_or_else(|| (String::from("action"), Map::new()))
}

fn in_a_fence(raw: &str) -> Option<(String, Map<String, Value>)> {
    let (open, inside) = raw.strip_prefix("```").and_then(|_| raw.split_once('\n'))?;
    let tool = runner(open.trim_matches(['`', ' ']))?;
    let inside = &inside[..inside.find("\n```")?];
    // A program is no command line.
    let name = if tool == SHELL { "command" } else { "code" };
    Some((
        tool.to_owned(),
        Map::from_iter([(name.to_owned(), Value::from(inside))]),
    ))
}

fn by_a_label(raw: &str) -> Option<(String, Map<String, Value>)> {
    let (tool, rest) = raw.strip_prefix(ACTION)?.split_once('\n')?;
    let input = rest.split_once(ACTION_INPUT)?.1;
    Some((tool.trim().to_owned(), objects::fields(input).unwrap_or_default()))
}

fn in_tags(raw: &str) -> Option<(String, Map<String, Value>)> {
    let last = |text: &str, close: &str| text.rfind(close);
    let (mut name, mut inside, _) = element(raw, last)?;
    if FRAMES.contains(&name) {
        (name, inside, _) = element(inside.trim(), last)?;
    }
    // `<tool_call>{"name": …, "arguments": {…}}</tool_call>`
    let Some(mut map) = objects::fields(inside) else {
        return Some((name.to_owned(), fields(inside, DEEPEST)));
    };
    let tool = map.get("name").and_then(Value::as_str).unwrap_or(name).to_owned();
    let parameters = match map.get_mut("arguments").map(Value::take) {
        Some(Value::Object(arguments)) => arguments,
        Some(Value::String(text)) => objects::fields(&text).unwrap_or_default(),
        _ => map,
    };
    Some((tool, parameters))
}

/// The elements of a text. Those that hold nothing but elements frame parameters: `<args><file><path>a.rs</path></file></args>`.
fn fields(mut text: &str, deepest: usize) -> Map<String, Value> {
    let mut found = Map::new();
    while let Some((name, value, behind)) = text
        .find('<')
        .and_then(|at| element(&text[at..], |text, close| text.find(close)))
    {
        // What comes twice stands in a value of the first.
        found
            .entry(name)
            .or_insert_with(|| Value::from(value.trim_matches('\n')));
        text = behind;
    }
    let inner = || found.values().filter_map(Value::as_str).map(str::trim_start);
    if deepest == 0 || found.is_empty() || !inner().all(|value| value.starts_with('<')) {
        return found;
    }
    inner().flat_map(|value| fields(value, deepest - 1)).collect()
}

/// The element that a text begins with, up to the tag that closes it, the first or the last: the name that it gives (`read_file`, and
/// `run` of `<function=run>` or `<invoke name="run">`), what stands in it, and what stands behind it.
fn element(text: &str, end: impl Fn(&str, &str) -> Option<usize>) -> Option<(&str, &str, &str)> {
    let (open, inside) = text.strip_prefix('<')?.split_once('>')?;
    let (tag, attributes) = open.split_at(open.find([' ', '=']).unwrap_or(open.len()));
    if tag.is_empty() || !tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
        return None;
    }
    let named = attributes.strip_prefix('=').or_else(|| {
        let (_, named) = attributes.split_once(" name=")?;
        named.strip_prefix(['"', '\''])?.split(['"', '\'']).next()
    });
    let close = format!("</{tag}>");
    let at = end(inside, &close)?;
    Some((named.map_or(tag, str::trim), &inside[..at], &inside[at + close.len()..]))
}
