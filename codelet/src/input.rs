//! Input of conversations: a file or standard input, read whole, with clear error messages.

use crate::exit::Failure;
use crate::paint::{self, Ink, clean, count};
use crate::progress::Progress;
use crate::stores::{self, Session, Store};
use codelet_transcript::{Document, Format, ReadError, Recording};
use rustix::fs::{Mode, OFlags};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The size limit of an input; prevents reading an endless device until memory is full.
const MAX_BYTES: u64 = 1 << 30;
/// Bytes at the beginning used to tell text from other content.
const HEAD_BYTES: u64 = 64 * 1024;

/// The number of conversations of a data set whose errors are reported.
const TOLD: usize = 8;

/// The content of an input.
pub enum InputContent {
    One(Input),
    /// A data set, or an agent's session store.
    Many(Input),
}

/// An input that was read.
pub struct Input {
    /// The file's name, for messages to the user.
    pub name: String,
    /// The whole content; empty for a store.
    pub bytes: Vec<u8>,
    /// The modification time, if known.
    pub written: Option<SystemTime>,
    /// The store, if it is one; its sessions are read on demand.
    held: Option<Held>,
}

/// A store with its sessions.
struct Held {
    store: Store,
    sessions: Vec<Session>,
}

impl Input {
    /// Reads the file, or standard input if the name is missing or `-`.
    ///
    /// # Errors
    /// If it cannot be read, is clearly not text, or is a store of several sessions.
    pub fn read(file: Option<&Path>) -> Result<Self, Failure> {
        let input = Input::read_any(file)?;
        match &input.held {
            Some(_) => Err(Failure::at(&input.name, input.several())),
            None => Ok(input),
        }
    }

    /// Reads a file like [`read`](Input::read), but also accepts an agent's store with any number of sessions.
    ///
    /// # Errors
    /// If it cannot be read, or is neither text nor a store.
    pub fn read_any(file: Option<&Path>) -> Result<Self, Failure> {
        match file.filter(|path| *path != Path::new("-")) {
            Some(path) => match (!path.exists()).then(|| within(path)).flatten() {
                Some((file, id)) => Input::read_file(&file)?.named(&id),
                None => Input::read_file(path),
            },
            None => Input::read_stdin(file.is_some()),
        }
    }

    /// Reads a file like [`read_any`](Input::read_any), and shows progress if that takes long.
    ///
    /// # Errors
    /// The same as for [`read_any`](Input::read_any).
    pub fn read_any_telling(file: Option<&Path>) -> Result<(Self, Progress), Failure> {
        let progress = Progress::start("reading");
        let input = Input::read_any(file)?;
        let size = paint::bytes(input.bytes.len() as u64);
        progress.tell(&format!("reading {} ({size})", clean(&input.name)));
        Ok((input, progress))
    }

    fn read_file(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let mut file = File::open(path).map_err(|error| Failure::io(path, &error))?;
        let found = file.metadata().map_err(|error| Failure::io(path, &error))?;
        if found.is_dir() {
            return Err(Failure::at(&name, "is a folder, expected a file with one conversation"));
        }
        let mut magic = [0; stores::MAGIC.len()];
        // SQLite cannot open input that is not seekable.
        if found.is_file() && file.read_exact(&mut magic).is_ok() && magic == stores::MAGIC {
            return Input::open_store(path, name);
        }
        let back = if found.is_file() { file.rewind() } else { Ok(()) };
        back.map_err(|error| Failure::io(path, &error))?;
        let size = if found.is_file() { found.len() } else { 0 };
        let written = found.modified().ok().filter(|_| found.is_file());
        let mut input = Input::fill(name, file, size)?;
        input.written = written;
        input.with_earlier(path);
        Ok(input)
    }

    /// Prepends the earlier sessions that a session in this file continues.
    fn with_earlier(&mut self, path: &Path) {
        let own = path.file_name().and_then(OsStr::to_str);
        for _ in 0..MOST_EARLIER {
            let Some(earlier) = codelet_transcript::earlier(&self.bytes) else {
                return;
            };
            let left = MAX_BYTES.saturating_sub(self.bytes.len() as u64);
            let is_it = |name: &str| Some(name) != own && earlier.is_named(name);
            let Some(other) = beside(path, left, &is_it) else {
                return;
            };
            self.bytes = earlier.join(&other, &self.bytes);
        }
    }

    /// Opens a store; returns the session itself if there is only one.
    fn open_store(path: &Path, name: String) -> Result<Self, Failure> {
        let failed = |error| Failure::at(&name, stores::words(&error));
        let store = stores::open(path).map_err(failed)?;
        let sessions = store.sessions().map_err(failed)?;
        let held = Held { store, sessions };
        match &held.sessions[..] {
            [] => Err(Failure::at(&name, "is a database without sessions")),
            [one] => held.conversation(&name, one),
            _ => Ok(Input {
                held: Some(held),
                ..Input::of(name, Vec::new())
            }),
        }
    }

    /// Wraps a conversation that was already read.
    pub fn of(name: String, bytes: Vec<u8>) -> Self {
        Input {
            name,
            bytes,
            written: None,
            held: None,
        }
    }

    /// Selects the session with this id or number.
    fn named(self, id: &str) -> Result<Self, Failure> {
        let at = id.parse::<usize>().ok();
        if let Some(held) = &self.held {
            let named = held.sessions.iter().find(|session| session.id == id);
            let numbered = || held.sessions.get(at?);
            let unlisted = || Session {
                id: id.to_owned(),
                ..Session::default()
            };
            // The list is incomplete: sub-agent sessions are read only on request.
            return match named.or_else(numbered) {
                Some(session) => held.conversation(&self.name, session),
                None => held.conversation(&self.name, &unlisted()),
            };
        }
        match self.conversations(Some(at.unwrap_or(usize::MAX)))? {
            InputContent::One(input) | InputContent::Many(input) => Ok(input),
        }
    }

    fn read_stdin(asked_for: bool) -> Result<Self, Failure> {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            if !asked_for {
                let problem = "no input: name a FILE, or pipe one in (… < session.jsonl)";
                return Err(Failure::Told(problem.to_owned()));
            }
            let _ = writeln!(
                io::stderr(),
                "Reading a conversation from the terminal; Ctrl-D ends it."
            );
        }
        Input::fill("standard input".to_owned(), stdin.lock(), 0)
    }

    /// Reads everything; `size` is the expected size, as far as it is known.
    ///
    /// # Errors
    /// If it cannot be read, is clearly not text, or is too large.
    fn fill(name: String, mut from: impl Read, size: u64) -> Result<Self, Failure> {
        if size > MAX_BYTES {
            return Err(too_large(&name));
        }
        let refused = |error: io::Error| Failure::at(&name, crate::exit::words(&error));
        // One extra byte, so that the end is detected without another reallocation.
        let mut bytes = Vec::with_capacity(size as usize + 1);
        from.by_ref()
            .take(HEAD_BYTES)
            .read_to_end(&mut bytes)
            .map_err(refused)?;
        let is_whole = (bytes.len() as u64) < HEAD_BYTES;
        let end = if is_whole { end(&bytes) } else { bytes.len() };
        if let Some(problem) = foreign(&bytes[..end]) {
            return Err(Failure::at(&name, problem));
        }
        let rest = MAX_BYTES - bytes.len() as u64 + 1;
        from.take(rest).read_to_end(&mut bytes).map_err(refused)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(too_large(&name));
        }
        bytes.truncate(self::end(&bytes));
        Ok(Input::of(name, bytes))
    }

    /// Parses the conversation.
    ///
    /// # Errors
    /// If it is not a conversation in this format.
    pub fn parse(&self, from: Option<Format>) -> Result<Document, Failure> {
        codelet_transcript::read(&self.bytes, from).map_err(|error| Failure::at(&self.name, self.unread(&error)))
    }

    /// Explains why no conversation could be read: there may be several.
    pub fn unread(&self, error: &ReadError) -> String {
        match codelet_transcript::conversations(&self.bytes) {
            Some(_) => self.several(),
            None => unread(error),
        }
    }

    /// Returns the message that one of several sessions must be chosen.
    pub fn several(&self) -> String {
        match &self.held {
            Some(held) => format!(
                "contains {}; choose one with --index N, or as FILE#ID (`codelet inspect FILE` lists them)",
                count(held.sessions.len(), "session")
            ),
            None => {
                let all = codelet_transcript::conversations(&self.bytes).unwrap_or_default();
                let held = count(all.len(), "conversation");
                format!("contains {held}; choose one with --index N")
            }
        }
    }

    /// Returns the sessions of a store.
    pub fn sessions(&self) -> Option<&[Session]> {
        self.held.as_ref().map(|held| &*held.sessions)
    }

    /// Returns the conversations: all of a data set, or the one with this index, counted from 0.
    ///
    /// # Errors
    /// If there is none with this index.
    pub fn conversations(self, index: Option<usize>) -> Result<InputContent, Failure> {
        if let Some(held) = &self.held {
            let Some(at) = index else {
                return Ok(InputContent::Many(self));
            };
            return match held.sessions.get(at) {
                Some(session) => held.conversation(&self.name, session).map(InputContent::One),
                None => Err(Failure::at(&self.name, none_with(at, held.sessions.len()))),
            };
        }
        let all = codelet_transcript::conversations(&self.bytes);
        let (held, one) = match (&all, index) {
            (None, None | Some(0)) => return Ok(InputContent::One(self)),
            (Some(_), None) => return Ok(InputContent::Many(self)),
            (None, Some(_)) => (1, None),
            (Some(all), Some(at)) => (all.len(), all.get(at).map(|one| one.to_vec())),
        };
        let at = index.unwrap_or_default();
        let Some(bytes) = one else {
            return Err(Failure::at(&self.name, none_with(at, held)));
        };
        let name = format!("{}#{at}", self.name);
        let written = self.written;
        Ok(InputContent::One(Input {
            written,
            ..Input::of(name, bytes)
        }))
    }

    /// Returns the only conversation, or the one with this index.
    ///
    /// # Errors
    /// If there are several and no index is given, or none has this index.
    pub fn one(self, index: Option<usize>) -> Result<Input, Failure> {
        match self.conversations(index)? {
            InputContent::One(input) => Ok(input),
            InputContent::Many(input) => Err(Failure::at(&input.name, input.several())),
        }
    }

    /// Passes each conversation of a data set or store to `take`, and reports those with errors.
    ///
    /// # Errors
    /// If any has an error, after all others were passed on.
    pub fn each(&self, mut take: impl FnMut(usize, Input) -> Result<(), Failure>) -> Result<(), Failure> {
        let lines = codelet_transcript::conversations(&self.bytes).unwrap_or_default();
        let all = self.held.as_ref().map_or(lines.len(), |held| held.sessions.len());
        let one = |at: usize| match &self.held {
            Some(held) => held.conversation(&self.name, &held.sessions[at]),
            None => Ok(Input::of(format!("{}#{at}", self.name), lines[at].to_vec())),
        };
        let mut wrong = 0;
        for at in 0..all {
            match one(at).and_then(|one| take(at, one)) {
                Ok(()) => {}
                Err(Failure::Told(words)) => {
                    wrong += 1;
                    if wrong <= TOLD {
                        crate::tell("warning", Ink::Yellow, &words);
                    }
                }
                Err(closed @ Failure::PipeClosed) => return Err(closed),
            }
        }
        match wrong {
            0 => Ok(()),
            _ => {
                let held = count(all, "conversation");
                Err(Failure::at(&self.name, format!("{wrong} of {held} could not be read")))
            }
        }
    }

    /// Parses the conversation together with the usage recorded for its requests. With `is_forced`, it may be understood
    /// in part.
    ///
    /// # Errors
    /// If it is not in this format, or less than nine tenths of it is understood.
    pub fn record(&self, from: Option<Format>, is_forced: bool) -> Result<Recording, Failure> {
        let read = match is_forced {
            true => codelet_transcript::record_anyway(&self.bytes, from),
            false => codelet_transcript::record(&self.bytes, from),
        };
        read.map_err(|error| {
            let hint = match error {
                ReadError::TooLittle { .. } => "; --force continues with the rest",
                _ => "",
            };
            Failure::at(&self.name, format!("{}{hint}", self.unread(&error)))
        })
    }

    /// Returns the name and drops the bytes.
    pub fn into_name(self) -> String {
        self.name
    }
}

impl Held {
    /// Reads the conversation of a session.
    fn conversation(&self, name: &str, session: &Session) -> Result<Input, Failure> {
        let read = self.store.conversation(&session.id);
        let bytes = read.map_err(|error| Failure::at(name, stores::words(&error)))?;
        let written = session.modified.map(Duration::from_millis);
        Ok(Input {
            written: written.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since)),
            ..Input::of(format!("{name}#{}", session.id), bytes)
        })
    }
}

/// The maximum number of earlier sessions that a session can continue, one after another.
const MOST_EARLIER: usize = 20;

/// Reads the regular file in the same folder whose name satisfies `is_it`. Links are not followed.
fn beside(path: &Path, most: u64, is_it: &dyn Fn(&str) -> bool) -> Option<Vec<u8>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let mut named = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_it));
    let (file, found) = opened(&named.next()?.path(), OFlags::NOFOLLOW).ok()?;
    all_of(file, &found, most)
}

/// Reads a whole file of at most `most` bytes.
fn all_of(file: File, found: &Metadata, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let is_small = found.len() <= most;
    is_small
        .then(|| file.take(most).read_to_end(&mut bytes).ok())
        .flatten()?;
    Some(bytes)
}

/// Splits `FILE#ID` into the file and the id within it.
fn within(path: &Path) -> Option<(PathBuf, String)> {
    let text = path.to_str()?;
    let mut marks = text.match_indices('#');
    let at = marks.find_map(|(at, _)| Path::new(&text[..at]).is_file().then_some(at))?;
    Some((PathBuf::from(&text[..at]), text[at + 1..].to_owned()))
}

/// Returns whether a file is an SQLite database.
pub fn is_store(file: &Path) -> bool {
    let mut magic = [0; stores::MAGIC.len()];
    let begins = opened(file, OFlags::empty()).and_then(|(mut file, _)| file.read_exact(&mut magic));
    begins.is_ok() && magic == stores::MAGIC
}

/// Returns the file to be read for a command-line argument, without a `#ID`.
pub fn file_of(path: &Path) -> PathBuf {
    let inner = || within(path).map(|(file, _)| file);
    (!path.exists())
        .then(inner)
        .flatten()
        .unwrap_or_else(|| path.to_owned())
}

fn none_with(at: usize, held: usize) -> String {
    let held = count(held, "conversation");
    match at {
        usize::MAX => format!("contains {held}; none has this id"),
        _ => format!("contains {held}, numbered from 0; there is no number {at}"),
    }
}

/// Returns the length of the text: a crash leaves zero bytes after the last line.
fn end(bytes: &[u8]) -> usize {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    match bytes[..end].trim_ascii_end() {
        [.., b'}' | b']'] => end,
        _ => bytes.len(),
    }
}

/// Checks that this is a regular file.
///
/// # Errors
/// If it is anything else.
pub fn is_regular(found: &Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("expected a file")),
    }
}

/// Opens a regular file for reading without blocking, and returns it with its metadata. `flags` are added.
///
/// # Errors
/// If it cannot be opened, or is not a regular file.
pub fn opened(path: &Path, flags: OFlags) -> io::Result<(File, Metadata)> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let found = file.metadata()?;
    is_regular(&found)?;
    Ok((file, found))
}

/// Reads a regular file of at most `most` bytes: a repository may contain a pipe or a link to a device in its place.
///
/// # Errors
/// If it is not a regular file, is larger, or cannot be read.
pub fn regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Opening a device may have side effects.
    is_regular(&path.metadata()?)?;
    let (file, _) = opened(path, OFlags::empty())?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other("too large")),
        false => Ok(bytes),
    }
}

fn too_large(name: &str) -> Failure {
    let limit = paint::bytes(MAX_BYTES);
    Failure::at(name, format!("is larger than {limit}, too large for one conversation"))
}

/// Returns the first byte after white space and zeros.
fn begins(head: &[u8]) -> Option<u8> {
    head.iter()
        .copied()
        .find(|byte| *byte != 0 && !byte.is_ascii_whitespace())
}

/// Identifies a file that is not text by its first bytes.
fn foreign(head: &[u8]) -> Option<String> {
    let kind = match head {
        [0x1f, 0x8b, ..] => "is compressed with gzip; unpack it first (gunzip)",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "is compressed with zstd; unpack it first (unzstd)",
        [b'P', b'K', 3, 4, ..] => "is a ZIP archive; unpack it first (unzip)",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            "is encoded in UTF-16; convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)"
        }
        head if head.starts_with(b"SQLite format 3\0") => {
            "is an SQLite database; pass its file name instead of piping it in"
        }
        // Zeros among entries are the remains of a crash; the reader reports what is lost.
        _ if matches!(begins(head), Some(b'{' | b'[')) => return None,
        _ => {
            let at = head.iter().position(|&byte| byte == 0)?;
            let line = 1 + head[..at].iter().filter(|&&byte| byte == b'\n').count();
            return Some(format!("is not a text file (line {line}: byte {at} is zero)"));
        }
    };
    Some(kind.to_owned())
}

/// Explains why a conversation could not be read, and suggests a remedy.
fn unread(error: &ReadError) -> String {
    match error {
        ReadError::OtherForm { found, .. } => format!("{error}; use --from {found}"),
        error if error.is_of_form() => format!("{error} (see `codelet formats`)"),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn of_a_repositorys_files_only_regular_ones_are_read_and_no_more_than_is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let [file, pipe, link, zero] = ["file", "pipe", "link", "zero"].map(|name| folder.path().join(name));
        std::fs::write(&file, "four").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RWXU).unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
        let read = |path: &Path, most| regular(path, most).map_err(|error| error.to_string());
        assert_eq!(read(&file, 4).unwrap(), b"four");
        assert_eq!(read(&link, 4).unwrap(), b"four");
        assert_eq!(read(&file, 3).unwrap_err(), "too large");
        for path in [pipe, zero, folder.path().to_owned()] {
            assert_eq!(read(&path, 4).unwrap_err(), "expected a file");
        }
    }
}
