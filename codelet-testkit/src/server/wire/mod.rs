//! The four wire protocols: requests, responses, usage and refusals.

mod anthropic;
mod chat;
mod gemini;
mod responses;

pub(super) use anthropic::block as anthropic_block;
pub(super) use gemini::{either, seal as gemini_seal};
pub(super) use responses::item as responses_item;

use super::fault::{Refusal, Trouble};
use super::script::{Billed, Reply, Said};
use super::view::View;
use serde_json::Value;

/// A vendor's protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Wire {
    /// Anthropic Messages: `POST /v1/messages`.
    Anthropic,
    /// OpenAI Chat Completions: `POST /v1/chat/completions`.
    Chat,
    /// OpenAI Responses: `POST /v1/responses`.
    Responses,
    /// Gemini: `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`.
    Gemini,
}

/// A variation of a wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    /// The vendor's own.
    #[default]
    Vendor,
    /// A gateway on Anthropic's wire: `message_start` reports the whole prompt as `input_tokens`, and only
    /// `message_delta` says how much of it was cached. Same as the vendor's on the other wires.
    Gateway,
    /// llama.cpp's server: other ids, omitted fields, its own errors.
    LlamaServer,
}

/// An event of a stream, before serialization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The event's name on wires that name events.
    pub event: Option<&'static str>,
    /// Its data: JSON, except for the final one of Chat.
    pub data: String,
    /// The kind of event, for tests that try each kind: `content_block_delta thinking_delta`, `tool_calls`.
    pub kind: String,
}

/// The context of a reply: ids, model, usage.
#[derive(Clone, Debug)]
pub(super) struct Envelope<'a> {
    pub dialect: Dialect,
    /// The request's number, from which ids are derived.
    pub number: usize,
    pub model: &'a str,
    pub usage: Billed,
    /// True if the request asks for usage, on the wire where it must.
    pub wants_usage: bool,
    /// True if the request asks for encrypted thinking, on the wire where it must.
    pub wants_sealed: bool,
}

impl Wire {
    /// All wires.
    pub const ALL: [Wire; 4] = [Wire::Anthropic, Wire::Chat, Wire::Responses, Wire::Gemini];

    /// Returns whether this path is the wire's endpoint.
    pub(super) fn takes(self, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or_default();
        match self {
            Wire::Anthropic => path == "/v1/messages",
            Wire::Chat => path == "/v1/chat/completions",
            Wire::Responses => path == "/v1/responses",
            Wire::Gemini => gemini::model(path).is_some(),
        }
    }

    /// Parses a body into the common view.
    pub(super) fn view(self, path: &str, body: &Value) -> View {
        match self {
            Wire::Anthropic => anthropic::view(body),
            Wire::Chat => chat::view(body),
            Wire::Responses => responses::view(body),
            Wire::Gemini => gemini::view(path, body),
        }
    }

    /// The frames of a reply without its faults, so that a test can iterate over them. The request is assumed to ask
    /// for everything optional.
    pub fn frames(self, reply: &Reply) -> Vec<Frame> {
        let envelope = Envelope {
            dialect: Dialect::Vendor,
            number: 0,
            model: "model",
            usage: reply.usage.unwrap_or_default(),
            wants_usage: true,
            wants_sealed: true,
        };
        self.render(reply, &envelope)
    }

    pub(super) fn render(self, reply: &Reply, envelope: &Envelope) -> Vec<Frame> {
        match self {
            Wire::Anthropic => anthropic::frames(reply, envelope),
            Wire::Chat => chat::frames(reply, envelope),
            Wire::Responses => responses::frames(reply, envelope),
            Wire::Gemini => gemini::frames(reply, envelope),
        }
    }

    /// The same reply without a stream.
    pub(super) fn whole(self, reply: &Reply, envelope: &Envelope) -> Value {
        match self {
            Wire::Anthropic => anthropic::whole(reply, envelope),
            Wire::Chat => chat::whole(reply, envelope),
            Wire::Responses => responses::whole(reply, envelope),
            Wire::Gemini => gemini::whole(reply, envelope),
        }
    }

    /// The error event inside a stream.
    pub(super) fn trouble(self, trouble: Trouble, bare: bool, envelope: &Envelope, before: usize) -> Frame {
        match self {
            Wire::Anthropic => anthropic::trouble(trouble, envelope),
            Wire::Chat => chat::trouble(trouble),
            Wire::Responses => responses::trouble(trouble, bare, envelope, before),
            Wire::Gemini => gemini::trouble(trouble),
        }
    }

    /// The body of a refusal in the vendor's form. `says` is a custom message.
    pub(super) fn refusal(self, dialect: Dialect, refusal: &Refusal, model: &str, says: Option<&str>) -> String {
        if let Some(body) = &refusal.body {
            return body.clone();
        }
        if dialect == Dialect::LlamaServer {
            return llama_refusal(refusal.status, says).to_string();
        }
        let body = match self {
            Wire::Anthropic => anthropic::refusal(refusal.status, model, says),
            Wire::Chat | Wire::Responses => chat::refusal(refusal.status, model, says),
            Wire::Gemini => gemini::refusal(refusal, model, says),
        };
        body.to_string()
    }
}

impl Frame {
    pub(super) fn named(event: &'static str, data: &Value) -> Self {
        Frame {
            event: Some(event),
            data: data.to_string(),
            kind: event.to_owned(),
        }
    }

    pub(super) fn plain(kind: &str, data: impl ToString) -> Self {
        Frame {
            event: None,
            data: data.to_string(),
            kind: kind.to_owned(),
        }
    }

    /// The bytes of the frame on this wire.
    pub fn bytes(&self, wire: Wire) -> Vec<u8> {
        let end = match wire {
            Wire::Gemini => "\r\n\r\n",
            _ => "\n\n",
        };
        let text = match self.event {
            Some(event) => format!("event: {event}\ndata: {}{end}", self.data),
            None => format!("data: {}{end}", self.data),
        };
        text.into_bytes()
    }

    /// The frame with its data truncated in the middle.
    pub(super) fn malformed(&self) -> Frame {
        let mut half = self.data.len() / 2;
        while !self.data.is_char_boundary(half) {
            half -= 1;
        }
        Frame {
            data: self.data[..half].to_owned(),
            ..self.clone()
        }
    }
}

impl Envelope<'_> {
    /// The id of the call that is the reply's part with this index.
    pub fn call_id(&self, wire: Wire, index: usize, said: &Said) -> String {
        if let Said::Call { id: Some(id), .. } = said {
            return id.clone();
        }
        let prefix = match (wire, self.dialect) {
            (_, Dialect::LlamaServer) => "",
            (Wire::Anthropic, _) => "toolu_01",
            (Wire::Chat | Wire::Responses, _) => "call_",
            (Wire::Gemini, _) => "",
        };
        self.id(prefix, index)
    }

    /// An id in the vendors' form: a prefix and 24 letters and digits, distinct within one server.
    pub fn id(&self, prefix: &str, index: usize) -> String {
        let letters = hash(&(self.number, index));
        format!("{prefix}{letters:013x}{:06}{index:05}", self.number)
    }

    /// A signature over thinking, which only this server produces.
    pub fn sign(&self, index: usize, text: &str) -> String {
        let salt = (self.number as u64) << 20 | index as u64;
        seal(salt, text)
    }
}

/// A signature over a text. It is as long as short real ones and verified by recomputing it.
fn seal(salt: u64, text: &str) -> String {
    let mut seal = format!("EqQB{salt:010x}");
    for part in 0..3_u8 {
        seal.push_str(&format!("{:016x}", hash(&(salt, part, text))));
    }
    seal.push_str("GAI=");
    seal
}

/// Returns whether a signature is this server's, over exactly this text.
pub(super) fn is_sealed(signature: &str, text: &str) -> bool {
    let salt = signature.get(4..14).and_then(|hex| u64::from_str_radix(hex, 16).ok());
    salt.is_some_and(|salt| seal(salt, text) == signature)
}

/// A hash that is the same in every run.
pub(super) fn hash<T: std::hash::Hash + ?Sized>(value: &T) -> u64 {
    use std::hash::Hasher;
    // `DefaultHasher::new` has fixed keys; nothing outlives the process.
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The text that encrypted thinking is derived from.
pub(super) const UNSEEN: &str = "encrypted thinking";

fn llama_refusal(status: u16, says: Option<&str>) -> Value {
    let (kind, usual) = match status {
        400 => ("invalid_request_error", "Invalid request"),
        401 => ("authentication_error", "Invalid API Key"),
        403 => ("permission_error", "Forbidden"),
        404 => ("not_found_error", "File Not Found"),
        501 => ("not_supported_error", "This feature is not supported"),
        503 => ("unavailable_error", "Loading model"),
        _ => ("server_error", "Internal Server Error"),
    };
    serde_json::json!({ "error": { "code": status, "message": says.unwrap_or(usual), "type": kind } })
}
