//! How the program ends: the exit statuses, and the failures that lead to them.

use crate::paint::clean;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// The exit statuses. A pipe that the reader closed is a success: whoever reads has seen enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Done, also when there was nothing to do. Of a run: the model gave its final answer.
    Done = 0,
    /// The task failed: the model declined, a limit was reached, the same call failed again and again, or what it wanted to do was
    /// not permitted. Of a trial of servers: one does not work.
    Failed = 1,
    /// Bad usage or settings, unreadable input, or output that could not be written.
    Usage = 2,
    /// The provider gave no answer.
    Provider = 3,
    /// The conversation is too long, and cannot be made to fit.
    TooLong = 4,
    /// The model gave an answer, but none that is known to fit the schema.
    Unfit = 5,
    /// The user interrupted.
    Interrupted = 130,
}

/// The exit status of a program that broke down: Rust's own after a panic.
pub const BROKEN: u8 = 101;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why a command stopped.
#[derive(Debug)]
pub enum Failure {
    /// Something is wrong; the words are for the user.
    Told(String),
    /// Nobody reads our standard output any more.
    PipeClosed,
}

impl Failure {
    /// A failure that concerns a file.
    pub fn at(file: impl Display, problem: impl Display) -> Self {
        Failure::Told(format!("{}: {problem}", clean(&file.to_string())))
    }

    /// Why, for whoever goes on all the same.
    pub fn words(self) -> String {
        match self {
            Failure::Told(why) => why,
            Failure::PipeClosed => "a pipe was closed".to_owned(),
        }
    }

    /// An operating system's refusal that concerns a file.
    pub fn io(file: &Path, error: &io::Error) -> Self {
        Failure::at(file.display(), words(error))
    }
}

/// An operating system's refusal in plain words, without its number.
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
