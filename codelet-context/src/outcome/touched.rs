//! The files that calls touch, and in which state they are left.

use super::Gatherer;
use crate::effects::{self, Effect};
use crate::message::{ChangeKind, ToolCall, ToolResult};
use crate::testrun::WHOLE;
use std::collections::HashMap;
use std::sync::Arc;

/// A file, as it was left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFact {
    /// The path, as the first call names it.
    pub path: Arc<str>,
    /// What was done to it.
    pub state: FileState,
}

/// What has become of a file by a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileChange {
    /// The path, as the first call names it.
    pub path: Arc<str>,
    /// How it was, if that is known.
    pub before: Option<FileState>,
    /// How it is now.
    pub after: FileState,
    /// The call has written it, and not only put it back or away.
    pub is_written: bool,
    /// So many changes of it were taken back.
    pub undone: usize,
}

/// What was done to a file. A file that was changed and read again is still changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum FileState {
    /// Read only.
    Read,
    /// Changed.
    Edited,
    /// New.
    Created,
    /// Removed.
    Deleted,
}

impl FileState {
    /// The state of a file to which this is done next.
    pub(crate) fn then(self, next: FileState) -> FileState {
        match (self, next) {
            (before, FileState::Read) => before,
            // What was created here and edited then is still new.
            (FileState::Created, FileState::Edited) => FileState::Created,
            (_, next) => next,
        }
    }
}

impl Gatherer {
    /// Takes what a call has changed that was carried out.
    pub(super) fn change(&mut self, call: &ToolCall, result: &ToolResult) {
        let paths = call.action.changed();
        match call.action.change {
            ChangeKind::Writes => self.write(call),
            ChangeKind::Removes => paths.iter().for_each(|path| self.take_away(path, result)),
            ChangeKind::Moves => {
                if let Some((to, from)) = paths.split_last() {
                    from.iter().for_each(|from| self.move_to(from, to, result));
                }
            }
            ChangeKind::Undoes => paths.iter().for_each(|path| self.take_back(path, &call.tool)),
        }
    }

    fn write(&mut self, call: &ToolCall) {
        let patched: HashMap<&str, FileState> = effects::patched_by(&call.parameters).collect();
        for path in call.action.changed() {
            let state = patched.get(path.as_ref()).copied();
            let state = state.unwrap_or_else(|| self.written(path, call));
            let before = self.files.find(path).and_then(|file| self.state(file));
            self.touch(path, state);
            if let Some(file) = self.files.find(path) {
                self.undoable.note(file, &call.tool, before);
            }
        }
    }

    /// What a tool was told to take away is gone, also if nobody has read or written it here.
    fn take_away(&mut self, path: &str, result: &ToolResult) {
        match self.files.within(path, |_| true).is_empty() {
            true => self.touch(path, FileState::Deleted),
            false => self.apply(&Effect::Remove(path.to_owned()), result),
        }
    }

    fn move_to(&mut self, from: &str, to: &str, result: &ToolResult) {
        let is_unseen = self.files.within(from, |_| true).is_empty();
        if is_unseen && names_file(from) {
            self.touch(from, FileState::Deleted);
            // To another folder, perhaps.
            if names_file(to) {
                self.touch(to, FileState::Created);
            }
        } else {
            let (from, to) = (from.to_owned(), to.to_owned());
            let is_tracked = false;
            self.apply(&Effect::Move { from, to, is_tracked }, result);
        }
    }

    /// A tool has taken back the newest change of a file. Where nobody knows which that was, the file is changed once more,
    /// and so it is where that change has made the file: some tools take it away then, and others leave it.
    fn take_back(&mut self, path: &str, tool: &str) {
        let file = self.files.find(path);
        let undone = file.map_or_else(Vec::new, |file| self.undoable.take_back(file, tool));
        let now = file.and_then(|file| self.state(file));
        let before = match (undone.last(), now) {
            (Some(Some(FileState::Created)), _) => Some(FileState::Created),
            (None, _) | (_, None | Some(FileState::Created | FileState::Deleted)) => None,
            (Some(before), _) => Some(before.unwrap_or(FileState::Read)),
        };
        match file.zip(before) {
            Some((file, before)) => self.take_back_to(file, before, undone.len()),
            None => self.touch(path, FileState::Edited),
        }
    }

    pub(super) fn touch(&mut self, path: &str, state: FileState) {
        let known = self.files.file(path);
        self.touched.entry(known).or_insert_with(|| {
            let path = Arc::from(path);
            (FileFact { path, state }, 0)
        });
        self.touch_file(known, state);
    }

    pub(super) fn touch_file(&mut self, known: u64, state: FileState) {
        self.touches += 1;
        if state != FileState::Read {
            self.outdate_checks();
        }
        if let Some((file, touch)) = self.touched.get_mut(&known) {
            let before = (*touch > 0).then_some(file.state);
            file.state = file.state.then(state);
            *touch = self.touches;
            if state != FileState::Read {
                self.errors.change(&file.path);
                self.changes.push(FileChange {
                    path: file.path.clone(),
                    before,
                    after: file.state,
                    is_written: state != FileState::Deleted,
                    undone: 0,
                });
            }
        }
    }

    fn written(&self, path: &Arc<str>, call: &ToolCall) -> FileState {
        let is_whole = WHOLE.iter().any(|name| call.parameters.as_map().contains_key(*name));
        let known = self.files.find(path).and_then(|file| self.touched.get(&file));
        let is_unseen = known.is_none_or(|(file, _)| file.state == FileState::Deleted);
        // The whole of a file that nobody has read: agents read before they overwrite.
        if is_whole && call.action.replaced.is_empty() && is_unseen {
            FileState::Created
        } else {
            FileState::Edited
        }
    }
}

/// Whether a path has an ending, as those of files have and those of folders have not.
fn names_file(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    name.trim_start_matches('.').contains('.')
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Talk, files};
    use crate::message::{Action, ActionKind, ChangeKind};
    use serde_json::json;

    #[test]
    fn files_stand_in_the_order_of_their_last_touch_with_their_last_state() {
        let talk = Talk::new()
            .on(ActionKind::Read, "a", Some(true))
            .on(ActionKind::Read, "b", Some(true))
            .on(ActionKind::Change, "b", Some(true))
            .on(ActionKind::Read, "missing", Some(false))
            .on(ActionKind::Change, "a", Some(false))
            .on(ActionKind::Read, "c", None)
            .on(ActionKind::Read, "b", Some(true));
        assert_eq!(files(&talk), "a:Read c:Read b:Edited");
    }

    #[test]
    fn a_file_is_one_however_its_path_is_written() {
        let talk = Talk::new()
            .on(ActionKind::Read, "/work/app/src/main.rs", Some(true))
            .on(ActionKind::Change, "src/main.rs", Some(true))
            .on(ActionKind::Read, "./src/main.rs", Some(true))
            .on(ActionKind::Read, "/work/other/src/main.rs", Some(true));
        assert_eq!(
            files(&talk),
            "/work/app/src/main.rs:Edited /work/other/src/main.rs:Read"
        );
        let talk =
            Talk::new()
                .on(ActionKind::Read, "src/x.rs", Some(true))
                .run("cd sub && sed -i s/a/b/ src/x.rs", true, "");
        assert_eq!(files(&talk), "src/x.rs:Read sub/src/x.rs:Edited");
    }

    #[test]
    fn a_file_is_new_if_it_was_written_whole_and_never_seen() {
        let write = |talk: Talk, path: &str| {
            talk.call(
                Action::on(ActionKind::Change, [path]),
                json!({"content": "x"}),
                Some(true),
                "ok",
            )
        };
        let talk = write(Talk::new().on(ActionKind::Read, "old", Some(true)), "old");
        let talk = write(talk, "new").on(ActionKind::Change, "new", Some(true));
        assert_eq!(files(&talk), "old:Edited new:Created");
        let patch = "*** Begin Patch\n*** Add File: n\n+x\n*** Delete File: d\n*** Update File: u\n*** End Patch";
        let action = Action::on(ActionKind::Change, ["n", "d", "u"]);
        let talk = Talk::new().call(action, json!({"input": patch}), Some(true), "ok");
        assert_eq!(files(&talk), "n:Created d:Deleted u:Edited");
    }

    fn changing(talk: Talk, change: ChangeKind, paths: &[&str]) -> Talk {
        let action = Action::on(ActionKind::Change, paths.iter().copied()).changing(change);
        talk.call(action, json!({}), Some(true), "ok")
    }

    #[test]
    fn an_undo_takes_back_the_newest_change_of_its_file() {
        let edit = |talk: Talk| talk.on(ActionKind::Change, "/w/a", Some(true));
        let undo = |talk: Talk| changing(talk, ChangeKind::Undoes, &["/w/a"]);
        let create = |talk: Talk| {
            let action = Action::on(ActionKind::Change, ["/w/a"]);
            talk.call(action, json!({"content": "x"}), Some(true), "ok")
        };
        let new = Talk::new;
        for (talk, expected) in [
            (undo(edit(new())), "/w/a:Read"),
            (undo(edit(edit(new()))), "/w/a:Edited"),
            (undo(undo(edit(edit(new())))), "/w/a:Read"),
            (edit(undo(edit(new()))), "/w/a:Edited"),
            // What others have done to it since goes with it.
            (undo(edit(new()).run("sed -i s/a/b/ /w/a", true, "")), "/w/a:Read"),
            // Nobody knows what it took back.
            (undo(new()), "/w/a:Edited"),
            (undo(undo(edit(new()))), "/w/a:Edited"),
            (undo(edit(new()).run("rm /w/a", true, "")), "/w/a:Edited"),
            (undo(create(new())), "/w/a:Created"),
            (undo(edit(create(new()))), "/w/a:Created"),
            // What was committed is not what is there.
            (
                undo(edit(new()).run("git commit -am x", true, "[main 1a2b3c4] x")),
                "/w/a:Edited",
            ),
        ] {
            assert_eq!(files(&talk), expected);
        }
        let failed = Action::on(ActionKind::Change, ["/w/a"]).changing(ChangeKind::Undoes);
        let talk = edit(new()).call(failed, json!({}), None, "No edit history found for /w/a");
        assert_eq!(files(&talk), "/w/a:Edited");
        let checked = edit(new()).run("cargo test", true, "");
        assert!(undo(checked).facts().tests.is_some_and(|tests| tests.is_stale));
    }

    #[test]
    fn a_file_that_a_tool_takes_away_or_moves_is_there_no_more() {
        let read = || Talk::new().on(ActionKind::Read, "/w/src/a.ts", Some(true));
        for (talk, change, paths, expected) in [
            (read(), ChangeKind::Removes, &["/w/src/a.ts"][..], "/w/src/a.ts:Deleted"),
            (read(), ChangeKind::Removes, &["src/a.ts"], "/w/src/a.ts:Deleted"),
            (read(), ChangeKind::Removes, &["/w/src"], "/w/src/a.ts:Deleted"),
            (Talk::new(), ChangeKind::Removes, &["b.ts"], "b.ts:Deleted"),
            (
                read(),
                ChangeKind::Moves,
                &["/w/src/a.ts", "/w/src/b.ts"],
                "/w/src/a.ts:Deleted /w/src/b.ts:Created",
            ),
            (
                Talk::new(),
                ChangeKind::Moves,
                &["a.ts", "b.ts"],
                "a.ts:Deleted b.ts:Created",
            ),
            (
                Talk::new(),
                ChangeKind::Moves,
                &["a.txt", "b.md"],
                "a.txt:Deleted b.md:Created",
            ),
            (Talk::new(), ChangeKind::Moves, &["a.txt", "lib"], "a.txt:Deleted"),
            // Folders of which nobody has seen anything.
            (Talk::new(), ChangeKind::Moves, &["src", "lib"], ""),
        ] {
            assert_eq!(files(&changing(talk, change, paths)), expected);
        }
        let failed = Action::on(ActionKind::Change, ["/w/src/a.ts"]).changing(ChangeKind::Removes);
        let talk = read().call(failed, json!({}), Some(false), "EACCES");
        assert_eq!(files(&talk), "/w/src/a.ts:Read");
    }

    #[test]
    fn a_file_stays_as_it_was_where_the_answer_says_so() {
        for answer in [
            "Removed /w/src/a.ts from the chat context.",
            "This would delete /w/src/a.ts (1 file). Pass confirm=true to go on.",
            "{\"deleted\": false, \"reason\": \"protected\"}",
            "User chose to keep the file.",
        ] {
            for success in [None, Some(true)] {
                let checked = Talk::new()
                    .on(ActionKind::Read, "/w/src/a.ts", Some(true))
                    .run("cargo test", true, "");
                let action = Action::on(ActionKind::Change, ["/w/src/a.ts"]).changing(ChangeKind::Removes);
                let talk = checked.call(action, json!({}), success, answer);
                assert_eq!(files(&talk), "/w/src/a.ts:Read", "{answer}");
                assert!(talk.facts().tests.is_some_and(|tests| !tests.is_stale), "{answer}");
            }
        }
        // An edit may say what it likes.
        let edit = Action::on(ActionKind::Change, ["a"]);
        let talk = Talk::new().call(edit, json!({}), None, "Updated a. You may want to confirm that.");
        assert_eq!(files(&talk), "a:Edited");
    }

    #[test]
    fn a_file_is_changed_by_a_script_that_was_written_for_that() {
        let write = |at: &str| format!("cat <<'EOF' > fix.py\np = '{at}'\nopen(p, 'w').write(new)\nEOF");
        let talk = |at: &str, says: &str| {
            Talk::new()
                .run("sed -n 1,40p src/del.py", true, "a = 1")
                .run(&write(at), true, "")
                .run("python3 fix.py", true, says)
        };
        assert_eq!(
            files(&talk("src/del.py", "Applied fix.")),
            "fix.py:Created src/del.py:Edited"
        );
        assert_eq!(files(&talk("src/del.py", "Pattern not found")), "fix.py:Created");
        // What it only brings out is no change to anything.
        assert_eq!(files(&talk("/tmp/plot.json", "Done")), "fix.py:Created");
    }

    #[test]
    fn a_file_is_changed_by_a_patch_that_was_written_for_that() {
        let patch = "--- a/src/del.py\n+++ b/src/del.py\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/src/new.py\n@@ -0,0 +1 @@\n+c\n";
        let talk = |line: &str, says: &str| {
            Talk::new()
                .run("sed -n 1,40p src/del.py", true, "a")
                .run(&format!("cat > /tmp/fix.diff <<'EOF'\n{patch}EOF"), true, "")
                .run(line, true, says)
        };
        let changed = "/tmp/fix.diff:Created src/del.py:Edited src/new.py:Created";
        for line in [
            "patch -p1 < /tmp/fix.diff",
            "git apply /tmp/fix.diff",
            "git apply --index /tmp/fix.diff && git diff --stat",
        ] {
            assert_eq!(files(&talk(line, "patching file src/del.py")), changed, "{line}");
        }
        for (line, says) in [
            ("git apply --check /tmp/fix.diff", ""),
            ("patch -p1 --dry-run < /tmp/fix.diff", "checking file src/del.py"),
            ("git apply /tmp/fix.diff || true", "error: patch failed: src/del.py:1"),
            (
                "patch -p1 < /tmp/fix.diff",
                "patching file src/del.py\npatch: **** malformed patch at line 9: x",
            ),
        ] {
            assert_eq!(files(&talk(line, says)), "/tmp/fix.diff:Created", "{line}");
        }
    }
}
