//! The compaction policy: decides when to compact and when to stop trying; the caller acts.

mod guard;

pub(crate) use guard::Fixed;
pub use guard::Stuck;
#[doc(hidden)] // How a session keeps from compacting in a loop; nobody else needs them.
pub use guard::{Guard, Progress};

use crate::budget::usage::DISCOUNT;
use crate::message::tokens::Tokens;

/// The share of the trigger below which a compaction has clearly helped; above it, the next steps would compact again.
pub(crate) const CLEARLY_BELOW: f64 = 0.8;
/// The maximum share of the trigger for a conversation whose newest prompt no model has seen; the rest allows for
/// errors of the estimate and for the first steps. It is low enough for the compaction to count as progress.
pub(crate) const UNSEEN_PROMPT: f64 = 0.85;
/// The share of the trigger that a compaction aims at, so that a conversation at the trigger becomes 60 % smaller.
pub(crate) const AIM: f64 = 0.4;
/// The share of a refused request that is tried next if the provider names no limit.
const SHRINK: f64 = 0.9;
/// A reply reserves at most the window divided by this.
const REPLY_SHARE: Tokens = 4;
/// The minimum window, in tokens, that is assumed if the provider names no limit: no model has a smaller one.
const SMALLEST_WINDOW: Tokens = 2_000;

/// The user's setting for automatic compaction.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum CompactAt {
    /// At a full window.
    #[default]
    Full,
    /// At this share of the window (0 to 1) at the latest.
    Share(f64),
    /// Never: a full window ends the run, and the user compacts.
    Never,
}

/// The settings that determine when a session compacts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CompactionConfig {
    /// The share of the window (0 to 1) that effective tokens may reach.
    pub threshold_percent: f64,
    /// The model's limit, in tokens.
    pub context_window: Tokens,
    /// The maximum tokens of a reply; this many tokens of the window are kept [free](Self::reserved), but at most a
    /// quarter.
    pub reserved_output: Tokens,
    /// The share of a cached token's price that is saved by reading it, 0 to 1.
    pub discount: f64,
    /// The user's setting for automatic compaction.
    pub compact_at: CompactAt,
    learned: Option<Tokens>,
}

impl CompactionConfig {
    /// The default settings for a model with this window: a threshold of 0.9, the default discount, and nothing
    /// reserved.
    pub fn new(context_window: Tokens) -> Self {
        CompactionConfig {
            threshold_percent: 0.9,
            context_window,
            reserved_output: 0,
            discount: DISCOUNT,
            compact_at: CompactAt::Full,
            learned: None,
        }
    }

    /// Reserves this many tokens of the window for the reply, but at most a quarter of the window.
    pub fn reserving(mut self, output: Tokens) -> Self {
        self.reserved_output = output;
        self
    }

    /// The effective window: the one that the provider named when it refused a request, or else the configured one.
    pub fn window(&self) -> Tokens {
        self.learned.unwrap_or(self.context_window)
    }

    /// The window tokens reserved for the reply: at most a quarter, so that a small window, configured or learned,
    /// holds a conversation too.
    pub fn reserved(&self) -> Tokens {
        self.reserved_output.min(self.window() / REPLY_SHARE)
    }

    /// The maximum occupancy of a request: the window minus the reserved tokens.
    pub fn limit(&self) -> Tokens {
        self.window() - self.reserved()
    }

    /// The maximum permitted occupancy: the limit, or the user's share of the window if that is less.
    fn ceiling(&self) -> Tokens {
        match self.compact_at {
            CompactAt::Share(share) => self.limit().min((self.window() as f64 * share + 1e-6) as Tokens),
            CompactAt::Full | CompactAt::Never => self.limit(),
        }
    }

    /// The maximum permitted effective tokens.
    fn threshold(&self) -> Tokens {
        // A float product such as 0.9 × window may fall slightly short of the intended integer.
        (self.window() as f64 * self.threshold_percent + 1e-6) as Tokens
    }

    /// Returns whether a prompt with this price in effective tokens exceeds the threshold. This is about cost only: it
    /// may return false one step before a request is refused.
    pub fn should_compact(&self, effective: Tokens) -> bool {
        effective > self.threshold() && self.compact_at != CompactAt::Never
    }

    /// The occupancy at which a compaction is due: the limit, or the threshold or the user's share if that is lower.
    pub fn trigger(&self) -> Tokens {
        self.ceiling().min(self.threshold())
    }

    /// The size that a compaction aims at: far enough below the trigger that the next one is many steps away.
    pub fn target(&self) -> Tokens {
        (self.trigger() as f64 * AIM) as Tokens
    }

    /// Records that the provider refused a request of about `tried` tokens as too long. The limit that it names
    /// replaces the configured one for the session. If it names none, the window is taken to be nine tenths of the
    /// request or of the current window, whichever is smaller, so that each refusal leads to a smaller request.
    pub fn refused(&mut self, named: Option<Tokens>, tried: Tokens) {
        let window = match named {
            Some(limit) if limit > 0 => limit,
            _ => {
                let refused = if tried == 0 {
                    self.window()
                } else {
                    tried.min(self.window())
                };
                let shrunk = (refused as f64 * SHRINK) as Tokens;
                shrunk.max(SMALLEST_WINDOW.min(self.window()))
            }
        };
        self.learned = Some(window);
    }

    /// Decides whether to compact before the next request; returns the reason.
    ///
    /// | reason | when |
    /// |---|---|
    /// | [`Reason::Refused`] | the provider has just refused the request as too long |
    /// | [`Reason::Asked`] | the user requests it |
    /// | [`Reason::Full`] | the next request's occupancy exceeds [`limit`](Self::limit) or [`CompactAt::Share`] |
    /// | [`Reason::Wished`] | the model requests it, and it was [granted](crate::conversation::Conversation::wished) |
    /// | [`Reason::Price`] | effective tokens exceed the threshold, or the rent makes an edit due |
    /// | [`Reason::Cold`] | the cache has expired and something can be removed, so that the edit is free |
    ///
    /// If several apply, the first in this order is the reason: a provider's refusal is certain, the user's request
    /// precedes an estimate, and cost comes last.
    pub fn decide(&self, now: &Pressure) -> Option<Reason> {
        if now.is_refused {
            Some(Reason::Refused)
        } else if now.is_asked {
            Some(Reason::Asked)
        } else if now.occupancy > self.ceiling() {
            Some(Reason::Full)
        } else if now.is_wished {
            Some(Reason::Wished)
        } else if self.should_compact(now.effective) || (now.is_rent_due && now.removable > 0) {
            Some(Reason::Price)
        } else if now.is_cold && now.removable > 0 {
            Some(Reason::Cold)
        } else {
            None
        }
    }
}

/// The conditions between two requests that may call for a compaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pressure {
    /// Tokens that the next request will occupy.
    pub occupancy: Tokens,
    /// The price of the last prompt in effective tokens; see [`Usage::effective_tokens`](crate::budget::usage::Usage::effective_tokens).
    pub effective: Tokens,
    /// Tokens that an edit could remove.
    pub removable: Tokens,
    /// True if the rent of removable tokens has reached that at which an edit is due.
    pub is_rent_due: bool,
    /// True if the cache has expired.
    pub is_cold: bool,
    /// True if the user requests a compaction.
    pub is_asked: bool,
    /// True if the model requests a compaction.
    pub is_wished: bool,
    /// True if the provider has just refused the request as too long.
    pub is_refused: bool,
}

/// The reason for changing history that was already sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Reason {
    /// The next request would not fit.
    Full,
    /// Going on costs more than compacting.
    Price,
    /// The user requested it.
    Asked,
    /// The model requested it.
    Wished,
    /// The provider refused the request as too long.
    Refused,
    /// The cache has expired, so an edit is free.
    Cold,
    /// The provider does not accept a part of it or has refused to answer.
    Rejected,
}

codelet_text::named! {
    Reason {
        Full = "full",
        Price = "price",
        Asked = "asked",
        Wished = "wished",
        Refused = "refused",
        Cold = "cold",
        Rejected = "rejected",
    }
}

impl Reason {
    /// Returns whether the session cannot go on without a compaction.
    pub fn is_forced(self) -> bool {
        matches!(self, Reason::Full | Reason::Refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn config() -> CompactionConfig {
        CompactionConfig::new(200_000).reserving(8_000)
    }

    #[test]
    fn each_pressure_has_its_reason_and_the_hardest_comes_first() {
        let calm = Pressure {
            occupancy: 50_000,
            effective: 20_000,
            removable: 10_000,
            ..Pressure::default()
        };
        let table = [
            (calm, None),
            (
                Pressure {
                    occupancy: 192_000,
                    ..calm
                },
                None,
            ),
            (
                Pressure {
                    occupancy: 192_001,
                    ..calm
                },
                Some(Reason::Full),
            ),
            (
                Pressure {
                    effective: 180_000,
                    ..calm
                },
                None,
            ),
            (
                Pressure {
                    effective: 180_001,
                    ..calm
                },
                Some(Reason::Price),
            ),
            (
                Pressure {
                    is_rent_due: true,
                    ..calm
                },
                Some(Reason::Price),
            ),
            (
                Pressure {
                    is_rent_due: true,
                    removable: 0,
                    ..calm
                },
                None,
            ),
            (Pressure { is_cold: true, ..calm }, Some(Reason::Cold)),
            (
                Pressure {
                    is_cold: true,
                    removable: 0,
                    ..calm
                },
                None,
            ),
            (Pressure { is_asked: true, ..calm }, Some(Reason::Asked)),
            (
                Pressure {
                    is_refused: true,
                    ..calm
                },
                Some(Reason::Refused),
            ),
            (
                Pressure {
                    is_cold: true,
                    is_rent_due: true,
                    ..calm
                },
                Some(Reason::Price),
            ),
            (
                Pressure {
                    occupancy: 199_000,
                    effective: 199_000,
                    ..calm
                },
                Some(Reason::Full),
            ),
            (
                Pressure {
                    occupancy: 199_000,
                    is_asked: true,
                    ..calm
                },
                Some(Reason::Asked),
            ),
            (
                Pressure {
                    occupancy: 199_000,
                    is_asked: true,
                    is_refused: true,
                    ..calm
                },
                Some(Reason::Refused),
            ),
        ];
        for (now, expected) in table {
            assert_eq!(config().decide(&now), expected, "{now:?}");
        }
    }

    #[test]
    fn a_limit_that_the_provider_names_replaces_the_configured_one() {
        let mut config = config();
        config.refused(Some(128_000), 150_000);
        assert_eq!(config.window(), 128_000);
        assert_eq!(config.limit(), 120_000);
        assert_eq!(config.context_window, 200_000, "what was configured stands beside it");
        config.refused(Some(1_000_000), 150_000);
        assert_eq!(config.window(), 1_000_000, "a larger one too: the provider knows");
    }

    #[test]
    fn a_window_that_is_learned_is_divided_as_one_that_is_told() {
        for window in [4_096, 16_384, 32_000, 64_000, 200_000, 1_000_000] {
            let told = CompactionConfig::new(window).reserving(32_000);
            for configured in [8_192, 128_000, 2_000_000] {
                let mut learned = CompactionConfig::new(configured).reserving(32_000);
                learned.refused(Some(window), 0);
                assert_eq!(learned.reserved(), told.reserved(), "{window} after {configured}");
                assert_eq!(learned.trigger(), told.trigger(), "{window} after {configured}");
                assert_eq!(learned.limit(), window - 32_000.min(window / 4));
            }
        }
    }

    #[test]
    fn a_refusal_without_a_number_shrinks_the_window_below_what_was_tried() {
        let mut config = config();
        config.refused(None, 150_000);
        assert_eq!(config.window(), 135_000);
        config.refused(Some(0), 160_000);
        assert_eq!(
            config.window(),
            121_500,
            "never above what is already known to be too long"
        );
        for _ in 0..200 {
            config.refused(None, 0);
        }
        assert_eq!(config.window(), SMALLEST_WINDOW);
    }

    #[test]
    fn a_reservation_never_takes_the_whole_window() {
        assert_eq!(CompactionConfig::new(8_000).reserving(64_000).limit(), 6_000);
        assert_eq!(CompactionConfig::new(0).reserving(5).limit(), 0);
    }

    proptest! {
        #[test]
        fn the_target_is_clearly_below_the_trigger(
            window in 100u64..2_000_000, reserved in any::<u64>(), threshold in 0.1..1.0f64,
        ) {
            let mut config = CompactionConfig::new(window).reserving(reserved);
            config.threshold_percent = threshold;
            prop_assert!(config.target() as f64 <= config.trigger() as f64 * CLEARLY_BELOW);
            prop_assert!(config.limit() <= config.window());
            let reached = Guard::default().after_compaction(config.trigger() + 1, config.target(), &config);
            prop_assert_eq!(reached, Progress::Clear);
        }

        #[test]
        fn a_refusal_never_leads_to_a_larger_request(window in any::<u64>(), tried in any::<u64>()) {
            let mut config = CompactionConfig::new(window);
            config.refused(None, tried);
            prop_assert!(config.window() <= window);
        }
    }
}
