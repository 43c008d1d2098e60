//! Detects the format of a file from its structure alone. Scans the bytes and builds nothing.

use crate::format::Form;
use crate::skim::{Seen, Skim};
use crate::{Format, aider, claude_code, copilot, goose};

/// The number of session entries examined: the first ones may be of kinds that several agents share.
const ENTRIES: usize = 200;

/// Returns the format of a conversation, or `None` if nothing in the structure identifies one.
pub fn detect(bytes: &[u8]) -> Option<Format> {
    let skim = Skim::of_file(bytes);
    match skim.first()? {
        b'[' => {
            let mut items = skim.items().take(ENTRIES);
            let shown = |item| shown(&Seen::new(item), |form| form.is_items);
            items.find_map(shown).or_else(|| list(skim)).or_else(|| lines(bytes))
        }
        b'{' => {
            let object = Seen::new(skim);
            shown(&object, |_| true)
                .or_else(|| document(&object))
                .or_else(|| entries(skim))
                .or_else(|| lines(bytes))
        }
        _ if skim.starts_with(aider::START) => Some(Format::Aider),
        _ => lines(bytes),
    }
}

/// Returns the format that an object identifies, among those that `may_be` accepts.
fn shown(object: &Seen, may_be: impl Fn(&Form) -> bool) -> Option<Format> {
    let is_it = |format: &&Format| {
        let form = format.form();
        may_be(form) && form.shows.is_some_and(|shows| shows(object))
    };
    Format::ALL.iter().find(is_it).copied()
}

/// Returns whether a value is a whole conversation, not an entry of one.
pub(crate) fn is_document(value: Skim) -> bool {
    let object = Seen::new(value);
    // A message of a list is an entry, unless it holds messages itself.
    let holds = |form: &Form| form.lists.iter().any(|name| object.has(name));
    let is_shown = shown(&object, |form| !form.is_lines && (!form.is_items || holds(form))).is_some();
    value.first() == Some(b'{') && (is_shown || document(&object).is_some())
}

/// Detects a session file: one object after another.
fn entries(first: Skim) -> Option<Format> {
    let mut likely = None;
    for entry in std::iter::successors(Some(first), |entry| entry.after()).take(ENTRIES) {
        let entry = Seen::new(entry);
        if let Some(format) = shown(&entry, |form| form.is_lines) {
            return Some(format);
        }
        match self::entry(&entry) {
            Evidence::Form(format) => return Some(format),
            Evidence::Perhaps(format) => likely = likely.or(Some(format)),
            Evidence::Nothing => {}
        }
    }
    likely
}

/// Detects a session file with broken entries: examines each line by itself.
fn lines(bytes: &[u8]) -> Option<Format> {
    let starts = bytes.split(|byte| *byte == b'\n').take(ENTRIES);
    let starts = starts.map(|line| Skim::new(crate::lines::trim_zeros(line)));
    let mut whole = starts
        .filter(|line| line.first() == Some(b'{'))
        .filter(|line| line.after().is_some());
    whole.find_map(entries)
}

/// The evidence that an entry gives for the format of its file.
enum Evidence {
    Form(Format),
    /// This format, unless another entry identifies another one.
    Perhaps(Format),
    Nothing,
}

fn entry(entry: &Seen) -> Evidence {
    let kind = entry.string("type");
    let message = entry.get("message");
    let has = |name| entry.has(name);
    let is_linked = has("parentUuid") || has("sessionId") || has("uuid");
    if is_linked && message.is_some_and(|message| message.get("parts").is_some()) {
        return Evidence::Form(Format::QwenCode);
    }
    if has("messageId") && has("snapshot")
        || (is_linked || has("leafUuid")) && kind.is_some_and(|kind| kind == "summary" || claude_code::is_known(kind))
    {
        // Notes of the program precede the first message, and look alike in both.
        let may_be_other = kind == Some("system") && !has("message");
        let claude_code = Format::ClaudeCode;
        return if may_be_other {
            Evidence::Perhaps(claude_code)
        } else {
            Evidence::Form(claude_code)
        };
    }
    if has("payload") && kind.is_some_and(is_of_codex) {
        return Evidence::Form(Format::Codex);
    }
    if has("data") && has("timestamp") && kind.is_some_and(|kind| kind.contains('.') && copilot::is_known(kind)) {
        return Evidence::Form(Format::Copilot);
    }
    let format = match kind {
        Some("session") if has("cwd") || has("version") => Format::Pi,
        Some("message") if message.is_some_and(|message| message.get("role").is_some()) => Format::Pi,
        // Early versions of Codex wrote the bare items of requests, after a line with the instructions.
        Some("message") if has("role") && has("content") => Format::Codex,
        Some("function_call" | "function_call_output" | "reasoning" | "local_shell_call") => Format::Codex,
        None if goose::is_message(entry) => Format::Goose,
        None if has("timestamp") && (has("instructions") || has("git")) && has("id") => Format::Codex,
        _ => return Evidence::Nothing,
    };
    Evidence::Form(format)
}

fn is_of_codex(kind: &str) -> bool {
    const KINDS: [&str; 7] = [
        "session_meta", "response_item", "event_msg", "turn_context", "compacted", "session_state", "world_state",
    ];
    KINDS.contains(&kind)
}

/// Detects the format of one object that holds the whole conversation.
fn document(object: &Seen) -> Option<Format> {
    let list = |name| object.get(name).filter(Skim::is_list);
    if object
        .get("contents")
        .is_some_and(|value| matches!(value.first(), Some(b'[' | b'{')))
    {
        return Some(Format::Gemini);
    }
    if list("trajectory").or(list("history")).is_some() {
        return Some(Format::SweAgent);
    }
    let messages = list("messages");
    let input = object
        .get("input")
        .filter(|value| value.is_list() || value.string().is_some());
    let Some(messages) = messages else {
        return input.map(|_| Format::Responses);
    };
    if object.has("trajectory_format") {
        return Some(Format::MiniSweAgent);
    }
    let first = messages.items().next();
    if first.is_some_and(|message| message.get("info").is_some() && message.get("parts").is_some()) {
        return Some(Format::Opencode);
    }
    if let Some(info) = object.get("info") {
        let is_trajectory = ["mini_version", "model_stats", "exit_status"]
            .into_iter()
            .any(|name| info.get(name).is_some());
        return Some(if is_trajectory {
            Format::MiniSweAgent
        } else {
            Format::Opencode
        });
    }
    let clues = Clues::gather(messages);
    let is_noted = object.has("agent") || object.has("redistributable");
    if clues.neutral || (is_noted && object.has("source") && !object.has("max_tokens")) {
        return Some(Format::Corpus);
    }
    Some(clues.vendor().unwrap_or_else(|| around(object, &clues)))
}

/// Detects the format from the fields around the messages, if those are plain text.
fn around(object: &Seen, clues: &Clues) -> Format {
    const ANTHROPIC: [&str; 5] = [
        "system", "anthropic_version", "stop_sequences", "thinking", "mcp_servers",
    ];
    const OPENAI: [&str; 10] = [
        "max_completion_tokens", "response_format", "frequency_penalty", "presence_penalty", "reasoning_effort",
        "stream_options", "parallel_tool_calls", "logprobs", "seed", "stop",
    ];
    let any = |names: &[&str]| names.iter().any(|name| object.has(name));
    let tool = object.get("tools").and_then(|tools| tools.items().next());
    if tool.is_some_and(|tool| tool.get("function").is_some()) || any(&OPENAI) {
        return Format::Openai;
    }
    if tool.is_some_and(|tool| tool.get("input_schema").is_some()) || any(&ANTHROPIC) {
        return Format::Anthropic;
    }
    if clues.system || object.string("model").is_some_and(|model| model.contains("gpt")) {
        return Format::Openai;
    }
    Format::Anthropic
}

/// Detects the format of a bare list of messages or items.
fn list(list: Skim) -> Option<Format> {
    let first = list.items().next()?;
    if first.get("parts").is_some() {
        return Some(if first.get("info").is_some() {
            Format::Opencode
        } else {
            Format::Gemini
        });
    }
    let clues = Clues::gather(list);
    if clues.items {
        return Some(Format::Responses);
    }
    first.get("role")?;
    let plain = if clues.system {
        Format::Openai
    } else {
        Format::Anthropic
    };
    Some(clues.vendor().unwrap_or(plain))
}

/// Returns whether items of this type occur in Responses requests.
fn is_item(kind: &str) -> bool {
    const KINDS: [&str; 5] = ["message", "reasoning", "item_reference", "compaction", "mcp_list_tools"];
    KINDS.contains(&kind)
        || ["_call", "_output", "_response", "_request"]
            .iter()
            .any(|end| kind.ends_with(end))
}

/// Evidence in messages for their provider's format.
#[derive(Default)]
struct Clues {
    anthropic: bool,
    openai: bool,
    /// Items of Responses.
    items: bool,
    /// Annotations that only the neutral form has.
    neutral: bool,
    /// An inline system message.
    system: bool,
}

impl Clues {
    /// Examines messages until one identifies the format.
    fn gather(messages: Skim) -> Self {
        let mut clues = Clues::default();
        for message in messages.items() {
            clues.message(message);
            if clues.openai || clues.items || clues.neutral {
                break;
            }
        }
        clues
    }

    fn message(&mut self, message: Skim) {
        let mut has_role = false;
        for (name, value) in message.members() {
            match name {
                "role" => {
                    has_role = true;
                    match value.string() {
                        Some("system") => self.system = true,
                        Some("tool" | "function" | "developer") => self.openai = true,
                        _ => {}
                    }
                }
                "tool_calls" | "function_call" | "refusal" => self.openai = true,
                "meta" => self.neutral = true,
                // A message among Responses items names its type, and no other item has a role.
                "type" if value.string() == Some("message") => self.items = true,
                "call_id" | "encrypted_content" => self.items = true,
                "content" => value.items().for_each(|block| self.block(block)),
                _ => {}
            }
        }
        self.items |= !has_role && message.get_string("type").is_some_and(is_item);
    }

    fn block(&mut self, block: Skim) {
        match block.get_string("type") {
            Some("tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "image" | "document") => {
                self.anthropic = true;
                self.neutral |= block.get("synthetic").is_some();
            }
            Some("server_tool_use" | "search_result") => self.anthropic = true,
            Some("image_url" | "input_audio" | "file" | "refusal") => self.openai = true,
            Some("input_text" | "output_text" | "input_image" | "input_file") => self.items = true,
            _ => {}
        }
    }

    fn vendor(&self) -> Option<Format> {
        match (self.anthropic, self.openai) {
            (true, false) => Some(Format::Anthropic),
            (_, true) => Some(Format::Openai),
            (false, false) => None,
        }
    }
}
