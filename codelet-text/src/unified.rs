//! Parses unified diffs line by line. Headers are recognised only when no hunk expects a line, so that a file's content
//! cannot imitate one.

use std::str::SplitInclusive;

/// The start of a file's section in a git diff.
const BEGINS: &str = "diff --git ";

/// The sections of a git diff, one per file. A line of file content begins with a sign, and so never like a section.
pub fn files(diff: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = diff.match_indices(BEGINS).map(|(at, _)| at).collect();
    starts.retain(|&at| at == 0 || diff.as_bytes()[at - 1] == b'\n');
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    starts.iter().zip(ends).map(|(&from, to)| &diff[from..to]).collect()
}

/// A parsed line of a diff.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'a> {
    /// The new name of a file, after `+++ `.
    NewName(&'a str),
    /// The header of a hunk.
    Hunk {
        /// The first line in the old text, and the number of lines.
        old: (u64, u64),
        /// The same for the new text.
        new: (u64, u64),
    },
    /// A line of a hunk.
    Row {
        /// The change to the line.
        sign: Sign,
        /// The line number: in the old text if it is removed, in the new one otherwise.
        number: u64,
        /// The line, without its sign and line end.
        text: &'a str,
    },
    /// The row before is the last line of its text and has no line end.
    NoEnd,
    /// A remark, after `… `.
    Remark(&'a str),
    /// The total lines added and removed, as git reports them: `1 file changed, 1 insertion(+), 2 deletions(-)`.
    Stat {
        /// The number of added lines.
        added: u64,
        /// The number of removed lines.
        removed: u64,
    },
}

/// The change to a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// Unchanged.
    Same,
    /// Added.
    Added,
    /// Removed.
    Removed,
}

/// Parses a diff. Anything else is skipped; parsing ends at a line that does not fit into its hunk.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    lines: SplitInclusive<'a, char>,
    /// The remaining lines of the hunk in the old text, and the number of the next one; and the same for the new text.
    old: (u64, u64),
    new: (u64, u64),
    is_broken: bool,
}

impl<'a> Reader<'a> {
    /// Creates a reader of this diff.
    pub fn new(diff: &'a str) -> Self {
        Reader {
            lines: diff.split_inclusive('\n'),
            old: (0, 0),
            new: (0, 0),
            is_broken: false,
        }
    }

    /// Returns whether the last hunk expects more lines.
    pub fn is_open(&self) -> bool {
        self.old.0 > 0 || self.new.0 > 0
    }

    fn row(&mut self, line: &'a str) -> Option<Line<'a>> {
        let (sign, number) = match line.as_bytes().first() {
            Some(b'+') => (Sign::Added, self.new.1),
            Some(b'-') => (Sign::Removed, self.old.1),
            Some(b' ') | None => (Sign::Same, self.new.1),
            Some(b'\\') => return Some(Line::NoEnd),
            Some(_) => {
                self.is_broken = true;
                return None;
            }
        };
        let next = |(left, number): (u64, u64)| (left.saturating_sub(1), number.saturating_add(1));
        if sign != Sign::Added {
            self.old = next(self.old);
        }
        if sign != Sign::Removed {
            self.new = next(self.new);
        }
        let text = line.get(1..).unwrap_or_default();
        Some(Line::Row { sign, number, text })
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        while !self.is_broken {
            let line = self.lines.next()?;
            let line = line.strip_suffix('\n').unwrap_or(line);
            if self.is_open() {
                return self.row(line);
            }
            if let Some((old, new)) = hunk(line) {
                (self.old, self.new) = ((old.1, old.0), (new.1, new.0));
                return Some(Line::Hunk { old, new });
            }
            if line.starts_with("\\ ") {
                return Some(Line::NoEnd);
            }
            if let Some(name) = line.strip_prefix("+++ ") {
                return Some(Line::NewName(name));
            }
            if let Some(remark) = line.strip_prefix("… ") {
                return Some(Line::Remark(remark));
            }
            if let Some((added, removed)) = stat(line) {
                return Some(Line::Stat { added, removed });
            }
        }
        None
    }
}

/// A range of lines: the first, and their number.
type Range = (u64, u64);

/// Parses the ranges in the header of a hunk, `@@ -1,2 +3,4 @@`.
fn hunk(line: &str) -> Option<(Range, Range)> {
    let (inner, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = inner.split_once(" +")?;
    let range = |text: &str| -> Option<Range> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some((range(old)?, range(new)?))
}

fn stat(line: &str) -> Option<(u64, u64)> {
    let (_, counts) = line.split_once(" changed, ")?;
    let (added, removed) = counts.split_once(", ")?;
    let number = |text: &str, sign: &str| -> Option<u64> { text.strip_suffix(sign)?.split(' ').next()?.parse().ok() };
    Some((number(added, "(+)")?, number(removed, "(-)")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_line_is_what_it_is_and_content_poses_as_nothing() {
        let diff = "1 file changed, 2 insertions(+), 1 deletion(-)\n… Cut\n--- a\n+++ b\n@@ -7,2 +9,3 @@ fn x\n one\n--- a\n+++ b\n+@@ -1 +1 @@\n\\ No newline\nnoise\n";
        let row = |sign, number, text| Line::Row { sign, number, text };
        let read: Vec<Line<'_>> = Reader::new(diff).collect();
        assert_eq!(
            read,
            [
                Line::Stat { added: 2, removed: 1 },
                Line::Remark("Cut"),
                Line::NewName("b"),
                Line::Hunk {
                    old: (7, 2),
                    new: (9, 3)
                },
                row(Sign::Same, 9, "one"),
                row(Sign::Removed, 8, "-- a"),
                row(Sign::Added, 10, "++ b"),
                row(Sign::Added, 11, "@@ -1 +1 @@"),
                Line::NoEnd,
            ]
        );
    }

    #[test]
    fn a_hunk_that_is_cut_is_open() {
        let mut reader = Reader::new("@@ -1,3 +1,3 @@\n one\n");
        assert_eq!(reader.by_ref().count(), 2);
        assert!(reader.is_open());
        // A line that does not fit ends it.
        let mut reader = Reader::new("@@ -1,3 +1,3 @@\n one\ndiff --git a/x b/x\n+++ x\n");
        assert_eq!(reader.by_ref().count(), 2);
        assert!(reader.is_open());
    }

    #[test]
    fn files_are_told_apart_by_their_first_lines() {
        let (one, two) = (
            "diff --git a/x b/x\n@@ -0,0 +1 @@\n+diff --git a/z b/z\n",
            "diff --git a/y b/y\n",
        );
        assert_eq!(files(&format!("noise\n{one}{two}")), [one, two]);
        assert!(files("").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "([-+ @\\\\]|@@ -[0-9]{1,25},?[0-9]* \\+[0-9],1 @@|\n|é){0,80}") {
            Reader::new(&text).count();
            files(&text);
        }
    }
}
