//! Decides whether a newer answer to the same question stands for an older one.
//!
//! It may have other lines: a list may have changed. But it must be an answer. A tool that knows its earlier outputs may
//! refer to them ("file unchanged, see above"), and without those, the content would be lost.

use crate::message::{ActionKind, Part, Text, ToolCall, ToolResult, files};
use crate::text::body::Body;
use crate::text::hash::{self, ByHash};
use serde_json::Value;

/// A newer answer stands for an older one if it has at least one part in this many of its bytes, or if something was
/// changed in between.
const COMPARABLE: usize = 2;
/// An answer below these bytes and lines may be a note about an older one.
const NOTE_BYTES: usize = 512;
const NOTE_LINES: usize = 4;

/// The question of a read-only call with a specific subject: the tool and its parameters, in any order. A call without
/// one (`next_page {}`, `goto {"line": 100}`) shows something else each time.
fn question(call: &ToolCall) -> Option<u64> {
    let names_something = |value: &Value| match value {
        Value::String(text) => text.chars().any(char::is_alphabetic),
        Value::Array(_) | Value::Object(_) => true,
        _ => false,
    };
    let names_file = !call.action.paths.is_empty();
    let says_at_what = match call.action.kind {
        ActionKind::Read => names_file,
        ActionKind::Search => names_file || call.parameters.as_map().values().any(names_something),
        _ => false,
    };
    let asked = || hash::pair(hash::bytes(call.tool.as_bytes()), call.parameters.canonical_hash());
    (says_at_what && call.cut.is_none()).then(asked)
}

/// The bytes of an answer; `None` for a note. `body` gives a text before it was cut.
pub(crate) fn size<'a>(result: &'a ToolResult, body: impl Fn(&'a Text) -> &'a Body) -> Option<usize> {
    let (mut bytes, mut lines) = (0, 0);
    for part in &result.output {
        match part {
            Part::Text(text) => {
                bytes += body(text).len();
                lines += body(text).as_str().lines().count();
            }
            Part::Image(image) => bytes += image.data.len(),
            Part::Opaque(opaque) => bytes += opaque.json().len(),
            _ => {}
        }
    }
    (bytes >= NOTE_BYTES || lines >= NOTE_LINES).then_some(bytes)
}

/// The newer answers and changes: it is told of them from the newest to the oldest.
#[derive(Default)]
pub(crate) struct NewerAnswers {
    /// By question: the bytes of the largest answer, and the number of changes behind the newest.
    answers: ByHash<(usize, u32)>,
    changes: u32,
    /// By file: the number of changes from its first one on.
    changed: ByHash<u32>,
}

impl NewerAnswers {
    /// Takes the answer to a call, of this [`size`], before those that it took; returns whether one of them stands for it.
    pub fn take(&mut self, call: &ToolCall, size: Option<usize>) -> bool {
        let (Some(question), Some(bytes)) = (question(call), size) else {
            return false;
        };
        let changed = match (call.action.kind, call.action.paths.as_slice()) {
            (ActionKind::Search, _) => self.changes,
            (_, [path]) => self.changed.get(&files::file(path)).copied().unwrap_or(0),
            _ => 0,
        };
        let is_first = !self.answers.contains_key(&question);
        let (largest, before) = self.answers.entry(question).or_insert((bytes, self.changes));
        let is_answered = !is_first && (largest.saturating_mul(COMPARABLE) >= bytes || changed > *before);
        *largest = bytes.max(*largest);
        is_answered
    }

    /// Takes a change to a file; 0 if the file is unknown.
    pub fn change(&mut self, file: u64) {
        self.changes += 1;
        if file != 0 {
            self.changed.insert(file, self.changes);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::Action;
    use serde_json::json;

    const OTHER: u64 = 7;

    fn call(kind: ActionKind, what: &str) -> ToolCall {
        let parameters = json!({ "what": what });
        let paths = if kind == ActionKind::Read { vec![what] } else { vec![] };
        let call = ToolCall::new("a", "look", parameters.as_object().unwrap().clone());
        call.doing(Action::on(kind, paths))
    }

    /// Which of these answers to one call, oldest first, a newer one stands for. Between them, files are changed.
    fn answered(call: &ToolCall, answers: &[(&str, &[u64])]) -> Vec<bool> {
        let mut newer = NewerAnswers::default();
        let take = |(text, changed): &(&str, &[u64])| {
            changed.iter().for_each(|&file| newer.change(file));
            let result = ToolResult::new("a", None, *text);
            newer.take(call, size(&result, |text| &text.body))
        };
        let mut told: Vec<bool> = answers.iter().rev().map(take).collect();
        told.reverse();
        told
    }

    fn page(lines: usize) -> String {
        (0..lines)
            .map(|line| format!("let value_{line} = {};\n", line * 7))
            .collect()
    }

    #[test]
    fn a_call_asks_the_same_again_if_it_says_at_what_it_looks() {
        let of = |action: Action, parameters: Value| {
            let call = ToolCall::new("a", "t", parameters.as_object().unwrap().clone());
            question(&call.doing(action)).is_some()
        };
        let (read, search) = (
            || Action::on(ActionKind::Read, []),
            || Action::on(ActionKind::Search, []),
        );
        assert!(of(Action::on(ActionKind::Read, ["a.rs"]), json!({"file": "a.rs"})));
        assert!(of(search(), json!({"pattern": "fn main"})));
        assert!(of(Action::on(ActionKind::Search, ["src"]), json!({})));
        assert!(!of(read(), json!({})));
        assert!(!of(read(), json!({"line_number": 100})));
        assert!(!of(read(), json!({"direction": "down"})));
        assert!(!of(search(), json!({"page": "2"})));
        assert!(!of(Action::command("git status"), json!({"command": "git status"})));
        assert!(!of(Action::default(), json!({"query": "x"})));
    }

    #[test]
    fn a_note_on_an_earlier_answer_does_not_stand_for_it() {
        let file = files::file("src/a.rs");
        for note in [
            "File unchanged since last read. The content from the earlier result is still current: refer to that.",
            "<note>\nSame result as the call before, left out to save room.\n</note>",
            "Datei unverändert, siehe oben.",
            "Error: too many reads of one file",
            "",
        ] {
            for (kind, changed) in [(ActionKind::Read, &[file][..]), (ActionKind::Search, &[])] {
                let looked = call(kind, "src/a.rs");
                let whole = page(60);
                let told = answered(&looked, &[(&whole, changed), (note, &[]), (note, &[])]);
                assert_eq!(told, [false; 3], "{note:?}");
                let told = answered(&looked, &[(&whole, changed), (note, &[]), (&whole, &[]), (note, &[])]);
                assert_eq!(told, [true, false, false, false], "{note:?}");
            }
        }
    }

    #[test]
    fn a_much_shorter_answer_stands_for_an_older_one_only_after_a_change() {
        let (long, short) = (page(200), page(12));
        let file = files::file("src/a.rs");
        let told = |kind, changed: &[u64]| answered(&call(kind, "src/a.rs"), &[(&long, changed), (&short, &[])])[0];
        assert!(!told(ActionKind::Read, &[]));
        assert!(!told(ActionKind::Read, &[OTHER]));
        assert!(told(ActionKind::Read, &[OTHER, file]));
        assert!(!told(ActionKind::Search, &[]));
        assert!(told(ActionKind::Search, &[OTHER]));
        // What was changed before or since says nothing.
        let read = call(ActionKind::Read, "src/a.rs");
        let changed = answered(&read, &[(&short, &[file]), (&long, &[]), (&short, &[file])]);
        assert_eq!(changed, [true, false, false]);
    }

    #[test]
    fn the_largest_newer_answer_counts() {
        let read = call(ActionKind::Read, "src/a.rs");
        let (long, short) = (page(200), page(12));
        assert_eq!(
            answered(&read, &[(&long, &[]), (&long, &[]), (&short, &[])]),
            [true, false, false]
        );
    }
}
