//! The events of a run, as updates.

use crate::diff;
use crate::editor::{Editor, clean, clean_line, fenced, text_block};
use agent_client_protocol::v1::schema::{
    ContentChunk, Cost, NoticeSeverity, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, ToolCall,
    ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use codelet_agent::event::{Event, Progress, Stopped};
use codelet_agent::session::Session;
use codelet_context::message::{Action, ActionKind, ChangeKind, Origin, Part};
use codelet_context::notice::Notice;
use codelet_context::todo::TodoState;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum characters of a title.
const TITLE: usize = 300;
/// Maximum bytes shown of a finished output, and of one while its tool runs.
const SHOWN: usize = 48 * 1024;
const TAIL: usize = 8 * 1024;
/// Minimum time between two updates of a growing output: each contains everything shown of it.
const BETWEEN: Duration = Duration::from_millis(200);
/// Maximum locations of a call.
const MOST_PLACES: usize = 50;

/// State of the session that is needed to report an event.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Lookup {
    /// The occupancy of the context window, and the cost.
    Usage,
    /// The to-do list.
    Todo,
    /// The summary of a compaction.
    Summary(Notice),
}

/// The result of a lookup.
pub(crate) enum LookedUp {
    Update(Box<SessionUpdate>),
    Compacted(Notice, String),
}

/// Reports a session to an editor.
#[derive(Default)]
pub(crate) struct Teller {
    base: PathBuf,
    /// The number of the model's answers so far: each is a message of its own.
    answers: u64,
    compactions: u64,
    /// The reason of the current wait, which is reported once.
    waited: String,
    running: HashMap<Arc<str>, Running>,
    /// The usage reported last.
    usage: Option<UsageUpdate>,
}

/// A running call.
struct Running {
    kind: ActionKind,
    /// The end of its output so far.
    tail: String,
    begun: Instant,
    /// The time of the last update.
    shown: Option<Instant>,
    /// Some of the output was not shown yet.
    is_behind: bool,
}

impl Running {
    /// The time at which the output is due; none if all of it was shown.
    fn due(&self) -> Option<Instant> {
        let due = self.shown.map_or(self.begun, |shown| shown + BETWEEN);
        self.is_behind.then_some(due)
    }
}

impl Teller {
    /// Relative file names are resolved against `base`.
    pub fn new(base: PathBuf) -> Self {
        Teller {
            base,
            ..Teller::default()
        }
    }

    /// Reports an event; returns the lookup that the rest of it needs.
    pub fn on(&mut self, event: Event, editor: &Editor) -> Option<Lookup> {
        match event {
            Event::Asking { .. } => {
                self.waited.clear();
                self.answers += 1;
            }
            Event::Text(text) => editor.update(SessionUpdate::AgentMessageChunk(self.chunk(text, "answer"))),
            Event::Thinking(text) => editor.update(SessionUpdate::AgentThoughtChunk(self.chunk(text, "thought"))),
            Event::Void => {
                self.answers += 1;
                editor.notice(NoticeSeverity::Warning, "The answer above was interrupted; it is requested again.");
            }
            Event::Billed { .. } => return Some(Lookup::Usage),
            Event::Waiting { cause, .. } if self.waited != cause => {
                editor.notice(NoticeSeverity::Info, &format!("Waiting: {cause}"));
                self.waited = cause;
            }
            Event::ToolStarted {
                id,
                tool,
                description,
                action,
            } => self.started(id, &tool, &description, &action, editor),
            Event::ToolPermitted { id } => editor.update(begun(id)),
            Event::ToolPrinted { id, text } => self.printed(&id, &text, editor),
            Event::ToolFinished {
                id,
                success,
                printed,
                diff,
                stopped,
                ..
            } => {
                let kind = self.running.remove(&id).map(|running| running.kind);
                editor.update(finished(&id, success, (printed.as_str(), &diff), stopped, &self.base));
                return (success && kind == Some(ActionKind::Todo)).then_some(Lookup::Todo);
            }
            Event::Compacted { notice, .. } => return Some(Lookup::Summary(notice)),
            Event::TakenBack(turn) => editor.notice(
                NoticeSeverity::Warning,
                &format!(
                    "The provider would refuse this prompt again, so it was removed with everything after it: your next prompt is \
                     sent without it. /recall {} shows it.",
                    turn.handle
                ),
            ),
            Event::Task { id, progress } => self.task(&id, &progress, editor),
            Event::Notice(text) => editor.notice(NoticeSeverity::Warning, &text),
            // The outcome of a refused call is part of its result, and the end of the run is the answer to the prompt.
            Event::Waiting { .. } | Event::Calling { .. } | Event::Refused { .. } | Event::Over(_) => {}
        }
        None
    }

    fn chunk(&self, text: String, what: &str) -> ContentChunk {
        ContentChunk::new(text_block(text)).message_id(format!("{what}-{}", self.answers).as_str())
    }

    fn started(&mut self, id: Arc<str>, tool: &Arc<str>, description: &str, action: &Action, editor: &Editor) {
        let call = call(&id, tool, description, action, &self.base);
        // Without a status it is pending.
        editor.update(SessionUpdate::ToolCall(call));
        let running = Running {
            kind: action.kind,
            tail: String::new(),
            begun: Instant::now(),
            shown: None,
            is_behind: false,
        };
        self.running.insert(id, running);
    }

    fn printed(&mut self, id: &Arc<str>, text: &str, editor: &Editor) {
        let Some(running) = self.running.get_mut(id) else {
            return;
        };
        running.tail.push_str(text);
        if running.tail.len() > 2 * TAIL {
            let from = running.tail.ceil_char_boundary(running.tail.len() - TAIL);
            running.tail.drain(..from);
        }
        running.is_behind = true;
        self.catch_up(editor);
    }

    /// Shows a task's progress, replacing the previous one.
    fn task(&mut self, id: &Arc<str>, progress: &Progress, editor: &Editor) {
        if let Some(running) = self.running.get_mut(id) {
            running.tail = format!("steps: {}\n{}", progress.steps, progress.doing);
            running.is_behind = true;
            self.catch_up(editor);
        }
    }

    /// The time at which more output is due; none if everything was shown.
    pub fn due(&self) -> Option<Instant> {
        self.running.values().filter_map(Running::due).min()
    }

    /// Shows the output of running tools that is due.
    pub fn catch_up(&mut self, editor: &Editor) {
        let now = Instant::now();
        for (id, running) in &mut self.running {
            if running.due().is_some_and(|due| due <= now) {
                (running.shown, running.is_behind) = (Some(now), false);
                let fields = ToolCallUpdateFields::new().content(vec![output(&running.tail)]);
                editor.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(
                    Arc::clone(id),
                    fields,
                )));
            }
        }
    }

    /// Reports the result of a lookup.
    pub fn found(&mut self, found: LookedUp, editor: &Editor) {
        match found {
            LookedUp::Update(update) => match *update {
                SessionUpdate::UsageUpdate(usage) => self.usage(usage, editor),
                update => editor.update(update),
            },
            LookedUp::Compacted(notice, summary) => self.compacted(&notice, &summary, editor),
        }
    }

    /// Reports the occupancy and the cost, unless they are unchanged.
    pub fn usage(&mut self, usage: UsageUpdate, editor: &Editor) {
        if self.usage.as_ref() != Some(&usage) {
            self.usage = Some(usage.clone());
            editor.update(SessionUpdate::UsageUpdate(usage));
        }
    }

    /// Shows a compaction with its summary. One that only trims outputs has none, and is reported in a line.
    pub fn compacted(&mut self, notice: &Notice, summary: &str, editor: &Editor) {
        let mut told = notice.clone();
        told.can_undo = false;
        let line = told.pieces().join(" · ");
        let warnings = notice.warnings.iter().filter(|warning| !warning.repeats_the_notice());
        let warnings: Vec<String> = warnings.map(ToString::to_string).collect();
        if !notice.changed || notice.set_aside.is_some() {
            editor.notice(NoticeSeverity::Info, &line);
        } else {
            self.compactions += 1;
            let id = format!("compaction-{}", self.compactions);
            show_as_call(&id, &line, summary, editor);
        }
        for warning in warnings {
            editor.notice(NoticeSeverity::Warning, &warning);
        }
    }
}

/// Performs a lookup.
pub(crate) fn look_up(lookup: Lookup, session: &Session) -> LookedUp {
    match lookup {
        Lookup::Usage => LookedUp::Update(Box::new(SessionUpdate::UsageUpdate(usage(session)))),
        Lookup::Todo => LookedUp::Update(Box::new(todo(session))),
        Lookup::Summary(notice) => LookedUp::Compacted(notice, summary(session)),
    }
}

/// The occupancy of the context window and the session's cost.
pub(crate) fn usage(session: &Session) -> UsageUpdate {
    let conversation = session.conversation();
    let usage = UsageUpdate::new(conversation.occupancy(), conversation.config().window());
    let bill = session.bill();
    // A partly unknown sum is not reported.
    let is_known = bill.requests > 0 && bill.unpriced == 0;
    match is_known {
        true => usage.cost(Cost::new((bill.cost.total() * 1e6).round() / 1e6, "USD")),
        false => usage,
    }
}

/// The to-do list, without dropped items.
pub(crate) fn todo(session: &Session) -> SessionUpdate {
    let items = session.conversation().todo().items();
    let entries = items.filter_map(|item| {
        let status = match item.state {
            TodoState::Open => PlanEntryStatus::Pending,
            TodoState::Active => PlanEntryStatus::InProgress,
            TodoState::Done => PlanEntryStatus::Completed,
            TodoState::Dropped => return None,
        };
        Some(PlanEntry::new(clean(&item.text), PlanEntryPriority::Medium, status))
    });
    SessionUpdate::Plan(Plan::new(entries.collect()))
}

/// The summary of older messages.
pub(crate) fn summary(session: &Session) -> String {
    let parts = session
        .conversation()
        .view()
        .messages
        .iter()
        .flat_map(|message| &message.parts);
    let summaries = parts.filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Summary => Some(text.body.as_str()),
        _ => None,
    });
    summaries.collect::<Vec<_>>().join("\n")
}

/// The title of a call. A command needs no tool name.
pub(crate) fn title(tool: &str, description: &str, is_command: bool) -> String {
    match description.trim() {
        "" => clean_line(tool, TITLE),
        line if is_command => clean_line(line, TITLE),
        line => clean_line(&format!("{tool} {line}"), TITLE),
    }
}

/// The first update of a call.
pub(crate) fn call(id: &str, tool: &str, description: &str, action: &Action, base: &Path) -> ToolCall {
    let places = action.paths.iter().take(MOST_PLACES);
    let title = title(tool, description, action.kind == ActionKind::Command);
    ToolCall::new(id.to_owned(), title)
        .name(tool.to_owned())
        .kind(kind(action))
        .locations(places.map(|path| ToolCallLocation::new(base.join(&**path))).collect())
}

fn kind(action: &Action) -> ToolKind {
    match (action.kind, action.change) {
        (ActionKind::Read, _) => ToolKind::Read,
        (ActionKind::Change, ChangeKind::Removes) => ToolKind::Delete,
        (ActionKind::Change, ChangeKind::Moves) => ToolKind::Move,
        (ActionKind::Change, _) => ToolKind::Edit,
        (ActionKind::Command, _) => ToolKind::Execute,
        (ActionKind::Search, _) => ToolKind::Search,
        (ActionKind::Todo, _) => ToolKind::Think,
        (ActionKind::Ask | ActionKind::Note | ActionKind::Other, _) => ToolKind::Other,
    }
}

/// The update of a call that is permitted.
pub(crate) fn begun(id: Arc<str>) -> SessionUpdate {
    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))
}

/// The result of a call, with its output and changes.
fn finished(
    id: &str,
    success: bool,
    (printed, changed): (&str, &str),
    stopped: Option<Stopped>,
    base: &Path,
) -> SessionUpdate {
    let shown = diff::shown(changed, base);
    let mut fields = ToolCallUpdateFields::new().status(match success {
        true => ToolCallStatus::Completed,
        false => ToolCallStatus::Failed,
    });
    let mut content = shown.content;
    match stopped {
        _ if !content.is_empty() => fields = fields.locations(shown.locations),
        Some(stopped) if printed.trim().is_empty() => content.push(text_block(stopped.name()).into()),
        _ if printed.trim().is_empty() => {}
        _ => content.push(output(printed)),
    }
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields.content(content)))
}

/// A program's output; a long one is shortened to its beginning and its end.
pub(crate) fn output(text: &str) -> ToolCallContent {
    let shown = match text.len() > SHOWN {
        true => {
            let (head, tail) = (SHOWN * 2 / 3, SHOWN / 3);
            let (head, tail) = (
                text.floor_char_boundary(head),
                text.ceil_char_boundary(text.len() - tail),
            );
            format!(
                "{}\n[{} bytes are not shown]\n{}",
                &text[..head],
                tail - head,
                &text[tail..]
            )
        }
        false => text.to_owned(),
    };
    text_block(fenced(&clean(&shown), "")).into()
}

/// Shows a compaction as a completed call, since editors fold these.
fn show_as_call(id: &str, line: &str, summary: &str, editor: &Editor) {
    let call = ToolCall::new(id.to_owned(), clean_line(line, TITLE))
        .kind(ToolKind::Think)
        .status(ToolCallStatus::Completed);
    let content = match summary.trim().is_empty() {
        true => Vec::new(),
        false => vec![output(summary)],
    };
    editor.update(SessionUpdate::ToolCall(call.content(content)));
}
