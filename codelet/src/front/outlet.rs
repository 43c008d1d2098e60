//! A writer that an interruption can abandon: a separate thread writes, so a stalled reader blocks nobody after the
//! user interrupts. Until then every write waits for the reader, so nothing accumulates.

use codelet_agent::interrupt::Interrupt;
use std::io::{Error, ErrorKind, Result, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Bytes per write. An empty page of a pipe holds this many, so any reader that reads at all makes progress.
const PIECE: usize = 4_096;
/// The interval between checks for an interruption.
const LOOK: Duration = Duration::from_millis(5);
/// The number of checks without progress after which a reader counts as stalled: counted, since on a machine that is busy
/// with something else a reader may have had no time to read. Together with the rest of an interruption this usually stays
/// below a tenth of a second.
const STILL: u32 = 8;

/// The error for output lost because the user interrupted while the reader was stalled.
#[derive(Debug)]
pub struct StoodStill;

impl std::fmt::Display for StoodStill {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("the reader of the output had stopped when the run was interrupted")
    }
}

impl std::error::Error for StoodStill {}

impl StoodStill {
    /// Returns whether this is the error.
    pub fn is(error: &Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<StoodStill>())
    }
}

/// A writer that passes its data to a thread, which is abandoned if it is blocked.
pub struct Outlet {
    pieces: SyncSender<Vec<u8>>,
    written: Receiver<Result<()>>,
    interrupt: Interrupt,
    /// True if the thread was abandoned to a stalled reader: nothing more can be written.
    is_left: bool,
}

impl Outlet {
    /// Creates a writer to `out`.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(mut out: impl Write + Send + 'static, interrupt: Interrupt) -> Result<Self> {
        let (pieces, next) = sync_channel::<Vec<u8>>(1);
        let (told, written) = sync_channel(1);
        let write = move || {
            for piece in next {
                let done = out.write_all(&piece).and_then(|()| out.flush());
                if told.send(done).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("output".to_owned()).spawn(write)?;
        Ok(Outlet {
            pieces,
            written,
            interrupt,
            is_left: false,
        })
    }

    /// Waits until the piece is written, or until the reader is stalled and the user has interrupted.
    fn wait(&mut self) -> Result<()> {
        let mut checks = 0;
        loop {
            match self.written.recv_timeout(LOOK) {
                Ok(done) => return done,
                Err(RecvTimeoutError::Timeout) => {
                    checks += 1;
                    if self.interrupt.is_thrown() && checks >= STILL {
                        self.is_left = true;
                        return Err(Error::other(StoodStill));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(ErrorKind::BrokenPipe.into()),
            }
        }
    }
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.is_left {
            return Err(Error::other(StoodStill));
        }
        let piece = &bytes[..bytes.len().min(PIECE)];
        self.pieces
            .send(piece.to_vec())
            .map_err(|_| Error::from(ErrorKind::BrokenPipe))?;
        self.wait()?;
        Ok(piece.len())
    }

    /// Does nothing: every accepted write is already written.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::io::{Read, pipe};

    /// More than a pipe holds.
    fn lines() -> Vec<u8> {
        b"a line of an answer\n".repeat(50_000)
    }

    #[test]
    fn who_reads_gets_every_byte() {
        let (mut reader, writer) = pipe().unwrap();
        let write = std::thread::spawn(move || {
            let mut outlet = Outlet::new(writer, Interrupt::new()).unwrap();
            outlet.write_all(&lines()).unwrap();
        });
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        write.join().unwrap();
        assert!(read == lines());
    }

    #[test]
    fn who_stands_still_is_waited_for_until_the_user_interrupts() {
        let (mut reader, writer) = pipe().unwrap();
        let interrupt = Interrupt::new();
        let mut outlet = Outlet::new(writer, interrupt.clone()).unwrap();
        let (told, written) = sync_channel(1);
        std::thread::spawn(move || {
            let first = outlet.write_all(&lines());
            told.send((first, outlet.write_all(b"more"))).unwrap();
        });
        assert!(written.recv_timeout(2 * STILL * LOOK).is_err());
        interrupt.throw();
        let (first, second) = written.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(StoodStill::is(&first.unwrap_err()) && StoodStill::is(&second.unwrap_err()));
        let mut read = vec![0; 1_000];
        reader.read_exact(&mut read).unwrap();
        assert!(lines().starts_with(&read));
    }

    #[test]
    fn an_end_that_nobody_holds_is_told_as_such() {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let mut outlet = Outlet::new(writer, Interrupt::new()).unwrap();
        let error = outlet.write_all(b"a line\n").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
}
