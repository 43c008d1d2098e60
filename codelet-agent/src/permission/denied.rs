//! Decides which command lines a pattern denies: if in doubt, it does.

mod redirected;

use super::line::split;
use super::pattern::{fits, matches};
use super::word::ShellWord;

/// Returns whether a command of a line matches a pattern that denies it: starting at any of its words, since some only
/// start the rest (`env`, `nice`), by the program's base name (`/usr/bin/git`), with options between the program and
/// its subcommand (`git -C . push`), and with redirections anywhere (`git >x push`). In a line that cannot be parsed,
/// the pattern's words may match anywhere.
pub(super) fn denies(pattern: &str, line: &str) -> bool {
    pattern == "*" || denies_words(pattern, line) || denies_words(pattern, &redirected::without_redirections(line))
}

fn denies_words(pattern: &str, line: &str) -> bool {
    match split(line) {
        // Assignments are not among the words.
        Some(_)
            if pattern
                .split_whitespace()
                .next()
                .is_some_and(|first| first.contains('=')) =>
        {
            may_hold(pattern, line)
        }
        Some(commands) => commands.iter().any(|words| match words.is_empty() {
            true => may_hold(pattern, line),
            false => {
                (0..words.len()).any(|first| denies_from(pattern, &words[first..])) || denies_line_of(pattern, words)
            }
        }),
        None => may_hold(pattern, line),
    }
}

/// Shells, which accept a line as an argument.
const SHELLS: [&str; 7] = ["sh", "bash", "rbash", "dash", "zsh", "ksh", "fish"];

/// Returns whether a pattern denies a line that a command passes to a shell (`bash -c 'git push'`), or to a program
/// that has a shell run it (`flock FILE -c 'git push'`, `env -S 'git push'`).
fn denies_line_of(pattern: &str, words: &[ShellWord]) -> bool {
    let is_shell = |word: &ShellWord| SHELLS.contains(&word.text.rsplit('/').next().unwrap_or_default());
    let shell = words.iter().position(is_shell).unwrap_or(words.len());
    let takes_line = |word: &ShellWord| match word.text.strip_prefix("--") {
        Some(name) => matches!(name, "command" | "split-string"),
        None => word.text.starts_with('-') && word.text.ends_with(['c', 'S']),
    };
    let lines = (1..words.len()).filter(|&at| at > shell || takes_line(&words[at - 1]));
    // Each is shorter than the line that contains it, so the recursion ends.
    lines
        .map(|at| words[at].text.as_str())
        .any(|line| denies(pattern, line))
}

/// Returns whether a pattern denies the command that begins with the first of these words.
fn denies_from(pattern: &str, words: &[ShellWord]) -> bool {
    let [program, arguments @ ..] = words else { return false };
    let name = program.text.rsplit('/').next().unwrap_or_default();
    let mut named = program.clone();
    named.text = name.to_owned();
    // Options, each possibly followed by a value, are skipped one by one.
    let is_option = |at: usize| arguments[at].text.starts_with('-');
    let passed = (0..arguments.len()).take_while(|&at| is_option(at) || at > 0 && is_option(at - 1));
    let begins = std::iter::once(0).chain(passed.map(|at| at + 1));
    let programs = [program, &named];
    begins.into_iter().any(|begin| {
        programs.iter().any(|&program| {
            let behind = arguments[begin..].iter().cloned();
            let words: Vec<ShellWord> = std::iter::once(program.clone()).chain(behind).collect();
            matches(pattern, &words, false)
        })
    })
}

/// Returns whether the words of a pattern appear consecutively anywhere in a line.
fn may_hold(pattern: &str, line: &str) -> bool {
    let is_part = |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '+' | '=' | '*'));
    let words: Vec<&str> = line.split(is_part).filter(|word| !word.is_empty()).collect();
    let mut parts: Vec<&str> = pattern.split_whitespace().collect();
    if parts.len() > 1 {
        parts.pop_if(|last| *last == "*");
    }
    let fit = |window: &[&str]| parts.iter().zip(window).all(|(part, word)| fits(part, word));
    words.windows(parts.len().max(1)).any(fit)
}
