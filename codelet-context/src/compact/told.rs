//! What the summary tells: the pinned texts, the words of a model where it has written some, the record, how things stand and what
//! comes next; and the room that each of them has.

use super::{Work, fate, room};
use crate::compact::draft::{self, Draft};
use crate::evidence::anchor::Anchor;
use crate::message::recall::Handle;
use crate::message::tokens::{self, Tokens};
use crate::message::{ActionKind, Part, cut};
use crate::ranking::labels;
use crate::ranking::quoting;
use crate::ranking::{Block, Focus, Speaker, Weights};
use crate::summary::record::{HIDDEN, Known, Record};
use crate::summary::state;
use crate::text::body::Body;
use crate::text::hash::{self, QuickMap};
use std::collections::HashSet;

/// The share of a budget that the summary has at least, before what is kept gives way.
pub(super) const SUMMARY_SHARE: f64 = 0.05;
/// Half of so many bytes are too few for a summary beside prompts that fold.
const LEAST: usize = 480;
/// Without a budget, the summary has this share of what it stands for, and at most so many bytes.
const SHARE: f64 = 0.1;
const BYTES: usize = 24_000;
/// One part in so many of the summary, and at most so many bytes, tells how things stand, beside the open list.
const STATE: usize = 12;
const STATE_BYTES: usize = 3_000;
/// One part in so many of it tells what comes next.
const NEXT: usize = 48;
/// The beginning of a prompt takes one part in so many of the record above its turn, between these bounds in bytes.
const TITLE: usize = 200;
const TITLE_BYTES: (usize, usize) = (24, 80);
/// A pinned text that is longer, in bytes, or has several lines, is shown as it stands and not as a line.
const SENTENCE: usize = 300;
/// The line that counts the notes that have no room, in bytes.
const OLDER: usize = 40;
/// About what stands around a pinned text, in bytes.
const HEADER: usize = 40;

/// What a summary is made of.
pub(super) struct Summary {
    /// What stands before the kept steps; empty where there is nothing to tell.
    pub head: String,
    /// What stands behind them; empty likewise.
    pub behind: String,
    /// The segments that are quoted.
    pub taken: Vec<u32>,
}

impl<'a> Work<'a> {
    /// The most bytes that the summary of what stands before `start` may have beside what is kept.
    pub(super) fn summary_bytes(&self, start: usize, drafts: &[Draft], budget: Option<Tokens>) -> usize {
        match budget {
            Some(budget) => {
                let used = room::whole(drafts) + room::overhead(drafts, &self.options.ending());
                tokens::bytes_in(budget.saturating_sub(used))
            }
            None => {
                let rest: Tokens = self.history.estimates()[..start].iter().sum();
                let bytes = (tokens::bytes_in(rest) as f64 * SHARE) as usize;
                bytes.min(BYTES)
            }
        }
    }

    /// The summary, in so many bytes: pinned texts, what a model has written, the record of what is not shown in these drafts; and how things stand
    /// and what comes next.
    pub(super) fn summarise(&mut self, drafts: &[Draft], bytes: usize) -> Summary {
        let (_, sentences) = self.texts();
        let mut head = String::new();
        let all = bytes.saturating_sub(labels::SUMMARY.len() + labels::STANDS.len());
        head.push_str(&state::pinned(&sentences, all / 4));
        head.push_str(&self.pinned_texts(all / 4));
        let mut beside = self.noted(all.saturating_sub(head.len()) / 2);
        head.push_str(&beside);
        if let Some(written) = self.options.written {
            let end = written.floor_char_boundary(all.saturating_sub(head.len()));
            head.push_str(written[..end].trim_end());
            head.push('\n');
            beside.push_str(written);
        }
        let beside = self.history.ranking().words.known_in(&beside);
        let stands = state::list_bytes(self.history.facts()).min(all / 4) + (all / STATE).min(STATE_BYTES);
        let state = state::tell(
            self.history.ranking(),
            self.history.facts(),
            stands.min(all.saturating_sub(head.len() + labels::STATE.len())),
        );
        let mut behind = headed(labels::STATE, &state);
        let left = all.saturating_sub(head.len() + behind.len() + labels::NEXT.len());
        let next = state::next(self.history.messages(), (all / NEXT).min(left));
        behind.push_str(&headed(labels::NEXT, &next));
        let kept_from = self.kept_from(drafts);
        let room = all.saturating_sub(head.len() + labels::RECORD.len() + kept_from.len() + behind.len());
        let (told, taken) = self.record(drafts, beside, room).tell(room);
        if !told.is_empty() {
            head.push_str(labels::RECORD);
            head.push_str(&told);
            head.push_str(&kept_from);
        }
        Summary {
            head: headed(labels::SUMMARY, head.trim_end()),
            behind: headed(labels::STANDS, behind.trim_end()),
            taken,
        }
    }

    /// The line that says from which turn on every message stands below the record; nothing where none does.
    fn kept_from(&self, drafts: &[Draft]) -> String {
        let all = self.history.messages().len();
        let behind = drafts.iter().rev().zip((0..all).rev());
        let Some((first, _)) = behind.take_while(|(draft, at)| draft.source == *at).last() else {
            return String::new();
        };
        let blocks = &self.history.ranking().blocks;
        let at = blocks.partition_point(|block| (block.message as usize) < first.source);
        let turn = blocks.get(at).or(blocks.last()).map_or(0, |block| block.turn);
        format!("{}{turn}{}", labels::ON, labels::BELOW)
    }

    /// The record, of about so many bytes, of what these drafts do not show.
    fn record(&self, drafts: &[Draft], beside: Vec<u32>, bytes: usize) -> Record<'_> {
        let index = self.history.ranking();
        let is_note = |(block, number): (&Block, u32)| {
            let call = &index.blocks[block.call.unwrap_or(number) as usize];
            let part = &self.history.messages()[call.message as usize].parts[call.part as usize];
            matches!(part, Part::ToolCall(call) if call.action.kind == ActionKind::Note)
        };
        // What the notes say, they say by themselves.
        let mut open: Vec<bool> = index.blocks.iter().zip(0..).map(|block| !is_note(block)).collect();
        let mut shown = Vec::new();
        for draft in drafts {
            for number in index.blocks_of(draft.source as u32) {
                let block = &index.blocks[number];
                let Ok(at) = draft.parts.binary_search(&block.part) else {
                    continue;
                };
                let part = &draft.message.parts[at];
                if fate::is_whole(part) {
                    open[number] = false;
                    shown.extend(block.segments.clone());
                    continue;
                }
                let mut left = HashSet::new();
                draft::visit_texts(part, &mut |text| {
                    left.extend(text.lines().map(|line| hash::bytes(line.trim().as_bytes())))
                });
                shown.extend(index.segments_in_lines(number as u32, |line| {
                    left.contains(&hash::bytes(line.trim().as_bytes()))
                }));
            }
        }
        let handles = index
            .blocks
            .iter()
            .zip(0..)
            .filter(|(block, number)| block.speaker == Speaker::Tool && open[*number as usize]);
        let handles: QuickMap<u32, Handle> = handles
            .filter_map(|(block, number)| Some((number, self.archive.handle_of(&block.text)?.clone())))
            .collect();
        let outputs = handles.keys().filter_map(|&number| {
            let block = &index.blocks[number as usize];
            let is_gone = !block.kind.is_read_again() && block.segments.len() >= HIDDEN;
            Some((block.call.filter(|_| is_gone)?, number))
        });
        Record {
            history: self.history,
            weights: self.options.weights.unwrap_or(Weights::built_in()),
            shown,
            beside,
            focus: self.options.focus.and_then(Focus::of),
            outputs: outputs.collect(),
            handles,
            title: (bytes / TITLE).clamp(TITLE_BYTES.0, TITLE_BYTES.1),
            marks: self.marks(),
            known: Known::of(index),
            open,
        }
    }

    /// By turn of the record: what was finished in it.
    fn marks(&self) -> QuickMap<u32, String> {
        let index = self.history.ranking();
        let mark = |anchor: &Anchor| {
            let first = index
                .blocks
                .partition_point(|block| (block.message as usize) < anchor.range.start);
            let turn = index.blocks.get(first)?.turn;
            Some((turn, format!(" · {}", anchor.kind.name())))
        };
        self.anchors.iter().filter_map(mark).collect()
    }

    /// What the summary and what ends the view are given where prompts have to fold: the list and the pins, and a share of a
    /// budget that is large enough to have one. In a smaller one there is no summary.
    pub(super) fn told_beside_prompts(&self, drafts: &[Draft], budget: Tokens) -> Tokens {
        let summary = room::share(budget, SUMMARY_SHARE);
        let least = tokens::estimate_bytes(LEAST) / 2;
        let told = self
            .listed()
            .min(budget / 4)
            .max(if summary >= least { summary } else { 0 });
        match told {
            0 => room::ending(drafts),
            _ => told + room::overhead(drafts, &self.options.ending()),
        }
    }

    /// What the summary takes at least beside its record: the open list and the pinned texts, as far as
    /// they have room of their own in it.
    pub(super) fn listed(&self) -> Tokens {
        let list = state::list_bytes(self.history.facts());
        let texts: usize = self.options.texts.iter().map(|text| text.len() + HEADER).sum();
        tokens::estimate_bytes((4 * list + texts).max(2 * texts) + self.notes_bytes())
    }

    /// The least that the summary has of a budget, before what is kept gives way: more where there are notes to tell.
    pub(super) fn least_summary(&self, budget: Tokens) -> Tokens {
        let notes = tokens::estimate_bytes(self.notes_bytes());
        room::share(budget, SUMMARY_SHARE).max(notes.min(budget / 4))
    }

    /// What the summary has to have for its notes: they get half of it at most.
    fn notes_bytes(&self) -> usize {
        let notes = self.history.facts().notes.standing(self.options.dropped);
        notes.iter().map(|note| 2 * (note.line().len() + 1)).sum()
    }

    /// What the model wrote down, in at most so many bytes: the newest, and how many older ones there are, under a handle.
    fn noted(&mut self, bytes: usize) -> String {
        let notes = self.history.facts().notes.standing(self.options.dropped);
        let lines = notes
            .iter()
            .filter_map(|note| Some(quoting::quotable(&note.line())?.into_owned() + "\n"));
        let lines: Vec<String> = lines.collect();
        let mut room = bytes.saturating_sub(labels::NOTES.len() + OLDER);
        let has_room = |line: &&String| room.checked_sub(line.len()).map(|left| room = left).is_some();
        let older = lines.len() - lines.iter().rev().take_while(has_room).count();
        let mut told = lines[older..].concat();
        if older > 0 && bytes > labels::NOTES.len() + OLDER {
            let handle = self
                .archive
                .keep(&Body::from(lines[..older].concat()), "notes", draft::REASON);
            told.insert_str(0, &format!("… {older} older [{handle}]\n"));
        }
        headed(labels::NOTES, &told)
    }

    /// The pinned texts: those that are shown as they stand, and those that are a sentence, a line each.
    fn texts(&self) -> (Vec<&'a str>, Vec<&'a str>) {
        let is_long = |text: &&str| text.len() > SENTENCE || text.trim_end().contains('\n');
        self.options.texts.iter().copied().partition(is_long)
    }

    /// The long ones of the pinned texts in at most `bytes`: whole, or without the middle, under the handle of the whole.
    fn pinned_texts(&mut self, bytes: usize) -> String {
        let (long, _) = self.texts();
        let mut text = String::new();
        for (number, note) in long.iter().enumerate() {
            let handle = self.archive.keep(&Body::from(*note), "pin", draft::REASON);
            let header = format!("[pinned {handle}]\n");
            let lines: Vec<_> = note.lines().filter_map(quoting::quotable).collect();
            // Each line may get a space in front, and the mark in the middle is one more.
            let frame = header.len() + lines.len() + GAP.len() + 2;
            let room = (bytes.saturating_sub(text.len()) / (long.len() - number)).saturating_sub(frame);
            let shown = lines.join("\n");
            let (head, tail) = match shown.len() <= room {
                true => (shown.as_str(), ""),
                false => cut::ends(&shown, room / 2, room / 2).unwrap_or_default(),
            };
            if head.is_empty() && tail.is_empty() {
                continue;
            }
            text.push_str(&header);
            head.lines().for_each(|line| push_line(&mut text, line));
            if head.len() < shown.len() {
                text.push_str(GAP);
            }
            tail.lines().for_each(|line| push_line(&mut text, line));
        }
        text
    }
}

/// The mark where something is left out, with its line break.
const GAP: &str = "…\n";

/// Lines under their heading, or nothing.
fn headed(heading: &str, lines: &str) -> String {
    match lines.is_empty() {
        true => String::new(),
        false => format!("{heading}{lines}"),
    }
}

/// A quoted line, told from the engine's own.
fn push_line(text: &mut String, line: &str) {
    if quoting::poses(line) {
        text.push(' ');
    }
    text.push_str(line);
    text.push('\n');
}
