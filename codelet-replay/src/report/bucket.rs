//! Groups requests into the columns of a chart.

use crate::run::{Run, Step};
use codelet_context::inspect::Kind;
use codelet_context::price::Cost;
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use std::ops::Range;

/// The maximum number of columns in a chart.
pub const COLUMNS: usize = 240;
/// The number of layers in a window: content outside the messages, and the kinds of content.
pub const LAYERS: usize = Kind::ALL.len() + 1;

/// Returns the name of a layer.
pub fn layer(at: usize) -> &'static str {
    match at.checked_sub(1) {
        None => "outside the messages",
        Some(kind) => Kind::ALL.get(kind).map_or("", |kind| kind.name()),
    }
}

/// Returns the tokens of each layer in a request.
pub fn layers(step: &Step) -> [Tokens; LAYERS] {
    std::array::from_fn(|at| match at.checked_sub(1) {
        None => step.occupancy.fixed,
        Some(kind) => Kind::ALL.get(kind).map_or(0, |kind| step.occupancy.of(*kind)),
    })
}

/// Consecutive requests.
#[derive(Clone, PartialEq, Debug)]
pub struct Bucket {
    /// Their range, counted from 0.
    pub steps: Range<usize>,
    /// The fullest of them, counted from 0.
    pub fullest: usize,
    /// The layers of that one.
    pub layers: [Tokens; LAYERS],
    /// The usage of all of them.
    pub usage: Usage,
    /// The cost of all of them.
    pub dollars: Cost,
}

impl Bucket {
    /// Tokens of the fullest request.
    pub fn tokens(&self) -> Tokens {
        self.layers.iter().fold(0, |sum, tokens| sum.saturating_add(*tokens))
    }
}

/// Groups the requests of a run into at most [`COLUMNS`] buckets.
pub fn buckets(run: &Run) -> Vec<Bucket> {
    let steps = &run.steps;
    let columns = steps.len().min(COLUMNS);
    let bucket = |column: usize| {
        let range = column * steps.len() / columns..(column + 1) * steps.len() / columns;
        let of = &steps[range.clone()];
        // The first of equals, so that a peak is shown where it is reached.
        let fullest = of
            .iter()
            .enumerate()
            .rev()
            .max_by_key(|(_, step)| step.occupancy.total());
        let (fullest, layers) = fullest.map_or((0, [0; LAYERS]), |(at, step)| (at, layers(step)));
        Bucket {
            fullest: range.start + fullest,
            layers,
            usage: of.iter().fold(Usage::default(), |sum, step| sum.plus(step.usage)),
            dollars: of.iter().map(|step| step.dollars).sum(),
            steps: range,
        }
    };
    (0..columns).map(bucket).collect()
}

/// Returns the position of a request in the chart, 0 to 1: the beginning of its column.
pub fn place(step: usize, steps: usize) -> f64 {
    let columns = steps.min(COLUMNS);
    if columns == 0 {
        return 0.0;
    }
    // The column whose range holds the step.
    let column = (0..columns)
        .rev()
        .find(|column| column * steps / columns <= step)
        .unwrap_or(0);
    column as f64 / columns as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::prompt::Prompt;
    use proptest::prelude::*;

    fn run(sizes: &[u64]) -> Run {
        let step = |(at, &size): (usize, &u64)| Step {
            reply: at,
            began: None,
            occupancy: Prompt::new(size).occupancy(),
            usage: Usage::from_inclusive(size, size / 2, 1),
            dollars: Cost {
                output: 1.0,
                ..Cost::default()
            },
            broken: None,
            edit: None,
            refetch: 0.0,
            referred: 0,
            shown: 0,
        };
        Run {
            policy: Policy::Never,
            steps: sizes.iter().enumerate().map(step).collect(),
            refused: None,
        }
    }

    proptest! {
        #[test]
        fn every_request_is_in_one_bucket_and_the_peak_is_seen(sizes in proptest::collection::vec(1u64..100_000, 0..900)) {
            let run = run(&sizes);
            let buckets = buckets(&run);
            prop_assert!(buckets.len() <= COLUMNS);
            let covered: Vec<usize> = buckets.iter().flat_map(|bucket| bucket.steps.clone()).collect();
            prop_assert_eq!(covered, (0..sizes.len()).collect::<Vec<_>>());
            prop_assert_eq!(buckets.iter().map(Bucket::tokens).max(), sizes.iter().copied().max());
            let all = buckets.iter().fold(Usage::default(), |sum, bucket| sum.plus(bucket.usage));
            prop_assert_eq!(all, run.sums().usage);
            for (column, bucket) in buckets.iter().enumerate() {
                prop_assert_eq!(bucket.tokens(), sizes[bucket.fullest]);
                for step in bucket.steps.clone() {
                    prop_assert_eq!(place(step, sizes.len()), column as f64 / buckets.len() as f64);
                }
            }
        }
    }
}
