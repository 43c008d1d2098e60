//! Messages over a program's pipes: one JSON object per line, bounded, whatever else is printed in between.

use crate::changes::Changes;
use crate::program::Ends;
use crate::text::Tail;
use codelet_text::json::has_more_values;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcError, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::HashSet;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Mutex;

/// The longest message that is accepted, in bytes; also the limit over HTTP.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;
/// Values in one message at most: each takes about a hundred bytes of memory, however short its JSON.
const MOST_VALUES: usize = 500_000;
/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;
/// Unanswered requests of the server; more are ignored.
const QUESTIONS: usize = 32;
/// Requests of the server that are handled in all: one every ten seconds, for a day.
const MOST_QUESTIONS: usize = 10_000;

/// The pipes of a program. Output on stdout that is not a message goes where stderr goes.
pub(crate) struct Pipe {
    input: Arc<Mutex<Option<Sender>>>,
    output: Receiver,
    /// Bytes that were read; those before `done` have been consumed.
    read: Vec<u8>,
    done: usize,
    /// There is no line end before this offset.
    searched: usize,
    questions: Arc<AtomicUsize>,
    /// The number of requests that were handled.
    heard: usize,
    /// Client requests without a response so far.
    asked: HashSet<RequestId>,
    changes: Arc<Changes>,
    told: Tail,
}

impl Pipe {
    pub(crate) fn new(ends: Ends, changes: Arc<Changes>, told: Tail) -> Self {
        Pipe {
            input: Arc::new(Mutex::new(Some(ends.input))),
            output: ends.output,
            read: Vec::new(),
            done: 0,
            searched: 0,
            questions: Arc::default(),
            heard: 0,
            asked: HashSet::new(),
            changes,
            told,
        }
    }

    /// The next message in the bytes read. Skips notifications: changes of a list are recorded, and no other ones are
    /// needed.
    fn next(&mut self) -> Option<ServerJsonRpcMessage> {
        while let Some(at) = self.read[self.searched..].iter().position(|&byte| byte == b'\n') {
            let end = self.searched + at;
            let line = &self.read[self.done..end];
            let message = message(line, &self.changes);
            if message.is_none() && !is_notice(line) {
                self.told.push(line);
                self.told.push(b"\n");
            }
            self.done = end + 1;
            self.searched = self.done;
            if let Some(message) = message.filter(|message| self.is_waited_for(message)) {
                return Some(message);
            }
        }
        self.searched = self.read.len();
        None
    }

    /// Returns whether a message is the response to a request, or a request while there are not too many.
    fn is_waited_for(&mut self, message: &ServerJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Request(_) => {
                let is_heard = self.heard < MOST_QUESTIONS && self.questions.load(Ordering::Relaxed) < QUESTIONS;
                self.heard += usize::from(is_heard);
                self.questions.fetch_add(usize::from(is_heard), Ordering::Relaxed);
                is_heard
            }
            JsonRpcMessage::Response(response) => self.was_asked(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref().is_some_and(|id| self.was_asked(id)),
            JsonRpcMessage::Notification(_) => false,
        }
    }

    /// Returns whether this request was sent; some servers answer the ID 1 as "1".
    fn was_asked(&mut self, id: &RequestId) -> bool {
        let number = match id {
            RequestId::String(text) => text.parse().ok().map(RequestId::Number),
            RequestId::Number(_) => None,
        };
        self.asked.remove(id) || number.is_some_and(|number| self.asked.remove(&number))
    }

    /// Makes room for more bytes.
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

/// Parses a line as a message, if it is one that is expected. A notification that a list has changed is recorded.
fn message(line: &[u8], changes: &Changes) -> Option<ServerJsonRpcMessage> {
    let value = (!is_too_much(line)).then(|| serde_json::from_slice::<Value>(line).ok());
    let Some(value) = value.flatten() else {
        return unanswered(line, UNREADABLE).map(JsonRpcMessage::Error);
    };
    if let (Some(method), None) = (value.get("method"), value.get("id")) {
        changes.note(method.as_str().unwrap_or_default());
        return None;
    }
    let parsed = serde_json::from_value(value).ok();
    parsed.or_else(|| unanswered(line, MALFORMED).map(JsonRpcMessage::Error))
}

/// Returns whether a message has more values than are read.
pub(crate) fn is_too_much(message: &[u8]) -> bool {
    has_more_values(message, MOST_VALUES)
}

/// Why a response cannot be used. What a call did is not known then.
pub(crate) const UNREADABLE: &str = "its answer cannot be read: it is nested too deeply, has too many values, or is no text throughout. What the call did is not known";
const MALFORMED: &str =
    "its answer is not valid: neither a result nor an error as the protocol wants it. What the call did is not known";

/// Returns an error in place of a response that cannot be used, so that its request does not wait until the timeout.
pub(crate) fn unanswered(line: &[u8], why: &'static str) -> Option<JsonRpcError> {
    /// The part of a response that can be parsed without the rest, however deep it is.
    #[derive(Deserialize)]
    struct Head {
        id: RequestId,
        method: Option<IgnoredAny>,
    }
    let head = serde_json::from_slice::<Head>(line)
        .ok()
        .filter(|head| head.method.is_none())?;
    let error = ErrorData::new(ErrorCode::PARSE_ERROR, why, None);
    Some(JsonRpcError::new(Some(head.id), error))
}

/// Returns whether a line that is no message is a notification, which can be ignored.
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
        if let JsonRpcMessage::Request(request) = &item {
            self.asked.insert(request.id.clone());
        }
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

    /// Cancel-safe: bytes that were read stay in the buffer.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_answer_that_is_neither_a_result_nor_an_error_ends_its_request() {
        let changes = Changes::default();
        for line in [
            r#"{"jsonrpc": "2.0", "id": 7, "error": {"code": -32000}}"#,
            r#"{"jsonrpc": "2.0", "id": 7, "error": "no such thing"}"#,
            r#"{"jsonrpc": "2.0", "id": 7}"#,
        ] {
            let Some(JsonRpcMessage::Error(error)) = message(line.as_bytes(), &changes) else {
                panic!("{line}")
            };
            assert_eq!(error.id, Some(RequestId::Number(7)), "{line}");
        }
        for line in [
            r#"{"id": 7, "method": "no/such"}"#,
            r#"{"jsonrpc": "2.0"}"#,
            "listening",
        ] {
            let message = message(line.as_bytes(), &changes);
            assert!(!matches!(message, Some(JsonRpcMessage::Error(_))), "{line}");
        }
    }
}
