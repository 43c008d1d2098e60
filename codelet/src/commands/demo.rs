//! `codelet demo`: the real agent loop with the real tools on a small task, with a recorded model.

mod closing;
mod watched;

use crate::args::{Demo, OutputForm};
use crate::commands::{chat, once};
use crate::exit::{Exit, Failure, words};
use crate::front::Front;
use crate::model;
use crate::paint::{Ink, Look};
use crate::place::Place;
use crate::settings::Settings;
use crate::startup;
use crate::world;
use closing::Closing;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::{Billed, ModelError, Profile, Reply, Request, Stop};
use codelet_agent::permission::{Permission, Rules};
use codelet_agent::scripted::Scripted;
use codelet_agent::session::{Parts, Prompt, Session};
use codelet_context::message::{Message, Part, Role, ToolCall};
use codelet_context::price::{PriceCard, Rates};
use codelet_context::tokens::{estimate_bytes, estimate_message};
use codelet_context::usage::Usage;
use codelet_providers::vendor;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use watched::Watched;

/// The files of the task.
const FILES: [(&str, &str); 10] = [
    ("AGENTS.md", include_str!("../../demo/workspace/AGENTS.md")),
    ("README.md", include_str!("../../demo/workspace/README.md")),
    ("invoice.sh", include_str!("../../demo/workspace/invoice.sh")),
    ("test.sh", include_str!("../../demo/workspace/test.sh")),
    (
        "data/kitchen.csv",
        include_str!("../../demo/workspace/data/kitchen.csv"),
    ),
    (
        "data/kitchen.total",
        include_str!("../../demo/workspace/data/kitchen.total"),
    ),
    ("data/light.csv", include_str!("../../demo/workspace/data/light.csv")),
    (
        "data/light.total",
        include_str!("../../demo/workspace/data/light.total"),
    ),
    (
        "data/stationery.csv",
        include_str!("../../demo/workspace/data/stationery.csv"),
    ),
    (
        "data/stationery.total",
        include_str!("../../demo/workspace/data/stationery.total"),
    ),
];
/// The recorded replies of the model, in order.
const REPLIES: &str = include_str!("../../demo/replies.json");
/// The prompt.
const PROMPT: &str = "Some orders come out too low. Find out why, fix it, and make `sh test.sh` pass.";
/// A context window too small for the task.
const WINDOW: u64 = 16_000;
/// Lines of the long file.
const HISTORY: usize = 1_020;
/// The programs that the recorded calls run.
const PROGRAMS: [&str; 5] = ["sh", "cat", "dirname", "tail", "od"];
/// The last line of the task's test if it passes.
const PASSED: &str = "test result: ok";
/// The placeholder, in a recorded call, for the handle of something removed from the context.
const REMOVED: &str = "$REMOVED";

/// Runs the task in a temporary folder.
///
/// # Errors
/// If the folder cannot be created, or a program that the recorded calls run is missing.
pub fn run(args: &Demo, began: Instant) -> Result<Exit, Failure> {
    if let Some(missing) = missing() {
        return Err(Failure::Told(format!(
            "the demo needs {} to run a small test; `{missing}` is not in $PATH",
            PROGRAMS.map(|program| format!("`{program}`")).join(", ")
        )));
    }
    let scratch = tempfile::Builder::new()
        .prefix("codelet-demo-")
        .tempdir()
        .map_err(|error| Failure::at(std::env::temp_dir().display(), words(&error)))?;
    lay_out(scratch.path())?;
    let place = Place {
        // The user's own instructions and settings do not apply to the task.
        home: None,
        config: None,
        added: Vec::new(),
        ..Place::find(Some(scratch.path()))?
    };
    let place = Place {
        root: place.directory.clone(),
        ..place
    };
    let replies: Vec<Said> = serde_json::from_str(REPLIES).map_err(|error| Failure::Told(error.to_string()))?;
    let mut settings = Settings::default();
    settings.allow.value = vec!["sh test.sh".to_owned(), "tail *".to_owned(), "od *".to_owned()];
    let model = Arc::new(recorded(replies));
    let equipment = world::equipment(&settings, &place, &*model);
    let parts = Parts {
        model,
        tools: equipment.tools,
        gate: Arc::new(Rules {
            permission: Permission::Edit,
            allow: settings.allow.value.clone(),
            deny: Vec::new(),
        }),
        world: equipment.surroundings,
    };
    let mut session = Session::new(parts, startup::session_settings(&settings, false));
    let runtime = startup::runtime()?;
    let interrupt = startup::heed_signals()?;
    let mut front = match args.output {
        OutputForm::Text => shown(args, &interrupt)?,
        form => once::front(form, &interrupt)?,
    };
    let asked = once::PromptRun {
        prompt: Prompt::from(PROMPT),
        output: args.output,
        permission: Permission::Edit,
        transcript: None,
        began,
    };
    let done = once::carry(&mut session, asked, &runtime, &interrupt, &mut *front);
    runtime.shutdown_background();
    done
}

/// Returns the front end: on a terminal a session at reading speed, else one line per step.
fn shown(args: &Demo, interrupt: &Interrupt) -> Result<Box<dyn Front>, Failure> {
    let (out, told) = (Look::stdout(), Look::stderr());
    let is_watched = out.terminal && told.terminal && !out.dumb;
    let has_pauses = is_watched && !args.fast;
    let stop = if has_pauses {
        " (Ctrl-C stops, --fast does not pause)"
    } else {
        ""
    };
    let _ = writeln!(
        std::io::stderr(),
        "{} a recorded model, the real loop and tools, a window of {} tokens{stop}",
        told.ink(Ink::Cyan, "demo:"),
        codelet_text::short::grouped(WINDOW as usize),
    );
    let front: Box<dyn Front> = if is_watched {
        let look = chat::look(None).at_width(out.width.saturating_sub(1));
        let _ = writeln!(std::io::stderr());
        Box::new(Watched::new(std::io::stdout(), look, PROMPT, has_pauses, interrupt))
    } else {
        let prompt = told.ink(Ink::Green, &format!("> {PROMPT}"));
        let _ = writeln!(std::io::stderr(), "  {prompt}");
        let mut front = once::front(args.output, interrupt)?;
        front.follow();
        front
    };
    let settings = Settings::default();
    let has_key = vendor::vendors().any(|vendor| !vendor.keys.is_empty() && model::key(&settings, vendor).is_some());
    Ok(Box::new(Closing::new(front, std::io::stderr(), told, has_key)))
}

/// Returns the first program of the recorded calls that is missing.
fn missing() -> Option<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    PROGRAMS
        .into_iter()
        .find(|program| !folders.iter().any(|folder| folder.join(program).is_file()))
}

fn lay_out(folder: &Path) -> Result<(), Failure> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            // Never writes through a link that was created meanwhile.
            .and_then(|()| std::fs::File::create_new(&path)?.write_all(text.as_bytes()))
            .map_err(|error| Failure::io(&path, &error))
    };
    FILES.iter().try_for_each(|(name, text)| write(name, text))?;
    write("history.log", &history())
}

/// Returns a long file, the same in each run.
fn history() -> String {
    const WHAT: [&str; 5] = [
        "totals are printed in pounds",
        "comments may stand in an order",
        "the shop in Leith sends its orders by mail",
        "prices are kept in pence",
        "an empty line is no item",
    ];
    let mut text = String::new();
    for number in 0..HISTORY {
        let (year, month, day) = (2005 + number / 72, 1 + number / 6 % 12, 1 + number * 5 % 28);
        let what = WHAT[number * 7 % WHAT.len()];
        let _ = writeln!(text, "{year}-{month:02}-{day:02} change {number:03}: {what}");
    }
    text
}

/// A recorded reply.
#[derive(Deserialize)]
struct Said {
    text: String,
    calls: Vec<(String, Map<String, Value>)>,
}

fn recorded(replies: Vec<Said>) -> Scripted {
    let profile = Profile {
        name: "demo/recorded".to_owned(),
        window: WINDOW,
        max_output: 2_000,
        sees_images: false,
        // The price of a mid-sized model, so that there is a bill to show.
        price: Some(PriceCard::flat(
            "demo/recorded",
            Rates {
                input: 3.0,
                output: 15.0,
                cache_read: 0.3,
                cache_write: 3.75,
                cache_write_1h: 6.0,
            },
        )),
        is_unknown: false,
    };
    let mut replies = replies.into_iter().enumerate();
    let mut before = Vec::new();
    Scripted::by(profile, move |request| {
        let Some((number, said)) = replies.next() else {
            let said = "the recording has ended".to_owned();
            return Err(ModelError::Refused { said });
        };
        let is_last = said.calls.is_empty();
        let mut reply = Reply::of(message(number, said, request));
        if is_last && !has_passed(request) {
            // The recorded answer would be false.
            let said = "the test passed in the recording, but failed here; see its output above";
            reply = Reply::of(Message::new(Role::Assistant, Vec::new()));
            reply.stop = Stop::Declined(said.to_owned());
        }
        reply.billed = billed(request, &before, &reply.message);
        before.clone_from(&request.messages);
        Ok(reply)
    })
}

/// Returns whether the last call ran the test and it passed.
fn has_passed(request: &Request) -> bool {
    let last = request
        .messages
        .iter()
        .rev()
        .find_map(|message| message.tool_results().last());
    last.is_some_and(|result| result.texts().any(|text| text.body.as_str().contains(PASSED)))
}

fn message(number: usize, said: Said, request: &Request) -> Message {
    let mut parts = Vec::new();
    if !said.text.is_empty() {
        parts.push(Part::text(said.text));
    }
    for (at, (tool, mut parameters)) in said.calls.into_iter().enumerate() {
        for value in parameters.values_mut().filter(|value| **value == REMOVED) {
            *value = Value::from(a_handle(request).unwrap_or_default());
        }
        parts.push(Part::ToolCall(ToolCall::new(
            format!("demo_{number}_{at}"),
            tool,
            parameters,
        )));
    }
    Message::new(Role::Assistant, parts)
}

/// Returns a handle that the model can see in the request, from the header of the summary or from a marker.
fn a_handle(request: &Request) -> Option<String> {
    // The handle in the system prompt is only an example.
    let spoken = request.messages.iter().filter(|message| message.role != Role::System);
    let parts = spoken.flat_map(|message| &message.parts);
    let texts: Vec<&str> = parts
        .flat_map(|part| match part {
            Part::Text(text) => vec![text.body.as_str()],
            Part::ToolResult(result) => result.texts().map(|text| text.body.as_str()).collect(),
            _ => Vec::new(),
        })
        .collect();
    ["[Read ", " · recall "].iter().find_map(|opening| {
        texts.iter().find_map(|text| {
            let (_, rest) = text.split_once(opening)?;
            let (handle, _) = rest.split_once(']')?;
            handle
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric())
                .then(|| handle.to_owned())
        })
    })
}

/// Returns the usage that a vendor with a cache would bill, by the engine's estimate: the previous request's content is
/// read from the cache.
fn billed(request: &Request, before: &[Arc<Message>], reply: &Message) -> Billed {
    let weigh = |messages: &[Arc<Message>]| -> u64 { messages.iter().map(|message| estimate_message(message)).sum() };
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.parameters.to_string().len() + tool.description.len());
    let known = request.messages.iter().zip(before).take_while(|(a, b)| a == b).count();
    let (cached, new) = request.messages.split_at(known);
    let (cached, tools) = (weigh(cached), estimate_bytes(tools.sum()));
    let (read, fresh) = if known == 0 { (0, tools) } else { (cached + tools, 0) };
    Billed {
        usage: Usage::from_exclusive(fresh, weigh(new), read, estimate_message(reply)),
        ..Billed::default()
    }
}
