//! A thing to eat: its name, how much of it there is, and until when it is good.

use crate::date::Day;
use std::fmt;

/// Under which an item stands on its shelf.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ItemId(pub u32);

/// A thing to eat.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// As written on the package.
    pub name: String,
    /// How much there is.
    pub quantity: Quantity,
    /// The last day on which it is surely good.
    pub best_before: Day,
}

/// An amount with its unit. Units are never converted into each other silently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// Weight.
    Grams(u32),
    /// Volume.
    Millilitres(u32),
    /// Eggs, tins, loaves.
    Pieces(u32),
}

impl Item {
    /// An item.
    pub fn new(name: &str, quantity: Quantity, best_before: Day) -> Self {
        Item { name: name.to_owned(), quantity, best_before }
    }
}

impl Quantity {
    /// The bare number.
    pub fn amount(self) -> u32 {
        match self {
            Quantity::Grams(n) | Quantity::Millilitres(n) | Quantity::Pieces(n) => n,
        }
    }

    /// Whether both are weights, or volumes, or counts.
    pub fn same_unit(self, other: Quantity) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// What is left after taking `other`, which has the same unit.
    pub fn minus(self, other: Quantity) -> Quantity {
        let left = self.amount().saturating_sub(other.amount());
        match self {
            Quantity::Grams(_) => Quantity::Grams(left),
            Quantity::Millilitres(_) => Quantity::Millilitres(left),
            Quantity::Pieces(_) => Quantity::Pieces(left),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quantity::Grams(n) if *n >= 1000 => write!(f, "{}.{} kg", n / 1000, n % 1000 / 100),
            Quantity::Grams(n) => write!(f, "{n} g"),
            Quantity::Millilitres(n) if *n >= 1000 => write!(f, "{}.{} l", n / 1000, n % 1000 / 100),
            Quantity::Millilitres(n) => write!(f, "{n} ml"),
            Quantity::Pieces(1) => write!(f, "1 piece"),
            Quantity::Pieces(n) => write!(f, "{n} pieces"),
        }
    }
}
