//! What command lines and patches visibly do to files. In doubt they do nothing: a program's captured output is no change to
//! a file, and a name that the shell has to work out is none yet.

use crate::outcome::FileState;
use crate::shell::{self, Next, Simple};
use crate::wrapped::{DEEPEST, base, inner_script, is_in, unwrap};

/// Files taken from one line or patch at most.
const MOST: usize = 200;

/// What a command does to files, once it has succeeded. Folders stand for what is in them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// This file is written, and left in this state.
    Write(String, FileState),
    /// A file or folder is taken away.
    Remove(String),
    /// A file or folder gets another name.
    Move { from: String, to: String },
    /// A file gets a copy.
    Copy { from: String, to: String },
    /// A file or folder is as it was committed; nothing stands for all of them.
    PutBack(Option<String>),
    /// The same until it is fetched again, with new files or without.
    Stash { path: Option<String>, with_new: bool },
    /// What was stashed is there again.
    Unstash,
    /// New files that were not committed are taken away.
    Clean,
    /// What was changed is committed.
    Commit,
}

/// What a command line does to files, in its order.
pub(crate) fn effects(line: &str) -> Vec<Effect> {
    let mut found = Vec::new();
    collect(line, &mut String::new(), 0, &mut found);
    found.truncate(MOST);
    found
}

/// The files that a command line visibly writes, as it names them.
pub(crate) fn written(line: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for effect in effects(line) {
        if let Effect::Write(path, _) = effect
            && !paths.contains(&path)
        {
            paths.push(path);
        }
    }
    paths
}

/// The files that a command line takes away or puts back, as it names them: what was read of them before stands no more.
pub(crate) fn undone(line: &str) -> Vec<String> {
    let effects = effects(line).into_iter();
    effects
        .filter_map(|effect| match effect {
            Effect::Remove(path) | Effect::Move { from: path, .. } => Some(path),
            Effect::PutBack(path) | Effect::Stash { path, .. } => path,
            _ => None,
        })
        .collect()
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

fn is_file(path: &str) -> bool {
    let is_nothing = path.eq_ignore_ascii_case("nul") || path == "-";
    !path.is_empty() && !is_nothing && !path.starts_with("/dev/") && !path.contains('\n')
}

/// Programs whose output is text that somebody composed, so that sending it to a file is writing that file. Sending
/// another program's output to a file only captures what it said.
const TEXT_TOOLS: &str = ": cat echo printf sed awk gawk perl tr sort uniq jq yq base64 cut head tail grep envsubst paste tee xxd git type get-content gc write-output convertto-json";

fn collect(line: &str, at: &mut String, depth: usize, found: &mut Vec<Effect>) {
    let (mut makes_text, mut before) = (false, Next::Then);
    for command in &shell::commands(line) {
        if found.len() >= MOST {
            return;
        }
        let unwrapped = unwrap(&command.words).words;
        if let Some(script) =
            inner_script(unwrapped).filter(|_| before != Next::Pipe && depth < DEEPEST && unwrapped.len() > 1)
        {
            collect(&script, at, depth + 1, found);
            before = command.then;
            continue;
        }
        let name = unwrapped.first().map_or("".into(), |program| base(program));
        if before != Next::Pipe {
            // What PowerShell is given to print is a text or a variable by itself.
            let is_text = |word: &String| word.contains([' ', '\n']) || word.starts_with('$');
            makes_text = name.is_empty() || is_in(&name, TEXT_TOOLS) || unwrapped.first().is_some_and(is_text);
        }
        // Behind `||` nobody knows whether it was run.
        let is_run = before != Next::Or;
        before = command.then;
        let mut given = Given {
            command,
            words: unwrapped,
            at,
            makes_text,
        };
        given.written(&name, found);
        if is_run {
            given.moved(&name, found);
        }
    }
}

/// A command without its wrappers.
struct Given<'a> {
    command: &'a Simple<'a>,
    words: &'a [String],
    /// The folder that the line has gone to.
    at: &'a mut String,
    makes_text: bool,
}

impl Given<'_> {
    /// The words behind the first so many, with whether the shell has to work them out.
    fn arguments(&self, skipped: usize) -> impl Iterator<Item = (&str, bool)> {
        let front = self.command.words.len() - self.words.len();
        let open = self.command.open.get(front + skipped..).unwrap_or_default();
        let words = self.words.get(skipped..).unwrap_or_default();
        words.iter().map(String::as_str).zip(open.iter().copied())
    }

    /// The words that are no options.
    fn operands(&self, skipped: usize) -> Vec<&str> {
        let mut is_over = false;
        let operands = self.arguments(skipped).filter(|(word, is_open)| {
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

    /// What it visibly writes.
    fn written(&self, name: &str, found: &mut Vec<Effect>) {
        let mut paths: Vec<&str> = Vec::new();
        if self.makes_text {
            paths.extend(self.command.outputs.iter().map(String::as_str));
        }
        let mut state = FileState::Edited;
        match name {
            "tee" | "sponge" | "tee-object" if self.makes_text => paths.extend(self.operands(1)),
            "sed" if sed_writes(&self.words[1..]) => {
                paths.extend(self.edited(|word| matches!(word, "-e" | "-f" | "--expression" | "--file")))
            }
            "perl" => {
                let brings_script = |word: &str| word.starts_with('-') && word.ends_with('e');
                let is_in_place = self
                    .words
                    .iter()
                    .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('i'));
                if is_in_place && self.words.iter().any(|word| brings_script(word)) {
                    paths.extend(self.edited(brings_script));
                }
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
        let paths = paths.into_iter().filter(|path| is_file(path));
        found.extend(paths.map(|path| Effect::Write(path.to_owned(), state)));
    }

    fn patch(&self, found: &mut Vec<Effect>) {
        let given = self.command.documents.iter().copied();
        let words = self.words.iter().map(String::as_str).filter(|word| word.contains('\n'));
        let patches = given.chain(words).flat_map(patched);
        found.extend(patches.map(|(path, state)| Effect::Write(path.to_owned(), state)));
    }

    /// The operands that are files: all after the script, which is the first operand unless an option brought it.
    fn edited(&self, brings_script: impl Fn(&str) -> bool) -> Vec<&str> {
        let mut files = Vec::new();
        let mut has_script = false;
        let mut words = self.arguments(1).peekable();
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
        let mut words = self.arguments(1);
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
    fn moved(&mut self, name: &str, found: &mut Vec<Effect>) {
        let effects: Vec<Effect> = match name {
            "cd" | "pushd" | "set-location" | "sl" | "chdir" => {
                if let [folder] = self.operands(1)[..] {
                    *self.at = joined(self.at, folder);
                }
                return;
            }
            "rm" | "unlink" | "rmdir" => self.removed(self.operands(1)),
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
            _ => return,
        };
        found.extend(effects);
    }

    fn removed(&self, paths: Vec<&str>) -> Vec<Effect> {
        paths
            .into_iter()
            .map(|path| Effect::Remove(joined(self.at, path)))
            .collect()
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
            let from = joined(self.at, from);
            let to = match (name.starts_with("ren") || name == "rni", from.rfind('/')) {
                // It stays in its folder.
                (true, Some(at)) if !to.contains(['/', '\\']) => format!("{}/{to}", &from[..at]),
                _ => {
                    joined(self.at, to)
                        + if into_folder || to.ends_with(['/', '\\']) {
                            "/"
                        } else {
                            ""
                        }
                }
            };
            match name {
                "cp" | "copy" | "copy-item" | "cpi" => Effect::Copy { from, to },
                _ => Effect::Move { from, to },
            }
        };
        from.iter().map(effect).collect()
    }

    fn git(&self) -> Vec<Effect> {
        let mut at = self.at.clone();
        let mut skipped = 1;
        while let Some(option) = self.words.get(skipped).filter(|word| word.starts_with('-')) {
            if option == "-C" {
                at = joined(&at, self.words.get(skipped + 1).map_or("", String::as_str));
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
                .arguments(skipped + 2 + split)
                .filter(|(_, open)| !open)
                .map(|(word, _)| word)
                .collect(),
            None => Vec::new(),
        };
        let refs = operands.len() - sure.len().min(operands.len());
        let put_back = |paths: &[&str]| -> Vec<Effect> {
            let place = |path: &&str| Effect::PutBack(place(&at, path));
            paths.iter().map(place).collect()
        };
        let all_known = !self.arguments(skipped + 1).any(|(_, is_open)| is_open);
        match verb.as_str() {
            "rm" if !has("--cached -n --dry-run") => {
                operands.iter().map(|path| Effect::Remove(joined(&at, path))).collect()
            }
            "mv" => match operands[..] {
                [from, to] => {
                    let end = if to.ends_with('/') { "/" } else { "" };
                    vec![Effect::Move {
                        from: joined(&at, from),
                        to: joined(&at, to) + end,
                    }]
                }
                _ => Vec::new(),
            },
            "commit" if !has("--dry-run") => vec![Effect::Commit],
            "reset" if has("--hard") => vec![Effect::PutBack(None)],
            "restore" if has("-p --patch") || (has("--staged -S") && !has("--worktree -W")) => Vec::new(),
            "restore" if has("--source -s") => Vec::new(),
            "restore" => put_back(&operands),
            "checkout" if has("-b -B --orphan -p --patch") => Vec::new(),
            "checkout" if split.is_some() => match operands[..refs] {
                [] | ["HEAD"] => put_back(&sure),
                // As it was elsewhere: the session has changed it.
                _ => sure
                    .iter()
                    .filter(|path| is_file(path))
                    .map(|path| Effect::Write((*path).to_owned(), FileState::Edited))
                    .collect(),
            },
            "checkout" => match operands[..] {
                // Without `--` it may be a branch, which is no file that is known.
                ["HEAD", ref paths @ ..] => put_back(paths),
                [path] if path == "." || path.contains(['.', '/']) => put_back(&[path]),
                [] if has("-f --force") => vec![Effect::PutBack(None)],
                _ => Vec::new(),
            },
            "stash" if all_known => {
                let with_new = has("-u --include-untracked -a --all");
                let verb = operands.first().copied();
                match verb {
                    _ if has("-p --patch -k --keep-index -S --staged") => Vec::new(),
                    Some("pop" | "apply") => vec![Effect::Unstash],
                    Some("push" | "save") | None if sure.is_empty() => vec![Effect::Stash { path: None, with_new }],
                    Some("push") | None => {
                        let stash = |path: &&str| Effect::Stash {
                            path: place(&at, path),
                            with_new,
                        };
                        sure.iter().map(stash).collect()
                    }
                    _ => Vec::new(),
                }
            }
            "clean"
                if operands.is_empty() && !has("-n --dry-run") && self.has('f', "--force") && !self.has('n', "-n") =>
            {
                vec![Effect::Clean]
            }
            _ => Vec::new(),
        }
    }
}

/// A path that is put back; nothing where it is the folder of everything.
fn place(at: &str, path: &str) -> Option<String> {
    Some(joined(at, path)).filter(|path| path != "." && !path.is_empty())
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

/// A path as seen from where the line began, with `/` between its folders.
fn joined(at: &str, path: &str) -> String {
    let path = path.replace('\\', "/");
    let is_whole = path.starts_with(['/', '~']) || path.get(1..2) == Some(":");
    let whole = if is_whole || at.is_empty() {
        path
    } else {
        format!("{at}/{path}")
    };
    let mut pieces: Vec<&str> = Vec::new();
    for piece in whole.split('/') {
        match piece {
            "" | "." => {}
            ".." if pieces.last().is_some_and(|last| *last != "..") => {
                pieces.pop();
            }
            piece => pieces.push(piece),
        }
    }
    let root = if whole.starts_with('/') { "/" } else { "" };
    match pieces.is_empty() && root.is_empty() {
        true => ".".to_owned(),
        false => format!("{root}{}", pieces.join("/")),
    }
}

#[cfg(test)]
mod tests;
