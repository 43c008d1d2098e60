//! Notes: what the model wrote down, a line each, when something was decided, found out or given up.

use super::Parameters;
use codelet_text::short;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// The most bytes of a note's text and of its subject; what is longer is cut.
const TEXT: usize = 400;
const SUBJECT: usize = 60;

/// A line that the model wrote down.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Note {
    /// What it tells.
    kind: NoteKind,
    /// What it is about; empty where nothing is named. Of the notes on one subject the newest holds.
    subject: Arc<str>,
    /// Its words.
    text: Arc<str>,
}

/// What a note tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NoteKind {
    /// What is to be done, and how.
    Decision,
    /// What was found out.
    Finding,
    /// What has to be kept to.
    Constraint,
    /// What was tried in vain and given up.
    DeadEnd,
    /// What is left to do, or not known.
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

    /// The kind of this name, in whatever letters.
    fn named(name: &str) -> Option<Self> {
        let name = name.trim().replace(['_', '-'], " ");
        let found = NoteKind::ALL
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(&name))?;
        Some(found.0)
    }
}

impl Note {
    /// The note that a call with these parameters writes: `kind`, `text`, and `subject` where there is one. `None` without a known kind or
    /// without words.
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

/// All notes of a conversation, as they were written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Notes(Vec<Note>);

impl Notes {
    /// Takes over what a call writes down, if anything.
    pub(crate) fn take(&mut self, parameters: &Parameters) {
        self.0.extend(Note::of(parameters));
    }

    /// Those that hold, oldest first: without what is said again or superseded later, and without these.
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
