//! Which lines of a long history may still be chosen.
//!
//! The room in a window stays the same while a session grows, so a line that was far from being chosen once is further from it
//! each time. A compaction therefore hands on the lines that the next one should look at: those that are quoted or shown, and
//! as many again as there was room for. Without that each compaction of a session would take longer than the one before. What
//! the user names is looked at again. Nothing is lost by it: the lines that are no longer looked at are in the archive as before.

use crate::index::{Block, BlockKind, Index, NONE};
use crate::items::KINDS;
use crate::marked::Marked;
use crate::relevance::REACH;
use crate::value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// Lines are left out once there are more than fill the room by a quarter, so that the choice is not made for a handful.
const SLACK: u64 = 4;
/// With this many times the room, what was passed over may be worth it after all, and everything is looked at.
const WIDER: f64 = 1.5;

/// Where the user's words lead back to more than one line in so many, everything is looked at.
const MANY: u32 = 4;

/// What a compaction looks at; by default everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    /// Of the lines before `until`, ascending.
    lines: Vec<u32>,
    until: u32,
    /// The room that they were picked for, in bytes.
    room: usize,
    /// What everything was worth, by kind of item, when everything was looked at last: it sets the scale between the kinds.
    pub sums: [f64; KINDS],
    /// The bytes of all lines then.
    pub bytes: u64,
}

/// A line that may be handed on.
pub(crate) struct Ranked {
    pub line: u32,
    /// Its bytes, or none if it is handed on in any case.
    pub bytes: Option<u32>,
    /// What it is worth per byte at best; not negative.
    pub worth: f32,
    /// The line that stands before anything of its unit, which is handed on with it, or [`NONE`].
    pub first: u32,
    /// What comes with that line, and is handed on too.
    pub answer: Range<u32>,
    /// The line that names its file, which is handed on with it too, or [`NONE`].
    pub head: u32,
}

impl Candidates {
    /// Picks the lines that the next compaction should look at, from the ascending lines that this one looked at, among
    /// `count` lines altogether, with `room` bytes for those that are quoted. `None` where it may as well look at all of them.
    pub fn pick(ranked: &[Ranked], count: u32, room: usize, sums: [f64; KINDS], bytes: u64) -> Option<Self> {
        if Self::is_few(ranked.iter().filter_map(|line| line.bytes).map(u64::from).sum(), room) {
            return None;
        }
        let lowest = lowest(ranked, room);
        let is_kept = |line: &&Ranked| line.bytes.is_none() || bucket(line.worth) >= lowest;
        let mut lines: Vec<u32> = Vec::new();
        for line in ranked.iter().filter(is_kept) {
            lines.extend((line.first != NONE).then_some(line.first));
            lines.extend(line.answer.clone());
            lines.extend((line.head != NONE).then_some(line.head));
            lines.push(line.line);
        }
        // A command goes with its output, and mostly stands before it.
        lines.sort();
        lines.dedup();
        Some(Candidates {
            lines,
            until: count,
            room,
            sums,
            bytes,
        })
    }

    /// Whether lines of so many bytes may all be looked at, for a choice with this room.
    pub fn is_few(bytes: u64, room: usize) -> bool {
        let room = room as u64;
        bytes <= room.saturating_add(room / SLACK)
    }

    /// What a choice with this many bytes of quoted lines looks at: these, and what the user has named since they were picked.
    pub fn for_room(&self, index: &Index, room: usize) -> Cow<'_, Self> {
        if room as f64 > self.room as f64 * WIDER {
            return Cow::default();
        }
        let named = self.named_since(index);
        if named.len() > (self.until / MANY) as usize {
            return Cow::default();
        }
        if named.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut lines = [&*self.lines, &*named].concat();
        // Few runs that ascend.
        lines.sort();
        lines.dedup();
        Cow::Owned(Candidates {
            lines,
            until: self.until,
            room: self.room,
            sums: self.sums,
            bytes: self.bytes,
        })
    }

    /// The lines before `until` that the prompts behind it lead back to: those near a name that a prompt says, unless many
    /// messages say it, and those of a file that a prompt names; with the commands that go with them.
    fn named_since(&self, index: &Index) -> Vec<u32> {
        let new = index.blocks.partition_point(|block| block.lines.start < self.until);
        let prompts = index.blocks[new..]
            .iter()
            .filter(|block| block.kind == BlockKind::Prompt);
        let names = prompts.flat_map(|block| block.lines.clone());
        let names = names.flat_map(|line| index.names_of(line as usize)).copied();
        let said: BTreeSet<u32> = names.collect();
        if said.is_empty() {
            return Vec::new();
        }
        let mut named = Vec::new();
        let frequent = value::frequent(index);
        let is_rare = |name: u32| index.items[name as usize].messages <= frequent;
        let files = index.files_named(|name| said.contains(&name));
        // Most of a long history is about other things, and nobody looks through it.
        let (mut near, mut rare) = (Vec::new(), Marked::with_room(index.items.len()));
        for &name in said.iter().filter(|&&name| is_rare(name)) {
            near.extend(index.items.blocks_of(name));
            rare.mark(name);
        }
        near.extend(files.iter().flat_map(|&file| index.blocks_about(file)));
        near.sort_unstable();
        near.dedup();
        let near = near.into_iter().map(|number| number as usize);
        for number in near.take_while(|&number| number < new) {
            let block = &index.blocks[number];
            let before = named.len();
            if files.contains(&block.path) {
                named.extend(block.lines.clone());
            } else {
                let mut done = block.lines.start;
                for line in block.lines.clone() {
                    let mut names = index.names_of(line as usize).iter();
                    if names.any(|&name| rare.has(name)) {
                        let end = (line + REACH + 1).min(block.lines.end);
                        named.extend(line.saturating_sub(REACH).max(done)..end);
                        done = end;
                    }
                }
            }
            let call = &index.blocks[block.unit(number)];
            if named.len() > before {
                named.extend(index.heads_of(block));
            }
            if named.len() > before && call.lead.start != NONE {
                named.push(call.lead.start);
                named.extend(call.answer.clone());
            }
        }
        named
    }

    /// The estimated tokens of the history whose lines were never passed over, since they are newer.
    pub fn new_tokens(&self, index: &Index) -> u32 {
        let new = index.blocks.partition_point(|block| block.lines.start < self.until);
        let from = index.blocks.get(new).map_or(index.position, |block| block.position);
        index.position.saturating_sub(from)
    }

    /// The room to pick lines for, where the next choice has `most` bytes at most: that of the last one, if it is known.
    pub fn room_ahead(&self, most: usize) -> usize {
        match self.is_all() {
            true => most,
            false => most.min(self.room),
        }
    }

    /// These lines, which ascend, of so many, for a choice among things of one kind: there is no scale between kinds.
    pub fn only(lines: Vec<u32>, count: u32) -> Self {
        Candidates {
            lines,
            until: count.max(1),
            room: 0,
            sums: [1.0; KINDS],
            bytes: 0,
        }
    }

    /// Whether every line is looked at.
    pub fn is_all(&self) -> bool {
        self.until == 0
    }

    /// The blocks that have a line that is looked at, ascending.
    pub fn blocks(&self, index: &Index) -> Vec<u32> {
        let is_before = |block: &Block, line: u32| block.lines.end <= line;
        // The next one is near, mostly.
        let behind = |mut from: usize, line: u32| {
            let mut reach = 1;
            while index
                .blocks
                .get(from + reach)
                .is_some_and(|block| is_before(block, line))
            {
                from += reach;
                reach *= 2;
            }
            let near = &index.blocks[from..(from + reach).min(index.blocks.len())];
            from + near.partition_point(|block| is_before(block, line))
        };
        let mut found = Vec::new();
        let (mut block, mut at) = (0, 0);
        while let Some(&line) = self.lines.get(at) {
            block = behind(block, line);
            let Some(end) = index.blocks.get(block).map(|block| block.lines.end) else {
                break;
            };
            found.push(block as u32);
            at += self.lines[at..].partition_point(|&line| line < end);
        }
        let new = behind(block, self.until)..index.blocks.len();
        let new = new.filter(|&block| !index.blocks[block].lines.is_empty());
        let last = found.last().copied();
        found.extend(new.map(|block| block as u32).filter(|&block| Some(block) > last));
        found
    }

    /// Those of these lines that are looked at, ascending.
    pub fn within(&self, lines: Range<u32>) -> impl Iterator<Item = u32> + Clone + '_ {
        let first = self.lines.partition_point(|&line| line < lines.start);
        let last = self.lines.partition_point(|&line| line < lines.end);
        let new = lines.start.max(self.until)..lines.end;
        self.lines[first..last.max(first)].iter().copied().chain(new)
    }
}

/// The lowest bucket that is handed on, so that all from there on take at most `most` bytes.
fn lowest(ranked: &[Ranked], most: usize) -> usize {
    let mut bytes = vec![0_usize; BUCKETS];
    for line in ranked {
        bytes[bucket(line.worth)] += line.bytes.unwrap_or(0) as usize;
    }
    let mut sum = 0;
    let too_low = bytes.iter().rposition(|&bytes| {
        sum += bytes;
        sum > most
    });
    // What is worth nothing is never handed on.
    too_low.map_or(1, |bucket| bucket + 1)
}

/// Sixteen buckets for each power of two: a number's sign, exponent and first four digits after the point.
const DIGITS: u32 = 23 - 4;
const BUCKETS: usize = 1 << (32 - DIGITS);

fn bucket(worth: f32) -> usize {
    (worth.max(0.0).to_bits() >> DIGITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact;
    use crate::digest::{
        self,
        tests::{run, with_task},
    };
    use crate::history::History;
    use crate::message::Message;
    use crate::pack::{self, Choice, Task};
    use crate::relevance;
    use crate::scope::Scope;
    use proptest::prelude::*;

    fn chosen(history: &History, bytes: usize, candidates: Option<&Candidates>) -> Choice {
        let candidates = candidates.map(|candidates| candidates.for_room(history.index(), bytes));
        with_task(history, bytes, |task, units| {
            let candidates = candidates.as_deref();
            let task = Task { candidates, ..task };
            pack::choose(&task, |taken| digest::render(task.index, units, taken)).1
        })
    }

    fn count(history: &History, candidates: &Candidates) -> usize {
        candidates.within(0..history.index().lines.len() as u32).count()
    }

    #[test]
    fn the_work_of_a_choice_does_not_grow_with_the_session() {
        let mut history = History::new();
        let mut candidates = Candidates::default();
        let mut counts = Vec::new();
        for round in 0..12 {
            let prompt = format!("What becomes of part_3_{round}?");
            history.append(Message::user(prompt.as_str()));
            for number in 0..20 {
                let output: String = (0..40)
                    .map(|line| format!("let part_{number}_{line} = compute_{round}({});\n", line * 7))
                    .collect();
                run(&mut history, &format!("cat part_{round}_{number}.rs"), &output);
            }
            counts.push(count(&history, &candidates));
            let choice = chosen(&history, 6_000, Some(&candidates));
            candidates = choice.candidates.unwrap_or_default();
        }
        let new = counts[0];
        assert!(counts[11] < 3 * new, "{counts:?}");
        assert!(counts[11] <= counts[5] + new / 4, "{counts:?}");
    }

    proptest! {
        #[test]
        fn only_what_is_looked_at_is_chosen(
            outputs in proptest::collection::vec(proptest::collection::vec("(let|use|fn) [a-e]{1,3}_[a-e]{1,3}( = [0-9]{1,4};)?", 0..12), 1..24),
            room in 0usize..400,
            later in 0usize..1_200,
        ) {
            let mut history = History::new();
            let half = outputs.len() / 2;
            for (number, lines) in outputs[..half].iter().enumerate() {
                run(&mut history, &format!("./look {number}"), &lines.join("\n"));
            }
            let first = chosen(&history, room, Some(&Candidates::default()));
            let told = chosen(&history, room, None);
            prop_assert_eq!(&first.taken, &told.taken, "the first choice looks at everything");
            prop_assert!(told.candidates.is_none());
            let candidates = first.candidates.unwrap_or_default();
            let kept: Vec<u32> = candidates.within(0..history.index().lines.len() as u32).collect();
            for line in &first.taken {
                prop_assert!(kept.contains(line), "what was quoted may be quoted again");
            }
            for (number, lines) in outputs[half..].iter().enumerate() {
                run(&mut history, &format!("./look again {number}"), &lines.join("\n"));
            }
            let second = chosen(&history, later, Some(&candidates));
            let all = later as f64 > room as f64 * WIDER;
            for &line in &second.taken {
                prop_assert!(all || candidates.within(line..line + 1).next() == Some(line));
            }
            let index = history.index();
            let units = digest::units(index, history.messages(), Scope::all(index), || None, |_| None);
            prop_assert!(digest::render(index, &units, &second.taken).len() <= later);
        }
    }

    /// The lines of a history of which a prompt names something, by a look at each block.
    fn named(history: &History, until: u32) -> Vec<u32> {
        let index = history.index();
        let prompts = index.blocks.iter().filter(|block| block.kind == BlockKind::Prompt);
        let prompts = prompts.filter(|block| block.lines.start >= until);
        let Some(said) = relevance::names_in(index, prompts) else {
            return Vec::new();
        };
        let is_rare = |name: u32| index.items[name as usize].messages <= value::frequent(index);
        let files = index.files_named(|name| said.has(name));
        let mut named = Vec::new();
        for (number, block) in index.blocks.iter().enumerate() {
            let is_near = |line: u32| {
                let mut beside =
                    line.saturating_sub(REACH).max(block.lines.start)..(line + REACH + 1).min(block.lines.end);
                beside.any(|line| {
                    index
                        .names_of(line as usize)
                        .iter()
                        .any(|&name| said.has(name) && is_rare(name))
                })
            };
            let is_of_file = files.contains(&block.path);
            let lines: Vec<u32> = block
                .lines
                .clone()
                .filter(|&line| is_of_file || is_near(line))
                .collect();
            let lead = index.blocks[block.unit(number)].lead.start;
            if block.lines.start < until && !lines.is_empty() {
                named.extend((lead != NONE).then_some(lead));
                named.extend(lines);
            }
        }
        named.sort_unstable();
        named.dedup();
        named
    }

    proptest! {
        #[test]
        fn what_a_prompt_names_is_found_wherever_it_stands(
            outputs in proptest::collection::vec(("[a-c]{1,2}", proptest::collection::vec("(let|use) part_[a-e]{1,2}( = [0-9]{3};)?", 0..30)), 1..24),
            prompt in "(What of|and)( part_[a-e]{1,2}| [a-c]{1,2}\\.rs){0,3}",
            at in 0usize..24,
        ) {
            let mut history = History::new();
            for (name, lines) in &outputs[..at.min(outputs.len())] {
                run(&mut history, &format!("cat {name}.rs"), &lines.join("\n"));
            }
            let until = history.index().lines.len() as u32;
            history.append(Message::user(prompt.as_str()));
            for (name, lines) in &outputs[at.min(outputs.len())..] {
                run(&mut history, &format!("cat {name}.rs"), &lines.join("\n"));
            }
            let candidates = Candidates { until, ..Candidates::default() };
            let mut found = candidates.named_since(history.index());
            found.sort_unstable();
            found.dedup();
            prop_assert_eq!(found, named(&history, until));
        }
    }

    fn ranked(worths: &[f32]) -> Vec<Ranked> {
        let lines = worths.iter().zip(0..);
        lines
            .map(|(&worth, line)| Ranked {
                line,
                bytes: Some(100),
                worth,
                first: NONE,
                answer: NONE..NONE,
                head: NONE,
            })
            .collect()
    }

    fn picked(ranked: &[Ranked], room: usize) -> Option<Vec<u32>> {
        let picked = Candidates::pick(ranked, ranked.len() as u32, room, [0.0; KINDS], 0)?;
        Some(picked.within(0..ranked.len() as u32).collect())
    }

    #[test]
    fn the_best_lines_are_handed_on() {
        let lines = ranked(&[1.0, 8.0, 0.5, 4.0, 2.0, 0.1, 0.2, 3.0, 0.0, 0.0]);
        assert_eq!(picked(&lines, 400), Some(vec![1, 3, 4, 7]), "a room of four lines");
    }

    #[test]
    fn few_lines_are_all_looked_at_again() {
        assert_eq!(picked(&ranked(&[1.0, 2.0, 3.0, 4.0, 5.0]), 400), None);
        assert_eq!(picked(&[], 0), None);
    }

    #[test]
    fn what_is_quoted_or_shown_stays_whatever_it_is_worth() {
        let mut lines = ranked(&[1.0, 8.0, 0.5, 4.0, 2.0, 0.1, 0.2, 3.0]);
        lines[5].bytes = None;
        lines[5].worth = 0.0;
        assert_eq!(picked(&lines, 400), Some(vec![1, 3, 4, 5, 7]));
    }

    #[test]
    fn lines_said_later_are_looked_at() {
        let lines = ranked(&[1.0, 8.0, 0.5, 4.0, 2.0, 0.1, 0.2, 3.0]);
        let picked = Candidates::pick(&lines, 8, 400, [0.0; KINDS], 0);
        let within = |range| picked.as_ref().map(|picked| picked.within(range).collect::<Vec<_>>());
        assert_eq!(within(3..11), Some(vec![3, 4, 7, 8, 9, 10]));
        assert_eq!(within(9..11), Some(vec![9, 10]));
        assert_eq!(within(5..7), Some(vec![]));
        assert_eq!(within(8..8), Some(vec![]));
    }

    #[test]
    fn what_the_user_names_is_looked_at_again() {
        let mut history = History::new();
        for number in 0..40 {
            let around = |side: &str| {
                (0..20)
                    .map(|line| format!("let {side}_{number}_{line} = 1;\n"))
                    .collect::<String>()
            };
            let output = format!(
                "{}let walnut_{number} = press_it({number});\n{}",
                around("above"),
                around("below")
            );
            run(&mut history, &format!("cat src/file_{number}.rs"), &output);
        }
        let everything = chosen(&history, 400, Some(&Candidates::default()));
        let candidates = everything.candidates.unwrap_or_default();
        let looked_at = |history: &History| {
            let index = history.index();
            let candidates = candidates.for_room(index, 400);
            let texts = index.blocks.iter().flat_map(|block| {
                let lines = candidates.within(block.lines.clone());
                lines
                    .map(|line| index.text_of(block, line as usize).to_owned())
                    .collect::<Vec<_>>()
            });
            texts.collect::<std::collections::BTreeSet<String>>()
        };
        let before = looked_at(&history);
        let line = |side: &str, number: usize, line: usize| format!("let {side}_{number}_{line} = 1;");
        let walnut = |number: usize| format!("let walnut_{number} = press_it({number});");
        let gone = |number: &usize| {
            !before
                .iter()
                .any(|line| line.contains(&format!("_{number}_")) || *line == walnut(*number))
        };
        let gone: Vec<usize> = (0..40).filter(gone).collect();
        let (first, second, third) = (gone[0], gone[1], gone[2]);
        let prompt = format!("Have a look at walnut_{first} and at file_{second}.rs.");
        history.append(Message::user(prompt.as_str()));
        let after = looked_at(&history);
        assert!(after.contains(&walnut(first)), "a name");
        assert!(
            after.contains(&line("above", first, 19)) && after.contains(&line("below", first, 4)),
            "beside it"
        );
        assert!(!after.contains(&line("above", first, 2)), "far from it");
        assert!(
            after.contains(&line("above", second, 2)) && after.contains(&walnut(second)),
            "a file"
        );
        assert!(
            after.contains(&format!("cat src/file_{second}.rs")),
            "the command that printed it"
        );
        assert!(!after.contains(&walnut(third)), "what the prompt does not name");
        let all: String = (0..40)
            .map(|number| format!("walnut_{number} at file_{number}.rs, "))
            .collect();
        history.append(Message::user(all.as_str()));
        assert!(
            candidates.for_room(history.index(), 400).is_all(),
            "whoever names everything has it looked at"
        );
    }

    #[test]
    fn a_look_ahead_keeps_what_would_be_quoted() {
        let mut history = History::new();
        history.append(Message::user("What becomes of the walnut_press?"));
        for number in 0..60 {
            let lines =
                (0..30).map(|line| format!("let part_{number}_{line} = walnut_{}({});\n", line % 7, number * line));
            run(
                &mut history,
                &format!("cat part_{number}.rs"),
                &lines.collect::<String>(),
            );
        }
        let ahead = compact::look_ahead(&history, 9_000, &Candidates::default());
        assert!(count(&history, &ahead) * 3 < count(&history, &Candidates::default()));
        assert_eq!(ahead.new_tokens(history.index()), 0);
        let told = chosen(&history, 6_000, None);
        let lost = told
            .taken
            .iter()
            .filter(|&&line| ahead.within(line..line + 1).next().is_none());
        assert_eq!(lost.count(), 0);
        run(&mut history, "make", "error: the walnut_press is stuck\n");
        assert!(ahead.new_tokens(history.index()) > 0);
    }

    #[test]
    fn a_command_goes_with_its_output() {
        let mut lines = ranked(&[0.1, 8.0, 0.5, 4.0, 0.2, 3.0, 0.2, 0.1]);
        lines[3].first = 0;
        lines[5].first = 6;
        lines[7].first = 4;
        assert_eq!(picked(&lines, 300), Some(vec![0, 1, 3, 5, 6]));
    }

    #[test]
    fn with_more_room_everything_is_looked_at_again() {
        let lines = ranked(&[1.0, 8.0, 0.5, 4.0, 2.0, 0.1, 0.2, 3.0]);
        let picked = Candidates::pick(&lines, 8, 100, [0.0; KINDS], 0);
        let index = Index::default();
        let is_all = |room| picked.as_ref().map(|picked| picked.for_room(&index, room).is_all());
        assert_eq!((is_all(150), is_all(151)), (Some(false), Some(true)));
        assert_eq!(Candidates::default().within(2..5).collect::<Vec<_>>(), [2, 3, 4]);
    }
}
