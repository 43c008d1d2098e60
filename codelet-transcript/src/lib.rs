//! Conversations as text: reads what coding agents record, writes what vendors accept. Takes bytes, opens nothing.
//!
//! Everything becomes a [`Document`]: messages that keep all that a vendor needs back, and the request's other fields.
//! Written in the form that it was read in, an untouched document is the same JSON again. Written in another form, it is
//! a request that the other vendor accepts: ids and names are mapped, and what only its own vendor can read is left out.
//!
//! Which file means what: one module per format, [`detect()`] to tell them apart, [`actions`] for what the tools of the
//! known agents do.
//!
//! ```
//! use codelet_transcript::{Format, read, write};
//!
//! let request = br#"{"messages":[{"role":"user","content":"hello"}],"system":"Be brief."}"#;
//! let document = read(request, None)?;
//! assert_eq!(document.format, Format::Anthropic);
//! assert_eq!(write(&document, Format::Anthropic)?.as_bytes(), request);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod actions;
mod detect;
pub mod document;
mod error;
mod extra;
pub mod shape;

pub use detect::detect;
pub use document::{Document, Warning};
pub use error::{ReadError, WriteError};

/// Reads a conversation, in the given form or, with `None`, in the one that its structure shows.
///
/// # Errors
/// When the bytes are no conversation of that form; the error says where and what was expected.
pub fn read(bytes: &[u8], format: Option<Format>) -> Result<Document, ReadError> {
    let format = match format {
        Some(format) => format,
        None => detect(bytes).ok_or(ReadError::UnknownFormat)?,
    };
    Err(ReadError::NotReadable(format))
}

/// Writes a conversation in one of the forms that are written. What is written follows the messages alone, so they may
/// have been altered since they were read.
///
/// # Errors
/// When the form is read only.
pub fn write(_document: &Document, format: Format) -> Result<String, WriteError> {
    Err(WriteError::NotWritable(format))
}

/// The forms in which a conversation is read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Format {
    /// An Anthropic Messages request.
    Anthropic,
    /// An OpenAI Chat Completions request.
    Openai,
    /// An OpenAI Responses request.
    Responses,
    /// A Gemini `generateContent` request.
    Gemini,
    /// A session file of Claude Code.
    ClaudeCode,
    /// A session file (rollout) of Codex.
    Codex,
    /// An exported session of OpenCode.
    Opencode,
    /// A session file of pi.
    Pi,
    /// A session file of Copilot CLI.
    Copilot,
    /// A trajectory of mini-swe-agent.
    MiniSweAgent,
    /// A trajectory of SWE-agent.
    SweAgent,
    /// The neutral form of the recorded corpus.
    Corpus,
    /// One line a message, for people; written only.
    Shape,
}

impl Format {
    /// All forms, in the order in which they are listed for people.
    pub const ALL: &[Format] = &[
        Format::Anthropic,
        Format::Openai,
        Format::Responses,
        Format::Gemini,
        Format::ClaudeCode,
        Format::Codex,
        Format::Opencode,
        Format::Pi,
        Format::Copilot,
        Format::MiniSweAgent,
        Format::SweAgent,
        Format::Corpus,
        Format::Shape,
    ];

    /// The name by which it is asked for, for example `claude-code`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Anthropic => "anthropic",
            Format::Openai => "openai",
            Format::Responses => "responses",
            Format::Gemini => "gemini",
            Format::ClaudeCode => "claude-code",
            Format::Codex => "codex",
            Format::Opencode => "opencode",
            Format::Pi => "pi",
            Format::Copilot => "copilot",
            Format::MiniSweAgent => "mini-swe-agent",
            Format::SweAgent => "swe-agent",
            Format::Corpus => "corpus",
            Format::Shape => "shape",
        }
    }

    /// The form of that name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// What it is, in a few words for a list.
    pub fn describe(self) -> &'static str {
        match self {
            Format::Anthropic => "an Anthropic Messages request",
            Format::Openai => "an OpenAI Chat Completions request",
            Format::Responses => "an OpenAI Responses request",
            Format::Gemini => "a Gemini generateContent request",
            Format::ClaudeCode => "a session file of Claude Code (JSON lines)",
            Format::Codex => "a session file of Codex (JSON lines)",
            Format::Opencode => "an exported session of OpenCode (JSON)",
            Format::Pi => "a session file of pi (JSON lines)",
            Format::Copilot => "a session file of Copilot CLI (JSON lines)",
            Format::MiniSweAgent => "a trajectory of mini-swe-agent (JSON)",
            Format::SweAgent => "a trajectory of SWE-agent (JSON)",
            Format::Corpus => "a conversation in the neutral form of the recorded corpus (JSON)",
            Format::Shape => "one line a message, for people",
        }
    }

    /// Whether [`read`] understands it.
    pub fn is_read(self) -> bool {
        self != Format::Shape
    }

    /// Whether [`write`] makes it.
    pub fn is_written(self) -> bool {
        matches!(
            self,
            Format::Anthropic | Format::Openai | Format::Responses | Format::Gemini | Format::Shape
        )
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
