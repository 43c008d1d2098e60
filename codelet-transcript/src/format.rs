//! The forms of a conversation, and their names.

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
    /// A session file of Qwen Code.
    QwenCode,
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
        Format::QwenCode,
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
            Format::QwenCode => "qwen-code",
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
            Format::QwenCode => "a session file of Qwen Code (JSON lines)",
            Format::MiniSweAgent => "a trajectory of mini-swe-agent (JSON)",
            Format::SweAgent => "a trajectory of SWE-agent (JSON)",
            Format::Corpus => "a conversation in the neutral form of the recorded corpus (JSON)",
            Format::Shape => "one line a message, for people",
        }
    }

    /// Whether [`read`](crate::read) understands it.
    pub fn is_read(self) -> bool {
        self != Format::Shape
    }

    /// Whether [`write`](crate::write) makes it.
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
