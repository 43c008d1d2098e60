//! When an edit pays: the arithmetic of rent and of broken prefixes, and the presets that a user chooses from.
//!
//! A token that stands in the cached prefix costs the read price at every step: its *rent*. An edit takes `removed` tokens
//! away, and everything behind the first changed place that stays, the *tail*, must be written to the cache again: that
//! costs write less read price for each token of it, once. Nobody knows how many steps a session still has. So an edit is
//! made when the rent that removable tokens have cost so far reaches a fixed multiple of its price ([`MARGIN`]), which
//! needs no forecast. `docs/economics.md` has the mathematics on one page.

use crate::price::{self, PriceCard};

/// How readily history that was sent is edited to save money.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Preset {
    /// What is not used for a long time goes.
    #[default]
    Faithful,
    /// What is not used for some time goes.
    Balanced,
    /// What is not used now goes.
    Thrifty,
    /// Nothing goes before the window is full.
    Off,
}

impl Preset {
    /// All of them, the most careful edits first.
    pub const ALL: [Preset; 4] = [Preset::Faithful, Preset::Balanced, Preset::Thrifty, Preset::Off];

    /// The name in settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Faithful => "faithful",
            Preset::Balanced => "balanced",
            Preset::Thrifty => "thrifty",
            Preset::Off => "off",
        }
    }

    /// The preset of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The preset's one knob: for how many steps an output stays whole after it was printed or last used. None where
    /// nothing is edited for its price.
    pub fn shelter(self) -> Option<u64> {
        match self {
            Preset::Faithful => Some(12),
            Preset::Balanced => Some(6),
            Preset::Thrifty => Some(2),
            Preset::Off => None,
        }
    }

    /// What the preset does, in a sentence.
    pub fn explained(self) -> &'static str {
        match self {
            Preset::Faithful => {
                "sets outputs aside that nothing referred to for 12 steps, when keeping them costs more"
            }
            Preset::Balanced => "sets outputs aside that nothing referred to for 6 steps, when keeping them costs more",
            Preset::Thrifty => "sets outputs aside that nothing referred to for 2 steps, when keeping them costs more",
            Preset::Off => "edits nothing before the window is full",
        }
    }
}

/// The rent that makes an edit due, as a multiple of what writing the tail again costs. One would be enough if that were
/// all that an edit costs. But some of what goes is read again later, and a session may end right after the edit. Fitted
/// on half of the recorded sessions: at 1, one session in twenty costs 2 to 4 % more than if it were never edited; at 2.5
/// none of the twentieth does, and the mean is the same within a hundredth.
pub const MARGIN: f64 = 2.5;

/// Under which prices, and how readily, a session edits what it has sent.
#[derive(Clone, PartialEq, Debug)]
pub struct Economics {
    /// The prices, and the rules of the cache.
    pub card: PriceCard,
    /// How readily.
    pub preset: Preset,
}

impl Default for Economics {
    /// The usual preset, under the rules of the usual card.
    fn default() -> Self {
        Economics {
            card: price::usual(),
            preset: Preset::default(),
        }
    }
}

impl Economics {
    /// Under this card, with the usual preset.
    pub fn new(card: PriceCard) -> Self {
        Economics {
            card,
            preset: Preset::default(),
        }
    }

    /// The same, this readily.
    pub fn preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }
}

/// What an edit costs once, in the unit of the prices: `tail` tokens stay behind the first changed place and are written
/// instead of read.
pub fn break_cost(read: f64, write: f64, tail: f64) -> f64 {
    (write - read).max(0.0) * tail
}

/// After how many steps an edit has paid for itself, where `removed` tokens go and `tail` tokens behind them stay.
pub fn break_even(read: f64, write: f64, tail: f64, removed: f64) -> f64 {
    break_cost(read, write, tail) / (read * removed)
}

/// How many tokens are best removed at once, where `growth` tokens become removable at each step and `tail` tokens stand
/// behind them. Smaller batches break the prefix too often, larger ones pay rent too long:
/// `√(2 · growth · (write − read) · tail / read)`.
pub fn batch_size(read: f64, write: f64, tail: f64, growth: f64) -> f64 {
    (2.0 * growth * break_cost(read, write, tail) / read).sqrt()
}

/// Up to where a request is to be readable from the cache, as counts of messages from the beginning of the view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Edges {
    /// What the last request held and still stands as it was.
    pub last: Option<usize>,
    /// What stands before the place at which the next edit is expected. A mark here lets that edit keep everything before
    /// it.
    pub next: Option<usize>,
}
