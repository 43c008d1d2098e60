//! The points that a session can go back to.

use crate::environment::journal::Mark;
use codelet_context::conversation::{Earlier, Point};
use codelet_context::pin::Pin;
use tokio::time::Instant;

/// A prompt that can be rewound to.
#[derive(Clone)]
pub(crate) struct Prompted {
    pub(crate) point: Point,
    pub(crate) mark: Mark,
    pub(crate) asked: Instant,
    /// True if it predates this session, in the conversation that it continues.
    pub(crate) is_recorded: bool,
}

/// The state before something was taken back.
pub(crate) struct Discarded {
    /// The conversation, if it was taken back.
    pub(crate) conversation: Option<Known>,
    /// The moment to restore files to, if files were taken back.
    pub(crate) files: Option<Mark>,
}

/// A conversation, with what the session tracks along with it.
pub(crate) struct Known {
    /// Its number within the session.
    pub(crate) number: u64,
    pub(crate) earlier: Earlier,
    pub(crate) pins: Vec<Pin>,
    pub(crate) prompts: Vec<Prompted>,
    /// The moment of the files that it refers to.
    pub(crate) mark: Mark,
}
