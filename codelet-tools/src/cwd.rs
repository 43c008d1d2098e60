//! The note that the shell writes when a command ends: its working directory, in which the next command starts, and the
//! exit statuses of the last pipeline.

use crate::files;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Longest note that is read, in bytes.
const LONGEST: u64 = 8192;

/// The shell's last command: it notes its working directory, or at least that the shell reached its end.
pub(crate) const NOTING: &str = "{ pwd -P || echo; } 2>/dev/null";
/// The same outside the sandbox. A shell's builtin `pwd` uses the name through which it came there, which a sandboxed
/// job may have replaced by a link; the program asks the kernel.
pub(crate) const NOTING_FREE: &str =
    "{ /bin/pwd -P || /usr/bin/pwd -P || /run/current-system/sw/bin/pwd -P || echo; } 2>/dev/null";

/// Runs before it in bash: notes the exit status of each command of the last pipeline. Nothing may run before this, as
/// it would then be the last pipeline.
pub(crate) const NOTING_STATUSES: &str = "printf '%s ' \"${PIPESTATUS[@]}\"; ";

/// The pipe to which the shell writes its final working directory. Any program of the command can write to it too, or
/// change the shell's directory; so the note is a folder or nothing, and it affects only commands that are confined at
/// least as much as this one ([`Shell`]).
pub(crate) struct CwdPipe {
    pipe: PipeReader,
    stays: bool,
}

/// The result of a note.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Stands {
    pub directory: PathBuf,
    /// The exit statuses of the last pipeline, if it had several commands.
    pub pipe: Box<[u8]>,
    /// True if the command certainly ended in `directory`, or if the folder where it ended no longer exists.
    pub is_known: bool,
}

impl CwdPipe {
    /// Creates the note for a command that has not run yet, and the end of the pipe for its shell. `stays` says that it
    /// notes nothing and changes no directory.
    ///
    /// # Errors
    /// If no pipe can be created.
    pub(crate) fn begin(stays: bool) -> io::Result<(CwdPipe, PipeWriter)> {
        let (pipe, writer) = io::pipe()?;
        // Nothing is read before the end, so a full pipe must not block the shell.
        for end in [pipe.as_fd(), writer.as_fd()] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        Ok((CwdPipe { pipe, stays }, writer))
    }

    /// Reads where the command ended. If the shell noted nothing (killed, replaced by `exec`, or another trap), this is
    /// where it started; folders that no longer exist are skipped.
    pub(crate) fn read(self, began: &[&Path; 2]) -> Stands {
        let mut noted = Vec::new();
        // Ends when the pipe is empty; background jobs may hold its other end.
        let _ = self.pipe.take(LONGEST).read_to_end(&mut noted);
        let is_known = self.stays || !noted.is_empty();
        let pipe = statuses(&mut noted);
        let noted = folder(noted);
        let mut places = noted.as_deref().into_iter().chain(began.iter().copied());
        let directory = places.find(|place| place.is_dir()).unwrap_or(began[1]);
        Stands {
            directory: directory.to_owned(),
            pipe,
            is_known,
        }
    }
}

/// Takes the exit statuses from the beginning of a note.
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
    // The kernel's path contains no links; a link there now was added since.
    (directory.is_absolute() && files::hold_folder(&directory).is_ok()).then_some(directory)
}

/// The shell's working directories: each command starts where the last one ended. A sandboxed command's report cannot
/// be trusted, so it moves only sandboxed commands; the others start where the last unsandboxed one ended.
pub(crate) struct Shell {
    shut_in: PathBuf,
    free: PathBuf,
    was_shut_in: bool,
}

impl Shell {
    /// Both directories start here.
    pub(crate) fn new(directory: &Path, is_shut_in: bool) -> Shell {
        Shell {
            shut_in: directory.to_owned(),
            free: directory.to_owned(),
            was_shut_in: is_shut_in,
        }
    }

    /// The directory in which the next command starts, sandboxed or not.
    pub(crate) fn at(&self, is_shut_in: bool) -> &Path {
        match is_shut_in {
            true => &self.shut_in,
            false => &self.free,
        }
    }

    /// Records where a command, sandboxed or not, ended.
    pub(crate) fn go(&mut self, directory: PathBuf, is_shut_in: bool) {
        if !is_shut_in {
            self.free.clone_from(&directory);
        }
        self.shut_in = directory;
    }

    /// Records whether the next command is sandboxed. If that changes its directory, returns the directory in which it
    /// would have started otherwise; each change is reported once.
    pub(crate) fn turn(&mut self, is_shut_in: bool) -> Option<PathBuf> {
        let was = std::mem::replace(&mut self.was_shut_in, is_shut_in);
        (self.at(was) != self.at(is_shut_in)).then(|| self.at(was).to_owned())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::io::Write;

    #[test]
    fn where_nothing_is_noted_the_next_command_begins_where_this_one_began() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        for name in ["began", "noted"] {
            std::fs::create_dir(place(name)).unwrap();
        }
        let (began, noted, gone) = (place("began"), place("noted"), place("gone"));
        for (stays, text, directory, is_known) in [
            (false, Some(&*noted), &noted, true),
            (false, None, &began, false),
            (true, None, &began, true),
            (false, Some(&*gone), &began, true),
            (false, Some(Path::new("")), &began, true),
        ] {
            let (note, mut writer) = CwdPipe::begin(stays).unwrap();
            if let Some(text) = text {
                writeln!(writer, "{}", text.display()).unwrap();
            }
            let stands = note.read(&[&began, &began]);
            assert_eq!((&stands.directory, stands.is_known), (directory, is_known), "{text:?}");
        }
    }

    #[test]
    fn a_note_is_read_while_somebody_still_holds_the_pipe_and_has_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let (note, mut held) = CwdPipe::begin(false).unwrap();
        writeln!(held, "{}", folder.path().display()).unwrap();
        let stands = note.read(&[Path::new("/"), Path::new("/")]);
        assert_eq!(stands.directory, folder.path());
        let (note, mut held) = CwdPipe::begin(false).unwrap();
        // A writer that fills the pipe is not blocked, and its text is not a folder.
        while held.write(&[b'/'; 4096]).is_ok() {}
        let stands = note.read(&[folder.path(), Path::new("/")]);
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
