//! The commands that begin with a slash, each with a line of help, and what a line means that somebody has sent.

/// A command of the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// What fills the window.
    Context,
    /// Compact.
    Compact,
    /// Take the last compaction back.
    UndoCompact,
    /// Keep something whatever is compacted.
    Pin,
    /// Let go of it.
    Unpin,
    /// Show something that left the window.
    Recall,
    /// When and why it left.
    Why,
    /// What the session has cost.
    Cost,
    /// Which model is asked.
    Model,
    /// What may be done without asking.
    Permission,
    /// What is to be done.
    Todo,
    /// Begin anew.
    Clear,
    /// Show in full what was folded.
    More,
    /// Write the conversation to a file.
    Export,
    /// This list.
    Help,
    /// Leave.
    Exit,
}

/// What is said of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Which one.
    pub name: Name,
    /// How it is written, without the slash.
    pub word: &'static str,
    /// What may stand behind it.
    pub arguments: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// All commands, in the order in which they are listed.
pub const COMMANDS: [Entry; 16] = [
    entry(
        Name::Context,
        "context",
        "",
        "show what fills the window, the largest items, and what would go first",
    ),
    entry(
        Name::Compact,
        "compact",
        "[--dry-run] [INSTRUCTIONS]",
        "make the conversation smaller now; the instructions are kept in the summary",
    ),
    entry(Name::UndoCompact, "undo-compact", "", "take the last compaction back"),
    entry(
        Name::Pin,
        "pin",
        "[#MESSAGE | @FILE | SENTENCE]",
        "keep a message, a file or a sentence through every compaction; alone: list what is pinned",
    ),
    entry(Name::Unpin, "unpin", "NUMBER | all", "let go of a pin"),
    entry(
        Name::Recall,
        "recall",
        "HANDLE",
        "show what left the window under this handle",
    ),
    entry(Name::Why, "why", "HANDLE", "when and for what reason it was removed"),
    entry(
        Name::Cost,
        "cost",
        "",
        "tokens and dollars so far, the cache, and what broke it",
    ),
    entry(
        Name::Model,
        "model",
        "[VENDOR/NAME]",
        "ask another model from here on; alone: which one is asked",
    ),
    entry(
        Name::Permission,
        "permission",
        "[read | edit | all]",
        "what may be done without asking; alone: what is permitted now",
    ),
    entry(Name::Todo, "todo", "", "show the list of what is to be done"),
    entry(
        Name::More,
        "more",
        "",
        "show in full what was folded last; again: what was before it",
    ),
    entry(Name::Clear, "clear", "", "begin anew with an empty conversation"),
    entry(
        Name::Export,
        "export",
        "FILE [--force]",
        "write the whole conversation to a file; as .html, a report about it",
    ),
    entry(Name::Help, "help", "", "list the commands and keys"),
    entry(Name::Exit, "exit", "", "leave"),
];

const fn entry(name: Name, word: &'static str, arguments: &'static str, help: &'static str) -> Entry {
    Entry {
        name,
        word,
        arguments,
        help,
    }
}

/// What somebody has said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// A prompt for the model.
    Prompt(String),
    /// Restore what stood before the interrupted prompt, and send that again.
    Continue,
    /// A command line for the shell.
    Shell(String),
    /// A command, with what stands behind it.
    Command(Name, String),
    /// A slash and a word that is no command; the one that may have been meant.
    Unknown(String, Option<&'static str>),
    /// Nothing.
    Nothing,
}

/// Reads what was sent.
pub fn read(text: &str) -> Said {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Said::Nothing;
    }
    // Many keyboards and habits begin a line with a capital.
    let is = |word: &str| trimmed.eq_ignore_ascii_case(word);
    if is("exit") || is("quit") {
        return Said::Command(Name::Exit, String::new());
    }
    if is("continue") {
        return Said::Continue;
    }
    if let Some(line) = trimmed.strip_prefix('!') {
        return match line.trim() {
            "" => Said::Nothing,
            line => Said::Shell(line.to_owned()),
        };
    }
    let Some(rest) = trimmed.strip_prefix('/') else {
        return Said::Prompt(text.to_owned());
    };
    let (word, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    // A path is no command: `/etc/hosts is wrong` is said to the model.
    if word.contains(['/', '.']) || word.is_empty() {
        return Said::Prompt(text.to_owned());
    }
    let found = COMMANDS.iter().find(|entry| entry.word.eq_ignore_ascii_case(word));
    match found {
        Some(entry) => Said::Command(entry.name, arguments.trim().to_owned()),
        None if word.eq_ignore_ascii_case("quit") => Said::Command(Name::Exit, String::new()),
        None => Said::Unknown(word.chars().take(40).collect(), nearest(word)),
    }
}

/// The command that may have been meant.
fn nearest(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let begun = COMMANDS.iter().find(|entry| entry.word.starts_with(&word));
    if let Some(entry) = begun {
        return Some(entry.word);
    }
    let (distance, entry) = COMMANDS
        .iter()
        .map(|entry| (distance(&word, entry.word), entry))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + entry.word.len() / 4).then_some(entry.word)
}

/// How many letters are to be put in, left out, changed or swapped with their neighbour.
pub(crate) fn distance(typed: &str, name: &str) -> usize {
    // Nothing that long is near to a command or the name of a model.
    strsim::osa_distance(&typed[..typed.ceil_char_boundary(64)], name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_command_is_read_by_its_word() {
        for entry in COMMANDS {
            let text = format!(" /{} some words ", entry.word);
            assert_eq!(read(&text), Said::Command(entry.name, "some words".to_owned()));
            let text = format!("/{} Some words", entry.word.to_uppercase());
            assert_eq!(read(&text), Said::Command(entry.name, "Some words".to_owned()));
        }
    }

    #[test]
    fn a_capital_changes_nothing_of_a_word_that_is_a_command() {
        for (text, said) in [
            ("Continue", Said::Continue),
            (" CONTINUE\n", Said::Continue),
            ("Exit", Said::Command(Name::Exit, String::new())),
            ("QUIT ", Said::Command(Name::Exit, String::new())),
            ("/Quit", Said::Command(Name::Exit, String::new())),
            ("Continue, please", Said::Prompt("Continue, please".to_owned())),
            ("/Frobnicate", Said::Unknown("Frobnicate".to_owned(), None)),
        ] {
            assert_eq!(read(text), said, "{text}");
        }
    }

    #[test]
    fn what_is_no_command_is_said_to_the_model() {
        for text in [
            "hello",
            "/etc/hosts is wrong",
            "/ no",
            "exit the loop",
            "continue with the tests",
        ] {
            assert_eq!(read(text), Said::Prompt(text.to_owned()), "{text}");
        }
        assert_eq!(read("  \n"), Said::Nothing);
        assert_eq!(read("! ls -l"), Said::Shell("ls -l".to_owned()));
        assert_eq!(read("quit"), Said::Command(Name::Exit, String::new()));
        assert_eq!(read(" continue "), Said::Continue);
    }

    #[test]
    fn an_unknown_command_suggests_the_nearest() {
        for (word, meant) in [
            ("/contxet", Some("context")),
            ("/undo", Some("undo-compact")),
            ("/modle x", Some("model")),
            ("/frobnicate", None),
        ] {
            assert!(
                matches!(read(word), Said::Unknown(_, found) if found == meant),
                "{word}"
            );
        }
    }

    proptest! {
        #[test]
        fn anything_can_be_said(text in ".{0,200}") {
            let _ = read(&text);
            let _ = read(&format!("/{text}"));
        }
    }
}
