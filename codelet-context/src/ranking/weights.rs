//! The weights of the features, and the worth that they give a segment.

use super::features::{FEATURES, Sink};
use std::sync::LazyLock;
use thiserror::Error;

/// A weight for each feature. Read from lines `name value`; see `docs/training.md` for where they come from.
#[derive(Clone, PartialEq, Debug)]
pub struct Weights([f32; FEATURES.len()]);

/// What keeps a text from being weights.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum WeightsError {
    /// A line that is not a name and a number.
    #[error("line {0} is not a name and a number")]
    Line(usize),
    /// A name that is no feature's.
    #[error("line {line}: there is no feature \"{name}\"")]
    Name {
        /// The number of the line, from 1 on.
        line: usize,
        /// What stands there.
        name: String,
    },
}

static BUILT_IN: LazyLock<Weights> =
    LazyLock::new(|| Weights::parse(include_str!("weights.txt")).unwrap_or(Weights([0.0; FEATURES.len()])));

impl Weights {
    /// The weights of a text of lines `name value`, where `#` begins a comment. A feature that is not named weighs nothing.
    fn parse(text: &str) -> Result<Weights, WeightsError> {
        let mut values = [0.0; FEATURES.len()];
        for (line, words) in (1..).zip(text.lines()) {
            let words = words.split('#').next().unwrap_or("").trim();
            if words.is_empty() {
                continue;
            }
            let (name, value) = words.split_once(' ').ok_or(WeightsError::Line(line))?;
            let value: f32 = value.trim().parse().map_err(|_| WeightsError::Line(line))?;
            let Some(at) = FEATURES.iter().position(|known| *known == name) else {
                let name = name.to_owned();
                return Err(WeightsError::Name { line, name });
            };
            values[at] = if value.is_finite() {
                value
            } else {
                return Err(WeightsError::Line(line));
            };
        }
        Ok(Weights(values))
    }

    /// Weights in the order of [`FEATURES`].
    pub fn from_values(values: [f32; FEATURES.len()]) -> Weights {
        Weights(values)
    }

    /// Those that the engine uses where nobody gives others.
    pub(crate) fn built_in() -> &'static Weights {
        &BUILT_IN
    }
}

/// Sums up a score.
pub(crate) struct Score<'a> {
    weights: &'a Weights,
    pub sum: f32,
}

impl<'a> Score<'a> {
    pub fn new(weights: &'a Weights) -> Self {
        Score { weights, sum: 0.0 }
    }
}

/// The worth of a segment by its score: how likely it is that somebody who goes on needs it, between 0 and 1.
pub(crate) fn worth(score: f32) -> f32 {
    1.0 / (1.0 + libm::expf(-score.clamp(-BOUND, BOUND)))
}

/// Scores that are larger than this, or smaller than its negative, tell no more.
const BOUND: f32 = 30.0;
/// So many scores between one and the next have a worth in the table.
const STEPS: f32 = 32.0;

static WORTHS: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let steps = 0..=(2.0 * BOUND * STEPS) as u32;
    // A little more, since what is worked out is rounded.
    steps
        .map(|step| worth((step + 1) as f32 / STEPS - BOUND) * 1.000_1)
        .collect()
});

/// Tells no less than the worth of a score, and hardly more; cheap.
pub(crate) fn worth_at_most() -> impl Fn(f32) -> f32 {
    let worths: &[f32] = &WORTHS;
    |score| worths[((score.clamp(-BOUND, BOUND) + BOUND) * STEPS) as usize]
}

impl Sink for Score<'_> {
    fn add(&mut self, feature: usize, value: f32) {
        self.sum += self.weights.0[feature] * value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_names_with_numbers() {
        let weights = Weights::parse("# made\none -1.5\nU 2 # the user's\n\n");
        let values = weights.map(|weights| (weights.0[0], weights.0[1], weights.0[2]));
        assert_eq!(values, Ok((-1.5, 2.0, 0.0)));
        assert_eq!(Weights::parse("one"), Err(WeightsError::Line(1)));
        assert_eq!(Weights::parse("one x"), Err(WeightsError::Line(1)));
        assert_eq!(Weights::parse("one NaN"), Err(WeightsError::Line(1)));
        let name = "two".to_owned();
        assert_eq!(Weights::parse("\ntwo 2"), Err(WeightsError::Name { line: 2, name }));
    }

    #[test]
    fn the_built_in_weights_are_some() {
        assert!(Weights::parse(include_str!("weights.txt")).is_ok());
        assert_ne!(Weights::built_in().0, [0.0; FEATURES.len()]);
    }
}
