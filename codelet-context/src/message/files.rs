//! Which file a path means: one notion for all that is known of files.
//!
//! Agents name a file by its absolute path, by one relative to a folder that nobody else knows, or by both. A relative path
//! is taken for the one absolute path that ends with it, as long as no other does, and as long as the folder that this
//! implies is the one that most other paths imply. In doubt there are two files: what is known of one is then not known of
//! the other, which is a miss; to mix them up would be an error.

use crate::text::hash::{self, ByHash};
use codelet_text::path::Path;

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
    /// The normal forms of paths, by how they were written: most are named again and again.
    written: ByHash<Key>,
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
        let written = hash::bytes(path.as_bytes());
        if let Some(file) = self.written.get(&written).and_then(|&key| self.known(key)) {
            return file;
        }
        let path = Path::of(path);
        let normal = Normal::of(&path);
        self.written.insert(written, normal.key);
        if let Some(file) = self.known(normal.key) {
            return file;
        }
        match normal.key.is_absolute {
            true => self.add_absolute(&normal),
            false => self.add_relative(&normal),
        }
    }

    fn known(&self, path: Key) -> Option<u64> {
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
        let mut meant = path.key.hash;
        if let Some(End::One { file, folder }) = self.ends.get(&path.key.hash).copied() {
            self.vote(folder, path.key.components);
            if self.leads(folder) {
                meant = file;
            }
        }
        self.relative.insert(path.key.hash, meant);
        meant
    }

    fn add_absolute(&mut self, path: &Normal) -> u64 {
        let mut found = None;
        // The longest first: it says most.
        for (components, &(end, folder)) in path.ends.iter().enumerate().rev() {
            let meant = self.relative.get(&end).copied();
            match (self.ends.get(&end).copied(), meant) {
                (None, Some(file)) if found.is_none() => {
                    self.vote(folder, components + 1);
                    found = Some(file).filter(|_| self.leads(folder));
                }
                // Whoever says no more from now on may mean either.
                (Some(End::One { file, .. }), Some(meant)) if meant == file => {
                    self.relative.insert(end, hash::pair(end, meant));
                }
                _ => {}
            }
        }
        let file = found.unwrap_or(path.key.hash);
        for &(end, folder) in &path.ends {
            let one = End::One { file, folder };
            self.ends.entry(end).and_modify(|end| *end = End::Many).or_insert(one);
        }
        self.absolute.insert(path.key.hash, file);
        file
    }

    /// Counts a relative path of so many components for the folder that it would stand in.
    fn vote(&mut self, folder: u64, components: usize) {
        if components < TELLING {
            return;
        }
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

    /// Whether more relative paths would stand in this folder than in any other.
    fn leads(&self, folder: u64) -> bool {
        self.most.0 == folder && self.most.1 > self.second
    }
}

/// A path as it is compared.
#[derive(Clone, Copy, Debug)]
struct Key {
    is_absolute: bool,
    components: usize,
    /// Of all of it.
    hash: u64,
}

/// The same with its ends.
struct Normal {
    key: Key,
    /// For an absolute path, by number of components: the hash of its end, and that of the folder before it.
    ends: Vec<(u64, u64)>,
}

impl Normal {
    fn of(path: &Path) -> Normal {
        let hashes: Vec<u64> = path.names().map(|name| hash::bytes(name.as_bytes())).collect();
        let (is_absolute, components) = (path.is_absolute(), hashes.len());
        let key = |hash| Key {
            is_absolute,
            components,
            hash,
        };
        // From the end, so that the end of one path is known as all of another.
        let ends = hashes.iter().rev().scan(0, |end, &name| {
            *end = hash::pair(*end, name);
            Some(*end)
        });
        if !is_absolute {
            return Normal {
                key: key(ends.last().unwrap_or_default()),
                ends: Vec::new(),
            };
        }
        let mut folders = Vec::with_capacity(components + 1);
        folders.push(1);
        for &name in &hashes {
            folders.push(hash::pair(folders[folders.len() - 1], name));
        }
        let above = folders.iter().rev().skip(1).copied();
        Normal {
            key: key(folders[components]),
            ends: ends.zip(above).take(DEEPEST).collect(),
        }
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
        assert_eq!(files.file("src/a.rs"), either);
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
    fn no_file_is_named_by_an_empty_path() {
        for path in ["", ".", "./", "/", "a/..", "\\"] {
            let mut files = Files::default();
            assert_eq!(files.file(path), 0, "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_two_absolute_paths_are_one_file(paths in proptest::collection::vec("/?[ab](/[ab.]){0,3}", 0..24)) {
            let mut files = Files::default();
            let mut absolute: Vec<(u64, u64)> = Vec::new();
            for path in &paths {
                let file = files.file(path);
                let normal = Normal::of(&Path::of(path)).key;
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
