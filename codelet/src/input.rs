//! Where conversations come from: a file or standard input, read whole, with clear words where that cannot be.

use crate::args::Reading;
use crate::exit::Failure;
use crate::paint::{self, Ink, count};
use codelet_transcript::{Document, Format, ReadError, Recording};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::string::FromUtf8Error;
use std::time::{Duration, Instant};

/// No conversation is larger; a device that never ends is not read until the memory is full.
const MAX_BYTES: u64 = 1 << 30;
/// Enough of the beginning to tell a text from anything else.
const HEAD_BYTES: u64 = 64 * 1024;

/// Of so many conversations of a data set it is told what is wrong with them.
const TOLD: usize = 8;

/// What an input holds.
pub enum Conversations {
    One(Input),
    /// A data set.
    Many(Input),
}

/// What was read.
pub struct Input {
    /// The file's name, for messages to the user.
    pub name: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

impl Input {
    /// Reads the file, or standard input where none or `-` is named.
    ///
    /// # Errors
    /// When it cannot be read, or is obviously no text.
    pub fn read(file: Option<&Path>) -> Result<Self, Failure> {
        match file.filter(|path| *path != Path::new("-")) {
            Some(path) => Input::read_file(path),
            None => Input::read_stdin(file.is_some()),
        }
    }

    fn read_file(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Failure::io(path, &error))?;
        let found = file.metadata().map_err(|error| Failure::io(path, &error))?;
        if found.is_dir() {
            return Err(Failure::at(&name, "is a folder, expected a file with one conversation"));
        }
        let size = if found.is_file() { found.len() } else { 0 };
        Input::fill(name, file, size)
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

    fn fill(name: String, mut from: impl Read, size: u64) -> Result<Self, Failure> {
        if size > MAX_BYTES {
            return Err(too_large(&name));
        }
        let refused = |error: io::Error| Failure::at(&name, crate::exit::words(&error));
        // One byte more, so that the end is met without another growth.
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
        Ok(Input { name, bytes })
    }

    /// Reads the conversation in it.
    ///
    /// # Errors
    /// When it is none in this form.
    pub fn parse(&self, from: Option<Format>) -> Result<Document, Failure> {
        codelet_transcript::read(&self.bytes, from).map_err(|error| Failure::at(&self.name, self.unread(&error)))
    }

    /// Why no conversation could be read from it: it may hold many.
    pub fn unread(&self, error: &ReadError) -> String {
        match codelet_transcript::conversations(&self.bytes) {
            Some(all) => format!(
                "holds {}, expected one: keep the line of one",
                count(all.len(), "conversation")
            ),
            None => unread(error),
        }
    }

    /// The conversations in it: all of a data set, or the one with this number, counted from 0.
    ///
    /// # Errors
    /// When there is none with this number.
    pub fn conversations(self, index: Option<usize>) -> Result<Conversations, Failure> {
        let all = codelet_transcript::conversations(&self.bytes);
        let (held, one) = match (&all, index) {
            (None, None | Some(0)) => return Ok(Conversations::One(self)),
            (Some(_), None) => return Ok(Conversations::Many(self)),
            (None, Some(_)) => (1, None),
            (Some(all), Some(at)) => (all.len(), all.get(at).map(|one| one.to_vec())),
        };
        let at = index.unwrap_or_default();
        let Some(bytes) = one else {
            let held = count(held, "conversation");
            let problem = format!("contains {held}, numbered from 0; there is no number {at}");
            return Err(Failure::at(&self.name, problem));
        };
        let name = format!("{}#{at}", self.name);
        Ok(Conversations::One(Input { name, bytes }))
    }

    /// Hands over each conversation of a data set, and tells of those with which something is wrong.
    ///
    /// # Errors
    /// When something is wrong with any, behind all others.
    pub fn each(&self, mut take: impl FnMut(usize, Input) -> Result<(), Failure>) -> Result<(), Failure> {
        let all = codelet_transcript::conversations(&self.bytes).unwrap_or_default();
        let mut wrong = 0;
        for (at, one) in all.iter().enumerate() {
            let name = format!("{}#{at}", self.name);
            let bytes = one.to_vec();
            match take(at, Input { name, bytes }) {
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
                let held = count(all.len(), "conversation");
                Err(Failure::at(&self.name, format!("{wrong} of {held} could not be read")))
            }
        }
    }

    /// Reads the conversation in it with what was recorded of its requests.
    ///
    /// # Errors
    /// When it is none in this form, or less than nine tenths of it is understood and that is not enough.
    pub fn record(&self, reading: &Reading) -> Result<Recording, Failure> {
        let from = reading.from.0;
        let read = match reading.force {
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

    /// The name, without the bytes.
    pub fn into_name(self) -> String {
        self.name
    }
}

/// Where a text ends: a crash leaves zeros behind the last line.
fn end(bytes: &[u8]) -> usize {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    match bytes[..end].trim_ascii_end() {
        [.., b'}' | b']'] => end,
        _ => bytes.len(),
    }
}

fn is_regular(found: &Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("expected a file")),
    }
}

/// A regular file, opened to be read and waited for by nobody, with what is known of it. `flags` are further ones.
///
/// # Errors
/// When it cannot be opened, or is anything else.
pub fn opened(path: &Path, flags: OFlags) -> io::Result<(File, Metadata)> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let found = file.metadata()?;
    is_regular(&found)?;
    Ok((file, found))
}

/// The bytes of a regular file, with an error where it is anything else or has more than so many: whoever wrote a repository may
/// have put a pipe in its place, or a link to a device.
///
/// # Errors
/// When it cannot be read.
pub fn regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // A device may do something when it is opened.
    is_regular(&path.metadata()?)?;
    let (file, _) = opened(path, OFlags::empty())?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other("too large")),
        false => Ok(bytes),
    }
}

/// The most of a prompt that is read from standard input, in bytes: no window takes more.
const MAX_PROMPT: u64 = 16 * 1024 * 1024;

/// How long the first byte of a pipe may take where there is a prompt already: what stands before it in a pipeline may have
/// to be built first.
const FIRST_OF_PIPE: Duration = Duration::from_secs(60);
/// The same for what else is inherited: many programs start others with an input that they neither write to nor close.
const FIRST: Duration = Duration::from_secs(3);
/// After so long a silence it is said what is waited for.
const SILENCE: Duration = Duration::from_secs(1);
/// Between two looks at an input that cannot be waited for.
const PAUSE: Duration = Duration::from_millis(20);

/// What comes by standard input.
#[derive(Default)]
pub struct Piped {
    /// As text; empty where nothing came.
    pub text: String,
    /// What the user should know: it was not waited for any longer, or is not as it came.
    pub notice: Option<String>,
}

/// What is piped into standard input. Where there is a prompt already, nothing need come.
///
/// # Errors
/// When it cannot be read, is no text, or is more than any window takes.
pub fn piped(has_prompt: bool) -> Result<Piped, Failure> {
    const NAME: &str = "standard input";
    let mut stdin = io::stdin().lock();
    let first = first(&stdin);
    // More than the lock would keep for itself, where nobody could wait for it.
    let mut piece = vec![0; 64 * 1024];
    let mut bytes = Vec::new();
    let mut is_told = false;
    while bytes.len() as u64 <= MAX_PROMPT {
        let may_miss = has_prompt && bytes.is_empty();
        // Where it is soon given up, nobody need be told before.
        let silence = if may_miss && first <= FIRST { first } else { SILENCE };
        let mut has_come = if is_told {
            false
        } else {
            comes_within(&stdin, Some(silence))
        };
        if !has_come {
            let is_long = !may_miss || first > silence;
            if is_long && !std::mem::replace(&mut is_told, true) {
                let what = if bytes.is_empty() && !may_miss {
                    "a prompt on standard input".to_owned()
                } else if bytes.is_empty() {
                    let seconds = first.as_secs();
                    format!("standard input, at most {seconds} s (add < /dev/null if there is none)")
                } else {
                    "the end of standard input".to_owned()
                };
                crate::tell("waiting", Ink::Yellow, &format!("for {what}"));
            }
            let rest = may_miss.then(|| first.saturating_sub(silence));
            has_come = is_long && comes_within(&stdin, rest);
        }
        if !has_come && may_miss {
            let seconds = first.as_secs();
            let notice = format!("nothing arrived on standard input within {seconds} s; continuing without it");
            return Ok(Piped {
                text: String::new(),
                notice: Some(notice),
            });
        }
        match stdin.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Whoever shares it has said that nobody shall wait for it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            Err(error) => return Err(Failure::at(NAME, crate::exit::words(&error))),
        }
    }
    if bytes.len() as u64 > MAX_PROMPT {
        let limit = paint::bytes(MAX_PROMPT);
        return Err(Failure::at(
            NAME,
            format!("is larger than {limit}, too much for any context window; name the file in the prompt instead"),
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Piped { text, notice: None }),
        Err(error) => mended(NAME, &error),
    }
}

/// Text in which some bytes are no UTF-8, with these replaced: one file in another encoding should not end the review of a
/// whole change. What holds a zero byte too is no text at all.
fn mended(name: &str, error: &FromUtf8Error) -> Result<Piped, Failure> {
    let bytes = error.as_bytes();
    let at = error.utf8_error().valid_up_to();
    if bytes.contains(&0) {
        return Err(Failure::at(
            name,
            format!("is not text (invalid UTF-8 at byte {at}, and a zero byte); name the file in the prompt instead"),
        ));
    }
    let line = 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
    let notice = format!("{name} contains invalid UTF-8 (first in line {line}); the model sees � instead");
    Ok(Piped {
        text: String::from_utf8_lossy(bytes).into_owned(),
        notice: Some(notice),
    })
}

/// How long the first byte of an input is waited for where it may be left out.
fn first(input: impl AsFd) -> Duration {
    let is_pipe = rustix::fs::fstat(input).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_fifo());
    if is_pipe { FIRST_OF_PIPE } else { FIRST }
}

/// Whether there is something to read within this time, or ever, be it the end. Where that cannot be known, reading will tell.
fn comes_within(input: &io::StdinLock<'_>, most: Option<Duration>) -> bool {
    let until = most.map(|most| Instant::now() + most);
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec {
            tv_sec: left.as_secs() as _,
            tv_nsec: left.subsec_nanos() as _,
        });
        match poll(&mut [PollFd::new(input, PollFlags::IN)], left.as_ref()) {
            Ok(ready) => return ready > 0,
            Err(Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}

fn too_large(name: &str) -> Failure {
    let limit = paint::bytes(MAX_BYTES);
    Failure::at(name, format!("is larger than {limit}, expected one conversation"))
}

/// What a text begins with, behind white space and zeros.
fn begins(head: &[u8]) -> Option<u8> {
    head.iter()
        .copied()
        .find(|byte| *byte != 0 && !byte.is_ascii_whitespace())
}

/// What the first bytes say about a file that is no text.
fn foreign(head: &[u8]) -> Option<String> {
    let kind = match head {
        [0x1f, 0x8b, ..] => "is compressed with gzip; unpack it first (gunzip)",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "is compressed with zstd; unpack it first (unzstd)",
        [b'P', b'K', 3, 4, ..] => "is a ZIP archive; unpack it first (unzip)",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "is encoded in UTF-16, expected UTF-8 (iconv -f UTF-16 -t UTF-8)",
        b"SQLite format 3\0" | [b'S', b'Q', b'L', b'i', b't', b'e', b' ', ..] => {
            "is an SQLite database, expected an exported conversation (OpenCode: opencode export ID; Goose: goose session export --session-id ID --format json)"
        }
        // Zeros among entries are what a crash left of some; the reader tells what is lost.
        _ if matches!(begins(head), Some(b'{' | b'[')) => return None,
        _ => {
            let at = head.iter().position(|&byte| byte == 0)?;
            let line = 1 + head[..at].iter().filter(|&&byte| byte == b'\n').count();
            return Some(format!("line {line}: byte {at} is zero, expected JSON text"));
        }
    };
    Some(kind.to_owned())
}

/// Why a conversation could not be read, and what can be done about it here.
fn unread(error: &ReadError) -> String {
    match error {
        ReadError::OtherForm { found, .. } => format!("{error}, expected --from {found}"),
        error if error.is_of_form() => format!("{error} (see `codelet formats`)"),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::os::unix::net::UnixStream;

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

    #[test]
    fn a_pipe_is_waited_for_longer_than_what_is_only_inherited() {
        let (reader, _writer) = io::pipe().unwrap();
        assert_eq!(first(&reader), FIRST_OF_PIPE);
        let (socket, _other) = UnixStream::pair().unwrap();
        assert_eq!(first(&socket), FIRST);
        assert_eq!(first(File::open("/dev/null").unwrap()), FIRST);
    }
}
