//! The conversation formats: a table with one row for each.
//!
//! To add one: a file with a reader and its [`Form`], and a row here.

use crate::skim::Seen;
use crate::*;

/// The properties of a format.
pub(crate) struct Form {
    /// The name by which users select it.
    pub name: &'static str,
    /// A short description for a list.
    pub what: &'static str,
    pub read: fn(&[u8]) -> Result<Recording, ReadError>,
    /// Returns whether an object identifies the format of its file: called with the first object, and with later
    /// entries if there are any. `None` if `detect` identifies the format in another way.
    pub shows: Option<fn(&Seen) -> bool>,
    /// True if its files are entries, one per line.
    pub is_lines: bool,
    /// True if its files may be a list of entries.
    pub is_items: bool,
    /// In a file that is one object: the fields that list the messages.
    pub lists: &'static [&'static str],
    /// The provider whose blocks and signatures it holds.
    pub blocks_of: Option<Format>,
}

impl Form {
    /// Returns a format with defaults for everything else.
    pub(crate) const fn new(
        name: &'static str,
        what: &'static str,
        read: fn(&[u8]) -> Result<Recording, ReadError>,
    ) -> Form {
        Form {
            name,
            what,
            read,
            shows: None,
            is_lines: false,
            is_items: false,
            lists: &[],
            blocks_of: None,
        }
    }
}

macro_rules! forms {
    ($($(#[$doc:meta])* $variant:ident = $form:expr;)*) => {
        /// The formats in which a conversation is read or written.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])* $variant,)*
        }

        impl Format {
            /// All formats, in the order in which they are listed for people.
            pub const ALL: &[Format] = &[$(Format::$variant),*];

            pub(crate) fn form(self) -> &'static Form {
                match self {
                    $(Format::$variant => const { &$form },)*
                }
            }
        }
    };
}

forms! {
    /// An Anthropic Messages request.
    Anthropic = Form::new("anthropic", "an Anthropic Messages request", |bytes| plain(anthropic::read(bytes)));
    /// An OpenAI Chat Completions request.
    Openai = Form::new("openai", "an OpenAI Chat Completions request", |bytes| plain(openai::read(bytes)));
    /// An OpenAI Responses request.
    Responses = Form::new("responses", "an OpenAI Responses request", |bytes| plain(responses::read(bytes)));
    /// A Gemini `generateContent` request.
    Gemini = Form::new("gemini", "a Gemini generateContent request", |bytes| plain(gemini::read(bytes)));
    /// A session file of Claude Code.
    ClaudeCode = Form {
        is_lines: true,
        blocks_of: Some(Format::Anthropic),
        ..Form::new("claude-code", "a session file of Claude Code (JSON lines)", claude_code::record)
    };
    /// A session file (rollout) of Codex.
    Codex = Form {
        is_lines: true,
        blocks_of: Some(Format::Responses),
        ..Form::new("codex", "a session file of Codex (JSON lines)", codex::record)
    };
    /// An exported session of OpenCode.
    Opencode = Form {
        lists: &["messages"],
        ..Form::new("opencode", "an exported session of OpenCode (JSON)", opencode::record)
    };
    /// A session file of pi.
    Pi = Form {
        is_lines: true,
        ..Form::new("pi", "a session file of pi (JSON lines)", pi::record)
    };
    /// A session file of Copilot CLI.
    Copilot = Form {
        is_lines: true,
        ..Form::new("copilot", "a session file of Copilot CLI (JSON lines)", copilot::read)
    };
    /// A session file of Qwen Code.
    QwenCode = Form {
        is_lines: true,
        ..Form::new("qwen-code", "a session file of Qwen Code (JSON lines)", qwen_code::read)
    };
    /// A trajectory of mini-swe-agent.
    MiniSweAgent = Form {
        lists: &["messages"],
        ..Form::new("mini-swe-agent", "a trajectory of mini-swe-agent (JSON)", mini_swe_agent::read)
    };
    /// A trajectory of SWE-agent.
    SweAgent = Form {
        lists: &["history", "trajectory"],
        ..Form::new("swe-agent", "a trajectory of SWE-agent (JSON)", swe_agent::read)
    };
    /// Output of `claude -p` as `stream-json`.
    ClaudeStream = claude_stream::FORM;
    /// Output of `codex exec --json`.
    CodexExec = codex_exec::FORM;
    /// Output of Gemini CLI as `stream-json`.
    GeminiStream = gemini_stream::FORM;
    /// A session file of Gemini CLI.
    GeminiCli = gemini_cli::FORM;
    /// A thread of Amp.
    Amp = amp::FORM;
    /// A chat session of VS Code.
    VscodeChat = vscode_chat::FORM;
    /// An exported session of OpenCode 2.
    Opencode2 = opencode2::FORM;
    /// A task of Cline, Roo Code or Kilo Code.
    Cline = cline::FORM;
    /// Events of OpenHands.
    Openhands = openhands::FORM;
    /// A session file of Factory's Droid.
    Droid = droid::FORM;
    /// A transcript of Cursor's agent.
    Cursor = cursor::FORM;
    /// Output of Cursor's agent as `stream-json`.
    CursorStream = cursor_stream::FORM;
    /// A session of Kimi's agent.
    Kimi = kimi::FORM;
    /// An exported session of Goose.
    Goose = goose::FORM;
    /// A session of Crush.
    Crush = crush::FORM;
    /// A thread of Zed's agent.
    Zed = zed::FORM;
    /// A conversation of Kiro CLI.
    Kiro = kiro::FORM;
    /// A session of Continue.
    Continue = continue_dev::FORM;
    /// A chat history of Aider.
    Aider = aider::FORM;
    /// Messages of the AI SDK.
    UiMessage = ui_message::FORM;
    /// Messages of LangChain.
    Langchain = langchain::FORM;
    /// Spans of OpenTelemetry.
    Otel = otel::FORM;
    /// A session trace of the Hugging Face Hub.
    SessionTrace = session_trace::FORM;
    /// A trajectory of Harbor and Terminal-Bench.
    Atif = atif::FORM;
    /// A conversation of training data in ShareGPT's format.
    Sharegpt = sharegpt::FORM;
    /// The neutral form of the recorded corpus.
    Corpus = Form {
        lists: &["messages"],
        blocks_of: Some(Format::Anthropic),
        ..Form::new(
            "corpus",
            "a conversation in the neutral form of the recorded corpus (JSON)",
            |bytes| plain(corpus::read(bytes)),
        )
    };
    /// One line per message, for people; written only.
    Shape = Form::new("shape", "one line per message, cannot be read back", |_| Err(ReadError::NotReadable(Format::Shape)));
}

/// Returns a recording without information about requests.
pub(crate) fn plain(document: Result<Document, ReadError>) -> Result<Recording, ReadError> {
    let requests = Vec::new();
    document.map(|document| Recording { document, requests })
}

impl Format {
    /// The name by which users select it, for example `claude-code`.
    pub fn name(self) -> &'static str {
        self.form().name
    }

    /// A second name of a format whose first one means another of its vendor's APIs elsewhere: as a provider, `openai`
    /// has the Responses API.
    pub fn second_name(self) -> Option<&'static str> {
        match self {
            Format::Openai => Some("openai-chat"),
            Format::Responses => Some("openai-responses"),
            _ => None,
        }
    }

    /// Returns the format of that name.
    pub fn from_name(name: &str) -> Option<Format> {
        let is_it = |format: &Format| format.name() == name || format.second_name() == Some(name);
        Format::ALL.iter().copied().find(is_it)
    }

    /// A short description for a list.
    pub fn describe(self) -> &'static str {
        self.form().what
    }

    /// Returns whether [`read`](crate::read) supports it.
    pub fn is_read(self) -> bool {
        self != Format::Shape
    }

    /// Returns whether [`write`](crate::write) supports it.
    pub fn is_written(self) -> bool {
        self.is_request() || matches!(self, Format::Atif | Format::Shape)
    }

    /// Returns whether it is a provider's request format.
    pub(crate) fn is_request(self) -> bool {
        matches!(
            self,
            Format::Anthropic | Format::Openai | Format::Responses | Format::Gemini
        )
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
