//! The record: the most valuable parts of the older content, quoted in order, for continuing from there.
//!
//! It lists, turn by turn, text and calls, and the results under each call. `…` marks omissions. A line that starts
//! like one of the record's own gets a leading space.

use crate::history::History;
use crate::message::cut;
use crate::message::recall::Handle;
use crate::message::tokens::{self, PART_TOKENS};
use crate::message::{ActionKind, BlockText, Part};
use crate::ranking::excerpt;
use crate::ranking::labels;
use crate::ranking::quoting;
use crate::ranking::{Block, Focus, Opened, Packing, RankingIndex, Speaker, Task, Weights};
use crate::text::hash::QuickMap;
use codelet_text::short;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

/// The maximum bytes of a call in the line above its results, and of a prompt in the line above its turn.
const CALL: usize = 120;
const PROMPT: usize = 60;
/// The minimum number of omitted segments of an output whose handle is given.
pub(crate) const HIDDEN: usize = 4;
/// The maximum times that room which is left is filled again.
const REFILLS: usize = 3;
/// The bytes that a text of its own takes beyond its words.
const PASSAGE: usize = tokens::bytes_in(PART_TOKENS);
/// The omission marker.
const GAP: &str = "…";

/// The input of the record.
pub(crate) struct Record<'a> {
    pub history: &'a History,
    pub weights: &'a Weights,
    /// By block: true if it may be quoted.
    pub open: Vec<bool>,
    /// By block: true for a text or an output that is kept, but cut: its quotes stand in it, and not in the record.
    pub kept: Vec<bool>,
    /// Segments that are shown elsewhere, ascending.
    pub shown: Vec<u32>,
    /// Segments that are quoted in any case, ascending; they are among those that are shown.
    pub required: Vec<u32>,
    /// BlockText of a text beside the record.
    pub beside: Vec<u32>,
    /// The user's focus.
    pub focus: Option<Focus>,
    /// By block: the handle of an output that is not shown; and by call, the block of such an output that only its
    /// handle can restore.
    pub handles: QuickMap<u32, Handle>,
    pub outputs: QuickMap<u32, u32>,
    /// The turns whose prompts stand in the view: each begins a passage, which stands below its prompt.
    pub asked: HashSet<u32>,
    /// The folder that is abbreviated in the paths of calls, with its separator; empty if there is none.
    pub folder: &'a str,
    /// By turn: a remark of the engine after the turn number.
    pub marks: QuickMap<u32, String>,
}

/// A part of the record: that of a turn whose prompt stands in the view, and of the turns behind it whose prompts don't.
pub(crate) struct Passage {
    /// The message behind which it stands: its prompt, or the one from which its first line is quoted.
    pub message: u32,
    pub is_below_prompt: bool,
    pub text: String,
}

/// The quoted segments, as they are written.
pub(crate) struct Quoted {
    /// The record, in order.
    pub record: Vec<Passage>,
    /// By block that is kept, but cut: its quoted lines.
    pub excerpts: Vec<(u32, String)>,
    /// All quoted segments, ascending.
    pub taken: Vec<u32>,
}

impl Quoted {
    /// The bytes of all of it; tokens are rounded up for each passage and excerpt.
    fn bytes(&self) -> usize {
        let excerpts = self.excerpts.iter().map(|(_, lines)| lines.len() + tokens::bytes_in(1));
        let passages = self
            .record
            .iter()
            .map(|passage| passage.text.len() + tokens::bytes_in(1) + PASSAGE);
        passages.chain(excerpts).sum()
    }
}

impl Record<'_> {
    fn index(&self) -> &RankingIndex {
        self.history.ranking()
    }

    /// The record and the excerpts, in at most this many bytes together.
    pub fn tell(&self, bytes: usize) -> Quoted {
        let task = Task {
            index: self.index(),
            weights: self.weights,
            open: &self.open,
            shown: &self.shown,
            beside: &self.beside,
            frame: &|block, opened| self.frame(block, opened),
            focus: self.focus.as_ref(),
        };
        let mut packing = Packing::new(&task);
        packing.fill(bytes.saturating_sub(self.render(self.required.clone()).bytes()));
        let mut quoted = self.render(self.with_required(&packing));
        // Frame sizes are estimates: fill up any room that is left, and drop any excess.
        let mut refills = 0..REFILLS;
        while match bytes.checked_sub(quoted.bytes()) {
            Some(spare) => refills.next().is_some() && packing.fill(spare),
            None => packing.give_up(quoted.bytes() - bytes),
        } {
            quoted = self.render(self.with_required(&packing));
        }
        quoted
    }

    /// The selected segments and the required ones, ascending.
    fn with_required(&self, packing: &Packing<'_>) -> Vec<u32> {
        let mut all = packing.taken();
        all.extend(&self.required);
        all.sort_unstable();
        all
    }

    /// The bytes of the lines required above the first segment of a block.
    fn frame(&self, number: u32, opened: &Opened) -> usize {
        let block = &self.index().blocks[number as usize];
        let turn = match opened.turns[block.turn as usize] {
            true => 0,
            false if self.asked.contains(&block.turn) => self.turn(block.turn).len() + PASSAGE,
            false => self.turn(block.turn).len(),
        };
        let handle = |output: Option<&u32>| {
            let handle = output.and_then(|output| self.handles.get(output));
            handle.map_or(0, |handle| handle.as_str().len() + " []".len())
        };
        turn + match (block.speaker, block.call) {
            (Speaker::Tool, Some(call)) if !opened.blocks[call as usize] => {
                self.call(call).len() + handle(Some(&number)) + 3
            }
            (Speaker::Tool, _) => 3 + handle(Some(&number)),
            (Speaker::Call, _) => self.name(number).len() + handle(self.outputs.get(&number)) + 3,
            (speaker, _) => prefix(speaker).len(),
        }
    }

    /// The line above a turn: its number, the remark, and the start of its prompt unless that stands above.
    fn turn(&self, turn: u32) -> String {
        if let Some(heading) = self.index().earlier.headings.get(&turn)
            && heading.starts_with(labels::MORE) == self.asked.contains(&turn)
        {
            return format!("{heading}\n");
        }
        let mark = self.marks.get(&turn).map_or("", String::as_str);
        if self.asked.contains(&turn) {
            return format!("{}{turn}{mark}:\n", labels::MORE);
        }
        let asked = self.index().asked.get(&turn).map(|&asked| self.beginning(asked));
        match asked.filter(|asked| !asked.is_empty()) {
            Some(asked) => format!("{}{turn}{mark}:{asked}\n", labels::TURN),
            None => format!("{}{turn}{mark}\n", labels::TURN),
        }
    }

    /// The first words of a block, after a space.
    fn beginning(&self, number: u32) -> String {
        let mut words = String::new();
        for segment in self.index().blocks[number as usize].segments.clone() {
            if words.len() >= PROMPT {
                break;
            }
            let quoted = self.index().quoted(number, segment);
            // Text in a harness's tags is no prompt.
            if !quoted.starts_with('<') {
                words.push(' ');
                words.push_str(&quoted);
            }
        }
        short::clip_bytes(&words, PROMPT).into_owned()
    }

    fn handle(&self, number: u32) -> String {
        self.handles
            .get(&number)
            .map_or_else(String::new, |handle| format!(" [{handle}]"))
    }

    /// The handle of a call's output that is not quoted.
    fn output(&self, call: u32) -> String {
        self.outputs
            .get(&call)
            .map_or_else(String::new, |&output| self.handle(output))
    }

    /// The name of the called tool, as the agent spells it.
    fn name(&self, number: u32) -> &str {
        let block = &self.index().blocks[number as usize];
        match &self.history.messages()[block.message as usize].parts[block.part as usize] {
            Part::ToolCall(call) => &call.tool,
            Part::Opaque(opaque) => match &opaque.words {
                Some(BlockText::Call { tool, .. }) => tool,
                _ => "",
            },
            _ => "",
        }
    }

    fn tool(&self, number: u32) -> String {
        cut::plain_name(self.name(number))
    }

    /// The beginning of a call's line.
    fn calling(&self, number: u32) -> String {
        let label = match self.index().blocks[number as usize].call_failed {
            true => labels::FAILED_CALL,
            false => labels::CALL,
        };
        format!("{label}{} ", self.tool(number))
    }

    /// A call on one line.
    fn call(&self, number: u32) -> String {
        let block = &self.index().blocks[number as usize];
        // Empty if no parameter has a letter or a digit.
        let first = block.segments.clone().next();
        let mut words = first.map_or_else(String::new, |first| {
            self.with_short_paths(number, self.index().quoted(number, first))
                .into_owned()
        });
        if words.len() > CALL {
            words.replace_range(words.floor_char_boundary(CALL - GAP.len()).., GAP);
        }
        (self.calling(number) + &words).trim_end().to_owned()
    }

    /// The first words of a call, in which the common folder of its paths is abbreviated. A command line is quoted as it
    /// was run.
    fn with_short_paths<'a>(&self, number: u32, words: Cow<'a, str>) -> Cow<'a, str> {
        let block = &self.index().blocks[number as usize];
        let part = &self.history.messages()[block.message as usize].parts[block.part as usize];
        let folder = self.folder.trim_end_matches(['/', '\\']);
        let Part::ToolCall(call) = part else { return words };
        if folder.is_empty() || call.action.kind == ActionKind::Command {
            return words;
        }
        let values = call.parameters.as_map().values().filter_map(Value::as_str);
        let values = values.chain(call.action.paths.iter().map(|path| &**path));
        values.fold(words, |words, value| match value.strip_prefix(folder) {
            Some(rest) if rest.is_empty() || rest.starts_with(['/', '\\']) => {
                words.replace(value, &format!("{GAP}{rest}")).into()
            }
            _ => words,
        })
    }

    /// Renders the segments, which ascend.
    fn render(&self, taken: Vec<u32>) -> Quoted {
        let index = self.index();
        let mut blocks: Vec<(u32, u32, &[u32])> = Vec::new();
        let mut excerpts = Vec::new();
        for (number, segments) in index.by_block(&taken) {
            if self.kept[number as usize] {
                let is_shown = |segment| self.shown.binary_search(&segment).is_ok();
                excerpts.push((number, excerpt::lines(index, number, segments, is_shown)));
                continue;
            }
            let unit = index.blocks[number as usize].call.unwrap_or(number);
            blocks.push((unit, number, segments));
        }
        // Results are placed under their call, wherever they were.
        blocks.sort_by_key(|&(unit, number, _)| (unit, number));
        let mut record: Vec<Passage> = Vec::new();
        let (mut turn, mut called) = (None, None);
        for (at, &(unit, number, segments)) in blocks.iter().enumerate() {
            let block = &index.blocks[number as usize];
            let its_turn = index.blocks[unit as usize].turn;
            let begins = turn.replace(its_turn) != Some(its_turn);
            if record.is_empty() || begins && self.asked.contains(&its_turn) {
                let prompt = index.asked.get(&its_turn).filter(|_| self.asked.contains(&its_turn));
                record.push(Passage {
                    message: index.blocks[*prompt.unwrap_or(&unit) as usize].message,
                    is_below_prompt: prompt.is_some(),
                    text: String::new(),
                });
            }
            let Some(Passage { text: out, .. }) = record.last_mut() else {
                continue;
            };
            if begins {
                out.push_str(&self.turn(its_turn));
            }
            if block.is_unit {
                out.push_str(block.text.as_str());
                out.push('\n');
                continue;
            }
            self.head(out, number, segments, &mut called);
            self.quote(out, number, block, segments);
            // If some of the output is quoted, its handle is placed above the quotation instead.
            if block.speaker == Speaker::Call && blocks.get(at + 1).is_none_or(|next| next.0 != unit) {
                out.pop();
                out.push_str(&self.output(number));
                out.push('\n');
            }
        }
        Quoted {
            record,
            excerpts,
            taken,
        }
    }

    /// Writes the lines above the quoted segments of a block. `called` is the call that was written last, and whether
    /// its line is still the last one.
    fn head(&self, out: &mut String, number: u32, segments: &[u32], called: &mut Option<(u32, bool)>) {
        let block = &self.index().blocks[number as usize];
        match (block.speaker, block.call) {
            (Speaker::Tool, call) => {
                if let Some(call) = call.filter(|call| called.is_none_or(|(last, _)| last != *call)) {
                    out.push_str(&self.call(call));
                    out.push('\n');
                    *called = Some((call, true));
                }
                let hidden = block.segments.len() - segments.len();
                let handle = self.handle(number);
                if hidden >= HIDDEN && !handle.is_empty() {
                    // Else the line above is about something else.
                    match call.is_some() && called.is_some_and(|(_, is_last)| is_last) {
                        true => drop(out.pop()),
                        false => out.push_str(labels::OUTPUT.trim_end()),
                    }
                    out.push_str(&handle);
                    out.push('\n');
                }
                *called = called.map(|(last, _)| (last, false));
                out.push_str(if block.failed {
                    labels::FAILED_OUTPUT
                } else {
                    labels::OUTPUT
                });
            }
            (Speaker::Call, _) => {
                *called = Some((number, true));
                if segments.first() == Some(&block.segments.start) {
                    out.push_str(&self.calling(number));
                } else {
                    out.push_str(&self.call(number));
                    out.push('\n');
                }
            }
            (speaker, _) => out.push_str(prefix(speaker)),
        }
    }

    /// Quotes segments of a block.
    fn quote(&self, out: &mut String, number: u32, block: &Block, segments: &[u32]) {
        let index = self.index();
        let mut expected = block.segments.start;
        for &segment in segments {
            let mut lines = index.quoted_lines(number, segment).into_iter();
            let mut text = lines.next().unwrap_or_default();
            if block.speaker == Speaker::Call && segment == block.segments.start {
                text = self.with_short_paths(number, text);
            }
            let begins = out.ends_with('\n');
            if segment == expected && index.segments[segment as usize].joined && begins && segment != segments[0] {
                out.pop();
                out.push(' ');
            } else if block.speaker == Speaker::Call && begins {
                out.push_str(labels::WITHIN);
                if segment != expected {
                    out.push_str(GAP);
                }
            } else if segment != expected && block.speaker != Speaker::Call {
                out.push_str(GAP);
                // The omission marker in front would not prevent readers from taking it for a line of the record.
                if quoting::poses(&text) {
                    out.push(' ');
                }
            } else if begins && quoting::poses(&text) {
                out.push(' ');
            }
            out.push_str(&text);
            out.push('\n');
            for line in lines {
                let _ = writeln!(out, "{}{line}", labels::WITHIN);
            }
            expected = segment + 1;
        }
    }
}

/// The label of each speaker's text.
fn prefix(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::User => labels::USER,
        Speaker::Model => labels::ASSISTANT,
        Speaker::Thinking => labels::THINKING,
        Speaker::Harness => labels::HARNESS,
        Speaker::Record | Speaker::Call | Speaker::Tool => "",
    }
}
