//! AWS event stream framing: lengths and checksums around headers and a payload.

use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::BytesMut;
use serde_json::{Value, json};

/// A decoder that assembles events from the chunks of a stream.
pub(crate) struct EventFramer {
    decoder: MessageFrameDecoder,
    pending: BytesMut,
    /// Bytes of the current frame that the decoder has already consumed.
    taken: usize,
}

/// Bytes that the decoder consumes before a frame is complete.
const PRELUDE: usize = 12;

impl EventFramer {
    pub(crate) fn new() -> Self {
        EventFramer {
            decoder: MessageFrameDecoder::new(),
            pending: BytesMut::new(),
            taken: 0,
        }
    }

    /// Returns the data of the frames that a chunk completes, each equivalent to one event of the model's own API. An
    /// exception becomes an error of the same form.
    ///
    /// # Errors
    /// If the stream is damaged: an impossible length, a wrong checksum, or an invalid event.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<Vec<String>, String> {
        self.pending.extend_from_slice(chunk);
        let mut frames = Vec::new();
        loop {
            let before = self.pending.len();
            match self.decoder.decode_frame(&mut self.pending) {
                Ok(DecodedFrame::Incomplete) => {
                    self.taken = if self.taken + (before - self.pending.len()) > 0 {
                        PRELUDE
                    } else {
                        0
                    };
                    return Ok(frames);
                }
                Ok(DecodedFrame::Complete(message)) => {
                    self.taken = 0;
                    let text = |name: &str| {
                        let header = message.headers().iter().find(|header| header.name().as_str() == name);
                        header
                            .and_then(|header| header.value().as_string().ok())
                            .map(|text| text.as_str())
                    };
                    frames.extend(event(&text, message.payload())?);
                }
                Err(error) => return Err(format!("an event of the stream is damaged ({error})")),
            }
        }
    }

    /// Returns the number of bytes in an incomplete frame.
    pub(crate) fn pending(&self) -> usize {
        self.pending.len() + self.taken
    }
}

/// Exceptions within a stream, with their HTTP status outside of one (docs.aws.amazon.com/bedrock/latest/APIReference,
/// `ResponseStream`, November 2026).
const EXCEPTIONS: &[(&str, u16)] = &[
    ("validationException", 400),
    ("modelTimeoutException", 408),
    ("modelStreamErrorException", 424),
    ("throttlingException", 429),
    ("internalServerException", 500),
    ("serviceUnavailableException", 503),
];

/// Returns the data of an event; `None` if it contains nothing of the answer.
fn event<'a>(header: &dyn Fn(&str) -> Option<&'a str>, payload: &[u8]) -> Result<Option<String>, String> {
    let parsed = || serde_json::from_slice::<Value>(payload).unwrap_or_default();
    let error = |kind: &str, said: &str| {
        let status = EXCEPTIONS
            .iter()
            .find(|(name, _)| *name == kind)
            .map(|(_, status)| *status);
        let mut error = json!({"type": kind, "message": said});
        if let Some(status) = status {
            error["code"] = json!(status);
        }
        Some(json!({"type": "error", "error": error}).to_string())
    };
    match header(":message-type").unwrap_or("event") {
        "event" if header(":event-type") == Some("chunk") => {
            let bytes = parsed();
            let bytes = bytes.get("bytes").and_then(Value::as_str);
            let bytes = bytes.ok_or("an event of the stream has no bytes")?;
            let bytes = BASE64
                .decode(bytes)
                .map_err(|_| "an event of the stream is not base64")?;
            let text = String::from_utf8(bytes).map_err(|_| "an event of the stream is not UTF-8")?;
            Ok(Some(text))
        }
        "event" => Ok(None),
        "exception" => {
            let body = parsed();
            let said = body.get("message").or(body.get("Message")).and_then(Value::as_str);
            Ok(error(
                header(":exception-type").unwrap_or("exception"),
                said.unwrap_or("no reason was given"),
            ))
        }
        "error" => Ok(error(
            header(":error-code").unwrap_or("error"),
            header(":error-message").unwrap_or("no reason was given"),
        )),
        other => Err(format!("an event of the stream is of an unknown type, {other:?}")),
    }
}

#[cfg(test)]
mod tests;
