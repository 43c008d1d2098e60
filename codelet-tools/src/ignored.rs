//! What ignore files name: `.ignore`, `.gitignore` and `.git/info/exclude`.
//!
//! They come with the repository, so they are read as anything that a stranger has put there: regular files only, never a link, a
//! device or a pipe, and of each and of all together no more than a bound. Git follows no link under the name `.gitignore` either. One
//! that is passed over is told of.

use crate::files;
use crate::git;
use crate::text::counted;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest ignore file that is obeyed, and the most of all those of one walk, in bytes.
const LONGEST: u64 = 1024 * 1024;
const MOST: u64 = 16 * 1024 * 1024;
/// Lines and stars of one file, and of all those of one walk: each of them costs time to get ready, and 0.15 ms at worst.
const PATTERNS: usize = 10_000;
const MOST_PATTERNS: usize = 50_000;
/// Bytes of a pattern.
const LONGEST_PATTERN: usize = 1_024;

/// The patterns that hold in the folder where a walk is.
pub(crate) struct Ignored {
    /// The folder farthest above first.
    levels: Vec<Level>,
    bytes_left: u64,
    patterns_left: usize,
    /// What was passed over.
    pub unheeded: Unheeded,
}

/// The patterns that begin at one folder.
struct Level {
    folder: PathBuf,
    /// By rank: of those that say anything of a name, the first decides.
    kinds: [Gitignore; 3],
}

impl Ignored {
    /// What folders above this place say: those of its repository, and the `.ignore` files farther up.
    pub(crate) fn above(place: &Path) -> Ignored {
        let mut ignored = Ignored {
            levels: Vec::new(),
            bytes_left: MOST,
            patterns_left: MOST_PATTERNS,
            unheeded: Unheeded::default(),
        };
        let repository = git::root(place);
        let above: Vec<&Path> = place.ancestors().skip(1).collect();
        for folder in above.into_iter().rev() {
            let is_in_repository = repository.as_ref().is_none_or(|root| folder.starts_with(root));
            ignored.enter(folder, |name| {
                (is_in_repository || name == ".ignore") && folder.join(name).symlink_metadata().is_ok()
            });
        }
        ignored
    }

    /// Goes down into a folder, in which there may be files of these names.
    pub(crate) fn enter(&mut self, folder: &Path, has: impl Fn(&str) -> bool) {
        let mut of = |name: &str, path: &dyn Fn() -> Option<PathBuf>| {
            let path = if has(name) { path() } else { None };
            path.map_or_else(Gitignore::empty, |path| self.patterns(folder, &path))
        };
        let kinds = [
            of(".ignore", &|| Some(folder.join(".ignore"))),
            of(".gitignore", &|| Some(folder.join(".gitignore"))),
            of(".git", &|| git::Repository::of(folder)?.excludes()),
        ];
        if kinds.iter().any(|kind| !kind.is_empty()) {
            let folder = folder.to_owned();
            self.levels.push(Level { folder, kinds });
        }
    }

    /// Goes up again from a folder.
    pub(crate) fn leave(&mut self, folder: &Path) {
        self.levels.pop_if(|level| level.folder == folder);
    }

    /// Whether a place is left out. One that lies in a folder which is left out is not asked about.
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
        // A line that is no pattern says nothing, as with git.
        for line in text.lines() {
            let _ = builder.add_line(None, line);
        }
        builder.build().unwrap_or_else(|error| {
            self.unheeded.push(path, error.to_string());
            Gitignore::empty()
        })
    }

    /// The text of an ignore file, if there is one.
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
        // A star makes a pattern as dear to build as another one, and so does its length.
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

/// Ignore files that were not obeyed.
#[derive(Default, Debug)]
pub(crate) struct Unheeded {
    count: usize,
    /// The first of them, with why.
    named: Vec<(PathBuf, String)>,
}

impl Unheeded {
    /// Names that are told.
    const NAMED: usize = 3;

    fn push(&mut self, path: &Path, why: String) {
        self.count += 1;
        if self.named.len() < Self::NAMED {
            self.named.push((path.to_owned(), why));
        }
    }

    /// The line that is told of them; nothing where all were obeyed.
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
