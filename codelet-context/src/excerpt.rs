//! What is left of outputs that are set aside: the lines of them that are most likely to be named again.
//!
//! Whoever needs the text of an output that was set aside reads it back; what has to stay is what tells that it is there.
//! So a line is worth the names in it that nothing in the view says and no chosen line has yet (see `value.rs`), by how near
//! it is to what the session is about (`relevance.rs`), per byte that it costs.

use crate::body::Body;
use crate::candidates::Candidates;
use crate::digest::GAP;
use crate::index::{Block, BlockKind, Index};
use crate::items::{ANSWERED, ItemKind, PROMPTED};
use crate::scope::Lines;
use crate::{relevance, value};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

/// A line is charged so many more bytes than it has: scattered lines are hard to read.
const LONELY_BYTES: f32 = 16.0;

/// Of one text no more than one part in so many is left: if most of it were, nothing would be gained by setting it aside.
const MOST: usize = 2;

/// A place in the history: message and part.
pub(crate) type Place = (u32, u32);

/// The chosen lines of each text of each output.
#[derive(Debug, Default)]
pub(crate) struct Excerpts {
    /// By place: each text, and its lines.
    texts: HashMap<Place, Vec<(Body, String)>>,
}

impl Excerpts {
    /// Chooses among the outputs at these places, which ascend, lines of so many bytes at most. `is_shown` says whether the
    /// view still has another output as it was printed.
    pub fn choose(index: &Index, gone: &[Place], is_shown: impl Fn(Place) -> bool, bytes: usize) -> Self {
        let mut excerpts = Excerpts::default();
        if gone.is_empty() || bytes == 0 {
            return excerpts;
        }
        let mut choice = Choice::new(index, gone, is_shown);
        choice.take(bytes);
        for block in choice.blocks {
            let text = quoted(index, block, &choice.taken[choice.lines.places(block.lines.clone())]);
            if !text.is_empty() {
                let texts = excerpts.texts.entry((block.message, block.part)).or_default();
                texts.push((block.text.clone(), text));
            }
        }
        excerpts
    }

    /// The chosen lines of a text of the output at this place, each with its line break; nothing where there are none.
    pub fn of(&self, place: Place, text: &Body) -> &str {
        let texts = self.texts.get(&place).map_or(&[][..], Vec::as_slice);
        let found = texts.iter().find(|(whole, _)| whole == text);
        found.map_or("", |(_, lines)| lines)
    }
}

/// A line that waits to be chosen; the greatest is the one that is worth most per byte, and the first of equals.
struct Waiting {
    density: f32,
    /// Its place among the lines.
    place: usize,
    /// Its text, counted among those that go.
    block: u32,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_density = self.density.total_cmp(&other.density);
        by_density.then_with(|| other.place.cmp(&self.place))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

struct Choice<'a> {
    index: &'a Index,
    /// What each item is worth; nothing once something in the view or a chosen line says it.
    values: Vec<f32>,
    /// The texts of the outputs that go, and their lines.
    blocks: Vec<&'a Block>,
    lines: Lines,
    /// For each line: how many times what its items say, and whether it is chosen.
    factors: Vec<f32>,
    taken: Vec<bool>,
}

impl<'a> Choice<'a> {
    /// Reads the lines that go and those of outputs that are still shown as they were printed. Whether a call, a prompt or an
    /// answer says a thing is known of the thing itself.
    fn new(index: &'a Index, gone: &[Place], is_shown: impl Fn(Place) -> bool) -> Self {
        let mut blocks = Vec::new();
        let mut staying = Vec::new();
        for block in &index.blocks {
            let place = (block.message, block.part);
            match block.kind {
                BlockKind::Read | BlockKind::Command | BlockKind::Search | BlockKind::Report | BlockKind::Other => {
                    if gone.binary_search(&place).is_ok() {
                        blocks.push(block);
                    } else if is_shown(place) {
                        staying.push(block);
                    }
                }
                BlockKind::Injected => staying.push(block),
                // Thinking of finished turns goes with the same edit; what calls, prompts and answers say, see below.
                BlockKind::Thinking | BlockKind::Call | BlockKind::Prompt | BlockKind::Answer => {}
            }
        }
        let lines: Vec<u32> = blocks.iter().flat_map(|block| block.lines.clone()).collect();
        let candidates = Candidates::only(lines.clone(), index.lines.len() as u32);
        let mut choice = Choice {
            index,
            values: value::values(index, &candidates).of,
            factors: vec![1.0; lines.len()],
            taken: vec![false; lines.len()],
            lines: Lines::new(lines),
            blocks,
        };
        for (number, value) in choice.values.iter_mut().enumerate().filter(|(_, value)| **value > 0.0) {
            let item = &index.items[number];
            if item.kind != ItemKind::Name || item.calls > 0 || item.marks() & (PROMPTED | ANSWERED) != 0 {
                *value = 0.0;
            }
        }
        for block in staying {
            block.lines.clone().for_each(|line| choice.cover(line));
        }
        let blocks = candidates.blocks(index);
        relevance::weigh(index, &candidates, &blocks, &choice.lines, &mut choice.factors);
        choice
    }

    fn cover(&mut self, line: u32) {
        for &item in self.index.items_of(line as usize) {
            self.values[item as usize] = 0.0;
        }
    }

    fn density(&self, place: usize) -> f32 {
        let gain: f32 = self
            .index
            .items_of(self.lines.at(place))
            .iter()
            .map(|&item| self.values[item as usize])
            .sum();
        gain * self.factors[place] / (self.bytes(place) as f32 + LONELY_BYTES)
    }

    fn bytes(&self, place: usize) -> usize {
        let line = &self.index.lines[self.lines.at(place)];
        usize::from(line.bytes).saturating_sub(usize::from(line.prefix()))
    }

    /// Takes the densest lines until the room is full. A line that lost worth to a chosen one waits again.
    fn take(&mut self, bytes: usize) {
        let mut waiting = BinaryHeap::new();
        // What may still be left of each text.
        let mut rooms = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            let lines = self.lines.places(block.lines.clone()).map(|place| Waiting {
                density: self.density(place),
                place,
                block: rooms.len() as u32,
            });
            waiting.extend(lines);
            rooms.push(block.text.len() / MOST);
        }
        let mut left = bytes;
        while let Some(next) = waiting.pop() {
            let density = self.density(next.place);
            if density <= 0.0 {
                continue;
            }
            if waiting.peek().is_some_and(|other| other.density > density) {
                waiting.push(Waiting { density, ..next });
                continue;
            }
            let cost = self.bytes(next.place) + 1 + GAP.len();
            if cost > left {
                break;
            }
            let room = &mut rooms[next.block as usize];
            if cost > *room {
                continue;
            }
            *room -= cost;
            left -= cost;
            self.taken[next.place] = true;
            self.cover(self.lines.at(next.place) as u32);
        }
    }
}

/// The chosen lines of a text, without line numbers, and a mark wherever lines between them are left out.
fn quoted(index: &Index, block: &Block, taken: &[bool]) -> String {
    let mut text = String::new();
    let mut is_gap = false;
    for (line, taken) in block.lines.clone().zip(taken) {
        if !taken {
            is_gap = true;
            continue;
        }
        if std::mem::take(&mut is_gap) && !text.is_empty() {
            text.push_str(GAP);
        }
        text.push_str(index.text_of(block, line as usize));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::tests::call;
    use crate::history::History;
    use crate::message::{Action, ActionKind, Message};
    use proptest::prelude::*;
    use serde_json::json;

    /// A conversation in which each output was read from a file of its own.
    fn history(outputs: &[String]) -> History {
        let mut history = History::new();
        history.append(Message::user("Where is the walnut_press made?"));
        for (number, output) in outputs.iter().enumerate() {
            let path = format!("src/file_{number}.rs");
            let action = Action::on(ActionKind::Read, [&*path]);
            let parameters = json!({ "file_path": path });
            call(&mut history, "Read", action, parameters, (Some(true), output));
        }
        history
    }

    /// What is left of each output if all of them go.
    fn left(history: &History, bytes: usize) -> Vec<String> {
        let index = history.index();
        let is_output = |block: &&Block| block.kind == BlockKind::Read;
        let outputs: Vec<&Block> = index.blocks.iter().filter(is_output).collect();
        let places: Vec<Place> = outputs.iter().map(|block| (block.message, block.part)).collect();
        let excerpts = Excerpts::choose(index, &places, |_| true, bytes);
        let texts = outputs.iter().zip(&places);
        texts
            .map(|(block, &place)| excerpts.of(place, &block.text).to_owned())
            .collect()
    }

    #[test]
    fn lines_with_names_that_nothing_else_says_are_left() {
        let output = "fn walnut_press() {\n    // nothing to see\n    almond_mill(cherry_vat);\n}\n";
        let mut history = history(&[output.to_owned()]);
        assert_eq!(left(&history, 1_000), ["    almond_mill(cherry_vat);\n"]);
        assert_eq!(left(&history, 0), [""]);
        history.append(Message::user("Tell me of almond_mill and cherry_vat."));
        assert_eq!(left(&history, 1_000), [""], "the prompt says them, and it stays");
    }

    #[test]
    fn a_name_is_quoted_once_and_gaps_are_marked() {
        let lines = |names: &[&str]| {
            let lines = names.iter().map(|name| format!("let {name} = 1;\n"));
            lines.collect::<String>() + &"nothing to see here\n".repeat(9)
        };
        let outputs = [
            lines(&["plum_jar", "quince_jar"]),
            lines(&["quince_jar", "walnut_press", "rowan_jar"]),
        ];
        let left = left(&history(&outputs), 1_000);
        assert_eq!(left.concat().matches("quince_jar").count(), 1, "{left:?}");
        let third = self::left(&history(&[lines(&["plum_jar", "walnut_press", "rowan_jar"])]), 1_000);
        assert_eq!(third, ["let plum_jar = 1;\n…\nlet rowan_jar = 1;\n"]);
    }

    proptest! {
        #[test]
        fn what_is_left_fits_its_room_and_stands_in_the_output(
            outputs in proptest::collection::vec("([a-c]{1,3}_[a-z0-9]{1,4}[ .(\n]{1,2}|\\PC{0,9}\n){0,40}", 0..5),
            bytes in 0_usize..600,
        ) {
            let history = history(&outputs);
            let left = left(&history, bytes);
            prop_assert!(left.iter().map(String::len).sum::<usize>() <= bytes);
            for (text, output) in left.iter().zip(&outputs) {
                let mut rest = output.as_str();
                for line in text.lines().filter(|line| *line != "…") {
                    let at = rest.find(line);
                    prop_assert!(at.is_some(), "{line:?} is not in {output:?}, or not in its order");
                    rest = &rest[at.unwrap_or(0) + line.len()..];
                }
            }
        }
    }
}
