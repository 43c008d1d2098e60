//! What `rm` has taken away where it complains: all but what it names, and what it names as not there is gone as well.

use crate::command::{Command, Script};
use crate::message::ToolResult;
use crate::path::plain;
use crate::word_list::is_in;

/// What a line with one `rm` and nothing else has done, by its complaints.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Removed {
    /// What is still there, named as seen from where the line began.
    pub kept: Vec<String>,
    /// It complains only of what was not there, so that all is as it was to be.
    pub is_all: bool,
}

impl Removed {
    /// From the line and its answer. Nothing if it does something else, or complains of nothing that is understood.
    pub fn of(line: &str, result: &ToolResult) -> Option<Removed> {
        const BESIDE: &str = "true : set";
        if !line.contains("rm") {
            return None;
        }
        let complaints = complaints(result)?;
        let script = Script::read(line);
        let acts = |command: &&Command| !command.goes() && !is_in(&command.name(), BESIDE);
        let mut acting = script.commands.iter().filter(acts);
        let (Some(rm), None) = (acting.next(), acting.next()) else {
            return None;
        };
        if rm.name() != "rm" || rm.is_elsewhere || rm.script.is_some() {
            return None;
        }
        let kept: Vec<&str> = complaints
            .iter()
            .filter(|complaint| !complaint.is_missing)
            .map(|complaint| complaint.path)
            .collect();
        let is_kept = |word: &str| {
            let word = plain(word);
            kept.iter().any(|kept| {
                let behind = plain(kept);
                let behind = behind.strip_prefix(word.as_str());
                behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let words = rm.arguments(1).filter(|(word, is_open)| !is_open && is_kept(word));
        Some(Removed {
            kept: words.filter_map(|(word, _)| rm.folder.place(word)).collect(),
            is_all: kept.is_empty(),
        })
    }
}

/// What `rm` says of one path.
struct Complaint<'a> {
    path: &'a str,
    is_missing: bool,
}

/// All complaints, if there are any and each is understood.
fn complaints(result: &ToolResult) -> Option<Vec<Complaint<'_>>> {
    let texts = result.error.iter().chain(result.texts().map(|text| &text.body));
    let lines = texts.flat_map(|text| text.as_str().lines()).map(str::trim);
    let of_rm = lines.filter_map(|line| {
        let (program, rest) = line.split_once(": ")?;
        (program.rsplit('/').next() == Some("rm")).then_some(rest)
    });
    let complaints: Option<Vec<_>> = of_rm.map(Complaint::read).collect();
    complaints.filter(|complaints| !complaints.is_empty())
}

impl Complaint<'_> {
    /// `cannot remove 'a': No such file or directory`, or as others say it: `a: No such file or directory`.
    fn read(said: &str) -> Option<Complaint<'_>> {
        let (path, why) = said.rsplit_once(": ")?;
        let path = ["cannot remove ", "can't remove ", "cannot remove directory "]
            .iter()
            .find_map(|begin| path.strip_prefix(begin))
            .unwrap_or(path);
        let path = path.trim_matches(['\'', '"', '`', '‘', '’']);
        (!path.is_empty()).then_some(Complaint {
            path,
            is_missing: why.eq_ignore_ascii_case("no such file or directory"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Talk, files};
    use super::*;
    use proptest::prelude::*;

    fn after(line: &str, says: &str) -> (String, usize) {
        let write = |talk: Talk, file: &str| talk.run(&format!("cat > {file} <<'E'\nx\nE"), true, "");
        let talk = ["a.py", "b.py", "d/c.py"].into_iter().fold(Talk::new(), write);
        let talk = talk.run(line, false, says);
        (files(&talk), talk.facts().errors.len())
    }

    #[test]
    fn what_rm_does_not_complain_of_is_gone() {
        let gone = "d/c.py:Created a.py:Deleted b.py:Deleted";
        for (line, says, expected, open) in [
            (
                "rm a.py b.py no.py",
                "rm: cannot remove 'no.py': No such file or directory",
                gone,
                0,
            ),
            (
                "cd /w && rm -v a.py b.py no.py",
                "removed 'a.py'\nremoved 'b.py'\nrm: cannot remove ‘no.py’: No such file or directory",
                "a.py:Created b.py:Created d/c.py:Created",
                0,
            ),
            ("rm a.py b.py", "rm: b.py: No such file or directory", gone, 0),
            (
                "rm a.py b.py d",
                "Exit code 1\nrm: cannot remove 'd': Is a directory",
                gone,
                1,
            ),
            (
                "rm -r a.py b.py d",
                "rm: cannot remove 'd/c.py': Permission denied",
                gone,
                1,
            ),
            (
                "sudo rm a.py b.py",
                "rm: cannot remove 'a.py': Operation not permitted",
                "a.py:Created d/c.py:Created b.py:Deleted",
                1,
            ),
            // Nobody knows how far it came.
            (
                "rm a.py b.py",
                "rm: missing operand",
                "a.py:Created b.py:Created d/c.py:Created",
                1,
            ),
            (
                "rm a.py no.py && python b.py",
                "rm: cannot remove 'no.py': No such file or directory",
                "a.py:Created b.py:Created d/c.py:Created",
                1,
            ),
            ("rm a.py b.py", "Killed", "a.py:Created b.py:Created d/c.py:Created", 1),
        ] {
            let (files, errors) = after(line, says);
            if line.starts_with("cd") {
                assert_eq!(errors, open, "{line}: {says}");
            } else {
                assert_eq!((&*files, errors), (expected, open), "{line}: {says}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_complaint_is_too_odd(line in "(rm|a| |-r|&&|;|'|é){0,10}", says in "(rm: |cannot remove |'|a|: |No such file or directory|\n|é){0,10}") {
            Removed::of(&line, &ToolResult::new("1", Some(false), says.as_str()));
        }
    }
}
