//! Selection of the files to replay: the named ones, and those in named folders.

use crate::exit::Failure;
use crate::paint::number;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// File extensions searched for in a folder, in lower case.
const ENDINGS: [&str; 4] = ["json", "jsonl", "ndjson", "traj"];
/// The maximum depth of nested folders that is searched.
const DEEPEST: usize = 16;

/// The search result.
#[derive(Default)]
pub struct ReplayFiles {
    /// The files in the order in which they were named, those of a folder by name.
    pub files: Vec<PathBuf>,
    /// Folders and files that could not be read, with the reasons.
    pub skipped: Vec<String>,
    /// Skipped items.
    pub passed: Passed,
}

/// Counts of skipped items in folders, by reason.
#[derive(Clone, Copy, Default)]
pub struct Passed {
    /// Files with other extensions, and non-files.
    pub others: usize,
    /// Links to folders, which may form cycles.
    pub links: usize,
    /// Links to files that are replayed anyway.
    pub again: usize,
    /// Folders nested too deep.
    pub deep: usize,
}

impl Passed {
    /// Describes the counts, one part per reason; empty if nothing was skipped.
    pub fn words(self) -> Vec<String> {
        let parts = [
            (self.others, "file of other kinds", "files of other kinds"),
            (self.links, "link to a folder", "links to folders"),
            (
                self.again,
                "link to a file that is replayed anyway",
                "links to files that are replayed anyway",
            ),
            (
                self.deep,
                "folder that is nested too deeply",
                "folders that are nested too deeply",
            ),
        ];
        let parts = parts.into_iter().filter(|(all, ..)| *all > 0);
        parts
            .map(|(all, one, many)| format!("{} {}", number(all as u64), if all == 1 { one } else { many }))
            .collect()
    }
}

/// Finds the named files, and those in named folders.
pub fn find(named: &[PathBuf]) -> ReplayFiles {
    let mut found = ReplayFiles::default();
    for path in named {
        if !path.is_dir() {
            found.files.push(path.clone());
            continue;
        }
        let (mut own, mut links) = (BTreeSet::new(), Vec::new());
        look_into(path, 0, &mut own, &mut links, &mut found);
        // A link to a file that is replayed anyway would count it twice.
        let mut known: HashSet<PathBuf> = match links.is_empty() {
            true => HashSet::new(),
            false => own.iter().filter_map(|file| file.canonicalize().ok()).collect(),
        };
        links.sort();
        for link in links {
            if link.canonicalize().is_ok_and(|target| known.insert(target)) {
                own.insert(link);
            } else {
                found.passed.again += 1;
            }
        }
        found.files.extend(own);
    }
    found
}

fn look_into(
    folder: &Path,
    depth: usize,
    files: &mut BTreeSet<PathBuf>,
    links: &mut Vec<PathBuf>,
    found: &mut ReplayFiles,
) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return found.skipped.push(told(Failure::io(folder, &error))),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                found.skipped.push(told(Failure::io(folder, &error)));
                continue;
            }
        };
        let path = entry.path();
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_wanted = ending.is_some_and(|ending| ENDINGS.contains(&&*ending.to_ascii_lowercase()));
        match std::fs::metadata(&path) {
            Ok(kind) if kind.is_dir() && is_link => found.passed.links += 1,
            Ok(kind) if kind.is_dir() && depth >= DEEPEST => found.passed.deep += 1,
            Ok(kind) if kind.is_dir() => look_into(&path, depth + 1, files, links, found),
            Ok(kind) if kind.is_file() && is_wanted && is_link => links.push(path),
            Ok(kind) if kind.is_file() && is_wanted => {
                files.insert(path);
            }
            // Files that would not be replayed are only counted.
            Err(error) if is_wanted => found.skipped.push(told(Failure::io(&path, &error))),
            _ => found.passed.others += 1,
        }
    }
}

fn told(failure: Failure) -> String {
    match failure {
        Failure::Told(words) => words,
        Failure::PipeClosed => String::new(),
    }
}

/// Returns a file's name without folder and extension.
pub fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the title of a file's conversation: the file's name without any extensions, of which some have two. It
/// determines the half that the file belongs to, so it must not change.
pub fn title(file: &Path) -> String {
    let mut title = file.to_owned();
    loop {
        let ending = title.extension().and_then(|ending| ending.to_str());
        if !ending.is_some_and(|ending| ENDINGS.contains(&&*ending.to_ascii_lowercase())) {
            return title.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        title.set_extension("");
    }
}

/// Returns the shortest names that distinguish the files: without folder and extension, with the extension, or with as
/// many folders as needed.
pub fn names(files: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<String> = files.iter().map(|file| stem(file)).collect();
    for parts in 1.. {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
        let alike: Vec<bool> = names.iter().map(|name| counts[&**name] > 1).collect();
        let mut is_longer = false;
        for at in (0..files.len()).filter(|&at| alike[at]) {
            let all: Vec<_> = files[at].components().collect();
            let tail: PathBuf = all[all.len().saturating_sub(parts)..].iter().collect();
            is_longer |= parts <= all.len();
            names[at] = tail.to_string_lossy().into_owned();
        }
        if !is_longer {
            break;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endings_of_a_file_are_no_part_of_its_conversations_title() {
        for (file, name) in [
            ("x/one.json", "one"),
            ("one.traj.json", "one"),
            ("one.traj", "one"),
            ("one.JSONL", "one"),
            ("v1.2.json", "v1.2"),
            ("one.txt", "one.txt"),
            (".json", ".json"),
        ] {
            assert_eq!(title(Path::new(file)), name, "{file}");
        }
    }

    #[test]
    fn names_are_as_long_as_it_takes_to_tell_files_apart() {
        let of = |paths: &[&str]| names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["x/one.json", "x/two.json"]), ["one", "two"]);
        assert_eq!(of(&["x/one.json", "x/one.jsonl"]), ["one.json", "one.jsonl"]);
        assert_eq!(
            of(&["d/a/s.jsonl", "d/b/s.jsonl", "d/t.jsonl"]),
            ["a/s.jsonl", "b/s.jsonl", "t"]
        );
        assert_eq!(of(&["p/a/x/s.json", "q/a/x/s.json"]), ["p/a/x/s.json", "q/a/x/s.json"]);
        assert_eq!(of(&["s.json", "s.json"]), ["s.json", "s.json"]);
        assert_eq!(of(&["s.json", "a/s.json"]), ["s.json", "a/s.json"]);
        assert_eq!(of(&[]), Vec::<String>::new());
    }
}
