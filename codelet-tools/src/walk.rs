//! Walking through folders as ripgrep does: in order, past what ignore files name, and without following links.

use crate::files::reason;
use crate::text::counted;
use codelet_agent::interrupt::Interrupt;
use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Entries that one call looks at.
pub(crate) const ENTRIES: usize = 1_000_000;
/// Folders of version control; nobody looks for something there.
const STORES: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// A walk from here on, hidden files included. Ignore files count also outside a repository.
pub(crate) fn from(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false)
        .require_git(false)
        // The user's own ignore file lies where the environment says.
        .git_global(false)
        .follow_links(false)
        .sort_by_file_name(std::cmp::Ord::cmp)
        .filter_entry(|entry| entry.depth() == 0 || !is_store(entry));
    walk
}

fn is_store(entry: &DirEntry) -> bool {
    STORES.iter().any(|store| entry.file_name() == *store)
}

/// How a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Walked {
    /// All was seen, or enough.
    Whole,
    /// There is more than anybody would look at.
    Cut,
    /// The user interrupted.
    Interrupted,
}

/// What a walk came by and could not look into. What is in it is not known, which is not the same as nothing.
#[derive(Default, Debug)]
pub(crate) struct Unread {
    folders: usize,
    files: usize,
    /// The first of them.
    names: Vec<PathBuf>,
    /// Why it could not even begin.
    root: Option<String>,
}

impl Unread {
    /// Names that are told.
    const NAMED: usize = 5;

    /// Of a file that could not be opened.
    pub(crate) fn file(&mut self, path: &Path) {
        self.files += 1;
        self.name(path);
    }

    fn folder(&mut self, root: &Path, error: &ignore::Error) {
        let Some((path, error)) = place(error) else { return };
        // What has gone meanwhile has nothing to show.
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

    /// Why the walk could not begin at all.
    pub(crate) fn objection(&self) -> Option<&str> {
        self.root.as_deref()
    }

    /// The line that is told of it; nothing where all was looked into.
    pub(crate) fn note(&self, show: impl Fn(&Path) -> String) -> String {
        let count = |number: usize, what| (number > 0).then(|| counted(number, what));
        let counts = [count(self.folders, "folder"), count(self.files, "file")];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        if counts.is_empty() {
            return String::new();
        }
        let names: Vec<String> = self.names.iter().map(|path| show(path)).collect();
        let more = if self.folders + self.files > names.len() {
            ", …"
        } else {
            ""
        };
        format!(
            "[{} could not be read: {}{more}]\n",
            counts.join(" and "),
            names.join(", ")
        )
    }
}

/// Whether an error says that there is nothing, and not that it could not be looked at.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Where an error of a walk happened, if it is one of the system's.
fn place(mut error: &ignore::Error) -> Option<(&Path, &io::Error)> {
    let mut place = None;
    loop {
        error = match error {
            ignore::Error::WithPath { path, err } => {
                place = Some(path.as_path());
                err
            }
            ignore::Error::WithDepth { err, .. } => err,
            ignore::Error::Io(error) => return Some((place?, error)),
            _ => return None,
        };
    }
}

/// Calls `each` with every regular file, as long as it says that it wants more, and notes what could not be looked into.
pub(crate) fn files(
    root: &Path,
    interrupt: &Interrupt,
    unread: &mut Unread,
    mut each: impl FnMut(&Path, &mut Unread) -> bool,
) -> Walked {
    for (count, entry) in from(root).build().enumerate() {
        if interrupt.is_thrown() {
            return Walked::Interrupted;
        }
        if count == ENTRIES {
            return Walked::Cut;
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                unread.folder(root, &error);
                continue;
            }
        };
        if entry.file_type().is_some_and(|kind| kind.is_file()) && !each(entry.path(), unread) {
            return Walked::Whole;
        }
    }
    Walked::Whole
}

/// Which files are meant: by their name, or where the pattern has a slash by their path from where the walk began.
pub(crate) struct Pattern {
    matcher: GlobMatcher,
    by_name: bool,
    /// It names what is left out, and with a folder all that is in it.
    is_negated: bool,
}

impl Pattern {
    /// # Errors
    /// Says what is wrong with the pattern.
    pub(crate) fn new(pattern: &str) -> Result<Pattern, String> {
        let pattern = pattern.trim_start_matches("./");
        let matcher = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| error.to_string())?
            .compile_matcher();
        Ok(Pattern {
            matcher,
            by_name: !pattern.contains('/'),
            is_negated: false,
        })
    }

    /// The same, where a `!` in front means all files but those, as with ripgrep. A `!` that belongs to a name is written
    /// `\!`.
    ///
    /// # Errors
    /// Says what is wrong with the pattern.
    pub(crate) fn filter(pattern: &str) -> Result<Pattern, String> {
        let Some(left_out) = pattern.strip_prefix('!') else {
            return Pattern::new(pattern);
        };
        // A folder may be named as one, and from where the walk begins.
        let name = left_out.strip_suffix('/').unwrap_or(left_out);
        let bare = name.strip_prefix('/').unwrap_or(name);
        if bare.is_empty() {
            return Err("it names nothing behind `!`".to_owned());
        }
        let pattern = Pattern::new(bare)?;
        Ok(Pattern {
            by_name: pattern.by_name && bare.len() == name.len() && !name.starts_with("./"),
            is_negated: true,
            ..pattern
        })
    }

    /// The same by the path from where the walk began, slash or not.
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
