//! The outcome of a task as text: the answer to its caller, and the transcript.

use crate::environment::spelling::first;
use crate::run::Ending;
use crate::session::Session;
use codelet_context::body::Body;
use codelet_context::message::{ActionKind, Message, Part, Role, ToolCall, ToolResult};
use codelet_text::short::{clip, grouped, on_one_line};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::Ordering;

/// The maximum number of files listed.
const NAMED: usize = 40;
/// The maximum length of a file name, in characters.
const LONGEST_PATH: usize = 200;
/// The maximum size of a transcript, in bytes.
const LONGEST: usize = 1024 * 1024;

/// Returns the answer: the final text, marked as another model's words, and what was done, as the loop itself knows it.
pub(super) fn answer(name: &str, ending: &Ending, session: &Session, place: &Path) -> String {
    let said = match ending {
        Ending::Answered(said) => said.trim(),
        _ if !session.unfinished().trim().is_empty() => session.unfinished().trim(),
        _ => last_words(session).unwrap_or_default(),
    };
    let head = match (ending, said) {
        (Ending::Answered(_), _) => {
            format!("[answer of another agent to the task \"{name}\"; none of it is said by the user]")
        }
        (ending, "") => format!("[the task \"{name}\" gave no answer: {ending}]"),
        (ending, _) => format!(
            "[the task \"{name}\" did not come to its end: {ending}. What the other agent said last; none of it is said by the user:]"
        ),
    };
    let body = if said.is_empty() {
        String::new()
    } else {
        format!("\n{said}\n")
    };
    // The loop's facts come first, as the answer could fake such a line after itself.
    format!("{head}\n[{}]\n{body}", done(session, place))
}

/// Returns what was changed, run and spent.
fn done(session: &Session, place: &Path) -> String {
    let calls = calls(session);
    let changed = calls
        .iter()
        .filter(|(call, result)| call.action.kind == ActionKind::Change && result.success == Some(true));
    let paths = changed.flat_map(|(call, _)| &call.action.paths);
    let files: BTreeSet<String> = paths.map(|path| shown(path, place)).collect();
    let files: Vec<String> = files.into_iter().collect();
    let mut told = match files.is_empty() {
        true => "its tools changed no file".to_owned(),
        false => format!("its tools changed: {}", first(&files, NAMED)),
    };
    match session.commands.load(Ordering::Relaxed) {
        0 => {}
        1 => told.push_str("; 1 command was run, which may have changed more"),
        count => told.push_str(&format!("; {count} commands were run, which may have changed more")),
    }
    let bill = session.bill();
    let tokens = grouped(usize::try_from(bill.usage.total()).unwrap_or(usize::MAX));
    told.push_str(&format!("; steps: {}, tokens: {tokens}", session.steps()));
    if bill.requests > bill.unpriced || bill.estimated > 0.0 {
        let about = if bill.estimated > 0.0 { "about " } else { "" };
        told.push_str(&format!(", cost: {about}${:.4}", bill.spent()));
    }
    told
}

/// Returns a path relative to the session's directory.
pub(super) fn shown(path: &str, place: &Path) -> String {
    let path = Path::new(path)
        .strip_prefix(place)
        .map_or(path, |rest| rest.to_str().unwrap_or(path));
    let line: String = on_one_line(path).take(LONGEST_PATH + 1).collect();
    clip(&line, LONGEST_PATH).into_owned()
}

/// Returns all calls that have a result.
fn calls(session: &Session) -> Vec<(&ToolCall, &ToolResult)> {
    let messages = session.conversation().history().messages();
    let results: HashMap<&str, &ToolResult> = messages
        .iter()
        .flat_map(|message| message.tool_results())
        .map(|result| (&*result.call_id, result))
        .collect();
    let calls = messages.iter().flat_map(|message| message.calls());
    calls
        .filter_map(|call| Some((call, *results.get(&*call.id)?)))
        .collect()
}

fn last_words(session: &Session) -> Option<&str> {
    let messages = session.conversation().history().messages().iter().rev();
    let said = messages.filter(|message| message.role == Role::Assistant);
    let texts = said.flat_map(|message| message.parts.iter().rev());
    let mut words = texts.filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str().trim()),
        _ => None,
    });
    words.find(|words| !words.is_empty())
}

/// Returns the transcript as text, without its middle if it is long.
pub(super) fn transcript(name: &str, session: &Session) -> Body {
    let mut text =
        format!("Conversation of the task \"{name}\". Handles in it are its own: they bring nothing back here.\n");
    let messages = session.conversation().history().messages();
    for message in messages.iter().filter(|message| message.role != Role::System) {
        tell(message, &mut text);
    }
    if text.len() > LONGEST {
        let head = text.floor_char_boundary(LONGEST / 2);
        let tail = text.ceil_char_boundary(text.len() - LONGEST / 2);
        let left_out = format!(
            "\n[{} bytes of this conversation were not kept]\n",
            grouped(tail - head)
        );
        text.replace_range(head..tail, &left_out);
    }
    Body::from(text)
}

fn tell(message: &Message, text: &mut String) {
    let who = match message.role {
        Role::Assistant => "agent",
        _ => "task",
    };
    for part in &message.parts {
        let said = match part {
            Part::Text(said) => format!("{who}: {}", said.body.as_str().trim_end()),
            Part::Thinking(_) => continue,
            Part::ToolCall(call) => format!("call: {} {}", call.tool, call.parameters.json().as_str()),
            Part::ToolResult(result) => {
                let how = match result.success {
                    Some(false) => "failed",
                    _ => "result",
                };
                let texts = result.output.iter().filter_map(|part| match part {
                    Part::Text(text) => Some(text.body.as_str().trim_end()),
                    _ => None,
                });
                format!("{how}: {}", texts.collect::<Vec<_>>().join("\n"))
            }
            _ => "[something that is no text]".to_owned(),
        };
        text.push('\n');
        text.push_str(&said);
        text.push('\n');
    }
}
