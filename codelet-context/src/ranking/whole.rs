//! The features of a segment that depend on the whole history.

use super::block::Speaker;
use super::features::{Sink, at, length};
use super::index::{RankingIndex, Word, WordStats};
use super::kind::CallKind;
use super::word::COMMON;
use std::collections::HashSet;

/// A prompt with more segments than this is long.
const LONG_PROMPT: usize = 25;
/// An output with at most this many segments is short.
const SHORT: usize = 6;
/// The position at which the last tenth of a conversation begins.
const LATE: f32 = 0.9;

/// Statistics of a word over the whole history.
#[derive(Clone, Copy)]
struct Now {
    /// The rarity, in nats; 0 for a common word.
    rarity: f32,
    /// The last block in which the model used it, combined with the `ASKED` flag for the last two prompts in one word,
    /// since it is read very often.
    used: u32,
}

impl Now {
    const ASKED: u32 = 1 << 31;
}

/// The data on the whole history that features need.
pub(crate) struct Whole<'a> {
    index: &'a RankingIndex,
    /// By word number.
    words: Vec<Now>,
    /// By block: true if it is the model's last text of its turn; true if it is the newest call or output of its kind;
    /// true if it is what the model says or thinks after a failed output.
    is_closing: Vec<bool>,
    is_newest: Vec<bool>,
    is_after_error: Vec<bool>,
}

impl<'a> Whole<'a> {
    pub fn of(index: &'a RankingIndex) -> Self {
        let blocks = index.blocks.len().max(1) as f32;
        let rarity = |held: u32| libm::logf(1.0 + blocks / held.max(1) as f32);
        let now = |(known, word): (&WordStats, u32)| Now {
            rarity: match index.words.lists(word) & COMMON {
                0 => rarity(known.blocks),
                _ => 0.0,
            },
            used: known.last_of_model,
        };
        let mut words: Vec<Now> = index.known.iter().zip(0..).map(now).collect();
        let prompts = index.blocks.iter().filter(|block| block.speaker == Speaker::User);
        let newest = prompts.clone().map(|block| block.turn).max().unwrap_or(0);
        for block in prompts.filter(|block| block.turn + 1 >= newest) {
            let asked = block.segments.clone().flat_map(|segment| index.words_of(segment));
            asked.for_each(|word| words[word.number()].used |= Now::ASKED);
        }
        let mut is_closing = vec![false; index.blocks.len()];
        let mut next = None;
        let said = index.blocks.iter().enumerate().rev();
        for (at, block) in said.filter(|(_, block)| block.speaker == Speaker::Model) {
            is_closing[at] = next.replace(block.turn) != Some(block.turn);
        }
        let mut kinds = HashSet::new();
        let mut is_newest = vec![false; index.blocks.len()];
        let calls = index.blocks.iter().enumerate().rev();
        for (at, block) in calls.filter(|(_, block)| !block.speaker.says()) {
            is_newest[at] = kinds.insert((block.speaker, block.kind));
        }
        let mut has_failed = false;
        let mut is_after_error = vec![false; index.blocks.len()];
        for (at, block) in index.blocks.iter().enumerate() {
            match block.speaker {
                Speaker::Tool | Speaker::User => has_failed = block.failed,
                Speaker::Model | Speaker::Thinking => is_after_error[at] = has_failed,
                Speaker::Harness | Speaker::Call | Speaker::Record => {}
            }
        }
        Whole {
            index,
            words,
            is_closing,
            is_newest,
            is_after_error,
        }
    }

    /// The rarity of the word with this number, in nats; 0 for a common word.
    pub fn rarity(&self, word: usize) -> f32 {
        self.words[word].rarity
    }

    /// Adds the features that all segments of a block share.
    pub fn block(&self, sink: &mut impl Sink, number: usize) {
        let block = &self.index.blocks[number];
        let segments = length(block);
        sink.add(const { at("one") }, 1.0);
        let mut mark = |feature: usize, holds: bool| {
            if holds {
                sink.add(feature, 1.0);
            }
        };
        let is_said = block.speaker.says();
        match block.speaker {
            Speaker::User => {
                mark(const { at("U") }, true);
                mark(const { at("U_first") }, block.turn == 1);
                mark(const { at("U_long") }, segments > LONG_PROMPT);
            }
            // The content of an earlier record was selected before, and represents that whole part.
            Speaker::Record => {
                mark(const { at("S") }, true);
                mark(const { at("S_closing") }, true);
            }
            Speaker::Model => {
                mark(const { at("S") }, true);
                mark(const { at("S_closing") }, self.is_closing[number]);
            }
            Speaker::Thinking => mark(const { at("T") }, true),
            Speaker::Harness => {}
            Speaker::Call => {
                mark(const { at("C") }, true);
                mark(const { at("C_edit") }, block.kind == CallKind::Edit);
                mark(const { at("C_doc") }, block.kind == CallKind::Document);
            }
            Speaker::Tool => {
                mark(const { at("R_read") }, block.kind == CallKind::Read);
                mark(const { at("R_find") }, block.kind == CallKind::Find);
                mark(const { at("R_git") }, block.kind == CallKind::Git);
                mark(const { at("R_shell") }, block.kind == CallKind::Shell);
                mark(const { at("R_doc") }, block.prose && block.kind == CallKind::Read);
                mark(const { at("blk_short") }, segments <= SHORT);
            }
        }
        mark(const { at("err") }, block.failed);
        mark(const { at("after_err") }, self.is_after_error[number]);
        mark(const { at("newest") }, self.is_newest[number]);
        let position = block.message as f32 / self.index.messages.saturating_sub(1).max(1) as f32;
        mark(const { at("late") }, position > LATE);
        sink.add(const { at("pos") }, position);
        let length = libm::logf(segments.max(1) as f32) / 3.0;
        sink.add(const { at("blklen") }, length);
        if is_said {
            sink.add(const { at("blklen_talk") }, length);
        }
        let own = match (block.speaker, block.kind) {
            (Speaker::Model, _) => const { at("blklen_said") },
            (Speaker::User | Speaker::Harness | Speaker::Record, _) => const { at("blklen_user") },
            (Speaker::Call, _) => const { at("blklen_call") },
            (Speaker::Tool, CallKind::Git | CallKind::Check | CallKind::Shell) => const { at("blklen_shell") },
            (Speaker::Tool, CallKind::Read | CallKind::Edit | CallKind::Document | CallKind::Find | CallKind::Todo) => {
                const { at("blklen_file") }
            }
            (Speaker::Thinking | Speaker::Tool, _) => return,
        };
        sink.add(own, length);
    }

    /// Adds the features of a segment of block `number` that depend on its words in the whole history. Returns the
    /// rarity of its words, together.
    pub fn words(&self, sink: &mut impl Sink, number: u32, words: &[Word]) -> f32 {
        let now = |word: &Word| self.words[word.number()];
        let (mut all, mut used, mut marks) = (0.0_f32, 0, 0);
        for word in words {
            let Now { rarity, used: by_model } = now(word);
            all += rarity;
            used = by_model.max(used);
            marks |= word.marks();
        }
        // Nobody says most lines of most outputs again.
        if used > number || marks != 0 {
            let mut held = [0.0_f32; 4];
            for word in words {
                let now = now(word);
                let holds = [
                    now.used & !Now::ASKED > number,
                    word.is_of_user(),
                    word.is_followed(),
                    now.used & Now::ASKED != 0,
                ];
                for (sum, holds) in held.iter_mut().zip(holds) {
                    *sum += if holds { now.rarity } else { 0.0 };
                }
            }
            let [reuse, of_user, follow, asked] = held.map(|sum| sum / if all > 0.0 { all } else { 1.0 });
            sink.add(const { at("reuse") }, reuse);
            sink.add(const { at("userw") }, of_user);
            sink.add(const { at("follow") }, follow);
            sink.add(const { at("lastq") }, asked);
            if !self.index.blocks[number as usize].speaker.says() {
                sink.add(const { at("reuse_out") }, reuse);
                sink.add(const { at("follow_out") }, follow);
            }
        }
        sink.add(const { at("rarity") }, all / (words.len() + 1) as f32 / 3.0);
        all
    }
}
