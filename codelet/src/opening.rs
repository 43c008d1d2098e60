//! Positional words after `codelet`: the first prompt of a session, or a mistyped command. A prompt costs money, so a
//! likely command is rejected, with advice on how to send it as a prompt.

use crate::args::{Chat, Codelet};
use crate::exit::Failure;
use crate::paint::{clean, clip};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser as _};
use codelet_text::near;
use std::ffi::OsString;

/// The maximum length of a prompt quoted in a message, in characters.
const SHOWN: usize = 120;
/// How to continue a session.
const RESUME: &str = "`codelet --continue` continues this project's newest saved session, and `codelet --from @N` one that `codelet sessions` lists";
/// Options of other agents, and what does the same here.
const OF_OTHERS: [(&str, &str); 2] = [
    ("--resume", RESUME),
    (
        "--verbose",
        "`--output stream-json` prints every event of a run with -p; a session shows each tool call",
    ),
];
/// Commands whose first argument is a name rather than a file: an error after them hardly means a prompt.
const WITH_NAMES: [&str; 5] = ["help", "man", "mcp", "completions", "recall"];

/// Returns the first prompt of a session; `None` without words.
///
/// # Errors
/// If the words may have been meant as a command.
pub fn prompt(chat: &Chat) -> Result<Option<String>, Failure> {
    let words = [chat.words.as_slice(), &chat.rest].concat();
    let Some(first) = words.first() else {
        return Ok(None);
    };
    let prompt = words.join(" ");
    if prompt.trim().is_empty() {
        return Err(Failure::Told(
            "the prompt is empty; `codelet` alone starts a session without one".to_owned(),
        ));
    }
    let is_command_of_session = first.starts_with('/') && !first[1..].contains(['/', '.']) || first.starts_with('!');
    // Quoted text, or text in a script without spaces between words, is a prompt.
    let is_said = first.contains(char::is_whitespace) || !first.is_ascii() || is_command_of_session;
    if chat.words.is_empty() || is_said {
        return Ok(Some(prompt));
    }
    match mistake(&words) {
        Some(mistake) => Err(Failure::Told(format!(
            "{mistake}\nTo start a session with it as the prompt: codelet -- {}",
            spelled(&prompt)
        ))),
        None => Ok(Some(prompt)),
    }
}

/// The error for an interactive session without a terminal: suggests `-p`.
pub fn without_terminal(prompt: &str) -> Failure {
    Failure::Told(format!(
        "an interactive session needs a terminal; for a single answer: codelet -p {}",
        spelled(prompt)
    ))
}

/// Returns advice for a rejected command line that seems to contain a prompt, if it does.
pub fn advice(refusal: &clap::Error, args: &[OsString]) -> Option<String> {
    if let Some(both) = program_of_run(refusal, args) {
        return Some(both);
    }
    if let Some(ContextValue::String(option)) = refusal.get(ContextKind::InvalidArg)
        && refusal.kind() == ErrorKind::UnknownArgument
        && let Some((_, here)) = OF_OTHERS.iter().find(|(other, _)| other == option)
    {
        return Some(format!("There is no {option}: {here}."));
    }
    let Some(at) = args.iter().position(|arg| arg == "-p" || arg == "--print") else {
        return said_as_command(args);
    };
    let next = args.get(at + 1).map(|next| next.to_string_lossy());
    match (refusal.kind(), next.filter(|next| next.starts_with('-'))) {
        (ErrorKind::UnknownArgument, Some(dashed)) => Some(format!(
            "If {shown} is the prompt, join it to the option: codelet -p={shown}",
            shown = spelled(&dashed)
        )),
        _ => None,
    }
}

/// Returns both meanings of the words after `codelet run` that were rejected because no `--` precedes them.
fn program_of_run(refusal: &clap::Error, args: &[OsString]) -> Option<String> {
    let words: Vec<&str> = args.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let rejected = match refusal.get(ContextKind::InvalidArg)? {
        ContextValue::String(word) if words.get(1) == Some(&"run") && !word.starts_with('-') => word,
        _ => return None,
    };
    let at = words.iter().position(|word| word == rejected)?;
    let (options, program) = words.split_at(at);
    Some(format!(
        "To run a program: codelet {} -- {}; to send it as a prompt: codelet -p {}",
        options[1..].join(" "),
        clean(&clip(&program.join(" "), SHOWN)),
        spelled(&words[1..].join(" "))
    ))
}

/// The same for a command line that was understood, and whose command then failed: a single word, or the path of a file,
/// was meant as what the command takes.
pub fn said_as_arguments(args: &[OsString]) -> Option<String> {
    let is_path = |word: &OsString| {
        let word = word.to_string_lossy();
        let is_name = |end: &str| end.starts_with(char::is_alphanumeric);
        word.contains('/') || word.split_once('.').is_some_and(|(_, end)| is_name(end))
    };
    let words = args.iter().skip(2);
    (words.len() > 1 && !words.clone().any(is_path))
        .then(|| said_as_command(args))
        .flatten()
}

/// Returns how to send the arguments as a prompt if it seems to begin with the name of a command.
pub fn said_as_command(args: &[OsString]) -> Option<String> {
    let words: Option<Vec<&str>> = args.iter().skip(1).map(|word| word.to_str()).collect();
    let words = words?;
    let [first, rest @ ..] = words.as_slice() else {
        return None;
    };
    // Options and recorded conversations are not words of a prompt.
    let is_plain = |word: &&str| !word.is_empty() && !word.starts_with('-') && !is_recorded(word);
    let is_said = !rest.is_empty() && rest.iter().all(is_plain);
    (is_said && names().contains(first) && !WITH_NAMES.contains(first))
        .then(|| format!("If that is a prompt, quote it: codelet {}", spelled(&words.join(" "))))
}

/// Returns why these words are more likely a command than a prompt.
fn mistake(words: &[String]) -> Option<String> {
    let first = words.first()?;
    let shown = clean(&clip(first, SHOWN));
    let names = names();
    if names.contains(&first.as_str()) {
        return Some(format!(
            "`{shown}` is a command and must come first, without session options before it: codelet {shown} --help"
        ));
    }
    if first == "resume" {
        return Some(format!("there is no command `resume`: {RESUME}"));
    }
    let meant = near::nearest(first, names.iter().copied().filter(|name| name.len() > 3));
    // Arguments that the command would reject were not meant for it: `format the code`.
    let meant = meant.filter(|meant| {
        let line = std::iter::once("codelet").chain(std::iter::once(*meant));
        Codelet::try_parse_from(line.chain(words[1..].iter().map(String::as_str))).is_ok()
    });
    match meant {
        Some(meant) => Some(format!("unknown command `{shown}`; did you mean `{meant}`?")),
        // A conversation alone lacks its command.
        None if words.len() == 1 && (is_recorded(first) || first == "-") => Some(format!(
            "unknown command `{shown}`; `codelet --help` lists the commands"
        )),
        None => None,
    }
}

/// Returns whether a word names a recorded conversation.
fn is_recorded(word: &str) -> bool {
    word.starts_with('@') || word.ends_with(".json") || word.ends_with(".jsonl")
}

/// Quotes a prompt for a shell.
fn spelled(prompt: &str) -> String {
    let prompt = clean(&clip(prompt, SHOWN));
    format!("'{}'", prompt.replace('\'', r"'\''"))
}

/// Returns the names of the commands.
fn names() -> Vec<&'static str> {
    static NAMES: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let mut program = Codelet::command();
        program.build();
        program
            .get_subcommands()
            .map(|command| command.get_name().to_owned())
            .collect()
    });
    names.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(words: &[&str]) -> Result<Option<String>, String> {
        let line = std::iter::once("codelet").chain(words.iter().copied());
        match prompt(&Codelet::try_parse_from(line).unwrap().chat) {
            Ok(prompt) => Ok(prompt),
            Err(Failure::Told(why)) => Err(why),
            Err(Failure::PipeClosed) => Err(String::new()),
        }
    }

    #[test]
    fn words_are_a_prompt_unless_they_may_be_a_command() {
        for (words, prompt) in [
            (&["fix", "the", "bug"][..], "fix the bug"),
            (&["fix the bug"], "fix the bug"),
            (&["--plain", "fix", "compact"], "fix compact"),
            (&["inspect the code"], "inspect the code"),
            (&["format", "the", "code"], "format the code"),
            (&["compare", "these", "two"], "compare these two"),
            (&["can", "you", "help"], "can you help"),
            (&["修复测试"], "修复测试"),
            (&["/context"], "/context"),
            (&["hi"], "hi"),
            (&["explode"], "explode"),
            (&["--", "modles"], "modles"),
            (&["--", "comapct", "x.json"], "comapct x.json"),
            (&["--", "--verbose", "is", "ignored"], "--verbose is ignored"),
        ] {
            assert_eq!(of(words), Ok(Some(prompt.to_owned())), "{words:?}");
        }
        assert_eq!(of(&[]), Ok(None));
    }

    #[test]
    fn a_mistyped_command_is_never_sent() {
        for (words, told) in [
            (&["comapct", "x.json"][..], "did you mean `compact`?"),
            (&["compct", "--", "x.json"], "did you mean `compact`?"),
            (&["modles"], "did you mean `models`?"),
            (&["replya", "a.jsonl", "b.jsonl"], "did you mean `replay`?"),
            (&["resume"], "`codelet --continue`"),
            (&["session.jsonl"], "unknown command `session.jsonl`"),
            (&["-"], "unknown command `-`"),
            (&["--plain", "compact", "x.json"], "`compact` is a command"),
            (&[""], "the prompt is empty"),
        ] {
            let refused = of(words).unwrap_err();
            assert!(refused.contains(told), "{words:?}: {refused}");
        }
        let refused = of(&["comapct", "x.json"]).unwrap_err();
        assert!(refused.ends_with("codelet -- 'comapct x.json'"), "{refused}");
    }

    #[test]
    fn a_rejected_prompt_gets_the_form_that_takes_it() {
        for (words, told) in [
            (&["-p", "-1"][..], Some("codelet -p='-1'")),
            (&["-p", "- fix\n- don't", "--model", "a/b"], Some("codelet -p='- fix")),
            (
                &["--model", "a/b", "--print", "--louder"],
                Some("codelet -p='--louder'"),
            ),
            (&["-p", "--verbose", "fix it"], Some("--output stream-json")),
            (&["fix it", "--resume"], Some("codelet --continue")),
            (&["-p", "fix it", "-c", "--from", "x"], None),
            (&["inspect", "the", "code"], Some("codelet 'inspect the code'")),
            (&["demo", "it"], Some("codelet 'demo it'")),
            (
                &["run", "make", "test", "and", "fix", "it"],
                Some(
                    "To run a program: codelet run -- make test and fix it; to send it as a prompt: codelet -p 'run make test and fix it'",
                ),
            ),
            (
                &["run", "--window", "150k", "claude", "-p", "hi"],
                Some("codelet run --window 150k -- claude -p hi;"),
            ),
            (&["run", "--windw", "150k"], None),
            (&["compact", "--nonsense"], None),
            (&["--nonsense"], None),
            (&["-p", "it", "--nonsense"], None),
        ] {
            let args: Vec<OsString> = ["codelet"].iter().chain(words).map(OsString::from).collect();
            let advice = advice(&Codelet::try_parse_from(&args).unwrap_err(), &args);
            assert_eq!(advice.is_some(), told.is_some(), "{words:?}: {advice:?}");
            assert!(
                advice.as_deref().unwrap_or_default().contains(told.unwrap_or_default()),
                "{words:?}: {advice:?}"
            );
        }
    }

    #[test]
    fn a_prompt_that_begins_with_the_name_of_a_command_is_told_apart_from_its_arguments() {
        let told = |words: &[&str]| {
            let args: Vec<OsString> = ["codelet"].iter().chain(words).map(OsString::from).collect();
            said_as_arguments(&args)
        };
        for words in [
            &["report", "the", "bug!"][..],
            &["restore", "the", "tests."],
            &["compact", "this", "please"],
        ] {
            let advice = told(words).unwrap();
            assert!(advice.ends_with(&format!("codelet '{}'", words.join(" "))), "{advice}");
        }
        for words in [
            &["report", "a.jsonl", "b.jsonl"][..],
            &["replay", "x"],
            &["inspect", "main.rs"],
            &["restore", "c/claude.rm", "zzz"],
            &["compact", "a.md", "b"],
            &["restore", "gone.jsonl", "k3f9a2"],
            &["mcp", "test", "files"],
            &["recall", "k3f9a2"],
            &["inspect", "@1"],
            &["inspect"],
            &["models", "--search", "sonnet"],
        ] {
            assert_eq!(told(words), None, "{words:?}");
        }
    }
}
