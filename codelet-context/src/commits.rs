//! What command lines do to the newest commits of a repository: what is committed, what stands in its place, and what is
//! taken back. In doubt a commit that was told of stays told.

use crate::command::git::Git;
use crate::command::{Command, Script};
use crate::message::ToolResult;
use crate::path::{Path, is_in_folder};
use crate::word_list::is_in;
use printed::Printed;

mod printed;

/// Steps taken from one line, and commits that may yet be taken back, at most.
const MOST: usize = 50;
/// Letters of the fewest that a hash is printed with.
const HASH: usize = 4;
/// The letters of options of `git commit` that are followed by nothing.
const FLAGS: &str = "aeinopqsvz";

/// What a command does to the newest commits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    /// The folder, if it is known; empty where the line began.
    at: Option<String>,
    does: Does,
    /// What it prints says whether it was done.
    is_loud: bool,
    /// A line that succeeds says that it has.
    is_proven: bool,
    /// Nothing else in the line counts files that were changed.
    counts_alone: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Does {
    /// One more, with the first line of its message, if that is known.
    Commit(Option<String>),
    /// Another in place of the newest; with the same message, if `None`.
    Amend(Option<Option<String>>),
    /// One more for each that is named, which says that it takes that one back; whether it is only the newest.
    Revert(bool),
    /// So many of the newest are taken back.
    TakeBack(usize),
    /// All that came behind this one are, if it is one of those; with what the line calls it.
    GoTo(String),
    /// Others are the newest now, on another branch.
    GoElsewhere,
    /// Others may be the newest now, and those that were may be among them.
    Mix,
    /// Those behind this one are written anew, if it says which: others, or in another order.
    Rewrite(Option<String>),
    /// They may be on other branches, too, or in other repositories.
    Spread,
    /// Branches are deleted, whatever is on them.
    DropBranches,
}

/// What a line does to the newest commits, in its order.
pub(crate) fn steps(script: &Script) -> Vec<Step> {
    let mut found = Vec::new();
    let mut counts = 0;
    collect(script, &mut found, &mut counts);
    found.truncate(MOST);
    for step in &mut found {
        step.counts_alone = counts == 1;
    }
    found
}

/// `counts` is how many commands may count the files that were changed.
fn collect(script: &Script, found: &mut Vec<Step>, counts: &mut usize) {
    for command in script.commands.iter().filter(|command| !command.is_elsewhere) {
        if found.len() >= MOST {
            return;
        }
        match command.script.as_ref().filter(|_| command.is_script()) {
            Some(inner) => collect(inner, found, counts),
            None if command.name() == "gh" => found.push(spread(command)),
            None => {
                let Some(git) = Git::of(command) else { continue };
                // These say nothing of the kind.
                const SILENT: &str =
                    "add rm mv status push fetch branch tag config switch rev-parse restore reset init";
                *counts += usize::from(!is_in(git.verb, SILENT));
                found.extend(step(&git));
            }
        }
    }
}

fn spread(command: &Command) -> Step {
    Step {
        at: command.folder.known().map(str::to_owned),
        does: Does::Spread,
        is_loud: false,
        is_proven: false,
        counts_alone: false,
    }
}

fn step(git: &Git) -> Option<Step> {
    let command = git.command;
    let does = match git.verb {
        "commit" => committed(git),
        "reset" => reset(git),
        "checkout" | "switch" => gone(git),
        "revert" => reverted(git),
        "branch" => branched(git),
        "rebase" if git.has_flag("i", "--interactive") => {
            let (operands, _) = git.operands("-x --exec -s --strategy -X --strategy-option --onto");
            let name = operands.first().filter(|(_, is_open)| !is_open);
            Some(Does::Rewrite(name.map(|(name, _)| (*name).to_owned())))
        }
        "merge" | "pull" | "rebase" | "cherry-pick" | "am" | "update-ref" | "filter-branch" | "filter-repo" => {
            Some(Does::Mix)
        }
        "push" | "tag" | "worktree" | "bundle" | "format-patch" | "send-email" => Some(Does::Spread),
        _ => None,
    }?;
    // What may not have run at all takes nothing back.
    let does = match does {
        Does::Commit(_) | Does::GoElsewhere | Does::Spread => does,
        _ if command.is_sure => does,
        _ => Does::Mix,
    };
    Some(Step {
        at: git.at.known().map(str::to_owned),
        does,
        is_loud: !is_quiet(git) && command.simple.outputs.is_empty(),
        is_proven: command.is_proven,
        counts_alone: false,
    })
}

fn is_quiet(git: &Git) -> bool {
    let is_flag = |c: char| FLAGS.contains(c);
    let is_it = |word: &String| {
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| letters.chars().take_while(|c| is_flag(*c)).any(|c| c == 'q'))
    };
    git.has("--quiet") || git.rest.iter().any(is_it)
}

fn committed(git: &Git) -> Option<Does> {
    // These only show what would be committed.
    if git.has("--dry-run --short --porcelain --long -h --help") {
        return None;
    }
    let words = message(git.rest);
    if !git.has("--amend") {
        return Some(Does::Commit(words));
    }
    let is_other = words.is_some() || git.has("-F --file -t --template") || message_word(git.rest).is_some();
    Some(Does::Amend(is_other.then_some(words)))
}

/// Files that are put back to what they were take no commit back.
fn reset(git: &Git) -> Option<Does> {
    let is_whole = git.has("--soft --mixed --hard --keep --merge");
    let (operands, None) = git.operands("") else {
        return None;
    };
    let [(to, is_open)] = operands[..] else { return None };
    if matches!(to, "HEAD" | "@") {
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

/// Goes to another branch, unless it only puts files back.
fn gone(git: &Git) -> Option<Does> {
    let is_new = git.has("-b -B -c -C --create --force-create --orphan");
    let (operands, behind) = git.operands("");
    match (&operands[..], behind) {
        // Where it begins, a new branch is what was here before.
        ([_], _) if is_new && !git.has("--orphan") => Some(Does::Spread),
        ([(name, _)], None) if is_new || !name.contains('.') => Some(Does::GoElsewhere),
        ([], _) => None,
        _ => is_new.then_some(Does::GoElsewhere),
    }
}

fn reverted(git: &Git) -> Option<Does> {
    if git.has("-n --no-commit") {
        return None;
    }
    let (operands, _) = git.operands("-m --mainline -X --strategy --strategy-option");
    match operands[..] {
        [] => Some(Does::Mix),
        [(name, is_open)] => Some(Does::Revert(!is_open && matches!(name, "HEAD" | "@"))),
        _ => Some(Does::Revert(false)),
    }
}

fn branched(git: &Git) -> Option<Does> {
    if git.has_flag("D", "") {
        return Some(Does::DropBranches);
    }
    let (operands, _) = git.operands("");
    (!operands.is_empty() && !git.has("--list -l --contains --merged -d --delete")).then_some(Does::Spread)
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

pub(crate) fn is_hash(name: &str) -> bool {
    (HASH..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The word that brings a message, as far as it is one: `-m one`, `-am one`, `-mone`, `--message=one`.
fn message_word(words: &[String]) -> Option<&str> {
    let options = words.iter().take_while(|word| *word != "--").enumerate();
    options.into_iter().find_map(|(at, word)| {
        let next = || words.get(at + 1).map(String::as_str);
        if word == "--message" {
            return next();
        } else if let Some(message) = word.strip_prefix("--message=") {
            return Some(message);
        }
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        let (before, message) = letters.split_once('m')?;
        if !before.chars().all(|c| FLAGS.contains(c)) {
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
    /// Those behind this one were written anew, if it is known, and nobody knows which stand.
    Rewrote(Option<String>),
}

/// The newest commits as far as the session has made them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commits {
    /// Oldest first.
    standing: Vec<Standing>,
    /// Those of a branch that was left, which are nowhere else as far as anybody knows.
    left: Vec<Standing>,
    /// So many were told of.
    told: usize,
}

#[derive(Clone, Debug)]
struct Standing {
    at: Option<String>,
    /// Under which it was told of, unless its message is not known.
    number: Option<usize>,
    words: Option<String>,
    hash: Option<String>,
    /// As Git calls it when it commits.
    branch: Option<String>,
}

impl Commits {
    /// Takes the steps of a line that was run. Commits are told of under the numbers from 0 on.
    ///
    /// Of a line that has failed, what came before the last commit that it shows was done.
    pub fn take(&mut self, steps: &[Step], result: &ToolResult) -> Vec<Change> {
        let mut printed = Printed::by(result);
        let made: Vec<Option<Made>> = made(steps, result, &mut printed);
        let steps = match result.success {
            Some(false) => &steps[..made.iter().rposition(Option::is_some).map_or(0, |last| last + 1)],
            _ => steps,
        };
        let is_in_doubt = printed.complains;
        let is_told = |step: &Step| step.is_proven && result.success == Some(true);
        let is_done = |step: &Step| !is_in_doubt || is_told(step);
        let mut changes = Vec::new();
        for (step, made) in steps.iter().zip(made) {
            match step.does {
                Does::Commit(_) | Does::Amend(_) => match made {
                    Some(made) => self.commit(step, made, &mut changes),
                    None => continue,
                },
                Does::Revert(is_newest) => {
                    self.revert(step, is_newest && is_told(step), &mut printed, &mut changes);
                }
                Does::TakeBack(_) | Does::GoTo(_) | Does::Rewrite(_) if !is_done(step) => continue,
                Does::TakeBack(steps) => self.take_back(step, steps, &mut changes),
                Does::GoTo(ref name) => self.go_to(step, name, &mut changes),
                Does::Rewrite(ref name) => {
                    if self.newest(step).is_some() {
                        changes.push(Change::Rewrote(name.clone()));
                    }
                    self.forget(step);
                }
                Does::GoElsewhere => self.leave(step),
                Does::Mix => self.forget(step),
                Does::Spread => self.spread(),
                Does::DropBranches => self.drop_branches(&printed, &mut changes),
            }
        }
        changes
    }

    fn newest(&self, step: &Step) -> Option<usize> {
        self.standing
            .iter()
            .rposition(|standing| is_same(&standing.at, &step.at))
    }

    fn commit(&mut self, step: &Step, made: Made, changes: &mut Vec<Change>) {
        let newest = self.newest(step);
        if let (Does::Amend(_), Some(newest)) = (&step.does, newest) {
            if step.does == Does::Amend(None) {
                self.standing[newest].hash = made.hash;
                return;
            }
            self.undo(newest, changes);
        }
        // Of one that keeps its message nothing is told if nobody knows which one that is.
        if step.does != Does::Amend(None) {
            self.push(step, made, changes);
        }
    }

    fn revert(&mut self, step: &Step, is_newest: bool, printed: &mut Printed, changes: &mut Vec<Change>) {
        let newest = self.newest(step);
        let reverts = printed.reverts();
        if reverts.is_empty() {
            let words = newest
                .filter(|_| is_newest)
                .and_then(|newest| self.standing[newest].words.as_ref());
            match words.map(|words| format!("Revert \"{words}\"")) {
                Some(words) => self.push(step, Made::with(Some(words)), changes),
                None => self.forget(step),
            }
        }
        for made in reverts {
            self.push(step, made, changes);
        }
    }

    fn take_back(&mut self, step: &Step, steps: usize, changes: &mut Vec<Change>) {
        for _ in 0..steps {
            let Some(newest) = self.newest(step) else { break };
            self.undo(newest, changes);
        }
    }

    fn go_to(&mut self, step: &Step, name: &str, changes: &mut Vec<Change>) {
        let is_it = |standing: &Standing| {
            let known = standing.hash.as_deref();
            is_same(&standing.at, &step.at) && is_hash(name) && known.is_some_and(|known| is_alike(known, name))
        };
        match self.standing.iter().rposition(is_it) {
            Some(found) => {
                for at in (found + 1..self.standing.len()).rev() {
                    if is_same(&self.standing[at].at, &step.at) {
                        self.undo(at, changes);
                    }
                }
            }
            None if self.newest(step).is_some() => {
                changes.push(Change::WentTo(name.to_owned()));
                self.standing.retain(|standing| !is_same(&standing.at, &step.at));
            }
            None => {}
        }
    }

    /// What is the newest now is not known, and where those that were are.
    fn forget(&mut self, step: &Step) {
        self.standing.retain(|standing| !is_same(&standing.at, &step.at));
        self.spread();
    }

    /// That a branch is deleted takes none of these back.
    fn spread(&mut self) {
        self.left.clear();
        self.standing.iter_mut().for_each(|standing| standing.branch = None);
    }

    /// What is the newest now is not known, and those that were are on their branch alone.
    fn leave(&mut self, step: &Step) {
        let here = |standing: &mut Standing| is_same(&standing.at, &step.at);
        self.left.extend(self.standing.extract_if(.., here));
        let over = self.left.len().saturating_sub(MOST);
        self.left.drain(..over);
    }

    /// `Deleted branch x (was 1a2b3c4).`: its commits are gone where that is the newest of those that were left on it.
    fn drop_branches(&mut self, printed: &Printed, changes: &mut Vec<Change>) {
        for (branch, hash) in printed.deleted() {
            let is_on = |left: &&Standing| left.branch.as_deref() == Some(branch);
            let newest = self.left.iter().rfind(is_on);
            let is_it = newest
                .and_then(|newest| newest.hash.as_deref())
                .is_some_and(|known| is_alike(known, hash));
            if is_it {
                let gone = self.left.extract_if(.., |left| left.branch.as_deref() == Some(branch));
                changes.extend(gone.filter_map(|gone| gone.number).map(Change::Undone));
            }
        }
    }

    fn push(&mut self, step: &Step, made: Made, changes: &mut Vec<Change>) {
        if self.standing.len() == MOST {
            self.standing.remove(0);
        }
        let Made { words, hash, branch } = made;
        self.standing.push(Standing {
            at: step.at.clone(),
            number: words.as_ref().map(|_| self.told),
            words: words.clone(),
            hash,
            branch,
        });
        if let Some(words) = words {
            self.told += 1;
            changes.push(Change::Made(words));
        }
    }

    fn undo(&mut self, at: usize, changes: &mut Vec<Change>) {
        let standing = self.standing.remove(at);
        changes.extend(standing.number.map(Change::Undone));
    }
}

/// A commit that was made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Made {
    /// The first line of its message, if that is known.
    words: Option<String>,
    hash: Option<String>,
    branch: Option<String>,
}

impl Made {
    fn with(words: Option<String>) -> Made {
        Made {
            words,
            ..Made::default()
        }
    }
}

/// Whether a line that makes commits has made one; nothing if it is no such line.
pub(crate) fn has_made(steps: &[Step], result: &ToolResult) -> Option<bool> {
    let makes = |step: &Step| matches!(step.does, Does::Commit(_) | Does::Amend(_));
    let has_made = || {
        made(steps, result, &mut Printed::by(result))
            .iter()
            .any(Option::is_some)
    };
    steps.iter().any(makes).then(has_made)
}

/// For each step the commit that it has made.
///
/// Git says of every commit what it is called. Where it may say so and does not, there is one only if the status says it, or
/// if there is nothing that speaks against it.
fn made(steps: &[Step], result: &ToolResult, printed: &mut Printed) -> Vec<Option<Made>> {
    let words = |step: &Step| match &step.does {
        Does::Commit(words) => Some(words.clone()),
        Does::Amend(words) => Some(words.clone().flatten()),
        _ => None,
    };
    let mut made: Vec<Option<Made>> = steps.iter().map(|step| printed.named(&words(step)??)).collect();
    for (step, made) in steps.iter().zip(&mut made) {
        let Some(words) = words(step).filter(|_| made.is_none()) else {
            continue;
        };
        let of_line = if step.is_loud { printed.next() } else { None };
        let is_done = match result.success {
            Some(false) => false,
            Some(true) if step.is_proven => true,
            // Git prints nothing, and hooks say what they like.
            _ if !step.is_loud => !printed.refuses,
            _ => printed.is_empty || step.counts_alone && printed.counts || printed.lists(words.as_deref()),
        };
        *made = of_line.or_else(|| is_done.then(|| Made::with(words)));
    }
    made
}

fn is_alike(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
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

#[cfg(test)]
mod tests;
