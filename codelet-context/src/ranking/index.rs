//! Properties of the blocks and segments of a history that are known as soon as they are appended.

use super::block::{self, Block, Segment, Speaker};
use super::cut::{self, Piece};
use super::earlier::{self, Earlier, Frame};
use super::features;
use super::kind::{self, CallKind};
use super::line;
use super::look::{self, Looks, Signs, bit};
use super::quoting;
use super::weights::{Score, Weights};
use super::word::{COMMON, Words, make_room};
use crate::evidence::check;
use crate::message::exchange::Calls;
use crate::message::refusal;
use crate::message::{Message, Part};
use crate::text::body::Body;
use crate::text::hash::{self, ByHash, QuickMap};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Stands for no block.
pub(crate) const NONE: u32 = u32::MAX;
/// A block with more segments than this has its first one marked.
const LONG: usize = 3;
/// The number of words below which a segment is tiny.
const TINY: usize = 4;

/// Code that the model showed is quoted whole if it has at most this many bytes, and no more lines, and otherwise not at
/// all.
const CODE: usize = 400;

/// A line that occurs, apart from its numbers, among the first or last `FRAMING_LINES` lines of at least
/// `FRAMING_OUTPUTS` outputs and of one in `FRAMING_SHARE` of all is mere framing and not quoted.
const FRAMING_LINES: usize = 4;
const FRAMING_OUTPUTS: u32 = 8;
const FRAMING_SHARE: u32 = 2;

/// Of more lines of one output than this that are equal apart from their numbers, as in a log, all but the first and the
/// last count as repetitions. Beside lines that differ, those of a command are not quoted: they would hide these.
const ALIKE: usize = 8;

/// A word in a segment: its number and flags for this occurrence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(u32);

impl Word {
    const FOLLOWED: u32 = 1 << 31;
    const OF_USER: u32 = 1 << 30;

    /// The number of the word.
    pub fn number(self) -> usize {
        (self.0 & !(Word::FOLLOWED | Word::OF_USER)) as usize
    }

    /// The flags, 0 if there are none.
    pub fn marks(self) -> u32 {
        self.0 & (Word::FOLLOWED | Word::OF_USER)
    }

    /// Returns whether the next block of speech contains the word, too.
    pub fn is_followed(self) -> bool {
        self.0 & Word::FOLLOWED != 0
    }

    /// Returns whether the user used the word before.
    pub fn is_of_user(self) -> bool {
        self.0 & Word::OF_USER != 0
    }
}

/// Statistics of a word.
#[derive(Clone, Copy)]
pub(crate) struct WordStats {
    /// The number of blocks that contain it.
    pub blocks: u32,
    /// The last block in which the model used it outside of file contents, or 0.
    pub last_of_model: u32,
    /// The last block that was counted, and the first one of the user; `NONE` before.
    counted: u32,
    first_of_user: u32,
}

/// The blocks and segments of a history. It grows with the history.
#[derive(Clone, Default)]
pub(crate) struct RankingIndex {
    pub blocks: Vec<Block>,
    pub segments: Vec<Segment>,
    pub words: Words,
    /// Statistics by word number.
    pub known: Vec<WordStats>,
    segment_words: Vec<Word>,
    /// A buffer for the words of the current segment.
    scanned: Vec<u32>,
    /// The first block that no speech follows yet.
    unfollowed: u32,
    /// Hashes of the quoted forms of earlier segments; those from before texts were dropped are sorted and take half the
    /// room.
    seen: ByHash<()>,
    seen_before: Vec<u64>,
    /// Lines of tool output, by the hash of their text without numbers: the number of outputs with the line, and the
    /// last such block.
    shapes: ByHash<(u32, u32)>,
    calls: Calls<Arc<str>, u32>,
    /// By turn: the block that begins its prompt.
    pub asked: QuickMap<u32, u32>,
    /// The number of tool output blocks.
    outputs: u32,
    prompts: u32,
    pub messages: u32,
    pub earlier: Earlier,
}

impl RankingIndex {
    /// Adds the next message.
    pub fn append(&mut self, message: &Message) {
        if message.is_prompt() {
            self.prompts += 1;
        }
        for number in 0..message.parts.len() {
            if let Some((frame, text)) = earlier::summary(&message.parts[number]) {
                self.earlier.message = Some(self.messages);
                match frame {
                    Frame::Stands => self.earlier.states = earlier::states(text),
                    _ => self.read_back(text, number as u32),
                }
            } else if let Some(told) = block::told(message, number) {
                let calls = message.parts[number..]
                    .iter()
                    .any(|part| matches!(part, Part::ToolCall(_)));
                self.add(told, &message.parts[number], calls);
            }
            if let Part::ToolResult(result) = &message.parts[number]
                && result.success == Some(false)
                && !result.is_unanswered()
                && let Some(&call) = self.calls.of(result)
            {
                self.blocks[call as usize].call_failed = true;
            }
        }
        self.messages += 1;
    }

    /// Adds a block; `calls` is true if the message calls a tool in this part or behind it.
    fn add(&mut self, told: block::Told, part: &Part, calls: bool) {
        let at = self.blocks.len() as u32;
        let mut block = self.block(told);
        match part {
            Part::ToolCall(call) => {
                block.kind = CallKind::of(call);
                block.prose = kind::is_prose(call);
                self.calls.called(call.id.clone(), at);
            }
            Part::ToolResult(result) => {
                block.failed = result.success == Some(false);
                block.call = self.calls.of(result).copied();
                if let Some(call) = block.call {
                    let call = &self.blocks[call as usize];
                    (block.kind, block.prose) = (call.kind, call.prose);
                }
            }
            _ => {}
        }
        if block.speaker == Speaker::User {
            self.asked.entry(block.turn).or_insert(at);
        }
        self.outputs += u32::from(block.speaker == Speaker::Tool);
        let replaced = match part {
            Part::ToolCall(call) => block::replaced(call.action.kind, call.parameters.as_map()),
            _ => HashSet::new(),
        };
        self.cut(&mut block, at, calls, &replaced);
        self.mark_followed(&block, at);
        self.blocks.push(block);
    }

    /// A block of the current message that is not cut yet.
    fn block(&self, told: block::Told) -> Block {
        let first = self.segments.len() as u32;
        Block {
            speaker: told.speaker,
            message: self.messages,
            part: told.part,
            turn: self.prompts,
            kind: CallKind::Other,
            call: None,
            failed: false,
            call_failed: false,
            prose: false,
            is_unit: false,
            text: told.text,
            segments: first..first,
        }
    }

    /// Adds an earlier record or a passage of one, which is in this part of the current message.
    fn read_back(&mut self, text: &str, part: u32) {
        for (turn, units) in self.earlier.record(text) {
            self.begin_turn(turn);
            units.into_iter().for_each(|unit| self.add_unit(unit, part));
        }
    }

    /// Gives the turn that begins or goes on with a record the number that it had then.
    fn begin_turn(&mut self, (number, is_below_prompt): (u32, bool)) {
        // Prompts without a record of their own are counted, and readers may count parts of one.
        let is_wrong = |turn| turn > number || is_below_prompt && turn == self.prompts;
        self.asked.retain(|&turn, _| turn < number);
        let blocks = self.blocks.iter_mut().enumerate().rev();
        for (at, block) in blocks.take_while(|(_, block)| is_wrong(block.turn)) {
            block.turn = number;
            if block.speaker == Speaker::User && is_below_prompt {
                self.asked.insert(number, at as u32);
            }
        }
        self.prompts = number;
    }

    fn add_unit(&mut self, unit: String, part: u32) {
        let (end, lines) = (unit.len(), unit.lines().count());
        let (speaker, text) = (Speaker::Record, Body::from(unit));
        let mut block = self.block(block::Told { speaker, part, text });
        block.is_unit = true;
        block.segments.end += 1;
        let piece = Piece {
            end,
            ..Piece::default()
        };
        let mut segment = self.segment(&block, self.blocks.len() as u32, piece, false);
        // Each line of it was worth its room.
        segment.score = score(&block, 0, &segment) + libm::logf(lines as f32);
        make_room(&mut self.segments, 1);
        self.segments.push(segment);
        self.blocks.push(block);
    }

    /// Drops the texts and lines of all outputs except those for which `stays` returns true. A repetition of their lines is
    /// still recognised.
    pub fn drop_outputs(&mut self, stays: impl Fn((u32, u32)) -> bool) {
        let is_gone = |block: &Block| block.speaker == Speaker::Tool && !stays((block.message, block.part));
        let nothing = Body::new("");
        let (mut segments, mut words) = (Vec::new(), Vec::new());
        for number in 0..self.blocks.len() {
            let first = segments.len() as u32;
            let is_gone = is_gone(&self.blocks[number]);
            for segment in self.blocks[number].segments.clone().filter(|_| !is_gone) {
                words.extend_from_slice(self.words_of(segment));
                segments.push(Segment {
                    words: words.len() as u32,
                    ..self.segments[segment as usize]
                });
            }
            let block = &mut self.blocks[number];
            block.segments = first..segments.len() as u32;
            if is_gone {
                block.text = nothing.clone();
            }
        }
        segments.shrink_to_fit();
        words.shrink_to_fit();
        (self.segments, self.segment_words) = (segments, words);
        self.seen_before.extend(std::mem::take(&mut self.seen).into_keys());
        self.seen_before.shrink_to_fit();
        self.seen_before.sort_unstable();
    }

    /// Cuts a block into segments. If a call follows, a last sentence that only announces it is a segment of its own that
    /// is never quoted, and neither is a line that a change leaves as it was.
    fn cut(&mut self, block: &mut Block, at: u32, calls: bool, replaced: &HashSet<u64>) {
        let text = block.text.clone();
        // Of a prompt and of an output, single lines may stay.
        let wraps = !matches!(block.speaker, Speaker::User | Speaker::Harness | Speaker::Tool);
        let mut pieces = cut::pieces(text.as_str(), wraps);
        // What a harness says before the user's comment on a refused call is the same each time.
        if let Some(comment) = refusal::comment_at(text.as_str()).filter(|_| block.speaker == Speaker::Tool) {
            pieces.retain(|piece| piece.end > comment);
            pieces
                .first_mut()
                .into_iter()
                .for_each(|first| first.start = first.start.max(comment));
        }
        let announces = calls
            && block.speaker.says()
            && pieces.last().copied().is_some_and(|last| {
                let whole = &text.as_str()[last.start..last.end];
                let begins = cut::last_sentence(whole);
                let announces = look::announces(&whole[begins..]);
                if announces && begins > 0 {
                    pieces.pop();
                    pieces.extend(last.parted(begins, whole[..begins].trim_end().len()));
                }
                announces
            });
        let numbered =
            block.speaker == Speaker::Tool && matches!(block.kind, CallKind::Read | CallKind::Edit | CallKind::Find);
        // The one line by which a tool confirms a change says nothing.
        let confirms = block.speaker == Speaker::Tool
            && matches!(block.kind, CallKind::Edit | CallKind::Document)
            && !block.failed
            && !text.as_str().trim().contains('\n');
        let count = pieces.len();
        let (mut after_head, mut has_flag) = (false, block.speaker != Speaker::Tool);
        // The shape of each line, with its place in the block.
        let mut shapes = Vec::new();
        for (number, piece) in pieces.into_iter().enumerate() {
            let mut segment = self.segment(block, at, piece, numbered);
            // A blank line behind a number or a time.
            if segment.start == segment.end {
                continue;
            }
            let line = &text.as_str()[segment.start as usize..segment.end as usize];
            // The instructions to another agent are reflected in its result.
            let instructs = block.speaker == Speaker::Call && block.kind == CallKind::Agent && number > 0;
            let is_announcement = announces && number + 1 == count;
            let is_confirmation = confirms && !look::is_flag(line);
            if instructs || is_announcement || is_confirmation || is_noise(block.speaker, segment.looks, line, replaced)
            {
                segment.bytes = 0;
            }
            let is_long = count > LONG;
            let mut mark = |name: Looks, holds: bool| segment.looks |= if holds { name } else { 0 };
            mark(const { bit("after_head") }, after_head);
            mark(const { bit("seg1") }, is_long && number == 0);
            if !has_flag && segment.bytes > 0 {
                has_flag = look::is_flag(line);
                mark(const { bit("flag1") }, has_flag);
            }
            after_head = segment.looks & const { bit("heading") | bit("colon") } != 0;
            // A repeated line without numbers is an exact duplicate; a label such as `Output:` frames whatever follows it.
            if block.speaker == Speaker::Tool && (line.ends_with(':') || line.bytes().any(|byte| byte.is_ascii_digit()))
            {
                let shape = line::shape(line);
                let is_at_edge = number < FRAMING_LINES || number + FRAMING_LINES >= count;
                if is_at_edge && self.frames(shape, at) {
                    segment.bytes = 0;
                }
                shapes.push((shape, self.segments.len()));
            }
            make_room(&mut self.segments, 1);
            self.segments.push(segment);
        }
        shapes.sort_unstable();
        for alike in shapes
            .chunk_by(|one, other| one.0 == other.0)
            .filter(|alike| alike.len() > ALIKE)
        {
            for &(_, between) in &alike[1..alike.len() - 1] {
                let segment = &mut self.segments[between];
                segment.looks |= const { bit("dup") };
                if alike.len() < count && !numbered {
                    segment.bytes = 0;
                }
            }
        }
        block.segments.end = self.segments.len() as u32;
        if block.speaker.says() {
            leave_out_long_code(&mut self.segments[block.segments.start as usize..]);
        }
        for (place, segment) in self.segments[block.segments.start as usize..].iter_mut().enumerate() {
            segment.score = score(block, place, segment);
        }
    }

    fn segment(&mut self, block: &Block, at: u32, piece: Piece, numbered: bool) -> Segment {
        let whole = &block.text.as_str()[piece.start..piece.end];
        let number = match block.speaker {
            Speaker::Tool if piece.joined => 0,
            Speaker::Tool if numbered => line::number_length(whole),
            Speaker::Tool => line::time_length(whole),
            _ => 0,
        };
        let start = piece.start + number;
        let text = &whole[number..];
        let is_said = block.speaker.says();
        let mut words = std::mem::take(&mut self.scanned);
        words.clear();
        self.words.scan(text, &mut words);
        let count = words.len();
        let (mut lists, mut common) = (0, 0);
        make_room(&mut self.segment_words, count);
        for &word in &words {
            let on = self.words.lists(word);
            lists |= on;
            common += usize::from(on & COMMON != 0);
            let is_of_user = self.count(word, block, at);
            self.segment_words
                .push(Word(word | if is_of_user { Word::OF_USER } else { 0 }));
        }
        self.scanned = words;
        let prose = common as f32 / (count + 1) as f32;
        let signs = Signs::of(text);
        let mut looks = look::looks(text, signs, is_said);
        let mut mark = |name: Looks, holds: bool| looks |= if holds { name } else { 0 };
        mark(const { bit("fence") }, piece.fenced);
        mark(const { bit("tiny") }, count < TINY);
        mark(
            const { bit("commit") },
            block.speaker == Speaker::Tool && check::is_commit(text),
        );
        let is_as_quoted = |line: &str| quoting::quotable(line).is_some_and(|quoted| quoted == line);
        let quoted = match block.is_unit {
            true => Some(Cow::Borrowed(text)).filter(|text| text.lines().all(is_as_quoted)),
            false => line::quoted(text, signs),
        };
        let is_again = quoted.as_ref().is_some_and(|quoted| {
            let hash = hash::bytes(quoted.as_bytes());
            self.seen_before.binary_search(&hash).is_ok() || self.seen.insert(hash, ()).is_some()
        });
        mark(const { bit("dup") }, is_again);
        Segment {
            start: start as u32,
            end: piece.end as u32,
            words: self.segment_words.len() as u32,
            bytes: quoted.map_or(0, |quoted| quoted.len().min(usize::from(u16::MAX)) as u16),
            looks,
            lists,
            joined: piece.joined,
            prose,
            codeness: signs.codeness(text),
            score: 0.0,
        }
    }

    /// Counts an output, the block at `at`, that begins or ends with a line of this shape; returns whether such lines only
    /// frame what tools print.
    fn frames(&mut self, shape: u64, at: u32) -> bool {
        let (outputs, last) = self.shapes.entry(shape).or_insert((0, NONE));
        if *last != at {
            *outputs += 1;
            *last = at;
        }
        *outputs >= FRAMING_OUTPUTS && *outputs * FRAMING_SHARE >= self.outputs
    }

    /// Counts a word in a segment of the block at `at`; returns whether the user used the word before.
    fn count(&mut self, word: u32, block: &Block, at: u32) -> bool {
        if word as usize == self.known.len() {
            make_room(&mut self.known, 1);
            self.known.push(WordStats {
                blocks: 0,
                last_of_model: 0,
                counted: NONE,
                first_of_user: NONE,
            });
        }
        let known = &mut self.known[word as usize];
        if known.counted != at {
            known.counted = at;
            known.blocks += 1;
            match block.speaker {
                Speaker::User => known.first_of_user = known.first_of_user.min(at),
                Speaker::Model | Speaker::Thinking => known.last_of_model = at,
                Speaker::Call if !matches!(block.kind, CallKind::Edit | CallKind::Document) => known.last_of_model = at,
                _ => {}
            }
        }
        known.first_of_user < at
    }

    /// Marks the words that this block, the next speech, shares with each block since the previous speech.
    fn mark_followed(&mut self, block: &Block, at: u32) {
        let is_said = match block.speaker {
            Speaker::User | Speaker::Model => true,
            Speaker::Thinking => block.segments.len() > 1,
            _ => false,
        };
        if !is_said {
            return;
        }
        let first = self.blocks.get(self.unfollowed as usize);
        let words =
            first.map_or(0, |first| self.words_before(first.segments.start))..self.words_before(block.segments.start);
        for word in &mut self.segment_words[words] {
            if self.known[word.number()].counted == at {
                word.0 |= Word::FOLLOWED;
            }
        }
        self.unfollowed = at;
    }

    /// The words of a segment, without duplicates.
    pub fn words_of(&self, segment: u32) -> &[Word] {
        self.words_in(self.words_before(segment)..self.words_before(segment + 1))
    }

    /// The words of segments in a range of the list of all words.
    pub fn words_in(&self, range: Range<usize>) -> &[Word] {
        &self.segment_words[range]
    }

    /// The number of words in the segments before this one.
    pub fn words_before(&self, segment: u32) -> usize {
        let before = segment.checked_sub(1);
        before.map_or(0, |before| self.segments[before as usize].words as usize)
    }
}

/// The score of a segment of this block, at this place in it, from features of the block alone.
fn score(block: &Block, place: usize, segment: &Segment) -> f32 {
    let mut score = Score::new(Weights::built_in());
    features::of_text(&mut score, block, place, segment);
    score.sum
}

/// Returns whether a line says nothing by itself: one that a change leaves as it was; a comment in code that the model
/// showed, which nobody understands without what it is about; of a thought the title, and what only announces.
fn is_noise(speaker: Speaker, looks: Looks, line: &str, replaced: &HashSet<u64>) -> bool {
    const COMMENTS: [&str; 4] = ["//", "/*", "* ", "*/"];
    let has = |look: Looks| looks & look != 0;
    match speaker {
        Speaker::Call => !replaced.is_empty() && replaced.contains(&hash::bytes(line.as_bytes())),
        Speaker::Thinking if has(const { bit("heading") | bit("fill") }) => true,
        Speaker::Model | Speaker::Thinking if has(const { bit("fence") }) => {
            COMMENTS.iter().any(|mark| line.starts_with(mark))
        }
        _ => false,
    }
}

/// Has code of which more than `CODE` bytes or lines were shown at once not quoted: single lines of it say little.
fn leave_out_long_code(segments: &mut [Segment]) {
    let is_code = |segment: &Segment| segment.looks & const { bit("fence") } != 0;
    for run in segments.chunk_by_mut(|a, b| is_code(a) == is_code(b)) {
        let bytes = run.iter().map(|segment| usize::from(segment.bytes));
        if is_code(&run[0]) && (bytes.sum::<usize>() > CODE || run.len() > CODE) {
            run.iter_mut().for_each(|segment| segment.bytes = 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Action, ActionKind, Role, Thinking, ToolCall, ToolResult};

    #[test]
    fn a_sentence_that_only_announces_a_call_is_not_quoted() {
        let quotable = |said: &str, calls: bool| {
            let mut parts = vec![Part::text(said)];
            let call = ToolCall::new("c", "Bash", Default::default());
            parts.extend(calls.then_some(Part::ToolCall(call)));
            let mut index = RankingIndex::default();
            index.append(&Message::new(Role::Assistant, parts));
            index.lines_of(0, 0)
        };
        let said = "All 13 tests pass. Let me look at the walnut press:";
        assert_eq!(quotable(said, true), ["All 13 tests pass."]);
        assert_eq!(quotable(said, false), [said]);
        assert_eq!(quotable("Now remove the press of walnuts:", true), [""; 0]);
        assert_eq!(
            quotable("The walnut press has no lock.", true),
            ["The walnut press has no lock."]
        );
    }

    #[test]
    fn neither_the_title_of_a_thought_nor_a_comment_in_code_that_was_shown_is_quoted() {
        let lines = |part: Part| {
            let mut index = RankingIndex::default();
            index.append(&Message::new(Role::Assistant, vec![part]));
            index.lines_of(0, 0)
        };
        let text = "**Clarifying the lock**\n\nThe press has no lock.";
        let thought = Part::Thinking(Thinking {
            body: Body::new(text),
            signature: None,
            redacted: None,
            is_wanted_back: false,
            extra: Default::default(),
        });
        assert_eq!(lines(thought), ["The press has no lock."]);
        assert_eq!(
            lines(Part::text(text)),
            ["Clarifying the lock", "The press has no lock."]
        );
        let shown = "The press:\n```ts\n/** Stops the press. */\nstop(): void;\n// Never called.\n```\n* one of a list of walnuts";
        let expected = ["The press:", "stop(): void;", "* one of a list of walnuts"];
        assert_eq!(lines(Part::text(shown)), expected);
    }

    #[test]
    fn a_line_that_only_confirms_a_change_is_not_quoted() {
        let lines = |output: &str| {
            let mut call = ToolCall::new("c", "Edit", Default::default());
            call.action = Action::on(ActionKind::Change, ["press.rs"]);
            let mut index = RankingIndex::default();
            index.append(&Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
            index.append(&Message::results(vec![ToolResult::new("c", None, output)]));
            index.lines_of(1, 0)
        };
        assert_eq!(lines("The file press.rs was changed.\n"), [""; 0]);
        assert_eq!(lines("Error: no such text"), ["Error: no such text"]);
        assert_eq!(
            lines("Changed.\npress.rs:7: unused"),
            ["Changed.", "press.rs:7: unused"]
        );
    }

    #[test]
    fn what_is_known_of_a_long_conversation_leaves_little_memory_unused() {
        let mut index = RankingIndex::default();
        for number in 0..300 {
            let id = format!("c{number}");
            let call = ToolCall::new(id.as_str(), "Bash", Default::default());
            index.append(&Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
            let output: String = (0..10)
                .map(|line| format!("frame {number} of walnut_{line}_{number}\n"))
                .collect();
            index.append(&Message::results(vec![ToolResult::new(id, Some(true), output)]));
            let is_filled = |length: usize, capacity: usize| length < 100 || capacity <= length + length / 8 + 16;
            assert!(is_filled(index.segments.len(), index.segments.capacity()));
            assert!(is_filled(index.segment_words.len(), index.segment_words.capacity()));
            assert!(is_filled(index.known.len(), index.known.capacity()));
        }
    }
}
