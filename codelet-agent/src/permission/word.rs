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

    /// Returns whether it sets, in front of a command, one of the [`SETTINGS`] to a plain value.
    pub(super) fn is_setting(&self) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ',' | '=' | ':');
        let parts = self.text.split_once('=').filter(|_| !self.is_quoted);
        parts.is_some_and(|(name, value)| is_among(SETTINGS, name) && value.chars().all(is_plain))
    }

    /// Returns whether it is one of these names, unquoted.
    pub(super) fn is_bare(&self, names: &str) -> bool {
        !self.is_quoted && is_among(names, &self.text)
    }

    pub(super) fn is_number(&self) -> bool {
        !self.is_quoted && !self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// Variables that only say how much a program prints, in which language and colours, and how many threads or cases it
/// runs. None names a program, a library, a folder or options: those could start something else (`PATH`, `LD_PRELOAD`,
/// `GIT_SSH_COMMAND`, `RUSTC_WRAPPER`, `NODE_OPTIONS`, `GOFLAGS`).
const SETTINGS: &str = "CI NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LANG LC_ALL TZ RUST_BACKTRACE RUST_LIB_BACKTRACE RUST_LOG \
     RUST_TEST_THREADS CARGO_INCREMENTAL CARGO_TERM_COLOR PROPTEST_CASES PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED NODE_ENV \
     GOMAXPROCS";

/// Returns whether a name is in a space-separated list.
pub(super) fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|other| other == name)
}
