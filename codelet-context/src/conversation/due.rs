//! When an edit is due, which one, and how small it makes the conversation.

use super::{Conversation, Signals};
use crate::compact::{Target, UNSEEN_SHARE};
use crate::economy::Way;
use crate::message::Role;
use crate::policy::{AIM, Pressure, Reason};
use crate::tokens::Tokens;

impl Conversation {
    /// What presses on the session before the next request.
    pub fn pressure(&self, signals: Signals) -> Pressure {
        let occupancy = self.occupancy.next_request();
        let removable = self.economy.removable(self.occupancy.ratio());
        // An expired cache has no prefix whose rent could fall due.
        let way = if signals.is_cold { None } else { self.way(occupancy) };
        let cold = signals
            .is_cold
            .then(|| self.economy.cold_cut(&self.pins.messages()))
            .flatten();
        Pressure {
            occupancy,
            effective: self.tracker.effective_tokens(self.config.discount),
            removable: match (way, cold) {
                (Some(Way::Trim(cut)), _) | (None, Some(cut)) => cut.removed as Tokens,
                (Some(Way::Below(target)), _) => occupancy.saturating_sub(target),
                (None, None) if signals.is_cold => 0,
                (None, None) => removable,
            },
            is_rent_due: way.is_some(),
            is_cold: signals.is_cold,
            is_asked: signals.is_asked,
            is_refused: self.is_refused,
        }
    }

    fn way(&self, occupancy: Tokens) -> Option<Way> {
        self.economy.way(occupancy, &self.pins.messages())
    }

    /// Whether to compact before the next request, and why. A session that is stuck is told so only where it cannot go
    /// on, or where the user asks.
    pub fn decide(&self, signals: Signals) -> Option<Reason> {
        let reason = self.config.decide(&self.pressure(signals))?;
        let may = self.stuck.is_none() || reason.is_forced() || reason == Reason::Asked;
        may.then_some(reason)
    }

    /// Whether an edit for this reason only puts markers in place of outputs, so that there is nothing to summarise.
    pub fn is_light(&self, reason: Reason) -> bool {
        matches!(self.lighter(reason), Some(Way::Trim(_)))
    }

    pub(super) fn lighter(&self, reason: Reason) -> Option<Way> {
        let effective = self.tracker.effective_tokens(self.config.discount);
        match reason {
            Reason::Price if !self.config.should_compact(effective) => self.way(self.occupancy.next_request()),
            Reason::Cold => self.economy.cold_cut(&self.pins.messages()).map(Way::Trim),
            _ => None,
        }
    }

    pub(super) fn target(&self, reason: Reason) -> Target {
        let budget = self.budget();
        if reason == Reason::Asked && self.shown.tokens <= budget {
            Target::Select
        } else {
            Target::Budget(budget)
        }
    }

    /// What the messages may weigh after a compaction, as an estimate. Each refusal after the first halves it: what was
    /// believed to fit did not.
    ///
    /// In a window so small that what always stays takes most of the aim, the aim is a share of the room that is left
    /// beside it: a system prompt that is cut to a marker leaves no agent. It is large enough for what the model has asked
    /// for last and not seen yet, else that would be work to be done again.
    pub(super) fn budget(&self) -> Tokens {
        let halvings = self.refusals.saturating_sub(1).min(63);
        let aim = self.in_estimate(self.config.target() >> halvings);
        let room = self.in_estimate(self.config.trigger());
        let stays = self.head + self.newest_prompt.min(room / 4);
        let least = match halvings {
            0 => stays + (self.unseen() as f64 / UNSEEN_SHARE) as Tokens,
            _ => 0,
        };
        let aim = aim.max(least.min(room / 4 * 3));
        if stays <= aim / 2 {
            return aim;
        }
        let left = room.saturating_sub(stays);
        aim.max(stays + ((left as f64 * AIM) as Tokens >> halvings)).min(room)
    }

    /// What came after the last reply, and that reply, if it is still to be answered: estimates of the calls and outputs.
    fn unseen(&self) -> Tokens {
        let messages = self.history.messages();
        let Some(reply) = messages.iter().rposition(|message| message.role == Role::Assistant) else {
            return 0;
        };
        match messages[reply].calls().next() {
            Some(_) => self.history.estimates()[reply..].iter().sum(),
            None => 0,
        }
    }

    /// Tokens of the window as an estimate of messages.
    pub(super) fn in_estimate(&self, tokens: Tokens) -> Tokens {
        ((tokens as f64 / self.occupancy.ratio()) as Tokens).saturating_sub(self.overhead)
    }

    /// An estimate of messages as tokens of the window.
    pub(super) fn weigh(&self, estimate: Tokens) -> Tokens {
        self.occupancy.scale(estimate.saturating_add(self.overhead))
    }
}
