//! A session that goes on from a recorded conversation: its own transcript, or a session of another agent.

use crate::exit::Failure;
use crate::input::{self, Input};
use crate::paint::{clean, count, number};
use crate::place::{self, Place};
use crate::recorded;
use crate::saved::Note;
use codelet_agent::session::Session;
use codelet_context::conversation::Signals;
use codelet_context::message::{
    ActionKind, ChangeKind, Message, Origin, Parameters, Part, Role, Text, ToolCall, Words,
};
use codelet_context::notice::Notice;
use codelet_context::policy::{CompactAt, Reason};
use codelet_transcript::{Document, Format, Maker};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// So many files, the last that were worked on, are looked at on the disk.
const FILES: usize = 200;
/// Of so many the model is told the names.
const NAMED: usize = 40;
/// A file that is longer, in bytes, is told by its times alone.
const COMPARED: u64 = 4 * 1024 * 1024;

/// A conversation that was read, to go on from.
pub struct Recorded {
    name: String,
    document: Document,
    /// What it says of its session, if it is a transcript of ours.
    note: Option<Note>,
    /// The folder in which it was made.
    folder: Option<PathBuf>,
    /// When the file was written.
    written: Option<SystemTime>,
}

impl Recorded {
    /// The form that it is recorded in.
    pub fn format(&self) -> Format {
        self.document.format
    }

    /// Whether it was made in this project, as far as it says.
    pub fn is_of_project(&self, place: &Place) -> bool {
        self.note.as_ref().is_some_and(|note| note.project == place.root)
    }

    /// What it has cost so far, in US dollars, as it says.
    pub fn cost(&self) -> Option<f64> {
        let cost = self.note.as_ref()?.cost_usd?;
        (cost.is_finite() && cost >= 0.0).then_some(cost)
    }
}

/// Reads the file that the user names; of several conversations, the one with this number.
///
/// # Errors
/// When it cannot be read, or holds no conversation, or several without a number.
pub fn read(file: &Path, index: Option<usize>) -> Result<Recorded, Failure> {
    let input = Input::read_any(Some(file))?.one(index)?;
    let document = input.parse(None)?;
    let written = input.written;
    let note = Note::in_bytes(&input.bytes).filter(|_| document.format == Format::Anthropic);
    let folder = match &note {
        Some(note) => Some(note.cwd.clone()),
        None => recorded::folder_in(&input.bytes).map(PathBuf::from),
    };
    Ok(Recorded {
        name: input.into_name(),
        document,
        note,
        folder: folder.filter(|folder| folder.is_absolute()),
        written,
    })
}

/// What the user is told of it.
pub struct TakenOver {
    /// What was taken over, in a line.
    pub told: String,
    /// That it was recorded in another project.
    pub elsewhere: Option<String>,
    /// The last prompt, and what the model said last; empty where there is none.
    pub end: [String; 2],
    /// Why it was compacted at once, and what that came to.
    pub compacted: Option<(Reason, Notice)>,
}

/// Has the session go on from it, and compacts it where it does not fit or costs more than compacting.
pub fn go_on(session: &mut Session, recorded: Recorded, place: &Place) -> TakenOver {
    let Recorded {
        name,
        document,
        note,
        folder,
        written,
    } = recorded;
    // Another session has its own system prompt and reminders, and what another model has signed goes to nobody.
    let maker = Maker {
        form: document.format,
        model: "another session".to_owned(),
    };
    let mut messages: Vec<Message> = document.messages;
    messages.retain(|message| message.role != Role::System);
    for message in &mut messages {
        message.parts.retain(|part| {
            !matches!(
                part,
                Part::Text(Text {
                    origin: Origin::Reminder(_),
                    ..
                })
            )
        });
        for part in &mut message.parts {
            hide(part, session);
            if let Part::ToolCall(call) = part {
                translate(call);
            }
        }
        if message.role == Role::Assistant {
            maker.sign(message);
        }
    }
    messages.retain(|message| !message.parts.is_empty());
    let end = end(&messages);
    let files = files(&messages, written, place);
    let prompts = messages.iter().filter(|message| message.is_prompt()).count();
    let calls: usize = messages.iter().map(|message| message.calls().count()).sum();
    // What is behind it says how the file is written.
    let form = match note {
        Some(_) => "a Codelet transcript",
        None => document.format.describe().split(" (").next().unwrap_or_default(),
    };
    let names = told_files(&files);
    let shown = |path: &Path| clean(&place::shown(path, place.home.as_deref()));
    let folder = folder.filter(|folder| !is_here(folder, place));
    let elsewhere = folder.as_ref().map(|folder| {
        format!(
            "this conversation was recorded in {}; this session works in {}",
            shown(folder),
            shown(&place.directory)
        )
    });
    let moved = folder.map_or_else(String::new, |folder| {
        let folder = codelet_agent::spelling::spell(folder.as_os_str());
        format!(" It was recorded in another directory, {folder}.")
    });
    let goes_on = match &note {
        // It is the same session, and what it does is the same as before.
        Some(note) if note.project == place.root && !files.iter().any(|(_, stands)| *stands != Stands::AsItWas) => {
            String::new()
        }
        _ => format!(
            "This session goes on from a conversation that was recorded before, {form}: all that is above. The tools are those that you are \
             given now, whatever the calls above were named.{moved}{names}"
        ),
    };
    session.take_over(messages, &goes_on);
    let tokens = number(session.conversation().occupancy());
    let mut told = format!(
        "continuing {} ({form}): {}{}, about {tokens} tokens{}",
        shown(Path::new(&name)),
        count(prompts, "prompt"),
        match calls {
            0 => String::new(),
            calls => format!(" with {}", count(calls, "tool call")),
        },
        summed(&files)
    );
    let signals = Signals {
        is_cold: true,
        ..Signals::default()
    };
    let mut compacted = None;
    let is_off = session.conversation().config().compact_at == CompactAt::Never;
    let due = session.conversation().decide(signals);
    if let Some(due) = due.filter(|due| !is_off || !due.reason().is_forced()) {
        match session.conversation_mut().compact(due) {
            Ok(notice) => compacted = Some((due.reason(), notice)),
            Err(refusal) => told.push_str(&format!("; it could not be compacted: {refusal}")),
        }
    }
    TakenOver {
        told,
        elsewhere,
        end,
        compacted,
    }
}

/// Whether a folder is part of the workspace, by whatever name.
fn is_here(folder: &Path, place: &Place) -> bool {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    real.starts_with(&place.root)
}

/// The last prompt, and what the model said last.
fn end(messages: &[Message]) -> [String; 2] {
    let words = |message: &Message| {
        let texts = message.parts.iter().filter_map(|part| match part {
            Part::Text(text) if text.origin == Origin::Own => Some(text.body.as_str().trim()),
            _ => None,
        });
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    };
    let prompt = messages.iter().rposition(Message::is_prompt);
    let answers = messages[prompt.unwrap_or_default()..].iter().rev();
    let mut answers = answers.filter(|message| message.role == Role::Assistant);
    let prompt = prompt.and_then(|at| words(&messages[at]));
    [prompt, answers.find_map(words)].map(Option::unwrap_or_default)
}

/// Keys and other secrets of the user's that stand in the recording go to nobody.
fn hide(part: &mut Part, session: &Session) {
    match part {
        Part::Text(text) => {
            let hidden = session.hidden(text.body.as_str());
            if hidden != text.body.as_str() {
                text.body = hidden.into();
            }
        }
        Part::ToolResult(result) => result.output.iter_mut().for_each(|part| hide(part, session)),
        Part::ToolCall(call) => {
            let json = call.parameters.json();
            let hidden = session.hidden(json.as_str());
            if hidden != json.as_str()
                && let Ok(map) = serde_json::from_str(&hidden)
            {
                call.parameters = Parameters::new(map);
            }
        }
        // What can be read in a block may be quoted.
        Part::Opaque(opaque) => {
            if let Some(Words::Call { body, .. } | Words::Output(body)) = &mut opaque.words {
                let hidden = session.hidden(body.as_str());
                if hidden != body.as_str() {
                    *body = hidden.into();
                }
            }
        }
        Part::Thinking(_) | Part::Image(_) => {}
    }
}

/// Names a call of another agent's tool as ours, where ours does the same with the same parameters: a model calls what it sees called.
fn translate(call: &mut ToolCall) {
    let given = call.parameters.as_map();
    let text = |names: &[&str]| names.iter().find_map(|name| given.get(*name)?.as_str());
    let path = match &call.action.paths[..] {
        [path] => Some(&**path),
        _ => None,
    };
    let file = path.or_else(|| text(&["file_path", "filePath", "path", "absolute_path"]));
    let mut parameters: Vec<(&str, Value)> = Vec::new();
    let tool = match call.action.kind {
        ActionKind::Command => {
            let Some(line) = &call.action.command else { return };
            parameters.push(("command", line.as_str().into()));
            "Bash"
        }
        ActionKind::Read => {
            let Some(file) = file else { return };
            parameters.push(("file_path", file.into()));
            for name in ["offset", "limit"] {
                parameters.extend(
                    given
                        .get(name)
                        .filter(|value| value.is_u64())
                        .map(|value| (name, value.clone())),
                );
            }
            "Read"
        }
        ActionKind::Change if call.action.change == ChangeKind::Writes => {
            let Some(file) = file else { return };
            parameters.push(("file_path", file.into()));
            let old = text(&["old_string", "oldString", "old_str", "oldText"]);
            let new = text(&["new_string", "newString", "new_str", "newText"]);
            match (old, new, text(&["content", "file_text"])) {
                (Some(old), Some(new), None) => {
                    parameters.extend([("old_string", old.into()), ("new_string", new.into())]);
                    let all = ["replace_all", "replaceAll"]
                        .iter()
                        .find_map(|name| given.get(*name)?.as_bool());
                    parameters.extend(all.map(|all| ("replace_all", all.into())));
                    "Edit"
                }
                (None, None, Some(content)) => {
                    parameters.push(("content", content.into()));
                    "Write"
                }
                _ => return,
            }
        }
        _ => return,
    };
    let parameters: Map<String, Value> = parameters
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    call.tool = tool.into();
    call.parameters = Parameters::new(parameters);
}

/// How a file stands on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stands {
    AsItWas,
    Changed,
    Gone,
}

/// The files of the workspace that were worked on, as they stand now, those that were worked on last first.
fn files(messages: &[Message], written: Option<SystemTime>, place: &Place) -> Vec<(PathBuf, Stands)> {
    // The last change of a file says what ought to be in it.
    let mut last: BTreeMap<PathBuf, (usize, Option<&ToolCall>)> = BTreeMap::new();
    let calls = messages.iter().flat_map(|message| message.calls());
    for (at, call) in calls.enumerate() {
        let changes = call.action.kind == ActionKind::Change;
        if !changes && call.action.kind != ActionKind::Read {
            continue;
        }
        for path in &call.action.paths {
            let path = place.directory.join(&**path);
            if !is_within(&path, &place.root) {
                continue;
            }
            let known = last.entry(path).or_insert((at, None));
            known.0 = at;
            if changes {
                known.1 = Some(call);
            }
        }
    }
    let mut files: Vec<_> = last.into_iter().collect();
    files.sort_by_key(|(_, (at, _))| std::cmp::Reverse(*at));
    let stands = |(path, (_, change)): (PathBuf, (usize, Option<&ToolCall>))| {
        let stands = stands(&path, change, written);
        let shown = path.strip_prefix(&place.directory).map(Path::to_owned).unwrap_or(path);
        (shown, stands)
    };
    files.into_iter().take(FILES).map(stands).collect()
}

/// Whether a file lies in a folder, through all links: a recording that somebody else made is to find out nothing of others.
fn is_within(path: &Path, root: &Path) -> bool {
    let goes_up = path.components().any(|piece| piece == Component::ParentDir);
    let real = path.ancestors().find_map(|above| above.canonicalize().ok());
    !goes_up
        && root
            .canonicalize()
            .is_ok_and(|root| real.is_some_and(|real| real.starts_with(root)))
}

fn stands(path: &Path, change: Option<&ToolCall>, written: Option<SystemTime>) -> Stands {
    let removed = change.is_some_and(|call| call.action.change == ChangeKind::Removes);
    let Ok(found) = path.metadata() else {
        return if removed { Stands::AsItWas } else { Stands::Gone };
    };
    let is_newer = found
        .modified()
        .ok()
        .zip(written)
        .is_some_and(|(modified, written)| modified > written);
    let holds = |call: &ToolCall| {
        let whole = call.parameters.str("content");
        let Some(part) = whole.or_else(|| call.parameters.str("new_string")) else {
            return true;
        };
        match input::regular(path, COMPARED) {
            Ok(bytes) if whole.is_some() => bytes == part.as_bytes(),
            Ok(bytes) => String::from_utf8_lossy(&bytes).contains(part),
            Err(_) => true,
        }
    };
    match is_newer || removed || !change.is_none_or(holds) {
        true => Stands::Changed,
        false => Stands::AsItWas,
    }
}

/// The files that stand so, so many of them by name.
fn named(files: &[(PathBuf, Stands)], stands: Stands, most: usize) -> Option<String> {
    let all: Vec<String> = files
        .iter()
        .filter(|(_, found)| *found == stands)
        .map(|(path, _)| codelet_agent::spelling::spell(path.as_os_str()))
        .collect();
    let more = all.len().saturating_sub(most);
    let mut names = all[..all.len().min(most)].join(", ");
    if more > 0 {
        names.push_str(&format!(" and {more} more"));
    }
    (!names.is_empty()).then_some(names)
}

/// What the model is told of the files.
fn told_files(files: &[(PathBuf, Stands)]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let mut told = String::new();
    for (stands, what) in [(Stands::Changed, "changed"), (Stands::Gone, "gone")] {
        if let Some(names) = named(files, stands, NAMED) {
            told.push_str(&format!(
                "\nOf the files that were worked on, these are {what} since: {names}"
            ));
        }
    }
    match told.is_empty() {
        true => "\nThe files that were worked on are as they were.".to_owned(),
        false => told,
    }
}

/// The same for the user, in a line.
fn summed(files: &[(PathBuf, Stands)]) -> String {
    /// More names than these make no line.
    const SHOWN: usize = 3;
    let told = |stands: Stands, what: &str| named(files, stands, SHOWN).map(|names| format!("; {what} since: {names}"));
    match [told(Stands::Changed, "changed"), told(Stands::Gone, "gone")] {
        _ if files.is_empty() => String::new(),
        [None, None] => format!("; no change since in {} that it worked on", count(files.len(), "file")),
        told => told.into_iter().flatten().collect(),
    }
}
