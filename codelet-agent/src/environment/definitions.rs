//! Definitions: Markdown files with front matter that a project or its user keeps for agents, such as skills and commands. Where they lie,
//! in which order, whose they are, and what they say.
//!
//! What a project keeps is its authors' word and not the user's, and to read it starts nothing. A project's files are read from within it
//! only, none of them is git's, and none is anything but a regular file; whatever of a text no reader sees is left out.

pub(crate) mod front;

pub use front::Front;

use crate::environment::instructions::{seen, way_down};
use crate::environment::spelling::spell;
use crate::environment::{Places, Surroundings};
use crate::permission::need::Owner;
use crate::permission::orders;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

#[cfg(test)]
pub(crate) mod tests;

/// The folders in which a project, and a home, keeps definitions, in this order.
const SHELVES: [&str; 2] = [".agents", ".claude"];
/// The longest definition, in bytes: about 25,000 tokens. None is cut, as half of an instruction may say the opposite.
const LONGEST: usize = 100_000;
/// The most of one kind that are read.
const MOST: usize = 200;
/// The most names of one folder that are looked at.
const MOST_NAMES: usize = 2_000;
/// How deep folders of files may be nested.
const LEVELS: usize = 3;
/// The most that the user is told at once.
const MOST_NOTICES: usize = 8;

/// A kind of definition, and how it lies in its folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// The folder, which is also what they are called: `skills`.
    pub folder: &'static str,
    /// The file in a folder of each one's own (`skills/NAME/SKILL.md`); `None` where each is a file (`commands/NAME.md`), in whatever
    /// folder below.
    pub file: Option<&'static str>,
    /// What has to stand in the front matter.
    pub required: &'static [&'static str],
}

/// Whose word a definition is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Author {
    /// The user's: it lies in their own folders.
    User,
    /// The project's authors'.
    Project,
}

/// A definition, as it was found. Its text is [read](Definition::body) when it is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// Its name, of letters, digits, `-` and `_`: that of its folder or file.
    pub name: String,
    /// The folders that it lies in below that of its kind, parted by `/`; empty for most.
    pub group: String,
    /// What stands in its front matter.
    pub front: Front,
    /// The true name of its file.
    pub path: PathBuf,
    /// Whose word it is.
    pub author: Author,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// One of each name: the user's own first, then from the repository's root down, each folder's in the order of their names.
    pub definitions: Vec<Definition>,
    /// What the user should know: what was left out, and why.
    pub notices: Vec<String>,
}

/// What a definition says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body {
    /// Its text behind the front matter, as a reader sees it.
    pub text: String,
    /// Its front matter as it is now.
    pub front: Front,
    /// How many invisible characters were taken out.
    pub hidden: usize,
}

impl Author {
    /// Whose, before a noun: `the user's own`.
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
    /// Why it cannot be had, a fragment that fits behind the file's name: it is gone, is too long.
    pub fn body(&self, world: &dyn Surroundings) -> Result<Body, String> {
        // Something else may stand there by now, such as a link to a foreign file.
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

/// Finds the definitions of a kind. Where two have one name, the user's own has it, and of a project's the nearest to the working
/// directory.
pub fn find(world: &dyn Surroundings, kind: &Kind) -> Found {
    let places = world.places();
    let mut finding = Finding {
        world,
        places: &places,
        kind,
        seen: HashSet::new(),
        found: Found::default(),
        at: 0,
        found_at: Vec::new(),
        untold: 0,
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

/// The folders of the user's own: those of instructions, and what a home has besides.
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

/// Whether a name is one that may stand in a list and behind a slash.
fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

struct Finding<'a> {
    world: &'a dyn Surroundings,
    places: &'a Places,
    kind: &'a Kind,
    /// Files and folders that were looked at, by their true names: nothing is read twice, so nothing goes round.
    seen: HashSet<PathBuf>,
    found: Found,
    /// How far down the way from the root is looked, and where each definition was found.
    at: usize,
    found_at: Vec<usize>,
    /// Notices beyond those that are told.
    untold: usize,
    /// There are more than are read, and the user is told.
    is_crowded: bool,
}

impl Finding<'_> {
    fn tell(&mut self, what: String) {
        match self.found.notices.len() < MOST_NOTICES {
            true => self.found.notices.push(format!("{}: {what}", self.kind.folder)),
            false => self.untold += 1,
        }
    }

    fn skip(&mut self, path: &Path, why: &str) {
        self.tell(format!("skipped {}: {why}", spell(path.as_os_str())));
    }

    /// Takes what lies in a folder.
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
                "looked at only {MOST_NAMES} names in {}, which has more",
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

    /// The true name of what lies there, where it may be read; the user is told why else.
    fn allowed(&mut self, path: &Path, author: Author) -> Option<PathBuf> {
        let path = self.world.resolve(path)?;
        if author == Author::User {
            return Some(path);
        }
        let Ok(below) = path.strip_prefix(&self.places.root) else {
            self.skip(&path, "it is outside the project");
            return None;
        };
        if orders::obeys(&below.to_string_lossy()) == Some(Owner::Git) || self.world.is_gits(&path) {
            self.skip(&path, "it belongs to git");
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
            // Told whatever else is, as it stands for more than one file.
            self.is_crowded = true;
            if self.found.notices.len() == MOST_NOTICES {
                self.found.notices.pop();
                self.untold += 1;
            }
            self.skip(&path, &format!("and all others: there are more than {MOST}"));
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

    /// Who links a file of a project among their own has not written it.
    fn author(&self, path: &Path, author: Author) -> Author {
        let root = &self.places.root;
        let is_home = self.places.home.as_ref().is_some_and(|home| home.starts_with(root));
        match path.starts_with(root) && !is_home {
            true => Author::Project,
            false => author,
        }
    }

    fn front(&mut self, path: &Path) -> Result<Front, String> {
        // A front matter, its two lines, and what may be cut within a character.
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
        if self.untold > 0 {
            let told = format!("{}: {} more are skipped", self.kind.folder, self.untold);
            self.found.notices.push(told);
        }
        self.found
    }
}
