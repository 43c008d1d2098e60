//! What has come of a conversation so far, as facts that its calls and results state: files, checks, errors, todo, decisions.

use crate::answer::has_done;
use crate::command::{CommandLine, Folders};
use crate::commits::has_made;
use crate::effects::sweep::is_scratch;
use crate::effects::{self, Effect};
use crate::exchange::Exchanges;
use crate::failing::{Passing, shorten};
use crate::files::Files;
use crate::ledger::{Before, Ran};
use crate::message::{Action, ActionKind, Message, Origin, Part, ToolCall, ToolResult};
use crate::pattern::is_pattern;
use crate::refusal;
use crate::testrun::{Check, CheckKind, Rewritten, echoed};
use crate::todo::TodoList;
use crate::undoable::Undoable;
use errors::Errors;
use kept::Kept;
use left::Spot;
use mentioned::Mentioned;
use removed::Removed;
use std::collections::HashMap;
use std::sync::Arc;

mod decisions;
mod errors;
mod kept;
mod left;
mod mentioned;
mod removed;
mod touched;

pub use crate::answer::was_refused;
pub use crate::verdict::{Verdict, denies_success};
pub use decisions::Decision;
pub use errors::OpenError;
pub(crate) use touched::FileChange;
pub use touched::{FileFact, FileState};

/// Bytes of a command that are kept.
const COMMAND: usize = 400;

/// What has come of a conversation so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// Files that were read or changed, by when they were last touched, newest last.
    pub files: Vec<FileFact>,
    /// The last test run.
    pub tests: Option<CheckFact>,
    /// The last build.
    pub build: Option<CheckFact>,
    /// The last lint.
    pub lint: Option<CheckFact>,
    /// What failed and was not seen to succeed since, newest last.
    pub errors: Vec<OpenError>,
    /// The list of what is to be done.
    pub todo: TodoList,
    /// What the user decided when asked, and the calls that the user refused, newest last.
    pub decisions: Vec<Decision>,
    /// The folders that commands are run in as a rule.
    pub(crate) folders: Vec<String>,
}

impl Facts {
    /// The facts of a conversation, in one pass.
    pub fn gather(messages: &[Arc<Message>]) -> Facts {
        let mut gatherer = Gatherer::new();
        for message in messages {
            gatherer.append(message);
        }
        gatherer.facts()
    }
}

impl Facts {
    /// The last check of this kind.
    fn check(&mut self, kind: CheckKind) -> &mut Option<CheckFact> {
        match kind {
            CheckKind::Test => &mut self.tests,
            CheckKind::Build => &mut self.build,
            CheckKind::Lint => &mut self.lint,
        }
    }

    /// Files were changed since the last check of this kind.
    fn outdate(&mut self, kind: CheckKind) {
        if let Some(check) = self.check(kind) {
            check.is_stale = true;
        }
    }
}

/// What came of the last check of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckFact {
    /// The command line, shortened if it is long.
    pub command: String,
    /// What came of it.
    pub verdict: Verdict,
    /// Files were changed since.
    pub is_stale: bool,
}

/// Gathers facts message by message: each costs as much as is new in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gatherer {
    exchanges: Exchanges,
    before: Before,
    files: Files,
    /// By file: what was done to it, and when it was last touched.
    touched: HashMap<u64, (FileFact, u64)>,
    touches: u64,
    /// What has become of files by the call that was taken last.
    changes: Vec<FileChange>,
    kept: Kept,
    /// By file: how it was before each change that a tool may take back.
    undoable: Undoable<Option<FileState>>,
    /// Names in the command lines so far.
    mentioned: Mentioned,
    errors: Errors,
    facts: Facts,
    /// The folders of all commands.
    folders: Folders,
    /// The work is put aside: the files are not those that were checked.
    is_away: bool,
}

impl Gatherer {
    /// Nothing gathered yet.
    pub fn new() -> Self {
        Gatherer::default()
    }

    /// Takes the next message of the conversation.
    pub fn append(&mut self, message: &Arc<Message>) {
        let mut exchanges = std::mem::take(&mut self.exchanges);
        for (call, result) in self.before.next(message) {
            let ran = Ran::of(&call, &result, &mut self.before);
            self.take(&call, &result, ran.as_ref());
        }
        exchanges.next(message, |call, result| {
            let ran = Ran::of(call, result, &mut self.before);
            self.take(call, result, ran.as_ref())
        });
        self.exchanges = exchanges;
        self.end_message(message);
    }

    /// The calls and results of this message were taken.
    pub(crate) fn end_message(&mut self, message: &Message) {
        for part in &message.parts {
            if let Part::Text(text) = part
                && text.origin == Origin::Summary
                && let Some(list) = TodoList::told_in(text.body.as_str())
            {
                self.facts.todo = list;
            }
        }
        self.errors.end_message(message);
    }

    /// The facts so far.
    pub fn facts(&self) -> Facts {
        let mut files: Vec<_> = self.touched.values().collect();
        files.sort_unstable_by_key(|(_, touch)| *touch);
        let mut facts = Facts {
            files: files.into_iter().map(|(file, _)| file.clone()).collect(),
            errors: self.errors.now(),
            folders: self.folders.usual(),
            ..self.facts.clone()
        };
        if self.is_away {
            for kind in [CheckKind::Test, CheckKind::Build, CheckKind::Lint] {
                facts.outdate(kind);
            }
        }
        facts
    }

    /// What has become of files by the call that was taken last.
    pub(crate) fn changes(&mut self) -> Vec<FileChange> {
        std::mem::take(&mut self.changes)
    }

    /// Whether a check of this kind fails, as far as it is known by now.
    pub(crate) fn fails(&self, kind: CheckKind) -> bool {
        self.errors.fails(kind)
    }

    /// Takes a call with its answer, and what was run if it ran a command.
    pub(crate) fn take(&mut self, call: &ToolCall, result: &ToolResult, ran: Option<&Ran>) {
        let action = &call.action;
        self.errors.count_call();
        self.changes.clear();
        if !was_refused(result) {
            self.errors.hear(call, result);
        }
        if action.kind == ActionKind::Ask && Decision::is_answer(&call.parameters, result) {
            self.decided(Decision::of_answer(call, result));
        } else {
            self.decided(refusal::words(result).map(|words| Decision::of_refusal(call, words)));
        }
        if let Some((ran, later)) = ran.and_then(|ran| Some((ran, ran.earlier()?))) {
            self.errors.turn_to(&later.session);
            self.came_of(&later.line, &later.result, ran);
        }
        match action.kind {
            ActionKind::Read if has_done(action, result) => {
                for path in &action.paths {
                    self.touch(path, FileState::Read);
                }
            }
            ActionKind::Change if has_done(action, result) => self.change(call, result),
            // What never ran has failed at nothing, and a look at what an earlier one has printed is taken as its answer.
            ActionKind::Command if !was_refused(result) => {
                if let Some(ran) = ran.filter(|ran| ran.earlier().is_none()) {
                    self.command(action, result, ran);
                    self.mentioned.note(action, result);
                }
            }
            ActionKind::Todo if has_done(action, result) => self.facts.todo.take(&call.parameters),
            _ => {}
        }
        if let Some(ran) = ran.filter(|_| !was_refused(result)) {
            self.is_away = ran.is_away;
            ran.outdated.iter().for_each(|kind| self.facts.outdate(*kind));
        } else if action.kind == ActionKind::Change && has_done(action, result) {
            // Whoever changes something there works there.
            self.is_away = false;
        }
    }

    fn decided(&mut self, decisions: impl IntoIterator<Item = Decision>) {
        for decision in decisions {
            decision.note_in(&mut self.facts.decisions);
        }
    }

    fn outdate_checks(&mut self) {
        for kind in [CheckKind::Test, CheckKind::Build, CheckKind::Lint] {
            self.facts.outdate(kind);
        }
    }

    fn command(&mut self, action: &Action, result: &ToolResult, ran: &Ran) {
        if !ran.is_comparison() {
            self.change_unnamed(ran);
        }
        if result.success != Some(false) {
            let Facts { tests, build, lint, .. } = &self.facts;
            let before = ran
                .is_comparison()
                .then(|| (tests.clone(), build.clone(), lint.clone()));
            self.change_by_command(action, result);
            self.change_by_scripts(ran);
            // All is as it was.
            if let Some((tests, build, lint)) = before {
                (self.facts.tests, self.facts.build, self.facts.lint) = (tests, build, lint);
            }
        }
        if let Some(line) = &action.command {
            self.folders.note(line.told());
            // Whoever looks at a file knows that there is one.
            let has_shown = result.success != Some(false);
            if let Some(path) = line.look().filter(|path| has_shown && !path.is_empty()) {
                self.files.file(path);
            }
            self.change_before_failure(line, action, result, ran);
            let has_made = has_made(line.commits(), result) == Some(true);
            if has_made {
                self.errors.commit();
            }
            // What was committed before something else failed is committed.
            if result.success == Some(false) && has_made {
                for effect in line
                    .effects()
                    .iter()
                    .filter(|effect| matches!(effect, Effect::Commit(_)))
                {
                    self.apply(effect, result);
                }
            }
            let removed = (result.success != Some(true)).then(|| Removed::of(line.as_str(), result));
            if let Some(removed) = removed.flatten() {
                self.change_by_removal(line, result, &removed);
                if removed.is_all {
                    return self.other_command(line, Some(true), result, ran);
                }
            }
            self.came_of(line, result, ran);
            // A check that failed was run where its line had gone to.
            if result.success != Some(false) || !ran.verdicts.is_empty() {
                self.errors.went(line);
            }
        }
    }

    /// Takes what a line has done to files before it came to what has failed.
    fn change_before_failure(&mut self, line: &CommandLine, action: &Action, result: &ToolResult, ran: &Ran) {
        if ran.is_comparison() {
            return;
        }
        for effect in effects::done(line, result) {
            match &effect {
                Effect::Write(path, FileState::Edited) if self.is_made_by(path, action) => {
                    self.touch(path, FileState::Created);
                }
                effect => self.apply(effect, result),
            }
        }
    }

    /// Takes what `rm` has taken away, though it complains of something.
    fn change_by_removal(&mut self, line: &CommandLine, result: &ToolResult, removed: &Removed) {
        for effect in line.effects() {
            if let Effect::Remove(path) = effect
                && !removed.kept.contains(path)
            {
                self.apply(effect, result);
            }
        }
    }

    /// Takes what came of a command and its checks.
    fn came_of(&mut self, line: &CommandLine, result: &ToolResult, ran: &Ran) {
        for (check, verdict) in ran.line.checks.iter().zip(&ran.verdicts) {
            let spot = self.errors.spot(check, line);
            let check = &*spot.placed(check);
            let fact = CheckFact {
                command: shorten(&spot.told(line.told()), COMMAND),
                verdict: *verdict,
                is_stale: false,
            };
            *self.facts.check(check.kind) = Some(fact);
            match verdict {
                Verdict::Passed => self.pass(check, &spot, result),
                Verdict::Unknown => self.errors.run(check, &spot),
                Verdict::Failed => {}
            }
        }
        match (ran.last_check(), &ran.unrun) {
            (Some((check, Verdict::Failed)), _) => self.errors.fail(line, check, result),
            (Some(_), None) if ran.fails_elsewhere() => self.other_command(line, Some(false), result, ran),
            (Some(_), None) if ran.goes_on_behind_checks() && ran.success(result) == Some(true) => {
                self.other_command(line, Some(true), result, ran);
            }
            (Some(_), None) => {}
            _ if ran.is_aside => {}
            (_, Some(check)) => self.errors.fail_to_run(line, check, result),
            (None, None) => self.other_command(line, ran.success(result), result, ran),
        }
    }

    /// Takes a check that succeeded, with what its output shows to have been checked.
    fn pass(&mut self, check: &Check, spot: &Spot, result: &ToolResult) {
        self.errors.pass(check, spot);
        // Most of the time nothing is open that this could be over.
        if !self.errors.has_checks() {
            return;
        }
        let shown = echoed(check, result);
        for check in &shown {
            self.errors.pass(check, spot);
        }
        if check.kind == CheckKind::Test {
            let is_chosen = |check: &Check| check.kind == CheckKind::Test && !check.scope.filters.is_empty();
            let is_chosen = is_chosen(check) || shown.iter().any(is_chosen);
            let run: Vec<&Check> = std::iter::once(check).chain(&shown).collect();
            self.errors.show(&Passing::of(result, is_chosen), &run);
        }
    }

    /// Takes what a command that has not failed does to files.
    fn change_by_command(&mut self, action: &Action, result: &ToolResult) {
        let effects = action.command.as_ref().map_or(&[][..], CommandLine::effects);
        let is_seen = |path: &str| {
            effects
                .iter()
                .any(|effect| matches!(effect, Effect::Write(seen, _) if seen == path))
        };
        for path in action.changed().iter().filter(|path| !is_seen(path)) {
            self.touch(path, FileState::Edited);
        }
        let is_in_doubt = result.success.is_none() && complains(result);
        let has_made = action
            .command
            .as_ref()
            .and_then(|line| has_made(line.commits(), result));
        for effect in effects {
            let is_done = match effect {
                Effect::Write(..) => true,
                Effect::Commit(_) => has_made != Some(false),
                _ => !is_in_doubt,
            };
            match effect {
                Effect::Write(path, FileState::Edited) if self.is_made_by(path, action) => {
                    self.touch(path, FileState::Created);
                }
                _ if is_done => self.apply(effect, result),
                _ => {}
            }
        }
    }

    /// Takes what scripts have written. Files that nobody has seen and that the script does not read are what it brings out,
    /// and none that it changes.
    fn change_by_scripts(&mut self, ran: &Ran) {
        for target in &ran.written {
            if is_pattern(&target.path) {
                self.change_matching(&target.path, target.state);
                if target.is_read && !is_scratch(&target.path) {
                    self.outdate_checks();
                }
            } else if target.is_read || self.files.meant(&target.path).is_some() {
                self.touch(&target.path, target.state);
            }
        }
    }

    /// Takes the files that a line says it has changed without naming them. What others have changed is no work of here.
    fn change_unnamed(&mut self, ran: &Ran) {
        for path in ran.rewritten.iter().filter(|own| own.is_own).flat_map(|own| &own.paths) {
            self.touch(path, FileState::Edited);
        }
        for (pattern, state) in ran.rewritten.iter().flat_map(Rewritten::told) {
            self.change_matching(pattern, state);
        }
    }

    fn other_command(&mut self, line: &CommandLine, success: Option<bool>, result: &ToolResult, ran: &Ran) {
        let Some(name) = &ran.line.program else { return };
        match success {
            Some(false) if !ran.line.is_question => self.errors.fail_command(line, name, result),
            Some(false) => {}
            success => self.errors.run_command(line, name, success),
        }
    }
}

/// Whether a program says that it could not do what it was asked to. No table of signs tells that, for what was printed may be
/// of anything: it is how those begin their lines that change files, and the shells that run them.
fn complains(result: &ToolResult) -> bool {
    const COMPLAINTS: [&str; 7] = ["fatal: ", "error: ", "rm: ", "mv: ", "cp: ", "bash: ", "sh: "];
    let begins = |line: &str| COMPLAINTS.iter().any(|complaint| line.starts_with(complaint));
    result.texts().any(|text| text.body.as_str().lines().any(begins))
}

#[cfg(test)]
mod tests;
