//! What command lines do to the newest commits of a repository: what is committed, what stands in its place, and what is
//! taken back. In doubt a commit that was told of stays told.

use crate::command::{Command, Script};
use crate::message::ToolResult;
use crate::path::{Path, is_in_folder};
use crate::wrapped::is_in;

/// Steps taken from one line, and commits that may yet be taken back, at most.
const MOST: usize = 50;
/// Letters of the fewest that a hash is printed with.
const HASH: usize = 4;

/// What a command does to the newest commits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    /// The folder, if it is known; empty where the line began.
    at: Option<String>,
    does: Does,
    /// What it prints says whether it was done.
    is_loud: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Does {
    /// One more, with the first line of its message, if that is known.
    Commit(Option<String>),
    /// Another in place of the newest; with the same message, if `None`.
    Amend(Option<Option<String>>),
    /// So many of the newest are taken back.
    TakeBack(usize),
    /// All that came behind this one are, if it is one of those; with what the line calls it.
    GoTo(String),
    /// Others may be the newest now.
    GoElsewhere,
}

/// What a line does to the newest commits, in its order.
pub(crate) fn steps(script: &Script) -> Vec<Step> {
    let mut found = Vec::new();
    collect(script, &mut found);
    found.truncate(MOST);
    found
}

fn collect(script: &Script, found: &mut Vec<Step>) {
    for command in script.commands.iter().filter(|command| !command.is_elsewhere) {
        if found.len() >= MOST {
            return;
        }
        match command.script.as_ref().filter(|_| command.is_script()) {
            Some(inner) => collect(inner, found),
            None => found.extend(step(command)),
        }
    }
}

fn step(command: &Command) -> Option<Step> {
    if command.name() != "git" {
        return None;
    }
    let words = command.words();
    let (mut at, mut skipped) = (command.folder.clone(), 1);
    while let Some(option) = words.get(skipped).filter(|word| word.starts_with('-')) {
        let has_value = is_in(option, "-C -c --git-dir --work-tree --namespace");
        match option.as_str() {
            "-C" => match command.arguments(skipped + 1).next() {
                Some((folder, false)) => at = at.enter(folder, true),
                _ => at = at.unknown(),
            },
            _ if option.starts_with("--git-dir") || option.starts_with("--work-tree") => at = at.unknown(),
            _ => {}
        }
        skipped += 1 + usize::from(has_value);
    }
    let verb = words.get(skipped)?;
    let given = Given {
        command,
        rest: &words[skipped + 1..],
        skipped: skipped + 1,
    };
    let does = match verb.as_str() {
        "commit" => given.committed(),
        "reset" => given.reset(),
        "checkout" | "switch" => given.goes_elsewhere().then_some(Does::GoElsewhere),
        "merge" | "pull" | "rebase" | "cherry-pick" | "revert" | "am" | "update-ref" | "filter-branch" => {
            Some(Does::GoElsewhere)
        }
        _ => None,
    }?;
    // What may not have run at all takes nothing back.
    let does = match does {
        Does::Commit(_) | Does::GoElsewhere => does,
        _ if command.is_sure => does,
        _ => Does::GoElsewhere,
    };
    Some(Step {
        at: at.known().map(str::to_owned),
        does,
        is_loud: !given.is_quiet() && command.simple.outputs.is_empty(),
    })
}

/// The words behind the verb.
struct Given<'a> {
    command: &'a Command,
    rest: &'a [String],
    skipped: usize,
}

impl Given<'_> {
    fn has(&self, list: &str) -> bool {
        let options = self.rest.iter().take_while(|word| *word != "--");
        let names = options.map(|word| word.split('=').next().unwrap_or(word));
        names.into_iter().any(|name| is_in(name, list))
    }

    /// What is no option, with whether the shell has to work it out.
    fn operands(&self) -> Vec<(&str, bool)> {
        let words = self.command.arguments(self.skipped);
        words
            .filter(|(word, _)| *word == "-" || !word.starts_with('-'))
            .collect()
    }

    fn is_quiet(&self) -> bool {
        let is_flag = |c: char| "aenopqsvz".contains(c);
        let is_it = |word: &String| {
            let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            letters.is_some_and(|letters| letters.chars().take_while(|c| is_flag(*c)).any(|c| c == 'q'))
        };
        self.has("--quiet") || self.rest.iter().any(is_it)
    }

    fn committed(&self) -> Option<Does> {
        if self.has("--dry-run -h --help") {
            return None;
        }
        let words = message(self.rest);
        if !self.has("--amend") {
            return Some(Does::Commit(words));
        }
        let is_other = words.is_some() || self.has("-F --file -t --template") || message_word(self.rest).is_some();
        Some(Does::Amend(is_other.then_some(words)))
    }

    /// Files that are put back to what they were take no commit back.
    fn reset(&self) -> Option<Does> {
        let is_whole = self.has("--soft --mixed --hard --keep --merge");
        let operands = self.operands();
        let [(to, is_open)] = operands[..] else { return None };
        if self.has("--") || self.rest.iter().any(|word| word == "--") || matches!(to, "HEAD" | "@") {
            return None;
        }
        match steps_back(to) {
            Some(0) => None,
            Some(steps) => Some(Does::TakeBack(steps)),
            None if is_whole || is_hash(to) => {
                // What the shell works out is no name.
                let name = if is_open { "another commit" } else { to };
                Some(Does::GoTo(name.to_owned()))
            }
            None => None,
        }
    }

    /// Whether it goes to another branch, and does not only put files back.
    fn goes_elsewhere(&self) -> bool {
        let is_new = self.has("-b -B -c -C --create --force-create --orphan");
        let operands = self.operands();
        let is_split = self.rest.iter().any(|word| word == "--");
        match operands[..] {
            // Where it begins, a new branch is what was here before.
            [_] if is_new => self.has("--orphan"),
            [(name, _)] => !is_split && !name.contains('.'),
            [] => false,
            _ => is_new,
        }
    }
}

/// So many commits before the newest: `HEAD~2`, `HEAD^^`, `@~`.
fn steps_back(name: &str) -> Option<usize> {
    let mut rest = name.strip_prefix("HEAD").or_else(|| name.strip_prefix('@'))?;
    let mut steps = 0usize;
    while !rest.is_empty() {
        let sign = rest.chars().next().filter(|sign| matches!(sign, '~' | '^'))?;
        rest = &rest[1..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = match &rest[..digits] {
            "" => 1,
            digits => digits.parse::<usize>().ok()?,
        };
        // `^2` is the other parent of a merge.
        if sign == '^' && number > 1 {
            return None;
        }
        steps = steps.saturating_add(number);
        rest = &rest[digits..];
    }
    Some(steps)
}

fn is_hash(name: &str) -> bool {
    (HASH..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The word that brings a message, as far as it is one: `-m one`, `-am one`, `-mone`, `--message=one`.
fn message_word(words: &[String]) -> Option<&str> {
    words.iter().enumerate().find_map(|(at, word)| {
        let next = || words.get(at + 1).map(String::as_str);
        if word == "--message" {
            return next();
        } else if let Some(message) = word.strip_prefix("--message=") {
            return Some(message);
        }
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        let (before, message) = letters.split_once('m')?;
        let is_flag = |c: char| "aenopqsvz".contains(c);
        if !before.chars().all(is_flag) {
            return None;
        }
        if message.is_empty() { next() } else { Some(message) }
    })
}

/// The first line of the message.
fn message(words: &[String]) -> Option<String> {
    let mut lines = message_word(words)?.lines();
    // `-m "$(cat <<'EOF' …)"`: the message stands in the lines behind.
    let first = lines.find(|line| !line.trim().is_empty() && !line.trim_start().starts_with("$("))?;
    Some(first.trim().to_owned())
}

/// What became of commits by a line that was run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// There is one more, with this message.
    Made(String),
    /// The one that was told of under this number is no more.
    Undone(usize),
    /// The newest is this one, and nobody knows which of the others stand.
    WentTo(String),
}

/// The newest commits as far as the session has made them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commits {
    /// Oldest first.
    standing: Vec<Standing>,
    /// So many were told of.
    told: usize,
}

#[derive(Clone, Debug)]
struct Standing {
    at: Option<String>,
    /// Under which it was told of, unless its message is not known.
    number: Option<usize>,
    hash: Option<String>,
}

impl Commits {
    /// Takes the steps of a line that was run, and did not fail. Commits are told of under the numbers from 0 on.
    pub fn take(&mut self, steps: &[Step], result: &ToolResult) -> Vec<Change> {
        let printed: Vec<&str> = result.texts().map(|text| text.body.as_str()).collect();
        let mut hashes = printed.iter().flat_map(|text| text.lines()).filter_map(printed_hash);
        let is_in_doubt = result.success.is_none() && printed.iter().any(|text| text.lines().any(complains));
        let mut changes = Vec::new();
        for step in steps {
            let is_commit = matches!(step.does, Does::Commit(_) | Does::Amend(_));
            let hash = if is_commit && step.is_loud { hashes.next() } else { None };
            if is_in_doubt && hash.is_none() && step.is_loud && step.does != Does::GoElsewhere {
                continue;
            }
            self.step(step, hash, &mut changes);
        }
        changes
    }

    fn step(&mut self, step: &Step, hash: Option<&str>, changes: &mut Vec<Change>) {
        let newest = self
            .standing
            .iter()
            .rposition(|standing| is_same(&standing.at, &step.at));
        match &step.does {
            Does::Commit(words) => self.push(step, words.as_deref(), hash, changes),
            Does::Amend(None) => {
                if let Some(newest) = newest {
                    self.standing[newest].hash = hash.map(str::to_owned);
                }
            }
            Does::Amend(Some(words)) => {
                if let Some(newest) = newest {
                    self.undo(newest, changes);
                }
                self.push(step, words.as_deref(), hash, changes);
            }
            Does::TakeBack(steps) => {
                for _ in 0..*steps {
                    let newest = self
                        .standing
                        .iter()
                        .rposition(|standing| is_same(&standing.at, &step.at));
                    let Some(newest) = newest else { break };
                    self.undo(newest, changes);
                }
            }
            Does::GoTo(name) => {
                let is_it = |standing: &Standing| {
                    let known = standing.hash.as_deref();
                    let alike = |known: &str| known.starts_with(name.as_str()) || name.starts_with(known);
                    is_same(&standing.at, &step.at) && is_hash(name) && known.is_some_and(alike)
                };
                match self.standing.iter().rposition(is_it) {
                    Some(found) => {
                        for at in (found + 1..self.standing.len()).rev() {
                            if is_same(&self.standing[at].at, &step.at) {
                                self.undo(at, changes);
                            }
                        }
                    }
                    None if newest.is_some() => {
                        changes.push(Change::WentTo(name.clone()));
                        self.standing.retain(|standing| !is_same(&standing.at, &step.at));
                    }
                    None => {}
                }
            }
            Does::GoElsewhere => self.standing.retain(|standing| !is_same(&standing.at, &step.at)),
        }
    }

    fn push(&mut self, step: &Step, words: Option<&str>, hash: Option<&str>, changes: &mut Vec<Change>) {
        if self.standing.len() == MOST {
            self.standing.remove(0);
        }
        self.standing.push(Standing {
            at: step.at.clone(),
            number: words.map(|_| self.told),
            hash: hash.map(str::to_owned),
        });
        if let Some(words) = words {
            self.told += 1;
            changes.push(Change::Made(words.to_owned()));
        }
    }

    fn undo(&mut self, at: usize, changes: &mut Vec<Change>) {
        let standing = self.standing.remove(at);
        changes.extend(standing.number.map(Change::Undone));
    }
}

/// Whether two folders are of one repository, as far as they say: nothing says where a line begins.
fn is_same(one: &Option<String>, other: &Option<String>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    let (one, other) = (Path::of(one), Path::of(other));
    let is_outside = |path: &Path| path.as_str().starts_with("..");
    match one.is_absolute() == other.is_absolute() {
        true => {
            is_in_folder(one.as_str(), other.as_str())
                || is_in_folder(other.as_str(), one.as_str())
                || one.as_str().is_empty() && !is_outside(&other)
                || other.as_str().is_empty() && !is_outside(&one)
        }
        false => !is_outside(&one) && !is_outside(&other),
    }
}

/// The hash of a commit that was made: `[main 1a2b3c4] Mend the parser`, `[main (root-commit) 1a2b3c4] one`.
fn printed_hash(line: &str) -> Option<&str> {
    let (inside, _) = line.strip_prefix('[')?.split_once("] ")?;
    let (_, hash) = inside.rsplit_once(' ')?;
    is_hash(hash).then_some(hash)
}

/// Whether Git says that it could not, or had nothing to do.
fn complains(line: &str) -> bool {
    const COMPLAINTS: [&str; 5] = [
        "fatal: ",
        "error: ",
        "nothing to commit",
        "nothing added to commit",
        "no changes added to commit",
    ];
    COMPLAINTS.iter().any(|complaint| line.starts_with(complaint))
}

#[cfg(test)]
mod tests;
