//! The token usage of a reply, in four counts that never overlap.

use crate::message::tokens::Tokens;

/// The share of a cached token's price that is saved by reading it, unless a price card says otherwise.
pub const DISCOUNT: f64 = 0.9;

/// The token usage of one reply. The four parts never overlap, so every total is a plain sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Usage {
    /// Prompt tokens neither read from a cache nor written to one.
    pub fresh: Tokens,
    /// Prompt tokens read from the cache.
    pub cache_read: Tokens,
    /// Prompt tokens written to the cache.
    pub cache_write: Tokens,
    /// Output tokens, thinking included.
    pub output: Tokens,
}

impl Usage {
    /// Converts the counts of a vendor whose prompt count excludes both cache counts.
    pub fn from_exclusive(uncached: Tokens, cache_write: Tokens, cache_read: Tokens, output: Tokens) -> Self {
        Usage {
            fresh: uncached,
            cache_read,
            cache_write,
            output,
        }
    }

    /// Converts the counts of a vendor whose prompt count includes the cached part. A cached count larger than the
    /// prompt is a false report and is taken to be the whole prompt.
    pub fn from_inclusive(prompt: Tokens, cached: Tokens, output: Tokens) -> Self {
        let cache_read = cached.min(prompt);
        Usage {
            fresh: prompt - cache_read,
            cache_read,
            cache_write: 0,
            output,
        }
    }

    /// The sum of both, part by part.
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            fresh: self.fresh.saturating_add(other.fresh),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
        }
    }

    /// All prompt tokens. They fill the window: a cached token takes as much room as any other.
    pub fn prompt(self) -> Tokens {
        self.fresh
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// All prompt and output tokens.
    pub fn total(self) -> Tokens {
        self.prompt().saturating_add(self.output)
    }

    /// The prompt in effective tokens, a measure of its price in which cache reads save this share (0 to 1, see
    /// [`DISCOUNT`]). It says nothing about room in the window.
    pub fn effective_tokens(self, discount: f64) -> Tokens {
        effective(self.prompt(), self.cache_read, discount)
    }
}

/// `prompt − discount × cache_read`, at least 0.
pub(crate) fn effective(prompt: Tokens, cache_read: Tokens, discount: f64) -> Tokens {
    // A NaN discount saves nothing; the cast from float to integer saturates.
    let discount = if discount.is_nan() {
        0.0
    } else {
        discount.clamp(0.0, 1.0)
    };
    prompt.saturating_sub((cache_read as f64 * discount).round() as Tokens)
}

/// The raw counts that a vendor has reported so far for one reply. A streamed reply reports more than once, and each
/// report has absolute figures: the last value of each field wins, and nothing is summed. Normalise when the stream
/// ends or is interrupted: some counts may arrive only with the last event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reported {
    /// The vendor's prompt count, with or without the cached parts.
    pub prompt: Option<Tokens>,
    /// Tokens read from the cache.
    pub cache_read: Option<Tokens>,
    /// Tokens written to the cache.
    pub cache_write: Option<Tokens>,
    /// Output tokens.
    pub output: Option<Tokens>,
    /// The thinking share of the output.
    pub reasoning: Option<Tokens>,
}

impl Reported {
    /// Updates the counts from a later event; fields that it leaves out keep their values.
    pub fn update(&mut self, later: Reported) {
        self.prompt = later.prompt.or(self.prompt);
        self.cache_read = later.cache_read.or(self.cache_read);
        self.cache_write = later.cache_write.or(self.cache_write);
        self.output = later.output.or(self.output);
        self.reasoning = later.reasoning.or(self.reasoning);
    }

    /// The usage, for a prompt count that excludes both cache counts. Missing counts are zero.
    pub fn exclusive(&self) -> Usage {
        Usage::from_exclusive(
            self.prompt.unwrap_or(0),
            self.cache_write.unwrap_or(0),
            self.cache_read.unwrap_or(0),
            self.output.unwrap_or(0),
        )
    }

    /// The usage, for a prompt count that includes both cache counts.
    pub fn inclusive(&self) -> Usage {
        let usage = Usage::from_inclusive(
            self.prompt.unwrap_or(0),
            self.cache_read.unwrap_or(0),
            self.output.unwrap_or(0),
        );
        let cache_write = self.cache_write.unwrap_or(0).min(usage.fresh);
        Usage {
            fresh: usage.fresh - cache_write,
            cache_write,
            ..usage
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_exclusive_count_adds_the_cache_and_an_inclusive_one_holds_it() {
        let exclusive = Usage::from_exclusive(100, 20, 300, 7);
        let inclusive = Usage::from_inclusive(420, 300, 7);
        assert_eq!(exclusive.prompt(), inclusive.prompt());
        assert_eq!(exclusive.total(), 427);
        assert_eq!(inclusive.fresh, 120);
    }

    #[test]
    fn a_cached_part_larger_than_the_prompt_never_goes_below_nothing() {
        let usage = Usage::from_inclusive(100, 500, 0);
        assert_eq!((usage.fresh, usage.cache_read, usage.prompt()), (0, 100, 100));
        assert_eq!(effective(100, 500, 0.9), 0);
    }

    #[test]
    fn the_last_value_of_each_field_wins_and_nothing_is_summed() {
        let mut reported = Reported::default();
        for (prompt, cache_read, output) in [
            (Some(2_095), Some(80_000), Some(1)),
            (None, None, Some(40)),
            (Some(2_095), None, Some(310)),
        ] {
            reported.update(Reported {
                prompt,
                cache_read,
                output,
                ..Reported::default()
            });
        }
        let usage = reported.exclusive();
        assert_eq!((usage.prompt(), usage.output), (82_095, 310));
    }

    #[test]
    fn a_cached_part_that_arrives_late_is_not_counted_twice() {
        let mut reported = Reported {
            prompt: Some(100_000),
            ..Reported::default()
        };
        reported.update(Reported {
            cache_read: Some(80_000),
            cache_write: Some(5_000),
            ..Reported::default()
        });
        let usage = reported.inclusive();
        assert_eq!(usage.prompt(), 100_000);
        assert_eq!((usage.fresh, usage.cache_write), (15_000, 5_000));
    }

    #[test]
    fn an_interrupted_answer_still_counts_what_was_reported() {
        let mut reported = Reported::default();
        reported.update(Reported {
            prompt: Some(900),
            output: Some(3),
            ..Reported::default()
        });
        // The stream ends here, without its last event.
        assert_eq!(reported.exclusive().total(), 903);
    }

    proptest! {
        #[test]
        fn the_four_counts_add_up_and_the_price_never_exceeds_the_room(
            prompt in any::<u64>(), read in any::<u64>(), write in any::<u64>(), output in any::<u64>(),
            discount in prop_oneof![-2.0..2.0f64, Just(f64::NAN), Just(f64::INFINITY)],
        ) {
            let raw = Reported {
                prompt: Some(prompt), cache_read: Some(read), cache_write: Some(write), output: Some(output), reasoning: None,
            };
            prop_assert_eq!(raw.inclusive().prompt(), prompt);
            for usage in [raw.inclusive(), raw.exclusive()] {
                prop_assert!(usage.effective_tokens(discount) <= usage.prompt());
                prop_assert!(usage.total() >= usage.prompt());
            }
        }
    }
}
