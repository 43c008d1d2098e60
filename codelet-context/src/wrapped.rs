//! Commands without what they are wrapped in: `sudo`, `timeout 60`, `uv run`, and scripts that a shell is given.

use crate::word_list::is_in;
use crate::wrappers::{Begins, Wrapper, wrappers};
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
    /// It is started, and nobody waits for it.
    pub is_left: bool,
    /// The folders that the wrappers go to, in their order.
    pub folders: Vec<&'a str>,
}

pub(crate) fn unwrap(words: &[String]) -> Unwrapped<'_> {
    const RESERVED: &str = "if then elif else do while until {";
    let (mut rest, mut outer) = (words, &words[..0]);
    let (mut is_inverted, mut is_elsewhere, mut is_left) = (false, false, false);
    let mut folders = Vec::new();
    while let Some(first) = rest.first() {
        if first == "!" {
            is_inverted = !is_inverted;
            rest = &rest[1..];
        } else if is_assignment(first) || is_in(first, RESERVED) {
            rest = &rest[1..];
        } else if let Some(layer) = Layer::of(rest).filter(|layer| !layer.only_asks()) {
            is_elsewhere |= layer.wrapper.is_elsewhere;
            is_left |= layer.is_given(layer.wrapper.leaves);
            if layer.script.is_some() {
                break;
            }
            folders.extend(layer.values(layer.wrapper.goes));
            outer = rest;
            rest = layer.rest;
        } else {
            break;
        }
    }
    Unwrapped {
        words: rest,
        outer,
        is_inverted,
        is_elsewhere,
        is_left,
        folders,
    }
}

/// One of the wrappers of a command, with what it is told.
pub(crate) struct Layer<'a> {
    pub wrapper: &'static Wrapper,
    /// Its options, each with its value or nothing.
    pub options: Vec<(&'a str, &'a str)>,
    /// The other words that stand before what it wraps.
    pub named: Vec<&'a str>,
    /// What it wraps; nothing if that is a script.
    pub rest: &'a [String],
    /// The script that it is given to run.
    pub script: Option<Cow<'a, str>>,
}

impl<'a> Layer<'a> {
    /// The wrapper that these words begin with.
    pub fn of(words: &'a [String]) -> Option<Layer<'a>> {
        let mut wrappers = wrappers(&base(words.first()?)).iter();
        wrappers.find_map(|wrapper| Layer::read(wrapper, words))
    }

    /// In time proportional to what it passes over.
    fn read(wrapper: &'static Wrapper, words: &'a [String]) -> Option<Layer<'a>> {
        let mut layer = Layer {
            wrapper,
            options: Vec::new(),
            named: Vec::new(),
            rest: &words[1..],
            script: None,
        };
        for name in wrapper.name.split(' ').skip(1) {
            layer.skip_options();
            layer.rest = layer.rest.split_first().filter(|(word, _)| *word == name)?.1;
            // Nothing is run where nothing follows.
            layer.rest.first()?;
        }
        match wrapper.begins {
            Begins::Here => {
                layer.skip_options();
                layer.skip_named();
            }
            Begins::Behind(signs) => loop {
                let (word, rest) = layer.rest.split_first()?;
                if is_in(word, signs) {
                    layer.rest = rest;
                    break;
                }
                layer.step()?;
            },
            Begins::Given(options) => {
                layer.script = Some(loop {
                    let (word, rest) = layer.rest.split_first()?;
                    let (key, value) = word.split_once('=').unwrap_or((word, ""));
                    if is_in(key, options) && !value.is_empty() {
                        break value.into();
                    }
                    if is_in(word, options) || is_cluster_with(word, options) {
                        break rest.first()?.into();
                    }
                    // What follows is another program's.
                    if word == "--" {
                        return None;
                    }
                    layer.step()?;
                });
            }
            Begins::Joined => {
                layer.skip_options();
                layer.skip_named();
                layer.script = Some(joined(layer.rest)?);
                layer.rest = &[];
            }
        }
        Some(layer)
    }

    /// The values of these options.
    pub fn values(&self, options: &'static str) -> impl Iterator<Item = &'a str> {
        let given = self.options.iter().copied();
        given
            .filter(|(key, value)| !value.is_empty() && is_in(key, options))
            .map(|(_, value)| value)
    }

    /// Whether it is told not to run what it wraps: `command -v pytest`, `sudo -l make`.
    pub fn only_asks(&self) -> bool {
        self.is_given(self.wrapper.asks) || self.is_given("--help --version")
    }

    /// Whether one of its options is one of these.
    fn is_given(&self, asked: &str) -> bool {
        !asked.is_empty()
            && self
                .options
                .iter()
                .any(|(key, _)| is_option(key, asked, self.wrapper.valued))
    }

    fn skip_options(&mut self) {
        while let Some(option) = self.rest.first().filter(|word| word.starts_with('-')) {
            self.skip_option(option);
            if option == "--" {
                break;
            }
        }
    }

    fn skip_named(&mut self) {
        for _ in 0..self.wrapper.before {
            let Some((word, rest)) = self.rest.split_first() else {
                return;
            };
            self.named.push(word);
            self.rest = rest;
            self.skip_options();
        }
    }

    /// Passes over an option or a word; nothing if there are more words than the wrapper takes.
    fn step(&mut self) -> Option<()> {
        let (word, rest) = self.rest.split_first()?;
        if word.starts_with('-') {
            self.skip_option(word);
        } else {
            self.named.push(word);
            self.rest = rest;
        }
        (self.named.len() <= self.wrapper.before).then_some(())
    }

    fn skip_option(&mut self, option: &'a str) {
        self.rest = &self.rest[1..];
        let row = self.wrapper;
        let mut presumed = row.presumed.iter();
        let is_valued = [row.valued, row.goes, row.environment, row.part]
            .iter()
            .any(|list| is_in(option, list))
            || presumed.any(|list| is_in(option, list));
        self.options
            .push(match (option.split_once('='), self.rest.split_first()) {
                (Some(given), _) => given,
                (None, Some((value, rest))) if is_valued => {
                    self.rest = rest;
                    (option, value)
                }
                _ => (option, ""),
            });
    }
}

/// Whether a word is one of these options, or several short ones with one of these among them: `-pv`. What follows an option
/// with a value in it is that.
pub(crate) fn is_option(word: &str, options: &str, valued: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    let is_cluster = letters.len() > 1 && letters.bytes().all(|letter| letter.is_ascii_alphabetic());
    let is = |letter: char, list: &str| is_in(&format!("-{letter}"), list);
    is_in(word, options)
        || is_cluster
            && letters
                .chars()
                .find(|letter| is(*letter, options) || is(*letter, valued))
                .is_some_and(|letter| is(letter, options))
}

/// Whether a word is several short options, of which the last is one of these: `-lc`.
fn is_cluster_with(word: &str, options: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    let last = letters.char_indices().next_back();
    letters.len() > 1
        && letters.bytes().all(|letter| letter.is_ascii_alphabetic())
        && last.is_some_and(|(at, _)| is_in(&format!("-{}", &letters[at..]), options))
}

/// The line that a shell is given to run: `sh -c "line"`, `cmd /c line`, `pwsh -Command "line"`, `ssh host line`.
pub(crate) fn inner_script(words: &[String]) -> Option<Cow<'_, str>> {
    let (program, rest) = words.split_first()?;
    let layer = Layer::of(words).filter(|layer| !layer.only_asks());
    if let Some(script) = layer.and_then(|layer| layer.script) {
        return Some(script);
    }
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

#[cfg(test)]
mod tests;
