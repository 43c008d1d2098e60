//! Commands that change files which their line does not name: merges, patches, formatters, archives, programs that are given
//! a pattern or a list. What they print tells whether they have, and sometimes which.

use super::formats;
use super::recognise::recognise;
use crate::command::Command;
use crate::command::git::Git;
use crate::effects::sweep::Sweep;
use crate::message::ToolResult;
use crate::outcome::FileState;
use crate::path::{Folder, below_temporary};
use crate::said::{Word, split};
use crate::word_list::is_in;

/// A command that may change files that its line does not name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rewrite {
    by: By,
    /// The folder from which it names the files that it has changed.
    at: Folder,
    /// It is run if the line succeeds.
    is_sure: bool,
    /// It has succeeded if the line succeeds.
    is_proven: bool,
    /// The files that it is given in another way than by their names.
    sweep: Option<Sweep>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    /// Git, or another program that fetches what others have done, joins it with what is there, or goes to it.
    Merge,
    /// `patch`.
    Patch,
    /// What puts files in order.
    Formatter,
    /// What mends what it finds fault with, and fails where something is left.
    Mender,
    /// What unpacks an archive.
    Archive,
    /// Git, which fetches what was put aside.
    Unstash,
    /// Git, which begins a branch elsewhere than here.
    Start,
    /// Git, which moves or takes away files that it keeps.
    Tracked,
    /// What changes files that it finds by a pattern, in a folder, or in a list.
    Sweep,
}

/// What a command has changed by its answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rewritten {
    /// The files that it says it has changed; there may be others.
    pub paths: Vec<String>,
    /// The change was made by the session, and not fetched from others.
    pub is_own: bool,
    /// It has changed files that are among these.
    pub sweep: Option<Sweep>,
}

impl Rewritten {
    /// Whether files of the work are other ones now, whatever is known of them.
    pub fn is_sure(&self) -> bool {
        self.sweep.as_ref().is_none_or(|sweep| sweep.is_sure)
    }

    /// Patterns of the files that are told as changed, with how they are left.
    pub fn told(&self) -> impl Iterator<Item = (&str, FileState)> {
        let sweep = self.sweep.iter().filter(|sweep| sweep.is_told);
        sweep.flat_map(|sweep| sweep.among.iter().map(|pattern| (&**pattern, sweep.state)))
    }

    /// Patterns of the files that may be other ones now.
    pub fn doubted(&self) -> impl Iterator<Item = &str> {
        self.sweep.iter().flat_map(|sweep| &sweep.among).map(String::as_str)
    }
}

/// Files that one command is heard to have changed.
const MOST: usize = 200;

impl Rewrite {
    /// Reads the command of this number among those of a script.
    pub fn of(commands: &[Command], index: usize) -> Option<Rewrite> {
        let command = &commands[index];
        let (by, at) = match Git::of(command) {
            Some(git) => (merges(&git), git.at.clone()),
            None => (other(command), command.folder.clone()),
        };
        let sweep = if by.is_none() { Sweep::of(commands, index) } else { None };
        Some(Rewrite {
            by: by.or_else(|| sweep.as_ref().map(|_| By::Sweep))?,
            at,
            is_sure: command.is_sure,
            is_proven: command.is_proven,
            sweep,
        })
    }

    /// Whether it only fetches what was put aside.
    pub fn is_unstash(&self) -> bool {
        self.by == By::Unstash
    }

    /// Whether it is known to have been run where the line has failed, and a failure of it says only that something is left.
    pub fn fails_with_what_is_left(&self) -> bool {
        self.by == By::Mender
    }

    /// What it has changed by this answer, or nothing where it says so, or nothing says that it was run.
    pub fn came_of(&self, result: &ToolResult, success: Option<bool>) -> Option<Rewritten> {
        let lines = || result.texts().flat_map(|text| text.body.as_str().lines());
        let mut told = Told::default();
        match self.by {
            By::Merge | By::Start | By::Tracked => lines().for_each(|line| told.merge(line)),
            By::Unstash => lines().for_each(|line| told.unstash(line)),
            By::Sweep => lines().for_each(|line| told.sweep(line)),
            By::Patch => lines().for_each(|line| told.patch(line)),
            By::Formatter | By::Mender => lines().for_each(|line| told.formatter(line)),
            By::Archive => lines().for_each(|line| told.archive(line)),
        }
        // Not every harness tells of a failure: what a program says is heard, whatever the flag beside it is.
        let has_succeeded = success != Some(false) && !told.complains;
        let is_done = match (told.is_over, told.has_changed) {
            (true, _) => false,
            // As with files that are written by their names, what stands behind a condition is taken for done. Of what it is
            // given by others who complain, it may have changed what there is.
            _ if self.by == By::Sweep => {
                let is_given = self.is_proven && success == Some(true);
                (has_succeeded || is_given) && !told.has_left
            }
            (_, true) => true,
            _ => self.is_sure && has_succeeded && !told.has_left,
        };
        let paths = told.paths.iter().map(|path| self.at.name(path).into_owned());
        is_done.then(|| Rewritten {
            paths: paths.collect(),
            is_own: !matches!(self.by, By::Merge | By::Archive | By::Start | By::Tracked),
            sweep: self.sweep.clone(),
        })
    }
}

/// Whether Git is asked for what changes files that the line does not name.
fn merges(git: &Git) -> Option<By> {
    const NOTHING: &str =
        "--abort --quit --dry-run --check --stat --numstat --summary --cached --edit-todo --show-current-patch";
    if git.has(NOTHING) {
        return None;
    }
    let first = || {
        git.operands("-m --strategy -s -X --onto -C -p")
            .0
            .first()
            .map(|(word, _)| *word)
    };
    let is_earlier = |word: &str| word == "HEAD" || word == "@";
    match git.verb {
        "stash" => {
            let fetches = first().is_some_and(|verb| is_in(verb, "pop apply branch"));
            return fetches.then_some(By::Unstash);
        }
        "checkout" | "switch" => return starts(git).then_some(By::Start),
        "rm" | "mv" if git.has_flag("n", "--dry-run") => return None,
        "rm" | "mv" => return Some(By::Tracked),
        _ => {}
    }
    let is_rewriting = match git.verb {
        "pull" | "merge" | "cherry-pick" | "revert" | "am" | "apply" => true,
        // Who only writes the own commits anew leaves the files as they are.
        "rebase" => {
            let is_own = |word: &str| word.starts_with("HEAD~") || word.starts_with("HEAD^");
            git.has("--onto") || !git.has("-i --interactive --root") && !first().is_some_and(is_own)
        }
        "reset" => git.has("--hard --keep --merge") && first().is_some_and(|word| !is_earlier(word)),
        "submodule" => first() == Some("update"),
        _ => false,
    };
    is_rewriting.then_some(By::Merge)
}

/// Whether a new branch is begun from a named place that is not where the work is. One that is made of another's name alone
/// begins where that is.
fn starts(git: &Git) -> bool {
    const NEW: &str = "-b -B -c -C --create --force-create";
    let operands = git.operands("--conflict").0;
    let words: Vec<&str> = operands.iter().map(|(word, _)| *word).collect();
    let is_elsewhere = |word: &&&str| !matches!(**word, "HEAD" | "@" | "-") && !is_in(word, "HEAD~0 HEAD^0 @{0}");
    match git.has(NEW) {
        true => words.get(1).filter(is_elsewhere).is_some(),
        false => git.has("-t --track") && words.first().filter(is_elsewhere).is_some(),
    }
}

fn other(command: &Command) -> Option<By> {
    let words = command.words();
    let has = |list: &str| words.iter().skip(1).any(|word| is_in(word, list));
    let second = words.get(1).map_or("", String::as_str);
    let archive = || {
        let folder = command.folder.told().unwrap_or_default();
        let is_temporary = below_temporary(&format!("{}/", folder.trim_end_matches('/'))).is_some();
        (!is_temporary).then_some(By::Archive)
    };
    match &*command.name() {
        "patch" => (!has("--dry-run -C --check -o --output")).then_some(By::Patch),
        "gh" => (second == "pr" && words.get(2).is_some_and(|word| word == "checkout")).then_some(By::Merge),
        "svn" => is_in(second, "update up merge switch patch").then_some(By::Merge),
        "hg" => is_in(second, "update up checkout co merge rebase graft backout import").then_some(By::Merge),
        "unzip" if !has("-l -t -p -c -v -Z -d") => archive(),
        "tar" | "bsdtar" | "gtar" if unpacks(words) => archive(),
        _ => formats(command),
    }
}

/// Whether `tar` is told to unpack into the folder that it runs in.
fn unpacks(words: &[String]) -> bool {
    const ELSEWHERE: &str = "-C --directory -O --to-stdout --to-command";
    let options = words.iter().skip(1);
    let is_elsewhere =
        |word: &String| is_in(word.split('=').next().unwrap_or(word), ELSEWHERE) || word.starts_with("-C");
    let letters = |word: &str| {
        let letters = word.strip_prefix('-').unwrap_or(word);
        !letters.is_empty() && letters.bytes().all(|letter| letter.is_ascii_alphabetic()) && letters.contains('x')
    };
    let is_told = |(at, word): (usize, &String)| match at {
        0 => letters(word),
        _ => word.starts_with('-') && letters(word),
    };
    !options.clone().any(is_elsewhere)
        && options
            .enumerate()
            .any(|(at, word)| is_told((at, word)) || is_in(word, "--extract --get"))
}

/// Whether a command puts files in order, or mends what it finds.
fn formats(command: &Command) -> Option<By> {
    const LOOKING: &str = "--check --diff --dry-run --fix-dry-run --diff-only --verify-no-changes --list-different";
    const MENDING: &str = "--fix --fix-only --unsafe-fixes --write --apply --autofix --autocorrect --auto-correct --autocorrect-all --auto-correct-all -a -A --in-place";
    let words = command.words();
    let has = |list: &str| {
        words
            .iter()
            .skip(1)
            .any(|word| is_in(word.split('=').next().unwrap_or(word), list))
    };
    if let [cargo, fix, ..] = words
        && cargo == "cargo"
        && fix == "fix"
    {
        return Some(By::Formatter);
    }
    if is_in(&command.name(), "autopep8 yapf clang-format") {
        return (has("-i --in-place") && !has(LOOKING)).then_some(By::Formatter);
    }
    if command.name() == "rustfmt" {
        return (!has("--check --emit --version")).then_some(By::Formatter);
    }
    let mut tried = [command.words(), command.words_with_wrapper()];
    if command.is_called() {
        tried.reverse();
    }
    let (words, (kind, name, _)) = tried
        .into_iter()
        .find_map(|words| Some((words, recognise(words, 0)?)))?;
    if kind != super::CheckKind::Lint {
        return None;
    }
    if formats::writes(&name, words) {
        return Some(By::Formatter);
    }
    let is_short = |word: &str| is_in(word, "-a -A");
    let has_own = |word: &String| match word.split('=').next().unwrap_or(word) {
        // Of others than RuboCop they are something else.
        word if is_short(word) => name == "rubocop" || name == "standardrb",
        word => is_in(word, MENDING),
    };
    let script = name.split_once(' ').map_or("", |(_, script)| script);
    let is_named = script
        .split(|c: char| !c.is_alphanumeric())
        .any(|piece| is_in(piece, "fix autofix"));
    (!has(LOOKING) && (is_named || words.iter().skip(1).any(has_own))).then_some(By::Mender)
}

/// What the lines of an answer tell.
#[derive(Default)]
struct Told<'a> {
    /// Something was changed.
    has_changed: bool,
    /// Something was left as it is, and no line tells of anything else.
    has_left: bool,
    /// It was given up, with nothing changed.
    is_over: bool,
    complains: bool,
    paths: Vec<&'a str>,
}

impl<'a> Told<'a> {
    fn name(&mut self, path: &'a str) {
        let path = path.trim().trim_matches(['\'', '"', '`']);
        if !path.is_empty() && self.paths.len() < MOST {
            self.paths.push(path);
        }
    }

    fn merge(&mut self, line: &'a str) {
        const CHANGED: [&str; 9] = [
            "Fast-forward",
            "Merge made by",
            "Auto-merging ",
            "CONFLICT (",
            "Successfully rebased",
            "Applying: ",
            "Applied patch ",
            "HEAD is now at ",
            "Squash commit ",
        ];
        const LEFT: [&str; 4] = [
            "Already up to date",
            "Already up-to-date",
            "nothing to commit",
            "The previous cherry-pick is now empty",
        ];
        let said = line.trim_start();
        let begins = |signs: &[&str]| signs.iter().any(|sign| said.starts_with(sign));
        self.has_changed |= begins(&CHANGED) || said.starts_with("Updating ") && said.contains("..");
        self.has_left |= begins(&LEFT) || said.starts_with("Current branch ") && said.ends_with(" is up to date.");
        self.is_over |= said.trim_end() == "Aborting";
        self.complains |= ["fatal: ", "error: "].iter().any(|sign| line.starts_with(sign));
        if let Some(path) = counted_in(line) {
            self.name(path);
        }
    }

    fn unstash(&mut self, line: &'a str) {
        const STATES: [&str; 4] = ["modified:", "new file:", "deleted:", "both modified:"];
        self.merge(line);
        let said = line.trim_start();
        let path = STATES.iter().find_map(|state| said.strip_prefix(state));
        if let Some(path) = path.filter(|_| line.starts_with([' ', '\t'])) {
            self.name(path);
        }
        self.has_left |= said.starts_with("No stash entries found");
    }

    fn sweep(&mut self, line: &'a str) {
        const COMPLAINING: &str = "sed: gsed: perl: ruby: awk: gawk: yq: xargs: find: fd: cp: mv: rm: rsync: sd: rpl: zsh: bash: sh: ls: grep: error: Error: fatal:";
        const LEFT: [&str; 4] = [
            "0 ok",
            "No files to transform",
            "No files selected",
            "Applied 0 changes",
        ];
        let word = line.split(' ').next().unwrap_or_default();
        let program = word.rsplit('/').next().unwrap_or_default();
        self.complains |= is_in(program, COMPLAINING) || line.starts_with("Can't open ");
        self.has_left |= LEFT.iter().any(|sign| line.trim_end() == *sign);
    }

    fn patch(&mut self, line: &'a str) {
        if let Some(path) = line.strip_prefix("patching file ") {
            self.has_changed = true;
            // A file that it makes another of: `a.rs (renamed from b.rs)`.
            let path = path.split(" (").next().unwrap_or(path);
            return self.name(path);
        }
        let has_failed = line.split_once(" out of ").is_some_and(|(failed, rest)| {
            let (all, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            all == failed && (rest.contains("FAILED") || rest.contains("ignored"))
        });
        // What it cannot read to the end, it leaves as it was.
        if has_failed || line.ends_with("Skipping patch.") || line.starts_with("patch: **** ") {
            self.paths.pop();
            (self.has_changed, self.has_left) = (!self.paths.is_empty(), self.paths.is_empty());
        }
        self.complains |= line.starts_with("patch: ") || line.contains("can't find file to patch");
    }

    fn formatter(&mut self, line: &'a str) {
        const NAMING: [&str; 4] = ["reformatted ", "Fixing ", "Formatted ", "Fixed "];
        const LEFT: [&str; 6] = [
            "left unchanged",
            "No fixes applied",
            "All checks passed",
            "no changes",
            "No changes",
            "nothing to fix",
        ];
        let said = line.trim();
        let path = NAMING.iter().find_map(|naming| said.strip_prefix(naming));
        if let Some(path) = path.filter(|path| is_path(path)) {
            self.has_changed = true;
            return self.name(path);
        }
        // Prettier names each file with its time, and says of those that it leaves that it does.
        if let Some((path, time)) = timed(said) {
            if time.contains("(unchanged)") {
                self.has_left = true;
            } else {
                self.has_changed = true;
                self.name(path);
            }
            return;
        }
        match changes_counted(said) {
            Some(0) => self.has_left = true,
            Some(_) => self.has_changed = true,
            None => self.has_left |= LEFT.iter().any(|sign| said.contains(sign)),
        }
        self.complains |= ["error: ", "Error: ", "error["]
            .iter()
            .any(|sign| line.starts_with(sign));
    }

    fn archive(&mut self, line: &'a str) {
        let said = line.trim_start();
        for sign in ["inflating: ", "extracting: "] {
            if let Some(path) = said.strip_prefix(sign) {
                self.has_changed = true;
                self.name(path);
            }
        }
        self.complains |= ["tar: Exiting", "tar: Error", "unzip: "]
            .iter()
            .any(|sign| line.starts_with(sign))
            || line.contains(": Cannot open: ");
    }
}

/// The path in a line that counts what has changed in a file: ` src/a.rs | 3 +-`.
fn counted_in(line: &str) -> Option<&str> {
    let (path, count) = line.strip_prefix(' ')?.split_once(" | ")?;
    let count = count.trim_start();
    let is_count = count.starts_with(|c: char| c.is_ascii_digit()) || count.starts_with("Bin ");
    let is_whole = !path.contains("=>") && !path.starts_with("...");
    (is_count && is_whole).then(|| path.trim())
}

/// Whether this is one path, and no number of files or a sentence.
fn is_path(said: &str) -> bool {
    !said.contains(' ') && (said.contains('/') || said.trim_end_matches('.').contains('.'))
}

/// A file with the time that it has taken: `src/a.ts 23ms`, `src/b.ts 5ms (unchanged)`.
fn timed(line: &str) -> Option<(&str, &str)> {
    let (path, time) = line.split_once(' ')?;
    let number = time.split("ms").next()?;
    let is_time = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && time.len() > number.len();
    (is_time && is_path(path)).then_some((path, time))
}

/// How many files or findings were changed by a line that counts them: `2 files reformatted`, `Fixed 3 files`,
/// `3 errors (2 fixed, 1 remaining)`.
fn changes_counted(line: &str) -> Option<u64> {
    const DONE: &str = "reformatted fixed corrected autocorrected changed formatted";
    const COUNTED: &str =
        "file files error errors problem problems issue issues offense offenses warning warnings were was";
    if !["ormatted", "ixed", "orrected", "hanged", "IXED"]
        .iter()
        .any(|sign| line.contains(sign))
    {
        return None;
    }
    let mut words: Vec<Word> = Vec::new();
    split(line, &mut words);
    let number = |word: Option<&Word>| word.and_then(|word| word.number());
    let count = |(at, word): (usize, &Word)| {
        if !word.is_in(DONE) {
            return None;
        }
        let before = words[..at].iter().rev().find(|word| !word.is_in(COUNTED));
        let of_all = || word.is_in("fixed").then(|| number(words.get(at + 1))).flatten();
        number(before).or_else(of_all)
    };
    words.iter().enumerate().filter_map(count).max()
}
