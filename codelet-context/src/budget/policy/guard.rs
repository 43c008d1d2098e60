//! When to stop trying: compactions that did not help are counted, and where nothing fits, the heaviest of what stays is named.

use super::{CLEARLY_BELOW, CompactionConfig};
use crate::message::tokens::Tokens;
use std::fmt;

/// The least share of the conversation that a compaction close to the trigger must have removed to count as progress.
const LEAST_GAIN: f64 = 0.1;
/// How many compactions without progress end the session's attempts.
const ATTEMPTS: u32 = 3;

/// Counts compactions that did not help, so that a session never compacts in a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Guard {
    /// Those in a row that gained nothing, whether or not the next request fits.
    without_progress: u32,
    /// Those in a row after which the next request did not fit either.
    too_large: u32,
}

/// What a compaction came to, seen from the trigger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The occupancy is clearly below the trigger.
    Clear,
    /// It fell by a tenth or more and is below the trigger, but close to it: the next compaction is not far.
    Close,
    /// It did not help, for the given time in a row.
    None(u32),
    /// The next request does not fit for the third time in a row: compacting again would be a loop.
    Stop(Stuck),
}

/// The conversation cannot be made to fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// Tokens before the last compaction.
    pub(crate) before: Tokens,
    /// Tokens after it.
    pub(crate) after: Tokens,
    /// The occupancy that triggers a compaction.
    pub(crate) trigger: Tokens,
    /// What takes the most room of that which stays, where that is known.
    pub(crate) heaviest: Option<Heaviest>,
}

/// A part of what stays whatever is compacted, with what it weighs in the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heaviest {
    /// Which.
    pub(crate) part: Fixed,
    /// Its tokens.
    pub(crate) tokens: Tokens,
}

/// What stays, whole or shortened, whatever is compacted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Fixed {
    /// The definitions of tools.
    Tools,
    /// The system prompt.
    System,
    /// Instructions and other reminders.
    Reminders,
    /// What the user has pinned.
    Pins,
    /// The user's prompts.
    Prompts,
    /// The last step.
    LastStep,
}

impl Fixed {
    /// What it is, and what a user can do about it.
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

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stuck {
            before,
            after,
            trigger,
            heaviest,
        } = self;
        write!(
            f,
            "{ATTEMPTS} compactions in a row made no progress: {before} → {after} tokens, and {trigger} trigger the next; "
        )?;
        let Some(Heaviest { part, tokens }) = heaviest else {
            return f.write_str("remove pins, begin a new session, or use a model with a larger context window");
        };
        let (what, advice) = part.words();
        write!(
            f,
            "the largest part that stays is {what}, with {tokens} tokens: {advice}, or use a model with a larger context window"
        )
    }
}

impl std::error::Error for Stuck {}

impl Guard {
    /// No compaction so far.
    pub fn new() -> Self {
        Guard::default()
    }

    /// Takes note of a compaction from `before` to `after` tokens, on the same basis, in a session that compacts by these
    /// settings. What is below the limit can be sent, so it never stops a session, however little was gained.
    pub fn after_compaction(&mut self, before: Tokens, after: Tokens, config: &CompactionConfig) -> Progress {
        let trigger = config.trigger();
        let gained = before.saturating_sub(after) as f64 >= before as f64 * LEAST_GAIN && after < before;
        // What was below from the start, and was compacted because the user asked or the cache was cold, is well too.
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
        match self.is_stuck() {
            true => Progress::Stop(Stuck {
                before,
                after,
                trigger,
                heaviest: None,
            }),
            false => Progress::None(self.without_progress),
        }
    }

    /// Whether compacting again would be a loop. It ends when the user changes something: see [`Guard::reset`].
    fn is_stuck(&self) -> bool {
        self.too_large >= ATTEMPTS
    }

    /// Whether so many compactions in a row gained nothing that none should be made but those without which the session
    /// cannot go on.
    pub(crate) fn is_in_vain(&self) -> bool {
        self.without_progress >= ATTEMPTS
    }

    /// The user removed a pin, took another model or the like: attempts count from the beginning.
    pub(crate) fn reset(&mut self) {
        *self = Guard::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 200,000 tokens: the trigger is 180,000 either way, and the limit is this.
    fn limited_to(limit: Tokens) -> CompactionConfig {
        CompactionConfig::new(200_000).reserving(200_000 - limit)
    }

    #[test]
    fn three_compactions_without_progress_stop_the_attempts() {
        let config = limited_to(180_000);
        let mut guard = Guard::new();
        assert_eq!(guard.after_compaction(195_000, 194_000, &config), Progress::None(1));
        assert_eq!(guard.after_compaction(196_000, 193_000, &config), Progress::None(2));
        assert!(!guard.is_stuck());
        let Progress::Stop(stuck) = guard.after_compaction(196_000, 196_000, &config) else {
            panic!("the third must stop");
        };
        assert!(guard.is_stuck());
        let words = stuck.to_string();
        assert!(words.contains("196000 → 196000") && words.contains("180000"), "{words}");
        guard.reset();
        assert!(!guard.is_stuck());
    }

    #[test]
    fn what_can_be_sent_never_stops_the_session_and_is_not_compacted_for_money() {
        for config in [limited_to(180_000), limited_to(200_000)] {
            let mut guard = Guard::new();
            for time in 1..20 {
                let after = config.limit() - 1;
                assert_eq!(guard.after_compaction(after + 5, after, &config), Progress::None(time));
                assert_eq!((guard.is_stuck(), guard.is_in_vain()), (false, time >= 3));
            }
            // Only those count after which it does not fit.
            let over = config.limit() + 1;
            assert_eq!(guard.after_compaction(over, over, &config), Progress::None(20));
            assert_eq!(guard.after_compaction(over, over, &config), Progress::None(21));
            assert!(matches!(guard.after_compaction(over, over, &config), Progress::Stop(_)));
        }
    }

    #[test]
    fn progress_begins_the_count_anew() {
        let config = limited_to(180_000);
        let mut guard = Guard::new();
        guard.after_compaction(195_000, 194_000, &config);
        guard.after_compaction(195_000, 194_000, &config);
        assert_eq!(guard.after_compaction(195_000, 42_000, &config), Progress::Clear);
        assert_eq!(guard.after_compaction(195_000, 194_000, &config), Progress::None(1));
        assert_eq!(guard.after_compaction(195_000, 170_000, &config), Progress::Close);
        assert_eq!(
            guard.after_compaction(181_000, 179_000, &config),
            Progress::None(1),
            "a step later it is full again"
        );
    }

    #[test]
    fn a_conversation_that_was_small_from_the_start_is_no_failure() {
        assert_eq!(
            Guard::new().after_compaction(900, 900, &limited_to(180_000)),
            Progress::Clear
        );
    }

    #[test]
    fn the_heaviest_of_what_stays_is_named_with_what_to_do_about_it() {
        let told = |part| {
            let heaviest = Some(Heaviest { part, tokens: 4_321 });
            let stuck = Stuck {
                before: 9,
                after: 8,
                trigger: 7,
                heaviest,
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
        }
    }
}
