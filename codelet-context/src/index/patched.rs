//! Patches that a program applied: what they take away stands no longer in their files, whatever showed it there before.

use super::Index;
use crate::authored;
use crate::command::CommandLine;
use crate::message::ToolResult;
use crate::path::Folder;

/// What a patch says of a file: the lines that it takes away, and those that stand there then, as items.
struct Section {
    file: u64,
    gone: Vec<u32>,
    stays: Vec<u32>,
}

impl Index {
    /// The call of this block has run a line to its end.
    pub(super) fn take_away_patched(&mut self, call: u32, line: &CommandLine, result: &ToolResult) {
        let applied = line.scripted().map_or(&[][..], |scripted| scripted.applied());
        if applied.is_empty() || authored::has_done_nothing(result) {
            return;
        }
        let mut taken: Vec<u32> = Vec::new();
        for patch in applied {
            let document = patch.file.map_or(Some(call), |file| self.patches.get(&file).copied());
            // A line that brings several patches has them in one block.
            let Some(document) = document.filter(|document| !taken.contains(document)) else {
                continue;
            };
            taken.push(document);
            for section in self.sections(document, &patch.at) {
                let Section { file, gone, stays } = section;
                self.take_from(file, call, (gone, stays), false, false);
            }
        }
    }

    /// What the patches in a block say of files that are known.
    fn sections(&self, document: u32, at: &Folder) -> Vec<Section> {
        let Some(block) = self.blocks.get(document as usize) else {
            return Vec::new();
        };
        let mut sections: Vec<Section> = Vec::new();
        let (mut is_within, mut is_named) = (false, false);
        for line in block.lines.clone() {
            let text = self.text_of(block, line as usize);
            if let Some(path) = named(text, is_named) {
                let file = self.files.meant(&at.name(path));
                is_within = file.is_some();
                sections.extend(file.map(|file| Section {
                    file,
                    gone: Vec::new(),
                    stays: Vec::new(),
                }));
            } else if let Some(section) = sections.last_mut().filter(|_| is_within) {
                match text.as_bytes().first() {
                    Some(b'-') if !text.starts_with("--- ") => section.gone.extend(self.line_item(line)),
                    Some(b'+' | b' ') => section.stays.extend(self.line_item(line)),
                    Some(b'@' | b'\\') => {}
                    _ => is_within = false,
                }
            }
            is_named = text.starts_with("--- ");
        }
        for section in &mut sections {
            section.gone.sort_unstable();
            section.stays.sort_unstable();
        }
        sections
    }
}

/// The file that a line of a patch names, if it begins what is said of one.
fn named(line: &str, is_behind_old: bool) -> Option<&str> {
    if let Some(path) = line.strip_prefix("*** Update File: ") {
        return Some(path.trim());
    }
    let path = line.strip_prefix("+++ ").filter(|_| is_behind_old)?;
    let path = path.split('\t').next().unwrap_or_default().trim();
    Some(path.strip_prefix("b/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Action, ActionKind, Message, Part, Role, ToolCall};
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    const SHOWN: &str = "fn total(rows: &[Row]) -> u64 {\n    rows.iter().map(|row| row.price).sum()\n}\n";
    const OLD: &str = "rows.iter().map(|row| row.price).sum()";
    const PATCH: &str = "--- a/src/bill.rs\n+++ b/src/bill.rs\n@@ -1,3 +1,3 @@\n fn total(rows: &[Row]) -> u64 {\n-    rows.iter().map(|row| row.price).sum()\n+    rows.iter().map(Row::price_with_tax).sum()\n }\n";

    fn append(index: &mut Index, action: Action, parameters: Map<String, Value>, says: &str, success: bool) {
        let id = index.blocks.len().to_string();
        let call = ToolCall::new(id.as_str(), "t", parameters).doing(action);
        index.append(&Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        index.append(&Message::results(vec![ToolResult::new(
            id.as_str(),
            Some(success),
            says,
        )]));
    }

    /// Whether what was read of a file may still be quoted after these lines, each with what it says and whether it went well.
    fn stands(lines: &[(&str, &str, bool)]) -> bool {
        let mut index = Index::default();
        append(
            &mut index,
            Action::on(ActionKind::Read, ["/w/src/bill.rs"]),
            Map::new(),
            SHOWN,
            true,
        );
        for (line, says, success) in lines {
            let parameters = Map::from_iter([("command".to_owned(), json!(line))]);
            append(&mut index, Action::command(line), parameters, says, *success);
        }
        let read = &index.blocks[1];
        let old = read
            .lines
            .clone()
            .find(|&line| index.text_of(read, line as usize).contains(OLD));
        old.is_some_and(|line| !index.lines[line as usize].is_removed())
    }

    #[test]
    fn what_an_applied_patch_takes_away_stands_no_more() {
        let write = format!("cat > fix.patch <<'EOF'\n{PATCH}EOF");
        for line in [
            "patch -p1 < fix.patch",
            "patch -p1 -i fix.patch",
            "cd /w && patch --input=fix.patch -p1",
            "git apply fix.patch",
            "git -C /w apply --whitespace=nowarn ../fix.patch",
            "git am < fix.patch",
        ] {
            assert!(!stands(&[(&write, "", true), (line, "", true)]), "{line}");
        }
        for line in [
            format!("{write}\npatch -p1 < fix.patch"),
            format!("patch -p1 <<'EOF'\n{PATCH}EOF"),
            format!("git apply - <<'EOF'\n{PATCH}EOF"),
        ] {
            assert!(!stands(&[(&line, "patching file src/bill.rs", true)]), "{line}");
        }
    }

    #[test]
    fn a_patch_that_was_not_applied_takes_nothing_away() {
        let write = format!("cat > fix.patch <<'EOF'\n{PATCH}EOF");
        for (line, says, success) in [
            ("cat fix.patch", PATCH, true),
            ("patch -p1 --dry-run < fix.patch", "checking file src/bill.rs", true),
            ("git apply --check fix.patch", "", true),
            ("git apply --stat fix.patch", "", true),
            ("git apply -R fix.patch", "", true),
            ("git apply fix.patch", "error: patch failed: src/bill.rs:1", false),
            ("patch -p1 < fix.patch", "1 out of 1 hunk FAILED", false),
            ("patch -p1 < other.patch", "patching file src/bill.rs", true),
            ("patch src/other.rs < fix.patch", "patching file src/other.rs", true),
            ("ssh host patch -p1 < fix.patch", "", true),
        ] {
            assert!(stands(&[(&write, "", true), (line, says, success)]), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_patch_is_too_odd(text in r"(--- |\+\+\+ |[-+ @]|\*\*\* Update File: |a/src/bill\.rs|/w/src/bill\.rs|é|\t|\n){0,40}") {
            stands(&[(&format!("cat > fix.patch <<'EOF'\n{text}\nEOF\npatch -p0 < fix.patch"), "", true)]);
        }
    }
}
