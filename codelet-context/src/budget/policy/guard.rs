//! The guard against compaction loops: counts compactions that did not help and, if nothing fits, names the largest
//! part that stays.

use super::{CLEARLY_BELOW, CompactionConfig};
use crate::message::tokens::Tokens;
use thiserror::Error;

/// The minimum share of the conversation that a compaction which ends close to the trigger must remove to count as
/// progress.
const LEAST_GAIN: f64 = 0.1;
/// The number of compactions without progress that ends the session's attempts.
const ATTEMPTS: u32 = 3;

/// Counts compactions that did not help, so that a session never compacts in a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Guard {
    /// The number in a row that gained nothing, whether or not the next request fits.
    without_progress: u32,
    /// The number in a row after which the next request still did not fit.
    too_large: u32,
}

/// The result of a compaction relative to the trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The occupancy is clearly below the trigger.
    Clear,
    /// It fell by a tenth or more and is below the trigger, but close to it: the next compaction is near.
    Close,
    /// It did not help.
    None,
    /// The next request does not fit for the third time in a row: compacting again would be a loop.
    Stop,
}

/// The conversation cannot be made to fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "{ATTEMPTS} compactions in a row made no progress: {before} → {after} tokens, and {trigger} trigger the next; the largest part \
     that stays is {}, with {} tokens: {}, or use a model with a larger context window",
    .heaviest.0.words().0, .heaviest.1, .heaviest.0.words().1
)]
pub struct Stuck {
    /// Tokens before the last compaction.
    pub(crate) before: Tokens,
    /// Tokens after it.
    pub(crate) after: Tokens,
    /// The occupancy that triggers a compaction.
    pub(crate) trigger: Tokens,
    /// The largest part that stays, with its tokens.
    pub(crate) heaviest: (Fixed, Tokens),
}

/// The parts that every compaction keeps, whole or shortened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Fixed {
    /// The tool definitions.
    Tools,
    /// The system prompt.
    System,
    /// Instructions and other reminders.
    Reminders,
    /// The user's pins.
    Pins,
    /// The user's prompts.
    Prompts,
    /// The last step.
    LastStep,
}

impl Fixed {
    /// Returns a description and what a user can do about it.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Fixed::Tools => ("the definitions of tools", "use fewer MCP servers"),
            Fixed::System => ("the system prompt", "append less to it"),
            Fixed::Reminders => ("instructions and other reminders", "shorten the files of instructions"),
            Fixed::Pins => ("what is pinned", "remove pins"),
            Fixed::Prompts => ("the prompts of this session", "start a new session"),
            Fixed::LastStep => ("the last step", "start a new session"),
        }
    }
}

impl Guard {
    /// Records a compaction from `before` to `after` tokens, on the same basis, in a session with these settings. A
    /// result below the limit can be sent, so it never stops a session, however little was gained.
    pub fn after_compaction(&mut self, before: Tokens, after: Tokens, config: &CompactionConfig) -> Progress {
        let trigger = config.trigger();
        let gained = before.saturating_sub(after) as f64 >= before as f64 * LEAST_GAIN && after < before;
        // This includes conversations that were below from the start and were compacted on request or because the cache
        // was cold.
        if after as f64 <= trigger as f64 * CLEARLY_BELOW {
            self.reset();
            return Progress::Clear;
        }
        if after <= trigger && gained {
            self.reset();
            return Progress::Close;
        }
        self.without_progress = self.without_progress.saturating_add(1);
        self.too_large = match after > config.limit() {
            true => self.too_large.saturating_add(1),
            false => 0,
        };
        match self.too_large >= ATTEMPTS {
            true => Progress::Stop,
            false => Progress::None,
        }
    }

    /// Returns whether enough compactions in a row gained nothing that only those needed to go on should be made.
    pub(crate) fn is_in_vain(&self) -> bool {
        self.without_progress >= ATTEMPTS
    }

    /// Restarts the count after the user has removed a pin, changed the model or the like.
    pub(crate) fn reset(&mut self) {
        *self = Guard::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 200,000 tokens with this limit; the trigger is at most 180,000.
    fn limited_to(limit: Tokens) -> CompactionConfig {
        CompactionConfig::new(200_000).reserving(200_000 - limit)
    }

    #[test]
    fn three_compactions_without_progress_stop_the_attempts() {
        let config = limited_to(180_000);
        let mut guard = Guard::default();
        assert_eq!(guard.after_compaction(195_000, 194_000, &config), Progress::None);
        assert_eq!(guard.after_compaction(196_000, 193_000, &config), Progress::None);
        assert_eq!(guard.after_compaction(196_000, 196_000, &config), Progress::Stop);
        guard.reset();
        assert_eq!(guard.after_compaction(196_000, 196_000, &config), Progress::None);
    }

    #[test]
    fn what_can_be_sent_never_stops_the_session_and_is_not_compacted_for_money() {
        for config in [limited_to(180_000), limited_to(200_000)] {
            let mut guard = Guard::default();
            for time in 1..20 {
                let after = config.limit() - 1;
                assert_eq!(guard.after_compaction(after + 5, after, &config), Progress::None);
                assert_eq!(guard.is_in_vain(), time >= 3);
            }
            // Only those after which the request does not fit count.
            let over = config.limit() + 1;
            assert_eq!(guard.after_compaction(over, over, &config), Progress::None);
            assert_eq!(guard.after_compaction(over, over, &config), Progress::None);
            assert_eq!(guard.after_compaction(over, over, &config), Progress::Stop);
        }
    }

    #[test]
    fn progress_begins_the_count_anew() {
        let config = limited_to(180_000);
        let mut guard = Guard::default();
        guard.after_compaction(195_000, 194_000, &config);
        guard.after_compaction(195_000, 194_000, &config);
        assert_eq!(guard.after_compaction(195_000, 42_000, &config), Progress::Clear);
        assert_eq!(guard.after_compaction(195_000, 194_000, &config), Progress::None);
        assert_eq!(guard.after_compaction(195_000, 170_000, &config), Progress::Close);
        assert_eq!(
            guard.after_compaction(181_000, 179_000, &config),
            Progress::None,
            "a step later it is full again"
        );
    }

    #[test]
    fn a_conversation_that_was_small_from_the_start_is_no_failure() {
        assert_eq!(
            Guard::default().after_compaction(900, 900, &limited_to(180_000)),
            Progress::Clear
        );
    }

    #[test]
    fn the_heaviest_of_what_stays_is_named_with_what_to_do_about_it() {
        let told = |part| {
            let stuck = Stuck {
                before: 196_000,
                after: 195_000,
                trigger: 180_000,
                heaviest: (part, 4_321),
            };
            stuck.to_string()
        };
        for (part, words) in [
            (
                Fixed::Tools,
                "definitions of tools, with 4321 tokens: use fewer MCP servers",
            ),
            (
                Fixed::Reminders,
                "reminders, with 4321 tokens: shorten the files of instructions",
            ),
            (Fixed::Pins, "pinned, with 4321 tokens: remove pins"),
        ] {
            assert!(told(part).contains(words), "{}", told(part));
            assert!(
                told(part).contains("196000 → 195000 tokens, and 180000"),
                "{}",
                told(part)
            );
        }
    }
}
