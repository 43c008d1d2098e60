//! Ranks sentences and lines of a history by their value for continuing from it, and selects those to keep within a
//! budget.
//!
//! A history is a sequence of *blocks* (one text each: a prompt, text of the model, a call, an output), and a block is
//! a sequence of *segments* (a sentence or a line). The value of a segment is a linear score of simple
//! [features](FEATURES): the speaker, the position in the turn, the kind of tool that printed it, the rarity of its
//! words and the first speaker to use them. No feature interprets the output of a program, and no weight is set by
//! hand: `weights.txt` is learned from recordings (`docs/training.md`).
//!
//! Features that are known as soon as a segment is appended are computed then, in time linear in its bytes; those that
//! depend on the whole history are computed at a compaction.

pub(crate) mod block;
mod cut;
pub(crate) mod earlier;
pub(crate) mod excerpt;
mod features;
mod focus;
mod index;
mod kind;
pub(crate) mod labels;
mod line;
mod look;
mod look_alike;
mod lookup;
mod pack;
mod queue;
pub(crate) mod quoting;
mod samples;
mod weights;
mod whole;
mod word;

pub(crate) use block::{Block, Speaker};
pub use features::FEATURES;
pub(crate) use focus::{Focus, named_file};
pub(crate) use index::RankingIndex;
pub(crate) use kind::{CallKind, plain_command};
pub(crate) use look::evident_lines;
pub(crate) use pack::{Opened, Packing, Task, choose};
pub use samples::Sample;
pub(crate) use samples::samples;
pub use weights::Weights;

/// The sentences and lines of a text, as ranges of it.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    cut::pieces(text, true).into_iter().map(|piece| piece.start..piece.end)
}
