//! A command line.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A command line. Clones share the text.
#[derive(Clone, PartialEq, Eq)]
pub struct CommandLine(Arc<Box<str>>);

impl CommandLine {
    /// Creates a command line from the text of a call.
    pub(crate) fn new(line: &str) -> Self {
        CommandLine(Arc::new(line.into()))
    }

    /// The line.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for CommandLine {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
