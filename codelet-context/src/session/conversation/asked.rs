//! A compaction that the user asks for while the conversation is smaller already than the settings aim at.

use super::Conversation;
use super::due::Aim;
use super::edits::{Built, Gain};
use crate::budget::policy::AIM;
use crate::compact::{Compaction, Target};
use crate::message::tokens::Tokens;

/// The least share of what is shown that must go. An edit has the provider read all behind it anew, at the full price.
const LEAST_GAIN: f64 = 0.1;
/// The least that must go, in estimated tokens, before what is not old is made smaller: about two screens of text. A
/// conversation of a few words stands.
const LEAST_TOKENS: Tokens = 1_000;

impl Conversation {
    /// What is older than the newest anchor goes; where that is hardly anything, what is shown is made as much smaller as an
    /// edit at the trigger makes it; where that cannot be either, what the user asks about is quoted in the same room, if
    /// anything is, and else the view stands.
    pub(super) fn build_below_aim(&self, written: Option<&str>, without_fates: bool) -> Built {
        let build = |target| self.build_with(Aim::from(target), written, &[], without_fates);
        let selected = build(Target::Select);
        if self.is_of_use(&selected) {
            return Gain::Room.with(selected);
        }
        let smaller = build(Target::Budget(self.clearly_smaller()));
        if self.is_of_use(&smaller) && self.shown.tokens - smaller.after.tokens >= LEAST_TOKENS {
            return Gain::Room.with(smaller);
        }
        match self.focus {
            Some(_) => self.build_in_same_room(written, without_fates),
            None => Gain::None.with(selected),
        }
    }

    /// A view as large as the one that is shown, with other lines.
    pub(super) fn build_in_same_room(&self, written: Option<&str>, without_fates: bool) -> Built {
        let room = Target::Budget(self.shown.tokens);
        Gain::Focus.with(self.build_with(room.into(), written, &[], without_fates))
    }

    fn is_of_use(&self, done: &Compaction) -> bool {
        let shown = self.shown.tokens as f64;
        done.after.tokens as f64 <= shown * (1.0 - LEAST_GAIN)
    }

    /// The share that a compaction leaves of what can go, beside what always stays. What the last compaction has left is not
    /// made smaller for being asked for twice.
    fn clearly_smaller(&self) -> Tokens {
        let stays = self.system + self.reminders + self.newest_prompt + self.unseen();
        let left = self.shown.tokens.saturating_sub(stays) as f64 * AIM;
        let built = self.last_built().map_or(0, |tokens| self.in_estimate(tokens));
        (stays + left as Tokens).max(built)
    }
}
