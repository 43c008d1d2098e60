//! Decides which command lines a pattern denies. It compares words, not what they come to mean: a line that cannot be
//! parsed is denied if the pattern's words appear in it, but `a=git; $a push` passes `git push`.

mod redirected;

pub(super) use redirected::without_redirections;

use super::line::split;
use super::looks;
use super::pattern::fits;
use super::word::{ShellWord, is_among};

/// Returns whether a command of a line matches a pattern that denies it: whatever further words it has, starting at any
/// of its words, since some only start the rest (`env`, `nice`), by the program's base name (`/usr/bin/git`), with
/// options between the program and its subcommand (`git -C . push`), and with redirections anywhere (`git >x push`). In
/// a line that cannot be parsed, the pattern's words may match anywhere.
pub(super) fn denies(pattern: &str, line: &str) -> bool {
    pattern == "*" || denies_words(pattern, line) || denies_words(pattern, &without_redirections(line))
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
        Some(commands) => {
            let feeds_shell = commands.iter().any(|words| words.first().is_some_and(is_shell));
            commands.iter().any(|words| match words.is_empty() {
                true => may_hold(pattern, line),
                false => {
                    (0..words.len()).any(|first| denies_from(pattern, &words[first..]))
                        || denies_line_in(pattern, words, feeds_shell)
                }
            })
        }
        None => may_hold(pattern, line),
    }
}

/// Shells, which also run what they read.
const SHELLS: &str = "sh bash rbash dash zsh ksh fish";
/// Options and subcommands followed by a text that nothing runs.
const BEFORE_TEXT: &str = "--message --grep --title --body --notes --description grep";

fn is_shell(word: &ShellWord) -> bool {
    is_among(SHELLS, word.text.rsplit('/').next().unwrap_or_default())
}

/// Returns whether a pattern denies a line that stands in one word of a command, which may run it: `bash -c 'git
/// push'`, `tar --to-command='git push'`, `awk 'BEGIN {system("git push")}'`. Messages, and words of programs that only
/// show or search text, are no lines, unless a shell may read them.
fn denies_line_in(pattern: &str, words: &[ShellWord], feeds_shell: bool) -> bool {
    let is_text = |at: usize| {
        let option = match words[at].text.split_once('=') {
            Some((option, _)) if option.starts_with("--") => option,
            _ => words[at.saturating_sub(1)].text.as_str(),
        };
        let is_message = option.starts_with('-') && !option.starts_with("--") && option.ends_with('m');
        is_message || is_among(BEFORE_TEXT, option)
    };
    if !feeds_shell && looks::only_shows(words) {
        return false;
    }
    // Each line is shorter than the one that contains it, so the recursion ends.
    let holds = |text: &str| text.contains(char::is_whitespace) && denies(pattern, text);
    (1..words.len()).filter(|&at| !is_text(at)).any(|at| {
        let text = words[at].text.as_str();
        let values = [text.split_once('='), text.rsplit_once('=')];
        holds(text) || values.into_iter().flatten().any(|(_, value)| holds(value))
    })
}

/// Returns whether a pattern denies the command that begins with the first of these words.
fn denies_from(pattern: &str, words: &[ShellWord]) -> bool {
    let [program, arguments @ ..] = words else { return false };
    let program = program.text.as_str();
    let name = program.rsplit('/').next().unwrap_or_default();
    // Options, each possibly followed by a value, are skipped one by one.
    let is_option = |at: usize| arguments[at].text.starts_with('-');
    let passed = (0..arguments.len()).take_while(|&at| is_option(at) || at > 0 && is_option(at - 1));
    let begins = std::iter::once(0).chain(passed.map(|at| at + 1));
    let parts = parts(pattern);
    begins.into_iter().any(|begin| {
        [program, name].into_iter().any(|program| {
            let behind = arguments[begin..].iter().map(|word| word.text.as_str());
            let words: Vec<&str> = std::iter::once(program).chain(behind).collect();
            begins_with(&words, &parts)
        })
    })
}

/// Returns the words of a pattern without a `*` for further words, which are denied in any case.
fn parts(pattern: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = pattern.split_whitespace().collect();
    if parts.len() > 1 {
        parts.pop_if(|last| *last == "*");
    }
    parts
}

/// Returns whether words begin with those of a pattern, in which `*` stands for any text.
fn begins_with(words: &[&str], parts: &[&str]) -> bool {
    !parts.is_empty() && words.len() >= parts.len() && parts.iter().zip(words).all(|(part, word)| fits(part, word))
}

/// Returns whether the words of a pattern appear consecutively anywhere in a line.
fn may_hold(pattern: &str, line: &str) -> bool {
    let is_part = |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '+' | '=' | '*'));
    let words: Vec<&str> = line.split(is_part).filter(|word| !word.is_empty()).collect();
    let parts = parts(pattern);
    words
        .windows(parts.len().max(1))
        .any(|window| begins_with(window, &parts))
}
