//! What patches do to files.

use super::{MOST, is_file};
use crate::command::Command;
use crate::command::git::Git;
use crate::message::Parameters;
use crate::outcome::FileState;
use crate::path::Folder;
use crate::word_list::is_in;
use serde_json::Value;

/// What a program is told that applies patches, so that it does something else with one.
const NO_PATCHING: &str = "--dry-run -C --check -o --output";
const GIT_TELLS: &str = "--check --stat --numstat --summary --cached --directory -R --reverse";

/// A command that applies patches.
pub(crate) struct Applies<'a> {
    /// The files that they are in; none where they are its own input.
    pub files: Vec<&'a str>,
    /// The folder from which they name their files.
    pub at: Folder,
}

impl<'a> Applies<'a> {
    /// Reads a command. Nothing if it applies none, or nobody knows to which files.
    pub fn of(command: &'a Command) -> Option<Applies<'a>> {
        match &*command.name() {
            "patch" => Applies::of_patch(command),
            "apply_patch" | "applypatch" => Some(Applies {
                files: Vec::new(),
                at: command.folder.clone(),
            }),
            "git" => Applies::of_git(command),
            _ => None,
        }
    }

    fn of_patch(command: &'a Command) -> Option<Applies<'a>> {
        if command.words().iter().any(|word| is_in(word, NO_PATCHING)) {
            return None;
        }
        let (mut file, mut at) = (command.simple.input.as_deref(), command.folder.clone());
        let mut words = command.arguments(1);
        while let Some((word, is_open)) = words.next() {
            let (name, value) = word
                .split_once('=')
                .map_or((word, None), |(name, value)| (name, Some(value)));
            let mut value = || value.map_or_else(|| words.next(), |value| Some((value, is_open)));
            match name {
                "-i" | "--input" => file = Some(value().filter(|(_, is_open)| !is_open)?.0),
                "-d" | "--directory" => at = at.enter(value().filter(|(_, is_open)| !is_open)?.0, true),
                "-p" | "-F" | "-V" | "-z" | "-B" => _ = words.next(),
                // Another file than the one it names, or the other way round.
                "-R" | "--reverse" => return None,
                _ if !word.starts_with('-') => return None,
                _ => {}
            }
        }
        Some(Applies {
            files: file.into_iter().collect(),
            at,
        })
    }

    fn of_git(command: &'a Command) -> Option<Applies<'a>> {
        let git = Git::of(command).filter(|git| is_in(git.verb, "apply am") && !git.has(GIT_TELLS))?;
        let (before, behind) = git.operands("-p -C --exclude --include --whitespace");
        let named = before.into_iter().chain(behind.into_iter().flatten());
        let named = named
            .filter(|(word, is_open)| !is_open && *word != "-")
            .map(|(word, _)| word);
        let input = command.simple.input.as_deref();
        Some(Applies {
            files: named.chain(input).take(MOST).collect(),
            at: git.at.clone(),
        })
    }
}

/// Whether a text in a file of this name is a patch, in one of the forms that [`patched`] reads.
pub(crate) fn is_patch(file: &str, text: &str) -> bool {
    const BEGINNINGS: [&str; 6] = ["--- ", "diff ", "Index: ", "From ", "*** Begin Patch", "Subject: "];
    let is_named = [".patch", ".diff"].iter().any(|end| file.ends_with(end));
    let first = text.trim_start();
    (is_named || BEGINNINGS.iter().any(|beginning| first.starts_with(beginning))) && !patched(text).is_empty()
}

/// The files that a patch changes, in the form that `apply_patch` takes or as a unified diff, with what becomes of each.
pub fn patched(patch: &str) -> Vec<(&str, FileState)> {
    const HEADS: [(&str, FileState); 4] = [
        ("*** Add File: ", FileState::Created),
        ("*** Update File: ", FileState::Edited),
        ("*** Delete File: ", FileState::Deleted),
        ("*** Move to: ", FileState::Created),
    ];
    const NOTHING: &str = "/dev/null";
    let mut found: Vec<(&str, FileState)> = Vec::new();
    // Of a unified diff, what stood before the line that names the new file.
    let mut old = None;
    for line in patch.lines() {
        let named = HEADS
            .iter()
            .find_map(|(head, state)| Some((line.strip_prefix(head)?.trim(), *state)));
        let diffed = || {
            let new = diff_path(line, "+++ ")?;
            Some(match old {
                Some(NOTHING) => (inside(new, "b/"), FileState::Created),
                Some(old) if new == NOTHING => (inside(old, "a/"), FileState::Deleted),
                _ => (inside(new, "b/"), FileState::Edited),
            })
        };
        let change = named.or_else(diffed);
        if line.starts_with("*** Move to: ")
            && let Some((_, before)) = found.last_mut()
        {
            // What it was called is no more.
            *before = FileState::Deleted;
        }
        old = diff_path(line, "--- ");
        if let Some((path, state)) = change
            && is_file(path)
            && found.len() < MOST
            && !found.iter().any(|(other, _)| *other == path)
        {
            found.push((path, state));
        }
    }
    found
}

/// The path in a head of a unified diff, which a time may stand behind.
fn diff_path<'a>(line: &'a str, head: &str) -> Option<&'a str> {
    Some(line.strip_prefix(head)?.split('\t').next()?.trim())
}

fn inside<'a>(path: &'a str, side: &str) -> &'a str {
    path.strip_prefix(side).unwrap_or(path)
}

/// The same of the patches among the parameters of a call.
pub(crate) fn patched_by(parameters: &Parameters) -> impl Iterator<Item = (&str, FileState)> {
    let texts = parameters.as_map().values().filter_map(Value::as_str);
    let patches = texts.filter(|text| text.trim_start().starts_with("*** "));
    patches.flat_map(patched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_patch_says_what_becomes_of_each_file() {
        use FileState::{Created, Deleted, Edited};
        for (patch, expected) in [
            (
                "*** Add File: a\n+x\n*** Delete File: b",
                &[("a", Created), ("b", Deleted)][..],
            ),
            (
                "*** Update File: a\n*** Move to: b\n@@\n-x\n*** Update File: c",
                &[("a", Deleted), ("b", Created), ("c", Edited)],
            ),
            ("--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@", &[("x.rs", Edited)]),
            ("--- x.rs\t2024-01-01\n+++ x.rs\t2024-01-02", &[("x.rs", Edited)]),
            ("new file mode 100644\n--- /dev/null\n+++ b/x.rs", &[("x.rs", Created)]),
            ("--- a/x.rs\n+++ /dev/null", &[("x.rs", Deleted)]),
            // A line that is taken away, such as a comment.
            (
                "+++ b/x.sql\n--- /dev/null\n-- b\n+++ b/y.sql",
                &[("x.sql", Edited), ("y.sql", Edited)],
            ),
            ("+++ /dev/null", &[]),
        ] {
            assert_eq!(patched(patch), expected, "{patch}");
        }
    }

    proptest! {
        #[test]
        fn no_patch_is_too_odd(patch in r"(--- |\+\+\+ |/dev/null|\*\*\* (Add|Update|Delete) File: |\*\*\* Move to: |a/b|é|\t|\n){0,30}") {
            for (path, _) in patched(&patch) {
                prop_assert!(is_file(path));
            }
        }
    }
}
