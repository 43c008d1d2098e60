//! What a command in the sandbox has lacked, as far as it can be told from outside of it.
//!
//! The kernel does not report what it refuses, and a command prints what it likes. So what it printed only says where to look; that the
//! sandbox forbids it, and that the user could do it, are facts that are looked up here. Nothing is widened by this: somebody is asked.

use crate::TEMPORARY;
use crate::desk::Desk;
use crate::ending::tail;
use crate::owned;
use crate::sandbox::Sandbox;
use codelet_agent::orders;
use codelet_agent::tool::Lack;
use rustix::fs::{Access, FileType, access};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The longest name that is looked up, in bytes, and how many of a text.
const LONGEST: usize = 1024;
const MOST: usize = 20;
/// Parts of a line that tell of a refusal; a place counts only on such a line.
const REFUSED: [&str; 4] = ["ermission denied", "EACCES", "os error 13", "not permitted"];
/// Parts of a text that tell of a network that is not there.
const UNREACHED: [&str; 11] = [
    "resolve host",
    "name resolution",
    "EAI_AGAIN",
    "ENOTFOUND",
    "etwork is unreachable",
    "/dev/tcp/",
    "/dev/udp/",
    "ocket: operation not permitted",
    "ocket: permission denied",
    "ocket: Permission denied",
    "Couldn't connect to server",
];

/// Folders at the root that are the system's, of which a superuser could write to each.
const SYSTEMS: [&str; 14] = [
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "usr", "var",
];

/// Ends of names of files that no program, build or agent takes orders from. Texts are not among them: there is `requirements.txt`.
const DATA: &str = "arrow avi bmp csv feather flac gif h5 hdf5 jpeg jpg log mkv mov mp3 mp4 npy ogg parquet pdf png tif tiff tsv wav webm webp";
/// How many entries of a folder are looked at.
const MOST_ENTRIES: usize = 2_000;

/// What a command that has failed in this sandbox lacked; none where nothing speaks for that.
pub(crate) fn of(desk: &Desk, sandbox: &Sandbox, printed: &str) -> Option<Lack> {
    if sandbox.only_looks() {
        return None;
    }
    let printed = tail(printed);
    let refused = printed
        .lines()
        .filter(|line| REFUSED.iter().any(|sign| line.contains(sign)));
    let places: Vec<PathBuf> = refused.flat_map(places).take(MOST).collect();
    if let Some(folder) = places.iter().find_map(|place| folder(desk, sandbox, place)) {
        return Some(Lack::Write(folder));
    }
    if places.iter().any(|place| is_socket(desk, place)) {
        return Some(Lack::Freedom);
    }
    // Last, as nothing but words speak for it.
    let is_offered = !sandbox.has_network() && desk.options.offers_network;
    let is_unreached = || UNREACHED.iter().any(|sign| printed.contains(sign));
    (is_offered && is_unreached()).then_some(Lack::Network)
}

/// The absolute names on a line: quoted, or up to a blank or what parts names from words.
fn places(line: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut rest = line;
    while let Some(at) = rest.find('/') {
        before = rest[..at].chars().next_back().unwrap_or(before);
        let text = &rest[at..];
        let quote = match before {
            '\'' | '"' | '`' => Some(before),
            '‘' => Some('’'),
            '“' => Some('”'),
            _ => None,
        };
        let begins = quote.is_some() || before.is_whitespace() || matches!(before, '(' | '[' | '=' | ':');
        let end = match quote {
            Some(quote) => text.find(quote),
            None => text.find(|c: char| c.is_whitespace() || matches!(c, ':' | ',' | ';' | ')' | ']' | '\'' | '"')),
        };
        let end = end.unwrap_or(text.len());
        // Addresses begin with two.
        if begins && end <= LONGEST && !text.starts_with("//") {
            found.push(PathBuf::from(&text[..end]));
        }
        before = '/';
        rest = &text[if begins { end.max(1) } else { 1 }..];
    }
    found
}

/// The folder that has to be written to for this place: it is there, the sandbox keeps commands from it, the user could write to it, and
/// nothing in it decides what runs outside.
fn folder(desk: &Desk, sandbox: &Sandbox, place: &Path) -> Option<PathBuf> {
    let is_plain = place
        .components()
        .all(|piece| matches!(piece, Component::RootDir | Component::Normal(_)));
    if !is_plain || place.to_string_lossy().chars().any(char::is_control) {
        return None;
    }
    // Of what is not there, only the last name may be missing: a folder further up would permit more than was wanted.
    let real = match place.canonicalize() {
        Ok(real) if real.is_dir() => real,
        Ok(real) if real.is_file() => real.parent()?.to_owned(),
        Ok(_) => return None,
        Err(_) => place.parent()?.canonicalize().ok().filter(|parent| parent.is_dir())?,
    };
    let can_write = || access(&real, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    (!sandbox.writes(&real) && !is_kept(desk, &real) && can_write()).then_some(real)
}

/// Whether a folder is none to be offered: what is done there could change what runs outside of the sandbox later. In doubt it could.
fn is_kept(desk: &Desk, folder: &Path) -> bool {
    let options = &desk.options;
    let home = options.home.as_ref().and_then(|home| home.canonicalize().ok());
    let is_dotted = |home: &PathBuf| {
        let below = folder.strip_prefix(home).ok();
        let first = below.and_then(|below| below.components().next());
        first.is_some_and(|first| first.as_os_str().to_string_lossy().starts_with('.'))
    };
    let roots: Vec<&PathBuf> = desk.paths.roots().chain(&home).collect();
    let holds = |outer: &Path, inner: &Path| inner.starts_with(outer);
    // Where programs look for programs and settings, unless all that is the user's lies there.
    let named = named(desk).filter(|named| !roots.iter().any(|root| holds(named, root)));
    let files = options.settings.iter().chain(&options.private).chain(&options.caches);
    let files = files.filter_map(|file| file.canonicalize().ok());
    let linked = home.iter().flat_map(|home| owned::dotted_targets(home));
    let mut kept = files.chain(linked).chain(named);
    let first = folder.components().nth(1);
    let is_systems = first.is_some_and(|first| SYSTEMS.iter().any(|name| first.as_os_str() == *name));
    is_systems
        || folder.components().count() < 3
        || desk.owned.owner(folder).is_some()
        || orders::obeys(&folder.to_string_lossy()).is_some()
        || home.as_ref().is_some_and(is_dotted)
        || roots.iter().any(|root| holds(folder, root))
        || kept.any(|kept| holds(folder, &kept) || holds(&kept, folder))
        || !holds_only_data(folder)
}

/// What the variables of the user's environment name, as it leads now.
fn named(desk: &Desk) -> impl Iterator<Item = PathBuf> {
    let values = desk.options.env.iter().map(|(_, value)| value);
    let paths = values.flat_map(std::env::split_paths).filter(|path| path.is_absolute());
    paths.filter_map(|path| path.canonicalize().ok())
}

/// Whether there is something in a folder, and all of it, however deep, is [data](DATA): no file that can be run, has another name elsewhere, is
/// hidden or gives orders, and no link.
fn holds_only_data(folder: &Path) -> bool {
    let mut waiting = vec![folder.to_owned()];
    let (mut seen, mut files) = (0, 0);
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = folder.read_dir() else { return false };
        for entry in entries {
            seen += 1;
            let Ok(path) = entry.map(|entry| entry.path()) else {
                return false;
            };
            let Ok(metadata) = path.symlink_metadata() else {
                return false;
            };
            let is_hidden = path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
            let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
            let is_data = DATA.split(' ').any(|data| data.eq_ignore_ascii_case(extension));
            let is_plain = metadata.is_file() && metadata.nlink() == 1 && metadata.mode() & 0o111 == 0 && is_data;
            let is_folder = metadata.is_dir();
            if seen > MOST_ENTRIES || is_hidden || !is_plain && !is_folder {
                return false;
            }
            files += usize::from(is_plain);
            waiting.extend(is_folder.then_some(path));
        }
    }
    files > 0
}

/// Whether another program of this machine listens there and the user may speak to it, which the sandbox permits nobody. Where commands may
/// have made it, in this session or an earlier one, it is no other program's.
fn is_socket(desk: &Desk, place: &Path) -> bool {
    let Ok(real) = place.canonicalize() else { return false };
    let is_one = rustix::fs::stat(&real).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket);
    let is_commands = desk.widest().writes(&real) || TEMPORARY.iter().any(|folder| real.starts_with(folder));
    is_one && !is_commands && access(&real, Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_are_read_as_programs_write_them() {
        for (line, expected) in [
            (
                "mkdir: cannot create directory ‘/srv/my data/x’: Permission denied",
                &["/srv/my data/x"][..],
            ),
            ("bash: line 1: /srv/a: Permission denied", &["/srv/a"]),
            (
                "PermissionError: [Errno 13] Permission denied: '/srv/a b.txt'",
                &["/srv/a b.txt"],
            ),
            ("open(/srv/a) = -1 EACCES, path=/srv/b", &["/srv/a", "/srv/b"]),
            ("touch: cannot touch 'a/b': Permission denied", &[]),
            ("https://example.com/x: Permission denied", &[]),
            ("unix:///run/x.sock: permission denied", &[]),
        ] {
            let found: Vec<String> = places(line).iter().map(|place| place.display().to_string()).collect();
            assert_eq!(found, expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_to_its_end(line in "[ /'\"‘’:(ab\u{1b}]{0,60}") {
            for place in places(&line) {
                prop_assert!(place.is_absolute());
            }
        }
    }
}
