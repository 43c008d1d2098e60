//! The engine's interface for training: segments with their features, the weights, and a compaction with them.

use codelet_context::compact::{Compaction, Options, Target, compact_with};
use codelet_context::history::History;
use codelet_context::tokens::Tokens;

pub use codelet_context::ranking::{FEATURES, Sample, Weights};

/// The sentences and lines of a conversation.
pub fn samples(history: &History) -> Vec<Sample> {
    history.samples()
}

/// Compacts to a budget, with the given or the built-in weights, and optionally with a given summary.
pub fn compact(history: &History, budget: Tokens, weights: Option<&Weights>, written: Option<&str>) -> Compaction {
    let options = Options {
        weights,
        written,
        ..Options::new(Target::Budget(budget))
    };
    compact_with(history, &options)
}
