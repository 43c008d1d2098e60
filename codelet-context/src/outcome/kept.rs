//! What commands do to the files that are known.

use super::{FileChange, FileState, Gatherer};
use crate::effects::sweep::is_scratch;
use crate::effects::{Among, Effect};
use crate::files::Found;
use crate::message::ToolResult;
use crate::path::{Path, is_in_folder};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// What Git is known to keep, file by file.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Files whose changes were committed: nothing undoes those.
    committed: HashSet<u64>,
    /// Files whose changes were put aside, with the state that they come back in.
    stashed: BTreeMap<u64, FileState>,
    /// Files that were made here and taken away again.
    made: HashSet<u64>,
}

impl Gatherer {
    /// Takes what a command has done to files. Of those that nobody has read or written nothing is told, but where it
    /// visibly writes them.
    pub(super) fn apply(&mut self, effect: &Effect, result: &ToolResult) {
        match effect {
            Effect::Write(path, state) => self.touch(path, *state),
            Effect::Fetch(path) => self.replace(path),
            Effect::Remove(path) => {
                for found in self.living(path) {
                    self.remove(found.file);
                }
                self.remove_unread(path);
            }
            Effect::Move { from, to, is_tracked } => {
                let files = self.living(from);
                let names = self.moved(&files, to);
                // Git moves only what there is.
                if files.is_empty() && *is_tracked && is_renamed(from, to) && self.living(to).is_empty() {
                    self.touch(to, FileState::Created);
                }
                if files.is_empty() && !is_tracked {
                    self.replace(to);
                }
                let states = self.written_over(&names);
                for ((found, name), state) in files.into_iter().zip(names).zip(states) {
                    self.remove(found.file);
                    self.touch(&name, state);
                }
            }
            Effect::Copy { from, to } => {
                let files = self.living(from);
                if files.is_empty() {
                    self.replace(to);
                }
                let names = self.moved(&files, to);
                let states = self.written_over(&names);
                for (name, state) in names.iter().zip(states) {
                    self.touch(name, state);
                }
            }
            Effect::PutBack(among) => {
                let loose = self.loose(among);
                if let Among::Path(path) = among
                    && loose.is_empty()
                {
                    self.put_back_unseen(path);
                }
                for known in loose {
                    self.put(known, FileState::Read);
                }
            }
            Effect::Stash { .. } if had_nothing_to_stash(result) => {}
            Effect::Stash { among, with_new } => {
                for known in self.loose(among) {
                    self.put_aside(known, FileState::Read);
                }
                if *with_new {
                    for known in self.untracked(among) {
                        self.put_aside(known, FileState::Deleted);
                    }
                }
            }
            Effect::Unstash => {
                for (known, state) in std::mem::take(&mut self.kept.stashed) {
                    self.put(known, state);
                }
            }
            Effect::Clean(at) => {
                let among = match at.as_str() {
                    "" | "." => Among::Repository(String::new()),
                    folder => Among::Path(folder.to_owned()),
                };
                for known in self.untracked(&among) {
                    self.remove(known);
                }
            }
            Effect::Commit(at) => {
                let among = self.repository(at);
                // Of files that may have been committed nothing is told as undone.
                let may_be = |known: &u64| among.contains(known) || !self.files.is_whole(*known);
                let changed = self
                    .touched
                    .iter()
                    .filter(|(known, (file, _))| file.state != FileState::Read && may_be(known));
                self.kept.committed.extend(changed.map(|(&known, _)| known));
            }
        }
    }

    /// Takes what a command has done to all files that a pattern means. Of those that nobody knows nothing is told.
    pub(super) fn change_matching(&mut self, pattern: &str, state: FileState) {
        for (known, path) in self.files.matching(pattern) {
            match self.state(known) {
                Some(FileState::Deleted) => {}
                None if is_scratch(&path) => {}
                None => self.touch(&path, state),
                Some(_) if state == FileState::Deleted => self.remove(known),
                Some(_) => self.touch_file(known, state),
            }
        }
    }

    pub(super) fn state(&self, known: u64) -> Option<FileState> {
        self.touched.get(&known).map(|(file, _)| file.state)
    }

    fn is_living(&self, known: u64) -> bool {
        self.state(known).is_some_and(|state| state != FileState::Deleted)
    }

    /// The files that there are which a command means by a path.
    fn living(&self, path: &str) -> Vec<Found> {
        self.known(path, |known| self.is_living(known))
    }

    fn known(&self, path: &str, is_wanted: impl Fn(u64) -> bool) -> Vec<Found> {
        let mut found = self.files.within(path, is_wanted);
        found.sort_by_cached_key(|found| self.touched.get(&found.file).map(|(file, _)| file.path.clone()));
        found
    }

    /// What they are called after they were moved or copied.
    fn moved(&self, found: &[Found], to: &str) -> Vec<String> {
        self.files.moved(found, to, |known| self.is_living(known))
    }

    /// How files are left to which others are moved or copied: one that was there is another now, and not new.
    fn written_over(&self, names: &[String]) -> Vec<FileState> {
        let is_there = |name: &String| self.files.find(name).is_some_and(|file| self.is_living(file));
        let state = |name| match is_there(name) {
            true => FileState::Edited,
            false => FileState::Created,
        };
        names.iter().map(state).collect()
    }

    /// A file that is known is another one now, from one that is not: a copy that was kept of it, perhaps.
    fn replace(&mut self, path: &str) {
        let known = self.files.meant(path).filter(|known| self.touched.contains_key(known));
        if let Some(known) = known.filter(|_| !path.ends_with('/')) {
            self.touch_file(known, FileState::Edited);
        }
    }

    fn remove(&mut self, known: u64) {
        if self.state(known) == Some(FileState::Created) {
            self.kept.made.insert(known);
        }
        self.touch_file(known, FileState::Deleted);
    }

    /// Takes away what no tool has read or written: files that were only looked at, or a folder among those that the
    /// conversation works in.
    fn remove_unread(&mut self, path: &str) {
        if is_scratch(path) {
            return;
        }
        let looked_at = self.files.within(path, |known| self.state(known).is_none());
        for found in &looked_at {
            self.touch(&self.files.spelled(found), FileState::Deleted);
        }
        let Some((around, name)) = path.rsplit_once('/') else {
            return;
        };
        let is_folder = looked_at.is_empty() && !name.contains('.');
        let is_known =
            || !around.trim_matches(['/', '.']).is_empty() && !self.files.matching(&format!("{around}/**")).is_empty();
        if is_folder && is_known() {
            self.outdate_checks();
        }
    }

    /// Changes the state of a file that is known and leaves when it was touched.
    fn put(&mut self, known: u64, state: FileState) {
        if let Some((file, _)) = self.touched.get_mut(&known) {
            self.changes.push(FileChange {
                path: file.path.clone(),
                before: Some(file.state),
                after: state,
                is_written: false,
                undone: 0,
            });
            file.state = state;
            self.outdate_checks();
        }
    }

    /// A tool has taken back so many changes of a file that is known. What was committed since is not what is there now.
    pub(super) fn take_back_to(&mut self, known: u64, before: FileState, undone: usize) {
        let after = match before {
            FileState::Read if self.kept.committed.contains(&known) => FileState::Edited,
            before => before,
        };
        self.put(known, after);
        if let Some(change) = self.changes.last_mut() {
            change.undone = undone;
        }
        self.touches += 1;
        if let Some((file, touch)) = self.touched.get_mut(&known) {
            *touch = self.touches;
            self.errors.change(&file.path);
        }
    }

    /// A file is as it was committed of which nobody knows that it was changed: that may have been before all that is known.
    fn put_back_unseen(&mut self, given: &str) {
        let is_file = given
            .rsplit('/')
            .next()
            .is_some_and(|name| name.trim_start_matches('.').contains('.'));
        let known = self.known(given, |_| true);
        let is_other = |state| !matches!(state, None | Some(FileState::Read));
        if !is_file
            || known
                .iter()
                .any(|found| is_other(self.state(found.file)) || self.kept.committed.contains(&found.file))
        {
            return;
        }
        let path = known.first().and_then(|found| self.touched.get(&found.file));
        let path = path.map_or_else(|| Arc::from(given), |(file, _)| file.path.clone());
        self.changes.push(FileChange {
            path,
            before: None,
            after: FileState::Read,
            is_written: false,
            undone: 0,
        });
        self.outdate_checks();
    }

    fn put_aside(&mut self, known: u64, state: FileState) {
        if let Some(before) = self.state(known) {
            self.kept.stashed.insert(known, before);
            self.put(known, state);
        }
    }

    /// The files whose changes Git puts back: those that it knows and that were not committed since.
    fn loose(&self, among: &Among) -> Vec<u64> {
        let is_loose = |known: u64, state| match state {
            FileState::Edited => !self.kept.committed.contains(&known),
            FileState::Deleted => !self.kept.committed.contains(&known) && !self.kept.made.contains(&known),
            _ => false,
        };
        self.chosen(among, is_loose)
    }

    /// The new files that were not committed.
    fn untracked(&self, among: &Among) -> Vec<u64> {
        self.chosen(among, |known, state| {
            state == FileState::Created && !self.kept.committed.contains(&known)
        })
    }

    fn chosen(&self, among: &Among, is_wanted: impl Fn(u64, FileState) -> bool) -> Vec<u64> {
        let mut chosen: Vec<u64> = match among {
            Among::Path(path) | Among::Perhaps(path) => {
                self.known(path, |_| true).into_iter().map(|found| found.file).collect()
            }
            Among::Repository(at) => self.repository(at).into_iter().collect(),
        };
        chosen.retain(|&known| self.state(known).is_some_and(|state| is_wanted(known, state)));
        // In an order that does not depend on the run.
        chosen.sort_unstable();
        chosen
    }

    /// The known files of the repository that a folder is in, as far as that is sure: those in the folder, or all if it is
    /// one of those that the session works in.
    fn repository(&self, at: &str) -> HashSet<u64> {
        let folder = Path::of(at);
        let is_all = if folder.is_absolute() {
            let root = self.files.root();
            !is_shared(root, self.files.has_drives()) && is_in_folder(folder.as_str(), root)
        } else {
            !folder.as_str().starts_with("..")
        };
        match is_all {
            true => self.touched.keys().copied().collect(),
            false => self.files.in_folder(at).collect(),
        }
    }
}

/// Whether a file gets another name of the same kind, and is not moved to a folder.
fn is_renamed(from: &str, to: &str) -> bool {
    let ending = |path: &str| {
        let name = path.rsplit(['/', '\\']).next()?;
        let (front, ending) = name.rsplit_once('.')?;
        (!front.is_empty()).then(|| ending.to_owned())
    };
    ending(to).is_some() && ending(from) == ending(to)
}

/// Whether `git stash` has found no change.
fn had_nothing_to_stash(result: &ToolResult) -> bool {
    let says_so = |line: &str| line.trim() == "No local changes to save";
    result.texts().any(|text| text.body.as_str().lines().any(says_so))
}

/// Whether a folder holds more than one project, as those of users and of temporary files do.
fn is_shared(folder: &str, has_drive: bool) -> bool {
    let mut pieces: Vec<&str> = folder.split('/').filter(|piece| !piece.is_empty()).collect();
    if pieces
        .first()
        .is_some_and(|piece| *piece == "private" || has_drive && piece.len() == 1)
    {
        pieces.remove(0);
    }
    match pieces[..] {
        [] => true,
        [only] => ["tmp", "home", "Users", "root", "var", "opt", "mnt", "srv", "~"].contains(&only),
        ["home" | "Users", _] | ["var", "folders" | "tmp"] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Talk, files};
    use crate::message::{Action, ActionKind};
    use serde_json::json;

    const BEFORE: &str = "/w/app/a.py:Edited /w/b.py:Edited";

    fn after(lines: &[(&str, &str)]) -> String {
        let talk =
            Talk::new()
                .on(ActionKind::Change, "/w/app/a.py", Some(true))
                .on(ActionKind::Change, "/w/b.py", Some(true));
        files(&lines.iter().fold(talk, |talk, (line, said)| talk.run(line, true, said)))
    }

    #[test]
    fn a_command_says_what_becomes_of_files_that_are_known() {
        let talk = |lines: &[&str]| {
            let made = Talk::new()
                .call(
                    Action::on(ActionKind::Change, ["/s/app/new.py"]),
                    json!({"content": "x"}),
                    Some(true),
                    "ok",
                )
                .on(ActionKind::Change, "/s/app/db.py", Some(true))
                .on(ActionKind::Read, "/s/top.py", Some(true));
            files(&lines.iter().fold(made, |talk, line| talk.run(line, true, "")))
        };
        let before = "/s/app/new.py:Created /s/app/db.py:Edited /s/top.py:Read";
        assert_eq!(talk(&[]), before);
        for line in [
            "rm app/new.py",
            "cd /s && rm app/new.py",
            "cd app && rm new.py",
            "rm -f /s/app/new.py",
            "git rm -f app/new.py",
            "Remove-Item app\\new.py",
            "del app\\new.py",
        ] {
            assert_eq!(
                talk(&[line]),
                "/s/app/db.py:Edited /s/top.py:Read /s/app/new.py:Deleted",
                "{line}"
            );
        }
        for line in [
            "git checkout app/db.py",
            "git checkout -- app/db.py",
            "git restore app",
            "git reset --hard",
            "git stash",
            "cd app && git checkout .",
        ] {
            assert_eq!(
                talk(&[line]),
                "/s/app/new.py:Created /s/app/db.py:Read /s/top.py:Read",
                "{line}"
            );
        }
        assert_eq!(
            talk(&["mv app/new.py app/store.py"]),
            "/s/app/db.py:Edited /s/top.py:Read /s/app/new.py:Deleted /s/app/store.py:Created"
        );
        assert_eq!(
            talk(&["mv app/new.py app/db.py"]),
            "/s/top.py:Read /s/app/new.py:Deleted /s/app/db.py:Edited",
            "a file that was there is not new"
        );
        assert_eq!(
            talk(&["mv top.py app"]),
            "/s/app/new.py:Created /s/app/db.py:Edited /s/top.py:Deleted /s/app/top.py:Created"
        );
        assert_eq!(talk(&["cp top.py /s/two.py"]), format!("{before} /s/two.py:Created"));
        for line in ["cp /tmp/kept.py app/db.py", "mv app/db.py.orig app/db.py"] {
            assert_eq!(
                talk(&["rm app/db.py", line]),
                "/s/app/new.py:Created /s/top.py:Read /s/app/db.py:Edited",
                "a file that is there again: {line}"
            );
        }
        assert_eq!(
            talk(&["rm -r app"]),
            "/s/top.py:Read /s/app/db.py:Deleted /s/app/new.py:Deleted"
        );
        assert_eq!(talk(&["git stash", "git stash pop"]), before);
        assert_eq!(
            talk(&["git stash -u"]),
            "/s/app/new.py:Deleted /s/app/db.py:Read /s/top.py:Read"
        );
        assert_eq!(
            talk(&["rm app/db.py", "git checkout -- app/db.py"]),
            "/s/app/new.py:Created /s/top.py:Read /s/app/db.py:Read"
        );
        // What was committed is not undone, and what is not known is not told of.
        for line in [
            "git commit -am x && git reset --hard",
            "rm other.py new.py",
            "git checkout main",
            "rm -rf pp",
            "ls app",
        ] {
            assert_eq!(talk(&[line]), before, "{line}");
        }
        let failed = Talk::new()
            .on(ActionKind::Change, "a", Some(true))
            .run("rm a", false, "rm: no");
        assert_eq!(files(&failed), "a:Edited");
        let unknown = |output| {
            let talk = Talk::new().on(ActionKind::Change, "a", Some(true));
            files(&talk.call(Action::command("rm a"), json!({}), None, output))
        };
        assert_eq!(unknown("rm: cannot remove 'a'"), "a:Edited");
        assert_eq!(unknown(""), "a:Deleted");
    }

    #[test]
    fn git_in_another_repository_changes_no_file_of_this_one() {
        for line in [
            "cd /tmp/other && git clean -fd",
            "cd /tmp/other && git stash",
            "git -C /tmp/other reset --hard",
            "cd /tmp/other && git checkout .",
            "cd ../other && git reset --hard",
            "cd $OTHER && git reset --hard",
        ] {
            assert_eq!(after(&[(line, "")]), BEFORE, "{line}");
        }
        let undone = "/w/app/a.py:Read /w/b.py:Read";
        for line in [
            "git reset --hard",
            "cd /w && git reset --hard",
            "git -C /w/app reset --hard",
        ] {
            assert_eq!(after(&[(line, "")]), undone, "{line}");
            let elsewhere = ("cd /tmp/other && git commit -am x", "");
            assert_eq!(after(&[elsewhere, (line, "")]), undone, "{line}");
            assert_eq!(
                after(&[("cd /w && git commit -am x", ""), (line, "")]),
                BEFORE,
                "{line}"
            );
        }
    }

    #[test]
    fn a_stash_that_found_no_changes_puts_nothing_aside() {
        assert_eq!(after(&[("git stash", "No local changes to save\n")]), BEFORE);
    }

    #[test]
    fn of_files_in_several_projects_only_those_of_the_folder_are_put_back() {
        let talk = |line| {
            let talk = Talk::new()
                .on(ActionKind::Change, "/home/u/one/a.py", Some(true))
                .on(ActionKind::Change, "/home/u/two/b.py", Some(true))
                .on(ActionKind::Change, "c.py", Some(true));
            files(&talk.run(line, true, ""))
        };
        assert_eq!(
            talk("cd /home/u/two && git stash"),
            "/home/u/one/a.py:Edited /home/u/two/b.py:Read c.py:Edited"
        );
        assert_eq!(
            talk("cd /home/u/three && git stash"),
            "/home/u/one/a.py:Edited /home/u/two/b.py:Edited c.py:Edited"
        );
    }

    /// What there is after these files were read and these lines ran.
    fn of(read: &str, lines: &[&str]) -> String {
        let talk = read
            .split(' ')
            .fold(Talk::new(), |talk, path| talk.on(ActionKind::Read, path, Some(true)));
        let shown = files(&lines.iter().fold(talk, |talk, line| talk.run(line, true, "")));
        let living = shown.split(' ').filter(|file| !file.ends_with(":Deleted"));
        living.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_folder_that_is_moved_takes_all_its_files_along() {
        let src = "src/a.rs src/b.rs src/c/d.rs";
        let lib = "lib/a.rs:Created lib/b.rs:Created lib/c/d.rs:Created";
        for line in [
            "mv src lib",
            "git mv src lib",
            "rm -rf lib && mv src lib",
            "mv ./src/ lib",
        ] {
            assert_eq!(of(src, &[line]), lib, "{line}");
        }
        assert_eq!(
            of(src, &["cp -r src lib"]),
            format!("src/a.rs:Read src/b.rs:Read src/c/d.rs:Read {lib}")
        );
        // A folder that is there takes the whole folder, and one that was taken away does not.
        let inside = "lib/x.rs:Read lib/src/a.rs:Created lib/src/b.rs:Created lib/src/c/d.rs:Created";
        assert_eq!(of(&format!("lib/x.rs {src}"), &["git mv src lib"]), inside);
        assert_eq!(of(&format!("lib/x.rs {src}"), &["rm -rf lib", "mv src lib"]), lib);
        assert_eq!(
            of("/w/src/a.rs /w/src/b.rs", &["cd /w/src && mv a.rs b.rs ../lib"]),
            "/w/lib/a.rs:Created /w/lib/b.rs:Created"
        );
        assert_eq!(
            of(
                "C:\\w\\src\\a.rs C:\\w\\top.rs",
                &["mv src lib", "mv C:/w/top.rs C:/w/lib"]
            ),
            "C:/w/lib/a.rs:Created C:/w/lib/top.rs:Created"
        );
    }

    #[test]
    fn a_file_is_taken_away_however_its_path_is_written() {
        for (read, line) in [
            ("C:\\proj\\src\\a.rs", "rm /c/proj/src/a.rs"),
            ("C:\\proj\\src\\a.rs", "rm -r /mnt/c/proj/src"),
            ("/w/src//a.rs", "rm /w/src/a.rs"),
            ("/w/src/../src/a.rs", "rm /w/src/a.rs"),
            ("file:///w/src/a.rs", "rm -rf /w/src"),
            ("/w/src/a.rs", "cd /w/lib && rm ../src/a.rs"),
            ("src/a.rs", "rm ./src//a.rs"),
            ("src/a.rs", "cd tests && rm ../src/a.rs"),
            ("/w/app/src/a.rs src/a.rs", "rm -rf src"),
        ] {
            assert_eq!(of(read, &[line]), "", "{read} {line}");
        }
        for line in ["rm -rf pp", "rm -rf rc", "rm /other/src/a.rs", "rm src/a.rsx"] {
            assert_eq!(of("/w/app/src/a.rs", &[line]), "/w/app/src/a.rs:Read", "{line}");
        }
    }

    #[test]
    fn a_home_on_a_drive_is_no_project() {
        let talk = Talk::new()
            .on(ActionKind::Change, "C:\\Users\\u\\one\\a.py", Some(true))
            .on(ActionKind::Change, "c:/Users/u/two/b.py", Some(true));
        assert_eq!(
            files(&talk.run("cd /d C:\\Users\\u\\two && git reset --hard", true, "")),
            "C:\\Users\\u\\one\\a.py:Edited c:/Users/u/two/b.py:Read"
        );
    }

    #[test]
    fn what_git_moves_is_there_under_its_new_name() {
        for (line, expected) in [
            ("git mv src/old.py src/brand_new.py", "a:Read src/brand_new.py:Created"),
            ("cd src && git mv old.py new.py", "a:Read src/new.py:Created"),
            ("git mv src/old.py lib", "a:Read"),
            ("git mv src/v1.0 src/v1.1", "a:Read"),
            ("mv /tmp/one.log /tmp/two.log", "a:Read"),
        ] {
            assert_eq!(of("a", &[line]), expected, "{line}");
        }
    }

    #[test]
    fn a_move_of_many_files_takes_linear_time() {
        let talk = (0..20_000).fold(Talk::new(), |talk, number| {
            talk.on(ActionKind::Read, &format!("src/{number}.rs"), Some(true))
        });
        assert!(files(&talk.run("mv src lib", true, "")).contains("lib/19999.rs:Created"));
    }
}
