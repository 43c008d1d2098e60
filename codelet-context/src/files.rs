//! Which file a path means: one notion for all that is known of files.
//!
//! Agents name a file by its absolute path, by one relative to a folder that nobody else knows, or by both. A relative path
//! is taken for the one absolute path that ends with it, as long as no other does, and as long as the folder that this
//! implies is the one that most other paths imply. In doubt there are two files: what is known of one is then not known of
//! the other, which is a miss; to mix them up would be an error.

use crate::hash::{self, ByHash};
use crate::message::Action;
use crate::shell;
use std::borrow::Cow;

/// A path is compared by so many components at its end.
const DEEPEST: usize = 48;
/// A relative path of fewer components says nothing of the folder that it is relative to: every folder may have a `README`.
const TELLING: usize = 2;

/// The files that paths have named so far. To name one takes time in proportion to the length of its path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// The file of each absolute path, by its normal form.
    absolute: ByHash<u64>,
    /// The file that a relative path means from now on.
    relative: ByHash<u64>,
    /// By components at the end of a path: the absolute paths that end so.
    ends: ByHash<End>,
    /// By folder: how many relative paths would stand in it.
    folders: ByHash<u32>,
    /// The folder with the most of them, and how many the second has.
    most: (u64, u32),
    second: u32,
}

/// The absolute paths that end with the same components.
#[derive(Clone, Copy, Debug)]
enum End {
    /// One: its file, and the folder that these components are relative to.
    One { file: u64, folder: u64 },
    /// Several.
    Many,
}

impl Files {
    /// The file that a path means when it is named now, or 0 if it names none.
    pub fn file(&mut self, path: &str) -> u64 {
        let path = Normal::of(path);
        match self.known(&path) {
            Some(file) => file,
            None if path.is_absolute => self.add_absolute(&path),
            None => self.add_relative(&path),
        }
    }

    /// The file that one of an action's paths means.
    pub fn file_of(&mut self, action: &Action, path: &str) -> u64 {
        self.file(&named(action, path))
    }

    /// The file that a path means by what was named so far.
    pub fn find(&self, path: &str) -> Option<u64> {
        self.known(&Normal::of(path)).filter(|&file| file != 0)
    }

    fn known(&self, path: &Normal) -> Option<u64> {
        let known = if path.is_absolute {
            &self.absolute
        } else {
            &self.relative
        };
        match path.components {
            0 => Some(0),
            _ => known.get(&path.hash).copied(),
        }
    }

    fn add_relative(&mut self, path: &Normal) -> u64 {
        let file = match self.ends.get(&path.hash).copied() {
            Some(End::One { file, folder }) if self.is_in(folder, path.components) => file,
            _ => path.hash,
        };
        self.relative.insert(path.hash, file);
        file
    }

    fn add_absolute(&mut self, path: &Normal) -> u64 {
        let mut found = None;
        // The longest first: it says most.
        for (components, &(end, folder)) in path.ends.iter().enumerate().rev() {
            let meant = self.relative.get(&end).copied();
            match (self.ends.get(&end).copied(), meant) {
                (None, Some(file)) if found.is_none() && self.is_in(folder, components + 1) => found = Some(file),
                // Whoever says no more from now on may mean either.
                (Some(End::One { file, .. }), Some(meant)) if meant == file => {
                    self.relative.insert(end, hash::pair(end, meant));
                }
                _ => {}
            }
        }
        let file = found.unwrap_or(path.hash);
        for &(end, folder) in &path.ends {
            let one = End::One { file, folder };
            self.ends.entry(end).and_modify(|end| *end = End::Many).or_insert(one);
        }
        self.absolute.insert(path.hash, file);
        file
    }

    /// Whether a relative path of so many components is one of this folder, by what other paths say.
    fn is_in(&mut self, folder: u64, components: usize) -> bool {
        if components >= TELLING {
            let count = self.folders.entry(folder).or_default();
            *count += 1;
            if self.most.0 == folder || self.most.1 == 0 {
                self.most = (folder, *count);
            } else if *count > self.most.1 {
                self.second = self.most.1;
                self.most = (folder, *count);
            } else {
                self.second = self.second.max(*count);
            }
        }
        self.most.0 == folder && self.most.1 > self.second
    }
}

/// A path as it is compared: `a/./b`, `a//b`, `a\b` and `a/x/../b` are `a/b`, and `c:\a`, `C:/a`, `/c/a` and `/mnt/c/a` are
/// the same.
struct Normal {
    is_absolute: bool,
    components: usize,
    /// Of all of it.
    hash: u64,
    /// For an absolute path, by number of components: the hash of its end, and that of the folder before it.
    ends: Vec<(u64, u64)>,
}

impl Normal {
    fn of(path: &str) -> Normal {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let (drive, path) = drive(path);
        let is_absolute = drive.is_some() || path.starts_with(['/', '\\']);
        let mut names: Vec<&str> = Vec::from_iter(drive.as_deref());
        let top = names.len();
        for name in path.split(['/', '\\']) {
            match name {
                "" | "." => {}
                ".." if names.len() > top && names.last() != Some(&"..") => {
                    names.pop();
                }
                ".." if is_absolute => {}
                name => names.push(name),
            }
        }
        let hashes: Vec<u64> = names.iter().map(|name| hash::bytes(name.as_bytes())).collect();
        // From the end, so that the end of one path is known as all of another.
        let ends = hashes.iter().rev().scan(0, |end, &name| {
            *end = hash::pair(*end, name);
            Some(*end)
        });
        if !is_absolute {
            return Normal {
                is_absolute,
                components: names.len(),
                hash: ends.last().unwrap_or_default(),
                ends: Vec::new(),
            };
        }
        let mut folders = Vec::with_capacity(hashes.len() + 1);
        folders.push(1);
        for &name in &hashes {
            folders.push(hash::pair(folders[folders.len() - 1], name));
        }
        let above = folders.iter().rev().skip(1).copied();
        Normal {
            is_absolute,
            components: names.len(),
            hash: folders[hashes.len()],
            ends: ends.zip(above).take(DEEPEST).collect(),
        }
    }
}

/// Whether a path says by itself where it begins: at a root, a home or a drive.
pub(crate) fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.get(1..2) == Some(":")
}

/// Whether a path is that of a folder or of something in it.
pub(crate) fn is_in_folder(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || folder.ends_with('/'))
}

/// Whether a whole path ends with a path as seen from somewhere in it.
pub(crate) fn is_within_end(whole: &str, end: &str) -> bool {
    whole.strip_suffix(end).is_some_and(|front| front.ends_with('/'))
}

/// One of an action's paths, from where the action begins: a command may go to another folder first.
pub(crate) fn named<'a>(action: &Action, path: &'a str) -> Cow<'a, str> {
    match &action.command {
        Some(line) if line.starts_with("cd ") => within(&folder(&shell::commands(line)), path),
        _ => Cow::Borrowed(path),
    }
}

/// The folder that these commands go to before they do anything else.
fn folder(commands: &[shell::Simple]) -> String {
    let goes = commands.iter().map_while(|command| match &command.words[..] {
        [cd, folder] if cd == "cd" => Some(folder),
        _ => None,
    });
    goes.fold(String::new(), |before, folder| within(&before, folder).into_owned())
}

/// A path that is given in a folder. Where that is one that a shell knows only (`$DIR`, `-`), no other path is like it.
pub(crate) fn within<'a>(folder: &str, path: &'a str) -> Cow<'a, str> {
    let stands_alone = folder.is_empty() || path.starts_with(['/', '\\', '~']) || drive(path).0.is_some();
    match stands_alone {
        true => Cow::Borrowed(path),
        false => Cow::Owned(format!("{folder}/{path}")),
    }
}

/// The drive that a path begins with, in small letters, and what follows: `C:/a`, or `/mnt/c/a` as Linux has it, is `/c/a`.
fn drive(path: &str) -> (Option<String>, &str) {
    if let Some(mounted) = path.strip_prefix("/mnt")
        && matches!(mounted.as_bytes(), [b'/', letter, b'/', ..] if letter.is_ascii_lowercase())
    {
        return (None, mounted);
    }
    // A URL has a slash before it.
    let bare = path.strip_prefix('/').unwrap_or(path);
    match bare.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => (Some(bare[..1].to_ascii_lowercase()), &bare[2..]),
        _ => (None, path),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    /// The paths by the file that they mean, each file by its first path.
    fn meant(paths: &str) -> String {
        let mut files = Files::default();
        let mut first: Vec<(u64, &str)> = Vec::new();
        let named = paths.split(' ').map(|path| {
            let file = files.file(path);
            match first.iter().find(|(other, _)| *other == file) {
                Some((_, first)) => *first,
                None => {
                    first.push((file, path));
                    path
                }
            }
        });
        named.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_path_is_the_same_however_it_is_written() {
        let table = [
            (
                "src/a.rs ./src/a.rs src//a.rs src/./a.rs src/x/../a.rs src\\a.rs",
                "src/a.rs",
            ),
            (
                "/w/src/a.rs //w/src/a.rs /w/x/../src/a.rs /../w/src/a.rs file:///w/src/a.rs",
                "/w/src/a.rs",
            ),
            (
                "C:\\w\\a.rs c:/w/a.rs C:/w//a.rs /c/w/a.rs /mnt/c/w/a.rs file:///C:/w/a.rs",
                "C:\\w\\a.rs",
            ),
        ];
        for (paths, first) in table {
            assert!(
                meant(paths).split(' ').all(|path| path == first),
                "{paths}: {}",
                meant(paths)
            );
        }
    }

    #[test]
    fn files_that_only_end_alike_are_not_one() {
        for paths in [
            "crates/alpha/src/lib.rs crates/beta/src/lib.rs src/lib.rs lib.rs",
            "/w/one/src/main.rs /w/two/src/main.rs src/main.rs",
            "/w/one/src/main.rs /w/two/src/main.rs one/other.rs ../one/src/main.rs",
            "/w/crates/a/Cargo.toml Cargo.toml",
            "Cargo.toml /w/crates/a/Cargo.toml /w/Cargo.toml",
            "C:\\w\\a.rs D:\\w\\a.rs /w/a.rs /mnt/data/a.rs",
            "/w/src/main.rs rc/main.rs",
            "~/src/a.rs /home/me/src/a.rs",
        ] {
            assert_eq!(meant(paths), paths);
        }
    }

    #[test]
    fn a_relative_path_is_the_only_absolute_one_that_ends_with_it() {
        let table = [
            (
                "/work/app/src/main.rs src/main.rs ./src/main.rs",
                "/work/app/src/main.rs /work/app/src/main.rs /work/app/src/main.rs",
            ),
            ("src/main.rs /work/app/src/main.rs", "src/main.rs src/main.rs"),
            (
                "D:\\app\\src\\main.rs src/main.rs",
                "D:\\app\\src\\main.rs D:\\app\\src\\main.rs",
            ),
            // One that is known from its folder tells of others there.
            (
                "/w/src/a.rs src/a.rs /w/README README",
                "/w/src/a.rs /w/src/a.rs /w/README /w/README",
            ),
            (
                "/w/src/a.rs src/a.rs README /w/README",
                "/w/src/a.rs /w/src/a.rs README README",
            ),
        ];
        for (paths, files) in table {
            assert_eq!(meant(paths), files);
        }
    }

    #[test]
    fn a_second_file_that_ends_alike_parts_what_is_said_from_then_on() {
        // What was said before stays with the first; whoever says it again may mean either.
        let mut files = Files::default();
        let first = files.file("/one/src/a.rs");
        assert_eq!(files.file("src/a.rs"), first);
        let second = files.file("/two/src/a.rs");
        let either = files.file("src/a.rs");
        assert!(first != second && either != first && either != second);
        assert_eq!(files.file("/one/src/a.rs"), first);
        assert_eq!(files.find("src/a.rs"), Some(either));
    }

    #[test]
    fn a_path_that_is_relative_to_another_folder_than_most_is_a_file_of_its_own() {
        // The working directory may have moved, or the whole may have a `src/two.rs` too.
        assert_eq!(
            meant("/w/a/src/one.rs src/one.rs /w/b/src/two.rs src/two.rs"),
            "/w/a/src/one.rs /w/a/src/one.rs /w/b/src/two.rs src/two.rs"
        );
        assert_eq!(
            meant("/w/a/src/one.rs src/one.rs /w/a/src/x.rs src/x.rs /w/b/src/two.rs src/two.rs"),
            "/w/a/src/one.rs /w/a/src/one.rs /w/a/src/x.rs /w/a/src/x.rs /w/b/src/two.rs src/two.rs"
        );
    }

    #[test]
    fn a_command_that_goes_to_a_folder_first_means_files_there() {
        let mut files = Files::default();
        let mut written = |line: &str| files.file_of(&Action::command(line), "src/x.rs");
        let here = written("sed -i s/a/b/ src/x.rs");
        let there = written("cd sub && sed -i s/a/b/ src/x.rs");
        assert_ne!(here, there);
        assert_eq!(written("cd ./sub; sed -i s/a/b/ src/x.rs"), there);
        assert_eq!(
            written("cd /w && cd sub && sed -i s/a/b/ src/x.rs"),
            files.file("/w/sub/src/x.rs")
        );
        assert_eq!(within("sub", "/x.rs"), "/x.rs");
    }

    #[test]
    fn no_file_is_named_by_an_empty_path() {
        for path in ["", ".", "./", "/", "a/..", "\\"] {
            let mut files = Files::default();
            assert_eq!((files.file(path), files.find(path)), (0, None), "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_two_absolute_paths_are_one_file(paths in proptest::collection::vec("/?[ab](/[ab.]){0,3}", 0..24)) {
            let mut files = Files::default();
            let mut absolute: Vec<(u64, u64)> = Vec::new();
            for path in &paths {
                let file = files.file(path);
                prop_assert_eq!(files.find(path).unwrap_or(0), file);
                let normal = Normal::of(path);
                if normal.is_absolute && !absolute.contains(&(normal.hash, file)) {
                    prop_assert!(absolute.iter().all(|(hash, other)| *hash != normal.hash && *other != file));
                    absolute.push((normal.hash, file));
                }
            }
        }

        #[test]
        fn any_path_is_taken(paths in proptest::collection::vec("[a-c./\\\\:~é ]{0,12}", 0..12)) {
            let mut files = Files::default();
            for path in &paths {
                let file = files.file(path);
                prop_assert_eq!(files.file(path), file);
            }
        }
    }
}
