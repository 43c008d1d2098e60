//! Renders events and text as lines. Pure: time, width and colours are passed in.

pub mod answers;
pub mod clean;
pub mod context;
pub mod cost;
pub mod diff;
pub mod figures;
mod highlight;
mod items;
mod language;
pub mod look;
pub mod markdown;
mod measure;
pub mod permission;
pub mod rewind;
pub mod session;
pub mod status;
pub mod tool;
pub mod wrap;

pub use diff::Diff;
pub use look::{Background, Look, Role, Styles};
pub use markdown::Markdown;
pub use session::Renderer;
pub use status::Status;
pub use tool::Unfolding;
