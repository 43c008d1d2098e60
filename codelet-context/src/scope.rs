//! The part of a history that a choice of lines looks at: of a long session few blocks, however much was ever said.

use crate::candidates::Candidates;
use crate::index::Index;
use crate::pack::Use;
use std::ops::Range;

/// Whole units (a call with its results, or a text), block by block.
pub(crate) struct Scope {
    /// The numbers of their blocks, ascending. Elsewhere a block of the scope is known by its place here.
    pub blocks: Vec<u32>,
    /// For each of them: what it may be used for.
    pub uses: Vec<Use>,
    /// For each of them: its unit, counted from 0 in their order.
    pub unit_of: Vec<u32>,
    /// For each unit: whether something of it may be quoted.
    pub may_be_quoted: Vec<bool>,
}

impl Scope {
    /// The units of which lines are looked at, all without candidates; and those of further blocks: what is `shown`, which
    /// ascends, and the calls by which files are `listed`.
    pub fn of(
        index: &Index,
        candidates: Option<&Candidates>,
        shown: &[u32],
        listed: impl Iterator<Item = u32>,
    ) -> Self {
        let first_of = |&block: &u32| index.blocks[block as usize].unit(block as usize) as u32;
        let looked_at = candidates.map(|candidates| candidates.blocks(index));
        let is_all = candidates.is_none_or(Candidates::is_all);
        let mut firsts: Vec<u32> = match &looked_at {
            Some(looked_at) if !is_all => {
                let blocks = looked_at.iter().chain(shown).copied().chain(listed);
                blocks.map(|block| first_of(&block)).collect()
            }
            _ => (0..index.blocks.len() as u32).map(|block| first_of(&block)).collect(),
        };
        firsts.sort_unstable();
        firsts.dedup();
        let mut blocks: Vec<u32> = match is_all {
            true => (0..index.blocks.len() as u32).collect(),
            false => firsts.iter().flat_map(|&first| index.noted.unit(first)).collect(),
        };
        blocks.sort_unstable();
        // Most units stand in their order.
        let mut near = 0;
        let unit_of = blocks.iter().map(|block| {
            let first = first_of(block);
            if firsts.get(near + 1) == Some(&first) {
                near += 1;
            } else if firsts.get(near) != Some(&first) {
                near = firsts.binary_search(&first).unwrap_or_default();
            }
            near as u32
        });
        let unit_of: Vec<u32> = unit_of.collect();
        let mut may_be_quoted = vec![looked_at.is_none(); firsts.len()];
        let mut at = 0;
        for block in looked_at.unwrap_or_default() {
            at += blocks[at..].partition_point(|&other| other < block);
            may_be_quoted[unit_of[at] as usize] = true;
        }
        let mut shown = shown.iter().peekable();
        let uses = blocks.iter().map(|block| {
            while shown.next_if(|other| *other < block).is_some() {}
            match shown.next_if(|other| *other == block) {
                Some(_) => Use::Shown,
                None => Use::Choose,
            }
        });
        Scope {
            uses: uses.collect(),
            unit_of,
            may_be_quoted,
            blocks,
        }
    }

    /// Everything, of which nothing is shown.
    #[cfg(test)]
    pub fn all(index: &Index) -> Self {
        Scope::of(index, None, &[], std::iter::empty())
    }
}

/// Some lines of an index, ascending. What is known of them stands in lists of as many entries, in their order.
#[derive(Default)]
pub(crate) struct Lines(Vec<u32>);

impl Lines {
    /// These, which ascend.
    pub fn new(lines: Vec<u32>) -> Self {
        Lines(lines)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The line in this place.
    #[inline]
    pub fn at(&self, place: usize) -> usize {
        self.0[place] as usize
    }

    /// Where a line stands among them, if it does.
    pub fn place(&self, line: u32) -> Option<usize> {
        // Where they are all, each stands in its own place.
        match self.0.get(line as usize) == Some(&line) {
            true => Some(line as usize),
            false => self.0.binary_search(&line).ok(),
        }
    }

    /// The places of those of these lines that are among them.
    pub fn places(&self, lines: Range<u32>) -> Range<usize> {
        let before = |line: u32| match self.0.get(line as usize) == Some(&line) {
            true => line as usize,
            false => self.0.partition_point(|&other| other < line),
        };
        before(lines.start)..before(lines.end)
    }

    /// The place of the line right above the one in this place, if it is among them.
    #[inline]
    pub fn above(&self, place: usize) -> Option<usize> {
        let above = place.checked_sub(1)?;
        (self.0[above] + 1 == self.0[place]).then_some(above)
    }

    /// The place of the line right below.
    #[inline]
    pub fn below(&self, place: usize) -> Option<usize> {
        let below = self.0.get(place + 1)?;
        (self.0[place] + 1 == *below).then_some(place + 1)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{
        self,
        tests::{call, run, with_scope},
    };
    use crate::history::History;
    use crate::message::{Action, ActionKind, Message};
    use crate::outcome::FileState;
    use crate::pack::{self, Choice, Task};
    use proptest::prelude::*;
    use serde_json::json;

    /// What is chosen among these candidates, with the units that they stand in or with all, and how it is written.
    fn chosen(history: &History, bytes: usize, candidates: &Candidates, is_narrow: bool) -> (String, Choice) {
        let index = history.index();
        let candidates = candidates.for_room(index, bytes);
        let facts = history.facts();
        let state = |file: u64| {
            let mut files = facts.files.iter();
            files.find_map(|known| (index.file(&known.path) == Some(file)).then_some(known.state))
        };
        let changed = facts.files.iter().filter(|file| file.state != FileState::Read);
        let listed = changed.filter_map(|file| index.noted.about_file(index.file(&file.path)?));
        let scope = match is_narrow {
            true => Scope::of(index, Some(&candidates), &[], listed),
            false => Scope::all(index),
        };
        with_scope(history, scope, bytes, state, |task, units| {
            let task = Task {
                candidates: Some(&candidates),
                ..task
            };
            pack::choose(&task, |taken| digest::render(task.index, units, taken))
        })
    }

    proptest! {
        #[test]
        fn in_a_narrow_scope_the_same_is_chosen(
            rounds in proptest::collection::vec(
                proptest::collection::vec(
                    (0usize..6, proptest::collection::vec("(let|use|fn) [a-d]{1,2}_[a-e]{1,3}( = [0-9]{1,4};)?", 0..9)),
                    1..9,
                ),
                2..6,
            ),
            room in 50usize..900,
        ) {
            let mut history = History::new();
            let mut candidates = Candidates::default();
            for (round, steps) in rounds.iter().enumerate() {
                for (number, (kind, lines)) in steps.iter().enumerate() {
                    let text = lines.join("\n");
                    let file = format!("src/{}.rs", (round + number) % 4);
                    let mut act = |tool: &str, kind, parameters, success| {
                        let action = Action::on(kind, [file.as_str()]);
                        call(&mut history, tool, action, parameters, (Some(success), &text));
                    };
                    let change = json!({"file_path": file, "new_string": text});
                    match kind {
                        0 => run(&mut history, &format!("./look {number}"), &text),
                        1 => act("Edit", ActionKind::Change, change, true),
                        2 => act("Edit", ActionKind::Change, change, false),
                        3 => act("Bash", ActionKind::Command, json!({"command": "make"}), false),
                        4 => history.append(Message::user(text.as_str())),
                        _ => act("Read", ActionKind::Read, json!({"file_path": file}), true),
                    }
                }
                let (narrow, choice) = chosen(&history, room, &candidates, true);
                let (wide, same) = chosen(&history, room, &candidates, false);
                prop_assert_eq!(narrow, wide);
                prop_assert_eq!(&choice.taken, &same.taken);
                let lines = 0..history.index().lines.len() as u32;
                let all = |choice: &Choice| choice.candidates.as_ref().map(|it| it.within(lines.clone()).collect::<Vec<_>>());
                prop_assert_eq!(all(&choice), all(&same));
                candidates = choice.candidates.unwrap_or_default();
            }
        }
    }

    #[test]
    fn lines_are_found_among_few_and_among_all() {
        let few = Lines::new(vec![0, 1, 4, 5, 9]);
        assert_eq!((few.place(4), few.place(3), few.place(10)), (Some(2), None, None));
        assert_eq!(
            (few.places(1..5), few.places(6..9), few.places(9..20)),
            (1..3, 4..4, 4..5)
        );
        let beside = |place: usize| (few.above(place), few.below(place));
        assert_eq!(
            [0, 1, 2, 4].map(beside),
            [(None, Some(1)), (Some(0), None), (None, Some(3)), (None, None)]
        );
    }
}
