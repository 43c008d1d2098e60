//! Retries of failed requests: when to make them, how long to wait first, and how long they may be silent.

use crate::model::ModelError;
use std::time::Duration;

/// The limits on waiting for a provider that fails to answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Patience {
    /// The total wait of one request: the pauses between its tries, plus the silence that ended tries.
    pub total: Duration,
    /// True if the user has set [`total`](Self::total): then it also limits the silence of a first try, whatever the
    /// model's own time limit.
    pub is_named: bool,
    /// The number of retries for a provider that never answered in this session: a wrong address will not improve.
    pub stranger_tries: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            total: Duration::from_secs(120),
            is_named: false,
            stranger_tries: 2,
        }
    }
}

impl Patience {
    /// Returns the error that ends a run. If the provider asked for a longer wait than allowed, it says so: the user
    /// may be willing to wait.
    pub(crate) fn given_up(&self, error: ModelError, retries: &Retries) -> ModelError {
        match error {
            ModelError::Cut { said, had_begun } if retries.is_used_up => ModelError::Cut {
                said: format!("{said} (gave up after {} s)", self.total.as_secs()),
                had_begun,
            },
            ModelError::Busy {
                retry_after: Some(asked),
                said,
            } if asked > self.total => ModelError::Busy {
                retry_after: Some(asked),
                said: format!(
                    "{said} (it asks to wait {} s, and the setting `patience` is {} s: try again later, or raise it)",
                    asked.as_secs_f64().ceil(),
                    self.total.as_secs()
                ),
            },
            other => other,
        }
    }
}

/// The first wait if the provider names none; each further one doubles.
const FIRST: Duration = Duration::from_millis(500);
/// The shortest wait that counts as silence; anything shorter is always granted.
const SILENT: Duration = Duration::from_secs(1);
/// The minimum silence limit for a retry after a requested wait; a shorter one would make that wait pointless.
const ANSWERING: Duration = Duration::from_secs(10);
/// The longest wait, unless the provider asks for more.
const LONGEST: Duration = Duration::from_secs(30);
/// The number of retries after an unreadable answer; a server that garbles one usually garbles all.
const GARBLED_TRIES: u32 = 2;

/// The failures of one request so far.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Retries {
    made: u32,
    waited: Duration,
    /// True if the last try ended in silence, so that the next one may be silent only for the rest of the total.
    was_silent: bool,
    /// True if only the patience ran out.
    is_used_up: bool,
}

impl Retries {
    /// Returns how long to wait before the next try; `None` if there is none. `silence` is how long nothing had arrived
    /// when the try failed. `jitter`, from 0 to 1, spreads the waits of many sessions. `is_known` says that the
    /// provider has answered before in this session.
    pub(crate) fn after(
        &mut self,
        error: &ModelError,
        silence: Duration,
        patience: &Patience,
        is_known: bool,
        jitter: f64,
    ) -> Option<Duration> {
        let is_silent = matches!(error, ModelError::Cut { .. }) && silence >= SILENT;
        let had_begun = matches!(error, ModelError::Cut { had_begun: true, .. });
        if is_silent {
            self.waited = self.waited.saturating_add(silence);
        }
        let wait = match error {
            ModelError::Busy { retry_after, .. } => match retry_after {
                // The provider's explicit request: neither shortened nor spread below it.
                Some(asked) => asked.saturating_add(FIRST.mul_f64(share(jitter))),
                None => self.backoff(self.made, jitter),
            },
            ModelError::Cut { had_begun: true, .. } => match self.made {
                0 => Duration::ZERO,
                made => self.backoff(made - 1, jitter),
            },
            ModelError::Cut { .. } => {
                if !is_known && self.made >= patience.stranger_tries {
                    return None;
                }
                self.backoff(self.made, jitter)
            }
            ModelError::Garbled { .. } => {
                if self.made >= GARBLED_TRIES {
                    return None;
                }
                self.backoff(self.made, jitter)
            }
            ModelError::TooLong { .. }
            | ModelError::OutputLimit { .. }
            | ModelError::Credentials { .. }
            | ModelError::Rejected { .. }
            | ModelError::Rewritten { .. }
            | ModelError::Refused { .. } => return None,
        };
        if self.made >= MOST {
            return None;
        }
        let waited = self.waited.saturating_add(wait);
        // A retry needs room for at least a moment of silence.
        let least = if is_silent && !had_begun {
            SILENT
        } else {
            Duration::ZERO
        };
        // The first stream that breaks off is always retried, however long its silence was: the provider is reachable.
        let is_free = had_begun && self.made == 0;
        if waited.saturating_add(least) > patience.total && !is_free {
            self.is_used_up = true;
            return None;
        }
        self.made += 1;
        self.waited = waited;
        self.was_silent = is_silent && !had_begun;
        Some(wait)
    }

    /// Returns how long the current try may be silent before its first sign of life, besides its own time limit. A try
    /// after a silent one gets the rest of the total. Any other keeps its own limit, as a self-hosted server may need
    /// minutes to read the prompt, unless the user has set a limit.
    pub(crate) fn most_silence(&self, patience: &Patience) -> Option<Duration> {
        let left = patience.total.saturating_sub(self.waited);
        if self.was_silent {
            Some(left)
        } else {
            patience.is_named.then(|| left.max(ANSWERING.min(patience.total)))
        }
    }

    /// Returns whether a retry follows if the current try ends after this much silence.
    pub(crate) fn goes_on_after(
        &self,
        silence: Duration,
        had_begun: bool,
        patience: &Patience,
        is_known: bool,
    ) -> bool {
        let cut = ModelError::Cut {
            said: String::new(),
            had_begun,
        };
        let mut retries = *self;
        retries.after(&cut, silence, patience, is_known, 1.0).is_some()
    }

    pub(crate) fn made(&self) -> u32 {
        self.made
    }

    /// Returns a wait between half of the doubled wait and all of it.
    fn backoff(&self, doublings: u32, jitter: f64) -> Duration {
        let whole = FIRST.saturating_mul(1 << doublings.min(10)).min(LONGEST);
        whole.mul_f64(0.5 + share(jitter) / 2.0)
    }
}

/// Clamps to a share from 0 to 1.
fn share(jitter: f64) -> f64 {
    if jitter.is_nan() { 1.0 } else { jitter.clamp(0.0, 1.0) }
}

/// The maximum number of retries: each stream that is cut at once costs money.
const MOST: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: ModelError = ModelError::Busy {
        retry_after: None,
        said: String::new(),
    };

    fn waits(error: &ModelError, is_known: bool) -> Vec<u128> {
        let mut retries = Retries::default();
        std::iter::from_fn(|| retries.after(error, Duration::ZERO, &Patience::default(), is_known, 1.0))
            .map(|wait| wait.as_millis())
            .collect()
    }

    #[test]
    fn waits_double_up_to_half_a_minute_and_end_after_two() {
        let waits = waits(&BUSY, true);
        assert_eq!(waits[..7], [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
        assert_eq!(waits.len(), 8);
        assert!(waits.iter().sum::<u128>() <= 120_000);
    }

    #[test]
    fn whoever_gives_up_says_how_long_the_provider_asked_for() {
        let busy = |seconds| ModelError::Busy {
            retry_after: Some(Duration::from_secs(seconds)),
            said: "slow down".to_owned(),
        };
        let patience = Patience::default();
        assert_eq!(
            patience.given_up(busy(600), &Retries::default()).to_string(),
            "the provider is busy: slow down (it asks to wait 600 s, and the setting `patience` is 120 s: try again later, or raise it)"
        );
        assert_eq!(patience.given_up(busy(60), &Retries::default()), busy(60));
    }

    #[test]
    fn what_the_provider_asks_for_is_waited_in_full_or_not_at_all() {
        let asked = |seconds| ModelError::Busy {
            retry_after: Some(Duration::from_secs(seconds)),
            said: String::new(),
        };
        let mut retries = Retries::default();
        let mut after = |seconds| retries.after(&asked(seconds), Duration::ZERO, &Patience::default(), true, 0.0);
        let wait = after(17);
        assert_eq!(wait, Some(Duration::from_secs(17)));
        assert_eq!(after(300), None);
    }

    #[test]
    fn a_cut_stream_is_asked_for_again_at_once_and_then_more_slowly() {
        let cut = ModelError::Cut {
            said: String::new(),
            had_begun: true,
        };
        let waits = waits(&cut, true);
        assert_eq!(waits[..3], [0, 500, 1_000]);
        assert!(waits.len() <= MOST as usize);
    }

    #[test]
    fn a_provider_that_never_answered_is_given_up_soon() {
        let unreachable = ModelError::Cut {
            said: String::new(),
            had_begun: false,
        };
        assert_eq!(waits(&unreachable, false).len(), 2);
        assert_eq!(waits(&unreachable, true).len(), 8);
    }

    fn silent(had_begun: bool) -> ModelError {
        ModelError::Cut {
            said: "nothing came".to_owned(),
            had_begun,
        }
    }

    /// Returns the total wait for a provider that never says anything, if its own time limit is `limit`, and the number
    /// of tries.
    fn borne(limit: u64, patience: Patience, is_known: bool) -> (Duration, u32) {
        let mut retries = Retries::default();
        let (mut all, mut tries) = (Duration::ZERO, 0);
        loop {
            let most = retries.most_silence(&patience).unwrap_or(Duration::MAX);
            let silence = Duration::from_secs(limit).min(most);
            (all, tries) = (all + silence, tries + 1);
            match retries.after(&silent(false), silence, &patience, is_known, 1.0) {
                Some(pause) => all += pause,
                None => return (all, tries),
            }
        }
    }

    #[test]
    fn silence_counts_into_the_wait_and_the_last_try_has_what_is_left() {
        let of = |seconds| Patience {
            total: Duration::from_secs(seconds),
            ..Patience::default()
        };
        for is_known in [true, false] {
            assert_eq!(borne(60, Patience::default(), is_known), (Duration::from_secs(120), 2));
            assert_eq!(borne(5, of(8), is_known), (Duration::from_secs(8), 2));
            // A self-hosted server gets its quarter of an hour, once.
            assert_eq!(borne(900, Patience::default(), is_known), (Duration::from_secs(900), 1));
        }
    }

    #[test]
    fn a_patience_that_the_user_has_named_bounds_every_silence() {
        let named = |seconds| Patience {
            total: Duration::from_secs(seconds),
            is_named: true,
            ..Patience::default()
        };
        for (limit, patience) in [(900, 4), (900, 120), (60, 30), (60, 59)] {
            for is_known in [true, false] {
                let expected = (Duration::from_secs(patience), 1);
                assert_eq!(borne(limit, named(patience), is_known), expected, "{limit} {patience}");
            }
        }
        // A limit above the model's own does not change the model's limit.
        assert_eq!(borne(60, named(120), true), (Duration::from_secs(120), 2));
        assert_eq!(borne(900, named(3_600), true), (Duration::from_secs(3_600), 4));
    }

    #[test]
    fn who_waited_as_asked_is_given_the_time_of_an_answer() {
        let mut retries = Retries::default();
        let patience = Patience {
            total: Duration::from_secs(60),
            is_named: true,
            ..Patience::default()
        };
        let asked = ModelError::Busy {
            retry_after: Some(Duration::from_secs(57)),
            said: String::new(),
        };
        assert!(retries.after(&asked, Duration::ZERO, &patience, true, 1.0).is_some());
        assert_eq!(retries.most_silence(&patience), Some(ANSWERING));
    }

    #[test]
    fn a_try_after_words_of_the_provider_has_its_own_time() {
        let patience = Patience::default();
        let mut retries = Retries::default();
        retries.after(&silent(false), Duration::from_secs(60), &patience, true, 1.0);
        assert_eq!(retries.most_silence(&patience), Some(Duration::from_millis(59_500)));
        retries.after(&BUSY, Duration::from_secs(3), &patience, true, 1.0);
        assert_eq!(retries.most_silence(&patience), None);
    }

    #[test]
    fn a_stream_that_went_silent_is_asked_for_once_more_however_long_that_took() {
        let patience = Patience::default();
        let mut retries = Retries::default();
        let long = Duration::from_secs(300);
        assert!(retries.goes_on_after(long, true, &patience, true));
        assert_eq!(
            retries.after(&silent(true), long, &patience, true, 1.0),
            Some(Duration::ZERO)
        );
        assert_eq!(retries.most_silence(&patience), None);
        assert!(!retries.goes_on_after(long, true, &patience, true));
        assert_eq!(retries.after(&silent(true), long, &patience, true, 1.0), None);
        let told = patience.given_up(silent(true), &retries).to_string();
        assert!(told.ends_with("nothing came (gave up after 120 s)"), "{told}");
    }

    #[test]
    fn what_another_try_cannot_mend_is_not_tried() {
        for error in [
            ModelError::TooLong {
                limit: None,
                counted: None,
                said: String::new(),
            },
            ModelError::OutputLimit {
                limit: Some(4_096),
                said: String::new(),
            },
            ModelError::Credentials { said: String::new() },
            ModelError::Refused { said: String::new() },
        ] {
            assert!(waits(&error, true).is_empty());
        }
        assert_eq!(waits(&ModelError::Garbled { said: String::new() }, true).len(), 2);
    }

    #[test]
    fn jitter_only_shortens_and_never_below_half() {
        for jitter in [-1.0, 0.0, 0.3, 1.0, 9.0, f64::NAN] {
            let wait = Retries::default().after(&BUSY, Duration::ZERO, &Patience::default(), true, jitter);
            assert!(wait >= Some(FIRST / 2) && wait <= Some(FIRST), "{wait:?}");
        }
    }
}
