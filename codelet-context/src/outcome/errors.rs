//! What failed and was not seen to succeed since, and when it is over.
//!
//! A check that failed is open until it succeeds on no less, or until everything that it has named as failed was seen to
//! succeed. Another command is open as long as somebody may still want it done: in the turn in which it failed; in the next
//! one, if the turn has ended with it; and for longer only if it was to change something outside, such as a release: that is
//! open until it is done. A check that failed long ago, and is likely to be over for what succeeded since, is past: it is told
//! of in few words. Turns in which only words were said make nothing older.

use super::COMMAND;
use super::left::{Left, Spot};
use crate::attempt::Attempt;
use crate::command::CommandLine;
use crate::failing::{ENTRIES, Named, Passing, failing, shorten};
use crate::message::{Message, Role, ToolCall, ToolResult};
use crate::path::{Path, is_in_folder, is_within_end};
use crate::running::Session;
use crate::testrun::{Check, CheckKind, stands_for};

/// Open errors that are kept, newest last.
pub(super) const ERRORS: usize = 8;
/// What is told of a run of which all tests that it names have passed since, and perhaps others have not.
const PASSED_SINCE: &str = "(all tests that it named passed since; the whole was not run again)";
/// What failed so many turns or answered calls ago is old.
const TURNS: usize = 2;
const CALLS: usize = 100;

/// Something that failed and was not seen to succeed since.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenError {
    /// The command line, shortened if it is long.
    pub command: String,
    /// The lines of its output that say what failed.
    pub lines: Vec<String>,
    /// The same was run again since, and nothing says what came of it.
    pub is_rerun: bool,
    /// It failed long ago, and what succeeded since may well have been about the same.
    pub is_past: bool,
    about: About,
    /// Of a check that runs another one and nothing else: that one.
    within: Option<Check>,
    /// Of a check: where it was run, as far as that was said.
    spot: Spot,
    /// Git has stopped where two have changed the same, and goes on with a commit.
    awaits_commit: bool,
    since: Since,
}

/// What an error is about, so that a later success is known to be over it.
#[derive(Clone, PartialEq, Eq, Debug)]
enum About {
    /// A check, and what it has named as failed.
    Check(Check, Named),
    /// A check that could not be run: until one of its name and kind was, whatever came of that.
    Unrun(Check),
    /// Any other program, by its name and what it is asked to do.
    Program(String, Attempt),
}

/// Since when an error is open, and what has happened to it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Since {
    turn: usize,
    call: usize,
    /// A file that it names was changed, or any if it names none.
    is_touched: bool,
    /// After that, a check of its kind succeeded that may well have covered it.
    is_passed: bool,
    /// Something was done after it, with success.
    is_followed: bool,
}

/// The errors that are open, newest last.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors {
    open: Vec<OpenError>,
    left: Left,
    turn: usize,
    calls: usize,
    /// A call was answered since the last prompt.
    has_worked: bool,
    /// The last message was an answer, with which the turn ends.
    is_answered: bool,
}

impl Errors {
    /// The calls and results of a message were taken.
    pub fn end_message(&mut self, message: &Message) {
        if message.role == Role::Assistant {
            self.is_answered = message.calls().next().is_none();
        } else if message.is_prompt() {
            if std::mem::take(&mut self.has_worked) {
                let turn = self.turn;
                self.open.retain(|error| error.outlives(turn));
                self.turn += 1;
            }
            self.is_answered = false;
        } else if message.tool_results().next().is_some() {
            self.is_answered = false;
        }
    }

    /// Those that are open now.
    pub fn now(&self) -> Vec<OpenError> {
        let open = self.open.iter();
        let is_over = self.is_answered && self.has_worked;
        let open = open.filter(|error| !is_over || error.outlives(self.turn));
        open.map(|error| OpenError {
            is_past: error.is_past(self.turn, self.calls),
            ..error.clone()
        })
        .collect()
    }

    /// A file was changed.
    pub fn change(&mut self, path: &str) {
        let path = Path::of(path);
        for error in &mut self.open {
            if let About::Check(_, named) = &error.about {
                error.since.is_touched |= named.files.is_empty() || named.files.iter().any(|file| is_one(&path, file));
            }
        }
    }

    /// Whether a check is open.
    pub fn has_checks(&self) -> bool {
        self.open.iter().any(OpenError::is_check)
    }

    /// What a run of tests shows to have passed, whatever program has run it. It was one of these checks.
    pub fn show(&mut self, passing: &Passing, run: &[&Check]) {
        self.open.retain_mut(|error| {
            let About::Check(failed, named) = &mut error.about else {
                return true;
            };
            if failed.kind != CheckKind::Test {
                return true;
            }
            // It takes out what has passed; only then is it known whether anything is left.
            let had = named.entries.len();
            let is_all = passing.clears(run, failed, named);
            let is_empty = named.is_all_told(failed) && named.entries.is_empty();
            if had > 0 && named.entries.is_empty() {
                error.lines = vec![PASSED_SINCE.to_owned()];
            }
            !is_all && !is_empty
        });
    }

    /// A call was answered. What came of it is taken behind that.
    pub fn hear(&mut self, call: &ToolCall, result: &ToolResult) {
        self.left.hear(call, result);
    }

    /// What came of an earlier command is taken next, which was begun there.
    pub fn turn_to(&mut self, session: &Session) {
        self.left.turn_to(session);
    }

    /// Where a check of the line is run that was answered last.
    pub fn spot(&self, check: &Check, line: &CommandLine) -> Spot {
        self.left.spot(check, line)
    }

    /// A line was carried out, and may have left the shell elsewhere.
    pub fn went(&mut self, line: &CommandLine) {
        self.left.went(line);
    }

    /// A check succeeded there.
    pub fn pass(&mut self, check: &Check, spot: &Spot) {
        self.open.retain_mut(|error| {
            error.since.is_followed = true;
            let is_unrun = error.is_unrun(check);
            if error.is_check() && spot.is_apart(&error.spot) {
                return true;
            }
            let About::Check(failed, named) = &mut error.about else {
                return !is_unrun;
            };
            let had = named.entries.len();
            check.clears(failed, named);
            let mut is_covered = check.covers(failed);
            if let Some(within) = &error.within {
                check.clears(within, named);
                is_covered |= check.covers(within);
            }
            let is_over = is_covered || named.is_all_told(failed) && named.entries.is_empty();
            if failed.kind == CheckKind::Test && had > 0 && named.entries.is_empty() {
                error.lines = vec![PASSED_SINCE.to_owned()];
            }
            // What is run of the same check, and is not what failed, says nothing of that.
            let is_part =
                check.program() == failed.program() && check.part().is_some() && check.part() != failed.part();
            let is_like = check.kind == failed.kind
                && check.covers_place(failed)
                && !is_part
                && (check.name != failed.name || named.entries.len() < had)
                && check.scope.words.is_empty()
                && check.scope.filters.is_empty();
            error.since.is_passed |= is_like && error.since.is_touched;
            !is_over
        });
    }

    /// A check ran there, and nothing says what came of it.
    pub fn run(&mut self, check: &Check, spot: &Spot) {
        self.mark_rerun(|error| {
            let is_same = matches!(&error.about, About::Check(failed, _) if check.covers(failed));
            is_same && !spot.is_apart(&error.spot)
        });
        self.open.retain(|error| !error.is_unrun(check));
    }

    /// A check failed.
    pub fn fail(&mut self, line: &CommandLine, check: &Check, result: &ToolResult) {
        let spot = self.left.spot(check, line).sure();
        let check = &*spot.placed(check);
        if check.kind == CheckKind::Test && self.has_checks() {
            self.show(&Passing::tests_of(result), &[check]);
        }
        let (lines, mut named) = failing(result);
        named.is_uncut = is_uncut(check, result);
        let is_here = |error: &OpenError| !spot.is_apart(&error.spot);
        let is_same = |error: &OpenError| {
            is_here(error) && matches!(&error.about, About::Check(failed, _) if failed.is_same(check))
        };
        let is_passed = |error: &OpenError| match &error.about {
            About::Check(failed, before) => is_here(error) && passes_within(check, &named, failed, before),
            About::Unrun(_) | About::Program(..) => false,
        };
        self.open
            .retain(|error| !is_same(error) && !is_passed(error) && !error.is_unrun(check));
        self.push(line, lines, About::Check(check.clone(), named));
        if let Some(error) = self.open.last_mut() {
            error.within = stands_for(check, result);
            // Where it stands in another folder than the line tells, the same words may be told of another one.
            error.command = shorten(&spot.told(line.told()), COMMAND);
            error.spot = spot;
        }
    }

    /// A check was to be run, and could not be: what it has found before stands.
    pub fn fail_to_run(&mut self, line: &CommandLine, check: &Check, result: &ToolResult) {
        self.open.retain(|error| !error.is_unrun(check));
        self.push(line, failing(result).0, About::Unrun(check.clone()));
    }

    /// A command that is no check has failed.
    pub fn fail_command(&mut self, line: &CommandLine, name: &str, result: &ToolResult) {
        self.open.retain(|error| !error.is_of(name));
        let about = About::Program(name.to_owned(), line.attempt().clone());
        self.push(line, failing(result).0, about);
        if let Some(error) = self.open.last_mut() {
            error.awaits_commit = line.attempt().joins && tells_of_conflict(result);
        }
    }

    /// What Git had stopped at was committed.
    pub fn commit(&mut self) {
        self.open.retain(|error| !error.awaits_commit);
    }

    /// A command that is no check has succeeded, or nothing says what came of it.
    pub fn run_command(&mut self, line: &CommandLine, name: &str, success: Option<bool>) {
        if success.is_none() {
            self.mark_rerun(|error| error.is_of(name));
            return;
        }
        let done = line.attempt();
        self.open.retain(|error| match &error.about {
            About::Program(other, failed) => {
                let is_end = error.awaits_commit && done.concludes;
                !(is_end || other == name && done.repeats(failed) || done.settles(failed))
            }
            _ => true,
        });
        for error in &mut self.open {
            error.since.is_followed |= !done.is_probe;
        }
    }

    /// Whether a check of this kind fails, as far as it is known by now.
    pub fn fails(&self, kind: CheckKind) -> bool {
        self.open.iter().any(|error| error.stands(kind))
    }

    /// A call was answered.
    pub fn count_call(&mut self) {
        self.calls += 1;
        self.has_worked = true;
    }

    fn mark_rerun(&mut self, is_it: impl Fn(&OpenError) -> bool) {
        for error in self.open.iter_mut().filter(|error| is_it(error)) {
            error.is_rerun = true;
        }
    }

    fn push(&mut self, line: &CommandLine, lines: Vec<String>, about: About) {
        if self.open.len() == ERRORS {
            // A check that is broken matters more than a command that was given up.
            let oldest = self.open.iter().position(|error| !error.is_check());
            self.open.remove(oldest.unwrap_or(0));
        }
        self.open.push(OpenError {
            command: shorten(line.told(), COMMAND),
            lines,
            is_rerun: false,
            is_past: false,
            about,
            within: None,
            spot: Spot::default(),
            awaits_commit: false,
            since: Since {
                turn: self.turn,
                call: self.calls,
                ..Since::default()
            },
        });
    }
}

impl OpenError {
    /// Whether it is a check that failed, which somebody will want to succeed; other commands are often given up.
    pub fn is_check(&self) -> bool {
        matches!(self.about, About::Check(..))
    }

    /// Whether a check of this kind fails by all that is known: nothing says that it ran again, or that another one that
    /// succeeded may well have covered it.
    pub(crate) fn stands(&self, kind: CheckKind) -> bool {
        self.kind() == Some(kind) && !self.is_past && !self.is_rerun && !self.since.is_passed
    }

    /// What the check was about, if it is one.
    fn kind(&self) -> Option<CheckKind> {
        match &self.about {
            About::Check(check, _) => Some(check.kind),
            About::Unrun(_) | About::Program(..) => None,
        }
    }

    fn is_of(&self, name: &str) -> bool {
        matches!(&self.about, About::Program(other, _) if other == name)
    }

    /// Whether it is one of this kind and name that could not be run.
    fn is_unrun(&self, check: &Check) -> bool {
        matches!(&self.about, About::Unrun(other) if other.kind == check.kind && other.name == check.name)
    }

    /// Whether it is still open when a turn ends.
    fn outlives(&self, turn: usize) -> bool {
        match &self.about {
            About::Check(..) => true,
            About::Unrun(_) => self.since.turn == turn && !self.since.is_followed,
            About::Program(_, attempt) => {
                let is_last = self.since.turn == turn && !attempt.is_probe && !self.since.is_followed;
                attempt.acts || is_last
            }
        }
    }

    fn is_past(&self, turn: usize, calls: usize) -> bool {
        let is_old = turn >= self.since.turn + TURNS || calls >= self.since.call + CALLS;
        self.is_check() && is_old && self.since.is_passed
    }
}

impl Named {
    /// Whether all that has failed was named: as many as are counted, or as are printed where none are counted.
    fn is_all_told(&self, check: &Check) -> bool {
        self.total > 0
            && self.total <= ENTRIES
            && self
                .count
                .map_or(check.decides || self.is_uncut, |count| self.total as u64 >= count)
    }
}

/// Whether Git says that two have changed the same.
fn tells_of_conflict(result: &ToolResult) -> bool {
    const SIGNS: &[&str] = &[
        "CONFLICT (",
        "could not apply ",
        "after resolving the conflicts",
        "fix conflicts",
        "unmerged files",
    ];
    let mut texts = result.texts().map(|text| &text.body).chain(&result.error);
    texts.any(|text| SIGNS.iter().any(|sign| text.as_str().contains(sign)))
}

/// Whether what has passed the output on had fewer lines to show than it would have shown.
fn is_uncut(check: &Check, result: &ToolResult) -> bool {
    let shown: usize = result.texts().map(|text| text.body.as_str().lines().count()).sum();
    check.shows.is_some_and(|most| shown < most)
}

/// Whether a check that failed shows all the same that what failed before is over: it has run that, too, has gone on to its
/// end, and lists what failed, which the other did not name.
fn passes_within(check: &Check, named: &Named, failed: &Check, before: &Named) -> bool {
    let lists_all = match named.count {
        Some(count) => named.total as u64 >= count,
        None => check.name.starts_with("go test") && check.decides,
    };
    let is_told = !named.entries.is_empty() && lists_all && !named.is_stopped && !check.stops;
    if failed.kind != check.kind || check.kind == CheckKind::Build || !is_told || !check.covers(failed) {
        return false;
    }
    let is_meant = |word: &String| named.entries.iter().any(|entry| failed.means(word, entry));
    let is_named = before.entries.iter().any(|entry| named.lists(entry));
    // Of what has no name, nobody knows whether it is in the list.
    let has_name = !before.entries.is_empty() || !failed.scope.words.is_empty();
    has_name && !is_named && !failed.scope.words.iter().any(is_meant)
}

/// Whether a path that was changed is one that a failure names, each as seen from somewhere.
fn is_one(changed: &Path, named: &str) -> bool {
    let named = Path::of(named);
    // Where the folder lies that it was named in, nobody says.
    let (changed, named) = (changed.as_str(), named.as_str().trim_start_matches("../"));
    changed == named || is_within_end(changed, named) || is_within_end(named, changed) || is_in_folder(named, changed)
}

#[cfg(test)]
mod tests;
