//! What commands do to the files that are known.

use super::{FileState, Gatherer};
use crate::effects::{Among, Effect};
use crate::files::{is_absolute, is_in_folder, is_within_end};
use crate::message::{Action, ToolResult};
use std::collections::{BTreeMap, HashSet};

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
    pub(super) fn apply(&mut self, action: &Action, effect: &Effect, result: &ToolResult) {
        match effect {
            Effect::Write(path, state) => self.touch(action, path, *state),
            Effect::Remove(path) => {
                for (known, _) in self.known(path, |state| state != FileState::Deleted) {
                    self.remove(known);
                }
            }
            Effect::Move { from, to } => {
                for (known, found) in self.known(from, |state| state != FileState::Deleted) {
                    let to = self.target(known, &found, to);
                    self.remove(known);
                    self.touch_path(&to, FileState::Created);
                }
            }
            Effect::Copy { from, to } => {
                for (known, found) in self.known(from, |state| state != FileState::Deleted) {
                    let to = self.target(known, &found, to);
                    let there = self.files.find(&to).and_then(|file| self.state(file));
                    let state = match there {
                        None | Some(FileState::Deleted) => FileState::Created,
                        Some(_) => FileState::Edited,
                    };
                    self.touch_path(&to, state);
                }
            }
            Effect::PutBack(among) => {
                for known in self.loose(among) {
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
                let may_be = |known: &u64, path: &str| among.contains(known) || !is_absolute(&plain(path));
                let changed = self
                    .touched
                    .iter()
                    .filter(|(known, (file, _))| file.state != FileState::Read && may_be(known, &file.path));
                self.kept.committed.extend(changed.map(|(&known, _)| known));
            }
        }
    }

    fn state(&self, known: u64) -> Option<FileState> {
        self.touched.get(&known).map(|(file, _)| file.state)
    }

    fn remove(&mut self, known: u64) {
        if self.state(known) == Some(FileState::Created) {
            self.kept.made.insert(known);
        }
        self.touch_file(known, FileState::Deleted);
    }

    /// Changes the state of a file that is known and leaves when it was touched.
    fn put(&mut self, known: u64, state: FileState) {
        if let Some((file, _)) = self.touched.get_mut(&known) {
            file.state = state;
            self.outdate_checks();
        }
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
            Among::Path(path) => self.known(path, |_| true).into_iter().map(|(known, _)| known).collect(),
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
        let is_all = if is_absolute(at) {
            let root = self.root();
            !is_shared(&root) && is_in_folder(at, &root)
        } else {
            !at.starts_with("..")
        };
        let files = self.touched.iter();
        files
            .filter(|(_, (file, _))| is_all || is_in_folder(&plain(&file.path), at))
            .map(|(&known, _)| known)
            .collect()
    }

    /// The known files that a command means by a path: the file of that name, or those in the folder of that name, each
    /// with where the path ends in it. Where one is named from the root and the other from somewhere, they are the same if
    /// only one file can be meant.
    fn known(&self, path: &str, is_wanted: impl Fn(FileState) -> bool) -> Vec<(u64, Found)> {
        let mut found: Vec<(u64, Found)> = Vec::new();
        let mut ends: Vec<(u64, Found)> = Vec::new();
        let is_whole = is_absolute(path);
        let mut root: Option<String> = None;
        for (&known, (file, _)) in &self.touched {
            if !is_wanted(file.state) {
                continue;
            }
            let name = plain(&file.path);
            if let Some(rest) = name.strip_prefix(path)
                && (rest.is_empty() || rest.starts_with('/'))
            {
                found.push((
                    known,
                    Found {
                        front: 0,
                        rest: name.len() - rest.len(),
                    },
                ));
            } else if is_whole && !is_absolute(&name) && is_within_end(path, &name) {
                ends.push((
                    known,
                    Found {
                        front: 0,
                        rest: name.len(),
                    },
                ));
            } else if !is_whole && is_absolute(&name) {
                let root = root.get_or_insert_with(|| self.root());
                let front = root.len() + 1;
                let inside = name.strip_prefix(&**root).and_then(|rest| rest.strip_prefix('/'));
                match inside.and_then(|inside| inside.strip_prefix(path)) {
                    Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                        found.push((
                            known,
                            Found {
                                front,
                                rest: name.len() - rest.len(),
                            },
                        ));
                    }
                    _ if path.contains('/') && is_within_end(&name, path) => {
                        ends.push((
                            known,
                            Found {
                                front: name.len() - path.len(),
                                rest: name.len(),
                            },
                        ));
                    }
                    _ => {}
                }
            }
        }
        if found.is_empty() && ends.len() == 1 {
            found = ends;
        }
        found.sort_unstable_by_key(|(known, _)| self.touched.get(known).map(|(file, _)| file.path.clone()));
        found
    }

    /// The folder that all files are in which are named from the root.
    fn root(&self) -> String {
        let mut root: Option<String> = None;
        for name in self
            .touched
            .values()
            .map(|(file, _)| plain(&file.path))
            .filter(|name| is_absolute(name))
        {
            let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
            root = Some(match root {
                None => folder.to_owned(),
                Some(root) => {
                    let same = root
                        .split('/')
                        .zip(folder.split('/'))
                        .take_while(|(one, other)| one == other);
                    same.map(|(one, _)| one).collect::<Vec<_>>().join("/")
                }
            });
        }
        root.unwrap_or_default()
    }

    /// What a known file is called after it was moved or copied, in the way in which it was named.
    fn target(&self, known: u64, found: &Found, to: &str) -> String {
        let name = self
            .touched
            .get(&known)
            .map_or_else(String::new, |(file, _)| plain(&file.path));
        let front = if is_absolute(to) { "" } else { &name[..found.front] };
        let last = name[..found.rest].rsplit('/').next().unwrap_or_default();
        let to = format!("{front}{to}");
        let is_folder = || {
            let inside = format!("{}/", to.trim_end_matches('/'));
            self.touched
                .values()
                .any(|(other, _)| plain(&other.path).starts_with(&inside))
        };
        let whole = match to.ends_with('/') || to == "." || is_folder() {
            true if to == "." => last.to_owned(),
            true => format!("{}/{last}", to.trim_end_matches('/')),
            false => to,
        };
        whole + &name[found.rest..]
    }
}

/// Where a command's path stands in the name of a known file.
struct Found {
    /// It begins here.
    front: usize,
    /// … and ends here, where what is in a folder begins.
    rest: usize,
}

/// Whether `git stash` has found no change.
fn had_nothing_to_stash(result: &ToolResult) -> bool {
    let says_so = |line: &str| line.trim() == "No local changes to save";
    result.texts().any(|text| text.body.as_str().lines().any(says_so))
}

/// Whether a folder holds more than one project, as those of users and of temporary files do.
fn is_shared(folder: &str) -> bool {
    let mut pieces: Vec<&str> = folder
        .split('/')
        .filter(|piece| !piece.is_empty() && !piece.ends_with(':'))
        .collect();
    if pieces.first() == Some(&"private") {
        pieces.remove(0);
    }
    match pieces[..] {
        [] => true,
        [only] => ["tmp", "home", "Users", "root", "var", "opt", "mnt", "srv", "~"].contains(&only),
        ["home" | "Users", _] | ["var", "folders" | "tmp"] => true,
        _ => false,
    }
}

fn plain(path: &str) -> String {
    let path = path.replace('\\', "/");
    path.strip_prefix("./").map_or_else(|| path.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Talk, files};
    use crate::message::ActionKind;

    const BEFORE: &str = "/w/app/a.py:Edited /w/b.py:Edited";

    fn after(lines: &[(&str, &str)]) -> String {
        let talk =
            Talk::new()
                .on(ActionKind::Change, "/w/app/a.py", Some(true))
                .on(ActionKind::Change, "/w/b.py", Some(true));
        files(&lines.iter().fold(talk, |talk, (line, said)| talk.run(line, true, said)))
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
}
