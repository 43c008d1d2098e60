//! Which lines of a long history may still be chosen.
//!
//! The room in a window stays the same while a session grows, so a line that was far from being chosen once is further from it
//! each time. A compaction therefore hands on the lines that the next one should look at, a few times as many as there was
//! room for. Without that each compaction of a session would take longer than the one before. Nothing is lost by it: the
//! lines that are no longer looked at are in the archive as before.

use crate::items::KINDS;
use std::ops::Range;

/// Lines that take this many times the room are handed on …
const ROOMS: usize = 2;
/// … once there are more than that by a quarter, so that the choice is not made for a handful.
const SLACK: u64 = 4;
/// With this many times the room, what was passed over may be worth it after all, and everything is looked at.
const WIDER: f64 = 1.5;

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
}

impl Candidates {
    /// Picks the lines that the next compaction should look at, from the ascending lines that this one looked at, among
    /// `count` lines altogether, with `room` bytes for those that are quoted. `None` where it may as well look at all of them.
    pub fn pick(ranked: &[Ranked], count: u32, room: usize, sums: [f64; KINDS], bytes: u64) -> Option<Self> {
        if Self::is_few(ranked.iter().filter_map(|line| line.bytes).map(u64::from).sum(), room) {
            return None;
        }
        let most = room.saturating_mul(ROOMS);
        let lowest = lowest(ranked, most);
        let is_kept = |line: &&Ranked| line.bytes.is_none() || bucket(line.worth) >= lowest;
        Some(Candidates {
            lines: ranked.iter().filter(is_kept).map(|line| line.line).collect(),
            until: count,
            room,
            sums,
            bytes,
        })
    }

    /// Whether lines of so many bytes may all be looked at, for a choice with this room.
    pub fn is_few(bytes: u64, room: usize) -> bool {
        let most = room.saturating_mul(ROOMS) as u64;
        bytes <= most.saturating_add(most / SLACK)
    }

    /// Whether they will do for this many bytes of quoted lines.
    pub fn will_do_for(&self, room: usize) -> bool {
        room as f64 <= self.room as f64 * WIDER
    }

    /// Whether every line is looked at.
    pub fn is_all(&self) -> bool {
        self.until == 0
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
    use crate::digest::{
        self,
        tests::{run, with_task},
    };
    use crate::history::History;
    use crate::pack::{self, Choice, Task};
    use proptest::prelude::*;

    fn chosen(history: &History, bytes: usize, candidates: Option<&Candidates>) -> Choice {
        with_task(history, bytes, |task, units| {
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
            for (line, _) in first.taken.iter().enumerate().filter(|(_, taken)| **taken) {
                prop_assert!(kept.contains(&(line as u32)), "what was quoted may be quoted again");
            }
            for (number, lines) in outputs[half..].iter().enumerate() {
                run(&mut history, &format!("./look again {number}"), &lines.join("\n"));
            }
            let second = chosen(&history, later, Some(&candidates));
            let all = later as f64 > room as f64 * WIDER;
            for (line, _) in second.taken.iter().enumerate().filter(|(_, taken)| **taken) {
                let line = line as u32;
                prop_assert!(all || candidates.within(line..line + 1).next() == Some(line));
            }
            let index = history.index();
            let units = digest::units(index, history.messages(), |_| None);
            prop_assert!(digest::render(index, &units, &second.taken).len() <= later);
        }
    }

    fn ranked(worths: &[f32]) -> Vec<Ranked> {
        let lines = worths.iter().zip(0..);
        lines
            .map(|(&worth, line)| Ranked {
                line,
                bytes: Some(100),
                worth,
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
        assert_eq!(picked(&lines, 200), Some(vec![1, 3, 4, 7]), "twice a room of two lines");
    }

    #[test]
    fn few_lines_are_all_looked_at_again() {
        assert_eq!(picked(&ranked(&[1.0, 2.0, 3.0, 4.0, 5.0]), 200), None);
        assert_eq!(picked(&[], 0), None);
    }

    #[test]
    fn what_is_quoted_or_shown_stays_whatever_it_is_worth() {
        let mut lines = ranked(&[1.0, 8.0, 0.5, 4.0, 2.0, 0.1, 0.2, 3.0]);
        lines[5].bytes = None;
        lines[5].worth = 0.0;
        assert_eq!(picked(&lines, 200), Some(vec![1, 3, 4, 5, 7]));
    }

    #[test]
    fn lines_said_later_are_looked_at() {
        let lines = ranked(&[1.0, 8.0, 0.5, 4.0, 2.0, 0.1, 0.2, 3.0]);
        let picked = Candidates::pick(&lines, 8, 200, [0.0; KINDS], 0);
        let within = |range| picked.as_ref().map(|picked| picked.within(range).collect::<Vec<_>>());
        assert_eq!(within(3..11), Some(vec![3, 4, 7, 8, 9, 10]));
        assert_eq!(within(9..11), Some(vec![9, 10]));
        assert_eq!(within(5..7), Some(vec![]));
        assert_eq!(within(8..8), Some(vec![]));
    }

    #[test]
    fn with_more_room_everything_is_looked_at_again() {
        let lines = ranked(&[1.0, 8.0, 0.5, 4.0, 2.0, 0.1, 0.2, 3.0]);
        let picked = Candidates::pick(&lines, 8, 100, [0.0; KINDS], 0);
        let will_do = |room| picked.as_ref().map(|picked| picked.will_do_for(room));
        assert_eq!((will_do(150), will_do(151)), (Some(true), Some(false)));
        assert_eq!(Candidates::default().within(2..5).collect::<Vec<_>>(), [2, 3, 4]);
    }
}
