//! Notes: single lines that the model recorded on decisions, findings and abandoned attempts.

use super::Parameters;
use codelet_text::short;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// The maximum bytes of a note's text and of its subject; the excess is cut off.
const TEXT: usize = 400;
const SUBJECT: usize = 60;

/// A line recorded by the model.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Note {
    /// The kind.
    kind: NoteKind,
    /// The subject, empty if none is given. Only the newest note on a subject is valid.
    subject: Arc<str>,
    /// The text.
    text: Arc<str>,
}

/// The kind of a note.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NoteKind {
    /// A decision on the task or the approach.
    Decision,
    /// A finding.
    Finding,
    /// A constraint to observe.
    Constraint,
    /// A failed approach that was abandoned.
    DeadEnd,
    /// An open task or question.
    OpenEnd,
}

impl NoteKind {
    /// All kinds, with their names.
    pub const ALL: [(NoteKind, &str); 5] = [
        (NoteKind::Decision, "decision"),
        (NoteKind::Finding, "finding"),
        (NoteKind::Constraint, "constraint"),
        (NoteKind::DeadEnd, "dead end"),
        (NoteKind::OpenEnd, "open end"),
    ];

    /// The kind of this name, in any case.
    fn named(name: &str) -> Option<Self> {
        let name = name.trim().replace(['_', '-'], " ");
        let found = NoteKind::ALL
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(&name))?;
        Some(found.0)
    }
}

impl Note {
    /// The note in the parameters of a call: `kind`, `text` and optionally `subject`. `None` without a known kind or
    /// without text.
    pub fn of(parameters: &Parameters) -> Option<Self> {
        let said = |name, most| {
            let said = parameters.as_map().get(name).and_then(Value::as_str).map(short::words);
            Arc::from(short::clip_bytes(&said.unwrap_or_default(), most))
        };
        let text: Arc<str> = said("text", TEXT);
        let kind = NoteKind::named(&said("kind", SUBJECT)).filter(|_| !text.is_empty())?;
        let subject = said("subject", SUBJECT);
        Some(Note { kind, subject, text })
    }

    /// The note on a line: `decision (parser): keep the old one`.
    pub fn line(&self) -> String {
        let known = NoteKind::ALL.iter().find(|(kind, _)| *kind == self.kind);
        let kind = known.map_or("", |(_, name)| name);
        match &*self.subject {
            "" => format!("{kind}: {}", self.text),
            subject => format!("{kind} ({subject}): {}", self.text),
        }
    }
}

/// All notes of a conversation, as recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Notes(Vec<Note>);

impl Notes {
    /// Adds the note of a call, if it contains one.
    pub(crate) fn take(&mut self, parameters: &Parameters) {
        self.0.extend(Note::of(parameters));
    }

    /// The valid notes, oldest first: without those that were repeated or superseded later, and without `dropped`.
    pub(crate) fn standing(&self, dropped: &[Note]) -> Vec<&Note> {
        let mut said = HashSet::new();
        let newest = self.0.iter().rev().filter(|note| {
            let about = if note.subject.is_empty() {
                &note.text
            } else {
                &note.subject
            };
            said.insert((note.subject.is_empty(), about.to_lowercase()))
        });
        let mut standing: Vec<&Note> = newest.filter(|note| !dropped.contains(note)).collect();
        standing.reverse();
        standing
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn notes(written: &[(&str, &str, &str)]) -> Notes {
        let mut notes = Notes::default();
        for (kind, subject, text) in written {
            let call = serde_json::json!({"kind": kind, "subject": subject, "text": text});
            notes.take(&Parameters::new(call.as_object().unwrap().clone()));
        }
        notes
    }

    fn lines(notes: &Notes) -> Vec<String> {
        notes.standing(&[]).into_iter().map(Note::line).collect()
    }

    #[test]
    fn the_newest_note_on_a_subject_holds_and_none_stands_twice() {
        let written = notes(&[
            ("decision", "Cache", "keep it in memory"),
            ("finding", "", "the tests need 40 s"),
            ("Dead_End", "", "a pool of threads: no faster"),
            ("finding", "", "The tests need 40 s"),
            ("decision", "cache", "no cache at all"),
        ]);
        assert_eq!(
            lines(&written),
            [
                "dead end: a pool of threads: no faster",
                "finding: The tests need 40 s",
                "decision (cache): no cache at all",
            ]
        );
        let dropped = written.standing(&[])[1].clone();
        assert_eq!(written.standing(&[dropped]).len(), 2);
    }

    #[test]
    fn what_is_no_note_is_none_and_a_long_one_is_a_cut_line() {
        let long = format!("a\nb {}", "x".repeat(5_000));
        let written = notes(&[
            ("thought", "", "hm"),
            ("finding", "", " \n"),
            ("finding", "s\nt", &long),
        ]);
        let [line] = &lines(&written)[..] else {
            panic!("{:?}", lines(&written))
        };
        assert!(
            line.starts_with("finding (s t): a b x") && !line.contains('\n') && line.len() < 450,
            "{line}"
        );
    }
}
