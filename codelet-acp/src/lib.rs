//! Sessions in an editor: the Agent Client Protocol, version 1, over a pair of pipes.
//!
//! [`serve`] answers an editor until it goes away. Each of its sessions is a task of its own, which takes what the editor says
//! one thing after the other, and stays awake while the model works: interruptions are heard, questions are asked, and what
//! happens is sent on as updates.
//!
//! What it leaves out: it decides nothing of the agent's, opens no file and reaches no provider. Sessions, and what they need of
//! the world, come from a [`Host`]. It does not read or write through the editor either: decision 0044 says why.
//!
//! Where to read next: `desk.rs` for the connection, `seat.rs` for one session, `updates.rs` for what happens as messages.

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
