//! The content of the summary: the pinned texts, the model's summary if there is one, the record, the current state and
//! the next steps; and the room for each of them.

use super::{Work, fate, room};
use crate::compact::draft::{self, Draft};
use crate::evidence::anchor::Anchor;
use crate::message::files;
use crate::message::recall::Handle;
use crate::message::refusal;
use crate::message::tokens::{self, Tokens};
use crate::message::{ActionKind, Part, Role, ToolCall, cut};
use crate::ranking::labels;
use crate::ranking::quoting;
use crate::ranking::{Block, CallKind, Focus, Speaker, Weights, choose, named_file};
use crate::summary::record::{HIDDEN, Record};
use crate::summary::state;
use crate::text::body::Body;
use crate::text::hash::QuickMap;
use std::ops::Range;

/// Half this many bytes are too few for a summary next to folded prompts.
const LEAST: usize = 480;
/// Without a budget, the summary gets this share of the summarised content, and at most this many bytes.
const SHARE: f64 = 0.1;
const BYTES: usize = 24_000;
/// The current state gets the summary's size divided by `STATE`, and at most `STATE_BYTES`, besides the to-do list.
const STATE: usize = 12;
const STATE_BYTES: usize = 3_000;
/// What earlier compactions told of the state gets the summary's size divided by this.
const EARLIER: usize = 6;
/// The next steps get the summary's size divided by this.
const NEXT: usize = 48;
/// The most lines that report failure which each cut output of the last step shows in any case, and the share of the
/// record's room that they take at most.
const FLAGGED: usize = 6;
const FLAGGED_SHARE: usize = 16;
/// A folder with fewer bytes is not abbreviated.
const FOLDER: usize = 12;
/// The user's comments on refused calls take at most one part of the record in this many.
const COMMENTS_SHARE: usize = 8;
/// The texts of files that the newest prompt names, in its first `ASKED` bytes, take at most one part of the record in
/// this many.
const ASKED_SHARE: usize = 8;
const ASKED: usize = 16_000;
/// A pinned text with more bytes, or with several lines, is shown as a block instead of a line.
const SENTENCE: usize = 300;
/// The bytes reserved for the line that counts notes without room.
const OLDER: usize = 40;
/// The approximate bytes around a pinned text.
const HEADER: usize = 40;

/// The parts of a summary.
pub(super) struct Summary {
    /// The texts before the kept steps, each with the message before which it stands; none if there is nothing to
    /// summarise.
    pub head: Vec<(usize, String)>,
    /// The text after them; possibly empty.
    pub behind: String,
    /// By block that is kept, but cut: lines of what is left out there.
    pub excerpts: Vec<(u32, String)>,
    /// The quoted segments.
    pub taken: Vec<u32>,
}

impl<'a> Work<'a> {
    /// The maximum bytes of the summary of everything before `start`, next to the kept content.
    pub(super) fn summary_bytes(&self, start: usize, drafts: &[Draft], budget: Option<Tokens>) -> usize {
        match budget {
            Some(budget) => {
                let used = room::whole(drafts) + room::overhead(drafts, &self.ending);
                tokens::bytes_in(budget.saturating_sub(used))
            }
            None => {
                let rest: Tokens = self.history.estimates()[..start].iter().sum();
                let bytes = (tokens::bytes_in(rest) as f64 * SHARE) as usize;
                bytes.min(BYTES)
            }
        }
    }

    /// Builds the summary within this many bytes: pinned texts, the model's summary, the record of everything not in
    /// the drafts, the current state and the next steps. The steps from `start` on are kept.
    pub(super) fn summarise(&mut self, start: usize, drafts: &[Draft], bytes: usize) -> Summary {
        let (blocks, sentences) = self.texts(drafts);
        let (index, facts) = (self.history.ranking(), self.history.facts());
        let mut head = String::new();
        let all = bytes.saturating_sub(labels::SUMMARY.len() + labels::STANDS.len());
        head.push_str(&state::pinned(&sentences, all / 4));
        head.push_str(&self.pinned_texts(&blocks, all / 4));
        let mut left = (all / 4).saturating_sub(head.len());
        let has_room = |line: &&str| left.checked_sub(line.len()).map(|less| left = less).is_some();
        head.extend(index.earlier.preface.split_inclusive('\n').take_while(has_room));
        let mut beside = self.noted(all.saturating_sub(head.len()) / 2);
        head.push_str(&beside);
        if let Some(written) = self.options.written {
            let most = all.saturating_sub(head.len());
            let mut text = String::new();
            for line in written.lines().map(|line| quoting::quotable(line.trim_end())) {
                push_line(&mut text, &line.unwrap_or_default());
            }
            head.push_str(text[..text.floor_char_boundary(most)].trim_end());
            head.push('\n');
            beside.push_str(written);
        }
        let beside = index.words.known_in(&beside);
        let stands = state::list_bytes(facts).min(all / 4) + (all / STATE).min(STATE_BYTES);
        let left = all.saturating_sub(head.len() + labels::STATE.len());
        let mut state = state::tell(index, facts, stands.min(left));
        let left = left - state.len();
        state.push_str(&state::earlier(index, facts, &state, left.min(all / EARLIER)));
        let mut behind = headed(labels::STATE, &state);
        let left = all.saturating_sub(head.len() + behind.len() + labels::NEXT.len());
        let next = state::next(self.history.messages(), (all / NEXT).min(left));
        behind.push_str(&headed(labels::NEXT, &next));
        let heading = match self.reads_back() {
            true => labels::RECORD_WITH_HANDLES,
            false => labels::RECORD,
        };
        let folder = self.folder();
        let folder_line = match folder {
            "" => String::new(),
            folder => format!("{}{folder}\n", labels::FOLDER),
        };
        let room = all.saturating_sub(head.len() + heading.len() + folder_line.len() + behind.len());
        let quoted = self.record(drafts, beside, folder, room).tell(room);
        let is_abbreviated = quoted.record.iter().any(|passage| passage.text.contains("…/"));
        let mut passages = quoted.record.into_iter();
        // A summary is read back where it stands before the first reply; only a passage stands below its own prompt.
        let (mut before, reply) = (start, first_reply(drafts));
        if let Some(first) = passages.as_slice().first() {
            head.push_str(heading);
            if is_abbreviated {
                head.push_str(&folder_line);
            }
            before = first.message as usize + 1;
            if before <= reply || !first.is_below_prompt {
                head.push_str(&first.text);
                passages.next();
            }
        }
        let first = [(before.min(reply), headed(labels::SUMMARY, head.trim_end()))];
        let more = passages.map(|passage| (passage.message as usize + 1, passage.text.trim_end().to_owned()));
        Summary {
            head: first
                .into_iter()
                .chain(more)
                .filter(|(_, text)| !text.is_empty())
                .collect(),
            behind: headed(labels::STANDS, behind.trim_end()),
            excerpts: quoted.excerpts,
            taken: quoted.taken,
        }
    }

    /// Returns whether the model can read back removed content; otherwise its handles would be riddles in a record.
    fn reads_back(&self) -> bool {
        self.options.reading_back.is_none_or(|words| !words.is_empty())
    }

    /// The folder that the record abbreviates in paths: that of an earlier record, if it has one, or else the common
    /// one of the files that calls name.
    fn folder(&self) -> &'a str {
        let history = self.history;
        let earlier = &history.ranking().earlier.folder;
        if !earlier.is_empty() {
            return earlier;
        }
        let calls = history.messages().iter().flat_map(|message| message.calls());
        let paths = calls.flat_map(|call| &call.action.paths).map(|path| &**path);
        match files::common_folder(paths) {
            folder if folder.len() < FOLDER || quoting::quotable(folder).is_none_or(|shown| shown != folder) => "",
            folder => folder,
        }
    }

    /// The record, of about `bytes`, of everything that the drafts do not show.
    fn record(&self, drafts: &[Draft], beside: Vec<u32>, folder: &'a str, bytes: usize) -> Record<'_> {
        let index = self.history.ranking();
        let is_note = |(block, number): (&Block, u32)| {
            let call = &index.blocks[block.call.unwrap_or(number) as usize];
            let is_note = || self.call(call).is_some_and(|call| call.action.kind == ActionKind::Note);
            call.kind == CallKind::Todo && is_note()
        };
        // Notes are listed separately.
        let mut open: Vec<bool> = index.blocks.iter().zip(0..).map(|block| !is_note(block)).collect();
        let mut kept = vec![false; open.len()];
        let mut shown = Vec::new();
        // What failed in the last step is what the next one is about.
        let (mut required, mut room) = (Vec::new(), bytes / FLAGGED_SHARE);
        for draft in drafts {
            for number in index.blocks_of(draft.source as u32) {
                let block = &index.blocks[number];
                let Ok(at) = draft.parts.binary_search(&block.part) else {
                    continue;
                };
                let part = &draft.message.parts[at];
                let source = &self.history.messages()[draft.source].parts[block.part as usize];
                if fate::is_whole(part) {
                    open[number] = false;
                    shown.extend(block.segments.clone());
                    continue;
                }
                match (part, draft::cut_body(part, source)) {
                    (_, Some(left)) => {
                        kept[number] = true;
                        let ends = index.segments_outside(number as u32, hidden(&block.text, &left));
                        let ends: Vec<u32> = ends.collect();
                        if draft.is_last && block.speaker == Speaker::Tool && !block.kind.is_read_again() {
                            let mut flagged = index.flagged(number as u32, FLAGGED);
                            flagged.retain(|segment| {
                                let bytes = index.bytes_of(*segment);
                                let is_new = !ends.contains(segment) && bytes <= room;
                                room -= if is_new { bytes } else { 0 };
                                is_new
                            });
                            let places = flagged.iter().flat_map(|&line| index.companions(number as u32, line));
                            required.extend(places.filter(|line| !ends.contains(line) && index.bytes_of(*line) > 0));
                            required.extend(flagged);
                        }
                        shown.extend(ends);
                    }
                    (Part::Text(text), _) => {
                        shown.extend(index.segments_outside(number as u32, hidden(&block.text, &text.body)));
                    }
                    // What is left out of a call below is not quoted above it: it would be taken for earlier.
                    _ => open[number] = false,
                }
            }
        }
        // What the user answered to a call that was refused. It is quoted as what it is, an output: a program can print
        // the same.
        let mut room = bytes / COMMENTS_SHARE;
        for (number, block) in index.blocks.iter().enumerate().rev() {
            let is_told = block.speaker == Speaker::Tool && open[number] && !kept[number];
            let comment = is_told.then(|| refusal::comment_at(block.text.as_str()));
            let Some(at) = comment.flatten() else { continue };
            let lines = index.segments_outside(number as u32, 0..at);
            let lines: Vec<u32> = lines.filter(|line| index.bytes_of(*line) > 0).collect();
            let bytes: usize = lines.iter().map(|line| index.bytes_of(*line)).sum();
            if bytes <= room {
                room -= bytes;
                required.extend(lines);
            }
        }
        required.sort_unstable();
        required.dedup();
        shown.extend(&required);
        shown.sort_unstable();
        let weights = self.options.weights.unwrap_or(Weights::built_in());
        let asked_for = self.files_asked_for(&open);
        if asked_for.contains(&true) {
            let best = choose(index, weights, &asked_for, &shown, bytes / ASKED_SHARE);
            shown.extend(&best);
            shown.sort_unstable();
            required.extend(best);
            required.sort_unstable();
        }
        let handles = index
            .blocks
            .iter()
            .zip(0..)
            .filter(|(block, number)| block.speaker == Speaker::Tool && open[*number as usize])
            .filter(|_| self.reads_back());
        let handles: QuickMap<u32, Handle> = handles
            .filter_map(|(block, number)| Some((number, self.handle_of(block)?.clone())))
            .collect();
        let outputs = index.blocks.iter().zip(0..).filter_map(|(block, number)| {
            handles.get(&number)?;
            let is_gone = !block.kind.is_read_again() && block.segments.len() >= HIDDEN;
            Some((block.call.filter(|_| is_gone)?, number))
        });
        let stands = |number: u32| {
            let block = &index.blocks[number as usize];
            let draft = drafts.binary_search_by_key(&(block.message as usize), |draft| draft.source);
            draft.is_ok_and(|at| drafts[at].parts.contains(&block.part))
        };
        let asked = index.asked.iter().filter(|(_, number)| stands(**number));
        Record {
            history: self.history,
            asked: asked.map(|(&turn, _)| turn).collect(),
            weights,
            shown,
            required,
            beside,
            focus: self.options.focus.and_then(Focus::of),
            outputs: outputs.collect(),
            handles,
            marks: self.marks(),
            folder,
            open,
            kept,
        }
    }

    /// The handle of an output: that of its longest text in the archive.
    fn handle_of(&self, block: &Block) -> Option<&Handle> {
        let message = &self.history.messages()[block.message as usize];
        let Some(Part::ToolResult(result)) = message.parts.get(block.part as usize) else {
            return self.archive.handle_of(&block.text);
        };
        let texts = result.texts().map(|text| &text.body).chain(&result.error);
        let kept = texts.filter_map(|body| Some((body.len(), self.archive.handle_of(body)?)));
        kept.max_by_key(|(length, _)| *length).map(|(_, handle)| handle)
    }

    /// By block: true for the text of a file that the newest prompt names, which may be the task itself.
    fn files_asked_for(&self, open: &[bool]) -> Vec<bool> {
        let blocks = &self.history.ranking().blocks;
        let newest = blocks.iter().rfind(|block| block.speaker == Speaker::User);
        let asked = newest.map_or("", |block| block.text.as_str());
        let asked = &asked[..asked.floor_char_boundary(ASKED)];
        let is_asked_for = |(block, open): (&Block, &bool)| {
            let call = block.call.and_then(|call| self.call(&blocks[call as usize]));
            let read =
                call.filter(|call| *open && block.speaker == Speaker::Tool && call.action.kind == ActionKind::Read);
            let mut paths = read.into_iter().flat_map(|call| &call.action.paths);
            paths.any(|path| asked.contains(&**path) && named_file(path).is_some())
        };
        blocks.iter().zip(open).map(is_asked_for).collect()
    }

    /// The tool call that a block is the text of.
    fn call(&self, block: &Block) -> Option<&'a ToolCall> {
        match &self.history.messages()[block.message as usize].parts[block.part as usize] {
            Part::ToolCall(call) => Some(call),
            _ => None,
        }
    }

    /// The achievements of each turn in the record.
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

    /// The tokens of the summary and the ending if prompts must be folded: the to-do list and the pins, and the usual
    /// share of a budget if that is large enough for a summary.
    pub(super) fn told_beside_prompts(&self, drafts: &[Draft], budget: Tokens) -> Tokens {
        let summary = room::share(budget, room::SUMMARY_SHARE);
        let least = tokens::estimate_bytes(LEAST) / 2;
        let told = self
            .listed()
            .min(budget / 4)
            .max(if summary >= least { summary } else { 0 });
        match told {
            0 => room::ending(drafts),
            _ => told + room::overhead(drafts, &self.ending),
        }
    }

    /// The minimum tokens of the summary besides its record: the to-do list and the pinned texts, as far as they have
    /// reserved room.
    pub(super) fn listed(&self) -> Tokens {
        let list = state::list_bytes(self.history.facts());
        let texts: usize = self.options.texts.iter().map(|text| text.len() + HEADER).sum();
        tokens::estimate_bytes((4 * list + texts).max(2 * texts) + self.notes_bytes())
    }

    /// The minimum tokens of the summary before kept content gives way: more if there are notes.
    pub(super) fn least_summary(&self, budget: Tokens) -> Tokens {
        let notes = tokens::estimate_bytes(self.notes_bytes());
        room::share(budget, room::SUMMARY_SHARE).max(notes.min(budget / 4))
    }

    /// The bytes that a summary needs for its notes, which get at most half of it.
    fn notes_bytes(&self) -> usize {
        let notes = self.history.facts().notes.standing(self.options.dropped);
        notes.iter().map(|note| 2 * (note.line().len() + 1)).sum()
    }

    /// The model's notes in at most this many bytes: the newest ones, and the number of older ones with a handle.
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
            let place = if self.reads_back() {
                format!(" [{handle}]")
            } else {
                String::new()
            };
            told.insert_str(0, &format!("… {older} older{place}\n"));
        }
        headed(labels::NOTES, &told)
    }

    /// Splits the pinned texts into those shown as blocks and those shown as one line each. A block that a kept message
    /// shows whole, since it was sent with a prompt, is in neither.
    fn texts(&self, drafts: &[Draft]) -> (Vec<&'a str>, Vec<&'a str>) {
        let is_long = |text: &&str| text.len() > SENTENCE || text.trim_end().contains('\n');
        let (mut blocks, sentences): (Vec<_>, Vec<_>) = self.options.texts.iter().copied().partition(is_long);
        let prompts = drafts.iter().filter(|draft| draft.message.role == Role::User);
        for part in prompts.flat_map(|draft| &draft.message.parts) {
            blocks.retain(|block| !matches!(part, Part::Text(text) if text.body.as_str().contains(block)));
        }
        (blocks, sentences)
    }

    /// The long pinned texts in at most `bytes`: whole, or without the middle, with the handle of the whole.
    fn pinned_texts(&mut self, long: &[&str], bytes: usize) -> String {
        let mut text = String::new();
        for (number, note) in long.iter().enumerate() {
            let handle = self.archive.keep(&Body::from(*note), "pin", draft::REASON);
            let header = format!("{}{handle}]\n", labels::PINNED_TEXT);
            let lines: Vec<_> = note.lines().filter_map(quoting::quotable).collect();
            // Each line may get a leading space, and the gap in the middle adds one more.
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

/// The message of the first reply in a view.
pub(super) fn first_reply(drafts: &[Draft]) -> usize {
    let reply = drafts.iter().find(|draft| draft.message.role == Role::Assistant);
    reply.map_or(usize::MAX, |draft| draft.source)
}

/// The range of a text that its cut form leaves out: what is between the beginning and the end that both have.
fn hidden(whole: &Body, cut: &Body) -> Range<usize> {
    let (whole, cut) = (whole.as_str().as_bytes(), cut.as_str().as_bytes());
    let start = whole.iter().zip(cut).take_while(|(a, b)| a == b).count();
    let end = whole[start..]
        .iter()
        .rev()
        .zip(cut.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    start..whole.len() - end
}

/// The mark for omitted text, with its line break.
const GAP: &str = "…\n";

/// Lines under their heading; empty if there are none.
fn headed(heading: &str, lines: &str) -> String {
    match lines.is_empty() {
        true => String::new(),
        false => format!("{heading}{lines}"),
    }
}

/// Appends a quoted line, made distinguishable from the engine's own.
fn push_line(text: &mut String, line: &str) {
    if quoting::poses(line) {
        text.push(' ');
    }
    text.push_str(line);
    text.push('\n');
}
