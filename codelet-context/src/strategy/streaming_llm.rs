//! Strategy `streaming_llm`: leaves out whole old steps, as the last resort to meet a budget.
//!
//! The system prompt, every user message with more than tool results, and the recent window stay. Between them, steps
//! are left out, oldest first, until the view fits. One short marker replaces adjacent steps; its handle restores a
//! list of their content, with a handle for each text, result and set of parameters.

use super::{Limits, StrategyCount, part_bytes, recent_window, thinking_prune};
use crate::message::cut::{grouped, plain_name};
use crate::message::exchange::Calls;
use crate::message::recall::{Archive, Handle};
use crate::message::tokens::{self, Tokens};
use crate::message::turn;
use crate::message::view::View;
use crate::message::{Message, Nature, Origin, Part, Role, Text};
use crate::text::body::Body;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The name in reports.
pub const NAME: &str = "streaming_llm";

/// The maximum bytes of a marker: a few numbers and [`TOOLS`] names of [`TOOL_NAME`] characters.
const LONGEST_MARKER: usize = 320;
/// The maximum number of tools named in a marker.
const TOOLS: usize = 3;
/// The maximum characters of a tool's name in a marker.
const TOOL_NAME: usize = 16;
/// The maximum characters of a call's parameters in the list.
const PREVIEW: usize = 120;

/// Leaves out steps before the recent window until the view fits the budget. Does nothing without a budget or within
/// it.
pub(crate) fn leave_out_old_steps(view: &mut View, limits: &Limits) -> StrategyCount {
    let mut count = StrategyCount::default();
    let Some(budget) = limits.budget else { return count };
    let total: Tokens = view
        .messages
        .iter()
        .map(|message| tokens::estimate_message(message))
        .sum();
    let Some(over) = total.checked_sub(budget).filter(|over| *over > 0) else {
        return count;
    };

    let leaves = choose(view, limits, over);
    if leaves.iter().all(|leaves| !leaves) {
        return count;
    }
    let old = std::mem::take(&mut view.messages);
    let mut tools = Calls::default();
    let mut gap = Gap::default();
    for (message, leaves) in old.into_iter().zip(leaves) {
        note_tools(&message, &mut tools);
        if !leaves {
            gap.close(view, &mut count);
            view.messages.push(message);
        } else {
            gap.take(&message, &tools, &mut view.archive);
            let rest = rest(&message);
            if !rest.parts.is_empty() {
                gap.close(view, &mut count);
                view.messages.push(Arc::new(rest));
            }
        }
    }
    gap.close(view, &mut count);
    count
}

/// Selects the messages to remove, at least in part. A gap must save more than its marker takes; once started, it is
/// extended until it does.
fn choose(view: &View, limits: &Limits, over: Tokens) -> Vec<bool> {
    let messages = &view.messages;
    let mut leaves = vec![false; messages.len()];
    let marker = tokens::estimate_bytes(LONGEST_MARKER) + tokens::PART_TOKENS;
    let end = recent_window(messages, limits);
    let mut saved: Tokens = 0;
    for gap in gaps(messages, end) {
        let weight: usize = gap
            .iter()
            .flat_map(|step| step.clone())
            .map(|i| removable(&messages[i]).0)
            .sum();
        if weight <= LONGEST_MARKER {
            continue;
        }
        let mut taken = 0;
        let mut here: Tokens = 0;
        for step in gap {
            for index in step {
                let (bytes, tokens) = removable(&messages[index]);
                taken += bytes;
                here += tokens;
                leaves[index] = tokens > 0 || messages[index].parts.is_empty();
            }
            if taken > LONGEST_MARKER && saved + here.saturating_sub(marker) >= over {
                return leaves;
            }
        }
        saved += here.saturating_sub(marker);
    }
    leaves
}

/// The steps before `end`, in groups of adjacent ones with nothing between them that stays. A step ends at content that
/// stays: after `pairing`, none of its results come later.
fn gaps(messages: &[Arc<Message>], end: usize) -> Vec<Vec<Range<usize>>> {
    let mut gaps: Vec<Vec<Range<usize>>> = Vec::new();
    let mut open = false;
    for step in turn::steps(messages, 0..end) {
        if !open {
            gaps.push(Vec::new());
        }
        let stays = step.0.clone().find(|&index| !leaves_whole(&messages[index]));
        open = stays.is_none();
        if let Some(gap) = gaps.last_mut() {
            gap.push(step.0.start..stays.map_or(step.0.end, |index| index + 1));
        }
    }
    gaps
}

/// The bytes and tokens that can be removed from a message.
fn removable(message: &Message) -> (usize, Tokens) {
    let parts = message.parts.iter().filter(|part| may_leave(message.role, part));
    parts.fold((0, 0), |(bytes, tokens), part| {
        (bytes + part_bytes(part), tokens + tokens::estimate_part(part))
    })
}

/// Model output and tool results may be removed; text of the user or a harness stays.
fn may_leave(role: Role, part: &Part) -> bool {
    match part {
        // Content that the provider keeps depends on these.
        Part::Opaque(opaque) if opaque.nature == Nature::Reference => false,
        Part::ToolResult(result) => role == Role::Assistant || (role == Role::User && !result.is_apart),
        _ => role == Role::Assistant,
    }
}

fn leaves_whole(message: &Message) -> bool {
    message.parts.iter().all(|part| may_leave(message.role, part))
}

/// The message without the removable parts.
fn rest(message: &Message) -> Message {
    Message {
        parts: message
            .parts
            .iter()
            .filter(|part| !may_leave(message.role, part))
            .cloned()
            .collect(),
        ..message.clone()
    }
}

fn note_tools(message: &Message, tools: &mut Calls<Arc<str>, Arc<str>>) {
    for call in message.calls() {
        tools.called(call.id.clone(), call.tool.clone());
    }
}

/// The kind of a list of steps in the archive.
const LIST: &str = "steps";

/// Adjacent steps that are left out.
#[derive(Default)]
struct Gap {
    list: String,
    steps: usize,
    /// The bytes of the listed content.
    listed: usize,
    /// The bytes removed from the view.
    bytes: usize,
    /// The number of listed calls by tool.
    tools: BTreeMap<String, usize>,
    after_assistant: bool,
}

impl Gap {
    /// Adds the removable parts of a message.
    fn take(&mut self, message: &Message, tools: &Calls<Arc<str>, Arc<str>>, archive: &mut Archive) {
        let is_assistant = message.role == Role::Assistant;
        if is_assistant && !self.after_assistant {
            self.list.push_str("step\n");
            self.steps += 1;
        }
        self.after_assistant = is_assistant;
        for part in message.parts.iter().filter(|part| may_leave(message.role, part)) {
            self.bytes += part_bytes(part);
            self.note(part, tools, archive);
        }
    }

    fn note(&mut self, part: &Part, tools: &Calls<Arc<str>, Arc<str>>, archive: &mut Archive) {
        match part {
            Part::Text(text) => self.line("text", &text.body, text.cut.as_ref(), "text", archive),
            Part::Thinking(thinking) => {
                thinking_prune::keep(archive, thinking, NAME);
                self.line("thinking", &thinking.body, None, "thinking", archive);
            }
            Part::Image(image) => self.line("image", &image.data, None, "image", archive),
            Part::Opaque(opaque) => self.line("block", opaque.json(), None, "block", archive),
            Part::ToolCall(call) => {
                let tool = listed(&call.tool);
                let json = call.parameters.json();
                let preview: String = json.as_str().chars().take(PREVIEW).collect();
                self.line(
                    &format!("call {tool} {preview}"),
                    json,
                    call.cut.as_ref(),
                    &call.tool,
                    archive,
                );
                *self.tools.entry(tool).or_default() += 1;
            }
            Part::ToolResult(result) => {
                let tool = tools.of(result).map_or("tool", |tool| tool);
                let of_tool = |what: &str| format!("{what} of {}", listed(tool));
                for block in &result.output {
                    match block {
                        Part::Text(text) => self.line(&of_tool("output"), &text.body, text.cut.as_ref(), tool, archive),
                        Part::Image(image) => self.line(&of_tool("image"), &image.data, None, tool, archive),
                        Part::Opaque(opaque) => self.line(&of_tool("block"), opaque.json(), None, tool, archive),
                        other => self.note(other, tools, archive),
                    }
                }
                if let Some(error) = &result.error {
                    self.line(&of_tool("error"), error, None, tool, archive);
                }
            }
        }
    }

    /// Adds a line to the list. Content that was already cut is listed with the handle of its whole.
    fn line(&mut self, what: &str, body: &Body, cut: Option<&Handle>, tool: &str, archive: &mut Archive) {
        if body.is_empty() {
            return;
        }
        let handle = cut.cloned().unwrap_or_else(|| archive.keep(body, tool, NAME));
        self.listed += body.len();
        self.list
            .push_str(&format!("{what} · {} bytes · recall {handle}\n", grouped(body.len())));
    }

    /// Inserts the marker for the gap, and resets the gap.
    fn close(&mut self, view: &mut View, count: &mut StrategyCount) {
        let gap = std::mem::take(self);
        if gap.list.is_empty() {
            return;
        }
        let handle = view.archive.keep(&Body::new(gap.list), LIST, NAME);
        let mut most: Vec<_> = gap.tools.iter().collect();
        most.sort_by_key(|(name, calls)| (usize::MAX - **calls, *name));
        let mut called = String::new();
        for (name, calls) in most.iter().take(TOOLS) {
            let name: String = name.chars().take(TOOL_NAME).collect();
            called.push_str(&format!(" {name} × {calls},"));
        }
        if most.len() > TOOLS {
            called.push_str(" …,");
        }
        let text = format!(
            "[{} steps left out, {} bytes:{called} listed with their handles · recall {handle}]",
            grouped(gap.steps),
            grouped(gap.listed)
        );
        count.hits += gap.steps as u64;
        count.bytes_saved += gap.bytes as i64 - text.len() as i64;
        let mut marker = Text::new(text, Origin::Notice);
        marker.cut = Some(handle);
        view.messages
            .push(Arc::new(Message::new(Role::User, vec![Part::Text(marker)])));
    }
}

/// The name of a tool as one word.
fn listed(tool: &str) -> String {
    plain_name(tool).replace(char::is_whitespace, "_")
}
