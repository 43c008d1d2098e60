//! When an edit pays: the arithmetic of rent and of broken prefixes, and the presets that a user chooses from.
//!
//! A token that stands in the cached prefix costs the read price at every step: its *rent*. An edit takes `removed` tokens
//! away, and everything behind the first changed place that stays, the *tail*, must be written to the cache again: that
//! costs write less read price for each token of it, once. Nobody knows how many steps a session still has. So an edit is
//! made when the rent that removable tokens have cost so far reaches its price, which needs no forecast.
//! `docs/economics.md` has the mathematics on one page.

use crate::budget::price::{self, PriceCard};

/// How readily history that was sent is edited to save money.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Preset {
    /// Of what is not used, the tenth stays that is most likely to be needed.
    #[default]
    Faithful,
    /// A twentieth of it stays.
    Balanced,
    /// A fiftieth of it stays.
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

    /// The preset's one knob: the share of what is set aside that stays, line by line. None where nothing is edited for its
    /// price. The share of `faithful` is about the smallest at which no more than half a point of the later references is lost,
    /// on half of the recorded sessions.
    pub fn left(self) -> Option<f64> {
        match self {
            Preset::Faithful => Some(0.1),
            Preset::Balanced => Some(0.05),
            Preset::Thrifty => Some(0.02),
            Preset::Off => None,
        }
    }

    /// What the preset does, in a sentence.
    pub fn explained(self) -> &'static str {
        match self {
            Preset::Faithful => "trim unused tool outputs to a tenth once keeping them costs more",
            Preset::Balanced => "trim unused tool outputs to a twentieth once keeping them costs more",
            Preset::Thrifty => "trim unused tool outputs to a fiftieth once keeping them costs more",
            Preset::Off => "edit nothing until the context window is full",
        }
    }
}

impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

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
///
/// What pays no rent never pays: infinite where nothing is removed or reading is free, and not a number where such an edit
/// costs nothing either.
pub fn break_even(read: f64, write: f64, tail: f64, removed: f64) -> f64 {
    break_cost(read, write, tail) / (read * removed)
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
