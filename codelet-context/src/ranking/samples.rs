//! The segments of a history as a teacher sees them.

use super::features::{self, FEATURES, Sink, Whole};
use super::index::RankingIndex;

/// One segment with its features.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Which text of the history it stands in; those of one text follow one another.
    pub block: usize,
    /// What is quoted of it.
    pub text: String,
    /// Its features, in the order of [`FEATURES`].
    pub features: Vec<f32>,
}

impl Sink for Vec<f32> {
    fn add(&mut self, feature: usize, value: f32) {
        self[feature] = value;
    }
}

/// The segments of a history, oldest first.
pub(crate) fn samples(index: &RankingIndex) -> Vec<Sample> {
    let whole = Whole::of(index);
    let mut found = Vec::with_capacity(index.segments.len());
    for (number, block) in index.blocks.iter().enumerate() {
        for (place, segment) in block.segments.clone().enumerate() {
            let mut features = vec![0.0; FEATURES.len()];
            features::of_text(&mut features, block, place, &index.segments[segment as usize]);
            whole.block(&mut features, number);
            whole.words(&mut features, number as u32, segment);
            found.push(Sample {
                block: number,
                text: index.quoted(number as u32, segment).into_owned(),
                features,
            });
        }
    }
    found
}
