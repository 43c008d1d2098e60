//! The identity of the file that a path denotes, shared by all knowledge about files.

use crate::text::hash;
use codelet_text::path::Path;

/// The file that a path denotes, as a hash of its normalised form, or 0 if it denotes none. A relative and an absolute
/// path are two files, since the base folder of the first is unknown. Facts about one are then missing for the other,
/// which is better than confusing two files.
pub(crate) fn file(path: &str) -> u64 {
    let path = Path::of(path);
    let names = path.names().map(|name| hash::bytes(name.as_bytes()));
    let start = if path.is_absolute() { 1 } else { 2 };
    match names.fold(start, hash::pair) {
        same if same == start => 0,
        file => file,
    }
}

/// The deepest folder that contains at least three quarters of the absolute paths, with its separator; empty if there is
/// none below a root.
pub(crate) fn common_folder<'a>(paths: impl Iterator<Item = &'a str>) -> &'a str {
    let mut paths: Vec<&str> = paths.filter(|path| Path::of(path).is_absolute()).collect();
    paths.sort_unstable();
    // In order, the paths in a folder stand together.
    let most = (3 * paths.len()).div_ceil(4).max(1);
    let folders = paths
        .windows(most)
        .map(|paths| shared_folder(paths[0], paths[most - 1]));
    let deepest = folders.max_by_key(|folder| folder.len()).unwrap_or("");
    if file(deepest) == 0 { "" } else { deepest }
}

/// The deepest folder that both paths begin with, with its separator.
fn shared_folder<'a>(one: &'a str, other: &str) -> &'a str {
    let pairs = one.bytes().zip(other.bytes());
    let same = pairs.take_while(|(one, other)| one == other).count();
    let separators = one.as_bytes()[..same]
        .iter()
        .rposition(|byte| matches!(byte, b'/' | b'\\'));
    separators.map_or("", |at| &one[..=at])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    /// Groups the paths by file and names each file by its first path.
    fn meant(paths: &str) -> String {
        let mut first: Vec<(u64, &str)> = Vec::new();
        let named = paths.split(' ').map(|path| {
            let file = file(path);
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
    fn the_common_folder_is_that_of_most_absolute_paths() {
        for (paths, folder) in [
            ("/w/src/a.rs /w/src/b.rs", "/w/src/"),
            ("/w/src/a.rs /w/tests/b.rs /w/src/c.rs src/d.rs", "/w/"),
            ("/w/src/a.rs /w/src/b.rs /w/src/c.rs /tmp/log", "/w/src/"),
            ("C:\\w\\a.rs C:\\w\\b.rs", "C:\\w\\"),
            ("/w/a.rs /v/b.rs", ""),
            ("/a.rs", ""),
            ("src/a.rs", ""),
            ("", ""),
        ] {
            assert_eq!(common_folder(paths.split(' ')), folder, "{paths}");
        }
    }

    #[test]
    fn no_file_is_named_by_an_empty_path() {
        for path in ["", ".", "./", "/", "a/..", "\\"] {
            assert_eq!(file(path), 0, "{path}");
        }
    }

    proptest! {
        #[test]
        fn two_paths_are_one_file_where_their_normal_forms_are_one(paths in proptest::collection::vec("/?[ab](/[ab.]){0,3}", 0..24)) {
            let normal = |path: &str| {
                let path = Path::of(path);
                let names: Vec<String> = path.names().map(str::to_owned).collect();
                (path.is_absolute() && !names.is_empty(), names)
            };
            for (one, other) in paths.iter().flat_map(|one| paths.iter().map(move |other| (one, other))) {
                prop_assert_eq!(file(one) == file(other), normal(one) == normal(other), "{} and {}", one, other);
            }
        }

        #[test]
        fn any_path_is_taken(path in "[a-c./\\\\:~é ]{0,12}") {
            let names = Path::of(&path).names().count();
            prop_assert_eq!(file(&path) == 0, names == 0);
        }
    }
}
