//! Walking through folders as ripgrep does: in order, past what ignore files name, and without following links.

use codelet_agent::interrupt::Interrupt;
use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use std::path::Path;

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

/// Calls `each` with every regular file, as long as it says that it wants more.
pub(crate) fn files(root: &Path, interrupt: &Interrupt, mut each: impl FnMut(&Path) -> bool) -> Walked {
    for (count, entry) in from(root).build().enumerate() {
        if interrupt.is_thrown() {
            return Walked::Interrupted;
        }
        if count == ENTRIES {
            return Walked::Cut;
        }
        // A folder that may not be looked into has nothing to show.
        let Ok(entry) = entry else { continue };
        if entry.file_type().is_some_and(|kind| kind.is_file()) && !each(entry.path()) {
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
