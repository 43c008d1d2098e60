//! The changes of each file that a tool may take back.
//!
//! A tool that takes back a change puts the file back as it was before that: what others have done to it since goes with it.

use crate::hash::ByHash;
use std::collections::VecDeque;
use std::sync::Arc;

/// Changes of one file that are known, the newest.
const MOST: usize = 64;

/// By file: the changes that were made of it, oldest first, each with the tool that made it and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Undoable<T>(ByHash<VecDeque<(Arc<str>, T)>>);

impl<T> Default for Undoable<T> {
    fn default() -> Self {
        Undoable(ByHash::default())
    }
}

impl<T> Undoable<T> {
    /// A tool has changed a file.
    pub fn note(&mut self, file: u64, tool: &Arc<str>, change: T) {
        let changes = self.0.entry(file).or_default();
        if changes.len() == MOST {
            changes.pop_front();
        }
        changes.push_back((tool.clone(), change));
    }

    /// A tool has taken back the newest change of a file: its own, if it makes any, or whichever that is. What goes with
    /// that, newest first.
    pub fn take_back(&mut self, file: u64, tool: &str) -> Vec<T> {
        let Some(changes) = self.0.get_mut(&file) else {
            return Vec::new();
        };
        let own = changes.iter().rposition(|(by, _)| **by == *tool);
        let from = own.or(changes.len().checked_sub(1)).unwrap_or_default();
        changes.drain(from..).rev().map(|(_, change)| change).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(made: &[(u64, &str, u32)]) -> Undoable<u32> {
        let mut changes = Undoable::default();
        for (file, tool, change) in made {
            changes.note(*file, &Arc::from(*tool), *change);
        }
        changes
    }

    #[test]
    fn the_newest_change_of_a_file_is_taken_back_and_then_the_one_before_it() {
        let mut changes = after(&[(1, "edit", 10), (1, "create", 11), (2, "edit", 12)]);
        let none: [u32; 0] = [];
        assert_eq!(changes.take_back(1, "undo"), [11]);
        assert_eq!(changes.take_back(1, "undo"), [10]);
        assert_eq!(changes.take_back(1, "undo"), none);
        assert_eq!(changes.take_back(3, "undo"), none);
    }

    #[test]
    fn an_editor_takes_back_its_own_change_and_what_came_of_others_since() {
        let mut changes = after(&[(1, "editor", 10), (1, "editor", 11), (1, "patch", 12)]);
        assert_eq!(changes.take_back(1, "editor"), [12, 11]);
        assert_eq!(changes.take_back(1, "editor"), [10]);
    }

    #[test]
    fn no_more_than_the_newest_are_known() {
        let made: Vec<(u64, &str, u32)> = (0..100).map(|at| (1, "edit", at)).collect();
        let mut changes = after(&made);
        assert_eq!(std::iter::from_fn(|| changes.take_back(1, "undo").pop()).count(), MOST);
    }
}
