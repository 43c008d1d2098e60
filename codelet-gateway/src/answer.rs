//! An answer on its way back: what it costs is read from what passes by, and nothing waits for it.

use crate::Api;
use bytes::Bytes;
use codelet_providers::Wire;
use codelet_providers::overheard::{Billed, Meter};
use hyper::body::{Body, Frame, SizeHint};
use serde_json::Value;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A line of a stream, or a whole answer, is looked at up to so many bytes.
const LONGEST: usize = 8 << 20;

/// Reads what passes by.
pub(crate) struct Listener {
    meter: Meter,
    is_stream: bool,
    /// The bytes of an incomplete line.
    open: Vec<u8>,
    is_too_long: bool,
}

impl Listener {
    /// Of an answer of this interface, a stream of events or one object.
    pub fn new(api: Api, is_stream: bool) -> Self {
        let wire = match api {
            Api::Anthropic => Wire::Anthropic,
            Api::Openai => Wire::Chat,
            Api::Responses => Wire::Responses,
            Api::Gemini => Wire::Gemini,
        };
        Listener {
            meter: Meter::new(wire),
            is_stream,
            open: Vec::new(),
            is_too_long: false,
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while self.is_stream
            && let Some(end) = memchr::memchr(b'\n', rest)
        {
            self.keep(&rest[..end]);
            self.read();
            rest = &rest[end + 1..];
        }
        self.keep(rest);
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.is_too_long |= self.open.len() + bytes.len() > LONGEST;
        if !self.is_too_long {
            self.open.extend_from_slice(bytes);
        }
    }

    /// Reads the line, or the answer, that has come to its end.
    fn read(&mut self) {
        let line = self.open.strip_prefix(b"data:").unwrap_or(&self.open);
        // Most events are words, and tell nothing of their price.
        if !self.is_too_long
            && memchr::memmem::find(line, b"sage").is_some()
            && let Ok(value) = serde_json::from_slice::<Value>(line)
        {
            match value {
                // Gemini's stream is a list where nobody asks for events.
                Value::Array(events) => events.iter().for_each(|event| self.meter.read(event)),
                event => self.meter.read(&event),
            }
        }
        self.open.clear();
        self.is_too_long = false;
    }

    /// The billed usage, if the answer reports it.
    fn end(mut self) -> Option<Billed> {
        self.read();
        self.meter.billed()
    }
}

/// A body that is listened to. When it has ended, or nobody wants the rest, `tell` is told what it has cost.
pub(crate) struct Heard<B> {
    body: B,
    listener: Option<Listener>,
    tell: Option<Box<dyn FnOnce(Option<Billed>) + Send>>,
}

impl<B> Heard<B> {
    /// The body, as it comes.
    pub fn new(body: B, listener: Option<Listener>, tell: impl FnOnce(Option<Billed>) + Send + 'static) -> Self {
        Heard {
            body,
            listener,
            tell: Some(Box::new(tell)),
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Heard<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let (Some(data), Some(listener)) = (frame.data_ref(), &mut self.listener)
        {
            listener.hear(data);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for Heard<B> {
    fn drop(&mut self) {
        let billed = self.listener.take().and_then(Listener::end);
        if let Some(tell) = self.tell.take() {
            tell(billed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_context::usage::Usage;

    fn hear(api: Api, is_stream: bool, answer: &str, piece: usize) -> Option<Usage> {
        let mut listener = Listener::new(api, is_stream);
        answer.as_bytes().chunks(piece).for_each(|bytes| listener.hear(bytes));
        listener.end().map(|billed| billed.usage)
    }

    #[test]
    fn what_an_answer_costs_is_read_however_it_is_cut() {
        let anthropic = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\
            \"cache_read_input_tokens\":900,\"cache_creation_input_tokens\":90,\"output_tokens\":1}}}\n\n\
            data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"usage\"}}\n\n\
            event: message_delta\r\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":55}}\r\n\r\n";
        let chat = "data: {\"choices\":[]}\n\ndata: {\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\
            \"prompt_tokens_details\":{\"cached_tokens\":60}}}\n\ndata: [DONE]\n\n";
        let responses = "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":100,\
            \"input_tokens_details\":{\"cached_tokens\":60},\"output_tokens\":7}}}";
        let gemini = "[{\"candidates\":[]},\n{\"usageMetadata\":{\"promptTokenCount\":100,\"cachedContentTokenCount\":60,\
            \"candidatesTokenCount\":7}}]";
        let inclusive = Some(Usage::from_inclusive(100, 60, 7));
        for piece in [1, 7, 64, 10_000] {
            let heard = hear(Api::Anthropic, true, anthropic, piece);
            assert_eq!(heard, Some(Usage::from_exclusive(10, 90, 900, 55)), "{piece}");
            assert_eq!(hear(Api::Openai, true, chat, piece), inclusive, "{piece}");
            assert_eq!(hear(Api::Responses, true, responses, piece), inclusive, "{piece}");
            assert_eq!(hear(Api::Gemini, false, gemini, piece), inclusive, "{piece}");
        }
        assert_eq!(hear(Api::Openai, true, "data: {\"usage\":null}\n", 5), None);
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut listener = Listener::new(Api::Openai, true);
        for _ in 0..64 {
            listener.hear(&[b'x'; 1 << 20]);
        }
        assert!(listener.open.len() <= LONGEST);
        listener.hear(b"\ndata: {\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n");
        assert_eq!(listener.end().map(|billed| billed.usage.prompt()), Some(5));
    }
}
