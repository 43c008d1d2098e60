//! Normalised paths.

/// A path in normalised form: `a/./b`, `a//b`, `a\b` and `a/x/../b` are `a/b`, and `c:\a`, `C:/a`, `/c/a`, `/mnt/c/a`
/// and `file:///c:/a` are the same. The names are separated by `/`, with one in front for a root or a drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path(String);

impl Path {
    /// Normalises a path.
    pub fn of(path: &str) -> Path {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let (drive, rest) = drive(path);
        let is_home = rest.starts_with('~');
        let is_absolute = drive.is_some() || is_absolute(rest);
        let drive = drive.map(|letter| letter.to_ascii_lowercase().to_string());
        let mut names: Vec<&str> = Vec::from_iter(drive.as_deref());
        // Nothing is above a drive, and the parent of a home folder is unknown.
        let top = names.len() + usize::from(is_home);
        for name in rest.split(['/', '\\']) {
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
        Path(format!("{root}{}", names.join("/")))
    }

    /// Returns whether the path is absolute: it starts at a root, a home folder or a drive.
    pub fn is_absolute(&self) -> bool {
        is_absolute(&self.0)
    }

    /// The names in the path, outermost first.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\', '~'])
}

/// The drive letter of a path, and the rest: of `C:/a`, of `/c:/a` as in a URL, and of `/mnt/c/a` as on Linux.
fn drive(path: &str) -> (Option<char>, &str) {
    if let Some(mounted) = path.strip_prefix("/mnt")
        && let [b'/', letter] | [b'/', letter, b'/', ..] = mounted.as_bytes()
        && letter.is_ascii_lowercase()
    {
        return (Some(char::from(*letter)), &mounted[2..]);
    }
    let bare = path.strip_prefix('/').unwrap_or(path);
    match bare.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => (Some(char::from(*letter)), &bare[2..]),
        _ => (None, path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_is_one_however_it_is_written() {
        for (paths, normal) in [
            ("a/b ./a/b a//b a/./b a/x/../b a\\b a/b/", "a/b"),
            ("/w/a //w/a /w/x/../a /../w/a file:///w/a \\w\\a", "/w/a"),
            ("C:\\w\\a C:/w//a file:///C:/w/a /C:/w/a /mnt/c/w/a /c/w/a", "/c/w/a"),
            ("~/a ~/x/../a", "~/a"),
            ("../a ./../a", "../a"),
            ("../../a", "../../a"),
        ] {
            for path in paths.split(' ') {
                assert_eq!(Path::of(path).0, normal, "{path}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_normal_stays_so(path in "(/|~/|C:/|\\.\\./)?([a-c.]{1,3}[/\\\\]){0,5}[a-c]{0,2}") {
            let normal = Path::of(&path);
            prop_assert_eq!(Path::of(&normal.0), normal);
        }
    }
}
