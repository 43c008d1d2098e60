//! Continuation of a recorded conversation: a transcript of Codelet's or a session of another agent.

use crate::exit::Failure;
use crate::input::{self, Input};
use crate::paint::{clean, count, dollars, number};
use crate::place::{self, Place};
use crate::recorded;
use crate::saved::Note;
use codelet_agent::session::Session;
use codelet_context::conversation::Signals;
use codelet_context::message::{
    ActionKind, BlockText, ChangeKind, Message, Origin, Parameters, Part, Role, Text, ToolCall,
};
use codelet_context::notice::Notice;
use codelet_context::policy::{CompactAt, Reason};
use codelet_transcript::{Document, Format, Maker, Warning};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// The number of files checked on disk, those most recently worked on.
const FILES: usize = 200;
/// The number of files named to the model.
const NAMED: usize = 40;
/// The size, in bytes, above which a file is compared by its times only.
const COMPARED: u64 = 4 * 1024 * 1024;

/// A recorded conversation to continue.
pub struct Recording {
    name: String,
    document: Document,
    /// Its session metadata, if it is a Codelet transcript.
    note: Option<Note>,
    /// The folder in which it was recorded.
    folder: Option<PathBuf>,
    /// The time at which the file was written.
    written: Option<SystemTime>,
}

impl Recording {
    /// Returns the format of the recording.
    pub fn format(&self) -> Format {
        self.document.format
    }

    /// Returns whether it names this project as its own.
    pub fn is_of_project(&self, place: &Place) -> bool {
        self.note.as_ref().is_some_and(|note| note.project == place.root)
    }

    /// Returns its recorded cost in US dollars.
    pub fn cost(&self) -> Option<f64> {
        spent(self.note.as_ref())
    }

    /// Returns the prompts that were queued when its user left.
    pub fn unsent(&self) -> &[String] {
        self.note.as_ref().map_or(&[], |note| &note.unsent)
    }

    /// Returns whether it is nothing but single runs with `-p`.
    pub fn is_run(&self) -> bool {
        self.note.as_ref().is_some_and(|note| note.is_run)
    }
}

/// Reads the file that the user names; of several conversations, the one with this index.
///
/// # Errors
/// If it cannot be read, contains no conversation, or contains several and no index is given.
pub fn read(file: &Path, index: Option<usize>) -> Result<Recording, Failure> {
    let input = Input::read_any(Some(file))?.one(index)?;
    let document = input.parse(None)?;
    let written = input.written;
    let note = Note::in_bytes(&input.bytes).filter(|_| document.format == Format::Anthropic);
    let folder = match &note {
        Some(note) => Some(note.cwd.clone()),
        None => recorded::folder_in(&input.bytes).map(PathBuf::from),
    };
    Ok(Recording {
        name: input.into_name(),
        document,
        note,
        folder: folder.filter(|folder| folder.is_absolute()),
        written,
    })
}

/// Information for the user about a continued conversation.
pub struct TakenOver {
    /// A one-line description of the recording.
    pub told: String,
    /// A notice if it was recorded in another project.
    pub elsewhere: Option<String>,
    /// The last prompt and the model's last text; empty if there is none.
    pub end: [String; 2],
    /// The reason for an immediate compaction, and its notice.
    pub compacted: Option<(Reason, Notice)>,
}

fn spent(note: Option<&Note>) -> Option<f64> {
    let cost = note?.cost_usd?;
    (cost.is_finite() && cost >= 0.0).then_some(cost)
}

/// Continues the recording in the session, and compacts it if it does not fit or costs more than a compaction.
pub fn go_on(session: &mut Session, recorded: Recording, place: &Place) -> TakenOver {
    let Recording {
        name,
        document,
        note,
        folder,
        written,
    } = recorded;
    // The new session has its own system prompt, instructions and reminders, and content signed by another model is sent
    // to no provider.
    let maker = Maker {
        form: document.format,
        model: "another session".to_owned(),
    };
    let mut messages: Vec<Message> = document.messages;
    messages.retain(|message| message.role != Role::System);
    if note.is_none() {
        leave_frame(&mut messages);
    }
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
    let files = files(&messages, written, folder.as_deref(), place);
    let folder = folder.filter(|folder| !is_here(folder, place));
    let names_files = messages
        .iter()
        .flat_map(|message| message.calls())
        .any(|call| matches!(call.action.kind, ActionKind::Change | ActionKind::Read) && !call.action.paths.is_empty());
    let uncompared = match folder.is_some() && names_files && files.is_empty() {
        true => "; the files that it names were not compared with those here",
        false => "",
    };
    let prompts = messages.iter().filter(|message| message.is_prompt()).count();
    let calls: usize = messages.iter().map(|message| message.calls().count()).sum();
    // The description's parenthesis is about the file format.
    let form = match note {
        Some(_) => "a Codelet transcript",
        None => document.format.describe().split(" (").next().unwrap_or_default(),
    };
    let spent = spent(note.as_ref());
    let names = told_files(&files);
    let shown = |path: &Path| clean(&place::shown(path, place.home.as_deref()));
    let elsewhere = folder.as_ref().map(|folder| {
        format!(
            "this conversation was recorded in {}; this session works in {}{uncompared}",
            shown(folder),
            shown(&place.directory)
        )
    });
    let moved = folder.map_or_else(String::new, |folder| {
        let folder = codelet_agent::spelling::spell(folder.as_os_str());
        format!(" It was recorded in another directory, {folder}{uncompared}.")
    });
    let goes_on = match &note {
        // The same session in an unchanged workspace needs no hint.
        Some(note) if note.project == place.root && !files.iter().any(|(_, stands)| *stands != Stands::AsItWas) => {
            String::new()
        }
        _ => format!(
            "This session goes on from a conversation that was recorded before, {form}: all that is above. The tools are those that you are \
             given now, whatever the calls above were named.{moved}{names}"
        ),
    };
    session.take_over(messages, &goes_on);
    let before = session.conversation().occupancy();
    let signals = Signals {
        is_cold: true,
        ..Signals::default()
    };
    let (mut compacted, mut refused) = (None, String::new());
    let is_off = session.conversation().config().compact_at == CompactAt::Never;
    let due = session.conversation().decide(signals);
    if let Some(due) = due.filter(|due| !is_off || !due.reason().is_forced()) {
        match session.conversation_mut().compact(due) {
            Ok(notice) => compacted = Some((due.reason(), notice)),
            Err(refusal) => refused = format!("; it could not be compacted: {refusal}"),
        }
    }
    let after = session.conversation().occupancy();
    let tokens = match after < before {
        true => format!(
            "{} of about {} tokens in the context window",
            number(after),
            number(before)
        ),
        false => format!("about {} tokens", number(before)),
    };
    let is_broken = |warning: &&Warning| matches!(warning, Warning::BrokenOff { .. });
    let broken = document.warnings.iter().find(is_broken);
    let broken = broken.map_or_else(String::new, |warning| format!("; {warning}"));
    let told = format!(
        "continuing {}{}: {}{}, {tokens}{}{}{broken}{refused}",
        shown(Path::new(&name)),
        match note {
            Some(_) => String::new(),
            None => format!(" ({form})"),
        },
        count(prompts, "prompt"),
        match calls {
            0 => String::new(),
            calls => format!(" with {}", count(calls, "tool call")),
        },
        spent.map_or_else(String::new, |spent| format!(", {} so far", dollars(spent))),
        summed(&files)
    );
    TakenOver {
        told,
        elsewhere,
        end,
        compacted,
    }
}

/// Removes what another agent sends in the user's name before the first prompt: its permissions, modes and skills, the
/// machine, and the instruction files of the directory where it ran. All of it is about that agent.
fn leave_frame(messages: &mut Vec<Message>) {
    let first = messages.iter().position(Message::is_prompt).unwrap_or_default();
    let mut before = 0..first;
    messages.retain(|message| before.next().is_none() || message.role != Role::User);
}

/// Returns whether a folder is part of the workspace, after resolving links.
fn is_here(folder: &Path, place: &Place) -> bool {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    real.starts_with(&place.root)
}

/// Returns the last prompt and the model's last text.
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

/// Redacts the user's keys and other secrets in the recording.
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
        // The readable part of an opaque block may be quoted.
        Part::Opaque(opaque) => {
            if let Some(BlockText::Call { body, .. } | BlockText::Output(body)) = &mut opaque.words {
                let hidden = session.hidden(body.as_str());
                if hidden != body.as_str() {
                    *body = hidden.into();
                }
            }
        }
        Part::Thinking(_) | Part::Image(_) => {}
    }
}

/// Renames another agent's tool call to Codelet's equivalent with the same parameters, since a model imitates the calls
/// it sees.
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
            parameters.push(("command", (**line).into()));
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

/// The state of a file on disk, compared with the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stands {
    AsItWas,
    Changed,
    Gone,
}

/// Returns the workspace's files that were worked on, with their current states, most recent first. Calls that failed
/// say nothing about a file. Relative paths are those of the folder in which it was recorded, if that is known.
fn files(
    messages: &[Message],
    written: Option<SystemTime>,
    folder: Option<&Path>,
    place: &Place,
) -> Vec<(PathBuf, Stands)> {
    let folder = folder.unwrap_or(&place.directory);
    // The last change of a file determines its expected content.
    let mut last: BTreeMap<PathBuf, (usize, Option<&ToolCall>)> = BTreeMap::new();
    let results = messages.iter().flat_map(|message| &message.parts);
    let failed: HashSet<&str> = results
        .filter_map(|part| match part {
            Part::ToolResult(result) if result.success == Some(false) => Some(&*result.call_id),
            _ => None,
        })
        .collect();
    let calls = messages.iter().flat_map(|message| message.calls());
    for (at, call) in calls.enumerate().filter(|(_, call)| !failed.contains(&*call.id)) {
        let changes = call.action.kind == ActionKind::Change;
        if !changes && call.action.kind != ActionKind::Read {
            continue;
        }
        for path in &call.action.paths {
            let path = folder.join(&**path);
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

/// Returns whether a file is inside a folder after resolving links: a recording from someone else must not probe other
/// files.
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

/// Lists the files in this state, at most `most` of them by name.
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

/// Describes the files for the model.
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

/// Describes the files for the user, on one line.
fn summed(files: &[(PathBuf, Stands)]) -> String {
    /// The maximum number of names on the line.
    const SHOWN: usize = 3;
    let told = |stands: Stands, what: &str| named(files, stands, SHOWN).map(|names| format!("; {what} since: {names}"));
    let told = [told(Stands::Changed, "changed"), told(Stands::Gone, "gone")];
    told.into_iter().flatten().collect()
}
