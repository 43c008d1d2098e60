//! The strategies: small rewrites of a view, applied only at edit points.
//!
//! Each is deterministic and idempotent, never makes a message larger, and archives what it removes in the view. Only
//! [`Text::cut`] decides whether a text is a marker or an excerpt, so a marker printed by a file or a hostile tool has
//! no effect.

pub(crate) mod asked_again;
use crate::message::cut;
use crate::message::exchange::Calls;
use crate::message::recall::{Archive, Handle};
use crate::message::tokens::Tokens;
use crate::message::turn;
use crate::message::view::View;
use crate::message::{BlockText, Message, Origin, Part, Role, Text, ToolCall, ToolResult};
use crate::text::body::Body;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of most recent turns that a selection keeps as a block and strategies leave unchanged.
pub(crate) const RECENT_TURNS: usize = 3;

pub(crate) mod dedup;
pub(crate) mod lingua;
pub(crate) mod pairing;
pub(crate) mod snippet;
mod status;
pub(crate) mod streaming_llm;
pub(crate) mod thinking_prune;
pub(crate) mod tool_call_dedup;

/// A rewrite of a view.
pub struct Strategy {
    /// The name in reports and in the archive.
    pub name: &'static str,
    /// Applies the strategy and returns its counts.
    pub apply: fn(&mut View, &StrategyLimits) -> StrategyCount,
    /// True if it keeps every message and removes nothing but thinking from them: a compaction runs it over the kept
    /// messages.
    pub(crate) within_messages: bool,
}

/// The strategies, in the order in which they run.
pub const PIPELINE: &[Strategy] = &[
    Strategy {
        name: thinking_prune::NAME,
        apply: thinking_prune::drop_thinking_of_finished_turns,
        within_messages: true,
    },
    Strategy {
        name: tool_call_dedup::NAME,
        apply: tool_call_dedup::point_to_the_newest_answer,
        within_messages: true,
    },
    Strategy {
        name: dedup::NAME,
        apply: dedup::point_to_the_newest_copy,
        within_messages: true,
    },
    Strategy {
        name: snippet::NAME,
        apply: snippet::keep_head_and_tail,
        within_messages: true,
    },
    Strategy {
        name: lingua::NAME,
        apply: lingua::count_alike_lines,
        within_messages: true,
    },
    Strategy {
        name: streaming_llm::NAME,
        apply: streaming_llm::leave_out_old_steps,
        within_messages: false,
    },
    // Last: a step above may orphan a result.
    Strategy {
        name: pairing::NAME,
        apply: pairing::answer_every_call,
        within_messages: false,
    },
];

/// The limits of the strategies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StrategyLimits {
    /// The maximum size of the view, estimated; without it, no step is left out.
    pub budget: Option<Tokens>,
    /// The number of turns at the end that stay unchanged.
    pub recent_turns: usize,
    /// The maximum number of steps with tool calls at the end that stay unchanged, however long the recent turns are.
    pub recent_steps: usize,
}

impl Default for StrategyLimits {
    /// Three turns, as everywhere in the engine. 20 steps, since a session of one prompt and hundreds of steps is the
    /// usual case, and nearly nine in ten references go back less than 40,000 tokens, which is 20 to 30 steps.
    fn default() -> Self {
        StrategyLimits {
            budget: None,
            recent_turns: RECENT_TURNS,
            recent_steps: 20,
        }
    }
}

/// The effect of the strategies on a view.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StrategyStats {
    /// The number of results that became pointers to a newer copy (`tool_call_dedup` and `dedup`).
    pub dedup_hits: u64,
    /// The number of outputs cut to head and tail.
    pub snippet_hits: u64,
    /// The bytes saved in total; signed, so that a strategy that makes something larger would show up.
    pub total_bytes_saved: i64,
    /// By the name of the strategy.
    pub per_strategy: BTreeMap<&'static str, StrategyCount>,
}

/// The effect of one strategy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StrategyCount {
    /// The number of changes.
    pub hits: u64,
    /// The bytes saved, signed. Texts, names and parameters count, as in [`bytes`].
    pub bytes_saved: i64,
}

impl StrategyCount {
    fn hit(&mut self, before: usize, after: usize) {
        self.hits += 1;
        self.bytes_saved += before as i64 - after as i64;
    }
}

impl StrategyStats {
    /// Adds the counts of a strategy.
    pub(crate) fn add(&mut self, name: &'static str, count: StrategyCount) {
        if name == dedup::NAME || name == tool_call_dedup::NAME {
            self.dedup_hits += count.hits;
        }
        if name == snippet::NAME {
            self.snippet_hits += count.hits;
        }
        self.total_bytes_saved += count.bytes_saved;
        let total = self.per_strategy.entry(name).or_default();
        total.hits += count.hits;
        total.bytes_saved += count.bytes_saved;
    }
}

/// Runs all strategies with the default limits and no budget.
///
/// ```
/// use codelet_context::message::{Message, Part, Role, ToolCall, ToolResult};
/// use codelet_context::strategy::apply_all;
/// use codelet_context::validate::validate;
/// use codelet_context::view::View;
///
/// let call = |id: &str| Message::new(Role::Assistant, vec![Part::ToolCall(ToolCall::new(id, "read", Default::default()))]);
/// let tool = |id: &str| Message::results(vec![ToolResult::new(id, Some(true), "file contents: hello world ".repeat(40))]);
/// let mut view = View::new([Message::user("read it, twice"), call("a"), tool("a"), call("b"), tool("b")]);
///
/// let stats = apply_all(&mut view);
///
/// assert!(stats.dedup_hits >= 1 && stats.total_bytes_saved > 0);
/// assert_eq!(validate(&view), []);
/// ```
pub fn apply_all(view: &mut View) -> StrategyStats {
    apply_with(view, &StrategyLimits::default())
}

/// Runs all strategies.
pub fn apply_with(view: &mut View, limits: &StrategyLimits) -> StrategyStats {
    let mut stats = StrategyStats::default();
    // Each result must be assigned to its call first; otherwise the last strategy would change what the earlier ones
    // found, and a second run would find more.
    stats.add(pairing::NAME, pair(view));
    let mut is_paired = true;
    for strategy in PIPELINE {
        let count = match strategy.name {
            pairing::NAME if is_paired => StrategyCount::default(),
            _ => (strategy.apply)(view, limits),
        };
        // Only this one removes calls and results; the others replace texts, or remove thinking from messages with
        // other content.
        is_paired &= strategy.name != streaming_llm::NAME || count.hits == 0;
        stats.add(strategy.name, count);
    }
    stats
}

/// Runs only `pairing`: afterwards the view is valid for every provider.
pub fn pair(view: &mut View) -> StrategyCount {
    pairing::answer_every_call(view, &StrategyLimits::default())
}

/// The strategy of this name.
pub fn named(name: &str) -> Option<&'static Strategy> {
    PIPELINE.iter().find(|strategy| strategy.name == name)
}

/// The bytes of a message: texts, thinking, encoded pictures, names and parameters. Ids, signatures and unread fields
/// do not count.
pub fn bytes(message: &Message) -> usize {
    message.parts.iter().map(part_bytes).sum()
}

fn part_bytes(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.body.len(),
        Part::Thinking(thinking) => thinking.body.len() + thinking.redacted.as_ref().map_or(0, |data| data.len()),
        Part::Image(image) => image.data.len(),
        Part::ToolCall(call) => call.tool.len() + call.parameters.json().len(),
        Part::ToolResult(result) => {
            result.error.as_ref().map_or(0, Body::len) + result.output.iter().map(part_bytes).sum::<usize>()
        }
        Part::Opaque(opaque) => opaque.json().len(),
    }
}

/// Calls `each` with every body of a part that is not empty, the tool or the kind of content that it comes from, and its
/// handle if its whole is archived already. `tool` is that of a result, if known.
pub(crate) fn contents(part: &Part, tool: Option<&str>, each: &mut dyn FnMut(&str, &Body, Option<&Handle>)) {
    let mut each = |what: &str, body: &Body, cut: Option<&Handle>| {
        if !body.is_empty() {
            each(what, body, cut);
        }
    };
    match part {
        Part::Text(text) => each(tool.unwrap_or("text"), &text.body, text.cut.as_ref()),
        Part::Thinking(thinking) => {
            each("thinking", &thinking.body, None);
            if let Some(data) = &thinking.redacted {
                each("thinking", &Body::from(&**data), None);
            }
        }
        Part::Image(image) => each("image", &image.data, None),
        Part::ToolCall(call) => each(&call.tool, call.parameters.json(), call.cut.as_ref()),
        Part::ToolResult(result) => {
            if let Some(error) = &result.error {
                each(tool.unwrap_or("error"), error, None);
            }
            for part in &result.output {
                contents(part, tool, &mut each);
            }
        }
        Part::Opaque(opaque) => {
            each(&opaque.kind, opaque.json(), None);
            if let Some(BlockText::Output(words)) = &opaque.words {
                each(&opaque.kind, words, None);
            }
        }
    }
}

/// The start of the recent window: the recent turns, or the last steps with calls if those turns are longer. Only steps
/// with calls count, since `pairing` never adds, drops or splits them.
pub fn recent_window(messages: &[Arc<Message>], limits: &StrategyLimits) -> usize {
    let turns = turn::turns(messages);
    let turn = match turns.len().checked_sub(limits.recent_turns) {
        Some(index) => turns.get(index).map_or(messages.len(), |turn| turn.0.start),
        None => 0,
    };
    let mut first = messages.len();
    let mut left = limits.recent_steps;
    for index in (turn..messages.len()).rev() {
        let is_step = messages[index].role == Role::Assistant && messages[index].calls().next().is_some();
        if is_step && left == 0 {
            // Text of the model just before the calls belongs to the step.
            while first > index + 1 && first < messages.len() && messages[first - 1].role == Role::Assistant {
                first -= 1;
            }
            return first;
        }
        if is_step {
            left -= 1;
            first = index;
        }
    }
    turn
}

/// The position of a tool result, with the call that it answers.
pub(crate) struct ToolAnswer<'a> {
    pub message: usize,
    pub part: usize,
    pub result: &'a ToolResult,
    pub call: Option<&'a ToolCall>,
}

impl ToolAnswer<'_> {
    /// The name of a block of the result in a marker, such as `Read output`.
    fn what(&self, noun: &str) -> String {
        let tool = self.call.map_or("tool", |call| &call.tool);
        format!("{} {noun}", cut::plain_name(tool))
    }
}

/// All results, oldest first. Each answers the nearest call before it with its id.
pub(crate) fn answers(messages: &[Arc<Message>]) -> Vec<ToolAnswer<'_>> {
    let mut answers = Vec::with_capacity(messages.len() / 2);
    let mut calls = Calls::default();
    for (message, entry) in messages.iter().enumerate() {
        for (part, piece) in entry.parts.iter().enumerate() {
            match piece {
                Part::ToolCall(call) => calls.called(&*call.id, call),
                Part::ToolResult(result) => answers.push(ToolAnswer {
                    message,
                    part,
                    result,
                    call: calls.of(result).copied(),
                }),
                _ => {}
            }
        }
    }
    answers
}

/// The full text of an output: itself, or the original if only alike lines were counted. `None` for a pointer or an
/// excerpt, and for a text that is too short to be worth a pointer.
fn whole<'a>(text: &'a Text, archive: &'a Archive) -> Option<&'a Body> {
    let Some(handle) = &text.cut else {
        return Some(&text.body);
    };
    if text.body.len() < dedup::SMALLEST {
        return None;
    }
    let original = &archive.get(handle.as_str())?.body;
    lingua::is_shown_as(original, &text.body).then_some(original)
}

/// The whole content of a block of a result, with its bytes in the view and its noun in a marker: a
/// [whole] text, or a picture. `None` for anything else.
fn content<'a>(piece: &'a Part, archive: &'a Archive) -> Option<(&'a Body, usize, &'static str)> {
    match piece {
        Part::Text(text) => Some((whole(text, archive)?, text.body.len(), "output")),
        Part::Image(image) if !image.is_url => Some((&image.data, image.data.len(), "image")),
        _ => None,
    }
}

/// The edit that puts a pointer in place of the [content] of a block of a result. `None` if that would save nothing.
fn pointer(
    answer: &ToolAnswer<'_>,
    block: usize,
    (body, length, noun): (&Body, usize, &str),
    (why, name): (&str, &'static str),
    archive: &mut Archive,
) -> Option<Replacement> {
    let pointer = cut::pointer(body, length, &answer.what(noun), why, name, archive)?;
    Some(Replacement {
        message: answer.message,
        part: answer.part,
        block,
        with: Part::Text(match &answer.result.output[block] {
            Part::Text(text) => text.cut_to(pointer),
            _ => Text::new("", Origin::Own).cut_to(pointer),
        }),
    })
}

/// A replacement for a block of a result.
struct Replacement {
    message: usize,
    part: usize,
    block: usize,
    with: Part,
}

/// Applies the edits and counts them.
fn make(view: &mut View, edits: Vec<Replacement>) -> StrategyCount {
    let mut count = StrategyCount::default();
    for edit in edits {
        if let Some(Part::ToolResult(result)) = view.edit(edit.message).parts.get_mut(edit.part)
            && let Some(block) = result.output.get_mut(edit.block)
        {
            count.hit(part_bytes(block), part_bytes(&edit.with));
            *block = edit.with;
        }
    }
    count
}
