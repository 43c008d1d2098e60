//! What the shell notes when a command has ended: where it stands, which is where the next command begins, and how the parts
//! of the last pipe ended.

use crate::files;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Longest note that is read, in bytes.
const LONGEST: u64 = 8192;

/// What the shell does at its end: it notes where it stands, and at least that it has come to its end.
pub(crate) const NOTING: &str = "{ pwd -P || echo; } 2>/dev/null";
/// The same outside of the sandbox. A shell's own `pwd` looks up the name by which it came there, under which a job in the sandbox
/// may have put a link by then; the program asks the kernel.
pub(crate) const NOTING_FREE: &str =
    "{ /bin/pwd -P || /usr/bin/pwd -P || /run/current-system/sw/bin/pwd -P || echo; } 2>/dev/null";

/// What bash does before that: it notes how each command of the last pipe ended. Nothing may run before it, which would be the
/// last pipe then.
pub(crate) const NOTING_STATUSES: &str = "printf '%s ' \"${PIPESTATUS[@]}\"; ";

/// The pipe through which the shell notes at its end where it stands. Whatever runs in the command could write to it, too, or
/// lead the shell elsewhere; so what is noted is a folder or nothing, and it says only where commands begin that are held by
/// no less than this one ([`Shell`]).
pub(crate) struct Note {
    pipe: PipeReader,
    may_move: bool,
}

/// Where the next command begins.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Stands {
    pub directory: PathBuf,
    /// The statuses of the commands of the last pipe, if it had several.
    pub pipe: Box<[u8]>,
    /// The command ended there, or there is no such place any more.
    pub is_known: bool,
}

impl Note {
    /// The one of this command, which has not run yet, and the end of the pipe that its shell is to get.
    ///
    /// # Errors
    /// When there can be no pipe.
    pub(crate) fn begin(command: &str) -> io::Result<(Note, PipeWriter)> {
        let (pipe, writer) = io::pipe()?;
        // Nobody reads before the end: what fills the pipe must not hold up the shell.
        for end in [pipe.as_fd(), writer.as_fd()] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        let may_move = may_move(command);
        Ok((Note { pipe, may_move }, writer))
    }

    /// Where the command ended. Where the shell has noted nothing, since it was killed, became another program or had another
    /// trap, the next one begins where it was last seen, or else where it began; a folder that is gone is no place to
    /// stand in.
    pub(crate) fn read(self, seen_in: Option<&Path>, began: &[&Path; 2]) -> Stands {
        let mut noted = Vec::new();
        // It ends where nothing stands in the pipe any more; what runs on may hold its other end.
        let _ = self.pipe.take(LONGEST).read_to_end(&mut noted);
        let is_known = !self.may_move || !noted.is_empty();
        let pipe = statuses(&mut noted);
        let noted = folder(noted);
        let seen_in = seen_in.filter(|_| !is_known);
        let places = noted.as_deref().into_iter().chain(seen_in).chain(began.iter().copied());
        let directory = places.into_iter().find(|place| place.is_dir()).unwrap_or(began[1]);
        Stands {
            directory: directory.to_owned(),
            pipe,
            is_known,
        }
    }
}

/// Takes the statuses from the beginning of a note.
fn statuses(noted: &mut Vec<u8>) -> Box<[u8]> {
    let is_status = |byte: &u8| byte.is_ascii_digit() || *byte == b' ';
    let end = noted.iter().position(|byte| !is_status(byte)).unwrap_or(noted.len());
    let told: Vec<u8> = noted.drain(..end).collect();
    let told = String::from_utf8_lossy(&told);
    let statuses: Option<Box<[u8]>> = told.split_whitespace().map(|status| status.parse().ok()).collect();
    statuses.filter(|statuses| statuses.len() > 1).unwrap_or_default()
}

fn folder(mut noted: Vec<u8>) -> Option<PathBuf> {
    noted.pop_if(|last| *last == b'\n')?;
    let directory = PathBuf::from(OsString::from_vec(noted));
    // What the kernel names has no links on the way; where there is one now, it was put there since.
    (directory.is_absolute() && files::hold_folder(&directory).is_ok()).then_some(directory)
}

/// Where the shell stands: each command begins where the last one ended. What a command in the sandbox says of its end is not
/// to be relied on, so it moves only those in the sandbox; the others begin where the last one of them ended.
pub(crate) struct Shell {
    shut_in: PathBuf,
    free: PathBuf,
    was_shut_in: bool,
}

impl Shell {
    /// In this folder.
    pub(crate) fn new(directory: &Path, is_shut_in: bool) -> Shell {
        Shell {
            shut_in: directory.to_owned(),
            free: directory.to_owned(),
            was_shut_in: is_shut_in,
        }
    }

    /// Where the next command begins that is shut in or not.
    pub(crate) fn at(&self, is_shut_in: bool) -> &Path {
        match is_shut_in {
            true => &self.shut_in,
            false => &self.free,
        }
    }

    /// A command that was shut in or not ended there.
    pub(crate) fn go(&mut self, directory: PathBuf, is_shut_in: bool) {
        if !is_shut_in {
            self.free.clone_from(&directory);
        }
        self.shut_in = directory;
    }

    /// The next command is shut in, or is not: where it would have begun otherwise, if that is another place and nobody was
    /// told.
    pub(crate) fn turn(&mut self, is_shut_in: bool) -> Option<PathBuf> {
        let was = std::mem::replace(&mut self.was_shut_in, is_shut_in);
        (self.at(was) != self.at(is_shut_in)).then(|| self.at(was).to_owned())
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
    use std::io::Write;

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
            let (note, mut writer) = Note::begin(command).unwrap();
            if let Some(text) = text {
                writeln!(writer, "{}", text.display()).unwrap();
            }
            note
        };
        let check = |note: Note, seen_in: Option<&Path>, directory: &Path, is_known: bool| {
            let directory = directory.to_owned();
            let pipe = Box::default();
            let stands = Stands {
                directory,
                pipe,
                is_known,
            };
            assert_eq!(note.read(seen_in, &[&began, &began]), stands);
        };
        check(note("cd x", Some(&noted)), Some(&seen), &noted, true);
        check(note("cd x", None), Some(&seen), &seen, false);
        check(note("cd x", None), Some(&gone), &began, false);
        check(note("cd x", None), None, &began, false);
        check(note("exec ls", None), Some(&seen), &began, true);
        check(note("cd x; rmdir ../x", Some(&gone)), None, &began, true);
        check(note("cd x; rmdir ../x", Some(Path::new(""))), None, &began, true);
    }

    #[test]
    fn a_note_is_read_while_somebody_still_holds_the_pipe_and_has_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let (note, mut held) = Note::begin("cd x").unwrap();
        writeln!(held, "{}", folder.path().display()).unwrap();
        let stands = note.read(None, &[Path::new("/"), Path::new("/")]);
        assert_eq!(stands.directory, folder.path());
        let (note, mut held) = Note::begin("cd x").unwrap();
        // Whoever fills it is not held up, and is no folder.
        while held.write(&[b'/'; 4096]).is_ok() {}
        let stands = note.read(None, &[folder.path(), Path::new("/")]);
        assert_eq!(stands.directory, folder.path());
    }

    #[test]
    fn what_is_shut_in_moves_only_what_is_shut_in() {
        let (home, here, there) = (Path::new("/home"), Path::new("/here"), Path::new("/there"));
        let mut shell = Shell::new(home, true);
        shell.go(here.to_owned(), true);
        assert_eq!([shell.at(true), shell.at(false)], [here, home]);
        assert_eq!(shell.turn(true), None);
        assert_eq!(shell.turn(false).as_deref(), Some(here));
        assert_eq!(shell.turn(false), None);
        shell.go(there.to_owned(), false);
        assert_eq!([shell.at(true), shell.at(false)], [there, there]);
        assert_eq!(shell.turn(true), None);
    }
}
