//! The segments of a history as a teacher sees them.

use super::features::{FEATURES, Sink, Whole};
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
    let mut found = Vec::with_capacity(index.segments.len());
    Whole::of(index).each(
        |_| true,
        || vec![0.0; FEATURES.len()],
        |block, segment, features| found.push((segment, block, features)),
    );
    found.sort_unstable_by_key(|(segment, ..)| *segment);
    let sample = |(segment, block, features): (u32, u32, Vec<f32>)| Sample {
        block: block as usize,
        text: index.quoted(block, segment).into_owned(),
        features,
    };
    found.into_iter().map(sample).collect()
}
