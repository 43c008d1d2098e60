//! Commands that a shell handles itself, without a program: some run the text of their arguments, or decide which
//! programs later commands run.

use super::word::{ShellWord, is_among};

/// Builtins that evaluate their arguments, set variables (possibly `PATH`), or change the meaning of command names. A
/// `[[` continues past `&&`, where a line is split.
const UNBOUNDED: &str = "[[ alias bind compgen complete declare enable eval export fc for function getopts hash jobs let local \
    mapfile read readarray readonly select set setvar shopt trap typeset unalias unset wait";
/// Keywords and builtins followed by a command.
pub(super) const BEFORE_A_COMMAND: &str = "builtin command coproc do elif else if then time until while";

/// Keywords in front of a command that decide whether, or how often, it runs, and those that end such a list.
const BEFORE: &str = "if then elif else while until do time";
const BEHIND: &str = "fi done";

/// Returns how many words at the beginning of a command are keywords that change nothing of what runs.
pub(super) fn keywords(words: &[ShellWord]) -> usize {
    let mut count = 0;
    while let Some(word) = words.get(count).filter(|word| word.is_bare(BEFORE)) {
        count += 1;
        // Any other option of `time` would be the name of a program.
        if word.text == "time" && words.get(count).is_some_and(|option| option.is_bare("-p")) {
            count += 1;
        }
    }
    let is_end = words.len() == count + 1 && words[count].is_bare(BEHIND);
    count + usize::from(is_end)
}

/// Returns the command after `if`, `command` and the like; all words if there are none.
pub(super) fn behind_keywords(mut words: &[ShellWord]) -> &[ShellWord] {
    while let [first, rest @ ..] = words
        && is_among(BEFORE_A_COMMAND, &first.text)
    {
        let options = rest.iter().take_while(|word| word.text.starts_with('-')).count();
        words = &rest[options..];
    }
    words
}

/// Options of `set` that control when a shell stops and what it prints; any other may change the meaning of later
/// words.
const HOW_BY_LETTER: &str = "euvx";
const HOW_BY_NAME: &str = "errexit nounset pipefail verbose xtrace";

/// Returns whether a command is a `set` that only controls how the shell runs other commands, such as `set -euo
/// pipefail`. Alone, `set` prints all variables, and a word that is not an option becomes a parameter.
pub(super) fn only_says_how(words: &[ShellWord]) -> bool {
    let [name, options @ ..] = words else { return false };
    if name.text != "set" || options.is_empty() {
        return false;
    }
    let mut options = options.iter().map(|word| (word.text.as_str(), word.is_wild));
    while let Some((option, is_wild)) = options.next() {
        let Some(letters) = option.strip_prefix('-').filter(|_| !is_wild) else {
            return false;
        };
        let letters = match letters.strip_suffix('o') {
            Some(others) => match options.next() {
                Some((name, false)) if is_among(HOW_BY_NAME, name) => others,
                _ => return false,
            },
            None if letters.is_empty() => return false,
            None => letters,
        };
        if !letters.chars().all(|letter| HOW_BY_LETTER.contains(letter)) {
            return false;
        }
    }
    true
}

/// Returns whether a shell evaluates the arguments of this command, or resolves later commands differently because of
/// it.
pub(super) fn is_unbounded(words: &[ShellWord]) -> bool {
    let [name, arguments @ ..] = words else { return false };
    match name.text.as_str() {
        "printf" => sets_a_variable(arguments),
        "test" | "[" => arguments.iter().any(may_ask_for_a_variable),
        name => is_among(UNBOUNDED, name),
    }
}

/// Returns whether a `printf` writes to a variable, whose name is evaluated.
fn sets_a_variable(arguments: &[ShellWord]) -> bool {
    let format = match arguments {
        [end, format, ..] if end.text == "--" => format,
        [format, ..] => format,
        [] => return false,
    };
    // A file may be named like an option.
    format.is_wild || format.text.starts_with("-v") || has_count(&format.text)
}

/// Returns whether a format contains `%n`, which stores a number in a variable.
fn has_count(format: &str) -> bool {
    let is_between = |c: char| "#'-+ .*hjlLqtwz".contains(c) || c.is_ascii_digit();
    let mut behind = format.split('%').skip(1);
    behind.any(|text| text.trim_start_matches(is_between).starts_with('n'))
}

/// Returns whether a word of a test is `-v`, which evaluates the next one, or may expand to it by file names.
fn may_ask_for_a_variable(word: &ShellWord) -> bool {
    let text = &word.text;
    text.starts_with("-v")
        || word.is_wild && text.starts_with(['-', '*', '?', '[']) && text.ends_with(['v', '*', '?', ']'])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::permission::line::split;
    use crate::permission::pattern::fits_all;
    use crate::permission::pattern_for;

    /// Returns whether a line is allowed by patterns that allow each of its commands by its first word alone.
    fn may(line: &str) -> bool {
        let names = split(line)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|words| words.into_iter().next());
        let written = line.split([' ', ';', '&', '|', '\n']).filter(|word| !word.is_empty());
        let names = names.map(|word| word.text).chain(written.map(str::to_owned));
        let patterns: Vec<String> = names.flat_map(|name| [format!("{name} *"), name]).collect();
        fits_all(&patterns, line, false, |_| false)
    }

    #[test]
    fn what_a_shell_evaluates_or_what_changes_later_commands_matches_no_pattern() {
        for line in [
            "printf -v 'a[$(touch x)]' y",
            "printf -v PATH ./evil; ls",
            "printf -vPATH ./evil; ls",
            "printf '-v' PATH ./evil; ls",
            "printf 'evil%n' PATH; ls",
            "printf -- '%%a%-5.3ln' PATH; ls",
            "printf * y",
            "printf -- * y",
            "test -v 'a[$(touch x)]'",
            "test ! -v 'a[$(touch x)]'",
            "test -n a -a -v 'a[$(touch x)]'",
            "test -va",
            "test -* 'a[$(touch x)]'",
            "test ?v 'a[$(touch x)]'",
            "test *",
            "[ -v 'a[$(touch x)]' ]",
            "[ \"-v\" 'a[$(touch x)]' ]",
            "[ [-]v 'a[$(touch x)]' ]",
            "[[ -v 'a[$(touch x)]' ]]",
            "[[ 'a[$(touch x)]' -eq 1 ]]",
            "[[ a && ls -eq 'a[$(touch x)]' ]]",
            "let 'a[$(touch x)]=1'",
            "eval 'touch x'",
            "export PATH=./evil; ls",
            "export FOO",
            "declare PATH=./evil; ls",
            "typeset 'a[$(touch x)]=1'",
            "readonly PATH=./evil; ls",
            "local PATH=./evil",
            "unset 'a[$(touch x)]'",
            "hash -p ./evil/ls ls; ls",
            "enable -f ./evil.so ls; ls",
            "echo ./evil | read PATH",
            "mapfile -C 'touch x' a",
            "readarray -C 'touch x' a",
            "wait -p 'a[$(touch x)]'",
            "set -k; ls PATH=./evil",
            "shopt -s expand_aliases\nalias ls=evil\nls",
            "alias ls=evil",
            "trap 'touch x' EXIT",
            "getopts a PATH -a; ls",
            "for PATH in ./evil; do ls; done",
            "compgen -W '$(touch x)'",
            "fc -s",
            "jobs -x touch x",
            "\\export PATH=./evil; ls",
            "ls && 'let' 'a[$(touch x)]=1'",
            "command printf -v 'a[$(touch x)]' y",
            "command -p -- export PATH=./evil; ls",
            "builtin command let 'a[$(touch x)]=1'",
            "if test -v 'a[$(touch x)]'; then ls; fi",
            "if PATH=./evil; then ls; fi",
            "while read PATH; do ls; done",
            "time let 'a[$(touch x)]=1'",
            "((a))",
            "ls && (( 'a[$(touch x)]' ))",
        ] {
            assert!(!may(line), "{line}");
            assert_eq!(pattern_for(line), None, "{line}");
        }
    }

    #[test]
    fn a_set_that_only_says_how_the_shell_runs_the_rest_needs_no_pattern() {
        let cargo = ["cargo *".to_owned()];
        for line in [
            "set -e; cargo test",
            "set -euo pipefail; cargo test",
            "set -euo pipefail\ncargo build && cargo test",
            "set -e -u -x -v && cargo test",
            "set -o errexit -o nounset; cargo test",
            "set -exo pipefail -o xtrace; cargo test | cargo fmt",
        ] {
            assert!(fits_all(&cargo, line, false, |_| false), "{line}");
            assert_eq!(pattern_for(&line.replace("build", "test")).unwrap()[0], "cargo test *");
        }
        for line in [
            // Allowed only next to commands that match.
            "set -e",
            "set -e; ls",
            "set -e; cargo test; ls",
            // Prints variables, sets parameters, or changes the meaning of later words.
            "set; cargo test",
            "set -; cargo test",
            "set --; cargo test",
            "set -e a; cargo test",
            "set -- -e; cargo test",
            "set -o; cargo test",
            "set +o; cargo test",
            "set -eo; cargo test",
            "set -k; cargo test",
            "set -ek; cargo test",
            "set -a; cargo test",
            "set -m; cargo test",
            "set -o posix; cargo test",
            "set -o pipefail keyword; cargo test",
            "set -oo pipefail posix; cargo test",
            "set -e*; cargo test",
            "set -o p*; cargo test",
            "set -e $(touch x); cargo test",
            "set -e > a; cargo test",
            "./set -e; cargo test",
            "command set -e; cargo test",
        ] {
            assert!(!fits_all(&cargo, line, false, |_| false), "{line}");
        }
    }

    #[test]
    fn other_commands_of_a_shell_match_their_patterns() {
        for line in [
            "cd x && cargo test",
            "test -f a && ls",
            "[ -d a ]",
            "[ -f *.rs ] && ls",
            "[ a = '*' ]",
            "[ -e [ab].rs ]",
            "test -n v -a 1 -lt 2",
            "printf 'a %s' b",
            "printf '%s\\n' *.rs",
            "printf -- '-%d%%\\n' 5",
            "printf '%s' -v",
            "printf",
            "echo export set -v",
            "grep -v let a",
            "/usr/bin/printf -v",
            "./set a && ./wait",
            "command -v cargo",
            "if test -f a; then ls; else pwd; fi",
            "true && pwd && type ls",
        ] {
            assert!(may(line), "{line}");
        }
    }

    #[test]
    fn no_pattern_is_offered_behind_which_any_command_may_stand() {
        assert_eq!(pattern_for("mkdir a && printf '%s' b").unwrap(), ["mkdir *"]);
        for line in [
            "if true; then sh a; fi",
            "while true; do python3 a; done",
            "time sh a",
            "command ls",
        ] {
            assert_eq!(pattern_for(line), None, "{line}");
        }
    }
}
