//! Exit statuses, and the failures that lead to them.

use crate::paint::clean;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};

/// The exit statuses. A closed output pipe is a success: the reader has seen enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Done, even if there was nothing to do. For a run: the model gave its final answer.
    Done = 0,
    /// The task failed: the model refused, a limit was reached, the same call failed again and again, or a needed
    /// action was not permitted. For a test of MCP servers: one does not work.
    Failed = 1,
    /// Bad usage or settings, unreadable input, or output that could not be written.
    Usage = 2,
    /// The provider did not answer.
    Provider = 3,
    /// The conversation is too long and cannot be made to fit.
    TooLong = 4,
    /// The model answered, but the answer is not known to match the schema.
    Unfit = 5,
    /// A signal interrupted; its number decides the status.
    Interrupted = 130,
}

/// The status of [`Exit::Interrupted`].
static OF_SIGNAL: AtomicU8 = AtomicU8::new(Exit::Interrupted as u8);

/// Sets the status of an interrupted process to that of the signal.
pub fn interrupted_with(status: u8) {
    OF_SIGNAL.store(status, Ordering::Relaxed);
}

impl Exit {
    /// Returns the number.
    pub fn status(self) -> u8 {
        match self {
            Exit::Interrupted => OF_SIGNAL.load(Ordering::Relaxed),
            exit => exit as u8,
        }
    }
}

/// The exit status after a panic, as Rust sets it.
pub const BROKEN: u8 = 101;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.status())
    }
}

/// The reason why a command stopped.
#[derive(Debug)]
pub enum Failure {
    /// An error, with a message for the user.
    Told(String),
    /// The reader of standard output closed the pipe.
    PipeClosed,
}

impl Failure {
    /// Creates a failure that concerns a file.
    pub fn at(file: impl Display, problem: impl Display) -> Self {
        Failure::Told(format!("{}: {problem}", clean(&file.to_string())))
    }

    /// Returns the message, for callers that continue regardless.
    pub fn words(self) -> String {
        match self {
            Failure::Told(why) => why,
            Failure::PipeClosed => "a pipe was closed".to_owned(),
        }
    }

    /// Creates a failure from an I/O error that concerns a file.
    pub fn io(file: &Path, error: &io::Error) -> Self {
        Failure::at(file.display(), words(error))
    }
}

/// Describes an I/O error in plain words, without its number.
pub fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::StorageFull => "no space left on the device".to_owned(),
        _ => {
            let text = error.to_string();
            let bare = text.split(" (os error").next().unwrap_or(&text);
            let mut chars = bare.chars();
            chars
                .next()
                .map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
        }
    }
}
