//! Where a session can go back to.

use crate::environment::journal::Mark;
use codelet_context::conversation::{Earlier, Point};
use codelet_context::pin::Pin;
use tokio::time::Instant;

/// A prompt that can be gone back to.
#[derive(Clone)]
pub(crate) struct Prompted {
    pub(crate) point: Point,
    pub(crate) mark: Mark,
    pub(crate) asked: Instant,
    /// It was said before this session, in the conversation that it goes on from.
    pub(crate) is_recorded: bool,
}

/// How things stood before something was taken back.
pub(crate) struct Discarded {
    /// The conversation, if it went back.
    pub(crate) conversation: Option<Known>,
    /// The moment to which files are put back, if they went back.
    pub(crate) files: Option<Mark>,
}

/// A conversation, with what the session knows beside it.
pub(crate) struct Known {
    /// Which of the session's it is.
    pub(crate) number: u64,
    pub(crate) earlier: Earlier,
    pub(crate) pins: Vec<Pin>,
    pub(crate) prompts: Vec<Prompted>,
    /// The files that it speaks of are those of this moment.
    pub(crate) mark: Mark,
}
