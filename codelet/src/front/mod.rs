//! What a run shows of itself: one front end each for people, for programs that want the end, and for those that follow.

mod json;
mod outlet;
mod plain;
mod stream;

pub use json::Json;
pub use outlet::{Outlet, StoodStill};
pub use plain::Plain;
pub use stream::Stream;

use codelet_agent::event::Listen;
use codelet_agent::run::Ending;
use codelet_agent::session::Session;
use std::time::Duration;

/// A front end of a run that nobody types into.
pub trait Front: Listen {
    /// Somebody wants to see each step, also where no terminal is.
    fn follow(&mut self) {}

    /// The run is over: prints what there is to print at the end. Says what could not be written.
    fn finish(&mut self, done: &Done<'_>) -> std::io::Result<()>;
}

/// A call that was not permitted, in a line.
fn refused(tool: &str, description: &str, why: &str) -> String {
    format!("{}: {why}", format!("{tool} {description}").trim_end())
}

/// A run that is over.
pub struct Done<'a> {
    /// The session that it was made in.
    pub session: &'a Session,
    /// How it ended.
    pub ending: &'a Ending,
    /// The exit status that it leads to.
    pub exit: u8,
    /// From start to end.
    pub elapsed: Duration,
}
