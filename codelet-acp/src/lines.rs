//! The pipes: one JSON-RPC message a line. A line that is too long is not held, and what waits to be written is counted.

use futures_util::{Sink, Stream, sink, stream};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::AsyncRead;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Notify;

/// The most of a line, in bytes: as many pictures as a prompt may have, and more text than any window takes.
const LONGEST: u64 = 32 * 1024 * 1024;
/// Updates that wait to be written before whoever makes them waits too.
const MOST_WAITING: usize = 2_000;
/// What stands in an update and in nothing else: in a text, its quotes are escaped.
const UPDATE: &str = r#""method":"session/update""#;
/// What stands for a line that cannot be read as text, or is too long: it is no JSON, and is answered as such.
const UNREADABLE: &str = "\u{0}";

/// The lines of an input.
pub(crate) fn incoming(
    input: impl AsyncRead + Send + Unpin + 'static,
) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    stream::unfold(BufReader::new(input), |mut input| async {
        loop {
            let line = match read_line(&mut input).await {
                Ok(None) => return None,
                Ok(Some(line)) => line,
                Err(error) => return Some((Err(error), input)),
            };
            // Some write an empty line at the end.
            if !line.trim().is_empty() {
                return Some((Ok(line), input));
            }
        }
    })
}

/// The next line; none at the end of the input.
async fn read_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if (&mut *input).take(LONGEST).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    if line.len() as u64 == LONGEST && line.last() != Some(&b'\n') {
        let mut rest = Vec::new();
        // No more than a buffer of it at once.
        while rest.last() != Some(&b'\n') {
            rest.clear();
            if (&mut *input).take(64 * 1024).read_until(b'\n', &mut rest).await? == 0 {
                break;
            }
        }
        return Ok(Some(UNREADABLE.to_owned()));
    }
    Ok(Some(String::from_utf8(line).unwrap_or_else(|_| UNREADABLE.to_owned())))
}

/// The lines of an output, each written as it comes. `backlog` learns of it.
pub(crate) fn outgoing(
    output: impl AsyncWrite + Send + Unpin + 'static,
    backlog: Backlog,
) -> impl Sink<String, Error = io::Error> + Send + 'static {
    sink::unfold(output, move |mut output, mut line: String| {
        let backlog = backlog.clone();
        async move {
            line.push('\n');
            output.write_all(line.as_bytes()).await?;
            output.flush().await?;
            if line.contains(UPDATE) {
                backlog.written();
            }
            Ok(output)
        }
    })
}

/// How many updates wait to be written. Clones are of the same.
#[derive(Clone, Default)]
pub(crate) struct Backlog(Arc<Waiting>);

#[derive(Default)]
struct Waiting {
    sent: AtomicUsize,
    written: AtomicUsize,
    bell: Notify,
}

impl Backlog {
    /// One more waits.
    pub fn sent(&self) {
        self.0.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// One was written.
    fn written(&self) {
        self.0.written.fetch_add(1, Ordering::Relaxed);
        self.0.bell.notify_waiters();
    }

    fn is_full(&self) -> bool {
        let (sent, written) = (
            self.0.sent.load(Ordering::Relaxed),
            self.0.written.load(Ordering::Relaxed),
        );
        sent.saturating_sub(written) >= MOST_WAITING
    }

    /// Waits until there is room: a model that writes faster than its reader reads must not fill the memory.
    pub async fn room(&self) {
        while self.is_full() {
            let written = self.0.bell.notified();
            tokio::pin!(written);
            written.as_mut().enable();
            if self.is_full() {
                written.await;
            }
        }
    }
}
