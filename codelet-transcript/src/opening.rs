//! The openings of observations, as agents write them: tags, labels and phrases.

use crate::actions::{action, asks_and_prints_nothing};
use codelet_context::message::ActionKind;
use serde_json::Map;

/// Openings of outputs: tags around the whole text.
#[rustfmt::skip]
const TAGS: &[&str] = &[
    "returncode", "output", "observation", "tool_response", "tool_result", "tool_output", "function_results",
    "function_response", "command_output",
];
/// Openings of outputs: labels before a colon.
#[rustfmt::skip]
const LABELS: &[&str] = &[
    "observation", "tool result", "tool output", "tool response", "command output", "execution result", "execution output",
];
/// Openings of outputs of Aider, AutoGen and mini-swe-agent: a beginning, and another phrase in the text.
pub(crate) const BEGINNINGS: &[(&str, &str)] = &[
    ("I ran this command:\n", "\nAnd got this output:\n"),
    ("exitcode: ", "\nCode output:"),
    ("The last command <command>", ""),
];
/// The beginning and end of openings that name the tool: of Cline and its forks, `[read_file for 'src/a.rs'] Result:`,
/// and of OpenHands.
const NAMING: &[(&str, &str)] = &[("[", "] Result:"), ("EXECUTION RESULT of [", "]:")];
/// The opening of a failed action: a line by itself.
pub(crate) const ERROR: &str = "error";
/// The phrase that identifies a marker that this engine left in place of an output.
pub(crate) const MARKER: &str = " \u{b7} recall ";
/// Tags of the user's words within an observation.
const ANSWERS: [&str; 3] = ["<feedback>", "<answer>", "<user_message>"];
/// The beginning of a harness's sentence about what the user said.
const SAYS: &str = "The user ";

/// The beginning of a message that may be an observation.
pub(crate) struct Opening {
    /// The entry in the tables.
    pub kind: &'static str,
    /// The text consists of the opening alone.
    pub is_bare: bool,
    /// The length of the opening in bytes, if it only announces the output.
    pub head: usize,
    /// The tool that it names.
    pub tool: Option<String>,
}

impl Opening {
    pub fn of(whole: &str) -> Option<Opening> {
        let text = whole.trim_start();
        let plain = |kind| Opening {
            kind,
            is_bare: false,
            head: 0,
            tool: None,
        };
        let behind = |kind, head: usize, tool| {
            let rest = text[head..].trim_start();
            Opening {
                kind,
                is_bare: rest.is_empty(),
                head: whole.len() - rest.len(),
                tool,
            }
        };
        let begins = |(begin, has): &&(&str, &str)| text.starts_with(begin) && text.contains(has);
        if let Some((begin, _)) = BEGINNINGS.iter().find(begins) {
            return Some(plain(begin));
        }
        if is_marker(text) {
            return Some(plain(MARKER));
        }
        for (begin, end) in NAMING {
            let Some(rest) = text.strip_prefix(begin) else { continue };
            let tool = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_'))?;
            // The argument may have several lines.
            let at = rest.find(end)?;
            let is_named = tool > 0 && (at == tool || rest[tool..].starts_with(" for "));
            return is_named.then(|| behind(begin, begin.len() + at + end.len(), Some(rest[..tool].to_owned())));
        }
        if let Some(rest) = text.strip_prefix('<') {
            let name = rest.split(['>', ' ']).next()?;
            let tag = TAGS.iter().find(|tag| **tag == name)?;
            // The tags enclose the whole text: people write something next to what they paste.
            let last = text.trim_end().rsplit("</").next()?.strip_suffix('>')?;
            let is_tag = !last.is_empty() && last.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
            return is_tag.then(|| plain(tag));
        }
        let (label, after) = text.lines().next()?.split_once(':')?;
        let is_it = |known: &&&'static str| known.eq_ignore_ascii_case(label);
        if label.eq_ignore_ascii_case(ERROR) && after.trim().is_empty() {
            return Some(plain(ERROR));
        }
        LABELS
            .iter()
            .find(is_it)
            .map(|known| behind(known, label.len() + 1, None))
    }

    /// Returns whether the observation holds words of the user: the answer of a tool that asks, or a harness's
    /// statement at the very start of an edit's result. The text of a file, a program or a server could claim anything.
    pub fn lets_the_user_speak(&self, text: &str) -> bool {
        let said = text.get(self.head..).unwrap_or_default();
        let (Some(at), Some(tool)) = (ANSWERS.iter().filter_map(|tag| said.find(tag)).min(), &self.tool) else {
            return false;
        };
        let is_said = || self.kind == NAMING[0].0 && said[..at].starts_with(SAYS);
        asks_and_prints_nothing(tool) && (action(tool, &Map::new()).kind == ActionKind::Ask || is_said())
    }
}

/// Returns whether a text is only a marker of this engine, such as `[bash output, 1,365 bytes, same as a newer one ·
/// recall h45yz2]`.
fn is_marker(text: &str) -> bool {
    let inside = text
        .trim_end()
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    inside.is_some_and(|inside| !inside.contains(['\n', '[', ']']) && inside.contains(MARKER))
}
