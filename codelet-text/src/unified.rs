//! Unified diffs, line by line. A line counts as a header only where no hunk expects a line, so that a file's content cannot pose as one.

use std::str::SplitInclusive;

/// What begins the part of each file in a diff of git's.
const BEGINS: &str = "diff --git ";

/// The parts of a diff of git's, a file each. A line of a file's content begins with a sign, and so never as a part does.
pub fn files(diff: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = diff.match_indices(BEGINS).map(|(at, _)| at).collect();
    starts.retain(|&at| at == 0 || diff.as_bytes()[at - 1] == b'\n');
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    starts.iter().zip(ends).map(|(&from, to)| &diff[from..to]).collect()
}

/// A line of a diff, as what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'a> {
    /// The new name of a file, behind `+++ `.
    NewName(&'a str),
    /// A hunk begins.
    Hunk {
        /// The line of the old text at which it begins, and how many of it there are.
        old: (u64, u64),
        /// The same of the new text.
        new: (u64, u64),
    },
    /// A line of a hunk.
    Row {
        /// What becomes of it.
        sign: Sign,
        /// Where it stands: in the old text if it is removed, in the new one otherwise.
        number: u64,
        /// The line, without its sign and its end.
        text: &'a str,
    },
    /// The row before it is the last of its text and has no end.
    NoEnd,
    /// What else is to be known, behind `… `.
    Remark(&'a str),
    /// Lines added and removed in all, as git tells them: `1 file changed, 1 insertion(+), 2 deletions(-)`.
    Stat {
        /// Added.
        added: u64,
        /// Removed.
        removed: u64,
    },
}

/// What becomes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// Nothing.
    Same,
    /// It is new.
    Added,
    /// It goes away.
    Removed,
}

/// Reads a diff. What is none is passed over; at a line that its hunk cannot hold it ends.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    lines: SplitInclusive<'a, char>,
    /// Lines that the hunk still expects of the old text, and the number of the next one; and the same of the new text.
    old: (u64, u64),
    new: (u64, u64),
    is_broken: bool,
}

impl<'a> Reader<'a> {
    /// Of this diff.
    pub fn new(diff: &'a str) -> Self {
        Reader {
            lines: diff.split_inclusive('\n'),
            old: (0, 0),
            new: (0, 0),
            is_broken: false,
        }
    }

    /// Whether the hunk that was begun last expects more lines.
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

/// A range of lines: where it begins, and how many there are.
type Range = (u64, u64);

/// The ranges in the header of a hunk, `@@ -1,2 +3,4 @@`.
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
        // What it cannot hold ends it.
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
