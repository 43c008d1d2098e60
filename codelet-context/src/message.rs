//! What a conversation is made of: messages and their parts.
//!
//! A message keeps everything that its vendor needs back. Fields that the engine does not read travel along as [`Extra`],
//! and texts are shared [`Body`]s, so nothing is flattened or re-serialised on its way through.

use crate::body::Body;
use crate::command::CommandLine;
use crate::effects;
use crate::recall::Handle;
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

/// Fields of a vendor that the engine does not read and must not lose, in their order. Empty for most.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Extra(Option<Arc<Unread>>);

#[derive(PartialEq, Eq, Debug)]
struct Unread {
    map: Map<String, Value>,
    /// What their names and values take, about.
    bytes: usize,
}

impl Extra {
    /// Wraps fields; an empty map costs nothing.
    pub fn new(fields: Map<String, Value>) -> Self {
        let fields = (!fields.is_empty()).then(|| Unread {
            bytes: weigh_fields(&fields, 0),
            map: fields,
        });
        Extra(fields.map(Arc::new))
    }

    /// One field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.as_ref()?.map.get(name)
    }

    /// All fields, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter().flat_map(|fields| fields.map.iter())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// What they take on the wire, in bytes, about: names, strings, and a word for everything else.
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |fields| fields.bytes)
    }
}

/// Values deeper than this are not looked at; a reader refuses them anyway.
const DEPTH: usize = 128;

fn weigh_fields(fields: &Map<String, Value>, depth: usize) -> usize {
    fields
        .iter()
        .map(|(name, value)| name.len() + 4 + weigh(value, depth + 1))
        .sum()
}

fn weigh(value: &Value, depth: usize) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) if depth < DEPTH => items.iter().map(|item| 1 + weigh(item, depth + 1)).sum(),
        Value::Object(fields) if depth < DEPTH => weigh_fields(fields, depth),
        _ => 4,
    }
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
            extra: Extra::default(),
        }
    }

    /// The same call with the engine's notion of it.
    pub fn doing(mut self, action: Action) -> Self {
        self.action = action;
        self
    }
}

/// The values of an object, and behind them those of the objects in it: many tools wrap what they are asked, or what they
/// answer, in an object of its own.
pub fn values_within(object: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let inner = object.values().filter_map(Value::as_object).flat_map(Map::values);
    object.values().chain(inner)
}

/// The parameters of a call: a JSON object, shared and immutable.
#[derive(Clone)]
pub struct Parameters(Arc<Fields>);

struct Fields {
    map: Map<String, Value>,
    json: OnceLock<Body>,
    canonical: OnceLock<u64>,
}

impl Parameters {
    /// Wraps an object.
    pub fn new(map: Map<String, Value>) -> Self {
        Parameters(Arc::new(Fields {
            map,
            json: OnceLock::new(),
            canonical: OnceLock::new(),
        }))
    }

    /// The object.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0.map
    }

    /// One parameter that is a string.
    pub fn str(&self, name: &str) -> Option<&str> {
        self.0.map.get(name)?.as_str()
    }

    /// The object as compact JSON, keys in their order.
    pub fn json(&self) -> &Body {
        self.0
            .json
            .get_or_init(|| Body::new(Value::Object(self.0.map.clone()).to_string()))
    }

    /// A hash that does not depend on the order of keys: equal parameters have equal hashes.
    pub fn canonical_hash(&self) -> u64 {
        *self
            .0
            .canonical
            .get_or_init(|| canonical(&self.0.map, crate::hash::bytes(b"{}")))
    }
}

fn canonical(map: &Map<String, Value>, seed: u64) -> u64 {
    let mut keys: Vec<_> = map.iter().collect();
    keys.sort_unstable_by_key(|(key, _)| key.as_str());
    keys.into_iter().fold(seed, |hash, (key, value)| {
        crate::hash::pair(
            hash,
            crate::hash::pair(crate::hash::bytes(key.as_bytes()), canonical_value(value)),
        )
    })
}

fn canonical_value(value: &Value) -> u64 {
    match value {
        Value::Object(map) => canonical(map, crate::hash::bytes(b"{}")),
        Value::Array(items) => items.iter().fold(crate::hash::bytes(b"[]"), |hash, item| {
            crate::hash::pair(hash, canonical_value(item))
        }),
        other => crate::hash::bytes(other.to_string().as_bytes()),
    }
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.map == other.0.map
    }
}

impl std::fmt::Debug for Parameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map.fmt(f)
    }
}

/// What a call does to the world, in notions that hold for every agent. Made by the reader of a transcript, or by the tool.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Action {
    /// The part that the tool plays.
    pub kind: ActionKind,
    /// Files read or changed, as the call names them; for a command, the files that it visibly writes, as seen from where it
    /// begins.
    pub paths: Vec<Arc<str>>,
    /// The command line, where there is one.
    pub command: Option<CommandLine>,
    /// For a change, the names of the parameters, at whatever depth, whose text it takes away from its files.
    pub replaced: Names,
}

/// Names of parameters. Most actions have none, which costs a word.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names(Option<Arc<Vec<Arc<str>>>>);

impl Names {
    /// The names, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|names| names.iter().map(|name| &**name))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// The parts that tools play.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum ActionKind {
    /// Reads a file and changes nothing.
    Read,
    /// Creates, overwrites or edits files.
    Change,
    /// Runs a program, which may do anything.
    Command,
    /// Looks for files or text and changes nothing.
    Search,
    /// Keeps the list of what is to be done.
    Todo,
    /// Asks the user something, or for approval of a plan; the answer is the user's.
    Ask,
    /// Anything else.
    #[default]
    Other,
}

impl Action {
    /// An action of this kind on these files.
    pub fn on<'a>(kind: ActionKind, paths: impl IntoIterator<Item = &'a str>) -> Self {
        Action {
            kind,
            paths: paths.into_iter().map(Arc::from).collect(),
            ..Action::default()
        }
    }

    /// The same, and which parameters, by name, hold what it takes away from its files.
    pub fn replacing<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<Arc<str>> = names.into_iter().map(Arc::from).collect();
        self.replaced = Names((!names.is_empty()).then(|| Arc::new(names)));
        self
    }

    /// Running a command line, with the files that it visibly writes.
    pub fn command(line: &str) -> Self {
        let line = CommandLine::new(line);
        Action {
            kind: ActionKind::Command,
            paths: effects::written(line.effects()).into_iter().map(Arc::from).collect(),
            command: Some(line),
            ..Action::default()
        }
    }

    /// Applying a patch, in the form that `apply_patch` takes or as a unified diff, to the files that it names.
    pub fn patch(patch: &str) -> Self {
        Action::on(
            ActionKind::Change,
            effects::patched(patch).into_iter().map(|(path, _)| path),
        )
    }

    /// The files that this action changes when it succeeds.
    pub fn changed(&self) -> &[Arc<str>] {
        match self.kind {
            ActionKind::Change | ActionKind::Command => &self.paths,
            _ => &[],
        }
    }

    /// Whether making the call again can only bring a newer look at the same thing.
    pub fn is_read_only(&self) -> bool {
        matches!(self.kind, ActionKind::Read | ActionKind::Search)
    }
}

/// A tool answers.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolResult {
    /// The call that is answered.
    pub call_id: Arc<str>,
    /// Whether the tool did what it was asked to, by its own word (exit status, error flag); `None` where a foreign
    /// transcript records no status.
    pub success: Option<bool>,
    /// What the tool printed: texts, pictures and unknown blocks.
    pub output: Vec<Part>,
    /// The source wrote the output as a plain string, not as a list of blocks.
    pub bare: bool,
    /// What went wrong, where the tool says so beside its output.
    pub error: Option<Body>,
    /// The call stands where the vendor keeps it, not among the messages: the answer has none here and is no orphan.
    pub is_apart: bool,
    /// Unread fields.
    pub extra: Extra,
}

impl ToolResult {
    /// An answer in words.
    pub fn new(call_id: impl Into<Arc<str>>, success: Option<bool>, output: impl Into<Body>) -> Self {
        ToolResult {
            call_id: call_id.into(),
            success,
            output: vec![Part::text(output)],
            bare: true,
            error: None,
            is_apart: false,
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
    json: Arc<OnceLock<Body>>,
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
            json: Arc::default(),
        }
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
