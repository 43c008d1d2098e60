//! What command lines and patches visibly do to files. In doubt they do nothing: a program's captured output is no change to
//! a file, and a name that the shell has to work out is none yet.

use crate::command::git::Git;
use crate::command::{Command, Script};
use crate::outcome::FileState;
use crate::path::Folder;
use crate::shell::Simple;
use crate::word_list::is_in;
pub(crate) use done::done;
use in_place::InPlace;
pub(crate) use in_place::{awk_writes, perl_writes, sed_writes, yq_writes};
pub use patch::patched;
pub(crate) use patch::{Applies, is_patch, patched_by};

mod done;
mod git;
mod in_place;
mod patch;
pub(crate) mod scripted;
pub(crate) mod sweep;

/// Files taken from one line or patch at most.
const MOST: usize = 200;

/// What a command does to files, once it has succeeded. Folders stand for what is in them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// This file is written, and left in this state.
    Write(String, FileState),
    /// A file or folder is taken away.
    Remove(String),
    /// A file or folder gets another name; Git does it, and knows what it moves.
    Move { from: String, to: String, is_tracked: bool },
    /// A file gets a copy.
    Copy { from: String, to: String },
    /// A file is written with what comes from elsewhere.
    Fetch(String),
    /// What was changed is as it was committed.
    PutBack(Among),
    /// The same until it is fetched again, with new files or without.
    Stash { among: Among, with_new: bool },
    /// What was stashed is there again.
    Unstash,
    /// New files in this folder that were not committed are taken away.
    Clean(String),
    /// What was changed in the repository that this folder is in is committed.
    Commit(String),
}

/// Which files Git is told of. A folder that says nothing is the one that the line began in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Among {
    /// A file, or those in a folder.
    Path(String),
    /// The same, or the name of a branch.
    Perhaps(String),
    /// All of the repository that this folder is in.
    Repository(String),
}

/// What a command line does to files, in its order.
pub(crate) fn effects(script: &Script) -> Vec<Effect> {
    let mut found = Vec::new();
    collect(script, &mut found);
    found.truncate(MOST);
    found
}

/// The files that are visibly written, each once.
pub(crate) fn written(effects: &[Effect]) -> Vec<&str> {
    let mut paths: Vec<&str> = Vec::new();
    for effect in effects {
        if let Effect::Write(path, _) = effect
            && !paths.contains(&&**path)
        {
            paths.push(path);
        }
    }
    paths
}

/// The files that are taken away or put back, and whether with all that is in a folder of that name: what was read of them
/// before stands no more.
pub(crate) fn undone(effects: &[Effect]) -> impl Iterator<Item = (&str, bool)> {
    effects.iter().filter_map(|effect| match effect {
        Effect::Remove(path) | Effect::Move { from: path, .. } => Some((&**path, true)),
        Effect::Fetch(path) => Some((&**path, false)),
        Effect::PutBack(Among::Path(path) | Among::Perhaps(path))
        | Effect::Stash {
            among: Among::Path(path),
            ..
        } => Some((&**path, false)),
        _ => None,
    })
}

fn is_file(path: &str) -> bool {
    let is_nothing = path.eq_ignore_ascii_case("nul") || path == "-";
    !path.is_empty() && !is_nothing && !path.starts_with("/dev/") && !path.contains('\n')
}

/// Programs whose output is text that somebody composed, so that sending it to a file is writing that file. Sending
/// another program's output to a file only captures what it said.
const TEXT_TOOLS: &str = ": cat echo printf sed awk gawk perl tr sort uniq jq yq base64 cut head tail grep envsubst paste tee xxd git type get-content gc write-output convertto-json";

fn collect(script: &Script, found: &mut Vec<Effect>) {
    let mut makes_text = false;
    for command in &script.commands {
        if found.len() >= MOST {
            return;
        }
        if command.is_elsewhere {
            makes_text = false;
        } else if let Some(inner) = command.script.as_ref().filter(|_| command.is_script()) {
            collect(inner, found);
        } else {
            let (words, name) = (command.words(), command.name());
            if !command.is_piped {
                // What PowerShell is given to print is a text or a variable by itself.
                let is_text = |word: &String| word.contains([' ', '\n']) || word.starts_with('$');
                makes_text = name.is_empty() || is_in(&name, TEXT_TOOLS) || words.first().is_some_and(is_text);
            }
            let given = Given {
                command,
                simple: &command.simple,
                words,
                at: &command.folder,
                makes_text,
            };
            if !given.is_rehearsed() {
                given.written(&name, found);
                let effects = given.moved(&name).into_iter();
                // A commit or a fetched stash that may have happened leaves less to be told as undone.
                let is_told =
                    |effect: &Effect| command.is_sure || matches!(effect, Effect::Commit(_) | Effect::Unstash);
                found.extend(effects.filter(is_told));
            }
        }
    }
}

/// A command without its wrappers.
struct Given<'a> {
    command: &'a Command,
    simple: &'a Simple,
    words: &'a [String],
    /// The folder that it runs in.
    at: &'a Folder,
    makes_text: bool,
}

impl Given<'_> {
    /// The words that are no options.
    fn operands(&self, skipped: usize) -> Vec<&str> {
        let mut is_over = false;
        let operands = self.command.arguments(skipped).filter(|(word, is_open)| {
            let is_option = !is_over && word.starts_with('-') && word.len() > 1;
            is_over |= *word == "--";
            !is_open && !is_option
        });
        operands.map(|(word, _)| word).collect()
    }

    /// Whether one of the options has this letter, or this long name.
    fn has(&self, letter: char, long: &str) -> bool {
        let is_it = |word: &str| {
            let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            word == long || letters.is_some_and(|letters| letters.contains(letter))
        };
        self.words
            .iter()
            .skip(1)
            .take_while(|word| *word != "--")
            .any(|word| is_it(word))
    }

    /// Whether one of the options is one of these long ones.
    fn has_long(&self, list: &str) -> bool {
        let mut options = self.words.iter().skip(1).take_while(|word| *word != "--");
        options.any(|word| is_in(word.split('=').next().unwrap_or(word), list))
    }

    /// Whether PowerShell only tells what it would do, or asks first.
    fn is_rehearsed(&self) -> bool {
        self.words.iter().skip(1).any(|word| {
            let word = word.to_ascii_lowercase();
            word.starts_with("-whatif") || is_in(&word, "-wi -confirm -confirm:$true")
        })
    }

    /// The path as seen from where the line began.
    fn place(&self, path: &str) -> Option<String> {
        self.at.place(path)
    }

    /// What it visibly writes.
    fn written(&self, name: &str, found: &mut Vec<Effect>) {
        const CMDLETS: &str = "set-content add-content sc ac out-file new-item ni";
        let named = if is_in(name, CMDLETS) {
            self.cmdlet()
        } else {
            Vec::new()
        };
        let first = named.first().map(String::as_str);
        let mut paths: Vec<&str> = Vec::new();
        if self.makes_text {
            paths.extend(self.simple.outputs.iter().map(String::as_str));
        }
        let mut state = FileState::Edited;
        match name {
            "tee" | "sponge" | "tee-object" if self.makes_text => paths.extend(self.operands(1)),
            "set-content" | "add-content" => paths.extend(first),
            // For `cmd` it is about services.
            "sc" | "ac" => paths.extend(first.filter(|path| path.contains(['.', '/', '\\']))),
            "out-file" if self.makes_text => paths.extend(first),
            "new-item" | "ni"
                if !self
                    .words
                    .iter()
                    .any(|word| is_in(&word.to_ascii_lowercase(), "directory symboliclink junction")) =>
            {
                state = FileState::Created;
                paths.extend(first);
            }
            "apply_patch" | "applypatch" | "patch" | "git" => self.patch(found),
            _ => {}
        }
        paths.extend(self.changed_in_place());
        let paths = paths.into_iter().filter(|path| is_file(path)).take(MOST);
        found.extend(paths.map(|path| self.write(path, state)));
    }

    /// The files by whose names it is told to change them.
    fn changed_in_place(&self) -> Vec<&str> {
        let in_place = InPlace::of(self.words, self.command.open()).filter(|given| !given.takes_folders);
        let files = in_place.map_or_else(Vec::new, |given| given.files);
        let is_named = |(word, is_open): &(&str, bool)| !is_open && !sweep::has_choice(word);
        files.into_iter().filter(is_named).map(|(word, _)| word).collect()
    }

    /// Something was written for sure, if perhaps nobody knows in which folder: then it is no file that is known.
    fn write(&self, path: &str, state: FileState) -> Effect {
        Effect::Write(self.at.name(path).into_owned(), state)
    }

    /// The patches that it is given in its words or below its line.
    fn patch(&self, found: &mut Vec<Effect>) {
        let Some(applies) = Applies::of(self.command).filter(|applies| applies.files.is_empty()) else {
            return;
        };
        let given = self.simple.documents.iter().map(|document| &*document.text);
        let words = self.words.iter().map(String::as_str).filter(|word| word.contains('\n'));
        let patches = given.chain(words).flat_map(patched);
        found.extend(
            patches
                .take(MOST)
                .map(|(path, state)| Effect::Write(applies.at.name(path).into_owned(), state)),
        );
    }

    /// The paths that a cmdlet is given, by the name of a parameter or by their place: where something goes is the last.
    ///
    /// Nothing where the shell has to work out one of them, or they are only some of those that it names.
    fn cmdlet(&self) -> Vec<String> {
        const VALUED: &str =
            "-value -encoding -itemtype -type -inputobject -width -stream -erroraction -ea -credential";
        const CHOOSING: &str = "-filter -include -exclude";
        let (mut paths, mut to, mut name) = (Vec::new(), None, None);
        let mut words = self.command.arguments(1);
        while let Some((word, is_open)) = words.next() {
            let option = word.starts_with('-').then(|| word.to_ascii_lowercase());
            match option.as_deref() {
                Some("-destination" | "-newname") => to = words.next(),
                Some("-name") => name = words.next(),
                Some(option) if is_in(option, VALUED) => {
                    words.next();
                }
                Some(option) if is_in(option, CHOOSING) => return Vec::new(),
                Some(_) => {}
                None if is_open => return Vec::new(),
                // `a, b` are two.
                None => paths.extend(word.split(',').filter(|path| !path.is_empty()).map(str::to_owned)),
            }
        }
        if [to, name].into_iter().flatten().any(|(_, is_open)| is_open) {
            return Vec::new();
        }
        match (name, paths.first_mut()) {
            (Some((name, _)), Some(folder)) => *folder = format!("{}/{name}", folder.trim_end_matches(['/', '\\'])),
            (Some((name, _)), None) => paths.push(name.to_owned()),
            (None, _) => {}
        }
        paths.extend(to.map(|(to, _)| to.to_owned()));
        paths
    }

    /// What it does to files besides writing them.
    fn moved(&self, name: &str) -> Vec<Effect> {
        let asks = |letters: &str| has_flag(&self.words[1..], letters, "--interactive");
        match name {
            "rm" if asks("iI") => Vec::new(),
            // What may be left as it is, or goes where its folder says.
            "mv" | "cp" if asks("inu") || self.has_long("--no-clobber --update --parents") => Vec::new(),
            "rm" | "unlink" | "trash" | "trash-put" => self.removed(&self.operands(1)),
            "del" | "erase" if self.words.iter().any(|word| word.eq_ignore_ascii_case("/p")) => Vec::new(),
            "del" | "erase" | "rd" | "rmdir" => {
                let mut operands = self.operands(1);
                operands.retain(|word| !is_switch(word));
                self.removed(&operands)
            }
            "remove-item" | "ri" => self.removed(&self.cmdlet()),
            "mv" | "move" | "move-item" | "mi" | "ren" | "rename" | "rename-item" | "rni" | "cp" | "copy"
            | "copy-item" | "cpi" => self.renamed(name),
            "git" => Git::of(self.command).map_or_else(Vec::new, |git| git::effects(&git)),
            "curl" | "wget" => self.fetched(name).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The file that `curl` or `wget` writes what it fetches to.
    fn fetched(&self, name: &str) -> Option<Effect> {
        let is_curl = name == "curl";
        let (letter, long) = if is_curl {
            ('o', "--output")
        } else {
            ('O', "--output-document")
        };
        // The letters that are followed by a value, at once or as the next word.
        let valued = if is_curl {
            "oHdXuAbeFTmcwyYzKEDQtPxUrC"
        } else {
            "OoaetTwQPUlADRIBiX"
        };
        let (mut to, mut words) = (None, self.command.arguments(1));
        while let Some((word, is_open)) = words.next() {
            let cluster = word.strip_prefix('-').filter(|cluster| !cluster.starts_with('-'));
            let valued =
                cluster.and_then(|cluster| cluster.find(|c| valued.contains(c)).map(|at| cluster.split_at(at)));
            let (is_it, value) = match valued {
                Some((_, value)) => (
                    value.starts_with(letter),
                    Some(&value[1..]).filter(|value| !value.is_empty()),
                ),
                None => match word.split_once('=') {
                    Some((name, value)) => (name == long, Some(value)),
                    None => (word == long, None),
                },
            };
            let is_next = value.is_none() && (is_it || valued.is_some());
            let (value, is_open) = if is_next {
                words.next()?
            } else {
                (value.unwrap_or_default(), is_open)
            };
            if is_it {
                to = Some(value).filter(|_| !is_open);
                if is_open {
                    return None;
                }
            }
        }
        let named = || {
            let is_by_name = if is_curl {
                self.has('O', "--remote-name")
            } else {
                !self.has('P', "--directory-prefix")
            };
            let address = self.operands(1).into_iter().rfind(|word| word.contains("://"))?;
            let path = address.split(['?', '#']).next()?;
            Some(path.rsplit('/').next()?).filter(|_| is_by_name)
        };
        let path = to.or_else(named).filter(|path| is_file(path))?;
        self.place(path).map(Effect::Fetch)
    }

    fn removed(&self, paths: &[impl AsRef<str>]) -> Vec<Effect> {
        let places = paths.iter().filter_map(|path| self.place(path.as_ref())).take(MOST);
        places.map(Effect::Remove).collect()
    }

    fn renamed(&self, name: &str) -> Vec<Effect> {
        let is_cmdlet = name.contains('-') || matches!(name, "mi" | "rni" | "cpi");
        let named = if is_cmdlet { self.cmdlet() } else { Vec::new() };
        let mut operands = match is_cmdlet {
            true => named.iter().map(String::as_str).collect(),
            false => self.operands(1),
        };
        operands.retain(|word| !is_switch(word));
        // `copy a + b c` makes one of them.
        let is_joined = name == "copy" && operands.iter().any(|word| word.contains('+'));
        let Some((to, from)) = operands
            .split_last()
            .filter(|_| (!self.has('t', "--target-directory") || is_cmdlet) && !is_joined)
        else {
            return Vec::new();
        };
        let into_folder = from.len() > 1 && !to.ends_with(['/', '\\']);
        let effect = |from: &&str| {
            let from = self.place(from)?;
            let to = match (name.starts_with("ren") || name == "rni", from.rfind('/')) {
                // It stays in its folder.
                (true, Some(at)) if !to.contains(['/', '\\']) => format!("{}/{to}", &from[..at]),
                _ => {
                    self.place(to)?
                        + if into_folder || to.ends_with(['/', '\\']) {
                            "/"
                        } else {
                            ""
                        }
                }
            };
            Some(match name {
                "cp" | "copy" | "copy-item" | "cpi" => Effect::Copy { from, to },
                _ => Effect::Move {
                    from,
                    to,
                    is_tracked: false,
                },
            })
        };
        from.iter().filter_map(effect).take(MOST).collect()
    }
}

/// Whether an option of a program of Unix has one of these letters, or this long name.
fn has_flag(words: &[String], letters: &str, long: &str) -> bool {
    // Longer words with one `-` are PowerShell's.
    let is_it = |word: &String| match word.strip_prefix('-') {
        Some(rest) if rest.starts_with('-') => word.split('=').next() == Some(long),
        Some(rest) => rest.len() <= 5 && rest.contains(|c| letters.contains(c)),
        None => false,
    };
    words.iter().take_while(|word| *word != "--").any(is_it)
}

/// Whether a word is an option of `cmd`: `/q`.
fn is_switch(word: &str) -> bool {
    word.len() <= 2 && word.starts_with('/')
}

#[cfg(test)]
mod tests;
