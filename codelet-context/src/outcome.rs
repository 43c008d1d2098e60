//! What has come of a conversation so far, as facts that its calls and results state: files, checks, errors, todo, decisions.

use crate::answer::{self, is_done, was_refused};
use crate::command::CommandLine;
use crate::cut;
use crate::effects::{self, Effect};
use crate::exchange::Exchanges;
use crate::failing::shorten;
use crate::files::Files;
use crate::ledger::Ran;
use crate::message::{Action, ActionKind, Message, Parameters, ToolCall, ToolResult};
use crate::refusal;
use crate::shell;
use crate::testrun::{CheckKind, Line, Scripts, WHOLE};
use crate::todo::TodoList;
use errors::{About, Errors, Since};
use kept::Kept;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

mod attempt;
mod errors;
mod kept;

pub use crate::verdict::Verdict;

/// Bytes of a command that are kept.
const COMMAND: usize = 400;
/// Decisions that are kept, and bytes of a question or an answer.
const DECISIONS: usize = 20;
const ANSWER: usize = 600;

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

/// A file, as it was left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFact {
    /// The path, as the first call names it.
    pub path: Arc<str>,
    /// What was done to it.
    pub state: FileState,
}

/// What has become of a file by a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileChange {
    /// The path, as the first call names it.
    pub path: Arc<str>,
    /// How it was, if that is known.
    pub before: Option<FileState>,
    /// How it is now.
    pub after: FileState,
    /// The call has written it, and not only put it back or away.
    pub is_written: bool,
}

/// What was done to a file. A file that was changed and read again is still changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum FileState {
    /// Read only.
    Read,
    /// Changed.
    Edited,
    /// New.
    Created,
    /// Removed.
    Deleted,
}

impl FileState {
    /// The state of a file to which this is done next.
    pub(crate) fn then(self, next: FileState) -> FileState {
        match (self, next) {
            (before, FileState::Read) => before,
            // What was created here and edited then is still new.
            (FileState::Created, FileState::Edited) => FileState::Created,
            (_, next) => next,
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
    is_over: bool,
    about: About,
    since: Since,
}

impl OpenError {
    /// Whether it is a check that failed, which somebody will want to succeed; other commands are often given up.
    pub fn is_check(&self) -> bool {
        matches!(self.about, About::Check(..))
    }
}

/// What the user decided when asked, or of a call that was to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What was asked, the plan that was laid before the user, or the call.
    pub question: String,
    /// What the user answered; may be empty where a call was refused.
    pub answer: String,
    /// The user has not let the call be made.
    pub is_refusal: bool,
}

/// Gathers facts message by message: each costs as much as is new in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gatherer {
    exchanges: Exchanges,
    scripts: Scripts,
    files: Files,
    /// By file: what was done to it, and when it was last touched.
    touched: HashMap<u64, (FileFact, u64)>,
    touches: u64,
    /// What has become of files by the call that was taken last.
    changes: Vec<FileChange>,
    kept: Kept,
    errors: Errors,
    facts: Facts,
}

impl Gatherer {
    /// Nothing gathered yet.
    pub fn new() -> Self {
        Gatherer::default()
    }

    /// Takes the next message of the conversation.
    pub fn append(&mut self, message: &Arc<Message>) {
        let mut exchanges = std::mem::take(&mut self.exchanges);
        exchanges.next(message, |call, result| {
            let ran = Ran::of(call, result, &mut self.scripts);
            self.take(call, result, ran.as_ref())
        });
        self.exchanges = exchanges;
        self.end_message(message);
    }

    /// The calls and results of this message were taken.
    pub(crate) fn end_message(&mut self, message: &Message) {
        self.errors.end_message(message);
    }

    /// The facts so far.
    pub fn facts(&self) -> Facts {
        let mut files: Vec<_> = self.touched.values().collect();
        files.sort_unstable_by_key(|(_, touch)| *touch);
        Facts {
            files: files.into_iter().map(|(file, _)| file.clone()).collect(),
            errors: self.errors.now(),
            ..self.facts.clone()
        }
    }

    /// What has become of files by the call that was taken last.
    pub(crate) fn changes(&mut self) -> Vec<FileChange> {
        std::mem::take(&mut self.changes)
    }

    /// Takes a call with its answer, and what was run if it ran a command.
    pub(crate) fn take(&mut self, call: &ToolCall, result: &ToolResult, ran: Option<&Ran>) {
        let action = &call.action;
        self.errors.count_call();
        self.changes.clear();
        if let Some(words) = refusal::words(result) {
            self.note_decision(&described(call), &words, true);
        }
        match action.kind {
            ActionKind::Read if is_done(action.kind, result) => {
                for path in &action.paths {
                    self.touch(path, FileState::Read);
                }
            }
            ActionKind::Change if is_done(action.kind, result) => {
                let patched = patched(&call.parameters);
                for path in action.changed() {
                    let state = patched.get(path.as_ref()).copied();
                    let state = state.unwrap_or_else(|| self.written(path, call));
                    self.touch(path, state);
                }
            }
            // What never ran has failed at nothing.
            ActionKind::Command if !was_refused(result) => {
                if let Some(ran) = ran {
                    self.command(action, result, ran);
                }
            }
            ActionKind::Todo if is_done(action.kind, result) => self.facts.todo.take(&call.parameters),
            ActionKind::Ask if result.success != Some(false) && !was_refused(result) => {
                self.decide(&call.parameters, result)
            }
            _ => {}
        }
    }

    fn touch(&mut self, path: &str, state: FileState) {
        let known = self.files.file(path);
        self.touched.entry(known).or_insert_with(|| {
            let path = Arc::from(path);
            (FileFact { path, state }, 0)
        });
        self.touch_file(known, state);
    }

    fn touch_file(&mut self, known: u64, state: FileState) {
        self.touches += 1;
        if state != FileState::Read {
            self.outdate_checks();
        }
        if let Some((file, touch)) = self.touched.get_mut(&known) {
            let before = (*touch > 0).then_some(file.state);
            file.state = file.state.then(state);
            *touch = self.touches;
            if state != FileState::Read {
                self.errors.change(&file.path);
                self.changes.push(FileChange {
                    path: file.path.clone(),
                    before,
                    after: file.state,
                    is_written: state != FileState::Deleted,
                });
            }
        }
    }

    fn outdate_checks(&mut self) {
        let Facts { tests, build, lint, .. } = &mut self.facts;
        for check in [tests, build, lint].into_iter().flatten() {
            check.is_stale = true;
        }
    }

    fn written(&self, path: &Arc<str>, call: &ToolCall) -> FileState {
        let is_whole = WHOLE.iter().any(|name| call.parameters.as_map().contains_key(*name));
        let known = self.files.find(path).and_then(|file| self.touched.get(&file));
        let is_unseen = known.is_none_or(|(file, _)| file.state == FileState::Deleted);
        // The whole of a file that nobody has read: agents read before they overwrite.
        if is_whole && call.action.replaced.is_empty() && is_unseen {
            FileState::Created
        } else {
            FileState::Edited
        }
    }

    fn command(&mut self, action: &Action, result: &ToolResult, ran: &Ran) {
        let line = action.command.as_deref().unwrap_or_default();
        let said = what_ran(line);
        if result.success != Some(false) {
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
            for effect in effects {
                if !is_in_doubt || matches!(effect, Effect::Write(..)) {
                    self.apply(effect, result);
                }
            }
        }
        for (check, verdict) in ran.line.checks.iter().zip(&ran.verdicts) {
            // Of a chain that failed, nobody knows which part did; the last one is blamed.
            let fact = CheckFact {
                command: shorten(&said, COMMAND),
                verdict: *verdict,
                is_stale: false,
            };
            *match check.kind {
                CheckKind::Test => &mut self.facts.tests,
                CheckKind::Build => &mut self.facts.build,
                CheckKind::Lint => &mut self.facts.lint,
            } = Some(fact);
            match verdict {
                Verdict::Passed => self.errors.pass(check),
                Verdict::Unknown => self.errors.run(check),
                Verdict::Failed => {}
            }
        }
        match ran.last_check() {
            Some((check, Verdict::Failed)) => {
                self.errors.fail(&said, check, result);
            }
            Some(_) => {}
            None => self.other_command(&said, result, &ran.line),
        }
    }

    fn other_command(&mut self, line: &str, result: &ToolResult, said: &Line) {
        let Some(name) = &said.program else { return };
        match result.success {
            Some(false) if !said.is_question => self.errors.fail_command(line, name, result),
            Some(false) => {}
            success => self.errors.run_command(line, name, success),
        }
    }

    /// A question to the user with its answer, or a plan that the user approved.
    fn decide(&mut self, parameters: &Parameters, result: &ToolResult) {
        let map = parameters.as_map();
        let questions = match (map.get("questions"), map.get("question"), map.get("plan")) {
            (Some(Value::Array(questions)), ..) => {
                let texts = questions
                    .iter()
                    .filter_map(|question| question.get("question")?.as_str());
                texts.take(DECISIONS).collect::<Vec<_>>().join(" / ")
            }
            (_, Some(Value::String(text)), _) | (.., Some(Value::String(text))) => text.clone(),
            // Under another name it is the longest of the sentences.
            _ => {
                let sentences = texts(map).filter(|text| text.trim().contains(' '));
                sentences.max_by_key(|text| text.len()).unwrap_or_default().to_owned()
            }
        };
        let answer = result
            .texts()
            .map(|text| text.body.as_str())
            .find(|text| !text.trim().is_empty());
        let (false, Some(answer)) = (questions.trim().is_empty(), answer) else {
            return;
        };
        let object = answer::object(answer);
        let only = object.as_ref().and_then(|object| {
            let mut said = texts(object);
            said.next().filter(|_| said.next().is_none())
        });
        let answer = only.unwrap_or(answer);
        self.note_decision(&questions, answer, false);
    }

    fn note_decision(&mut self, question: &str, answer: &str, is_refusal: bool) {
        let decisions = &mut self.facts.decisions;
        if decisions.len() == DECISIONS {
            // A no without a word says least.
            let wordless = decisions.iter().position(|decision| decision.answer.is_empty());
            decisions.remove(wordless.unwrap_or(0));
        }
        decisions.push(Decision {
            question: shorten(question, ANSWER),
            answer: shorten(answer, ANSWER),
            is_refusal,
        });
    }
}

/// Whether a command that failed is one that somebody will want done, however long ago it was: it was to change something
/// outside of the files that are worked on.
pub(crate) fn is_wanted(line: &str) -> bool {
    attempt::Attempt::read(line).acts
}

/// A call in a line: the tool with what it was to run, to change or to ask.
fn described(call: &ToolCall) -> String {
    let action = &call.action;
    let map = call.parameters.as_map();
    let asked = || {
        ["question", "plan"]
            .iter()
            .find_map(|name| map.get(*name).and_then(Value::as_str))
    };
    let about = action
        .command
        .as_deref()
        .or_else(|| action.paths.first().map(|path| &**path));
    let about = about.or_else(asked).or_else(|| map.values().find_map(Value::as_str));
    let tool = cut::plain_name(&call.tool);
    match (about, action.kind) {
        (Some(line), ActionKind::Command) => format!("`{}`", shorten(line.trim(), COMMAND)),
        (Some(about), _) => format!("{tool} {}", shorten(about.trim(), COMMAND)),
        (None, _) => tool,
    }
}

/// A command line without the files that it writes before it runs something: `cat <<EOF > a.py`, the text, and `python a.py`.
fn what_ran(line: &str) -> Cow<'_, str> {
    if !line.contains("<<") {
        return line.into();
    }
    let parsed = shell::commands(line);
    let written = parsed.list.iter().filter(|command| !command.outputs.is_empty());
    let texts = written
        .flat_map(|command| &command.documents)
        .filter(|text| !text.is_empty());
    // Without the texts, and behind the last of them.
    let mut shown = String::new();
    let mut rest = line;
    for text in texts {
        let Some((before, behind)) = rest.split_once(text.as_str()) else {
            return line.into();
        };
        shown.push_str(before);
        shown.push_str("…\n");
        rest = behind;
    }
    if shown.is_empty() {
        return line.into();
    }
    // Behind a text stands the line that ends it.
    let behind = rest.trim_start_matches('\n').split_once('\n');
    let behind = behind.map_or("", |(_, behind)| behind).trim();
    if !behind.is_empty() && Line::read(behind).checks.len() == Line::read(line).checks.len() {
        return behind.into();
    }
    shown.push_str(rest);
    shown.into()
}

/// The texts of an object and of the objects in it.
fn texts(map: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let inner = map.values().filter_map(Value::as_object).flat_map(Map::values);
    map.values().chain(inner).filter_map(Value::as_str)
}

/// What a patch among the parameters says of its files: which are new, and which go.
fn patched(parameters: &Parameters) -> HashMap<&str, FileState> {
    let texts = parameters.as_map().values().filter_map(Value::as_str);
    let patches = texts.filter(|text| text.trim_start().starts_with("*** "));
    patches.flat_map(effects::patched).collect()
}

/// Whether a program says that it could not do what it was asked to.
fn complains(result: &ToolResult) -> bool {
    const COMPLAINTS: [&str; 7] = ["fatal: ", "error: ", "rm: ", "mv: ", "cp: ", "bash: ", "sh: "];
    let begins = |line: &str| COMPLAINTS.iter().any(|complaint| line.starts_with(complaint));
    result.texts().any(|text| text.body.as_str().lines().any(begins))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::{Part, Role};
    use proptest::prelude::*;
    use serde_json::json;

    pub(super) struct Talk(Vec<Arc<Message>>);

    impl Talk {
        pub(super) fn new() -> Self {
            Talk(Vec::new())
        }

        pub(super) fn call(mut self, action: Action, parameters: Value, success: Option<bool>, output: &str) -> Self {
            let id = format!("c{}", self.0.len());
            let call = ToolCall::new(id.as_str(), "t", parameters.as_object().unwrap().clone()).doing(action);
            self.0
                .push(Arc::new(Message::new(Role::Assistant, vec![Part::ToolCall(call)])));
            self.0.push(Arc::new(Message::results(vec![ToolResult::new(
                id.as_str(),
                success,
                output,
            )])));
            self
        }

        pub(super) fn on(self, kind: ActionKind, path: &str, success: Option<bool>) -> Self {
            self.call(Action::on(kind, [path]), json!({}), success, "x")
        }

        pub(super) fn run(self, line: &str, success: bool, output: &str) -> Self {
            self.call(Action::command(line), json!({}), Some(success), output)
        }

        pub(super) fn user(mut self, words: &str) -> Self {
            self.0.push(Arc::new(Message::user(words)));
            self
        }

        pub(super) fn say(mut self, words: &str) -> Self {
            self.0.push(Arc::new(Message::assistant(words)));
            self
        }

        pub(super) fn facts(&self) -> Facts {
            Facts::gather(&self.0)
        }
    }

    pub(super) fn files(talk: &Talk) -> String {
        let shown = talk
            .facts()
            .files
            .into_iter()
            .map(|file| format!("{}:{:?}", file.path, file.state));
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn files_stand_in_the_order_of_their_last_touch_with_their_last_state() {
        let talk = Talk::new()
            .on(ActionKind::Read, "a", Some(true))
            .on(ActionKind::Read, "b", Some(true))
            .on(ActionKind::Change, "b", Some(true))
            .on(ActionKind::Read, "missing", Some(false))
            .on(ActionKind::Change, "a", Some(false))
            .on(ActionKind::Read, "c", None)
            .on(ActionKind::Read, "b", Some(true));
        assert_eq!(files(&talk), "a:Read c:Read b:Edited");
    }

    #[test]
    fn a_file_is_one_however_its_path_is_written() {
        let talk = Talk::new()
            .on(ActionKind::Read, "/work/app/src/main.rs", Some(true))
            .on(ActionKind::Change, "src/main.rs", Some(true))
            .on(ActionKind::Read, "./src/main.rs", Some(true))
            .on(ActionKind::Read, "/work/other/src/main.rs", Some(true));
        assert_eq!(
            files(&talk),
            "/work/app/src/main.rs:Edited /work/other/src/main.rs:Read"
        );
        let talk =
            Talk::new()
                .on(ActionKind::Read, "src/x.rs", Some(true))
                .run("cd sub && sed -i s/a/b/ src/x.rs", true, "");
        assert_eq!(files(&talk), "src/x.rs:Read sub/src/x.rs:Edited");
    }

    #[test]
    fn a_file_is_new_if_it_was_written_whole_and_never_seen() {
        let write = |talk: Talk, path: &str| {
            talk.call(
                Action::on(ActionKind::Change, [path]),
                json!({"content": "x"}),
                Some(true),
                "ok",
            )
        };
        let talk = write(Talk::new().on(ActionKind::Read, "old", Some(true)), "old");
        let talk = write(talk, "new").on(ActionKind::Change, "new", Some(true));
        assert_eq!(files(&talk), "old:Edited new:Created");
        let patch = "*** Begin Patch\n*** Add File: n\n+x\n*** Delete File: d\n*** Update File: u\n*** End Patch";
        let action = Action::on(ActionKind::Change, ["n", "d", "u"]);
        let talk = Talk::new().call(action, json!({"input": patch}), Some(true), "ok");
        assert_eq!(files(&talk), "n:Created d:Deleted u:Edited");
    }

    #[test]
    fn a_command_says_what_becomes_of_files_that_are_known() {
        let talk = |lines: &[&str]| {
            let made = Talk::new()
                .call(
                    Action::on(ActionKind::Change, ["/s/app/new.py"]),
                    json!({"content": "x"}),
                    Some(true),
                    "ok",
                )
                .on(ActionKind::Change, "/s/app/db.py", Some(true))
                .on(ActionKind::Read, "/s/top.py", Some(true));
            files(&lines.iter().fold(made, |talk, line| talk.run(line, true, "")))
        };
        let before = "/s/app/new.py:Created /s/app/db.py:Edited /s/top.py:Read";
        assert_eq!(talk(&[]), before);
        for line in [
            "rm app/new.py",
            "cd /s && rm app/new.py",
            "cd app && rm new.py",
            "rm -f /s/app/new.py",
            "git rm -f app/new.py",
            "Remove-Item app\\new.py",
            "del app\\new.py",
        ] {
            assert_eq!(
                talk(&[line]),
                "/s/app/db.py:Edited /s/top.py:Read /s/app/new.py:Deleted",
                "{line}"
            );
        }
        for line in [
            "git checkout app/db.py",
            "git checkout -- app/db.py",
            "git restore app",
            "git reset --hard",
            "git stash",
            "cd app && git checkout .",
        ] {
            assert_eq!(
                talk(&[line]),
                "/s/app/new.py:Created /s/app/db.py:Read /s/top.py:Read",
                "{line}"
            );
        }
        assert_eq!(
            talk(&["mv app/new.py app/store.py"]),
            "/s/app/db.py:Edited /s/top.py:Read /s/app/new.py:Deleted /s/app/store.py:Created"
        );
        assert_eq!(
            talk(&["mv top.py app"]),
            "/s/app/new.py:Created /s/app/db.py:Edited /s/top.py:Deleted /s/app/top.py:Created"
        );
        assert_eq!(talk(&["cp top.py /s/two.py"]), format!("{before} /s/two.py:Created"));
        assert_eq!(
            talk(&["rm -r app"]),
            "/s/top.py:Read /s/app/db.py:Deleted /s/app/new.py:Deleted"
        );
        assert_eq!(talk(&["git stash", "git stash pop"]), before);
        assert_eq!(
            talk(&["git stash -u"]),
            "/s/app/new.py:Deleted /s/app/db.py:Read /s/top.py:Read"
        );
        assert_eq!(
            talk(&["rm app/db.py", "git checkout -- app/db.py"]),
            "/s/app/new.py:Created /s/top.py:Read /s/app/db.py:Read"
        );
        // What was committed is not undone, and what is not known is not told of.
        for line in [
            "git commit -am x && git reset --hard",
            "rm other.py new.py",
            "git checkout main",
            "rm -rf pp",
            "ls app",
        ] {
            assert_eq!(talk(&[line]), before, "{line}");
        }
        let failed = Talk::new()
            .on(ActionKind::Change, "a", Some(true))
            .run("rm a", false, "rm: no");
        assert_eq!(files(&failed), "a:Edited");
        let unknown = |output| {
            let talk = Talk::new().on(ActionKind::Change, "a", Some(true));
            files(&talk.call(Action::command("rm a"), json!({}), None, output))
        };
        assert_eq!(unknown("rm: cannot remove 'a'"), "a:Edited");
        assert_eq!(unknown(""), "a:Deleted");
    }

    #[test]
    fn the_last_check_of_each_kind_is_known_with_its_command() {
        let talk = Talk::new()
            .run("cargo test", false, "1 failed")
            .run("cargo build", true, "")
            .run("cargo test -p core", true, "");
        let facts = talk.facts();
        let tests = facts.tests.unwrap();
        assert_eq!(
            (tests.command.as_str(), tests.verdict),
            ("cargo test -p core", Verdict::Passed)
        );
        assert_eq!(facts.build.unwrap().verdict, Verdict::Passed);
        assert_eq!(facts.lint, None);
    }

    #[test]
    fn a_command_that_the_user_refused_has_not_failed() {
        for words in [
            "The user doesn't want to proceed with this tool use.",
            "[Request interrupted by user]",
            "Compiling a\nCompiling b\n\nCommand aborted",
        ] {
            let facts = Talk::new().run("cargo test", false, words).facts();
            assert_eq!((facts.tests, facts.errors), (None, Vec::new()), "{words}");
        }
        let facts = Talk::new().run("cargo test", false, "1 failed: the user denied");
        assert_eq!(facts.facts().errors.len(), 1);
    }

    #[test]
    fn a_check_is_stale_once_files_are_changed() {
        let talk = Talk::new()
            .run("cargo test", true, "")
            .on(ActionKind::Read, "a", Some(true));
        let is_stale = |talk: &Talk| talk.facts().tests.unwrap().is_stale;
        assert!(!is_stale(&talk));
        let talk = talk.on(ActionKind::Change, "a", Some(false));
        assert!(!is_stale(&talk), "the change could not be made");
        let talk = talk.on(ActionKind::Change, "a", Some(true));
        assert!(is_stale(&talk));
        assert!(!is_stale(&talk.run("cargo test", true, "")));
    }

    #[test]
    fn an_error_is_open_until_the_same_check_succeeds_on_no_less() {
        let open = |runs: &[(&str, bool)]| {
            let talk = runs
                .iter()
                .fold(Talk::new(), |talk, (line, success)| talk.run(line, *success, "boom"));
            talk.facts()
                .errors
                .into_iter()
                .map(|error| error.command)
                .collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(open(&[("cargo test", false)]), ["cargo test"]);
        assert_eq!(open(&[("cargo test", false), ("cargo test -q", true)]), none);
        assert_eq!(
            open(&[("cargo test", false), ("cargo test parser", true)]),
            ["cargo test"]
        );
        assert_eq!(open(&[("cargo test parser", false), ("cargo test", true)]), none);
        for (failed, narrower) in [
            ("pytest tests/a.py tests/b.py", "pytest tests/a.py"),
            ("pytest", "pytest -k test_almond"),
            ("go test ./a ./b", "go test ./a"),
        ] {
            assert_eq!(open(&[(failed, false), (narrower, true)]), [failed]);
            assert_eq!(open(&[(narrower, false), (failed, true)]), none);
            // What the narrower run shows is told as that.
            let facts = Talk::new().run(failed, false, "boom").run(narrower, true, "ok").facts();
            assert_eq!(facts.tests.unwrap().command, narrower);
        }
        assert_eq!(open(&[("cargo test", false), ("cargo build", true)]), ["cargo test"]);
        assert_eq!(open(&[("./deploy a", false), ("ls", true)]), ["./deploy a"]);
        assert_eq!(open(&[("./deploy a", false), ("./deploy b", true)]), none);
        assert_eq!(open(&[("grep x y", false)]), none);
        assert_eq!(open(&[("cargo test", false), ("cargo test", false)]), ["cargo test"]);
    }

    #[test]
    fn an_error_whose_command_ran_again_and_came_to_nothing_known_is_from_before() {
        let rerun = |runs: &[(&str, Option<bool>, &str)]| {
            let talk = runs.iter().fold(Talk::new(), |talk, (line, success, output)| {
                talk.call(Action::command(line), json!({}), *success, output)
            });
            let errors = talk.facts().errors.into_iter();
            errors.map(|error| error.is_rerun).collect::<Vec<_>>()
        };
        let failed = ("cargo test", None, "test result: FAILED. 1 passed; 1 failed");
        assert_eq!(rerun(&[failed]), [false]);
        assert_eq!(rerun(&[failed, ("cargo test", None, "Compiling a")]), [true]);
        assert_eq!(rerun(&[failed, ("cargo test parser", None, "Compiling a")]), [false]);
        assert_eq!(rerun(&[failed, ("cargo test", None, "Compiling a"), failed]), [false]);
        let deploy = ("./deploy", Some(false), "no such host");
        assert_eq!(rerun(&[deploy, ("./deploy", None, "…")]), [true]);
        assert_eq!(rerun(&[deploy, ("ls", None, "a")]), [false]);
    }

    #[test]
    fn a_script_that_was_written_here_is_a_test_only_if_it_tests_something() {
        let script = |text: &str, output: &str, success| {
            let line = format!("cat <<'EOF' > test_invalid.py\nimport re\n{text}\nEOF\npython test_invalid.py");
            Talk::new().run(&line, success, output).facts()
        };
        assert_eq!(script("print(re.match('a','b'))", "None", true).tests, None);
        assert_eq!(script("print(re.match('a','b'))", "Traceback: x", false).tests, None);
        let tested = script("assert re.match('a','b')", "", true).tests.unwrap();
        assert_eq!(
            (tested.command.as_str(), tested.verdict),
            ("python test_invalid.py", Verdict::Passed)
        );
        let closed = script("run_all()", "Ran 3 tests in 0.1s\n\nOK (3 passed)", true).tests;
        assert_eq!(closed.unwrap().verdict, Verdict::Passed);
        let failed = script("run_all()", "test a failed\n2 passed, 1 failed", false);
        assert_eq!(failed.tests.unwrap().verdict, Verdict::Failed);
        // Written in a step of its own, and then run.
        let talk = Talk::new().call(
            Action::on(ActionKind::Change, ["/w/test_a.py"]),
            json!({"content": "print(1)"}),
            Some(true),
            "ok",
        );
        assert_eq!(talk.run("python test_a.py", true, "1").facts().tests, None);
        assert!(Talk::new().run("python test_a.py", true, "1").facts().tests.is_some());
    }

    #[test]
    fn of_a_line_that_writes_a_file_first_what_ran_is_told() {
        for (line, expected) in [
            ("cat > a.py <<EOF\nx\nEOF\npytest a.py", "pytest a.py"),
            (
                "pytest && cat > a.py <<EOF\nx\nEOF\nls",
                "pytest && cat > a.py <<EOF\n…\nEOF\nls",
            ),
            ("cat > a <<A\nx\nA\ncat > b <<B\ny\nB\nmake test", "make test"),
            ("python - <<EOF\nprint(1)\nEOF", "python - <<EOF\nprint(1)\nEOF"),
            ("pytest -k 'a << b'", "pytest -k 'a << b'"),
        ] {
            assert_eq!(what_ran(line), expected, "{line}");
        }
    }

    #[test]
    fn broken_checks_outlive_commands_that_were_given_up() {
        let talk = (0..30).fold(Talk::new().run("cargo test", false, "1 failed"), |talk, number| {
            talk.run(&format!("./try{number}"), false, "no")
        });
        let errors = talk.facts().errors;
        assert_eq!(errors.len(), super::errors::ERRORS);
        assert_eq!(errors[0].command, "cargo test");
        assert_eq!(errors[super::errors::ERRORS - 1].command, "./try29");
    }

    #[test]
    fn an_error_is_open_until_the_same_is_done_not_something_else_with_the_same_program() {
        let open = |failed: &str, done: &str| {
            let talk = Talk::new().run(failed, false, "no").run(done, true, "done");
            !talk.facts().errors.is_empty()
        };
        assert!(open("npm publish", "npm install"));
        assert!(open("npm run publish", "npm run build-docs"));
        assert!(open("sudo docker push app", "docker ps"));
        assert!(!open("npm publish", "npm --quiet publish"));
        assert!(!open("docker push app", "cd app && sudo docker push"));
        assert!(!open("sleep 60", "sleep 5"));
        assert!(!open("curl https://a", "curl -s https://b"));
    }

    #[test]
    fn what_the_user_decided_when_asked_is_kept() {
        let ask = || Action::on(ActionKind::Ask, []);
        let talk = Talk::new()
            .call(
                ask(),
                json!({"questions": [{"question": "Which database?", "options": []}]}),
                Some(true),
                "Which database? = sqlite",
            )
            .call(
                ask(),
                json!({"plan": "1. do it"}),
                Some(true),
                "The user has approved the plan",
            )
            .call(ask(), json!({"plan": "2. not that"}), Some(false), "rejected")
            .call(ask(), json!({"url": "x"}), Some(true), "page")
            // In words of its own.
            .call(
                ask(),
                json!({"payload": {"query": "Round twice or once?"}}),
                Some(true),
                r#"{"reply":"Once"}"#,
            )
            .call(
                Action::default(),
                json!({"question": "May I push?"}),
                Some(true),
                "Yes. The user has approved it.",
            );
        let decisions = talk.facts().decisions;
        let shown: Vec<_> = decisions
            .iter()
            .map(|d| (d.question.as_str(), d.answer.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("Which database?", "Which database? = sqlite"),
                ("1. do it", "The user has approved the plan"),
                ("Round twice or once?", "Once")
            ]
        );
    }

    #[test]
    fn the_todo_list_is_that_of_the_last_call_that_wrote_it() {
        let todo = || Action::on(ActionKind::Todo, []);
        let talk = Talk::new()
            .call(
                todo(),
                json!({"todos": [{"content": "a", "status": "pending"}]}),
                Some(true),
                "ok",
            )
            .call(
                todo(),
                json!({"todos": [{"content": "b", "status": "pending"}]}),
                Some(false),
                "refused",
            );
        let facts = talk.facts();
        assert_eq!(
            facts.todo.items().map(|item| item.text.as_str()).collect::<Vec<_>>(),
            ["a"]
        );
    }

    proptest! {
        #[test]
        fn gathering_message_by_message_equals_gathering_at_once(steps in proptest::collection::vec((0usize..6, any::<Option<bool>>()), 0..40)) {
            let lines = ["cargo test", "make", "cargo test a", "ls", "./x", "pytest | tail"];
            let talk = steps.iter().fold(Talk::new(), |talk, (line, success)| {
                talk.call(Action::command(lines[*line]), json!({}), *success, "2 failed tests passed\nerror: é")
            });
            let mut gatherer = Gatherer::new();
            for (number, message) in talk.0.iter().enumerate() {
                gatherer.append(message);
                prop_assert_eq!(gatherer.facts(), Facts::gather(&talk.0[..=number]));
            }
            prop_assert!(gatherer.facts().errors.len() <= errors::ERRORS);
        }
    }
}
