//! What the summaries of earlier compactions have told, in a conversation that was compacted before: its outcomes and
//! decisions stand nowhere else any more.
//!
//! The lines are taken over as lines, each in its place, and what is open as early as what is open now. An error goes only
//! where the same has failed or succeeded since. The list of what is to be done is among the facts, since calls go on with
//! it. Nothing is told of a summary itself.

use super::context::add_lines;
use super::page::{Page, Topic};
use super::place::{self, placed_again};
use crate::answer::{has_done, was_refused};
use crate::attempt::Attempt;
use crate::exchange::Exchanges;
use crate::labels;
use crate::ledger::{Before, Ran};
use crate::message::{Message, Origin, Part, ToolCall, ToolResult};
use crate::outcome::Facts;
use crate::testrun::{Check, CheckKind, Line, echoed};
use crate::verdict::Verdict;
use std::borrow::Cow;
use std::sync::Arc;

/// A line of a summary and those that belong under it.
type Lines<'a> = Vec<&'a str>;

/// Where earlier lines of a topic stand: behind the newer ones.
const BEHIND: usize = usize::MAX / 2;

#[derive(Default)]
pub(super) struct Earlier<'a> {
    /// What the goal was, and the newest prompt, as quoted there.
    pub(super) goal: Option<&'a str>,
    pub(super) latest: Option<&'a str>,
    /// The first message behind the newest summary.
    pub(super) since: usize,
    pins: Vec<&'a str>,
    status: Vec<String>,
    /// The checks that the newest summary says have passed.
    passed: Vec<CheckKind>,
    /// The checks that it says how they stand, and that have not run since.
    settled: Vec<CheckKind>,
    checks: Vec<Failed<'a>>,
    commands: Vec<Failed<'a>>,
    /// What failed long ago.
    past: Vec<Failed<'a>>,
    decisions: Vec<&'a str>,
    outcomes: Vec<Lines<'a>>,
}

/// A command that failed.
struct Failed<'a> {
    lines: Lines<'a>,
    /// What its command line says.
    said: Line,
}

impl<'a> Failed<'a> {
    fn of(line: &'a str) -> Self {
        Failed {
            lines: vec![line],
            said: Line::read(&command(line)),
        }
    }

    /// Its command line.
    fn command(&self) -> Cow<'a, str> {
        command(self.lines[0])
    }

    /// Whether the success of a check shows that it is over.
    fn is_over(&self, check: &Check) -> bool {
        let said = &self.said;
        said.last_check().is_some_and(|at| check.covers(&said.checks[at]))
    }

    /// Whether another command line is about the same: the same checks, or else the same program.
    fn is_same(&self, other: &Line) -> bool {
        match (self.said.checks.last(), other.checks.last()) {
            (None, None) => self.said.program == other.program,
            (Some(one), Some(another)) => one.is_same(another),
            _ => false,
        }
    }
}

impl<'a> Earlier<'a> {
    /// What the summaries in these messages tell and nothing newer is known of.
    pub(super) fn of(messages: &'a [Arc<Message>], summarising: &[usize], facts: &Facts) -> Self {
        let mut earlier = Earlier::default();
        for &at in summarising {
            for part in &messages[at].parts {
                if let Part::Text(text) = part
                    && text.origin == Origin::Summary
                {
                    earlier.read(text.body.as_str());
                    earlier.since = at + 1;
                }
            }
        }
        if earlier.since > 0 {
            earlier.forget(&messages[earlier.since..], facts);
        }
        earlier
    }

    fn read(&mut self, summary: &'a str) {
        // A newer summary knows how things stand; what was decided and done it may have had no room for.
        *self = Earlier {
            goal: self.goal,
            latest: self.latest,
            pins: std::mem::take(&mut self.pins),
            decisions: std::mem::take(&mut self.decisions),
            outcomes: std::mem::take(&mut self.outcomes),
            ..Earlier::default()
        };
        let mut in_outcomes = false;
        // Another harness may mean something else by a goal.
        let is_own = summary.starts_with(labels::SUMMARY);
        // Where the lines go that belong under the one before.
        let mut is_check = None;
        for line in summary.lines() {
            match line {
                labels::OUTCOMES => in_outcomes = true,
                _ if line.starts_with(labels::QUOTED) || line.starts_with('[') => return,
                _ if line.starts_with("  ") => {
                    let last = match (in_outcomes, is_check) {
                        (true, _) => self.outcomes.last_mut(),
                        (_, Some(true)) => self.checks.last_mut().map(|failed| &mut failed.lines),
                        (_, Some(false)) => self.commands.last_mut().map(|failed| &mut failed.lines),
                        _ => None,
                    };
                    if let Some(lines) = last {
                        lines.push(line);
                    }
                }
                _ if !in_outcomes && is_own && words_of(line, labels::GOAL).is_some() => {
                    // The newest prompt is told with it, unless there is only one.
                    (self.goal, self.latest) = (words_of(line, labels::GOAL), None);
                }
                _ if !in_outcomes && is_own && words_of(line, labels::LATEST).is_some() => {
                    self.latest = words_of(line, labels::LATEST);
                }
                _ if in_outcomes && line.starts_with(labels::ITEM) => self.outcomes.push(vec![line]),
                _ => is_check = self.read_context(line),
            }
        }
    }

    /// Says whether it was the line of a check that failed, or of another command.
    fn read_context(&mut self, line: &'a str) -> Option<bool> {
        let note = |lines: &mut Vec<&'a str>| {
            if !lines.contains(&line) {
                lines.push(line);
            }
        };
        let is_rerun = line.starts_with(labels::RERUN);
        if is_rerun || line.starts_with(labels::FAILING) || line.starts_with(labels::FAILED) {
            let failed = Failed::of(line);
            let is_other = line.starts_with(labels::FAILED) || is_rerun && failed.said.checks.is_empty();
            if is_other {
                self.commands.push(failed);
            } else {
                self.checks.push(failed);
            }
            return Some(!is_other);
        } else if line.starts_with(labels::PAST) {
            if !self.past.iter().any(|failed| failed.lines[0] == line) {
                self.past.push(Failed::of(line));
            }
        } else if line.starts_with(labels::PINNED) {
            note(&mut self.pins);
        } else if [labels::DECIDED, labels::ASKED, labels::REFUSED]
            .iter()
            .any(|label| line.starts_with(label))
        {
            note(&mut self.decisions);
        } else if !names(line).is_empty() {
            if line
                .split_once(": ")
                .is_some_and(|(_, said)| said.starts_with(labels::PASSED))
            {
                let is_named =
                    |kind: &CheckKind| names(line).iter().any(|name| name.eq_ignore_ascii_case(name_of(*kind)));
                self.passed.extend(KINDS.into_iter().filter(is_named));
            }
            self.status.push(line.to_owned());
        }
        None
    }

    /// Takes out what newer messages and facts say anew.
    fn forget(&mut self, newer: &[Arc<Message>], facts: &Facts) {
        let (mut is_stale, mut is_away, mut exchanges, mut before) =
            (false, false, Exchanges::default(), Before::default());
        let mut rerun: Vec<CheckKind> = Vec::new();
        let mut take = |call: &ToolCall, result: &ToolResult, before: &mut Before| {
            is_stale |= !call.action.changed().is_empty() && has_done(&call.action, result);
            let Some(ran) = Ran::of(call, result, before).filter(|_| !was_refused(result)) else {
                return;
            };
            is_stale |= !ran.outdated.is_empty();
            is_away = ran.is_away;
            for (check, verdict) in ran.line.checks.iter().zip(&ran.verdicts) {
                rerun.push(check.kind);
                match verdict {
                    Verdict::Passed => {
                        let shown = || echoed(check, result);
                        let is_open = !self.checks.is_empty() || !self.past.is_empty();
                        let shown = is_open.then(shown).unwrap_or_default();
                        for check in shown.iter().chain([check]) {
                            self.checks.retain(|failed| !failed.is_over(check));
                            self.past.retain(|failed| !failed.is_over(check));
                        }
                    }
                    Verdict::Unknown => self.mark_rerun(|failed| failed.is_over(check)),
                    Verdict::Failed => {}
                }
            }
            let is_it = |failed: &Failed| failed.said.program == ran.line.program;
            match ran.success(result) {
                Some(true) => {
                    self.commands.retain(|failed| !is_it(failed));
                    self.past.retain(|failed| !is_it(failed));
                }
                None if ran.line.checks.is_empty() => self.mark_rerun(is_it),
                _ => {}
            }
        };
        for message in newer {
            for (call, result) in before.next(message) {
                take(&call, &result, &mut before);
            }
            exchanges.next(message, |call, result| take(call, result, &mut before));
        }
        // Other commands are often given up, at the latest with the turn, but somebody will want done what was to change
        // something outside of the files that are worked on, however long ago that was.
        if newer.iter().any(|message| message.is_prompt()) {
            self.commands.retain(|failed| Attempt::read(&failed.command()).acts);
        }
        for error in &facts.errors {
            let said = Line::read(&error.command);
            let is_other = |failed: &Failed| !failed.is_same(&said);
            self.checks.retain(is_other);
            self.commands.retain(is_other);
            self.past.retain(is_other);
        }
        // What has come of a run that the summary knew of, it has seen whole: of some, only parts stand here still.
        self.settled = self.told_clearly().filter(|kind| !rerun.contains(kind)).collect();
        let known = KINDS.into_iter().zip([&facts.tests, &facts.build, &facts.lint]);
        let known = known.filter(|(kind, fact)| fact.is_some() && !self.settled.contains(kind));
        let known: Vec<&str> = known.map(|(kind, _)| name_of(kind)).collect();
        let is_known = |name: &str| known.iter().any(|known| known.eq_ignore_ascii_case(name));
        let status = std::mem::take(&mut self.status);
        self.status = status
            .into_iter()
            .filter_map(|line| newest_status(&line, is_known, is_stale || is_away))
            .collect();
    }

    /// The checks that the newest summary says how they stand.
    fn told_clearly(&self) -> impl Iterator<Item = CheckKind> {
        let is_told = |kind: &CheckKind| {
            let of_kind = |line: &String| names(line).iter().any(|name| name.eq_ignore_ascii_case(name_of(*kind)));
            self.status.iter().any(|line| of_kind(line) && !is_unclear(line))
        };
        KINDS.into_iter().filter(is_told)
    }

    /// The facts without the checks that the newest summary knows best.
    pub(super) fn unsettled<'f>(&self, facts: &'f Facts) -> Cow<'f, Facts> {
        if self.settled.is_empty() {
            return Cow::Borrowed(facts);
        }
        let mut facts = facts.clone();
        for kind in &self.settled {
            match kind {
                CheckKind::Test => facts.tests = None,
                CheckKind::Build => facts.build = None,
                CheckKind::Lint => facts.lint = None,
            }
        }
        Cow::Owned(facts)
    }

    /// Notes that what failed ran again since, and nothing says what came of it.
    fn mark_rerun(&mut self, is_it: impl Fn(&Failed) -> bool) {
        for failed in self.checks.iter_mut().chain(&mut self.commands) {
            if is_it(failed) {
                let line = &mut failed.lines[0];
                let bare = line
                    .strip_prefix(labels::FAILING)
                    .or_else(|| line.strip_prefix(labels::FAILED));
                *line = bare.unwrap_or(line);
            }
        }
    }

    /// Whether no summary tells of any turn.
    pub(super) fn has_no_outcomes(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// The lines on the newest turn that begins with one of these quotations. Each is given once, as prompts may be alike.
    pub(super) fn take(&mut self, abouts: &[String]) -> Option<Lines<'a>> {
        let is_about = |lines: &Lines| {
            let said = lines[0].strip_prefix(labels::ITEM).unwrap_or_default();
            let rest = abouts.iter().find_map(|about| said.strip_prefix(about.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ']))
        };
        let at = self.outcomes.iter().rposition(is_about)?;
        Some(self.outcomes.remove(at))
    }

    /// What the user pinned, as long as it leaves half of the room to others.
    pub(super) fn add_pins(&self, page: &mut Page) {
        for (number, line) in self.pins.iter().enumerate() {
            let is_told = page.lines.values().any(|other| other == line);
            if !is_told && line.len() < page.room / 2 {
                page.add((Topic::Pin, BEHIND + number, 0), (*line).to_owned());
            }
        }
    }

    /// Whether a check of this kind failed that nothing newer is known of.
    pub(super) fn fails(&self, kind: CheckKind) -> bool {
        // Whoever told of both knew that what failed was no such check, or has passed since.
        !self.passed.contains(&kind)
            && self.checks.iter().any(|failed| {
                let said = &failed.said;
                let is_open = failed.lines[0].starts_with(labels::FAILING);
                is_open && said.last_check().is_some_and(|at| said.checks[at].kind == kind)
            })
    }

    /// How the checks stood: those that came to something, or else the others, which say little.
    pub(super) fn add_status(&self, page: &mut Page, is_clear: bool) {
        let lines = self.status.iter().enumerate();
        for (number, line) in lines.filter(|(_, line)| is_unclear(line) != is_clear) {
            let (place, said) = ((Topic::Status, BEHIND + number, 0), &line[..end_of_verdict(line)]);
            let _ = page.add(place, line.clone()) || page.add(place, said.to_owned());
        }
    }

    /// Errors that were open, the newest first as they stand, at most so many with so many lines: checks, or else other
    /// commands.
    pub(super) fn add_errors(&self, page: &mut Page, checks: bool, most: usize, lines: usize, width: usize) {
        let (head, errors) = if checks {
            (labels::FAILING, &self.checks)
        } else {
            (labels::FAILED, &self.commands)
        };
        for (number, error) in errors.iter().enumerate().take(most) {
            let (topic, number) = (if checks { Topic::Error } else { Topic::Failed }, BEHIND + number);
            let head = if error.lines[0].starts_with(head) {
                head
            } else {
                labels::RERUN
            };
            let command = placed_again(told(error.lines[0]), width);
            if page.add((topic, number, 0), format!("{head}{command}")) {
                let said = error.lines[1..]
                    .iter()
                    .map(|line| line.strip_prefix(labels::UNDER).unwrap_or(line));
                add_lines(page, (topic, number), &said.collect::<Vec<_>>(), lines, width);
            }
        }
    }

    /// What failed long ago.
    pub(super) fn add_past(&self, page: &mut Page) {
        for (number, failed) in self.past.iter().enumerate() {
            page.add((Topic::Past, BEHIND + number, 0), failed.lines[0].to_owned());
        }
    }

    /// What the user decided, the newest first.
    pub(super) fn add_decisions(&self, page: &mut Page) {
        for (number, line) in self.decisions.iter().enumerate().rev() {
            if !page.lines.values().any(|other| other == line) {
                page.add((Topic::Decision, BEHIND + number, 0), (*line).to_owned());
            }
        }
    }
}

/// The kinds of checks, in the order of their names.
const KINDS: [CheckKind; 3] = [CheckKind::Test, CheckKind::Build, CheckKind::Lint];

/// How a kind of checks is called in a summary.
fn name_of(kind: CheckKind) -> &'static str {
    let [tests, build, lint] = labels::CHECKS;
    match kind {
        CheckKind::Test => tests,
        CheckKind::Build => build,
        CheckKind::Lint => lint,
    }
}

/// The words that a line quotes behind its label.
fn words_of<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let words = line.strip_prefix(label)?.strip_prefix('"')?.strip_suffix('"')?;
    (!words.is_empty()).then_some(words)
}

/// The command line of an error, in the folder that is told beside it.
fn command(line: &str) -> Cow<'_, str> {
    match told(line) {
        (words, Some(folder)) => Cow::Owned(format!("cd \"{folder}\" && {words}")),
        (words, None) => Cow::Borrowed(words),
    }
}

/// The command of an error and the folder beside it; of one that ran again since, the line that tells of it may be all of it.
fn told(line: &str) -> (&str, Option<&str>) {
    let heads = [labels::FAILING, labels::FAILED, labels::RERUN, labels::PAST];
    let bare = heads.iter().find_map(|head| line.strip_prefix(head));
    place::read(bare.unwrap_or(line).trim())
}

/// Whether a line on checks tells that nobody knows what came of them.
fn is_unclear(line: &str) -> bool {
    line.split_once(": ")
        .is_some_and(|(_, said)| said.starts_with(labels::UNCLEAR))
}

/// Where a line on checks goes on with the command.
fn end_of_verdict(line: &str) -> usize {
    let begins = |which: &str| line.find(&format!(" ({which}`"));
    let begun = ["", labels::WHICH_PASSED, labels::WHICH_UNCLEAR]
        .into_iter()
        .filter_map(begins);
    begun.min().unwrap_or(line.len())
}

/// The checks that a line such as `Tests, build: passed` is about.
fn names(line: &str) -> Vec<String> {
    let names = line.split_once(": ").map_or("", |(names, _)| names).split(", ");
    let names: Vec<String> = names.map(str::to_lowercase).collect();
    let is_check = |name: &String| labels::CHECKS.iter().any(|check| check.eq_ignore_ascii_case(name));
    if names.iter().all(is_check) { names } else { Vec::new() }
}

/// The line of a status for the checks that nothing newer is known of.
fn newest_status(line: &str, is_known: impl Fn(&str) -> bool, is_stale: bool) -> Option<String> {
    let mut left = names(line);
    left.retain(|name| !is_known(name));
    let mut names = left.join(", ");
    names.get_mut(..1)?.make_ascii_uppercase();
    let (_, said) = line.split_once(": ")?;
    let at = end_of_verdict(said);
    let stale = if is_stale && !said[..at].ends_with(labels::STALE) {
        labels::STALE
    } else {
        ""
    };
    Some(format!("{names}: {}{stale}{}", &said[..at], &said[at..]))
}

#[cfg(test)]
mod tests;
