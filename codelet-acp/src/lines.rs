//! The pipes: one JSON-RPC message per line. Overlong lines are not buffered.

use futures_util::{Sink, Stream, sink, stream};
use std::io;
use tokio::io::AsyncRead;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};

/// Maximum bytes of a line: as many images as a prompt may have, and more text than any context window holds.
const LONGEST: u64 = 32 * 1024 * 1024;
/// Replaces a line that is not UTF-8 or too long: it is invalid JSON and is answered as such.
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
            // Some clients end their output with an empty line.
            if !line.trim().is_empty() {
                return Some((Ok(line), input));
            }
        }
    })
}

/// Reads the next line; `None` at the end of the input.
async fn read_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if (&mut *input).take(LONGEST).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    if line.len() as u64 == LONGEST && line.last() != Some(&b'\n') {
        let mut rest = Vec::new();
        // At most one buffer of it at a time.
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

/// The lines of an output, each written as it arrives.
pub(crate) fn outgoing(
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> impl Sink<String, Error = io::Error> + Send + 'static {
    sink::unfold(output, |mut output, mut line: String| async move {
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
        Ok(output)
    })
}
