//! The list as the summary of an earlier compaction has told it: the calls that made it stand nowhere else any more, and later
//! ones go on with it.

use super::{MOST, TodoItem, TodoList, TodoState, Untold};
use crate::labels;

/// More than any list has: what a summary says may be anybody's words.
const MOST_UNTOLD: usize = 9_999;
/// Bytes of an id that is told.
const LONGEST_ID: usize = 12;
/// What stands before it.
const ID: char = '#';

/// Whether an id can stand before the text of its item.
pub(super) fn is_id(id: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(is_part)
}

/// An item as a summary tells it: with the id by which it is named later.
pub(crate) fn named(id: Option<&str>, text: &str) -> String {
    match id {
        Some(id) => format!("{ID}{id} {text}"),
        None => text.to_owned(),
    }
}

impl Untold {
    /// Takes what has become of an item of which nothing but the number is known.
    pub(super) fn alter(&mut self, state: Option<TodoState>) {
        if self.open > 0 && state.is_some_and(|state| !state.is_open()) {
            self.open -= 1;
            self.done += usize::from(state == Some(TodoState::Done));
        }
    }
}

impl TodoList {
    /// The list that a summary tells of; `None` if it tells of none.
    pub(crate) fn told_in(summary: &str) -> Option<TodoList> {
        let mut list = TodoList::default();
        let mut told = None;
        for line in summary.lines() {
            if line == labels::OUTCOMES || line.starts_with(labels::QUOTED) {
                break;
            } else if let Some(number) = line.strip_prefix(labels::UNLISTED) {
                list.untold.open = counted(number.split(' ').next());
            } else if let Some(counts) = line.strip_prefix(labels::DONE) {
                told = counts.split_once(" of ");
            } else if let Some(text) = line.strip_prefix(labels::UNDER_WAY) {
                list.note(text, TodoState::Active);
            } else if let Some(text) = line.strip_prefix(labels::TO_DO) {
                list.note(text, TodoState::Open);
            }
        }
        let (done, all) = told.map_or((0, 0), |(done, all)| (counted(Some(done)), counted(Some(all))));
        list.untold.done = done;
        list.untold.all = all.saturating_sub(list.items.len()).max(list.untold.open + done);
        list.is_by_id = list.items.iter().any(|(id, _)| id.is_some());
        let numbers = list.items.iter().filter_map(|(id, _)| id.as_ref()?.parse().ok());
        list.created = numbers.max().unwrap_or(0).max(list.all());
        (list.all() > 0).then_some(list)
    }

    fn note(&mut self, text: &str, state: TodoState) {
        if self.items.len() == MOST {
            return;
        }
        let named = text.strip_prefix(ID).and_then(|rest| rest.split_once(' '));
        let (id, text) = match named.filter(|(id, text)| is_id(id) && !text.is_empty()) {
            Some((id, text)) => (Some(id.to_owned()), text),
            None => (None, text),
        };
        let text = text.to_owned();
        self.items.push((id, TodoItem { text, state }));
    }
}

fn counted(word: Option<&str>) -> usize {
    word.and_then(|word| word.parse().ok()).unwrap_or(0).min(MOST_UNTOLD)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::Parameters;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const TOLD: &str = "## Context\nTo do, under way: #4 build it\nTo do: #5 write it down\nTo do, and not listed here: 2 more\n\
                        Done of the to-do list: 3 of 7\n## Key outcomes\nTo do: quoted";

    fn take(list: &mut TodoList, parameters: Value) {
        list.take(&Parameters::new(parameters.as_object().unwrap().clone()));
    }

    fn open(list: &TodoList) -> Vec<String> {
        list.open().map(|(id, item)| named(id, &item.text)).collect()
    }

    #[test]
    fn calls_go_on_with_a_list_that_a_summary_tells_of() {
        let mut list = TodoList::told_in(TOLD).unwrap();
        assert_eq!(open(&list), ["#4 build it", "#5 write it down"]);
        assert_eq!((list.done(), list.all(), list.untold()), (3, 7, 2));
        take(&mut list, json!({"taskId": "4", "status": "completed"}));
        assert_eq!(open(&list), ["#5 write it down"]);
        assert_eq!((list.done(), list.all()), (4, 7));
        // What it had no room for is known by its number.
        take(&mut list, json!({"taskId": "6", "status": "in_progress"}));
        assert_eq!((list.done(), list.untold()), (4, 2));
        take(&mut list, json!({"taskId": "6", "status": "completed"}));
        assert_eq!((list.done(), list.untold()), (5, 1));
        take(&mut list, json!({"subject": "ship it", "description": "x"}));
        assert_eq!(open(&list), ["#5 write it down", "#8 ship it"]);
        assert_eq!((list.done(), list.all()), (5, 8));
        take(&mut list, json!({"taskId": "5", "status": "deleted"}));
        assert_eq!(open(&list), ["#8 ship it"]);
        // A whole list is all there is.
        take(&mut list, json!({"todos": [{"content": "a", "status": "pending"}]}));
        assert_eq!((open(&list), list.all(), list.untold()), (vec!["a".to_owned()], 1, 0));
    }

    #[test]
    fn a_list_without_ids_is_told_as_it_was() {
        let list = TodoList::told_in("To do: # a\nTo do: #1\nTo do: #a/b c\nDone of the to-do list: 0 of 3").unwrap();
        assert_eq!(open(&list), ["# a", "#1", "#a/b c"]);
        assert_eq!((list.done(), list.all()), (0, 3));
        assert_eq!(TodoList::told_in("Goal: \"x\"\n## Key outcomes"), None);
        let done = TodoList::told_in("Done of the to-do list: 4 of 4").unwrap();
        assert_eq!((done.done(), done.all(), open(&done).len()), (4, 4, 0));
    }

    proptest! {
        #[test]
        fn no_summary_is_too_odd(text in "((To do: |To do, under way: #|To do, and not listed here: |Done of the to-do list: )([0-9]{1,22}| of |#|é|[a-z ]{1,4}){0,4}\n){0,6}") {
            if let Some(mut list) = TodoList::told_in(&text) {
                prop_assert!(list.done() + list.untold() <= list.all());
                take(&mut list, json!({"taskId": "1", "status": "completed"}));
                prop_assert!(list.done() + list.untold() <= list.all());
            }
        }
    }
}
