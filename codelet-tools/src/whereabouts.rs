//! Where the shell stands when a command has ended, which is where the next one begins.

use crate::files;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The file in which the shell notes at its end where it stands. The command could write it, too, so what stands in it is a
/// folder or nothing.
pub(crate) struct Note {
    path: PathBuf,
    may_move: bool,
}

/// Where the next command begins.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Stands {
    pub directory: PathBuf,
    /// The command ended there, or there is no such place any more.
    pub is_known: bool,
}

impl Note {
    /// The one of this command; it has not run yet.
    pub(crate) fn new(path: PathBuf, command: &str) -> Note {
        let may_move = may_move(command);
        Note { path, may_move }
    }

    /// Where the command ended. Where the shell has noted nothing, since it was killed, became another program or had another
    /// trap, the next one begins where it was last seen, or else where it began; a folder that is gone is no place to
    /// stand in.
    pub(crate) fn read(&self, seen_in: Option<&Path>, began: &[&Path; 2]) -> Stands {
        let is_known = !self.may_move || self.path.symlink_metadata().is_ok();
        let noted = self.noted();
        let seen_in = seen_in.filter(|_| !is_known);
        let places = noted.as_deref().into_iter().chain(seen_in).chain(began.iter().copied());
        let directory = places.into_iter().find(|place| place.is_dir()).unwrap_or(began[1]);
        Stands {
            directory: directory.to_owned(),
            is_known,
        }
    }

    fn noted(&self) -> Option<PathBuf> {
        let (file, _) = files::open(&self.path).ok()?;
        let mut line = String::new();
        file.take(8192).read_to_string(&mut line).ok()?;
        let directory = PathBuf::from(line.strip_suffix('\n')?);
        (directory.is_absolute() && directory.is_dir()).then_some(directory)
    }
}

/// Whether a shell may be in another folder behind this line; in doubt it may.
fn may_move(line: &str) -> bool {
    /// What goes elsewhere, or runs what does not stand in the line.
    const GOES: [&str; 5] = ["cd", "pushd", "popd", "eval", "source"];
    /// What may stand before a command.
    const BEFORE: [&str; 13] = [
        "if", "then", "elif", "else", "while", "until", "do", "!", "time", "command", "builtin", "exec", "{",
    ];
    let begins = |c: char| ";&|(`\n".contains(c);
    // A word is the same word in quotes.
    let bare: String = line.chars().filter(|c| !matches!(c, '\\' | '\'' | '"')).collect();
    let mut words = bare.split(|c: char| c.is_whitespace() || ";&|(){}`".contains(c));
    words.any(|word| GOES.contains(&word))
        || bare.split(begins).any(|command| {
            let mut words = command.split_whitespace();
            let first = words.find(|word| !BEFORE.contains(word));
            first.is_some_and(|word| word == "." || word.contains('$'))
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_line_that_goes_nowhere_is_known() {
        for line in [
            "ls",
            "printf x; kill -9 $$",
            "exec ls .",
            "exec grep -rn 'a b' ./src/cd.rs",
            "trap 'rm -f x' EXIT; for i in 1 2; do echo $(date) ${i}; done",
            "A=1 make -C sub",
        ] {
            assert!(!may_move(line), "{line}");
        }
        for line in [
            "cd sub && ls",
            "true&&cd sub",
            "(cd sub)",
            "c\\d sub",
            "'c'd sub",
            "trap 'cd /' EXIT",
            "x=cd; $x sub",
            "if true; then $x sub; fi",
            "$(echo cd) sub",
            ". ./env.sh",
            "true; . env.sh",
            "source env.sh",
            "eval \"$x\"",
            "pushd sub",
        ] {
            assert!(may_move(line), "{line}");
        }
    }

    #[test]
    fn where_nothing_is_noted_the_next_command_begins_where_this_one_was_last_seen() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        for name in ["began", "seen", "noted"] {
            std::fs::create_dir(place(name)).unwrap();
        }
        let (began, seen, noted) = (place("began"), place("seen"), place("noted"));
        let gone = place("gone");
        let note = |command: &str, text: Option<&Path>| {
            let path = place("note");
            let _ = std::fs::remove_file(&path);
            if let Some(text) = text {
                std::fs::write(&path, format!("{}\n", text.display())).unwrap();
            }
            Note::new(path, command)
        };
        let check = |note: Note, seen_in: Option<&Path>, directory: &Path, is_known: bool| {
            let directory = directory.to_owned();
            assert_eq!(note.read(seen_in, &[&began, &began]), Stands { directory, is_known });
        };
        check(note("cd x", Some(&noted)), Some(&seen), &noted, true);
        check(note("cd x", None), Some(&seen), &seen, false);
        check(note("cd x", None), Some(&gone), &began, false);
        check(note("cd x", None), None, &began, false);
        check(note("exec ls", None), Some(&seen), &began, true);
        check(note("cd x; rmdir ../x", Some(&gone)), None, &began, true);
    }
}
