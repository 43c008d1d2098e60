//! Words of a command line, and lists of words.

/// A word without its quotes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ShellWord {
    pub(super) text: String,
    /// True if it begins with a `~` that the shell expands.
    pub(super) is_home: bool,
    /// True if part of it was quoted, so that it is not a file descriptor number.
    is_quoted: bool,
    /// True if the shell expands it to file names.
    pub(super) is_wild: bool,
}

impl ShellWord {
    pub(super) fn quoted(&mut self) -> &mut String {
        self.is_quoted = true;
        // Quotes in front of the first slash prevent the expansion.
        self.is_home &= self.text.contains('/');
        &mut self.text
    }

    pub(super) fn push(&mut self, c: char) {
        self.is_home |= c == '~' && self.text.is_empty() && !self.is_quoted;
        self.is_wild |= matches!(c, '*' | '?' | '[');
        self.text.push(c);
    }

    /// Returns the placeholder word for a command's input.
    pub(super) fn document() -> ShellWord {
        ShellWord {
            text: "<<".to_owned(),
            is_quoted: true,
            ..ShellWord::default()
        }
    }

    pub(super) fn is_document(&self) -> bool {
        self.is_quoted && self.text == "<<"
    }

    pub(super) fn is_number(&self) -> bool {
        !self.is_quoted && !self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// Returns whether a name is in a space-separated list.
pub(super) fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|other| other == name)
}
