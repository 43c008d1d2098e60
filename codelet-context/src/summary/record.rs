//! The record: what of the older part is worth most, quoted in its order, for somebody who goes on.
//!
//! Turn by turn: what was said, what was called, and under each call what came of it. `…` stands where something is left out. A
//! line that begins like one of the record's own gets a space in front.

use crate::history::History;
use crate::message::cut;
use crate::message::recall::Handle;
use crate::message::{Part, Words};
use crate::ranking::labels;
use crate::ranking::quoting;
use crate::ranking::{Block, Focus, Opened, Packing, RankingIndex, Speaker, Task, Weights};
use crate::text::hash::QuickMap;
use codelet_text::short;
use std::cell::OnceCell;
use std::fmt::Write;

/// Bytes of a call in the line above what came of it.
const CALL: usize = 90;
/// An output of which so many segments are left out is named by its handle.
pub(crate) const HIDDEN: usize = 4;
/// Room of which no more than one part in so many is left is full, and it is filled up so many times at most.
const SPARE: usize = 50;
const REFILLS: usize = 3;
/// The mark where something is left out.
const GAP: &str = "…";

/// What the record is made of.
pub(crate) struct Record<'a> {
    pub history: &'a History,
    pub weights: &'a Weights,
    /// By block: whether it may be quoted.
    pub open: Vec<bool>,
    /// Segments that are shown elsewhere, ascending.
    pub shown: Vec<u32>,
    /// Words of a text that stands beside the record.
    pub beside: Vec<u32>,
    /// What the user wants to read of.
    pub focus: Option<Focus>,
    /// By block: the handle of an output that is not shown, and by call the block of such an output that nothing but its handle
    /// brings back.
    pub handles: QuickMap<u32, Handle>,
    pub outputs: QuickMap<u32, u32>,
    /// Bytes of the prompt in the line above its turn.
    pub title: usize,
    /// By turn: what the engine says of it beside its number.
    pub marks: QuickMap<u32, String>,
    /// What was worked out so far.
    pub known: Known,
}

/// Lines that are asked for again and again, once they were.
pub(crate) struct Known {
    /// By turn: the line above it.
    turns: Vec<OnceCell<String>>,
    /// By block: the bytes of a call in a line of its own.
    calls: Vec<OnceCell<u32>>,
}

impl Known {
    pub fn of(index: &RankingIndex) -> Self {
        let turns = index.blocks.last().map_or(0, |block| block.turn as usize + 1);
        Known {
            turns: vec![OnceCell::new(); turns],
            calls: vec![OnceCell::new(); index.blocks.len()],
        }
    }
}

impl Record<'_> {
    fn index(&self) -> &RankingIndex {
        self.history.ranking()
    }

    /// The record in at most so many bytes, and the segments that it quotes.
    pub fn tell(&self, bytes: usize) -> (String, Vec<u32>) {
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
        packing.fill(bytes);
        let mut text = self.render(&packing.taken());
        // What frames the segments is counted as it is as a rule: what is left of the room is filled, and what is over is given up.
        for _ in 0..REFILLS {
            let spare = bytes.saturating_sub(text.len());
            if spare < bytes / SPARE || !packing.fill(spare) {
                break;
            }
            text = self.render(&packing.taken());
        }
        while text.len() > bytes && packing.give_up(text.len() - bytes) {
            text = self.render(&packing.taken());
        }
        (text, packing.taken())
    }

    /// Bytes of what has to be written above the first segment of a block.
    fn frame(&self, number: u32, opened: &Opened) -> usize {
        let block = &self.index().blocks[number as usize];
        let turn = match opened.turns[block.turn as usize] {
            true => 0,
            false => self.turn(block.turn).len(),
        };
        turn + match (block.speaker, block.call) {
            (Speaker::Tool, Some(call)) if !opened.blocks[call as usize] => {
                self.call_bytes(call) + self.handle(number).len() + 3
            }
            (Speaker::Tool, _) => 3 + self.handle(number).len(),
            (Speaker::Call, _) => self.name(number).len() + self.output(number).len() + 3,
            (speaker, _) => prefix(speaker).len(),
        }
    }

    /// The line above a turn: its number, what was finished in it, and how its prompt begins.
    fn turn(&self, turn: u32) -> &str {
        self.known.turns[turn as usize].get_or_init(|| {
            let mark = self.marks.get(&turn).map_or("", String::as_str);
            let asked = self.index().asked.get(&turn).map(|&asked| self.beginning(asked));
            match asked.filter(|asked| !asked.is_empty()) {
                Some(asked) => format!("{}{turn}{mark}:{asked}\n", labels::TURN),
                None => format!("{}{turn}{mark}\n", labels::TURN),
            }
        })
    }

    /// The first words of a block, behind a blank.
    fn beginning(&self, number: u32) -> String {
        let mut words = String::new();
        for segment in self.index().blocks[number as usize].segments.clone() {
            if words.len() >= self.title {
                break;
            }
            let quoted = self.index().quoted(number, segment);
            // What a harness has put between tags is no prompt.
            if !quoted.starts_with('<') {
                words.push(' ');
                words.push_str(&quoted);
            }
        }
        short::clip_bytes(&words, self.title).into_owned()
    }

    /// The bytes of a call in a line of its own.
    fn call_bytes(&self, number: u32) -> usize {
        *self.known.calls[number as usize].get_or_init(|| self.call(number).len() as u32) as usize
    }

    fn handle(&self, number: u32) -> String {
        self.handles
            .get(&number)
            .map_or_else(String::new, |handle| format!(" [{handle}]"))
    }

    /// The handle of what a call printed that is not quoted.
    fn output(&self, call: u32) -> String {
        self.outputs
            .get(&call)
            .map_or_else(String::new, |&output| self.handle(output))
    }

    /// The name of the tool that is called, as its agent writes it.
    fn name(&self, number: u32) -> &str {
        let block = &self.index().blocks[number as usize];
        match &self.history.messages()[block.message as usize].parts[block.part as usize] {
            Part::ToolCall(call) => &call.tool,
            Part::Opaque(opaque) => match &opaque.words {
                Some(Words::Call { tool, .. }) => tool,
                _ => "",
            },
            _ => "",
        }
    }

    fn tool(&self, number: u32) -> String {
        cut::plain_name(self.name(number))
    }

    /// A call on one line.
    fn call(&self, number: u32) -> String {
        let block = &self.index().blocks[number as usize];
        // None of a parameter without a letter.
        let first = block.segments.clone().next();
        let mut words = first.map_or_else(String::new, |first| self.index().quoted(number, first).into_owned());
        if words.len() > CALL {
            words.replace_range(words.floor_char_boundary(CALL - GAP.len()).., GAP);
        }
        format!("{}{} {words}", labels::CALL, self.tool(number))
            .trim_end()
            .to_owned()
    }

    /// The segments, which ascend, as text.
    fn render(&self, taken: &[u32]) -> String {
        let index = self.index();
        let mut blocks: Vec<(u32, u32, &[u32])> = Vec::new();
        let mut rest = taken;
        while let [first, ..] = *rest {
            let number = index.block_of(first);
            let block = &index.blocks[number as usize];
            let (here, behind) = rest.split_at(rest.partition_point(|&segment| segment < block.segments.end));
            rest = behind;
            blocks.push((block.call.unwrap_or(number), number, here));
        }
        // What came of a call stands under it, wherever its answer stood.
        blocks.sort_by_key(|&(unit, number, _)| (unit, number));
        let mut out = String::new();
        let (mut turn, mut called) = (None, None);
        for (at, &(unit, number, segments)) in blocks.iter().enumerate() {
            let block = &index.blocks[number as usize];
            let its_turn = index.blocks[unit as usize].turn;
            if turn.replace(its_turn) != Some(its_turn) {
                out.push_str(self.turn(its_turn));
            }
            self.head(&mut out, number, segments, &mut called);
            self.quote(&mut out, number, block, segments);
            // Where something of it is quoted, its handle stands above that.
            if block.speaker == Speaker::Call && blocks.get(at + 1).is_none_or(|next| next.0 != unit) {
                out.pop();
                out.push_str(&self.output(number));
                out.push('\n');
            }
        }
        out
    }

    /// What stands above the quoted segments of a block.
    fn head(&self, out: &mut String, number: u32, segments: &[u32], called: &mut Option<u32>) {
        let block = &self.index().blocks[number as usize];
        match (block.speaker, block.call) {
            (Speaker::Tool, call) => {
                if let Some(call) = call.filter(|call| called.replace(*call) != Some(*call)) {
                    out.push_str(&self.call(call));
                    out.push('\n');
                }
                let hidden = block.segments.len() - segments.len();
                if hidden >= HIDDEN && out.ends_with('\n') {
                    out.pop();
                    out.push_str(&self.handle(number));
                    out.push('\n');
                }
                out.push_str(if block.failed {
                    labels::FAILED_OUTPUT
                } else {
                    labels::OUTPUT
                });
            }
            (Speaker::Call, _) => {
                *called = Some(number);
                if segments.first() == Some(&block.segments.start) {
                    let _ = write!(out, "{}{} ", labels::CALL, self.tool(number));
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
            let text = index.quoted(number, segment);
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
                // A mark before it would not keep a reader from taking it for the record's own.
                if quoting::poses(&text) {
                    out.push(' ');
                }
            } else if begins && quoting::poses(&text) {
                out.push(' ');
            }
            out.push_str(&text);
            out.push('\n');
            expected = segment + 1;
        }
    }
}

/// What stands before words of each speaker.
fn prefix(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::User => labels::USER,
        Speaker::Model => labels::ASSISTANT,
        Speaker::Thinking => labels::THINKING,
        Speaker::Harness => labels::HARNESS,
        Speaker::Record | Speaker::Call | Speaker::Tool => "",
    }
}
