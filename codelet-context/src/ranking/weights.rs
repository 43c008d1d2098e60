//! The weights of the features, and the resulting value of a segment.

use super::features::{FEATURES, Sink};
use std::sync::LazyLock;

/// A weight for each feature. Parsed from lines `name value`; `docs/training.md` describes the training.
#[derive(Clone, PartialEq, Debug)]
pub struct Weights([f32; FEATURES.len()]);

static BUILT_IN: LazyLock<Weights> =
    LazyLock::new(|| Weights::parse(include_str!("weights.txt")).unwrap_or(Weights([0.0; FEATURES.len()])));

impl Weights {
    /// Parses weights from lines `name value` with `#` comments; `None` for any other content. Features that are not
    /// listed have weight 0.
    fn parse(text: &str) -> Option<Weights> {
        let mut values = [0.0; FEATURES.len()];
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(' ')?;
            let at = FEATURES.iter().position(|known| *known == name)?;
            values[at] = value.trim().parse().ok().filter(|value: &f32| value.is_finite())?;
        }
        Some(Weights(values))
    }

    /// Creates weights in the order of [`FEATURES`].
    pub fn from_values(values: [f32; FEATURES.len()]) -> Weights {
        Weights(values)
    }

    /// The default weights.
    pub(crate) fn built_in() -> &'static Weights {
        &BUILT_IN
    }
}

/// Sums weighted features.
pub(crate) struct Score<'a> {
    weights: &'a Weights,
    pub sum: f32,
}

impl<'a> Score<'a> {
    pub fn new(weights: &'a Weights) -> Self {
        Score { weights, sum: 0.0 }
    }
}

/// The value of a segment for a score: the probability that a continuing reader needs it, between 0 and 1.
pub(crate) fn worth(score: f32) -> f32 {
    1.0 / (1.0 + libm::expf(-score.clamp(-BOUND, BOUND)))
}

/// Scores are clamped to ± this.
const BOUND: f32 = 30.0;
/// The table entries per unit of score.
const STEPS: f32 = 32.0;

static WORTHS: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let steps = 0..=(2.0 * BOUND * STEPS) as u32;
    // Rounded up slightly, since the results are rounded.
    steps
        .map(|step| worth((step + 1) as f32 / STEPS - BOUND) * 1.000_1)
        .collect()
});

/// A cheap and tight upper bound for the value of a score.
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
        assert_eq!(values, Some((-1.5, 2.0, 0.0)));
        for text in ["one", "one x", "one NaN", "\ntwo 2"] {
            assert_eq!(Weights::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_built_in_weights_are_some() {
        assert!(Weights::parse(include_str!("weights.txt")).is_some());
        assert_ne!(Weights::built_in().0, [0.0; FEATURES.len()]);
    }
}
