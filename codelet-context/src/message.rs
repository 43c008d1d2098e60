//! What a conversation is made of: messages and their parts.
//!
//! A message keeps everything that its vendor needs back. Fields that the engine does not read travel along as [`Extra`],
//! and texts are shared [`Body`]s, so nothing is flattened or re-serialised on its way through.

mod action;
pub(crate) mod command;
pub(crate) mod cut;
pub(crate) mod exchange;
mod extra;
pub(crate) mod files;
pub(crate) mod harness;
pub(crate) mod note;
mod parameters;
mod patch;
pub(crate) mod pending;
pub(crate) mod pin;
pub(crate) mod recall;
pub(crate) mod refusal;
pub(crate) mod todo;
pub(crate) mod tokens;
pub(crate) mod turn;
pub(crate) mod validate;
pub(crate) mod view;

pub use action::{Action, ActionKind, ChangeKind, Names};
pub use command::CommandLine;
pub use extra::Extra;
pub use parameters::Parameters;
pub(crate) use parameters::values_within;

use crate::message::recall::Handle;
use crate::message::refusal::Refusal;
use crate::text::body::Body;
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// Who speaks. Tool results are parts of a user message, whatever a vendor calls that role.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Role {
    /// The system prompt (some vendors: developer).
    System,
    /// The user, the harness that speaks for the user, and the tools that answer.
    User,
    /// The model.
    Assistant,
}

/// One entry of the conversation.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
    /// The source wrote the content as a plain string, not as a list of parts.
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
    /// A message of these parts.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Message {
            role,
            parts,
            bare: false,
            extra: Extra::default(),
        }
    }

    /// A system prompt.
    pub fn system(text: impl Into<Body>) -> Self {
        Message::new(Role::System, vec![Part::text(text)])
    }

    /// A user's own prompt.
    pub fn user(text: impl Into<Body>) -> Self {
        Message::new(Role::User, vec![Part::text(text)])
    }

    /// An answer of the model.
    pub fn assistant(text: impl Into<Body>) -> Self {
        Message::new(Role::Assistant, vec![Part::text(text)])
    }

    /// Answers of tools.
    pub fn results(results: Vec<ToolResult>) -> Self {
        Message::new(Role::User, results.into_iter().map(Part::ToolResult).collect())
    }

    /// Whether the user prompts here: a user message with words of the user's own (a picture or a file counts), not only results,
    /// reminders or what a harness put in.
    pub fn is_prompt(&self) -> bool {
        self.role == Role::User && self.parts.iter().any(Part::is_own_words)
    }

    /// Whether the vendor has paused within this reply, and goes on with it when the conversation comes back.
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
    /// Words.
    Text(Text),
    /// The model's thinking.
    Thinking(Thinking),
    /// A picture.
    Image(Image),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// A tool answers.
    ToolResult(ToolResult),
    /// A block that the engine does not know and passes on untouched.
    Opaque(Opaque),
}

impl Part {
    /// Words of whoever speaks.
    pub fn text(text: impl Into<Body>) -> Self {
        Part::Text(Text::new(text, Origin::Own))
    }

    /// Words with another origin than the speaker.
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

/// Where a text comes from. Set by whoever made the part, never guessed from what the text says: a user who types a
/// reminder's tag loses nothing, and a tool output that contains one cannot pose as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Origin {
    /// The speaker's own words: a prompt in a user message, an answer in an assistant's, output in a result.
    #[default]
    Own,
    /// Put in by a harness: neither typed by the user nor a reminder.
    Injected,
    /// A reminder of this kind.
    Reminder(ReminderKind),
    /// The summary of an earlier part of the conversation.
    Summary,
    /// A notice of the engine, such as the one that says how to go on after a compaction.
    Notice,
}

/// The types of reminder; one of each is current at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum ReminderKind {
    /// `claudeMd`: standing instructions of the user and the project.
    Instructions,
    /// `environment`: directory, platform, shell, date.
    Environment,
    /// `skills`: which skills can be called.
    Skills,
    /// `gitStatus`: the repository's state.
    GitStatus,
    /// `tokenStatus`: how full the window is.
    TokenStatus,
}

/// Words.
#[derive(Clone, PartialEq, Debug)]
pub struct Text {
    /// What is shown.
    pub body: Body,
    /// Where it comes from.
    pub origin: Origin,
    /// The body shown is a cut or a pointer; the whole is kept under this handle.
    pub cut: Option<Handle>,
    /// Unread fields.
    pub extra: Extra,
}

impl Text {
    /// A whole text.
    pub fn new(text: impl Into<Body>, origin: Origin) -> Self {
        Text {
            body: text.into(),
            origin,
            cut: None,
            extra: Extra::default(),
        }
    }
}

/// The model's thinking, as the vendor wants it back.
#[derive(Clone, PartialEq, Debug)]
pub struct Thinking {
    /// The words, empty where the vendor hides them.
    pub body: Body,
    /// What proves to the vendor that the words are the model's own.
    pub signature: Option<Arc<str>>,
    /// Encrypted thinking that only the vendor can read.
    pub redacted: Option<Arc<str>>,
    /// It came in the open, in a form in which some vendors want it back beside the calls that it led to, in every later
    /// request; nobody checks the words. (DeepSeek's "thinking mode, tool calls": a request without it is refused.)
    pub is_wanted_back: bool,
    /// Unread fields.
    pub extra: Extra,
}

impl Thinking {
    /// Whether the vendor checks this block when it comes back, so that it may not be altered.
    pub fn is_bound(&self) -> bool {
        self.signature.as_ref().is_some_and(|s| !s.is_empty()) || self.redacted.is_some()
    }

    /// Whether what follows it may rest on it: a vendor refuses a call, or words, whose encrypted thinking is missing, or
    /// that which it keeps itself under an id.
    pub(crate) fn is_tied(&self) -> bool {
        self.redacted.is_some() || self.extra.get("id").is_some()
    }

    /// Whether it has to stay as long as the message that it stands in: a vendor checks it, what follows rests on it, or it
    /// is wanted back with the calls.
    pub(crate) fn is_needed_in(&self, message: &Message) -> bool {
        self.is_bound() || self.is_tied() || self.is_wanted_back && message.calls().next().is_some()
    }
}

/// A picture.
#[derive(Clone, PartialEq, Debug)]
pub struct Image {
    /// For example `image/png`; empty where the source does not say.
    pub media_type: Arc<str>,
    /// Base64 data or an address, see [`Image::is_url`].
    pub data: Body,
    /// `data` is an address, not the picture itself.
    pub is_url: bool,
    /// Unread fields.
    pub extra: Extra,
}

/// What a picture weighs at least and at most in a window, in tokens: vendors scale pictures to a bound, and the bytes of
/// the encoding say little (Anthropic: about 1,600 for the largest; a URL's size is unknown).
pub const IMAGE_TOKENS: u64 = 1_600;

/// The model asks for a tool.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolCall {
    /// The vendor's id of this call.
    pub id: Arc<str>,
    /// The tool's name.
    pub tool: Arc<str>,
    /// What the tool is called with.
    pub parameters: Parameters,
    /// What the call does, in the engine's notions.
    pub action: Action,
    /// The parameters shown are cut; the whole is kept under this handle.
    pub cut: Option<Handle>,
    /// The reply makes it in words: what these say before, between and behind the parameters, which are strings then.
    pub spoken: Option<Arc<Vec<String>>>,
    /// Unread fields.
    pub extra: Extra,
}

impl ToolCall {
    /// A call that the engine has no notion of.
    pub fn new(id: impl Into<Arc<str>>, tool: impl Into<Arc<str>>, parameters: Map<String, Value>) -> Self {
        ToolCall {
            id: id.into(),
            tool: tool.into(),
            parameters: Parameters::new(parameters),
            action: Action::default(),
            cut: None,
            spoken: None,
            extra: Extra::default(),
        }
    }

    /// The same call with the engine's notion of it.
    pub fn doing(mut self, action: Action) -> Self {
        self.action = action;
        self
    }
}

/// The status of a command in a pipeline that was ended since nobody read on: 128 and the number of SIGPIPE, as shells report it.
pub const BROKEN_PIPE: u8 = 141;

/// A tool answers.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolResult {
    /// The call that is answered.
    pub call_id: Arc<str>,
    /// Whether the tool did what it was asked to, by its own word (exit status, error flag); `None` where a foreign
    /// transcript records no status.
    pub success: Option<bool>,
    /// Exit statuses of the commands of the last pipeline of a command line, in their order, where its shell recorded them (the
    /// `PIPESTATUS` of bash); else empty.
    pub pipe: Box<[u8]>,
    /// What the tool printed: texts, pictures and unknown blocks.
    pub output: Vec<Part>,
    /// The source wrote the output as a plain string, not as a list of blocks.
    pub bare: bool,
    /// What went wrong, where the tool says so beside its output.
    pub error: Option<Body>,
    /// Who has not let the call be made, where a field of the harness says so. Never told from the output.
    pub refusal: Option<Refusal>,
    /// The call stands where the vendor keeps it, not among the messages: the answer has none here and is no orphan.
    pub is_apart: bool,
    /// Of an answer in words: what its harness says before it, such as `[read_file for 'a.rs'] Result:`.
    pub head: Option<Arc<Text>>,
    /// Unread fields.
    pub extra: Extra,
}

impl ToolResult {
    /// An answer in words.
    pub fn new(call_id: impl Into<Arc<str>>, success: Option<bool>, output: impl Into<Body>) -> Self {
        ToolResult {
            call_id: call_id.into(),
            success,
            pipe: Box::default(),
            output: vec![Part::text(output)],
            bare: true,
            error: None,
            refusal: None,
            is_apart: false,
            head: None,
            extra: Extra::default(),
        }
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
    /// The vendor's name of the block.
    pub kind: Arc<str>,
    /// The block as it came.
    pub value: Arc<Value>,
    /// What may be done with it. Set by whoever made the part.
    pub nature: Nature,
    /// What can be read in it, where anything can. Set by whoever made the part.
    pub words: Option<Words>,
    json: Arc<OnceLock<Body>>,
}

/// What can be read in a block of a vendor's own tool, which comes back as it is or not at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Words {
    /// A call: the tool, and what it is called with.
    Call {
        /// The tool's name.
        tool: Arc<str>,
        /// What it is called with, in words.
        body: Body,
    },
    /// What such a tool has given.
    Output(Body),
}

/// What may be done with a block that the engine does not read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Nature {
    /// Nobody knows. It weighs what its JSON does.
    #[default]
    Unknown,
    /// A file, or what stands for one: a document, sound, film, something found by a search. In a user's message it is
    /// the user's own words; where there is no room, a marker may take its place.
    File {
        /// What people call it, where it has a name.
        name: Option<Arc<str>>,
        /// What it weighs in a window, in tokens: the bytes of an encoded file say little.
        tokens: u64,
    },
    /// It names something that the vendor keeps and that other parts rest on, so it always comes back as it is.
    Reference,
    /// Something that the vendor itself has begun to do, and goes on with when the conversation comes back: nothing may
    /// follow the message that ends with it.
    Pending,
}

impl Opaque {
    /// A block of which nothing is known.
    pub fn new(kind: impl Into<Arc<str>>, value: impl Into<Arc<Value>>) -> Self {
        Opaque {
            kind: kind.into(),
            value: value.into(),
            nature: Nature::Unknown,
            words: None,
            json: Arc::default(),
        }
    }

    /// The same block, and what can be read in it.
    pub fn saying(mut self, words: Option<Words>) -> Self {
        self.words = words;
        self
    }

    /// The same block, and what may be done with it.
    pub fn that_is(mut self, nature: Nature) -> Self {
        self.nature = nature;
        self
    }

    /// Whether it is a file.
    pub fn is_file(&self) -> bool {
        matches!(self.nature, Nature::File { .. })
    }

    /// The block as compact JSON, keys in their order: what a handle gives back.
    pub fn json(&self) -> &Body {
        self.json.get_or_init(|| Body::new(self.value.to_string()))
    }

    /// The kind, and the name where it has one: `document report.pdf`.
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
