//! A compaction requested by the user while the conversation is already below the target size.

use super::Conversation;
use super::due::Aim;
use super::edits::Gain;
use crate::budget::policy::AIM;
use crate::compact::{Compaction, PROMPTS_SHARE, Target};
use crate::message::tokens::Tokens;

/// The minimum share of the view to remove. After an edit, the provider processes everything from there on anew at full
/// price.
const LEAST_GAIN: f64 = 0.1;
/// The minimum estimated tokens to remove before recent content is reduced: about two screens of text. A conversation
/// of a few words is left alone.
const LEAST_TOKENS: Tokens = 1_000;

impl Conversation {
    /// Removes everything before the newest anchor. If that is hardly anything, reduces the view by the same share as
    /// an edit at the trigger. If that is not possible either, quotes the user's focus in the same space, if there is
    /// one, and otherwise keeps the view.
    pub(super) fn build_below_aim(&self, written: Option<&str>) -> (Compaction, Gain) {
        let spared = self.spared();
        let build = |target| self.build_with(Aim::from(target), written, &spared);
        let selected = build(Target::Select);
        if self.is_of_use(&selected) {
            return (selected, Gain::Room);
        }
        let smaller = build(Target::Budget(self.clearly_smaller()));
        if self.is_of_use(&smaller) && self.shown.tokens - smaller.after.tokens >= LEAST_TOKENS {
            return (smaller, Gain::Room);
        }
        match self.focus {
            Some(_) => self.build_in_same_room(written),
            None => (selected, Gain::None),
        }
    }

    /// Builds a view of the current size with other quoted lines.
    pub(super) fn build_in_same_room(&self, written: Option<&str>) -> (Compaction, Gain) {
        let room = Target::Budget(self.shown.tokens);
        (self.build_with(room.into(), written, &self.spared()), Gain::Focus)
    }

    /// The messages that stay whole: none has to go, so prompts are not cut that a full window would keep, too.
    fn spared(&self) -> Vec<usize> {
        let standing = self.standing();
        let all = standing.messages().iter().zip(standing.estimates());
        let prompts: Tokens = all.filter(|(it, _)| it.is_prompt()).map(|(_, tokens)| *tokens).sum();
        if prompts as f64 <= self.budget() as f64 * PROMPTS_SHARE {
            self.untouchable()
        } else {
            Vec::new()
        }
    }

    fn is_of_use(&self, done: &Compaction) -> bool {
        let shown = self.shown.tokens as f64;
        done.after.tokens as f64 <= shown * (1.0 - LEAST_GAIN)
    }

    /// The size at which a compaction leaves its usual share of the removable content, in addition to what always
    /// stays. The result of the last compaction is not reduced further by a repeated request.
    fn clearly_smaller(&self) -> Tokens {
        let stays = self.system + self.reminders + self.newest_prompt + self.unseen();
        let left = self.shown.tokens.saturating_sub(stays) as f64 * AIM;
        let built = self.last_built().map_or(0, |tokens| self.in_estimate(tokens));
        (stays + left as Tokens).max(built)
    }
}
