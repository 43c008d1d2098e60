//! Sessions in an editor: the Agent Client Protocol, version 1, over a pair of pipes.
//!
//! [`serve`] serves an editor until it disconnects. Each session is a task that handles the editor's messages one after
//! the other, and stays responsive while the model works: it handles interrupts, asks questions, and sends events as
//! updates.
//!
//! This crate makes no agent decisions, opens no file and calls no provider. Sessions, and their access to the outside
//! world, come from a [`Host`]. It does not read or write files through the editor either; decision 0044 says why.
//!
//! Where to read next: `desk.rs` for the connection, `seat.rs` for one session, `updates.rs` for events as messages.

mod answers;
mod chosen;
mod desk;
mod diff;
mod editor;
mod history;
mod host;
mod lines;
mod permission;
mod prompt;
mod seat;
mod updates;

pub use desk::serve;
pub use host::{Begun, Command, Connect, Host, Listed, Look, Pictures, Reach, Server, ServerReach, Unopened, Wanted};
