//! A word of a command line, and lists of words.

/// A word without its quotes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Word {
    /// What it says.
    pub(super) text: String,
    /// It begins with a `~` that the shell replaces.
    pub(super) is_home: bool,
    /// Some of it was quoted, so that it is no number of an output.
    is_quoted: bool,
    /// The shell replaces it by the names of files.
    pub(super) is_wild: bool,
}

impl Word {
    pub(super) fn quoted(&mut self) -> &mut String {
        self.is_quoted = true;
        // Quotes before the first slash keep the shell from replacing it.
        self.is_home &= self.text.contains('/');
        &mut self.text
    }

    pub(super) fn push(&mut self, c: char) {
        self.is_home |= c == '~' && self.text.is_empty() && !self.is_quoted;
        self.is_wild |= matches!(c, '*' | '?' | '[');
        self.text.push(c);
    }

    /// What a command is given to read, in the place of a word.
    pub(super) fn document() -> Word {
        Word {
            text: "<<".to_owned(),
            is_quoted: true,
            ..Word::default()
        }
    }

    pub(super) fn is_document(&self) -> bool {
        self.is_quoted && self.text == "<<"
    }

    pub(super) fn is_number(&self) -> bool {
        !self.is_quoted && !self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// Whether a name is one of these, which are separated by spaces.
pub(super) fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|other| other == name)
}
