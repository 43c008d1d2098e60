//! The terminal of a coding agent: turns events into lines and keys into actions, and is the only code that touches the
//! tty.
//!
//! [`on_terminal`] runs an interactive session; [`in_lines`] runs one without a terminal. Both do the same things with
//! the same words and differ only in what they show. Everything except [`tty`] is pure: [`keys`] turns bytes into keys,
//! [`repl`] turns keys into wishes, [`render`] turns events into lines, and [`screen`] turns lines into terminal
//! output.
//!
//! This crate makes no agent decisions, opens no file and calls no provider. The caller passes in everything that a
//! session needs of these as a [`Reach`].
//!
//! Where to read next: [`repl`] for the state of the input, [`screen`] for drawing.
//!
//! ```
//! use codelet_terminal::command::{Name, Said, read};
//!
//! assert_eq!(read("/pin tabs, not spaces"), Said::Command(Name::Pin, "tabs, not spaces".to_owned()));
//! ```

mod answers;
mod backlog;
mod beginning;
mod changes;
mod chat;
pub mod command;
mod commits;
mod complete;
mod copied;
mod decision;
mod earlier;
mod editor;
mod effort;
mod field;
pub mod finished;
mod front;
pub mod keys;
mod layout;
mod letters;
mod lines;
mod live;
mod notes;
mod notify;
mod pins;
mod plain;
mod questions;
pub mod render;
pub mod repl;
pub mod screen;
pub mod signals;
pub mod tty;

pub use chat::{Attach, Attached, Connect, Export, Lived, Missed, ModelLookup, Reach, ReadFile, shown};
pub use earlier::Earlier;
pub use editor::Past;
pub use front::Left;
pub use live::{Edit, Outfit, SlowHook};
pub use notify::Notify;

use chat::Chat;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::session::Session;
use front::Front as _;
use ratatui::text::Line;
use render::look::Role;
use std::io;
use std::pin::pin;

/// A session that is ready to start.
pub struct Begun {
    /// The session.
    pub session: Session,
    /// Its access to the outside world.
    pub reach: Reach,
    /// Notices, shown first.
    pub notices: Vec<String>,
    /// The conversation that it continues.
    pub earlier: Option<Earlier>,
    /// The first input, handled as if it had been typed.
    pub opening: Option<String>,
}

/// Runs an interactive session on the terminal at standard input and output until the user leaves. Takes the terminal
/// at once; input that arrives before `begin` completes is queued, and an interrupt throws `skip`. Shows `greeting`
/// first. Restores the terminal on exit, including on panic.
///
/// # Errors
/// If there is no terminal.
pub async fn on_terminal(
    outfit: Outfit,
    greeting: &str,
    skip: &Interrupt,
    begin: impl Future<Output = Begun>,
) -> io::Result<Lived> {
    let mut front = live::remote::Remote::open(outfit)?;
    let look = front.look();
    let mut lines: Vec<Line<'static>> = answers::say(&look, Role::Dim, greeting);
    let mut begin = pin!(begin);
    let (begun, left) = match beginning::at_once(begin.as_mut()).await {
        Some(begun) => (begun, None),
        None => {
            front.print(std::mem::take(&mut lines));
            beginning::wait(&mut front, begin, skip).await
        }
    };
    for notice in &begun.notices {
        lines.extend(answers::say(&front.look(), Role::Warning, notice));
    }
    if let Some(earlier) = &begun.earlier {
        let look = front.look();
        lines.push(Line::default());
        lines.extend(earlier::end(&look, earlier));
        lines.extend(
            earlier
                .told
                .iter()
                .flat_map(|told| answers::say(&look, Role::Dim, told)),
        );
        for warning in &earlier.warnings {
            lines.extend(answers::say(&look, Role::Warning, warning));
        }
    }
    if !lines.is_empty() {
        front.print(lines);
    }
    Ok(Chat::new(begun.session, begun.reach, front, left)
        .live(begun.opening)
        .await)
}

/// Runs a session line by line until standard input ends. `is_typed` is true if a person types: it shows when the next
/// input is expected, and an interrupt throws `skip` as on a terminal. Lines are broken at `width` columns.
///
/// # Errors
/// If standard input cannot be read.
pub async fn in_lines(
    is_typed: bool,
    width: usize,
    greeting: &str,
    skip: &Interrupt,
    begin: impl Future<Output = Begun>,
) -> io::Result<Lived> {
    let mut front = plain::Plain::open(is_typed, width)?;
    let look = front.look();
    if is_typed {
        front.print(answers::say(&look, Role::Dim, greeting));
    }
    let mut begin = pin!(begin);
    let (begun, left) = match beginning::at_once(begin.as_mut()).await {
        Some(begun) => (begun, None),
        None => beginning::wait(&mut front, begin, skip).await,
    };
    for text in &begun.notices {
        front.print(answers::say(&look, Role::Warning, &format!("notice: {text}")));
    }
    if let Some(earlier) = &begun.earlier {
        // Piped prompts have no use for the earlier conversation.
        if is_typed {
            front.print(earlier::end(&look, earlier));
        }
        for text in earlier.told.iter().chain(&earlier.warnings) {
            front.print(answers::say(&look, Role::Warning, &format!("notice: {text}")));
        }
    }
    Ok(Chat::new(begun.session, begun.reach, front, left)
        .live(begun.opening)
        .await)
}
