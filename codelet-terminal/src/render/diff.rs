//! Changes to a file: numbered lines with the changed words marked; unchanged parts are left out.

use super::clean::clean;
use super::figures::{count, number};
use super::look::{Look, Role};
use super::wrap::{Breaking, Wrap};
use codelet_text::unified::{self, Reader, Sign};
use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};

/// Lines longer than this, in bytes, are not compared word by word.
const COMPARED: usize = 1_000;
/// Runs of more lines than this are not compared word by word.
const PAIRS: usize = 50;
/// Lines with a smaller ratio in common count as unrelated.
const ALIKE: f32 = 0.4;

/// The changes to a text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diff {
    hunks: Vec<Vec<DiffRow>>,
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
    /// The end of the diff is missing.
    pub is_cut: bool,
    /// Further remarks on the change, a sentence each.
    pub remarks: Vec<String>,
    /// Changed lines that are missing from the diff.
    unseen: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct DiffRow {
    sign: Sign,
    /// The line's number, in the old text if it was removed, otherwise in the new one.
    number: u64,
    text: String,
}

impl Diff {
    /// Returns whether this diff shows the same changed lines as another one, at the same places.
    pub(crate) fn has_rows_of(&self, other: &Diff) -> bool {
        !other.is_empty() && self.hunks == other.hunks
    }

    /// Parses a unified diff; ignores anything else. A line counts as a header only where no hunk expects a line, so
    /// that a file's content cannot imitate one.
    pub fn parse(text: &str) -> Self {
        let mut diff = Diff::default();
        let mut all = None;
        let mut reader = Reader::new(text);
        for line in reader.by_ref() {
            match line {
                unified::Line::Hunk { .. } => diff.hunks.push(Vec::new()),
                unified::Line::Row { sign, number, text } => {
                    let text = text.to_owned();
                    if let Some(rows) = diff.hunks.last_mut() {
                        rows.push(DiffRow { sign, number, text });
                    }
                    diff.added += u64::from(sign == Sign::Added);
                    diff.removed += u64::from(sign == Sign::Removed);
                }
                unified::Line::Remark(remark) => diff.remarks.push(remark.to_owned()),
                unified::Line::Stat { added, removed } => all = Some((added, removed)),
                unified::Line::NewName(_) | unified::Line::NoEnd => {}
            }
        }
        diff.is_cut = reader.is_open();
        if let Some((added, removed)) = all {
            let unseen = |all: u64, seen| all.saturating_sub(seen);
            diff.unseen = unseen(added, diff.added).saturating_add(unseen(removed, diff.removed));
            (diff.added, diff.removed) = (diff.added.max(added), diff.removed.max(removed));
        }
        diff
    }

    /// The difference between two texts.
    pub fn between(old: &str, new: &str) -> Self {
        let text = TextDiff::from_lines(old, new)
            .unified_diff()
            .context_radius(3)
            .to_string();
        Diff::parse(&text)
    }

    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.hunks.is_empty()
    }

    /// The number of lines shown, changed and context.
    pub fn rows(&self) -> usize {
        self.hunks.iter().map(Vec::len).sum()
    }

    /// A description of the changes that are missing even when unfolded; `None` if it is complete.
    pub fn left_out(&self) -> Option<String> {
        match (self.unseen, self.is_cut) {
            (0, false) => None,
            (0, true) => Some("the rest is not shown".to_owned()),
            (unseen, _) => {
                let are = if unseen == 1 { "is" } else { "are" };
                Some(format!("{} {are} not shown", count(unseen, "more changed line")))
            }
        }
    }

    /// `+3 −1`; `+3… −1…` for a diff whose end is missing.
    pub fn summary(&self, look: &Look) -> Vec<Span<'static>> {
        let more = if self.is_cut { look.pick("…", "...") } else { "" };
        vec![
            Span::styled(format!("+{}{more}", number(self.added)), look.style(Role::Added)),
            Span::raw(" "),
            Span::styled(
                format!("{}{}{more}", look.pick("−", "-"), number(self.removed)),
                look.style(Role::Removed),
            ),
        ]
    }

    /// The changed lines with context, at most `most` lines of the text; a last row gives the number of further lines.
    pub fn lines(&self, look: &Look, most: usize) -> Vec<Line<'static>> {
        let last = self.hunks.iter().flatten().map(|row| row.number).max().unwrap_or(0);
        let digits = last.to_string().len();
        let mut out = Vec::new();
        let mut left = most;
        for (index, rows) in self.hunks.iter().enumerate() {
            if left == 0 {
                break;
            }
            if index > 0 {
                out.push(gap(digits, look));
            }
            show_hunk(rows, &mut left, digits, look, &mut out);
        }
        let all: usize = self.hunks.iter().map(Vec::len).sum();
        let more = all - (most - left);
        let folded = (more > 0).then(|| count(more as u64, "more line"));
        let words: Vec<String> = folded.into_iter().chain(self.left_out()).collect();
        if !words.is_empty() {
            let words = words.join("; ");
            let (first, rest) = (format!("{:>digits$} ", ""), " ".repeat(digits + 3));
            let words = format!("{} {words}", look.pick("…", "..."));
            let (first, rest) = (vec![Span::raw(first)], vec![Span::raw(rest)]);
            Wrap::new(look.width, Breaking::Prose, first, rest).all(look.style(Role::Dim), &words, &mut out);
        }
        out
    }
}

/// Shows the first rows of a hunk, at most `left`. Of a long replacement, the new text gets at least half of them.
fn show_hunk(rows: &[DiffRow], left: &mut usize, digits: usize, look: &Look, out: &mut Vec<Line<'static>>) {
    let mut at = 0;
    while at < rows.len() && *left > 0 {
        let run = |from: usize, sign: Sign| rows[from..].iter().take_while(|row| row.sign == sign).count();
        let removed = run(at, Sign::Removed);
        let added = run(at + removed, Sign::Added);
        if removed == 0 && added == 0 {
            show_row(&rows[at], vec![(false, rows[at].text.clone())], digits, look, out);
            *left -= 1;
            at += 1;
            continue;
        }
        let old_shown = removed.min(*left - added.min(*left / 2));
        let new_shown = added.min(*left - old_shown);
        *left -= old_shown + new_shown;
        let new = at + removed;
        let (old, new) = (&rows[at..at + old_shown], &rows[new..new + new_shown]);
        // Each removed line is probably the previous version of the added one at the same position; where it is not,
        // too few words match.
        let marked: Vec<Option<ChangedWords>> = match removed.max(added) <= PAIRS {
            true => old
                .iter()
                .zip(new)
                .map(|(old, new)| words(&old.text, &new.text))
                .collect(),
            false => Vec::new(),
        };
        let (before, after): (Vec<_>, Vec<_>) = marked.into_iter().map(Option::unzip).unzip();
        for (rows, mut marks, is_cut) in [(old, before, false), (new, after, old_shown < removed && new_shown > 0)] {
            if is_cut {
                out.push(gap(digits, look));
            }
            marks.resize(rows.len(), None);
            for (row, pieces) in rows.iter().zip(marks) {
                let pieces = pieces.unwrap_or_else(|| vec![(false, row.text.clone())]);
                show_row(row, pieces, digits, look, out);
            }
        }
        at += removed + added;
    }
}

/// The row in place of lines that are left out between others.
fn gap(digits: usize, look: &Look) -> Line<'static> {
    let dots = format!("{:>digits$} {}", "", look.pick("⋮", ":"));
    Line::from(Span::styled(dots, look.style(Role::Dim)))
}

/// The pieces of a line before and after, each with whether it changed.
type ChangedWords = (Vec<(bool, String)>, Vec<(bool, String)>);

/// Compares two lines word by word; `None` if too few words match.
fn words(old: &str, new: &str) -> Option<ChangedWords> {
    if old.len() > COMPARED || new.len() > COMPARED {
        return None;
    }
    let diff = TextDiff::from_unicode_words(old, new);
    if diff.ratio() < ALIKE {
        return None;
    }
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let push = |to: &mut Vec<(bool, String)>, is_changed: bool, text: &str| match to.last_mut() {
        Some((last, words)) if *last == is_changed => words.push_str(text),
        _ => to.push((is_changed, text.to_owned())),
    };
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => {
                push(&mut before, false, change.value());
                push(&mut after, false, change.value());
            }
            ChangeTag::Delete => push(&mut before, true, change.value()),
            ChangeTag::Insert => push(&mut after, true, change.value()),
        }
    }
    Some((before, after))
}

fn show_row(row: &DiffRow, pieces: Vec<(bool, String)>, digits: usize, look: &Look, out: &mut Vec<Line<'static>>) {
    let (sign, role, marked) = match row.sign {
        Sign::Same => (" ", Role::Text, Role::Text),
        Sign::Added => ("+", Role::Added, Role::AddedWords),
        Sign::Removed => ("-", Role::Removed, Role::RemovedWords),
    };
    let first = vec![
        Span::styled(format!("{:>digits$} ", row.number), look.style(Role::Dim)),
        Span::styled(format!("{sign} "), look.style(role)),
    ];
    let rest = vec![Span::raw(" ".repeat(digits + 3))];
    let mut wrap = Wrap::new(look.width, Breaking::Exact, first, rest);
    for (is_marked, text) in pieces {
        wrap.push(look.style(if is_marked { marked } else { role }), &clean(&text, 4), out);
    }
    wrap.finish(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::wrap::{line_columns, line_text};
    use proptest::prelude::*;

    fn shown(diff: &Diff, most: usize) -> Vec<String> {
        diff.lines(&Look::plain(40), most)
            .iter()
            .map(|line| line_text(line).trim_end().to_owned())
            .collect()
    }

    #[test]
    fn lines_have_their_numbers_and_distant_ones_are_left_out() {
        let old: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 2\n", "line two\n").replace("line 25\n", "");
        let diff = Diff::between(&old, &new);
        assert_eq!((diff.added, diff.removed), (1, 2));
        assert_eq!(
            shown(&diff, 100),
            [
                " 1   line 1", " 2 - line 2", " 2 + line two", " 3   line 3", " 4   line 4", " 5   line 5", "   :",
                "22   line 22", "23   line 23", "24   line 24", "25 - line 25", "25   line 26", "26   line 27",
                "27   line 28"
            ]
        );
        assert_eq!(shown(&diff, 2), [" 1   line 1", " 2 - line 2", "   ... 11 more lines"]);
    }

    #[test]
    fn of_a_long_replacement_the_new_text_is_shown_too() {
        let text = |word: &str| (1..=20).map(|n| format!("{word} {n}\n")).collect::<String>();
        let diff = Diff::between(&text("old"), &text("new"));
        assert_eq!(
            shown(&diff, 5),
            [
                &[
                    " 1 - old 1", " 2 - old 2", " 3 - old 3", "   :", " 1 + new 1", " 2 + new 2"
                ][..],
                &["   ... 35 more lines"]
            ]
            .concat()
        );
        let diff = Diff::between(&text("old"), "new\n");
        assert_eq!(
            shown(&diff, 3),
            [" 1 - old 1", " 2 - old 2", "   :", " 1 + new", "   ... 18 more lines"]
        );
        let diff = Diff::between("old\n", &text("new"));
        assert_eq!(
            shown(&diff, 3),
            [" 1 - old", " 1 + new 1", " 2 + new 2", "   ... 18 more lines"]
        );
    }

    #[test]
    fn the_changed_words_of_a_line_are_marked() {
        let look = Look::new(80, crate::render::look::Styles::Colour, Default::default());
        let lines = Diff::between("let a = 1;\n", "let b = 1;\n").lines(&look, 10);
        let marked = |line: &Line<'_>, role| {
            line.spans
                .iter()
                .filter(|span| span.style == look.style(role))
                .map(|span| span.content.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(marked(&lines[0], Role::RemovedWords), ["a"]);
        assert_eq!(marked(&lines[1], Role::AddedWords), ["b"]);
    }

    #[test]
    fn content_that_looks_like_a_header_is_content() {
        let diff = Diff::between("-- a\n@@ -1 +1 @@\n", "++ b\n");
        assert_eq!((diff.added, diff.removed), (1, 2));
        assert_eq!(shown(&diff, 10), ["1 - -- a", "2 - @@ -1 +1 @@", "1 + ++ b"]);
    }

    #[test]
    fn a_diff_that_was_cut_says_so() {
        let diff = Diff::parse("--- a\n+++ a\n@@ -1,2 +1,3 @@\n a\n+b\n… the rest is not shown\n");
        assert_eq!((diff.added, diff.removed, diff.is_cut), (1, 0, true));
        assert_eq!(
            shown(&diff, 10).last().map(String::as_str),
            Some("  ... the rest is not shown")
        );
    }

    #[test]
    fn a_diff_that_shows_a_part_tells_how_much_all_is() {
        let text = "… It is long\n1 file changed, 1 insertion(+), 70 deletions(-)\n--- a\n+++ a\n@@ -1 +0,0 @@\n-1 file changed, \
                    9 insertions(+), 9 deletions(-)\n@@ -70,0 +1 @@\n+… b\n";
        let diff = Diff::parse(text);
        assert_eq!((diff.added, diff.removed, diff.is_cut), (1, 70, false));
        assert_eq!(diff.remarks, ["It is long"]);
        let lines = shown(&diff, 10);
        let told = |lines: &[String]| lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            told(&lines).ends_with("... 69 more changed lines are not shown"),
            "{lines:?}"
        );
        let folded = shown(&diff, 1);
        assert!(
            told(&folded).ends_with("... 1 more line; 69 more changed lines are not shown"),
            "{folded:?}"
        );
    }

    proptest! {
        #[test]
        fn any_two_texts_are_counted_and_fit(old in "([a-c日\t\u{1b}+@ -]{0,12}\n){0,8}", new in "([a-c日\t\u{1b}+@ -]{0,12}\n){0,8}", width in 8usize..30) {
            let diff = Diff::between(&old, &new);
            let lines = |text: &str| text.lines().count() as u64;
            prop_assert_eq!(lines(&old) + diff.added, lines(&new) + diff.removed);
            prop_assert!(!diff.is_cut);
            for line in diff.lines(&Look::plain(width), 100) {
                prop_assert!(line_columns(&line) <= width, "{:?}", line_text(&line));
            }
        }

        #[test]
        fn any_text_is_read_as_a_diff_without_a_panic(text in "(@@ -[0-9]{1,25},?[0-9]{0,3} \\+[0-9]{1,3} @@\n|[+ \\\\-][ab]{0,3}\n|.{0,9}\n){0,9}") {
            let _ = Diff::parse(&text).lines(&Look::plain(20), 5);
        }
    }
}
