//! Token counts of a session: those of the last request, and the billed total.

use crate::budget::usage::{self, Usage};
use crate::message::tokens::Tokens;

/// The token counts of a session. The absolute figures are those of the last request, and each report overwrites them;
/// only [`TokenTracker::billed`] accumulates, and it never decreases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TokenTracker {
    /// The whole prompt of the last request, cached parts included.
    pub input: Tokens,
    /// The output tokens of the last reply.
    pub output: Tokens,
    /// The tokens that the last request read from the cache.
    pub cache_read: Tokens,
    /// The tokens that the last request wrote to the cache.
    pub cache_creation: Tokens,
    /// The thinking share of the last reply.
    pub reasoning: Tokens,
    /// True if the figures were recomputed after a compaction and no request has confirmed them yet; the cache figures
    /// are then stale.
    pub is_estimate: bool,
    /// The billed usage of all requests so far.
    pub billed: Usage,
}

impl TokenTracker {
    /// Records the usage report of a request; `reasoning` is the thinking share of the output. An interrupted reply is
    /// reported like any other.
    pub fn report(&mut self, usage: Usage, reasoning: Tokens) {
        *self = TokenTracker {
            input: usage.prompt(),
            output: usage.output,
            cache_read: usage.cache_read,
            cache_creation: usage.cache_write,
            reasoning: reasoning.min(usage.output),
            is_estimate: false,
            billed: self.billed.plus(usage),
        };
    }

    /// Sets the estimate of a rebuilt conversation, which holds until the next report. The cache figures are kept but
    /// stale: they refer to a prefix that is no longer sent.
    pub fn rebuilt(&mut self, estimate: Tokens) {
        self.input = estimate;
        self.output = 0;
        self.reasoning = 0;
        self.is_estimate = true;
    }

    /// The last prompt plus its reply.
    pub fn total(&self) -> Tokens {
        self.input.saturating_add(self.output)
    }

    /// The last prompt in effective tokens, a measure of its price. Stale cache figures save nothing, because the next
    /// request cannot read the prefix that they refer to.
    pub fn effective_tokens(&self, discount: f64) -> Tokens {
        let cache_read = if self.is_estimate { 0 } else { self.cache_read };
        usage::effective(self.input, cache_read, discount)
    }
}

/// The occupancy of the window, for display.
#[derive(Clone, PartialEq, Debug)]
pub struct TokenState {
    /// Tokens that currently fill the window.
    pub current: Tokens,
    /// Tokens at which a compaction is due: the window minus the reserved output.
    pub capacity: Tokens,
    /// The tokens left until then.
    pub remaining: Tokens,
    /// `current` as a percentage of `capacity`; above 100 if the limit is exceeded.
    pub percent_used: f64,
    /// The model that has this window.
    pub model: String,
    /// The time of the figures, in milliseconds since 1970-01-01 UTC, by the caller's clock.
    pub updated: u64,
}

impl TokenState {
    /// Creates the state for this occupancy and this limit.
    pub fn new(current: Tokens, capacity: Tokens, model: &str, updated: u64) -> Self {
        TokenState {
            current,
            capacity,
            remaining: capacity.saturating_sub(current),
            // With no capacity, any occupancy fills it.
            percent_used: match capacity {
                0 if current == 0 => 0.0,
                0 => 100.0,
                _ => 100.0 * current as f64 / capacity as f64,
            },
            model: model.to_owned(),
            updated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn usage(fresh: u64, cache_read: u64, cache_write: u64, output: u64) -> Usage {
        Usage {
            fresh,
            cache_read,
            cache_write,
            output,
        }
    }

    #[test]
    fn absolute_figures_overwrite_and_only_the_bill_adds_up() {
        let mut tracker = TokenTracker::default();
        tracker.report(usage(1_000, 0, 500, 100), 60);
        tracker.report(usage(10, 1_500, 90, 20), 500);
        assert_eq!((tracker.input, tracker.output, tracker.total()), (1_600, 20, 1_620));
        assert_eq!((tracker.cache_read, tracker.cache_creation), (1_500, 90));
        assert_eq!(tracker.reasoning, 20, "thinking is a share of the output");
        assert_eq!(tracker.billed, usage(1_010, 1_500, 590, 120));
    }

    #[test]
    fn after_a_compaction_the_figures_are_an_estimate_until_the_next_report() {
        let mut tracker = TokenTracker::default();
        tracker.report(usage(2_000, 180_000, 300, 900), 0);
        let billed = tracker.billed;
        tracker.rebuilt(41_900);
        assert!(tracker.is_estimate);
        assert_eq!((tracker.input, tracker.cache_read), (41_900, 180_000));
        assert_eq!(tracker.effective_tokens(0.9), 41_900, "a stale cache saves nothing");
        assert_eq!(tracker.billed, billed, "a compaction costs nothing");
        tracker.report(usage(100, 0, 42_000, 10), 0);
        assert!(!tracker.is_estimate);
        assert_eq!(tracker.input, 42_100);
    }

    #[test]
    fn a_window_without_room_is_full() {
        assert_eq!(TokenState::new(0, 0, "m", 1).percent_used, 0.0);
        assert_eq!(TokenState::new(7, 0, "m", 1).percent_used, 100.0);
        let state = TokenState::new(250, 200, "m", 1);
        assert_eq!((state.remaining, state.percent_used), (0, 125.0));
    }

    proptest! {
        #[test]
        fn the_bill_never_goes_down(reports in proptest::collection::vec(
            (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>()), 0..30,
        )) {
            let mut tracker = TokenTracker::default();
            for (fresh, read, write, output, rebuild) in reports {
                let before = tracker.billed;
                if rebuild { tracker.rebuilt(fresh) } else { tracker.report(usage(fresh, read, write, output), read) }
                let after = tracker.billed;
                prop_assert!(after.fresh >= before.fresh && after.cache_read >= before.cache_read);
                prop_assert!(after.cache_write >= before.cache_write && after.output >= before.output);
                prop_assert!(tracker.total() >= tracker.input);
                prop_assert!(tracker.reasoning <= tracker.output);
                prop_assert!(tracker.effective_tokens(0.9) <= tracker.input);
            }
        }
    }
}
