//! Walks folders as ripgrep does: in order, skipping what ignore files name, and without following links.

use crate::files::{self, reason};
use crate::ignored::{Ignored, Unheeded};
use codelet_agent::interrupt::Interrupt;
use codelet_text::short::counted;
use globset::{GlobBuilder, GlobMatcher};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Entries that one call examines.
pub(crate) const ENTRIES: usize = 1_000_000;
/// Version control folders, which are skipped.
const STORES: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// Returns whether a name is that of a version control folder.
pub(crate) fn is_store(name: &OsStr) -> bool {
    STORES.iter().any(|store| name == *store)
}

/// The end of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Walked {
    /// Everything was visited, or enough.
    Whole,
    /// The limit on entries was reached.
    Cut,
    /// The user interrupted.
    Interrupted,
}

/// Folders and files that a walk could not read. Their contents are unknown, which is not the same as empty.
#[derive(Default, Debug)]
pub(crate) struct Unread {
    folders: usize,
    files: usize,
    /// The first of them.
    names: Vec<PathBuf>,
    /// The reason if the walk could not start.
    root: Option<String>,
    /// Ignore files that were not applied.
    unheeded: Unheeded,
}

impl Unread {
    /// Names that are reported.
    const NAMED: usize = 5;

    /// Records a file that could not be opened.
    pub(crate) fn file(&mut self, path: &Path) {
        self.files += 1;
        self.name(path);
    }

    fn folder(&mut self, root: &Path, path: &Path, error: &io::Error) {
        // A folder that was deleted meanwhile has no contents.
        if is_absence(error) {
            return;
        }
        if path == root {
            self.root = Some(reason(error));
        }
        self.folders += 1;
        self.name(path);
    }

    fn name(&mut self, path: &Path) {
        if self.names.len() < Self::NAMED {
            self.names.push(path.to_owned());
        }
    }

    /// The reason if the walk could not start.
    pub(crate) fn objection(&self) -> Option<&str> {
        self.root.as_deref()
    }

    /// The lines that report them; empty if everything was read.
    pub(crate) fn note(&self, show: impl Fn(&Path) -> String) -> String {
        let unheeded = self.unheeded.note(&show);
        let count = |number: usize, what| (number > 0).then(|| counted(number, what));
        let counts = [count(self.folders, "folder"), count(self.files, "file")];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        if counts.is_empty() {
            return unheeded;
        }
        let names: Vec<String> = self.names.iter().map(|path| show(path)).collect();
        let more = if self.folders + self.files > names.len() {
            ", …"
        } else {
            ""
        };
        format!(
            "[{} could not be read: {}{more}]\n{unheeded}",
            counts.join(" and "),
            names.join(", ")
        )
    }
}

/// Returns whether an error means that nothing is there, rather than that it could not be read.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// An entry of a folder.
struct Entry {
    name: OsString,
    kind: FileType,
}

/// A folder on the way down, with its remaining entries.
struct Level {
    folder: PathBuf,
    rest: std::vec::IntoIter<Entry>,
}

/// Calls `each` with every regular file below a resolved path until it returns false, and records what could not be
/// read.
pub(crate) fn files(
    root: &Path,
    interrupt: &Interrupt,
    unread: &mut Unread,
    each: impl FnMut(&Path, &mut Unread) -> bool,
) -> Walked {
    let mut ignored = Ignored::above(root);
    let walked = walk(root, interrupt, unread, &mut ignored, each);
    unread.unheeded = ignored.unheeded;
    walked
}

fn walk(
    root: &Path,
    interrupt: &Interrupt,
    unread: &mut Unread,
    ignored: &mut Ignored,
    mut each: impl FnMut(&Path, &mut Unread) -> bool,
) -> Walked {
    if root.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        each(root, unread);
        return Walked::Whole;
    }
    let mut left = ENTRIES;
    let mut levels: Vec<Level> = Vec::new();
    let mut next = Some(root.to_owned());
    let mut ended = Walked::Whole;
    loop {
        if interrupt.is_thrown() {
            return Walked::Interrupted;
        }
        if let Some(folder) = next.take() {
            match entries(&folder, interrupt, &mut left) {
                Ok((entries, is_whole)) => {
                    if !is_whole {
                        ended = Walked::Cut;
                    }
                    ignored.enter(&folder, |name| entries.iter().any(|entry| entry.name == name));
                    let rest = entries.into_iter();
                    levels.push(Level { folder, rest });
                }
                Err(error) => unread.folder(root, &folder, &error),
            }
        }
        let Some(level) = levels.last_mut() else { return ended };
        let Some(Entry { name, kind }) = level.rest.next() else {
            ignored.leave(&level.folder);
            levels.pop();
            continue;
        };
        let path = level.folder.join(&name);
        if is_store(&name) || ignored.names(&path, kind.is_dir()) {
            continue;
        }
        if kind.is_dir() {
            next = Some(path);
        } else if kind.is_file() && !each(&path, unread) {
            return Walked::Whole;
        }
    }
}

/// Lists a folder by name; also returns whether the list is complete: it stops at the limit on entries and when the
/// user interrupts. Fails if a link was put on the way since.
fn entries(folder: &Path, interrupt: &Interrupt, left: &mut usize) -> io::Result<(Vec<Entry>, bool)> {
    let open = files::open_folder(folder)?;
    let mut found = Vec::new();
    let mut is_whole = true;
    for entry in Dir::read_from(&open)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if *left == 0 || interrupt.is_thrown() {
            is_whole = false;
            break;
        }
        *left -= 1;
        let kind = match entry.file_type() {
            // Some file systems do not report the type.
            FileType::Unknown => statat(open.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        let name = name.to_owned();
        found.push(Entry { name, kind });
    }
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok((found, is_whole))
}

/// Selects files by name or, if the pattern contains a slash, by path relative to the start of the walk.
pub(crate) struct Pattern {
    matcher: GlobMatcher,
    by_name: bool,
    /// True if it excludes files; a folder excludes everything in it.
    is_negated: bool,
}

fn compiled(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build()?;
    Ok(glob.compile_matcher())
}

/// Returns whether a component of a pattern is the name of an entry of this folder, despite its special characters:
/// `[id]`, `{{name}}`. Wildcards are always wildcards.
pub(crate) fn is_name(piece: &str, path: &Path) -> bool {
    !piece.contains(['*', '?', '\\']) && path.symlink_metadata().is_ok()
}

/// Escapes a text as a pattern that matches only itself.
fn exactly(text: &str) -> String {
    let escaped = text.chars().map(|c| match c.is_ascii_punctuation() {
        true => format!("\\{c}"),
        false => c.to_string(),
    });
    escaped.collect()
}

/// Extends a pattern to match names that contain its special characters: a component that exists below `root` matches
/// only itself; after the first one that does not exist, `[id]` matches both this text and one of its letters.
fn with_names(pattern: &str, root: &Path) -> String {
    let mut path = root.to_owned();
    let mut is_there = true;
    let pieces = pattern.split('/').map(|piece| {
        path.push(piece);
        is_there &= is_name(piece, &path);
        if is_there { exactly(piece) } else { with_brackets(piece) }
    });
    pieces.collect::<Vec<_>>().join("/")
}

/// Does the same for one component whose folder is unknown.
fn with_brackets(piece: &str) -> String {
    let mut out = String::new();
    let mut rest = piece;
    while let Some(at) = rest.find(['\\', '[']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match rest.strip_prefix('[') {
            // Escapes are kept.
            None => rest.chars().take(2).map(char::len_utf8).sum(),
            Some(within) => {
                // A bracket in first position belongs to the set: `[]]` and `[!]]`.
                let set = within.trim_start_matches(['!', '^']);
                let first = set.chars().next().map_or(0, char::len_utf8);
                let end = set[first..].find(']');
                end.map_or(0, |end| rest.len() - set.len() + first + end + 1)
            }
        };
        let (token, behind) = rest.split_at(taken.max(1));
        // An invalid set (`[user-id]`: from r to i) can only be a name.
        match taken > 0 && token.starts_with('[') {
            true if compiled(token).is_ok() => out.push_str(&format!("{{{},{token}}}", exactly(token))),
            true => out.push_str(&exactly(token)),
            false => out.push_str(token),
        }
        rest = behind;
    }
    out + rest
}

impl Pattern {
    /// Compiles a pattern for paths below `root`; existing names take precedence over special characters.
    ///
    /// # Errors
    /// Says what is wrong with the pattern.
    pub(crate) fn new(pattern: &str, root: &Path) -> Result<Pattern, String> {
        let pattern = pattern.trim_start_matches("./");
        // As given, so that the error quotes it unchanged.
        let matcher = match compiled(&with_names(pattern, root)) {
            Ok(matcher) => matcher,
            Err(_) => compiled(pattern).map_err(|error| error.to_string())?,
        };
        Ok(Pattern {
            matcher,
            by_name: !pattern.contains('/'),
            is_negated: false,
        })
    }

    /// Compiles a pattern in which a leading `!` means all other files, as in ripgrep. A `!` that belongs to a name is
    /// written `\!`.
    ///
    /// # Errors
    /// Says what is wrong with the pattern.
    pub(crate) fn filter(pattern: &str, root: &Path) -> Result<Pattern, String> {
        let Some(left_out) = pattern.strip_prefix('!') else {
            return Pattern::new(pattern, root);
        };
        // A trailing slash may mark a folder, a leading one the start of the walk.
        let name = left_out.strip_suffix('/').unwrap_or(left_out);
        let bare = name.strip_prefix('/').unwrap_or(name);
        if bare.is_empty() {
            return Err("it names nothing after `!`".to_owned());
        }
        let pattern = Pattern::new(bare, root)?;
        Ok(Pattern {
            by_name: pattern.by_name && bare.len() == name.len() && !name.starts_with("./"),
            is_negated: true,
            ..pattern
        })
    }

    /// Matches by path relative to the start of the walk, even without a slash.
    pub(crate) fn by_path(self) -> Pattern {
        Pattern { by_name: false, ..self }
    }

    pub(crate) fn matches(&self, root: &Path, path: &Path) -> bool {
        if !self.is_negated {
            return self.names(root, path);
        }
        let mut above = path.ancestors().take_while(|above| *above != root);
        !(self.names(root, path) || above.any(|above| self.names(root, above)))
    }

    fn names(&self, root: &Path, path: &Path) -> bool {
        match path.strip_prefix(root) {
            Ok(rest) if !self.by_name && !rest.as_os_str().is_empty() => self.matcher.is_match(rest),
            _ => path.file_name().is_some_and(|name| self.matcher.is_match(name)),
        }
    }
}
