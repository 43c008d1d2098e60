//! Ignore files: `.ignore`, `.gitignore` and `.git/info/exclude`.
//!
//! They come with the repository, so they are read like any untrusted file: only regular files, never links, devices or
//! pipes, with limits for each and for all together. Git does not follow links named `.gitignore` either. Skipped files
//! are reported.

use crate::files;
use crate::repository::{self, Repository};
use codelet_text::short::counted;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest ignore file that is applied, and the total for one walk, in bytes.
const LONGEST: u64 = 1024 * 1024;
const MOST: u64 = 16 * 1024 * 1024;
/// Lines and stars in one file, and in all files of one walk: each takes time to compile, up to 0.15 ms.
const PATTERNS: usize = 10_000;
const MOST_PATTERNS: usize = 50_000;
/// Longest pattern, in bytes.
const LONGEST_PATTERN: usize = 1_024;

/// The patterns that apply in the current folder of a walk.
pub(crate) struct Ignored {
    /// Outermost folder first.
    levels: Vec<FolderPatterns>,
    bytes_left: u64,
    patterns_left: usize,
    /// Ignore files that were skipped.
    pub unheeded: Unheeded,
}

/// The patterns of one folder.
struct FolderPatterns {
    folder: PathBuf,
    /// By priority: the first kind that matches a name decides.
    kinds: [Gitignore; 3],
}

impl Ignored {
    /// Reads the ignore files above this folder: those of its repository, and `.ignore` files farther up.
    pub(crate) fn above(place: &Path) -> Ignored {
        let mut ignored = Ignored {
            levels: Vec::new(),
            bytes_left: MOST,
            patterns_left: MOST_PATTERNS,
            unheeded: Unheeded::default(),
        };
        let repository = repository::root(place);
        let above: Vec<&Path> = place.ancestors().skip(1).collect();
        for folder in above.into_iter().rev() {
            let is_in_repository = repository.as_ref().is_none_or(|root| folder.starts_with(root));
            ignored.enter(folder, |name| {
                (is_in_repository || name == ".ignore") && folder.join(name).symlink_metadata().is_ok()
            });
        }
        ignored
    }

    /// Enters a folder; `has` says which names exist there.
    pub(crate) fn enter(&mut self, folder: &Path, has: impl Fn(&str) -> bool) {
        let mut of = |name: &str, path: &dyn Fn() -> Option<PathBuf>| {
            let path = if has(name) { path() } else { None };
            path.map_or_else(Gitignore::empty, |path| self.patterns(folder, &path))
        };
        let kinds = [
            of(".ignore", &|| Some(folder.join(".ignore"))),
            of(".gitignore", &|| Some(folder.join(".gitignore"))),
            of(".git", &|| Repository::of(folder)?.excludes()),
        ];
        if kinds.iter().any(|kind| !kind.is_empty()) {
            let folder = folder.to_owned();
            self.levels.push(FolderPatterns { folder, kinds });
        }
    }

    /// Leaves a folder.
    pub(crate) fn leave(&mut self, folder: &Path) {
        self.levels.pop_if(|level| level.folder == folder);
    }

    /// Returns whether a path is ignored. It is not called for paths in an ignored folder.
    pub(crate) fn names(&self, path: &Path, is_folder: bool) -> bool {
        let said = |kind: usize| {
            let levels = self.levels.iter().rev().map(|level| &level.kinds[kind]);
            let mut said = levels.map(|patterns| patterns.matched(path, is_folder));
            said.find(|said| !said.is_none())
        };
        matches!((0..3).find_map(said), Some(Match::Ignore(_)))
    }

    fn patterns(&mut self, folder: &Path, path: &Path) -> Gitignore {
        let text = match self.text(path) {
            Ok(Some(text)) => text,
            Ok(None) => return Gitignore::empty(),
            Err(why) => {
                self.unheeded.push(path, why);
                return Gitignore::empty();
            }
        };
        let mut builder = GitignoreBuilder::new(folder);
        let text = text.strip_prefix("\u{feff}").unwrap_or(&text);
        // Invalid patterns are skipped, as in git.
        for line in text.lines() {
            let _ = builder.add_line(None, line);
        }
        builder.build().unwrap_or_else(|error| {
            self.unheeded.push(path, error.to_string());
            Gitignore::empty()
        })
    }

    /// Reads an ignore file, if there is one.
    fn text(&mut self, path: &Path) -> Result<Option<String>, String> {
        let Ok(metadata) = path.symlink_metadata() else {
            return Ok(None);
        };
        if metadata.is_symlink() {
            return Err("it is a link".to_owned());
        }
        let (file, _) = files::open(path)?;
        let most = LONGEST.min(self.bytes_left);
        let mut bytes = Vec::new();
        file.take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| files::reason(&error))?;
        let text = String::from_utf8_lossy(&bytes);
        // A star costs as much to compile as a further pattern, and long patterns are costly too.
        let stars = bytes.iter().filter(|byte| **byte == b'*').count();
        let patterns = text.lines().count() + stars;
        if bytes.len() as u64 > most || patterns > PATTERNS.min(self.patterns_left) {
            return Err("it is too long".to_owned());
        }
        if text
            .lines()
            .any(|line| line.len() > LONGEST_PATTERN && !line.starts_with('#'))
        {
            return Err("a pattern in it is too long".to_owned());
        }
        self.bytes_left -= bytes.len() as u64;
        self.patterns_left -= patterns;
        Ok(Some(text.into_owned()))
    }
}

/// Ignore files that were not applied.
#[derive(Default, Debug)]
pub(crate) struct Unheeded {
    count: usize,
    /// The first of them, with reasons.
    named: Vec<(PathBuf, String)>,
}

impl Unheeded {
    /// Files that are reported by name.
    const NAMED: usize = 3;

    fn push(&mut self, path: &Path, why: String) {
        self.count += 1;
        if self.named.len() < Self::NAMED {
            self.named.push((path.to_owned(), why));
        }
    }

    /// The note that reports them; empty if all were applied.
    pub(crate) fn note(&self, show: impl Fn(&Path) -> String) -> String {
        if self.count == 0 {
            return String::new();
        }
        let named = self.named.iter().map(|(path, why)| format!("{} ({why})", show(path)));
        let names: Vec<String> = named.collect();
        let more = if self.count > names.len() { ", …" } else { "" };
        format!(
            "[{} not obeyed: {}{more}]\n",
            counted(self.count, "ignore file"),
            names.join(", ")
        )
    }
}
