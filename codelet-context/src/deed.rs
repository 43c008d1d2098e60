//! What a call has done, once it was answered.

use crate::answer::{is_done, was_refused};
use crate::command::{CommandLine, Script};
use crate::ledger::Ran;
use crate::message::{ActionKind, ToolCall, ToolResult};
use crate::outcome::FileChange;
use crate::testrun::CheckKind;
use crate::verdict::Verdict;
use std::sync::Arc;

/// One thing that a call has done.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Files were read.
    Read(Vec<Arc<str>>),
    /// Files were changed, made, taken away or put back.
    Changed(Vec<FileChange>),
    /// A command was run.
    Ran {
        /// The check that tells what came of it.
        check: Option<(CheckKind, Verdict)>,
        /// The first line of the message that it committed with.
        commit: Option<String>,
    },
}

impl Deed {
    /// What a call has done by its answer, in the order in which it is told; `ran` is how its command was read, and
    /// `changes` what has become of files by it.
    pub(crate) fn of(
        call: &ToolCall,
        result: &ToolResult,
        ran: Option<&Ran>,
        changes: Vec<FileChange>,
    ) -> impl Iterator<Item = Deed> {
        let action = &call.action;
        let is_done = is_done(action.kind, result);
        let read = (action.kind == ActionKind::Read && is_done).then(|| Deed::Read(action.paths.clone()));
        let changed = (!changes.is_empty()).then_some(Deed::Changed(changes));
        let ran = ran.filter(|_| !was_refused(result)).map(|ran| Deed::Ran {
            check: ran.last_check().map(|(check, verdict)| (check.kind, verdict)),
            commit: (action.command.as_ref())
                .filter(|_| result.success != Some(false))
                .and_then(CommandLine::commit)
                .map(str::to_owned),
        });
        [read, changed, ran].into_iter().flatten()
    }
}

/// The first line of the message that a command commits with.
pub(crate) fn commit(script: &Script) -> Option<String> {
    script.commands.iter().find_map(|command| {
        let words = &command.simple.words;
        let is_commit = words.first().is_some_and(|first| first == "git") && words.iter().any(|word| word == "commit");
        let at = words
            .iter()
            .position(|word| matches!(word.as_str(), "-m" | "-am" | "--message"))?;
        let message = words.get(at + 1).filter(|_| is_commit)?;
        let mut lines = message.lines();
        // `-m "$(cat <<'EOF' …)"`: the message stands in the lines behind.
        let first = lines.find(|line| !line.trim().is_empty() && !line.trim_start().starts_with("$("))?;
        Some(first.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_known_by_its_message() {
        let table = [
            ("git commit -m 'one\ntwo'", Some("one")),
            ("git add -A && git -C x commit -am one", Some("one")),
            ("git commit -m \"$(cat <<'EOF'\none\n\ntwo\nEOF\n)\"", Some("one")),
            ("echo git commit -m one", None),
            ("git log", None),
        ];
        for (line, expected) in table {
            assert_eq!(commit(&Script::read(line)).as_deref(), expected, "{line}");
        }
    }
}
