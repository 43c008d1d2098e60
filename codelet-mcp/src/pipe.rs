//! Messages over the pipes of a program: one JSON object a line, bounded, whatever else comes in between.

use crate::program::Ends;
use crate::text::Tail;
use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Mutex;

/// The longest message that is taken, in bytes; that over HTTP may be as long.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;
/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;
/// Questions of the server that wait for their answers; more are not heard.
const QUESTIONS: usize = 32;

/// The pipes of a program. What is on its standard output and no message goes where its errors go.
pub(crate) struct Pipe {
    input: Arc<Mutex<Option<Sender>>>,
    output: Receiver,
    /// What was read; before `done` stands what was taken.
    read: Vec<u8>,
    done: usize,
    /// Up to here there is no line end.
    searched: usize,
    questions: Arc<AtomicUsize>,
    told: Tail,
}

impl Pipe {
    pub(crate) fn new(ends: Ends, told: Tail) -> Self {
        Pipe {
            input: Arc::new(Mutex::new(Some(ends.input))),
            output: ends.output,
            read: Vec::new(),
            done: 0,
            searched: 0,
            questions: Arc::default(),
            told,
        }
    }

    /// The next message among what was read. Notices are none: nothing here waits for one.
    fn next(&mut self) -> Option<ServerJsonRpcMessage> {
        while let Some(at) = self.read[self.searched..].iter().position(|&byte| byte == b'\n') {
            let end = self.searched + at;
            let line = &self.read[self.done..end];
            let message = message(line);
            if message.is_none() && !is_notice(line) {
                self.told.push(line);
                self.told.push(b"\n");
            }
            self.done = end + 1;
            self.searched = self.done;
            match message {
                Some(JsonRpcMessage::Request(_)) if self.questions.load(Ordering::Relaxed) >= QUESTIONS => {}
                Some(message) => {
                    if let JsonRpcMessage::Request(_) = message {
                        self.questions.fetch_add(1, Ordering::Relaxed);
                    }
                    return Some(message);
                }
                None => {}
            }
        }
        self.searched = self.read.len();
        None
    }

    /// Makes room for more.
    fn make_room(&mut self) {
        self.read.drain(..self.done);
        self.searched -= self.done;
        self.done = 0;
        if self.read.is_empty() && self.read.capacity() > 2 * PIECE {
            self.read = Vec::new();
        }
        self.read.reserve(PIECE);
    }
}

/// A line as a message, if it is one that is waited for.
fn message(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    let value: Value = serde_json::from_slice(line).ok()?;
    if value.get("method").is_some() && value.get("id").is_none() {
        return None;
    }
    serde_json::from_value(value).ok()
}

/// Whether a line that is no message is a notice, of which nobody needs to know.
fn is_notice(line: &[u8]) -> bool {
    let head = &line[..line.len().min(512)];
    line.is_empty() || (head.starts_with(b"{") && head.windows(9).any(|window| window == b"\"jsonrpc\""))
}

impl Transport<RoleClient> for Pipe {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let input = self.input.clone();
        let questions = self.questions.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let sent = match &mut *input.lock().await {
                Some(input) => input.write_all(&line).await,
                None => Err(io::ErrorKind::BrokenPipe.into()),
            };
            if matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
                let _ = questions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| open.checked_sub(1));
            }
            sent
        }
    }

    /// Loses nothing when it is dropped while it waits: what was read stays.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(message) = self.next() {
                return Some(message);
            }
            if self.read.len() - self.done > LONGEST {
                self.told.push(b"\nit sent a message that is too long\n");
                return None;
            }
            self.make_room();
            match self.output.read_buf(&mut self.read).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.input.lock().await.take();
        Ok(())
    }
}
