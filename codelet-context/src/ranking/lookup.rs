//! What the index tells of blocks and segments.

use super::block::{Segment, Speaker};
use super::index::RankingIndex;
use super::line;
use super::look::{self, Looks, Signs, bit};
use super::quoting;
use std::borrow::Cow;
use std::ops::Range;

/// The maximum bytes of a line that is quoted because the one beside it says little without it.
const COMPANION: usize = 160;

impl RankingIndex {
    /// A segment of this block as it is quoted: on one line, and safe from being mistaken for anything but a quotation.
    pub fn quoted(&self, block: u32, segment: u32) -> Cow<'_, str> {
        let text = self.text_of(block, segment);
        if self.blocks[block as usize].is_unit {
            return Cow::Borrowed(text);
        }
        // Quoting printable ASCII only ever takes something out.
        match self.bytes_of(segment) == text.len() && quoting::is_printable(text) {
            true => Cow::Borrowed(text),
            false => line::quoted(text, Signs::of(text)).unwrap_or_default(),
        }
    }

    /// The same with its line breaks if it is part of a call: what is written there may be code.
    pub fn quoted_lines(&self, block: u32, segment: u32) -> Vec<Cow<'_, str>> {
        let text = self.text_of(block, segment);
        if self.blocks[block as usize].speaker != Speaker::Call || !text.contains('\n') {
            return vec![self.quoted(block, segment)];
        }
        let lines = text.lines();
        lines.filter_map(|line| line::quoted(line, Signs::of(line))).collect()
    }

    /// The quotable segments of a part of a message.
    pub fn lines_of(&self, message: u32, part: u32) -> Vec<String> {
        let blocks = self.blocks_of(message);
        let number = blocks.into_iter().find(|&number| self.blocks[number].part == part);
        let segments = |number: usize| {
            self.blocks[number]
                .segments
                .clone()
                .map(move |segment| (number as u32, segment))
        };
        let quoted = number.into_iter().flat_map(segments);
        quoted
            .filter(|(_, segment)| self.bytes_of(*segment) > 0)
            .map(|(number, segment)| self.quoted(number, segment).into_owned())
            .collect()
    }

    /// The original text of a segment of this block.
    pub fn text_of(&self, block: u32, segment: u32) -> &str {
        let Segment { start, end, .. } = self.segments[segment as usize];
        &self.blocks[block as usize].text.as_str()[start as usize..end as usize]
    }

    /// The bytes of a segment as it is quoted; 0 if it is blank.
    pub fn bytes_of(&self, segment: u32) -> usize {
        usize::from(self.segments[segment as usize].bytes)
    }

    /// The segments of a block of which nothing is in this range of its text.
    pub fn segments_outside(&self, block: u32, hidden: Range<usize>) -> impl Iterator<Item = u32> {
        let segments = self.blocks[block as usize].segments.clone();
        segments.filter(move |&segment| {
            let Segment { start, end, .. } = self.segments[segment as usize];
            end as usize <= hidden.start || start as usize >= hidden.end
        })
    }

    /// The segments of an output that report failure, at most `most`: the first ones and the last; and the last one that
    /// counts failures.
    pub fn flagged(&self, block: u32, most: usize) -> Vec<u32> {
        let segments = self.blocks[block as usize].segments.clone();
        let flagged = segments.filter(|&segment| self.holds(block, segment, look::is_flag));
        let flagged = look::decisive(flagged.collect(), |segment| self.text_of(block, segment));
        let mut flagged = look::first_and_last(flagged, most);
        let mut lines = self.blocks[block as usize].segments.clone().rev();
        flagged.extend(lines.find(|&segment| self.holds(block, segment, look::is_count)));
        flagged.sort_unstable();
        flagged.dedup();
        flagged
    }

    fn holds(&self, block: u32, segment: u32, test: fn(&str) -> bool) -> bool {
        self.bytes_of(segment) > 0 && test(self.text_of(block, segment))
    }

    /// The nearest line before or after a line of an output if it names the place that this one does not, as linters and
    /// compilers print it.
    fn place_of(&self, block: u32, segment: u32) -> Option<u32> {
        let segments = &self.blocks[block as usize].segments;
        let is_line = |near: &u32| self.bytes_of(*near) > 0;
        let before = (segments.start..segment).rev().find(is_line);
        let after = (segment + 1..segments.end).find(is_line);
        let names = |segment: &u32| self.holds(block, *segment, look::names_place);
        before.into_iter().chain(after).find(names).filter(|_| !names(&segment))
    }

    /// The segments without which a quoted one says little: what a sentence that ends with a colon leads to, and the place
    /// of a failure, if they are short; and the rest of the code around a line of it, with the sentence that leads to it.
    pub fn companions(&self, number: u32, segment: u32) -> Range<u32> {
        let block = &self.blocks[number as usize];
        let has = |segment: u32, look: Looks| {
            block.speaker.says()
                && block.segments.contains(&segment)
                && self.segments[segment as usize].looks & look != 0
        };
        let is_code = |segment: &u32| has(*segment, const { bit("fence") });
        let near = match block.speaker {
            Speaker::Tool if self.holds(number, segment, look::is_flag) => self.place_of(number, segment),
            _ if is_code(&segment) => Some(segment),
            _ if has(segment, const { bit("colon") }) => Some(segment + 1).filter(|next| block.segments.contains(next)),
            _ => None,
        };
        let Some(near) = near else { return 0..0 };
        if is_code(&near) {
            let start = near - (block.segments.start..near).rev().take_while(is_code).count() as u32;
            let end = near + (near..block.segments.end).take_while(is_code).count() as u32;
            let is_led_to = start > block.segments.start && has(start - 1, const { bit("colon") });
            return start - u32::from(is_led_to)..end;
        }
        near..near + u32::from(self.bytes_of(near) <= COMPANION)
    }

    /// The blocks of a message.
    pub fn blocks_of(&self, message: u32) -> Range<usize> {
        let start = self.blocks.partition_point(|block| block.message < message);
        let end = self.blocks.partition_point(|block| block.message <= message);
        start..end
    }

    /// The number of messages with calls after a message.
    pub fn steps_since(&self, message: u32) -> usize {
        let behind = self.blocks.iter().rev().take_while(|block| block.message > message);
        let calls = behind
            .filter(|block| block.speaker == Speaker::Call)
            .map(|block| block.message);
        let mut messages: Vec<u32> = calls.collect();
        messages.dedup();
        messages.len()
    }

    /// Ascending segments, by block.
    pub fn by_block<'a>(&'a self, mut rest: &'a [u32]) -> impl Iterator<Item = (u32, &'a [u32])> {
        std::iter::from_fn(move || {
            let number = self.block_of(*rest.first()?);
            let end = self.blocks[number as usize].segments.end;
            let here = rest.split_off(..rest.partition_point(|&segment| segment < end))?;
            Some((number, here))
        })
    }

    /// The block that contains a segment.
    pub fn block_of(&self, segment: u32) -> u32 {
        self.blocks.partition_point(|block| block.segments.end <= segment) as u32
    }
}
