//! The amount of thinking before an answer, by the names that providers share.

use std::fmt;

/// A thinking effort. Each model supports some of them.
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
    /// A lot.
    High,
    /// More than that.
    Xhigh,
    /// As much as possible.
    Max,
}

impl Effort {
    /// All efforts, lowest first.
    pub const ALL: [Effort; 7] = [
        Effort::None,
        Effort::Minimal,
        Effort::Low,
        Effort::Medium,
        Effort::High,
        Effort::Xhigh,
        Effort::Max,
    ];

    /// Returns the name that users and providers write.
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

    /// Returns the effort of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Effort::ALL.into_iter().find(|effort| effort.name() == name)
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the names of some efforts, for people.
pub fn names(efforts: &[Effort]) -> String {
    efforts
        .iter()
        .map(|effort| effort.name())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The effect of a change of effort on the provider's prompt cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheAfter {
    /// None: the next request reads from it.
    Kept,
    /// The conversation is read again once at the full price.
    Lost,
    /// The provider does not say.
    Unknown,
}
