//! The submodules of a repository, as its index names them: entries that are commits of other repositories. Git is not asked, as this is
//! looked at around each command.

use crate::files;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// The largest index that is read, in bytes: some 500,000 files.
const MOST: u64 = 64 * 1024 * 1024;
/// Bytes of an entry before its object's name, and where its mode stands in them.
const HEAD: usize = 40;
const MODE: usize = 24;
/// The mode of a commit of another repository.
const GITLINK: u32 = 0o160_000;
/// Bytes of an object's name, by SHA-1 and by SHA-256.
const NAMES: [usize; 2] = [20, 32];

/// The submodules in this index, as paths from the root; none where there is no index, or one that is not understood.
pub(crate) fn of(index: &Path) -> impl Iterator<Item = PathBuf> {
    let read = || {
        let (file, _) = files::open(&index.canonicalize().ok()?).ok()?;
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes).ok()?;
        NAMES.iter().find_map(|&name| named(&bytes, name))
    };
    let is_below = |path: &PathBuf| path.components().all(|part| matches!(part, Component::Normal(_)));
    read().unwrap_or_default().into_iter().filter(is_below)
}

/// The same of an index whose objects have names of so many bytes; `None` where it cannot be one.
fn named(index: &[u8], object: usize) -> Option<Vec<PathBuf>> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if index.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut name, mut found) = (12, Vec::new(), Vec::new());
    for _ in 0..number(8)? {
        let mode = number(at + MODE)?;
        // Files, links, commits, and folders of an index that is not whole.
        if ![0o10, 0o12, 0o16, 0o04].contains(&(mode >> 12)) {
            return None;
        }
        let flags = at + HEAD + object;
        let is_extended = version > 2 && index.get(flags)? & 0x40 != 0;
        let mut begins = flags + if is_extended { 4 } else { 2 };
        if version == 4 {
            let (kept, after) = kept(index, begins)?;
            name.truncate(name.len().checked_sub(kept)?);
            begins = after;
        } else {
            name.clear();
        }
        let length = index.get(begins..)?.iter().position(|&byte| byte == 0)?;
        name.extend_from_slice(&index[begins..begins + length]);
        let end = begins + length;
        // Before the fourth version entries are filled up to eight bytes, with one at least.
        at = if version == 4 {
            end + 1
        } else {
            at + ((end - at) / 8 + 1) * 8
        };
        if mode == GITLINK {
            found.push(PathBuf::from(OsStr::from_bytes(&name)));
        }
    }
    Some(found)
}

/// How many bytes of the name before are taken off, and where the rest of this name begins.
fn kept(index: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    loop {
        let byte = *index.get(at)?;
        at += 1;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
        value += 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::environment::tests::git;
    use crate::obeyed::Obeyed;
    use proptest::prelude::*;
    use std::fs;

    /// A repository with files around submodules, two of them one within the other, each with its repository in its tree.
    fn scene() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for tree in ["libs/sub/deep", "libs/sub", "other", ""] {
            let tree = base.join(tree);
            fs::create_dir_all(&tree).unwrap();
            for name in ["a", "libs-and-more", "z"] {
                fs::write(tree.join(name), "").unwrap();
            }
            git(&tree, &["init", "-q"]);
            git(&tree, &["add", "."]);
            git(&tree, &["commit", "-q", "-m", "first"]);
        }
        (folder, base)
    }

    #[test]
    fn submodules_are_found_in_an_index_of_any_version() {
        let (_folder, base) = scene();
        let found = || of(&base.join(".git/index")).collect::<Vec<_>>();
        for version in ["2", "4", "2"] {
            git(&base, &["update-index", "--index-version", version]);
            assert_eq!(found(), ["libs/sub", "other"].map(PathBuf::from), "{version}");
        }
        // One with a flag that needs the third version.
        git(&base, &["update-index", "--skip-worktree", "a"]);
        assert_eq!(found().len(), 2);
        let bytes = fs::read(base.join(".git/index")).unwrap();
        for end in 0..bytes.len() {
            // A part is no index, or holds no more than the whole.
            assert!(named(&bytes[..end], 20).is_none_or(|found| found.len() <= 2));
        }
        assert_eq!(of(&base.join("nowhere")).count(), 0);
    }

    #[test]
    fn settings_and_hooks_of_a_submodule_with_a_repository_in_its_tree_are_watched() {
        let (_folder, base) = scene();
        let mut last = Obeyed::of(&base);
        for changed in [
            "libs/sub/.git/config",
            "libs/sub/.git/hooks/post-index-change",
            "libs/sub/deep/.git/config",
            "other/.git/commondir",
        ] {
            fs::write(base.join(changed), "[core]\n\tfsmonitor = evil\n").unwrap();
            let now = Obeyed::of(&base);
            assert_eq!(now.changed(&last), [base.join(changed)]);
            last = now;
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..300), version in 2_u8..5, count in 0_u8..9) {
            let head = [b"DIRC", &[0, 0, 0, version, 0, 0, 0, count][..]].concat();
            let index = [head, bytes].concat();
            for object in NAMES {
                let _ = named(&index, object);
            }
        }
    }
}
