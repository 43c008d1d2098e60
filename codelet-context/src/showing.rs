//! Whether what an output shows is shown again by newer ones: the one judge of what is superseded.
//!
//! Outputs of the same file, or of the same call, are compared by their lines. An older one is superseded once most of its
//! lines stand in newer ones: pages of a file do not supersede each other, however they were asked for. Not all lines: one
//! that changed in between is exactly why somebody looked again. Of a file that was changed since, fewer will do: what is
//! not shown again may be there no more.

use crate::body::Body;
use crate::hash::{self, ByHash};
use crate::message::{ActionKind, ToolCall, ToolResult};
use serde_json::Value;
use std::collections::HashSet;
use std::collections::hash_map::Entry;

/// The share of an output's lines that newer outputs must show …
const MOST: f64 = 0.8;
/// … and this one, if the file was changed in between.
const HALF: f64 = 0.5;

/// What outputs show, as they come. To take one in takes time in proportion to its bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Showing {
    outputs: Vec<Output>,
    /// By what is shown: the only output of it so far with its texts, whose lines nobody has asked for; most stay so.
    only: ByHash<Option<(u32, Vec<Body>)>>,
    /// By line and what it was shown of: the newest output that shows it.
    newest: ByHash<u32>,
    /// By file: the outputs that came before it was changed last.
    changed: ByHash<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Output {
    /// What the caller knows it by.
    name: u32,
    /// Different lines, and those of them that newer outputs do not show.
    lines: u32,
    left: u32,
    is_superseded: bool,
}

impl Showing {
    /// Takes in an output of a file, or of a call, by its hash; returns the older ones that it supersedes.
    pub fn show(&mut self, name: u32, of: u64, result: &ToolResult) -> Vec<u32> {
        let number = self.outputs.len() as u32;
        let texts: Vec<Body> = result.texts().map(|text| text.body.clone()).collect();
        self.outputs.push(Output {
            name,
            lines: 0,
            left: 0,
            is_superseded: false,
        });
        let mut met = Vec::new();
        match self.only.entry(of) {
            Entry::Vacant(place) => {
                place.insert(Some((number, texts)));
                return Vec::new();
            }
            Entry::Occupied(mut only) => {
                if let Some((first, texts)) = only.get_mut().take() {
                    self.take(first, of, &texts, &mut met);
                }
                self.take(number, of, &texts, &mut met);
            }
        }
        let changed = self.changed.get(&of).copied().unwrap_or(0);
        met.sort_unstable();
        let mut superseded = Vec::new();
        for again in met.chunk_by(|a, b| a == b) {
            let older = &mut self.outputs[again[0] as usize];
            older.left -= again.len() as u32;
            let share = if again[0] < changed { HALF } else { MOST };
            if !older.is_superseded && f64::from(older.lines - older.left) >= share * f64::from(older.lines) {
                older.is_superseded = true;
                superseded.push(older.name);
            }
        }
        superseded
    }

    /// Takes in the lines of an output; appends, for each that older ones show, the newest of these.
    fn take(&mut self, number: u32, of: u64, texts: &[Body], met: &mut Vec<u32>) {
        let mut lines = 0;
        for line in lines_of(texts.iter()) {
            match self.newest.insert(hash::pair(of, line), number) {
                Some(older) if older == number => continue,
                Some(older) => met.push(older),
                None => {}
            }
            lines += 1;
        }
        let output = &mut self.outputs[number as usize];
        (output.lines, output.left) = (lines, lines);
    }

    /// A file was changed.
    pub fn change(&mut self, file: u64) {
        self.changed.insert(file, self.outputs.len() as u32);
    }
}

/// Whether most of what an output shows is among these lines.
pub(crate) fn is_shown_again<'a>(older: impl Iterator<Item = &'a Body>, lines: &HashSet<u64>) -> bool {
    let own: HashSet<u64> = lines_of(older).collect();
    let again = own.intersection(lines).count();
    !own.is_empty() && again as f64 >= MOST * own.len() as f64
}

/// Whether making this call again asks the same question again, so that the newer answer stands for the older one whatever
/// it says: it only looks, and says at what. One that says nothing of the kind (`next_page {}`, `goto {"line": 100}`) looks
/// at something else each time.
pub(crate) fn asks_the_same_again(call: &ToolCall) -> bool {
    let names_something = |value: &Value| match value {
        Value::String(text) => text.chars().any(char::is_alphabetic),
        Value::Array(_) | Value::Object(_) => true,
        _ => false,
    };
    let action = &call.action;
    match action.kind {
        ActionKind::Read => !action.paths.is_empty(),
        ActionKind::Search => !action.paths.is_empty() || call.parameters.as_map().values().any(names_something),
        _ => false,
    }
}

/// The lines of an output that say something, as hashes: without white space around them, and without the number that a
/// reading tool has put before them, which differs when something above was changed.
pub(crate) fn lines_of<'a>(texts: impl Iterator<Item = &'a Body>) -> impl Iterator<Item = u64> {
    let lines = texts.flat_map(|text| text.as_str().lines());
    lines
        .map(without_number)
        .filter(|line| {
            line.bytes()
                .any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
        })
        .map(|line| hash::bytes(line.as_bytes()))
}

fn without_number(line: &str) -> &str {
    let line = line.trim();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == line.len() {
        return line;
    }
    let rest = rest.trim_start_matches(' ');
    match rest.chars().next() {
        Some(mark @ ('\t' | '→' | ':' | '|' | '│')) => rest[mark.len_utf8()..].trim(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::Action;
    use proptest::prelude::*;
    use serde_json::json;
    use std::ops::Range;

    const FILE: u64 = 7;
    const NONE: [u32; 0] = [];

    fn page(range: Range<usize>) -> ToolResult {
        let lines = range.map(|n| format!("{:>6}\tlet value_{} = {n};\n}}\n", n + 1, n * 7));
        ToolResult::new("a", None, lines.collect::<String>())
    }

    #[test]
    fn pages_of_a_file_do_not_supersede_each_other() {
        let mut showing = Showing::default();
        for number in 0..5_u32 {
            let at = number as usize * 50;
            assert_eq!(showing.show(number, FILE, &page(at..at + 50)), NONE);
        }
        // All of it supersedes them all, one of another file none.
        assert_eq!(showing.show(5, FILE + 1, &page(0..250)), NONE);
        assert_eq!(showing.show(6, FILE, &page(0..250)), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn pages_that_cover_an_output_together_supersede_it() {
        let mut showing = Showing::default();
        showing.show(0, FILE, &page(10..90));
        assert_eq!(showing.show(1, FILE, &page(0..50)), NONE);
        assert_eq!(showing.show(2, FILE, &page(50..100)), [0]);
        // What is superseded is so once.
        assert_eq!(showing.show(3, FILE, &page(0..100)), [1, 2]);
    }

    #[test]
    fn what_a_reader_left_out_at_the_end_is_not_shown_again() {
        // A page near the end, and then the file from its start, of which the reader shows the first 2,000 lines.
        let mut showing = Showing::default();
        showing.show(0, FILE, &page(4_000..5_000));
        assert_eq!(showing.show(1, FILE, &page(0..2_000)), NONE);
    }

    #[test]
    fn of_a_changed_file_half_is_enough() {
        let mut showing = Showing::default();
        showing.show(0, FILE, &page(0..100));
        showing.change(FILE + 1);
        assert_eq!(showing.show(1, FILE, &page(40..140)), NONE);
        showing.show(2, FILE, &page(200..300));
        showing.change(FILE);
        assert_eq!(showing.show(3, FILE, &page(240..340)), [2]);
        showing.show(4, FILE, &page(400..500));
        assert_eq!(showing.show(5, FILE, &page(440..540)), NONE, "it was changed before");
    }

    #[test]
    fn a_call_asks_the_same_again_if_it_says_at_what_it_looks() {
        let of = |action: Action, parameters: Value| {
            let call = ToolCall::new("a", "t", parameters.as_object().unwrap().clone());
            asks_the_same_again(&call.doing(action))
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

    proptest! {
        #[test]
        fn an_output_is_superseded_once_and_by_its_own_lines(
            pages in proptest::collection::vec((0usize..40, 0usize..20, any::<bool>()), 0..30),
        ) {
            let mut showing = Showing::default();
            let mut seen = HashSet::new();
            for (number, &(start, length, is_changed)) in pages.iter().enumerate() {
                if is_changed {
                    showing.change(FILE);
                }
                for older in showing.show(number as u32, FILE, &page(start..start + length)) {
                    prop_assert!((older as usize) < number && seen.insert(older));
                    let lines: HashSet<usize> = pages[older as usize + 1..=number]
                        .iter()
                        .flat_map(|&(start, length, _)| start..start + length)
                        .collect();
                    let (start, length, _) = pages[older as usize];
                    let again = (start..start + length).filter(|line| lines.contains(line)).count();
                    prop_assert!(again as f64 >= HALF * length as f64);
                }
            }
        }
    }
}
