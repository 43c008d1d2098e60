//! Which file a path means: one notion for all that is known of files.
//!
//! Agents name a file by its absolute path, by one relative to a folder that nobody else knows, or by both. A relative path
//! is taken for the one absolute path that ends with it, as long as no other does, and as long as the folder that this
//! implies is the one that most other paths imply. In doubt there are two files: what is known of one is then not known of
//! the other, which is a miss; to mix them up would be an error.

use crate::hash::{self, ByHash};
use crate::path::{Path, is_in_folder, is_within_end};
use crate::pattern::{is_pattern, means};
use std::collections::HashMap;

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
    /// The paths themselves, in the order in which they were named.
    named: Vec<Named>,
    /// Of each file that was named from the root: the number of that path.
    whole: ByHash<u32>,
    /// The folder that all paths are in which were named from the root.
    root: Option<String>,
    /// Some of them are on a drive of Windows.
    has_drives: bool,
}

/// A path that was named.
#[derive(Clone, Debug)]
struct Named {
    path: Path,
    hash: u64,
    file: u64,
}

/// A file that is meant by a path, or is in the folder that is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub file: u64,
    /// The path by which it was found.
    named: u32,
    /// There the other path begins.
    front: usize,
    /// … and here it ends, where what is in a folder begins.
    rest: usize,
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
        let is_absolute = normal.key.is_absolute;
        let file = if is_absolute {
            self.add_root(path.as_str());
            self.has_drives |= path.has_drive();
            self.add_absolute(&normal)
        } else {
            self.add_relative(&normal)
        };
        if is_absolute {
            self.whole.insert(file, self.named.len() as u32);
        }
        let hash = normal.key.hash;
        self.named.push(Named { path, hash, file });
        file
    }

    /// The file that a path means by what was named so far.
    pub fn find(&self, path: &str) -> Option<u64> {
        self.known(Normal::of(&Path::of(path)).key).filter(|&file| file != 0)
    }

    /// The folder that all files are in which were named from the root, or nothing.
    pub fn root(&self) -> &str {
        self.root.as_deref().unwrap_or_default()
    }

    /// Whether some paths are on a drive of Windows.
    pub fn has_drives(&self) -> bool {
        self.has_drives
    }

    /// The file that a path means, as [`Files::within`] does, and none that is in a folder of that name.
    pub fn meant(&self, path: &str) -> Option<u64> {
        let found = self.within(path, |_| true);
        let is_itself = |found: &&Found| found.rest == self.named[found.named as usize].path.as_str().len();
        found.iter().find(is_itself).map(|found| found.file)
    }

    /// Whether a file was named from the root.
    pub fn is_whole(&self, file: u64) -> bool {
        self.whole.contains_key(&file)
    }

    /// The files among these that a path means: the one of that name, or those in the folder of that name. Where one is named
    /// from the root and the other from somewhere, they are the same if only one file can be meant.
    pub fn within(&self, path: &str, is_wanted: impl Fn(u64) -> bool) -> Vec<Found> {
        let path = Path::of(path);
        let (wanted, is_whole) = (path.as_str(), path.is_absolute());
        let (mut found, mut ends): (Vec<Found>, Vec<Found>) = (Vec::new(), Vec::new());
        if wanted.is_empty() {
            return found;
        }
        for (number, named) in self.named.iter().enumerate() {
            let (name, file) = (named.path.as_str(), named.file);
            let is_absolute = named.path.is_absolute();
            // What a relative path meant once, it may mean no more.
            if !is_wanted(file) || !is_absolute && self.relative.get(&named.hash) != Some(&file) {
                continue;
            }
            let at = |front: usize, rest: usize| Found {
                file,
                named: number as u32,
                front,
                rest,
            };
            if is_in_folder(name, wanted) {
                found.push(self.by_root(at(0, wanted.len())));
            } else if is_whole && !is_absolute && is_within_end(wanted, name) {
                ends.push(at(0, name.len()));
            } else if !is_whole && is_absolute {
                let inside = name.strip_prefix(self.root()).and_then(|rest| rest.strip_prefix('/'));
                if let Some(inside) = inside.filter(|inside| is_in_folder(inside, wanted)) {
                    let front = name.len() - inside.len();
                    found.push(at(front, front + wanted.len()));
                } else if wanted.contains('/') && is_within_end(name, wanted) {
                    ends.push(at(name.len() - wanted.len(), name.len()));
                }
            }
        }
        for found in [&mut found, &mut ends] {
            found.sort_by_key(|found| found.file);
            found.dedup_by_key(|found| found.file);
        }
        match found.is_empty() && ends.len() == 1 {
            true => ends,
            false => found,
        }
    }

    /// The files that a pattern means, each with the path by which it was found. A pattern from somewhere means files that
    /// were named from the root if they stand so in the folder that all are in, or else in the only one in which any do.
    pub fn matching(&self, pattern: &str) -> Vec<(u64, String)> {
        let pattern = Path::of(pattern);
        let parts: Vec<&str> = pattern.names().collect();
        if parts.is_empty() {
            return Vec::new();
        }
        let (mut found, mut ends, mut fronts) = (Vec::new(), Vec::new(), Vec::new());
        for named in &self.named {
            let path = &named.path;
            let is_current = path.is_absolute() || self.relative.get(&named.hash) == Some(&named.file);
            if named.file == 0 || !is_current {
                continue;
            }
            let names: Vec<&str> = path.names().collect();
            let it = || (named.file, path.spelled());
            if pattern.is_absolute() == path.is_absolute() && means(&parts, &names)
                || !pattern.is_absolute() && self.inside(path).is_some_and(|names| means(&parts, &names))
            {
                found.push(it());
            } else if let Some(front) = front(&parts, pattern.is_absolute(), &names, path.is_absolute())
                && (path.is_absolute() || self.may_begin(&front))
            {
                ends.push(it());
                fronts.push(front);
            }
        }
        if found.is_empty() && fronts.windows(2).all(|two| two[0] == two[1]) {
            found = ends;
        }
        found.sort();
        found.dedup_by_key(|(file, _)| *file);
        found.sort_by(|(_, one), (_, other)| one.cmp(other));
        found
    }

    /// Whether files that were named from somewhere may stand in a folder that these names lead to: those from the root do.
    fn may_begin(&self, front: &[&str]) -> bool {
        let root: Vec<&str> = self.root().split('/').filter(|name| !name.is_empty()).collect();
        !root.is_empty() && root.iter().zip(front).all(|(one, other)| one == other)
    }

    /// The names of a path from the root as seen from the folder that all are in.
    fn inside<'a>(&self, path: &'a Path) -> Option<Vec<&'a str>> {
        let inside = path.as_str().strip_prefix(self.root()).filter(|_| path.is_absolute())?;
        Some(inside.split('/').filter(|name| !name.is_empty()).collect())
    }

    /// The path by which a file was found.
    pub fn spelled(&self, found: &Found) -> String {
        self.named[found.named as usize].path.spelled()
    }

    /// The files that were named in this folder, as both were named.
    pub fn in_folder(&self, folder: &str) -> impl Iterator<Item = u64> {
        let folder = Path::of(folder);
        let is_in = move |named: &&Named| is_in_folder(named.path.as_str(), folder.as_str());
        self.named.iter().filter(is_in).map(|named| named.file)
    }

    /// The same by the path from the root, where the file has one that ends with this one.
    fn by_root(&self, found: Found) -> Found {
        let name = self.named[found.named as usize].path.as_str();
        let Some(&whole) = self.whole.get(&found.file).filter(|&&whole| whole != found.named) else {
            return found;
        };
        let root = self.named[whole as usize].path.as_str();
        let front = root.len().saturating_sub(name.len());
        match is_within_end(root, name) {
            true => Found {
                named: whole,
                front: found.front + front,
                rest: found.rest + front,
                ..found
            },
            false => found,
        }
    }

    /// What these files are called after they were moved or copied, in the way in which they were named. The folders that
    /// there are decide, and those are the ones with one of these other files in them.
    pub fn moved(&self, found: &[Found], to: &str, is_there: impl Fn(u64) -> bool) -> Vec<String> {
        let target = Path::of(to);
        let mut folders: HashMap<String, bool> = HashMap::new();
        let mut is_folder = |path: &str| {
            if let Some(&known) = folders.get(path) {
                return known;
            }
            let is_inside =
                |named: &Named| named.path.as_str().len() > path.len() && is_in_folder(named.path.as_str(), path);
            let is_one = self.named.iter().any(|named| is_inside(named) && is_there(named.file));
            folders.insert(path.to_owned(), is_one);
            is_one
        };
        let names = found.iter().map(|found| {
            let named = &self.named[found.named as usize].path;
            let name = named.as_str();
            let front = if target.is_absolute() { "" } else { &name[..found.front] };
            let whole = Path::within(front, target.as_str());
            let last = name[..found.rest].rsplit('/').next().unwrap_or_default();
            let is_into = to.ends_with('/') || target.as_str().is_empty() || is_folder(whole.as_str());
            let whole = if is_into {
                Path::within(whole.as_str(), last)
            } else {
                whole
            };
            let spelled_as = if target.is_absolute() { &target } else { named };
            spelled_as.spell(&format!("{}{}", whole.as_str(), &name[found.rest..]))
        });
        names.collect()
    }

    fn add_root(&mut self, path: &str) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        match &mut self.root {
            None => self.root = Some(folder.to_owned()),
            Some(root) => {
                let same = root
                    .split('/')
                    .zip(folder.split('/'))
                    .take_while(|(one, other)| one == other);
                let length: usize = same.map(|(name, _)| name.len() + 1).sum();
                root.truncate(length.saturating_sub(1));
            }
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

/// What stands before the names that a pattern and a path have in common, of which one is from the root and the other one
/// from somewhere.
fn front<'a>(parts: &[&'a str], is_whole: bool, names: &[&'a str], is_absolute: bool) -> Option<Vec<&'a str>> {
    let is_telling = |parts: &[&str]| parts.len() >= TELLING && !is_pattern(parts[0]);
    match (is_whole, is_absolute) {
        (false, true) if is_telling(parts) => {
            let at = (0..names.len()).find(|&at| names[at] == parts[0] && means(parts, &names[at..]))?;
            Some(names[..at].to_vec())
        }
        (true, false) => {
            let is_there = |at: &usize| names.first() == Some(&parts[*at]) && is_telling(&parts[*at..]);
            let at = (0..parts.len()).find(|at| is_there(at) && means(&parts[*at..], names))?;
            Some(parts[..at].to_vec())
        }
        _ => None,
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
    fn a_pattern_means_the_files_that_are_known() {
        for (paths, pattern, expected) in [
            ("src/a.rs src/b/c.rs d.rs", "src/*.rs", "src/a.rs"),
            ("src/a.rs src/b/c.rs d.rs", "**/*.rs", "d.rs src/a.rs src/b/c.rs"),
            ("/w/src/a.rs /w/d.rs", "src/**", "/w/src/a.rs"),
            ("/w/src/a.rs /w/src/b.rs", "src/*.rs", "/w/src/a.rs /w/src/b.rs"),
            ("/w/src/a.rs /w/src/b.rs", "*.rs", "/w/src/a.rs /w/src/b.rs"),
            ("/w/src/a.rs src/b.rs", "/w/src/*.rs", "/w/src/a.rs"),
            ("/w/src/a.rs /w/d.rs lib/b.rs", "/w/lib/*.rs", "lib/b.rs"),
            // Of two folders nobody knows which one is meant.
            ("/w/x/src/a.rs /w/y/src/a.rs", "src/*.rs", ""),
            // Another place of the same name.
            ("src/a.rs", "/srv/src/*.rs", ""),
            ("/w/src/a.rs lib/b.rs", "/srv/lib/*.rs", ""),
            ("src/a.rs", ".", ""),
        ] {
            let mut files = Files::default();
            for path in paths.split(' ') {
                files.file(path);
            }
            let found: Vec<String> = files.matching(pattern).into_iter().map(|(_, path)| path).collect();
            assert_eq!(found.join(" "), expected, "{paths}: {pattern}");
        }
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
