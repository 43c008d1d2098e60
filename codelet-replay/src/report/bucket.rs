//! Requests gathered into as many as a chart has room for.

use crate::run::{Dollars, Run, Step};
use codelet_context::inspect::Kind;
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use std::ops::Range;

/// The most columns of a chart.
pub const COLUMNS: usize = 240;
/// What fills a window: what stands beside the messages, and the kinds of content.
pub const LAYERS: usize = Kind::ALL.len() + 1;

/// The name of a layer.
pub fn layer(at: usize) -> &'static str {
    match at.checked_sub(1) {
        None => "tools and head",
        Some(kind) => Kind::ALL.get(kind).map_or("", |kind| kind.name()),
    }
}

/// What a request holds of each layer, in tokens.
pub fn layers(step: &Step) -> [Tokens; LAYERS] {
    std::array::from_fn(|at| match at.checked_sub(1) {
        None => step.occupancy.fixed,
        Some(kind) => Kind::ALL.get(kind).map_or(0, |kind| step.occupancy.of(*kind)),
    })
}

/// Some requests in a row.
#[derive(Clone, PartialEq, Debug)]
pub struct Bucket {
    /// Which, counted from 0.
    pub steps: Range<usize>,
    /// The fullest of them, counted from 0.
    pub fullest: usize,
    /// What filled it.
    pub layers: [Tokens; LAYERS],
    /// What all of them sent and were answered.
    pub usage: Usage,
    /// What they cost.
    pub dollars: Dollars,
}

impl Bucket {
    /// Tokens of the fullest request.
    pub fn tokens(&self) -> Tokens {
        self.layers.iter().fold(0, |sum, tokens| sum.saturating_add(*tokens))
    }
}

/// The requests of a run, each in exactly one of at most [`COLUMNS`] buckets.
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

/// Where a request stands in the chart, 0 to 1: the beginning of its column.
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
            dollars: Dollars {
                output: 1.0,
                ..Dollars::default()
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
            left_out: 0,
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
