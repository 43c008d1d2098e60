//! Definitions: Markdown files with front matter that a project or its user keeps for agents, such as skills and
//! commands. Finds them, in order, with their authors and contents.
//!
//! A project's definitions are its authors' words, not the user's, and reading them starts nothing. They are read only
//! from within the project, never from git's folder, and only from regular files; invisible characters are removed.

pub(crate) mod front;

pub use front::Front;

use crate::environment::instructions::{forbids, seen, way_down};
use crate::environment::spelling::spell;
use crate::environment::{Places, Surroundings};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

#[cfg(test)]
pub(crate) mod tests;

/// The folders in which a project, and a home, keeps definitions, in this order.
const SHELVES: [&str; 2] = [".agents", ".claude"];
/// The longest definition, in bytes: about 25,000 tokens. None is truncated, as half of an instruction may mean the
/// opposite.
const LONGEST: usize = 100_000;
/// The maximum number of definitions of one kind.
const MOST: usize = 200;
/// The maximum number of names examined in one folder.
const MOST_NAMES: usize = 2_000;
/// The maximum nesting of folders.
const LEVELS: usize = 3;
/// The maximum number of notices shown at once.
const MOST_NOTICES: usize = 8;

/// A kind of definition, and its layout on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// The folder, and the name of the kind: `skills`.
    pub folder: &'static str,
    /// The file inside each definition's own folder (`skills/NAME/SKILL.md`); `None` if each is a file
    /// (`commands/NAME.md`), at any depth.
    pub file: Option<&'static str>,
    /// The required fields of the front matter.
    pub required: &'static [&'static str],
}

/// The author of a definition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Author {
    /// The user: it is in their own folders.
    User,
    /// The project's authors.
    Project,
}

/// A definition, as found. [`body`](Definition::body) reads its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// Its name, of letters, digits, `-` and `_`: that of its folder or file.
    pub name: String,
    /// The folders between it and that of its kind, separated by `/`; empty for most.
    pub group: String,
    /// Its front matter.
    pub front: Front,
    /// The canonical path of its file.
    pub path: PathBuf,
    /// Its author.
    pub author: Author,
}

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// One definition of each name: the user's own first, then from the repository's root down, sorted by name within
    /// each folder.
    pub definitions: Vec<Definition>,
    /// Notices for the user: what was left out, and why.
    pub notices: Vec<String>,
}

/// The contents of a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body {
    /// The text after the front matter, without invisible characters.
    pub text: String,
    /// Its front matter as it is now.
    pub front: Front,
    /// The number of invisible characters removed.
    pub hidden: usize,
}

impl Author {
    /// Returns the possessive to use in front of a noun: `the user's own`.
    pub fn whose(self) -> &'static str {
        match self {
            Author::User => "the user's own",
            Author::Project => "the project's",
        }
    }
}

impl Definition {
    /// Reads the text as it is now.
    ///
    /// # Errors
    /// Says why it is unavailable, in a fragment that follows the file's name: it is gone, is too long.
    pub fn body(&self, world: &dyn Surroundings) -> Result<Body, String> {
        // The path may have changed since, for example to a link to a foreign file.
        if world.resolve(&self.path).as_ref() != Some(&self.path) {
            return Err("is gone".to_owned());
        }
        let (text, size) = world.text(&self.path, LONGEST).ok_or("is not text or not readable")?;
        if size > LONGEST as u64 {
            return Err(format!("is longer than {LONGEST} bytes"));
        }
        let (text, hidden) = seen(&text);
        let parted = front::part(&text)?;
        Ok(Body {
            text: parted.body.trim().to_owned(),
            hidden: hidden + parted.hidden,
            front: parted.front,
        })
    }
}

/// Finds the definitions of a kind. If two have the same name, the user's own wins, and among a project's the one
/// nearest to the working directory.
pub fn find(world: &dyn Surroundings, kind: &Kind) -> Found {
    let places = world.places();
    let mut finding = DefinitionSearch {
        world,
        places: &places,
        kind,
        seen: HashSet::new(),
        found: Found::default(),
        at: 0,
        found_at: Vec::new(),
        is_crowded: false,
    };
    for folder in own(&places) {
        finding.folder(&folder.join(kind.folder), Author::User, "", 0);
    }
    for folder in way_down(&places) {
        finding.at += 1;
        for shelf in SHELVES {
            finding.folder(&folder.join(shelf).join(kind.folder), Author::Project, "", 0);
        }
    }
    finding.done()
}

/// Returns the user's own folders: those of instructions, and those in the home directory.
fn own(places: &Places) -> Vec<PathBuf> {
    let mut folders = places.own.clone();
    for folder in places
        .home
        .iter()
        .flat_map(|home| SHELVES.map(|shelf| home.join(shelf)))
    {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Returns whether a name may appear in a list and after a slash.
fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

struct DefinitionSearch<'a> {
    world: &'a dyn Surroundings,
    places: &'a Places,
    kind: &'a Kind,
    /// Canonical paths of the files and folders visited: nothing is read twice, so cycles end.
    seen: HashSet<PathBuf>,
    found: Found,
    /// The current depth on the way down from the root, and the depth at which each definition was found.
    at: usize,
    found_at: Vec<usize>,
    /// True once the maximum was exceeded and the user was told.
    is_crowded: bool,
}

impl DefinitionSearch<'_> {
    fn tell(&mut self, what: String) {
        self.found.notices.push(format!("{}: {what}", self.kind.folder));
    }

    fn skip(&mut self, path: &Path, why: &str) {
        self.tell(format!("skipped {}: {why}", spell(path.as_os_str())));
    }

    /// Takes the definitions in a folder.
    fn folder(&mut self, folder: &Path, author: Author, group: &str, level: usize) {
        let Some(folder) = self.allowed(folder, author) else {
            return;
        };
        if !self.seen.insert(folder.clone()) {
            return;
        }
        let Some(listing) = self.world.list(&folder, MOST_NAMES) else {
            return;
        };
        if !listing.is_whole {
            self.tell(format!(
                "read only the first {MOST_NAMES} names in {}",
                spell(folder.as_os_str())
            ));
        }
        for name in listing.names.iter().filter(|name| !name.starts_with('.')) {
            if self.is_crowded {
                return;
            }
            let path = folder.join(name);
            match (self.kind.file, name.strip_suffix(".md")) {
                (Some(file), _) => self.file(&path.join(file), name, author, group),
                (None, Some(name)) => self.file(&path, name, author, group),
                (None, None) if level < LEVELS && self.is_folder(&path) => {
                    let group = [group, name]
                        .iter()
                        .filter(|part| !part.is_empty())
                        .copied()
                        .collect::<Vec<_>>();
                    self.folder(&path, author, &group.join("/"), level + 1);
                }
                (None, None) => {}
            }
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.world.resolve(path).is_some_and(|path| self.world.is_folder(&path))
    }

    /// Returns the canonical path, if it may be read; otherwise tells the user why not.
    fn allowed(&mut self, path: &Path, author: Author) -> Option<PathBuf> {
        let path = self.world.resolve(path)?;
        if author == Author::User {
            return Some(path);
        }
        if let Some(why) = forbids(self.world, &self.places.root, &path) {
            self.skip(&path, why);
            return None;
        }
        Some(path)
    }

    fn file(&mut self, path: &Path, name: &str, author: Author, group: &str) {
        let Some(path) = self.allowed(path, author) else { return };
        if !self.seen.insert(path.clone()) {
            return;
        }
        if !is_name(name) || !group.split('/').all(|part| part.is_empty() || is_name(part)) {
            self.skip(&path, "a name is at most 64 letters, digits, - and _");
            return;
        }
        if self.found.definitions.len() >= MOST {
            self.is_crowded = true;
            self.skip(&path, &format!("and all others: there are more than {MOST}"));
            // First, as it covers more than one file.
            self.found.notices.rotate_right(1);
            return;
        }
        let front = match self.front(&path) {
            Ok(front) => front,
            Err(why) => return self.skip(&path, &why),
        };
        if let Some(missing) = self.kind.required.iter().find(|name| front.text(name).is_none()) {
            return self.skip(&path, &format!("its front matter has no {missing}"));
        }
        let definition = Definition {
            name: name.to_owned(),
            group: group.to_owned(),
            front,
            author: self.author(&path, author),
            path,
        };
        self.take(definition);
    }

    /// Returns the author of a file: someone who links a project's file from their own folders has not written it.
    fn author(&self, path: &Path, author: Author) -> Author {
        let root = &self.places.root;
        let is_home = self.places.home.as_ref().is_some_and(|home| home.starts_with(root));
        match path.starts_with(root) && !is_home {
            true => Author::Project,
            false => author,
        }
    }

    fn front(&mut self, path: &Path) -> Result<Front, String> {
        // Room for the front matter, its two delimiter lines, and a character cut in the middle.
        let (text, _) = self
            .world
            .text(path, front::LONGEST + 64)
            .ok_or("it is not text or not readable")?;
        let (text, hidden) = seen(&text);
        let parted = front::part(&text)?;
        let hidden = hidden + parted.hidden;
        if hidden > 0 {
            self.tell(format!(
                "removed {hidden} invisible characters from {}; they can hide instructions",
                spell(path.as_os_str())
            ));
        }
        Ok(parted.front)
    }

    fn take(&mut self, definition: Definition) {
        let same = |other: &Definition| other.name.eq_ignore_ascii_case(&definition.name);
        let Some(other) = self.found.definitions.iter().position(same) else {
            self.found.definitions.push(definition);
            self.found_at.push(self.at);
            return;
        };
        let known = &mut self.found.definitions[other];
        let are_projects = definition.author == Author::Project && known.author == Author::Project;
        let unused = match are_projects && self.at > self.found_at[other] {
            true => {
                self.found_at[other] = self.at;
                std::mem::replace(known, definition)
            }
            false => definition,
        };
        let used = spell(known.path.as_os_str());
        self.skip(&unused.path, &format!("{used} has the same name and is used"));
    }

    fn done(mut self) -> Found {
        let more = self.found.notices.len().saturating_sub(MOST_NOTICES);
        if more > 0 {
            self.found.notices.truncate(MOST_NOTICES);
            self.tell(format!("{more} more are skipped"));
        }
        self.found
    }
}
