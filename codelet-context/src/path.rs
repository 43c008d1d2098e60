//! One notion of a path: how it is written in one way, where it begins, and the folder that a command runs in.

use memchr::memmem;
use std::borrow::Cow;
use std::sync::Arc;

/// The longest folder that is followed, in bytes.
const LONGEST: usize = 1024;

/// A path as it is compared: `a/./b`, `a//b`, `a\b` and `a/x/../b` are `a/b`, and `c:\a`, `C:/a`, `/c/a`, `/mnt/c/a` and
/// `file:///c:/a` are the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Path {
    /// Its names with `/` between; from a root or a drive with one before; empty for the folder that it is seen from.
    normal: String,
    /// How it begins as it was written.
    lead: Lead,
}

/// How a path begins that is compared in another way than it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lead {
    Same,
    /// With the letter of a drive.
    Drive(char),
    /// With the folder in which Linux has the drives of Windows, and the letter of one.
    Mounted(char),
}

impl Path {
    /// The path that is written so.
    pub fn of(path: &str) -> Path {
        Path::within("", path)
    }

    /// A path that is given in a folder.
    pub fn within(folder: &str, path: &str) -> Path {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let (front, path) = match folder.is_empty() || is_absolute(path) {
            true => (None, path),
            false => (Some(folder.strip_prefix("file://").unwrap_or(folder)), path),
        };
        let (lead, begins, rest) = lead(front.unwrap_or(path));
        let path = front.map_or("", |_| path);
        let is_absolute = is_absolute(begins);
        let is_home = begins.starts_with('~');
        let drive = match lead {
            Lead::Drive(letter) | Lead::Mounted(letter) => Some(letter.to_ascii_lowercase().to_string()),
            Lead::Same => None,
        };
        let mut names: Vec<&str> = Vec::from_iter(drive.as_deref());
        // Nothing is above a drive, and what is above a home is not known.
        let top = names.len() + usize::from(is_home);
        for name in rest.split(['/', '\\']).chain(path.split(['/', '\\'])) {
            match name {
                "" | "." => {}
                ".." if names.len() > top && names.last() != Some(&"..") => {
                    names.pop();
                }
                ".." if is_absolute && !is_home => {}
                name => names.push(name),
            }
        }
        let root = if is_absolute && !is_home { "/" } else { "" };
        Path {
            normal: format!("{root}{}", names.join("/")),
            lead,
        }
    }

    /// In the form in which paths are compared.
    pub fn as_str(&self) -> &str {
        &self.normal
    }

    /// Whether it says by itself where it begins: at a root, a home or a drive.
    pub fn is_absolute(&self) -> bool {
        is_absolute(&self.normal)
    }

    /// Whether it was written with a drive of Windows.
    pub fn has_drive(&self) -> bool {
        self.lead != Lead::Same
    }

    /// The names in it, from the outermost.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.normal.split('/').filter(|name| !name.is_empty())
    }

    /// As people write it: `.` for nothing, and a drive by its letter.
    pub fn spelled(&self) -> String {
        self.spell(&self.normal)
    }

    /// Another path in the form in which paths are compared, as people write it who write this one so.
    pub fn spell(&self, normal: &str) -> String {
        match (normal, self.lead) {
            ("", _) => ".".to_owned(),
            (_, Lead::Mounted(_)) => format!("/mnt{normal}"),
            (_, Lead::Drive(letter)) if normal.starts_with('/') => {
                let (_, rest) = normal[1..].split_once('/').unwrap_or_default();
                format!("{letter}:/{rest}")
            }
            _ => normal.to_owned(),
        }
    }
}

/// Whether a path says by itself where it begins: at a root, a home or a drive.
pub(crate) fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\', '~']) || matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Whether a path is that of a folder or of something in it.
pub(crate) fn is_in_folder(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || folder.ends_with('/'))
}

/// Whether a whole path ends with a path as seen from somewhere in it.
pub(crate) fn is_within_end(whole: &str, end: &str) -> bool {
    whole.strip_suffix(end).is_some_and(|front| front.ends_with('/'))
}

/// A word of a command line that may be a path, in one spelling: `./a/` and `a\` are `a`. It is no [`Path`], because it may as
/// well be a pattern (`./...`), a label (`//app:test`), a branch or the name of a test (`a::b`), which is no drive.
pub(crate) fn plain(word: &str) -> String {
    let word = word.replace('\\', "/");
    let mut rest = word.as_str();
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter.trim_start_matches('/');
    }
    match rest.trim_end_matches('/') {
        "" if word.starts_with('/') => "/".to_owned(),
        "" if !word.is_empty() => ".".to_owned(),
        rest => rest.to_owned(),
    }
}

/// How a path begins, with the same of the form that is compared, and what follows: `C:/a`, or `/mnt/c/a` as Linux has it,
/// is `/c/a`.
fn lead(path: &str) -> (Lead, &str, &str) {
    if let Some(mounted) = path.strip_prefix("/mnt")
        && let [b'/', letter] | [b'/', letter, b'/', ..] = mounted.as_bytes()
        && letter.is_ascii_lowercase()
    {
        return (Lead::Mounted(char::from(*letter)), "/", &mounted[2..]);
    }
    // A URL has a slash before it.
    let bare = path.strip_prefix('/').unwrap_or(path);
    match bare.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => (Lead::Drive(char::from(*letter)), "/", &bare[2..]),
        _ => (Lead::Same, path, path),
    }
}

/// Whether a path has a piece in it that a shell has to work out: `$OUT/a.txt`, `` `mktemp` ``, `%TEMP%\a.txt`. Files of
/// routes are named so as well, but for the first piece and for capital letters: `routes/$id.tsx`, `routes/$id/page.tsx`.
pub(crate) fn is_open(path: &str) -> bool {
    path.split(['/', '\\']).enumerate().any(|(at, piece)| {
        let is_variable = piece.strip_prefix('$').is_some_and(|name| {
            let is_capital = name.starts_with(|c: char| c.is_ascii_uppercase());
            name.starts_with(['{', '(']) || is_capital || at == 0 && !name.is_empty() && !name.contains('.')
        });
        let quoted = piece.strip_prefix('%').and_then(|rest| rest.split_once('%'));
        is_variable || piece.starts_with('`') || quoted.is_some_and(|(name, _)| !name.is_empty())
    })
}

/// What is below the folder for temporary files that a path is in.
pub(crate) fn below_temporary(path: &str) -> Option<&str> {
    const FOLDERS: [&str; 5] = ["/tmp/", "/var/tmp/", "/dev/shm/", "/usr/tmp/", "/private/tmp/"];
    if let Some(rest) = FOLDERS.iter().find_map(|folder| path.strip_prefix(folder)) {
        return Some(rest);
    }
    let behind = |folder: &str| {
        let at = memmem::find(path.as_bytes(), folder.as_bytes())?;
        Some(&path[at + folder.len()..])
    };
    match path
        .strip_prefix("/private")
        .unwrap_or(path)
        .starts_with("/var/folders/")
    {
        true => behind("/T/"),
        false => behind("/AppData/Local/Temp/").or_else(|| behind("\\AppData\\Local\\Temp\\")),
    }
}

/// The folder that a command runs in, as seen from where its line began.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Folder {
    /// As far as the line tells; empty where it began.
    name: Arc<str>,
    /// It is that for sure: nothing in it has to be worked out by a shell, and the line surely went there.
    is_known: bool,
}

impl Default for Folder {
    fn default() -> Self {
        Folder {
            name: Arc::from(""),
            is_known: true,
        }
    }
}

impl Folder {
    /// The folder of this name, as seen from this one. `is_known` if it is sure that the line goes there.
    pub fn enter(&self, folder: &str, is_known: bool) -> Folder {
        let begins_anew = is_absolute(folder);
        let before = if begins_anew { 0 } else { self.name.len() };
        if before + folder.len() >= LONGEST {
            return self.unknown();
        }
        let path = Path::within(&self.name, folder);
        let is_here = path.as_str().is_empty();
        Folder {
            name: if is_here { "".into() } else { path.spelled().into() },
            is_known: is_known && (self.is_known || begins_anew) && !folder.starts_with('~'),
        }
    }

    /// The same, where nobody knows whether it is still that.
    pub fn unknown(&self) -> Folder {
        Folder {
            name: self.name.clone(),
            is_known: false,
        }
    }

    /// Its path, where it is known; empty where the line began.
    pub fn known(&self) -> Option<&str> {
        Some(&*self.name).filter(|_| self.is_known)
    }

    /// A path that is given in it, as seen from where the line began, unless nobody knows which one that is.
    pub fn place(&self, path: &str) -> Option<String> {
        match self.known() {
            Some(folder) => Some(Path::within(folder, path).spelled()),
            None => is_absolute(path).then(|| Path::of(path).spelled()),
        }
    }

    /// The same as far as the line tells: where the folder is one that a shell knows only (`$DIR`, `-`), no other path is like
    /// it.
    pub fn name<'a>(&self, path: &'a str) -> Cow<'a, str> {
        match self.name.is_empty() || is_absolute(path) {
            true => Cow::Borrowed(path),
            false => Cow::Owned(Path::within(&self.name, path).spelled()),
        }
    }

    /// What the line tells of it before a shell has to work something out.
    pub fn told(&self) -> Option<&str> {
        let is_open = |name: &&str| name.starts_with(['$', '-', '%', '`']);
        let mut told = 0;
        for name in self.name.split('/').take_while(|name| !is_open(name)) {
            told += name.len() + 1;
        }
        let told = self.name[..told.min(self.name.len())].trim_end_matches('/');
        match (told.is_empty(), self.name.starts_with('/')) {
            (true, true) => Some("/"),
            (true, false) => None,
            (false, _) => Some(told),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_is_one_however_it_is_written() {
        for (paths, normal, spelled) in [
            ("a/b ./a/b a//b a/./b a/x/../b a\\b a/b/", "a/b", "a/b"),
            ("/w/a //w/a /w/x/../a /../w/a file:///w/a \\w\\a", "/w/a", "/w/a"),
            ("C:\\w\\a C:/w//a file:///C:/w/a /C:/w/a", "/c/w/a", "C:/w/a"),
            ("/mnt/c/w/a /mnt/c/w/../w/a", "/c/w/a", "/mnt/c/w/a"),
            ("/mnt/c", "/c", "/mnt/c"),
            ("~/a ~//b/../a", "~/a", "~/a"),
            ("~/../a", "~/../a", "~/../a"),
            (". ./ a/..", "", "."),
            ("../a b/../../a", "../a", "../a"),
            ("/ // /..", "/", "/"),
        ] {
            for path in paths.split(' ') {
                let path = Path::of(path);
                assert_eq!((path.as_str(), &*path.spelled()), (normal, spelled), "{paths} {path:?}");
            }
        }
    }

    #[test]
    fn a_word_that_may_be_no_path_is_left_as_it_is() {
        for (word, expected) in [
            ("./a/", "a"),
            (".//.\\a\\b", "a/b"),
            ("./", "."),
            ("//", "/"),
            ("", ""),
            ("./...", "..."),
            ("//app:test", "//app:test"),
            ("a::b", "a::b"),
        ] {
            assert_eq!(plain(word), expected, "{word}");
        }
    }

    #[test]
    fn a_folder_is_followed_as_far_as_it_is_told() {
        let at = |folders: &[&str]| {
            let at = folders.iter().fold(Folder::default(), |at, folder| {
                at.enter(folder, !folder.contains(['$', '-']))
            });
            let told = at.told().unwrap_or("nothing").to_owned();
            (at.place("x").unwrap_or_default(), at.name("x").into_owned(), told)
        };
        let of = |place: &str, name: &str, told: &str| (place.to_owned(), name.to_owned(), told.to_owned());
        assert_eq!(at(&[]), of("x", "x", "nothing"));
        assert_eq!(at(&["a", "b/"]), of("a/b/x", "a/b/x", "a/b"));
        assert_eq!(at(&["a", "..", "."]), of("x", "x", "nothing"));
        assert_eq!(at(&["a", "/w"]), of("/w/x", "/w/x", "/w"));
        assert_eq!(at(&["/"]), of("/x", "/x", "/"));
        assert_eq!(at(&["$D"]), of("", "$D/x", "nothing"));
        assert_eq!(at(&["a", "$D", "b"]), of("", "a/$D/b/x", "a"));
        assert_eq!(at(&["$D", "/w"]), of("/w/x", "/w/x", "/w"));
        assert_eq!(at(&["~/a"]), of("", "~/a/x", "~/a"));
        assert_eq!(at(&["D:\\a", "b"]), of("D:/a/b/x", "D:/a/b/x", "D:/a/b"));
        let deep = (0..10_000).fold(Folder::default(), |at, _| at.enter("abcdefg", true));
        assert!(deep.name.len() <= LONGEST && deep.known().is_none());
    }

    #[test]
    fn what_a_shell_works_out_is_no_name() {
        for path in [
            "$OUT/a.txt",
            "$tmpdir/x",
            "${OUT}/a",
            "a/$B/c",
            "$(mktemp -d)/a",
            "`mktemp`",
            "%TEMP%\\a.txt",
        ] {
            assert!(is_open(path), "{path}");
        }
        for path in [
            "a.txt",
            "routes/$id.tsx",
            "routes/$id/page.tsx",
            "$id.tsx",
            "a$b",
            "100%/a",
            "US$/a",
        ] {
            assert!(!is_open(path), "{path}");
        }
    }

    #[test]
    fn files_lie_below_the_folders_of_temporary_ones() {
        for (path, below) in [
            ("/tmp/x.log", Some("x.log")),
            ("/private/tmp/a/b", Some("a/b")),
            ("/private/var/folders/ab/c0/T/a.txt", Some("a.txt")),
            ("/var/tmp/a", Some("a")),
            ("C:\\Users\\me\\AppData\\Local\\Temp\\a.txt", Some("a.txt")),
            ("tmp/a", None),
            ("/w/tmp/a", None),
            ("/tmpl/a", None),
        ] {
            assert_eq!(below_temporary(path), below, "{path}");
        }
    }

    proptest! {
        #[test]
        fn a_normal_path_is_the_same_again(folder in "(/|~/|C:|/mnt/c/|file://)?[ab./\\\\]{0,12}", path in "[ab./\\\\é]{0,12}") {
            let path = Path::within(&folder, &path);
            let again = Path::of(&path.spelled());
            prop_assert_eq!(again.as_str(), path.as_str());
            prop_assert!(!path.as_str().contains("//") && !path.as_str().contains('\\'));
            let at = Folder::default().enter(&folder, true);
            let _ = (at.told(), at.name("x"), at.place("x"));
        }
    }
}
