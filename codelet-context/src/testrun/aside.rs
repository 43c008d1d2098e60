//! What is checked while the work is put aside: of the work itself it says nothing.
//!
//! Who stashes what was changed, or goes to what it was begun from, runs a check and comes back compares with how it was before.
//! Where nobody comes back, the work goes on with the next change, commit or prompt from what is there then; by that prompt it is
//! known that what was checked there counts.

use super::Line;
use crate::answer::{has_done, was_refused};
use crate::command::Command;
use crate::command::git::Git;
use crate::message::{ActionKind, ToolCall, ToolResult};
use crate::path::{is_absolute, is_in_folder, is_within_end, plain};
use crate::word_list::is_in;

/// What a command does to the work as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stash {
    /// It is put aside in this way.
    Away(Way),
    /// What was put aside in this way is there again, or is given up.
    Back(Way),
    /// It goes on from what is there.
    GoesOn,
}

/// How the work is put aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// By stashing what was changed.
    Stash,
    /// By going to another branch.
    Branch,
    /// By going to what work is begun from, and to no branch of somebody's work.
    Base,
    /// By fetching some files as they were.
    Files,
}

impl Stash {
    /// What a command does, if it is one that does.
    pub fn of(command: &Command) -> Option<Stash> {
        let git = Git::of(command)?;
        let (verb, rest) = (git.verb, git.rest);
        let has = |options: &str| git.has(options);
        match verb {
            "stash" => Stash::of_stash(rest),
            "checkout" | "switch" if has("-b -B -c -C --orphan --create") => Some(Stash::GoesOn),
            "checkout" | "switch" => Stash::of_checkout(rest, verb == "switch" || has("--detach -d")),
            "restore" => {
                let is_source = |word: &String| word == "-s" || word.starts_with("--source");
                let at = rest.iter().position(is_source);
                let source = at.and_then(|at| {
                    rest[at]
                        .split_once('=')
                        .map(|(_, source)| source)
                        .or(rest.get(at + 1).map(String::as_str))
                });
                Some(match source.filter(|source| *source != "HEAD") {
                    Some(_) => Stash::Away(Way::Files),
                    None => Stash::Back(Way::Files),
                })
            }
            "bisect" => match rest.first()?.as_str() {
                "reset" => Some(Stash::Back(Way::Base)),
                "start" => Some(Stash::Away(Way::Base)),
                _ => None,
            },
            "commit" | "pull" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" => Some(Stash::GoesOn),
            _ => None,
        }
    }

    fn of_stash(rest: &[String]) -> Option<Stash> {
        match rest.iter().map(String::as_str).find(|word| !word.starts_with('-')) {
            // What is about to be committed stays, or what somebody chooses.
            None | Some("push" | "save") if rest.iter().any(|word| is_in(word, PARTS)) => None,
            None | Some("push" | "save") => Some(Stash::Away(Way::Stash)),
            Some("pop" | "apply" | "branch" | "drop" | "clear") => Some(Stash::Back(Way::Stash)),
            Some(_) => None,
        }
    }

    fn of_checkout(rest: &[String], is_switch: bool) -> Option<Stash> {
        let mut words = rest.iter().map(String::as_str);
        let place = words.clone().position(|word| word == "--");
        let reference = words.find(|word| *word == "-" || !word.starts_with('-'))?;
        let is_files = match place {
            // `git checkout -- a.rs` gives up what was changed.
            Some(place) if rest.iter().position(|word| word == reference) > Some(place) => return None,
            Some(place) => place + 1 < rest.len(),
            None => !is_switch && words.any(|word| !word.starts_with('-')),
        };
        Some(match (is_files, reference) {
            (true, "HEAD") => Stash::Back(Way::Files),
            (true, _) => Stash::Away(Way::Files),
            (false, "-" | "@{-1}") => Stash::Back(Way::Branch),
            (false, "HEAD") => return None,
            _ if is_base(reference) || rest.iter().any(|word| word == "--detach") => Stash::Away(Way::Base),
            // It may as well be a file.
            _ if !is_switch && is_file(reference) => return None,
            _ => Stash::Away(Way::Branch),
        })
    }
}

/// The options by which not all is put aside that was changed.
const PARTS: &str = "-k --keep-index -S --staged -p --patch";

/// Whether this is a name of what work is begun from: a trunk, a branch elsewhere, a release, an earlier commit.
fn is_base(reference: &str) -> bool {
    const TRUNKS: &str = "main master trunk develop development dev FETCH_HEAD ORIG_HEAD";
    let is_commit = (7..=40).contains(&reference.len()) && reference.bytes().all(|b| b.is_ascii_hexdigit());
    let version = reference.strip_prefix('v').unwrap_or(reference);
    let is_release = version.contains('.') && version.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    is_in(reference, TRUNKS)
        || ["origin/", "upstream/", "refs/", "tags/", "HEAD", "@"]
            .iter()
            .any(|front| reference.starts_with(front))
        || reference.contains(['~', '^'])
        || is_commit
        || is_release
}

/// Whether a word rather names a file than a branch.
fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.is_empty() || name.contains(['.', '*', ':']) || word.starts_with(['.', '/'])
}

/// The folder in which a command puts another state of the project beside the work, and no branch to work on.
pub(super) fn beside(command: &Command) -> Option<&str> {
    let git = Git::of(command).filter(|git| git.verb == "worktree")?;
    let (add, rest) = git.rest.split_first()?;
    if add != "add" || rest.iter().any(|word| is_in(word, "-b -B --orphan")) {
        return None;
    }
    let mut words = rest.iter().filter(|word| !word.starts_with('-'));
    let folder = words.next()?;
    // Of a folder alone it makes a branch of that name.
    words
        .next()
        .or_else(|| rest.iter().find(|word| is_in(word, "--detach -d")))?;
    Some(folder)
}

/// Notes where a line moves a file away, checks, and moves it back.
pub(super) fn moved(commands: &[Command], stashes: &mut Vec<(usize, Stash)>) {
    let moves: Vec<(usize, String, String)> = commands
        .iter()
        .enumerate()
        .filter(|(_, command)| command.name() == "mv")
        .filter_map(|(at, command)| {
            let mut files = command
                .arguments(1)
                .map(|(word, _)| word)
                .filter(|word| !word.starts_with('-'));
            let (Some(from), Some(to), None) = (files.next(), files.next(), files.next()) else {
                return None;
            };
            let (from, folder) = (plain(from), to.ends_with('/'));
            let name = from.rsplit('/').next().unwrap_or_default();
            let to = if folder {
                format!("{}/{name}", plain(to))
            } else {
                plain(to)
            };
            Some((at, from, to))
        })
        .take(MOVES)
        .collect();
    let is_back = |(there, from, to): &(usize, String, String)| {
        let mut others = moves.iter();
        others.find(|(back, other, behind)| {
            let is_it = other == to || is_in_folder(other, to);
            back > there && is_it && (behind == from || is_in_folder(from, behind))
        })
    };
    for one in &moves {
        let Some((back, ..)) = is_back(one) else { continue };
        // The checks are counted in the order of the commands.
        let before = |end: usize| Line::of_part(&commands[..end]);
        stashes.push((before(one.0), Stash::Away(Way::Files)));
        stashes.push((before(*back), Stash::Back(Way::Files)));
    }
    stashes.sort_by_key(|(before, _)| *before);
}

/// Moves of a line that are looked at.
const MOVES: usize = 8;

/// Calls that are held back at most.
const HELD: usize = 20;
/// Folders of other states that are remembered.
const FOLDERS: usize = 16;

/// Whether the work is put aside, call by call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside {
    way: Option<Way>,
    /// Something was checked, changed or committed where it is now; before that, nobody knows which branch the work is on.
    has_work: bool,
    has_changes: bool,
    beside: Vec<String>,
    /// The work went on from another state than the one before by the call that was taken last, behind so many of its checks.
    moved: Option<usize>,
    /// What was stashed is there again by the call that was taken last.
    is_fetched: bool,
    /// The calls that have checked where nobody has come back from so far.
    held: Vec<(ToolCall, ToolResult)>,
}

impl Aside {
    /// Takes a call with its answer, and gives the checks of its line that ran while the work was put aside, or elsewhere, by
    /// their number.
    pub fn take(&mut self, call: &ToolCall, result: &ToolResult, line: Option<&Line>) -> Vec<usize> {
        let aside = self.look(call, result, line);
        if !self.is_elsewhere() {
            self.held.clear();
        } else if !aside.is_empty() && self.held.len() < HELD {
            self.held.push((call.clone(), result.clone()));
        }
        aside
    }

    /// A turn is over. Whoever has not come back by then stays, and what was checked there says how things are: gives the calls
    /// that are to be taken once more.
    pub fn stay(&mut self) -> Vec<(ToolCall, ToolResult)> {
        if self.is_elsewhere() {
            // As if it had been begun there: the line that went there is taken again, too.
            (self.way, self.has_work, self.has_changes) = (None, false, false);
        }
        std::mem::take(&mut self.held)
    }

    /// Whether another branch or commit was gone to.
    fn is_elsewhere(&self) -> bool {
        matches!(self.way, Some(Way::Base | Way::Branch))
    }

    fn look(&mut self, call: &ToolCall, result: &ToolResult, line: Option<&Line>) -> Vec<usize> {
        (self.moved, self.is_fetched) = (None, false);
        let changes = || call.action.kind == ActionKind::Change && has_done(&call.action, result);
        let Some(line) = line else {
            if changes() {
                self.go_on(call.action.changed().iter().map(|path| &**path));
            }
            return Vec::new();
        };
        if was_refused(result) {
            return Vec::new();
        }
        if line.stashes.is_empty() && result.success != Some(false) && !call.action.changed().is_empty() {
            self.go_on(call.action.changed().iter().map(|path| &**path));
        }
        self.beside.extend(line.beside.iter().map(|folder| plain(folder)));
        self.beside.truncate(FOLDERS);
        let mut aside = Vec::new();
        let mut stashes = line.stashes.iter().enumerate().peekable();
        for at in 0..=line.checks.len() {
            while let Some((number, (_, stash))) = stashes.next_if(|(_, (before, _))| *before <= at) {
                if self.step(*stash, &line.stashes[number + 1..], result) {
                    self.moved = Some(at);
                }
            }
            let Some(check) = line.checks.get(at) else { break };
            if self.way.is_some() || check.scope.place.as_deref().is_some_and(|place| self.is_beside(place)) {
                aside.push(at);
            } else {
                self.has_work = true;
            }
        }
        aside
    }

    /// Whether the work is put aside, so that the files are not those that were worked on.
    pub fn is_away(&self) -> bool {
        self.way.is_some()
    }

    /// How many checks of the line that was taken last ran before the work went on from another state, if it has.
    pub fn moved(&self) -> Option<usize> {
        self.moved
    }

    /// Whether the line that was taken last has fetched what was stashed, and nothing was changed meanwhile.
    pub fn is_fetched(&self) -> bool {
        self.is_fetched
    }

    /// Takes a step, and gives whether the work goes on from another state than before.
    fn step(&mut self, stash: Stash, behind: &[(usize, Stash)], result: &ToolResult) -> bool {
        let says = |signs: &[&str]| {
            let mut lines = result.texts().flat_map(|text| text.body.as_str().lines());
            lines.any(|line| signs.iter().any(|sign| line.trim_start().starts_with(sign)))
        };
        let comes_back = |way: Way| {
            behind
                .iter()
                .any(|(_, stash)| matches!(stash, Stash::Back(back) if back.ends(way)))
        };
        match stash {
            Stash::Away(_) if self.way.is_some_and(|way| way != Way::Base && way != Way::Branch) => {}
            // A program that is tested may say so, too: then less is told.
            Stash::Away(Way::Stash) => {
                if !says(&["No local changes to save", "fatal: "]) {
                    self.way = Some(Way::Stash);
                }
            }
            Stash::Away(_) if says(&["fatal: ", "error: ", "Already on "]) => {}
            Stash::Away(Way::Files) => self.way = Some(Way::Files),
            // Where something was checked or changed is the work; where nothing was, it may be what is gone to.
            Stash::Away(Way::Base) => {
                if self.has_work || comes_back(Way::Base) {
                    self.way = Some(Way::Base);
                } else {
                    return true;
                }
            }
            Stash::Away(Way::Branch) => {
                let is_way_back = matches!(self.way, Some(Way::Base | Way::Branch));
                if is_way_back {
                    self.way = None;
                } else if self.has_changes || comes_back(Way::Branch) {
                    self.way = Some(Way::Branch);
                } else {
                    return true;
                }
            }
            Stash::Back(way) => {
                let is_kept =
                    way == Way::Stash && says(&["The stash entry is kept", "error: could not restore untracked"]);
                if !is_kept && self.way.is_some_and(|own| way.ends(own)) {
                    self.is_fetched |= way == Way::Stash;
                    self.way = None;
                }
            }
            Stash::GoesOn => {
                let is_moved = self.way.is_some_and(|way| way != Way::Stash);
                if is_moved {
                    self.way = None;
                }
                (self.has_work, self.has_changes) = (true, true);
                return is_moved;
            }
        }
        false
    }

    /// These were changed: the work goes on from what is there.
    fn go_on<'a>(&mut self, changed: impl Iterator<Item = &'a str>) {
        let mut is_here = false;
        for path in changed {
            let path = plain(path);
            let before = self.beside.len();
            self.beside.retain(|folder| !is_inside(&path, folder));
            is_here |= self.beside.len() == before;
        }
        if is_here {
            (self.way, self.has_work, self.has_changes) = (None, true, true);
        }
    }

    fn is_beside(&self, place: &str) -> bool {
        let place = plain(place);
        self.beside.iter().any(|folder| is_inside(&place, folder))
    }
}

impl Way {
    /// Whether what has brought back from this way has brought back from another one.
    fn ends(self, other: Way) -> bool {
        let goes = |way: Way| matches!(way, Way::Branch | Way::Base);
        self == other || goes(self) && goes(other) || self == Way::Stash && other == Way::Files
    }
}

/// Whether a path lies in a folder, each as seen from somewhere.
fn is_inside(path: &str, folder: &str) -> bool {
    let folder = folder.trim_start_matches("../");
    let is_it = |path: &str| is_in_folder(path, folder);
    let starts = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    is_it(path.trim_start_matches("../"))
        || !is_absolute(folder) && starts.into_iter().any(is_it)
        || is_within_end(path, folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Action;
    use proptest::prelude::*;

    const CHANGE: &str = "(change)";

    /// Of each line in turn, the checks that say something of the work.
    fn told(lines: &[(&str, &str)]) -> Vec<String> {
        let mut aside = Aside::default();
        let mut told = Vec::new();
        for (line, output) in lines {
            let action = match *line {
                CHANGE => Action::on(ActionKind::Change, ["a.rs"]),
                line => Action::command(line),
            };
            let read = action.command.as_ref().map(|line| line.said().clone());
            let call = ToolCall::new("1", "t", serde_json::Map::new()).doing(action);
            let dropped = aside.take(&call, &ToolResult::new("1", Some(true), *output), read.as_deref());
            let checks = read.iter().flat_map(|line| line.checks.iter().enumerate());
            let left = checks.filter(|(at, _)| !dropped.contains(at));
            told.extend(left.map(|(_, check)| check.name.clone()));
        }
        told
    }

    const SAVED: &str = "Saved working directory and index state WIP on main: 1 a";
    const NONE: [&str; 0] = [];

    #[test]
    fn what_is_checked_between_putting_aside_and_fetching_says_nothing() {
        for line in [
            "git stash && npm test; git stash pop",
            "git stash -u && npm run lint 2>&1 | tail -5; git stash pop",
            "git stash push -m wip && make test && git stash pop",
            "git -C /w stash && cargo test; git -C /w stash apply",
            "cd a && git stash -q && pytest; git stash pop -q",
            "git stash; bash -c 'pytest -q'; git stash pop",
            "git stash && git checkout main && pytest; git checkout - && git stash pop",
            "git checkout main -q && npm test; git checkout - -q",
            "git switch other && npm test; git switch -",
            "git checkout v1.2.0 && make test && git checkout -",
            "git checkout --detach fix && cargo test; git switch -",
            "git checkout HEAD~3 -- src && npm test; git checkout HEAD -- src",
            "git checkout main src/a.rs && cargo test; git checkout HEAD src/a.rs",
            "git restore --source=HEAD~1 . && pytest; git restore .",
            "git restore -s main src; pytest; git restore src",
            "git worktree add /tmp/base main && cd /tmp/base && npm test",
            "git worktree add --detach ../base && cd ../base && npm test",
            "(git worktree add -f ../base HEAD~1 && cd ../base/web && npm test)",
            "mv src/a.test.ts /tmp/ && npm test; mv /tmp/a.test.ts src/",
            "mv conftest.py conftest.bak && pytest; mv conftest.bak conftest.py",
        ] {
            assert_eq!(told(&[(line, SAVED)]), NONE, "{line}");
        }
        let table: [&[(&str, &str)]; 6] = [
            &[
                ("pytest", ""),
                ("git switch main", ""),
                ("npm test", ""),
                ("git switch fix", ""),
                ("make test", ""),
            ],
            &[
                ("pytest", ""),
                ("git bisect start", ""),
                ("npm test", ""),
                ("git bisect reset", ""),
                ("make test", ""),
            ],
            &[
                (CHANGE, ""),
                ("pytest", ""),
                ("git checkout other", ""),
                ("npm test", ""),
                ("git checkout -", ""),
                ("make test", ""),
            ],
            &[
                ("pytest", ""),
                ("git checkout 1a2b3c4d", ""),
                ("npm test", ""),
                ("git checkout fix", ""),
                ("make test", ""),
            ],
            &[
                ("pytest", ""),
                ("git worktree add ../b main", ""),
                ("cd ../b && npm test", ""),
                ("make test", ""),
            ],
            &[
                ("pytest", ""),
                ("git checkout main -- src", ""),
                ("npm test", ""),
                ("git stash pop", ""),
                ("make test", ""),
            ],
        ];
        for lines in table {
            assert_eq!(told(lines), ["pytest", "make test"], "{lines:?}");
        }
        assert_eq!(
            told(&[("pytest; git stash; cargo test; git stash pop; go test", SAVED)]),
            ["pytest", "go test"]
        );
        assert_eq!(
            told(&[
                ("git stash", SAVED),
                ("npm test", "4 passed"),
                ("git stash pop", ""),
                ("npm test", "")
            ]),
            ["npm test"]
        );
        assert_eq!(told(&[("git stash", SAVED), ("npm test; git stash pop", "")]), NONE);
    }

    #[test]
    fn who_has_not_come_back_by_the_end_of_a_turn_stays() {
        let mut aside = Aside::default();
        let take = |line: &str, aside: &mut Aside| {
            let call = ToolCall::new("1", "t", serde_json::Map::new()).doing(Action::command(line));
            let said = call.action.command.as_ref().unwrap().said().clone();
            aside
                .take(&call, &ToolResult::new("1", Some(true), ""), Some(&said))
                .len()
        };
        let of = |held: Vec<(ToolCall, ToolResult)>| {
            let lines = held
                .into_iter()
                .map(|(call, _)| call.action.command.unwrap().to_string());
            lines.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(take("pytest", &mut aside), 0);
        assert_eq!(
            (take("git checkout main", &mut aside), take("pytest -q", &mut aside)),
            (0, 1)
        );
        assert_eq!(of(aside.stay()), "pytest -q");
        assert_eq!((take("make test", &mut aside), of(aside.stay())), (0, String::new()));
        assert_eq!(take("git checkout fix/a && pytest -x", &mut aside), 0);
        assert_eq!(take("git checkout main && pytest -q", &mut aside), 1);
        assert_eq!(of(aside.stay()), "git checkout main && pytest -q");
        assert_eq!(take("git checkout main && pytest -q", &mut aside), 0);
        // Whoever comes back has compared.
        assert_eq!(
            (take("git checkout 1a2b3c4d", &mut aside), take("pytest -q", &mut aside)),
            (0, 1)
        );
        take("git checkout -", &mut aside);
        assert_eq!(of(aside.stay()), "");
        // What is stashed waits.
        assert_eq!((take("git stash", &mut aside), take("pytest -q", &mut aside)), (0, 1));
        assert_eq!(of(aside.stay()), "");
        assert_eq!(take("pytest -q", &mut aside), 1);
    }

    #[test]
    fn what_is_checked_otherwise_is_told() {
        for line in [
            "git stash list && npm test",
            "git stash show -p; npm test",
            "git stash -k && npm test; git stash pop",
            "git stash pop && npm test",
            "npm test && git stash",
            "echo git stash && npm test",
            "git diff --quiet || git stash; npm test",
            "ssh host git stash; npm test",
            // What is gone to first is what somebody wants to know of.
            "git checkout main && npm test",
            "git switch fix/login; npm test",
            "git checkout -b fix && npm test",
            "git checkout main && git pull && npm test; git checkout -b next",
            "git checkout -- src && npm test",
            "git checkout . && npm test",
            "git restore src && npm test",
            "git worktree add -b fix ../fix && cd ../fix && npm test",
            "git worktree add ../fix && cd ../fix && npm test",
            "mv a.ts b.ts && npm test",
        ] {
            assert_eq!(told(&[(line, "")]), ["npm test"], "{line}");
        }
        // Nothing was there to be put aside, or it could not be.
        for output in ["No local changes to save", "fatal: not a git repository"] {
            assert_eq!(
                told(&[("git stash", output), ("npm test", "")]),
                ["npm test"],
                "{output}"
            );
        }
    }

    #[test]
    fn work_goes_on_with_the_next_change_or_where_it_was_given_up() {
        for line in [
            CHANGE,
            "git stash drop",
            "git stash clear",
            "git stash pop",
            "sed -i s/a/b/ a.rs",
        ] {
            let lines = [("git stash", SAVED), ("pytest", ""), (line, ""), ("npm test", "")];
            assert_eq!(told(&lines), ["npm test"], "{line}");
        }
        for line in [
            CHANGE,
            "git commit -m a",
            "git merge fix",
            "git pull",
            "git checkout -b next",
            "git switch fix",
        ] {
            let lines = [("pytest", ""), ("git checkout main", ""), (line, ""), ("npm test", "")];
            assert_eq!(told(&lines), ["pytest", "npm test"], "{line}");
        }
        // Somebody works in the other folder.
        let lines = [
            ("git worktree add ../fix fix", ""),
            ("cd ../fix && echo a > a.rs", ""),
            ("cd ../fix && npm test", ""),
        ];
        assert_eq!(told(&lines), ["npm test"]);
        let lines = [
            ("git stash", SAVED),
            (
                "git stash pop",
                "CONFLICT (content): a\nThe stash entry is kept in case you need it again.",
            ),
            ("npm test", ""),
        ];
        assert_eq!(told(&lines), NONE);
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r"(git stash|git stash pop|git checkout (main|-|-- a|a -- b)|git worktree add (a|\\.\\./b) c|cd a|mv a b|mv b a|git bisect start|pytest|make| \|\| | && |; |\(|\)|bash -c '|'){0,20}", output in r"(\PC|fatal: |\n){0,10}") {
            told(&[(&line, &output), ("pytest", ""), (&line, "")]);
        }
    }
}
