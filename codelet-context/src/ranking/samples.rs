//! The segments of a history as training samples.

use super::features::{self, FEATURES, Sink};
use super::index::RankingIndex;
use super::whole::Whole;

/// A segment with its features.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The text of the history that contains it; samples of one text are consecutive.
    pub block: usize,
    /// Its quoted form.
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
            whole.words(&mut features, number as u32, index.words_of(segment));
            found.push(Sample {
                block: number,
                text: index.quoted(number as u32, segment).into_owned(),
                features,
            });
        }
    }
    found
}
