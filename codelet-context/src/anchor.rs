//! Anchors: the turns and steps that finished something.

use std::ops::Range;

/// What an anchor finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AnchorKind {
    /// Something had failed, files were changed, and then the tests passed.
    ErrorResolution,
    /// Files were changed and then the tests passed.
    TaskCompletion,
    /// The user pinned it.
    UserCheckpoint,
}

impl AnchorKind {
    /// The kind's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            AnchorKind::ErrorResolution => "error resolution",
            AnchorKind::TaskCompletion => "task completion",
            AnchorKind::UserCheckpoint => "user checkpoint",
        }
    }
}

/// A turn, or inside a long turn a step, that finished something.
#[derive(Clone, PartialEq, Debug)]
pub struct Anchor {
    /// What it finished.
    pub kind: AnchorKind,
    /// Which turn, counted from 0.
    pub turn: usize,
    /// The messages of the turn or step.
    pub range: Range<usize>,
    /// How sure this is, 0 to 1; below 0.9 nothing is an anchor.
    pub confidence: f64,
    /// How much it matters, 0 to 1.
    pub weight: f64,
    /// One line that names the files.
    pub description: String,
}
