//! Changes that the user has changed before they were made: the file holds what the answer says, and not what the call does.
//!
//! Harnesses say so in the first line, or in a tag of its own with a diff from the one to the other.

use super::line::REMOVED;
use super::{BlockKind, Index};
use crate::answer::HEAD;
use crate::body::Body;
use crate::message::ToolResult;
use std::collections::HashSet;

/// What stands around the name of the parameter that the user has given another text.
const MODIFIED: &str = "User modified the ";
const TO_BE: &str = " to be: ";
/// Bytes between the two.
const NAME: usize = 40;
/// The tag of a diff.
const OPEN: &str = "<user_edits>";
const CLOSE: &str = "</user_edits>";

/// What the user has made of a change.
#[derive(PartialEq, Eq, Debug)]
enum Amended<'a> {
    /// This text stands there in place of that of the call.
    Instead(&'a str),
    /// By this diff it differs from the text of the call.
    Diff(&'a str),
}

impl Amended<'_> {
    fn of(result: &ToolResult) -> Option<Amended<'_>> {
        let text = result.texts().next()?.body.as_str();
        let first = text.trim_start().lines().next().unwrap_or_default();
        if let Some((_, behind)) = first.split_once(MODIFIED)
            && behind.find(TO_BE).is_some_and(|at| at <= NAME)
        {
            let (_, behind) = text.split_once(MODIFIED)?;
            return behind.split_once(TO_BE).map(|(_, text)| Amended::Instead(text));
        }
        let at = text
            .find(OPEN)
            .filter(|at| *at <= HEAD && text[..*at].ends_with('\n'))?;
        let (diff, _) = text[at + OPEN.len()..].split_once(CLOSE)?;
        Some(Amended::Diff(diff))
    }

    /// Whether a line of the call stands in the file no more.
    fn has_replaced(&self) -> impl Fn(&str) -> bool {
        let (lines, is_left): (HashSet<&str>, bool) = match self {
            Amended::Instead(text) => (text.lines().map(str::trim).collect(), true),
            Amended::Diff(diff) => (diff.lines().filter_map(taken_away).collect(), false),
        };
        move |line| lines.contains(line.trim()) != is_left
    }

    /// What stands in the file, as far as the answer shows it.
    fn shown(&self) -> String {
        let lines: Vec<&str> = match self {
            // The sentence ends behind the text.
            Amended::Instead(text) => text.strip_suffix("\n.").unwrap_or(text).lines().collect(),
            Amended::Diff(diff) => diff.lines().filter_map(left).collect(),
        };
        lines.join("\n")
    }
}

/// The line that a line of a diff takes away.
fn taken_away(line: &str) -> Option<&str> {
    let line = line.strip_prefix('-').filter(|_| !line.starts_with("--- "))?;
    Some(line.trim())
}

/// The line that a line of a diff leaves or brings.
fn left(line: &str) -> Option<&str> {
    line.strip_prefix(['+', ' ']).filter(|_| !line.starts_with("+++ "))
}

impl Index {
    /// The call of this block was carried out, with this answer. If the user has changed it before, what it brings in is not
    /// what its file holds, and what the answer shows of that is given.
    pub(super) fn amend(&mut self, call: u32, result: &ToolResult) -> Option<String> {
        let amended = Amended::of(result)?;
        let block = self.blocks.get(call as usize)?;
        let has_replaced = amended.has_replaced();
        let first = block.lines.start + u32::from(block.subject);
        let replaced = (first..block.lines.end).filter(|line| has_replaced(self.text_of(block, *line as usize)));
        for line in replaced.collect::<Vec<u32>>() {
            self.lines[line as usize].front |= REMOVED;
        }
        Some(amended.shown())
    }

    /// Takes in what the answer to a call shows of its file, as a look at that shows it.
    pub(super) fn show_amended(&mut self, call: u32, number: u32, shown: String) {
        let path = self.blocks[call as usize].path;
        self.block(BlockKind::Read, number, Some(call), Body::from(shown), path);
    }

    /// What the user has made of a change that was taken back is there no more.
    pub(super) fn hide_amended(&mut self, change: u32) {
        let path = self.blocks[change as usize].path;
        let is_of_it = |number: &&u32| {
            let block = &self.blocks[**number as usize];
            block.call == Some(change) && block.kind == BlockKind::Read
        };
        let answers: Vec<u32> = self.blocks_about(path).iter().filter(is_of_it).copied().collect();
        for number in answers {
            for line in self.blocks[number as usize].lines.clone() {
                self.lines[line as usize].front |= REMOVED;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::{Action, ActionKind, ChangeKind, Message, Part, Role, ToolCall};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const INSTEAD: &str = "Successfully modified file: /w/retry.py (1 replacements). User modified the `new_string` content to be: \
                           BASE_DELAY_MS = 400\nFACTOR = 3\nJITTER = True\n.";
    const DIFF: &str = "<file_write_result>\n<path>retry.py</path>\n<user_edits>--- a\n+++ b\n@@ -1 +1 @@\n-BASE_DELAY_MS = \
                        250\n+BASE_DELAY_MS = 400\n</user_edits>\n</file_write_result>";

    /// Appends a call with its answer; gives what may be quoted of the lines of all calls and their answers.
    fn append(index: &mut Index, action: Action, parameters: Value, says: &str) {
        let id = index.blocks.len().to_string();
        let call = ToolCall::new(id.as_str(), "t", parameters.as_object().unwrap().clone()).doing(action);
        index.append(&Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        index.append(&Message::results(vec![ToolResult::new(id.as_str(), None, says)]));
    }

    fn edit(says: &str) -> Index {
        let mut index = Index::default();
        let new = "BASE_DELAY_MS = 250\nFACTOR = 3";
        let parameters = json!({"path": "/w/retry.py", "old": "DELAY = 1000", "new": new});
        let action = Action::on(ActionKind::Change, ["/w/retry.py"]).replacing(["old"]);
        append(&mut index, action, parameters, says);
        index
    }

    fn stands(index: &Index, text: &str) -> bool {
        let mut lines = index
            .blocks
            .iter()
            .flat_map(|block| block.lines.clone().map(move |line| (block, line as usize)));
        lines.any(|(block, line)| index.text_of(block, line).contains(text) && !index.lines[line].is_removed())
    }

    #[test]
    fn what_the_user_has_made_of_a_change_stands_in_its_place() {
        for says in [INSTEAD, DIFF] {
            let index = edit(says);
            assert!(!stands(&index, "BASE_DELAY_MS = 250"), "{says}");
            assert!(
                stands(&index, "BASE_DELAY_MS = 400") && stands(&index, "FACTOR = 3"),
                "{says}"
            );
            // It shows the file, as a look does.
            assert!(index.blocks[1].kind == BlockKind::Read && !index.has_reader, "{says}");
            assert!(!index.blocks[0].undone);
        }
    }

    #[test]
    fn what_is_taken_back_then_is_what_the_user_has_made_of_it() {
        let mut index = edit(INSTEAD);
        let undo = Action::on(ActionKind::Change, ["/w/retry.py"]).changing(ChangeKind::Undoes);
        append(&mut index, undo, json!({"path": "/w/retry.py"}), "Undone.");
        assert!(!stands(&index, "BASE_DELAY_MS = 400") && !stands(&index, "FACTOR = 3"));
    }

    #[test]
    fn an_answer_that_only_shows_such_words_has_changed_nothing() {
        for says in [
            "Updated.",
            "Updated:\n1\tUser modified the `new_string` content to be: x",
            "Updated. User modified the file.",
            "Updated:\n12 <user_edits>-BASE_DELAY_MS = 250</user_edits>",
            "Updated:\n<user_edits>\n-BASE_DELAY_MS = 250",
            "Error: text not found. User modified the `new_string` content to be: x",
        ] {
            let index = edit(says);
            assert!(stands(&index, "BASE_DELAY_MS = 250"), "{says}");
            assert!(index.blocks[1].kind == BlockKind::Other, "{says}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd(says in "(User modified the | to be: |<user_edits>|</user_edits>|-|é|\n|x){0,12}") {
            edit(&says);
        }
    }
}
