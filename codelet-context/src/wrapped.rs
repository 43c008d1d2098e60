//! Commands without what they are wrapped in: `sudo`, `timeout 60`, `uv run`, and scripts that a shell is given.

use crate::programs::{Wrapper, wrappers};
use std::borrow::Cow;

/// Scripts in scripts, and programs that an interpreter runs, are looked into this deep.
pub(crate) const DEEPEST: usize = 3;

/// A command without what it is wrapped in.
pub(crate) struct Unwrapped<'a> {
    /// The program that is run in the end.
    pub words: &'a [String],
    /// The same with its innermost wrapper.
    pub outer: &'a [String],
    /// The status is turned round.
    pub is_inverted: bool,
    /// It runs where the files are not those of here.
    pub is_elsewhere: bool,
}

pub(crate) fn unwrap(words: &[String]) -> Unwrapped<'_> {
    const RESERVED: &str = "if then elif else do while until {";
    let (mut rest, mut outer) = (words, &words[..0]);
    let (mut is_inverted, mut is_elsewhere) = (false, false);
    while let Some(first) = rest.first() {
        if first == "!" {
            is_inverted = !is_inverted;
            rest = &rest[1..];
        } else if is_assignment(first) || is_in(first, RESERVED) {
            rest = &rest[1..];
        } else if let Some(wrapper) = called(rest, first) {
            outer = rest;
            is_elsewhere |= wrapper.is_elsewhere;
            rest = skip_options(&rest[wrapper.name.split(' ').count()..], wrapper.valued);
            rest = skip_options(&rest[wrapper.before.min(rest.len())..], wrapper.valued);
        } else {
            break;
        }
    }
    Unwrapped {
        words: rest,
        outer,
        is_inverted,
        is_elsewhere,
    }
}

/// The wrapper that these words begin with.
fn called(words: &[String], first: &str) -> Option<&'static Wrapper> {
    let mut wrappers = wrappers(&base(first)).iter().copied();
    wrappers.find(|wrapper| is_called(words, wrapper.name))
}

/// Whether what a command is wrapped in goes to another folder first: `env -C a`, `uv run --directory a`.
pub(crate) fn changes_folder(wrapping: &[String]) -> bool {
    const GOING: &str = "-C -D --chdir --directory --cwd";
    wrapping
        .iter()
        .any(|word| is_in(word.split('=').next().unwrap_or(word), GOING))
}

fn is_called(words: &[String], names: &str) -> bool {
    let mut names = names.split(' ');
    // Nothing is run where nothing follows.
    let Some(followed) = words.len().checked_sub(1) else {
        return false;
    };
    let first = names.next();
    first == Some(&*base(&words[0]))
        && names
            .enumerate()
            .all(|(at, name)| at + 1 < followed && words[at + 1] == name)
}

/// The line that a shell is given to run: `sh -c "line"`, `cmd /c line`, `pwsh -Command "line"`.
pub(crate) fn inner_script(words: &[String]) -> Option<Cow<'_, str>> {
    let (program, rest) = words.split_first()?;
    match &*base(program) {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" | "ash" => {
            let at = rest
                .iter()
                .position(|word| !word.starts_with("--") && word.starts_with('-') && word.contains('c'))?;
            let script = rest[at + 1..].iter().find(|word| !word.starts_with('-'))?;
            Some(script.into())
        }
        "cmd" => {
            let is_run = |word: &String| word.eq_ignore_ascii_case("/c") || word.eq_ignore_ascii_case("/k");
            joined(&rest[rest.iter().position(is_run)? + 1..])
        }
        "powershell" | "pwsh" => powershell_script(rest),
        // `eval "line"` has lost its name by now: a program's name has no blanks, but where it is a path with an ending.
        _ if program.contains(' ') && rest.is_empty() && !is_windows_path(program) => Some(program.into()),
        _ => None,
    }
}

fn powershell_script(words: &[String]) -> Option<Cow<'_, str>> {
    const VALUED: &str = "-executionpolicy -ep -ex -version -workingdirectory -wd -windowstyle -w -outputformat -inputformat -configurationname";
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        let option = first.to_ascii_lowercase();
        if !option.starts_with('-') {
            return joined(words);
        } else if "-command".starts_with(&option) && option.len() > 1 || option == "-commandwithargs" {
            return joined(rest);
        } else if option == "-file" || option == "-f" {
            return rest.split_first().map(|(file, _)| file.into());
        } else if option.starts_with("-e") && !is_in(&option, VALUED) {
            // An encoded command is nothing that can be read.
            return None;
        }
        words = &rest[usize::from(is_in(&option, VALUED)).min(rest.len())..];
    }
    None
}

fn joined(words: &[String]) -> Option<Cow<'_, str>> {
    match words {
        [] => None,
        [line] => Some(line.into()),
        words => Some(words.join(" ").into()),
    }
}

/// Whether a word begins with a drive, or with a folder that is written in the way of Windows.
pub(crate) fn is_windows_path(word: &str) -> bool {
    let bytes = word.as_bytes();
    let has_drive = bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    has_drive && matches!(bytes[2], b'\\' | b'/') || word.starts_with(".\\") || word.starts_with("..\\")
}

/// Whether a word is one of a list of words.
pub(crate) fn is_in(word: &str, list: &str) -> bool {
    list.split(' ').any(|other| other == word)
}

pub(crate) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

pub(crate) fn skip_options<'a>(words: &'a [String], valued: &str) -> &'a [String] {
    let mut rest = words;
    while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
        let taken = if is_in(option, valued) { 2 } else { 1 };
        rest = &rest[taken.min(rest.len())..];
        if option == "--" {
            break;
        }
    }
    rest
}

/// The first word that is no option, and what follows it.
pub(crate) fn first_word<'a>(words: &'a [String], valued: &str) -> Option<(&'a str, &'a [String])> {
    // A toolchain (`cargo +nightly test`) is an option by another sign.
    let mut rest = skip_options(words, valued);
    while rest.first().is_some_and(|word| word.starts_with('+')) {
        rest = skip_options(&rest[1..], valued);
    }
    let (first, rest) = rest.split_first()?;
    Some((first, rest))
}

/// The name of a program in small letters, without its folder and without the endings that platforms add.
pub(crate) fn base(program: &str) -> Cow<'_, str> {
    const ENDINGS: [&str; 5] = [".exe", ".cmd", ".bat", ".ps1", ".com"];
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let is_ending = |ending: &&str| {
        name.len()
            .checked_sub(ending.len())
            .filter(|at| name.is_char_boundary(*at))
            .is_some_and(|at| at > 0 && name[at..].eq_ignore_ascii_case(ending))
    };
    let ending = ENDINGS
        .iter()
        .find(|ending| is_ending(ending))
        .map_or(0, |ending| ending.len());
    let name = &name[..name.len() - ending];
    match name.bytes().any(|b| b.is_ascii_uppercase()) {
        true => name.to_ascii_lowercase().into(),
        false => name.into(),
    }
}
