//! Converts unified diffs into the text pairs that an editor shows.

use agent_client_protocol::v1::schema::{Diff, ToolCallContent, ToolCallLocation};
use codelet_text::unified::{Line, Reader, Sign};
use std::path::Path;

/// A diff as an editor shows it.
#[derive(Default)]
pub(crate) struct EditorDiff {
    /// A text pair for each hunk.
    pub content: Vec<ToolCallContent>,
    /// The location of each hunk.
    pub locations: Vec<ToolCallLocation>,
    /// Further remarks, a sentence each.
    pub remarks: Vec<String>,
}

/// The two texts of a hunk.
struct Hunk {
    /// Its first line in the new text.
    line: u64,
    old: String,
    new: String,
    /// The file is new.
    is_first: bool,
    /// The sign of the last line.
    sign: Sign,
}

/// Parses a unified diff; relative names are resolved against `base`. Ignores anything else.
pub(crate) fn shown(diff: &str, base: &Path) -> EditorDiff {
    let mut shown = EditorDiff::default();
    let (mut name, mut hunk): (&str, Option<Hunk>) = ("", None);
    let (mut all, mut changed) = (None, 0);
    let mut lines = Reader::new(diff);
    for line in lines.by_ref() {
        match (line, &mut hunk) {
            (Line::Row { sign, text, .. }, Some(hunk)) => {
                changed += u64::from(sign != Sign::Same);
                hunk.take(sign, text);
            }
            (Line::NoEnd, Some(hunk)) => hunk.unend(),
            (Line::Hunk { old, new }, _) => {
                shown.add(name, base, hunk.replace(Hunk::new(old, new)));
            }
            (Line::NewName(new), _) => {
                shown.add(name, base, hunk.take());
                name = new;
            }
            (Line::Remark(remark), _) => shown.remarks.push(remark.to_owned()),
            (Line::Stat { added, removed }, _) => all = all.or(added.checked_add(removed)),
            _ => {}
        }
    }
    shown.add(name, base, hunk);
    match all.unwrap_or_default().saturating_sub(changed) {
        0 if lines.is_open() => shown.remarks.push("The rest is not shown".to_owned()),
        0 => {}
        left => shown.remarks.push(format!("Changed lines that are not shown: {left}")),
    }
    shown
}

impl EditorDiff {
    fn add(&mut self, name: &str, base: &Path, hunk: Option<Hunk>) {
        let Some(hunk) = hunk else { return };
        let path = base.join(name);
        let line = u32::try_from(hunk.line).unwrap_or(u32::MAX);
        self.locations
            .push(ToolCallLocation::new(path.clone()).line(line.max(1)));
        let diff = Diff::new(path, hunk.new);
        self.content.push(ToolCallContent::Diff(match hunk.is_first {
            true => diff,
            false => diff.old_text(hunk.old),
        }));
    }
}

impl Hunk {
    fn new(old: (u64, u64), new: (u64, u64)) -> Self {
        Hunk {
            line: new.0,
            old: String::new(),
            new: String::new(),
            is_first: old == (0, 0),
            sign: Sign::Same,
        }
    }

    fn take(&mut self, sign: Sign, text: &str) {
        self.sign = sign;
        for side in self.sides() {
            side.push_str(text);
            side.push('\n');
        }
    }

    /// Removes the line end of the last line.
    fn unend(&mut self) {
        for side in self.sides() {
            side.truncate(side.strip_suffix('\n').map_or(side.len(), str::len));
        }
    }

    /// The texts that contain the last line.
    fn sides(&mut self) -> impl Iterator<Item = &mut String> {
        let old = (self.sign != Sign::Added).then_some(&mut self.old);
        let new = (self.sign != Sign::Removed).then_some(&mut self.new);
        old.into_iter().chain(new)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    #[test]
    fn each_hunk_is_a_pair_of_texts_with_its_place() {
        let diff = "… What is there is overwritten\n--- a.rs\n+++ a.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+--- 2\n@@ -9 +9,2 @@\n nine\n+ten\n\
                    --- /abs/b\n+++ /abs/b\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n";
        let shown = shown(diff, Path::new("/w"));
        assert_eq!(
            serde_json::to_value(&shown.content).unwrap(),
            json!([
                {"type": "diff", "path": "/w/a.rs", "oldText": "one\ntwo\n", "newText": "one\n--- 2\n"},
                {"type": "diff", "path": "/w/a.rs", "oldText": "nine\n", "newText": "nine\nten\n"},
                {"type": "diff", "path": "/abs/b", "newText": "new"},
            ])
        );
        let lines: Vec<_> = shown.locations.iter().map(|location| location.line).collect();
        assert_eq!(lines, [Some(1), Some(9), Some(1)]);
        assert_eq!(shown.remarks, ["What is there is overwritten"]);
    }

    #[test]
    fn a_change_that_is_not_all_there_says_how_much_is_missing() {
        let diff = "1 file changed, 1 insertion(+), 120 deletions(-)\n--- l\n+++ l\n@@ -1,2 +0,0 @@\n-a\n-b\n@@ -120,0 +1 @@\n+all gone\n";
        assert_eq!(
            shown(diff, Path::new("/w")).remarks,
            ["Changed lines that are not shown: 118"]
        );
        let cut = "+++ a\n@@ -1,3 +1,3 @@\n a\n";
        assert_eq!(shown(cut, Path::new("/w")).remarks, ["The rest is not shown"]);
        let whole = "1 file changed, 1 insertion(+), 0 deletions(-)\n+++ a\n@@ -0,0 +1 @@\n+a\n";
        assert!(shown(whole, Path::new("/w")).remarks.is_empty());
    }

    #[test]
    fn what_is_no_diff_comes_to_nothing() {
        for text in ["", "hello\n", "@@ -x +1 @@\n+a", "@@ -1 +1", "+++ a\n@@ -é,1 +1 @@\né"] {
            assert!(shown(text, Path::new("/")).content.is_empty(), "{text:?}");
        }
        // A truncated diff shows what is there.
        assert_eq!(shown("+++ a\n@@ -1,3 +1,3 @@\n é", Path::new("/")).content.len(), 1);
    }
}
