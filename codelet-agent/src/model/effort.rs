//! How much a model is to think before it answers, in the words that vendors share.

use std::fmt;

/// A thinking effort. Each model takes some of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effort {
    /// No thinking.
    None,
    /// As little as possible.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// More than much.
    Xhigh,
    /// As much as possible.
    Max,
}

impl Effort {
    /// All of them, the least first.
    pub const ALL: [Effort; 7] = [
        Effort::None,
        Effort::Minimal,
        Effort::Low,
        Effort::Medium,
        Effort::High,
        Effort::Xhigh,
        Effort::Max,
    ];

    /// The name that users and vendors write.
    pub const fn name(self) -> &'static str {
        match self {
            Effort::None => "none",
            Effort::Minimal => "minimal",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Xhigh => "xhigh",
            Effort::Max => "max",
        }
    }

    /// The effort of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Effort::ALL.into_iter().find(|effort| effort.name() == name)
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of some efforts, for people.
pub fn names(efforts: &[Effort]) -> String {
    efforts
        .iter()
        .map(|effort| effort.name())
        .collect::<Vec<_>>()
        .join(", ")
}

/// What a change of the effort does to what the provider has in its prompt cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheAfter {
    /// Nothing: the next request reads it.
    Kept,
    /// The conversation is read again at the full price, once.
    Lost,
    /// The provider does not say.
    Unknown,
}
