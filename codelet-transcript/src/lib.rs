//! Conversations as text: reads what coding agents record, writes what vendors accept. Takes bytes, opens nothing.

pub mod document;
pub mod shape;

pub use document::{Document, Warning};

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
