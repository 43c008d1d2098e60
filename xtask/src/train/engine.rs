//! What of the engine is trained: the segments with their features, the weights, and a compaction by them.

use codelet_context::compact::{Compaction, Options, Target, compact_with};
use codelet_context::history::History;
use codelet_context::tokens::Tokens;

pub use codelet_context::ranking::{FEATURES, Sample, Weights};

/// The sentences and lines of a conversation.
pub fn samples(history: &History) -> Vec<Sample> {
    history.samples()
}

/// Compacts to a budget, by the given weights or the ones that are built in; with a summary that somebody has written.
pub fn compact(history: &History, budget: Tokens, weights: Option<&Weights>, written: Option<&str>) -> Compaction {
    let options = Options {
        weights,
        written,
        ..Options::new(Target::Budget(budget))
    };
    compact_with(history, &options)
}
