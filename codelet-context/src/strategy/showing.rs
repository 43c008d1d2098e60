//! Decides whether newer outputs show the content of an older one again: the only judge of supersession.
//!
//! Outputs of the same file, or of the same call, are compared by their lines. An older one is superseded once newer
//! ones contain most of its lines: different pages of a file do not supersede each other, however they were requested.
//! Not all lines are needed: a line that changed in between is the very reason to look again. If the file was changed
//! since, a smaller share is enough: lines that are not shown again may no longer exist.
//!
//! If the same question was asked again, the newer answer may replace the older one even with different lines: a list
//! may have changed. But it must be an answer. A tool that knows its earlier outputs may refer to them ("file
//! unchanged, see above"), and without those, the content would be lost.

use crate::message::{ActionKind, Parameters, Part, ToolCall, ToolResult};
use crate::text::body::Body;
use crate::text::hash::{self, ByHash};
use crate::text::lines::lines_of;
use serde_json::Value;
use std::sync::Arc;

/// The share of an output's lines that newer outputs must show.
const MOST: f64 = 0.8;
/// The share that is enough if the file was changed in between.
const HALF: f64 = 0.5;
/// An answer to the same question is of comparable size if it has at least one part in this many of the older one's
/// bytes, and of its lines.
const COMPARABLE: usize = 2;
/// An answer below these bytes and lines may be a note about an older one: it replaces another only by its lines.
const NOTE_BYTES: usize = 512;
const NOTE_LINES: usize = 4;

/// The data by which an output is compared with older and newer ones.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    /// The hash of its subject: one file, or the query of its call.
    pub of: u64,
    /// The file that it shows, or 0.
    pub file: u64,
    /// The question, if repeating it yields a newer answer.
    pub question: Option<Question>,
}

/// A read-only call with a specific subject; equal calls ask the same question.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    tool: Arc<str>,
    parameters: Parameters,
    /// True if it searches in general, and does not read one file.
    is_search: bool,
}

impl Question {
    /// The question of a call, so that a newer answer to it may replace an older one. A call without a specific subject
    /// (`next_page {}`, `goto {"line": 100}`) shows something else each time.
    pub fn of(call: &ToolCall) -> Option<Question> {
        let names_something = |value: &Value| match value {
            Value::String(text) => text.chars().any(char::is_alphabetic),
            Value::Array(_) | Value::Object(_) => true,
            _ => false,
        };
        let action = &call.action;
        let says_at_what = match action.kind {
            ActionKind::Read => !action.paths.is_empty(),
            ActionKind::Search => !action.paths.is_empty() || call.parameters.as_map().values().any(names_something),
            _ => false,
        };
        (says_at_what && call.cut.is_none()).then(|| Question {
            tool: call.tool.clone(),
            parameters: call.parameters.clone(),
            is_search: action.kind == ActionKind::Search,
        })
    }

    fn hash(&self) -> u64 {
        asks(&self.tool, &self.parameters)
    }

    /// Compares questions with equal hashes. Usually the keys are in the same order too, and comparing the cached JSON
    /// is enough.
    fn is_same(&self, other: &Question) -> bool {
        let (one, another) = (&self.parameters, &other.parameters);
        self.tool == other.tool && (one.json().as_str() == another.json().as_str() || one == another)
    }
}

/// The hash of a question: the tool and its parameters, in any order.
pub(crate) fn asks(tool: &str, parameters: &Parameters) -> u64 {
    hash::pair(hash::bytes(tool.as_bytes()), parameters.canonical_hash())
}

/// The outputs so far, and the lines that they show. Adding one takes time linear in its bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Showing {
    outputs: Vec<Output>,
    /// By subject and line: the newest output that shows the line.
    newest: ByHash<ByHash<u32>>,
    /// By file: the number of outputs before its last change.
    changed: ByHash<u32>,
    /// The number of outputs before the last change to any file.
    any_changed: u32,
    /// By question: the answers that no newer one replaces. Each is clearly smaller than those before it, so there are
    /// few.
    answers: ByHash<Vec<Answered>>,
}

/// An answer to a question.
#[derive(Clone, Debug)]
struct Answered {
    number: u32,
    question: Question,
    size: AnswerSize,
}

/// The amount of content in an answer.
#[derive(Clone, Copy, Debug, Default)]
struct AnswerSize {
    bytes: usize,
    lines: usize,
}

impl AnswerSize {
    fn of(result: &ToolResult, bodies: &[Body]) -> AnswerSize {
        let mut size = AnswerSize::default();
        for part in &result.output {
            size.bytes += match part {
                Part::Opaque(opaque) => opaque.json().len(),
                Part::Image(image) if image.is_url => image.data.len(),
                _ => 0,
            };
        }
        for body in bodies {
            size.bytes += body.len();
            size.lines += body.as_str().lines().count();
        }
        size
    }

    fn is_note(self) -> bool {
        self.bytes < NOTE_BYTES && self.lines < NOTE_LINES
    }

    fn is_comparable_to(self, older: AnswerSize) -> bool {
        let is_enough = |newer: usize, older: usize| newer.saturating_mul(COMPARABLE) >= older;
        is_enough(self.bytes, older.bytes) && is_enough(self.lines, older.lines)
    }
}

#[derive(Clone, Copy, Debug)]
struct Output {
    /// The caller's identifier.
    name: u32,
    /// The number of distinct lines, and of those that newer outputs do not show.
    lines: u32,
    left: u32,
    is_superseded: bool,
}

impl Showing {
    /// Adds an output; returns the older ones that it supersedes.
    pub fn show(&mut self, name: u32, looked: &Looked, result: &ToolResult) -> Vec<u32> {
        let body = |part: &_| match part {
            Part::Text(text) => Some(text.body.clone()),
            Part::Image(image) if !image.is_url => Some(image.data.clone()),
            _ => None,
        };
        let bodies = result.output.iter().filter_map(body).collect();
        self.show_bodies(name, looked, result, bodies)
    }

    /// The same for an output that was cut since, with its original bodies: its texts, and its pictures, each of which
    /// counts as a line.
    pub fn show_bodies(&mut self, name: u32, looked: &Looked, result: &ToolResult, bodies: Vec<Body>) -> Vec<u32> {
        let number = self.outputs.len() as u32;
        self.outputs.push(Output {
            name,
            lines: 0,
            left: 0,
            is_superseded: false,
        });
        let mut superseded = Vec::new();
        let changed = self.changed.get(&looked.file).copied().unwrap_or(0);
        if let Some(question) = &looked.question {
            let changed = if question.is_search { self.any_changed } else { changed };
            self.answer(
                number,
                question,
                changed,
                AnswerSize::of(result, &bodies),
                &mut superseded,
            );
        }
        let mut met = self.take(number, looked.of, &bodies);
        met.sort_unstable();
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

    /// Adds the answer to a question; appends the older answers that it replaces regardless of their lines: those of
    /// comparable size, and those from before a change to their subject.
    fn answer(&mut self, number: u32, question: &Question, changed: u32, size: AnswerSize, superseded: &mut Vec<u32>) {
        let Showing { outputs, answers, .. } = self;
        let answers = answers.entry(question.hash()).or_default();
        if size.is_note() {
            return;
        }
        answers.retain(|older| {
            let output = &mut outputs[older.number as usize];
            if output.is_superseded || !older.question.is_same(question) {
                return !output.is_superseded;
            }
            output.is_superseded = size.is_comparable_to(older.size) || older.number < changed;
            if output.is_superseded {
                superseded.push(output.name);
            }
            !output.is_superseded
        });
        answers.push(Answered {
            number,
            question: question.clone(),
            size,
        });
    }

    /// Adds the lines of an output on this subject; for each line that older outputs show, returns the newest of those.
    fn take(&mut self, number: u32, of: u64, bodies: &[Body]) -> Vec<u32> {
        let output = &mut self.outputs[number as usize];
        let newest = self.newest.entry(of).or_default();
        let mut met = Vec::new();
        for line in bodies.iter().flat_map(|body| lines_of(body.as_str())) {
            match newest.insert(line, number) {
                Some(older) if older == number => continue,
                Some(older) => met.push(older),
                None => {}
            }
            output.lines += 1;
        }
        output.left = output.lines;
        met
    }

    /// Records a change to a file; 0 if the file is unknown.
    pub fn change(&mut self, file: u64) {
        self.any_changed = self.outputs.len() as u32;
        if file != 0 {
            self.changed.insert(file, self.any_changed);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::Action;
    use proptest::prelude::*;
    use serde_json::json;
    use std::collections::HashSet;
    use std::ops::Range;

    const FILE: u64 = 7;
    const NONE: [u32; 0] = [];

    /// Content that is compared only by the lines of a file.
    fn file(file: u64) -> Looked {
        Looked {
            of: file,
            file,
            question: None,
        }
    }

    /// A read of a whole file, or a search for a word.
    fn asked(kind: ActionKind, what: &str) -> Looked {
        let parameters = json!({ "what": what });
        let call = ToolCall::new("a", "look", parameters.as_object().unwrap().clone());
        let call = call.doing(Action::on(
            kind,
            if kind == ActionKind::Read { vec![what] } else { vec![] },
        ));
        Looked {
            of: asks(&call.tool, &call.parameters),
            file: if kind == ActionKind::Read { FILE } else { 0 },
            question: Question::of(&call),
        }
    }

    fn says(text: &str) -> ToolResult {
        ToolResult::new("a", None, text)
    }

    fn page(range: Range<usize>) -> ToolResult {
        let lines = range.map(|n| format!("{:>6}\tlet value_{} = {n};\n}}\n", n + 1, n * 7));
        ToolResult::new("a", None, lines.collect::<String>())
    }

    #[test]
    fn pages_of_a_file_do_not_supersede_each_other() {
        let mut showing = Showing::default();
        for number in 0..5_u32 {
            let at = number as usize * 50;
            assert_eq!(showing.show(number, &file(FILE), &page(at..at + 50)), NONE);
        }
        // The whole file supersedes them all; another file supersedes none.
        assert_eq!(showing.show(5, &file(FILE + 1), &page(0..250)), NONE);
        assert_eq!(showing.show(6, &file(FILE), &page(0..250)), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn pages_that_cover_an_output_together_supersede_it() {
        let mut showing = Showing::default();
        showing.show(0, &file(FILE), &page(10..90));
        assert_eq!(showing.show(1, &file(FILE), &page(0..50)), NONE);
        assert_eq!(showing.show(2, &file(FILE), &page(50..100)), [0]);
        // An output is superseded only once.
        assert_eq!(showing.show(3, &file(FILE), &page(0..100)), [1, 2]);
    }

    #[test]
    fn what_a_reader_left_out_at_the_end_is_not_shown_again() {
        // A page near the end, and then the file from its start, of which the reader shows the first 2,000 lines.
        let mut showing = Showing::default();
        showing.show(0, &file(FILE), &page(4_000..5_000));
        assert_eq!(showing.show(1, &file(FILE), &page(0..2_000)), NONE);
    }

    #[test]
    fn of_a_changed_file_half_is_enough() {
        let mut showing = Showing::default();
        showing.show(0, &file(FILE), &page(0..100));
        showing.change(FILE + 1);
        assert_eq!(showing.show(1, &file(FILE), &page(40..140)), NONE);
        showing.show(2, &file(FILE), &page(200..300));
        showing.change(FILE);
        assert_eq!(showing.show(3, &file(FILE), &page(240..340)), [2]);
        showing.show(4, &file(FILE), &page(400..500));
        assert_eq!(
            showing.show(5, &file(FILE), &page(440..540)),
            NONE,
            "it was changed before"
        );
    }

    #[test]
    fn a_call_asks_the_same_again_if_it_says_at_what_it_looks() {
        let of = |action: Action, parameters: Value| {
            let call = ToolCall::new("a", "t", parameters.as_object().unwrap().clone());
            Question::of(&call.doing(action)).is_some()
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
        const NOTES: &[&str] = &[
            "File unchanged since last read. The content from the earlier result is still current: refer to that.",
            "<note>\nSame result as the call before, left out to save room.\n</note>",
            "(no changes)",
            "Datei unverändert, siehe oben.",
            "Error: too many reads of one file",
            "",
        ];
        for kind in [ActionKind::Read, ActionKind::Search] {
            let looked = asked(kind, "src/a.rs");
            for note in NOTES {
                for is_changed in [false, true] {
                    let mut showing = Showing::default();
                    showing.show(0, &looked, &page(0..60));
                    if is_changed {
                        showing.change(FILE);
                    }
                    assert_eq!(showing.show(1, &looked, &says(note)), NONE, "{note:?}");
                    // A note replaces at most another note.
                    assert!(!showing.show(2, &looked, &says(note)).contains(&0), "{note:?}");
                    // The content comes again, and then with other lines.
                    assert_eq!(showing.show(3, &looked, &page(0..60)), [0], "{note:?}");
                    assert_eq!(showing.show(4, &looked, &page(500..550)), [3], "{note:?}");
                }
            }
        }
    }

    #[test]
    fn a_long_note_or_a_first_part_does_not_stand_for_what_is_not_changed() {
        let looked = asked(ActionKind::Read, "src/a.rs");
        let reminder =
            "Unchanged, see above.\n\nA reminder of the harness, which it puts behind whatever it says.\n".repeat(9);
        for (newer, older) in [(says(&reminder), page(0..400)), (page(500..510), page(0..60))] {
            let mut showing = Showing::default();
            showing.show(0, &looked, &older);
            assert_eq!(showing.show(1, &looked, &newer), NONE);
            // Further outputs have the size of the newer or the older one.
            assert_eq!(showing.show(2, &looked, &newer), [1]);
            assert_eq!(showing.show(3, &looked, &older), [0, 2]);
        }
    }

    #[test]
    fn what_was_asked_again_after_a_change_stands_for_the_older_answer_however_much_shorter() {
        let read = asked(ActionKind::Read, "src/a.rs");
        let search = asked(ActionKind::Search, "value");
        for (looked, changed, other) in [(read, FILE, FILE + 1), (search, FILE + 5, 0)] {
            let mut showing = Showing::default();
            showing.show(0, &looked, &page(0..200));
            if other != 0 {
                showing.change(other);
                assert_eq!(showing.show(1, &looked, &page(500..520)), NONE);
            }
            showing.change(changed);
            let superseded = showing.show(2, &looked, &page(700..712));
            assert!(superseded.contains(&0) && superseded.len() <= 2, "{superseded:?}");
        }
    }

    #[test]
    fn answers_to_other_questions_stand_for_none() {
        let mut showing = Showing::default();
        showing.show(0, &asked(ActionKind::Search, "one"), &page(0..60));
        assert_eq!(
            showing.show(1, &asked(ActionKind::Search, "two"), &page(100..160)),
            NONE
        );
        assert_eq!(showing.show(2, &asked(ActionKind::Search, "one"), &page(200..260)), [0]);
    }

    #[test]
    fn of_many_outputs_each_is_compared_however_long_ago() {
        for count in [2, 40] {
            let mut showing = Showing::default();
            for number in 0..count {
                let (start, end) = (number * 100, number * 100 + 90);
                assert_eq!(showing.show(number as u32, &file(FILE), &page(start..end)), NONE);
            }
            let superseded = showing.show(count as u32, &file(FILE), &page(0..count * 100));
            assert_eq!(superseded.len(), count);
        }
    }

    proptest! {
        #[test]
        fn only_what_is_shown_again_or_as_long_is_superseded_by_an_answer_without_changes(
            answers in proptest::collection::vec((0usize..40, 0usize..40), 0..30),
        ) {
            let looked = asked(ActionKind::Read, "src/a.rs");
            let mut showing = Showing::default();
            let mut seen = HashSet::new();
            for (number, &(start, length)) in answers.iter().enumerate() {
                let newer = page(start..start + length);
                for older in showing.show(number as u32, &looked, &newer) {
                    prop_assert!((older as usize) < number && seen.insert(older));
                    let (start, older_length) = answers[older as usize];
                    let lines: HashSet<usize> = answers[older as usize + 1..=number]
                        .iter()
                        .flat_map(|&(start, length)| start..start + length)
                        .collect();
                    let again = (start..start + older_length).filter(|line| lines.contains(line)).count();
                    prop_assert!(length * 2 >= older_length || again as f64 >= MOST * older_length as f64);
                }
            }
        }

        #[test]
        fn lines_are_judged_alike_whenever_they_are_read(
            pages in proptest::collection::vec((0usize..30, 0usize..20, any::<bool>()), 0..25),
        ) {
            let mut showing = Showing::default();
            let (mut standing, mut changed) = (Vec::<usize>::new(), 0);
            let shows = |number: usize| {
                let (start, length, _) = pages[number];
                (start..start + length).collect::<HashSet<usize>>()
            };
            for (number, &(start, length, is_changed)) in pages.iter().enumerate() {
                if is_changed {
                    showing.change(FILE);
                    changed = number;
                }
                // Compares each page directly with all later ones.
                let is_superseded = |older: &usize| {
                    let own = shows(*older);
                    let again = |until: usize| {
                        let since = (older + 1..until).flat_map(shows).collect::<HashSet<usize>>();
                        own.intersection(&since).count()
                    };
                    let share = if *older < changed { HALF } else { MOST };
                    again(number + 1) > again(number) && again(number + 1) as f64 >= share * own.len() as f64
                };
                let (superseded, left): (Vec<usize>, Vec<usize>) = standing.iter().partition(|older| is_superseded(older));
                let told = showing.show(number as u32, &file(FILE), &page(start..start + length));
                prop_assert_eq!(told, superseded.iter().map(|&older| older as u32).collect::<Vec<u32>>());
                standing = left;
                standing.push(number);
            }
        }

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
                for older in showing.show(number as u32, &file(FILE), &page(start..start + length)) {
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
