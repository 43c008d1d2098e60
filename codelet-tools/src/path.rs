//! File names as a model writes them, resolved through all links before they are judged.

use codelet_agent::spelling;
use icu_normalizer::ComposingNormalizerBorrowed;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// Links followed on the way to a file (as on Linux).
const LINKS: usize = 40;
/// Longest name that is accepted, in bytes (`PATH_MAX` on Linux).
const LONGEST: usize = 4096;
/// Entries of a folder that are searched for a lookalike.
const ENTRIES: usize = 20_000;

/// The place that a name leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Absolute, without links, `.` or `..`.
    pub path: PathBuf,
    /// True if that is in the workspace, or in a folder that was added to it.
    pub is_inside: bool,
}

/// Resolves names against a workspace.
#[derive(Clone)]
pub(crate) struct Paths {
    root: PathBuf,
    /// Folders that may be used like the workspace.
    added: Vec<PathBuf>,
    directory: PathBuf,
    home: Option<PathBuf>,
}

impl Paths {
    /// Relative names are resolved against `directory`.
    pub(crate) fn new(root: &Path, directory: &Path, home: Option<&Path>) -> Self {
        // A path that does not exist yet has no links in it.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Paths {
            root: real(root),
            added: Vec::new(),
            directory: real(directory),
            home: home.map(Path::to_owned),
        }
    }

    /// Lets these folders, whose paths have no links, be used like the workspace.
    pub(crate) fn with(mut self, added: &[PathBuf]) -> Self {
        self.added = added.to_vec();
        self
    }

    /// The workspace and the folders that were added to it.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.root).chain(&self.added)
    }

    /// The path relative to the workspace, or to the added folder that contains it.
    pub(crate) fn below<'a>(&self, path: &'a Path) -> &'a Path {
        below(self.roots(), path)
    }

    /// The workspace.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that relative names are resolved against.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The path for display: relative if it is in the directory.
    pub(crate) fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.directory) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => spelling::spell(rest.as_os_str()),
            Err(_) => spelling::spell(path.as_os_str()),
        }
    }

    /// Resolves a name through all links. A path that does not exist is resolved from the last of its folders that
    /// does.
    ///
    /// # Errors
    /// If links form a loop, or a folder on the way cannot be read.
    pub(crate) fn resolve(&self, name: &str) -> Result<Place, String> {
        let (path, _) = self.real(&self.expand(name)?)?;
        let is_inside = self.roots().any(|root| path.starts_with(root));
        Ok(Place { path, is_inside })
    }

    /// Returns the existing path that was used instead of a lookalike name, with unusual spaces escaped; `None` if the
    /// name matched exactly.
    pub(crate) fn alike(&self, name: &str) -> Option<String> {
        let (path, is_alike) = self.real(&self.expand(name).ok()?).ok()?;
        let shown = path.strip_prefix(&self.directory).unwrap_or(&path);
        is_alike.then(|| format!("{:?}", shown.to_string_lossy()))
    }

    fn expand(&self, name: &str) -> Result<PathBuf, String> {
        if name.trim().is_empty() {
            return Err("the path is empty".to_owned());
        }
        if name.len() > LONGEST || name.contains('\0') {
            return Err("this is not a valid path".to_owned());
        }
        if let Some(name) = spelling::read(name) {
            // The system ends a name at a NUL byte.
            return match name.as_encoded_bytes().contains(&0) || name.is_empty() {
                true => Err("this is not a valid path".to_owned()),
                false => Ok(self.directory.join(name)),
            };
        }
        let rest = match name {
            "~" => Some(""),
            _ => name.strip_prefix("~/"),
        };
        match (rest, &self.home) {
            (Some(rest), Some(home)) => Ok(home.join(rest.trim_start_matches('/'))),
            _ => Ok(self.directory.join(name)),
        }
    }

    /// Resolves a path; also returns whether a component was replaced by one that [reads alike](lookalike).
    fn real(&self, path: &Path) -> Result<(PathBuf, bool), String> {
        let mut is_alike = false;
        let missing = |folder: &Path, name: &OsStr| {
            let found = lookalike(folder, name);
            is_alike |= found.is_some();
            found
        };
        let real = follow_links(path, |_| Ok(()), missing);
        let real = real.map_err(|(at, error)| format!("{}: {}", at.display(), crate::files::reason(&error)))?;
        Ok((real, is_alike))
    }
}

/// Resolves an absolute path through all links, as the kernel would. `link` gets the folder of each link, and may
/// refuse it; `missing` may name another entry in place of one that a folder does not have. Otherwise missing
/// components stay as they are.
///
/// # Errors
/// If that fails, with the place of the failure.
pub fn follow_links(
    path: &Path,
    link: impl Fn(&Path) -> io::Result<()>,
    mut missing: impl FnMut(&Path, &OsStr) -> Option<OsString>,
) -> Result<PathBuf, (PathBuf, io::Error)> {
    let mut open = pieces(path);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(piece) = open.pop() {
        if piece == ".." {
            // The path so far has no links, so its parent is the folder above.
            real.pop();
            continue;
        }
        let next = real.join(&piece);
        match next.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                let target = link(&real).and_then(|()| next.read_link());
                let target = target.map_err(|error| (next, error))?;
                if links > LINKS || target.as_os_str().len() > LONGEST {
                    return Err((path.to_owned(), io::Error::other("too many links")));
                }
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                open.extend(pieces(&target));
            }
            Ok(_) => real = next,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                match (links < LINKS).then(|| missing(&real, &piece)).flatten() {
                    Some(name) => {
                        // It may be a link itself, or gone by now.
                        links += 1;
                        open.push(name);
                    }
                    None => real = next,
                }
            }
            Err(error) => return Err((next, error)),
        }
    }
    Ok(real)
}

/// The path relative to the first of these folders that contains it, or else the whole path.
pub(crate) fn below(roots: impl IntoIterator<Item = impl AsRef<Path>>, path: &Path) -> &Path {
    let mut found = roots.into_iter().filter_map(|root| path.strip_prefix(root).ok());
    found.next().unwrap_or(path)
}

/// Finds the only name in a folder that looks the same: one that differs only in non-breaking spaces (U+00A0, U+202F),
/// curly quotes, or decomposed accents. Files of macOS have such names, and models write others.
fn lookalike(folder: &Path, name: &OsStr) -> Option<OsString> {
    let read = |name: &OsStr| name.to_str().filter(|name| !is_plain(name)).map(legible);
    let wanted = read(name)?;
    let entries = folder.read_dir().ok()?.take(ENTRIES).flatten();
    let names = entries.map(|entry| entry.file_name());
    let mut alike = names.filter(|name| read(name).is_some_and(|name| name == wanted));
    let found = alike.next()?;
    alike.next().is_none().then_some(found)
}

/// Returns whether a name has no lookalikes.
fn is_plain(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii() && !matches!(byte, b' ' | b'\''))
}

/// Replaces the characters of a name by the keyboard characters that look the same.
fn legible(name: &str) -> String {
    let composed = ComposingNormalizerBorrowed::new_nfc().normalize(name);
    let signs = composed.chars().map(|c| match c {
        '\u{2018}' | '\u{2019}' => '\'',
        c if c.is_whitespace() => ' ',
        c => c,
    });
    signs.collect()
}

/// The components of a path, last one first.
pub(crate) fn pieces(path: &Path) -> Vec<OsString> {
    let mut pieces: Vec<OsString> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect();
    pieces.reverse();
    pieces
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A workspace with links in every direction, beside an unrelated folder.
    fn maze() -> (tempfile::TempDir, Paths) {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("work");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(base.join("other/deep")).unwrap();
        fs::write(base.join("other/secret"), "x").unwrap();
        fs::write(root.join("a/file"), "x").unwrap();
        symlink("../../other", root.join("a/out")).unwrap();
        symlink(base.join("other"), root.join("abs")).unwrap();
        symlink("b", root.join("a/in")).unwrap();
        symlink("loop2", root.join("loop1")).unwrap();
        symlink("loop1", root.join("loop2")).unwrap();
        symlink("../other/new", root.join("dangling")).unwrap();
        symlink("/", root.join("top")).unwrap();
        let paths = Paths::new(&root, &root.join("a"), Some(&base.join("home")));
        (folder, paths)
    }

    #[test]
    fn names_lead_where_the_kernel_would_go() {
        let (folder, paths) = maze();
        let base = folder.path().canonicalize().unwrap();
        for (name, expected, is_inside) in [
            ("file", "work/a/file", true),
            ("./b/../file", "work/a/file", true),
            ("in/../file", "work/a/file", true),
            ("..", "work", true),
            ("../..", "", false),
            ("out/secret", "other/secret", false),
            // The parent of the link's target, not of the link.
            ("out/../work/a", "work/a", true),
            ("../abs/deep/..", "other", false),
            ("../dangling", "other/new", false),
            ("nothing/../../x", "work/x", true),
            ("nothing/../../../x", "x", false),
            ("file/under", "work/a/file/under", true),
            ("~/x", "home/x", false),
            ("~x", "work/a/~x", true),
        ] {
            let place = paths.resolve(name).unwrap();
            assert_eq!(
                place.path,
                base.join(expected).components().collect::<PathBuf>(),
                "{name}"
            );
            assert_eq!(place.is_inside, is_inside, "{name}");
        }
        let top = format!("../top{}", base.join("work/a/file").display());
        assert!(paths.resolve(&top).unwrap().is_inside);
        for name in ["../loop1", "../loop1/x", "", " ", "a\0b", &"x/".repeat(3000)] {
            assert!(paths.resolve(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_name_that_is_not_there_is_the_only_one_that_reads_alike() {
        let (_folder, paths) = maze();
        let root = paths.root().to_owned();
        fs::create_dir_all(root.join("Mes re\u{301}sume\u{301}s/deep")).unwrap();
        for name in [
            "a/Shot at 10.24\u{202f}AM.png",
            "a/l\u{2019}e\u{301}te\u{301}.md",
            "a/caf\u{e9}.md",
            "a/two x",
            "a/two\u{a0}x",
            "a/one\u{a0}y\u{a0}z",
            "a/one\u{a0}y z",
        ] {
            fs::write(root.join(name), "x").unwrap();
        }
        symlink("caf\u{e9}.md", root.join("a/to\u{a0}it")).unwrap();
        for (name, expected, is_alike) in [
            ("Shot at 10.24 AM.png", "a/Shot at 10.24\u{202f}AM.png", true),
            ("Shot at 10.24\u{a0}AM.png", "a/Shot at 10.24\u{202f}AM.png", true),
            ("l'\u{e9}t\u{e9}.md", "a/l\u{2019}e\u{301}te\u{301}.md", true),
            ("cafe\u{301}.md", "a/caf\u{e9}.md", true),
            (
                "../Mes r\u{e9}sum\u{e9}s/deep/new.md",
                "Mes re\u{301}sume\u{301}s/deep/new.md",
                true,
            ),
            ("to it", "a/caf\u{e9}.md", true),
            // An exact match wins, and there is no guess between two.
            ("two x", "a/two x", false),
            ("two\u{a0}x", "a/two\u{a0}x", false),
            ("one y z", "a/one y z", false),
            ("cafe.md", "a/cafe.md", false),
            ("Caf\u{e9}.md", "a/Caf\u{e9}.md", false),
        ] {
            assert_eq!(paths.resolve(name).unwrap().path, root.join(expected), "{name:?}");
            assert_eq!(paths.alike(name).is_some(), is_alike, "{name:?}");
        }
        let told = paths.alike("Shot at 10.24 AM.png");
        assert_eq!(told.as_deref(), Some("\"Shot at 10.24\\u{202f}AM.png\""));
        assert_eq!(paths.resolve(&told.unwrap()), paths.resolve("Shot at 10.24 AM.png"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// A name of any components is inside exactly if the kernel resolves it inside.
        #[test]
        fn no_name_escapes(names in prop::collection::vec(prop::sample::select(vec![
            "a", "b", "in", "out", "..", ".", "file", "abs", "top", "dangling", "deep", "new", "secret", "loop1", "~", "work", "other",
        ]), 1..9)) {
            let (folder, paths) = maze();
            let name = names.join("/");
            let Ok(place) = paths.resolve(&name) else { return Ok(()) };
            prop_assert_eq!(place.is_inside, place.path.starts_with(paths.root()));
            // The kernel's answer, if it has one.
            let asked = match name.strip_prefix('~') {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => folder.path().join("home").join(rest.trim_start_matches('/')),
                _ => paths.directory().join(&name),
            };
            if let Ok(real) = asked.canonicalize() {
                prop_assert_eq!(&real, &place.path);
            }
            prop_assert!(!place.path.components().any(|c| matches!(c, Component::ParentDir)));
            // No folder on the way is a link.
            let mut on_the_way = place.path.as_path();
            while let Some(above) = on_the_way.parent() {
                prop_assert!(!on_the_way.is_symlink(), "{}", on_the_way.display());
                on_the_way = above;
            }
        }
    }
}
