//! Strategy `streaming_llm`: leaves out whole old steps, as the last resort to meet a budget.
//!
//! The system prompt, every user message with more than tool results, and the recent window stay. Between them, steps
//! are left out, oldest first, until the view fits. One short marker replaces adjacent steps; its handle restores a
//! list of their contents, with a handle for each.

use super::{StrategyCount, StrategyLimits, contents, part_bytes, recent_window};
use crate::message::cut;
use crate::message::exchange::Calls;
use crate::message::recall::Archive;
use crate::message::tokens::{self, Tokens};
use crate::message::turn;
use crate::message::view::View;
use crate::message::{Message, Nature, Origin, Part, Role, Text};
use crate::text::body::Body;
use codelet_text::short::on_one_line;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The name in reports.
pub const NAME: &str = "streaming_llm";

/// The maximum bytes of a marker: a name of limited length, a size and a handle.
const LONGEST_MARKER: usize = 340;
/// The maximum characters of each content that the list quotes.
const PREVIEW: usize = 120;
/// The reason in a marker, and the kind of its list in the archive.
const WHY: &str = "left out";
const LIST: &str = "steps";

/// Leaves out steps before the recent window until the view fits the budget. Does nothing without a budget or within
/// it.
pub(crate) fn leave_out_old_steps(view: &mut View, limits: &StrategyLimits) -> StrategyCount {
    let mut count = StrategyCount::default();
    let total: Tokens = view.messages.iter().map(|it| tokens::estimate_message(it)).sum();
    let over = limits.budget.map_or(0, |budget| total.saturating_sub(budget));
    if over == 0 {
        return count;
    }
    let leaves = choose(&view.messages, limits, over);
    let mut tools = Calls::default();
    let mut gap = Gap::default();
    for (mut message, leaves) in std::mem::take(&mut view.messages).into_iter().zip(leaves) {
        for call in message.calls() {
            tools.called(call.id.clone(), call.tool.clone());
        }
        if leaves {
            gap.take(&message, &tools, &mut view.archive);
            let role = message.role;
            Arc::make_mut(&mut message).parts.retain(|part| !may_leave(role, part));
        }
        if !leaves || !message.parts.is_empty() {
            gap.close(view, &mut count);
            view.messages.push(message);
        }
    }
    gap.close(view, &mut count);
    count
}

/// Selects the messages to remove, at least in part, until that saves `over` tokens. Adjacent steps with nothing between
/// them that stays form a gap. It must save more than its marker takes; once started, it is extended until it does.
fn choose(messages: &[Arc<Message>], limits: &StrategyLimits, over: Tokens) -> Vec<bool> {
    let marker = tokens::estimate_bytes(LONGEST_MARKER) + tokens::PART_TOKENS;
    let mut leaves = vec![false; messages.len()];
    let mut gap: Vec<usize> = Vec::new();
    let (mut bytes, mut here, mut saved) = (0, 0, 0);
    for step in turn::steps(messages, 0..recent_window(messages, limits)) {
        // After `pairing`, none of its results come after something that stays.
        let stays = step
            .0
            .clone()
            .find(|&at| removable(&messages[at]).count() < messages[at].parts.len());
        let places = step.0.start..stays.map_or(step.0.end, |at| at + 1);
        let parts = || messages[places.clone()].iter().flat_map(|message| removable(message));
        bytes += parts().map(part_bytes).sum::<usize>();
        here += parts().map(tokens::estimate_part).sum::<Tokens>();
        let leaves_something = |at: &usize| stays != Some(*at) || removable(&messages[*at]).next().is_some();
        gap.extend(places.clone().filter(leaves_something));
        let is_of_use = bytes > LONGEST_MARKER;
        if is_of_use {
            gap.drain(..).for_each(|at| leaves[at] = true);
        }
        let saves = if is_of_use { here.saturating_sub(marker) } else { 0 };
        if saved + saves >= over {
            break;
        }
        if stays.is_some() {
            gap.clear();
            saved += saves;
            (bytes, here) = (0, 0);
        }
    }
    leaves
}

/// The parts that may be removed.
fn removable(message: &Message) -> impl Iterator<Item = &Part> {
    message.parts.iter().filter(|part| may_leave(message.role, part))
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

/// Adjacent steps that are left out.
#[derive(Default)]
struct Gap {
    list: String,
    steps: usize,
    /// The bytes removed from the view.
    bytes: usize,
    tools: BTreeSet<Arc<str>>,
    after_assistant: bool,
}

impl Gap {
    /// Adds the removable parts of a message. Content that was already cut is listed with the handle of its whole.
    fn take(&mut self, message: &Message, tools: &Calls<Arc<str>, Arc<str>>, archive: &mut Archive) {
        let is_assistant = message.role == Role::Assistant;
        self.steps += usize::from(is_assistant && !self.after_assistant);
        self.after_assistant = is_assistant;
        self.tools.extend(message.calls().map(|call| call.tool.clone()));
        for part in removable(message) {
            self.bytes += part_bytes(part);
            let tool = match part {
                Part::ToolResult(result) => tools.of(result).map(|tool| &**tool),
                _ => None,
            };
            contents(part, tool, &mut |tool, body, cut| {
                if body.is_blank() {
                    return;
                }
                let handle = cut.cloned().unwrap_or_else(|| archive.keep(body, tool, NAME));
                let (tool, bytes) = (cut::plain_name(tool), cut::grouped(body.len()));
                let preview: String = on_one_line(body.as_str()).take(PREVIEW).collect();
                self.list
                    .push_str(&format!("{tool}: {preview} · {bytes} bytes · recall {handle}\n"));
            });
        }
    }

    /// Inserts the marker for the gap, and resets the gap.
    fn close(&mut self, view: &mut View, count: &mut StrategyCount) {
        let gap = std::mem::take(self);
        if gap.steps == 0 {
            return;
        }
        let tools: Vec<&str> = gap.tools.iter().map(|tool| &**tool).collect();
        let what = format!("{} steps: {}", cut::grouped(gap.steps), tools.join(", "));
        let handle = view.archive.keep(&Body::new(gap.list), LIST, NAME);
        let marker = Text::marker(Origin::Notice, &what, gap.bytes, WHY, handle);
        count.hits += gap.steps as u64;
        count.bytes_saved += gap.bytes as i64 - marker.body.len() as i64;
        view.messages
            .push(Arc::new(Message::new(Role::User, vec![Part::Text(marker)])));
    }
}
