//! Messages and their parts: the elements of a conversation.
//!
//! A message keeps everything that its provider needs back. Fields that the engine does not read are kept as [`Extra`],
//! and texts are shared [`Body`]s, so nothing is flattened or re-serialised on the way.

mod action;
pub mod cut;
pub mod exchange;
mod extra;
pub(crate) mod files;
pub(crate) mod harness;
pub mod note;
mod parameters;
mod patch;
pub(crate) mod pending;
pub mod pin;
pub mod recall;
pub mod refusal;
pub mod todo;
pub mod tokens;
pub mod turn;
pub mod validate;
pub mod view;

pub use action::{Action, ActionKind, ChangeKind};
pub use extra::Extra;
pub use parameters::Parameters;

use crate::message::recall::Handle;
use crate::message::refusal::RefusedBy;
use crate::text::body::Body;
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// The speaker of a message. Tool results are parts of a user message, whatever the provider calls that role.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Role {
    /// The system prompt (some providers: developer).
    System,
    /// The user, the harness that writes on the user's behalf, and tool results.
    User,
    /// The model.
    Assistant,
}

/// One entry of the conversation.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    /// The speaker.
    pub role: Role,
    /// The content, in order.
    pub parts: Vec<Part>,
    /// True if the source wrote the content as a plain string, not as a list of parts.
    pub bare: bool,
    /// Unread fields of the message.
    pub extra: Extra,
}

impl AsRef<Message> for Message {
    fn as_ref(&self) -> &Message {
        self
    }
}

impl Message {
    /// Creates a message with these parts.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Message {
            role,
            parts,
            bare: false,
            extra: Extra::default(),
        }
    }

    /// Creates a system prompt.
    pub fn system(text: impl Into<Body>) -> Self {
        Message::new(Role::System, vec![Part::text(text)])
    }

    /// Creates a user prompt.
    pub fn user(text: impl Into<Body>) -> Self {
        Message::new(Role::User, vec![Part::text(text)])
    }

    /// Creates a reply of the model.
    pub fn assistant(text: impl Into<Body>) -> Self {
        Message::new(Role::Assistant, vec![Part::text(text)])
    }

    /// Creates a message of tool results.
    pub fn results(results: Vec<ToolResult>) -> Self {
        Message::new(Role::User, results.into_iter().map(Part::ToolResult).collect())
    }

    /// Returns whether this is a prompt: a user message with the user's own content (pictures and files count), beyond
    /// results, reminders and text injected by a harness.
    pub fn is_prompt(&self) -> bool {
        self.role == Role::User && self.parts.iter().any(Part::is_own_words)
    }

    /// Returns whether the provider paused within this reply and will continue it once the conversation is sent back.
    pub fn is_paused(&self) -> bool {
        let pending = |part: &Part| matches!(part, Part::Opaque(opaque) if opaque.nature == Nature::Pending);
        self.role == Role::Assistant && self.calls().next().is_none() && self.parts.iter().any(pending)
    }

    /// The tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The tool results, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}

/// A piece of a message.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// Text.
    Text(Text),
    /// The model's thinking.
    Thinking(Thinking),
    /// A picture.
    Image(Image),
    /// A tool call.
    ToolCall(ToolCall),
    /// A tool result.
    ToolResult(ToolResult),
    /// A block that the engine does not know and passes on unchanged.
    Opaque(Opaque),
}

impl Part {
    /// Creates a text of the speaker's own.
    pub fn text(text: impl Into<Body>) -> Self {
        Part::Text(Text::new(text, Origin::Own))
    }

    /// Creates a text of another origin than the speaker.
    pub fn text_from(origin: Origin, text: impl Into<Body>) -> Self {
        Part::Text(Text::new(text, origin))
    }

    pub(crate) fn is_own_words(&self) -> bool {
        match self {
            Part::Text(text) => text.origin == Origin::Own && !text.body.is_blank(),
            Part::Image(_) => true,
            Part::Opaque(opaque) => opaque.is_file(),
            _ => false,
        }
    }
}

/// The origin of a text. It is set when the part is created and never guessed from the text: a user who types a
/// reminder's tag loses nothing, and a tool output that contains one is not mistaken for a reminder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Origin {
    /// The speaker's own: a prompt in a user message, a reply in an assistant message, output in a result.
    #[default]
    Own,
    /// Injected by a harness: neither typed by the user nor a reminder.
    Injected,
    /// A reminder of this kind.
    Reminder(ReminderKind),
    /// The summary of an earlier part of the conversation.
    Summary,
    /// A notice of the engine, such as the closing notice after a compaction.
    Notice,
}

/// The types of reminder; one of each is current at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum ReminderKind {
    /// `claudeMd`: standing instructions of the user and the project.
    Instructions,
    /// `environment`: directory, platform, shell, date.
    Environment,
    /// `skills`: the skills that can be called.
    Skills,
    /// `gitStatus`: the repository's state.
    GitStatus,
    /// `tokenStatus`: the occupancy of the window.
    TokenStatus,
}

/// A text.
#[derive(Clone, PartialEq, Debug)]
pub struct Text {
    /// The text as shown.
    pub body: Body,
    /// Its origin.
    pub origin: Origin,
    /// The handle of the whole text, if the body is a cut or a pointer.
    pub cut: Option<Handle>,
    /// Unread fields.
    pub extra: Extra,
}

impl Text {
    /// Creates an uncut text.
    pub fn new(text: impl Into<Body>, origin: Origin) -> Self {
        Text {
            body: text.into(),
            origin,
            cut: None,
            extra: Extra::default(),
        }
    }

    /// Creates a [marker](cut::marker) for content of this many bytes under this handle.
    pub(crate) fn marker(origin: Origin, what: &str, bytes: usize, why: &str, handle: Handle) -> Self {
        Text {
            cut: Some(handle.clone()),
            ..Text::new(cut::marker(what, bytes, why, &handle), origin)
        }
    }

    /// The text with another body, whose whole has this handle.
    pub(crate) fn cut_to(&self, (body, handle): (Body, Handle)) -> Self {
        Text {
            body,
            origin: self.origin,
            cut: Some(handle),
            extra: self.extra.clone(),
        }
    }
}

/// The model's thinking, in the form in which the provider wants it back.
#[derive(Clone, PartialEq, Debug)]
pub struct Thinking {
    /// The text, empty if the provider hides it.
    pub body: Body,
    /// The signature by which the provider recognises the thinking as the model's own.
    pub signature: Option<Arc<str>>,
    /// Encrypted thinking that only the provider can read.
    pub redacted: Option<Arc<str>>,
    /// True for plain thinking that some providers want back with the tool calls that it led to, in every later
    /// request; its text is not checked. (DeepSeek, "thinking mode, tool calls": requests without it are refused.)
    pub is_wanted_back: bool,
    /// Unread fields.
    pub extra: Extra,
}

impl Thinking {
    /// Returns whether the provider verifies this block when it comes back, so that it must not be altered.
    pub fn is_bound(&self) -> bool {
        self.signature.as_ref().is_some_and(|s| !s.is_empty()) || self.redacted.is_some()
    }

    /// Returns whether later parts may depend on this block: a provider refuses a call or a text whose encrypted
    /// thinking is missing, or whose thinking it stores under an id.
    pub(crate) fn is_tied(&self) -> bool {
        self.redacted.is_some() || self.extra.get("id").is_some()
    }

    /// Returns whether the block must stay as long as its message: the provider verifies it, later parts depend on it,
    /// or it is wanted back with the calls.
    pub(crate) fn is_needed_in(&self, message: &Message) -> bool {
        self.is_bound() || self.is_tied() || self.is_wanted_back && message.calls().next().is_some()
    }
}

/// A picture.
#[derive(Clone, PartialEq, Debug)]
pub struct Image {
    /// The media type, for example `image/png`; empty if the source has none.
    pub media_type: Arc<str>,
    /// Base64 data or a URL, see [`Image::is_url`].
    pub data: Body,
    /// True if `data` is a URL, not the picture itself.
    pub is_url: bool,
    /// Unread fields.
    pub extra: Extra,
}

/// The estimated tokens of any picture. Providers scale pictures down to a maximum, and the size of the encoding says
/// little (Anthropic: about 1,600 for the largest; the size behind a URL is unknown).
pub const IMAGE_TOKENS: u64 = 1_600;

/// A tool call of the model.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolCall {
    /// The provider's id of this call.
    pub id: Arc<str>,
    /// The tool's name.
    pub tool: Arc<str>,
    /// The arguments of the call.
    pub parameters: Parameters,
    /// The effect of the call, in the engine's terms.
    pub action: Action,
    /// The handle of the whole parameters, if those shown are cut.
    pub cut: Option<Handle>,
    /// True if it was written in the text of the reply.
    pub is_spoken: bool,
    /// Unread fields.
    pub extra: Extra,
}

impl ToolCall {
    /// Creates a call with an unknown action.
    pub fn new(id: impl Into<Arc<str>>, tool: impl Into<Arc<str>>, parameters: Map<String, Value>) -> Self {
        ToolCall {
            id: id.into(),
            tool: tool.into(),
            parameters: Parameters::new(parameters),
            action: Action::default(),
            cut: None,
            is_spoken: false,
            extra: Extra::default(),
        }
    }

    /// Returns the call with this action.
    pub fn doing(mut self, action: Action) -> Self {
        self.action = action;
        self
    }
}

/// The exit status of a pipeline command that was terminated because its reader had finished: 128 plus the number of
/// SIGPIPE, as shells report it.
pub const BROKEN_PIPE: u8 = 141;

/// The output of the result that stands in for one that was not recorded.
const UNANSWERED: &str = "[interrupted]";

/// A tool result.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ToolResult {
    /// The id of the answered call.
    pub call_id: Arc<str>,
    /// True if the tool reports success (exit status, error flag); `None` if a foreign transcript records no status.
    pub success: Option<bool>,
    /// The exit statuses of the commands in the last pipeline of a command line, in order, if the shell recorded them
    /// (`PIPESTATUS` in bash); empty otherwise.
    pub pipe: Box<[u8]>,
    /// The output of the tool: texts, pictures and unknown blocks.
    pub output: Vec<Part>,
    /// True if the source wrote the output as a plain string, not as a list of blocks.
    pub bare: bool,
    /// The error message, if the tool reports one besides its output.
    pub error: Option<Body>,
    /// The source of the refusal, if a field of the harness records one. Never inferred from the output.
    pub refusal: Option<RefusedBy>,
    /// True if the provider keeps the call itself: the result has no call among the messages and is no orphan.
    pub is_apart: bool,
    /// For a result in plain text: the introduction by its harness, such as `[read_file for 'a.rs'] Result:`.
    pub head: Option<Arc<Text>>,
    /// Unread fields.
    pub extra: Extra,
}

impl ToolResult {
    /// Creates a text result.
    pub fn new(call_id: impl Into<Arc<str>>, success: Option<bool>, output: impl Into<Body>) -> Self {
        ToolResult {
            call_id: call_id.into(),
            success,
            output: vec![Part::text(output)],
            bare: true,
            ..ToolResult::default()
        }
    }

    /// Creates the stand-in for a result that was not recorded.
    pub(crate) fn unanswered(call_id: Arc<str>) -> Self {
        ToolResult {
            output: vec![Part::text_from(Origin::Notice, UNANSWERED)],
            ..ToolResult::new(call_id, Some(false), "")
        }
    }

    /// Returns whether this stands in for a result that was not recorded. The call may have run or not.
    pub(crate) fn is_unanswered(&self) -> bool {
        let mut texts = self.texts();
        texts.all(|text| text.origin == Origin::Notice && text.body.as_str() == UNANSWERED) && !self.output.is_empty()
    }

    /// The texts of the output, in order.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.output.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        })
    }
}

/// A block that the engine does not read.
#[derive(Clone)]
pub struct Opaque {
    /// The provider's name of the block.
    pub kind: Arc<str>,
    /// The block, unchanged.
    pub value: Arc<Value>,
    /// The treatment that the block allows. Set when the part is created.
    pub nature: Nature,
    /// The readable content, if any. Set when the part is created.
    pub words: Option<BlockText>,
    json: Arc<OnceLock<Body>>,
}

/// The readable content of a block of a provider's own tool; such a block is sent back unchanged or not at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockText {
    /// A call: the tool and its arguments.
    Call {
        /// The tool's name.
        tool: Arc<str>,
        /// The arguments, as text.
        body: Body,
    },
    /// The output of such a tool.
    Output(Body),
}

/// The treatment that a block allows which the engine does not read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Nature {
    /// Unknown. Its size is that of its JSON.
    #[default]
    Unknown,
    /// A file, or a reference to one: a document, audio, video, a search result. In a user message it is the user's own
    /// content; a marker may replace it if there is no room.
    File {
        /// The name for display, if it has one.
        name: Option<Arc<str>>,
        /// The estimated tokens; the size of an encoded file says little.
        tokens: u64,
    },
    /// A reference to something that the provider keeps and that other parts depend on; always sent back unchanged.
    Reference,
    /// An operation that the provider has started and continues when the conversation is sent back: nothing may follow
    /// the message that ends with it.
    Pending,
}

impl Opaque {
    /// Creates a block of unknown nature.
    pub fn new(kind: impl Into<Arc<str>>, value: impl Into<Arc<Value>>) -> Self {
        Opaque {
            kind: kind.into(),
            value: value.into(),
            nature: Nature::Unknown,
            words: None,
            json: Arc::default(),
        }
    }

    /// Returns the block with this nature.
    pub fn that_is(mut self, nature: Nature) -> Self {
        self.nature = nature;
        self
    }

    /// Returns whether the block is a file.
    pub fn is_file(&self) -> bool {
        matches!(self.nature, Nature::File { .. })
    }

    /// The block as compact JSON with its keys in order; this is what a handle restores.
    pub fn json(&self) -> &Body {
        self.json.get_or_init(|| Body::new(self.value.to_string()))
    }

    /// The kind, followed by the name if there is one: `document report.pdf`.
    pub fn label(&self) -> String {
        match &self.nature {
            Nature::File { name: Some(name), .. } => format!("{} {name}", self.kind),
            _ => self.kind.to_string(),
        }
    }
}

impl PartialEq for Opaque {
    fn eq(&self, other: &Self) -> bool {
        let same = || Arc::ptr_eq(&self.value, &other.value) || self.value == other.value;
        self.kind == other.kind && self.nature == other.nature && same()
    }
}

impl std::fmt::Debug for Opaque {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Opaque");
        shown.field("kind", &self.kind).field("value", &self.value);
        shown.field("nature", &self.nature).finish()
    }
}
