//! Prompts that begin with a dash, as lists and diffs do: scripts pass them unquoted, and clap would parse them as
//! options.

use crate::args::Codelet;
use crate::opening;
use clap::CommandFactory as _;
use clap::error::{ContextKind, ErrorKind};
use std::ffi::{OsStr, OsString};

/// The end of the options.
const END: &str = "--";

/// Joins a prompt that begins with a dash to its `-p`: either the next argument, if it cannot be an option, or
/// everything after `--` if `-p` has no value.
pub fn joined(mut args: Vec<OsString>) -> Vec<OsString> {
    let end = end(&args);
    let Some(at) = args[..end].iter().position(|arg| is_print(arg)) else {
        return args;
    };
    let has_prompt = args[at + 1..end].first().is_some_and(|next| !is_dashed(next));
    if args[at + 1..end].first().is_some_and(|next| is_prompt(next)) {
        let prompt = args.remove(at + 1);
        join(&mut args[at], &prompt);
    } else if !has_prompt && args.len() == end + 2 {
        let prompt = args.split_off(end).pop().unwrap_or_default();
        join(&mut args[at], &prompt);
    }
    args
}

/// Returns advice for a rejected command line that seems to contain a prompt, if it does.
pub fn advice(refusal: &clap::Error, args: &[OsString]) -> Option<String> {
    let all = args;
    let args = &args[..end(args)];
    let is_unknown = refusal.kind() == ErrorKind::UnknownArgument;
    let has_print = args.iter().any(|arg| is_print(arg));
    let is_of_prompt = refusal.kind() == ErrorKind::ArgumentConflict && has_print && concerns_prompt(refusal);
    let ends_dashed = |pair: &[OsString]| is_print(&pair[0]) && is_dashed(&pair[1]);
    let advice = if is_of_prompt && args.windows(2).any(ends_dashed) {
        "Put the prompt right after -p: codelet --continue -p 'make the tests pass'"
    } else if is_of_prompt {
        "Quote a prompt of several words: codelet -p 'make the tests pass'"
    } else if is_unknown && args.get(1).is_some_and(|first| is_prompt(first)) {
        "Quote a prompt, and put -- before one that starts with a dash: codelet -- '- make the tests pass'"
    } else if is_unknown && args.windows(2).any(ends_dashed) {
        "Join a prompt that looks like an option to its -p: codelet -p='--verbose'"
    } else {
        return opening::said_as_command(all);
    };
    Some(advice.to_owned())
}

/// Returns whether the error names positional arguments.
fn concerns_prompt(refusal: &clap::Error) -> bool {
    let mut named = [ContextKind::InvalidArg, ContextKind::PriorArg]
        .into_iter()
        .filter_map(|kind| refusal.get(kind));
    named.any(|named| ["[PROMPT]", "REST"].iter().any(|name| named.to_string().contains(name)))
}

/// Returns the index at which the options end.
fn end(args: &[OsString]) -> usize {
    args.iter().position(|arg| arg == END).unwrap_or(args.len())
}

fn is_print(arg: &OsStr) -> bool {
    arg == "-p" || arg == "--print"
}

/// Returns whether an argument begins like an option. A single dash is standard input.
fn is_dashed(arg: &OsStr) -> bool {
    arg != "-" && arg.as_encoded_bytes().starts_with(b"-")
}

/// Returns whether an argument begins like an option but cannot be one. A misspelled option is not a prompt: rejecting
/// it is better than sending it.
fn is_prompt(arg: &OsStr) -> bool {
    let text = arg.to_string_lossy();
    let Some(bare) = text.strip_prefix("--").or_else(|| text.strip_prefix('-')) else {
        return false;
    };
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_word = !text.contains(char::is_whitespace) && bare.split('=').next().unwrap_or(bare).chars().all(is_of_name);
    !is_word && !has_value(&text)
}

/// Returns whether an argument is an option joined to its value, which may contain anything.
fn has_value(text: &str) -> bool {
    Codelet::command().get_arguments().any(|known| {
        let is_long = known.get_long().is_some_and(|name| {
            let value = text.strip_prefix("--").and_then(|bare| bare.strip_prefix(name));
            value.is_some_and(|value| value.starts_with('='))
        });
        // A second prompt is never intended.
        let is_short = known.get_id() != "prompt"
            && known.get_short().is_some_and(|name| {
                let value = text.strip_prefix('-').and_then(|bare| bare.strip_prefix(name));
                value.is_some_and(|value| !value.starts_with(char::is_whitespace))
            });
        known.get_action().takes_values() && (is_long || is_short)
    })
}

fn join(option: &mut OsString, prompt: &OsStr) {
    option.push("=");
    option.push(prompt);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use clap::Parser as _;
    use proptest::prelude::*;

    fn args(words: &[&str]) -> Vec<OsString> {
        std::iter::once("codelet")
            .chain(words.iter().copied())
            .map(OsString::from)
            .collect()
    }

    fn prompt(words: &[&str]) -> Result<Option<Option<String>>, clap::Error> {
        Codelet::try_parse_from(joined(args(words))).map(|read| read.chat.prompt)
    }

    #[test]
    fn a_prompt_that_begins_with_a_dash_is_one() {
        for text in [
            "- fix a\n- fix b",
            "-x is what",
            "---\nname: x\n---\nDo it.",
            "--- a/src/lib.rs\n+++ b/src/lib.rs",
            "--model is not heeded, fix it",
            "--help me please",
            "-please fix it",
            "-C is not heeded",
            "-p",
            "-修复测试",
            "->why?",
            "-1",
        ] {
            let is_word = matches!(text, "-p" | "-1");
            for print in ["-p", "--print"] {
                let forms: &[&[&str]] = &[
                    &[print, "--", text],
                    &["--model", "a/b", print, "--", text],
                    &[print, "--model", "a/b", "--", text],
                    &[print, text],
                    &["--model", "a/b", print, text, "--output", "json"],
                ];
                for form in &forms[..if is_word { 3 } else { forms.len() }] {
                    assert_eq!(prompt(form).unwrap(), Some(Some(text.to_owned())), "{form:?}");
                }
            }
        }
    }

    #[test]
    fn options_behind_it_stay_options() {
        for words in [
            &["-p", "--model", "a/b"][..],
            &["-p", "--append-system=Be brief, please."],
            &["-p", "-C/some folder"],
            &["-p", "--output", "json"],
            &["-p"],
        ] {
            assert_eq!(prompt(words).unwrap(), Some(None), "{words:?}");
        }
        assert_eq!(prompt(&["-p", "-"]).unwrap(), Some(Some("-".to_owned())));
        assert_eq!(prompt(&["-p", "fix it"]).unwrap(), Some(Some("fix it".to_owned())));
        for words in [
            &["-p", "--modle", "a/b"][..],
            &["-p", "-1"],
            &["-p", "fix it", "--", "- x"],
        ] {
            assert!(prompt(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn who_seems_to_prompt_is_told_how() {
        for (words, told) in [
            (&["-p", "fix", "it"][..], Some("several words: codelet -p 'make")),
            (&["-p", "--", "fix", "it"], Some("several words")),
            (&["-p", "-c", "fix it"], Some("right after -p")),
            (&["-p", "fix it", "-c", "--from", "x"], None),
            (&["- fix it"], Some("codelet -- '- make")),
            (&["inspect", "the", "code"], Some("codelet 'inspect the code'")),
            (&["-p", "-1"], Some("-p='--verbose'")),
            (&["--print", "--verbose"], Some("-p='--verbose'")),
            (&["compact", "--nonsense"], None),
            (&["--nonsense"], None),
            (&["-p", "it", "--nonsense"], None),
        ] {
            let args = args(words);
            let refusal = Codelet::try_parse_from(joined(args.clone())).unwrap_err();
            let advice = advice(&refusal, &args);
            assert_eq!(advice.is_some(), told.is_some(), "{words:?}: {advice:?}");
            assert!(
                advice.as_deref().unwrap_or_default().contains(told.unwrap_or_default()),
                "{words:?}: {advice:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn whatever_stands_on_the_line_is_kept_and_nothing_else_is_joined(
            words in proptest::collection::vec("(-p|--print|--|-|--model|[-a =é\n]{0,6})", 0..6),
        ) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let (before, after) = (args(&words), joined(args(&words)));
            if before == after {
                return Ok(());
            }
            let grown: Vec<usize> = (0..after.len()).filter(|at| before[*at] != after[*at]).collect();
            let text = after[*grown.first().unwrap()].to_str().unwrap();
            let prompt = text.strip_prefix("--print=").or_else(|| text.strip_prefix("-p=")).unwrap();
            prop_assert!(words.contains(&prompt));
        }
    }
}
