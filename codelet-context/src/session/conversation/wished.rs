//! Compactions requested by the model, when it considers a piece of work finished.

use super::edits::Gain;
use super::{Attempts, Conversation};
use crate::budget::economics::Preset;
use crate::budget::policy::{CompactAt, Reason};
use thiserror::Error;

/// The reason for declining a compaction that the model requests.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
pub enum Declined {
    /// The user allows none before the window is full, or none at all.
    #[error("the user has turned that off")]
    Off,
    /// Too little was appended since the last edit, or since the beginning.
    #[error("too little was said since the last edit")]
    TooSoon,
    /// Too little can be removed.
    #[error("there is too little that could go")]
    TooLittle,
    /// It would pay off only after more steps than can be expected.
    #[error("it would not pay yet")]
    TooDear,
}

impl Conversation {
    /// Checks whether to grant a compaction that the model requests; [`decide`](Self::decide) returns it if the
    /// [signals](super::Signals) include the request. Asking changes nothing.
    ///
    /// # Errors
    /// If the request is declined, the reason.
    pub fn wished(&self) -> Result<(), Declined> {
        if self.config.compact_at == CompactAt::Never || self.economics().preset == Preset::Off {
            return Err(Declined::Off);
        }
        if !self.economy.is_far_from_edit_and_beginning() {
            return Err(Declined::TooSoon);
        }
        let (built, gain) = self.build_for(Reason::Wished, self.aim(Reason::Wished), None);
        let (before, after) = (self.occupancy(), self.weigh(built.after.tokens));
        let Attempts { guard, stuck, .. } = self.attempts;
        if gain == Gain::None || after >= before || stuck.is_some() || guard.is_in_vain() {
            return Err(Declined::TooLittle);
        }
        match self.economy.pays(before, after, self.config.trigger()) {
            true => Ok(()),
            false => Err(Declined::TooDear),
        }
    }
}
