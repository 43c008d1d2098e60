//! Reads the lines of standard input on a thread of its own, so that nothing else waits for them. Reads ahead only as
//! far as there is room, so that a fast writer is slowed down.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Maximum length of a line, in bytes: no context window holds more.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;
/// Maximum weight of the queued lines together; the last chunk may exceed it.
pub(crate) const ROOM: usize = 1024 * 1024;
/// Weight of a line beside its bytes.
const LINE: usize = 64;
/// Bytes read at once.
const PIECE: usize = 16 * 1024;
/// Polling interval for an input that exceeds the room.
const LOOK: Duration = Duration::from_millis(2);
/// Messages to the reader: there is room again, and report when everything is read.
const HAS_ROOM: u8 = b'r';
const TELL: u8 = b'.';

/// A line of the input.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) text: String,
    /// The line's number, counted from 1, if it contains invalid UTF-8; each invalid sequence was replaced with `�`.
    pub(crate) mended: Option<usize>,
}

/// The lines of standard input.
pub(crate) struct Lines {
    lines: UnboundedReceiver<Read>,
    room: Arc<QueueRoom>,
    ask: PipeWriter,
    had: Receiver<()>,
}

/// The input written until now.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The lines, as many as there is room for.
    pub(crate) lines: Vec<Read>,
    /// The number of further lines, which were dropped.
    pub(crate) more: usize,
    /// Everything was read; if false, input arrives faster than it can be taken.
    pub(crate) is_all: bool,
}

impl Lines {
    /// Starts to read standard input.
    pub(crate) fn read() -> io::Result<Self> {
        let (send, lines) = unbounded_channel();
        let (asked, ask) = io::pipe()?;
        let (tell, had) = channel();
        let room = Arc::new(QueueRoom::default());
        let of_reader = Arc::clone(&room);
        let read = move || read(&send, &of_reader, asked, &tell);
        std::thread::Builder::new().name("lines".to_owned()).spawn(read)?;
        Ok(Lines { lines, room, ask, had })
    }

    /// Returns the next line; `None` at the end of the input.
    pub(crate) async fn next(&mut self) -> Option<Read> {
        let line = self.lines.recv().await?;
        self.taken(&line.text);
        Some(line)
    }

    /// Returns the lines that were written until now and not taken yet, to separate them from those written in response
    /// to later output. Waits at most `patience` for an input that never pauses.
    pub(crate) fn written(&mut self, patience: Duration) -> Written {
        let mut written = Written::default();
        let mut kept = 0;
        let end = Instant::now() + patience;
        // An earlier request that timed out may have been answered since.
        while self.had.try_recv().is_ok() {}
        // At the end of the input the reader is gone, and all lines are here.
        let mut is_told = self.ask.write_all(&[TELL]).is_err();
        loop {
            while let Ok(line) = self.lines.try_recv() {
                self.taken(&line.text);
                if kept < ROOM {
                    kept += weight(&line.text);
                    written.lines.push(line);
                } else {
                    written.more += 1;
                }
            }
            if is_told || Instant::now() >= end {
                written.is_all = is_told;
                return written;
            }
            is_told = self.had.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout);
        }
    }

    fn taken(&mut self, line: &str) {
        if self.room.leave(weight(line)) {
            // Fails only if the reader is gone.
            let _ = self.ask.write_all(&[HAS_ROOM]);
        }
    }
}

/// The weight of a line.
pub(crate) fn weight(line: &str) -> usize {
    line.len() + LINE
}

/// The weight of the queued lines.
#[derive(Debug, Default)]
struct QueueRoom(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    weight: usize,
    /// The reader waits for room.
    is_awaited: bool,
}

impl QueueRoom {
    fn enter(&self, weight: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).weight += weight;
    }

    /// Removes this weight; returns whether the reader waits for the room that there is now.
    fn leave(&self, weight: usize) -> bool {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.weight = taken.weight.saturating_sub(weight);
        taken.weight <= ROOM / 2 && std::mem::take(&mut taken.is_awaited)
    }

    /// Returns whether there is room. If not, the reader will be notified.
    fn is_there(&self) -> bool {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.is_awaited = taken.weight >= ROOM;
        !taken.is_awaited
    }
}

/// Reads until the input ends or the receiver is gone.
fn read(to: &UnboundedSender<Read>, room: &QueueRoom, mut asked: PipeReader, tell: &Sender<()>) {
    let stdin = io::stdin();
    let mut piece = vec![0; PIECE];
    let mut begun: Vec<u8> = Vec::new();
    let mut wants_to_know = false;
    let mut number = 1;
    loop {
        let has_room = room.is_there();
        let mut watched = vec![PollFd::new(&asked, PollFlags::IN)];
        if has_room {
            watched.push(PollFd::new(&stdin, PollFlags::IN));
        }
        // A request for everything written so far is answered as soon as nothing more is readable.
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut watched, (wants_to_know && has_room).then_some(&at_once)) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => break,
            Ok(_) => {}
        }
        let is_asked = !watched[0].revents().is_empty();
        let has_come = watched.get(1).is_some_and(|stdin| !stdin.revents().is_empty());
        if is_asked {
            let mut words = [0; 16];
            match asked.read(&mut words) {
                Ok(count @ 1..) => wants_to_know |= words[..count].contains(&TELL),
                _ => return,
            }
            continue;
        }
        if !has_come {
            if std::mem::take(&mut wants_to_know) && tell.send(()).is_err() {
                return;
            }
            continue;
        }
        let count = match rustix::io::read(&stdin, &mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
            Err(_) => break,
        };
        for part in piece[..count].split_inclusive(|byte| *byte == b'\n') {
            begun.extend_from_slice(part);
            let is_whole = part.ends_with(b"\n") || begun.len() >= LONGEST;
            if is_whole && !send(to, room, &std::mem::take(&mut begun), number) {
                return;
            }
            number += usize::from(part.ends_with(b"\n"));
        }
    }
    if !begun.is_empty() {
        // The last line may lack a line end.
        send(to, room, &begun, number);
    }
}

/// Sends a line; returns whether the receiver still exists.
fn send(to: &UnboundedSender<Read>, room: &QueueRoom, bytes: &[u8], number: usize) -> bool {
    let text = line(bytes);
    let mended = std::str::from_utf8(bytes).is_err().then_some(number);
    room.enter(weight(&text));
    to.send(Read { text, mended }).is_ok()
}

fn line(bytes: &[u8]) -> String {
    let line = String::from_utf8_lossy(bytes);
    let line = line.strip_suffix('\n').unwrap_or(&line);
    line.strip_suffix('\r').unwrap_or(line).to_owned()
}
