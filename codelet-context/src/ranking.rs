//! What each sentence and line of a history is worth to whoever goes on from it, and which of them are kept under a budget.
//!
//! A history is a row of *blocks* (one text each: a prompt, words of the model, a call, an output), and a block a row of *segments*
//! (a sentence or a line). The worth of a segment is a linear score of plain [features](FEATURES): whose words they are, where in
//! the turn they stand, what kind of tool printed them, how rare their words are and who used them first. No feature knows what a
//! program's output means, and nobody sets a weight by hand: `weights.txt` is learned from recordings (`docs/training.md`).
//!
//! What can be known of a segment when it is said is noted then, in time in proportion to its bytes; what depends on all that was
//! said is worked out at a compaction.

mod block;
mod cut;
pub(crate) mod excerpt;
mod features;
mod focus;
mod index;
mod kind;
pub(crate) mod labels;
mod look;
mod look_alike;
mod pack;
mod queue;
pub(crate) mod quoting;
mod samples;
mod weights;
mod word;

pub(crate) use block::{Block, Speaker};
pub use features::FEATURES;
pub(crate) use focus::Focus;
pub(crate) use index::RankingIndex;
pub(crate) use look::evident_lines;
pub(crate) use pack::{Opened, Packing, Task, choose};
pub use samples::Sample;
pub(crate) use samples::samples;
pub use weights::Weights;

/// The sentences and lines of a text, as ranges of it.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    cut::pieces(text).into_iter().map(|piece| piece.start..piece.end)
}
