//! Changes that somebody has undone: a later look at the file shows again what they took away, and no more what they
//! brought in. The user does that, or a tool that nobody has told of it.

use super::line::REMOVED;
use super::standing::Taken;
use super::{Block, BlockKind, Came, Index, NONE};
use crate::effects;
use crate::items::ItemKind;
use crate::message::{Action, ChangeKind};
use crate::replaced;
use std::ops::Range;
use std::sync::Arc;

/// So many blocks about a file are looked through for changes that a look shows to be undone, the newest.
const EARLIER: usize = 16;
/// A change of many more lines than the look has is not compared with it: nobody could see all of where it stood.
const MORE: usize = 4;
const FEW: usize = 64;
/// Shorter answers, in lines, may be a note on an earlier one.
const NOTE: usize = 3;
/// Tools that show no more than so many lines of a file do not all say so …
const CAP: usize = 2_000;
/// … and others stop at a round number of them.
const ROUND: usize = 50;
/// So many lines before and behind what a change takes away stand beside it.
const BESIDE: u32 = 3;
/// What tools say where they do not show all of a file.
const CUT: &[&str] = &["runcated", "mitted", "lided", "howing lines", "more lines", "not shown"];

/// In which version of a file a line of a change stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    New,
    Both,
}

/// What a change takes away and what it brings in, as items: lines, and pairs of neighbouring lines.
#[derive(Default)]
struct Sides {
    old: Vec<u32>,
    old_pairs: Vec<u32>,
    new: Vec<u32>,
    new_pairs: Vec<u32>,
}

impl Index {
    /// The call of this block, of this tool, was carried out and has changed its file.
    pub(super) fn change(&mut self, call: u32, tool: &Arc<str>, change: ChangeKind, is_everywhere: bool) {
        let Some(block) = self.blocks.get(call as usize).filter(|block| block.path != 0) else {
            return;
        };
        let path = block.path;
        match change {
            ChangeKind::Undoes => {
                for (change, taken) in self.undoable.take_back(path, tool) {
                    self.take_back(change, taken, call);
                }
            }
            ChangeKind::Writes => {
                let taken = self.take_away(call, is_everywhere);
                self.undoable.note(path, tool, (call, taken));
            }
            ChangeKind::Removes | ChangeKind::Moves => {}
        }
    }

    /// A change was taken back by the call of a later block: what it brought in stands no more, and what it took away does.
    fn take_back(&mut self, change: u32, taken: Taken, undo: u32) {
        let sides = self.sides(change);
        let path = self.blocks[change as usize].path;
        self.stands_again(path, taken);
        self.hide_amended(change);
        if self.is_of_several(change) || std::mem::replace(&mut self.blocks[change as usize].undone, true) {
            return;
        }
        let mut gone = Vec::new();
        for line in self.changed_lines(change) {
            match self.line_item(line) {
                None => self.lines[line as usize].front |= REMOVED,
                Some(item) if sides.new.binary_search(&item).is_ok() => gone.push(item),
                Some(_) => {}
            }
        }
        gone.sort_unstable();
        self.take_from(path, undo, (gone, sides.old), false, false);
    }

    /// The call of this block has looked at a file, and the blocks from `first` on are its answer. Marks what changes brought
    /// in that is not there any more.
    pub(super) fn note_undone(&mut self, call: u32, action: &Action, first: usize) {
        let Some(look) = self.blocks.get(call as usize) else {
            return;
        };
        let Some(about) = self.about.get(&look.path) else {
            return;
        };
        let earlier = about.iter().rev().skip_while(|&&number| number >= call).take(EARLIER);
        let is_change = |number: &u32| {
            let block = &self.blocks[*number as usize];
            block.change && block.came == Came::Done && !block.undone && block.message < look.message
        };
        let changes: Vec<u32> = earlier.copied().filter(is_change).collect();
        if changes.is_empty() || !look.subject && look.text.as_str().contains("git ") {
            return;
        }
        // It names nothing but the file.
        let is_of_all = match &action.command {
            Some(line) => line.looks_at_all(),
            None => look.subject && look.lines.len() == 1,
        };
        let is_cut = |block: &Block| CUT.iter().any(|word| block.text.as_str().contains(word)) || is_capped(block);
        let is_whole = is_of_all && !self.blocks[first..].iter().any(is_cut);
        // Nobody but those who made these changes has changed the file since, as far as anybody knows.
        let last = self
            .changed
            .get(&look.path)
            .and_then(|&answer| self.blocks.get(answer as usize));
        let mut is_all_undone = last.is_some_and(|answer| answer.call == changes.first().copied());
        let answer = self.blocks[first..].iter().flat_map(|block| block.lines.clone());
        let lines = answer.clone().count();
        let mut shown: Vec<u32> = answer.flat_map(|line| self.line_and_pair(line)).flatten().collect();
        shown.sort_unstable();
        let mut beside = None;
        for (at, &change) in changes.iter().enumerate() {
            let is_long = self.blocks[change as usize].lines.len() > lines * MORE + FEW;
            let sides = if is_long { Sides::default() } else { self.sides(change) };
            // A change that followed on one that was undone too took away what was not there before.
            let mut is_nowhere =
                is_whole && lines >= NOTE && is_all_undone && sides.new.len() > 1 && are_there(&sides.new, &shown) == 0;
            // A tool may have a cap that nobody knows. Where what stood beside a change is not shown, it is not to be seen
            // there either; beside what writes the whole, nothing stands.
            if is_nowhere && !self.blocks[change as usize].whole {
                let beside = beside.get_or_insert_with(|| self.beside(&changes));
                is_nowhere = are_there(&beside[at], &shown) > 0;
            }
            let is_undone = is_nowhere || is_undone(&sides, &shown, is_whole);
            is_all_undone &= is_undone;
            if is_undone {
                self.mark_undone(change, call, &sides.new, &shown);
            }
        }
    }

    /// The item of a line, and that of the line with the one before it.
    fn line_and_pair(&self, line: u32) -> [Option<u32>; 2] {
        let pair = self.lines[line as usize].after;
        [self.line_item(line), Some(pair).filter(|&pair| pair != NONE)]
    }

    /// The lines of a change without the name of its file.
    fn changed_lines(&self, change: u32) -> Range<u32> {
        let block = &self.blocks[change as usize];
        block.lines.start + u32::from(block.subject)..block.lines.end
    }

    /// Whether a change is a patch of several files: nobody knows which line is of which.
    fn is_of_several(&self, change: u32) -> bool {
        let text = self.blocks[change as usize].text.as_str();
        replaced::is_patch(text) && effects::patched(text).len() > 1
    }

    fn sides(&self, change: u32) -> Sides {
        let block = &self.blocks[change as usize];
        let is_patch = replaced::is_patch(block.text.as_str());
        let mut sides = Sides::default();
        if self.is_of_several(change) {
            return sides;
        }
        let mut before = None;
        for line in self.changed_lines(change) {
            let side = match self.lines[line as usize].is_removed() {
                true => Side::Old,
                false if is_patch => match self.whole_text_of(block, line as usize).as_bytes() {
                    [b'-', rest @ ..] if !rest.starts_with(b"-- ") => Side::Old,
                    [b'+', rest @ ..] if !rest.starts_with(b"++ ") => Side::New,
                    [b' ', ..] => Side::Both,
                    _ => {
                        before = None;
                        continue;
                    }
                },
                false => Side::New,
            };
            let [item, pair] = self.line_and_pair(line);
            let of_both = match (before, side) {
                (Some(Side::Both), side) | (Some(side), Side::Both) => Some(side),
                (Some(before), side) if before == side => Some(side),
                _ => None,
            };
            for (side, item, is_pair) in [(Some(side), item, false), (of_both, pair, true)] {
                let (Some(side), Some(item)) = (side, item) else {
                    continue;
                };
                let (old, new) = match is_pair {
                    false => (&mut sides.old, &mut sides.new),
                    true => (&mut sides.old_pairs, &mut sides.new_pairs),
                };
                if side != Side::New {
                    old.push(item);
                }
                if side != Side::Old {
                    new.push(item);
                }
            }
            before = Some(side);
        }
        for side in [
            &mut sides.old,
            &mut sides.old_pairs,
            &mut sides.new,
            &mut sides.new_pairs,
        ] {
            side.sort_unstable();
            side.dedup();
        }
        // What stands in both is neither taken away nor brought in.
        let Sides { old, new, .. } = &mut sides;
        new.retain(|item| old.binary_search(item).is_err());
        let Sides {
            old_pairs, new_pairs, ..
        } = &mut sides;
        old_pairs.retain(|item| new_pairs.binary_search(item).is_err());
        sides
    }

    /// For each of these changes of a file, newest first, what stood beside it there, as items: what it took away, the
    /// lines that were shown around that before, and where that is what an older one of them brought in, what stood
    /// beside that.
    fn beside(&self, changes: &[u32]) -> Vec<Vec<u32>> {
        let sides: Vec<Sides> = changes.iter().map(|&change| self.sides(change)).collect();
        let mut all: Vec<Vec<u32>> = vec![Vec::new(); changes.len()];
        for (at, &change) in changes.iter().enumerate().rev() {
            let old = &sides[at].old;
            let mut beside = old.clone();
            let about = self.blocks_about(self.blocks[change as usize].path);
            let earlier = about.iter().rev().skip_while(|&&number| number >= change).take(EARLIER);
            for &number in earlier {
                let lines = &self.blocks[number as usize].lines;
                let is_old = |line: u32| {
                    self.line_item(line)
                        .is_some_and(|item| old.binary_search(&item).is_ok())
                };
                for line in lines.clone().filter(|&line| is_old(line)) {
                    let near = line.saturating_sub(BESIDE).max(lines.start)..(line + BESIDE + 1).min(lines.end);
                    beside.extend(near.filter_map(|line| self.line_item(line)));
                }
            }
            for older in at + 1..changes.len() {
                if are_there(old, &sides[older].new) > 0 {
                    beside.extend_from_slice(&all[older]);
                }
            }
            beside.sort_unstable();
            beside.dedup();
            all[at] = beside;
        }
        all
    }

    fn mark_undone(&mut self, change: u32, look: u32, new: &[u32], shown: &[u32]) {
        self.blocks[change as usize].undone = true;
        let is_gone = |item: Option<u32>| {
            item.is_some_and(|item| new.binary_search(&item).is_ok() && shown.binary_search(&item).is_err())
        };
        for line in self.changed_lines(change) {
            let item = self.line_item(line);
            if item.is_none() || is_gone(item) {
                self.lines[line as usize].front |= REMOVED;
            }
        }
        // What tools have shown of it meanwhile.
        let Some(about) = self.about.get(&self.blocks[change as usize].path) else {
            return;
        };
        let shows = |&number: &u32| number > change && self.blocks[number as usize].kind != BlockKind::Call;
        let earlier = about.iter().rev().skip_while(|&&number| number >= look).take(EARLIER);
        for number in earlier.copied().filter(shows).collect::<Vec<u32>>() {
            for line in self.blocks[number as usize].lines.clone() {
                let last = self.items_of(line as usize).last().copied();
                if is_gone(last.filter(|&item| self.items[item as usize].kind == ItemKind::Line)) {
                    self.lines[line as usize].front |= REMOVED;
                }
            }
        }
    }
}

/// Whether a text has so many lines that a tool may have stopped there.
fn is_capped(block: &Block) -> bool {
    let text = block.text.as_str().trim_end();
    let lines = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
    lines >= CAP || lines.is_multiple_of(ROUND)
}

/// How many of these are shown.
fn are_there(items: &[u32], shown: &[u32]) -> usize {
    items.iter().filter(|item| shown.binary_search(item).is_ok()).count()
}

/// Whether a look that shows these lines and pairs shows where a change stood, and no more what it brought in.
fn is_undone(sides: &Sides, shown: &[u32], is_whole: bool) -> bool {
    let most = |items: &[u32]| !items.is_empty() && are_there(items, shown) * 4 >= items.len() * 3;
    // A line by itself may stand anywhere; with its neighbour it stands where it stood.
    let is_back = most(&sides.old_pairs) && (sides.old.is_empty() || most(&sides.old)) || is_whole && most(&sides.old);
    is_back && !sides.new.is_empty() && are_there(&sides.new, shown) * 4 <= sides.new.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::{Action, ActionKind, Message, Part, Role, ToolCall, ToolResult};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[derive(Default)]
    struct Talk(Index, usize);

    impl Talk {
        fn call(mut self, action: Action, parameters: Value, says: &str) -> Talk {
            self.1 += 1;
            let id = self.1.to_string();
            let call = ToolCall::new(id.as_str(), "t", parameters.as_object().unwrap().clone()).doing(action);
            self.0
                .append(&Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
            self.0
                .append(&Message::results(vec![ToolResult::new(id.as_str(), Some(true), says)]));
            self
        }

        fn edit(self, old: &str, new: &str) -> Talk {
            let action = Action::on(ActionKind::Change, ["/w/a.ts"]).replacing(["old"]);
            self.call(action, json!({ "path": "/w/a.ts", "old": old, "new": new }), "Updated.")
        }

        fn write(self, content: &str) -> Talk {
            let action = Action::on(ActionKind::Change, ["/w/a.ts"]);
            self.call(action, json!({ "path": "/w/a.ts", "content": content }), "Written.")
        }

        fn read(self, shown: &str) -> Talk {
            let action = Action::on(ActionKind::Read, ["/w/a.ts"]);
            self.call(action, json!({ "path": "/w/a.ts" }), shown)
        }

        fn undo(self) -> Talk {
            let action = Action::on(ActionKind::Change, ["/w/a.ts"]).changing(ChangeKind::Undoes);
            self.call(action, json!({ "path": "/w/a.ts" }), "Undid the last edit")
        }

        fn page(self, shown: &str) -> Talk {
            let action = Action::on(ActionKind::Read, ["/w/a.ts"]);
            self.call(action, json!({ "path": "/w/a.ts", "offset": 40 }), shown)
        }

        fn run(self, line: &str, shown: &str) -> Talk {
            self.call(Action::command(line), json!({ "command": line }), shown)
        }

        /// Which changes are taken for undone, in their order.
        fn undone(&self) -> Vec<bool> {
            let changes = self.0.blocks.iter().filter(|block| block.change);
            changes.map(|block| block.undone).collect()
        }

        /// Whether something may be quoted of a line that says this and that a tool has shown.
        fn is_shown(&self, text: &str) -> bool {
            let outputs = self.0.blocks.iter().filter(|block| block.kind.is_output());
            let mut lines = outputs.flat_map(|block| block.lines.clone().map(move |line| (block, line as usize)));
            lines.any(|(block, line)| self.0.text_of(block, line).contains(text) && !self.0.lines[line].is_removed())
        }

        /// Whether something may be quoted of a line that says this in a call.
        fn stands(&self, text: &str) -> bool {
            let calls = self.0.blocks.iter().filter(|block| block.kind == BlockKind::Call);
            let mut lines = calls.flat_map(|block| block.lines.clone().map(move |line| (block, line as usize)));
            lines.any(|(block, line)| self.0.text_of(block, line).contains(text) && !self.0.lines[line].is_removed())
        }
    }

    const OLD: &str = "class List {}\nexport class Sel { list = new List() }";
    const NEW: &str = "export class Sel {\n  private refreshWalnuts(): void { this.rows.clear(); }\n  private paint(): void { this.x(); }\n}";

    #[test]
    fn a_change_is_undone_once_a_look_shows_what_it_took_away_and_not_what_it_brought() {
        let before = format!("1: import a\n2: {}\n4: // end", OLD.replace('\n', "\n3: "));
        let talk = Talk::default().read(&before).edit(OLD, NEW);
        assert_eq!(talk.undone(), [false]);
        for talk in [
            Talk::default().edit(OLD, NEW).read(&before),
            Talk::default().edit(OLD, NEW).page(&before),
            Talk::default().edit(OLD, NEW).run("cat /w/a.ts", &before),
            Talk::default().edit(OLD, NEW).run("sed -n 1,9p /w/a.ts", &before),
        ] {
            assert_eq!(talk.undone(), [true]);
            assert!(!talk.stands("refreshWalnuts") && !talk.stands("private paint"));
        }
    }

    #[test]
    fn what_an_undo_takes_back_stands_no_more_and_what_it_brings_back_does() {
        let read = || Talk::default().read(OLD);
        let talk = read().edit(OLD, NEW).read(NEW);
        assert!(talk.stands("refreshWalnuts") && talk.is_shown("refreshWalnuts") && !talk.is_shown("new List()"));
        let talk = talk.undo();
        assert_eq!(talk.undone(), [true, false]);
        assert!(!talk.stands("refreshWalnuts") && !talk.stands("private paint"));
        assert!(!talk.is_shown("refreshWalnuts") && talk.is_shown("new List()"));
        let short = read().edit(OLD, "let walnuts;").undo();
        assert!(short.undone()[0] && !short.stands("walnuts"));
        // What is taken away once more is gone once more.
        assert!(!talk.edit(OLD, "export class Almonds {}").is_shown("new List()"));
    }

    #[test]
    fn an_undo_takes_back_one_change_and_leaves_the_ones_before_it() {
        let first = "  private refreshWalnuts(): void { this.rows.clear(); }";
        let talk = Talk::default().edit(OLD, NEW);
        let talk = talk.edit(first, "  private refreshAlmonds(): void { return; }");
        assert!(!talk.stands("refreshWalnuts") && talk.stands("refreshAlmonds"));
        let talk = talk.undo();
        assert_eq!(talk.undone(), [false, true, false]);
        assert!(talk.stands("refreshWalnuts") && !talk.stands("refreshAlmonds"));
        let talk = talk.undo();
        assert_eq!(talk.undone(), [true, true, false, false]);
        assert!(!talk.stands("refreshWalnuts"));
        // What was written where something else stood.
        let written = "let only_almonds = [1, 2, 3];\nexport default almonds;\n";
        let talk = Talk::default().read(OLD).write(written);
        assert!(!talk.is_shown("new List()"));
        let talk = talk.undo();
        assert!(talk.is_shown("new List()") && !talk.stands("only_almonds"));
    }

    #[test]
    fn changes_on_changes_are_undone_together() {
        let talk = Talk::default()
            .edit(OLD, NEW)
            .edit(
                "  private paint(): void { this.x(); }",
                "  one_is_standing_here();\n  another_is_here();",
            )
            .read(&format!("import a\n{OLD}\n"));
        assert!(talk.undone()[1]);
        assert!(!talk.stands("one_is_standing") && !talk.stands("another_is_here"));
        let talk = Talk::default()
            .write("let first_line = 1;\nlet second_line = 2;\n")
            .read("let other_line = 3;\n}\n// end\n");
        assert_eq!(talk.undone(), [true]);
    }

    #[test]
    fn an_insertion_is_undone_where_its_neighbours_stand_together_again() {
        let (before, after) = (
            "let one_value = 1;\nlet two_values = 2;",
            "let one_value = 1;\nlet walnuts = 999;\nlet two_values = 2;",
        );
        let page = "}\nlet one_value = 1;\nlet two_values = 2;\n}\n";
        assert_eq!(Talk::default().edit(before, after).page(page).undone(), [true]);
        assert_eq!(Talk::default().edit(before, after).page(after).undone(), [false]);
    }

    #[test]
    fn what_a_look_does_not_show_may_stand() {
        let other = "export const walnuts = 3;\nexport const almonds = 4;\n// the end\n";
        let cut = "[Output truncated: 300 lines]\n";
        for talk in [
            Talk::default().edit(OLD, NEW).page(other),
            Talk::default().edit(OLD, NEW).read(NEW),
            Talk::default().edit(OLD, NEW).read(&format!("{other}{cut}")),
            Talk::default().write(NEW).read(&format!("{other}{cut}")),
            Talk::default().edit(OLD, NEW).read("File unchanged since last read."),
            // What another version has says nothing of this one.
            Talk::default().edit(OLD, NEW).run("git show HEAD:/w/a.ts", OLD),
            Talk::default().edit(OLD, NEW).run(
                "git diff /w/a.ts",
                "-class List {}\n-export class Sel { list = new List() }\n",
            ),
            // It was changed again since.
            Talk::default()
                .edit(OLD, NEW)
                .run("sed -i s/refresh/draw/ /w/a.ts", "")
                .read(other),
        ] {
            assert_eq!(talk.undone(), [false]);
            assert!(talk.stands("refreshWalnuts"));
        }
    }

    #[test]
    fn a_look_at_a_part_undoes_nothing_that_it_would_not_show() {
        let lines = |count: usize| {
            (1..=count)
                .map(|at| format!("import module_number_{at}\n"))
                .collect::<String>()
        };
        let head = lines(29);
        let known = || Talk::default().page("the_line_before_it\n// end of it all here\nthe_line_behind_it\n");
        for talk in [
            "cat /w/a.ts | head -30",
            "cat /w/a.ts | tail -30",
            "cat /w/a.ts | sed -n 1,30p",
            "cat /w/a.ts | awk 'NR<30'",
            "cat /w/a.ts | cut -c1-80",
            "head -30 /w/a.ts",
            "cat /w/a.ts",
        ]
        .map(|line| known().edit("// end of it all here", NEW).run(line, &head))
        .into_iter()
        .chain([
            known().edit("// end of it all here", NEW).read(&lines(2_000)),
            known().edit("// end of it all here", NEW).read(&lines(250)),
            known().edit("// end of it all here", NEW).read(&head),
            Talk::default().edit("// end of it all here", NEW).read(&head),
            Talk::default().write(NEW).read(&lines(2_000)),
        ]) {
            assert_eq!(talk.undone(), [false]);
            assert!(talk.stands("refreshWalnuts"));
        }
        for talk in [
            known()
                .edit("// end of it all here", NEW)
                .read(&format!("{head}the_line_before_it\n")),
            known()
                .edit("// end of it all here", NEW)
                .run("cat -n /w/a.ts", &format!("{head}the_line_behind_it\n")),
            Talk::default().write(NEW).run("cd /w && cat a.ts", &head),
        ] {
            assert_eq!(talk.undone(), [true]);
        }
    }

    #[test]
    fn a_patch_that_a_look_shows_stands() {
        let patch = "*** Begin Patch\n*** Update File: /w/a.ts\n@@\n import the_first\n-let almonds = before();\n+let \
                     walnuts = after();\n export the_last\n*** End Patch";
        let new = "import the_first\nlet walnuts = after();\nexport the_last\n";
        let talk = Talk::default().call(Action::patch(patch), json!({ "input": patch }), "Done!");
        let talk = talk.read(new);
        assert_eq!(talk.undone(), [false]);
        assert!(talk.stands("walnuts"));
    }

    proptest! {
        #[test]
        fn what_stands_is_never_undone(lines in proptest::collection::vec("[a-f]{4,20} [a-f]{4,20}", 3..20), at in 0usize..20, with_number in any::<bool>()) {
            let new: Vec<&str> = lines.iter().map(String::as_str).collect();
            let at = at % new.len();
            let shown: Vec<String> = new.iter().enumerate().map(|(number, line)| match with_number {
                true => format!("{}\t{line}", number + 1),
                false => (*line).to_owned(),
            }).collect();
            let talk = Talk::default().edit("what stood there before", &new[at..].join("\n")).read(&shown.join("\n"));
            prop_assert_eq!(talk.undone(), [false]);
        }
    }
}
