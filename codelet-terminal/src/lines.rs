//! The lines of standard input, read by a thread, so that nothing else waits for them.

use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The longest line that is read, in bytes: no window takes more.
const LONGEST: usize = 16 * 1024 * 1024;
/// Bytes read at once.
const PIECE: usize = 64 * 1024;
/// An input that never pauses is not waited for longer than this.
const ENDLESS: Duration = Duration::from_secs(1);

/// Lines as they come.
pub(crate) struct Lines {
    lines: UnboundedReceiver<String>,
    ask: PipeWriter,
    had: Receiver<()>,
}

impl Lines {
    /// Reads standard input from now on.
    pub(crate) fn read() -> io::Result<Self> {
        let (send, lines) = unbounded_channel();
        let (asked, ask) = io::pipe()?;
        let (tell, had) = channel();
        let read = move || read(&send, asked, &tell);
        std::thread::Builder::new().name("lines".to_owned()).spawn(read)?;
        Ok(Lines { lines, ask, had })
    }

    /// The next line; none once the input is at its end.
    pub(crate) async fn next(&mut self) -> Option<String> {
        self.lines.recv().await
    }

    /// Every line that has been written until now and was not taken yet, so that it can be told from what is written in
    /// the knowledge of what is said next.
    pub(crate) fn written(&mut self) -> Vec<String> {
        // At the end of the input nobody answers, and all of it is here.
        if self.ask.write_all(b".").is_ok() {
            let _ = self.had.recv_timeout(ENDLESS);
        }
        std::iter::from_fn(|| self.lines.try_recv().ok()).collect()
    }
}

/// Reads until the input ends, or nobody takes its lines any more.
fn read(to: &UnboundedSender<String>, mut asked: PipeReader, tell: &Sender<()>) {
    let stdin = io::stdin();
    let mut piece = vec![0; PIECE];
    let mut begun: Vec<u8> = Vec::new();
    loop {
        let mut watched = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&asked, PollFlags::IN)];
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => break,
            Ok(_) => {}
        }
        // Whoever asks what was written is told once nothing more of it is there.
        if watched[0].revents().is_empty() {
            match asked.read(&mut [0]) {
                Ok(1..) if tell.send(()).is_ok() => continue,
                _ => return,
            }
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
            if is_whole && to.send(line(&std::mem::take(&mut begun))).is_err() {
                return;
            }
        }
    }
    if !begun.is_empty() {
        // The last line may have no end.
        let _ = to.send(line(&begun));
    }
}

fn line(bytes: &[u8]) -> String {
    let line = String::from_utf8_lossy(bytes);
    let line = line.strip_suffix('\n').unwrap_or(&line);
    line.strip_suffix('\r').unwrap_or(line).to_owned()
}
