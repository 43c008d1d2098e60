//! A provider on loopback: a scripted model behind the real protocols of four vendors, for tests of their clients.
//!
//! It sends the vendors' responses, fails as scripted, enforces a context window, checks every request against the
//! vendor's rules, reports usage from a cache that follows the vendor's rules, and records everything. It is
//! independent of the code under test: nothing here is shared with the crates that talk to providers.
//!
//! - [`Server`] and [`Behaviour`] start it; [`Reply`] is a response, [`Fault`] a failure, [`Gate`] a point to wait at.
//! - [`Record`] holds what happened; [`Request`] is what was sent.
//! - [`Cloud`] puts a cloud that serves other vendors' models in front of a wire.
//! - [`Window`], [`CacheRules`] and [`Clock`] are its rules; [`Wire`] and [`Dialect`] its protocol.
//!
//! ```
//! use codelet_testkit::server::{Behaviour, Fault, Reply, Server, Window, Wire};
//! use serde_json::json;
//!
//! let behaviour = Behaviour::replies([
//!     Reply::call("Read", json!({ "path": "a.rs" })),
//!     Reply::text("Half of a sen").failing(Fault::Cut(3)),
//!     Reply::text("It is done."),
//! ]);
//! let server = Server::start(Wire::Anthropic, behaviour.window(Window::of(200_000)));
//! // Point the client at `server.base()`, let it work, and look at what it sent.
//! assert!(server.base().starts_with("http://127.0.0.1:"));
//! assert_eq!(server.record().faults(), "");
//! ```

mod behaviour;
mod cache;
mod check;
mod cloud;
mod fault;
mod gate;
mod http;
mod plan;
mod record;
mod reported;
mod request;
mod script;
mod segment;
mod serve;
mod view;
mod window;
mod wire;

pub use behaviour::Behaviour;
pub use cache::{CacheRules, Clock};
pub use cloud::{Cloud, Google, Seen, Signs, chunk_frame, event_frame};
pub use fault::{Fault, Refusal, RetryAfter, Trouble};
pub use gate::Gate;
pub use record::{BODIES, End, Exchange, Growth, Record};
pub use request::Request;
pub use script::{Billed, FRAGMENT, Reply, Said, Stop};
pub use segment::{Place, Ttl};
pub use serve::{PATIENCE, Server, block_on};
pub use view::{Message, Part, Speaker, View};
pub use window::Window;
pub use wire::{Dialect, Frame, Wire};
