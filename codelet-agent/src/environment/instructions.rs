//! The user's and the project's standing instructions: which files, in which order, and their imports.

use crate::environment::{Places, Surroundings};
use crate::permission::need::Owner;
use crate::permission::orders;
use codelet_text::unseen::Unseen;
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

#[cfg(test)]
mod tests;

/// The names of instruction files, in each folder.
const NAMES: [&str; 4] = ["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", "CLAUDE.local.md"];
/// The maximum depth of imports.
const LEVELS: usize = 5;
/// The maximum size of all instructions together, in bytes: about 10,000 tokens, sent with every request.
const MOST: usize = 40_000;
/// The maximum number of files, in case of many small ones.
const MOST_FILES: usize = 100;

/// Instructions as gathered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Instructions {
    /// The text for the model; empty if there are none.
    pub text: String,
    /// Notices for the user: what was left out, and why.
    pub notices: Vec<String>,
}

/// Gathers the instructions: the user's own first, then from the repository's root down to the working directory, so
/// that those closer to the work come later. `@path` in a line, outside of code, inserts another file after the one
/// that names it. If they exceed the limit, the largest files are cut.
///
/// A project's files import only from within the repository: reading a foreign repository's instructions must not leak
/// the user's own files. Nor do they import anything of git's: its settings are the user's, in no commit, and may
/// contain keys. Invisible characters are removed.
pub fn gather(world: &dyn Surroundings) -> Instructions {
    let places = world.places();
    let mut gathering = Gathering::new(world, &places, MOST);
    gathering.standing();
    gathering.fitted()
}

/// Folders below the working directory whose instructions were looked up since the last prompt or compaction: either
/// may have changed what is in the model's context.
#[derive(Default)]
pub(crate) struct Nearer {
    pub(crate) folders: HashSet<PathBuf>,
    /// The number of bytes sent since.
    pub(crate) taken: usize,
}

/// Gathers the instructions that apply only in these folders, which are [below](folders_below) those that [`gather`]
/// covers, by the same rules: one result for each, with the size limit reduced by `taken` bytes. Files among the other
/// instructions are not repeated, and a folder that the project ignores contains other people's work, so its
/// instructions do not apply.
pub(crate) fn gather_below(world: &dyn Surroundings, folders: &[PathBuf], taken: usize) -> Vec<Instructions> {
    let has_any = |folder: &Path| NAMES.iter().any(|name| world.resolve(&folder.join(name)).is_some());
    let folders: Vec<&PathBuf> = folders
        .iter()
        .filter(|folder| has_any(folder) && !world.is_ignored(folder))
        .collect();
    if folders.is_empty() {
        return Vec::new();
    }
    let places = world.places();
    let mut gathering = Gathering::new(world, &places, MOST);
    gathering.standing();
    gathering.fitted();
    gathering.left = gathering.left.saturating_sub(taken);
    let each = folders.into_iter().map(|folder| {
        let whose = format!("instructions of the project for what lies below {}", folder.display());
        gathering.folder(folder, &whose, Some(&places.root));
        gathering.fitted()
    });
    each.collect()
}

/// Returns the folders of the project that contain a file, or are this folder or contain it, and that [`gather`] does
/// not cover, outermost first. A folder whose instructions are the file itself is left out: whoever reads it knows them.
pub(crate) fn folders_below(places: &Places, path: &Path, is_folder: bool) -> Vec<PathBuf> {
    let told = way_down(places);
    let above = path.ancestors().skip(usize::from(!is_folder));
    let within = above.take_while(|folder| folder.starts_with(&places.root));
    let is_own = |folder: &Path| NAMES.iter().any(|name| folder.join(name) == path);
    let mut folders: Vec<PathBuf> = within
        .filter(|folder| !told.iter().any(|other| other == folder) && !is_own(folder))
        .map(Path::to_path_buf)
        .collect();
    folders.reverse();
    folders
}

/// Returns the folders from the repository's root to the working directory.
pub(crate) fn way_down(places: &Places) -> Vec<PathBuf> {
    let within = places
        .directory
        .ancestors()
        .take_while(|folder| folder.starts_with(&places.root));
    let mut folders: Vec<PathBuf> = within.map(Path::to_path_buf).collect();
    if folders.is_empty() {
        folders.push(places.directory.clone());
    }
    folders.reverse();
    folders
}

/// A file of instructions, as far as it was read.
struct File {
    path: PathBuf,
    /// The origin of the file, for the model.
    whose: String,
    text: String,
    /// The size of the whole file, in bytes.
    size: u64,
}

struct Gathering<'a> {
    world: &'a dyn Surroundings,
    places: &'a Places,
    /// Canonical paths of the files read: nothing is read twice, so cycles end.
    seen: HashSet<PathBuf>,
    files: Vec<File>,
    notices: Vec<String>,
    left: usize,
    /// True once the maximum number of files was exceeded and the user was told.
    is_crowded: bool,
}

impl<'a> Gathering<'a> {
    fn new(world: &'a dyn Surroundings, places: &'a Places, left: usize) -> Self {
        Gathering {
            world,
            places,
            seen: HashSet::new(),
            files: Vec::new(),
            notices: Vec::new(),
            left,
            is_crowded: false,
        }
    }

    /// Gathers the instructions that apply everywhere.
    fn standing(&mut self) {
        let places = self.places;
        for folder in &places.own {
            self.folder(folder, "the user's own instructions", None);
        }
        for folder in way_down(places) {
            self.folder(&folder, "instructions of the project", Some(&places.root));
        }
    }

    fn folder(&mut self, folder: &Path, whose: &str, within: Option<&Path>) {
        for name in NAMES {
            self.file(&folder.join(name), whose, within, 0);
        }
    }

    fn file(&mut self, path: &Path, whose: &str, within: Option<&Path>, level: usize) {
        let Some(path) = self.world.resolve(path) else { return };
        // `@src/` in a text names a folder and imports nothing; a folder with the name of an instruction file is a
        // mistake.
        if level > 0 && self.world.is_folder(&path) {
            return;
        }
        if let Some(why) = within.and_then(|root| forbids(self.world, root, &path)) {
            return self.skip(&path, why);
        }
        if self.seen.contains(&path) {
            return;
        }
        if self.seen.len() >= MOST_FILES {
            // Report this only once.
            if !std::mem::replace(&mut self.is_crowded, true) {
                let path = path.display();
                self.tell(format!("skipped {path} and later files: more than {MOST_FILES} files"));
            }
            return;
        }
        self.seen.insert(path.clone());
        let Some((text, size)) = self.world.text(&path, MOST) else {
            return self.skip(&path, "it is not text or not readable");
        };
        let (text, hidden) = seen(&text);
        if hidden > 0 {
            let path = path.display();
            self.tell(format!(
                "removed {hidden} invisible characters from {path}; they can hide instructions"
            ));
        }
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.files.push(File {
            path: path.clone(),
            whose: whose.to_owned(),
            text: text.to_owned(),
            size,
        });
        if level < LEVELS {
            // Whoever imports it, a file of the project is subject to the project's rules.
            let places = self.places;
            let is_projects = level > 0 && path.starts_with(&places.root);
            let within = within.or_else(|| is_projects.then_some(places.root.as_path()));
            for import in imports(text) {
                if let Some(target) = self.target(&path, &import) {
                    self.file(&target, &format!("imported by {}", path.display()), within, level + 1);
                }
            }
        } else if let Some(import) = imports(text).first() {
            let path = path.display();
            self.tell(format!(
                "skipped @{import} in {path}: imports go at most {LEVELS} levels deep"
            ));
        }
    }

    /// Returns the gathered files as far as there is room: the smallest first, and of equal ones the nearest, so that one
    /// oversized file takes nothing from the others.
    fn fitted(&mut self) -> Instructions {
        let files = std::mem::take(&mut self.files);
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by_key(|&at| (files[at].size, std::cmp::Reverse(at)));
        let mut room = vec![0; files.len()];
        for at in order {
            room[at] = files[at].text.floor_char_boundary(self.left);
            self.left -= room[at];
        }
        let mut whole = String::new();
        for (file, room) in files.iter().zip(room) {
            if room == 0 {
                self.skip(&file.path, &format!("instructions exceed {MOST} bytes"));
                continue;
            }
            let (path, size) = (file.path.display(), file.size);
            if room < file.text.len() || size > MOST as u64 {
                self.tell(format!("read only the first {room} of {size} bytes of {path}"));
            }
            if !whole.is_empty() {
                whole.push_str("\n\n");
            }
            whole.push_str(&format!("{path} ({}):\n\n{}", file.whose, &file.text[..room]));
        }
        Instructions {
            text: whole,
            notices: std::mem::take(&mut self.notices),
        }
    }

    fn tell(&mut self, what: String) {
        self.notices.push(format!("instructions: {what}"));
    }

    fn skip(&mut self, path: &Path, why: &str) {
        self.tell(format!("skipped {}: {why}", path.display()));
    }

    fn target(&self, file: &Path, import: &str) -> Option<PathBuf> {
        match import.strip_prefix("~/") {
            Some(rest) => Some(self.places.home.as_ref()?.join(rest)),
            None => Some(file.parent()?.join(import)),
        }
    }
}

/// Returns why a canonical path is not read for the project in this root, as a fragment; `None` if it may be.
pub(crate) fn forbids(world: &dyn Surroundings, root: &Path, path: &Path) -> Option<&'static str> {
    let Ok(below) = path.strip_prefix(root) else {
        return Some("it is outside the project");
    };
    let is_gits = orders::obeys(&below.to_string_lossy()) == Some(Owner::Git) || world.is_gits(path);
    is_gits.then_some("it belongs to git")
}

/// Returns a text without invisible characters, which a model would read, and their number. Those needed for emoji and
/// some scripts stay, one at a time and only where needed, as whole texts can be encoded in them too.
pub(crate) fn seen(text: &str) -> (Cow<'_, str>, usize) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_plain = |c: char| Unseen::of(c).is_none() && (!c.is_control() || matches!(c, '\n' | '\r' | '\t'));
    if text.chars().all(is_plain) {
        return (text.into(), 0);
    }
    let mut shown = String::with_capacity(text.len());
    let mut hidden = 0;
    for c in text.chars() {
        let before = shown.chars().next_back().unwrap_or(' ');
        match Unseen::of(c) {
            Some(Unseen::Break) => shown.push('\n'),
            Some(Unseen::Variant) if Unseen::of(before).is_none() && !is_letter_of_ascii(before) => shown.push(c),
            Some(Unseen::Joiner) if !before.is_ascii() && Unseen::of(before) != Some(Unseen::Joiner) => shown.push(c),
            _ if is_plain(c) => shown.push(c),
            _ => hidden += 1,
        }
    }
    (shown.into(), hidden)
}

/// Among ASCII characters, only digits and two signs become emoji (`1️⃣`).
fn is_letter_of_ascii(c: char) -> bool {
    c.is_ascii() && !c.is_ascii_digit() && !matches!(c, '#' | '*')
}

/// Returns the paths that a text imports: words that begin with `@` and look like a path, outside of code.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => found.extend(outside_code(line).filter_map(import).map(str::to_owned)),
            _ => {}
        }
    }
    found
}

/// Returns the words of a line outside of backticks.
fn outside_code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').step_by(2).flat_map(str::split_whitespace)
}

fn import(word: &str) -> Option<&str> {
    let path = word.strip_prefix('@')?.trim_end_matches([',', ';', ':', ')', '!', '?']);
    let path = path.strip_suffix('.').unwrap_or(path);
    // `@name` is a user name, and `a@b` an address; a path has a folder or an extension.
    let looks_like_a_path = path.contains('/') || Path::new(path).extension().is_some();
    let is_sane = !path.is_empty()
        && path.len() < 1024
        && Path::new(path)
            .components()
            .all(|part| !matches!(part, Component::Prefix(_)));
    (looks_like_a_path && is_sane && !path.contains('@')).then_some(path)
}
