//! The interfaces whose conversations are understood.

use codelet_transcript::Format;

/// An interface of a provider, told by the path of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Api {
    /// Anthropic Messages: `/v1/messages`.
    Anthropic,
    /// OpenAI Chat Completions: `/v1/chat/completions`.
    Openai,
    /// OpenAI Responses: `/v1/responses`.
    Responses,
    /// Gemini: `/v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.
    Gemini,
}

impl Api {
    /// The interface that a request to this path speaks, if its body is a conversation that the model is to go on with. Whatever
    /// stands before the usual path (`/openai/v1/…`) is of no matter.
    pub fn of(path: &str) -> Option<Api> {
        let path = path.trim_end_matches('/');
        if path.ends_with("/messages") && !path.contains("/threads/") {
            Some(Api::Anthropic)
        } else if path.ends_with("/chat/completions") {
            Some(Api::Openai)
        } else if path.ends_with("/responses") {
            Some(Api::Responses)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Api::Gemini)
        } else {
            None
        }
    }

    /// The form of its requests.
    pub fn format(self) -> Format {
        match self {
            Api::Anthropic => Format::Anthropic,
            Api::Openai => Format::Openai,
            Api::Responses => Format::Responses,
            Api::Gemini => Format::Gemini,
        }
    }
}
