//! Text piped in as a prompt, or as a part of one.

use crate::exit::Failure;
use crate::paint::{self, Ink};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::io::{self, Read as _};
use std::os::fd::AsFd;
use std::string::FromUtf8Error;
use std::time::{Duration, Instant};

/// The size limit of a prompt on standard input, in bytes: no context window holds more.
const MAX_PROMPT: u64 = 16 * 1024 * 1024;

/// The timeout for the first byte from a pipe if there is already a prompt: an earlier command of the pipeline may have
/// to be built first.
const FIRST_OF_PIPE: Duration = Duration::from_secs(60);
/// The same for other inherited input: many programs start others with an input that they neither write nor close.
const FIRST: Duration = Duration::from_secs(3);
/// The silence after which the user is told that input is awaited.
const SILENCE: Duration = Duration::from_secs(1);
/// The polling interval for non-blocking input.
const PAUSE: Duration = Duration::from_millis(20);

/// Text from standard input.
#[derive(Default)]
pub struct Piped {
    /// The text; empty if there was none.
    pub text: String,
    /// A notice for the user: reading timed out, or bytes were replaced.
    pub notice: Option<String>,
}

/// Reads piped standard input. If there is already a prompt, input is optional.
///
/// # Errors
/// If it cannot be read, is not text, or is larger than any context window.
pub fn read(has_prompt: bool) -> Result<Piped, Failure> {
    const NAME: &str = "standard input";
    let mut stdin = io::stdin().lock();
    let first = first(&stdin);
    // Larger than the lock's buffer, so nothing is buffered where polling cannot see it.
    let mut piece = vec![0; 64 * 1024];
    let mut bytes = Vec::new();
    let mut is_told = false;
    while bytes.len() as u64 <= MAX_PROMPT {
        let may_miss = has_prompt && bytes.is_empty();
        // If the wait is short, no message is needed.
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
            // Another process that shares the input has made it non-blocking.
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

/// Replaces invalid UTF-8: one file in another encoding should not prevent the review of a whole change. Input that
/// also contains a zero byte is rejected as binary.
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

/// Returns the timeout for the first byte of optional input.
fn first(input: impl AsFd) -> Duration {
    let is_pipe = rustix::fs::fstat(input).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_fifo());
    if is_pipe { FIRST_OF_PIPE } else { FIRST }
}

/// Returns whether there is something to read, including the end of input, within this time or ever. If polling fails,
/// returns true and leaves it to the read.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::fs::File;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_pipe_is_waited_for_longer_than_what_is_only_inherited() {
        let (reader, _writer) = io::pipe().unwrap();
        assert_eq!(first(&reader), FIRST_OF_PIPE);
        let (socket, _other) = UnixStream::pair().unwrap();
        assert_eq!(first(&socket), FIRST);
        assert_eq!(first(File::open("/dev/null").unwrap()), FIRST);
    }
}
