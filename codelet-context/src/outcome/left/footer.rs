//! The folder that a harness says the shell is in, below what a command has printed.
//!
//! A program may print the same. So it counts only of a tool of which nearly all answers say it, and some have said it in the
//! same words and in the same place.

use crate::message::ToolResult;
use crate::path::is_absolute;
use std::collections::HashMap;
use std::sync::Arc;

/// Lines of an answer, from its end, in which a harness says it.
const BELOW: usize = 5;
/// Longer lines say nothing of it.
const LONGEST: usize = 400;
/// So many answers have to say it alike before one is believed.
const ALIKE: u32 = 3;
/// What the folder is called.
const NAMES: [&str; 6] = [
    "current working directory",
    "current directory",
    "working directory",
    "working_directory",
    "cwd",
    "pwd",
];

/// What it is said to be when a harness has put the shell back to it.
const RESET: &str = "was reset to ";

/// The folder that a harness says the shell is in behind an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stated {
    pub folder: String,
    /// It was put back there behind the command.
    pub is_reset: bool,
}

/// How many answers of a tool there were, and how many have said it.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    all: u32,
    saying: u32,
    /// By what the folder was called, and how many lines from the end.
    alike: [[u32; BELOW]; NAMES.len()],
}

/// The tools so far, by their names.
#[derive(Clone, Debug, Default)]
pub(super) struct Footers(HashMap<Arc<str>, Count>);

impl Footers {
    /// The folder that the next answer of a tool says the shell is in behind it, if its answers do, or if it was put back there:
    /// that is said in words of their own, and only then.
    pub fn folder(&mut self, tool: &Arc<str>, result: &ToolResult) -> Option<Stated> {
        let said = |folder: &str, is_reset| Stated {
            folder: folder.to_owned(),
            is_reset,
        };
        if let Some(folder) = last_lines(result).find_map(reset_to) {
            return Some(said(folder, true));
        }
        let count = self.0.entry(tool.clone()).or_default();
        count.all += 1;
        let (folder, name, below) = stated(result)?;
        count.saying += 1;
        count.alike[name][below] += 1;
        // Of a command that runs on, and of one that was broken off, nothing is said.
        let is_usual = count.saying * 4 >= count.all * 3 && count.alike[name][below] >= ALIKE;
        is_usual.then(|| said(folder, false))
    }
}

/// The last lines of an answer, the last first.
fn last_lines(result: &ToolResult) -> impl Iterator<Item = &str> {
    let text = result.texts().last().map_or("", |text| text.body.as_str());
    let lines = text.rsplit('\n').map(str::trim).filter(|line| !line.is_empty());
    lines.take(BELOW).filter(|line| line.len() <= LONGEST)
}

/// The folder that is named in the last lines of an answer, which of the names it has there, and how many lines are below.
fn stated(result: &ToolResult) -> Option<(&str, usize, usize)> {
    let mut lines = last_lines(result).enumerate();
    lines.find_map(|(below, line)| {
        let (folder, name) = named_in(line)?;
        Some((folder, name, below))
    })
}

/// The folder that one line says the shell was put back to: `Shell cwd was reset to /w`.
fn reset_to(line: &str) -> Option<&str> {
    let (name, folder) = line.split_once(RESET)?;
    let name = name.trim().to_ascii_lowercase();
    let name = name.strip_prefix("shell ").unwrap_or(&name);
    (NAMES.contains(&name) && is_absolute(folder)).then_some(folder)
}

/// The folder that one line names, and which of the names it has there: `[Current working directory: /w]`, `<cwd>/w</cwd>`.
fn named_in(line: &str) -> Option<(&str, usize)> {
    let line = line.trim_start_matches(['[', '(', '<', '{']);
    let (name, value) = line.split_once([':', '>'])?;
    let name = NAMES.iter().position(|known| name.trim().eq_ignore_ascii_case(known))?;
    let value = value.split("</").next().unwrap_or_default();
    let value = value
        .trim()
        .trim_end_matches([']', ')', '}'])
        .trim_matches(['"', '\'', '`']);
    is_absolute(value).then_some((value, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_where_a_harness_writes_it() {
        for (text, folder) in [
            ("ok\n[Current working directory: /w/a b]\n[Exit code 0]", Some("/w/a b")),
            ("ok\n(Open file: n/a)\n(Current directory: /w)\nbash-$", Some("/w")),
            ("ok\n<cwd>/w/a</cwd>", Some("/w/a")),
            ("ok\ncwd: C:\\w", Some("C:\\w")),
            ("[Current working directory: /w]\n1\n2\n3\n4\n5", None),
            ("[Current working directory: web]", None),
            ("the current directory: /w", None),
            ("", None),
        ] {
            let result = ToolResult::new("a", None, text);
            assert_eq!(stated(&result).map(|(folder, ..)| folder), folder, "{text}");
        }
    }

    #[test]
    fn what_one_answer_of_many_says_is_what_its_program_printed() {
        let mut footers = Footers::default();
        let mut says = |tool: &str, text: &str| {
            let result = ToolResult::new("a", None, text);
            footers.folder(&tool.into(), &result).is_some()
        };
        assert!(!(0..2).any(|_| says("shell", "cwd: /w")));
        // In other words, or elsewhere, it is not the same.
        assert!(!says("shell", "pwd: /w") && !says("shell", "cwd: /w\nok"));
        assert!(says("shell", "cwd: /w"));
        assert!(!says("shell", "still running"));
        assert!(says("shell", "cwd: /x") && says("shell", "ok\ncwd: /w"));
        assert!(!(0..4).any(|_| says("bash", "ok")));
        assert!(!(0..4).any(|_| says("bash", "cwd: /w")));
        assert!(says("bash", "Shell cwd was reset to /w"));
        assert!(!says("bash", "the cache was reset to /w") && !says("bash", "Shell cwd was reset to w"));
    }
}
