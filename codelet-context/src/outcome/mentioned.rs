//! The names that command lines have, so that a file which a command writes is known to be new: whoever changes a file has
//! looked at it before, or named it in some other way.

use super::{FileState, Gatherer};
use crate::hash::{self, ByHash};
use crate::message::{Action, ToolResult};
use std::collections::HashSet;

/// Names that are kept. Beyond it no file is taken for new.
const MOST: usize = 50_000;
/// Lines of an answer that are looked at for what is not there.
const LINES: usize = 64;

/// The last components of all words so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Mentioned {
    names: ByHash<()>,
}

impl Mentioned {
    /// Takes the words of a command that ran. What it says is not there nobody can have looked at.
    pub fn note(&mut self, action: &Action, result: &ToolResult) {
        let line = action.command.as_ref().map_or("", |line| line.as_str());
        let missing: HashSet<&str> = missing(result).collect();
        for name in names(line) {
            if self.names.len() > MOST {
                return;
            }
            let name_hash = hash::bytes(name.as_bytes());
            if missing.contains(name) {
                self.names.remove(&name_hash);
            } else {
                self.names.insert(name_hash, ());
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.names.len() > MOST || self.names.contains_key(&hash::bytes(name.as_bytes()))
    }
}

impl Gatherer {
    /// Whether a command has made this file: nobody has seen it or named it before, and what the command does with it first
    /// is to write all of it.
    pub(super) fn is_made_by(&self, path: &str, action: &Action) -> bool {
        let known = self.files.find(path).and_then(|file| self.touched.get(&file));
        let is_unseen = known.is_none_or(|(file, _)| file.state == FileState::Deleted);
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let line = action.command.as_ref().map_or("", |line| line.as_str());
        is_unseen && !name.is_empty() && !self.mentioned.has(name) && is_written_first(line, name)
    }
}

/// Whether a line first names a file where it sends something to it that replaces what is there.
fn is_written_first(line: &str, name: &str) -> bool {
    let Some(word) = words(line).find(|word| last(word) == name) else {
        return false;
    };
    let at = word.as_ptr() as usize - line.as_ptr() as usize;
    let before = line[..at].trim_end_matches(['"', '\'', ' ', '|']);
    let is_all = before.ends_with('>') && !before.ends_with(">>");
    is_all || before.rsplit(|c: char| !c.is_alphanumeric()).next() == Some("tee")
}

/// The names in those lines of an answer that say that something is not there.
fn missing(result: &ToolResult) -> impl Iterator<Item = &str> {
    const SIGNS: &[&str] = &[
        "o such file",
        "annot find module",
        "file not found",
        "directory not found",
        "ould not open input file",
        "annot find path",
        "annot find the path",
        "annot find the file",
    ];
    let texts = result.error.iter().chain(result.texts().map(|text| &text.body));
    let lines = texts.flat_map(|text| text.as_str().lines());
    lines
        .filter(|line| SIGNS.iter().any(|sign| line.contains(sign)))
        .take(LINES)
        .flat_map(names)
}

fn names(line: &str) -> impl Iterator<Item = &str> {
    words(line).map(last).filter(|name| !name.is_empty())
}

/// The words of a line, with what a shell takes for something else left out.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || "\"'`;|&()<>=,:".contains(c))
}

fn last(word: &str) -> &str {
    word.rsplit(['/', '\\']).next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Talk, files};
    use crate::message::ActionKind;

    #[test]
    fn a_file_that_a_command_writes_and_nobody_has_seen_is_new() {
        let after = |lines: &[&str]| {
            let run = |talk: Talk, line: &&str| talk.run(line, true, "");
            files(&lines.iter().fold(Talk::new(), run))
        };
        for (lines, expected) in [
            (&["cat > /w/fix.py <<'E'\nimport re\nE"][..], "/w/fix.py:Created"),
            (&["cat <<'E' > fix.py && python fix.py\nx = 1\nE"], "fix.py:Created"),
            (&["printf 'a\\n' | tee \"src/a.txt\""], "src/a.txt:Created"),
            (&["echo '{}' >| a.json", "sed -i s/a/b/ a.json"], "a.json:Created"),
            // Somebody has seen it, or may have.
            (&["cat fix.py", "cat > fix.py <<'E'\nx\nE"], "fix.py:Edited"),
            (&["ls src/fix.py; cat > src/fix.py <<'E'\nx\nE"], "src/fix.py:Edited"),
            (&["cp a.py b.py && cat > a.py <<'E'\nx\nE"], "a.py:Edited"),
            (&["echo x >> log.md"], "log.md:Edited"),
            (&["echo x | tee -a log.md"], "log.md:Edited"),
            (&["sed -i s/a/b/ a.py"], "a.py:Edited"),
        ] {
            assert_eq!(after(lines), expected, "{lines:?}");
        }
        // What is not there, nobody has seen.
        let write = "cat > fix.py <<'E'\nx\nE";
        for (line, says, expected) in [
            (
                "python3 fix.py",
                "python3: can't open file '/w/fix.py': [Errno 2] No such file or directory",
                "fix.py:Created",
            ),
            ("cat fix.py", "cat: fix.py: No such file or directory", "fix.py:Created"),
            (
                "ls -la fix.py",
                "ls: fix.py: No such file or directory",
                "fix.py:Created",
            ),
            (
                "python fix.py",
                "FileNotFoundError: No such file or directory: 'data.json'",
                "fix.py:Edited",
            ),
        ] {
            let talk = Talk::new().run(line, false, says).run(write, true, "");
            assert_eq!(files(&talk), expected, "{line}: {says}");
        }
        let talk = Talk::new()
            .on(ActionKind::Read, "src/a.py", Some(true))
            .run("cat > src/a.py <<'E'\nx\nE", true, "");
        assert_eq!(files(&talk), "src/a.py:Edited");
    }
}
