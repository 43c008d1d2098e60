//! The page that a summary is written on: lines in their places, and the room that is left.

use crate::labels;
use std::collections::BTreeMap;

/// What a line is about, in the order in which they stand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    Goal,
    Pin,
    Status,
    Error,
    Decision,
    Todo,
    /// Commands that failed and are no checks, and what failed long ago.
    Failed,
    Past,
    Outcome,
}

/// Where a line stands: its topic, what it tells of, and which line of that it is.
pub(super) type Place = (Topic, usize, usize);

/// The lines so far, and the room that is left.
pub(super) struct Page {
    pub(super) lines: BTreeMap<Place, String>,
    pub(super) room: usize,
}

impl Page {
    pub(super) fn new(bytes: usize) -> Self {
        // The last line has no break.
        let room = bytes.saturating_add(1);
        Page {
            lines: BTreeMap::new(),
            room,
        }
    }

    /// Puts a line where there is none, if there is room for it.
    pub(super) fn add(&mut self, place: Place, line: String) -> bool {
        if self.lines.contains_key(&place) {
            return true;
        }
        let mut cost = line.len() + 1;
        let section = heading(place.0);
        let ends = [self.lines.first_key_value(), self.lines.last_key_value()];
        if !ends.into_iter().flatten().any(|(other, _)| heading(other.0) == section) {
            cost += section.len() + 1;
        }
        let fits = cost <= self.room;
        if fits {
            self.room -= cost;
            self.lines.insert(place, line);
        }
        fits
    }

    /// Puts a longer line where a shorter one stands, if there is room for it.
    pub(super) fn replace(&mut self, place: Place, line: String) {
        if let Some(before) = self.lines.get_mut(&place)
            && let Some(more) = line.len().checked_sub(before.len())
            && more <= self.room
        {
            self.room -= more;
            *before = line;
        }
    }

    /// Puts a line, in place of another one if one stands there; says whether it stands there now.
    pub(super) fn put(&mut self, place: Place, line: String) -> bool {
        let Some(before) = self.lines.get(&place).map(String::len) else {
            return self.add(place, line);
        };
        let fits = line.len() <= before + self.room;
        if fits {
            self.room = self.room + before - line.len();
            self.lines.insert(place, line);
        }
        fits
    }

    /// Takes a line back, with its room.
    pub(super) fn remove(&mut self, place: Place) {
        if let Some(line) = self.lines.remove(&place) {
            self.room += line.len() + 1;
        }
    }

    pub(super) fn write(self) -> String {
        let mut out = String::new();
        let mut section = "";
        for ((topic, ..), line) in &self.lines {
            for line in [heading(*topic), line.as_str()] {
                if line != section {
                    if !out.is_empty() {
                        out.push('\n');
                    }
                    out.push_str(line);
                }
            }
            section = heading(*topic);
        }
        out
    }
}

fn heading(topic: Topic) -> &'static str {
    match topic {
        Topic::Outcome => labels::OUTCOMES,
        _ => labels::CONTEXT,
    }
}
