//! What command lines and patches visibly do to files. In doubt they do nothing: a program's captured output is no change to
//! a file, and a name that the shell has to work out is none yet.

use crate::files::is_absolute;
use crate::outcome::FileState;
use crate::shell::{self, Next, Simple};
use crate::wrapped::{DEEPEST, base, inner_script, is_in, unwrap};
use flow::{Flow, Outer};

mod flow;

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
pub(crate) fn effects(line: &str) -> Vec<Effect> {
    let mut found = Vec::new();
    let outer = Outer {
        at: Some(String::new()),
        is_sure: true,
        is_last: true,
    };
    collect(line, outer, 0, &mut found);
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
            Effect::PutBack(Among::Path(path))
            | Effect::Stash {
                among: Among::Path(path),
                ..
            } => Some(path),
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

/// Programs that run others where the files are not those of here.
const ELSEWHERE: &str = "docker docker-compose podman podman-compose nerdctl kubectl oc ssh vagrant wsl lxc incus multipass adb chroot toolbox distrobox limactl";

fn collect(line: &str, outer: Outer, depth: usize, found: &mut Vec<Effect>) {
    let commands = shell::commands(line);
    let mut flow = Flow::new(line, &commands, outer);
    let (mut makes_text, mut before) = (false, Next::Then);
    for (index, command) in commands.iter().enumerate() {
        if found.len() >= MOST {
            return;
        }
        let unwrapped = unwrap(&command.words);
        let words = unwrapped.words;
        let wrapping = &command.words[..command.words.len() - words.len()];
        let name = words.first().map_or("".into(), |program| base(program));
        let is_sure = flow.enter(index, unwrapped.is_inverted);
        let is_first = before != Next::Pipe;
        before = command.then;
        let is_script = is_first && depth < DEEPEST && words.len() > 1;
        if wrapping.iter().any(|word| is_in(&base(word), ELSEWHERE)) {
            makes_text = false;
        } else if let Some(script) = inner_script(words).filter(|_| is_script) {
            collect(&script, flow.outer(index, is_sure), depth + 1, found);
        } else {
            if is_first {
                // What PowerShell is given to print is a text or a variable by itself.
                let is_text = |word: &String| word.contains([' ', '\n']) || word.starts_with('$');
                makes_text = name.is_empty() || is_in(&name, TEXT_TOOLS) || words.first().is_some_and(is_text);
            }
            let goes = |word: &String| word == "-C" || word == "-D" || word.starts_with("--chdir");
            let given = Given {
                command,
                words,
                at: flow.at().filter(|_| !wrapping.iter().any(goes)),
                makes_text,
            };
            if !given.is_rehearsed() {
                given.written(&name, found);
                let effects = given.moved(&name).into_iter();
                // A commit or a fetched stash that may have happened leaves less to be told as undone.
                found.extend(effects.filter(|effect| is_sure || matches!(effect, Effect::Commit(_) | Effect::Unstash)));
            }
            flow.go(&given, &name, is_sure);
        }
        flow.leave(index, &name, words, is_sure);
    }
}

/// A command without its wrappers.
struct Given<'a> {
    command: &'a Simple<'a>,
    words: &'a [String],
    /// The folder that the line has gone to, where that is known.
    at: Option<String>,
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

    /// Whether PowerShell only tells what it would do, or asks first.
    fn is_rehearsed(&self) -> bool {
        self.words.iter().skip(1).any(|word| {
            let word = word.to_ascii_lowercase();
            word.starts_with("-whatif") || is_in(&word, "-wi -confirm -confirm:$true")
        })
    }

    /// The path as seen from where the line began.
    fn place(&self, path: &str) -> Option<String> {
        placed(self.at.as_deref(), path)
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
        let places = paths.into_iter().filter_map(|path| self.place(path));
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
                _ => Effect::Move { from, to },
            })
        };
        from.iter().filter_map(effect).collect()
    }

    fn git(&self) -> Vec<Effect> {
        let names_folder = |word: &String| word.starts_with("GIT_DIR=") || word.starts_with("GIT_WORK_TREE=");
        let mut at = self.at.clone().filter(|_| !self.command.words.iter().any(names_folder));
        let mut skipped = 1;
        while let Some(option) = self.words.get(skipped).filter(|word| word.starts_with('-')) {
            if option == "-C" {
                let folder = self.arguments(skipped + 1).next().filter(|(_, is_open)| !is_open);
                at = folder.and_then(|(folder, _)| placed(at.as_deref(), folder));
            } else if option.starts_with("--git-dir") || option.starts_with("--work-tree") {
                at = None;
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
        let flag = |letters: &str, long: &str| has_flag(rest, letters, long);
        let at = at.as_deref();
        let place = |path: &str| placed(at, path);
        let among = |path: &&str| {
            let path = place(path)?;
            Some(if path == "." {
                Among::Repository(String::new())
            } else {
                Among::Path(path)
            })
        };
        let all = || at.map(|at| Among::Repository(at.to_owned()));
        let put_back =
            |paths: &[&str]| -> Vec<Effect> { paths.iter().filter_map(among).map(Effect::PutBack).collect() };
        let all_known = !self.arguments(skipped + 1).any(|(_, is_open)| is_open);
        match verb.as_str() {
            "rm" | "mv" if flag("n", "--dry-run") => Vec::new(),
            "rm" if !has("--cached") => operands
                .iter()
                .filter_map(|path| place(path))
                .map(Effect::Remove)
                .collect(),
            "mv" => match operands[..] {
                [from, to] => {
                    let end = if to.ends_with('/') { "/" } else { "" };
                    let places = place(from).zip(place(to));
                    let moved = places.map(|(from, to)| Effect::Move { from, to: to + end });
                    moved.into_iter().collect()
                }
                _ => Vec::new(),
            },
            "commit" if !has("--dry-run") => at.map(|at| Effect::Commit(at.to_owned())).into_iter().collect(),
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
                    .map(|path| Effect::Write((*path).to_owned(), FileState::Edited))
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
                at.map(|at| Effect::Clean(at.to_owned())).into_iter().collect()
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

/// A path in a folder, unless nobody knows which one that is.
fn placed(at: Option<&str>, path: &str) -> Option<String> {
    match at {
        Some(at) => Some(joined(at, path)),
        None => Some(joined("", path)).filter(|path| is_absolute(path)),
    }
}

/// A path as seen from where the line began, with `/` between its folders.
fn joined(at: &str, path: &str) -> String {
    let path = path.replace('\\', "/");
    let whole = if is_absolute(&path) || at.is_empty() {
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
