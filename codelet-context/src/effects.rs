//! What command lines and patches visibly do to files. In doubt they do nothing: a program's captured output is no change to
//! a file, and a name that the shell has to work out is none yet.

use crate::command::{Command, Script};
use crate::message::Parameters;
use crate::outcome::FileState;
use crate::path::Folder;
use crate::shell::Simple;
use crate::wrapped::is_in;
use serde_json::Value;

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
        Effect::PutBack(Among::Path(path))
        | Effect::Stash {
            among: Among::Path(path),
            ..
        } => Some((&**path, false)),
        _ => None,
    })
}

/// The files that a patch changes, in the form that `apply_patch` takes or as a unified diff, with what becomes of each.
pub fn patched(patch: &str) -> Vec<(&str, FileState)> {
    const HEADS: [(&str, FileState); 4] = [
        ("*** Add File: ", FileState::Created),
        ("*** Update File: ", FileState::Edited),
        ("*** Delete File: ", FileState::Deleted),
        ("*** Move to: ", FileState::Created),
    ];
    let mut found: Vec<(&str, FileState)> = Vec::new();
    for line in patch.lines() {
        let named = HEADS
            .iter()
            .find_map(|(head, state)| Some((line.strip_prefix(head)?, *state)));
        let diffed = || {
            let path = line.strip_prefix("+++ ")?.split('\t').next()?;
            Some((path.strip_prefix("b/").unwrap_or(path), FileState::Edited))
        };
        if let Some((path, state)) = named.or_else(diffed).map(|(path, state)| (path.trim(), state))
            && is_file(path)
            && found.len() < MOST
            && !found.iter().any(|(other, _)| *other == path)
        {
            found.push((path, state));
        }
    }
    found
}

/// The same of the patches among the parameters of a call.
pub(crate) fn patched_by(parameters: &Parameters) -> impl Iterator<Item = (&str, FileState)> {
    let texts = parameters.as_map().values().filter_map(Value::as_str);
    let patches = texts.filter(|text| text.trim_start().starts_with("*** "));
    patches.flat_map(patched)
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
            let goes = |word: &String| word == "-C" || word == "-D" || word.starts_with("--chdir");
            let given = Given {
                command,
                simple: &command.simple,
                words,
                at: match command.wrapping().iter().any(goes) {
                    true => command.folder.unknown(),
                    false => command.folder.clone(),
                },
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
    at: Folder,
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
        let mut paths: Vec<&str> = Vec::new();
        if self.makes_text {
            paths.extend(self.simple.outputs.iter().map(String::as_str));
        }
        let mut state = FileState::Edited;
        match name {
            "tee" | "sponge" | "tee-object" if self.makes_text => paths.extend(self.operands(1)),
            "sed" if sed_writes(&self.words[1..]) => {
                paths.extend(self.edited(|word| matches!(word, "-e" | "-f" | "--expression" | "--file")))
            }
            "perl" if perl_writes(&self.words[1..]) => {
                let brings_script = |word: &str| perl_letters(word).last().is_some_and(|c| matches!(c, 'e' | 'E'));
                paths.extend(self.edited(brings_script));
            }
            "set-content" | "add-content" | "sc" | "ac" => paths.extend(self.cmdlet().first()),
            "out-file" if self.makes_text => paths.extend(self.cmdlet().first()),
            "new-item" | "ni"
                if !self
                    .words
                    .iter()
                    .any(|word| is_in(&word.to_ascii_lowercase(), "directory symboliclink junction")) =>
            {
                state = FileState::Created;
                paths.extend(self.cmdlet().first());
            }
            "apply_patch" | "applypatch" | "patch" => self.patch(found),
            "git" if self.words.get(1).is_some_and(|word| word == "apply") => self.patch(found),
            _ => {}
        }
        let paths = paths.into_iter().filter(|path| is_file(path)).take(MOST);
        found.extend(paths.map(|path| self.write(path, state)));
    }

    /// Something was written for sure, if perhaps nobody knows in which folder: then it is no file that is known.
    fn write(&self, path: &str, state: FileState) -> Effect {
        Effect::Write(self.at.name(path).into_owned(), state)
    }

    fn patch(&self, found: &mut Vec<Effect>) {
        let given = self.simple.documents.iter().map(|document| &*document.text);
        let words = self.words.iter().map(String::as_str).filter(|word| word.contains('\n'));
        let patches = given.chain(words).flat_map(patched);
        found.extend(patches.take(MOST).map(|(path, state)| self.write(path, state)));
    }

    /// The operands that are files: all after the script, which is the first operand unless an option brought it.
    fn edited(&self, brings_script: impl Fn(&str) -> bool) -> Vec<&str> {
        let mut files = Vec::new();
        let mut has_script = false;
        let mut words = self.command.arguments(1).peekable();
        while let Some((word, is_open)) = words.next() {
            if brings_script(word) {
                words.next();
                has_script = true;
            } else if word.starts_with('-') {
                // BSD's sed takes an empty suffix as a word of its own.
                words.next_if(|(next, _)| next.is_empty());
            } else if !has_script {
                has_script = true;
            } else if !is_open {
                files.push(word);
            }
        }
        files
    }

    /// The paths that a cmdlet is given: by the name of a parameter or by their place.
    fn cmdlet(&self) -> Vec<&str> {
        const VALUED: &str = "-value -encoding -itemtype -type -filter -include -exclude -inputobject -width -stream -erroraction -ea -credential";
        let mut paths = Vec::new();
        let mut words = self.command.arguments(1);
        while let Some((word, is_open)) = words.next() {
            if word.starts_with('-') && is_in(&word.to_ascii_lowercase(), VALUED) {
                words.next();
            } else if !word.starts_with('-') {
                if is_open {
                    return Vec::new();
                }
                paths.push(word);
            }
        }
        paths
    }

    /// What it does to files besides writing them.
    fn moved(&self, name: &str) -> Vec<Effect> {
        let asks = |letters: &str| has_flag(&self.words[1..], letters, "--interactive");
        match name {
            "rm" if asks("iI") => Vec::new(),
            "mv" | "cp" if asks("in") || has_flag(&self.words[1..], "", "--no-clobber") => Vec::new(),
            "rm" | "unlink" | "rmdir" => self.removed(self.operands(1)),
            "del" | "erase" if self.words.iter().any(|word| word.eq_ignore_ascii_case("/p")) => Vec::new(),
            "del" | "erase" | "rd" => {
                let operands = self.operands(1).into_iter();
                // `/q` and the like are options.
                self.removed(
                    operands
                        .filter(|word| !(word.len() <= 2 && word.starts_with('/')))
                        .collect(),
                )
            }
            "remove-item" | "ri" => self.removed(self.cmdlet()),
            "mv" | "move" | "move-item" | "mi" | "ren" | "rename" | "rename-item" | "rni" | "cp" | "copy"
            | "copy-item" | "cpi" => self.renamed(name),
            "git" => self.git(),
            _ => Vec::new(),
        }
    }

    fn removed(&self, paths: Vec<&str>) -> Vec<Effect> {
        let places = paths.into_iter().filter_map(|path| self.place(path)).take(MOST);
        places.map(Effect::Remove).collect()
    }

    fn renamed(&self, name: &str) -> Vec<Effect> {
        let is_cmdlet = name.contains('-') || matches!(name, "mi" | "rni" | "cpi");
        let operands = if is_cmdlet { self.cmdlet() } else { self.operands(1) };
        let is_switch = |word: &&str| word.len() <= 2 && word.starts_with('/');
        let operands: Vec<&str> = operands.into_iter().filter(|word| !is_switch(word)).collect();
        let Some((to, from)) = operands
            .split_last()
            .filter(|_| !self.has('t', "--target-directory") || is_cmdlet)
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

    fn git(&self) -> Vec<Effect> {
        let names_folder = |word: &String| word.starts_with("GIT_DIR=") || word.starts_with("GIT_WORK_TREE=");
        let mut at = match self.simple.words.iter().any(names_folder) {
            true => self.at.unknown(),
            false => self.at.clone(),
        };
        let mut skipped = 1;
        while let Some(option) = self.words.get(skipped).filter(|word| word.starts_with('-')) {
            if option == "-C" {
                let folder = self
                    .command
                    .arguments(skipped + 1)
                    .next()
                    .filter(|(_, is_open)| !is_open);
                at = folder.map_or_else(|| at.unknown(), |(folder, _)| at.enter(folder, true));
            } else if option.starts_with("--git-dir") || option.starts_with("--work-tree") {
                at = at.unknown();
            }
            skipped += if is_in(option, "-C -c --git-dir --work-tree") {
                2
            } else {
                1
            };
        }
        let Some(verb) = self.words.get(skipped) else {
            return Vec::new();
        };
        let rest = &self.words[skipped + 1..];
        let has = |list: &str| {
            rest.iter()
                .any(|word| is_in(word.split('=').next().unwrap_or(word), list))
        };
        let operands = self.operands(skipped + 1);
        let split = rest.iter().position(|word| word == "--");
        // What stands behind `--` is a path for sure.
        let sure: Vec<&str> = match split {
            Some(split) => self
                .command
                .arguments(skipped + 2 + split)
                .filter(|(_, open)| !open)
                .map(|(word, _)| word)
                .collect(),
            None => Vec::new(),
        };
        let refs = operands.len() - sure.len().min(operands.len());
        let flag = |letters: &str, long: &str| has_flag(rest, letters, long);
        let place = |path: &str| at.place(path);
        let among = |path: &&str| {
            let path = place(path)?;
            Some(if path == "." {
                Among::Repository(String::new())
            } else {
                Among::Path(path)
            })
        };
        let all = || at.known().map(|at| Among::Repository(at.to_owned()));
        let put_back = |paths: &[&str]| -> Vec<Effect> {
            paths.iter().filter_map(among).map(Effect::PutBack).take(MOST).collect()
        };
        let all_known = !self.command.arguments(skipped + 1).any(|(_, is_open)| is_open);
        match verb.as_str() {
            "rm" | "mv" if flag("n", "--dry-run") => Vec::new(),
            "rm" if !has("--cached") => {
                let places = operands.iter().filter_map(|path| place(path)).take(MOST);
                places.map(Effect::Remove).collect()
            }
            "mv" if all_known => {
                let Some((to, from)) = operands.split_last() else {
                    return Vec::new();
                };
                let end = if from.len() > 1 || to.ends_with('/') { "/" } else { "" };
                let moved = |from: &&str| {
                    Some(Effect::Move {
                        from: place(from)?,
                        to: place(to)? + end,
                        is_tracked: true,
                    })
                };
                from.iter().filter_map(moved).take(MOST).collect()
            }
            "commit" if !has("--dry-run") => at.known().map(|at| Effect::Commit(at.to_owned())).into_iter().collect(),
            "reset" if has("--hard") => all().map(Effect::PutBack).into_iter().collect(),
            "restore" | "checkout" | "stash" if flag("p", "--patch") => Vec::new(),
            "restore" if has("--staged -S") && !has("--worktree -W") => Vec::new(),
            "restore" if has("--source -s") => Vec::new(),
            "restore" => put_back(&operands),
            "checkout" if has("-b -B --orphan") => Vec::new(),
            "checkout" if split.is_some() => match operands[..refs] {
                [] | ["HEAD"] => put_back(&sure),
                // As it was elsewhere: the session has changed it.
                _ => sure
                    .iter()
                    .filter(|path| is_file(path))
                    .take(MOST)
                    .map(|path| Effect::Write(at.name(path).into_owned(), FileState::Edited))
                    .collect(),
            },
            "checkout" => match operands[..] {
                // Without `--` it may be a branch, which is no file that is known.
                ["HEAD", ref paths @ ..] => put_back(paths),
                [path] if path == "." || path.contains(['.', '/']) => put_back(&[path]),
                [] if has("-f --force") => all().map(Effect::PutBack).into_iter().collect(),
                _ => Vec::new(),
            },
            "stash" if all_known => {
                let with_new = has("-u --include-untracked -a --all");
                let verb = operands.first().copied();
                match verb {
                    _ if has("-k --keep-index -S --staged") => Vec::new(),
                    Some("pop" | "apply") => vec![Effect::Unstash],
                    Some("push" | "save") | None => {
                        let stashed: Vec<Among> = match sure.is_empty() {
                            true => all().into_iter().collect(),
                            false => sure.iter().filter_map(among).collect(),
                        };
                        let stash = |among| Effect::Stash { among, with_new };
                        stashed.into_iter().map(stash).collect()
                    }
                    _ => Vec::new(),
                }
            }
            // Only what is ignored is taken with `-X`.
            "clean"
                if operands.is_empty()
                    && flag("f", "--force")
                    && !flag("niX", "--dry-run")
                    && !has("--interactive") =>
            {
                at.known().map(|at| Effect::Clean(at.to_owned())).into_iter().collect()
            }
            _ => Vec::new(),
        }
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

/// Whether Perl is given a script that changes files in place.
fn perl_writes(arguments: &[String]) -> bool {
    let (mut is_in_place, mut has_script) = (false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next().filter(|word| word.starts_with('-') && *word != "--") {
        is_in_place |= perl_letters(word).any(|c| c == 'i');
        if perl_letters(word).any(|c| matches!(c, 'e' | 'E')) {
            has_script = true;
            words.next();
        } else if word == "-I" {
            words.next();
        }
    }
    is_in_place && has_script
}

/// The letters of a cluster of options of Perl, up to the first that takes what follows it.
fn perl_letters(word: &str) -> impl Iterator<Item = char> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    // `-i.bak`, `-Mstrict`; the numbers behind `-0` and `-l` are no letters.
    let mut is_over = false;
    letters.unwrap_or_default().chars().take_while(move |&c| {
        let is_behind = is_over;
        is_over = matches!(c, 'i' | 'M' | 'm' | 'I' | 'e' | 'E' | 'F' | 'x' | 'D' | 'C' | 'V');
        !is_behind
    })
}

/// Whether `sed` is told to change files instead of printing them.
pub(crate) fn sed_writes(arguments: &[String]) -> bool {
    arguments.iter().any(|word| match word.strip_prefix('-') {
        Some(long) if long.starts_with('-') => long.starts_with("-in-place"),
        // What follows some letters is their value.
        Some(letters) => letters
            .chars()
            .take_while(|c| !matches!(c, 'e' | 'f' | 'l' | '.'))
            .any(|c| c == 'i'),
        None => false,
    })
}

#[cfg(test)]
mod tests;
