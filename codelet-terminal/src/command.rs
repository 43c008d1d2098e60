//! The slash commands, each with a line of help, and the parser of user input.

use codelet_agent::prompts::{self, PromptSpec};
use codelet_text::near;

/// A command of the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// Shows what fills the context window.
    Context,
    /// Compacts the conversation.
    Compact,
    /// Undoes the last compaction.
    UndoCompact,
    /// Shows the summary that replaced older messages.
    Summary,
    /// Pins something so that no compaction removes it.
    Pin,
    /// Unpins it.
    Unpin,
    /// Shows something that was removed from the context.
    Recall,
    /// Shows when and why it was removed.
    Why,
    /// Shows the cost of the session.
    Cost,
    /// Shows or changes the model.
    Model,
    /// Shows or changes the thinking effort.
    Effort,
    /// Shows or changes the permission.
    Permission,
    /// Plan mode: only look, and make a plan.
    Plan,
    /// Shows the uncommitted changes.
    Diff,
    /// Commits them.
    Commit,
    /// Shows the to-do list.
    Todo,
    /// Shows the model's notes.
    Notes,
    /// Sends the last prompt again.
    Retry,
    /// Starts over.
    Clear,
    /// Goes back to an earlier prompt.
    Rewind,
    /// Undoes /clear, /retry or /rewind.
    Undo,
    /// Shows folded output in full.
    More,
    /// Copies the last answer to the clipboard.
    Copy,
    /// Exports the conversation to a file.
    Export,
    /// Shows the help.
    Help,
    /// Leaves the session.
    Exit,
}

/// The description of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The command.
    pub name: Name,
    /// Its name, without the slash.
    pub word: &'static str,
    /// Its arguments, in usage notation.
    pub arguments: &'static str,
    /// One line of help.
    pub help: &'static str,
}

impl Entry {
    /// Returns whether a user's own command file may replace it. Messages and questions of a session refer to the other
    /// commands; replacing one would make them lead to a prompt.
    pub fn yields(&self) -> bool {
        self.name == Name::Commit
    }

    /// Returns whether one of these prompts has replaced it. A session offers no other prompts of its name.
    pub(crate) fn is_replaced(&self, prompts: &[PromptSpec]) -> bool {
        prompts
            .iter()
            .any(|prompt| prompt.author.is_some() && prompt.command.eq_ignore_ascii_case(self.word))
    }
}

/// All commands, in the order of the help.
pub const COMMANDS: [Entry; 26] = [
    entry(
        Name::Context,
        "context",
        "",
        "show what fills the context window, the largest items, and what would be removed first",
    ),
    entry(
        Name::Compact,
        "compact",
        "[--dry-run] [INSTRUCTIONS]",
        "compact the conversation now; words and files that the instructions name are kept first",
    ),
    entry(Name::UndoCompact, "undo-compact", "", "undo the last compaction"),
    entry(
        Name::Summary,
        "summary",
        "[all]",
        "show the summary that replaces older messages; all: in full",
    ),
    entry(
        Name::Pin,
        "pin",
        "[#MESSAGE | @FILE | SENTENCE]",
        "keep a message, a file or a sentence through every compaction; without arguments: list pins",
    ),
    entry(Name::Unpin, "unpin", "NUMBER | @FILE | all", "remove a pin"),
    entry(
        Name::Recall,
        "recall",
        "HANDLE",
        "show the removed text with this handle",
    ),
    entry(Name::Why, "why", "HANDLE", "show when and why it was removed"),
    entry(
        Name::Cost,
        "cost",
        "",
        "show tokens, cost, cache hits and cache misses so far",
    ),
    entry(
        Name::Model,
        "model",
        "[PROVIDER/NAME]",
        "switch to another model; without arguments: show the current one",
    ),
    entry(
        Name::Effort,
        "effort",
        "[LEVEL]",
        "set how much the model thinks, such as low or high; without arguments: show the levels",
    ),
    entry(
        Name::Permission,
        "permission",
        "[plan | read | edit | all]",
        "set what runs without asking; without arguments: show it",
    ),
    entry(
        Name::Plan,
        "plan",
        "[accept | edit | off]",
        "plan mode: the model only reads, and answers with a plan; accept: carry it out, edit: change it first",
    ),
    entry(
        Name::Diff,
        "diff",
        "[FILE]",
        "show what changed since the last commit, and new files",
    ),
    entry(
        Name::Commit,
        "commit",
        "[WORDS | accept [MESSAGE]]",
        "propose a commit message and show what would be committed; accept: commit with it, or with your own; nothing is pushed",
    ),
    entry(Name::Todo, "todo", "", "show the to-do list"),
    entry(
        Name::Notes,
        "notes",
        "[add SENTENCE | drop NUMBER]",
        "show the model's notes, which every compaction keeps; add one, or drop one",
    ),
    entry(
        Name::More,
        "more",
        "[all]",
        "expand the last collapsed output; again: the one before it; all: in full",
    ),
    entry(
        Name::Copy,
        "copy",
        "[NUMBER]",
        "copy the last answer, or its code block with this number, to the clipboard",
    ),
    entry(
        Name::Retry,
        "retry",
        "",
        "discard everything since the last prompt and send it again; files are not restored",
    ),
    entry(Name::Clear, "clear", "", "start over with an empty conversation"),
    entry(
        Name::Rewind,
        "rewind",
        "[NUMBER [both | conversation | files]]",
        "list your prompts, or go back to before one: conversation, files or both",
    ),
    entry(
        Name::Undo,
        "undo",
        "",
        "undo /clear, /retry or /rewind and everything since; again: redo it",
    ),
    entry(
        Name::Export,
        "export",
        "FILE",
        "write the whole conversation as .json, or a report as .html",
    ),
    entry(Name::Help, "help", "", "list the commands and keys"),
    entry(
        Name::Exit,
        "exit",
        "",
        "quit at once; what is queued is listed and not sent",
    ),
];

const fn entry(name: Name, word: &'static str, arguments: &'static str, help: &'static str) -> Entry {
    Entry {
        name,
        word,
        arguments,
        help,
    }
}

/// Parsed user input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// A prompt for the model.
    Prompt(String),
    /// A command line for the shell.
    Shell(String),
    /// A command, with its arguments.
    Command(Name, String),
    /// The command of a server's prompt, with its arguments. It is not checked here that the prompt exists.
    Offered(String, String),
    /// A command with arguments that it does not take: the reason for the refusal, in a sentence.
    Refused(String),
    /// A slash and a word that is no built-in command, with its arguments and the closest built-in command. It is not
    /// checked here that a command file has this name.
    Unknown(String, String, Option<&'static str>),
    /// Empty input.
    Nothing,
}

/// Parses user input.
pub fn read(text: &str) -> Said {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Said::Nothing;
    }
    // Many keyboards and habits capitalise the first letter of a line.
    let is = |word: &str| trimmed.eq_ignore_ascii_case(word);
    if is("exit") || is("quit") {
        return Said::Command(Name::Exit, String::new());
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
    // No built-in command has this form.
    if let Some((command, words)) = prompts::command(trimmed) {
        return Said::Offered(command.to_owned(), words.to_owned());
    }
    let (word, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    // A path is no command: `/etc/hosts is wrong` is a prompt.
    if word.contains(['/', '.']) || word.is_empty() {
        return Said::Prompt(text.to_owned());
    }
    let found = COMMANDS.iter().find(|entry| entry.word.eq_ignore_ascii_case(word));
    match found {
        Some(entry) => given(entry, entry.word, arguments.trim()),
        None if word.eq_ignore_ascii_case("quit") => match COMMANDS.iter().find(|entry| entry.name == Name::Exit) {
            Some(exit) => given(exit, "quit", arguments.trim()),
            None => Said::Command(Name::Exit, String::new()),
        },
        None => Said::Unknown(word.to_owned(), arguments.trim().to_owned(), nearest(word)),
    }
}

/// Makes a compaction a dry run.
const DRY_RUN: &str = "--dry-run";

/// Returns a command with these arguments, or a refusal if it does not take them, so that nothing is done that was not
/// meant.
fn given(entry: &Entry, word: &str, arguments: &str) -> Said {
    let why = match entry.name {
        _ if arguments.is_empty() => None,
        Name::Compact => arguments
            .split_whitespace()
            .next()
            .filter(|first| first.starts_with("--") && *first != DRY_RUN)
            .map(|_| format!("Unknown option; the only one is /compact {DRY_RUN}. Nothing was done.")),
        Name::Pin if !arguments.contains(|c: char| !c.is_ascii_digit()) => Some(format!(
            "To pin a message, write /pin #{arguments}. Nothing was pinned."
        )),
        _ if entry.arguments.is_empty() => Some(format!("/{word} takes no arguments. Nothing was done.")),
        _ => None,
    };
    match why {
        Some(why) => Said::Refused(why),
        None => Said::Command(entry.name, arguments.to_owned()),
    }
}

/// The instructions of a dry-run compaction; `None` if it is no dry run.
pub(crate) fn dry_run(arguments: &str) -> Option<&str> {
    let before = arguments
        .strip_prefix(DRY_RUN)
        .filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
    let behind = arguments
        .strip_suffix(DRY_RUN)
        .filter(|rest| rest.is_empty() || rest.ends_with(char::is_whitespace));
    before.or(behind).map(str::trim)
}

/// Commands of other agents, and what does the same here.
const OF_OTHERS: [(&str, &str); 10] = [
    (
        "agents",
        "agents for tasks are files in .claude/agents or .agents/agents",
    ),
    (
        "config",
        "`codelet settings` in a shell shows the settings and their files",
    ),
    ("init", "ask for it: \"write an AGENTS.md for this project\""),
    (
        "login",
        "set the provider's key variable, which `codelet models` lists; `codelet doctor` checks it",
    ),
    (
        "mcp",
        "`codelet mcp list` in a shell checks the MCP servers of your settings",
    ),
    (
        "memory",
        "/notes shows the model's notes; instructions are in AGENTS.md or CLAUDE.md",
    ),
    ("permissions", "/permission sets what runs without asking"),
    (
        "resume",
        "leave, and `codelet --continue` continues the last saved session; `codelet sessions` lists others",
    ),
    (
        "settings",
        "`codelet settings` in a shell shows the settings and their files",
    ),
    (
        "status",
        "/context shows the context window, /cost the cost, and `codelet doctor` checks the rest",
    ),
];

/// Returns what does the same here as another agent's command of this name, as a sentence without its full stop.
pub(crate) fn of_others(word: &str) -> Option<&'static str> {
    let found = OF_OTHERS.iter().find(|(other, _)| other.eq_ignore_ascii_case(word));
    found.map(|(_, here)| *here)
}

/// The closest command.
fn nearest(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let begun = COMMANDS.iter().find(|entry| entry.word.starts_with(&word));
    if let Some(entry) = begun {
        return Some(entry.word);
    }
    near::nearest(&word, COMMANDS.iter().map(|entry| entry.word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_command_is_read_by_its_word() {
        for entry in COMMANDS.iter().filter(|entry| !entry.arguments.is_empty()) {
            let text = format!(" /{} some words ", entry.word);
            assert_eq!(read(&text), Said::Command(entry.name, "some words".to_owned()));
            let text = format!("/{} Some words", entry.word.to_uppercase());
            assert_eq!(read(&text), Said::Command(entry.name, "Some words".to_owned()));
        }
    }

    #[test]
    fn a_command_that_takes_nothing_is_not_done_with_something_behind_it() {
        for entry in COMMANDS.iter().filter(|entry| entry.arguments.is_empty()) {
            let alone = Said::Command(entry.name, String::new());
            assert_eq!(read(&format!("/{} ", entry.word)), alone);
            let refused = read(&format!("/{} x", entry.word));
            assert!(
                matches!(&refused, Said::Refused(why) if why.starts_with(&format!("/{} takes no arguments", entry.word))),
                "{refused:?}"
            );
        }
        assert!(matches!(read("/quit now"), Said::Refused(why) if why.starts_with("/quit takes no arguments")));
    }

    #[test]
    fn an_unknown_option_compacts_nothing() {
        for text in [
            "--dryrun",
            "--dry",
            "--dr-yrun keep the tests",
            "--help",
            "--force keep the tests --dry-run",
        ] {
            let said = read(&format!("/compact {text}"));
            assert!(
                matches!(&said, Said::Refused(why) if why.contains("/compact --dry-run")),
                "{text}: {said:?}"
            );
        }
        for text in [
            "--dry-run",
            "--dry-run keep the tests",
            "keep the tests --dry-run",
            "keep what was said of --no-verify",
            "keep the output of the dry-run",
            "- keep the tests",
            "-v is a flag to remember",
            "dry humour is to be kept",
        ] {
            let said = read(&format!("/compact {text}"));
            assert_eq!(said, Said::Command(Name::Compact, text.to_owned()));
        }
    }

    #[test]
    fn a_servers_prompt_stands_beside_the_commands_and_never_in_place_of_one() {
        assert_eq!(
            read(" /files:review src/a.rs 'very strict' "),
            Said::Offered("files:review".to_owned(), "src/a.rs 'very strict'".to_owned())
        );
        for entry in &COMMANDS {
            let typed = format!("/{}", entry.word);
            assert_eq!(prompts::command(&typed), None, "{typed}");
        }
        assert_eq!(
            read("/usr:/bin is wrong"),
            Said::Prompt("/usr:/bin is wrong".to_owned())
        );
    }

    #[test]
    fn a_number_alone_is_not_pinned_as_a_sentence() {
        assert!(matches!(read("/pin 2"), Said::Refused(why) if why.contains("/pin #2")));
        for text in ["#2", "2 spaces, no tabs", "@2"] {
            assert_eq!(read(&format!("/pin {text}")), Said::Command(Name::Pin, text.to_owned()));
        }
    }

    #[test]
    fn a_capital_changes_nothing_of_a_word_that_is_a_command() {
        for (text, said) in [
            ("continue", Said::Prompt("continue".to_owned())),
            ("Exit", Said::Command(Name::Exit, String::new())),
            ("QUIT ", Said::Command(Name::Exit, String::new())),
            ("/Quit", Said::Command(Name::Exit, String::new())),
            ("Continue, please", Said::Prompt("Continue, please".to_owned())),
            (
                "/Frobnicate",
                Said::Unknown("Frobnicate".to_owned(), String::new(), None),
            ),
        ] {
            assert_eq!(read(text), said, "{text}");
        }
    }

    #[test]
    fn what_is_no_command_is_said_to_the_model() {
        for text in [
            "hello", "/etc/hosts is wrong", "/ no", "exit the loop", "continue with the tests",
        ] {
            assert_eq!(read(text), Said::Prompt(text.to_owned()), "{text}");
        }
        assert_eq!(read("  \n"), Said::Nothing);
        assert_eq!(read("! ls -l"), Said::Shell("ls -l".to_owned()));
        assert_eq!(read("quit"), Said::Command(Name::Exit, String::new()));
    }

    #[test]
    fn a_command_of_another_agent_that_is_one_here_too_is_not_in_their_list() {
        for (word, here) in OF_OTHERS {
            assert!(
                matches!(read(&format!("/{word}")), Said::Unknown(..)),
                "/{word} is a command"
            );
            // Those that it names are commands.
            for named in here.split(|c: char| c.is_whitespace() || ";,".contains(c)) {
                if named.starts_with('/') {
                    assert!(matches!(read(named), Said::Command(..)), "/{word}: {named}");
                }
            }
        }
        assert_eq!(of_others("Resume"), of_others("resume"));
    }

    #[test]
    fn an_unknown_command_suggests_the_nearest() {
        for (word, meant) in [
            ("/contxet", Some("context")),
            ("/undp", Some("undo")),
            ("/modle x", Some("model")),
            ("/frobnicate", None),
        ] {
            assert!(
                matches!(read(word), Said::Unknown(_, _, found) if found == meant),
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
