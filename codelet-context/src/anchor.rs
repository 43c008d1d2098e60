//! Anchors: the turns and steps that finished something.
//!
//! A change is finished where the next test run succeeds. That is often a turn of its own ("now run the tests"), so the
//! changes of turns in which nothing was tested after them wait for the next test run, and the turn that holds it is the
//! anchor, however much was said, read or built in between. A test run that fails ends the wait: what passes after it owes
//! that to newer changes.

use crate::answer::{is_done, was_refused};
use crate::exchange::Exchanges;
use crate::ledger::{Before, Ran};
use crate::message::{ActionKind, Message, Part, Role, ToolCall, ToolResult};
use crate::testrun::{Check, CheckKind};
use crate::tokens::{self, Tokens};
use crate::turn::Turn;
use crate::verdict::{self, Verdict};
use std::ops::Range;
use std::sync::Arc;

/// Below this confidence nothing is an anchor.
pub const LEAST_CONFIDENCE: f64 = 0.9;

/// A turn that weighs more than this is too long to be kept whole, so its steps are looked at: a fifth of the windows
/// that are usual, which is more than a compaction leaves for a single turn.
pub const LONG_TURN: Tokens = 40_000;

/// Files that a description names; the others are counted.
const NAMED: usize = 4;
/// Characters of a name, or of a prompt, that a description shows.
const SHOWN: usize = 60;

/// What an anchor finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AnchorKind {
    /// Something had failed, files were changed, and then the tests passed.
    ErrorResolution,
    /// Files were changed and then the tests passed.
    TaskCompletion,
    /// The user pinned it.
    UserCheckpoint,
}

impl AnchorKind {
    /// The kind's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            AnchorKind::ErrorResolution => "error resolution",
            AnchorKind::TaskCompletion => "task completion",
            AnchorKind::UserCheckpoint => "user checkpoint",
        }
    }

    /// How sure an anchor of this kind is, 0 to 1.
    pub fn confidence(self) -> f64 {
        match self {
            AnchorKind::ErrorResolution => 0.95,
            AnchorKind::TaskCompletion => 0.92,
            AnchorKind::UserCheckpoint => 1.0,
        }
    }

    /// How much an anchor of this kind matters, 0 to 1.
    pub fn weight(self) -> f64 {
        match self {
            AnchorKind::ErrorResolution => 0.9,
            AnchorKind::TaskCompletion => 0.8,
            AnchorKind::UserCheckpoint => 0.7,
        }
    }
}

/// A turn, or inside a long turn a step, that finished something.
#[derive(Clone, PartialEq, Debug)]
pub struct Anchor {
    /// What it finished.
    pub kind: AnchorKind,
    /// Which turn, counted from 0.
    pub turn: usize,
    /// The messages of the turn or step.
    pub range: Range<usize>,
    /// How sure this is, 0 to 1; below 0.9 nothing is an anchor.
    pub confidence: f64,
    /// How much it matters, 0 to 1.
    pub weight: f64,
    /// One line that names the files.
    pub description: String,
}

/// The anchors of a conversation, in its order.
///
/// A turn is an anchor if files were changed in it and the last test run after that succeeded. In a turn that weighs more
/// than `long` ([`LONG_TURN`] where nothing else is known), each step is one whose test run succeeded after a change.
/// It resolved an error if, before the change, the step or turn before had ended in a failure. `pins` are the indices of
/// messages that the user pinned; the turn that holds one, or the step of a long turn, is a checkpoint.
pub fn find(messages: &[Arc<Message>], turns: &[Turn], pins: &[usize], long: Tokens) -> Vec<Anchor> {
    let mut outcomes = Outcomes::new();
    for message in messages {
        outcomes.append(message);
    }
    outcomes.find(messages, turns, pins, long)
}

impl Settled {
    /// Nothing is read yet.
    fn new(long: Tokens) -> Self {
        Settled {
            long,
            ..Settled::default()
        }
    }
}

/// What the calls of a conversation came to, as far as anchors need it. Commands and outputs are read once, when their
/// message is appended; finding anchors then costs little.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes {
    exchanges: Exchanges,
    before: Before,
    /// With the index of the message that holds the result.
    events: Vec<(usize, Event)>,
    /// What the messages up to each one weigh together.
    weights: Vec<Tokens>,
    /// Where each step begins, and whether the message taken in last is of a reply.
    steps: Vec<usize>,
    is_reply: bool,
    /// What is found of turns and steps that will not change any more.
    settled: Settled,
}

/// How far a conversation is read for anchors.
#[derive(Clone, Debug, Default)]
struct Settled {
    /// What a turn weighs that is long.
    long: Tokens,
    /// The turns that are read.
    turns: Vec<Turn>,
    /// Of a long turn behind them that is read in part: where it begins, and up to where.
    under_way: Option<Range<usize>>,
    search: Search,
    anchors: Vec<Anchor>,
}

/// What a call came to.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Event {
    /// Files were changed, these if they are named.
    Changed(Vec<Arc<str>>),
    /// A test run succeeded.
    TestsPassed,
    /// Another check succeeded.
    BuildPassed,
    /// A check failed.
    CheckFailed { is_test: bool, failure: Failure },
    /// Something else succeeded or failed.
    Other { success: bool },
}

impl Outcomes {
    /// Nothing appended yet.
    pub fn new() -> Self {
        Outcomes::default()
    }

    /// Takes the next message of the conversation.
    pub fn append(&mut self, message: &Arc<Message>) {
        let mut exchanges = std::mem::take(&mut self.exchanges);
        exchanges.next(message, |call, result| {
            let ran = Ran::of(call, result, &mut self.before);
            self.take(call, result, ran.as_ref());
        });
        self.exchanges = exchanges;
        self.end_message(message);
    }

    /// Takes a call with its answer in the message that is being read, and what was run if it ran a command.
    pub(crate) fn take(&mut self, call: &ToolCall, result: &ToolResult, ran: Option<&Ran>) {
        let index = self.weights.len();
        let events = weigh(call, result, ran).into_iter().flatten();
        self.events.extend(events.map(|event| (index, event)));
    }

    /// The message that was being read is at its end.
    pub(crate) fn end_message(&mut self, message: &Message) {
        let before = self.weights.last().copied().unwrap_or_default();
        let was_reply = std::mem::replace(&mut self.is_reply, message.role == Role::Assistant);
        if self.is_reply && !was_reply {
            self.steps.push(self.weights.len());
        }
        self.weights.push(before + tokens::estimate_message(message));
    }

    /// The turns are these now. Reads those that have come to their end, and the finished steps of one that is long.
    pub fn settle(&mut self, turns: &[Turn], long: Tokens) {
        let mut settled = std::mem::take(&mut self.settled);
        let last = settled.turns.len().checked_sub(1);
        let is_other = last.is_some_and(|last| turns.get(last) != settled.turns.last());
        if is_other || settled.long != long || !self.goes_on(&settled, turns) {
            settled = Settled::new(long);
        }
        self.read(&mut settled, &[], turns, &[], false);
        self.settled = settled;
    }

    /// Whether what was read in part is a long turn among these, as far as it was read.
    fn goes_on(&self, settled: &Settled, turns: &[Turn]) -> bool {
        let Some(under_way) = &settled.under_way else {
            return true;
        };
        let turn = turns.get(settled.turns.len()).map(|turn| self.within(turn));
        turn.is_some_and(|turn| {
            turn.start == under_way.start && turn.end >= under_way.end && self.weight(&turn) > settled.long
        })
    }

    /// The messages of a turn, of those that there are.
    fn within(&self, turn: &Turn) -> Range<usize> {
        turn.0.start.min(self.weights.len())..turn.0.end.min(self.weights.len())
    }

    fn weight(&self, range: &Range<usize>) -> Tokens {
        self.weight_before(range.end) - self.weight_before(range.start)
    }

    /// What the first messages weigh together.
    fn weight_before(&self, end: usize) -> Tokens {
        let last = end.min(self.weights.len()).checked_sub(1);
        last.map_or(0, |last| self.weights[last])
    }

    /// The anchors of the conversation that was appended, see [`find`].
    pub fn find(&self, messages: &[Arc<Message>], turns: &[Turn], pins: &[usize], long: Tokens) -> Vec<Anchor> {
        let is_known = pins.is_empty()
            && long == self.settled.long
            && turns.starts_with(&self.settled.turns)
            && self.goes_on(&self.settled, turns);
        let mut settled = match is_known {
            true => self.settled.clone(),
            false => Settled::new(long),
        };
        self.read(&mut settled, messages, turns, pins, true);
        let mut anchors = settled.anchors;
        anchors.retain(|anchor| anchor.confidence >= LEAST_CONFIDENCE);
        anchors
    }

    /// Reads on; to the end if nothing follows, else as far as nothing changes any more by what follows.
    fn read(&self, settled: &mut Settled, messages: &[Arc<Message>], turns: &[Turn], pins: &[usize], is_over: bool) {
        for number in settled.turns.len()..turns.len() {
            let range = self.within(&turns[number]);
            let is_long = self.weight(&range) > settled.long;
            let is_open = !is_over && number + 1 == turns.len();
            if is_open && !is_long {
                return;
            }
            let Settled {
                under_way,
                search,
                anchors,
                ..
            } = &mut *settled;
            let read = under_way.get_or_insert_with(|| {
                search.read_to(&self.events, range.start);
                search.begin_turn();
                range.start..range.start
            });
            while let Some(span) = self.span(&range, read.end, is_long) {
                if is_open && span.end == range.end {
                    return;
                }
                search.read_to(&self.events, span.end);
                if let Some((kind, description)) = search.finished() {
                    anchors.push(Anchor::new(kind, number, span.clone(), description));
                }
                read.end = span.end;
                if pins.iter().any(|pin| span.contains(pin)) {
                    let description = checkpoint(&messages[range.clone()]);
                    anchors.push(Anchor::new(AnchorKind::UserCheckpoint, number, span, description));
                }
            }
            settled.under_way = None;
            settled.turns.push(turns[number].clone());
        }
    }

    /// What is read at once of a turn, from this message of it on: all, or of a long one its prompt or the next step.
    fn span(&self, turn: &Range<usize>, from: usize, is_long: bool) -> Option<Range<usize>> {
        if from >= turn.end {
            return None;
        }
        let next = self.steps[self.steps.partition_point(|&step| step <= from)..].first();
        let end = next.filter(|_| is_long).map_or(turn.end, |&next| next.min(turn.end));
        Some(from..end)
    }
}

/// What a call came to: it may have changed files and checked something, too.
fn weigh(call: &ToolCall, result: &ToolResult, ran: Option<&Ran>) -> [Option<Event>; 2] {
    let action = &call.action;
    // What never ran has failed at nothing.
    if was_refused(result) {
        return [None, None];
    }
    let changed = || Some(Event::Changed(action.changed().to_vec()));
    let other = |success: Option<bool>, is_question: bool| match success {
        Some(false) if is_question => None,
        success => success.map(|success| Event::Other { success }),
    };
    if let Some((ran, (_, result))) = ran.and_then(|ran| Some((ran, ran.earlier()?))) {
        let event = match ran.last_check() {
            Some((check, verdict)) => judge(check, verdict, result),
            None => other(result.success, ran.line.is_question),
        };
        return [None, event];
    }
    match (action.kind, ran) {
        // A change that could not be made breaks nothing: everything is as it was.
        (ActionKind::Change, _) if is_done(action.kind, result) => [changed(), None],
        (ActionKind::Other, _) => [None, other(result.success, false)],
        (ActionKind::Command, Some(ran)) => {
            // A command that failed may have written all the same, but nothing says so.
            let has_changed = !action.changed().is_empty() && result.success != Some(false);
            let event = match ran.last_check() {
                Some((check, verdict)) => judge(check, verdict, result),
                None if ran.is_aside => None,
                None => other(ran.success(result), ran.line.is_question),
            };
            [changed().filter(|_| has_changed), event]
        }
        _ => [None, None],
    }
}

fn judge(check: &Check, verdict: Verdict, result: &ToolResult) -> Option<Event> {
    let is_test = check.kind == CheckKind::Test;
    match verdict {
        Verdict::Passed if is_test => Some(Event::TestsPassed),
        Verdict::Passed => Some(Event::BuildPassed),
        Verdict::Failed => {
            let is_build = !is_test || verdict::is_build_failure(result);
            let failure = if is_build { Failure::Build } else { Failure::Tests };
            Some(Event::CheckFailed { is_test, failure })
        }
        Verdict::Unknown => None,
    }
}

impl Anchor {
    fn new(kind: AnchorKind, turn: usize, range: Range<usize>, description: String) -> Self {
        Anchor {
            kind,
            turn,
            range,
            confidence: kind.confidence(),
            weight: kind.weight(),
            description,
        }
    }
}

/// What had failed before files were changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Failure {
    Build,
    Tests,
    /// Some other command or tool.
    Other,
}

/// What is known while a conversation is read.
#[derive(Clone, Debug, Default)]
struct Search {
    /// How many events were read.
    events: usize,
    /// How the last step or turn that says so has ended, unless well. A check is broken until one succeeds; any other
    /// failure is over with the next success.
    broken: Option<Failure>,
    /// Files changed in this turn since its last success.
    changed: Vec<Arc<str>>,
    /// What was broken when one of them was changed.
    repaired: Option<Failure>,
    /// A test run has come after the last change.
    is_tested: bool,
    /// What earlier turns have changed and not tested, and what was broken when they did.
    waiting: (Vec<Arc<str>>, Option<Failure>),
    /// The newest success that nothing has undone.
    success: Option<(AnchorKind, String)>,
}

impl Search {
    /// What was changed in the turn before is finished by now, or waits for the next test run.
    fn begin_turn(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        let repaired = self.repaired.take();
        if !changed.is_empty() && !self.is_tested {
            self.waiting = (changed, repaired);
        }
        self.is_tested = false;
        self.success = None;
    }

    fn read_to(&mut self, events: &[(usize, Event)], end: usize) {
        while let Some((index, event)) = events.get(self.events)
            && *index < end
        {
            self.read(event);
            self.events += 1;
        }
    }

    /// What the messages read since the last time have finished. The next success needs changes of its own.
    fn finished(&mut self) -> Option<(AnchorKind, String)> {
        let success = self.success.take()?;
        self.changed.clear();
        self.repaired = None;
        Some(success)
    }

    fn read(&mut self, event: &Event) {
        match event {
            Event::Changed(paths) => self.change(paths),
            Event::CheckFailed { is_test, failure } => {
                self.broken = Some(*failure);
                if *is_test {
                    self.success = None;
                    self.test();
                }
            }
            Event::TestsPassed => {
                self.broken = None;
                let (waiting, repaired) = self.test();
                if !self.changed.is_empty() {
                    self.success = Some(describe(self.repaired, &self.changed));
                } else if !waiting.is_empty() {
                    self.success = Some(describe(repaired, &waiting));
                }
            }
            Event::BuildPassed if self.broken == Some(Failure::Build) => self.broken = None,
            Event::Other { success: true } if self.broken == Some(Failure::Other) => self.broken = None,
            Event::Other { success: false } => self.broken = self.broken.or(Some(Failure::Other)),
            Event::BuildPassed | Event::Other { .. } => {}
        }
    }

    /// A test run ends the wait of what earlier turns have changed.
    fn test(&mut self) -> (Vec<Arc<str>>, Option<Failure>) {
        self.is_tested = true;
        std::mem::take(&mut self.waiting)
    }

    fn change(&mut self, paths: &[Arc<str>]) {
        self.is_tested = false;
        self.repaired = self.broken.or(self.repaired);
        for path in paths {
            if !self.changed.contains(path) && self.changed.len() < 1_000 {
                self.changed.push(path.clone());
            }
        }
        // Some changes name no file; they are changes all the same.
        if self.changed.is_empty() {
            self.changed.push(Arc::from(""));
        }
    }
}

/// What an anchor is and says: `Build error fixed in a.rs, b.rs and tests now pass`.
fn describe(repaired: Option<Failure>, changed: &[Arc<str>]) -> (AnchorKind, String) {
    let files = names(changed);
    let (kind, what) = match repaired {
        Some(Failure::Build) => (AnchorKind::ErrorResolution, "Build error fixed"),
        Some(Failure::Tests) => (AnchorKind::ErrorResolution, "Failing tests fixed"),
        Some(Failure::Other) => (AnchorKind::ErrorResolution, "Error fixed"),
        None => (AnchorKind::TaskCompletion, "Changes made"),
    };
    let files = if files.is_empty() {
        files
    } else {
        format!(" in {files}")
    };
    (kind, format!("{what}{files} and tests now pass"))
}

/// The names of files for a person: without folders, unless two names are alike; the first few, and how many more.
pub(crate) fn names(paths: &[Arc<str>]) -> String {
    let last = |path: &str, pieces: usize| {
        let at = path
            .rmatch_indices(['/', '\\'])
            .nth(pieces - 1)
            .map_or(0, |(at, _)| at + 1);
        path[at..].to_owned()
    };
    let named: Vec<&str> = paths
        .iter()
        .map(AsRef::as_ref)
        .filter(|path| !path.trim().is_empty())
        .collect();
    let shown: Vec<String> = named
        .iter()
        .take(NAMED)
        .map(|path| {
            // As many of its folders as tell it from the others.
            let most = path.split(['/', '\\']).count();
            let is_alone = |pieces: &usize| {
                let name = last(path, *pieces);
                named.iter().all(|other| other == path || last(other, *pieces) != name)
            };
            shorten_middle(&last(path, (1..most).find(is_alone).unwrap_or(most)))
        })
        .collect();
    let more = named.len() - shown.len();
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    shown.join(", ") + &rest
}

fn checkpoint(turn: &[Arc<Message>]) -> String {
    let own = turn
        .iter()
        .filter(|message| message.is_prompt())
        .flat_map(|message| &message.parts);
    let words = own.filter_map(|part| match part {
        Part::Text(text) if text.origin == crate::message::Origin::Own => {
            text.body.as_str().lines().map(str::trim).find(|l| !l.is_empty())
        }
        _ => None,
    });
    match words.map(shorten).next() {
        Some(words) => format!("Pinned: {words}"),
        None => "Pinned".to_owned(),
    }
}

/// A name between whose folders and whose end there may be too much.
fn shorten_middle(name: &str) -> String {
    let count = name.chars().count();
    if count <= SHOWN {
        return name.to_owned();
    }
    let head: String = name.chars().take(SHOWN / 2).collect();
    let tail: String = name.chars().skip(count - SHOWN / 2).collect();
    format!("{head}…{tail}")
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Action, Role};
    use crate::turn::turns;
    use proptest::prelude::*;
    use serde_json::Map;

    /// One line a message. `user: words` · `edit FILE…` · `run COMMAND => STATUS OUTPUT`, where STATUS is `ok`, `bad` or `?`.
    /// `edit!` could not be made.
    fn conversation(lines: &str) -> Vec<Arc<Message>> {
        let mut messages = Vec::new();
        for (number, line) in lines.lines().map(str::trim).enumerate() {
            let id = format!("c{number}");
            let (action, success, output) = if let Some(words) = line.strip_prefix("user: ") {
                messages.push(Arc::new(Message::user(words)));
                continue;
            } else if let Some(files) = line.strip_prefix("edit ") {
                (Action::on(ActionKind::Change, files.split(' ')), Some(true), "done")
            } else if let Some(files) = line.strip_prefix("edit! ") {
                (
                    Action::on(ActionKind::Change, files.split(' ')),
                    Some(false),
                    "not found",
                )
            } else if let Some((command, answer)) = line.strip_prefix("run ").and_then(|rest| rest.split_once(" => ")) {
                let (status, output) = answer.split_once(' ').unwrap_or((answer, ""));
                let success = match status {
                    "ok" => Some(true),
                    "bad" => Some(false),
                    _ => None,
                };
                (Action::command(command), success, output)
            } else {
                messages.push(Arc::new(Message::assistant(line)));
                continue;
            };
            let call = ToolCall::new(id.as_str(), "tool", Map::new()).doing(action);
            messages.push(Arc::new(Message::new(Role::Assistant, vec![Part::ToolCall(call)])));
            messages.push(Arc::new(Message::results(vec![ToolResult::new(
                id.as_str(),
                success,
                output,
            )])));
        }
        messages
    }

    fn check(lines: &str, expected: &[&str]) {
        check_with(lines, &[], LONG_TURN, expected);
    }

    fn check_with(lines: &str, pins: &[usize], long: Tokens, expected: &[&str]) {
        let messages = conversation(lines);
        let found = find(&messages, &turns(&messages), pins, long);
        let found: Vec<String> = found
            .iter()
            .map(|a| format!("{} {}: {}", a.turn, a.kind.name(), a.description))
            .collect();
        assert_eq!(found, expected, "{lines}");
    }

    #[test]
    fn a_change_and_a_passing_test_run_complete_a_task() {
        check(
            "user: add a flag
             edit src/a.rs src/b.rs
             run cargo test => ok
             user: thanks
             good",
            &["0 task completion: Changes made in a.rs, b.rs and tests now pass"],
        );
    }

    #[test]
    fn a_failure_before_the_change_makes_it_an_error_resolution() {
        let table = [
            ("run cargo build => bad", "Build error fixed in a.rs and tests now pass"),
            (
                "run cargo test => bad 1 failed",
                "Failing tests fixed in a.rs and tests now pass",
            ),
            (
                "run cargo test => bad error: could not compile `x`",
                "Build error fixed in a.rs and tests now pass",
            ),
            ("run ./deploy.sh => bad", "Error fixed in a.rs and tests now pass"),
        ];
        for (failure, expected) in table {
            let expected = format!("1 error resolution: {expected}");
            check(
                &format!("user: go\n{failure}\nuser: mend it\nedit x/a.rs\nrun cargo test => ok"),
                &[&expected],
            );
            let expected = expected.replacen('1', "0", 1);
            check(
                &format!("user: go\n{failure}\nedit x/a.rs\nrun cargo test => ok"),
                &[&expected],
            );
        }
    }

    #[test]
    fn a_failure_that_was_over_before_the_change_is_none() {
        for before in [
            "run cargo test => bad\nrun cargo test => ok",
            "run ./x => bad\nrun ./x => ok",
            "run grep a b => bad",
            "edit! a.rs",
        ] {
            check(
                &format!("user: go\n{before}\nedit a.rs\nrun cargo test => ok"),
                &["0 task completion: Changes made in a.rs and tests now pass"],
            );
        }
    }

    #[test]
    fn nothing_is_finished_without_a_change_or_without_a_success_after_it() {
        for turn in [
            "run cargo test => ok",
            "edit a.rs",
            "run cargo test => ok\nedit a.rs",
            "edit! a.rs\nrun cargo test => ok",
            "edit a.rs\nrun cargo test => bad",
            "edit a.rs\nrun cargo test => ok\nrun cargo test => bad",
            "edit a.rs\nrun cargo build => ok",
            "edit a.rs\nrun echo cargo test => ok all tests passed",
            "edit a.rs\nrun cargo test => ? the test password",
            "edit a.rs\nrun cargo test => ? 0 passed, no test",
            "edit a.rs\nrun cargo test | tail => ok test result: FAILED. 1 failed",
            "edit a.rs\nuser: test it\nrun cargo test => bad\nrun cargo test => ok",
            "edit a.rs\nrun cargo test => bad\nuser: again\nrun cargo test => ok",
            "edit a.rs\nuser: test it\nrun cargo build => ok",
        ] {
            check(&format!("user: go\n{turn}"), &[]);
        }
    }

    #[test]
    fn changes_wait_for_the_test_run_of_a_later_turn() {
        for between in [
            "",
            "user: well?\nit is done\n",
            "user: look\nrun ls => ok\nrun cargo build => ok\n",
        ] {
            let turn = 1 + between.matches("user:").count();
            let lines = format!(
                "user: go\nedit a.rs\n{between}user: test it\nrun cargo test => ok\nuser: again\nrun cargo test => ok"
            );
            let expected = format!("{turn} task completion: Changes made in a.rs and tests now pass");
            check(&lines, &[&expected]);
            check_with(&lines, &[], 0, &[&expected]);
            let resolved = format!("{turn} error resolution: Failing tests fixed in a.rs and tests now pass");
            check(&lines.replacen("edit", "run cargo test => bad\nedit", 1), &[&resolved]);
        }
        check(
            "user: go\nedit a.rs\nuser: more\nedit b.rs\nrun cargo test => ok",
            &["1 task completion: Changes made in b.rs and tests now pass"],
        );
    }

    #[test]
    fn where_no_status_is_recorded_the_output_decides() {
        check(
            "user: go
             edit a.rs
             run cargo test => ? test result: ok. 3 passed; 0 failed",
            &["0 task completion: Changes made in a.rs and tests now pass"],
        );
    }

    #[test]
    fn the_steps_of_a_long_turn_are_looked_at() {
        let lines = "user: build all of it
             edit a.rs
             run cargo test => ok
             thinking aloud
             edit b.rs
             run cargo test => bad 1 failed
             edit c.rs
             run cargo test => ok
             run cargo test => ok";
        check_with(
            lines,
            &[],
            10,
            &[
                "0 task completion: Changes made in a.rs and tests now pass",
                "0 error resolution: Failing tests fixed in b.rs, c.rs and tests now pass",
            ],
        );
        let messages = conversation(lines);
        let anchors = find(&messages, &turns(&messages), &[], 10);
        assert_eq!(anchors[0].range, 3..5, "the step whose test run succeeded");
        check(
            lines,
            &["0 error resolution: Failing tests fixed in a.rs, b.rs, c.rs and tests now pass"],
        );
    }

    #[test]
    fn a_pin_is_a_checkpoint() {
        let lines = "user: first\nok\nuser: second thing\nok\nrun ls => ok";
        check_with(lines, &[3], LONG_TURN, &["1 user checkpoint: Pinned: second thing"]);
        check_with(lines, &[5, 99], 1, &["1 user checkpoint: Pinned: second thing"]);
    }

    #[test]
    fn a_description_names_few_files_and_counts_the_rest() {
        let many: Vec<Arc<str>> = ["a/x.rs", "b/x.rs", "c.rs", "d.rs", "e.rs", "f.rs", ""]
            .map(Arc::from)
            .to_vec();
        assert_eq!(names(&many), "a/x.rs, b/x.rs, c.rs, d.rs and 2 more");
        let alike = ["x/scripts/run.sh", "y/scripts/run.sh", "run.sh"].map(Arc::from);
        assert_eq!(names(&alike), "x/scripts/run.sh, y/scripts/run.sh, run.sh");
        assert_eq!(names(&[Arc::from("é".repeat(500).as_str())]).chars().count(), SHOWN + 1);
        assert_eq!(describe(None, &[Arc::from("")]).1, "Changes made and tests now pass");
    }

    proptest! {
        #[test]
        fn anchors_are_sure_and_lie_in_their_turn(lines in proptest::collection::vec(0usize..8, 0..40), long in 0u64..100) {
            const LINES: [&str; 8] = [
                "user: go", "edit a.rs", "edit! b.rs", "run cargo test => ok", "run cargo test => bad", "run make => bad",
                "run pytest => ? 1 test passed", "well",
            ];
            let text: Vec<_> = lines.iter().map(|line| LINES[*line]).collect();
            let messages = conversation(&text.join("\n"));
            let turns = turns(&messages);
            let found = find(&messages, &turns, &[3, 7], long);
            for anchor in &found {
                prop_assert!(anchor.confidence >= LEAST_CONFIDENCE && anchor.weight <= 1.0);
                let turn = &turns[anchor.turn].0;
                prop_assert!(turn.start <= anchor.range.start && anchor.range.end <= turn.end);
            }
            prop_assert!(found.is_sorted_by_key(|anchor| anchor.range.start));
            prop_assert_eq!(find(&messages, &turns, &[3, 7], long), found);
        }
    }
}
