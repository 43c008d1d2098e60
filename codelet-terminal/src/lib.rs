//! The terminal of a coding agent: events to lines, keys to actions, and the one place that touches the tty.
//!
//! A session that somebody lives in is made by [`on_terminal`] or, without a terminal, by [`in_lines`]. Both do the same
//! things with the same words; only what they show differs. Everything but [`tty`] is pure: [`keys`] turns bytes into
//! keys, [`repl`] keys into wishes, [`render`] events into lines, and [`screen`] lines into what a terminal is sent.
//!
//! What it leaves out: it decides nothing of the agent's, opens no file and reaches no provider. What a session needs of
//! these is handed in as a [`Reach`].
//!
//! Where to read next: [`repl`] for the state of the input, [`screen`] for what is drawn.
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
pub mod finished;
mod front;
mod keeping;
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
mod reason;
mod remote;
pub mod render;
pub mod repl;
pub mod screen;
pub mod signals;
pub mod tty;

pub use chat::{Attach, Attached, Connect, Export, Found, Left, Lived, Missed, Reach, ReadFile, shown};
pub use earlier::Earlier;
pub use editor::Past;
pub use live::{Edit, Outfit};
pub use notify::Notify;

use chat::Chat;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::session::Session;
use front::Front as _;
use ratatui::text::Line;
use render::look::Role;
use std::io;
use std::pin::pin;

/// A session that can begin.
pub struct Begun {
    /// The session.
    pub session: Session,
    /// What it needs of the world.
    pub reach: Reach,
    /// What is to be known of it, shown first.
    pub notices: Vec<String>,
    /// The conversation that it goes on from.
    pub earlier: Option<Earlier>,
    /// What is said first, as if it was typed.
    pub opening: Option<String>,
}

/// Lives in a session on the terminal at standard input and output, until its user leaves. The terminal is taken at once,
/// and what is said before the session can begin waits for it; who interrupts that throws `skip`. `greeting` is shown
/// first. The terminal is left as it was found, also when this panics.
///
/// # Errors
/// When there is no terminal.
pub async fn on_terminal(
    outfit: Outfit,
    greeting: &str,
    skip: &Interrupt,
    begin: impl Future<Output = Begun>,
) -> io::Result<Lived> {
    let mut front = remote::Remote::open(outfit)?;
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

/// Lives in a session that is read and written in lines, until standard input ends. `is_typed` says that a person
/// types, who wants to see when it is their turn, and may throw `skip` as on a terminal; `width`, in columns, is where lines
/// are broken.
///
/// # Errors
/// When standard input cannot be read.
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
        front.print(plain::notice(&look, &format!("notice: {text}")));
    }
    if let Some(earlier) = &begun.earlier {
        // Whoever pipes prompts in has no use for what was said before.
        if is_typed {
            front.print(earlier::end(&look, earlier));
        }
        for text in earlier.told.iter().chain(&earlier.warnings) {
            front.print(plain::notice(&look, &format!("notice: {text}")));
        }
    }
    Ok(Chat::new(begun.session, begun.reach, front, left)
        .live(begun.opening)
        .await)
}
