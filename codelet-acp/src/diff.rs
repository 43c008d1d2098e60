//! Unified diffs as the pairs of texts that an editor shows.

use agent_client_protocol::v1::schema::{Diff, ToolCallContent, ToolCallLocation};
use std::path::Path;

/// What a diff comes to for an editor.
#[derive(Default)]
pub(crate) struct Shown {
    /// A pair of texts for each hunk.
    pub content: Vec<ToolCallContent>,
    /// Where each begins.
    pub locations: Vec<ToolCallLocation>,
    /// What is to be known besides, a sentence each.
    pub remarks: Vec<String>,
    /// Changed lines that are in it.
    changed: u64,
}

/// Lines of a hunk that are still to come, and what came.
struct Hunk {
    left: (usize, usize),
    /// The line of the new text at which it begins.
    line: u32,
    old: String,
    new: String,
    /// Nothing stood there before.
    is_first: bool,
    /// How the last line began.
    sign: u8,
    /// Lines that were added or removed.
    changed: u64,
}

/// Reads a unified diff; relative names begin at `base`. What is none is passed over.
pub(crate) fn shown(diff: &str, base: &Path) -> Shown {
    let mut shown = Shown::default();
    let (mut name, mut hunk): (&str, Option<Hunk>) = ("", None);
    let mut all = None;
    for line in diff.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        if bare.starts_with("\\ ") {
            // The line before it has no end.
            if let Some(hunk) = &mut hunk {
                hunk.unend();
            }
            continue;
        }
        if let Some(open) = hunk.as_mut().filter(|hunk| hunk.left != (0, 0)) {
            open.take(line);
            continue;
        }
        if let Some(done) = hunk.take() {
            shown.add(name, base, done);
        }
        if let Some(new) = bare.strip_prefix("+++ ") {
            name = new;
        } else if let Some(remark) = bare.strip_prefix("… ") {
            shown.remarks.push(remark.to_owned());
        } else if let Some(ranges) = bare.strip_prefix("@@ -") {
            hunk = Hunk::of(ranges);
        } else if all.is_none() {
            all = changed_in_all(bare);
        }
    }
    let is_cut = hunk.as_ref().is_some_and(|hunk| hunk.left != (0, 0));
    if let Some(done) = hunk {
        shown.add(name, base, done);
    }
    match all.unwrap_or_default().saturating_sub(shown.changed) {
        0 if is_cut => shown.remarks.push("The rest is not shown".to_owned()),
        0 => {}
        left => shown.remarks.push(format!("Changed lines that are not shown: {left}")),
    }
    shown
}

/// How many lines were added and removed, of a line as git writes it: `1 file changed, 1 insertion(+), 2 deletions(-)`.
fn changed_in_all(line: &str) -> Option<u64> {
    let (_, counts) = line.split_once(" changed, ")?;
    let counts = counts
        .split(", ")
        .map(|count| count.split(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

impl Shown {
    fn add(&mut self, name: &str, base: &Path, hunk: Hunk) {
        let path = base.join(name);
        self.changed += hunk.changed;
        self.locations
            .push(ToolCallLocation::new(path.clone()).line(hunk.line.max(1)));
        let diff = Diff::new(path, hunk.new);
        self.content.push(ToolCallContent::Diff(match hunk.is_first {
            true => diff,
            false => diff.old_text(hunk.old),
        }));
    }
}

impl Hunk {
    /// The hunk of a header, without its beginning: `1,2 +3,4 @@`.
    fn of(ranges: &str) -> Option<Self> {
        let (old, rest) = ranges.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let range = |text: &str| {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.parse::<u32>().ok()?, count.parse::<usize>().ok()?))
        };
        let ((start, old), (line, new)) = (range(old)?, range(new)?);
        Some(Hunk {
            left: (old, new),
            line,
            old: String::new(),
            new: String::new(),
            is_first: start == 0 && old == 0,
            sign: b' ',
            changed: 0,
        })
    }

    fn take(&mut self, line: &str) {
        let text = line.get(1..).unwrap_or_default();
        self.sign = line.as_bytes().first().copied().unwrap_or(b' ');
        self.changed += u64::from(matches!(self.sign, b'+' | b'-'));
        if self.sign != b'+' {
            self.old.push_str(text);
            self.left.0 = self.left.0.saturating_sub(1);
        }
        if self.sign != b'-' {
            self.new.push_str(text);
            self.left.1 = self.left.1.saturating_sub(1);
        }
    }

    /// The line that came last has no end.
    fn unend(&mut self) {
        if self.sign != b'+' {
            self.old
                .truncate(self.old.strip_suffix('\n').map_or(self.old.len(), str::len));
        }
        if self.sign != b'-' {
            self.new
                .truncate(self.new.strip_suffix('\n').map_or(self.new.len(), str::len));
        }
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
        // One that is cut off shows what is there.
        assert_eq!(shown("+++ a\n@@ -1,3 +1,3 @@\n é", Path::new("/")).content.len(), 1);
    }
}
