//! The output of a non-interactive run: front ends for people, for programs that need the result, and for programs that
//! follow the events.

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

/// A front end of a non-interactive run.
pub trait Front: Listen {
    /// Shows each step even without a terminal.
    fn follow(&mut self) {}

    /// Prints the end of the run. Returns the error if output failed.
    fn finish(&mut self, done: &Done<'_>) -> std::io::Result<()>;
}

/// Formats a denied call on one line.
fn refused(tool: &str, description: &str, why: &str) -> String {
    format!("{}: {why}", format!("{tool} {description}").trim_end())
}

/// A finished run.
pub struct Done<'a> {
    /// The session of the run.
    pub session: &'a Session,
    /// The ending.
    pub ending: &'a Ending,
    /// The exit status.
    pub exit: u8,
    /// The duration of the run.
    pub elapsed: Duration,
}
