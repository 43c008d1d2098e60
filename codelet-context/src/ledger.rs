//! Facts and outcomes of a conversation, from reading every call with its answer once.

use crate::anchor::{Anchor, Outcomes};
use crate::answer::was_refused;
use crate::authored::Authored;
use crate::commits::{Change, Commits};
use crate::deed::Deed;
use crate::effects::scripted::Target;
use crate::exchange::Exchanges;
use crate::message::{ActionKind, Message, ToolCall, ToolResult};
use crate::outcome::{Facts, Gatherer};
use crate::running::{Later, Running};
use crate::testrun::{Aside, Behind, Check, CheckKind, Line, Rewritten, Scripts, Stash};
use crate::tokens::Tokens;
use crate::turn::Turn;
use crate::verdict::{self, Verdict};
use std::ops::Range;
use std::sync::Arc;

/// What a conversation has come to, message by message: feeds a [`Gatherer`] and [`Outcomes`] at half the cost of
/// feeding each, because command lines and outputs are read once for both.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    exchanges: Exchanges,
    before: Before,
    gatherer: Gatherer,
    outcomes: Outcomes,
    /// What was done, with the message that told of it.
    deeds: Vec<(usize, Deed)>,
    commits: Commits,
    /// For each commit that was told of, where it stands among the deeds.
    committed: Vec<usize>,
    messages: usize,
}

impl Ledger {
    /// Nothing appended yet.
    pub fn new() -> Self {
        Ledger::default()
    }

    /// Takes the next message of the conversation.
    pub fn append(&mut self, message: &Arc<Message>) {
        let Ledger {
            exchanges,
            before,
            gatherer,
            outcomes,
            deeds,
            commits,
            committed,
            messages,
        } = self;
        let mut take = |call: &ToolCall, result: &ToolResult, before: &mut Before, at: usize, deeds: &mut Vec<_>| {
            let ran = Ran::of(call, result, before);
            gatherer.take(call, result, ran.as_ref());
            outcomes.take(call, result, ran.as_ref());
            let changes = gatherer.changes();
            let fails = |kind| gatherer.fails(kind);
            deeds.extend(Deed::of(call, result, ran.as_ref(), changes, fails).map(|deed| (at, deed)));
        };
        for (call, result) in before.next(message) {
            take(&call, &result, before, messages.saturating_sub(1), deeds);
        }
        exchanges.next(message, |call, result| {
            take(call, result, before, *messages, deeds);
            let line = call.action.command.as_ref();
            let steps = line.map_or(&[][..], |line| line.commits());
            if steps.is_empty() || was_refused(result) {
                return;
            }
            for change in commits.take(steps, result) {
                match change {
                    Change::Made(words) => {
                        committed.push(deeds.len());
                        deeds.push((*messages, Deed::Committed { words, stands: true }));
                    }
                    Change::Undone(number) => {
                        if let (_, Deed::Committed { stands, .. }) = &mut deeds[committed[number]] {
                            *stands = false;
                        }
                    }
                    Change::WentTo(name) => deeds.push((*messages, Deed::WentTo(name))),
                    Change::Rewrote(behind) => deeds.push((*messages, Deed::Rewrote(behind))),
                }
            }
        });
        gatherer.end_message(message);
        outcomes.end_message(message);
        *messages += 1;
    }

    /// The facts so far.
    pub fn facts(&self) -> Facts {
        self.gatherer.facts()
    }

    /// The anchors so far, see [`crate::anchor::find`]; `messages` are those that were appended.
    pub fn anchors(&self, messages: &[Arc<Message>], turns: &[Turn], pins: &[usize], long: Tokens) -> Vec<Anchor> {
        self.outcomes.find(messages, turns, pins, long)
    }

    /// The turns of what was appended are these now. Reads those that are over, so that who asks for anchors which take more
    /// than `long` for a long turn need not.
    pub(crate) fn settle(&mut self, turns: &[Turn], long: Tokens) {
        self.outcomes.settle(turns, long);
    }

    /// What was done by these messages, oldest first, each with the message that told of it.
    pub(crate) fn deeds(&self, range: &Range<usize>) -> &[(usize, Deed)] {
        let before = |end: usize| self.deeds.partition_point(|(at, _)| *at < end);
        &self.deeds[before(range.start)..before(range.end)]
    }
}

impl FromIterator<Arc<Message>> for Ledger {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let mut ledger = Ledger::new();
        for message in messages {
            ledger.append(&message);
        }
        ledger
    }
}

/// What earlier calls mean for later ones: the scripts that they have written, the commands that they have started, and whether
/// the work is put aside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before {
    scripts: Scripts,
    running: Running,
    aside: Aside,
    authored: Authored,
}

impl Before {
    /// Another message comes. Gives calls of earlier ones that are to be taken once more, since it is known by now that they
    /// count.
    pub fn next(&mut self, message: &Message) -> Vec<(ToolCall, ToolResult)> {
        match message.is_prompt() {
            true => self.aside.stay(),
            false => Vec::new(),
        }
    }
}

/// A command that was run: what its line says, and what came of the checks in it.
pub(crate) struct Ran {
    pub line: Arc<Line>,
    /// One for each check of the line.
    pub verdicts: Vec<Verdict>,
    /// What it checked was not the work, which was put aside.
    pub is_aside: bool,
    /// A check of the line that was to be run, and could not be.
    pub unrun: Option<Check>,
    /// It runs on, and nothing is known of it yet.
    runs_on: bool,
    /// The status of the line says so.
    has_failed: bool,
    /// The command was started by an earlier call, and this answer tells what came of it.
    later: Option<Later>,
    /// The files that scripts have written which it ran.
    pub written: Vec<Target>,
    /// What it has changed besides what its line names.
    pub rewritten: Vec<Rewritten>,
    /// The kinds of checks of which the newest ran before it changed files, or went to another state of them.
    pub outdated: Vec<CheckKind>,
    /// The work is put aside behind it.
    pub is_away: bool,
}

impl Ran {
    /// `None` for a call that runs no command and tells of none. Notes what it says of those behind it.
    pub fn of(call: &ToolCall, result: &ToolResult, before: &mut Before) -> Option<Ran> {
        let Before {
            scripts,
            running,
            aside,
            authored,
        } = before;
        scripts.note(call);
        authored.note(call);
        let later = running.ended(call, result);
        let is_command = call.action.kind == ActionKind::Command;
        let own = call.action.command.as_ref().filter(|_| is_command);
        let own = own.map(|line| line.said().clone()).unwrap_or_default();
        // What was started ran on the work as it was then.
        let away = aside.take(call, result, is_command.then_some(&own));
        if !is_command && later.is_none() {
            return None;
        }
        let written = match &call.action.command {
            Some(line) if later.is_none() => authored.written(line, result),
            _ => Vec::new(),
        };
        let runs_on = later.is_none() && running.starts(call, result);
        let command = later.as_ref().map(|later| &later.line).or(call.action.command.as_ref());
        let result = later.as_ref().map_or(result, |later| &later.result);
        let said = later.as_ref().map_or(own, |later| later.line.said().clone());
        let is_idle = |check: &Check| scripts.is_idle(check) && !verdict::closes_as_tests_do(result);
        let unrun = command
            .filter(|_| !runs_on)
            .and_then(|line| verdict::unrun(line, &said.checks, result));
        let is_dropped = |at: usize| {
            let check = &said.checks[at];
            away.contains(&at) || is_idle(check) || unrun.as_ref() == Some(check)
        };
        let line = match (0..said.checks.len()).any(is_dropped) {
            true => Arc::new(said.without(is_dropped)),
            false => said.clone(),
        };
        let mut verdicts: Vec<Verdict> = Vec::with_capacity(line.checks.len());
        for (at, check) in line.checks.iter().enumerate() {
            // Of checks that are judged alike, one is judged: reading the output is what costs.
            let way = |check: &Check| {
                let status = (check.decides, check.is_asked, check.is_optional, check.is_picked);
                (check.kind, status, check.is_left, check.is_seen)
            };
            let is_alike = |other: &Check| way(other) == way(check);
            let known = line.checks[..at].iter().position(is_alike).map(|other| verdicts[other]);
            verdicts.push(match known {
                _ if runs_on => Verdict::Unknown,
                Some(known) => known,
                None => verdict::of(check, result),
            });
        }
        let unbegun = verdict::settle(&line, &mut verdicts, result);
        let line = match unbegun[..] {
            [] => line,
            _ => Arc::new(line.without(|at| unbegun.contains(&at))),
        };
        let mut at = 0..verdicts.len();
        verdicts.retain(|_| at.next().is_none_or(|at| !unbegun.contains(&at)));
        let has_failed = result.success == Some(false);
        let success = result.success.filter(|_| !runs_on);
        let mut rewritten: Vec<(usize, Rewritten)> = Vec::new();
        let is_back = later.is_none() && aside.is_fetched();
        for (before, rewrite) in said.rewrites.iter().filter(|_| !runs_on) {
            // All is as it was before it was put aside.
            if is_back && rewrite.is_unstash() {
                continue;
            }
            // The only check of the line is what has failed, and it mends what it can.
            let is_left = rewrite.fails_with_what_is_left()
                && said.checks.len() == 1
                && verdicts.first() == Some(&Verdict::Failed);
            let success = success.filter(|_| !is_left);
            rewritten.extend(rewrite.came_of(result, success).map(|rewritten| (*before, rewritten)));
        }
        let moved = if runs_on || later.is_some() {
            None
        } else {
            aside.moved()
        };
        let sure = rewritten.iter().filter(|(_, rewritten)| rewritten.is_sure());
        let ends = sure.map(|(before, _)| *before).chain(moved).max();
        let is_newer = |kind: CheckKind, end: usize| {
            let mut behind = said.checks.iter().enumerate().skip(end);
            !behind.any(|(at, check)| check.kind == kind && !is_dropped(at))
        };
        let kinds = [CheckKind::Test, CheckKind::Build, CheckKind::Lint].into_iter();
        let outdated = ends.map_or_else(Vec::new, |end| kinds.filter(|kind| is_newer(*kind, end)).collect());
        let mut ran = Ran {
            line,
            verdicts,
            is_aside: !away.is_empty(),
            unrun,
            runs_on,
            has_failed,
            later,
            written: if runs_on { Vec::new() } else { written },
            rewritten: rewritten.into_iter().map(|(_, rewritten)| rewritten).collect(),
            outdated,
            is_away: aside.is_away(),
        };
        if ran.is_comparison() {
            ran.outdated.clear();
        }
        Some(ran)
    }

    /// Whether the work was put aside for it and is there again.
    pub fn is_comparison(&self) -> bool {
        let stashes = &self.line.stashes;
        let is_there = matches!(stashes[..], [(_, Stash::Away(_)), .., (_, Stash::Back(_))]);
        self.is_aside && is_there
    }

    /// The check that tells what came of the whole line: the last one, or in a line that failed what has failed.
    pub fn last_check(&self) -> Option<(&Check, Verdict)> {
        let last = self.line.last_check()?;
        let failed = self.verdicts.iter().rposition(|verdict| *verdict == Verdict::Failed);
        // Where the line has not failed, the output of the last one may look like a failure of others.
        let is_other = self.has_failed && self.verdicts[last] != Verdict::Failed;
        let at = failed.filter(|_| is_other).unwrap_or(last);
        Some((&self.line.checks[at], self.verdicts[at]))
    }

    /// Whether the line has failed at a command that is none of its checks.
    pub fn fails_elsewhere(&self) -> bool {
        self.has_failed && !self.verdicts.contains(&Verdict::Failed) && self.goes_on_behind_checks()
    }

    /// Whether another command of the line may fail behind one of its checks.
    pub fn goes_on_behind_checks(&self) -> bool {
        let is_behind = |check: &Check| matches!(check.behind, Behind::Others | Behind::Apart);
        self.line.checks.iter().any(is_behind)
    }

    /// The command that an earlier call has started, with its answer, where this one tells what came of it.
    pub fn earlier(&self) -> Option<&Later> {
        self.later.as_ref()
    }

    /// Whether the command has succeeded, as far as `result` tells, which is the answer to the call.
    pub fn success(&self, result: &ToolResult) -> Option<bool> {
        match &self.later {
            Some(later) => later.result.success,
            None => result.success.filter(|_| !self.runs_on),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Action, Part, Role};
    use crate::{anchor, turn};
    use proptest::prelude::*;
    use serde_json::Map;

    proptest! {
        #[test]
        fn one_reading_says_the_same_as_two(steps in proptest::collection::vec((0usize..8, any::<Option<bool>>(), 0usize..4), 0..40)) {
            const LINES: [&str; 8] =
                ["cargo test", "make && cargo test", "cargo test a | tail", "ls", "./x", "cargo build; pytest; go vet", "", "edit"];
            const OUTPUTS: [&str; 4] = ["", "2 failed tests passed\nerror: é", "test result: ok. 3 passed; 0 failed", "fatal: no"];
            let mut messages = vec![Arc::new(Message::user("go"))];
            for (number, (line, success, output)) in steps.into_iter().enumerate() {
                let action = match LINES[line] {
                    "" => { messages.push(Arc::new(Message::user("on"))); continue }
                    "edit" => Action::on(ActionKind::Change, ["a.rs"]),
                    line => Action::command(line),
                };
                let call = ToolCall::new(number.to_string(), "t", Map::new()).doing(action);
                messages.push(Arc::new(Message::new(Role::Assistant, vec![Part::ToolCall(call)])));
                messages.push(Arc::new(Message::results(vec![ToolResult::new(number.to_string(), success, OUTPUTS[output])])));
            }
            let mut ledger = Ledger::new();
            let mut asked = Vec::new();
            for (at, message) in messages.iter().enumerate() {
                ledger.append(message);
                let turns = turn::turns(&messages[..=at]);
                ledger.settle(&turns, 40);
                asked.push((ledger.anchors(&messages[..=at], &turns, &[], 40), anchor::find(&messages[..=at], &turns, &[], 40)));
            }
            for (settled, anew) in asked {
                prop_assert_eq!(settled, anew);
            }
            prop_assert_eq!(ledger.facts(), Facts::gather(&messages));
            let turns = turn::turns(&messages);
            // Each prompt by itself, as where a conversation was compacted before.
            let apart = messages.iter().enumerate().filter(|(_, message)| message.is_prompt()).map(|(at, _)| at);
            let starts: Vec<usize> = apart.chain([messages.len()]).collect();
            let apart: Vec<Turn> = starts.windows(2).map(|two| Turn(two[0]..two[1])).collect();
            prop_assert_eq!(ledger.anchors(&messages, &apart, &[], 40), anchor::find(&messages, &apart, &[], 40));
            for long in [0, 40] {
                prop_assert_eq!(ledger.anchors(&messages, &turns, &[3], long), anchor::find(&messages, &turns, &[3], long));
            }
        }
    }
}
