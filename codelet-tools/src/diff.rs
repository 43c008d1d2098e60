//! The diff of a change for a permission prompt: a unified diff of whole hunks. If it is incomplete, it begins with the
//! totals as in git, `1 file changed, 1 insertion(+), 2 deletions(-)`; a line outside the hunks that begins with `…` is
//! a remark.

use crate::secrets::Secrets;
use codelet_text::short::on_one_line;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// Longest diff, in bytes.
const SHOWN: usize = 64 * 1024;
/// Time limit for finding the shortest diff.
const TIME: Duration = Duration::from_millis(100);
/// Context lines around a change.
const AROUND: usize = 3;
/// Consecutive removed lines that are shown if there is no room for all: the lines that replace them matter more.
const REMOVED: usize = 20;
/// Bytes of a line that are shown in that case, and how many of them precede the change in it.
const LINE: usize = 2_000;
const BEFORE: usize = 200;

/// A line of a diff, with the number of lines before it in the old and the new text.
#[derive(Clone)]
struct Row<'a> {
    sign: char,
    old: usize,
    new: usize,
    text: Cow<'a, str>,
    /// Bytes of the line that are left out before and after the text.
    cut: (usize, usize),
}

impl<'a> Row<'a> {
    fn new(sign: char, old: usize, new: usize, text: &'a str) -> Self {
        Row {
            sign,
            old,
            new,
            text: Cow::Borrowed(text),
            cut: (0, 0),
        }
    }

    /// Cuts a long line to the part around this byte.
    fn cut_around(&mut self, at: usize) {
        if self.text.len() > LINE {
            let from = self.text.floor_char_boundary(at.saturating_sub(BEFORE));
            let to = self.text.floor_char_boundary(from + LINE);
            self.cut = (from, self.text.len() - to);
            self.text = Cow::Owned(self.text[from..to].to_owned());
        }
    }
}

impl Row<'_> {
    /// Its size in bytes.
    fn len(&self) -> usize {
        self.text.len() + 2
    }
}

/// A unified diff; empty if the texts are equal. However long the texts are, the changes are shown; of long changes,
/// the beginning. Where a line is cut, no part of a secret is left; elsewhere, secrets stay.
pub(crate) fn unified(name: &str, old: &str, new: &str, secrets: &Secrets) -> String {
    let rows = compared(old, new);
    let (added, removed) = signs(&rows);
    let mut shown = rows;
    let is_whole = shown.iter().map(Row::len).sum::<usize>() <= SHOWN;
    if !is_whole {
        shorten(&mut shown, secrets);
    }
    written(name, &shown, (!is_whole).then_some((added, removed)))
}

/// Counts the lines added and removed.
pub(crate) fn count(old: &str, new: &str) -> (u64, u64) {
    let (added, removed) = signs(&compared(old, new));
    (added as u64, removed as u64)
}

fn signs(rows: &[Row<'_>]) -> (usize, usize) {
    let count = |sign| rows.iter().filter(|row| row.sign == sign).count();
    (count('+'), count('-'))
}

/// The changed lines with context.
fn compared<'a>(old: &'a str, new: &'a str) -> Vec<Row<'a>> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let until = Instant::now() + TIME;
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(until));
    rows(&ops, &old, &new)
}

/// A remark on a change beside its diff: a sentence without a full stop.
pub(crate) fn remark(words: &str) -> String {
    format!("… {}\n", in_one_line(words))
}

/// The changed lines with context, in order.
fn rows<'a>(ops: &[DiffOp], old: &[&'a str], new: &[&'a str]) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for op in group_diff_ops(ops.to_vec(), AROUND).into_iter().flatten() {
        let (before, after) = (op.old_range(), op.new_range());
        if let DiffOp::Equal { .. } = op {
            rows.extend(before.zip(after).map(|(at, behind)| Row::new(' ', at, behind, old[at])));
            continue;
        }
        let (first_new, last_old) = (after.start, before.end);
        rows.extend(before.map(|at| Row::new('-', at, first_new, old[at])));
        rows.extend(after.map(|at| Row::new('+', last_old, at, new[at])));
    }
    rows
}

/// Shortens a diff to the room: first long lines to the part that changes, then long runs of removed lines to the first
/// ones, then the end.
fn shorten(rows: &mut Vec<Row<'_>>, secrets: &Secrets) {
    for row in rows.iter_mut().filter(|row| row.text.len() > LINE) {
        if let Cow::Owned(hidden) = secrets.hide(&row.text) {
            row.text = Cow::Owned(hidden);
        }
    }
    for run in rows.chunk_by_mut(|before, row| before.sign == row.sign || (before.sign, row.sign) == ('-', '+')) {
        let removed = run.iter().take_while(|row| row.sign == '-').count();
        let (old, new) = run.split_at_mut(removed);
        let pairs = old.len().min(new.len());
        for (old, new) in old.iter_mut().zip(new.iter_mut()) {
            let both = old.text.bytes().zip(new.text.bytes());
            let same = both.take_while(|(old, new)| old == new).count();
            old.cut_around(same);
            new.cut_around(same);
        }
        let alone = old.iter_mut().skip(pairs).chain(new.iter_mut().skip(pairs));
        alone.for_each(|row| row.cut_around(0));
    }
    let mut run = 0;
    rows.retain(|row| {
        run = if row.sign == '-' { run + 1 } else { 0 };
        run <= REMOVED
    });
    let mut bytes = 0;
    let kept = rows.iter().take_while(|row| {
        bytes += row.len();
        bytes <= SHOWN
    });
    let kept = kept.count();
    rows.truncate(kept);
}

/// Formats the rows as complete hunks.
fn written(name: &str, rows: &[Row<'_>], all: Option<(usize, usize)>) -> String {
    if rows.is_empty() && all.is_none() {
        return String::new();
    }
    let mut out = String::new();
    if let Some((added, removed)) = all {
        let ending = |count| if count == 1 { "" } else { "s" };
        out.push_str(&format!(
            "1 file changed, {added} insertion{}(+), {removed} deletion{}(-)\n",
            ending(added),
            ending(removed)
        ));
    }
    let name = in_one_line(name);
    out.push_str(&format!("--- {name}\n+++ {name}\n"));
    let follows = |before: &Row<'_>, row: &Row<'_>| {
        row.old == before.old + usize::from(before.sign != '+')
            && row.new == before.new + usize::from(before.sign != '-')
    };
    for hunk in rows.chunk_by(follows) {
        let lines = |other| hunk.iter().filter(|row| row.sign != other).count();
        let (old, new) = (lines('+'), lines('-'));
        // An empty range starts after the line before it.
        let start = |before: usize, count: usize| before + usize::from(count > 0);
        let range = |start: usize, count: usize| match count {
            1 => start.to_string(),
            count => format!("{start},{count}"),
        };
        out.push_str(&format!(
            "@@ -{} +{} @@\n",
            range(start(hunk[0].old, old), old),
            range(start(hunk[0].new, new), new)
        ));
        for row in hunk {
            out.push(row.sign);
            out.push_str(if row.cut.0 > 0 { "…" } else { "" });
            out.push_str(&row.text);
            if row.cut.1 > 0 {
                out.push_str("…\n");
            } else if !row.text.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    out
}

/// Replaces line breaks, so that a name cannot pose as a line of the diff.
fn in_one_line(text: &str) -> String {
    on_one_line(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use similar::TextDiff;

    fn diff_of(name: &str, old: &str, new: &str) -> String {
        unified(name, old, new, &Secrets::default())
    }

    fn numbered(count: usize) -> String {
        (1..=count).map(|n| format!("line {n} of a long file\n")).collect()
    }

    #[test]
    fn one_line_of_a_long_file_is_shown_with_those_around_it() {
        let old = numbered(250_000);
        let new = old.replace("line 177000 of", "LINE of");
        assert!(old.len() > 5_000_000);
        assert_eq!(
            diff_of("big.txt", &old, &new),
            "--- big.txt\n+++ big.txt\n@@ -176997,7 +176997,7 @@\n line 176997 of a long file\n line 176998 of a long file\n \
             line 176999 of a long file\n-line 177000 of a long file\n+LINE of a long file\n line 177001 of a long file\n \
             line 177002 of a long file\n line 177003 of a long file\n"
        );
    }

    #[test]
    fn changes_at_both_ends_of_a_long_file_are_two_hunks() {
        let old = numbered(200_000);
        let new = format!("first\n{}last\n", old);
        let diff = diff_of("a", &old, &new);
        assert_eq!(diff.matches("@@ -").count(), 2, "{diff}");
        assert!(
            diff.contains("+first\n") && diff.contains("+last\n") && diff.len() < 500,
            "{diff}"
        );
    }

    #[test]
    fn what_takes_the_place_of_a_long_text_is_shown_whatever_goes() {
        let diff = diff_of("a", &numbered(300_000), "all gone\n");
        assert!(
            diff.starts_with("1 file changed, 1 insertion(+), 300000 deletions(-)\n--- a\n+++ a\n@@ -1,20 +0,0 @@\n"),
            "{diff}"
        );
        assert!(diff.ends_with("@@ -300000,0 +1 @@\n+all gone\n"), "{diff}");
        let diff = diff_of("a", &"a\n".repeat(500_001), "b\n");
        assert!(diff.contains(", 1 insertion(+), 500001 deletions(-)") && diff.ends_with("+b\n"));
    }

    #[test]
    fn a_long_change_is_shown_as_far_as_there_is_room_and_says_how_much_it_is() {
        let diff = diff_of("a", "", &numbered(10_000));
        assert!(diff.starts_with("1 file changed, 10000 insertions(+), 0 deletions(-)\n"));
        assert!(diff.len() <= SHOWN + 200 && diff.len() > SHOWN / 2);
        let long = "word ".repeat(SHOWN);
        let diff = diff_of("a", &format!("{long}old {long}"), &format!("{long}new {long}"));
        assert!(
            diff.starts_with("1 file changed, 1 insertion(+), 1 deletion(-)\n") && diff.len() < 3 * LINE,
            "{diff}"
        );
        assert!(
            diff.contains("word old word") && diff.contains("word new word"),
            "{diff}"
        );
    }

    #[test]
    fn where_a_line_is_cut_no_half_of_a_secret_is_left() {
        let secret = "sk-hidden-0123456789";
        let secrets = Secrets::new(&[secret.to_owned()]);
        for before in LINE - 30..LINE + 5 {
            let line = format!("{}{secret}{}\n", "x".repeat(before), "y".repeat(SHOWN));
            let diff = unified("a", "", &line, &secrets);
            assert!(!diff.contains("sk-h") && diff.contains("xxx"), "{before}");
        }
    }

    #[test]
    fn texts_that_are_alike_have_no_diff() {
        for text in ["", "a", "a\n", "a\nb"] {
            assert_eq!(diff_of("a", text, text), "");
        }
        assert_eq!(
            diff_of("a\n@@ -1 +1 @@\n-x", "a", "a\n"),
            "--- a @@ -1 +1 @@ -x\n+++ a @@ -1 +1 @@ -x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"
        );
    }

    proptest! {
        #[test]
        fn it_says_the_same_as_a_diff_of_the_whole_texts(
            old in "([ab]?\r?\n){0,12}[abä]?", new in "([ab]?\n){0,12}[abä]?", around in "([a-e]\n){0,9}", behind in "([a-e]\n){0,9}",
        ) {
            let (old, new) = (format!("{around}{old}{behind}"), format!("{around}{new}{behind}"));
            let applied = applied(&old, &diff_of("a", &old, &new));
            prop_assert_eq!(&applied, &new);
            let whole = TextDiff::from_lines(&old, &new).unified_diff().context_radius(3).header("a", "a").to_string();
            prop_assert_eq!(whole.is_empty(), diff_of("a", &old, &new).is_empty());
        }
    }

    /// Applies a diff to the old text.
    fn applied(old: &str, diff: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut new, mut at) = (String::new(), 0);
        let mut lines = diff.split_inclusive('\n').skip(2).peekable();
        while let Some(line) = lines.next() {
            if let Some(range) = line.strip_prefix("@@ -") {
                let start = range
                    .split([',', ' '])
                    .next()
                    .and_then(|start| start.parse::<usize>().ok())
                    .unwrap();
                let is_empty = range.split(' ').next().unwrap().ends_with(",0");
                let start = if is_empty { start } else { start - 1 };
                new.extend(old[at..start].iter().copied());
                at = start;
                continue;
            }
            let (sign, text) = line.split_at(1);
            let text = match lines.peek().is_some_and(|next| next.starts_with('\\')) {
                true => {
                    lines.next();
                    text.trim_end_matches('\n')
                }
                false => text,
            };
            if sign != "+" {
                assert_eq!(old[at], text);
                at += 1;
            }
            if sign != "-" {
                new.push_str(text);
            }
        }
        new.extend(old[at..].iter().copied());
        new
    }
}
