//! The economics of edits: the arithmetic of rent and prefix breaks, and the presets that a user chooses from.
//!
//! A token in the cached prefix costs the read price at every step: its *rent*. An edit removes `removed` tokens, and
//! everything retained after the first changed place, the *tail*, must be written to the cache again, which costs the
//! write price minus the read price per token, once. The number of steps that a session still has is unknown, so an
//! edit is made when the rent paid so far for removable tokens reaches one and a half times the edit's price, which
//! needs no forecast.
//! `docs/economics.md` has the mathematics on one page.

use crate::budget::price::{self, PriceCard};

/// A preset for edits of already sent history that save money: the share of old outputs that is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Preset {
    /// Keeps the tenth of them that is most likely to be needed.
    #[default]
    Faithful,
    /// Keeps a twentieth.
    Balanced,
    /// Keeps a fiftieth.
    Thrifty,
    /// Removes nothing until the window is full.
    Off,
}

codelet_text::named! {
    Preset {
        Faithful = "faithful",
        Balanced = "balanced",
        Thrifty = "thrifty",
        Off = "off",
    }
}

impl Preset {
    /// The preset with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The preset's only parameter: the share of removed output that is kept, line by line. `None` if nothing is edited
    /// for its price. With the share of `faithful`, recorded sessions lose about one point of the later references.
    pub fn left(self) -> Option<f64> {
        match self {
            Preset::Faithful => Some(0.1),
            Preset::Balanced => Some(0.05),
            Preset::Thrifty => Some(0.02),
            Preset::Off => None,
        }
    }

    /// A one-sentence description of the preset.
    pub fn explained(self) -> &'static str {
        match self {
            Preset::Faithful => "trim old tool outputs to a tenth once keeping them costs more",
            Preset::Balanced => "trim old tool outputs to a twentieth once keeping them costs more",
            Preset::Thrifty => "trim old tool outputs to a fiftieth once keeping them costs more",
            Preset::Off => "edit nothing until the context window is full",
        }
    }
}

/// The prices and the preset by which a session edits what it has sent.
#[derive(Clone, PartialEq, Debug)]
pub struct Economics {
    /// The prices and the cache's rules.
    pub card: PriceCard,
    /// The preset for edits.
    pub preset: Preset,
}

impl Default for Economics {
    /// The default preset with the default price card.
    fn default() -> Self {
        Economics {
            card: price::usual(),
            preset: Preset::default(),
        }
    }
}

impl Economics {
    /// Uses this card with the default preset.
    pub fn new(card: PriceCard) -> Self {
        Economics {
            card,
            preset: Preset::default(),
        }
    }

    /// Sets the preset.
    pub fn preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }
}

/// The one-time cost of an edit, in the unit of the prices: the `tail` tokens after the first changed place are written
/// instead of read.
pub fn break_cost(read: f64, write: f64, tail: f64) -> f64 {
    (write - read).max(0.0) * tail
}

/// The number of steps after which an edit that removes `removed` tokens and keeps `tail` tokens after them has paid
/// for itself.
///
/// An edit that saves no rent never pays: the result is infinite if nothing is removed or reading is free, and NaN if
/// such an edit costs nothing either.
pub fn break_even(read: f64, write: f64, tail: f64, removed: f64) -> f64 {
    break_cost(read, write, tail) / (read * removed)
}

/// The points up to which a request should be readable from the cache, as message counts from the start of the view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Edges {
    /// The messages of the last request that are still unchanged.
    pub last: Option<usize>,
    /// The messages before the place of the next expected edit. A cache breakpoint here lets that edit keep everything
    /// before it.
    pub next: Option<usize>,
}
